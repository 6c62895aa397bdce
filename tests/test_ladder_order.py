"""What a run says does not depend on the order of a set: rules of the ladder ask files in the order that they come; and
what files show each other they show to the guard, too.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from nki_migrate.codemods import Options, rewrite_together
from nki_migrate.codemods.ladder import driver
from nki_migrate.discover import Found
from nki_migrate.rewriting import rewrite_reports


def test_files_are_asked_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    sources = {f"{name}.py": f"import nki.language as nl\n\n{name} = nl.sbuf\n" for name in "hgfedcbaijkl"}
    asked: list[str] = []
    real = driver._round

    def noted(facts: Any, *rest: Any) -> Any:
        asked.append(facts.rung.text)
        return real(facts, *rest)

    monkeypatch.setattr(driver, "_round", noted)
    rewrite_together(sources, Options(source="0.2"))
    assert asked[: len(sources)] == list(sources.values())
    assert len(asked) % len(sources) == 0


def test_what_other_files_show_is_shown_to_the_second_rewrite_of_a_file_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller shows the version and the rank: alone, the helper would be counted anew, and the file had failed."""
    monkeypatch.chdir(tmp_path)
    head = "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n"
    Path("helper.py").write_text(
        f"{head}\n\ndef total(dst, data):\n    nisa.tensor_reduce(dst=dst, op=nl.add, data=data, axis=1)\n"
        "    nisa.tensor_copy(dst=dst, src=dst, engine=nisa.vector_engine)\n"
    )
    Path("caller.py").write_text(
        f"{head}from helper import total\n\n\n@nki.jit\ndef kernel(x):\n"
        "    a = nl.ndarray((128, 8), dtype=nl.float32, buffer=nl.sbuf)\n"
        "    b = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)\n"
        "    nisa.dma_copy(dst=a, src=x, dst_rmw_op=nl.add)\n    total(b, a)\n    return x\n"
    )
    reports = rewrite_reports([Found("helper.py"), Found("caller.py")], Options(unsafe=True), 1)
    assert [(report.status, report.reason) for report in reports] == [("changed", None)] * 2
    assert b"axis=1)" in reports[0].after and b"nisa.engine.vector" in reports[0].after


CALLER = """\
import nki
import nki.language as nl
from b import filled_b
from a import filled_a


@nki.jit
def k(x):
    out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    filled_a(x, out)
    filled_b(x, out)
    return out
"""
CALLED = """\
import nki.isa as nisa
import nki.language as nl


def filled_{name}(x, out):
    tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x, dst_rmw_op=nl.add)
    nisa.dma_copy(dst=out, src=tile)
"""


def test_what_tells_the_version_does_not_depend_on_the_order_of_the_files() -> None:
    texts = {"k.py": CALLER, **{f"{name}.py": CALLED.replace("{name}", name) for name in "ab"}}
    orders = [{path: texts[path] for path in order} for order in itertools.permutations(texts)]
    assert len({rewrite_together(order, Options())["k.py"].decisions for order in orders}) == 1
