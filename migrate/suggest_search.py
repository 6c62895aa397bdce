"""The search for a case that runs: proposals, what their errors ask for, and other sizes of the source; best first.

How far a run came (how many lines have run, then where the kernel was, and the functions that it called) tells which
failure is nearer to a case. What an error asks for goes before sizes that nothing asked for.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import heapq
import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from nki_migrate.runtime.abridging import STEPS
from nki_migrate.runtime.cases import Case, TensorSpec
from nki_migrate.runtime.compare import Failure
from nki_migrate.runtime.messages import Probe

from .suggest_clock import Over
from .suggest_expressions import Unknown, evaluated
from .suggest_parts import in_turn, moved, ranked, shaped, tensors, toggled, typed
from .suggest_proposals import LARGEST_TOLD, MAX_ELEMENTS
from .suggest_repairs import repairs
from .variants import resized, sizes, with_number

_BATCH = 4
WANTS_TILE = r"address space '(?:psum\|sbuf|sbuf\|psum|sbuf|psum)', but got a tile in 'hbm'|to be a tile, got"
"""The failure of what gets a tensor in HBM, where no shape and no type helps."""
_UNKNOWN_KEYWORD = "got an unexpected keyword argument '"
"""The failure of a call with a keyword that the function has not, whatever it is given."""
_HOPELESS = 24
"""Runs that ended alike, at what no argument changes, before no more are tried."""
_STARTS = 8
"""Proposals that are tried before anything else."""
_PLAIN_SIZES = (128, 512, 256, 64, 1, 2, 4, 8, 1024, 2048)
_DTYPES = ("bfloat16", "int32", "uint8")
_LARGEST = 8192
_STOPPED = "did not end within"
_BETTER = 16 * _BATCH
"""Runs before a case is taken in which stores repeat elements: sizes of 1 where the kernel means others."""
_AT_ONCE = 2
"""Cases that run at a time: each may take all the time that there is."""
_PATIENCE = 4 * _BATCH
"""Runs before one that took too long gets all the time that there is: no smaller one may run."""
_LARGEST_INTEGER = 128
"""Integers of a case are smaller: every integer type has them."""
_WHOLE_LOOPS = (8, 16)
"""Steps of loops that run whole in an abridged case, where all of their steps are used: the chunks of a row."""
_TILES = 4
_FIRST = 2 * _TILES
_NOTHING_WRITTEN = "never written to"
_OUT_OF_BOUND = "err_tensor_access_out_of_bound: Out-of-bound access for tensor `"
_GUESSES = 8
"""Cases that one sketch gives for the sizes of tiles that it found too small."""
_TYPINGS = 16
"""Choices of tensors that are bfloat16 where a matmul got two types."""
_SKETCHES = 12
"""Cases of a kernel that are run to see how far their indices reach."""
_FARTHEST = (-(1 << 20),)
"""How far a run came that came to its end."""
_RAN: tuple[tuple[int, ...], int] = ((-(1 << 30),), 0)
"""What is better than any place in the queue: a case that ran is not queued again."""


class Ask(Protocol):
    """Runs cases; ``patient``: for as long as there is time; ``sketch``: only to see how far their indices reach."""

    def __call__(
        self, cases: Sequence[Case], *, patient: bool = False, sketch: bool = False
    ) -> list[Probe | Failure]: ...


@dataclass
class Search:
    """What a search came to: the case that runs and its probe, or the failure that came farthest, with its case.

    ``weak`` is the first case whose stores repeat elements or that leaves an argument unread, ``stopped`` are those
    that took too long. ``obstacle`` is the best failure of a run that did something: a kernel whose loops do not run at
    all comes to its end, with nothing written. ``tried`` counts runs; ``endings`` counts those that failed by file,
    line and message.
    """

    found: tuple[Case, Probe] | None = None
    weak: tuple[Case, Probe] | None = None
    stopped: list[Case] = field(default_factory=list)
    best: tuple[Case, Failure] | None = None
    obstacle: tuple[Case, Failure] | None = None
    tried: int = 0
    out_of_time: bool = False
    endings: Counter[tuple[str, int, str]] = field(default_factory=Counter)

    def failed(self, case: Case, failure: Failure) -> None:
        """Count a failure, and keep it where no other came farther."""
        self.endings[failure.file, failure.line, failure.message] += 1
        if self.best is None or _progress(failure) < _progress(self.best[1]):
            self.best = case, failure
        if self.obstacle is None or _worth(failure) < _worth(self.obstacle[1]):
            self.obstacle = case, failure

    @property
    def alike(self) -> int:
        """How many runs failed where the obstacle is, when all of them said the same; else 0."""
        if self.obstacle is None or not self.obstacle[1].line:
            return 0
        failure = self.obstacle[1]
        here = {
            said: runs
            for (file, line, said), runs in self.endings.items()
            if (file, line) == (failure.file, failure.line)
        }
        return here[failure.message] if len(here) == 1 else 0

    @property
    def hopeless(self) -> bool:
        """Did all come to one place that no argument changes, or did many end there and none behind it?

        That is one that the emulator does not model, one that wants a tile where there is a tensor in HBM, or a call
        with a keyword that the function has not.
        """
        failure = self.obstacle[1] if self.obstacle is not None else None
        if failure is None:
            return False
        said = failure.message
        if not (failure.undecided or _UNKNOWN_KEYWORD in said or re.search(WANTS_TILE, said)):
            return False
        ended = self.endings[failure.file, failure.line, failure.message]
        return self.alike >= _HOPELESS or ended >= 2 * _HOPELESS


@dataclass(order=True)
class _Next:
    """A case to run; ``key`` orders: how far its parent came, what kind it is, how much it has."""

    key: tuple[object, ...]
    case: Case = field(compare=False)


class _Queue:
    """Cases to run, best first, and those that took too long, which are worth the time that is left at the end."""

    def __init__(self) -> None:
        self._queue: list[_Next] = []
        self._number = itertools.count()
        self._known: dict[str, tuple[tuple[int, ...], int]] = {}
        self._to_sketch: list[tuple[tuple[int, ...], Case]] = []
        self._sketched = 0
        self.slow: list[Case] = []
        self._cut: list[Case] | None = None
        self.was_patient = False

    def __bool__(self) -> bool:
        return bool(self._queue)

    def push(self, cases: Iterable[Case], progress: tuple[int, ...], kind: int, most: int = MAX_ELEMENTS) -> None:
        for case in cases:
            text = repr(case)
            is_better = text not in self._known or (progress, kind) < self._known[text]
            if is_better and 0 < elements(case) <= most:
                self._known[text] = progress, kind
                heapq.heappush(self._queue, _Next((progress, kind, next(self._number)), case))

    def batch(self) -> list[Case]:
        """The next cases, each once: one that is found again may be worth more than it was."""
        found: list[Case] = []
        while self._queue and len(found) < _AT_ONCE:
            case = heapq.heappop(self._queue).case
            text = repr(case)
            if self._known[text] != _RAN:
                self._known[text] = _RAN
                found.append(case)
        return found

    def add_sketch(self, case: Case, progress: tuple[int, ...]) -> None:
        """A case some of whose tensors are too small is worth a sketch."""
        if self._sketched < _SKETCHES:
            self._sketched += 1
            self._to_sketch.append((progress, case))

    def sketches(self) -> list[tuple[tuple[int, ...], Case]]:
        """The cases to sketch, each with how far it came."""
        found, self._to_sketch = self._to_sketch, []
        return found

    def slowest(self, outermost: tuple[int, ...]) -> list[Case]:
        """The cases that took too long, cut short, a few at a time; when none of these ran, the first of them: no other
        one will have the time. ``outermost``: the steps of the outermost loops, which most often share nothing.
        """
        if self._cut is None:
            loops = (*([outermost] if outermost else []), *_WHOLE_LOOPS)
            partly = [replace(self.slow[0], abridged=each) for each in loops]
            shortest = [replace(case, abridged=1) for case in self.slow[:_BATCH]]
            self._cut = [shortest[0], *partly, *shortest[1:]]
        if self._cut:
            found, self._cut = self._cut[:_AT_ONCE], self._cut[_AT_ONCE:]
            return found
        first, self.slow, self.was_patient = self.slow[:1], [], True
        return first


@dataclass(frozen=True)
class Share:
    """The time of a search: is it ``over``, is it ``late`` enough for what took too long, has all time ``ended``?"""

    over: Over
    late: Over
    ended: Over

    @classmethod
    def until(cls, over: Over) -> Share:
        """One that ends for all at a time."""
        return cls(over, over, over)

    def has_ended(self, tried: int, *, patient: bool) -> bool:
        """Is there no time for more cases, where so many were tried? ``patient``: for those that took too long."""
        return self.ended() if patient else tried > 0 and self.over()


@dataclass
class Hunt:
    """A search that stops when the time is over, and goes on from there when it gets more.

    ``options`` are other values of parameters that have a default, ``outermost`` the steps of the outermost loops.
    """

    starts: Iterator[Case]
    constants: Sequence[int]
    options: Mapping[str, Sequence[object]] = field(default_factory=dict)
    outermost: tuple[int, ...] = ()
    search: Search = field(default_factory=Search)
    _queue: _Queue = field(default_factory=_Queue)
    _stalled: bool = False

    @property
    def is_over(self) -> bool:
        """Is there nothing more to do, with any time? One that took too long is worth the time that is left."""
        idle = self.search.tried > 0 and not self._queue and not self._queue.slow
        return self._has_ended or idle

    @property
    def _has_ended(self) -> bool:
        search = self.search
        return search.found is not None or search.hopeless or (search.weak is not None and search.tried > _BETTER)

    def go_on(self, ask: Ask, share: Share, *, is_last: bool = True) -> Search:
        """Run cases until one gives outputs, nothing is left to try, or the time is over: the first few run anyhow.

        ``is_last``: it gets no more time, so that the first case that took too long takes what is left.
        """
        search, queue = self.search, self._queue
        if not search.tried:
            queue.push(itertools.islice(self.starts, _STARTS), (), 0, LARGEST_TOLD)
        search.out_of_time = False
        while not self._has_ended and (queue or (queue.slow and is_last)):
            patient = is_last and self._waits_for_slow(share.late)
            if share.has_ended(search.tried, patient=patient):
                search.out_of_time = True
                break
            batch = queue.slowest(self.outermost) if patient else queue.batch()
            replies = ask(batch, patient=True) if patient else ask(batch)
            self._stalled = all(isinstance(reply, Failure) and is_stop(reply) for reply in replies)
            for case, reply in zip(batch, replies, strict=True):
                self._note(case, reply)
            self._sketch(ask)
            if not self._has_ended and (search.tried % (4 * _BATCH) == 0 or not queue):
                queue.push(itertools.islice(self.starts, 2), (), 0, LARGEST_TOLD)
        if is_last or self._has_ended:
            search.found = search.found or search.weak
        return search

    def _waits_for_slow(self, late: Over) -> bool:
        """Is it time for the first case that took too long, or have the last ones all done so?"""
        waits = not self._queue or self._stalled or late() or self.search.tried >= _PATIENCE
        return bool(self._queue.slow) and waits

    def _sketch(self, ask: Ask) -> None:
        """Queue the cases whose tensors are as large as the indices reach that ran out of them.

        Only of the first where a case took too long: its tensors may be large enough.
        """
        found = [] if self._has_ended else self._queue.sketches()[: 1 if self._queue.slow else None]
        replies = ask([case for _, case in found], sketch=True) if found else []
        for (progress, case), reply in zip(found, replies, strict=True):
            self._queue.push(reaching(case, reply), progress, -1, LARGEST_TOLD)

    def _note(self, case: Case, reply: Probe | Failure) -> None:
        self.search.tried += 1
        if isinstance(reply, Probe):
            _ran(self.search, self._queue, case, reply, self.constants)
        else:
            _failed(self.search, self._queue, case, reply, self.constants, self.options)


def _ran(search: Search, queue: _Queue, case: Case, probe: Probe, constants: Sequence[int]) -> None:
    """Keep a case that ran, and look for a better one where its stores repeat elements, or an argument is not read."""
    if probe.outputs and not probe.spread and not probe.unread:
        search.found = search.found or (case, probe)
    elif probe.outputs:
        search.weak = search.weak or (case, probe)
        queue.push(_factors(case), _FARTHEST, 0)
        queue.push(_neighbours(case, constants), _FARTHEST, 1)


def reaching(case: Case, reply: Probe | Failure) -> Iterator[Case]:
    """The case with sizes that tiles need, and with tensors in which its indices are, as far as a sketch came."""
    grown = {name: replace(tensors(case)[name], shape=shape) for name, shape in reply.reach if name in tensors(case)}
    whole = replace(case, args={**case.args, **grown})
    guesses = in_turn(*(moved(whole, size, new) for size, new in reply.outgrown))
    yield from itertools.islice(guesses, _GUESSES)
    yield whole


def _failed(
    search: Search,
    queue: _Queue,
    case: Case,
    failure: Failure,
    constants: Sequence[int],
    options: Mapping[str, Sequence[object]],
) -> None:
    """Count a failure, and queue what it asks for, and other options."""
    progress = _progress(failure)
    is_best = search.best is None or progress <= _progress(search.best[1])
    search.failed(case, failure)
    search.stopped += [case] if is_stop(failure) else []
    queue.slow += [case] if is_stop(failure) and not queue.was_patient else []
    if _OUT_OF_BOUND in failure.message:
        queue.add_sketch(case, progress)
    if _NOTHING_WRITTEN in failure.message:
        queue.push(_with_tiles(case, constants[:_FIRST]), progress, 0)
    queue.push(itertools.islice(repairs(case, failure), 32), progress, 0, LARGEST_TOLD)
    others = (replace(case, args={**case.args, name: value}) for name, values in options.items() for value in values)
    queue.push(others, progress, 0)
    if is_best and not failure.undecided:
        queue.push(_neighbours(case, constants), progress, 1)


def without_mixing(found: tuple[Case, Probe], ask: Ask) -> tuple[Case, Probe]:
    """``found`` with types at which no matmul gets float32 and another one, where there are such that run."""
    case, probe = found
    floats = [name for name, spec in tensors(case).items() if spec.dtype == "float32"]
    if not probe.mixed or not floats:
        return found
    choices = (
        names for count in (len(floats), *range(1, len(floats))) for names in itertools.combinations(floats, count)
    )
    others = [functools.reduce(_in_bfloat16, names, case) for names in itertools.islice(choices, _TYPINGS)]
    for first in range(0, len(others), _BATCH):
        batch = others[first : first + _BATCH]
        for each, reply in zip(batch, ask(batch), strict=True):
            if isinstance(reply, Probe) and reply.outputs and not reply.mixed:
                return each, reply
    return found


def _in_bfloat16(case: Case, name: str) -> Case:
    return typed(case, name, "bfloat16")


def with_written_outputs(case: Case, ask: Ask) -> Case:
    """``case`` with output parameters as large as what the kernel writes, where that runs.

    What it does not write keeps what the caller put there, which no kernel of Beta 2 knows.
    """
    if not any(spec.output for spec in tensors(case).values()):
        return case
    (reply,) = ask([case])
    smaller = case
    for name, shape in reply.written if isinstance(reply, Probe) else ():
        smaller = shaped(smaller, name, shape) if all(shape) else smaller
    (reply,) = ask([smaller]) if smaller != case else (None,)
    return smaller if isinstance(reply, Probe) and reply.outputs else case


def with_varied_integers(found: tuple[Case, Probe], ask: Ask) -> tuple[Case, Probe]:
    """``found`` with integers that are not all 0, where a search chose those as indices of whatever there is."""
    case, _ = found
    specs = tensors(case)
    zeros = [name for name, spec in specs.items() if (spec.fill, spec.low, spec.high) == ("integers", 0, 1)]
    if not zeros:
        return found
    halves = {2, *(size // 2 for size in sizes(case) if 4 < size <= 2 * _LARGEST_INTEGER)}  # a tail has them, too
    ends = sorted(halves, reverse=True)[:_BATCH]
    others = [
        replace(case, args={**case.args, **{name: replace(specs[name], high=end) for name in zeros}}) for end in ends
    ]
    replies = zip(others, ask(others), strict=True)
    return next(((each, reply) for each, reply in replies if isinstance(reply, Probe) and reply.outputs), found)


def _progress(failure: Failure) -> tuple[int, ...]:
    """Smaller for a run that came farther; one that did not enter the kernel is the last."""
    return -failure.reached, *(-line for _, line in failure.trail)


def _worth(failure: Failure) -> tuple[int, ...]:
    """Smaller for a failure that tells more of why there is no case."""
    return int(is_stop(failure) or _NOTHING_WRITTEN in failure.message), *_progress(failure)


def is_stop(failure: Failure) -> bool:
    """Was a run stopped because it took too long?"""
    return _STOPPED in failure.message


def elements(case: Case) -> int:
    """How much data a case has: 0 where a tensor is empty, which no case can be."""
    if any(0 in value.shape for value in case.args.values() if isinstance(value, TensorSpec)):
        return 0
    return 1 + sum(math.prod(value.shape) for value in case.args.values() if isinstance(value, TensorSpec))


def _neighbours(case: Case, constants: Sequence[int]) -> Iterator[Case]:
    """The case with one thing changed that nothing asked for."""
    candidates = list(dict.fromkeys([*constants, *_PLAIN_SIZES]))
    for new in candidates:
        for size in sizes(case):
            yield from itertools.islice(moved(case, size, new), 1)
    yield from toggled(case)
    numbers = [name for name, value in case.args.items() if type(value) is int]
    yield from (with_number(case, name, new) for name in numbers for new in (1, *candidates[:10]))
    for name, spec in tensors(case).items():
        yield from itertools.islice(ranked(case, name, len(spec.shape) + 1), 1)
        yield from itertools.islice(ranked(case, name, len(spec.shape) - 1), 1) if len(spec.shape) > 1 else ()
    if case.grid:
        yield from (replace(case, grid=(extent,) * len(case.grid)) for extent in (1, 2, 4))
    for new in candidates:
        for size in sizes(case):
            yield from itertools.islice(moved(case, size, new), 1, None)
    yield from (typed(case, name, dtype) for name in tensors(case) for dtype in _DTYPES)


def _factors(case: Case) -> Iterator[Case]:
    """The case with pairs of numbers, ``(rows, columns)``, whose product is a size."""
    pairs = [name for name, value in case.args.items() if isinstance(value, tuple) and len(value) == 2]
    for name, size in itertools.product(pairs, sizes(case)):
        first = next((n for n in (8, 4, 2) if size % n == 0 and size > n), 1)
        yield replace(case, args={**case.args, name: (first, size // first)})


def _with_tiles(case: Case, tiles: Sequence[int]) -> Iterator[Case]:
    """The case with sizes that have tiles of a loop that did not run."""
    yield from (resized(case, size, tile) for tile in tiles for size in sizes(case))


def outermost_steps(kernel: ast.FunctionDef) -> tuple[int, ...]:
    """How many steps the loops have that stand in no other one and can be cut short, where the source says a number."""
    ranges = [node.iter for node in kernel.body if isinstance(node, ast.For) and isinstance(node.iter, ast.Call)]
    bounds = [call.args[0].value for call in ranges if len(call.args) == 1 and isinstance(call.args[0], ast.Constant)]
    return tuple(dict.fromkeys(count for count in bounds if type(count) is int and count > STEPS))


def constants(tree: ast.Module, kernel: ast.FunctionDef) -> list[int]:
    """Sizes to try: what the kernel divides by, twice that, and the numbers in its source."""
    divisors = _divisors(tree, kernel)
    return list(dict.fromkeys([*divisors, *(2 * size for size in divisors), *_numbers(tree, kernel)]))


def _divisors(tree: ast.Module, kernel: ast.FunctionDef) -> list[int]:
    """The sizes of tiles: ``n // (128 * COLUMNS)``, ``n % tile``, where the source tells the number."""
    values: dict[str, object] = {}
    found = []
    for node in (*tree.body, *ast.walk(kernel)):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            with contextlib.suppress(Unknown):
                values[node.targets[0].id] = evaluated(node.value, values)
    for node in ast.walk(kernel):
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.FloorDiv, ast.Mod, ast.Div)):
            with contextlib.suppress(Unknown):
                found.append(evaluated(node.right, values))
    sizes_found = {value for value in found if type(value) is int and 2 < value <= MAX_ELEMENTS // 2}
    return sorted(sizes_found, reverse=True)[:_TILES]


def _numbers(tree: ast.Module, kernel: ast.FunctionDef) -> list[int]:
    """The numbers of the kernel, of the functions beside it that it names, and of the module."""
    names = {node.id for node in ast.walk(kernel) if isinstance(node, ast.Name)}
    parts: list[ast.AST] = [kernel]
    for node in tree.body:
        if isinstance(node, ast.Assign) or (isinstance(node, ast.FunctionDef) and node.name in names):
            parts.append(node)
    found = [inner.value for part in parts for inner in ast.walk(part) if isinstance(inner, ast.Constant)]
    plain = [value for value in found if type(value) is int and 2 < value <= _LARGEST]
    return list(dict.fromkeys(plain))[:24]
