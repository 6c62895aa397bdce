"""NKI024 index-vectors: subscripts of ``nl.arange`` and ``nl.mgrid`` become slices or ``.ap(...)``.

Why: Beta 2 has no index vectors. ``x[i * 128 + i_p, i_f]`` becomes ``x[nl.ds(i * 128, 128), 0:512]``; a subscript
that covers the whole tile disappears; an integer in a free dimension becomes a slice of width 1 where the dimension
has to stay. Strides, slices with a step (which Beta 2 drops), several vectors in one dimension, permuted dimensions and
broadcasts along the free dimension become ``.ap(pattern=[[step, count], ...])``; an index tile becomes
``scalar_offset=`` or ``vector_offset=``; a subscript of a subscript becomes one. ``.view(dtype)`` names its
shape, of the whole tile: a part is cut from the view. What a function or method of the user's computes from vectors is
written where it is called, as its body says; so is that of a lambda, also in a dictionary.
Where a name is ``nl.arange(n)[None, :]`` with one ``n`` in one branch or
iteration, and with another in the next, ``n`` gets a name of its own. A store to ``a[i] if c else b[i]`` is one under
each condition. A name that is a part of one tensor in one branch, and another one in the other, gets names for tensor
and place beside it. The vectors, and functions that make them, go with their last use, with
them a comment right above or behind them that speaks of indices.

Safe: the same elements in the same order; where the source does not tell a tensor's rank, the kernel asserts the one
that the subscript means, and where the number of dimensions of a vector depends on sizes, those at which it is the
same as that of the others. An assertion of a function that is followed stands where it was called. Review: a part of
what a helper returns, a tile or a part of a tensor, is read from a copy, an instruction more. Left alone:
functions with loops or with choices that their arguments do not decide, strided or permuted partitions, and vectors
whose size or start may have changed since they were made.

Source: NKI migration guide, "Update indexing syntax for mgrid and arange".
"""

from ..syntax import codes

CODE = codes.INDEX_VECTORS
GOLDENS = (
    "index_functions",
    "mask_functions",
    "index_vectors",
    "index_three_axes",
    "index_strided",
    "stepped_slices",
    "index_flattened",
    "scalar_dynamic_access",
    "vector_dynamic_access",
    "masked_gather",
    "broadcast",
    "index_mixed",
    "reinterpreted",
    "made_vectors",
    "index_methods",
    "index_sizes",
)
