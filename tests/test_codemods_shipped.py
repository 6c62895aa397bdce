"""Kernels that are imported from ``neuronxcc``: which module takes its place, how it is imported, when none does."""

from __future__ import annotations

import ast

import pytest
from first_rung import Options, rewrite_together
from nki_migrate.codemods import Outcome
from nki_migrate.codemods.project.signatures import fits
from nki_migrate.discover import found_files
from nki_migrate.rewriting import rewrite_reports

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def fwd(x, scale=1.0):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    nl.store(out, value=tile)
    return out
"""
HOST = "from neuronxcc.nki.kernels.attention import fwd\n\n\ndef run(x):\n    return fwd(x)\n"
UNSAFE = Options(unsafe=True)


def outcomes(files: dict[str, str], options: Options | None = None) -> dict[str, Outcome]:
    return rewrite_together({"test/host.py": HOST, **files}, options)


def host(files: dict[str, str], options: Options = UNSAFE) -> str:
    """The rewritten host code; its import is what tells."""
    return outcomes(files, options)["test/host.py"].source


def help_of(files: dict[str, str]) -> str:
    """What the manual findings advise, in the file that stays as it is."""
    outcome = outcomes(files, UNSAFE)["test/host.py"]
    assert outcome.source.startswith(files.get("test/host.py", HOST).partition("import ")[0])
    findings = [finding for finding in outcome.findings if finding.code == "NKI090"]
    assert findings and {finding.applicability for finding in findings} == {"manual"}
    return " ".join(finding.help for finding in findings)


def test_the_module_that_has_the_kernel_is_imported_under_review():
    files = {"src/lib/attention.py": KERNEL}
    outcome = outcomes(files)["test/host.py"]
    assert outcome.source == HOST
    assert [(f.line, f.code, f.applicability) for f in outcome.findings] == [
        (1, "NKI001", "review"),
        (5, "NKI001", "review"),
    ]
    assert "--module neuronxcc.nki.kernels.attention=lib.attention says so" in outcome.findings[0].help
    outcome = outcomes(files, UNSAFE)["test/host.py"]
    assert outcome.source == HOST.replace("neuronxcc.nki.kernels.attention", "lib.attention")
    assert outcome.findings == () and outcome.applied == {"NKI001": 1}


def test_what_the_user_says_is_safe():
    options = Options(modules=(("neuronxcc.nki.kernels.attention", "ours.kernels"),))
    outcome = outcomes({}, options)["test/host.py"]
    assert outcome.source == HOST.replace("neuronxcc.nki.kernels.attention", "ours.kernels")
    assert outcome.findings == ()


def test_what_the_user_says_of_a_package_holds_for_what_is_in_it():
    options = Options(modules=(("neuronxcc.nki", "no"), ("neuronxcc.nki.kernels", "ours"), ("neuronxcc.other", "no")))
    assert host({}, options).startswith("from ours.attention import fwd\n")


def test_a_rule_that_is_not_selected_moves_no_import():
    options = Options(unsafe=True, ignore=frozenset({"NKI001"}), modules=(("neuronxcc.nki.kernels", "ours"),))
    assert host({"src/lib/attention.py": KERNEL}, options) == HOST


@pytest.mark.parametrize(
    ("paths", "name"),
    [
        (["src/lib/attention.py"], "lib.attention"),
        (["test/attention.py"], "attention"),
        (["lib/__init__.py", "lib/attention.py"], "lib.attention"),
        (["lib/__init__.py", "lib/deep/__init__.py", "lib/deep/attention.py"], "lib.deep.attention"),
        (["test/__init__.py", "test/attention.py"], "test.attention"),
        (["src/lib/other.py", "src/lib/attention.py"], "lib.attention"),
        (["src/lib/flash.py"], "lib.flash"),
        (["src/lib/attention.py", "test/attention.py"], "attention"),
    ],
)
def test_how_a_module_is_imported(paths, name):
    files = {path: "" if path.endswith("__init__.py") else KERNEL for path in paths}
    assert host(files).startswith(f"from {name} import fwd\n")


def test_a_module_is_imported_as_other_files_import_it():
    files = {"kernels/src/lib/attention.py": KERNEL, "kernels/other.py": "from lib.attention import fwd\n"}
    assert help_of(files).startswith("kernels/src/lib/attention.py defines fwd, but how this file would import it")
    files = {"lib/attention.py": KERNEL, "other.py": "import lib.attention\n"}
    assert host(files).startswith("from lib.attention import fwd\n")


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({}, "no module of these files defines fwd; --module neuronxcc.nki.kernels.attention=MODULE"),
        ({"src/lib/attention.py": KERNEL.replace("@nki.jit\n", "")}, "no module of these files defines fwd"),
        ({"src/a.py": KERNEL, "src/b.py": KERNEL}, "more than one module defines fwd: src/a.py, src/b.py"),
        (
            {"src/lib/attention.py": KERNEL, "src/more/attention.py": KERNEL},
            "more than one module defines fwd: src/lib/attention.py, src/more/attention.py",
        ),
        ({"lib/attention.py": KERNEL}, "how this file would import it is not known"),
        ({"src/attention.py": KERNEL.replace("scale=1.0", "scale")}, "the call in line 5 does not fit its parameters"),
        (
            {
                "src/attention.py": KERNEL,
                "test/host.py": HOST.replace("return fwd(x)", "return nki_jit()(fwd)[2](x, x)")
                + "\nfrom torch_neuronx import nki_jit\n",
            },
            "line 5 launches it with nki_jit, whose kernels write to tensors that they get",
        ),
        (
            {
                "src/attention.py": KERNEL.replace("neuronxcc.nki", "nki").replace("1.0", "1.0, grid=None"),
                "test/host.py": HOST.replace("fwd(x)", "fwd[2, 3](x)"),
            },
            "it takes its launch grid as a parameter, which line 5 does not pass",
        ),
    ],
)
def test_without_one_module_that_fits_the_import_stays(files, reason):
    assert reason in help_of(files)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from neuronxcc.nki.kernels import attention", "from lib import attention"),
        ("from neuronxcc.nki.kernels import attention as a", "from lib import attention as a"),
        ("import neuronxcc.nki.kernels.attention as a", "import lib.attention as a"),
        ("from neuronxcc.nki.kernels.attention import (  # ours\n    fwd as f,\n)", None),
    ],
)
def test_other_forms_of_the_import(before, after):
    bound = before.split()[-1] if after else "f"
    text = f"{before}\ny = {bound if after is None else bound + '.fwd'}(1)\n"
    found = host({"test/host.py": text, "src/lib/attention.py": KERNEL})
    assert found == text.replace(before, after or before.replace("neuronxcc.nki.kernels", "lib"))


def test_an_import_in_a_function_is_its_change():
    text = "def run(x):\n    from neuronxcc.nki.kernels.attention import fwd\n\n    return fwd(x)\n"
    outcome = outcomes({"test/host.py": text, "src/lib/attention.py": KERNEL}, UNSAFE)["test/host.py"]
    assert "    from lib.attention import fwd\n" in outcome.source
    assert outcome.touched == {"run"}


def test_examples_come_from_the_module_of_their_name_and_folder():
    text = "from neuronxcc.nki.docs.examples.norm.norm_kernel import fwd\n\nfwd(1)\n"
    elsewhere = {"test/host.py": text, "src/lib/norm_kernel.py": KERNEL}
    assert "no module of these files defines fwd" in help_of(elsewhere)
    files = {"norm/host.py": text, "norm/norm_kernel.py": KERNEL, "other/norm/norm_kernel.py": KERNEL}
    assert outcomes(files, UNSAFE)["norm/host.py"].source == "from norm_kernel import fwd\n\nfwd(1)\n"


def test_launches_of_the_kernel_follow():
    kernel = KERNEL.replace("nl.load(x)", "nl.load(x[nl.program_id(0), nl.program_id(1)])")
    found = host({"test/host.py": HOST.replace("fwd(x)", "fwd[2, 3](x)"), "src/lib/attention.py": kernel})
    assert found.endswith("    return fwd(x, grid=(2, 3))\n")


@pytest.mark.parametrize(("grid", "left"), [("[2, 3]", True), ("[n]", True), ("[2]", False), ("", False)])
def test_a_launch_of_a_kernel_that_no_file_shows_is_a_finding(grid, left):
    options = Options(unsafe=True, modules=(("neuronxcc.nki.kernels", "ours"),))
    text = HOST.replace("fwd(x)", f"fwd{grid}(x)")
    findings = outcomes({"test/host.py": text}, options)["test/host.py"].findings
    assert [(f.line, f.code, f.applicability) for f in findings] == ([(5, "NKI016", "manual")] if left else [])


def test_a_file_that_is_half_migrated_gets_what_the_user_says():
    options = Options(modules=(("neuronxcc.nki.kernels", "ours"),))
    text = "import nki.language as nl\n" + HOST
    assert host({"test/host.py": text}, options) == text.replace("neuronxcc.nki.kernels", "ours")
    mixed = "import neuronxcc.nki.isa as nisa\n" + text
    outcome = outcomes({"test/host.py": mixed}, options)["test/host.py"]
    assert outcome.source == mixed and "half migrated" in outcome.findings[0].message


def test_kernels_are_looked_for_in_all_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    migrated = "import nki\n\n\n@nki.jit\ndef fwd(x):\n    return x\n"
    for path, text in {"test/host.py": HOST, "src/lib/attention.py": migrated, "src/lib/n.py": KERNEL}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    reports = {report.path: report for report in rewrite_reports(found_files(["."]), UNSAFE, 1)}
    assert reports["test/host.py"].after.decode() == HOST.replace("neuronxcc.nki.kernels", "lib")
    assert reports["src/lib/attention.py"].status == "skipped"


@pytest.mark.parametrize(
    ("call", "function", "can"),
    [
        ("f(1, 2)", "def f(a, b): pass", True),
        ("f(1)", "def f(a, b): pass", False),
        ("f(1)", "def f(a, b=2): pass", True),
        ("f(1, 2, 3)", "def f(a, b): pass", False),
        ("f(1, 2, 3)", "def f(a, *b): pass", True),
        ("f(1, c=2)", "def f(a, b=1): pass", False),
        ("f(1, c=2)", "def f(a, **b): pass", True),
        ("f(1, a=2)", "def f(a, b=1): pass", False),
        ("f(1)", "def f(a, *, b): pass", False),
        ("f(1, **d)", "def f(a, *, b): pass", True),
        ("f(*d)", "def f(a, b): pass", True),
    ],
)
def test_which_calls_fit_which_parameters(call, function, can):
    node, definition = ast.parse(call, mode="eval").body, ast.parse(function).body[0]
    assert isinstance(node, ast.Call) and isinstance(definition, ast.FunctionDef)
    assert fits(node, definition) is can
