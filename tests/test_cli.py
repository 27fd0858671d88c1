"""`segmax reduce` and `segmax info`: files in, tables out, sentences for bad input."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from segmax import cli

TEXT = "day,carrier,delay\nmon,A,3\nmon,B,\ntue,A,-1\ntue,B,7.5\n"


@pytest.fixture
def flights(tmp_path):
    path = tmp_path / "flights.csv"
    path.write_text(TEXT)
    return path


def test_reduce_runs(flights, capsys):
    """Keys that stand in runs keep the order in which they stand."""
    assert cli.main(["reduce", str(flights), "--value", "delay", "--key", "day", "--nan", "omit"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "day  max of delay",
        "---  ------------",
        "mon           3.0",
        "tue           7.5",
    ]


def test_reduce_scattered_keys(flights, capsys):
    """Keys that come back are factorised, in their own order; NaN spreads unless it is omitted."""
    assert cli.main(["reduce", str(flights), "--value", "delay", "--key", "carrier", "--op", "min"]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()[2:]] == [["A", "-1.0"], ["B", "nan"]]


def test_composite_key(flights, capsys):
    arguments = ["reduce", str(flights), "--value", "delay", "--key", "carrier", "--key", "day", "--op", "argmax"]
    assert cli.main(arguments) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()[2:]] == [
        ["A", "mon", "0"],
        ["B", "mon", "1"],
        ["A", "tue", "2"],
        ["B", "tue", "3"],
    ]


def test_gzip_and_arrays(tmp_path, capsys):
    packed = tmp_path / "flights.csv.gz"
    packed.write_bytes(gzip.compress(TEXT.encode()))
    assert cli.main(["reduce", str(packed), "--value", "delay", "--key", "day", "--nan", "omit"]) == 0
    assert "7.5" in capsys.readouterr().out
    np.save(tmp_path / "data.npy", np.array([[1, 5], [2, 4], [9, 0]], np.int16))
    np.save(tmp_path / "ids.npy", np.array([0, 0, 2]))
    np.save(tmp_path / "indptr.npy", np.array([0, 1, 3]))
    output = tmp_path / "out.npy"
    arguments = ["reduce", str(tmp_path / "data.npy"), "--ids", str(tmp_path / "ids.npy"), "--output", str(output)]
    assert cli.main([*arguments, "--num-segments", "4"]) == 0
    assert np.load(output).tolist() == [[2, 5], [-32768] * 2, [9, 0], [-32768] * 2]
    assert np.load(output).dtype == np.int16
    assert cli.main(["reduce", str(tmp_path / "data.npy"), "--indptr", str(tmp_path / "indptr.npy")]) == 0
    np.savez(tmp_path / "both.npz", x=np.array([1.0, 2.0]), where_to=np.array([1, 0]))
    capsys.readouterr()
    assert cli.main(["reduce", str(tmp_path / "both.npz"), "--value", "x", "--ids", "where_to"]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()[2:]] == [["0", "2.0"], ["1", "1.0"]]


@pytest.mark.parametrize("end", ["csv", "csv.gz", "parquet", "npz"])
def test_output_and_back(flights, tmp_path, end, capsys):
    if end == "parquet":
        pytest.importorskip("pyarrow")
    output = tmp_path / f"out.{end}"
    arguments = ["reduce", str(flights), "--value", "delay", "--key", "day", "--nan", "omit", "--output", str(output)]
    assert cli.main(arguments) == 0
    assert cli.main(["reduce", str(output), "--value", "max of delay", "--key", "day"]) == 0
    assert "7.5" in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["flights.csv", output.name])


def test_plot(flights, tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "plot.png"
    assert cli.main(["reduce", str(flights), "--value", "delay", "--key", "day", "--plot", str(picture)]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_failed_output_leaves_the_old_one(flights, tmp_path, monkeypatch):
    """A write that fails half-way leaves what was there, and nothing else."""
    output = tmp_path / "out.csv"
    output.write_text("old")

    def fail(file, columns, path):
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setitem(cli.write_columns.__globals__["_WRITERS"], "csv", fail)
    arguments = ["reduce", str(flights), "--value", "delay", "--key", "day", "--output", str(output)]
    assert cli.main(arguments) == 2
    assert output.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["flights.csv", "out.csv"]


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        (None, ["--value", "delay", "--key", "day"], "does not exist"),
        ("", ["--value", "delay", "--key", "day"], "is empty"),
        (TEXT, ["--value", "height", "--key", "day"], "has no column 'height'; it has day, carrier, delay"),
        (TEXT, ["--value", "delay", "--key", "week"], "has no column 'week'"),
        (TEXT, ["--key", "day"], "--value is missing"),
        (TEXT, ["--value", "delay"], "give one of --key, --ids and --indptr"),
        (
            TEXT + "wed,A,abc\n",
            ["--value", "delay", "--key", "day"],
            "unreadable value 'abc' in row 5 of column delay of",
        ),
        (TEXT + "wed,A\n", ["--value", "delay", "--key", "day"], "row 5 of"),
        (TEXT + "mon,A,1\n", ["--value", "delay", "--key", "day", "--order", "sorted"], "mon comes back in row 5"),
        (TEXT, ["--value", "delay", "--key", "day", "--output", "out.docx"], "ends in none of"),
        (TEXT, ["--value", "delay", "--ids", "carrier"], "segment_ids has dtype"),
        (TEXT.replace("carrier", "day", 1), ["--value", "delay", "--key", "day"], "has two columns 'day'"),
        (TEXT + "wed,A,1_0\n", ["--value", "delay", "--key", "day"], "unreadable value '1_0' in row 5"),
        (TEXT + f"wed,A,{2**53 + 1}\n", ["--value", "delay", "--key", "day"], "too large for float64"),
        (TEXT, ["--value", "delay", "--key", "day", "--limit", "-1"], "--limit is -1"),
        (TEXT, ["--value", "delay", "--key", "day", "--num-segments", "3"], "--num-segments goes with --ids"),
        (TEXT, ["--value", "delay", "--key", "day", "--plot", "x.docx"], "ends in none of .png"),
    ],
)
def test_bad_input(tmp_path, capsys, text, arguments, message):
    """Status 2, one sentence, no traceback."""
    path = tmp_path / "in.csv"
    if text is not None:
        path.write_text(text)
    assert cli.main(["reduce", str(path), *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_not_what_its_name_says(tmp_path, capsys):
    for name in ("a.npy", "a.npz", "a.csv.gz", "a.parquet"):
        path = tmp_path / name
        path.write_bytes(b"nonsense")
        assert cli.main(["reduce", str(path), "--value", "x", "--key", "y"]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_info(capsys):
    assert cli.main(["info"]) == 0
    assert "CPU level" in capsys.readouterr().out


def test_keys_are_text_unless_they_are_numbers_as_written(tmp_path, capsys):
    """ "01" and "1" are two keys; a byte-order mark and blank lines are no part of the data."""
    path = tmp_path / "in.csv"
    path.write_text("\ufeffkey,x\n01,5\n\n1,NULL\n", encoding="utf-8")
    assert cli.main(["reduce", str(path), "--value", "x", "--key", "key"]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()[2:]] == [["01", "5.0"], ["1", "nan"]]


def reduce_arrays(tmp_path, *arguments, **arrays):
    path = tmp_path / "in.npz"
    np.savez(path, **arrays)
    return cli.main(["reduce", str(path), "--value", "x", *arguments])


def read_rows(capsys):
    return [line.split() for line in capsys.readouterr().out.splitlines()[2:]]


@pytest.mark.parametrize("end", [None, "csv", "npz", "png"])
def test_no_rows(tmp_path, capsys, end):
    """A header alone is a table without rows."""
    if end == "png":
        pytest.importorskip("matplotlib")
    path = tmp_path / "in.csv"
    path.write_text("k,v\n")
    option = {None: [], "png": ["--plot", str(tmp_path / "out.png")]}.get(
        end, ["--output", str(tmp_path / f"out.{end}")]
    )
    assert cli.main(["reduce", str(path), "--value", "v", "--key", "k", *option]) == 0
    assert "max of v" in capsys.readouterr().out


def test_nan_keys_are_one_run(tmp_path, capsys):
    """NaN differs from itself, but as a key it is one key."""
    keys = np.array([2, np.nan, np.nan, 1])
    assert reduce_arrays(tmp_path, "--key", "k", "--order", "sorted", x=np.arange(4), k=keys) == 0
    assert read_rows(capsys) == [["2.0", "0"], ["nan", "2"], ["1.0", "3"]]


@pytest.mark.parametrize(
    ("x", "ids", "rows"),
    [
        (np.array([[1, 2], [3, 4]]), np.array([[0, 2], [1, 3]]), [["0", "1"], ["1", "3"], ["2", "2"], ["3", "4"]]),
        (np.array(5), np.array(0), [["0", "5"]]),
    ],
)
def test_ids_of_any_rank(tmp_path, capsys, x, ids, rows):
    """Their order is that of all of them, not of each column."""
    assert reduce_arrays(tmp_path, "--ids", "i", x=x, i=ids) == 0
    assert read_rows(capsys) == rows


@pytest.mark.parametrize(
    ("arguments", "arrays", "message"),
    [
        (["--key", "k"], {"x": np.arange(4), "k": np.zeros((4, 2))}, "key k has shape (4, 2)"),
        (["--key", "k"], {"x": np.arange(4), "k": np.zeros(1)}, "key k has shape (1,)"),
        (["--key", "max of x"], {"x": np.arange(4), "max of x": np.arange(4)}, "has the name of the result"),
        (["--indptr", "i"], {"x": np.arange(4), "i": np.array(3)}, "indptr"),
    ],
)
def test_bad_arrays(tmp_path, capsys, arguments, arrays, message):
    assert reduce_arrays(tmp_path, *arguments, **arrays) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x": [1, 2, 3], "k": ["a", None, "a"]}, "column k of {} has no value in row 2"),
        ({"x": [1, 2, 3], "k": [2**53, 2**53 + 1, None]}, f"value {2**53 + 1} in row 2 of column k of {{}}"),
        ({"x": [-(2**53) - 1, None, 3], "k": [1, 2, 3]}, f"value {-(2**53) - 1} in row 1 of column x of {{}}"),
    ],
)
def test_nulls_that_would_change_values(tmp_path, capsys, columns, message):
    """Integers with nulls become float64: none may be rounded on the way, and no two keys become one."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "in.parquet"
    parquet.write_table(pyarrow.table(columns), path)
    assert cli.main(["reduce", str(path), "--value", "x", "--key", "k"]) == 2
    assert message.format(path) in capsys.readouterr().err


def test_nulls_are_nan(tmp_path, capsys):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "in.parquet"
    parquet.write_table(pyarrow.table({"x": [1, None, 3], "k": ["a", "b", "a"]}), path)
    assert cli.main(["reduce", str(path), "--value", "x", "--key", "k"]) == 0
    assert read_rows(capsys) == [["a", "3.0"], ["b", "nan"]]


def test_complex_results(tmp_path, capsys):
    """Neither Parquet nor a plot can hold them."""
    pytest.importorskip("pyarrow")
    pytest.importorskip("matplotlib")
    arrays = {"x": np.array([1 + 2j, 3]), "i": np.array([0, 1])}
    assert reduce_arrays(tmp_path, "--ids", "i", "--output", str(tmp_path / "out.parquet"), **arrays) == 2
    assert "Parquet has no complex128" in capsys.readouterr().err
    assert reduce_arrays(tmp_path, "--ids", "i", "--plot", str(tmp_path / "out.png"), **arrays) == 2
    assert "cannot draw complex128" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["in.npz"]


@pytest.mark.parametrize("groups", [3, 50])
@pytest.mark.parametrize(("dtype", "gaps"), [("f8", ["inf", "nan"]), ("M8[D]", ["NaT", "NaT"])])
def test_plot_with_gaps(tmp_path, groups, dtype, gaps):
    """What is no finite number, or no date, leaves a gap; warnings are errors here."""
    pytest.importorskip("matplotlib")
    x = np.arange(groups).astype(dtype)
    x[:2] = gaps
    assert reduce_arrays(tmp_path, "--ids", "i", "--plot", str(tmp_path / "out.png"), x=x, i=np.arange(groups)) == 0
