"""``tests/bench/verified.py`` as it is run, on a checkout whose kernels are ours and called like public ones."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

VERIFIED = Path(__file__).parent / "bench" / "verified.py"
CUMSUM = '''import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


def cumsum(x, y, f_size=512):
    """Not sums, but written into a parameter, row by row and ``f_size`` columns at once."""
    for row in nl.affine_range(2):
        rows = nl.ds(row * 105, 105)
        for column in nl.affine_range(3):
            columns = nl.ds(column * 100, 100)
            nl.store(y[rows, columns], nisa.tensor_copy(nl.load(x[rows, columns])))
'''
MAXPOOLING = """import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.language as nl
from torch import nothing


@ncc.force_auto_alloc
@nki.jit
def max_pooling_2d_stride_1(x, size):
    out = nl.ndarray((198, 28), dtype=x.dtype, buffer=nl.shared_hbm)
    for row in nl.affine_range(2):
        tile = nl.load(x[nl.ds(row * 99, 99), 0:28])
        nl.store(out[nl.ds(row * 99, 99)], tile)
    return out
"""


def test_kernels_are_launched_as_their_cases_do_and_verified_after_the_rewrite(tmp_path: Path) -> None:
    team = tmp_path / "samples" / "contributed" / "neuron-team-kernels"
    team.mkdir(parents=True)
    (team / "cumsum.py").write_text(CUMSUM)
    (team.parent / "maxpooling.py").write_text(MAXPOOLING)
    rows = tmp_path / "rows.json"
    subprocess.run([sys.executable, str(VERIFIED), str(team.parents[1]), "--json", str(rows)], check=True)
    left, equal = json.loads(rows.read_text())
    assert equal["levels"] == {"layout": "equal", "operands": "equal", "numbers": "equal"}
    assert equal["instructions"] == [1 + 2 * 3 * 3]
    assert (left["kernels"], left["verdict"]) == (["max_pooling_2d_stride_1"], "not run")
    assert any("force_auto_alloc" in remark for remark in left["remarks"])
