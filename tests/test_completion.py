"""What a shell proposes: codes and names of rules where an option or ``explain`` takes them."""

import os
import subprocess
import sys

import pytest
from nki_migrate.cli import cli
from nki_migrate.explain import codes_of, explanation
from nki_migrate.rule_codes import chosen_codes, completed_codes, completed_subjects


def proposed(complete, word):
    return [item.value for item in complete(None, None, word)]


@pytest.mark.parametrize("word", ["", "NKI01", "nki01", "loop", "NKI001,NKI01", "NKV"])
def test_what_is_proposed_for_an_option_is_taken_by_it(word):
    found = proposed(completed_codes, word)
    assert found
    for value in found:
        assert value.lower().startswith(word.lower()) and chosen_codes("--select", (value,))


@pytest.mark.parametrize("word", ["", "NKL05", "nkm", "sbuf-m", "comp"])
def test_what_is_proposed_to_explain_is_explained(word):
    found = proposed(completed_subjects, word)
    assert found
    assert all(any(explanation(code) for code in codes_of(value)) for value in found)


def test_codes_and_names_are_proposed_once_with_what_they_do():
    found = proposed(completed_subjects, "NKI011")
    assert found == ["NKI011"] and proposed(completed_codes, "sbuf-mod") == ["sbuf-mod-alloc"]
    (item,) = completed_codes(None, None, "NKI011")
    assert "mod_alloc" in item.help
    assert proposed(completed_codes, "no-such") == proposed(completed_subjects, "no-such") == []


def test_the_shell_gets_them():
    words = {"COMP_WORDS": "nki-migrate explain NKI01", "COMP_CWORD": "2", "_NKI_MIGRATE_COMPLETE": "bash_complete"}
    done = subprocess.run(
        [sys.executable, "-m", "nki_migrate"], env={**os.environ, **words}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and "plain,NKI011" in done.stdout.splitlines() and done.stderr == ""


def test_every_option_that_takes_codes_completes_them():
    takes = [
        (command.name, option.opts[0])
        for command in cli.commands.values()
        for option in command.params
        if option.metavar == "CODES" and option._custom_shell_complete is not completed_codes
    ]
    assert takes == []
