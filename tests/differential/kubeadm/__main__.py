"""`python -m differential.kubeadm`: our reading of kubeadm's configuration against kubeadm's own."""

from __future__ import annotations

import argparse
import sys
import time

from differential.kubeadm.comparing import compare
from differential.kubeadm.oracle import Oracle, program


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m differential.kubeadm", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--documents", type=int, default=5000, help="of each kind (default: %(default)s)")
    chosen = parser.parse_args()
    started = time.monotonic()
    with Oracle(program()) as oracle:
        tally = compare(oracle, chosen.seed, chosen.documents)
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
