"""Comprehensions of Python values, as loops that append to a list, or fill a dict with strings for keys; ``all`` and
``any`` of generators, as loops.

Only what a statement certainly evaluates, once, and before anything else that could change what it reads: then the
loop can stand in front of the statement. The loop's variable keeps its name where nothing else reads it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from . import algebra
from .access import operand
from .calls import call_value, module_function
from .compute import is_computation
from .declare import creation
from .emission import Refuse
from .facts.values import Hbm, Python, Tile
from .render import render
from .rules.language import CODE, plainer
from .scope import Scope

_TAKES_LIST = {"tuple", "list", "min", "max", "sum"}
_STARTS = {"all": "True", "any": "False"}
"""Functions that stop a generator when they know their result, and what the loop in its place starts with."""
_LACKING = {"sorted", "map", "filter", "zip", "enumerate", "reversed", "set", "dict"}
"""Functions of Python that Beta 2 does not have: the comprehension is the finding."""
_INDENT = "    "


def expand(scope: Scope, statement: ast.stmt) -> bool:
    """Write loops for the comprehensions of a statement in front of it.

    True when that is all of the statement: it only binds the list to a name, or throws it away.
    """
    if not isinstance(statement, ast.Assign | ast.Expr | ast.Return | ast.AnnAssign | ast.Assert):
        return False
    value = statement.value if isinstance(statement, ast.Assign | ast.Expr) else None
    whole = value is not None and next(_evaluated(scope, value), None) is value
    if value is not None and whole and (isinstance(statement, ast.Assign) or isinstance(value, ast.ListComp)):
        assert isinstance(value, _Listed)
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        names = [t.id for t in targets if isinstance(t, ast.Name)]
        if len(names) == len(targets) <= 1 and not set(names) & _names(value):
            _write(scope, value, "".join(names))
            scope.env.update(dict.fromkeys(names, Python()))
            return True
    roots = [n for n in ast.iter_child_nodes(statement) if isinstance(n, ast.expr)]
    for node in (found for root in roots for found in _evaluated(scope, root)):
        name = scope.fresh(_RESULTS.get(_builtin(scope, node), "values"))
        _write(scope, node, name)
        scope.env[name] = Python()
        scope.given[node] = f"({name})" if isinstance(node, ast.GeneratorExp) else name  # its text has the brackets
    return False


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


Comprehension = ast.ListComp | ast.GeneratorExp | ast.DictComp
_Listed = Comprehension | ast.Call
"""A comprehension, a call of ``all`` or ``any`` with one, or a ``range`` that becomes a list."""


def _builtin(scope: Scope, node: ast.expr) -> str:
    """The name of Python's own function that ``node`` calls; empty for anything else."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.keywords:
        return ""
    name = node.func.id
    known = scope.module.globals | set(scope.module.functions) | set(scope.module.imports) | set(scope.assigned)
    return name if name not in known else ""


def _evaluated(scope: Scope, node: ast.expr) -> Iterator[_Listed]:
    """Comprehensions that are evaluated whenever ``node`` is, generators where a list does the same."""
    name = _builtin(scope, node)
    stops = isinstance(node, ast.Call) and name in _STARTS and [*map(type, node.args)] == [ast.GeneratorExp]
    if isinstance(node, ast.ListComp | ast.DictComp) or (isinstance(node, ast.Call) and stops):
        yield node
    elif isinstance(node, ast.Call) and name not in _LACKING:
        takes = name in _TAKES_LIST and len(node.args) == 1
        counts = takes and _builtin(scope, node.args[0]) == "range"
        if counts and name == "list":
            yield node
            return
        for argument in node.args:
            if takes and (isinstance(argument, ast.GeneratorExp) or (isinstance(argument, ast.Call) and counts)):
                yield argument
            else:
                yield from _evaluated(scope, argument)
        for keyword in node.keywords:
            yield from _evaluated(scope, keyword.value)
    elif isinstance(node, ast.BoolOp):
        yield from _evaluated(scope, node.values[0])
    elif isinstance(node, ast.Tuple | ast.List | ast.BinOp | ast.UnaryOp | ast.Starred | ast.Subscript | ast.Compare):
        single = not isinstance(node, ast.Compare) or len(node.comparators) == 1
        for child in ast.iter_child_nodes(node) if single else ():
            if isinstance(child, ast.expr):
                yield from _evaluated(scope, child)


def _write(scope: Scope, node: _Listed, name: str) -> None:
    """Emit the loops of one comprehension. Without a name, the elements are only evaluated."""
    scope.apply(CODE, node)
    taken = _builtin(scope, node)
    if taken in ("list", "range"):
        assert isinstance(node, ast.Call)
        counted, item = node.args[0] if taken == "list" else node, scope.fresh("item")
        scope.emit(f"{name} = []\nfor {item} in {render(scope, counted)}:\n{_INDENT}{name}.append({item})")
        return
    inner = node.args[0] if isinstance(node, ast.Call) else node
    assert isinstance(inner, Comprehension)
    empty = "{}" if isinstance(node, ast.DictComp) else "[]"
    lines = [f"{name} = {_STARTS.get(taken, empty)}"] if name else []
    emitted = len(scope.out)
    lines += _loops(scope, inner, name, "", taken)
    if len(scope.out) != emitted:
        raise Refuse(node, CODE, "a comprehension whose elements take several instructions", plainer(node))
    scope.emit("\n".join(lines))


def _step(name: str, taken: str, element: str) -> list[str]:
    """What the loop does with one element."""
    if taken in _STARTS:
        test = f"not {algebra.paren(element)}" if taken == "all" else element
        return [f"if {test}:", f"{_INDENT}{name} = {taken == 'any'}"]
    return [f"{name}.append({element})" if name else element]


def _loops(scope: Scope, node: Comprehension, name: str, indent: str, taken: str = "") -> list[str]:
    saved, lines = dict(scope.env), []
    try:
        for generator in node.generators:
            iterable = _iterable(scope, generator.iter)
            for variable in _names(generator.target):
                _check_free(scope, node, variable)
                scope.env[variable] = Python()
            lines.append(f"{indent}for {scope.source.segment(generator.target)} in {iterable}:")
            indent += _INDENT
            if taken in _STARTS:  # a generator stops when the result is known
                lines.append(f"{indent}if {name if taken == 'all' else f'not {name}'}:")
                indent += _INDENT
            for test in generator.ifs:
                lines.append(f"{indent}if {_value(scope, test)}:")
                indent += _INDENT
        if isinstance(node, ast.DictComp):
            key, element = _key(scope, node.key), _value(scope, node.value)
            return [*lines, f"{indent}{name}[{key}] = {element}" if name else f"{indent}{element}"]
        if isinstance(node.elt, ast.ListComp) and name and not taken:
            inner = scope.fresh("row")
            return [
                *lines,
                f"{indent}{inner} = []",
                *_loops(scope, node.elt, inner, indent),
                f"{indent}{name}.append({inner})",
            ]
        element = _value(scope, node.elt)
        return [*lines, *(indent + line for line in _step(name, taken, element))]
    finally:
        scope.env = saved


def _iterable(scope: Scope, node: ast.expr) -> str:
    """What a comprehension runs over: every element, in Beta 1 too."""
    name = scope.qualified(node.func) if isinstance(node, ast.Call) else ""
    builtin = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"
    if isinstance(node, ast.Call) and name != "nl.static_range" and not builtin:
        raise Refuse(node, CODE, "a comprehension over the result of a call", "write a for loop over range(...)")
    return render(scope, node)


def _value(scope: Scope, node: ast.expr) -> str:
    """The text of an element or a condition, which must be a Python value."""
    if is_computation(scope, node) or creation(scope, node) is not None or operand(scope, node) is not None:
        raise Refuse(node, CODE, "a list comprehension of tensors", plainer(node))
    if isinstance(node, ast.Call) and module_function(scope, node) is not None:
        text, value = call_value(scope, node)
        if isinstance(value, Hbm | Tile):
            raise Refuse(node, CODE, "a list comprehension of tensors", plainer(node))
        return text
    return render(scope, node)


def _key(scope: Scope, node: ast.expr) -> str:
    """The text of a key, which Beta 2 wants to be a string."""
    text = isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
    made = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str"
    if not (text or made):
        raise Refuse(
            node, CODE, "a dict comprehension whose keys are not known to be strings", "use a list, or str(key)"
        )
    return _value(scope, node)


def _check_free(scope: Scope, comprehension: ast.AST, variable: str) -> None:
    """Raise :class:`Refuse` when something reads ``variable`` that the loop would bind differently."""
    own: set[ast.AST] = set()
    for node in ast.walk(scope.function):
        if isinstance(node, _COMPREHENSIONS) and any(variable in _names(g.target) for g in node.generators):
            own |= set(ast.walk(node)) - set(ast.walk(node.generators[0].iter))
        elif isinstance(node, ast.For) and variable in _names(node.target):
            inside = {n for s in node.body for n in ast.walk(s)}
            own |= inside if comprehension not in inside else set()
    for node in ast.walk(scope.function):
        if isinstance(node, ast.Name) and node.id == variable and isinstance(node.ctx, ast.Load) and node not in own:
            message = f"the variable '{variable}' of a comprehension has the name of another one"
            raise Refuse(comprehension, CODE, message, "give it a name of its own")


_RESULTS = {"all": "all_true", "any": "any_true"}
_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
