"""The contract in code: always there, and the arbiter where references disagree."""

from __future__ import annotations

from ... import _reference
from ..functions import find_functions
from ..implementation import Implementation


def load(name: str) -> Implementation:
    """Return the slow model."""
    return Implementation(name, find_functions(_reference), "segmax._reference", payloads=True)
