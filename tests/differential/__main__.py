"""`python -m differential`: our reading of Ignition documents against Ignition's own."""

from __future__ import annotations

import argparse
import sys
import time

from differential.comparing import compare
from differential.oracle import Oracle, program


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m differential", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--documents", type=int, default=2000, help="of each version (default: %(default)s)")
    chosen = parser.parse_args()
    started = time.monotonic()
    with Oracle(program()) as oracle:
        tally = compare(oracle, chosen.seed, chosen.documents)
    say = sys.stdout.write
    for disagreement in tally.disagreements[:10]:
        say(f"{disagreement}\n")
    for name, number in tally.compared.items():
        say(f"{number:8} {name}\n")
    for why, number in tally.stricter.items():
        say(f"{number:8} on purpose: {why}\n")
    total = sum(number for name, number in tally.compared.items() if not name.endswith("taken"))
    took = time.monotonic() - started
    say(f"{total} compared in {took:.0f} s, {len(tally.disagreements)} disagreements\n")
    return 1 if tally.disagreements else 0


if __name__ == "__main__":
    sys.exit(main())
