"""``rewrite --interactive`` asks of each part that may change alone, and writes what is accepted: no file is mixed."""

import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from nki_migrate.cli import main
from nki_migrate.codemods import rewrite

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def {name}(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.load(x))
    return out
"""
HELPER = "import neuronxcc.nki.language as nl\n\n\ndef fetched(x):\n    return nl.load(x)\n"
USER = KERNEL.format(name="used").replace("nl.load", "fetched").replace("\n\n\n", "\nfrom helper import fetched\n\n\n")
FILES = {"a.py": KERNEL.format(name="first"), "b.py": KERNEL.format(name="second"), "c.py": KERNEL.format(name="third")}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.setenv("NKI_MIGRATE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    for name, text in FILES.items():
        (tmp_path / "work" / name).write_text(text)
    return tmp_path / "work"


@pytest.fixture
def run(capfd, monkeypatch):
    def result(answers, *arguments):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(answers.encode())))
        with pytest.raises(SystemExit) as exit_:
            main(["rewrite", "--interactive", *arguments])
        return exit_.value.code, *capfd.readouterr()

    return result


def written():
    """The files that are the whole new version; all others must be the whole old one."""
    now = {name: Path(name).read_text() for name in FILES}
    new = {name for name, text in FILES.items() if now[name] == rewrite(text, filename=name).source}
    assert all(now[name] == text for name, text in FILES.items() if name not in new)
    return "".join(sorted(name[0] for name in new))


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ("y\nn\ny\n", "ac"),
        ("n\na\n", "bc"),
        ("y\nq\n", "a"),
        ("a\n", "abc"),
        ("q\n", ""),
        ("", ""),
        ("y\n", "a"),
        ("what\n?\nY\nn\nn\n", "a"),
    ],
)
def test_what_is_accepted_is_written_and_nothing_else(run, answers, expected):
    code, _, err = run(answers, ".")
    assert written() == expected
    assert code == (0 if expected == "abc" else 1)
    assert err.count("skipped: declined") == 3 - len(expected) and err.count(": rewritten") == len(expected)


def test_rules_are_explained_before_the_choice(run):
    _, out, err = run("n\nq\n", ".")
    assert out.index("+++ b/a.py") < out.index("+++ b/b.py") and "c.py" not in out
    before, _, rest = err.partition("(1/3) Write a.py [y,n,a,q,e,?]?")
    assert "NKI020 load-store, once: " in before
    assert "dma_copy" in before and "(2/3) Write b.py" in rest
    assert "y  write this part" in run("?\nq\n", ".")[2]


def test_files_that_import_each_other_are_one_part(run, here):
    for name in FILES:
        (here / name).unlink()
    (here / "helper.py").write_text(HELPER)
    (here / "user.py").write_text(USER)
    _, _, err = run("n\n", ".")
    assert "(1/1) Write helper.py, user.py [" in err and "they change together" in err
    assert (here / "helper.py").read_text() == HELPER and (here / "user.py").read_text() == USER
    run("y\n", ".")
    assert "neuronxcc" not in (here / "helper.py").read_text() + (here / "user.py").read_text()


def editor(here, monkeypatch, code):
    path = here.parent / "editor.py"
    path.write_text(f"import sys\np = sys.argv[1]\ntext = open(p).read()\n{code}\nopen(p, 'w').write(text)\n")
    monkeypatch.setenv("VISUAL", f"{sys.executable} {path}")


def test_an_edited_part_is_shown_again_and_written(run, here, monkeypatch):
    editor(here, monkeypatch, "text = text.replace('first', 'foremost')")
    _, out, _ = run("e\ny\nq\n", ".")
    assert "+def foremost(x):" in out
    assert (here / "a.py").read_text() == rewrite(FILES["a.py"]).source.replace("first", "foremost")


def test_an_edit_that_does_not_parse_is_not_taken(run, here, monkeypatch):
    editor(here, monkeypatch, "text += 'def (:\\n'")
    _, _, err = run("e\ny\nq\n", ".")
    assert "not taken: a.py: it does not parse: line " in err and written() == "a"


def test_an_editor_that_does_not_start_costs_no_answer(run, monkeypatch):
    monkeypatch.setenv("VISUAL", "no-such-editor")
    code, _out, err = run("y\ne\ny\nn\n", ".")
    assert code == 1 and "not taken: no-such-editor: Editing failed" in err and "set VISUAL or EDITOR" in err
    assert written() == "ab"


@pytest.mark.parametrize(
    "arguments",
    [("--check", "."), ("--dry-run", "."), ("-",), ("--output-format", "json", "."), ("-q", "."), ("--stat", ".")],
)
def test_what_leaves_nothing_to_ask_is_one_line(run, arguments):
    code, _, err = run("y\n", *arguments)
    assert code == 2 and "--interactive" in err and written() == ""


def test_it_is_a_run_that_undo_takes_back(run):
    run("y\nn\ny\n", ".")
    with pytest.raises(SystemExit) as exit_:
        main(["undo"])
    assert exit_.value.code == 0 and written() == ""


def test_on_a_terminal(here):
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "nki_migrate", "rewrite", "--interactive", "a.py"]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=dict(os.environ, TERM="xterm"))
    os.close(theirs)
    said = b""
    while b"[y,n,a,q,e,?]?" not in said:
        said += os.read(ours, 4096)
    os.write(ours, b"y\n")
    while process.poll() is None:
        try:
            said += os.read(ours, 4096)
        except OSError:
            break
    assert process.wait() == 0 and written() == "a", json.dumps(said.decode())
    os.close(ours)
