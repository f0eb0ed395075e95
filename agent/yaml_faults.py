"""What is wrong with a document that is no YAML, in words of our own; nothing of it is quoted."""

from yaml import MarkedYAMLError

_INSIDE = {
    "flow sequence": "a comma is missing before this, or the closing bracket ]",
    "flow mapping": "a comma is missing before this, or the closing brace }",
    "flow node": "a value is missing before this, or the closing bracket",
    "quoted scalar": "a text in quotes is not closed, or has a backslash that means nothing: in double quotes"
    " it is written twice",
    "block mapping": "this line is indented otherwise than those of the mapping that it belongs to",
    "block collection": "this line is indented otherwise than those of the list that it belongs to",
    "simple key": "a colon and a space are missing behind the name",
    "block scalar": "behind | or > the line ends, and the text begins on the next one",
    "next token": "a text that begins with this character needs quotes",
    "anchor": "a name is missing behind &, and quotes around a text that begins so",
    "alias": "a name is missing behind *, and quotes around a text that begins so",
}
"""What the parser, in C or in Python, was reading. Its own words may quote what was there."""


def yaml_fault(fault: MarkedYAMLError, text: str) -> str:
    """Begins with a colon; empty where nothing more is known than that."""
    line, column = "", 0
    if fault.problem_mark is not None:
        lines = text.split("\n")[fault.problem_mark.line :][:1]
        line, column = (lines[0] if lines else ""), fault.problem_mark.column
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return ": a tab indents it; use spaces"
    if "mapping values are not allowed" in (fault.problem or ""):
        if ": " in line[:column]:
            return ": a text with a colon in it needs quotes, or a line break is missing before this"
        return ": it goes on with the text of a line above: indent it as that is, or end that with its colon"
    context = fault.context or ""
    return next((f": {why}" for inside, why in _INSIDE.items() if inside in context), "")
