"""Statements that the front end does not have."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .model import RuleDoc, Violation, kernel
from .names import Function, Module, is_dotted
from .walk import Context, document, on, report

NO_FUNCTION = document(
    RuleDoc(
        "NKL001",
        "inner-function",
        "NKI does not support inner function definitions. Move function definition outside this function.",
        "The front end reads functions of the module level only: a function inside a function would be a closure.",
        "Move the function to the module level and give it what it captured as parameters.",
        bad=kernel("""
            def row(i):
                return y + i

            return row(0)
            """),
        good="def row(y, i):\n    return y + i\n\n\n" + kernel("return row(y, 0)"),
        stage="gather",
    )
)
NO_CLASS = document(
    RuleDoc(
        "NKL002",
        "inner-class",
        "NKI does not support 'class' definitions within a function. Move class definition outside this function.",
        "The front end reads classes of the module level only.",
        "Move the class to the module level.",
        bad=kernel("""
            class Shape(nl.NKIObject):
                rows: int = 1

            return Shape()
            """),
        good="class Shape(nl.NKIObject):\n    rows: int = 1\n\n\n" + kernel("return Shape()"),
        stage="gather",
    )
)
NO_DEL = document(
    RuleDoc(
        "NKL010",
        "del",
        "NKI does not support 'del' statements at this time.",
        "Names live until the end of their function, storage until nothing reads it.",
        "Delete the statement; remove dictionary entries with pop().",
        bad=kernel("""
            tile = nl.ndarray((128, 512), nl.float32, buffer=nl.sbuf)
            del tile
            """),
        good=kernel("tile = nl.ndarray((128, 512), nl.float32, buffer=nl.sbuf)"),
        stage="gather",
    )
)
NO_TYPE = document(
    RuleDoc(
        "NKL011",
        "type-statement",
        "NKI does not support 'type' statements at this time.",
        "Annotations mean nothing in a kernel, so their names are of no use there.",
        "Move the statement to the module level.",
        bad=kernel("type Pair = tuple[int, int]\nreturn x"),
        good=kernel("return x"),
        stage="gather",
    )
)
NO_ASYNC = document(
    RuleDoc(
        "NKL012",
        "async",
        "NKI does not support 'async'. Use only synchronous functions within kernels.",
        "A kernel is traced from its first statement to its last; there is nothing to wait for.",
        "Write plain functions, loops and with statements.",
        bad=kernel("""
            async def wait():
                return x
            """),
        good=kernel("return x"),
        stage="gather",
    )
)
NO_MATCH = document(
    RuleDoc(
        "NKL013",
        "match",
        "NKI does not support 'match' statements at this time. Use 'if/elif' or dict lookups instead.",
        "The front end has no patterns.",
        "Write a chain of if and elif.",
        bad=kernel("""
            match y:
                case 0:
                    return x
            """),
        good=kernel("if y == 0:\n    return x"),
        stage="gather",
    )
)
NO_RAISE = document(
    RuleDoc(
        "NKL014",
        "raise",
        "NKI does not support 'raise' statements. Use 'if/else' control flow within kernels, or 'assert' for fatal "
        "errors.",
        "The front end has no exceptions.",
        "Write an assert with the message, or nkilib's kernel_assert(condition, message).",
        bad=kernel('if y > 128:\n    raise ValueError("too many rows")'),
        good=kernel('assert y <= 128, "too many rows"'),
        stage="gather",
    )
)
NO_TRY = document(
    RuleDoc(
        "NKL015",
        "try",
        "NKI does not support 'try' statements. Use 'if/else' control flow within kernels.",
        "The front end has no exceptions.",
        "Test the condition with if before the operation that could fail.",
        bad=kernel("""
            try:
                rows = x.shape[0]
            except IndexError:
                rows = 1
            """),
        good=kernel("rows = x.shape[0] if len(x.shape) > 0 else 1"),
        stage="gather",
    )
)
NO_IMPORT = document(
    RuleDoc(
        "NKL016",
        "inner-import",
        "NKI does not support 'import' statements within a function. Move 'import' outside this function.",
        "The front end looks names up in the module of the function.",
        "Move the import to the top of the file.",
        bad=kernel("import math\nreturn math.ceil(1.5)"),
        good="import math\n\n\n" + kernel("return math.ceil(1.5)"),
        stage="gather",
    )
)
NO_GLOBAL = document(
    RuleDoc(
        "NKL017",
        "global",
        "NKI does not support 'global' statements. Kernels cannot assign to global variables. "
        "Pass a dict between functions to share state.",
        "Module-level variables are constants in a kernel.",
        "Pass a dictionary or an NKIObject to the functions that share the state.",
        bad="count = 0\n\n\n" + kernel("global count\ncount = 1"),
        good=kernel('state = {"count": 0}\nstate["count"] = 1'),
        stage="gather",
    )
)
NO_NONLOCAL = document(
    RuleDoc(
        "NKL018",
        "nonlocal",
        "NKI does not support 'nonlocal' statements. Kernels cannot assign to variables in nonlocal scope. "
        "Pass a dict between functions to share state.",
        "There are no inner functions, so there is no scope in between.",
        "Pass a dictionary or an NKIObject to the functions that share the state.",
        bad="def make():\n    count = 0\n\n    @nki.jit\n    def kernel(x):\n        nonlocal count\n        return "
        "x\n",
        good=kernel('state = {"count": 0}\nstate["count"] = 1'),
        stage="gather",
    )
)
NO_LOOP_ELSE = document(
    RuleDoc(
        "NKL020",
        "loop-else",
        "{}-orelse is not supported in NKI",
        "Loops have no else branch.",
        "Set a variable in the loop and test it afterwards.",
        bad=kernel("""
            for i in range(4):
                pass
            else:
                pass
            """),
        good=kernel("for i in range(4):\n    pass"),
        stage="simplify",
    )
)
LOOP_TARGET = document(
    RuleDoc(
        "NKL021",
        "loop-target",
        "expecting simple variable",
        "A for loop binds one name.",
        "Bind one name and take it apart in the body.",
        bad=kernel("for a, b in [(1, 2), (3, 4)]:\n    pass"),
        good=kernel("for pair in [(1, 2), (3, 4)]:\n    a, b = pair"),
        stage="simplify",
    )
)
WITH = document(
    RuleDoc(
        "NKL022",
        "with",
        "invalid with context {} (only no_reorder is supported)",
        "The only context that a kernel can enter is no_reorder(), without arguments and without a name.",
        "Write the entry and the exit as calls, or drop the statement.",
        bad=kernel("with nl.program_ndim():\n    pass"),
        good=kernel("with nl.no_reorder():\n    pass"),
        stage="simplify",
    )
)
ASSIGNMENT = document(
    RuleDoc(
        "NKL023",
        "assignment-target",
        "expecting {}",
        "A tuple on the left of an assignment may hold names and tuples of names. Elements and attributes are "
        "assigned one at a "
        "time, and a list on the left is taken for an element.",
        "Assign to names first, then each element or attribute in a statement of its own.",
        bad=kernel("rows = [1, 2]\nrows[0], rows[1] = 3, 4"),
        good=kernel("rows = [1, 2]\nrows[0] = 3\nrows[1] = 4"),
        stage="simplify",
    )
)
IMMUTABLE = document(
    RuleDoc(
        "NKL024",
        "attribute-of-attribute",
        "{} is immutable",
        "The front end finds the object of an attribute assignment by a plain name.",
        "Bind the inner object to a name, then assign to its attribute.",
        bad="class Inner(nl.NKIObject):\n    rows: int = 1\n\n\nclass Outer(nl.NKIObject):\n    def __init__(self):\n"
        "        self.inner = Inner()\n        self.inner.rows = 2\n\n\n" + kernel("return Outer()"),
        good="class Inner(nl.NKIObject):\n    rows: int = 1\n\n\nclass Outer(nl.NKIObject):\n    def "
        "__init__(self):\n"
        "        inner = Inner()\n        inner.rows = 2\n        self.inner = inner\n\n\n" + kernel("return Outer()"),
    )
)
DYNAMIC_EXIT = document(
    RuleDoc(
        "NKL025",
        "leaving-a-dynamic-loop",
        "{} not allowed within dynamic loop",
        "A dynamic loop runs on the device; its body is traced once, for all iterations.",
        "Use a static loop, or let the loop run to its end.",
        bad=kernel("for i in nl.dynamic_range(0, 4, 1):\n    return x"),
        good=kernel("for i in nl.dynamic_range(0, 4, 1):\n    pass\nreturn x"),
    )
)
RANGE = document(
    RuleDoc(
        "NKL026",
        "range-arguments",
        "invalid range arguments",
        "A range takes one, two or three arguments, by position.",
        "Pass the bounds and the step by position.",
        bad=kernel("for i in nl.affine_range():\n    pass"),
        good=kernel("for i in nl.affine_range(4):\n    pass"),
        stage="simplify",
    )
)

_REFUSED: dict[str, RuleDoc] = {
    "FunctionDef": NO_FUNCTION,
    "ClassDef": NO_CLASS,
    "Delete": NO_DEL,
    "TypeAlias": NO_TYPE,
    "AsyncFunctionDef": NO_ASYNC,
    "AsyncFor": NO_ASYNC,
    "AsyncWith": NO_ASYNC,
    "Match": NO_MATCH,
    "Raise": NO_RAISE,
    "Try": NO_TRY,
    "TryStar": NO_TRY,
    "Import": NO_IMPORT,
    "ImportFrom": NO_IMPORT,
    "Global": NO_GLOBAL,
    "Nonlocal": NO_NONLOCAL,
}


@on(*(getattr(ast, name) for name in _REFUSED if hasattr(ast, name)))
def refused_statement(node: ast.AST, context: Context) -> Iterator[Violation]:
    """A statement that the front end refuses as a whole; the judged function itself is not one, unless it is async."""
    if isinstance(node, ast.AsyncFunctionDef) or (node is not context.function and node is not context.item.node):
        yield report(_REFUSED[type(node).__name__], node)


@on(ast.For, ast.While)
def loop_else(node: ast.For | ast.While, context: Context) -> Iterator[Violation]:
    if node.orelse:
        yield report(NO_LOOP_ELSE, node, "for" if isinstance(node, ast.For) else "while")


@on(ast.For)
def loop_target(node: ast.For, context: Context) -> Iterator[Violation]:
    if not isinstance(node.target, ast.Name):
        yield report(LOOP_TARGET, node.target)


@on(ast.For)
def range_arguments(node: ast.For, context: Context) -> Iterator[Violation]:
    call = node.iter
    if is_range(call, context) and isinstance(call, ast.Call) and not call.keywords and not 1 <= len(call.args) <= 3:
        yield report(RANGE, call)


def is_range(node: ast.expr, context: Context) -> bool:
    """Is ``node`` a call of Python's ``range`` or of a range of ``nki.language``?"""
    if not isinstance(node, ast.Call):
        return False
    symbol = context.symbol(node.func)
    return (symbol is not None and "range" in symbol.roles) or is_python_range(node.func, context)


def is_python_range(node: ast.expr, context: Context) -> bool:
    is_builtin = isinstance(node, ast.Name) and node.id not in context.local and not context.module.binds(node.id)
    return is_builtin and isinstance(node, ast.Name) and node.id == "range"


@on(ast.With)
def with_context(node: ast.With, context: Context) -> Iterator[Violation]:
    message = _with_problem(node, context)
    if message:
        yield report(WITH, node, message=message)


def _with_problem(node: ast.With, context: Context) -> str:
    """What the front end says to a ``with`` statement; empty for ``no_reorder()``."""
    call = node.items[0].context_expr
    if len(node.items) != 1 or not isinstance(call, ast.Call):
        return "NKI only supports with statements with a single, simple function call as context"
    if node.items[0].optional_vars is not None:
        return "NKI does not support name bindings in with statements"
    if not isinstance(call.func, (ast.Name, ast.Attribute)):
        return "NKI only allows simple function calls as with contexts"
    if call.args or call.keywords:
        return "NKI does not support function call arguments in with contexts"
    name = context.qualified(call.func) or ast.unparse(call.func)
    return "" if name.rpartition(".")[2] == "no_reorder" else WITH.message.format(name)


@on(ast.Assign)
def assignment_targets(node: ast.Assign, context: Context) -> Iterator[Violation]:
    """``a[0], b = ...``, ``[a, b] = ...``, ``a[0] = b[0] = ...``."""
    if sum(isinstance(target, (ast.Subscript, ast.Attribute, ast.List)) for target in node.targets) > 1:
        yield report(ASSIGNMENT, node, message="mutating assignments must be in separate statements")
    for target in node.targets:
        if isinstance(target, ast.List):
            yield report(ASSIGNMENT, target, message="mutation not supported")
        elif isinstance(target, ast.Tuple):
            yield from _pattern(target)


def _pattern(target: ast.Tuple) -> Iterator[Violation]:
    for element in target.elts:
        if isinstance(element, ast.Tuple):
            yield from _pattern(element)
        elif isinstance(element, ast.Attribute):
            yield report(ASSIGNMENT, element, "simple variable")
        elif not isinstance(element, (ast.Name, ast.Starred)):
            yield report(ASSIGNMENT, element, "pattern")


@on(ast.Assign, ast.AugAssign, ast.AnnAssign)
def attribute_of_attribute(node: ast.Assign | ast.AugAssign | ast.AnnAssign, context: Context) -> Iterator[Violation]:
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Attribute) and is_dotted(target):
            yield report(IMMUTABLE, target, ast.unparse(target))


@on(ast.Break, ast.Continue, ast.Return)
def leaving_dynamic_loop(node: ast.Break | ast.Continue | ast.Return, context: Context) -> Iterator[Violation]:
    """``return`` under any dynamic loop, ``break`` and ``continue`` where the innermost loop is dynamic."""
    loops = [above for above in context.ancestors if isinstance(above, (ast.For, ast.While))]
    if not isinstance(node, ast.Return):
        loops = loops[-1:]
    if any(is_dynamic(loop, context) for loop in loops):
        yield report(DYNAMIC_EXIT, node, type(node).__name__.lower())


def is_dynamic(loop: ast.For | ast.While, context: Context) -> bool:
    """Is ``loop`` a loop on the device: over ``dynamic_range``, or while a register is not zero?"""
    if isinstance(loop, ast.For):
        call = loop.iter
        name = context.qualified(call.func) if isinstance(call, ast.Call) else None
        return (name or "").endswith(".dynamic_range")
    return is_register(loop.test, context)


def is_register(node: ast.expr, context: Context) -> bool:
    """Is ``node`` a name that ``register_alloc`` binds?"""
    if not isinstance(node, ast.Name) or context.function is None:
        return False
    return node.id in context.module.remembered(_register_names, context.function)


def _register_names(function: Function, module: Module) -> frozenset[str]:
    return frozenset(
        target.id
        for node in module.own_nodes(function)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and module.qualified(node.value.func) == "nki.isa.register_alloc"
        for target in node.targets
        if isinstance(target, ast.Name)
    )
