"""`segmax verify`: exit statuses, the document, the page, and a planted fault from its discovery to its replay."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from importlib import metadata

import numpy as np
import pytest
from segmax.oracle import command, deviations, mutants, page, references, report, shrink, subjects
from segmax.oracle.arrays import Array
from segmax.oracle.case import Case
from segmax.oracle.catalogue import CATALOGUE
from segmax.oracle.implementation import MissingError
from segmax.oracle.run import Judge

from segmax import cli

#: Whether TensorFlow may be missing; read before the fixture below hides it.
REQUIRED = os.environ.get("SEGMAX_REQUIRE_TENSORFLOW") == "1"

FAST = ["--reference", "model", "--reference", "numpy"]
FAULT = ["--subject", "mutant:NaN is dropped", "--reference", "model"]


@pytest.fixture(autouse=True)
def _without_tensorflow(monkeypatch):
    """Keep to references that are there at once, and to no environment of the caller's."""
    monkeypatch.setattr(references, "USUAL", ("model", "numpy"))
    monkeypatch.delenv("SEGMAX_REQUIRE_TENSORFLOW", raising=False)


def plant(monkeypatch):
    """Have a NumPy that forgets NaN, and one entry that knows it: what the true one does differs between machines."""
    mutant = next(item for item in mutants.MUTANTS if item.name == "NaN is dropped")
    load = references.load
    wrong = replace(mutants.make(mutant), name="numpy")
    monkeypatch.setattr(references, "load", lambda name: wrong if name == "numpy" else load(name))
    entry = deviations.Deviation(
        "numpy",
        mutant.operations,
        "forgets NaN",
        "a planted fault",
        "oracle/mutants.py",
        replace(CATALOGUE["NaN first"], family="proof"),
        lambda _: True,
        question=lambda case: case if case.get("nan") else case.change(nan="omit"),
    )
    monkeypatch.setattr(deviations, "DEVIATIONS", (entry,))
    return entry


@pytest.fixture
def forgetful(monkeypatch):
    return plant(monkeypatch)


def verify(capsys, *arguments):
    """Return the exit status and what was printed."""
    status = command.main([*map(str, arguments)])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def find_replays(text):
    """Return the words of the replay lines of a printed run."""
    return [shlex.split(line) for line in text.splitlines() if line.startswith("  segmax verify")]


# Exit statuses.


def test_segmax_passes(capsys):
    assert cli.main(["verify", "--cases", "500", *FAST]) == 0
    text = capsys.readouterr().out
    assert "bfloat16" in text
    assert "per second" in text
    assert text.rstrip().endswith("0 unexplained")


def test_what_is_known_is_explained(capsys, forgetful):
    status, out, _ = verify(capsys, *FAST, "--family", "catalogue,proof")
    assert status == 0
    assert "numpy: forgets NaN" in out
    assert find_replays(out) == []


def test_an_unexplained_difference_fails(capsys, forgetful, monkeypatch):
    monkeypatch.setattr(deviations, "DEVIATIONS", ())
    status, out, _ = verify(capsys, *FAST, "--family", "catalogue", "--no-shrink")
    assert status == 1
    assert find_replays(out)
    assert all(words[3] == "numpy" for words in find_replays(out))


def test_a_stale_entry_fails_a_full_run_only(capsys, forgetful, monkeypatch):
    monkeypatch.setattr(command, "CASES", 50)
    assert verify(capsys)[0] == 0
    entry = replace(forgetful, does="sings", when=lambda _: False)
    monkeypatch.setattr(deviations, "DEVIATIONS", (forgetful, entry))
    status, out, _ = verify(capsys)
    assert status == 1
    assert "stale entry: numpy: sings" in out
    assert "1 stale" in out
    assert verify(capsys, "--dtype", "float*")[0] == 0
    monkeypatch.setattr(command, "CASES", 5000)
    assert verify(capsys, "--cases", 50)[0] == 0


def miss(monkeypatch, *names):
    """Have the usual references and those named, which are not installed."""
    load = references.load

    def load_unless_missing(name):
        if name in names:
            raise MissingError(f"{name} is not installed; leave it out.")
        return load(name)

    monkeypatch.setattr(references, "USUAL", ("model", *names))
    monkeypatch.setattr(references, "load", load_unless_missing)


def test_a_missing_reference(capsys, monkeypatch):
    few = ["--cases", 0, "--operation", "maximum"]
    miss(monkeypatch, "tensorflow")
    status, _, err = verify(capsys, *few)
    assert status == 0
    assert "tensorflow is left out: tensorflow is not installed" in err
    status, out, err = verify(capsys, *few, "--reference", "tensorflow")
    assert (status, out) == (2, "")
    assert "the reference tensorflow is missing" in err
    monkeypatch.setenv("SEGMAX_REQUIRE_TENSORFLOW", "1")
    assert verify(capsys, *few)[0] == 2
    miss(monkeypatch, "jax")
    assert verify(capsys, *few)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--subject", "nobody"], "nobody is no subject"),
        (["--subject", "mutant:nothing is wrong"], "no planted fault"),
        (["--subject", "segmax:no_such_function"], "no_such_function"),
        (["--subject", "no_such_package:function"], "not installed"),
        (["--reference", "nobody"], "nobody is no reference"),
        (["--operation", "median*"], "--operation median* fits none"),
        (["--dtype", "float32,float7"], "--dtype float7 fits none"),
        (["--family", "x"], "--family x fits none"),
        (["--cases", "-1"], "--cases is -1"),
        (["--seconds", "nan"], "--seconds is nan"),
        (["--seed", "-1"], "--seed is -1"),
        (["--case", "{}"], "--case is no case"),
        (["--report", "."], "--report . is a folder"),
        (["--reference", "model", "--operation", "maximum.reduce", "--cases", "3"], "nothing was compared"),
    ],
)
def test_bad_usage(capsys, arguments, says):
    status, _, err = verify(capsys, *arguments)
    assert status == 2
    assert says in err


def test_options_that_argparse_refuses(capsys):
    with pytest.raises(SystemExit) as error:
        command.main(["--cases", "1", "--seconds", "1"])
    assert error.value.code == 2
    assert "not allowed with" in capsys.readouterr().err


def test_seconds(capsys):
    status, out, _ = verify(capsys, "--seconds", 0, *FAST)
    assert status == 0
    assert "catalogue" in out
    assert "layouts" not in out


def test_list(capsys):
    status, out, _ = verify(capsys, "--list")
    assert status == 0
    assert {"segment_max", "tensorflow-ieee", "catalogue", "bfloat16", "fmin.at"} <= {
        w.split()[0] for w in out.split("\n") if w
    }


def test_a_callable_is_a_subject(capsys):
    status, out, _ = verify(
        capsys, "--subject", "segmax:unsorted_segment_min", "--operation", "unsorted_segment_min", "--cases", 50, *FAST
    )
    assert status == 0
    assert "segmax:unsorted_segment_min" in out


# One case.


def test_replay_of_a_case(capsys, forgetful):
    line = CATALOGUE["NaN in the middle"].to_json()
    status, out, _ = verify(capsys, "--case", line, *FAST)
    assert status == 0
    assert "model (float32, shape (1,))" in out
    assert "the same" in out
    assert "explained: numpy: forgets NaN" in out
    status, out, _ = verify(capsys, *FAULT, "--case", line)
    assert status == 1
    assert "UNEXPLAINED: got 2.0 (bytes 00000040), not nan" in out


def test_replay_of_what_nobody_answers(capsys):
    line = CATALOGUE["segments of columns"].to_json()
    status, _, err = verify(capsys, "--case", line, "--subject", "raw_ops", *FAST)
    assert status == 2
    assert "raw_ops declines the case: takes no axis" in err


# A planted fault.


def test_a_fault_is_found_shrunk_and_replayed(capsys, tmp_path):
    pytest.importorskip("hypothesis")
    narrow = ["--operation", "segment_max", "--dtype", "float32", "--family", "values,layouts", "--cases", 60]
    status, out, _ = verify(capsys, *FAULT, *narrow, "--json", tmp_path / "found.json")
    assert status == 1
    replays = find_replays(out)
    document = json.loads((tmp_path / "found.json").read_text())
    assert [shlex.join(words) for words in replays] == [item["replay"] for item in document["differences"]]
    for words in replays[:2]:
        case = Case.from_json(words[-1])
        assert case["data"].plain.size <= 3
        assert not case["data"].layout
        assert [name for name, _ in case.arguments] == ["data", "segment_ids"]
        assert command.main(words[2:]) == 1
        assert "UNEXPLAINED" in capsys.readouterr().out
    ended = subprocess.run(
        [sys.executable, "-m", "segmax.oracle", *replays[0][2:]], capture_output=True, text=True, cwd=tmp_path
    )
    assert ended.returncode == 1
    assert "UNEXPLAINED" in ended.stdout
    assert [item.name for item in tmp_path.iterdir()] == ["found.json"]


def is_wide(case):
    """A failure that is not segmax's: three rows or more of which one holds 7, with `initial` and a layout."""
    array = case["data"]
    return len(array.plain) >= 3 and bool((array.plain == 7).any()) and case.get("initial") is not None and array.layout


def test_shrinking_keeps_what_is_needed_and_nothing_else():
    pytest.importorskip("hypothesis")
    data = np.arange(20, dtype=np.float32).reshape(10, 2)
    ids = np.arange(10, dtype=np.int32)
    case = Case.of("segment_max", "proof", data=Array.of(data, "reversed"), segment_ids=ids, initial=1, nan="omit")
    smaller = shrink.shrink(case, is_wide)
    assert smaller["data"].plain.reshape(-1).tolist().count(7) == 1
    assert smaller["data"].shape == (3, 1)
    assert not smaller["segment_ids"].plain.any()
    assert [name for name, _ in smaller.arguments] == ["data", "segment_ids", "initial"]
    assert smaller["data"].layout == "reversed"


def test_shrinking_without_a_smaller_case():
    case = CATALOGUE["NaN only"]
    assert shrink.shrink(case, lambda other: other == case) == case
    assert shrink.shrink(case, lambda _: True, seconds=0) == case


def test_shrinking_without_hypothesis(monkeypatch):
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    case = CATALOGUE["NaN in the middle"]
    assert shrink.shrink(case, lambda _: True) is case


@pytest.mark.parametrize("name", list(CATALOGUE))
def test_taking_nothing_away_changes_nothing(name):
    case = CATALOGUE[name]
    parts = shrink.find_parts(case)
    assert shrink.apply(case, parts, [9] * sum(part.pieces for part in parts)) == case


# Reports.


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A failing run's document and page."""
    folder = tmp_path_factory.mktemp("written")
    arguments = [
        "--subject",
        "mutant:NaN is negative",
        *FAST,
        "--cases",
        "400",
        "--dtype",
        "float32,int8,StringDType",
        "--no-shrink",
    ]
    paths = ["--json", str(folder / "deep" / "verify.json"), "--report", str(folder / "verify.html")]
    with pytest.MonkeyPatch.context() as monkeypatch:
        plant(monkeypatch)
        assert command.main([*arguments, *paths]) == 1
    assert sorted(item.name for item in folder.rglob("*.*")) == ["verify.html", "verify.json"]
    return json.loads((folder / "deep" / "verify.json").read_text()), (folder / "verify.html").read_text()


def test_the_document_adds_up(written):
    document, _ = written
    assert document["format"] == 1
    assert not document["passed"]
    assert not document["full"]
    assert document["options"] == {
        "seed": 0,
        "operation": "*",
        "dtype": "float32,int8,StringDType",
        "family": "*",
        "cases": 400,
    }
    assert document["subject"]["name"] == "mutant: NaN is negative"
    assert [item["name"] for item in document["references"]] == ["model", "numpy"]
    assert document["versions"]["numpy"] == metadata.version("numpy")
    assert "CPU level" in document["config"]
    for part in ("cells", "operations", "references"):
        assert sum(item["comparisons"] for item in document[part]) == document["comparisons"] > 400, part
    assert sum(cell["unexplained"] for cell in document["cells"]) == document["unexplained"] > 0
    assert {cell["dtype"] for cell in document["cells"]} == set(document["dtypes"])
    assert document["families"][:2] == ["catalogue", "proof"]


def test_the_document_carries_cases(written):
    document, _ = written
    for item in document["differences"] + document["explained"]:
        case = Case.from_json(item["case"])
        assert case.to_json() == item["case"]
    for item in document["differences"]:
        words = shlex.split(item["replay"])
        assert words[:4] == ["segmax", "verify", "--subject", "mutant:NaN is negative"]
        assert words[-1] == item["case"]


class Page(HTMLParser):
    """Checks that tags are closed in order, and keeps text, attributes and how often each tag came."""

    def __init__(self):
        super().__init__()
        self.open, self.text, self.attributes, self.tags = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def parse(text):
    parser = Page()
    parser.feed(text)
    parser.close()
    assert parser.open == []
    return parser


def test_the_page_shows_the_document(written):
    document, text = written
    assert page.render(document) == text
    parsed = parse(text)
    words = " ".join(parsed.text)
    for part in ("differences", "explained"):
        assert document[part]
        for item in document[part]:
            assert all(value in words for value in item.values() if isinstance(value, str)), item
    for name in (*document["dtypes"], *document["families"], *document["config"].values(), *document["versions"]):
        assert name in words
    assert parsed.attributes.count(("class", "wrong")) == sum(cell["unexplained"] > 0 for cell in document["cells"])
    assert parsed.attributes.count(("class", "heat")) == sum(cell["unexplained"] == 0 for cell in document["cells"])
    assert parsed.tags.count("details") >= len(document["differences"]) + len(document["explained"])
    assert "prefers-color-scheme: dark" in text


def test_the_page_needs_nothing_from_elsewhere(written):
    parsed = parse(written[1])
    assert not {"script", "link", "img", "iframe"} & set(parsed.tags)
    assert all(name != "src" for name, _ in parsed.attributes)
    assert "url(" not in written[1]
    assert "@import" not in written[1]


def test_the_page_trusts_no_text(written):
    document = json.loads(json.dumps(written[0]))
    document["differences"][0]["got"] = document["missing"]["<b>"] = "<script>'&\""
    parsed = parse(page.render(document))
    assert not {"script", "b"} & set(parsed.tags)
    assert "<script>'&\"" in parsed.text


def test_a_report_is_whole_or_not_there(tmp_path, monkeypatch):
    path = tmp_path / "report.json"
    path.write_text("old")
    with pytest.raises(ValueError, match="Out of range"):
        report.write_json({"share": float("nan")}, path)

    def fail(*_):
        raise OSError("no room")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no room"):
        report.write_json({}, path)
    assert [item.name for item in tmp_path.iterdir()] == ["report.json"]
    assert path.read_text() == "old"


# Around it.


def test_the_command_line_imports_the_oracle_only_to_verify():
    program = (
        "import sys; from segmax import cli; cli.build_parser().format_help(); cli.main(['info']);"
        "assert not [name for name in sys.modules if name.startswith('segmax.oracle')];"
        "cli.main(['verify', '--list']); assert 'segmax.oracle.command' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_help_names_verify(capsys):
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    assert "verify" in capsys.readouterr().out
    with pytest.raises(SystemExit) as error:
        cli.main(["verify", "--help"])
    assert error.value.code == 0
    assert "--no-shrink" in capsys.readouterr().out


def test_tensorflow(capsys):
    try:
        metadata.version("tensorflow")
    except metadata.PackageNotFoundError:
        if REQUIRED:
            pytest.fail("TensorFlow is required here (SEGMAX_REQUIRE_TENSORFLOW=1) and not installed")
        pytest.skip("TensorFlow is not installed")
    narrow = ["--operation", "segment_max", "--dtype", "float32", "--family", "catalogue"]
    status, out, _ = verify(capsys, "--reference", "tensorflow", *narrow)
    assert status == 0
    assert "drops NaN; a segment of NaN only gives the lowest value" in out


def test_equal_cases_are_not_confused():
    """The objects 0 and -0.0 make equal cases, of which each has an answer of its own."""
    cases = [Case.of("amax", "reductions", a=Array.of(np.array([item], object))) for item in (0, -0.0, False)]
    assert cases[0] == cases[1] == cases[2]
    tally = Judge(subjects.load("cpu"), [references.load("numpy")], entries=()).run(cases)
    assert (tally.comparisons, tally.differences) == (3, [])
