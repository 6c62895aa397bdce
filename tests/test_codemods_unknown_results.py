"""What a function hands back is what it got: a tile that nobody knows to be one is not taken for a number."""

import pytest
from first_rung import Options, rewrite
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


class Box:
    def __init__(self, t, n):
        self.t = t
        self.n = n


def same(a):
    return a


def pick(a, b, n):
    if n > 1:
        return a
    return nl.add(b, 1.0)


@nki.jit
def k(x, n=1):
    assert x.shape == (8, 8)
    out = nl.ndarray((8, 8), dtype=nl.float32, buffer=nl.shared_hbm)
    t = nl.load(x)
    {body}
    nl.store(out, t)
    return out
"""


@pytest.mark.parametrize(
    "body",
    [
        'd = {"a": t}\n    t = same(d["a"])',
        "b = Box(t, 1)\n    t = same(b.t)",
        "b = Box(t, 1)\n    t = same(same(b.t))",
    ],
)
def test_what_a_function_hands_back_is_not_known_where_its_argument_is_not(body):
    outcome = rewrite(KERNEL.replace("{body}", body), Options(unsafe=True))
    assert "it is not known whether 't' is a tensor" in [finding.message for finding in outcome.findings]
    assert "memset" not in outcome.source


def test_one_of_two_tiles_of_one_shape_is_a_tile(migrate):
    source = KERNEL.replace("{body}", "t = pick(t, t, n)\n    t *= 0.5")
    migration = migrate(source, {"x": TensorSpec((8, 8), "float32", "normal")}, Options(unsafe=True))
    assert not migration.outcome.findings and migration.trouble == ()


FOREIGN = """\
import elsewhere.tiles
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
from elsewhere import made


class Pool:
    def __init__(self, shape):
        self.tile = nl.zeros(shape, dtype=nl.float32)

    def get(self):
        return self.tile


@nki.jit
def k(x):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.zeros((rows, columns), dtype=nl.float32)
    pool = Pool((rows, columns))
    t = {call}
    n = t
    {use}
    return out
"""


@pytest.mark.parametrize("use", ["nl.store(out, value=t)", "nl.store(out, value=n)", "tile[...] = t", "tile[...] = -n"])
@pytest.mark.parametrize("call", ["made(rows, columns)", "elsewhere.tiles.made(rows)", "made()", "pool.get()"])
def test_what_a_function_may_give_is_no_number_to_fill_a_tile_with(call, use):
    source = FOREIGN.replace("{call}", call).replace("{use}", use)
    line = 1 + source[: source.index(use)].count("\n")
    assert line in {finding.line for finding in rewrite(source).findings}


@pytest.mark.parametrize("call", ["min(rows, 3)", "float(rows)", "x.shape[0]", "2.0", "max(rows, columns) / 2"])
def test_numbers_fill_tiles_under_names_as_well(call):
    source = (
        FOREIGN.replace("{call}", call)
        .replace("{use}", "nl.store(out, value=n)")
        .replace("    pool = Pool((rows, columns))\n", "")
    )
    line = 1 + source[: source.index("nl.store")].count("\n")
    assert line not in {finding.line for finding in rewrite(source).findings}
