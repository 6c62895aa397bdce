"""``nki-migrate test-rules``: whether the rules of plugins do what their examples say."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from nki_migrate.codemods import Options, rewrite
from nki_migrate.codemods.driver.plugins import PluginRule, prepared
from nki_migrate.codemods.model import PluginError

from .guard import complete, objection
from .patch import unified_diff


def problems(rule: PluginRule) -> Iterator[str]:
    """What is wrong with a rule, a paragraph each."""
    try:
        examples = rule.examples
    except PluginError as error:
        yield f"  {error}"
        return
    if not any(before != after for before, after in examples):
        yield "  it has no example that changes: EXAMPLES = [(before, after)]"
    for number, (before, after) in enumerate(examples, 1):
        for problem in _of_example(rule, before, after, f"example{number}.py"):
            yield f"  example {number}: {problem}"


def _of_example(rule: PluginRule, before: str, after: str, name: str) -> Iterator[str]:
    """What is wrong with one example; ``name`` is that of its file."""
    try:
        made = prepared(before, Options(), name, [rule]).text
    except (PluginError, SyntaxError) as error:
        yield str(error)
        return
    if made != after:
        diff = unified_diff(name, after.encode(), made.encode()).decode()
        yield f"the rule writes something else (-: the example, +: the rule)\n{textwrap.indent(diff, '    ')}".rstrip()
    try:
        outcome = complete(before, rewrite(before, Options(), name), Options())
        against = objection(before, outcome, Options(), name, rewrite)
    except PluginError as error:
        against = str(error)
    if against:
        yield f"it could not be written: {against}"
