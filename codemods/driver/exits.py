"""Statements that leave a function or the body of a loop: ``return``, ``raise``, ``break``, ``continue``."""

from __future__ import annotations

import ast

from ..analysis.joins import merged
from ..analysis.scope import Scope
from ..expr.emission import New, Refuse
from ..lower.calls import returned_value
from ..lower.launch_results import check_returned
from ..render.expressions import render
from ..rules import dynamic_loops, loop_state
from ..rules.loop_state import check_last
from ..syntax.codes import LANGUAGE


def leave_function(scope: Scope, statement: ast.stmt) -> None:
    """``return``; in the last loops of a function that Beta 1 traced once, it moves behind them.

    Raises :class:`Refuse` in any other loop that Beta 1 traced once.
    """
    assert isinstance(statement, ast.Return)
    traced = any(loop.traced_once for loop in scope.place.loops)
    if any(loop.dynamic for loop in scope.place.loops):
        what = "return in a loop on the device, which ends where its trip count says"
        raise Refuse(statement, dynamic_loops.CODE, what, "move the return after the loop")
    if traced:
        check_last(scope, statement)
    if statement.value is None:
        scope.emit("return")
        return
    text, value = returned_value(scope, statement.value)
    check_returned(scope, statement, value)
    scope.summary.returned = (
        value if scope.summary.returned is None else merged("result", scope.summary.returned, value)
    )
    if traced:
        scope.apply(loop_state.CODE, statement)
        lines = [*scope.output.lines, New(f"return {text}")]
        scope.draft.put(scope.module.plan.edits.after, scope.place.loops[0].statement, lines)
        scope.output.lines = []
    else:
        scope.emit(f"return {text}")


def stop(scope: Scope, statement: ast.stmt) -> None:
    """``raise ValueError("text")``: the kernel ends with the text all the same.

    Raises :class:`Refuse` for an exception that is made in another way.
    """
    assert isinstance(statement, ast.Raise)
    call = statement.exc
    plain = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and not call.keywords and not statement.cause
    if not plain or not isinstance(call, ast.Call) or len(call.args) != 1:
        raise Refuse(statement, LANGUAGE, "Beta 2 kernels cannot contain raise", "use assert")
    scope.apply(LANGUAGE, statement)
    scope.emit(f"assert False, {render(scope, call.args[0])}")


def leave_body(scope: Scope, statement: ast.stmt) -> None:
    """``break`` or ``continue``. Raises :class:`Refuse` in a loop whose body Beta 1 traced once."""
    if scope.place.loops and scope.place.loops[-1].traced_once:
        word = "break" if isinstance(statement, ast.Break) else "continue"
        raise Refuse(
            statement,
            loop_state.CODE,
            f"{word} in a loop whose body Beta 1 traced once",
            "say which iterations run: write the loop's bounds, or an if",
        )
    if scope.place.loops:
        scope.place.loops[-1].left.append(dict(scope.names.env))
