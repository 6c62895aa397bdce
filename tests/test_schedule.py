"""The order in which cases run, what stops them, and what a terminal shows meanwhile."""

from __future__ import annotations

import io
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from nki_migrate import progress as watching
from nki_migrate import schedule
from nki_migrate.judging import Judged, Pair, Task
from nki_migrate.progress import Progress
from nki_migrate.proof_cache import Cache
from nki_migrate.runtime.cases import Case, TensorSpec
from nki_migrate.runtime.compare import Verdict
from nki_migrate.runtime.pool import Pool
from nki_migrate.runtime.reading import Reads
from nki_migrate.verdicts import CaseResult, Problem
from nki_migrate.verify import Settings, evidence


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@dataclass
class Ran:
    """Stands for runs of cases: each ends at once; ``order`` are their kernels as they were started."""

    wrong: str = ""
    seconds: float = 2.5
    order: list[str] = field(default_factory=list)

    def started(self, workers: Any, task: Task) -> Any:
        self.order.append(task.case.kernel)
        done: Future[Any] = Future()
        done.set_result(None)
        problems = (Problem("after", Verdict.DIFFERENT, "other"),) if task.case.kernel == self.wrong else ()
        result = CaseResult("a", "b", task.case.kernel, problems=problems, seconds=self.seconds)
        judged = Judged(result, (Reads(), Reads()), True)
        return type("Running", (), {"futures": (done,), "judged": lambda self: judged})()


def task(kernel: str, size: int, file: str = "before.py") -> Task:
    case = Case(kernel, "", "cases.toml", args={"x": TensorSpec((size,), "float32", "normal")})
    return Task(Pair(file, file), case, ("numbers",), "gen3")


def run(ran: Ran, tasks: list[Task], monkeypatch: pytest.MonkeyPatch, **options: Any) -> list[Judged | None]:
    monkeypatch.setattr(schedule, "started", ran.started)
    chosen = {"cache": None, "progress": Progress(io.StringIO()), "fail_fast": False, **options}
    return schedule.judgements(Pool(1), tasks, **chosen)


TASKS = [task("small", 10), task("large", 10_000_000), task("middle", 1_000_000)]


def test_the_slowest_runs_first_and_results_keep_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = Ran()
    found = run(ran, TASKS, monkeypatch)
    assert ran.order == ["large", "middle", "small"]
    assert [each and each.result.kernel for each in found] == ["small", "large", "middle"]


def test_the_time_of_an_earlier_run_counts_more_than_sizes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    here = tmp_path / "k.py"
    here.write_text("")
    tasks = [replace(each, pair=Pair(str(here), str(here))) for each in TASKS]
    run(Ran(seconds=90.0), tasks[:1], monkeypatch, cache=cache)
    assert schedule.expected_seconds(tasks[0], cache) == 90.0
    here.write_text("# another kernel: the verdict is not known any more, how long it took is")
    ran = Ran()
    run(ran, tasks, monkeypatch, cache=cache)
    assert ran.order == ["small", "large", "middle"]
    again = Ran()
    assert all(run(again, tasks, monkeypatch, cache=cache)) and not again.order  # what ran does not run again


def test_fail_fast_starts_nothing_behind_the_first_case_that_is_not_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = [task(f"k{n}", 1_000_000 - n) for n in range(10)]
    ran = Ran(wrong="k1")
    found = run(ran, tasks, monkeypatch, fail_fast=True)
    assert ran.order == ["k0", "k1"]
    assert [each is not None for each in found] == [True, True, *[False] * 8]
    assert all(run(Ran(wrong="k1"), tasks, monkeypatch))


def test_fail_fast_says_how_many_cases_did_not_run(tmp_path: Path) -> None:
    kernel = """
import nki, nki.isa as nisa, nki.language as nl

@nki.jit
def {name}(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0={factor})
    nisa.dma_copy(dst=out, src=tile)
    return out
"""
    for file, factor in (("old.py", 2.0), ("new.py", 3.0)):
        (tmp_path / file).write_text("".join(kernel.format(name=f"k{n}", factor=factor) for n in range(6)))
    cases = '[[case]]\nkernel = "k{n}"\n[case.args]\nx = {{shape = [4, 8], dtype = "float32", fill = "normal"}}\n'
    (tmp_path / "cases.toml").write_text("".join(cases.format(n=n) for n in range(6)))
    pairs = [Pair(str(tmp_path / "old.py"), str(tmp_path / "new.py"))]
    found = evidence(pairs, Settings(jobs=1, fail_fast=True), "old.py")
    assert {result.verdict for result in found.results} == {Verdict.DIFFERENT}
    ran = len(found.results)
    assert 1 <= ran < 6
    assert any(note.startswith(f"--fail-fast: {6 - ran} case") for note in found.notes)
    assert len(evidence(pairs, Settings(jobs=1), "old.py").results) == 6


def test_a_terminal_is_told_after_a_second_and_only_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    now = [100.0]
    monkeypatch.setattr(watching.time, "monotonic", lambda: now[0])
    for stream in (Terminal(), io.StringIO()):
        progress = Progress(stream)
        progress.begin(12, 2, 50.0)
        progress.show([("k", 0.5)])
        assert stream.getvalue() == ""
        now[0] += 4
        progress.ended(10.0)
        progress.show([("flash", 3.0), ("k", 1.0)])
        told = "verify: 3 of 12 cases, about 16 s left; running: flash (3 s), k (1 s)"
        assert (told in stream.getvalue()) is stream.isatty()
        progress.end()
        assert stream.getvalue().endswith("\r\x1b[K") is stream.isatty()
