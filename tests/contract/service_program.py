"""A service program for the contract's cases: the same real process on both hosts, through `Services.serve`.

Its arguments say how it behaves:

    record=FILE     writes JSON to FILE, line by line: its arguments, its variables, what it was asked
    fail=CODE       returns CODE in place of running
    listen          listens at a port of the machine, and records which
    mute            says no word after its first, neither running nor stopped
    slow=SECONDS    says no word for so long when it is asked to stop
    exit=CODE       its exit code when it is stopped
    hint=SECONDS    how long it says it will take to stop
    stay            then does not stop
    vanish=CODE     then its process ends without a word
    steps=NUMBER    on its way down it says a word so many times, a while apart
    raise           fails with an exception when its parameters have changed
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, os.fspath(Path(__file__).parents[2]))

from agent.host.port import Host
from agent.host.services import Control, ServiceControls

if sys.platform == "win32":
    from agent.host.windows.machine import open_windows

    def this_service() -> tuple[str, Host]:
        # A process that is one service alone need not know by what name.
        return "contract", open_windows()

else:
    from agent.host.sandbox import open_sandbox
    from agent.host.sandbox.services import DIRECTORY_VARIABLE, SERVICE_VARIABLE

    def this_service() -> tuple[str, Host]:
        return os.environ[SERVICE_VARIABLE], open_sandbox(Path(os.environ[DIRECTORY_VARIABLE]))


def main(words: list[str]) -> int:
    behaviour = {what: value for what, _, value in (word.partition("=") for word in words)}
    name, host = this_service()

    def program(controls: ServiceControls) -> int:
        return _Program(behaviour, controls).run()

    return host.services.serve(name, program)


class _Program:
    def __init__(self, behaviour: dict[str, str], controls: ServiceControls) -> None:
        self._behaviour = behaviour
        self._controls = controls

    def run(self) -> int:
        self._record("started", {"arguments": [*self._controls.arguments], "command": sys.argv[1:]})
        self._record("variables", dict(os.environ))
        if "fail" in self._behaviour:
            return int(self._behaviour["fail"])
        with socket.socket() as listener:
            if "listen" in self._behaviour:
                listener.bind(("127.0.0.1", 0))
                listener.listen()
                self._record("port", listener.getsockname()[1])
            if "mute" not in self._behaviour:
                self._controls.running()
            self._until_stopped()
        return int(self._behaviour.get("exit", "0"))

    def _until_stopped(self) -> None:
        stopped = False
        while not stopped:
            control = self._controls.next()
            self._record("asked", control.name if control else None)
            if control is Control.PARAMETERS_CHANGED and "raise" in self._behaviour:
                raise RuntimeError("as it was told to")
            if control in (Control.STOP, Control.PRESHUTDOWN, Control.SHUTDOWN):
                time.sleep(float(self._behaviour.get("slow", "0")))
                self._say_that_it_stops()
                if "vanish" in self._behaviour:
                    os._exit(int(self._behaviour["vanish"]))
                stopped = "stay" not in self._behaviour

    def _say_that_it_stops(self) -> None:
        hint = float(self._behaviour.get("hint", "5"))
        for _ in range(int(self._behaviour.get("steps", "1")) - 1):
            self._controls.stopping(hint)
            self._controls.next(hint * 0.25)
        self._controls.stopping(hint)

    def _record(self, what: str, content: Any) -> None:
        if "record" in self._behaviour:
            with Path(self._behaviour["record"]).open("a", encoding="utf-8") as file:
                file.write(json.dumps({what: content}) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
