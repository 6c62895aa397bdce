"""Kernels of launch grids: which ones loop, how they are launched then, and what stays as it is, with the reason."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from first_rung import Options, rewrite, rewrite_together
from nki_migrate.codemods import Outcome
from nki_migrate.golden import NKI_GOLDENS as GOLDENS
from nki_migrate.runtime import shims
from nki_migrate.runtime.cases import TensorSpec
from nki_migrate.runtime.compare import Failure, Run
from unmarked import unmarked

HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


"""
TWO_AXES = """\
@nki.jit
def k(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    row = nl.program_id(0)
    column = nl.program_id(1)
    nl.store(out[row, column, :, :], value=nl.load(x[row, column, :, :]))
    return out


"""
ONE_AXIS = """\
@nki.jit
def k(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    row = nl.program_id(0)
    nl.store(out[row, :, :], value=nl.load(x[row, :, :]))
    return out


"""
OF_CORES = """\
@nki.jit
def k(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    count = x.shape[1] // nl.num_programs(0)
    part = nl.ds(nl.program_id(0) * count, count)
    nl.store(out[:, part], value=nl.load(x[:, part]))
    return out


"""


def rewritten(source: str, **options: Any) -> Outcome:
    return rewrite(HEAD + source, Options(**{"unsafe": True, **options}))


def found(outcome: Outcome) -> list[tuple[int, str, str]]:
    """Line, applicability and message of the findings about grids; lines without the head."""
    offset = HEAD.count("\n")
    return [(f.line - offset, f.applicability, f.message) for f in outcome.findings if f.code == "NKI016"]


# --- launches --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("y = k[4, 2](x)\n", "y = k(x, grid=(4, 2))\n"),
        ("y = k[(4, 2)](x=x)\n", "y = k(x=x, grid=(4, 2))\n"),
        ("y = k[\n    n,\n    2,\n](\n    x,\n)\n", "y = k(\n    x,\n    grid=(n, 2),\n)\n"),
        (
            "y = k[\n    n,  # rows\n    2,\n](  # all\n    x,\n)\n",
            "# rows\ny = k(  # all\n    x,\n    grid=(n, 2),\n)\n",
        ),
        ("y = k[n, m + 1](*given)\n", "y = k(*given, grid=(n, m + 1))\n"),
        ("y = k[sizes](**given)\n", "y = k(**given, grid=sizes)\n"),
        ("y = k[sizes()](x)\n", "y = k(x, grid=sizes())\n"),
        ("y = k[0, 2](x)\n", "y = k(x, grid=(1, 2))\n"),
        ("y = (k)[4, 2](x)\n", "y = (k)(x, grid=(4, 2))\n"),
        ("y = nki.simulate_kernel(k[4, 2], x)\n", "y = k(x, grid=(4, 2))\n"),
        ("f = k\ny = f[4, 2](x)\n", "f = k\ny = f(x, grid=(4, 2))\n"),
        ("def h(x):\n    f = k\n    return f[4, 2](x)\n", "def h(x):\n    f = k\n    return f(x, grid=(4, 2))\n"),
        ("y = k[n, nl.nc(2)](x)\n", "y = k[2](x, grid=(n, 2))\n"),
        ("y = k[nl.nc(2) * n, 2](x)\n", "y = k[2](x, grid=(2 * n, 2))\n"),
        ("y = k[nl.spmd_dim(a + b, nl.nc(2)), 2](x)\n", "y = k[2](x, grid=((a + b) * 2, 2))\n"),
        ("g = (nl.nc(2), m)\ny = k[g](x)\n", "g = (2, m)\ny = k[2](x, grid=g)\n"),
        ("y = k[nl.spmd_dim(n, nl.nc(cores)), 2](x)\n", "y = k[cores](x, grid=(n * cores, 2))\n"),
        ("y = k[n, nl.nc(cores)](x)\n", "y = k[cores](x, grid=(n, cores))\n"),
        ("def h(x):\n    k = [x]\n    return k[0](x)\n", "def h(x):\n    k = [x]\n    return k[0](x)\n"),
    ],
)
def test_a_launch_passes_its_grid_as_an_argument(before, after):
    outcome = rewritten(TWO_AXES + before)
    assert outcome.source.endswith("    return out\n\n\n" + after)
    assert outcome.findings == ()


def test_a_launch_of_what_a_function_was_given_is_not_taken_for_one_of_the_kernel():
    outcome = rewritten(TWO_AXES + "def h(k, x):\n    return k[4, 2](x)\n")
    assert unmarked(outcome.source).endswith("def h(k, x):\n    return k[4, 2](x)\n")
    assert found(outcome) == [(11, "manual", "'k' is launched on a grid of 2 dimensions")]


@pytest.mark.parametrize(
    "host",
    [
        "f = k[4, 2]\ny = run(f, x)\n",
        "f = k[n, 2]\nn = 3\ny = f(x)\n",
        "f = k[4, 2]\nf = max\ny = f(x)\n",
        "f = k[4, 2]\n\n\ndef g(x):\n    return f(x)\n",
        "for f in fs:\n    y = f(x)\nf = k[4, 2]\n",
        "if n:\n    f = k[4, 2]\ny = f(x)\n",
        "t = nki.benchmark(k)\nf = t[4, 2]\ng = t[1, 2]\ny = f(x)\nprint(f.benchmark_result)\n",
        "fs = [k[4, 2]]\n",
    ],
)
def test_a_grid_whose_arguments_stand_elsewhere_is_a_finding(host):
    outcome = rewritten(TWO_AXES + host)
    line = 9 + next(number for number, text in enumerate(host.split("\n"), start=1) if "4, 2" in text or "n, 2" in text)
    assert (line, "manual", "'k' gets its grid here, and its arguments elsewhere") in found(outcome)
    assert "[4, 2]" in outcome.source or "[n, 2]" in outcome.source


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f = k[4, 2]\ny = f(x)\nz = f(y)\n", "f = k\ny = f(x, grid=(4, 2))\nz = f(y, grid=(4, 2))\n"),
        (
            "def h(x, n):\n    f = k[n, 2]\n    if n:\n        return f(x)\n    return f(x, n=n)\n",
            "def h(x, n):\n    f = k\n    if n:\n        return f(x, grid=(n, 2))\n"
            "    return f(x, n=n, grid=(n, 2))\n",
        ),
        (
            "t = k\n\n\ndef h(x):\n    f = t[4, 2]\n    f(x)\n    return f.name\n",
            "t = k\n\n\ndef h(x):\n    f = t\n    f(x, grid=(4, 2))\n    return f.name\n",
        ),
    ],
)
def test_a_launch_in_two_steps_passes_its_grid_in_the_second(before, after):
    outcome = rewritten(TWO_AXES + before)
    assert outcome.source.endswith("    return out\n\n\n" + after), outcome.source
    assert outcome.findings == ()


ALIKE = "@nki.jit\ndef k(x):\n    print(x.shape)\n    return x\n\n\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("y = k[n](x)\n", "y = k(x)\n"),
        ("f = k[n]\ny = f(x)\n", "f = k\ny = f(x)\n"),
        ("y = nki.simulate_kernel(k[x.shape[0]], x)\n", "y = k(x)\n"),
    ],
)
def test_programs_that_never_ask_for_their_place_are_one(before, after):
    source = HEAD + ALIKE + before
    assert "never asks for its place in it" in str(rewrite(source).findings)
    outcome = rewritten(ALIKE + before)
    assert outcome.source.endswith("    return x\n\n\n" + after)
    assert outcome.findings == ()


def test_a_number_of_cores_is_no_number_of_programs_that_do_the_same():
    assert rewritten(ALIKE + "y = k[2](x)\n").source.endswith("y = k[2](x)\n")
    asking = ALIKE.replace("return x", "return x if nl.num_programs(0) > 1 else None")
    assert rewritten(asking + "y = k[n](x)\n").source.endswith("y = k[n](x)\n")


def test_a_kernel_that_names_a_function_which_asks_is_launched_as_it_was():
    asking = "def ask():\n    return nl.num_programs(0)\n\n\n" + ALIKE.replace("return x", "return run(ask, x)")
    assert "y = k[n](x)\n" in rewritten(asking + "y = k[n](x)\n").source


@pytest.mark.parametrize(
    ("launch", "loop"),
    [
        ("k[nl.spmd_dim(n, nl.nc(2)), 2](x)", "range(nl.program_id(0), grid[0], nl.num_programs(0))"),
        ("k[nl.nc(2), 2](x)", "range(nl.program_id(0), grid[0], nl.num_programs(0))"),
        (
            "k[nl.spmd_dim(nl.nc(2), n), 2](x)",
            "range(\n        nl.program_id(0) * grid[0] // nl.num_programs(0), "
            "(nl.program_id(0) + 1) * grid[0] // nl.num_programs(0)\n    )",
        ),
    ],
)
def test_the_cores_share_the_programs_as_the_launch_says(launch, loop):
    source = rewritten(TWO_AXES + f"y = {launch}\n").source
    assert "".join(f"for row in nl.affine_{loop}:".split()) in "".join(source.split())


@pytest.mark.parametrize(
    "grid",
    ["nl.nc(2), nl.nc(2)", "nl.nc(4), 2", "nl.spmd_dim(2, nl.nc(2), 2), 2", "nl.nc(2 * n), 2", "nl.nc(n), nl.nc(m)"],
)
def test_cores_that_beta_2_does_not_have_are_a_finding(grid):
    outcome = rewritten(TWO_AXES + f"y = k[{grid}](x)\n")
    assert "asks for physical cores in a way" in found(outcome)[0][2]
    assert "nl.program_id(1)" in outcome.source


# --- grids of one axis -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("launch", ["k[n](x)", "k[4](x)", "k[0](x)", "k[n * 2](x)", "x"])
def test_a_grid_of_batches_becomes_a_loop(launch):
    outcome = rewritten(ONE_AXIS + f"y = {launch}\n")
    assert "    for row in nl.affine_range(grid[0]):\n" in outcome.source
    assert outcome.findings == ()


@pytest.mark.parametrize("launch", ["k[1](x)", "k[2](x)", "k[(2,)](x)"])
def test_a_number_of_cores_stays(launch):
    outcome = rewritten(ONE_AXIS + f"y = {launch}\n")
    assert outcome.source.endswith(f"y = {launch}\n")
    assert "row = nl.program_id(0)" in outcome.source
    assert outcome.findings == ()


@pytest.mark.parametrize("unsafe", [False, True])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("k[nl.nc(2)](x)", "k[2](x)"),
        ("k[(nl.nc(2),)](x)", "k[(2,)](x)"),
        ("k[lnc](x)", "k[lnc](x)"),
        ("k[nl.nc(lnc)](x)", "k[lnc](x)"),
    ],
)
def test_a_kernel_that_adapts_to_the_number_of_cores_stays(before, after, unsafe):
    outcome = rewritten(OF_CORES + f"y = {before}\n", unsafe=unsafe)
    assert outcome.source.endswith(f"y = {after}\n")
    assert "nl.num_programs(0)" in outcome.source
    assert outcome.findings == ()


def test_cores_that_reduce_together_stay():
    lines = "    total = nl.all_reduce(nl.load(x[row, :, :]), nl.add, program_axes=[0])\n"
    outcome = rewritten(ONE_AXIS.replace("    nl.store(", lines + "    nl.store(") + "y = k[lnc](x)\n")
    assert found(outcome) == []
    assert "row = nl.program_id(0)" in outcome.source


def test_a_kernel_that_adapts_loops_where_a_launch_says_more_than_two():
    assert "nl.num_programs" not in rewritten(OF_CORES + "y = k[4](x)\n").source


# --- kernels ---------------------------------------------------------------------------------------------------------


def test_what_no_program_changes_stands_outside():
    source = """\
@nki.jit
def k(x, scale):
    # an index
    row = nl.program_id(0)
    rows, width = x.shape[1], x.shape[2]
    scale = scale * 2
    assert width <= 512
    first = [0]
    if width > 4:
        out = nl.ndarray((2, rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    else:
        out = nl.ndarray((2, rows, width), dtype=nl.float32, buffer=nl.shared_hbm)
    first.append(row)
    rows_here = rows + row
    assert rows_here > row
    assert rows_here > rows - 1
    tile = nl.load(x[row, :, :])
    nl.store(out[row, :, :], value=nl.multiply(tile, scale, dtype=nl.float32))
    if width > 4:
        return out
    return out


y = k[n](x, 2.0)
"""
    lines = rewritten(source).source.split("\n")
    start, loop = lines.index("    assert len(grid) == 1"), lines.index("    for row in nl.affine_range(grid[0]):")
    outside = [line.strip() for line in lines[start + 1 : loop]]
    assert outside == [
        "rows, width = x.shape[1], x.shape[2]",
        "scale = scale * 2",
        "assert width <= 512",
        "if width > 4:",
        "out = nl.ndarray((2, rows, width), dtype=x.dtype, buffer=nl.shared_hbm)",
        "else:",
        "out = nl.ndarray((2, rows, width), dtype=nl.float32, buffer=nl.shared_hbm)",
        "# an index",
    ]
    end = lines.index("        return out")
    assert lines[end - 1 : end + 3] == ["    if width > 4:", "        return out", "    return out", ""]


def test_host_code_that_calls_a_kernel_is_no_helper_of_it():
    outcome = rewritten(TWO_AXES + "def run(x):\n    return k(x) if x is None else k[4, 2](x)\n")
    assert "for row in nl.affine_range(grid[0]):" in outcome.source
    assert "def run(x):\n    return k(x) if x is None else k(x, grid=(4, 2))\n" in outcome.source


def test_a_helper_hands_on_what_each_of_the_functions_that_it_calls_asks_for():
    asks = "def here():\n    return nl.program_id(0)\n\n\ndef many():\n    return nl.num_programs(1)\n\n\n"
    helper = "def both():\n    first = many()\n    return first + here()\n\n\n"
    for source in (helper, helper.replace("first = many()", "first = here()").replace("+ here()", "+ many()")):
        outcome = rewritten(asks + source + TWO_AXES.replace("row = nl.program_id(0)", "row = both()"))
        assert outcome.findings == () and "def both(program_0, grid):" in outcome.source, outcome.source


def test_a_kernel_that_is_named_by_a_harness_loops():
    outcome = rewritten(TWO_AXES + "def timed(x):\n    return nki.benchmark(k)\n")
    assert "for row in nl.affine_range(grid[0]):" in outcome.source


KEPT = {
    "side by side": (
        "    total = nl.all_reduce(tile, nl.add, program_axes=[0])\n",
        "nl.all_reduce exchanges values between programs",
    ),
    "an axis that is computed": ("    other = nl.program_id(len(x.shape) - 3)\n", "nl.program_id of an axis that"),
    "another name": ("    where = nl.program_id\n    other = where(0)\n", "nl.program_id under another name"),
    "its own output": (
        "    more = nl.ndarray((row + 1, 4), dtype=x.dtype, buffer=nl.shared_hbm)\n",
        "an output is declared where each program",
    ),
    "an early return": ("    if x.shape[0] == 1:\n        tile = tile\n        return out\n", "a return amid a kernel"),
    "a helper as a value": (
        "    for f in (placed,):\n        tile = f(tile)\n        break\n    tile = placed(tile)\n",
        "'placed' asks for the launch grid, and is named otherwise",
    ),
}


def test_what_asks_behind_the_kernel_stops_it():
    """A question that stays would get the answer 0 in every iteration."""
    helper = "def placed(tile):\n    return nl.multiply(tile, nl.program_id(0) + 1)\n\n\n"
    applied = "def applied(f, tile):\n    return f(tile)\n\n\n"
    holder = "class Holder:\n    def placed(self, tile):\n        return nl.multiply(tile, nl.program_id(0) + 1)\n\n\n"
    kernel = TWO_AXES.replace("value=nl.load(x[row, column, :, :])", "value={0}nl.load(x[row, column, :, :]))")
    for code, call, reason in (
        (helper + applied, "applied(placed, ", "'placed' asks for the launch grid, and is named otherwise"),
        (holder, "Holder().placed(", "a method asks for the launch grid (line 8 of <string>)"),
    ):
        outcome = rewritten(code + kernel.format(call) + "y = k[4, 2](x)\n")
        assert any(applicability == "manual" and reason in message for _, applicability, message in found(outcome))
        assert "y = k[4, 2](x)\n" in outcome.source


@pytest.mark.parametrize(
    ("imported", "call", "reported"),
    [
        ("from elsewhere import load", "load(x[row, column, :, :])", True),
        ("from .elsewhere import load", "load(x[row, column, :, :])", True),
        ("import elsewhere.loads as loads", "loads.load(x[row, column, :, :])", True),
        ("import math", "nl.load(x[row, column, 0 : math.ceil(4), :])", False),
    ],
)
def test_functions_out_of_sight_may_ask(imported, call, reported):
    source = imported + "\n\n\n" + TWO_AXES.replace("nl.load(x[row, column, :, :])", call)
    for unsafe in (False, True):
        messages = [
            message
            for _, applicability, message in found(rewritten(source, unsafe=unsafe))
            if applicability == "manual"
        ]
        assert any("these files do not show" in message for message in messages) == reported


@pytest.mark.parametrize("name", KEPT)
def test_what_cannot_loop_stays_with_the_reason(name):
    lines, reason = KEPT[name]
    helper = "def placed(tile):\n    return nl.multiply(tile, nl.program_id(1) + 1)\n\n\n"
    source = helper + TWO_AXES.replace(
        "    nl.store(", "    tile = nl.load(x[row, column, :, :])\n" + lines + "    nl.store("
    )
    for unsafe in (False, True):
        outcome = rewritten(source + "y = k[4, 2](x)\n", unsafe=unsafe)
        about = [(a, m) for _, a, m in found(outcome) if reason in m]
        assert about and about[0][0] == "manual", found(outcome)
        assert "y = k[4, 2](x)\n" in outcome.source
        assert any("launched on a grid" in message for _, _, message in found(outcome))


def test_what_a_program_returns_must_be_shared():
    source = ONE_AXIS.replace("    return out\n", "    shape = (row, 2)\n    return out, shape\n")
    assert "the kernel returns what one program made" in found(rewritten(source + "y = k[n](x)\n"))[0][2]


@pytest.mark.parametrize(
    ("name", "parameter"), [("size", "grid"), ("grid", "launch_grid"), ("launch_grid", "grid"), ("x", "grid")]
)
def test_the_parameter_has_a_name_that_the_kernel_does_not_use(name, parameter):
    source = TWO_AXES.replace("    row =", f"    {name} = x\n    row =")
    outcome = rewritten(source + "grid = (4, 2)\ny = k[grid](x)\n")
    assert f"def k(x, {parameter}):" in outcome.source
    assert f"y = k(x, {parameter}=grid)" in outcome.source


def test_no_name_is_left_for_the_parameter():
    source = TWO_AXES.replace("    row =", "    grid, launch_grid = 1, 2\n    row =")
    outcome = rewritten(source)
    assert {applicability for _, applicability, _ in found(outcome)} == {"manual"}
    assert "nl.program_id(1)" in outcome.source


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def k(x):", "def k(x, grid):"),
        ("def k(\n    x,  # given\n):", "def k(x, grid):"),
        ("def k(x, scale=(1, 2)):", "def k(x, scale=(1, 2), grid=None):"),
        ("def k(x: nl.ndarray = (None), ):", "def k(x: nl.ndarray = (None), grid=None):"),
    ],
)
def test_the_parameter_comes_last(before, after):
    source = rewritten(TWO_AXES.replace("def k(x):", before)).source
    header = source[source.index("def k(") : source.index("assert len(grid)")]
    assert "".join(after.split()) == "".join(line.partition("#")[0].strip() for line in header.split("\n")).replace(
        " ", ""
    ).replace(",)", ")")


def test_lines_of_findings_are_those_of_the_input():
    body = TWO_AXES.replace("    nl.store(", "    with open('a') as file:\n        pass\n    nl.store(")
    before, after = rewritten(body, unsafe=False), rewritten(body)
    line = (HEAD + body).split("\n").index("    with open('a') as file:") + 1
    places = [{(f.line, f.column) for f in o.findings if f.code == "NKI091"} for o in (before, after)]
    assert places[0] == places[1] == {(line, 5)}


def test_a_module_without_nl_gets_it():
    source = TWO_AXES.replace("nl.program_id", "program_id").replace("nl.", "lang.")
    text = (
        "import neuronxcc.nki.language\nfrom neuronxcc import nki\nfrom neuronxcc.nki.language import program_id\n\n\n"
    )
    source = rewrite(text + source.replace("lang.", "neuronxcc.nki.language."), Options(unsafe=True)).source
    assert "for row in nl.affine_range(grid[0]):" in source
    assert "import nki.language as nl\n" in source


def test_without_the_rule_nothing_loops():
    outcome = rewritten(TWO_AXES + "y = k[4, 2](x)\n", ignore=frozenset({"NKI016"}))
    assert "nl.program_id(1)" in outcome.source
    assert "y = k[4, 2](x)\n" in outcome.source
    assert {applicability for _, applicability, _ in found(outcome)} == {"manual"}


# --- helpers ---------------------------------------------------------------------------------------------------------


def test_helpers_of_other_files_get_their_places():
    helper = HEAD + "def moved(x, row):\n    return nl.load(x[row, nl.program_id(1), :, :])\n"
    kernel = HEAD.replace("\n\n\n", "\nfrom parts import moved\n\n\n") + TWO_AXES.replace(
        "nl.load(x[row, column, :, :])", "moved(x, row)"
    )
    host = "import neuronxcc.nki as nki\nimport main\n\ny = nki.simulate_kernel(main.k[4, 2], x)\n"
    files = {"parts.py": helper, "main.py": kernel, "host.py": host}
    outcomes = rewrite_together(files, Options(unsafe=True))
    assert "def moved(x, row, program_1):" in outcomes["parts.py"].source
    assert "moved(x, row, program_1=column)" in outcomes["main.py"].source
    assert "y = main.k(x, grid=(4, 2))" in outcomes["host.py"].source
    assert all(outcome.findings == () for outcome in outcomes.values())


def test_a_library_gets_parameters_whose_absence_is_noticed(ask):
    source = """\
def moved(x, at=0):
    return nl.load(x[at, nl.program_id(1), :, :])
"""
    after = rewritten(source).source
    assert "def moved(x, at=0, program_1=None):\n    assert program_1 is not None\n" in after
    user = """

@nki.jit
def user(x):
    out = nl.ndarray((4, 8), dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=moved(x))
    return out
"""
    reply = ask(after.replace("import nki.language", "import nki\nimport nki.language") + user, "user", args=SMALL)
    assert isinstance(reply, Failure)
    assert "AssertionError" in reply.message or "assert" in reply.message.lower()


SMALL = {"x": TensorSpec((2, 2, 4, 8), "float32")}


# --- launches that were not rewritten --------------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["", ", scale=1.0"])
@pytest.mark.parametrize("grid", [(), (2,)])
def test_a_launch_without_the_argument_stops(ask, given, grid):
    """What nobody told the kernel must not become one program of many."""
    kernel = rewritten(TWO_AXES.replace("def k(x)", f"def k(x{given})")).source
    case: dict[str, Any] = {"args": SMALL}
    wrapped = kernel + "\n\n@nki.jit\ndef launched(x):\n    return k(x)\n"
    reply = ask(wrapped, "launched", grid=grid, **case)
    assert isinstance(reply, Failure)


def test_a_grid_of_other_axes_stops(ask):
    reply = ask(rewritten(TWO_AXES).source, "k", grid=(2, 2, 2), args=SMALL)
    assert isinstance(reply, Failure)
    assert "AssertionError" in reply.message


def test_programs_are_recorded_one_by_one(ask):
    reply = ask(rewritten(TWO_AXES).source, "k", grid=(2, 2), args=SMALL)
    assert isinstance(reply, Run)
    assert [len(program.events) for program in reply.programs] == [2, 2, 2, 2]
    assert [len(program.tiles) for program in reply.programs] == [1, 1, 1, 1]
    assert [[tensor.name for tensor in program.tensors] for program in reply.programs] == [["x", "out"]] * 4


# --- cores -----------------------------------------------------------------------------------------------------------


def module_of(source: str, name: str, folder: Path) -> ModuleType:
    """A module that was loaded with the emulator standing in for NKI."""
    path = folder / f"{name}.py"
    path.write_text(source)
    module = ModuleType(name)
    module.__file__ = str(path)
    exec(compile(source, str(path), "exec"), module.__dict__)
    return module


def test_two_cores_do_what_all_programs_did(tmp_path):
    golden = GOLDENS["launch_grid"]
    x = np.random.default_rng(0).standard_normal((4, 3, 128, 8)).astype(np.float32)
    bias = np.random.default_rng(1).standard_normal((3, 128, 1)).astype(np.float32)
    with shims.installed():
        before = module_of(golden.before, "before_grid", tmp_path).on_two_cores(x, bias, 3.0)
    with shims.installed():
        after = module_of(golden.first_after, "after_grid", tmp_path)
        shared, alone = after.on_two_cores(x, bias, 3.0), after.scaled_heads(x, bias, 3.0, grid=(4, 3))
    assert np.array_equal(before, shared)
    assert np.array_equal(before, alone)


# --- further parameters and arguments --------------------------------------------------------------------------------

ON_LINES = """\
@nki.jit
def k(
    x,
    scale=2.0,{comment}
):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    row = nl.program_id(0)
    nl.store(out[row, :, :], nl.multiply(nl.load(x[row, :, :]), scale))
    return out


y = k[n](
    x,
    scale=3.0{end}
)
"""


@pytest.mark.parametrize("comment", ["", "  # of all"])
@pytest.mark.parametrize("end", [",", "", ",  # of this one"])
def test_a_further_one_stands_on_a_line_of_its_own_where_the_last_one_does(comment, end):
    text = rewritten(ON_LINES.format(comment=comment, end=end)).source
    assert f"    scale=2.0,{comment}\n    grid=None,\n):\n" in text
    assert f"    scale=3.0,{end.lstrip(',')}\n    grid=(n,){',' if end else ''}\n)\n" in text


def test_a_sign_in_a_string_behind_the_last_one_is_no_comment():
    text = rewritten(ON_LINES.format(comment="", end="").replace("\n)\n", ", ) if n else '#'\n")).source
    assert "    scale=3.0,\n    grid=(n,), ) if n else '#'\n" in text


def test_a_further_one_stands_behind_the_last_one_where_that_shares_its_line():
    text = rewritten(ON_LINES.format(comment="", end="").replace("x,\n    scale", "x, scale")).source
    assert "    x, scale=2.0, grid=None,\n):\n" in text and "    x, scale=3.0, grid=(n,)\n)\n" in text


def test_lines_of_findings_are_those_of_the_source_below_a_further_parameter_on_its_line():
    left = "    nl.store(out[row, :, :], nl.gather_flattened(row, row))\n    return"
    source = ON_LINES.format(comment="", end="").replace("    return", left)
    outcome = rewritten(source + "z = nki.benchmark(k)(x)\n")
    lines = (HEAD + source + "z = nki.benchmark(k)(x)\n").split("\n")
    places = {finding.line for finding in outcome.findings}
    assert places and all("gather_flattened" in lines[n - 1] or "benchmark" in lines[n - 1] for n in places), places
