"""``nki-migrate rules``, ``versions`` and ``explain``: what the tool knows."""

from __future__ import annotations

import click
from nki_migrate import codemods

from . import command_options
from .exit_codes import DONE, LEFT
from .output import is_terminal, plural
from .rule_codes import completed_subjects, suggestion


@click.command()
@command_options.output_format("text", "json")
def rules(output_format: str) -> None:
    """List the rules."""
    from .explain import rules_json, rules_rows, rules_table

    if output_format == "json":
        click.echo(rules_json())
    elif is_terminal():
        from . import terminal

        terminal.print_table(rules_rows())
    else:
        click.echo(rules_table())


@click.command(short_help="List the versions of NKI, and what each changed.")
@command_options.output_format("text", "json")
def versions(output_format: str) -> None:
    """List the versions of NKI: their SDK releases, what each changed, and the rule of rewrite that does it."""
    from .version_table import versions_json, versions_text

    click.echo(versions_json() if output_format == "json" else versions_text())


@click.command(
    short_help="Test the rules of plugins by their own examples.",
    name="test-rules",
    epilog="Exit codes: 0 all examples hold, 1 one does not, 2 there is no such rule, or it cannot be loaded.",
)
@click.argument("codes", nargs=-1, metavar="[CODE]...")
def test_rules(codes: tuple[str, ...]) -> int:
    """Test the rules of plugins (by default all of them) by their own examples.

    An example becomes what it says, once and for all: a second run changes nothing. With the rules of nki-migrate
    behind it, it passes the guards that a file must pass to be written.
    """
    from .rule_tests import problems

    known = codemods.plugin_rules()
    wanted = [code.upper() for code in codes] or list(known)
    unknown = [code for code in wanted if code not in known]
    if unknown or not wanted:
        what = f"no plugin has a rule {unknown[0]}" if unknown else "no plugin with rules is installed"
        raise click.UsageError(f"{what}{suggestion(unknown[0], known) if unknown and known else '.'}")
    failed = 0
    for rule in map(known.__getitem__, wanted):
        found = list(problems(rule))
        failed += bool(found)
        hold = f"{plural(len(rule.examples), 'example')} hold{'s' if len(rule.examples) == 1 else ''}"
        said = "does not hold" if found else hold
        click.echo("\n".join([f"{rule.code} {rule.rule.name} ({rule.plugin}): {said}", *found]))
    return LEFT if failed else DONE


@click.command(short_help="Explain a rule or a finding, by its code or name.")
@click.argument("code", shell_complete=completed_subjects)
def explain(code: str) -> None:
    """Explain CODE: what a rule rewrites and why, or what a finding of `check` means, with an example.

    The name of a rule does, too; where rules of several versions share a name, all of them are explained.

    `explain comparison` lists what verify does not compare, and why.
    """
    from .explain import codes_of, explanation, known_codes

    text = "\n\n".join(filter(None, map(explanation, codes_of(code))))
    if not text:
        raise click.UsageError(f"unknown code {code!r}{suggestion(code.upper(), known_codes())}")
    if is_terminal():
        from . import terminal

        terminal.print_explanation(text)
    else:
        click.echo(text)
