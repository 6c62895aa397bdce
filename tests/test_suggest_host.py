"""Cases from host code that gets the kernel as an argument, without running any."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from nki_migrate.runtime.cases import Case, DtypeSpec, TensorSpec
from nki_migrate.suggest_factories import factories, made_elsewhere
from nki_migrate.suggest_host import host_cases

KERNEL = """
@nki.jit
def kernel(a, b, scale=1.0, **options):
    pass
"""


def found(host: str) -> list[Case]:
    tree = ast.parse(KERNEL + host)
    kernel = next(node for node in tree.body if isinstance(node, ast.FunctionDef))
    return list(host_cases(Path("k.py"), tree, kernel))


def shapes(host: str) -> dict[str, object]:
    (case,) = found(host)
    return {name: value.shape if isinstance(value, TensorSpec) else value for name, value in case.args.items()}


def test_a_harness_that_gets_the_kernel_tells_its_arguments() -> None:
    host = """
def data(rows, dtype):
    if rows < 4:
        return None
    w = np.random.rand(rows, 2 * rows).astype(dtype)
    return w, w.T
def check(function, rows=64):
    for _ in range(2):
        function(*data(rows, nl.bfloat16), scale=0.5)
if __name__ == "__main__":
    check(kernel, rows=128)
"""
    assert shapes(host) == {"a": (128, 256), "b": (256, 128), "scale": 0.5}
    assert [spec.dtype for spec in found(host)[0].args.values() if isinstance(spec, TensorSpec)] == ["bfloat16"] * 2


@pytest.mark.parametrize(
    "launch",
    [
        "nki.benchmark(warmup=2)(kernel)(nt.tensor[[8, 4], nl.float32], np.zeros((8, 4)))",
        "nki.simulate_kernel(kernel, np.ones([8, 4], dtype=np.float32), torch.zeros(8, 4))",
        "k = nki.jit(kernel)\nk(np.empty(shape=(8, 4)), np.random.normal(0, 1, size=(8, 4)))",
        "x = np.ones((2, 16)).reshape(8, -1)\nkernel.func(x, np.zeros_like(x) + 1)",
        "x = torch.randn(4, 8, dtype=torch.float32).t()\nkernel(x, x.permute(0, 1))",
        "f = nki.baremetal()(kernel)\nf(np.random.random_sample([8, 4]), np.random.random_sample((8, 4)))",
    ],
)
def test_launches_of_a_wrapped_kernel_are_launches_of_it(launch: str) -> None:
    assert shapes(launch) == {"a": (8, 4), "b": (8, 4)}


def test_tuples_lists_types_and_options_are_arguments() -> None:
    (case,) = found(
        "def test():\n    x = np.zeros((4, 4))\n    kernel[2](x, (x, x), padding=((0, 1), [1, 0]), dtype=nl.int32)"
    )
    assert case.grid == (2,) and case.args["padding"] == ((0, 1), [1, 0]) and case.args["dtype"] == DtypeSpec("int32")
    assert isinstance(case.args["b"], tuple) and all(isinstance(each, TensorSpec) for each in case.args["b"])


@pytest.mark.parametrize(
    "host",
    [
        "def test(x):\n    kernel(x, x)",
        "def test():\n    kernel(load('a.npy'), np.zeros((2, 2)))",
        "def other(kernel, x):\n    kernel(x, x)",
        "def loop(f, n):\n    return loop(f, n)\nloop(kernel, 1)",
    ],
)
def test_what_host_code_does_not_tell_is_no_case(host: str) -> None:
    assert not found(host)


FACTORY = """
def make(rows, columns=8):
    @nki.jit
    def kernel(x):
        return x
    return rows, kernel
"""


@pytest.mark.parametrize(
    "launch", ["_, k = make(16, columns=4)\nk(np.zeros((16, 4)))", "k = make(16, 4)[1]\nk[2](np.zeros((16, 4)))"]
)
def test_a_launch_of_what_a_function_makes_tells_the_arguments_of_both(launch: str) -> None:
    tree = ast.parse(FACTORY + launch)
    factory = factories(tree)["make"]
    (case,) = host_cases(Path("k.py"), tree, factory.whole, factory)
    parted = factory.parted(case)
    assert (parted.kernel, parted.make, list(parted.args)) == ("make", {"rows": 16, "columns": 4}, ["x"])
    assert parted.grid == ((2,) if "[2]" in launch else ())


@pytest.mark.parametrize(
    "source",
    [
        FACTORY.replace("kernel(x)", "kernel(rows)"),
        FACTORY.replace("return rows, kernel", "print(rows)"),
        FACTORY.replace("def make(rows", "def make(*rows"),
    ],
)
def test_other_functions_with_a_kernel_have_no_case(source: str) -> None:
    assert factories(ast.parse(source)) == {}
    assert list(made_elsewhere(ast.parse(source))) == ["make.kernel"]
