"""NKI005 data-types: numpy's data types become those of ``nki.language``, and their sizes numbers.

Why: Beta 2 refuses numpy data types, and kernels cannot use numpy at all. ``np.float32`` becomes ``nl.float32``,
``np.dtype(t).itemsize`` and ``nl.finfo(t).min`` numbers where the source tells the type. Where it does not
(``x.dtype``), the output calls a small function that looks the type up, as for ``getattr(nl, config.dtype)``. An array
of ``np.arange`` and of arithmetic on such arrays becomes a list that a loop fills, its ``.max()`` the largest element
of the list; ``np.prod`` of a part of a shape and ``math.prod`` are a small function, ``np.inf`` is ``math.inf``. A
number of a type, ``np.float32(0.1)``, is the number where only instructions get it, which round it so. One that the
module defines is ``float(np.float32(0.1))`` there: the front end of NKI, which knows Python's numbers only, takes any
other for ``None``.

Safe. Left alone: other uses of numpy in a kernel, and numbers of NumPy that the module defines and host code reads,
too, or the kernel computes with.

Source: NKI 2.28, "Data types": numpy types are not supported as arguments. KLR, ``interop/klr/gather.c``, ``value``.
"""

from __future__ import annotations

from ..syntax import codes

CODE = codes.DATA_TYPES
GOLDENS = ("numpy_dtypes", "number_tables")
