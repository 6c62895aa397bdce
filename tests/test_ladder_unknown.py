"""No rule of the ladder is silent where it cannot decide: each is given its construct with each fact that it needs
not known, and says so, by a finding, or by a note on what it takes for true where the target refuses all else.
"""

from __future__ import annotations

import pytest
from nki_migrate.codemods import Options, rewrite
from nki_migrate.codemods.ladder.registry import RULES, changes_of
from test_ladder_rules import at, host, kernel

HIDDEN, VALUE = "what stands behind **", "the function is a value"
CALLED = {
    "NKV003": "nisa.dma_copy",
    "NKV004": "nisa.dma_copy",
    "NKV005": "nisa.dma_copy",
    "NKV006": "nisa.memset",
    "NKV007": "nisa.tensor_reduce",
    "NKV008": "nisa.dma_compute",
    "NKV009": "nisa.sendrecv",
    "NKV010": "nisa.affine_select",
    "NKV011": "nisa.register_move",
    "NKV012": "nisa.register_alloc",
    "NKV013": "ncc.collective_permute_implicit_current_processing_rank_id",
    "NKV014": "nl.ndarray",
    "NKV015": "nisa.dma_copy",
    "NKV016": "nl.zeros",
    "NKV021": "nisa.range_select",
    "NKV022": "nisa.tensor_copy",
    "NKV025": "nl.ndarray",
    "NKV027": "nisa.nc_matmul",
    "NKV028": "nl.shared_constant",
    "NKV030": "nisa.dma_transpose",
    "NKV036": "nisa.rng",
    "NKV042": "nisa.quantize_mx",
    "NKV043": "nl.copy",
    "NKV046": "nisa.nc_transpose",
}
"""The function whose calls a rule reads: arguments that are hidden, and calls by another name, are said of all."""
PINNED = "a = nl.ndarray((8, 8), dtype=nl.float32, buffer=nl.sbuf, address=(0, 0))\n"
OPEN: dict[str, dict[str, str]] = {
    "NKV001": {HIDDEN: "HOST @nki.jit(**n)\ndef k(x):\n    return x"},
    "NKV002": {HIDDEN: "HOST @nki.jit(**n)\ndef k(x):\n    return x"},
    "NKV048": {"memory": "HELPER rank = len(part[:, 3].shape)"},
    "NKV046": {"memory": "HELPER nisa.nc_transpose(dst=part, data=tile, engine=nisa.engine.vector)"},
    "NKV045": {HIDDEN: "HOST @nki.jit(**n)\ndef k(x):\n    return x"},
    "NKV003": {
        "memory": "HELPER nisa.dma_copy(dst=tile, src=part)",
        "memory of the destination": "HELPER nisa.dma_copy(dst=part, src=tile)",
    },
    "NKV004": {
        "type": "HELPER nisa.dma_copy(dst=tile, src=part, dge_mode=nisa.dge_mode.hwdge)",
        "mode": "nisa.dma_copy(dst=tile, src=ints, dge_mode=n)",
    },
    "NKV005": {"literal": "nisa.dma_copy(dst=tile, src=x, dst_rmw_op=n)"},
    "NKV006": {
        "type": "HELPER nisa.memset(dst=part, value=1.0)",
        "type of a negative zero": "HELPER nisa.memset(dst=part, value=-0.0)",
        "type and literal": "HELPER nisa.memset(dst=part, value=n)",
        "literal": "nisa.memset(dst=ints, value=n)",
    },
    "NKV007": {
        "literal": "nisa.tensor_reduce(dst=tile, op=nl.add, data=cube, axis=n)",
        "rank": "HELPER nisa.tensor_reduce(dst=tile, op=nl.add, data=part, axis=[3, 4])",
    },
    "NKV008": {"literal, and version": "EVER nisa.dma_compute(tile, [x], n, x)"},
    "NKV010": {"literal, and version": "EVER nisa.affine_select(tile, [[1, 64]], n, 1, other, 0.0)"},
    "NKV011": {"literal": "r = nisa.register_alloc(1)\nnisa.register_move(r, n)"},
    "NKV012": {"kind": "r = nisa.register_alloc(n)", "kind of a part": "HELPER r = nisa.register_alloc(part[0])"},
    "NKV014": {
        "memory": "out = nl.ndarray((4, 4), dtype=nl.float32, buffer=n)\nreturn out",
        "declaration": "return n.outputs[0]",
    },
    "NKV015": {
        "literal": "nisa.dma_copy(dst=tile, src=x, dge_mode=n)",
        "literals behind a name": "mode = 2\nif n:\n    mode = 1\nnisa.dma_copy(dst=tile, src=x, dge_mode=mode)",
        "version behind a name": "chip = nisa.get_nc_version()\nif chip == 3:\n    n = 1",
    },
    "NKV016": {
        "literal": "more = nl.zeros((4, 4), dtype=nl.float32, buffer=n)",
        "literal behind a name": "b = 'psum'\nmore = nl.zeros((4, 4), dtype=nl.float32, buffer=b)",
    },
    "NKV020": {
        "kind": "for size in n:\n    m = size",
        "list behind a name": "HOST @nki.jit\ndef k(x, s):\n    return x\n\n\ndef run(x):\n    s = [1]\n    k(x, s)",
    },
    "NKV021": {"position": "nisa.range_select(tile, other, nl.less, nl.less, x, x, nisa.reduce_cmd.idle)"},
    "NKV022": {"type": "HELPER nisa.tensor_copy(dst=part, src=part, dtype=n)"},
    "NKV023": {"object": "words = n.view(n.kind, (128, 64))", "memory": "low = n.ptr(128, 64)"},
    "NKV024": {"object": "steps = n.pattern"},
    "NKV025": {
        "memory": PINNED + "b = nl.ndarray((8, 8), dtype=nl.float32, buffer=n)",
        "address": "a = nl.ndarray((8, 8), dtype=nl.float32, buffer=nl.sbuf, address=n)",
    },
    "NKV026": {
        "memory": "HELPER row = part[0]; nisa.tensor_copy(dst=part, src=tile)",
        "index": "row = tile[n]",
        "object": "part = n.make()\nnisa.tensor_copy(dst=part, src=tile)\nrow = part[0]\nsize = row.shape[0]",
    },
    "NKV027": {"version": "EVER nisa.nc_matmul(acc, tile, other, False, False, False, n)"},
    "NKV030": {"rank": "HELPER nisa.dma_transpose(dst=part, src=cube)"},
    "NKV031": {"index": "nisa.tensor_copy_dynamic_src(dst=tile, src=other[0:128, n])"},
    "NKV033": {"memory": "HELPER y = nl.rsqrt(part)"},
    "NKV034": {"sizes": "small = tile.reshape((n, 32))"},
    "NKV037": {"object": "flat = n.reshape(new_shape=(128, 256))"},
    "NKV038": {
        "object": "HELPER y = part.ap([[64, 64], [1, 8]])",
        "part": "row = tile[0:64]\ny = row.ap([[64, 64], [1, 8]])",
    },
    "NKV039": {"object": "flag = n.is_identity"},
    "NKV040": {"form": "for i in nl.dynamic_range(*n):\n    nisa.memset(dst=tile, value=0.0)"},
    "NKV041": {"kind": "while n:\n    nisa.memset(dst=tile, value=0.0)"},
    "NKV043": {"type": "HELPER y = nl.copy(part)"},
    "NKV044": {"callee": "for i in nl.dynamic_range(4):\n    n(i)"},
}
"""For each rule the construct with each fact that it needs not known: in a kernel, in a HELPER that nothing calls, in a
module (HOST), or in a file that may be of any version (EVER)."""
NO_FACT = {
    "NKV009": "any expression chooses the engine",
    "NKV013": "the parameter goes, whatever it is",
    "NKV017": "a name",
    "NKV018": "the form of a signature",
    "NKV019": "an operator",
    "NKV028": "the parameter goes, under review, whatever it is",
    "NKV029": "names",
    "NKV032": "a name",
    "NKV047": "names",
    "NKV035": "both types are taken, and mean the same: what is not seen stays as it is",
    "NKV036": "the engine is given, or it is not",
    "NKV042": "all calls differ",
}
"""Rules that need nothing but names and forms, besides what :data:`CALLED` says."""


def pieces(code: str) -> dict[str, str]:
    found = dict(OPEN.get(code, {}))
    if code in CALLED:
        found |= {HIDDEN: f"y = {CALLED[code]}(**n)", VALUE: f"y = {CALLED[code]}\ny(n)"}
    return found


def source_of(piece: str) -> str:
    kind, _, body = piece.partition(" ")
    if kind == "HOST":
        return host(body)
    if kind == "HELPER":
        helper = kernel("").replace("@nki.jit\n", "").replace("def kernel(x, n):", "def helper(x, n, part):")
        return helper.replace("    return x\n", f"    {body}\n    return x\n")
    return kernel(body if kind == "EVER" else piece)


@pytest.mark.parametrize("code", sorted(RULES))
def test_every_rule_says_what_it_needs_to_know(code: str) -> None:
    assert (code in OPEN) != (code in NO_FACT)


@pytest.mark.parametrize(("code", "fact"), [(code, fact) for code in sorted(RULES) for fact in pieces(code)])
def test_a_rule_that_cannot_decide_is_not_silent(code: str, fact: str) -> None:
    piece = pieces(code)[fact]
    source, (old, new) = source_of(piece), at(code)
    version = "" if piece.startswith("EVER ") else old
    outcome = rewrite(source, Options(target=new, source=version, select=frozenset({code})))
    findings = [finding for finding in outcome.findings if finding.code == code]
    assert findings or outcome.asserted or outcome.applied.get(code), source
    is_token = (code, fact) == ("NKV043", VALUE)  # nl.copy is an operator, too: a note does
    if not is_token and any(change.kind == "differs" for change in changes_of(code)):
        assert findings or outcome.applied.get(code), "what runs with another meaning is a finding"
