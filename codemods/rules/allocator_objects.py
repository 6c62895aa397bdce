"""NKI015 allocator-objects: an object that hands out ``sbuf.mod_alloc(...)`` hands out addresses.

Why: Beta 2 has no allocators, but it has objects with state: the class derives from ``nl.NKIObject``, its method
returns the address, and ``buffer=objects.allocate(...)`` becomes ``address=(0, objects.allocate(...))``. A kernel of
Beta 2 cannot change what the module holds, so that each kernel makes an object of its own. Beta 1 kept one from kernel
to kernel: the second one that was traced in a process started where the first one had stopped. The layout that stays
is that of a kernel which is traced first.

Safe. Left alone: objects that change in a loop whose body Beta 1 traced once, or in helpers; methods that return
anything else, or are called for anything but a buffer; classes with bases.

Source: NKI migration guide, "Improved Allocation API" and "Classes"; nki-library's allocators.
"""

from __future__ import annotations

import ast

from .. import algebra
from ..addresses import Address, Layout, tile_index
from ..declare import allocates
from ..emission import New, Refuse
from ..facts.values import Allocator
from ..node_index import of_kinds, walk
from ..project import Module
from ..render import render
from ..scope import Scope
from ..syntax import default_values

CODE = "NKI015"
GOLDENS = ("alloc_object",)
_TILES = "num_free_tiles"


def object_allocator(scope: Scope, node: ast.expr) -> Allocator | None:
    """What ``buffer=objects.allocate(...)`` is; ``None`` when it is no call of a method that returns an allocator."""
    held = _class_of(scope.module, node)
    if held is None or not isinstance(node, ast.Call):
        return None
    if _returned(scope, held[1]) is None:
        return None
    return Allocator("sbuf", "object", node)


@allocates("sbuf", "object")
def address(scope: Scope, allocator: Allocator, place: Layout) -> Address:
    call = allocator.call
    held = _class_of(scope.module, call)
    assert held is not None and isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name)
    cls, method = held
    _check_place(scope, call)
    scope.apply(CODE, call)
    _write_class(scope, cls, method, call.func.value.id)
    _make_here(scope, call.func.value.id)
    handed_out = render(scope, call)
    if not place.blocks:
        return Address("0", handed_out)
    base = scope.fresh(f"{call.func.value.id}_address")
    scope.emit(f"{base} = {handed_out}")
    tiles = _tiles(scope, method, call)
    return Address("0", algebra.add(base, algebra.multiply(tile_index(scope, tiles, place), place.row_bytes)))


def drop_globals(module: Module) -> None:
    """Remove the objects of the module that only kernels used which make their own now."""
    for name, functions in module.own_objects.items():
        inside = {id(node) for function in functions for node in walk(function)}
        loads = (n for n in of_kinds(module.source.tree, ast.Name) if n.id == name)
        if all(id(n) in inside or isinstance(n.ctx, ast.Store) for n in loads):
            module.edits.replaced[_global(module, name)] = []


# --- what is there ---------------------------------------------------------------------------------------------------


def _class_of(module: Module, node: ast.expr) -> tuple[ast.ClassDef, ast.FunctionDef] | None:
    """The class and the method behind ``objects.allocate(...)``, where the module makes ``objects``."""
    function = node.func if isinstance(node, ast.Call) else None
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return None
    made = [s for s in module.source.tree.body if _assigns(s, function.value.id)]
    stored = [
        n
        for n in of_kinds(module.source.tree, ast.Name)
        if n.id == function.value.id and not isinstance(n.ctx, ast.Load)
    ]
    if len(made) != 1 or len(stored) != 1 or not isinstance(made[0], ast.Assign):
        return None
    value = made[0].value
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name):
        return None
    name = value.func.id
    cls = next((s for s in module.source.tree.body if isinstance(s, ast.ClassDef) and s.name == name), None)
    methods = [s for s in cls.body if isinstance(s, ast.FunctionDef) and s.name == function.attr] if cls else []
    return (cls, methods[0]) if cls is not None and len(methods) == 1 else None


def _assigns(statement: ast.stmt, name: str) -> bool:
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target = statement.targets[0]
    return isinstance(target, ast.Name) and target.id == name


def _global(module: Module, name: str) -> ast.stmt:
    return next(s for s in module.source.tree.body if _assigns(s, name))


def _returned(scope: Scope, method: ast.FunctionDef) -> ast.Call | None:
    """The ``sbuf.mod_alloc(...)`` that a method returns, if that is all it ever returns."""
    returns = [n.value for n in of_kinds(method, ast.Return)]
    call = returns[0] if len(returns) == 1 else None
    if not isinstance(call, ast.Call) or _outside(scope).qualified(call.func) != "ncc.sbuf.mod_alloc":
        return None
    return call


def _outside(scope: Scope) -> Scope:
    """Names as the module's top level sees them."""
    outside = Scope(scope.module, scope.function, False)
    outside.env = dict(scope.module.environment)
    return outside


def _check_place(scope: Scope, call: ast.Call) -> None:
    if scope.outer is not None or not scope.module.is_kernel(scope.function):
        raise Refuse(call, CODE, "an allocator object in a helper", "pass the address to the helper")
    if any(loop.traced_once for loop in scope.loops):
        raise Refuse(
            call,
            CODE,
            "an allocator object that changes in a loop whose body Beta 1 traced once",
            "allocate before the loop: Beta 2 would allocate again in every iteration",
        )


# --- the class -------------------------------------------------------------------------------------------------------


def _write_class(scope: Scope, cls: ast.ClassDef, method: ast.FunctionDef, name: str) -> None:
    """Make the class one of Beta 2, once."""
    module = scope.module
    if method in module.analyzed:
        return
    if cls.bases or cls.keywords or cls.decorator_list:
        raise Refuse(cls, CODE, f"the class {cls.name} is derived or decorated", "derive it from nl.NKIObject by hand")
    _check_calls(module, cls, method, name)
    returned = _returned(scope, method)
    assert returned is not None
    given = {k.arg: k.value for k in returned.keywords}
    if "base_addr" not in given or given.keys() - {"base_addr", _TILES} or returned.args:
        raise Refuse(
            returned, CODE, "an allocator object with more than base_addr and num_free_tiles", "compute address="
        )
    module.edits.expressions[returned] = scope.source.segment(given["base_addr"])
    for each in cls.body:
        if isinstance(each, ast.FunctionDef):
            scope.walk_function(each)
    module.edits.bases[cls] = f"{scope.nl}.NKIObject"
    module.touched.add(cls.name)


def _check_calls(module: Module, cls: ast.ClassDef, method: ast.FunctionDef, name: str) -> None:
    """Is the method called for buffers only?"""
    buffers = {id(n.value) for n in of_kinds(module.source.tree, ast.keyword) if n.arg == "buffer"}
    called = {id(n.func) for n in of_kinds(module.source.tree, ast.Call) if id(n) in buffers}
    for node in walk(module.source.tree):
        if isinstance(node, ast.Attribute) and node.attr == method.name and id(node) not in called:
            message = f"{cls.name}.{method.name} is called for something else than a buffer"
            raise Refuse(node, CODE, message, "split the method: it is to return an address")


def _make_here(scope: Scope, name: str) -> None:
    """Let the kernel make an object of its own."""
    module = scope.module
    functions = module.own_objects.setdefault(name, [])
    if scope.function in functions:
        return
    functions.append(scope.function)
    made = _global(module, name)
    first = next(s for s in scope.function.body if not _is_docstring(s))
    module.edits.before.setdefault(first, []).insert(0, New(scope.source.segment(made)))
    assert isinstance(made, ast.Assign) and isinstance(made.value, ast.expr)
    module.decide(made.value, name, "one in each kernel", "Beta 1 kept its state from one traced kernel to the next")


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _tiles(scope: Scope, method: ast.FunctionDef, call: ast.Call) -> tuple[str, ...]:
    """``num_free_tiles`` of one call, in the terms of the caller."""
    returned = _returned(scope, method)
    assert returned is not None
    sizes = next((k.value for k in returned.keywords if k.arg == _TILES), None)
    if sizes is None:
        return ()
    names = [a.arg for a in method.args.args[1:]]
    given: dict[str | None, ast.expr] = {a.arg: d for a, d in default_values(method).items()}
    given.update(zip(names, call.args, strict=False))
    given.update((k.arg, k.value) for k in call.keywords)
    elements = sizes.elts if isinstance(sizes, ast.Tuple | ast.List) else [sizes]
    texts = []
    for element in elements:
        value = given.get(element.id) if isinstance(element, ast.Name) else element
        if not isinstance(sizes, ast.Tuple | ast.List) or not (
            value in given.values() or isinstance(value, ast.Constant)
        ):
            raise Refuse(call, CODE, "a number of tiles that the object computes", "pass the number of tiles")
        assert value is not None
        texts.append(render(scope, value))
    return tuple(texts)
