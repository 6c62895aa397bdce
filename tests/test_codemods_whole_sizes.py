"""Sizes that are divided with ``/``: whole numbers in Beta 2, or what they were."""

from __future__ import annotations

from typing import Any

import pytest
from first_rung import Options
from nki_migrate.codemods.plan.whole_sizes import whole_sizes
from nki_migrate.codemods.syntax.source import Source
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x, n=2):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns // 2 * 2), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    nl.store(out, 0.0)
    {body}
    return out
"""
WHOLE = {
    "a shape": "part = nl.ndarray((rows, columns / n), dtype=x.dtype)\n"
    "    part[...] = nl.exp(tile[:, 0 : columns // 2])\n    nl.store(out[:, 0 : columns // 2], part)",
    "a shape by keyword": "part = nl.zeros(shape=(rows, (columns) / (n)), dtype=x.dtype, buffer=nl.sbuf)\n"
    "    nl.store(out[:, 0 : columns // 2], part)",
    "a loop": "for i in nl.affine_range(columns / n):\n        nl.store(out[:, i : i + 1], nl.exp(tile[:, i : i + 1]))",
    "bounds": "nl.store(out[:, 0 : columns / 2], nl.exp(tile[:, columns / 2 : columns / 2 * 2]))".replace(
        "/ 2 * 2", "// 2 * 2"
    ),
    "a name": "half = columns / n\n    nl.store(out[:, nl.ds(0, half)], nl.exp(tile[:, :half]))",
    "a vector": "i_f = nl.arange(columns / n)[None, :]\n    i_p = nl.arange(rows)[:, None]\n"
    "    nl.store(out[i_p, i_f], nl.exp(tile[i_p, i_f]))",
}
EVEN = {
    "a reshape": "pairs = tile.reshape((rows, columns / n, 2))\n"
    "    nl.store(out[:, 0 : columns // 2], nl.max(pairs, axis=2))",
}


@pytest.mark.parametrize("columns", [8, 9])
@pytest.mark.parametrize("what", [*WHOLE, *EVEN])
def test_what_is_behind_the_point_is_dropped_as_the_emulator_of_beta_1_drops_it(
    migrate: Any, what: str, columns: int
) -> None:
    text = KERNEL.format(body=(WHOLE | EVEN)[what])
    migration = migrate(text, {"x": TensorSpec((128, columns), "float32", "normal")})
    assert (migration.outcome.findings, migration.objection) == ((), None)
    assert migration.trouble == () or (columns == 9 and migration.trouble[0].startswith("before: error"))
    assert " / " not in migration.outcome.source


LEFT = {
    "a number for tiles": "half = columns / n\n    nl.store(out, nl.multiply(tile, half))",
    "a name in a sum": "half = columns / n\n    nl.store(out[:, half : half + 1], tile[:, 0:1])",
    "a part of a size": "nl.store(out[:, 0 : 2 * (columns / n)], tile)",
    "a float": "nl.store(out[:, 0 : columns / 2.0], tile)",
    "a negative number": "nl.store(out[:, -columns / 2 : columns], tile)",
    "a name that nothing reads": "half = columns / n\n    nl.store(out, tile)",
    "a name that is bound again": "half = columns / n\n    half = half + 1\n    nl.store(out[:, 0:half], tile)",
    "a comment between": "nl.store(out[:, 0 : (columns  # all\n        / n)], tile)",
}


@pytest.mark.parametrize("what", LEFT)
def test_what_might_be_another_number_stays(what: str) -> None:
    text = KERNEL.format(body=LEFT[what])
    assert whole_sizes({"k.py": Source(text, "k.py")}, Options())["k.py"].text == text


def test_a_note_says_once_that_a_quotient_is_taken_to_be_whole() -> None:
    text = KERNEL.format(body=f"{WHOLE['a shape']}\n    {EVEN['a reshape']}")
    noted = whole_sizes({"k.py": Source(text, "k.py")}, Options())["k.py"].asserted
    assert [(each.line, each.function, each.text) for each in noted] == [(11, "k", "columns % n == 0")]


def test_host_code_keeps_its_divisions() -> None:
    text = KERNEL.format(body="pass") + "\n\ndef host(a, n):\n    return a.reshape((n / 2, 2))\n"
    assert whole_sizes({"k.py": Source(text, "k.py")}, Options())["k.py"].text == text
