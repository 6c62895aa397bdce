"""The entry point: ``nki-migrate`` and ``python -m nki_migrate``.

It imports nothing before it can take an interrupt: Ctrl-C while the tool loads ends it as it does later, in one line.
"""

import sys


def main() -> None:
    """Run one command and exit."""
    try:
        from .cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("nki-migrate: error: interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
