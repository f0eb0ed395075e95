"""Run by Windows Python: wmcb.exe with another first module, which imports whatever the product may import.

The exe itself has no way to run anything but its commands, and these import what they need when they need it.
"""

from __future__ import annotations

import sys
from pathlib import Path

REPOSITORY = r"Z:\repo"
sys.path.insert(0, rf"{REPOSITORY}\packaging\exe")
from exebuild import freezing, image, modules, sources  # noqa: E402

INSTEAD = """
def main():
    import wmcb_original
    sys = wmcb_original.sys
    sys.meta_path[2:] = [wmcb_original.Extensions]
    failed = []
    for line in {lines!r}:
        try:
            exec(line, {{}})
        except BaseException as error:
            failed.append(f"{{line}}: {{type(error).__name__}}: {{error}}")
    print("\\n".join(failed))
    return 0
"""


def is_of_windows(line: str) -> bool:
    """Some of what the sandbox imports other systems alone have."""
    try:
        exec(line, {})  # noqa: S102 - an import statement of our own sources
    except ImportError:
        return False
    return True


def main(program: str, target: str) -> None:
    """`program` is wmcb.exe as laid out; `target` is another like it, which runs the code above."""
    launcher, table = image.split_last_section(Path(program).read_bytes())
    frozen = {module.name: module for module in modules.parse(table)}
    own = [name for name in frozen if name.partition(".")[0] in sources.OWN_PACKAGES]
    others = sources.imported(sources.own(Path(REPOSITORY))).splitlines()
    lines = [f"import {name}" for name in own] + [line for line in others if is_of_windows(line)]
    code = freezing.compile_module(
        "wmcb_start", INSTEAD.format(lines=lines).encode(), is_package=False, optimize=freezing.KEEP_ALL
    )
    frozen["wmcb_original"] = frozen["wmcb_start"]._replace(name="wmcb_original")
    frozen["wmcb_start"] = modules.FrozenModule("wmcb_start", code, False)
    table = modules.build(list(frozen.values()))
    Path(target).write_bytes(image.add_section(launcher, modules.SECTION, table))


main(*sys.argv[1:])
