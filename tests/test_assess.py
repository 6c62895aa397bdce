"""``nki-migrate assess``: the state of each kernel, by the findings of what it runs, and what can prove it."""

import csv
import html.parser
import io
import json

import pytest
from nki_migrate.cli import main
from nki_migrate.golden import GOLDENS

HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
"""

KERNEL = """

@nki.jit
def {name}(x):
    out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    {body}
    nl.store(out, t)
    return out
"""

LEFT = "t = nisa.local_gather(t, t)"
REVIEWED = "t = nl.dropout(t, 0.5)"
SAFE = "t = nl.add(t, 1.0)"


def kernel(name, body):
    return KERNEL.format(name=name, body=body)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NKI_MIGRATE_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "kernels").mkdir()
    return tmp_path / "kernels"


@pytest.fixture
def run(capfd):
    def call(*arguments):
        with pytest.raises(SystemExit) as exit_:
            main(["assess", *map(str, arguments)])
        out, err = capfd.readouterr()
        return exit_.value.code, out, err

    return call


@pytest.fixture
def kernels(run):
    """The kernels of a run by name."""

    def found(*arguments):
        code, out, err = run("kernels", "--output-format", "json", *arguments)
        assert code == 0, err
        return {kernel["name"]: kernel for file in json.loads(out)["files"] for kernel in file["kernels"]}

    return found


def test_each_kernel_has_its_state(here, kernels):
    done = "import nki\nimport nki.language as nl\n\n\n@nki.jit\ndef done(x):\n    return x\n"
    bodies = {"safe": SAFE, "review": REVIEWED, "manual": f"{REVIEWED}\n    {LEFT}"}
    (here / "k.py").write_text(HEAD + "".join(kernel(name, body) for name, body in bodies.items()))
    (here / "done.py").write_text(done)
    found = kernels()
    assert {name: kernel["state"] for name, kernel in found.items()} == {n: n for n in (*bodies, "done")}
    assert found["review"]["left"] == 0 < len(found["review"]["findings"])
    assert 0 < found["manual"]["left"] < len(found["manual"]["findings"])
    assert {"NKI032", "NKI090"} <= {each["code"] for each in found["manual"]["findings"]}


def test_the_findings_of_helpers_are_those_of_kernels_that_call_them_in_other_files_too(here, kernels):
    helper = "\n\ndef inner(t):\n    return nisa.local_gather(t, t)\n\n\ndef helper(t):\n    return inner(t)\n"
    (here / "helpers.py").write_text(HEAD + helper)
    imported = "from helpers import helper\n"
    text = HEAD + imported + kernel("calls", "t = helper(t)") + kernel("does_not", SAFE)
    (here / "k.py").write_text(text)
    found = kernels()
    assert found["calls"]["state"] == "manual" and found["does_not"]["state"] == "safe"
    assert "kernels/helpers.py" in {each["path"] for each in found["calls"]["findings"]}


def test_what_no_kernel_runs_is_outside_of_kernels(here, run):
    (here / "k.py").write_text(HEAD + kernel("k", SAFE) + "\n\nCORES = nl.nc(2)\n")
    code, out, _err = run("kernels")
    assert code == 0 and "k: safe" in out and "outside of kernels: NKI" in out and "outside of kernels\n" in out


def test_what_can_prove_a_kernel(here, kernels):
    made = "\n\ndef made():\n" + "\n".join("    " + line for line in kernel("inside", SAFE).strip().split("\n")) + "\n"
    (here / "k.py").write_text(HEAD + kernel("with_case", SAFE) + kernel("without", SAFE) + made)
    case = '[[case]]\nkernel = "{}"\nname = "one"\n[case.args]\nx = {{shape = [128, 64], dtype = "float32"}}\n'
    (here / "cases.toml").write_text(case.format("with_case"))
    proofs = {name: (kernel["proof"], kernel["cases"]) for name, kernel in kernels().items()}
    assert proofs == {"with_case": ("case", 1), "without": ("suggest", 0), "inside": ("none", 0)}
    (here.parent / "others.toml").write_text(case.format("without"))
    proofs = {name: kernel["proof"] for name, kernel in kernels("--cases", "others.toml").items()}
    assert (proofs["with_case"], proofs["without"]) == ("suggest", "case")


def test_a_failed_file_fails_its_kernels_and_those_that_need_it_only(here, run, monkeypatch):
    (here / "broken.py").write_text(HEAD + "def (:\n")
    (here / "k.py").write_text(HEAD + kernel("fine", SAFE))
    code, out, err = run("kernels")
    assert code == 2 and "kernels/broken.py\n  failed: line 4" in out and "fine: safe" in out
    assert "Traceback" not in err


def test_the_formats_say_the_same(here, run):
    (here / "k,1.py").write_text(HEAD + kernel("safe", SAFE) + kernel("manual", LEFT) + "\n\nCORES = nl.nc(2)\n")
    (here / "<b>.py").write_text(GOLDENS["launch_grid"].before)
    told = json.loads(run("kernels", "--output-format", "json")[1])
    rows = list(csv.DictReader(io.StringIO(run("kernels", "--output-format", "csv")[1])))
    states = {(row["path"], row["kernel"]): row["state"] for row in rows if row["kernel"]}
    assert states == {(f["path"], k["name"]): k["state"] for f in told["files"] for k in f["kernels"]}
    assert sum(told["summary"]["states"].values()) == told["summary"]["kernels"] == len(states) == 3
    assert sum(told["summary"]["proofs"].values()) == 3
    code, page, err = run("kernels", "--output-format", "html")
    cells = []

    class Reader(html.parser.HTMLParser):
        def handle_data(self, data):
            cells.append(data)

    Reader().feed(page)
    assert code == 0 and set(states.values()) <= set(cells) and "<b>" not in page
    assert err == run("kernels")[1].splitlines()[-1] + "\n"


def test_nothing_is_changed_and_nothing_runs(here, run):
    text = HEAD + "raise SystemExit(7)\n" + kernel("k", SAFE)
    (here / "k.py").write_text(text)
    assert run("kernels")[0] == 0
    assert (here / "k.py").read_text() == text and [path.name for path in here.iterdir()] == ["k.py"]


def test_what_the_configuration_ignores_is_counted_apart(here, kernels, run):
    (here / "k.py").write_text(HEAD + kernel("k", LEFT))
    first = kernels()["k"]
    assert first["state"] == "manual" and "ignored" not in run("kernels")[1]
    codes = sorted({each["code"] for each in first["findings"]})
    (here.parent / "nki-migrate.toml").write_text(f'[per-file-ignores]\n"kernels/*" = {codes}\n')
    assert not kernels()["k"]["findings"] and run("kernels")[1].endswith(f"; {len(first['findings'])} ignored\n")


def test_a_range_of_versions_is_one_of_the_configuration_too(here, kernels):
    (here / "k.py").write_text(HEAD + kernel("k", SAFE))
    (here.parent / "nki-migrate.toml").write_text('target = "0.4..0.6"\n')
    assert kernels()["k"]["state"] == "safe"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["-"], "assess reads files"),
        (["nowhere"], "nowhere"),
        ([], "Missing argument"),
        (["kernels", "--select", "NKI999"], "no rule has the code or name 'NKI999'"),
        (["kernels", "--cases", "nowhere.toml"], "nowhere.toml: cannot read the cases"),
        (["kernels", "--output-format", "xml"], "Invalid value"),
    ],
)
def test_bad_input_is_one_line(here, run, arguments, error):
    (here / "k.py").write_text(HEAD + kernel("k", SAFE))
    code, out, err = run(*arguments)
    assert code == 2 and out == "" and error in err and err.count("\n") == 1


def test_an_empty_directory_has_no_kernels(run):
    code, out, _err = run("kernels")
    assert code == 0 and out.startswith("0 kernels in 0 files")


@pytest.mark.parametrize("output_format", ["text", "csv", "json", "html"])
def test_no_kernels_are_no_error_in_any_format(here, run, output_format):
    (here / "plain.py").write_text("x = 1\n")
    assert run("kernels", "--output-format", output_format)[0] == 0
