"""Each name of the output means what it meant in the source: calls, captures and branches included."""

from __future__ import annotations

import ast

import pytest
from first_rung import Options, rewrite, rewrite_together
from nki_migrate.codemods.project.binding_check import violations
from nki_migrate.codemods.project.origins import Origin
from nki_migrate.codemods.project.reaching_definitions import definitions, every_statement
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    n = x.shape[1] // 16
    off = 3
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
{made}
    tile = nl.load(x)
    tile[...] = nl.multiply(tile, float({factor}))
    nl.store(out, value=tile)
    return out
"""
ARGS = {"x": TensorSpec((128, 64), "float32", "normal")}


def kernel(made: str, factor: str) -> str:
    return KERNEL.format(made="".join(f"    {line}\n" for line in made.split("\n")), factor=factor)


WRONG = {
    "two functions in two branches": (
        "if n == 3:\n    def f(v):\n        return v\nelse:\n    def f(v):\n        return v + 1",
        "f(2)",
    ),
    "a function that a branch defines again": (
        "def f(v):\n    return v\nif n == 4:\n    def f(v):\n        return v + 1",
        "f(2)",
    ),
    "a parameter of the caller that is called like what is captured": (
        "def a(v):\n    return v + off\ndef b(off):\n    return a(2) + off",
        "b(5)",
    ),
    "a local name of the caller that is called like what is captured": (
        "def a(v):\n    return v + off\ndef b(w):\n    off = w\n    return a(2) + off",
        "b(5)",
    ),
    "a name that a loop of the caller binds": (
        "def a(v):\n    return v + off\ndef b(w):\n    for off in range(2):\n        w = w + a(off)\n    return w",
        "b(5)",
    ),
    "a function of another branch that another function calls": (
        "if n == 3:\n    def a(v):\n        return v\nelse:\n    def a(v):\n        return v + 1\n"
        "def b(w):\n    return a(w)",
        "b(5)",
    ),
}


@pytest.mark.parametrize("reason", sorted(WRONG))
def test_a_file_with_a_name_that_may_mean_something_else_keeps_every_byte(reason: str) -> None:
    source = kernel(*WRONG[reason])
    outcome = rewrite(source)
    assert outcome.source == source
    assert "NKI035" in {finding.code for finding in outcome.findings}
    assert outcome.applied == {}


PLACES = """\
if n == 3:
    def place(idx, pdim_size, fdim_size):
        return 0, 1024
else:
    def place(idx, pdim_size, fdim_size):
        return 0, 2048
where = nl.ndarray((nl.par_dim(128), 64), dtype=nl.float32, buffer=ncc.sbuf.alloc(place))"""


def test_one_of_two_allocation_functions_is_a_finding() -> None:
    source = kernel(PLACES, "n")
    outcome = rewrite(source)
    assert outcome.source == source
    assert any("'place'" in finding.message for finding in outcome.findings if finding.code == "NKI035")


RIGHT = {
    "a function in a loop": ("for i in nl.static_range(2):\n    def f(v):\n        return v + i", "f(2)"),
    "a function under a condition": ("if n == 4:\n    def f(v):\n        return v + n", "f(2)"),
    "a captured name that is bound again before and after": (
        "def f(v):\n    return v + off\noff = 5\nfirst = f(1)\noff = 7",
        "f(2) * first",
    ),
    "a function that calls another one, with names of its own": (
        "def a(v):\n    return v + off\ndef b(w):\n    other = w\n    return a(2) + other",
        "b(5)",
    ),
    "a parameter that is called like what the function does not capture": (
        "def a(v):\n    return v + n\ndef b(off):\n    return a(2) + off",
        "b(5)",
    ),
    "the same name in both functions, captured by neither": (
        "def a(v):\n    w = v + 1\n    return w\ndef b(w):\n    return a(w) + off",
        "b(5)",
    ),
}


@pytest.mark.parametrize("reason", sorted(RIGHT))
def test_what_means_the_same_is_rewritten_and_equal(migrate, reason: str) -> None:
    migration = migrate(kernel(*RIGHT[reason]), ARGS)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


def test_a_file_that_is_left_keeps_its_imports_and_its_grid_too() -> None:
    source = kernel(*WRONG["two functions in two branches"]).replace("float(", "float(nl.num_programs(0) * ")
    source += "\n\ndef run(x):\n    return k[1](x)\n"
    assert rewrite(source, Options(unsafe=True)).source == source
    other = kernel(*RIGHT["a function in a loop"])
    outcomes = rewrite_together({"a.py": source, "b.py": other}, Options(unsafe=True))
    assert outcomes["a.py"].source == source
    assert outcomes["b.py"].source != other


def test_a_function_that_is_handed_on_keeps_what_it_captures() -> None:
    source = kernel("def f(v):\n    return v + off\ng = f", "n")
    outcome = rewrite(source)
    assert any("'f' captures 'off'" in finding.message for finding in outcome.findings)
    assert "    def f(v):\n        return v + off\n" in outcome.source


def test_a_kernel_that_the_module_binds_again_to_what_is_made_of_it_is_rewritten() -> None:
    source = kernel("", "n") + "\n\nk = nki.jit(k, mode='simulation')\n\n\ndef run(x):\n    return k(x)\n"
    outcome = rewrite(source)
    assert "NKI035" not in {finding.code for finding in outcome.findings}
    assert outcome.source != source


# --- the check alone: what it says of an output that nobody should write ----------------------------------------------


def found(old: str, new: str, lines: dict[int, int]) -> set[tuple[int, str]]:
    """The violations of an output whose statement in line ``n`` comes from that in line ``lines[n]``."""
    before, after = ast.parse(old), ast.parse(new)
    by_line = {s.lineno: s for s in every_statement(before.body)}
    origins = {s: Origin(by_line[lines.get(s.lineno, s.lineno)]) for s in every_statement(after.body)}
    return {(v.statement.lineno, v.name) for v in violations(before, after, origins, set(), {})}


SAME = {
    "a = 1\nb = a\n": "a = 1\nb = a + a\n",
    "def f(x):\n    y = x\n    return y\n": "def f(x):\n    y = x\n    return y + x\n",
    "for i in x:\n    y = i\nz = y\n": "for i in x:\n    y = i\nz = y + i\n",
}


@pytest.mark.parametrize(("old", "new"), SAME.items())
def test_the_check_finds_nothing_where_nothing_changed(old: str, new: str) -> None:
    assert found(old, new, {}) == set()


def test_the_check_tells_a_binding_that_moved_before_its_reader() -> None:
    old = "def f(x):\n    y = 1\n    z = y\n    y = 2\n    return z\n"
    new = "def f(x):\n    y = 1\n    y = 2\n    z = y\n    return z\n"
    assert found(old, new, {3: 4, 4: 3}) == {(3, "y")}


def test_the_check_tells_a_binding_that_is_gone() -> None:
    old = "def f(x):\n    y = 1\n    if x:\n        y = 2\n    return y\n"
    new = "def f(x):\n    y = 1\n    if x:\n        z = 2\n    y = 1\n    return y\n"
    assert found(old, new, {5: 2, 6: 5}) == set()  # both come from what was bound: nothing else is compared
    new = "def f(x):\n    y = 1\n    if x:\n        y = 2\n    y = 1\n    return y\n"
    assert found(old, new, {5: 2, 6: 5}) == {(5, "y")}


def test_the_check_tells_a_function_that_a_name_did_not_mean() -> None:
    old = "def f():\n    return 1\na = f()\ndef f():\n    return 2\n"
    new = "def f():\n    return 1\ndef f():\n    return 2\na = f()\n"
    assert found(old, new, {3: 4, 4: 5, 5: 3}) == {(3, "f")}
    new = "def f():\n    return 1\nif x:\n    def f():\n        return 2\na = f()\n"
    assert found(old, new, {3: 4, 4: 4, 6: 3}) == {(3, "f")}


def test_the_check_tells_the_next_iteration_from_the_first() -> None:
    source = "def f(x):\n    n = 0\n    for i in range(x):\n        m = n\n        n = n + 1\n    return m\n"
    before, after = ast.parse(source), ast.parse(source)
    pairs = zip(every_statement(after.body), every_statement(before.body), strict=True)
    origins = {new: Origin(old) for new, old in pairs}
    loops = {s for s in every_statement(before.body) if isinstance(s, ast.For)}
    traced = {(v.statement.lineno, v.name) for v in violations(before, after, origins, loops, {})}
    assert traced == {(4, "n"), (5, "n")}
    assert list(violations(before, after, origins, set(), {})) == []


def test_reaching_definitions_of_every_kind_of_statement() -> None:
    text = """\
def f(a, *rest):
    try:
        b = a
    except ValueError as error:
        b = error
    while a:
        if b:
            a = 1
            continue
        b = 2
        break
    else:
        c = 3
    with a as d:
        del b
    if (e := a):
        return [b for b in rest]
    return b, c, d, e
"""
    tree = ast.parse(text)
    last = [s for s in every_statement(tree.body) if isinstance(s, ast.Return)][-1]
    known = definitions(tree)

    def lines(name: str) -> set[int]:
        return {getattr(b, "lineno", 0) for b in known.bindings(last, name)[1]}

    assert {name: lines(name) for name in ("a", "b", "c", "d", "e", "error")} == {
        "a": {1, 8},
        "b": {0},
        "c": {0, 13},
        "d": {14},
        "e": {16},
        "error": {0, 2},
    }


COPIES = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def part(x, out, flag):
    if flag:
        chosen = x.shape[1] > 2
    else:
        chosen = True
    if chosen:
        if flag:
            tile = nl.load(x)
        else:
            tile = x
        nl.store(out, nl.exp(tile))


@nki.jit
def k(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    other = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    part(x, out, True)
    part(nl.load(x), other, False)
    return out, other
"""


def test_a_copy_for_one_value_of_a_flag_does_not_see_what_only_the_other_copy_binds(migrate):
    migration = migrate(COPIES, ARGS)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert migration.outcome.source.count("written for flag") > 1


PASSED_ON = """\
import neuronxcc.nki.language as nl


def inner(x, out, **kwargs):
    scale = kwargs["scale"]
    nl.store(out, nl.multiply(nl.load(x), scale))


def chosen(x, out, **kwargs):
    scale = kwargs["scale"]
    assert scale > 0
    return inner(x, out, **kwargs)
"""


def test_a_host_function_that_passes_its_dictionary_on_keeps_it():
    outcome = rewrite(PASSED_ON)
    assert "NKI035" not in [f.code for f in outcome.findings]
    assert "def inner(x, out, scale):" in outcome.source
    assert PASSED_ON[PASSED_ON.index("def chosen") :] in outcome.source


BRANCHES = """    if n == 3:
        def f(v):
            return v
    else:
        def f(v):
            return v + 1
"""
HEAD = "import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\n"
CHOOSING = (
    f"{HEAD}\n\ndef scaled(src, dst, n):\n{BRANCHES}"
    "    nl.store(dst, value=nl.multiply(nl.load(src), float(f(n))))\n"
)
CALLING = f"""{HEAD}from helper import scaled


@nki.jit
def k(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    scaled(x, out, 4)
    return out
"""
PLAIN = f"""{HEAD}

@nki.jit
def copy(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.load(x))
    return out
"""


def test_a_file_is_left_with_the_file_whose_kernel_code_it_calls():
    sources = {"helper.py": CHOOSING, "caller.py": CALLING, "plain.py": PLAIN}
    outcomes = rewrite_together(sources, Options())
    assert outcomes["helper.py"].source == CHOOSING and outcomes["caller.py"].source == CALLING
    (finding,) = outcomes["caller.py"].findings
    assert (finding.code, finding.line) == ("NKI035", 3) and "'scaled' of helper.py stays Beta 1" in finding.message
    assert outcomes["plain.py"].source != PLAIN and not outcomes["plain.py"].findings


def test_a_file_is_left_with_the_file_that_calls_its_kernel_code():
    helper = CHOOSING.replace(BRANCHES, "").replace("float(f(n))", "float(n)")
    caller = CALLING.replace("def k(x):\n", "def k(x, n=3):\n")
    caller = caller.replace("    scaled(x, out, 4)\n", f"{BRANCHES}    scaled(x, out, f(n))\n")
    outcomes = rewrite_together({"helper.py": helper, "caller.py": caller}, Options())
    assert outcomes["caller.py"].source == caller and outcomes["helper.py"].source == helper
    assert [finding.code for finding in outcomes["helper.py"].findings] == ["NKI035"]


TWICE = """
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def half(n):
    return n // 2


def half(n):
    return n // 2


def test_k():
    assert nl.bfloat16


def test_k():
    assert nl.float32


@nki.jit
def k(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out[0:128, 0:64], value=nl.load(x[0:128, 0:64]))
    return out
"""
AGAIN = TWICE[TWICE.index("@nki.jit") :].replace("nl.load(x[0:128, 0:64])", "nl.exp(nl.load(x[0:128, 0:64]))")


def test_a_kernel_that_is_defined_again_leaves_the_file_with_one_finding_that_names_both() -> None:
    """The guard had refused the file, after findings of what it had taken for host code."""
    source = f"{TWICE}\n\n{AGAIN}"
    outcome = rewrite(source)
    (found,) = outcome.findings
    assert outcome.source == source
    assert (found.line, found.code) == (source[: source.rindex("def k(")].count("\n") + 1, "NKI035")
    assert found.message.startswith("'k' of line 23 is defined again")


def test_functions_of_the_host_and_of_numbers_may_be_defined_again() -> None:
    outcome = rewrite(TWICE)
    assert not outcome.findings and "neuronxcc" not in outcome.source
