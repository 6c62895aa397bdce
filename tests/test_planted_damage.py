"""Damage that shows at few sizes only, planted into goldens: ``--search`` proposes a case that shows it.

Counted in proposals, not in seconds: those up to ``AT_THRESHOLDS`` are tried whatever the time.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from nki_migrate import verify_search
from nki_migrate.golden import GOLDENS
from nki_migrate.runtime.cases import Case, TensorSpec, read_cases
from nki_migrate.thresholds import proposed, thresholds
from nki_migrate.verify_command import Asked, verified
from nki_migrate.verify_search import AT_THRESHOLDS

ROOT = Path(__file__).parent.parent / "golden"
PLANTED = {
    "load_store": ("halves_swapped", "rows, columns = x.shape", ["x.shape[0] == 7"]),
    "mask_edge": ("negated", "m, n = x.shape", ["n < 3"]),
    "zeros_like": ("positive_part", "", ["x.shape[1] % 37 == 5"]),
    "isa_destination": ("standardised", "rows, columns = x.shape", ["rows // 9 == 3"]),
    "tile_operators": ("blended", "rows, columns = x.shape", ["min(columns, 11) == 11 and columns < 13"]),
    "nl_compute": ("shares", "rows, columns = x.shape", ["rows == 13", "columns == 9"]),
    "psum_accumulate": ("long_product", "", ["b.shape[1] == 19"]),
    "loop_reduce": ("total", "tiles, rows, columns = x.shape", ["tiles > 4", "tiles < 6"]),
    "index_sizes": ("moved", "tiles, rows, width = image.shape", ["width - 1 == 28"]),
}
"""By golden: the kernel, what its names are, and the conditions that the damage is under, one inside of the other."""


def damaged(name: str) -> str:
    """The golden's rewritten kernel, with two instructions more before it returns where the conditions hold."""
    kernel, _, conditions = PLANTED[name]
    lines = GOLDENS[name].after.splitlines(keepends=True)
    start = next(n for n, line in enumerate(lines) if line.startswith(f"def {kernel}("))
    end = next(n for n, line in enumerate(lines) if n > start and line.startswith("    return "))
    tests = [f"{'    ' * depth}if {condition}:\n" for depth, condition in enumerate(conditions, 1)]
    inside = "    " * (len(conditions) + 1)
    surplus = [
        f"{inside}surplus = nl.ndarray((1, 1), dtype=nl.float32, buffer=nl.sbuf)\n",
        f"{inside}nisa.memset(dst=surplus, value=1.0)\n",
    ]
    return "".join([*lines[:end], *tests, *surplus, *lines[end:]])


class Shaped:
    def __init__(self, tensor: TensorSpec) -> None:
        self.shape = tensor.shape


def shows(case: Case, name: str) -> bool:
    """Does the case meet the conditions of what is planted into the golden?"""
    _, names, conditions = PLANTED[name]
    known = {key: Shaped(value) for key, value in case.args.items() if isinstance(value, TensorSpec)}
    exec(names, {}, known)
    return all(eval(condition, {}, known) for condition in conditions)


@pytest.mark.parametrize("name", sorted(PLANTED))
def test_a_case_that_shows_it_is_among_the_first_proposals(name: str) -> None:
    cases = read_cases(ROOT / name / "cases.toml").of(PLANTED[name][0])
    known = thresholds([GOLDENS[name].before], [damaged(name)])
    assert not any(shows(case, name) for case in cases)
    assert all(any(shows(other, name) for other in islice(proposed(case, known), AT_THRESHOLDS)) for case in cases)


def test_it_is_found_in_no_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for file in ROOT.joinpath("zeros_like").iterdir():
        if file.suffix in (".py", ".toml"):
            (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "after.py").write_text(damaged("zeros_like"))
    asked = Asked(("before.py", "after.py"), kernels=("positive_part",), no_cache=True, jobs=2, search=0.0)
    results = verified(asked).proof.results
    assert [result.verdict.value for result in results[:-1]] == ["equal", "equal"]
    assert (results[-1].verdict.value, results[-1].case.startswith("search")) == ("different", True)


def test_sources_of_numpy_are_not_searched_for_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    monkeypatch.setattr(verify_search, "_parsable", lambda side, path: parsed.append(path) or "")
    task = SimpleNamespace(pair=SimpleNamespace(before="a.py", after="b.py", old=None, new=None))
    verify_search._thresholds(task, {np.ma.core.__file__, "/home/helper.py"})  # type: ignore[arg-type]
    assert parsed == ["a.py", "/home/helper.py", "b.py", "/home/helper.py"]


def test_names_that_are_assigned_once_are_followed() -> None:
    text = "def k(x):\n    rows = x.shape[0]\n    half = rows // 2\n    if half == 3:\n        pass\n"
    (known,) = [t for t in thresholds([], [text]) if "half" in t.text]
    assert set(known.tried[0][1][:2]) <= {6, 7}
