"""The README tells the truth: its listings are what the commands print."""

import importlib.util
from pathlib import Path

import pytest

_SPEC = importlib.util.spec_from_file_location("readme", Path(__file__).with_name("readme.py"))
readme = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(readme)

TEXT = readme.README.read_text(encoding="utf-8")
LISTINGS = readme.listings(TEXT)


@pytest.mark.parametrize("listing", LISTINGS, ids=[listing.split("\n")[0][2:60] for listing in LISTINGS])
def test_the_listing_is_what_the_command_prints(listing):
    assert listing.startswith("$ ")
    assert readme.run_again(listing) == listing, "run python tests/readme.py"


def test_every_command_is_shown_and_explained():
    shown = "".join(LISTINGS)
    for command in ("rewrite", "verify", "check", "layout", "emulate", "rules", "explain"):
        assert f"nki-migrate {command} " in shown or f"nki-migrate {command}\n" in shown


def test_a_listing_that_lies_is_found():
    assert readme.run_again("$ echo one\ntwo\n$ printf a \\\n    b\n") == "$ echo one\none\n$ printf a \\\n    b\na\n"


def test_the_two_commands_come_first():
    first, second, *_rest = readme.commands(TEXT)
    assert first.startswith("pip install -e . && nki-migrate rewrite golden/")
    assert "nki-migrate verify golden/" in first
    assert second.startswith("pip install -e '.[test]' && pytest")


def test_the_links_to_files_lead_somewhere():
    import re

    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", TEXT):
        assert (readme.ROOT / target).exists(), target
