"""What a kernel closes over: sizes, index vectors, functions and arrays of the function that makes it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ...expr.emission import Refuse
from ...project.program import Module
from ...syntax.codes import NESTED_FUNCTIONS as CODE
from ...syntax.local_names import bound_here, free_names, local_names, names_inside, own_statements
from ...syntax.names import canonical, dotted
from ...syntax.node_index import of_kinds, walk
from ...syntax.nodes import first_line

Around = Sequence[ast.FunctionDef | ast.ClassDef]
_HELP = "make it a function of the module, and pass it these as arguments; then migrate it"
_ARRAYS = frozenset(("ones", "zeros", "full", "tril", "triu", "identity", "eye"))
"""NumPy's arrays that a kernel can make itself (rule NKI026)."""
_CONSTANT = "nl.shared_constant"
_CHANGEABLE = ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp


@dataclass
class Closure:
    """A kernel in a function, and what becomes of each name that it closes over.

    ``sizes`` become parameters, in the order in which the kernel reads them. ``moved`` are statements of the function
    that go with the kernel (index vectors, functions), ``arrays`` the text of constants by the node that names them.
    """

    module: Module
    around: tuple[ast.FunctionDef | ast.ClassDef, ...]
    kernel: ast.FunctionDef
    sizes: list[str] = field(default_factory=list)
    moved: list[ast.stmt] = field(default_factory=list)
    arrays: dict[ast.Name, str] = field(default_factory=dict)

    @property
    def factory(self) -> ast.FunctionDef:
        """The function that makes the kernel."""
        factory = self.around[-1]
        assert isinstance(factory, ast.FunctionDef)
        return factory

    @property
    def uses(self) -> list[ast.Name]:
        """Where the function names its kernel."""
        inside = set(walk(self.kernel))
        names = of_kinds(self.factory, ast.Name)
        return [n for n in names if n.id == self.kernel.name and n not in inside]

    @property
    def is_returned(self) -> bool:
        """Is the kernel used otherwise than by launching it where it is made?"""
        launched = set(self.launches())
        return any(use not in launched for use in self.uses)

    def launches(self) -> dict[ast.Name, ast.Call]:
        """The calls ``kernel(...)`` and ``kernel[grid](...)``, by the name in them."""
        found: dict[ast.Name, ast.Call] = {}
        for call in of_kinds(self.factory, ast.Call):
            target = call.func.value if isinstance(call.func, ast.Subscript) else call.func
            if isinstance(target, ast.Name) and target.id == self.kernel.name:
                found[target] = call
        return found


def closed_over(module: Module, around: Around, kernel: ast.FunctionDef) -> list[str]:
    """Names of the functions around a kernel that it reads, in the order of the source."""
    free = free_names(module.source.text, kernel)
    order = {n.id: (n.lineno, n.col_offset) for n in reversed(list(of_kinds(kernel, ast.Name)))}
    outer = {name for f in around if isinstance(f, ast.FunctionDef) for name in local_names(module.source.text, f)}
    outside = [n for n in _outside(kernel) if n.id in outer]
    return list(dict.fromkeys([*sorted(free, key=lambda n: order.get(n, (0, 0))), *(n.id for n in outside)]))


def _outside(kernel: ast.FunctionDef) -> Iterator[ast.Name]:
    """Names in what is evaluated where a kernel is made: decorators, defaults, annotations."""
    arguments = [a.annotation for a in of_kinds(kernel.args, ast.arg)]
    parts = [*kernel.decorator_list, *kernel.args.defaults, *kernel.args.kw_defaults, *arguments, kernel.returns]
    for part in parts:
        yield from of_kinds(part, ast.Name) if part is not None else ()


def closure_of(module: Module, around: Around, kernel: ast.FunctionDef) -> Closure:
    """What becomes of the names that a kernel closes over.

    Raises :class:`Refuse` where one of them cannot become a parameter, and cannot go with the kernel either.
    """
    found = Closure(module, tuple(around), kernel)
    _check_place(found)
    reading = _Reading(found)
    for name in closed_over(module, around, kernel):
        reading.take(name, kernel)
    found.moved.sort(key=lambda statement: statement.lineno)
    _check_uses(found)
    return found


def _check_place(found: Closure) -> None:
    """The kernel is a function that is made once, at the top of one function."""
    kernel, functions = found.kernel, [f for f in found.around if isinstance(f, ast.FunctionDef)]
    place = f"'{kernel.name}' is a kernel in '{found.around[-1].name}', and"
    if len(functions) != 1 or not isinstance(found.around[-1], ast.FunctionDef):
        raise Refuse(kernel, CODE, f"{place} more than one function stands around it", _HELP)
    factory = found.factory
    _check_module(found, place)
    if kernel not in factory.body:
        raise Refuse(kernel, CODE, f"{place} stands in a condition or a loop there", _HELP)
    _check_name(found, place)
    _check_form(found, place)


def _check_module(found: Closure, place: str) -> None:
    """What the kernel's function stands in, and what it is decorated with, is there whenever the module is."""
    kernel = found.kernel
    if found.around[0] not in found.module.source.tree.body:
        raise Refuse(kernel, CODE, f"{place} '{found.around[0].name}' stands in a condition of the module", _HELP)
    roots = (n.id for d in kernel.decorator_list for n in of_kinds(d, ast.Name))
    imports = (item for name in roots if (item := found.module.symbols.imports.get(name)) is not None)
    if any(item.statement in found.module.symbols.nested_imports for item in imports):
        raise Refuse(kernel, CODE, f"{place} the module imports its decorator in a condition", "import it at the top")


def _check_name(found: Closure, place: str) -> None:
    """The kernel's name means the kernel alone, wherever its function has it."""
    kernel, factory = found.kernel, found.factory
    bound = [n for n in of_kinds(factory, ast.Name) if n.id == kernel.name and not isinstance(n.ctx, ast.Load)]
    named = [f for f in of_kinds(factory, ast.FunctionDef, ast.ClassDef) if f.name == kernel.name and f is not factory]
    if bound or len(named) > 1 or any(a.arg == kernel.name for a in of_kinds(factory, ast.arg)):
        raise Refuse(kernel, CODE, f"{place} something else there has the same name", "rename one of them")


def _check_form(found: Closure, place: str) -> None:
    """Further parameters can stand behind those of the kernel."""
    kernel = found.kernel
    if kernel.args.vararg or kernel.args.kwarg or kernel.args.kwonlyargs:
        raise Refuse(kernel, CODE, f"{place} has variable arguments, or some by keyword only", _HELP)
    if kernel.body[0].lineno == kernel.lineno:
        raise Refuse(kernel, CODE, f"{place} has its body on the line of its header", "write it below")
    if kernel.name in closed_over(found.module, found.around, kernel):
        raise Refuse(kernel, CODE, f"{place} calls itself", _HELP)


def _check_uses(found: Closure) -> None:
    """Where the kernel is named, the names that it closes over mean the same."""
    kernel, factory = found.kernel, found.factory
    for inner in of_kinds(factory, ast.FunctionDef, ast.Lambda, ast.ClassDef):
        if inner in (factory, kernel) or not any(use in set(walk(inner)) for use in found.uses):
            continue
        if isinstance(inner, ast.FunctionDef) and found.module.symbols.is_kernel(inner):
            raise Refuse(kernel, CODE, f"'{kernel.name}' is called by '{inner.name}', which is a kernel, too", _HELP)
        shadowed = sorted(set(found.sizes) & (_bound_in(inner) | _parameters(inner)))
        if shadowed:
            message = f"'{kernel.name}' is used where '{shadowed[0]}' is another name than in the kernel"
            raise Refuse(kernel, CODE, message, "rename one of them")


class _Reading:
    """Goes through the names that a kernel closes over, and those that what moves with it reads."""

    def __init__(self, found: Closure) -> None:
        self.found, self.module, self.factory, self.kernel = found, found.module, found.factory, found.kernel
        self.locals = local_names(self.module.source.text, self.factory)
        self.own = names_inside(self.module.source.text, self.kernel)
        self.outside = {node.id for node in _outside(self.kernel)}
        self.seen: set[str] = set()
        self.traced: set[str] = set()
        while more := set(self._newly_traced()):
            self.traced |= more

    def _newly_traced(self) -> Iterator[str]:
        """Names of the function that hold what only a trace can make, and are not known yet to do so."""
        for statement in own_statements(self.factory.body):
            if isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign) and self._is_traced(statement):
                yield from bound_here(statement) - self.traced

    def take(self, name: str, reader: ast.AST) -> None:
        """Decide what becomes of one name."""
        if name in self.seen:
            return
        self.seen.add(name)
        what = f"'{self.kernel.name}', a kernel in '{self.factory.name}', reads '{name}'"
        if name in self.outside:
            message = f"{what} in its decorators, defaults or annotations, which a function of the module cannot"
            raise Refuse(self.kernel, CODE, message, _HELP)
        if reader is not self.kernel:
            self._check_own([name])
        if name in ("self", "cls"):
            raise Refuse(self.kernel, CODE, what, "give what it needs of the object names of their own, above it")
        bindings = list(self._bindings(name, what))
        if len(bindings) == 1 and self._moves(name, bindings[0]):
            return
        for binding in bindings:
            self._check_size(binding, what)
        self.found.sizes.append(name)

    def _check_own(self, names: Sequence[str]) -> None:
        """Names of the function are not the kernel's own, where what reads or binds them moves into it."""
        for name in names:
            if name in self.own:
                message = f"'{name}' of '{self.factory.name}' is another name in its kernel '{self.kernel.name}'"
                raise Refuse(self.kernel, CODE, message, "rename one of them")

    def _bindings(self, name: str, what: str) -> Iterator[ast.stmt]:
        """The statements that bind a name where the kernel is made, all above it. A parameter has none."""
        if any(name in n.names for n in of_kinds(self.factory, ast.Nonlocal, ast.Global)):
            raise Refuse(self.kernel, CODE, f"{what}, which another function there rebinds", _HELP)
        for statement in own_statements(self.factory.body):
            if name not in bound_here(statement):
                continue
            if statement.lineno > first_line(self.kernel):
                raise Refuse(self.kernel, CODE, f"{what}, which is bound below the kernel", "bind it above the kernel")
            yield statement

    def _moves(self, name: str, binding: ast.stmt) -> bool:
        """Does the one statement that binds a name go with the kernel, or its value? Then it is taken."""
        if binding not in self.factory.body:
            return False
        if isinstance(binding, ast.FunctionDef) and not binding.decorator_list:
            return self._take_statement(binding, sorted(free_names(self.module.source.text, binding)))
        targets = _targets(binding)
        if isinstance(binding, ast.Assign) and targets and self._is_kept_as_made(binding):
            others = [other for other in targets if other not in self.seen]
            if all(list(self._bindings(other, f"'{other}'")) == [binding] for other in others):
                self._check_own(others)
                self.seen.update(others)
                return self._take_statement(binding, self._read(binding.value))
        value = _assigned(binding)
        if value is None:
            return False
        reads = [n for n in of_kinds(self.kernel, ast.Name) if n.id == name]
        if self._is_array(value) and all(n in self._constants() for n in reads) and self._is_only_array(name):
            text, read = self._array_text(value)
            self._check_unchanged(binding, read)
            self.found.arrays |= dict.fromkeys(reads, text)
            for other in read:
                self.take(other, binding)
            return True
        return False

    def _is_kept_as_made(self, statement: ast.Assign) -> bool:
        """Is a value one that only a trace can make, and that nothing changes afterwards?"""
        if not self._is_traced(statement.value):
            return False
        if not any(isinstance(n, _CHANGEABLE) for n in walk(statement.value)):
            return True
        return not any(_may_change(self.factory, name) for name in _targets(statement))

    def _is_only_array(self, name: str) -> bool:
        """Is an array read by constants, and to make other arrays, only? Anything else could fill it."""
        made = {n for s in self.factory.body if (v := _assigned(s)) is not None and self._is_array(v) for n in walk(v)}
        names = (n for n in of_kinds(self.factory, ast.Name) if n.id == name and isinstance(n.ctx, ast.Load))
        return all(n in made or n in self._constants() for n in names)

    def _check_unchanged(self, statement: ast.stmt, names: Sequence[str]) -> None:
        """What a statement reads is the same where the kernel is made: it is computed there, or in the kernel."""
        for name in names:
            bound = [s for s in own_statements(self.factory.body) if name in bound_here(s)]
            later = [s for s in bound if s.lineno > statement.lineno]
            parts = [n.value for n in of_kinds(statement, ast.Subscript, ast.Attribute)]
            is_object = any(isinstance(n, ast.Name) and n.id == name for n in parts)
            if later or (is_object and _may_change(self.factory, name)):
                message = (
                    f"'{name}' may change between line {statement.lineno}, which '{self.kernel.name}' needs, and it"
                )
                raise Refuse(self.kernel, CODE, message, "give each value a name of its own")

    def _take_statement(self, statement: ast.stmt, read: Sequence[str]) -> bool:
        if not _reads_late(statement):
            self._check_unchanged(statement, read)
        self.found.moved.append(statement)
        for name in read:
            self.take(name, statement)
        return True

    def _read(self, value: ast.AST) -> list[str]:
        """The names of the function that an expression reads, in the order of the source."""
        own = {a.arg for a in of_kinds(value, ast.arg)}
        names = [n.id for n in of_kinds(value, ast.Name) if n.id in self.locals and n.id not in own]
        return list(dict.fromkeys(names))

    def _check_size(self, binding: ast.stmt, what: str) -> None:
        """A parameter gets a number, or whatever a launch can pass: nothing that only a trace knows."""
        if isinstance(binding, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom):
            kind = "imports" if isinstance(binding, ast.Import | ast.ImportFrom) else "defines"
            raise Refuse(self.kernel, CODE, f"{what}, which '{self.factory.name}' {kind}", "move it to the module")
        if self._is_traced(binding):
            help = "assign it once, at the top of the function, or in the kernel"
            raise Refuse(self.kernel, CODE, f"{what}, which only a trace can make", help)

    def _is_traced(self, node: ast.AST) -> bool:
        """Does code call NKI, make a function, or read what such code made?"""
        calls = (n for n in of_kinds(node, ast.Call))
        reads = {n.id for n in of_kinds(node, ast.Name) if isinstance(n.ctx, ast.Load)}
        if reads & self.traced or any(isinstance(n, ast.Lambda) for n in walk(node)):
            return True
        named = [*(c.func for c in calls), *(n.value for n in of_kinds(node, ast.Subscript))]
        return any(self._meaning(n).startswith(("nl.", "nisa.")) for n in named)

    def _is_array(self, value: ast.expr) -> bool:
        """Is a value one of NumPy's arrays that a kernel can make itself?"""
        name = self._meaning(value.func) if isinstance(value, ast.Call) else ""
        return name.startswith("np.") and name.removeprefix("np.") in _ARRAYS

    def _constants(self) -> set[ast.expr]:
        """The arrays of the kernel's ``nl.shared_constant``."""
        calls = [c for c in of_kinds(self.kernel, ast.Call) if self._meaning(c.func) == _CONSTANT and c.args]
        return {c.args[0] for c in calls}

    def _array_text(self, value: ast.expr) -> tuple[str, list[str]]:
        """The text of an array, with those that it is made of written out, and the names that it reads."""
        texts: list[tuple[ast.AST, str]] = []
        read: list[str] = []
        for node in of_kinds(value, ast.Name):
            bindings = [s for s in own_statements(self.factory.body) if node.id in bound_here(s)]
            inner = _assigned(bindings[0]) if len(bindings) == 1 and bindings[0] in self.factory.body else None
            if inner is not None and self._is_array(inner):
                text, more = self._array_text(inner)
                self._check_unchanged(bindings[0], more)
                texts.append((node, text))
                read += more
            elif node.id in self.locals:
                read.append(node.id)
        text = self.module.source.segment(value, texts)
        return ast.unparse(ast.parse(text, mode="eval")) if "\n" in text else text, read

    def _meaning(self, node: ast.AST) -> str:
        """The canonical name of what a chain means, wherever it was imported; empty for a name of the function."""
        chain = dotted(node)
        item = self.module.symbols.imports.get(chain[0]) if chain is not None and chain[0] not in self.locals else None
        return canonical(".".join((item.path, *chain[1]))) if chain is not None and item is not None else ""


def _reads_late(statement: ast.stmt) -> bool:
    """Does a statement make functions only, which read names when they are called?"""
    value = statement.value if isinstance(statement, ast.Assign) else None
    return isinstance(statement, ast.FunctionDef) or isinstance(value, ast.Lambda)


def _may_change(function: ast.FunctionDef, name: str) -> bool:
    """May code change the object that a name holds: by its parts, by a method, or where it is handed on?"""
    for node in walk(function):
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            changed = [_root(node)]
        elif isinstance(node, ast.Call):
            given = [*node.args, *(k.value for k in node.keywords)]
            owner = [_root(node.func)] if isinstance(node.func, ast.Attribute) else []
            changed = [*owner, *(n.id for n in given if isinstance(n, ast.Name))]
        elif isinstance(node, ast.AugAssign):
            changed = [_root(node.target)]
        else:
            continue
        if name in changed:
            return True
    return False


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _assigned(statement: ast.stmt) -> ast.expr | None:
    """The value of ``name = value``."""
    is_plain = isinstance(statement, ast.Assign) and len(statement.targets) == 1
    return statement.value if is_plain and isinstance(statement.targets[0], ast.Name) else None  # type: ignore[attr-defined]  # an assignment


def _targets(statement: ast.stmt) -> list[str]:
    """The names of ``name = value`` and ``a, b = value``."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return []
    target = statement.targets[0]
    names = target.elts if isinstance(target, ast.Tuple) else [target]
    return [n.id for n in names if isinstance(n, ast.Name)] if all(isinstance(n, ast.Name) for n in names) else []


def _bound_in(node: ast.AST) -> set[str]:
    return {n.id for n in of_kinds(node, ast.Name) if not isinstance(n.ctx, ast.Load)}


def _parameters(node: ast.FunctionDef | ast.Lambda | ast.ClassDef) -> set[str]:
    return {a.arg for a in of_kinds(node.args, ast.arg)} if not isinstance(node, ast.ClassDef) else set()
