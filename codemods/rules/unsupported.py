"""NKI090 unsupported: names of Beta 1 that have no rewrite here.

Why: Beta 2 removed them, or the rewrite depends on more than the source shows. The finding says what Beta 2 offers
instead, from the table of every Beta 1 name.

Manual.

Source: the table of all Beta 1 names, runtime/spec/beta1*.py.
"""

from ..syntax import codes

CODE = codes.UNSUPPORTED
APPLICABILITY = "manual"
GOLDENS = ("segment_bounds",)
