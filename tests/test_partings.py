"""Each change of the table, in a range of the two versions around it: one text that both run to the same numbers, or a
finding that says where they part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from examples import sampled
from nki_migrate.codemods import Options
from nki_migrate.rewriting import rewrite_report
from nki_migrate.runtime.cases import Case, TensorSpec
from nki_migrate.runtime.compare import LEVELS, Verdict
from nki_migrate.runtime.messages import Request
from nki_migrate.runtime.spec.change import Change
from nki_migrate.runtime.spec.changes import CHANGES
from nki_migrate.runtime.spec.hardware import DEFAULT_TARGET
from nki_migrate.runtime.spec.versions import VERSIONS
from nki_migrate.verify import judged
from one_process import OneProcess
from parted_kernels import EXAMPLES, Form

NOT_RUN = {
    "channels": "collectives need several cores",
    "random-engines 3": "the state of the hardware's generators is not modelled",
}
"""Examples that the emulator does not run, and why."""


@dataclass(frozen=True)
class Asked:
    """A form of a change, and the version that it is said to be of; empty: by evidence."""

    change: Change
    number: int
    form: Form
    source: str

    @property
    def before(self) -> str:
        return VERSIONS[self.change.since.position - 1].name

    def __str__(self) -> str:
        return f"{self.change.name} {self.number} of {self.source or 'whatever shows'}"


def asked() -> Iterator[Asked]:
    for change in CHANGES:
        for number, form in enumerate(EXAMPLES.get(change.name, ())):
            own = change.since if number else VERSIONS[change.since.position - 1]
            yield from (Asked(change, number, form, source) for source in (own.name, ""))


def test_each_change_that_matters_has_its_forms() -> None:
    parting = {change.name for change in CHANGES if change.kind in ("breaks", "differs")}
    assert set(EXAMPLES) == parting
    assert all(len(forms) > 1 for forms in EXAMPLES.values())


@pytest.mark.parametrize("unsafe", [True, False])
@pytest.mark.parametrize("example", sampled("partings", list(asked())), ids=str)
def test_versions_run_one_text_alike_or_it_is_said_where_they_part(
    one_process: OneProcess, tmp_path: Path, example: Asked, unsafe: bool
) -> None:
    at = example.change.since.name
    options = Options(unsafe=unsafe, oldest=example.before, target=at, source=example.source)
    report = rewrite_report("k.py", example.form.source.encode(), options)
    assert report.status in ("changed", "unchanged"), report.reason
    if report.findings:
        said = {finding.code for finding in report.findings if finding.message.startswith("NKI ")}
        assert said or {finding.code for finding in report.findings} & {example.change.rule, "NKI001", "NKV006"}
        return
    file = tmp_path / "k.py"
    file.write_bytes(report.after)
    case = Case("kernel", "a tile", "", args={"x": TensorSpec((128, 64), "float32", "normal")})
    runs = [
        one_process.submit(Request("run", str(file), replace(case, target=each), DEFAULT_TARGET))
        for each in (example.before, at)
    ]
    result = judged(case, LEVELS, *(run.result() for run in runs), None)
    found = [problem.message for problem in result.problems]
    found += [level.summary for level in result.levels if level.verdict is not Verdict.EQUAL]
    reason = NOT_RUN.get(example.change.name) or NOT_RUN.get(f"{example.change.name} {example.number}")
    assert (found != []) == (reason is not None), found
