"""What a rewrite leaves is marked: it is found again until someone resolves it, and never runs to other numbers."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest
from examples import sampled
from first_rung import FIRST, Options, rewrite
from nki_migrate import codemods
from nki_migrate.checking import check_report
from nki_migrate.cli import main
from nki_migrate.codemods.driver.backlog import backlog, may_have_backlog
from nki_migrate.codemods.syntax import codes
from nki_migrate.codemods.syntax.mark_text import WORD
from nki_migrate.golden import GOLDENS
from nki_migrate.reports import Report
from nki_migrate.rewriting import rewrite_report
from nki_migrate.runtime.cases import TensorSpec
from nki_migrate.runtime.compare import Failure
from nki_migrate.runtime.legality import check_source
from nki_migrate.runtime.spec.versions import NAMES
from test_ladder_rules import LEAVES, WRITES, at, kernel

HEAD = """\
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import neuronxcc.nki.typing as nt
{above}

@nki.jit
def k(x, flag=True, n=4):
    '''(128, 64) gives (128, 64).'''
    out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    {body}
    nl.store(out, t)
    return out
{host}
"""

KERNELS: dict[str, tuple[str, str]] = {
    "a list that a traced loop grows": (
        "NKI004",
        "parts = []\nfor i in nl.affine_range(n):\n    parts.append(2.0)\nt = nl.multiply(t, float(len(parts)))",
    ),
    "a dictionary that a traced loop changes": (
        "NKI004",
        "found = {'n': 0}\nfor i in nl.affine_range(n):\n    found['n'] += 1\nt = nl.multiply(t, found['n'])",
    ),
    "break in a traced loop": (
        "NKI004",
        "s = 1\nfor i in nl.affine_range(n):\n    t = nl.add(t, 1.0)\n    if flag:\n        break",
    ),
    "continue in a traced loop": (
        "NKI004",
        "for i in nl.affine_range(n):\n    if i:\n        continue\n    t = nl.add(t, 1.0)",
    ),
    "return in the middle of a traced loop": (
        "NKI004",
        "for i in nl.affine_range(n):\n    if flag:\n        nl.store(out, t)\n        return out\n"
        "    t = nl.add(t, 1.0)",
    ),
    "behind an elif": (
        "NKI004",
        "parts = []\nfor i in nl.affine_range(n):\n    if n == 1:\n        t = nl.add(t, 2.0)\n"
        "    elif parts.append(1) is None:\n        t = nl.add(t, 1.0)\nt = nl.multiply(t, float(len(parts)))",
    ),
    "an array that no list can replace": ("NKI005", "a = np.arange(n) / 2\nt = nl.multiply(t, float(a[1]))"),
    "a slice that nothing tells": ("NKI024", "t = nl.add(t[:, width(n)], 1.0)"),
    "an instruction without a rewrite": ("NKI090", "t = nisa.local_gather(t, t)"),
    "an exception": ("NKI091", "try:\n    t = nl.add(t, 1.0)\nfinally:\n    pass"),
    "with": ("NKI091", "with flag:\n    t = nl.add(t, 1.0)"),
    "a loop with else": ("NKI091", "for i in range(n):\n    t = nl.add(t, 1.0)\nelse:\n    t = nl.add(t, 2.0)"),
    "global": ("NKI091", "global STATE\nSTATE = 3"),
    "a division that is not exact": ("NKI022", "t = nl.divide(t, nl.add(t, 3.0))"),
    "a store to a parameter": ("NKI036", "nl.store(x, t)"),
    "a division of integers": (
        "NKI030",
        "w = nl.load(x, dtype=nl.int32)\nt = nl.copy(nl.floor(w / 3, dtype=nl.int32), dtype=x.dtype)",
    ),
    "random numbers": ("NKI032", "t = nl.dropout(t, 0.5)"),
}

HOST: dict[str, tuple[str, str]] = {
    "a number of cores": ("NKI090", "CORES = nl.nc(2)"),
    "a simulation": ("NKI007", "def main(x):\n    return nki.simulate_kernel(k, x)"),
    "a latency": ("NKI007", "timed = nki.benchmark(k)\nlatency = timed.benchmark_result"),
    "an abstract tensor": ("NKI090", "def main():\n    return nt.tensor[[2, 2], nl.float32]"),
    "a launch on a grid": ("NKI016", "def main(x):\n    return k[4, 2](x)"),
}


def source_of(body: str = "t = nl.add(t, 1.0)", host: str = "", above: str = "") -> str:
    return HEAD.format(body=body.replace("\n", "\n    "), host=host, above=above)


SOURCES = {
    **{name: source_of(body, above="from theirs import width\n") for name, (_code, body) in KERNELS.items()},
    **{name: source_of(host=f"\n\n{host}\n") for name, (_code, host) in HOST.items()},
}
CODES = {name: code for name, (code, _) in (KERNELS | HOST).items()}


def constructs(report: Report, source: bytes) -> Counter[tuple[str, str]]:
    """The findings by code and construct: the message, and of an import what it imports."""
    return Counter(
        (found.code, found.message if found.code != "NKI001" else _module(source, found.line))
        for found in report.findings
    )


def _module(source: bytes, line: int) -> str:
    return re.sub(r" as \w+", "", source.decode().split("\n")[line - 1].strip())


UNCHANGED = {"ladder_columns", "function_in_branches", "ladder_exact", "ladder_internals"}
"""Goldens that NKI 0.2 takes as they are."""
CHANGED = sorted(
    name
    for name, golden in GOLDENS.items()
    if golden.language == "nki" and not golden.is_beta2_only and golden.target in NAMES and name not in UNCHANGED
)
"""The goldens that a rewrite changes. Which of them leave something only a rewrite tells: no work for a collection."""


def check_again(source: str, options: Options) -> Report:
    first = rewrite_report("kernel.py", source.encode(), options)
    assert first.status == "changed", first.reason
    again = rewrite_report("kernel.py", first.after, options)
    text = first.after.decode()
    if first.findings and "neuronxcc" not in text:
        assert may_have_backlog(text)
        again = Report("kernel.py", "unchanged", None, tuple(backlog(text, ast.parse(text), "0.2")), after=first.after)
    assert again.after == first.after
    found, before = set(constructs(again, first.after)), set(constructs(first, source.encode()))
    assert found == before, text
    return first


@pytest.mark.parametrize("name", sampled("marks", CHANGED))
def test_what_is_left_of_a_golden_is_found_again(name):
    check_again(GOLDENS[name].before, Options(**GOLDENS[name].options))


FROM_THE_ORIGINAL = {
    "host_simulation": "host code needs both namespaces: the file is half migrated",
    "kernel_factory": "the kernels under review stay in a file whose imports, and other kernels, are rewritten already",
    "launch_grid": "the parameter that stands for a grid is declared with the kernel, whose body is rewritten already",
    "launch_grid_helpers": "as launch_grid, through helpers",
    "random_numbers": "the marked calls are of Beta 1, in a kernel of which all else is not",
    "scratch_of_kernels": "the marked declaration reads as one of the new version",
    "softmax_attention": "as launch_grid",
    "whole_numbers": "as random_numbers",
    "normalizations": "as random_numbers",
    "written_parameter": "the kernel's other statements are rewritten already",
    "ladder_transposed": "the name of the new version beside the construct tells that the file is of that version",
    "ladder_views": "the marked subscript reads as one of the new version",
}
"""The goldens that ``--unsafe`` finishes from the original alone, and why."""


@cache
def rewritten(name: str, *, unsafe: bool) -> Report:
    """The rewrite of a golden, which several tests begin with."""
    return rewrite_report("k.py", GOLDENS[name].before.encode(), codemods.Options(unsafe=unsafe))


def reviewed_goldens() -> Iterator[tuple[str, Report]]:
    """The goldens of which ``--unsafe`` rewrites more, and what is written without it."""
    for name, golden in sorted(GOLDENS.items()):
        if not golden.is_beta2_only and golden.target in NAMES:
            safe = rewritten(name, unsafe=False)
            if safe.findings:
                yield name, safe


@pytest.mark.random
def test_unsafe_behind_safe_is_unsafe_at_once_or_says_to_undo():
    """What the second run cannot finish, it leaves as it was, finds all of it again, and says how to finish it."""
    differing = set()
    for name, safe in reviewed_goldens():
        once = rewritten(name, unsafe=True)
        twice = rewrite_report("k.py", safe.after, codemods.Options(unsafe=True))
        third = rewrite_report("k.py", twice.after, codemods.Options(unsafe=True))
        assert "failed" not in (safe.status, once.status, twice.status), (name, twice.reason)
        assert third.after == twice.after, name
        if twice.after != once.after:
            differing.add(name)
            if WORD.encode() in safe.after:
                assert any("nki-migrate undo" in found.help for found in twice.findings), name
    assert differing == set(FROM_THE_ORIGINAL)


def ignoring() -> Iterator[tuple[str, str]]:
    """Each golden of Beta 1 with each rule that it applies, but for those whose imports stay Beta 1's."""
    for name, golden in sorted(GOLDENS.items()):
        if not golden.is_beta2_only and golden.target in NAMES:
            applied = rewritten(name, unsafe=True).applied
            yield from ((name, code) for code in sorted(applied) if code != codes.NAMESPACE)


@pytest.mark.random
def test_what_an_ignored_rule_leaves_is_found_again() -> None:
    """A list in place of a tensor, and ``t[i] = nl.load(..)`` beside it, are Python: nothing else would tell."""
    tried = 0
    for name, code in [*ignoring()][::9]:
        source = GOLDENS[name].before.encode()
        first = rewrite_report("k.py", source, codemods.Options(unsafe=True, ignore=frozenset({code})))
        if not first.findings or first.status != "changed":
            continue
        tried += 1
        again = rewrite_report("k.py", first.after, codemods.Options(unsafe=True))
        is_whole = first.after == rewritten(name, unsafe=True).after
        is_found = again.findings or again.status == "failed" or check_source(first.after.decode())
        assert is_found or is_whole, (name, code)
    assert tried > 30


LATER = "LIMIT = nl.tile_size.total_available_sbuf_size\nAFTER = nl.fori_loop\n\n\n@nki.jit"
"""A file with this changes, whatever is left, and shows only the newest version then."""

LEFT_BY_THE_LADDER = {
    f"{code} {number}": kernel(body).replace("@nki.jit", LATER, 1)
    for number, pieces in enumerate((WRITES, LEAVES))
    for code, (body, _) in pieces.items()
}


def found_of(report: Report) -> set[tuple[str, str]]:
    return {(found.code, found.message) for found in report.findings}


@pytest.mark.parametrize("unsafe", [False, True])
@pytest.mark.parametrize("name", LEFT_BY_THE_LADDER)
def test_what_the_ladder_leaves_is_found_again(name: str, unsafe: bool) -> None:
    source, code = LEFT_BY_THE_LADDER[name], name.split()[0]
    options = codemods.Options(source=at(code)[0], unsafe=unsafe)
    first = rewrite_report("k.py", source.encode(), options)
    assert first.status == "changed", first.reason
    again = rewrite_report("k.py", first.after, replace(options, source=""))
    assert again.after == first.after
    assert found_of(again) == found_of(first)
    finished = rewrite_report("k.py", first.after, replace(options, source="", unsafe=True))
    at_once = rewrite_report("k.py", source.encode(), replace(options, unsafe=True))
    if finished.after != at_once.after:
        assert any("nki-migrate undo" in found.help for found in finished.findings)


def test_what_is_done_later_takes_its_comment_away() -> None:
    source = kernel("y = tile.view(nl.int16, (128, 2, 64))").replace("x, n", "x, *, n", 1)
    first = rewrite_report("k.py", source.encode(), codemods.Options(source="0.2"))
    assert b"    # nki-migrate NKV023: " in first.after
    done = rewrite_report("k.py", first.after, codemods.Options(source="0.2", unsafe=True))
    assert WORD.encode() not in done.after and b"y = tile.view(nl.int16).reshape((128, 2, 64))" in done.after


def test_a_file_in_which_nothing_is_written_gets_no_comments() -> None:
    source = kernel("y = tile.view(nl.int16, (128, 2, 64))")
    report = rewrite_report("k.py", source.encode(), codemods.Options(source="0.2"))
    assert report.status == "unchanged" and {found.code for found in report.findings} == {"NKV023"}


@pytest.mark.parametrize("unsafe", [False, True])
@pytest.mark.parametrize("name", SOURCES)
def test_what_is_left_is_found_again(name, unsafe):
    first = check_again(SOURCES[name], Options(unsafe=unsafe))
    assert unsafe or CODES[name] in {found.code for found in first.findings}


def exit_code(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return int(ended.value.code or 0)


@pytest.mark.parametrize("name", SOURCES)
def test_the_commands_say_so_until_it_is_resolved(name, tmp_path, capsys):
    file = tmp_path / "kernel.py"
    file.write_text(SOURCES[name])
    assert exit_code("rewrite", "--check", file) == 1
    exit_code("rewrite", "--write", file)
    for command in (["rewrite"], ["rewrite", "--check"], ["check"]):
        capsys.readouterr()
        assert exit_code(*command, file) == 1
        captured = capsys.readouterr()
        assert CODES[name] in captured.out + captured.err


def test_what_is_resolved_is_not_found_again(tmp_path):
    file = tmp_path / "kernel.py"
    source = source_of("parts = []\nfor i in nl.affine_range(n):\n    parts.append(2.0)")
    file.write_text(source)
    exit_code("rewrite", "--write", file)
    file.write_text("\n".join(line for line in file.read_text().split("\n") if WORD not in line))
    assert exit_code("rewrite", "--check", file) == 0


@pytest.mark.parametrize(
    "text",
    [
        "import nki\nimport nki.language as nl\n\nnl = None\nx = nl.load\n",
        "import nki.language as nl\n\n\ndef f(nl):\n    return nl.full\n",
        'TEXT = """\n# nki-migrate NKI004: no comment\n"""\n',
        "import nki.isa as nisa\nimport nki.language as nl\n\nt = nl.ndarray, nisa.tensor_copy, nl.new_in_0_4\n",
    ],
)
def test_code_of_beta_2_has_no_backlog(text):
    assert backlog(text, ast.parse(text), "0.2") == []


def test_a_name_of_beta_1_without_a_mark_is_found():
    text = (
        "import nki\nimport nki.language as nl\n\n\n@nki.jit\ndef k(x):\n    return nl.full((128, 4), 1.0, x.dtype)\n"
    )
    report = check_report("kernel.py", text.encode(), FIRST)
    assert {found.line for found in report.findings} == {7}
    assert [(found.code, found.line) for found in backlog(text, ast.parse(text), "0.2")] == [("NKI090", 7)]
    assert backlog(text, ast.parse(text), "0.3") == [], "0.3 has nl.full again"


def test_host_code_keeps_the_binding_that_it_had():
    text = rewrite(source_of(host="\n\nCORES = nl.nc(2)\n")).source
    assert "import nki.language as nl\nimport neuronxcc.nki.language as nl_beta1\n" in text
    assert "CORES = nl_beta1.nc(2)\n" in text


def test_an_import_stays_where_it_is_when_only_host_code_of_beta_1_uses_it():
    source = "import neuronxcc.nki.language as nl\n\nCORES = nl.nc(2)\n"
    assert rewrite(source).source == source


ARGS = {"x": TensorSpec((128, 64), "float32", "normal")}


@pytest.mark.parametrize("unsafe", [False, True])
@pytest.mark.parametrize("name", [name for name in KERNELS if "theirs" not in name])
def test_a_kernel_in_which_something_is_left_gives_no_other_numbers(name, unsafe, migrate):
    migration = migrate(source_of(KERNELS[name][1]), ARGS, Options(unsafe=unsafe))
    assert migration.objection is None
    after = migration.after
    if not isinstance(after, Failure):
        assert not migration.trouble or migration.outcome.inexact, migration.trouble
        return
    above = migration.outcome.source.split("\n")[: after.line]
    assert WORD in after.message or any(WORD in line for line in above), after.message


def test_an_assertion_of_the_source_is_a_fact():
    body = "u = nl.load(x[0:128, 0:64])\nt = nl.sum(u, axis=-1)"
    source = source_of(body).replace("    out =", "    assert x.ndim != 2\n    out =", 1)
    outcome = rewrite(source)
    assert "assert len(x.shape) == 2" not in outcome.source
    assert any("asserts otherwise" in found.message for found in outcome.findings)


@pytest.mark.parametrize(
    "fact",
    ["x.ndim == 3", "3 == x.ndim", "x.ndim in (3, 4)", "x.shape == (128, 64, 2)", "x.ndim > 2", "n and x.ndim == 3"],
)
def test_a_rank_that_the_source_asserts_is_the_rank(fact):
    source = source_of("u = nl.load(x[0:128, 0:64])\nt = nl.sum(u, axis=-1)").replace("    t = nl.load(x)\n", "", 1)
    outcome = rewrite(source.replace("    out =", f"    assert {fact}\n    out =", 1))
    last = "2" if "128" in fact else "x.shape[2]"
    assert f"(128, 64, {last})" in outcome.source and "len(x.shape) == 2" not in outcome.source


def test_a_tuple_of_one_size_keeps_its_comma():
    text = rewrite(source_of("u = nl.ndarray((nl.par_dim(128),), dtype=x.dtype, buffer=nl.sbuf)")).source
    assert "u = nl.ndarray((128,), dtype=x.dtype, buffer=nl.sbuf)" in text


@pytest.mark.parametrize("shape", ["(128)", "128", "(rows)", "(x.shape[0])", "rows * 2", "ROWS"])
def test_a_number_is_no_shape(shape):
    lines = [
        "import nki",
        "import nki.language as nl",
        "ROWS = 128",
        "@nki.jit",
        "def k(x):",
        "    rows, cols = x.shape",
    ]
    text = "\n".join([*lines, f"    return nl.ndarray({shape}, dtype=x.dtype, buffer=nl.sbuf)", ""])
    assert [found.code for found in check_report("kernel.py", text.encode()).findings] == ["NKL112"]


def test_functions_of_beta_2_files_are_not_read_as_beta_1(tmp_path, capsys):
    helper = "import nki.isa as nisa\n\n\ndef copied(dst, src):\n    nisa.tensor_copy(dst=dst, src=src)\n"
    (tmp_path / "helper.py").write_text(helper)
    (tmp_path / "kernel.py").write_text(source_of("copied(t, t)", above="from helper import copied\n"))
    exit_code("rewrite", tmp_path)
    captured = capsys.readouterr()
    assert "not rewritten yet" not in captured.err and "helper.py:" not in captured.err


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("def f(x):\n    from neuronxcc.starfish.support.dtype import cast\n\n    return cast(x)\n", 7),
        ("from neuronxcc.starfish.support import dtype as d\nX = d.cast(3)\n", 5),
        ("import neuronxcc.driver.part as part\n", 4),
        ("import neuronxcc.driver.part as part\ndel part\n", 4),
        ("import neuronxcc\nV = neuronxcc.__version__\n", None),
    ],
)
def test_what_a_file_of_beta_2_uses_of_the_old_compiler_is_found(text: str, line: int | None) -> None:
    source = f"import nki\nimport nki.language as nl\n\n{text}"
    report = rewrite_report("kernel.py", source.encode(), Options())
    assert report.status == "unchanged", report.reason
    assert [found.line for found in report.findings] == ([line] if line is not None else [])


def test_a_change_in_a_line_with_a_comment_on_a_rule_is_a_change():
    line = "    out = nl.ndarray((128, 4), dtype=np.float32, buffer=nl.shared_hbm)  # nki-migrate NKI004: seen\n"
    head = "import numpy as np\nimport neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\n\nONES = np.ones(3)\n"
    source = f"{head}\n\n@nki.jit\ndef k(x):\n{line}    return out\n"
    outcome = rewrite(source, Options(select=frozenset({codes.NAMESPACE, codes.DATA_TYPES, codes.LANGUAGE})))
    expected = source.replace("neuronxcc.nki as nki", "nki").replace("neuronxcc.", "")
    assert outcome.source == expected.replace("np.float32", "nl.float32")
