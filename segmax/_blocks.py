"""Columns of a file in blocks of bounded size: .npy, CSV (also gzip) and Parquet."""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ._tables import (
    EXACT,
    MISSING,
    UNREADABLE,
    Columns,
    InputError,
    check_header,
    convert_arrow,
    import_parquet,
    iterate_csv,
    kind_of,
    open_shown,
    parse_cells,
    pick,
)

#: Whole numbers as `str` writes them and int64 holds them.
_INTEGER = r"^(0|-?[1-9][0-9]{0,17})$"

#: Numbers that Arrow and Python read alike.
_FLOAT = r"^-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"

#: Bytes that a cell of text is taken for, until rows can be counted.
_CELL = 32


class OtherKindError(Exception):
    """A column that began as integers and is found not to be: it must be read again, as another kind from the start."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class NpyFile:
    """An array in a .npy file, of which rows are read and never the whole.

    Rows are read, not mapped: a mapping of the whole file would count as memory where memory is limited, and a file
    that is cut short while it is mapped ends the process.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise InputError(f"{path} does not exist or is no file.")
        with contextlib.ExitStack() as stack:
            try:
                self._file = stack.enter_context(path.open("rb"))
                version = np.lib.format.read_magic(self._file)
                read = np.lib.format.read_array_header_1_0 if version[0] == 1 else np.lib.format.read_array_header_2_0
                self.shape, self._fortran, self.dtype = read(self._file)
            except (*UNREADABLE, AttributeError) as error:
                raise InputError(f"{path} cannot be read as npy: {error}") from error
            if self.dtype.hasobject:
                raise InputError(f"{path} holds Python objects, which are not read from files.")
            self.path, self._offset = path, self._file.tell()
            size, wanted = path.stat().st_size, self._offset + self.nbytes
            if size < wanted:
                raise self._short_error(size, wanted)
            self.row_bytes = max(1, math.prod(self.shape[1:]) * self.dtype.itemsize)
            stack.pop_all()  # from here on, whoever made this closes it

    def _short_error(self, size: int, wanted: int) -> InputError:
        return InputError(f"{self.path} is cut short: it has {size} bytes, and its header speaks of {wanted}.")

    def read(self, first: int, last: int) -> np.ndarray:
        """Return some rows; of an array without dimensions, all."""
        if self._fortran and len(self.shape) > 1:
            mapped = np.memmap(self.path, self.dtype, "r", self._offset, self.shape, "F")
            return np.array(mapped[first:last], order="C")
        shape = (last - first, *self.shape[1:]) if self.shape else ()
        buffer = np.empty(math.prod(shape) * self.dtype.itemsize, np.uint8)
        self._file.seek(self._offset + (first * self.row_bytes if self.shape else 0))
        got = self._file.readinto(buffer.data) if buffer.size else 0
        if got < buffer.size:
            raise self._short_error(self._offset + first * self.row_bytes + got, self._offset + self.nbytes)
        return buffer.view(self.dtype).reshape(shape) if buffer.size else np.empty(shape, self.dtype)

    @property
    def nbytes(self) -> int:
        """Bytes of the whole array."""
        return math.prod(self.shape) * self.dtype.itemsize

    def close(self) -> None:
        """Close the file."""
        self._file.close()


@dataclass(frozen=True)
class Request:
    """What is wanted of a file."""

    names: list[str]  #: columns to read; a .npy file has one, whatever its name
    numbers: set[str]  #: those that must be numbers
    other_kinds: set[str]  #: those of which an `OtherKindError` said that not all cells are integers
    block_bytes: int  #: about how much a block may take
    progress: bool = False  #: whether to show a bar, if tqdm is installed and somebody watches


def read_blocks(path: Path, request: Request) -> Iterator[Columns]:
    """Yield the wanted columns of a file, some rows at a time, at least once.

    Raises
    ------
    OtherKindError
        A column whose dtype would not be that of the blocks before. Begin again.
    InputError
        What cannot be read.
    """
    kind = kind_of(path)
    if kind == "npz":
        raise InputError(f"{path} is packed and can be read only whole: leave out --memory-limit, or save it as .npy.")
    if not path.is_file():
        raise InputError(f"{path} does not exist or is no file.")
    try:
        with _show_rows(path, kind, request) as advance:
            for block in _READERS[kind](path, request):
                first = block[request.names[0]]
                advance(len(first) if first.ndim else 1)
                yield block
    except UNREADABLE as error:
        raise InputError(f"{path} cannot be read as {kind}: {error}") from error


def count_rows(path: Path) -> int | None:
    """Return how many rows a file has, None where only reading it would tell."""
    kind = kind_of(path)
    try:
        if kind == "parquet":
            return int(import_parquet(path).ParquetFile(path).metadata.num_rows)
        if kind == "npy":
            with contextlib.closing(NpyFile(path)) as array:
                return array.shape[0] if array.shape else 1
    except UNREADABLE as error:
        raise InputError(f"{path} cannot be read as {kind}: {error}") from error
    return None


@contextlib.contextmanager
def _show_rows(path: Path, kind: str, request: Request) -> Iterator[Callable[[int], Any]]:
    """Give a function that is told of rows and moves a bar, if one is wanted; that of CSV, of bytes, is elsewhere."""
    bar: Any = None
    if request.progress and kind != "csv" and sys.stderr.isatty():
        with contextlib.suppress(ImportError):
            from tqdm import tqdm

            bar = tqdm(total=count_rows(path), desc=f"reading {path.name}", unit=" rows", unit_scale=True)
    try:
        yield (lambda _: None) if bar is None else bar.update
    finally:
        if bar is not None:
            bar.close()


def _read_npy(path: Path, request: Request) -> Iterator[Columns]:
    with contextlib.closing(NpyFile(path)) as array:
        rows = array.shape[0] if array.shape else 1
        step = max(1, request.block_bytes // array.row_bytes)
        for first in range(0, max(rows, 1), step):
            yield dict.fromkeys(request.names, array.read(first, min(first + step, rows)))


def _read_parquet(path: Path, request: Request) -> Iterator[Columns]:
    parquet = import_parquet(path)
    import pyarrow

    names = request.names
    with parquet.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False) as file:
        schema = file.schema_arrow
        pick(schema.names, names, path)
        widths = []
        for name in names:
            try:
                widths.append(max(1, schema.field(name).type.bit_width // 8))
            except ValueError:
                widths.append(_CELL)
        step = max(1024, request.block_bytes // sum(widths))
        first = 0
        empty = schema.empty_table().select(names).to_batches() or [
            pyarrow.RecordBatch.from_pylist([], pyarrow.schema([schema.field(name) for name in names]))
        ]
        batches = file.iter_batches(step, columns=names, use_threads=False)
        for batch in itertools.chain(batches, empty):  # an empty one, so that there is a dtype in any case
            block = {}
            for name in names:
                column = pyarrow.chunked_array([batch.column(name)])
                as_float = name in request.other_kinds
                if column.null_count and pyarrow.types.is_integer(column.type) and not as_float:
                    raise OtherKindError(name)
                block[name] = convert_arrow(column, name, path, first, as_float)
                if name in request.numbers and block[name].dtype.kind in "OUS" and batch.num_rows:
                    raise InputError(f"column {name} of {path} holds {block[name].dtype}, not numbers.")
            if batch.num_rows or not first:
                yield block
            first += batch.num_rows


def _read_csv(path: Path, request: Request) -> Iterator[Columns]:
    first = 0
    for cells in _read_cells(path, request):
        block = {}
        for name in request.names:
            integers = name not in request.other_kinds
            block[name] = _parse(cells[name], name, path, name in request.numbers, first, integers)
            if integers and block[name].dtype.kind != "i":
                raise OtherKindError(name)
        yield block
        first += len(block[request.names[0]])


def _read_cells(path: Path, request: Request) -> Iterator[Mapping[str, Any]]:
    """Yield columns of text: Arrow's where it is installed, else lists."""
    names = request.names
    rows = max(1024, request.block_bytes // (_CELL * 4 * len(names)))
    try:
        import pyarrow
        import pyarrow.csv
    except ImportError:
        yield from iterate_csv(path, names, rows, request.progress)
        return
    with open_shown(path, request.progress) as raw:
        header = _read_header(path)
        check_header(header, path, names)
        text = pyarrow.string()
        try:
            batches = pyarrow.csv.open_csv(
                raw,
                pyarrow.csv.ReadOptions(
                    use_threads=False, block_size=max(1 << 16, min(request.block_bytes // 4, 1 << 24))
                ),
                pyarrow.csv.ParseOptions(newlines_in_values=True),
                pyarrow.csv.ConvertOptions(include_columns=names, column_types=dict.fromkeys(names, text)),
            )
            given = False
            for batch in batches:
                given = True
                yield {name: batch.column(name) for name in names}
            if not given:
                yield {name: [] for name in names}
        except pyarrow.ArrowInvalid as error:
            for _ in iterate_csv(path, names, rows, False):  # which knows the row
                pass
            raise InputError(f"{path} cannot be read as csv: {' '.join(str(error).split())}") from error


def _read_header(path: Path) -> list[str] | None:
    """Return the first row of a CSV file."""
    with open_shown(path, False) as raw:
        text = io.TextIOWrapper(io.BytesIO(raw.read(1 << 20)), "utf-8-sig", "replace", newline="")
        return next(csv.reader(text), None)


def _parse(cells: Any, name: str, path: Path, as_numbers: bool, first_row: int, integers: bool) -> np.ndarray:
    """Return cells as `parse_cells` does, by Arrow where both would say the same."""
    if not isinstance(cells, list):
        import pyarrow
        from pyarrow import compute

        def fits(pattern: str) -> bool:
            return bool(compute.all(compute.match_substring_regex(cells, pattern), min_count=0).as_py())

        if integers and fits(_INTEGER):
            return np.asarray(cells.cast(pyarrow.int64()).to_numpy(zero_copy_only=False))
        if as_numbers and not integers:
            absent = compute.is_in(cells, pyarrow.array(MISSING))
            known = compute.if_else(absent, pyarrow.scalar(None, pyarrow.string()), cells)
            if fits(f"{_FLOAT}|^(?:{'|'.join(MISSING)})$"):
                values = np.asarray(known.cast(pyarrow.float64()).to_numpy(zero_copy_only=False))
                values = np.where(absent.to_numpy(zero_copy_only=False), np.nan, values)
                if not (np.abs(values) >= EXACT).any():
                    return values
        cells = cells.to_pylist()
    return parse_cells(cells, name, path, as_numbers, first_row, integers)


_READERS: dict[str, Callable[[Path, Request], Iterator[Columns]]] = {
    "npy": _read_npy,
    "csv": _read_csv,
    "parquet": _read_parquet,
}
