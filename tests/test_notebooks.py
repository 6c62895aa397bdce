"""Notebooks: what is read as Python, what keeps its bytes, and how places in cells are named."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nki_migrate.cli import main
from nki_migrate.errors import FileError
from nki_migrate.golden import GOLDENS
from nki_migrate.notebooks import notebook

nbformat = pytest.importorskip("nbformat", reason="the extra `notebook` is not installed")

IMPORTS = "import neuronxcc.nki as nki\nimport neuronxcc.nki.isa as nisa\nimport neuronxcc.nki.language as nl"
KERNEL = """\
@nki.jit
def double(x):
    # é stays
    out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    nl.store(out, nl.negative(t))
    return out"""
LEFT = KERNEL.replace("nl.negative(t)", "nisa.local_gather(t, t)").replace("double", "left")
CASE = """
[[case]]
kernel = "double"
[case.args]
x = {shape = [128, 64], dtype = "float32"}
"""
PYTHON = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}


def cell(source, number=0, kind="code", *, lines=True):
    outputs = {"execution_count": 7, "outputs": [{"name": "stdout", "output_type": "stream", "text": ["neuronxcc\n"]}]}
    return {
        "cell_type": kind,
        "id": f"cell-{number}",
        "metadata": {"tags": ["é", "neuronxcc.nki"]},
        "source": source.splitlines(keepends=True) if lines else source,
        **(outputs if kind == "code" else {}),
    }


def book(*sources, lines=True, metadata=None, **layout):
    """The bytes of a notebook with these code cells, behind one of text."""
    cells = [cell("# neuronxcc.nki", 0, "markdown", lines=lines)]
    cells += [cell(source, number, lines=lines) for number, source in enumerate(sources, 1)]
    value = {"cells": cells, "metadata": PYTHON if metadata is None else metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(value, **{"indent": 1, "ensure_ascii": False} | layout).encode()


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NKI_MIGRATE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def run(capfd):
    def call(*arguments):
        with pytest.raises(SystemExit) as exit_:
            main([*map(str, arguments)])
        out, err = capfd.readouterr()
        return exit_.value.code, out, err

    return call


def sources_of(data):
    return ["".join(each["source"]) for each in json.loads(data)["cells"]]


@pytest.mark.parametrize("end", ["", "\n", "\r\n\n"])
@pytest.mark.parametrize(
    "layout",
    [{"indent": 1}, {"indent": "\t"}, {"indent": None}, {"indent": 4, "ensure_ascii": True}],
    ids=["jupyter", "tabs", "one line", "escapes"],
)
@pytest.mark.parametrize("lines", [True, False], ids=["lists", "strings"])
def test_only_the_sources_of_changed_cells_change(run, end, layout, lines):
    before = book(IMPORTS, "%pip install x\nn = 'é'", KERNEL, "", lines=lines, **layout) + end.encode()
    Path("book.ipynb").write_bytes(before)
    code, _, err = run("rewrite", "--write", "book.ipynb")
    after = Path("book.ipynb").read_bytes()
    assert code == 0 and "1 changed" in err
    old, new = json.loads(before), json.loads(after)
    changed = [n for n, (a, b) in enumerate(zip(old["cells"], new["cells"], strict=True)) if a != b]
    assert changed == [1, 3]
    for a, b in zip(old["cells"], new["cells"], strict=True):
        assert {**a, "source": ""} == {**b, "source": ""} and isinstance(a["source"], type(b["source"]))
    # The other bytes are those of the file: with the new sources in the place of the old ones it is what was written.
    again = {**old, "cells": [{**a, "source": b["source"]} for a, b in zip(old["cells"], new["cells"], strict=True)]}
    assert after == json.dumps(again, **{"ensure_ascii": False} | layout).encode() + end.encode()
    assert run("rewrite", "--check", "book.ipynb")[0] == 0
    assert run("check", "book.ipynb")[0] == 0


def test_cells_are_one_module_and_keep_their_borders(run):
    before = book("import numpy as np\n" + IMPORTS, KERNEL, "x = np.ones((128, 64))\ny = double(x)")
    Path("book.ipynb").write_bytes(before)
    assert run("rewrite", "--write", "book.ipynb")[0] == 0
    _, imports, kernel, launch = sources_of(Path("book.ipynb").read_bytes())
    assert imports == "import numpy as np\nimport nki\nimport nki.isa as nisa\nimport nki.language as nl"
    assert kernel.startswith("@nki.jit\ndef double(x):\n    # é stays\n") and kernel.endswith("return out")
    assert "nisa.tensor_scalar" in kernel and launch == "x = np.ones((128, 64))\ny = double(x)"


@pytest.mark.parametrize("name", ["fused_rmsnorm", "running_counter"])
def test_a_kernel_in_cells_becomes_what_it_becomes_in_a_file(run, name):
    before, after = GOLDENS[name].before, GOLDENS[name].after
    head, mark, kernel = before.partition("\n@nki.jit")
    Path("book.ipynb").write_bytes(book(head, (mark + kernel).strip("\n")))
    run("rewrite", "--write", "book.ipynb")
    joined = "\n".join(sources_of(Path("book.ipynb").read_bytes())[1:])
    assert "".join(joined.split()) == "".join(after.split())


MAGICS = [
    "%matplotlib inline",
    "!pip install 'x[y]' && (echo",
    "?nl.load",
    "nl.load??",
    "files = !ls *.py",
    "y = %time 1 +",
    "%config A.b = \\\n  'c'",
    "/double x",
    ",double a b",
]


@pytest.mark.parametrize("magic", MAGICS)
def test_magics_keep_their_bytes(run, magic):
    quoted = f'text = """\n{magic}\n"""\nlist_ = [\n    1\n    %2,\n]\n'
    cells = [
        f"{magic}\n{IMPORTS}",
        f"if True:\n    {magic}\n    n = 5 % 3\n{magic}",
        f"{KERNEL}\n\n{magic}\n\n{quoted}# {magic.splitlines()[0]}",
    ]
    Path("book.ipynb").write_bytes(book(*cells))
    assert run("rewrite", "--write", "book.ipynb")[0] in (0, 1)
    _, imports, branch, kernel = sources_of(Path("book.ipynb").read_bytes())
    assert imports == f"{magic}\n{IMPORTS.replace('neuronxcc.nki as nki', 'nki').replace('neuronxcc.', '')}"
    assert branch == cells[1]
    assert kernel.endswith(cells[2].partition("return out")[2]) and "nisa.tensor_scalar" in kernel


def test_what_stands_above_python_is_no_other_language(run):
    cells = [
        IMPORTS,
        f"\n%%time\n{KERNEL}",
        "%%bash\nif [ 1 ]; then (",
        "%%writefile k.py\nimport neuronxcc.nki as nki",
    ]
    Path("book.ipynb").write_bytes(book(*cells))
    code, _, err = run("rewrite", "--write", "book.ipynb")
    _, _, timed, bash, written = sources_of(Path("book.ipynb").read_bytes())
    assert timed.startswith("\n%%time\n@nki.jit") and "nisa.tensor_scalar" in timed and [bash, written] == cells[2:]
    assert code == 1 and "book.ipynb:cell 5:1:1: NKM003 [manual] this cell is for %%writefile" in err


@pytest.mark.parametrize(
    ("magic", "is_left"),
    [
        ("%time y = nl.zeros((128, 64))", True),
        ("%time y = double[2](x)", True),
        ("!python -c 'from neuronxcc import nki'", True),
        ("%time y = double(x)", False),
        ("nl.zeros?", False),
        ("!ls nl", True),
        ("%time x.nl", False),
    ],
)
def test_a_magic_that_names_beta_1_is_a_finding(run, magic, is_left):
    Path("book.ipynb").write_bytes(book(IMPORTS, KERNEL, f"x = 1\n{magic}"))
    code, _, err = run("rewrite", "book.ipynb")
    assert ("book.ipynb:cell 4:2:1: NKM003 [manual] this line is IPython's" in err) is is_left and code == 1


def test_findings_name_the_cell_and_its_line(run):
    Path("book.ipynb").write_bytes(book("%time\n" + IMPORTS, "x = 1", f"\n{LEFT}"))
    _, _, err = run("rewrite", "book.ipynb")
    assert "book.ipynb:cell 4:7:" in err
    found = json.loads(run("rewrite", "--output-format", "json", "book.ipynb")[1])["files"][0]["findings"]
    assert {(each["cell"], each["line"]) for each in found} == {(4, 7)}
    lines = Path("book.ipynb").read_text().split("\n")
    for form in ("sarif", "github"):
        _, out, _ = run("rewrite", "--output-format", form, "book.ipynb")
        assert "cell 4, line 7: " in out
    log = json.loads(run("rewrite", "--output-format", "sarif", "book.ipynb")[1])
    places = [result["locations"][0]["physicalLocation"]["region"] for result in log["runs"][0]["results"]]
    assert any("local_gather" in lines[place["startLine"] - 1] for place in places)
    assert run("check", "book.ipynb")[1].startswith("book.ipynb:cell 4:")


def test_a_diff_is_one_of_each_cell_that_changes(run):
    Path("book.ipynb").write_bytes(book(IMPORTS, "x = 1", KERNEL))
    _, out, _ = run("rewrite", "book.ipynb")
    assert [line for line in out.split("\n") if line.startswith("+++")] == [
        "+++ b/book.ipynb:cell 2\t",
        "+++ b/book.ipynb:cell 4\t",
    ]
    assert '"' not in out and "No newline" not in out
    _, out, _ = run("rewrite", "--stat", "book.ipynb")
    assert out == "book.ipynb | +6 -4\n"


def test_assess_says_where_kernels_are_and_what_proves_them(run):
    Path("book.ipynb").write_bytes(book(IMPORTS, KERNEL, LEFT))
    Path("cases.toml").write_text(CASE)
    _, out, _ = run("assess", "book.ipynb")
    assert "  cell 3:2: double: safe; 1 case" in out and "  cell 4:2: left: manual" in out
    kernels = json.loads(run("assess", "--output-format", "json", "book.ipynb")[1])["files"][0]["kernels"]
    assert [(kernel["cell"], kernel["line"]) for kernel in kernels] == [(3, 2), (4, 2)]


COMPUTING = "%matplotlib inline\nraise SystemExit(3)\nsize = open('nothing').read()\ntwice = 2 * size"


def test_kernels_of_notebooks_are_proved_and_nothing_else_of_them_runs(run):
    Path("book.ipynb").write_bytes(book(IMPORTS, COMPUTING, KERNEL, "double(x)"))
    Path("cases.toml").write_text(CASE)
    code, out, _ = run("verify", "--migrate", "book.ipynb")
    assert code == 0 and "1 case: 1 equal" in out, out
    code, out, _ = run("verify", "book.ipynb", "book.ipynb")
    assert code == 0 and "1 case: 1 equal" in out, out
    code, _, err = run("rewrite", "--write", "--verify", "book.ipynb")
    assert code == 0 and "import neuronxcc" not in Path("book.ipynb").read_text(), err


def test_a_line_that_goes_on_with_a_remainder_is_no_magic(run):
    Path("book.ipynb").write_bytes(
        book(IMPORTS, "parts = (7\n% 4\n)\n%time parts", KERNEL.replace("nl.negative(t)", "t * parts"))
    )
    Path("cases.toml").write_text(CASE)
    code, out, _ = run("verify", "book.ipynb", "book.ipynb")
    assert code == 0 and "1 case: 1 equal" in out, out


def test_a_kernel_that_a_call_makes_of_a_function_is_one_of_the_notebook(run):
    plain = KERNEL.replace("@nki.jit\n", "")
    Path("book.ipynb").write_bytes(book(IMPORTS, plain, "made = nki.jit(double)\nmade(open('nothing'))"))
    Path("cases.toml").write_text(CASE.replace('"double"', '"made"'))
    code, out, _ = run("verify", "book.ipynb", "book.ipynb")
    assert code == 0 and "made, " in out and "1 case: 1 equal" in out, out


def test_cases_of_notebooks_are_suggested(run):
    Path("book.ipynb").write_bytes(book(IMPORTS, COMPUTING, KERNEL))
    code, out, _ = run("cases", "suggest", "--write", ".")
    assert code == 0 and "1 kernel: 1 with cases, 0 without" in out, out
    assert 'file = "book.ipynb"' in Path("cases.toml").read_text()
    code, out, _ = run("verify", "--migrate", ".")
    assert code == 0 and " equal, 0 different" in out, out


def test_a_notebook_and_a_module_that_it_imports_are_rewritten_together(run):
    helper = IMPORTS + "\n\n\ndef doubled(t):\n    return nl.negative(t)\n"
    Path("helper.py").write_text(helper)
    kernel = KERNEL.replace("nl.negative(t)", "doubled(t)")
    Path("book.ipynb").write_bytes(book(IMPORTS, "from helper import doubled", kernel))
    assert run("rewrite", "--write", ".")[0] == 0
    assert "tensor_scalar" in Path("helper.py").read_text()
    assert "doubled(" in sources_of(Path("book.ipynb").read_bytes())[3]
    assert run("check", ".")[0] == 0


def test_a_kernel_that_two_cells_define_is_told(run):
    Path("book.ipynb").write_bytes(book(IMPORTS, KERNEL, "double(1)", KERNEL.replace("nl.negative(t)", "t")))
    before = Path("book.ipynb").read_bytes()
    code, _, err = run("rewrite", "--write", "book.ipynb")
    assert code == 1 and "cell 5:2:1: NKI035 [manual] 'double' of line 2 of cell 3 is defined again" in err
    assert Path("book.ipynb").read_bytes() == before


def test_comments_silence_findings_in_a_cell(run):
    silenced = LEFT.replace("    nl.store", "    # nki-migrate: ignore[NKI] known\n    nl.store")
    Path("book.ipynb").write_bytes(book(IMPORTS, silenced))
    _, _, err = run("rewrite", "book.ipynb")
    assert "1 ignored" in err and "0 findings" in err


def broken(**changes):
    value = json.loads(book(IMPORTS, KERNEL))
    return json.dumps({key: found for key, found in {**value, **changes}.items() if found is not None}).encode()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"cells": [neuronxcc', "line 1: does not parse as JSON: "),
        (b'{"cells":\n "neuronxcc\xff"}', "line 2: a notebook is UTF-8, and this is not"),
        (b'"neuronxcc"', "this JSON is no notebook: it has no nbformat"),
        (b"[" * 100_000, "nested too deeply for a notebook"),
        (broken(nbformat=3), "a notebook of format 3: open and save it in Jupyter"),
        (broken(cells=None), "not a valid notebook (it: 'cells' is a required property)"),
        (broken(cells=[{"cell_type": "code"}]), "not a valid notebook (cells[0]: "),
        (book(IMPORTS, "x = 1\nprint 'old'"), "cell 3, line 2: does not parse as Python 3"),
        (book(IMPORTS, "x = 1 + \\", "2"), "cell 3, line 1: does not parse as Python 3"),
        (book(IMPORTS, 'x = """', '"""'), "cell 3, line 1: does not parse as Python 3"),
        (book(IMPORTS, "x = '\ud800'", ensure_ascii=True), "cell 3: half of a surrogate pair"),
        (book(IMPORTS, "x = '\0'"), "cell 3"),
    ],
)
def test_a_notebook_that_cannot_be_read_fails_with_one_line_and_stays(run, data, reason):
    Path("book.ipynb").write_bytes(data)
    for command in ("rewrite", "check", "assess"):
        code, out, err = run(command, "book.ipynb")
        assert code == 2 and reason in out + err and "Traceback" not in err, (command, out, err)
    assert run("rewrite", "--write", "book.ipynb")[0] == 2 and Path("book.ipynb").read_bytes() == data


def test_cells_without_ids_are_read_and_get_none(run):
    value = json.loads(book(IMPORTS, KERNEL))
    for each in value["cells"]:
        del each["id"]
    Path("book.ipynb").write_text(json.dumps(value, indent=1))
    assert run("rewrite", "--write", "book.ipynb")[0] == 0
    written = json.loads(Path("book.ipynb").read_text())
    assert "neuronxcc" not in written["cells"][2]["source"] and not any("id" in each for each in written["cells"])


def test_other_kernels_and_notebooks_without_nki_are_skipped(run):
    Path("r.ipynb").write_bytes(
        book(IMPORTS, metadata={"kernelspec": {"name": "ir", "display_name": "R", "language": "R"}})
    )
    Path("none.ipynb").write_bytes(book("x = 1"))
    Path("bad.ipynb").write_bytes(b"{nothing of ours")
    code, _, err = run("rewrite", ".")
    assert code == 0 and err == (
        "r.ipynb: skipped: a notebook of r\n"
        "3 files: 0 would change, 0 unchanged, 3 skipped, 0 failed; 0 findings\n"
    )  # fmt: skip


def test_without_the_extra_named_notebooks_fail_and_others_are_counted(run, monkeypatch):
    monkeypatch.setattr("nki_migrate.reports.is_supported", lambda: False)
    Path("dir").mkdir()
    for name in ("a", "b", "c"):
        Path(f"dir/{name}.ipynb").write_bytes(book(IMPORTS, KERNEL) if name != "c" else b"{}")
    code, _, err = run("rewrite", "--no-cache", "dir")
    assert code == 1 and err.startswith(
        "2 notebooks skipped: reading notebooks needs nbformat: pip install 'nki-migrate"
    )
    for command in ("rewrite", "check"):
        code, _, err = run(command, "dir/a.ipynb")
        assert code == 2 and err.startswith("dir/a.ipynb: failed: reading notebooks needs nbformat: pip install")


def test_a_notebook_is_not_read_from_standard_input(run):
    code, _, err = run("rewrite", "--stdin-filename", "book.ipynb", "-")
    assert (code, err.count("\n")) == (2, 1) and "give a notebook as PATH" in err


def test_a_cookie_of_another_encoding_means_nothing(run):
    Path("book.ipynb").write_bytes(book("# coding: latin-1\n" + IMPORTS, KERNEL))
    assert run("rewrite", "--write", "book.ipynb")[0] == 0
    assert sources_of(Path("book.ipynb").read_bytes())[1].startswith("# coding: latin-1\nimport nki\n")


def test_a_notebook_is_written_and_taken_back(run):
    before = book(IMPORTS, KERNEL)
    Path("book.ipynb").write_bytes(before)
    run("rewrite", "--write", "book.ipynb")
    assert Path("book.ipynb").read_bytes() != before
    assert run("undo")[0] == 0 and Path("book.ipynb").read_bytes() == before


def test_what_is_kept_of_a_notebook_is_what_was_found(run):
    Path("book.ipynb").write_bytes(book(IMPORTS, KERNEL, LEFT))
    first = run("rewrite", "book.ipynb")
    assert run("rewrite", "book.ipynb") == first and first[1]


_LINES = st.sampled_from(
    [
        "x = 1",
        "",
        "# é",
        "if x:\n    %time y\n",
        "f(\n  a,\n)",
        "'''\n%not\n'''",
        's = "%d" % x',
        "x = \\\n  y",
        *MAGICS,
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(_LINES).map("\n".join), max_size=5), st.sampled_from([None, 1]), st.booleans())
def test_a_notebook_whose_module_does_not_change_keeps_every_byte(cells, indent, lines):
    data = book(*cells, indent=indent, lines=lines)
    found = notebook(data)
    assert found.with_script(found.script.text) == data
    for line, text in enumerate(found.script.text.split("\n"), 1):
        place = found.script.place(line)
        if text == "x = 1":
            source = next(each.source for each in found.cells if each.number == place.cell)
            assert source.split("\n")[place.line - 1] == text


def test_code_that_leaves_its_cell_is_refused():
    found = notebook(book("x = 1\n%time x", "y = 2", "z = 3"))
    text = found.script.text
    marks = [line for line in text.split("\n") if line.startswith('"')]
    with pytest.raises(FileError, match="from one cell to another"):
        found.with_script(text.replace(marks[0], marks[1]))
    with pytest.raises(FileError, match="magic of cell"):
        found.with_script(text.replace("nki_migrate_magic(0)", ""))
