"""Functions of ``nl`` that stay where the target has them again: the author's statement, and the same run."""

from __future__ import annotations

import pytest
from nki_migrate.codemods import Options, rewrite
from nki_migrate.runtime.cases import TensorSpec
from nki_migrate.runtime.spec import beta1, beta2
from nki_migrate.runtime.spec.kept_functions import ACTIVATIONS, ARITHMETIC, KEPT, REDUCTIONS
from nki_migrate.runtime.spec.versions import VERSIONS

ARGS = {"x": TensorSpec((8, 5), "float32", "normal"), "y": TensorSpec((8, 5), "float32", "normal")}
TODAY = Options(unsafe=True)


def kernel(*lines: str, parameters: str = "x, y") -> str:
    return "\n".join(
        [
            "import neuronxcc.nki as nki",
            "import neuronxcc.nki.compiler as ncc",
            "import neuronxcc.nki.language as nl",
            "",
            "",
            "@nki.jit",
            f"def k({parameters}):",
            "    out = nl.ndarray((8, 5), dtype=nl.float32, buffer=nl.shared_hbm)",
            *(f"    {line}" for line in lines),
            "    return out",
            "",
        ]
    )


def body(outcome) -> list[str]:
    """The statements of the kernel behind the declaration of its output."""
    lines = outcome.source.splitlines()
    return [line.strip() for line in lines[next(n for n, line in enumerate(lines) if "shared_hbm" in line) + 1 : -1]]


@pytest.mark.parametrize("name", sorted(KEPT))
def test_a_kept_function_is_there_from_its_version_on_with_the_same_parameters(name):
    full = f"nki.language.{name.removeprefix('nl.')}"
    old = [p.name for p in beta1.SYMBOLS[name].parameters]
    for item in VERSIONS:
        new = beta2.symbol(full, item)
        if item >= KEPT[name]:
            names = [p.name for p in new.parameters or ()]
            shared = [p for p in old if p in names]
            assert shared == names[: len(shared)], "what is new is behind what Beta 1 has"


@pytest.mark.parametrize(
    "lines",
    [
        ("t = nl.load(x)", "nl.store(out, t)"),
        ("t = nl.load(x[0:8, 0:5])", "nl.store(out[0:8, 0:5], value=t[0:8, 0:5])"),
        ("t = nl.load(x, dtype=nl.bfloat16)", "nl.store(out, value=t)"),
        ("nl.store(out, nl.exp(nl.add(nl.load(x), nl.load(y))))",),
        ("t = nl.load(x, dtype=nl.float32)", "u = nl.subtract(1.0, t)", "nl.store(out, u)"),
        *(("t = nl.load(x)", f"u = nl.{name}(t)", "nl.store(out, value=u)") for name in ACTIVATIONS),
        *(("t = nl.load(x)", "u = nl.load(y)", f"nl.store(out, nl.{name}(t, u))") for name in ARITHMETIC),
        *(
            ("t = nl.load(x)", f"m = nl.{name}(t, axis=1, keepdims=True)", "nl.store(out[0:8, 0:1], m)", FILL)
            for name in REDUCTIONS
            for FILL in ("nl.store(out[0:8, 1:5], t[0:8, 1:5])",)
        ),
    ],
)
def test_a_statement_stays_as_it_is_and_the_kernel_runs_alike(migrate, lines):
    migration = migrate(kernel(*lines), ARGS, TODAY)
    assert migration.outcome.findings == () and migration.trouble == ()
    kept = [line.replace("x[0:8, 0:5]", "x").replace("[0:8, 0:5]", "") for line in lines]
    told = [line for line in body(migration.outcome) if not line.startswith("assert")]
    assert [line.replace("x[0:8, 0:5]", "x").replace("[0:8, 0:5]", "") for line in told] == kept


@pytest.mark.parametrize(
    ("lines", "gone"),
    [
        (
            (
                "rows, columns = x.shape",
                "i, j = nl.mgrid[0:8, 0:5]",
                "t = nl.load(x[i, j], mask=i < rows - 3)",
                "nl.store(out[i, j], t[i, j], mask=i < rows - 3)",
            ),
            "nl.load",
        ),
        (("t = nl.load(x)", "u = nl.copy(t)", "nl.store(out, u)"), "nl.copy"),
        (("t = nl.load(x)", "u = nl.rsqrt(nl.abs(t))", "nl.store(out, u)"), "nl.rsqrt("),
        (("t = nl.load(x)", "u = nl.divide(t, 4.0)", "nl.store(out, u)"), "nl.divide"),
        (("t = nl.load(x)", "u = nl.less(t, 0.5)", "nl.store(out, u)"), "nl.less("),
        (("t = nl.load(x)", "u = nl.add(t, nl.max(t, axis=1, keepdims=True))", "nl.store(out, u)"), "nl.add("),
        (("t = nl.load(x)", "u = nl.multiply(t, 2)", "nl.store(out, u)"), "nl.multiply("),
        (
            (
                "t = nl.ndarray((8, 5), dtype=nl.float32, buffer=ncc.sbuf.mod_alloc(base_addr=64))",
                "t[...] = nl.load(x)",
                "nl.store(out, t)",
            ),
            "nl.load",
        ),
    ],
)
def test_what_is_not_the_same_becomes_instructions(migrate, lines, gone):
    migration = migrate(kernel(*lines), ARGS, TODAY)
    assert migration.trouble == ()
    assert gone not in migration.outcome.source


@pytest.mark.parametrize(
    ("target", "oldest", "stays"), [("0.2", "", False), ("0.6", "0.2", False), ("0.6", "0.3", True)]
)
def test_a_range_keeps_what_all_of_it_has(target, oldest, stays):
    outcome = rewrite(kernel("t = nl.load(x)", "nl.store(out, t)"), Options(target=target, oldest=oldest))
    assert ("nl.load" in outcome.source) == ("nl.store" in outcome.source) == stays


def test_operators_of_two_tiles_are_functions_and_two_with_numbers_one_instruction(migrate):
    lines = ("t = nl.load(x, dtype=nl.float32)", "u = t * t - t", "v = u * 2.0 - 1.0", "nl.store(out, v)")
    migration = migrate(kernel(*lines), ARGS, TODAY)
    assert migration.trouble == ()
    assert "u = nl.subtract(nl.multiply(t, t), t)" in migration.outcome.source
    assert migration.outcome.source.count("nisa.tensor_scalar") == 1


def test_what_is_asserted_for_a_statement_that_stays_stands_in_front_of_it():
    lines = ("t = nl.load(x[0:8,   # rows", "            0:5])", "m = nl.sum(t, axis=-1)", "nl.store(out[:, 0:1], m)")
    outcome = rewrite(kernel(*lines), TODAY)
    assert "\n    t = nl.load(x[0:8,   # rows\n                0:5])\n" in outcome.source
    assert 'assert len(x.shape) == 2, "rewritten for 2 dimensions"\n' in outcome.source


def test_a_tile_behind_a_statement_that_is_left_has_its_shape():
    lines = (
        "rows, columns = x.shape",
        "t = nl.load(x)",
        "s = nki.isa.tensor_tensor_scan(t, t, initial=nl.no_such(x), op0=nl.multiply, op1=nl.add)",
        "u = nki.isa.tensor_tensor(s, t, op=nl.multiply)",
        "nl.store(out, u)",
    )
    outcome = rewrite(kernel(*lines, parameters="x"), TODAY)
    assert outcome.findings and "def " not in outcome.source.replace("def k", "")


def test_a_variance_of_integers_is_a_float_and_does_not_stay(migrate):
    text = kernel("t = nl.load(x, dtype=nl.int32)", "nl.store(out[:, 0:1], nl.var(t, axis=1))", parameters="x")
    migration = migrate(text, {"x": TensorSpec((8, 5), "float32", "integers", low=-9, high=9)}, TODAY)
    assert "nl.var" not in migration.outcome.source
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
