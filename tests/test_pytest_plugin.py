"""The pytest plugin, in pytest processes of its own."""

import shutil
from pathlib import Path

import pytest
from nki_migrate.verdicts import CONTRACT

pytest_plugins = ["pytester"]

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "running_counter"
KERNEL_TEST = """
import subprocess, sys
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
from conftest import SIZE

@nki.jit
def copied(x):
    assert x.shape[0] == SIZE
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.load(x))
    return out

def test_a_kernel_of_the_test_file_runs():
    x = np.arange(8, dtype=np.float32).reshape(SIZE, 4)
    assert (copied(x) == x).all()

def test_children_are_emulated_too():
    subprocess.run([sys.executable, "-c", "import nki.isa"], check=True)
"""


@pytest.fixture
def project(pytester, monkeypatch):
    """A directory with the two versions of a kernel and its cases, and a conftest that needs NKI."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    for name in ("before.py", "after.py", "reference.py", "cases.toml"):
        shutil.copy(GOLDEN / name, pytester.path / name)
    return pytester


def claimed(project, *arguments, options=()):
    """Run one test with the marker ``nki_equivalent(*arguments)``."""
    listed = ", ".join(arguments)
    project.makepyfile(
        test_claim=f"import pytest\n\n@pytest.mark.nki_equivalent({listed})\ndef test_claim():\n    print('the body')\n"
    )
    return project.runpytest_subprocess("--strict-markers", "-rP", *options)


def test_kernels_run_with_nki_emulate_and_not_without(project):
    project.makeconftest("import neuronxcc.nki.language as nl\nSIZE = 2\n")
    project.makepyfile(test_kernel=KERNEL_TEST)
    emulated = project.runpytest_subprocess("--nki-emulate")
    emulated.assert_outcomes(passed=2)
    emulated.stdout.fnmatch_lines(["nki-migrate: NKI is emulated"])
    plain = project.runpytest_subprocess()
    assert plain.ret != 0 and "No module named 'neuronxcc'" in "\n".join(plain.errlines + plain.outlines)


def test_every_process_of_xdist_is_emulated(project):
    project.makeconftest("import neuronxcc.nki.language as nl\nSIZE = 2\n")
    project.makepyfile(test_kernel=KERNEL_TEST)
    project.runpytest_subprocess("--nki-emulate", "-n", "2").assert_outcomes(passed=2)


def test_the_session_leaves_nothing_behind(project):
    project.makepyfile(
        run="""
        import os, sys, pytest
        before = os.environ.copy()
        assert pytest.main(["--nki-emulate", "-q", "test_kernel.py"]) == 0
        assert os.environ["PYTHONPATH"] == before["PYTHONPATH"]
        assert not [name for name in sys.modules if name.partition(".")[0] in ("neuronxcc", "nki", "nkilib")]
        try:
            import nki
        except ImportError:
            print("gone")
        """,
        test_kernel="def test_it():\n    import nki.isa\n",
    )
    assert project.runpython("run.py").outlines[-1] == "gone"


def test_a_claim_that_holds_runs_the_test(project):
    result = claimed(project, "'before.py'", "'after.py'")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["the body"])


def test_a_claim_that_does_not_hold_fails_with_the_verdict_and_without_a_traceback(project):
    text = (project.path / "after.py").read_text()
    (project.path / "moved.py").write_text(text.replace("address=(0, cur_addr", "address=(0, 64 + cur_addr", 1))
    result = claimed(project, "'before.py'", "'moved.py'", "level='layout'")
    result.assert_outcomes(failed=1)
    printed = result.stdout.str()
    assert "before.py -> moved.py" in printed and "layout     different" in printed
    assert "moved.py:" in printed and CONTRACT in printed
    assert "the body" not in printed and "Traceback" not in printed and "_refutation" not in printed


def test_what_is_undecided_fails(project):
    (project.path / "cases.toml").unlink()
    result = claimed(project, "'before.py'", "'after.py'")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*undecided*no case says how to run it*"])


def test_the_cases_may_be_elsewhere_and_paths_are_those_of_the_test_file(project):
    (project.path / "sub").mkdir()
    (project.path / "cases.toml").rename(project.path / "other.toml")
    (project.path / "sub" / "test_claim.py").write_text(
        "import pytest\npytestmark = pytest.mark.nki_equivalent('../before.py', '../after.py', "
        "cases='../other.toml', kernels='peaks', hardware='gen2')\ndef test_one(): pass\ndef test_two(): pass\n"
    )
    project.runpytest_subprocess().assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("'before.py'",), "missing 1 required positional argument: 'new': write nki_equivalent(old, new, "),
        (("'before.py'", "'none.py'"), "nki_equivalent: none.py: no such file"),
        (("'before.py'", "'after.py'", "level='high'"), "level is 'high': it is one of layout, operands, numbers"),
        (("'before.py'", "'after.py'", "kernels=['peak']"), "did you mean 'peaks'?"),
        (("'before.py'", "'after.py'", "case='x'"), "unexpected keyword argument 'case'"),
    ],
)
def test_a_claim_that_makes_no_sense_fails_in_one_line(project, arguments, message):
    result = claimed(project, *arguments)
    result.assert_outcomes(failed=1)
    assert message in result.stdout.str() and "Traceback" not in result.stdout.str()


def test_a_project_without_nki_pays_for_nothing(pytester):
    pytester.makepyfile("""
        import sys

        def test_it():
            ours = sorted(name for name in sys.modules if name.partition(".")[0] == "nki_migrate")
            assert set(ours) <= {"nki_migrate", "nki_migrate.pytest_plugin"}
            assert not {"numpy", "libcst", "rich", "click"} & set(sys.modules)
        """)
    pytester.runpytest_subprocess("-p", "no:hypothesispytest", "-p", "no:xdist").assert_outcomes(passed=1)


def test_the_marker_is_declared(pytester):
    pytester.runpytest_subprocess("--markers").stdout.fnmatch_lines(["@pytest.mark.nki_equivalent(old, new,*"])
