"""Values written as YAML: for people to read and edit, and the same values to Kubernetes' own library."""

import yaml

from agent.documents import Value, plain

_MERGE = "<<"
_WIDEST = 1 << 20
"""No line is folded."""


class _Dumper(yaml.SafeDumper):
    """Without anchors: what is there twice is written twice."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - of no value
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # Kubernetes' library takes more for numbers and switches than this one: y and 1e3, say. Line breaks of
    # any alphabet are safe only as escapes, and << would merge something.
    bare = plain(text) == text and text.isprintable() and text != _MERGE
    style = None if bare else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def dumped(value: Value) -> bytes:
    """The same bytes for the same value."""
    text = yaml.dump(
        value, Dumper=_Dumper, default_flow_style=False, allow_unicode=True, sort_keys=True, width=_WIDEST
    )
    return str(text).encode()
