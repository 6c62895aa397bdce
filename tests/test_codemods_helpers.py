"""What helpers return is described through the caller's names, whatever their own names mean there."""

from __future__ import annotations

from nki_migrate.runtime.cases import TensorSpec

BLOCKS = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def loaded(x):
    n = 64
    parts = nl.ndarray((2, nl.par_dim(128), n), dtype=x.dtype, buffer=nl.sbuf)
    for i in nl.affine_range(2):
        parts[i] = nl.load(x[i])
    return parts


@nki.jit
def k(x):
    n = 32
    out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    parts = loaded(x)
    i_p = nl.arange(128)[:, None]
    i_f = nl.arange(n)[None, :]
    kept = nl.zeros((128, 64), dtype=x.dtype, buffer=nl.sbuf)
    kept[i_p, i_f] = nl.multiply(parts[1, i_p, i_f], 2.0)
    nl.store(out, value=kept)
    return out
"""


def test_a_size_of_the_helper_is_not_taken_for_a_size_of_the_same_name_in_the_caller(migrate):
    migration = migrate(BLOCKS, {"x": TensorSpec((2, 128, 64), "float32")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "data=parts[1][0:128, 0:n]" in migration.outcome.source
