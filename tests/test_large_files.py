"""A large file is rewritten alone, and the line of progress says so."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nki_migrate import rewriting
from nki_migrate.codemods import Options
from nki_migrate.discover import found_files
from nki_migrate.progress import Files

KERNEL = """\
from neuronxcc import nki
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x):
    return nl.load(x)
"""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for number in range(9):
        (tmp_path / f"small_{number}.py").write_text(KERNEL)
    (tmp_path / "large.py").write_text(KERNEL + "# a comment\n" * 400)
    return tmp_path


def test_nothing_is_rewritten_beside_a_large_file(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pools: list[tuple[list[str], int]] = []
    pooled = rewriting._pooled

    def watched(groups: Any, options: Any, homes: Any, workers: Any, jobs: int, progress: Any) -> Iterator[Any]:
        pools.append(([Path(path).name for group in groups for _, path, _ in group], jobs))
        return pooled(groups, options, homes, workers, jobs, progress)

    monkeypatch.setattr(rewriting, "_pooled", watched)
    monkeypatch.setattr(rewriting, "LARGE", 1000)
    files = found_files([str(tree)])
    together = rewriting.rewrite_reports(files, Options(), 2)
    assert [(names, jobs) for names, jobs in pools if "large.py" in names] == [(["large.py"], 1)]
    assert sorted(name for names, _ in pools for name in names) == sorted(path.name for path in tree.iterdir())
    assert [(r.path, r.after) for r in together] == [
        (r.path, r.after) for r in rewriting.rewrite_reports(files, Options(), 1)
    ]


def test_the_line_of_progress_names_it() -> None:
    stream = Terminal()
    progress = Files("rewrite", stream)
    progress._began -= 5
    progress.begin({"large.py": 412_000, "small.py": 10})
    progress.alone({"large.py": 412_000})
    assert "alone: large.py (412 kB)" in stream.getvalue()
    stream.truncate(0)
    progress.alone({})
    assert "alone" not in stream.getvalue()
