"""Kernels that ``neuronxcc`` brought along, and the modules of a repository that have them.

Beta 2 has neither ``neuronxcc.nki.kernels`` nor ``neuronxcc.nki.docs.examples``. Their source is public, so a
repository often has it: the module of that name that defines all that a file imports. Whether it is the same code
nobody can tell from the source; the user can, with ``--module OLD=NEW``.

Source: nki-samples, README, "reference" (the source code of ``neuronxcc.nki.kernels``); NKI 2.26.1, release notes
(the kernels and their documentation moved to GitHub).
"""

from __future__ import annotations

import ast
import posixpath
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from ..expr.emission import Refuse
from ..model import Finding
from ..syntax import codes
from ..syntax.module_level import definitions_around, module_definitions
from ..syntax.names import Import, dotted
from ..syntax.node_index import of_kinds, walk
from ..syntax.source import Source
from .kernel_code import kernels_of
from .links import file_of
from .signatures import misfit

CODE = codes.NAMESPACE

KERNELS, EXAMPLES = "neuronxcc.nki.kernels", "neuronxcc.nki.docs.examples"

Modules = tuple[tuple[str, str], ...]
"""What the user says: modules of ``neuronxcc``, and those that take their places."""


@dataclass(frozen=True)
class Home:
    """The module that takes the place of one of ``neuronxcc``: its name, as the importing file is to write it.

    ``told`` says that the user named it. An empty ``module`` is none, for a ``reason``.
    """

    module: str
    told: bool = False
    reason: str = ""


Homes = Mapping[str, Home]
"""By the name of the old module, for one file."""


@dataclass(frozen=True)
class Brought:
    """One import statement of a module of ``neuronxcc``; ``names`` are those that the file uses of it.

    ``local`` maps what the file calls them (``f``, or ``module.f``) to their names there.
    """

    statement: ast.Import | ast.ImportFrom
    module: str
    whole: bool
    local: Mapping[str, str]

    @property
    def names(self) -> set[str]:
        return set(self.local.values())


def brought(tree: ast.AST) -> Iterator[Brought]:
    """The import statements of modules of ``neuronxcc``. A statement that imports several modules is left out."""
    for node in of_kinds(tree, ast.ImportFrom, ast.Import):
        if isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").startswith("neuronxcc"):
            yield Brought(node, node.module or "", False, {a.asname or a.name: a.name for a in node.names})
            if len(node.names) == 1:
                name = node.names[0].name
                yield _whole(tree, node, f"{node.module}.{name}", node.names[0].asname or name)
        elif isinstance(node, ast.Import) and len(node.names) == 1:
            name, bound = node.names[0].name, node.names[0].asname
            if bound and name.startswith("neuronxcc."):
                yield _whole(tree, node, name, bound)


def _whole(tree: ast.AST, node: ast.Import | ast.ImportFrom, module: str, bound: str) -> Brought:
    if not is_shipped(module):
        return Brought(node, module, True, {})  # only the user can say where it is, whatever is used of it
    chains = (dotted(n) for n in of_kinds(tree, ast.Attribute))
    used = {chain[1][0] for chain in chains if chain is not None and chain[0] == bound}
    return Brought(node, module, True, {f"{bound}.{name}": name for name in used})


def is_shipped(module: str) -> bool:
    """Is a module one of the kernels, or examples, whose source is public?"""
    return any(module == root or module.startswith(root + ".") for root in (KERNELS, EXAMPLES))


def imports_shipped(tree: ast.AST) -> bool:
    """Does a file import a module of these kernels, or examples? Its import statements say so."""
    return any(is_shipped(item.module) for item in brought(tree))


def shipped_names(tree: ast.AST) -> set[str]:
    """The names of kernels, or examples, that a file uses of ``neuronxcc``'s."""
    return {name for item in brought(tree) if is_shipped(item.module) for name in item.names}


# --- which module has them -------------------------------------------------------------------------------------------


def homes(trees: Mapping[str, ast.Module], files: Collection[str], told: Modules) -> dict[str, dict[str, Home]]:
    """For each file the homes of the modules of ``neuronxcc`` that it imports.

    ``trees`` are the files that may define kernels, or import them; ``files`` are the paths of all.
    """
    found: dict[str, dict[str, Home]] = {}
    repository = _Repository(trees, files)
    for path, tree in trees.items():
        for item in brought(tree):
            named = _told(item.module, told)
            if named:
                found.setdefault(path, {})[item.module] = Home(named, told=True)
            elif is_shipped(item.module) and item.names:
                home = _home(item, path, repository)
                before = found.setdefault(path, {}).setdefault(item.module, home)
                if before != home:
                    reason = before.reason or home.reason or "its names are found in different modules"
                    found[path][item.module] = Home("", reason=reason)
    return found


@dataclass(frozen=True)
class _Repository:
    """The files that may define kernels, or import them, and the paths of all."""

    trees: Mapping[str, ast.Module]
    files: Collection[str]

    def having(self, names: set[str]) -> list[str]:
        """The files that define all ``names``: as kernels, or classes."""
        return [path for path, tree in self.trees.items() if names <= _defined(tree) and names <= _offered(tree)]

    @cached_property
    def spellings(self) -> dict[str, Counter[str]]:
        """For each file the absolute names by which others import it."""
        found: dict[str, Counter[str]] = {}
        for path, tree in self.trees.items():
            for node in walk(tree):
                names = [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
                names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                for name in names:
                    home = file_of(path, 0, name, self.files)
                    if home is not None:
                        found.setdefault(home, Counter())[name] += 1
        return found


def _defined(tree: ast.Module) -> set[str]:
    return set(module_definitions(tree))


def _offered(tree: ast.Module) -> set[str]:
    """The kernels and classes that a module defines."""
    return kernels_of(tree) | {
        name for name, node in module_definitions(tree).items() if isinstance(node, ast.ClassDef)
    }


def _told(module: str, told: Modules) -> str:
    """What the user says of a module, or of a package above it: the closest."""
    above = [(old, new) for old, new in told if module == old or module.startswith(old + ".")]
    old, new = max(above, key=lambda pair: len(pair[0]), default=("", ""))
    return new + module[len(old) :] if old else ""


def _home(item: Brought, path: str, repository: _Repository) -> Home:
    names, trees = " and ".join(sorted(item.names)), repository.trees
    chosen = _chosen(item.module, path, [other for other in repository.having(item.names) if other != path])
    if len(chosen) != 1:
        several = f": {', '.join(sorted(chosen))}" if chosen else ""
        count = "more than one module defines" if chosen else "no module of these files defines"
        return Home("", reason=f"{count} {names}{several}")
    against = misfit(trees[path], item.local, trees[chosen[0]])
    if against:
        return Home("", reason=f"{chosen[0]} defines {names}, but {against}")
    module = _spelling(path, chosen[0], repository)
    if not module:
        return Home("", reason=f"{chosen[0]} defines {names}, but how this file would import it is not known")
    return Home(module)


def _chosen(module: str, path: str, having: list[str]) -> list[str]:
    """The files, of those that have all names, that a module may be: of its own name, and the closest of these."""
    parts = module.split(".")
    count = 2 if module.startswith(EXAMPLES) else 1
    same = [other for other in having if _parts(other)[-count:] == parts[-count:]]
    if not same:
        return having if count == 1 else []
    shared = {other: len(posixpath.commonpath([posixpath.dirname(path) or ".", other])) for other in same}
    return [other for other in same if shared[other] == max(shared.values())]


def _parts(path: str) -> list[str]:
    folder, name = posixpath.split(path)
    return [*folder.split("/"), name.removesuffix(".py")]


# --- how it is imported ----------------------------------------------------------------------------------------------


def _spelling(path: str, home: str, repository: _Repository) -> str:
    """The name by which the file ``path`` imports the file ``home``; empty where that is not known.

    As other files do; else as a script imports its neighbour; else from the ``src`` folder, or the packages, around it.
    """
    folder, files = posixpath.dirname(home), repository.files
    spellings = repository.spellings.get(home, Counter())
    named = sorted(spellings, key=lambda name: (-spellings[name], name))
    if folder == posixpath.dirname(path) and posixpath.join(folder, "__init__.py") not in files:
        named.append(_parts(home)[-1])
    named += _package_names(home, files)
    return next((name for name in named if file_of(path, 0, name, files) == home), "")


def _package_names(home: str, files: Collection[str]) -> list[str]:
    """The name of a file below its ``src`` folder, and the one from its outermost package on."""
    parts = _parts(home)
    names = []
    if "src" in parts[:-1]:
        names.append(".".join(parts[len(parts) - parts[::-1].index("src") :]))
    first = len(parts) - 1
    while first and "/".join([*parts[:first], "__init__.py"]) in files:
        first -= 1
    return [*names, ".".join(parts[first:])] if first < len(parts) - 1 else names


# --- what becomes of the import --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Renamed:
    """A module's text with imports of the new modules; how many, and the definitions that they stand in.

    ``left`` says why nothing of the module can be read.
    """

    text: str
    count: int = 0
    touched: frozenset[str] = frozenset()
    left: Finding | None = None


def renamed(source: Source, found: Homes, *, unsafe: bool) -> Renamed:
    """A module that imports from the homes that the user named, and with ``unsafe`` from those that were found.

    No line moves.
    """
    items: dict[ast.stmt, Brought] = {}
    for item in brought(source.tree):
        if _applies(found.get(item.module), unsafe):
            items.setdefault(item.statement, item)
    text, touched = source.text, set[str]()
    for item in sorted(items.values(), key=lambda item: -source.span(item.statement)[0]):
        start, end = source.span(item.statement)
        text = text[:start] + _statement(item, found[item.module].module, text[start:end]) + text[end:]
        touched |= {around} if (around := definitions_around(source.tree).get(item.statement)) else set()
    return Renamed(text, len(items), frozenset(touched))


def _applies(home: Home | None, unsafe: bool) -> bool:
    return home is not None and bool(home.module) and (home.told or unsafe)


def _statement(item: Brought, module: str, text: str) -> str:
    """An import statement of another module, which binds the same names."""
    if isinstance(item.statement, ast.ImportFrom) and not item.whole:
        return _replaced(text, item.module, module)
    alias = item.statement.names[0]
    bound = alias.asname or alias.name
    if isinstance(item.statement, ast.Import):
        return f"import {module} as {bound}"
    package, _, name = module.rpartition(".")
    suffix = f" as {bound}" if bound != name else ""
    return f"from {package} import {name}{suffix}" if package else f"import {name}{suffix}"


def _replaced(text: str, old: str, new: str) -> str:
    """``from old import ...`` with another module; what follows keeps its lines."""
    head, separator, rest = text.partition("import")
    return head.replace(old, new, 1) + separator + rest


# --- what is only reported -------------------------------------------------------------------------------------------


def home_of(found: Homes, item: Import) -> tuple[str, Home | None]:
    """The old module that an import is of, and its home."""
    statement = item.statement
    module = (statement.module or "") if isinstance(statement, ast.ImportFrom) else item.alias.name
    whole = f"{module}.{item.alias.name}"
    return (whole, found[whole]) if whole in found else (module, found.get(module))


def under_review(node: ast.AST, item: Import, old: str, home: Home) -> Refuse:
    """The finding about an import, or a use of what it imports, that only the user can judge."""
    message = f"Beta 2 has no {old}; {home.module} defines '{item.alias.name}'"
    help = (
        "--unsafe imports it from there: right if this is the one that neuronxcc brought along; "
        f"--module {old}={home.module} says so"
    )
    return Refuse(node, CODE, message, help, "review")


def advice(old: str) -> str:
    """What to do about a module of ``neuronxcc`` that has no home."""
    return f"--module {old}=MODULE says which module of yours has it"
