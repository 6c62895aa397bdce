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

from ..analysis.scope import Scope
from ..expr import algebra
from ..expr.emission import New, Refuse
from ..expr.values import Allocator
from ..lower.addresses import Address, Layout, tile_index
from ..lower.declare import allocates
from ..plan.allocator_classes import class_of, global_of, returned_by, tiles_of
from ..project.program import Module
from ..render.expressions import render
from ..syntax import codes
from ..syntax.node_index import of_kinds, walk

CODE = codes.ALLOCATOR_OBJECTS
GOLDENS = ("alloc_object",)
_TILES = "num_free_tiles"


def object_allocator(scope: Scope, node: ast.expr) -> Allocator | None:
    """What ``buffer=objects.allocate(...)`` is; ``None`` when it is no call of a method that returns an allocator."""
    held = class_of(scope.module, node)
    if held is None or not isinstance(node, ast.Call):
        return None
    if returned_by(scope, held[1]) is None:
        return None
    return Allocator("sbuf", "object", node, ast.unparse(node))


@allocates("sbuf", "object")
def address(scope: Scope, allocator: Allocator, place: Layout) -> Address:
    call = allocator.call
    held = class_of(scope.module, call)
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
    tiles = tiles_of(scope, method, call)
    return Address("0", algebra.add(base, algebra.multiply(tile_index(scope, tiles, place), place.row_bytes)))


def drop_globals(module: Module) -> None:
    """Remove the objects of the module that only kernels used which make their own now."""
    for name, functions in module.summaries.own_objects.items():
        inside = {id(node) for function in functions for node in walk(function)}
        loads = (n for n in of_kinds(module.source.tree, ast.Name) if n.id == name)
        if all(id(n) in inside or isinstance(n.ctx, ast.Store) for n in loads):
            module.plan.edits.replaced[global_of(module, name)] = []


def _check_place(scope: Scope, call: ast.Call) -> None:
    if scope.outer is not None or not scope.decorated:
        raise Refuse(call, CODE, "an allocator object in a helper", "pass the address to the helper")
    if any(loop.traced_once for loop in scope.place.loops):
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
    module.program.share()
    if method in module.summaries.analyzed:
        return
    if cls.bases or cls.keywords or cls.decorator_list:
        raise Refuse(cls, CODE, f"the class {cls.name} is derived or decorated", "derive it from nl.NKIObject by hand")
    _check_calls(module, cls, method, name)
    returned = returned_by(scope, method)
    assert returned is not None
    given = {k.arg: k.value for k in returned.keywords}
    if "base_addr" not in given or given.keys() - {"base_addr", _TILES} or returned.args:
        raise Refuse(
            returned, CODE, "an allocator object with more than base_addr and num_free_tiles", "compute address="
        )
    module.plan.edits.expressions[returned] = scope.source.segment(given["base_addr"])
    for each in cls.body:
        if isinstance(each, ast.FunctionDef):
            scope.walk_within(each)
    module.plan.edits.bases[cls] = f"{scope.nl}.NKIObject"
    module.plan.touched.add(cls.name)


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
    module.program.share()
    functions = module.summaries.own_objects.setdefault(name, [])
    if scope.function in functions:
        return
    functions.append(scope.function)
    made = global_of(module, name)
    first = next(s for s in scope.function.body if not _is_docstring(s))
    module.plan.edits.before.setdefault(first, []).insert(0, New(scope.source.segment(made)))
    assert isinstance(made, ast.Assign) and isinstance(made.value, ast.expr)
    module.decide(made.value, name, "one in each kernel", "Beta 1 kept its state from one traced kernel to the next")


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
