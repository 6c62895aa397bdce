"""Pins of ``nki`` and ``neuronx-cc`` are evidence of the version that a file is of; its code counts for more."""

from __future__ import annotations

from pathlib import Path

import pytest
from nki_migrate.cli import main
from nki_migrate.codemods import Options, Outcome, rewrite
from nki_migrate.codemods.model import Pin
from nki_migrate.nki_pins import pin_of
from nki_migrate.runtime.spec.versions import NAMES, VERSIONS
from test_ladder_rules import kernel

OPEN = kernel("nisa.rng(dst=ints)")
"""What 0.5 does otherwise, in a file that may be of any version."""
OLD = kernel("nisa.dma_copy(dst=x, src=tile, dst_rmw_op=nl.add)")


@pytest.mark.parametrize(
    ("asked", "range_"),
    [
        ("nki==0.3", ("0.3", "0.3")),
        ("nki==0.3.1+g82fdb402", ("0.3", "0.3")),
        ("nki==0.1.0", ("0.2", "0.2")),
        ("nki>=0.3,<0.5", ("0.3", "0.4")),
        ("nki<0.5.1", ("0.2", "0.5")),
        ("nki~=0.4.0", ("0.4", "0.4")),
        ("nki~=0.4", ("0.4", "0.6")),
        ("nki<=0.4", ("0.2", "0.4")),
        ("neuronx-cc==2.24.5133.0", ("0.3", "0.3")),
        ("neuronx-cc==2.22.*", ("0.2", "0.2")),
        ("neuronx-cc==2.26.*\nnki==0.4.0", ("0.4", "0.4")),
    ],
)
def test_what_a_project_pins(asked: str, range_: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(f"numpy\n{asked}  # the newest\n")
    (tmp_path / "deep").mkdir()
    pin = pin_of(str(tmp_path / "deep" / "kernel.py"))
    assert pin is not None and (pin.low, pin.high) == range_
    assert "requirements.txt asks for n" in pin.why


@pytest.mark.parametrize("asked", ["nki", "nki-migrate==0.2.0", "nki>=0.1", "nki==0.9", "neuronx-cc==2.21.1"])
def test_what_pins_no_version_of_nki(asked: str, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(f"{asked}\n")
    assert pin_of(str(tmp_path / "kernel.py")) is None


def test_a_project_ends_at_its_repository(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("nki==0.3\n")
    (tmp_path / "inner" / ".git").mkdir(parents=True)
    assert pin_of(str(tmp_path / "inner" / "kernel.py")) is None


@pytest.mark.parametrize("kind", ["packages", "compilers"])
def test_every_series_of_a_package_is_of_one_version(kind: str) -> None:
    series = [each for item in VERSIONS for each in getattr(item, kind)]
    assert len(series) == len(set(series))


def pinned(text: str, low: str, high: str, source: str = "") -> Outcome:
    pins = (("k.py", Pin(low, high, "p asks for it")),)
    return rewrite(text, Options(target="0.6", source=source, pins=pins), "k.py")


def test_a_pin_tells_what_the_code_does_not() -> None:
    assert [f.code for f in rewrite(OPEN, Options(target="0.6"), "k.py").findings] == ["NKV036"]
    outcome = pinned(OPEN, "0.3", "0.4")
    assert "engine=nisa.engine.unknown" in outcome.source and not outcome.findings
    assert [(a.text, a.why) for a in outcome.asserted] == [("this file is of NKI 0.3 to 0.4", "p asks for it")]


def test_the_code_counts_for_more_and_a_contradiction_is_named() -> None:
    outcome = pinned(OLD, "0.4", "0.4")
    assert "dma_compute" in outcome.source
    (note,) = [a for a in outcome.asserted if not a.function]
    assert note.text == "this file is of NKI 0.2, although p asks for it"
    assert note.why == "dma_copy(dst_rmw_op=) is in NKI 0.2 only"


def test_who_says_the_version_needs_no_pin() -> None:
    outcome = pinned(OLD, "0.4", "0.4", source="0.2")
    assert not [a for a in outcome.asserted if not a.function]


@pytest.mark.parametrize("name", NAMES[1:])
def test_a_pin_of_the_target_is_no_evidence(name: str) -> None:
    pins = (("k.py", Pin(name, name, "p asks for it")),)
    plain, outcome = (rewrite(OPEN, Options(target=name, pins=each), "k.py") for each in ((), pins))
    assert (plain.source, plain.findings) == (outcome.source, outcome.findings)


def test_a_run_reads_pins_and_says_so(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "k.py").write_text(OPEN)
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["nki>=0.3,<0.5"]\n')
    with pytest.raises(SystemExit) as exit_:
        main(["rewrite", "--no-cache", str(tmp_path)])
    out, err = capfd.readouterr()
    assert exit_.value.code == 1 and "engine=nisa.engine.unknown" in out
    assert "takes it that this file is of NKI 0.3 to 0.4" in err and "pyproject.toml asks for nki>=0.3,<0.5" in err
