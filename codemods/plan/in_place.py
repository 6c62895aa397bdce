"""``x = op(x)`` of a tile that nothing else names: the instruction writes where it reads, as a person writes it.

Beta 1 made a new tile, and the old one was read no more. One tile holds both where each element of the result is
computed from the same element of the old tile, shape, type and memory are the same, and no other name, view, list or
function holds the old tile. ``verify`` asks the same of the instructions that ran
(:mod:`nki_migrate.runtime.compare.overwriting`). A kernel that gives its tiles addresses keeps its tiles.

Source: NKI migration guide, "All ISA functions require a destination parameter": the destination may be an operand.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nki_migrate.runtime.spec.comparison import SAME_ELEMENT

from ..analysis.instructions import HANDLERS
from ..analysis.maybe_tensors import TENSOR_ATTRIBUTES
from ..expr import algebra
from ..expr.operands import Operand
from ..expr.tables import CREATIONS
from ..expr.values import Tile
from ..syntax.names import dotted
from ..syntax.node_index import of_kinds, walk
from ..syntax.nodes import (
    assignment_counts,
    by_parameter,
    named_parameters,
    names_read_by_nested,
    parents_of,
    uses_by_name,
)

if TYPE_CHECKING:
    from ..analysis.instructions import Instruction
    from ..analysis.scope import Scope

_SUPPORT = {"combined": frozenset({"a", "b"})}
"""Operands as large as the result of functions that the rewrite adds: they give it element by element."""
_VIEWS = {"nl.broadcast_to"}
"""Functions whose result may be what they were given."""


def overwritten(scope: Scope, instruction: Instruction, name: str) -> Tile | None:
    """The tile ``name``, where an instruction that reads it may compute its result there; else ``None``."""
    tile = scope.names.env.get(name)
    if not isinstance(tile, Tile) or not _is_whole(tile) or not _is_alike(scope, instruction, name, tile):
        return None
    is_masked = scope.output.guards or scope.masks.clamps or scope.masks.stairs is not None
    if is_masked or scope.memory.direct or not _computes_there(instruction, name):
        return None
    assert tile.declaration is not None
    around = [scope.function, *(loop.statement for loop in scope.place.loops if loop.traced_once)]
    is_own = all(tile.declaration.node in walk(each) for each in around)
    return tile if is_own and _is_only_name(scope, name) else None


def _is_whole(tile: Tile) -> bool:
    """Is it one tile in SBUF that this function declares without an address?"""
    declared = tile.declaration is not None and not tile.declaration.pinned and not tile.declaration.joined
    parts = tile.blocks or tile.folded or tile.view or tile.optional or tile.untold
    return declared and not parts and tile.space == "sbuf"


def _is_alike(scope: Scope, instruction: Instruction, name: str, tile: Tile) -> bool:
    """Has the result of an instruction the shape, the type and the memory of the tile ``name``?"""
    if instruction.dims is None or tile.dims is None:
        same = instruction.dims is tile.dims is None and instruction.like == f"{name}.shape"
    else:
        pairs = zip(instruction.dims, tile.dims, strict=False)
        same = len(instruction.dims) == len(tile.dims) and all(scope.equal(a, b) for a, b in pairs)
    return same and instruction.space == tile.space and scope.same_dtype(instruction.dtype, tile.dtype)


def _computes_there(instruction: Instruction, name: str) -> bool:
    """Is ``name`` read, and does each element of the result depend on the same element of it, and on no other?"""
    roles = (_SUPPORT if instruction.support else SAME_ELEMENT).get(instruction.function, frozenset())
    more = instruction.first or instruction.shaped or instruction.through or instruction.optional
    given = [(p, value.text(()) if isinstance(value, Operand) else value) for p, value in instruction.arguments]
    read = [(parameter, text) for parameter, text in given if name in algebra.names(text)]
    same = all(text == name and parameter in roles for parameter, text in read)
    return bool(read) and same and not more and all(parameter != "reduce_res" for parameter, _ in given)


def _is_only_name(scope: Scope, name: str) -> bool:
    """Does nothing but ``name`` ever hold a tile that the function binds it to?"""
    is_parameter = any(argument.arg == name for argument in of_kinds(scope.function.args, ast.arg))
    return not is_parameter and name not in scope.captured and _Holder(scope, scope.function, name).is_only()


@dataclass(frozen=True)
class _Holder:
    """A name of a function that holds a tile; ``calls`` are the functions that have handed it on to this one."""

    scope: Scope
    function: ast.FunctionDef
    name: str
    calls: tuple[ast.FunctionDef, ...] = ()

    def is_only(self) -> bool:
        """Does no other name, list or function hold the tile behind the function's statements?"""
        if any(self.name in read for read in names_read_by_nested(self.function).values()):
            return False
        uses = uses_by_name(self.function).get(self.name, [])
        parents = parents_of(self.function)
        return all(
            self._is_read(node, parents) if isinstance(node.ctx, ast.Load) else self._is_made(parents[node])
            for node in uses
        )

    def _is_made(self, statement: ast.AST) -> bool:
        """Does a statement bind the name to a tile that it makes, or to its own tile?"""
        if isinstance(statement, ast.AugAssign):
            return True
        if not isinstance(statement, ast.Assign) or len(statement.targets) > 1:
            return False
        value = statement.value
        made = self._function(value) if isinstance(value, ast.Call) else ""
        makes = isinstance(value, ast.BinOp) or (made in HANDLERS and made not in _VIEWS) or made in CREATIONS
        return makes or _viewed(value) == self.name

    def _is_read(self, node: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> bool:
        """Is the tile read, written or described where it is named, and not kept under another name?"""
        parent = parents[node]
        match parent:
            case ast.Attribute(attr=attribute):
                called = parents[parent]
                if attribute in TENSOR_ATTRIBUTES:
                    return True
                return isinstance(called, ast.Call) and called.func is parent and self._is_read(called, parents)
            case ast.Subscript(value=value):
                return value is node and (not isinstance(parent.ctx, ast.Load) or self._is_read(parent, parents))
            case ast.keyword():
                return self._is_read(parent, parents)
            case ast.Call():
                function = self._function(parent)
                if function in _VIEWS:
                    return self._is_read(parent, parents)
                return function.startswith(("nl.", "nisa.")) or self._is_given_back(parent, node)
            case ast.Return():
                return not self.calls
            case ast.BinOp() | ast.AugAssign():
                return True
            case ast.Assign(targets=[ast.Name(id=target)]):
                return target == self.name
        return False

    def _function(self, call: ast.Call) -> str:
        """The function of NKI that a call means; empty for any other."""
        chain = dotted(call.func)
        is_own = chain is not None and chain[0] in assignment_counts(self.function)
        return "" if is_own else self.scope.qualified(call.func) or ""

    def _is_given_back(self, call: ast.Call, node: ast.AST) -> bool:
        """Does a function of the module hold a tile that it gets no longer than it runs, and not give it back?"""
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        callee = self.scope.module.symbols.functions.get(name) if name not in assignment_counts(self.function) else None
        if callee is None or callee in self.calls or callee is self.function:
            return False
        given = [parameter for parameter, _, value in by_parameter(callee, call) if node in walk(value)]
        given += [k.arg for k in call.keywords if k is node and k.arg is not None]
        own = {argument.arg for argument in named_parameters(callee)}
        calls = (*self.calls, self.function)
        return own.issuperset(given) and all(_Holder(self.scope, callee, each, calls).is_only() for each in given)


def _viewed(node: ast.expr) -> str:
    """The name of the tile that an expression is a view of, or a part; empty for any other expression."""
    while isinstance(node, ast.Subscript | ast.Attribute | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
