"""``cases suggest PATH...``: one file is printed, folders are written, each file's cases beside it."""

from __future__ import annotations

from pathlib import Path

import pytest
from nki_migrate.cli import main
from nki_migrate.runtime.cases import read_cases

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def scaled(x):
    assert x.shape[0] <= 128
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.multiply(nl.load(x), {factor}))
    return out
"""
FACTORY = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def make(width):
    assert width % 32 == 0

    @nki.jit
    def doubled(x):
        out = nl.ndarray((128, width), dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.multiply(nl.load(x[0:128, 0:width]), 2.0))
        return out

    return doubled
"""


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    return int(end.value.code or 0), *capsys.readouterr()


def suggest(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    return run(capsys, "cases", "suggest", "--jobs", 1, "--seconds", 10, *arguments)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for path, text in {
        "a/one.py": KERNEL.format(factor=2.0),
        "a/two.py": KERNEL.format(factor=3.0),
        "b/factory.py": FACTORY,
        "b/host.py": "import neuronxcc.nki as nki\n",
        "plain.py": "x = 1\n",
    }.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def test_cases_of_a_folder_stand_beside_each_file_and_prove_it(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = suggest(capsys, "--write", project)
    assert code == 0 and out.endswith("3 kernels: 3 with cases, 0 without\n")
    assert f"{project}/a/one.py: scaled: " in err and "host.py" not in err
    beside = {name: {case.kernel for case in read_cases(project / name / "cases.toml").cases} for name in "ab"}
    assert beside == {"a": {"scaled"}, "b": {"make"}}
    files = {Path(case.source).name for case in read_cases(project / "a" / "cases.toml").cases}
    assert files == {"one.py", "two.py"}  # one name, two kernels
    written = {name: (project / name / "cases.toml").read_bytes() for name in "ab"}
    code, out, err = suggest(capsys, "--write", project)  # what has a case is left
    assert (code, out, err) == (0, "3 kernels: 3 with cases, 0 without\n", "")
    assert written == {name: (project / name / "cases.toml").read_bytes() for name in "ab"}
    code, out, _ = run(capsys, "verify", "--migrate", "--unsafe", "--no-cache", "--jobs", 1, project)
    assert code == 0 and " 0 different, 0 undecided, 0 in error" in out


def test_a_file_that_does_not_load_costs_the_others_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "a" / "broken.py").write_text("import neuronxcc.nki as nki\nraise ValueError('not today')\n")
    code, out, err = suggest(capsys, "--write", project / "a")
    assert code == 2 and out.endswith("2 kernels: 2 with cases, 0 without, 1 file failed\n")
    assert "broken.py:2: ValueError: not today" in err and (project / "a" / "cases.toml").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a",), "--write adds them to the cases.toml beside each file"),
        (("a/one.py", "a/two.py"), "--write adds them to the cases.toml beside each file"),
        (("--write", "--kernel", "gone", "a"), "no kernel 'gone'"),
        (("--write", "b/host.py"), "has no kernel: it has none"),
        (("--write", "nowhere.py"), "no such file"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(project)
    code, _, err = suggest(capsys, *arguments)
    assert code == 2 and message in err and err.count("\n") == 1
    assert not list(project.rglob("cases.toml"))


def test_a_kernel_that_a_function_makes_has_that_functions_cases(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    assert "doubled: review (NKI003 1); cases suggest would try" in run(capsys, "assess", "b")[1]
    (project / "b" / "cases.toml").write_text(
        '[[case]]\nkernel = "make"\n[case.make]\nwidth = 32\n[case.args]\nx = {shape = [128, 32], dtype = "float32"}\n'
    )
    assert "doubled: review (NKI003 1); 1 case" in run(capsys, "assess", "b")[1]


def test_cases_that_name_no_file_count_once_for_each_file_that_has_the_kernel(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "b" / "more.py").write_text(KERNEL.format(factor=4.0))
    (project / "b" / "cases.toml").write_text(
        '[[case]]\nkernel = "scaled"\n[case.args]\nx = {shape = [128, 32], dtype = "float32"}\n'
    )
    code, out, _ = suggest(capsys, "--write", project / "b")
    assert code == 0 and out.endswith("2 kernels: 2 with cases, 0 without\n")
