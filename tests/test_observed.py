"""``rewrite --cases``: what cases show of parameters of which the source tells nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from first_rung import Options, rewrite, rewrite_together
from nki_migrate import verify_migrated
from nki_migrate.cli import main
from nki_migrate.codemods import Finding, Outcome
from nki_migrate.codemods.lower.assumptions import best_observed
from nki_migrate.discover import Found
from nki_migrate.golden import NKI_GOLDENS as GOLDENS
from nki_migrate.observing import Observed, observed
from nki_migrate.runtime.spec.seen import Seen, SeenFunction

HEAD = "import neuronxcc.nki as nki\nimport neuronxcc.nki.isa as nisa\nimport neuronxcc.nki.language as nl\n"
HELPERS = HEAD + """

def store_exp(out, src, height, width):
    nl.store(out[0:height, 0:width], value=nl.exp(src[0:height, 0:width]))
"""
KERNEL = HEAD + """from helpers import store_exp


@nki.jit
def k(x):
    out = nl.ndarray((64, 32), dtype=x.dtype, buffer=nl.shared_hbm)
    tiles = {"x": nl.load(x)}
    store_exp(out, tiles["x"], 64, 32)
    return out
"""
USING = KERNEL.replace('    tiles = {"x": nl.load(x)}\n', '    t = nl.load(x)\n    tiles = {"x": t}\n')
CASE = '[[case]]\nkernel = "k"\n[case.args]\nx = {shape = [64, 32], dtype = "float32"}\n'


@pytest.fixture(autouse=True)
def own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")


def files(cases: str = CASE, **sources: str) -> None:
    Path("cases.toml").write_text(cases)
    for name, source in sources.items():
        Path(f"{name}.py").write_text(source)


def shown(*names: str) -> Observed:
    return observed([Found(f"{name}.py") for name in names], "cases.toml", 1)


def outcome(name: str, **options: bool) -> Outcome:
    source = Path(f"{name}.py").read_text()
    return rewrite(source, Options(observed=shown(name).complete, **options), f"{name}.py")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as end:
        main(["rewrite", "--cases", "cases.toml", "--jobs", "1", *arguments])
    return int(end.value.code or 0), capsys.readouterr().err


# --- what is done with it --------------------------------------------------------------------------------------------


def test_a_helper_that_other_files_call_is_rewritten_for_review(capsys: pytest.CaptureFixture[str]) -> None:
    files(helpers=HELPERS, k=USING)
    assert rewrite(HELPERS).findings != ()
    code, err = run(capsys, "helpers.py")
    assert code == 1 and Path("helpers.py").read_text() == HELPERS
    assert (
        "helpers.py:6:20: NKI033 [review] 'src' of store_exp() is a tile in SBUF of rank 2, as observed in case "
        "'k, case 1'; the source does not tell\n    help: --unsafe takes it to be so in every call" in err
    )
    assert "[manual]" not in err, "--unsafe rewrites all of it"
    code, err = run(capsys, "--unsafe", "--write", "--verbose", "helpers.py")
    assert code == 0 and "0 findings" in err
    assert "helpers.py:6: 'store_exp(src)': a tile in SBUF of rank 2: as observed in case 'k, case 1'" in err
    assert "nl.store(out[0:height, 0:width], value=nl.exp(src[0:height, 0:width]))" in Path("helpers.py").read_text()


def test_a_link_to_itself_beside_the_cases_is_no_file_with_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    files(helpers=HELPERS, k=USING)
    Path("loop.py").symlink_to("loop.py")
    code, err = run(capsys, "helpers.py")
    assert code == 1 and "NKI033" in err


def test_what_verifies_in_the_same_run_needs_no_review(capsys: pytest.CaptureFixture[str]) -> None:
    files(helpers=HELPERS, k=USING)
    code, err = run(capsys, "--write", "--verify", ".")
    assert code == 0 and "verified: 1 case: 1 equal" in err and "0 findings" in err
    written = Path("helpers.py").read_text()
    assert "neuronxcc" not in written + Path("k.py").read_text()
    assert run(capsys, "--write", ".")[0] == 0 and Path("helpers.py").read_text() == written


def test_what_does_not_verify_stays(capsys: pytest.CaptureFixture[str]) -> None:
    uncased = USING.replace("def k(", "def uncased(").replace("from helpers", "from helpers ")
    files(helpers=HELPERS, k=USING, uncased=uncased)
    code, err = run(capsys, "--write", "--verify", ".")
    assert code == 2 and "uncased.py: failed: not written: kernel 'uncased': undecided: no case" in err
    assert [Path(f"{n}.py").read_text() for n in ("helpers", "k", "uncased")] == [HELPERS, USING, uncased]


def test_what_verifies_only_without_it_is_written_without_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = verify_migrated.only_verified

    def refusing(reports, settings, target):
        kept, found = judged(reports, settings, target)
        return [r.failed("not written: no") if "NKI033" in r.applied else r for r in kept], found

    monkeypatch.setattr(verify_migrated, "only_verified", refusing)
    files(k=NOT_RUN)
    code, err = run(capsys, "--write", "--verify", "k.py")
    assert "k.py: what cases show is not used: not written: no" in err
    assert code == 1 and "NKI033 [review]" in err and "1 equal" in err
    assert "import nki\n" in Path("k.py").read_text()


NOT_RUN = HEAD + """

def store_one(out, src, height):
    if height == 1:
        nl.store(out[0:1, 0:8], value=nl.exp(src[0:1, 0:8]))


@nki.jit
def k(x):
    out = nl.ndarray((64, 32), dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    tiles = {"x": t}
    store_one(out, tiles["x"], 64)
    nl.store(out, value=t)
    return out
"""


def test_json_tells_what_was_assumed(capsys: pytest.CaptureFixture[str]) -> None:
    files(helpers=HELPERS, k=USING)
    with pytest.raises(SystemExit):
        main(["rewrite", "--cases", "cases.toml", "--unsafe", "--output-format", "json", "helpers.py"])
    (file,) = json.loads(capsys.readouterr().out)["files"]
    assert ("store_exp(out)", "a tensor in HBM of rank 2") in [(d["name"], d["choice"]) for d in file["decisions"]]


# --- what is known ---------------------------------------------------------------------------------------------------


def test_the_source_comes_first() -> None:
    for name in ("helper_variants", "psum_helper", "nested_function"):
        golden = GOLDENS[name]
        found = observed([Found(str(golden.before_path))], str(golden.cases_path), 1).complete
        assert {function.name for function in found}
        source = rewrite(golden.before, Options(**golden.options), str(golden.before_path))
        assert rewrite(golden.before, Options(**golden.options, observed=found), str(golden.before_path)) == source


def test_a_helper_that_no_case_enters_is_not_known() -> None:
    files(
        k=HELPERS.replace("store_exp", "unused")
        + KERNEL.removeprefix(HEAD)
        .partition("\n")[2]
        .replace('    store_exp(out, tiles["x"], 64, 32)\n', '    nl.store(out, value=tiles["x"])\n')
    )
    assert {function.name for function in shown("k").complete} == {"k"}
    assert not any(finding.code == "NKI033" for finding in outcome("k").findings)


def test_different_ranks_tell_nothing_and_that_is_said() -> None:
    both = USING.replace(
        '    store_exp(out, tiles["x"], 64, 32)\n',
        '    store_exp(out, tiles["x"], 64, 32)\n    if x.shape[0] == 64:\n'
        '        other = {"x": nl.ndarray((nl.par_dim(64), 32, 2), dtype=x.dtype, buffer=nl.sbuf)}\n'
        '        first_rank(other["x"])\n        first_rank(tiles["x"])\n',
    )
    ranked = "\n\ndef first_rank(t):\n    rows = nl.arange(4)[:, None]\n    t[rows, 0] = nl.exp(t[rows, 0])\n"
    files(
        k=both.replace("from helpers import store_exp\n", "")
        + HELPERS.removeprefix(HEAD)
        + ranked.replace(
            "    t[rows, 0] = nl.exp(t[rows, 0])",
            "    part = t[0:4]\n    t[0:4] = nl.exp(part)",
        )
    )
    messages = {finding.message: finding.applicability for finding in outcome("k", unsafe=True).findings}
    told = (
        "'t' of first_rank() is a tile in SBUF of rank 2 and a tile in SBUF of rank 3 in different calls of the cases"
    )
    assert messages.get(f"{told}, which tells nothing") == "manual", messages


def test_a_rank_that_the_output_would_assert_wrongly_is_taken_from_the_cases(
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = HEAD + """

def saved(out, tile):
    nl.store(out, value=tile)


@nki.jit
def k(x):
    out = nl.ndarray((64, 32), dtype=x.dtype, buffer=nl.shared_hbm)
    saved(out, nl.load(x[1]))
    return out
"""
    files(CASE.replace("[64, 32]", "[2, 64, 32]"), k=source)
    assert "assert len(x.shape) == 1" in rewrite(source).source
    assert outcome("k").source == rewrite(source).source
    said = [finding.message for finding in outcome("k").findings if finding.code == "NKI033"]
    assert len(said) == 1 and said[0].startswith("'x' of k() is a tensor in HBM of rank 3, as observed")
    assert "len(x.shape)" not in outcome("k", unsafe=True).source
    assert run(capsys, "--write", "--verify", "k.py")[0] == 0


LISTED = HEAD + """

def add_all(out, tiles, width):
    rows = nl.arange(64)[:, None]
    first = nl.arange(width)[None, :]
    total = nl.zeros((64, width), dtype=nl.float32, buffer=nl.sbuf)
    for number, tile in enumerate(tiles):
        total[rows, first] = nl.add(total, tile[rows, first], dtype=nl.float32)
    nl.store(out, value=total)


@nki.jit
def k(x):
    out = nl.ndarray((64, 16), dtype=nl.float32, buffer=nl.shared_hbm)
    tiles = []
    for i in nl.static_range(2):
        t = nl.ndarray((nl.par_dim(64), SIZE), dtype=x.dtype, buffer=nl.sbuf)
        t[...] = nl.load(x[0:64, 0:SIZE])
        tiles.append(t)
    add_all(out, tiles, 16)
    return out
"""


def test_tiles_in_lists(capsys: pytest.CaptureFixture[str]) -> None:
    files(k=LISTED.replace("SIZE", "32"))
    assert dict(shown("k").complete[0].parameters)["tiles"] == (Seen("sbuf", (False, False), False, 1),)
    assert run(capsys, "--write", "--verify", "k.py")[0] == 0
    assert "tile = tiles[number]" in Path("k.py").read_text()


def test_lists_of_tiles_that_are_not_alike_tell_nothing() -> None:
    files(k=LISTED.replace("SIZE", "16 + i"))
    assert dict(shown("k").complete[0].parameters)["tiles"] == (Seen("other"),)
    assert rewrite(LISTED.replace("SIZE", "16 + i"), Options(), "k.py") == outcome("k", unsafe=True)


def test_parts_of_tensors_are_parts() -> None:
    source = USING.replace('tiles["x"], 64', 'tiles["x"][0:32, 0:32], 32')
    files(helpers=HELPERS, k=source)
    assert dict(shown("helpers").complete[0].parameters)["src"] == (Seen("sbuf", (False, False), True),)


@pytest.mark.parametrize("operator", ["=", "+="])
def test_matmuls_into_tiles_of_callers_that_are_not_seen_are_left(operator: str) -> None:
    body = f"    out[...] {operator} nisa.nc_matmul(a, b)\n    b[0:4, 0:4] = nl.exp(a[0:4, 0:4])\n"
    source = f"{HEAD}\n\ndef product(out, a, b):\n{body}"
    tile, psum = (Seen("sbuf", (False, False)),), (Seen("psum", (False, False)),)
    fact = SeenFunction("k.py", "product", (("out", psum), ("a", tile), ("b", tile)), ("k, 1",))
    found = rewrite(source, Options(observed=(fact,), unsafe=True), "k.py")
    assert [finding.line for finding in found.findings] == [7]
    assert f"out[...] {operator} nisa.nc_matmul(a, b)" in found.source


def test_programs_methods_nested_functions_and_options_are_seen() -> None:
    source = HEAD + """

class Doubler:
    def __init__(self, by):
        self.by = by

    def twice(self, t, shift=None):
        def again(s):
            return nl.multiply(s, self.by)
        return again(t)


@nki.jit
def k(x):
    out = nl.ndarray((2, 64, 32), dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    double = Doubler(2.0)
    p = nl.program_id(0)
    if p == 1:
        t = double.twice(t, shift=t)
    nl.store(out[p], value=double.twice(t))
    return out
"""
    files(CASE.replace("[case.args]", "grid = 2\n[case.args]"), k=source)
    found = {function.name: dict(function.parameters) for function in shown("k").complete}
    tile = Seen("sbuf", (False, False))
    assert found["Doubler.twice"] == {"self": (Seen("other"),), "t": (tile,), "shift": (Seen("none"), tile)}
    assert found["Doubler.twice.again"] == {"s": (tile,)}
    assert found["Doubler.__init__"]["by"] == (Seen("other"),)


def test_facts_of_files_that_are_not_rewritten_are_left_out() -> None:
    files(helpers=HELPERS, k=USING)
    assert {function.file for function in shown("helpers").complete} == {"helpers.py"}
    fact = SeenFunction("other.py", "store_exp", (("src", (Seen("sbuf", (False, False)),)),), ("k, 1",))
    plain = rewrite_together({"helpers.py": HELPERS})
    assert rewrite_together({"helpers.py": HELPERS}, Options(observed=(fact,), unsafe=True)) == plain


# --- what cannot be run ----------------------------------------------------------------------------------------------


def test_a_case_that_fails_is_one_error_and_nothing_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    files(CASE + CASE.replace("64, 32", "8, 8"), helpers=HELPERS, k=USING)
    code, err = run(capsys, "--write", "--unsafe", ".")
    assert code == 2 and err.count("\n") == 1
    assert err.startswith("nki-migrate: error: kernel 'k', case 2: ") and "helpers.py:7: " in err
    assert Path("helpers.py").read_text() == HELPERS and Path("k.py").read_text() == USING


def test_cases_that_cannot_be_used_are_errors(capsys: pytest.CaptureFixture[str]) -> None:
    files(CASE.replace('"k"', '"kk"') + CASE.replace("[64", '["x"'), helpers=HELPERS, k=USING)
    code, err = run(capsys, "helpers.py")
    assert code == 2 and "(and 1 more case did not run)" in err and "Traceback" not in err
    files(CASE.replace('"k"', '"kk"'))
    code, err = run(capsys, "helpers.py")
    assert code == 2 and "cases.toml:1: no file that is rewritten, and none beside the cases, has a kernel 'kk'" in err
    files("[[case]\n")
    assert run(capsys, "helpers.py")[0] == 2
    assert run(capsys, "-")[0] == 2


def test_nothing_runs_where_nothing_is_beta_1_or_the_rule_is_ignored(capsys: pytest.CaptureFixture[str]) -> None:
    marker = f"open({str(Path('ran').resolve())!r}, 'w').close()\n"
    files(k="import nki\n" + marker)
    assert run(capsys, ".")[0] == 0
    files(helpers=HELPERS, k=marker + USING)
    assert run(capsys, "--ignore", "NKI033", "helpers.py")[0] == 1
    assert not Path("ran").exists()


def test_the_environment_can_forbid_it(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    files(helpers=HELPERS, k=USING)
    monkeypatch.setenv("NKI_MIGRATE_NO_EXECUTE", "1")
    code, err = run(capsys, "helpers.py")
    assert code == 2 and "NKI_MIGRATE_NO_EXECUTE forbids" in err


# --- what is taken of it ---------------------------------------------------------------------------------------------


def fact(name: str) -> SeenFunction:
    return SeenFunction("k.py", name, (("t", (Seen("sbuf", (False, False)),)),), ("k, 1",))


def test_definitions_that_come_out_worse_are_rewritten_without_it() -> None:
    sources = {"k.py": "def f(t):\n    a\n\n\ndef g(t):\n    b\n    c\n"}
    asked = []

    def left(*lines: int) -> dict[str, Outcome]:
        return {"k.py": Outcome("", tuple(Finding(line, 1, "NKI021", "manual", "m", "h") for line in lines))}

    def rewritten(functions: tuple[SeenFunction, ...]) -> dict[str, Outcome]:
        names = {function.name for function in functions}
        asked.append(names)
        return left(*(() if "f" in names else (2,)), *((7,) if "g" in names else (6,)))

    best = best_observed(sources, left(2, 6), (fact("f"), fact("g")), rewritten)
    assert best == left(6)
    assert asked[:2] == [{"f", "g"}, {"f"}]
    assert best_observed(sources, left(2, 6), (fact("g"),), rewritten) == left(2, 6)


def test_nothing_is_tried_where_nothing_is_left() -> None:
    plain = {"k.py": Outcome("def f(t):\n    a\n")}
    assert best_observed({"k.py": "def f(t):\n    a\n"}, plain, (fact("f"),), lambda functions: {}) == plain
