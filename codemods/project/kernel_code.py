"""What is kernel code and what is host code: one fact of all files that are rewritten together, with its evidence.

A function is kernel code where something shows it, and host code otherwise:

* *decorated*: it has a decorator of Beta 1 that makes kernels, ``@nki.jit`` or one of its forerunners;
* *launched*: its name is given to such a decorator, to a harness or to ``nki_call``, in any of the files;
* *traced*: it does what only traced code can: it calls an instruction, creates, loads or stores a tensor, loops over
  ``nl.affine_range``, pins a tile (a function in it that is no kernel of its own does so, too);
* *called*: kernel code names it, or names the class that it is a method of.

A data type, a constant, ``nl.nc``, ``nl.static_cast`` or a launch are no evidence: host code names them, too.
Decorators of Beta 2 (``import nki``) are none either: what they decorate is migrated already. (Who asks for the
kernel code of later versions gives the :class:`Naming` of theirs.)
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from nki_migrate.runtime.spec import beta1
from nki_migrate.runtime.spec.grammar import blocks
from nki_migrate.runtime.spec.launchers import KERNEL_DECORATORS, given_kernel

from ..syntax.module_level import Definition, module_definitions, module_statements, named_through_tables
from ..syntax.names import Import, canonical, dotted, imports
from ..syntax.node_index import children, indexed, indexed_together, of_kinds, walk
from .links import Link, links, links_between

_ON_HOST = {"nl.static_cast", "nl.nc", "nl.spmd_dim", "nl.finfo", "nl.sizeinbytes", "nisa.get_nc_version"}
_TRACED_KINDS = {"function", "method"}
_PINNING = ("alloc", "mod_alloc", "auto_alloc", "allocation_scope", "multi_buffer", "no_reorder")
_MOVING = {"nl.ndarray", "nl.load", "nl.store"}
_VECTORS = {"nl.arange", "nl.mgrid"}
"""Host code that defines a kernel may make the index vectors that the kernel captures."""

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class Naming:
    """Whose names show kernel code: which imports count, and the canonical name of what a path means."""

    counts: Callable[[Import], bool]
    canonical: Callable[[str], str]


def _is_no_beta2(item: Import) -> bool:
    return item.is_nki or not (item.path == "nki" or item.path.startswith("nki."))


BETA1 = Naming(_is_no_beta2, canonical)


@dataclass(frozen=True)
class Evidence:
    """What shows that a function is kernel code: the kind, the line of its file, and what stands there."""

    kind: str
    path: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.what} (line {self.line} of {self.path})"


@dataclass(frozen=True)
class KernelCode:
    """The evidence for each function and method that is kernel code; what has none is host code.

    ``launchers`` are the canonical names of what a function is given to that launches it. ``speaking`` are those
    that name anything of NKI but a data type, ``classes`` those that kernel code names or is in, and those with tensors
    of kernels for fields.
    """

    evidence: Mapping[ast.FunctionDef, Evidence]
    launchers: Mapping[ast.FunctionDef, Sequence[str]]
    speaking: frozenset[ast.FunctionDef]
    classes: frozenset[ast.ClassDef]

    def __contains__(self, function: object) -> bool:
        return function in self.evidence

    def kind(self, function: ast.FunctionDef) -> str:
        """``decorated``, ``launched``, ``traced`` or ``called``; empty for host code."""
        found = self.evidence.get(function)
        return found.kind if found is not None else ""

    def is_entered(self, function: ast.FunctionDef) -> bool:
        """Is a function kernel code on its own, or one that names NKI itself?"""
        return self.kind(function) in ("launched", "traced") or function in self.speaking


@indexed_together
def kernel_code(trees: Mapping[str, ast.Module], naming: Naming = BETA1) -> KernelCode:
    """The kernel code of the modules ``trees``, by path, that import from each other."""
    files = _files(trees, naming)
    launched = _launched(files)
    found = _shown_by_themselves(files, launched)
    classes = {
        c for file in files.values() for c in file.classes if any(f in found for f in _functions_in(c)) or file.holds(c)
    }
    homes = _homes(files)
    _add_called(files, homes, found, classes)
    speaking = frozenset(node for node in found if homes[node].speaks(node))
    launchers = {function: [given.launcher for given in all_given] for function, all_given in launched.items()}
    return KernelCode(found, launchers, speaking, frozenset(classes))


def _files(trees: Mapping[str, ast.Module], naming: Naming) -> dict[str, _File]:
    bound = links_between(trees)
    return {path: _file(tree, path, tuple(links(bound[path]).items()), naming) for path, tree in trees.items()}


@indexed
def _file(tree: ast.Module, path: str, linked: tuple[tuple[str, Link], ...], naming: Naming) -> _File:
    """A file among others, read once for as long as it and its links are what they are."""
    return _File(path, tree, dict(linked), naming)


def _homes(files: Mapping[str, _File]) -> dict[Definition, _File]:
    """The file of each function, and of each class of a module."""
    homes: dict[Definition, _File] = {}
    for file in files.values():
        homes |= dict.fromkeys([*of_kinds(file.tree, ast.FunctionDef), *file.classes], file)
    return homes


def _launched(files: Mapping[str, _File]) -> dict[ast.FunctionDef, list[_Given]]:
    """The functions that are given to what launches them, and each place."""
    launched: dict[ast.FunctionDef, list[_Given]] = {}
    for file in files.values():
        for given in file.launched:
            function = _meant(files, file, given.kernel)
            if isinstance(function, ast.FunctionDef):
                launched.setdefault(function, []).append(given)
    return launched


def _shown_by_themselves(
    files: Mapping[str, _File], launched: Mapping[ast.FunctionDef, Sequence[_Given]]
) -> dict[ast.FunctionDef, Evidence]:
    """The functions that are decorated, launched or traced."""
    found = {function: given[0].evidence for function, given in launched.items()}
    for file in files.values():
        for function in of_kinds(file.tree, ast.FunctionDef):
            own = file.decorated(function) or found.get(function) or file.traced_whole(function)
            if own is not None:
                found[function] = own
    return found


def _add_called(
    files: Mapping[str, _File],
    homes: Mapping[Definition, _File],
    found: dict[ast.FunctionDef, Evidence],
    classes: set[ast.ClassDef],
) -> None:
    """Add what kernel code names to ``found`` and ``classes``, and what that names."""
    pending: list[Definition] = [*found, *classes]
    while pending:
        caller = pending.pop()
        file = homes[caller]
        for name in file.names_in(caller):
            definition = _meant(files, file, name)
            if isinstance(definition, ast.ClassDef) and definition not in classes:
                classes.add(definition)
                pending.append(definition)
            for function in _functions_in(definition) if definition is not None else ():
                if function not in found:
                    found[function] = Evidence("called", file.path, name.lineno, f"'{caller.name}' names it")
                    pending.append(function)


def reach(
    trees: Mapping[str, ast.Module], naming: Naming = BETA1
) -> dict[tuple[str, ast.FunctionDef], frozenset[tuple[str, Definition]]]:
    """What each kernel of some files runs: itself, and the functions and classes that it names, directly or not.

    Kernels are what is decorated or launched. Each definition comes with the path of its file.
    """
    files = _files(trees, naming)
    homes = _homes(files)
    shown = _shown_by_themselves(files, _launched(files))
    kernels = [function for function, evidence in shown.items() if evidence.kind != "traced"]
    return {
        (homes[kernel].path, kernel): frozenset((homes[each].path, each) for each in _reached(files, homes, kernel))
        for kernel in kernels
    }


def _reached(files: Mapping[str, _File], homes: Mapping[Definition, _File], kernel: Definition) -> set[Definition]:
    found, pending = {kernel}, [kernel]
    while pending:
        definition = pending.pop()
        meant = (_meant(files, homes[definition], name) for name in homes[definition].names_in(definition))
        new = {each for each in meant if each is not None} - found
        found |= new
        pending += new
    return found


def kernels_of(tree: ast.Module) -> set[str]:
    """The names of the kernels that a module defines."""
    imported = {item.name: item for item in imports(tree)}
    functions = [node for node in module_definitions(tree).values() if isinstance(node, ast.FunctionDef)]
    return {
        f.name for f in functions if any(decorator_name(imported, d) in KERNEL_DECORATORS for d in f.decorator_list)
    }


def decorator_name(imported: Mapping[str, Import], node: ast.expr, naming: Naming = BETA1) -> str | None:
    """The canonical name of a decorator, called or not; one of Beta 2 keeps its path."""
    chain = dotted(node.func if isinstance(node, ast.Call) else node)
    bound = imported.get(chain[0]) if chain else None
    return naming.canonical(".".join((bound.path, *chain[1]))) if bound and chain else None


def is_traced(name: str) -> bool:
    """Does only code that is traced call the function of this canonical Beta 1 name?"""
    root, _, rest = name.partition(".")
    if name in _ON_HOST or not rest:
        return False
    if root == "ncc":
        return rest.rpartition(".")[2] in _PINNING
    symbol = beta1.symbol(name)
    known = symbol is None or symbol.kind in _TRACED_KINDS or name == "nl.par_dim"
    return root in ("nl", "nisa", "nccl") and known


def _is_dtype(name: str) -> bool:
    symbol = beta1.symbol(name)
    return symbol is not None and symbol.kind == "dtype"


def is_moving(name: str) -> bool:
    """Does a Beta 1 function create, load or store tensors, or is it an instruction?"""
    return name in _MOVING or name.startswith("nisa.")


@indexed
def own_nodes(node: ast.AST) -> Sequence[ast.AST]:
    """The nodes of a definition without those of what is defined in it, in the order of the text."""
    found = []
    pending = children(node)[::-1]
    while pending:
        child = pending.pop()
        if not isinstance(child, _SCOPES):
            found.append(child)
            pending += reversed(children(child))
    return found


@dataclass(frozen=True)
class _Given:
    """A kernel that is given to what launches it: the canonical name of that, and the evidence."""

    kernel: ast.expr
    launcher: str
    evidence: Evidence


class _File:
    """One module while its functions are read."""

    def __init__(self, path: str, tree: ast.Module, linked: dict[str, Link], naming: Naming) -> None:
        self.path, self.tree, self.links, self.naming = path, tree, linked, naming
        self.definitions: dict[str, Definition] = module_definitions(tree)
        self.classes = [d for d in self.definitions.values() if isinstance(d, ast.ClassDef)]
        self.whole = {f for d in self.definitions.values() for f in _functions_in(d)}
        self.imports: dict[str, Import] = {}
        for item in imports(tree):
            if naming.counts(item) and (item.is_nki or item.name not in self.imports):
                self.imports[item.name] = item
        self.aliases = self._aliases(module_statements(tree))
        self._bound: dict[Definition, Mapping[str, str | None]] = {}
        self._named: dict[Definition, tuple[ast.expr, ...]] = {}
        self._speaking: dict[ast.FunctionDef, bool] = {}
        self._traced: dict[ast.FunctionDef, Evidence | None] = {}

    @cached_property
    def _foreign(self) -> frozenset[str]:
        """The names of the module that an import gives a meaning: nothing else is NKI's."""
        return frozenset((*self.imports, *self.aliases))

    @cached_property
    def handed(self) -> set[str]:
        """The names of the functions that are launched here."""
        return {given.kernel.id for given in self.launched if isinstance(given.kernel, ast.Name)}

    @cached_property
    def launched(self) -> tuple[_Given, ...]:
        """What is given to a harness, or to a caller of the frameworks."""
        return tuple(self._launched())

    def traced_whole(self, function: ast.FunctionDef) -> Evidence | None:
        """Where a function or a method of the module does what only traced code can; one inside of another never."""
        if function in self.whole and function not in self._traced:
            self._traced[function] = self.traced(function)
        return self._traced.get(function)

    def _aliases(self, statements: Sequence[ast.stmt]) -> dict[str, str]:
        """Names for functions of NKI: ``load = nl.load``."""
        plain = [s for s in statements if isinstance(s, ast.Assign) and len(s.targets) == 1]
        pairs = [(s.targets[0], self._imported(s.value)) for s in plain]
        return {target.id: name for target, name in pairs if isinstance(target, ast.Name) and name}

    def _imported(self, node: ast.AST) -> str:
        """The canonical name that an import gives a chain; empty for one that the module defines itself."""
        chain = dotted(node)
        bound = self.imports.get(chain[0]) if chain is not None else None
        if chain is None or bound is None or chain[0] in self.definitions:
            return ""
        return self.naming.canonical(".".join((bound.path, *chain[1])))

    def _name(self, node: ast.AST, local: Mapping[str, str | None]) -> str:
        """The canonical name of what a chain means; ``local`` are bound here, some of them to functions of NKI."""
        chain = dotted(node)
        if chain is None:
            return ""
        if chain[0] in local:
            return local[chain[0]] or ""
        return self._imported(node) or (self.aliases.get(chain[0], "") if not chain[1] else "")

    def decorated(self, function: ast.FunctionDef) -> Evidence | None:
        """The decorator that makes a function a kernel."""
        for decorator in function.decorator_list:
            if decorator_name(self.imports, decorator, self.naming) in KERNEL_DECORATORS:
                return self._evidence("decorated", decorator)
        return None

    def _launched(self) -> Iterator[_Given]:
        for call in of_kinds(self.tree, ast.Call):
            given = given_kernel(call, self._imported)
            if given is not None:
                yield _Given(*given, self._evidence("launched", call))

    def traced(self, function: ast.FunctionDef) -> Evidence | None:
        """The first place where a function does what only traced code can."""
        if self._foreign.isdisjoint(name.id for name in of_kinds(function, ast.Name)):
            return None
        local = self._bound_in(function)
        builds = any(self.decorated(inner) is not None for inner in _defined_in(function))
        for node in own_nodes(function):
            if isinstance(node, ast.Call):
                name = self._name(node.func, local)
                is_shown = is_traced(name) and not (builds and name in _VECTORS)
            elif isinstance(node, ast.Name | ast.Attribute):
                name = self._name(node, local)
                is_shown = (name.startswith("ncc.") and is_traced(name)) or (name == "nl.mgrid" and not builds)
            else:
                continue
            if is_shown:
                return self._evidence("traced", node)
        for inner in _defined_in(function):
            if inner.name not in self.handed and self.decorated(inner) is None:
                found = self.traced(inner)
                if found is not None:
                    return found
        return None

    def holds(self, cls: ast.ClassDef) -> bool:
        """Has a class a field whose type is the tensor of a kernel, ``nt.tensor``?"""
        fields = [s.annotation for s in cls.body if isinstance(s, ast.AnnAssign)]
        return any(self._imported(n) == "nt.tensor" for field in fields for n in walk(field))

    def speaks(self, function: ast.FunctionDef) -> bool:
        """Does a function name anything of the language, its instructions or its compiler but a data type?"""
        if function not in self._speaking:
            self._speaking[function] = self._speaks(function)
        return self._speaking[function]

    def _speaks(self, function: ast.FunctionDef) -> bool:
        local = self._bound_in(function)
        names = [self._name(n, local) for n in of_kinds(function, ast.Name, ast.Attribute)]
        return any(name.startswith(("nl.", "nisa.", "ncc.")) and not _is_dtype(name) for name in names)

    def _bound_in(self, function: Definition) -> Mapping[str, str | None]:
        """Names that a function binds itself, and the functions of NKI that some of them stand for."""
        if function not in self._bound:
            self._bound[function] = self._binds(function)
        return self._bound[function]

    def _binds(self, function: Definition) -> dict[str, str | None]:
        stored = {n.id for n in of_kinds(function, ast.Name) if not isinstance(n.ctx, ast.Load)}
        stored |= {n.arg for n in of_kinds(function, ast.arg)}
        inside = {a.asname or a.name for n in of_kinds(function, ast.Import, ast.ImportFrom) for a in n.names}
        known = self._aliases(of_kinds(function, ast.Assign))
        if isinstance(function, ast.FunctionDef):
            arguments = [*function.args.posonlyargs, *function.args.args]
            defaults = zip(reversed(arguments), reversed(function.args.defaults), strict=False)
            known |= {argument.arg: self._imported(default) for argument, default in defaults}
        return {name: known.get(name) for name in stored - inside}

    def names_in(self, function: Definition) -> tuple[ast.expr, ...]:
        """Names in a function of what a module defines, in this file or another; in annotations, too."""
        if function not in self._named:
            self._named[function] = tuple(n for n in self._read_in(function) if self._may_mean(n))
        return self._named[function]

    def _may_mean(self, node: ast.expr) -> bool:
        """Is the first name of a chain defined here, or imported from another file?"""
        chain = dotted(node)
        return chain is not None and (chain[0] in self.definitions or chain[0] in self.links)

    def _read_in(self, function: Definition) -> Iterator[ast.expr]:
        """Names that a function reads and does not bind, as functions or classes of a module.

        What the module has put under a name that it reads, a table of functions, has names, too.
        """
        local = self._bound_in(function)
        own = of_kinds(function, ast.Constant, ast.Name, ast.Attribute)
        read = (node.id for node in own if isinstance(node, ast.Name) and node.id not in local)
        for node in [*own, *named_through_tables(self.tree, read)]:
            if isinstance(node, ast.Constant):
                if isinstance(node.value, str) and node.value.isidentifier():
                    yield ast.copy_location(ast.Name(node.value, ast.Load()), node)
            else:
                chain = dotted(node)
                if chain is not None and chain[0] not in local:
                    yield node

    def _evidence(self, kind: str, node: ast.Call | ast.expr) -> Evidence:
        return Evidence(kind, self.path, node.lineno, ast.unparse(node).partition("\n")[0])


@indexed
def _defined_in(function: ast.FunctionDef) -> Sequence[ast.FunctionDef]:
    """The functions that stand in a function itself."""
    around: list[ast.AST] = [function]
    pending = blocks(function)[::-1]
    while pending:
        node = pending.pop()
        if not isinstance(node, _SCOPES):
            around.append(node)
            pending += blocks(node)[::-1]
    return [child for node in around for child in blocks(node) if isinstance(child, ast.FunctionDef)]


def _functions_in(definition: Definition) -> list[ast.FunctionDef]:
    """A function itself, the methods of a class."""
    if isinstance(definition, ast.FunctionDef):
        return [definition]
    return [s for s in definition.body if isinstance(s, ast.FunctionDef)]


def _meant(
    files: Mapping[str, _File], file: _File, node: ast.expr, seen: frozenset[tuple[str, str]] = frozenset()
) -> Definition | None:
    """The function or class that a name, ``module.name`` or ``Class.name`` means, in any of the files."""
    chain = dotted(node)
    if chain is None or len(chain[1]) > 1:
        return None
    name, attribute = chain[0], "".join(chain[1])
    own = file.definitions.get(name)
    if own is not None:
        return own if not attribute or isinstance(own, ast.ClassDef) else None
    link = file.links.get(name)
    if link is None or bool(attribute) == bool(link.name) or (file.path, name) in seen:
        return None
    target = ast.copy_location(ast.Name(link.name or attribute, ast.Load()), node)
    return _meant(files, files[link.path], target, seen | {(file.path, name)})
