"""Files are replaced as a whole or not at all; diffs are what patch and git apply take."""

import os
import stat
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from nki_migrate.errors import FileError
from nki_migrate.patch import unified_diff
from nki_migrate.store import Change, replace_together

BEFORE, AFTER = b"before\n", b"after\r\n\xff"


def replace(path, before, after):
    replace_together([Change(path, before, after)])


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "kernel.py"
    path.write_bytes(BEFORE)
    return path


def only_file(path):
    return os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("mode", [0o644, 0o600, 0o755, 0o4755, 0o444])
def test_mode_bits_are_kept(file, mode, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *arguments: True)  # as for root, whom a read-only file does not stop
    file.chmod(mode)
    replace(str(file), BEFORE, AFTER)
    assert file.read_bytes() == AFTER
    assert stat.S_IMODE(file.stat().st_mode) == mode
    assert only_file(file)


def test_the_owner_is_kept(file, monkeypatch):
    owners = []
    monkeypatch.setattr(os, "fchown", lambda descriptor, user, group: owners.append((user, group)))
    replace(str(file), BEFORE, AFTER)
    assert owners == [(file.stat().st_uid, file.stat().st_gid)]


def test_who_may_not_give_files_away_can_write_all_the_same(file, monkeypatch):
    def refuse(*arguments):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "fchown", refuse)
    replace(str(file), BEFORE, AFTER)
    assert file.read_bytes() == AFTER


def test_a_symbolic_link_stays_one_and_its_target_changes(file, tmp_path):
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / "link.py"
    link.symlink_to("../kernel.py")
    replace(str(link), BEFORE, AFTER)
    assert link.is_symlink() and os.readlink(link) == "../kernel.py"
    assert file.read_bytes() == AFTER
    assert os.listdir(link.parent) == ["link.py"]


def test_a_file_that_changed_in_the_meantime_is_not_overwritten(file):
    file.write_bytes(b"someone else's\n")
    with pytest.raises(FileError, match="the file changed while it was being rewritten: run again"):
        replace(str(file), BEFORE, AFTER)
    assert file.read_bytes() == b"someone else's\n"


def test_a_file_that_vanished_is_not_made_again(file):
    file.unlink()
    with pytest.raises(FileError, match="cannot write"):
        replace(str(file), BEFORE, AFTER)
    assert os.listdir(file.parent) == []


def test_a_read_only_file_is_not_replaced(file, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    with pytest.raises(FileError, match=r"the file is read-only: make it writable \(chmod u\+w\)"):
        replace(str(file), BEFORE, AFTER)
    assert file.read_bytes() == BEFORE


def test_a_read_only_directory_is_an_error_that_leaves_the_file(file, monkeypatch):
    opened = os.open

    def refuse(path, flags, *mode):
        if flags & os.O_CREAT:
            raise PermissionError(13, "Permission denied")
        return opened(path, flags, *mode)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(FileError, match=r"^cannot write: Permission denied$"):
        replace(str(file), BEFORE, AFTER)
    assert file.read_bytes() == BEFORE


@pytest.mark.parametrize("step", ["fsync", "fchmod", "replace"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_whatever_goes_wrong_leaves_the_old_file_and_nothing_else(file, monkeypatch, step, error):
    def fail(*arguments):
        raise error

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(FileError if isinstance(error, OSError) else KeyboardInterrupt):
        replace(str(file), BEFORE, AFTER)
    assert file.read_bytes() == BEFORE
    assert only_file(file)


def test_a_long_name_leaves_room_for_the_temporary_one(tmp_path):
    path = tmp_path / ("k" * 250 + ".py")
    path.write_bytes(BEFORE)
    replace(str(path), BEFORE, AFTER)
    assert path.read_bytes() == AFTER


def test_readers_see_the_old_or_the_new_file_at_any_time(file):
    big = [b"0" * 300_000 + b"\n", b"1" * 300_000 + b"\n"]
    file.write_bytes(big[0])
    script = (
        "import os\n"
        "seen = set()\n"
        "print('ready', flush=True)\n"
        f"while not os.path.exists({str(file) + '.done'!r}): seen.add(open({str(file)!r}, 'rb').read())\n"
        "print(sorted((len(data), len(set(data))) for data in seen))\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as reader:
        reader.stdout.readline()
        for index in range(200):
            replace(str(file), big[index % 2], big[(index + 1) % 2])
        file.with_name(file.name + ".done").touch()
        assert reader.communicate(timeout=300)[0] == "[(300001, 2), (300001, 2)]\n"


# Diffs

BYTES = st.lists(
    st.sampled_from([b"a", b"b", b"", b"\xe9 latin", b"cr\r", b"-- minus", b"++ plus", b"form\x0cfeed", b"x\ry"])
)
CONTENTS = st.builds(lambda lines, end: b"\n".join(lines) + end, BYTES, st.sampled_from([b"", b"\n"]))


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(CONTENTS, CONTENTS)
def test_the_diff_applied_is_the_new_file(tmp_path_factory, before, after):
    assume(before and after)
    directory = tmp_path_factory.mktemp("diff")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(directory)
        diff = unified_diff("pkg/kernel.py", before, after)
    assert (diff == b"") == (before == after)
    assume(diff)
    for command in (["git", "apply", "--whitespace=nowarn", "-"], ["patch", "-s", "-p1", "--binary"]):
        (directory / "pkg").mkdir(exist_ok=True)
        (directory / "pkg" / "kernel.py").write_bytes(before)
        subprocess.run(command, input=diff, cwd=directory, check=True)
        assert (directory / "pkg" / "kernel.py").read_bytes() == after


def test_lines_that_a_long_file_has_often_are_no_change():
    sections = [
        (b"def f%d(x):\n    rows = x.shape[0]\n    use(rows, %s)\n    return rows\n\n" % (n, b"%s")) for n in range(80)
    ]
    before, after = (b"".join(section % name for section in sections) for name in (b"old", b"new"))
    lines = unified_diff("x.py", before, after).splitlines()[2:]
    changes = [line for line in lines if line[:1] in (b"-", b"+")]
    assert changes == [b"-    use(rows, old)", b"+    use(rows, new)"] * 80


@pytest.mark.parametrize(
    "name", ["with space.py", "é.py", 'quote".py', "back\\slash.py", "tab\there.py", "deep/er/x.py"]
)
def test_names_that_need_quoting_are_found_by_git_apply(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    with open(name, "wb") as file:
        file.write(BEFORE)
    subprocess.run(["git", "apply", "-"], input=unified_diff(name, BEFORE, b"after\n"), check=True)
    with open(name, "rb") as file:
        assert file.read() == b"after\n"


def test_a_file_elsewhere_is_named_from_the_root(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    diff = unified_diff("../there.py", BEFORE, b"after\n")
    assert diff.splitlines()[0].decode() == f"--- a{tmp_path}/there.py"
    (tmp_path / "there.py").write_bytes(BEFORE)
    subprocess.run(["patch", "-s", "-p1", "-d", "/"], input=diff, check=True)
    assert (tmp_path / "there.py").read_bytes() == b"after\n"


def test_an_absolute_path_below_the_working_directory_is_named_from_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert unified_diff(str(tmp_path / "x.py"), BEFORE, b"after\n").splitlines()[0] == b"--- a/x.py"
