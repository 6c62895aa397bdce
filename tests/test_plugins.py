"""Rules of other packages, in-house names of NKI's functions, and ``test-rules``."""

import itertools
import json
import os
import subprocess
import sys

import pytest
from nki_migrate.cli import main
from nki_migrate.codemods import Options, rewrite
from nki_migrate.codemods.driver.plugins import PluginSource, prepared

RULE = '''\
"""ACM001 scaled: `acme.scaled(t)` becomes `nl.multiply(t, 2)`.

Why: nobody knows.
"""
import ast

from nki_migrate.plugin import Left

CODE = "ACM001"
NODES = (ast.Call,)
EXAMPLES = [
    (
        """
        import acme
        import neuronxcc.nki.language as nl

        def kernel(t):
            return acme.scaled(t)
        """,
        """
        import acme
        import neuronxcc.nki.language as nl

        def kernel(t):
            return nl.multiply(t, 2)
        """,
    ),
]


def rewrite(source, node):
    if source.qualified(node.func) != "acme.scaled":
        return None
    if len(node.args) != 1:
        return Left("acme.scaled of several tiles is not known", "write it by hand")
    nl = source.spelled(node, "neuronxcc.nki.language.multiply")
    return [source.replace(node, f"{nl}({source.segment(node.args[0])}, 2)")]
'''
HEAD = "from neuronxcc import nki\nimport neuronxcc.nki.language as nl\n"
KERNEL = """

@nki.jit
def double(x):
    out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    y = nl.multiply(t, 2)
    nl.store(out, y)
    return out
"""
ACME = HEAD + "import acme\n" + KERNEL.replace("nl.multiply(t, 2)", "acme.scaled(t)")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.setenv("NKI_MIGRATE_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "user").mkdir()
    monkeypatch.chdir(tmp_path / "user")
    return tmp_path / "user"


@pytest.fixture
def installed(tmp_path, commands):
    """Install packages with one rule each; what a command says with them."""
    site = tmp_path / "site"
    seconds = itertools.count(1)

    def install(text=RULE, name="acme_rules"):
        (site / f"{name}-1.0.dist-info").mkdir(parents=True, exist_ok=True)
        (site / f"{name}.py").write_text(text)
        os.utime(site / f"{name}.py", times=(0, next(seconds)))  # no compiled module of an older text is of its time
        (site / f"{name}-1.0.dist-info" / "METADATA").write_text(f"Name: {name}\nVersion: 1.0\n")
        entry = f"[nki_migrate.rules]\n{name} = {name}\n"
        (site / f"{name}-1.0.dist-info" / "entry_points.txt").write_text(entry)

    environment = {**os.environ, "PYTHONPATH": str(site)}

    def run(*arguments):
        return commands.run(arguments, environment, (str(site),))

    def start(*arguments):
        command = [sys.executable, "-m", "nki_migrate", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120).stdout

    install()
    run.install, run.start = install, start
    return run


@pytest.fixture
def run(capfd):
    def call(*arguments):
        with pytest.raises(SystemExit) as exit_:
            main([*map(str, arguments)])
        out, err = capfd.readouterr()
        return exit_.value.code, out, err

    return call


# --- rules -----------------------------------------------------------------------------------------------------------


def test_a_rule_is_listed_explained_and_selected(installed, here):
    assert "ACM001  scaled " in installed("rules")[1]
    assert installed.start("rules") == installed("rules")[1]
    for word in ("ACM001", "scaled"):
        code, out, _ = installed("explain", word)
        assert code == 0 and out.startswith("ACM001 scaled [safe]\n\n`acme.scaled(t)` becomes")
        assert "A rule of the plugin acme_rules 1.0." in out and "After:\n\n    import acme" in out
        assert "assert False" not in out
    (here / "k.py").write_text(ACME)
    out = installed("rewrite", "--select", "scaled", "k.py")[1]
    changed = [line for line in out.split("\n") if line[:1] in "+-" and line[1:2] not in "+-"]
    assert changed == ["-    y = acme.scaled(t)", "+    y = nl.multiply(t, 2)"]
    out = installed("rewrite", "--ignore", "ACM001", "k.py")[1]
    assert "acme.scaled" not in "".join(line for line in out.split("\n") if line.startswith("-"))


def test_rules_of_ours_go_on_from_what_a_plugin_wrote(installed, here):
    (here / "k.py").write_text(ACME)
    (here / "plain.py").write_text(HEAD + "import acme\n" + KERNEL)
    code, _, err = installed("rewrite", "--write", "k.py", "plain.py")
    assert code == 0 and "2 changed" in err
    assert (here / "k.py").read_text() == (here / "plain.py").read_text()
    assert installed("rewrite", "--check", ".")[0] == 0


def test_what_a_rule_leaves_is_a_finding_in_lines_of_the_input(installed, here):
    text = ACME.replace("    y = acme.scaled(t)", "    y = acme.scaled(\n        t\n    )\n    z = acme.scaled(t, t)")
    (here / "k.py").write_text(text)
    _, _, err = installed("rewrite", "k.py")
    assert "k.py:13:9: ACM001 [manual] acme.scaled of several tiles is not known\n    help: write it by hand" in err
    (here / "k.py").write_text(text.replace("(t, t)", "(t, t)  # nki-migrate: ignore[ACM001] known"))
    assert "1 ignored" in installed("rewrite", "k.py")[2]


def test_a_rule_that_changes_is_asked_again(installed, here):
    (here / "k.py").write_text(ACME)
    first = installed("rewrite", "k.py")
    assert installed("rewrite", "k.py") == first and "+    nisa.tensor_scalar" in first[1]
    installed.install(RULE.replace(", 2)", ", 3)"))
    assert "operand0=3" in installed("rewrite", "k.py")[1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import no_such_module\n", "the plugin acme_rules 1.0: acme_rules: ModuleNotFoundError: No module"),
        ("def (:\n", "the plugin acme_rules 1.0: acme_rules: SyntaxError: "),
        (RULE.replace("ACM001 scaled:", "scaled"), "its docstring begins 'CODE name: summary'"),
        (RULE.replace("ACM001", "NKI001"), "NKI001 begins as codes of nki-migrate do"),
        (RULE.replace("NODES =", "nodes ="), "a rule has NODES, and a function rewrite(source, node)"),
        (
            RULE.replace("EXAMPLES = [", "EXAMPLES = [1,"),
            "rule ACM001 of the plugin acme_rules 1.0: EXAMPLES are pairs",
        ),
    ],
)
def test_a_plugin_that_cannot_be_loaded_is_one_error(installed, here, text, message):
    installed.install(text)
    (here / "k.py").write_text(ACME)
    for command in (("rewrite", "k.py"), ("rules",)):  # whoever reads rules
        code, out, err = installed(*command)
        assert (code, out, err.count("\n")) == (2, "", 1) and message in err


def test_two_rules_of_one_code_are_one_error(installed):
    installed.install(name="other_rules")
    code, _, err = installed("rules")
    assert code == 2 and "rule ACM001 of the plugin other_rules 1.0: acme_rules 1.0 has a rule of this code, too" in err


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("return None", "return {}['a']", "rule ACM001 of the plugin acme_rules 1.0, line 10: KeyError: 'a'"),
        ("return None", "return 'text'", "rewrite answers edits, Left or None, not str"),
        ("return None", "return []", "rewrite answers edits, Left or None, not list"),
        (", 2)", "", "what it writes does not parse"),
        ("source.replace(node, f\"{nl}(", "source.replace(node, f\"acme.scaled(0 + ", "there is no end to what is"),
    ],
)  # fmt: skip
def test_an_error_of_a_rule_costs_its_file_alone(installed, here, old, new, message):
    text = RULE.replace(old, new).replace(', 2)")', ')")') if "0 +" in new else RULE.replace(old, new)
    installed.install(text)
    (here / "k.py").write_text(ACME.replace("import acme\n", "import acme\n\n\n", 1))
    code, _, err = installed("rewrite", "--write", ".")
    assert code == 2 and message in err and "acme_rules 1.0" in err and "Traceback" not in err
    assert "acme.scaled" in (here / "k.py").read_text()


# --- test-rules ------------------------------------------------------------------------------------------------------


def test_examples_that_hold(installed):
    assert installed("test-rules") == (0, "ACM001 scaled (acme_rules 1.0): 1 example holds\n", "")
    assert installed("test-rules", "acm001")[0] == 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (", 2)\")", ", 3)\")", "+    return nl.multiply(t, 3)"),
        ("EXAMPLES", "OTHERS", "it has no example that changes"),
        ("return None", "return {}['a']", "KeyError: 'a'"),
        ("import acme\n        import", "import acme ?\n        import", "invalid syntax"),
    ],
)  # fmt: skip
def test_examples_that_do_not_hold(installed, old, new, message):
    installed.install(RULE.replace(old, new))
    code, out, err = installed("test-rules")
    assert (
        (code, err) == (1, "") and out.startswith("ACM001 scaled (acme_rules 1.0): does not hold\n") and message in out
    )


def test_rules_that_there_are_not(installed, run):
    code, _, err = installed("test-rules", "ACM002")
    assert code == 2 and "no plugin has a rule ACM002; did you mean ACM001?" in err
    code, _, err = run("test-rules")
    assert code == 2 and "no plugin with rules is installed" in err


# --- renames ---------------------------------------------------------------------------------------------------------

RENAMES = (("acme.nki.fetch", "neuronxcc.nki.language.load"), ("acme.nki.twice", "neuronxcc.nki.language.multiply"))


def renamed(text, path="src/acme/kernels/k.py"):
    return rewrite(text, Options(renames=RENAMES, target="0.2"), path).source


@pytest.mark.parametrize(
    ("imports", "fetch", "twice"),
    [
        ("from acme.nki import fetch, twice as t2", "fetch", "t2"),
        ("import acme.nki", "acme.nki.fetch", "acme.nki.twice"),
        ("import acme.nki as an", "an.fetch", "an.twice"),
        ("from acme import nki as an", "an.fetch", "an.twice"),
        ("from ..nki import fetch, twice", "fetch", "twice"),
        ("from .. import nki as an", "an.fetch", "an.twice"),
    ],
)
def test_an_in_house_name_is_treated_as_what_it_stands_for(imports, fetch, twice):
    ours = KERNEL.replace("nl.load", fetch).replace("nl.multiply", twice)
    assert renamed(f"{HEAD}{imports}\n{ours}") == renamed(f"{HEAD}{imports}\n{KERNEL}")


def test_what_the_file_has_no_name_for_is_imported():
    text = '"""Doc."""\nfrom acme.nki import fetch\nnl = 1\n\n\ndef helper(x):\n    return fetch(x)\n'
    made = prepared(text, Options(renames=RENAMES), "k.py")
    assert made.text == text.replace("fetch\n", "fetch\nimport neuronxcc.nki.language as nl_2\n", 1).replace(
        "return fetch", "return nl_2.load"
    )
    assert made.origins[2] == 2 and made.origins[7] == 7 and made.touched == {"helper"}


@pytest.mark.parametrize(
    "text",
    [
        "from acme.nki import fetch\n\ndef f(fetch):\n    return fetch(1)\n",
        "from other.nki import fetch\n\ndef f(x):\n    return fetch(x)\n",
        "from .nki import fetch\n\ndef f(x):\n    fetch = x\n    return fetch(x)\n",
        "import nki\nfrom acme.nki import fetch\n\ndef f(x):\n    return fetch(x)\n",
    ],
    ids=["a parameter", "another module", "bound again", "Beta 2 already"],
)
def test_other_names_stay(text):
    assert prepared(text, Options(renames=RENAMES), "acme/k.py").text == text


def test_a_name_may_stand_for_a_function_of_a_later_version():
    text = "import nki.language as nl\nfrom acme import f\n\n\ndef g(x):\n    return f(x)\n"
    options = Options(renames=(("acme.f", "nki.language.load"), ("acme.g", "neuronxcc.nki.language.load")))
    assert prepared(text, options, "k.py").text == text.replace("return f(", "return nl.load(")


def test_names_are_what_imports_make_them():
    source = PluginSource("import a.b as c\nfrom d import e\nc.f(e, g)\n", Options())
    found = {source.segment(node): source.qualified(node) for node in source.nodes if hasattr(node, "ctx")}
    assert found == {"c": "a.b", "c.f": "a.b.f", "e": "d.e", "g": ""}


def test_renames_come_from_the_configuration(run, here):
    (here / "nki-migrate.toml").write_text('[renames]\n"acme.nki.fetch" = "neuronxcc.nki.language.load"\n')
    (here / "helper.py").write_text("from acme.nki import fetch\n\n\ndef get(x):\n    return fetch(x)\n")
    text = f"{HEAD}from acme.nki import fetch\n{KERNEL.replace('nl.load', 'fetch')}"
    (here / "k.py").write_text(text)
    for command in ("rewrite", "assess"):
        code, out, _ = run(command, "k.py")
        assert ("+    t = nl.load(x)" in out) or "double: safe" in out
    code, out, _ = run("config")
    assert code == 0 and 'renames = {"acme.nki.fetch": "neuronxcc.nki.language.load"}' in out
    files = json.loads(run("rewrite", "--output-format", "json", ".")[1])["files"]
    assert {file["path"]: file["status"] for file in files}["helper.py"] != "skipped"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('renames = "x"', "'renames' must be a table of in-house names"),
        ('renames = {"acme.f" = 1}', "'renames' must be a table of in-house names"),
        ('renames = {"f" = "neuronxcc.nki.language.load"}', "'f' is none: write acme.nki.load, as it is imported"),
        ('renames = {"acme.f" = "neuronxcc.nki.language.lod"}', "did you mean 'neuronxcc.nki.language.load'?"),
        ('renames = {"acme.f" = "numpy.add"}', "'numpy.add' is none: did you mean"),
        ('rename = {}', "did you mean 'renames'?"),
    ],
)  # fmt: skip
def test_renames_that_cannot_be_are_one_error(run, here, table, message):
    (here / "nki-migrate.toml").write_text(table + "\n")
    code, _, err = run("rewrite", ".")
    assert code == 2 and message in err and err.count("\n") == 1


def test_no_plugin_and_no_rename_change_nothing():
    assert prepared(ACME, Options(), "k.py").text is ACME
