"""From a kernel's Python function to its statements."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..errors import KernelError
from .builder import Builder, tracing
from .ir import Buffer, Kernel, Var
from .language import Annotation, ScalarType
from .source import traced


def trace(function: Callable[..., Any]) -> Kernel:
    """Trace a function under ``T.prim_func``.

    Raises :class:`KernelError` for a kernel that breaks a rule, :class:`NotModelled` for what is not known here.
    """
    builder = Builder()
    parameters: list[Buffer | Var] = []
    place = (function.__code__.co_filename, function.__code__.co_firstlineno)
    try:
        hints = inspect.get_annotations(function, eval_str=True)
    except Exception as error:
        raise KernelError(
            "", f"an annotation of '{function.__name__}': {error}", file=place[0], line=place[1]
        ) from error
    for name in inspect.signature(function).parameters:
        parameters.append(_parameter(name, hints.get(name), place))
    with tracing(builder):
        traced(function)(*parameters)
    if builder.kernel is None:
        raise KernelError("", f"'{function.__name__}' has no T.Kernel", file=place[0], line=place[1])
    kernel = builder.kernel
    kernel.name, kernel.parameters = function.__name__, parameters
    _name(kernel)
    return kernel


def _parameter(name: str, hint: Any, place: tuple[str, int]) -> Buffer | Var:
    if isinstance(hint, Annotation):
        return Buffer(name, hint.shape, hint.dtype, hint.scope, place)
    if isinstance(hint, ScalarType):
        return Var(name, str(hint))
    if hint in (int, float):
        return Var(name, "int32" if hint is int else "float32")
    raise KernelError("", f"parameter '{name}' has no type: write T.Tensor(shape, dtype)", file=place[0], line=place[1])


def _name(kernel: Kernel) -> None:
    """Names that are one buffer's each (the compiler numbers what a loop of Python declares again), and numbers."""
    taken = {parameter.name for parameter in kernel.parameters}
    for uid, buffer in enumerate(kernel.buffers):
        name = buffer.name or "buffer"
        number = 0
        while buffer.name in taken or not buffer.name:
            number += 1
            buffer.name = f"{name}_{number}"
        taken.add(buffer.name)
        buffer.uid = uid
