"""Whatever the input: one clear line, an exit code that says the truth, never a traceback."""

import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest
from nki_migrate.cli import main

KERNEL = """
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

@nki.jit
def k(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.load(x))
    return out
"""
CASES = '[[case]]\nkernel = "k"\nargs = {x = {shape = [8, 16], dtype = "float32"}}\n'
FILES = {
    "k.py": KERNEL.encode(),
    "latin.py": b'import neuronxcc.nki as nki\nx = "\xff"\n',
    "syntax.py": b"import neuronxcc.nki\ndef (:\n",
    "null.py": b"import neuronxcc.nki\n\0\n",
    "codec.py": b"# coding: nope\nimport neuronxcc.nki\n",
    "rot13.py": b"# coding: rot13\nimport neuronxcc.nki\n",
    "deep.py": b"import neuronxcc.nki as nki\nx = " + b"(" * 5000 + b")" * 5000 + b"\n",
    "wide.py": KERNEL.replace("nl.load(x))", "nl.load(x) + " * 1200 + "1)").encode(),
    "binary.py": b"neuronxcc" + bytes(range(256)) * 500,
    "empty.py": b"",
    "raises.py": KERNEL.encode() + b'raise RuntimeError("one\\ntwo")\n',
    "cases.toml": CASES.encode(),
    "broken.toml": b"[[case",
    "text.toml": b'case = "k"\n',
    "binary.toml": b"\xff\xfe\0",
    "dtype.toml": b'[[case]]\nkernel = "k"\nargs = {x = {shape = [8], dtype = "float99"}}\n',
    "huge.toml": b'[[case]]\nkernel = "k"\nargs = {x = {shape = [99999999999, 16], dtype = "float32"}}\n',
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "directory.py").mkdir()
    (tmp_path / "link.py").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe.py")
    return tmp_path


def run(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "nki_migrate", *arguments],
        stdin=subprocess.DEVNULL, stdout=options.pop("stdout", subprocess.PIPE), stderr=subprocess.PIPE, timeout=300,
        check=False, **options,
    )  # fmt: skip


@pytest.fixture
def run_here(capfdbinary):
    """``run`` in this process, for what needs none of its own: a third of the time is spared."""

    def call(*arguments):
        with warnings.catch_warnings(record=True) as warned, pytest.raises(SystemExit) as ended:
            warnings.simplefilter("default")
            for kind in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
                warnings.simplefilter("ignore", kind)  # as Python does
            main(list(arguments))
        out, err = capfdbinary.readouterr()
        told = "".join(f"{each.category.__name__}: {each.message}\n" for each in warned)
        return subprocess.CompletedProcess(arguments, ended.value.code, out, err + told.encode())

    return call


def assert_clean(done):
    """Text without a traceback; if nothing was done, one line."""
    printed = (done.stdout or b"").decode(errors="replace") + done.stderr.decode(errors="replace")
    assert "Traceback" not in printed and "internal error" not in printed and "Warning" not in printed
    assert done.returncode in (0, 1, 2)
    errors = done.stderr.decode(errors="replace")
    if errors.startswith("nki-migrate: error: "):
        assert done.returncode == 2 and errors.count("\n") == 1 and not done.stdout
    if done.returncode == 2:
        assert printed.strip()
    return printed


SOURCES = [
    *(name for name in FILES if name.endswith(".py")),
    "directory.py",
    "link.py",
    "pipe.py",
    "none.py",
    "",
    "k.py/",
]


@pytest.mark.parametrize("source", SOURCES)
def test_rewrite_and_check_take_any_file(here, run_here, source):
    for command in ("rewrite", "check"):
        assert_clean(run_here(command, source))


@pytest.mark.parametrize(
    "source", ["latin.py", "syntax.py", "null.py", "codec.py", "rot13.py", "deep.py", "wide.py", "binary.py"]
)
def test_a_file_that_is_no_python_fails_with_its_reason(here, run_here, source):
    done = run_here("rewrite", source)
    assert done.returncode == 2 and f"{source}: failed: " in assert_clean(done)


@pytest.mark.parametrize(
    "source", ["syntax.py", "binary.py", "directory.py", "link.py", "none.py", "raises.py", "empty.py"]
)
def test_verify_takes_any_file(here, run_here, source):
    for arguments in ((source, "k.py"), ("k.py", source), ("--migrate", source)):
        done = run_here("verify", "--no-cache", *arguments)
        assert_clean(done)
        assert done.returncode == 2


@pytest.mark.parametrize(
    "cases", ["broken.toml", "text.toml", "binary.toml", "dtype.toml", "huge.toml", "none.toml", "directory.py", ""]
)
def test_cases_that_make_no_sense_are_an_error(here, run_here, cases):
    for arguments in (
        ("verify", "--no-cache", "--cases", cases, "k.py", "k.py"),
        ("layout", "--cases", cases, "k.py::k"),
    ):
        done = run_here(*arguments)
        assert_clean(done)
        assert done.returncode == 2


@pytest.mark.parametrize("report", ["", "directory.py", "k.py/report.html", "none/report.html"])
def test_a_report_needs_a_file_that_can_be_written(here, run_here, report):
    done = run_here("rewrite", "k.py", "--report", report)
    assert done.returncode == 2
    assert done.stderr.decode().splitlines()[-1].startswith("nki-migrate: error: ")


@pytest.mark.parametrize("colours", ["", "1"])
def test_what_the_encoding_of_the_output_does_not_have_is_spelled_out(here, colours):
    name = "k\u00fc.py"
    (here / name).write_text(KERNEL.replace("def k(x):", 'def k(x):\n    """\u2192"""'), encoding="utf-8")
    settings = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C", "FORCE_COLOR": colours, "NO_COLOR": ""}
    for arguments in (("rewrite", name), ("check", name), ("rewrite", "--stat", name), ("explain", "NKI022")):
        done = run(*arguments, env=os.environ | settings)
        assert done.returncode < 2 and assert_clean(done)


def test_a_working_directory_that_is_gone_is_named(here):
    (here / "gone").mkdir()
    command = f"cd gone && rmdir ../gone && {sys.executable} -m nki_migrate rewrite ."
    done = subprocess.run(["sh", "-c", command], capture_output=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (
        2,
        b"nki-migrate: error: the working directory: No such file or directory\n",
    )


def test_a_pipe_that_nobody_reads_is_no_verdict(here):
    """The exit code is not that of findings, of a failure, or of success."""
    reading, writing = os.pipe()
    os.close(reading)
    for arguments in (("rules",), ("verify", "--migrate", "k.py"), ("rewrite", "k.py")):
        done = run(*arguments, stdout=writing)
        assert done.returncode == 141 and b"Traceback" not in done.stderr
    os.close(writing)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, which only Linux has")
def test_a_full_disk_is_an_error(here):
    with open("/dev/full", "wb") as full:
        done = run("rules", stdout=full)
    assert (done.returncode, done.stderr.decode()) == (
        2,
        "nki-migrate: error: cannot write the output: No space left on device\n",
    )


def test_closed_streams_are_no_defect(here):
    for closed in (">&-", "2>&-", "<&-"):
        done = subprocess.run(
            ["sh", "-c", f'"$0" -m nki_migrate rewrite k.py {closed}', sys.executable], capture_output=True, check=False
        )
        assert done.returncode == 1 and b"internal error" not in done.stderr


@pytest.fixture
def interruptible():
    """The processes that a test starts hear SIGINT, also where the tests run in the background: there a shell ignores
    it, and every child would inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted(arguments, ready):
    """SIGINT to the whole process group, as a terminal sends it, once ``ready()``."""
    process = subprocess.Popen(
        [sys.executable, "-m", "nki_migrate", *arguments],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    while not ready():
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    return process.returncode, errors.decode()


def is_running(process):
    """Is there such a process, and has it not ended? (One that nobody waited for has ended, too.)"""
    try:
        os.kill(process, 0)
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:  # no /proc on this system
        return True
    except ProcessLookupError:
        return False
    return state not in "ZX"


def test_an_interrupt_ends_verify_in_one_line_and_its_kernels_with_it(here, interruptible):
    started = here / "started"
    (here / "k.py").write_text(
        "import os, time\n" + KERNEL.replace(
            "    out =", f"    open({str(started)!r}, 'w').write(str(os.getpid()))\n    time.sleep(600)\n    out ="
        )
    )  # fmt: skip
    code, errors = interrupted(
        ["verify", "--no-cache", "k.py", "k.py"], lambda: started.exists() and started.read_text()
    )
    assert code == 130
    assert errors.strip() == "nki-migrate: error: interrupted"
    while is_running(int(started.read_text())):  # it was told to end before the tool did
        time.sleep(0.05)


def test_an_interrupt_while_the_tool_loads_is_one_line_too(here, interruptible):
    (here / "click.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    environment = {**os.environ, "PYTHONPATH": str(here)}
    done = subprocess.run(
        [sys.executable, "-m", "nki_migrate", "rules"], env=environment, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr.decode()) == (130, "nki-migrate: error: interrupted\n")


def test_an_interrupt_that_python_wraps_is_no_defect(monkeypatch, capsys):
    from nki_migrate import cli

    def wrapped(**arguments):
        raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()

    monkeypatch.setattr(cli.cli, "main", wrapped)
    with pytest.raises(SystemExit, match="130"):
        cli.main(["rules"])
    assert capsys.readouterr().err == "nki-migrate: error: interrupted\n"


def test_an_interrupt_leaves_the_files_of_a_rewrite_as_they_were(here, interruptible):
    names = [f"f{n}.py" for n in range(400)]
    for name in names:
        (here / name).write_text(KERNEL * 20)
    began = time.monotonic()
    run("rules")  # how long the tool takes to start on this machine
    began, enough = time.monotonic(), 3 * (time.monotonic() - began) + 2
    code, errors = interrupted(["rewrite", "--write", "--jobs", "2", *names], lambda: time.monotonic() - began > enough)
    assert code == 130
    assert errors.strip() == "nki-migrate: error: interrupted"
    contents = {(here / name).read_text() for name in names}
    assert contents == {KERNEL * 20}
