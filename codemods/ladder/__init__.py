"""NKI 0.2 and later, written for a later version: one rung after another.

:mod:`.driver` takes files that import from each other up, :mod:`.evidence` tells which versions they are of,
:mod:`.registry` has the rules with their documents, by the table of changes (:mod:`nki_migrate.runtime.spec.changes`).
"""
