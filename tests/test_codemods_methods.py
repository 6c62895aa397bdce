"""Methods and functions of the user's that compute index vectors and masks: followed, or left with a finding."""

from __future__ import annotations

import pytest
from first_rung import Options, rewrite, rewrite_together
from nki_migrate.runtime.cases import TensorSpec

SOURCE = """\
from dataclasses import dataclass
from typing import NamedTuple, Optional

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

STEP = 16


def ceil(a, b):
    return (a + b - 1) // b


@dataclass(frozen=True)
class Dim:
    size: int
    tile: int
    flag: bool = True
    inner: "Optional[Dim]" = None

{methods}

{functions}

@nki.jit
def k(x, n=3):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    dim = Dim(x.shape[0], 32)
    i_p = nl.arange(32)[:, None]
    i_f = nl.arange(20)[None, :]
    for i in nl.affine_range(ceil(dim.size, 32)):
        tile = nl.load(x[{index}, i_f], mask={mask})
        nl.store(out[{index}, i_f], value=tile, mask={mask})
    return out
"""
AT = "    def at(self, i, p):\n        return i * self.tile + p\n"
ARGS = {"x": TensorSpec((50, 20), "float32", "normal")}


def source(methods: str = "", functions: str = "", index: str = "i * 32 + i_p", mask: str = "i * 32 + i_p < 50") -> str:
    return SOURCE.format(methods=methods, functions=functions, index=index, mask=mask)


def method(*lines: str, arguments: str = "i, p", head: str = "") -> str:
    """A method ``inside`` with the given lines."""
    body = "".join(f"        {line}\n" for line in lines)
    return f"{AT}\n{head}    def inside(self, {arguments}):\n{body}"


@pytest.mark.parametrize(
    ("code", "call"),
    [
        (method("return self.at(i, p) < self.size"), "dim.inside(i, i_p)"),
        (method("at = self.at(i, p)", "at = at + 0", "return at < self.size"), "dim.inside(i, i_p)"),
        (method("at = p", "at += i * self.tile", "return self.size > at"), "dim.inside(i, i_p)"),
        (method("assert self.tile == 32, 'tiles'", "return self.at(i, p) < self.size"), "dim.inside(i, i_p)"),
        (method("return self.at(i, p) <= self.size - 1"), "dim.inside(p=i_p, i=i)"),
        (method("return (self.at(i, p) < self.size) & (p < 32)"), "dim.inside(i, i_p)"),
        (method("return i < n and self.at(i, p) < self.size", arguments="i, p, n=5"), "dim.inside(i, i_p, n)"),
        (
            method(
                "if low is None:",
                "    high = self.size if high is None else high",
                "    return self.at(i, p) < high",
                "return (self.at(i, p) >= low) & (self.at(i, p) < high)",
                arguments="i, p, *, low=None, high=None",
            ),
            "dim.inside(i, i_p, high=dim.size)",
        ),
        (
            method(
                "if self.size < 1:",
                "    raise ValueError('empty')",
                "bounds = (self.size, None)",
                "high, _ = bounds",
                "return self.at(i, p) < high",
            ),
            "dim.inside(i, i_p)",
        ),
        (
            method("whole = ceil(self.size, 32) * 32", "return self.at(i, p) < min(whole, self.size)"),
            "dim.inside(i, i_p)",
        ),
        (method("return self.at(i, p) < self.size if self.flag else None"), "dim.inside(i, i_p) if n else None"),
    ],
)
def test_masks_of_methods(migrate, code, call):
    if "flag" in code:
        assert rewrite(source(code, index="dim.at(i, i_p)", mask=call)).findings
        return
    migration = migrate(source(code, index="dim.at(i, i_p)", mask=call), ARGS)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "dim.inside(" not in migration.outcome.source


@pytest.mark.parametrize(
    ("functions", "index"),
    [
        ("def at(i, p):\n    return i * 32 + p\n", "at(i, i_p)"),
        ("def at(i):\n    return i * 32 + nl.arange(32)[:, None]\n", "at(i)"),
        ("def at(i, step=STEP):\n    return 2 * i * step + nl.arange(2 * STEP)[:, None]\n", "at(i)"),
        ("def half(i):\n    return i * STEP\n\n\ndef at(i, p):\n    return half(i) + p + half(i)\n", "at(i, i_p)"),
        ("def at(i, p, step=None):\n    step = step or STEP\n    return i * 2 * step + p\n", "at(i, i_p)"),
        ("def at(i, p, b=0):\n    return i * 32 + p + (b or 0) + (b and 1)\n", "at(i, i_p)"),
        ("def at(i, p, back):\n    return i * 32 - -p if back else i * 32 + p\n", "at(i, i_p, n > 2)"),
    ],
)
def test_indices_of_functions(migrate, functions, index):
    migration = migrate(source(functions=functions, index=index), ARGS)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (method("for _ in range(2):", "    p = p + 0", "return self.at(i, p) < self.size"), "no assignment"),
        (method("return self.at(i, p) < self.size if self.flag else None"), "depends on"),
        (method("if self.flag:", "    return None", "return self.at(i, p) < self.size"), "depends on"),
        (method("assert p is None", "return self.at(i, p) < self.size"), "assertion"),
        (method("return self.at(i, p) // 2 < self.size"), "not affine"),
        (method("return print(p)"), "calls print"),
        (method("return self.missing(p)"), "calls self.missing"),
        (method("return self.at(i, p) < self.size", arguments="*args"), "arguments do not fit"),
        (method("return p.shape"), "reads p.shape"),
        (method("return 3"), "no vector and no mask"),
        (method("return self.inside(i, p)"), "calls itself"),
        (method("return (self.at(i, p) < self.size) | (p < 3)"), "otherwise than with &"),
        (method("p < 3 or p", "return p < self.size"), "no assignment"),
    ],
)
def test_what_is_not_followed_is_a_finding(code, why):
    outcome = rewrite(source(code, mask="dim.inside(i, i_p)"))
    reasons = [f.message for f in outcome.findings if f.code in ("NKI024", "NKI025")]
    assert any(why in reason for reason in reasons), reasons
    assert "mask=dim.inside(i, i_p)" in outcome.source


def test_what_a_decorator_makes_of_a_function_is_not_followed():
    made = "def twice(f):\n    return lambda i, p: 2 * f(i, p)\n\n\n@twice\ndef at(i, p):\n    return i * 16 + p\n"
    assert rewrite(source(functions=made, index="at(i, i_p)")).findings


def test_a_name_of_the_callers_is_not_taken_for_a_constant_of_the_module():
    made = "def at(i, p):\n    return i * STEP * 2 + p\n"
    text = source(functions=made, index="at(i, i_p)")
    assert "i * STEP * 2" in rewrite(text).source
    assert "i * 16 * 2" in rewrite(text.replace("n=3):", "n=3, STEP=3):")).source


@pytest.mark.parametrize(("names", "left"), [("a, b", False), ("n, b", True)])
def test_results_that_are_computed_from_a_name_that_they_bind(names, left):
    made = "def pair(n, p):\n    return n + 1, p + n\n"
    text = source(functions=made, index="i * 32 + b").replace(
        "    for i in", f"    {names} = pair(n, i_p)\n    for i in"
    )
    outcome = rewrite(text)
    assert any("bound again" in f.message for f in outcome.findings) == left
    assert left or ("a = n + 1" in outcome.source and "nl.ds(i * 32 + n, " in outcome.source)


def test_the_length_of_a_list_in_a_frozen_object_may_change():
    text = source(index="len(dim.parts) * 32 * i + i_p").replace("    flag: bool = True\n", "    parts: list = None\n")
    text = text.replace("        tile = nl.load", "        dim.parts.append(i)\n        tile = nl.load")
    outcome = rewrite(text).source
    assert outcome.count("len(dim.parts)") == outcome.count(" = len(dim.parts)\n") == 2


@pytest.mark.parametrize(
    "functions",
    [
        "class Other(Dim):\n    def at(self, i, p):\n        return p\n",
        "def change():\n    Dim.at = None\n",
        "def change(d):\n    d.at = None\n",
    ],
)
def test_a_method_that_may_be_another_one_is_not_followed(functions):
    assert rewrite(source(AT, functions, index="dim.at(i, i_p)")).findings


def test_assertions_that_a_call_does_not_decide_stay():
    code = method("assert self.flag, f'tile {i} of {self.size}'", "return self.at(i, p) < self.size")
    after = rewrite(source(code, mask="dim.inside(i, i_p)")).source
    assert "        assert dim.flag, f'tile {i} of {dim.size}'\n" in after
    code = method("if not self.flag:", "    raise ValueError('no')", "return self.at(i, p) < self.size")
    assert "        assert not (not dim.flag)" in rewrite(source(code, mask="dim.inside(i, i_p)")).source


def test_what_an_optional_field_lacks_is_still_asserted():
    code = method("assert self.inner is not None", "return p < self.inner.size")
    assert "assert dim.inner is not None" in rewrite(source(code, mask="dim.inside(i, i_p)")).source


def test_fields_that_may_change_are_read_where_the_method_was_called():
    text = source(AT, index="dim.at(i, i_p)").replace("@dataclass(frozen=True)", "@dataclass")
    text = text.replace("    return out\n", "    dim.tile = 7\n    return out\n")
    assert "tile_2 = dim.tile" in rewrite(text).source or "tile = dim.tile" in rewrite(text).source
    assert "dim.tile * i" not in rewrite(text).source and "i * dim.tile" not in rewrite(text).source


def test_a_function_that_loads_with_vectors_of_its_own_is_rewritten_like_any_other():
    made = "def loaded(x, i):\n    i_p = nl.arange(16)[:, None]\n    i_f = nl.arange(20)[None, :]\n"
    made += "    return nl.load(x[i + 2 * i_p, i_f])\n"
    text = source(functions=made).replace("    dim = Dim(", "    first = loaded(x, ceil(n, 3))\n    dim = Dim(")
    outcome = rewrite(text)
    assert outcome.findings == () and "first = loaded(x, ceil(n, 3))" in outcome.source


def test_a_function_that_makes_vectors_goes_with_its_last_call():
    made = "def at(i):\n    return i * 32 + nl.arange(32)[:, None]\n"
    assert "def at" not in rewrite(source(functions=made, index="at(i)")).source
    other = made + "\n\n@nki.jit\ndef other(x):\n    return at(x)\n"
    assert "def at" in rewrite(source(functions=other, index="at(i)")).source


def test_tensors_in_the_fields_of_an_object(migrate):
    text = """\
from typing import NamedTuple

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


class Parts(NamedTuple):
    scale: float
    bias: object


def parts(scale):
    bias = nl.full((128, 1), 0.25, dtype=nl.float32, buffer=nl.sbuf)
    return Parts(scale, bias)


def shifted(p, tile):
    i_p = nl.arange(64)[:, None]
    return nisa.tensor_scalar(tile, nl.add, p.bias[i_p, nl.arange(1)[None, :]])


@nki.jit
def k(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    p: Parts = parts(2.0)
    tile = nl.load(x)
    nl.store(out, value=shifted(p, tile))
    return out
"""
    text = text.replace("def shifted(p, ", "def shifted(p: Parts, ")
    migration = migrate(text, {"x": TensorSpec((64, 20), "float32", "normal")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "class Parts(nl.NKIObject)" in migration.outcome.source


TUPLE = """\
from typing import NamedTuple

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


class Size(NamedTuple):
    rows: int
    columns: int = 8

    def both(self):
        return self.rows * self.columns


def area(size: Size):
    return size.both()


@nki.jit
def k(x):
    out = nl.ndarray((64, 8), dtype=x.dtype, buffer=nl.shared_hbm)
    size = Size(64)
    assert area(size) == 512
    tile = nl.load(x[0:size.rows, 0:size.columns])
    nl.store(out, value=tile)
    return out


def host(size: Size):
    print(size)
    {use}
"""


def test_a_named_tuple_of_which_only_fields_are_used_becomes_a_dataclass(migrate):
    migration = migrate(TUPLE.format(use="return size.rows"), {"x": TensorSpec((64, 8), "float32", "normal")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "@dataclass(frozen=True)\nclass Size(nl.NKIObject):" in migration.outcome.source


@pytest.mark.parametrize(
    "use",
    [
        "rows, columns = size",
        "return size[0]",
        "return len(size)",
        "return size._replace(rows=3)",
        "return size == (64, 8)",
        "return {size: 1}",
        "return [n for n in size]",
        "return max(*size)",
        "return size.index(64)",
        "other = size, 1",
        "return unknown(size)",
        "return Size._make((1, 2))",
        "return Size",
        "x.size = size",
        "for n in size: print(n)",
        "with size: pass",
        "yield size",
        "return size + (1,)",
        "return size if size else 0",
    ],
)
def test_a_named_tuple_that_is_used_as_one_is_a_finding(use):
    outcome = rewrite(TUPLE.format(use=use))
    assert ["may use it as a tuple" in f.message for f in outcome.findings if f.code == "NKI009"] == [True]
    assert "class Size(NamedTuple)" in outcome.source


DECORATED = """\
from dataclasses import dataclass

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@dataclass
class Size:
    rows: int

    @classmethod
    def of(cls, rows):
        return cls(max(rows, cls.least()))

    @staticmethod
    def least():
        return 1

    @property
    def half(self):
        return self.rows // 2

    def twice(self):
        return 2 * self.half + self.least() - 1


@nki.jit
def k(x):
    size = Size.of(64)
    out = nl.ndarray((size.half, 8), dtype=x.dtype, buffer=nl.shared_hbm)
    assert size.twice() == 64 and size.least() == 1
    tile = nl.load(x[0 : size.half, 0:8])
    nl.store(out, value=tile)
    return out
{host}"""


def test_named_tuples_of_other_files():
    size = TUPLE[: TUPLE.index("def area")] + "SIZE = Size(64)\n\n\n" + TUPLE[TUPLE.index("def area") :]
    files = {"a/k.py": size.format(use="pass").replace("def area(size: Size)", "def area(size=Size(3))")}
    outcomes = rewrite_together({**files, "a/host.py": HOST.format(use="return SIZE.rows")})
    assert not any(outcome.findings for outcome in outcomes.values())
    outcomes = rewrite_together({**files, "a/host.py": HOST.format(use="rows, columns = SIZE")})
    assert ["host.py may use it as a tuple" in f.message for f in outcomes["a/k.py"].findings] == [True]


HOST = """\
import neuronxcc.nki.language as nl
from .k import SIZE


def host():
    {use}
"""


def test_decorated_methods(migrate):
    migration = migrate(DECORATED.format(host=""), {"x": TensorSpec((64, 8), "float32", "normal")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    after = migration.outcome.source
    assert "    @staticmethod\n    def of(rows):\n        return Size(max(rows, Size.least()))\n" in after
    assert "    def half(self):\n" in after and "@property" not in after
    assert "return 2 * self.half() + Size.least() - 1" in after


@pytest.mark.parametrize(
    "host",
    [
        "\n\nclass More(Size):\n    pass\n",
        "\n\ndef host(size):\n    return size.half\n",
        "\n\nHALF = Size(3).half\n",
    ],
)
def test_a_property_that_other_code_may_read_is_a_finding(host):
    outcome = rewrite(DECORATED.format(host=host))
    assert [f.code for f in outcome.findings] == ["NKI009"]
    assert "@property" in outcome.source and "size.half()" not in outcome.source


def test_classes_of_other_files():
    sizes = DECORATED[: DECORATED.index("@nki.jit")]
    kernel = "import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\n{imports}\n\n\n"
    kernel += DECORATED[DECORATED.index("@nki.jit") :].format(host="").replace("Size.of(64)", "{of}(64)")
    both = {"a/sizes.py": sizes, "a/k.py": kernel.format(imports="from .sizes import Size as S", of="S.of")}
    outcomes = rewrite_together(both, Options())
    assert all(not outcome.findings for outcome in outcomes.values())
    assert "S.least() == 1" in outcomes["a/k.py"].source
    both["a/k.py"] = kernel.format(imports="from . import sizes", of="sizes.Size.of")
    assert "sizes.Size.least() == 1" in rewrite_together(both, Options())["a/k.py"].source
    both["a/sizes.py"] += "def make(rows) -> Size:\n    return Size(rows)\n"
    both["a/k.py"] = kernel.format(imports="from .sizes import make", of="make")
    assert "import the class" in str([f.help for f in rewrite_together(both, Options())["a/k.py"].findings])


def test_a_part_of_a_tensor_under_a_name_is_not_the_one_of_a_size_that_changed():
    text = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x, wide):
    out = nl.ndarray((64, 8), dtype=x.dtype, buffer=nl.shared_hbm)
    n = 1
    if wide:
        n = 2
    part = x[n]
    {between}
    nl.store(out, value=nl.load(part[0:64, 0:8]))
    return out
"""
    assert "src=x[n, 0:64, 0:8]" in rewrite(text.format(between="assert wide")).source
    assert "src=x[n, 0:64, 0:8]" not in rewrite(text.format(between="n = 0")).source


def test_an_object_that_writes_to_its_frozen_fields_is_a_finding_of_its_class():
    body = "    def __post_init__(self):\n        object.__setattr__(self, 'twice', [n for n in (1,)])\n"
    text = source(methods=AT).replace("class Dim:\n", f"class Dim:\n{body}\n")
    outcome = rewrite(text)
    [finding] = [f for f in outcome.findings if f.code in ("NKI009", "NKI091")]
    assert finding.code == "NKI009" and "__setattr__" in finding.message and body in outcome.source
