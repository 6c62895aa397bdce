"""Which files a path stands for."""

import os
import re
import subprocess

import pathspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nki_migrate.discover import LINK, SUBMODULE, Found, found_files
from nki_migrate.errors import InputError
from nki_migrate.gitignore import CLASSES


@pytest.fixture(autouse=True)
def in_tmp_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def make(*paths, **contents):
    for path in paths:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "w") as file:
            file.write(contents.get("text", ""))


def write(path, text):
    make(path, text=text)


def names(*paths):
    return [file.path for file in found_files(paths) if not file.skipped and not file.failed]


def test_directories_give_python_files_and_notebooks_in_the_order_of_names():
    make("b.py", "a/z.py", "a/b.pyi", "a/n.ipynb", "a/readme.md", "a/py", "c/d/e.py")
    assert names(".") == ["a/b.pyi", "a/n.ipynb", "a/z.py", "b.py", "c/d/e.py"]
    assert names("a") == ["a/b.pyi", "a/n.ipynb", "a/z.py"]
    assert names("c/", "b.py") == ["c/d/e.py", "b.py"]
    assert names(os.path.abspath("c")) == [os.path.abspath("c/d/e.py")]


def test_a_named_file_needs_no_suffix_and_no_permission_of_gitignore():
    make("kernel.txt", "ignored.py", text="x")
    write(".gitignore", "*\n")
    assert names("kernel.txt", "ignored.py") == ["kernel.txt", "ignored.py"]
    assert names(".") == []


def test_what_is_no_source_is_not_walked():
    make(
        ".git/hook.py",
        ".hg/x.py",
        "node_modules/x.py",
        "__pycache__/x.py",
        ".tox/x.py",
        "kept/venv/x.py",
        "env/lib/x.py",
    )
    write("env/pyvenv.cfg", "home = /usr")
    assert names(".") == ["kept/venv/x.py"]


def test_nested_gitignore_with_negation_and_anchors():
    write(".gitignore", "*.py\n!keep_*.py\nbuild/\n/top/*.pyi\n")
    write("sub/.gitignore", "!*.py\nkeep_not.py\n")
    make(
        "a.py",
        "keep_a.py",
        "build/keep_b.py",
        "top/x.pyi",
        "other/top/x.pyi",
        "sub/c.py",
        "sub/keep_not.py",
        "sub/build/d.py",
    )
    assert names(".") == ["keep_a.py", "other/top/x.pyi", "sub/c.py"]


def test_gitignore_files_above_the_path_count_up_to_the_repositorys_root():
    make("repo/.git/HEAD", "repo/a/b/x.py", "repo/a/b/y.py", "repo/a/b/z.py")
    write(".gitignore", "z.py\n")  # outside the repository
    write("repo/.gitignore", "x.py\ny.py\n")
    write("repo/a/.gitignore", "!y.py\n")
    assert names("repo/a/b") == ["repo/a/b/y.py", "repo/a/b/z.py"]


def test_a_directory_that_is_ignored_but_named_is_walked():
    make(".git/HEAD", "build/x.py", "build/deep/y.py")
    write(".gitignore", "build/\n")
    assert names(".") == []
    assert names("build") == ["build/deep/y.py", "build/x.py"]
    assert names("build/deep") == ["build/deep/y.py"]


def test_a_line_that_is_no_pattern_is_ignored():
    write(".gitignore", "!\n//\n***\nx.py\n")
    make("x.py")
    assert names(".") == []


def test_gitignore_need_not_be_utf8():
    with open(".gitignore", "wb") as file:
        file.write(b"caf\xe9/\nx.py\n")
    make("x.py", "y.py")
    assert names(".") == ["y.py"]


def test_each_file_once_under_its_own_name():
    make("real.py", "pkg/other.py")
    os.symlink("real.py", "a_link.py")
    os.symlink("../outside", "broken.py")
    os.symlink("pkg", "pkg_link")
    assert found_files(["."]) == [
        Found("a_link.py", skipped="the same file as real.py"),
        Found("broken.py", skipped="a broken symbolic link"),
        Found("pkg/other.py"),
        Found("pkg_link", skipped="a symbolic link to a directory: name it to follow it"),
        Found("real.py"),
    ]
    assert names(".", "real.py", "./real.py", "pkg") == ["pkg/other.py", "real.py"]
    assert names("a_link.py") == ["a_link.py"]
    assert found_files(["real.py", os.path.abspath("real.py")])[1].skipped == "the same file as real.py"
    assert names("pkg_link") == ["pkg_link/other.py"]


def test_symbolic_links_in_a_circle_end():
    make("a/x.py")
    os.symlink("..", "a/up")
    assert names(".") == ["a/x.py"]


def test_links_to_directories_are_said_unless_they_are_ignored_or_no_source():
    make("outside/x.py", "in/y.py", "env/pyvenv.cfg")
    for name, target in (("kept", "outside"), ("gone", "outside"), ("venv", "env")):
        os.symlink(os.path.abspath(target), f"in/{name}")
    write("in/.gitignore", "gone\n")
    assert found_files(["in"]) == [Found("in/kept", skipped=LINK), Found("in/y.py")]
    assert found_files(["in", "in/kept"]) == [Found("in/y.py"), Found("in/kept/x.py")]


def test_a_repository_in_a_repository_is_left_unless_it_is_named():
    make(
        "repo/.git/HEAD",
        "repo/x.py",
        "repo/.git/modules/sub/HEAD",
        "repo/sub/y.py",
        "repo/old/.git/HEAD",
        "repo/old/z.py",
    )
    write("repo/sub/.git", "gitdir: ../.git/modules/sub\n")
    left = [Found("repo/old", skipped=SUBMODULE), Found("repo/sub", skipped=SUBMODULE)]
    assert found_files(["repo"]) == [*left, Found("repo/x.py")]
    assert found_files(["."]) == [*left, Found("repo/x.py")]  # a repository in a directory that is of none is walked
    assert names("repo/sub") == ["repo/sub/y.py"]
    assert found_files(["repo/old/", "repo"]) == [Found("repo/old/z.py"), left[1], Found("repo/x.py")]


def test_rules_of_a_directory_do_not_reach_into_repositories_in_it():
    make("repo/.git/HEAD", "repo/x.py", "y.py")
    write(".gitignore", "*.py\n")
    assert names(".") == ["repo/x.py"]


def test_pipes_are_not_opened():
    os.mkfifo("pipe.py")
    os.mkdir("directory.py")
    assert found_files(["."]) == [Found("pipe.py", skipped="not a regular file")]
    with pytest.raises(InputError, match=r"pipe.py: not a file or directory: .* or - for standard input"):
        found_files(["pipe.py"])


def test_a_path_that_does_not_exist_is_an_error():
    make("a.py")
    with pytest.raises(InputError, match=r"^b\.py: no such file or directory$"):
        found_files(["a.py", "b.py"])


def test_standard_input_is_one_file():
    assert found_files(["-", "-"]) == [Found("-")]


def test_a_directory_that_cannot_be_listed_fails(monkeypatch):
    make("open/x.py", "closed/y.py")
    scandir = os.scandir

    def refuse(path):
        if os.path.basename(path) == "closed":
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert Found("closed", failed="cannot list the directory: Permission denied") in found_files(["closed"])
    assert names(".") == ["open/x.py"]


PATTERNS = st.sampled_from(
    "a|a/|/a|*.py|!*.py|!a/|b/*|!b/x.py|**/x.py|a/**|a/**/x.py|x.py|!x.py|/b/a/|*|!*/|[ab]|?.py|# a|\\#a|| "
    "|a/*|!a/b/|b|!/b|y.py |/*/a|!**/y.py|a**|**/a/**|[^a].py|[!a]|\\x.py|y.py\\ |/|//|!|**|***|a/**/b|b/**/a/*"
    "|!a/**|a/***/x.py|***/x.py|!**|[z-a].py|[[:alpha:]].py|a\t|[/]|[a/b|[a|\\|a//b|./a|*/|**/*|/**/a".split("|")
)
IGNORES = st.lists(PATTERNS, max_size=4)


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(top=IGNORES, middle=IGNORES, inner=IGNORES, start=st.sampled_from([".", "a"]))
def test_the_same_files_as_git(tmp_path_factory, top, middle, inner, start):
    root = tmp_path_factory.mktemp("repository")
    directories = ["", "a/", "b/", "a/b/", "b/a/"]
    subprocess.run(["git", "init", "-q", root], check=True)
    for directory in directories:
        (root / directory).mkdir(exist_ok=True)
        for name in ("x.py", "y.py", "a.py"):
            (root / directory / name).touch()
    for directory, patterns in (("", top), ("a", middle), ("a/b", inner)):
        (root / directory / ".gitignore").write_text("\n".join(patterns) + "\n")
    listing = ["git", "-C", root, "ls-files", "-o", "--exclude-standard", start]
    expected = subprocess.run(listing, check=True, capture_output=True, text=True).stdout.split()
    if start == "a" and not expected:
        return  # a directory that is itself ignored is walked by us, and not by git
    found = [os.path.relpath(file.path, root) for file in found_files([str(root / start)])]
    expected = sorted((path for path in expected if path.endswith(".py")), key=lambda path: path.split("/"))
    assert found == expected


@pytest.mark.parametrize("name", CLASSES)
def test_classes_of_characters_are_those_of_git(name):
    subprocess.run(["git", "init", "-q", "."], check=True)
    for code in range(0x20, 0x7F):
        if chr(code) != "/":
            make(f"{chr(code)}.py")
    write(".gitignore", f"[[:{name}:]].py\n")
    listing = ["git", "ls-files", "-o", "-z", "--exclude-standard", "*.py"]
    listed = subprocess.run(listing, check=True, capture_output=True, text=True).stdout.split("\0")
    assert names(".") == sorted(filter(None, listed))


@pytest.mark.parametrize("lines", [("build", "!build/**"), ("!",), ("[z-a].py",)])
def test_git_disagrees_with_pathspec_here_and_not_with_us(lines):
    make("build/x.py", "y.py")
    write(".gitignore", "\n".join(lines) + "\n")
    subprocess.run(["git", "init", "-q", "."], check=True)
    listing = ["git", "ls-files", "-o", "--exclude-standard", "*.py"]
    listed = subprocess.run(listing, check=True, capture_output=True, text=True).stdout.split()
    assert names(".") == sorted(listed)
    try:
        spec = pathspec.GitIgnoreSpec.from_lines(lines)
    except (ValueError, re.error):
        return
    assert not spec.match_file("build/")  # it would walk the directory, which git does not
    assert "build/x.py" not in listed
