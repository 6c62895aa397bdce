"""The scoreboard of ``tests/bench`` as it is run: its JSON has a row for each file, counted by rule."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCOREBOARD = Path(__file__).parent / "bench" / "scoreboard.py"
KERNEL = """import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    i = nl.gemm_grid(x)
    nl.store(out, nl.rsqrt(nl.load(x)))
    return out
"""


def test_sites_are_counted_by_the_code_of_their_rule(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL)
    rows = tmp_path / "rows.json"
    subprocess.run([sys.executable, str(SCOREBOARD), str(tmp_path), "--json", str(rows)], check=True)
    [row] = json.loads(rows.read_text())
    assert row["manual"] == {"NKI090": 1}
    assert row["rewritten"]["NKI020"] == 1  # the store; the load stays
