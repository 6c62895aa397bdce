"""Modules that are not installed: definitions work, computation raises by name, and what a file handles it sees."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nki_migrate.runtime.cases import Case, TensorSpec
from nki_migrate.runtime.compare import Failure, Run
from nki_migrate.runtime.messages import Kernels, Request
from nki_migrate.runtime.pool import Worker

NKI = "import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\n"
COPY = """
@nki.jit
def copied(x):
{body}
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.load(x))
    return out
"""
FRAME = "absent_frame"
"""No package of that name is installed anywhere."""


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    found = Worker()
    yield found
    found.close()


def ran(worker: Worker, tmp_path: Path, head: str, body: str = "    pass", **others: str) -> Any:
    """The reply to a run of a kernel that copies, behind ``head``, with ``body`` in it."""
    for name, text in others.items():
        (tmp_path / f"{name}.py").write_text(text)
    file = tmp_path / "k.py"
    file.write_text(f"{head}\n{NKI}{COPY.format(body=body)}")
    case = Case("copied", "", str(tmp_path / "cases.toml"), args={"x": TensorSpec((4, 4), "float32")})
    return worker.ask(Request("run", str(file), case))


DEFINITIONS = {
    "module": f"import {FRAME}",
    "submodule": f"import {FRAME}.nn.functional as F\nimport {FRAME}.xla\nX = {FRAME}.xla.device",
    "names": f"from {FRAME} import nn, zeros as z\nfrom {FRAME}.core import xla_model as xm",
    "everything": f"from {FRAME}.numpy import *\nN = vmap",
    "constant": f"import {FRAME} as f\nLOW = -0.7 * f.finfo(f.float32).max\nKINDS = [f.float32, f.int8][0]",
    "dictionary": f"import {FRAME} as f\nTYPES = {{f.float32: 4, f.bfloat16: 2}}\nassert TYPES[f.bfloat16] == 2",
    "decorator": f"import {FRAME} as f\n@f.script\n@f.no_grad()\ndef host(x):\n    return f.zeros(x)",
    "annotation": f"import {FRAME} as f\nfrom typing import Optional, Union\ndef host(x: Optional[f.Tensor], "
    "y: Union[f.Tensor, list[f.Tensor], None], z: f.Tensor | None = None) -> f.Tensor: ...",
    "base class": f"import {FRAME} as f\nfrom abc import ABC\nclass M(f.nn.Module, ABC, flag=1):\n    k = f.size\n"
    "    @f.hook\n    def forward(self): return self.k\napply = M.apply",
    "enumeration": f"import {FRAME} as f\nfrom enum import Enum\nclass D(Enum):\n    A = f.a\n    B = f.b",
    "data class": f"import {FRAME} as f, dataclasses\n@dataclasses.dataclass\nclass C:\n    d: f.dtype = f.one",
    "set attribute": f"import {FRAME} as f\nf.flags = 3\nassert f.flags == 3",
    "reraised": f"try:\n    import {FRAME}\nexcept ImportError as e:\n    raise RuntimeError('needed') from e",
}


@pytest.mark.parametrize("head", DEFINITIONS.values(), ids=DEFINITIONS)
def test_definitions_with_absent_names_work(worker: Worker, tmp_path: Path, head: str) -> None:
    found = ran(worker, tmp_path, head)
    assert isinstance(found, Run), found


HANDLED = {
    "ImportError": f"try:\n    import {FRAME}\n    HAVE = True\nexcept ImportError:\n    HAVE = False",
    "a tuple": f"try:\n    import {FRAME}\n    HAVE = 1\nexcept (ValueError, ModuleNotFoundError):\n    HAVE = 0",
    "everything": f"try:\n    from {FRAME}.a import b\n    HAVE = True\nexcept:\n    HAVE = False",
    "suppress": f"from contextlib import suppress\nHAVE = 0\nwith suppress(ImportError):\n    import {FRAME}\n"
    "    HAVE = 1",
    "in a function": f"def have():\n    try:\n        import {FRAME}\n        return True\n    except Exception:\n"
    "        return False\nHAVE = have()",
    "of a module": "try:\n    import needs\n    HAVE = True\nexcept ImportError:\n    HAVE = False",
    "import_module": f"import importlib\ntry:\n    importlib.import_module('{FRAME}')\n    HAVE = 1\n"
    "except ImportError:\n    HAVE = 0",
    "find_spec": f"import importlib.util, sys\nimport {FRAME}\nHAVE = importlib.util.find_spec('{FRAME}') is not None "
    f"or '{FRAME}' in sys.modules",
}


@pytest.mark.parametrize("head", HANDLED.values(), ids=HANDLED)
def test_who_provides_for_the_absence_sees_it(worker: Worker, tmp_path: Path, head: str) -> None:
    found = ran(worker, tmp_path, head, "    assert not HAVE", needs=f"import {FRAME}\n")
    assert isinstance(found, Run), found


def test_a_function_that_a_try_defines_is_not_in_the_try(worker: Worker, tmp_path: Path) -> None:
    head = f"try:\n    def host():\n        import {FRAME}\nexcept ImportError:\n    pass\nX = host()"
    assert isinstance(ran(worker, tmp_path, head), Run)


COMPUTED = {
    "truth": ("if f.flag:\n        pass", "f.flag"),
    "call": ("f.zeros(3)", "f.zeros"),
    "comparison": ("assert x.dtype != f.float32", "f.float32"),
    "membership": ("assert x.dtype in (f.float16, f.bfloat16)", "f.float16"),
    "number": ("float(LOW)", "f.inf"),
    "shape": ("nl.ndarray((4, f.width), dtype=nl.float32, buffer=nl.sbuf)", "f.width"),
    "iteration": ("for _ in f.names:\n        pass", "f.names"),
    "index": ("f.names[0]", "f.names"),
    "hasattr": ("hasattr(f, 'compile')", "absent_frame"),
    "getattr": ("getattr(f, 'compile', None)", "absent_frame"),
    "decorated": ("host(x)", "host, which is decorated with absent_frame.script"),
    "object": ("M(3)", "f.Module"),
    "instance": ("isinstance(3, f.Number)", "f.Number"),
    "version": ("f.__version__", "absent_frame"),
    "text": ("f'{f.name}'", "f.name"),
}


@pytest.mark.parametrize(("body", "name"), COMPUTED.values(), ids=COMPUTED)
def test_computation_raises_by_name(worker: Worker, tmp_path: Path, body: str, name: str) -> None:
    head = f"import {FRAME} as f\nLOW = -f.inf\n@f.script\ndef host(x): return x\nclass M(f.Module): pass"
    found = ran(worker, tmp_path, head, f"    {body}")
    assert isinstance(found, Failure) and found.undecided, found
    assert name.replace("f.", f"{FRAME}.") in found.message and f"there is no module '{FRAME}' here" in found.message
    assert found.file.endswith("k.py")


@pytest.mark.parametrize(("body", "name"), [("nl.load(x) + f.inf", "inf"), ("nl.add(nl.load(x), f.pi)", "pi")])
def test_an_operand_that_is_absent_is_named(worker: Worker, tmp_path: Path, body: str, name: str) -> None:
    found = ran(worker, tmp_path, f"import {FRAME} as f", f"    {body}")
    assert isinstance(found, Failure) and f"<{FRAME}.{name}: there is no module" in found.message


def test_no_object_is_a_tensor_of_an_absent_torch(worker: Worker, tmp_path: Path) -> None:
    body = "    assert not isinstance(x, torch.Tensor) and not isinstance(3, (torch.Tensor, torch.nn.Module))"
    assert isinstance(ran(worker, tmp_path, "import torch", body), Run)


def test_a_kernel_behind_an_absent_decorator_is_listed_and_refused(worker: Worker, tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(f"import {FRAME}\n{NKI}@{FRAME}.traced\n@nki.jit\ndef k(x):\n    return x\n")
    listed = worker.ask(Request("kernels", str(tmp_path / "k.py")))
    assert isinstance(listed, Kernels) and [kernel.name for kernel in listed.kernels] == ["k"]
    found = worker.ask(Request("run", str(tmp_path / "k.py"), Case("k", "", str(tmp_path / "cases.toml"))))
    assert isinstance(found, Failure) and f"decorated with {FRAME}.traced" in found.message and found.undecided


def test_a_part_of_a_package_that_is_there(worker: Worker, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "__init__.py").write_text("VALUE = 3\n")
    head = (
        "import there.missing.part\nimport there.missing as m\nassert there.VALUE == 3\nX = there.missing.part.x, m.y"
    )
    assert isinstance(ran(worker, tmp_path, head), Run)


def test_a_stand_in_for_a_part_of_a_package_lacks_nothing(worker: Worker, tmp_path: Path) -> None:
    head = (
        "from nkilib.core.utils import allocator, common_types\nfrom nkilib.core import mlp\nX = common_types.Norm.RMS"
    )
    assert isinstance(ran(worker, tmp_path, head), Run)
    found = ran(worker, tmp_path, head, "    common_types.f(x)")
    assert isinstance(found, Failure) and "nkilib.core.utils.common_types" in found.message and found.undecided


def test_an_absent_part_of_a_stand_in_that_is_provided_for_is_absent(worker: Worker, tmp_path: Path) -> None:
    head = "try:\n    from nkilib.core.utils import common_types\nexcept ImportError:\n    common_types = 3\n"
    assert isinstance(ran(worker, tmp_path, head + "assert common_types == 3"), Run)


def test_a_module_that_is_there_is_used(worker: Worker, tmp_path: Path) -> None:
    text = "class Tensor: pass\nVALUE = 3\n"
    found = ran(worker, tmp_path, f"import {FRAME}", f"    assert {FRAME}.VALUE == 3", **{FRAME: text})
    assert isinstance(found, Run), found


@pytest.mark.parametrize(
    "head", ["import nki.not_there", "from nki.isa import not_there", "from math import not_there"]
)
def test_a_mistake_in_a_known_package_is_one(worker: Worker, tmp_path: Path, head: str) -> None:
    found = ran(worker, tmp_path, head)
    assert isinstance(found, Failure) and "not_there" in found.message and not found.undecided


@pytest.mark.parametrize("where", ["torch_neuronx", "torch_neuronx.xla_impl.ops"])
def test_nki_jit_of_torch_neuronx_makes_kernels(worker: Worker, tmp_path: Path, where: str) -> None:
    text = f"from {where} import nki_jit\n{NKI}@nki_jit\ndef k(x, o):\n    nl.store(o, value=nl.load(x))\n"
    (tmp_path / "k.py").write_text(text)
    args = {"x": TensorSpec((4, 4), "float32"), "o": TensorSpec((4, 4), "float32", "zeros", output=True)}
    found = worker.ask(Request("run", str(tmp_path / "k.py"), Case("k", "", str(tmp_path / "cases.toml"), args=args)))
    assert isinstance(found, Run) and len(found.outputs) == 1


def test_a_kernel_of_an_absent_module_stays_one(worker: Worker, tmp_path: Path) -> None:
    head = f"import {FRAME}\nfrom torch_neuronx import nki_jit\nfrom neuronxcc.nki import benchmark, jit\n"
    head += f"A, B, C = jit()({FRAME}.kernel), nki_jit()({FRAME}.kernel), benchmark(warmup=5)({FRAME}.kernel)\n"
    assert isinstance(ran(worker, tmp_path, head), Run)
    found = ran(worker, tmp_path, head, "    B(x)")
    assert isinstance(found, Failure) and f"{FRAME}.kernel" in found.message


def test_packages_of_the_project_are_found_in_src(worker: Worker, tmp_path: Path) -> None:
    (tmp_path / "src" / "own_package").mkdir(parents=True)
    (tmp_path / "src" / "own_package" / "__init__.py").write_text("VALUE = 3\n")
    (tmp_path / "tests" / "unit").mkdir(parents=True)
    found = ran(worker, tmp_path / "tests" / "unit", "import own_package\nassert own_package.VALUE == 3")
    assert isinstance(found, Run), found
