"""Times whatever segmax is found first on the path with the workers of this checkout.

A revision that is older than `segmax._bench` has none of its own, and a comparison wants the same one on both sides:
this checkout's is put in its place. It uses the public functions of segmax and the table of dtypes alone.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

BENCH = Path(__file__).resolve().parent.parent / "segmax/_bench"


def graft() -> ModuleType:
    """Return segmax, with the `_bench` of this checkout in it."""
    import segmax

    if Path(segmax.__file__).resolve().parent / "_bench" == BENCH:
        return segmax  # it is its own
    spec = importlib.util.spec_from_file_location(
        "segmax._bench", BENCH / "__init__.py", submodule_search_locations=[str(BENCH)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["segmax._bench"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return segmax


if __name__ == "__main__":
    graft()
    from segmax._bench.worker import main

    main()
