"""What kernels of a package need and NKI does not have comes from one module, which later runs extend."""

import ast
import io
import json
import os
import random
import subprocess
import sys
from dataclasses import replace

import pytest
from examples import sampled
from nki_migrate import store
from nki_migrate.checking import check_reports
from nki_migrate.cli import main
from nki_migrate.codemods import rewrite
from nki_migrate.codemods.model import Options, SupportHome
from nki_migrate.codemods.render.support_module import extended, is_ours
from nki_migrate.codemods.render.support_texts import DEFINITIONS
from nki_migrate.discover import Found
from nki_migrate.golden import GOLDENS
from nki_migrate.runtime.spec.versions import NAMES

HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
"""
PARTS = """\
def {name}(x, sizes):
    out = nl.ndarray((128, 2), dtype=x.dtype, buffer=nl.shared_hbm)
    first = {first}
    nl.store(out, value=nl.load(x[:, first : first + 2]))
    return out
"""
SUMMED = HEAD + PARTS.format(name="summed", first="sum(sizes)")
ORDERED = HEAD + PARTS.format(name="ordered", first="sorted(sizes)[0]")
SCALED = HEAD + """\
def scaled(x, weight):
    out = nl.ndarray((128, 4), dtype=nl.float32, buffer=nl.shared_hbm)
    row = nl.load(weight.reshape((1, 4)))
    nl.store(out, value=row.broadcast_to((128, 4)))
    return out
"""
MODULE = "pkg/nki_support.py"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    for name in ("NKI_MIGRATE_CACHE_DIR", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    files({"pkg/__init__.py": "", "pkg/a.py": SUMMED, "pkg/deep/__init__.py": "", "pkg/deep/b.py": ORDERED})
    return tmp_path / "work"


def files(texts):
    for path, text in texts.items():
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def functions(path):
    return [node.name for node in ast.parse(text(path)).body if isinstance(node, ast.FunctionDef)]


@pytest.fixture
def run(capfd):
    def result(*arguments):
        with pytest.raises(SystemExit) as exit_:
            main(list(arguments))
        return exit_.value.code, *capfd.readouterr()

    return result


def tree():
    found = (os.path.join(d, name) for d, _, names in os.walk(".") if "/.git" not in d for name in names)
    return {path: text(path) for path in found if path.endswith(".py")}


# --- where functions go ----------------------------------------------------------------------------------------------


def test_files_of_one_package_import_from_one_module(run):
    code, _, error = run("rewrite", "--write", "pkg")
    assert code == 0 and f"{MODULE}: added" in error
    assert "from .nki_support import total\n" in text("pkg/a.py")
    assert "from ..nki_support import in_order\n" in text("pkg/deep/b.py")
    assert functions(MODULE) == ["in_order", "total"] and functions("pkg/a.py") == ["summed"]
    assert run("check", "pkg")[0] == 0


def test_a_second_run_changes_nothing(run):
    run("rewrite", "--write", "pkg")
    before = tree()
    assert run("rewrite", "--write", "--unsafe", "pkg")[0] == 0
    assert tree() == before


def test_a_later_run_extends_the_module(run):
    run("rewrite", "--write", "pkg/deep/b.py")
    assert functions(MODULE) == ["in_order"]
    code, out, error = run("rewrite", "--write", "--allow-dirty", "pkg/a.py")
    assert code == 0 and out == "" and f"{MODULE}: rewritten" in error
    assert functions(MODULE) == ["in_order", "total"]
    by_steps = text(MODULE)
    run("undo")
    assert functions(MODULE) == ["in_order"]
    files({"pkg/deep/b.py": ORDERED})
    os.unlink(MODULE)
    run("rewrite", "--write", "pkg")
    assert text(MODULE) == by_steps


def test_the_module_is_the_same_whatever_the_order_of_runs():
    chosen = random.Random(0)
    for _ in range(60):
        names = chosen.sample(sorted(DEFINITIONS), chosen.randint(1, 7))
        written, at = "", 0
        while at < len(names):
            more = chosen.randint(1, len(names) - at)
            written, at = extended(names[at : at + more], written), at + more
        assert written == extended(names) == extended(names, written) and is_ours(written)


@pytest.mark.parametrize("version", NAMES)
def test_all_functions_are_legal_at_every_version_and_as_the_ladder_makes_them(version):
    kernel = "\n\nimport nki\n\n@nki.jit\ndef kernel(x):\n    return [" + ", ".join(DEFINITIONS) + "]\n"
    oldest, whole = (extended(DEFINITIONS, target=target) + kernel for target in (NAMES[0], version))
    outcome = rewrite(oldest, Options(target=version, source=NAMES[0]), "nki_support.py")
    assert outcome.source == whole and not outcome.findings
    assert rewrite(whole, Options(target=version), "nki_support.py").source == whole
    (report,) = check_reports([Found("nki_support.py", data=whole.encode())], version)
    assert not report.findings


def test_what_a_person_added_stays(run):
    run("rewrite", "--write", "pkg/deep/b.py")
    own = "# mine\ndef halved(n):\n    return n // 2\n"
    files({MODULE: text(MODULE) + f"\n\n{own}"})
    run("rewrite", "--write", "--allow-dirty", "pkg/a.py")
    assert own in text(MODULE) and functions(MODULE) == ["in_order", "halved", "total"]


@pytest.mark.parametrize(
    "foreign",
    [
        "def total(values):\n    return 0\n",
        extended(["total"]).replace("result + value", "result + 2 * value"),
        extended(["broadcast_rows"]).replace("import nki.isa as nisa", "import other as nisa"),
        extended(["product"]) + "\ntotal = None\n",
        extended(["product"]) + "\nfrom .other import total\n",
        extended(["product"]) + "\nfrom .other import *\n",
        "this is no Python\n",
    ],
)
def test_a_module_of_somebody_else_stays_as_it_is(run, foreign):
    files({MODULE: foreign})
    assert run("rewrite", "--write", "pkg/a.py")[0] == 0
    assert text(MODULE) == foreign
    assert "from .nki_support_2 import total\n" in text("pkg/a.py") and functions("pkg/nki_support_2.py") == ["total"]


def test_a_name_that_the_file_has_gets_a_number(run):
    files({"pkg/a.py": SUMMED.replace("(x, sizes)", "(x, sizes, total=0)")})
    run("rewrite", "--write", "pkg/a.py")
    assert "import total as total_2\n" in text("pkg/a.py") and "first = total_2(sizes)" in text("pkg/a.py")


def test_other_names_of_nki_in_a_file_are_not_those_of_the_module(run):
    files({"pkg/a.py": SCALED.replace(" as nl", " as lang").replace("nl.", "lang.")})
    assert run("rewrite", "--write", "pkg/a.py")[0] == 0
    assert "import nki.language as lang\n" in text("pkg/a.py")
    assert "import nki.isa as nisa\n" in text(MODULE) and is_ours(text(MODULE))


@pytest.mark.parametrize(
    ("own", "line"),
    [
        ("from pkg.deep import b\n", "from pkg.nki_support import total\n"),
        ("from .deep import b\n", "from .nki_support import total\n"),
        ("import os\n", "from .nki_support import total\n"),
    ],
)
def test_the_module_is_imported_as_others_of_the_package(run, own, line):
    files({"pkg/a.py": own + SUMMED})
    run("rewrite", "--write", "pkg/a.py")
    assert line in text("pkg/a.py")


@pytest.mark.parametrize(
    ("head", "end"),
    [("", "\nif __name__ == '__main__':\n    print(summed)\n"), ("import beside\n", "")],
)
def test_a_file_that_runs_without_its_package_keeps_its_functions(run, head, end):
    files({"pkg/a.py": head + SUMMED + end, "pkg/beside.py": ""})
    run("rewrite", "--write", "pkg/a.py")
    assert functions("pkg/a.py") == ["total", "summed"] and not os.path.exists(MODULE)


def test_a_file_outside_of_a_package_keeps_its_functions(run, monkeypatch):
    files({"script.py": SUMMED, "not-a-name/__init__.py": "", "not-a-name/c.py": SUMMED})
    run("rewrite", "--write", "script.py", "not-a-name")
    assert functions("script.py") == functions("not-a-name/c.py") == ["total", "summed"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SUMMED.encode())))
    assert "def total" in run("rewrite", "-", "--stdin-filename", "pkg/a.py")[1]


def test_functions_never_stand_between_a_kernel_and_the_text_above_it(run):
    files({"script.py": SUMMED.replace("@nki.jit", '"""What the kernel does."""\n\n\n@nki.jit')})
    run("rewrite", "--write", "script.py")
    kernel = text("script.py").partition("def total")[2]
    assert kernel.index('"""What the kernel does."""') < kernel.index("@nki.jit")


def test_a_notebook_in_a_package_keeps_its_functions(run):
    pytest.importorskip("nbformat")
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": SUMMED}]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    files({"pkg/n.ipynb": json.dumps(notebook)})
    run("rewrite", "--write", "pkg/n.ipynb")
    assert "def total" in text("pkg/n.ipynb") and not os.path.exists(MODULE)


def test_the_option_and_the_configuration_keep_functions_in_each_file(run):
    assert "nki_support" not in run("rewrite", "pkg", "--support", "inline")[1]
    files({"nki-migrate.toml": 'support = "inline"\n'})
    assert "nki_support" not in run("rewrite", "pkg")[1]
    assert "nki_support" in run("rewrite", "pkg", "--support", "module")[1]
    files({"nki-migrate.toml": 'support = "here"\n'})
    assert run("rewrite", "pkg")[0] == 2


def test_the_package_ends_at_the_root_of_the_repository(run):
    files({"__init__.py": ""})
    subprocess.run(["git", "init", "-q", "pkg"], check=True)
    run("rewrite", "--write", "--allow-dirty", "pkg")
    assert os.path.exists(MODULE) and not os.path.exists("nki_support.py")


# --- it is part of the run -------------------------------------------------------------------------------------------


def test_the_diff_makes_the_tree_that_write_makes(run):
    patch = run("rewrite", "pkg", "--no-cache")[1]
    assert f"--- /dev/null\n+++ b/{MODULE}\n" in patch
    before = tree()
    run("rewrite", "--write", "pkg")
    written = tree()
    run("undo")
    assert tree() == before
    subprocess.run(["git", "apply", "-"], input=patch.encode(), check=True)
    assert tree() == written


def test_counts_add_up(run):
    code, out, error = run("rewrite", "pkg", "--stat")
    assert code == 1 and f"{MODULE} | +" in out and "5 files: 3 would change, 0 unchanged, 2 skipped" in error
    code, out, error = run("rewrite", "pkg", "--check")
    assert code == 1 and f"{MODULE}: would be added" in error
    found = json.loads(run("rewrite", "pkg", "--output-format", "json")[1])
    assert found["summary"]["files"] == len(found["files"]) == 5 and found["summary"]["changed"] == 3
    for output_format in ("sarif", "junit", "github"):
        assert MODULE in run("rewrite", "pkg", "--output-format", output_format)[1]
    run("rewrite", "pkg", "--report", "report.html", "-q")
    assert MODULE in text("report.html")


def test_several_processes_and_the_cache_give_the_same(run):
    files({f"pkg/k{number}.py": SUMMED for number in range(12)})
    alone = run("rewrite", "pkg", "--jobs", "1", "--no-cache")
    assert run("rewrite", "pkg", "--jobs", "2", "--no-cache") == alone
    assert run("rewrite", "pkg", "--jobs", "1") == alone
    assert run("rewrite", "pkg", "--jobs", "1") == alone  # from the cache
    os.unlink("pkg/__init__.py")  # the place of the files is another now
    assert "nki_support" not in run("rewrite", "pkg/a.py", "--jobs", "1")[1]


def test_undo_removes_what_was_added_unless_somebody_changed_it(run):
    before = tree()
    run("rewrite", "--write", "pkg")
    files({MODULE: text(MODULE) + "\n\nMINE = 1\n"})
    code, _, error = run("undo")
    assert code == 2 and f"{MODULE} was changed" in error
    code, _, error = run("undo", "--force")
    assert code == 0 and f"{MODULE}: removed" in error and tree() == before


def test_undo_does_not_miss_a_module_that_is_gone(run):
    before = tree()
    run("rewrite", "--write", "pkg")
    os.unlink(MODULE)
    assert run("undo")[0] == 0 and tree() == before


def test_a_run_that_cannot_be_written_adds_no_module(run, monkeypatch):
    before, put = tree(), store._put

    def full(temporary, change):
        if change.path.endswith("nki_support.py"):
            raise store.RunError(change.path, "cannot write: no space")
        put(temporary, change)

    monkeypatch.setattr(store, "_put", full)
    code, _, error = run("rewrite", "--write", "pkg")
    assert code == 2 and "no space" in error and tree() == before
    assert not [name for name in os.listdir("pkg") if name.endswith(".tmp")]


def test_an_interrupted_run_adds_no_module(run, monkeypatch):
    before = tree()

    def interrupted(change):
        if change.before is None:
            raise KeyboardInterrupt
        return status(change)

    status = store._status
    monkeypatch.setattr(store, "_status", interrupted)
    assert run("rewrite", "--write", "pkg")[0] == 130 and tree() == before


def test_a_file_of_that_name_that_appears_meanwhile_is_not_overwritten(run, monkeypatch):
    stored = store.stored

    def late(reports):
        files({MODULE: "MINE = 1\n"})
        return stored(reports)

    monkeypatch.setattr("nki_migrate.rewrite_command.stored", late)
    code, _, error = run("rewrite", "--write", "pkg")
    assert code == 2 and "there is a file of this name by now" in error
    assert text(MODULE) == "MINE = 1\n" and text("pkg/a.py") == SUMMED


@pytest.mark.parametrize(
    ("place", "lines"), [(".gitignore", "*support*\n"), ("nki-migrate.toml", 'exclude = ["nki_s*"]\n')]
)
def test_a_module_that_is_left_out_is_said_with_each_file_that_needs_it(run, place, lines):
    subprocess.run(["git", "init", "-q"], check=True)
    files({place: lines, "pkg/plain.py": HEAD + "def plain(x):\n    return x\n"})
    before = text("pkg/a.py")
    code, _, error = run("rewrite", "--write", "--allow-dirty", "pkg")
    assert code == 2 and "which would have functions that it needs: pass --support inline" in error
    assert text("pkg/a.py") == before and "neuronxcc" not in text("pkg/plain.py")
    assert run("rewrite", "--write", "--allow-dirty", "pkg", "--support", "inline")[0] == 0


def test_what_is_declined_gets_no_functions(run, monkeypatch):
    answers = io.TextIOWrapper(io.BytesIO(b"n\ny\n"))
    monkeypatch.setattr(sys, "stdin", answers)
    code, out, error = run("rewrite", "--interactive", "pkg")
    assert f"{MODULE} has what these files need" in error and f"+++ b/{MODULE}" in out
    assert functions(MODULE) == ["in_order"] and text("pkg/a.py") == SUMMED and code == 1


def test_commits_have_the_module(run):
    for arguments in (["init", "-q"], ["config", "user.name", "A"], ["config", "user.email", "a@b"], ["add", "."]):
        subprocess.run(["git", *arguments], check=True)
    subprocess.run(["git", "commit", "-qm", "kernels"], check=True)
    code, _, error = run("rewrite", "--write", "--commit-per-rule", "pkg")
    assert code == 0, error
    assert subprocess.run(["git", "status", "--porcelain"], check=True, capture_output=True).stdout == b""
    shown = subprocess.run(["git", "log", "--format=", "--name-status"], check=True, capture_output=True, text=True)
    assert f"A\t{MODULE}" in shown.stdout.splitlines()


# --- the proof -------------------------------------------------------------------------------------------------------

CASES = """\
[[case]]
kernel = "ordered"
name = "two sizes"

[case.args]
x = {shape = [128, 8], dtype = "float32", fill = "normal"}
sizes = [3, 1]
"""


def test_a_kernel_is_proved_that_imports_a_module_which_is_not_written_yet(run):
    files({"pkg/deep/cases.toml": CASES})
    code, out, error = run("verify", "--migrate", "pkg/deep", "--report", "report.html")
    assert code == 0 and "1 equal" in out, out + error
    assert run("verify", "--migrate", "pkg/deep")[1] == out  # from the cache
    assert not os.path.exists(MODULE)
    code, out, error = run("rewrite", "--write", "--verify", "pkg/deep")
    assert code == 0 and functions(MODULE) == ["in_order"], out + error


def test_a_package_that_cannot_be_imported_here_does_not_keep_its_kernels_from_a_proof(run):
    heavy = "import torch\n\nassert torch.cuda.is_available() and False, 'not here'\n"
    files({"pkg/deep/cases.toml": CASES, "pkg/__init__.py": heavy, "pkg/deep/__init__.py": heavy})
    code, out, error = run("verify", "--migrate", "pkg/deep/b.py")
    assert code == 0 and "1 equal" in out, out + error
    run("rewrite", "--write", "pkg/deep")
    files({"old/b.py": ORDERED})
    code, out, error = run("verify", "old/b.py", "pkg/deep/b.py", "--cases", "pkg/deep/cases.toml")
    assert code == 0 and "1 equal" in out, out + error


@pytest.mark.parametrize("name", ["copy", "types", "numpy", "token"])
@pytest.mark.parametrize("start", ["", None], ids=["package", "namespace"])
def test_a_package_may_have_the_name_of_another_one_of_python(run, name, start):
    files({f"{name}/cases.toml": CASES, f"{name}/b.py": ORDERED + "\n\nfrom . import near  # noqa: E402\n"})
    files({f"{name}/near.py": "HERE = 1\n"} | ({f"{name}/__init__.py": start} if start is not None else {}))
    code, out, error = run("verify", "--migrate", name)
    assert code == 0 and "1 equal" in out, out + error


def test_a_package_at_the_root_of_the_project_need_not_be_installed(run):
    own = ORDERED.replace(
        "import neuronxcc.nki.language as nl", "import neuronxcc.nki.language as nl\nfrom own.near import HERE"
    )
    files({"kernels/cases.toml": CASES, "kernels/b.py": own.replace("[0]", "[HERE]"), "pyproject.toml": ""})
    files({"own/__init__.py": "", "own/near.py": "HERE = 0\n"})
    code, out, error = run("verify", "--migrate", "kernels")
    assert code == 0 and "1 equal" in out, out + error


def test_a_file_that_hides_nki_is_proved_and_said(run):
    files({"hidden/cases.toml": CASES, "hidden/nki.py": ORDERED})
    _, out, error = run("verify", "--migrate", "hidden")
    assert "1 equal" in out, out + error
    assert "hides the package 'nki'" in run("rewrite", "hidden")[2]


def test_two_versions_on_disk_are_compared(run, tmp_path):
    files({"pkg/deep/cases.toml": CASES, "old/pkg/__init__.py": "", "old/pkg/b.py": ORDERED})
    run("rewrite", "--write", "pkg")
    code, out, _ = run("verify", "old/pkg/b.py", "pkg/deep/b.py", "--cases", "pkg/deep/cases.toml")
    assert code == 0 and "1 equal" in out


def test_a_revision_is_compared_with_what_was_written(run):
    files({"pkg/deep/cases.toml": CASES})
    for arguments in (["init", "-q"], ["config", "user.name", "A"], ["config", "user.email", "a@b"], ["add", "."]):
        subprocess.run(["git", *arguments], check=True)
    subprocess.run(["git", "commit", "-qm", "kernels"], check=True)
    run("rewrite", "--write", "pkg/deep")
    code, out, error = run("verify", "--base", "HEAD", "pkg/deep")
    assert code == 0 and "1 equal" in out, out + error


def test_an_assessment_counts_the_files_that_are_there(run):
    assert "nki_support" not in run("assess", "pkg")[1]


# --- the text of the files -------------------------------------------------------------------------------------------


def definitions(source):
    return {node.name: ast.dump(node) for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize(
    "name",
    sampled(
        "support_module",
        [n for n, g in GOLDENS.items() if g.language == "nki" and not g.is_beta2_only],
    ),
)
def test_a_kernel_of_a_package_is_what_it_is_elsewhere(name):
    golden = GOLDENS[name]
    options = Options(**{"target": golden.target, **golden.options})
    home = SupportHome("nki_support.py", ".nki_support")
    alone = rewrite(golden.before, options, "before.py")
    packaged = rewrite(golden.before, replace(options, support_homes=(("before.py", home),)), "before.py")
    before, after = definitions(alone.source), definitions(packaged.source)
    assert after.items() <= before.items() and before.keys() - after.keys() <= DEFINITIONS.keys()
    added = before.keys() - after.keys()
    own = tuple(each for each in alone.asserted if each.function not in added)  # the ladder speaks of these, too
    assert packaged.findings == alone.findings and packaged.asserted == own
    assert packaged.applied.items() <= alone.applied.items() and packaged.moves == moved(alone.moves, packaged.moves)
    assert set(packaged.support) >= added - called(packaged.support)


def called(names):
    """What functions call that others do."""
    return {other for name in names for other in definitions(extended([name]))} - set(names)


def moved(old, new):
    """Declarations of ``old`` on the lines on which they stand in ``new``."""
    return tuple(replace(a, new_lines=b.new_lines) for a, b in zip(old, new, strict=True))


# --- folders that are no packages ------------------------------------------------------------------------------------


def test_files_that_import_each_other_by_bare_names_have_one_module_beside_them(run):
    files({"more-kernels/a.py": f"import b\n{SUMMED}", "more-kernels/b.py": ORDERED, "more-kernels/alone.py": SUMMED})
    assert run("rewrite", "--write", "more-kernels")[0] == 0
    assert functions("more-kernels/more_kernels_support.py") == ["in_order", "total"]
    assert "\nfrom more_kernels_support import total\n" in text("more-kernels/a.py")
    assert "\nfrom more_kernels_support import in_order\n" in text("more-kernels/b.py")
    assert functions("more-kernels/alone.py") == ["total", "summed"]  # nothing says how it is imported
    before = tree()
    assert run("rewrite", "--write", "--allow-dirty", "more-kernels")[0] == 0 and tree() == before


def test_one_file_of_nki_among_others_keeps_its_functions(run):
    files({"more/a.py": SUMMED, "more/test_a.py": "from a import summed\n"})
    run("rewrite", "--write", "more")
    assert functions("more/a.py") == ["total", "summed"]


def test_a_kernel_is_proved_that_imports_a_module_beside_it(run):
    files({"more/a.py": f"import b\n{SUMMED}", "more/b.py": ORDERED, "more/cases.toml": CASES})
    code, out, error = run("verify", "--migrate", "more/b.py")
    assert code == 0 and "1 equal" in out, out + error


def test_the_root_of_a_repository_does_not_give_a_module_its_name(run):
    subprocess.run(["git", "init", "-q"], check=True)
    files({"a.py": f"import b\n{SUMMED}", "b.py": ORDERED})
    run("rewrite", "--write", "--allow-dirty", "a.py")
    assert functions("nki_support.py") == ["total"]


def test_a_function_that_the_file_imports_already_is_used(run):
    files({"pkg/a.py": "from .nki_support import total as added\n" + SUMMED, MODULE: extended(["total"])})
    assert run("rewrite", "--write", "pkg/a.py")[0] == 0
    assert "first = added(sizes)" in text("pkg/a.py") and text("pkg/a.py").count("nki_support") == 1


def test_paths_of_either_kind_mean_one_module(run):
    _, out, _ = run("rewrite", "pkg/a.py", os.path.abspath("pkg/deep/b.py"))
    assert out.count("+++ ") == 3 and "+def in_order" in out and "+def total" in out
