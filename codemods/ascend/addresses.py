"""``T.annotate_address`` as text: where it stands, and what it says."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from nki_migrate.runtime.ascend.plans import Program
from nki_migrate.runtime.plan import Plan

from ..syntax.drafts import Edit
from .module import AscendModule, Read

_WIDTH = 100


def annotation_edits(
    module: AscendModule, read: Read, program: Program, plan: Plan, spaces: frozenset[str] | None = None
) -> list[Edit] | None:
    """The edits that give the buffers of ``spaces`` (all of them) their addresses of ``plan``.

    One call behind the last allocation of each block. ``None`` where an allocation is no statement of its own, where a
    buffer has no address, or where the kernel has addresses already that are not written in one dictionary.
    """
    addresses = {alloc.name: alloc.addr for alloc in plan.allocs}
    wanted = [b for b in program.buffers if (spaces is None or b.space in spaces) and b.address is None]
    if any(addresses.get(buffer.name) is None for buffer in wanted):
        return None
    known = annotation_calls(module, read)
    if known:
        return _extended(module, known[-1], {b.name: addresses[b.name] or 0 for b in wanted})
    blocks: dict[int, tuple[ast.stmt, dict[str, int]]] = {}
    for buffer in wanted:
        statement = declaration(module, read, buffer.name, buffer.line)
        if statement is None or not module.stands_alone(_first_of(statement)):
            return None
        key = id(_block_of(module, statement))
        _, entries = blocks.get(key, (statement, {}))
        entries[buffer.name] = addresses[buffer.name] or 0
        blocks[key] = (statement, entries)
    return [_behind(module, statement, call_text(module, read, entries)) for statement, entries in blocks.values()]


def declaration(module: AscendModule, read: Read, name: str, line: int) -> ast.stmt | None:
    """The statement that declares a buffer: an assignment, or the ``with`` of the seed."""
    for node in ast.walk(read.kernel.function):
        if isinstance(node, ast.Assign) and node.value.lineno == line:
            if any(isinstance(n, ast.Name) and n.id == name for t in node.targets for n in ast.walk(t)):
                return node
        elif isinstance(node, ast.With) and any(
            isinstance(i.optional_vars, ast.Name) and i.optional_vars.id == name and i.context_expr.lineno == line
            for i in node.items
        ):
            return node
    return None


def _first_of(statement: ast.stmt) -> ast.stmt:
    return statement.body[0] if isinstance(statement, ast.With) else statement


def _block_of(module: AscendModule, statement: ast.stmt) -> ast.AST:
    """The block that the statement stands in once the ``with`` blocks of the seed are gone."""
    parent = module.parents[statement]
    while isinstance(parent, ast.With) and any(
        isinstance(i.context_expr, ast.Call) and module.member(i.context_expr.func) == "allocate" for i in parent.items
    ):
        parent = module.parents[parent]
    return parent


def _behind(module: AscendModule, statement: ast.stmt, text: str) -> Edit:
    if isinstance(statement, ast.With):  # the body moves out: the call stands in front of its first statement
        first = statement.body[0]
        at = module.start(first)
        return Edit(at, at, f"{text.replace(chr(10), chr(10) + module.indent(first))}\n{module.indent(first)}")
    return module.behind(statement, text)


def call_text(module: AscendModule, read: Read, entries: Mapping[str, int]) -> str:
    """``T.annotate_address({...})``, on one line where it fits."""
    name = module.language_name(read.kernel.function, "annotate_address")
    items = [f"{key}: {value}" for key, value in entries.items()]
    line = f"{name}({{{', '.join(items)}}})"
    if len(line) <= _WIDTH:
        return line
    inner = "".join(f"        {item},\n" for item in items)
    return f"{name}(\n    {{\n{inner}    }}\n)"


def annotation_calls(module: AscendModule, read: Read) -> list[ast.Call]:
    """The calls of ``T.annotate_address`` in a kernel."""
    inside = set(ast.walk(read.kernel.function))
    return [call for call, _ in module.calls("annotate_address") if call in inside]


def _extended(module: AscendModule, call: ast.Call, entries: Mapping[str, int]) -> list[Edit] | None:
    """More entries in a dictionary of addresses that is written in the call."""
    mapping = call.args[0] if call.args else None
    if not isinstance(mapping, ast.Dict) or not mapping.values or not entries:
        return [] if isinstance(mapping, ast.Dict) and not entries else None
    at = module.end(mapping.values[-1])
    last = mapping.keys[-1]
    alone = (
        last is not None
        and not module.text[module.text.rfind("\n", 0, module.start(last)) + 1 : module.start(last)].strip()
    )
    indent = module.text[module.text.rfind("\n", 0, module.start(last)) + 1 : module.start(last)] if last else ""
    separator = f",\n{indent}" if alone else ", "
    return [Edit(at, at, "".join(f"{separator}{key}: {value}" for key, value in entries.items()))]
