"""``verify --search`` on every golden of NKI: no size may be found at which a rewrite that is right seems wrong.

python tests/bench/searched.py [--seconds 4] [--only WORD]

A line for each golden whose search found a case: the first level that is not equal, and the case. 1 if there is any.
Goldens that are expected to fail are left out: nobody says yet that their rewrite is right.
"""

from __future__ import annotations

import argparse
import sys
import time

from nki_migrate.golden import NKI_GOLDENS
from nki_migrate.runtime.compare import Verdict
from nki_migrate.verify_command import Asked, verified


def alarms(name: str, seconds: float) -> list[str]:
    """What the search reports of one golden."""
    golden = NKI_GOLDENS[name]
    paths = str(golden.before_path), str(golden.after_path)
    proof = verified(Asked(paths, jobs=1, no_cache=True, search=seconds, target=golden.target)).proof
    wrong = [result for result in proof.results if result.verdict is not Verdict.EQUAL]
    said = [f"{result.kernel}, {result.case}: {result.verdict.value}" for result in wrong]
    return said + [note for note in proof.notes if "smallest case" in note]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument(
        "--seconds", type=float, default=4, help="for each golden, beside the sizes that are always tried"
    )
    parser.add_argument("--only", default="", help="goldens with this word in their name")
    options = parser.parse_args()
    names = [name for name, golden in NKI_GOLDENS.items() if options.only in name and not golden.expected_failure]
    names = [name for name in names if NKI_GOLDENS[name].before_path.exists()]
    start, found = time.process_time(), 0
    for name in names:
        said = alarms(name, options.seconds)
        found += bool(said)
        if said:
            print(name, *said, sep="\n  ", flush=True)
    print(f"{len(names)} goldens searched, {found} with an alarm, {time.process_time() - start:.0f} s of this process")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
