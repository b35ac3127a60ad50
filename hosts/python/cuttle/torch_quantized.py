"""Rows in formats of few bits, for PyTorch, alone or after a norm or a gate in the same kernel; without gradients.

    q, scale = cuttle.torch.quantize(x, "fp8_blocks")
    q, scale, sum = cuttle.torch.rms_norm_quantized(x, weight, "fp8_rows", residual=residual)

Each is an operator of the language's module cuttle.rows, such as quantize_fp8_blocks. torch.compile takes them into
its graphs. Elements of "mxfp4" and "nvfp4" are uint8 (..., N/2), of two f4e2m1 each, the first in the low bits, as
those of torch.float4_e2m1fn_x2.
"""

from __future__ import annotations

from typing import Any, Dict, Tuple

from . import rows
from .packed import PER_BYTE
from .torch_define import define
from .torch_rows import expect_same

# The elements, the columns that have a scale together (0: all of the row), and the scales.
_FORMATS = {
    "fp8_rows": ("float8_e4m3fn", 0, "float32"),
    "int8_rows": ("int8", 0, "float32"),
    "fp8_blocks": ("float8_e4m3fn", 128, "float32"),
    "fp8_e5m2_blocks": ("float8_e5m2", 128, "float32"),
    "int8_blocks": ("int8", 128, "float32"),
    "mxfp8": ("float8_e4m3fn", 32, "float8_e8m0fnu"),
    "mxfp8_e5m2": ("float8_e5m2", 32, "float8_e8m0fnu"),
    "mxfp4": ("uint8", 32, "float8_e8m0fnu"),
    "nvfp4": ("uint8", 16, "float8_e4m3fn"),
}

# The arguments of what comes first, and how many tensors like x follow the scales; then come those of each row.
_FIRST = {
    "quantize": ("Tensor x", 0, 0),
    "rms_norm": ("Tensor x, Tensor weight, float epsilon", 0, 1),
    "add_rms_norm": ("Tensor x, Tensor residual, Tensor weight, float epsilon", 1, 1),
    "swiglu": ("Tensor gate, Tensor up", 0, 0),
}


def _quantized(x: Any, format: str) -> Tuple[Any, Any]:
    """The elements and the scales, empty."""
    import torch

    element, group, scale = _FORMATS[format]
    n = -(-x.shape[-1] // group) if group else 1
    return (x.new_empty((*x.shape[:-1], x.shape[-1] // PER_BYTE.get(format, 1)), dtype=getattr(torch, element)),
            x.new_empty((*x.shape[:-1], n), dtype=getattr(torch, scale)))


def _define(first: str, format: str, of: Tuple[str, int, int]) -> Any:
    arguments, n_like, n_once = of
    name = f"{first}_{format}"

    def outputs(x: Any, *_: Any) -> Tuple[Any, ...]:
        import torch

        return (*_quantized(x, format), *(x.new_empty(x.shape) for _ in range(n_like)),
                *(x.new_empty((*x.shape[:-1], 1), dtype=torch.float32) for _ in range(n_once)))

    def run(made: Tuple[Any, ...], *args: Any) -> None:
        getattr(rows, name)(*args, out=list(made))

    return define(name, arguments, outputs, 2 + n_like + n_once, run)


_ONLY = {"nvfp4": {"quantize": ("Tensor x, Tensor scale", 0, 0)}}  # where that is not _FIRST
_made: Dict[Tuple[str, str], Any] = {(first, format): _define(first, format, arguments) for format in _FORMATS
                                     for first, arguments in _ONLY.get(format, _FIRST).items()}


def _operator(first: str, format: str) -> Any:
    if (first, format) not in _made:
        known = ", ".join(name for of, name in _made if of == first)
        raise ValueError(f"{first}: format is {format!r}; expected one of {known}")
    return _made[first, format]


def quantize(x: Any, format: str = "fp8_blocks", scale: Any = None) -> Tuple[Any, Any]:
    """(elements, scales) of x (..., N): x is about an element times the scale of its row or block. `scale`: of all of
    the tensor, for "nvfp4" only, a number or a tensor of one; elements and scales are those of x / scale."""
    if (scale is None) == (format == "nvfp4"):
        raise ValueError(f"quantize: scale is {scale!r} and the format {format!r}; a scale of the whole tensor was "
                         "expected for 'nvfp4', and for no other")
    if scale is None:
        return _operator("quantize", format)(x)
    import torch

    one = torch.as_tensor(scale, dtype=torch.float32, device=x.device).reshape(1, 1)
    return _operator("quantize", format)(x, one)


def rms_norm_quantized(x: Any, weight: Any, format: str = "fp8_blocks", *, eps: float = 1e-6,
                       residual: Any = None) -> Tuple[Any, ...]:
    """(elements, scales) of rms_norm(x, weight). With `residual`, of the norm of the sum, and then the sum."""
    if residual is None:
        return _operator("rms_norm", format)(x, weight, eps)[:2]
    expect_same("rms_norm_quantized", x=x, residual=residual)
    return _operator("add_rms_norm", format)(x, residual, weight, eps)[:3]


def swiglu_quantized(gate: Any, up: Any, format: str = "fp8_blocks") -> Tuple[Any, Any]:
    """(elements, scales) of swiglu(gate, up)."""
    expect_same("swiglu_quantized", gate=gate, up=up)
    return _operator("swiglu", format)(gate, up)
