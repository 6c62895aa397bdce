"""Which files are rewritten together."""

import pytest
from nki_migrate.codemods.model import Options
from nki_migrate.grouping import LARGE, grouped_files, name_of

KERNEL = b"""\
import nki
import nki.isa as nisa
import nki.language as nl
from sizes import TABLE, WIDTH


@nki.jit
def kernel(a):
    out = nl.ndarray((128, WIDTH), dtype=a.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=a)
    return out
"""
ROWS = b"".join(b"    [%d, None, 1.5, nl.bfloat16],\n" % number for number in range(LARGE // 24))
DATA = b"import nki.language as nl\n\nWIDTH = 512\nTABLE = [\n" + ROWS + b"]\n"


def groups(data: bytes) -> list[list[str]]:
    work = [(0, "kernel.py", KERNEL), (1, "sizes.py", data)]
    found, _ = grouped_files(work, {}, Options())
    return [[name_of(item) for item in group] for group in found]


def test_a_large_file_of_data_is_a_group_of_its_own() -> None:
    """Its trees would stand beside those of all files that import it, and it tells none of them what runs."""
    assert len(DATA) > LARGE
    assert groups(DATA) == [["kernel.py"], ["sizes.py"]]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(DATA[: DATA.index(b"\n", LARGE // 2)] + b"\n]\n", id="a file that is not large"),
        pytest.param(DATA + b"\n\ndef width():\n    return WIDTH\n", id="a function"),
        pytest.param(DATA + b"\n\nfrom kernel import kernel\nkernel(WIDTH)\n", id="a launch"),
        pytest.param(DATA + b"\n\nclass Sizes:\n    width = WIDTH\n", id="a class"),
        pytest.param(DATA + b"\n\nwidth = lambda n: n * WIDTH\n", id="a lambda"),
    ],
)
def test_what_may_run_in_a_kernel_or_launch_one_stays_with_it(data: bytes) -> None:
    assert groups(data) == [["kernel.py", "sizes.py"]]
