"""Each damage that a rewrite could do is refused, each sound rewrite passes."""

import textwrap
from dataclasses import replace

import pytest
from first_rung import Options
from nki_migrate import remains
from nki_migrate.codemods import Finding, Outcome
from nki_migrate.guard import objection
from nki_migrate.runtime.legality import Violation

BEFORE = textwrap.dedent('''\
    """A kernel."""  # about
    import neuronxcc.nki as nki
    import neuronxcc.nki.language as nl

    LIMIT = 128  # partitions


    @nki.jit
    def kernel(x):
        # load it
        tile = nl.load(x)
        return tile


    def helper(nl):
        """Its parameter is no module."""
        return nl.load(1)
    ''')

AFTER = textwrap.dedent('''\
    """A kernel."""  # about
    import nki
    import nki.isa as nisa
    import nki.language as nl

    LIMIT = 128  # partitions


    @nki.jit
    def kernel(x):
        # load it
        tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x)
        return tile


    def helper(nl):
        """Its parameter is no module."""
        return nl.load(1)
    ''')

ALL_RULES = Options()
SOUND = Outcome(AFTER, touched=frozenset({"kernel"}))


@pytest.fixture(autouse=True)
def everything_is_legal(monkeypatch):
    """What is legal is the checker's to say; here, what matters is what becomes of its answers."""
    monkeypatch.setattr(remains, "illegal", lambda source, target, reached=frozenset(): ())


def finding(text, source=BEFORE):
    line = next(number for number, content in enumerate(source.split("\n"), 1) if text in content)
    return Finding(line, 1, "NKM900", "manual", "left as it was", "")


def judged(outcome, before=BEFORE, options=ALL_RULES, again=None):
    """The objection when a second rewrite gives ``again`` (by default: the same)."""
    return objection(before, outcome, options, "kernel.py", lambda source, *rest: Outcome(again or source))


def with_text(old, new, outcome=SOUND):
    assert old in outcome.source
    return replace(outcome, source=outcome.source.replace(old, new))


def test_a_sound_rewrite_passes():
    assert judged(SOUND) is None


def test_an_unchanged_file_without_beta_1_passes():
    source = "# once used neuronxcc.nki\nx = 1\n"
    assert judged(Outcome(source), before=source) is None


def test_output_must_parse():
    assert judged(with_text("LIMIT = 128", "LIMIT = = 128")) == (
        "the rewritten file does not parse: line 6: invalid syntax"
    )


def test_output_must_compile_as_the_input_did():
    broken = with_text("LIMIT = 128", "return 128")
    assert judged(broken) == "the rewritten file does not compile: line 6: 'return' outside function"
    before = BEFORE.replace("LIMIT = 128", "return 128")
    assert judged(broken, before=before) is None


@pytest.mark.parametrize("comment", ["  # about", "  # partitions", "# load it"])
def test_no_comment_may_be_lost(comment):
    assert judged(with_text(comment, "")) == f"the rewritten file has lost 1 comment(s), such as {comment.strip()!r}"


def test_equal_comments_are_counted():
    before, after = "import neuronxcc\nx = 1  # a\ny = 2  # a\n", "x = 1\ny = 2  # a\n"
    assert "lost 1 comment(s), such as '# a'" in judged(Outcome(after), before=before)


def test_comments_that_spoke_of_index_vectors_may_go():
    before, after = "import neuronxcc\nx = 1  # a\ny = 2  # a\n", "x = 1\ny = 2\n"
    assert judged(Outcome(after, removed_comments=("# a", "# a")), before=before) is None
    assert "lost 1 comment(s)" in judged(Outcome(after, removed_comments=("# a",)), before=before)


def test_a_comment_with_a_space_at_its_end_may_go():
    before, after = "import neuronxcc\nx = 1  # a  \n", "x = 1\n"
    assert judged(Outcome(after, removed_comments=("# a  ",)), before=before) is None


def test_comments_may_move_and_come_new():
    moved = with_text("    # load it\n", "").source.replace("LIMIT", "    # load it\n# new\nLIMIT")
    assert judged(replace(SOUND, source=moved)) is None


def test_a_hash_in_a_string_is_no_comment():
    before = 'import neuronxcc\nx = "# text"\n'
    assert judged(Outcome('x = "other"\n'), before=before) is None


def test_untouched_functions_must_be_the_same_programs():
    changed = with_text("return nl.load(1)", "return nl.load(2)")
    assert judged(changed) == "helper (line 15) came out changed although no rule applies to it"
    assert judged(replace(changed, touched=frozenset({"kernel", "helper"}))) is None
    removed = AFTER[: AFTER.index("def helper")]
    assert judged(replace(SOUND, source=removed)) == "helper (line 15) came out changed although no rule applies to it"


def test_layout_and_comments_of_untouched_functions_may_change():
    assert judged(with_text("return nl.load(1)", "return nl.load(\n        1,\n    )  # one")) is None


def test_of_two_functions_with_one_name_both_count():
    before = "import neuronxcc\ndef f(): return 1\ndef f(): return 2\n"
    after = "def f(): return 1\ndef f(): return 3\n"
    assert "f (line 2) came out changed" in judged(Outcome(after), before=before)


def test_a_second_rewrite_must_change_nothing():
    again = AFTER.replace("128", "129")
    assert judged(SOUND, again=again) == "a second rewrite changes it again, first in line 6"
    assert judged(SOUND, again=AFTER + "x = 1\n") == "a second rewrite changes it again, first in line 20"


# Beta 1 names that are left

KEPT = with_text("import nki.language as nl\n", "import neuronxcc.nki.language as nl\n")


def test_a_left_import_needs_a_diagnostic():
    left = with_text("import nki\n", "import nki\nfrom neuronxcc.nki import tensor\n")
    assert judged(left) == ("the import of neuronxcc.nki.tensor is left (line 3 of the output) without a diagnostic")


def test_a_left_use_needs_a_diagnostic():
    assert (
        judged(KEPT) == "the Beta 1 name nl.ndarray is left (line 12 of the output) without a diagnostic (and 2 more)"
    )


def test_a_diagnostic_on_the_statement_accounts_for_the_use_and_its_import():
    left = with_text("nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)", "nl.load(x)", KEPT)
    assert "nl.load is left (line 12" in judged(left)
    assert judged(replace(left, findings=(finding("tile = nl.load(x)"),))) is None
    assert "nl.load is left (line 12" in judged(replace(left, findings=(finding("LIMIT"),)))


def test_a_diagnostic_in_an_untouched_function_accounts_for_all_of_it():
    before = BEFORE.replace("return tile", "nl.store(x, tile)\n    return tile")
    left = Outcome(before.replace("128", "129"), findings=(finding("nl.load(x)"),))
    assert judged(left, before=before) is None
    touched = replace(left, touched=frozenset({"kernel"}))
    assert "nki.jit is left (line 8" in judged(touched, before=before)
    jit = (*left.findings, finding("@nki.jit", before))
    assert "nl.store is left (line 12" in judged(replace(touched, findings=jit), before=before)


def test_a_diagnostic_counts_for_all_lines_of_its_statement_wherever_they_went():
    before = "import neuronxcc.nki.language as nl\nx = 1\ny = nl.load(\n    x,\n    nl.sbuf,\n)\n"
    left = Outcome("import neuronxcc.nki.language as nl\nnew = 1\nnew = 2\ny = nl.load(\n    x,\n    nl.sbuf,\n)\n")
    assert "nl.load is left (line 4" in judged(left, before=before)
    assert judged(replace(left, findings=(finding("x,", before),)), before=before) is None


def test_a_diagnostic_on_a_loop_is_for_its_header_only():
    before = "import neuronxcc.nki.language as nl\nfor i in nl.affine_range(2):\n    nl.store(i)\n"
    left = Outcome("x = 1\n" + before, findings=(finding("for i", before),))
    assert judged(left, before=before) == (
        "the Beta 1 name nl.store is left (line 4 of the output) without a diagnostic"
    )


def test_a_star_import_needs_a_diagnostic_of_its_own():
    before = "from neuronxcc.nki.language import *\nload(1)\nx = 1\n"
    left = Outcome(before.replace("1\n", "2\n"))
    assert "the import of neuronxcc.nki.language.* is left" in judged(left, before=before)
    assert judged(replace(left, findings=(finding("import *", before),)), before=before) is None


def test_a_name_of_either_version_needs_a_diagnostic_on_its_import_only():
    before = "try:\n    import neuronxcc.nki as nki\nexcept ImportError:\n    import nki\nnki.jit\nx = 1\n"
    left = Outcome(before.replace("x = 1", "x = 2"))
    assert "the import of neuronxcc.nki is left (line 2" in judged(left, before=before)
    assert judged(replace(left, findings=(finding("neuronxcc", before),)), before=before) is None


def test_a_modules_name_in_a_string_is_a_use_and_prose_is_none():
    before = 'import neuronxcc\nm = import_module("neuronxcc.nki")\n'
    assert "'neuronxcc.nki' is left (line 1" in judged(Outcome(before.split("\n", 1)[1]), before=before)
    prose = '"""neuronxcc.nki was used here."""\nx = "see neuronxcc.nki"\n'
    assert judged(Outcome(prose), before="import neuronxcc\n" + prose) is None


def test_beta_1_names_in_an_unchanged_file_need_a_diagnostic_somewhere():
    assert "nki.jit is left (line 8" in judged(Outcome(BEFORE))
    assert judged(Outcome(BEFORE, findings=(finding("LIMIT"),))) is None


@pytest.mark.parametrize("options", [Options(select=frozenset({"NKM1"})), Options(ignore=frozenset({"NKM1"}))])
def test_who_asks_for_some_rules_gets_what_the_others_would_rewrite_left_in_silence(options):
    assert judged(KEPT, options=options) is None
    assert judged(Outcome(BEFORE), options=options) is None
    assert judged(with_text("# load it", ""), options=options) is not None


# Illegal Beta 2


def forbid(monkeypatch, *texts):
    """A checker that refuses each line with one of ``texts``."""

    def illegal(source, target, reached=frozenset()):
        lines = enumerate(source.split("\n"), 1)
        return tuple(Violation(n, 1, "NKL001", f"no {t}", "") for n, line in lines for t in texts if t in line)

    monkeypatch.setattr(remains, "illegal", illegal)


def test_new_illegal_code_is_refused(monkeypatch):
    forbid(monkeypatch, "dma_copy")
    assert judged(SOUND) == "not legal Beta 2 (line 13 of the output): NKL001 no dma_copy"


def test_illegal_code_in_an_untouched_function_is_not_the_rewrites_doing(monkeypatch):
    forbid(monkeypatch, "return nl.load(1)")
    assert judged(SOUND) is None
    twice = with_text("LIMIT", "def lifted(nl):\n    return nl.load(1)\n\n\nLIMIT")
    assert "line 7 of the output" in judged(twice)


def test_illegal_code_that_stays_in_a_touched_function_needs_a_diagnostic(monkeypatch):
    forbid(monkeypatch, "return tile")
    assert judged(SOUND) == "not legal Beta 2 (line 14 of the output): NKL001 no return tile"
    assert judged(replace(SOUND, findings=(finding("return tile"),))) is None
