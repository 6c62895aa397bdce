"""The functions that rewritten kernels get for what Beta 2 has no way to ask.

Each is a template: ``{name}`` is the function's own name, ``{nl}`` and ``{nisa}`` are those of the modules of NKI, and
any other name is that of a further function. They are written in what every version of Beta 2 allows, and mean the same
in all but for those of :data:`SINCE`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from string import Formatter
from types import MappingProxyType

from nki_migrate.runtime.spec.dtypes import LIMITS
from nki_migrate.runtime.spec.versions import OLDEST, V03, Version, version

ALIASES = {"nisa": "nki.isa", "nl": "nki.language"}
"""The modules of NKI that functions use, each by the name that stands for it."""


@dataclass(frozen=True)
class Definition:
    """A function: its name where that is free, and its template."""

    name: str
    template: str

    @property
    def _parts(self) -> set[str]:
        return {field for _, field, _, _ in Formatter().parse(self.template) if field}

    @property
    def aliases(self) -> set[str]:
        """The names among :data:`ALIASES` that it uses."""
        return self._parts & ALIASES.keys()

    @property
    def needs(self) -> list[str]:
        """The further functions that it calls."""
        return sorted(self._parts - ALIASES.keys() - {"name"})

    def text(self, target: Version | str = OLDEST, names: Mapping[str, str] = MappingProxyType({})) -> str:
        """The function for a version of NKI; what is not called as ``names`` say has its own name."""
        template = self.template
        for since, changed in SINCE.get(self.name, {}).items():
            template = changed if version(target) >= since else template
        return template.format(**{p: names.get(p, p) for p in self._parts} | {"name": names.get(self.name, self.name)})


ITEMSIZE = '''def {name}(dtype):
    """Bytes of one element of a data type."""
    name = str(dtype)
    if name == str({nl}.float32) or name == str({nl}.int32) or name == str({nl}.uint32):
        return 4
    if name == str({nl}.bfloat16) or name == str({nl}.float16) or name == str({nl}.int16) or name == str({nl}.uint16):
        return 2
    if name == str({nl}.int8) or name == str({nl}.uint8) or name == str({nl}.bool_):
        return 1
    if name == str({nl}.float8_e4m3) or name == str({nl}.float8_e5m2):
        return 1
    assert False, "itemsize: unknown data type"
'''

PROMOTED = '''def {name}(a, b):
    """The data type of an operation on two data types, as NKI Beta 1 chose it."""
    x = str(a)
    y = str(b)
    if x == y:
        return a
    if x == str({nl}.float32) or y == str({nl}.float32):
        return {nl}.float32
    if x == str({nl}.tfloat32) or y == str({nl}.tfloat32):
        return {nl}.tfloat32
    half_a = x == str({nl}.bfloat16) or x == str({nl}.float16)
    half_b = y == str({nl}.bfloat16) or y == str({nl}.float16)
    if half_a and half_b:
        return {nl}.float32
    if half_a or half_b:
        return a if half_a else b
    quarter_a = x == str({nl}.float8_e4m3) or x == str({nl}.float8_e5m2)
    quarter_b = y == str({nl}.float8_e4m3) or y == str({nl}.float8_e5m2)
    if quarter_a and quarter_b:
        return {nl}.bfloat16
    if quarter_a or quarter_b:
        return a if quarter_a else b
    signed_a = x == str({nl}.int8) or x == str({nl}.int16) or x == str({nl}.int32)
    signed_b = y == str({nl}.int8) or y == str({nl}.int16) or y == str({nl}.int32)
    bytes_a = {itemsize}(a)
    bytes_b = {itemsize}(b)
    if signed_a == signed_b:
        return a if bytes_a > bytes_b or y == str({nl}.bool_) else b
    signed = bytes_a if signed_a else bytes_b
    unsigned = bytes_b if signed_a else bytes_a
    needed = signed if signed > unsigned else 2 * unsigned
    if needed == 2:
        return {nl}.int16
    return {nl}.int32 if needed == 4 else {nl}.float32
'''

PRODUCT = '''def {name}(sizes):
    """The product of some sizes."""
    result = 1
    for size in sizes:
        result = result * size
    return result
'''

EXPANDED_SHAPE = '''def {name}(shape, axes):
    """``shape`` with a dimension of size 1 at each of ``axes``, one or several, which count in the result."""
    given = [axes] if isinstance(axes, int) else axes
    rank = len(shape) + len(given)
    sizes = []
    taken = 0
    for d in range(rank):
        if d in given or d - rank in given:
            sizes.append(1)
        else:
            sizes.append(shape[taken])
            taken = taken + 1
    assert taken == len(shape) and sizes[0] == shape[0], "{name}: axes that are no free dimensions of the result"
    return tuple(sizes)
'''

TILE_SHAPE = '''def {name}(shape):
    """The shape of the tile that a part of ``shape`` is loaded into: it has two dimensions at least."""
    if len(shape) > 1:
        return shape
    return (shape[0], 1) if len(shape) == 1 else (1, 1)
'''

COMBINED = '''def {name}(dst, a, b, op, ordered=False):
    """``a op b`` of tiles of one shape, or of which one has one element in each partition."""
    free_a = {product}(a.shape[1:])
    free_b = {product}(b.shape[1:])
    assert a.shape[0] == b.shape[0], "{name}: tiles of different partitions"
    if free_a == free_b:
        assert a.shape == b.shape or free_a == 1, "{name}: tiles of different shapes"
        {nisa}.tensor_tensor(dst=dst, data1=a, data2=b, op=op)
    elif free_b == 1:
        {nisa}.tensor_scalar(dst=dst, data=a, op0=op, operand0=b)
    else:
        assert free_a == 1, "{name}: tiles of different sizes"
        {nisa}.tensor_scalar(dst=dst, data=b, op0=op, operand0=a, reverse0=ordered)
'''

WIDER_SHAPE = '''def {name}(a, b):
    """The larger one of the shapes of two tiles, of which one may have one element in each partition."""
    return a if {product}(a[1:]) >= {product}(b[1:]) else b
'''

REDUCED_SHAPE = '''def {name}(shape, axes):
    """What a reduction over ``axes``, one or several of the last dimensions, leaves of ``shape``."""
    first = len(shape) - (1 if isinstance(axes, int) else len(axes))
    return shape[0:first] if first > 1 else (shape[0], 1)
'''

REDUCED_AXES = '''def {name}(shape, axes):
    """``axes``, one or several of the last dimensions of ``shape``, as Beta 2 counts them: as if there were five."""
    given = [axes] if isinstance(axes, int) else axes
    rank = len(shape)
    first = rank - len(given)
    assert first > 0 and first < rank, "{name}: no free dimensions"
    for d in range(first, rank):
        assert d in given or d - rank in given, "{name}: written for reductions over the last dimensions"
    return [[4], [3, 4], [2, 3, 4], [1, 2, 3, 4]][rank - first - 1]
'''

REDUCED_AXES_SINCE_V03 = REDUCED_AXES.replace(
    "as Beta 2 counts them: as if there were five.", "counted from 0."
).replace(
    "    return [[4], [3, 4], [2, 3, 4], [1, 2, 3, 4]][rank - first - 1]\n",
    "    found = []\n    for d in range(first, rank):\n        found.append(d)\n    return found\n",
)

BROADCAST_ROWS = '''def {name}(dst, src):
    """Copy the one row of ``src`` to every partition of ``dst``, 32 at a time."""
    for first in range(0, dst.shape[0], 32):
        rows = min(32, dst.shape[0] - first)
        {nisa}.nc_stream_shuffle(dst=dst[first : first + rows], src=src, shuffle_mask=[0] * 32)
'''

ON_ROWS = '''def {name}(src, rows):
    """``src``, or a copy of its one row on each of ``rows`` partitions."""
    if src.shape[0] == rows:
        return src
    assert src.shape[0] == 1, "{name}: a broadcast of several rows"
    dst = {nl}.ndarray((rows, src.shape[1]), dtype=src.dtype, buffer={nl}.sbuf)
    {broadcast_rows}(dst=dst, src=src)
    return dst
'''

REPEATED = '''def {name}(dst, src):
    """Copy ``src`` to all of ``dst``: its one row to every partition, its one column to every column."""
    rows, columns = dst.shape
    wide = src
    if src.shape[1] != columns:
        assert src.shape[1] == 1, "{name}: a broadcast of several columns"
        wide = src.ap(pattern=[[1, src.shape[0]], [0, columns]], offset=0)
    if src.shape[0] == rows:
        {nisa}.tensor_copy(dst=dst, src=wide)
    else:
        assert src.shape[0] == 1, "{name}: a broadcast of several rows"
        {broadcast_rows}(dst=dst, src=wide)
'''

TRANSPOSED = '''def {name}(dst, data, engine={nisa}.engine.unknown):
    """Transpose ``data`` into ``dst``, whatever its type: the instruction itself converts none."""
    if str(dst.dtype) == str(data.dtype):
        {nisa}.nc_transpose(dst=dst, data=data, engine=engine)
    else:
        tile = {nl}.ndarray(dst.shape, dtype=data.dtype, buffer={nl}.psum)
        {nisa}.nc_transpose(dst=tile, data=data, engine=engine)
        {nisa}.tensor_copy(dst=dst, src=tile)
'''

ALL_REDUCED = '''def {name}(dst, src, op):
    """Reduce ``src`` over the programs of the launch, one or two, into the ``dst`` of each."""
    if {nl}.num_programs(axes=0) == 1:
        {nisa}.tensor_copy(dst=dst, src=src)
    else:
        other = 1 - {nl}.program_id(axis=0)
        received = {nl}.ndarray(src.shape, dtype=src.dtype, buffer={nl}.sbuf)
        {nisa}.sendrecv(src=src, dst=received, send_to_rank=other, recv_from_rank=other, pipe_id=0)
        {nisa}.tensor_tensor(dst=dst, data1=src, data2=received, op=op)
'''

AFFINE_CONSTANT = '''def {name}(shape, steps, offset, operator, dtype):
    """Ones in HBM where ``operator(offset + sum(index * step), 0)`` holds for the indices of ``shape``, else zeros."""
    last = 0
    for d in range(1, len(shape)):
        if steps[d] != 0:
            last = d
    columns = 1
    repeats = 1
    pattern = []
    for d in range(1, len(shape)):
        if d <= last:
            columns = columns * shape[d]
            pattern.append([steps[d], shape[d]])
        else:
            repeats = repeats * shape[d]
    if last == 0:
        pattern.append([0, 1])
    constant = {nl}.ndarray(shape, dtype=dtype, buffer={nl}.hbm)
    for first in range(0, shape[0], 128):
        rows = min(128, shape[0] - first)
        ones = {nl}.ndarray((rows, columns), dtype=dtype, buffer={nl}.sbuf)
        {nisa}.memset(dst=ones, value=1)
        chosen = {nl}.ndarray((rows, columns), dtype=dtype, buffer={nl}.sbuf)
        {nisa}.affine_select(
            dst=chosen,
            pattern=pattern,
            offset=offset + first * steps[0],
            channel_multiplier=steps[0],
            on_true_tile=ones,
            on_false_value=0,
            cmp_op=operator,
        )
        {nisa}.dma_copy(
            dst=constant.ap(
                pattern=[[columns * repeats, rows], [repeats, columns], [1, repeats]], offset=first * columns * repeats
            ),
            src=chosen.ap(pattern=[[columns, rows], [1, columns], [0, repeats]]),
        )
    return constant
'''

_NAMED = "float32 bfloat16 float16 float8_e4m3 float8_e5m2 int32 int16 int8 uint32 uint16 uint8".split()
DTYPE_NAMED = "\n".join(
    (
        "def {name}(name):",
        '    """The data type that has a name."""',
        *(f'    if name == "{dtype}":\n        return {{nl}}.{dtype}' for dtype in _NAMED),
        '    assert False, "{name}: no data type has this name"\n',
    )
)

FLOOR_DIVIDED = '''def {name}(dst, src, divisor):
    """``src // divisor`` of whole numbers below 2**24: a rounded quotient, corrected by what it leaves."""
    assert isinstance(divisor, int) and divisor > 0, "{name}: a divisor that is no positive integer"
    quotient = {nl}.ndarray(src.shape, dtype={nl}.int32, buffer={nl}.sbuf)
    {nisa}.tensor_scalar(dst=quotient, data=src, op0={nl}.multiply, operand0=1.0 / divisor)
    rest = {nl}.ndarray(src.shape, dtype={nl}.float32, buffer={nl}.sbuf)
    {nisa}.scalar_tensor_tensor(
        dst=rest, data=quotient, op0={nl}.multiply, operand0=-1 * divisor, op1={nl}.add, operand1=src
    )
    below = {nl}.ndarray(src.shape, dtype={nl}.float32, buffer={nl}.sbuf)
    {nisa}.tensor_scalar(dst=below, data=rest, op0={nl}.less, operand0=0.0)
    step = {nl}.ndarray(src.shape, dtype={nl}.float32, buffer={nl}.sbuf)
    {nisa}.scalar_tensor_tensor(
        dst=step, data=rest, op0={nl}.greater_equal, operand0=divisor, op1={nl}.subtract, operand1=below
    )
    {nisa}.tensor_tensor(dst=dst, data1=quotient, data2=step, op={nl}.add)
'''

IS_FLOAT = '''def {name}(dtype):
    """Is a data type one of floating-point numbers?"""
    name = str(dtype)
    signed = name == str({nl}.int8) or name == str({nl}.int16) or name == str({nl}.int32)
    unsigned = name == str({nl}.uint8) or name == str({nl}.uint16) or name == str({nl}.uint32)
    return not (signed or unsigned or name == str({nl}.bool_))
'''


def _limit(what: str, limit: str) -> str:
    """The function for a number that each floating point type has: ``min``, ``max`` or ``eps`` of its ``finfo``."""
    cases = (f"    if name == str({{nl}}.{dtype}):\n        return {LIMITS[dtype][limit]!r}" for dtype in LIMITS)
    head = "def {name}(dtype):", f'    """{what} of a floating point type."""', "    name = str(dtype)"
    return "\n".join((*head, *cases, '    assert False, "{name}: unknown data type"\n'))


SEQUENCES = {
    "total": '''def {name}(values):
    """The sum of a list or tuple."""
    result = 0
    for value in values:
        result = result + value
    return result
''',
    "any_of": '''def {name}(values):
    """Is one of a list or tuple true?"""
    found = False
    for value in values:
        if value:
            found = True
    return found
''',
    "all_of": '''def {name}(values):
    """Are all of a list or tuple true?"""
    missing = False
    for value in values:
        if not value:
            missing = True
    return not missing
''',
    "in_order": '''def {name}(values):
    """The elements of a list or tuple, the smallest first."""
    result = []
    for value in values:
        result.append(value)
    for turn in range(len(result)):
        for place in range(1, len(result)):
            if result[place] < result[place - 1]:
                value = result[place]
                result[place] = result[place - 1]
                result[place - 1] = value
    return result
''',
}
KEYED = {
    "in_order_of": '''def {name}(values, keys):
    """The elements of a list in the order of their keys, the smallest first; equal ones stay as they stand."""
    for turn in range(len(keys)):
        for place in range(1, len(keys)):
            if keys[place] < keys[place - 1]:
                key = keys[place]
                keys[place] = keys[place - 1]
                keys[place - 1] = key
                value = values[place]
                values[place] = values[place - 1]
                values[place - 1] = value
    return values
''',
    "least_of": '''def {name}(values, keys):
    """The first element of a list that has the smallest key."""
    best = 0
    for place in range(1, len(keys)):
        if keys[place] < keys[best]:
            best = place
    return values[best]
''',
    "greatest_of": '''def {name}(values, keys):
    """The first element of a list that has the greatest key."""
    best = 0
    for place in range(1, len(keys)):
        if keys[place] > keys[best]:
            best = place
    return values[best]
''',
}

DEFINITIONS = {
    name: Definition(name, template)
    for name, template in {
        "itemsize": ITEMSIZE,
        "promoted_dtype": PROMOTED,
        "product": PRODUCT,
        "expanded_shape": EXPANDED_SHAPE,
        "tile_shape": TILE_SHAPE,
        "combined": COMBINED,
        "wider_shape": WIDER_SHAPE,
        "reduced_shape": REDUCED_SHAPE,
        "reduced_axes": REDUCED_AXES,
        "broadcast_rows": BROADCAST_ROWS,
        "on_rows": ON_ROWS,
        "repeated": REPEATED,
        "transposed": TRANSPOSED,
        "all_reduced": ALL_REDUCED,
        "affine_constant": AFFINE_CONSTANT,
        "dtype_named": DTYPE_NAMED,
        "floor_divided": FLOOR_DIVIDED,
        "is_float": IS_FLOAT,
        "smallest_of": _limit("The smallest finite number", "min"),
        "largest_of": _limit("The largest finite number", "max"),
        "epsilon_of": _limit("The step from 1 to the next number", "eps"),
        **SEQUENCES,
        **KEYED,
    }.items()
}
"""All of them, by name."""

SINCE = {"reduced_axes": {V03: REDUCED_AXES_SINCE_V03}}
"""What a function is from a version on, as the ladder makes it of the one before (NKV007)."""


def closure(names: Iterable[str]) -> list[Definition]:
    """The functions of these names and those that they call, in the order of their names."""
    found: set[str] = set()
    pending = list(names)
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending += DEFINITIONS[name].needs
    return [DEFINITIONS[name] for name in sorted(found)]
