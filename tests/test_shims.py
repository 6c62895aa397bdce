"""The stand-ins for ``neuronxcc``, ``nki`` and ``nkilib``: there while installed, gone afterwards."""

from __future__ import annotations

import importlib
import logging
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from nki_migrate.runtime import shims
from nki_migrate.runtime.errors import NotModelled

PUBLIC = """neuronxcc neuronxcc.nki neuronxcc.nki.language neuronxcc.nki.language.constants neuronxcc.nki.isa
neuronxcc.nki.isa.constants neuronxcc.nki.isa.neuron_isa neuronxcc.nki.compiler neuronxcc.nki.compiler.sbuf
neuronxcc.nki.compiler.psum neuronxcc.nki.typing neuronxcc.starfish.support.util nki nki.language nki.isa nki.typing
nkilib""".split()


def roots() -> set[str]:
    return {name for name in sys.modules if name.partition(".")[0] in shims.ROOTS}


@pytest.fixture(autouse=True)
def outside() -> None:
    assert not shims.is_installed()


@pytest.mark.parametrize("name", PUBLIC)
def test_public_modules_import(name: str) -> None:
    with shims.installed():
        assert importlib.import_module(name).__name__ == name


def test_every_way_to_spell_an_import() -> None:
    with shims.installed():
        names: dict[str, object] = {}
        exec(
            "import neuronxcc.nki.language as nl\n"
            "import neuronxcc.nki as nki\n"
            "from neuronxcc import nki as again\n"
            "from neuronxcc.nki.language import par_dim\n"
            "from neuronxcc.nki.isa.neuron_isa import dma_copy\n"
            "import neuronxcc.nki.compiler as ncc\n"
            "import neuronxcc\n",
            names,
        )
        assert names["nki"] is names["again"]
        assert names["nl"] is names["neuronxcc"].nki.language  # type: ignore[attr-defined]
        assert names["ncc"].sbuf.mod_alloc is names["nki"].compiler.sbuf.mod_alloc  # type: ignore[attr-defined]


def test_nothing_is_left_behind() -> None:
    before_path, before_meta = list(sys.path), list(sys.meta_path)
    with shims.installed():
        import_one = importlib.import_module("neuronxcc.nki.language")
        assert import_one.__name__ in sys.modules
    assert not roots()
    assert sys.path == before_path
    assert sys.meta_path == before_meta
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("neuronxcc")


def test_nested_blocks_are_one() -> None:
    with shims.installed():
        with shims.installed():
            importlib.import_module("nki")
        assert shims.is_installed()
        assert importlib.import_module("nki.language")
    assert not roots()


def test_left_after_an_exception_too() -> None:
    with pytest.raises(ZeroDivisionError), shims.installed():
        importlib.import_module("neuronxcc.nki")
        raise ZeroDivisionError
    assert not shims.is_installed()
    assert not roots()


def test_modules_that_were_loaded_before_come_back() -> None:
    own = ModuleType("nki")
    sys.modules["nki"] = own
    try:
        with shims.installed():
            assert importlib.import_module("nki") is not own
        assert sys.modules["nki"] is own
    finally:
        del sys.modules["nki"]


def test_other_modules_are_not_shadowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("runtime", "golden", "nki_helpers", "neuronxcc_tools"):
        (tmp_path / f"{name}.py").write_text(f"WHERE = {name!r}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with shims.installed():
        for name in ("runtime", "golden", "nki_helpers", "neuronxcc_tools"):
            found = importlib.import_module(name)
            assert name == found.WHERE
            del sys.modules[name]


def test_a_real_nkilib_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nkilib").mkdir()
    (tmp_path / "nkilib" / "__init__.py").write_text("REAL = True\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with shims.installed():
        assert importlib.import_module("nkilib").REAL
    assert not roots()


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("neuronxcc.nki._private.private_api", "do_while"),
        ("neuronxcc.nki._private_kernels.attention", "attention_isa_kernel"),
        ("neuronxcc.nki._pre_prod_kernels", "util"),
        ("neuronxcc.nki.compiler.backends.neuron.indexing", "TileIndex"),
        ("neuronxcc.nki.nccl", "all_gather"),
        ("neuronxcc.nki.isa", "_tiled_offloaded_memcpy"),
        ("neuronxcc.nki.language", "sync_program"),
        ("neuronxcc.nki", "kernels"),
    ],
)
def test_private_names_import_and_refuse_to_be_used(module: str, name: str) -> None:
    with shims.installed():
        private = getattr(importlib.import_module(module), name)
        with pytest.raises(NotModelled, match=name):
            private(1)
        with pytest.raises(NotModelled, match=name):
            private[0]
        with pytest.raises(NotModelled, match="deeper"):
            private.deeper()
        with pytest.raises(NotModelled):
            bool(private)


def test_a_public_module_has_no_other_names() -> None:
    with shims.installed():
        language = importlib.import_module("neuronxcc.nki.language")
        with pytest.raises(AttributeError, match="no public attribute 'laod'"):
            _ = language.laod
        with pytest.raises(ImportError):
            exec("from neuronxcc.nki.language import laod", {})


def test_types_are_numpy_types() -> None:
    with shims.installed():
        nl = importlib.import_module("neuronxcc.nki.language")
        assert np.zeros(1, np.float32).dtype == nl.float32
        assert nl.float32 == np.float32
        assert np.dtype(nl.bfloat16).itemsize == 2
        assert {nl.float32: 1}[np.dtype(np.float32)] == 1


def test_a_fresh_process_is_not_touched_by_the_import() -> None:
    code = "import sys, nki_migrate.runtime.shims as s; print([n for n in sys.modules if n.split('.')[0] in s.ROOTS])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_neuronxcc_gives_logging_a_level_that_nothing_reaches() -> None:
    """Programs of courses call ``logging.getLogger().setLevel(logging.OFF)`` after they imported ``neuronxcc``."""
    assert not hasattr(logging, "OFF")
    for _ in range(2):
        with shims.installed():
            importlib.import_module("nki")
            assert not hasattr(logging, "OFF")
            importlib.import_module("neuronxcc.nki.language")
            logger = logging.getLogger("nki_migrate.tests")
            logger.setLevel(logging.OFF)
            assert not logger.isEnabledFor(logging.CRITICAL)
        assert not hasattr(logging, "OFF")


def test_a_level_of_the_users_own_stays() -> None:
    logging.OFF = 99
    with shims.installed():
        importlib.import_module("neuronxcc")
        assert logging.OFF == 99
    assert logging.OFF == 99
    del logging.OFF
