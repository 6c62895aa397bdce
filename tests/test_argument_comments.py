"""The comments beside the arguments of a call stand beside the same arguments of the call that replaces it."""

from __future__ import annotations

import ast
import re

import pytest
from first_rung import rewrite
from hypothesis import given
from hypothesis import strategies as st

HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

@nki.jit
def k(x, y, flag):
    out = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.shared_hbm)
    i = nl.arange(128)[:, None]
    j = nl.arange(512)[None, :]
    left = nl.load(x, dtype=nl.bfloat16)
    right = nl.load(y, dtype=nl.bfloat16)
    acc = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
    if flag:
"""
TAIL = "    done = nl.copy(acc)\n    nl.store(out, done)\n    return out\n"


def written(statement: str) -> str:
    """The statement that replaces one, with its comments, as it stands in the function."""
    lines = "".join(f"        {line}\n" for line in statement.split("\n"))
    outcome = rewrite(HEAD + lines + TAIL)
    assert outcome.findings == ()
    text = outcome.source
    assert rewrite(text).source == text
    block = text[text.index("if flag:") + len("if flag:\n") : text.index("    done = ")]
    return re.sub("^        ", "", block, flags=re.M)


def test_a_comment_behind_an_argument_is_behind_it_in_the_new_call():
    old = "acc[i, j] = nisa.nc_matmul(\n    left,   # stationary\n    right)  # moving"
    assert written(old).startswith(
        "nisa.nc_matmul(\n    dst=acc,\n    stationary=left,  # stationary\n    moving=right,  # moving\n)\n"
    )


def test_a_comment_above_an_argument_is_above_it():
    old = "acc[i, j] = nisa.nc_matmul(\n    left,\n    # two lines\n    # on it\n    right,\n)"
    assert "    stationary=left,\n    # two lines\n    # on it\n    moving=right,\n)\n" in written(old)


def test_a_keyword_finds_an_argument_whose_value_is_another_now():
    old = "acc[i, j] = nisa.nc_matmul(\n    left, right,\n    is_transpose=False,  # as it is\n)"
    assert "is_transpose=False,  # as it is\n" in written(old)


@pytest.mark.parametrize(
    "comment, old",
    [
        ("# which", "acc[i, j] = nisa.nc_matmul(\n    left[i, i.T],  # which\n    left)"),
        ("# at first", "acc[i, j] = nisa.nc_matmul(  # at first\n    left, right)"),
        ("# type: ignore", "acc[i, j] = nisa.nc_matmul(\n    left,  # type: ignore\n    right)"),
        ("# at the end", "acc[i, j] = nisa.nc_matmul(\n    left,\n    right\n    # at the end\n)"),
    ],
)
def test_other_comments_stand_above_the_call(comment: str, old: str) -> None:
    lines = written(old.replace("left[i, i.T]", "left")).split("\n")
    assert lines[0].strip() == comment


def test_a_comment_at_the_end_of_one_line_is_that_of_the_statement():
    assert written("acc[i, j] = nisa.nc_matmul(left, right)  # all of it").endswith(")  # all of it\n")


def test_an_argument_that_leaves_no_room_has_its_comment_above():
    comment = "# " + "long " * 15
    text = written(f"acc[i, j] = nisa.nc_matmul(\n    left,  {comment.strip()}\n    right)")
    assert f"    {comment.strip()}\n    stationary=left,\n" in text


COMMENTS = st.sampled_from(("", "  # a", "  #b", "  # noqa", "  # é"))


@given(st.lists(COMMENTS, min_size=5, max_size=5), st.booleans(), st.booleans())
def test_any_comments_are_kept_and_change_nothing(comments: list[str], is_broken: bool, has_lines: bool) -> None:
    arguments = ["data=right[0:128, 0:512]", "op0=nl.multiply", "operand0=2.0", "op1=nl.add", "operand1=right[:, 0:1]"]
    above = "    # above\n" if has_lines else ""
    lines = "".join(f"{above}    {a},{c}\n" for a, c in zip(arguments[:-1], comments[:-1], strict=True))
    end = f"    {arguments[-1]},{comments[-1]}\n)" if is_broken else f"    {arguments[-1]}){comments[-1]}"
    text = written(f"acc[i, j] = nisa.tensor_scalar(\n{lines}{end}")
    assert ast.dump(ast.parse(text)) == ast.dump(
        ast.parse(written(f"acc[i, j] = nisa.tensor_scalar({', '.join(arguments)})"))
    )
    assert sorted(re.findall("#.*", text)) == sorted(re.findall("#.*", lines + end))


@pytest.mark.parametrize(("blanks", "column"), [(2, 0), (10, 0), (30, 69)])
def test_a_comment_that_is_aligned_keeps_its_column_where_the_new_statement_ends_before_it(blanks, column):
    old = f"acc[i, j] = nisa.nc_matmul(left, right)  {' ' * (blanks - 2)}# product"
    line = next(line for line in written(old).split("\n") if "# product" in line)
    statement = "nisa.nc_matmul(dst=acc, stationary=left, moving=right)"
    gap = column - len(statement) if column - len(statement) > 2 else 2
    assert line == f"{statement}{' ' * gap}# product"
