"""NKI002 decorators: one plain ``@nki.jit`` on what is launched, nothing on what a kernel calls.

Why: Beta 2 launches what ``@nki.jit`` decorates. A function without a decorator that Beta 1 launched by a harness, by
``nki.simulate_kernel`` or by ``nki_call`` gets one. Beta 2 has no modes. ``@nki.jit(mode='trace')`` on a helper, and
``@nki.jit`` on a function that another kernel of the module calls, are removed; ``mode=`` of a kernel is dropped.
Where host code launches such a function, too, it launches ``nki.jit(function)``.
``enable_stack_allocator`` and ``skip_middle_end_transformations`` steer a compiler that is gone, and are removed. A
kernel in the body of a class gets ``@staticmethod``: a kernel of Beta 1 was no function, to which an object would pass
itself.

Safe. *Review* (``--unsafe`` writes it): ``nki.jit`` for ``nki_jit`` of torch_neuronx, on a kernel that returns
something, or is made to (NKI036). Left alone: options that change how the kernel was compiled, ``force_auto_alloc`` (it
switched the addresses off that the kernel gives), kernels in classes that take ``self``, ask for a grid, or are called
by kernels.
``baremetal``, ``benchmark`` and ``profile`` belong to NKI007. ``nki.trace`` of old is ``nki.jit`` on what no kernel
calls.

Source: NKI migration guide, "Remove nki.jit decorator on sub-kernels".
"""

from __future__ import annotations

import ast

from nki_migrate.runtime.spec.launchers import LAUNCHERS, OUTPUT_HARNESSES, STEERING

from ..expr.emission import Refuse
from ..project.host import HARNESSES
from ..project.launches_apart import called_by_kernel, called_names, is_launched_apart, launches, users
from ..project.program import Module
from ..syntax import codes
from ..syntax.module_level import is_main, module_statements
from ..syntax.names import dotted
from ..syntax.node_index import of_kinds, walk
from .host_code import CODE as HOST_CODE
from .host_code import OUTPUTS, harness, named_again

CODE = codes.DECORATORS
GOLDENS = ("sub_kernel", "compiler_decorators")

REMOVED = STEERING
_KEPT_OPTIONS = {"platform_target"}
_DROPPED_OPTIONS = {"mode", "debug_kernel", "show_compiler_tb", "additional_compile_opt", "enable_out_of_bound_check"}
"""Options that steer the old compiler, and do not change what a kernel computes or where its tiles lie."""
_DROPPED_FLAGS = {
    "experimental-native-scalar-support",
    "experimental-local-tensor-parent",
    "skip-non-top-level-shared-hbm-check",
    "skip-mutable-return-check",
}
"""So do these ``experimental_flags=``, which allow more or check less (``reference/beta1.md`` 1, options of jit)."""


def rewrite(module: Module, function: ast.FunctionDef) -> None:
    """Rewrite the decorators of one module-level function."""
    for decorator in function.decorator_list:
        refusal = module.program.draft.attempt(_decorator, module, function, decorator)
        if refusal is not None:
            module.report(refusal)
    if _needs_decorator(module, function):
        module.plan.edits.new_decorators[function] = f"{module.alias('nki')}.jit"
        module.plan.applied[CODE] += 1
        module.plan.touched.add(function.name)


def _needs_decorator(module: Module, function: ast.FunctionDef) -> bool:
    """Was a function launched without a decorator, by what Beta 2 does not have?"""
    launchers = module.program.kernel_code.launchers.get(function, ())
    is_bare = not function.decorator_list and module.options.enabled(CODE)
    return bool(launchers) and is_bare and LAUNCHERS.issuperset(launchers) and not called_by_kernel(module, function)


def _decorator(module: Module, function: ast.FunctionDef, node: ast.expr) -> None:
    name = module.symbols.decorator(node)
    if name in REMOVED:
        _drop(module, function, node)
    elif name == "nki.jit":
        _jit(module, function, node)
        _short(module, node)
    elif name in HARNESSES:
        _harness(module, function, node, name)
    elif name in OUTPUT_HARNESSES:
        _first_launcher(module, function, node)
    elif name == "nki.trace":
        _trace(module, function, node)
    elif name == "ncc.force_auto_alloc":
        raise Refuse(
            node, CODE, "force_auto_alloc ignores the kernel's own addresses", "decide which of them should stay"
        )
    elif name is not None and name.partition(".")[0] in ("nki", "ncc", "nl", "nisa"):
        raise Refuse(node, CODE, f"the decorator {name} does not exist in Beta 2", "remove it")


def _first_launcher(module: Module, function: ast.FunctionDef, node: ast.expr) -> None:
    """``nki_jit`` of torch_neuronx on a kernel that returns its results."""
    inner = {n for f in of_kinds(function, ast.FunctionDef) if f is not function for n in walk(f)}
    returned = [n for n in of_kinds(function, ast.Return) if n.value is not None and n not in inner]
    if not returned:
        said = (r.applicability for s, r in module.premises.lost_writes.items() if s in {*walk(function)})
        if "review" in said:
            raise Refuse(node, CODE, OUTPUTS, "--unsafe returns them, and decorates the kernel with nki.jit", "review")
        raise Refuse(node, CODE, OUTPUTS, "return the results, and decorate the kernel with @nki.jit")
    if not module.options.unsafe:
        message = "Beta 2 launches kernels with nki.jit, not with torch_neuronx's nki_jit"
        raise Refuse(
            node, CODE, message, "--unsafe writes nki.jit: right if the kernel writes to no argument", "review"
        )
    _launch_plainly(module, function, node, CODE)


def _harness(module: Module, function: ast.FunctionDef, node: ast.expr, name: str) -> None:
    """``@nki.benchmark(...)``: the kernel is launched as any other, and nothing measures it any more."""
    is_plain = not named_again(module, node) and not called_by_kernel(module, function)
    if not is_plain or not module.options.unsafe:
        raise harness(module, node, name, is_review=is_plain)
    behind = function.decorator_list[function.decorator_list.index(node) + 1 :]
    if any(module.symbols.decorator(decorator) in {"nki.jit", *HARNESSES} for decorator in behind):
        _drop(module, function, node, HOST_CODE)  # the other one makes the kernel
    else:
        _launch_plainly(module, function, node, HOST_CODE)


def _launch_plainly(module: Module, function: ast.FunctionDef, node: ast.expr, code: str) -> None:
    """Write ``nki.jit``, as a change of the rule ``code``."""
    if not module.options.enabled(code):
        raise Refuse(node, code, *module.options.disabled(code))
    module.plan.edits.expressions[node] = f"{module.alias('nki')}.jit"
    module.plan.applied[code] += 1
    module.plan.touched.add(function.name)


def _trace(module: Module, function: ast.FunctionDef, node: ast.expr) -> None:
    """``nki.trace`` of old: ``nki.jit`` on what is launched, and nothing on what a kernel calls."""
    is_called = called_by_kernel(module, function)
    if is_called and not _launched(module, function):
        _drop(module, function, node)
        return
    if is_called or isinstance(node, ast.Call):
        raise Refuse(node, CODE, "Beta 2 has no nki.trace", "decorate what is launched with @nki.jit")
    _launch_plainly(module, function, node, CODE)


def _short(module: Module, node: ast.expr) -> None:
    """``@neuronxcc.nki.jit`` is ``@nki.jit``."""
    target = node.func if isinstance(node, ast.Call) else node
    chain = dotted(target)
    if chain is not None and chain[0] == "neuronxcc" and node not in module.plan.edits.dropped_decorators:
        text = module.plan.edits.expressions.get(node, module.source.segment(node))
        module.plan.edits.expressions[node] = text.replace("neuronxcc.", "", 1)


def _drop(module: Module, function: ast.FunctionDef, node: ast.expr, code: str = CODE) -> None:
    if not module.options.enabled(code):
        raise Refuse(node, code, *module.options.disabled(code))
    module.plan.edits.dropped_decorators.add(node)
    module.plan.applied[code] += 1
    module.plan.touched.add(function.name)


def _is_dropped(option: str | None, value: ast.expr) -> bool:
    """Does nothing of a kernel depend on an option of the old ``nki.jit``?"""
    if option != "experimental_flags":
        return option in _DROPPED_OPTIONS
    flags = value.value if isinstance(value, ast.Constant) else None
    return isinstance(flags, str) and {flag.strip() for flag in flags.split(",")} <= _DROPPED_FLAGS


def _jit(module: Module, function: ast.FunctionDef, node: ast.expr) -> None:
    options = {k.arg: k.value for k in node.keywords} if isinstance(node, ast.Call) else {}
    mode = options.get("mode")
    traced = isinstance(mode, ast.Constant) and mode.value == "trace"
    if traced or called_by_kernel(module, function):
        if _launched(module, function) and not is_launched_apart(module, function):
            raise Refuse(
                node,
                CODE,
                f"'{function.name}' is called by a kernel and launched by itself",
                f"remove the decorator, and launch nki.jit({function.name}) where the host calls it",
            )
        _drop(module, function, node)
        return
    if not isinstance(node, ast.Call):
        return
    unknown = sorted(str(k) for k, v in options.items() if k not in _KEPT_OPTIONS and not _is_dropped(k, v))
    if unknown or node.args:
        raise Refuse(
            node, CODE, f"nki.jit with {unknown[0] if unknown else 'arguments'}", "Beta 2 does not have this option"
        )
    kept = [k for k in node.keywords if k.arg in _KEPT_OPTIONS]
    jit = module.source.segment(node.func)
    text = f"{jit}({', '.join(module.source.segment(k) for k in kept)})" if kept else jit
    if text != module.source.segment(node):
        module.plan.edits.expressions[node] = text
        module.plan.applied[CODE] += 1
        module.plan.touched.add(function.name)


def _launched(module: Module, function: ast.FunctionDef) -> bool:
    """Does host code call the function?"""
    return launches(module, function) != [] or any(
        name in called_names(statement)
        for user, name in users(module, function)
        for statement in module_statements(user.source.tree)
        if not isinstance(statement, ast.FunctionDef | ast.If | ast.Try | ast.With) or is_main(statement)
    )
