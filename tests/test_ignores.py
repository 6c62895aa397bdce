"""``# nki-migrate: ignore[CODE] reason`` silences the findings of a statement, and is missed when it has none."""

import ast

import pytest
from nki_migrate.cli import main
from nki_migrate.codemods import Options
from nki_migrate.codemods.syntax.nodes import first_line
from nki_migrate.golden import GOLDENS
from nki_migrate.ignores import ignores_in, rewrite_knows, with_ignores
from nki_migrate.rewriting import rewrite_report

REASON = "nki-migrate: ignore[{}] we know"

SOURCE = """\
# one
import a


# two
@a.b  # three
# four
def f(x):  # five
    y = [  # six
        x,  # seven
    ]
    # eight
    for z in y:
        # nine
        x += z
    return x
    # ten


g = 1  # eleven
"""
WHOLE, FUNCTION, LIST = range(1, 21), range(6, 17), range(9, 12)
ABOUT = {
    "one": WHOLE, "two": FUNCTION, "three": FUNCTION, "four": FUNCTION, "five": FUNCTION, "six": LIST, "seven": LIST,
    "eight": range(13, 16), "nine": range(15, 16), "ten": range(20, 21), "eleven": range(20, 21),
}  # fmt: skip


@pytest.mark.parametrize("word", ABOUT)
def test_a_comment_is_about_the_statement_that_it_stands_in_or_above(word):
    line = next(n for n, text in enumerate(SOURCE.split("\n"), 1) if text.endswith(f"# {word}"))
    text = SOURCE.replace(f"# {word}\n", "# nki-migrate: ignore[NKI001, nki0] since\n")
    (found,) = ignores_in(text, ast.parse(text))
    lines = range(1, 22) if word == "one" else ABOUT[word]
    assert (found.line, found.codes, found.lines) == (line, ("NKI001", "NKI0"), lines)


def rewritten(source):
    """The report on a file with this source, and what it would be without comments that ignore."""
    plain = rewrite_report("kernel.py", source.encode(), Options())
    return with_ignores(plain, rewrite_knows), plain


LEFT = ("forced_auto_alloc", "softmax_attention")
"""Goldens whose befores have findings."""


def with_comments(source, findings, where):
    """The source with a comment for each finding, behind its line or above its statement."""
    lines = source.split("\n")
    if where == "file":
        codes = ",".join(sorted({finding.code for finding in findings}))
        return f"# {REASON.format(codes)}\n{source}"
    statements = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)]
    for line in sorted({finding.line for finding in findings}, reverse=True):
        codes = ",".join(sorted({finding.code for finding in findings if finding.line == line}))
        around = [n for n in statements if first_line(n) <= line <= n.end_lineno]
        place = max(first_line(n) for n in around)
        margin = lines[place - 1][: len(lines[place - 1]) - len(lines[place - 1].lstrip())]
        lines.insert(place - 1, f"{margin}# {REASON.format(codes)}")
    return "\n".join(lines)


@pytest.mark.parametrize("where", ["statement", "file"])
@pytest.mark.parametrize("name", LEFT)
def test_every_finding_can_be_ignored_before_the_rewrite_and_after_it(name, where):
    source = GOLDENS[name].before
    findings = rewritten(source)[0].findings
    assert findings
    told, plain = rewritten(with_comments(source, findings, where))
    assert plain.status in ("changed", "unchanged"), plain.reason
    assert told.findings == ()
    assert len(told.ignored) == len(findings)
    again, _ = rewritten(told.after.decode())
    assert [f for f in again.findings if f.code != "NKM005"] == []


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        with pytest.raises(SystemExit) as exit_:
            main([*arguments, "--no-cache"] if arguments[0] == "rewrite" else [*arguments])
        out, err = capsys.readouterr()
        return exit_.value.code, out, err

    return call


def test_a_comment_that_ignores_nothing_is_a_finding(run, tmp_path):
    (tmp_path / "k.py").write_text(
        "import nki\n\nx = 1  # nki-migrate: ignore[NKI004] once\n# nki-migrate: ignore\ny = 2\n"
    )
    (tmp_path / "k.py").write_text("import neuronxcc.nki as nki\n" + (tmp_path / "k.py").read_text())
    code, _out, err = run("rewrite", "--check", "k.py")
    assert "k.py:4:8: NKM005 [manual] this comment ignores NKI004, which is not found here" in err
    assert "k.py:5:1: NKM005 [manual] this comment names no code, and ignores nothing" in err
    assert code == 1
    code, _out, err = run("rewrite", "--check", "--select", "NKI001", "k.py")
    assert "NKI004" not in err


def test_check_ignores_what_it_finds_and_misses_its_own_codes_only(run, tmp_path):
    kernel = "import nki\n\n\n@nki.jit\ndef k(x):\n    try:{}\n        pass\n    finally:\n        pass\n    return x\n"
    (tmp_path / "k.py").write_text(kernel.format(""))
    code, out, _err = run("check", "k.py")
    found = out.split()[1]
    assert code == 1 and found.startswith("NKL")
    (tmp_path / "k.py").write_text(kernel.format(f"  # nki-migrate: ignore[{found}] legacy"))
    code, out, err = run("check", "k.py")
    assert (code, out) == (0, "") and "1 ignored" in err
    (tmp_path / "k.py").write_text(f"import nki\n\nx = 1  # nki-migrate: ignore[{found}, NKI004] legacy\n")
    code, out, _err = run("check", "k.py")
    assert code == 1 and out.count("NKM005") == 1 and found in out
