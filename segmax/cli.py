"""The command line: `segmax reduce` reduces columns of a file by group, `segmax info` shows the configuration.

`segmax bench` times segment_max beside its peers, `segmax verify` compares its results with what others compute.
"""

from __future__ import annotations

import argparse
import importlib
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import _segment
from ._dispatch import show_config
from ._files import reduce_file
from ._groups import group_rows
from ._tables import Columns, InputError, list_items, open_whole, read_columns, write_columns

_OPERATIONS = {
    "max": _segment.segment_max,
    "min": _segment.segment_min,
    "argmax": _segment.segment_argmax,
    "argmin": _segment.segment_argmin,
}


def _find_segments(columns: Columns, arguments: argparse.Namespace) -> tuple[dict[str, Any], Columns]:
    """Return the options that say where segments are, and the columns that label them."""
    if arguments.indptr:
        return {"indptr": columns[arguments.indptr]}, {}
    if arguments.ids:
        ids = columns[arguments.ids]
        is_sorted = arguments.order == "sorted"
        if arguments.order == "auto":
            flat = ids.reshape(-1)
            is_sorted = not (flat[1:] < flat[:-1]).any()
        options = {"segment_ids": ids, "indices_are_sorted": bool(is_sorted), "num_segments": arguments.num_segments}
        return options, {}
    rows = columns[arguments.value].shape[:1]
    for name in arguments.key:
        if columns[name].shape != rows:
            raise InputError(
                f"key {name} has shape {columns[name].shape}, {arguments.value} has {columns[arguments.value].shape}; "
                "give one key per row."
            )
    ids, labels, in_order = group_rows([columns[name] for name in arguments.key], arguments.order)
    options = {"segment_ids": ids, "num_segments": len(labels[0]), "indices_are_sorted": in_order}
    return options, dict(zip(arguments.key, labels, strict=True))


def _reduce(arguments: argparse.Namespace) -> int:
    """Do `segmax reduce`."""
    path = Path(arguments.file)
    files = {name: Path(name) for name in (arguments.ids, arguments.indptr) if name and name.endswith(".npy")}
    value = arguments.value or "value"
    if arguments.value is None and path.suffix != ".npy":
        raise InputError(f"--value is missing: which column of {path} is to be reduced?")
    if arguments.plot and not arguments.plot.endswith((".png", ".svg", ".pdf")):
        raise InputError(f"--plot {arguments.plot} ends in none of .png, .svg and .pdf.")
    if arguments.num_segments is not None and not arguments.ids:
        raise InputError("--num-segments goes with --ids: keys and offsets say themselves how many groups there are.")
    if arguments.limit < 0:
        raise InputError(f"--limit is {arguments.limit}; give 0 or more.")
    names = [value, *(arguments.key or ()), *(n for n in (arguments.ids, arguments.indptr) if n and n not in files)]
    if path.suffix == ".npy" and len(names) > 1:
        raise InputError(
            f"{path} holds one array; give the segments as another file: --ids FILE.npy or --indptr FILE.npy."
        )
    if arguments.memory_limit is None:
        table, result = _reduce_whole(path, value, names, files, arguments)
    else:
        table, result = _reduce_blocks(path, arguments)
    if not table:
        table = {"segment": np.arange(len(result))}
    title = f"{arguments.op} of {value}"
    wide = result.reshape(len(result), math.prod(result.shape[1:]))
    results = {title if wide.shape[1] == 1 else f"{title}[{j}]": wide[:, j] for j in range(wide.shape[1])}
    for name in results.keys() & table.keys():
        raise InputError(f"column {name!r} has the name of the result; rename it.")
    table |= results
    print_table(table, arguments.limit)
    if arguments.output:
        write_columns(Path(arguments.output), table if not arguments.output.endswith(".npy") else {"result": result})
        print(f"wrote {arguments.output}")
    if arguments.plot:
        plot_table(table, title, Path(arguments.plot))
        print(f"wrote {arguments.plot}")
    return 0


def _reduce_whole(
    path: Path, value: str, names: list[str], files: dict[str, Path], arguments: argparse.Namespace
) -> tuple[Columns, np.ndarray]:
    """Return labels and result of columns that are read whole."""
    columns = read_columns(path, names, [value])
    for name, file in files.items():
        columns |= read_columns(file, [name], [])
    if not (arguments.key or arguments.ids or arguments.indptr):
        raise InputError("give one of --key, --ids and --indptr: what are the groups?")
    options, table = _find_segments(columns, arguments)
    return table, _OPERATIONS[arguments.op](columns[value], nan=arguments.nan, **options)


def _reduce_blocks(path: Path, arguments: argparse.Namespace) -> tuple[Columns, np.ndarray]:
    """Return labels and result of columns that are read in blocks."""
    return reduce_file(
        path,
        arguments.value,
        key=arguments.key or (),
        ids=arguments.ids,
        indptr=arguments.indptr,
        op=arguments.op,
        num_segments=arguments.num_segments,
        order=arguments.order,
        nan=arguments.nan,
        memory_limit=arguments.memory_limit,
        progress=True,
    )


def print_table(table: Columns, limit: int) -> None:
    """Print columns side by side: numbers to the right, text to the left, the first `limit` rows."""
    rows = len(next(iter(table.values())))
    shown = min(rows, limit)
    cells = {name: [f"{item}" for item in list_items(column[:shown])] for name, column in table.items()}
    widths = {name: max([len(name), *map(len, texts)]) for name, texts in cells.items()}
    right = {name: column.dtype.kind not in "OUST" for name, column in table.items()}

    def line(texts: Sequence[str]) -> str:
        pairs = zip(cells, texts, strict=True)
        return "  ".join(t.rjust(widths[n]) if right[n] else t.ljust(widths[n]) for n, t in pairs).rstrip()

    print(line(list(cells)))
    print(line(["-" * width for width in widths.values()]))
    for row in zip(*cells.values(), strict=True):
        print(line(row))
    if shown < rows:
        print(f"... {rows - shown} more of {rows} (--limit)")


def plot_table(table: Columns, title: str, path: Path) -> None:
    """Draw the last column over the groups and save it."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise InputError("--plot needs matplotlib: pip install 'segmax[plot]'.") from None
    mpl.use("Agg")
    from matplotlib import pyplot

    *keys, (_, values) = table.items()
    if values.dtype.kind == "c":
        raise InputError(f"--plot cannot draw {values.dtype}.")
    figure, axes = pyplot.subplots(figsize=(10, 4.5), layout="constrained")
    places = np.arange(len(values))
    is_date = values.dtype.kind == "M"
    days = (values - np.datetime64(0, "D")) / np.timedelta64(1, "D") if is_date else values  # matplotlib counts days
    heights = days.astype(float)
    heights = np.where(np.isfinite(values), heights, np.nan)  # a gap
    if len(values) <= 40 and keys:
        axes.bar(places, heights, color="#3b6fb6", width=0.8)
        axes.set_xticks(
            places, ["\n".join(map(str, labels)) for labels in zip(*(c.tolist() for _, c in keys), strict=True)]
        )
    else:
        axes.fill_between(places, heights, step="mid", color="#3b6fb6", alpha=0.25, lw=0)
        axes.step(places, heights, where="mid", color="#3b6fb6", lw=1)
        axes.set_xlim(-0.5, len(values) - 0.5)
    if is_date:
        axes.yaxis_date()
    axes.set_xlabel(", ".join(name for name, _ in keys))
    axes.set_title(title, loc="left")
    axes.grid(axis="y", color="#dddddd", lw=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    try:
        with open_whole(path) as file:
            figure.savefig(file, dpi=120, format=path.suffix[1:])
    finally:
        pyplot.close(figure)


def _show_info(arguments: argparse.Namespace) -> int:  # noqa: ARG001
    """Do `segmax info`."""
    show_config()
    return 0


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    from ._bench import command as bench  # here: nobody else pays for it

    parser = argparse.ArgumentParser(prog="segmax", description="Maxima of segments, fast and exact.")
    commands = parser.add_subparsers(dest="command", required=True)
    reduce = commands.add_parser("reduce", help="reduce a column of a file by group")
    reduce.set_defaults(run=_reduce)
    reduce.add_argument("file", help=".npy, .npz, .csv, .csv.gz or .parquet")
    reduce.add_argument("--value", metavar="NAME", help="column or array to reduce (not for .npy)")
    groups = reduce.add_mutually_exclusive_group()
    groups.add_argument("--key", metavar="NAME", action="append", help="column of group keys; several make one key")
    groups.add_argument("--ids", metavar="NAME", help="column, array or .npy file of segment ids")
    groups.add_argument("--indptr", metavar="NAME", help="array or .npy file of offsets")
    reduce.add_argument("--op", choices=list(_OPERATIONS), default="max", help="what to compute (default: max)")
    reduce.add_argument(
        "--nan", choices=["propagate", "omit"], default="propagate", help="what a NaN does to its group"
    )
    reduce.add_argument("--num-segments", type=int, metavar="N", help="number of segments (with --ids)")
    reduce.add_argument(
        "--order", choices=["auto", "sorted", "unsorted"], default="auto", help="whether groups stand together"
    )
    reduce.add_argument(
        "--output", metavar="FILE", help="write the table, by the end of its name: .csv, .parquet, .npy, .npz"
    )
    reduce.add_argument("--plot", metavar="FILE.png", help="draw the result")
    reduce.add_argument(
        "--memory-limit", metavar="SIZE", help="read in blocks, in as much memory: 300MB, 2GiB (not for .npz)"
    )
    reduce.add_argument("--limit", type=int, default=20, metavar="ROWS", help="rows to print (default: 20)")
    # Its options are the oracle's, which is imported only by this subcommand; `main` hands them on.
    commands.add_parser("verify", help="compare with references, bit for bit", add_help=False)
    info = commands.add_parser("info", help="show versions, CPU level, threads and optional packages")
    info.set_defaults(run=_show_info)
    bench.add_options(commands.add_parser("bench", help="time segment_max beside every peer that is installed"))
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, 2 for input that cannot be used, 130 if interrupted, or what `verify` says."""
    argv = sys.argv[1:] if argv is None else list(argv)
    if argv[:1] == ["verify"]:
        return int(importlib.import_module(".oracle.command", __package__).main(argv[1:]))
    arguments = build_parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except BrokenPipeError:
        # Whoever read our output has had enough. Python would complain of it once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("segmax: interrupted; no output was written.", file=sys.stderr)
        return 130
    except (InputError, ValueError, TypeError, OverflowError, MemoryError) as error:
        sentence = str(error) or "there is not enough memory; try --memory-limit."  # MemoryError says nothing
        print(f"segmax: {sentence}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
