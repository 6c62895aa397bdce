"""The hash seed of the tool's own process, which Python reads when it starts.

With that of a worker, workers can be forked from the tool's process (:mod:`.server_start`). It imports next to nothing:
what was loaded before the process starts again was loaded in vain.
"""

import os
import sys

SEED = "PYTHONHASHSEED"
OF_WORKERS = "0"
_TOOL = "nki_migrate.__main__"


def is_tool() -> bool:
    """Was this process started as the tool, by its name or by ``python -m``, and Python without options?

    A program of a user's that calls the tool has loaded modules of its own.
    """
    started = sys.modules["__main__"]
    if getattr(getattr(started, "__spec__", None), "name", None) == _TOOL:
        known = sys.orig_argv[1:2] == ["-m"]
    else:
        script = getattr(started, "__file__", None)
        known = getattr(getattr(started, "main", None), "__module__", None) == _TOOL and sys.orig_argv[1:2] == [script]
    return known and hasattr(os, "fork")


def start_with_that_of_workers() -> None:
    """Start the process again, where it is the tool and the user has set no seed. Python starts in 20 ms."""
    if is_tool() and SEED not in os.environ and sys.executable:
        os.environ[SEED] = OF_WORKERS
        os.execv(sys.executable, sys.orig_argv)
