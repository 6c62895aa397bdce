"""NKI026 constants: ``nl.shared_constant(np.identity(n))`` becomes a trace-time identity of ``nki.tensor``.

Why: Beta 2 kernels cannot use numpy arrays; a constant is built with ``nki.tensor``. Zeros and ones are exact in
every type, so the constant keeps the type of the numpy array, and converts to the type of the tile that it is loaded
into. ``nl.shared_identity_matrix(n)`` names the type that it has by default.

``np.fromfunction(lambda i, j: (i == j).astype(t), shape)`` of one comparison of indices is filled by the kernel, with
``nisa.affine_select`` into SBUF and a DMA, in a support function. So are ``np.ones``, ``np.zeros``, and ``np.tril`` and
``np.triu`` of ones. ``verify`` sees these instructions more.

Safe for identities, comparisons of indices, and these. Left alone: other arrays (write them with ``nki.tensor.zeros``
or ``arange``, or pass them as an input).

Source: nl.shared_constant of the 2.28 API reference.
"""

from __future__ import annotations

import ast

from ..analysis.scope import Scope
from ..expr.emission import Refuse
from ..expr.operands import Operand
from ..expr.values import Hbm
from ..lower.access import OPERANDS
from ..lower.affine_constants import HELP, affine_constant
from ..lower.pattern_constants import PLAIN, TRIANGLES, pattern_constant
from ..render.expressions import render
from ..render.type_names import dtype_text
from ..syntax import codes

CODE = codes.CONSTANTS
GOLDENS = ("shared_constant",)
NAMES = ("nl.shared_constant", "nl.shared_identity_matrix")
_IDENTITIES = ("np.identity", "np.eye")


def constant_operand(scope: Scope, node: ast.Call) -> Operand:
    """A constant that is written where it is used, under a name of its own."""
    name = scope.fresh("constant")
    value = shared_constant(scope, name, node)
    scope.names.env[name] = value
    return Operand(name, value, value.dims, nl=scope.nl, axes=(None, None))


def shared_constant(scope: Scope, name: str, node: ast.Call) -> Hbm:
    """``name = nl.shared_constant(np.identity(n, dtype), dtype)``: emit Beta 2's constant, return what ``name`` is."""
    if scope.qualified(node.func) == "nl.shared_identity_matrix":
        return _identity_matrix(scope, name, node)
    given = {k.arg: k.value for k in node.keywords if k.arg}
    given.update(zip(("constant", "dtype"), node.args, strict=False))
    array = given.get("constant")
    if isinstance(array, ast.Call) and scope.qualified(array.func) == "np.fromfunction":
        return affine_constant(scope, name, array, given.get("dtype"))
    if isinstance(array, ast.Call) and scope.qualified(array.func) in (*PLAIN, *TRIANGLES):
        return pattern_constant(scope, name, array, given.get("dtype"))
    if not isinstance(array, ast.Call) or scope.qualified(array.func) not in _IDENTITIES:
        raise Refuse(node, CODE, "a constant that is not an identity", HELP)
    inner = {k.arg: k.value for k in array.keywords if k.arg}
    if array.args:
        inner["n"] = array.args[0]
    if "n" not in inner or len(array.args) > 1 or set(inner) - {"n", "N", "dtype"}:
        raise Refuse(node, CODE, "an identity that is not square", "build it with nki.tensor")
    scope.apply(CODE, node)
    size = render(scope, inner["n"])
    stored = dtype_text(scope, inner["dtype"]) if "dtype" in inner else f"{scope.nl}.float32"
    dtype = dtype_text(scope, given["dtype"]) if "dtype" in given else stored
    ntensor = scope.module.alias("ntensor")
    scope.emit(f"{name} = {scope.nl}.shared_constant({ntensor}.identity({size}, dtype={stored}))")
    return Hbm((size, size), dtype, converted=not scope.same_dtype(stored, dtype))


def _identity_matrix(scope: Scope, name: str, node: ast.Call) -> Hbm:
    """``name = nl.shared_identity_matrix(n, dtype)``, of which Beta 2 has the same."""
    given = {k.arg or "": k.value for k in node.keywords}
    given.update(zip(("n", "dtype"), node.args, strict=False))
    if "n" not in given or set(given) - {"n", "dtype"}:
        raise Refuse(node, CODE, "an identity matrix with more than a size and a type", "pass n and dtype only")
    scope.apply(CODE, node)
    size = render(scope, given["n"])
    dtype = dtype_text(scope, given["dtype"]) if "dtype" in given else f"{scope.nl}.uint8"
    scope.emit(f"{name} = {scope.nl}.shared_identity_matrix({size}, dtype={dtype})")
    return Hbm((size, size), dtype)


for _name in NAMES:
    OPERANDS[_name] = constant_operand
