"""Section 4.2: how the kubelet is set up, by its flags, its configuration, and what counts without either."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PureWindowsPath

from agent.audit.finding import Judged, Result
from agent.audit.running import Running
from agent.documents import Value
from agent.sources import durations
from agent.sources.kubeadm.yaml_text import dumped
from agent.spec import File, Inline, Protection, Want

_STRONG = re.compile(r"TLS_((ECDHE_(ECDSA|RSA)|RSA)_WITH_)?(AES_\d+_GCM|CHACHA20_POLY1305)(_SHA\d+)?")
"""As the benchmark has it, which takes RSA's own key exchange with AES-GCM for strong enough."""


@dataclass(frozen=True, slots=True)
class Setting:
    name: str
    """Its path in the configuration."""
    flag: str
    unsaid: Value
    """What counts where a kubelet with a configuration is told nothing."""
    unsaid_by_flags: Value
    """And for one without."""
    is_good: Callable[[Value], bool]
    right: Value
    """What it is to be; None where that is different for each node."""


def _is_an_authorization(value: Value) -> bool:
    return value not in ("AlwaysAllow", "")


def _is_a_span(value: Value) -> bool:
    return durations.seconds(str(value)) != 0


def _is_a_rate(value: Value) -> bool:
    return isinstance(value, int | float) and value >= 0


SETTINGS = {
    "4.2.1": Setting(
        "authentication.anonymous.enabled", "anonymous-auth", False, True, lambda value: value is False, False
    ),
    "4.2.2": Setting(
        "authorization.mode", "authorization-mode", "Webhook", "AlwaysAllow", _is_an_authorization, "Webhook"
    ),
    "4.2.4": Setting("readOnlyPort", "read-only-port", 0, 10255, lambda value: value == 0, 0),
    "4.2.5": Setting(
        "streamingConnectionIdleTimeout", "streaming-connection-idle-timeout", "4h", "4h", _is_a_span, "4h"
    ),
    "4.2.8": Setting("eventRecordQPS", "event-qps", 50, 50, _is_a_rate, 50),
    "4.2.10": Setting(
        "rotateCertificates", "rotate-certificates", False, False, lambda value: value is True, True
    ),
}
"""By the control that is about each."""


def judged(running: Running, setting: Setting) -> Judged:
    value, why = running.setting(setting.name, setting.flag), ""
    place = None if setting.flag in running.flags else running.place(setting.name)
    own = running.configuration_path
    if value is None or (place is not None and place == own and _is_unset(value)):
        why = f", since {value} in a file stands for that" if value else ", since nothing is said"
        value = setting.unsaid if own else setting.unsaid_by_flags
    shown = f"{setting.name} is {_shown(value)}{why}"
    if setting.is_good(value):
        return Result.PASS, shown, "", ()
    if setting.flag in running.flags:
        line = "the service's command line, or in the script that it runs"
        remedy = f"take --{setting.flag} out of {line}, and set {setting.name}: {_shown(setting.right)}"
        return Result.FAIL, f"--{setting.flag} is {_shown(value)}", remedy, ()
    into = "the kubelet's configuration" if place in (None, own) else place
    remedy = f"set {setting.name}: {_shown(setting.right)} in {into}, and restart it"
    return Result.FAIL, shown, remedy, ()


def _is_unset(value: Value) -> bool:
    """In its own file the kubelet takes no text, and no time, for nothing said; kubeadm writes such a time.

    What is merged into that comes after it has put in the usual ones, and counts as it is.
    """
    return isinstance(value, str) and (not value or durations.seconds(value) == 0)


def repaired(running: Running, wrong: list[Setting]) -> tuple[Want, ...]:
    """The configuration with these set right: each in the file that has the say of it."""
    values: dict[PureWindowsPath, dict[str, Value]] = {}
    for setting in wrong:
        path = running.place(setting.name) or running.configuration_path
        if path is not None and setting.flag not in running.flags:
            value = values.setdefault(path, dict(running.read(path)))
            _put(value, setting.name.split("."), setting.right)
    return tuple(File(path, Inline(dumped(value)), Protection.PRIVATE) for path, value in values.items())


def _put(value: dict[str, Value], path: list[str], right: Value) -> None:
    first, *rest = path
    if not rest:
        value[first] = right
        return
    below = value.get(first)
    inner: dict[str, Value] = dict(below) if isinstance(below, dict) else {}
    _put(inner, rest, right)
    value[first] = inner


def client_authority(running: Running) -> Judged:
    path = running.authority()
    if path is None:
        remedy = "set authentication.x509.clientCAFile to the cluster's CA, and restart the kubelet"
        why = "no authority for clients is named: the API server cannot prove itself"
        return Result.FAIL, why, remedy, ()
    if running.host.files.observe(path) is None:
        return Result.FAIL, f"{path} is not there", "put the cluster's CA there, and restart the kubelet", ()
    return Result.PASS, f"clients have to be vouched for by {path}", "", ()


def host_name(running: Running) -> Judged:
    given = running.flags.get("hostname-override")
    own = running.host.facts.host_name()
    if given is None:
        return Result.PASS, "the node has the machine's own name", "", ()
    if given.lower() == own.lower():
        return Result.PASS, f"it is given, and is the machine's own name, {own.lower()}", "", ()
    remedy = "leave --hostname-override out, unless its cloud knows the machine by that name"
    return Result.MANUAL, f"the node is called {given}, the machine {own}", remedy, ()


def serving_certificate(running: Running) -> Judged:
    given = [
        running.setting(*names)
        for names in (("tlsCertFile", "tls-cert-file"), ("tlsPrivateKeyFile", "tls-private-key-file"))
    ]
    if all(given):
        return Result.PASS, "it serves with a certificate that it was given", "", ()
    if running.setting("serverTLSBootstrap", "rotate-server-certificates") is True:
        return Result.PASS, "its cluster signs the certificate that it serves with", "", ()
    remedy = "set serverTLSBootstrap: true, and have somebody approve the requests; or give it files"
    return Result.MANUAL, "it signs the certificate that it serves with itself", remedy, ()


def rotation_of_serving(running: Running) -> Judged:
    gates = running.setting("featureGates", "feature-gates")
    by_flag = "RotateKubeletServerCertificate=false" in str(gates)
    off = isinstance(gates, dict) and gates.get("RotateKubeletServerCertificate") is False
    if off or by_flag:
        remedy = "take the feature gate RotateKubeletServerCertificate out"
        return Result.FAIL, "a feature gate keeps it from renewing the certificate it serves with", remedy, ()
    return Result.PASS, "no feature gate keeps it from that", "", ()


def ciphers(running: Running) -> Judged:
    given = running.setting("tlsCipherSuites", "tls-cipher-suites")
    names = given.split(",") if isinstance(given, str) else given
    if not isinstance(names, list) or not names:
        remedy = "set tlsCipherSuites where policy names them; what Go takes otherwise has no known break"
        return Result.MANUAL, "none are named: it takes those that Go holds for safe", remedy, ()
    weak = [str(name) for name in names if not _STRONG.fullmatch(str(name))]
    if weak:
        remedy = "take what is weak out of tlsCipherSuites, and restart the kubelet"
        return Result.FAIL, f"{', '.join(weak)} is weak", remedy, ()
    return Result.PASS, f"{len(names)} are named, all of them strong", "", ()


def _shown(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
