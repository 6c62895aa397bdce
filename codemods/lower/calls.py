"""Calls: of the module's own functions, of instructions with a destination, and of everything else."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from ..analysis.classes import class_named, is_subclassed
from ..analysis.instructions import COMMANDS, HANDLERS, Instruction
from ..analysis.maybe_tensors import is_container, may_be_no_number
from ..analysis.name_views import parameter_value
from ..analysis.part_arguments import access_of, handed_on
from ..analysis.scope import Scope
from ..analysis.tuple_parts import part_of
from ..expr.emission import Refuse
from ..expr.operands import Operand
from ..expr.tables import operator_token, refusal_note
from ..expr.values import (
    Absent,
    Container,
    DType,
    Flag,
    Function,
    Hbm,
    Object,
    Parameters,
    Python,
    Several,
    Slice,
    Tile,
    Value,
)
from ..plan.variants import MOST, copy_of, different_kinds, of_unknown_rank, variant_for
from ..project.launches_apart import is_launched_apart
from ..project.program import Module
from ..render.expressions import render
from ..render.foreign_indices import is_index, is_untold, may_be_slice
from ..render.index import index_value
from ..render.masks import mask_value
from ..render.open_ranks import assert_rank_of_part
from ..render.patterns import of_name, of_rank
from ..render.type_names import is_dtype
from ..rules.load_store import out_of_bounds, store
from ..rules.masks import masked
from ..rules.nested_functions import lift
from ..rules.psum_accumulation import check_call
from ..rules.random_numbers import random_seed
from ..syntax import codes
from ..syntax.codes import NESTED_FUNCTIONS as HELPERS
from ..syntax.codes import UNSUPPORTED
from ..syntax.names import dotted
from ..syntax.nodes import by_parameter, default_values
from .access import operand
from .alternatives import either_place
from .call_results import of_call
from .computations import is_computation
from .compute import bound_call, place, temporary
from .kept_functions import kept_store, kept_value
from .listed_tiles import append_tile, appends_tile
from .operator_values import operator_argument
from .tensor_lists import append, either_tensor, listed_tensors

LOAD_STORE = codes.LOAD_STORE
DESTINATION = codes.ISA_DESTINATION


def module_function(scope: Scope, node: ast.Call) -> Function | None:
    """The function whose source is at hand that a call refers to: nested, of the module, or of another one.

    A kernel that host code launches is none: what it gets are the user's arrays.
    """
    found = _function(scope, node)
    launched = (
        found is not None and not scope.on_device and (found.home or scope.module).symbols.is_launchable(found.node)
    )
    return None if launched else found


def _function(scope: Scope, node: ast.Call) -> Function | None:
    chain = dotted(node.func)
    if chain is None:
        return None
    alias = scope.module.symbols.function_names.get(chain[0]) if not chain[1] else None
    if alias is not None:
        return Function(alias, chain[0])
    value = scope.names.env.get(chain[0])
    if value is not None:
        return value if isinstance(value, Function) and not chain[1] else None
    function = scope.module.symbols.functions.get(chain[0]) if not chain[1] else None
    if function is not None:
        return Function(function, chain[0])
    other = scope.module.program.function(scope.module, node.func)
    return Function(other[1], scope.source.segment(node.func), other[0]) if other is not None else None


def call_value(scope: Scope, node: ast.Call) -> tuple[str, Value]:
    """A call of one of the module's functions: its text, and what it returns."""
    function = module_function(scope, node)
    assert function is not None
    if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
        raise Refuse(node, codes.LANGUAGE, "a call with starred arguments", "write the arguments out")
    given = [_argument(scope, function, *argument) for argument in by_parameter(function.node, node)]
    told = _left_out(scope, function, {a.parameter for a in given})
    told |= {a.parameter: parameter_value(a.parameter, a.value) for a in given if type(a.value) is not Value}
    parts = _parts(scope, function, given, told)
    number, first, own = _variant(scope, node, function, told)
    texts = [_argument_text(scope, argument, own.get(argument.parameter)) for argument in given]
    if isinstance(scope.names.env.get(function.name), Function):
        name, closure = lift(scope, function, first)
        texts += closure
    else:
        name = function.name
    if number:
        name = _variant_name(scope, node, function, number)
    home = function.home or scope.module
    variant = copy_of(home, function.node, number)
    analysis = scope.walk_function(variant, first, function.home)
    for extra in home.summaries.handed.get(variant, []):
        if extra not in parts:
            raise Refuse(node, HELPERS, f"'{function.name}' is called with another part of a tensor", "pass the tensor")
        texts.append(f"{extra}={parts[extra]}")
    tensors = {a.parameter: a.view for a in given}
    numbers = {a.parameter: a.text for a in given if a.view is None}
    check_call(scope, node, function.node, analysis.groups, tensors, numbers)
    return f"{name}({', '.join(texts)})", analysis.returned or Value()


def nested_call(scope: Scope, node: ast.Call) -> str | None:
    """The text of a call of a nested function, which moves out and gets its closure as arguments."""
    if not isinstance(node.func, ast.Name) or not isinstance(scope.names.env.get(node.func.id), Function):
        return None
    if module_function(scope, node) is None:
        message = f"'{node.func.id}' is a kernel in a function that is kernel code, too"
        raise Refuse(node, HELPERS, message, "make it a function of the module; then migrate it")
    return call_value(scope, node)[0]


@dataclass(frozen=True)
class _Argument:
    """One argument of a call: the parameter that gets it, and what it is. ``view`` is set for tensors."""

    parameter: str
    keyword: str | None
    view: Operand | None
    text: str
    value: Value


def _parts(scope: Scope, function: Function, given: list[_Argument], told: dict[str, Value]) -> dict[str, str]:
    """The arguments that parts of tensors bring along, by parameter; what the function is told knows of them then."""
    further: dict[str, str] = {}
    if isinstance(scope.names.env.get(function.name), Function):
        return further  # a nested function has its closure to carry
    for argument in given:
        access = access_of(argument.view) if argument.view is not None else None
        if access is not None and isinstance(argument.value, Hbm | Tile):
            home, name = function.home or scope.module, argument.parameter
            value, texts = handed_on(name, argument.value, access)
            if home.program.asked(_are_taken, home, frozenset(texts)):
                told[name] = parameter_value(name, argument.value)
                continue
            told[name] = value
            further |= texts
    return further


def _left_out(scope: Scope, function: Function, given: set[str]) -> dict[str, Value]:
    """What the parameters are that a call leaves at their defaults."""
    told: dict[str, Value] = {}
    for argument, default in default_values(function.node).items():
        if argument.arg not in given:
            constant = _constant_argument(default)
            told[argument.arg] = constant or (DType(argument.arg) if is_dtype(scope, default) else Python())
    return told


def _variant(scope: Scope, node: ast.Call, function: Function, told: Parameters) -> tuple[int, Parameters, Parameters]:
    """The copy of the function that a call uses, what its parameters are there, and what those of the call's kind are.

    Kinds that are written alike share a copy, which is written as the first of them.
    """
    module = function.home or scope.module
    found = module.program.told(_called, module, function.node, told)
    nested = isinstance(scope.names.env.get(function.name), Function)
    if found.number is None or (found.number and (nested or not module.options.enabled(HELPERS))):
        names = different_kinds(function.node, found.first, told) or of_unknown_rank(told) or list(told)
        raise Refuse(
            node,
            HELPERS,
            f"'{function.name}' is called with different kinds of '{names[0]}'",
            "split the function: the rewrite depends on what a parameter is",
        )
    return found.number, found.copy, found.own


@dataclass(frozen=True)
class _Called:
    """The copy of a function that a call uses; the parameters of the first one, of this one, and of the call's kind."""

    number: int | None
    first: Parameters
    copy: Parameters
    own: Parameters


def _called(module: Module, function: ast.FunctionDef, told: Parameters) -> _Called:
    module.summaries.calls.setdefault(function, []).append(told)
    nodes = [function, *module.summaries.copies.get(function, [])]
    walked = [module.summaries.analyzed[n].parameters for n in nodes if n in module.summaries.analyzed]
    variants = module.premises.variants.get(function) or walked or [told]
    variants = [{}] if is_launched_apart(module, function) else variants  # a launch gives what no call tells
    kind = variant_for(function, variants, told)
    shared = module.premises.shared.get(function)
    number = kind if shared is None or kind is None else shared[kind] if kind < len(shared) else None
    if kind is None or number is None or (shared is not None and number >= MOST):
        return _Called(None, variants[0], {}, {})
    copy = variants[number if shared is None else shared.index(number)]
    return _Called(number, {} if number == 0 else variants[0], copy, variants[kind])


def _are_taken(module: Module, names: frozenset[str]) -> bool:
    return not names.isdisjoint(module.names.taken)


def _variant_name(scope: Scope, node: ast.Call, function: Function, number: int) -> str:
    """How the caller names a copy of a function; one of another module is imported like the function."""
    home = function.home or scope.module
    name = home.whole.edits.renamed[copy_of(home, function.node, number)]
    if function.home is None:
        return name
    before, dot, _ = function.name.rpartition(".")
    if dot:
        return f"{before}.{name}"
    statement = scope.module.program.links[scope.module.path][function.name].statement
    if not isinstance(statement, ast.ImportFrom) or statement not in scope.source.tree.body:
        what = f"'{function.name}' is called with several kinds of tensors, and imported in a function"
        raise Refuse(node, HELPERS, what, "import it at the top of the module")
    needed: str = scope.module.program.told(_needed_name, scope.module, statement, name)
    return needed


def _needed_name(module: Module, statement: ast.ImportFrom, name: str) -> str:
    names = module.names.needed_names.setdefault(statement, {})
    if name not in names:
        names[name] = module.fresh(name)
    return names[name]


def _argument_text(scope: Scope, argument: _Argument, first: Value | None) -> str:
    """The argument as the call passes it; a tensor whose rank is not known is asserted to have the parameter's."""
    text, view = argument.text, argument.view
    if view is not None and view.dims is None and isinstance(first, Hbm | Tile) and first.dims is not None:
        text = of_rank(scope, view, len(first.dims)).text(())
    return f"{argument.keyword}={text}" if argument.keyword else text


def called_tensor(scope: Scope, node: ast.Call) -> Operand | None:
    """The tensor that a call of one of the module's functions returns, under a name; ``None`` for anything else."""
    if module_function(scope, node) is None:
        return None
    if node not in scope.output.called:
        text, value = call_value(scope, node)
        if isinstance(value, Hbm | Tile):
            function = module_function(scope, node)
            name = scope.fresh(f"{function.node.name if function else 'call'}_result")
            scope.emit(f"{name} = {text}")
            home = function.home if function is not None and function.home else scope.module
            text, value = name, of_call(scope, home, value, name)
            scope.names.env[name] = value
        scope.output.called[node] = text, value
    text, value = scope.output.called[node]
    return of_name(scope, text, value) if isinstance(value, Hbm | Tile) else None


def _argument(scope: Scope, function: Function, parameter: str, keyword: str | None, node: ast.expr) -> _Argument:
    if index_value(scope, node) is not None:
        raise Refuse(node, codes.INDEX_VECTORS, "an index vector is passed to a function", "pass its start and size")
    mask = mask_value(scope, node)
    if mask is not None and mask.of_vectors:
        raise Refuse(node, codes.MASKS, "a mask is passed to a function", "pass the clamped sizes")
    view = temporary(scope, node) if is_computation(scope, node) else operand(scope, node)
    if view is not None:
        if view.pattern is not None:
            raise Refuse(node, codes.INDEX_VECTORS, "an access pattern is passed to a function", "pass the tensor")
        assert_rank_of_part(scope, view)
        part = view.items is not None
        value = replace(view.value, dims=view.known_dims, view=True) if part else view.value
        return _Argument(parameter, keyword, view, view.text(()), value)
    if is_index(function.node, parameter) and may_be_slice(scope, node):
        what = f"it is not known what '{ast.unparse(node)}' is, with which '{function.name}' indexes"
        raise Refuse(node, codes.INDEX_VECTORS, what, "pass a number")
    made = tuple_value(scope, node)
    if made is not None:
        return _Argument(parameter, keyword, None, *made)
    known = Value() if _is_field(scope, node) else _python_argument(scope, node)
    home = function.home or scope.module
    text = operator_argument(scope, home, function.node, parameter, node) or render(scope, node)
    return _Argument(parameter, keyword, None, text, known)


def _is_field(scope: Scope, node: ast.expr) -> bool:
    """Is an argument a field of an object, which may be a tensor as well as a number?"""
    chain = dotted(node) if isinstance(node, ast.Attribute) else None
    of_tensor = chain is not None and chain[1][-1] in ("shape", "dtype", "itemsize", "ndim")
    return chain is not None and not of_tensor and type(scope.names.env.get(chain[0])) in (Python, Absent, Object)


def _constant_argument(node: ast.expr) -> Value | None:
    """``None``, ``True`` and ``False``, which decide what a function does."""
    if isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, bool)):
        return Absent() if node.value is None else Flag(value=node.value)
    return None


def _python_argument(scope: Scope, node: ast.expr) -> Value:
    constant = _constant_argument(node) or listed_tensors(scope, node)
    if constant is not None:
        return constant
    value = scope.names.env.get(node.id) if isinstance(node, ast.Name) else constructed(scope, node)
    if isinstance(value, DType | Absent | Flag | Object) or (type(value) is Python and value.optional):
        return value
    if isinstance(value, Slice) or (isinstance(node, ast.Call) and scope.qualified(node.func) == "nl.ds"):
        return Value()
    if not may_be_no_number(scope, node):
        return Value() if is_untold(scope, node) else Python()
    return Container() if is_container(scope, node) else Value()


def _whole_tensor(scope: Scope, node: ast.expr) -> Hbm | Tile | None:
    """The tensor of one block that a name stands for."""
    value = scope.names.env.get(node.id) if isinstance(node, ast.Name) else None
    if isinstance(value, Tile):
        return None if value.blocks else value
    return value if isinstance(value, Hbm) else None


def constructed(scope: Scope, node: ast.expr) -> Object | None:
    """What a constructor of a dataclass or named tuple makes, when it gets whole tensors by their names."""
    cls = class_named(scope.module, node.func) if isinstance(node, ast.Call) else None
    if cls is None or not isinstance(node, ast.Call) or any(isinstance(a, ast.Starred) for a in node.args):
        return None
    if not (cls.is_dataclass or cls.is_named_tuple) or "__init__" in cls.methods or is_subclassed(cls):
        return None
    given = dict(zip(cls.fields, node.args, strict=False))
    given |= {k.arg: k.value for k in node.keywords if k.arg is not None}
    written = set() if cls.is_frozen else scope.module.program.assigned_attributes
    tensors = []
    for name, argument in given.items():
        value = _whole_tensor(scope, argument)
        if value is not None and name in cls.fields and name not in written:
            tensors.append((name, replace(value, origin=None)))
    return Object(tensors=tuple(tensors)) if tensors else None


def returned_value(scope: Scope, node: ast.expr) -> tuple[str, Value]:
    """What ``return node`` returns, as text and as a kind."""
    if is_computation(scope, node):
        view = temporary(scope, node)
        return view.text(()), view.value
    if isinstance(node, ast.Tuple):
        parts = [returned_value(scope, element) for element in node.elts]
        inner = ", ".join(text for text, _ in parts) + ("," if len(parts) == 1 else "")
        parenthesized = _in_brackets(scope.source.segment(node))
        return (f"({inner})" if parenthesized else inner), Several(tuple(value for _, value in parts))
    if isinstance(node, ast.Call) and module_function(scope, node) is not None:
        return scope.output.called.get(node) or call_value(scope, node)
    if isinstance(node, ast.IfExp):
        either = either_tensor(scope, node)
        if either is not None:
            return either
    tensor = operand(scope, node)
    if tensor is not None:
        if tensor.items is not None or tensor.pattern is not None:
            raise Refuse(node, codes.INDEX_VECTORS, "a part of a tensor is returned", "return the tensor")
        return tensor.text(()), tensor.value
    made = tuple_value(scope, node)
    return made if made is not None else (render(scope, node), _python_argument(scope, node))


def _in_brackets(text: str) -> bool:
    """Does a tuple stand in brackets of its own: ``(a, b)``, not ``(a, b), c``?"""
    try:
        return text.startswith("(") and isinstance(ast.parse(text[1:-1], mode="eval").body, ast.Tuple)
    except SyntaxError:
        return False


def tuple_value(scope: Scope, node: ast.expr) -> tuple[str, Value] | None:
    """A tuple that holds tensors, as text and as a kind: under a name, made, or given by a call."""
    if isinstance(node, ast.Tuple):
        plain = not any(isinstance(e, ast.Starred) for e in node.elts) and listed_tensors(scope, node) is None
        return returned_value(scope, node) if plain and any(_holds_tensor(scope, e) for e in node.elts) else None
    found = scope.output.called.get(node) if isinstance(node, ast.Call) else part_of(scope, node)
    return found if found is not None and isinstance(found[1], Several) else None


def _holds_tensor(scope: Scope, node: ast.expr) -> bool:
    """Is an element of a tuple a tensor, or a tuple that holds one?"""
    return operand(scope, node) is not None or is_computation(scope, node) or tuple_value(scope, node) is not None


def list_both(scope: Scope, a: Value | None, b: Value | None) -> None:
    """Ask for lists of blocks where one name means either of two tensors."""
    if not (isinstance(a, Tile) and isinstance(b, Tile) and len(a.blocks) == len(b.blocks) > 0):
        return
    if a.declaration is not None and b.declaration is not None and a.declaration.node is b.declaration.node:
        return  # both sides leave the tensor what it was
    for value in (a, b):
        if value.style != "list" and value.declaration is not None and scope.module.options.blocks == "auto":
            declared = value.declaration.node
            assert isinstance(declared, ast.expr)
            scope.module.plan.blocked[scope.module.position(declared)] = (
                "its name, or a result, is another tensor in a branch"
            )


def call_statement(scope: Scope, node: ast.Call) -> None:
    """A call that stands alone."""
    name = scope.qualified(node.func)
    if either_place(scope, node, lambda chosen: call_statement(scope, chosen)):
        return
    if name == "nl.store":
        _store(scope, node)
    elif name == "nisa.dma_copy":
        _dma_copy(scope, node)
    elif name == "nl.random_seed":
        _random_seed(scope, node)
    elif name == "nl.device_print":
        _device_print(scope, node)
    elif name in COMMANDS:
        code, order, handler = COMMANDS[name]
        scope.apply(code, node)
        with masked(scope, node):
            dst, instruction = handler(bound_call(scope, node, name), order)
            place(scope, node, instruction, dst)
    elif name in HANDLERS and any(keyword.arg in ("reduce_res", "reduce_cmd") for keyword in node.keywords):
        temporary(scope, node)  # what it reduces, into a tile or the registers, is what counts
    elif name in HANDLERS:
        raise Refuse(node, DESTINATION, f"the result of {name} is not used", "remove the call, or assign its result")
    elif name is not None and name.partition(".")[0] in ("nl", "nisa", "ncc", "nccl", "nki"):
        raise Refuse(node, UNSUPPORTED, f"{name}(...) is not rewritten yet", refusal_note(name))
    elif module_function(scope, node) is not None:
        text, _ = call_value(scope, node)
        scope.emit(text)
    elif appends_tile(scope, node):
        append_tile(scope, node)
    elif not append(scope, node):
        scope.emit(render(scope, node))


def _random_seed(scope: Scope, node: ast.Call) -> None:
    random_seed(scope, node)


def _device_print(scope: Scope, node: ast.Call) -> None:
    """``nl.device_print(prefix, x)`` of all of a part of a tensor."""
    call = bound_call(scope, node, "nl.device_print")
    if call.has("mask"):
        raise Refuse(node, UNSUPPORTED, "nl.device_print with a mask", "print the part that the mask leaves")
    tensor = call.tensor("x")
    if tensor.space == "hbm":
        raise Refuse(node, UNSUPPORTED, "nl.device_print of a tensor in HBM", "load it, and print the tile")
    scope.apply(codes.NL_COMPUTE, node)
    scope.emit(f"{scope.nl}.device_print({render(scope, call.arguments['prefix'])}, {tensor.text(())})")


def _store(scope: Scope, node: ast.Call) -> None:
    scope.apply(LOAD_STORE, node)
    call = bound_call(scope, node, "nl.store")
    with masked(scope, node):
        dst, value = store(call, kept_value(call))
        given: list[tuple[str, Operand | str]] = [("src", value), *out_of_bounds(call)]
        stays = kept_store(call, dst, value)
        place(scope, node, Instruction("dma_copy", given, value.dims, value.dtype, stays=stays), dst)


def _dma_copy(scope: Scope, node: ast.Call) -> None:
    call = bound_call(scope, node, "nisa.dma_copy")
    scope.apply(DESTINATION, node)
    with masked(scope, node):
        dst, src = call.tensor("dst"), call.tensor("src")
        given: list[tuple[str, Operand | str]] = [("src", src)]
        for name in ("dst_rmw_op", "oob_mode", "dge_mode"):
            if not call.has(name):
                continue
            value = call.arguments[name]
            token = operator_token(scope.qualified(value) or "") if name == "dst_rmw_op" else None
            given.append((name, f"{scope.nl}.{token}" if token else render(scope, value)))
        place(scope, node, Instruction("dma_copy", given, src.dims, src.dtype), dst)
