"""How many examples the slow random tests (``pytest.mark.random``) take: few beside all other tests, many in the bench.

``python tests/bench/random_runs.py`` sets the variable, and runs them.
"""

from __future__ import annotations

import os

VARIABLE = "NKI_MIGRATE_EXAMPLES"


def examples(few: int) -> int:
    """``few``, times what the environment says."""
    return few * int(os.environ.get(VARIABLE, "1"))
