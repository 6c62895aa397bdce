"""Result types of Beta 1 operations, on source text.

Source: NKI 2.26.1, "NKI type promotion": (float, int) gives the float, (float32, any float) float32; a Python float
counts as float32, a Python int as int32, a bool as uint8.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from nki_migrate.runtime.spec.dtypes import ITEMSIZE, promote, promote_bits

from ..analysis.classes import class_of
from ..analysis.own_functions import own_function
from ..analysis.scope import Scope
from ..expr import algebra
from ..expr.algebra import choice, parse
from ..expr.emission import Condition
from ..expr.tables import dtype_name
from ..expr.values import Hbm, Numbers, OfNumpy, Python
from ..syntax.node_index import of_kinds, walk
from ..syntax.nodes import default_values, is_shape, named_parameters
from ..syntax.number_lists import elements_bound, kinds_in, listed_kinds
from .support import is_float_function, promoted_function
from .type_names import dtype_text, limited_type

WEAK_INT = "weak int"
WEAK_FLOAT = "weak float"
_WEAK: dict[frozenset[type], str] = {frozenset({int}): WEAK_INT, frozenset({float}): WEAK_FLOAT}
_RANGES = {"nl.arange", "nl.affine_range", "nl.sequential_range", "nl.static_range"}
_COUNTS = {"nl.program_id", "nl.num_programs", "nl.program_ndim"}
_NOT_ALWAYS = ast.IfExp | ast.BoolOp | ast.Lambda | ast.comprehension
"""Expressions of which Python may leave a part alone."""
_KIND_KEEPING = ast.Add | ast.Sub | ast.Mult | ast.FloorDiv | ast.Mod
"""Arithmetic whose result is a float where one side is one, and else an integer; a power of integers may be a float."""
_USUAL = ("float32", "bfloat16", "float16", "int32")
"""The types of tensors that kernels compute with."""
_INTEGERS = frozenset({"int32", "int16", "int8", "uint16", "uint8"})
_CONVERSIONS = {"float": WEAK_FLOAT, "int": WEAK_INT, "len": WEAK_INT}


def scalar_type(scope: Scope, node: ast.expr, name: str = "") -> str | None:
    """How a Python operand takes part in promotion: weak, or the text of a type; ``None`` for no Python value.

    ``name`` is what the source calls it, where the node is its definition.
    """
    if isinstance(node, ast.UnaryOp):
        return _of_sign(scope, node, name)
    if isinstance(node, ast.Constant) and type(node.value) in (bool, int, float):
        return {bool: f"{scope.nl}.uint8", int: WEAK_INT, float: WEAK_FLOAT}[type(node.value)]
    if isinstance(node, ast.BinOp):
        return _of_arithmetic(scope, node, name)
    counted = node.value if isinstance(node, ast.Subscript) else node
    if isinstance(counted, ast.Name) and counted.id in scope.module.premises.counts.get(scope.outermost.name, ()):
        return WEAK_INT
    if isinstance(node, ast.Call) and (type_ := _of_call(scope, node)) is not None:
        return type_
    if isinstance(node, ast.Name) and (type_ := _of_name(scope, node.id)) is not None:
        return type_
    if isinstance(node, ast.Subscript):
        return WEAK_INT if _is_whole_number(scope, node) else _of_list(scope, node, name)
    return _of_attribute(scope, node)


def _of_sign(scope: Scope, node: ast.UnaryOp, name: str) -> str | None:
    """How ``-x`` or ``not x`` takes part in promotion: Python's sign of a truth is an integer."""
    truth, operand = f"{scope.nl}.uint8", scalar_type(scope, node.operand, name)
    if isinstance(node.op, ast.Not):
        return truth
    return WEAK_INT if operand == truth else operand


def _of_attribute(scope: Scope, node: ast.expr) -> str | None:
    """How a field of an object, a limit of a type, or a limit of the hardware takes part in promotion."""
    if isinstance(node, ast.Attribute) and _field_type(scope, node) is not None:
        return _traced(scope, scope.source.segment(node))
    limited = limited_type(scope, node)
    if limited is not None:
        return dtype_text(scope, limited)  # a number of that type, no weak one
    name = scope.qualified(node) or ""
    return WEAK_FLOAT if name == "nl.fp32.min" else WEAK_INT if name.startswith("nl.tile_size.") else None


def _field_type(scope: Scope, node: ast.Attribute) -> str | None:
    """``float`` or ``int``, as the class of an object annotates a field; ``None`` for any other field."""
    owner = class_of(scope, node.value)
    field = owner.fields.get(node.attr) if owner is not None else None
    kind = ast.unparse(field.annotation) if field is not None else ""
    return kind if kind in ("float", "int") else None


def _of_arithmetic(scope: Scope, node: ast.BinOp, name: str) -> str | None:
    """How the result of arithmetic on Python operands takes part in promotion."""
    if isinstance(node.op, ast.Div):
        return WEAK_FLOAT
    sides = {scalar_type(scope, side, name) for side in (node.left, node.right)}
    if WEAK_FLOAT in sides or sides == {WEAK_INT}:
        return WEAK_FLOAT if WEAK_FLOAT in sides else WEAK_INT
    if None in sides:
        return None
    kept = sides - {WEAK_INT}
    if len(kept) == 1 and isinstance(node.op, _KIND_KEEPING) and _is_of_fixed_number(scope, *kept):
        return kept.pop()
    return _traced(scope, name or scope.source.segment(node))


def _is_of_fixed_number(scope: Scope, type_: str | None) -> bool:
    """Is a type that of a number whose names the function binds once, so that it means the same wherever it stands?"""
    number = _number_in(scope, type_ or "")
    return number != "" and all(scope.names.assigned[name] == 1 for name in algebra.names(number))


def _is_whole_number(scope: Scope, node: ast.Subscript) -> bool:
    """Is a subscript an element of a shape, or of an array of numbers?"""
    if is_shape(node.value):
        return not isinstance(node.slice, ast.Slice)
    return isinstance(node.value, ast.Name) and isinstance(scope.names.env.get(node.value.id), Numbers)


def _of_list(scope: Scope, node: ast.Subscript, name: str) -> str | None:
    """How a number of a list that is written out takes part in promotion; ``None`` for what is no such number."""
    kinds = _listed_kinds(scope, node)
    return _traced(scope, name or scope.source.segment(node)) if len(kinds) > 1 else _WEAK.get(kinds)


def _of_element(scope: Scope, name: str) -> str | None:
    """How a name takes part in promotion that stands for nothing but numbers of lists, all of one type."""
    bound = elements_bound(scope.function, name)
    types = {_listed_kinds(scope, each) for each in bound} if len(bound) == scope.names.assigned[name] else set()
    return _WEAK.get(types.pop()) if len(types) == 1 else None


def _listed_kinds(scope: Scope, node: ast.Subscript) -> frozenset[type]:
    """The types of the numbers that an element of a list which is written out may be; none for any other element."""
    root, taken = _list_of(node)
    if isinstance(root, ast.Name):
        place = scope.function if scope.names.assigned[root.id] else scope.module.source.tree
        kinds, depth = listed_kinds(place, root.id)
    else:
        kinds, depth = kinds_in(root)
    return kinds if depth == taken else frozenset()


def _list_of(node: ast.expr) -> tuple[ast.expr, int]:
    """What the subscripts of an expression begin with, and how many they are; 0 if one of them is a slice."""
    if not isinstance(node, ast.Subscript):
        return node, 0
    root, taken = _list_of(node.value)
    return root, 0 if isinstance(node.slice, ast.Slice | ast.Tuple) else taken + 1


def _of_name(scope: Scope, name: str) -> str | None:
    if name in scope.sizes.definitions:
        return scalar_type(scope, parse(scope.sizes.definitions[name]), name)
    literals = _assigned_literals(scope, name) or _of_element(scope, name)
    if literals is not None:
        return literals
    value = scope.names.env.get(name)
    if isinstance(value, OfNumpy) and value.dtype == "float32":
        return WEAK_FLOAT  # a float of Python's counts as it
    if not isinstance(value, Python):
        return None
    return WEAK_INT if value.positive or _is_loop_index(scope, name) or _counts(scope, name) else _traced(scope, name)


def _is_loop_index(scope: Scope, name: str) -> bool:
    """Does an enclosing loop over a range, and nothing else, bind a name? Then it is an integer."""
    statements = [loop.statement for loop in scope.place.loops if loop.variable == name]
    ranges = [s.iter for s in statements if isinstance(s, ast.For) and isinstance(s.iter, ast.Call)]
    counts = (scope.qualified(c.func) in _RANGES or own_function(scope, c.func) == "range" for c in ranges)
    return scope.names.assigned[name] == 1 and any(counts)


def _counts(scope: Scope, name: str) -> bool:
    """Is a number a bound of a range, or of an index vector, whenever its function runs? Then it is an integer."""
    if scope.names.assigned[name] != 1:
        return False
    reached = list(takewhile(lambda s: not of_kinds(s, ast.Return), scope.function.body))
    assigned = [s for s in reached if isinstance(s, ast.Assign)]
    iterated = [s.iter for s in reached if isinstance(s, ast.For)]
    bounds = [bound for part in (*assigned, *iterated) for bound in _bounds(scope, part)]
    names = {name, *(other for s in assigned for other in _other_names(scope, s, name))}
    return any(isinstance(bound, ast.Name) and bound.id in names for bound in bounds)


def _bounds(scope: Scope, part: ast.AST) -> Iterator[ast.expr | None]:
    """Where the ranges and index vectors begin, end and step that Python makes whenever it comes to ``part``."""
    if any(isinstance(node, _NOT_ALWAYS) for node in walk(part)):
        return
    for call in of_kinds(part, ast.Call):
        if scope.qualified(call.func) in _RANGES:
            yield from call.args
    for grid in of_kinds(part, ast.Subscript):
        if scope.qualified(grid.value) == "nl.mgrid":
            yield from (dimension.upper for dimension in of_kinds(grid, ast.Slice))


def _other_names(scope: Scope, statement: ast.Assign, name: str) -> set[str]:
    """The names that a statement, and no other one, binds to what ``name`` is."""
    if not (isinstance(statement.value, ast.Name) and statement.value.id == name):
        return set()
    return {t.id for t in statement.targets if isinstance(t, ast.Name) and scope.names.assigned[t.id] == 1}


def _of_call(scope: Scope, node: ast.Call) -> str | None:
    name = scope.qualified(node.func) or ""
    if name in _COUNTS:
        return WEAK_INT
    if (typed := numpy_type(scope, node)) in ITEMSIZE:
        return f"{scope.nl}.{typed}"  # a number of that type, no weak one
    return _CONVERSIONS.get(node.func.id) if isinstance(node.func, ast.Name) else None


def numpy_type(scope: Scope, node: ast.Call) -> str | None:
    """``float32`` for ``np.float32(x)`` and ``np.dtype(np.float32).type(x)``, ``?`` where only a trace tells it."""
    qualified = scope.qualified(node.func) or ""
    if qualified.startswith("np."):
        return dtype_name(qualified)
    made = node.func.value if isinstance(node.func, ast.Attribute) and node.func.attr == "type" else None
    if not isinstance(made, ast.Call) or scope.qualified(made.func) != "np.dtype" or len(made.args) != 1:
        return None
    return scope.evaluator.type_name(scope, scope.evaluator.dtype_text(scope, made.args[0])) or "?"


def _traced(scope: Scope, text: str) -> str:
    """The type of a number that is known when the kernel is traced."""
    return f"({scope.nl}.float32 if isinstance({text}, float) else {scope.nl}.int32)"


def _assigned_literals(scope: Scope, name: str) -> str | None:
    """The one weak type of a name that its function assigns nothing but literals of that type."""
    values = [
        statement.value
        for statement in of_kinds(scope.function, ast.Assign)
        if any(isinstance(target, ast.Name) and target.id == name for target in statement.targets)
    ]
    if len(values) != scope.names.assigned[name] or not all(isinstance(value, ast.Constant) for value in values):
        return None
    types = {scalar_type(scope, value) for value in values}
    return types.pop() if len(types) == 1 else None


@dataclass(frozen=True)
class Promotion:
    """The type of an operation, ``None`` where it is not known, and the conditions on which it is that type."""

    dtype: str | None
    conditions: tuple[Condition, ...] = ()


def promoted(scope: Scope, a: str | None, b: str | None) -> str | None:
    """:func:`promotion` for who decides by the type: the function asserts its conditions."""
    return asserted_promotion(scope, a, b).dtype


def asserted_promotion(scope: Scope, a: str | None, b: str | None) -> Promotion:
    """:func:`promotion`, whose conditions the function asserts."""
    found = promotion(scope, a, b)
    scope.assert_all(found.conditions)
    return found


def is_of_type(scope: Scope, dtype: str | None, found: Promotion) -> bool:
    """Is a data type that of an operation, provably or by a condition of the operation's type?"""
    if dtype is None or found.dtype is None:
        return False
    equal = {f"{found.dtype} == {scope.resolved_dtype(dtype)}"} & {condition for condition, _ in found.conditions}
    return scope.same_dtype(dtype, found.dtype) or bool(equal)


def promotion(scope: Scope, a: str | None, b: str | None) -> Promotion:
    """The type of an operation on types ``a`` and ``b``, as text.

    Where the types are known only when the kernel is traced, the text calls a function that the module gets.
    """
    if a is None or b is None:
        return Promotion(None)
    if a == b or scope.same_dtype(a, b):
        return Promotion(a)
    floats = {side: asked for side in (a, b) if (asked := _float_in(scope, side))}
    conditions = tuple((f"isinstance({asked}, float)", "a float") for asked in floats.values())
    a, b = (WEAK_FLOAT if side in floats else side for side in (a, b))
    if WEAK_FLOAT in (a, b):
        return Promotion(f"{scope.nl}.float32", conditions)
    left, right = (f"{scope.nl}.int32" if side == WEAK_INT else side for side in (a, b))
    one, other = _name(scope, left), _name(scope, right)
    if "float32" in (one, other):
        return Promotion(left if one == "float32" else right)
    if one and other:
        return Promotion(f"{scope.nl}.{promote(one, other)}")
    found = (
        _beside_number(scope, left, right) or _beside_integer(scope, left, right) or _of_one_type(scope, left, right)
    )
    return found or Promotion(f"{promoted_function(scope)}({left}, {right})")


def _float_in(scope: Scope, text: str) -> str:
    """The number whose type ``text`` is, and which is to be a float: one whose default is a float, which is called
    ``epsilon``, or a field that is annotated as a float. Empty for any other type."""
    if field := _float_field(scope, text):
        return field
    parameters = {
        argument.arg for argument in named_parameters(scope.function) if scope.names.assigned[argument.arg] == 1
    }
    name = next((name for name in parameters if text == _traced(scope, name)), "")
    default = next((d for argument, d in default_values(scope.function).items() if argument.arg == name), None)
    is_float = isinstance(default, ast.Constant) and isinstance(default.value, float)
    return name if name and (is_float or (default is None and name in ("eps", "epsilon"))) else ""


def _float_field(scope: Scope, text: str) -> str:
    """The field that is annotated as a float and whose type ``text`` is; empty for any other type."""
    found = (n for n in of_kinds(scope.function, ast.Attribute) if _field_type(scope, n) == "float")
    texts = (scope.source.segment(node) for node in found)
    return next((field for field in texts if text == _traced(scope, field)), "")


def _beside_number(scope: Scope, a: str, b: str) -> Promotion | None:
    """The type of an operation on types of which one is that of a number: of Python, as a tensor, or a number of
    NumPy, would bring another type."""
    for number, other in ((b, a), (a, b)):
        asked = _number_in(scope, number)
        whole = promotion(scope, other, f"{scope.nl}.int32") if asked else Promotion(None)
        if whole.dtype is not None:
            dtype = choice(f"isinstance({asked}, float)", f"{scope.nl}.float32", whole.dtype)
            is_number = f"isinstance({asked}, float) or isinstance({asked}, int)", "a number"
            return Promotion(f"({dtype})", (*whole.conditions, is_number))
    return None


def _number_in(scope: Scope, type_: str) -> str:
    """The number whose type :func:`_traced` wrote; empty for any other type."""
    before, behind = _traced(scope, "?").split("?")
    return type_[len(before) : -len(behind)] if type_.startswith(before) and type_.endswith(behind) else ""


def _beside_integer(scope: Scope, a: str, b: str) -> Promotion | None:
    """The type of an operation on a tensor and integers, which is to be that of the tensor; ``None`` where no type is
    the attribute of a tensor or a parameter of the kernel, or the function asks for it."""
    for integer, dtype in ((_name(scope, a), b), (_name(scope, b), a)):
        node = parse(dtype)
        is_own = isinstance(node, ast.Attribute) and node.attr == "dtype" and not _asks(scope, ast.unparse(node.value))
        if integer in _INTEGERS and (is_own or _is_parameter(scope, dtype)):
            kept = [name for name in _USUAL if promote(name, integer) == name]
            return Promotion(dtype, ((_is_one_of(scope, dtype, kept), "a type that integers do not change"),))
    return None


def _is_one_of(scope: Scope, dtype: str, names: Sequence[str]) -> str:
    """The condition that a data type is one of those with these names."""
    listed = ", ".join(f"{scope.nl}.{name}" for name in names)
    return f"{dtype} in ({listed})" if len(names) > 1 else f"{dtype} == {listed}"


def _of_one_type(scope: Scope, a: str, b: str) -> Promotion | None:
    """The one type that two tensors whose types a launch tells are to have; ``None`` for any others."""
    sides = [scope.resolved_dtype(side) for side in (a, b)]
    if not all(_is_of_launch(scope, side) for side in sides):
        return None
    order = [f"{argument.arg}.dtype" for argument in named_parameters(scope.function)]
    first, second = sorted(sides, key=order.index)
    return Promotion(first, ((f"{first} == {second}", "operands of one type"),))


def assert_float(scope: Scope, dtype: str | None) -> None:
    """The kernel asserts that a type which only a trace tells is a floating-point one."""
    if dtype is None or type_name(scope, dtype) is not None:
        return
    match parse(dtype):
        case ast.IfExp(body=body, orelse=other) if type_name(scope, ast.unparse(body)) == "float32":
            return assert_float(scope, ast.unparse(other))
    first = scope.resolved_dtype(dtype)
    if _is_limited(scope, first) or _is_of_launch(scope, first) or _is_parameter(scope, first):
        scope.assert_that(_is_one_of(scope, first, ("float32", "bfloat16", "float16")), "floats")
    else:
        scope.assert_that(f"{is_float_function(scope)}({dtype})", "floats")


def _is_limited(scope: Scope, dtype: str) -> bool:
    """Does the statement assert that a data type is one of several?"""
    asserted = (parse(new.asserts[0]) for new in scope.output.lines if new.asserts is not None)
    return any(
        isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.In) and ast.unparse(test.left) == dtype
        for test in asserted
    )


def _is_of_launch(scope: Scope, text: str) -> bool:
    """Is a data type that of a kernel's parameter, which a launch tells, and which the kernel does not ask about?"""
    name = text.removesuffix(".dtype")
    if name == text or not scope.decorated or scope.outer is not None or scope.names.assigned[name] != 1:
        return False
    defaults = {argument.arg: default for argument, default in default_values(scope.function).items()}
    is_tensor = isinstance(scope.names.env.get(name), Hbm) and name not in defaults
    return is_tensor and name in {a.arg for a in named_parameters(scope.function)} and not _asks(scope, name)


def _is_parameter(scope: Scope, text: str) -> bool:
    """Is a data type a parameter of a kernel, which a launch gives, and which the kernel does not ask about?"""
    if not scope.decorated or scope.outer is not None or scope.names.assigned[text] != 1:
        return False
    defaults = {argument.arg: default for argument, default in default_values(scope.function).items()}
    is_given = text not in defaults or not (isinstance(d := defaults[text], ast.Constant) and d.value is None)
    compared = (part for n in of_kinds(scope.function, ast.Compare) for part in of_kinds(n, ast.Name))
    is_own = text in {a.arg for a in named_parameters(scope.function)} and text not in {n.id for n in compared}
    return is_own and is_given


def _asks(scope: Scope, name: str) -> bool:
    """Does the kernel compare the data type of a tensor with anything?"""
    types = {n for n in of_kinds(scope.function, ast.Attribute) if ast.unparse(n) == f"{name}.dtype"}
    compared = (part for n in of_kinds(scope.function, ast.Compare) for part in walk(n))
    return not types.isdisjoint(compared)


def promotion_of_bits(scope: Scope, a: str | None, b: str | None) -> Promotion:
    """:func:`promotion` for a bitwise operator on two tiles; none also where no document tells the type."""
    if a is None or b is None:
        return Promotion(None)
    one, other = _name(scope, a), _name(scope, b)
    if one is None or other is None or one == other:
        return promotion(scope, a, b)
    found = promote_bits(one, other)
    return Promotion(f"{scope.nl}.{found}" if found else None)


def promotion_of_bits_with_number(scope: Scope, tile: str | None, number: str | None) -> Promotion:
    """:func:`promotion_of_bits` for a tile and a number, which leaves a tile of ``uint32`` one."""
    found = promotion(scope, tile, number)
    name = type_name(scope, tile)
    if found.dtype is None or tile is None or number == WEAK_FLOAT or name not in (None, "uint32"):
        return found
    if name:
        return Promotion(tile)
    return replace(found, dtype=choice(f"str({tile}) == str({scope.nl}.uint32)", tile, found.dtype))


def type_name(scope: Scope, text: str | None) -> str | None:
    """The name of a data type where the source tells it: ``float32``."""
    return None if text is None else _name(scope, text)


def _name(scope: Scope, text: str) -> str | None:
    node = parse(scope.resolved_dtype(text))
    return node.attr if isinstance(node, ast.Attribute) and node.attr in ITEMSIZE else None


def is_integer(scope: Scope, text: str | None) -> bool:
    """Is a data type known to be an integer?"""
    name = type_name(scope, text)
    return name is not None and (name.startswith(("int", "uint")) or name == "bool_")
