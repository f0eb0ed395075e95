"""What came from elsewhere, remembered beside wmcb's own memory: where it is from, and what was in it.

So a second run need not fetch an archive to know what files it is to find, and whoever has to put one of them
right knows where it is to be had. The files themselves are resources of their own.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import PureWindowsPath

from agent.amounts import in_bytes
from agent.host.errors import NotFound
from agent.host.port import Host
from agent.resources.kind import CannotBeSo, Setting, State, Value, mapping_in, without_none
from agent.resources.own_folder import OwnFile, own_folder, sealed, unsealed
from agent.spec import Artifact, Protection, Signer, Unpacking
from agent.spec.files import SIZE_LIMIT

_FOLDER = "artifacts"
_NAMED = 5
_SIZE_LIMIT = "size_limit"
"""In a source: of what is fetched from there."""


class ArtifactResource(Setting[Artifact]):
    firm = frozenset({"source", "place", "digest", "signer", "files"})

    def wanted(self, want: Artifact) -> State:
        origin = {"url" if "://" in want.source else "path": want.source}
        signer = want.signer or Signer()
        wanted: dict[str, Value] = {
            "source": {**origin, **_more_of_source(want)},
            "place": _place(want),
            "signer": {"common_name": signer.common_name, "thumbprint": signer.thumbprint},
            "digest": want.digest or None,
            "files": None if want.files is None else dict(want.files),
        }
        return without_none(wanted)

    def observe(self, host: Host, name: str, wanted: State) -> State | None:  # noqa: ARG002 - all are cheap
        found = _read(host, name)
        return found and {field: value for field, value in found.items() if field != "name"}

    def shown(self, field: str, value: Value, manner: State) -> str:
        if not isinstance(value, dict):
            return str(value)[:20] if field == "digest" else super().shown(field, value, manner)
        if field == "files":
            names = [PureWindowsPath(path).name for path in value]
            return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if names[_NAMED:] else "")
        if field == "source":
            told = ", by ".join(public(str(each)) for name, each in value.items() if name != _SIZE_LIMIT)
            limit = value.get(_SIZE_LIMIT)
            return f"{told}, up to {in_bytes(limit)}" if isinstance(limit, int) else told
        return ", ".join(f"{name} {each}" for name, each in value.items() if each)

    def put(self, host: Host, name: str, state: State) -> None:
        assert "files" in state, "what is in it is known before a run begins"
        _note(host, name).write(sealed(host, json.dumps({**state, "name": name}, indent=1)))

    def remove(self, host: Host, name: str) -> None:
        _note(host, name).remove()


def _more_of_source(want: Artifact) -> State:
    more: State = {"checksums": want.checksums} if want.checksums else {}
    return more if want.size_limit == SIZE_LIMIT else {**more, _SIZE_LIMIT: want.size_limit}


def known(host: Host, wanted: Artifact) -> Artifact | None:
    """With its digest and its files, as they were found before; None where it was another, or nobody knows.

    A digest says what it is, wherever it comes from. Else the source has to be the same, and is believed.
    """
    found = _read(host, wanted.name)
    if found is None:
        return None
    made = _of_state(wanted.name, found)
    is_same = wanted.digest == made.digest if wanted.digest else _origin(wanted) == _origin(made)
    was_judged = wanted.signer in (None, made.signer)
    if not is_same or not was_judged or wanted.place != made.place:
        return None
    return replace(wanted, digest=made.digest, files=made.files)


def _origin(artifact: Artifact) -> tuple[str, str]:
    return artifact.source, artifact.checksums


def all_known(host: Host) -> Iterator[Artifact]:
    """All that were made here. One whose note is damaged is left out."""
    folder = own_folder(host) / _FOLDER
    with suppress(NotFound):
        for name in host.files.list(folder):
            with suppress(CannotBeSo, NotFound):
                document = _parsed(host, folder / name)
                yield _of_state(str(document["name"]), document)


def public(source: str) -> str:
    """Without what is secret in a URL, more often than not."""
    scheme, separator, rest = source.partition("://")
    if not separator:
        return source
    server, slash, path = rest.partition("?")[0].partition("#")[0].partition("/")
    return f"{scheme}://{server.rpartition('@')[2]}{slash}{path}"


def _place(want: Artifact) -> State:
    place = want.place
    protection = want.protection.value
    if not isinstance(place, Unpacking):
        return {"path": str(place), "protection": protection}
    members = dict(place.members)
    return {"into": str(place.into), "strip": place.strip, "members": members, "protection": protection}


def _of_state(name: str, state: State) -> Artifact:
    source, place, files = mapping_in(state["source"]), mapping_in(state["place"]), mapping_in(state["files"])
    signer = _texts(state["signer"])
    return Artifact(
        name,
        str(source.get("url", source.get("path"))),
        Unpacking(PureWindowsPath(str(place["into"])), int(str(place["strip"])), _texts(place["members"]))
        if "into" in place
        else PureWindowsPath(str(place["path"])),
        str(state["digest"]),
        str(source.get("checksums", "")),
        Signer(**signer) if any(signer.values()) else None,
        Protection(place["protection"]),
        int(str(source.get(_SIZE_LIMIT, SIZE_LIMIT))),
        _texts(files),
    )


def _texts(value: Value) -> Mapping[str, str]:
    return {name: str(each) for name, each in mapping_in(value).items()}


def _read(host: Host, name: str) -> State | None:
    try:
        return _parsed(host, _note(host, name).path)
    except NotFound:
        return None


def _parsed(host: Host, path: PureWindowsPath) -> State:
    content = host.files.read(path)
    try:
        document: dict[str, Value] = json.loads(unsealed(host, content.decode()))
        _of_state(str(document["name"]), document)
    except (ValueError, KeyError, TypeError) as fault:
        raise CannotBeSo(f"{path} is damaged; remove it, and it is made anew") from fault
    return document


def _note(host: Host, name: str) -> OwnFile:
    return OwnFile(host, _FOLDER, name)
