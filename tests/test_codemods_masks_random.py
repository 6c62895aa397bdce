"""Random masks on transposes, matmuls and reductions: each kernel is rewritten, and equal at all three levels.

Masks are written in many ways: bounds of ``nl.arange`` and of ``nl.mgrid``, with either sign, of each operand's vectors
or by position, as ``mask=`` and behind operands of matmuls, empty ones and ones that leave everything among them.
"""

from __future__ import annotations

import random

import pytest
from examples import examples
from first_rung import rewrite
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from nki_migrate.runtime.cases import TensorSpec
from nki_migrate.runtime.compare import Failure

HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np


@nki.jit
def k(x, y, n, m, flag):
"""
ROWS, COLUMNS = (128, 32, 5), (128, 32, 7)


class Kernel:
    """A kernel with one instruction under a mask, and its arguments."""

    def __init__(self, chosen: random.Random) -> None:
        self.chosen, self.lines, self.count, self.rank = chosen, [], 0, 0
        unused = TensorSpec((1, 1), "float32")
        self.args: dict[str, object] = {"x": unused, "y": unused, "n": 1, "m": 1, "flag": chosen.random() < 0.8}

    def emit(self, text: str) -> None:
        self.lines.append(f"    {text}")

    def one(self, *options):
        return self.chosen.choice(options)

    def vectors(self, *sizes: int) -> list[str]:
        """Names of index vectors, one for each dimension."""
        self.count, self.rank = self.count + 1, len(sizes)
        names = [f"i{self.count}_{d}" for d in range(len(sizes))]
        if self.chosen.random() < 0.3:
            self.emit(f"{', '.join(names)} = nl.mgrid[{', '.join(f'0:{size}' for size in sizes)}]")
            return names
        for d, (name, size) in enumerate(zip(names, sizes, strict=True)):
            places = ", ".join(":" if k == d else "None" for k in range(len(sizes)))
            self.emit(f"{name} = nl.arange({size})[{places}]")
        return names

    def limit(self, name: str, size: int) -> None:
        self.args[name] = self.one(size, size // 2, size - 1, 1, 0, -3, size + 4)

    def bound(self, vector: str, limit: str) -> str:
        return self.one(
            f"{vector} < {limit}",
            f"{limit} > {vector}",
            f"{vector} <= {limit} - 1",
            f"2 + {vector} < {limit} + 2",
            f"-1 * {vector} + {limit} - 1 >= 0",
            f"-1 - {vector} + {limit} >= 0",
            f"{vector} + 3 * {self.element()} < {limit}",
            *([f"{vector} >= {limit} - 2", f"{limit} < {vector}"] if self.chosen.random() < 0.2 else []),
        )

    def element(self) -> str:
        """An index vector of one element, along any dimension of the last vectors."""
        along = self.chosen.randrange(self.rank)
        return f"nl.arange(1)[{', '.join(':' if d == along else 'None' for d in range(self.rank))}]"

    def mask(self, *bounds: str) -> str:
        """A conjunction of some of ``bounds``, with a condition on a number now and then."""
        parts = [f"({bound})" for bound in self.chosen.sample(bounds, self.chosen.randint(1, len(bounds)))]
        return " & ".join([*parts, *(["flag"] if self.chosen.random() < 0.2 else [])])

    def stored(self, shape: tuple[int, ...], space: str = "sbuf") -> str:
        """The destination: a tile of zeros, which the kernel returns."""
        partition, *free = shape
        sizes = ", ".join([f"nl.par_dim({partition})", *map(str, free)])
        self.lines.insert(0, f"    result = nl.zeros(({sizes}), dtype=nl.float32, buffer=nl.{space})")
        self.lines.insert(0, f"    out = nl.ndarray({shape}, dtype=nl.float32, buffer=nl.shared_hbm)")
        self.emit("nl.store(out, nl.copy(result))")
        self.emit("return out")
        return HEAD + "\n".join(self.lines) + "\n"

    def loaded(self, name: str, *shape: int) -> None:
        self.args[name] = TensorSpec(shape, "float32", "normal")
        self.emit(f"{name}_tile = nl.load({name})")

    def transpose(self) -> str:
        p, f = self.one(*ROWS), self.one(*COLUMNS)
        self.limit("n", p)
        self.limit("m", f)
        self.loaded("x", p, f)
        i, o = self.vectors(p, f), self.vectors(f, p)
        mask = self.mask(self.bound(i[0], "n"), self.bound(i[1], "m"))
        function = self.one("nisa.nc_transpose", "nl.transpose")
        self.emit(f"result[{o[0]}, {o[1]}] = {function}(x_tile[{i[0]}, {i[1]}], mask={mask})")
        return self.stored((f, p), self.one("sbuf", "psum") if function == "nisa.nc_transpose" else "sbuf")

    def matmul(self) -> str:
        k, rows, columns = self.one(*ROWS), self.one(*COLUMNS), self.one((128,), (7,), (3, 6), (4, 32))
        self.loaded("x", k, rows)
        self.loaded("y", k, *columns)
        left, right, o = self.vectors(k, rows), self.vectors(k, *columns), self.vectors(rows, *columns)
        stationary, moving = (f"{t}_tile[{', '.join(v)}]" for t, v in (("x", left), ("y", right)))
        self.limit("n", self.one(k, rows))
        self.limit("m", self.one(rows, columns[-1]))
        if self.chosen.random() < 0.6:
            vectors = [left[0], left[1]]
            stationary += f"[{self.mask(self.bound(self.one(*vectors), self.one('n', 'm')))}]"
        if self.chosen.random() < 0.5:
            moving += f"[{self.mask(*(self.bound(v, self.one('n', 'm')) for v in right))}]"
        given = ""
        if self.chosen.random() < 0.5:
            given = f", mask={self.mask(*(self.bound(v, self.one('n', 'm')) for v in o))}"
        if self.chosen.random() < 0.3:
            self.emit(f"for r in nl.{self.one('affine_range', 'static_range')}(2):")
            self.emit(f"    result[{', '.join(o)}] += nisa.nc_matmul({stationary}, {moving}{given})")
        else:
            function = f"nl.matmul({stationary}, {moving}, transpose_x=True{given})"
            function = function if len(columns) == 1 else f"nisa.nc_matmul({stationary}, {moving}{given})"
            self.emit(f"result[{', '.join(o)}] {self.one('+=', '=')} {function}")
        return self.stored((rows, *columns), "psum")

    def reduction(self) -> str:
        shape = self.one((128, 7), (5, 32), (32, 3, 6), (128, 4, 5))
        self.loaded("x", *shape)
        i = self.vectors(*shape)
        self.limit("n", self.one(*shape))
        self.limit("m", self.one(*shape))
        free = list(range(1, len(shape)))
        axes = sorted(self.chosen.sample(free, self.chosen.randint(1, len(free))))
        keeps = self.chosen.random() < 0.4
        kept = [1 if d in axes else size for d, size in enumerate(shape) if keeps or d not in axes]
        kept = kept if len(kept) > 1 else [*kept, 1]
        o = self.vectors(*kept)
        mask = self.mask(*(self.bound(v, self.one("n", "m")) for v in i))
        axis = axes[0] if len(axes) == 1 else axes
        data = f"x_tile[{', '.join(i)}]"
        call = self.one(
            f"nl.{self.one('sum', 'max', 'min')}({data}, axis={axis}, mask={mask}, keepdims={keeps})",
            f"nisa.tensor_reduce(np.{self.one('add', 'max')}, {data}, axis={axis}, mask={mask}, keepdims={keeps})",
        )
        self.emit(f"result[{', '.join(o)}] = {call}")
        return self.stored(tuple(kept))


@pytest.mark.random
@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@pytest.mark.parametrize("kind", ["transpose", "matmul", "reduction"])
@given(chosen=st.randoms(use_true_random=False))
def test_a_masked_instruction_is_rewritten_and_equal_or_has_a_finding(migrate, kind, chosen):
    kernel = Kernel(chosen)
    source = getattr(kernel, kind)()
    note(source)
    note(str(kernel.args))
    migration = migrate(source, kernel.args)
    if isinstance(migration.before, Failure) or migration.outcome.findings:
        return
    assert migration.objection is None
    trouble = migration.trouble
    if "nl.transpose" in source:  # Beta 1 executes it in one step under a mask, Beta 2 in two
        trouble = tuple(text for text in trouble if not text.startswith(("operands:", "    ")))
    assert trouble == ()


@pytest.mark.parametrize("kind", ["transpose", "matmul", "reduction"])
def test_most_of_the_masks_are_rewritten(kind):
    """So that the property above does not hold because nothing is rewritten."""
    outcomes = [rewrite(getattr(Kernel(random.Random(seed)), kind)()) for seed in range(60)]
    assert sum(outcome.findings == () for outcome in outcomes) >= 50
