"""Run under callgrind by instructions.py: calls every cell and has the instructions of each call written down.

Counting begins after everything is imported and every call was made once.
"""

from __future__ import annotations

import ctypes
import gc
import json
import sys

from graft import graft

graft()

from segmax._bench.peers import segmax  # noqa: E402
from segmax._bench.problem import Problem  # noqa: E402


def main() -> None:
    """Read what is to be counted from standard input: a list of [name, problem]."""
    cells = [(name, Problem(**problem)) for name, problem in json.load(sys.stdin)]
    callgrind = ctypes.CDLL(sys.argv[1])
    runs = [(name.encode(), segmax(problem.make())) for name, problem in cells]
    for _, run in runs:
        run()
    gc.disable()
    callgrind.begin()
    for _, run in runs:  # once more: what callgrind meets first, it counts differently
        run()
    for name, run in runs:
        callgrind.reset()
        run()
        callgrind.write_down(name)


if __name__ == "__main__":
    main()
