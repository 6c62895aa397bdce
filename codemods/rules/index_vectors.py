"""NKI024 index-vectors: subscripts of ``nl.arange`` and ``nl.mgrid`` become slices.

Why: Beta 2 has no index vectors. ``x[i * 128 + i_p, i_f]`` becomes ``x[nl.ds(i * 128, 128), 0:512]``; a subscript
that covers the whole tile disappears; an integer in a free dimension becomes a slice of width 1 where the dimension
has to stay; a broadcast along the free dimension becomes ``.ap`` with a step of 0. The vectors themselves are removed
with their last use.

Safe: the same elements in the same order. Left alone: strides (a stepped slice loses its stride in Beta 2), several
vectors in one dimension, permuted dimensions, runtime values as indices: write these as ``.ap(...)``.

Source: NKI migration guide, "Update indexing syntax for mgrid and arange".
"""

CODE = "NKI024"
GOLDENS = ("index_vectors", "index_three_axes", "broadcast")
