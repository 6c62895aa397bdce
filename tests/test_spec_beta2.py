"""The Beta 2 table against the stubs of the 2.28 documentation: names, parameters, defaults, enumerations, tokens.

Set NKI_MIGRATE_BETA2_STUBS to the folder ``nki/api/nki`` of the SDK documentation at v2.28.0. That the emulator has
what the table has is tested in ``test_beta2_table.py``.
"""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest
from nki_migrate.runtime.spec import beta2

STUBS = os.environ.get("NKI_MIGRATE_BETA2_STUBS", "")
FILES = {"nki": "", "nki.isa": "isa", "nki.language": "language", "nki.collectives": "collectives"}
FRONT_END_NAMES = {"nki.isa.register_alloc": ["t"], "nki.language.shared_constant": ["t"]}
"""Functions whose parameters the front end calls otherwise than the documentation."""

pytestmark = pytest.mark.skipif(not STUBS, reason="NKI_MIGRATE_BETA2_STUBS does not name the stubs of 2.28")


def definitions(kind):
    for module, folder in FILES.items():
        for node in ast.parse((Path(STUBS) / folder / "__init__.py").read_text()).body:
            if isinstance(node, kind):
                yield module, node


def documented(function):
    """(name, default) of each parameter of a stub."""
    names = [argument.arg for argument in function.args.args]
    defaults = [ast.unparse(default) for default in function.args.defaults]
    return list(zip(names, [None] * (len(names) - len(defaults)) + defaults, strict=True))


def test_functions_have_the_documented_parameters_and_defaults():
    differing = {}
    for module, node in definitions(ast.FunctionDef):
        entry = beta2.SYMBOLS[f"{module}.{node.name}"]
        ours = [(p.name, p.default) for p in entry.parameters or () if p.documented and not p.refused]
        if entry.is_callable and ours != documented(node):
            differing[f"{module}.{node.name}"] = [name for name, _ in ours]
    assert differing == FRONT_END_NAMES


def test_what_is_no_function_in_beta_2_is_a_token():
    tokens = {
        f"{module}.{node.name}"
        for module, node in definitions(ast.FunctionDef)
        if not beta2.SYMBOLS[f"{module}.{node.name}"].is_callable
    }
    assert {beta2.SYMBOLS[name].kind for name in tokens} == {"token"}
    assert all(name.startswith("nki.language.") for name in tokens)


def test_enumerations_have_the_documented_members():
    for module, node in definitions(ast.ClassDef):
        for statement in node.body:
            if isinstance(statement, ast.Assign):
                name = f"{module}.{node.name}.{ast.unparse(statement.targets[0])}"
                assert beta2.SYMBOLS[name].value == ast.literal_eval(statement.value), name
            elif isinstance(statement, ast.AnnAssign):
                assert f"{module}.{node.name}.{ast.unparse(statement.target)}" in beta2.SYMBOLS


def test_every_value_of_the_documentation_is_known():
    values = {f"{module}.{ast.unparse(node.targets[0])}" for module, node in definitions(ast.Assign)}
    assert values <= beta2.SYMBOLS.keys()
