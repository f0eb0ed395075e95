"""wmcb-log.exe --arguments-from: what kubeadm-flags.env says is the program's, as systemd would have it."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence

import pytest

from agent.host import commandline
from agent.sources.systemd import environment, words
from lab.fixtures import demand_the_lab
from lab.node import Node
from lab.services import State
from lab.standin_kubelet import StandinKubelet
from windows.kubelet_log import BUILT, KUBELET, PYTHON, RUNNER, Log

FILE = r"C:\var\lib\kubelet\kubeadm-flags.env"
FROM = f"--arguments-from={FILE}"
VARIABLE = "KUBELET_KUBEADM_ARGS"
BAD_FORMAT, TOO_LONG = 11, 206


@pytest.fixture(scope="module")
def machine() -> Iterator[Node]:
    demand_the_lab()
    node = Node()
    node.copy_in(BUILT, RUNNER)
    node.path(FILE).parent.mkdir(parents=True)
    yield node
    node.close()


@pytest.fixture
def log(machine: Node) -> Log:
    machine.path(FILE).unlink(missing_ok=True)
    return Log(machine)


@pytest.fixture
def kubelet(machine: Node) -> StandinKubelet:
    """It ends as soon as it has written down its arguments."""
    standin = StandinKubelet(machine, KUBELET)
    standin.behave(exit_at_once=0)
    machine.path(KUBELET + ".starts").unlink(missing_ok=True)
    return standin


def added(log: Log, kubelet: StandinKubelet, content: str | bytes) -> list[str]:
    """The arguments that the file adds to the program's own one."""
    written = content if isinstance(content, bytes) else content.encode()
    log.node.path(FILE).write_bytes(written)
    result = log.node.run_line(log.line(FROM, command=f"{KUBELET} --own"))
    assert result.code == 0, log.said()
    arguments: list[str] = kubelet.starts[-1]["arguments"]
    assert arguments[:2] == [KUBELET, "--own"]
    return arguments[2:]


# What kubeadm 1.36 writes (Go's %q around what it joins with blanks), and what people make of it.
GOOD: dict[str, tuple[str | bytes, list[str]]] = {
    "as kubeadm writes it": (
        'KUBELET_KUBEADM_ARGS="--hostname-override=win1 --register-with-taints=os=windows:NoSchedule"\n',
        ["--hostname-override=win1", "--register-with-taints=os=windows:NoSchedule"],
    ),
    "a path, as kubeadm writes it": (
        r'KUBELET_KUBEADM_ARGS="--root-dir=C:\\var\\lib\\kubelet --v=2"',
        [r"--root-dir=C:\var\lib\kubelet", "--v=2"],
    ),
    "a path, by hand": (r'KUBELET_KUBEADM_ARGS="--root-dir=C:\var\lib"', [r"--root-dir=C:\var\lib"]),
    "a path at its end": (r"KUBELET_KUBEADM_ARGS='--root-dir=C:\k\'", ["--root-dir=C:\\k\\"]),
    "a network path": (r"KUBELET_KUBEADM_ARGS='--a=\\s\k\ b'", [r"--a=\\s\k" + "\\", "b"]),
    "without quotes": ("KUBELET_KUBEADM_ARGS=--v=2 --a=b  ", ["--v=2", "--a=b"]),
    "many blanks": ('KUBELET_KUBEADM_ARGS="  --v=2 \t\n --a=b "', ["--v=2", "--a=b"]),
    "quotes hold a word together": (
        """KUBELET_KUBEADM_ARGS="--labels='a b' '--x=y z'w --empty=''\"""",
        ["--labels=a b", "--x=y zw", "--empty="],
    ),
    "quotes within quotes": (
        r"""KUBELET_KUBEADM_ARGS="--a='\"' --b=\"'\" \"\"" """,
        ['--a="', "--b='", ""],
    ),
    "a quote that stays open in a word": ("KUBELET_KUBEADM_ARGS=\"--a='b c\"", ["--a=b c"]),
    "no dollar means anything": (r'KUBELET_KUBEADM_ARGS="$HOME %PATH% \$x"', ["$HOME", "%PATH%", "$x"]),
    "the last one counts": ("KUBELET_KUBEADM_ARGS=--v=1\nKUBELET_KUBEADM_ARGS=--v=2\n", ["--v=2"]),
    "others are others": ("X=--x\n KUBELET_KUBEADM_ARGS =--v=2\nKUBELET_KUBEADM_ARGS2=--y\n", ["--v=2"]),
    "remarks": ("# KUBELET_KUBEADM_ARGS=--a\n; KUBELET_KUBEADM_ARGS=--b\nplain\n", []),
    "a line goes on": ("KUBELET_KUBEADM_ARGS=--a \\\n--b\n", ["--a", "--b"]),
    "Windows' ends of lines": (b"X=1\r\nKUBELET_KUBEADM_ARGS=--v=2\r\n\r\n", ["--v=2"]),
    "Windows' UTF-8": (b'\xef\xbb\xbfKUBELET_KUBEADM_ARGS="--v=2"\r\n', ["--v=2"]),
    "letters": ("KUBELET_KUBEADM_ARGS=--a=n\u00e4me\U0001f40b", ["--a=n\u00e4me\U0001f40b"]),
    "nothing in it": ("KUBELET_KUBEADM_ARGS=\n", []),
    "an empty file": ("", []),
}  # fmt: skip


@pytest.mark.parametrize(("content", "arguments"), GOOD.values(), ids=GOOD)
def test_its_words_are_further_arguments(
    log: Log, kubelet: StandinKubelet, content: str | bytes, arguments: list[str]
) -> None:
    assert added(log, kubelet, content) == arguments


def test_the_programs_own_command_line_is_left_letter_by_letter(log: Log) -> None:
    log.node.path(FILE).write_text('KUBELET_KUBEADM_ARGS="--a=b \'--c=d \\\\\\\\"\n')
    tells = (
        "import ctypes, os; line = ctypes.windll.kernel32.GetCommandLineW; line.restype = ctypes.c_wchar_p;"
        "os.write(1, line().encode())"
    )
    command = f'"{PYTHON}" -c "{tells}"  a"b"c \\\\x  '
    assert log.node.run_line(log.line(FROM, command=command)).code == 0
    assert log.output().decode() == command + r' --a=b "--c=d \\\\"' + "\n"


def test_a_file_that_is_not_there_adds_nothing(log: Log, kubelet: StandinKubelet) -> None:
    for path in (FILE, r"C:\no\such\folder\flags.env"):
        line = log.line(f"--arguments-from={path}", command=f"{KUBELET} --own")
        assert log.node.run_line(line).code == 0
        assert kubelet.starts[-1]["arguments"] == [KUBELET, "--own"]


NO_VARIABLES = f"{FILE} is no file of variables: it is too long or not UTF-8"
OPEN_QUOTE = f"in {FILE} a quote is never closed"

BAD: dict[str, tuple[bytes, int, str]] = {
    "half a file": (b'KUBELET_KUBEADM_ARGS="--v=2', BAD_FORMAT, OPEN_QUOTE),
    "half a file, elsewhere": (b"KUBELET_KUBEADM_ARGS=--v=2\nX='", BAD_FORMAT, OPEN_QUOTE),
    "half a file, at a backslash": (b'KUBELET_KUBEADM_ARGS="--v=2\\', BAD_FORMAT, OPEN_QUOTE),
    "not UTF-8": (b"KUBELET_KUBEADM_ARGS=--a=n\xe4me\n", BAD_FORMAT, NO_VARIABLES),
    "Windows PowerShell's UTF-16": ("\ufeffKUBELET_KUBEADM_ARGS=--v=2\r\n".encode("utf-16-le"), BAD_FORMAT,
                                    NO_VARIABLES),
    "zeros, after a power cut": (bytes(4096), BAD_FORMAT, NO_VARIABLES),
    "too long a file": (b"#" * 70_000, BAD_FORMAT, NO_VARIABLES),
    "too long a line": (b"KUBELET_KUBEADM_ARGS=" + b"x" * 32_760, TOO_LONG,
                        f"with the arguments of {FILE} the command line is too long"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "code", "said"), BAD.values(), ids=BAD)
def test_of_a_file_that_cannot_be_understood_no_half_is_taken(
    log: Log, kubelet: StandinKubelet, content: bytes, code: int, said: str
) -> None:
    log.node.path(FILE).write_bytes(content)
    assert log.node.run_line(log.line(FROM, command=KUBELET)).code == code
    assert log.said() == [said]
    assert kubelet.starts == []


def test_a_file_that_cannot_be_read_is_told(log: Log, kubelet: StandinKubelet) -> None:
    access_denied = 5
    line = log.line(r"--arguments-from=C:\var\lib\kubelet", command=KUBELET)
    assert log.node.run_line(line).code == access_denied
    assert log.said() == [r"C:\var\lib\kubelet cannot be read: error 5"]
    assert kubelet.starts == []


def test_it_is_named_by_its_whole_path(log: Log) -> None:
    result = log.node.run_line(log.line("--arguments-from=flags.env", command=KUBELET))
    error = "not the whole path of a file (--arguments-from=): flags.env"
    assert (result.code, result.err) == (2, f"wmcb-log: {error}\n")


def test_a_service_has_them_as_they_are_when_it_starts(log: Log, kubelet: StandinKubelet) -> None:
    """Editing the file and restarting the service is enough, as on Linux."""
    node = log.node
    kubelet.behave()
    node.create_service("kubelet", log.line(FROM, command=f"{KUBELET} --windows-service"))
    for content, more in (
        ('KUBELET_KUBEADM_ARGS="--v=2"\n', ["--v=2"]),
        ('KUBELET_KUBEADM_ARGS="--v=4 --x"\n', ["--v=4", "--x"]),
    ):
        node.path(FILE).write_text(content)
        node.start_service("kubelet")
        node.wait_for_service("kubelet", State.RUNNING)
        assert kubelet.starts[-1]["arguments"] == [KUBELET, "--windows-service", *more]
        node.stop_service("kubelet")
        node.wait_for_service("kubelet", State.STOPPED)
    node.delete_service("kubelet")


# Against the reading of environment files that the product has in Python

PIECES = [
    *("KUBELET_KUBEADM_ARGS=", "\nKUBELET_KUBEADM_ARGS=", "OTHER=", "--a=b", "C:", "x"),
    *("\u00e9", "\U0001f40b"),
    *(" ", "  ", "\t", '"', '"', "'", "'", "\\", "\\", "\n", "\r\n", "#", ";", "=", "$", "`"),
]  # fmt: skip
EXAMPLES = 150

RUN_EACH = """
import json, pathlib, subprocess, sys
line, file, examples = json.loads(pathlib.Path(sys.argv[1]).read_text('utf-8'))
codes = []
for example in examples:
    pathlib.Path(file).write_bytes(example.encode())
    codes.append(subprocess.run(line).returncode)
print(json.dumps(codes))
"""


def examples(seed: int) -> list[str]:
    """Files of such pieces."""
    chance = random.Random(seed)  # noqa: S311 - to be the same each time
    return [
        chance.choice(["", PIECES[0]]) + "".join(chance.choices(PIECES, k=chance.randrange(25)))
        for _ in range(EXAMPLES)
    ]


def expected(content: str) -> Sequence[str] | None:
    """What systemd would add, a backslash in a word being itself; None where a quote is never closed."""

    def variables(text: str) -> dict[str, str]:
        found, _ = environment.read_file(FILE, text.encode())
        return {variable.name: variable.value for variable in found}

    if "END" not in variables(f"{content}\n\nEND=1"):
        return None
    value = variables(content).get(VARIABLE, "")
    return words.split(value.replace("\\", r"\\"), words.VALUE)


def test_any_file_is_read_as_systemd_reads_it(log: Log, kubelet: StandinKubelet) -> None:
    given = examples(seed=7)
    line = log.line(FROM, command=KUBELET)
    log.node.path(r"C:\examples.json").write_text(json.dumps([line, FILE, given]))
    ran = log.node.python("-c", RUN_EACH, r"C:\examples.json")
    assert ran.code == 0, ran.err
    wanted = [expected(each) for each in given]
    assert json.loads(ran.out) == [BAD_FORMAT if each is None else 0 for each in wanted]
    assert sum(each is None for each in wanted) in range(10, EXAMPLES - 10), "both happen"
    started = [start["arguments"][1:] for start in kubelet.starts]
    assert started == [list(each) for each in wanted if each is not None]
    assert sum(map(bool, started)) > 20
    assert any(re.search(r'[" ]', commandline.quote(word)) for words in started for word in words)
