"""torch.segment_reduce and Tensor.scatter_reduce_, as the maximum of each segment is usually written with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import dtype_of
from ..case import Case
from ..implementation import Implementation, import_optional
from .domain import decline_call, decline_memory

_REDUCIBLE = ("float16", "bfloat16", "float32", "float64")
_ID_DTYPES = ("int8", "int16", "int32", "int64", "uint8")
_SCATTERABLE = (*_REDUCIBLE, *_ID_DTYPES, "bool")

#: The greatest id whose segments may be counted.
_COUNTABLE = 10**6


def load(name: str) -> Implementation:
    """Return one of the two ways."""
    torch = import_optional("torch")

    def to_tensor(array: np.ndarray) -> Any:
        array = np.array(array, order="C")
        if array.dtype == dtype_of("bfloat16"):
            return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
        return torch.from_numpy(array)

    def to_array(tensor: Any) -> np.ndarray:
        if tensor.dtype == torch.bfloat16:
            return tensor.view(torch.int16).numpy().view(dtype_of("bfloat16"))  # type: ignore[no-any-return]
        return tensor.numpy()  # type: ignore[no-any-return]

    def reduce(data: Any, segment_ids: Any, num_segments: Any) -> np.ndarray:
        lengths = torch.bincount(to_tensor(segment_ids), minlength=num_segments)
        return to_array(torch.segment_reduce(to_tensor(data), "max", lengths=lengths, unsafe=False))

    def scatter(data: Any, segment_ids: Any, num_segments: Any) -> np.ndarray:
        values, ids = to_tensor(data), to_tensor(segment_ids).long()
        ids = ids.reshape(-1, *(1,) * (values.ndim - 1)).expand(values.shape)
        whole = values.dtype in (torch.bool, torch.uint8)
        lowest = 0 if whole else (torch.finfo if values.dtype.is_floating_point else torch.iinfo)(values.dtype).min
        out = torch.full((num_segments, *values.shape[1:]), lowest, dtype=values.dtype)
        return to_array(out.scatter_reduce_(0, ids, values, "amax"))

    if name == "torch.segment_reduce":
        return Implementation(name, {"segment_max": reduce}, torch.__version__, _decline_reduce)
    functions = {"segment_max": scatter, "unsorted_segment_max": scatter}
    return Implementation(name, functions, torch.__version__, _decline_scatter)


def _decline_reduce(case: Case) -> str:
    if case.dtype not in _REDUCIBLE:
        return "has floats only"
    reason = _decline_call(case)
    if not reason and max(case["segment_ids"].plain.tolist(), default=0) > _COUNTABLE:
        return f"torch.bincount of ids above {_COUNTABLE} takes too much memory"
    return reason


def _decline_scatter(case: Case) -> str:
    return f"has no maximum of {case.dtype}" if case.dtype not in _SCATTERABLE else _decline_call(case)


def _decline_call(case: Case) -> str:
    reason = decline_call(case, "PyTorch's") or decline_memory(case)
    if reason:
        return reason
    if len(case["segment_ids"].shape) != 1:
        return "ids must have one dimension"
    if case["segment_ids"].dtype not in _ID_DTYPES:
        return f"takes no ids of {case['segment_ids'].dtype}"
    return "" if isinstance(case["num_segments"], int) else "num_segments must be an int"
