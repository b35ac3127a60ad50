---@meta _
-- Topic: math: arithmetic of numbers, and of a kernel's values

--- A number of Lua, or a value that a kernel computes at run time.
--- Lua's operators work on both. Types widen but never narrow; to narrow, use cast.
---@alias Value number|boolean|any

--- a * b + c with one rounding; floats only.
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

--- The value without its sign.
---
---     > abs(-2), abs(-2.5)
---     2       2.5
--- CuTe: abs. MoYe: abs.
---@param x Value
---@return Value
function abs(x) end

--- The quotient rounded up; for tables, entry by entry.
--- It is how many tiles of b cover a. A text like "(7,8)" counts as a table.
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

--- A value, or all elements of a tensor, as another type, in a kernel.
--- A cast to an integer truncates, saturates, and turns NaN into 0. A bool becomes 0 or 1. Nothing
--- becomes narrower without a cast. Of a fragment or a tile it makes a new fragment of the same
--- shape, two elements at once if the GPU has instructions for that: `copy(cast(acc, f16), part)`.
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

--- The same bits as a value of another type of equal width, in a kernel.
---
---     > k = kernel("bits", function(y) y[0] = bitcast(f32(1), i32) end)
---     > y = zeros(i32, 1)
---     > k{grid = 1, block = 1}(y)
---     > ("%x"):format(y[0])
---     3f800000
--- CuTe: recast_ptr. MoYe: reinterpret.
---@param v Value
---@param dtype DType
---@return Value
function bitcast(v, dtype) end

--- How many bits of an integer are 1: an i32.
--- Narrow integers are widened to i32 first. A Lua integer has 64 bits, and so has an i32 whose
--- value a kernel knows while it is traced; u32(v) keeps its 32.
---
---     > popc(255), popc(-1)
---     8       64
---     > k = kernel("bits", function(x, y) y[threadIdx.x] = popc(x[threadIdx.x]) end)
---     > x, y = from_table(u32, {0, 7, 0x80000001, 0xffffffff}), zeros(i32, 4)
---     > k{grid = 1, block = 4}(x, y)
---     > y
---     tensor i32 4:1 on cpu
---         0    3    2   32
--- CuTe: popc, __popc. MoYe: count_ones.
---@param x Value
---@return Value
function popc(x) end

--- How many zeros come before an integer's highest 1.
--- The result is an i32; for 0 it is the width. Widths are as in popc.
---
---     > clz(1), clz(0)
---     63      64
---     > k = kernel("log2", function(y) y[threadIdx.x] = 31 - clz(threadIdx.x + 1) end)
---     > y = zeros(i32, 8)
---     > k{grid = 1, block = 8}(y)
---     > y
---     tensor i32 8:1 on cpu
---         0    1    1    2    2    2    2    3
--- CuTe: __clz. MoYe: leading_zeros.
---@param x Value
---@return Value
function clz(x) end

--- Where the lowest 1 of an integer is, counted from 1.
--- The result is an i32; for 0 it is 0. Widths are as in popc.
---
---     > ffs(8), ffs(0)
---     4       0
--- CuTe: __ffs. MoYe: trailing_zeros(x) + 1.
---@param x Value
---@return Value
function ffs(x) end

--- The bits of an integer in reverse order.
--- The integer's type stays. Widths are as in popc.
---
---     > ("%x"):format(brev(1))
---     8000000000000000
---     > k = kernel("shuffle", function(y) y[threadIdx.x] = brev(threadIdx.x) >> 29 end)
---     > y = zeros(i32, 8)
---     > k{grid = 1, block = 8}(y)
---     > y
---     tensor i32 8:1 on cpu
---         0    4    2    6    1    5    3    7
--- CuTe: __brev. MoYe: bitreverse.
---@param x Value
---@return Value
function brev(x) end

--- Shifts right and keeps the sign, as `>>` of a signed integer does in C.
--- `x >> n` shifts zeros in, as in Lua. If n is the width or more, the result is 0 or -1; a
--- negative n shifts to the left. For an unsigned value it is `>>`. On the host it takes Lua's
--- 64-bit integers.
---
---     > ashr(-8, 1), ashr(-8, 100), ashr(200 << 56, 56)
---     -4      -1      -56
---     > k = kernel("sign", function(x) x[0] = ashr(x[0] << 24, 24) end) -- of the lowest byte
---     > t = from_table(i32, {0x12f0})
---     > k{grid = 1, block = 1}(t)
---     > t[0]
---     -16
--- CuTe: none. PTX: shr.s32, shr.s64. MoYe: >>.
---@param x Value
---@param n Value
---@return Value
function ashr(x, n) end

--- The high half of the product of two integers, which has twice their width.
--- The result has their type: 32 or 64 bits, with or without a sign. Lua integers have 64 bits and a
--- sign.
---
---     > mulhi(1 << 62, 8)
---     2
---     > k = kernel("high", function(x) x[0] = mulhi(x[0], u32(10)) end)
---     > t = from_table(u32, {0x80000000})
---     > k{grid = 1, block = 1}(t)
---     > t[0]
---     5
--- CuTe: none. CUDA: __mulhi, __umulhi, __mul64hi, __umul64hi. MoYe: none.
---@param x Value
---@param y Value
---@return Value
function mulhi(x, y) end

--- The word rotated to the left by n bits, modulo its width.
--- A Lua integer has 64 bits; a value has 32 or 64, and the result has its type.
---
---     > rotl(1 << 63 | 1, 4)
---     24
--- CuTe: none. PTX: shf.l. MoYe: bitrotate.
---@param x Value
---@param n Value
---@return Value
function rotl(x, n) end

--- The word rotated to the right by n bits, modulo its width.
--- A Lua integer has 64 bits; a value has 32 or 64, and the result has its type.
---
---     > rotr(24, 3)
---     3
--- CuTe: none. PTX: shf.r. MoYe: bitrotate.
---@param x Value
---@param n Value
---@return Value
function rotr(x, n) end

--- The high word of hi:lo after a shift to the left by n % 32 bits.
--- The operands are words of 32 bits; the result is a u32.
---
---     > funnel_shift_l(0x80000000, 1, 1)
---     3
--- CuTe: none. CUDA: __funnelshift_l. MoYe: none.
---@param lo Value
---@param hi Value
---@param n Value
---@return Value
function funnel_shift_l(lo, hi, n) end

--- The low word of hi:lo after a shift to the right by n % 32 bits.
--- The operands are words of 32 bits; the result is a u32.
---
---     > funnel_shift_r(2, 1, 1)
---     2147483649
--- CuTe: none. CUDA: __funnelshift_r. MoYe: none.
---@param lo Value
---@param hi Value
---@param n Value
---@return Value
function funnel_shift_r(lo, hi, n) end

--- The field of n bits that begins at bit `at`.
--- For a signed value its highest bit is the sign; a Lua integer has no sign.
---
---     > bfe(0x1234, 4, 8)
---     35
--- CuTe: none. PTX: bfe. MoYe: none.
---@param x Value
---@param at Value
---@param n Value
---@return Value
function bfe(x, at, n) end

--- The word b with the low n bits of a from bit `at` on.
---
---     > bfi(0xff, 0, 8, 4)
---     3840
--- CuTe: none. PTX: bfi. MoYe: none.
---@param a Value
---@param b Value
---@param at Value
---@param n Value
---@return Value
function bfi(a, b, at, n) end

--- A u32 of four bytes of the words a (0 .. 3) and b (4 .. 7).
--- Each hexadecimal digit of `which`, modulo 8, chooses one; the last digit chooses the lowest.
---
---     > byte_perm(0x33221100, 0x77665544, 0x0004)
---     68
--- CuTe: none. CUDA: __byte_perm. MoYe: none.
---@param a Value
---@param b Value
---@param which Value
---@return Value
function byte_perm(a, b, which) end

--- c plus the four products of the bytes of a and b.
--- The bytes of a u32 are unsigned, others are signed. The result is a u32 if both are, else an i32.
---
---     > dp4a(0x01ff0302, 0x02010101, 10)
---     16
--- CuTe: none. CUDA: __dp4a, PTX: dp4a. MoYe: none.
---@param a Value
---@param b Value
---@param c Value
---@return Value
function dp4a(a, b, c) end

--- a if c holds, else b; both are evaluated. `c and a or b` evaluates only one.
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
--- In a kernel the result has the type of x; an integer is taken as f32.
---
---     > exp(0)
---     1.0
--- CuTe: none. MoYe: exp.
---@param x Value
---@return Value
function exp(x) end

--- 2 to the power of x.
--- In a kernel the result has the type of x; an integer is taken as f32.
---
---     > exp2(3)
---     8.0
--- CuTe: none. MoYe: exp2.
---@param x Value
---@return Value
function exp2(x) end

--- 10 to the power of x.
--- In a kernel the result has the type of x; an integer is taken as f32.
---
---     > exp10(3)
---     1000.0
--- CuTe: none. MoYe: exp10.
---@param x Value
---@return Value
function exp10(x) end

--- 2 to the power of x, fast: one instruction. It is also called fast.exp2.
--- Its error is at most 2^-22 of the result. Subnormal numbers count as 0, in x and in the result.
--- The CPU engine gives other low bits. For an f64 it is exp2.
---
---     > exp2_approx(3)
---     8.0
--- CuTe: none (CUDA: exp2f under -use_fast_math). MoYe: none.
---@param x Value
---@return Value
function exp2_approx(x) end

--- The natural logarithm.
--- In a kernel the result has the type of x; an integer is taken as f32.
---
---     > log(1)
---     0.0
--- CuTe: none. MoYe: log.
---@param x Value
---@return Value
function log(x) end

--- The logarithm to base 2.
--- In a kernel the result has the type of x; an integer is taken as f32.
---
---     > log2(8)
---     3.0
--- CuTe: none. MoYe: log2.
---@param x Value
---@return Value
function log2(x) end

--- The square root, correctly rounded.
--- In a kernel the result has the type of x; an integer is taken as f32.
---
---     > sqrt(2)
---     1.4142135623731
--- CuTe: none. MoYe: sqrt.
---@param x Value
---@return Value
function sqrt(x) end

--- 1 / sqrt(x).
--- In a kernel the result has the type of x; an integer is taken as f32.
---
---     > rsqrt(4)
---     0.5
--- CuTe: none. MoYe: none.
---@param x Value
---@return Value
function rsqrt(x) end

--- The sine, x in radians.
--- In a kernel the result has the type of x; an integer is taken as f32.
---
---     > sin(0)
---     0.0
--- CuTe: none. MoYe: sin.
---@param x Value
---@return Value
function sin(x) end

--- The cosine, x in radians.
--- In a kernel the result has the type of x; an integer is taken as f32.
---
---     > cos(0)
---     1.0
--- CuTe: none. MoYe: cos.
---@param x Value
---@return Value
function cos(x) end

--- The hyperbolic tangent.
--- In a kernel the result has the type of x; an integer is taken as f32.
---
---     > tanh(0)
---     0.0
--- CuTe: none. MoYe: tanh.
---@param x Value
---@return Value
function tanh(x) end

--- Error function.
--- Of a Lua number, or of a kernel's value, whose type the result has; an integer is taken as f32.
---
---     > erf(0.5)
---     0.52049987781305
--- CuTe: none. MoYe: none.
---@param x Value
---@return Value
function erf(x) end

--- 1 - erf(x), accurate also where erf(x) is nearly 1.
--- Of a Lua number, or of a kernel's value, whose type the result has; an integer is taken as f32.
---
---     > erfc(3.0)
---     2.2090496998585e-05
--- CuTe: none. MoYe: none.
---@param x Value
---@return Value
function erfc(x) end

--- exp(x) - 1, accurate also for small x.
--- Of a Lua number, or of a kernel's value, whose type the result has; an integer is taken as f32.
---
---     > expm1(1e-10)
---     1.00000000005e-10
--- CuTe: none. MoYe: expm1.
---@param x Value
---@return Value
function expm1(x) end

--- log(1 + x), accurate also for small x.
--- Of a Lua number, or of a kernel's value, whose type the result has; an integer is taken as f32.
---
---     > log1p(1e-10)
---     9.9999999995e-11
--- CuTe: none. MoYe: log1p.
---@param x Value
---@return Value
function log1p(x) end

--- Logarithm to base 10.
--- Of a Lua number, or of a kernel's value, whose type the result has; an integer is taken as f32.
---
---     > log10(1000.0)
---     3.0
--- CuTe: none. MoYe: log10.
---@param x Value
---@return Value
function log10(x) end

--- Cube root.
--- Of a Lua number, or of a kernel's value, whose type the result has; an integer is taken as f32.
---
---     > cbrt(27.0)
---     3.0
--- CuTe: none. MoYe: cbrt.
---@param x Value
---@return Value
function cbrt(x) end

--- Hyperbolic sine.
--- Of a Lua number, or of a kernel's value, whose type the result has; an integer is taken as f32.
---
---     > sinh(1.0)
---     1.1752011936438
--- CuTe: none. MoYe: sinh.
---@param x Value
---@return Value
function sinh(x) end

--- Hyperbolic cosine.
--- Of a Lua number, or of a kernel's value, whose type the result has; an integer is taken as f32.
---
---     > cosh(1.0)
---     1.5430806348152
--- CuTe: none. MoYe: cosh.
---@param x Value
---@return Value
function cosh(x) end

--- Angle in radians whose sine is x.
--- Of a Lua number, or of a kernel's value, whose type the result has; an integer is taken as f32.
---
---     > asin(1.0)
---     1.5707963267949
--- CuTe: none. MoYe: asin.
---@param x Value
---@return Value
function asin(x) end

--- Angle in radians whose cosine is x.
--- Of a Lua number, or of a kernel's value, whose type the result has; an integer is taken as f32.
---
---     > acos(-1.0)
---     3.1415926535898
--- CuTe: none. MoYe: acos.
---@param x Value
---@return Value
function acos(x) end

--- Angle in radians whose tangent is x.
--- Of a Lua number, or of a kernel's value, whose type the result has; an integer is taken as f32.
---
---     > atan(1.0)
---     0.78539816339745
--- CuTe: none. MoYe: atan.
---@param x Value
---@return Value
function atan(x) end

--- The remainder of x / y, with the sign of x.
--- Of Lua numbers, or of a kernel's values, whose type the result has; an integer is taken as f32.
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
--- Of Lua numbers, or of a kernel's values, whose type the result has; an integer is taken as f32.
---
---     > copysign(3, -0.0)
---     -3.0
--- CuTe: none. MoYe: copysign.
---@param x Value
---@param y Value
---@return Value
function copysign(x, y) end

--- The root of x * x + y * y, without overflow on the way.
--- Of Lua numbers, or of a kernel's values, whose type the result has; an integer is taken as f32.
---
---     > hypot(3, 4), hypot(3e200, 4e200)
---     5.0     5e+200
--- CuTe: none. MoYe: hypot.
---@param x Value
---@param y Value
---@return Value
function hypot(x, y) end

--- The angle of the point (x, y) in radians, from -pi to pi.
--- Of Lua numbers, or of a kernel's values, whose type the result has; an integer is taken as f32.
---
---     > atan2(1, -1)
---     2.3561944901923
--- CuTe: none. MoYe: atan.
---@param y Value
---@param x Value
---@return Value
function atan2(y, x) end

--- Sine and cosine, x in radians.
--- Of Lua numbers, or of a kernel's values, whose type the result has; an integer is taken as f32.
---
---     > sincos(0.0)
---     0.0     1.0
--- CuTe: none. MoYe: sincos.
---@param x Value
---@return Value
---@return Value
function sincos(x) end

--- True if x is NaN.
--- In a kernel the result is a bool.
---
---     > isnan(0/0), isnan(1)
---     true    false
--- CuTe: none. MoYe: isnan.
---@param x Value
---@return Value
function isnan(x) end

--- True if x is infinite, of either sign.
--- In a kernel the result is a bool.
---
---     > isinf(-1/0), isinf(1)
---     true    false
--- CuTe: none. MoYe: isinf.
---@param x Value
---@return Value
function isinf(x) end

--- True if x is neither infinite nor NaN.
--- In a kernel the result is a bool.
---
---     > isfinite(1/0), isfinite(1)
---     false   true
--- CuTe: none. MoYe: isfinite.
---@param x Value
---@return Value
function isfinite(x) end

--- Rounds down, to a float.
--- In a kernel the result has the type of x; an integer is taken as f32.
---
---     > floor(2.5)
---     2.0
--- CuTe: none. MoYe: floor.
---@param x Value
---@return Value
function floor(x) end

--- Rounds up, to a float.
--- In a kernel the result has the type of x; an integer is taken as f32.
---
---     > ceil(2.5)
---     3.0
--- CuTe: none. MoYe: ceil.
---@param x Value
---@return Value
function ceil(x) end

--- Rounds towards zero, to a float.
--- In a kernel the result has the type of x; an integer is taken as f32.
---
---     > trunc(-2.5), trunc(2.5)
---     -2.0    2.0
--- CuTe: none. MoYe: trunc.
---@param x Value
---@return Value
function trunc(x) end

--- Rounds to the nearest integer, halves away from zero, to a float.
--- In a kernel the result has the type of x; an integer is taken as f32.
---
---     > round(2.5), round(-2.5), round(0.4)
---     3.0     -3.0    0.0
--- CuTe: none. MoYe: none.
---@param x Value
---@return Value
function round(x) end

--- Rounds to the nearest integer, halves to the even one, to a float.
--- In a kernel the result has the type of x; an integer is taken as f32.
---
---     > rint(2.5), rint(3.5), rint(-0.6)
---     2.0     4.0     -1.0
--- CuTe: none. MoYe: none.
---@param x Value
---@return Value
function rint(x) end

--- Four random words of 32 bits for a seed and an offset.
--- The generator is Philox4x32-10. No state is kept, so threads with different offsets need not
--- know of each other. Seed, offset and stream are integers of up to 64 bits. In a kernel the words
--- are u32, on the host Lua integers.
---
---     > ("%08x %08x %08x %08x"):format(rand_u32x4(0, 0))
---     6627e8d5 e169c58d bc57ac4c 9b00dbd8
--- CuTe: curand_Philox4x32_10. MoYe: Philox4x.
---@param seed Value
---@param offset Value
---@param stream? Value tells sequences of one seed apart; 0 without it
---@return Value
---@return Value
---@return Value
---@return Value
function rand_u32x4(seed, offset, stream) end

--- Four random numbers in [0,1) for a seed and an offset.
--- Each is 24 bits of a word of rand_u32x4. In a kernel they are f32.
--- The bits are the same on both engines and on the host.
---
---     > ("%.4f %.4f %.4f %.4f"):format(rand_f32x4(1, 7))
---     0.4807 0.4675 0.5577 0.5201
--- CuTe: curand_uniform4. MoYe: rand.
---@param seed Value
---@param offset Value
---@param stream? Value tells sequences of one seed apart; 0 without it
---@return Value
---@return Value
---@return Value
---@return Value
function rand_f32x4(seed, offset, stream) end

--- Four normal random numbers for a seed and an offset.
--- Their mean is 0 and their variance 1. They come of the words of rand_u32x4 by Box and Muller. In a
--- kernel they are f32, with the same bits on both engines.
---
---     > ("%.3f %.3f %.3f %.3f"):format(randn_f32x4(1, 7))
---     -1.185 0.246 -1.072 -0.136
--- CuTe: curand_normal4. MoYe: randn.
---@param seed Value
---@param offset Value
---@param stream? Value tells sequences of one seed apart; 0 without it
---@return Value
---@return Value
---@return Value
---@return Value
function randn_f32x4(seed, offset, stream) end

--- Two floats of type f16 in a word, a u32: functions that compute with both.
--- They exist in a kernel. `f16x2(lo, hi)` makes the word of two numbers, `f16x2(x)` the word of x and
--- x; the first half is in the low 16 bits. So `recast(x, u32)` of a tensor of f16 has such words.
--- Variables, shuffles and reductions take them. Each result is rounded once, and has the same bits on
--- both engines; a NaN may have other bits. bf16x2 has the same functions for bf16.
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

--- Two floats of type bf16 in a word. The functions are those of f16x2.
--- A GPU before sm_80 has no instructions for them, so each half costs several.
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
--- For functions that f16x2 does not have, unpack, compute in f32, and pack: `f16x2(exp2(lo), exp2(hi))`.
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

--- The sums of the halves, in a kernel.
--- CuTe: none. CUDA: __hadd2. MoYe: none.
---@param a Value
---@param b Value
---@return Value
function f16x2.add(a, b) end

--- The differences of the halves, in a kernel.
--- CuTe: none. CUDA: __hsub2. MoYe: none.
---@param a Value
---@param b Value
---@return Value
function f16x2.sub(a, b) end

--- The products of the halves, in a kernel.
--- CuTe: none. CUDA: __hmul2. MoYe: none.
---@param a Value
---@param b Value
---@return Value
function f16x2.mul(a, b) end

--- a * b + c of the halves, rounded once, in a kernel.
--- CuTe: none. CUDA: __hfma2. MoYe: none.
---@param a Value
---@param b Value
---@param c Value
---@return Value
function f16x2.fma(a, b, c) end

--- The smaller halves, in a kernel.
--- Beside a NaN the other number counts, and -0 is below 0.
--- CuTe: none. CUDA: __hmin2. MoYe: none.
---@param a Value
---@param b Value
---@return Value
function f16x2.min(a, b) end

--- The larger halves, in a kernel.
--- Beside a NaN the other number counts, and -0 is below 0.
--- CuTe: none. CUDA: __hmax2. MoYe: none.
---@param a Value
---@param b Value
---@return Value
function f16x2.max(a, b) end

--- The halves with the other sign, in a kernel.
--- CuTe: none. CUDA: __hneg2. MoYe: none.
---@param a Value
---@return Value
function f16x2.neg(a) end

--- The halves without their signs, in a kernel.
--- CuTe: none. CUDA: __habs2. MoYe: none.
---@param a Value
---@return Value
function f16x2.abs(a) end

--- A mask: 16 ones for each half of a that is less than that of b.
--- It exists in a kernel. `le`, `gt`, `ge`, `eq` and `ne` compare in the other ways. f16x2.select takes
--- the mask.
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

--- The bits of a where the mask has ones, else those of b, in a kernel.
--- CuTe: none. CUDA: mask & a | ~mask & b. MoYe: none.
---@param mask Value
---@param a Value
---@param b Value
---@return Value
function f16x2.select(mask, a, b) end

--- Functions of f32 by one or two instructions, less precise.
--- The error of each is that of CUDA's documents. The CPU engine computes the exact function, so the
--- low bits differ. For an f64 and for Lua numbers, each is the exact function. Integers and narrow
--- floats are taken as f32.
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

--- e to the power of x, fast.
--- Error: 2 + |1.173 x| ulp. Subnormal results are 0.
---
---     > fast.exp(0)
---     1.0
--- CuTe: none. CUDA: __expf. MoYe: none.
---@param x Value
---@return Value
function fast.exp(x) end

--- 2 to the power of x, fast: exp2_approx.
--- Error: 2^-22 of the result. Subnormal numbers count as 0.
---
---     > fast.exp2(3)
---     8.0
--- CuTe: none. CUDA: exp2f under -use_fast_math. MoYe: none.
---@param x Value
---@return Value
function fast.exp2(x) end

--- 10 to the power of x, fast.
--- Error: 2 + |2.97 x| ulp. Subnormal results are 0.
---
---     > fast.exp10(2)
---     100.0
--- CuTe: none. CUDA: __exp10f. MoYe: none.
---@param x Value
---@return Value
function fast.exp10(x) end

--- The natural logarithm, fast.
--- Error: 2^-21.41 for x from 0.5 to 2, else 3 ulp.
---
---     > fast.log(1)
---     0.0
--- CuTe: none. CUDA: __logf. MoYe: none.
---@param x Value
---@return Value
function fast.log(x) end

--- The logarithm to base 2, fast.
--- Error: 2^-22 for x from 0.5 to 2, else 2 ulp.
---
---     > fast.log2(8)
---     3.0
--- CuTe: none. CUDA: __log2f. MoYe: none.
---@param x Value
---@return Value
function fast.log2(x) end

--- The logarithm to base 10, fast.
--- Error: 2^-24 for x from 0.5 to 2, else 3 ulp.
---
---     > fast.log10(1000)
---     3.0
--- CuTe: none. CUDA: __log10f. MoYe: none.
---@param x Value
---@return Value
function fast.log10(x) end

--- The sine, fast.
--- Error: 2^-21.41 for x from -pi to pi, and larger elsewhere.
---
---     > fast.sin(0)
---     0.0
--- CuTe: none. CUDA: __sinf. MoYe: none.
---@param x Value
---@return Value
function fast.sin(x) end

--- The cosine, fast.
--- Error: 2^-21.19 for x from -pi to pi, and larger elsewhere.
---
---     > fast.cos(0)
---     1.0
--- CuTe: none. CUDA: __cosf. MoYe: none.
---@param x Value
---@return Value
function fast.cos(x) end

--- The hyperbolic tangent, fast: one instruction.
--- Error: 2^-10.987 of the result.
---
---     > fast.tanh(0)
---     0.0
--- CuTe: none. CUDA: none; PTX: tanh.approx.f32. MoYe: none.
---@param x Value
---@return Value
function fast.tanh(x) end

--- 1 / x, fast: one instruction.
--- Error: 1 ulp. Subnormal numbers count as 0.
---
---     > fast.rcp(4)
---     0.25
--- CuTe: none. CUDA: none; PTX: rcp.approx.ftz.f32. MoYe: none.
---@param x Value
---@return Value
function fast.rcp(x) end

--- The square root, fast.
--- Error: 2^-22 of the result. Subnormal numbers count as 0.
---
---     > fast.sqrt(16)
---     4.0
--- CuTe: none. CUDA: none; PTX: sqrt.approx.ftz.f32. MoYe: none.
---@param x Value
---@return Value
function fast.sqrt(x) end

--- 1 / sqrt(x), fast: one instruction.
--- Error: 2 ulp.
---
---     > fast.rsqrt(16)
---     0.25
--- CuTe: none. CUDA: rsqrtf. MoYe: none.
---@param x Value
---@return Value
function fast.rsqrt(x) end

--- x / y, fast.
--- Error: 2 ulp for |y| from 2^-126 to 2^126. For a larger y the result is 0.
---
---     > fast.div(1, 4)
---     0.25
--- CuTe: none. CUDA: __fdividef. MoYe: none.
---@param x Value
---@param y Value
---@return Value
function fast.div(x, y) end

--- x to the power of y, fast, for x >= 0.
--- It is fast.exp2(y * fast.log2(x)). Error: that of these two, which grows with the result's exponent.
---
---     > fast.pow(2, 10)
---     1024.0
--- CuTe: none. CUDA: __powf. MoYe: none.
---@param x Value
---@param y Value
---@return Value
function fast.pow(x, y) end
