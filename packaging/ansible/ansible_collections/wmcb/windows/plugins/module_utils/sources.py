"""What is brought to a machine for one run of wmcb: a worker's Ignition, from wherever it comes.

It may hold secrets, so it is a file for its owner alone, in Ansible's own folder for this run, and never a
value that Ansible knows.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ansible_collections.wmcb.windows.plugins.module_utils.cluster import Cluster

# The newest that openshift's machine config servers know for sure; older ones serve what they have.
_IGNITION = "3.1.0"
_BLOCK = 1 << 20


class Unusable(Exception):
    """It is not what it has to be, or not there. The text says what and where."""


def local_file(source: Mapping[str, Any], cache: Path) -> Path:
    """Of a file or what was fetched by URL, with its checksum looked at."""
    wanted = (source.get("sha256") or "").lower()
    if source.get("file"):
        path = Path(source["file"]).expanduser()
    elif source.get("url"):
        if not wanted:
            raise Unusable(f"{source['url']}: a sha256 has to stand beside a url")
        path = cache / wanted
    else:
        raise Unusable(f"one of file and url has to be given, not {', '.join(source) or 'nothing'}")
    try:
        found = digest(path)
    except OSError as fault:
        raise Unusable(f"{path}: {fault.strerror}") from None
    if wanted and found != wanted:
        raise Unusable(f"{path} has the sha256 {found}, not {wanted}")
    return path


def digest(path: Path) -> str:
    sha256 = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):  # hashlib.file_digest is younger than Ansible's oldest Python
            sha256.update(block)
    return sha256.hexdigest()


def ignition(source: Mapping[str, Any], cluster: Cluster, cache: Path, folder: Path) -> Path:
    """Of a file, a URL, a secret of the cluster, or its machine config server."""
    if source.get("secret"):
        return private_file(_of_secret(source["secret"], cluster), folder)
    if source.get("machine_config_server"):
        return private_file(_pointer(source["machine_config_server"]), folder)
    return local_file(source, cache)


def private_file(content: bytes, folder: Path) -> Path:
    handle, path = tempfile.mkstemp(dir=folder)  # nobody else's, from its first byte
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    return Path(path)


def _of_secret(where: Mapping[str, str], cluster: Cluster) -> bytes:
    name = f"{where['namespace']}/{where['name']}"
    secret = cluster.find("secret", where["name"], where["namespace"])
    if secret is None:
        raise Unusable(f"there is no secret {name}")
    encoded = (secret.get("data") or {}).get(where["key"])
    if encoded is None:
        raise Unusable(f"the secret {name} has no key {where['key']}")
    try:
        return base64.b64decode(encoded, validate=True)
    except binascii.Error:
        raise Unusable(f"{where['key']} of the secret {name} is not base64") from None


def _pointer(where: Mapping[str, str]) -> bytes:
    """As a machine's user data has it: wmcb on the node follows it, and trusts this authority alone."""
    document: dict[str, Any] = {
        "version": _IGNITION,
        "config": {"merge": [{"source": where["url"]}]},
    }
    if authority := where.get("authority"):
        try:
            text = Path(authority).expanduser().read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError):
            raise Unusable(f"{authority} cannot be read as certificates in PEM") from None
        trusted = [{"source": f"data:,{quote(text)}"}]
        document["security"] = {"tls": {"certificateAuthorities": trusted}}
    return json.dumps({"ignition": document}).encode()
