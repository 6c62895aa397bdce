"""The entry point: ``nki-migrate`` and ``python -m nki_migrate``.

It imports next to nothing before it can take an interrupt: Ctrl-C while the tool loads ends it as it does later, in one
line.
"""

import gc
import sys

from .runtime.hash_seed import start_with_that_of_workers

_ALLOCATIONS = 20_000
"""Objects made between two looks for garbage, of which modules that load have none; Python's default is 700."""
_RUNS_KERNELS = "verify"
"""The command that runs kernels, and has loaded half of what they need before it does."""


def main() -> None:
    """Run one command and exit."""
    gc.set_threshold(_ALLOCATIONS)
    try:
        if sys.argv[1:2] == [_RUNS_KERNELS]:
            start_with_that_of_workers()
        from .cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("nki-migrate: error: interrupted\n")
        sys.exit(130)
    finally:
        gc.freeze()  # else the last collections read all trees once more: 0.6 s of a run over 100 files


if __name__ == "__main__":
    main()
