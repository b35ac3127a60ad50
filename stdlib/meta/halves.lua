---@meta _
-- Topic: halves: two 16-bit floats in a word, computed together

--- Functions that compute with two floats of type f16 in one word, a u32.
--- They exist only in a kernel. `f16x2(lo, hi)` packs two numbers into a word, and `f16x2(x)` packs
--- x twice; the first half is in the low 16 bits. `recast(x, u32)` of an f16 tensor is a tensor of
--- such words. Variables, shuffles and reductions work with them. Each result is rounded once and
--- has the same bits on both engines; only the bits of a NaN may differ. bf16x2 has the same
--- functions for bf16.
---
---     > k = kernel("scale", function(x)
---     >>   local words = recast(x, u32)
---     >>   words[threadIdx.x] = f16x2.mul(words[threadIdx.x], f16x2(0.5, 2))
---     >> end)
---     > t = arange(f16, 4)
---     > k{grid = 1, block = 2}(t)
---     > t
---     tensor f16 4:1 on cpu
---         0    2    1    6
--- CuTe: half2. CUDA: __half2. MoYe: none.
---@class Pairs
---@overload fun(lo: Value, hi?: Value): Value
f16x2 = {}

--- The functions of f16x2 for two floats of type bf16 in one word.
--- A GPU before sm_80 has no instructions for them, so each half needs several instructions.
---
---     > k = kernel("add", function(x)
---     >>   local words = recast(x, u32)
---     >>   words[threadIdx.x] = bf16x2.add(words[threadIdx.x], bf16x2(1))
---     >> end)
---     > t = arange(bf16, 4)
---     > k{grid = 1, block = 2}(t)
---     > t
---     tensor bf16 4:1 on cpu
---         1    2    3    4
--- CuTe: none. CUDA: __nv_bfloat162. MoYe: none.
---@class BfloatPairs
---@overload fun(lo: Value, hi?: Value): Value
bf16x2 = {}

--- The two halves of a word as values of type f32, in a kernel.
--- For a function that f16x2 does not have, unpack the word, compute in f32, and pack the results:
--- `f16x2(exp2(lo), exp2(hi))`.
---
---     > k = kernel("sums", function(x, y)
---     >>   local lo, hi = f16x2.unpack(recast(x, u32)[threadIdx.x])
---     >>   y[threadIdx.x] = lo + hi
---     >> end)
---     > y = zeros(f32, 2)
---     > k{grid = 1, block = 2}(arange(f16, 4), y)
---     > y
---     tensor f32 2:1 on cpu
---         1    5
--- CuTe: none. CUDA: __half22float2. MoYe: none.
---@param pair Value
---@return Value lo
---@return Value hi
function f16x2.unpack(pair) end

--- Adds the halves of two words, in a kernel.
--- CuTe: none. CUDA: __hadd2. MoYe: none.
---@param a Value
---@param b Value
---@return Value
function f16x2.add(a, b) end

--- Subtracts the halves of two words, in a kernel.
--- CuTe: none. CUDA: __hsub2. MoYe: none.
---@param a Value
---@param b Value
---@return Value
function f16x2.sub(a, b) end

--- Multiplies the halves of two words, in a kernel.
--- CuTe: none. CUDA: __hmul2. MoYe: none.
---@param a Value
---@param b Value
---@return Value
function f16x2.mul(a, b) end

--- a * b + c for each half, rounded once, in a kernel.
--- CuTe: none. CUDA: __hfma2. MoYe: none.
---@param a Value
---@param b Value
---@param c Value
---@return Value
function f16x2.fma(a, b, c) end

--- The smaller of two numbers for each half, in a kernel.
--- If one of them is a NaN, the result is the other number; -0 is less than 0.
--- CuTe: none. CUDA: __hmin2. MoYe: none.
---@param a Value
---@param b Value
---@return Value
function f16x2.min(a, b) end

--- The larger of two numbers for each half, in a kernel.
--- If one of them is a NaN, the result is the other number; -0 is less than 0.
--- CuTe: none. CUDA: __hmax2. MoYe: none.
---@param a Value
---@param b Value
---@return Value
function f16x2.max(a, b) end

--- Negates both halves, in a kernel.
--- CuTe: none. CUDA: __hneg2. MoYe: none.
---@param a Value
---@return Value
function f16x2.neg(a) end

--- The absolute values of both halves, in a kernel.
--- CuTe: none. CUDA: __habs2. MoYe: none.
---@param a Value
---@return Value
function f16x2.abs(a) end

--- A mask with 16 ones for each half of a that is less than the same half of b.
--- Like the other comparisons, `le`, `gt`, `ge`, `eq` and `ne`, it exists only in a kernel. The
--- mask is meant for f16x2.select.
---
---     > k = kernel("clip", function(x)
---     >>   local words = recast(x, u32)
---     >>   local w, limit = words[threadIdx.x], f16x2(2)
---     >>   words[threadIdx.x] = f16x2.select(f16x2.lt(limit, w), f16x2.neg(w), w)
---     >> end)
---     > t = arange(f16, 4)
---     > k{grid = 1, block = 2}(t)
---     > t
---     tensor f16 4:1 on cpu
---         0    1    2   -3
--- CuTe: none. CUDA: __hlt2_mask. MoYe: none.
---@param a Value
---@param b Value
---@return Value
function f16x2.lt(a, b) end

--- The bits of a where the mask has ones, elsewhere those of b, in a kernel.
--- CuTe: none. CUDA: mask & a | ~mask & b. MoYe: none.
---@param mask Value
---@param a Value
---@param b Value
---@return Value
function f16x2.select(mask, a, b) end

--- Functions that compute with two floats of type f32 in one word, a u64.
--- They are f32x2.add, sub, mul and fma; f32x2.unpack gives the two floats. `f32x2(lo, hi)` packs
--- two numbers, `f32x2(x)` packs x twice, and `recast(x, u64)` of an f32 tensor is a tensor of such
--- words. Each half is rounded once, as if it were alone, on both engines. A GPU from sm_100 on has
--- instructions for them; others compute one half after the other.
---
---     > k = kernel("scale", function(x)
---     >>   local words = recast(x, u64)
---     >>   local i = threadIdx.x
---     >>   words[i] = f32x2.fma(words[i], f32x2(0.5, 2), f32x2(1))
---     >> end)
---     > t = arange(f32, 4)
---     > k{grid = 1, block = 2}(t)
---     > t
---     tensor f32 4:1 on cpu
---         1    3    2    7
--- CuTe: cute::add, cute::fma of float2. PTX: fma.rn.f32x2. MoYe: none.
---@class FloatPairs
---@overload fun(lo: Value, hi?: Value): Value
f32x2 = {}
