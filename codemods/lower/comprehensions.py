"""Comprehensions of Python values, as loops that append to a list, or fill a dict with strings for keys; ``all`` and
``any`` of generators, and lists of ``map`` and ``filter``, as loops; ``sorted``, ``min`` and ``max`` with a key, as
loops that list the keys.

Only what a statement certainly evaluates, once, and before anything else that could change what it reads: then the
loop can stand in front of the statement. The loop's variable keeps its name where nothing else reads it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ..analysis.maybe_tensors import may_be_no_number
from ..analysis.own_functions import own_function
from ..analysis.scope import Scope
from ..expr import algebra
from ..expr.emission import Refuse
from ..expr.values import Hbm, Python, Tile, Value
from ..render.expressions import render
from ..render.iteration import shortest
from ..render.number_keys import number_keyed
from ..render.support import keyed_function
from ..syntax.codes import LANGUAGE as CODE
from ..syntax.language_subset import plainer
from ..syntax.node_index import children, of_kinds, walk
from ..syntax.targets import Display, one_level, stem_of, tuple_of
from .access import operand
from .computations import is_computation
from .declare import creation
from .listed_tiles import loop_of_tiles, makes_tiles

_TAKES_LIST = {"tuple", "list", "min", "max", "sum", "sorted"}
_STARTS = {"all": "True", "any": "False"}
"""Functions that stop a generator when they know their result, and what the loop in its place starts with."""
_ORDERS = {"sorted": "ordered", "min": "least", "max": "greatest"}
"""Functions that take a key, and names for what they give."""
_LACKING = {"map", "filter", "zip", "enumerate", "reversed", "set", "dict"}
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
        names = _names_bound(statement, value)
        if names and isinstance(value, ast.ListComp) and makes_tiles(scope, value):
            _list_tiles(scope, value, names[0])
            return True
        if names is not None:
            scope.emit("\n".join(_lines(scope, value, "".join(names))))
            scope.names.env.update(dict.fromkeys(names, _held(scope, value)))
            return True
    if isinstance(statement, ast.Assert):
        return _expand_parts(scope, statement)
    roots = [n for n in children(statement) if isinstance(n, ast.expr)]
    for root in roots:
        _emit(_loops_before(scope, root), scope)
    return False


def _names_bound(statement: ast.stmt, value: ast.expr) -> list[str] | None:
    """The name that a statement binds to a list, if any; ``None`` where it does more, or the list reads that name."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    names = [t.id for t in targets if isinstance(t, ast.Name)]
    return names if len(names) == len(targets) <= 1 and not set(names) & _names(value) else None


def _list_tiles(scope: Scope, node: ast.ListComp, name: str) -> None:
    def head(level: ast.ListComp) -> tuple[list[str], set[str]]:
        generator = level.generators[0]
        header = _header(scope, level, generator)
        lines = [*header.before, f"for {header.variable} in {header.iterable}:", *_indented(header.parts, _INDENT)]
        return lines, {header.variable} | _names(generator.target)

    loop_of_tiles(scope, node, name, head)


def _emit(lines: list[str], scope: Scope) -> None:
    if lines:
        scope.emit("\n".join(lines))


def _expand_parts(scope: Scope, statement: ast.Assert) -> bool:
    """``assert a and b``: where ``b`` takes loops, they run between an assertion of ``a`` and one of ``b``."""
    ands = isinstance(statement.test, ast.BoolOp) and isinstance(statement.test.op, ast.And)
    parts = statement.test.values if ands else [statement.test]  # type: ignore[attr-defined]  # ands: a BoolOp
    for root in [*parts[:1], *filter(None, [statement.msg])]:
        _emit(_loops_before(scope, root), scope)
    held: list[ast.expr] = []
    for part in parts:
        lines = _loops_before(scope, part) if held else []
        if lines:
            _emit_assert(scope, statement, held)
            _emit(lines, scope)
            held = []
        held.append(part)
    if held == parts:
        return False
    _emit_assert(scope, statement, held)
    return True


def _emit_assert(scope: Scope, statement: ast.Assert, parts: list[ast.expr]) -> None:
    texts = [render(scope, part) for part in parts]
    test = " and ".join(algebra.paren(t) for t in texts) if len(texts) > 1 else texts[0]
    scope.emit(f"assert {test}" + (f", {render(scope, statement.msg)}" if statement.msg is not None else ""))


def _loops_before(scope: Scope, node: ast.expr) -> list[str]:
    """Loops for what an expression certainly evaluates; from here on it reads their results."""
    lines: list[str] = []
    for found in _evaluated(scope, node):
        name = scope.fresh(_result_name(scope, found, node))
        lines += _lines(scope, found, name)
        scope.names.env[name] = _held(scope, found)
        scope.output.given[found] = (
            f"({name})" if isinstance(found, ast.GeneratorExp) else name
        )  # its text has the brackets
    return lines


def _result_name(scope: Scope, found: ast.expr, node: ast.expr) -> str:
    """A name for what a loop gives to the expression that it was a part of."""
    order = _order(scope, found)
    if order:
        return _ORDERS[order]
    return _RESULTS.get(_builtin(scope, found), "values")


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in of_kinds(node, ast.Name)}


Comprehension = ast.ListComp | ast.GeneratorExp | ast.DictComp
_Listed = Comprehension | ast.Call
"""A comprehension, a call of ``all`` or ``any`` with one, one with a key, or a ``range`` or ``map`` that is listed."""


def _builtin(scope: Scope, node: ast.expr) -> str:
    """The name of Python's own function that ``node`` calls; empty for anything else."""
    return own_function(scope, node.func) if isinstance(node, ast.Call) and not node.keywords else ""


def _order(scope: Scope, node: ast.expr) -> str:
    """``sorted``, ``min`` or ``max`` where ``node`` calls it with a key; else nothing."""
    if not isinstance(node, ast.Call) or len(node.args) != 1 or [k.arg for k in node.keywords] != ["key"]:
        return ""
    name = own_function(scope, node.func)
    return name if name in _ORDERS and not isinstance(node.args[0], ast.Starred) else ""


def _of_arguments(scope: Scope, node: ast.Call, name: str) -> Iterator[_Listed]:
    """:func:`_evaluated` of a call's arguments; ``name`` is that of Python's function that is called, or nothing."""
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


def _evaluated(scope: Scope, node: ast.expr) -> Iterator[_Listed]:
    """Comprehensions that are evaluated whenever ``node`` is, generators where a list does the same."""
    name = _builtin(scope, node)
    stops = isinstance(node, ast.Call) and name in _STARTS and [*map(type, node.args)] == [ast.GeneratorExp]
    mapped = isinstance(node, ast.Call) and _mapped(scope, node) is not None
    if isinstance(node, ast.ListComp | ast.DictComp) or (isinstance(node, ast.Call) and (stops or mapped)):
        yield node
    elif isinstance(node, ast.Call) and _order(scope, node):
        yield from _evaluated(scope, node.args[0])
        yield node
    elif isinstance(node, ast.Call) and name not in _LACKING:
        yield from _of_arguments(scope, node, name)
    elif isinstance(node, ast.BoolOp):
        yield from _evaluated(scope, node.values[0])
    elif isinstance(node, ast.Tuple | ast.List | ast.BinOp | ast.UnaryOp | ast.Starred | ast.Subscript | ast.Compare):
        single = not isinstance(node, ast.Compare) or len(node.comparators) == 1
        for child in children(node) if single else ():
            if isinstance(child, ast.expr):
                yield from _evaluated(scope, child)


def _mapped(scope: Scope, node: ast.Call) -> ast.ListComp | None:
    """``list(map(lambda p: f, filter(lambda p: c, s)))`` as ``[f for p in s if c]``."""
    inner = node.args[0] if _builtin(scope, node) == "list" and len(node.args) == 1 else None
    element: ast.expr | None = None
    variable, tests = "", list[ast.expr]()
    while isinstance(inner, ast.Call) and _builtin(scope, inner) in ("map", "filter") and len(inner.args) == 2:
        function, inner_name = inner.args[0], _builtin(scope, inner)
        plain = isinstance(function, ast.Lambda) and len(list(walk(function.args))) == 2  # one parameter, no more
        if not plain or not isinstance(function, ast.Lambda) or not function.args.args:
            return None
        parameter = function.args.args[0]
        if variable not in ("", parameter.arg) or (inner_name == "map" and variable):
            return None
        target = ast.copy_location(ast.Name(parameter.arg, ast.Store()), parameter)
        variable = parameter.arg
        if inner_name == "map":
            element = function.body
        else:
            tests.insert(0, function.body)
        inner = inner.args[1]
    if not variable or inner is None:
        return None
    element = element or ast.copy_location(ast.Name(variable, ast.Load()), target)
    made = ast.ListComp(element, [ast.comprehension(target, inner, tests, 0)])
    return ast.copy_location(made, node)


def _lines(scope: Scope, node: _Listed, name: str) -> list[str]:
    """The loops of one comprehension. Without a name, the elements are only evaluated."""
    scope.apply(CODE, node)
    node = (_mapped(scope, node) or node) if isinstance(node, ast.Call) else node
    taken = _builtin(scope, node)
    if taken in ("list", "range"):
        assert isinstance(node, ast.Call)
        counted, item = node.args[0] if taken == "list" else node, scope.fresh("item")
        return [f"{name} = []", f"for {item} in {render(scope, counted)}:", f"{_INDENT}{name}.append({item})"]
    emitted = len(scope.output.lines)
    if _order(scope, node):
        assert isinstance(node, ast.Call)
        lines = _in_order(scope, node, name)
    else:
        inner = node.args[0] if isinstance(node, ast.Call) else node
        assert isinstance(inner, Comprehension)
        empty = "{}" if isinstance(node, ast.DictComp) else "[]"
        lines = [f"{name} = {_STARTS.get(taken, empty)}"] if name else []
        lines += _loops(scope, inner, name, taken)
    if len(scope.output.lines) != emitted:
        raise Refuse(node, CODE, "a comprehension whose elements take several instructions", plainer(node))
    return lines


def _indented(lines: list[str], indent: str) -> list[str]:
    return [indent + line for line in lines]


def _step(name: str, taken: str, element: str) -> list[str]:
    """What the loop does with one element."""
    if taken in _STARTS:
        test = f"not {algebra.paren(element)}" if taken == "all" else element
        return [f"if {test}:", f"{_INDENT}{name} = {taken == 'any'}"]
    return [f"{name}.append({element})" if name else element]


def _loops(scope: Scope, node: Comprehension, name: str, taken: str = "") -> list[str]:
    saved, lines, indent = dict(scope.names.env), [], ""
    try:
        for generator in node.generators:
            header = _header(scope, node, generator)
            lines += _indented([*header.before, f"for {header.variable} in {header.iterable}:"], indent)
            indent += _INDENT
            lines += _indented(header.parts, indent)
            if taken in _STARTS:  # a generator stops when the result is known
                lines.append(f"{indent}if {name if taken == 'all' else f'not {name}'}:")
                indent += _INDENT
            for test in generator.ifs:
                lines += _indented(_loops_before(scope, test), indent)
                lines.append(f"{indent}if {_value(scope, test)}:")
                indent += _INDENT
        if isinstance(node, ast.DictComp):
            lines += _indented([*_loops_before(scope, node.key), *_loops_before(scope, node.value)], indent)
            key, element = _key(scope, node), _value(scope, node.value)
            return [*lines, f"{indent}{name}[{key}] = {element}" if name else f"{indent}{element}"]
        lines += _indented(_loops_before(scope, node.elt), indent)
        element = _value(scope, node.elt)
        return [*lines, *_indented(_step(name, taken, element), indent)]
    finally:
        scope.names.env = saved


def _in_order(scope: Scope, node: ast.Call, name: str) -> list[str]:
    """``sorted(a, key=k)``, ``min`` or ``max``: the elements and their keys in lists, and a function that orders."""
    values, keys = scope.fresh("values"), scope.fresh("keys")
    iterable, saved = _iterable(scope, node.args[0]), dict(scope.names.env)
    try:
        item, before, key = _key_of(scope, node.keywords[0].value)
    finally:
        scope.names.env = saved
    step = [f"{values}.append({item})", *before, f"{keys}.append({key})"]
    function = keyed_function(scope, _order(scope, node))
    loop = [f"for {item} in {iterable}:", *_indented(step, _INDENT)]
    return [f"{values} = []", f"{keys} = []", *loop, f"{name} = {function}({values}, {keys})"]


def _key_of(scope: Scope, node: ast.expr) -> tuple[str, list[str], str]:
    """A name for an element, the loops that its key takes, and the key."""
    if isinstance(node, ast.Lambda):
        names = [a.arg for a in node.args.args]
        if len(names) == 1 and len(list(walk(node.args))) == 2:  # nothing but the one parameter
            item = _bound(scope, node, names[0])
            before = _loops_before(scope, node.body)
            return item, before, _value(scope, node.body)
    item = scope.fresh("item")
    if own_function(scope, node) in ("len", "abs"):
        return item, [], f"{own_function(scope, node)}({item})"
    if isinstance(node, ast.Attribute) and node.attr == "__getitem__" and isinstance(node.value, ast.Name):
        return item, [], f"{_value(scope, node.value)}[{item}]"
    raise Refuse(node, CODE, "a key that is no lambda of one parameter", "list the keys in a loop")


@dataclass(frozen=True)
class _Header:
    """The header of one loop: lines in front of it, its variable, what it runs over, and what its body starts with."""

    before: list[str]
    variable: str
    iterable: str
    parts: list[str]


def _header(scope: Scope, node: Comprehension, generator: ast.comprehension) -> _Header:
    call = generator.iter
    if isinstance(call, ast.Call) and _builtin(scope, call) == "zip" and call.args:
        return _zipped(scope, node, generator.target, call)
    before = _loops_before(scope, call)
    iterable = _iterable(scope, call)
    variable, parts = _target(scope, node, generator.target)
    return _Header(before, variable, iterable, parts)


def _zipped(scope: Scope, node: Comprehension, target: ast.expr, call: ast.Call) -> _Header:
    """A loop over the indices of the sequences of a ``zip``."""
    before, sources = [], []
    for argument in call.args:
        if isinstance(argument, ast.List | ast.Tuple) and all(operand(scope, e) is None for e in argument.elts):
            sources.append(scope.fresh("sequence"))
            before.append(f"{sources[-1]} = {render(scope, argument)}")
        elif isinstance(argument, ast.Name) and not isinstance(scope.names.env.get(argument.id), Tile | Hbm):
            sources.append(render(scope, argument))
        else:
            raise Refuse(argument, CODE, "a comprehension over a sequence that is no list with a name", plainer(node))
    if isinstance(target, ast.Tuple) and len(target.elts) != len(sources):
        raise Refuse(node, CODE, "a comprehension over zip(...) of another number of sequences", plainer(node))
    index = scope.fresh("index")
    elements = ", ".join(f"{source}[{index}]" for source in sources) + ("," if len(sources) == 1 else "")
    return _Header(before, index, f"range({shortest(sources)})", _taken_apart(scope, node, target, f"({elements})"))


def _target(scope: Scope, node: Comprehension, target: ast.expr) -> tuple[str, list[str]]:
    """The one variable of the loop for a generator, and what takes it apart where the generator has several."""
    if isinstance(target, ast.Name):
        return _bound(scope, node, target.id), []
    item = scope.fresh("item")
    return item, _taken_apart(scope, node, target, item)


def _taken_apart(scope: Scope, node: Comprehension, target: ast.expr, value: str) -> list[str]:
    """The assignments to the variables of a generator, of which Beta 2 takes one level at a time."""
    names = {n: _bound(scope, node, n.id) for n in of_kinds(target, ast.Name)}

    def text(element: ast.expr) -> str:
        return scope.source.segment(element, [(n, names[n]) for n in of_kinds(element, ast.Name)])

    if isinstance(target, ast.Name):
        return [f"{text(target)} = {value}"]
    is_tuple = isinstance(target, Display) and not any(isinstance(n, ast.Starred) for n in walk(target))
    split = None
    if isinstance(target, Display) and is_tuple:
        split = one_level(target.elts, text, lambda element: scope.fresh(stem_of(element)))
    if split is None:
        raise Refuse(target, CODE, "a comprehension with a starred target", plainer(node))
    return [f"{tuple_of(split[0])} = {value}", *split[1]]


def _iterable(scope: Scope, node: ast.expr) -> str:
    """What a comprehension runs over: every element, in Beta 1 too."""
    name = scope.qualified(node.func) if isinstance(node, ast.Call) else ""
    listed = node in scope.output.given or _builtin(scope, node) in ("range", "list", "tuple", "sorted")
    if isinstance(node, ast.Call) and name != "nl.static_range" and not listed:
        raise Refuse(node, CODE, "a comprehension over the result of a call", "write a for loop over range(...)")
    return render(scope, node)


def _value(scope: Scope, node: ast.expr) -> str:
    """The text of an element or a condition, which must be a Python value."""
    if is_computation(scope, node) or creation(scope, node) is not None or operand(scope, node) is not None:
        raise Refuse(node, CODE, "a list comprehension of tensors", plainer(node))
    if isinstance(node, ast.Call) and scope.evaluator.module_function(scope, node) is not None:
        text, value = scope.evaluator.call_value(scope, node)
        if isinstance(value, Hbm | Tile):
            raise Refuse(node, CODE, "a list comprehension of tensors", plainer(node))
        return text
    return render(scope, node)


def _key(scope: Scope, comprehension: ast.DictComp) -> str:
    """The text of a key, which Beta 2 wants to be a string."""
    node = comprehension.key
    if scope.place.statement is not None and number_keyed(scope, scope.place.statement) is comprehension:
        return f"str({_value(scope, node)})"
    text = isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
    made = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str"
    if not (text or made):
        raise Refuse(
            node, CODE, "a dict comprehension whose keys are not known to be strings", "use a list, or str(key)"
        )
    return _value(scope, node)


def _held(scope: Scope, node: ast.expr) -> Value:
    """What is known of the list that a comprehension makes."""
    return Value() if may_be_no_number(scope, node) else Python()


def _bound(scope: Scope, node: Comprehension | ast.Lambda, variable: str) -> str:
    """What the loop for a comprehension calls its variable: as it is called there, where nothing else reads that name.

    From here on the comprehension reads what it binds.
    """
    own = set(_inside(node, variable))
    scope.names.env[variable] = Python()
    if not _is_read_elsewhere(scope, node, variable, own):
        return variable
    if isinstance(node, Comprehension) and sum(variable in _names(g.target) for g in node.generators) > 1:
        message = f"the variable '{variable}' of a comprehension has the name of another one"
        raise Refuse(node, CODE, message, "give it a name of its own")
    name = scope.fresh(variable)
    scope.output.given.update(dict.fromkeys(own, name))
    scope.names.env[name] = Python()
    return name


def _inside(node: ast.AST, variable: str) -> Iterator[ast.expr]:
    """The names below a comprehension or lambda that mean the variable which it binds."""
    if isinstance(node, ast.Lambda):
        yield from _meant(node.body, variable)
    elif isinstance(node, _COMPREHENSIONS):
        for child in children(node):
            for part in [child] if isinstance(child, ast.expr) else children(child):
                if part is not node.generators[0].iter:
                    yield from _meant(part, variable)


def _meant(node: ast.AST, variable: str) -> Iterator[ast.expr]:
    """The names that mean the variable which is ``variable`` around ``node``."""
    if isinstance(node, ast.Name) and node.id == variable:
        yield node
    elif variable not in _binds(node):
        for child in children(node):
            yield from _meant(child, variable)
    elif isinstance(node, _COMPREHENSIONS):
        yield from _meant(node.generators[0].iter, variable)


def _binds(node: ast.AST) -> set[str]:
    """The names that a comprehension or lambda has for itself."""
    if isinstance(node, ast.Lambda):
        return {n.arg for n in of_kinds(node.args, ast.arg)}
    return {n for g in node.generators for n in _names(g.target)} if isinstance(node, _COMPREHENSIONS) else set()


def _is_read_elsewhere(scope: Scope, binder: ast.AST, variable: str, own: set[ast.expr]) -> bool:
    """Does the function read ``variable`` where the loop in place of ``binder`` may have bound it?"""
    others: set[ast.AST] = set(own)
    below = set(walk(binder))
    for node in walk(scope.function):
        if variable in _binds(node) and (node in below or binder not in set(walk(node))):
            others |= set(_inside(node, variable))
        elif isinstance(node, ast.For) and variable in _names(node.target):
            inside = {n for s in node.body for n in walk(s)}
            others |= inside if binder not in inside else set()
    names = (n for n in of_kinds(scope.function, ast.Name) if n.id == variable)
    return any(isinstance(name.ctx, ast.Load) and name not in others for name in names)


_RESULTS = {"all": "all_true", "any": "any_true"}
_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
