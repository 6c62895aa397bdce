"""Names of the tiles that a rewrite adds."""

from __future__ import annotations

import re

from first_rung import Options, rewrite

CHOICE = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x, y):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    a = nl.load(x[0:128, 0:512])
    c = nl.greater(a, 0.0)
    best = nl.ndarray((nl.par_dim(128), 512), dtype=x.dtype, buffer=nl.sbuf)
    best[...] = nl.where(c, 0.0, a)
    nl.store(out, best)
    return out
"""


def test_a_choice_is_named_after_what_it_is_and_not_after_its_instructions() -> None:
    source = rewrite(CHOICE, Options(unsafe=True)).source
    made = re.findall(r"(\w+) = nl\.ndarray", source)
    assert {"chosen_tile", "a_copy"} <= {*made}, source
    assert not [name for name in made if name.startswith(("memset", "tensor_copy"))], made
