"""NKV003 psum-copies: what ``dma_copy`` reads from PSUM is copied to SBUF first.

Why: from 0.3 on a DMA reaches HBM and SBUF only.

A note says which tensors are taken not to be in PSUM, where nothing tells it: 0.3 refuses others.

Review: the copy is exact, and takes room in SBUF that the kernel did not take before.
"""

from __future__ import annotations

import ast

from ..answers import Answer, Left, Said, rewritten, unknown
from ..facts import Facts
from ..statements import free_name, is_own_statement, lines_before, root_name

CODE = "NKV003"
APPLICABILITY = "review"
GOLDENS = ("ladder_left",)
NODES = (ast.Call,)
CALLS = frozenset({"nki.isa.dma_copy"})
_HELP = "copy between PSUM and SBUF with nisa.tensor_copy"


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Put a tile in SBUF between PSUM and the DMA."""
    if facts.called(node) != "nki.isa.dma_copy":
        return None
    given = facts.arguments(node)
    if "dst" in given and facts.tensor(given["dst"]).buffer == "psum":
        return Left("dma_copy cannot write to PSUM", _HELP)
    open_ = [root_name(given[key]) for key in ("src", "dst") if key in given and not facts.tensor(given[key]).buffer]
    if "src" not in given or facts.tensor(given["src"]).buffer != "psum":
        said = Said(tuple(f"'{name}'" for name in dict.fromkeys(open_)), "{} is not in PSUM", "{} are not in PSUM")
        return unknown(said, f"dma_copy of NKI {facts.new} reaches HBM and SBUF only", _HELP) if open_ else None
    source = given["src"]
    statement, text = is_own_statement(facts.rung, node), facts.text_of(node)
    names = [facts.spelled(node, f"nki.{name}") for name in ("language.ndarray", "language.sbuf", "isa.tensor_copy")]
    if statement is None or text is None or None in names or not isinstance(source, (ast.Name, ast.Subscript)):
        return Left("dma_copy cannot read from PSUM", _HELP)
    ndarray, sbuf, tensor_copy = names
    what = facts.rung.segment(source)
    name = free_name(facts.rung, f"{root_name(source)}_sbuf")
    argument = next(item for item in text.arguments if item.value is source)
    return rewritten(
        lines_before(
            facts.rung,
            statement,
            f"{name} = {ndarray}({what}.shape, dtype={what}.dtype, buffer={sbuf})",
            f"{tensor_copy}(dst={name}, src={what})",
        ),
        text.value_replaced(argument, name),
        assumption=f"there is room for '{name}' in SBUF, between PSUM and the DMA",
    )
