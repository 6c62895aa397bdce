"""The symbol table of one module: what its text binds to names, whatever is planned for it."""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from functools import cached_property

from nki_migrate.runtime.spec.launchers import KERNEL_DECORATORS

from ..syntax.module_level import module_definitions, module_statements, stand_ins
from ..syntax.names import Import, canonical, dotted, imports
from ..syntax.node_index import indexed, of_kinds
from ..syntax.nodes import bound_by, inner_functions, written_names
from .kernel_code import decorator_name


class Symbols:
    """What a module's text binds. It is found once for all rounds (:func:`symbols`), and nobody changes it.

    ``import_list`` are all imports, ``imports`` what a name of one means, ``nested_imports`` those that are not there
    for all kernels. ``functions`` and ``classes`` stand at the module's level, ``inner_kernels`` in functions, with
    those around each. ``globals`` are the names that it assigns there, ``module_level`` all that mean something there;
    ``names`` are those that any expression has, ``written`` all that its text has anywhere.
    """

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self.import_list = imports(tree)
        self.nested_imports = self._nested_imports()
        self.imports = self._imports()
        self.names = frozenset(node.id for node in of_kinds(tree, ast.Name))
        definitions = module_definitions(tree)
        self.functions = {name: node for name, node in definitions.items() if isinstance(node, ast.FunctionDef)}
        self.classes = {name: node for name, node in definitions.items() if isinstance(node, ast.ClassDef)}
        self.inner_kernels = [(around, f) for around, f in inner_functions(tree) if self.is_kernel(f)]
        assigned = [node for node in module_statements(tree) if isinstance(node, ast.Assign)]
        self.globals = frozenset(t.id for node in assigned for t in node.targets if isinstance(t, ast.Name))
        self.written = frozenset((*written_names(tree), *self.imports, *dir(builtins)))
        bound = {name for statement in tree.body for name in bound_by(statement)}
        self.module_level = frozenset((*bound, *definitions, *self.imports, *dir(builtins)))

    @cached_property
    def function_names(self) -> dict[str, ast.FunctionDef]:
        """Functions of the module under another name, which one assignment at its top binds and nothing else has."""
        stored = Counter(n.id for n in of_kinds(self._tree, ast.Name) if not isinstance(n.ctx, ast.Load))
        taken = {n.arg for n in of_kinds(self._tree, ast.arg)} | {*self.imports, *self.functions, *self.classes}
        taken |= {name for node in of_kinds(self._tree, ast.Global, ast.Nonlocal) for name in node.names}
        taken |= {n.name for n in of_kinds(self._tree, ast.FunctionDef, ast.ClassDef)}
        found: dict[str, ast.FunctionDef] = {}
        for node in self._tree.body:
            value = node.value if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) else None
            function = self.functions.get(value.id) if value is not None and value.id not in self.bound_again else None
            for target in node.targets if isinstance(node, ast.Assign) and function is not None else ():
                if isinstance(target, ast.Name) and stored[target.id] == 1 and target.id not in taken:
                    found[target.id] = function  # type: ignore[assignment]  # there is one
        return found

    @cached_property
    def rebound(self) -> set[str]:
        """Names that something else than an import binds, anywhere in the module."""
        return self._stored | set(self.functions)

    @cached_property
    def bound_again(self) -> set[str]:
        """Names that something binds besides one function, anywhere in the module."""
        functions = Counter(node.name for node in of_kinds(self._tree, ast.FunctionDef, ast.AsyncFunctionDef))
        return self._stored | set(self.imports) | {name for name, count in functions.items() if count > 1}

    @cached_property
    def _stored(self) -> set[str]:
        """Names that an assignment or a parameter binds."""
        stored = {n for n in of_kinds(self._tree, ast.Name) if isinstance(n.ctx, ast.Store)}
        names = {name.id for name in stored - stand_ins(self._tree)}
        return names | {n.arg for n in of_kinds(self._tree, ast.arg)}

    def is_kernel(self, function: ast.FunctionDef) -> bool:
        """Is a function decorated with ``nki.jit`` or one of its forerunners?"""
        return any(self.decorator(d) in KERNEL_DECORATORS for d in function.decorator_list)

    def is_launchable(self, function: ast.FunctionDef) -> bool:
        """Can host code launch a function? (One in trace mode is only called by kernels.)"""
        launching = [d for d in function.decorator_list if self.decorator(d) in KERNEL_DECORATORS - {"nki.trace"}]
        return any(not _in_trace_mode(decorator) for decorator in launching)

    def decorator(self, node: ast.expr) -> str | None:
        """Canonical name of a decorator, called or not."""
        return decorator_name(self.imports, node)

    def host_name(self, node: ast.AST) -> str:
        """The canonical name of what a chain means; nothing for a name that is bound again anywhere."""
        chain = dotted(node)
        bound = self.imports.get(chain[0]) if chain is not None else None
        if chain is None or bound is None or chain[0] in self.rebound or bound.statement in self.nested_imports:
            return ""
        return canonical(".".join((bound.path, *chain[1])))

    def _nested_imports(self) -> set[ast.Import | ast.ImportFrom]:
        """The imports that are not there for all kernels.

        Where a module imports NKI in conditions alone, its kernels need those.
        """
        nested = {item.statement for item in self.import_list} - set(self._tree.body)
        ours = {item.statement for item in self.import_list if item.is_nki}
        return nested - ours.intersection(module_statements(self._tree)) if ours <= nested else nested

    def _imports(self) -> dict[str, Import]:
        """What imports bind names to: the last one, but for those that repeat an import at the top."""
        found: dict[str, Import] = {}
        for item in self.import_list:
            known = found.get(item.name)
            if known is None or known.statement in self.nested_imports or known.path != item.path:
                found[item.name] = item
        return found


@indexed
def symbols(tree: ast.Module) -> Symbols:
    """The symbol table of a module, by its tree."""
    return Symbols(tree)


def _in_trace_mode(decorator: ast.expr) -> bool:
    keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
    return any(k.arg == "mode" and isinstance(k.value, ast.Constant) and k.value.value == "trace" for k in keywords)
