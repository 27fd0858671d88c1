"""torch.segment_reduce and Tensor.scatter_reduce_, as the maximum of each segment is usually written with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import dtype_of
from ..case import Case
from ..implementation import Implementation, import_optional
from ..subjects import decline_options

_REDUCIBLE = ("float16", "bfloat16", "float32", "float64")
_SCATTERABLE = (*_REDUCIBLE, "bool", "int8", "int16", "int32", "int64", "uint8")


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
    return "has floats only" if case.dtype not in _REDUCIBLE else _decline_call(case)


def _decline_scatter(case: Case) -> str:
    return f"has no maximum of {case.dtype}" if case.dtype not in _SCATTERABLE else _decline_call(case)


def _decline_call(case: Case) -> str:
    if decline_options(case) or case.family == "errors":
        return decline_options(case) or "errors are PyTorch's own"
    if len(case["segment_ids"].shape) != 1 or case["segment_ids"].dtype not in ("int32", "int64"):
        return "ids must be int32 or int64 of one dimension"
    return "" if isinstance(case["num_segments"], int) else "num_segments must be an int"
