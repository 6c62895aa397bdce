"""A question changes nothing: what answers yes or no leaves the function and the module that it is asked about.

The functions of ``codemods`` that answer ``bool``, and all of ``analysis``, are watched while goldens are rewritten.
What a module remembers of its own source (its caches) may be found during any question.
"""

import ast
import functools
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
from first_rung import Options, rewrite
from module_imports import ROOT
from nki_migrate import codemods
from nki_migrate.codemods.analysis.facts import Tables
from nki_migrate.codemods.analysis.scope import Place, Scope
from nki_migrate.codemods.project.program import Module
from nki_migrate.codemods.syntax.node_index import tree_of, trees_kept

CACHES = {"object_classes", "interpreted", "unpacking", "changed_by"}
"""What is found once, of what does not change."""

ACTS = {
    "analysis.kill.kill": "forgets what was known by a name that is bound again",
    "analysis.kill.forget_formulas": "forgets what names that are bound again were computed as",
    "lower.alternatives.either_place": "writes a call for each place that an argument may mean; answers whether it did",
    "lower.assign._assign_vectors": "assigns what a call computes from vectors; answers whether it does",
    "lower.comprehensions.expand": "writes a comprehension as a loop; answers whether the statement has one",
    "lower.number_tables.assign_table": "assigns an array of numbers; answers whether it is one",
    "rules.psum_accumulation._declare_again": "declares a tile again; answers whether it can be",
    "rules.name_bindings.report": "reports names that mean something else; answers whether there are any",
}
"""Functions that act, and say whether they did."""


def modules() -> list[ModuleType]:
    """The layers of the rules from Beta 1."""
    found = (m.name for m in pkgutil.walk_packages(codemods.__path__, f"{codemods.__name__}."))
    others = ("tilelang", "ascend", "ladder")
    return [importlib.import_module(name) for name in found if name.split(".")[2] not in others]


def contents(value: object) -> object:
    """What a container holds, by identity, to the second level. (Most of them hold nothing.)"""
    if not isinstance(value, _CONTAINERS):
        return id(value)
    if not value:
        return ()
    if isinstance(value, dict):
        return tuple([(id(k), id(item), len(item) if hasattr(item, "__len__") else 0) for k, item in value.items()])
    return len(value) if isinstance(value, set) else tuple(map(id, value))


_CONTAINERS = (dict, list, tuple, set)


def state(subject: Scope | Module) -> dict[tuple[str, str], object]:
    """All that is planned for a function and its module, or known of them, by a class and a name."""
    module = subject.module if isinstance(subject, Scope) else subject
    planned = [module.plan, module.plan.edits, module.summaries, module.names, module.environment]
    own = [part for part in vars(subject).values() if isinstance(part, Tables | Place)]
    parts = [*planned, *own, subject] if isinstance(subject, Scope) else planned
    return {
        (type(part).__name__, name): contents(value)
        for part in parts
        for name, value in vars(part).items()
        if name not in CACHES and not isinstance(value, Tables | Place)
    }


def answers_bool(function: Callable[..., Any]) -> bool:
    return function.__annotations__.get("return") in ("bool", bool)


class Watch:
    """The functions that answer ``bool``, and what each changed."""

    def __init__(self) -> None:
        self.asked: set[str] = set()
        self.changed: dict[str, set[str]] = {}
        self.rewritten: set[str] = set()
        """Goldens of which the tree that all share is another one after the rewrite."""

    def around(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        @functools.wraps(function)
        def watched(*arguments: Any, **keywords: Any) -> Any:
            subject = next((a for a in arguments if isinstance(a, Scope | Module)), None)
            if subject is None:
                return function(*arguments, **keywords)
            self.asked.add(name)
            before = state(subject)
            try:
                return function(*arguments, **keywords)
            finally:
                after = state(subject)
                changed = after != before and {p for p, value in after.items() if before.get(p, value) != value}
                if changed:
                    self.changed.setdefault(name, set()).update(map(".".join, changed))

        return watched


@pytest.fixture(scope="module")
def watch() -> Iterator[Watch]:
    watch = Watch()
    watched: dict[Callable[..., Any], Callable[..., Any]] = {}
    with pytest.MonkeyPatch.context() as patched:
        for module in modules():
            for name, function in list(vars(module).items()):
                home = getattr(function, "__module__", "")
                short = f"{home.removeprefix(f'{codemods.__name__}.')}.{getattr(function, '__name__', '')}"
                is_ours = inspect.isfunction(function) and home.startswith(f"{codemods.__name__}.")
                if is_ours and (short.startswith("analysis.") or answers_bool(function)):
                    if function not in watched:
                        watched[function] = watch.around(function, short)
                    patched.setattr(module, name, watched[function])
        for source in sorted((ROOT / "golden").glob("*/before.py")):
            if "neuronxcc" in (text := source.read_text(encoding="utf-8")):
                with trees_kept():
                    shared = tree_of(text)
                    rewrite(text, Options(unsafe=True))
                    if ast.dump(shared) != ast.dump(ast.parse(text)):
                        watch.rewritten.add(source.parent.name)
        yield watch


@pytest.mark.random
def test_questions_are_asked(watch: Watch) -> None:
    assert len(watch.asked) > 100


@pytest.mark.random
def test_a_question_changes_nothing(watch: Watch) -> None:
    assert {name: parts for name, parts in watch.changed.items() if name not in ACTS} == {}


@pytest.mark.random
def test_a_rewrite_leaves_the_tree_that_others_read(watch: Watch) -> None:
    assert watch.rewritten == set()


@pytest.mark.random
def test_what_is_called_an_act_acts(watch: Watch) -> None:
    assert ACTS.keys() - watch.changed.keys() == set()
