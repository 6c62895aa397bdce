"""NKI016 launch-grid: a kernel that was launched on a grid of programs loops over it, and takes it as ``grid``.

Why: Beta 2 launches on one integer, the number of NeuronCores (1 or 2), and ``program_id`` has no other axis than 0.
``kernel[bs, heads](q, k)`` becomes ``kernel(q, k, grid=(bs, heads))``, and what one program did becomes the body of two
loops. Declarations of outputs, ``return``, and what depends on no program stand outside. The functions that the kernel
calls get their place in the grid as parameters. A grid with ``nl.nc(2)`` is launched on two cores, which share the
programs as Beta 1 says; one with ``nl.nc(cores)`` on ``cores``, and Beta 2 refuses others than 1 and 2.

A grid of one axis is left to Beta 2's cores where all launches say 1, 2 or ``nl.nc``, and where the kernel asks how
many programs there are and takes its part. Any other counts batches, or tiles, and gets the same treatment. Where
nothing asks for its place, all programs of ``kernel[n](x)`` do the same: it becomes ``kernel(x)``; that is safe where
the source shows that the kernel reads nothing that it writes (:mod:`~..plan.grids.idempotence`).

Review (``--unsafe`` writes it): code that these files do not show must launch in the new way. It cannot fail to notice:
without ``grid`` the kernel stops, it never runs one program of many. Left alone: ``nl.all_reduce`` (its programs
run side by side), outputs that depend on the program, functions that are handed around as values.

``verify`` gives ``grid`` of a case to the new kernel's parameter, and compares program by program.

Source: NKI 2.26.1, Programming Model, "SPMD: launching multiple instances of a kernel", and nl.spmd_dim; NKI 2.28, NKI
Language Guide, "Logical NeuronCores".
"""

from __future__ import annotations

from ..syntax import codes

CODE = codes.LAUNCH_GRID
APPLICABILITY = "review"
GOLDENS = ("launch_grid", "launch_grid_helpers")
