"""One command line as the arguments that it stands for, by the rules of CommandLineToArgvW.

A program's own path, argument zero, has a rule of its own: a quote ends at the next quote and a backslash
means nothing.
"""


def split(line: str) -> tuple[str, ...]:
    """What CommandLineToArgvW makes of a line that isn't empty."""
    program, place = _first(line)
    return (program, *_arguments(line, place))


def _first(line: str) -> tuple[str, int]:
    if line.startswith('"'):
        end = line.find('"', 1)
        return (line[1:], len(line)) if end < 0 else (line[1:end], end + 1)
    end = next((place for place, character in enumerate(line) if character in " \t"), len(line))
    return line[:end], end


def _arguments(line: str, place: int) -> list[str]:
    arguments: list[str] = []
    while True:
        while line[place : place + 1] in (" ", "\t"):
            place += 1
        if place >= len(line):
            return arguments
        argument, place = _one_argument(line, place)
        arguments.append(argument)


def _one_argument(line: str, place: int) -> tuple[str, int]:
    argument: list[str] = []
    quoted = False
    while place < len(line) and (quoted or line[place] not in " \t"):
        backslashes = _run_length(line, place, "\\")
        place += backslashes
        if line[place : place + 1] != '"':
            argument.append("\\" * backslashes)
            if not backslashes:
                argument.append(line[place])
                place += 1
            continue
        argument.append("\\" * (backslashes // 2))
        if backslashes % 2:
            argument.append('"')
            place += 1
        quotes = _run_length(line, place, '"')
        place += quotes
        literal, quoted = _read_quotes(quotes, quoted)
        argument.append('"' * literal)
    return "".join(argument), place


def _run_length(line: str, place: int, character: str) -> int:
    end = place
    while line[end : end + 1] == character:
        end += 1
    return end - place


def _read_quotes(quotes: int, quoted: bool) -> tuple[int, bool]:
    """How many quotes in a row are meant as such, and whether a quoted part is open after them.

    Of three quotes, an open one counted, the last is literal; two of what is left cancel each other.
    """
    literal, left = divmod(quotes + quoted, 3)
    return literal, left == 1
