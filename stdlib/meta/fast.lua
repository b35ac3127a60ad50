---@meta _
-- Topic: approximate: functions of f32 by one or two instructions

--- Less precise functions of f32 that need one or two instructions.
--- The error bounds come from CUDA's documentation. The CPU engine computes the exact function,
--- so the low bits differ from a GPU's. For f64 and for Lua numbers, each function is the exact
--- one. Integers and narrow floats are converted to f32.
---
---     > k = kernel("sigmoid", function(x)
---     >>   local i = threadIdx.x
---     >>   x[i] = fast.rcp(1.0 + fast.exp(-x[i]))
---     >> end)
---     > t = zeros(f32, 2)
---     > k{grid = 1, block = 2}(t)
---     > t
---     tensor f32 2:1 on cpu
---       0.5  0.5
--- CuTe: cutlass::fast_exp, fast_tanh. CUDA: the functions of -use_fast_math. MoYe: none.
---@class Fast
fast = {}

--- Approximates e to the power of x.
--- Error: 2 + |1.173 x| ulp. Subnormal results are 0.
---
---     > fast.exp(0)
---     1.0
--- CuTe: none. CUDA: __expf. MoYe: none.
---@param x Value
---@return Value
function fast.exp(x) end

--- Approximates 2 to the power of x in one instruction.
--- Error: 2^-22 of the result. Subnormal numbers count as 0, in x and in the result.
---
---     > fast.exp2(3)
---     8.0
--- CuTe: none. CUDA: exp2f under -use_fast_math. MoYe: none.
---@param x Value
---@return Value
function fast.exp2(x) end

--- Approximates 10 to the power of x.
--- Error: 2 + |2.97 x| ulp. Subnormal results are 0.
---
---     > fast.exp10(2)
---     100.0
--- CuTe: none. CUDA: __exp10f. MoYe: none.
---@param x Value
---@return Value
function fast.exp10(x) end

--- Approximates the natural logarithm.
--- Error: 2^-21.41 for x from 0.5 to 2, else 3 ulp.
---
---     > fast.log(1)
---     0.0
--- CuTe: none. CUDA: __logf. MoYe: none.
---@param x Value
---@return Value
function fast.log(x) end

--- Approximates the logarithm to base 2.
--- Error: 2^-22 for x from 0.5 to 2, else 2 ulp.
---
---     > fast.log2(8)
---     3.0
--- CuTe: none. CUDA: __log2f. MoYe: none.
---@param x Value
---@return Value
function fast.log2(x) end

--- Approximates the logarithm to base 10.
--- Error: 2^-24 for x from 0.5 to 2, else 3 ulp.
---
---     > fast.log10(1000)
---     3.0
--- CuTe: none. CUDA: __log10f. MoYe: none.
---@param x Value
---@return Value
function fast.log10(x) end

--- Approximates the sine.
--- Error: 2^-21.41 for x from -pi to pi, and larger elsewhere.
---
---     > fast.sin(0)
---     0.0
--- CuTe: none. CUDA: __sinf. MoYe: none.
---@param x Value
---@return Value
function fast.sin(x) end

--- Approximates the cosine.
--- Error: 2^-21.19 for x from -pi to pi, and larger elsewhere.
---
---     > fast.cos(0)
---     1.0
--- CuTe: none. CUDA: __cosf. MoYe: none.
---@param x Value
---@return Value
function fast.cos(x) end

--- Approximates the hyperbolic tangent in one instruction.
--- Error: 2^-10.987 of the result.
---
---     > fast.tanh(0)
---     0.0
--- CuTe: none. CUDA: none; PTX: tanh.approx.f32. MoYe: none.
---@param x Value
---@return Value
function fast.tanh(x) end

--- Approximates 1 / x in one instruction.
--- Error: 1 ulp. Subnormal numbers count as 0.
---
---     > fast.rcp(4)
---     0.25
--- CuTe: none. CUDA: none; PTX: rcp.approx.ftz.f32. MoYe: none.
---@param x Value
---@return Value
function fast.rcp(x) end

--- Approximates the square root.
--- Error: 2^-22 of the result. Subnormal numbers count as 0.
---
---     > fast.sqrt(16)
---     4.0
--- CuTe: none. CUDA: none; PTX: sqrt.approx.ftz.f32. MoYe: none.
---@param x Value
---@return Value
function fast.sqrt(x) end

--- Approximates 1 / sqrt(x) in one instruction.
--- Error: 2 ulp.
---
---     > fast.rsqrt(16)
---     0.25
--- CuTe: none. CUDA: rsqrtf. MoYe: none.
---@param x Value
---@return Value
function fast.rsqrt(x) end

--- Approximates x / y.
--- Error: 2 ulp for |y| from 2^-126 to 2^126. For a larger |y|, the result is 0.
---
---     > fast.div(1, 4)
---     0.25
--- CuTe: none. CUDA: __fdividef. MoYe: none.
---@param x Value
---@param y Value
---@return Value
function fast.div(x, y) end

--- Approximates x to the power of y, for x >= 0.
--- It is computed as fast.exp2(y * fast.log2(x)). The error combines those of the two functions and
--- grows with the result's exponent.
---
---     > fast.pow(2, 10)
---     1024.0
--- CuTe: none. CUDA: __powf. MoYe: none.
---@param x Value
---@param y Value
---@return Value
function fast.pow(x, y) end
