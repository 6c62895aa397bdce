"""``verify --migrate``, ``verify --base`` and ``rewrite --write --verify``: two versions of files under one name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from nki_migrate.cli import main
from nki_migrate.errors import InputError
from nki_migrate.verdicts import CaseResult, Proof, result_text
from nki_migrate.verify_command import Asked, verified

HEAD = "import neuronxcc.nki as nki\nimport neuronxcc.nki.isa as nisa\nimport neuronxcc.nki.language as nl\n"
KERNEL = """

@nki.jit
def doubled(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    nl.store(out, value=nisa.tensor_scalar(t, nl.multiply, 2.0))
    return out
"""
CASE = '[[case]]\nkernel = "doubled"\n[case.args]\nx = {shape = [128, 8], dtype = "float32"}\n'
USER = """
from scaling import FACTOR, KIND


@nki.jit
def doubled(x):
    out = nl.ndarray(x.shape, dtype=KIND, buffer=nl.shared_hbm)
    t = nl.load(x)
    nl.store(out, value=nisa.tensor_scalar(t, nl.multiply, FACTOR))
    return out
"""
PART = "import neuronxcc.nki.language as nl\n\nKIND = nl.float32\nFACTOR = 2.0\n"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")
    return tmp_path / "xdg"


def files(**texts: str) -> None:
    for name, text in texts.items():
        Path(name.replace("_toml", ".toml") if name.endswith("_toml") else f"{name}.py").write_text(text)


def proof(*paths: str, **options: object) -> Proof:
    return verified(Asked(paths, jobs=2, **options)).proof  # type: ignore[arg-type]


def verdicts(found: Proof) -> dict[str, str]:
    return {result.kernel or result.before: result.verdict.value for result in found.results}


def messages(result: CaseResult) -> str:
    return "\n".join(f"{p.message} {p.help}" for p in result.problems)


# --- --migrate -------------------------------------------------------------------------------------------------------


def test_a_migration_is_verified_without_touching_the_file() -> None:
    files(k=HEAD + KERNEL, cases_toml=CASE)
    found = proof("k.py", migrate=True)
    assert verdicts(found) == {"doubled": "equal"}
    assert found.results[0].labels == ("", "rewritten")
    assert Path("k.py").read_text() == HEAD + KERNEL


def test_tiles_are_matched_by_the_map_of_the_rewrite() -> None:
    files(k=HEAD + KERNEL, cases_toml=CASE)
    for _ in range(2):  # the second time from the cache
        (result,) = proof("k.py", migrate=True).results
        assert {match.how for match in result.matches} == {"map"} and result.doubts == ()
        assert "note: 2 of 2 pairs of tiles by the rewrite's map, 0 inferred" in result_text(result)
    found = proof("k.py", migrate=True)
    Path("new.py").write_bytes(verified(Asked(("k.py",), migrate=True)).reports[0].after)
    assert {match.how for match in proof("k.py", "new.py").results[0].matches} == {"operands"}
    assert found.exit_code == 0


def test_siblings_are_seen_as_they_would_be_rewritten() -> None:
    files(k=HEAD + USER, scaling=PART, cases_toml=CASE)
    assert verdicts(proof(".", migrate=True)) == {"doubled": "equal"}
    assert proof(".", migrate=True).notes == ()
    assert proof("k.py", migrate=True).notes == ("k.py: as rewritten it still imports scaling.py, which is Beta 1",)


def test_places_in_the_rewritten_text_say_so() -> None:
    files(k="import sys\n" + HEAD + KERNEL + "\nassert 'nki' not in sys.modules\n", cases_toml=CASE)
    (result,) = proof("k.py", migrate=True).results
    (problem,) = result.problems
    assert (problem.side, problem.file, problem.version) == ("after", str(Path("k.py").resolve()), "rewritten")


def test_a_kernel_without_a_case_is_undecided() -> None:
    files(k=HEAD + KERNEL)
    (result,) = proof("k.py", migrate=True).results
    assert result.verdict.value == "undecided" and "cases suggest --write k.py" in messages(result)


def test_a_kernel_that_the_rewrite_left_is_undecided() -> None:
    left = (
        HEAD
        + KERNEL
        + KERNEL.replace("doubled", "left").replace("t = nl.load(x)", "t = nki._private.private_api.load(x)")
    )
    files(k=left, cases_toml=CASE)
    found = proof("k.py", migrate=True)
    assert verdicts(found)["left"] != "equal"
    assert any("the rewrite leaves" in note for note in found.notes)


def test_a_file_that_cannot_be_rewritten_is_an_error() -> None:
    files(k=HEAD + KERNEL, broken=HEAD + "def (:\n", cases_toml=CASE)
    assert verdicts(proof(".", migrate=True)) == {"doubled": "equal", "broken.py": "error"}


def test_nothing_to_rewrite_is_an_error() -> None:
    files(k="x = 1\n")
    with pytest.raises(InputError, match="changes no kernel: there is nothing to verify"):
        proof("k.py", migrate=True)


# --- two versions of NKI ---------------------------------------------------------------------------------------------

AXES = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def doubled(x):
    t = nl.ndarray((128, 2, 4), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x.reshape((128, 2, 4)))
    s = nl.ndarray((128, 2), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=s, op=nl.add, data=t, axis=AXIS)
    out = nl.ndarray((128, 2), dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=s)
    return out
"""
OLD, NEW = AXES.replace("AXIS", "1"), AXES.replace("AXIS", "2")


def test_the_old_version_is_said_or_shown_and_both_are_reported() -> None:
    files(old=OLD, new=NEW, cases_toml=CASE)
    said = proof("old.py", "new.py", source="0.2", target="0.6")
    assert verdicts(said) == {"doubled": "equal"}
    assert said.notes[0] == "old.py: the old version runs as NKI 0.2 (--from), the new one as NKI 0.6"
    assert verdicts(proof("old.py", "new.py", source="0.6")) == {"doubled": "error"}, "0.6 reads another axis"
    Path("old.py").write_text(OLD.replace("def doubled(x):", "def doubled(x, *, n=1):"))
    shown = proof("old.py", "new.py")
    assert shown.notes[0] == "old.py: the old version runs as NKI 0.2 (by what it shows), the new one as NKI 0.6"
    Path("cases.toml").write_text(CASE.replace("[case.args]", 'target = "0.2"\n[case.args]'))
    Path("old.py").write_text(OLD)
    assert proof("old.py", "new.py", target="0.3").notes[0].startswith("old.py: the old version runs as NKI 0.2 (its")


def test_the_version_of_the_old_kernel_is_that_of_the_rewrite_and_of_the_run() -> None:
    files(k=OLD, cases_toml=CASE)
    found = proof("k.py", migrate=True, source="0.2")
    assert verdicts(found) == {"doubled": "equal"}
    assert found.notes[0] == "k.py: the old version runs as NKI 0.2 (--from), the new one as NKI 0.6"


def test_verdicts_of_other_versions_are_not_taken_from_the_cache() -> None:
    files(old=OLD, new=NEW, cases_toml=CASE)
    for source, verdict in (("0.2", "equal"), ("0.3", "error"), ("0.2", "equal")):
        assert verdicts(proof("old.py", "new.py", source=source, target="0.6")) == {"doubled": verdict}
    assert verdicts(proof("old.py", "new.py", source="0.2", target="0.2")) == {"doubled": "error"}


def test_a_file_of_beta_1_has_no_note_of_versions() -> None:
    files(k=HEAD + KERNEL, cases_toml=CASE)
    assert proof("k.py", migrate=True).notes == ()


# --- --base ----------------------------------------------------------------------------------------------------------


def git(*arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def repository() -> None:
    git("init", "-q", ".")
    files(k=HEAD + USER, scaling=PART, cases_toml=CASE, other=HEAD + KERNEL.replace("doubled", "other"))
    git("add", "-A")
    git("commit", "-q", "-m", "first")


def test_the_kernel_of_a_revision_has_its_version_of_nki(repository: None) -> None:
    files(other=OLD)
    git("commit", "-q", "-a", "-m", "axes")
    files(other=NEW)
    assert verdicts(proof("other.py", base="HEAD", source="0.2", target="0.6")) == {"doubled": "equal"}


def test_each_kernel_is_compared_with_itself_at_the_revision(repository: None) -> None:
    files(k=HEAD + USER.replace("t = nl.load(x)", "t = nl.load(x)  # the same"))
    found = proof("k.py", base="HEAD")
    assert verdicts(found) == {"doubled": "equal"}
    assert found.results[0].labels == ("HEAD", "")


def test_what_is_as_it_was_needs_no_case(repository: None) -> None:
    def found() -> tuple[dict[str, str], tuple[str, ...]]:
        proof_ = proof("other.py", base="HEAD")
        return verdicts(proof_), proof_.notes

    assert found() == ({}, ("other.py: as at HEAD, and without a case, so not run: other",))
    files(other=HEAD + KERNEL.replace("doubled", "other") + "# new\n")
    assert found() == ({"other": "undecided"}, ())
    files(other=HEAD + "import scaling\n" + KERNEL.replace("doubled", "other"))
    git("commit", "-q", "-a", "-m", "imports")
    assert found()[0] == {}
    files(scaling=PART + "# new\n")
    assert found()[0] == {"other": "undecided"}
    git("checkout", "-q", "scaling.py")
    files(other=HEAD + KERNEL.replace("doubled", "other").replace("    t =", "    import scaling\n    t ="))
    git("commit", "-q", "-a", "-m", "imports late")
    assert found()[0] == {"other": "undecided"}


def test_what_the_old_kernel_imports_is_of_the_revision_too(repository: None) -> None:
    files(scaling=PART.replace("2.0", "3.0"))
    (result,) = proof("k.py", base="HEAD").results
    levels = {level.level: level.verdict.value for level in result.levels}
    assert levels == {"layout": "equal", "operands": "different", "numbers": "different"}
    (difference,) = result.levels[1].differences
    assert difference.before is not None and difference.after is not None
    assert difference.before.file == difference.after.file == str(Path("k.py").resolve())
    assert (difference.before.version, difference.after.version) == ("HEAD", "")
    assert difference.before.source == "nl.store(out, value=nisa.tensor_scalar(t, nl.multiply, FACTOR))"


def test_a_sibling_that_exists_only_now_does_not_help_the_old_kernel(repository: None) -> None:
    git("rm", "-q", "--cached", "scaling.py")
    git("commit", "-q", "-m", "without")
    (result,) = proof("k.py", base="HEAD").results
    assert result.verdict.value == "undecided" and "scaling" in messages(result)


def test_versions_are_never_mixed(repository: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hidden = f"import sys\nsys.path.insert(0, {str(Path.cwd())!r})\nsys.modules.pop('scaling', None)\n"
    files(k=hidden + HEAD + USER)
    git("commit", "-q", "-a", "-m", "second")
    (result,) = proof("k.py", base="HEAD").results
    assert "module 'scaling' was imported from" in messages(result)


def test_a_new_file_is_noted_in_a_directory_and_an_error_by_name(repository: None) -> None:
    files(new=HEAD + KERNEL.replace("doubled", "new"))
    found = proof(".", base="HEAD", kernels=("doubled",))
    assert "new.py: not in revision HEAD, compared with nothing" in found.notes
    with pytest.raises(InputError, match=r"new\.py: not in revision HEAD"):
        proof("new.py", base="HEAD")


def test_a_renamed_file_is_compared_under_its_old_name(repository: None) -> None:
    git("mv", "k.py", "moved.py")
    found = proof(".", base="HEAD", kernels=("doubled",))
    assert [(r.before, r.after, r.verdict.value) for r in found.results] == [("k.py", "moved.py", "equal")]


def test_a_file_that_is_gone_is_noted(repository: None) -> None:
    Path("other.py").unlink()
    assert proof(".", base="HEAD").notes == ("other.py: only in revision HEAD, compared with nothing",)


@pytest.mark.parametrize(
    ("revision", "message"),
    [("nowhere", "has no such revision"), ("--help", "has no such revision"), ("HEAD:k.py", "has no such revision")],
)
def test_a_bad_revision_is_an_error(repository: None, revision: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        proof("k.py", base=revision)


def test_outside_of_a_repository_is_an_error(tmp_path: Path) -> None:
    files(k=HEAD + KERNEL)
    with pytest.raises(InputError, match="needs a git repository"):
        proof("k.py", base="HEAD")


def test_without_git_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    files(k=HEAD + KERNEL)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InputError, match="needs git"):
        proof("k.py", base="HEAD")


def test_options_that_exclude_each_other_are_errors() -> None:
    files(k=HEAD + KERNEL)
    for asked, message in (
        (Asked(("k.py",), migrate=True, base="HEAD"), "exclude each other"),
        (Asked(("k.py",)), "takes BEFORE and AFTER"),
        (Asked(("k.py", "k.py"), unsafe=True), "add --migrate"),
    ):
        with pytest.raises(InputError, match=message):
            verified(asked)


# --- rewrite --write --verify ----------------------------------------------------------------------------------------


def rewrite(capsys: pytest.CaptureFixture[str], *paths: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as end:
        main(["rewrite", "--write", "--verify", "--jobs", "2", *paths])
    return int(end.value.code or 0), capsys.readouterr().err


def test_only_files_that_verify_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    files(k=HEAD + KERNEL, uncased=HEAD + KERNEL.replace("doubled", "uncased"), cases_toml=CASE)
    code, err = rewrite(capsys, ".")
    assert code == 2
    assert "neuronxcc" not in Path("k.py").read_text()
    assert Path("uncased.py").read_text() == HEAD + KERNEL.replace("doubled", "uncased")
    assert "uncased.py: failed: not written: kernel 'uncased': undecided: no case says how to run it" in err
    assert "verified: 2 cases: 1 equal, 0 different, 1 undecided, 0 in error" in err


def test_a_helper_is_written_with_the_kernels_that_use_it(capsys: pytest.CaptureFixture[str]) -> None:
    files(k=HEAD + USER, scaling=PART, lonely=PART, cases_toml=CASE)
    code, err = rewrite(capsys, ".")
    assert code == 2
    assert "neuronxcc" not in Path("k.py").read_text() + Path("scaling.py").read_text()
    assert "lonely.py: failed: not written: no verified kernel uses it (no cases)" in err
    assert Path("lonely.py").read_text() == PART


def test_a_helper_stays_when_a_kernel_that_uses_it_stays(capsys: pytest.CaptureFixture[str]) -> None:
    files(k=HEAD + USER, scaling=PART, uncased=HEAD + USER.replace("doubled", "uncased"), cases_toml=CASE)
    code, err = rewrite(capsys, ".")
    assert code == 2
    assert "scaling.py: failed: not written: uncased.py uses it, and is not verified" in err
    assert "k.py: failed: not written: it needs scaling.py, which is not verified" in err
    assert Path("k.py").read_text() == HEAD + USER and Path("scaling.py").read_text() == PART


def test_the_environment_can_forbid_to_run_anything(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files(k=HEAD + KERNEL + "\nopen('ran', 'w')\n", cases_toml=CASE)
    monkeypatch.setenv("NKI_MIGRATE_NO_EXECUTE", "1")
    for command in (
        ["rewrite", "--write", "--verify", "k.py"],
        ["verify", "--migrate", "k.py"],
        ["layout", "k.py::doubled"],
        ["record", "--out", "c.toml", "--", sys.executable, "k.py"],
        ["emulate", "--", sys.executable, "k.py"],
        ["cases", "suggest", "k.py"],
    ):
        with pytest.raises(SystemExit) as ended:
            main(command)
        assert ended.value.code == 2 and "forbid" in "".join(capsys.readouterr()), command
    assert not Path("ran").exists() and Path("k.py").read_text().startswith(HEAD)


def test_verify_of_rewrite_takes_a_file_of_cases(capsys: pytest.CaptureFixture[str]) -> None:
    files(k=HEAD + KERNEL)
    Path("elsewhere.toml").write_text(CASE)
    with pytest.raises(SystemExit) as ended:
        main(["rewrite", "--write", "--verify", "--cases", "elsewhere.toml", "k.py"])
    assert ended.value.code == 0 and "import nki\n" in Path("k.py").read_text()


def test_verify_without_write_is_a_usage_error() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "nki_migrate", "rewrite", "--verify", "k.py"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2 and "--verify belongs to --write" in done.stderr


# --- limits and permission -------------------------------------------------------------------------------------------


def test_nothing_is_executed_where_that_is_forbidden() -> None:
    files(k=f"open({str(Path('ran').resolve())!r}, 'w').close()\n" + HEAD + KERNEL, cases_toml=CASE)
    found = proof("k.py", migrate=True, no_execute=True)
    assert found.exit_code == 2
    assert messages(found.results[0]).startswith("execution forbidden")
    assert not Path("ran").exists()


def test_time_and_memory_are_limited() -> None:
    files(
        k=HEAD + KERNEL.replace("t = nl.load", "while x.shape[0] == 128:\n        pass\n    t = nl.load"),
        cases_toml=CASE,
    )
    (result,) = proof("k.py", "k.py", timeout=1.0).results
    assert "did not end within 1 seconds" in messages(result) and "--timeout" in messages(result)
    files(k=HEAD + KERNEL.replace("t = nl.load", "b = [bytearray(1 << 28) for _ in range(64)]\n    t = nl.load"))
    (result,) = proof("k.py", "k.py", memory=1024).results
    assert "ran out of memory" in messages(result) or "MemoryError" in messages(result)
