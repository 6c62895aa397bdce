"""NKI loops. A Beta 1 loop body is traced once: Python state that it changes advances once, whatever the trip count.

The emulator runs every iteration, with a concrete index. So that each one sees the Python state of the first, the
iterator takes the names of the frame that runs the loop at loop entry, and binds those that the body binds again before
every later iteration. So it does with the contents of Python's own objects (:mod:`.tracing`); tensors keep theirs.
(Source: the Beta 2 migration guide's loop that counts to 1 in Beta 1 and to 8 in Beta 2; ``reference/beta1.md`` 3.6.)
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType, FrameType
from typing import Any

from ..abridging import steps
from ..errors import KernelError, NotModelled, is_emulator_file
from ..events import Recorder
from ..session import RUNNING, Session
from ..source import bound_in_loop, has_plain_for, leaves_loop
from ..spec.beta1_kernel import LOOP_HINTS
from .state import Loop, State, state
from .tracing import Contents
from .typing import RuntimeBound

_MISSING = object()


def _loop(args: tuple[Any, ...], running: Session, parallel: bool, whole: bool = False) -> Iterator[int]:
    """The iterations of a loop with the bounds ``args`` in the kernel of ``running`` (module docstring).

    ``whole``: all of them, in an abridged run too.
    """
    bounds = range(args[0]) if len(args) == 1 and type(args[0]) is int else _bounds(args)
    values = bounds if whole else steps(bounds)
    current = running.front if type(running.front) is State else state()
    outer = current.scope
    entry = None
    loop = Loop()
    if values:
        frame = sys._getframe(1)
        if (id(frame.f_code), frame.f_lasti) not in _PLAIN_LOOPS:
            _check(frame, current)
        if len(values) > 1:
            entry = _Entry(frame, current)
            loop.parallel = parallel
            if parallel and running.descending:
                values = values[::-1]
        del frame  # it has this iterator
    inner = (*outer, loop)
    recorder = current.machine.recorder if parallel else None
    for value in values if recorder is None else _told(recorder, values):
        if entry is not None and value != values[0]:
            loop.iteration += 1
            entry.restore(sys._getframe(1))
        current.scope = inner
        yield value
    current.scope = outer


def _told(recorder: Recorder, values: Sequence[int]) -> Iterator[int]:
    """``values``; the recorder is told of each iteration, and of the end."""
    marks = recorder.loop()
    for value in values:
        recorder.mark(marks)
        yield value
    recorder.mark(marks)


def _outside(values: range) -> Iterator[int]:
    """``values``, for a loop that runs outside of kernels: a test's, of the body of one."""
    entry = None
    for position, value in enumerate(values):
        if not position:
            _check(sys._getframe(1), None)
            entry = _Entry(sys._getframe(1), None) if len(values) > 1 else None
        elif entry is not None:
            entry.restore(sys._getframe(1))
        yield value


class _Entry:
    """The Python state that a loop finds: the names of its frame that the body binds, and contents of objects."""

    __slots__ = ("_contents", "_names")

    def __init__(self, frame: FrameType, state: State | None) -> None:
        names = dict(frame.f_locals)
        bound = bound_in_loop(frame)
        self._names = names if bound is None else {name: names[name] for name in bound & names.keys()}
        self._contents = Contents(frame, names) if state is not None else None

    def restore(self, frame: FrameType) -> None:
        if self._names:
            _restore(frame, self._names)
        if self._contents is not None:
            self._contents.restore()


def _check(frame: FrameType, state: State | None) -> None:
    """Raise where the loop of ``frame`` is none that a compiler could trace."""
    if not is_emulator_file(frame.f_code.co_filename):
        _refuse_early_exit(frame)
        if state is not None and not has_plain_for(frame):
            raise NotModelled("an NKI range that something else than a 'for' statement iterates over")
        if state is not None:
            _PLAIN_LOOPS[id(frame.f_code), frame.f_lasti] = frame.f_code


_PLAIN_LOOPS: dict[tuple[int, int], CodeType] = {}
"""Loops of kernels that nothing is wrong with, by ``id`` of the code, which is kept alive, and by the place."""
_rewritten: dict[int, CodeType] = {}


def end_returns_handled(code: CodeType) -> None:
    """In ``code`` and the functions inside, a ``return`` that ends a loop body waits for all iterations already."""
    _rewritten[id(code)] = code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            end_returns_handled(constant)


def _refuse_early_exit(frame: FrameType) -> None:
    keyword = leaves_loop(frame, except_at_end=id(frame.f_code) in _rewritten)
    if keyword:
        why = "" if keyword == "return" else _NO_ITERATION
        raise NotModelled(f"'{keyword}' inside an NKI loop{why}")


_NO_ITERATION = (
    ": its body is traced once for all iterations, and nothing documents which of them that would leave out; say it by "
    "the bounds of the loop, an 'if' around the rest or a mask, or unroll the loop with nl.static_range"
)


def _restore(frame: FrameType, entry: dict[str, Any]) -> None:
    """Bind the names of ``frame`` as they were in ``entry``; names that came later stay."""
    names = frame.f_locals
    changed = {name: value for name, value in entry.items() if names.get(name, _MISSING) is not value}
    if not changed:
        return
    names.update(changed)
    if sys.version_info < (3, 13):
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))


def affine_range(*args: Any, **hints: Any) -> Iterator[int]:
    """A loop whose iterations do not depend on each other: ``(stop)``, ``(start, stop)`` or ``(start, stop, step)``."""
    _check_hints("affine_range", hints)
    running = RUNNING.get()
    return _outside(_bounds(args)) if running is None else _loop(args, running, True)


def sequential_range(*args: Any, **hints: Any) -> Iterator[int]:
    """A loop whose iterations may depend on earlier ones through tensors."""
    _check_hints("sequential_range", hints)
    running = RUNNING.get()
    return _outside(_bounds(args)) if running is None else _loop(args, running, False)


def python_range(*args: Any) -> Iterator[int]:
    """What ``range`` is in a kernel: a sequential loop, which stays ``range`` after a rewrite, and whole."""
    running = RUNNING.get()
    return _outside(_bounds(args)) if running is None else _loop(args, running, False, whole=True)


def static_range(*args: Any) -> Iterator[int]:
    """A loop that Python unrolls while the kernel is traced: an ordinary one."""
    return iter(_bounds(args))


def _check_hints(loop: str, given: Mapping[str, object]) -> None:
    unknown = next((name for name in given if name not in LOOP_HINTS), None)
    if unknown is not None:
        raise KernelError("", f"{loop}() got an unexpected keyword argument '{unknown}': pass the bounds by position")


def _bounds(args: tuple[Any, ...]) -> range:
    try:
        return range(*(a.value if isinstance(a, RuntimeBound) else int(a) for a in args))
    except (TypeError, ValueError):
        raise KernelError(
            "", f"the bounds of a loop must be ints known when the kernel is traced, got {args}"
        ) from None
