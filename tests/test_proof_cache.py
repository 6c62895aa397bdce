"""Verdicts that are kept hold only while everything they rest on is as it was."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from nki_migrate import verify
from nki_migrate.cache import cache_directory
from nki_migrate.judging import DEFAULT_LIMITS
from nki_migrate.planning import file_pairs
from nki_migrate.proof_cache import Cache
from nki_migrate.runtime.messages import Request
from nki_migrate.runtime.pool import Pool
from nki_migrate.verify import Settings, evidence
from nki_migrate.verify_search import searched

KERNEL = """
import os
import json
import nki
import nki.language as nl
import nki.isa as nisa
from scaling import FACTOR

factor = float(os.environ.get("A_FACTOR", FACTOR)) + json.load(open("data.json"))


@nki.jit
def doubled(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=factor)
    nisa.dma_copy(dst=out, src=t)
    return out
"""
CASE = '[[case]]\nkernel = "doubled"\nreference = "numbers_of:doubled"\n[case.args]\n'
CASE += 'x = {shape = [128, 8], dtype = "float32"}\n'


class Asked:
    """Verify ``before.py`` with ``after.py``; the verdict, and what workers were asked for it."""

    def __init__(self, cache: Cache, asked: list[Request]) -> None:
        self.cache, self.requests = cache, asked

    def __call__(self, **changes: object) -> tuple[str, int]:
        self.requests.clear()
        settings = Settings(**{"jobs": 2, "cache": self.cache, **changes})  # type: ignore[arg-type]
        (result,) = evidence(list(file_pairs("before.py", "after.py")), settings, "before.py").results
        return result.verdict.value, len(self.requests)


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")
    Path("before.py").write_text(KERNEL)
    Path("after.py").write_text(KERNEL.replace("factor)", "factor)  # new"))
    Path("scaling.py").write_text("FACTOR = 2.0\n")
    Path("numbers_of.py").write_text("def doubled(x):\n    return 2 * x\n")
    Path("data.json").write_text("0")
    Path("cases.toml").write_text(CASE)
    requests: list[Request] = []
    submit = Pool.submit
    monkeypatch.setattr(Pool, "submit", lambda self, request: (requests.append(request), submit(self, request))[1])
    return Asked(Cache(tmp_path / "cache"), requests)


def test_a_second_run_asks_no_worker_and_says_the_same(ask: Asked) -> None:
    assert ask() == ("equal", 5)
    assert ask() == ("equal", 0)


def test_what_is_kept_is_all_of_the_result(ask: Asked) -> None:
    Path("after.py").write_text(KERNEL.replace("op0=nl.multiply", "op0=nl.add"))
    pairs, settings = list(file_pairs("before.py", "after.py")), Settings(cache=ask.cache)
    first = evidence(pairs, settings, "")
    second = evidence(pairs, settings, "")
    assert first.proof == second.proof and first.reads == second.reads
    assert first.results[0].verdict.value == "different" and first.results[0].levels[1].differences[0].before


@pytest.mark.parametrize(
    "change",
    [
        lambda: Path("after.py").write_text(KERNEL),
        lambda: Path("before.py").write_text(KERNEL + "\n"),
        lambda: Path("scaling.py").write_text("FACTOR = 2\n"),
        lambda: Path("data.json").write_text("0.0"),
        lambda: Path("numbers_of.py").write_text("def doubled(x):\n    return x * 2\n"),
        lambda: Path("cases.toml").write_text(CASE.replace("128, 8", "128, 16")),
        lambda: Path("json.py").write_text("from os import *\n"),
        lambda: Path("unrelated.py").write_text(""),
    ],
    ids=["after", "before", "sibling", "data", "reference", "case", "shadow", "listing"],
)
def test_a_change_of_anything_that_was_read_asks_again(ask: Asked, change: Callable[[], object]) -> None:
    ask()
    change()
    assert ask()[1] > 0


def test_environment_variables_that_were_read_count(ask: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    ask()
    monkeypatch.setenv("ANOTHER_FACTOR", "2")
    assert ask() == ("equal", 0)
    monkeypatch.setenv("A_FACTOR", "2")
    assert ask()[1] > 0


def test_levels_hardware_and_limits_are_questions_of_their_own(ask: Asked) -> None:
    ask()
    assert ask(levels=("layout",))[1] == 2
    assert ask(hardware="gen2")[1] == 3
    assert ask(limits=type(DEFAULT_LIMITS)(60.0))[1] == 5


def test_another_version_of_the_tool_asks_again(ask: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    ask()
    monkeypatch.setattr("nki_migrate.cache._tool", lambda: "another")
    assert ask()[1] == 5


@pytest.mark.parametrize(
    "damage",
    [lambda data: b"", lambda data: data[:-3], lambda data: data.replace(b'"', b"'"), lambda data: b"\0"],
)
def test_a_damaged_entry_is_no_entry(ask: Asked, damage: Callable[[bytes], bytes]) -> None:
    ask()
    for path in ask.cache.directory.rglob("*.json"):
        path.write_bytes(damage(path.read_bytes()))
    assert ask() == ("equal", 5)
    assert ask() == ("equal", 0)


def test_what_may_not_happen_again_is_not_kept(ask: Asked) -> None:
    Path("after.py").write_text(KERNEL.replace("factor =", "while True: pass\nfactor ="))
    limits = type(DEFAULT_LIMITS)(1.0)
    assert ask(limits=limits)[0] == "error"
    assert ask(limits=limits)[1] > 0


def test_a_cache_that_cannot_be_written_is_no_reason_to_fail(ask: Asked, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ask.cache = Cache(tmp_path / "file" / "below")
    assert ask() == ("equal", 5)


def test_nothing_is_kept_without_a_cache(ask: Asked) -> None:
    assert ask(cache=None) == ask(cache=None) == ("equal", 5)


def test_the_directory_is_that_of_the_user(tmp_path: Path) -> None:
    assert cache_directory({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "nki-migrate"
    assert cache_directory({"NKI_MIGRATE_CACHE_DIR": "kept", "XDG_CACHE_HOME": str(tmp_path)}) == Path("kept")
    assert cache_directory({"XDG_CACHE_HOME": "relative"}) == Path.home() / ".cache" / "nki-migrate"
    assert verify.Settings().cache is None


def test_what_a_search_came_to_is_kept_while_nothing_changes(ask: Asked) -> None:
    def search(seconds: float) -> tuple[list[str], int]:
        ask.requests.clear()
        settings = Settings(jobs=2, cache=ask.cache)
        found = evidence(list(file_pairs("before.py", "after.py")), settings, "before.py")
        searched(found, settings, seconds)
        return [r.verdict.value for r in found.results] + found.notes, len(ask.requests)

    first, asked = search(0.0)
    assert asked > 5 and "none disagrees" in first[1]
    assert search(0.0) == (first, 0)
    assert search(0.1)[1] > 0
    Path("after.py").write_text(KERNEL.replace("=factor)", "=factor + (1.0 if x.shape[1] == 7 else 0.0))"))
    found, asked = search(0.0)
    assert asked > 5 and found[:2] == ["equal", "different"] and "the smallest case that disagrees" in found[-1]
    assert search(0.0) == (found, 0)
    Path("data.json").write_text("0.0")
    assert search(0.0)[1] > 5


def test_the_cache_is_pruned_by_age_and_by_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nki_migrate.cache.LARGEST", 5000)
    cache, now = Cache(tmp_path / "cache"), time.time()
    for number, days in enumerate((0, 1, 2, 3, 31)):
        cache.keep_entry(f"q{number}", "x" * (1000 if days < 2 else 2000))
        path = cache._path(f"q{number}")
        os.utime(path, (now - days * 86400,) * 2)
    (cache.directory / "aa").mkdir(exist_ok=True)
    (cache.directory / "notes.txt").write_text("somebody else's")
    cache.prune()
    assert [cache.entry(f"q{number}") is not None for number in range(5)] == [True, True, True, False, False]
    assert (cache.directory / "notes.txt").exists()
    monkeypatch.setattr("nki_migrate.cache.LARGEST", 0)
    cache.prune()  # once a day
    assert cache.entry("q0") is not None
    os.utime(cache.directory / "pruned", (0, 0))
    cache.prune()
    assert cache.entry("q0") is None
    Cache(tmp_path / "nowhere").prune()


def test_an_entry_that_is_asked_for_is_young_again(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.keep_entry("q", 1)
    (path,) = tmp_path.rglob("*.json")
    os.utime(path, (0, 0))
    assert cache.entry("q") == 1 and path.stat().st_mtime > 0
