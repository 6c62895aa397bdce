"""The part of a worker that executes user code: load a kernel file, build a case's arguments, launch the kernel.

Only a child that :mod:`.worker` forked runs this.
"""

from __future__ import annotations

import ast
import importlib
import importlib.machinery
import importlib.util
import inspect
import linecache
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np

from . import absent, cells, conditions, errors, explaining, extents, process, shims, versions
from .abridging import abridged, probing
from .arguments import argument, arguments, needs_module
from .cases import Case, CaseError, TensorSpec
from .compare.trace import Failure, Packed, Run
from .dialect import JIT, Frontend, Launch, frontends, memory_of
from .hazards import uses_unwritten
from .isa.quotients import by_reciprocal
from .made import launched_by
from .messages import Kernels, Observation, Probe, Reference, Reply, Request
from .module_kernels import frontend_of, is_part, kernel_of, kernels_of
from .source import source_of
from .spec.grammar import statements
from .spec.hardware import TARGETS
from .spec.support_module import MARK
from .trees import tree_of

_PACKAGE = __name__.rpartition(".")[0]


def preload() -> None:
    """Import everything of the emulator that a case may need, once for all children."""
    for module in (".beta1.launch", ".beta2.launch", ".beta1.modules", ".beta2.modules", ".nkilib.modules"):
        importlib.import_module(module, _PACKAGE)
    for front in frontends("nki"):
        memory_of(front.language)
    process.prepare()


def read_ahead(request: Request) -> None:
    """Parse the file of a probe, which many others follow, for all children of this process. Nothing of it runs."""
    if request.kind == "probe" and request.version == versions.DISK:
        file = os.path.abspath(request.file)
        linecache.checkcache(file)
        with suppress(Exception):
            tree_of(file)
            source_of(file, {})


def answer(request: Request) -> Reply:
    """Do what ``request`` asks. Whatever user code raises becomes a :class:`Failure`."""
    shims.install(request.language)
    versions.install(request.version)
    absent.install(shims.offered(request.language))
    if request.conditions:
        conditions.watch()
    try:
        reply = _answer(request)
        versions.check_not_mixed(request.version)
        return reply
    except versions.MixedVersions as problem:
        return Failure(False, str(problem), request.file)
    except CaseError as error:
        place = f"{request.case.place}: " if request.case else ""
        return Failure(False, f"{place}{error}", request.file)
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        failure = failure_of(error, request)
        if request.kind != "probe":
            return failure
        return replace(explaining.explained(failure, error), reach=extents.so_far(), outgrown=extents.outgrown())


def _answer(request: Request) -> Reply:
    if request.kind == "kernels":
        return Kernels(tuple(kernels_of(load(request.file), request.language)))
    assert request.case is not None
    if request.kind == "reference":
        return _reference(request, request.case)
    if request.kind == "observe":
        return _observed(request, request.case)
    looks = request.kind == "probe" and request.case.abridged
    run = _run(request, request.case)
    if looks and uses_unwritten(run):
        return Failure(False, "the steps that an abridged run takes use what others write", request.file)
    if request.kind == "probe":
        instructions = sum(len(program.events) for program in run.programs)
        return Probe(
            len(run.outputs),
            instructions,
            conditions=run.conditions,
            mixed=_mixes(run),
            spread=_spreads(run),
            reach=extents.so_far(),
            outgrown=extents.outgrown(),
            written=_written(run, request.case),
            unread=_leaves_unread(run),
        )
    return run


def _written(run: Run, case: Case) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """The output parameters of a case, filled with 0, and the shapes in which all lies that is not 0 in them."""
    names = [name for name, spec in case.args.items() if isinstance(spec, TensorSpec) and spec.output]
    if len(names) != len(run.outputs):
        return ()
    places = [np.nonzero(np.asarray(output.array(), np.float32)) for output in run.outputs]
    boxes = [tuple(int(axis.max(initial=-1)) + 1 for axis in place) for place in places]
    return tuple(zip(names, boxes, strict=True))


def _mixes(run: Run) -> bool:
    """Does a matmul have one operand of float32, and one of another type?"""
    matmuls = (event for program in run.programs for event in program.events if event.op == "nc_matmul")
    kinds = ({operand.dtype == "float32" for operand in event.operands if operand.role != "dst"} for event in matmuls)
    return any(len(kind) > 1 for kind in kinds)


def _leaves_unread(run: Run) -> bool:
    """Is there an argument that nothing reads? The loop that would may not have run."""
    given = {tensor.uid for program in run.programs for tensor in program.tensors if tensor.role == "input"}
    operands = (operand for program in run.programs for event in program.events for operand in event.operands)
    return not given <= {operand.tile for operand in operands if operand.space == "hbm"}


def _spreads(run: Run) -> bool:
    """Does a store to HBM repeat elements of its tile?"""
    events = (event for program in run.programs for event in program.events if event.op == "dma_copy")
    stores = (event.operands for event in events if [o.space == "hbm" for o in event.operands] == [True, False])
    return any(not rows and not step and count > 1 for _, tile in stores for rows, step, count in tile.steps)


def failure_of(error: BaseException, request: Request) -> Failure:
    """What an exception that a kernel (or the loading of its file) raised means."""
    if isinstance(error, errors.NotModelled):
        return Failure(True, f"the emulator does not model {error.construct}", error.file, error.line)
    if isinstance(error, errors.KernelError):
        message = f"{error.code}: {error.text}" if error.code else error.text
        return Failure(
            False,
            message,
            error.file,
            error.line,
            of_sizes=isinstance(error, errors.SizesDiffer),
            of_types=isinstance(error, errors.TypesDiffer),
        )
    if isinstance(error, SyntaxError):
        return Failure(False, f"SyntaxError: {error.msg}", error.filename or request.file, error.lineno or 0)
    file, line = user_place(error, request.file)
    if isinstance(error, MemoryError):
        advice = f"give the case smaller tensors or more memory (--memory); the limit is {request.memory >> 20} MiB"
        return Failure(False, "ran out of memory", file, line, advice, lasting=False)
    text = str(error).strip()
    name = type(error).__name__
    return Failure(False, f"{name}: {text}" if text else name, file, line)


def user_place(error: BaseException, file: str) -> tuple[str, int]:
    """Where an exception came from: the innermost frame beside the kernel file, else the innermost of the user's."""
    directory = os.path.dirname(os.path.abspath(file)) + os.sep
    places = [(frame.filename, frame.lineno or 0) for frame in traceback.extract_tb(error.__traceback__)]
    beside = [place for place in places if place[0].startswith(directory)]
    outside = [place for place in places if not errors.is_emulator_file(place[0])]
    return (beside or outside or [(file, 0)])[-1]


# --- the file --------------------------------------------------------------------------------------------------------


def load(file: str) -> ModuleType:
    """The module of a kernel file. Its directory comes first on ``sys.path``, so that its siblings import.

    A file of a package that imports relatively is imported as a part of its package. Where it imports nothing of that
    but the functions that a rewrite has added, the package's own files are not run: without these they were not.
    """
    file = os.path.abspath(file)
    if not os.path.isfile(file):
        raise CaseError(f"{file}: no such file")
    sys.argv = [file]
    if cells.is_notebook(file):
        return _notebook(file)
    imports = [node for node in statements(tree_of(file)) if isinstance(node, (ast.Import, ast.ImportFrom))]
    sys.path[:0] = _roots_named_in(file, imports)
    package = _package_name(file, imports)
    if package is not None:
        root, name = package
        sys.path.insert(0, root)
        name = _under_free_name(root, name)
        if _needs_only_support(file, imports, name):
            _open_packages(root, name)
        return importlib.import_module(name)
    sys.path.insert(0, os.path.dirname(file))
    stem = os.path.splitext(os.path.basename(file))[0]
    taken = (
        any(stem in names for names in (sys.modules, sys.stdlib_module_names, shims.ROOTS)) or not stem.isidentifier()
    )
    name = f"kernel_file_{stem}" if taken else stem
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise CaseError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except errors.NotModelled as error:
        if not _defines_kernels(module) or absent.MISSING not in error.construct:
            raise
        _ENDED[file] = f"loading the file ends at line {error.line}: {error.construct}"
    return module


def _notebook(file: str) -> ModuleType:
    """The module of what a notebook defines (:mod:`.cells`)."""
    sys.path.insert(0, os.path.dirname(file))
    module = ModuleType("kernel_notebook")
    module.__file__ = file
    sys.modules[module.__name__] = module
    text = cells.definitions(importlib.machinery.SourceFileLoader("", file).get_data(file))
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), vars(module))  # the notebook's own definitions, which we were asked to run
    return module


_ENDED: dict[str, str] = {}
"""Files whose own statements compute with a module that is not here, behind kernels of theirs: what is said of each."""


def _defines_kernels(module: ModuleType) -> bool:
    return any(kernels_of(module, language) for language in JIT)


_Imports = Sequence[ast.Import | ast.ImportFrom]


def _package_name(file: str, imports: _Imports) -> tuple[str, str] | None:
    """(directory of the root package, dotted name) for a file of a package with relative imports, else ``None``.

    A directory without ``__init__.py`` counts as a package as far as the relative imports climb.
    """
    levels = [node.level for node in imports if isinstance(node, ast.ImportFrom)]
    needed = max(levels, default=0)
    directory, base = os.path.split(file)
    parts = [os.path.splitext(base)[0]]
    while needed and (len(parts) <= needed or os.path.exists(os.path.join(directory, "__init__.py"))):
        directory, part = os.path.split(directory)
        if not part.isidentifier():
            return None
        parts.insert(0, part)
    return (directory, ".".join(parts)) if needed else None


def _under_free_name(root: str, name: str) -> str:
    """The module ``name`` of a package below ``root``, under another one where Python has a package of its name.

    ``copy/kernel.py`` is no part of the standard library's ``copy``: its relative imports work under any name.
    """
    top, dot, rest = name.partition(".")
    directory = os.path.join(root, top)
    here = getattr(sys.modules.get(top), "__path__", None) if top in sys.modules else [directory]
    if top not in sys.stdlib_module_names and here is not None and directory in here:
        return name
    free = f"kernel_package_{top}"
    if free not in sys.modules:
        start = os.path.join(directory, "__init__.py")
        if os.path.exists(start):
            spec = importlib.util.spec_from_file_location(free, start, submodule_search_locations=[directory])
        else:
            spec = importlib.machinery.ModuleSpec(free, None, is_package=True)
            spec.submodule_search_locations = [directory]
        assert spec is not None
        sys.modules[free] = package = importlib.util.module_from_spec(spec)
        if spec.loader is not None:
            spec.loader.exec_module(package)
    return free + dot + rest


def _roots_named_in(file: str, imports: _Imports) -> list[str]:
    """Directories above ``file`` from which an absolute import in it would find its own project's packages.

    That is the directory that holds the file's own package, or, up to the root of the project, one that holds a package
    which the file imports and which is installed nowhere, or a ``src`` with a package that the file imports.
    """
    named = _absolute_roots(imports) - sys.stdlib_module_names - set(shims.ROOTS)
    beside, directory = [], os.path.dirname(file)
    while (parent := os.path.dirname(directory)) != directory:
        if os.path.basename(directory) in named:
            return [parent]
        source = os.path.join(directory, "src")
        beside += [source] * any(_is_package(source, name) for name in named)
        beside += [directory] * any(_is_package(directory, name) and not _is_installed(name) for name in named)
        directory = "/" if _is_project(directory) else parent
    return beside[:1]


def _absolute_roots(imports: _Imports) -> set[str]:
    """The first parts of the names that absolute imports have."""
    named: set[str] = set()
    for node in imports:
        if isinstance(node, ast.Import):
            named.update(alias.name.partition(".")[0] for alias in node.names)
        elif node.module and not node.level:
            named.add(node.module.partition(".")[0])
    return named


def _is_package(directory: str, name: str) -> bool:
    return os.path.isfile(os.path.join(directory, name, "__init__.py"))


def _is_installed(name: str) -> bool:
    return importlib.machinery.PathFinder.find_spec(name) is not None


def _needs_only_support(file: str, imports: _Imports, name: str) -> bool:
    """Does a file, of which ``name`` is the module, import of its package only functions that a rewrite has added?"""
    own = [node for node in imports if isinstance(node, ast.ImportFrom) and node.level]
    is_named = name.partition(".")[0] in _absolute_roots(imports)
    return not is_named and all(_is_support(file, node) for node in own)


def _is_support(file: str, node: ast.ImportFrom) -> bool:
    """Does a relative import in ``file`` name a module that a rewrite has added?"""
    directory = os.path.dirname(file)
    for _ in range(node.level - 1):
        directory = os.path.dirname(directory)
    if not node.module:
        return False
    try:
        tree = tree_of(os.path.join(directory, *node.module.split(".")) + ".py")
    except (CaseError, SyntaxError):
        return False
    return MARK in (ast.get_docstring(tree) or "")


def _open_packages(root: str, name: str) -> None:
    """Let the packages around the module ``name`` be there, for imports below them, without what they run."""
    parts = name.split(".")[:-1]
    for count in range(1, len(parts) + 1):
        spec = importlib.machinery.ModuleSpec(".".join(parts[:count]), None, is_package=True)
        spec.submodule_search_locations = [os.path.join(root, *parts[:count])]
        sys.modules.setdefault(spec.name, importlib.util.module_from_spec(spec))


def _is_project(directory: str) -> bool:
    return any(os.path.exists(os.path.join(directory, name)) for name in (".git", "pyproject.toml", "setup.py"))


def _decorated(function: Any) -> Any:
    """A function of Beta 2 as a kernel."""
    return importlib.import_module(".beta2.nki", _PACKAGE).jit(function)


# --- the run ---------------------------------------------------------------------------------------------------------


def _run(request: Request, case: Case) -> Run:
    module = load(request.file)
    is_function = request.function and case.make is None and is_part(module, case.kernel, request.language)
    if is_function:
        setattr(module, case.kernel, _decorated(getattr(module, case.kernel)))
    launched, values = case, None
    if case.make is None:
        kernel, front = kernel_of(module, case.kernel, request.language)
    else:
        kernel, front, launched, values = _made(module, case, request)
    known = memory_of(front.language).hardware
    if request.hardware not in known:
        raise CaseError(f"kernels of {front.language} run on {', '.join(known)}, not on '{request.hardware}'")
    with (
        np.errstate(all="ignore"),
        by_reciprocal(request.by_reciprocal),
        abridged(case.abridged or int(request.sketch)),
        probing(request.kind == "probe"),
        extents.noted(request.sketch),
    ):
        run = front.launch(Launch(kernel, module, launched, request.hardware, values, is_function))
    asked = conditions.so_far() if request.conditions else ()
    left = [
        f"{text}: importing the file without the emulator ends there"
        for text in absent.harnesses(vars(module).values())
    ]
    left += [f"'{case.kernel}' is a function of the kernels that call it, and was launched alone"] * is_function
    left += [said for name, said in _ENDED.items() if name == module.__file__]
    run = replace(run, language=front.language, conditions=asked, notes=(*run.notes, *left))
    return replace(run, hazards=tuple(front.hazards(run, request.hardware))) if request.hazards else run


def _made(module: ModuleType, case: Case, request: Request) -> tuple[Any, Frontend, Case, dict[str, Any] | None]:
    """The kernel that a factory's case comes to launch, what runs it, the case on its grid, and its arguments."""
    imported = {name for node in statements(tree_of(request.file)) for name in _imported(node)}
    found = launched_by(module, case, "beta1" if "neuronxcc" in imported else "beta2")
    front = frontend_of(found.kernel, request.language)
    if front is None:
        raise CaseError(f"'{case.kernel}' launches a kernel of another language than {request.language}")
    return found.kernel, front, replace(case, grid=found.grid), found.values


def _imported(node: ast.stmt) -> list[str]:
    """The packages that an import names."""
    if isinstance(node, ast.Import):
        return [alias.name.partition(".")[0] for alias in node.names]
    return [node.module.partition(".")[0]] if isinstance(node, ast.ImportFrom) and node.module else []


def _observed(request: Request, case: Case) -> Observation:
    module = load(request.file)
    made = None if case.make is None else _made(module, case, request)
    kernel, front = kernel_of(module, case.kernel, request.language) if made is None else made[:2]
    if front.name != "beta1":
        return Observation(())
    launch = importlib.import_module(".beta1.launch", _PACKAGE).launch
    observed = importlib.import_module(".beta1.observing", _PACKAGE).observed
    values = arguments(case, kernel.func, front.name, module) if made is None else made[3]
    case = case if made is None else made[2]
    with np.errstate(all="ignore"), observed() as observer:
        launch(kernel, values, grid=case.grid, target=TARGETS[request.hardware])
    return Observation(tuple(observer.functions()))


def _reference(request: Request, case: Case) -> Reference:
    """Call the reference with the arguments of the case that it has parameters for."""
    assert case.reference is not None
    module_name, _, function_name = case.reference.partition(":")
    here = [os.path.dirname(os.path.abspath(path)) for path in (case.file, request.file)]
    sys.path[:0] = [path for path in here if path not in sys.path]
    try:
        function = getattr(importlib.import_module(module_name), function_name, None)
    except ModuleNotFoundError as error:
        if error.name != module_name:
            raise
        raise CaseError(
            f"reference '{case.reference}': there is no module '{module_name}' beside the cases or the kernel file"
        ) from None
    if not callable(function):
        raise CaseError(f"reference '{case.reference}': module '{module_name}' has no function '{function_name}'")
    function = getattr(function, "func", function)
    with np.errstate(all="ignore"):
        module = load(request.file) if needs_module(case) else None
        result = function(**_reference_arguments(case, inspect.signature(function).parameters, module))
    outputs = result if isinstance(result, (tuple, list)) else (result,)
    return Reference(tuple(_reference_output(case, output) for output in outputs))


def _reference_arguments(
    case: Case, parameters: Mapping[str, inspect.Parameter], module: ModuleType | None
) -> dict[str, Any]:
    catches_all = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    values: dict[str, Any] = {}
    for name, value in case.args.items():
        if name in parameters or catches_all:
            values[name] = argument(case, name, value, "", module)
    for name, parameter in parameters.items():
        variable = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if parameter.default is parameter.empty and not variable and name not in values:
            raise CaseError(f"reference '{case.reference}' needs '{name}', which is not in [case.args]")
    return values


def _reference_output(case: Case, output: Any) -> Packed:
    array = np.asarray(output)
    if array.dtype.kind == "O":
        raise CaseError(
            f"reference '{case.reference}' returned something of type '{type(output).__name__}': it must return arrays"
        )
    return Packed.of(array)
