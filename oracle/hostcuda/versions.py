"""The CuPy versions that hostcuda knows: it relies on their private interfaces, so each was tried."""

from __future__ import annotations

from importlib import metadata

#: The only list of them; pyproject.toml pins the last one.
SUPPORTED = ("14.2.0",)
_DISTRIBUTIONS = ("cupy-cuda12x", "cupy-cuda13x")


class UnsupportedError(RuntimeError):
    """Hostcuda cannot run on this machine or with its packages; the message says what is missing."""


def check_cupy() -> None:
    """Raise UnsupportedError unless a supported CuPy is installed."""
    wanted = f"hostcuda needs CuPy {' or '.join(SUPPORTED)}"
    found = {}
    for name in _DISTRIBUTIONS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    if not found:
        raise UnsupportedError(
            f"{wanted}, and neither {' nor '.join(_DISTRIBUTIONS)} is installed: pip install 'segmax[gpu-check]'"
        )
    for name, version in found.items():
        if version not in SUPPORTED:
            raise UnsupportedError(f"{wanted}, but {name} is {version}: pip install '{name}=={SUPPORTED[-1]}'")
