"""What the codemods are asked and what they answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nki_migrate.runtime.spec.seen import SeenFunction
from nki_migrate.runtime.spec.versions import DEFAULT

from .syntax.codes import NAMESPACE

PLUGINS = "nki_migrate.rules"
"""The group of entry points in which other packages have rules."""

_FROM_BETA1 = "NKI"
"""How the codes of the rules from Beta 1 begin."""

APPLICABILITIES = ("safe", "review", "manual")


class PluginError(Exception):
    """A package with rules cannot be used, or one of its rules fails; the text names it."""


@dataclass(frozen=True)
class Pin:
    """The oldest and the newest version of NKI that a project admits, and ``why``: which file asks for what."""

    low: str
    high: str
    why: str


@dataclass(frozen=True)
class SupportHome:
    """The module of a package that has the functions which rewrites of its files need, as one of these files sees it.

    ``path`` is its file, ``module`` is how the file that needs functions imports it. ``problem`` says why it cannot be
    written; then files that need functions are left as they are.
    """

    path: str
    module: str
    problem: str = ""


@dataclass(frozen=True)
class Options:
    """How to rewrite.

    ``select`` and ``ignore`` hold rule codes or prefixes of codes (an empty ``select`` means all). ``unsafe`` also
    applies *review* rewrites. ``allocation`` is ``address`` or ``sbuf-manager``, ``blocks`` is ``auto``, ``list``,
    ``fold`` or ``loop``. ``target`` is the version to write for, ``source`` that of the input (empty: found by
    evidence). ``oldest`` is the oldest version that what is written serves, too (empty: none but the target).
    ``modules`` are pairs: a module of ``neuronxcc`` that Beta 2 does not have, and the one to import from
    instead. ``observed`` are the functions that cases entered, each with its file as the sources are named; what they
    tell takes ``unsafe``, or ``trusted`` (whoever asks verifies what comes out).
    ``pins`` are what the projects of files ask for, each with its file as the sources are named.
    ``language`` is the one that all files are taken to be of (empty: each file's own evidence counts).
    ``renames`` are pairs: an in-house name (``acme.nki.load``), and the function of NKI that it stands for.
    ``support_homes`` are the modules that have the functions which rewrites need, each with a file that imports it;
    any other file gets such functions in its own text. ``marks``: what is written says what is left in it; a step
    of several, of which only the last is kept, need not.
    ``planning`` are pairs that only languages with plans of memory read: hardware, mode, planner, values of names.
    """

    select: frozenset[str] = frozenset()
    ignore: frozenset[str] = frozenset()
    unsafe: bool = False
    allocation: str = "address"
    blocks: str = "auto"
    target: str = DEFAULT.name
    source: str = ""
    oldest: str = ""
    modules: tuple[tuple[str, str], ...] = ()
    observed: tuple[SeenFunction, ...] = ()
    trusted: bool = False
    pins: tuple[tuple[str, Pin], ...] = ()
    language: str = ""
    planning: tuple[tuple[str, Any], ...] = ()
    renames: tuple[tuple[str, str], ...] = ()
    support_homes: tuple[tuple[str, SupportHome], ...] = ()
    marks: bool = True

    def selected(self, code: str) -> bool:
        """Is the rule ``code`` selected and not ignored?"""
        if any(code.startswith(prefix) for prefix in self.ignore):
            return False
        return not self.select or any(code.startswith(prefix) for prefix in self.select)

    def enabled(self, code: str) -> bool:
        """Is the rule ``code`` applied: selected, and with it, if it is from Beta 1, the rule that imports Beta 2?

        All rules from Beta 1 write Beta 2. What still imports Beta 1 would take it for something else: instructions
        take any keyword there (``**kwargs`` in the 2.26.1 stubs), so ``nisa.tensor_copy(dst=t, src=u)`` writes nothing.
        """
        return self.selected(code) and (not code.startswith(_FROM_BETA1) or self.selected(NAMESPACE))

    def disabled(self, code: str) -> tuple[str, str]:
        """Why the rule ``code`` is not :meth:`enabled`, and what to do."""
        if not self.selected(code):
            return f"the rule {code} is not selected", f"select it with --select {code}"
        message = f"the rule {code} writes Beta 2, which a file imports by the rule {NAMESPACE}: that is not selected"
        return message, f"select it, too, with --select {NAMESPACE}"

    def support_home(self, path: str) -> SupportHome | None:
        """The module that has the functions which the rewrite of a file needs; ``None`` where they stand in its own."""
        return next((home for place, home in self.support_homes if place == path), None)


KEPT = "is kept for a statement that was left alone"
AFTER = "comes of a statement that was left alone"
"""How the messages end of findings that only follow from another one."""
NOT_THE_SAME = "is not the same in Beta 2"
"""How the messages end of findings about a name of Beta 1 that Beta 2 has not, or only with another meaning."""


@dataclass(frozen=True, order=True)
class Finding:
    """A construct that was left as it was: where, why, and what to do by hand.

    ``line`` and ``column`` are 1-based and refer to the *input*; ``applicability`` says what stands in the way:
    ``review`` (``--unsafe`` applies it) or ``manual``.
    """

    line: int
    column: int
    code: str
    applicability: str
    message: str
    help: str

    @property
    def follows(self) -> bool:
        """Does it only follow from another finding? It goes with that one."""
        return self.message.endswith((KEPT, AFTER))


@dataclass(frozen=True, order=True)
class Decision:
    """What the rewrite chose for one tensor where it had a choice, and why; ``line`` is that of its declaration."""

    line: int
    name: str
    choice: str
    reason: str


@dataclass(frozen=True, order=True)
class Assumption:
    """What cases showed of a parameter of ``function`` that the source does not tell; the place is the parameter's."""

    line: int
    column: int
    parameter: str
    function: str
    what: str
    cases: tuple[str, ...]


@dataclass(frozen=True, order=True)
class Asserted:
    """What the rewrite of a ``function`` takes for true, which kernels assert when they run, or instructions check.

    ``line`` is the first of the input that needs it, ``text`` the condition, ``why`` what the assertion's message says.
    """

    line: int
    function: str
    text: str
    why: str


@dataclass(frozen=True)
class Moved:
    """One declaration of an on-chip tensor: the expression that made it, and the call that makes it in the output.

    ``lines`` and ``new_lines`` are the first and the last, 1-based. ``name`` is empty for a tile that had none.
    """

    name: str
    lines: tuple[int, int]
    new_name: str
    new_lines: tuple[int, int]


@dataclass(frozen=True)
class Outcome:
    """The result for one file: the new source, what was left, and how often each rule was applied.

    ``source`` equals the input where nothing was rewritten. ``touched`` holds the names of the module-level functions
    and classes that some rule changed; all others must come out with an equal ``ast.dump``. ``moves`` says what became
    of each tensor's declaration; one that it does not name may still be there. ``inexact`` is, for each rule that was
    applied and is not exact, how many units in the last place its results may be off. ``decisions`` tell what was
    chosen for which tensor. ``removed_comments`` spoke of index vectors that are gone; every other comment is kept.
    ``assumptions`` were made where the source did not tell. ``left`` are lines of functions that were left as a whole,
    each under one finding. ``asserted`` is what kernels assert when they run. ``support`` are the functions that the
    source imports from its package's module of them (:class:`SupportHome`), by their names there.
    """

    source: str
    findings: tuple[Finding, ...] = ()
    applied: Mapping[str, int] = field(default_factory=Counter)
    touched: frozenset[str] = frozenset()
    moves: tuple[Moved, ...] = ()
    inexact: Mapping[str, int] = field(default_factory=dict)
    decisions: tuple[Decision, ...] = ()
    removed_comments: tuple[str, ...] = ()
    assumptions: frozenset[Assumption] = frozenset()
    left: frozenset[int] = frozenset()
    asserted: tuple[Asserted, ...] = ()
    support: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rule:
    """One rule: its code, name, applicability, one line of summary, the full text for ``explain``, and its goldens.

    ``plugin`` is the package that has it; empty for a rule of ours.
    """

    code: str
    name: str
    applicability: str
    summary: str
    explanation: str
    goldens: tuple[str, ...] = ()
    plugin: str = ""
