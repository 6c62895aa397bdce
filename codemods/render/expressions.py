"""A Python expression of a Beta 1 kernel, as Beta 2 text: everything is kept but what Beta 2 spells differently."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING

from nki_migrate.runtime.spec.beta2_language import LIBRARIES, MATH_FUNCTIONS
from nki_migrate.runtime.spec.dtypes import LIMITS

from ..analysis.formulas import is_formula
from ..analysis.members import member_text
from ..analysis.objects import changing_part
from ..expr import algebra
from ..expr.emission import Misplaced, New, Refuse
from ..expr.tables import activation_token, beta2_has, beta2_lacks, dtype_name, operator_token, refusal_note
from ..expr.values import Allocator, Api, DType, Gone, Grid, Hbm, Index, Mask, Numbers, OfNumpy, Python, Spelled, Tile
from ..syntax import codes
from ..syntax.codes import DATA_TYPES as DTYPES
from ..syntax.codes import LANGUAGE, UNSUPPORTED
from ..syntax.codes import LAUNCH_GRID as GRID
from ..syntax.format import tuple_text
from ..syntax.language_subset import FORBIDDEN_EXPRESSIONS, plainer
from ..syntax.names import BETA2, dotted
from ..syntax.node_index import children, of_kinds, walk
from ..syntax.nodes import is_shape
from . import vector_sizes
from .comparisons import comparison_text
from .number_keys import looked_up
from .numpy_numbers import as_pythons
from .python_subset import check_power, check_subscript, python_call
from .sequences import sequence_call
from .shape_attributes import shape_attribute, size_2d, size_of_vector
from .size_products import factors_of, whole_product
from .support import product_function
from .truths import instance_text, truth_text
from .type_names import dtype_text, itemsize, limit, named_dtype
from .typed_numbers import typed_number

if TYPE_CHECKING:
    from ..analysis.formulas import is_formula
from ..analysis.scope import Scope


def render(scope: Scope, node: ast.expr) -> str:
    """Beta 2 text of ``node``. Raises :class:`Refuse` where Beta 2 has no spelling for it."""
    replacements: list[tuple[ast.AST, str]] = []
    _collect(scope, node, replacements)
    return scope.source.segment(node, replacements)


def render_stable(scope: Scope, node: ast.expr) -> str:
    """Text of an expression that is written elsewhere, or several times: nothing in it may have changed by then.

    Names are watched (:func:`~.kill.kill`); parts of objects and containers, which can change, get a name where they
    stand; calls of anything but pure functions are refused.
    """
    for part in walk(node):
        if isinstance(part, ast.Call) and not is_pure(scope, part):
            raise Refuse(node, UNSUPPORTED, "an expression that is not a plain number", "give it a name first")
    return render_named(scope, node)


def render_named(scope: Scope, node: ast.expr, hint: str = "size") -> str:
    """Text of a number or type that outlives its statement: parts of objects and containers that can change get a name.

    So do calls of functions that may give another one, or do something, when they are called again. ``hint`` is the
    name of an element.
    """
    parts = _changing_parts(scope, node)
    cases = any(isinstance(part, ast.IfExp | ast.BoolOp) for part in walk(node))
    for part in parts:
        if cases:
            raise Refuse(node, UNSUPPORTED, "a part of an object that only some cases read", "give it a name first")
        _give_name(scope, part, hint)
    return render(scope, node)


def _changing_parts(scope: Scope, node: ast.expr) -> list[ast.expr]:
    """The largest parts of an expression that read objects or containers which may change."""
    shape = isinstance(node, ast.Subscript) and is_shape(node.value)
    if isinstance(node, ast.Attribute | ast.Subscript | ast.Call) and not shape and changing_part(scope, node):
        return [node]
    package = (scope.qualified(node.func) or "").partition(".")[0] if isinstance(node, ast.Call) else ""
    if isinstance(node, ast.Call) and package not in _PACKAGES and not only_computes(scope, node):
        return [node]
    inner = (child for child in children(node) if isinstance(child, ast.expr))
    return [part for child in inner for part in _changing_parts(scope, child)]


def only_computes(scope: Scope, call: ast.Call) -> bool:
    """Does a call give a number that depends on its arguments alone: Python's own functions, or a formula?"""
    return is_pure(scope, call) or is_formula(scope, call)


def _give_name(scope: Scope, part: ast.expr, element: str) -> None:
    """``size = config.size`` in front of the statement that reads it."""
    if part in scope.output.given:
        return
    text = render(scope, part)
    called = part.func if isinstance(part, ast.Call) else None
    hint = part.attr if isinstance(part, ast.Attribute) else element
    if isinstance(part, ast.Call) and isinstance(called, ast.Name | ast.Attribute) and not is_pure(scope, part):
        hint = f"{called.id if isinstance(called, ast.Name) else called.attr}_result"
    name = scope.fresh(hint)
    scope.output.lines.append(New(f"{name} = {text}"))  # whatever a mask says: Beta 1 read it, too
    scope.names.env[name] = Python()
    scope.names.assigned[name] += 1
    scope.output.given[part] = name


_PACKAGES = ("nl", "nisa", "ncc", "nki", "np", "math")
_PURE = {"min", "max", "len", "int", "float", "abs", "sum", "isinstance", "nl.par_dim", "np.dtype"}
_PURE |= {"math.ceil", "math.floor", "math.gcd"}


def is_pure(scope: Scope, call: ast.Call) -> bool:
    """Does a call only compute a number from its arguments?"""
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    qualified = scope.qualified(call.func) or ""
    return (name in _PURE and name not in scope.module.symbols.functions) or qualified in _PURE | set(_MATH) | {
        "nl.program_id",
        "nl.num_programs",
        "nl.sizeinbytes",
        "nl.arange",
    }


def _collect(scope: Scope, node: ast.AST, replacements: list[tuple[ast.AST, str]]) -> None:
    text = scope.module.plan.edits.expressions.get(node)
    if text is None and isinstance(node, ast.expr):
        text = _translated(scope, node)
    if text is not None:
        if text != scope.source.segment(node):
            replacements.append((node, text))
        return
    for child in children(node):
        if isinstance(child, ast.expr | ast.keyword | ast.comprehension | ast.slice):
            _collect(scope, child, replacements)


def _translated(scope: Scope, node: ast.expr) -> str | None:
    """The text of ``node`` when it is translated as a whole, ``None`` to go on with its parts."""
    if node in scope.output.given:
        return scope.output.given[node]
    if type(node) in FORBIDDEN_EXPRESSIONS:
        what = FORBIDDEN_EXPRESSIONS[type(node)]
        raise Refuse(node, LANGUAGE, f"Beta 2 kernels cannot contain {what}", plainer(node))
    if isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare):
        truth = truth_text(scope, node)
        if truth is not None:
            return f"({truth})"
        _check_operands(scope, node)
        check_power(node)
        return comparison_text(scope, node)
    if isinstance(node, ast.JoinedStr):
        return _format_string(scope, node)
    if isinstance(node, ast.Name | ast.Attribute):
        return _name(scope, node)
    if isinstance(node, ast.Call):
        return _call(scope, node)
    if isinstance(node, ast.Subscript):
        return _subscript(scope, node)
    return None


def _check_operands(scope: Scope, node: ast.BinOp | ast.UnaryOp | ast.Compare) -> None:
    """A tile in the middle of a Python expression is a computation that was not taken apart."""
    if isinstance(node, ast.Compare) and all(
        isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in node.ops
    ):
        return
    for part in children(node):
        base = part
        while isinstance(base, ast.Subscript):
            base = base.value
        if isinstance(base, ast.Name) and isinstance(scope.names.env.get(base.id), Tile):
            if isinstance(node, ast.Compare) and any(isinstance(c, ast.Constant) for c in node.comparators):
                continue
            raise Misplaced(
                node, UNSUPPORTED, "an operator on tiles inside an expression", "give it a statement of its own"
            )


def _format_string(scope: Scope, node: ast.JoinedStr) -> str | None:
    found: dict[ast.FormattedValue, str] = {}
    for value in node.values:
        if isinstance(value, ast.FormattedValue):
            if value.format_spec is not None:
                raise Refuse(
                    value, LANGUAGE, "Beta 2 has no format specifiers in f-strings", "drop what follows the colon"
                )
            found[value] = render(scope, value.value)
    if all(text == scope.source.segment(value.value) for value, text in found.items()):
        return scope.source.segment(node)
    return _respelled(node, found)


def _respelled(node: ast.JoinedStr, texts: Mapping[ast.FormattedValue, str]) -> str:
    """An f-string that prints other expressions. ``{x.shape=}`` prints the old text, and the value of the new one."""
    values: list[ast.expr] = []
    for value in node.values:
        if isinstance(value, ast.FormattedValue):
            values.append(ast.FormattedValue(ast.parse(texts[value], mode="eval").body, value.conversion))
        else:
            values.append(value)
    try:
        return ast.unparse(ast.JoinedStr(values))
    except ValueError:  # Python before 3.12 has no quotation mark for it
        raise Refuse(node, LANGUAGE, "an f-string prints what Beta 2 spells differently", "compute it before") from None


def _name(scope: Scope, node: ast.Name | ast.Attribute) -> str | None:
    if isinstance(node, ast.Attribute):
        special = _attribute(scope, node)
        if special is not None:
            return special
    qualified = scope.qualified(node)
    if qualified is None:
        if isinstance(node, ast.Name):
            _check_name(scope, node)
            value = scope.names.env.get(node.id)
            if isinstance(value, Spelled):
                return value.text
            if isinstance(value, DType) and value.text != node.id:
                scope.apply(DTYPES, node)
                return value.text
            return scope.source.segment(node)
        return None if dotted(node) is None else _owned(scope, node)
    return _qualified(scope, node, qualified)


def _owned(scope: Scope, node: ast.Attribute) -> str | None:
    """An attribute of something that the kernel owns: ``x.shape``, ``cfg.size``."""
    base = node.value
    value = scope.names.env.get(base.id) if isinstance(base, ast.Name) else None
    if isinstance(value, Tile) and value.blocks:
        if node.attr == "dtype" and value.dtype:
            return value.dtype
        if node.attr == "shape" and value.dims is not None:
            return tuple_text((*value.blocks, *value.dims))
        raise Refuse(
            node,
            codes.BLOCK_DIMENSIONS,
            f"'.{node.attr}' of a tensor with block dimensions, which becomes a list of tensors",
            "write the sizes that the declaration has",
        )
    if isinstance(value, Hbm) and node.attr == "dtype" and value.dtype != scope.source.segment(node):
        return value.dtype
    if isinstance(value, Hbm) and node.attr not in ("shape", "dtype", "ndim", "name"):
        raise Refuse(node, UNSUPPORTED, f"'.{node.attr}' of a tensor", "see nki-migrate explain NKI090")
    return None


def _check_name(scope: Scope, node: ast.Name) -> None:
    value = scope.names.env.get(node.id)
    if isinstance(value, Gone):
        vector_sizes.ask(scope, node.id)
        raise Refuse(node, UNSUPPORTED, f"'{node.id}' {value.why}", "give it a name of its own, and one definition")
    if isinstance(value, Index | Grid):
        raise Refuse(
            node,
            codes.INDEX_VECTORS,
            f"the index vector '{node.id}' is used outside a subscript",
            "Beta 2 has no index vectors",
        )
    if isinstance(value, OfNumpy):
        as_pythons(scope, node, value, DTYPES)
    if isinstance(value, Numbers):
        raise Refuse(node, DTYPES, f"the numpy array '{node.id}' as a whole", "use its elements, one by one")
    if isinstance(value, Mask):
        raise Refuse(node, codes.MASKS, f"the mask '{node.id}' is used as a value", "Beta 2 has no masks")
    if isinstance(value, Allocator):
        raise Refuse(
            node, codes.SBUF_MOD_ALLOC, f"the allocator '{node.id}' is used as a value", "pass the address instead"
        )


def _attribute(scope: Scope, node: ast.Attribute) -> str | None:
    if node.attr in scope.module.program.decorated_methods:
        return member_text(scope, node)
    if node.attr != "itemsize":
        return limit(scope, node) or shape_attribute(scope, node)
    base = node.value
    if isinstance(base, ast.Call) and scope.qualified(base.func) == "np.dtype" and len(base.args) == 1:
        scope.apply(DTYPES, node)
        return itemsize(scope, dtype_text(scope, base.args[0]))
    if isinstance(base, ast.Attribute) and base.attr == "dtype":
        scope.apply(DTYPES, node)
        return itemsize(scope, render(scope, base))
    value = scope.names.env.get(base.id) if isinstance(base, ast.Name) else None
    if isinstance(value, Tile | Hbm) and value.dtype is not None:
        scope.apply(DTYPES, node)
        return itemsize(scope, value.dtype)
    return None


def _qualified(scope: Scope, node: ast.Name | ast.Attribute, qualified: str) -> str | None:
    root, _, rest = qualified.partition(".")
    if root == "np" and rest in _CONSTANTS:
        scope.apply(DTYPES, node)
        return f"{_math(scope)}.{rest}"
    if root == "np":
        name = dtype_name(qualified)
        if name is None:
            raise Refuse(node, DTYPES, f"{qualified} inside a kernel", "Beta 2 kernels cannot use numpy")
        scope.apply(DTYPES, node)
        return f"{scope.nl}.{name}"
    if root in LIBRARIES and rest:
        what = f"{qualified} of Python's library: Beta 2 kernels have lists, dictionaries and plain loops"
        help = "use a list or a dictionary with strings for keys, and write the loop"
        raise Refuse(node, LANGUAGE, what, help, result=Python())
    if qualified == "nl.fp32.min":
        scope.apply(DTYPES, node)
        return repr(LIMITS["float32"]["min"])
    if root not in BETA2:
        return scope.source.segment(node)
    if not beta2_has(qualified):
        if activation_token(qualified) or operator_token(qualified):
            what, help = (
                f"{qualified} is only an operator of instructions in Beta 2",
                "write the instruction where it is called",
            )
            raise Refuse(node, UNSUPPORTED, what, help)
        what = "does not exist" if beta2_lacks(qualified) else "is not the same"
        raise Refuse(node, UNSUPPORTED, f"{qualified} {what} in Beta 2", refusal_note(qualified))
    return beta2_name(scope, node)


def beta2_name(scope: Scope, node: ast.expr) -> str:
    """A name that Beta 2 has too, as the rewritten module can write it: without local aliases and ``neuronxcc``."""
    qualified, chain = scope.qualified(node), dotted(node)
    root, _, rest = (qualified or "").partition(".")
    if qualified is None or chain is None or root not in BETA2:
        return scope.source.segment(node)
    if chain[0] == "neuronxcc":
        return f"{BETA2[root]}.{rest}"
    return scope.beta2(qualified) if isinstance(scope.names.env.get(chain[0]), Api) else scope.source.segment(node)


def _call(scope: Scope, node: ast.Call) -> str | None:
    qualified = scope.qualified(node.func)
    if node in scope.output.called:
        return scope.output.called[node][0]
    _check_blocks(scope, node, qualified)
    reduced = scope.evaluator.reduced_table(scope, node)
    if reduced is not None:
        return reduced
    named = named_dtype(scope, node)
    if named is not None:
        return named
    number = typed_number(scope, node, DTYPES)
    if number is not None:
        return number
    if qualified is None:
        own = instance_text(scope, node) or sequence_call(scope, node) or whole_product(scope, node)
        return own or scope.evaluator.nested_call(scope, node) or python_call(scope, node)
    return _package_call(scope, node, qualified)


def _package_call(scope: Scope, node: ast.Call, qualified: str) -> str | None:
    """A call of NKI, numpy or ``math`` that gives a number or a type; ``None`` where Beta 2 has it as it is.

    Raises :class:`Refuse` for what Beta 2 does not have, and has no other spelling for.
    """
    if qualified in _GRID and any(not _is_axis_zero(a) for a in [*node.args, *(k.value for k in node.keywords)]):
        message = f"{qualified} of an axis other than 0, and a launch grid of Beta 2 has one axis"
        if scope.outermost.name in scope.module.premises.reviewed:
            raise Refuse(node, GRID, message, "--unsafe makes it the index of a loop, or a parameter", "review")
        raise Refuse(node, GRID, message, "loop over the grid, and pass its sizes as an argument")
    if qualified in _MATH and len(node.args) == 1 and not node.keywords:
        scope.apply(DTYPES, node)
        return f"{_math(scope)}.{_MATH[qualified]}({render(scope, node.args[0])})"
    factors = factors_of(scope, qualified, node)
    if factors is not None:
        scope.apply(DTYPES, node)
        return f"{product_function(scope)}({render(scope, factors)})"
    if qualified.startswith("math.") and qualified[len("math.") :] not in MATH_FUNCTIONS:
        what = f"{qualified}(...) inside a kernel"
        raise Refuse(node, UNSUPPORTED, what, f"Beta 2's math has {', '.join(sorted(MATH_FUNCTIONS))}")
    if qualified == "nl.par_dim" and len(node.args) == 1:
        return render(scope, node.args[0])
    if qualified in ("nl.sizeinbytes", "np.dtype") and len(node.args) == 1:
        scope.apply(DTYPES, node)
        text = dtype_text(scope, node.args[0])
        return itemsize(scope, text) if qualified == "nl.sizeinbytes" else text
    root = qualified.partition(".")[0]
    if root in ("nl", "nisa", "ncc", "nccl") and qualified not in CALLABLE:
        raise Misplaced(
            node,
            UNSUPPORTED,
            f"{qualified}(...) in an expression that is not rewritten yet",
            refusal_note(qualified),
        )
    return None


def _check_blocks(scope: Scope, node: ast.Call, qualified: str | None) -> None:
    """Code that these files do not show would get a list (or another shape) for a tensor with block dimensions."""
    if isinstance(node.func, ast.Name) and (node.func.id in _READERS or node.func.id in scope.module.symbols.functions):
        return
    if (qualified or "").partition(".")[0] in ("nl", "nisa", "ncc", "nccl", "nki", "np"):
        return
    for argument in [*node.args, *(keyword.value for keyword in node.keywords)]:
        value = scope.names.env.get(argument.id) if isinstance(argument, ast.Name) else None
        if isinstance(value, Tile) and value.blocks and isinstance(argument, ast.Name):
            what = f"'{argument.id}' has block dimensions, and is passed to a function that these files do not show"
            raise Refuse(node, codes.BLOCK_DIMENSIONS, what, "rewrite the folder that has the function in the same run")


_READERS = {"len", "print", "isinstance", "type", "str", "repr", "id", "range", "enumerate", "zip", "list", "tuple"}

_MATH = {"np.ceil": "ceil", "np.floor": "floor", "np.sqrt": "sqrt", "np.log2": "log2", "np.log10": "log10"}
"""numpy functions of one number, and what Beta 2's ``math`` calls them."""

_CONSTANTS = {"inf", "nan", "pi", "e"}
"""Numbers that numpy and ``math`` call alike."""


def _math(scope: Scope) -> str:
    module = scope.module
    for item in module.symbols.imports.values():
        if item.path == "math" and item.name in scope.module.symbols.imports and item.name not in scope.names.assigned:
            return item.name
    return module.need_import("math", "math")


CALLABLE = frozenset(
    {
        "nl.affine_range",
        "nl.sequential_range",
        "nl.static_range",
        "nl.ds",
        "nl.program_id",
        "nl.num_programs",
        "nl.program_ndim",
        "nisa.get_nc_version",
    }
)
"""Calls that Beta 2 has with the same meaning."""


_GRID = {"nl.program_id", "nl.num_programs"}


def _is_axis_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in (0, None)


def _subscript(scope: Scope, node: ast.Subscript) -> str | None:
    if (element := looked_up(scope, node)) is not None:
        return element
    if scope.evaluator.is_element(scope, node):
        return f"{scope.source.segment(node.value)}[{render(scope, node.slice)}]"
    size = _size_of_blocks(scope, node) or size_2d(scope, node) or size_of_vector(scope, node)
    if size is not None:
        return size
    view = scope.evaluator.operand(scope, node)
    if view is None and any(isinstance(scope.names.env.get(n.id), Index | Grid) for n in _names(node.slice)):
        what = f"it is not known what '{ast.unparse(node.value)}' is, of which an index vector takes elements"
        raise Refuse(node, codes.INDEX_VECTORS, what, "declare it in this function, or call the function with a tensor")
    if view is None:
        check_subscript(node)
    return None if view is None else view.text(())


def _names(node: ast.AST) -> list[ast.Name]:
    return list(of_kinds(node, ast.Name))


def _size_of_blocks(scope: Scope, node: ast.Subscript) -> str | None:
    """``t.shape[-1]`` of a tensor with block dimensions: one of the sizes that it is known by."""
    base = node.value
    if not (is_shape(base) and isinstance(base.value, ast.Name)):
        return None
    value = scope.names.env.get(base.value.id)
    position = algebra.constant(scope.source.segment(node.slice), {}) if not isinstance(node.slice, ast.Slice) else None
    if not isinstance(value, Tile) or not value.blocks or value.dims is None or position is None:
        return None
    sizes = (*value.blocks, *value.dims)
    return sizes[position] if -len(sizes) <= position < len(sizes) else None
