"""NKV015 enum-members: numbers become members of the enumerations of ``nki.isa``.

Why: 0.2 took ``dge_mode=2``, 0.3 wants ``dge_mode=nisa.dge_mode.hwdge``.

Safe: the member has that number. A name that is bound to a number once is replaced where it is used.
"""

from __future__ import annotations

import ast

from nki_migrate.runtime.spec import beta2
from nki_migrate.runtime.spec.beta2_isa import ENGINE_ALIASES, ENUM_MEMBERS

from ...syntax.drafts import Edit
from ..answers import Answer, Left, Said, rewritten, unknown
from ..choices import choices
from ..facts import Facts

CODE = "NKV015"
GOLDENS = ("ladder_literals",)
NODES = (ast.Call, ast.Compare)
_ENGINES = ENGINE_ALIASES.keys() - {"dma_engine"}
"""``nisa.vector_engine`` and its likes, which are members by other names; NKV017 sees to ``nisa.dma_engine``."""
_PARAMETERS = ("dge_mode", "engine", "oob_mode", "reduce_cmd")
CALLS = frozenset(
    name
    for name, entry in beta2.SYMBOLS.items()
    if name.startswith("nki.isa.") and {p.name for p in entry.parameters or ()} & set(_PARAMETERS)
)


def rewrite(facts: Facts, node: ast.Call | ast.Compare) -> Answer:
    """Write the members that numbers of arguments, and of a comparison with the chip's version, mean."""
    pairs = _compared(facts, node) if isinstance(node, ast.Compare) else _given(facts, node)
    edits, unknown = [], []
    for name, value in pairs:
        number = _number(facts, value)
        if number is None:
            answer = _chosen(facts, name, value)
            if answer is not None:
                return answer
            continue
        member = next((key for key, each in ENUM_MEMBERS[name].items() if each == number), None)
        enum = facts.spelled(node, f"nki.isa.{name}")
        if member is None or enum is None:
            unknown.append(name)
        else:
            edits.append(Edit(facts.rung.start(value), facts.rung.end(value), f"{enum}.{member}"))
    if unknown:
        return Left(f"a number stands for a member of nisa.{unknown[0]}", f"write the member: nisa.{unknown[0]}....")
    return rewritten(*edits) if edits else None


def _number(facts: Facts, value: ast.expr) -> int | None:
    """The number that an expression is, also by a name that the function, or the module, binds to nothing else."""
    found = choices(facts, value) or ()
    path, literal = found[0] if len(found) == 1 else ("", value)
    if not isinstance(literal, ast.Constant) or type(literal.value) is not int:
        return None
    owner = facts.rung.function(literal) if path in ("", facts.path) else value
    return literal.value if owner in (None, facts.rung.function(value)) else None


def _chosen(facts: Facts, name: str, value: ast.expr) -> Answer:
    """What is known of an argument that is no number itself."""
    found = choices(facts, value)
    help = f"write the member: nisa.{name}...."
    for path, each in found or ():
        is_number = isinstance(each, ast.Constant) and type(each.value) is int
        if is_number:
            return Left(f"a number stands for a member of nisa.{name}, as '{ast.unparse(value)}'", help)
        if not isinstance(each, ast.Constant) and not _is_member(facts, path, each, name):
            found = None
    if found is not None:
        return None
    said = Said((f"'{ast.unparse(value)}'",), f"{{}} is a member of nisa.{name}", f"{{}} are members of nisa.{name}")
    return unknown(said, f"NKI {facts.new} takes no numbers", help)


def _is_member(facts: Facts, path: str, node: ast.expr, name: str) -> bool:
    rung = facts.program.rungs[path]
    called = rung.qualified(node.func) if isinstance(node, ast.Call) else ""
    known = rung.qualified(node)
    is_engine = name == "engine" and known.removeprefix("nki.isa.") in _ENGINES
    return known.startswith(f"nki.isa.{name}.") or is_engine or called == "nki.isa.get_nc_version"


def _given(facts: Facts, node: ast.Call) -> list[tuple[str, ast.expr]]:
    given = facts.arguments(node) if facts.called(node).startswith("nki.isa.") else {}
    return [(name, given[name]) for name in _PARAMETERS if name in given]


def _compared(facts: Facts, node: ast.Compare) -> list[tuple[str, ast.expr]]:
    sides = [node.left, *node.comparators]
    if not any(_is_version(facts, side) for side in sides):
        return []
    listed = [side.elts if isinstance(side, (ast.Tuple, ast.List, ast.Set)) else [side] for side in sides]
    return [("nc_version", item) for items in listed for item in items if not _is_version(facts, item)]


def _is_version(facts: Facts, node: ast.expr) -> bool:
    """Is an expression the chip's version, also by a name?"""
    found = choices(facts, node) or ()
    called = [
        facts.program.rungs[path].qualified(each.func) if isinstance(each, ast.Call) else "" for path, each in found
    ]
    return "nki.isa.get_nc_version" in called
