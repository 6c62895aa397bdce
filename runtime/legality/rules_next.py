"""What NKI 0.3 refuses and Beta 2 takes.

Source: the update guide of SDK 2.29 (``nki-0-3-0-update-guide``). It gives rules, not texts: the messages are ours.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..spec import beta2
from ..spec.beta2_isa import ENUM_MEMBERS
from ..spec.versions import LATER
from .declarations import declaration
from .model import RuleDoc, Violation, kernel
from .names import Function, Module
from .rules_calls import expands
from .rules_operands import arguments
from .walk import Context, document, on, report

_TILE = "tile = nl.ndarray((128, 512), nl.float32, buffer=nl.psum)\n"
_ENUM_PARAMETERS = {"dge_mode": "dge_mode", "engine": "engine", "oob_mode": "oob_mode", "reduce_cmd": "reduce_cmd"}

ENUM_NUMBER = document(
    RuleDoc(
        "NKL084",
        "enum-number",
        "{} takes a member of nisa.{}, not a number",
        "NKI 0.2 took the numbers of enumerations.",
        "Write the member: nisa.dge_mode.hwdge.",
        bad=kernel("nisa.dma_copy(dst=x, src=y, dge_mode=2)"),
        good=kernel("nisa.dma_copy(dst=x, src=y, dge_mode=nisa.dge_mode.hwdge)"),
        span=LATER,
    )
)
BUFFER_STRING = document(
    RuleDoc(
        "NKL085",
        "buffer-string",
        "buffer takes a buffer of nki.language, not a string",
        "NKI 0.2 took the names of buffers as strings.",
        "Write nl.sbuf, nl.psum, nl.hbm, nl.shared_hbm or nl.private_hbm.",
        bad=kernel('tile = nl.ndarray((128, 512), nl.float32, buffer="sbuf")'),
        good=kernel("tile = nl.ndarray((128, 512), nl.float32, buffer=nl.sbuf)"),
        span=LATER,
    )
)
OUTPUT_BUFFER = document(
    RuleDoc(
        "NKL086",
        "output-buffer",
        "the output '{}' is not in shared_hbm",
        "NKI 0.2 also took outputs in hbm.",
        "Allocate the tensor with buffer=nl.shared_hbm.",
        bad=kernel("out = nl.ndarray((128, 512), nl.float32, buffer=nl.hbm)\nreturn out"),
        good=kernel("out = nl.ndarray((128, 512), nl.float32, buffer=nl.shared_hbm)\nreturn out"),
        span=LATER,
    )
)
PSUM_COPY = document(
    RuleDoc(
        "NKL087",
        "dma-of-psum",
        "dma_copy cannot access PSUM: '{}'",
        "NKI 0.2 took tensors in PSUM here.",
        "Copy between PSUM and SBUF with nisa.tensor_copy.",
        bad=kernel(_TILE + "nisa.dma_copy(dst=x, src=tile)"),
        good=kernel(_TILE + "nisa.tensor_copy(dst=x, src=tile)"),
        span=LATER,
    )
)


@on(ast.Call, evaluated=True, span=LATER)
def plain_values(node: ast.Call, context: Context) -> Iterator[Violation]:
    """Numbers for enumerations, strings for buffers."""
    name = context.qualified(node.func) or ""
    entry = beta2.symbol(name, context.target)
    if entry is None or not entry.is_callable or expands(node):
        return
    for parameter, value in arguments(node, entry):
        enumeration = _ENUM_PARAMETERS.get(parameter)
        if not isinstance(value, ast.Constant):
            continue
        if name.startswith("nki.isa.") and enumeration in ENUM_MEMBERS and type(value.value) is int:
            yield report(ENUM_NUMBER, value, parameter, enumeration, help=_member(enumeration, value.value))
        elif name.startswith("nki.language.") and parameter == "buffer" and isinstance(value.value, str):
            yield report(BUFFER_STRING, value)


def _member(enumeration: str, number: int) -> str:
    names = [member for member, value in ENUM_MEMBERS[enumeration].items() if value == number]
    return f"Write nisa.{enumeration}.{names[0]}." if names else ""


@on(ast.Return, span=LATER)
def outputs(node: ast.Return, context: Context) -> Iterator[Violation]:
    """Outputs in plain HBM of a kernel that no function of the file calls: then it is not a helper."""
    if not context.is_kernel or node.value is None or context.function is None or _is_called(context.function, context):
        return
    for value in node.value.elts if isinstance(node.value, (ast.Tuple, ast.List)) else [node.value]:
        if isinstance(value, ast.Name) and declaration(value, context).buffer in ("hbm", "private_hbm"):
            yield report(OUTPUT_BUFFER, value, value.id)


def _is_called(function: Function, context: Context) -> bool:
    return context.module.remembered(_is_called_in, function)


def _is_called_in(function: Function, module: Module) -> bool:
    callees = (call.func for call in module.calls)
    return any(isinstance(callee, ast.Name) and callee.id == function.name for callee in callees)


@on(ast.Call, evaluated=True, span=LATER)
def copies_of_psum(node: ast.Call, context: Context) -> Iterator[Violation]:
    entry = beta2.symbol("nki.isa.dma_copy", context.target)
    if context.qualified(node.func) != "nki.isa.dma_copy" or entry is None or expands(node):
        return
    for parameter, value in arguments(node, entry):
        tensor = value.value if isinstance(value, ast.Subscript) else value
        if (
            parameter in ("dst", "src")
            and isinstance(tensor, ast.Name)
            and declaration(tensor, context).buffer == "psum"
        ):
            yield report(PSUM_COPY, value, tensor.id)
