"""Kernels of the first style return what they wrote to parameters: ``k(x, out)`` becomes ``out[...] = k(x, out)``.

A kernel of ``nki_jit``, ``nki.trace`` or ``nki.jit(kernel_return=False)`` writes to tensors that it gets, and returns
nothing. It makes tensors like them and returns these, where it does nothing with the parameters but write to them, and
where all that these files do with the kernel is to launch it. What it does not write no longer keeps what the caller
put there, and a launch that these files do not show must take the result: it is written with ``--unsafe`` alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from nki_migrate.runtime.spec.launchers import OUTPUT_HARNESSES, STEERING

from ..model import Asserted, Options
from ..project.kernel_code import own_nodes
from ..project.program import Module, Program, program_of
from ..project.written_parameters import Summaries
from ..syntax.codes import KERNEL_OUTPUTS as CODE
from ..syntax.node_index import of_kinds, walk
from ..syntax.nodes import by_parameter, positional_parameters
from ..syntax.source import Source
from .edited_text import EditedText
from .grids.questions import Call, Function, bound_in, calls_of, functions_of, meant
from .line_origins import Edit, definitions_around, edited, lines_of, margin_of, top_of

_STORES = {"nl.store": "dst", "nisa.dma_copy": "dst"}
"""Functions that write to their first argument, and what it is called."""
_KERNEL_RETURN = "kernel_return"
_DEPTH = 4
_NAMES = ("result", "output", "returned")
"""What the one output of a kernel is called, the first that nothing in its file is."""
WHY = "a launch of Beta 2 gives what the kernel returns, and what is not written is not kept"


@dataclass
class _Kernel:
    """A kernel whose outputs are to be returned: the parameters, the names that are written to, and the launches."""

    module: Module
    function: ast.FunctionDef
    outputs: list[str]
    writes: list[ast.Name]
    launches: list[tuple[Module, ast.Expr, list[ast.expr]]] = field(default_factory=list)


def returnable(program: Program) -> dict[ast.FunctionDef, set[str]]:
    """The kernels that can return what they write to parameters, and these."""
    return {kernel.function: set(kernel.outputs) for kernel in _kernels(program)}


def returned(sources: Mapping[str, Source], options: Options) -> dict[str, EditedText]:
    """Modules by path, with such kernels returning their outputs and the launches that these files show taking them."""
    texts = {path: EditedText(lines_of(source.text)) for path, source in sources.items()}
    if not options.unsafe or not options.enabled(CODE) or not any(map(_may_have, sources.values())):
        return texts
    program = program_of(sources, options)
    edits: dict[str, list[Edit]] = {path: [] for path in sources}
    for kernel in _kernels(program):
        language = _language(kernel.module)
        if language:
            path, function = kernel.module.path, kernel.function
            edits[path] += _within(kernel, language)
            texts[path].applied[CODE] += 1
            texts[path].touched.add(function.name)
            what = " and ".join(f"'{name}'" for name in kernel.outputs)
            text = f"it writes all of {what}, and every launch takes what it returns"
            texts[path].asserted.append(Asserted(function.lineno, function.name, text, WHY))
            for module, statement, given in kernel.launches:
                targets = ", ".join(f"{module.source.segment(each)}[...]" for each in given)
                at = module.source.span(statement)[0]
                edits[module.path].append(Edit(at, at, f"{targets} = "))
                texts[module.path].touched |= definitions_around(module.source, statement)
    for path, found in edits.items():
        if found:
            texts[path].lines = edited(sources[path], found)
    return texts


def _may_have(source: Source) -> bool:
    return any(word in source.text for word in ("nki_jit", "trace", "kernel_return"))


def _language(module: Module) -> str:
    """The name that a module has for ``nki.language``; empty where it has none."""
    for item in module.symbols.import_list:
        if item.path == "neuronxcc.nki.language" and item.name not in module.symbols.rebound:
            return item.name
    return ""


def _within(kernel: _Kernel, language: str) -> Iterator[Edit]:
    """The edits of the kernel itself."""
    source, function = kernel.module.source, kernel.function
    taken = bound_in(function) | {n.id for n in of_kinds(kernel.module.source.tree, ast.Name)}
    plain = next((name for name in _NAMES if len(kernel.outputs) == 1 and name not in taken), "")
    names = {name: plain or _free(f"{name}_result", taken) for name in kernel.outputs}
    first = _first(function)
    margin = margin_of(source, first)
    made = [
        f"{names[name]} = {language}.ndarray({name}.shape, dtype={name}.dtype, buffer={language}.shared_hbm)"
        for name in kernel.outputs
    ]
    for decorator in function.decorator_list:
        yield from _returning(source, decorator)
    start = source.offset(top_of(source, first), 0)
    yield Edit(start, start, "".join(f"{margin}{line}\n" for line in made))
    for name in kernel.writes:
        yield Edit(*source.span(name), names[name.id])
    end = source.text.find("\n", source.span(function.body[-1])[1])
    end = len(source.text) if end < 0 else end
    yield Edit(end, end, f"\n{margin}return {', '.join(names[name] for name in kernel.outputs)}")


def _returning(source: Source, decorator: ast.expr) -> Iterator[Edit]:
    """The decorator without the option that a kernel returns nothing."""
    if isinstance(decorator, ast.Call) and any(k.arg == _KERNEL_RETURN for k in decorator.keywords):
        kept = [source.segment(each) for each in decorator.args]
        kept += [source.segment(each) for each in decorator.keywords if each.arg != _KERNEL_RETURN]
        function = source.segment(decorator.func)
        yield Edit(*source.span(decorator), f"{function}({', '.join(kept)})" if kept else function)


def _first(function: ast.FunctionDef) -> ast.stmt:
    """The first statement behind the docstring."""
    return next(s for s in function.body if not _is_docstring(function, s))


def _is_docstring(function: ast.FunctionDef, statement: ast.stmt) -> bool:
    is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return statement is function.body[0] and is_text and isinstance(statement.value.value, str)  # type: ignore[attr-defined]  # a constant


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _kernels(program: Program) -> Iterator[_Kernel]:
    first = [(module, function) for module, function in functions_of(program) if _is_first_style(module, function)]
    if not first:
        return
    summaries = Summaries(program)
    called = {call.callee[1] for function in functions_of(program) for call in _traced_calls(program, function)}
    for module, function in first:
        summary = summaries.of(module, function)
        if summary.hidden or function in called or not summary.writes:
            continue
        outputs = [a.arg for a in positional_parameters(function) if a.arg in summary.parameters]
        kernel = _read(program, module, function, outputs) if len(outputs) == len(summary.parameters) else None
        if kernel is not None and _take_launches(program, kernel):
            yield kernel


def _traced_calls(program: Program, function: Function) -> Iterator[Call]:
    if function[1] in program.kernel_code:
        yield from calls_of(program, function)


def _is_first_style(module: Module, function: ast.FunctionDef) -> bool:
    """Is a function launched by one of the first decorators, and does it return nothing, anywhere?"""
    decorator = _launching(module, function)
    if decorator is None or function.args.vararg or function.args.kwarg:
        return False
    name = module.symbols.decorator(decorator)
    options = {k.arg: k.value for k in decorator.keywords} if isinstance(decorator, ast.Call) else {}
    kept = options.get(_KERNEL_RETURN)
    old = name in OUTPUT_HARNESSES or (name == "nki.trace" and not isinstance(decorator, ast.Call))
    old = old or (name == "nki.jit" and isinstance(kept, ast.Constant) and kept.value is False)
    return old and not any(isinstance(n, ast.Return | ast.Yield | ast.YieldFrom) for n in own_nodes(function))


def _launching(module: Module, function: ast.FunctionDef) -> ast.expr | None:
    """The one decorator of a function that does more than to steer the compiler of Beta 1."""
    found = [each for each in function.decorator_list if module.symbols.decorator(each) not in STEERING]
    return found[0] if len(found) == 1 else None


def _read(program: Program, module: Module, function: ast.FunctionDef, outputs: list[str]) -> _Kernel | None:
    """The kernel, where it only writes to its outputs, and asks for their shapes and types."""
    defaults = len(function.args.defaults)
    required = [a.arg for a in positional_parameters(function)][: len(positional_parameters(function)) - defaults]
    found = [_writes(program, module, function, name, _DEPTH) for name in outputs]
    is_beside = bool(margin_of(module.source, _first(function)).strip())  # the body stands on the line of the header
    if is_beside or not set(outputs) <= set(required) or any(writes is None for writes in found):
        return None
    return _Kernel(module, function, outputs, [name for writes in found for name in writes or ()])


def _writes(
    program: Program, module: Module, function: ast.FunctionDef, parameter: str, depth: int
) -> list[ast.Name] | None:
    """The names where a function writes to a parameter; ``None`` where it does anything else with it."""
    nodes = list(walk(function))
    names = [n for n in nodes if isinstance(n, ast.Name) and n.id == parameter]
    asked = {n.value for n in nodes if isinstance(n, ast.Attribute) and n.attr in ("shape", "dtype", "ndim")}
    written = {base for call in of_kinds(function, ast.Call) for base in _bases(program, module, call, depth)}
    inner = any(isinstance(n, ast.FunctionDef | ast.Lambda) and n is not function for n in nodes)
    if inner or any(not isinstance(n.ctx, ast.Load) or (n not in asked and n not in written) for n in names):
        return None
    return [n for n in names if n in written]


def _bases(program: Program, module: Module, call: ast.Call, depth: int) -> Iterator[ast.expr]:
    """The tensors that a call writes to, and does nothing else with."""
    keyword = _STORES.get(module.symbols.decorator(call.func) or "", "")
    places = call.args[:1] if keyword and call.args else []
    places += [k.value for k in call.keywords if keyword and k.arg == keyword]
    callee = meant(program, module, call.func) if not keyword and depth else None
    if callee is not None and not any(isinstance(a, ast.Starred) for a in call.args):
        given = by_parameter(callee[1], call)
        places += [v for p, _, v in given if p and _writes(program, *callee, p, depth - 1)]
    for place in places:
        while isinstance(place, ast.Subscript):
            place = place.value
        yield place


def _take_launches(program: Program, kernel: _Kernel) -> bool:
    """Note the launches that drop the result; ``False`` where these files do anything else with the kernel."""
    for module in program.modules.values():
        nodes = list(walk(module.source.tree))
        named = {n for n in nodes if isinstance(n, ast.Name | ast.Attribute) and _means(program, module, n, kernel)}
        calls = {_launched(module, call): call for call in nodes if isinstance(call, ast.Call)}
        alone = {s.value: s for s in nodes if isinstance(s, ast.Expr)}
        for name in named:
            call = calls.get(name)
            given = _given(module, kernel, call) if call is not None else None
            if call is None or given is None or _may_be_local(module, name):
                return False
            if call in alone:
                kernel.launches.append((module, alone[call], given))
    return True


def _may_be_local(module: Module, name: ast.expr) -> bool:
    """Does a function around a name, which means a kernel of the module, bind it itself?"""
    first = next(n for n in walk(name) if isinstance(n, ast.Name)).id
    around = (f for f in of_kinds(module.source.tree, ast.FunctionDef) if first in bound_in(f))
    return any(name in walk(function) for function in around)


def _means(program: Program, module: Module, node: ast.expr, kernel: _Kernel) -> bool:
    found = meant(program, module, node) if isinstance(getattr(node, "ctx", None), ast.Load) else None
    return found is not None and found[1] is kernel.function


def _launched(module: Module, call: ast.Call) -> ast.expr:
    """What a call launches: ``k`` of ``k(x)``, ``k[grid](x)`` and ``nki.simulate_kernel(k[grid], x)``."""
    is_simulated = module.symbols.host_name(call.func) == "nki.simulate_kernel" and call.args
    target = call.args[0] if is_simulated else call.func
    return target.value if isinstance(target, ast.Subscript) else target


def _given(module: Module, kernel: _Kernel, call: ast.Call) -> list[ast.expr] | None:
    """What a launch passes for the outputs, in their order; ``None`` where it is out of sight, or no plain place."""
    arguments = call.args[1:] if module.symbols.host_name(call.func) == "nki.simulate_kernel" else call.args
    if any(isinstance(a, ast.Starred) for a in arguments) or any(k.arg is None for k in call.keywords):
        return None
    bound = ast.Call(call.func, arguments, call.keywords)
    given = {p: value for p, _, value in by_parameter(kernel.function, bound)}
    found = [
        value for name in kernel.outputs if (value := given.get(name)) is not None and not of_kinds(value, ast.Call)
    ]
    places: list[ast.expr] = [value for value in found if isinstance(value, ast.Name | ast.Attribute | ast.Subscript)]
    return places if len(places) == len(kernel.outputs) else None
