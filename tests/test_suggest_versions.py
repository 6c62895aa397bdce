"""``cases suggest --target``: what only an older NKI runs has cases, and ``verify`` takes them across versions."""

from __future__ import annotations

from pathlib import Path

import pytest
from nki_migrate.cli import main
from nki_migrate.runtime.cases import read_cases

KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def doubled(x):
    rows, columns = x.shape
    assert rows <= 128
    tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.{memory})
    nisa.dma_copy(dst=tile, src=x)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0)
    nisa.dma_copy(dst=out, src=tile)
    outputs = {{"doubled": out}}
    return outputs["doubled"]
"""
EMPTY = "import nki\n\n\n@nki.jit\ndef empty(x):\n    rows, columns = x.shape\n"


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    return int(end.value.code or 0), *capsys.readouterr()


def test_cases_of_an_older_version_name_it_and_verify_across_versions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new, cases = tmp_path / "old.py", tmp_path / "new.py", tmp_path / "cases.toml"
    old.write_text(KERNEL.format(memory="hbm"))
    new.write_text(KERNEL.format(memory="shared_hbm"))
    code, out, err = run(capsys, "cases", "suggest", "--jobs", 1, "--seconds", 6, old)
    assert (code, out) == (1, "") and "in NKI 0.6 outputs must be in nl.shared_hbm" in err
    code, out, err = run(capsys, "cases", "suggest", "--jobs", 1, "--seconds", 20, "--target", "0.2", old)
    cases.write_text(out)
    assert code == 0 and {case.target for case in read_cases(cases).cases} == {"0.2"}
    code, out, _ = run(
        capsys, "verify", "--jobs", 1, "--no-cache", "--from", "0.2", "--target", "0.6", "--cases", cases, old, new
    )
    assert code == 0 and "0 different, 0 undecided, 0 in error" in out


def test_a_kernel_that_returns_nothing_is_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "k.py").write_text(EMPTY)
    code, _, err = run(capsys, "cases", "suggest", "--jobs", 1, "--seconds", 4, tmp_path / "k.py")
    assert code == 1 and "nothing was tried" not in err and "it ran, but returned no tensor" in err
