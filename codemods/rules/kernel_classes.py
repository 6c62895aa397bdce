"""NKI009 kernel-classes: a class that kernels use derives from ``nl.NKIObject``, and its methods are plain or static.

Why: the Beta 2 compiler reads the classes that a kernel reaches, and accepts only ``nl.NKIObject`` and ``Enum`` as
their base, and no decorators of methods but ``staticmethod``. A class without a base gets it; its methods are rewritten
like helpers. A class method becomes a static one, which names the class; a property becomes a method, and is called
where it was read; a static method that is called on an object is called on the class, because Beta 2 would pass it the
object. A ``NamedTuple`` of which only fields and methods are used becomes a frozen dataclass. A file without a word of
NKI gets its import with the base.

Safe: ``NKIObject`` is an empty class where Python runs the code, and a dataclass stays one. Annotations say of what
class an object is, and files that are not given may read properties and take tuples apart: give them in the same run.
Left alone: classes with other bases, with subclasses or with other decorators, properties that host code reads, named
tuples that something may unpack, index or compare, bodies with more than fields, methods and a docstring, and frozen
objects that write to their fields with ``object.__setattr__``, which Beta 2 does not have.

Source: NKI language guide of 2.28, "User-defined classes"; the front end of leanprover/KLR ("NKI classes must inherit
from either Enum or NKIObject", "unsupported decorator").
"""

from __future__ import annotations

import ast
import posixpath
from typing import TYPE_CHECKING

from ..analysis.classes import Class, is_subclassed
from ..analysis.escapes import tuple_use
from ..analysis.members import why_not
from ..expr.emission import Refuse
from ..expr.values import Parameters, Spelled
from ..project.program import Program
from ..syntax import codes
from ..syntax.module_level import module_statements
from ..syntax.node_index import walk

if TYPE_CHECKING:
    from ..project.program import Module

CODE = codes.KERNEL_CLASSES
GOLDENS = ("kernel_class", "index_methods")

_BASES = {"enum.Enum", "nl.NKIObject"}
_FIELDS = (ast.AnnAssign, ast.Assign, ast.Pass, ast.FunctionDef)


def rewrite(program: Program) -> list[tuple[Module, ast.FunctionDef, Parameters]]:
    """Give the classes that walked functions use their base; returns their methods, to be walked like helpers."""
    methods: list[tuple[Module, ast.FunctionDef, Parameters]] = []
    for module, node in _used(program):
        cls = Class(module, node)
        refusal = program.draft.attempt(_check, cls)
        if refusal is not None:
            module.report(refusal)
            continue
        _write_head(cls)
        methods += [(module, method, _write_method(cls, method)) for method in cls.methods.values()]
    return methods


def _write_head(cls: Class) -> None:
    """The base of the class, and the decorator that a named tuple needs instead of its own."""
    module, node = cls.home, cls.node
    if not node.bases or cls.is_named_tuple:
        module.plan.edits.bases[node] = f"{module.alias('nl')}.NKIObject"
        _applied(cls)
    if cls.is_named_tuple:
        name = next((i.name for i in module.symbols.import_list if i.path == "dataclasses.dataclass"), None)
        if name is None:
            name = module.names.from_imports["dataclasses"] = "dataclass"
        module.plan.edits.class_decorators[node] = f"{name}(frozen=True)"


def _applied(cls: Class) -> None:
    cls.home.plan.applied[CODE] += 1
    cls.home.plan.touched.add(cls.node.name)


def _write_method(cls: Class, method: ast.FunctionDef) -> Parameters:
    """Write the decorator of a method for Beta 2; returns what is known of its parameters."""
    edits = cls.home.plan.edits
    if cls.kind(method) == "classmethod":
        first = (method.args.posonlyargs or method.args.args)[0]
        edits.expressions[method.decorator_list[0]] = "staticmethod"
        edits.dropped_parameters.add(first)
        _applied(cls)
        return {first.arg: Spelled(cls.node.name)}
    if cls.kind(method) == "property":
        edits.dropped_decorators.add(method.decorator_list[0])
        _applied(cls)
    return {}


def _used(program: Program) -> list[tuple[Module, ast.ClassDef]]:
    """Classes that kernels and helpers name, and those that these name in turn."""
    pending: list[tuple[Module, ast.AST]] = [(m, f) for m in program.modules.values() for f in m.summaries.analyzed]
    found: dict[ast.ClassDef, Module] = {}
    seen: set[tuple[str, str]] = set()
    while pending:
        module, user = pending.pop()
        for node in walk(user):
            path, name = program.origin(module, node)
            used = program.modules[path].symbols.classes.get(name)
            if used is not None and used not in found:
                found[used] = program.modules[path]
                pending.append((found[used], used))
            if (path, name) not in seen:  # a global object has a class, too
                seen.add((path, name))
                home = program.modules[path]
                statements = module_statements(home.source.tree)
                pending += [(home, s.value) for s in statements if isinstance(s, ast.Assign) and _binds(s, name)]
    return [
        (module, node)
        for module in program.modules.values()
        for node in module.symbols.classes.values()
        if node in found
    ]


def _binds(statement: ast.Assign, name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in statement.targets)


def _check(cls: Class) -> None:
    module, node = cls.home, cls.node
    if not module.options.enabled(CODE):
        raise Refuse(node, CODE, *module.options.disabled(CODE))
    if any(isinstance(n, ast.Attribute) and n.attr == "__setattr__" for n in walk(node)):
        what = f"'{node.name}' writes to its fields with __setattr__, which Beta 2 does not have, and a kernel uses it"
        raise Refuse(node, CODE, what, "make the object in host code, and pass the kernel the values that it needs")
    if cls.is_named_tuple:
        _check_named_tuple(cls)
    elif node.keywords or len(node.bases) > 1 or any(base not in _BASES for base in cls.base_names):
        bases = ", ".join(ast.unparse(base) for base in node.bases)
        what = f"'{node.name}' derives from {bases}" if bases else f"'{node.name}' has a metaclass"
        raise Refuse(node, CODE, f"{what}, and a kernel uses it", "derive it from nl.NKIObject or Enum alone")
    for statement in node.body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue
        if not isinstance(statement, _FIELDS):
            raise Refuse(
                statement, CODE, f"'{node.name}' holds more than fields and methods", "move it out of the class"
            )
        if isinstance(statement, ast.FunctionDef) and (why := why_not(cls, statement)):
            raise Refuse(statement, CODE, f"'{statement.name}' of '{node.name}', which a kernel uses, {why}", _PLAIN)


_PLAIN = "write a plain method, or a function of the module"


def _check_named_tuple(cls: Class) -> None:
    """A named tuple of which only fields are used can be a dataclass."""
    name = cls.node.name
    plain = ast.Constant | ast.UnaryOp | ast.Attribute | ast.Tuple
    if any(field.value is not None and not isinstance(field.value, plain) for field in cls.fields.values()):
        raise Refuse(cls.node, CODE, f"'{name}' is a NamedTuple with a default that may change", "make it a dataclass")
    used = tuple_use(cls.home.program, cls) if not is_subclassed(cls) else (cls.home, cls.node)
    if used is not None:
        module, node = used
        place = f"line {getattr(node, 'lineno', 0)} of {posixpath.basename(module.path)}"
        message = f"'{name}' is a NamedTuple, a kernel uses it, and {place} may use it as a tuple"
        raise Refuse(cls.node, CODE, message, "use its fields only; then it can be a dataclass")
