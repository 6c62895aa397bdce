"""The arguments of a case, as values for a kernel. Only a worker's child makes them: classes are the user's."""

from __future__ import annotations

import difflib
import importlib
import inspect
from enum import Enum
from types import ModuleType
from typing import Any

from .cases import Case, CaseError, DtypeSpec, MemberSpec, NoneSpec, ObjectSpec, TensorSpec
from .filling import filled
from .numerics import DTYPES, NAMED_TYPES

_LANGUAGES = {"beta1": "neuronxcc.nki.language", "beta2": "nki.language"}


def arguments(case: Case, function: Any, dialect: str, module: ModuleType) -> dict[str, Any]:
    """The arguments of ``case`` for a kernel's function of ``module``, in the order of its parameters.

    Raises :class:`CaseError` for a name that is no parameter, and for a parameter that has neither value nor default.
    """
    parameters = inspect.signature(function).parameters
    catches_all = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    for name, value in case.args.items():
        if name in parameters or catches_all or (isinstance(value, TensorSpec) and value.output):
            continue
        raise CaseError(f"kernel '{case.kernel}' has no parameter '{name}': {_hint(name, parameters)}")
    for name, parameter in parameters.items():
        required = parameter.default is parameter.empty and parameter.kind not in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        )
        if required and name not in case.args:
            raise CaseError(f"parameter '{name}' of kernel '{case.kernel}' has no value: add it to [case.args]")
    names = [name for name in parameters if name in case.args]
    names += [name for name in case.args if catches_all and name not in parameters]
    return {name: argument(case, name, case.args[name], dialect, module) for name in names}


def _hint(name: str, known: Any) -> str:
    near = difflib.get_close_matches(name, known, 1)
    return f"did you mean '{near[0]}'?" if near else f"it has {', '.join(known) or 'none'}"


def argument(case: Case, name: str, value: Any, dialect: str, module: ModuleType | None) -> Any:
    """What the case says about ``value``; data types are ``dialect``'s own, numpy's without one.

    ``module`` is where classes are looked up. Data depend on ``name``.
    """
    if isinstance(value, TensorSpec):
        return filled(
            value.fill,
            value.shape,
            DTYPES[value.dtype],
            seed=case.seed,
            name=name,
            low=value.low,
            high=value.high,
        )
    if isinstance(value, DtypeSpec):
        return _type(name, value.dtype, dialect)
    if isinstance(value, NoneSpec):
        return None
    if isinstance(value, (list, tuple)):
        items = enumerate(value)
        return type(value)(argument(case, f"{name}_{number}", item, dialect, module) for number, item in items)
    if isinstance(value, ObjectSpec):
        made = {key: argument(case, f"{name}_{key}", item, dialect, module) for key, item in value.args.items()}
        return _object(name, value, made, module)
    return _member(name, value, module) if isinstance(value, MemberSpec) else value


def _type(name: str, dtype: str, dialect: str) -> Any:
    """A data type as a kernel of ``dialect`` names it; as NumPy does for none."""
    if not dialect:
        return NAMED_TYPES[dtype]
    language = importlib.import_module(_LANGUAGES[dialect])
    try:
        return getattr(language, dtype)
    except AttributeError:
        raise CaseError(f"'{name}' is {dtype}, which {language.__name__} does not have") from None


def needs_module(case: Case) -> bool:
    """Does an argument name a class?"""

    def names_class(value: Any) -> bool:
        return isinstance(value, (ObjectSpec, MemberSpec)) or (
            isinstance(value, (list, tuple)) and any(names_class(item) for item in value)
        )

    return any(names_class(value) for value in case.args.values())


def _object(name: str, spec: ObjectSpec, made: dict[str, Any], module: ModuleType | None) -> Any:
    cls = _named(name, spec.name, module)
    if not isinstance(cls, type):
        raise CaseError(f"argument '{name}': '{spec.name}' is no class")
    try:
        return cls(**made)
    except Exception as error:
        raise CaseError(f"argument '{name}': {spec.name}(...) raises {type(error).__name__}: {error}") from None


def _member(name: str, spec: MemberSpec, module: ModuleType | None) -> Enum:
    found = _named(name, spec.name, module)
    if not isinstance(found, Enum):
        raise CaseError(f"argument '{name}': '{spec.name}' is no member of an enumeration")
    return found


def _named(name: str, path: str, module: ModuleType | None) -> Any:
    """What a dotted name is, in the module that stands before a colon, else in the kernel's."""
    where, separator, dotted = path.rpartition(":")
    try:
        found: Any = importlib.import_module(where) if separator else module
    except ImportError as error:
        raise CaseError(f"argument '{name}': '{path}' cannot be imported: {error}") from None
    for part in dotted.split("."):
        if not hasattr(found, part):
            owner = getattr(found, "__name__", where)
            near = difflib.get_close_matches(part, dir(found), 1)
            hint = f": did you mean '{near[0]}'?" if near else ""
            raise CaseError(f"argument '{name}': {owner} has no '{part}'{hint}")
        found = getattr(found, part)
    return found
