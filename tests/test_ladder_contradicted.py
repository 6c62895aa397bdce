"""What the text itself says otherwise is no assumption of the ladder: such constructs are left, with ``--unsafe``, too;
and what binds otherwise behind the mask of 0.2 is named.
"""

from __future__ import annotations

import pytest
from nki_migrate.codemods import Options, Outcome, rewrite
from nki_migrate.runtime.spec import beta2
from nki_migrate.runtime.spec.versions import VERSIONS
from test_ladder_rules import IMPORTS, body_of, kernel, written

LISTS = "def kernel(x, n, steps=[1, 2]):"
CALLED = "\n\ndef total(sizes):\n    return sizes + [1]\n"
LEFT: dict[str, tuple[str, str]] = {
    "a part whose rank is asked for": ("NKV026", kernel("row = tile[0]\nrank = len(row.shape)")),
    "the shape of a part": ("NKV026", kernel("first = tile[0].shape[0]")),
    "a list that is compared": ("NKV020", kernel("if steps == [1, 2]:\n    n = 1", LISTS)),
    "a list that is joined": ("NKV020", kernel("both = steps + [3]", LISTS)),
    "a list whose type is asked for": ("NKV020", kernel("if isinstance(steps, list):\n    n = 1", LISTS)),
    "a list that a helper joins": ("NKV020", kernel("both = total(steps)", LISTS) + CALLED),
    "a launch with a list that is compared": (
        "NKV020",
        kernel("if n == [1, 2]:\n    x = n") + "\n\ndef main(x):\n    return kernel(x, [1, 2])\n",
    ),
    "a type on the way to a wider tile": ("NKV022", kernel("nisa.tensor_copy(dst=tile, src=other, dtype=nl.bfloat16)")),
    "an offset on a part": ("NKV038", kernel("part = tile[:, 8:16]\nmoved = part.ap([[64, 128], [1, 8]], offset=8)")),
    "no offset from the first element of a part": (
        "NKV038",
        kernel("moved = tile[:, 8:16].ap([[64, 128], [1, 8]], 0)"),
    ),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_the_text_contradicts_is_left(name: str) -> None:
    code, source = LEFT[name]
    outcome = written(source, code)
    assert [finding.code for finding in outcome.findings] == [code]
    assert outcome.findings[0].applicability == "manual"
    assert outcome.applied.get(code, 0) == 0


def test_a_type_that_only_a_launch_tells_is_for_review() -> None:
    source = kernel("nisa.tensor_copy(dst=tile, src=acc, dtype=x.dtype)")
    assert "nisa.tensor_copy(dst=tile, src=acc)" in written(source, "NKV022").source
    assert [finding.applicability for finding in written(source, "NKV022", unsafe=False).findings] == ["review"]


def climbed(body: str) -> Outcome:
    return rewrite(kernel(body), Options(target="0.6", source="0.2", unsafe=True))


POSITIONS = {
    "nisa.tensor_reduce(tile, nl.add, other, 1, None, True)": "nisa.tensor_reduce(tile, nl.add, other, 1, negate=True)",
    "nisa.memset(tile, 0.5, None, nisa.engine.vector)": "nisa.memset(tile, 0.5, engine=nisa.engine.vector)",
    "nisa.memset(tile, 0.5, mask=None)": "nisa.memset(tile, 0.5)",
    "nisa.tensor_copy(tile, other, None, nl.float32, nisa.engine.vector)": (
        "nisa.tensor_copy(tile, other, engine=nisa.engine.vector)"
    ),
    "nisa.dma_copy(tile, x, None, None, nisa.oob_mode.skip)": "nisa.dma_copy(tile, x, oob_mode=nisa.oob_mode.skip)",
}


@pytest.mark.parametrize("call", POSITIONS)
def test_what_stands_behind_a_mask_is_named_and_the_mask_goes(call: str) -> None:
    outcome = climbed(call)
    assert (body_of(outcome), outcome.findings) == (POSITIONS[call], ())


@pytest.mark.parametrize(
    "call", ["tensor_reduce(tile, nl.add, other, 1, True)", "memset(tile, 0.5, nisa.engine.vector)"]
)
def test_what_the_first_version_refuses_for_a_mask_is_of_a_later_one(call: str) -> None:
    source = kernel(f"nisa.{call}\nnisa.dma_copy(tile, other)")
    assert (rewrite(source, Options(target="0.6")).source, rewrite(source, Options(target="0.6")).findings) == (
        source,
        (),
    )


def test_no_version_but_the_first_has_parameters_that_take_nothing() -> None:
    """Tables of later versions had kept the mask of all functions that 0.3 did not change otherwise."""
    for at in VERSIONS[1:]:
        entries = beta2.table(at).items()
        assert [name for name, entry in entries if any(p.refused for p in entry.parameters or ())] == []


MAKER = "\n\ndef made(shape):\n    tensor = nl.ndarray(shape, dtype=nl.float32, buffer=nl.hbm)\n    return tensor\n"


@pytest.mark.parametrize(("body", "findings"), [("", []), ("scratch = made((4, 4))\n", ["NKV014"])])
def test_a_function_that_makes_scratch_tensors_too_is_for_review(body: str, findings: list[str]) -> None:
    """On two cores a scratch tensor in shared memory is one tensor, where each core had its own."""
    source = kernel(f"{body}out = made((4, 4))").replace("return x", "return out") + MAKER
    outcome = written(source, "NKV014", unsafe=False)
    assert [finding.code for finding in outcome.findings] == findings
    assert ("shared_hbm" in outcome.source) == (not findings)
    assert "shared_hbm" in written(source, "NKV014").source
    assert source.startswith(IMPORTS)
