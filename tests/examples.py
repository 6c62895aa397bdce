"""How many examples the slow random tests (``pytest.mark.random``) take.

Plain ``pytest`` leaves them out (``-m random`` runs them); ``python tests/bench/random_runs.py`` sets the variable, and
runs them, as ``.ci/run`` does.
"""

from __future__ import annotations

import os

VARIABLE = "NKI_MIGRATE_EXAMPLES"


def examples(few: int) -> int:
    """``few``, times what the environment says."""
    return few * int(os.environ.get(VARIABLE, "1"))
