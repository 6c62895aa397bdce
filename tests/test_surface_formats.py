"""What machines read: GitHub's annotations, SARIF and JUnit, of rewrite, check and verify."""

import json
import os
import re
from collections import Counter
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nki_migrate import languages, output
from nki_migrate.checking import check_report
from nki_migrate.cli import main
from nki_migrate.codemods import RULES, Finding
from nki_migrate.explain import described, explanation, known_codes
from nki_migrate.reports import NOTEBOOK, Report
from nki_migrate.runtime.compare import Difference, LevelVerdict, Place, TileMatch, Verdict
from nki_migrate.runtime.compare.trace import TileRow
from nki_migrate.runtime.legality import CODES
from nki_migrate.surfaces import FORMATS, github, outcomes, proof_as, reports_as, sarif
from nki_migrate.surfaces.annotations import Annotation, of_proof, of_reports, source_path
from nki_migrate.verdicts import CaseResult, Problem, Proof

FOUND = Finding(3, 7, "NKI025", "manual", "a mask, 100% by hand: yes", "write a slice")
REPORTS = [
    Report("k/new.py", "changed", None, (FOUND,), Counter(NKI001=2, NKI020=1), b"a\nb\nc\n", b"a\nB\nc\n"),
    Report("k/plain.py", "skipped", "does not mention neuronxcc"),
    Report("k/book.ipynb", "skipped", NOTEBOOK),
    Report("k/bad.py", "failed", "line 12: does not parse as Python 3.11: invalid syntax"),
    Report("k/same.py", "unchanged"),
]
EQUAL = LevelVerdict("layout", Verdict.EQUAL, "4 tiles pinned, 0 not")
MOVED = LevelVerdict(
    "operands",
    Verdict.DIFFERENT,
    "instruction 3 of 9 differs",
    (
        Difference("writes elsewhere", Place("old.py", 5, "byte 0"), Place("new.py", 8, "byte 64")),
        Difference("only in BEFORE", Place("old.py", 6, "nisa.iota"), None),
    ),
    count=7,
)
UNRUN = LevelVerdict("layout", Verdict.UNDECIDED, "not compared: after did not run to the end")
PRIVATE = Problem("after", Verdict.UNDECIDED, "the emulator does not model x", "new.py", 4, "use y")
PROOF = Proof(
    (
        CaseResult("old.py", "new.py", "kernel", "good", "gen3", (EQUAL,), seconds=0.25),
        CaseResult("old.py", "new.py", "kernel", "moved", "gen3", (EQUAL, MOVED), seconds=0.5),
        CaseResult("old.py", "new.py", "kernel", "private", "gen2", (UNRUN,), (PRIVATE,)),
        CaseResult("b.py", "c.py", "other", problems=(Problem("case", Verdict.UNDECIDED, "no case", "b.py", 9),)),
        CaseResult("d.py", "e.py", problems=(Problem("before", Verdict.ERROR, "SyntaxError: bad", "d.py", 1),)),
    )
)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    return tmp_path


# Annotations


def test_all_that_is_left_is_annotated_and_nothing_else():
    found = [(a.path, a.line, a.code, a.severity) for a in of_reports("rewrite", REPORTS, changes_are_done=False)]
    assert found == [
        ("k/new.py", 3, "NKI025", "warning"),
        ("k/new.py", 2, outcomes.WOULD_CHANGE, "warning"),
        ("k/book.ipynb", 0, outcomes.NOTEBOOK, "warning"),
        ("k/bad.py", 12, outcomes.FAILED, "error"),
    ]


def test_what_was_written_is_not_left():
    codes = [a.code for a in of_reports("rewrite", REPORTS, changes_are_done=True)]
    assert codes == ["NKI025", outcomes.NOTEBOOK, outcomes.FAILED]


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [(b"", b"x\n", 1), (b"a\n", b"a\nb\n", 1), (b"a\nb\n", b"a\n", 2), (b"a\nb\nc\n", b"a\nb\nd\n", 3)],
)
def test_a_change_is_annotated_at_a_line_that_the_file_has(before, after, line):
    report = Report("x.py", "changed", before=before, after=after)
    (annotation,) = of_reports("rewrite", [report], changes_are_done=False)
    assert annotation.line == line


def test_what_is_illegal_is_an_error():
    assert [a.severity for a in of_reports("check", REPORTS[:1], changes_are_done=True)] == ["error"]


def test_each_verdict_but_equal_is_annotated_once_a_difference():
    found = [(a.path, a.line, a.code, a.severity) for a in of_proof(PROOF)]
    assert found == [
        ("new.py", 8, outcomes.OPERANDS, "error"),
        ("old.py", 6, outcomes.OPERANDS, "error"),
        ("new.py", 4, outcomes.UNDECIDED, "warning"),
        ("b.py", 9, outcomes.UNDECIDED, "warning"),
        ("d.py", 1, outcomes.BROKEN, "error"),
    ]


def test_a_difference_names_both_sides_and_how_many_more_there_are():
    first, second, *_ = of_proof(PROOF)
    assert first.message == "writes elsewhere\nbefore: old.py:5: byte 0\nafter: new.py:8: byte 64"
    assert first.title == "kernel, moved (gen3): operands different"
    assert first.related == Place("old.py", 5, "byte 0")
    assert second.message.endswith("and 5 more differences")


def test_a_level_that_is_undecided_by_itself_is_annotated():
    level = LevelVerdict("numbers", Verdict.UNDECIDED, "a NaN on both sides")
    (annotation,) = of_proof(Proof((CaseResult("a.py", "b.py", "k", levels=(level,)),)))
    assert (annotation.code, annotation.path, annotation.message) == (outcomes.UNDECIDED, "b.py", "a NaN on both sides")


def test_a_reference_that_differs_is_annotated():
    level = LevelVerdict("after", Verdict.DIFFERENT, "does not agree")
    (annotation,) = of_proof(Proof((CaseResult("a.py", "b.py", "k", reference=(level,)),)))
    assert annotation.code == outcomes.REFERENCE


@pytest.mark.parametrize(
    ("old", "new", "lines", "related"),
    [
        ("", "", [6, 8, 5, 2, 3], 5),
        ("HEAD~1", "", [6, 8, 0, 0, 3], None),
        ("", "rewritten", [0, 5, 5, 2, 0], None),
        ("HEAD~1", "rewritten", [0, 0, 0, 0, 0], None),
    ],
)
def test_only_lines_of_files_on_disk_are_annotated(old, new, lines, related):
    before, after = Place("k.py", 5, "byte 0", old), Place("k.py", 8, "byte 64", new)
    differences = (Difference("moved", before, after), Difference("gone", before))
    tiles = [TileRow(1, "t", (), "sbuf", 0, 0, 1, 4, "float32", "k.py", line) for line in (2, 3)]
    result = CaseResult(
        *("k.py", "k.py", "kernel", "case", "gen3"),
        levels=(LevelVerdict("layout", Verdict.DIFFERENT, "", differences, 2),),
        problems=(Problem("reference", Verdict.UNDECIDED, "broken", "k.py", 6, version=new),),
        labels=(old, new),
        matches=(TileMatch(0, tiles[0], None, "unmatched"), TileMatch(0, None, tiles[1], "unmatched")),
    )
    found = list(of_proof(Proof((result,))))
    assert [annotation.line for annotation in found] == lines
    assert found[1].related == (related and before)
    told = [(0, 6, new), (1, 5, old), (1, 8, new), (2, 5, old), (3, 2, old), (4, 3, new)]
    for index, line, version in told:
        assert (f"k.py:{line} ({version})" in found[index].message) == bool(version)
    assert re.findall(r"file=k.py,line=(\d)", proof_as("github", Proof((result,)))) == [str(n) for n in lines if n]
    results = json.loads(proof_as("sarif", Proof((result,))))["runs"][0]["results"]
    regions = [item["locations"][0]["physicalLocation"].get("region") for item in results]
    assert regions == [{"startLine": line} if line else None for line in lines]


def test_paths_are_those_of_the_repository(here, monkeypatch):
    inner = here / "sub"
    inner.mkdir()
    monkeypatch.chdir(inner)
    assert source_path("x.py") == "x.py" and source_path(str(inner / "y" / "z.py")) == "y/z.py"
    assert source_path("../x.py") == str(here / "x.py")
    assert source_path("..x.py") == "..x.py"
    monkeypatch.setenv("GITHUB_WORKSPACE", str(here))
    assert source_path("x.py") == "sub/x.py"


# GitHub


def test_an_annotation_is_a_workflow_command():
    text = reports_as("github", "check", REPORTS[:1], changes_are_done=True)
    assert text == (
        "::error file=k/new.py,line=3,col=7,title=NKI025 manual::" "a mask, 100%25 by hand: yes%0Awrite a slice"
    )


def test_nothing_to_say_is_nothing():
    assert reports_as("github", "check", REPORTS[4:], changes_are_done=True) == ""


def unescaped(text):
    for escape, character in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        text = text.replace(escape, character)
    return text


@given(path=st.text(min_size=1), title=st.text(), message=st.text())
def test_any_text_survives_the_escapes_of_workflow_commands(path, title, message):
    path = "/" + path.replace("\0", "").replace("/", "_").replace(".", "_")
    line = github.commands([Annotation(path, 1, 0, "error", "C", title, message)])
    assert "\n" not in line and "\r" not in line
    match = re.fullmatch(r"::error file=([^,:]*),line=1,title=([^,:]*)::(.*)", line)
    assert match is not None
    assert unescaped(match[1]) == output.shown(source_path(path))
    assert (unescaped(match[2]), unescaped(match[3])) == (f"C {title}", message)


# SARIF


def assert_sarif(log):
    """What SARIF 2.1.0 requires of the properties that are used, and what code scanning wants in addition."""
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-schema-2.1.0.json")
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    ids = [rule["id"] for rule in driver["rules"]]
    assert driver["name"] == "nki-migrate" and driver["version"] and len(set(ids)) == len(ids)
    for rule in driver["rules"]:
        assert rule["name"] and all(rule[key]["text"] for key in ("shortDescription", "fullDescription", "help"))
    (invocation,) = run["invocations"]
    assert isinstance(invocation["executionSuccessful"], bool)
    for notification in invocation["toolExecutionNotifications"]:
        assert notification["level"] == "error" and notification["message"]["text"]
    known = [tuple(result["partialFingerprints"].items()) for result in run["results"]]
    assert len(set(known)) == len(known)
    for result in run["results"]:
        assert result["ruleId"] == ids[result["ruleIndex"]]
        assert result["level"] in ("none", "note", "warning", "error") and result["message"]["text"]
        for place in [*result["locations"], *result.get("relatedLocations", [])]:
            assert_location(place["physicalLocation"], run["originalUriBaseIds"])
    return run


def assert_location(location, bases):
    artifact = location["artifactLocation"]
    uri = urlsplit(artifact["uri"])
    assert re.fullmatch(r"[A-Za-z0-9\-._~!$&'()*+,;=:@/%]+", artifact["uri"])
    assert (uri.scheme, "uriBaseId" in artifact) in (("file", False), ("", True))
    assert artifact.get("uriBaseId", next(iter(bases))) in bases
    region = location.get("region", {"startLine": 1})
    assert region["startLine"] >= 1 and region.get("startColumn", 1) >= 1


@pytest.mark.parametrize("written", [False, True])
def test_the_log_of_a_rewrite_is_valid(written):
    run = assert_sarif(json.loads(reports_as("sarif", "rewrite", REPORTS, changes_are_done=written)))
    assert len(run["results"]) == len(list(of_reports("rewrite", REPORTS, changes_are_done=written)))
    (invocation,) = run["invocations"]
    assert not invocation["executionSuccessful"]
    assert [n["message"]["text"] for n in invocation["toolExecutionNotifications"]] == [REPORTS[3].reason]


def test_the_log_of_a_proof_is_valid():
    run = assert_sarif(json.loads(proof_as("sarif", PROOF)))
    first = run["results"][0]
    assert first["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "new.py", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 8},
    }
    assert first["relatedLocations"][0]["physicalLocation"]["region"] == {"startLine": 5}
    assert run["invocations"][0]["executionSuccessful"]


def test_an_empty_log_is_valid():
    assert assert_sarif(json.loads(proof_as("sarif", Proof(()))))["results"] == []


def test_any_path_is_a_uri(here):
    name = os.fsdecode(b"a b#%?\xff\n.py")
    report = Report(name, "failed", "no")
    run = assert_sarif(json.loads(reports_as("sarif", "check", [report], changes_are_done=True)))
    uri = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert unquote(uri, errors="surrogateescape") == name
    run = assert_sarif(
        json.loads(reports_as("sarif", "check", [Report("/else/where.py", "failed", "no")], changes_are_done=True))
    )
    assert run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "file:///else/where.py"


def test_rules_are_described_as_explain_does():
    run = assert_sarif(json.loads(reports_as("sarif", "rewrite", REPORTS[:1], changes_are_done=True)))
    (rule,) = run["tool"]["driver"]["rules"]
    assert rule["id"] == "NKI025" and rule["name"] == RULES["NKI025"].name
    assert rule["help"]["text"].endswith(explanation("NKI025"))
    summary, *paragraphs = rule["fullDescription"]["text"].split("\n\n")
    assert summary == described("NKI025").summary and paragraphs[0].startswith("Why:")
    assert "\n\n".join(paragraphs) in explanation("NKI025") and rule["fullDescription"]["text"].endswith(".")


def test_no_description_is_longer_than_code_scanning_takes():
    for code in known_codes():
        text = sarif._beginning(described(code))
        assert text.startswith(described(code).summary) and len(text) <= 1024, code


def test_every_code_is_described():
    assert set(known_codes()) == {*RULES, *languages.rules(), *CODES, *outcomes.CODES}
    for code in known_codes():
        description = described(code)
        assert description.name and description.summary and description.text.startswith(code)
    assert described("NKI999") is None


# JUnit


def junit(text):
    root = ElementTree.fromstring(text)
    for counted in (root, *root.iter("testsuite")):
        for tag, name in (("testcase", "tests"), ("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            assert counted.get(name) == str(len(list(counted.iter(tag))))
    return root


def test_a_proof_is_one_test_case_a_kernel_and_case():
    root = junit(proof_as("junit", PROOF))
    assert [suite.get("name") for suite in root] == ["old.py -> new.py", "b.py -> c.py", "d.py -> e.py"]
    kinds = [(case.get("name"), [child.tag for child in case]) for case in root.iter("testcase")]
    assert kinds == [
        ("kernel, good (gen3)", []),
        ("kernel, moved (gen3)", ["failure"]),
        ("kernel, private (gen2)", ["error"]),
        ("other", ["error"]),
        ("the file", ["error"]),
    ]
    assert root.get("time") == "0.750"


def test_the_levels_are_in_the_text_of_a_failure():
    root = junit(proof_as("junit", PROOF))
    failure = next(root.iter("failure"))
    assert failure.get("message") == "operands different: instruction 3 of 9 differs"
    for part in ("layout     equal", "operands   different", "writes elsewhere", "old.py:5: byte 0", "and 5 more"):
        assert part in failure.text
    assert "\x1b" not in failure.text


def test_files_are_test_cases_of_rewrite_and_check():
    root = junit(reports_as("junit", "rewrite", REPORTS, changes_are_done=False))
    kinds = [(case.get("file"), [child.tag for child in case]) for case in root.iter("testcase")]
    assert kinds == [
        ("k/new.py", ["failure"]),
        ("k/plain.py", ["skipped"]),
        ("k/book.ipynb", ["failure"]),
        ("k/bad.py", ["error"]),
        ("k/same.py", []),
    ]
    failure = next(root.iter("failure"))
    assert failure.get("message") == "would change: NKI001 (2), NKI020 (1)"
    assert "k/new.py:3:7: NKI025 [manual] a mask" in failure.text
    assert next(root.iter("testcase")).get("classname") == "k.new"


@given(message=st.text(), path=st.text(min_size=1).map(lambda text: text.replace("\0", "")))
def test_any_text_is_xml(message, path):
    report = Report(f"/{path}", "unchanged", None, (Finding(1, 1, "NKI025", "manual", message, ""),))
    (failure,) = junit(reports_as("junit", "check", [report], changes_are_done=True)).iter("failure")
    assert "NKI025" in failure.text


# The command line


OLD = "import neuronxcc.nki as nki\n\n\ndef f(x):\n    return x\n"


@pytest.mark.parametrize("output_format", FORMATS[1:])
@pytest.mark.parametrize("command", ["rewrite", "check"])
def test_the_formats_change_neither_the_exit_code_nor_the_files(command, output_format, here, capsys):
    (here / "old.py").write_text(OLD)
    codes = []
    for chosen in ("text", output_format):
        with pytest.raises(SystemExit) as exit_:
            main([command, "--output-format", chosen, "old.py"])
        codes.append(exit_.value.code)
    printed = capsys.readouterr().out
    assert codes[0] == codes[1] == (1 if command == "rewrite" else 0)
    assert (here / "old.py").read_text() == OLD
    if command == "rewrite":
        assert output_format == "json" or ("old.py" in printed and "would change" in printed)


def test_columns_count_characters(here, capsys):
    (here / "k.py").write_text("import nki\n\n\n@nki.jit\ndef k(x):\n    y = ['é', *(i for i in x)]\n", "utf-8")
    with pytest.raises(SystemExit):
        main(["check", "--output-format", "sarif", "k.py"])
    run = assert_sarif(json.loads(capsys.readouterr().out))
    line = "    y = ['é', *(i for i in x)]"
    columns = {r["locations"][0]["physicalLocation"]["region"]["startColumn"] for r in run["results"]}
    assert columns <= set(range(1, len(line) + 1)) and line.index("(i for") + 1 in columns


def fingerprints(source):
    report = check_report("k.py", source.encode())
    results = json.loads(reports_as("sarif", "check", [report], changes_are_done=True))["runs"][0]["results"]
    return [result["partialFingerprints"]["nkiMigrate/v1"] for result in results]


def test_a_result_is_known_again_where_its_line_has_moved_and_no_two_are_the_same():
    source = "import nki\nimport nki.language as nl\n\n\n@nki.jit\ndef k(x):\n    nl.full(2)\n    nl.full(2)\n"
    first = fingerprints(source)
    assert len(first) == len(set(first)) >= 2
    assert fingerprints(source.replace("@nki", "# a comment\n\n@nki")) == first
    assert set(fingerprints(source.replace("    nl.full(2)\n", "", 1))) < set(first)
