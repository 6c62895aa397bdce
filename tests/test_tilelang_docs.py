"""The table of versions in docs/tilelang.md is that of the data; ``--write`` writes it."""

import re
import sys
from pathlib import Path

from nki_migrate.codemods.tilelang import RULES, VERSION_MATRIX
from nki_migrate.runtime.spec.tilelang import position

PAGE = Path(__file__).resolve().parent.parent / "docs" / "tilelang.md"
_TABLE = re.compile(r"(?<=checked by it -->\n).*?(?=<!-- end of the table -->)", re.S)


def table() -> str:
    rows = [f"| {version} | {what} | {code} | {RULES[code].summary} |" for version, what, code in VERSION_MATRIX]
    return "\n".join(["| Version | What changed | Rule | What it does |", "|---|---|---|---|", *rows]) + "\n"


def written(page: str) -> str:
    return _TABLE.sub(lambda _: table(), page)


def test_the_page_has_the_table() -> None:
    assert PAGE.read_text() == written(PAGE.read_text())
    assert {code for _, _, code in VERSION_MATRIX} == RULES.keys()


def test_versions_are_in_order() -> None:
    versions = [position(version) for version, _, _ in VERSION_MATRIX]
    assert versions == sorted(versions)


if __name__ == "__main__" and "--write" in sys.argv:
    PAGE.write_text(written(PAGE.read_text()))
