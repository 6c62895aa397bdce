"""The README and docs/ tell the truth: their listings are what the commands print, and what they tell to do works."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_SPEC = importlib.util.spec_from_file_location("readme", Path(__file__).with_name("readme.py"))
readme = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(readme)

TEXTS = {document.relative_to(readme.ROOT).as_posix(): document.read_text("utf-8") for document in readme.DOCUMENTS}
LISTINGS = {
    f"{name}: {listing.splitlines()[0][2:60]}": listing
    for name, text in TEXTS.items()
    for listing in readme.listings(text)
}


@pytest.mark.parametrize("listing", LISTINGS.values(), ids=LISTINGS.keys())
def test_the_listing_is_what_the_command_prints(listing):
    assert listing.startswith("$ ")
    assert readme.run_again(listing) == listing, "run python tests/readme.py"


def test_every_command_is_shown_and_explained():
    shown = "".join(LISTINGS.values())
    for command in ("rewrite", "verify", "check", "layout", "emulate", "rules", "explain", "versions"):
        assert f"nki-migrate {command} " in shown or f"nki-migrate {command}\n" in shown


def test_a_listing_that_lies_is_found():
    assert readme.run_again("$ echo one\ntwo\n$ printf a \\\n    b\n") == "$ echo one\none\n$ printf a \\\n    b\na\n"


def test_the_two_commands_come_first():
    first, second, *_rest = readme.commands(TEXTS["README.md"])
    assert first.startswith("pip install -e . && nki-migrate rewrite golden/")
    assert "nki-migrate verify golden/" in first
    assert second.startswith("pip install -e '.[test]' && pytest")


def test_a_newcomer_reads_the_readme_in_three_minutes():
    lines = TEXTS["README.md"].count("\n")
    assert lines <= 150, "what is said in detail stands in docs/"


@pytest.mark.parametrize("name", TEXTS)
def test_the_links_to_files_lead_somewhere(name):
    here = (readme.ROOT / name).parent
    for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", TEXTS[name]):
        assert (here / target).exists(), target


def test_what_the_tutorial_tells_to_do_works(tmp_path):
    """The ``bash`` blocks of the tutorial, in their order, in a repository of two kernels, of which one has cases."""
    kernels = tmp_path / "kernels"
    kernels.mkdir()
    for name in ("before.py", "cases.toml", "reference.py"):
        shutil.copy(readme.ROOT / "golden" / "fused_rmsnorm" / name, kernels / name)
    (kernels / "before.py").rename(kernels / "rmsnorm.py")
    shutil.copy(readme.ROOT / "golden" / "running_counter" / "before.py", kernels / "peaks.py")
    blocks = re.findall(r"^```bash\n(.*?)^```$", TEXTS["docs/tutorial.md"], re.M | re.S)
    repository = "git init -q -b main && git add . && git commit -q -m kernels\n"
    identity = {f"GIT_{who}_{what}": "n@e" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-ec", repository + "".join(blocks)],
        cwd=tmp_path,
        env={
            **os.environ,
            **identity,
            "PATH": path,
            "XDG_CACHE_HOME": str(tmp_path.parent / "cache"),
            "XDG_STATE_HOME": str(tmp_path.parent / "state"),
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "neuronxcc" not in (kernels / "peaks.py").read_text("utf-8")
