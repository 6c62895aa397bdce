"""A file of which somebody has changed the imports to Beta 2, and nothing else, has one finding, and stays as it is."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from examples import sampled
from nki_migrate.cli import main
from nki_migrate.codemods import Options, Outcome, rewrite, rewrite_together
from nki_migrate.golden import LADDER_GOLDENS, NKI_GOLDENS
from nki_migrate.runtime.legality import check_source
from nki_migrate.runtime.spec.versions import NAMES

HEAD = """\
import nki
import nki.compiler as ncc
import nki.isa as nisa
import nki.language as nl
import numpy as np


@nki.jit
def kernel(x):
    out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x[0:128, 0:64])
"""
TAIL = "\n    nl.store(out, value=tile)\n    return out\n"
BACK = {
    1: "import neuronxcc.nki as nki",
    2: "import neuronxcc.nki.compiler as ncc",
    3: "import neuronxcc.nki.isa as nisa",
}
BACK[4] = "import neuronxcc.nki.language as nl"


def kernel(body: str) -> str:
    lines = "".join(f"\n    {line}" for line in body.split("\n"))
    return HEAD.rstrip("\n") + lines + TAIL


FORMS: dict[str, tuple[str, str]] = {
    "a name": ("i = nl.arange(128)[:, None]", "nl.arange() (line 12)"),
    "a name of an object": ("i, j = nl.mgrid[0:128, 0:64]", "nl.mgrid (line 12)"),
    "an allocator": (
        "u = nl.ndarray((128, 64), dtype=x.dtype, buffer=ncc.sbuf.mod_alloc(base_addr=0))",
        "ncc.sbuf.mod_alloc() (line 12)",
    ),
    "a keyword": ("u = nl.load(x, mask=n)", "nl.load(mask=) (line 12)"),
    "the value of an instruction": ("u = nisa.tensor_copy(tile)", "nisa.tensor_copy() as a value (line 12)"),
    "a value that is an operand": (
        "nl.store(out, value=nisa.reciprocal(tile))",
        "nisa.reciprocal() as a value (line 12)",
    ),
    "a value at positions that fit": (
        "u = nisa.memset((128, 64), 0, np.float32)",
        "nisa.memset() as a value (line 12)",
    ),
    "an instruction without its destination": ("nisa.tensor_copy(tile)", "nisa.tensor_copy() without src (line 12)"),
    "an operator": ("u = tile + 1.0", "an operator on a tile (line 12)"),
    "an operator in place": ("tile += nl.exp(tile)", "an assignment to a tile (line 12)"),
    "an assignment to a part": ("tile[0:64, 0:64] = nl.exp(tile[0:64, 0:64])", "an assignment to a tile (line 12)"),
    "a part that is counted up": ("tile[...] += 1.0", "an assignment to a tile (line 12)"),
    "blocks": (
        "u = nl.ndarray((2, nl.par_dim(128), 64), dtype=x.dtype, buffer=nl.sbuf)",
        "nl.par_dim behind another size (line 12)",
    ),
    "several": (
        "i = nl.arange(128)[:, None]\nj = nl.arange(64)[None, :]\nu = tile * tile\nv = nl.load(x, mask=i < 4)\n"
        "w = nisa.reciprocal(v)",
        "no version of Beta 2 has nl.arange() (line 12), an operator on a tile (line 14), nl.load(mask=) (line 15) "
        "and 1 more",
    ),
}


def old_alone(outcome: Outcome) -> bool:
    return [f.code for f in outcome.findings] == ["NKI001"] and "written in Beta 1" in outcome.findings[0].message


@pytest.mark.parametrize("target", NAMES)
@pytest.mark.parametrize("name", FORMS)
def test_a_form_that_beta_1_alone_has_is_one_finding(name: str, target: str) -> None:
    body, said = FORMS[name]
    outcome = rewrite(kernel(body), Options(target=target, unsafe=True))
    assert outcome.source == kernel(body)
    assert old_alone(outcome)
    (finding,) = outcome.findings
    assert said in finding.message
    assert f"(line {finding.line})" in finding.message
    assert finding.applicability == "manual"
    assert all(f"line {line}: {text}" in finding.help for line, text in BACK.items())


def test_what_no_version_has_together_is_of_beta_1() -> None:
    source = kernel("u = nl.ndarray((nl.par_dim(128), 64), dtype=x.dtype, buffer=nl.sbuf)")
    outcome = rewrite(source)
    assert old_alone(outcome) and outcome.source == source
    assert "nl.load() (line 11) is in NKI 0.3 to 0.6 alone, nl.par_dim() (line 12) in NKI 0.2" in str(outcome.findings)


LATER = {
    "a destination": "u = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)\nnisa.tensor_copy(dst=u, src=tile)",
    "a destination by position": "u = nl.ndarray((128, 64), x.dtype, nl.sbuf)\nnisa.tensor_copy(u, tile)",
    "an address": "u = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf, address=(0, 0))",
    "hidden arguments": "options = {}\nnisa.tensor_copy(**options)",
    "functions that 0.3 has again": "u = nl.exp(tile)",
    "items of a list": "parts = [tile, tile]\nparts[0] = parts[1]",
    "arithmetic of sizes": "n = tile.shape[0] + 1\nsizes = [0, 0]\nsizes[1] = n * 2",
}


@pytest.mark.parametrize("name", LATER)
def test_a_file_of_beta_2_is_none(name: str) -> None:
    assert not any(f.code == "NKI001" for f in rewrite(kernel(LATER[name])).findings)


def test_what_beta_2_alone_has_beside_it_is_no_file_of_beta_1() -> None:
    source = kernel(f"i = nl.arange(128)[:, None]\n{LATER['a destination']}")
    assert [f.code for f in rewrite(source).findings] == ["NKI090"]


def test_comments_for_people_hide_nothing() -> None:
    todo = kernel("# TODO(nki-migrate NKI001): this module imports nki\nu = tile + 1.0")
    silenced = kernel("u = tile + 1.0  # nki-migrate: ignore[NKI001] it is for a test")
    for source in (todo, silenced):
        assert old_alone(rewrite(source)) and rewrite(source).source == source


def test_launchers_alone_are_host_code_that_is_not_finished() -> None:
    source = f"{kernel('u = nl.exp(tile)')}\n\nnki.benchmark(warmup=5)(kernel)\n"
    assert [f.code for f in rewrite(source).findings] == ["NKI090"]


def test_a_module_that_is_called_nki_is_none_of_it() -> None:
    source = "import nki.language as nl\n\n\ndef f():\n    return nl.arange(4)\n"
    assert old_alone(rewrite(source))
    together = rewrite_together({"f.py": source, "nki/__init__.py": "", "nki/language.py": "def arange(n): ...\n"})
    assert together["f.py"].findings == ()


def test_who_says_the_version_of_a_file_is_trusted() -> None:
    assert not any(f.code == "NKI001" for f in rewrite(kernel("u = tile + 1.0"), Options(source="0.3")).findings)


# --- goldens ----------------------------------------------------------------------------------------------------------


def by_hand(text: str) -> str:
    """The text with other imports, as somebody would write them in an editor."""
    text = re.sub(r"\bfrom neuronxcc import nki\b", "import nki", text)
    text = re.sub(r"^(\s*)import neuronxcc\.nki$", r"\1import nki", text, flags=re.MULTILINE)
    return text.replace("neuronxcc.nki", "nki")


def restored(text: str, help: str) -> str:
    """The text with the imports that a finding names."""
    lines = text.split("\n")
    ends = {node.lineno: node.end_lineno or 0 for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt)}
    for number, statement in re.findall(r"line (\d+): (.*?)(?=[;)])", help):
        first = int(number)
        margin = re.match(r"\s*", lines[first - 1])
        lines[first - 1] = (margin[0] if margin else "") + statement
        lines[first : ends[first]] = ["\0"] * (ends[first] - first)
    return "\n".join(line for line in lines if line != "\0")


LEGAL = set(
    "annotations copied_sum equal_types gathered loaded_ranks nl_compute nl_sequences python_state "
    "return_in_loop state_in_branches sub_kernel written_parameter zeros_like host_simulation".split()
)
"""Goldens that NKI 0.3 runs as they are, but for their imports."""
PYTHON = {"forbidden_language", "instance_of_types", "keyword_dictionary", "nested_targets"}
"""Goldens about what of Python no version takes: of NKI they use what 0.3 has again."""


@pytest.mark.parametrize(
    "name",
    sampled(
        "beta1_forms",
        sorted(name for name, golden in NKI_GOLDENS.items() if not golden.is_beta2_only),
    ),
)
def test_a_golden_with_other_imports_has_the_finding_or_is_of_beta_2(name: str) -> None:
    golden = NKI_GOLDENS[name]
    source = by_hand(golden.before)
    outcome = rewrite(source, Options(unsafe=True))
    if name in PYTHON:
        assert not old_alone(outcome) and check_source(source)
    elif name in LEGAL:
        assert not old_alone(outcome) and not check_source(outcome.source)
    else:
        assert old_alone(outcome) and outcome.source == source
        again = rewrite(restored(source, outcome.findings[0].help), Options(**{"unsafe": True, **golden.options}))
        known = rewrite(golden.before, Options(**{"unsafe": True, **golden.options}))
        assert again.source == known.source


BETA2 = [path for golden in NKI_GOLDENS.values() for path in sorted(golden.before_path.parent.glob("after*.py"))]
BETA2 += [path for golden in LADDER_GOLDENS.values() for path in (golden.before_path, golden.after_path)]


@pytest.mark.parametrize("path", BETA2, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_golden_of_beta_2_has_it_never(path: Path) -> None:
    for target in ("0.2", "0.6"):
        assert not any(
            "written in Beta 1" in f.message for f in rewrite(path.read_text(), Options(target=target)).findings
        )


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["0.2", "0.6"])
def test_the_command_says_it_and_writes_nothing(tmp_path: Path, target: str, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.py"
    path.write_text(kernel(FORMS["several"][0]))
    with pytest.raises(SystemExit) as done:
        main(["rewrite", "--write", "--allow-dirty", "--unsafe", "--no-cache", "--target", target, str(path)])
    said = capfd.readouterr().err
    assert path.read_text() == kernel(FORMS["several"][0])
    assert "k.py:12:9: NKI001 [manual] this module imports nki, but it is written in Beta 1" in said
    assert "1 finding (1 manual)" in said
    assert done.value.code == 1
