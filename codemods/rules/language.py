"""NKI091 language: Python that Beta 2 kernels cannot contain.

Why: the Beta 2 compiler reads the source, and supports a subset of Python: no comprehensions, lambdas, ``try``,
``raise``, ``with``, ``global``, ``del``, starred expressions, imports or classes in functions, format specifiers, or
loops over ``zip`` and ``enumerate``. ``raise ValueError("text")`` becomes ``assert False, "text"``, a lone ``...``
goes, an import of NKI moves to the top of the module. A list comprehension of Python values becomes a loop that
appends, in front of its statement, one of a dict with strings for keys a loop that fills it; ``for i, x in
enumerate(a)`` becomes ``for i in range(len(a))``, ``zip`` likewise; ``for a, b in pairs`` takes its element apart in
the body, ``s, (p, q) = two(x)`` what ``two`` gives in two statements (:mod:`~..plan.nested_targets`); a shape in a
tuple is added to it, ``(2,) + x.shape`` (:mod:`~..plan.starred_shapes`); ``sum``, ``any``, ``all`` and ``sorted`` of a
sequence become loops in functions that the rewrite adds, and so do ``sorted``, ``min`` and ``max`` with a key, after a
loop that lists the keys. ``list(map(lambda x: f, a))`` and ``list(filter(lambda x: c, a))`` are loops like those of
comprehensions, which may run over a ``zip``.
A list of tiles that a kernel fills stays one: ``[nl.load(...) for i in a]`` becomes a loop that appends, and a tile in
``[nl.load(...), nl.load(...)]`` or ``tiles.append(nl.load(...))`` gets a name first (:mod:`~..lower.listed_tiles`).
A loop over tensors that are written out, ``for t, out in ((a, out_a), (b, out_b))``, becomes its passes, one by one, as
Beta 1 traces it (:mod:`~..plan.unrolling`). A size that is divided with ``/`` is divided with ``//``: Beta 2 wants an
integer (:mod:`~..plan.whole_sizes`), and a note says that the quotient is taken to be whole.
``y = nl.add(x, b) if b is not None else x`` becomes an ``if`` with an assignment in each branch, as does any statement
with a choice that could not be rewritten else (:mod:`~..plan.branched_choices`).
``isinstance(a, (A, B))`` becomes ``isinstance(a, A) or isinstance(a, B)``: with several types Beta 2 answers false.
``a & b`` of two truth values becomes ``a and b``, ``rate > 0`` of a parameter or field that is annotated as a float, or
that an instruction gets as ``operand0=``, ``float(rate) > 0.0``: the front end compares the types of numbers before
their values. A dictionary with whole numbers for keys, of which only elements are read, gets strings, and is read at
``str(key)``. A ``collections.deque`` that is used as a list becomes one (:mod:`~..lower.deques`).
``**kwargs`` whose keys the source shows become parameters (:mod:`~..plan.keyword_arguments`); other keys than those
that a function reads, passes on, or gets from a call in these files end with Python's own error. ``*args`` of a
function that is only called, always with the same number of arguments, become parameters, too
(:mod:`~..plan.variable_arguments`).

Safe: the kernel ends with the same text, the import binds the same name, the loops give the same elements in the same
order. Left alone, and reported where it stands: every other use (what a ``with`` holds is rewritten all the same),
lists of tiles that differ in shape, type or memory, are changed, or are handed on, other comprehensions of tensors,
comprehensions over the result of a call, keys that are no lambda, other ``*args``, dictionaries of keywords that are
used as such, and whatever else kernel code reads of ``collections``, ``itertools``, ``functools``, ``operator``,
``copy``, ``heapq`` and ``bisect``.

Source: the texts of the front end of leanprover/KLR (interop/klr/gather.c).
"""

from __future__ import annotations

from ..syntax import codes

CODE = codes.LANGUAGE
GOLDENS = (
    "forbidden_language",
    "keyword_dictionary",
    "instance_of_types",
    "listed_tiles",
    "chosen_values",
    "nested_targets",
    "unrolled_loops",
    "whole_sizes",
)
