"""The kernels of a file, and what the file tells about the values that their sizes are made of."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .model import Program
from .names import Names
from .reading import read_kernel
from .values import UNKNOWN, evaluate

PLANNING = "TL_ASCEND_MEMORY_PLANNING"
PLANNING_KEY = "tl.ascend_memory_planning"
"""The pass configuration that turns reuse on, by its name and by its text."""


@dataclass(frozen=True)
class Worth:
    """The value of a name, and where it came from, for people."""

    value: object
    origin: str


@dataclass(frozen=True)
class Kernel:
    """One ``T.prim_func`` of a file. ``factory`` is the function that makes it; ``name`` is the factory's, or its own.

    ``values`` are the names that its sizes are made of, as far as they are known.
    """

    name: str
    function: ast.FunctionDef
    factory: ast.FunctionDef | None
    values: Mapping[str, Worth]
    reuses: bool
    pools: tuple[ast.Assign, ...] = ()

    @property
    def parameters(self) -> Mapping[str, Worth]:
        """What the factory gets, and where each value came from."""
        if self.factory is None:
            return {}
        arguments = self.factory.args
        names = [a.arg for a in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]]
        return {name: self.values.get(name, Worth(UNKNOWN, "")) for name in names}

    def program(self, names: Names, sized: bool = True) -> Program:
        """Its statements; raises :class:`~.declarations.Unreadable`. ``sized``: every size must be known."""
        known = {name: worth.value for name, worth in self.values.items()}
        return read_kernel(self.function, known, names, self.pools, sized=sized)


def kernels_of(tree: ast.Module, names: Names, given: Mapping[str, object] | None = None) -> list[Kernel]:
    """The kernels of a file in source order; ``given`` are values that the user gives, which win over the file's."""
    known = {name: Worth(value, "given") for name, value in (given or {}).items()}
    constants = _constants(tree.body, known, known, names, "constant of the file")
    pools = pool_statements(tree, names)
    found = []
    for node in _definitions(tree.body):
        if _is_kernel(node, names):
            found.append(Kernel(node.name, node, None, constants, False, pools))
            continue
        inner = [item for item in _definitions(node.body) if _is_kernel(item, names)]
        for item in inner:
            values = _factory_values(tree, node, constants, known, names)
            name = node.name if len(inner) == 1 else f"{node.name}.{item.name}"
            found.append(Kernel(name, item, node, values, _reuses(tree, node, names), pools))
    return found


def pool_statements(tree: ast.Module, names: Names) -> tuple[ast.Assign, ...]:
    """The memory pools that a file makes outside of its kernels."""
    made = [s for s in tree.body if isinstance(s, ast.Assign) and isinstance(s.value, ast.Call)]
    return tuple(s for s in made if isinstance(s.value, ast.Call) and names(s.value.func) == "memory_pool")


def _definitions(body: list[ast.stmt]) -> Iterator[ast.FunctionDef]:
    """The functions of a block, those in its conditions included, those in other functions not."""
    for statement in body:
        if isinstance(statement, ast.FunctionDef):
            yield statement
        elif isinstance(statement, (ast.If, ast.With, ast.Try, ast.For)):
            for name in ("body", "orelse", "finalbody"):
                yield from _definitions(getattr(statement, name, []))


def _is_kernel(node: ast.FunctionDef, names: Names) -> bool:
    return any(names(_callee(decorator)) == "prim_func" for decorator in node.decorator_list)


def _callee(node: ast.expr) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node


def _constants(
    body: list[ast.stmt], start: Mapping[str, Worth], known: Mapping[str, Worth], names: Names, origin: str
) -> dict[str, Worth]:
    """``start``, and the values that the statements of ``body`` give, in their order; what is ``known`` stays."""
    reader = _Assignments(dict(start), known, names, origin)
    reader.block(body)
    return reader.found


class _Assignments:
    """The names that a block of statements binds, with their values; no call of the user's is followed."""

    def __init__(self, found: dict[str, Worth], known: Mapping[str, Worth], names: Names, origin: str) -> None:
        self.found, self.known, self.names, self.origin = found, known, names, origin
        self.parsers: dict[str, dict[str, object]] = {}

    def block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Expr):
            _note_option(node.value, self.parsers)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self.assign(target, node.value)
                _parse(target, node.value, self.parsers, self.found)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self.assign(node.target, node.value)
        elif isinstance(node, ast.If) and (test := self.worth(node.test)) is not UNKNOWN:
            self.block(node.body if test else node.orelse)
        elif isinstance(node, (ast.If, ast.For, ast.While, ast.Try, ast.With, ast.AugAssign)):
            for part in ast.walk(node):
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                    self.bind(part.id, UNKNOWN)

    def worth(self, node: ast.expr) -> object:
        return evaluate(node, {name: worth.value for name, worth in self.found.items()}, self.names)

    def bind(self, name: str, value: object) -> None:
        if name not in self.known:
            self.found[name] = Worth(value, self.origin)

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.bind(target.id, self.worth(value))
        elif isinstance(target, (ast.Tuple, ast.List)):
            values = self.worth(value)
            items = list(values) if isinstance(values, (tuple, list)) else []
            for index, one in enumerate(target.elts):
                if isinstance(one, ast.Name):
                    self.bind(one.id, items[index] if len(items) == len(target.elts) else UNKNOWN)


def _note_option(node: ast.expr, parsers: dict[str, dict[str, object]]) -> None:
    """``parser.add_argument("--m", default=1024)``."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument"):
        return
    if not isinstance(node.func.value, ast.Name):
        return
    texts = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    named = next((k.value.value for k in node.keywords if k.arg == "dest" and isinstance(k.value, ast.Constant)), None)
    long = next((text for text in texts if text.startswith("--")), texts[0] if texts else None)
    key = named if isinstance(named, str) else (long or "").lstrip("-").replace("-", "_")
    default = next((k.value for k in node.keywords if k.arg == "default"), None)
    if key and default is not None:
        parsers.setdefault(node.func.value.id, {})[key] = evaluate(default, {}, lambda _: None)


def _parse(
    target: ast.expr, value: ast.expr, parsers: Mapping[str, Mapping[str, object]], found: dict[str, Worth]
) -> None:
    """``args = parser.parse_args()``: what the options are without a command line."""
    if not (isinstance(target, ast.Name) and isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute)):
        return
    if value.func.attr in ("parse_args", "parse_known_args") and isinstance(value.func.value, ast.Name):
        for key, default in parsers.get(value.func.value.id, {}).items():
            found[f"{target.id}.{key}"] = Worth(default, f"default of --{key.replace('_', '-')}")


def _factory_values(
    tree: ast.Module, factory: ast.FunctionDef, constants: Mapping[str, Worth], given: Mapping[str, Worth], names: Names
) -> Mapping[str, Worth]:
    """What is known inside of a factory: what is given, what the file calls it with, its defaults and assignments."""
    plain = {name: worth.value for name, worth in constants.items()}
    arguments = factory.args
    parameters = [a.arg for a in [*arguments.posonlyargs, *arguments.args]]
    own: dict[str, Worth] = {name: Worth(UNKNOWN, "") for name in parameters}
    own |= {a.arg: Worth(UNKNOWN, "") for a in arguments.kwonlyargs}
    for name, default in zip(reversed(parameters), reversed(arguments.defaults), strict=False):
        own[name] = Worth(evaluate(default, plain, names), "default of the parameter")
    for argument, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if value is not None:
            own[argument.arg] = Worth(evaluate(value, plain, names), "default of the parameter")
    call, around = _call_of(tree, factory)
    if call is not None:
        here = {**constants, **_constants(around.body, constants, given, names, "")} if around else constants
        at_call = {name: worth.value for name, worth in here.items()}
        pairs = [*zip(parameters, call.args, strict=False), *((k.arg, k.value) for k in call.keywords)]
        for key, node in pairs:
            if key in own and not isinstance(node, ast.Starred):
                own[key] = Worth(evaluate(node, at_call, names), f"call in line {call.lineno}")
    own |= {name: worth for name, worth in given.items() if name in own}
    return _constants(factory.body, {**constants, **own, **given}, given, names, "computed")


def _call_of(tree: ast.Module, factory: ast.FunctionDef) -> tuple[ast.Call | None, ast.FunctionDef | None]:
    """The first call of the factory in the file, outside of the factory itself, and the function that it stands in."""
    around: dict[int, ast.FunctionDef] = {}
    for function in tree.body:
        if isinstance(function, ast.FunctionDef):
            around |= {id(node): function for node in ast.walk(function)}
    calls = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == factory.name
        and around.get(id(node)) is not factory
    ]
    first = min(calls, key=lambda node: node.lineno, default=None)
    return first, around.get(id(first))


def jit_decorator(factory: ast.FunctionDef, names: Names) -> ast.expr | None:
    """The ``@tilelang.jit`` of a factory."""
    for decorator in factory.decorator_list:
        if names.qualified(_callee(decorator)) in ("tilelang.jit", "tilelang.jit.jit"):
            return decorator
    return None


def pass_configuration(tree: ast.Module, decorator: ast.expr | None) -> ast.Dict | None:
    """The dictionary behind ``pass_configs=`` of a decorator, written there or in a variable of the file."""
    if not isinstance(decorator, ast.Call):
        return None
    value = next((k.value for k in decorator.keywords if k.arg == "pass_configs"), None)
    if isinstance(value, ast.Name):
        bound = [s for s in tree.body if isinstance(s, ast.Assign) and any(_is_name(t, value.id) for t in s.targets)]
        value = bound[0].value if len(bound) == 1 else None
    return value if isinstance(value, ast.Dict) else None


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def is_planning_key(node: ast.expr | None) -> bool:
    """Does a key of a pass configuration name the planner that reuses memory?"""
    if isinstance(node, ast.Attribute):
        return node.attr == PLANNING
    return isinstance(node, ast.Constant) and node.value == PLANNING_KEY


def _reuses(tree: ast.Module, factory: ast.FunctionDef, names: Names) -> bool:
    configuration = pass_configuration(tree, jit_decorator(factory, names))
    if configuration is None:
        return False
    for key, value in zip(configuration.keys, configuration.values, strict=True):
        if is_planning_key(key):
            return isinstance(value, ast.Constant) and bool(value.value)
    return False
