"""Calls: do the arguments fit?

The front end has two ways to bind arguments, with texts of their own: that of the functions it brings along
(``KLR/Trace/Builtin.lean``), which drops surplus arguments without a word, and that of functions in Python source
(``bindArgs`` of ``KLR/Trace/NKI.lean``).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ..spec import beta2, operators
from ..spec.versions import BETA2, V06, Span
from .model import RuleDoc, Violation, kernel
from .names import parameters
from .walk import Context, document, on, report

ISA = "nki.isa."
RETURNING = frozenset(
    f"{ISA}{name}"
    for name in (
        "collective_permute_implicit_current_processing_rank_id",
        "get_nc_version",
        "rank_id",
        "register_alloc",
        "register_load",
        "register_move",
        "register_store",
    )
)
"""Instructions that give a value back. All others give None."""
RESULTS = Span(V06)
"""Instructions give back what schedules name them by."""

BUILTIN_LANGUAGE = frozenset(
    "device_print ds ndarray num_programs par_dim program_id program_ndim shared_constant unique_name".split()
)
"""Functions of ``nki.language`` that the front end brings along; the others are Python source in ``nki``."""

_BUILTIN_MODULES = {
    "nki.isa": "builtin_isa",
    "nki.meta.tensor": "builtin_meta_tensor",
}

KEYWORD = document(
    RuleDoc(
        "NKL060",
        "unexpected-keyword",
        "unexpected keyword argument '{}'{}",
        "The function has no such parameter.",
        "Delete the keyword, or correct its name.",
        bad=kernel("nisa.memset(dst=x, value=0.0, dtype=nl.float32)"),
        good=kernel("nisa.memset(dst=x, value=0.0)"),
    )
)
MISSING = document(
    RuleDoc(
        "NKL061",
        "missing-argument",
        "argument '{}' not {}",
        "The parameter has no default. Instructions of Beta 2 take their destination first, as dst.",
        "Pass the argument; allocate the destination with nl.ndarray.",
        bad=kernel("nisa.activation(op=nl.exp, data=x)"),
        good=kernel("nisa.activation(dst=y, op=nl.exp, data=x)"),
    )
)
TOO_MANY = document(
    RuleDoc(
        "NKL062",
        "too-many-arguments",
        "too many arguments given (varargs not supported)",
        "More arguments than parameters.",
        "Delete the surplus.",
        bad="def f(rows):\n    return rows\n\n\n" + kernel("return f(1, 2)"),
        good="def f(rows):\n    return rows\n\n\n" + kernel("return f(1)"),
    )
)
SURPLUS = document(
    RuleDoc(
        "NKL069",
        "surplus-argument",
        "{} takes {} arguments: the front end drops the others without a word",
        "Functions that the front end brings along take what they know, by position, and never look at the rest.",
        "Delete the surplus.",
        bad=kernel("return nl.ds(0, 128, 2)"),
        good=kernel("return nl.ds(0, 128)"),
        stage="ours",
    )
)
MASK = document(
    RuleDoc(
        "NKL063",
        "mask",
        "mask parameter is not supported",
        "Beta 2 has no masks. Most instructions still have the parameter, between the documented ones, and it takes "
        "nothing.",
        "Clamp the slices of every operand to the valid part; use affine_select or a predicated copy for other "
        "shapes.",
        bad=kernel("nisa.memset(dst=x, value=0.0, mask=y)"),
        good=kernel("rows = min(128, y)\nnisa.memset(dst=x[0:rows, 0:512], value=0.0)"),
    )
)
TOKEN_CALL = document(
    RuleDoc(
        "NKL064",
        "token-called",
        "'{}' is not callable: in Beta 2 it is a token for op=",
        "nl.exp, nl.add and their like name operations. The stubs of some have a body that computes nothing.",
        "Allocate a destination and write the instruction: nisa.activation, tensor_tensor, tensor_scalar, "
        "tensor_reduce.",
        bad=kernel("z = nl.exp(x)"),
        good=kernel("nisa.activation(dst=y, op=nl.exp, data=x)"),
        stage="ours",
        span=BETA2,
    )
)
TWICE = document(
    RuleDoc(
        "NKL067",
        "argument-given-twice",
        "argument '{}' is given by position and by keyword",
        "The front end takes the positional one and drops the other without a word. The same happens to dst= when "
        "the "
        "instruction stands on the right of an assignment.",
        "Pass the argument once.",
        bad=kernel("nisa.memset(x, dst=y, value=0.0)"),
        good=kernel("nisa.memset(dst=x, value=0.0)"),
        stage="ours",
    )
)
RESULT = document(
    RuleDoc(
        "NKL068",
        "instruction-result",
        "{} not found!",
        "Instructions return nothing. On the right of an assignment the front end makes the left side the "
        "destination, so "
        "the name on the left must already hold a tensor.",
        "Allocate the destination with nl.ndarray and pass it as dst.",
        bad=kernel("z = nisa.activation(op=nl.exp, data=x)"),
        good=kernel("nisa.activation(dst=y, op=nl.exp, data=x)"),
        span=Span(until=V06),
    )
)
MUTATING = document(
    RuleDoc(
        "NKL088",
        "mutating-assignment",
        "Mutating assignment (a[...] = foo(...)) form is deprecated. Use foo(..., dst=a[...]) instead",
        "The front end warns, and makes the left side the first argument, as if dst had been given by position. "
        "Python, and so the emulator, assigns the result instead.",
        "Pass the left side as dst.",
        bad=kernel("y[...] = nisa.tensor_copy(src=x)"),
        good=kernel("nisa.tensor_copy(dst=y, src=x)"),
        stage="simplify",
        span=Span(until=V06),
    )
)


def _nones(node: ast.Call, order: Sequence[str]) -> set[str]:
    """The parameters that a call gives ``None``; ``order`` are those of its positional arguments."""
    given = [*zip(order, node.args, strict=False), *((k.arg, k.value) for k in node.keywords)]
    return {name for name, value in given if name and _is_none(value)}


@on(ast.Call, evaluated=True)
def api_call(node: ast.Call, context: Context) -> Iterator[Violation]:
    """Arguments of a function of ``nki``."""
    name = context.qualified(node.func)
    entry = beta2.symbol(name, context.target) if name and not expands(node) else None
    if name is None or entry is None:
        return
    if entry.kind == "token":
        yield report(TOKEN_CALL, node, name.rpartition(".")[2], help=_instruction_for(name.rpartition(".")[2]))
        return
    if not entry.is_callable or entry.unavailable or "range" in entry.roles:
        return
    destination = None if context.target in RESULTS else _assigned(node, name, context)
    if destination is not None and _only_results(destination, context):
        yield report(RESULT, node, destination)
        return
    positional = len(node.args) + (destination is not None)
    shift = positional - len(node.args)
    if destination is not None and name not in RETURNING:
        yield report(MUTATING, node)
    nones = _nones(node, [parameter.name for parameter in (entry.parameters or ())[shift:]])
    problems = list(argument_problems(node, entry, positional, nones, builtin=builtin_name(name)))
    yield from problems
    if not problems and _is_used(context) and context.target not in RESULTS and _gives_nothing(name):
        yield report(RESULT, node, message=f"{name.rpartition('.')[2]} returns nothing")


def _is_used(context: Context) -> bool:
    """Is what a call gives part of an expression?"""
    return not isinstance(context.parent, (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign))


def _gives_nothing(name: str) -> bool:
    """Is a function an instruction without a result?"""
    return name.startswith(ISA) and name not in RETURNING


def expands(node: ast.Call) -> bool:
    """Does the call hold ``*args`` or ``**kwargs``, which are refused by themselves?"""
    return any(isinstance(arg, ast.Starred) for arg in node.args) or any(k.arg is None for k in node.keywords)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def builtin_name(qualified: str) -> str:
    """What the front end calls the function ``qualified`` in its messages; empty for a function in Python source."""
    module, _, name = qualified.rpartition(".")
    if module == "nki.language":
        return f"builtin_lang_{name}" if name in BUILTIN_LANGUAGE else ""
    root = _BUILTIN_MODULES.get(module)
    return f"{root}_{name}" if root else ""


def argument_problems(
    node: ast.Call,
    entry: beta2.Symbol,
    positional: int,
    nones: set[str] | frozenset[str] = frozenset(),
    builtin: str = "",
) -> Iterator[Violation]:
    """``builtin`` is the front end's own name of the callee; empty: the callee is a function in Python source."""
    suffix = f" in builtin function '{builtin}'" if builtin else ""
    for fault in beta2.call_faults(entry, positional, [keyword.arg or "" for keyword in node.keywords], nones):
        at = node if fault.keyword is None else node.keywords[fault.keyword].value
        match fault.kind:
            case "surplus" if builtin:
                room = len(entry.parameters or ()) - (positional - len(node.args))
                yield report(SURPLUS, node, ast.unparse(node.func), room)
            case "surplus":
                yield report(TOO_MANY, node)
            case "unexpected":
                is_mask = fault.name == "mask" and bool(builtin)
                yield report(MASK if is_mask else KEYWORD, at, message=KEYWORD.message.format(fault.name, suffix))
            case "refused":
                yield report(MASK, at)
            case "twice":
                yield report(TWICE, at, fault.name)
            case "missing":
                yield report(MISSING, node, fault.name, f"found,{suffix}" if builtin else "supplied")


def _assigned(node: ast.Call, name: str, context: Context) -> str | None:
    """Source of the left side of ``left = nisa.f(...)``, which the front end makes the destination."""
    above = context.parent
    if not name.startswith(ISA) or name == f"{ISA}register_alloc":
        return None
    if isinstance(above, ast.Assign) and above.value is node and len(above.targets) == 1:
        target = above.targets[0]
    elif isinstance(above, ast.AnnAssign) and above.value is node:
        target = above.target
    else:
        return None
    return ast.unparse(target) if isinstance(target, (ast.Name, ast.Subscript, ast.Attribute)) else None


def _only_results(name: str, context: Context) -> bool:
    """Is ``name`` a local name that is bound by nothing but instructions that take it for their destination?"""
    function = context.function
    if function is None or not name.isidentifier() or name in {p.arg for p in parameters(function)}:
        return False
    stores = [
        n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
    ]
    calls = [value for value in _bound_values(function, name) if isinstance(value, ast.Call)]
    callees = [context.qualified(call.func) or "" for call in calls]
    is_destination = all(callee.startswith(ISA) and callee != f"{ISA}register_alloc" for callee in callees)
    return len(stores) == len(calls) and is_destination


def _bound_values(function: ast.AST, name: str) -> list[ast.expr | None]:
    """What plain and annotated assignments give a name."""
    return [
        node.value
        for node in ast.walk(function)
        if isinstance(node, (ast.Assign, ast.AnnAssign))
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and target.id == name
    ]


def _instruction_for(token: str) -> str:
    if token in operators.ACTIVATION:
        return f"Allocate a destination and write nisa.activation(dst=..., op=nl.{token}, data=...)."
    if token in operators.ALU:
        return f"Allocate a destination and write nisa.tensor_tensor or nisa.tensor_scalar with op=nl.{token}."
    return ""


@on(ast.Call, evaluated=True)
def own_call(node: ast.Call, context: Context) -> Iterator[Violation]:
    """Arguments of a function or class of the same file, and of a method of the same class."""
    if expands(node):
        return
    entry = _own_signature(node.func, context)
    if entry is not None:
        yield from argument_problems(node, entry, len(node.args))


def _own_signature(callee: ast.expr, context: Context) -> beta2.Symbol | None:
    if isinstance(callee, ast.Name) and callee.id not in context.local:
        definition = context.module.definitions.get(callee.id)
        if isinstance(definition, ast.ClassDef):
            return _constructor(definition)
        return _signature(definition, 0) if isinstance(definition, ast.FunctionDef) else None
    is_method = isinstance(callee, ast.Attribute) and isinstance(callee.value, ast.Name) and context.owner is not None
    if is_method and context.owner is not None and isinstance(callee, ast.Attribute) and context.function is not None:
        first = next(iter(parameters(context.function)), None)
        if first is not None and isinstance(callee.value, ast.Name) and callee.value.id == first.arg:
            method = _method(context.owner, callee.attr)
            return _signature(method, 1) if method is not None and not method.decorator_list else None
    return None


def _method(owner: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    return next((node for node in owner.body if isinstance(node, ast.FunctionDef) and node.name == name), None)


def _constructor(definition: ast.ClassDef) -> beta2.Symbol | None:
    """Parameters of ``__init__``, else the fields: all of them have a default (None) in the front end."""
    init = _method(definition, "__init__")
    if init is not None:
        return _signature(init, 1)
    if any(base.id == "Enum" for base in definition.bases if isinstance(base, ast.Name)):
        return None
    fields = [
        target.id
        for node in definition.body
        if isinstance(node, (ast.Assign, ast.AnnAssign))
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    ]
    return beta2.Symbol("class", tuple(beta2.Parameter(name, "None", False) for name in fields))


def _signature(function: ast.FunctionDef, skipped: int) -> beta2.Symbol | None:
    """The parameters of a function of the file; ``None`` where ``*args`` or ``**kwargs`` take anything."""
    arguments = function.args
    if arguments.vararg is not None or arguments.kwarg is not None:
        return None
    plain = [*arguments.posonlyargs, *arguments.args]
    defaulted = {parameter.arg for parameter in plain[len(plain) - len(arguments.defaults) :]}
    pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    defaulted |= {parameter.arg for parameter, default in pairs if default is not None}
    found = parameters(function)[skipped:]
    return beta2.Symbol("function", tuple(beta2.Parameter(p.arg, None, p.arg not in defaulted) for p in found))
