"""Functions of ``nki.language`` that Beta 1 has, 0.2 has not, and a later version has again with the same meaning.

``nl.load(x[0:128])`` is one of them: what 0.3 gives is a new tile in SBUF with the shape and the type of its operand,
as Beta 1 gave it. Left out is what differs: comparisons (their type is that of the operands), ``rsqrt`` (on GpSimd from
0.5 on), ``copy`` (up to 0.5 in fp32, and where its operand is: a text does not show which one is meant), ``divide``,
``mod``, ``fmod`` and ``power`` with a number (known not to work on hardware), and what leaves PSUM where Beta 1 left
SBUF.

Source: the stubs of ``nki.language`` at v2.29.0 to v2.32.0; the note in ``nki/migration/index.rst`` at v2.32.0 on
0.2.0: who migrates to a current version can continue to use ``nl.load`` and ``nl.store``; release notes of 2.29 and
2.31 ("Known Issues"). All of them are marked experimental in the stubs of 0.6; the SDK's own examples
(``getting_started_*.py``, ``index-case-*.py``, ``layout-*.py``) were migrated with them.
"""

from __future__ import annotations

from .versions import V03, Version

ARITHMETIC = "add subtract multiply maximum minimum".split()
ACTIVATIONS = (
    "abs arctan erf erf_dx exp gelu gelu_apprx_sigmoid gelu_apprx_tanh gelu_dx log mish reciprocal relu sigmoid sign "
    "silu silu_dx sin softplus sqrt square tanh"
).split()
REDUCTIONS = "max min sum".split()
ROUNDED = "ceil cos floor tan trunc".split()
"""Functions of one tile that no instruction of 0.2 computes in fp32."""
NORMALIZATIONS = "rms_norm softmax var".split()

KEPT: dict[str, Version] = {
    "nl.load": V03,
    "nl.store": V03,
    **{f"nl.{name}": V03 for name in (*ARITHMETIC, *ACTIVATIONS, *REDUCTIONS, *ROUNDED, *NORMALIZATIONS)},
}
"""The version from which on each of them is there again; the parameters in use have the same names and order."""
