"""A kernel that runs in a fork of the tool's own process sees what it sees in a process that was started for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

KERNEL = """
import json
import os
import signal
import sys
import calendar
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def _stream(stream):
    flags = stream.line_buffering, stream.write_through
    return stream.encoding, stream.errors, *flags, stream.fileno(), type(stream.buffer).__name__


@nki.jit
def copied(x):
    tops = sorted({name.partition(".")[0] for name in sys.modules if not name.startswith("_")})
    seen = {
        "modules": tops,
        "path": sys.path,
        "argv": sys.argv,
        "flags": list(sys.flags),
        "calendar": calendar.__file__,
        "main": sorted(vars(sys.modules["__main__"]).keys() - {"serve", "sys"}),
        "streams": [_stream(each) for each in (sys.stdin, sys.stdout, sys.stderr)],
        "descriptors": sorted(os.readlink(f"/proc/self/fd/{n}").partition("#")[0] for n in (0, 1, 2)),
        "open": len(os.listdir("/proc/self/fd")),
        "signals": [str(signal.getsignal(n)) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGCHLD)],
        "environment": {k: v for k, v in os.environ.items() if k != "_"},
        "bytecode": sys.dont_write_bytecode,
        "order": list({"a", "b", "c", "d", "e", "f"}),
    }
    with open(f"/proc/{os.getppid()}/cmdline") as stream:
        seen["server"] = stream.read()
    with open(os.environ["SEEN"], "w") as stream:
        json.dump(seen, stream)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.load(x))
    return out
"""
_PROGRAM = "from nki_migrate.__main__ import main\nmain()"
CASES = '[[case]]\nkernel = "copied"\n[case.args]\nx = { shape = [128, 8], dtype = "float32" }\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "before.py").write_text(KERNEL)
    (tmp_path / "after.py").write_text(KERNEL)
    (tmp_path / "cases.toml").write_text(CASES)
    (tmp_path / "calendar.py").write_text("")
    return tmp_path


def seen(folder: Path, *command: str, seed: str | None) -> dict[str, Any]:
    """What the kernel sees when the tool is called so, with the hash seed that the user has set."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"}
    environment |= {"SEEN": str(folder / "seen.json")} | ({} if seed is None else {"PYTHONHASHSEED": seed})
    arguments = ("verify", "before.py", "after.py", "--no-cache", "--output-format", "json")
    done = subprocess.run(
        [*command, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert json.loads(done.stdout)["results"][0]["verdict"] == "equal", done.stdout + done.stderr
    found: dict[str, Any] = json.loads((folder / "seen.json").read_text())
    return found


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are not seen")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_kernel_sees_no_difference(folder: Path, unbuffered: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    by_module, by_name = (sys.executable, "-m", "nki_migrate"), (str(Path(sys.executable).with_name("nki-migrate")),)
    started = seen(folder, *by_module, seed="random")
    assert started["calendar"] == str(folder / "calendar.py")
    for command in (by_module,) if unbuffered else (by_module, by_name):
        forked = seen(folder, *command, seed=None)
        assert "nki_migrate\0verify" in forked["server"] or "nki-migrate\0verify" in forked["server"]
        for what, found in forked.items():
            if what != "server":
                assert found == started[what], what


@pytest.mark.parametrize(
    ("command", "seed"), [(("-m", "nki_migrate"), "1"), (("-O", "-m", "nki_migrate"), None), (("-c", _PROGRAM), None)]
)
def test_nothing_is_forked_from_a_tool_whose_python_was_started_otherwise(
    folder: Path, command: tuple[str, ...], seed: str | None
) -> None:
    """The parent of a run says by which command it was started."""
    assert "serve(int(sys.argv[1]))" in seen(folder, sys.executable, *command, seed=seed)["server"]
