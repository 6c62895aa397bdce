"""What the source of a kernel says about its arguments: ranks, names of dimensions, asserts, documented shapes.

Only reads: nothing is imported or run. Sizes are symbols (``K``), numbers, or expressions of them (``H + 4``); a helper
of the same file that is given an argument is read for it, too.
"""

from __future__ import annotations

import ast
import copy
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from .suggest_docstrings import Dim, docstrings, documented_shapes
from .suggest_expressions import Unknown, evaluated

_DEPTH = 3
_ROUNDS = 3
"""How often names and shapes that are computed from each other are looked at."""
_TRIED = 384
"""A size that stands for each symbol while it is found out what the others tell."""
_RANGES = ("range", "affine_range", "sequential_range", "static_range")


@dataclass(frozen=True)
class Claim:
    """``parameter.shape`` is ``shape`` where all of ``conditions`` are true; so it is ``documented``, or asserted."""

    parameter: str
    shape: ast.expr
    conditions: tuple[ast.expr, ...] = ()
    documented: bool = False


Assigned = tuple[str, ast.expr, tuple[ast.expr, ...]]


class _Open:
    """A size that is not told yet: what depends on it is not, either."""

    __hash__ = None  # type: ignore[assignment]  # it is a key of nothing

    def __eq__(self, other: object) -> bool:
        raise Unknown


_OPEN = _Open()


@dataclass
class Facts:
    """``shapes``: parameter to its dimensions. ``tensors`` have tensor uses, those that are ``loaded`` whole ones,
    ``asserts`` must hold.

    ``assigned`` are the values of local names in source order, with the conditions that they stand under. ``loops``
    are how often loops run. ``axes`` is the number of axes of the launch grid. ``claims`` say what shapes are;
    ``whole`` are shapes that one expression tells. ``functions`` are those of the module, ``equal`` maps names of one
    size to the first of them. ``positive`` are names of sizes that are computed as differences.
    """

    shapes: dict[str, list[Dim]] = field(default_factory=dict)
    tensors: set[str] = field(default_factory=set)
    loaded: set[str] = field(default_factory=set)
    asserts: list[ast.expr] = field(default_factory=list)
    assigned: list[Assigned] = field(default_factory=list)
    loops: list[ast.expr] = field(default_factory=list)
    axes: int = 0
    claims: list[Claim] = field(default_factory=list)
    whole: dict[str, ast.expr] = field(default_factory=dict)
    functions: Mapping[str, ast.FunctionDef] = field(default_factory=dict)
    equal: Mapping[str, str] = field(default_factory=dict)
    positive: Sequence[str] = ()

    def with_loops(self, least: int) -> Facts:
        """These facts where every loop, too, must run ``least`` times or more."""
        return replace(self, asserts=[*self.asserts, *(at_least(count, least) for count in self.loops)])

    def same(self) -> dict[str, str]:
        """Names of dimensions that asserts say are one size: each to the first of them."""
        first: dict[str, str] = {}
        for test in self.asserts:
            if isinstance(test, ast.Compare) and all(isinstance(op, ast.Eq) for op in test.ops):
                names = [name for node in (test.left, *test.comparators) if (name := self._symbol(node))]
                for one, other in itertools.pairwise(names):
                    kept, gone = first.get(one, one), first.get(other, other)
                    first |= {name: kept for name in (*first, other) if first.get(name, name) == gone}
        return {name: kept for name, kept in first.items() if name != kept}

    def _symbol(self, node: ast.expr) -> str:
        """The name of the dimension that an expression is, ``K`` or ``x.shape[0]``; empty for any other."""
        if isinstance(node, ast.Name):
            return node.id if any(node.id in dims for dims in self.shapes.values()) else ""
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            dims = self.shapes.get(ast.unparse(node.value.value), [])
            index = _constant(node.slice)
            found = dims[index] if index is not None and -len(dims) <= index < len(dims) else ""
            return found if isinstance(found, str) and found.isidentifier() else ""
        return ""

    def values(self, sizes: Mapping[str, int], scalars: Mapping[str, object]) -> dict[str, object]:
        """All that the source tells with these sizes of dimensions: names, ``x.shape`` of the parameters."""
        found: dict[str, object] = {**scalars, **sizes}
        found |= {name: sizes[kept] for name, kept in self.equal.items() if kept in sizes}
        for _ in range(_ROUNDS):
            before = len(found)
            for name in (*self.shapes, *self.whole):
                shape = self._shape(name, found)
                if shape is not None:
                    found[f"{name}.shape"] = shape
            for name, expression, _ in self.assigned:
                if name not in found:
                    try:
                        value = evaluated(expression, found, self.functions)
                    except Unknown:
                        continue
                    found |= {} if _is_open(value) else {name: value}
            if len(found) == before:
                break
        return found

    def _shape(self, name: str, values: Mapping[str, object]) -> tuple[object, ...] | None:
        """The shape of a parameter; without a rank that is told, ``None``."""
        if name in self.whole:
            try:
                told = evaluated(self.whole[name], values, self.functions)
            except Unknown:
                return None
            return told if isinstance(told, tuple) else None
        return tuple(self.size(dim, values) for dim in self.shapes[name])

    def size(self, dim: Dim, values: Mapping[str, object]) -> object:
        """The size of a dimension; what nothing tells is open."""
        if isinstance(dim, int) or dim in values:
            return values[dim] if isinstance(dim, str) else dim
        try:
            return evaluated(_parsed(dim), values, self.functions)
        except Unknown:
            return _OPEN

    def resolved(self, scalars: Mapping[str, object]) -> Facts:
        """These facts with the shapes that claims tell, those under conditions that are true with ``scalars``."""
        found = replace(self, shapes={name: list(dims) for name, dims in self.shapes.items()}, whole=dict(self.whole))
        known = self.values({}, scalars)
        functions = self.functions
        found.assigned = [e for e in self.assigned if not any(_is(False, test, known, functions) for test in e[2])]
        for claim in self.claims:
            if all(_is(True, test, known, functions) for test in claim.conditions):
                found._apply(claim)
        needed = {
            name for test in (*found.asserts, *found.loops, *found.whole.values()) for name in found._reached(test)
        }
        needed |= {n for dims in found.shapes.values() for dim in dims for n in found._reached(_parsed(str(dim)))}
        assigned = [each for each in found.assigned if each[0] in needed]
        return replace(found, equal=found.same(), assigned=assigned)

    def _apply(self, claim: Claim) -> None:
        name = claim.parameter
        if isinstance(claim.shape, (ast.Tuple, ast.List)):
            dims = self.shapes.setdefault(name, [])
            parts = claim.shape.elts
            named = any(dim != f"{name}{n}" for n, dim in enumerate(dims))
            if len(dims) > len(parts) or (named and len(dims) < len(parts)):
                return
            dims += [f"{name}{n}" for n in range(len(dims), len(parts))]
            for n, part in enumerate(parts):
                number = _constant(part)
                told = dims[n] == f"{name}{n}" or (claim.documented and number is not None)
                if told and f"{name}.shape" not in self._reached(part):
                    dims[n] = ast.unparse(part) if number is None else number
        elif f"{name}.shape" not in self._reached(claim.shape) and name not in self.whole:
            dims = self.shapes.get(name, [])
            other = self.shapes.get(ast.unparse(claim.shape).removesuffix(".shape"), dims)
            generated = all(dim == f"{name}{n}" for n, dim in enumerate(dims)) and len(dims) <= len(other)
            self.whole |= {name: claim.shape} if generated else {}

    def _reached(self, node: ast.expr) -> set[str]:
        """The names and shapes that an expression is computed from, however indirectly."""
        assigned = {name: value for name, value, _ in reversed(self.assigned)}
        found: set[str] = set()
        left: list[ast.expr] = [node]
        while left:
            for inner in ast.walk(left.pop()):
                if not isinstance(inner, (ast.Name, ast.Attribute)):
                    continue
                text = ast.unparse(inner)
                if text in found:
                    continue
                found.add(text)
                owner = text.removesuffix(".shape")
                left += [assigned[text]] if text in assigned else []
                left += [self.whole[owner]] if owner in self.whole and owner != text else []
        return found

    def broken(self, scalars: Mapping[str, object]) -> int:
        """How many asserts cannot hold, whatever the sizes are."""
        values = self.values({}, scalars)
        return sum(_is(False, test, values, self.functions) for test in self.asserts)

    def names(self) -> set[str]:
        """The names that sizes are computed from or asserted of."""
        told = [*self.asserts, *self.loops, *self.whole.values(), *(value for _, value, _ in self.assigned)]
        dims = {name for dims in self.shapes.values() for dim in dims for name in _names(str(dim))}
        return dims | {node.id for each in told for node in ast.walk(each) if isinstance(node, ast.Name)}

    def constants(self) -> list[int]:
        """The numbers that asserts name, those that sizes are divided by, and twice each: sizes are often like that."""
        values = self.values({}, {})
        told = [*self.asserts, *self.loops, *(value for _, value, _ in self.assigned)]
        divisions = (n for each in told for n in ast.walk(each) if isinstance(n, ast.BinOp))
        divisors = [n.right for n in divisions if isinstance(n.op, (ast.FloorDiv, ast.Mod, ast.Div))]
        named = [n for test in self.asserts for n in ast.walk(test) if isinstance(n, ast.Constant)]
        found = (_known(node, values, self.functions) for node in (*named, *divisors))
        return sorted({size for number in found if type(number) is int and number > 2 for size in (number, 2 * number)})

    def symbols(self, tensors: Sequence[str], numbers: Sequence[str], scalars: Mapping[str, object]) -> list[str]:
        """The names of sizes that nothing else tells, of the shapes of ``tensors``; ``numbers`` are parameters."""
        dims = [dim for name in tensors if name not in self.whole for dim in self.shapes.get(name, [])]
        named = {name for dim in dims if isinstance(dim, str) for name in _names(dim)}
        assigned = {name for name, *_ in self.assigned}
        free = {self.equal.get(name, name) for name in named if name not in scalars}
        told = self.values(dict.fromkeys({*numbers, *free} - assigned, _TRIED), scalars)
        return sorted(name for name in free if type(told.get(name)) is not int or name not in assigned)


@cache
def _parsed(dim: str) -> ast.expr:
    return ast.parse(dim, mode="eval").body


def _names(dim: str) -> list[str]:
    return re.findall(r"(?<![\w.])[A-Za-z_]\w*(?![\w(.])", dim)


def _constant(node: ast.expr) -> int | None:
    """The whole number that an expression is, ``-1`` too."""
    try:
        value = evaluated(node, {})
    except Unknown:
        return None
    return value if type(value) is int else None


def _known(node: ast.expr, values: Mapping[str, object], functions: Mapping[str, ast.FunctionDef]) -> object:
    """The value of an expression, ``None`` where it is not known."""
    try:
        return evaluated(node, values, functions)
    except Unknown:
        return None


def _is_open(value: object) -> bool:
    return isinstance(value, _Open) or (isinstance(value, tuple) and any(_is_open(each) for each in value))


def _is(truth: bool, test: ast.expr, values: Mapping[str, object], functions: Mapping[str, ast.FunctionDef]) -> bool:
    """Is a condition known to be true, or false?"""
    try:
        return bool(evaluated(test, values, functions)) is truth
    except Unknown:
        return False


def at_least(count: ast.expr, least: int) -> ast.expr:
    return ast.Compare(count, [ast.GtE()], [ast.Constant(least)])


def facts_of(tree: ast.Module, kernel: ast.FunctionDef) -> Facts:
    """The facts of a kernel, with those of the helpers that get its parameters."""
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    facts = Facts(functions=functions)
    own = {n.id for n in ast.walk(kernel) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and not own & _bound(node.targets[0]):
            _read_assignment(node.targets[0], node.value, (), {}, facts)
    _read(kernel, {name: name for name in parameters(kernel)}, facts, _DEPTH)
    for name, dims in documented_shapes(docstrings(tree, kernel), parameters(kernel)).items():
        shape = ast.Tuple([_parsed(str(dim)) for dim in dims])
        facts.claims.append(Claim(name, shape, documented=True))
    return facts


def _bound(target: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}


def parameters(function: ast.FunctionDef) -> list[str]:
    arguments = function.args
    return [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def _read(function: ast.FunctionDef, names: Mapping[str, str], facts: Facts, depth: int) -> None:
    """Add what ``function`` says; ``names`` maps its own names to the kernel's parameters."""
    changed = {ast.unparse(node.target) for node in ast.walk(function) if isinstance(node, ast.AugAssign)}
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript):
            _read_subscript(node, names, facts)
        elif isinstance(node, ast.Attribute) and _parameter(node.value, names) and node.attr in ("shape", "dtype"):
            facts.tensors.add(names[ast.unparse(node.value)])
        elif isinstance(node, ast.Call):
            _read_call(node, names, facts, depth)
    own = dict(names)
    for statement, conditions in _under(function.body, ()):
        _read_statement(statement, conditions, own, facts)
        if isinstance(statement, ast.Assign) and _makes_anew(statement, own):
            own[ast.unparse(statement.targets[0])] += "_again"
    facts.assigned = [each for each in facts.assigned if each[0] not in changed]


def _makes_anew(statement: ast.Assign, names: Mapping[str, str]) -> bool:
    """Is a parameter bound to something that is made of it, ``q = q.reshape(...)``, and not to its default?"""
    name = statement.targets[0].id if isinstance(statement.targets[0], ast.Name) else ""
    used = {node.id for node in ast.walk(statement.value) if isinstance(node, ast.Name)}
    return name in names and name in used and not isinstance(statement.value, (ast.BoolOp, ast.IfExp))


def _under(
    body: Sequence[ast.stmt], conditions: tuple[ast.expr, ...]
) -> Iterator[tuple[ast.stmt, tuple[ast.expr, ...]]]:
    """All statements, each with the conditions that it stands under."""
    for statement in body:
        yield statement, conditions
        if isinstance(statement, ast.If):
            yield from _under(statement.body, (*conditions, statement.test))
            yield from _under(statement.orelse, (*conditions, ast.UnaryOp(ast.Not(), statement.test)))
            continue
        for part in ("body", "orelse", "finalbody"):
            inner = getattr(statement, part, None)
            yield from _under(inner, conditions) if isinstance(inner, list) else ()


def _read_statement(
    statement: ast.stmt, conditions: tuple[ast.expr, ...], names: Mapping[str, str], facts: Facts
) -> None:
    """What a statement says of sizes: a name of one, an ``assert``, when it raises, a loop that should run."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        under = tuple(_renamed(condition, names) for condition in conditions)
        _read_assignment(statement.targets[0], statement.value, under, names, facts)
    if isinstance(statement, ast.For) and isinstance(statement.iter, ast.Call):
        facts.loops += _count_of(statement.iter)
    tests: list[ast.expr] = []
    if isinstance(statement, ast.Assert):
        tests = list(_conjuncts(statement.test))
    elif isinstance(statement, ast.If) and isinstance(statement.body[-1], ast.Raise):
        tests = [ast.UnaryOp(ast.Not(), statement.test)]
    for test in tests:
        own = _renamed(test, names)
        under = tuple(_renamed(condition, names) for condition in conditions)
        facts.asserts.append(_implied(under, own))
        facts.claims += _claims(own, under)


def _renamed(test: ast.expr, names: Mapping[str, str]) -> ast.expr:
    """The expression with the kernel's names for its parameters."""
    if all(name == other for name, other in names.items()):
        return test
    made = copy.deepcopy(test)
    for node in ast.walk(made):
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
    return made


def _implied(conditions: tuple[ast.expr, ...], test: ast.expr) -> ast.expr:
    """``test``, which only has to hold where all the conditions do."""
    if not conditions:
        return test
    return ast.BoolOp(ast.Or(), [*(ast.UnaryOp(ast.Not(), condition) for condition in conditions), test])


def _claims(test: ast.expr, conditions: tuple[ast.expr, ...]) -> Iterator[Claim]:
    """``x.shape == (B, K)``, ``tuple(x.shape) == y.shape``."""
    if isinstance(test, ast.Compare) and all(isinstance(op, ast.Eq) for op in test.ops):
        for one, other in itertools.permutations((test.left, *test.comparators), 2):
            called = isinstance(one, ast.Call) and ast.unparse(one.func) in ("tuple", "list") and len(one.args) == 1
            owner = one.args[0] if called and isinstance(one, ast.Call) else one
            if isinstance(owner, ast.Attribute) and owner.attr == "shape" and isinstance(owner.value, ast.Name):
                yield Claim(owner.value.id, other, conditions)


def _count_of(iterable: ast.Call) -> list[ast.expr]:
    """How often a loop over ``range(n)``, or one like it, runs."""
    called = ast.unparse(iterable.func).rpartition(".")[2]
    return [iterable.args[0]] if called in _RANGES and len(iterable.args) == 1 else []


def _conjuncts(test: ast.expr) -> Iterator[ast.expr]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for part in test.values:
            yield from _conjuncts(part)
    else:
        yield test


def _parameter(node: ast.expr, names: Mapping[str, str]) -> str | None:
    return names.get(node.id) if isinstance(node, ast.Name) else None


def _shape_owner(node: ast.expr, names: Mapping[str, str]) -> str | None:
    """The parameter whose ``.shape`` the expression is."""
    if isinstance(node, ast.Attribute) and node.attr == "shape":
        return _parameter(node.value, names)
    return None


def _read_assignment(
    target: ast.expr, value: ast.expr, under: tuple[ast.expr, ...], names: Mapping[str, str], facts: Facts
) -> None:
    if isinstance(target, ast.Name):
        if target.id not in names:
            facts.assigned.append((target.id, _renamed(value, names), under))
        return
    if not isinstance(target, (ast.Tuple, ast.List)) or any(isinstance(e, ast.Starred) for e in target.elts):
        return
    owner = _shape_owner(value, names)
    if owner is None:
        facts.assigned += [(name, _renamed(part, names), under) for name, part in _unpacked(target.elts, value)]
        return
    names_of = [e.id if isinstance(e, ast.Name) and e.id != "_" else f"{owner}{n}" for n, e in enumerate(target.elts)]
    known = facts.shapes.get(owner, [])
    own = [n >= len(known) or known[n] == f"{owner}{n}" for n in range(len(names_of))]
    dims = [name if new else known[n] for n, (name, new) in enumerate(zip(names_of, own, strict=True))]
    facts.shapes[owner] = [*dims, *known[len(dims) :]]
    aliases = ((name, d) for name, d in zip(names_of, dims, strict=True) if isinstance(d, str) and name != d)
    facts.assigned += [(name, ast.Name(d), under) for name, d in aliases if not name.startswith(owner)]


def _unpacked(targets: Sequence[ast.expr], value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """The names of ``a, b = ...``, each with what it gets."""
    parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else None
    for n, each in enumerate(targets):
        if isinstance(each, ast.Name) and each.id != "_" and (parts is None or len(parts) == len(targets)):
            yield each.id, ast.Subscript(value, ast.Constant(n)) if parts is None else parts[n]


def _read_subscript(node: ast.Subscript, names: Mapping[str, str], facts: Facts) -> None:
    owner = _shape_owner(node.value, names)
    if owner and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int):
        dims = facts.shapes.setdefault(owner, [])
        while len(dims) <= node.slice.value:
            dims.append(f"{owner}{len(dims)}")
        return
    owner = _parameter(node.value, names)
    if owner:
        facts.tensors.add(owner)
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        dims = facts.shapes.setdefault(owner, [])
        if not any(isinstance(index, ast.Constant) and index.value in (None, ...) for index in indices):
            while len(dims) < len(indices):
                dims.append(f"{owner}{len(dims)}")


def _read_call(node: ast.Call, names: Mapping[str, str], facts: Facts, depth: int) -> None:
    called = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
    first = _parameter(node.args[0], names) if node.args else None
    if called in ("load", "load_transpose2d", "dma_copy") and first:
        facts.tensors.add(first)
        facts.loaded.add(first)
    if called in ("program_id", "num_programs"):
        axes = [
            argument.value
            for argument in (*node.args, *(keyword.value for keyword in node.keywords))
            if isinstance(argument, ast.Constant) and isinstance(argument.value, int)
        ]
        facts.axes = max(facts.axes, 1, *(axis + 1 for axis in axes))
    helper = facts.functions.get(called) if isinstance(node.func, ast.Name) else None
    if helper is None or depth == 0:
        return
    given = dict(zip(parameters(helper), node.args, strict=False))
    given |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    passed = {
        name: names[value.id] for name, value in given.items() if isinstance(value, ast.Name) and value.id in names
    }
    if passed:
        _read(helper, passed, facts, depth - 1)


def holds(facts: Facts, sizes: Mapping[str, int], scalars: Mapping[str, object]) -> bool:
    """Do all asserts hold that can be decided with these sizes of dimensions?"""
    values = facts.values(sizes, scalars)
    for test in facts.asserts:
        try:
            if not evaluated(test, values, facts.functions):
                return False
        except Unknown:
            continue
    return True
