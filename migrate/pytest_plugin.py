"""The pytest plugin: ``pytest --nki-emulate`` and the marker ``nki_equivalent("old.py", "new.py")``.

pytest imports this module at every start, whatever the project: it imports nothing but pytest until it is asked for
something, and changes nothing.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .verdicts import Proof

MARKER = "nki_equivalent"
_MARKER_LINE = (
    f"{MARKER}(old, new, cases=None, kernels=(), level=None, hardware=None, ulps=0): before the test runs, nki-migrate "
    "verifies that the kernels of the file NEW equal those of OLD (paths are relative to the test's file); all "
    "verdicts but `equal` fail the test"
)


@dataclass(frozen=True)
class _Equivalence:
    """The arguments of the marker; they mean what those of ``nki-migrate verify`` do."""

    old: str
    new: str
    cases: str | None = None
    kernels: str | Sequence[str] = ()
    level: str | None = None
    hardware: str | None = None
    ulps: int = 0

    def proof(self, directory: str) -> Proof:
        from nki_migrate.runtime.compare import LEVELS
        from nki_migrate.runtime.spec.hardware import TARGETS

        from .errors import InputError
        from .verify import proved

        for name, value, known in (("level", self.level, LEVELS), ("hardware", self.hardware, TARGETS)):
            if value is not None and value not in known:
                raise InputError(f"{name} is {value!r}: it is one of {', '.join(known)}")
        kernels = (self.kernels,) if isinstance(self.kernels, str) else tuple(self.kernels)
        old, new = _beside(directory, self.old), _beside(directory, self.new)
        cases = None if self.cases is None else _beside(directory, self.cases)
        return proved(old, new, cases, kernels, self.level, self.hardware, ulps=self.ulps)


def _beside(directory: str, path: str) -> str:
    """``path``, relative to ``directory``, as the working directory knows it."""
    relative = os.path.relpath(os.path.join(directory, path))
    return os.path.abspath(relative) if relative.startswith(os.pardir) else relative


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--nki-emulate``."""
    parser.getgroup("nki-migrate").addoption(
        "--nki-emulate",
        action="store_true",
        help="neuronxcc, nki and nkilib are provided by nki-migrate's emulator, as with `nki-migrate emulate`.",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Provide the packages before the first conftest, which may import them."""
    if getattr(early_config.known_args_namespace, "nki_emulate", False):
        _emulate(early_config)


def _emulate(config: pytest.Config) -> None:
    """In this process by the shims, in those that the tests start by ``PYTHONPATH``; undone when the session ends."""
    from nki_migrate.runtime import shims

    from .emulate import environment

    if not shims.is_installed():
        shims.install()
        config.add_cleanup(shims.uninstall)
    patch = pytest.MonkeyPatch()
    patch.setenv("PYTHONPATH", environment(os.environ)["PYTHONPATH"])
    config.add_cleanup(patch.undo)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, for ``--strict-markers`` and ``pytest --markers``."""
    config.addinivalue_line("markers", _MARKER_LINE)


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say that kernels are emulated: results are not those of a device."""
    return "nki-migrate: NKI is emulated" if config.getoption("--nki-emulate") else None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Verify what the marks of ``item`` claim; its body runs if all is equal."""
    for mark in item.iter_markers(MARKER):
        text = _refutation(mark, str(item.path.parent))
        if text:
            pytest.fail(text, pytrace=False)


def _refutation(mark: pytest.Mark, directory: str) -> str:
    """What speaks against the claim of ``mark``, empty if nothing does."""
    from .errors import InputError
    from .verdicts import as_text

    try:
        claim = _Equivalence(*mark.args, **mark.kwargs)
    except TypeError as error:
        return f"{str(error).replace('_Equivalence.__init__', MARKER)}: write {_MARKER_LINE.split(':')[0]}"
    try:
        proof = claim.proof(directory)
    except InputError as error:
        return f"{MARKER}: {error}"
    return as_text(proof) if proof.exit_code else ""
