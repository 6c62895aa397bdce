"""What earlier rounds found of each function, and what that rests on: most of it holds in the next round.

A function's walk reads its text, the premises that concern it, and what it asks of what functions share: new names,
imports, the functions that it calls. It records each of these questions (:class:`Step`) with its answer. Where a later
round answers all of them alike, the walk would plan what it has planned: that is planned again, and nothing is walked.
The questions are asked in their order, each with its effects, so the round goes on from where the walk would have
left it; where one is answered otherwise, the function is walked from there on with these answers.
(These are the verifying traces of Mokhov, Mitchell and Peyton Jones, Build Systems a la Carte, 2018, 4.2.2.)
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import partial
from typing import Any

from nki_migrate.runtime.spec.grammar import copied

from ..expr.frames import Analysis
from ..expr.values import Parameters
from .draft import Draft
from .module_plan import Environment, ModulePlan, Position, Resized


@dataclass(frozen=True)
class Step:
    """A question that a function's walk asks of the module at ``path``; its effects may stay whatever becomes of it."""

    question: Callable[..., Any]
    path: str
    arguments: tuple[Any, ...]
    stays: bool


@dataclass(frozen=True)
class Known:
    """What a function is walked with: what its calls pass and plan in it, and the premises that concern it."""

    parameters: Parameters
    on_device: bool
    flags: dict[str, bool]
    inside: dict[ast.AST, str]
    to_list: dict[Position, str]
    resized: set[Resized]
    carried: dict[tuple[Position, str], object]


@dataclass(frozen=True)
class Asked:
    """A question of a walk, and its answer."""

    step: Step
    answer: Any


@dataclass(frozen=True)
class TakenBack:
    """The statement that asked the question ``at`` this place of the walk was refused."""

    at: int


Event = Asked | TakenBack
Ask = Callable[[Step, Draft], Any]
"""Asks a question whose effects a draft takes back."""


@dataclass
class Unit:
    """The walk of one function: what it knew, asked and planned, and what it told of the function.

    ``within`` is what it found of the functions that it was walked with (:meth:`Scope.walk_within`). ``is_repeatable``:
    it did nothing that other functions see but by its questions. ``begun`` are the first events of a walk whose
    questions were asked already, with their drafts: the walk takes their answers.
    """

    known: Known
    begun: Sequence[Event] = ()
    drafts: dict[int, Draft] = field(default_factory=dict)
    plan: ModulePlan = field(default_factory=ModulePlan)
    events: list[Event] = field(default_factory=list)
    is_repeatable: bool = True
    analysis: Analysis = field(default_factory=lambda: Analysis({}, None))
    within: dict[ast.FunctionDef, Analysis] = field(default_factory=dict)
    handed: list[str] = field(default_factory=list)

    def asked(self, step: Step, ask: Ask) -> tuple[Any, Callable[[], None]]:
        """The answer to a question of the walk, and what takes its effects back."""
        at = len(self.events)
        event = self.begun[at] if at < len(self.begun) else None
        if not (isinstance(event, Asked) and same(event.step, step)):
            self._begin_anew(at)
            self.drafts[at] = Draft()
            event = self._ask(step, ask, self.drafts[at])
        self.events.append(event)
        return event.answer, partial(self._take_back, at)

    def _ask(self, step: Step, ask: Ask, draft: Draft) -> Asked:
        repeatable, self.is_repeatable = self.is_repeatable, False  # where the question is refused
        event = Asked(step, ask(step, draft))
        self.is_repeatable = repeatable
        return event

    def _begin_anew(self, at: int) -> None:
        """What was asked already from a place on is not what the walk asks."""
        for later, event in reversed(list(enumerate(self.begun))):
            if later >= at and isinstance(event, Asked) and not event.step.stays:
                self.drafts[later].drop(0)
        self.begun = self.begun[:at]

    def _take_back(self, at: int) -> None:
        self.drafts[at].drop(0)
        self.events.append(TakenBack(at))

    def again(self, ask: Ask) -> Unit:
        """Ask all questions again: it is this unit, or the beginning of another one if one is answered otherwise."""
        begun: list[Event] = []
        drafts: dict[int, Draft] = {}
        for at, event in enumerate(self.events):
            if isinstance(event, TakenBack):
                drafts[event.at].drop(0)
                begun.append(event)
                continue
            drafts[at] = Draft()
            begun.append(Asked(event.step, ask(event.step, drafts[at])))
            if not same(begun[-1], event):
                return Unit(self.known, begun, drafts)
        return self


@dataclass
class Walks:
    """What the rounds over some modules have found so far. Copies of functions are the same nodes in all of them."""

    units: dict[ast.FunctionDef, Unit] = field(default_factory=dict)
    environments: dict[str, Environment] = field(default_factory=dict)
    _copies: dict[tuple[ast.FunctionDef, int], ast.FunctionDef] = field(default_factory=dict)

    def begin(self, environments: dict[str, Environment]) -> None:
        """A round begins, in which the names of modules are these."""
        if not same(environments, self.environments):
            self.units.clear()
        self.environments = environments

    def copy(self, function: ast.FunctionDef, number: int) -> ast.FunctionDef:
        """A copy of a function."""
        if (function, number) not in self._copies:
            self._copies[function, number] = copied(function)
        return self._copies[function, number]


def same(a: object, b: object) -> bool:
    """Are two answers the same in all that they tell, with what says nothing of whether values are alike?"""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if is_dataclass(a):
        return all(same(getattr(a, each.name), getattr(b, each.name)) for each in fields(a))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(value, b[key]) for key, value in a.items())
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b
