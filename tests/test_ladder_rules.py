"""The rules of the ladder one by one: what those write that have no golden, what is left, and code that only looks like
what a rule rewrites: at least three pieces for each rule, with the reason.
"""

from __future__ import annotations

import black
import pytest
from nki_migrate.codemods import Options, Outcome, rewrite
from nki_migrate.codemods.ladder.registry import RULES, changes_of

IMPORTS = "import nki\nimport nki.collectives as ncc\nimport nki.isa as nisa\nimport nki.language as nl\n"
TILES = """\
tile = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
other = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
cube = nl.ndarray((128, 4, 64), dtype=nl.float32, buffer=nl.sbuf)
ints = nl.ndarray((128, 64), dtype=nl.int32, buffer=nl.sbuf)
acc = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.psum)
"""
LEAST = 3


def kernel(body: str, head: str = "def kernel(x, n):", imports: str = IMPORTS) -> str:
    lines = "".join(f"    {line}\n" if line else "\n" for line in (TILES + body).rstrip().split("\n"))
    return f"{imports}\n\n@nki.jit\n{head}\n{lines}    return x\n"


def host(code: str) -> str:
    return f"{IMPORTS}\n\n{code}\n"


def at(code: str) -> tuple[str, str]:
    """The version before the first change that a rule serves, and that of its last."""
    served = changes_of(code)
    before = {"0.3": "0.2", "0.4": "0.3", "0.5": "0.4", "0.6": "0.5"}
    return before[served[0].since.name], served[-1].since.name


def written(source: str, code: str, unsafe: bool = True) -> Outcome:
    """What one rule makes of a source of the version before it."""
    old, new = at(code)
    return rewrite(source, Options(target=new, source=old, unsafe=unsafe, select=frozenset({code})))


def body_of(outcome: Outcome) -> str:
    """The lines of the kernel behind the tiles, without their margin."""
    lines = outcome.source.split("def kernel")[1].split("\n")[1 + TILES.count("\n") :]
    return "\n".join(line.removeprefix("    ") for line in lines).split("\nreturn x")[0]


WRITES: dict[str, tuple[str, str]] = {
    "NKV003": (
        "nisa.dma_copy(dst=x, src=acc[0:64, 0:32])",
        "acc_sbuf = nl.ndarray(\n    acc[0:64, 0:32].shape, dtype=acc[0:64, 0:32].dtype, buffer=nl.sbuf\n)\n"
        "nisa.tensor_copy(dst=acc_sbuf, src=acc[0:64, 0:32])\nnisa.dma_copy(dst=x, src=acc_sbuf)",
    ),
    "NKV004": (
        "nisa.dma_copy(dst=tile, src=ints, dge_mode=nisa.dge_mode.hwdge)",
        "nisa.dma_copy(dst=tile, src=ints, dge_mode=nisa.dge_mode.swdge)",
    ),
    "NKV013": (
        "r = ncc.collective_permute_implicit_current_processing_rank_id(0, n, channel_id=1, num_channels=2)",
        "r = ncc.collective_permute_implicit_current_processing_rank_id(0, n, channel_id=1)",
    ),
    "NKV024": ("steps = tile.pattern", "steps = tile.get_pattern()"),
    "NKV028": ("c = nl.shared_constant(n, dtype=nl.float32)", "c = nl.shared_constant(n)"),
    "NKV035": (
        "scale = nl.ndarray((128, 16), dtype=nl.uint8, buffer=nl.sbuf)\n"
        "nisa.quantize_mx(dst=tile, src=other, dst_scale=scale)",
        "scale = nl.ndarray((128, 16), dtype=nl.float8_e8m0fnu, buffer=nl.sbuf)\n"
        "nisa.quantize_mx(dst=tile, src=other, dst_scale=scale)",
    ),
    "NKV036": ("nisa.rng(dst=ints)", "nisa.rng(dst=ints, engine=nisa.engine.unknown)"),
    "NKV037": ("flat = cube.reshape(new_shape=(128, 256))", "flat = cube.reshape(shape=(128, 256))"),
    "NKV040": (
        "for i in nl.dynamic_range(2, n, 2):\n    nisa.dma_copy(dst=tile, src=x.ap([[1, 1]], scalar_offset=i))",
        "def i_body(i):\n    nisa.dma_copy(dst=tile, src=x.ap([[1, 1]], scalar_offset=i))\n\n"
        "nl.fori_loop(2, n, i_body, step=2)",
    ),
    "NKV046": (
        "turned = nl.ndarray((64, 128), nl.float32, buffer=nl.psum)\n"
        "nisa.nc_transpose(dst=turned, data=tile, engine=nisa.engine.vector)",
        "turned = nl.ndarray((64, 128), nl.float32, buffer=nl.psum)\nnisa.nc_transpose(dst=turned, data=tile)",
    ),
    "NKV047": (
        "nisa.tensor_copy(dst=tile, src=other, engine=nisa.vector_engine)",
        "nisa.tensor_copy(dst=tile, src=other, engine=nisa.engine.vector)",
    ),
    "NKV041": (
        "left = nisa.register_alloc(3)\nwhile left:\n    nisa.register_load(left, ints)",
        "left = nisa.register_alloc(3)\ndef left_body(left):\n    nisa.register_load(left, ints)\n    return left\n\n"
        "nl.while_loop(left, left_body)",
    ),
}
"""What a rule without a golden writes: the body of a kernel before and after."""

DIFFERENT = {"NKV042", "NKV043"}
"""What the version computes otherwise itself, which --unsafe takes for wanted."""

LEAVES: dict[str, tuple[str, str]] = {
    "NKV003": ("nisa.dma_copy(dst=acc, src=x)", "dma_copy cannot write to PSUM"),
    "NKV005": ("nisa.dma_copy(dst=tile, src=x, dst_rmw_op=n)", "whether this copy accumulates is not known"),
    "NKV006": ("nisa.memset(dst=ints, value=0.5)", "memset fills int32 with an integer, not with 0.5"),
    "NKV007": ("nisa.tensor_reduce(dst=tile, op=nl.add, data=cube, axis=n)", "axis is no literal"),
    "NKV023": ("low = sbuf.ptr(128, 64)", "'sbuf.ptr' is gone"),
    "NKV024": ("place = tile.address", "a tensor has no 'address'"),
    "NKV025": (
        "pinned = nl.ndarray((128, 8), dtype=nl.float32, buffer=nl.sbuf, address=(0, 0))",
        "this tensor has no address, and others of the kernel have one",
    ),
    "NKV031": ("nisa.tensor_copy_dynamic_src(dst=tile, src=other[0:128, n])", "dynamic copies are gone"),
    "NKV033": ("nisa.tensor_copy(dst=tile, src=nl.rsqrt(acc))", "nl.rsqrt does not read PSUM"),
    "NKV034": ("small = tile.reshape((128, 32))", "reshape of 8192 elements to 4096"),
    "NKV038": ("part = tile[0:64, 0:8].ap([[64, 64], [1, 8]])", "without an offset this pattern begins"),
    "NKV039": ("whole = tile.is_identity()", "a tensor has no 'is_identity' since 0.5"),
    "NKV040": (
        "for i in nl.dynamic_range(n):\n    last = tile\nnisa.dma_copy(dst=x, src=last)",
        "the body gives 'last'",
    ),
    "NKV041": ("r = nisa.register_alloc(3)\nwhile r:\n    break", "the body of the loop ends early"),
    "NKV042": ("nisa.quantize_mx(dst=tile, src=other, dst_scale=ints)", "takes it that other scales"),
    "NKV043": ("y = nl.copy(ints)", "takes it that exact integers are wanted"),
    "NKV048": ("col = tile[:, 3]\nrank = len(col.shape)", "the shape of this part of a tile"),
    "NKV044": ("for i in nl.dynamic_range(4):\n    nisa.register_move(i, n)", "'i' is written in the loop"),
}
"""What a rule leaves under a finding: the body of a kernel, and how the message begins."""


@pytest.mark.parametrize("code", sorted(WRITES))
def test_what_a_rule_writes(code: str) -> None:
    before, after = WRITES[code]
    outcome = written(kernel(before), code)
    assert body_of(outcome) == after
    assert written(outcome.source, code).source == outcome.source


@pytest.mark.parametrize("code", sorted(LEAVES))
def test_what_a_rule_leaves_has_a_finding(code: str) -> None:
    body, message = LEAVES[code]
    found = [f for f in written(kernel(body), code, unsafe=code not in DIFFERENT).findings if f.code == code]
    assert found and found[-1].message.startswith(message)


@pytest.mark.parametrize("code", sorted(WRITES.keys() & {c for c, r in RULES.items() if r.applicability == "review"}))
def test_what_is_for_review_is_left_without_unsafe(code: str) -> None:
    outcome = written(kernel(WRITES[code][0]), code, unsafe=False)
    assert outcome.applied.get(code, 0) == 0
    assert [f.applicability for f in outcome.findings if f.code == code] == ["review"]


def test_a_reduction_of_partitions_alone_is_left_and_said() -> None:
    body = "flat = nl.ndarray((128,), nl.float32, buffer=nl.sbuf)\n"
    body += "nisa.tensor_reduce(dst=tile, op=nl.add, data=flat, axis=1)"
    assert any("no free dimension" in f.message for f in rewrite(kernel(body), Options(target="0.6")).findings)


def test_what_runs_with_another_meaning_stops_until_somebody_has_resolved_it() -> None:
    source = kernel("nisa.tensor_reduce(dst=tile, op=nl.add, data=cube, axis=n)")
    outcome = rewrite(source, Options(target="0.6", source="0.2"))
    assert 'assert False, "nki-migrate NKV007: axis is no literal' in outcome.source
    again = rewrite(outcome.source, Options(target="0.6", source="0.2"))
    assert again.source == outcome.source
    assert [f.code for f in again.findings] == ["NKV007"]


def test_a_file_of_an_unknown_version_is_asked_about_not_guessed() -> None:
    source = kernel("nisa.rng(dst=ints)")
    outcome = rewrite(source, Options(target="0.6"))
    assert outcome.source == source
    assert [(f.code, f.help) for f in outcome.findings] == [("NKV036", "say which version the file is of (--from)")]


def test_the_version_of_a_file_is_said_with_what_shows_it() -> None:
    outcome = rewrite(kernel("nisa.dma_copy(dst=tile, src=x, dst_rmw_op=nl.add)"), Options(target="0.3"))
    (decision,) = outcome.decisions
    assert (decision.name, decision.choice) == ("NKI", "0.2")
    assert "dst_rmw_op" in decision.reason


def test_findings_have_the_lines_of_the_input() -> None:
    body = "nisa.dma_copy(\n    dst=tile,\n    src=x,\n    dst_rmw_op=nl.add,\n)\nplace = tile.address"
    source = kernel(body)
    outcome = rewrite(source, Options(target="0.3", source="0.2"))
    (finding,) = outcome.findings
    assert source.split("\n")[finding.line - 1].strip() == "place = tile.address"


# --- what only looks like it ------------------------------------------------------------------------------------------

ANOTHER = "import nki\nimport numpy as nisa\nimport numpy as nl\n"
COMMON = {
    "the names are another module's": "{another}",
    "a text that says so": "NOTE = {text!r}",
    "the file has nothing of NKI": "def kernel(x):\n    return x.pattern\n",
}
ARMS = kernel("").replace(
    TILES.replace("\n", "\n    ").rstrip(),
    "if n:\n        a = nl.ndarray((8, 8), dtype=nl.float32, buffer=nl.sbuf)\n    else:\n"
    "        a = nl.ndarray((8, 8), dtype=nl.float32, buffer=nl.sbuf, address=(0, 0))",
)
BOX = "\n\nclass Box(nl.NKIObject):\n    pass\n"
OWN: dict[str, dict[str, str]] = {
    "NKV001": {"jit without options": kernel("")},
    "NKV002": {"another decorator has a mode": host('@other(mode="x")\ndef f(x):\n    return x')},
    "NKV045": {"a function of the file has such a parameter": kernel("y = other_jit(func=tile)")},
    "NKV003": {"a copy from SBUF": kernel("nisa.dma_copy(dst=x, src=tile)")},
    "NKV004": {"one type on both sides": kernel("nisa.dma_copy(dst=tile, src=other, dge_mode=nisa.dge_mode.hwdge)")},
    "NKV005": {"a plain copy": kernel("nisa.dma_copy(dst=tile, src=x)")},
    "NKV006": {"a float for a float tensor": kernel("nisa.memset(dst=tile, value=1.0)")},
    "NKV007": {"the last of two dimensions is 1": kernel("nisa.tensor_reduce(dst=tile, op=nl.add, data=tile, axis=1)")},
    "NKV008": {"the operator is third already": kernel("nisa.dma_compute(tile, [x], nl.add)")},
    "NKV009": {
        "no engine is asked for": kernel(
            "nisa.sendrecv(src=tile, dst=other, send_to_rank=1, recv_from_rank=1, pipe_id=0)"
        )
    },
    "NKV010": {"the operator is sixth already": kernel("nisa.affine_select(tile, [[1, 64]], 1, other, 0.0, nl.equal)")},
    "NKV011": {"a register is moved": kernel("r = nisa.register_alloc(1)\nnisa.register_move(r, src=r)")},
    "NKV012": {"a number is allocated": kernel("r = nisa.register_alloc(3)")},
    "NKV013": {
        "no channels are counted": kernel("r = ncc.collective_permute_implicit_current_processing_rank_id(0, n)")
    },
    "NKV014": {
        "an annotation": kernel("", "def kernel(x: nl.ndarray, n: 'nl.ndarray') -> nl.ndarray:"),
        "a tensor of one core that is not returned": kernel(
            "scratch = nl.ndarray((4, 4), dtype=nl.float32, buffer=nl.hbm)"
        ),
    },
    "NKV015": {"a member already": kernel("nisa.dma_copy(dst=tile, src=x, dge_mode=nisa.dge_mode.hwdge)")},
    "NKV016": {"a buffer already": kernel("more = nl.ndarray((4, 4), dtype=nl.float32, buffer=nl.sbuf)")},
    "NKV017": {"a member of the enumeration": kernel("way = nisa.dma_engine.dma")},
    "NKV018": {"*args is no star alone": kernel("", "def kernel(x, *n):")},
    "NKV019": {"is None is == None in both": kernel("if n is None:\n    n = 1")},
    "NKV020": {"a helper may get a list": host("def helper(x, sizes=[1]):\n    return x")},
    "NKV021": {
        "what 0.2 did anyway": kernel(
            "nisa.range_select(dst=tile, on_true_tile=other, "
            "comp_op0=nl.less, comp_op1=nl.less, bound0=x, bound1=x, reduce_cmd=nisa.reduce_cmd.reset_reduce)"
        )
    },
    "NKV022": {"the destination alone says the type": kernel("nisa.tensor_copy(dst=tile, src=other)")},
    "NKV023": {"a view without a shape": kernel("words = tile.view(nl.int32)")},
    "NKV024": {"an attribute of an object": kernel("box = Box()\nsteps = box.pattern") + BOX},
    "NKV025": {
        "arms of one condition": ARMS,
    },
    "NKV026": {"an operand of an instruction": kernel("nisa.tensor_copy(dst=tile[0:1], src=other[0])")},
    "NKV027": {"what every version has at these positions": kernel("nisa.dma_copy(tile, x)")},
    "NKV028": {"the constant alone": kernel("c = nl.shared_constant(n)")},
    "NKV029": {
        "a variable called sbuf": kernel("sbuf = nl.sbuf\nmore = nl.ndarray((4, 4), dtype=nl.float32, buffer=sbuf)")
    },
    "NKV030": {"equal ranks": kernel("nisa.dma_transpose(dst=tile, src=other)")},
    "NKV031": {"a static copy": kernel("nisa.tensor_copy(dst=tile, src=other)")},
    "NKV032": {"another size of tiles": kernel("n = nl.tile_size.pmax")},
    "NKV033": {"a tile in SBUF": kernel("y = nl.rsqrt(tile)")},
    "NKV034": {"as many elements": kernel("flat = cube.reshape((128, 256))")},
    "NKV035": {"bytes that are no scales": kernel("b = nl.ndarray((128, 16), dtype=nl.uint8, buffer=nl.sbuf)")},
    "NKV036": {"the engine is named": kernel("nisa.rng(dst=ints, engine=nisa.engine.vector)")},
    "NKV037": {"shape by its name": kernel("flat = cube.reshape(shape=(128, 256))")},
    "NKV038": {
        "a pattern of the whole tensor": kernel("part = tile.ap([[64, 64], [1, 8]])"),
        "a pattern of what was loaded": kernel("loaded = nl.load(x[0:64])\npart = loaded.ap([[64, 64], [1, 8]])"),
    },
    "NKV039": {"an attribute of an object": kernel("box = Box()\nflag = box.is_identity") + BOX},
    "NKV040": {"a loop that is unrolled": kernel("for i in nl.affine_range(4):\n    nisa.memset(dst=tile, value=0.0)")},
    "NKV041": {"a condition that is no register": kernel("left = 3\nwhile left:\n    left = 0")},
    "NKV042": {"another instruction": kernel("nisa.tensor_copy(dst=tile, src=other)")},
    "NKV043": {
        "a copy of floats": kernel("y = nl.copy(tile)"),
        "an operator": kernel("nisa.activation(dst=tile, op=nl.copy, data=other)"),
    },
    "NKV048": {
        "operands": kernel("nisa.tensor_copy(dst=other[:, 0], src=tile[:, 3])"),
        "an operand by its name": kernel("col = tile[:, 3]\nnisa.tensor_copy(dst=other[:, 0:1], src=col)"),
        "dimensions stay": kernel("part = cube[:, 3]"),
    },
    "NKV046": {"the engine that ran": kernel("nisa.nc_transpose(dst=acc, data=tile, engine=nisa.engine.tensor)")},
    "NKV047": {
        "a member already": kernel("nisa.tensor_copy(dst=tile, src=other, engine=nisa.engine.vector)"),
        "another enumeration since 0.3": kernel("way = nisa.dma_engine.dma"),
    },
    "NKV044": {"the variable is read": kernel("for i in nl.dynamic_range(4):\n    nisa.register_move(n, i)")},
}
"""For each rule one piece of its own; three more are made of its example for all of them."""


def pieces(code: str) -> dict[str, str]:
    example = changes_of(code)[0].before
    body = (
        "words = tile.view(nl.int32, (128, 64))"
        if code == "NKV023"
        else WRITES.get(code, LEAVES.get(code, ("", "")))[0]
    )
    another = kernel(body, imports=ANOTHER)
    made = {reason: text.format(another=another, text=example) for reason, text in COMMON.items()}
    return {**OWN[code], **made}


@pytest.mark.parametrize("code", sorted(RULES))
def test_every_rule_has_its_no_ops(code: str) -> None:
    assert len(pieces(code)) >= LEAST


@pytest.mark.parametrize(("code", "reason"), [(code, reason) for code in sorted(RULES) for reason in pieces(code)])
def test_what_only_looks_like_it_is_left_alone(code: str, reason: str) -> None:
    source = pieces(code)[reason]
    outcome = written(source, code)
    assert (outcome.source, outcome.applied.get(code, 0)) == (source, 0)
    assert [finding for finding in outcome.findings if finding.code == code] == []
    if reason == "an annotation":
        assert outcome.asserted == ()


def test_views_that_the_rules_from_beta1_wrote_need_no_review() -> None:
    beta1 = (
        "import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\n\n\n@nki.jit\ndef k(x):\n"
        "    out = nl.ndarray((64, 32), dtype=nl.int16, buffer=nl.shared_hbm)\n    tile = nl.load(x[0:64, 0:16])\n"
        "    nl.store(out, tile.view(nl.int16))\n    return out\n"
    )
    outcome = rewrite(beta1, Options(target="0.6"))
    assert not [finding for finding in outcome.findings if finding.code == "NKV023"]


def test_a_pattern_of_an_item_of_a_list_is_one_of_a_whole_tensor() -> None:
    source = kernel("tiles = [tile, other]\npart = tiles[0].ap([[64, 64], [1, 8]])")
    assert [f for f in written(source, "NKV038").findings if f.code == "NKV038"] == []


def test_an_item_of_what_may_be_a_list_of_tensors_is_no_part_of_one() -> None:
    outcome = written(kernel("part = x[n].ap([[64, 64], [1, 8]], offset=0)"), "NKV038")
    assert outcome.findings == ()
    assert [each.text for each in outcome.asserted] == ["'x[n]' is a whole tensor"]


def test_the_axis_of_a_part_is_counted_by_what_slices_cut_it_from() -> None:
    source = host("def helper(a, b, n):\n    nisa.tensor_reduce(dst=b, op=nl.add, data=a[0:n, 0:4], axis=1)")
    assert "axis=len(a.shape) - 1)" in written(source, "NKV007").source
    kept = written(source.replace("0:4", "4"), "NKV007").source
    assert "axis=len(a[0:n, 4].shape) - 1)" in kept


def test_what_is_said_alike_of_several_tensors_of_a_function_is_one_note() -> None:
    copies = "def helper(a, b, c):\n    nisa.dma_copy(dst=a, src=b)\n    nisa.dma_copy(dst=c, src=b)\n"
    other = "\n\ndef second(d):\n    nisa.dma_copy(dst=d, src=d)\n"
    outcome = written(host(copies + other), "NKV003")
    assert [(each.line, each.text) for each in outcome.asserted] == [
        (8, "'b', 'a' and 'c' are not in PSUM"),
        (13, "'d' is not in PSUM"),
    ]


def test_pairs_that_are_alike_are_told_apart_in_one_note() -> None:
    copies = "".join(f"    nisa.dma_copy(dst={a}, src={b}, dge_mode=nisa.dge_mode.hwdge)\n" for a, b in ("ab", "cb"))
    outcome = written(host("def helper(a, b, c):\n" + copies), "NKV004")
    assert [each.text for each in outcome.asserted] == ["'a' and 'b'; 'c' and 'b' have one type each"]


def test_a_decorator_is_no_call_by_another_name() -> None:
    assert written(kernel(""), "NKV045").asserted == ()


@pytest.mark.parametrize("returned", ["tuple(outs)", "list(outs)", "tuple(list(outs))", "outs"])
def test_outputs_that_are_collected_in_a_list_are_shared(returned: str) -> None:
    collected = (
        "outs = []\nfor i in range(2):\n    out = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.hbm)\n"
        "    nisa.dma_copy(dst=out, src=tile)\n    outs.append(out)"
    )
    source = kernel(collected).replace("    return x\n", f"    return {returned}\n")
    outcome = written(source, "NKV014")
    assert "buffer=nl.shared_hbm" in outcome.source and "buffer=nl.hbm" not in outcome.source
    hidden = written(f"def tuple(items):\n    return items.made()\n\n\n{source}", "NKV014")
    assert ("buffer=nl.hbm" in hidden.source) is ("tuple" in returned)


LONG = "nisa.tensor_reduce(dst=other[0:128, 0:1], op=nl.maximum, data=n.make_a_tile.of_128_by_64, axis=1)"


@pytest.mark.parametrize("width", [88, 100, 120])
def test_lines_that_became_too_long_are_written_as_black_writes_them(width: int) -> None:
    """In the width of the file: that of its longest line, 88 at least, 120 at most. Other lines keep their form."""
    kept = "y   = n.made( x )"
    source = kernel(f"{LONG}\n# {'-' * (width - 6)}\n{kept}")
    outcome = written(source, "NKV007")
    again = written(outcome.source, "NKV007")
    lines = outcome.source.split("\n")
    mode = black.Mode(line_length=max(width, len(LONG) + 4), string_normalization=False)
    assert max(map(len, lines)) <= max(width, len(LONG) + 4) and f"    {kept}" in lines
    assert again.source == outcome.source and "len(n.make_a_tile.of_128_by_64.shape) - 1" in outcome.source
    assert black.format_str(outcome.source.replace(kept, "pass"), mode=mode) == outcome.source.replace(kept, "pass")


def test_a_long_line_with_a_comment_behind_it_keeps_its_line() -> None:
    outcome = written(kernel(f"{LONG}  # the largest of each row"), "NKV007")
    assert "axis=len(n.make_a_tile.of_128_by_64.shape) - 1)  # the largest of each row\n" in outcome.source
