"""The text of modules whose kernels move out of the functions that make them."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ...expr.emission import Refuse
from ...model import Options
from ...project.program import Module, numbered
from ...syntax.codes import NESTED_FUNCTIONS as CODE
from ...syntax.node_index import of_kinds, walk
from ...syntax.nodes import bound_by, default_values, first_line, inner_functions, named_parameters
from ...syntax.source import Source
from ..edited_text import EditedText, arranged, edited_where
from ..grids.body import units_of
from ..grids.loops import has_defaults
from ..grids.questions import is_asking
from ..line_origins import Edit, Line, between, dedented, edited, inside_strings, lines_of, margin_of, top_of
from ..places import brackets, further_arguments, further_parameters
from .closures import Around, Closure, closed_over, closure_of

_RULE = re.compile(r"#+\s*[-=#*~_]{4,}\s*#*")
"""A comment line of a banner: ``# ------``."""


def moved_out(sources: Mapping[str, Source], options: Options) -> dict[str, EditedText]:
    """Modules by path, with the kernels that functions make as functions of the module.

    What is returned of them, or handed on, becomes a ``functools.partial``, which cannot be launched on a grid: that
    is under review.
    """
    return edited_where(
        sources,
        options,
        lambda source: options.enabled(CODE) and _has_inner(source),
        lambda module: _rewritten(module, options),
    )


def _has_inner(source: Source) -> bool:
    return any(function.decorator_list for _, function in inner_functions(source.tree))


def concerns(module: Module, around: Around, kernel: ast.FunctionDef) -> bool:
    """Does a kernel in a function need to move: does it read names of it, or ask for its place in a launch grid?"""
    in_function = any(isinstance(outer, ast.FunctionDef) for outer in around)
    return in_function and bool(closed_over(module, around, kernel) or is_asking(module.program, module, kernel))


def _rewritten(module: Module, options: Options) -> EditedText:
    closures: list[Closure] = []
    for around, kernel in module.symbols.inner_kernels:
        if not concerns(module, around, kernel) or any(_is_kernel(module, outer) for outer in around):
            continue
        found = module.program.draft.attempt(closure_of, module, around, kernel)
        if isinstance(found, Closure) and (options.unsafe or not found.is_returned):
            closures.append(found)
    return _Moving(module, closures).result() if closures else EditedText(lines_of(module.source.text))


def _is_kernel(module: Module, node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and module.symbols.is_kernel(node)


@dataclass
class _Moving:
    """The edits of one module, and the lines that move."""

    module: Module
    closures: list[Closure]
    edits: list[Edit] = field(default_factory=list)
    partial: str = ""
    missing: str = ""

    def result(self) -> EditedText:
        names = self._names()
        if any(c.is_returned and c.sizes for c in self.closures):
            self.partial, self.missing = _partial(self.module)
        for closure in self.closures:
            self._rewrite(closure, names[closure.kernel])
        lines = edited(self.module.source, self.edits)
        dropped = self._dropped()
        gone = {n for s in dropped for n in range(first_line(s), (s.end_lineno or s.lineno) + 1)}
        above: dict[int, list[Line]] = {}
        for closure in self.closures:
            block = self._block(closure, lines, dropped)
            above.setdefault(_place(self.module.source, closure.around[0]), []).extend(block)
            gone |= set(range(top_of(self.module.source, closure.kernel), (closure.kernel.end_lineno or 0) + 1))
        gone |= {n for s in dropped for n in range(top_of(self.module.source, s), first_line(s))}
        touched = {closure.around[0].name for closure in self.closures} | set(names.values())
        text = arranged(lines, gone, above, self._import_lines())
        return EditedText(text, [], Counter({CODE: len(self.closures)}), touched)

    def _names(self) -> dict[ast.FunctionDef, str]:
        """What each kernel is called in the module."""
        taken, found = set(self.module.names.module_level), {}
        for closure in self.closures:
            kernel, factory = closure.kernel, closure.factory
            inner = {n.id for n in of_kinds(factory, ast.Name)} | {a.arg for a in of_kinds(factory, ast.arg)}
            own = kernel.name if kernel.name not in taken else f"{factory.name}_{kernel.name.lstrip('_')}"
            name = numbered(own, taken | (inner - {kernel.name}))
            taken.add(name)
            found[kernel] = name
        return found

    def _rewrite(self, closure: Closure, name: str) -> None:
        """The kernel's header, its constants, and what the function does with it."""
        module, kernel, edits = self.module, closure.kernel, self.edits
        source = module.source
        if closure.sizes:
            at, text = further_parameters(source, kernel, _further(closure))
            edits.append(Edit(at, at, text))
        if name != kernel.name:
            start = source.offset(kernel.lineno, kernel.col_offset)
            place = re.compile(rf"\b{re.escape(kernel.name)}\b").search(source.text, start)
            assert place is not None
            edits.append(Edit(*place.span(), name))
        edits += [Edit(*source.span(node), text) for node, text in closure.arrays.items()]
        sizes = [f"{size}={size}" for size in closure.sizes]
        given = ", ".join(sizes)
        launches = closure.launches()
        grids = {n.value: n for n in of_kinds(closure.factory, ast.Subscript)}
        attributes = {n.value for n in of_kinds(closure.factory, ast.Attribute)}
        for use in closure.uses:
            if use in launches and given:
                at, text = further_arguments(source, launches[use], sizes)
                edits.append(Edit(at, at, text))
            if use in launches or use in attributes or not given:
                edits += [Edit(*source.span(use), name)] if name != kernel.name else []
            elif use in grids:
                grid = source.text[slice(*brackets(source, grids[use]))]
                edits.append(Edit(*source.span(grids[use]), f"{self.partial}({name}{grid}, {given})"))
            else:
                edits.append(Edit(*source.span(use), f"{self.partial}({name}, {given})"))

    def _dropped(self) -> list[ast.stmt]:
        """The statements that nothing of a function reads any more when its kernels are gone."""
        kernels = {closure.kernel for closure in self.closures}
        found: list[ast.stmt] = []
        for factory in dict.fromkeys(closure.factory for closure in self.closures):
            mine = [closure for closure in self.closures if closure.factory is factory]
            sizes = {size for closure in mine for size in closure.sizes}
            candidates = self._candidates(factory, mine)
            while True:
                left = {node for s in factory.body if s not in kernels and s not in found for node in walk(s)}
                read = {n.id for n in left if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)} | sizes
                more = [s for s, names in candidates.items() if not read & names and s not in found]
                if not more:
                    break
                found += more
        return found

    @staticmethod
    def _candidates(factory: ast.FunctionDef, closures: Iterable[Closure]) -> dict[ast.stmt, set[str]]:
        """What moved with the kernels, and the arrays that stand in them now, with the names that they bind."""
        moved = [statement for closure in closures for statement in closure.moved]
        named = {node.id for closure in closures for node in closure.arrays}
        pending = [s for s in factory.body if isinstance(s, ast.Assign) and _target(s) in named]
        arrays: list[ast.stmt] = []
        while pending:
            statement = pending.pop()
            arrays.append(statement)
            inner = {n.id for n in of_kinds(statement.value, ast.Name)}
            pending += [
                s
                for s in factory.body
                if isinstance(s, ast.Assign)
                and _target(s) in inner
                and s not in arrays
                and isinstance(s.value, ast.Call)
                and "np" in ast.unparse(s.value.func)
            ]
        return {s: set(bound_by(s)) for s in [*moved, *arrays]}

    def _block(self, closure: Closure, lines: list[Line], dropped: list[ast.stmt]) -> list[Line]:
        """The kernel as a function of the module, with two lines below it."""
        kernel, module = closure.kernel, self.module
        strings = inside_strings(module.source.text) - _docstrings(kernel)
        margin = margin_of(module.source, kernel)
        first, body = top_of(module.source, kernel), units_of(module, kernel)[0].first
        inner = margin_of(module.source, kernel.body[0])
        moved: list[Line] = []
        for statement in closure.moved:
            start = top_of(module.source, statement) if statement in dropped else first_line(statement)
            for line in between(lines, start, statement.end_lineno or statement.lineno):
                by = inner[len(margin_of(module.source, statement)) :]
                moved.append(line if line.origin in strings else line.indented(by))
        own = between(lines, first, kernel.end_lineno or first)
        header, rest = [line for line in own if line.origin < body], [line for line in own if line.origin >= body]
        parts = [*header, *moved, *rest]
        block = [line if line.origin in strings else dedented(line, margin) for line in parts]
        at = kernel.end_lineno or first
        return [*block, Line("", at), Line("", at)]

    def _import_lines(self) -> tuple[int, list[str]]:
        """Behind which line of the module an import is added, and its lines."""
        if not self.missing:
            return 0, []
        body = self.module.source.tree.body
        top = [item.statement for item in self.module.symbols.import_list if item.statement in body]
        first = min((s for s in top if not _is_future(s)), key=lambda s: s.lineno, default=None)
        if first is None:
            return 0, [self.missing]
        package = next(
            item.path.partition(".")[0] for item in self.module.symbols.import_list if item.statement is first
        )
        return first.lineno - 1, [self.missing, *([""] if package not in sys.stdlib_module_names else [])]


def _place(source: Source, factory: ast.FunctionDef | ast.ClassDef) -> int:
    """The line that the kernels of a function go above: below comments right above it that head a section."""
    top, first = top_of(source, factory), first_line(factory)
    comments = source.text.split("\n")[top - 1 : first - 1]
    return first if any(_RULE.fullmatch(line.strip()) for line in comments) else top


def _further(closure: Closure) -> list[str]:
    """The further parameters of a kernel, annotated as those of its function.

    Those that the function has a number for by default come last, with it.
    """
    factory = closure.factory
    stored = {n.id for n in of_kinds(factory, ast.Name) if isinstance(n.ctx, ast.Store)}
    own = {a.arg: a.annotation for a in named_parameters(factory) if a.arg not in stored}
    said = {size: f": {ast.unparse(kind)}" if (kind := own.get(size)) else "" for size in closure.sizes}
    defaults = {a.arg: d for a, d in default_values(factory).items() if isinstance(d, ast.Constant)}
    texts = {size: ast.unparse(defaults[size]) for size in closure.sizes if size in defaults and size in own}
    if has_defaults(closure.kernel):
        return [_parameter(size, said[size], texts.get(size, "None")) for size in closure.sizes]
    plain = [f"{size}{said[size]}" for size in closure.sizes if size not in texts]
    return [*plain, *(_parameter(size, said[size], text) for size, text in texts.items())]


def _parameter(name: str, annotation: str, default: str) -> str:
    equals = " = " if annotation else "="
    return f"{name}{annotation}{equals}{default}"


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _target(statement: ast.stmt) -> str:
    target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    return target.id if isinstance(target, ast.Name) else ""


def _partial(module: Module) -> tuple[str, str]:
    """How a module writes ``functools.partial``, and the import that it needs for that."""
    for item in module.symbols.import_list:
        known = item.path in ("functools", "functools.partial") and item.name not in module.symbols.rebound
        if known and item.statement not in module.symbols.nested_imports:
            return item.name + ".partial" * (item.path == "functools"), ""
    name = module.fresh("functools")
    return f"{name}.partial", "import functools" if name == "functools" else f"import functools as {name}"


def _docstrings(kernel: ast.FunctionDef) -> frozenset[int]:
    """Lines of the docstrings of a kernel and the functions in it: they move with the code."""
    found: set[int] = set()
    for function in of_kinds(kernel, ast.FunctionDef):
        if ast.get_docstring(function, clean=False) is not None:
            found.update(range(function.body[0].lineno, (function.body[0].end_lineno or 0) + 1))
    return frozenset(found)


def refusal(module: Module, around: Around, kernel: ast.FunctionDef) -> Refuse:
    """Why a kernel in a function has stayed there, which :func:`concerns` says needs to move."""
    found = module.program.draft.attempt(closure_of, module, around, kernel)
    if isinstance(found, Refuse):
        return found
    names = ", ".join(closed_over(module, around, kernel))
    what = f"uses names of it, which Beta 2 does not find: {names}" if names else "asks for its place in a launch grid"
    factory = around[-1].name
    help = (
        f"--unsafe makes it a function of the module, with them as parameters; what '{factory}' gives of it can then "
        "be called, and not launched on a grid"
    )
    return Refuse(kernel, CODE, f"'{kernel.name}' is a kernel in '{factory}', and {what}", help, "review")
