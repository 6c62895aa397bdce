"""Assignments to a name and to a tuple of names; what goes into a tensor is in :mod:`.stores`."""

from __future__ import annotations

import ast
from dataclasses import replace

from ..analysis import positivity
from ..analysis.maybe_tensors import may_be_no_number, may_give_tensor, reads_tensor
from ..analysis.name_views import described_anew
from ..analysis.objects import changing_part
from ..analysis.scope import Scope
from ..expr import algebra
from ..expr.emission import Refuse
from ..expr.operands import Operand
from ..expr.tables import is_function
from ..expr.values import (
    Absent,
    Allocator,
    Api,
    ColumnOrNumber,
    DType,
    Grid,
    Hbm,
    Index,
    Mask,
    Python,
    Several,
    Slice,
    Tensors,
    Tile,
    Value,
    texts,
)
from ..render.bodies import written
from ..render.expressions import only_computes, render
from ..render.index import index_value
from ..render.masks import is_broadcast_mask, mask_value
from ..render.open_ranks import assert_rank_of_part
from ..render.optional_types import may_lack
from ..render.patterns import of_name
from ..render.sizes import unpacked_sizes
from ..render.type_names import dtype_text, is_dtype
from ..render.vector_calls import unpacked
from ..render.vector_sizes import with_named_size
from ..rules import constants
from ..syntax import codes
from ..syntax.node_index import of_kinds
from ..syntax.nodes import is_filled
from ..syntax.targets import is_starred
from .access import operand
from .call_results import named, of_call, parts_of
from .calls import call_statement, call_value, constructed, module_function, tuple_value
from .choices_of_tiles import tile_or_number
from .computations import is_computation
from .compute import bind
from .declare import allocator_value, buffer_value, creation, declare, is_bound_again
from .deques import as_list
from .items import written_slice
from .listed_tiles import lists_tiles, new_list, tiles_in_list
from .number_tables import assign_table
from .operator_values import is_operator, operator_value
from .reshape import reshaped
from .star_targets import assign_starred
from .stores import store
from .tensor_lists import either_tensor

DESTINATION = codes.ISA_DESTINATION


def assign(scope: Scope, statement: ast.stmt) -> None:
    if isinstance(statement, ast.AnnAssign):
        if statement.value is None:
            raise Refuse(statement, codes.LANGUAGE, "an annotation without a value", "remove it")
        target: ast.expr = statement.target
        value = statement.value
    else:
        assert isinstance(statement, ast.Assign)
        if len(statement.targets) > 1:
            _chained(scope, statement)
            return
        target, value = statement.targets[0], statement.value
    if isinstance(target, ast.Name):
        _to_name(scope, statement, target.id, value)
    elif isinstance(target, ast.Tuple | ast.List):
        _to_tuple(scope, statement, target, value)
    elif isinstance(target, ast.Subscript):
        store(scope, statement, target, value)
    else:
        if operand(scope, value) is not None or is_computation(scope, value):
            raise Refuse(statement, DESTINATION, "a tile in an attribute of an object", "keep it in a local name")
        scope.emit(f"{scope.source.segment(target)} = {render(scope, value)}")


def _chained(scope: Scope, statement: ast.Assign) -> None:
    if operand(scope, statement.value) is not None or is_computation(scope, statement.value):
        help = "give it to one name, and that name to the others: they are one tile"
        raise Refuse(statement, DESTINATION, "one tile assigned to several targets", help)
    targets = " = ".join(scope.source.segment(t) for t in statement.targets)
    scope.emit(f"{targets} = {render(scope, statement.value)}")
    for target in statement.targets:
        if isinstance(target, ast.Name):
            _set(scope, target.id, Python())


def _set(scope: Scope, name: str, value: Value) -> None:
    """Bind ``name``; sizes that are written with the name's former value are written anew."""
    sizes = [text for text in texts(value) if text and text != f"{name}.dtype"]
    if isinstance(value, Hbm | Tile) and name in {n for text in sizes for n in algebra.names(text)}:
        value = described_anew(scope, name, value, name)
    scope.names.env[name] = value


def _to_name(scope: Scope, statement: ast.stmt, name: str, value: ast.expr) -> None:
    value = as_list(scope, name, value)
    if isinstance(value, ast.List) and lists_tiles(scope, name, value):
        tiles_in_list(scope, statement, name, value)
        return
    if creation(scope, value) is not None:
        assert isinstance(value, ast.Call)
        if is_bound_again(scope, name, value, statement):
            scope.module.plan.needless.add(statement)
            return
        _set(scope, name, declare(scope, name, value, statement))
        return
    dropped = _compile_time(scope, name, value)
    if dropped is not None:
        if isinstance(dropped, Index) and name in scope.sizes.resized:
            dropped = with_named_size(scope, name, dropped)
        _set(scope, name, dropped)
        scope.summary.dropped[statement] = {name}
        return
    if isinstance(value, ast.Call) and scope.qualified(value.func) in constants.NAMES:
        _set(scope, name, constants.shared_constant(scope, name, value))
        return
    if is_computation(scope, value):
        _set(scope, name, bind(scope, value, name))
        return
    tile = scope.attempt(_reshaped_alike, scope, name, value)
    if isinstance(tile, Tile):
        _set(scope, name, tile)
        return
    if isinstance(value, ast.Call) and scope.qualified(value.func) == "nl.store" and not _is_read(scope, name):
        call_statement(scope, value)
        return
    _to_known(scope, name, value)


def _reshaped_alike(scope: Scope, name: str, value: ast.expr) -> Tile | None:
    """``name = nl.load(v[a:b]).reshape((n, 1))``: the tile itself where it has that shape in Beta 2 already.

    Refused where it has another one.
    """
    if not (isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "reshape"):
        return None
    computed = value.func.value
    if not is_computation(scope, computed):
        return None
    tile = bind(scope, computed, name)
    scope.output.called[computed] = name, tile
    if reshaped(scope, value, of_name(scope, name, tile)).base != name:
        raise Refuse(value, codes.INDEX_VECTORS, ".reshape(...) to another shape", "give the tile a name of its own")
    return tile


def _to_known(scope: Scope, name: str, value: ast.expr) -> None:
    """A name for a view, for what a function of the user's gives, for one of two tensors, or for no tensor."""
    function = module_function(scope, value) if isinstance(value, ast.Call) else None
    view = operand(scope, value) if function is None else None
    if view is not None:
        _view(scope, name, value, view)
        return
    if isinstance(value, ast.Call) and function is not None:
        text, result = scope.output.called.get(value) or call_value(scope, value)
        scope.emit(f"{name} = {text}")
        scope.names.env[name] = of_call(scope, function.home or scope.module, result, name)
        if only_computes(scope, value):
            define(scope, name, text)
        return
    either = either_tensor(scope, value) if isinstance(value, ast.IfExp) else tuple_value(scope, value)
    if either is not None:
        scope.emit(f"{name} = {either[0]}")
        _set(scope, name, named(either[1], name))
        return
    chosen = tile_or_number(scope, value) if isinstance(value, ast.IfExp) else None
    if chosen is not None:
        scope.emit(f"{name} = {chosen}")
        _set(scope, name, ColumnOrNumber())
        return
    if not assign_table(scope, name, value):
        _python(scope, name, value)


def _is_read(scope: Scope, name: str) -> bool:
    loads = (n for n in of_kinds(scope.function, ast.Name) if isinstance(n.ctx, ast.Load))
    return any(node.id == name for node in loads)


def _compile_time(scope: Scope, name: str, value: ast.expr) -> Value | None:
    """Index vectors, masks, allocators and aliases of removed functions: Beta 2 has none of them."""
    index = index_value(scope, value, name)
    if index is not None:
        if reads_tensor(scope, value):
            message = "an index vector from a place that a tile tells, under a name"
            raise Refuse(value, codes.INDEX_VECTORS, message, "write it in the subscript itself")
        return index
    masks = ast.Compare | ast.BinOp | ast.BoolOp | ast.Name | ast.IfExp | ast.Call
    may_be_mask = isinstance(value, masks) and (not is_computation(scope, value) or is_broadcast_mask(scope, value))
    mask = mask_value(scope, value) if may_be_mask else None
    if mask is not None and mask.of_vectors:
        return mask
    if isinstance(value, ast.IfExp) and any(isinstance(branch, ast.Call) for branch in (value.body, value.orelse)):
        either = buffer_value(scope, value)
        return either if isinstance(either, Allocator) else None
    if isinstance(value, ast.Call):
        allocator = allocator_value(scope, value)
        return allocator if isinstance(allocator, Allocator) else None
    qualified = scope.qualified(value)
    named = qualified is not None and is_function(qualified)
    if qualified is not None and named and not (scope.names.assigned[name] > 1 and is_operator(scope, name)):
        return Api(qualified)
    return None


def _view(scope: Scope, name: str, node: ast.expr, view: Operand) -> None:
    assert_rank_of_part(scope, view, node)
    if view.text(()) != name:
        scope.emit(f"{name} = {view.text(())}")
    value = view.value
    if isinstance(value, Tile) and value.blocks:
        _set(scope, name, value)
        return
    if view.is_view or view.items is not None or view.pattern is not None:
        origin = view.origin if view.is_view else view
        value = replace(value, dims=view.known_dims, view=True, origin=origin)
    _set(scope, name, value)


def _python(scope: Scope, name: str, value: ast.expr) -> None:
    if is_dtype(scope, value):
        text = dtype_text(scope, value)
        scope.emit(f"{name} = {text}")
        _set(scope, name, DType(name))
        if scope.names.assigned[name] == 1 and scope.names.are_fixed(algebra.names(text)):
            scope.names.dtypes[name] = text
        return
    text = operator_value(scope, value, name) or render(scope, value)
    scope.emit(f"{name} = {text}")
    plain = _no_number(scope, name, value, text)
    if plain is not None:
        _set(scope, name, plain)
        return
    _itemsize_name(scope, name, value)
    unknown = may_give_tensor(scope, value)
    (scope.names.unknown_results.add if unknown else scope.names.unknown_results.discard)(name)
    scope.names.none_at_first.discard(name)
    known = not may_be_no_number(scope, value) and not unknown
    plain = Python(positivity.positive(scope, text), optional=may_lack(scope, value))
    _set(scope, name, plain if known else Value())
    define(scope, name, text)


def _no_number(scope: Scope, name: str, value: ast.expr, text: str) -> Value | None:
    """The slice, empty list of tensors, absent value or object that a name stands for; ``None`` for anything else."""
    known_slice = scope.names.env.get(value.id) if isinstance(value, ast.Name) else None
    if isinstance(known_slice, Slice):
        return known_slice
    if (
        isinstance(value, ast.List)
        and not value.elts
        and is_filled(scope.function, name)
        and scope.names.assigned[name] == 1
    ):
        return Tensors(empty=True)
    empty = new_list(scope, name, value)
    if empty is not None:
        return empty
    if _makes_slice(scope, value):
        is_slice = isinstance(value, ast.Call) and (
            scope.qualified(value.func) == "nl.ds" or written_slice(scope, value) is not None
        )
        return Slice(text, value) if is_slice and isinstance(value, ast.Call) else Value()
    if isinstance(value, ast.Constant) and value.value is None:
        return Absent()
    made = constructed(scope, value)
    if made is not None:
        return named(made, name)
    return Absent() if _is_absent(scope, value) else None


def _is_absent(scope: Scope, value: ast.expr) -> bool:
    """Is an expression ``None``, or a name for it?"""
    if isinstance(value, ast.Name):
        return isinstance(scope.names.env.get(value.id), Absent)
    return isinstance(value, ast.Constant) and value.value is None


def _makes_slice(scope: Scope, value: ast.expr) -> bool:
    """Is there a slice in what a name gets? Used as an index, it is no integer."""
    calls = (n.func for n in of_kinds(value, ast.Call))
    return any(scope.qualified(f) == "nl.ds" or (isinstance(f, ast.Name) and f.id == "slice") for f in calls)


def define(scope: Scope, name: str, text: str) -> None:
    """Remember what a name stands for: always, when neither it nor that can change, and else until one of them does."""
    read = algebra.names(text)
    if name in read or changing_part(scope, algebra.parse(text)):
        return
    always = scope.names.assigned[name] == 1 and scope.names.are_fixed(read)
    if always:
        scope.sizes.definitions[name] = text
    else:
        scope.sizes.formulas = scope.sizes.formulas | {name: text}


def _itemsize_name(scope: Scope, name: str, value: ast.expr) -> None:
    """``size = np.dtype(t).itemsize`` gives the size of ``t`` a name that addresses can use."""
    if not (isinstance(value, ast.Attribute) and value.attr == "itemsize" and scope.names.assigned[name] == 1):
        return
    if isinstance(value.value, ast.Call) and scope.qualified(value.value.func) == "np.dtype" and value.value.args:
        dtype = dtype_text(scope, value.value.args[0])
        scope.sizes.itemsizes.setdefault(dtype, name)


def _to_tuple(scope: Scope, statement: ast.stmt, target: ast.Tuple | ast.List, value: ast.expr) -> None:
    names = [t.id if isinstance(t, ast.Name) else None for t in target.elts]
    grid = index_value(scope, value, "")
    if isinstance(grid, Grid) and len(grid.components) == len(names):
        for name, component in zip(names, grid.components, strict=True):
            if name is not None:
                _set(scope, name, _labelled(component, name))
        scope.summary.dropped[statement] = {n for n in names if n}
        return
    if isinstance(value, ast.Call) and _assign_vectors(scope, statement, names, value):
        return
    parts = value if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(names) else None
    if parts is not None and None not in names:
        _elementwise(scope, statement, [n for n in names if n], parts.elts)
    elif is_starred(target):
        assign_starred(scope, target, value)
    else:
        _unpacked(scope, target, value, names)


def _unpacked(scope: Scope, target: ast.Tuple | ast.List, value: ast.expr, names: list[str | None]) -> None:
    """Names for the parts of what a call, a name or a shape gives; ``None`` for a target that is no name."""
    known: Value | None = scope.names.env.get(value.id) if isinstance(value, ast.Name) else None
    if isinstance(value, ast.Call) and module_function(scope, value) is not None:
        text, known = call_value(scope, value)
    else:
        text = render(scope, value)
    scope.emit(f"{scope.source.segment(target)} = {text}")
    sizes = unpacked_sizes(scope, value, names)
    scope.names.env |= sizes or {}
    is_shape = sizes is not None
    parts: list[Value] = [Value() if may_be_no_number(scope, value) else Python(is_shape) for _ in names]
    if isinstance(known, Several) or isinstance(value, ast.Call):
        parts = parts_of(known or Value(), names)
    for name, part in zip(names, parts, strict=True):
        if name is not None:
            _set(scope, name, part)


def _assign_vectors(scope: Scope, statement: ast.stmt, names: list[str | None], value: ast.Call) -> bool:
    """``rows, mask = info.rows(i)``: what a function of the user's computes from vectors, name by name."""
    found = unpacked(scope, value)
    if found is None or len(found.parts) != len(names):
        return False
    _check_no_tuple(statement, value, found)
    vectors = [isinstance(part, Index | Grid | Mask) for part in found.parts]
    bound = {name for name, vector in zip(names, vectors, strict=True) if name and not vector}
    read = {n for part in found.parts for text in _texts(part) for n in algebra.names(text)}
    if bound & read:
        what = f"'{min(bound & read)}' is bound again by what is computed from it"
        raise Refuse(statement, codes.INDEX_VECTORS, what, "give the results names of their own")
    for name, part in zip(names, found.parts, strict=True):
        if name is None:
            raise Refuse(
                statement, codes.INDEX_VECTORS, "an index vector that is bound to more than a name", "give it a name"
            )
        if isinstance(part, Index):
            _set(scope, name, _labelled(part, name))
        elif isinstance(part, Grid | Mask):
            _set(scope, name, part)
        elif name != "_":
            scope.emit(f"{name} = {written(part)}")
            _set(scope, name, Python())
    scope.summary.dropped[statement] = {name for name, vector in zip(names, vectors, strict=True) if name and vector}
    return True


def _check_no_tuple(statement: ast.stmt, value: ast.Call, found: Several) -> None:
    if any(isinstance(part, Several) for part in found.parts):
        message = f"'{ast.unparse(value.func)}' returns index vectors, and a tuple in a tuple"
        raise Refuse(statement, codes.INDEX_VECTORS, message, "return the vectors one by one")


def _texts(part: Value) -> tuple[str, ...]:
    """The source expressions of one of several results."""
    return tuple(filter(None, texts(part))) if isinstance(part, Index | Grid | Mask) else (written(part),)


def _labelled(index: Index, label: str) -> Index:
    terms = tuple(replace(t, axis=replace(t.axis, label=label)) for t in index.terms)
    return replace(index, terms=terms)


def _elementwise(scope: Scope, statement: ast.stmt, names: list[str], values: list[ast.expr]) -> None:
    compiled = [_compile_time(scope, name, value) for name, value in zip(names, values, strict=True)]
    tensors = any(
        creation(scope, v) or is_computation(scope, v) or operand(scope, v) is not None or c is not None
        for v, c in zip(values, compiled, strict=True)
    )
    if not tensors:
        texts = [render(scope, value) for value in values]
        scope.emit(f"{', '.join(names)} = {', '.join(texts)}")
        out = list(scope.output.lines)
        for name, value in zip(names, values, strict=True):
            _python(scope, name, value)
        scope.output.lines = out
        return
    if any(n in names for v in values for n in _names(v)):
        help = "keep one of them under another name first: before = a, a = b, b = before"
        raise Refuse(statement, DESTINATION, "a tuple assignment that swaps tensors", help)
    scope.summary.dropped[statement] = {n for n, c in zip(names, compiled, strict=True) if c is not None}
    for name, value, known in zip(names, values, compiled, strict=True):
        if known is not None:
            _set(scope, name, known)
        else:
            _to_name(scope, statement, name, value)


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in of_kinds(node, ast.Name)}
