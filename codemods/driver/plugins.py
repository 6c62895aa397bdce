"""Rules of other packages, and in-house names of NKI's functions: what is rewritten before all rules of ours.

A package has rules in the entry-point group ``nki_migrate.rules``, a module each, as one of ours is: a docstring
``CODE name: summary``, ``CODE``, ``EXAMPLES`` (pairs of a source before and after), ``NODES`` (types of ``ast``), and
``rewrite(source, node)``, which answers edits, :class:`Left`, or nothing. Rules and renames come to a fixpoint, and the
rules of ours go on from there; what is said of lines is said of those of the input.
"""

from __future__ import annotations

import ast
import importlib.metadata
import posixpath
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from types import ModuleType

from ..ladder import origins
from ..model import PLUGINS, Finding, Options, Outcome, PluginError, Rule
from ..syntax.drafts import Draft, Edit, Sheet, applied, definitions_in, without_overlaps
from ..syntax.name_scopes import OTHER, Names, dotted
from ..syntax.nodes import first_line

_CODE = re.compile(r"[A-Z]{2,8}\d{3}")
_OURS = ("NKI", "NKV", "NKL", "NKM", "TLG", "ASC")
_ROUNDS = 12


@dataclass(frozen=True)
class Left:
    """Why a construct stays as it is, and what to do by hand."""

    message: str
    help: str


@dataclass(frozen=True)
class PluginRule:
    """A rule of a package: ``plugin`` is its name with its version."""

    plugin: str
    module: ModuleType
    rule: Rule

    @property
    def code(self) -> str:
        return self.rule.code

    @property
    def examples(self) -> tuple[tuple[str, str], ...]:
        """Sources before and after, as the rule alone rewrites them."""
        pairs = tuple(getattr(self.module, "EXAMPLES", ()))
        if not all(isinstance(pair, (tuple, list)) and list(map(type, pair)) == [str, str] for pair in pairs):
            raise PluginError(f"{self.said}: EXAMPLES are pairs of texts, before and after")
        return tuple((textwrap.dedent(old), textwrap.dedent(new)) for old, new in pairs)

    @property
    def said(self) -> str:
        """The rule and its package, for messages."""
        return f"rule {self.code} of the plugin {self.plugin}"

    def answer(self, source: PluginSource, node: ast.AST) -> tuple[Edit, ...] | Left | None:
        """What the rule answers. Raises :class:`PluginError` for an error of the rule's, and for what is no answer."""
        try:
            found = self.module.rewrite(source, node)
        except Exception as error:
            line = getattr(node, "lineno", 0)
            raise PluginError(f"{self.said}, line {line}: {type(error).__name__}: {error}") from error
        if found is None or isinstance(found, Left):
            return found
        edits = (found,) if isinstance(found, Edit) else tuple(found) if isinstance(found, (tuple, list)) else (found,)
        if not edits or not all(isinstance(edit, Edit) for edit in edits):
            raise PluginError(f"{self.said}: rewrite answers edits, Left or None, not {type(found).__name__}")
        return edits


class PluginSource(Sheet):
    """A file that rules of plugins read: its text, its tree, and what names mean in it."""

    def __init__(self, text: str, options: Options, path: str = "") -> None:
        super().__init__(text, options, lambda module: None)
        self.path = path

    def qualified(self, node: ast.AST) -> str:
        """``acme.nki.load`` for an expression that an import makes mean it; empty for all else.

        A relative import is resolved by the file's path.
        """
        parts = dotted(node)
        if parts is None or node not in self.names:
            return ""
        paths = self.names[node].of(parts[0])
        if paths == {OTHER}:
            paths = {self._relative.get(parts[0], OTHER)}
        return "" if len(paths) != 1 or OTHER in paths else ".".join((*paths, *parts[1:]))

    def spelled(self, at: ast.AST, name: str) -> str:
        """A dotted path as the file can write it where ``at`` stands; empty if it has no name for it."""
        found: list[str] = []
        scope: Names | None = self.names[at]
        while scope is not None:
            for bound in scope.bound:
                paths = self.names[at].of(bound)
                path = next(iter(paths)) if len(paths) == 1 else OTHER
                if name == path or name.startswith(f"{path}."):
                    found.append(bound + name[len(path) :])
            scope = scope.outer
        return min(found, key=len, default="")

    @cached_property
    def roots(self) -> frozenset[str]:
        """The packages that the file imports."""
        scopes = {id(names): names for names in self.names.values()}.values()
        paths = {path for names in scopes for found in names.bound.values() for path in found}
        return frozenset(path.partition(".")[0] for path in paths if path != OTHER)

    def is_unbound(self, name: str) -> bool:
        """Does nothing in the file have that name?"""
        return self.is_free(name) and not any(name in names.bound for names in self.names.values())

    @cached_property
    def _relative(self) -> dict[str, str]:
        """What relative imports of the module bind, and nothing else in the file does."""
        found: dict[str, str] = {}
        for statement in self.tree.body:
            if isinstance(statement, ast.ImportFrom) and statement.level:
                home = posixpath.dirname(self.path).split("/")
                parts = [part for part in home[: len(home) - statement.level + 1] if part not in ("", ".", "..")]
                parts += [statement.module] if statement.module else []
                for alias in statement.names:
                    found[alias.asname or alias.name] = ".".join([*parts, alias.name])
        rebound = {n.id for n in self.nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        rebound |= {n.name for n in self.nodes if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))}
        rebound |= {n.arg for n in self.nodes if isinstance(n, ast.arg)}
        return {name: path for name, path in found.items() if name not in rebound}


# --- what is installed -----------------------------------------------------------------------------------------------


@cache
def plugin_rules() -> Mapping[str, PluginRule]:
    """The rules of all packages, by code. Raises :class:`PluginError` for one that cannot be loaded."""
    found: dict[str, PluginRule] = {}
    for entry in sorted(importlib.metadata.entry_points(group=PLUGINS), key=lambda entry: (entry.name, entry.value)):
        rule = _loaded(entry)
        if rule.code in found:
            raise PluginError(f"{rule.said}: {found[rule.code].plugin} has a rule of this code, too")
        found[rule.code] = rule
    return found


def _loaded(entry: importlib.metadata.EntryPoint) -> PluginRule:
    plugin = f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else entry.name
    try:
        module = entry.load()
    except Exception as error:
        raise PluginError(f"the plugin {plugin}: {entry.value}: {type(error).__name__}: {error}") from error
    headline, _, rest = (getattr(module, "__doc__", None) or "").partition("\n")
    code, _, title = headline.partition(" ")
    name, colon, summary = title.partition(": ")
    if not colon or code != getattr(module, "CODE", None) or not _CODE.fullmatch(code):
        raise PluginError(f"the plugin {plugin}: {entry.value}: its docstring begins 'CODE name: summary', as ABC001")
    if code.startswith(_OURS):
        raise PluginError(f"the plugin {plugin}: {entry.value}: {code} begins as codes of nki-migrate do")
    if not callable(getattr(module, "rewrite", None)) or not getattr(module, "NODES", ()):
        raise PluginError(f"the plugin {plugin}: {entry.value}: a rule has NODES, and a function rewrite(source, node)")
    text = f"{textwrap.dedent(rest).strip()}\n\nA rule of the plugin {plugin}."
    found = PluginRule(plugin, module, Rule(code, name, "safe", summary, text, plugin=plugin))
    shown = "".join(f"\n\n{when}:\n\n{textwrap.indent(source.strip(), '    ')}" for when, source in _shown(found))
    return replace(found, rule=replace(found.rule, explanation=text + shown))


def _shown(rule: PluginRule) -> Iterable[tuple[str, str]]:
    return zip(("Before", "After"), rule.examples[0], strict=True) if rule.examples else ()


# --- the way of a file -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Prepared:
    """A file before the rules of ours: its text, where its lines come from, and what was said and done."""

    text: str
    origins: origins.Origins
    findings: frozenset[Finding] = frozenset()
    applied: Mapping[str, int] = field(default_factory=Counter)
    touched: frozenset[str] = frozenset()

    def joined(self, outcome: Outcome) -> Outcome:
        """The outcome for the text, as one for the input."""
        if not self.findings and not self.touched and self.origins == origins.unchanged(self.text):
            return (
                replace(outcome, applied=Counter(self.applied) + Counter(outcome.applied)) if self.applied else outcome
            )

        def line(number: int) -> int:
            return self.origins[min(max(number, 1), len(self.origins)) - 1]

        return replace(
            outcome,
            findings=tuple(sorted({*self.findings, *(replace(f, line=line(f.line)) for f in outcome.findings)})),
            applied=Counter(self.applied) + Counter(outcome.applied),
            touched=self.touched | outcome.touched,
            moves=tuple(replace(m, lines=(line(m.lines[0]), line(m.lines[1]))) for m in outcome.moves),
            decisions=tuple(replace(d, line=line(d.line)) for d in outcome.decisions),
            assumptions=frozenset(replace(a, line=line(a.line)) for a in outcome.assumptions),
            left=frozenset(map(line, outcome.left)),
            asserted=tuple(replace(a, line=line(a.line)) for a in outcome.asserted),
        )


def prepared(text: str, options: Options, path: str, rules: Iterable[PluginRule] | None = None) -> Prepared:
    """A file with the rules of plugins (by default all) and the renames made."""
    wanted = [rule for rule in (plugin_rules().values() if rules is None else rules) if options.enabled(rule.code)]
    found = Prepared(text, origins.unchanged(text))
    if not wanted and not options.renames:
        return found
    for _ in range(_ROUNDS):
        source = _source(found, options, path, wanted)
        drafts, findings = _asked(source, wanted)
        drafts += _renamed(source)
        if not drafts:
            lines = {replace(each, line=found.origins[each.line - 1]) for each in findings}
            return replace(found, findings=frozenset(lines))
        found = _made(found, source, without_overlaps(drafts))
    codes = ", ".join(f"{rule.code} of the plugin {rule.plugin}" for rule in wanted)
    raise PluginError(f"rule {codes}: there is no end to what is rewritten: an output has to be left alone")


def _source(found: Prepared, options: Options, path: str, rules: Iterable[PluginRule]) -> PluginSource:
    try:
        return PluginSource(found.text, options, path)
    except (SyntaxError, ValueError) as error:
        said = ", ".join(rule.said for rule in rules if rule.code in found.applied)
        if not said:
            raise  # the input does not parse
        raise PluginError(f"{said}: what it writes does not parse: {error}") from error


def _asked(source: PluginSource, rules: Iterable[PluginRule]) -> tuple[list[Draft], list[Finding]]:
    drafts: list[Draft] = []
    findings: list[Finding] = []
    for rule in rules:
        for node in source.nodes:
            answer = rule.answer(source, node) if isinstance(node, tuple(rule.module.NODES)) else None
            if isinstance(answer, Left):
                line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1
                findings.append(Finding(line, column, rule.code, "manual", answer.message, answer.help))
            elif answer is not None and applied(source.text, answer) != source.text:
                drafts.append(Draft(rule.code, node, list(answer)))
    return drafts, findings


def _made(found: Prepared, source: PluginSource, drafts: list[Draft]) -> Prepared:
    edits = [edit for draft in drafts for edit in draft.edits]
    counts = Counter(draft.code for draft in drafts if draft.code)
    touched = frozenset(name for draft in drafts for name in definitions_in(source, draft.node, draft.edits))
    return Prepared(
        applied(source.text, edits),
        origins.edited(source.text, edits, found.origins),
        applied=Counter(found.applied) + counts,
        touched=found.touched | touched,
    )


# --- renames ---------------------------------------------------------------------------------------------------------

_ALIASES = {"neuronxcc.nki": "nki", "neuronxcc.nki.language": "nl", "neuronxcc.nki.isa": "nisa"}
_OTHER_ROOT = {"neuronxcc": "nki", "nki": "neuronxcc"}


def _renamed(source: PluginSource) -> list[Draft]:
    """In-house names as the functions of NKI that they stand for; first the imports that these need."""
    uses = list(_in_house(source)) if source.options.renames else []
    for node, api in uses:
        if not source.spelled(node, api):
            return [Draft("", node, [_import(source, node, api.rpartition(".")[0])])]
    return [Draft("", node, [source.replace(node, source.spelled(node, api))]) for node, api in uses]


def _in_house(source: PluginSource) -> Iterator[tuple[ast.expr, str]]:
    """The in-house names of a file with what they stand for, unless that is of the NKI that the file is not of."""
    renames = dict(source.options.renames)
    for node in source.nodes:
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
            path = source.qualified(node)
            api = next((api for name, api in renames.items() if path == name or path.endswith(f".{name}")), "")
            root = api.partition(".")[0]
            if api and not (_OTHER_ROOT[root] in source.roots and root not in source.roots):
                yield node, api


def _import(source: PluginSource, use: ast.expr, module: str) -> Edit:
    """An import of a module of NKI: behind the last one above the use, else above all that the file does."""
    wished = _ALIASES.get(module, module.rpartition(".")[2])
    name = next(name for name in (wished, *(f"{wished}_{n}" for n in range(2, 99))) if source.is_unbound(name))
    line = f"import {module} as {name}"
    above = [statement for statement in source.tree.body if statement.lineno < use.lineno]
    imports = [s for s in above if isinstance(s, (ast.Import, ast.ImportFrom)) and source.stands_alone(s)]
    if imports:
        return source.line_after(imports[-1], line)
    is_docstring = isinstance(source.tree.body[0], ast.Expr) and isinstance(source.tree.body[0].value, ast.Constant)
    at = source.line_start(first_line(source.tree.body[1 if is_docstring and len(source.tree.body) > 1 else 0]))
    return Edit(at, at, f"{line}\n")
