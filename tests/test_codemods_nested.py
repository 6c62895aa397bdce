"""Functions inside a kernel that expressions call."""

from __future__ import annotations

from first_rung import Options, rewrite
from nki_migrate.guard import complete, objection
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    base = 1

    def off(t):
        return (t + base) % tiles

    def even(t):
        return t % (base + 1) == 0

    for t in nl.static_range(tiles):
        tile = nl.load(x[off(t)])
        if even(t):
            tile[:, 0 : off(0)] = nl.multiply(tile[:, 0 : off(0)], float(off(1)))
        for u in nl.static_range(off(1)):
            nl.store(out[off(t)], value=tile, mask=even(u))
    return out
"""


def test_a_call_of_a_nested_function_in_an_expression_passes_its_closure(migrate):
    migration = migrate(KERNEL, {"x": TensorSpec((3, 16, 4), "float32", "normal")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


LATER = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x, y):
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    extra = None

    def emit(t):
        tile = nl.load(x[t])
        if extra is not None:
            tile[...] = nl.add(tile, extra)
        nl.store(out[t], value=tile)

    emit(0)
    extra = nl.load(y)
    emit(1)
    return out
"""


def test_what_is_none_in_one_call_and_a_tile_in_the_next_is_a_finding():
    findings = rewrite(LATER).findings
    assert any("'emit' uses 'extra', which changes between its calls" in finding.message for finding in findings)


KINDS = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    out = nl.ndarray((2, 8, 8), dtype=nl.float32, buffer=nl.shared_hbm)
    s = nl.load(x)
    def put(i, s=s):
        nl.store(out[i], s)
    s = nl.load(x[0:4])
    put(0)
    put(1, s)
    return out
"""


def test_a_nested_function_that_is_left_has_no_copies_for_other_kinds_of_arguments():
    """They would stand in the kernel, where Beta 2 takes no function, and the whole file would be refused."""
    outcome = complete(KINDS, rewrite(KINDS, Options(unsafe=True)), Options(unsafe=True))
    assert objection(KINDS, outcome, Options(unsafe=True), "k.py", rewrite) is None
    assert outcome.source.count("def ") == 2 and {f.code for f in outcome.findings} >= {"NKI003"}


RETURNED = KINDS.partition("    s = nl.load(x)")[0] + """\
    def put(i, v):
        nl.store(out[i, v, nl.arange(8)[None, :]], nl.load(x[v, nl.arange(8)[None, :]]))
        return 4 + nl.arange(4)[:, None]
    v = nl.arange(4)[:, None]
    for i in nl.static_range(2):
        v = put(i, v)
    return out
"""


def test_a_vector_that_is_kept_is_under_its_mark_in_whatever_line_it_is_written():
    """The body of the function stands in place of the call: its finding is in the line of its own ``return``."""
    outcome = complete(RETURNED, rewrite(RETURNED, Options(unsafe=True)), Options(unsafe=True))
    assert objection(RETURNED, outcome, Options(unsafe=True), "k.py", rewrite) is None and outcome.findings
