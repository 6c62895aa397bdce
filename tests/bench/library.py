"""What the authors of a library changed for a version of NKI, beside what the rewrite changes.

    python tests/bench/library.py BEFORE AFTER [--from V] [--target V] [--lines]

BEFORE and AFTER are checkouts of one library (aws-neuron/nki-library at 0759719, NKI 0.2, and at d2ad3a5, 0.3). BEFORE
is rewritten as a whole, with ``--unsafe``, in memory. Of the files that both have, the lines that the authors replaced
line by line and that name what the version changed are counted by kind: how many the rewrite writes the same (but for
blanks and quotes), how many otherwise, how many it leaves. ``--lines`` prints the last two.
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nki_migrate.codemods import Options
from nki_migrate.discover import found_files
from nki_migrate.rewriting import rewrite_reports

KINDS = {
    "an output in shared_hbm": r"buffer\s*=\s*nl\.(private_)?hbm",
    "a number for a member of an enumeration": r"(_mode|engine)\s*=\s*(\d|_DGE|DGE)|_DGE_MODE",
    "a literal of memset": r"memset\(|\bvalue\s*=\s*-?[\d.]",
    "axes of a reduction": r"\baxis\s*=",
    "is and is not": r"\bis (not )?(None|True|False)\b",
    "options of nki.jit": r"\bjit\(",
    "a star in a signature": r"^\s*\*,",
    "accumulating DMA": r"dst_rmw_op|unique_indices|dma_compute",
    "a range_select": r"range_select|on_false_value|reduce_cmd",
    "views of memory": r"\.view\(|\.ptr\b|\.reshape\(",
    "a register": r"register_|\bimm\s*=",
    "another name": r"par_dim|use_gpsimd_dma|num_channels|nki\.tensor|shared_constant",
}
"""What a line is about, by what it names before or after."""


@dataclass(frozen=True)
class Pair:
    """A line that the authors replaced: its file, number, both texts, and the rewrite's."""

    file: str
    number: int
    before: str
    theirs: str
    ours: str

    @property
    def kind(self) -> str:
        """What it is about; empty for what no version made them change."""
        found = (kind for kind, named in KINDS.items() if any(re.search(named, t) for t in (self.before, self.theirs)))
        return next(found, "")

    @property
    def outcome(self) -> str:
        """``same``, ``other`` or ``left``."""
        if _plain(self.ours) == _plain(self.theirs):
            return "same"
        return "left" if self.ours == self.before else "other"


def _plain(line: str) -> str:
    return re.sub(r"\s+", "", line).replace("'", '"')


def replaced(before: str, after: str) -> Iterator[tuple[int, str]]:
    """The lines of ``before`` that ``after`` replaces one by one, with what replaces them."""
    one, other = before.split("\n"), after.split("\n")
    for kind, i, i_end, j, j_end in difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if kind == "replace" and i_end - i == j_end - j:
            yield from zip(range(i, i_end), other[j:j_end], strict=True)


def pairs(before: Path, after: Path, options: Options) -> Iterator[Pair]:
    """The lines that the authors replaced, in files that both checkouts have."""
    reports = rewrite_reports(list(found_files([str(before)])), options, 1)
    for report in reports:
        name = Path(report.path).relative_to(before)
        if report.status not in ("changed", "unchanged") or not (after / name).is_file():
            continue
        old, theirs = report.before.decode(), (after / name).read_text()
        ours = dict(replaced(old, report.after.decode()))
        lines = old.split("\n")
        for number, text in replaced(old, theirs):
            yield Pair(str(name), number + 1, lines[number], text, ours.get(number, lines[number]))


def main(before: Path, after: Path, options: Options, is_listed: bool) -> int:
    """Print the table."""
    found = [pair for pair in pairs(before, after, options) if pair.kind]
    table = Counter((pair.kind, pair.outcome) for pair in found)
    print(f"{'':42}{'theirs':>8}{'same':>8}{'other':>8}{'left':>8}")
    for kind in KINDS:
        counts = [table[kind, outcome] for outcome in ("same", "other", "left")]
        print(f"{kind:42}{sum(counts):8}" + "".join(f"{count:8}" for count in counts))
    for pair in found if is_listed else ():
        if pair.outcome != "same":
            print(f"\n{pair.file}:{pair.number} {pair.kind}: {pair.outcome}\n- {pair.before}\n+ {pair.theirs}")
            if pair.outcome == "other":
                print(f"o {pair.ours}")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, metavar="BEFORE")
    parser.add_argument("after", type=Path, metavar="AFTER")
    parser.add_argument("--from", dest="source", default="0.2", metavar="V")
    parser.add_argument("--target", default="0.3", metavar="V")
    parser.add_argument("--lines", action="store_true")
    asked = parser.parse_args()
    wanted = Options(unsafe=True, source=asked.source, target=asked.target)
    sys.exit(main(asked.before.resolve(), asked.after.resolve(), wanted, asked.lines))
