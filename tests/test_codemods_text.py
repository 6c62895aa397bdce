"""The text around what is rewritten: comments, strings, blank lines, indentation, brackets and odd spellings stay."""

from __future__ import annotations

import ast
import io
import itertools
import tokenize
from collections import Counter

import pytest
from examples import examples, sampled
from first_rung import Options, rewrite
from hypothesis import given, settings
from hypothesis import strategies as st
from nki_migrate.codemods import Outcome
from nki_migrate.golden import NKI_GOLDENS as GOLDENS
from nki_migrate.runtime.cases import TensorSpec
from nki_migrate.runtime.legality import check_source

HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np

"""
BODY = (
    "out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)",
    "t = nl.load(x)",
    "u = nl.multiply(t, 2.0)",
    "u[...] = nisa.tensor_scalar(u, np.add, 1.0)",
    "v = nl.ndarray((2, nl.par_dim(128), 64), dtype=nl.float32, buffer=nl.sbuf)",
    "v[1] = nl.add(t, u)",
    "nl.store(out, v[1])",
    "return out",
)
ARGS = {"x": TensorSpec((128, 64), "float32")}


def written(lines: list[str], indent: str = "    ") -> str:
    return HEAD + "@nki.jit\ndef k(x):\n" + "".join(f"{indent}{line}\n" for line in lines)


def comments(source: str) -> Counter[str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return Counter(token.string for token in tokens if token.type == tokenize.COMMENT)


def clean(outcome: Outcome) -> str:
    """The source of an outcome without findings, which is legal Beta 2 and final."""
    assert outcome.findings == ()
    assert list(check_source(outcome.source, target="0.2")) == []
    assert rewrite(outcome.source).source == outcome.source
    return outcome.source


PLAIN = ast.dump(ast.parse(rewrite(written(list(BODY))).source))
COMMENTS = st.lists(
    st.sampled_from(("# a", "#b  c", "# t = nl.load(x)", "#: é", "# type: ignore", "#!", "")), max_size=3
)


@pytest.mark.random
@settings(max_examples=examples(15), deadline=None)
@given(st.lists(COMMENTS, min_size=len(BODY), max_size=len(BODY)), st.lists(st.booleans(), min_size=8, max_size=8))
def test_comments_above_and_behind_any_statement_are_kept_and_change_nothing(above, behind):
    lines = []
    for number, (line, notes, note) in enumerate(zip(BODY, above, behind, strict=True)):
        lines += notes
        lines.append(f"{line}  # behind {number}" if note else line)
    source = written(lines)
    text = clean(rewrite(source))
    assert comments(text) == comments(source)
    assert ast.dump(ast.parse(text)) == PLAIN


@pytest.mark.random
@settings(max_examples=examples(10), deadline=None)
@given(st.sampled_from((" ", "  ", "   ", "    ", "        ", "\t", "\t\t")), st.integers(0, 3))
def test_the_indentation_of_the_file_is_that_of_new_statements(indent, empty):
    source = written([*BODY[:2], *[""] * empty, *BODY[2:]], indent)
    text = clean(rewrite(source))
    assert ast.dump(ast.parse(text)) == PLAIN
    function = text.partition("def k(x):\n")[2]
    depths = {line[: len(line) - len(line.lstrip())] for line in function.split("\n") if line.strip()}
    assert min(depths, key=len) == indent


SPELLINGS = {
    "u = nl.multiply(t, 2.0)": (
        "u = nl.multiply(\n        t,\n        2.0,\n    )",
        "u = \\\n        nl.multiply(t, 2.0)",
        "u = (nl.multiply(t, 2.0))",
        "(u) = nl.multiply(t, 2.0)",
        "u = nl . multiply ( t , 2.0 )",
        "u: nl.ndarray = nl.multiply(t, 2.0)",
        "u = nl.multiply(x=t, y=2.0)",
        "u = nl.multiply(y=2.0, x=t)",
        "u = t * 2.0",
        "u = (\n        t\n        * 2.0\n    )",
    ),
    "t = nl.load(x)": (
        "t = nl.load(src=x)",
        "t = nl.load(x[...])",
        "t = nl.load(\n        x\n    )",
        "t = nl.load(x);",
    ),
    "v[1] = nl.add(t, u)": (
        "v[1] = t + u",
        "v[1,] = nl.add(t, u)",
        "v[1, ...] = nl.add(t, u)",
        "v[1, :, :] = nl.add(t, u)",
        "v[1][...] = nl.add(t, u)",
        "v[ 1 ] = nl.add(t, (u))",
    ),
}


@pytest.mark.parametrize(
    "spelling", [(old, new) for old, many in SPELLINGS.items() for new in many], ids=lambda s: s[1]
)
def test_another_spelling_of_a_statement_means_the_same(migrate, spelling):
    old, new = spelling
    migration = migrate(written([new if line == old else line for line in BODY]), ARGS)
    assert migration.outcome.findings == ()
    assert (migration.objection, migration.trouble) == (None, ())


def test_statements_on_one_line_come_out_one_below_the_other(migrate):
    joined = [f"{BODY[0]}; {BODY[1]}; {BODY[2]}  # three", *BODY[3:]]
    migration = migrate(written(joined), ARGS)
    assert ast.dump(ast.parse(migration.outcome.source)) == PLAIN
    assert (migration.objection, migration.trouble) == (None, ())
    assert "# three" in migration.outcome.source


@pytest.mark.parametrize(
    "quoted", ['"""t = nl.load(x)\n\n    # no comment\n    """', "'nl.store(out, v)'", 'r"""\\d"""']
)
def test_strings_that_look_like_code_are_kept(quoted):
    source = written([quoted, *BODY])
    text = clean(rewrite(source))
    assert quoted in text
    assert comments(text) == comments(source)


@pytest.mark.parametrize(
    "odd",
    [
        "\x0c\n",  # a form feed between statements
        "    é = 'ß'  # ü\n",
        "    name = '''two\n    lines'''\n",
        "    size = 1 if True else \\\n        2\n",
        "    pair = (1,\n\n            2)\n",
    ],
)
def test_odd_text_between_rewritten_statements_is_kept(odd):
    lines = written(list(BODY)).replace("    u = nl.multiply", f"{odd}    u = nl.multiply")
    assert odd in clean(rewrite(lines))


@pytest.mark.parametrize("end", ["", "\n", "\n\n\n", "\n# the end", "\n\n    # indented end\n", "\n\x0c\n"])
def test_the_end_of_the_file_is_kept(end):
    source = written(list(BODY)).rstrip("\n") + end
    text = clean(rewrite(source))
    assert text.endswith(end) and comments(text) == comments(source)


FROM_BETA_1 = sorted(name for name, golden in GOLDENS.items() if not golden.is_beta2_only)


@pytest.mark.parametrize(
    ("name", "indent"),
    sampled(
        "text",
        zip(FROM_BETA_1, itertools.cycle(("\t", "  ")), strict=False),
    ),
)
def test_a_golden_indented_with_tabs_or_two_spaces_is_the_same_program(name, indent, rewritten):
    golden = GOLDENS[name]
    source = reindented(golden.before, indent)
    assert ast.dump(ast.parse(source)) == ast.dump(ast.parse(golden.before))
    assert ast.dump(ast.parse(rewrite(source).source)) == ast.dump(
        ast.parse(rewritten(golden.before, Options()).source)
    )


def reindented(source: str, indent: str) -> str:
    """Another indentation of blocks; what stands inside of brackets and strings keeps its columns."""
    starts: dict[int, int] = {}
    depth = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.INDENT:
            depth += 1
        elif token.type == tokenize.DEDENT:
            depth -= 1
        elif token.type not in (tokenize.NL, tokenize.COMMENT, tokenize.NEWLINE, tokenize.ENDMARKER):
            starts.setdefault(token.start[0], depth if token.line[: token.start[1]].strip() == "" else -1)
    inside = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.expr | ast.stmt) and not hasattr(node, "body")
        for line in range(node.lineno + 1, (node.end_lineno or 0) + 1)
    }
    lines = source.split("\n")
    for number, level in starts.items():
        if number not in inside and level >= 0:
            lines[number - 1] = indent * level + lines[number - 1].lstrip()
    return "\n".join(lines)


@pytest.mark.parametrize("comment", ["# free axis", "# Rows of the tile", "# contraction dim", "# y_outer", "#"])
def test_a_comment_behind_index_vectors_goes_with_them(comment):
    source = SOURCE_OF_VECTORS.format(comment=comment)
    outcome = rewrite(source)
    assert comment not in outcome.source and outcome.removed_comments == (comment,)


@pytest.mark.parametrize("comment", ["# see the paper", "# TODO: 16 rows", "# https://example.com"])
def test_a_comment_behind_index_vectors_that_says_more_than_they_do_stays(comment):
    source = SOURCE_OF_VECTORS.format(comment=comment)
    assert rewrite(source).source.count(comment) == 1


@pytest.mark.parametrize(
    "statement",
    [
        "tile = nl.ndarray(shape=(8, 4), dtype=x.dtype, buffer=nl.sbuf)  # as it was",
        "tile = nl.ndarray((8, 4), x.dtype)",
        "tile = nl.ndarray(\n        buffer=nl.sbuf,  # the tile\n        dtype=x.dtype, shape=(8,4),\n    )",
        "tile = nl.zeros((8, 4), dtype=x.dtype)",
    ],
)
def test_a_declaration_that_says_the_same_keeps_its_text(statement):
    source = SOURCE_OF_VECTORS.replace("    i_p = ", f"    {statement}\n    nisa.dma_copy(src=x, dst=tile)\n    i_p = ")
    source = source.replace(
        "import neuronxcc.nki as nki", "import neuronxcc.nki as nki\nimport neuronxcc.nki.isa as nisa"
    )
    output = rewrite(source.format(comment="")).source
    assert f"    {statement}\n    nisa.dma_copy(src=x, dst=tile)\n" in output


@pytest.mark.parametrize(
    "statement", ["tile = nl.ndarray([8, 4], dtype=x.dtype)", "tile = nl.zeros((8, 4), np.float32)"]
)
def test_a_declaration_that_later_versions_read_otherwise_is_written_anew(statement):
    source = SOURCE_OF_VECTORS.replace("    i_p = ", f"    {statement}\n    tile[...] = nl.load(x)\n    i_p = ")
    output = rewrite("import numpy as np\n" + source.format(comment="")).source
    assert statement not in output and "tile = nl." in output


SOURCE_OF_VECTORS = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    out = nl.ndarray((8, 4), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p = nl.arange(8)[:, None]  {comment}
    i_f = nl.arange(4)[None, :]
    nl.store(out[i_p, i_f], nl.load(x[i_p, i_f]))
    return out
"""


def test_what_tools_read_of_an_import_goes_with_it():
    source = (
        "import numpy\n\n\ndef f():\n    try:\n        import neuronxcc.nki.compiler  # type: ignore # noqa: F401\n"
        "    except Exception:\n        pass\n    return numpy\n"
    )
    assert "noqa" not in rewrite(source).source
