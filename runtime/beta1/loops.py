"""NKI loops. A Beta 1 loop body is traced once: Python state that it changes advances once, whatever the trip count.

The emulator runs every iteration, with a concrete index. So that each one sees the Python state of the first, the
iterator takes the names of the frame that runs the loop at loop entry, and binds those that the body binds again before
every later iteration. So it does with the contents of Python's own objects (:mod:`.tracing`); tensors keep theirs.
(Source: the Beta 2 migration guide's loop that counts to 1 in Beta 1 and to 8 in Beta 2; ``reference/beta1.md`` 3.6.)
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

from ..errors import KernelError, NotModelled, is_emulator_file
from ..events import Recorder
from ..session import in_kernel
from ..source import bound_in_loop, has_plain_for, leaves_loop
from .state import State, state
from .tracing import Contents
from .typing import RuntimeBound

_MISSING = object()


class TracedRange(Iterator[int]):
    """Iterates over ``values`` and keeps the names of the frame that asks for them (module docstring).

    ``state`` is that of the kernel that runs the loop: tensors that are declared in the body belong to this loop. The
    iterations of a ``parallel`` one are told to the recorder, and must not write to the same place.
    """

    iteration = -1
    _entry: dict[str, Any] | None = None
    _contents: Contents | None = None
    _recorder: Recorder | None = None
    _marks: list[int]
    _written: dict[object, int] | None = None

    def __init__(self, values: range, state: State | None = None, parallel: bool = False) -> None:
        self._values = iter(values)
        self._repeats = len(values) > 1
        self._state = state
        self._outer = () if state is None else state.scope
        self._inner = (*self._outer, self)
        self.parallel = parallel
        if state is not None and parallel and state.session.machine.recorder is not None:
            self._recorder = state.session.machine.recorder
            self._marks = self._recorder.loop()

    def __iter__(self) -> TracedRange:
        return self

    def __next__(self) -> int:
        if self._recorder is not None:
            self._recorder.mark(self._marks)
        value = next(self._values, None)
        if value is None:
            self._end()
            raise StopIteration
        if self._state is not None:
            self._state.scope = self._inner
        self.iteration += 1
        if self.iteration == 0:
            frame = sys._getframe(1)
            if self._state is None or (id(frame.f_code), frame.f_lasti) not in _PLAIN_LOOPS:
                self._check(frame)
            if self._repeats:
                names = dict(frame.f_locals)
                bound = bound_in_loop(frame)
                self._entry = names if bound is None else {name: names[name] for name in bound & names.keys()}
                self._contents = Contents(frame, names) if self._state is not None else None
        else:
            if self._entry:
                _restore(sys._getframe(1), self._entry)
            if self._contents is not None:
                self._contents.restore()
        return value

    def _end(self) -> None:
        """Leave the loop's scope, and let go of what the frame held: the scope has the loop, and the loop its scope."""
        if self._state is not None:
            self._state.scope = self._outer
        self._inner = ()
        if self._repeats:
            self._entry = self._contents = None

    def _check(self, frame: FrameType) -> None:
        """Raise where the loop of ``frame`` is none that a compiler could trace."""
        if not is_emulator_file(frame.f_code.co_filename):
            _refuse_early_exit(frame)
            if self._state is not None and not has_plain_for(frame):
                raise NotModelled("an NKI range that something else than a 'for' statement iterates over")
            if self._state is not None:
                _PLAIN_LOOPS[id(frame.f_code), frame.f_lasti] = frame.f_code

    def writes_again(self, place: object) -> bool:
        """Was ``place`` written by an earlier iteration? Notes that this one writes it."""
        if self._written is None:
            self._written = {}
        return self._written.setdefault(place, self.iteration) != self.iteration


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
        raise NotModelled(f"'{keyword}' inside an NKI loop")


def _restore(frame: FrameType, entry: dict[str, Any]) -> None:
    """Bind the names of ``frame`` as they were in ``entry``; names that came later stay."""
    names = frame.f_locals
    changed = {name: value for name, value in entry.items() if names.get(name, _MISSING) is not value}
    if not changed:
        return
    names.update(changed)
    if sys.version_info < (3, 13):
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))


def affine_range(*args: Any, **_: Any) -> Iterator[int]:
    """A loop whose iterations do not depend on each other: ``(stop)``, ``(start, stop)`` or ``(start, stop, step)``."""
    values = _bounds(args)
    if not in_kernel():
        return TracedRange(values)
    current = state()
    return TracedRange(values[::-1] if current.session.descending else values, current, parallel=True)


def sequential_range(*args: Any, **_: Any) -> Iterator[int]:
    """A loop whose iterations may depend on earlier ones through tensors."""
    return TracedRange(_bounds(args), state() if in_kernel() else None)


def static_range(*args: Any, **_: Any) -> Iterator[int]:
    """A loop that Python unrolls while the kernel is traced: an ordinary one."""
    return iter(_bounds(args))


def _bounds(args: tuple[Any, ...]) -> range:
    if len(args) == 1 and type(args[0]) is int:
        return range(args[0])
    try:
        return range(*(a.value if isinstance(a, RuntimeBound) else int(a) for a in args))
    except (TypeError, ValueError):
        raise KernelError(
            "", f"the bounds of a loop must be ints known when the kernel is traced, got {args}"
        ) from None
