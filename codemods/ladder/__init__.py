"""NKI 0.2 and later, written for a later version: one rung after another.

:mod:`.driver` takes files that import from each other up, :mod:`.evidence` tells which versions they are of,
:mod:`.registry` has the rules with their documents, by the table of changes (:mod:`nki_migrate.runtime.spec.changes`).
:mod:`.common_form` finds where the versions of a range read one text otherwise: it asks ``rewrite`` of the rules whose
change ``differs``, or ``parts`` of a rule that has it, because what it rewrites tells nothing of the later form.
"""
