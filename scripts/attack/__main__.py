"""Attacks pgo-advisor in hundreds of ways: `python -m scripts.attack`, or `--kind archives` for a part.

An attack is held if it ends with a documented exit code and, where that tells of a bad input, with one
sentence; within 5 s of processor time and 500 MB; without a traceback or a control character; and if no
file and no process is left. Ends with 1 if one was not held.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor

from scripts.attack.base import failure
from scripts.attack.kinds import KINDS


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument("--only", default="", help="attacks with this in their name")
    parser.add_argument("--every", type=int, default=1, help="of each kind only every n-th")
    parser.add_argument("--at-once", type=int, default=2)
    options = parser.parse_args()
    tried = held = 0
    for kind in options.kind or KINDS:
        attacks = [attack for attack in KINDS[kind]() if options.only in attack.name]
        attacks = attacks[:: options.every]
        failed = 0
        with ThreadPoolExecutor(options.at_once) as pool:
            for attack, claim in zip(attacks, pool.map(failure, attacks), strict=True):
                if claim:
                    failed += 1
                    print(f"  not held: {kind}: {attack.name}: {claim}", flush=True)
        print(f"{kind}: {len(attacks)} tried, {len(attacks) - failed} held", flush=True)
        tried += len(attacks)
        held += len(attacks) - failed
    print(f"in all: {tried} tried, {held} held")
    return 0 if tried == held else 1


if __name__ == "__main__":
    raise SystemExit(main())
