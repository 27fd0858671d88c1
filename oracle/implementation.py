"""An implementation: something with a name that answers cases, here or in a process of its own."""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

from .case import Case
from .functions import Functions
from .outcome import Outcome, perform


class MissingError(Exception):
    """An implementation that was asked for is not installed."""


@dataclass
class Answers:
    """The outcomes of some cases, in order, and the seconds that they took."""

    outcomes: list[Outcome]
    seconds: float


class Promise(Protocol):
    """Answers that may still be on their way."""

    def result(self) -> Answers:
        """Return the answers, once they are there."""


def accept_all(case: Case) -> str:  # noqa: ARG001
    """Decline nothing."""
    return ""


@dataclass
class Implementation:
    """Functions by operation, called in this process.

    `decline` says in words why a case cannot be asked ("" if it can): that is a limit of the implementation's domain,
    as opposed to a wrong answer.
    """

    name: str
    functions: Functions
    version: str = ""
    decline: Callable[[Case], str] = accept_all
    payloads: bool = False  #: whether the bits of a NaN count when it is the reference

    def declines(self, case: Case) -> str:
        """Return why this case cannot be asked, "" if it can."""
        if case.operation not in self.functions:
            return f"has no {case.operation}"
        return self.decline(case)

    def ask(self, case: Case) -> Outcome:
        """Return the outcome of one case."""
        return perform(self.functions[case.operation], case)

    def answer(self, cases: Sequence[Case]) -> list[Outcome]:
        """Return the outcomes of cases; to be replaced where cases are better answered together."""
        return [self.ask(case) for case in cases]

    def submit(self, cases: Sequence[Case]) -> Promise:
        """Promise answers."""
        return _Later(self, cases)

    def close(self) -> None:
        """Give back what the implementation holds."""


@dataclass
class _Later:
    """Answers that are worked out when they are wanted."""

    implementation: Implementation
    cases: Sequence[Case]

    def result(self) -> Answers:
        start = time.perf_counter()
        outcomes = self.implementation.answer(self.cases)
        return Answers(outcomes, time.perf_counter() - start)


@dataclass
class Remote(Implementation):
    """An implementation in a process of its own, for what only an environment variable set before import can change.

    `factory` is "module:function:argument" of what makes the implementation there.
    """

    factory: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    _process: subprocess.Popen[bytes] | None = None
    _line: ThreadPoolExecutor | None = None

    def start(self) -> None:
        """Start the process, so that it gets ready while other things are done."""
        if self._process is None:
            command = [sys.executable, "-m", f"{__package__}.worker", self.factory]
            environment = os.environ | self.environment
            self._process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self._line = ThreadPoolExecutor(1)
            self._line.submit(self._ask, pickle.dumps([]))

    def submit(self, cases: Sequence[Case]) -> Promise:
        """Promise answers of the process."""
        self.start()
        assert self._line is not None
        return self._line.submit(self._ask, pickle.dumps(list(cases), pickle.HIGHEST_PROTOCOL))

    def _ask(self, cases: bytes) -> Answers:
        """Send pickled cases to the process and wait for what it answers."""
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(cases)
            self._process.stdin.flush()
            answer = pickle.load(self._process.stdout)
        except (EOFError, OSError) as error:
            raise RuntimeError(f"The process of {self.name} has ended with status {self._process.wait()}.") from error
        if isinstance(answer, str):
            raise RuntimeError(f"{self.name} failed in its process:\n{answer}")
        assert isinstance(answer, Answers)
        return answer

    def answer(self, cases: Sequence[Case]) -> list[Outcome]:
        """Return the process's outcomes."""
        return self.submit(cases).result().outcomes

    def ask(self, case: Case) -> Outcome:
        """Return the process's outcome of one case."""
        return self.answer([case])[0]

    def close(self) -> None:
        """End the process."""
        if self._process is not None and self._line is not None:
            self._line.shutdown(cancel_futures=True)
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            with contextlib.suppress(BrokenPipeError):  # what a process that has ended did not read
                self._process.stdin.close()
            self._process.wait()
            self._process.stdout.close()
            self._process = self._line = None


def import_optional(name: str) -> Any:
    """Return a module; raise MissingError with the way out if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise MissingError(f"{package} is not installed ({error}); `pip install {package}` or leave it out.") from error
