"""Parts of tensors, `t[i]`: what becomes of one besides being an operand of an instruction."""

from __future__ import annotations

import ast

from .facts import Facts


def is_asked_for_its_shape(facts: Facts, node: ast.Subscript) -> bool:
    """Is a part of a tensor asked for its shape, or the name that it is bound to?"""
    above = facts.rung.parents.get(node)
    target = above.targets[0] if isinstance(above, ast.Assign) else None
    uses = facts.rung.uses(target) if isinstance(target, ast.Name) else [node]
    asked = [each for use in uses if isinstance(each := facts.rung.parents.get(use), ast.Attribute)]
    return any(each.attr in ("shape", "ndim") for each in asked)


def makes_a_tile(facts: Facts, node: ast.Subscript) -> bool:
    """Is a part of a tensor more than an operand of an instruction?"""
    above = facts.rung.parents.get(node)
    if isinstance(above, ast.keyword):
        above = facts.rung.parents.get(above)
    if isinstance(above, ast.Call):
        return not facts.called(above).startswith(("nki.isa.", "nki.collectives."))
    if isinstance(above, (ast.List, ast.Tuple)):
        return not isinstance(facts.rung.parents.get(above), (ast.Subscript, ast.keyword, ast.Call))
    return isinstance(above, (ast.Assign, ast.Attribute, ast.Return, ast.Subscript))


def is_an_operand_by_its_name(facts: Facts, node: ast.Subscript) -> bool:
    """Is a part bound to a name that is nothing but an operand of instructions?"""
    above = facts.rung.parents.get(node)
    target = above.targets[0] if isinstance(above, ast.Assign) and len(above.targets) == 1 else None
    uses = facts.rung.uses(target) if isinstance(target, ast.Name) else []
    return bool(uses) and all(_is_operand(facts, use) for use in uses if isinstance(use.ctx, ast.Load))


def _is_operand(facts: Facts, use: ast.Name) -> bool:
    above = facts.rung.parents.get(use)
    above = facts.rung.parents.get(above) if isinstance(above, ast.keyword) else above
    return isinstance(above, ast.Call) and facts.called(above).startswith(("nki.isa.", "nki.collectives."))
