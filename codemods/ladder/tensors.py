"""What expressions of kernel code are as tensors: rank, memory, data type, and the calls that declare them.

A name is what all of its bindings in the function agree on, a parameter what all calls in the files agree on, a call of
a function of the files what its returns agree on. What is not known stays empty: no rule may guess.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from nki_migrate.runtime.spec.kept_functions import ACTIVATIONS, ARITHMETIC, REDUCTIONS

from ..syntax.node_index import of_kinds
from ..syntax.nodes import is_shape
from .allocators import annotation_of, is_sequence, memory_given_out
from .asserted_ranks import asserted_rank
from .bindings import binder, bindings, given_to, parameters
from .program import Program
from .rung import MAKERS, Rung

LANGUAGE = "nki.language."
_GIVEN = {f"{LANGUAGE}shared_constant": "shared_hbm"}
"""Functions that give a whole tensor of their own, and where it is."""
_ALIKE = frozenset(f"{LANGUAGE}{name}" for name in ("load", *ACTIVATIONS, *ARITHMETIC))
"""Functions that give a new tile in SBUF of the shape of their first tensor."""
_REDUCED = frozenset(f"{LANGUAGE}{name}" for name in REDUCTIONS)
ON_CHIP = frozenset({"sbuf", "psum"})
BUFFERS = frozenset({"sbuf", "psum", "hbm", "shared_hbm", "private_hbm"})
_VIEWS = frozenset({"ap", "reshape", "view"})
_DEEPEST = 12


@dataclass(frozen=True)
class Tensor:
    """What is known of a tensor.

    ``rank`` counts its dimensions, ``buffer`` and ``dtype`` are names of ``nki.language`` (``dtype_text`` is how the
    file spells it), ``shape`` the sizes that a whole tensor was declared with, ``calls`` the calls that declare it,
    with their files. ``whole``: it was not indexed.
    """

    rank: int | None = None
    buffer: str = ""
    dtype: str = ""
    dtype_text: str = ""
    shape: tuple[str, ...] | None = None
    calls: tuple[tuple[str, ast.Call], ...] = ()
    whole: bool = False

    @property
    def is_on_chip(self) -> bool:
        return self.buffer in ON_CHIP

    @property
    def is_in_hbm(self) -> bool:
        return self.buffer.endswith("hbm")


UNKNOWN = Tensor()


@dataclass(frozen=True)
class Items:
    """A list or tuple of tensors, or of such lists: what all of them are."""

    each: Tensor | Items


Value = Tensor | Items | None
"""``None`` for what is no tensor, or not known to be one."""


def joined(first: Tensor, second: Tensor) -> Tensor:
    """What holds of both."""
    return Tensor(
        first.rank if first.rank == second.rank else None,
        first.buffer if first.buffer == second.buffer else "",
        first.dtype if first.dtype == second.dtype else "",
        first.dtype_text if first.dtype_text == second.dtype_text else "",
        first.shape if first.shape == second.shape else None,
        tuple(dict.fromkeys([*first.calls, *second.calls])),
        first.whole and second.whole,
    )


@dataclass
class Tensors:
    """Answers for all files of a run; ``keeps_partition``: an integer index of the partitions leaves an extent of 1."""

    program: Program
    keeps_partition: bool = True
    _names: dict[tuple[ast.AST, str], Value] = field(default_factory=dict)
    _busy: set[tuple[ast.AST, str]] = field(default_factory=set)

    def of(self, path: str, node: ast.expr, depth: int = 0) -> Value:
        """What ``node`` of the file ``path`` is."""
        if depth > _DEEPEST:
            return None
        rung = self.program.rungs[path]
        if isinstance(node, ast.Name):
            found = self._name(path, rung, node, depth)
            if isinstance(found, Tensor) and found.rank is None:
                return replace(found, rank=asserted_rank(rung, node))
            return found
        if isinstance(node, ast.Subscript):
            base = self.of(path, node.value, depth + 1)
            if isinstance(base, Items):
                return base.each if not isinstance(node.slice, ast.Slice) else base
            return self._subscript(path, rung, base, node.slice) if base is not None else None
        if isinstance(node, ast.Call):
            return self._call(path, rung, node, depth)
        if isinstance(node, ast.IfExp):
            return self._agreed([self.of(path, node.body, depth + 1), self.of(path, node.orelse, depth + 1)])
        if isinstance(node, (ast.List, ast.Tuple)) and node.elts:
            each = self._agreed([self._bound_value(path, item, depth + 1) for item in node.elts])
            return Items(each) if each is not None else None
        return None

    def tensor(self, path: str, node: ast.expr) -> Tensor:
        """What ``node``, which stands where only a tensor can, is."""
        found = self.of(path, node)
        return found if isinstance(found, Tensor) else UNKNOWN

    # --- names -------------------------------------------------------------------------------------------------------

    def _name(self, path: str, rung: Rung, node: ast.Name, depth: int) -> Value:
        function = binder(rung, node)
        if function is None:
            return None
        key = function, node.id
        if key in self._names:
            return self._names[key]
        if key in self._busy:
            return None
        self._busy.add(key)
        bound = bindings(rung, function)[node.id]
        views = [item for item in bound if item is not None and _is_view_of(item, node.id)]
        values = [self._bound_value(path, item, depth + 1) for item in bound if item not in views]
        is_given = node.id in parameters(function)
        if is_given and isinstance(function, ast.FunctionDef):
            values.append(self._parameter(path, function, node.id, depth + 1))
        found = self._agreed([*values, *self._appended(path, rung, function, node.id, depth)])
        found = None if _is_empty(found) else found
        if isinstance(found, Tensor) and found.rank is None and is_given and not bindings(rung, function)[node.id]:
            rank = _unpacked_rank(function, node.id)
            found = replace(found, rank=rank) if rank is not None else found
        self._busy.discard(key)
        self._names[key] = found
        return self._with_views(path, key, views, depth) if views else found

    def _with_views(self, path: str, key: tuple[ast.AST, str], views: Sequence[ast.expr], depth: int) -> Value:
        """What a name is that is bound to ``views`` of itself, too, ``x = x.reshape(shape)``: what holds of all."""
        found, before = self._names[key], None
        while found != before:
            before = found
            found = self._names[key] = self._agreed([found, *(self.of(path, view, depth + 1) for view in views)])
        return found

    def _bound_value(self, path: str, value: ast.expr | None, depth: int) -> Value:
        if isinstance(value, (ast.List, ast.Tuple)) and not value.elts:
            return Items(Tensor(calls=(_EMPTY,)))
        return self.of(path, value, depth) if value is not None else None

    def _appended(self, path: str, rung: Rung, function: ast.AST, name: str, depth: int) -> Iterator[Value]:
        """What is appended to a list."""
        for value, levels in rung.appended.get((function, name), ()):
            item = self._bound_value(path, value, depth + 1)
            for _ in range(levels):
                item = Items(item) if item is not None else None
            yield item

    def _agreed(self, values: Sequence[Value]) -> Value:
        """What all of ``values`` are; ``None`` if one is unknown."""
        if not values or any(value is None for value in values):
            return None
        lists = [value.each for value in values if isinstance(value, Items)]
        if lists:
            if len(lists) < len(values):
                return None
            filled = [each for each in lists if not _is_empty(each)]
            each = self._agreed(filled) if filled else lists[0]
            return Items(each) if each is not None else None
        found: Tensor | None = None
        for value in values:
            if isinstance(value, Tensor):
                found = value if found is None else joined(found, value)
        return found

    def _parameter(self, path: str, function: ast.FunctionDef, name: str, depth: int) -> Value:
        """What a parameter is: in HBM for a kernel, else what all calls give."""
        calls = self.program.calls.get(function, ())
        if self.program.is_kernel(function):
            inlined = any(self.program.in_kernel_code(self.program.rungs[where], call) for where, call in calls)
            return UNKNOWN if inlined else Tensor(buffer="hbm", whole=True)
        unseen: Value = Items(UNKNOWN) if is_sequence(annotation_of(function, name)) else UNKNOWN
        if not calls or function in self.program.referenced:
            return unseen
        values = []
        for where, call in calls:
            given = given_to(function, call, name)
            values.append(self.of(where, given, depth) if given is not None else None)
        known = [value for value in values if value is not None]
        found = self._agreed(known) if known else unseen
        return found if len(known) == len(values) else unseen

    # --- expressions -------------------------------------------------------------------------------------------------

    def _call(self, path: str, rung: Rung, node: ast.Call, depth: int) -> Value:
        name = rung.qualified(node.func)
        if name in MAKERS:
            return self._made(path, rung, node, depth)
        if name in _GIVEN:
            return Tensor(buffer=_GIVEN[name], whole=True)
        if name in _REDUCED:
            return Tensor(buffer="sbuf", whole=True)
        if name in _ALIKE:
            return self._alike(path, rung, node, depth)
        if isinstance(node.func, ast.Attribute) and node.func.attr in _VIEWS and not name:
            base = self.of(path, node.func.value, depth + 1)
            if isinstance(base, Tensor) and node.func.attr == "reshape":
                return self._reshaped(path, rung, base, node, depth)
            return self._view(rung, base, node.func.attr, node) if isinstance(base, Tensor) else None
        if self._copies_items(path, node):
            items = self.of(path, node.args[0], depth + 1)
            return items if isinstance(items, Items) else None
        memory = memory_given_out(self.program, path, node.func)
        if memory:
            return self._made(path, rung, node, depth, memory)
        meant = self.program.meant(path, node.func)
        if meant is None or not isinstance(meant[1], ast.FunctionDef):
            return None
        where, function = meant
        returns = [n for n in of_kinds(function, ast.Return) if self.program.rungs[where].function(n) is function]
        return self._agreed([self.of(where, r.value, depth + 3) if r.value is not None else None for r in returns])

    def _alike(self, path: str, rung: Rung, node: ast.Call, depth: int) -> Tensor:
        """A tile of the shape of the first argument that is a tensor."""
        given = [self.of(path, value, depth + 1) for value in (*node.args, *(k.value for k in node.keywords))]
        tensors = [value for value in given if isinstance(value, Tensor)]
        dtype = next((k.value for k in node.keywords if k.arg == "dtype"), None)
        types = {(each.dtype, each.dtype_text) for each in tensors}
        type_ = self._data_type(path, rung, dtype, depth) if dtype is not None else ("", "")
        if dtype is None and len(types) == 1:
            type_ = types.pop()
        first = tensors[0] if tensors else UNKNOWN
        return Tensor(first.rank, "sbuf", *type_, first.shape if first.whole else None, whole=True)

    def _copies_items(self, path: str, node: ast.Call) -> bool:
        """Is it ``tuple(items)`` or ``list(items)`` of Python?"""
        if not isinstance(node.func, ast.Name) or node.func.id not in ("tuple", "list"):
            return False
        is_own = self.program.meant(path, node.func) or binder(self.program.rungs[path], node.func)
        return not is_own and len(node.args) == 1 and not node.keywords

    def _made(self, path: str, rung: Rung, node: ast.Call, depth: int, memory: str = "sbuf") -> Tensor:
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        order = ("shape", "fill_value", "dtype") if rung.qualified(node.func).endswith("full") else ("shape", "dtype")
        given |= dict(zip((*order, "buffer"), node.args, strict=False))
        shape = self._sizes(path, rung, given.get("shape"), depth)
        dtype = given.get("dtype")
        dtype_name, dtype_text = self._data_type(path, rung, dtype, depth) if dtype is not None else ("", "")
        buffer = buffer_name(rung, given["buffer"]) if "buffer" in given else memory
        return Tensor(
            len(shape) if shape is not None else None, buffer, dtype_name, dtype_text, shape, ((path, node),), True
        )

    def _sizes(self, path: str, rung: Rung, shape: ast.expr | None, depth: int) -> tuple[str, ...] | None:
        """The texts of the sizes in a shape."""
        if isinstance(shape, (ast.Tuple, ast.List)):
            return _literal_sizes(rung, shape)
        if is_shape(shape):
            base = self.of(path, shape.value, depth + 1)
            text = rung.segment(shape)
            rank = base.rank if isinstance(base, Tensor) else None
            return tuple(f"{text}[{d}]" for d in range(rank)) if rank is not None else None
        if isinstance(shape, ast.Name):
            function = rung.function(shape)
            values = bindings(rung, function).get(shape.id, []) if function is not None else []
            own = function is not None and shape.id not in parameters(function)
            if own and len(values) == 1 and isinstance(values[0], (ast.Tuple, ast.List)):
                return self._sizes(path, rung, values[0], depth)
        return None

    def _data_type(self, path: str, rung: Rung, node: ast.expr, depth: int) -> tuple[str, str]:
        name = rung.qualified(node)
        if name.startswith(LANGUAGE):
            return name[len(LANGUAGE) :], rung.segment(node)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value, rung.segment(node)
        if isinstance(node, ast.Attribute) and node.attr == "dtype":
            base = self.of(path, node.value, depth + 1)
            return (base.dtype if isinstance(base, Tensor) else ""), rung.segment(node)
        return "", rung.segment(node)

    def _reshaped(self, path: str, rung: Rung, base: Tensor, node: ast.Call, depth: int) -> Tensor:
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        shape = given.get("shape") or given.get("new_shape") or (node.args[0] if node.args else None)
        sizes = self._sizes(path, rung, shape, depth)
        return replace(base, rank=len(sizes) if sizes is not None else None, shape=sizes)

    def _view(self, rung: Rung, base: Tensor, kind: str, node: ast.Call) -> Tensor:
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        if kind == "view":
            dtype = given.get("dtype") or (node.args[0] if node.args else None)
            name = rung.qualified(dtype).removeprefix(LANGUAGE) if dtype is not None else ""
            shape = given.get("shape") or (node.args[1] if len(node.args) > 1 else None)
            rank = base.rank
            if shape is not None:
                rank = len(shape.elts) if isinstance(shape, (ast.Tuple, ast.List)) else None
            return replace(base, dtype=name, dtype_text=rung.segment(dtype) if dtype else "", rank=rank, shape=None)
        pattern = given.get("pattern") or (node.args[0] if node.args else None)
        dtype = given.get("dtype")
        rank = len(pattern.elts) if isinstance(pattern, (ast.List, ast.Tuple)) else None
        name = base.dtype if dtype is None else rung.qualified(dtype).removeprefix(LANGUAGE)
        return replace(base, rank=rank, dtype=name, shape=None, whole=False)

    def _subscript(self, path: str, rung: Rung, base: Tensor, index: ast.expr) -> Tensor:
        """A part of a tensor. An index that may be an integer or a slice leaves the rank open."""
        part = replace(base, rank=None, shape=None, whole=False)
        parts = list(index.elts) if isinstance(index, ast.Tuple) else [index]
        ellipses = [d for d, item in enumerate(parts) if isinstance(item, ast.Constant) and item.value is ...]
        if base.rank is None or len(ellipses) > 1:
            return part
        if ellipses:
            at = ellipses[0]
            parts[at : at + 1] = [ast.Slice()] * (base.rank - len(parts) + 1)
        dropped = 0
        for d, item in enumerate(parts):
            kind = self.index_kind(path, rung, item)
            if not kind:
                return part
            kept = d == 0 and self.keeps_partition and not base.is_in_hbm
            if kind == "integer" and kept and not base.is_on_chip:
                return part
            dropped += kind == "integer" and not kept
        return replace(part, rank=base.rank - dropped)

    def index_kind(self, path: str, rung: Rung, item: ast.expr, asked: frozenset[str] = frozenset()) -> str:
        """``integer`` or ``slice``; empty for an index that is not known.

        ``asked`` are the names that lead here, of which names that are bound to each other would ask for ever.
        """
        if isinstance(item, ast.Slice):
            return "slice"
        if isinstance(item, ast.Call):
            name = rung.qualified(item.func)
            plain = item.func.id if isinstance(item.func, ast.Name) else ""
            return "slice" if name == f"{LANGUAGE}ds" or plain == "slice" else "integer" if plain in _INTEGERS else ""
        if isinstance(item, ast.Constant):
            return "integer" if isinstance(item.value, int) else ""
        if isinstance(item, (ast.BinOp, ast.UnaryOp)):
            return "integer"
        if isinstance(item, ast.Name):
            return "" if item.id in asked else self._name_kind(path, rung, item, asked | {item.id})
        return ""

    def _name_kind(self, path: str, rung: Rung, name: ast.Name, asked: frozenset[str]) -> str:
        function = rung.function(name)
        if function is None or name.id in parameters(function):
            return ""
        kinds = set()
        for value in bindings(rung, function).get(name.id, []):
            kinds.add("" if value is None else self.index_kind(path, rung, value, asked))
        loops = [n for n in of_kinds(function, ast.For) if isinstance(n.target, ast.Name)]
        counted = [n for n in loops if n.target.id == name.id and _is_range(rung, n.iter)]  # type: ignore[attr-defined]  # loops over a name
        if counted and kinds <= {"", "integer"} and len(bindings(rung, function).get(name.id, [])) == len(counted):
            return "integer"
        return kinds.pop() if len(kinds) == 1 else ""


def _is_empty(value: Value) -> bool:
    """Is it a list without items, or one of such lists?"""
    while isinstance(value, Items):
        value = value.each
    return value is not None and value.calls == (_EMPTY,)


_EMPTY: tuple[str, ast.Call] = ("", ast.Call(ast.Name("list", ast.Load()), [], []))
"""Stands for the declaration of what an empty list holds."""
_INTEGERS = frozenset({"len", "min", "max", "int"})


def _literal_sizes(rung: Rung, shape: ast.expr | None) -> tuple[str, ...] | None:
    """The texts of the sizes in a tuple or list."""
    if not isinstance(shape, (ast.Tuple, ast.List)) or any(isinstance(item, ast.Starred) for item in shape.elts):
        return None
    return tuple(rung.segment(item) for item in shape.elts)


def buffer_name(rung: Rung, node: ast.expr) -> str:
    """``psum`` for ``nl.psum`` and for ``"psum"``, also of a condition that chooses; empty for what is not known."""
    if isinstance(node, ast.IfExp):
        arms = {buffer_name(rung, node.body), buffer_name(rung, node.orelse)}
        return arms.pop() if len(arms) == 1 else "hbm" if all(arm.endswith("hbm") for arm in arms) else ""
    if isinstance(node, ast.Constant):
        return node.value if node.value in BUFFERS else "sbuf" if node.value is None else ""
    name = rung.qualified(node).removeprefix(LANGUAGE)
    if not name and isinstance(node, ast.Name) and node.id in ("sbuf", "psum", "hbm"):
        return node.id if rung.names[node].of(node.id) == {"?"} else ""
    return name if name in BUFFERS else ""


def _is_range(rung: Rung, node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    plain = node.func.id if isinstance(node.func, ast.Name) else ""
    return plain == "range" or rung.qualified(node.func).removeprefix(LANGUAGE) in _RANGES


_RANGES = frozenset({"affine_range", "static_range", "sequential_range", "range"})


def _is_view_of(value: ast.expr, name: str) -> bool:
    """Is an expression ``name.reshape(...)``, or views of such a view?"""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute) or value.func.attr not in _VIEWS:
        return False
    base = value.func.value
    return base.id == name if isinstance(base, ast.Name) else _is_view_of(base, name)


def _unpacked_rank(function: ast.AST, name: str) -> int | None:
    """The rank of a parameter whose shape the function unpacks as one of its own statements, whatever happens."""
    for statement in function.body if isinstance(function, ast.FunctionDef) else ():
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        target, value = statement.targets[0], statement.value
        if not isinstance(value, ast.Attribute) or value.attr != "shape" or not isinstance(value.value, ast.Name):
            continue
        plain = isinstance(target, (ast.Tuple, ast.List)) and not any(isinstance(e, ast.Starred) for e in target.elts)
        if value.value.id == name and plain:
            return len(target.elts)  # type: ignore[attr-defined]  # a tuple or list
    return None
