from __future__ import annotations

import gzip
import hashlib
import io
import zlib

import pytest

from agent.sources.ignition.model import BLOCK, PLAIN, Hash, Packing, Unsound, in_blocks

_LIMIT = 1 << 30
_ZIPPED = Packing(compressed=True)
_TEXT = b"hello\n" * 1000


def _unpacked(packing: Packing, data: bytes, limit: int = _LIMIT) -> bytes:
    return b"".join(packing.unpack(in_blocks(data), limit))


def _wanted(algorithm: str, data: bytes) -> Hash:
    return Hash(algorithm, hashlib.new(algorithm, data).hexdigest())


@pytest.mark.parametrize(
    ("packing", "data"),
    [
        pytest.param(PLAIN, _TEXT, id="plain"),
        pytest.param(PLAIN, b"", id="nothing"),
        pytest.param(_ZIPPED, gzip.compress(_TEXT), id="gzip"),
        pytest.param(_ZIPPED, gzip.compress(_TEXT[:17]) + gzip.compress(_TEXT[17:]), id="two-members"),
        pytest.param(_ZIPPED, gzip.compress(b""), id="gzip-of-nothing"),
        pytest.param(Packing(False, _wanted("sha256", _TEXT)), _TEXT, id="sha256"),
        pytest.param(Packing(True, _wanted("sha512", _TEXT)), gzip.compress(_TEXT), id="gzip-and-sha512"),
    ],
)
def test_sound(packing: Packing, data: bytes) -> None:
    assert _unpacked(packing, data) in (_TEXT, b"")


@pytest.mark.parametrize("size", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, 3 * BLOCK + 5])
def test_all_of_it_comes_out(size: int) -> None:
    text = bytes(size)
    assert _unpacked(_ZIPPED, gzip.compress(text)) == text
    data = gzip.compress(text)
    assert b"".join(_ZIPPED.unpack((data[at : at + 1] for at in range(len(data))), _LIMIT)) == text


@pytest.mark.parametrize(
    ("packing", "data", "why"),
    [
        pytest.param(_ZIPPED, b"", "ends too early", id="nothing"),
        pytest.param(_ZIPPED, _TEXT, "not gzip", id="not-gzip"),
        pytest.param(_ZIPPED, zlib.compress(_TEXT), "not gzip", id="zlib"),
        pytest.param(_ZIPPED, gzip.compress(_TEXT)[:-9], "ends too early", id="cut"),
        pytest.param(_ZIPPED, gzip.compress(_TEXT)[:-1], "ends too early", id="cut-in-the-trailer"),
        pytest.param(_ZIPPED, gzip.compress(_TEXT) + b"xx", "not gzip", id="something-after-it"),
        pytest.param(_ZIPPED, gzip.compress(_TEXT) + bytes(9), "not gzip", id="zeros-after-it"),
        pytest.param(_ZIPPED, gzip.compress(_TEXT)[:-8] + b"\0" * 8, "damaged", id="wrong-checksum"),
        pytest.param(_ZIPPED, gzip.compress(b"") * 1001, "more than 1000 parts", id="too-many-members"),
        pytest.param(Packing(False, _wanted("sha512", b"x")), _TEXT, "its sha512 is", id="wrong-hash"),
        pytest.param(
            Packing(True, _wanted("sha256", gzip.compress(_TEXT, mtime=0))),
            gzip.compress(_TEXT, mtime=0),
            "its sha256 is",
            id="hash-of-the-packed",
        ),
    ],
)  # fmt: skip
def test_unsound(packing: Packing, data: bytes, why: str) -> None:
    with pytest.raises(Unsound, match=why):
        _unpacked(packing, data)


@pytest.mark.parametrize(("packing", "pack"), [(PLAIN, bytes), (_ZIPPED, gzip.compress)])
def test_limit(packing: Packing, pack: type[bytes]) -> None:
    assert len(_unpacked(packing, pack(bytes(1000)), 1000)) == 1000
    with pytest.raises(Unsound, match="larger than 999 bytes"):
        _unpacked(packing, pack(bytes(1000)), 999)


def test_a_bomb_is_stopped_before_it_is_in_memory() -> None:
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb") as file:
        for _ in range(256):
            file.write(bytes(1 << 20))
    sizes = []
    with pytest.raises(Unsound):
        for block in _ZIPPED.unpack(in_blocks(packed.getvalue()), 8 << 20):
            sizes.append(len(block))
    assert sum(sizes) <= 8 << 20
    assert max(sizes) <= BLOCK
