"""A statement that is refused leaves nothing behind but what is said about it.

Faults are injected: every third statement of the goldens is lowered to its end and refused then, when all that it would
change has been changed. What the function and its module knew before must be what they know after.
"""

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from first_rung import Options, rewrite
from module_imports import ROOT
from nki_migrate.codemods.analysis.scope import Scope
from nki_migrate.codemods.driver import walk
from nki_migrate.codemods.expr.emission import Refuse
from nki_migrate.codemods.project.draft import Draft
from nki_migrate.codemods.syntax.codes import LANGUAGE
from nki_migrate.codemods.syntax.nodes import SIMPLE

SAID = {"findings", "said", "refused", "kept", "choices"}
"""What a refusal itself adds to."""
LEARNED = {"calls", "decisions", "blocked", "to_resize", "followed", "changed_by"}
"""Facts about the source for the next round, and what is found once: they hold whatever becomes of the statement."""
CACHES = {"object_classes", "interpreted", "unpacking"}
PARTS = {"names", "sizes", "masks", "memory", "summary", "place"}
"""The parts of a scope that are compared; what begins anew with each statement is not."""

Contents = dict[str, object]


def contents(value: object) -> object:
    """A container as it is now, to the second level."""
    if isinstance(value, dict):
        return {key: contents(item) for key, item in value.items()}
    if isinstance(value, list | set | frozenset):
        return type(value)(value)
    return value


def state(scope: Scope) -> Contents:
    module = scope.module
    own = {name: value for name, value in vars(scope).items() if name not in PARTS | {"output"}}
    planned = [module.plan, module.plan.edits, module.summaries, module.environment]
    if module.program.unit is None or not module.program.unit.begun:
        planned.append(module.names)  # else what is asked here was asked before, and its names are there already
    subjects = {"Scope": own, **{f"Scope.{name}": vars(getattr(scope, name)) for name in PARTS}}
    subjects |= {type(part).__name__: vars(part) for part in planned}
    return {
        f"{prefix}.{name}": contents(value)
        for prefix, names in subjects.items()
        for name, value in names.items()
        if name not in SAID | LEARNED | CACHES and (prefix, name) != ("Scope.place", "statement")
    }


def functions_read(scope: Scope) -> int:
    return sum(len(module.summaries.analyzed) for module in scope.module.program.modules.values())


class Faults:
    """Refuses every third simple statement at its end, and compares."""

    def __init__(self) -> None:
        self.met = self.refused = 0
        self.left: dict[str, list[str]] = {}

    def walked(self, walk_statement: Callable[[Scope, ast.stmt], None]) -> Callable[[Scope, ast.stmt], None]:
        def watched(scope: Scope, statement: ast.stmt) -> None:
            self.met += isinstance(statement, SIMPLE)
            if not isinstance(statement, SIMPLE) or self.met % 3:
                walk_statement(scope, statement)
                return
            read = functions_read(scope)
            before = state(scope)

            def refusing(handler: Callable[[Scope, ast.stmt], None]) -> Callable[[Scope, ast.stmt], None]:
                def refuse(scope: Scope, node: ast.stmt) -> None:
                    handler(scope, node)
                    if node is statement:
                        raise Refuse(node, LANGUAGE, "refused by the test", "")

                return refuse

            expand = walk.expand

            def refused_expansion(scope: Scope, node: ast.stmt) -> bool:
                expanded = expand(scope, node)
                if expanded and node is statement:
                    raise Refuse(node, LANGUAGE, "refused by the test", "")
                return expanded

            with pytest.MonkeyPatch.context() as patched:
                patched.setitem(walk._HANDLERS, type(statement), refusing(walk._HANDLERS[type(statement)]))
                patched.setattr(walk, "expand", refused_expansion)
                patched.setattr(walk, "bound_by", lambda node: [])  # what the names are then is said of the refusal
                walk_statement(scope, statement)
            if read != functions_read(scope):
                return  # a function was read for the first time: what was decided about it stays
            self.refused += 1
            own = scope.module.plan.edits.replaced
            if scope.source.is_changed(statement):
                own.pop(statement)  # it says what the run made of it before, in its own words
            for name, value in state(scope).items():
                if before.get(name, value) != value:
                    self.left.setdefault(name, []).append(f"{statement.lineno}: {ast.unparse(statement)[:80]}")

        return watched


@pytest.fixture(scope="module")
def faults() -> Iterator[Faults]:
    faults = Faults()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(walk, "walk_statement", faults.walked(walk.walk_statement))
        for source in sorted((ROOT / "golden").glob("*/before.py")):
            if "neuronxcc" in (text := source.read_text(encoding="utf-8")):
                rewrite(text, Options(unsafe=True))
        yield faults


@pytest.mark.random
def test_statements_are_refused(faults: Faults) -> None:
    assert faults.refused > 200


@pytest.mark.random
def test_what_is_refused_leaves_nothing_behind(faults: Faults) -> None:
    assert {name: places[:3] for name, places in faults.left.items()} == {}


REFUSED = Refuse(ast.Pass(), LANGUAGE, "no", "none")


def refuse(change: Callable[[], object]) -> None:
    change()
    raise REFUSED


def test_a_draft_takes_back_the_last_change_first() -> None:
    draft, names, table, items = Draft(), {"a"}, {"x": 1}, [1]

    def change() -> None:
        draft.add(names, "a")
        draft.add(names, "b")
        draft.put(table, "x", 2)
        draft.put(table, "x", 3)
        draft.put(table, "y", 4)
        draft.append(items, 1)

    assert draft.attempt(refuse, change) is REFUSED
    assert (names, table, items) == ({"a"}, {"x": 1}, [1])
    assert draft.attempt(change) is None
    assert (names, table, items) == ({"a", "b"}, {"x": 3, "y": 4}, [1, 1])


def test_a_draft_takes_back_what_was_attempted_alone() -> None:
    draft, table = Draft(), {"x": 1}
    draft.put(table, "x", 2)
    assert draft.attempt(refuse, lambda: draft.put(table, "x", 3)) is REFUSED
    assert table == {"x": 2}


def test_what_was_kept_stays() -> None:
    draft, counts = Draft(), Counter({"NKI001": 1})

    def change() -> None:
        draft.put(counts, "NKI001", 2)
        draft.keep()
        draft.put(counts, "NKI002", 1)

    assert draft.attempt(refuse, change) is REFUSED
    assert counts == {"NKI001": 2}


def _head(node: ast.AST) -> str:
    """The first line of a handler, or of a call."""
    return ast.unparse(node).split("\n")[0] if isinstance(node, ast.ExceptHandler | ast.Call) else ""


def test_a_refusal_becomes_a_value_in_one_place() -> None:
    """What decides by a refusal asks :meth:`Draft.attempt`: no other code catches one, and leaves half a change."""
    catching = [
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "codemods").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if re.match(r"except .*\bRefuse\b|suppress\(.*\bRefuse\b", _head(node))
    ]
    assert catching == ["codemods/project/draft.py"]
