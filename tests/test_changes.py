"""A long run says how far it is, and prints what changes in the order of the files, as soon as it is known."""

import io
import random

import pytest
from nki_migrate import changes as printing
from nki_migrate import progress as watching
from nki_migrate.changes import Changes
from nki_migrate.cli import main
from nki_migrate.golden import GOLDENS
from nki_migrate.progress import Files
from nki_migrate.reports import Report


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    now = [100.0]
    monkeypatch.setattr(watching.time, "monotonic", lambda: now[0])
    return now


def changed(path):
    return Report(path, "changed", None, before=b"old\n", after=b"new\n")


def test_a_terminal_is_told_files_rate_and_time_left(clock):
    for stream in (Terminal(), io.StringIO()):
        clock[0] = 100.0
        progress = Files("rewrite", stream)
        progress.begin({"a.py": 300, "b.py": 100, "c.py": 200})
        progress.show()
        assert stream.getvalue() == ""  # a short run says nothing
        clock[0] += 3
        progress.show()
        progress.ended(changed("a.py"))
        lines = stream.getvalue().split("\r\x1b[K")[1:]
        told = ["rewrite: 0 of 3 files, 3 s so far", "rewrite: 1 of 3 files, 0.3 a second, about 3 s left"]
        assert lines == (told if stream.isatty() else [])
        progress.end()
        assert stream.getvalue().endswith("\r\x1b[K") is stream.isatty()


def test_reading_many_files_is_progress(clock):
    stream = Terminal()
    progress = Files("rewrite", stream)
    clock[0] += 2
    progress.read(700, range(1770))
    assert stream.getvalue().endswith("rewrite: 700 of 1770 files read")


@pytest.mark.parametrize("seed", range(20))
def test_changes_are_printed_in_order_whatever_is_done_first(seed, capsys):
    paths = [f"f{number}.py" for number in range(12)]
    chance = random.Random(seed)
    reports = [changed(path) if chance.random() < 0.6 else Report(path, "unchanged", None) for path in paths]
    worked_on = [report for report in reports if report.status == "changed" or chance.random() < 0.5]
    printer = Changes(paths, stat=True, stream=io.StringIO())
    known = {r.path for r in chance.sample(worked_on, chance.randrange(len(worked_on)))}  # before the work begins
    for report in worked_on:
        if report.path in known:
            printer.ended(report)
    later = [report for report in worked_on if report.path not in known]
    printer.begin({report.path: 1 for report in later})
    chance.shuffle(later)
    expected = [f"{report.path} | +1 -1" for report in reports if report.status == "changed"]
    printed: list[str] = []
    for report in later:
        printer.ended(report)
        printed += capsys.readouterr().out.splitlines()
        assert printed == expected[: len(printed)]
    printer.finish(reports)
    assert printed + capsys.readouterr().out.splitlines() == expected


def test_a_file_that_was_not_announced_is_printed_at_the_end(capsys):
    printer = Changes(["a.py", "b.py"], stat=True, stream=io.StringIO())
    printer.begin({})
    assert capsys.readouterr().out == ""
    printer.finish([changed("a.py"), changed("b.py")])
    assert capsys.readouterr().out == "a.py | +1 -1\nb.py | +1 -1\n"


def test_a_first_diff_is_printed_while_the_last_file_is_not_done(tmp_path, monkeypatch, capfdbinary):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NKI_MIGRATE_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("a", "b"):  # the larger one is the first to be done
        (tmp_path / f"{name}.py").write_text(GOLDENS["running_counter"].before + "#" * (name == "a"))
    left = []
    real = printing.Changes._print

    def noted(self, report):
        left.append((report.path, sorted(self._left)))
        real(self, report)

    monkeypatch.setattr(printing.Changes, "_print", noted)
    with pytest.raises(SystemExit):
        main(["rewrite", "-j", "1", "."])
    assert left == [("a.py", ["b.py"]), ("b.py", [])]
    streamed = capfdbinary.readouterr().out
    left.clear()
    with pytest.raises(SystemExit):  # from the cache now
        main(["rewrite", "-j", "1", "."])
    assert capfdbinary.readouterr().out == streamed
    assert [path for path, _ in left] == ["a.py", "b.py"]
