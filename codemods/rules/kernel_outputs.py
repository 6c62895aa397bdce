"""NKI036 kernel-outputs: what a kernel writes to a parameter is returned, or left alone: nothing else comes back.

Why: kernels of ``nki_jit``, ``nki.trace`` and ``nki.jit(kernel_return=False)`` wrote to tensors that they got, and
those with ``nt.mutable_tensor`` parameters did, too. The parameters of a Beta 2 kernel are inputs: a store into one is
lost, and the launch gets zeros. The store, or the call of the function that stores, stays as it was under a finding, so
that the kernel does not compile until it returns its output. That is so for parts and views of a parameter, for other
names of it and for kernels that return another tensor, whether or not a launch is among the files.

A launch gets the tensors that a kernel returns, in tuples and lists: a number, ``None``, a string or a dictionary
beside them is dropped without a word, so that ``kernel(x)[0]`` of a kernel that returned ``(a, None)`` is a row of
``a``. Such a return stays as it was under a finding, and the kernel stops there.

*Review* (``--unsafe`` writes it), two things. A kernel of those three first decorators makes its outputs and returns
them, and launches take them (:mod:`~..plan.returned_outputs`): ``k[grid](x, out)`` becomes ``out[...] = k[grid](x,
out)``, and one whose result is used stays. That is right if the kernel writes all of them, for what it does not write
no longer keeps what the caller put there, and if every launch takes the result: one that these files do not show would
go on to read an array that nobody writes. Only kernels that do nothing else with the parameter than to write to it, in
functions that they call, too, and that these files do nothing else with than to launch them.

The stores of a function without a decorator, a launch or a caller that loads from one parameter, stores into another
and returns nothing: right if kernels call it, wrong if it is launched. Manual: all others.

Source: NKI 2.26.1, nki.jit (inputs are immutable); aws-neuron/nki-samples, issue 134 (kernels that silently give
zeros); KLR, ``Trace`` (what a kernel returns besides tensors is dropped).
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..expr.emission import Refuse
from ..plan.returned_outputs import returnable
from ..project.launches_apart import called_by_kernel
from ..project.written_parameters import Summaries, Summary, Write, loads_parameter, returns_something
from ..syntax import codes
from ..syntax.names import dotted
from ..syntax.node_index import of_kinds

if TYPE_CHECKING:
    from ..project.program import Module, Program

CODE = codes.KERNEL_OUTPUTS
APPLICABILITY = "manual"
GOLDENS = ("written_parameter",)

_HELP = "make the output with nl.ndarray(..., buffer=nl.shared_hbm), store there, return it, and take it at the launch"


def lost_writes(program: Program) -> dict[ast.stmt, Refuse]:
    """The statements of kernels that write to what they got, with what is said of each."""
    summaries, returned = Summaries(program), returnable(program)
    found: dict[ast.stmt, Refuse] = {}
    for module in program.modules.values():
        for function in [*module.symbols.functions.values(), *(kernel for _, kernel in module.symbols.inner_kernels)]:
            if function in program.kernel_code:
                summary = summaries.of(module, function)
                for write, refusal in _refusals(module, function, summary):
                    said = _returned(refusal) if function in returned else refusal
                    found.setdefault(write.statement, said)
    return found


def _refusals(module: Module, function: ast.FunctionDef, summary: Summary) -> list[tuple[Write, Refuse]]:
    if not module.options.enabled(CODE):
        return []
    if is_launched(module, function):
        said = [(write, _lost(function, write)) for write in summary.writes]
        return said or ([] if returns_something(function) else [(w, _hidden(function, w)) for w in summary.hidden])
    kind = module.program.kernel_code.kind(function)
    if kind == "traced" and not module.options.unsafe and _may_be_launched(module, function):
        return [(write, _perhaps(function, write)) for write in summary.writes]
    return []


def is_launched(module: Module, function: ast.FunctionDef) -> bool:
    """Does host code launch a function, or is it decorated for that and called by no kernel?"""
    if module.program.kernel_code.kind(function) == "launched":
        return True
    return _is_kernel(module, function) and not called_by_kernel(module, function)


def is_traced(module: Module, function: ast.FunctionDef) -> bool:
    """Does Beta 1 read a function as a kernel: is it decorated, or, called by no kernel, given to what launches it?

    Its loops over ``range`` run as ``nl.sequential_range`` then; a function that kernels call is plain Python.
    """
    launched = module.program.kernel_code.kind(function) == "launched"
    return module.symbols.is_kernel(function) or (launched and not called_by_kernel(module, function))


def _is_kernel(module: Module, function: ast.FunctionDef) -> bool:
    """Is a function decorated as one that host code launches, be it through ``nki.trace`` of the first releases?"""
    traced = any(module.symbols.decorator(decorator) == "nki.trace" for decorator in function.decorator_list)
    return traced or module.symbols.is_launchable(function)


def _lost(function: ast.FunctionDef, write: Write) -> Refuse:
    message = (
        f"the kernel '{function.name}' writes to its parameter '{write.parameter}', and Beta 2 gives back only what a "
        "kernel returns"
    )
    return Refuse(write.statement, CODE, message, _HELP)


def _returned(lost: Refuse) -> Refuse:
    """What is said of a write to an output that the rewrite can return."""
    help = "--unsafe returns it: right if the kernel writes all of it, and every launch takes what it returns"
    return Refuse(lost.node, lost.code, lost.message, help, "review")


def _hidden(function: ast.FunctionDef, write: Write) -> Refuse:
    message = (
        f"the kernel '{function.name}' returns nothing, and hands its parameter '{write.parameter}' to code that these "
        "files do not show: Beta 2 gives back only what a kernel returns"
    )
    return Refuse(write.statement, CODE, message, _HELP)


def _perhaps(function: ast.FunctionDef, write: Write) -> Refuse:
    message = (
        f"'{function.name}' returns nothing and writes to its parameter '{write.parameter}', and these files do not "
        "show whether it is launched: Beta 2 gives back only what a kernel returns"
    )
    return Refuse(
        write.statement, CODE, message, f"--unsafe writes it: right if kernels call it; else {_HELP}", "review"
    )


def _may_be_launched(module: Module, function: ast.FunctionDef) -> bool:
    """Does a function look like a kernel, and does nothing in these files name it?"""
    if returns_something(function) or function.decorator_list or not loads_parameter(module, function):
        return False
    users = [(module, function.name), *module.program.users(module, function.name)]
    return not any(_names(user.source.tree, name) for user, name in users)


def _names(tree: ast.Module, name: str) -> bool:
    """Does anything in a module name ``name``, or ``module.name``?"""
    chain = tuple(name.split("."))
    found = (dotted(n) for n in of_kinds(tree, ast.Name, ast.Attribute))
    return any(parts is not None and (parts[0], *parts[1]) == chain for parts in found)
