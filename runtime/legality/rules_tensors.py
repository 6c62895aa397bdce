"""What can be done with a tensor: index it, view it, give it to an instruction."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..spec import beta2
from ..spec.versions import BETA2
from .model import RuleDoc, Violation, kernel
from .rules_operands import KINDS
from .tensors import OPERANDS
from .walk import Context, document, on, report

_TILE = "tile = nl.ndarray((128, 512), nl.float32, buffer=nl.sbuf)\n"

STEP = document(
    RuleDoc(
        "NKL070",
        "stepped-slice",
        "a slice with a step loses it: the elements read are contiguous",
        "The front end divides the count by the step and forgets the step, so t[:, 0:512:2] reads elements 0 to 255.",
        "Write the stride with .ap: t.ap([[512, 128], [2, 256]]).",
        bad=kernel(_TILE + "nisa.dma_copy(dst=y, src=tile[:, 0:512:2])"),
        good=kernel(_TILE + "nisa.dma_copy(dst=y, src=tile.ap([[512, 128], [2, 256]]))"),
        stage="ours",
        span=BETA2,
    )
)
TILE_ASSIGNMENT = document(
    RuleDoc(
        "NKL071",
        "tile-assignment",
        "mutation not supported",
        "A tensor changes as the destination of an instruction only. With one index the front end says `Value is not "
        "modifiable`.",
        "Write nisa.tensor_copy(dst=tile[...], src=...), or the instruction that computes the value.",
        bad=kernel(_TILE + "tile[0:128, 0:512] = y"),
        good=kernel(_TILE + "nisa.tensor_copy(dst=tile[0:128, 0:512], src=y)"),
    )
)
TENSOR_OPERATOR = document(
    RuleDoc(
        "NKL072",
        "tensor-operator",
        "binary operators on tensors not supported. Use nki.isa directly.",
        "Arithmetic and comparisons of tensors are instructions.",
        "Allocate a destination and call nisa.tensor_tensor or nisa.tensor_scalar.",
        bad=kernel(_TILE + "return tile + 1.0"),
        good=kernel(_TILE + "nisa.tensor_scalar(dst=tile, data=tile, op0=nl.add, operand0=1.0)\nreturn tile"),
    )
)
NEW_AXIS = document(
    RuleDoc(
        "NKL073",
        "new-axis",
        "None in a subscript is read as a full slice",
        "None does not add a dimension: it stands for `:` and uses up a dimension of the tensor.",
        "Use reshape() or .ap() for another shape.",
        bad=kernel(_TILE + "nisa.dma_copy(dst=y, src=tile[:, None])"),
        good=kernel(_TILE + "nisa.dma_copy(dst=y, src=tile.reshape((128, 1, 512)))"),
        stage="ours",
    )
)
ITERATION = document(
    RuleDoc(
        "NKL074",
        "tensor-iteration",
        "not an iterable object",
        "A tensor has no elements to loop over and no len().",
        "Loop over range(t.shape[0]) and slice.",
        bad=kernel(_TILE + "for row in tile:\n    pass"),
        good=kernel(_TILE + "for i in range(tile.shape[0]):\n    row = tile[i : i + 1, :]"),
    )
)
ATTRIBUTE = document(
    RuleDoc(
        "NKL075",
        "tensor-attribute",
        "unsupported attribute {} (type is tensor access)",
        "A tensor has ap, reshape, view, shape, dtype, buffer, name and offset; until 0.2 address, address_name and "
        "pattern; from 0.3 on get_pattern; from 0.5 on permute, broadcast, slice, select and their like.",
        "Use reshape() and .ap() for views, instructions for computations.",
        bad=kernel(_TILE + "wide = tile.broadcast_to((128, 1024))"),
        good=kernel(_TILE + "wide = tile.ap([[512, 128], [0, 2], [1, 512]])"),
    )
)
BLOCK_DIMENSION = document(
    RuleDoc(
        "NKL076",
        "block-dimension",
        "par_dim is deprecated: the first dimension is the partition dimension",
        "par_dim returns its argument. Where it does not come first, the dimension before it becomes the partition "
        "dimension.",
        "Make a list of tensors for the dimensions before the partition dimension, or fold them into the free "
        "dimension.",
        bad=kernel("tiles = nl.ndarray((4, nl.par_dim(128), 512), nl.float32, buffer=nl.sbuf)"),
        good=kernel("""
            tiles = []
            for i in range(4):
                tiles.append(nl.ndarray((128, 512), nl.float32, buffer=nl.sbuf))
            """),
        stage="ours",
        span=BETA2,
    )
)
INDEXED_VIEW = document(
    RuleDoc(
        "NKL077",
        "view-of-an-index",
        "cannot {} on an already indexed tensor",
        "An access pattern and a reshape belong to the whole tensor.",
        "Give .ap the offset of the part; reshape before you index.",
        bad=kernel(_TILE + "part = tile[0:64, 0:512].ap([[512, 64], [2, 256]])"),
        good=kernel(_TILE + "part = tile.ap([[512, 64], [2, 256]])"),
        span=BETA2,
    )
)


LOST_INDEX = document(
    RuleDoc(
        "NKL078",
        "view-drops-index",
        "view of an index is a view of the whole tensor",
        "view() starts at the memory of the tensor: the front end forgets the index before it.",
        "Give .ap the offset of the part and dtype=, or view the whole tensor and index the view.",
        bad=kernel(_TILE + "part = tile[0:64, 0:512].view(nl.int32, (64, 512))"),
        good=kernel(_TILE + "part = tile.view(nl.int32, (128, 512))[0:64, 0:512]"),
        stage="ours",
        span=BETA2,
    )
)
THIRD_INDEX = document(
    RuleDoc(
        "NKL079",
        "third-index",
        "the third index in a row is taken of the whole tensor's shape",
        "The front end joins two subscripts. At the third it looks at the shape of the tensor, not of the part.",
        "Join the subscripts.",
        bad=kernel(_TILE + "nisa.dma_copy(dst=y, src=tile[0:64, 0:64][0:32, 0:32][0:16, 0:16])"),
        good=kernel(_TILE + "nisa.dma_copy(dst=y, src=tile[0:16, 0:16])"),
        stage="ours",
        span=BETA2,
    )
)


def _operand_position(node: ast.AST, context: Context) -> bool:
    """Is ``node`` the value of a parameter that takes a tensor, in a call of an instruction?"""
    above = context.parent
    if not isinstance(above, ast.keyword) or above.arg not in OPERANDS or len(context.ancestors) < 2:
        return False
    call = context.ancestors[-2]
    return isinstance(call, ast.Call) and (context.qualified(call.func) or "").startswith("nki.isa.")


def _indices(node: ast.Subscript) -> list[ast.expr]:
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


@on(ast.Subscript)
def subscripts(node: ast.Subscript, context: Context) -> Iterator[Violation]:
    """Steps and new axes in the subscript of a tensor."""
    if not (context.is_tensor(node.value) or _operand_position(node, context)):
        return
    for index in _indices(node):
        if context.target in BETA2 and _has_step(index, context):
            yield report(STEP, index)
        if isinstance(index, ast.Constant) and index.value is None:
            yield report(NEW_AXIS, index)


def _has_step(index: ast.expr, context: Context) -> bool:
    step: ast.expr | None = None
    if isinstance(index, ast.Slice):
        step = index.step
    elif isinstance(index, ast.Call) and isinstance(index.func, ast.Name) and index.func.id == "slice":
        step = index.args[2] if len(index.args) == 3 and "slice" not in context.local else None
    return step is not None and not (isinstance(step, ast.Constant) and step.value in (1, None))


@on(ast.Subscript, span=BETA2)
def third_index(node: ast.Subscript, context: Context) -> Iterator[Violation]:
    inner = node.value.value if isinstance(node.value, ast.Subscript) else None
    if isinstance(inner, ast.Subscript) and context.is_tensor(inner.value):
        yield report(THIRD_INDEX, node)


@on(ast.Assign, ast.AnnAssign)
def tile_assignment(node: ast.Assign | ast.AnnAssign, context: Context) -> Iterator[Violation]:
    """``tile[...] = value``; with an instruction on the right the front end makes ``tile[...]`` its destination."""
    value = node.value
    if isinstance(value, ast.Call) and (context.qualified(value.func) or "").startswith("nki.isa."):
        return
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        if isinstance(target, ast.Subscript) and context.is_tensor(target.value):
            yield _not_assignable(target)


def _not_assignable(target: ast.Subscript) -> Violation:
    is_single = not (isinstance(target.slice, (ast.Tuple, ast.List)) and len(target.slice.elts) != 1)
    return report(TILE_ASSIGNMENT, target, message="Value is not modifiable" if is_single else "")


@on(ast.BinOp, evaluated=True)
def binary_operator(node: ast.BinOp, context: Context) -> Iterator[Violation]:
    if not isinstance(node.op, ast.MatMult) and (context.is_tensor(node.left) or context.is_tensor(node.right)):
        yield report(TENSOR_OPERATOR, node)


@on(ast.AugAssign)
def augmented_assignment(node: ast.AugAssign, context: Context) -> Iterator[Violation]:
    if isinstance(node.op, ast.MatMult):
        return
    if isinstance(node.target, ast.Subscript) and context.is_tensor(node.target.value):
        yield _not_assignable(node.target)
    elif context.is_tensor(node.target) or context.is_tensor(node.value):
        yield report(TENSOR_OPERATOR, node)


@on(ast.Compare, evaluated=True)
def ordering(node: ast.Compare, context: Context) -> Iterator[Violation]:
    """``<`` and its like; ``==`` compares the tensors' identities and is legal."""
    operands = [node.left, *node.comparators]
    for left, operator, right in zip(operands, node.ops, operands[1:], strict=False):
        tensors = context.is_tensor(left), context.is_tensor(right)
        if isinstance(operator, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) and any(tensors):
            kinds = [_kind(side, is_tensor) for side, is_tensor in zip((left, right), tensors, strict=True)]
            yield report(TENSOR_OPERATOR, node, message=f"unsupported comparison between '{kinds[0]}' and '{kinds[1]}'")


def _kind(node: ast.expr, is_tensor: bool) -> str:
    """What the front end calls the kind of ``node``; a word of ours where that is not known."""
    return "access" if is_tensor else KINDS.get(type(getattr(node, "value", node)), "value")


@on(ast.UnaryOp)
def unary_operator(node: ast.UnaryOp, context: Context) -> Iterator[Violation]:
    if isinstance(node.op, (ast.USub, ast.Invert)) and context.is_tensor(node.operand):
        is_negation = isinstance(node.op, ast.USub)
        text = "cannot negate values of this type" if is_negation else "expecting 'integer', got 'access'"
        yield report(TENSOR_OPERATOR, node, message=text)


@on(ast.For)
def loop_over_tensor(node: ast.For, context: Context) -> Iterator[Violation]:
    if context.is_tensor(node.iter):
        yield report(ITERATION, node.iter)


@on(ast.Call, evaluated=True)
def length_of_tensor(node: ast.Call, context: Context) -> Iterator[Violation]:
    callee = node.func.id if isinstance(node.func, ast.Name) and node.func.id not in context.local else ""
    if callee in ("len", "list", "tuple") and len(node.args) == 1 and context.is_tensor(node.args[0]):
        yield report(
            ITERATION, node, message="expected a list of a dictionary; found access" if callee == "len" else ""
        )


@on(ast.Attribute, evaluated=True)
def tensor_attribute(node: ast.Attribute, context: Context) -> Iterator[Violation]:
    if not context.is_tensor(node.value):
        return
    if node.attr not in beta2.tensor(context.target):
        yield report(ATTRIBUTE, node, node.attr)
    elif context.target not in BETA2:
        return
    elif node.attr in ("ap", "reshape") and isinstance(node.value, ast.Subscript):
        message = "" if node.attr == "ap" else "cannot reshape a complex access pattern"
        yield report(INDEXED_VIEW, node, "specify an access pattern", message=message)
    elif node.attr == "view" and isinstance(node.value, ast.Subscript):
        yield report(LOST_INDEX, node)


@on(ast.Call, evaluated=True, span=BETA2)
def block_dimension(node: ast.Call, context: Context) -> Iterator[Violation]:
    """``par_dim`` anywhere but first in the shape of a new tensor."""
    name = context.qualified(node.func)
    if name not in ("nki.language.ndarray", "nki.language.zeros"):
        return
    shapes = [*node.args[:1], *(keyword.value for keyword in node.keywords if keyword.arg == "shape")]
    for shape in shapes:
        for dimension in shape.elts[1:] if isinstance(shape, (ast.Tuple, ast.List)) else []:
            if isinstance(dimension, ast.Call) and context.qualified(dimension.func) == "nki.language.par_dim":
                yield report(BLOCK_DIMENSION, dimension)
