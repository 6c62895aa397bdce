"""Values that NKI Beta 2 code passes to instructions: operator tokens, enumerations, data types, buffers.

Sources: ``nki.language`` and ``nki.isa`` of the 2.28 documentation, and what the front end accepts of them
(``reference/beta2.md`` sections 1.2 and 1.3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from ..errors import KernelError, NotModelled
from ..numerics import DTYPES, SCALE_TYPE
from ..packed import PACKED
from ..spec import operators as spec_operators
from ..spec.instructions import ENGINES
from . import state


@dataclass(frozen=True)
class Operator:
    """An operator token, as ``nl.add``. Beta 2 has no tile arithmetic: calling one is an error. In 0.3 it is a function
    as well."""

    name: str

    def __call__(self, *args: object, **kwargs: object) -> Any:
        if state.rules().functions and self.name in CALLED:
            return CALLED[self.name](*args, **kwargs)
        raise KernelError(
            "",
            f"nki.language.{self.name} is an operator token, it cannot be called in Beta 2: use the nki.isa "
            "instruction that takes it as an argument",
        )

    def __repr__(self) -> str:
        return f"nki.language.{self.name}"


CALLED: dict[str, Callable[..., Any]] = {}
"""What tokens do when 0.3 calls them (:mod:`.functions` fills it)."""

OPERATOR_NAMES = tuple(
    sorted(spec_operators.ALU | spec_operators.ACTIVATION | {"divide", "logical_not", "reciprocal", "max", "min"})
)
"""Names of ``nki.language`` that stand for an operator, whether an instruction accepts them or not."""


class Engine(Enum):
    """``nki.isa.engine``."""

    unknown = 0
    tensor = 1
    scalar = 2
    gpsimd = 3
    dma = 4
    vector = 5
    sync = 6


class DmaEngines(Enum):
    """``nki.isa.dma_engine`` of 0.3: who moves the data of ``sendrecv``."""

    dma = 1
    gpsimd_dma = 2


@dataclass(frozen=True)
class DmaEngine:
    """``nki.isa.dma_engine``: in 0.2 another name of ``engine.dma``, in 0.3 an enumeration."""

    dma: DmaEngines = DmaEngines.dma
    gpsimd_dma: DmaEngines = DmaEngines.gpsimd_dma
    name: str = Engine.dma.name
    value: int = Engine.dma.value


class DgeMode(Enum):
    """``nki.isa.dge_mode``. The numbers differ from Beta 1's."""

    unknown = 0
    swdge = 1
    hwdge = 2
    none = 3


class OobMode(Enum):
    """``nki.isa.oob_mode``."""

    error = 0
    skip = 1


class ReduceCmd(Enum):
    """``nki.isa.reduce_cmd``."""

    idle = 0
    reset = 1
    reduce = 2
    reset_reduce = 3
    load_reduce = 4


class NcVersion(Enum):
    """``nki.isa.nc_version``. Versions are compared by number."""

    gen2 = 2
    gen3 = 3
    gen4 = 4

    def __lt__(self, other: NcVersion) -> bool:
        return int(self.value) < int(other.value)

    def __le__(self, other: NcVersion) -> bool:
        return int(self.value) <= int(other.value)

    def __gt__(self, other: NcVersion) -> bool:
        return int(self.value) > int(other.value)

    def __ge__(self, other: NcVersion) -> bool:
        return int(self.value) >= int(other.value)


class MatmulPerfMode(Enum):
    """``nki.isa.matmul_perf_mode``."""

    none = "none"
    double_row = "double_row"
    double_row_sw_interleave = "double_row_sw_interleave"


@dataclass(frozen=True)
class Unmodelled:
    """A data type that can be named only."""

    name: str
    itemsize: int

    def __str__(self) -> str:
        return self.name


TFLOAT32 = Unmodelled("tfloat32", 4)
_KNOWN_TYPES = frozenset(DTYPES.values()) | frozenset(PACKED.values()) | {SCALE_TYPE}


def kind(value: object) -> str:
    """What the front end calls the kind of a value in its messages."""
    names = {type(None): "none", bool: "bool", int: "int", float: "float", str: "string", tuple: "tuple", list: "list"}
    names |= {dict: "dict", slice: "slice", type(...): "ellipsis"}
    if type(value) in names:
        return names[type(value)]
    if isinstance(value, np.ufunc) or callable(value):
        return str(getattr(value, "__name__", getattr(value, "name", "builtin")))
    return str(getattr(value, "kind_name", type(value).__name__))


def token_name(value: object) -> str | None:
    """The name by which a token is recognised: an operator's, an enum member's, or a string itself."""
    if isinstance(value, (Operator, Enum)):
        return value.name
    return value if isinstance(value, str) else None


def alu_operator(value: object) -> str:
    """The ALU operator that ``value`` stands for; raises for what the front end refuses."""
    name = value.name if type(value) is Operator else token_name(value)
    if name in spec_operators.ALU:
        return name
    if name == "logical_not":
        raise KernelError("", "'logical_not' operator not supported")
    raise KernelError("", f"expecting operator, got '{_shown(value)}'")


def activation_function(value: object) -> str:
    """The activation function that ``value`` stands for; raises for what the front end refuses."""
    name = value.name if type(value) is Operator else token_name(value)
    if name not in spec_operators.ACTIVATION:
        raise KernelError("", f"expecting activation function, got '{_shown(value)}'")
    return name


def _shown(value: object) -> str:
    return token_name(value) or kind(value)


def member(enumeration: type[Enum], value: object, message: str) -> Any:
    """``value`` as a member of ``enumeration``: itself, its name, or (until 0.3) its number."""
    if type(value) is enumeration:
        return value
    value = Engine.dma if isinstance(value, DmaEngine) else value
    if isinstance(value, enumeration):
        return value
    if isinstance(value, str) and value.removesuffix("_engine") in enumeration.__members__:
        return enumeration[value.removesuffix("_engine")]
    if isinstance(value, int) and not isinstance(value, bool):
        for candidate in enumeration:
            if candidate.value == value and state.rules().loose_values:
                return candidate
    raise KernelError("", message.format(kind(value)))


def engine(value: object) -> Engine:
    if type(value) is Engine:
        return value
    found: Engine = member(Engine, value, "expecting engine type, got {}")
    return found


ENGINE_NAMES = {member: member.name if member.name in ENGINES else "" for member in Engine}
"""The engine of the table of instructions that a kernel chooses; empty where it leaves that to the compiler."""


def reduce_command(value: object) -> ReduceCmd:
    if type(value) is ReduceCmd:
        return value
    found: ReduceCmd = member(
        ReduceCmd, value, "expecting accumulator command (idle, reset, reduce, reset_reduce, load_reduce)"
    )
    return found


def data_type(value: object) -> np.dtype[Any]:
    """The numpy data type of an ``nki.language`` type; numpy's own types are refused.

    The type's name will do: the stubs of 0.3 say that ``nl.float32`` is one, those of 0.6 that ``nl.DType`` is ``str``.
    """
    if isinstance(value, np.dtype):
        if value in _KNOWN_TYPES:
            return value
        raise KernelError("", f"unsupported dtype '{value.name}'")
    if isinstance(value, Unmodelled):
        raise NotModelled(f"the data type {value.name}")
    if isinstance(value, str):
        name = {"bool": "bool_", "float8e4": "float8_e4m3", "float8e5": "float8_e5m2"}.get(value, value)
        if name in DTYPES:
            return DTYPES[name]
        if name in PACKED:
            return PACKED[name]
        if name == SCALE_TYPE.name:
            return SCALE_TYPE
        if name == TFLOAT32.name:
            raise NotModelled(f"the data type {name}")
        raise KernelError("", f"unsupported dtype '{value}'")
    if isinstance(value, type) and issubclass(value, np.generic):
        raise KernelError("", "numpy dtypes are not supported as arguments. Use nki.language.X instead")
    raise KernelError("", f"expecting 'dtype', got '{kind(value)}'")


def integer(value: object) -> int:
    """A compile-time integer: an int, a bool, or an object with such a ``value``."""
    if type(value) is int:
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, np.generic):
        raise _of_numpy("'integer'", value)
    held = getattr(value, "value", None)
    if isinstance(held, int):
        return held
    raise KernelError("", f"expecting 'integer', got '{kind(value)}'")


def _of_numpy(expected: str, value: np.generic) -> KernelError:
    """KLR, ``interop/klr/gather.c``, ``value``: what is no number of Python's is ``None``."""
    return KernelError("", f"expecting {expected}, got None: the front end takes {value!r} of NumPy for it")


def natural(value: object) -> int:
    number = integer(value)
    if number < 0:
        raise KernelError("", f"expecting positive 'integer', got '{kind(value)}'")
    return number


def number(value: object) -> int | float:
    """An immediate operand."""
    if type(value) is float or type(value) is int:
        return value
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, np.generic):
        raise _of_numpy("int or 'float'", value)
    raise KernelError("", f"expecting int or 'float', got '{kind(value)}'")


def naturals(value: object) -> tuple[int, ...]:
    """A shape, or another sequence of compile-time integers."""
    if not isinstance(value, (list, tuple)):
        raise KernelError("", f"expecting sequence ('list' or 'tuple'), got '{kind(value)}'")
    if set(map(type, value)) == {int} and min(value) >= 0:
        return tuple(value)
    return tuple([natural(n) for n in value])


def shape_given(shape: object, named: dict[str, object]) -> object:
    """The shape that ``reshape`` is told, by its place or name or, in 0.4, as ``new_shape``."""
    known = ("new_shape",) if state.rules().new_shape else ()
    for name in named:
        if name not in known:
            raise KernelError("", f"reshape got an unexpected keyword argument '{name}'")
    given = [each for each in (shape, *named.values()) if each is not None]
    if len(given) != 1:
        raise KernelError("", f"reshape takes one shape, not {len(given)}")
    return given[0]


def shape_of(value: object) -> tuple[int, ...]:
    shape = naturals(value)
    if not shape:
        raise KernelError("", "invalid shape")
    return shape


def pairs(value: object) -> tuple[tuple[int, int], ...]:
    """An access pattern: ``[[step, count], ...]``, outermost dimension first."""
    if not isinstance(value, (list, tuple)):
        raise KernelError("", f"expecting sequence ('list' or 'tuple'), got '{kind(value)}'")
    pattern = []
    for pair in value:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise KernelError("", f"expecting 'pair', got '{kind(pair)}'")
        pattern.append((integer(pair[0]), natural(pair[1])))
    return tuple(pattern)
