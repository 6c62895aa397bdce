"""The recorded verdicts of the vendor's front end: ``check_source`` accepts and refuses the same, with text and line.

``legality_verdicts.json`` was written by ``bench/oracle/record.py``, which ran leanprover/KLR's gatherer on every
source of ``bench/oracle/constructs.py``.
"""

from __future__ import annotations

import importlib.util
import json
import zlib
from pathlib import Path

import pytest
from nki_migrate.runtime import shims
from nki_migrate.runtime.legality import CODES, check_source

HERE = Path(__file__).resolve().parent


def loaded(name):
    spec = importlib.util.spec_from_file_location(name, HERE / "bench" / "oracle" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SOURCES = loaded("constructs").sources()
VERDICTS = json.loads((HERE / "legality_verdicts.json").read_text())


def gathered(source):
    """Line and text of what the rules of the gatherer's stage say (columns in f-strings depend on Python's version)."""
    return {(v.line, v.message) for v in check_source(source, target="0.2") if CODES[v.code].stage == "gather"}


@pytest.mark.parametrize("name", sorted(VERDICTS))
def test_the_checker_says_what_the_front_end_said(name):
    _, errors = VERDICTS[name]
    assert gathered(SOURCES[name]) == {(line, message) for line, _, message in errors}


def test_every_verdict_belongs_to_the_source_it_was_recorded_for():
    assert {name for name, (checksum, _) in VERDICTS.items() if zlib.crc32(SOURCES[name].encode()) != checksum} == set()


def test_every_source_that_python_loads_has_a_verdict():
    """The others are no Python at all, or fail when the file is imported, before the front end sees them."""
    assert {name for name in SOURCES.keys() - VERDICTS.keys() if loads(SOURCES[name])} == set()


def loads(source):
    try:
        with shims.installed():
            exec(compile(source, "<construct>", "exec"), {"__name__": "kernels"})
    except (SyntaxError, TypeError, ValueError):
        return False
    return True


def test_the_verdicts_hold_every_text_of_the_gatherer_that_a_rule_repeats():
    """No rule of the stage ``gather`` stands without a verdict behind it (two need newer Pythons or another scope)."""
    recorded = {message for _, errors in VERDICTS.values() for _, _, message in errors}
    unproved = {
        doc.name for doc in CODES.values() if doc.stage == "gather" and not any(_fits(doc.message, m) for m in recorded)
    }
    assert unproved == {"nonlocal", "type-statement"}


def _fits(pattern, message):
    head, _, tail = pattern.partition("{}")
    return message.startswith(head) and message.endswith(tail)
