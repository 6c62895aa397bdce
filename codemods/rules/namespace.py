"""NKI001 namespace: ``neuronxcc.nki`` becomes ``nki``.

Why: Beta 2 lives in a namespace of its own, and a kernel that still imports the old one is a compile error in later
releases. Aliases are kept (``nl`` stays ``nl``); imports that the rewrite made superfluous are removed, imports that
it needs are added. A ``try`` that asks whether NKI is there asks for ``nki``; ``import neuronxcc`` alone stays, it is
the graph compiler's.

Beta 2 does not ship ``neuronxcc.nki.kernels`` and ``neuronxcc.nki.docs.examples``. Where one module of the files that
are rewritten together defines every kernel that an import names (one with the old module's name before others), and
the calls fit it, the import is of that module: spelled as other files do, else as a script imports its neighbour, else
by its packages or its place below ``src``. ``--module OLD=NEW`` says what takes the place of any module that Beta 2
lacks, or of the package that it is in.

``from neuronxcc.nki.language import *`` becomes the import of the names that the module reads. A module is left alone
of which a star import does not tell what it gives: where nothing is read of it, or a name that Python has (``min``).

A module that imports both namespaces is left alone, with one finding: it serves both versions (a ``try``, a version or
a flag decides which it imports), or is half migrated.

A module that imports ``nki`` alone and is written in Beta 1 (somebody has changed its imports by hand) is left alone,
with one finding, which says what no version of Beta 2 has (``nl.arange``, a mask, the value of an instruction, an
assignment to a tile), and how the imports were. What only Beta 2 has shows that a file is none of these; so does
``--from``.

A module that host code still needs of Beta 1 (``nl.nc``), and kernels of Beta 2, is imported of both: the old one under
a name of its own (``nl_beta1``) that the host code gets. Where kernel code is left alone, its names are to be Beta 2's.

Safe: with ``--module``, too. *Review* (``--unsafe`` writes it): a module that was found, for no source tells whether
its kernel is the one that the compiler came with. Left alone: imports of what Beta 2 does not have, as long as
something still uses it.

Source: NKI migration guide, "New namespace, new APIs"; NKI 2.26.1, release notes (the kernels moved to GitHub).
"""

from __future__ import annotations

import ast
import posixpath

from nki_migrate.runtime.spec.beta2_language import LIBRARIES
from nki_migrate.runtime.spec.launchers import OUTPUT_HARNESSES

from ..expr.emission import New, Refuse
from ..expr.tables import beta2_has, beta2_lacks
from ..model import KEPT
from ..project import leftovers
from ..project.beta1_aliases import MODULES, beta1_aliases
from ..project.program import Module
from ..project.usage import names_left
from ..project.vendor_kernels import CODE, home_of, under_review
from ..syntax.import_blocks import Block, import_blocks, parts_of_try
from ..syntax.names import BETA2, Import, canonical, dotted

GOLDENS = ("load_store", "shipped_kernels")
_PACKAGES = {"neuronxcc", "ncc"}
_SUPERFLUOUS = {"numpy", "math", "typing"} | LIBRARIES


def rewrite(module: Module) -> None:
    """Rewrite the imports, once it is known what the rewritten code still uses."""
    used = names_left(module)
    while any(name not in used for name in module.names.support):
        module.names.support = {name: text for name, text in module.names.support.items() if name in used}
        used = names_left(module)
    for name, alias in module.environment.aliases.items():
        if name not in used and not any(module.program.users(module, name)):
            module.plan.edits.replaced[alias] = []
        else:
            module.report(
                Refuse(alias, CODE, f"'{name}' stands for something that Beta 2 does not have", "remove its last use")
            )
    aliases = beta1_aliases(module)
    used = names_left(module)
    blocks = import_blocks(module.source.tree)
    written: dict[Block, set[str]] = {}
    for statement in dict.fromkeys(item.statement for item in module.symbols.import_list):
        items = [item for item in module.symbols.import_list if item.statement is statement]
        if statement in module.plan.edits.replaced:
            continue
        block = blocks[statement]
        asked = {i.name for i in items if block.is_probe and canonical(i.path) not in _PACKAGES} - module.symbols.names
        _statement(module, statement, items, used, asked, written.setdefault(block, set()), aliases)
    _keep_probes(module, blocks)
    _drop_empty_tries(module, blocks)
    _added(module, used)
    for origin, names in module.names.needed_names.items():
        _import_copies(module, origin, names)
    _hidden(module)
    leftovers.report(module)


def _hidden(module: Module) -> None:
    """Say where a file is called like the package that its output imports: Python finds that file in its place."""
    folder = posixpath.dirname(module.path)
    hiding = posixpath.join(folder, "nki.py")
    first = next((item.statement for item in module.symbols.import_list if item.is_nki), None)
    if first is not None and hiding in {module.path, *module.program.modules}:
        message = "'nki.py' in the folder of this file hides the package 'nki', which the output imports"
        module.report(Refuse(first, CODE, message, "rename nki.py, and what imports it"))


def _import_copies(module: Module, statement: ast.ImportFrom, names: dict[str, str]) -> None:
    """Copies of an imported function (NKI003) are imported from where it comes from."""
    listed = ", ".join(name if name == local else f"{name} as {local}" for name, local in sorted(names.items()))
    new = New(f"from {'.' * statement.level}{statement.module or ''} import {listed}")
    module.plan.edits.replaced.setdefault(statement, [New(module.source.segment(statement))]).append(new)


def _statement(
    module: Module,
    statement: ast.Import | ast.ImportFrom,
    items: list[Import],
    used: set[str],
    asked: set[str],
    written: set[str],
    aliases: dict[str, str],
) -> None:
    """Rewrite one import statement; what Beta 2 does not have stays imported as it was, under a finding.

    ``asked`` are names that nothing uses, and whose import tells whether they are there. ``aliases`` are the names by
    which host code still uses modules of Beta 1.
    """
    texts: list[str] = []
    for item in items:
        if item.is_compiler and (item.name in used or item.name not in module.symbols.names):
            texts.append(_same(statement, item))
            continue
        if not item.is_nki:
            unused = item.name in module.symbols.names - used and _superfluous(module, item)
            texts += [] if unused else [_same(statement, item)]
            continue
        alias = aliases.get(item.name)
        found: list[str] | Refuse = []
        if not module.options.enabled(CODE):
            found = Refuse(statement, CODE, f"the rule {CODE} is not selected", f"select it with --select {CODE}")
        elif alias != item.name:
            found = module.program.draft.attempt(_beta2, module, statement, item, used | asked)
        if isinstance(found, Refuse):
            module.report(_undecided(found, item) if item.name in asked else found)
            texts.append(_same(statement, item))
            continue
        texts += [text for text in found if text not in written]
        if alias is not None:
            texts.append(_same(statement, item, None if alias == item.name else alias))
    merged = _merged(texts)
    if merged == _merged([_same(statement, item) for item in items]):
        return
    written.update(texts)
    module.plan.applied[CODE] += 1
    if statement in module.symbols.nested_imports:
        module.touch(statement)
    module.plan.edits.replaced[statement] = [New(text) for text in merged]


def _undecided(refusal: Refuse, item: Import) -> Refuse:
    message = f"the code asks whether '{item.path}' can be imported, which Beta 2 does not have"
    return Refuse(refusal.node, CODE, message, "decide what it should ask for")


def _keep_probes(module: Module, blocks: dict[ast.Import | ast.ImportFrom, Block]) -> None:
    """A ``try`` that asks whether NKI can be imported still asks it where its imports are used no more."""
    probes: dict[Block, list[ast.Import | ast.ImportFrom]] = {}
    for statement, block in blocks.items():
        if block.is_probe and any(i.is_nki for i in module.symbols.import_list if i.statement is statement):
            probes.setdefault(block, []).append(statement)
    for statements in probes.values():
        if not any(module.plan.edits.replaced.get(statement, True) for statement in statements):
            module.plan.edits.replaced[statements[0]] = [New("import nki")]


def _drop_empty_tries(module: Module, blocks: dict[ast.Import | ast.ImportFrom, Block]) -> None:
    """A ``try`` with nothing in it but imports that are gone goes, too."""
    for node in {block.owner for block in blocks.values()}:
        statements = [s for part in parts_of_try(node) for s in part] if isinstance(node, ast.Try) else []
        gone = all(isinstance(s, ast.Pass) or module.plan.edits.replaced.get(s) == [] for s in statements)
        if statements and gone and isinstance(node, ast.Try) and not node.finalbody:
            module.plan.edits.replaced[node] = []


def _superfluous(module: Module, item: Import) -> bool:
    """Is an import without use one that only the old code needed, or one of a function that is gone?"""
    link = module.program.links[module.path].get(item.name)
    home = module.program.modules[link.path] if link is not None and link.name else None
    function = home.symbols.functions.get(link.name) if home is not None and link is not None else None
    gone = home is not None and function is not None and home.plan.edits.replaced.get(function) == []
    return gone or item.path in OUTPUT_HARNESSES or item.path.partition(".")[0] in _SUPERFLUOUS


def _same(statement: ast.Import | ast.ImportFrom, item: Import, bound: str | None = None) -> str:
    """The import of one name as it was, or as the name ``bound``."""
    bound = bound or item.alias.asname
    alias = f"{item.alias.name} as {bound}" if bound else item.alias.name
    return f"import {alias}" if isinstance(statement, ast.Import) else f"from {statement.module} import {alias}"


def _beta2(module: Module, statement: ast.Import | ast.ImportFrom, item: Import, used: set[str]) -> list[str]:
    """Import statements that bind what ``item`` binds; none where nothing uses it any more."""
    path = canonical(item.alias.name if isinstance(statement, ast.Import) else item.path)
    if item.name == "neuronxcc":
        kept = [_same(statement, item)] if item.name in used else []
        return [*kept, *([f"import {MODULES[path]}"] if "nki" in used and path in MODULES else [])]
    if item.name not in used:
        return []
    root, _, rest = path.partition(".")
    if not rest and root in MODULES:
        target = MODULES[root]
        return [
            f"import {target}" if item.name == target.split(".")[0] == target else f"import {target} as {item.name}"
        ]
    if rest and root in MODULES and (beta2_has(path) or path == "nki.jit" or _is_read(module, item, path)):
        bound = f" as {item.name}" if item.name != rest else ""
        return [f"from {MODULES[root]} import {rest}{bound}"]
    old, home = home_of(module.premises.homes, item)
    if home is not None and home.module:
        raise under_review(statement, item, old, home)
    raise _kept(statement, item)


def _is_read(module: Module, item: Import, path: str) -> bool:
    """Has Beta 2 a function, too, and have rules read every use of it that is left?"""
    left = {chain[0] for node, _ in leftovers.left_names(module) if (chain := dotted(node)) is not None}
    return not beta2_lacks(path) and item.name not in left


def _kept(statement: ast.Import | ast.ImportFrom, item: Import) -> Refuse:
    message = f"'{item.path}' is not Beta 2, and {KEPT}"
    return Refuse(statement, CODE, message, "it goes with its last use")


def _merged(texts: list[str]) -> list[str]:
    """``from m import a`` and ``from m import b`` on one line, as they were."""
    merged: list[str] = []
    for text in texts:
        head, separator, name = text.partition(" import ")
        if separator and head.startswith("from ") and merged and merged[-1].startswith(head + " import "):
            merged[-1] += f", {name}"
        elif text not in merged:
            merged.append(text)
    return merged


def _added(module: Module, used: set[str]) -> None:
    """Imports that rewritten code needs and that the module did not have: after its last NKI import."""
    if not (module.names.needed_imports or module.names.from_imports):
        return
    last = _anchor(module)
    new = []
    present = {
        (canonical(item.path), item.name)
        for item in module.symbols.import_list
        if item.statement not in module.symbols.nested_imports
    }
    for root, name in sorted(module.names.needed_imports.items()):
        if (root, name) in present or name not in used:
            continue
        target = BETA2.get(root, root)
        new.append(New(f"import {target}" if name == target else f"import {target} as {name}"))
    for path, name in sorted(module.names.from_imports.items()):
        if not any(item.path == f"{path}.{name}" and item.name == name for item in module.symbols.import_list):
            new.append(New(f"from {path} import {name}"))
    if last in module.plan.edits.replaced:
        module.plan.edits.replaced[last] += new
    elif new and isinstance(last, ast.Import | ast.ImportFrom | ast.Expr):
        module.plan.edits.replaced[last] = [New(module.source.segment(last)), *new]
    elif new:
        module.plan.edits.before.setdefault(last, []).extend(new)


def _anchor(module: Module) -> ast.stmt:
    """Where imports are added: behind the last import of NKI, else of anything, else at the top."""
    body = module.source.tree.body
    imports = [s for s in body if isinstance(s, ast.Import | ast.ImportFrom)]
    ours = {
        i.statement
        for i in module.symbols.imports.values()
        if i.is_nki and i.statement not in module.symbols.nested_imports
    }
    found = [s for s in imports if s in ours] or _guarded(module, ours) or imports
    return found[-1] if found else body[0]


def _guarded(module: Module, ours: set[ast.Import | ast.ImportFrom]) -> list[ast.Import | ast.ImportFrom]:
    """The imports of NKI of a module that has them in conditions alone: those of the first block."""
    blocks = {s: block for s, block in import_blocks(module.source.tree).items() if s in ours}
    first = next(iter(blocks.values()), None)
    return [s for s, block in blocks.items() if block == first]
