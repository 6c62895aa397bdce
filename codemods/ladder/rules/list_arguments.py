"""NKV020 list-arguments: kernels get tuples, not lists: defaults, and arguments where they are launched.

Why: since 0.3 a list is no argument of a kernel, because compiled kernels are cached by what they get.

Review: it takes it that the kernel asks for nothing that a tuple does not have. Left: a parameter that the kernel
changes, and a list that is made elsewhere.
"""

from __future__ import annotations

import ast

from ...syntax.drafts import Edit
from ...syntax.node_index import of_kinds
from ..answers import Answer, Left, Unknown, rewritten
from ..choices import choices
from ..facts import Facts

CODE = "NKV020"
APPLICABILITY = "review"
GOLDENS = ("ladder_language",)
NODES = (ast.FunctionDef, ast.Call)
HOST = True
_COUNTING = frozenset("len enumerate zip sum sorted".split())
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
    for value in values:
        for _, each in choices(facts, value) or () if isinstance(value, ast.Name) else ():
            called, name = ast.unparse(each.func) if isinstance(each, ast.Call) else "", ast.unparse(value)
            if isinstance(each, (ast.List, ast.ListComp)) or called in ("list", "sorted"):
                return Left(f"'{name}' is a list where it reaches the kernel", f"make it a tuple: tuple({name})")
    return rewritten(*(_tuple(facts, value) for value in lists), assumption=_ASSUMPTION) if lists else None


_ASSUMPTION = "the kernel asks its argument for nothing that a tuple does not have"


def _signature(facts: Facts, node: ast.FunctionDef) -> Answer:
    own = [*node.args.posonlyargs, *node.args.args]
    pairs = list(zip(own[len(own) - len(node.args.defaults) :], node.args.defaults, strict=True))
    pairs += [(a, d) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d is not None]
    lists = [(parameter, default) for parameter, default in pairs if isinstance(default, ast.List)]
    for parameter, _ in lists:
        if _is_changed(node, parameter.arg):
            return Left(
                f"the kernel changes the list '{parameter.arg}'", "give it a tuple, and copy that in the kernel"
            )
    if lists:
        return rewritten(*(_tuple(facts, default) for _, default in lists), assumption=_ASSUMPTION)
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


def _is_changed(node: ast.FunctionDef, name: str) -> bool:
    for item in ast.walk(node):
        if isinstance(item, ast.Attribute) and item.attr in _CHANGES and ast.unparse(item.value) == name:
            return True
        if isinstance(item, ast.Subscript) and not isinstance(item.ctx, ast.Load) and ast.unparse(item.value) == name:
            return True
    return False


def _tuple(facts: Facts, value: ast.expr) -> Edit | None:
    text = facts.rung.segment(value)
    inner = text[1:-1]
    comma = "," if isinstance(value, ast.List) and len(value.elts) == 1 and not inner.rstrip().endswith(",") else ""
    return None if "#" in text else Edit(facts.rung.start(value), facts.rung.end(value), f"({inner}{comma})")
