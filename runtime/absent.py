"""Modules that are not installed: a placeholder that raises, by name, when something is computed with it.

Kernel files import frameworks (``torch``, ``jax``, ``neuronx_distributed``) that their kernels do not need. The rule:

*An import that would end the program gives a placeholder; one whose failure the program handles fails as in Python.*
A program that runs without the module therefore runs here as it does there: only one that would have ended goes on.
An import is handled where it stands, or a module that it loads is imported, in a ``try`` with a handler for
``ImportError`` that does not only raise again, or in a ``with`` of ``suppress``. What asks for a module by a function
(``importlib.import_module``, ``importlib.util.find_spec``, ``sys.modules``) is told that there is none.

*Definitions work, computation does not.* While a module or a class is being defined, every operation with a placeholder
(an attribute, a call, an operator) gives a placeholder with the text of the operation: constants, decorators,
annotations and base classes. In functions only attributes, ``is`` and being handed on do; all else raises
:class:`NotModelled` with the name. What needs an answer raises everywhere: truth, a number, a length, iteration,
``hasattr``. What was decorated cannot be called, a class with an absent base cannot be made; ``isinstance`` with a
class of torch or of JAX's arrays is false, because there are no objects of it. ``from x import *`` gives the names that
the file reads and neither binds itself nor has from Python.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import dis
import enum
import importlib.util
import inspect
import sys
import typing
from abc import ABCMeta
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import FrameType, ModuleType
from typing import Any

from .errors import NotModelled, is_emulator_file, user_frame
from .reading import is_packaged
from .source import source_of

_NO_OBJECTS = ("torch.", "jax.Array", "jax.numpy.ndarray", "jax.core.Tracer")
"""Names of classes that no object here is of. Other names may be those of unions that plain numbers belong to."""
_ALIASES = ("torch.types",)
_HANDLERS = ("ImportError", "ModuleNotFoundError", "Exception", "BaseException")
_DEFINING_FILES = (dataclasses.__file__, enum.__file__, typing.__file__)
_STRICT = ("nki", "tilelang")
"""Packages whose modules are all known: one that is not there is a mistake."""


MISSING = "there is no module"
"""What is said of a module that is not installed."""


class Placeholder:
    """What a name of an absent or private module stands for. ``why`` ends the sentence of what is not modelled.

    ``decorated`` is the object that a placeholder was called with as a decorator.
    """

    def __init__(self, name: str, why: str, decorated: object = None) -> None:
        self.__dict__.update(_name=name, _why=why, _decorated=decorated)

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__") and attribute != "__version__":
            raise AttributeError(attribute)
        if attribute == "__version__" or not _is_plain_attribute():
            raise refusal(self)
        name = f"{name_of(self)}.{attribute}"
        return _known[name] if name in _known else _named(name, self.__dict__["_why"])

    def __call__(self, *args: object, **kwargs: object) -> Any:
        if not _is_definition():
            raise refusal(self)
        inner = (decorated(args[0]) or args[0]) if len(args) == 1 and not kwargs else None
        name = getattr(inner, "__qualname__", "")
        if name:
            return Placeholder(f"{name}, which is decorated with {name_of(self)}", self.__dict__["_why"], inner)
        return Placeholder(f"{name_of(self)}(...)", self.__dict__["_why"])

    def __getitem__(self, index: object) -> Any:
        return _operation(self, f"{name_of(self)}[...]")

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        return (_base(name_of(self), self.__dict__["_why"]),)

    def __instancecheck__(self, value: object) -> bool:
        name = name_of(self)
        if name.startswith(_NO_OBJECTS) and not name.startswith(_ALIASES) and "(" not in name:
            return False
        raise refusal(self)

    def __subclasscheck__(self, cls: type) -> bool:
        return self.__instancecheck__(cls)

    def __eq__(self, other: object) -> Any:
        return NotImplemented if _defining_file() else _operation(self, f"{name_of(self)} == ...")

    def __ne__(self, other: object) -> Any:
        return NotImplemented if _defining_file() else _operation(self, f"{name_of(self)} != ...")

    def __hash__(self) -> int:
        return hash(name_of(self))

    def __repr__(self) -> str:
        return f"<{name_of(self)}{self.__dict__['_why']}>"


class Harness(Placeholder):
    """A decorator that measures or simulates kernels, of a version that does not have it.

    What it decorates raises :class:`NotImplementedError` when it is called, so that the other kernels of its file run.
    """

    def __call__(self, *args: object, **kwargs: object) -> Any:
        why = self.__dict__["_why"]
        if decorated(self) is not None or (args and (kwargs or len(args) > 1 or not callable(args[0]))):
            raise refusal(self)
        if not args:
            return Harness(name_of(self), why)
        name = getattr(args[0], "__qualname__", "") or repr(args[0])
        return Harness(f"{name_of(self)}, which decorates {name},", why, args[0])

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        raise refusal(self)


def name_of(value: object) -> str:
    """The text of a placeholder."""
    return str(value.__dict__["_name"]) if isinstance(value, Placeholder) else repr(value)


def refusal(value: Placeholder) -> Exception:
    """The error of a computation with a placeholder."""
    text = f"{name_of(value)}{value.__dict__['_why']}"
    return NotImplementedError(text) if isinstance(value, Harness) else NotModelled(text)


def decorated(value: object) -> object:
    """What an absent decorator stands around; ``None`` for any other object."""
    return value.__dict__["_decorated"] if isinstance(value, Placeholder) else None


@cache
def _named(name: str, why: str) -> Placeholder:
    """The placeholder of a name: one object, so that containers find it without comparing."""
    return Placeholder(name, why)


def absent(name: str) -> Placeholder:
    """A module that is not installed, or a name of one."""
    return _named(name, f": {MISSING} '{name.partition('.')[0]}' here")


def harness(name: str) -> Harness:
    """A decorator that a version does not have."""
    return Harness(name, " is not implemented in Beta 2")


def harnesses(values: Iterable[object]) -> list[str]:
    """What is said of the objects among ``values`` that a :class:`Harness` decorates."""
    found = (value for value in values if isinstance(value, Harness) and decorated(value) is not None)
    return [str(refusal(value)) for value in found]


def private(name: str) -> Placeholder:
    """A name of a private module."""
    return _named(f"the private API {name}", "")


def _operator(symbol: str) -> Callable[..., Any]:
    return lambda self, *others: _operation(self, f"{name_of(self)} {symbol} ...")


def _refused(self: Placeholder, *_: object, **__: object) -> Any:
    raise refusal(self)


_SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**"} | {
    "matmul": "@",
    "and": "&",
    "or": "|",
    "xor": "^",
    "lshift": "<<",
    "rshift": ">>",
}
_ALONE = {"neg": "-", "pos": "+", "invert": "~", "abs": "abs", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
for _name, _symbol in (*_SYMBOLS.items(), *((f"r{name}", sign) for name, sign in _SYMBOLS.items()), *_ALONE.items()):
    setattr(Placeholder, f"__{_name}__", _operator(_symbol))
for _name in (
    *"bool int float index complex len iter next contains str format bytes array enter exit round trunc".split(),
    *"setitem delitem reversed await aiter anext aenter aexit fspath".split(),
):
    setattr(Placeholder, f"__{_name}__", _refused)


def _operation(value: Placeholder, text: str) -> Placeholder:
    """A placeholder for an operation, where something is being defined."""
    if not _is_definition():
        raise refusal(value)
    return Placeholder(text, value.__dict__["_why"])


def _is_definition() -> bool:
    """Is a module, or a class, being defined?"""
    frame = user_frame(sys._getframe(1))
    while frame is not None and frame.f_code.co_filename in _DEFINING_FILES:
        frame = frame.f_back
    return frame is not None and not frame.f_code.co_flags & inspect.CO_OPTIMIZED


def _defining_file() -> bool:
    """Is it Python's own code for definitions that asks? It compares with its own special forms."""
    frame = user_frame(sys._getframe(1))
    return frame is not None and frame.f_code.co_filename in _DEFINING_FILES


def _is_plain_attribute() -> bool:
    """Is an attribute taken by a dot or an import? ``hasattr`` and ``getattr`` would decide by the answer."""
    frame = user_frame(sys._getframe(1))
    if frame is None:
        return False
    name = dis.opname[frame.f_code.co_code[frame.f_lasti]]
    return name.startswith(("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM"))


class _Meta(ABCMeta):
    """The class of the classes that stand for absent ones: attributes of theirs are placeholders."""

    _absent: str
    _why: str

    def __getattr__(cls, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return getattr(Placeholder(f"{cls._absent}", cls._why), attribute)


def _base(name: str, why: str) -> type:
    """A class to derive from. There are no objects of it, nor of what derives from it."""

    def refuse(cls: type, *args: object, **kwargs: object) -> Any:
        raise refusal(Placeholder(name, why))

    def accept(cls: type, /, **_: object) -> None:
        """Keywords of a class statement are the absent class's business."""

    members = {"__new__": refuse, "__init_subclass__": classmethod(accept), "_absent": name, "_why": why}
    return _Meta(name.rpartition(".")[2], (), members)


# --- imports ---------------------------------------------------------------------------------------------------------

_Import = Callable[..., Any]


def install(offered: Mapping[str, object]) -> None:
    """Give placeholders for absent modules from now on, until the process ends.

    ``offered`` are names of absent modules that the emulator knows, with what they are.
    """
    _known.update(offered)
    imported: _Import = builtins.__import__

    def importing(
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        frame = sys._getframe(1)
        try:
            return _completed(imported(name, globals, locals, fromlist, level), fromlist or (), frame)
        except ModuleNotFoundError as error:
            full = _absolute(name, globals or {}, level)
            if not _stands_in(error.name or "", full, frame):
                raise
            missing = error.name or ""
        return _module(full, missing, fromlist or (), frame)

    setattr(builtins, "__import__", importing)  # noqa: B010


_known: dict[str, object] = {}


def _stands_in(missing: str, asked: str, frame: FrameType) -> bool:
    """Does a placeholder stand for the module ``asked``, of which ``missing`` was not found?"""
    if not missing or not f"{asked}.".startswith(f"{missing}.") or asked.partition(".")[0] in _STRICT:
        return False
    return not is_packaged(frame.f_code.co_filename) and not _is_handled(frame)


def _completed(module: Any, taken: Sequence[str], frame: FrameType) -> Any:
    """A stand-in for a part of a package (``__partial__``), with placeholders for what the whole package has."""
    lacking = [name for name in taken if name != "*" and not hasattr(module, name)]
    if not lacking or not getattr(module, "__partial__", False) or _is_handled(frame):
        return module
    completed = ModuleType(module.__name__)
    completed.__dict__.update(module.__dict__)
    completed.__dict__.update({name: absent(f"{module.__name__}.{name}") for name in lacking})
    return completed


def _absolute(name: str, space: Mapping[str, Any], level: int) -> str:
    try:
        return importlib.util.resolve_name("." * level + name, space.get("__package__")) if level else name
    except ImportError:
        return ""


def _module(name: str, missing: str, taken: Sequence[str], frame: FrameType) -> Any:
    """What an import of an absent module gives: ``import a.b`` binds ``a``, which may be there."""
    if not taken:
        parent, _, child = missing.rpartition(".")
        if not parent:
            return absent(missing)
        setattr(sys.modules[parent], child, absent(missing))
        return sys.modules[name.partition(".")[0]]
    module = ModuleType(name)
    names = _open_names(frame) if "*" in taken else taken
    module.__dict__.update({each: _known.get(f"{name}.{each}") or absent(f"{name}.{each}") for each in names})
    return module


def _open_names(frame: FrameType) -> list[str]:
    """The names that a file reads and neither binds nor has from Python, of those that it has not yet."""
    source = source_of(frame.f_code.co_filename, {})
    nodes = list(ast.walk(source.tree)) if source is not None else []
    read = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    bound = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    bound |= {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))}
    bound |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    return sorted(read - bound - set(dir(builtins)) - frame.f_globals.keys())


# --- who handles the failure -----------------------------------------------------------------------------------------


def _is_handled(frame: FrameType | None) -> bool:
    """Would the program go on if the import that runs in ``frame`` failed? Where the source is not known, it might.

    The emulator called the program, and between an import and the module that it loads there is only :func:`install`'s.
    """
    while frame is not None:
        file = frame.f_code.co_filename
        if not is_emulator_file(file):
            if frame.f_lineno in _guarded(file):
                return True
        elif file != __file__ and not file.startswith("<frozen"):
            return False
        frame = frame.f_back
    return False


class _EveryLine(frozenset[int]):
    def __contains__(self, line: object) -> bool:
        return True


@cache
def _guarded(file: str) -> frozenset[int]:
    """The lines of a file at which an ``ImportError`` is handled by the function, class or module that they are of."""
    source = source_of(file, {})
    if source is None:
        return _EveryLine()
    return frozenset(
        line
        for node in ast.walk(source.tree)
        if _handles(node)
        for statement in getattr(node, "body", [])
        for line in _own_lines(statement)
    )


def _handles(node: ast.AST) -> bool:
    """Does a statement handle an ``ImportError`` of its body?"""
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return any("suppress" in ast.unparse(item.context_expr) for item in node.items)
    return isinstance(node, ast.Try) and any(_catches(handler) for handler in node.handlers)


def _catches(handler: ast.ExceptHandler) -> bool:
    if handler.body and isinstance(handler.body[-1], ast.Raise):
        return False
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = [ast.unparse(kind).rpartition(".")[2] for kind in kinds]
    return any(name in _HANDLERS or not hasattr(builtins, name) for name in names)


def _own_lines(statement: ast.AST) -> Iterator[int]:
    """The lines of a statement, without those of the functions that it defines."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        return
    if hasattr(statement, "lineno"):
        yield statement.lineno
    for child in ast.iter_child_nodes(statement):
        yield from _own_lines(child)
