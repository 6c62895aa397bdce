"""The classes of elements that numpy and ml_dtypes have: a table, so that a rewrite loads neither."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import ml_dtypes
import numpy as np
from nki_migrate.golden import GOLDENS
from nki_migrate.runtime.spec.dtypes import ML_DTYPES_SCALARS, NUMPY_ALIASES, NUMPY_SCALARS, NUMPY_SPELLINGS

_RUN = """
import sys
from nki_migrate.cli import main
try:
    main(["rewrite", "--no-cache", "--jobs", "1", "kernel.py"])
finally:
    print("loaded", sorted({"numpy", "ml_dtypes"} & sys.modules.keys()))
"""


def classes(module: ModuleType) -> dict[str, str]:
    """The classes of elements that are attributes of ``module``, with the names that they give themselves."""
    found = {name: getattr(module, name) for name in dir(module)}
    return {name: c.__name__ for name, c in found.items() if isinstance(c, type) and issubclass(c, np.generic)}


def test_the_table_has_the_classes_that_are_installed() -> None:
    assert classes(np).keys() <= NUMPY_SCALARS
    assert classes(ml_dtypes).keys() <= ML_DTYPES_SCALARS


def test_a_class_of_a_kernels_type_has_its_own_name() -> None:
    names = set(NUMPY_SPELLINGS.values())
    for name, own in classes(np).items():
        if {own, f"{own}_"} & names:
            assert NUMPY_ALIASES.get(name, name).rstrip("_") == own.rstrip("_"), name


def test_a_rewrite_loads_no_numpy(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(GOLDENS["fused_rmsnorm"].before)
    done = subprocess.run([sys.executable, "-c", _RUN], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "+++" in done.stdout and done.stdout.splitlines()[-1] == "loaded []", done.stdout[-300:] + done.stderr
