"""Segments: operation x dtype x shape x lengths x threads. One dtype and size per timing, outputs touched."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import segmax
from segmax._bench.problem import Problem

#: Rows by width: about four million elements.
_ROWS = {1: 4_000_000, 2: 2_000_000, 4: 1_000_000, 16: 250_000, 128: 31_250}
_WHOLE = ["bool", "int8", "uint16", "int32", "int64", "datetime64"]


class Segments:
    """What all have in common: arrays made before the clock starts."""

    timeout = 120
    problem = Problem("float32", _ROWS[1], 1, "32")

    def make(self, threads: int = 1, options: dict | None = None, **changes: object) -> None:
        """Make the arrays of a problem."""
        problem = replace(self.problem, **changes)
        arrays = problem.make()
        segmax.set_num_threads(threads)
        name = problem.operation if problem.order == "sorted" else f"unsorted_{problem.operation}"
        self.function = getattr(segmax, name)
        self.arguments = (arrays.values, arrays.ids, arrays.count)
        self.options = options or {}
        self.run()

    def run(self) -> np.generic:
        """Call, and touch the output: its last page, too, has to be there."""
        out = self.function(*self.arguments, **self.options)
        return out.reshape(-1)[:: max(1, 1024 // out.itemsize)].any()


class Shapes(Segments):
    """Width of a row x lengths of segments x threads."""

    param_names = ("width", "lengths", "threads")
    params = ([1, 2, 4, 16, 128], ["each", "even:4", "even:32", "even:1000", "skewed", "giant", "empty"], [1, 2])

    def setup(self, width: int, lengths: str, threads: int) -> None:
        self.make(threads, width=width, rows=_ROWS[width], lengths=lengths)

    def time_segment_max(self, width: int, lengths: str, threads: int) -> None:
        self.run()


class Dtypes(Segments):
    """Operation x dtype, rows of one element and of 64."""

    param_names = ("operation", "dtype", "width")
    params = (
        ["segment_max", "segment_min", "segment_argmax"],
        [*_WHOLE, "float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "complex64", "longdouble"],
        [1, 64],
    )

    def setup(self, operation: str, dtype: str, width: int) -> None:
        self.make(operation=operation, dtype=dtype, width=width, rows=1_000_000 // width)

    def time_operation(self, operation: str, dtype: str, width: int) -> None:
        self.run()


class Sizes(Segments):
    """Rows, from a call that is all overhead to one that is all memory."""

    param_names = ("rows", "ids")
    params = ([8, 1_000, 100_000, 10_000_000], ["int32", "int64"])

    def setup(self, rows: int, ids: str) -> None:
        self.make(rows=rows, ids=ids, lengths="even:4")

    def time_segment_max(self, rows: int, ids: str) -> None:
        self.run()


class Unsorted(Segments):
    """Ids in no order, by the number of segments."""

    param_names = ("lengths", "threads")
    params = (["1", "32", "1000", "40000"], [1, 2])

    def setup(self, lengths: str, threads: int) -> None:
        self.make(threads, lengths=lengths, order="shuffled")

    def time_unsorted_segment_max(self, lengths: str, threads: int) -> None:
        self.run()


class Options(Segments):
    """What is not the plain call: none of it may be a cliff."""

    param_names = ("option",)
    params = ("plain", "omit", "where", "indptr", "strided", "fortran")

    def setup(self, option: str) -> None:
        self.make(width=16, rows=_ROWS[16], options={"nan": "omit"} if option == "omit" else None)
        values, ids, count = self.arguments
        if option == "where":
            self.options = {"where": np.arange(len(ids))[:, None] % 3 > 0}
        elif option == "indptr":
            self.arguments, self.options = (values,), {"indptr": np.searchsorted(ids, np.arange(count + 1))}
        elif option == "strided":
            self.arguments = (np.repeat(values, 2, axis=0)[::2], ids, count)
        elif option == "fortran":
            self.arguments = (np.asfortranarray(values), ids, count)

    def time_option(self, option: str) -> None:
        self.run()

    def peakmem_option(self, option: str) -> None:
        self.run()


class Memory(Segments):
    """Peak memory of the process, the arrays included: 16 MB of ids and 16 MB of data are there in any case."""

    param_names = ("lengths", "order")
    params = (["each", "even:32"], ["sorted", "shuffled"])

    def setup(self, lengths: str, order: str) -> None:
        self.make(2, lengths=lengths, order=order)

    def peakmem_segment_max(self, lengths: str, order: str) -> None:
        self.run()
