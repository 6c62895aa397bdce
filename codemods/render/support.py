"""The functions that a rewritten module needs for what Beta 2 has no way to ask.

A file of a package imports them from one module of that package (``support_module``); any other file gets their text.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..expr.emission import Refuse
from ..model import AFTER
from ..syntax.codes import UNSUPPORTED
from ..syntax.node_index import of_kinds
from ..syntax.nodes import SIMPLE
from .support_texts import DEFINITIONS

if TYPE_CHECKING:
    from ..analysis.scope import Scope
    from ..project.program import Module

_LIMITS = {"min": "smallest_of", "max": "largest_of", "eps": "epsilon_of"}
_SEQUENCES = {"sum": "total", "any": "any_of", "all": "all_of", "sorted": "in_order"}
_KEYED = {"sorted": "in_order_of", "min": "least_of", "max": "greatest_of"}
"""The functions that stand for ``finfo``'s numbers, and for functions of Python."""


def itemsize_function(scope: Scope) -> str:
    """Name of the module's function for the size of a data type that is known only when the kernel is traced."""
    return _function(scope, "itemsize")


def promoted_function(scope: Scope) -> str:
    """Name of the module's function for Beta 1's promotion of two data types (``runtime/spec/dtypes.promote``)."""
    return _function(scope, "promoted_dtype")


def is_float_function(scope: Scope) -> str:
    """Name of the module's function that tells floating-point types from integers."""
    return _function(scope, "is_float")


def product_function(scope: Scope) -> str:
    """Name of the module's function for ``np.prod`` and ``math.prod``."""
    return _function(scope, "product")


def expanded_shape_function(scope: Scope) -> str:
    """Name of the module's function for the shape that ``expand_dims`` gives."""
    return _function(scope, "expanded_shape")


def tile_shape_function(scope: Scope) -> str:
    """The name of the function that gives the shape of a loaded tile, which the module gets where it has none."""
    return _function(scope, "tile_shape")


def reduced_shape_function(scope: Scope) -> str:
    """Name of the module's function for the shape of a reduction whose axes only a trace tells."""
    return _function(scope, "reduced_shape")


def reduced_axes_function(scope: Scope) -> str:
    """Name of the module's function for such axes, which it checks."""
    return _function(scope, "reduced_axes")


def combined_function(scope: Scope) -> str:
    """Name of the module's function for an operation on two tiles of which a trace tells how one is repeated."""
    return _function(scope, "combined")


def wider_shape_function(scope: Scope) -> str:
    """Name of the module's function for the shape of such an operation."""
    return _function(scope, "wider_shape")


def broadcast_rows_function(scope: Scope) -> str:
    """Name of the module's function that copies a tile of one partition to all partitions of another one."""
    return _function(scope, "broadcast_rows")


def on_rows_function(scope: Scope) -> str:
    """Name of the module's function for a tile whose one row, where it has no more, goes to all partitions."""
    return _function(scope, "on_rows")


def repeated_function(scope: Scope) -> str:
    """Name of the module's function that copies a tile of one row, one column or all to all of another one."""
    return _function(scope, "repeated")


def affine_constant_function(scope: Scope) -> str:
    """Name of the module's function that fills a tensor in HBM with ones where a comparison of indices holds."""
    return _function(scope, "affine_constant")


def dtype_named_function(scope: Scope) -> str:
    """Name of the module's function that gives the data type of a name."""
    return _function(scope, "dtype_named")


def floor_divided_function(scope: Scope) -> str:
    """Name of the module's function that divides a tile of integers by a number."""
    return _function(scope, "floor_divided")


def transposed_function(scope: Scope) -> str:
    """Name of the module's function that transposes a tile into another one of any type."""
    return _function(scope, "transposed")


def all_reduced_function(scope: Scope) -> str:
    """Name of the module's function that reduces a tile over the programs of a launch."""
    return _function(scope, "all_reduced")


def limit_function(scope: Scope, limit: str) -> str:
    """Name of the module's function for ``finfo(dtype).<limit>`` of a type that only a trace tells."""
    return _function(scope, _LIMITS[limit])


def sequence_function(scope: Scope, builtin: str) -> str:
    """Name of the module's function that stands for ``sum``, ``any``, ``all`` or ``sorted``."""
    return _function(scope, _SEQUENCES[builtin])


def keyed_function(scope: Scope, builtin: str) -> str:
    """Name of the module's function that stands for ``sorted``, ``min`` or ``max`` of elements with keys."""
    return _function(scope, _KEYED[builtin])


def _function(scope: Scope, definition: str) -> str:
    """How the module calls a function, which it gets, or imports, from now on."""
    _check_reached(scope)
    return scope.module.program.asked(_needed_function, scope.module, definition)


def _needed_function(module: Module, definition: str) -> str:
    known = module.names.support_names.get(definition) or _imported(module, definition)
    if known:
        return known
    found, names = DEFINITIONS[definition], {}
    if not module.names.support_home:
        names = {other: _needed_function(module, other) for other in found.needs}
        names |= {alias: module.alias(alias) for alias in sorted(found.aliases)}
    names[definition] = module.fresh(definition)
    module.program.draft.put(module.names.support_names, definition, names[definition])
    module.program.draft.put(module.names.support, names[definition], found.text(names=names))
    return names[definition]


def _check_reached(scope: Scope) -> None:
    """Raises :class:`Refuse` for a statement that reads what one that stops the kernel in front of it has bound.

    Who rewrites that one knows what it binds, and needs no function that asks.
    """
    statement = scope.place.statement
    if not isinstance(statement, SIMPLE) or not scope.module.stops_where_left:
        return
    for name in of_kinds(statement, ast.Name):
        if any(scope.names.lost.get(name.id) is block for block in scope.place.blocks):
            help = "rewrite it with that statement, which tells its type and shape"
            raise Refuse(statement, UNSUPPORTED, f"'{name.id}' {AFTER}", help)


def _imported(module: Module, definition: str) -> str:
    """How a file calls a function that it imports from the module of its package already; empty where it does not."""
    for statement in module.source.tree.body if module.names.support_home else ():
        if not isinstance(statement, ast.ImportFrom):
            continue
        if "." * statement.level + (statement.module or "") == module.names.support_home:
            names = {alias.name: alias.asname or alias.name for alias in statement.names}
            if definition in names and names[definition] not in module.symbols.rebound:
                return names[definition]
    return ""
