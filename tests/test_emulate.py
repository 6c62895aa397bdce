"""``emulate``: commands whose Python finds the emulator, and nothing else changed."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from nki_migrate.emulate import BOOTSTRAP, environment, run
from nki_migrate.errors import InputError

SCRIPT = """
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

@nki.jit
def copied(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.load(x))
    return out

x = np.arange(8, dtype=np.float32).reshape(2, 4)
assert (copied(x) == x).all()
print("ran")
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return tmp_path


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))
    return path


def test_a_script_imports_the_emulator(here: Path, capfd) -> None:  # type: ignore[no-untyped-def]
    write(here / "script.py", SCRIPT)
    assert run([sys.executable, "script.py"]) == 0
    assert capfd.readouterr().out == "ran\n"


def test_a_module_imports_the_emulator(here: Path) -> None:
    write(here / "test_kernel.py", f"def test_it():\n{textwrap.indent(SCRIPT, '    ')}")
    assert run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_kernel.py"]) == 0


def test_a_console_script_and_its_children_import_the_emulator(here: Path, capfd) -> None:  # type: ignore[no-untyped-def]
    write(here / "script.py", SCRIPT)
    tool = write(
        here / "tool",
        f"#!{sys.executable}\nimport subprocess, sys\nsys.exit(subprocess.call([sys.executable, 'script.py']))\n",
    )
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    assert run(["./tool"]) == 0
    assert capfd.readouterr().out == "ran\n"


def test_both_dialects_and_the_library_are_importable(here: Path) -> None:
    code = "import nki.language, neuronxcc.nki.isa; from nkilib.core.utils.allocator import SbufManager; SbufManager"
    assert run([sys.executable, "-c", code]) == 0


@pytest.mark.parametrize("code", [0, 1, 2, 77])
def test_the_exit_code_is_the_commands(here: Path, code: int) -> None:
    assert run([sys.executable, "-c", f"raise SystemExit({code})"]) == code


def test_a_signal_is_128_and_its_number(here: Path) -> None:
    assert run([sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"]) == 128 + 15


def test_a_command_that_does_not_exist_is_an_error(here: Path) -> None:
    with pytest.raises(InputError, match="no-such-command: command not found"):
        run(["no-such-command"])
    write(here / "script.py", SCRIPT)
    with pytest.raises(InputError, match=r"\./script\.py: command is not executable"):
        run(["./script.py"])
    with pytest.raises(InputError, match="no command given"):
        run([])


def test_a_command_that_cannot_be_run_is_an_error(here: Path) -> None:
    broken = write(here / "broken", "#!/no/such/interpreter\n")
    broken.chmod(0o755)
    with pytest.raises(InputError, match=r"\./broken: cannot be run: No such file or directory"):
        run(["./broken"])


def test_the_environment_gains_one_entry(here: Path) -> None:
    assert environment({"A": "b"}) == {"A": "b", "PYTHONPATH": str(BOOTSTRAP)}
    given = {"PYTHONPATH": os.pathsep.join(["x", "", "y"])}
    assert environment(given)["PYTHONPATH"] == os.pathsep.join([str(BOOTSTRAP), "x", "y"])


def test_this_process_keeps_its_environment_and_modules(here: Path) -> None:
    before = dict(os.environ)
    run([sys.executable, "-c", "import nki"])
    assert dict(os.environ) == before
    assert not {"nki", "neuronxcc", "sitecustomize_probe"} & set(sys.modules)


def test_the_interpreter_is_otherwise_as_it_was(here: Path, capfd) -> None:  # type: ignore[no-untyped-def]
    """Same ``sys.path``, same modules, and the emulator is not imported before it is needed."""
    code = "import sys; print(sys.path); print(sorted(m for m in sys.modules if not m.startswith('importlib')))"
    subprocess.run([sys.executable, "-c", code], check=True)
    plain = capfd.readouterr().out
    assert run([sys.executable, "-c", code]) == 0
    emulated = capfd.readouterr().out
    assert emulated.splitlines()[0] == plain.splitlines()[0]
    assert "numpy" not in emulated


def test_a_sitecustomize_of_the_users_still_runs(here: Path, monkeypatch, capfd) -> None:  # type: ignore[no-untyped-def]
    write(here / "site" / "sitecustomize.py", "import sys\nprint('customized', __name__, __file__)\nVALUE = 3\n")
    monkeypatch.setenv("PYTHONPATH", str(here / "site"))
    assert run([sys.executable, "-c", "import sitecustomize, nki; print(sitecustomize.VALUE)"]) == 0
    assert capfd.readouterr().out == f"customized sitecustomize {here}/site/sitecustomize.py\n3\n"


def test_a_python_without_nki_migrate_is_told_so(here: Path, capfd) -> None:  # type: ignore[no-untyped-def]
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(here / "bare")], check=True)
    python = str(here / "bare" / "bin" / "python")
    assert run([python, "-c", "import json"]) == 0
    assert run([python, "-c", "import nki"]) == 1
    error = capfd.readouterr().err
    assert f"ImportError: nki-migrate emulate: {python} cannot import nki-migrate" in error
    assert "install it there" in error


ROUNDED = """
import ml_dtypes
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

def rounded(x):
    out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    nl.store(out, value=nl.load(x, dtype=nl.bfloat16))
    return out

x = np.full((1, 1), 1 + 2**-20, np.float32)
print([bool(nki.jit(rounded, mode=mode)(x)[0, 0] == x[0, 0]) for mode in ("auto", "simulation")])
"""


@pytest.mark.parametrize(
    ("precision", "exact"),
    [(None, [False, True]), ("engine", [False, False]), ("simulator", [True, True])],
)
def test_precision(precision: str | None, exact: list[bool], here: Path, capfd) -> None:  # type: ignore[no-untyped-def]
    write(here / "script.py", ROUNDED)
    assert run([sys.executable, "script.py"], precision) == 0
    assert capfd.readouterr().out == f"{exact}\n"


BLOCKS = """
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

@nki.jit
def copied(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    held = nl.ndarray((x.shape[0], nl.par_dim(x.shape[1]), x.shape[2]), dtype=x.dtype, buffer=nl.sbuf)
    for i in nl.affine_range(x.shape[0]):
        held[i] = nl.load(x[i])
        nl.store(out[i], value=held[i])
    return out

print(copied(np.ones((2, 2, 4), np.float32)).shape)
"""


@pytest.mark.parametrize("strict", [False, True])
def test_strict_forbids_block_dimensions(strict: bool, here: Path) -> None:
    write(here / "script.py", BLOCKS)
    options = ["--strict"] if strict else []
    command = [sys.executable, "-m", "nki_migrate", "emulate", *options, "--", sys.executable, "script.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if strict:
        assert done.returncode == 1 and not done.stdout
        assert "script.py:9: err_leading_dimension_of_tensor_must_be_partition: " in done.stderr
    else:
        assert (done.returncode, done.stdout) == (0, "(2, 2, 4)\n")
