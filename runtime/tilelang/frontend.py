"""TileLang behind the port of :mod:`nki_migrate.runtime.dialect`."""

from __future__ import annotations

from ..dialect import Frontend
from .launch import function_of, launch

FRONTEND = Frontend("tilelang", "tilelang", function_of, lambda kernel: False, launch, lambda run, name: ())
