"""The plug-ins that get credentials for image registries: on Windows they are .exe files."""

import json

from agent.sources.kubelet.documents import Document, NotReadable, Value, read_document
from agent.sources.report import Place, Severity

_SUFFIX = ".exe"


def for_windows(name: str, contents: bytes) -> bytes:
    """As JSON. Raises NotReadable."""
    document = read_document(name, contents)
    providers = document.value.get("providers")
    if not isinstance(providers, list):
        raise _refusal(document, ("providers",), "a list of mappings was expected")
    made = [_for_windows(document, place, provider) for place, provider in enumerate(providers)]
    return json.dumps({**document.value, "providers": made}, indent=2, ensure_ascii=False).encode() + b"\n"


def _for_windows(document: Document, number: int, provider: Value) -> Value:
    if not isinstance(provider, dict):
        raise _refusal(document, ("providers", number), "a mapping was expected")
    name = provider.get("name")
    if not isinstance(name, str) or not name:
        raise _refusal(document, ("providers", number, "name"), "text was expected")
    return {**provider, "name": name if name.lower().endswith(_SUFFIX) else name + _SUFFIX}


def _refusal(document: Document, place: Place, message: str) -> NotReadable:
    return NotReadable(document.entry(Severity.ERROR, place, message))
