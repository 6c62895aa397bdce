"""Imports that stand in functions and in ``try``: what they bind or ask stays, in the names of Beta 2."""

from __future__ import annotations

import pytest
from first_rung import Options, rewrite
from nki_migrate.codemods import Outcome
from nki_migrate.guard import objection

KERNEL = """\
import neuronxcc.nki.language as nl
from neuronxcc import nki


@nki.jit
def k(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.load(x))
    return out


"""


def refused(source: str, outcome: Outcome) -> str | None:
    return objection(source, outcome, Options(), "kernel.py", rewrite)


def migrated(host: str) -> str:
    """What becomes of code behind a kernel."""
    source = KERNEL + host
    outcome = rewrite(source)
    assert outcome.findings == () and refused(source, outcome) is None
    return outcome.source.partition("return out\n\n\n")[2]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def f():\n    import neuronxcc.nki.isa as nisa\n    return nisa\n", "import nki.isa as nisa"),
        (
            "def f():\n    try:\n        return 1\n    except ValueError:\n"
            "        import neuronxcc.nki.isa as nisa\n        return nisa\n",
            "    except ValueError:\n        import nki.isa as nisa\n        return nisa\n",
        ),
        (
            "def f():\n    try:\n        return 1\n    finally:\n"
            "        import neuronxcc.nki.isa as nisa\n        print(nisa)\n",
            "    finally:\n        import nki.isa as nisa\n        print(nisa)\n",
        ),
        (
            "def f():\n    import neuronxcc.nki.isa as nisa\n    return nisa\n\n\n"
            "def g():\n    import neuronxcc.nki.isa as nisa\n    return nisa\n",
            "def g():\n    import nki.isa as nisa\n    return nisa\n",
        ),
    ],
)
def test_each_scope_keeps_its_import(before, after):
    assert after in migrated(before)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import neuronxcc.nki", "import nki"),
        ("import neuronxcc.nki.compiler as ncc", "import nki"),
        ("import neuronxcc.nki.isa as nisa", "import nki.isa as nisa"),
        ("from neuronxcc.nki.language import par_dim", "import nki"),
    ],
)
def test_a_try_that_asks_for_nki_asks_for_the_new_one(before, after):
    host = "try:\n    {}\n    HAVE = True\nexcept ImportError:\n    HAVE = False\n"
    use = (
        "\n\n@nki.jit\ndef k2(x):\n    t = nl.ndarray((par_dim(128), 4), dtype=nl.float32)\n" if "par" in before else ""
    )
    assert migrated(host.format(before) + use).startswith(host.format(after))


def test_a_name_that_a_try_asks_for_and_that_beta_2_lacks_stays_under_a_finding():
    source = (
        KERNEL + "try:\n    from neuronxcc.nki._private_kernels import f\n    HAVE = True\n"
        "except ImportError:\n    HAVE = False\n"
    )
    outcome = rewrite(source)
    assert "from neuronxcc.nki._private_kernels import f" in outcome.source
    assert [finding.message for finding in outcome.findings] == [
        "the code asks whether 'neuronxcc.nki._private_kernels.f' can be imported, which Beta 2 does not have"
    ]


def test_a_try_of_which_only_unused_imports_are_left_goes():
    host = (
        "try:\n    from neuronxcc.nki._private_kernels.attention import f\n"
        "except ImportError:\n    from neuronxcc.nki.kernels.attention import f\n\nprint(1)\n"
    )
    assert migrated(host) == "print(1)\n"


@pytest.mark.parametrize(
    "host",
    [
        "def f():\n    try:\n        import neuronxcc\n        return neuronxcc.__version__\n"
        "    except ImportError:\n        return ''\n",
        "def f():\n    try:\n        import neuronxcc\n    except ImportError:\n        print('no compiler')\n",
        "import importlib.util\n\nfound = importlib.util.find_spec('neuronxcc')\n",
    ],
)
def test_the_graph_compiler_is_no_part_of_nki(host):
    assert migrated(host) == host


def test_a_type_and_a_default_of_beta_1_stay_together():
    host = (
        "from neuronxcc.nki._private_kernels.mlp import Mode\n\n\n"
        "class Config:\n    mode: Mode = Mode(0)\n    other: Mode = None\n"
    )
    source = KERNEL.replace("def k(x):", "def k(x, config: 'Config' = None):") + host
    outcome = rewrite(source)
    assert "mode: Mode = Mode(0)\n    other: object = None\n" in outcome.source
    assert refused(source, outcome) is None


def test_the_types_of_a_class_that_no_kernel_names_stay():
    host = "from neuronxcc.nki._private_kernels.mlp import Mode\n\n\nclass Config:\n    other: Mode = None\n"
    outcome = rewrite(KERNEL + host)
    assert "    other: Mode = None\n" in outcome.source
    assert outcome.findings and refused(KERNEL + host, outcome) is None


def in_kernel(lines: str, use: str = "pass") -> str:
    return (
        "import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\n\n\n@nki.jit\ndef k(x):\n"
        + "".join(f"    {line}\n" for line in [*lines.splitlines(), *use.splitlines()])
        + "    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n    nl.store(out, value=nl.load(x))\n"
        "    return out\n"
    )


@pytest.mark.parametrize(
    ("lines", "use", "added"),
    [
        ("import neuronxcc.nki.language as nl", "pass", []),
        ("from neuronxcc.nki import trace", "pass", []),
        ("import numpy as np", "t = nl.ndarray(x.shape, dtype=np.float32, buffer=nl.sbuf)", []),
        ("import math", "n = math.ceil(x.shape[0] / 2)", ["import math"]),
    ],
)
def test_an_import_in_a_kernel_goes_to_the_top_or_goes(lines, use, added):
    source = in_kernel(lines, use)
    outcome = rewrite(source)
    top, _, kernel = outcome.source.partition("@nki.jit")
    assert outcome.findings == () and refused(source, outcome) is None
    assert "import" not in kernel
    assert sorted(top.split("\n")) == sorted(
        ["import nki", "import nki.language as nl", "import nki.isa as nisa", *added, "", "", ""]
    )


@pytest.mark.parametrize(
    ("lines", "use"),
    [
        ("from math import ceil", "n = ceil(x.shape[0] / 2)"),
        ("import helpers as nki", "nki.log(x)"),
        ("from neuronxcc.nki._private import f", "f(x)"),
    ],
)
def test_an_import_in_a_kernel_that_binds_anything_else_is_left_and_said(lines, use):
    messages = [finding.message for finding in rewrite(in_kernel(lines, use)).findings]
    assert "Beta 2 kernels cannot contain import" in messages
