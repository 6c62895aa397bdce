"""What a reviewer reads: the output keeps the author's names, lines and comments, and says nothing twice."""

from __future__ import annotations

import pytest
from first_rung import Options, rewrite
from nki_migrate.runtime.cases import TensorSpec

from .conftest import Migrate

HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


"""
X = {"x": TensorSpec((128, 512), "float32", "normal")}


LISTS = Options(blocks="list")


def equal(migrate: Migrate, source: str, options: Options | None = None, **args: object) -> str:
    """The new text of a kernel ``k`` that does the same as before."""
    migration = migrate(source, {**X, **args}, options or Options())
    assert (migration.objection, migration.trouble) == (None, ())
    return migration.outcome.source


def test_each_function_numbers_its_own_names() -> None:
    helper = (
        "def {0}(x):\n    a = nl.load(x[0:128, 0:512])\n    return nl.exp(nl.square(a)) + nl.exp(nl.square(a))\n\n\n"
    )
    text = rewrite(HEAD + "@nki.jit\n" + helper.format("f") + "@nki.jit\n" + helper.format("g")).source
    first, second = text[text.index("def f(x)") : text.index("@nki.jit\ndef g(x)")], text[text.index("def g(x)") :]
    assert first.strip().partition("\n")[2] == second.strip().partition("\n")[2]
    assert first.index("a_square =") < first.index("a_square_exp =") < first.index("a_square_2 =")


def test_a_size_is_called_what_the_source_calls_it(migrate: Migrate) -> None:
    source = HEAD + (
        "@nki.jit\ndef k(x):\n    rows = nl.tile_size.pmax\n    width = 512 // 2\n"
        "    out = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "    for i in nl.affine_range(1):\n        first = i * rows\n        last = first + rows\n"
        "        a = nl.load(x[first:last, first : first + width])\n        nl.store(out[first:last, 0:width], a)\n"
        "    return out\n"
    )
    assert "a = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.sbuf)" in equal(migrate, source)


def test_results_of_the_type_that_their_destination_has_go_straight_into_it(migrate: Migrate) -> None:
    source = HEAD + (
        "@nki.jit\ndef k(x, mixed):\n    t = nl.bfloat16 if mixed else nl.float32\n"
        "    out = nl.ndarray((128, 512), dtype=t, buffer=nl.shared_hbm)\n    a = nl.ndarray((128, 512), dtype=t)\n"
        "    a[...] = nl.load(x, dtype=t)\n    b = nl.ndarray((128, 512), dtype=nl.float32)\n"
        "    b[...] = nl.copy(a, dtype=nl.bfloat16)\n    nl.store(out, b)\n    return out\n"
    )
    text = equal(migrate, source, mixed=True)
    assert "nisa.dma_copy(dst=a, src=x)" in text
    assert "a_copy = nl.ndarray((128, 512), dtype=nl.bfloat16, buffer=nl.sbuf)" in text


def test_a_type_of_a_name_that_is_bound_again_is_another_one(migrate: Migrate) -> None:
    source = HEAD + (
        "@nki.jit\ndef k(x, y):\n    out = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.shared_hbm)\n"
        "    a = nl.load(x)\n    t = a.dtype\n    a = nl.load(y)\n    b = nl.ndarray((128, 512), dtype=a.dtype)\n"
        "    b[...] = nl.exp(a, dtype=t)\n    nl.store(out, b)\n    return out\n"
    )
    y = TensorSpec((128, 512), "float32", "normal")
    equal(migrate, source, x=TensorSpec((128, 512), "bfloat16", "normal"), y=y)


def test_a_statement_that_needs_nothing_keeps_its_lines() -> None:
    declared = "    out = nl.ndarray((128, 512),\n                     dtype=x.dtype, buffer=nl.shared_hbm)\n"
    checked = "    assert (x.shape[0] ==\n            128), 'rows'\n"
    body = "    nl.store(out, nl.load(x))\n    return out\n"
    text = rewrite(HEAD + f"@nki.jit\ndef k(x):\n{checked}{declared}{body}").source
    assert checked + declared in text


BLOCKS = """@nki.jit
def k(x):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
{before}    t = nl.zeros((2, nl.par_dim(128), 512), dtype=x.dtype)
    for i in nl.affine_range(2):
        t[i] = nl.load(x)
{after}    nl.store(out, nl.add(t[0], t[1]))
    return out
"""


def test_block_indices_are_called_what_the_source_calls_them(migrate: Migrate) -> None:
    text = equal(migrate, HEAD + BLOCKS.format(before="", after=""), LISTS)
    assert "    for i in range(2):\n        t.append(nl.zeros(" in text


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        ("    i = 1\n", "    t[i] = nl.exp(t[0])\n", "block"),
        ("", "    t[0] = nl.exp(t[i])\n", "block"),
        ("", "    for j in nl.affine_range(2):\n        t[j] = nl.exp(t[i])\n", "j"),
    ],
)
def test_the_loop_of_a_list_binds_no_name_that_is_read_later(
    migrate: Migrate, before: str, after: str, name: str
) -> None:
    text = equal(migrate, HEAD + BLOCKS.format(before=before, after=after), LISTS)
    assert f"    for {name} in range(2):\n        t.append(nl.zeros(" in text


def test_the_loop_of_a_list_binds_no_global_name() -> None:
    source = HEAD + "i = 3\n\n\n" + BLOCKS.format(before="", after="")
    assert "    for block in range(2):\n" in rewrite(source, LISTS).source


def test_one_block_is_a_list_of_one(migrate: Migrate) -> None:
    source = HEAD + BLOCKS.format(before="", after="").replace("zeros((2", "zeros((1").replace("t[1]", "t[0]")
    text = equal(migrate, source.replace("affine_range(2)", "affine_range(1)"), LISTS)
    assert "    t = [nl.zeros((128, 512), dtype=" in text


COMMENTED = """@nki.jit
def k(x):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)

    # Indices of a tile:
    # rows and columns
    i_p = nl.arange(128)[:, None]  # i_p walks the rows
    i_f = nl.arange(512)[None, :]

    # Step 1: load
    i_q = nl.arange(128)[:, None]  # slow

    a = nl.load(x[i_q, i_f])  # DMA
    # indices that stand above a statement, too
    i_r = nl.arange(128)[:, None]
    nl.store(out[i_p, i_f], nl.exp(a[i_r, i_f]))  # DMA too
    return out
"""


def test_comments_travel_with_their_statements(migrate: Migrate) -> None:
    expected = """
    # Step 1: load
    a = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=x[0:128, 0:512])  # DMA
    # indices that stand above a statement, too
    a_exp = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.sbuf)
    nisa.activation(dst=a_exp, op=nl.exp, data=a)
    nisa.dma_copy(dst=out, src=a_exp)  # DMA too
    return out
"""
    text = equal(migrate, HEAD + COMMENTED)
    assert text.endswith("buffer=nl.shared_hbm)\n" + expected)


def test_a_comment_heads_what_follows_index_vectors_that_are_gone() -> None:
    text = rewrite(HEAD + COMMENTED.replace("  # slow", "")).source
    assert "\n    # Step 1: load\n    a = nl.ndarray" in text


def test_comments_of_a_nested_function_move_with_it() -> None:
    source = HEAD + (
        "@nki.jit\ndef k(x):\n    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)\n\n"
        "    # copies\n    def copied():\n        # all of it\n        nl.store(out, nl.load(x))  # DMA\n\n"
        "    copied()\n    copied()\n    return out\n"
    )
    text = rewrite(source).source
    assert all(text.count(comment) == 1 for comment in ("# copies", "# all of it", "# DMA"))
    assert "buffer=nl.shared_hbm)\n\n    copied(" in text


def test_names_that_only_served_what_is_gone_go(migrate: Migrate) -> None:
    source = HEAD + (
        "@nki.jit\ndef k(x):\n    unread = 3\n    width = 512 // 2\n    half = width\n"
        "    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)\n    rows = nl.load(x)\n"
        "    part = rows[:, 0:256]\n    i_f = nl.arange(512)[None, :] + (half - half)\n"
        "    nl.store(out[nl.arange(128)[:, None], i_f], nl.exp(rows))\n"
        "    nl.store(out[:, 0:128], part[:, 128:256])\n    return out\n"
    )
    text = equal(migrate, source)
    assert "part" not in text
    assert "    unread = 3\n" in text


def test_a_name_stays_whose_value_does_something() -> None:
    source = HEAD + (
        "@nki.jit\ndef k(x, c):\n    rows = c.next\n    more = c.take(2)\n"
        "    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "    i_p = nl.arange(rows)[:, None] + more\n    nl.store(out, nl.load(x))\n    return out\n"
    )
    text = rewrite(source).source
    assert "    rows = c.next\n    more = c.take(2)\n" in text


SCALED = """def scaled(t, factor):
    t[...] = nl.multiply(t, factor)


@nki.jit
def k(x):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    a = nl.load(x)
    scaled(a, 0.5)
    scaled(a, {other})
    scaled(a, nl.load(x[0:128, 0:1]))
    nl.store(out, a)
    return out
"""


def test_variants_of_a_function_with_one_text_are_written_once(migrate: Migrate) -> None:
    text = equal(migrate, HEAD + SCALED.format(other="2.0"))
    assert text.count("def scaled") == 1
    assert "    scaled(a, 0.5)\n    scaled(a, 2.0)\n" in text
    assert text.count("    scaled(a, ") == 3


def test_variants_of_a_function_with_two_texts_are_written_twice(migrate: Migrate) -> None:
    text = equal(migrate, HEAD + SCALED.format(other="nl.load(x)"))
    assert text.count("def scaled") == 2
    assert [line.strip().partition("(")[0] for line in text.splitlines() if line.startswith("    scaled")] == [
        "scaled",
        "scaled_2",
        "scaled",
    ]


BOUNDED = """def half(n):
{body}    return n // 2


@nki.jit
def k(x):
    out = nl.ndarray((128, 256), dtype=x.dtype, buffer=nl.shared_hbm)
    a = nl.load(x[0:128, 0 : half(512)])
    nl.store(out, nl.exp(a))
    nl.store(out[:, half(4)], nl.exp(a[:, half(8)]))
    return out
"""


def test_functions_that_bound_slices_are_called_as_often_as_before(migrate: Migrate) -> None:
    text = equal(migrate, HEAD + BOUNDED.format(body="    print(n)\n"))
    assert [text.count(f"half({n})") for n in (512, 4, 8)] == [1, 1, 1]
    assert "    half_result = half(512)\n    a = nl.ndarray((128, half_result)," in text


def test_formulas_in_bounds_of_slices_stay_in_place() -> None:
    assert "_result" not in rewrite(HEAD + BOUNDED.format(body='    """Half."""\n')).source


def test_a_block_whose_first_statements_vanish_does_not_begin_with_an_empty_line() -> None:
    source = HEAD + (
        "@nki.jit\ndef k(x):\n    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "    for i in nl.affine_range(4):\n        i_f = nl.arange(128)[None, :]\n\n"
        "        a = nl.load(x[nl.arange(128)[:, None], i * 128 + i_f])\n"
        "        nl.store(out[nl.arange(128)[:, None], i * 128 + i_f], a)\n    return out\n"
    )
    assert "affine_range(4):\n        a = nl.ndarray" in rewrite(source).source


def test_a_tile_that_nothing_uses_before_its_name_is_bound_again_goes(migrate: Migrate) -> None:
    source = HEAD + (
        "@nki.jit\ndef k(x):\n    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "    a = nl.ndarray((nl.par_dim(128), 512), dtype=x.dtype, buffer=nl.sbuf)  # for x\n"
        "    a = nl.load(x[0:128, 0:512])\n    nl.store(out, a)\n    return out\n"
    )
    text = equal(migrate, source)
    assert text.count("a = nl.ndarray(") == 1 and "# for x" not in text
    used = rewrite(source.replace("    a = nl.load", "    a[...] = 1.0\n    a = nl.load")).source
    assert used.count("a = nl.ndarray(") == 2


def test_sizes_of_masks_on_vectors_without_a_name_have_that_of_their_limit(migrate) -> None:
    """Of two columns that masks leave, the second one is told by what bounds it."""
    text = equal(
        migrate,
        HEAD
        + "@nki.jit\ndef k(x):\n    M, N = x.shape\n    K = N // 2\n"
        + "    out = nl.ndarray((M, N), dtype=x.dtype, buffer=nl.shared_hbm)\n"
        + "    half = nl.ndarray((M, K), dtype=x.dtype, buffer=nl.shared_hbm)\n"
        + "    for n in nl.affine_range(3):\n"
        + "        f = nl.arange(200)[None, :] + n * 200\n"
        + "        p = nl.arange(128)[:, None] + 0\n"
        + "        tile = nl.load(x[p, f], mask=(f < N))\n"
        + "        nl.store(out[p, f], value=tile, mask=(f < N))\n"
        + "    for n in nl.affine_range(2):\n"
        + "        f = nl.arange(200)[None, :] + n * 200\n"
        + "        p = nl.arange(128)[:, None] + 0\n"
        + "        tile = nl.load(x[p, f], mask=(f < K))\n"
        + "        nl.store(half[p, f], value=tile, mask=(f < K))\n"
        + "    return out, half\n",
    )
    assert "valid_columns = min(200, N - n * 200)" in text and "valid_k = min(200, K - n * 200)" in text


def test_a_comment_that_moves_into_a_loop_stands_at_its_margin(migrate: Migrate) -> None:
    source = HEAD + (
        "@nki.jit\ndef k(x):\n    out = nl.ndarray((4, 128, 512), dtype=x.dtype, buffer=nl.shared_hbm)\n\n"
        "  # one for each\n\n  # tile\n    t = nl.ndarray((4, nl.par_dim(128), 512), dtype=x.dtype, buffer=nl.sbuf)\n\n"
        "    # all of them\n    for i in nl.affine_range(4):\n        t[i] = nl.load(x[i])\n"
        "        nl.store(out[i], value=t[i])\n    return out\n"
    )
    text = rewrite(source).source
    assert "        # one for each\n        # tile\n        t = nl.ndarray((128, 512)" in text


def test_a_tile_on_the_way_to_a_name_of_the_source_has_no_number(migrate: Migrate) -> None:
    source = HEAD + (
        "@nki.jit\ndef k(x):\n    out = nl.ndarray((128, 128), dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "    w_tile = nl.load(x)\n    w_transposed = nl.copy(nisa.nc_transpose(w_tile), dtype=x.dtype)\n"
        "    x_tile = nl.multiply(nl.load(x), w_transposed)\n    nl.store(out, x_tile)\n    return out\n"
    )
    migration = migrate(source, {"x": TensorSpec((128, 128), "float32", "normal")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "w_tile_transposed" in migration.outcome.source and "_2" not in migration.outcome.source
