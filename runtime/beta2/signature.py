"""How the Beta 2 front end binds the arguments of its built-in functions, and what it says when they do not fit."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from ..errors import KernelError

P = ParamSpec("P")
R = TypeVar("R")


def builtin(function: Callable[P, R]) -> Callable[P, R]:
    """Give ``function`` the front end's messages for missing, unknown and surplus arguments; refuse ``mask``."""
    parameters = inspect.signature(function).parameters
    names = tuple(parameters)
    required = tuple(name for name, parameter in parameters.items() if parameter.default is parameter.empty)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if len(args) > len(names):
            raise KernelError("", "too many arguments given (varargs not supported)")
        if "mask" in kwargs and "mask" not in parameters and kwargs.pop("mask") is not None:
            raise KernelError("", "mask parameter is not supported")
        for keyword in kwargs:
            if keyword not in parameters:
                raise KernelError(
                    "", f"unexpected keyword argument '{keyword}' in builtin function '{function.__name__}'"
                )
            if keyword in names[: len(args)]:
                raise KernelError("", f"argument '{keyword}' is given by position and by keyword")
        for name in required[len(args) :]:
            if name not in kwargs:
                raise KernelError("", f"argument '{name}' not found, in builtin function '{function.__name__}'")
        return function(*args, **kwargs)

    return call
