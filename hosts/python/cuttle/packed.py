"""Weights of few bits, for tensors of any library: see the section about them in the language's docs/matmul.md.

    w = cuttle.packed.pack_weights(codes, scales, "u4")      # uint8 (N, K), or int32 (N, K/8)
    y = cuttle.packed.matmul(x, w)                           # x @ W.T
    w = cuttle.packed.quantize_weights(W, "nf4", group=64)
    w = cuttle.packed.pack_weights(blocks, scales, "mxfp4")  # uint8 (N, K/2) and (N, K/32)

Weights of groups, as of a layer of experts, are (E, N, K).
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple, Optional, Tuple

from .default import state
from .library import _result
from .operators import check_tensors

__all__ = ["PackedWeight", "dequantize", "matmul", "pack_weights", "quantize_weights"]

_CALL = """local packed = require "cuttle.packed_weights"
local function last(t) return t and rank(t) == 3 and select(t, 1, 2, 0) or t end
local function first(t) return rank(t) == 3 and select(t, 2, 0, 1) or t end
local function flat(t) return view(t, size(t)) end
-- Packing is not in the caller's stream: what that has begun ends before, and packing before it goes on.
local function apart(options, f, ...)
  if not (options and options.stream) then return f(...) end
  synchronize()
  local results = table.pack(f(...))
  synchronize()
  return table.unpack(results, 1, results.n)
end
local scale_types = {mxfp4 = f8ue8m0, nvfp4 = f8ue4m3} -- of formats whose bytes have two codes
local function pack(codes, scales, points, name)
  local narrow = scale_types[name]
  if narrow then codes, name = recast(codes, f4e2m1), "f4e2m1" end
  if narrow or scales.dtype == u8 then scales = recast(scales, narrow or f8ue8m0) end
  local w = packed.pack_weights(last(codes),
    {type = name ~= "" and name or nil, scales = last(scales), zero_points = last(points)})
  return w.type, w.most_zero, w.spread, recast(flat(w.codes), i32), flat(w.scales),
    w.zeros and recast(flat(w.zeros), i32)
end
function _packed_pack(codes, scales, points, name, options)
  return apart(options, pack, codes, scales, points, name)
end
local function quantize(W, how)
  if how.type == "mxfp4" then how.type, how.group, how.scale_type = "f4e2m1", 32, f8ue8m0 end
  local codes, scales, points = packed.quantize_weights(last(W), how)
  return first(codes), first(scales), points and first(points)
end
function _packed_quantize(W, name, group, zero_points, options)
  return apart(options, quantize, W, {type = name, group = group, zero_points = zero_points})
end
function _packed_dequantize(of, name, options)
  return apart(options, function()
    return first(packed.weight_of(of):dequantize(name == "f16" and f16 or bf16))
  end)
end
function _packed_matmul(x, of, out, alpha, scale, options)
  local w = packed.weight_of(of)
  local dtype = x.dtype.bits == 8 and bf16 or x.dtype
  out = out or zeros(dtype, row_major{size(x, 0), w.shape[1]}):to(x.device)
  return matmul(x, w, out, {alpha = alpha, scale_a = scale and view(scale, size(scale)),
    stream = options and options.stream})
end"""


class PackedWeight(NamedTuple):
    """What pack_weights returns: the type's name, the shape (N, K) or (E, N, K), and its memory."""
    type: str
    shape: Tuple[int, ...]
    codes: Any
    scales: Any
    zeros: Any
    most_zero: int
    spread: int = 255  # that of scales that are no powers of two


def fields(w: Any) -> Any:
    """A packed weight as the language takes it; anything else as it is."""
    if not isinstance(w, PackedWeight):
        return w
    of = {key: value for key, value in w._asdict().items() if value is not None}
    return dict(of, shape=list(w.shape[-2:] + w.shape[:-2]))


def _fields(op: str, w: Any) -> Any:
    if not isinstance(w, PackedWeight):
        raise TypeError(f"{op}: w is {type(w)}; a PackedWeight was expected, as pack_weights returns it")
    return fields(w)


def _call(function: str, *args: Any) -> Any:
    if not state().has_function(function):
        state().run(_CALL, "=cuttle/packed.lua")
    return state().call(function, args, {})  # with options, which have the tensors' stream


def _memory(like: Any, t: Any) -> Any:
    try:
        return None if t is None else _result(like, t)
    except (BufferError, RuntimeError, TypeError):  # NumPy has no bfloat16
        return t


def _bytes(t: Any) -> Any:
    """A tensor of PyTorch whose elements are pairs of f4e2m1 as bytes; anything else as it is."""
    torch = sys.modules.get("torch")
    pairs = getattr(torch, "float4_e2m1fn_x2", None)
    return t.view(torch.uint8) if torch is not None and pairs is not None and t.dtype == pairs else t


PER_BYTE = {"mxfp4": 2, "nvfp4": 2}  # elements of formats that have more than one in a byte


def pack_weights(codes: Any, scales: Any, type: Optional[str] = None, zero_points: Any = None) -> PackedWeight:
    """A weight (N, K) or (E, N, K) of codes, uint8, or int32 of 8 codes of 4 bits, the first in the lowest bits.

    type: "u4", "u8", "f4e2m1", "f8e4m3" or "nf4". scales: (N, K/group) or (E, N, K/group); uint8 are bytes of e8m0, as
    MXFP4 has them. zero_points: uint8, of the shape of scales. type "mxfp4" or "nvfp4": codes of f4e2m1 are uint8 or
    torch.float4_e2m1fn_x2 (N, K/2), of two codes each, and scales of 32 or of 16 elements of K are uint8 or float8.
    """
    check_tensors("pack_weights", codes=codes, scales=scales)
    codes = _bytes(codes)
    name, most_zero, spread, *tensors = _call("_packed_pack", codes, scales, zero_points, type or "")
    k = codes.shape[-1] * (8 if codes.dtype.itemsize == 4 else PER_BYTE.get(type or "", 1))
    memory = (*(_memory(codes, t) for t in tensors), None)[:3]
    return PackedWeight(name, (*codes.shape[:-1], k), *memory, most_zero, spread)


def quantize_weights(w: Any, type: str, group: int = 128, *, zero_points: bool = False) -> PackedWeight:
    """Rounds a weight of floats (N, K) or (E, N, K), and packs it: each `group` of elements of K has a scale. "mxfp4":
    f4e2m1 in groups of 32, whose scales are powers of two."""
    made = _call("_packed_quantize", w, type, group, zero_points)
    codes, scales, points = (*(_memory(w, t) for t in made), None)[:3]
    return pack_weights(codes, scales, "f4e2m1" if type == "mxfp4" else type, points)


def dequantize(w: PackedWeight, dtype: str = "bf16") -> Any:
    """The weight as (N, K) or (E, N, K) of "bf16" or "f16"."""
    return _result(w.codes, _call("_packed_dequantize", _fields("dequantize", w), dtype)[0])


def matmul(x: Any, w: PackedWeight, out: Any = None, *, alpha: Optional[float] = None, scale: Any = None) -> Any:
    """alpha * x @ W.T for x (M, K) and a weight (N, K): (M, N). `alpha`: such as the scale of all of an NVFP4 weight.
    `scale`: float32, of the rows of an x of 8 bits; (M, N) is bfloat16 then."""
    made = _call("_packed_matmul", x, _fields("matmul", w), out, alpha, scale)
    return out if out is not None else _result(x, made[0])
