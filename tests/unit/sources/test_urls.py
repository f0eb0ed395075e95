from __future__ import annotations

import pytest

from agent.sources import urls


@pytest.mark.parametrize(
    ("text", "scheme", "opaque", "query"),
    [
        ("http://example.com/a?b=c#d", "http", "", "b=c"),
        ("HTTPS://example.com:22623", "https", "", ""),
        ("http://u:p@h/", "http", "", ""),
        ("http://[fe80::1]:80/", "http", "", ""),
        ("http://[fe80::1%25eth0]/", "http", "", ""),
        ("http://h\u00e4/", "http", "", ""),
        ("http://h%C3%A4/", "http", "", ""),
        ("http:", "http", "", ""),
        ("http:x", "http", "x", ""),
        ("data:,x%zz", "data", ",x%zz", ""),
        ("arn:aws:s3:::b/k?versionId=1", "arn", "aws:s3:::b/k", "versionId=1"),
        ("s3://b:1:2/k", "s3", "", ""),
        ("/relative", "", "", ""),
        ("", "", "", ""),
    ],
)
def test_parsed(text: str, scheme: str, opaque: str, query: str) -> None:
    assert urls.parse(text) == urls.Url(scheme, opaque, query)


@pytest.mark.parametrize(
    "text",
    [
        "http://h/\n", "http://h/\x7f", ":x", "a b:c", "http://h/%zz", "http://h/%", "http://h/#%z",
        "http://h h/", "http://h:x/", "http://h:1:2/", "http://[::1", "http://[1.2.3.4]/", "http://[::g]/",
        "http://a[::1]/",
        "http://[fe80::1%eth0]/", "http://[fe80::1%25]/", "http://u@\\h/", "http://u%@h/", "http://u[@h/",
        "http://h%20/", "http://h%41/",
    ],
)  # fmt: skip
def test_no_url(text: str) -> None:
    assert urls.parse(text) is None


@pytest.mark.parametrize(
    ("query", "value"),
    [
        ("versionId=1", "1"),
        ("a=b&versionId=x%20y+z", "x y z"),
        ("versionId", ""),
        ("versionId=", ""),
        ("%76ersionId=1", "1"),
        ("a=b", None),
        ("versionId=%zz", None),
        ("versionId=1;b", None),
        ("versionId=1" + "&" * 10_001, None),
    ],
)
def test_parameter(query: str, value: str | None) -> None:
    assert urls.Url("s3", "", query).parameter("versionId") == value


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://user:secret@h:1/a/b?token=secret#secret", "https://h:1/a/b"),
        ("data:;base64,c2VjcmV0", "data:..."),
        ("Data:,secret", "data:..."),
        ("https://h", "https://h"),
    ],
)
def test_shown_without_what_may_be_secret(text: str, shown: str) -> None:
    assert urls.shown(text) == shown
