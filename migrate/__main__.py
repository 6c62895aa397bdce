"""The entry point: ``nki-migrate`` and ``python -m nki_migrate``.

It imports next to nothing before it can take an interrupt: Ctrl-C while the tool loads ends it as it does later, in one
line.
"""

import gc
import sys

from .runtime.hash_seed import start_with_that_of_workers

_RUN_KERNELS = ("verify", "layout")
"""The commands whose work is to run kernels."""


def main() -> None:
    """Run one command and exit."""
    try:
        if sys.argv[1:2] and sys.argv[1] in _RUN_KERNELS:
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
