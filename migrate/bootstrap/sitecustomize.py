"""Python runs this at its start when ``nki-migrate emulate`` put this directory on ``PYTHONPATH``.

It makes ``neuronxcc``, ``nki`` and ``nkilib`` importable, and otherwise leaves the interpreter as it would have been:
its directory leaves ``sys.path``, and the ``sitecustomize`` that stands behind it runs. The emulator itself is only
imported when one of the three packages is.
"""

import importlib
import importlib.machinery
import importlib.util
import os
import sys

_ROOTS = ("neuronxcc", "nki", "nkilib")
_HERE = os.path.dirname(os.path.realpath(__file__))


class _Provider:
    """Finder that installs the emulator at the first import of one of its packages, then steps aside."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname.partition(".")[0] not in _ROOTS:
            return None
        sys.meta_path.remove(self)
        try:
            shims = importlib.import_module("nki_migrate.runtime.shims")
        except ImportError as error:
            raise ImportError(
                f"nki-migrate emulate: {sys.executable} cannot import nki-migrate ({error}): install it there"
            ) from error
        shims.install()
        return importlib.util.find_spec(fullname)


def _run_the_next_sitecustomize():
    """Run the ``sitecustomize`` that this one hides, if there is one, under its own name."""
    own = sys.modules.pop("sitecustomize", None)
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)
    elif own is not None:
        sys.modules["sitecustomize"] = own


sys.path[:] = [entry for entry in sys.path if os.path.realpath(entry) != _HERE]
sys.meta_path.insert(0, _Provider())
_run_the_next_sitecustomize()
