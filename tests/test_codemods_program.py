"""Files that import from each other are rewritten together."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from first_rung import Options, rewrite, rewrite_together
from nki_migrate.cli import main
from nki_migrate.codemods import components
from nki_migrate.codemods.project.links import each_link, links
from nki_migrate.discover import found_files
from nki_migrate.rewriting import rewrite_reports

HELPERS = """\
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

WIDTH = 64


def halves(x):
    low = nl.load(x[:, 0:WIDTH])
    high = nl.load(x[:, WIDTH : 2 * WIDTH])
    return low, high


def scaled(dst, src, factor):
    dst[...] = nl.multiply(src, factor)


def total(parts, count):
    result = nl.zeros((nl.par_dim(128), WIDTH), dtype=nl.float32, buffer=nl.sbuf)
    for i in nl.affine_range(count):
        result[...] = nl.add(result, parts[i])
    return result
"""

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

from {origin} import {names}


@nki.jit
def k(x):
    out = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    low, high = {prefix}halves(x)
    parts = nl.ndarray((2, nl.par_dim(128), 64), dtype=nl.float32, buffer=nl.sbuf)
    {prefix}scaled(parts[0], low, 0.5)
    {prefix}scaled(parts[1], high, low)
    nl.store(out, value={prefix}total(parts, 2))
    return out
"""

CASES = """\
[[case]]
kernel = "k"
name = "one"

[case.args]
x = {shape = [128, 128], dtype = "float32", fill = "normal"}
"""

WAYS = {
    "absolute": ("tiles", "halves, scaled, total", "", "tiles.py"),
    "relative": (".tiles", "halves, scaled, total", "", "tiles.py"),
    "package": ("pkg.tiles", "halves, scaled, total", "", "pkg/tiles.py"),
    "module": ("pkg", "tiles", "tiles.", "pkg/tiles.py"),
}


def sources(way: str) -> dict[str, str]:
    origin, names, prefix, path = WAYS[way]
    return {"kernel.py": KERNEL.format(origin=origin, names=names, prefix=prefix), path: HELPERS}


def exit_code(*arguments: str) -> object:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return ended.value.code


@pytest.mark.parametrize("way", WAYS)
def test_a_kernel_and_the_helpers_of_another_file_are_rewritten_alike(way: str) -> None:
    before = sources(way)
    after = rewrite_together(before)
    assert [outcome.findings for outcome in after.values()] == [(), ()]
    helpers = after[WAYS[way][3]].source
    assert "def scaled_2(dst, src, factor):" in helpers  # a number and a tile are different factors
    assert "parts[i]" in helpers
    assert "scaled_2(parts[1], high," in after["kernel.py"].source
    again = rewrite_together({path: outcome.source for path, outcome in after.items()})
    assert {path: o.source for path, o in again.items()} == {path: o.source for path, o in after.items()}


def test_the_rewritten_files_compute_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for side in ("old", "new"):
        folder = tmp_path / side / "pkg"
        folder.mkdir(parents=True)
        for path, text in sources("package").items():
            (tmp_path / side / path).write_text(text)
    (tmp_path / "cases.toml").write_text(CASES)
    assert exit_code("rewrite", "--write", str(tmp_path / "new")) == 0
    shutil.copy(tmp_path / "cases.toml", tmp_path / "old")
    files = [str(tmp_path / side / "kernel.py") for side in ("old", "new")]
    assert exit_code("verify", *files, "--cases", str(tmp_path / "cases.toml")) == 0, capsys.readouterr().out


def test_a_copy_of_an_imported_function_is_imported_beside_it() -> None:
    after = rewrite_together(sources("absolute"))["kernel.py"].source
    assert "from tiles import halves, scaled, total\nfrom tiles import scaled_2\n" in after


def test_variants_with_one_text_share_a_copy() -> None:
    """A number and a column of numbers are operands of the same instruction."""
    texts = sources("absolute")
    texts["kernel.py"] = texts["kernel.py"].replace("high, low)", "high, nl.sum(high, axis=1))")
    after = rewrite_together(texts)
    assert [outcome.findings for outcome in after.values()] == [(), ()]
    assert "scaled_2" not in after["kernel.py"].source + after["tiles.py"].source


def test_a_helper_alone_is_rewritten_without_its_callers() -> None:
    alone = rewrite(HELPERS, filename="tiles.py")
    assert alone.findings  # what dst and src are, only a call tells


def test_a_kernel_that_host_code_of_another_file_launches_is_told_nothing_by_it() -> None:
    kernel = KERNEL.format(origin="tiles", names="halves, scaled, total", prefix="")
    host = "import neuronxcc.nki.language as nl\nimport numpy as np\nfrom kernel import k\n\n\ndef check(n):\n"
    host += "    print(nl.tile_size.pmax)\n    return k(np.zeros((128, n)))\n"
    together = rewrite_together({"kernel.py": kernel, "tiles.py": HELPERS, "host.py": host})
    assert together["kernel.py"] == rewrite_together({"kernel.py": kernel, "tiles.py": HELPERS})["kernel.py"]


def test_only_files_that_import_from_each_other_are_one_group() -> None:
    import ast

    texts = {"a/x.py": "from .y import f", "a/y.py": "", "b/x.py": "from y import f", "c/z.py": "import numpy"}
    assert components({path: ast.parse(text) for path, text in texts.items()}) == [
        ["a/x.py", "a/y.py"],
        ["b/x.py"],
        ["c/z.py"],
    ]


@pytest.mark.parametrize(
    ("statement", "path", "name"),
    [
        ("from . import y", "a/b/y.py", ""),
        ("from .. import y", "a/y.py", ""),
        ("from ..y import f", "a/y.py", "f"),
        ("from b.y import f", "a/b/y.py", "f"),
        ("from a.b.y import f", "a/b/y.py", "f"),
        ("import y", "a/b/y.py", ""),
        ("import a.b.y as y", "a/b/y.py", ""),
        ("from b import f", "a/b/__init__.py", "f"),
    ],
)
def test_an_import_means_the_nearest_file(statement: str, path: str, name: str) -> None:
    import ast

    known = {"a/b/x.py", "a/b/y.py", "a/y.py", "a/b/__init__.py"}
    (link,) = links(each_link(ast.parse(statement), "a/b/x.py", known)).values()
    assert (link.path, link.name) == (path, name)


def test_a_tensor_with_blocks_that_code_out_of_sight_gets_is_a_finding() -> None:
    kernel = KERNEL.format(origin="tiles", names="halves, scaled, total", prefix="")
    seen = kernel.replace("    nl.store(out, value=total(parts, 2))\n", "    total(parts, len(parts))\n")
    messages = [finding.message for finding in rewrite(seen).findings]
    assert "'parts' has block dimensions, and is passed to a function that these files do not show" in messages
    assert not rewrite_together({"kernel.py": seen, "tiles.py": HELPERS})["kernel.py"].findings


AMBIGUOUS = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
import lib

if lib.NARROW:
    from lib import narrow as loaded
else:
    from lib import wide as loaded


@nki.jit
def k(x):
    b, p, f = x.shape
    out = nl.ndarray((64, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.multiply(lib.wide(x[0]), lib.narrow(x[0]))
    other = loaded(x[1])
    nl.store(out, value=nl.add(tile, other))
    return out
"""

LOADERS = """\
import neuronxcc.nki.language as nl

NARROW = True


def narrow(part):
    return nl.load(part[0:64, 0:1])


def wide(part):
    return nl.load(part[0:64, 0:64])
"""


def test_a_name_that_two_imports_bind_is_taken_for_neither():
    outcome = rewrite_together({"main.py": AMBIGUOUS, "lib.py": LOADERS})["main.py"]
    assert "    other = loaded(x[1])\n" in outcome.source
    messages = {finding.line: finding.message for finding in outcome.findings}
    assert messages[16].startswith("'loaded' may be another function")
    assert 17 in messages  # what it returns is not known: it is no number
    assert "    wide_result = lib.wide(x[0]" in outcome.source  # a name, no attribute of the module


SIZES = """\
{head}@dataclass(frozen=True)
class Sizes:
    rows: int = 64

    def checked(self, n):
        if n < self.rows:
            raise ValueError("too few")
        return n


def host(kernel, x):
    try:
        return kernel(x)
    finally:
        print("done")
"""

USER = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

from sizes import Sizes


@nki.jit
def k(x):
    sizes = Sizes()
    out = nl.ndarray((sizes.rows, 8), dtype=x.dtype, buffer=nl.shared_hbm)
    assert sizes.checked(x.shape[0]) > 0
    tile = nl.load(x[0 : sizes.rows, 0:8])
    nl.store(out, value=tile)
    return out
"""


@pytest.mark.parametrize(
    "head",
    ["from dataclasses import dataclass\n\n\n", '"""Sizes."""\nimport dataclasses as d\ndataclass = d.dataclass\n'],
)
def test_classes_of_files_without_a_word_of_nki_are_rewritten_when_kernels_use_them(head):
    files = {"sizes.py": SIZES.format(head=head), "k.py": USER, "other.py": "from sizes import Sizes\nSizes(3)\n"}
    outcomes = rewrite_together(files)
    assert not any(outcome.findings for outcome in outcomes.values())
    sizes = outcomes["sizes.py"].source
    assert "import nki.language as nl\n" in sizes and "class Sizes(nl.NKIObject):" in sizes
    assert 'assert False, "too few"' in sizes and "    finally:\n" in sizes
    assert outcomes["other.py"].source == files["other.py"]
    assert rewrite(sizes).source == sizes
    assert rewrite(files["sizes.py"]).source == files["sizes.py"]


def test_the_command_reads_such_files_only_for_kernels(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    files = {
        "sizes.py": SIZES.format(head="from dataclasses import dataclass\n\n\n"),
        "k.py": USER.replace("from sizes import Sizes", "import tools\nfrom sizes import Sizes"),
        "tools.py": "import more\n\n\ndef f(*args):\n    return args\n",
        "more.py": "this is no Python\n",
        "apart.py": "x = 1\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(SystemExit) as left:
        main(["rewrite", "--write", "."])
    assert left.value.code == 0
    assert "2 changed, 0 unchanged, 3 skipped, 0 failed; 0 findings" in capsys.readouterr().err
    assert "class Sizes(nl.NKIObject)" in (tmp_path / "sizes.py").read_text()
    assert all((tmp_path / name).read_text() == files[name] for name in ("tools.py", "more.py", "apart.py"))


def test_what_a_kernel_reaches_in_another_file_is_judged_there(tmp_path):
    helpers = "def kept(seen):\n    return set(seen)\n\n\ndef host(seen):\n    return set(seen)\n"
    kernel = (
        "import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\nfrom helpers import kept\n\n\n"
        "@nki.jit\ndef k(x):\n    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "    assert len(kept((1, 2))) == 2\n    nl.store(out, nl.load(x))\n    return out\n"
    )
    (tmp_path / "helpers.py").write_text(helpers)
    (tmp_path / "kernel.py").write_text(kernel)
    reports = rewrite_reports(found_files([str(tmp_path)]), Options(), jobs=1)
    found = {report.path.rpartition("/")[2]: report for report in reports}
    assert [(f.line, f.code) for f in found["helpers.py"].findings] == [(2, "NKI091")]
    assert (found["helpers.py"].status, found["kernel.py"].findings) == ("unchanged", ())
