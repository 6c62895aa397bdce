"""A function of which the rules from Beta 1 leave all stays as it is: no later version's rule changes or judges it."""

from __future__ import annotations

import pytest
from nki_migrate.codemods import Options, rewrite
from nki_migrate.guard import complete, objection

SOURCE = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def bench(width, warmup):
    @nki.benchmark(warmup=warmup)
    def kernel(x):
{doc}{body}
    return kernel(width)


@nki.jit
def beside(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.copy(nl.load(x)))
    return out
"""
BODY = """\
        out = nl.ndarray((128, width), dtype=x.dtype, buffer=nl.hbm)
        mask = nl.shared_constant(np.ones((128, 1)), dtype=nl.float32)
        tile = nl.copy(nl.load(x))
        tile += nl.matmul(tile, nl.load(mask))
        nl.store(out, nl.copy(tile))
        return out
"""


@pytest.mark.parametrize("target", ["0.2", "0.3", "0.6"])
@pytest.mark.parametrize("unsafe", [False, True])
@pytest.mark.parametrize("doc", ["", '        """What it is."""\n'])
def test_it_keeps_every_line_under_one_mark(target: str, unsafe: bool, doc: str) -> None:
    options = Options(target=target, unsafe=unsafe)
    outcome = complete(source := SOURCE.format(doc=doc, body=BODY), rewrite(source, options), options)
    assert objection(source, outcome, options, "old.py", rewrite) is None
    assert BODY in outcome.source
    written = outcome.source[: outcome.source.index(BODY)]
    assert written.count("assert False") == 1 and written.endswith(' (nothing of this function is rewritten)"\n')
    inside = [f for f in outcome.findings if 6 <= f.line <= source[: source.index("@nki.jit")].count("\n")]
    assert [f.code for f in inside] == ["NKI003"]
    again = rewrite(outcome.source, options)
    assert again.source == outcome.source
    assert [f.message for f in again.findings if f.code == "NKI003"] == [inside[0].message]
