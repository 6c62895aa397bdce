"""``nl.load(x[a:b])``: what the author says of ``x`` tells its rank, or what its tile is used for, or nothing does."""

from __future__ import annotations

import ast

import pytest
from first_rung import rewrite
from nki_migrate.codemods.project.documented_ranks import documented_ranks
from nki_migrate.runtime.cases import TensorSpec

IMPORTS = "import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\nimport neuronxcc.nki.isa as nisa\n\n\n"
SHIFTED = "nl.add(tile, column)"


def kernel(value: str = SHIFTED, doc: str = "", above: str = "", extra: str = "") -> str:
    lines = [
        *([f'"""{doc}"""'] if doc else []),
        "out = nl.ndarray((32, 12), dtype=x.dtype, buffer=nl.shared_hbm)",
        *([extra] if extra else []),
        "for i in nl.affine_range(bias.shape[0] // 16):",
        "    tile = nl.load(x[i * 16 : (i + 1) * 16, :])",
        "    column = nl.load(bias[i * 16 : (i + 1) * 16])",
        f"    nl.store(out[i * 16 : (i + 1) * 16, :], {value})",
        "return out",
    ]
    body = "".join(f"    {line}\n" for line in lines)
    return f"{IMPORTS}{above}@nki.jit\ndef k(x, bias):\n{body}"


def given(*bias: int) -> dict[str, TensorSpec]:
    return {"x": TensorSpec((32, 12), "float32"), "bias": TensorSpec(bias, "float32")}


COLUMNS = [
    kernel(),
    kernel("tile + column"),
    kernel("column * tile"),
    kernel("nl.multiply(nl.exp(column), tile)"),
    kernel("nl.add(x=column, y=tile)"),
    kernel("nisa.tensor_scalar(tile, nl.add, column)"),
    kernel("nisa.activation(nl.exp, tile, bias=column)"),
    kernel(doc="bias: (32,)"),
    kernel(above="# bias: [n]\n"),
]


@pytest.mark.parametrize("source", COLUMNS)
def test_a_tile_beside_one_that_has_columns_is_a_vectors_and_the_kernel_asserts_it(migrate, source):
    column, matrix = migrate(source, given(32)), migrate(source, given(32, 1))
    assert (column.outcome.findings, column.objection, column.trouble) == ((), None, ())
    assert 'assert len(bias.shape) == 1, "rewritten for 1 dimension"' in column.outcome.source
    assert "def " not in column.outcome.source.replace("def k", "")
    assert any("rewritten for 1 dimension" in text for text in matrix.trouble)


def test_the_rows_of_a_documented_matrix_are_all_its_columns(migrate):
    matrix = migrate(kernel(doc="bias: (32, columns)"), given(32, 12))
    assert (matrix.outcome.findings, matrix.objection, matrix.trouble) == ((), None, ())
    assert 'assert len(bias.shape) == 2, "rewritten for 2 dimensions"' in matrix.outcome.source
    vector = migrate(kernel(doc="bias: (32, columns)"), given(32))
    assert any("rewritten for 2 dimensions" in text for text in vector.trouble)


@pytest.mark.parametrize(
    "source",
    [
        kernel("nl.add(column, column)"),
        kernel("nl.add(column, 1.0)"),
        kernel(extra="same = nl.ndarray(bias.shape, dtype=x.dtype, buffer=nl.shared_hbm)"),
        kernel(extra="whole = nl.load(bias)"),
        kernel(doc="bias: (32,) or (32, 1)\n\n    bias.shape == (32, 1)"),
    ],
)
def test_without_evidence_the_function_is_for_both(source):
    written = rewrite(source).source
    assert "def tile_shape" in written and "assert len(bias.shape) == 1" not in written


SAID: dict[str, set[int]] = {
    "expect: bias.shape == [out_channels]": {1},
    "bias.shape == (a, b)": {2},
    "bias: (out_channels,)": {1},
    "- bias: [C, max(D, E)] the bias": {2},
    "    bias (n // 2,): added": {1},
    "bias : np.ndarray of shape (n,)": {1},
    "bias: tensor of shape `(n, m)`": {2},
    "``bias``: (n, m)": {2},
    "bias: a 1-D tensor": {1},
    "bias: 2D tensor of the biases": {2},
    "bias (optional): the bias": set(),
    "bias (Tensor, optional): the bias": set(),
    "bias: (see below, or the paper)": set(),
    "bias: [..., n]": set(),
    "unbias: (n,)": set(),
    "bias_2: (n,)": set(),
    "bias: the bias (n) of each": set(),
    "bias: (n,)\nbias.shape == [n, m]": {1, 2},
}


@pytest.mark.parametrize(("text", "ranks"), SAID.items())
def test_what_is_written_of_a_parameter_is_its_rank(text, ranks):
    source = kernel(doc=text)
    tree = ast.parse(source)
    function = tree.body[-1]
    assert isinstance(function, ast.FunctionDef)
    assert documented_ranks(tree, source, function, "bias") == ranks
    above = kernel(above=f'"""\n{text}\n"""\n\n')
    tree = ast.parse(above)
    assert isinstance(tree.body[-1], ast.FunctionDef)
    assert documented_ranks(tree, above, tree.body[-1], "bias") == ranks
