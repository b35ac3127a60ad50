---@meta _
-- Topic: bits: bits and bytes of integers

--- Reads a value's bits as another type of the same width, in a kernel.
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

--- How many bits of an integer are 1.
--- The result is an i32. Narrow integers are widened to i32 first. A Lua integer has 64 bits, and
--- so does an i32 that is known while tracing; u32(v) has 32 bits.
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
--- The result is an i32; for 0, it is the integer's width. Widths are counted as in popc.
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

--- The position of an integer's lowest 1, counted from 1.
--- The result is an i32; for 0, it is 0. Widths are counted as in popc.
---
---     > ffs(8), ffs(0)
---     4       0
--- CuTe: __ffs. MoYe: trailing_zeros(x) + 1.
---@param x Value
---@return Value
function ffs(x) end

--- The bits of an integer in reverse order.
--- The result has the integer's type. Widths are counted as in popc.
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
--- negative n shifts to the left. For an unsigned value, ashr is the same as `>>`. On the host, it
--- works on Lua's 64-bit integers.
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

--- The high half of the double-width product of two integers.
--- The result has the type of the integers: 32 or 64 bits, signed or unsigned. Lua integers are
--- signed and have 64 bits.
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

--- Rotates a word to the left by n bits; n counts modulo the word's width.
--- A Lua integer has 64 bits. A value in a kernel has 32 or 64 bits, and the result has the same
--- type.
---
---     > rotl(1 << 63 | 1, 4)
---     24
--- CuTe: none. PTX: shf.l. MoYe: bitrotate.
---@param x Value
---@param n Value
---@return Value
function rotl(x, n) end

--- Rotates a word to the right by n bits; n counts modulo the word's width.
--- A Lua integer has 64 bits. A value in a kernel has 32 or 64 bits, and the result has the same
--- type.
---
---     > rotr(24, 3)
---     3
--- CuTe: none. PTX: shf.r. MoYe: bitrotate.
---@param x Value
---@param n Value
---@return Value
function rotr(x, n) end

--- The high word of hi:lo, shifted to the left by n % 32 bits.
--- The operands are 32-bit words; the result is a u32.
---
---     > funnel_shift_l(0x80000000, 1, 1)
---     3
--- CuTe: none. CUDA: __funnelshift_l. MoYe: none.
---@param lo Value
---@param hi Value
---@param n Value
---@return Value
function funnel_shift_l(lo, hi, n) end

--- The low word of hi:lo, shifted to the right by n % 32 bits.
--- The operands are 32-bit words; the result is a u32.
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
--- If x is signed, the highest bit of the field is its sign. A Lua integer counts as unsigned.
---
---     > bfe(0x1234, 4, 8)
---     35
--- CuTe: none. PTX: bfe. MoYe: none.
---@param x Value
---@param at Value
---@param n Value
---@return Value
function bfe(x, at, n) end

--- The word b with its n bits from bit `at` on replaced by the low n bits of a.
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

--- A u32 of four bytes chosen from two words.
--- Bytes 0 to 3 are those of a, and bytes 4 to 7 are those of b. Each hexadecimal digit of `which`,
--- modulo 8, chooses a byte; the last digit chooses the lowest byte.
---
---     > byte_perm(0x33221100, 0x77665544, 0x0004)
---     68
--- CuTe: none. CUDA: __byte_perm. MoYe: none.
---@param a Value
---@param b Value
---@param which Value
---@return Value
function byte_perm(a, b, which) end

--- Multiplies the four bytes of a by those of b, and adds the products to c.
--- The bytes of a u32 are unsigned; those of other types are signed. The result is a u32 if a and b
--- are u32, else an i32.
---
---     > dp4a(0x01ff0302, 0x02010101, 10)
---     16
--- CuTe: none. CUDA: __dp4a, PTX: dp4a. MoYe: none.
---@param a Value
---@param b Value
---@param c Value
---@return Value
function dp4a(a, b, c) end

--- The sum of two words, and whether it overflows.
--- To add numbers of several words, start with the lowest words. Pass the second result of each
--- call as the carry of the next call, which then adds 1 if it is true. Words are u32 or u64; on
--- the host, they are Lua's 64-bit integers.
---
---     > add_carry(-1, 1)
---     0       true
---     > add_carry(-1, 0, true)
---     0       true
--- CuTe: none. PTX: add.cc, addc. MoYe: none.
---@param a Value
---@param b Value
---@param carry? Value
---@return Value
---@return Value # a bool
function add_carry(a, b, carry) end

--- The difference of two words, and whether it goes below 0.
--- As the borrow, pass the second result of the call for the next lower words: if it is true, 1
--- more is subtracted.
---
---     > sub_borrow(0, 1)
---     -1      true
--- CuTe: none. PTX: sub.cc, subc. MoYe: none.
---@param a Value
---@param b Value
---@param borrow? Value
---@return Value
---@return Value # a bool
function sub_borrow(a, b, borrow) end
