"""What a kernel asserts of the shapes of tensors: known of all of them, where each run comes by the assertion."""

from __future__ import annotations

import ast

import pytest
from first_rung import rewrite
from nki_migrate.codemods.project.own_assertions import same_shape

HEADER = "import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\n\n\n@nki.jit\n"


def function(*lines: str) -> ast.FunctionDef:
    body = "\n".join(f"    {line}" for line in lines)
    found = ast.parse(f"def k(a, b, c, n):\n{body}\n").body[0]
    assert isinstance(found, ast.FunctionDef)
    return found


@pytest.mark.parametrize(
    ("lines", "alike"),
    [
        (["assert a.shape == b.shape == c.shape"], {"b", "c"}),
        (["assert a.shape == b.shape and b.shape == c.shape, 'one shape'"], {"b", "c"}),
        (["assert b.shape == c.shape", "m = n + 1", "assert c.shape == a.shape"], {"b", "c"}),
        (["shape = a.shape", "assert b.shape == shape"], {"b"}),
        (["if n:", "    n = 2", "assert a.shape == b.shape"], {"b"}),
        (["assert a.shape == (128, 512) == b.shape"], {"b"}),
        (["assert a.shape == b.shape or n"], set()),
        (["assert a.shape != b.shape"], set()),
        (["assert a.shape[0] == b.shape[0]"], set()),
        (["assert a.shape[:2] == b.shape[:2]"], set()),
        (["assert not (a.shape == b.shape)"], set()),
        (["if n:", "    assert a.shape == b.shape"], set()),
        (["for i in range(n):", "    assert a.shape == b.shape"], set()),
        (["if n:", "    return c", "assert a.shape == b.shape"], set()),
        (["b = b.reshape((1, 2))", "assert a.shape == b.shape"], set()),
        (["a = n", "assert a.shape == b.shape"], set()),
    ],
)
def test_shapes_that_are_asserted_to_be_equal(lines: list[str], alike: set[str]) -> None:
    assert same_shape(function(*lines), "a") == alike


def test_the_kernel_asserts_no_rank_that_its_own_assertion_tells() -> None:
    body = (
        "def k(a, b):\n    {0}\n    n, m = a.shape\n    out = nl.ndarray((n, 1), dtype=b.dtype, buffer=nl.shared_hbm)\n"
        "    nl.store(out, value=nl.max(nl.load(b), axis=1, keepdims=True))\n    return out\n"
    )
    known = rewrite(HEADER + body.format("assert a.shape == b.shape")).source
    assert "rewritten for" not in known
    assert "nl.ndarray((n, m), dtype=b.dtype" in known
    assert "rewritten for" in rewrite(HEADER + body.format("assert a.shape[0] == b.shape[0]")).source
