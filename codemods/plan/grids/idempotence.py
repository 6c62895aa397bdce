"""Does a kernel do the same however often it runs: does it read nothing that it writes, in HBM, where programs meet?

That is proved of source in which every output is a tensor that the kernel declares, which is only stored to, reshaped
and returned; everything else that is written is a tile of the kernel's own, and every call computes from its arguments
alone. All programs then store the same values. Anything else stands in the way.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...project.program import Program
from ...syntax.node_index import walk
from ...syntax.nodes import parents_of
from .questions import Function, meant

_COMPUTING = frozenset(
    f"nl.{name}"
    for name in (
        "abs add affine_range arange arctan bitwise_and bitwise_or bitwise_xor broadcast_to copy divide ds equal erf "
        "erf_dx exp expand_dims floor full gelu gelu_apprx_sigmoid gelu_apprx_tanh gelu_dx greater greater_equal "
        "invert left_shift less less_equal load load_transpose2d log logical_and logical_not logical_or logical_xor "
        "matmul max maximum mean min minimum mish mod multiply ndarray negative not_equal ones par_dim power prod "
        "reciprocal relu right_shift rsqrt sequential_range sigmoid sign silu silu_dx sin softmax softplus sqrt square "
        "static_cast static_range subtract sum tanh transpose where zeros"
    ).split()
) | frozenset(
    f"nisa.{name}"
    for name in (
        "activation activation_reduce affine_select bn_aggr bn_stats get_nc_version iota max8 memset nc_find_index8 "
        "nc_matmul nc_transpose range_select reciprocal scalar_tensor_tensor tensor_copy tensor_partition_reduce "
        "tensor_reduce tensor_scalar tensor_scalar_reduce tensor_tensor tensor_tensor_scan"
    ).split()
)
"""Functions that compute from their arguments and give the result back. (No random numbers, no output.)"""

_PYTHON = set("abs bool enumerate float int isinstance len list max min range slice str sum tuple zip".split())
_CREATING = {"nl.ndarray", "nl.zeros", "nl.ones", "nl.full"}
_ON_CHIP = {"nl.sbuf", "nl.psum"}
_IN_HBM = {"nl.shared_hbm", "nl.private_hbm", "nl.hbm"}
_FACTS = {"shape", "dtype", "ndim"}
_SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef | ast.Global | ast.Nonlocal


def obstacle(program: Program, kernel: Function) -> str:
    """What keeps a kernel from being known to do the same however often it runs; empty where it is known."""
    pending, seen = [kernel], {kernel[1]}
    while pending:
        function = pending.pop()
        reading = _Reading(program, function, declares=function is kernel)
        found = next(reading.obstacles(), "")
        if found:
            return found
        pending += [callee for callee in reading.callees if callee[1] not in seen]
        seen |= {callee[1] for callee in reading.callees}
    return ""


class _Reading:
    """One function: what it binds, and what it writes to; only the kernel itself ``declares`` what is stored to."""

    def __init__(self, program: Program, function: Function, declares: bool) -> None:
        self.program, (self.module, self.function) = program, function
        self.nodes = [node for statement in self.function.body for node in walk(statement)]
        self.parents = parents_of(self.function)
        self.callees: list[Function] = []
        self.bound: dict[str, list[ast.expr | None]] = {}
        for node in walk(self.function):
            if isinstance(node, ast.arg):
                self.bound.setdefault(node.arg, []).append(None)
            elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                values = [] if isinstance(self.parents[node], ast.AugAssign) else [self._value(node)]
                self.bound.setdefault(node.id, []).extend(values)
        self.outputs = self._outputs() if declares else set()

    def _value(self, target: ast.Name) -> ast.expr | None:
        """What a plain assignment gives a name; ``None`` for loops, parameters and the like."""
        statement = self.parents[target]
        if isinstance(statement, ast.Assign) and statement.targets == [target]:
            return statement.value
        return statement.value if isinstance(statement, ast.AnnAssign) else None

    def _outputs(self) -> set[str]:
        """The names of tensors in HBM that the function declares, and of what it reshapes them to."""
        values = {name: found[0] for name, found in self.bound.items() if len(found) == 1}
        outputs = {name for name, value in values.items() if self._space(value) in _IN_HBM}
        while True:
            views = {name for name, value in values.items() if _reshaped(value) in outputs}
            if views <= outputs:
                return outputs
            outputs |= views

    def _space(self, value: ast.expr | None) -> str:
        """The memory of the tensor that a call creates."""
        if (
            not isinstance(value, ast.Call)
            or self.module.symbols.host_name(value.func) not in _CREATING
            or len(value.args) > 2
        ):
            return ""
        given = next((keyword.value for keyword in value.keywords if keyword.arg == "buffer"), None)
        return "nl.sbuf" if given is None else self.module.symbols.host_name(given)

    def obstacles(self) -> Iterator[str]:
        for node in self.nodes:
            found = self._of_node(node)
            if found:
                yield f"line {getattr(node, 'lineno', self.function.lineno)} of '{self.function.name}' {found}"

    def _of_node(self, node: ast.AST) -> str:
        if isinstance(node, _SCOPES):
            return "defines a function, or rebinds a name of the module"
        if isinstance(node, ast.Name) and node.id in self.outputs and isinstance(node.ctx, ast.Load):
            return "" if self._only_stored(node) else f"may read '{node.id}', which the kernel writes"
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            return next(filter(None, (self._of_target(t, isinstance(node, ast.AugAssign)) for t in targets)), "")
        return self._of_call(node) if isinstance(node, ast.Call) else ""

    def _only_stored(self, use: ast.Name) -> bool:
        """Is an output asked for its shape, stored to, reshaped under another name, or returned here?"""
        above = self.parents[use]
        if isinstance(above, ast.Attribute):
            return above.attr in _FACTS or self._names_view(above)
        if isinstance(above, ast.Subscript) and above.value is use:
            use, above = above, self.parents[above]  # type: ignore[assignment]  # the module has no parent
        if isinstance(above, ast.keyword):
            return above.arg == "dst" and self._is_store(self.parents[above])
        if isinstance(above, ast.Call):
            return self._is_store(above) and above.args[:1] == [use]
        while isinstance(above, ast.Tuple | ast.List) and isinstance(use, ast.Name):
            above = self.parents[above]
        return isinstance(above, ast.Return) and isinstance(use, ast.Name)

    def _names_view(self, method: ast.Attribute) -> bool:
        statement = self.parents[self.parents[method]]
        target = next(iter(_targets(statement)), None)
        return method.attr == "reshape" and isinstance(target, ast.Name) and target.id in self.outputs

    def _is_store(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and self.module.symbols.host_name(node.func) == "nl.store"

    def _of_target(self, target: ast.expr, augmented: bool) -> str:
        if isinstance(target, ast.Tuple | ast.List):
            return next(filter(None, (self._of_target(t, augmented) for t in target.elts)), "")
        if isinstance(target, ast.Name) and not augmented:
            return ""
        base = target
        while isinstance(base, ast.Subscript):
            base = base.value
        values = self.bound.get(base.id, []) if isinstance(base, ast.Name) else []
        counts = base is target and all(isinstance(value, ast.Constant) for value in values)
        own = bool(values) and (counts or all(self._space(value) in _ON_CHIP for value in values))
        return "" if own else f"writes to '{ast.unparse(base)}'"

    def _of_call(self, call: ast.Call) -> str:
        name = self.module.symbols.host_name(call.func)
        if name == "nl.store":
            base = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "dst"), call)
            base = base.value if isinstance(base, ast.Subscript) else base
            is_output = isinstance(base, ast.Name) and base.id in self.outputs
            return "" if is_output else f"stores to '{ast.unparse(base)}', which the kernel does not declare"
        if name in _COMPUTING:
            return next((f"writes to {k.arg}=" for k in call.keywords if k.arg in (None, "dst", "out")), "")
        if name.startswith("math."):
            return ""
        if isinstance(call.func, ast.Attribute) and call.func.attr == "reshape" and not name:
            return ""
        if isinstance(call.func, ast.Name) and call.func.id in _PYTHON - self.module.symbols.rebound - {*self.bound}:
            return ""
        callee = meant(self.program, self.module, call.func)
        if callee is not None and not (isinstance(call.func, ast.Name) and call.func.id in self.bound):
            self.callees.append(callee)
            return ""
        return f"calls {ast.unparse(call.func)}, of which it is not known that it only computes"


def _reshaped(value: ast.expr | None) -> str:
    """``t`` of ``t.reshape(...)``."""
    method = value.func if isinstance(value, ast.Call) else None
    is_name = isinstance(method, ast.Attribute) and method.attr == "reshape" and isinstance(method.value, ast.Name)
    return method.value.id if is_name else ""  # type: ignore[union-attr]  # a call of an attribute


def _targets(statement: ast.AST) -> list[ast.expr]:
    if isinstance(statement, ast.Assign):
        return statement.targets
    return [statement.target] if isinstance(statement, ast.AnnAssign) else []
