"""The Beta 1 table is complete, consistent, and closed: every entry has a fate, every target exists in Beta 2.

Set NKI_MIGRATE_BETA1_STUBS to the folder ``nki/api/nki`` of the SDK documentation at v2.26.1 to compare the table
with the stubs that it was made from.
"""

import ast
import os
from pathlib import Path

import pytest
from nki_migrate.runtime.spec import beta1, beta2
from nki_migrate.runtime.spec.beta1_symbols import mapped, parameters

STUBS = os.environ.get("NKI_MIGRATE_BETA1_STUBS", "")
STUB_FILES = {
    "nki": "__init__.py",
    "nl": "language/__init__.py",
    "nisa": "isa/__init__.py",
    "ncc": "compiler/__init__.py",
    "ncc.sbuf": "compiler/sbuf.py",
    "ncc.psum": "compiler/psum.py",
}


def stub_parameters(function: ast.FunctionDef) -> list[tuple[str, str, str | None]]:
    """(name, kind, default) of each parameter, ``self`` left out."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + [ast.unparse(d) for d in arguments.defaults]
    found = [(a.arg, "positional", d) for a, d in zip(positional, defaults, strict=True) if a.arg != "self"]
    if arguments.vararg:
        found.append((arguments.vararg.arg, "varargs", None))
    keyword_defaults = (d and ast.unparse(d) for d in arguments.kw_defaults)
    found += [(a.arg, "keyword", d) for a, d in zip(arguments.kwonlyargs, keyword_defaults, strict=True)]
    if arguments.kwarg:
        found.append((arguments.kwarg.arg, "varkeywords", None))
    return found


def normal(default: str) -> str:
    return ast.unparse(ast.parse(default, mode="eval"))


def stub_symbols(root: str, body: list[ast.stmt]) -> dict[str, list[tuple[str, str, str | None]]]:
    """Every public name of a stub, classes with their members, with its parameters."""
    found: dict[str, list[tuple[str, str, str | None]]] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef):
            found[f"{root}.{node.name}"] = stub_parameters(node)
        elif isinstance(node, ast.ClassDef):
            found[f"{root}.{node.name}"] = []
            found.update(stub_symbols(f"{root}.{node.name}", node.body))
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[f"{root}.{node.targets[0].id}"] = []
    return found


@pytest.mark.skipif(not STUBS, reason="NKI_MIGRATE_BETA1_STUBS does not name the stubs of 2.26.1")
def test_table_equals_the_stubs():
    expected: dict[str, list[tuple[str, str, str | None]]] = {}
    for root, path in STUB_FILES.items():
        expected.update(stub_symbols(root, ast.parse((Path(STUBS) / path).read_text()).body))
    table = {
        name: [(p.name, p.kind, p.default and normal(p.default)) for p in symbol.parameters]
        for name, symbol in beta1.DOCUMENTED.items()
    }
    assert table == expected


@pytest.mark.parametrize("name", sorted(beta1.SYMBOLS))
def test_every_symbol_has_a_fate_that_says_something(name):
    symbol = beta1.SYMBOLS[name]
    assert symbol.fate in beta1.FATES
    if symbol.fate == "unchanged":
        assert len(symbol.target) == 1
    elif symbol.fate == "mapped":
        assert symbol.target or symbol.note
    else:
        assert symbol.note and not symbol.target
    if symbol.note:
        assert symbol.note.endswith(".")


@pytest.mark.parametrize("name", sorted(beta1.SYMBOLS))
def test_every_keyword_has_a_fate_that_says_something(name):
    for parameter in beta1.SYMBOLS[name].parameters:
        assert parameter.fate in beta1.FATES
        if parameter.kind in ("positional", "keyword"):
            assert parameter.target or parameter.note, parameter
        if parameter.fate == "unchanged" and parameter.target:
            assert parameter.target == parameter.name


@pytest.mark.parametrize("name", sorted(beta1.SYMBOLS))
def test_every_target_exists_in_beta2(name):
    assert [target for target in beta1.SYMBOLS[name].target if target not in beta2.SYMBOLS] == []


@pytest.mark.parametrize("name", sorted(n for n, s in beta1.SYMBOLS.items() if s.kind == "function" and s.target))
def test_every_keyword_of_a_function_exists_in_a_target(name):
    symbol = beta1.SYMBOLS[name]
    accepted = {p.name for target in symbol.target for p in beta2.SYMBOLS[target].parameters or ()}
    assert [p.target for p in symbol.parameters if p.target and p.target not in accepted] == []


def test_one_name_is_not_documented_and_undocumented():
    assert not beta1.DOCUMENTED.keys() & beta1.UNDOCUMENTED.keys()


def test_undocumented_keywords_belong_to_known_functions_and_are_not_in_their_signature():
    for (name, keyword), parameter in beta1.UNDOCUMENTED_KEYWORDS.items():
        assert beta1.SYMBOLS[name].parameter(keyword) is None
        assert beta1.parameter(name, keyword) is parameter
        assert parameter.target or parameter.note


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("neuronxcc.nki.language.load", "nl.load"),
        ("neuronxcc.nki.language.constants.sizeinbytes", "nl.sizeinbytes"),
        ("neuronxcc.nki.isa.neuron_isa.dma_copy", "nisa.dma_copy"),
        ("neuronxcc.nki.isa.constants.oob_mode.skip", "nisa.oob_mode.skip"),
        ("neuronxcc.nki.compiler.sbuf.mod_alloc", "ncc.sbuf.mod_alloc"),
        ("neuronxcc.nki.typing.tensor", "nt.tensor"),
        ("neuronxcc.nki", "nki"),
        ("neuronxcc.nki.jit", "nki.jit"),
        ("neuronxcc", "neuronxcc"),
        ("neuronxcc.nkilike.load", "neuronxcc.nkilike.load"),
        ("numpy.add", "numpy.add"),
    ],
)
def test_canonical(path, key):
    assert beta1.canonical(path) == key


def test_every_module_leads_to_a_known_root():
    for module in beta1.MODULES:
        assert beta1.canonical(module + ".x") == f"{beta1.MODULES[module]}.x"


@pytest.mark.parametrize("name", ["nki._private_kernels.mlp", "nccl.all_gather", "ncc.backends.neuron", "nki.kernels"])
def test_private_names_are_refused(name):
    assert beta1.symbol(name).fate == "refused"


@pytest.mark.parametrize("name", ["nl.no_such_thing", "nki.kernelsx", "", "nki._privatex"])
def test_unknown_names_are_unknown(name):
    assert beta1.symbol(name) is None


def test_unknown_keywords_are_unknown():
    assert beta1.parameter("nl.load", "no_such_keyword") is None
    assert beta1.parameter("nl.no_such_thing", "mask") is None
    assert beta1.parameter("nl.load", "kwargs") is None, "**kwargs is not a keyword that one can pass"


def test_signature_notation():
    a, b, rest, c, extra = parameters("a, b=f(1, 2), *args, c=(), **kwargs")
    assert (a.name, a.kind, a.default) == ("a", "positional", None)
    assert (b.name, b.kind, b.default) == ("b", "positional", "f(1, 2)")
    assert (rest.kind, extra.kind) == ("varargs", "varkeywords")
    assert (c.default, extra.name) == ("()", "kwargs")
    assert [p.kind for p in parameters("a, *, b")] == ["positional", "keyword"]
    assert parameters("") == ()


def test_mapped_keywords():
    symbol = mapped("x, y, mask=None", "nki.isa.f", keywords={"x": "data", "y": "It is gone."})
    x, y, mask = symbol.parameters
    assert (x.fate, x.target, x.note) == ("mapped", "data", "")
    assert (y.fate, y.target, y.note) == ("mapped", "", "It is gone.")
    assert mask.note and not mask.target
