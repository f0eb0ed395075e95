"""Mirrors, and the folder of files that lie ready."""

from __future__ import annotations

import hashlib

import pytest

from agent.artifacts.means import Means, Mirror, NoMirror, Unusable, file_name, mirror
from agent.artifacts.receiving import Hashing, as_text, told_by

K8S = "https://dl.k8s.io/v1.36.3/bin/windows/amd64/kubelet.exe"

MIRRORED = {
    "none": ((), K8S, K8S),
    "another server": (("https://dl.k8s.io/=https://mirror/k8s/",), K8S, f"https://mirror/k8s{K8S[17:]}"),
    "of something else": (("https://github.com/=https://mirror/",), K8S, K8S),
    "the longest counts": (
        ("https://dl.k8s.io/=https://one/", "https://dl.k8s.io/v1.36.3/=https://two/"),
        K8S,
        "https://two/bin/windows/amd64/kubelet.exe",
    ),
    "a share": (
        ("https://dl.k8s.io/=\\\\files\\k8s\\",),
        "https://dl.k8s.io/a%20b.exe?sig=1",
        "\\\\files\\k8s\\a b.exe",
    ),
    "a share's": (("\\\\files\\setup\\=https://mirror/",), "\\\\files\\setup\\a\\b.zip", "https://mirror/a/b.zip"),
    "a host without a slash": (("https://dl.k8s.io=https://mirror",), K8S, f"https://mirror{K8S[17:]}"),
    "no other host that begins so": (("https://dl.k8s=https://mirror",), K8S, K8S),
    "no other port": (("https://a=https://mirror",), "https://a:8443/b.zip", "https://a:8443/b.zip"),
    "no other folder that begins so": (("https://a/v1=https://m/v1",), "https://a/v12/b", "https://a/v12/b"),
    "a whole": (("https://a/b.zip=C:\\setup\\b.zip",), "https://a/b.zip", "C:\\setup\\b.zip"),
}  # fmt: skip


@pytest.mark.parametrize("case", MIRRORED.values(), ids=MIRRORED)
def test_what_begins_so_is_had_from_elsewhere(case: tuple[tuple[str, ...], str, str]) -> None:
    mirrors, source, place = case
    assert Means(tuple(map(mirror, mirrors))).place(source) == place


@pytest.mark.parametrize("text", ["", "https://a/", "=https://a/", "https://a/=", "https://a/=https://b"])
def test_what_is_no_mirror_is_refused(text: str) -> None:
    with pytest.raises(NoMirror):
        mirror(text)


def test_a_mirror_is_told_as_it_was_given() -> None:
    assert str(Mirror("https://a/", "https://b/")) == "https://a/=https://b/"


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (f"{K8S}?a=/b", "kubelet.exe"),
        ("https://a/b%20c.zip#d", "b c.zip"),
        ("\\\\server\\share\\a.zip", "a.zip"),
        ("C:/setup/a.zip", "a.zip"),
        ("https://a/", ""),
    ],
)
def test_a_source_has_a_file_name(source: str, name: str) -> None:
    assert file_name(source) == name


A, B = "a" * 64, "b" * 64
DONE, ERLEDIGT = (
    "CertUtil: -hashfile command completed successfully.",
    "CertUtil: ... erfolgreich ausgef\ufffdhrt.",
)
SUMS = {
    "sha256sum": f"{B}  other.exe\n{A}  kubelet.exe\n",
    "sha256sum of binaries": f"{A} *kubelet.exe\r\n",
    "with a folder": f"{A}  ./bin/kubelet.exe\n",
    "in capitals": f"{A.upper()}  kubelet.exe\n",
    "BSD's": f"SHA256 (kubelet.exe) = {A}\n",
    "one alone": f"{A}\n",
    "with a comment": f"# checksums\n\n{A}  kubelet.exe\n",
    "PowerShell's": f"\ufeff{A}  kubelet.exe\r\n",
    "PowerShell's, one alone": f"\ufeff{A}\r\n",
    "certutil's": f"SHA256 hash of kubelet.exe:\r\n{A}\r\n{DONE}\r\n",
    "certutil's in German, of several": (
        f"SHA256-Hash von old-kubelet.exe:\n{B}\n{ERLEDIGT}\n"
        f"SHA256-Hash von C:\\dl\\kubelet.exe:\n{A}\n{ERLEDIGT}\n"
    ),
    "of several systems": (
        f"{B}  bin/windows/386/kubelet.exe\n{A}  bin/windows/amd64/kubelet.exe\n{B}  amd64/kubelet.exe\n"
    ),
    "without a folder, and in another": f"{B}  386/kubelet.exe\n{A}  kubelet.exe\n",
    "twice": f"{A}  ./kubelet.exe\n{A}  kubelet.exe\n",
    "of two algorithms": f"SHA256 (kubelet.exe) = {A}\nSHA512 (kubelet.exe) = {B}{B}\n",
}


@pytest.mark.parametrize("text", SUMS.values(), ids=SUMS)
def test_the_digest_of_a_file_is_found_among_checksums(text: str) -> None:
    assert told_by(text, K8S) == f"sha256:{A}"


WRITTEN = {
    "by PowerShell 5.1's >": f"\ufeff{A.upper()}\r\n".encode("utf-16-le"),
    "the other way round": f"\ufeff{A}\r\n".encode("utf-16-be"),
    "by its Set-Content -Encoding utf8": f"\ufeff{A}\r\n".encode(),
    "by its Set-Content -Encoding ascii": f"{A}\r\n".encode(),
    "with what is no UTF-8": f"# gepr\xfcft\n{A}  kubelet.exe\n".encode("latin-1"),
}


@pytest.mark.parametrize("content", WRITTEN.values(), ids=WRITTEN)
def test_checksums_are_read_as_windows_writes_them(content: bytes) -> None:
    assert told_by(as_text(content), K8S) == f"sha256:{A}"


def test_the_length_tells_the_algorithm() -> None:
    assert told_by("c" * 128, "https://a/b") == f"sha512:{'c' * 128}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<html>",
        f"{A}  kubectl.exe",
        f"{A}\n{B}",
        f"{A}  kubelet.exe.sig",
        "ab",
        f"SHA256 hash of kubectl.exe:\n{A}\n{DONE}",
        f"SHA256 hash of kubelet.exe.sig:\n{A}\n{DONE}",
    ],
)
def test_checksums_that_do_not_name_a_file_are_refused(text: str) -> None:
    with pytest.raises(Unusable, match=r"its checksums do not name kubelet\.exe"):
        told_by(text, K8S)


@pytest.mark.parametrize("names", [("arm64/kubelet.exe", "386/kubelet.exe"), ("kubelet.exe", "kubelet.exe")])
def test_checksums_that_name_several_files_are_refused(names: tuple[str, str]) -> None:
    text = f"{A}  {names[0]}\n{B}  {names[1]}\n"
    with pytest.raises(Unusable, match=r"name several files kubelet\.exe, and not which of them it is"):
        told_by(text, K8S)


@pytest.mark.parametrize("algorithm", ["sha256", "sha512"])
def test_what_is_hashed_is_known_by_sha256_whatever_is_wanted(algorithm: str) -> None:
    hashing = Hashing(f"{algorithm}:{hashlib.new(algorithm, b'abc').hexdigest()}")
    hashing.update(b"a")
    hashing.update(b"bc")
    hashing.check()
    assert hashing.sha256 == hashlib.sha256(b"abc").hexdigest()
