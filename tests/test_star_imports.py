"""How a file imports the names of NKI makes no difference to what becomes of its kernels: whole, by name, by star."""

from __future__ import annotations

import ast
import builtins
import re

import pytest
from examples import sampled
from nki_migrate.codemods import Options, Outcome, rewrite
from nki_migrate.golden import NKI_GOLDENS, Golden
from nki_migrate.runtime.legality import check_source

KERNEL = """

@nki.jit
def scaled(x):
    out = ndarray((128, 64), dtype=x.dtype, buffer=shared_hbm)
    tile = load(x)
    store(out, value=multiply(tile, 2.0))
    return out
"""
STAR = "import neuronxcc.nki as nki\nfrom neuronxcc.nki.language import *\n"


def names_of(golden: Golden, root: str) -> list[str]:
    """The names that a golden has as ``nl.NAME``."""
    return sorted(set(re.findall(rf"\b{root}\.([a-zA-Z_]\w*)", golden.before)))


def restyled(golden: Golden, style: str) -> str:
    """A golden that imports its names of NKI by name, or by star."""
    source = golden.before
    for root, module in (("nisa", "isa"), ("nl", "language")):
        names = ", ".join(names_of(golden, root)) if style == "by name" else "*"
        statement = f"from neuronxcc.nki.{module} import {names}"
        source = re.sub(rf"^import neuronxcc\.nki\.{module} as {root}$", statement, source, flags=re.MULTILINE)
        source = re.sub(rf"\b{root}\.(?=[a-zA-Z_])", "", source)
    return source


def is_free(golden: Golden) -> bool:
    """Does a golden import both modules whole, and use their names for nothing else?"""
    tree = ast.parse(golden.before)
    others = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} | {
        n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)
    }
    others |= {n.name for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.ClassDef, ast.alias))}
    names = {*names_of(golden, "nl"), *names_of(golden, "nisa")}
    whole = (
        "import neuronxcc.nki.language as nl\n" in golden.before
        and "import neuronxcc.nki.isa as nisa\n" in golden.before
    )
    return whole and not names & {*others, *dir(builtins)} and "getattr(n" not in golden.before


FREE = [name for name, golden in sorted(NKI_GOLDENS.items()) if not golden.is_beta2_only and is_free(golden)]


OTHERWISE = {"generated_style", "whole_numbers"}
"""Goldens of which more is left, with findings, where names are imported by name."""


def told(outcome: Outcome) -> list[str]:
    """The codes of the findings, but for those about imports."""
    return [f.code for f in outcome.findings if f.code != "NKI001"]


def test_many_goldens_are_asked() -> None:
    assert len(FREE) > 40


@pytest.mark.parametrize("style", ["by name", "by star"])
@pytest.mark.parametrize("name", sampled("star_imports", FREE))
def test_the_style_of_imports_leaves_no_more(name: str, style: str) -> None:
    golden = NKI_GOLDENS[name]
    options = Options(**{"unsafe": True, **golden.options})
    plain, found = rewrite(golden.before, options), rewrite(restyled(golden, style), options)
    if any("Python's or NKI's" in f.message for f in found.findings):
        assert re.search(r"\b(min|max|abs|sum|all)\(", golden.before)
        assert style == "by star" and found.source == restyled(golden, style)
    elif name in OTHERWISE:
        assert set(told(plain)) < set(told(found))
    else:
        assert told(found) == told(plain)
        assert found.findings or not check_source(found.source)


def test_what_a_star_gives_is_imported_by_name() -> None:
    outcome = rewrite(STAR + KERNEL)
    assert outcome.findings == () and "import *" not in outcome.source
    assert "from nki.language import ndarray, shared_hbm\n" in outcome.source
    assert not check_source(outcome.source)


LEFT = {
    "a name that Python has, too": (STAR + KERNEL.replace("(128, 64)", "(128, min(64, 64))"), "'min'"),
    "nothing that is read here": (STAR, "nothing here reads"),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_a_star_does_not_tell_is_a_finding(name: str) -> None:
    source, said = LEFT[name]
    outcome = rewrite(source, Options(unsafe=True))
    assert outcome.source == source
    assert [(f.code, f.line) for f in outcome.findings] == [("NKI001", 2)]
    assert said in outcome.findings[0].message


def test_what_is_bound_again_is_not_of_the_star() -> None:
    own = "\n\ndef multiply(a, b):\n    return nki.language.multiply(a, b)\n"
    outcome = rewrite(STAR + own + KERNEL)
    assert not re.search(r"^from .*\bmultiply\b", outcome.source, re.MULTILINE)


def test_a_harness_above_jit_goes_and_jit_stays() -> None:
    head = (
        "import neuronxcc.nki as nki\nfrom neuronxcc.nki.language import load, multiply, ndarray, shared_hbm, store\n"
    )
    outcome = rewrite(head + KERNEL.replace("@nki.jit", "@nki.benchmark(warmup=2)\n@nki.jit"), Options(unsafe=True))
    assert outcome.source.count("@") == 1 and "@nki.jit\ndef scaled" in outcome.source
