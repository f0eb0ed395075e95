"""Run as a program with the real cloudbase-init on its path: asks its parsers, one question a line.

Nothing of it is carried out: no file is written where a document says, and no command run.
"""

from __future__ import annotations

import base64
import json
import logging
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml
from cloudbaseinit import conf  # type: ignore[import-not-found]
from cloudbaseinit.plugins.common import execcmd, userdatautils  # type: ignore[import-not-found]
from cloudbaseinit.plugins.common.userdata import UserDataPlugin  # type: ignore[import-not-found]
from cloudbaseinit.plugins.common.userdataplugins.cloudconfigplugins import (  # type: ignore[import-not-found]
    runcmd,
    write_files,
)
from cloudbaseinit.utils.template_engine.jinja2_template import (  # type: ignore[import-not-found]
    Jinja2TemplateEngine,
)

HEADER = "rem cmd"
OPTIONS = ("userdata_save_path", "process_userdata", "local_scripts_path", "netbios_host_name_compatibility")


def content(question: Any) -> str:
    """Of an item of write_files."""
    made = write_files._process_content(_bytes(question["content"]), question["encoding"])
    return base64.b64encode(made).decode()


def permissions(question: Any) -> int:
    return int(write_files._convert_permissions(question))


def batch(question: Any) -> str:
    """Of a whole cloud-config's runcmd, as cloudbase-init loads one."""
    loaded = yaml.load(_bytes(question), Loader=yaml.CLoader)  # noqa: S506 - it is how cloudbase-init does it
    made: str = runcmd.RunCmdPlugin._unify_scripts(loaded["runcmd"], HEADER)
    return made


def parts(question: Any) -> list[tuple[str, str | None, str]]:
    """Type, file name and contents."""
    return [
        (
            part.get_content_type(),
            part.get_filename(),
            base64.b64encode(part.get_payload(decode=True)).decode(),
        )
        for part in UserDataPlugin._parse_mime(_bytes(question))
        if not part.is_multipart()
    ]


def script(question: Any) -> str | None:
    """By what class it would be run."""
    data, name = _bytes(question["data"]), question["name"]
    if name is None:
        return _name(userdatautils.get_command(data))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        return _name(userdatautils.get_command_from_path(str(path)))


def template(question: Any) -> str:
    made: bytes = Jinja2TemplateEngine().render(question["metadata"], question["text"].encode())
    return made.decode()


def exit_code(question: Any) -> tuple[int, bool]:
    """1 for done and 2 for again at the next boot; and whether to restart."""
    status, restart = execcmd.get_plugin_return_value(question)
    return int(status), bool(restart)


def configuration(question: Any) -> dict[str, object]:
    """What a configuration file sets, and which of its plugins there are none of."""
    loaded = conf.CONF
    loaded(["--config-file", question], project="cloudbase-init", default_config_files=[])
    missing = [name for name in loaded.plugins if find_spec(name.rpartition(".")[0]) is None]
    options = (
        "userdata_save_path",
        "process_userdata",
        "local_scripts_path",
        "netbios_host_name_compatibility",
    )
    return {"missing": missing, "plugins": len(loaded.plugins), **{name: loaded[name] for name in options}}


def _bytes(text: str) -> bytes:
    return base64.b64decode(text)


def _name(command: object) -> str | None:
    return None if command is None else type(command).__name__


ANSWERS = {
    each.__name__: each
    for each in (content, permissions, batch, parts, script, template, exit_code, configuration)
}


def main() -> None:
    logging.disable()
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = {"answer": ANSWERS[asked["about"]](asked["question"])}
        except Exception as fault:  # noqa: BLE001 - what it raises is its answer
            answer = {"error": f"{type(fault).__name__}: {fault}"}
        sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
