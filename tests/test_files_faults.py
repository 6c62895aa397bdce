"""Whatever fails while files are written, and whenever: all are old, or all are new, and the report says which."""

import errno
import json
import operator
import signal
import sys

import pytest
from nki_migrate import codemods, journal, store
from nki_migrate.cli import main
from nki_migrate.codemods import Outcome
from nki_migrate.reports import INTERRUPTED, Report

FILES = 4

OLD, NEW = "import neuronxcc.nki as nki\n", "import nki\n"
ERRORS = {
    "Ctrl-C": lambda: KeyboardInterrupt(),
    "disk full": lambda: OSError(errno.ENOSPC, "No space left on device"),
    "gone": lambda: FileNotFoundError(errno.ENOENT, "No such file or directory"),
}


class Fault:
    """Raises ``error`` in the ``step``-th event of the interpreter while the files are being replaced.

    Events are the calls of functions written in C that ``store.py`` makes (each system call is one), and their returns.
    """

    def __init__(self, monkeypatch, step, error):
        self.step, self.error, self.steps, self.raised = step, error, [], False
        replace = store.replace_together

        def replaced(*arguments):
            sys.setprofile(self.event)
            try:
                return replace(*arguments)
            finally:
                sys.setprofile(None)

        monkeypatch.setattr(store, "replace_together", replaced)

    def event(self, frame, event, function):
        if frame.f_code.co_filename not in (store.__file__, journal.__file__) or event not in ("c_call", "c_return"):
            return
        self.steps.append(f"{frame.f_code.co_name}: {event} {function.__name__}")
        if len(self.steps) - 1 == self.step:
            self.raised = True
            raise self.error


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch, tmp_path_factory):
    """Nothing waits for a disk: what stands in for ``fsync`` is a function written in C, too."""
    monkeypatch.setattr(store.os, "fsync", operator.index)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))


def all_steps(tmp_path_factory):
    """The events while the files are replaced."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store.os, "fsync", operator.index)
        folder = tmp_path_factory.mktemp("steps")
        fault = Fault(patch, None, None)
        store.stored(reports_on(folder))
    return fault.steps


def reports_on(folder):
    """Reports on files that are to be changed, all of them there."""
    reports = []
    for index in range(FILES):
        path = folder / f"f{index:03}.py"
        path.write_text(OLD + f"x = {index}\n")
        before = path.read_bytes()
        reports.append(Report(str(path), "changed", before=before, after=before.replace(OLD.encode(), NEW.encode())))
    return reports


def check_truth(before, after, folder):
    """All files are old, or all are new, as their reports say; there are no others."""
    assert len({report.status for report in after}) == 1
    assert [report.path for report in after] == [report.path for report in before]
    assert sorted(str(path) for path in folder.iterdir()) == [report.path for report in before]
    for old, new in zip(before, after, strict=True):
        with open(old.path, "rb") as file:
            data = file.read()
        assert new.status in ("changed", "failed")
        assert data == (old.after if new.status == "changed" else old.before) == new.after
        assert (new.reason is None) == (new.status == "changed")


@pytest.fixture(scope="module")
def steps(tmp_path_factory):
    found = all_steps(tmp_path_factory)
    called = {step.rpartition(" ")[2] for step in found}
    assert {"access", "open", "fstat", "index", "fchmod", "fchown", "replace", "write", "flush", "close"} <= called
    assert len(found) > 30
    return found


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_at_any_step_leaves_files_and_report_in_accord(tmp_path, monkeypatch, steps, name):
    met = set()
    for step in range(len(steps)):
        folder = tmp_path / str(step)
        folder.mkdir()
        before = reports_on(folder)
        with monkeypatch.context() as patch:
            fault = Fault(patch, step, ERRORS[name]())
            after, interrupted = store.stored(before)
        assert fault.raised, "the step was not reached"
        check_truth(before, after, folder)
        met.add(after[0].status)
        assert interrupted == (name == "Ctrl-C")
        if interrupted:
            assert {report.reason for report in after} <= {None, INTERRUPTED}
    assert met == {"changed", "failed"}


def test_a_signal_at_any_line_leaves_all_old_or_all_new(tmp_path, monkeypatch):
    lines, replace = 0, store.replace_together
    step, met = -1, set()
    while lines > step:
        step += 1
        folder = tmp_path / str(step)
        folder.mkdir()
        before, lines = reports_on(folder), 0

        def trace(frame, event, argument, step=step):
            nonlocal lines
            if event == "line" and frame.f_code.co_filename == store.__file__:
                lines += 1
                if lines - 1 == step:
                    signal.raise_signal(signal.SIGINT)
            return trace

        def replaced(*arguments, trace=trace):
            sys.settrace(trace)
            try:
                replace(*arguments)
            finally:
                sys.settrace(None)

        monkeypatch.setattr(store, "replace_together", replaced)
        after, interrupted = store.stored(before)
        check_truth(before, after, folder)
        assert interrupted == (lines > step)
        met.add((after[0].status, interrupted))
    assert met == {("failed", True), ("changed", True), ("changed", False)}
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_signal_does_not_wait_for_the_file_at_hand(tmp_path, monkeypatch):
    def hang(descriptor):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    before = reports_on(tmp_path)
    monkeypatch.setattr("os.fsync", hang)
    after, interrupted = store.stored(before)
    assert interrupted and {report.status for report in after} == {"failed"}
    check_truth(before, after, tmp_path)


def test_an_ignored_signal_stays_ignored(tmp_path):
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        after, interrupted = store.stored(reports_on(tmp_path))
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, previous)
    assert not interrupted and {report.status for report in after} == {"changed"}


@pytest.mark.parametrize("output_format", ["text", "json"])
@pytest.mark.parametrize(("step", "at", "written"), [("fsync", 4, 0), ("replace", 3, 0), ("replace", 5, FILES)])
def test_the_command_tells_what_was_written_and_ends_with_130(
    tmp_path, monkeypatch, capfd, step, at, written, output_format
):
    """The journal is synced, with its directory, and put in place before the first file is."""

    def rewritten(source, options, filename):
        return Outcome(source.replace(OLD, NEW), (), {"NKI001": 1})

    def together(sources, options, homes):
        return {path: rewritten(text, options, path) for path, text in sources.items()}

    monkeypatch.setattr(codemods, "rewrite", rewritten)
    monkeypatch.setattr(codemods, "rewrite_together", together)
    reports_on(tmp_path)
    monkeypatch.chdir(tmp_path)
    calls = 0
    original = getattr(store.os, step)

    def interrupted(*arguments):
        nonlocal calls
        calls += 1
        result = original(*arguments)
        if calls == at:
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(store.os, step, interrupted)
    with pytest.raises(SystemExit) as exit_:
        main(["rewrite", "--write", "--no-cache", "--jobs", "1", "--output-format", output_format, "."])
    out, err = capfd.readouterr()
    new = sorted(path.name for path in tmp_path.iterdir() if path.read_text().startswith(NEW))
    assert exit_.value.code == 130 and err.endswith("nki-migrate: error: interrupted\n")
    assert len(list(tmp_path.iterdir())) == FILES
    assert len(new) == written
    if output_format == "json":
        document = json.loads(out)
        counts = document["summary"]
        assert sorted(f["path"] for f in document["files"] if f["status"] == "changed") == new
        assert sum(counts[status] for status in ("changed", "unchanged", "skipped", "failed")) == FILES
    else:
        assert sorted(line.partition(":")[0] for line in err.split("\n") if line.endswith(": rewritten")) == new
        assert f"{FILES} files: {len(new)} changed, 0 unchanged, 0 skipped, {FILES - len(new)} failed" in err
