"""The one function that takes secrets out of all that is printed, logged, recorded or sent."""

from __future__ import annotations

import base64
import itertools
import json
import re._parser as parser  # type: ignore[import-untyped, import-not-found, unused-ignore]
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import PureWindowsPath
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent import redaction, secret_patterns
from agent.redaction import (
    SHORTEST,
    redacted,
    redacted_document,
    redacted_name,
    redacted_words,
    register,
    register_document,
    register_name,
    register_words,
)
from agent.resources.kind import veiled
from agent.secret_fields import registers_secrets
from agent.secret_patterns import REDACTED, is_secret_name
from agent.spec import Service

PASSWORD = 'Geheim"/17 wört\\'  # noqa: S105 - planted
KEY = "\n".join(
    [
        "-----BEGIN EC PRIVATE KEY-----",
        "MHcCAQEEIGeheimGeheimGeheimGeheimGeheimGeheimGeheimGeheimGeheimG",
        "oUQDQgAEGeheimGeheimGeheimGeheimGeheim==",
        "-----END EC PRIVATE KEY-----",
        "",
    ]
)
BEGIN, END = "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"
ENCRYPTED_KEY = "\n".join(
    [
        "-----BEGIN RSA PRIVATE KEY-----",
        "Proc-Type: 4,ENCRYPTED",
        "DEK-Info: AES-256-CBC,0123456789ABCDEF0123456789ABCDEF",
        "",
        "GeheimGeheimGeheimGeheimGeheimGeheimGeheimGeheimGeheimGeheim/+Ge",
        "Geheim==",
    ]
)

FORMS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "in JSON": json.dumps,
    "in JSON with its own letters": lambda secret: json.dumps(secret, ensure_ascii=False),
    "in a URL": lambda secret: quote(secret, safe=""),
    "in base64": lambda secret: base64.b64encode(secret.encode()).decode(),
    "in base64 of a URL": lambda secret: base64.urlsafe_b64encode(secret.encode()).decode(),
    "in base64, behind a user's name": lambda secret: base64.b64encode(f"me:{secret}".encode()).decode(),
    "in base64, behind a longer one": lambda secret: base64.b64encode(f"you:{secret}".encode()).decode(),
    "on one line": lambda secret: " ".join(secret.split()),
    "as Python shows it": repr,
}


@pytest.mark.parametrize("secret", [PASSWORD, KEY], ids=["a password", "a private key"])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_registered_secret_is_found_however_it_is_written(form: Callable[[str], str], secret: str) -> None:
    register(secret)
    text = redacted(f"a server said {form(secret)} to us")
    assert text.startswith("a server said ")
    assert text.endswith(" to us")
    assert form(secret).strip("'\"=")[4:-4] not in text
    assert secret.strip()[4:-4] not in text


def test_of_a_key_each_line_is_one() -> None:
    register(KEY)
    for line in KEY.splitlines()[1:-1]:
        assert redacted(f"   {line}") == f"   {REDACTED}"


def test_where_two_overlap_both_are_gone() -> None:
    register("abcdefgh", "efghijkl")
    assert redacted("<abcdefghijkl>") == f"<{REDACTED}>"


def test_a_bootstrap_tokens_id_is_shown_and_its_secret_alone_is_none_the_less_found() -> None:
    register("abcdef.0123456789abcdef")
    shown = redacted("token abcdef: 0123456789abcdef is wrong in abcdef.0123456789abcdef")
    assert shown == "token abcdef: *** is wrong in abcdef.***"


def test_of_a_secret_that_is_short_on_one_line_that_line_is_none() -> None:
    register("a      b")
    assert redacted("x a b y") == "x a b y"


def test_what_is_no_share_is_registered() -> None:
    register(r"\\hunter2secret")
    assert redacted(r"see \\hunter2secret") == "see ***"


NOT_REGISTERED = {
    "a short one": "abcde",
    "a word of ours": "Kubelet",
    "a path": r"C:\k\password",
    "a share": r"\\server\password",
    "a placeholder of a shell": "${PASSWORD}",
    "a placeholder of a template": "{{ ds.meta_data.token }}",
    "a placeholder of a person's": "<password>",
}


@pytest.mark.parametrize("value", NOT_REGISTERED.values(), ids=NOT_REGISTERED)
def test_what_would_be_found_in_words_that_are_no_secret(value: str) -> None:
    register(value)
    assert redacted(f"see {value} here") == f"see {value} here"


def test_the_shortest_that_is_found_everywhere() -> None:
    register("x" * SHORTEST)
    assert redacted("x" * SHORTEST) == REDACTED


def test_what_is_held_has_a_bound_and_the_latest_stay() -> None:
    for number in range(5_000):
        register(f"secret-number-{number}")
    for number in range(200):
        register(f"{number:05}" * 10_000)
    register("the-latest-one")
    assert len(redaction._registry._secrets) <= redaction._MOST_SECRETS
    assert sum(map(len, redaction._registry._secrets)) <= redaction._MOST_CHARACTERS
    assert redacted("the-latest-one") == REDACTED


SHOWN = {
    "a bootstrap token": ("joined with abcdef.0123456789abcdef", "joined with abcdef.***"),
    "a user of a URL": ("GET https://me@corp:pw@h/x failed", "GET https://***@h/x failed"),
    "a query": ("GET https://h/x?sv=1&sig=abc failed", "GET https://h/x?*** failed"),
    "URLs in a list": ("--etcd=https://a:1?x,https://u:p@b:2", "--etcd=https://a:1?***,https://***@b:2"),
    "a URL in a sentence": (
        "it (see https://h/?x=1), [https://h/?y].",
        "it (see https://h/?***), [https://h/?***].",
    ),
    "a URL with commas": ("https://h/?sig=a,b;c=d failed", "https://h/?*** failed"),
    "a mirror": ("--mirror https://a/=https://u:p@b/?sig=x", "--mirror https://a/=https://***@b/?***"),
    "a header": (f"Authorization: Bearer {'a1' * 12}", "Authorization: Bearer ***"),
    "a web token": ("got eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJr.c2ln", "got ***"),
    "a key's id": ("AKIAABCDEFGHIJKLMNOP", "***"),
    "no blank behind the colon": ("there is token:abc here", "there is token:*** here"),
    "a connection": ("Server=x;Password=abc;Encrypt=yes", "Server=x;Password=***;Encrypt=yes"),
    "quotes": ("level=error password='a b' x", "level=error password=*** x"),
    "a private key": (f"it says {KEY}and more", "it says ***\nand more"),
    "a private key in JSON": (json.dumps({"key": KEY}), '{"key": "***\\n"}'),
    "two keys, one without an end": (f"{KEY[:60]}\n{KEY}", "******\n"),
    "an encrypted key without an end": (f"it says {ENCRYPTED_KEY}", "it says ***"),
    "the end of a key": ("it says: ue3Geheim\nGeheim==\n-----END PRIVATE KEY-----\nand", "it says:***\nand"),
    "the end of a key in JSON": (
        r'{"key": "Geheim\nGeheim==\n-----END PRIVATE KEY-----\n"}',
        r'{"key": "***\n"}',
    ),
    "an option in a line of a script": ("Connect-It -Password X1 -Force", "Connect-It -Password *** -Force"),
    "an option with two dashes": ("run kubeadm join --token geheim", "run kubeadm join --token ***"),
    "an option with a colon": ("Connect-It -Password:X1 -Force", "Connect-It -Password:*** -Force"),
    "an option of Windows' tools": ("setup /p:X1 /quiet", "setup /p:*** /quiet"),
    "an option's value in quotes": ("it -Password \"a b\" 'c'", "it -Password *** 'c'"),
    "a setting with a name of several words": ("AZURE_STORAGE_KEY=abc", "AZURE_STORAGE_KEY=***"),
    "a key of a variable": ("PRIMARY_KEY=abc CLIENT_KEY=abc", "PRIMARY_KEY=*** CLIENT_KEY=***"),
    "JSON in JSON": (r'"{\"token\":\"a b\"}"', r'"{\"token\":***}"'),
    "a token's id behind an option": ("--token abcdef.0123456789abcdef -v", "--token abcdef.*** -v"),
    "a command in brackets": (
        'it -Password (ConvertTo-SecureString "a)b" -AsPlainText) -Force',
        "it -Password *** -Force",
    ),
    "brackets in brackets": (
        'it -Credential (New-It("u", (Secure "a b"))) -Force',
        "it -Credential *** -Force",
    ),
    "brackets without an end": ('it -Password (Secure "a b"\n-Force', "it -Password ***\n-Force"),
    "doubled quotes": ("it -Password 'it''s a' -Force", "it -Password *** -Force"),
    "escaped quotes": (r"password='it\'s a' x", "password=*** x"),
    "escaped quotes in JSON in JSON": (
        r"{\"password\":\"a\\\"secret\",\"user\":\"me\"}",
        r"{\"password\":***,\"user\":\"me\"}",
    ),
    "JSON in JSON in JSON": (r"{\\\"token\\\":\\\"a b\\\"}", r"{\\\"token\\\":***}"),
    "a scheme without a blank before it": ("Authorization:Bearer geheim -v", "Authorization:*** -v"),
    "a name that ends as a password's does": ("dbpwd=abc SQLPWD=abc", "dbpwd=*** SQLPWD=***"),
    "a name that ends so, and quotes": ('userpwd:abc mypwd="a b"', "userpwd:*** mypwd=***"),
    "a password of digits": ("password:12345 -Token:12345", "password:*** -Token:***"),
    "a folder's name before a password": ("conf.d/password=geheim", "conf.d/password=***"),
    "a file's name before a password": ('{"app.conf/password":"geheim"}', '{"app.conf/password":***}'),
    "an address before a password": ("10.0.0.1/db_password=geheim", "10.0.0.1/db_password=***"),
    "a label that no option gives": ("a label (example.com/token=enabled)", "a label (example.com/token=***"),
    "a password among labels": (
        "--node-labels=a/token=b,a/password=c,d=e",
        "--node-labels=a/token=b,a/password=***",
    ),
    "an option behind labels": (
        '["--node-labels=a/token=b","--token=c"]',
        '["--node-labels=a/token=b","--token=***"]',
    ),
    "a key of a variable behind a folder": ("C:/x/CLIENT_KEY=abc", "C:/x/CLIENT_KEY=***"),
    "a label without a domain": ("--node-labels=token=geheim", "--node-labels=token=***"),
    "a path before a password": (
        "https://h/password:8443/x x.password:12345",
        "https://h/password:*** x.password:***",
    ),
    "a registry's credentials": ('{"auths":{"h":{"auth":"Z2VoZWlt"}}}', '{"auths":{"h":{"auth":***}}}'),
    "a password behind a host": ("https://h/password:geheim", "https://h/password:***"),
    "a name behind a path": ("C:/x/y:token:abc", "C:/x/y:token:***"),
    "what is no path, but begins as one": (r"TLS_KEY=\\geheim", "TLS_KEY=***"),
    "one in a header of another": (f"{BEGIN}\nProc-Type: {BEGIN} -,-,- MIIGeheim", "******"),
    "a label that cannot be one": ("example.com/token=geheim+1", "example.com/token=***"),
    "a path of a URL": ("GET https://example.com/token=abc", "GET https://example.com/token=***"),
}


@pytest.mark.parametrize(("text", "shown"), SHOWN.values(), ids=SHOWN)
def test_what_was_never_parsed_is_known_by_its_look(text: str, shown: str) -> None:
    assert redacted(text) == shown
    assert redacted(str(redacted(text))) == shown


STAYS = {
    "a file's name": r"--tls-private-key-file=C:\etc\kubernetes\own.key",
    "a switch": "--authentication-token-webhook=true",
    "a life time": "--authentication-token-webhook-cache-ttl=2m0s",
    "a hash": "--discovery-token-ca-cert-hash sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b93",
    "a message": "discovery.bootstrapToken.token: expected ID.SECRET",
    "a URL": "https://10.0.0.1:6443/api/v1/namespaces/kube-system/configmaps/windows-nodes",
    "a question": "is https://10.0.0.1:6443 reachable?",
    "a long path": f"/home/{'runner-of-tests/' * 10}C/k/kubelet.exe",
    "an option in a sentence": "--token is required, -Password or --token-file; --token: it is missing",
    "what is hidden already, in quotes": 'kubelet --token "(hidden, 0123456789ab)" -v',
    "an option before another": "--token --config",
    "what an option needs": "--token needs a value: --token TOKEN or --token T, --token ..., --tls-key KEY",
    "what an option needs, in a table": "| `--token TOKEN` | for both |",
    "a folder": "mkdir -p /run/cluster-api",
    "a label": "--node-labels=example.com/token=enabled,example.com/secret=x",
    "a label behind a blank": '--node-labels "example.com/token=enabled"',
    "a taint": "--register-with-taints=example.com/token=enabled:NoSchedule",
    "a file of a key": r"TLS_KEY=C:\own.key CLIENT_KEY=\\share\own.key client-key=own.key",
    "a file of a key in quotes": r"TLS_KEY='C:\own.key'",
    "an image": "pull registry/app-token:1.2.3, then registry.io:5000/secret:ltsc2022 and secret:3.9",
    "an image by its digest": f"registry.io/app-token:1.2.3@sha256:{64 * 'a'} app-token@sha256:{64 * 'a'}",
    "an image of a host with a port": "secrets.example.com:5000/pause:3.9",
    "a host": "dial token.example.com:6443",
    "a host and a path": "https://secrets.example.com:8443/tools/kubelet.exe",
    "a host in a URL": "https://token.example.com:8443/p https://auth:8443 https://passwords:8443/x",
    "a host of one word": "my-auth:8443 keycloak-auth:8443/x, then auth:8443,sig:8080",
    "a host in an error": "dial tcp my-auth:8443: connection refused (auth:8443)",
    "a line of a file": "token.go:12:5: undefined",
    "a letter's path": "C:/p:x",
    "a word like others": 'pass:3 pass=2 --auth webhook <settings pass="specialize">',
    "an image of a service about passwords": "registry.io/password-reset:latest, password-reset:8443",
    "an image of a group": "sig-windows:v1",
    "a sentence about an option": "-Password requires a value, or it expects one: --token names the file",
    "one of two verbs": "-Password requires/expects a value",
    "the name of a key's last line": "The last line is -----END PRIVATE KEY-----",
    "a version": "wmcb 0.1.0 (from source)\nPython 3.11.7, OpenSSL 3.0.19",
}


@pytest.mark.parametrize("text", STAYS.values(), ids=STAYS)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redacted(text) == text


class Words(NamedTuple):
    given: tuple[str, ...]
    shown: list[str]


GATES = "--feature-gates=KubeletEnsureSecretPulledImages=true,WindowsHostNetwork=true"
LABELS = "--node-labels=example.com/secret-store=enabled,zone=west"
IMAGES = ("registry.io/app/my-token:1.2.3", "registry.io/secret:3.9", "token.example.com:6443")

COMMANDS = {
    "a word of its own": Words(("--token", "abc", "-v"), ["--token", "***", "-v"]),
    "behind an equals sign": Words(("--registry-password=a b",), ["--registry-password=***"]),
    "a URL": Words(("--url=https://u:PW@h/x",), ["--url=https://***@h/x"]),
    "a connection with blanks": Words(
        ("--db=Server=a b;Password=c d;Encrypt=yes",), ["--db=Server=a b;Password=***;Encrypt=yes"]
    ),
    "a connection of a password alone": Words(("--db=Password=c d",), ["--db=Password=***"]),
    "quotes in it": Words(('Server=x;Pwd="a;b";y=1',), ["Server=x;Pwd=***;y=1"]),
    "braces of ODBC": Words(("Server=x;PWD={a;b};y=1",), ["Server=x;PWD=***;y=1"]),
    "as Windows' tools have it": Words(("/p:abc", "/Password:abc"), ["/p:***", "/Password:***"]),
    "no value at all": Words(("--token", "--token-file", r"C:\t"), ["--token", "--token-file", r"C:\t"]),
    "what is hidden already": Words(
        ("--token", "(hidden, 0123456789ab)", "--password=(hidden, 0123456789ab)"),
        ["--token", "(hidden, 0123456789ab)", "--password=(hidden, 0123456789ab)"],
    ),
    "switches": Words((GATES, *GATES.split("=", 1)), [GATES, *GATES.split("=", 1)]),
    "labels": Words((LABELS, *LABELS.split("=", 1)), [LABELS, *LABELS.split("=", 1)]),
    "a label alone": Words(("example.com/token=enabled",), ["example.com/token=***"]),
    "a host's port": Words(
        ("auth:8443", "my-auth:8443/x", "pass:12345"), ["auth:8443", "my-auth:8443/x", "pass:***"]
    ),
    "a key's variable": Words(
        ("CLIENT_KEY=abc", r"CLIENT_KEY=C:\own.key"), ["CLIENT_KEY=***", r"CLIENT_KEY=C:\own.key"]
    ),
    "a command in one word": Words(
        ("-Command", "Connect-It -Password a1; x"), ["-Command", "Connect-It -Password ***; x"]
    ),
    "images": Words(IMAGES, [*IMAGES]),
    "a password that ends as base64 does": Words(("--db=Password=abc=",), ["--db=Password=***"]),
    "a name with a dot": Words(("my.password:abc",), ["my.password:***"]),
    "what is hidden in a URL already": Words(
        ("https://h/x?a=b;token=(hidden, 0123456789ab)", "run"),
        ["https://h/x?***(hidden, 0123456789ab)", "run"],
    ),
    "a port": Words(("-p", "8080", "--port=1"), ["-p", "8080", "--port=1"]),
}


@pytest.mark.parametrize(("given", "shown"), COMMANDS.values(), ids=COMMANDS)
def test_a_command_line_is_shown_without_its_secrets(given: tuple[str, ...], shown: list[str]) -> None:
    assert redacted_words(given) == shown


def test_a_secret_of_a_command_line_is_known_from_then_on() -> None:
    register_words(["--db=Server=a;Password=geheim 1", "--token", "geheim-2", "--url=https://u:geheim-3@h"])
    assert redacted("said: geheim 1, geheim-2, geheim-3") == "said: ***, ***, ***"


NAMES = {
    "token": True,
    "DB_PASSWORD": True,
    "clientSecret": True,
    "--tls-bootstrap-token": True,
    "certificateKey": True,
    "client-key-data": True,
    "SharedAccessKey": True,
    "passwordHash": True,
    "X-Amz-Signature": True,
    "tokenFile": False,
    "--discovery-token-ca-cert-hash": False,
    "secretName": False,
    "AWS_ACCESS_KEY_ID": False,
    "publicKey": False,
    "authentication": False,
    "passive": False,
    "": False,
}
NAMES |= dict.fromkeys(
    [
        "AZURE_STORAGE_KEY",
        "AZURE_STORAGE_KEY_2",
        "DB_CREDS",
        "ENCRYPTION_KEY",
        "SIGNING_KEY",
        "SHARED_KEY",
        "MASTER_KEY",
        "PRIMARY_KEY",
        "CLIENT_KEY",
        "REGISTRY_AUTH",
        "DOCKER_AUTH_CONFIG",
        "GITHUB_PAT",
        "PGPASSWORD",
        "SSH_PASS",
        "accesstoken",
        "password1",
        "RequiredToken",
        "dbpwd",
        "SQLPWD",
        "example.com/token",
        "conf.d/password",
    ],
    True,
)
NAMES |= dict.fromkeys(
    [
        "RequireSecuritySignature",
        "EnableSecuritySignature",
        "LimitBlankPasswordUse",
        "DisablePasswordChange",
        "MinimumPasswordLength",
        "MaximumPasswordAge",
        "SIGNATURE_ALGORITHM",
        "SECRET_STORE_DRIVER",
        "PASS_THROUGH_NETWORK",
        "TOKEN_REALM",
        "imagePullCredentialsVerificationPolicy",
        "--token-refresh-interval",
        "--secret-watch-namespace",
        "--minimum-password-length",
        "--pass-credentials",
        "--max-tokens",
        "--tokenizer",
        "--token-ttl",
        "--pass-through",
        "--secret-name",
        "--keyring-dir",
        "--tokens-file",
        "--key-file",
        "--anonymous-auth",
        "authorization-kubeconfig",
        "key",
        "client-key",
        "registry_key",
        "hostKey",
        "primaryKey",
        "foreign_key",
        "PUBLIC_KEY",
        "partitionKey",
        "--password-stdin",
        "sort-key",
        "PATH",
    ],
    False,
)


@pytest.mark.parametrize(("name", "is_one"), NAMES.items())
def test_names_of_secrets(name: str, is_one: bool) -> None:
    assert is_secret_name(name) is is_one


DOCUMENTS: dict[str, object] = {
    "a field": {"users": [{"user": {"token": "geheim-17"}}]},
    "a list below it": {"tokens": ["geheim-17"]},
    "a variable that is a mapping": {"env": [{"name": "API_TOKEN", "value": "geheim-17"}]},
    "a header": {"headers": [("Authorization", "Bearer geheim-17")]},
    "an option and its value": {"args": ["--token", "geheim-17"]},
    "an option among others": {"args": ["-v", "--password=geheim-17", "x"]},
    "a key without the blank behind its colon": {"token:geheim-17": None},
    "a text without it": {"spec": "password:geheim-17"},
    "a URL": {"source": "https://me:geheim-17@h/"},
    "a signature in a URL": {"source": "https://h/?sv=1&sig=geheim-17"},
}


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_a_document_s_secrets_are_known_from_then_on(document: object) -> None:
    register_document(document)
    assert redacted("the server: geheim-17 is wrong") == "the server: *** is wrong"


NO_SECRET: dict[str, object] = {
    "two texts": {"services": ["token", "no-secret-17"]},
    "two words": {"arguments": ["--sig=abc", "no-secret-17"]},
    "switches": ["--feature-gates=AToken=true,no-secret-17=true", "x"],
    "labels": ["--node-labels=example.com/secret-store=no-secret-17", "x"],
    "an image": {"image": "registry.io/app/my-token:no-secret-17"},
}


@pytest.mark.parametrize("document", NO_SECRET.values(), ids=NO_SECRET)
def test_what_stands_beside_a_secret_s_name_is_none(document: object) -> None:
    register_document(document)
    assert redacted("no-secret-17, true,no-secret-17=true") == "no-secret-17, true,no-secret-17=true"


REMARKED = {
    "an option": (("--token", "abc"), True),
    "a setting": (("--db=Password=abc",), True),
    "a look": (("join", "abcdef.0123456789abcdef"), True),
    "a signature in a URL": (("https://h/x?sv=1&sig=abc",), True),
    "a password in a URL": (("--url=https://u:p@h/",), True),
    "switches": ((GATES,), False),
    "labels": ((LABELS,), False),
    "images": (IMAGES, False),
    "a harmless query": (("--url=https://h/x?page=2",), False),
    "what is registered, but is called otherwise": (("geheim-17",), False),
}


@pytest.mark.parametrize(("words", "is_one"), REMARKED.values(), ids=REMARKED)
def test_a_service_s_command_line_is_remarked_for_its_secrets_alone(
    words: tuple[str, ...], is_one: bool
) -> None:
    register("geheim-17")
    service = Service("agent", PureWindowsPath(r"C:\a.exe"), arguments=words)
    assert ("there is a secret in it" in service.remark) is is_one


@registers_secrets
@dataclass(frozen=True, slots=True)
class _Credentials:
    user: str
    password: str = field(default="", repr=False)
    proxy: str = field(default="", repr=False)
    variables: dict[str, str] = field(default_factory=dict, repr=False)


def test_what_a_record_does_not_show_nothing_shows() -> None:
    _Credentials("swordfish", "geheim-17", "http://u:geheim-18@p", {"A_TOKEN": "geheim-19", "ROLE": "worker"})
    assert redacted("swordfish geheim-17 geheim-18 geheim-19 worker") == "swordfish *** *** *** worker"


def test_a_document_for_programs_stays_one() -> None:
    """A number that looks like a password is none."""
    register("12345678")
    document = {"size": 12345678, "text": "it is 12345678", "https://u:p@h": [None, True]}
    assert redacted_document(document) == {
        "size": 12345678,
        "text": "it is ***",
        "https://***@h": [None, True],
    }


def test_of_a_document_no_field_is_called_otherwise() -> None:
    register("agent-west")
    assert redacted_document({"agent-west": redacted_name("agent-west"), "said": "agent-west"}) == {
        "agent-west": "agent-west",
        "said": "***",
    }


@pytest.mark.parametrize("name", ["agent-west", r"C:\k\agent-west\x.exe"])
def test_a_secret_that_is_a_resource_s_name_is_not_searched_for(name: str) -> None:
    """Whichever is known first."""
    register("agent-west")
    register_name(name)
    register("agent-west", "agent-west-17")
    assert redacted(f"create {name}, agent-west-17") == f"create {name}, ***"


@pytest.mark.parametrize("name", ["agent-west-2", "win-agent-west.example"])
def test_a_name_with_a_secret_in_it_by_chance_stays_whole(name: str) -> None:
    register("agent-west")
    assert redacted(f"create {name}") != f"create {name}"
    register_name(name)
    files = f"C:\\{name}\\x, {name}.example.com, {name}.conf, kubelet-{name}.log"
    shown = redacted(f"create {name}: {files}, agent-west-3 of x{name}x, {name}.")
    assert shown == f"create {name}: {files}, ***-3 of {f'x{name}x'.replace('agent-west', '***')}, {name}."


def test_names_have_a_bound_and_the_latest_stay() -> None:
    for number in range(10_000):
        register_name(f"service-{number}")
    register("service-9999", "service-0")
    assert redacted("service-9999 service-0") == "service-9999 service-0".replace("service-0", "***")
    assert len(redaction._registry._names) <= redaction._MOST_NAMES


@given(
    st.text(min_size=SHORTEST, max_size=40).filter(lambda each: len(each.strip()) >= 2 * SHORTEST),
    st.text(max_size=40),
    st.text(max_size=40),
)
def test_no_text_around_it_hides_a_secret(secret: str, before: str, after: str) -> None:
    known = redaction.Registry()
    known.add(secret.strip())
    former, redaction._registry = redaction._registry, known
    try:
        assert secret.strip() not in redacted(before + secret + after).replace(REDACTED, "\0")
    finally:
        redaction._registry = former


_PARTS = st.sampled_from(
    [
        *("https://", "u:p@", "h", "/x", "?", "a=b", "&", ",", ";", ")", " ", '"', "'", "=", ":", "-", "."),
        *("token", "Password", "--sig", "true", "(hidden, 0123456789ab)", "***", "abcdef.0123456789abcdef"),
        *("Bearer ", "a1" * 12, "eyJhbGciOiJSUzI1NiJ9", "AKIAABCDEFGHIJKLMNOP", "\\", "\n"),
    ]
)


@given(st.lists(_PARTS | st.sampled_from([KEY, KEY[:40]]), max_size=12).map("".join))
@example("Password='***'\\")
@example("Password='a'b")
@example('{"token":"a","x":1}')
def test_what_was_redacted_stays_as_it_is(text: str) -> None:
    once = str(redacted(text))
    assert redacted(once) == once


@given(st.lists(st.lists(_PARTS, max_size=6).map("".join), max_size=4))
@example(["--sig", KEY])
@example(["--sig", "***"])
@example(["https://h/x?token=abcdefgh", "run"])
@example(["https://h/x?a;token=abcdefgh", "run"])
def test_a_command_line_that_was_shown_stays_as_it_is(words: list[str]) -> None:
    once = [str(word) for word in redacted_words(words, veiled)]
    assert redacted_words(once, veiled) == once


@pytest.mark.parametrize("url", ["https://h/x?token=abcdefgh", "https://h/x?sig=SIG"])
def test_a_veil_garbles_nothing_of_a_url_and_what_follows(url: str) -> None:
    assert redacted_words([url, "--verbose"], veiled) == ["https://h/x?***", "--verbose"]


# Its time


HOSTILE_KEYS = {
    "begun keys": BEGIN,
    "begun keys with a header": f"{BEGIN}\nProc-Type: ",
    "keys' ends": END,
    "base64 between keys' ends": f"\n{'a' * 64}\n{END}",
}


@pytest.mark.parametrize("part", HOSTILE_KEYS.values(), ids=HOSTILE_KEYS)
def test_no_letter_is_of_two_keys(part: str) -> None:
    """So each is read once: a key's end is looked for no further than where the next one begins."""
    spans = list(secret_patterns.private_keys(part * 100))
    assert all(begin < end for begin, end in spans)
    assert all(former <= begin for (_, former), (begin, _) in itertools.pairwise(spans))


PATTERNS = (
    "URL",
    "_NEXT_URL",
    "BOOTSTRAP_TOKEN",
    "_SCHEME",
    "_WEB_TOKEN",
    "_ACCESS_KEY",
    "_NAMING",
    "_NAMED",
    "_IN_BRACKETS",
    "_LIST",
    "_PORT",
    "SETTING",
    "_MARKER",
    "_OF_A_KEY",
    "_OF_A_KEY_BACKWARDS",
)


def _is_unbounded(operation: object, argument: Any) -> bool:
    return operation in (parser.MAX_REPEAT, parser.MIN_REPEAT) and argument[1] is parser.MAXREPEAT


def _check(items: Sequence[tuple[object, Any]], *, may_fail: bool, inside: bool = False) -> bool:
    """Whether these may fail, or what comes after them, as `may_fail` says: from the last to the first."""
    for operation, argument in reversed(items):
        if operation in (parser.MAX_REPEAT, parser.MIN_REPEAT):
            least, _, repeated = argument
            unbounded = _is_unbounded(operation, argument)
            assert not (unbounded and may_fail), "what was looked through would be looked through again"
            assert not (unbounded and inside), "one in another"
            _check(list(repeated), may_fail=may_fail, inside=inside or unbounded)
            may_fail = may_fail or least > 0
        elif operation is parser.SUBPATTERN:
            may_fail = _check(list(argument[3]), may_fail=may_fail, inside=inside)
        elif operation is parser.BRANCH:
            branches = [_check(list(each), may_fail=may_fail, inside=inside) for each in argument[1]]
            may_fail = any(branches)
        else:
            may_fail = True
    return may_fail


@pytest.mark.parametrize("name", PATTERNS)
def test_after_a_repetition_without_a_bound_nothing_of_a_pattern_can_fail(name: str) -> None:
    """So no letter is looked at again by a match that begins later: the time grows with the text alone."""
    _check(list(parser.parse(getattr(secret_patterns, name))), may_fail=False)


@pytest.mark.parametrize("pattern", ["(a+)+", "a*b", "(?:a|b*)c", "[a-z]+://"])
def test_that_would_be_seen(pattern: str) -> None:
    with pytest.raises(AssertionError):
        _check(list(parser.parse(pattern)), may_fail=False)
