"""Columns from files and back: .npy, .npz, CSV (also gzip) and Parquet."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import os
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

Columns = dict[str, np.ndarray]

#: Bytes of a file from which on reading it shows its progress on a terminal.
_LONG = 20_000_000


#: What reading a damaged or foreign file raises.
UNREADABLE = (OSError, ValueError, EOFError, NotImplementedError, csv.Error, zipfile.BadZipFile, zlib.error)

#: Cells of a column of numbers that hold none.
MISSING = ("", "NA", "NULL")

#: Integers beyond this are not all exact as float64.
EXACT = 2**53


class InputError(Exception):
    """A file, column or cell that cannot be used, in a sentence for the user."""


def read_columns(path: Path, names: Iterable[str], numbers: Iterable[str]) -> Columns:
    """Return the named columns of a file; those also in `numbers` as numbers, empty cells as NaN.

    A .npy file has one column, whatever its name. Text cells of other columns become integers if all are.
    """
    wanted, numeric = list(dict.fromkeys(names)), set(numbers)
    kind = kind_of(path)
    if not path.is_file():
        raise InputError(f"{path} does not exist or is no file.")
    try:
        columns = _READERS[kind](path, wanted)
    except UNREADABLE as error:
        raise InputError(f"{path} cannot be read as {kind}: {error}") from error
    if kind == "csv":
        return {name: parse_cells(cells, name, path, name in numeric) for name, cells in columns.items()}
    for name in numeric & columns.keys():
        if columns[name].dtype.kind in "OUS":
            raise InputError(f"column {name} of {path} holds {columns[name].dtype}, not numbers.")
    return dict(columns)


def write_columns(path: Path, columns: Columns) -> None:
    """Write columns to a file, whole or not at all: a temporary file takes its name at the end."""
    kind = kind_of(path)
    with open_whole(path) as file:
        _WRITERS[kind](file, columns, path)


@contextlib.contextmanager
def open_whole(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing that takes its name, and the place of an old one, only when all is written."""
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error}") from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # else a crash of the machine could leave the name without the bytes
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError):
            raise InputError(f"{path} cannot be written: {error}") from error
        raise


def kind_of(path: Path) -> str:
    """Return what a file is, by the end of its name."""
    name = path.name.lower().removesuffix(".gz")
    kind = name.rpartition(".")[2]
    if kind == "pq":
        kind = "parquet"
    if kind not in _READERS or (path.suffix.lower() == ".gz" and kind != "csv"):
        raise InputError(f"{path} ends in none of .npy, .npz, .csv, .csv.gz and .parquet.")
    return kind


def pick(available: Iterable[str], wanted: list[str], path: Path) -> None:
    """Raise unless all wanted columns are there."""
    have = list(available)
    for name in wanted:
        if name not in have:
            raise InputError(f"{path} has no column {name!r}; it has {', '.join(have)}.")


def _read_npy(path: Path, wanted: list[str]) -> Columns:
    array = np.load(path, mmap_mode="r")
    return dict.fromkeys(wanted, array)


def _read_npz(path: Path, wanted: list[str]) -> Columns:
    with np.load(path) as arrays:
        pick(arrays.files, wanted, path)
        return {name: arrays[name] for name in wanted}


def _read_parquet(path: Path, wanted: list[str]) -> Columns:
    parquet = import_parquet(path)
    pick(parquet.read_schema(path).names, wanted, path)
    table = parquet.read_table(path, columns=wanted)
    return {name: convert_arrow(table.column(name), name, path) for name in wanted}


def convert_arrow(column: Any, name: str, path: Path, first_row: int = 0, as_float: bool = False) -> np.ndarray:
    """Return a Parquet column as an array; a null is a NaN or NaT, and refused where there is none.

    Integers become float64 where there are nulls, or with `as_float`: there are nulls in another part of the column.
    """
    array: np.ndarray = column.to_numpy()
    if column.null_count and array.dtype.kind == "O":
        row = first_row + int(np.flatnonzero(column.is_null().to_numpy())[0])
        raise InputError(f"column {name} of {path} has no value in row {row + 1}; fill it in or leave the row out.")
    if column.null_count or as_float:
        import pyarrow

        if pyarrow.types.is_integer(column.type):
            exact = column.fill_null(0).to_numpy()
            inexact = np.flatnonzero((exact > EXACT) | (exact < -EXACT))
            if len(inexact):
                place = f"value {exact[inexact[0]]} in row {first_row + inexact[0] + 1} of column {name} of {path}"
                raise InputError(f"{place} is an integer too large for float64, which the column's nulls need.")
            array = array.astype(np.float64, copy=False)
    return array


def import_parquet(path: Path) -> Any:
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise InputError(f"{path} needs pyarrow: pip install 'segmax[files]'.") from None
    return parquet


def _read_csv(path: Path, wanted: list[str]) -> dict[str, Any]:
    """Return the wanted columns as lists of text."""
    return next(iterate_csv(path, wanted))


def iterate_csv(
    path: Path, wanted: list[str], rows_at_once: int | None = None, progress: bool = True
) -> Iterator[dict[str, Any]]:
    """Yield the wanted columns as lists of text, some rows at a time (at least once)."""
    with open_shown(path, progress) as raw:
        text = io.TextIOWrapper(io.BufferedReader(_Raw(raw), 1 << 20), "utf-8-sig", newline="")
        rows = csv.reader(text)
        header = check_header(next(rows, None), path, wanted)
        places = [header.index(name) for name in wanted]
        columns: list[list[str]] = [[] for _ in wanted]
        for number, row in enumerate(filter(None, rows), 1):
            if len(row) != len(header):
                raise InputError(f"row {number} of {path} has {len(row)} cells; the header has {len(header)}.")
            for column, place in zip(columns, places, strict=True):
                column.append(row[place])
            if rows_at_once and number % rows_at_once == 0:
                yield dict(zip(wanted, columns, strict=True))
                columns = [[] for _ in wanted]
        yield dict(zip(wanted, columns, strict=True))


def check_header(header: list[str] | None, path: Path, wanted: list[str]) -> list[str]:
    """Return the names of a CSV file's columns; raise if they cannot be used."""
    if header is not None and len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise InputError(f"{path} has two columns {twice!r}; rename one.")
    if header is None:
        raise InputError(f"{path} is empty; the first row must name the columns.")
    pick(header, wanted, path)
    return header


@contextlib.contextmanager
def open_shown(path: Path, progress: bool = True) -> Iterator[Any]:
    """Open a file, unpacked, with a progress bar if it is long, tqdm is installed and somebody watches."""
    with contextlib.ExitStack() as stack:
        raw: Any = stack.enter_context(path.open("rb"))
        if progress and path.stat().st_size > _LONG and sys.stderr.isatty():
            with contextlib.suppress(ImportError):
                from tqdm import tqdm

                size = path.stat().st_size
                raw = stack.enter_context(
                    tqdm.wrapattr(raw, "read", total=size, desc=f"reading {path.name}", bytes=True)
                )
        if path.suffix.lower() == ".gz":
            raw = stack.enter_context(gzip.GzipFile(fileobj=raw))
        yield raw


class _Raw(io.RawIOBase):
    """The little of a raw stream that buffering needs, around anything with `read`."""

    def __init__(self, source: Any) -> None:
        self.source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.source.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def parse_cells(
    cells: Any, name: str, path: Path, as_numbers: bool, first_row: int = 0, integers: bool = True
) -> np.ndarray:
    """Return a column of text as integers (unless they are no choice), else floats or text, as numbers are wanted."""
    try:
        if not integers:
            raise ValueError
        numbers = [int(cell) for cell in cells]
        # "01" is a number, but as a key it is another one than "1".
        if as_numbers or [str(number) for number in numbers] == cells:
            return np.array(numbers, np.int64)
    except (ValueError, OverflowError):
        pass
    if not as_numbers:
        return np.array(cells, dtype=str)
    values = np.empty(len(cells))
    for k, cell in enumerate(cells):
        text = cell.strip()
        place = f"value {cell!r} in row {first_row + k + 1} of column {name} of {path}"
        try:
            values[k] = np.nan if text in MISSING else float(text)
        except ValueError:
            raise InputError(f"unreadable {place}.") from None
        if "_" in text:
            raise InputError(f"unreadable {place}.")
        if abs(values[k]) >= EXACT and text.lstrip("+-").isdecimal() and int(text) != int(values[k]):
            raise InputError(f"{place} is an integer too large for float64, which the column's other cells need.")
    return values


def list_items(column: np.ndarray) -> list[Any]:
    """Return a column's elements as Python objects, dates as text (of nanoseconds Python would make integers)."""
    items: list[Any] = (column.astype(str) if column.dtype.kind in "mM" else column).tolist()
    return items


def _write_csv(file: IO[bytes], columns: Columns, path: Path) -> None:
    raw: Any = gzip.GzipFile(fileobj=file, mode="wb") if path.suffix.lower() == ".gz" else file
    text = io.TextIOWrapper(raw, "utf-8", newline="", write_through=True)
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows(zip(*(list_items(column) for column in columns.values()), strict=True))
    text.flush()
    text.detach()
    if raw is not file:
        raw.close()


def _write_npy(file: IO[bytes], columns: Columns, path: Path) -> None:  # noqa: ARG001
    np.save(file, list(columns.values())[-1])


def _write_npz(file: IO[bytes], columns: Columns, path: Path) -> None:  # noqa: ARG001
    np.savez(file, **columns)  # type: ignore[arg-type]


def _write_parquet(file: IO[bytes], columns: Columns, path: Path) -> None:
    parquet = import_parquet(path)
    import pyarrow

    arrays = {}
    for name, column in columns.items():
        try:
            arrays[name] = pyarrow.array(column)
        except pyarrow.ArrowNotImplementedError:
            raise InputError(f"{path} cannot hold column {name!r}: Parquet has no {column.dtype}.") from None
    parquet.write_table(pyarrow.table(arrays), file)


_READERS: dict[str, Callable[[Path, list[str]], Any]] = {
    "npy": _read_npy,
    "npz": _read_npz,
    "csv": _read_csv,
    "parquet": _read_parquet,
}
_WRITERS: dict[str, Callable[[IO[bytes], Columns, Path], None]] = {
    "npy": _write_npy,
    "npz": _write_npz,
    "csv": _write_csv,
    "parquet": _write_parquet,
}
