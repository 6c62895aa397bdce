"""``check`` on files: which version judges, which code counts as kernel code, and one repository of several files."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from nki_migrate.checking import check_reports
from nki_migrate.cli import cli
from nki_migrate.discover import found_files
from nki_migrate.runtime.legality import check_source, check_sources
from nki_migrate.runtime.spec.versions import NAMES, shown, version

GOLDEN = Path(__file__).parent.parent / "golden"
HEAD = "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n\n\n"
KERNEL = HEAD + "@nki.jit\ndef kernel(x, *, y=1):\n    return nl.load(x)\n"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL)
    return path


def found(path, target):
    (report,) = check_reports(found_files([str(path)]), target)
    return [(finding.code, finding.line) for finding in report.findings]


def messages(path, target):
    (report,) = check_reports(found_files([str(path)]), target)
    return [finding.message for finding in report.findings]


def test_a_range_says_in_which_versions_a_line_is_refused(file):
    assert found(file, "0.2..0.6") == [("NKL008", 7), ("NKL052", 8)]
    keyword_only, load = messages(file, "0.2..0.6")
    assert keyword_only.startswith("NKI 0.3 to 0.6: ") and load.startswith("NKI 0.2: ")
    assert not any(text.startswith("NKI 0.") for text in messages(file, "0.3..0.6"))


@pytest.mark.parametrize("low, high", [(NAMES[0], NAMES[-1]), ("0.3", "0.5"), ("0.4", "0.4")])
@pytest.mark.parametrize("golden", sorted(GOLDEN.glob("ladder_*/before.py")), ids=lambda path: path.parent.name)
def test_a_range_finds_what_each_of_its_versions_finds(golden, low, high):
    alone = {at: set(found(golden, at)) for at in NAMES if low <= at <= high}
    together = found(golden, f"{low}..{high}")
    assert set(together) == set().union(*alone.values())
    parting = [text for text in messages(golden, f"{low}..{high}") if text.startswith("NKI 0.")]
    assert not parting or len(alone) > 1
    in_some = set().union(*alone.values()) - set.intersection(*alone.values())
    assert len(parting) >= len(in_some)


@pytest.mark.parametrize(
    ("text", "said"),
    [("0.6..0.2", "the older version stands first, 0.2..0.6"), ("0.2..", "there is no NKI version"), ("0.9", "0.9")],
)
def test_a_range_that_is_none_is_refused_in_one_line(file, text, said):
    result = CliRunner().invoke(cli, ["check", str(file), "--target", text])
    assert result.exit_code == 2 and said in result.output and "Traceback" not in result.output


@pytest.mark.parametrize(
    ("names", "text"),
    [(["0.2"], "0.2"), (["0.3", "0.4", "0.5"], "0.3 to 0.5"), (["0.2", "0.4", "0.5"], "0.2, 0.4 to 0.5")],
)
def test_versions_are_shown_as_runs(names, text):
    assert shown([version(name) for name in names]) == text


def test_each_version_judges_by_its_own_table(file):
    assert found(file, "0.2") == [("NKL052", 8)]
    assert found(file, "0.3") == [("NKL008", 7)]


@pytest.mark.parametrize(
    ("arguments", "code"), [([], "NKL008"), (["--target", "0.2"], "NKL052"), (["--target", "0.3"], "NKL008")]
)
def test_the_command_takes_the_version(file, arguments, code):
    result = CliRunner().invoke(cli, ["check", *arguments, str(file)])
    assert code in result.output and result.output.count("NKL") == 1


def test_an_unknown_version_is_refused():
    with pytest.raises(ValueError, match=r"there is no NKI version 0\.9: choose from 0\.2, 0\.3"):
        check_source(KERNEL, target="0.9")


def test_source_that_is_not_python_is_an_error_with_its_file():
    with pytest.raises(SyntaxError) as error:
        check_sources({"good.py": "x = 1\n", "bad.py": "def (:\n"}, target="0.2")
    assert error.value.filename == "bad.py"


def test_kernels_reach_code_across_files():
    sources = {
        "lib/parts.py": HEAD + "def part(x):\n    del x\n\n\ndef host(x):\n    del x\n",
        "lib/__init__.py": "from .parts import part\n",
        "kernel.py": HEAD + "from lib import part\n\n\n@nki.jit\ndef kernel(x):\n    return part(x)\n",
    }
    violations = check_sources(sources, target="0.2")
    assert [(v.line, v.code) for v in violations["lib/parts.py"]] == [(7, "NKL010")]
    assert violations["kernel.py"] == violations["lib/__init__.py"] == ()


def test_violations_come_in_the_order_of_the_lines():
    body = "".join(f"    z{i} = [j for j in x]\n    del z{i}\n" for i in range(5))
    lines = [v.line for v in check_source(HEAD + "@nki.jit\ndef kernel(x):\n" + body, target="0.2")]
    assert lines == sorted(lines) and len(lines) == 10


def test_deep_nesting_does_not_exhaust_the_checker():
    depth = min(80, sys.getrecursionlimit() // 10)
    expression = "(" * depth + "x" + ")" * depth + " + 1" * depth
    assert check_source(HEAD + f"@nki.jit\ndef kernel(x):\n    return {expression}\n", target="0.2") == ()


KEYWORDS = ("sbuf", "psum", "hbm")


@pytest.mark.parametrize("name", KEYWORDS)
def test_memories_are_names_of_their_own_until_03(name):
    source = HEAD + f"@nki.jit\ndef kernel(x):\n    return {name}.view(nl.float32, (128, 512))\n"
    assert check_source(source, target="0.2") == ()
    assert [v.code for v in check_source(source, target="0.3")] == ["NKL057"]


def test_math_needs_no_import():
    assert check_source(HEAD + "@nki.jit\ndef kernel(x):\n    return math.ceil(1.5)\n", target="0.2") == ()


RESOLVE = "Failed to resolve an argument "
TEXTS = {
    "nisa.memset(dst=x, value=0.0, dtype=1)": "unexpected keyword argument 'dtype' in builtin function "
    "'builtin_isa_memset'",
    "nisa.memset(value=0.0)": "argument 'dst' not found, in builtin function 'builtin_isa_memset'",
    "nl.ndarray(shape=(1, 1))": "argument 'dtype' not found, in builtin function 'builtin_lang_ndarray'",
    "nisa.memset(dst=x, value=0.0, mask=1)": "mask parameter is not supported",
    "nisa.tensor_tensor(x, x, x, op=nl.divide)": RESOLVE + "'op', expecting operator, got 'source'",
    "nisa.tensor_tensor(x, x, x, op='max')": RESOLVE + "'op', expecting operator, got 'string'",
    "nisa.tensor_scalar(dst=x, data=x, op0=nl.logical_not, operand0=1)": RESOLVE
    + "'op0', 'logical_not' operator not supported",
    "nisa.activation(dst=x, op=nl.add, data=x)": RESOLVE + "'op', expecting activation function, got 'source'",
    "nisa.activation(dst=x, op=nl.exp, data=1.0)": RESOLVE + "'data', expecting tensor access, got 'float'",
    "nisa.dma_copy(dst=x, src=x, dst_rmw_op=nl.multiply)": "Unsupported operation",
    "nisa.dma_copy(dst=x, src=x, dst_rmw_op=nl.divide)": RESOLVE + "'dst_rmw_op', expecting operator, got 'source'",
    "nl.num_programs(1)": "invalid program axis (some 1) (must be zero)",
    "nl.program_id(1)": "invalid program axis 1 (must be zero)",
    "nisa.nothing(x)": "name nki.isa.nothing not found",
    "helper()": "argument 'a' not supplied",
    "helper(1, 2)": "too many arguments given (varargs not supported)",
    "helper(b=1, a=1)": "unexpected keyword argument 'b'",
    "list()": "argument 't' not found, in builtin function 'builtin_python_list'",
    "dict(a=1)": "unexpected keyword argument 'a' in builtin function 'builtin_python_dict'",
    "min()": "min expected at least 1 argument, got 0",
    "sum([1])": "'none' is not a callable type",
    "zip([1], [2])": "builtins.zip not found!",
    "missing": "missing not found!",
}
"""What the Lean half says (``KLR/Trace``), read from its source at 7ccd18c."""


@pytest.mark.parametrize("expression", TEXTS)
def test_the_texts_are_those_of_the_front_end(expression):
    source = HEAD + f"def helper(a):\n    return a\n\n\n@nki.jit\ndef kernel(x):\n    {expression}\n"
    assert [v.message for v in check_source(source, target="0.2")] == [TEXTS[expression]]
