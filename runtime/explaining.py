"""Why a run ended: where each of the user's functions was, and what the comparisons of a failed ``assert`` compared.

Only the child of a worker that looks for cases asks (:class:`~.messages.Request` of kind ``"probe"``). The operands are
evaluated once more in the frame that failed, in a process that ends with the answer.
"""

from __future__ import annotations

import ast
import gc
import traceback
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from types import FrameType
from typing import Any

import numpy as np

from .compare.trace import Compared, Failure
from .errors import is_emulator_file
from .events import Recorder
from .numerics import DTYPES
from .source import source_of

_PAIRS = (("Eq", "NotEq"), ("Lt", "GtE"), ("Gt", "LtE"), ("In", "NotIn"), ("Is", "IsNot"))
_OPPOSITE = {one: other for pair in _PAIRS for one, other in (pair, pair[::-1])}
"""What a condition that raises asks for."""


def explained(failure: Failure, error: BaseException) -> Failure:
    """``failure`` with the lines that the user's functions were at, what was compared, and how much had run.

    The record of a run that failed is found where the frames of the error still hold it.
    """
    frames = [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__) if not _is_ours(frame)]
    trail = tuple((frame.f_code.co_filename, line) for frame, line in frames)
    statement = _statement(frames[-1]) if frames else None
    compared: tuple[Compared, ...] = ()
    if isinstance(statement, ast.Assert):
        compared = tuple(_compared(statement.test, frames[-1][0], wanted=True))
    elif isinstance(statement, ast.If):
        found = _compared(statement.test, frames[-1][0], wanted=False)
        compared = tuple(replace(each, operator=_OPPOSITE.get(each.operator, each.operator)) for each in found)
    recorders = [value for value in gc.get_objects() if type(value) is Recorder]
    reached = len({(event.file, event.line) for recorder in recorders for event in recorder.events()})
    return replace(failure, trail=trail, compared=compared, reached=reached)


def _is_ours(frame: FrameType) -> bool:
    return is_emulator_file(frame.f_code.co_filename) or frame.f_code.co_filename.startswith("<")


def _statement(at: tuple[FrameType, int]) -> ast.stmt | None:
    """The ``assert``, or the ``if`` whose body raises, at the line of a frame."""
    frame, line = at
    source = source_of(frame.f_code.co_filename, frame.f_globals)
    for node in ast.walk(source.tree) if source is not None else ():
        if isinstance(node, ast.Assert) and node.lineno <= line <= (node.end_lineno or 0):
            return node
        raises = isinstance(node, ast.If) and isinstance(node.body[-1], ast.Raise)
        if isinstance(node, ast.If) and raises and node.lineno <= line <= (node.body[-1].end_lineno or 0):
            return node
    return None


def _compared(test: ast.expr, frame: FrameType, *, wanted: bool) -> Iterator[Compared]:
    """Each comparison and each ``%`` in ``test`` that can be evaluated, with its operands as plain values.

    What is asked for its truth alone (``config.fast``, ``not order``) is compared with the truth that it should have
    for ``test`` to be as ``wanted``.
    """
    for node, truth in _asked(test, wanted):
        with suppress(Exception):
            yield Compared("Truth", ast.unparse(node), str(truth), _plain(_value(node, frame)), truth)
    for operator, one, other in (asked for node in ast.walk(test) for asked in _operations(node)):
        with suppress(Exception):
            values = _plain(_value(one, frame)), _plain(_value(other, frame))
            yield Compared(type(operator).__name__, ast.unparse(one), ast.unparse(other), *values)


def _asked(test: ast.expr, truth: bool) -> Iterator[tuple[ast.expr, bool]]:
    """The names and attributes whose truth a condition asks for, with what makes it true."""
    if isinstance(test, ast.BoolOp):
        for part in test.values:
            yield from _asked(part, truth)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _asked(test.operand, not truth)
    elif isinstance(test, (ast.Name, ast.Attribute)):
        yield test, truth


def _operations(node: ast.AST) -> list[tuple[ast.AST, ast.expr, ast.expr]]:
    if isinstance(node, ast.Compare):
        return list(zip(node.ops, (node.left, *node.comparators), node.comparators, strict=False))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return [(node.op, node.left, node.right)]
    return []


def _value(node: ast.expr, frame: FrameType) -> Any:
    code = compile(ast.fix_missing_locations(ast.Expression(node)), "<explained>", "eval")
    return eval(code, frame.f_globals, frame.f_locals)


def _plain(value: Any) -> Any:
    """A number, text, a tuple of them, or the name of a data type. Raises :class:`TypeError` for anything else."""
    if isinstance(value, (bool, str, type(None))):
        return value
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (tuple, list)):
        return tuple(_plain(item) for item in value)
    with suppress(TypeError, ValueError):
        dtype = np.dtype(getattr(value, "dtype", value))
        return next(name for name, known in DTYPES.items() if known == dtype)
    raise TypeError(value)
