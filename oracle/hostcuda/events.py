"""The log: what CuPy asked of the device, in order."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar


@dataclasses.dataclass(frozen=True)
class Launch:
    """A kernel launch; `stream` is the handle that a CuPy stream has as `ptr`, `shared` is in bytes."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    stream: int
    shared: int


@dataclasses.dataclass(frozen=True)
class Copy:
    """A copy of so many bytes; at either end there is the device or the host."""

    bytes: int
    from_device: bool
    to_device: bool
    stream: int


@dataclasses.dataclass(frozen=True)
class Fill:
    """A cudaMemset."""

    bytes: int
    stream: int


@dataclasses.dataclass(frozen=True)
class Allocation:
    """A piece of device memory. There is no pool here: each array asks for its own."""

    bytes: int


@dataclasses.dataclass(frozen=True)
class Synchronization:
    """The host waits for a "device", a "stream" or an "event"."""

    what: str
    handle: int


Event = Launch | Copy | Fill | Allocation | Synchronization
_Some = TypeVar("_Some", bound=Event)
_CLASSES: dict[str, type[Event]] = {
    "launch": Launch,
    "copy": Copy,
    "fill": Fill,
    "allocation": Allocation,
    "synchronization": Synchronization,
}
#: cupy_api.cpp appends a tuple per event: the name of its class, then its fields.
RAW: list[tuple[Any, ...]] = []


def events() -> list[Event]:
    """Return all events since `clear_events`."""
    return [_CLASSES[name](*fields) for name, *fields in RAW]


def events_of(kind: type[_Some]) -> list[_Some]:
    """Return the events of one class."""
    return [event for event in events() if isinstance(event, kind)]


def launches() -> list[Launch]:
    """Return the kernel launches since `clear_events`."""
    return events_of(Launch)


def clear_events() -> None:
    """Forget the events so far."""
    RAW.clear()
