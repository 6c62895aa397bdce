"""Random programs on an ``SbufManager``, and what they gave: the same bytes mean the same calls on every version.

A program is bytes: three for the manager, then four for each call. It runs on any module with the vendor's interface;
``nl.ndarray`` is replaced by :class:`Declarations`, which only remembers what was asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from nki_migrate.runtime.beta2 import language
from nki_migrate.runtime.errors import KernelError

HEAD, STEP = 3, 4
DTYPES = (
    *("int8", "bfloat16", "float32", "float8_e4m3", "int32", "uint16", "float16", "float8_e5m2"),
    *(
        "float4_e2m1fn_x4",
        "float8_e4m3fn_x4",
        "int16",
        "float8_e4m3fn",
        "uint8",
        "uint32",
        "float8_e5m2_x4",
        "tfloat32",
    ),
)
ALIGNMENTS = (None, 1, 2, 4, 8, 32, 64, 3)
METHODS = ("alloc_stack", "alloc_stack", "alloc_stack", "alloc_heap", "alloc_heap", "alloc", "alloc")
Outcome = tuple[Any, ...]


@dataclass(frozen=True)
class Tensor:
    shape: tuple[int, ...]
    dtype: Any
    address: tuple[int, int] | None
    name: str | None


@dataclass
class Declarations:
    """Stands in for ``nl.ndarray``: unique names, nothing else."""

    names: set[str] = field(default_factory=set)

    def __call__(
        self, shape: Any, dtype: Any, buffer: Any = None, name: str | None = None, address: Any = None
    ) -> Tensor:
        if name and name in self.names:
            raise KernelError("", f"Tensor name '{name}' already in use")
        self.names.add(name or "")
        return Tensor(tuple(shape), dtype, address, name)


@contextmanager
def declared_by(module: Any, declare: Declarations) -> Iterator[None]:
    """Let ``module``, an ``nki.language``, declare tensors with ``declare``."""
    original, module.ndarray = module.ndarray, declare
    try:
        yield
    finally:
        module.ndarray = original


def run(module: Any, logger: Any, declare: Declarations, program: bytes) -> list[Outcome]:
    """Execute ``program`` on the ``SbufManager`` of ``module``: what each call gave or raised, and the space left."""
    declare.names.clear()
    head, steps = program[:HEAD].ljust(HEAD, b"\0"), program[HEAD:]
    lower, upper = head[0] * 8, head[0] * 8 + 16 + head[1] * 16
    manager = module.SbufManager(lower, upper, logger, bool(head[2] & 1), not head[2] & 2)
    outcomes: list[Outcome] = []
    for at in range(0, len(steps) - STEP + 1, STEP):
        name, args, kwargs = call(*steps[at : at + STEP])
        outcomes.append((name, *_attempt(manager, name, args, kwargs), *_attempt(manager, "get_free_space", (), {})))
    return outcomes


def call(kind: int, a: int, b: int, c: int) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """The call of a public method that four bytes stand for: its name and arguments."""
    kind %= 20
    if kind < len(METHODS):
        shape = (128, a) if c & 1 else (128,) if c & 2 else (64, a % 16, 1 + b % 5)
        name = None if c & 4 else "" if b == 255 else f"t{b % 8}"
        options = {"name": name, "base_partition": c & 32}
        if ALIGNMENTS[c >> 5] is not None:
            options["align"] = ALIGNMENTS[c >> 5]
        if b == 254:
            options["buffer"] = language.BUFFERS["psum"]
        return METHODS[kind], (shape, language.MEMBERS[DTYPES[b % 16]]), options
    if kind < 11:
        return "open_scope", (1 + a % 4,), {"name": f"scope{b}"} if b % 4 == 0 else {}
    if kind < 13:
        return "close_scope", (), {}
    if kind < 16:
        return ("increment_section", "increment_section", "pop_heap")[kind - 13], (), {}
    if kind == 16:
        return "set_name_prefix", (f"p{a % 3}_",), {}
    if kind == 17:
        return "align_stack_curr_addr", (1 + a % 64,), {}
    if kind == 18:
        return ("get_stack_curr_addr", "get_heap_curr_addr", "get_used_space", "get_name_prefix")[a % 4], (), {}
    return ("is_auto_alloc", "is_default_stack_alloc", "is_default_heap_alloc", "get_total_space")[a % 4], (), {}


def plain(program: bytes) -> bytes:
    """``program`` with nothing in it but what every version has: four data types, no alignment, no names, no prefix."""
    kinds = {5: 0, 6: 3, 16: 11, 17: 13, 18: 13, 19: 15}
    steps = bytearray(program)
    steps[2] &= 2
    for at in range(HEAD, len(steps) - STEP + 1, STEP):
        kind, b = steps[at] % 20, steps[at + 2]
        steps[at] = kinds.get(kind, kind)
        steps[at + 2] = (0, 1, 2, 4)[b % 4] + 16 * (b % 15) if kind < len(METHODS) else 1
        steps[at + 3] = steps[at + 3] & 0b011 | 0b100
    return bytes(steps)


def _attempt(manager: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Outcome:
    method: Callable[..., Any] | None = getattr(manager, name, None)
    if method is None:
        return ("missing", name)
    try:
        value = method(*args, **kwargs)
    except KernelError as error:
        return ("raised", error.text)
    except (AssertionError, IndexError, ZeroDivisionError, TypeError) as error:
        return ("raised", str(error))
    return ("gave", value.address, value.name) if isinstance(value, Tensor) else ("gave", value)
