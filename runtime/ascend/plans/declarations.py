"""The buffers and pools of a kernel, with their sizes; what nothing tells is asked for, not guessed."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import replace

from ...spec.ascend import INFERRED_CALLS, ITEMSIZE, SPACE_OF_CALL, SPACE_OF_SCOPE, VIEWS
from .effects import scalar_reads
from .model import Buffer, Entry, Pool, Touch
from .values import UNKNOWN, NameOf, evaluate, unknown_names

ALLOCATIONS = (*SPACE_OF_CALL, *INFERRED_CALLS, "alloc_buffer", "allocate")
"""Calls that make a buffer, below ``tilelang.language``; the seed's ``pool.allocate`` is one, too."""
_IGNORED = ("alloc_var", "alloc_barrier", "alloc_local")
_MOST_ELEMENTS = 1 << 40


class Unreadable(Exception):
    """A kernel that this reader cannot follow: ``line``, what it met, and what to do."""

    def __init__(self, line: int, text: str, advice: str) -> None:
        super().__init__(text)
        self.line, self.text, self.advice = line, text, advice


class Declarations:
    """What a kernel declares. :class:`~.reading._Reader` adds its statements (:meth:`add` makes an entry)."""

    def __init__(self, names: Mapping[str, object], name_of: NameOf) -> None:
        self.names, self.name_of = dict(names), name_of
        self.buffers: dict[str, Buffer] = {}
        self.pools: dict[str, Pool] = {}
        self.entries: list[Entry] = []
        self.notes: list[tuple[int, str]] = []
        self.annotated = 0
        self.aliases: dict[str, str] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.sized = True
        self._auto: dict[str, ast.Call] = {}

    def add(self, node: ast.stmt | ast.expr, touches: list[Touch], **more: object) -> None:
        """One entry of the statement list."""
        raise NotImplementedError

    def worth(self, node: ast.expr) -> object:
        return evaluate(node, self.names, self.name_of)

    def shape_of(self, node: ast.expr) -> tuple[int, ...] | None:
        value = self.worth(node)
        items = (value,) if isinstance(value, int) else value
        if not isinstance(items, (tuple, list)) or not all(type(item) is int for item in items):
            return None
        return tuple(items)

    def argument(self, call: ast.Call, position: int, name: str) -> ast.expr | None:
        for keyword in call.keywords:
            if keyword.arg == name:
                return keyword.value
        return call.args[position] if len(call.args) > position else None

    def annotate(self, node: ast.Call) -> None:
        self.annotated = node.lineno
        mapping = node.args[0] if node.args else None
        if not isinstance(mapping, ast.Dict):
            raise Unreadable(node.lineno, "the addresses are not written as a dictionary", "write them in the call")
        for key, value in zip(mapping.keys, mapping.values, strict=True):
            base = self.aliased(key) if key is not None else None
            address = self.worth(value)
            if base is None or not isinstance(address, (int, float)):
                raise self.unknown(value, node.lineno, f"the address of '{ast.unparse(key) if key else '**'}'")
            self.buffers[base] = replace(self.buffers[base], address=int(address))

    def unknown(self, node: ast.expr, line: int, what: str) -> Unreadable:
        names = unknown_names(node, self.names, self.name_of)
        listed, has = ", ".join(f"'{name}'" for name in names), "has" if len(names) == 1 else "have"
        text = f"{what} is not known: {listed} {has} no value here" if names else f"{what} is not known"
        advice = " ".join(f"--set {name}=VALUE" for name in names) or "write a size that the source tells"
        return Unreadable(line, text, f"give the value: {advice}" if names else advice)

    # --- buffers -----------------------------------------------------------------------------------------------------

    def aliased(self, node: ast.expr) -> str | None:
        """The buffer that an expression is (all or a part of, or another view of); ``None`` for anything else."""
        while isinstance(node, ast.Subscript):
            node = node.value
        if isinstance(node, ast.Name):
            name = self.aliases.get(node.id, node.id)
            return name if name in self.buffers else None
        return self.viewed(node)

    def viewed(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Name):
            return self.aliased(node)
        if isinstance(node, ast.Call) and self.name_of(node.func) in VIEWS and node.args:
            return self.aliased(node.args[0])
        return None

    def reading(self, node: ast.expr, statement: ast.stmt) -> None:
        touches = scalar_reads(node, self.aliased)
        if touches:
            self.add(statement, touches)

    def refuse_buffers(self, node: ast.expr) -> None:
        """Buffers in a list, a tuple or a dictionary are not followed."""
        for part in ast.walk(node):
            if isinstance(part, ast.Call) and self.name_of(part.func) in ALLOCATIONS:
                text = f"a buffer of T.{self.name_of(part.func)} has no name of its own"
                raise Unreadable(part.lineno, text, "assign each buffer to a variable")

    def allocation(self, name: str, value: ast.expr) -> bool:
        """Does ``name = value`` declare a buffer or a pool? Then it is noted."""
        if not isinstance(value, ast.Call):
            return False
        called = self.name_of(value.func)
        if called == "memory_pool":
            self.pools[name] = self.pool(name, value)
            return True
        pool = self.pool_of(value)
        if called not in ALLOCATIONS and pool is None:
            return called in _IGNORED
        if pool is not None:
            self.buffer(name, value, pool.space, 0, 1, pool.name, "alloc_ub")
        elif called == "alloc_buffer" or called == "allocate":
            scope = self.worth(node) if (node := self.argument(value, 2, "scope")) else "global"
            if scope == "global":
                return True
            space = SPACE_OF_SCOPE.get(str(scope), "?")
            if space == "?":
                raise Unreadable(value.lineno, f"'{name}' is in scope '{scope}', which is no memory", "see ASC001")
            self.buffer(name, value, space, 0, 1, None, str(called))
        elif called != "alloc_global":
            self.buffer(name, value, SPACE_OF_CALL.get(str(called), "?"), 0, 1, None, str(called))
        return True

    def pool_of(self, node: ast.Call) -> Pool | None:
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr == "allocate" and isinstance(function.value, ast.Name):
            return self.pools.get(function.value.id)
        return None

    def pool(self, name: str, node: ast.Call) -> Pool:
        worths = []
        for position, key in enumerate(("max_size", "block_size")):
            given = self.argument(node, position, key)
            value = self.worth(given) if given is not None else UNKNOWN
            if type(value) is not int or value < 1:
                raise self.unknown(given or node, node.lineno, f"{key}= of pool '{name}'")
            worths.append(value)
        scope = self.worth(given) if (given := self.argument(node, 2, "scope")) is not None else "shared"
        space = SPACE_OF_SCOPE.get(str(scope), "GM")
        if space == "GM":
            raise Unreadable(node.lineno, f"pool '{name}' is in scope '{scope}', which has no addresses", "see ASC004")
        return Pool(name, space, worths[0], worths[1], node.lineno)

    def buffer(
        self, name: str, node: ast.Call, space: str, shape_at: int, dtype_at: int, pool: str | None, call: str
    ) -> None:
        shape_node, dtype_node = self.argument(node, shape_at, "shape"), self.argument(node, dtype_at, "dtype")
        if shape_node is None:
            shape_node = self.argument(node, shape_at, "extents")
        if name in self.aliases or (name in self.buffers and self.buffers[name].line != node.lineno):
            raise Unreadable(node.lineno, f"two buffers are called '{name}'", "give each buffer a name of its own")
        if shape_node is None or dtype_node is None:
            missing = "shape" if shape_node is None else "type"
            raise Unreadable(node.lineno, f"nothing tells the {missing} of '{name}'", "write it in the call")
        dtype = self.worth(dtype_node)
        if dtype is UNKNOWN and not self.sized:
            dtype = "uint8"
        if not isinstance(dtype, str) or dtype not in ITEMSIZE:
            raise self.unknown(dtype_node, node.lineno, f"the type of '{name}'")
        auto = isinstance(shape_node, ast.Constant) and shape_node.value == "auto"
        shape = () if auto else self.shape_of(shape_node)
        if shape is None and not self.sized:
            shape = ()
        if shape is None:
            raise self.unknown(shape_node, node.lineno, f"the size of '{name}'")
        align = self.alignment(name, node)
        if auto:
            self._auto[name] = node
        order = sum(1 for other in self.buffers.values() if other.line == node.lineno)
        size = _size(shape, dtype)
        self.buffers[name] = Buffer(
            name, space, shape, dtype, size, node.lineno, node.col_offset, call, align, None, pool, order
        )
        self.add(node, [], allocs=(name,))

    def alignment(self, name: str, node: ast.Call) -> int:
        """What the seed's ``alignment=`` asks for, 1 where it asks for nothing."""
        given = self.argument(node, 99, "alignment")
        align = self.worth(given) if given is not None else 1
        if type(align) is not int or align < 1:
            raise self.unknown(given or node, node.lineno, f"the alignment of '{name}'")
        return align

    def settle(self, node: ast.Call) -> None:
        """Give a buffer of shape ``"auto"`` the shape of the other side of its first copy."""
        for mine, other in ((0, 1), (1, 0)):
            if len(node.args) > 1 and isinstance(node.args[mine], ast.Name):
                name = self.aliased(node.args[mine])
                if name in self._auto and name is not None:
                    shape = self.extent_of(node.args[other])
                    if shape is None:
                        text = f"the shape of '{name}' is \"auto\", and that of what it is copied with is not known"
                        raise Unreadable(node.lineno, text, "write the shape in T.alloc_buffer")
                    del self._auto[name]
                    buffer = self.buffers[name]
                    self.buffers[name] = replace(buffer, shape=shape, nbytes=_size(shape, buffer.dtype))

    def extent_of(self, node: ast.expr) -> tuple[int, ...] | None:
        """The shape of a buffer, of a tensor, or of the part that constant slices name."""
        if isinstance(node, ast.Name):
            base = self.buffers.get(self.aliases.get(node.id, node.id))
            return base.shape if base is not None and base.shape else self.shapes.get(node.id)
        if not isinstance(node, ast.Subscript):
            return None
        whole = self.extent_of(node.value)
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if whole is None or not any(isinstance(index, ast.Slice) for index in indices):
            return None
        found = []
        for index, size in zip(indices, whole, strict=False):
            if isinstance(index, ast.Slice):
                low = self.worth(index.lower) if index.lower is not None else 0
                high = self.worth(index.upper) if index.upper is not None else size
                if type(low) is not int or type(high) is not int or index.step is not None:
                    return None
                found.append(high - low)
        return (*found, *whole[len(indices) :])


def _size(shape: tuple[int, ...], dtype: str) -> int:
    return min(math.prod(max(extent, 0) for extent in shape), _MOST_ELEMENTS) * ITEMSIZE[dtype]
