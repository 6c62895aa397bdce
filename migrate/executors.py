"""What does the work of a run: processes of this machine, or a cluster (:mod:`.cluster`), which few runs load."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .cluster import Cluster

LOCAL = "local"


@contextmanager
def connected(executor: str) -> Iterator[Cluster | None]:
    """The cluster, for a run, or ``None`` for ``local``. Raises :class:`InputError` for one that cannot do the work."""
    if executor == LOCAL:
        yield None
        return
    from .cluster import connected as cluster_at

    with cluster_at(executor) as cluster:
        yield cluster
