"""Whatever a rewrite takes for true, and Beta 1 did not ask for, is said before anybody runs the kernel."""

import ast
import json
import random
import re
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from examples import examples, sampled
from first_rung import Options, rewrite
from hypothesis import given, settings
from hypothesis import strategies as st
from nki_migrate.cli import main
from nki_migrate.codemods.syntax.mark_text import is_mark
from nki_migrate.runtime.cases import TensorSpec
from nki_migrate.runtime.compare import Failure
from test_codemods_random import HEAD as RANDOM_HEAD
from test_codemods_random import Kernel

HEAD = "import neuronxcc.nki as nki\nimport neuronxcc.nki.isa as nisa\nimport neuronxcc.nki.language as nl\n\n\n"
GOLDEN = Path(__file__).resolve().parent.parent / "golden"

BROADCAST = """@nki.jit
def k(x, y):
    out = nl.ndarray((128, 16), dtype=x.dtype, buffer=nl.shared_hbm)
    a = nl.load(x)
    nl.store(out, nl.add(a, nl.load(y)))
    return out
"""
HALF_KNOWN = BROADCAST.replace("nl.load(x)", "nl.load(x[0:128, 0:16])")
PART = """def helper(t):
    return nl.exp(nl.load(t[0:64]))


@nki.jit
def k(x):
    r = helper(x[0:128, 0:16])
    out = nl.ndarray((64, 16), dtype=nl.float32, buffer=nl.shared_hbm)
    nl.store(out, r)
    return out
"""
MEAN = """@nki.jit
def k(x):
    r = nl.mean(nl.load(x), axis=1)
    out = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    nl.store(out, r)
    return out
"""
PSUM = """@nki.jit
def k(x, w, n):
    acc = nl.zeros((128, 64), dtype=nl.float32, buffer=nl.psum)
    for i in nl.affine_range(n):
        acc += nl.matmul(nl.load(x[0:128, 0:128]), nl.load(x[0:128, 0:64]), transpose_x=True)
    out = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    nl.store(out, acc)
    return out
"""
MATMUL = """@nki.jit
def k(x, w):
    acc = nl.matmul(nl.load(x[0:128, 0:128]), nl.load(w[0:128, 0:64], dtype=nl.bfloat16), transpose_x=True)
    out = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    nl.store(out, acc)
    return out
"""
TYPES = MATMUL.replace(", dtype=nl.bfloat16", "")


def tensor(*shape, dtype="float32"):
    return TensorSpec(shape, dtype, "integers" if dtype != "float32" else "normal")


@pytest.mark.parametrize(
    ("source", "args", "line", "text"),
    [
        (BROADCAST, {"x": tensor(128, 16), "y": tensor(1, 16)}, 10, r"a\.shape == y_tile\.shape"),
        (HALF_KNOWN, {"x": tensor(128, 16), "y": tensor(1, 16)}, 10, r"a\.shape\[0\] == b\.shape\[0\]"),
        (PART, {"x": tensor(128, 16)}, 7, r"t has one element in each row from dimension 1 on"),
        (MEAN, {"x": tensor(128, 16, dtype="int32")}, 8, r"x\.dtype in \(nl\.float32, .*float16\)"),
        (PSUM, {"x": tensor(128, 128), "w": tensor(128, 64), "n": 0}, 8, r"n > 0"),
        (MATMUL, {"x": tensor(128, 128), "w": tensor(128, 64)}, 8, r"x\.dtype != nl\.float32"),
        (
            TYPES,
            {"x": tensor(128, 128), "w": TensorSpec((128, 64), "bfloat16")},
            8,
            r"\(x\.dtype == nl\.float32\) == \(w\.dtype == nl\.float32\)",
        ),
    ],
    ids=[
        *("a row and a tile", "a row and a known tile", "a part of a part", "mean of integers", "no iterations"),
        *("a matmul of a type", "a matmul of two types"),
    ],
)
def test_what_ends_the_kernel_was_said(migrate, source, args, line, text):
    migration = migrate(HEAD + source, args)
    assert migration.objection is None and not isinstance(migration.before, Failure)
    assert any(trouble.startswith("after: error") for trouble in migration.trouble)
    assert [a.line for a in migration.outcome.asserted if re.fullmatch(text, a.text)] == [line]


@pytest.mark.parametrize("kind", ["x.dtype", "nl.float32"])
def test_a_matmul_of_two_tiles_of_one_type_assumes_nothing(migrate, kind):
    source = HEAD + TYPES.replace("(x[0:128, 0:128])", f"(x[0:128, 0:128], dtype={kind})")
    migration = migrate(source.replace("0:64]", f"0:64], dtype={kind}"), {"x": tensor(128, 128), "w": tensor(128, 64)})
    assert migration.trouble == () and migration.outcome.asserted == ()


def test_a_part_that_an_index_reduced_is_not_indexed_again():
    source = PART.replace("x[0:128, 0:16]", "x[:, 1]").replace("t[0:64]", "t[0:3, 0:8]")
    assert any(finding.code == "NKI024" for finding in rewrite(HEAD + source).findings)


@pytest.mark.parametrize(
    "test", ['assert n > 0, "loops"', "assert x.dtype == np.float32", 'if n < 1:\n        raise ValueError("loops")']
)
def test_assertions_of_the_source_are_its_own(test):
    source = f"import numpy as np\n{HEAD}{PSUM}".replace("def k(x, w, n):", f"def k(x, w, n):\n    {test}")
    outcome = rewrite(source)
    assert "assert" in outcome.source.partition("acc =")[0]
    assert {a.text for a in outcome.asserted} <= {"n > 0"}


def new_assertions(before, after):
    """The conditions that the output asserts and the input does not, apart from marks of findings."""

    def conditions(source):
        asserted = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Assert)]
        return {ast.unparse(node.test) for node in asserted if not is_mark(node)}

    return conditions(after) - conditions(before)


def check(source, outcome=None):
    outcome = outcome or rewrite(source)
    said = {a.text for a in outcome.asserted}
    assert new_assertions(source, outcome.source) <= said
    for asserted in outcome.asserted:
        assert asserted.why and 1 <= asserted.line <= source.count("\n")
        assert asserted.function == "" or f"def {asserted.function}(" in source
    assert rewrite(outcome.source).asserted == ()
    return bool(said)


def loose(source):
    """A random kernel that no longer tells the sizes of its tensors, nor how often its loops run."""
    head, tail = source[: len(RANDOM_HEAD)], source[len(RANDOM_HEAD) :]
    head = re.sub(r"nl\.load\((\w)\[[^]]*\]\)", r"nl.load(\1)", head)
    return head.replace("def k(x, y, w, flag)", "def k(x, y, w, flag, n)") + tail.replace(
        "affine_range(2)", "affine_range(n)"
    )


@pytest.mark.random
@settings(max_examples=examples(25))
@given(st.randoms(use_true_random=False), st.booleans())
def test_every_new_assertion_of_a_random_kernel_is_said(chosen, is_loose):
    source = Kernel(chosen).source()
    check(loose(source) if is_loose else source)


def test_some_random_kernels_have_assertions():
    """So that the property above is about something."""
    assert sum(check(loose(Kernel(random.Random(seed)).source())) for seed in range(20)) >= 5


@pytest.mark.parametrize(
    "name",
    sampled("assertions", sorted(path.parent.name for path in GOLDEN.glob("*/before.py"))),
)
def test_every_new_assertion_of_a_golden_is_said(name, rewritten):
    source = (GOLDEN / name / "before.py").read_text()
    outcome = rewritten(source, Options())
    if not re.search(r"\b(assert|raise)\b", source):
        check(source, outcome)
    else:
        ours = {t for t in new_assertions(source, outcome.source) if f'assert {t}, "rewritten for' in outcome.source}
        assert ours <= {a.text for a in outcome.asserted}


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.py").write_text(HEAD + PSUM)
    return tmp_path / "k.py"


def printed(capfd, *arguments):
    with pytest.raises(SystemExit) as exit_:
        main(["rewrite", *arguments, "k.py"])
    out, err = capfd.readouterr()
    return exit_.value.code, out, err


NOTE = "'k' takes it that n > 0: rewritten for loops that run"


def test_notes_are_printed_and_counted_and_change_no_exit_code(file, capfd):
    code, _, err = printed(capfd, "--check")
    assert code == 1 and f"k.py:8: note: {NOTE}\n" in err
    assert err.endswith("1 file: 1 would change, 0 unchanged, 0 skipped, 0 failed; 0 findings; 1 assumption\n")
    code, _, err = printed(capfd, "--write")
    assert code == 0 and f"k.py:8: note: {NOTE}\n" in err
    assert printed(capfd, "--check")[::2] == (
        0,
        "1 file: 0 would change, 1 unchanged, 0 skipped, 0 failed; 0 findings\n",
    )


def test_every_format_has_the_notes(file, capfd):
    document = json.loads(printed(capfd, "--output-format", "json")[1])
    assumption = {"line": 8, "function": "k", "text": "n > 0", "why": "rewritten for loops that run"}
    assert document["files"][0]["assumptions"] == [assumption] and document["summary"]["assumptions"] == 1
    github = printed(capfd, "--output-format", "github")[1]
    assert f"::notice file=k.py,line=8,title=NKM004 assumption::{NOTE}\n" in github
    results = json.loads(printed(capfd, "--output-format", "sarif")[1])["runs"][0]["results"]
    assert [(r["level"], r["message"]["text"]) for r in results if r["ruleId"] == "NKM004"] == [
        ("note", f"assumption: {NOTE}")
    ]
    assert f"<system-out>k.py:8: note: {escape(NOTE)}</system-out>" in printed(capfd, "--output-format", "junit")[1]
    printed(capfd, "--check", "--report", "page.html")
    page = (file.parent / "page.html").read_text()
    assert "takes it that n &gt; 0" in page and "assumptions" in page
