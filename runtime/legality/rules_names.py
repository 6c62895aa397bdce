"""Names that kernels cannot use, and what replaces them."""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Iterator
from itertools import pairwise

from ..spec import beta1, beta2, dtypes, operators
from ..spec.versions import BETA2, Version
from .model import RuleDoc, Violation, kernel
from .rules_statements import is_python_range, is_range
from .walk import Context, document, on, report

BETA1_PREFIXES = ("neuronxcc.nki._pre_prod_kernels.", "neuronxcc.nki._private_nkl.", "neuronxcc.nki._pre_prod_nkl.")
"""Parts of Beta 1 that Beta 2 kernels may call."""

KEYWORDS = frozenset({"math"})
MEMORIES = frozenset({"sbuf", "psum", "hbm", "arch"})
"""Names that the front end knows without an import: all versions, Beta 2 only."""
"""Names that are there without an import (``keywords`` and ``kernelEnv`` of ``KLR/Trace.lean``)."""

NUMPY_CONSTANTS = frozenset({"pi", "e", "inf", "nan", "newaxis"})
_TYPES = frozenset(name for name in dir(builtins) if isinstance(getattr(builtins, name), type))

BETA1 = document(
    RuleDoc(
        "NKL050",
        "beta1-name",
        "beta-1 API ({}) used in kernel: APIs from neuronxcc may not be used in Beta-2 kernels",
        "Beta 2 lives in the package nki. Both packages can be installed, but not be used in one kernel.",
        "Import nki, nki.isa and nki.language instead.",
        bad="import neuronxcc.nki.language as old\n\n\n"
        + kernel("tile = nl.ndarray((128, 512), old.float32, buffer=nl.sbuf)"),
        good=kernel("tile = nl.ndarray((128, 512), nl.float32, buffer=nl.sbuf)"),
        stage="simplify",
    )
)
UNKNOWN = document(
    RuleDoc(
        "NKL051",
        "unknown-name",
        "name {} not found",
        "The name does not exist in this version of NKI.",
        "Look the name up in the documentation of nki.isa and nki.language.",
        bad=kernel("nisa.tensor_add(dst=x, data1=x, data2=y)"),
        good=kernel("nisa.tensor_tensor(dst=x, data1=x, data2=y, op=nl.add)"),
    )
)
REMOVED = document(
    RuleDoc(
        "NKL052",
        "removed-name",
        "name {} not found",
        "Beta 1 had this name, Beta 2 does not.",
        "Run nki-migrate rewrite, or write what the note on the name says.",
        bad=kernel("tile = nl.load(x)"),
        good=kernel("tile = nl.ndarray(x.shape, x.dtype, buffer=nl.sbuf)\nnisa.dma_copy(dst=tile, src=x)"),
        span=BETA2,
    )
)
NUMPY = document(
    RuleDoc(
        "NKL053",
        "numpy",
        "name {} not found",
        "numpy does not run in a kernel: neither its functions nor its data types nor its operators. pi, e, inf and "
        "nan do.",
        "Use nki.language for data types and operators; compute the rest on the host.",
        bad="import numpy as np\n\n\n" + kernel("tile = nl.ndarray((128, 512), np.float32, buffer=nl.sbuf)"),
        good=kernel("tile = nl.ndarray((128, 512), nl.float32, buffer=nl.sbuf)"),
    )
)
BUILTIN = document(
    RuleDoc(
        "NKL054",
        "python-builtin",
        "{} not found!",
        "The front end evaluates few of Python's functions: abs bool dict divmod float int isinstance len list max "
        "min print "
        "slice str tuple type, and range in a for.",
        "Write a loop.",
        bad=kernel("for i, row in enumerate([1, 2]):\n    pass").replace("i, row", "pair"),
        good=kernel("rows = [1, 2]\nfor i in range(len(rows)):\n    row = rows[i]"),
    )
)
MATH = document(
    RuleDoc(
        "NKL055",
        "math",
        "'none' is not a callable type",
        "Of the module math, kernels have ceil, floor, gcd, log10, log2, pow, sqrt and the constants.",
        "Compute the number on the host, or with a loop.",
        bad="import math\n\n\n" + kernel("return math.prod(x.shape)"),
        good=kernel("total = 1\nfor size in x.shape:\n    total *= size\nreturn total"),
    )
)
RANGE_VALUE = document(
    RuleDoc(
        "NKL056",
        "range-outside-for",
        "range not found!",
        "A range is part of the for statement, with positional arguments only: it is no value.",
        "Write `for i in range(...)` with positional arguments; build a list in a loop.",
        bad=kernel("return list(range(4))"),
        good=kernel("rows = []\nfor i in range(4):\n    rows.append(i)\nreturn rows"),
    )
)
NOT_FOUND = document(
    RuleDoc(
        "NKL057",
        "undefined-name",
        "{} not found!",
        "The name is neither local nor bound at the module level. What a function around the kernel binds is out of "
        "reach.",
        "Import or define the name at the module level, or pass it as an argument.",
        bad="def make(rows):\n    @nki.jit\n    def kernel(x):\n        return rows\n\n    return kernel\n",
        good="@nki.jit\ndef kernel(x, rows):\n    return rows\n",
    )
)
UNAVAILABLE = document(
    RuleDoc(
        "NKL058",
        "unavailable-name",
        "{} is not implemented: {}",
        "The name exists and raises NotImplementedError.",
        "Drop it from the kernel.",
        bad=kernel("nki.benchmark(x)"),
        good=kernel("return x"),
        span=BETA2,
    )
)
NUMPY_VALUE = document(
    RuleDoc(
        "NKL059",
        "numpy-data-type",
        "numpy dtypes are not supported as arguments{}",
        "A variable of the module level that a kernel reads becomes a constant of the kernel, with all that it holds. "
        "numpy's data types are none.",
        "Hold the data types of nki.language.",
        bad="import numpy as np\n\nSIZES = {np.float32: 4}\n\n\n" + kernel("return SIZES"),
        good='SIZES = {"float32": 4}\n\n\n' + kernel("return SIZES"),
        stage="gather",
    )
)
_SUGGESTED = frozenset("uint8 int8 uint16 int16 uint32 int32 float16 float32 bool".split())
"""Data types for which the front end names the one of ``nki.language``."""


@on(ast.Name)
def numpy_values(node: ast.Name, context: Context) -> Iterator[Violation]:
    """The first read of a module-level container of numpy data types, or of an instance of ``numpy.dtype``."""
    values = context.module.values.get(node.id, [])
    if not isinstance(node.ctx, ast.Load) or node.id in context.local or len(values) != 1 or context.function is None:
        return
    reads = (n for n in context.module.own_nodes(context.function) if isinstance(n, ast.Name) and n.id == node.id)
    if node is not next(reads, node):
        return
    for text in sorted({_suggestion(name) for name in _held_types(values[0], context, is_element=False)}):
        yield report(NUMPY_VALUE, node, message=NUMPY_VALUE.message.format(text))


def _held_types(value: ast.expr | None, context: Context, is_element: bool = True) -> Iterator[str]:
    """Names of the data types that ``value`` holds. A plain data type by itself is a class, which is another thing."""
    if isinstance(value, (ast.List, ast.Tuple)):
        for element in value.elts:
            yield from _held_types(element, context)
    elif isinstance(value, ast.Dict):
        for held in (*value.keys, *value.values):
            yield from _held_types(held, context)
    elif isinstance(value, ast.Call) and context.module.qualified(value.func) == "numpy.dtype" and value.args:
        argument = value.args[0]
        is_text = isinstance(argument, ast.Constant) and isinstance(argument.value, str)
        yield ast.literal_eval(argument) if is_text else next(_held_types(argument, context), "")
    elif is_element and value is not None:
        module, _, last = (context.module.qualified(value) or "").rpartition(".")
        if module == "numpy" and last in dtypes.NUMPY_SCALARS:
            yield dtypes.NUMPY_ALIASES.get(last, last)
        elif module == "ml_dtypes" and last in dtypes.ML_DTYPES_SCALARS:
            yield ""


def _suggestion(name: str) -> str:
    name = name.rstrip("_")
    return f". Use nki.language.{name} instead" if name in _SUGGESTED else ""


@on(ast.Name, ast.Attribute, evaluated=True)
def package_names(node: ast.Name | ast.Attribute, context: Context) -> Iterator[Violation]:
    """Whole dotted names that start at an import: ``nl.load``, ``np.float32``, ``math.prod``."""
    above = context.parent
    if not isinstance(node.ctx, ast.Load) or (isinstance(above, ast.Attribute) and above.value is node):
        return
    name = context.qualified(node)
    if name is None or is_decorator(node, context):
        return
    root = name.partition(".")[0]
    if root == "nki":
        yield from _nki_name(node, name, context)
    elif root == "numpy" and "." in name:
        yield from _numpy_name(node, name)
    elif root == "math":
        yield from _math_name(node, name)


@on(ast.Name, ast.Attribute)
def beta1_names(node: ast.Name | ast.Attribute, context: Context) -> Iterator[Violation]:
    above = context.parent
    if isinstance(above, ast.Attribute) and above.value is node:
        return
    name = context.qualified(node) or ""
    if name.startswith("neuronxcc") and not name.startswith(BETA1_PREFIXES) and not is_decorator(node, context):
        entry = beta1.symbol(beta1.canonical(name))
        yield report(BETA1, node, name, help=_replacement(entry) if entry else "")


def is_decorator(node: ast.AST, context: Context) -> bool:
    """Is ``node`` a part of a decorator?"""
    chain: tuple[ast.AST, ...] = (*context.ancestors, node)
    return any(
        below in above.decorator_list
        for above, below in pairwise(chain)
        if isinstance(above, (ast.FunctionDef, ast.ClassDef))
    )


def _nki_name(node: ast.expr, name: str, context: Context) -> Iterator[Violation]:
    known, rest = _known_prefix(name, context.target)
    entry = beta2.symbol(known, context.target)
    if not rest or entry is None:
        if entry is not None and entry.unavailable:
            yield report(UNAVAILABLE, node, name, entry.unavailable)
        return
    missing = f"{known}.{rest.partition('.')[0]}"
    if missing.rpartition(".")[2].startswith("_"):
        return
    if entry.kind == "module":
        old = beta1.symbol(beta1.canonical(f"neuronxcc.{beta2.canonical(missing)}"))
        if old is not None and context.target in BETA2:
            yield report(REMOVED, node, missing, help=_replacement(old))
        else:
            yield report(UNKNOWN, node, missing)
    elif entry.kind in ("enum", "object"):
        yield report(UNKNOWN, node, missing)


def _known_prefix(name: str, target: Version) -> tuple[str, str]:
    """The longest part of the dotted ``name`` that the table has, and the rest."""
    known = name
    while known and beta2.symbol(known, target) is None:
        known = known.rpartition(".")[0]
    return known, name[len(known) + 1 :]


def _replacement(entry: beta1.Symbol) -> str:
    """What the Beta 1 table says about a name."""
    if entry.fate == "unchanged" and entry.target:
        return f"Write {entry.target[0]}."
    written = f"Written with {', '.join(entry.target)}." if entry.target else ""
    return f"{written} {entry.note}".strip()


def _numpy_name(node: ast.expr, name: str) -> Iterator[Violation]:
    last = name.partition(".")[2]
    if last in NUMPY_CONSTANTS:
        return
    if last in dtypes.NUMPY_SPELLINGS:
        help = f"Write nl.{dtypes.NUMPY_SPELLINGS[last]}."
    elif operators.canonical(last) in operators.ALU | operators.ACTIVATION:
        help = f"Write nl.{operators.canonical(last)} as an operator."
    else:
        help = ""
    yield report(NUMPY, node, name, help=help)


def _math_name(node: ast.expr, name: str) -> Iterator[Violation]:
    last = name.partition(".")[2]
    if last not in beta2.MATH_FUNCTIONS and callable(getattr(math, last, None)):
        yield report(MATH, node)


@on(ast.Name, evaluated=True)
def plain_names(node: ast.Name, context: Context) -> Iterator[Violation]:
    """Python's own functions, and names that nothing binds."""
    name = node.id
    if not isinstance(node.ctx, ast.Load) or name in context.local or context.module.binds(name):
        return
    if name in beta2.PYTHON_BUILTINS or name.startswith("__") or name in KEYWORDS:
        return
    if context.target in BETA2 and name in MEMORIES:
        return
    if hasattr(builtins, name):
        if not is_decorator(node, context):
            yield report(BUILTIN, node, message=_builtin_message(node, context), help=f"{name}: {BUILTIN.help}")
    elif not context.module.stars and not is_decorator(node, context):
        yield report(NOT_FOUND, node, name)


def _builtin_message(node: ast.Name, context: Context) -> str:
    """Types are unknown names; functions are known, as None."""
    is_called = isinstance(context.parent, ast.Call) and context.parent.func is node
    if node.id in _TYPES or not is_called:
        return BUILTIN.message.format(f"builtins.{node.id}")
    return MATH.message


@on(ast.Call, ast.Name)
def range_as_value(node: ast.Call | ast.Name, context: Context) -> Iterator[Violation]:
    """``range`` anywhere but as ``for i in range(...)``, and ranges with keywords."""
    above = context.parent
    if isinstance(node, ast.Name):
        if is_python_range(node, context) and not (isinstance(above, ast.Call) and above.func is node):
            yield report(RANGE_VALUE, node)
    elif is_range(node, context) and (node.keywords or not (isinstance(above, ast.For) and above.iter is node)):
        yield report(RANGE_VALUE, node)
