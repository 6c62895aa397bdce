"""What kernels that people published do besides computing: early exits, optional outputs, prints, variable arguments.

And how they are launched: by ``nki.benchmark``, ``nki.profile`` and ``nki.baremetal``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nki_migrate.cli import main
from nki_migrate.runtime.beta1.launch import launch
from nki_migrate.runtime.beta1.modules import MODULES
from nki_migrate.runtime.errors import KernelError, NotModelled

nki, nl = MODULES["neuronxcc.nki"], MODULES["neuronxcc.nki.language"]
X = np.arange(128 * 8, dtype=np.float32).reshape(128, 8)


def copied(x: Any, out: Any, i: int) -> None:
    """Rows 32 i to 32 (i + 1) of ``x``."""
    nl.store(out[i * 32 : (i + 1) * 32], nl.load(x[i * 32 : (i + 1) * 32]))


# --- early exits -----------------------------------------------------------------------------------------------------


def breaks(x: Any) -> Any:
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(4):
        if i == 3:
            break
        copied(x, out, i)
    copied(x, out, 3)
    return out


def continues(x: Any) -> Any:
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.sequential_range(4):
        last = i == 3
        if last:
            continue
        copied(x, out, i)
    copied(x, out, 3)
    return out


def continues_an_outer_one(x: Any) -> Any:
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(4):
        for j in nl.affine_range(1):
            if i == 3:
                continue
            copied(x, out, i + j)
    copied(x, out, 3)
    return out


@pytest.mark.parametrize(
    ("kernel", "keyword"),
    [(breaks, "break"), (continues, "continue"), (continues_an_outer_one, "continue")],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_an_iteration_that_ends_early_is_refused_with_what_to_write(kernel: Any, keyword: str) -> None:
    with pytest.raises(NotModelled, match=f"'{keyword}' inside an NKI loop: its body is traced once.*nl.static_range"):
        launch(kernel, {"x": X})


def test_a_continue_that_all_iterations_share_leaves_out_the_rest_of_each() -> None:
    def kernel(x: Any, plain: bool) -> Any:
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        for i in nl.affine_range(4):
            copied(x, out, i)
            if plain:
                continue
            nl.store(out[i * 32 : (i + 1) * 32], nl.add(nl.load(x[i * 32 : (i + 1) * 32]), 1.0))
        return out

    np.testing.assert_array_equal(launch(kernel, {"x": X, "plain": True}).outputs[0], X)


def test_a_loop_that_python_unrolls_may_end_early() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        for i in nl.static_range(9):
            if i == 1:
                continue
            if i == 4:
                break
            copied(x, out, i)
        for i in nl.affine_range(1):
            for j in (5, 1, 7):
                if j != 1:
                    continue
                copied(x, out, j + i)
                break
        return out

    np.testing.assert_array_equal(launch(kernel, {"x": X}).outputs[0], X)


# --- arguments -------------------------------------------------------------------------------------------------------


def to_output(x: Any, output: Any = None) -> Any:
    if output is None:
        output = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(output, nl.multiply(nl.load(x), 2.0))
    return output


def test_an_output_that_is_not_given_is_made() -> None:
    np.testing.assert_array_equal(launch(to_output, {"x": X}).outputs[0], X * 2)
    np.testing.assert_array_equal(nki.jit(to_output)(X), X * 2)


def test_an_output_that_is_given_has_to_be_mutable() -> None:
    with pytest.raises(KernelError, match="err_cannot_update_immutable_parameter"):
        launch(nki.jit(to_output), {"x": X, "output": np.zeros_like(X)})
    given = np.zeros_like(X)
    nki.jit(to_output, kernel_return=False)(X, given)
    np.testing.assert_array_equal(given, X * 2)


def test_a_kernel_takes_what_its_variable_parameters_take() -> None:
    def kernel(x: Any, *counts: int, **options: Any) -> Any:
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x)
        for count in counts:
            tile = nl.add(tile, count)
        nl.store(out, nl.multiply(tile, options["scale"]))
        return out

    np.testing.assert_array_equal(nki.jit(kernel)(X, 1, 2, scale=0.5), (X + 3) / 2)
    np.testing.assert_array_equal(launch(kernel, {"x": X, "counts": (1, 2), "scale": 0.5}).outputs[0], (X + 3) / 2)


# --- prints ----------------------------------------------------------------------------------------------------------


def test_shapes_of_index_vectors_and_tiles_are_printed_as_tuples(capsys: pytest.CaptureFixture[str]) -> None:
    def kernel(x: Any) -> Any:
        rows, columns = nl.arange(128)[:, None], nl.arange(8)[None, :]
        grid = nl.mgrid[0:128, 0:8]
        print(rows.shape, columns.shape, grid.p.shape, (rows + 1).shape, nl.load(x[rows, columns]).shape, x.shape)
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.load(x))
        return out

    launch(kernel, {"x": X})
    assert capsys.readouterr().out == "(128, 1) (1, 8) (128, 8) (128, 1) (128, 8) (128, 8)\n"


def test_the_device_prints_a_tile_where_its_mask_holds(capsys: pytest.CaptureFixture[str]) -> None:
    def kernel(x: Any) -> Any:
        rows, columns = nl.arange(128)[:, None], nl.arange(8)[None, :]
        tile = nl.load(x)
        nl.device_print("tile", tile[0:2, 0:3])
        nl.device_print(prefix="", x=tile[rows, columns], mask=(rows < 1) & (columns < 2))
        nl.device_print("nothing", tile, mask=False)
        nl.device_print("sum", nl.add(tile, 1.0)[0:1, 0:2])
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.load(x))
        return out

    launch(kernel, {"x": X})
    assert capsys.readouterr().out == f"tile {X[:2, :3]}\n {X[:1, :2]}\nsum {X[:1, :2] + 1}\n"


# --- launches --------------------------------------------------------------------------------------------------------

HARNESSES: dict[str, Callable[[], Any]] = {
    "benchmark": lambda: nki.benchmark(warmup=1, iters=2),
    "profile": lambda: nki.profile(working_directory="/tmp", save_neff_name="file.neff"),
    "baremetal": lambda: nki.baremetal(artifacts_dir="debug"),
    "plain baremetal": lambda: nki.baremetal,
}


@pytest.mark.parametrize("name", HARNESSES)
def test_a_kernel_under_a_harness_runs_as_a_case(name: str) -> None:
    assert np.array_equal(launch(HARNESSES[name]()(to_output), {"x": X}).outputs[0], X * 2)


def test_verify_launches_kernels_under_a_harness(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = "import neuronxcc.nki.language as nl\nfrom neuronxcc import nki\n"
    cases = ""
    for name in ("benchmark", "profile", "baremetal"):
        text += f"\n\n@nki.{name}()\ndef under_{name}(x):\n"
        text += "    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
        text += "    nl.store(out, nl.multiply(nl.load(x), 2.0))\n    return out\n"
        cases += f'[[case]]\nkernel = "under_{name}"\nargs = {{x = {{shape = [128, 8], dtype = "float32"}}}}\n'
    (tmp_path / "before.py").write_text(text)
    after = text.replace("from neuronxcc import nki", "import nki").replace("neuronxcc.", "")
    (tmp_path / "after.py").write_text(re.sub(r"@nki\.\w+\(\)", "@nki.jit", after))
    (tmp_path / "cases.toml").write_text(cases)
    with pytest.raises(SystemExit) as exit_:
        main(["verify", str(tmp_path / "before.py"), str(tmp_path / "after.py")])
    out, err = capfd.readouterr()
    assert (exit_.value.code, "3 equal, 0 different" in out) == (0, True), out + err


# --- a mask where the documents ask for a tile -----------------------------------------------------------------------


def test_a_mask_is_no_operand_and_the_error_names_the_operand() -> None:
    def cut(x: Any) -> Any:
        tile = nl.load(x)
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        mask = (nl.arange(128)[:, None] < 70) & (nl.arange(8)[None, :] < 5)
        nl.store(out, nl.where(tile, mask, nl.zeros(x.shape, dtype=x.dtype)))
        return out

    with pytest.raises(KernelError, match="to be a tile or a number, got a mask of shape"):
        launch(cut, {"x": X})
