"""One source for several versions: what nothing is said of runs alike in all of them, and the rest has a finding."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from examples import sampled
from nki_migrate.cli import main
from nki_migrate.codemods import Options
from nki_migrate.codemods.ladder.common_form import partings
from nki_migrate.codemods.model import Finding
from nki_migrate.golden import LADDER_GOLDENS, NKI_GOLDENS
from nki_migrate.reports import Report
from nki_migrate.rewriting import rewrite_report
from nki_migrate.runtime.cases import read_cases
from nki_migrate.runtime.pool import Workers
from nki_migrate.runtime.spec.versions import OLDEST, VERSIONS, version
from test_ladder_golden import trouble

HEAD = "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n\n\n@nki.jit\ndef kernel(x):\n"
TILE = "    {} = nl.ndarray((128, 8), dtype=nl.float32, buffer=nl.sbuf)\n"
TILES = TILE.format("a") + TILE.format("b")


def report(source: str, oldest: str, target: str) -> Report:
    return rewrite_report("k.py", source.encode(), Options(unsafe=True, oldest=oldest, target=target))


ALL = {**NKI_GOLDENS, **LADDER_GOLDENS}
CLIMBED = sorted(name for name, golden in ALL.items() if golden.target != OLDEST.name)


@pytest.mark.parametrize("name", sampled("common_form", CLIMBED))
def test_what_nothing_is_said_of_runs_alike(workers: Workers, name: str) -> None:
    golden = ALL[name]
    older = VERSIONS[: version(golden.target).position]
    reports = {at: report(golden.after, at.name, golden.target) for at in older}
    assert all(found.after.decode() == golden.after for found in reports.values()), "a range changes no text"
    silent = next((at for at in older if not reports[at].findings), None)
    if silent is None or golden.expected_failure:
        return  # no other version takes it, and that is said
    path = golden.after_path
    for case in read_cases(golden.cases_path).cases:
        assert trouble(workers, golden, case, (path, golden.target), (path, silent.name)) == [], (silent, case.name)


def test_what_the_newest_takes_as_well_stays_for_the_older() -> None:
    scale = "    s = nl.ndarray((128, 2), dtype=nl.uint8, buffer=nl.sbuf)\n"
    source = f"{HEAD}{TILES}{scale}    nisa.quantize_mx(dst=a, src=b, dst_scale=s)\n    return x\n"
    alone = rewrite_report("k.py", source.encode(), Options(unsafe=True, target="0.5", source="0.4"))
    ranged = rewrite_report("k.py", source.encode(), Options(unsafe=True, target="0.5", source="0.4", oldest="0.4"))
    assert b"float8_e8m0fnu" in alone.after and b"uint8" in ranged.after
    assert "NKL051" not in {finding.code for finding in ranged.findings}


PARTED = {
    "a middle axis": ("c = nl.ndarray((128, 4, 4), nl.float32, buffer=nl.sbuf)\n    "
                      "nisa.tensor_reduce(dst=a, op=nl.add, data=c, axis=1)", "NKV007", "0.3"),
    "a computed axis": ("nisa.tensor_reduce(dst=a, op=nl.add, data=b, axis=len(b.shape) - 1)", "NKV007", "0.3"),
    "an argument by position": ("nisa.dma_compute(a, [b], nl.add, [1.0])", "NKV008", "0.3"),
    "where a mask stood": ("nisa.memset(a, 0.5, None, nisa.engine.vector)", "NKV027", "0.3"),
    "a view of the type alone": ("c = a.view(nl.int16)", "NKV023", "0.3"),
    "a default engine": ("nisa.rng(dst=a)", "NKV036", "0.5"),
    "a view without an offset": ("c = a[:, 4:8].ap([[8, 128], [1, 4]])", "NKV038", "0.5"),
    "a scale": ("nisa.quantize_mx(dst=a, src=b, dst_scale=b)", "NKV042", "0.5"),
}  # fmt: skip


@pytest.mark.parametrize("name", PARTED)
def test_what_versions_read_otherwise_has_a_finding(name: str) -> None:
    statement, code, since = PARTED[name]
    source = f"{HEAD}{TILES}    {statement}\n    return x\n"
    before, at = VERSIONS[version(since).position - 1], version(since)
    options = Options(oldest=before.name, target=at.name, source=at.name)
    said = {finding.code for _, _, finding in partings({"k.py": source}, options) if isinstance(finding, Finding)}
    assert said == {code}
    assert code in {finding.code for finding in rewrite_report("k.py", source.encode(), options).findings}
    assert list(partings({"k.py": source}, replace(options, oldest=at.name))) == []


def test_an_axis_of_what_may_have_three_dimensions_is_an_assumption() -> None:
    source = f"{HEAD}{TILES}    nisa.tensor_reduce(dst=a, op=nl.add, data=x, axis=1)\n    return x\n"
    found = rewrite_report("k.py", source.encode(), Options(oldest="0.2", target="0.3", source="0.3"))
    assert "x has two dimensions" in str(found.asserted)


@pytest.mark.parametrize("target", ["0.6..0.2", "0.2..", "0.2..0.9", "..0.6", "0.2...0.6"])
def test_what_is_no_range_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], target: str) -> None:
    file = tmp_path / "k.py"
    file.write_text(HEAD + "    return x\n")
    assert code_of("rewrite", "--target", target, str(file)) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_the_command_takes_a_range_also_from_the_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("k.py").write_text(f"{HEAD}{TILES}    c = a.view(nl.int16)\n    return x\n")
    assert code_of("rewrite", "--no-cache", "--target", "0.2..0.6", "k.py") == 1
    assert "NKI 0.2 and 0.3 do not read this alike" in capsys.readouterr().err
    Path("nki-migrate.toml").write_text('target = "0.2..0.6"\n')
    assert code_of("rewrite", "--no-cache", "k.py") == 1
    assert "NKI 0.2 and 0.3 do not read this alike" in capsys.readouterr().err
    Path("nki-migrate.toml").write_text('target = "0.6..0.2"\n')
    assert code_of("rewrite", "--no-cache", "k.py") == 2
    assert "'target' must be a version, or a range of them: \"0.2..0.6\"" in capsys.readouterr().err


def code_of(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(ended.value.code or 0)
