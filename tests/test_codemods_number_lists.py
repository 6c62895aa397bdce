"""Numbers of lists that a kernel or its module writes out are operands whose type is known."""

import itertools

import pytest
from first_rung import Options, rewrite
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

{outside}

@nki.jit
def k(x):
    out = nl.ndarray((3, 4, 8), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x)
{inside}
    return out
"""
LISTS = {
    "floats": ("[0.5, 1.0, -2.5]", "[i]"),
    "integers": ("(1, -2, 3)", "[i]"),
    "both": ("[1, 0.5, 2]", "[i]"),
    "nested": ("[[1, 2], [3, 4], [5, 6]]", "[i][1]"),
    "from the end": ("[0.5, 1.0, 2.5]", "[-i - 1]"),
}
LOOPS = {
    "by index": "for i in range(3):\n    c = w{index}\n",
    "in place": "for i in nl.static_range(3):\n    {c} = w{index}\n",
    "over it": "i = 0\nfor c in w:\n",
    "counted": "for i, c in enumerate(w):\n",
    "beside": "v = [0, 1, 2]\nfor c, i in zip(w, v):\n",
}


def kernel(where, values, lines):
    inside = [] if where == "outside" else [f"w = {values}"]
    inside = "".join(f"    {line}\n" for line in (*inside, *lines))
    return KERNEL.format(outside=f"w = {values}\n" if where == "outside" else "", inside=inside)


def lines_of(loop, index):
    head = LOOPS[loop].format(index=index, c="c").splitlines()
    return [*head, "    nl.store(out[i], tile * c)", *(["    i = i + 1"] if "over" in loop else [])]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32"])
@pytest.mark.parametrize("where", ["inside", "outside"])
@pytest.mark.parametrize(
    ("values", "loop"),
    [(v, n) for v, n in itertools.product(LISTS, LOOPS) if "index" in n or "place" in n or LISTS[v][1] == "[i]"],
)
def test_a_number_of_a_list_is_an_operand(migrate, values, loop, where, dtype):
    text, index = LISTS[values]
    source = kernel(where, text, lines_of(loop, index))
    migration = migrate(source, {"x": TensorSpec((4, 8), dtype, "integers")})
    assert migration.objection is None and migration.trouble == () and migration.outcome.findings == ()
    assert ("isinstance" in migration.outcome.source) == (values == "both")


@pytest.mark.parametrize(
    "change",
    ["w[0] = 3.5", "w.append(0.5)", "w = [3, 4, 0.5]", "v = w\nv[0] = 0.5", "change(w)", "w += [0.5]"],
)
@pytest.mark.parametrize("where", ["inside", "outside"])
def test_a_list_that_may_change_tells_no_type(where, change):
    """The type of the result is asked of the number, or not known."""
    lines = [*change.splitlines(), "for i in range(3):", "    nl.store(out[i], tile * w[i])"]
    outcome = rewrite(kernel(where, "[1, 2, 3]", lines), Options(unsafe=True))
    assert outcome.findings or "isinstance(w[i], float)" in outcome.source


@pytest.mark.parametrize("values", ["[1, [2, 3]]", "[1, True, 2]", "[1, x, 2]", "[[1, 2], 3, 4]", "[]"])
def test_other_lists_tell_no_type(values):
    outcome = rewrite(kernel("inside", values, ["nl.store(out[0], tile * w[1])"]), Options(unsafe=True))
    assert outcome.findings
