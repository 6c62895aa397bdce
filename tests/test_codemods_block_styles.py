"""What block dimensions become, by how their loops use them: decided for each tensor, and nothing moves."""

from __future__ import annotations

from itertools import permutations

import pytest
from first_rung import Options, rewrite
from nki_migrate.runtime.cases import TensorSpec

SIZES = {"i": 2, "j": 3, "k": 2}
ARGS = {"x": TensorSpec((8, 5), "float32", "normal")}


def kernel(blocks: str, nest: str, *uses: str, pinned: bool = False) -> str:
    """A kernel with a tensor ``t`` of the ``blocks`` (a letter each), and loops, one in the other, around its uses."""
    counts = [str(SIZES[letter]) for letter in blocks]
    tiles = f", buffer=ncc.sbuf.mod_alloc(base_addr=64, num_free_tiles=({', '.join(counts)},))" if pinned else ""
    lines = [
        "import neuronxcc.nki as nki",
        "import neuronxcc.nki.compiler as ncc",
        "import neuronxcc.nki.language as nl",
        "",
        "",
        "@nki.jit",
        "def k(x):",
        "    out = nl.ndarray((2, 3, 2, 8, 5), dtype=x.dtype, buffer=nl.shared_hbm)",
        f"    t = nl.ndarray(({', '.join(counts)}, nl.par_dim(8), 5), dtype=nl.float32{tiles})",
    ]
    indent = "    "
    for letter in nest:
        lines.append(f"{indent}for {letter} in nl.affine_range({SIZES[letter]}):")
        indent += "    "
    lines += [f"{indent}{use}" for use in uses]
    return "\n".join([*lines, "    return out", ""])


def place(letters: str) -> str:
    return ", ".join(letter if letter in letters else "0" for letter in "ijk")


@pytest.mark.parametrize("pinned", [False, True], ids=["free", "pinned"])
@pytest.mark.parametrize(
    ("blocks", "nest"),
    [(blocks, "".join(nest)) for blocks in ("i", "ij", "kj", "jik") for nest in permutations(blocks)],
)
def test_blocks_that_have_a_loop_each_are_tiles_of_the_innermost_one(migrate, blocks, nest, pinned):
    index = ", ".join(blocks)
    store = f"nl.store(out[{place(blocks)}], value=t[{index}])"
    migration = migrate(kernel(blocks, nest, f"t[{index}] = nl.load(x)", store, pinned=pinned), ARGS)
    assert migration.outcome.findings == () and migration.trouble == ()
    in_order = nest == blocks or not pinned  # pinned blocks are declared in the order of their addresses
    assert ([decision.choice for decision in migration.outcome.decisions] == ["loop"]) == in_order


@pytest.mark.parametrize(
    ("blocks", "nest", "uses"),
    [
        ("i", "ji", ("t[i] = nl.load(x)", "nl.store(out[i, j, 0], value=t[i])")),  # each j takes the tiles again
        ("ij", "ij", ("t[i, j] = nl.load(x)", "nl.store(out[i, j, 0], value=t[i, 2 - j])")),
        (
            "ij",
            "ij",
            ("t[i, j] = nl.load(x)", "t[1 - i, j] = nl.add(t[i, j], 1.0)", "nl.store(out[i, j, 0], value=t[i, j])"),
        ),
        (
            "ij",
            "i",
            ("for j in nl.affine_range(3):", "    t[i, j] = nl.load(x)", "nl.store(out[i, 0, 0], value=t[i, 2])"),
        ),
        ("ik", "i", ("t[i, i] = nl.load(x)", "nl.store(out[i, 0, 0], value=t[i, i])")),  # one loop for two dimensions
        (
            "ij",
            "ik",
            ("for j in nl.affine_range(3):", "    t[i, j] = nl.load(x)", "    nl.store(out[i, j, k], value=t[i, j])"),
        ),
    ],
)
def test_blocks_that_iterations_share_are_declared_before_the_loops(migrate, blocks, nest, uses):
    migration = migrate(kernel(blocks, nest, *uses), ARGS)
    assert migration.outcome.findings == () and migration.trouble == ()
    assert [decision.choice for decision in migration.outcome.decisions] != ["loop"]


def test_a_variable_that_is_bound_again_in_its_loop_is_no_index_of_blocks(migrate):
    uses = ("t[i] = nl.load(x)", "i = 1 - i", "nl.store(out[i, 0, 0], value=t[i])")
    migration = migrate(kernel("i", "i", *uses), ARGS, Options())
    assert [decision.choice for decision in migration.outcome.decisions] != ["loop"]


COMMENTED = """\
    # the tiles of x
    t = nl.ndarray((2, nl.par_dim(8), 5), dtype=nl.float32)  # one for each pass

    # two tiles together
    u = nl.ndarray((2, nl.par_dim(8), 5), dtype=nl.float32)
    v = nl.zeros((2, nl.par_dim(8), 5), dtype=nl.float32)
    for i in nl.affine_range(2):
        # load
        t[i] = nl.load(x)
        u[i] = nl.add(t[i], 1.0)
        v[i] = nl.add(v[i], u[i])
        nl.store(out[i, 0, 0], value=v[i])
    return out
"""


def test_a_comment_goes_with_the_declaration_that_it_is_about(migrate):
    head = kernel("i", "i").partition("    t = nl.ndarray")[0]
    migration = migrate(head + COMMENTED, ARGS)
    assert migration.trouble == ()
    assert migration.outcome.source.partition("    out = ")[2].partition("\n\n")[2].startswith("""\
    # two tiles together
    for i in nl.affine_range(2):
        # the tiles of x
        # one for each pass
        t = nl.ndarray((8, 5), dtype=nl.float32, buffer=nl.sbuf)
        u = nl.ndarray((8, 5), dtype=nl.float32, buffer=nl.sbuf)
        v = nl.zeros((8, 5), dtype=nl.float32, buffer=nl.sbuf)
        # load
""")


@pytest.mark.parametrize(
    ("space", "lines", "declared"),
    [
        ("sbuf", ("t[i, j] = nl.add(t[i, j], nl.load(x))", "nl.store(out[i, j, 0], value=t[i, j])"), "loop"),
        ("sbuf", ("t[i, j] = nl.add(t[1 - i, j], nl.load(x))", "nl.store(out[i, j, 0], value=t[i, j])"), "fold"),
        ("psum", ("t[i, j] = nl.add(t[i, j], nl.load(x))", "nl.store(out[i, j, 0], value=t[i, j])"), "loop"),
        ("psum", ("t[i, j] = nl.add(t[1 - i, j], nl.load(x))", "nl.store(out[i, j, 0], value=t[i, j])"), "list"),
    ],
)
@pytest.mark.parametrize("fill", ["nl.zeros(({shape}), {rest})", "nl.full(({shape}), 3.0, {rest})"])
def test_filled_blocks_start_as_they_did(migrate, space, lines, declared, fill):
    text = kernel("ij", "ij", *lines).replace("affine_range", "sequential_range")
    made = fill.format(shape="2, 3, nl.par_dim(8), 5", rest=f"dtype=nl.float32, buffer=nl.{space}")
    text = text.replace("nl.ndarray((2, 3, nl.par_dim(8), 5), dtype=nl.float32)", made)
    migration = migrate(text, ARGS)
    assert migration.outcome.findings == () and migration.trouble == ()
    assert [decision.choice for decision in migration.outcome.decisions] == [declared]


WINDOWS = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    out = nl.ndarray((2, 8, 3, 3), dtype=x.dtype, buffer=nl.shared_hbm)
    t = {made}
    for i in nl.affine_range(2):
        t[i] = nl.load(x)
    i_p, i_f, i_w = nl.mgrid[0:8, 0:3, 0:3]
    for i in nl.affine_range(2):
        both = nl.multiply(t[i, i_p, i_f + i_w], 2.0)
        nl.store(out[i], value=both)
    return out
"""


@pytest.mark.parametrize(
    "made",
    [
        "nl.zeros((2, nl.par_dim(8), 5), dtype=nl.float32, buffer=nl.sbuf)",
        "nl.ndarray((2, nl.par_dim(8), 5), dtype=nl.float32, buffer=nl.sbuf)",
    ],
    ids=["filled", "free"],
)
def test_blocks_that_an_access_pattern_walks_are_tiles_of_their_own(migrate, made):
    migration = migrate(WINDOWS.format(made=made), ARGS)
    assert migration.outcome.findings == () and migration.trouble == ()
    assert [decision.choice for decision in migration.outcome.decisions] == ["list"]
    asked = migrate(WINDOWS.format(made=made), ARGS, Options(blocks="fold"))
    assert any("an access pattern of a block of 't'" in finding.message for finding in asked.outcome.findings)


CAPACITY = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    n, rows, columns = x.shape
    assert n == {blocks}
    assert columns == 512
    out = nl.ndarray((n, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.{made}((n, nl.par_dim({rows}), columns), dtype=nl.{dtype}, buffer=nl.{space})
    for i in nl.affine_range(n):
        {first}
{between}        nl.store(out[i], value=nl.copy(t[i]))
    return out
"""
AGAIN = "    for i in nl.affine_range(n):\n"


@pytest.mark.parametrize(
    ("space", "blocks", "dtype", "rows", "needed"),
    [
        ("psum", 8, "float32", "128", 0),
        ("psum", 9, "float32", "128", 18432),
        ("psum", 16, "float32", "nl.tile_size.pmax", 32768),
        ("psum", 9, "float32", "rows", 0),  # perhaps of few partitions
        ("psum", 33, "float32", "64", 33792),
        ("sbuf", 100, "float32", "128", 0),
        ("sbuf", 104, "float32", "128", 212992),
        ("sbuf", 104, "bfloat16", "128", 0),
    ],
)
def test_blocks_that_do_not_fit_are_written_and_said(space, blocks, dtype, rows, needed):
    given = {"space": space, "blocks": blocks, "dtype": dtype, "rows": rows, "made": "ndarray"}
    apart = rewrite(CAPACITY.format(**given, first="t[i] = nl.copy(nl.load(x[i]))", between=AGAIN))
    said = [f.message for f in apart.findings]
    limit = {"psum": "PSUM, which has 16384", "sbuf": "SBUF, which has 212984"}[space]
    assert said == ([f"the blocks of 't' need at least {needed} bytes of each partition of {limit}"] if needed else [])
    together = rewrite(CAPACITY.format(**given, first="t[i] = nl.copy(nl.load(x[i]))", between=""))
    assert together.findings == ()


BESIDE = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

SIZES = 512


@nki.jit
def k(x):
    n, rows, columns = x.shape
    assert x.shape == ({blocks}, 128, SIZES)
    out = nl.ndarray((n, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    a = nl.ndarray((n, nl.par_dim(128), columns), dtype=nl.float32, buffer=nl.sbuf)
    for i in nl.affine_range(n):
        a[i] = nl.load(x[i])
    {between}b = nl.ndarray((n, nl.par_dim(128), columns), dtype=nl.{dtype}, buffer=nl.sbuf)
    for i in nl.affine_range(n):
        b[i] = nl.exp(a[i])
    for i in nl.affine_range(n):
        nl.store(out[i], value=nl.add(a[i], b[i]))
    return out
"""
LAST = "for i in nl.affine_range(n):\n        nl.store(out[i], value=a[i])\n    "


@pytest.mark.parametrize(
    ("blocks", "dtype", "said"),
    [
        (51, "float32", []),
        (69, "bfloat16", []),
        (53, "float32", ["the blocks of 'a' (108544) and 'b' (108544) are alive at once, and need at least 217088"]),
        (80, "bfloat16", ["the blocks of 'a' (163840) and 'b' (81920) are alive at once, and need at least 245760"]),
        (104, "float32", [f"the blocks of '{name}' need at least 212992" for name in "ab"]),
    ],
)
def test_tensors_that_do_not_fit_beside_each_other_are_said(blocks, dtype, said):
    outcome = rewrite(BESIDE.format(blocks=blocks, dtype=dtype, between=""))
    limit = " bytes of each partition of SBUF, which has 212984"
    assert [f.message for f in outcome.findings] == [text + limit for text in said]


def test_tensors_of_which_one_ends_before_the_other_need_no_room_at_once():
    text = BESIDE.format(blocks=80, dtype="float32", between=LAST)
    assert rewrite(text.replace("nl.exp(a[i])", "nl.load(x[i])").replace("nl.add(a[i], b[i])", "b[i]")).findings == ()


IN_A_LOOP = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    out = nl.ndarray((4, {blocks}, 128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(({blocks}, 4, nl.par_dim(128), 512), dtype=nl.float32, buffer=nl.sbuf)
    for b in nl.affine_range(4):
        for i in nl.affine_range({blocks}):
            t[i, b] = nl.load(x[b, i])
        for i in nl.affine_range({blocks}):
            nl.store(out[b, i], value=t[i, b])
    return out
"""


@pytest.mark.parametrize(("blocks", "needed"), [(50, 0), (103, 0), (104, 212992), (200, 409600)])
def test_blocks_that_do_not_fit_into_one_iteration_are_written_and_said(blocks, needed):
    """Of ``t`` live those of one ``b`` at a time; all of them would take four times as much."""
    outcome = rewrite(IN_A_LOOP.format(blocks=blocks))
    said = f"the blocks of 't' that one iteration of the loop in line 9 uses need at least {needed} bytes"
    assert [f.message.startswith(said) for f in outcome.findings] == ([True] if needed else [])
    assert f"        t = nl.ndarray((128, {blocks}, 512)" in outcome.source


NAMED = """\
    for i in nl.affine_range(2):
        t[i] = nl.load(x)
    for i in nl.sequential_range(2):
        u = t[1 - i]
        nl.store(out[i, 0, 0{place}], value={read})
    return out
"""


def named(read: str) -> str:
    place = ", :, 0:1" if "sum" in read else ""
    return kernel("i", "").removesuffix("    return out\n") + NAMED.format(read=read, place=place)


@pytest.mark.parametrize("read", ["u", "nl.add(u, 1.0)", "nl.exp(u)", "nl.multiply(u, u)", "nl.sum(u, axis=1)"])
def test_a_block_under_a_name_that_instructions_read_is_a_part_of_a_tile(migrate, read):
    migration = migrate(named(read), ARGS)
    assert migration.outcome.findings == () and migration.trouble == ()
    assert [decision.choice for decision in migration.outcome.decisions] == ["fold"]
    assert "u = t[:, 1 - i, :]" in migration.outcome.source


@pytest.mark.parametrize("read", ["u[:, 0:5]", "nl.add(u[0:8], 1.0)", "[u][0]", "(u if i < 1 else t[i])"])
def test_a_block_under_a_name_that_is_read_otherwise_is_a_tile_of_a_list(migrate, read):
    migration = migrate(named(read), ARGS)
    assert [decision.choice for decision in migration.outcome.decisions] == ["list"]
    assert migration.outcome.findings or migration.trouble == ()


INNER = """\
    for j in nl.sequential_range(3):
        for i in nl.affine_range(2):
            t[{written}] = nl.add(nl.load(x), float({number}))
        for i in nl.sequential_range(2):
            nl.store(out[i, j, 0], value=t[{read}])
    return out
"""


@pytest.mark.parametrize(
    ("written", "read", "choice"),
    [("i", "i", "fold"), ("i", "1 - i", "list"), ("(i + j) % 2", "(i + j) % 2", "list"), ("j % 2", "j % 2", "list")],
)
def test_blocks_that_each_iteration_uses_together_are_one_tensor(migrate, written, read, choice):
    body = INNER.format(written=written, read=read, number="1")
    source = kernel("i", "").removesuffix("    return out\n") + body
    migration = migrate(source, ARGS)
    assert migration.outcome.findings == () and migration.trouble == ()
    assert [decision.choice for decision in migration.outcome.decisions] == [choice]
