"""Ask the real compiler, and write its answers down: run with the Python of an environment that has the wheel.

python tests/tilelang_oracle/record.py offsets tests/tilelang_oracle/offsets_0.1.15.json 320
python tests/tilelang_oracle/record.py rules tests/tilelang_oracle/rules_0.1.15.json
python tests/tilelang_oracle/record.py matrix tests/tilelang_oracle/matrix_0.1.15.json
python tests/tilelang_oracle/record.py numbers tests/tilelang_oracle/numbers_0.1.15.json 25
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


def offsets(count: int, first: int = 0) -> dict[str, Any]:
    answers = []
    for seed in range(first, first + count):
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


GOLDEN = Path(__file__).parents[2] / "golden"
BARRIER = re.compile(r"\[\d+\]\.(?:init|wait|arrive)\([^;]*\);")
HOPPER = ("tilelang_barrier",)
"""Goldens whose kernels need sm_90."""


def rules() -> dict[str, Any]:
    """What this version makes of each golden before and after: the generated source up to names, or its error."""
    answers = []
    for folder in sorted(GOLDEN.glob("tilelang_*")):
        for side in ("before", "after"):
            architecture = "sm_90a" if folder.name in HOPPER else "sm_80"
            try:
                with loaded((folder / f"{side}.py").read_text()) as module:
                    made = str(lowered(_function(module, folder.name), architecture).kernel_source)
                answer = {"source": hashlib.sha256(up_to_names(made).encode()).hexdigest()[:16]}
                if folder.name in HOPPER:
                    answer["barriers"] = " ".join(BARRIER.findall(up_to_names(made)))
            except Exception as error:
                made = ""
                answer = {"error": f"{type(error).__name__}: {str(error).splitlines()[0][:160] if str(error) else ''}"}
            if len(sys.argv) > 3:
                (Path(sys.argv[3]) / f"{folder.name}.{side}.{wheel()['version']}.cu").write_text(up_to_names(made))
            answers.append({"golden": folder.name, "side": side, **answer})
    return {"wheel": wheel(), "answers": answers}


def _function(module: ModuleType, name: str) -> Any:
    if name == "tilelang_matmul":
        from tilelang.jit import JITImpl

        factory = module.matmul
        return factory.get_tir(48, 40, 64) if isinstance(factory, JITImpl) else factory(48, 40, 64)
    return next(value for value in vars(module).values() if type(value).__name__ == "PrimFunc")


def up_to_names(source: str) -> str:
    """Generated source with names as numbers, and arrays of one element as scalars that need not begin with 0."""
    source = source[source.index("__launch_bounds__") :] if "__launch_bounds__" in source else source
    for name, offset in re.findall(r"void\* (\w+) = \(\(void\*\)\(\(char\*\)\w+ \+ (\d+)\)\);", source):
        source = re.sub(rf"\b{name}\b", f"at_{offset}", source)
    for name in set(re.findall(r"\b(\w+)\[1\];", source)):
        source = re.sub(rf"\b{name}\[1\];", f"{name};", source).replace(f"{name}[0]", name)
    source = re.sub(r"^(\s+\w+ \w+) = (?:0x0p\+0f/\*0\.0+e\+00\*/|0);$", r"\1;", source, count=1, flags=re.MULTILINE)
    names: dict[str, str] = {}
    known = re.compile(
        r"tl|__\w+|float\d?|int|void|uchar|char|short|half_t|bfloat16_t|uint\w*|for|if|const|unsigned|x|y|z|w"
    )

    def renamed(match: re.Match[str]) -> str:
        word = match[0]
        return word if known.fullmatch(word) else names.setdefault(word, f"n{len(names)}")

    return re.sub(r"(?<![\w.:])[A-Za-z_]\w*", renamed, source)


def numbers(count: int) -> dict[str, Any]:
    """What kernels compute on the CPU target, as digests of the bytes of their arguments afterwards."""
    import tilelang
    import torch

    answers = []
    for seed in range(count):
        floats, integers = kernels.inputs_of(seed)
        given = [
            torch.tensor(floats, dtype=torch.float32).reshape(4, 64),
            torch.zeros(4, 64),
            torch.tensor(integers, dtype=torch.int32).reshape(4, 64),
        ]
        try:
            with loaded(kernels.numbers_of(seed)) as module:
                tilelang.compile(module.kernel, target="c")(*given)
            digests = [hashlib.sha256(each.numpy().tobytes()).hexdigest()[:16] for each in given]
            answers.append({"seed": seed, "digests": digests})
        except Exception as error:
            answers.append({"seed": seed, "error": f"{type(error).__name__}: {str(error).splitlines()[0][:160]}"})
    return {"wheel": wheel(), "answers": answers}


FORMS = {
    "alloc_var(d)": 'T.alloc_var("int32")',
    "alloc_var(d, 1)": 'T.alloc_var("int32", 1)',
    "alloc_var(d, scope)": 'T.alloc_var("int32", "local.var")',
    "alloc_var(d, 1, scope)": 'T.alloc_var("int32", 1, "local.var")',
    "alloc_var(d, init=1)": 'T.alloc_var("int32", init=1)',
    "alloc_var(d, scope, init=1)": 'T.alloc_var("int32", "local.var", init=1)',
    "alloc_barrier(128)": "T.alloc_barrier(128)",
    "alloc_barrier([128, 64])": "T.alloc_barrier([128, 64])",
    "alloc_barrier(0)": "T.alloc_barrier(0)",
    "create_list_of_mbarrier(128)": "T.create_list_of_mbarrier(128)",
    "alloc_cluster_barrier(1)": "T.alloc_cluster_barrier(1)",
    "alloc_global((4,), d)": 'T.alloc_global((4,), "int32")',
    "alloc_tmem of 3 axes": 'T.alloc_tmem((2, 128, 64), "float32")',
    "alloc_reducer(op)": 'T.alloc_reducer((4,), "float32", op="sum")',
    "alloc_reducer(replication=)": 'T.alloc_reducer((4,), "float32", op="sum", replication="all")',
    "alloc_descriptor(kind)": 'T.alloc_descriptor("wgmma")',
    "alloc_descriptor(type)": 'T.alloc_descriptor("uint64")',
    "symbolic": 'T.symbolic("m")',
}


def matrix() -> dict[str, Any]:
    """Which forms of allocation this version takes, and the scope and shape of what they give."""
    answers = []
    for name, form in FORMS.items():
        source = (
            "import tilelang.language as T\nmade = []\n\n\n@T.prim_func\ndef kernel(A: T.Tensor((4,), 'int32')):\n"
            f"    with T.Kernel(1, threads=128) as bx:\n        found = {form}\n"
        )
        answers.append({"form": name, **_taken(source)})
    source = (
        "import tilelang.language as T\n\n\n@T.prim_func\ndef kernel(A: T.Tensor((128,), 'float32')):\n"
        "    with T.Kernel(1, threads=128) as bx:\n        x = T.alloc_local((128,), 'float32')\n"
        "        for i in T.Parallel(128):\n            x[i] = A[i]\n        for i in T.Parallel(128):\n"
        "            A[i] = x[i] + 1.0\n"
    )
    answers.append({"form": "alloc_local indexed by T.Parallel", **_taken(source, lower=True)})
    return {"wheel": wheel(), "answers": answers}


def _taken(source: str, lower: bool = False) -> dict[str, Any]:
    try:
        with loaded(source) as module:
            text = str(module.kernel)
            if lower:
                lowered(module.kernel, "sm_80")
    except Exception as error:
        return {"error": type(error).__name__}
    scope = re.search(r'scope="([\w.]+)"', text)
    return {"taken": True, "scope": scope[1] if scope else ""}


def main() -> None:
    warnings.simplefilter("ignore")
    what, target, *rest = sys.argv[1:]
    counts = [int(each) for each in rest if each.isdigit()]
    modes = {"offsets": lambda: offsets(*counts), "numbers": lambda: numbers(*counts), "rules": rules, "matrix": matrix}
    text = json.dumps(modes[what](), separators=(",", ":"))
    for key in ("seed", "golden", "form"):
        text = text.replace(f'{{"{key}"', f'\n{{"{key}"')
    Path(target).write_text(text + "\n")


if __name__ == "__main__":
    main()
