"""``layout``: the address of every tile of one run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from nki_migrate.errors import InputError
from nki_migrate.layout import run

KERNEL = """
import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def squares(x, pinned=True):
    n, rows, columns = x.shape
    out = nl.ndarray((n, columns, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    sbuf = ncc.sbuf.mod_alloc(base_addr=256, num_free_tiles=(2,)) if pinned else nl.sbuf
    psum = ncc.psum.mod_alloc(base_bank=3) if pinned else nl.psum
    single = ncc.sbuf.mod_alloc(base_addr=4096) if pinned else nl.sbuf
    t = nl.ndarray((n, nl.par_dim(rows), columns), dtype=x.dtype, buffer=sbuf)
    for i in nl.affine_range(n):
        total = nl.ndarray((nl.par_dim(columns), columns), dtype=nl.float32, buffer=psum)
        copied = nl.ndarray((nl.par_dim(columns), columns), dtype=nl.float32, buffer=single)
        t[i] = nl.load(x[i])
        total[...] = nisa.nc_matmul(t[i], t[i])
        copied[...] = nisa.tensor_copy(total)
        nl.store(out[i], value=copied)
    return out
"""
CASES = """
[[case]]
kernel = "squares"
name = "addresses"
[case.args]
x = {shape = [3, 128, 32], dtype = "bfloat16"}

[[case]]
kernel = "squares"
name = "automatic"
hardware = "gen2"
[case.args]
x = {shape = [2, 64, 32], dtype = "float32"}
pinned = false
"""


@pytest.fixture
def kernel(tmp_path: Path) -> str:
    (tmp_path / "kernel.py").write_text(KERNEL)
    (tmp_path / "cases.toml").write_text(CASES)
    return str(tmp_path / "kernel.py")


def rows(capsys: pytest.CaptureFixture[str], kernel: str, **options: str) -> list[dict[str, object]]:
    assert run(kernel, "squares", output_format="json", **options) == 0
    found: list[dict[str, object]] = json.loads(capsys.readouterr().out)
    return found


def test_json_has_one_row_a_tile_in_the_order_of_declarations(kernel: str, capsys) -> None:  # type: ignore[no-untyped-def]
    found = rows(capsys, kernel)
    t = {"tensor": "t", "space": "sbuf", "partition": 0, "partitions": 128, "bytes": 64, "dtype": "bfloat16"}
    result = {"block": [], "partition": 0, "partitions": 32, "bytes": 128, "dtype": "float32"}
    assert found == [
        {**t, "block": [0], "byte": 256},
        {**t, "block": [1], "byte": 320},
        {**t, "block": [2], "byte": 256},
        {**result, "tensor": "total", "space": "psum", "byte": 3 * 2048, "bank": 3},
        {**result, "tensor": "copied", "space": "sbuf", "byte": 4096},
    ]


def test_tiles_without_an_address_have_none(kernel: str, capsys) -> None:  # type: ignore[no-untyped-def]
    found = rows(capsys, kernel, case="automatic")
    assert sorted((row["tensor"], row["block"], row["partition"], row["byte"]) for row in found) == [
        ("copied", [], None, None),
        ("t", [0], None, None),
        ("t", [1], None, None),
        ("total", [], None, None),
    ]
    assert [row["bank"] for row in found if "bank" in row] == [None]


def test_text_is_a_table_for_each_memory_with_its_high_water_mark(kernel: str, capsys) -> None:  # type: ignore[no-untyped-def]
    assert run(kernel, "squares") == 0
    assert capsys.readouterr().out == (
        "squares, addresses (gen3)\n"
        "\n"
        "SBUF: 4224 of 212984 bytes a partition (2.0 %); high-water mark: at least 64 needed at one time\n"
        "  partitions  bytes        tile                size      dtype     declared\n"
        "              0-255        free                256\n"
        "  0-127       256-319      t[0] t[2] in turns  128 x 64  bfloat16  kernel.py:15\n"
        "  0-127       320-383      t[1]                128 x 64  bfloat16  kernel.py:15\n"
        "              384-4095     free                3712\n"
        "  0-31        4096-4223    copied x3 in turns  32 x 128  float32   kernel.py:18\n"
        "              4224-212983  free                208760\n"
        "\n"
        "PSUM: 1 of 8 banks of 2048 bytes (3); high-water mark: at least 32 needed at one time\n"
        "  partitions  bytes             tile               size      dtype    declared\n"
        "              banks 0-2         free               6144\n"
        "  0-31        bank 3: 0-127     total x3 in turns  32 x 128  float32  kernel.py:17\n"
        "              bank 3: 128-2047  free               1920\n"
        "              banks 4-7         free               8192\n"
    )


def test_text_counts_the_tiles_without_an_address(kernel: str, capsys) -> None:  # type: ignore[no-untyped-def]
    assert run(kernel, "squares", case="automatic") == 0
    out = capsys.readouterr().out
    assert out.startswith("squares, automatic (gen2)\n\nSBUF: 0 of 180224 bytes a partition (0.0 %); high-water mark: ")
    assert "  4 tiles without an address: the compiler places them\n" in out
    assert "  2 tiles without an address: the compiler places them\n" in out


@pytest.mark.parametrize(
    ("name", "case", "message"),
    [
        ("square", None, "no case says how to run kernel 'square': did you mean 'squares'?"),
        ("zzz", None, "no case says how to run kernel 'zzz': there are squares"),
        ("squares", "addrs", "kernel 'squares' has no case 'addrs': did you mean 'addresses'?"),
    ],
)
def test_a_wrong_name_is_an_error_with_a_suggestion(kernel: str, name: str, case: str | None, message: str) -> None:
    with pytest.raises(InputError) as error:
        run(kernel, name, case=case)
    assert message in str(error.value)


def test_missing_files_are_errors(kernel: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.py: no such file"):
        run(tmp_path / "gone.py", "squares")
    (tmp_path / "cases.toml").unlink()
    with pytest.raises(InputError, match=r"cases\.toml: cannot read the cases: No such file"):
        run(kernel, "squares")


def test_a_bad_case_is_its_error(kernel: str, tmp_path: Path) -> None:
    (tmp_path / "cases.toml").write_text(CASES + '\n[[case]]\nkernel = "squares"\nname = "bad"\nseed = -1\n')
    with pytest.raises(InputError, match="seed is -1"):
        run(kernel, "squares", case="bad")
    assert run(kernel, "squares", case="addresses") == 0


def test_a_kernel_that_fails_is_an_error_with_its_line(kernel: str, tmp_path: Path) -> None:
    Path(kernel).write_text(KERNEL.replace("base_addr=4096", "base_addr=300000"))
    with pytest.raises(InputError) as error:
        run(kernel, "squares")
    assert "kernel 'squares', addresses: " in str(error.value) and "kernel.py:18: " in str(error.value)
    assert "gen3 has [0, 212984)" in str(error.value)
