"""Which files are rewritten together."""

from pathlib import Path

import pytest
from nki_migrate.cli import main
from nki_migrate.codemods.model import Options
from nki_migrate.grouping import LARGE, grouped_files, name_of
from nki_migrate.reports import Report

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


OLD = b"import neuronxcc.nki as nki\n\n\n@nki.jit\ndef doubled(a):\n    return a\n\n\ndef helper(a):\n    return a\n"
HOSTS = {
    "by its name": {"host.py": b"from kernel import doubled\n\ndoubled[2](1)\n"},
    "through its module": {"host.py": b"import kernel as kernels\n\nkernels.doubled(1)\n"},
    "through a package": {
        "pkg/__init__.py": b"from ..kernel import doubled\n",
        "host.py": b"from pkg import doubled as other\n",
    },
}


def with_hosts(hosts: dict[str, bytes]) -> list[list[str]]:
    skipped = {n: Report(path, "skipped", before=data) for n, (path, data) in enumerate(hosts.items(), 1)}
    found, _ = grouped_files([(0, "kernel.py", OLD)], skipped, Options())
    return [sorted(name_of(item) for item in group) for group in found]


@pytest.mark.parametrize("way", HOSTS)
def test_files_that_do_not_name_nki_belong_to_the_kernels_that_they_launch(way: str) -> None:
    assert with_hosts(HOSTS[way]) == [sorted(["kernel.py", *HOSTS[way]])]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"from kernel import helper\n\nhelper(1)\n", id="another function"),
        pytest.param(b"from other import doubled\n\ndoubled(1)\n", id="another module"),
        pytest.param(b"import kernel\n", id="no name of a kernel"),
    ],
)
def test_other_files_do_not(text: bytes) -> None:
    assert with_hosts({"host.py": text}) == [["kernel.py"]]


def test_a_kernel_may_stand_under_a_condition() -> None:
    indented = OLD.replace(
        b"@nki.jit\ndef doubled(a):\n    return", b"if nki:\n    @nki.jit\n    def doubled(a):\n        return"
    )
    assert indented != OLD
    skipped = {1: Report("host.py", "skipped", before=HOSTS["by its name"]["host.py"])}
    found, _ = grouped_files([(0, "kernel.py", indented)], skipped, Options())
    assert [len(group) for group in found] == [2]


def test_a_launch_in_a_file_that_does_not_name_nki_is_rewritten(tmp_path: Path) -> None:
    kernel = OLD.replace(
        b"    return a\n",
        b"    out = nl.ndarray((4, 128, 64), dtype=a.dtype, buffer=nl.shared_hbm)\n"
        b"    i, j = nl.program_id(0), nl.program_id(1)\n"
        b"    nl.store(out[2 * i + j], nl.load(a[2 * i + j]))\n    return out\n",
        1,
    )
    kernel = kernel.replace(b"as nki\n", b"as nki\nimport neuronxcc.nki.language as nl\n", 1)
    (tmp_path / "kernel.py").write_bytes(kernel)
    (tmp_path / "host.py").write_bytes(HOSTS["by its name"]["host.py"].replace(b"[2](1)", b"[2, 2](1)"))
    with pytest.raises(SystemExit) as end:
        main(["rewrite", "--write", "--unsafe", "--allow-dirty", "--no-cache", str(tmp_path)])
    assert end.value.code in (0, None)
    assert (tmp_path / "host.py").read_text().endswith("doubled(1, grid=(2, 2))\n")
