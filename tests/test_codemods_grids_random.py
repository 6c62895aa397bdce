"""Random kernels on launch grids of up to three axes: each loops over its grid afterwards, and is proved equal, program
by program, at all three levels.
"""

from __future__ import annotations

import random

import pytest
from examples import examples
from first_rung import Options, rewrite
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from nki_migrate.runtime.cases import TensorSpec
from nki_migrate.runtime.compare import Failure, Run
from nki_migrate.runtime.legality import check_source
from test_codemods_random import comments

HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.language as nl


def halved(n):
    return n // 2


"""
ROWS = 32
ARGS = {"x": TensorSpec((3, 3, 3, ROWS, 16), "float32")}


class GridKernel:
    """A kernel of ``axes`` axes: which questions it asks, how and where, is drawn at random."""

    def __init__(self, chosen: random.Random, axes: int) -> None:
        self.chosen, self.axes = chosen, axes
        self.helpers: list[str] = []
        self.lines: list[str] = []
        self.names: dict[int, str] = {}
        self.tiles = ["tile"]
        self.pinned = self.some(0.3)

    def some(self, chance: float) -> bool:
        return self.chosen.random() < chance

    def emit(self, text: str, depth: int = 1) -> None:
        if self.some(0.1):
            self.lines.append("")
        if self.some(0.15):
            self.lines.append("    " * depth + f"# remark {len(self.lines)}")
        self.lines.append("    " * depth + text + (f"  # why {len(self.lines)}" if self.some(0.1) else ""))

    def place(self, axis: int) -> str:
        """How the kernel says where its program is on an axis."""
        if axis in self.names and self.some(0.8):
            return self.names[axis]
        return self.chosen.choice((f"nl.program_id({axis})", f"nl.program_id(axis={axis})"))

    def size(self, axis: int) -> str:
        return self.chosen.choice(
            (f"nl.num_programs({axis})", f"nl.num_programs(axes={axis})", f"nl.num_programs([{axis}])")
        )

    def index(self) -> str:
        places = [self.place(axis) for axis in range(self.axes)] + ["0"] * (3 - self.axes)
        return ", ".join(places)

    def steps(self) -> None:
        """What may stand anywhere before the end."""
        axis = self.chosen.randrange(self.axes)
        tile = self.chosen.choice(self.tiles)
        name = f"t{len(self.lines)}"
        if self.pinned:
            self.pinned_step(name, tile, axis)
            return
        choices = [
            "scaled",
            "counted",
            "state",
            "branch",
            "helper",
            "nested",
            "loop",
            "size",
            "text",
            "check",
            "pinned",
        ]
        step = self.chosen.choice(choices)
        if step == "scaled":
            self.emit(f"{name} = nl.multiply({tile}, 1.0 + {self.place(axis)})")
            self.tiles.append(name)
        elif step == "counted":
            self.emit(f"{name} = nl.add({tile}, 1.0 / {self.size(axis)})")
            self.tiles.append(name)
        elif step == "state":
            self.emit(f"count = count + {self.chosen.choice(('1', self.place(axis), self.size(axis)))}")
            self.emit(f"nl.store(out[{self.index()}, :, 0:1], value=nl.add({tile}[:, 0:1], 1.0 * count))")
        elif step == "branch":
            self.emit(f"if {self.place(axis)} == {self.chosen.randrange(3)}:")
            self.emit(f"nl.store(out[{self.index()}, :, 0:16], value={tile})", 2)
        elif step == "helper":
            helper = f"helper{len(self.helpers)}"
            optional = ", more=1.0" if self.some(0.5) else ", more"
            given = "" if "=" in optional and self.some(0.5) else f", {self.chosen.choice(('2.0', 'more=3.0'))}"
            own = f"    here = nl.program_id({axis})\n" if self.some(0.5) else ""
            here = "here" if own else f"nl.program_id({axis})"
            many = f" * nl.num_programs({axis})" if self.some(0.5) else ""
            self.helpers.append(
                f"def {helper}(tile{optional}):\n{own}    return nl.multiply(tile, more + {here}{many})\n\n\n"
            )
            self.emit(f"{name} = {helper}({tile}{given}{',' if self.some(0.3) else ''})")
            self.tiles.append(name)
        elif step == "nested":
            self.emit(f"def f{name}(tile):")
            self.emit(f"return nl.add(tile, {self.place(axis)} * 1.0)", 2)
            self.emit(f"{name} = f{name}({tile})")
            self.tiles.append(name)
        elif step == "loop":
            self.emit(
                f"for i{name} in nl.{self.chosen.choice(('affine_range', 'sequential_range', 'static_range'))}(2):"
            )
            half = f"i{name} * 8:i{name} * 8 + 8"
            self.emit(f"part = nl.add(nl.load(x[{self.index()}, :, {half}]), {self.place(axis)} * 1.0)", 2)
            self.emit(f"nl.store(out[{self.index()}, :, {half}], value=part)", 2)
        elif step == "size":
            self.emit(f"width = {self.chosen.choice(('x.shape[4]', 'halved(32)', 'min(16, x.shape[3])'))}")
        elif step == "text":
            self.emit('note = """two')
            self.lines.append('lines"""')
        else:
            self.emit(f"assert {self.size(axis)} <= 3, f'{{{self.size(axis)}}} programs'")

    def pinned_step(self, name: str, tile: str, axis: int) -> None:
        """A tile behind the last one."""
        self.emit(self.tile_at_address(name))
        self.emit("address += 64")
        self.emit(f"{name}[:, :] = nl.multiply({tile}, 1.0 + {self.place(axis)} * {self.size(axis)})")
        self.tiles.append(name)

    def tile_at_address(self, name: str) -> str:
        buffer = "buffer=ncc.sbuf.mod_alloc(base_addr=address)"
        return f"{name} = nl.ndarray((nl.par_dim({ROWS}), 16), dtype=nl.float32, {buffer})"

    def source(self) -> str:
        if self.some(0.5):
            self.lines.append('    """Doc.\n\n    More.\n    """')
        if self.some(0.5):
            self.emit(f"assert nl.program_ndim() == {self.axes}")
        early = self.some(0.5)
        if early:
            self.emit("out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)")
        for axis in range(self.axes):
            if self.some(0.6):
                self.names[axis] = f"place{axis}"
                self.emit(f"place{axis} = nl.program_id({axis})")
        self.emit("address = 0")
        if not early:
            self.emit("out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)")
        if self.pinned:
            self.emit(self.tile_at_address("tile"))
            self.emit("address += 64")
        self.emit(f"tile{'[:, :]' if self.pinned else ''} = nl.load(x[{self.index()}, :, :])")
        self.emit(f"nl.store(out[{self.index()}, :, :], value=tile)")
        for _ in range(self.chosen.randint(1, 6)):
            self.steps()
        self.emit(f"nl.store(out[{self.index()}, :, :], value={self.tiles[-1]})")
        self.lines.append("    # the end")
        self.lines.append("    return out")
        asks = (
            "".join(self.helpers)
            + f"@nki.jit\ndef k(x, {self.chosen.choice(('count=2', 'count = 0,', 'count=1, width=None'))}):\n"
        )
        launch = f"\n\n\ndef run(x):\n    return k[{', '.join(['3'] * self.axes)}](x)\n"
        return HEAD + asks + "\n".join(self.lines) + launch


@pytest.mark.random
@settings(
    max_examples=examples(7), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(st.randoms(use_true_random=False), st.lists(st.integers(1, 3), min_size=1, max_size=3))
def test_a_random_kernel_loops_over_its_grid_and_is_equal(migrate, chosen, grid):
    source = GridKernel(chosen, len(grid)).source()
    note(source)
    migration = migrate(source, ARGS, Options(unsafe=True), grid=tuple(grid))
    outcome = migration.outcome
    note(outcome.source)
    assert isinstance(migration.before, Run), migration.before
    assert outcome.findings == ()
    assert not comments(source) - comments(outcome.source)
    assert rewrite(outcome.source, Options(unsafe=True)).source == outcome.source
    assert migration.objection is None
    assert list(check_source(outcome.source, target="0.2")) == []
    assert not isinstance(migration.after, Failure)
    assert len(migration.after.programs) == len(migration.before.programs)
    assert migration.trouble == ()
    assert f"return k(x, grid=({', '.join(['3'] * len(grid))}{',' if len(grid) == 1 else ''}))" in outcome.source


@pytest.mark.random
@settings(
    max_examples=examples(7), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(st.randoms(use_true_random=False), st.integers(1, 3))
def test_without_unsafe_a_random_kernel_is_only_under_review(chosen, axes):
    source = GridKernel(chosen, axes).source()
    outcome = rewrite(source)
    assert {finding.applicability for finding in outcome.findings if finding.code == "NKI016"} == {"review"}
    assert f"return k[{', '.join(['3'] * axes)}](x)" in outcome.source
