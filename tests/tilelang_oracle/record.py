"""Ask the real compiler, and write its answers down: run with the Python of an environment that has the wheel.

python tests/tilelang_oracle/record.py offsets 320 > tests/tilelang_oracle/offsets.json
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import kernels

PLACED = re.compile(r"(\w+): T\.handle\([^)]*\) = T\.handle_add_byte_offset\(buf_dyn_shmem\.data, (\d+)\)")
ASKED = re.compile(r'"dyn_shared_memory_buf": (\d+)')


@contextmanager
def loaded(source: str) -> Iterator[ModuleType]:
    """A module with this source; the language reads it from a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel_file.py"
        path.write_text(source)
        spec = importlib.util.spec_from_file_location("kernel_file", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module


def lowered(function: Any, architecture: str, reuse: bool = True) -> Any:
    """What ``tilelang.lower`` gives for CUDA: the device module and the generated source."""
    import tilelang
    from tilelang import tvm

    given: Any = {"kind": "cuda", "arch": architecture}
    if tuple(map(int, wheel()["version"].split(".")[:3])) < (0, 1, 9):
        given = f"cuda -arch={architecture}"
    target = tvm.target.Target(given)
    config = {} if reuse else {"tl.disable_shared_memory_reuse": True}
    with tvm.transform.PassContext(config=config), target:
        return tilelang.lower(function, target=target)


def offsets_of(source: str, architecture: str, reuse: bool) -> dict[str, Any]:
    """The byte offset of each buffer in dynamic shared memory, and the bytes that a launch asks for."""
    with loaded(source) as module:
        text = str(lowered(module.kernel, architecture, reuse).device_mod)
    asked = ASKED.search(text)
    return {"offsets": {name: int(at) for name, at in PLACED.findall(text)}, "total": int(asked[1]) if asked else 0}


def wheel() -> dict[str, str]:
    """The version of the installed wheel and a digest of the compiler's library in it."""
    found = importlib.metadata.distribution("tilelang")
    record = next(str(file) for file in found.files or () if str(file).endswith("RECORD"))
    text = Path(str(found.locate_file(record))).read_bytes()
    return {"version": found.version, "record_sha256": hashlib.sha256(text).hexdigest()}


def offsets(count: int) -> dict[str, Any]:
    answers = []
    for seed in range(count):
        source, architecture = kernels.source_of(seed), kernels.architecture_of(seed)
        for reuse in (True, False):
            try:
                answer = offsets_of(source, architecture, reuse)
            except Exception as error:
                answer = {"error": f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"}
            answers.append({"seed": seed, "architecture": architecture, "reuse": reuse, **answer})
        digest = hashlib.sha256(source.encode()).hexdigest()[:16]
        answers[-1]["source"] = answers[-2]["source"] = digest
    return {"wheel": wheel(), "answers": answers}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    made = {"offsets": lambda: offsets(int(sys.argv[2]))}[sys.argv[1]]()
    print(json.dumps(made, indent=None, separators=(",", ":")).replace('{"seed"', '\n{"seed"'))
