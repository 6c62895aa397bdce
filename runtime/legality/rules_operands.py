"""Arguments of instructions: operators, axes, and numbers where a tensor must stand."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..spec import beta2, operators
from ..spec.versions import BETA2
from .model import RuleDoc, Violation, kernel
from .rules_calls import ISA, expands
from .walk import Context, document, on, report

OPERATOR_PARAMETERS = frozenset("op op0 op1 reduce_op comp_op0 comp_op1 cmp_op dst_rmw_op".split())
KINDS: dict[type, str] = {bool: "bool", int: "int", float: "float", str: "string", type(None): "none"}
"""What the front end calls the kind of a constant in its messages."""
_ENTRY_KINDS = {"buffer": "var", "dtype": "string", "module": "module"}
ACTIVATION_CALLS = frozenset(f"{ISA}{name}" for name in ("activation", "activation_reduce", "activate2"))

OPERATOR = document(
    RuleDoc(
        "NKL065",
        "operator",
        "Failed to resolve an argument '{}', expecting operator, got '{}'",
        "The arithmetic instructions take these operators of nki.language: invert bitwise_and bitwise_or "
        "bitwise_xor left_shift "
        "right_shift add subtract multiply maximum minimum equal not_equal greater greater_equal less less_equal "
        "logical_and "
        "logical_or logical_xor rsqrt abs power. divide and logical_not are documented, and refused.",
        "Write maximum for max, minimum for min; for a division, nisa.reciprocal and a multiplication.",
        bad=kernel("nisa.tensor_tensor(dst=x, data1=x, data2=y, op=nl.divide)"),
        good=kernel("nisa.reciprocal(dst=y, data=y)\nnisa.tensor_tensor(dst=x, data1=x, data2=y, op=nl.multiply)"),
        span=BETA2,
    )
)
ACTIVATION = document(
    RuleDoc(
        "NKL066",
        "activation-function",
        "Failed to resolve an argument '{}', expecting activation function, got '{}'",
        "nisa.activation knows: copy square sigmoid relu gelu gelu_dx gelu_apprx_tanh gelu_apprx_sigmoid "
        "gelu_apprx_sigmoid_dx "
        "silu silu_dx tanh softplus mish erf erf_dx exp log sin arctan sqrt rsqrt reciprocal sign abs.",
        "Use one of these functions; nl.cos is nl.sin of the value plus pi / 2.",
        bad=kernel("nisa.activation(dst=x, op=nl.add, data=y)"),
        good=kernel("nisa.activation(dst=x, op=nl.exp, data=y)"),
        span=BETA2,
    )
)
PROGRAM_AXIS = document(
    RuleDoc(
        "NKL080",
        "program-axis",
        "invalid program axis {} (must be zero)",
        "The launch grid of Beta 2 is one number, the count of logical cores.",
        "Use axis 0, and compute further indices in loops.",
        bad=kernel("return nl.program_id(1)"),
        good=kernel("return nl.program_id(0)"),
    )
)
REDUCE_AXIS = document(
    RuleDoc(
        "NKL081",
        "reduce-axis",
        "not a valid dim",
        "Beta 2 counts axes its own way: 1 is the innermost dimension whatever the rank, lists end at 4: [4], [3, "
        "4], "
        "[2, 3, 4], [1, 2, 3, 4].",
        "Write axis=1 for the last axis, [3, 4] for the last two.",
        bad=kernel("nisa.tensor_reduce(dst=x, op=nl.add, data=y, axis=2)"),
        good=kernel("nisa.tensor_reduce(dst=x, op=nl.add, data=y, axis=1)"),
        span=BETA2,
    )
)
RMW = document(
    RuleDoc(
        "NKL082",
        "accumulating-copy",
        "Unsupported operation",
        "A DMA can add to its destination and nothing else.",
        "Use nl.add, or copy to SBUF and compute there.",
        bad=kernel("nisa.dma_copy(dst=x, src=y, dst_rmw_op=nl.multiply)"),
        good=kernel("nisa.dma_copy(dst=x, src=y, dst_rmw_op=nl.add)"),
        span=BETA2,
    )
)
TENSOR_ARGUMENT = document(
    RuleDoc(
        "NKL083",
        "tensor-argument",
        "Failed to resolve an argument '{}', expecting tensor access, got '{}'",
        "The parameter takes a tensor, never a number. The bias of an activation is a (P, 1) tile.",
        "Fill a (P, 1) tile with nisa.memset and pass it.",
        bad=kernel("nisa.activation(dst=x, op=nl.exp, data=y, bias=1.0)"),
        good=kernel(
            "bias = nl.ndarray((128, 1), nl.float32, buffer=nl.sbuf)\nnisa.memset(dst=bias, value=1.0)\n"
            "nisa.activation(dst=x, op=nl.exp, data=y, bias=bias)"
        ),
    )
)

_TENSOR_PARAMETERS = frozenset(
    "dst src data data1 data2 data0 stationary moving bias reduce_res predicate on_true_tile on_true".split()
)
_REDUCE_LISTS = ([4], [3, 4], [2, 3, 4], [1, 2, 3, 4])


def arguments(node: ast.Call, entry: beta2.Symbol) -> Iterator[tuple[str, ast.expr]]:
    """Parameter names of ``entry`` with the expressions that the call gives them."""
    for parameter, value in zip(entry.parameters or (), node.args, strict=False):
        yield parameter.name, value
    for keyword in node.keywords:
        if keyword.arg is not None:
            yield keyword.arg, keyword.value


def _instruction(node: ast.Call, context: Context) -> tuple[str, beta2.Symbol] | None:
    name = context.qualified(node.func)
    entry = beta2.symbol(name, context.target) if name else None
    return (name, entry) if name and entry and entry.is_callable and not expands(node) else None


@on(ast.Call, evaluated=True, span=BETA2)
def operator_arguments(node: ast.Call, context: Context) -> Iterator[Violation]:
    """``op=`` and its like: a token of the right kind."""
    found = _instruction(node, context)
    if found is None or not found[0].startswith(("nki.isa.", "nki.collectives.")):
        return
    name, entry = found
    for parameter, value in arguments(node, entry):
        if parameter not in OPERATOR_PARAMETERS:
            continue
        token, kind = _token(value, context)
        is_activation = parameter == "op" and name in ACTIVATION_CALLS
        allowed = operators.ACTIVATION if is_activation else operators.ALU
        if kind and token not in allowed:
            yield _operator_problem(value, parameter, token, kind, is_activation)
        elif kind and parameter == "dst_rmw_op" and token != "add":
            yield report(RMW, value)


def _operator_problem(value: ast.expr, parameter: str, token: str, kind: str, is_activation: bool) -> Violation:
    if is_activation:
        return report(ACTIVATION, value, parameter, kind)
    if token == "logical_not":
        text = f"Failed to resolve an argument '{parameter}', 'logical_not' operator not supported"
        return report(OPERATOR, value, message=text)
    return report(OPERATOR, value, parameter, kind)


def _token(value: ast.expr, context: Context) -> tuple[str, str]:
    """The operator that ``value`` names, a name of ``nki.language`` or a string, and what kind of value the front end
    sees; the kind is empty where that is not known."""
    if isinstance(value, ast.Constant):
        token = value.value if isinstance(value.value, str) else ""
        return token, "" if value.value is None else KINDS.get(type(value.value), "")
    name = context.qualified(value) or ""
    entry = beta2.symbol(name, context.target) if name.startswith("nki.language.") else None
    if entry is None:
        return "", ""
    return name.removeprefix("nki.language."), _ENTRY_KINDS.get(entry.kind, "source")


@on(ast.Call, evaluated=True)
def literal_arguments(node: ast.Call, context: Context) -> Iterator[Violation]:
    """Literal arguments that the front end refuses: axes, numbers where a tensor must stand."""
    found = _instruction(node, context)
    if found is None:
        return
    name, entry = found
    for parameter, value in arguments(node, entry):
        literal = _literal(value)
        if literal is None:
            continue
        if name in ("nki.language.program_id", "nki.language.num_programs") and literal != 0:
            yield report(PROGRAM_AXIS, value, literal if name.endswith("program_id") else f"(some {literal})")
        elif name == f"{ISA}tensor_reduce" and parameter == "axis" and context.target in BETA2:
            if literal != 1 and literal not in _REDUCE_LISTS:
                yield report(REDUCE_AXIS, value)
        elif name.startswith(ISA) and parameter in _TENSOR_PARAMETERS and isinstance(literal, (bool, int, float, str)):
            yield report(TENSOR_ARGUMENT, value, parameter, KINDS[type(literal)])


def _literal(node: ast.expr) -> object:
    """The value of a literal number, string, list or tuple; ``None`` for anything else."""
    if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
        return None  # most operands; the error that says so costs more than all else that is asked of them
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return list(value) if isinstance(value, tuple) else value
