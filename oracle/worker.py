"""The process of a `Remote`: `python -m segmax.oracle.worker FACTORY` answers pickled lists of cases, one by one.

What packages print while they are imported or used goes nowhere: answers have a pipe of their own.
"""

from __future__ import annotations

import importlib
import os
import pickle
import sys
import time
import traceback
from typing import BinaryIO

from .implementation import Answers, Implementation


def make(factory: str) -> Implementation:
    """Return what "module:function:argument" makes."""
    module, name, argument = factory.split(":", 2)
    implementation: Implementation = getattr(importlib.import_module(module), name)(argument)
    return implementation


def serve(factory: str, requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer until the other side has gone; a failure outside of a case is an answer too."""
    implementation = None
    while True:
        try:
            cases = pickle.load(requests)
        except EOFError:
            return
        try:
            implementation = implementation or make(factory)
            start = time.perf_counter()
            answer: Answers | str = Answers(implementation.answer(cases), time.perf_counter() - start)
        except Exception:
            answer = traceback.format_exc()
        pickle.dump(answer, answers, pickle.HIGHEST_PROTOCOL)
        answers.flush()


def main() -> None:
    """Serve on standard input and what was standard output."""
    answers = os.fdopen(os.dup(1), "wb")
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    serve(sys.argv[1], sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
