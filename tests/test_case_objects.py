"""Arguments of the user's own classes: said by a case, made by a worker, recorded, and suggested."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from nki_migrate.cli import main
from nki_migrate.record import run as record
from nki_migrate.runtime.cases import Case, MemberSpec, ObjectSpec, read_cases
from nki_migrate.verify import proved

CLASSES = """
import dataclasses
import enum
from typing import NamedTuple


class Norm(enum.Enum):
    NONE = 0
    HALF = 1


class Sizes(NamedTuple):
    rows: int
    columns: int = 64


@dataclasses.dataclass(frozen=True)
class Config:
    sizes: Sizes
    norm: Norm = Norm.NONE
    twice: bool = False
"""
KERNEL = """
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from classes import Config, Norm, Sizes


@nki.jit
def scaled(x, config: Config):
    assert x.shape[1] == config.sizes.columns
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    factor = 0.5 if config.norm == Norm.HALF else 1.0
    nl.store(out, value=nl.multiply(nl.load(x), factor * (2.0 if config.twice else 1.0)))
    return out


@nki.jit
def guessed(x, options):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.multiply(nl.load(x), 3.0 if options.twice else 1.0))
    return out
"""
REFERENCE = """
def scaled(x, config):
    return x * (0.5 if config.norm.name == "HALF" else 1.0)
"""
CASE = """
[[case]]
kernel = "scaled"
reference = "reference:scaled"
[case.args]
x = {shape = [128, 64], dtype = "float32"}
config = CONFIG
"""
SIZES = '{object = "Sizes", args = {rows = 3}}'


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "classes.py").write_text(CLASSES)
    (tmp_path / "k.py").write_text(KERNEL)
    (tmp_path / "reference.py").write_text(REFERENCE)
    return tmp_path


def outcome(config: str) -> str:
    """The verdict of a case, or what is wrong with it."""
    Path("cases.toml").write_text(CASE.replace("CONFIG", config))
    result = proved("k.py", "k.py", kernels=("scaled",), jobs=1).results[0]
    return " ".join(problem.message for problem in result.problems[:1]) or result.verdict.value


def test_an_object_is_made_by_its_class_on_both_sides_and_for_the_reference() -> None:
    assert outcome(f'{{object = "Config", args = {{sizes = {SIZES}, norm = {{member = "Norm.HALF"}}}}}}') == "equal"
    assert outcome(f'{{object = "classes:Config", args = {{sizes = {SIZES}}}}}') == "equal"


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ('{object = "Confi"}', "argument 'config': k has no 'Confi': did you mean 'Config'?"),
        ('{object = "Config"}', "Config(...) raises TypeError: Config.__init__() missing 1 required positional"),
        ('{object = "Norm.HALF"}', "'Norm.HALF' is no class"),
        ('{member = "Config.sizes"}', "argument 'config': Config has no 'sizes'"),
        ('{member = "Norm.__name__"}', "'Norm.__name__' is no member of an enumeration"),
        ('{object = "nowhere:Config"}', "'nowhere:Config' cannot be imported: No module named 'nowhere'"),
        ('{member = "Norm"}', "argument 'config' names 'Norm': write \"Class.MEMBER\""),
        ('{object = "a b"}', "argument 'config' names 'a b': write \"Class\" or"),
        ('{object = "Config", args = 3}', "'args' of the object 'config' is a table"),
    ],
)
def test_what_cannot_be_made_is_one_error_with_the_case(config: str, problem: str) -> None:
    found = outcome(config)
    assert problem in found and "cases.toml:2: " in found


def test_launches_with_objects_are_recorded_as_they_were(capfd: pytest.CaptureFixture[str]) -> None:
    Path("program.py").write_text(
        "import numpy as np\nfrom k import *\nx = np.random.default_rng(0).standard_normal((128, 64))\n"
        "x = x.astype(np.float32)\nscaled(x, Config(Sizes(3), Norm.HALF, twice=True))\n"
        "class Odd:\n    twice = True\nguessed(x, Odd())\n"
    )
    assert record([sys.executable, "program.py"], "found.toml") == 0
    (case,) = read_cases("found.toml").cases
    sizes = ObjectSpec("Sizes", {"rows": 3, "columns": 64})
    assert case.args["config"] == ObjectSpec("Config", {"sizes": sizes, "norm": MemberSpec("Norm.HALF"), "twice": True})
    assert "argument 'options' is a Odd, which a case cannot say" in capfd.readouterr().err
    assert [r.verdict.value for r in proved("k.py", "k.py", "found.toml", ("scaled",), jobs=1).results] == ["equal"]


def test_objects_are_suggested_by_annotation_and_by_what_is_read_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["cases", "suggest", "k.py"])
    assert ended.value.code == 0
    Path("cases.toml").write_text(capsys.readouterr().out)
    found: dict[str, list[Case]] = {}
    for case in read_cases("cases.toml").cases:
        found.setdefault(case.kernel, []).append(case)
    sizes, plain = ObjectSpec("Sizes", {"rows": 2, "columns": 128}), ObjectSpec("Sizes", {"rows": 2})
    given = [case.args["config"] for case in found["scaled"]]
    assert given[0] == ObjectSpec("Config", {"sizes": sizes})
    assert ObjectSpec("Config", {"sizes": sizes, "norm": MemberSpec("Norm.HALF")}) in given
    assert found["guessed"][0].args["options"] == ObjectSpec("Config", {"sizes": plain})
