"""Code that launches kernels: what is launched without a harness, and what stays because of what it leaves behind."""

from __future__ import annotations

import ast
import time
from typing import Any

import numpy as np
import pytest
from nki_migrate.codemods import Options, Outcome, rewrite
from nki_migrate.codemods.support import BENCHMARK

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
    return outcome.source.endswith("return out\n\n\n" + host)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("y = nki.baremetal(k)(x)\n", "y = k(x)\n"),
        ("y = nki.baremetal()(k)(x)\n", "y = k(x)\n"),
        ("launch = nki.baremetal()\n", "launch = nki.jit\n"),
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
        ("timed = nki.benchmark(warmup=5)(k)\n", "timed = k\n"),
        ("y = nki.profile(k, working_directory='.')(x)\n", "y = k(x)\n"),
        ("y = nki.baremetal(k, save_neff_name='k.neff')(x)\n", "y = k(x)\n"),
        ("from theirs import f\n\ny = nki.baremetal(f)(x)\n", "from theirs import f\n\ny = nki.jit(f)(x)\n"),
    ],
)
def test_what_rests_on_an_assumption_is_under_review(host, unsafe):
    outcome = rewritten(host)
    assert ends(outcome, host)
    assert [finding.applicability for finding in outcome.findings] == ["review"]
    again = rewritten(host, unsafe=True)
    assert ends(again, unsafe), again.source
    assert again.findings == ()


def test_a_latency_that_is_read_is_the_time_of_calls_under_review():
    host = "timed = nki.benchmark(warmup=1, iters=4, save_neff_name='k.neff')(k)\ny = timed[2](x).benchmark_result\n"
    assert [(f.code, f.applicability) for f in rewritten(host).findings] == [("NKI007", "review")]
    outcome = rewritten(host, unsafe=True)
    assert outcome.source.endswith("timed = Benchmark(k, warmup=1, iters=4)\ny = timed[2](x).benchmark_result\n")
    assert outcome.findings == ()


def test_a_timed_kernel_is_called_as_often_as_it_was_asked_to():
    calls: list[tuple[object, int]] = []

    class Kernel:
        def __init__(self, grid: object = None) -> None:
            self.grid = grid

        def __getitem__(self, grid: object) -> Kernel:
            return Kernel(grid)

        def __call__(self, x: int) -> int:
            calls.append((self.grid, x))
            return 2 * x

    names: dict[str, Any] = {"np": np, "time": time}
    exec(BENCHMARK.format(name="Benchmark", np="np", time="time"), names)
    timed = names["Benchmark"](Kernel(), warmup=2, iters=3)[1]
    assert timed(4) == 8
    assert calls == [(1, 4)] * 5
    latency = timed.benchmark_result.nc_latency
    assert 0 <= latency.get_latency_percentile(0) <= latency.get_latency_percentile(99)
    assert len(timed.latencies) == 3


def test_a_decorated_kernel_whose_latency_is_read_has_nothing_in_its_place():
    source = KERNEL.replace("@nki.jit", "@nki.benchmark") + "print(k.benchmark_result.nc_latency)\n"
    for unsafe in (False, True):
        outcome = rewrite(source, Options(unsafe=unsafe))
        assert "@nki.benchmark" in outcome.source
        assert [(f.code, f.applicability) for f in outcome.findings] == [("NKI007", "manual")]


def test_what_a_module_gets_stands_above_its_first_use():
    source = "import neuronxcc.nki as nki\n\nt = nki.benchmark(max)\nprint(t.benchmark_result)\n"
    names = [getattr(n, "name", "") for n in ast.parse(rewrite(source, Options(unsafe=True)).source).body]
    assert names.index("Benchmark") == 3  # after three imports


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


MEASURED = KERNEL.replace("@nki.jit", "@nki.benchmark(warmup=1)").replace(
    "import numpy as np\n", "import neuronxcc.nki.typing as nt\nimport numpy as np\n"
)


@pytest.mark.parametrize(
    "host",
    [
        "k(nt.tensor[[128, 4], nl.float32])\n",
        "k[2](x=nt.tensor[[128, 4], nl.float32])\n",
        "if __name__ == '__main__':\n    x = nt.tensor[[128, 4], nl.float32]\n    k(x)\n    k(x)\n",
        "def h():\n    y = nt.tensor[[128, 4], nl.float32]\n    k(y)\n",
        "def h():\n    y = nt.tensor[[128, 4], nl.float32]\n    t = nki.profile(f, working_directory='.')\n    t(y)\n",
        "if __name__ == '__main__':\n    x = nt.tensor[[128, 4], nl.float32]\n\n    def h():\n        k(x)\n",
    ],
)
def test_the_numbers_of_what_is_only_measured_do_not_matter(host):
    findings = [f.message for f in rewrite(MEASURED + host).findings]
    assert findings and not any("content" in message for message in findings)
    assert "np.zeros([128, 4], dtype=nl.float32)" in rewrite(MEASURED + host).source


@pytest.mark.parametrize(
    "host",
    [
        "x = nt.tensor[[128, 4], nl.float32]\nk(x)\n",  # others may read the module's name
        "def h():\n    y = nt.tensor[[128, 4], nl.float32]\n    k(y)\n    return y\n",
        "def h(k):\n    k(nt.tensor[[128, 4], nl.float32])\n",
        "f(nt.tensor[[128, 4], nl.float32])\n",
        "def h():\n    t = nki.profile(f, working_directory='.')\n    t = f\n    t(nt.tensor[[128, 4], nl.float32])\n",
        "def h():\n    y = nt.tensor[[128, 4], nl.float32]\n",
    ],
)
def test_the_numbers_of_what_something_else_reads_may_matter(host):
    assert any("content" in f.message for f in rewrite(MEASURED + host).findings)


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
        ("f = 'k.neff'\nt = nki.benchmark(k, save_trace_name=f)(x)\nopen(f)\nt.benchmark_result\n", 16),
        ("t = nki.profile(k, working_directory='.')(x)\n", None),
        ("t = nki.benchmark(warmup=5)(k)\nopen('5')\n", None),
    ],
)
def test_the_finding_says_where_the_files_of_a_harness_are_named(host, line):
    (finding,) = rewritten(host).findings
    assert finding.help.endswith(f"; line {line} names a file that it wrote") == (line is not None)
