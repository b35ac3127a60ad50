---@meta _
-- Topic: math: arithmetic of numbers, and of a kernel's values

--- A Lua number, or a value that a kernel computes at run time.
--- Lua's operators work on both. Types are widened when necessary, but never narrowed; to narrow a
--- value, use cast.
---@alias Value number|boolean|any

--- a * b + c, rounded once; for floats only.
--- Plain `a*b + c` becomes an fma if the product has no other use.
---
---     > fma(2, 3, 4)
---     10.0
--- CuTe: fma. MoYe: fma.
---@param a Value
---@param b Value
---@param c Value
---@return Value
function fma(a, b, c) end

--- The smallest of its arguments.
---
---     > min(3, 1, 2)
---     1
--- CuTe: min. MoYe: min.
---@param ... Value
---@return Value
function min(...) end

--- The largest of its arguments.
---
---     > max(3, 1, 2)
---     3
--- CuTe: max. MoYe: max.
---@param ... Value
---@return Value
function max(...) end

--- Limits x to the range from lo to hi: `max(lo, min(x, hi))`.
--- A NaN becomes hi, because `min` ignores it.
---
---     > clamp(7, 0, 5), clamp(-1.5, 0.0, 1.0)
---     5       0.0
--- CuTe: clamp. MoYe: clamp.
---@param x Value
---@param lo Value
---@param hi Value
---@return Value
function clamp(x, lo, hi) end

--- Sorts the elements of a fragment, for each thread separately.
--- It unrolls a network of comparisons: 19 for 8 elements, and 191 for 32. A fragment may have up
--- to 64 elements. The order is "up" or "down". The sort is not stable, and the position of a NaN
--- is undefined.
---
---     > k = kernel("k", function(x)
---     >>   local r = fragment(f32, 4)
---     >>   copy(x, r)
---     >>   copy(sort_network(r), x)
---     >> end)
---     > t = from_table(f32, {3, 1, 4, 2})
---     > k{grid = 1, block = 1}(static_mode(t))
---     > t
---     tensor f32 4:1 on cpu
---         1    2    3    4
--- CuTe: none. MoYe: none.
---@param t Tensor a fragment
---@param order? string
---@return Tensor # t
function sort_network(t, order) end

--- The absolute value.
---
---     > abs(-2), abs(-2.5)
---     2       2.5
--- CuTe: abs. MoYe: abs.
---@param x Value
---@return Value
function abs(x) end

--- The quotient, rounded up; for tables, entry by entry.
--- This is the number of tiles of size b that cover a. The result is exact for all integers,
--- including negative ones. A string like "(7,8)" counts as a table. An entry of a for which b has
--- none stays as it is.
---
---     > cdiv(10, 4), cdiv(8, 4)
---     3       2
---     > cdiv({10, 8}, {4, 4})
---     {3, 2}
--- CuTe: ceil_div. MoYe: cld.
---@param a Value|table
---@param b Value|table
---@return Value
function cdiv(a, b) end

--- Converts a value, or all elements of a tensor, to another type, in a kernel.
--- A cast to an integer truncates, saturates, and turns NaN into 0. A bool becomes 0 or 1. Nothing
--- becomes narrower without a cast. For a fragment or a tile, cast makes a new fragment of the same
--- shape; it converts two elements at once if the GPU has instructions for that:
--- `copy(cast(acc, f16), part)`.
---
---     > k = kernel("round", function(x, y) y[threadIdx.x] = cast(x[threadIdx.x], i32) end)
---     > x, y = arange(f32, 4, -1, 0.75), zeros(i32, 4)
---     > k{grid = 1, block = 4}(x, y)
---     > y
---     tensor i32 4:1 on cpu
---        -1    0    0    1
---     > halves = kernel("halves", function(x, y)
---     >>   local part = tile(x, {4}, {threadIdx.x})
---     >>   copy(cast(part, f16), tile(y, {4}, {threadIdx.x}))
---     >> end)
---     > h = zeros(f16, 8)
---     > halves{grid = 1, block = 2}(arange(f32, 8, 0, 0.1), h)
---     > h[3]
---     0.300048828125
--- CuTe: static_cast. MoYe: Julia's T(x).
---@param v Value|Tensor
---@param dtype DType
---@return Value|Tensor
function cast(v, dtype) end

--- a if c is true, else b; both are evaluated.
--- In contrast, `c and a or b` evaluates only one of them.
---
---     > where(1 < 2, "yes", "no")
---     yes
---     > k = kernel("signs", function(x) x[threadIdx.x] = where(x[threadIdx.x] < 0, -1, 1) end)
---     > t = arange(i32, 4, -2)
---     > k{grid = 1, block = 4}(t)
---     > t
---     tensor i32 4:1 on cpu
---        -1   -1    1    1
--- CuTe: c ? a : b. MoYe: ifelse.
---@param c Value
---@param a Value
---@param b Value
---@return Value
function where(c, a, b) end

--- e to the power of x.
--- In a kernel, the result has the type of x; an integer is converted to f32.
---
---     > exp(0)
---     1.0
--- CuTe: none. MoYe: exp.
---@param x Value
---@return Value
function exp(x) end

--- 2 to the power of x.
--- In a kernel, the result has the type of x; an integer is converted to f32.
---
---     > exp2(3)
---     8.0
--- CuTe: none. MoYe: exp2.
---@param x Value
---@return Value
function exp2(x) end

--- 10 to the power of x.
--- In a kernel, the result has the type of x; an integer is converted to f32.
---
---     > exp10(3)
---     1000.0
--- CuTe: none. MoYe: exp10.
---@param x Value
---@return Value
function exp10(x) end

--- The natural logarithm.
--- In a kernel, the result has the type of x; an integer is converted to f32.
---
---     > log(1)
---     0.0
--- CuTe: none. MoYe: log.
---@param x Value
---@return Value
function log(x) end

--- The logarithm to base 2.
--- In a kernel, the result has the type of x; an integer is converted to f32.
---
---     > log2(8)
---     3.0
--- CuTe: none. MoYe: log2.
---@param x Value
---@return Value
function log2(x) end

--- The square root, correctly rounded.
--- In a kernel, the result has the type of x; an integer is converted to f32.
---
---     > sqrt(2)
---     1.4142135623731
--- CuTe: none. MoYe: sqrt.
---@param x Value
---@return Value
function sqrt(x) end

--- 1 / sqrt(x).
--- In a kernel, the result has the type of x; an integer is converted to f32.
---
---     > rsqrt(4)
---     0.5
--- CuTe: none. MoYe: none.
---@param x Value
---@return Value
function rsqrt(x) end

--- The sine of x, which is in radians.
--- In a kernel, the result has the type of x; an integer is converted to f32.
---
---     > sin(0)
---     0.0
--- CuTe: none. MoYe: sin.
---@param x Value
---@return Value
function sin(x) end

--- The cosine of x, which is in radians.
--- In a kernel, the result has the type of x; an integer is converted to f32.
---
---     > cos(0)
---     1.0
--- CuTe: none. MoYe: cos.
---@param x Value
---@return Value
function cos(x) end

--- The hyperbolic tangent.
--- In a kernel, the result has the type of x; an integer is converted to f32.
---
---     > tanh(0)
---     0.0
--- CuTe: none. MoYe: tanh.
---@param x Value
---@return Value
function tanh(x) end

--- The error function.
--- The result has the type of x; an integer is converted to f32.
---
---     > erf(0.5)
---     0.52049987781305
--- CuTe: none. MoYe: none.
---@param x Value
---@return Value
function erf(x) end

--- 1 - erf(x), accurate even if erf(x) is nearly 1.
--- The result has the type of x; an integer is converted to f32.
---
---     > erfc(3.0)
---     2.2090496998585e-05
--- CuTe: none. MoYe: none.
---@param x Value
---@return Value
function erfc(x) end

--- The number whose erf is x.
--- The result is infinite at 1 and -1, and NaN beyond them. It has the type of x; an integer is
--- converted to f32.
---
---     > erfinv(0.5)
---     0.47693627620447
--- CuTe: none. MoYe: none.
---@param x Value
---@return Value
function erfinv(x) end

--- exp(x) - 1, accurate even for small x.
--- The result has the type of x; an integer is converted to f32.
---
---     > expm1(1e-10)
---     1.00000000005e-10
--- CuTe: none. MoYe: expm1.
---@param x Value
---@return Value
function expm1(x) end

--- log(1 + x), accurate even for small x.
--- The result has the type of x; an integer is converted to f32.
---
---     > log1p(1e-10)
---     9.9999999995e-11
--- CuTe: none. MoYe: log1p.
---@param x Value
---@return Value
function log1p(x) end

--- The logarithm to base 10.
--- The result has the type of x; an integer is converted to f32.
---
---     > log10(1000.0)
---     3.0
--- CuTe: none. MoYe: log10.
---@param x Value
---@return Value
function log10(x) end

--- The cube root.
--- The result has the type of x; an integer is converted to f32.
---
---     > cbrt(27.0)
---     3.0
--- CuTe: none. MoYe: cbrt.
---@param x Value
---@return Value
function cbrt(x) end

--- The hyperbolic sine.
--- The result has the type of x; an integer is converted to f32.
---
---     > sinh(1.0)
---     1.1752011936438
--- CuTe: none. MoYe: sinh.
---@param x Value
---@return Value
function sinh(x) end

--- The hyperbolic cosine.
--- The result has the type of x; an integer is converted to f32.
---
---     > cosh(1.0)
---     1.5430806348152
--- CuTe: none. MoYe: cosh.
---@param x Value
---@return Value
function cosh(x) end

--- The angle in radians whose sine is x.
--- The result has the type of x; an integer is converted to f32.
---
---     > asin(1.0)
---     1.5707963267949
--- CuTe: none. MoYe: asin.
---@param x Value
---@return Value
function asin(x) end

--- The angle in radians whose cosine is x.
--- The result has the type of x; an integer is converted to f32.
---
---     > acos(-1.0)
---     3.1415926535898
--- CuTe: none. MoYe: acos.
---@param x Value
---@return Value
function acos(x) end

--- The angle in radians whose tangent is x.
--- The result has the type of x; an integer is converted to f32.
---
---     > atan(1.0)
---     0.78539816339745
--- CuTe: none. MoYe: atan.
---@param x Value
---@return Value
function atan(x) end

--- The remainder of x / y, with the sign of x.
--- The result has the type of the operands; an integer is converted to f32.
--- `x % y` has the sign of y.
---
---     > fmod(-7.5, 2), -7.5 % 2
---     -1.5    0.5
--- CuTe: none. MoYe: rem.
---@param x Value
---@param y Value
---@return Value
function fmod(x, y) end

--- x with the sign of y.
--- The result has the type of the operands; an integer is converted to f32.
---
---     > copysign(3, -0.0)
---     -3.0
--- CuTe: none. MoYe: copysign.
---@param x Value
---@param y Value
---@return Value
function copysign(x, y) end

--- The square root of x * x + y * y, computed without intermediate overflow.
--- The result has the type of the operands; an integer is converted to f32.
---
---     > hypot(3, 4), hypot(3e200, 4e200)
---     5.0     5e+200
--- CuTe: none. MoYe: hypot.
---@param x Value
---@param y Value
---@return Value
function hypot(x, y) end

--- The angle of the point (x, y) in radians, from -pi to pi.
--- The result has the type of the operands; an integer is converted to f32.
---
---     > atan2(1, -1)
---     2.3561944901923
--- CuTe: none. MoYe: atan.
---@param y Value
---@param x Value
---@return Value
function atan2(y, x) end

--- The sine and the cosine of x, which is in radians.
--- The result has the type of the operands; an integer is converted to f32.
---
---     > sincos(0.0)
---     0.0     1.0
--- CuTe: none. MoYe: sincos.
---@param x Value
---@return Value
---@return Value
function sincos(x) end

--- True if x is NaN.
--- In a kernel, the result is a bool.
---
---     > isnan(0/0), isnan(1)
---     true    false
--- CuTe: none. MoYe: isnan.
---@param x Value
---@return Value
function isnan(x) end

--- True if x is infinite, with either sign.
--- In a kernel, the result is a bool.
---
---     > isinf(-1/0), isinf(1)
---     true    false
--- CuTe: none. MoYe: isinf.
---@param x Value
---@return Value
function isinf(x) end

--- True if x is neither infinite nor NaN.
--- In a kernel, the result is a bool.
---
---     > isfinite(1/0), isfinite(1)
---     false   true
--- CuTe: none. MoYe: isfinite.
---@param x Value
---@return Value
function isfinite(x) end

--- Rounds down; the result is a float.
--- In a kernel, the result has the type of x; an integer is converted to f32.
---
---     > floor(2.5)
---     2.0
--- CuTe: none. MoYe: floor.
---@param x Value
---@return Value
function floor(x) end

--- Rounds up; the result is a float.
--- In a kernel, the result has the type of x; an integer is converted to f32.
---
---     > ceil(2.5)
---     3.0
--- CuTe: none. MoYe: ceil.
---@param x Value
---@return Value
function ceil(x) end

--- Rounds towards zero; the result is a float.
--- In a kernel, the result has the type of x; an integer is converted to f32.
---
---     > trunc(-2.5), trunc(2.5)
---     -2.0    2.0
--- CuTe: none. MoYe: trunc.
---@param x Value
---@return Value
function trunc(x) end

--- Rounds to the nearest integer, halves away from zero; the result is a float.
--- In a kernel, the result has the type of x; an integer is converted to f32.
---
---     > round(2.5), round(-2.5), round(0.4)
---     3.0     -3.0    0.0
--- CuTe: none. MoYe: none.
---@param x Value
---@return Value
function round(x) end

--- Rounds to the nearest integer, halves to even; the result is a float.
--- In a kernel, the result has the type of x; an integer is converted to f32.
---
---     > rint(2.5), rint(3.5), rint(-0.6)
---     2.0     4.0     -1.0
--- CuTe: none. MoYe: none.
---@param x Value
---@return Value
function rint(x) end
