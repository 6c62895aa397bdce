"""Public Beta 2 kernels on the emulator: the tests of a checkout of aws-neuron/nki-library, run without a device.

    python tests/bench/real_kernels.py CHECKOUT [--per-test N] [--seconds N] [--elements N] [--json FILE] [TEST...]

TEST is a path or a node id below ``CHECKOUT/test/integration/nkilib``; without one, all of them. Of each test
function the N smallest cases run. The tests call ``test_manager.execute(...)`` with a kernel, its inputs and a
reference; here that launches the kernel on the emulator (in a process of its own, with a time limit) and compares the
outputs with the reference under the tolerance that the test itself asks for. The result is a table: kernel, input
shapes, verdict, largest error. Nothing of the checkout is copied, and nothing outside of it is needed but torch:
packages that its test infrastructure imports for devices and metrics are replaced by empty ones.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import random
import selectors
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

INFRASTRUCTURE = (
    "allpairspy",
    "aws_embedded_metrics",
    "boto3",
    "botocore",
    "fabric2",
    "filelock",
    "paramiko",
    "plotext",
)
"""Packages of the test infrastructure that no kernel and no reference computes with."""
OPTIONS = "NKI_MIGRATE_REAL_KERNELS"


def main(argv: list[str]) -> int:
    """Run the tests of a checkout under ``nki-migrate emulate``; print the table. 1 if a kernel disagrees."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("tests", nargs="*")
    parser.add_argument("--per-test", type=int, default=1, help="cases of each test function, the smallest ones")
    parser.add_argument("--seconds", type=int, default=120, help="time limit of one case")
    parser.add_argument("--elements", type=int, default=20_000_000, help="cases with larger inputs are left out")
    parser.add_argument("--trn3", action="store_true", help="run on trn3 also what can run on trn2")
    parser.add_argument("--json", type=Path, help="also write the rows to this file, one JSON object a line")
    options = parser.parse_intermixed_args(argv)
    checkout = options.checkout.resolve()
    tests = [str(checkout / "test/integration/nkilib" / test) for test in options.tests or ["."]]
    chosen = {key: getattr(options, key) for key in ("per_test", "seconds", "elements", "trn3")}
    chosen["json"] = str(options.json.resolve()) if options.json else None
    path = [
        str(Path(__file__).resolve().parent),
        str(checkout),
        str(checkout / "src"),
        os.environ.get("PYTHONPATH", ""),
    ]
    # A case runs in a fork: threads that a reference has started would leave it waiting for locks that nobody frees.
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    chosen_path = os.pathsep.join(filter(None, path))
    environment = {**os.environ, **threads, "PYTHONPATH": chosen_path, OPTIONS: json.dumps(chosen)}
    pytest = [sys.executable, "-m", "pytest", "-q", "--noconftest", "-p", "real_kernels", "-p", "no:cacheprovider"]
    pytest += [
        "--rootdir",
        str(checkout),
        "-c",
        os.devnull,
        "--no-header",
        "--disable-warnings",
        "--continue-on-collection-errors",
        "--import-mode=importlib",
        *tests,
    ]
    return subprocess.run(
        [sys.executable, "-m", "nki_migrate", "emulate", "--", *pytest], env=environment, check=False
    ).returncode


# --- what replaces the infrastructure --------------------------------------------------------------------------------


class _Empty(ModuleType):
    """A module whose every attribute exists and does nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (Exception,), {})


class _EmptyModules(MetaPathFinder, Loader):
    """Answers imports of :data:`INFRASTRUCTURE` and of the checkout's orchestrator."""

    types = ("neuron_dtypes", "neuronxcc.starfish.support.dtype")
    names = (*INFRASTRUCTURE, *types, "test.utils.test_orchestrator")

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if not any(fullname == name or fullname.startswith(f"{name}.") for name in self.names):
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = _Empty(spec.name)
        if spec.name in self.types:
            vars(module).update(_neuron_dtypes())
        if spec.name == "allpairspy":
            vars(module)["AllPairs"] = _each_value_once
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to execute."""


def _neuron_dtypes() -> dict[str, Any]:
    """What the tests use of the vendor's ``neuron_dtypes``, on ml_dtypes."""
    import ml_dtypes
    import nki.language as nl
    import numpy as np

    packed = {
        name: (getattr(nl, name), element, bits)
        for name, element, bits in (
            ("float8_e4m3fn_x4", ml_dtypes.float8_e4m3fn, 8),
            ("float8_e5m2_x4", ml_dtypes.float8_e5m2, 8),
            ("float4_e2m1fn_x4", ml_dtypes.float4_e2m1fn, 4),
        )
    }
    layouts = {dtype: (element, bits) for dtype, element, bits in packed.values()}

    def static_cast(values: Any, dtype: Any) -> Any:
        """A cast through fp32; packed types take and give four numbers an element along the last dimension."""
        array = np.asarray(values)
        if array.dtype == dtype:
            return array
        if array.dtype in layouts:
            element, bits = layouts[array.dtype]
            codes = np.ascontiguousarray(array).view(np.uint8)
            if bits == 4:
                codes = np.stack([codes & 15, codes >> 4], axis=-1).reshape(*codes.shape[:-1], -1)
            array = codes.view(element)
        if np.dtype(dtype) in layouts:
            element, bits = layouts[np.dtype(dtype)]
            codes = np.ascontiguousarray(array.astype(np.float32).astype(element)).view(np.uint8)
            return (codes if bits == 8 else codes[..., 0::2] | codes[..., 1::2] << 4).view(dtype)
        return array.astype(np.float32).astype(dtype)

    def bytes_of(dtype: Any) -> int:
        return np.dtype(getattr(nl, dtype) if isinstance(dtype, str) else dtype).itemsize

    return {
        **{name: getattr(nl, name) for name in ("bfloat16", "float8_e4m3", "float8_e5m2")},
        **{name: dtype for name, (dtype, _, _) in packed.items()},
        "static_cast": static_cast,
        "finfo": ml_dtypes.finfo,
        "is_float_type": lambda dtype: np.dtype(dtype).kind in "fV",
        "sizeinbytes": bytes_of,
    }


def _each_value_once(values: list[list[Any]], filter_func: Any = None) -> Iterator[list[Any]]:
    """Rows that the filter accepts, until each value of each parameter was seen; the first values first."""
    accepted = filter_func or (lambda row: True)
    choose = random.Random(0)
    seen: set[tuple[int, int]] = set()
    for attempt in range(3000):
        picks = [0 if attempt == 0 else choose.randrange(len(of)) for of in values]
        row = [of[pick] for of, pick in zip(values, picks, strict=True)]
        fresh = set(enumerate(picks)) - seen
        if fresh and accepted(row):
            seen |= fresh
            yield row


# --- one case --------------------------------------------------------------------------------------------------------


class Manager:
    """Stands in for the checkout's ``test_manager``: runs a kernel on the emulator and judges its outputs."""

    def __init__(self, case: str, options: SimpleNamespace) -> None:
        self.case, self.options, self.row = case, options, {"case": case, "verdict": "did not run"}

    def execute(self, arguments: Any, *args: Any, **kwargs: Any) -> None:
        """Run ``arguments.kernel_func``; an assertion fails where the outputs disagree with the reference."""
        import numpy as np

        inputs = {name.removesuffix(".must_alias_input"): v for name, v in (arguments.kernel_input or {}).items()}
        arrays = {name: value for name, value in inputs.items() if isinstance(value, np.ndarray)}
        self.row["kernel"] = getattr(arguments.kernel_func, "__name__", str(arguments.kernel_func))
        self.row["shapes"] = {name: f"{list(a.shape)} {a.dtype}" for name, a in arrays.items()}
        if sum(array.size for array in arrays.values()) > self.options.elements:
            self.row["verdict"] = "too large"
            return
        start = time.monotonic()
        signal.alarm(0)
        self.row |= _in_a_process(lambda: _judged(arguments, inputs), self.options.seconds)
        self.row["seconds"] = round(time.monotonic() - start, 1)
        if self.row["verdict"] != "agrees":
            raise AssertionError(self.row["verdict"])


def _in_a_process(job: Any, seconds: float) -> dict[str, Any]:
    """The result of ``job()`` in a forked child, or why there is none."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        with os.fdopen(writer, "wb") as stream:
            stream.write(pickle.dumps(_guarded(job)))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream, selectors.DefaultSelector() as ready:
        ready.register(stream, selectors.EVENT_READ)
        told = stream.read() if ready.select(seconds) else None
    if told is None:
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if told is None:
        return {"verdict": f"no result after {seconds} s"}
    return pickle.loads(told) if told else {"verdict": "crashed"}


def _guarded(job: Any) -> dict[str, Any]:
    try:
        result: dict[str, Any] = job()
        return result
    except BaseException as error:
        place = traceback.extract_tb(error.__traceback__)
        inside = [frame for frame in place if "nkilib" in frame.filename] or list(place)
        where = f"{Path(inside[-1].filename).name}:{inside[-1].lineno}"
        text = " ".join(str(error).split())[:300]
        return {
            "verdict": "error",
            "error": f"{type(error).__name__}: {text} ({where})",
            "trace": "".join(traceback.format_exception(error))[-6000:],
        }


def _judged(arguments: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """Launch the kernel and compare. One that ends in NaNs is tried again on memory that starts as zeros."""
    from nki_migrate.runtime import machine, memory
    from nki_migrate.runtime.beta2 import declare

    row = _launched(arguments, inputs)
    if row["verdict"] != "differs" or row["error"].endswith("nan 0"):
        return row
    machine.POISON = memory.POISON = declare.POISON = 0
    again = _launched(arguments, inputs)
    if again["verdict"] == "agrees":
        again["note"] = "only if memory that the kernel reads and never wrote holds zeros"
    return again if again["verdict"] == "agrees" else row


def _launched(arguments: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """Launch the kernel, compute the reference, compare."""
    import nki
    import numpy as np

    compiler, wanted = arguments.compiler_input, arguments.validation_args
    function = getattr(arguments.kernel_func, "func", arguments.kernel_func)
    kernel = nki.jit(function, platform_target=compiler.platform_target.get_compile_target())
    outputs = kernel[compiler.logical_nc_config](**inputs)
    outputs = list(outputs) if isinstance(outputs, tuple) else [] if outputs is None else [outputs]
    golden = wanted.golden_output
    reference = golden if isinstance(golden, dict) else golden.golden
    if reference is None:
        return {"verdict": "agrees", "note": "the test has no reference"}
    names = list(golden.output_ndarray if hasattr(golden, "output_ndarray") else reference)
    if len(outputs) != len(names):
        raise AssertionError(f"{len(outputs)} outputs, the test declares {len(names)}")
    found = dict(zip(names, outputs, strict=True))
    worst: dict[str, Any] = {"verdict": "agrees", "max_error": 0.0, "relative": 0.0}
    for name, expected in reference.items():
        output = found[name]
        if hasattr(expected, "validator"):
            seen = np.ascontiguousarray(output).reshape(-1).view(np.uint8)
            if not expected.validator(None).validate(seen):
                return {"verdict": "differs", "error": f"{name}: the test's own validator says no"}
            worst["note"] = "judged by the test's own validator"
            continue
        row = _compared(name, np.asarray(output), np.asarray(expected), wanted)
        if row["verdict"] != "agrees":
            return row
        worst = max({**row, **worst}, {**worst, **row}, key=lambda judged: judged["relative"])
    return worst


def _compared(name: str, output: Any, expected: Any, wanted: Any) -> dict[str, Any]:
    import numpy as np
    from test.integration.nkilib.utils.comparators import maxAllClose

    if output.size != expected.size:
        return {"verdict": "differs", "error": f"{name}: shape {output.shape}, the reference has {expected.shape}"}
    if output.dtype.names:
        output = output.view(expected.dtype)
    raw = np.ascontiguousarray(output).reshape(-1)
    written = ~(raw.view(np.uint8).reshape(raw.size, -1) == 0xFF).all(axis=1)
    a, b = raw.astype(np.float32), expected.astype(np.float32).reshape(-1)
    written |= a == b
    a, b = a[written], b[written]
    with np.errstate(invalid="ignore"):
        error = np.where(a == b, 0.0, np.abs(a - b))
    largest = float(np.max(error, initial=0.0))
    span = float(np.max(np.abs(b[np.isfinite(b)]), initial=0.0)) or 1.0
    agrees = a.size == 0 or bool(maxAllClose(a, b, wanted.relative_accuracy, wanted.absolute_accuracy))
    row = {"verdict": "agrees" if agrees else "differs", "max_error": largest, "relative": largest / span}
    if not written.all():
        row["note"] = f"{name}: {int((~written).sum())} of {raw.size} elements were never written"
    if not agrees:
        wrong = int(np.sum(~(error <= wanted.absolute_accuracy + wanted.relative_accuracy * span)))
        row["error"] = (
            f"{name}: {wrong} of {a.size} elements beyond rtol {wanted.relative_accuracy}, nan {np.isnan(a).sum()}"
        )
    return row


# --- the pytest plugin -----------------------------------------------------------------------------------------------

ROWS: list[dict[str, Any]] = []


def _options() -> SimpleNamespace:
    return SimpleNamespace(**json.loads(os.environ[OPTIONS]))


if OPTIONS in os.environ:
    import pytest

    import nki  # noqa: F401  (installs the emulator, whose finder must come after this one)  # isort: skip

    sys.meta_path.insert(0, _EmptyModules())

    @pytest.fixture
    def test_manager(request: pytest.FixtureRequest) -> Iterator[Manager]:
        manager = Manager(request.node.nodeid.rpartition("nkilib/")[2], _options())
        signal.signal(signal.SIGALRM, _stop)
        signal.alarm(_options().seconds)
        yield manager
        signal.alarm(0)
        manager.row |= _outcome(request.node.report, manager.row["verdict"])
        ROWS.append(manager.row)
        print(_line(manager.row), file=sys.__stderr__, flush=True)
        if _options().json:
            with open(_options().json, "a") as stream:
                stream.write(json.dumps(manager.row, default=str) + "\n")

    def _stop(number: int, frame: Any) -> None:
        raise TimeoutError("no inputs within the time limit")

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(item: Any, call: Any) -> Iterator[None]:
        outcome: Any = yield
        if call.when == "call" or outcome.get_result().failed:
            item.report = outcome.get_result()

    def _outcome(report: Any, verdict: str) -> dict[str, str]:
        """What the test itself says: negative tests want a refusal, others end before they launch anything."""
        if report.outcome == "passed":
            return {} if verdict in ("agrees", "too large") else {"verdict": "refused", "note": "as the test wants"}
        if verdict != "did not run":
            return {}
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr.reprcrash.message
        return {"verdict": "not run", "error": " ".join(str(reason).split())[:300]}

    @pytest.fixture
    def collector() -> Any:
        from test.utils.metrics_collector import NoopMetricsCollector

        return NoopMetricsCollector()

    @pytest.fixture
    def platform_target(request: pytest.FixtureRequest) -> Any:
        """trn2, or trn3 for a test that excludes trn2."""
        from test.utils.common_dataclasses import Platforms

        marker = request.node.get_closest_marker("platforms")
        excluded = marker.kwargs.get("exclude", ()) if marker else ()
        return Platforms.TRN3 if Platforms.TRN2 in excluded or _options().trn3 else Platforms.TRN2

    def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
        """The checkout's own ways of making cases: ranges, and every value of every parameter once."""
        from test.utils import coverage_parametrized_tests as coverage

        if "range_test_options" in metafunc.fixturenames:
            from test.utils.ranged_test_harness import RangeTestHarness

            ids, cases = RangeTestHarness(metafunc.function.range_test_config).get_unique_test_cases()
            metafunc.parametrize("range_test_options", cases, ids=ids)
            return
        marker = metafunc.definition.get_closest_marker("coverage_parametrize")
        if marker is None:
            return
        given = dict(marker.kwargs)
        rule = given.pop("filter", None)
        for key in [key for key in given if key == "coverage" or key.startswith(("enable_", "n_tests", "max_invalid"))]:
            del given[key]
        cases = coverage.generate_parametrized_test_case(
            params=given,
            coverage="singles",
            filter_func=rule,
            enable_automatic_boundary_tests=False,
            enable_invalid_combination_tests=False,
            n_tests_per_boundary_value=0,
            max_invalid_tests=0,
        )
        names, values, ids = coverage.extract_parametrize_args(given, cases)
        metafunc.parametrize(names, values, ids=ids)

    def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep the smallest cases of each test function, and those that take a manager."""
        by_function: dict[str, list[Any]] = {}
        for item in items:
            if "test_manager" in getattr(item, "fixturenames", ()):
                by_function.setdefault(item.nodeid.partition("[")[0], []).append(item)
        count = _options().per_test
        items[:] = [item for group in by_function.values() for item in sorted(group, key=_size)[:count]]

    def _size(item: Any) -> float:
        """A guess at the amount of work: the product of the numbers among the parameters."""
        work = 1.0
        stack = list(getattr(item, "callspec", SimpleNamespace(params={})).params.values())
        while stack:
            value = stack.pop()
            if isinstance(value, (list, tuple)):
                stack.extend(value)
            elif hasattr(value, "test_config"):
                stack.extend(value.test_config.values() if isinstance(value.test_config, dict) else ())
            elif isinstance(value, int) and not isinstance(value, bool) and value > 1:
                work *= value
        return work

    def pytest_terminal_summary(terminalreporter: Any) -> None:
        terminalreporter.section("kernels on the emulator")
        for row in ROWS:
            terminalreporter.write_line(_line(row))
        counts: dict[str, int] = {}
        for row in ROWS:
            counts[row["verdict"]] = counts.get(row["verdict"], 0) + 1
        terminalreporter.write_line(", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))


def _line(row: dict[str, Any]) -> str:
    error = f" max error {row['max_error']:.3g} ({row['relative']:.2g} of the range)" if "max_error" in row else ""
    told = "".join(f" {row[key]}" for key in ("error", "note") if key in row)
    return f"{row['verdict']:12}{row.get('seconds', ''):>6} {row['case']}{error}{told}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
