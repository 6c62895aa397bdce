"""``--allocation sbuf-manager``: whatever the order of the old addresses, no tile moves, what stays has a reason."""

from __future__ import annotations

import pytest
from first_rung import Options, rewrite
from hypothesis import given, settings
from hypothesis import strategies as st
from nki_migrate.runtime.cases import TensorSpec

MANAGER = Options(allocation="sbuf-manager")
ARGS = {"x": TensorSpec((128, 8), "float32", "normal"), "n": 2, "cols": 8}
HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from neuronxcc.nki.language import par_dim

END = 4096


@nki.jit
def k(x, n, cols):
    out = nl.ndarray((128, 8), dtype=x.dtype, buffer=nl.shared_hbm)
"""
TAIL = "    nl.store(out, last)\n    return out\n"


def declaration(name: str, base: str, columns: str = "cols", dtype: str = "nl.float32") -> str:
    return (
        f"{name} = nl.ndarray((par_dim(128), {columns}), dtype={dtype}, buffer=ncc.sbuf.mod_alloc(base_addr={base}))\n"
    )


def kernel(*lines: str) -> str:
    """A kernel with these lines; the tile ``last`` is its result."""
    return HEAD + "".join(f"    {line.rstrip()}\n" for line in lines) + TAIL


def reasons(outcome, codes=frozenset({"NKI014"})) -> dict[str, str]:
    """Tensor -> why it keeps its address."""
    assert {finding.code for finding in outcome.findings} <= codes
    return {f.message.split("'")[1]: f.message.partition(": ")[2] for f in outcome.findings}


# --- random layouts --------------------------------------------------------------------------------------------------

DTYPES = {"nl.float32": 4, "nl.bfloat16": 2, "nl.int8": 1}
TILES = st.tuples(
    st.just("tile"),
    st.sampled_from(("1", "3", "4", "cols")),
    st.sampled_from(sorted(DTYPES)),
    st.sampled_from(((), (1, 1), (2, 2), (3, 1), (4, 2), (1, 2))),
)
STEPS = st.one_of(
    *(TILES, TILES, TILES, st.just(("top",)), st.just(("mark",)), st.just(("reset",)), st.just(("gap",))),
    st.tuples(st.just("literal"), st.sampled_from((16, 20, 48, 64, 256, 1000))),
)
LOOPS = st.tuples(
    st.just("loop"),
    st.sampled_from(("nl.affine_range(2)", "range(1)", "nl.static_range(2)")),
    st.lists(STEPS, min_size=1, max_size=4),
)


BLOCKS = st.sampled_from(("auto", "list", "fold", "loop"))


class Writer:
    """The lines of a kernel whose tiles all stand at an address that runs up, or at one that runs down."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.tiles = self.marks = 0

    def write(self, steps, indent: str, marks: tuple[str, ...] = ()) -> None:
        for step in steps:
            if step[0] == "tile":
                self.tile(indent, *step[1:])
            elif step[0] == "mark":
                self.marks += 1
                marks = (*marks, f"m{self.marks}")
                self.lines.append(f"{indent}{marks[-1]} = at")
            elif step[0] == "reset" and marks:
                self.lines.append(f"{indent}at = {marks[-1]}")
            elif step[0] == "top":
                self.tiles += 1
                self.lines.append(f"{indent}end -= cols * 4")
                self.lines.append(f"{indent}{declaration(f't{self.tiles}', 'end').rstrip()}")
                self.lines.append(f"{indent}t{self.tiles}[...] = 1")
            elif step[0] == "gap":
                self.lines.append(f"{indent}at += 12")
            elif step[0] == "literal":
                self.lines.append(f"{indent}at = {step[1]}")
            elif step[0] == "loop":
                self.lines.append(f"{indent}for i{self.tiles} in {step[1]}:")
                self.write([*step[2], ("tile", "1", "nl.float32", ())], f"{indent}    ", marks)

    def tile(self, indent: str, columns: str, dtype: str, blocks: tuple[int, ...]) -> None:
        self.tiles += 1
        name = f"t{self.tiles}"
        shape = f"par_dim(128), {columns}"
        allocator, size, use = "base_addr=at", f"{columns} * {DTYPES[dtype]}", f"{name}[...] = 1"
        if blocks:
            shape, size = f"{blocks[0]}, {shape}", f"{blocks[1]} * {size}"
            allocator += f", num_free_tiles=({blocks[1]},)"
            use = f"for j{self.tiles} in nl.affine_range({blocks[0]}):\n{indent}    {name}[j{self.tiles}] = 1"
        buffer = f"ncc.sbuf.mod_alloc({allocator})"
        self.lines += [f"{indent}{name} = nl.ndarray(({shape}), dtype={dtype}, buffer={buffer})"]
        self.lines += [f"{indent}at += {size}", f"{indent}{use}"]


@settings(max_examples=15)
@given(st.lists(st.one_of(STEPS, STEPS, LOOPS), min_size=2, max_size=6), BLOCKS)
def test_no_tile_moves(migrate, steps, blocks):
    writer = Writer()
    writer.write(steps, "    ")
    body = "\n".join(["    at = 16", "    end = 4 * END", *writer.lines])
    source = f"{HEAD}{body}\n    {declaration('last', 'at')}    last[...] = nl.load(x)\n{TAIL}"
    migration = migrate(source, ARGS, Options(allocation="sbuf-manager", blocks=blocks))
    assert migration.objection is None
    assert migration.trouble == (), migration.outcome.source
    assert reasons(migration.outcome, {"NKI014", "NKI010"}).keys() <= {
        "last",
        *(f"t{number + 1}" for number in range(writer.tiles)),
    }


# --- what goes through the manager -----------------------------------------------------------------------------------


def test_a_stack_goes_through_the_manager_and_its_counter_goes(migrate):
    source = kernel(
        "at = 0",
        declaration("a", "at"),
        "at += cols * 4",
        declaration("b", "at", dtype="nl.bfloat16"),
        "at = at + cols * 2",
        declaration("last", "at"),
        "last[...] = nl.load(x)",
    )
    migration = migrate(source, ARGS, MANAGER)
    assert migration.trouble == () and migration.outcome.findings == ()
    assert "address=" not in migration.outcome.source and "at = " not in migration.outcome.source


def test_tensors_counted_down_from_the_end_are_the_heap(migrate):
    source = kernel(
        "top = END",
        "top -= cols * 4",
        declaration("a", "top"),
        "top -= cols * 4",
        declaration("b", "top"),
        declaration("last", "0"),
        "last[...] = nl.load(x)",
    )
    migration = migrate(source, ARGS, MANAGER)
    assert migration.trouble == ()
    assert reasons(migration.outcome).keys() <= {"b"}, "the heap is rounded down to multiples of 4"
    assert "SbufManager(0, END)" in migration.outcome.source


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["n = n + 1", declaration("a", "n * 64")], "no scope of a stack begins"),
        (
            [
                "a = nl.ndarray((2, par_dim(64), cols), dtype=nl.float32,",
                "               buffer=ncc.sbuf.mod_alloc(base_addr=32, num_par_tiles=(2,)))",
            ],
            "different partitions",
        ),
    ],
)
def test_what_is_not_in_the_order_of_a_stack_keeps_its_address(migrate, lines, reason):
    source = kernel(declaration("last", "0"), "last[...] = nl.load(x)", *lines, declaration("b", "cols * 4"))
    migration = migrate(source, ARGS, MANAGER)
    assert migration.trouble == ()
    assert reason in reasons(migration.outcome)["a"]


def test_a_loop_that_is_left_early_keeps_its_addresses(migrate):
    source = kernel(
        declaration("last", "0"),
        declaration("b", "cols * 4"),
        "last[...] = nl.load(x)",
        "for i in nl.static_range(3):",
        f"    {declaration('a', 'cols * 8')}",
        "    a[...] = 1.0",
        "    if i == n:",
        "        break",
    )
    migration = migrate(source, ARGS, MANAGER)
    assert migration.trouble == ()
    assert "can be left" in reasons(migration.outcome)["a"]


def blocks_of(name: str, base: str, tiles: int) -> str:
    buffer = f"ncc.sbuf.mod_alloc(base_addr={base}, num_free_tiles=({tiles},))"
    return f"{name} = nl.ndarray((n + 1, par_dim(128), cols), dtype=nl.float32, buffer={buffer})"


@pytest.mark.parametrize(("blocks", "use"), [("auto", "u[:, i % {}, :]"), ("list", "u[i % {}]")])
@pytest.mark.parametrize("turns", [2, 3])
def test_two_tensors_whose_tiles_take_turns_in_one_loop_keep_their_addresses(migrate, blocks, use, turns):
    source = kernel(
        declaration("last", "0"),
        blocks_of("t", "cols * 4", 2),
        blocks_of("u", "cols * 12", turns),
        "last[...] = nl.load(x)",
        "for i in nl.sequential_range(n + 1):",
        "    t[i] = nl.load(x)",
        "    u[i] = nl.add(t[i], 1.0)",
        "    nl.store(out, u[i])",
    )
    migration = migrate(source, ARGS, Options(allocation="sbuf-manager", blocks=blocks))
    assert migration.trouble == ()
    assert reasons(migration.outcome) == {}
    assert use.format(turns) in migration.outcome.source


@pytest.mark.parametrize("allocation", ["address", "sbuf-manager"])
def test_a_tensor_at_an_advanced_address_is_declared_in_its_loop_where_that_is_asked_for(migrate, allocation):
    source = kernel(
        "at = 16",
        declaration("last", "at"),
        "at += cols * 4",
        blocks_of("t", "at", 2),
        "at += 2 * cols * 4",
        "for i in nl.sequential_range(n + 1):",
        "    t[i] = nl.load(x)",
        "    last[...] = nl.add(t[i], 1.0)",
    )
    migration = migrate(source, ARGS, Options(allocation=allocation, blocks="loop"))
    assert migration.trouble == () and reasons(migration.outcome) == {}
    written = migration.outcome.source
    assert ("interleave_degree=2" in written) == (allocation == "sbuf-manager")
    assert ("t_address = at" in written) == (allocation == "address")


def test_blocks_of_a_ring_that_are_passed_on_whole_are_a_list_of_their_own(migrate):
    source = kernel(
        blocks_of("t", "0", 2),
        declaration("last", "cols * 8"),
        "for i in nl.sequential_range(n + 1):",
        "    t[i] = nl.load(x)",
        "first, *others = t",
        "last[...] = nl.add(t[n], 1.0)",
    )
    outcome = rewrite(source, MANAGER)
    assert "t.append(t_physical[" in outcome.source


def test_one_tensor_comes_from_a_manager_too(migrate):
    migration = migrate(kernel(declaration("last", "64"), "last[...] = nl.load(x)"), ARGS, MANAGER)
    assert migration.trouble == () and "SbufManager(64, " in migration.outcome.source
    assert reasons(migration.outcome) == {}


# --- padding, rings, second scopes, the heap --------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 5])
def test_all_tiles_of_a_ring_are_there_however_many_blocks_take_them(migrate, count):
    source = kernel(
        "t = nl.ndarray((n, par_dim(128), cols), dtype=nl.float32,",
        "               buffer=ncc.sbuf.mod_alloc(base_addr=0, num_free_tiles=(3,)))",
        declaration("last", "cols * 12"),
        "for i in nl.sequential_range(n):",
        "    t[i] = nl.load(x)",
        "for i in nl.sequential_range(n):",
        "    last[...] = nl.add(t[i], 1.0)",
    )
    migration = migrate(source, {**ARGS, "n": count}, Options(allocation="sbuf-manager", blocks="list"))
    assert migration.trouble == () and reasons(migration.outcome) == {}
    assert "for i in range(3):\n        t.append(" in migration.outcome.source
    assert "data=t[i % 3]" in migration.outcome.source


def test_bytes_that_no_tensor_has_are_padding(migrate):
    source = kernel(
        declaration("a", "0"),
        "a[...] = nl.load(x)",
        declaration("last", "cols * 4 + 28"),
        "last[...] = nl.add(a, 1.0)",
    )
    migration = migrate(source, ARGS, MANAGER)
    assert migration.trouble == () and reasons(migration.outcome) == {}
    assert "padding_before_last = sbm.alloc_stack((nl.tile_size.pmax, 28), dtype=nl.int8)" in migration.outcome.source


def test_an_unknown_number_of_bytes_is_no_padding(migrate):
    source = kernel(declaration("last", "0"), "last[...] = nl.load(x)", declaration("a", "cols * 4 + n * 4"))
    migration = migrate(source, ARGS, MANAGER)
    assert migration.trouble == ()
    assert "no scope of a stack begins" in reasons(migration.outcome)["a"]


def test_a_tensor_on_top_of_another_is_a_second_scope(migrate):
    source = kernel(
        declaration("a", "0"),
        "a[...] = nl.load(x)",
        declaration("b", "8", columns="4"),
        "b[...] = nl.add(a[0:128, 0:4], 1.0)",
        declaration("last", "cols * 4"),
        "last[...] = nl.load(x)",
    )
    migration = migrate(source, ARGS, MANAGER)
    assert migration.trouble == () and reasons(migration.outcome) == {}


@pytest.mark.parametrize("loop", ["nl.affine_range(2)", "range(n)"])
def test_a_tensor_of_a_loop_on_top_of_one_around_it_closes_the_scope_before_the_loop(migrate, loop):
    source = kernel(
        declaration("a", "64"),
        "a[...] = nl.load(x)",
        declaration("last", "64 + cols * 4"),
        "last[...] = nl.load(x)",
        f"for i in {loop}:",
        f"    {declaration('b', '96', columns='4')}",
        "    b[...] = nl.add(a[0:128, 0:4], 1.0)",
        f"    {declaration('c', '128', columns='4')}",
        "    c[...] = b",
    )
    migration = migrate(source, ARGS, MANAGER)
    assert migration.trouble == () and reasons(migration.outcome) == {}


def test_scopes_around_a_branch_are_closed_for_its_first_tensor_only(migrate):
    source = kernel(
        declaration("a", "0"),
        "a[...] = nl.load(x)",
        declaration("last", "cols * 4"),
        "last[...] = nl.load(x)",
        "if n == 2:",
        f"    {declaration('b', '16')}",
        "    b[...] = 1.0",
        "else:",
        f"    {declaration('c', '8')}",
        "    c[...] = 1.0",
    )
    for n in (2, 3):
        migration = migrate(source, {**ARGS, "n": n}, MANAGER)
        assert migration.trouble == ()


def test_what_is_declared_above_all_the_rest_is_the_heap(migrate):
    source = kernel(
        declaration("a", "256", columns="8"),
        "a[...] = nl.load(x)",
        declaration("b", "0", columns="8"),
        "b[...] = nl.add(a, 1.0)",
        declaration("last", "32", columns="8"),
        "last[...] = nl.add(b, 1.0)",
    )
    migration = migrate(source, ARGS, MANAGER)
    assert migration.trouble == () and reasons(migration.outcome) == {}
    assert "SbufManager(0, 288)" in migration.outcome.source and "alloc_heap" in migration.outcome.source


def test_no_heap_where_the_rest_may_not_fit_below_it(migrate):
    source = kernel(
        declaration("a", "256", columns="8"),
        "a[...] = nl.load(x)",
        declaration("b", "0"),
        "b[...] = nl.add(a, 1.0)",
        declaration("last", "264", columns="8"),
        "last[...] = nl.add(b, 1.0)",
    )
    migration = migrate(source, ARGS, MANAGER)
    assert migration.trouble == () and "alloc_heap" not in migration.outcome.source
    assert reasons(migration.outcome) == {}


def test_padding_is_not_written_with_a_name_that_stands_for_something_else_by_then(migrate):
    source = kernel(
        declaration("a", "0"),
        "a[...] = nl.load(x)",
        "behind = cols * 8",
        "cols = 8 + cols",
        declaration("last", "behind", columns="8"),
        "last[...] = nl.add(a, 1.0)",
        declaration("b", "0"),
    )
    assert migrate(source, ARGS, MANAGER).trouble == ()


PLACES = """

def upwards(start):
    def place(idx, pdim_size, fdim_size):
        i, j = idx
        return 0, start + {formula}
    return place


@nki.jit
"""


@pytest.mark.parametrize(
    ("formula", "is_stack"),
    [
        ("(2 * i + j) * fdim_size", True),
        ("i * 2 * fdim_size + j * fdim_size", True),
        ("(i + 2 * j) * fdim_size", False),
        ("(2 * i + j) * 64", False),
        ("(3 * i + j) * fdim_size", False),
        ("(2 * i + j) % 2 * fdim_size", False),
    ],
)
def test_a_function_that_puts_tile_after_tile_is_followed(migrate, formula, is_stack):
    source = kernel(
        "t = nl.ndarray((n, 2, par_dim(128), cols), dtype=nl.float32, buffer=ncc.sbuf.alloc(upwards(0)))",
        declaration("last", "cols * 8 * n"),
        "for i in nl.affine_range(n):",
        "    t[i, 0] = nl.load(x)",
        "    t[i, 1] = nl.add(t[i, 0], 1.0)",
        "    last[...] = nl.copy(t[i, 1])",
    ).replace("\n\n@nki.jit\n", PLACES.format(formula=formula))
    migration = migrate(source, ARGS, MANAGER)
    assert migration.trouble == ()
    assert ("t" not in reasons(migration.outcome)) == is_stack


SHELF = """\
import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.language as nl
from neuronxcc.nki.language import par_dim


class Shelf:
    def __init__(self):
        self.taken = 0

    def put(self, width, tiles=1):
        at = self.taken
        self.taken += width * tiles * 4
        return ncc.sbuf.mod_alloc(base_addr=at, num_free_tiles=(tiles,))


shelf = Shelf()


@nki.jit
def k(x):
    out = nl.ndarray((128, 8), dtype=x.dtype, buffer=nl.shared_hbm)
{body}
    nl.store(out, last)
    return out
"""
LAST = "    last = nl.ndarray((par_dim(128), 8), dtype=nl.float32, buffer=shelf.put(8))\n    last[...] = nl.load(x)"
X = {"x": TensorSpec((128, 8), "float32", "normal")}


def test_blocks_of_an_object_take_turns_on_its_tiles(migrate):
    body = (
        "    t = nl.ndarray((4, par_dim(128), 8), dtype=nl.float32, buffer=shelf.put(width=8, tiles=2))\n"
        "    for i in nl.affine_range(4):\n        t[i] = nl.load(x)\n" + LAST
    )
    migration = migrate(SHELF.format(body=body), X)
    assert migration.objection is None
    assert migration.trouble == () and migration.outcome.findings == ()
    assert [(d.name, d.choice) for d in migration.outcome.decisions] == [("shelf", "one in each kernel"), ("t", "list")]


@pytest.mark.parametrize(
    ("body", "module", "reason"),
    [
        ("    for i in nl.affine_range(2):\n    " + LAST.replace("\n", "\n    "), "", "Beta 1 traced once"),
        (LAST, "at = shelf.put(1)\n", "called for something else than a buffer"),
        (LAST, "def more():\n    return shelf.put(1)\n", "called for something else than a buffer"),
    ],
)
def test_objects_that_are_left_alone(body, module, reason):
    source = SHELF.format(body=body).replace("@nki.jit", f"{module}@nki.jit")
    assert any(reason in f.message for f in rewrite(source).findings if f.code == "NKI015")
    assert (
        "class Shelf(nl.NKIObject):" in rewrite(source).source
    )  # it stays, as the class of an object that a kernel reads


@pytest.mark.parametrize("tiles", [1, 2, 5])
def test_what_an_object_hands_out_in_order_is_a_stack(migrate, tiles):
    body = (
        f"    t = nl.ndarray((4, par_dim(128), 8), dtype=nl.float32, buffer=shelf.put(width=8, tiles={tiles}))\n"
        "    for i in nl.affine_range(4):\n        t[i] = nl.load(x)\n" + LAST
    )
    migration = migrate(SHELF.format(body=body), X, MANAGER)
    assert migration.objection is None
    assert migration.trouble == () and reasons(migration.outcome) == {}
    assert "shelf" not in migration.outcome.source


def test_an_object_whose_tensors_are_not_all_on_the_stack_keeps_them_all(migrate):
    body = (
        "    if x.shape[0] == 128:\n"
        "        t = nl.ndarray((par_dim(128), 8), dtype=nl.float32, buffer=shelf.put(8))\n"
        "        t[...] = nl.load(x)\n" + LAST
    )
    migration = migrate(SHELF.format(body=body), X, MANAGER)
    assert migration.trouble == ()
    assert reasons(migration.outcome).keys() == {"t", "last"}
