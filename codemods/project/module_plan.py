"""What one round knows of a module before it begins, and what it plans, finds out and names (design, section 3).

A round walks the functions of modules with :class:`Premises`, which it does not change. What it finds out of functions
are :class:`Summaries`, what it decides and writes is a :class:`ModulePlan`, and the names that the output gets for that
are :class:`OutputNames`. Rounds follow each other until their summaries tell nothing new; the plan of the last one is
applied.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..expr.emission import Edits, Refuse, Said
from ..expr.frames import Analysis
from ..expr.moves import Planned
from ..expr.values import Parameters, Value
from ..model import Assumption, Decision, Finding
from .vendor_kernels import Homes

Position = tuple[str, int, int]
"""Path, line and column of a declaration."""

Resized = tuple[str, int, str]
"""Path, line of a function, and the name of an index vector there whose size has a name."""


@dataclass(frozen=True)
class Premises:
    """What is known of a module before a round: what earlier rounds and the passes before them found out."""

    variants: Mapping[ast.FunctionDef, list[Parameters]] = field(default_factory=dict)
    """The kinds of arguments that the calls of each function pass."""
    shared: Mapping[ast.FunctionDef, list[int]] = field(default_factory=dict)
    """The copy that serves each variant of a function; a function without an entry has a copy for each."""
    to_list: Mapping[Position, str] = field(default_factory=dict)
    """The declarations that an earlier round could not rewrite with another style of blocks, each with the reason."""
    resized: frozenset[Resized] = frozenset()
    """The index vectors for whose sizes an earlier round asked names."""
    carried: Mapping[tuple[Position, str], Value] = field(default_factory=dict)
    """What iterations of a loop leave of a name for the next, where that is not what the name was before the loop."""
    homes: Homes = field(default_factory=dict)
    """The modules that have the kernels which the module imports from ``neuronxcc``."""
    reviewed: frozenset[str] = frozenset()
    """The functions whose questions about the launch grid have an answer with ``--unsafe``."""
    covered: frozenset[int] = frozenset()
    """The lines under a finding about the launch grid."""
    counts: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The names, by function, that ``--unsafe`` has given to places in a grid and to its sizes."""
    lost_writes: Mapping[ast.stmt, Refuse] = field(default_factory=dict)
    """The statements that write to what a kernel got, of any module."""


@dataclass
class ModulePlan:
    """What a round plans for a module, and what it says of it."""

    edits: Edits = field(default_factory=Edits)
    tensors: list[Planned] = field(default_factory=list)
    """What declarations become."""
    findings: list[Finding] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)
    refused: dict[ast.AST, list[str]] = field(default_factory=dict)
    """The findings about each node, as text."""
    applied: Counter[str] = field(default_factory=Counter)
    """How often each rule was applied, by its code."""
    touched: set[str] = field(default_factory=set)
    """The functions and classes of the module's level that a rule changed; an empty name: what stands in none."""
    kept: set[ast.stmt] = field(default_factory=set)
    """The statements that are left alone, each with a finding."""
    choices: set[ast.stmt] = field(default_factory=set)
    """Those of them that might be rewritten as an ``if``."""
    left: set[ast.FunctionDef] = field(default_factory=set)
    """The functions that are left alone as a whole."""
    staying: set[ast.AST] = field(default_factory=set)
    """The calls of functions of Beta 1 that the target has again, and conditions that mean what Beta 1 left open."""
    needless: set[ast.stmt] = field(default_factory=set)
    """The statements that go, and their comments with them."""
    removed_comments: list[str] = field(default_factory=list)
    inexact: dict[str, int] = field(default_factory=dict)
    """The kernels whose results may differ in their last bits, and in how many."""
    decisions: set[Decision] = field(default_factory=set)
    assumptions: set[Assumption] = field(default_factory=set)
    assumed: dict[ast.stmt, dict[str, str]] = field(default_factory=dict)
    """What statements are rewritten for that Beta 2 itself checks: the conditions, each with its reason."""
    blocked: dict[Position, str] = field(default_factory=dict)
    """The declarations that this round could not rewrite with the style that it chose, each with the reason."""
    to_resize: set[Resized] = field(default_factory=set)
    """The index vectors for whose sizes this round needs names."""
    carried: dict[tuple[Position, str], Value] = field(default_factory=dict)
    """What iterations of a loop leave of a name for the next, where this round took it for something else."""
    inside: dict[ast.FunctionDef, dict[ast.AST, str]] = field(default_factory=dict)
    """The texts of expressions in functions that their callers plan."""
    captured: dict[ast.FunctionDef, dict[str, Value]] = field(default_factory=dict)
    """What nested functions captured when they were lifted."""
    lifting: set[ast.FunctionDef] = field(default_factory=set)
    """The nested functions that are being lifted."""
    lifted: dict[ast.FunctionDef, tuple[str, list[str]]] = field(default_factory=dict)
    """The new names of nested functions that were lifted, and the names that they get as further arguments."""
    traced_once: set[ast.For] = field(default_factory=set)
    """The loops whose bodies Beta 1 traced once."""

    def add(self, part: ModulePlan) -> None:
        """Take over what a function of the module plans; each of its tables is a copy."""
        for name, planned in vars(part.edits).items():
            _check_alike(getattr(self.edits, name), planned)
            _add_all(getattr(self.edits, name), planned)
        for name, planned in vars(part).items():
            if name not in ("edits", "findings", "inexact", "refused"):
                _add_all(getattr(self, name), planned)
        self.findings += [each for each in part.findings if each not in self.findings]
        for node, texts in part.refused.items():
            self.refused[node] = [*self.refused.get(node, []), *texts]
        self.inexact |= {code: max(ulps, self.inexact.get(code, 0)) for code, ulps in part.inexact.items()}


def _check_alike(whole: Any, part: Any) -> None:
    """A node belongs to one function: what two of them plan for one must be the same."""
    shared = whole.keys() & part.keys() if isinstance(part, dict) else ()
    assert all(whole[node] == part[node] for node in shared), "two functions plan something else for one node"


def _add_all(whole: Any, part: Any) -> None:
    """Add what a part of a plan has to a table, set or list of the whole. (Copies of a function share places.)"""
    if isinstance(part, Counter | set):
        whole.update(part)
    elif isinstance(part, list):
        whole.extend(part)
    else:
        whole |= {key: list(planned) if isinstance(planned, list) else planned for key, planned in part.items()}


@dataclass
class Summaries:
    """What a round finds out of the functions of a module, and what becomes of them as a whole."""

    calls: dict[ast.FunctionDef, list[Parameters]] = field(default_factory=dict)
    """What the calls of each function pass."""
    analyzed: dict[ast.FunctionDef, Analysis] = field(default_factory=dict)
    """The functions that were walked, copies as well."""
    copies: dict[ast.FunctionDef, list[ast.FunctionDef]] = field(default_factory=dict)
    """The further copies of a function that serve other arguments than the first."""
    handed: dict[ast.FunctionDef, list[str]] = field(default_factory=dict)
    """The parameters that functions get besides their own."""
    flattened: dict[ast.FunctionDef, str] = field(default_factory=dict)
    """The functions that return a nested one, and the name of what stands in their place."""
    followed: dict[ast.FunctionDef, set[ast.Call]] = field(default_factory=dict)
    """The calls of functions that stand in the text no more, since their result does."""
    own_objects: dict[str, list[ast.FunctionDef]] = field(default_factory=dict)
    """The functions that get an allocator of their own for one of the module's, by its name."""
    object_classes: dict[tuple[ast.FunctionDef, str], Any] = field(default_factory=dict)
    """The classes of the objects that names of functions hold, as far as somebody asked."""
    changed_by: dict[ast.FunctionDef, set[tuple[str, bool, bool]]] = field(default_factory=dict)
    """The parameters whose objects functions change, as far as somebody asked."""


@dataclass
class OutputNames:
    """The names of a module's output: those that are taken, and what it is to import or define besides its own."""

    taken: set[str]
    """All names of the module, and those that the rewrite chose."""
    module_level: set[str]
    """The names that mean something at its level."""
    support_home: str
    """The module that it imports functions of the rewrite from; empty: they stand in its own text."""
    local: dict[ast.FunctionDef, set[str]] = field(default_factory=dict)
    """The names that a function of the module's level has, nested functions and all."""
    lifted: dict[ast.FunctionDef, str] = field(default_factory=dict)
    """The names at the level of the module of nested functions that were lifted."""
    needed_imports: dict[str, str] = field(default_factory=dict)
    """The modules to import, and the name of each."""
    needed_names: dict[ast.ImportFrom, dict[str, str]] = field(default_factory=dict)
    """The functions to import besides those that an import has, each with its name here."""
    from_imports: dict[str, str] = field(default_factory=dict)
    """The one class to import of each module."""
    support: dict[str, str] = field(default_factory=dict)
    """The functions of the rewrite that its text needs: their text, by their name here."""
    support_names: dict[str, str] = field(default_factory=dict)
    """Their names here, by their own."""


@dataclass
class Environment:
    """What the names are that a module binds at its level."""

    values: dict[str, Value] = field(default_factory=dict)
    definitions: dict[str, str] = field(default_factory=dict)
    """Numbers, as text."""
    dtypes: dict[str, str] = field(default_factory=dict)
    """Data types, as text."""
    aliases: dict[str, ast.Assign] = field(default_factory=dict)
    """The statements that bind functions of NKI to further names."""
