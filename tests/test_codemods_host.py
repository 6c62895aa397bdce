"""Code that launches kernels: what is launched without a harness, and what stays because of what it leaves behind."""

from __future__ import annotations

from dataclasses import replace

import pytest
from first_rung import Options, rewrite
from nki_migrate.codemods import Outcome
from nki_migrate.guard import objection
from unmarked import unmarked

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
import numpy as np


@nki.jit
def k(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    nl.store(out, value=tile)
    return out


"""


def rewritten(host: str, *, unsafe: bool = False) -> Outcome:
    return rewrite(KERNEL + host, Options(unsafe=unsafe))


def ends(outcome: Outcome, host: str) -> bool:
    """Does the new module end with host code that says the same, marks and the name of Beta 1's module apart?"""
    return unmarked(outcome.source).replace("nki_beta1", "nki").endswith("return out\n\n\n" + host)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("y = nl.static_cast(1.5, nl.bfloat16)\n", "y = np.asarray(1.5).astype(nl.bfloat16)\n"),
        ("y = nl.static_cast(dtype=t, input_data=np.zeros(4))\n", "y = np.zeros(4).astype(t)\n"),
        ("if nl.static_cast(x, t)[0]:\n    pass\n", "if np.asarray(x).astype(t)[0]:\n    pass\n"),
    ],
)
def test_host_code_is_rewritten(before, after):
    outcome = rewritten(before)
    assert ends(outcome, after), outcome.source
    assert outcome.findings == ()


def test_a_name_that_may_hold_something_else_is_made_an_array_first():
    host = (
        "def f(x, n):\n    x = np.zeros(n)\n    y = np.ones(n)\n    return nl.static_cast(x, n), nl.static_cast(y, n)\n"
    )
    assert "return np.asarray(x).astype(n), y.astype(n)" in rewritten(host).source


def test_numpy_is_imported_where_the_cast_needs_it():
    source = KERNEL.replace("import numpy as np\n", "") + "y = nl.static_cast(1.5, nl.float16)\n"
    assert "import numpy as np\n" in rewrite(source).source


@pytest.mark.parametrize(
    ("host", "unsafe"),
    [
        ("y = nki.simulate_kernel(k[2], x, n=3)\n", "y = k[2](x, n=3)\n"),
    ],
)
def test_what_rests_on_an_assumption_is_under_review(host, unsafe):
    outcome = rewritten(host)
    assert ends(outcome, host)
    assert [finding.applicability for finding in outcome.findings] == ["review"]
    again = rewritten(host, unsafe=True)
    assert ends(again, unsafe), again.source
    assert again.findings == ()


HARNESSED = [
    f"{line}\n"
    for name in ("baremetal", "benchmark", "profile")
    for line in (
        f"y = nki.{name}(k[2])(x)",
        f"y = nki.{name}(working_directory='.')(k, x)",
        f"launch = nki.{name}()",
        f"from theirs import f\n\ny = nki.{name}(f)(x)",
        f"with open('k.ntff') as f:\n    timed = nki.{name}(save_trace_name='k.ntff')(k)\n    y = timed[2](x)",
        f"with open('k.neff') as f:\n    y = nki.{name}(k, save_neff_name='k.neff')(x)",
        f"y = nki.{name}(k)(nt.tensor[[128, 4], nl.float32])",
    )
]
HARNESSED += [
    f"{line}\n"
    for name in ("benchmark", "profile")
    for line in (
        f"y = nki.{name}(k)(x)",
        f"y = nki.{name}()(k)(x)",
        f"timed = nki.{name}(warmup=1, iters=4, save_neff_name='k.neff', save_trace_name='k.ntff')(k)\ny = timed[2](x)",
        f"def measured(x):\n    return nki.{name}(k, working_directory='.')(x)",
        f"if x:\n    while nki.{name}(k)(x):\n        pass",
        f"def bench():\n    f = nki.{name}(warmup=2)(k)\n    f(x)\n    return f.benchmark_result.nc_latency",
    )
]


@pytest.mark.parametrize("unsafe", [False, True])
@pytest.mark.parametrize("host", HARNESSED)
def test_a_harness_stays_with_its_arguments_and_the_finding_names_what_is_there_now(host, unsafe):
    source = KERNEL.replace("import numpy as np\n", "import neuronxcc.nki.typing as nt\n") + host
    outcome = rewrite(source, Options(unsafe=unsafe))
    assert ends(outcome, host), outcome.source
    assert {finding.applicability for finding in outcome.findings} == {"manual"}
    (said,) = [f for f in outcome.findings if f.message.startswith("Beta 2 has no nki.")]
    assert said.code == "NKI007" and "nki.jit" in said.help and "neuron-explorer" in said.help
    assert "class " not in outcome.source and "time" not in outcome.source.partition("def k")[0]


@pytest.mark.parametrize(
    ("host", "plain"),
    [
        ("y = nki.baremetal(k)(x)\n", "y = k(x)\n"),
        ("y = nki.baremetal()(k)(x)\n", "y = k(x)\n"),
        ("run = nki.baremetal(save_neff_name='k.neff')(k)\ny = run[2](x)\n", "run = k\ny = run[2](x)\n"),
        ("if x:\n    while nki.baremetal(k)(x):\n        pass\n", "if x:\n    while k(x):\n        pass\n"),
        ("def run(x):\n    return nki.baremetal(k, artifacts_dir='.')(x)\n", "def run(x):\n    return k(x)\n"),
    ],
)
def test_a_harness_that_only_runs_a_kernel_is_the_kernel_under_review(host, plain):
    outcome = rewrite(KERNEL + host, Options(target="0.5"))
    assert ends(outcome, host) and {(f.code, f.applicability) for f in outcome.findings} == {("NKI007", "review")}
    again = rewrite(KERNEL + host, Options(unsafe=True, target="0.5"))
    assert ends(again, plain) and again.findings == ()
    kept = rewrite(KERNEL + host, Options(unsafe=True, target="0.4"))
    assert ends(kept, host) and {f.applicability for f in kept.findings} == {"manual"}
    off = rewrite(KERNEL + host, Options(unsafe=True, target="0.5", ignore=frozenset(["NKI007"])))
    assert "baremetal" in off.source and off.findings


@pytest.mark.parametrize("unsafe", [False, True])
@pytest.mark.parametrize("name", ["baremetal", "benchmark(warmup=5)", "profile(working_directory='.')"])
def test_a_decorator_that_measures_stays_on_its_kernel_until_unsafe_launches_it_plainly(name, unsafe):
    """What was measured is a finding of its own, wherever the module reads it."""
    source = KERNEL.replace("@nki.jit", f"@nki.{name}") + "print(k.benchmark_result.nc_latency)\n"
    outcome = rewrite(source, Options(unsafe=unsafe))
    assert f"\n@nki.{'jit' if unsafe else name}\n" in outcome.source and "nisa.dma_copy" in outcome.source
    expected = [("NKI007", "review"), ("NKI007", "manual")]
    assert [(f.code, f.applicability) for f in outcome.findings] == expected[unsafe:]


@pytest.mark.parametrize(
    "rest",
    [
        "os.rename('k.neff', 'l.neff')\n",
        "@nki.jit\ndef other(x):\n    return k(x)\n",
    ],
    ids=["its file is named again", "a kernel calls it"],
)
def test_a_decorator_that_measures_stays_where_something_else_needs_it(rest):
    source = KERNEL.replace("@nki.jit", "@nki.benchmark(save_neff_name='k.neff')") + "\n\n" + rest
    outcome = rewrite(source, Options(unsafe=True))
    assert "\n@nki.benchmark(save_neff_name='k.neff')\n" in outcome.source
    assert ("NKI007", "manual") in [(f.code, f.applicability) for f in outcome.findings]


def test_trace_of_old_is_jit_on_a_kernel_that_no_kernel_calls():
    outcome = rewrite(KERNEL.replace("@nki.jit", "@nki.trace"))
    assert outcome == replace(rewrite(KERNEL), applied=outcome.applied) and "\n@nki.jit\n" in outcome.source
    assert outcome.applied["NKI002"] == 1 and rewrite(outcome.source).source == outcome.source
    for decorator in ("@nki.trace", "@nki.trace(platform_target='trn2')"):
        called = rewrite(KERNEL.replace("@nki.jit", decorator) + "@nki.jit\ndef other(x):\n    return k(x)\n")
        assert called.source.count("@nki.jit") == 1 and "nki.trace" not in called.source
    assert "@nki.trace(mode='a')" in rewrite(KERNEL.replace("@nki.jit", "@nki.trace(mode='a')")).source


def test_what_another_file_measured_has_a_finding():
    outcome = rewritten("from theirs import timed\n\nprint(timed.benchmark_result.nc_latency)\n", unsafe=True)
    assert [(f.code, f.applicability) for f in outcome.findings] == [("NKI007", "manual")]


def test_a_name_that_is_bound_again_means_something_else():
    host = "def nki(k):\n    return k\n\n\ny = nki.baremetal(k)\n"
    assert ends(rewritten(host), host)


def test_a_function_that_draws_random_numbers_is_no_part_of_a_kernel():
    host = "def data(n):\n    return nl.static_cast(np.random.random_sample((n, n)), nl.bfloat16)\n"
    outcome = rewritten(host)
    assert "return np.random.random_sample((n, n)).astype(nl.bfloat16)" in outcome.source
    assert outcome.findings == ()


@pytest.mark.parametrize(
    "flags, left",
    [
        ("'experimental-native-scalar-support, experimental-local-tensor-parent'", 0),
        ("'skip-mutable-return-check'", 0),
        ("'enable-mutable-parameter, skip-mutable-return-check'", 1),
        ("FLAGS", 1),
    ],
)
def test_flags_that_only_allow_more_go(flags, left):
    source = (
        "import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\n\nFLAGS = ''\n\n\n"
        f"@nki.jit(experimental_flags={flags})\ndef k(x):\n    return x\n"
    )
    outcome = rewrite(source)
    assert [finding.code for finding in outcome.findings if finding.code == "NKI002"] == ["NKI002"] * left
    assert ("experimental_flags" in outcome.source) == bool(left)


def test_the_first_launcher_of_pytorch_is_left_under_a_finding():
    source = KERNEL.replace("@nki.jit", "@nki_jit").replace(
        "import numpy as np\n", "import numpy as np\nfrom torch_neuronx import nki_jit\n"
    )
    assert [(f.code, f.applicability) for f in rewrite(source).findings] == [("NKI002", "review")]
    outcome = rewrite(source, Options(unsafe=True))
    assert "@nki.jit\n" in outcome.source and "torch_neuronx" not in outcome.source and outcome.findings == ()
    old = rewrite(source.replace("    return out\n", ""), Options(unsafe=True))
    assert "@nki_jit\n" in old.source
    assert [(f.code, f.applicability) for f in old.findings] == [("NKI002", "manual")]


def test_a_kernel_that_pytorch_launches_is_left_under_a_finding():
    host = "from torch_neuronx import nki_jit\n\nlaunch = nki_jit(k)\n"
    outcome = rewritten(host, unsafe=True)
    assert ends(outcome, host)
    assert [(f.code, f.applicability) for f in outcome.findings] == [("NKI007", "manual")]


@pytest.mark.parametrize(
    ("host", "line"),
    [
        ("t = nki.benchmark(k, save_neff_name='k.neff')\nos.rename('k.neff', 'l.neff')\n", 15),
        ("f = 'k.neff'\nt = nki.baremetal(k, save_trace_name=f)(x)\nopen(f)\n", 16),
        ("f = 'k.neff'\nt = nki.benchmark(k, save_trace_name=f)(x)\nopen(f)\nt.benchmark_result\n", 16),
        ("t = nki.profile(k, working_directory='.')(x)\n", None),
        ("t = nki.benchmark(warmup=5)(k)\nopen('5')\n", None),
    ],
)
def test_the_finding_says_where_the_files_of_a_harness_are_named(host, line):
    finding = rewritten(host).findings[0]
    assert finding.help.endswith(f"; line {line} names a file that it wrote") == (line is not None)


@pytest.mark.parametrize(("target", "takes_arrays"), [("0.2", False), ("0.4", False), ("0.5", True), ("0.6", True)])
def test_the_finding_says_since_when_a_plain_call_takes_arrays(target, takes_arrays):
    finding = rewrite(KERNEL + "y = nki.baremetal(k)(x)\n", Options(target=target)).findings[0]
    assert ("takes NumPy arrays" in finding.help) == takes_arrays
    assert ("on the framework's tensors" in finding.help) != takes_arrays


LAUNCHER = """\
class Host:
    def __init__(self, fn):
        self.fn = {jit}

    def forward(self, x):
        return self.fn(x)
"""


@pytest.mark.parametrize(
    ("jit", "is_plain"),
    [
        ("nki.jit(k)", True),
        ("nki.jit(k, platform_target='trn2')", True),
        ("nki.jit(fn)", False),
        ("nki.jit(k, mode='simulation')", False),
        ("nki.jit(k, **options)", False),
        ("functools.partial(nki.jit, mode='simulation')(k)", False),
    ],
)
@pytest.mark.parametrize("others", ["", "count = nl.nc(2), nki.benchmark, nki.jit\n"])
def test_jit_of_a_kernel_that_is_rewritten_is_the_same_in_both_versions(jit, is_plain, others):
    """Beside a statement that two modules of Beta 1 stay imported for, too."""
    source = KERNEL + LAUNCHER.format(jit=jit) + others
    outcome = rewrite(source)
    kept = [f for f in outcome.findings if "nki.jit" in f.message and f.line == 16]
    assert bool(kept) != is_plain
    assert objection(source, outcome, Options(), "k.py", rewrite) is None
    assert ("nki_beta1.jit(k" in outcome.source) == ("jit(k" in jit and not is_plain)


def test_jit_of_what_a_parameter_shadows_is_no_kernel_of_these_files():
    outcome = rewrite(KERNEL + "def compiled(k):\n    return nki.jit(k)\n")
    assert [f.message for f in outcome.findings] == ["nki.jit is not the same in Beta 2"]


@pytest.mark.parametrize(
    ("other", "stays"),
    [
        ("return k[grid](x)", False),
        ("return k[grid](k[grid](x))", False),
        ("self.grid = grid\n        return k[grid](x)", True),
        ("return k[grid](x) + vendor[grid](x)", True),
        ("return k[grid](x), grid", True),
    ],
)
def test_cores_that_a_grid_names_stay_where_others_read_it(other, stays):
    kernel = KERNEL.replace("    tile = nl.load(x)\n", "    tile = nl.load(x)\n    place = nl.program_id(0)\n")
    host = f"class Host:\n    def forward(self, x, vendor):\n        grid = (nl.nc(2),)\n        {other}\n"
    outcome = rewrite(kernel + host)
    assert ("grid = (2,)" not in outcome.source) == stays
    assert any("nl.nc" in f.message for f in outcome.findings) == stays


@pytest.mark.parametrize(
    ("annotation", "written"),
    [("nt.tensor", "nl.ndarray"), ("nt.tensor[128, 512]", "nl.ndarray"), ("nt.tensor | None", "object")],
)
def test_fields_of_classes_of_kernel_code_have_types_that_beta_2_has(annotation, written):
    fields = f"@dataclass\nclass Given:\n    x: {annotation} = None\n\n\nclass Made:\n    def __init__(self, x):\n"
    fields += "        self.x: nt.tensor = x\n\n\n"
    head, at, kernel = KERNEL.partition("@nki.jit")
    head = "from dataclasses import dataclass\nimport neuronxcc.nki.typing as nt\n" + head
    source = head + fields + at + kernel.replace("    tile =", "    given = Given(x)\n    made = Made(x)\n    tile =")
    outcome = rewrite(source)
    assert f"    x: {written} = None\n" in outcome.source and "nt." not in outcome.source
    assert [f for f in outcome.findings if "nt.tensor" in f.message] == []
