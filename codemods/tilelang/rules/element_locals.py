"""TLG007 element-locals: a local buffer of one element becomes ``T.alloc_var``.

Why: ``T.alloc_var`` is the scalar of a thread: the generated source has ``float v`` for ``float v[1]``, and the kernel
reads as what it is. It begins with zero, where a local buffer begins with anything.

Safe where each use is ``x[0]``, in a statement of its own or in arithmetic. Left alone: uses of the whole buffer, of
``x[0]`` by reference (``T.address_of``, atomics, macros), ``y = x[0]``, which would make ``y`` the variable itself,
other functions that use it.

Source: commit 1d9a2ea (#1495), which changes upstream's own examples in this way.
"""

from __future__ import annotations

import ast

from ...syntax.call_text import by_name
from ...syntax.drafts import Draft
from ..module import Module

CODE = "TLG007"
SINCE = "0.1.8"
GOLDENS = ("tilelang_element",)
VALID = (
    'def k():\n    x = T.alloc_local((1,), "int32")\n    T.atomic_add(x[0], 1)',
    'def k():\n    x = T.alloc_local((2,), "int32")\n    x[0] = 1',
    'def k():\n    x = T.alloc_local((1,), "int32")\n    y = x[0]',
)
INVALID = (
    (
        'def k():\n    x = T.alloc_local((1,), "int32")\n    x[0] = 1\n    a[i] = x[0] + T.max(x[0], 2)',
        'def k():\n    x = T.alloc_var("int32")\n    x = 1\n    a[i] = x + T.max(x, 2)',
    ),
)
_BY_VALUE = frozenset(
    "max min abs exp exp2 exp10 log log2 log10 sqrt rsqrt sin cos tan tanh sigmoid floor ceil round trunc pow clamp "
    "cast Cast if_then_else Select ceildiv cdiv floordiv floormod truncdiv truncmod isnan isinf isfinite infinity "
    "bitwise_and bitwise_or bitwise_xor bitwise_not shift_left shift_right likely "
    "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 bfloat16 bool fill".split()
)


def rewrite(module: Module) -> None:
    """Declare as variables the local buffers of one element of which nothing but that element is used."""
    for call, _ in module.calls("alloc_local"):
        given = by_name(call, ("shape", "dtype", "scope"))
        statement = module.parents[call]
        if given is None or set(given) != {"shape", "dtype"} or not _is_one(module, given["shape"]):
            continue
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        name = statement.targets[0]
        spelled = module.spelled(call.func, "alloc_var")
        if not isinstance(name, ast.Name) or spelled is None or not module.stands_alone(statement):
            continue
        uses = module.uses(name)
        if [use for use in uses if not isinstance(use.ctx, ast.Load)] != [name]:
            continue
        draft = Draft(CODE, call, [module.replace(call, f"{spelled}({module.segment(given['dtype'])})")])
        loads = [use for use in uses if use is not name]
        if loads and all(_is_element(module, use, name) for use in loads):
            draft.edits += [module.replace(module.parents[use], name.id) for use in loads]
            module.commit(draft)


def _is_one(module: Module, shape: ast.expr) -> bool:
    elements = shape.elts if isinstance(shape, (ast.Tuple, ast.List)) else [shape]
    return len(elements) == 1 and module.constant(elements[0]) == 1 and isinstance(elements[0], ast.Constant)


def _is_element(module: Module, use: ast.Name, name: ast.Name) -> bool:
    """Is a use ``x[0]``, by value or as the target of an assignment, in the function that declares ``x``?"""
    subscript = module.parents[use]
    if not isinstance(subscript, ast.Subscript) or subscript.value is not use:
        return False
    index = subscript.slice
    if isinstance(index, ast.Tuple) or module.constant(index) != 0 or module.function(use) is not module.function(name):
        return False
    parent = module.parents[subscript]
    if isinstance(subscript.ctx, ast.Store):
        return isinstance(parent, ast.AugAssign) or (isinstance(parent, ast.Assign) and len(parent.targets) == 1)
    if isinstance(subscript.ctx, ast.Del):
        return False
    return _is_by_value(module, subscript)


def _is_by_value(module: Module, node: ast.expr) -> bool:
    parent = module.parents[node]
    if isinstance(parent, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.If, ast.While, ast.IfExp)):
        return True
    if isinstance(parent, (ast.Subscript, ast.Tuple)):
        return isinstance(parent, ast.Subscript) or isinstance(module.parents[parent], ast.Subscript)
    if isinstance(parent, (ast.Assign, ast.AugAssign)):
        targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
        return all(isinstance(target, ast.Subscript) for target in targets)
    return isinstance(parent, ast.Call) and node in parent.args and module.member(parent.func) in _BY_VALUE
