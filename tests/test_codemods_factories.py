"""Kernels that functions of the host make: they move to the module, with what they close over."""

from __future__ import annotations

import textwrap

import pytest
from nki_migrate.codemods import Options, rewrite
from nki_migrate.guard import complete, objection
from nki_migrate.runtime.cases import ObjectSpec, TensorSpec

UNSAFE = Options(unsafe=True)
HEAD = "import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\n"


def x(*shape):
    return {"x": TensorSpec(shape, "float32", "normal")}


def factory(before="", reads="x[0:rows, 0:width]", ends="return kernel", parameters="rows, width", more=""):
    lines = [*before.split("\n"), "@nki.jit", "def kernel(x):"]
    lines += ["    out = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)"]
    lines += [f"    nl.store(out, value=nl.load({reads}))", "    return out", "", *ends.split("\n")]
    return f"{HEAD}{more}\n\ndef make({parameters}):\n" + textwrap.indent("\n".join(lines), "    ") + "\n"


def guarded(source, options=UNSAFE):
    outcome = complete(source, rewrite(source, options, "k.py"), options)
    return outcome, objection(source, outcome, options, "k.py", rewrite)


SIZES = {"rows": 16, "width": 24}
MOVES = {
    "sizes": factory(),
    "a size that changes before": factory("width = width - 4\nif width < 30:\n    width = width + 1"),
    "a vector": factory("i = nl.arange(rows)[:, None]", "x[i, nl.arange(width)[None, :]]"),
    "two vectors of one statement": factory("p, f = nl.mgrid[0:rows, 0:width]", "x[p, f]"),
    "a vector of a vector": factory("i = nl.arange(rows)[:, None]\nj = i + 0", "x[j, nl.arange(width)[None, :]]"),
    "a function": factory("def last():\n    return width", "x[0:rows, 0 : last()]"),
    "a function that launches it": factory(ends="def launched(x):\n    return kernel(x)\nreturn launched"),
    "a function that launches it on a grid": factory(
        ends="def launched(x):\n    return kernel[nl.nc(1)](x)\nreturn launched"
    ),
    "a pair": factory(ends="return kernel, rows"),
    "a name that is taken": factory(more="\n\ndef kernel():\n    return 1\n"),
    "a partial that the module imports": factory(more="from functools import partial\n"),
}


@pytest.mark.parametrize("what", MOVES)
def test_a_kernel_moves_with_what_it_closes_over(migrate, what):
    migration = migrate(MOVES[what], x(16, 32), UNSAFE, kernel="make", make=SIZES)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


def test_a_vector_that_other_code_reads_stays_there_too():
    source = factory("i = nl.arange(rows)[:, None]", "x[i, nl.arange(width)[None, :]]", "made = f'{i}'\nreturn kernel")
    outcome, refused = guarded(source)
    assert refused is None and "    i = nl.arange(rows)[:, None]\n" in outcome.source
    assert "'i' is not Beta 2, and is kept for a statement that was left alone" in [f.message for f in outcome.findings]


def test_defaults_of_the_function_are_those_of_the_kernel():
    outcome, refused = guarded(factory(parameters="rows, width=24"))
    assert refused is None and "def kernel(x, rows, width=24):" in outcome.source


def test_parameters_behind_those_with_defaults_have_some_of_their_own():
    source = factory().replace("def kernel(x):", "def kernel(x, n=1):")
    outcome, refused = guarded(source)
    assert refused is None and "def kernel(x, n=1, rows=None, width=None):" in outcome.source


def test_annotations_of_the_function_are_those_of_the_kernel():
    outcome, refused = guarded(factory(parameters="rows: int, width: int = 24"))
    assert refused is None and "def kernel(x, rows: int, width: int = 24):" in outcome.source


OPTIONS = """\
from dataclasses import dataclass

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@dataclass(frozen=True)
class Options:
    rows: int
    scale: float = 2.0


def make(options: Options, width):
    rows = options.rows

    @nki.jit
    def kernel(x):
        out = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x[0:rows, 0:width])
        nl.store(out, value=nl.multiply(tile, options.scale))
        return out

    return kernel
"""


def test_an_object_of_options_is_a_parameter_of_its_class(migrate):
    make = {"options": ObjectSpec("Options", {"rows": 16}), "width": 24}
    migration = migrate(OPTIONS, x(16, 32), UNSAFE, kernel="make", make=make)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


LAUNCHED = factory(ends="return kernel(x)", parameters="x, rows, width")


def test_a_kernel_that_is_only_launched_where_it_is_made_moves_without_unsafe():
    outcome, refused = guarded(LAUNCHED, Options())
    assert (outcome.findings, refused) == ((), None)
    assert "    return kernel(x, rows=rows, width=width)" in outcome.source


def test_one_that_is_returned_is_under_review():
    outcome, refused = guarded(factory(), Options())
    assert refused is None
    (finding,) = outcome.findings
    assert finding.applicability == "review" and "functools" not in outcome.source
    assert (
        finding.message
        == "'kernel' is a kernel in 'make', and uses names of it, which Beta 2 does not find: rows, width"
    )


SOURCE_OF_A_METHOD = HEAD + (
    "\n\nclass Layer:\n    def make(self, rows, width):\n        @nki.jit\n        def kernel(x):\n"
    "            out = nl.ndarray(({rows}, width), dtype=x.dtype, buffer=nl.shared_hbm)\n"
    "            nl.store(out, value=nl.load(x[0:{rows}, 0:width]))\n            return out\n\n        return kernel\n"
)


@pytest.mark.parametrize("comments", ["# ------\n# Copies\n# ------", "######\n# Copies", "# = Copies\n# ====== #"])
def test_a_kernel_moves_below_the_heading_of_its_section(comments):
    outcome, _refused = guarded(factory().replace("def make", f"{comments}\ndef make"))
    assert f"{comments}\n@nki.jit\ndef kernel(x, rows, width):" in outcome.source


def test_a_kernel_moves_above_the_comment_of_its_function():
    outcome, _refused = guarded(factory().replace("def make", "# Makes a kernel -- of two sizes\ndef make"))
    assert "return out\n\n\n# Makes a kernel -- of two sizes\ndef make(" in outcome.source


def test_a_kernel_of_a_method_moves_above_the_class():
    outcome, refused = guarded(SOURCE_OF_A_METHOD.format(rows="rows"))
    assert (outcome.findings, refused) == ((), None)
    assert outcome.source.index("@nki.jit\ndef kernel(x, rows, width):") < outcome.source.index("class Layer:")
    assert "        return functools.partial(kernel, rows=rows, width=width)" in outcome.source


IN_A_CONDITION = HEAD + (
    "\n\ndef make(rows, width):\n    if rows:\n        @nki.jit\n        def kernel(x):\n"
    "            out = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)\n"
    "            nl.store(out, value=nl.load(x[0:rows, 0:width]))\n            return out\n\n    return kernel\n"
)
GUARDED = factory().replace(
    HEAD, "try:\n    import neuronxcc.nki as nki\nexcept ImportError:\n    pass\n" + HEAD.split("\n")[1]
)
STAYS = {
    "stands in a condition of the module": HEAD
    + "\nif nl:\n"
    + textwrap.indent(factory().removeprefix(HEAD).strip("\n"), "    ")
    + "\n",
    "imports its decorator in a condition": GUARDED,
    "reads 'self'": SOURCE_OF_A_METHOD.format(rows="self.rows"),
    "bound below the kernel": factory(ends="width = 3\nreturn kernel"),
    "another function there rebinds": factory("def set_it():\n    nonlocal width\n    width = 2"),
    "another name than in the kernel": factory(ends="def launched(x, width):\n    return kernel(x)\nreturn launched"),
    "'rows', which is bound below": factory(ends="return [kernel(x) for rows in (1, 2)]", parameters="x, rows, width"),
    "something else there has the same name": factory(ends="kernel = str(kernel)\nreturn kernel"),
    "which only a trace can make": factory(
        "i = nl.arange(rows)[:, None]\nif width > 3:\n    i = nl.arange(rows)[:, None]",
        "x[i, nl.arange(width)[None, :]]",
    ),
    "which 'make' imports": factory("import math as m", "x[0:rows, 0 : m.ceil(width)]"),
    "may change between line": factory(
        "i = nl.arange(rows)[:, None]\nrows = rows + 1", "x[i, nl.arange(width)[None, :]]"
    ),
    "only a trace can make": factory(
        "i = [nl.arange(rows)[:, None]]\ni.append(2)", "x[i[0], nl.arange(width)[None, :]]"
    ),
    "in its decorators, defaults or annotations": factory().replace("def kernel(x):", "def kernel(x, n=width):"),
    "another name in its kernel": factory(
        "i = nl.arange(start)[:, None]", "x[i, nl.arange(width)[None, :]]", parameters="rows, width, start"
    ).replace("        out = ", "        start = 1\n        out = ", 1),
    "stands in a condition or a loop": IN_A_CONDITION,
}


@pytest.mark.parametrize("why", STAYS)
def test_a_kernel_that_cannot_move_is_left_under_a_finding(why):
    outcome, refused = guarded(STAYS[why])
    assert refused is None
    assert any(why in finding.message and finding.help for finding in outcome.findings), outcome.findings
    assert "functools" not in outcome.source


FILLED = """
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def make(rows):
    mask = np.zeros((rows, rows), dtype=np.float32)
    {filled}

    @nki.jit
    def kernel(x):
        out = nl.ndarray((rows, rows), dtype=nl.float32, buffer=nl.shared_hbm)
        nl.store(out, value=nl.load(nl.shared_constant(mask, dtype=nl.float32)))
        return out

    return {returned}
"""


@pytest.mark.parametrize(
    ("filled", "returned"),
    [
        ("mask[0, :] = 1.0", "kernel"),
        ("mask.fill(2.0)", "kernel"),
        ("np.fill_diagonal(mask, 1.0)", "kernel"),
        ("mask += 1", "kernel"),
        ("other = mask", "kernel"),
        ("pass", "(kernel, mask)"),
        ("for n in range(rows):\n        mask[n, n] = n", "kernel"),
    ],
)
def test_an_array_that_may_be_filled_is_no_constant_that_the_kernel_makes(filled, returned):
    outcome, refused = guarded(FILLED.format(filled=filled, returned=returned))
    assert refused is None and [f.code for f in outcome.findings] == ["NKI026"]


def test_an_array_of_a_size_that_changes_later_is_left():
    source = FILLED.format(filled="rows = rows + 1", returned="kernel")
    outcome, refused = guarded(source)
    assert refused is None and [f.code for f in outcome.findings] == ["NKI003"]


def test_an_array_that_nothing_fills_is_made_by_the_kernel(migrate):
    source = FILLED.format(filled="pass", returned="kernel")
    migration = migrate(source, x(8, 8), UNSAFE, kernel="make", make={"rows": 8})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


def test_what_is_left_in_a_kernel_that_moved_has_its_place_in_the_source():
    source = factory("lower = build(rows)", ends="return kernel")
    source = source.replace("        return out", "        c = nl.shared_constant(lower)\n        return out")
    outcome, refused = guarded(source)
    line = 1 + next(n for n, text in enumerate(source.split("\n")) if "shared_constant" in text)
    assert refused is None and [(f.line, f.code) for f in outcome.findings] == [(line, "NKI026")]
