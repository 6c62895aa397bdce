"""The pages of the site that are made from the project itself, each time the site is built.

The front page is the README; commands come from click, rules from ``explain`` and their goldens, versions from the
table of ``nki-migrate versions``. Documents that stand elsewhere in the repository are pages, too. Nothing of this is
committed: ``docs/hooks.py`` gives it to mkdocs.
"""

from __future__ import annotations

import ast
import inspect
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

import click
from nki_migrate.cli import cli
from nki_migrate.explain import described, explanation, known_codes, rules_rows
from nki_migrate.golden import GOLDENS
from nki_migrate.runtime.hazards import KINDS
from nki_migrate.version_table import versions_rows

ROOT = Path(__file__).resolve().parent.parent

DOCUMENTS = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "codemods/README.md": "architecture.md",
    "runtime/nkilib/VERSIONS.md": "nkilib-versions.md",
    "tests/bench/REAL_KERNELS.md": "real-kernels.md",
    "tests/bench/VERIFIED.md": "verified.md",
}
"""What is a page of the site, and stands elsewhere in the repository: its path there, and here."""

FAMILIES = {
    "NKI": ("From Beta 1 to Beta 2", "`rewrite` writes these."),
    "NKV": ("From one version of NKI to the next", "`rewrite --target` writes these, one version after another."),
    "NKL": ("What Beta 2 refuses", "`check` finds these, and the emulator refuses them with the same code."),
    "NKM": ("What is said of files and verdicts", "Reports of `rewrite`, `check` and `verify` have these."),
    "TLG": ("TileLang", "`rewrite --to tilelang==VERSION` writes these."),
    "ASC": ("TileLang-Ascend", "`rewrite --to ascend==VERSION` writes these, `check` finds those from ASC101 on."),
}
"""The codes by their first letters: a heading, and who says them."""

_MADE = re.compile(r"<!-- generated: (\w+) -->")
"""What stands in a hand-written page for a part that is made."""

_LINK = re.compile(r"^```.*?^```$|`[^`\n]+`|\[([^\]\n]*)\]\(([^)\s]+)\)", re.M | re.S)
"""A link; or code, in which nothing is a link."""
_CODE_BLOCK = re.compile(r"(?:^ {4}.*\n(?:\n+(?= {4}))?)+", re.M)


def pages() -> dict[str, str]:
    """The Markdown of each page that is made, by its place in the site."""
    made = {place: linked((ROOT / path).read_text("utf-8"), path) for path, place in DOCUMENTS.items()}
    made["rules/index.md"] = _rules()
    made |= {f"rules/{code}.md": _rule(code) for code in known_codes()}
    made["commands/index.md"] = _commands()
    made |= {f"commands/{_file(context)}": _command(context) for context in commands()}
    return made


def linked(text: str, path: str) -> str:
    """The document at ``path`` of the repository, with links that lead to pages of the site.

    A link to a file that is no page becomes its path: the site does not know where the repository is published.
    """
    place = DOCUMENTS.get(path) or path.removeprefix("docs/")

    def link(found: re.Match[str]) -> str:
        words, target = found.groups()
        if target is None or re.match(r"[a-z]+:|#", target):
            return found[0]
        file, _, anchor = target.partition("#")
        file = posixpath.normpath(posixpath.join(posixpath.dirname(path), file))
        page = _page(file)
        if page is None:
            return f"`{file}`" if words.strip("`") in (file, posixpath.basename(file)) else f"{words} (`{file}`)"
        relative = posixpath.relpath(page, posixpath.dirname(place) or ".")
        return f"[{words}]({relative}{'#' if anchor else ''}{anchor})"

    return _LINK.sub(link, text)


def _page(file: str) -> str | None:
    """The page of the site that stands for a file of the repository."""
    if file in DOCUMENTS:
        return DOCUMENTS[file]
    if file.startswith("docs/") and file.endswith(".md"):
        return file.removeprefix("docs/")
    if "/rules/" in file and file.endswith(".py"):
        named = re.match(r'"""([A-Z]+[0-9]+) ', (ROOT / file).read_text("utf-8"))
        return f"rules/{named[1]}.md" if named else None
    return None


def filled(text: str) -> str:
    """A hand-written page with the parts that are made."""
    return _MADE.sub(lambda found: PARTS[found[1]](), text)


# Rules


def _rules() -> str:
    applicability = {code: kind for code, _, kind, _ in rules_rows()[1:]}
    parts = [
        "# Rules and findings",
        "Each finding has a code. *safe* rewrites keep the meaning by the rule's preconditions, *review* ones need "
        "`--unsafe`, *manual* ones are only reported. `nki-migrate explain CODE` prints the page of a code.",
    ]
    for prefix, (heading, whose) in FAMILIES.items():
        rows = [
            f"| [{code}]({code}.md) | {known.name} | {applicability.get(code, '')} | {_cell(known.summary)} |"
            for code in known_codes()
            if code.startswith(prefix) and (known := described(code)) is not None
        ]
        parts += [f"## {heading}", whose, "\n".join(["| Code | Name | | |", "|---|---|---|---|", *rows])]
    return "\n\n".join(parts) + "\n"


def _rule(code: str) -> str:
    """The page of a code: what ``explain`` prints, and how the golden that it shows is run."""
    heading, _, text = (explanation(code) or code).partition("\n")
    shown = re.search(r"^Before \(golden/(\w+)/before\.py\):$", text, re.M)
    parts = [f"# {heading}", _CODE_BLOCK.sub(_fenced, text.strip("\n") + "\n").strip("\n")]
    if shown and GOLDENS[shown[1]].cases_path.exists():
        golden = GOLDENS[shown[1]]
        parts += [
            f"The cases that `verify` runs (golden/{golden.name}/cases.toml):",
            f"```toml\n{golden.cases_path.read_text('utf-8').strip()}\n```",
        ]
    return "\n\n".join(parts) + "\n"


def _fenced(block: re.Match[str]) -> str:
    """An indented listing as one that says its language."""
    listing = re.sub(r"^ {4}", "", block[0], flags=re.M).strip("\n")
    return f"```{'python' if _is_python(listing) else 'text'}\n{listing}\n```\n"


def _is_python(listing: str) -> bool:
    try:
        ast.parse(listing)
    except SyntaxError:
        return False
    return True


# Commands


def commands() -> Iterator[click.Context]:
    """Every command, those of groups among them."""
    yield from _below(click.Context(cli, info_name="nki-migrate"))


def _below(context: click.Context) -> Iterator[click.Context]:
    assert isinstance(context.command, click.Group)
    for name in context.command.list_commands(context):
        command = context.command.get_command(context, name)
        assert command is not None
        below = click.Context(command, info_name=name, parent=context)
        if isinstance(command, click.Group):
            yield from _below(below)
        else:
            yield below


def _words(context: click.Context) -> str:
    return context.command_path.removeprefix("nki-migrate ")


def _file(context: click.Context) -> str:
    return f"{_words(context).replace(' ', '-')}.md"


def _commands() -> str:
    rows = [
        f"| [{_words(context)}]({_file(context)}) | {_cell(context.command.get_short_help_str(200))} |"
        for context in commands()
    ]
    return "\n".join(["# Commands", "", "| `nki-migrate` | |", "|---|---|", *rows]) + "\n"


def _command(context: click.Context) -> str:
    """The page of a command: how it is called, what it does, its options, its exit codes."""
    command = context.command
    usage = f"{context.command_path} {' '.join(command.collect_usage_pieces(context))}"
    options = [each for each in command.get_params(context) if isinstance(each, click.Option)]
    records = [record for option in options if (record := option.get_help_record(context))]
    rows = [f"| `{names.replace('|', chr(92) + '|')}` | {_cell(text)} |" for names, text in records]
    parts = [f"# {_words(context)}", f"```text\n{usage}\n```", _help(inspect.cleandoc(command.help or ""))]
    parts += ["\n".join(["| Option | |", "|---|---|", *rows])]
    return "\n\n".join([*parts, *filter(None, [command.epilog])]) + "\n"


def _help(text: str) -> str:
    """The help of a command; ``\\b`` marks paragraphs whose lines stay as they are."""
    paragraphs = re.split(r"\n\s*\n", text)
    return "\n\n".join(
        f"```text\n{part.lstrip()[1:].strip(chr(10))}\n```" if part.lstrip().startswith("\b") else part
        for part in paragraphs
    )


# Versions


def versions() -> str:
    """The versions of NKI, newest first, with what each changed and which rule writes it."""
    parts = []
    for row in reversed(versions_rows()):
        parts += [f"## NKI {row['version']}", f"Neuron SDK {', '.join(row['sdk'])}; {row['date']}."]
        rows = [
            f"| {_cell(change['what'])} | {_rule_link(change)} | {_example(change['before'], change['after'])} |"
            for change in row["changes"]
        ]
        if rows:
            parts.append("\n".join(["| What changed | Rule | Before and after |", "|---|---|---|", *rows]))
    return "\n\n".join(parts)


def _rule_link(change: dict[str, str]) -> str:
    rule = change["rule"]
    return f"[{rule}](rules/{rule}.md), {change['applicability']}" if rule else f"none: {_cell(change['reason'])}"


def _example(before: str, after: str) -> str:
    """The lines of both, one below the other."""
    sides = [
        "<br>".join(f"`` {_cell(line)} ``" for line in text.splitlines() if line) for text in (before, after) if text
    ]
    return "<br>becomes<br>".join(sides)


def _cell(text: str) -> str:
    """Text as the cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


# Hazards


def hazards() -> str:
    """The kinds of hazards."""
    return "\n".join(["| Hazard | |", "|---|---|", *(f"| `{kind}` | {_cell(text)} |" for kind, text in KINDS.items())])


PARTS = {"versions": versions, "hazards": hazards}
"""The parts of hand-written pages that are made, by their names."""
