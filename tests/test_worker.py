"""Worker processes: what a kernel does to its interpreter costs one case, and what comes back is plain data."""

from __future__ import annotations

import os
import pickle
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nki_migrate.runtime.cases import Case, DtypeSpec, TensorSpec
from nki_migrate.runtime.compare import Failure, Run
from nki_migrate.runtime.messages import Kernel, Kernels, Reference, Reply, Request, decode_reply
from nki_migrate.runtime.pool import Worker, pool

HEADS = {
    "beta1": "import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\nimport neuronxcc.nki.isa as nisa\n",
    "beta2": "import nki\nimport nki.language as nl\nimport nki.isa as nisa\n",
}
COPY = {
    "beta1": """
        @nki.jit
        def copied(x):
            out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
            tile = nl.load(x)
            nl.store(out, value=tile)
            return out
        """,
    "beta2": """
        @nki.jit
        def copied(x):
            out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
            tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile, src=x)
            nisa.dma_copy(dst=out, src=tile)
            return out
        """,
}
X = TensorSpec((128, 8), "float32", "normal")
Ask = Callable[..., Reply]


def source(dialect: str, body: str) -> str:
    return HEADS[dialect] + textwrap.dedent(body)


def failure(reply: Reply) -> Failure:
    assert isinstance(reply, Failure), reply
    return reply


def ran(reply: Reply) -> Run:
    assert isinstance(reply, Run), reply
    return reply


# --- runs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", ["beta1", "beta2"])
def test_a_run_sends_back_outputs_tiles_and_instructions(ask: Ask, dialect: str) -> None:
    run = ran(ask(source(dialect, COPY[dialect]), "copied"))
    (output,) = run.outputs
    assert (output.shape, output.dtype) == ((128, 8), "float32")
    (program,) = run.programs
    assert [event.op for event in program.events] == ["dma_copy", "dma_copy"]
    (tile,) = program.tiles
    assert (tile.tensor, tile.space, tile.pinned, tile.partitions, tile.nbytes) == ("tile", "sbuf", False, 128, 32)
    assert tile.file.endswith("kernel.py") and tile.line > 3
    assert [(tensor.role, tensor.output) for tensor in program.tensors] == [("input", None), ("output", 0)]


def test_inputs_depend_on_seed_and_name_and_not_on_the_dialect(ask: Ask) -> None:
    outputs = [ran(ask(source(d, COPY[d]), "copied", seed=s)).outputs[0] for d in HEADS for s in (1, 2)]
    assert outputs[0] == outputs[2] and outputs[1] == outputs[3] and outputs[0] != outputs[1]


@pytest.mark.parametrize("dialect", ["beta1", "beta2"])
def test_a_data_type_argument_is_the_dialects_own(ask: Ask, dialect: str) -> None:
    body = """
        @nki.jit
        def typed(x, kind):
            assert kind == nl.bfloat16
            out = nl.ndarray(x.shape, dtype=kind, buffer=nl.shared_hbm)
            tile = nl.ndarray(x.shape, dtype=kind, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile, src=x)
            nisa.dma_copy(dst=out, src=tile)
            return out
        """
    run = ran(ask(source(dialect, body), "typed", args={"x": X, "kind": DtypeSpec("bfloat16")}))
    assert run.outputs[0].dtype == "bfloat16"


def test_programs_of_a_grid_come_back_one_by_one(ask: Ask) -> None:
    body = """
        @nki.jit
        def rows(x):
            out = nl.ndarray((2, 64, 8), dtype=x.dtype, buffer=nl.shared_hbm)
            i = nl.program_id(0)
            nl.store(out[i], value=nl.load(x[i * 64:(i + 1) * 64]))
            return out
        """
    run = ran(ask(source("beta1", body), "rows", grid=(2,)))
    sources = [event.operands[1].byte for program in run.programs for event in program.events[:1]]
    assert sources == [0, 64 * 8]


def test_what_a_kernel_prints_is_kept_apart(ask: Ask) -> None:
    body = source("beta2", COPY["beta2"]) + "\nimport os\nprint('loaded')\nos.write(1, b'raw')\nos.write(2, b'error')\n"
    assert sorted(ran(ask(body, "copied")).printed.split()) == ["loaded", "rawerror"]


def test_every_case_meets_a_fresh_module(ask: Ask) -> None:
    body = """
        class Counter:
            used = 0

        @nki.jit
        def counted(x):
            Counter.used += 1
            out = nl.ndarray((128, Counter.used), dtype=x.dtype, buffer=nl.shared_hbm)
            nl.store(out, value=nl.load(x[:, 0:Counter.used]))
            return out
        """
    shapes = [ran(ask(source("beta1", body), "counted")).outputs[0].shape for _ in range(2)]
    assert shapes == [(128, 1), (128, 1)]


# --- files -----------------------------------------------------------------------------------------------------------


def test_kernels_are_those_that_the_file_defines(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text(source("beta1", COPY["beta1"]))
    body = """
        from helpers import copied

        def plain(x):
            return x

        @nki.jit(mode="trace")
        def part(x):
            return x

        @nki.jit
        def first(x):
            return part(x)

        second = nki.jit(plain)

        @nki.trace
        def old_style(x, out):
            nl.store(out, value=nl.load(x))
        """
    reply = ask(source("beta1", body))
    assert reply == Kernels(
        (
            Kernel("second", "beta1", 7, False),
            Kernel("part", "beta1", 10, True),
            Kernel("first", "beta1", 14, False),
            Kernel("old_style", "beta1", 20, False),
        )
    )


def test_siblings_are_imported_and_the_process_is_not_touched(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "sibling_of_kernel.py").write_text("WIDTH = 8\n")
    body = source("beta1", COPY["beta1"]) + "\nfrom sibling_of_kernel import WIDTH\n"
    assert ran(ask(body, "copied")).outputs
    assert not {"sibling_of_kernel", "kernel", "neuronxcc", "nki", "nkilib"} & set(sys.modules)
    assert str(tmp_path) not in sys.path


@pytest.mark.parametrize("name", ["random.py", "numpy.py", "my-kernel.py", "worker.py"])
def test_a_file_may_have_the_name_of_a_module_or_no_module_name_at_all(ask: Ask, name: str) -> None:
    assert ran(ask(source("beta1", COPY["beta1"]), "copied", name=name)).outputs


def test_a_file_of_a_package_may_import_relatively(worker: Worker, tmp_path: Path) -> None:
    package = tmp_path / "lib_of_kernels" / "inner"
    package.mkdir(parents=True)
    for directory in (package, package.parent):
        (directory / "__init__.py").write_text("")
    (package.parent / "sizes.py").write_text("WIDTH = 8\n")
    file = package / "kernel.py"
    file.write_text(source("beta1", COPY["beta1"]) + "\nfrom ..sizes import WIDTH\n")
    assert ran(worker.ask(Request("run", str(file), Case("copied", "c", "", args={"x": X})))).outputs


# --- errors ----------------------------------------------------------------------------------------------------------


def test_a_file_may_import_relatively_without_being_declared_a_package(worker: Worker, tmp_path: Path) -> None:
    (tmp_path / "kernels" / "deep").mkdir(parents=True)
    (tmp_path / "kernels" / "width.py").write_text("WIDTH = 8\n")
    file = tmp_path / "kernels" / "deep" / "copies.py"
    file.write_text("from ..width import WIDTH\n" + source("beta1", COPY["beta1"]))
    case = Case("copied", "the case", "", args={"x": X})
    assert ran(worker.ask(Request("run", str(file), case, seconds=60.0))).outputs


def test_a_file_may_name_its_own_package(worker: Worker, tmp_path: Path) -> None:
    (tmp_path / "own_kernels" / "deep").mkdir(parents=True)
    (tmp_path / "own_kernels" / "width.py").write_text("WIDTH = 8\n")
    file = tmp_path / "own_kernels" / "deep" / "copies.py"
    file.write_text("from own_kernels.width import WIDTH\n" + source("beta1", COPY["beta1"]))
    case = Case("copied", "the case", "", args={"x": X})
    assert ran(worker.ask(Request("run", str(file), case, seconds=60.0))).outputs


@pytest.mark.parametrize(
    ("body", "message", "line"),
    [
        ("def broken(:\n    pass\n", "SyntaxError: ", 4),
        ("import nki.not_there\n", "ModuleNotFoundError: No module named 'nki.not_there'", 4),
        ("\nraise SystemExit(3)\n", "SystemExit: 3", 5),
        ("raise KeyboardInterrupt\n", "KeyboardInterrupt", 4),
    ],
)
def test_a_file_that_does_not_load_is_an_error_with_its_line(ask: Ask, body: str, message: str, line: int) -> None:
    found = failure(ask(HEADS["beta1"] + body))
    assert found.message.startswith(message) and not found.undecided
    assert (os.path.basename(found.file), found.line) == ("kernel.py", line)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"x = 1\0", "null byte"),
        (b"# coding: nonsense\n", "encoding"),
        (b"x = " + b"-" * 20_000 + b"1\n", ""),
    ],
    ids=["null byte", "unknown encoding", "nested too deeply"],
)
def test_what_no_parser_reads_is_an_error_that_names_the_file(
    worker: Worker, tmp_path: Path, data: bytes, message: str
) -> None:
    file = tmp_path / "kernel.py"
    file.write_bytes(data)
    found = failure(worker.ask(Request("kernels", str(file))))
    assert found.file == str(file) and message in found.message
    assert found.line or str(file) in found.message


def test_a_missing_file_is_an_error(worker: Worker, tmp_path: Path) -> None:
    found = failure(worker.ask(Request("kernels", str(tmp_path / "gone.py"))))
    assert found.message.endswith("gone.py: no such file")


def test_a_broken_rule_of_nki_is_an_error_with_the_documented_text(ask: Ask) -> None:
    body = """
        @nki.jit
        def wide(x):
            return nl.ndarray((256, 8), dtype=x.dtype, buffer=nl.sbuf)
        """
    found = failure(ask(source("beta1", body), "wide"))
    assert found.message.startswith("err_num_partition_exceed_arch_limit: number of partitions 256 exceed")
    assert (found.undecided, found.line) == (False, 7)


def test_what_the_emulator_does_not_model_is_undecided_and_named(ask: Ask) -> None:
    body = """
        from neuronxcc.nki._private.private_api import do_while

        @nki.jit
        def looping(x):
            do_while(x)
        """
    found = failure(ask(source("beta1", body), "looping"))
    assert (found.undecided, found.line) == (True, 9)
    assert found.message == "the emulator does not model the private API neuronxcc.nki._private.private_api.do_while"


def test_any_other_exception_is_an_error_with_the_kernels_line(ask: Ask) -> None:
    body = """
        def divided(n):
            return n / 0

        @nki.jit
        def wrong(x):
            return divided(x.shape[0])
        """
    found = failure(ask(source("beta1", body), "wrong"))
    assert (found.message, found.line, found.undecided) == ("ZeroDivisionError: division by zero", 6, False)


@pytest.mark.parametrize(
    ("kernel", "args", "message"),
    [
        ("copie", {"x": X}, "has no kernel 'copie': did you mean 'copied'?"),
        ("zzz", {"x": X}, "has no kernel 'zzz': it has copied"),
        ("nl", {"x": X}, "is not a kernel: it is not decorated with nki.jit"),
        ("copied", {"x": X, "scale": 2}, "cases.toml:4: kernel 'copied' has no parameter 'scale': it has x"),
        ("copied", {}, "parameter 'x' of kernel 'copied' has no value: add it to [case.args]"),
    ],
)
def test_a_case_that_does_not_fit_the_kernel_is_an_error(ask: Ask, kernel: str, args: dict, message: str) -> None:
    assert message in failure(ask(source("beta1", COPY["beta1"]), kernel, args=args)).message


def test_an_output_parameter_is_passed_only_to_a_kernel_that_has_it(ask: Ask) -> None:
    old = """
        @nki.trace
        def copied(x, out):
            nl.store(out, value=nl.load(x))
        """
    args = {"x": X, "out": TensorSpec((128, 8), "float32", "zeros", output=True)}
    runs = [ran(ask(s, "copied", args=args)) for s in (source("beta1", old), source("beta2", COPY["beta2"]))]
    assert runs[0].outputs == runs[1].outputs
    assert [t.output for t in runs[0].programs[0].tensors if t.name == "out"] == [0]


# --- references ------------------------------------------------------------------------------------------------------


def test_a_reference_gets_the_arguments_it_has_parameters_for(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "wanted.py").write_text("def doubled(x, kind):\n    return (x * 2, x.astype(kind))\n")
    args = {"x": X, "kind": DtypeSpec("int32"), "eps": 1e-6}
    reply = ask(source("beta1", COPY["beta1"]), "copied", "reference", reference="wanted:doubled", args=args)
    assert isinstance(reply, Reference), reply
    x = ran(ask(source("beta1", COPY["beta1"]), "copied")).outputs[0].array()
    assert np.array_equal(reply.outputs[0].array(), x * 2)
    assert reply.outputs[1].dtype == "int32"


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("nowhere:f", "there is no module 'nowhere' beside the cases or the kernel file"),
        ("wanted:nothing", "module 'wanted' has no function 'nothing'"),
        ("wanted:needs", "reference 'wanted:needs' needs 'y', which is not in [case.args]"),
        ("wanted:text", "reference 'wanted:text' returned something of type 'object': it must return arrays"),
        ("wanted:broken", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_reference_that_cannot_be_used_is_an_error(ask: Ask, tmp_path: Path, reference: str, message: str) -> None:
    (tmp_path / "wanted.py").write_text(
        "def needs(x, y): ...\ndef text(x): return object()\ndef broken(x): return 1 / 0\n"
    )
    reply = ask(source("beta1", COPY["beta1"]), "copied", "reference", reference=reference)
    assert message in failure(reply).message


# --- the conversation ------------------------------------------------------------------------------------------------


class Payload:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("exit 1",)


@pytest.mark.parametrize("value", [Payload(), np.zeros(2), Path("x"), "text", [1, 2], None])
def test_a_reply_is_plain_or_refused(value: object) -> None:
    with pytest.raises(pickle.UnpicklingError, match="a worker sent"):
        decode_reply(pickle.dumps(value))


def test_a_plain_reply_survives() -> None:
    reply = Kernels((Kernel("k", "beta1", 3, False),))
    assert decode_reply(pickle.dumps(reply)) == reply


def test_a_pool_answers_in_any_number_of_processes(tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(source("beta1", COPY["beta1"]))
    with pool(2) as workers:
        started = [
            workers.submit(Request("run", str(file), Case("copied", str(seed), "", seed=seed, args={"x": X})))
            for seed in range(4)
        ]
        outputs = [ran(future.result()).outputs[0].data for future in started]
    assert len(set(outputs)) == 4
