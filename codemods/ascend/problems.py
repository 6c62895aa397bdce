"""What is wrong with the memory of a kernel, as findings: the kinds of problems that plans have, each with a code."""

from __future__ import annotations

from collections.abc import Iterator

from nki_migrate.runtime.ascend.plans.planners import Planned

from ..model import Finding
from .module import AscendModule, Read

CODE_OF: dict[str, str] = {
    "over-capacity": "ASC101",
    "overlap": "ASC102",
    "misaligned": "ASC103",
    "out-of-range": "ASC103",
    "no-address": "ASC104",
    "pool": "ASC105",
}
"""The code of each kind of problem of a plan."""
UNKNOWN_SIZE = "ASC106"
DOCUMENTS: tuple[tuple[str, str, str, str], ...] = (
    (
        "ASC101",
        "over-capacity",
        "The buffers of a kernel do not fit into a memory of the target.",
        "The compiler may lower such a kernel without a word (tilelang 0.1.15 does), or its planner stops or crashes "
        "(upstream issues 159, 1646). The finding names the buffers, their sizes and lines. On 910b 196352 of the "
        "196608 bytes of UB can be planned.",
    ),
    (
        "ASC102",
        "overlap",
        "Two buffers share bytes while both may hold values that are still needed.",
        "Either the addresses of T.annotate_address are wrong, or the compiler's planner makes this mistake: upstream "
        "took a buffer that each iteration of a loop reads for dead inside of it (issue 1156), and one that is "
        "read in a scope for dead where the scope opens (issue 1765). Where the source does not show that a buffer is "
        "overwritten as a whole before it is read, its old value counts as needed.",
    ),
    (
        "ASC103",
        "misaligned",
        "A buffer begins at an address that its memory does not allow.",
        "The finding says the next address that is allowed.",
    ),
    (
        "ASC104",
        "no-address",
        "With --mode fixed, a buffer has no address.",
        "Add it to T.annotate_address, or choose another mode.",
    ),
    (
        "ASC105",
        "pool-order",
        "A memory pool is used in a loop or a condition.",
        "Which blocks are free there is not known in the source. Move the call out of the loop.",
    ),
    (
        "ASC106",
        "unknown-size",
        "The memory of a kernel cannot be planned: a size, or a construct, is not known.",
        "Sizes are evaluated from the constants of the file, the defaults of the function that makes the kernel, and "
        "the first call of it in the file. Others are given by --set NAME=VALUE. Buffers in lists are not followed.",
    ),
)
"""Code, name, summary and text of each, for ``explain``."""


def findings(module: AscendModule, read: Read) -> Iterator[Finding]:
    """The findings on one kernel's memory."""
    if read.program is None:
        assert read.problem is not None
        text = f"the memory of '{read.kernel.name}' is not planned: {read.problem.text}"
        yield Finding(read.problem.line, 1, UNKNOWN_SIZE, "manual", text, read.problem.advice)
        return
    made = module.plan(read)
    for problem in made.problems:
        yield Finding(problem.line, 1, CODE_OF[problem.kind], "manual", f"{problem.message}{_by(made)}", problem.advice)


def _by(made: Planned) -> str:
    """Whose plan it is."""
    planner = f", planner {made.planner}" if made.mode == "reuse" else ""
    return f" ({made.target}, mode {made.mode}{planner})"
