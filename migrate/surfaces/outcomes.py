"""Codes for what is said of whole files and of verdicts, so that each annotation has a code that ``explain`` knows."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

WOULD_CHANGE = "NKM001"
FAILED = "NKM002"
NOTEBOOK = "NKM003"
ASSUMPTION = "NKM004"
UNUSED_IGNORE = "NKM005"
STALE_MARK = "NKM006"
LAYOUT = "NKM101"
OPERANDS = "NKM102"
NUMBERS = "NKM103"
REFERENCE = "NKM104"
UNDECIDED = "NKM105"
BROKEN = "NKM106"
UNMATCHED = "NKM107"
CONTRADICTED = "NKM108"

OF_LEVEL = {"layout": LAYOUT, "operands": OPERANDS, "numbers": NUMBERS}


@dataclass(frozen=True)
class OutcomeDoc:
    """One outcome: its name, a sentence, and the text that ``explain`` adds."""

    code: str
    name: str
    message: str
    why: str

    def __str__(self) -> str:
        return f"{self.name}: {self.message}\n\n{textwrap.fill(' '.join(self.why.split()), 100)}"


CODES = {
    doc.code: doc
    for doc in (
        OutcomeDoc(
            WOULD_CHANGE,
            "would-change",
            "the file holds Beta 1 source that `nki-migrate rewrite` rewrites",
            """`rewrite` without `--write` reports it for each file that it would change, at the first line that
            changes. Look at the diff (`nki-migrate rewrite FILE`), then write it
            (`nki-migrate rewrite --write FILE`).""",
        ),
        OutcomeDoc(
            FAILED,
            "file-failed",
            "the file could not be read, rewritten or written; it is as it was",
            """The message says why, and the exit code is 2. A file that does not parse, or whose encoding is not the
            one it declares, has to be repaired; a guard that refused a rewrite names what it refused.""",
        ),
        OutcomeDoc(
            NOTEBOOK,
            "notebook",
            "Beta 1 in a notebook that nothing rewrites",
            """Of a notebook the Python cells are rewritten, without the lines that IPython reads (`%time`, `!command`)
            and without cells of another language (`%%writefile`): what names Beta 1 in those is to be changed by hand.
            Notebooks are read with the extra `notebook` (`pip install 'nki-migrate[notebook]'`); without it they are
            skipped, and one that is named fails.""",
        ),
        OutcomeDoc(
            ASSUMPTION,
            "assumption",
            "the rewrite is right where this holds, and the kernel asserts it",
            """The source does not tell it: the rank of a parameter that nothing calls, two sizes that must be equal, a
            loop that must run. The rewritten kernel stops where it does not hold, so look at how the kernel is called.
            It is a note and changes no exit code.""",
        ),
        OutcomeDoc(
            UNUSED_IGNORE,
            "unused-ignore",
            "a comment `# nki-migrate: ignore[CODE] reason` silences nothing",
            """Such a comment silences the findings of CODE in the statement that it stands in or above, a function with
            its body; above the first statement, in the whole file. The summary counts what is ignored. Where nothing is
            found any more, the comment goes. `rewrite` says it of the codes of rules, `check` of its own (NKL...).
            Nothing is said with --select and --ignore.""",
        ),
        OutcomeDoc(
            STALE_MARK,
            "stale-mark",
            "a comment `# TODO(nki-migrate CODE): ...` marks what is not found any more",
            """`rewrite --mark` puts such a comment above each statement with a manual finding. Once that is resolved,
            the comment goes: by hand, or by the next `rewrite --mark --write`. `rewrite --check` fails until then.""",
        ),
        OutcomeDoc(
            LAYOUT,
            "layout-differs",
            "a tile of the new kernel does not lie where the old kernel's lies",
            """The first level of `nki-migrate verify`: every logical tile (tensor and block index) must have the same
            memory, start partition, byte and extent. `nki-migrate layout FILE::KERNEL` prints either side's map.""",
        ),
        OutcomeDoc(
            OPERANDS,
            "operands-differ",
            "an instruction of the new kernel touches other addresses than the old kernel's, or is another one",
            """The second level of `nki-migrate verify`: the same instructions touch the same places in the same order.
            The message gives the first instruction at which the two kernels part.""",
        ),
        OutcomeDoc(
            NUMBERS,
            "numbers-differ",
            "an output of the new kernel is not bit-identical to the old kernel's",
            """The third level of `nki-migrate verify`. The message gives the first element that differs; where the
            levels before it are equal, look at dtypes, scalars and the order of an accumulation.""",
        ),
        OutcomeDoc(
            REFERENCE,
            "reference-differs",
            "a kernel does not agree with the NumPy reference of its case",
            """The case names a reference, `rtol` and `atol`. When already the old kernel does not agree, the case is in
            error: either the reference or the old kernel is wrong.""",
        ),
        OutcomeDoc(
            UNDECIDED,
            "undecided",
            "the comparison could not be made: this is neither a pass nor a failure",
            """A kernel without a case, or a construct that the emulator does not model. The exit code is 2, so that it
            cannot be taken for a pass.""",
        ),
        OutcomeDoc(
            BROKEN,
            "in-error",
            "a kernel or its case is broken: it did not run to its end",
            "The kernel raised, ran out of its time or memory, or its case does not fit its parameters.",
        ),
        OutcomeDoc(
            UNMATCHED,
            "unmatched-tile",
            "a tile of one side stands for nothing on the other",
            """`nki-migrate verify` tells which new tile stands for which old one, by the instructions that touch them
            or by their declarations. A tile that no instruction touches, and that has no namesake, is left over: it may
            be dead, or one that the other side forgot.""",
        ),
        OutcomeDoc(
            CONTRADICTED,
            "contradicted-tile",
            "the instructions use another tile than the one that the rewrite put in this one's place",
            """The rewrite knows which declaration became which (`verify --migrate`, `rewrite --write --verify`), and
            the instruction streams tell it, too. Here they disagree: look at both, and please report it.""",
        ),
    )
}
