"""An edit that a construct asks for in another function is that function's, too: the guards ask who changed it."""

from __future__ import annotations

import pytest
from nki_migrate.codemods import Options, rewrite
from nki_migrate.guard import complete, objection

KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl


def quantized(source, packed, scale):
    tile = nl.ndarray((128, 512), dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source)
    nisa.quantize_mx(dst=packed, src=tile, dst_scale=scale)


{before}@nki.jit
{indent}def wrapper(x):
{indent}    out = nl.ndarray((128, 128), dtype=nl.float8_e4m3fn_x4, buffer=nl.shared_hbm)
{indent}    packed = nl.ndarray((128, 128), dtype=nl.float8_e4m3fn_x4, buffer=nl.sbuf)
{indent}    scale = nl.ndarray((128, 128), dtype=nl.uint8, buffer=nl.sbuf)
{indent}    quantized(x, packed, scale)
{indent}    nisa.dma_copy(dst=out, src=packed)
{indent}    return out
"""


@pytest.mark.parametrize(("before", "indent"), [("", ""), ("if HAS_NKI:\n    ", "    ")])
def test_a_declaration_in_the_caller_of_what_needs_another_type_is_written(before: str, indent: str) -> None:
    source = KERNEL.format(before=before, indent=indent)
    options = Options(target="0.6", source="0.4", unsafe=True)
    outcome = complete(source, rewrite(source, options), options)
    assert "dtype=nl.float8_e8m0fnu" in outcome.source and "wrapper" in outcome.touched
    assert objection(source, outcome, options, "k.py", rewrite) is None
