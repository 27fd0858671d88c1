"""Files in blocks: the bits of the whole read at once, in little memory; old outputs outlive whatever ends a run."""

from __future__ import annotations

import contextlib
import gzip
import itertools
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import segmax
from segmax import _blocks, _files, _tables, cli, reduce_file
from segmax._tables import InputError

from .arrays import assert_same, make_elements

OPERATIONS = ["max", "min", "argmax", "argmin"]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Every file is many blocks."""
    monkeypatch.setattr(_files, "_MOST", 1 << 10)


def run(arguments, capsys):
    """Return status, output and errors of the command line."""
    status = cli.main(["reduce", *map(str, arguments)])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def assert_blocks_are_whole(arguments, capsys):
    """Check that reading in blocks prints what reading at once does."""
    whole = run(arguments, capsys)
    assert run([*arguments, "--memory-limit", "8MB"], capsys) == whole
    assert whole[0] == 0, whole
    return whole[1]


@pytest.mark.parametrize("op", OPERATIONS)
@pytest.mark.parametrize("dtype", ["float32", "float16", "complex128", "int8", "datetime64", "bool", "longdouble"])
def test_npy(tmp_path, op, dtype):
    rng = np.random.default_rng(3)
    for shape, ids_shape, order in [
        ((900,), 900, "C"),
        ((500, 3), 500, "C"),
        ((400, 2), 400, "F"),
        ((30, 8, 2), 240, "C"),
    ]:
        data = make_elements(rng, dtype, shape)
        ids = rng.integers(-1, 40, ids_shape).reshape(shape[: 1 + (len(shape) == 3)]).astype("i4")
        np.save(tmp_path / "x.npy", np.asarray(data, order=order))
        np.save(tmp_path / "ids.npy", ids)
        for nan in ("propagate", "omit"):
            labels, got = reduce_file(tmp_path / "x.npy", ids=tmp_path / "ids.npy", op=op, nan=nan, num_segments=41)
            expected = getattr(segmax, f"segment_{op}")(data, ids, 41, nan=nan, indices_are_sorted=False)
            assert labels == {}
            assert_same(got, expected, f"{shape} {order} {nan}")


def test_npy_offsets_and_scalars(tmp_path):
    rng = np.random.default_rng(4)
    data, offsets = rng.standard_normal(3000), np.sort(rng.integers(0, 3001, 20))
    np.save(tmp_path / "x.npy", data)
    np.save(tmp_path / "offsets.npy", offsets)
    np.save(tmp_path / "scalar.npy", np.array(5))
    np.save(tmp_path / "zero.npy", np.array(0))
    _, got = reduce_file(tmp_path / "x.npy", indptr=tmp_path / "offsets.npy", fill_value=0)
    assert_same(got, segmax.segment_max(data, indptr=offsets, fill_value=0))
    _, got = reduce_file(tmp_path / "scalar.npy", ids=tmp_path / "zero.npy")
    assert got.tolist() == [5]


CSV = [
    ("runs", [f"k{i // 40},{(i * 7919) % 1000 - 500}" for i in range(2000)]),
    ("scattered", [f"{(i * 31) % 90},{(i * 7919) % 1000 / 8}" for i in range(2000)]),
    (
        "late text and late fraction",
        [f"{i // 9 if i < 1900 else 'x'},{i if i < 1990 else i + 0.5}" for i in range(2000)],
    ),
    ("late gap", [f"01,{'' if i == 1500 else i}" for i in range(2000)]),
    (
        "odd numbers",
        [f"{i % 3},{t}" for i, t in enumerate(["+5", " 7 ", "-0", "1e400", "NA", "5.", ".5", "NULL", "inf"] * 40)],
    ),
    ("quotes", [f'"a, ""b""\n{i % 4}",{i}' for i in range(900)]),
    ("nothing", []),
    ("beyond int64", [f"a,{10**19 if i == 5 else i}" for i in range(9)][:5] * 200),
]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("arrow", [False, True])
@pytest.mark.parametrize(("name", "lines"), CSV, ids=[name for name, _ in CSV])
def test_csv(tmp_path, capsys, monkeypatch, name, lines, arrow, packed):
    """Kinds of columns that show late, and the same with and without pyarrow."""
    if arrow:
        pytest.importorskip("pyarrow")
    else:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setattr(_files, "_MOST", 1 << 18 if arrow else 1 << 10)
    text = "".join(f"{line}\n" for line in ["\ufeffkey,x", *lines * (8 if arrow else 1)]).encode()
    path = tmp_path / ("in.csv.gz" if packed else "in.csv")
    path.write_bytes(gzip.compress(text) if packed else text)
    for op, nan in itertools.product(["max", "argmin"], ["propagate", "omit"]):
        arguments = [path, "--value", "x", "--key", "key", "--op", op, "--nan", nan, "--limit", "500"]
        assert_blocks_are_whole(arguments, capsys)
    assert_blocks_are_whole([path, "--value", "x", "--key", "key", "--order", "unsorted"], capsys)
    assert_blocks_are_whole([path, "--value", "x", "--key", "key", "--key", "x"], capsys)


@pytest.mark.parametrize("arrow", [False, True])
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a,abc", "unreadable value 'abc' in row 1501 of column x"),
        ("a", "row 1501 of"),
        (f"a,{2**53 + 1}\nb,0.5", f"value '{2**53 + 1}' in row 1501 of column x"),
    ],
)
def test_csv_errors_name_the_row(tmp_path, capsys, monkeypatch, line, message, arrow):
    if not arrow:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = tmp_path / "in.csv"
    path.write_text("key,x\n" + "a,1\n" * 1500 + line + "\n")
    arguments = [path, "--value", "x", "--key", "key"]
    whole = run(arguments, capsys)
    assert run([*arguments, "--memory-limit", "8MB"], capsys) == whole
    assert whole[0] == 2
    assert message in whole[2]


def test_parquet(tmp_path, capsys):
    """Row groups, nulls that make integers float, text and dates."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rng = np.random.default_rng(1)
    rows = 9000
    columns = {
        "day": np.sort(rng.integers(0, 50, rows)),
        "name": [f"n{k}" for k in rng.integers(0, 30, rows)],
        "x": [None if k == 7000 else int(k) for k in range(rows)],
        "f": [None if v < 0.1 else v for v in rng.random(rows).tolist()],
        "when": pyarrow.array([None if k % 97 == 0 else k for k in range(rows)], pyarrow.timestamp("us")),
        "half": pyarrow.array(rng.random(rows).astype(np.float16)),
        "n": pyarrow.array(rng.integers(0, 99, rows), pyarrow.uint8()),
    }
    parquet.write_table(pyarrow.table(columns), tmp_path / "in.parquet", row_group_size=2500)
    for value, nan, op in itertools.product(["x", "f", "when", "half", "n"], ["propagate", "omit"], ["max", "argmin"]):
        for groups in (["--key", "day"], ["--key", "name", "--key", "day"], ["--ids", "day"]):
            arguments = [tmp_path / "in.parquet", "--value", value, *groups, "--nan", nan, "--op", op, "--limit", "9"]
            assert_blocks_are_whole(arguments, capsys)
    parquet.write_table(pyarrow.table(columns).slice(0, 0), tmp_path / "none.parquet")
    assert_blocks_are_whole([tmp_path / "none.parquet", "--value", "f", "--key", "day"], capsys)
    status, _, error = run(
        [tmp_path / "in.parquet", "--value", "name", "--key", "day", "--memory-limit", "8MB"], capsys
    )
    assert (status, "not numbers" in error) == (2, True)


@pytest.mark.parametrize("order", ["auto", "sorted", "unsorted"])
def test_keys_over_blocks(tmp_path, capsys, order):
    """Whether a key comes back is a question to the whole file."""
    for keys in (
        [0] * 999 + [1] * 999,
        [0] * 999 + [1] * 999 + [0],
        [5, 5, 3] * 500,
        [2] * 700 + [1] * 700 + [np.nan] * 99,
    ):
        np.savez(tmp_path / "in.npz", k=np.array(keys), x=np.arange(len(keys)))
        (tmp_path / "in.csv").write_text("k,x\n" + "".join(f"{k},{i}\n" for i, k in enumerate(keys)))
        arguments = [tmp_path / "in.csv", "--value", "x", "--key", "k", "--order", order]
        assert run([*arguments, "--memory-limit", "8MB"], capsys) == run(arguments, capsys)


def test_bad_requests(tmp_path, capsys):
    np.save(tmp_path / "x.npy", np.arange(3000.0))
    np.save(tmp_path / "ids.npy", np.arange(3000)[::-1])
    np.save(tmp_path / "few.npy", np.arange(30))
    np.save(tmp_path / "far.npy", np.array([0, 10**9]))
    np.save(tmp_path / "many.npy", np.arange(3000) * 1000)
    np.save(tmp_path / "objects.npy", np.array([None]), allow_pickle=True)
    np.savez(tmp_path / "x.npz", x=np.arange(3))
    short = (tmp_path / "x.npy").read_bytes()[:-100]
    (tmp_path / "short.npy").write_bytes(short)
    x, ids = tmp_path / "x.npy", tmp_path / "ids.npy"
    for arguments, message in [
        ([x, "--ids", ids, "--order", "sorted"], "segment_ids decrease from 2999 at position 0 to 2998 at position 1"),
        ([x, "--ids", tmp_path / "few.npy"], "few.npy has 30 ids"),
        ([x, "--indptr", tmp_path / "far.npy"], "data has only 3000 rows"),
        ([x, "--ids", tmp_path / "many.npy"], "more than the memory limit of 8000000; raise it"),
        ([x, "--key", "k"], "holds one array"),
        ([x], "give one of key, ids and indptr"),
        ([tmp_path / "x.npz", "--value", "x", "--key", "x"], "can be read only whole"),
        ([tmp_path / "short.npy", "--ids", ids], f"is cut short: it has {len(short)} bytes, and its header speaks of"),
        ([x, "--ids", tmp_path / "short.npy"], "short.npy is cut short"),
        ([tmp_path / "objects.npy", "--ids", ids], "holds Python objects"),
        ([tmp_path / "absent.npy", "--ids", ids], "does not exist"),
        ([tmp_path / "absent.csv", "--value", "x", "--key", "k"], "does not exist"),
    ]:
        status, _, error = run([*arguments, "--memory-limit", "8MB"], capsys)
        assert (status, error.count("\n")) == (2, 1), error
        assert message in error
    for size in ("many", "5X", "-3", "100"):
        assert run([x, "--ids", ids, "--memory-limit", size], capsys)[0] == 2
    for options in ({"op": "sum"}, {"order": "up"}, {"op": "argmax", "initial": 3}, {"nan": "drop"}):
        with pytest.raises((ValueError, TypeError)):
            reduce_file(x, ids=ids, **options)


def test_file_cut_short_while_it_is_read(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(30_000.0))
    np.save(tmp_path / "ids.npy", np.arange(30_000))
    with contextlib.closing(_blocks.NpyFile(tmp_path / "x.npy")) as array:
        os.truncate(tmp_path / "x.npy", 1000)
        with pytest.raises(InputError, match="is cut short"):
            array.read(20_000, 20_100)


def test_damaged_files(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    packed = gzip.compress(b"k,x\n" + b"".join(b"%d,%d\n" % (i, i * i % 977) for i in range(20_000)))
    (tmp_path / "cut.csv.gz").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "odd.parquet").write_bytes(b"PAR1 nonsense")
    (tmp_path / "odd.npy").write_bytes(b"nonsense")
    (tmp_path / "text.csv").write_bytes(b"k,x\n\xff\xfe,1\n")
    np.save(tmp_path / "ids.npy", np.arange(3))
    for name in ("cut.csv.gz", "odd.parquet", "odd.npy", "text.csv"):
        groups = ["--ids", tmp_path / "ids.npy"] if name == "odd.npy" else ["--value", "x", "--key", "k"]
        status, _, error = run([tmp_path / name, *groups, "--memory-limit", "8MB"], capsys)
        assert (status, error.count("\n")) == (2, 1), error
        assert str(tmp_path / name) in error


# What needs a process of its own.

LIMITED = """
import resource, sys
import numpy as np
from segmax import _files, cli
import segmax
segmax.segment_max(np.zeros(10), np.zeros(10, int))
if {warm!r}:  # so that threads are started and libraries loaded
    cli.main(["reduce", {warm!r}, *sys.argv[3:]])
held = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmSize")) << 10
resource.setrlimit(resource.RLIMIT_AS, (held + {more}, held + {more}))
sys.exit(cli.main(sys.argv[1:]))
"""


def start(program, *arguments, **options):
    environment = os.environ | {"SEGMAX_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment |= {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options,
    )  # fmt: skip


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc and RLIMIT_AS")
def test_larger_than_memory(tmp_path):
    """300 MB of data and 150 MB of ids, of which 48 MB may be in memory at a time."""
    rng = np.random.default_rng(0)
    rows, segments = 37_500_000, 1000
    block = rng.standard_normal(1 << 16).astype("f8")
    data = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", "f8", (rows,))
    ids = np.lib.format.open_memmap(tmp_path / "ids.npy", "w+", "i4", (rows,))
    for first in range(0, rows, 1 << 16):
        last = min(first + (1 << 16), rows)
        data[first:last] = block[: last - first] + first / rows
        ids[first:last] = np.arange(first, last) % segments
    data.flush(), ids.flush()
    expected = segmax.unsorted_segment_max(data, ids)
    arguments = ["reduce", tmp_path / "x.npy", "--ids", tmp_path / "ids.npy", "--limit", "0"]
    program = LIMITED.format(warm="", more=48 << 20)
    blocks = start(program, *arguments, "--memory-limit", "40MB", "--output", tmp_path / "out.npy")
    _, error = blocks.communicate(timeout=60)
    assert blocks.returncode == 0, error
    assert_same(np.load(tmp_path / "out.npy"), expected)
    whole = start(program, *arguments)
    _, error = whole.communicate(timeout=60)
    assert (whole.returncode, "memory" in error) == (2, True), error  # so the limit is one


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc and RLIMIT_AS")
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_tables_larger_than_memory(tmp_path, kind):
    pyarrow = pytest.importorskip("pyarrow")
    csv, parquet = pytest.importorskip("pyarrow.csv"), pytest.importorskip("pyarrow.parquet")
    rng = np.random.default_rng(0)
    rows = 3_000_000
    table = pyarrow.table(
        {"k": np.arange(rows) % 700, "x": np.round(rng.random(rows), 7), "text": ["some text"] * rows}
    )
    path = tmp_path / f"in.{kind}"
    warm = tmp_path / f"warm.{kind}"
    for file, content in ((path, table), (warm, table.slice(0, 1000))):
        if kind == "csv":
            csv.write_csv(content, file)
        else:
            parquet.write_table(content, file, row_group_size=rows // 6, compression="none", use_dictionary=False)
    expected = segmax.unsorted_segment_max(table["x"].to_numpy(), table["k"].to_numpy())
    arguments = ["reduce", path, "--value", "x", "--key", "k", "--limit", "0", "--output", tmp_path / "out.npy"]
    program = LIMITED.format(warm=str(warm), more=40 << 20)
    blocks = start(program, *arguments, "--memory-limit", "16MB")
    _, error = blocks.communicate(timeout=60)
    assert blocks.returncode == 0, error
    assert_same(np.load(tmp_path / "out.npy"), expected)
    whole = start(program, *arguments)
    _, error = whole.communicate(timeout=60)
    assert whole.returncode == 2
    assert "memory" in error or "alloc" in error


PAUSED = """
import sys, time
import signal
from segmax import _tables, cli
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job would ignore it
write = _tables._WRITERS["npy"]
def write_half(file, columns, path):
    file.write(b"half")
    file.flush()
    print("half", flush=True)
    time.sleep(60)
_tables._WRITERS["npy"] = write_half
sys.exit(cli.main(sys.argv[1:]))
"""


@pytest.fixture
def old_output(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(2_000_000.0))
    np.save(tmp_path / "ids.npy", np.arange(2_000_000) // 2)
    (tmp_path / "out.npy").write_bytes(b"old")
    return ["reduce", tmp_path / "x.npy", "--ids", tmp_path / "ids.npy", "--memory-limit", "200MB", "--limit", "0",
            "--output", tmp_path / "out.npy"]  # fmt: skip


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_ended_while_writing(tmp_path, old_output, ending):
    process = start(PAUSED, *old_output)
    while process.stdout.readline().strip() not in ("half", ""):
        pass
    process.send_signal(ending)
    _, error = process.communicate(timeout=30)
    assert (tmp_path / "out.npy").read_bytes() == b"old"
    if ending == signal.SIGINT:  # which leaves time to clean up
        assert process.returncode == 130
        assert error == "segmax: interrupted; no output was written.\n"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["ids.npy", "out.npy", "x.npy"]


def test_killed_anywhere(tmp_path, old_output):
    """The output is the old one or the new one, whole."""
    for delay in (0.3, 0.5, 0.7):
        process = start("import sys; from segmax import cli; sys.exit(cli.main(sys.argv[1:]))", *old_output)
        time.sleep(delay)
        process.kill()
        process.communicate(timeout=30)
        if (tmp_path / "out.npy").read_bytes() != b"old":
            assert np.load(tmp_path / "out.npy").shape == (1_000_000,)


def test_full_disk(tmp_path, old_output):
    program = """
import resource, signal, sys
from segmax import cli
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
sys.exit(cli.main(sys.argv[1:]))
"""
    process = start(program, *old_output)
    _, error = process.communicate(timeout=30)
    assert process.returncode == 2
    assert error.startswith(f"segmax: {tmp_path / 'out.npy'} cannot be written: ")
    assert (tmp_path / "out.npy").read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ids.npy", "out.npy", "x.npy"]


def test_progress_only_where_somebody_watches(tmp_path, monkeypatch, capsys):
    pytest.importorskip("tqdm")
    np.save(tmp_path / "x.npy", np.arange(3000))
    for watched in (False, True):
        monkeypatch.setattr(sys.stderr, "isatty", lambda watched=watched: watched)
        reduce_file(tmp_path / "x.npy", ids=tmp_path / "x.npy", progress=True)
        assert ("reading x.npy" in capsys.readouterr().err) == watched
    reduce_file(tmp_path / "x.npy", ids=tmp_path / "x.npy")
    assert capsys.readouterr().err == ""


hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies
CELL = st.one_of(
    st.integers(-(2**53), 2**53).map(str),
    st.floats(width=32).map(repr),
    st.sampled_from(["", "NA", "-0", " 3", "+2", "007"]),
)


@hypothesis.settings(max_examples=60, deadline=None, derandomize=True)
@hypothesis.given(st.lists(st.tuples(st.sampled_from(["a", "b", "1", "01", "2"]), CELL), max_size=30), st.data())
def test_any_csv(tmp_path_factory, rows, data):
    """Cut after any row: what one read of the whole says, or the same error."""
    path = tmp_path_factory.mktemp("csv") / "in.csv"
    path.write_text("k,x\n" + "".join(f"{k},{x}\n" for k, x in rows))
    rows_at_once = data.draw(st.integers(1, 7))

    def read_cells(path, request):
        return _tables.iterate_csv(path, request.names, rows_at_once)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_blocks, "_read_cells", read_cells)
        try:
            labels, result = reduce_file(path, "x", key="k")
        except InputError as error:
            with pytest.raises(InputError, match=re.escape(str(error))):
                _tables.read_columns(path, ["x", "k"], ["x"])
            return
        columns = _tables.read_columns(path, ["x", "k"], ["x"])
    ids, names, _ = cli.group_rows([columns["k"]])
    assert_same(result, segmax.unsorted_segment_max(columns["x"], ids, len(names[0])))
    assert labels["k"].tolist() == names[0].tolist()
