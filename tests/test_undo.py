"""A run that writes is whole: files that import each other together, a journal first; ``undo`` takes it back."""

import errno
import io
import os
import shutil
import subprocess
import sys

import pytest
from nki_migrate import journal, store
from nki_migrate.cli import main
from nki_migrate.reports import Report

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
{imports}

@nki.jit
def {name}(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.load(x))
    return out
"""


@pytest.fixture(autouse=True)
def own_state(tmp_path, monkeypatch):
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)


@pytest.fixture
def run(capfd):
    """``run(*arguments)`` runs the command and gives its exit code, stdout and stderr."""

    def result(*arguments):
        with pytest.raises(SystemExit) as exit_:
            main(list(arguments))
        return exit_.value.code, *capfd.readouterr()

    return result


def write(path, text):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def kernels(*names, imports=""):
    for name in names:
        write(f"{name}.py", KERNEL.format(name="k_" + name[-1], imports=imports))


def tree():
    """All files below the working directory but git's."""
    found = {}
    for folder, folders, files in os.walk("."):
        folders[:] = [name for name in folders if name != ".git"]
        for name in set(files) - {".git"}:
            with open(os.path.join(folder, name), "rb") as file:
                found[os.path.normpath(os.path.join(folder, name))] = file.read()
    return found


def git(*arguments):
    identity = ["-c", "user.name=n", "-c", "user.email=n@example.org"]
    return subprocess.run(["git", *identity, *arguments], check=True, capture_output=True, text=True).stdout


def committed():
    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "all")


# --- undo


@pytest.mark.parametrize("is_repository", [True, False])
def test_undo_gives_back_what_was_and_only_once(run, tmp_path, is_repository):
    kernels("a", "b")
    os.chmod("a.py", 0o755)
    if is_repository:
        committed()
    old = tree()
    assert run("rewrite", "--write", ".")[0] == 0
    assert tree() != old
    assert bool(list((tmp_path / "state").rglob("*.json"))) == (not is_repository)
    if is_repository:
        assert git("status", "--porcelain") == " M a.py\n M b.py\n"  # the journal is nothing that git sees
    code, out, err = run("undo")
    assert (code, out) == (0, "")
    assert err.startswith("a.py: restored\nb.py: restored\n2 files restored, as before the run of ")
    assert tree() == old and os.stat("a.py").st_mode & 0o777 == 0o755
    code, _, err = run("undo")
    assert code == 2 and err == (
        "nki-migrate: error: .: no run of rewrite --write below it is known, or it is undone: there is nothing to "
        "undo\n"
    )


def test_undo_is_asked_for_from_anywhere_below_or_above_the_files(run):
    kernels("deep/a", "deep/er/b")
    old = tree()
    os.mkdir("other")
    for path in ("deep/er", "deep/er/b.py", "deep", "."):
        run("rewrite", "--write", ".")
        assert run("undo", "other")[0] == 2
        assert run("undo", path)[0] == 0 and tree() == old


def test_the_run_of_a_directory_outlives_that_of_another(run):
    kernels("one/a", "two/b")
    old = tree()
    run("rewrite", "--write", "one")
    run("rewrite", "--write", "two")
    assert run("undo", "one")[0] == 0 == run("undo", "two")[0]
    assert tree() == old


def test_a_run_that_writes_nothing_is_not_the_last(run):
    kernels("a")
    old = tree()
    run("rewrite", "--write", "a.py")
    run("rewrite", "--write", "a.py")
    assert run("undo")[0] == 0 and tree() == old


@pytest.mark.parametrize("edited", ["a", "c"])
def test_a_file_that_changed_since_keeps_all_from_being_restored_unless_forced(run, edited):
    kernels("a", "b", "c")
    old = tree()
    run("rewrite", "--write", ".")
    write(f"{edited}.py", "mine\n")
    os.unlink("b.py")
    before = tree()
    code, _, err = run("undo")
    names = [f"{name}.py {'is gone' if name == 'b' else 'was changed'}" for name in sorted([edited, "b"])]
    assert code == 2 and tree() == before
    assert err == (
        f"nki-migrate: error: nothing was restored: since the run {', '.join(names)}: --force restores them all the "
        "same\n"
    )
    assert run("undo", "--force")[0] == 0 and tree() == old


def test_what_was_put_back_by_hand_is_no_change(run):
    kernels("a", "b")
    old = tree()
    run("rewrite", "--write", ".")
    write("a.py", old["a.py"].decode())
    code, _, err = run("undo")
    assert code == 0 and "1 file restored" in err and tree() == old


def test_a_file_that_cannot_be_restored_keeps_all_from_it(run, monkeypatch):
    kernels("a", "b")
    run("rewrite", "--write", ".")
    os.unlink("a.py")
    after = tree()
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: not path.endswith("b.py") and access(path, mode))
    code, _, err = run("undo", "--force")
    assert code == 2 and "nothing was restored: b.py: cannot write: the file is read-only" in err
    assert tree() == after


def test_a_damaged_journal_is_one_line(run, tmp_path):
    kernels("a")
    run("rewrite", "--write", "a.py")
    (place,) = (tmp_path / "state").rglob("*.json")
    place.write_bytes(place.read_bytes()[:-5])
    code, _, err = run("undo")
    assert code == 2 and err.endswith(": the journal is damaged: remove it; git has what was committed\n")
    assert run("rewrite", "--write", "a.py")[0] == 0


def test_without_a_place_for_the_journal_nothing_is_written(run, tmp_path):
    kernels("a")
    old = tree()
    (tmp_path / "state").write_text("a file")
    code, _, err = run("rewrite", "--write", ".")
    assert code == 2 and tree() == old
    assert err.startswith("nki-migrate: error: nothing was written, as the journal for undo cannot be: ")
    assert err.count("\n") == 1


def test_a_linked_worktree_has_a_journal_of_its_own(run, tmp_path):
    kernels("a")
    committed()
    git("worktree", "add", "-q", str(tmp_path / "linked"))
    old = tree()
    run("rewrite", "--write", ".")
    assert run("undo", str(tmp_path / "linked"))[0] == 2
    os.chdir(tmp_path / "linked")
    assert run("rewrite", "--write", ".")[0] == 0
    assert git("status", "--porcelain") == " M a.py\n"
    assert run("undo")[0] == 0 and tree() == old


def test_the_journal_is_on_the_disk_before_the_first_file_changes(run, monkeypatch):
    kernels("a", "b", "c")
    old, events = tree(), []

    def noted(name):
        original = getattr(os, name)

        def call(*arguments):
            events.append((name, str(arguments[-1]) if name == "replace" else ""))
            return original(*arguments)

        monkeypatch.setattr(os, name, call)

    noted("fsync")
    noted("replace")
    run("rewrite", "--write", "--no-cache", ".")
    renamed = [index for index, (name, path) in enumerate(events) if name == "replace" and path.endswith(".py")]
    kept = next(index for index, (name, path) in enumerate(events) if name == "replace" and path.endswith(".json"))
    assert [name for name, _ in events[: kept + 2]] == ["fsync", "replace", "fsync"] and renamed[0] > kept + 1
    assert old != tree()


CRASH = """\
import os, sys
from nki_migrate.cli import main
replace, left = os.replace, int(sys.argv[1])
def crashing(*arguments):
    global left
    if left == 0:
        os._exit(9)
    left -= 1
    return replace(*arguments)
os.replace = crashing
main(["rewrite", "--write", "--no-cache", "--jobs", "1", "."])
"""


@pytest.mark.parametrize("renames", range(6))  # the journal, three files, the journal of what was written
def test_undo_takes_a_crash_back_at_any_file(run, renames):
    kernels("a", "b", "c")
    old = tree()
    done = subprocess.run([sys.executable, "-c", CRASH, str(renames)], capture_output=True)
    assert done.returncode == (9 if renames < 5 else 0), done.stderr
    new = sum(old.get(path) not in (None, data) for path, data in tree().items())
    assert new == min(max(0, renames - 1), 3)
    assert run("undo")[0] == (0 if renames else 2)
    assert {path: data for path, data in tree().items() if path.endswith(".py")} == old


# --- groups


def group(tmp_path, names="abcd"):
    reports = []
    for name in names:
        path = tmp_path / f"{name}.py"
        path.write_text(f"old {name}")
        reports.append(Report(str(path), "changed", before=b"old %s" % name.encode(), after=b"new", group="together"))
    return reports


def states(reports):
    return [os.path.exists(report.path) and open(report.path, "rb").read() == report.after for report in reports]


def only_these(reports, folder):
    return sorted(str(path) for path in folder.glob("*.py*")) == [report.path for report in reports]


@pytest.mark.parametrize("how", ["read-only", "changed meanwhile", "gone"])
def test_what_keeps_one_file_from_being_written_keeps_all(tmp_path, monkeypatch, how):
    reports = group(tmp_path)
    alone = Report(str(tmp_path / "z.py"), "changed", before=b"x", after=b"y")
    (tmp_path / "z.py").write_bytes(b"x")
    victim, access = reports[2].path, os.access
    if how == "read-only":
        monkeypatch.setattr(os, "access", lambda path, mode: path != victim and access(path, mode))
    elif how == "gone":
        os.unlink(victim)
    else:
        write(victim, "mine")
    after, interrupted = store.stored([*reports, alone])
    assert not interrupted and [report.status for report in after] == ["failed"] * 5
    assert states(reports) == [False] * 4 and (tmp_path / "z.py").read_bytes() == b"x"
    why = {"read-only": "cannot write: the file is read-only", "gone": "cannot write: No such file"}
    assert after[2].reason.startswith(why.get(how, "not written: the file changed"))
    assert {each.reason for each in (*after[:2], *after[3:])} == {f"not written: nothing is, as {victim} cannot be"}
    assert journal.last_run(str(tmp_path)) is None


@pytest.mark.parametrize("step", ["fsync", "fchmod", "replace"])
@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_an_error_at_any_file_of_a_group_leaves_all_old_or_all_new(tmp_path, monkeypatch, step, at, error):
    reports = group(tmp_path)
    calls, original = 0, getattr(os, step)

    def failing(*arguments):
        nonlocal calls
        if step != "replace" or str(arguments[-1]).endswith(".py"):
            calls += 1
            if calls == at + 1 + (2 if step == "fsync" else 0):  # those of the journal
                raise error
        return original(*arguments)

    monkeypatch.setattr(os, step, failing)
    after, interrupted = store.stored(reports)
    assert interrupted == isinstance(error, KeyboardInterrupt)
    assert set(states(reports)) == {False} and {report.status for report in after} == {"failed"}
    assert only_these(reports, tmp_path) and not list(tmp_path.glob(".*.tmp"))
    assert journal.last_run(str(tmp_path)) is None


def test_what_cannot_be_put_back_is_reported_as_written_and_undone_by_undo(tmp_path, monkeypatch, run):
    reports = group(tmp_path)
    replace, calls = os.replace, 0

    def full(source, target):
        nonlocal calls
        calls += str(target).endswith(".py")
        if calls > 2 and str(target).endswith(".py"):
            raise OSError(errno.EIO, "Input/output error")
        return replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        after, _ = store.stored(reports)
    assert states(reports) == [True, True, False, False]
    assert [report.status for report in after] == ["changed", "changed", "failed", "failed"]
    assert run("undo", str(tmp_path))[0] == 0 and states(reports) == [False] * 4


def test_what_keeps_the_run_from_being_written_is_one_line(run, monkeypatch):
    kernels("a", "b", "c", "d")
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: not path.endswith("c.py") and access(path, mode))
    code, _, err = run("rewrite", "--write", ".")
    assert code == 2 and err.splitlines() == [
        "c.py: failed: cannot write: the file is read-only: make it writable (chmod u+w)",
        "3 files failed: not written: nothing is, as c.py cannot be",
        "4 files: 0 changed, 0 unchanged, 0 skipped, 4 failed; 0 findings",
    ]


def test_a_file_that_is_read_only_keeps_the_run_from_being_written(run):
    kernels("helper", "user")
    old = tree()
    os.chmod("helper.py", 0o444)
    if os.access("helper.py", os.W_OK):
        pytest.skip("nothing is read-only for root")
    code, _, err = run("rewrite", "--write", ".")
    assert code == 2
    assert tree() == old
    assert "1 file failed: not written: nothing is, as helper.py cannot be" in err
    assert "helper.py: failed: cannot write: the file is read-only: make it writable" in err


def test_the_report_knows_the_group_from_the_cache_as_well(run, monkeypatch):
    kernels("helper", "alone")
    kernels("user", imports="from helper import k_r")
    for _ in range(2):
        monkeypatch.setattr(sys, "stdin", io.StringIO("n\nn\n"))
        _code, _out, err = run("rewrite", "--interactive", ".")
        assert "(1/2) Write alone.py" in err and "(2/2) Write helper.py, user.py" in err


# --- what is not committed


def test_files_with_uncommitted_changes_are_not_written_without_leave(run):
    kernels("a", "b")
    write("notes.py", "x = 1\n")
    committed()
    write("a.py", KERNEL.format(name="a", imports="# mine"))
    write("notes.py", "x = 2\n")  # the run does not write it
    old = tree()
    code, out, err = run("rewrite", "--write", ".")
    assert (code, out) == (2, "") and tree() == old
    assert err == (
        "nki-migrate: error: nothing was written: 1 file to write with uncommitted changes (a.py): commit or stash "
        "them, or pass --allow-dirty\n"
    )
    assert run("rewrite", "--write", "b.py")[0] == 0
    assert run("rewrite", "--write", "--allow-dirty", ".")[0] == 0
    assert tree()["a.py"] != old["a.py"]


@pytest.mark.parametrize("state", ["untracked", "staged", "renamed"])
def test_each_way_of_being_uncommitted_counts(run, state):
    kernels("a")
    committed()
    kernels("é b")
    if state == "staged":
        git("add", ".")
    if state == "renamed":
        git("mv", "-f", "a.py", "é b.py")
    old = tree()
    code, _, err = run("rewrite", "--write", "é b.py")
    assert code == 2 and "(é b.py)" in err and tree() == old


def test_what_git_ignores_is_not_part_of_it(run):
    kernels("a")
    write(".gitignore", "a.py\n")
    committed()
    assert run("rewrite", "--write", "a.py")[0] == 0


@pytest.mark.parametrize("is_repository", [True, False])
def test_what_the_last_run_wrote_is_not_the_users_change(run, is_repository):
    kernels("a", "b")
    if is_repository:
        committed()
    assert run("rewrite", "--write", "a.py")[0] == 0
    assert journal.last_written(["a.py", "b.py"]) == {"a.py"}
    write("a.py", tree()["a.py"].decode() + "# mine\n")
    assert journal.last_written(["a.py", "b.py"]) == set()


def test_without_git_nothing_is_refused(run, monkeypatch):
    kernels("a")
    git("init", "-q")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert run("rewrite", "--write", ".")[0] == 0


def test_a_directory_that_only_looks_like_git_is_no_repository(run):
    kernels("a")
    write(".git/HEAD", "")
    assert run("rewrite", "--write", ".")[0] == 0


def test_a_git_that_does_not_answer_is_one_line(run):
    kernels("a")
    committed()
    write(".git/config", "[broken\n")
    code, _, err = run("rewrite", "--write", ".")
    assert code == 2 and "git cannot tell which files have uncommitted changes" in err and err.count("\n") == 1


def test_allow_dirty_belongs_to_write(run):
    kernels("a")
    code, _, err = run("rewrite", "--allow-dirty", ".")
    assert code == 2 and "--allow-dirty belongs to --write." in err
