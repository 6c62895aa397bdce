"""A round that repeats what earlier ones planned gives what one gives that walks every function again."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from examples import sampled
from hypothesis import given, settings
from hypothesis import strategies as st
from nki_migrate.codemods import Options, Outcome, rewrite_together
from nki_migrate.codemods.driver import module as driver
from nki_migrate.codemods.driver import rounds
from nki_migrate.codemods.expr.emission import New
from nki_migrate.codemods.project.module_plan import Environment, ModulePlan
from nki_migrate.codemods.project.walks import Ask, Unit, Walks

ROOT = Path(__file__).resolve().parent.parent
EVERY = [
    path for path in sorted((ROOT / "golden").glob("*/before.py")) if "neuronxcc" in path.read_text(encoding="utf-8")
]
GOLDENS = [path for path in EVERY if path.read_text(encoding="utf-8").count("\ndef ") > 1]
OPTIONS = Options(unsafe=True)


class Forgetful(Walks):
    """Nothing of an earlier round is repeated."""

    def begin(self, environments: Mapping[str, Environment]) -> None:
        super().begin(environments)
        self.units.clear()


def walked_each_time(sources: dict[str, str]) -> dict[str, Outcome]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(driver, "Walks", Forgetful)
        return rewrite_together(sources, OPTIONS)


@pytest.fixture(scope="module")
def repeated() -> Iterator[list[bool]]:
    """For each function that an earlier round has planned with what is known of it now: was that repeated?"""
    found: list[bool] = []
    again = Unit.again

    def noted(unit: Unit, ask: Ask) -> Unit:
        answer = again(unit, ask)
        found.append(answer is unit)
        return answer

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Unit, "again", noted)
        yield found


@pytest.mark.parametrize("path", sampled("walks", EVERY), ids=lambda path: path.parent.name)
def test_a_second_round_that_repeats_all_it_can_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = {"kernel.py": path.read_text(encoding="utf-8")}
    monkeypatch.setattr(rounds, "_is_settled", lambda modules, before, variants: False)
    monkeypatch.setattr(rounds, "_ROUNDS", 2)
    assert rewrite_together(sources, OPTIONS) == walked_each_time(sources)


def test_a_function_with_another_one_in_it_is_repeated(repeated: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    source = (ROOT / "golden" / "nested_function" / "before.py").read_text(encoding="utf-8")
    monkeypatch.setattr(rounds, "_is_settled", lambda modules, before, variants: False)
    monkeypatch.setattr(rounds, "_ROUNDS", 2)
    repeated.clear()
    rewrite_together({"kernel.py": source}, OPTIONS)
    assert repeated == [True]


@pytest.mark.random
def test_goldens_with_several_functions_come_out_alike(repeated: list[bool]) -> None:
    for path in GOLDENS:
        sources = {"kernel.py": path.read_text(encoding="utf-8")}
        assert rewrite_together(sources, OPTIONS) == walked_each_time(sources), path.parent.name
    assert any(repeated)


HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np

"""
HELPER = """
def {name}(tile, flag=False, size=2):
    i_p, i_f = nl.mgrid[0:128, 0:size]
    made = nl.ndarray((2, nl.par_dim(128), tile.shape[-1]), dtype=tile.dtype, buffer=nl.sbuf)
{body}
    return tile
"""
KERNEL = """
@nki.jit
def {name}(x, w):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x[0:128, 0:64])
    column = nl.max(tile, axis=1, keepdims=True)
    row = nl.load(w[0:1, 0:64])
    total = nl.zeros((128, 64), dtype=nl.float32, buffer=nl.sbuf)
    blocks = nl.ndarray((4, nl.par_dim(128), 16), dtype=nl.float32, buffer=nl.sbuf)
    addr = 0
    for i in nl.affine_range(4):
        blocks[i] = nl.load(x[0:128, i * 16:(i + 1) * 16])
        addr += 1
{body}
    nl.store(out[0:128, 0:64], value=total)
    return out
"""
STATEMENTS = [
    "tile = nl.add(tile, 1.0)",
    "tile = nl.copy(tile[i_p, i_f])",
    "tile[i_p, i_f] = nl.exp(tile[i_p, i_f], mask=(i_f < size - 1))",
    "if flag:\n    tile = nl.multiply(tile, tile)",
    "made[0] = nl.copy(tile)",
    "made[1] = nl.exp(made[0])",
    "for k in nl.affine_range(2):\n    made[k] = nl.add(tile, 2.0)",
    "tile = made[1]",
    "size = size + 1",
    "tile = nl.max(tile, axis=1, keepdims=True)",
    "def step(part):\n    part[...] = nl.add(part, size)\nstep(tile)\nstep(made[0])",
]
CALLED = [
    *("tile", "column", "row", "total", "blocks[0]", "blocks[i]", "tile[0:128, 0:16]", "tile[0:128, i * 4:i * 4 + 4]"),
    *("nl.exp(tile)", "nl.load(w)", "x", "addr"),
]
ASKED = [
    "total[...] = {helper}({given}, flag={flag})",
    "tile = {helper}({given}, size={size})",
    "if addr == 0:\n    tile = {helper}({given})",
    "for j in nl.affine_range(2):\n    tile = {helper}({given}, flag=j == 0)",
    "column = {helper}({given}, flag={flag}, size=x.shape[1])",
    "total[...] = nl.add(total, tile)",
    "def step(part):\n    total[...] = {helper}(part, flag={flag})\nstep({given})",
]


@st.composite
def programs(draw: st.DrawFn) -> dict[str, str]:
    """Helpers that call each other, and kernels that call them with tensors of several kinds; in one file or in two."""
    names = ["first", "second", "third"]
    texts = []
    for at, name in enumerate(names):
        later = [f"tile = {other}(tile, flag={flag})" for other in names[at + 1 :] for flag in ("flag", "True")]
        body = draw(st.lists(st.sampled_from([*STATEMENTS, *later]), min_size=1, max_size=4))
        texts.append(HELPER.format(name=name, body=indented(body)))
    kernels = []
    for name in ("kernel", "kernel_2")[: draw(st.integers(1, 2))]:
        calls = st.builds(
            str.format,
            st.sampled_from(ASKED),
            helper=st.sampled_from(names),
            given=st.sampled_from(CALLED),
            flag=st.sampled_from(["True", "False", "addr == 0"]),
            size=st.sampled_from(["2", "x.shape[1]", "addr"]),
        )
        kernels.append(KERNEL.format(name=name, body=indented(draw(st.lists(calls, min_size=1, max_size=4)))))
    if draw(st.booleans()):
        imported = f"from helpers import {', '.join(names)}\n"
        return {"helpers.py": HEAD + "".join(texts), "kernels.py": HEAD + imported + "\n".join(kernels)}
    return {"kernels.py": HEAD + "".join([*texts, *kernels])}


def indented(statements: list[str]) -> str:
    return "\n".join(f"    {line}" for statement in statements for line in statement.split("\n"))


@settings(max_examples=25)
@given(programs())
def test_random_programs_come_out_alike(repeated: list[bool], sources: dict[str, str]) -> None:
    assert rewrite_together(sources, OPTIONS) == walked_each_time(sources)


def test_one_program_is_repeated_in_part(repeated: list[bool]) -> None:
    """Its helpers are called with two kinds of tiles: in the second round other copies serve the kernel."""
    helpers = [
        HELPER.format(name=name, body=indented(body))
        for name, body in {
            "first": [STATEMENTS[0]],
            "second": [STATEMENTS[3], STATEMENTS[5], "tile = third(tile, flag=True)"],
            "third": [STATEMENTS[0]],
        }.items()
    ]
    calls = [
        "if addr == 0:\n    tile = first(tile[0:128, i * 4:i * 4 + 4])",
        "total[...] = second(tile, flag=False)",
        "if addr == 0:\n    tile = second(tile[0:128, i * 4:i * 4 + 4])",
    ]
    sources = {"kernels.py": HEAD + "".join([*helpers, KERNEL.format(name="kernel", body=indented(calls))])}
    repeated.clear()
    assert rewrite_together(sources, OPTIONS) == walked_each_time(sources)
    assert set(repeated) == {True, False}


def test_copies_of_a_function_may_say_of_one_place_what_they_like_but_plan_no_node_twice() -> None:
    whole, one, other = ModulePlan(), ModulePlan(), ModulePlan()
    place, node = ("k.py", 3, 4), ast.parse("x = 1").body[0]
    one.blocked[place], other.blocked[place] = "a list", "not in the loop"
    one.applied["NKI010"], other.applied["NKI010"] = 2, 3
    whole.add(one)
    whole.add(other)
    assert whole.blocked == {place: "not in the loop"} and whole.applied["NKI010"] == 5
    one.edits.replaced[node], other.edits.replaced[node] = [New("x = 2")], [New("x = 3")]
    whole.add(one)
    with pytest.raises(AssertionError, match="something else for one node"):
        whole.add(other)
