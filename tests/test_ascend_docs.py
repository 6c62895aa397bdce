"""The table of the seed's functions in docs/ascend.md is that of the data; ``--write`` writes it."""

import re
import sys
from pathlib import Path

from nki_migrate.codemods.ascend.goals import GOALS
from nki_migrate.codemods.ascend.seed_table import as_markdown, as_text
from nki_migrate.runtime.ascend.plans import LIFETIMES, MODES
from nki_migrate.runtime.spec.ascend_seed import SEED

PAGE = Path(__file__).resolve().parent.parent / "docs" / "ascend.md"
_TABLE = re.compile(r"(?<=checked by it -->\n).*?(?=<!-- end of the table -->)", re.S)


def written(page):
    return _TABLE.sub(lambda _: as_markdown() + "\n", page)


def test_the_page_has_the_table():
    assert PAGE.read_text() == written(PAGE.read_text())
    assert PAGE.read_text().count("\n| `") >= len(SEED)


def test_the_page_names_all_modes_planners_and_versions():
    page = PAGE.read_text()
    assert [name for name in (*MODES, *LIFETIMES, *GOALS) if f"`{name}`" not in page] == []


def test_explain_has_the_same_rows():
    assert all(row.signature in as_text() and row.runs in as_text() for row in SEED.values())


if __name__ == "__main__" and "--write" in sys.argv:
    PAGE.write_text(written(PAGE.read_text()))
