"""Functions of a module under another name: ``conv = conv_tiled`` chooses one of several for all kernels."""

import pytest
from first_rung import Options, rewrite
from nki_migrate.runtime.cases import TensorSpec

HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


def first(t, factor):
    return nl.multiply(t, factor)


def second(t, factor):
    return nl.multiply(nl.exp(t), factor)


"""
KERNEL = """

@nki.jit
def k(x, n=1):
    out = nl.ndarray((64, 32), dtype=nl.float32, buffer=nl.shared_hbm)
    t = nl.load(x[0:64, 0:32])
    {body}
    nl.store(out, y)
    return out
"""
X = {"x": TensorSpec((64, 32), "float32", "normal")}


def kernel(alias: str, body: str = "y = scaled(t, 2.0)") -> str:
    return HEAD + alias + KERNEL.format(body=body)


@pytest.mark.parametrize("name", ["first", "second"])
def test_the_function_gets_what_calls_by_the_other_name_pass(migrate, name):
    migration = migrate(kernel(f"scaled = {name}\n"), X, Options(unsafe=True))
    findings = migration.outcome.findings  # the other function is called by nothing
    assert migration.objection is None and migration.trouble == ()
    assert "y = scaled(t, 2.0)" in migration.outcome.source
    function = migration.outcome.source.partition(f"def {name}(")[2].partition("\n\n\n")[0]
    assert "nisa.tensor_scalar(" in function and not any(f.code == "NKI022" and name in f.message for f in findings)


def test_calls_by_both_names_that_pass_other_kinds(migrate):
    body = "wide = scaled(t, 2.0)\n    column = second(t[:, 0], 0.5)\n    y = nl.multiply(wide, column)"
    migration = migrate(kernel("scaled = second\n", body), X, Options(unsafe=True))
    assert migration.objection is None
    assert migration.outcome.findings or migration.trouble == ()


OTHERS = {
    "bound twice": kernel("scaled = first\nscaled = second\n"),
    "bound by a condition": kernel(
        "import os\n\nif os.environ.get('S'):\n    scaled = first\nelse:\n    scaled = second\n"
    ),
    "a choice": kernel("import os\n\nscaled = first if os.environ.get('S') else second\n"),
    "bound in the kernel": kernel("scaled = first\n", "scaled = second\n    y = scaled(t, 2.0)"),
    "changed by a function": kernel("scaled = first\n\n\ndef use():\n    global scaled\n    scaled = second\n"),
    "a parameter elsewhere": kernel("scaled = first\n\n\ndef use(scaled):\n    return scaled\n"),
    "bound in a loop": kernel("for scaled in (first, second):\n    pass\n"),
}


@pytest.mark.parametrize("how", OTHERS)
def test_a_name_that_may_be_another_function_is_not_known(migrate, how):
    outcome = rewrite(OTHERS[how], Options(unsafe=True))
    if not outcome.findings:
        migration = migrate(OTHERS[how], X, Options(unsafe=True))
        assert migration.objection is None and migration.trouble == ()
    else:
        assert "nisa.tensor_scalar(" not in outcome.source
