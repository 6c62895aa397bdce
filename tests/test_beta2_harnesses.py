"""Decorators that measure kernels, which Beta 2 does not have: what they decorate raises, other kernels run."""

from __future__ import annotations

from pathlib import Path

import pytest
from nki_migrate.cli import main
from nki_migrate.runtime.beta2.modules import MODULES

KERNEL = "    out = nl.ndarray((8, 16), x.dtype, buffer=nl.shared_hbm)\n    nl.store(out, nl.load(x))\n    return out\n"
HEAD = "import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\n\n\n"
PLAIN = f"@nki.jit\ndef copied(x):\n{KERNEL}\n\n"
CASE = '[[case]]\nkernel = "{}"\n[case.args]\nx = {{shape = [8, 16], dtype = "float32"}}\n'


def verified(tmp_path: Path, source: str, kernel: str, *options: str) -> int:
    file, cases = tmp_path / "k.py", tmp_path / "cases.toml"
    file.write_text(source, encoding="utf-8")
    cases.write_text(CASE.format(kernel), encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        main(["verify", "--migrate", *options, str(file), "--cases", str(cases)])
    return int(ended.value.code or 0)


@pytest.mark.parametrize(
    "decorator", ["baremetal", "baremetal(save_neff_name='k.neff')", "benchmark(warmup=5, iters=10)"]
)
def test_the_other_kernels_of_the_file_are_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], decorator: str
) -> None:
    source = f"{HEAD}{PLAIN}@nki.{decorator}\ndef measured(x):\n{KERNEL}"
    verified(tmp_path, source, "copied")
    said = capsys.readouterr().out
    left = f"nki.{decorator.partition('(')[0]}, which decorates measured, is not implemented in Beta 2"
    assert "1 equal" in said and f"note: after: {left}: importing the file without the emulator ends there" in said
    assert verified(tmp_path, source, "measured") == 2
    assert f"after: error: NotImplementedError: {left}" in capsys.readouterr().out
    verified(tmp_path, source, "measured", "--unsafe")
    assert "1 equal" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["baremetal", "benchmark", "profile"])
@pytest.mark.parametrize("use", ["call", "options", "result"])
def test_what_needs_the_measurement_raises(name: str, use: str) -> None:
    def kernel() -> None: ...

    harness = getattr(MODULES["nki"], name)
    timed = harness(warmup=5)(kernel) if use == "options" else harness(kernel)
    with pytest.raises(
        NotImplementedError, match=rf"^nki\.{name}, which decorates .*kernel, is not implemented in Beta 2$"
    ):
        timed.benchmark_result if use == "result" else timed()


def test_a_harness_takes_one_function_or_options() -> None:
    with pytest.raises(NotImplementedError):
        MODULES["nki"].benchmark("kernel")
