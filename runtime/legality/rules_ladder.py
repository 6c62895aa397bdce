"""What each version from 0.3 on refuses and the one before takes, where the source tells it.

Source: the migration guides and the API pages of the SDK documentation at v2.29.0 to v2.32.0; the rows of
:data:`~..spec.changes.CHANGES`. They give rules, not texts: the messages are ours.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..spec import beta2
from ..spec.versions import FUNCTION_LOOPS, LATER, V04, V05, Span
from .declarations import declaration
from .model import RuleDoc, Violation, kernel
from .names import Function
from .reach import is_kernel_decorator
from .rules_calls import argument_problems, expands
from .rules_operands import arguments
from .rules_statements import is_dynamic
from .walk import Context, document, on, report

_TILE = "tile = nl.ndarray((128, 512), nl.float32, buffer=nl.sbuf)\n"
_INTS = "ints = nl.ndarray((128, 512), nl.int32, buffer=nl.sbuf)\n"
_CUBE = "cube = nl.ndarray((128, 4, 64), nl.float32, buffer=nl.sbuf)\n"
_ISA = "nki.isa."

PLATFORM = document(
    RuleDoc(
        "NKL113",
        "platform-target",
        "nki.jit takes no platform_target",
        "From 0.3 on the environment variable NEURON_PLATFORM_TARGET_OVERRIDE says it.",
        "Delete the argument, and set the variable where the program runs.",
        bad='@nki.jit(platform_target="trn2")\ndef kernel(x):\n    return x\n',
        good="@nki.jit\ndef kernel(x):\n    return x\n",
        span=LATER,
    )
)
LIST_ARGUMENT = document(
    RuleDoc(
        "NKL114",
        "list-argument",
        "a kernel takes no list: '{}'",
        "Compiled kernels are kept by their arguments, and lists have no hash.",
        "Write a tuple.",
        bad="@nki.jit\ndef kernel(x, stride=[1, 1]):\n    return x\n",
        good="@nki.jit\ndef kernel(x, stride=(1, 1)):\n    return x\n",
        span=LATER,
    )
)
MEMSET = document(
    RuleDoc(
        "NKL115",
        "memset-value",
        "memset of {} takes {}",
        "From 0.3 on the value has the type of the tensor. A packed type is filled with 0 only: the instruction knows "
        "nothing of the four numbers in one.",
        "Write an integer for a tensor of integers; load packed data from HBM.",
        bad=kernel(_INTS + "nisa.memset(dst=ints, value=2.0)"),
        good=kernel(_INTS + "nisa.memset(dst=ints, value=2)"),
        span=LATER,
    )
)
HARDWARE_DGE = document(
    RuleDoc(
        "NKL116",
        "hardware-dge-types",
        "dma_copy with dge_mode.hwdge does not convert {} to {}",
        "The hardware that makes the descriptors moves bytes.",
        "Use dge_mode.swdge or none to convert, .view() to read the bits as another type.",
        bad=kernel(_TILE + _INTS + "nisa.dma_copy(dst=tile, src=ints, dge_mode=nisa.dge_mode.hwdge)"),
        good=kernel(_TILE + _INTS + "nisa.dma_copy(dst=tile, src=ints, dge_mode=nisa.dge_mode.swdge)"),
        span=LATER,
    )
)
REDUCED = document(
    RuleDoc(
        "NKL117",
        "reduced-axis",
        "axis {} of tensor_reduce is not the last dimension of a tensor of {}",
        "From 0.3 on axis counts the dimensions of the tensor; it was 1 for the last one.",
        "Write the number of the last dimension, or the numbers of the last ones.",
        bad=kernel(_CUBE + "nisa.tensor_reduce(dst=x, op=nl.add, data=cube, axis=1)"),
        good=kernel(_CUBE + "nisa.tensor_reduce(dst=x, op=nl.add, data=cube, axis=2)"),
        span=LATER,
    )
)
ALLOCATED = document(
    RuleDoc(
        "NKL118",
        "register-of-a-tensor",
        "register_alloc takes an integer, not the tensor '{}'",
        "From 0.3 on register_load reads tensors.",
        "Allocate the register with 0 and load the tensor into it.",
        bad=kernel("one = nl.ndarray((1, 1), nl.int32, buffer=nl.sbuf)\nr = nisa.register_alloc(one)"),
        good=kernel(
            "one = nl.ndarray((1, 1), nl.int32, buffer=nl.sbuf)\nr = nisa.register_alloc(0)\nnisa.register_load(r, one)"
        ),
        span=LATER,
    )
)
TRANSPOSED = document(
    RuleDoc(
        "NKL119",
        "transposed-rank",
        "dma_transpose: dst has {} dimensions, src has {}",
        "From 0.4 on dst has the transposed shape of src, dimensions of 1 included.",
        "Reshape dst, or give src and axes of its rank.",
        bad=kernel(_TILE + _CUBE + "nisa.dma_transpose(dst=tile, src=cube)"),
        good=kernel(
            _TILE + "other = nl.ndarray((512, 128), nl.float32, buffer=nl.sbuf)\n"
            "nisa.dma_transpose(dst=other, src=tile)"
        ),
        span=Span(V04),
    )
)
FROZEN = document(
    RuleDoc(
        "NKL120",
        "written-induction-variable",
        "'{}' counts the iterations of a loop on the device and cannot be written",
        "Before 0.4 the write had no effect.",
        "Take the write out; a loop that may end early is a while_loop (from 0.6 on), or a while with a register.",
        bad=kernel("for i in nl.dynamic_range(0, 4, 1):\n    nisa.register_load(i, y)"),
        good=kernel("r = nisa.register_alloc(0)\nfor i in nl.dynamic_range(0, 4, 1):\n    nisa.register_load(r, y)"),
        span=Span(V04),
    )
)
RSQRT = document(
    RuleDoc(
        "NKL121",
        "rsqrt-of-psum",
        "nl.rsqrt does not read PSUM: '{}'",
        "From 0.5 on it runs on the GpSimd Engine, which has no access to PSUM.",
        "Use nisa.activation(op=nl.rsqrt).",
        bad=kernel("acc = nl.ndarray((128, 512), nl.float32, buffer=nl.psum)\nz = nl.rsqrt(acc)"),
        good=kernel(
            "acc = nl.ndarray((128, 512), nl.float32, buffer=nl.psum)\nnisa.activation(dst=y, op=nl.rsqrt, data=acc)"
        ),
        span=Span(V05),
    )
)
METHOD = document(
    RuleDoc(
        "NKL122",
        "method-argument",
        "{} of a tensor: {}",
        "Methods of tensors changed: view has no shape from 0.3 on, reshape no new_shape from 0.5 on.",
        "Write the arguments that the version has; reshape after view for another shape.",
        bad=kernel(_TILE + "part = tile.view(nl.int32, (128, 512))"),
        good=kernel(_TILE + "part = tile.view(nl.int32)"),
        span=LATER,
    )
)
BODY = document(
    RuleDoc(
        "NKL123",
        "loop-body",
        "the body of nl.{} {}",
        "The body of fori_loop returns nothing, that of while_loop the register that is the next condition.",
        "Keep results in tensors that are declared outside of the body.",
        bad=kernel("def body(i):\n    return i\n\nnl.fori_loop(0, 4, body)"),
        good=kernel("def body(i):\n    nisa.memset(dst=y, value=0.0)\n\nnl.fori_loop(0, 4, body)"),
        span=FUNCTION_LOOPS,
    )
)


@on(ast.FunctionDef, span=LATER)
def kernel_arguments(node: ast.FunctionDef, context: Context) -> Iterator[Violation]:
    """How a kernel is made, and the lists that it is given: defaults, and calls in the same file."""
    if node is not context.function or not context.is_kernel:
        return
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and is_kernel_decorator(context.module, decorator):
            for keyword in decorator.keywords:
                if keyword.arg == "platform_target":
                    yield report(PLATFORM, keyword.value)
    order = [*node.args.posonlyargs, *node.args.args]
    for parameter, default in zip(reversed(order), reversed(node.args.defaults), strict=False):
        if isinstance(default, ast.List):
            yield report(LIST_ARGUMENT, default, parameter.arg)


def _given(node: ast.Call, name: str, context: Context) -> dict[str, ast.expr]:
    """What a call of ``name`` gives, by parameter; nothing for another call."""
    entry = beta2.symbol(name, context.target)
    if context.qualified(node.func) != name or entry is None or expands(node):
        return {}
    return dict(arguments(node, entry))


@on(ast.Call, evaluated=True, span=LATER)
def typed_operands(node: ast.Call, context: Context) -> Iterator[Violation]:
    filled = _given(node, f"{_ISA}memset", context)
    if "dst" in filled and isinstance(filled.get("value"), ast.Constant):
        dtype, value = declaration(_whole(filled["dst"]), context).dtype, filled["value"]
        number = value.value if isinstance(value, ast.Constant) else 0
        if "int" in dtype and isinstance(number, float):
            yield report(MEMSET, value, dtype, "an integer")
        elif dtype.endswith("_x4") and number != 0:
            yield report(MEMSET, value, dtype, "0 only")
    copied = _given(node, f"{_ISA}dma_copy", context)
    if "dge_mode" in copied and context.qualified(copied["dge_mode"]) == f"{_ISA}dge_mode.hwdge":
        types = [declaration(_whole(copied[side]), context).dtype for side in ("src", "dst") if side in copied]
        if len(types) == 2 and all(types) and types[0] != types[1]:
            yield report(HARDWARE_DGE, node, *types)


def _whole(node: ast.expr) -> ast.expr:
    """The tensor that a subscript is of."""
    return _whole(node.value) if isinstance(node, ast.Subscript) else node


@on(ast.Call, evaluated=True, span=LATER)
def ranks(node: ast.Call, context: Context) -> Iterator[Violation]:
    reduced = _given(node, f"{_ISA}tensor_reduce", context)
    axis, rank = reduced.get("axis"), declaration(reduced["data"], context).rank if "data" in reduced else 0
    if isinstance(axis, ast.Constant) and type(axis.value) is int and rank and axis.value not in (rank - 1, -1):
        yield report(REDUCED, axis, axis.value, f"{rank} dimensions")
    for name in ("t", "x"):
        value = _given(node, f"{_ISA}register_alloc", context).get(name)
        if value is not None and context.is_tensor(value):
            yield report(ALLOCATED, value, ast.unparse(value))


@on(ast.Call, evaluated=True, span=Span(V04))
def transposed_ranks(node: ast.Call, context: Context) -> Iterator[Violation]:
    given = _given(node, f"{_ISA}dma_transpose", context)
    found = [declaration(given[side], context).rank for side in ("dst", "src") if side in given]
    if len(found) == 2 and all(found) and found[0] != found[1]:
        yield report(TRANSPOSED, node, *found)


@on(ast.Call, evaluated=True, span=Span(V04))
def induction_variables(node: ast.Call, context: Context) -> Iterator[Violation]:
    """Writes to the variable of a ``dynamic_range`` around them."""
    for name in ("register_load", "register_move"):
        register = _given(node, f"{_ISA}{name}", context).get("dst")
        if isinstance(register, ast.Name) and register.id in _counters(context):
            yield report(FROZEN, register, register.id)


def _counters(context: Context) -> set[str]:
    """The variables of the loops on the device around the current node."""
    loops = [loop for loop in context.ancestors if isinstance(loop, ast.For) and is_dynamic(loop, context)]
    return {loop.target.id for loop in loops if isinstance(loop.target, ast.Name)}


@on(ast.Call, evaluated=True, span=Span(V05))
def rsqrt_of_psum(node: ast.Call, context: Context) -> Iterator[Violation]:
    source = _given(node, "nki.language.rsqrt", context).get("x")
    if source is not None and declaration(_whole(source), context).buffer == "psum":
        yield report(RSQRT, source, ast.unparse(_whole(source)))


@on(ast.Call, evaluated=True, span=LATER)
def methods(node: ast.Call, context: Context) -> Iterator[Violation]:
    """Arguments of a method of a tensor."""
    callee = node.func
    if not isinstance(callee, ast.Attribute) or not context.is_tensor(callee.value) or expands(node):
        return
    entry = beta2.tensor(context.target).get(callee.attr)
    if entry is not None and entry.is_callable:
        for problem in argument_problems(node, entry, len(node.args)):
            yield report(METHOD, node, callee.attr, problem.message)


@on(ast.FunctionDef, span=FUNCTION_LOOPS)
def bodies(node: Function, context: Context) -> Iterator[Violation]:
    """What the functions that loops on the device call give back."""
    outer = [above for above in context.ancestors if isinstance(above, ast.FunctionDef) and above is not node]
    if node is not context.function or not outer:
        return
    loops = _loops_of(node, outer[-1], context)
    returned = [n for n in context.module.own_nodes(node) if isinstance(n, ast.Return)]
    for item in returned:
        if "fori_loop" in loops and item.value is not None:
            yield report(BODY, item, "fori_loop", "returns a value")
    if "while_loop" in loops and not any(item.value is not None for item in returned):
        yield report(BODY, node, "while_loop", "returns no condition")


def _loops_of(node: Function, outer: Function, context: Context) -> set[str]:
    calls = [n for n in context.module.own_nodes(outer) if isinstance(n, ast.Call)]
    names = {context.qualified(call.func): call for call in calls}
    return {
        str(name).rpartition(".")[2]
        for name, call in names.items()
        for value in [*call.args, *(keyword.value for keyword in call.keywords)]
        if str(name).endswith(("fori_loop", "while_loop")) and isinstance(value, ast.Name) and value.id == node.name
    }
