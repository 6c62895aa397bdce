"""A kernel in which something is left never runs to wrong numbers, whichever rule left it.

Rewritten, it gives what it gave; or it stops at the mark that names the finding; or its file stays Beta 1 as a whole.
"""

from __future__ import annotations

import re

import pytest
from examples import sampled
from nki_migrate.codemods import Options, rewrite
from nki_migrate.codemods.rules.registry import RULES
from nki_migrate.codemods.syntax.mark_text import WORD
from nki_migrate.runtime.cases import TensorSpec
from nki_migrate.runtime.compare import Failure
from test_marks import KERNELS, source_of

NOT_IN_KERNELS = {
    "NKI001": "an import that stays speaks for itself",
    "NKI007": "host code",
    "NKI008": "annotations are no values: they go, or are kept",
    "NKI014": "it informs: tiles keep their address=",
    "NKI033": "it is about what cases show",
    "NKI034": "a shape that nothing tells is left by the rule that needs it",
}
"""Rules that leave nothing in a kernel's statements, and why."""

BLOCKS = "b = nl.ndarray((2, nl.par_dim(128), 64), dtype=x.dtype, buffer=nl.sbuf)\nb[0] = t\nb[1] = t\n"
TILE = "b = nl.ndarray((nl.par_dim(128), 64), dtype=x.dtype, buffer={})\nb[...] = t\nt = nl.add(b, 1.0)"
VECTORS = "i = nl.arange(64)[None, :]\nj = nl.arange(128)[:, None]\n"
SHELF = (
    "class Shelf:\n    def __init__(self):\n        self.at = 0\n\n    def put(self, size):\n        self.at += size\n"
    "        return ncc.sbuf.mod_alloc(base_addr=self.at - size, num_par_tiles=(1,))\n\n\nSHELF = Shelf()\n"
)
PAIR = "class Pair(list):\n    def first(self):\n        return self[0]\n"
COUNTER = (
    "def places():\n    at = 0\n    def place(idx, pdim_size, fdim_size):\n        nonlocal at\n"
    "        at += fdim_size\n        return 0, at\n    return place\n\n\nPLACE = places()\n"
)
PRODUCT = "nl.matmul(t, t, transpose_x=True)"
ONE = "    def f(v):\n        return nl.add(v, {})\n"
EITHER = f"if flag:\n{ONE.format(1.0)}else:\n{ONE.format(2.0)}"

LEFT: dict[str, list[tuple[str, str]]] = {
    "NKI002": [("@nki.jit(optimize=3)", "t = nl.add(t, 1.0)"), ("@ncc.force_auto_alloc", "t = nl.add(t, 1.0)")],
    "NKI003": [("", "def f(v):\n    return nl.add(v, float(n))\nt = [f][0](t)")],
    "NKI006": [
        ("", "u = nisa.tensor_tensor(t, t, op=np.hypot)\nt = nl.add(u, 1.0)"),
        ("", "u = nisa.tensor_reduce(np.mean, t, axis=1)\nt = nl.add(t, u)"),
    ],
    "NKI009": [(PAIR, "p = Pair([1.0, 2.0])\nt = nl.multiply(t, p.first() + len(p))")],
    "NKI010": [
        ("", BLOCKS + "t = nl.add(b[0:1][0], 1.0)"),
        ("", BLOCKS + "for i in nl.affine_range(1):\n    t[...] = nl.add(b[i : i + 1][0], 1.0)"),
    ],
    "NKI011": [
        ("", TILE.format("ncc.sbuf.mod_alloc(**{'base_addr': 0})")),
        ("", "place = ncc.sbuf.mod_alloc(base_addr=0)\nplaces = [place]\n" + TILE.format("places[0]")),
    ],
    "NKI012": [("", TILE.format("ncc.psum.mod_alloc(**{'base_bank': 0})").replace("x.dtype", "nl.float32"))],
    "NKI013": [(COUNTER, TILE.format("ncc.sbuf.alloc(PLACE)"))],
    "NKI015": [(SHELF, TILE.format("SHELF.put(256)"))],
    "NKI016": [("", "i = nl.program_id(n - 4)\nt = nl.add(t, i + 1.0)")],
    "NKI020": [("", "u = nl.load(t)\nt = nl.add(u, 1.0)"), ("", "nl.store(t, nl.add(t, 1.0))")],
    "NKI021": [
        ("", "u = nisa.tensor_copy(t[5:70, 0:64])\nt[5:70] = u"),
        ("", "nisa.activation(np.exp, t)\nt = nl.add(t, 1.0)"),
    ],
    "NKI023": [
        (
            "",
            f"p = nl.zeros((64, 64), dtype=nl.float32, buffer=nl.psum)\np[...] = nl.copy(t[0:64], dtype=nl.float32)\n"
            f"p += {PRODUCT}\nt[0:64] = nl.copy(p, dtype=x.dtype)",
        ),
    ],
    "NKI025": [
        ("", VECTORS + "t[j, i] = nl.add(t[j, i], 1.0, mask=(i < 3) & (j + i > 60))"),
        ("", VECTORS + "m = i < n\nt[j, i] = nl.add(t[j, i], 1.0, mask=m if bool(flag) else j < 3)"),
    ],
    "NKI026": [
        ("", "c = nl.shared_constant(np.tri(128, 64).astype(np.float32))\nt = nl.add(t, nl.load(c))"),
    ],
    "NKI027": [
        ("", VECTORS + "t = nisa.affine_select(pred=(i > 2) & (i < j), on_true_tile=t, on_false_value=0.0)"),
    ],
    "NKI028": [
        (
            "",
            "b = nisa.memset((128, 1), 2.0, dtype=nl.float32)\nt = nisa.range_select(on_true_tile=t, comp_op0=np.less, "
            "comp_op1=np.greater, bound0=b, bound1=b, on_false_value=0.5)",
        ),
    ],
    "NKI029": [
        ("", "c = nl.load(x[0:1, 0:1], dtype=nl.int32)\nfor i in range(0, nt.scalar(c), 2):\n    t = nl.add(t, 1.0)")
    ],
    "NKI031": [("", "u = nl.all_reduce(t, np.add, program_axes=[n - 4])\nt = nl.add(u, 1.0)")],
    "NKI037": [
        ("", "u = nl.softmax(t, axis=1, compute_dtype=nl.float32)\nt = nl.add(u, 1.0)"),
        ("", VECTORS + "u = nl.softmax(t[j, i], axis=1, mask=i < 5)\nt = nl.add(u, 1.0)"),
    ],
    "NKI035": [("", EITHER + "t = f(t)")],
}
"""What each rule leaves in a kernel: definitions above it (or its decorator), and statements in it."""

ARGS = {"x": TensorSpec((128, 64), "float32", "normal")}
CASES = {
    **{f"{code} {number}": (code, *kernel) for code, found in LEFT.items() for number, kernel in enumerate(found)},
    **{name: (code, "from theirs import width\n", body) for name, (code, body) in KERNELS.items()},
}


def indented(body: str) -> str:
    return "    " + body.replace("\n", "\n    ")


def in_helper(above: str, body: str) -> tuple[str, str]:
    helper = f"{above}\n\ndef part(x, t, flag, n, out):\n{indented(body)}\n    return t\n\n"
    return helper, "t = part(x, t, flag, n, out)"


def into_it(body: str) -> str:
    """The statements, in a block: names that are bound there are gone behind it."""
    return indented(re.sub(r"\bt = ", "t[...] = ", body))


PLACES = {
    "in the kernel": lambda above, body: (above, body),
    "in a branch": lambda above, body: (above, f"if flag:\n{into_it(body)}"),
    "in a traced loop": lambda above, body: (above, f"for turn in nl.affine_range(1):\n{into_it(body)}"),
    "in a helper": in_helper,
}
"""Where in a kernel something is left."""


def source_with(above: str, body: str, place: str = "in the kernel") -> str:
    """The kernel; what stands ``above`` may be another decorator."""
    if above.startswith("@"):
        _, body = PLACES[place]("", body)
        return source_of(body).replace("@nki.jit\n", f"{above}\n" if "jit" in above else f"{above}\n@nki.jit\n")
    above, body = PLACES[place](above, body)
    return source_of(body, above=above)


def test_each_rule_that_leaves_something_in_kernels_is_asked():
    asked = {*LEFT, *NOT_IN_KERNELS, *(code for code, _ in KERNELS.values())}
    assert {code for code in RULES if code.startswith("NKI")} - asked == set()
    assert {*LEFT} & {*NOT_IN_KERNELS} == set()


@pytest.mark.parametrize("name", CASES)
def test_the_kernels_leave_what_they_are_to(name):
    code, above, body = CASES[name]
    assert code in {finding.code for finding in rewrite(source_with(above, body)).findings}


@pytest.mark.parametrize(("place", "unsafe"), [("in the kernel", True), *((place, False) for place in PLACES)])
@pytest.mark.parametrize("name", sampled("left_in_kernels", CASES))
def test_a_kernel_in_which_something_is_left_gives_no_other_numbers(name, place, unsafe, migrate):
    _, above, body = CASES[name]
    source = source_with(above, body, place)
    migration = migrate(source, ARGS, Options(unsafe=unsafe))
    if migration.outcome.source == source or migration.objection is not None:
        return  # its file is not written
    after = migration.after
    if not isinstance(after, Failure):
        assert not migration.trouble or migration.outcome.inexact, migration.trouble
        return
    lines = migration.outcome.source.split("\n")
    kept = lines[after.line - 1].split(" = ")[0].strip()
    told = any(WORD in line for line in lines[: after.line]) or any(
        WORD in line and f"'{kept}'" in line.partition(" kept for it")[0] for line in lines
    )
    assert WORD in after.message or told, after.message
