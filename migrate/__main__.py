"""``python -m nki_migrate``."""

from .cli import main

if __name__ == "__main__":
    main()
