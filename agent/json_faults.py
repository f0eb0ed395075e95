"""What is wrong with a document that is no JSON, in words of JSON's own; nothing of it is quoted."""

from json import JSONDecodeError

_OF_JSON = {
    "Expecting property name enclosed in double quotes": "a field's name in double quotes is expected here",
    "Expecting value": "a value is expected here",
    "Expecting ',' delimiter": "a comma, or the closing bracket, is missing before this",
    "Expecting ':' delimiter": "a colon is missing before this",
    "Unterminated string starting at": "the text that begins here has no closing quote; was it cut short?",
    "Invalid control character at": "a line break, or another control character, stands in a text",
    "Invalid \\escape": "a backslash stands in a text; write two of them",
    "Extra data": "it goes on after its end",
}


def json_fault(fault: JSONDecodeError) -> str:
    """Whatever the release of Python whose reader found it: which calls a comma too many differently."""
    before = fault.doc[: fault.pos].rstrip()[-1:]
    after = fault.doc[fault.pos : fault.pos + 1]
    if (before == "," and after in ("}", "]")) or fault.msg.startswith("Illegal trailing comma"):
        return "a comma comes before the closing bracket; take it away"
    if not fault.doc[fault.pos :].strip():
        return "it ends too early; was it cut short?"
    return _OF_JSON.get(fault.msg, f"{fault.msg[:1].lower()}{fault.msg[1:]}")
