"""``neuronxcc.nki.compiler``: allocation, and directives that change no result."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from .nki import Kernel


def _decorated(func: Any, **options: Any) -> Any:
    kernel = func if isinstance(func, Kernel) else Kernel(func, {"mode": "auto"})
    return kernel.with_options(**options)


def skip_middle_end_transformations(func: Any = None) -> Any:
    """Skip the compiler's middle end."""
    return (lambda function: _decorated(function)) if func is None else _decorated(func)


def enable_stack_allocator(func: Any = None, log_level: int = 50) -> Any:
    """Allocate on a stack: direct and automatic allocation may be mixed."""
    if func is None:
        return lambda function: _decorated(function, stack_allocator=True)
    return _decorated(func, stack_allocator=True)


def force_auto_alloc(func: Any = None) -> Any:
    """Ignore every address of the kernel."""
    if func is None:
        return lambda function: _decorated(function, force_auto_alloc=True)
    return _decorated(func, force_auto_alloc=True)


class Directive:
    """A scheduling directive; it can be passed on, and used as a context."""

    def __init__(self, name: str, *arguments: Any) -> None:
        self.name = name
        self.arguments = arguments

    def __enter__(self) -> Directive:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing was changed."""

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(map(repr, self.arguments))})"


def no_reorder() -> Directive:
    """Keep the order of operations; the emulator always does."""
    return Directive("no_reorder")


def multi_buffer(factor: int = 2) -> Directive:
    """How many buffers an automatic tensor gets."""
    return Directive("multi_buffer", factor)


@contextlib.contextmanager
def allocation_scope() -> Iterator[None]:
    """A scope of automatic allocation."""
    yield
