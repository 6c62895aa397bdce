"""From bytes to a report: what is read, skipped, failed; the pool of processes."""

import multiprocessing
import os
import signal
import threading
import time
import warnings

import pytest
from first_rung import Options
from nki_migrate import codemods
from nki_migrate.codemods import Finding, Outcome
from nki_migrate.discover import Found
from nki_migrate.rewriting import rewrite_report, rewrite_reports

OLD, NEW = "import neuronxcc.nki as nki\n", "import nki\n"


def rename(source, options, filename):
    """Stands in for the codemods: one import, a finding for each ``left``, and trouble on request."""
    if "die" in source:
        os._exit(3)
    if "sleep" in source:
        time.sleep(60)
    if "interrupt" in source:
        raise KeyboardInterrupt
    if "break" in source:
        raise KeyError("a defect")
    if "SyntaxWarning" in source:
        warnings.warn("invalid escape", SyntaxWarning, stacklevel=1)
    lines = source.split("\n")
    findings = [Finding(i, 1, "NKM999", "manual", "m", "h") for i, line in enumerate(lines, 1) if "left" in line]
    return Outcome(source.replace(OLD, NEW), tuple(reversed(findings)), {"NKM001": source.count(OLD)})


def rename_all(sources, options, homes):
    return {path: rename(source, options, path) for path, source in sources.items()}


@pytest.fixture(autouse=True)
def codemod(monkeypatch, tmp_path):
    monkeypatch.setattr(codemods, "rewrite", rename)
    monkeypatch.setattr(codemods, "rewrite_together", rename_all)
    monkeypatch.chdir(tmp_path)


def report(data):
    return rewrite_report("kernel.py", data, Options())


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_only_the_rewritten_line_changes(end, bom):
    rest = f"x = '''é{end}'''{end}\x0c# end"
    result = report(bom + (OLD.rstrip() + end + rest).encode())
    assert (result.status, result.reason) == ("changed", None)
    assert result.after == bom + (NEW.rstrip() + end + rest).encode()
    assert result.applied == {"NKM001": 1}


def test_latin_1_stays_latin_1():
    data = f"# coding: latin-1\n{OLD}s = 'é'  # ü\n".encode("latin-1")
    assert report(data).after == data.replace(OLD.encode(), NEW.encode())


def test_findings_come_in_the_order_of_lines():
    result = report(b"# neuronxcc\nleft = 1\nleft = 2\n")
    assert result.status == "unchanged" and result.after == result.before
    assert [finding.line for finding in result.findings] == [2, 3]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"import neuronxcc\nprint 'old'\n", "line 2: does not parse as Python 3"),
        (b"import neuronxcc\n  x = 1\n", "line 2: does not parse as Python 3"),
        (b"import neuronxcc\nx = '\0'\n", "line 2: a null byte"),
        (b"import neuronxcc\ns = '\xff'\n", "line 2: byte 0xff is not utf-8"),
        (b"import neuronxcc\nx = " + b"(" * 5000 + b")" * 5000 + b"\n", ""),
        (b"import neuronxcc\nx = " + b"-" * 100_000 + b"1\n", ""),
        (b"import neuronxcc\nbreak_ = 1\n", "internal error: KeyError: 'a defect' (test_files_rewrite.py:"),
    ],
    ids=["Python 2", "indentation", "null byte", "not UTF-8", "parentheses", "deep expression", "our defect"],
)
def test_a_file_that_cannot_be_rewritten_fails_with_one_line_and_stays(data, reason):
    result = report(data)
    assert result.status == "failed"
    assert result.reason.startswith(reason) and "\n" not in result.reason
    assert result.after == data


def test_an_empty_file_is_skipped():
    open("empty.py", "w").close()
    (result,) = rewrite_reports([Found("empty.py")], Options(), 1)
    assert (result.status, result.reason) == ("skipped", "empty")


def test_a_notebook_with_kernels_is_skipped_but_left_to_do_without_what_reads_it(monkeypatch):
    monkeypatch.setattr("nki_migrate.reports.is_supported", lambda: False)
    for name, text in (("with.ipynb", '{"source": "import neuronxcc"}'), ("without.ipynb", '{"image": "x0neuronxcc"}')):
        with open(name, "w") as file:
            file.write(text)
    first, second = rewrite_reports([Found("with.ipynb"), Found("without.ipynb")], Options(), 1)
    assert (
        first.status == "skipped" and first.reason.startswith("reading notebooks needs nbformat") and not first.is_done
    )
    assert second.status == "skipped" and second.is_done


def test_a_file_that_cannot_be_read_fails():
    (result,) = rewrite_reports([Found("gone.py")], Options(), 1)
    assert (result.status, result.reason) == ("failed", "cannot read: No such file or directory")


def test_what_the_search_reports_is_passed_on():
    files = [Found("a", skipped="a broken symbolic link"), Found("b", failed="cannot list the directory")]
    assert [(r.status, r.reason) for r in rewrite_reports(files, Options(), 1)] == [
        ("skipped", "a broken symbolic link"),
        ("failed", "cannot list the directory"),
    ]


def test_python_remarks_on_the_users_source_are_not_printed(recwarn):
    assert report(OLD.encode() + b"s = '\\d'  # SyntaxWarning\n").status == "changed"
    assert not recwarn


def many(count, **special):
    """Files of different sizes, some with special contents."""
    for index in range(count):
        with open(f"f{index:02}.py", "w") as file:
            file.write(OLD + special.get(f"f{index}", "x = 1\n" * (index * 7 % 5)))
    return [Found(f"f{index:02}.py") for index in range(count)]


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_reports_come_in_the_order_of_the_files_however_many_processes(jobs):
    files = [Found("gone.py"), *many(20, f3="left = 1\n", f7="break_ = 1\n")]
    results = rewrite_reports(files, Options(), jobs)
    assert [result.path for result in results] == [file.path for file in files]
    assert results == rewrite_reports(files, Options(), 1)


def test_a_process_that_dies_costs_its_file_only():
    results = rewrite_reports(many(12, f2="die = 1\n", f9="die = 2\n"), Options(), 2)
    failed = {result.path: result.reason for result in results if result.status == "failed"}
    assert list(failed) == ["f02.py", "f09.py"]
    assert all(reason.startswith("the process that rewrote it died") for reason in failed.values())
    assert sum(result.status == "changed" for result in results) == 10


def test_an_interrupt_waits_for_no_file_that_a_process_has_at_hand():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    sent = []

    def interrupt():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(1.5, interrupt)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            rewrite_reports(many(12, f2="sleep = 1\n", f9="sleep = 2\n"), Options(), 2)
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - sent[0] < 20  # half a second where the machine is idle, a minute where it waits
    assert not multiprocessing.active_children()


def test_a_handful_of_files_needs_no_processes(monkeypatch):
    monkeypatch.setattr("nki_migrate.rewriting.ProcessPoolExecutor", None)
    assert all(result.status == "changed" for result in rewrite_reports(many(8), Options(), 4))


def test_an_interrupt_is_not_taken_for_a_defect():
    with pytest.raises(KeyboardInterrupt):
        report(OLD.encode() + b"interrupt = 1\n")
