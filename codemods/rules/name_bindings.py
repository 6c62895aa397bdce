"""NKI035 name-bindings: a file is left alone where a name of its output might mean something else than it did.

Why: what Beta 2 cannot have inside of a kernel moves out of it, and what it captured becomes arguments; tiles get
declarations, loops get names of their own. So after a file is rewritten, and apart from the rules that did it, each
name that the output reads is resolved again, in the source and in the output: through branches, loops, calls, and
what nested functions capture. It has to mean the same there. A file with a name for which that cannot be shown keeps
every byte. So does each file whose kernel code calls that of a file which was left, or is called by it: one of the two
would be Beta 2, and the other one not.

Two functions under one name, in two branches of a condition, are such a name: Beta 2 has functions at module level
only, and no way to choose one by a condition but an ``if`` around each call. So is a captured name that the function
which calls what has captured it binds to something of its own. And so are two functions of kernel code under one name
at the top of a module: Python keeps the last, and the first is of the host code that stands between them.

Manual: give what differs a name of its own.

Source: this project's translation validation (``codemods/project/binding_check.py``).
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from ..expr.emission import Refuse
from ..expr.moves import declarations
from ..model import NOT_THE_SAME, Finding
from ..project.binding_check import Violation, violations
from ..project.origins import Origins

if TYPE_CHECKING:
    from ..project.program import Module

CODE = "NKI035"
APPLICABILITY = "manual"
GOLDENS = ("function_in_branches",)


def report(module: Module, output: ast.Module, origins: Origins) -> bool:
    """Report the names of a module's ``output`` that may mean something else than they did; are there any?"""
    declared = declarations(module.plan.tensors, module.source.tree)
    found = list(violations(module.source.tree, output, origins, module.plan.traced_once, declared, module.plan.kept))
    for violation in found:
        module.report(_refusal(violation))
    return bool(found)


def report_twice(module: Module) -> bool:
    """Report the functions at the top of a module that have the name of one above; are there any?

    One of them is kernel code. The other one, which nothing reaches, has Beta 1 in it that host code cannot have.
    """
    first: dict[str, ast.FunctionDef] = {}
    found: list[tuple[ast.FunctionDef, ast.FunctionDef]] = []
    for node in (node for node in module.source.tree.body if isinstance(node, ast.FunctionDef)):
        both = (first.setdefault(node.name, node), node)
        if both[0] is not node and any(each in module.program.kernel_code for each in both):
            found += [both] if any(_unread(module, each) for each in both) else []
    for above, node in found:
        unread = _unread(module, above) | _unread(module, node)
        module.plan.findings = [each for each in module.plan.findings if each not in unread]
        what = f"'{node.name}' of line {above.lineno} is defined again: the file is left, as either may be meant"
        help = "delete the one that is not meant (Python keeps the last), or give it a name of its own"
        module.report(Refuse(node, CODE, what, help))
    return bool(found)


def _unread(module: Module, function: ast.FunctionDef) -> set[Finding]:
    """The findings in a function that was taken for host code."""
    start = min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])
    lines = range(start, (function.end_lineno or start) + 1)
    return {found for found in module.plan.findings if found.line in lines and found.message.endswith(NOT_THE_SAME)}


def left_with(modules: Sequence[Module], left: Collection[str], changed: Collection[str]) -> dict[str, Finding]:
    """The findings of the files that are left because those of ``left`` are; only ``changed`` ones can be."""
    borders = [border for module in modules for border in _borders(module)]
    found: dict[str, Finding] = {}
    pending = list(left)
    while pending:
        path = pending.pop()
        for caller, callee, name, statement in borders:
            other = callee if path == caller else caller if path == callee else None
            if other is None or other in left or other in found or other not in changed:
                continue
            line, column = (statement.lineno, statement.col_offset + 1) if other == caller else (1, 1)
            message = f"the kernel code of {path} stays Beta 1 (see its {CODE}), and calls that of this file: '{name}'"
            if other == caller:
                message = f"'{name}' of {path} stays Beta 1 (see its {CODE}), and kernel code of this file calls it"
            help = "resolve what is found there, and rewrite both again"
            found[other] = Finding(line, column, CODE, APPLICABILITY, message, help)
            pending.append(other)
    return found


def _borders(module: Module) -> Iterator[tuple[str, str, str, ast.stmt]]:
    """Kernel code that a module imports: its own path, that of the other module, the name there, and the import."""
    program = module.program
    for name, link in program.links[module.path].items():
        home = program.modules[link.path]
        function, cls = home.symbols.functions.get(link.name), home.symbols.classes.get(link.name)
        if not link.name or function in program.kernel_code or cls in program.kernel_code.classes:
            yield module.path, link.path, link.name or name, link.statement


def _refusal(violation: Violation) -> Refuse:
    what = f"rewritten, '{violation.name}' might mean something else here, and the file is left: {violation.reason}"
    return Refuse(violation.statement, CODE, what, "give each function and each value a name of its own")
