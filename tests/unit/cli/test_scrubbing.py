"""Taking secrets out of long hostile text: what read a word more than once would never end here."""

from __future__ import annotations

import pytest

from agent.cli.scrubbing import REMOVED, Scrubber

LONG = 1 << 18

UNENDING = {
    "names of secrets joined by dashes": "token-",
    "names of secrets in one word": "token",
    "names of places of secrets": "token-file-",
    "dotted names": "token.",
    "words that may be a scheme": "a.",
    "URLs in one word": "a://",
    "users in one word": "a://b@",
    "blanks after a name": "token ",
    "begun keys": "-----BEGIN PRIVATE KEY-----",
    "begun keys with a header": "-----BEGIN PRIVATE KEY-----\nProc-Type: ",
    "ends of keys": "-----END PRIVATE KEY-----",
    "begun brackets": "-Token (",
    "ports": "auth:8443,",
    "labels in labels": "--node-labels=",
    "labels with a secret's name": "example.com/token=x,",
    "options in a sentence": "--token is ",
    "begun quotes": 'token="\\',
}


@pytest.mark.parametrize("part", UNENDING.values(), ids=UNENDING)
def test_a_long_text_is_read_once(part: str) -> None:
    text = Scrubber().text(part * (LONG // len(part)) + "\ntoken=Geheim")
    assert "Geheim" not in text


@pytest.mark.parametrize("part", UNENDING.values(), ids=UNENDING)
def test_a_long_name_is_read_once(part: str) -> None:
    name = part * (LONG // len(part))
    assert Scrubber().document([f"--{name}", "Geheim", {name: "value"}])


NAMED = {
    "in the middle": ("my-token-2=Geheim", f"my-token-2={REMOVED}"),
    "within a word": ("clientSecretValue: Geheim", f"clientSecretValue: {REMOVED}"),
    "in quotes": ('{"api_key" : "Ge\\"heim", "a": 1}', f'{{"api_key" : {REMOVED}, "a": 1}}'),
    "after a dot": ("registry.password=Geheim", f"registry.password={REMOVED}"),
    "after the name of another place": ("token-file-token=Geheim", f"token-file-token={REMOVED}"),
    "as the value of another": ("args: --token=Geheim", f"args: --token={REMOVED}"),
    "an option": ("kubelet.exe --auth.token Geheim -v", f"kubelet.exe --auth.token {REMOVED} -v"),
    "an option without a value": ("--token --v=2", "--token --v=2"),
    "credentials": ("DB_CREDS=Geheim", f"DB_CREDS={REMOVED}"),
    "a key": ("AZURE_STORAGE_KEY=Geheim", f"AZURE_STORAGE_KEY={REMOVED}"),
    "too much rather than too little": ("TOKEN_REALM=public", f"TOKEN_REALM={REMOVED}"),
    "a place": ("--token-file C:\\a", "--token-file C:\\a"),
    "a word of a sentence": ("a token-based way", "a token-based way"),
    "a user of a URL of a secret": ("token=https://a@b@Geheim", f"token={REMOVED}"),
}


@pytest.mark.parametrize(("text", "scrubbed"), NAMED.values(), ids=NAMED)
def test_where_a_name_stands(text: str, scrubbed: str) -> None:
    assert Scrubber().text(text) == scrubbed
