"""``*args`` of functions that all calls give the same number of arguments: they become named parameters.

That is so where the files that are rewritten together only call a function, by a name that an import gives, and where
the function only reads its tuple. Calls keep their text. A call that no file shows, and that passes another number,
ends with Python's own error.

The tree of the module is changed, as for ``**kwargs`` (:mod:`.keyword_arguments`).
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..analysis.keywords import callee_of
from ..syntax.format import tuple_text
from ..syntax.names import dotted
from ..syntax.node_index import of_kinds, walk
from ..syntax.nodes import parents_of, replace_node
from ..syntax.source import expanded, written_as

if TYPE_CHECKING:
    from ..project.program import Module, Program


def name_arguments(program: Program, walked: set[ast.FunctionDef]) -> None:
    """Give the variable arguments of functions names, in all modules. ``walked`` are the functions to rewrite."""
    for module in program.modules.values():
        for function in module.symbols.functions.values():
            if function in walked and function.args.vararg is not None and _can_change(module, function):
                counts = _counts(program, module, function)
                if len(counts) == 1:
                    _name(module, function, function.args.vararg, counts.pop())


def _can_change(module: Module, function: ast.FunctionDef) -> bool:
    """Is a function a plain one that only reads its tuple as a whole, and that nothing else binds the name of?"""
    arguments, vararg = function.args, function.args.vararg
    assert vararg is not None
    if function.decorator_list or arguments.kwarg is not None or arguments.defaults or arguments.posonlyargs:
        return False
    nodes = list(walk(function))
    if any(isinstance(n, ast.FunctionDef | ast.Lambda | ast.ClassDef) for n in nodes if n is not function):
        return False
    return _reads_whole(function, vararg.arg, nodes) and _is_bound_once(module, function)


def _reads_whole(function: ast.FunctionDef, tuple_name: str, nodes: list[ast.AST]) -> bool:
    """Does the body of a function only read its tuple of arguments, and never spread or quote it?"""
    quoted = {n for text in nodes if isinstance(text, ast.JoinedStr) for n in walk(text)}
    outside = {n for part in (function.args, function.returns) if part is not None for n in walk(part)}
    held = [n for n in nodes if isinstance(n, ast.Name) and n.id == tuple_name]
    spread = {n.value for n in nodes if isinstance(n, ast.Starred)}
    return all(isinstance(n.ctx, ast.Load) and n not in spread | quoted | outside for n in held)


def _is_bound_once(module: Module, function: ast.FunctionDef) -> bool:
    definitions, names = [], []
    for node in walk(module.source.tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == function.name:
            definitions.append(node)
        elif isinstance(node, ast.Name) and node.id == function.name and not isinstance(node.ctx, ast.Load):
            names.append(node)
    return definitions == [function] and not names


def _counts(program: Program, home: Module, function: ast.FunctionDef) -> set[int]:
    """The numbers of arguments that calls pass in the tuple; several where a use of the function may be any call."""
    counts: set[int] = set()
    for module in program.modules.values():
        tree = module.source.tree
        stars = (n for n in of_kinds(tree, ast.ImportFrom) if n.names[0].name == "*")
        if module is not home and any(True for _ in stars):
            return {-1, -2}
        parents = parents_of(tree)
        for node in [n for n in parents if isinstance(n, ast.Name | ast.Attribute)]:
            meant = callee_of(program, module, ast.Call(node, [], [])) is function
            if meant or _may_mean(module, node, function.name):
                counts.add(_passed(function, parents[node], node) if meant else -1)
    return counts if min(counts, default=-1) >= 0 else {-1, -2}


def _may_mean(module: Module, node: ast.AST, name: str) -> bool:
    """Might a name mean the function ``name`` of another file, though no import shows which file that is?"""
    chain = dotted(node)
    if chain is None or (chain[1] or (chain[0],))[-1] != name:
        return False
    bound = module.symbols.imports.get(chain[0])
    return bound is not None and not bound.is_nki


def _passed(function: ast.FunctionDef, call: ast.AST, name: ast.expr) -> int:
    """How many arguments a call passes in the tuple; negative for what is no plain call."""
    if not isinstance(call, ast.Call) or call.func is not name:
        return -1
    if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
        return -1
    return len(call.args) - len(function.args.args)


def _name(module: Module, function: ast.FunctionDef, vararg: ast.arg, count: int) -> None:
    names = [f"{vararg.arg}_{number}" for number in range(count)]
    if module.names.taken & set(names):
        return
    parents = parents_of(function)
    for node in [n for n in parents if isinstance(n, ast.Name) and n.id == vararg.arg]:
        parent = parents[node]
        place = _element(parent, node, count)
        if place is not None:
            replace_node(parents, parent, _read(parent, names[place]))
        else:
            text = tuple_text(names)
            elements: list[ast.expr] = [_read(node, name) for name in names]
            replace_node(parents, node, written_as(ast.copy_location(ast.Tuple(elements, ast.Load()), node), text))
    function.args.args += [written_as(ast.copy_location(ast.arg(name), vararg), name) for name in names]
    expanded(function).args.vararg = None
    module.source.is_expanded = True


def _read(place: ast.AST, name: str) -> ast.expr:
    return written_as(ast.copy_location(ast.Name(name, ast.Load()), place), name)


def _element(parent: ast.AST, node: ast.Name, count: int) -> int | None:
    """The number of the argument that ``args[2]`` is; ``None`` for any other use of the tuple."""
    if not isinstance(parent, ast.Subscript) or parent.value is not node or not isinstance(parent.ctx, ast.Load):
        return None
    index = parent.slice.value if isinstance(parent.slice, ast.Constant) else None
    return index if type(index) is int and 0 <= index < count else None
