"""``nki-migrate verify``, as the command line asks for it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from nki_migrate.codemods.model import Options
from nki_migrate.runtime.compare import LEVELS, Inexact
from nki_migrate.runtime.spec.versions import DEFAULT

from .cache import cache_directory
from .configuration import Configuration
from .discover import found_files
from .errors import InputError
from .executors import LOCAL, connected
from .ignores import without_codes
from .judging import DEFAULT_LIMITS, Limits, Pair
from .planning import Choice, file_pairs
from .proof_cache import Cache
from .revisions import base_pairs, revision_of
from .rule_codes import chosen_codes
from .surfaces import print_proof, write_report
from .verify import Evidence, Settings, evidence, levels_to, say_unseen

if TYPE_CHECKING:
    from .cluster import Cluster


@dataclass(frozen=True)
class Asked:
    """The arguments and options of ``verify``.

    ``timeout`` is in seconds, ``memory`` in MiB; ``report`` is the file for the HTML report, ``search`` the seconds
    to look for more cases, ``executor`` what does the work: ``cluster``, once it is connected.
    """

    paths: tuple[str, ...]
    migrate: bool = False
    base: str | None = None
    cases: str | None = None
    kernels: tuple[str, ...] = ()
    level: str = LEVELS[-1]
    hardware: str | None = None
    jobs: int | None = None
    timeout: float = DEFAULT_LIMITS.seconds
    memory: int = DEFAULT_LIMITS.memory >> 20
    no_cache: bool = False
    cache_dir: str | None = None
    no_execute: bool = False
    unsafe: bool = False
    allocation: str | None = None
    blocks: str | None = None
    modules: tuple[tuple[str, str], ...] = ()
    configuration: Configuration = field(default_factory=Configuration)
    report: str | None = None
    search: float | None = None
    ulps: int | None = None
    strict: bool = False
    fail_fast: bool = False
    source: str | None = None
    target: str | None = None
    executor: str = LOCAL
    cluster: Cluster | None = None

    @property
    def settings(self) -> Settings:
        return Settings(
            levels_to(self.level),
            self.hardware,
            Choice(
                self.cases,
                frozenset(self.kernels),
                target="beta2" if self.migrate else "",
                may_go=self.base is not None,
            ),
            Limits(self.timeout, self.memory << 20),
            self.jobs,
            self._cache,
            execute=not self.no_execute,
            inexact=Inexact(self.ulps, "--ulps") if self.ulps else None,
            strict=self.strict,
            fail_fast=self.fail_fast,
            searches=self.search is not None and not self.no_execute,
            cluster=self.cluster,
        )

    @property
    def _cache(self) -> Cache | None:
        """Where verdicts are kept: none of a cluster's, whose environment variables nobody compares."""
        if self.no_cache or self.cluster is not None:
            return None
        return Cache(Path(self.cache_dir) if self.cache_dir else cache_directory(os.environ))


def run(asked: Asked, output_format: str, *, tiles: bool = False) -> int:
    """Verify, print the proof, return the exit code. Raises :class:`InputError` for arguments that cannot be used."""
    with connected(asked.executor) as cluster:
        found = verified(replace(asked, cluster=cluster))
    if asked.settings.cache:
        asked.settings.cache.prune()
    proof = found.proof
    print_proof(proof, output_format, tiles=tiles)
    if asked.report is not None:
        write_report(asked.report, "verify", found.reports, proof, contents=found.contents, base=asked.base)
    return proof.exit_code


def verified(asked: Asked) -> Evidence:
    """The evidence for what was asked. Raises :class:`InputError` for arguments that cannot be used."""
    if asked.migrate and asked.base is not None:
        raise InputError("--migrate and --base exclude each other")
    if not asked.migrate and (asked.unsafe or asked.allocation or asked.blocks or asked.modules):
        raise InputError("--unsafe, --allocation, --blocks and --module say how --migrate rewrites: add --migrate")
    if asked.migrate:
        return _migrated(asked)
    if asked.base is not None:
        return _since(asked, asked.base)
    if len(asked.paths) != 2:
        raise InputError("verify takes BEFORE and AFTER, or PATH... with --migrate or --base REV")
    before, after = asked.paths
    excludes = asked.configuration.excludes
    pairs = [pair.at(asked.source or "", asked.target or "") for pair in file_pairs(before, after, excludes)]
    return _searched(evidence(pairs, asked.settings, before), asked)


def _searched(found: Evidence, asked: Asked) -> Evidence:
    """``found``, with what a search adds to it if one was asked for."""
    settings = asked.settings
    if asked.search is not None and settings.searches:
        from .verify_search import searched

        searched(found, settings, asked.search)
        say_unseen(found, settings)
    return found


def _migrated(asked: Asked) -> Evidence:
    from .observing import with_observed
    from .verify_migrated import migrated_reports, verified_migration, with_project

    default = Options()
    options = replace(
        default,
        select=chosen_codes("select", asked.configuration.codes("select")),
        ignore=chosen_codes("ignore", asked.configuration.codes("ignore")),
        unsafe=asked.unsafe,
        allocation=asked.allocation or default.allocation,
        blocks=asked.blocks or default.blocks,
        modules=asked.modules,
        renames=asked.configuration.renames,
        source=asked.source or default.source,
        target=asked.target or DEFAULT.name,
    )
    settings, files = asked.settings, found_files(asked.paths, asked.configuration.excludes)
    if asked.unsafe and asked.cases is not None and not asked.no_execute:
        options = with_observed(options, files, asked.cases, asked.jobs, must_run=False)
    options = with_project(options, files, asked.configuration)
    reports = migrated_reports(files, options, asked.jobs or os.cpu_count() or 1, settings.cache, asked.cluster)
    reports = [without_codes(report, asked.configuration.ignored_codes(report.path)) for report in reports]
    found = verified_migration(reports, settings, options.target, options.source)
    if not found.results:
        raise InputError(f"{' '.join(asked.paths)}: the rewrite changes no kernel: there is nothing to verify")
    return _searched(found, asked)


def _since(asked: Asked, base: str) -> Evidence:
    with revision_of(base, asked.paths) as revision:
        pairs, notes = base_pairs(revision, asked.paths, asked.configuration.excludes)
        pairs = [pair.at(asked.source or "", asked.target or "") for pair in pairs]
        found = evidence(pairs, asked.settings, " ".join(asked.paths), may_be_empty=bool(notes))
        if asked.report is not None:
            found.contents = {(pair.before, pair.old.label): _content(pair) for pair in pairs}
        found.notes += notes
        return _searched(found, asked)


def _content(pair: Pair) -> bytes:
    """The old version of a file."""
    pair.old.prepare()
    with open(pair.old.located(pair.before), "rb") as file:
        return file.read()
