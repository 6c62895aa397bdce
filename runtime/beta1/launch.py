"""Launching a function or a kernel of Beta 1 with arrays."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from ..spec import hardware
from . import execution
from .execution import Launch
from .nki import Kernel


def launch(
    kernel: Any,
    args: dict[str, object],
    *,
    grid: tuple[int, ...] = (),
    target: hardware.Target = hardware.TARGETS[hardware.DEFAULT_TARGET],
    record: bool = False,
    precision: str = "engine",
    descending: bool | None = None,
) -> Launch:
    """Run ``kernel`` (a function or what ``nki.jit`` made of it) once for each program of ``grid``.

    ``args`` are keyword arguments: numpy arrays become HBM tensors named after the parameter, also inside lists and
    tuples; anything else is passed as it is. The caller's arrays are changed only by a kernel of the old style, which
    writes its outputs into parameters. ``descending`` (default: the environment variable
    :data:`~.execution.DESCENDING`) runs ``affine_range`` loops backwards.
    """
    made = kernel if isinstance(kernel, Kernel) else Kernel(kernel, {})
    return execution.run(made, _bound(made.__signature__, args), grid, target, record, precision, descending)


def _bound(signature: inspect.Signature, args: Mapping[str, Any]) -> inspect.BoundArguments:
    """Keyword arguments bound to a signature; those that are no parameters are what ``**kwargs`` catches."""
    bound = signature.bind_partial()
    catching = next((n for n, p in signature.parameters.items() if p.kind is p.VAR_KEYWORD), None)
    caught = {} if catching is None else {n: v for n, v in args.items() if n not in signature.parameters}
    bound.arguments.update((name, value) for name, value in args.items() if name not in caught)
    if catching is not None and caught:
        bound.arguments[catching] = caught
    return bound
