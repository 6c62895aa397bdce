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
