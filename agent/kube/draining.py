"""A node emptied of its pods, as kubectl drain does it, and given back to the scheduler.

That we cordoned a node is written on it by the request that cordons it: whoever finds it there may uncordon
the node, and leaves one alone that somebody else has cordoned. A mark may have been left when a person gave
the node back; the API server knows which client has set which fields, so that a later cordon is told apart.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from agent.amounts import in_seconds
from agent.backoff import Backoff
from agent.fetch.deadline import Clock, SystemClock
from agent.kube.answers import Json, Object, at, items_at, text_at
from agent.kube.client import Client, node
from agent.kube.failure import Busy, Conflict, Failed, Forbidden, NotFound, NotInTime, Unreachable

CORDONED = "wmcb/cordoned-for"

_PODS = "/api/v1/pods"
_MIRROR = "kubernetes.io/config.mirror"
_OVER = ("Succeeded", "Failed")
_ATTEMPTS = 10
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 5.0
_NAMED = 5


class NotEvictable(Failed):
    """Something would be lost with a pod, and nobody said that it may be."""


def cordon(client: Client, name: str, reason: str) -> bool:
    """False where it is cordoned already, by whomever."""
    for _ in range(_ATTEMPTS):
        found = client.get(node(name))
        if at(found, "spec", "unschedulable") is True:
            return False
        marked = {
            "resourceVersion": text_at(found, "metadata", "resourceVersion"),
            "annotations": {CORDONED: reason},
        }
        try:
            client.patch(node(name), {"metadata": marked, "spec": {"unschedulable": True}})
        except Conflict as fault:
            conflict = fault  # the kubelet reports to it, too; or somebody else cordoned it just now
        else:
            return True
    raise conflict


def uncordon(client: Client, name: str) -> bool:
    """Whether there was anything to be given back: not where somebody else has cordoned it."""
    found = client.find(node(name))
    if found is None or not is_marked(found):
        return False
    unmarked = {"metadata": {"annotations": {CORDONED: None}}}
    if at(found, "spec", "unschedulable") is not True or _is_cordoned_anew(found):
        client.patch(node(name), unmarked)
        return False
    client.patch(node(name), {**unmarked, "spec": {"unschedulable": None}})
    return True


def is_marked(node: Object) -> bool:
    """As one that we have cordoned, whatever has become of it since."""
    return bool(text_at(node, "metadata", "annotations", CORDONED))


def _is_cordoned_anew(node: Object) -> bool:
    """By somebody else, after it had been uncordoned with our mark left on it."""
    fields = [at(each, "fieldsV1") for each in items_at(node, "metadata", "managedFields")]
    cordoning = [each for each in fields if at(each, "f:spec", "f:unschedulable") is not None]
    ours = [
        each for each in cordoning if at(each, "f:metadata", "f:annotations", f"f:{CORDONED}") is not None
    ]
    return bool(cordoning) and not ours


def pods_to_evict(client: Client, name: str, *, with_empty_dirs: bool) -> Mapping[str, Object]:
    """By their uid. Raises NotEvictable for those with which something would be lost.

    What a DaemonSet keeps there comes back at once, and mirror pods are the kubelet's own: they stay.
    """
    chosen = {uid: pod for uid, pod in _pods(client, name).items() if not _stays(pod)}
    losses = [
        f"{_name(pod)} {loss}"
        for pod in chosen.values()
        if (loss := _loss(pod, name, with_empty_dirs=with_empty_dirs))
    ]
    if losses:
        raise NotEvictable(f"the Node {name} cannot be drained: {_listed(losses)}")
    return chosen


@dataclass(frozen=True, slots=True)
class Draining:
    """Of one node. A PodDisruptionBudget may keep a pod there until another one is well elsewhere."""

    client: Client
    name: str
    seconds: float
    notice: Callable[[str], None]
    clock: Clock = field(default_factory=SystemClock)

    def until_gone(self, pods: Mapping[str, Object]) -> None:
        """Raises Failed: NotInTime for what is still there then."""
        end = self.clock.monotonic() + self.seconds
        backoff, told = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE), ""
        for pod in pods.values():
            self.notice(f"evicting {_name(pod)}")
        while left := {uid: pod for uid, pod in _pods(self.client, self.name).items() if uid in pods}:
            refusals = {uid: self._evicted(uid, pod) for uid, pod in left.items() if not _is_going(pod)}
            refused = [f"{_name(left[uid])}: {why}" for uid, why in refusals.items() if why]
            if refused and refused[0] != told:
                told = refused[0]
                self.notice(f"{told}; asking again")
            pause = backoff.next()
            if self.clock.monotonic() + pause >= end:
                raise NotInTime(self._in_vain(left, refused))
            self.clock.sleep(pause)

    def _evicted(self, uid: str, pod: Object) -> str:
        """Why not yet."""
        namespace, name = text_at(pod, "metadata", "namespace"), text_at(pod, "metadata", "name")
        path = f"/api/v1/namespaces/{namespace}/pods/{name}"
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"namespace": namespace, "name": name},
            "deleteOptions": {"preconditions": {"uid": uid}},
        }
        try:
            # Once: what keeps one pod may be another that is still to be evicted.
            once = replace(self.client.limits, patience=0.0)
            self.client.create(f"{path}/eviction", eviction, limits=once)
        except (NotFound, Conflict):
            return ""  # it is gone, or another of its name is there
        except Forbidden:
            # So it is answered, too, where the whole namespace is going: then this one is, or will be soon.
            now = self.client.find(path)
            if now is not None and not _is_going(now):
                raise
        except (Busy, Unreachable) as fault:
            return str(fault)
        return ""

    def _in_vain(self, left: Mapping[str, Object], refused: list[str]) -> str:
        why = refused or [f"{_name(pod)} has not ended" for pod in left.values()]
        return f"the Node {self.name} is not drained within {in_seconds(self.seconds)}: {_listed(why)}"


def _pods(client: Client, name: str) -> Mapping[str, Object]:
    listed = client.list(_PODS, fields=f"spec.nodeName={name}")
    return {text_at(pod, "metadata", "uid"): pod for pod in listed.items}


def _stays(pod: Object) -> bool:
    if text_at(pod, "metadata", "annotations", _MIRROR):
        return True
    controller = _controller(pod)
    return not _is_over(pod) and (text_at(controller, "kind"), text_at(controller, "apiVersion")) == (
        "DaemonSet",
        "apps/v1",
    )


def _loss(pod: Object, node: str, *, with_empty_dirs: bool) -> str:
    if _is_over(pod) or _is_going(pod):
        return ""
    if not _controller(pod):
        return f"has no controller that would make it anew: delete it, or run kubectl drain {node} --force"
    volumes = items_at(pod, "spec", "volumes")
    if not with_empty_dirs and any(at(volume, "emptyDir") is not None for volume in volumes):
        return "keeps data in an emptyDir, which goes with it: --delete-emptydir-data allows that"
    return ""


def _controller(pod: Object) -> Json:
    owners = items_at(pod, "metadata", "ownerReferences")
    return next((owner for owner in owners if at(owner, "controller") is True), None)


def _is_over(pod: Object) -> bool:
    return text_at(pod, "status", "phase") in _OVER


def _is_going(pod: Object) -> bool:
    return bool(text_at(pod, "metadata", "deletionTimestamp"))


def _name(pod: Object) -> str:
    return f"{text_at(pod, 'metadata', 'namespace')}/{text_at(pod, 'metadata', 'name')}"


def _listed(texts: list[str]) -> str:
    more = len(texts) - _NAMED
    return "; ".join(texts[:_NAMED]) + (f"; and {more} more" if more > 0 else "")
