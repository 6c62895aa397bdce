"""NKI007 host-code: code that launches kernels keeps its bytes, but for casts and simulations; harnesses are named.

Why: Beta 2 has neither ``baremetal``, ``benchmark`` and ``profile`` nor ``simulate_kernel``. Nothing in Beta 2 does
what the first three did: compile a kernel alone, measure it on the device, and write its NEFF and its trace to files.
Where they decorate a kernel and nothing else names their files, ``--unsafe`` writes ``@nki.jit``: the kernel is
launched, and not measured. ``nki.baremetal(...)(kernel)`` is the kernel itself, then, from NKI 0.5 on: it takes NumPy
arrays, too. Else they stay, under a finding that names what took their place: ``nki.jit`` and a launch
on the framework's tensors (from 0.5 on also on NumPy arrays, with no framework); for latencies and traces
``neuron-explorer capture`` of the NEFF that ``NEURON_RT_INSPECT_ENABLE=1`` saves. Nothing imitates them: a clock on the
host measures something else.
``nki_call`` of jax_neuronx launches kernels of the old namespace: it stays under a finding, too.
``nki.simulate_kernel(kernel[grid], x)`` becomes ``kernel[grid](x)``, which runs on a CPU under ``nki-migrate emulate``
and ``pytest --nki-emulate``, and on the device elsewhere.
``nl.static_cast(array, dtype)`` of NumPy arrays is ``array.astype(dtype)``. ``logging.OFF``, which Python's ``logging``
has only where ``neuronxcc`` was imported, is a level above all that Python has, ``logging.CRITICAL + 1``.

A function is kernel code by evidence, and host code, which no other rule rewrites, without it. The evidence is a
decorator of Beta 1 (``@nki.jit`` or a forerunner); that the function is given to a harness, to ``nki.jit`` or
to ``nki_call``; that it does what only traced code can (it calls an instruction, creates, loads or stores a tensor,
loops over ``nl.affine_range``, pins a tile); or that other kernel code of these files names it, or its class. Data
types, constants, ``nl.nc``, casts and launches are no evidence, and neither are kernels of Beta 2 (``import nki``).

Safe: the casts, and the level. *Review* (``--unsafe`` writes it): simulations, harnesses that decorate a kernel, and
``baremetal`` of one of these files. Manual: the other harnesses that are called, what they measured, ``nki_jit`` and
``nki_call``.

Source: NKI 2.28, release notes (the harnesses raise NotImplementedError); nki.jit of the API reference (NumPy arrays:
from 2.31 on); "Profile a NKI Kernel" of the NKI guides (Neuron Explorer).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from nki_migrate.runtime.spec.launchers import CALLERS, OUTPUT_HARNESSES
from nki_migrate.runtime.spec.versions import V05, version

from ..expr.emission import New, Refuse
from ..model import AFTER
from ..project.host import HARNESSES, Owner, assigned
from ..project.launches_apart import launched_apart
from ..project.leftovers import means_kernel
from ..project.program import Module
from ..syntax.node_index import children, of_kinds, walk
from ..syntax.nodes import SIMPLE, bound_by

CODE = "NKI007"
GOLDENS = ("host_code", "host_simulation")

_ARTIFACTS = {"save_neff_name", "save_trace_name", "artifacts_dir", "working_directory"}
_ON_HOST = {"nl.static_cast", "nki.simulate_kernel"}
_MAKES_ARRAY = {"zeros", "ones", "full", "empty", "array", "asarray", "random_sample", "random", "rand", "randn"}

OUTPUTS = "kernels of torch_neuronx's nki_jit write to tensors that they get; those of Beta 2 return theirs"


def rewrite(module: Module) -> None:
    """Rewrite what stands outside of the functions that were walked as kernels and helpers."""
    host = _Host(module)
    for statement, owner in host.statements(module.source.tree, module.source.tree):
        host.rewrite(statement, owner)


def harness(module: Module, node: ast.expr, name: str, is_review: bool = False) -> Refuse:
    """What is said of the harness ``name`` with its options, ``node``. ``is_review``: ``--unsafe`` writes nki.jit."""
    message = f"Beta 2 has no {name}: nki.jit {_LOST[name]}"
    takes_arrays = name == "nki.baremetal" and version(module.options.target) >= V05
    help = _ON_ARRAYS if takes_arrays else _INSTEAD[name]
    help = f"--unsafe writes nki.jit; {help}" if is_review else f"{help}{named_again(module, node)}"
    return Refuse(node, CODE, message, help, "review" if is_review else "manual")


_LOST = {
    "nki.baremetal": "saves no NEFF and no trace",
    "nki.benchmark": "measures no latency, and saves no NEFF and no trace",
    "nki.profile": "profiles nothing, and saves no NEFF and no trace",
}
_PROFILED = "profile the NEFF that NEURON_RT_INSPECT_ENABLE=1 saves with neuron-explorer capture"
_INSTEAD = {
    "nki.baremetal": f"launch the kernel under nki.jit on the framework's tensors; for NEFF and trace, {_PROFILED}",
    "nki.benchmark": f"launch the kernel under nki.jit, and {_PROFILED}: a clock on the host measures the launch, too",
    "nki.profile": f"launch the kernel under nki.jit, and {_PROFILED}",
}

_ON_ARRAYS = (
    f"call the kernel under nki.jit itself: from NKI 0.5 on it takes NumPy arrays, too; for NEFF and trace, {_PROFILED}"
)


def named_again(module: Module, options: ast.expr) -> str:
    """Where else a module names files that a harness was asked to write, for the end of a sentence."""
    keywords = options.keywords if isinstance(options, ast.Call) else []
    values = {_named(k.value) for k in keywords if k.arg in _ARTIFACTS} - {None}
    own = {id(node) for node in walk(options)}
    found = (n for n in of_kinds(module.source.tree, ast.Constant, ast.Name) if id(n) not in own)
    lines = sorted({node.lineno for node in found if _named(node) in values})
    return f"; line {lines[0]} names a file that it wrote" if lines else ""


def _named(node: ast.expr) -> tuple[type[ast.expr], object] | None:
    """What a literal, or a name that is read, says: to be told from others."""
    if isinstance(node, ast.Constant):
        return ast.Constant, repr(node.value)
    return (ast.Name, node.id) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) else None


def _under_review(module: Module, node: ast.AST, message: str, help: str) -> None:
    if not module.options.unsafe:
        raise Refuse(node, CODE, message, help, "review")


class _Host:
    """The host code of one module."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def statements(self, node: ast.AST, owner: Owner) -> Iterator[tuple[ast.stmt, Owner]]:
        """Statements of host code, each with the function (or module) whose names it reads."""
        for statement in [*getattr(node, "body", ()), *getattr(node, "orelse", ())]:
            if statement in self.module.summaries.analyzed or statement in self.module.plan.edits.replaced:
                continue
            yield statement, owner
            yield from self.statements(statement, statement if isinstance(statement, ast.FunctionDef) else owner)

    # Statements -------------------------------------------------------------------------------------------------

    def rewrite(self, statement: ast.stmt, owner: Owner) -> None:
        applied = self.module.plan.applied[CODE]
        refusal = self.module.program.draft.attempt(self._rewrite, statement, owner)
        if refusal is not None:
            self.module.plan.applied[CODE] = applied
            self.module.report(refusal)
        if self.module.plan.applied[CODE] != applied:
            self.module.touch(statement)

    def _rewrite(self, statement: ast.stmt, owner: Owner) -> None:
        if isinstance(statement, ast.If | ast.While):
            self._header(statement.test, owner)
        elif isinstance(statement, ast.For):
            self._header(statement.iter, owner)
        elif isinstance(statement, SIMPLE):
            text = self._text(statement, owner)
            if text != self.module.source.segment(statement):
                self.module.plan.edits.replaced[statement] = [New(text)]

    def _header(self, node: ast.expr, owner: Owner) -> None:
        text = self._text(node, owner)
        if text != self.module.source.segment(node):
            self.module.plan.edits.expressions[node] = text

    def _text(self, node: ast.AST, owner: Owner) -> str:
        replacements: list[tuple[ast.AST, str]] = []
        self._collect(node, owner, replacements)
        return self.module.source.segment(node, replacements)

    def _collect(self, node: ast.AST, owner: Owner, replacements: list[tuple[ast.AST, str]]) -> None:
        text = self._translated(node, owner)
        if text is not None:
            self.module.plan.applied[CODE] += 1
            replacements.append((node, text))
            return
        for child in children(node):
            if self._is_level(child):
                self.module.plan.applied[CODE] += 1
                replacements.append((child, self._level(child, isinstance(node, ast.Call | ast.keyword | ast.Assign))))
            else:
                self._collect(child, owner, replacements)

    def _is_level(self, node: ast.AST) -> bool:
        """Is a node the level ``logging.OFF`` that importing ``neuronxcc`` leaves behind?"""
        if not (isinstance(node, ast.Attribute) and node.attr == "OFF" and self.module.options.enabled(CODE)):
            return False
        return self.module.symbols.host_name(node) == "logging.OFF" and not self._is_level_bound()

    def _is_level_bound(self) -> bool:
        """Does the module give ``logging`` a level of that name itself?"""
        attributes = of_kinds(self.module.source.tree, ast.Attribute)
        return any(node.attr == "OFF" and isinstance(node.ctx, ast.Store) for node in attributes)

    def _level(self, node: ast.AST, stands_alone: bool) -> str:
        assert isinstance(node, ast.Attribute)
        text = f"{self.module.source.segment(node.value)}.CRITICAL + 1"
        return text if stands_alone else f"({text})"

    @cached_property
    def _apart(self) -> set[ast.AST]:
        """The names that launch kernels which have no decorator any more."""
        return launched_apart(self.module)

    # Calls ------------------------------------------------------------------------------------------------------

    def _translated(self, node: ast.AST, owner: Owner) -> str | None:
        """The new text of a call, or of what one launches; ``None`` to go on with its parts."""
        if node in self._apart:
            return f"{self.module.alias('nki')}.jit({self.module.source.segment(node)})"
        if isinstance(node, ast.Attribute) and node.attr == "benchmark_result":
            made = isinstance(node.value, ast.Name) and self._is_harnessed(node.value.id)
            message = f"'{ast.unparse(node.value)}' {AFTER}" if made else "Beta 2 measures no benchmark_result"
            raise Refuse(node, CODE, message, f"launch the kernel under nki.jit, and {_PROFILED}")
        if not isinstance(node, ast.Call):
            return None
        options = node.func if isinstance(node.func, ast.Call) and not node.func.args else node
        name = self.module.symbols.host_name(options.func)
        if name in OUTPUT_HARNESSES:
            self._writes_outputs(node)
        if name in HARNESSES:
            return self._harnessed(node, options, name, owner)
        if name.rpartition(".")[2] in CALLERS:
            message = f"{name} launches kernels of Beta 1"
            raise Refuse(node, CODE, message, "call the kernel under nki.jit itself, and take what it returns")
        if name not in _ON_HOST or options is not node:
            return None
        if not self.module.options.enabled(CODE):
            raise Refuse(node, CODE, *self.module.options.disabled(CODE))
        if name == "nl.static_cast":
            return self._cast(node, owner)
        return self._simulated(node, owner)

    def _harnessed(self, node: ast.Call, options: ast.Call, name: str, owner: Owner) -> str:
        """``nki.baremetal()(kernel)`` of a kernel of these files is the kernel; any other harness stays."""
        takes_arrays = name == "nki.baremetal" and version(self.module.options.target) >= V05
        is_plain = takes_arrays and len(node.args) == 1 and means_kernel(self.module, node.args[0])
        is_plain = is_plain and not named_again(self.module, options) and not self._hands_over_shapes()
        if not is_plain or not self.module.options.unsafe:
            raise harness(self.module, options, name, is_review=is_plain)
        if not self.module.options.enabled(CODE):
            raise Refuse(node, CODE, *self.module.options.disabled(CODE))
        return self._primary(node.args[0], owner)

    def _hands_over_shapes(self) -> bool:
        """Does the module launch something with ``nt.tensor[[128, 512], dtype]`` for an array?"""
        handed = (a for call in of_kinds(self.module.source.tree, ast.Call) for a in call.args)
        shapes = (a.value for a in handed if isinstance(a, ast.Subscript))
        return any(self.module.symbols.host_name(each) == "nt.tensor" for each in shapes)

    def _is_harnessed(self, name: str) -> bool:
        """Is a name bound to a kernel in a harness of Beta 1, which has a finding?"""
        bound = (s.value for s in of_kinds(self.module.source.tree, ast.Assign) if name in bound_by(s))
        calls = (call for value in bound for call in of_kinds(value, ast.Call))
        return any(self.module.symbols.host_name(call.func) in HARNESSES for call in calls)

    def _writes_outputs(self, node: ast.Call) -> None:
        """``nki_jit(kernel)`` of torch_neuronx; one that Beta 1 brought along has a finding of its own."""
        kernel = node.args[0] if node.args else node
        item = self.module.symbols.imports.get(kernel.id) if isinstance(kernel, ast.Name) else None
        if node.args and not (item is not None and item.is_nki):
            raise Refuse(node, CODE, OUTPUTS, "launch the kernel itself, and take what it returns")

    def _cast(self, node: ast.Call, owner: Owner) -> str | None:
        given = dict(zip(("input_data", "dtype"), node.args, strict=False))
        given |= {k.arg: k.value for k in node.keywords if k.arg is not None}
        if set(given) != {"input_data", "dtype"} or any(isinstance(v, ast.Starred) for v in given.values()):
            return None
        value, dtype = given["input_data"], self._text(given["dtype"], owner)
        if self._is_array(value, owner):
            return f"{self._primary(value, owner)}.astype({dtype})"
        numpy = self.module.package("numpy", "np")
        return f"{numpy}.asarray({self._text(value, owner)}).astype({dtype})"

    def _primary(self, node: ast.expr, owner: Owner) -> str:
        """The text of an expression that something is appended to."""
        text = self._text(node, owner)
        return text if isinstance(node, ast.Name | ast.Call | ast.Attribute | ast.Subscript) else f"({text})"

    def _is_array(self, node: ast.expr, owner: Owner, seen: tuple[str, ...] = ()) -> bool:
        """Is a value certainly a NumPy array: made by numpy, computed from one, or a name that holds nothing else?"""
        if isinstance(node, ast.BinOp):
            return self._is_array(node.left, owner, seen) or self._is_array(node.right, owner, seen)
        if isinstance(node, ast.Call):
            name = self.module.symbols.host_name(node.func)
            made = name.startswith("np.") and name.rpartition(".")[2] in _MAKES_ARRAY and bool(node.args)
            return made or name == "nl.static_cast" or getattr(node.func, "attr", "") == "astype"
        if isinstance(node, ast.Name) and node.id not in seen and not self._rebinds_globals():
            values = assigned(owner, node.id)
            return bool(values) and all(self._is_array(v, owner, (*seen, node.id)) for v in values)
        return False

    def _rebinds_globals(self) -> bool:
        return any(isinstance(n, ast.Global) for n in walk(self.module.source.tree))

    def _simulated(self, node: ast.Call, owner: Owner) -> str | None:
        if not node.args or isinstance(node.args[0], ast.Starred):
            return None
        _under_review(
            self.module,
            node,
            "Beta 2 has no simulate_kernel",
            "--unsafe writes a plain call: right if it runs under nki-migrate emulate or pytest --nki-emulate",
        )
        arguments = [self._text(a, owner) for a in [*node.args[1:], *node.keywords]]
        return f"{self._primary(node.args[0], owner)}({', '.join(arguments)})"
