"""The pages that docs/pages.py makes: one for each command, one for each code, and no link that leads nowhere."""

import importlib.util
import posixpath
import re
from pathlib import Path

import yaml
from nki_migrate.explain import known_codes

ROOT = Path(__file__).resolve().parent.parent
_SPEC = importlib.util.spec_from_file_location("pages", ROOT / "docs" / "pages.py")
site = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(site)

MADE = site.pages()
WRITTEN = {page.name: site.linked(page.read_text("utf-8"), f"docs/{page.name}") for page in ROOT.glob("docs/*.md")}
PAGES = {**MADE, **WRITTEN}


def test_every_code_has_a_page_and_belongs_to_a_family():
    assert {f"rules/{code}.md" for code in known_codes()} <= MADE.keys()
    assert {code[:3] for code in known_codes()} == site.FAMILIES.keys()
    assert all(f"({code}.md)" in MADE["rules/index.md"] for code in known_codes())


def test_every_command_has_a_page_with_its_options():
    assert {"rewrite", "verify", "check", "cases suggest"} <= {site._words(context) for context in site.commands()}
    assert "`--migrate`" in MADE["commands/verify.md"] and "Exit codes: " in MADE["commands/verify.md"]


def test_a_rule_is_shown_with_its_golden():
    page = MADE["rules/NKI011.md"]
    assert page.startswith("# NKI011 sbuf-mod-alloc [safe]\n")
    assert page.count("```python\n") == 2 and page.count("```toml\n") == 1
    assert "\n        ring[b] = " in page and "address=(0, 4096" in page


def test_versions_are_those_of_the_command():
    table = site.versions()
    assert re.findall(r"^## NKI (\S+)", table, re.M) == [row["version"] for row in reversed(site.versions_rows())]
    assert "(rules/NKV007.md)" in table


def test_hand_written_pages_get_the_parts_that_are_made():
    assert "## NKI 0.6" in site.filled(WRITTEN["versions.md"])
    assert "| `interleaved_groups` | " in site.filled(WRITTEN["emulator.md"])
    assert all(f"<!-- generated: {part} -->" in "".join(WRITTEN.values()) for part in site.PARTS)


def test_links_lead_to_pages():
    links = [
        (place, found[2].partition("#")[0])
        for place, text in PAGES.items()
        for found in site._LINK.finditer(text)
        if found[2]
    ]
    inside = [(place, target) for place, target in links if target and not re.match("[a-z]+:", target)]
    assert len(inside) > 200
    lost = [
        (place, target)
        for place, target in inside
        if posixpath.normpath(posixpath.join(posixpath.dirname(place), target)) not in PAGES
    ]
    assert lost == []


def test_a_link_to_what_is_no_page_becomes_a_path():
    text = "[one table](../runtime/spec/beta2.py), [NKI016](../codemods/rules/launch_grid.py), [CI](ci.md#pytest)"
    assert site.linked(text, "docs/emulator.md") == (
        "one table (`runtime/spec/beta2.py`), [NKI016](rules/NKI016.md), [CI](ci.md#pytest)"
    )
    assert site.linked("`kernel[n](x)`\n```\n[a](b)\n```", "README.md") == "`kernel[n](x)`\n```\n[a](b)\n```"
    assert site.linked("[verify](docs/verify.md)", "README.md") == "[verify](verify.md)"


def test_the_navigation_has_every_page_that_was_written():
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8")
    listed = set(re.findall(r": (\S+\.md)$", navigation, re.M))
    assert listed <= PAGES.keys() and WRITTEN.keys() <= listed
    assert yaml.safe_load(navigation)["docs_dir"] == "docs"
