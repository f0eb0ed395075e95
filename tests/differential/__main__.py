"""`python -m differential`: our reading of somebody's documents against his own, for as long as wanted."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

from differential.ignition import comparing as ignition
from differential.ignition.oracle import IgnitionOracle
from differential.kubeadm import comparing as kubeadm
from differential.kubeadm.oracle import KubeadmOracle
from differential.tally import Tally


def _ignition(seed: int, documents: int) -> Tally:
    with IgnitionOracle() as oracle:
        return ignition.compare(oracle, seed, documents)


def _kubeadm(seed: int, documents: int) -> Tally:
    with KubeadmOracle() as oracle:
        return kubeadm.compare(oracle, seed, documents)


_PEERS: dict[str, Callable[[int, int], Tally]] = {"ignition": _ignition, "kubeadm": _kubeadm}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m differential", description=__doc__)
    parser.add_argument("peer", choices=_PEERS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--documents", type=int, default=2000, help="of each kind (default: %(default)s)")
    chosen = parser.parse_args()
    started = time.monotonic()
    tally = _PEERS[chosen.peer](chosen.seed, chosen.documents)
    say = sys.stdout.write
    for disagreement in tally.disagreements[:10]:
        say(f"{disagreement}\n")
    for name, number in tally.compared.items():
        say(f"{number:8} {name}\n")
    for why, number in tally.on_purpose.items():
        say(f"{number:8} on purpose: {why}\n")
    say(f"{time.monotonic() - started:.0f} s, {len(tally.disagreements)} disagreements\n")
    return 1 if tally.disagreements else 0


if __name__ == "__main__":
    sys.exit(main())
