"""Python's state around control flow on the device: the body is traced once, whatever the device does.

Source: ``KLR/Trace/NKI.lean`` (``forLoop``, ``whileLoop`` and ``ifStm`` on a scalar): a loop's body is traced once for
all iterations, and of a branch on a register both sides are, one after the other.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from ..spec.grammar import nodes_of
from ..spec.versions import FUNCTION_LOOPS
from .model import RuleDoc, Violation, kernel
from .rules_loops import CHANGING_METHODS
from .rules_statements import is_dynamic, is_register
from .walk import Context, document, on, report

LOOP_STATE = document(
    RuleDoc(
        "NKL108",
        "state-of-a-dynamic-loop",
        "'{}' changes once, not in every iteration",
        "The body of a loop on the device is traced once, for all iterations: Python variables, lists and dictionaries "
        "do not change from one iteration to the next.",
        "Keep the state in a register or in a tensor.",
        bad=kernel("n = 0\nfor i in nl.dynamic_range(0, 4, 1):\n    n += 1\nreturn n"),
        good=kernel("for i in nl.dynamic_range(0, 4, 1):\n    n = 0\n    n += 1\nreturn y"),
        stage="ours",
    )
)
BRANCH_STATE = document(
    RuleDoc(
        "NKL109",
        "state-of-a-register-branch",
        "'{}' changes whatever the register holds",
        "The condition is known to the device only. Both sides of the branch are traced, so Python's state is what the "
        "last one leaves, and a return or break in it has no effect.",
        "Call instructions in the branches, and keep the state in a register or in a tensor.",
        bad=kernel("r = nisa.register_alloc(1)\nn = 0\nif r:\n    n = 1\nreturn n"),
        good=kernel("r = nisa.register_alloc(1)\nif r:\n    nisa.memset(dst=y, value=0.0)\nreturn y"),
        stage="ours",
    )
)
REGISTER_TRUTH = document(
    RuleDoc(
        "NKL110",
        "register-truth",
        "boolean conversion of scalar not supported",
        "A register is the whole condition of an if or a while; not, and, or, and conditional expressions are decided "
        "when the kernel is compiled.",
        "Nest the branches, or compute the condition with nki.isa and load it into a register.",
        bad=kernel("r = nisa.register_alloc(1)\nif not r:\n    nisa.memset(dst=y, value=0.0)\nreturn y"),
        good=kernel("r = nisa.register_alloc(1)\nif r:\n    pass\nelse:\n    nisa.memset(dst=y, value=0.0)\nreturn y"),
    )
)


@on(ast.For, ast.While)
def loop_state(node: ast.For | ast.While, context: Context) -> Iterator[Violation]:
    if is_dynamic(node, context):
        for name in carried(node)[:1]:
            yield report(LOOP_STATE, node, name)


@on(ast.FunctionDef, span=FUNCTION_LOOPS)
def body_state(node: ast.FunctionDef, context: Context) -> Iterator[Violation]:
    """The same for a function that a loop on the device calls."""
    if node is context.function and any(isinstance(above, ast.FunctionDef) for above in context.ancestors[:-1]):
        for name in carried(ast.While(ast.Constant(True), node.body, []))[:1]:
            yield report(LOOP_STATE, node, name)


@on(ast.If)
def branch_state(node: ast.If, context: Context) -> Iterator[Violation]:
    if is_register(node.test, context) and context.function is not None:
        for name in escaping(node, context.function)[:1]:
            yield report(BRANCH_STATE, node, name)


@on(ast.UnaryOp, ast.BoolOp, ast.IfExp, evaluated=True)
def register_truth(node: ast.UnaryOp | ast.BoolOp | ast.IfExp, context: Context) -> Iterator[Violation]:
    if isinstance(node, ast.BoolOp):
        tested = node.values
    else:
        tested = [node.test] if isinstance(node, ast.IfExp) else [node.operand] if isinstance(node.op, ast.Not) else []
    for test in tested:
        if is_register(test, context):
            yield report(REGISTER_TRUTH, test)


def carried(loop: ast.For | ast.While) -> list[str]:
    """Names that the body of ``loop`` changes and that the next iteration would see."""
    condition = [loop.test] if isinstance(loop, ast.While) else []
    events = [event for part in [*condition, *loop.body] for event in _events(part)]
    bound = {name for kind, name in events if kind == "stored"}
    fresh: set[str] = set()
    read: set[str] = set()
    found: dict[str, None] = {}
    for kind, name in events:
        if kind == "read" and name not in fresh:
            read.add(name)
        elif kind == "stored":
            if name in read:
                found[name] = None
            fresh.add(name)
        elif kind == "changed" and name not in bound:
            found[name] = None
    return list(found)


def escaping(branch: ast.If, function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """What the sides of ``branch`` change and the code outside of it sees."""
    outside = _read_outside(branch, function)
    found: dict[str, None] = {}
    for side in (branch.body, branch.orelse):
        events = [event for statement in side for event in _events(statement)]
        own = {name for kind, name in events if kind == "stored" and name not in outside}
        for kind, name in events:
            if (kind == "stored" and name in outside) or (kind == "changed" and name not in own):
                found[name] = None
        if any(isinstance(node, ast.Return) for statement in side for node in ast.walk(statement)):
            found["return"] = None
    return list(found)


def _read_outside(branch: ast.If, function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """The names that code outside of the sides of ``branch`` reads."""
    inside = Counter(name for statement in [*branch.body, *branch.orelse] for name in _names_read(statement))
    return {name for name, count in _reads(function).items() if count > inside[name]}


@lru_cache(maxsize=64)
def _reads(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Counter[str]:
    """How often a function reads each name."""
    return Counter(_names_read(function))


def _names_read(node: ast.AST) -> list[str]:
    return [n.id for n in nodes_of(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]


def _events(node: ast.AST) -> Iterator[tuple[str, str]]:
    """What ``node`` does to names, in the order of evaluation: ``read``, ``stored``, or ``changed`` in place."""
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        yield from _events(node.value) if node.value is not None else ()
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            yield from _events(target)
    elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        yield "read", node.target.id
        yield from _events(node.value)
        yield "stored", node.target.id
    elif isinstance(node, ast.For):
        for part in (node.iter, node.target, *node.body, *node.orelse):
            yield from _events(part)
    elif isinstance(node, ast.Name):
        yield ("read" if isinstance(node.ctx, ast.Load) else "stored"), node.id
    else:
        for child in ast.iter_child_nodes(node):
            yield from _events(child)
        changed = _changed(node)
        if changed is not None:
            yield "changed", changed


def _changed(node: ast.AST) -> str | None:
    """The name of the list, dictionary or object that ``node`` changes."""
    held: ast.expr | None = None
    if isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, ast.Store):
        held = node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGING_METHODS:
        held = node.func.value
    return held.id if isinstance(held, ast.Name) else None
