"""NKV020 list-arguments: kernels get tuples, not lists: defaults, and arguments where they are launched.

Why: since 0.3 a list is no argument of a kernel, because compiled kernels are cached by what they get.

Review: it takes it that the kernel asks for nothing that a tuple does not have. Left: a parameter that the kernel
changes, compares or joins with a list, or asks for its type, and a list that is made elsewhere.
"""

from __future__ import annotations

import ast

from ...syntax.drafts import Edit
from ...syntax.node_index import of_kinds
from ..answers import Answer, Left, Unknown, rewritten
from ..bindings import given_to, parameters
from ..choices import choices
from ..facts import Facts
from ..program import Definition

CODE = "NKV020"
APPLICABILITY = "review"
GOLDENS = ("ladder_language",)
NODES = (ast.FunctionDef, ast.Call)
HOST = True
_COUNTING = frozenset("len enumerate zip sum sorted".split())
_TYPES = frozenset(("isinstance", "type"))
_DEEPEST = 6
_COPIED = "give it a tuple, and copy that in the kernel where it needs a list"
_CHANGES = frozenset("append extend insert pop remove clear sort reverse".split())


def rewrite(facts: Facts, node: ast.FunctionDef | ast.Call) -> Answer:
    """Write tuples for the lists of a signature, or of a launch."""
    if isinstance(node, ast.FunctionDef):
        return _signature(facts, node) if facts.program.is_kernel(node) else None
    callee = node.func.value if isinstance(node.func, ast.Subscript) else node.func
    meant = facts.program.meant(facts.path, callee)
    if meant is None or not facts.program.is_kernel(meant[1]) or facts.in_kernel_code(node):
        return None
    values = [*node.args, *(keyword.value for keyword in node.keywords)]
    lists = [value for value in values if isinstance(value, ast.List)]
    left = _left(facts, node, *meant, lists) or _made_elsewhere(facts, values)
    edits = [edit for value in lists for edit in _tuple(facts, value)]
    return left or (rewritten(*edits, assumption=_ASSUMPTION) if edits else None)


def _left(facts: Facts, call: ast.Call, path: str, kernel: Definition, lists: list[ast.List]) -> Left | None:
    """Why the lists of a launch stay: what the kernel asks them for."""
    if isinstance(kernel, ast.FunctionDef):
        for parameter in parameters(kernel):
            is_listed = any(given_to(kernel, call, parameter) is value for value in lists)
            if is_listed and (what := _asks(facts, path, kernel, parameter)):
                return Left(what, _COPIED)
    return None


def _made_elsewhere(facts: Facts, values: list[ast.expr]) -> Left | None:
    for value in values:
        for _, each in choices(facts, value) or () if isinstance(value, ast.Name) else ():
            called, name = ast.unparse(each.func) if isinstance(each, ast.Call) else "", ast.unparse(value)
            if isinstance(each, (ast.List, ast.ListComp)) or called in ("list", "sorted"):
                return Left(f"'{name}' is a list where it reaches the kernel", f"make it a tuple: tuple({name})")
    return None


_ASSUMPTION = "the kernel asks its argument for nothing that a tuple does not have"


def _signature(facts: Facts, node: ast.FunctionDef) -> Answer:
    own = [*node.args.posonlyargs, *node.args.args]
    pairs = list(zip(own[len(own) - len(node.args.defaults) :], node.args.defaults, strict=True))
    pairs += [(a, d) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d is not None]
    lists = [(parameter, default) for parameter, default in pairs if isinstance(default, ast.List)]
    for parameter, _ in lists:
        if what := _asks(facts, facts.path, node, parameter.arg):
            return Left(what, _COPIED)
    if lists:
        return rewritten(*(edit for _, default in lists for edit in _tuple(facts, default)), assumption=_ASSUMPTION)
    known = {parameter.arg for parameter, default in pairs if isinstance(default, (ast.Tuple, ast.Constant))}
    for parameter in [*own, *node.args.kwonlyargs]:
        if parameter.arg not in known and _is_listed(node, parameter):
            why = f"NKI {facts.new} takes no lists"
            return Unknown(
                f"'{parameter.arg}' is given as a tuple", why, "give the kernel a tuple where it is launched"
            )
    return None


def _is_listed(node: ast.FunctionDef, parameter: ast.arg) -> bool:
    """May a parameter be a list, by what the kernel asks it for: is it counted or gone through?"""
    if parameter.annotation is not None and "uple" in ast.unparse(parameter.annotation):
        return False
    for item in of_kinds(node, ast.For, ast.comprehension, ast.Call):
        iterated = item.iter if isinstance(item, (ast.For, ast.comprehension)) else None
        counted = item.args if isinstance(item, ast.Call) and ast.unparse(item.func) in _COUNTING else []
        if any(isinstance(each, ast.Name) and each.id == parameter.arg for each in [*counted, iterated]):
            return True
    return False


def _asks(facts: Facts, path: str, function: ast.FunctionDef, name: str, depth: int = 0) -> str:
    """What a function (or one that it calls) asks of a parameter that a tuple does otherwise; empty if nothing."""
    for item in ast.walk(function):
        what = _asked(item, name)
        if not what and isinstance(item, ast.Call) and depth < _DEEPEST:
            what = _asked_by_callee(facts, path, item, name, depth)
        if what:
            return what
    return ""


def _asked(item: ast.AST, name: str) -> str:
    if _changes(item, name):
        return f"the kernel changes the list '{name}'"
    if isinstance(item, ast.Compare | ast.BinOp) and _meets_a_list(item, name):
        return f"the kernel {'compares' if isinstance(item, ast.Compare) else 'joins'} '{name}' with a list"
    if isinstance(item, ast.Call) and ast.unparse(item.func) in _TYPES and item.args and _is(item.args[0], name):
        return f"the kernel asks for the type of '{name}'"
    return ""


def _asked_by_callee(facts: Facts, path: str, call: ast.Call, name: str, depth: int) -> str:
    meant = facts.program.meant(path, call.func)
    if meant is None or not isinstance(meant[1], ast.FunctionDef):
        return ""
    given = ((parameter, given_to(meant[1], call, parameter)) for parameter in parameters(meant[1]))
    taken = [parameter for parameter, value in given if value is not None and _is(value, name)]
    return next((what for p in taken if (what := _asks(facts, meant[0], meant[1], p, depth + 1))), "")


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _meets_a_list(node: ast.Compare | ast.BinOp, name: str) -> bool:
    sides = [node.left, *(node.comparators if isinstance(node, ast.Compare) else [node.right])]
    return any(_is(side, name) for side in sides) and any(isinstance(s, ast.List | ast.ListComp) for s in sides)


def _changes(item: ast.AST, name: str) -> bool:
    if isinstance(item, ast.Attribute) and item.attr in _CHANGES:
        return _is(item.value, name)
    return isinstance(item, ast.Subscript) and not isinstance(item.ctx, ast.Load) and _is(item.value, name)


def _tuple(facts: Facts, value: ast.List) -> list[Edit | None]:
    """The edits that make tuples of a list and of the lists in it."""
    if "#" in facts.rung.segment(value):
        return [None]
    edits: list[Edit | None] = [
        edit for item in value.elts if isinstance(item, ast.List) for edit in _tuple(facts, item)
    ]
    start, end = facts.rung.start(value), facts.rung.end(value)
    comma = "," if len(value.elts) == 1 and not facts.rung.text[start : end - 1].rstrip().endswith(",") else ""
    return [Edit(start, start + 1, "("), *edits, Edit(end - 1, end, f"{comma})")]
