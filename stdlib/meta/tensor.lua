---@meta _
-- Topic: tensors: elements in memory under a layout, on the host and in kernels

--- The type of an element: `f32`, `f16`, `u8` ...
--- The types are `f64 f32 tf32 f16 bf16 f8e4m3 f8e5m2`, `f8ue4m3 f8ue8m0 f6e2m3 f6e3m2 f4e2m1`,
--- `i64 i32 i16 i8`, `u64 u32 u16 u8` and `bool`. Called with a number, a type makes a number of
--- that type. Functions that take a type also accept its name. Kernels widen elements narrower than
--- f32 and i32 before they compute with them.
---
---     > f32.bits, f32.bytes, f32.name
---     32      4       f32
---     > f16.is_float, f16.compute, i8.compute
---     true    f32     i32
--- CuTe: float, double, int, ... MoYe: Float32, Float64, Int32, ...
---@class DType
---@field name string
---@field bits integer the width of an element in bits
---@field bytes integer the size of an element in bytes
---@field is_float boolean whether it is a float type
---@field compute DType the type in which kernels compute with such elements
---@operator call(any): any
local DType = {}

--- Elements of one type in memory, under a layout.
--- `t[{i, j}]` and `t(i, j)` read an element, and `t[{i, j}] = v` writes one. `t(_, j)` is a slice,
--- which shares the elements. In `t[i]`, i counts in column-major order. A coordinate outside the
--- shape is an error. Functions of layouts also accept tensors: `size(t)`,
--- `zipped_divide(t, {4, 8})`, `t:composition(tv)`.
---
--- On the host, an access costs about 0.1 us. If the tensor is on a GPU, the access is also a
--- transfer that waits for earlier launches. To read all elements at once, call `t:totable()` or
--- `t:to"cpu"`; to write them, call `from_table`. The memory is freed when the tensor is
--- collected, by `t:close()`, or by `local t <close> = ...`.
---
---     > t = arange(i32, {2, 3})
---     > t(1, 2), t[{1, 2}], t[5]
---     5       5       5
---     > t(_, 1)
---     tensor i32 (2):(1) on cpu
---         2    3
---     > t.layout, t.dtype, t.device
---     (2,3):(1,2)     i32     cpu
--- CuTe: Tensor. MoYe: MoYeArray.
---@class Tensor
---@field dtype DType
---@field layout Layout
---@field shape Tuple
---@field stride Tuple the strides, in elements
---@field device? string "cpu" or "cuda:0"; nil in a kernel
---@field name? string the name of a kernel's argument
---@field address integer the address of its first element, for tensor_at; not in a kernel
---@operator call(any): any
local Tensor = {}

--- 32-bit floats.
--- `f32(x)` is a number of this type, as an argument of a launch or as a cast in a kernel.
---
---     > zeros(f32, 3)
---     tensor f32 3:1 on cpu
---         0    0    0
---     > f32(0.5)
---     f32(0.5)
--- CuTe: float. MoYe: Float32.
---@type DType
f32 = nil

--- 64-bit floats.
--- `f64(x)` is a number of this type, as an argument of a launch or as a cast in a kernel.
---
---     > f64.bits, f64(0.5)
---     64      f64(0.5)
--- CuTe: double. MoYe: Float64.
---@type DType
f64 = nil

--- 32-bit integers.
--- `i32(x)` is a number of this type, as an argument of a launch or as a cast in a kernel.
---
---     > i32.bits, i32(7)
---     32      i32(7)
--- CuTe: int32_t. MoYe: Int32.
---@type DType
i32 = nil

--- 64-bit integers.
--- `i64(x)` is a number of this type, as an argument of a launch or as a cast in a kernel.
---
---     > i64.bits, i64(7)
---     64      i64(7)
--- CuTe: int64_t. MoYe: Int64.
---@type DType
i64 = nil

--- 19-bit floats, each stored in 32 bits.
--- `tf32(x)` rounds to the nearest number, and ties away from zero.
---
---     > tf32.bits, tf32(0.1)
---     32      tf32(0.0999755859375)
--- CuTe: tfloat32_t. MoYe: none.
---@type DType
tf32 = nil

--- 16-bit floats.
--- `f16(x)` rounds to the nearest number, and ties to even.
---
---     > f16(0.1), f16(1e6)
---     f16(0.0999755859375)    f16(inf)
--- CuTe: half_t. MoYe: Float16.
---@type DType
f16 = nil

--- 16-bit floats with the range of an f32.
--- `bf16(x)` rounds to the nearest number, and ties to even.
---
---     > bf16.bits, bf16(0.1)
---     16      bf16(0.10009765625)
--- CuTe: bfloat16_t. MoYe: BFloat16.
---@type DType
bf16 = nil

--- 8-bit floats with 3 bits of fraction.
--- `f8e4m3(x)` rounds to the nearest number, and ties to even; numbers that are too large become
--- 448.
---
---     > f8e4m3(0.1), f8e4m3(1e6)
---     f8e4m3(0.1015625)       f8e4m3(448.0)
--- CuTe: float_e4m3_t. MoYe: none.
---@type DType
f8e4m3 = nil

--- 8-bit floats with 2 bits of fraction.
--- `f8e5m2(x)` rounds to the nearest number, and ties to even; numbers that are too large become
--- 57344.
---
---     > f8e5m2(0.1), f8e5m2(1e6)
---     f8e5m2(0.09375) f8e5m2(57344.0)
--- CuTe: float_e5m2_t. MoYe: none.
---@type DType
f8e5m2 = nil

--- 8-bit floats with 3 bits of fraction and no sign: the scales of nvfp4.
--- `f8ue4m3(x)` rounds the number without its sign to the nearest one, and ties to even; numbers
--- that are too large become 448. Bit 7 of a byte is ignored.
---
---     > f8ue4m3(0.1), f8ue4m3(-2)
---     f8ue4m3(0.1015625)      f8ue4m3(2.0)
--- CuTe: float_ue4m3_t. MoYe: none.
---@type DType
f8ue4m3 = nil

--- Powers of two, of 8 bits: the scales of mxfp8, mxfp6 and mxfp4.
--- `f8ue8m0(x)` is the least power of two that is not smaller than the number without its sign, at
--- most 2^127. A byte b is 2^(b - 127), 0xff is NaN, and there is no 0: 0 becomes 2^-127.
---
---     > f8ue8m0(3), f8ue8m0(-0.25)
---     f8ue8m0(4.0)    f8ue8m0(0.25)
--- CuTe: float_ue8m0_t. MoYe: none.
---@type DType
f8ue8m0 = nil

--- 6-bit floats with 3 bits of fraction, without infinity and NaN.
--- `f6e2m3(x)` rounds to the nearest number, and ties to even; numbers that are too large, and NaN,
--- become 7.5. In memory, an element takes one byte.
---
---     > f6e2m3(0.2), f6e2m3(-100)
---     f6e2m3(0.25)    f6e2m3(-7.5)
--- CuTe: float_e2m3_t. MoYe: none.
---@type DType
f6e2m3 = nil

--- 6-bit floats with 2 bits of fraction, without infinity and NaN.
--- `f6e3m2(x)` rounds to the nearest number, and ties to even; numbers that are too large, and NaN,
--- become 28. In memory, an element takes one byte.
---
---     > f6e3m2(0.2), f6e3m2(-100)
---     f6e3m2(0.1875)  f6e3m2(-28.0)
--- CuTe: float_e3m2_t. MoYe: none.
---@type DType
f6e3m2 = nil

--- 4-bit floats with 1 bit of fraction, without infinity and NaN.
--- They are 0, 0.5, 1, 1.5, 2, 3, 4, 6 and the same below 0.
--- `f4e2m1(x)` rounds to the nearest number, and ties to even; numbers that are too large, and NaN,
--- become 6. In memory, two elements share a byte, the first in its low bits; a store to one element
--- is not atomic.
---
---     > f4e2m1(0.8), f4e2m1(-100), f4e2m1.bytes
---     f4e2m1(1.0)     f4e2m1(-6.0)    0.5
--- CuTe: float_e2m1_t. MoYe: none.
---@type DType
f4e2m1 = nil

--- 16-bit integers.
--- `i16(x)` is a number of this type.
---
---     > i16.bits, i16(7)
---     16      i16(7)
--- CuTe: int16_t. MoYe: Int16.
---@type DType
i16 = nil

--- 8-bit integers.
--- `i8(x)` is a number of this type.
---
---     > i8.bits, i8(7)
---     8       i8(7)
--- CuTe: int8_t. MoYe: Int8.
---@type DType
i8 = nil

--- Unsigned 64-bit integers.
--- `u64(x)` is a number of this type. It prints as an unsigned number, and so do the elements of
--- its tensors. Reading an element, `t[i]`, returns the Lua integer with the same bits, which is
--- negative from 2^63 on; `math.ult` compares such integers.
---
---     > u64.bits, u64(7)
---     64      u64(7)
--- CuTe: uint64_t. MoYe: UInt64.
---@type DType
u64 = nil

--- Unsigned 32-bit integers.
--- `u32(x)` is a number of this type.
---
---     > u32.bits, u32(3000000000)
---     32      u32(3000000000)
--- CuTe: uint32_t. MoYe: UInt32.
---@type DType
u32 = nil

--- Unsigned 16-bit integers.
--- `u16(x)` is a number of this type.
---
---     > u16.bits, u16(7)
---     16      u16(7)
--- CuTe: uint16_t. MoYe: UInt16.
---@type DType
u16 = nil

--- Unsigned 8-bit integers.
--- `u8(x)` is a number of this type.
---
---     > u8.bits, u8(255)
---     8       u8(255)
--- CuTe: uint8_t. MoYe: UInt8.
---@type DType
u8 = nil

--- Truth values, one byte each in memory.
--- `bool(x)` is a truth value as an argument of a launch.
---
---     > full(bool, 3, true)
---     tensor bool 3:1 on cpu
---       true  true  true
--- CuTe: bool. MoYe: Bool.
---@type DType
bool = nil

--- Makes a tensor with uninitialised elements.
--- Like all functions that make tensors, it uses the current device (see device).
---
---     > tensor(f32, {64, 64}).layout
---     (64,64):(1,64)
--- CuTe: make_tensor. MoYe: MoYeArray{T}(undef, layout).
---@param dtype DType
---@param layout Shape
---@return Tensor
function tensor(dtype, layout) end

--- Makes a tensor of zeros.
---
---     > zeros(f32, row_major{2, 3})
---     tensor f32 (2,3):(3,1) on cpu
---         0    0    0
---         0    0    0
--- CuTe: none. MoYe: zeros.
---@param dtype DType
---@param layout Shape
---@return Tensor
function zeros(dtype, layout) end

--- Makes a tensor of ones.
---
---     > ones(i32, {2, 3})
---     tensor i32 (2,3):(1,2) on cpu
---         1    1    1
---         1    1    1
--- CuTe: none. MoYe: MoYeArray{T}(one, layout).
---@param dtype DType
---@param layout Shape
---@return Tensor
function ones(dtype, layout) end

--- Makes a tensor whose elements all have one value.
---
---     > full(f32, {2, 3}, 7)
---     tensor f32 (2,3):(1,2) on cpu
---         7    7    7
---         7    7    7
--- CuTe: none. MoYe: MoYeArray{T}(one, layout).
---@param dtype DType
---@param layout Shape
---@param value number|boolean
---@return Tensor
function full(dtype, layout, value) end

--- Makes a tensor whose element i, in column-major order, is start + i * step.
--- All integers must fit the type; floats are rounded to it.
--- The second argument is a shape, not the first number: for the numbers from 1 to 48, write
--- `arange(i32, 48, 1)`.
---
---     > arange(i32, {2, 3})
---     tensor i32 (2,3):(1,2) on cpu
---         0    2    4
---         1    3    5
---     > arange(f32, 4, 1, 0.5)
---     tensor f32 4:1 on cpu
---         1  1.5    2  2.5
--- CuTe: none. MoYe: none.
---@param dtype DType
---@param layout Shape
---@param start? number the default is 0
---@param step? number the default is 1
---@return Tensor
function arange(dtype, layout, start, step) end

--- Makes a tensor of uniform random numbers x with lo <= x < hi.
--- By default, floats are from 0 to 1 and integers from 0 to 99. The numbers depend on the seed and
--- on the order of calls, but not on the device or the strides. The host draws them and copies them
--- to the device; rand_f32x4 draws in a kernel.
---
---     > t = rand(i32, 1000, 5, 8)
---     > t[0] >= 5 and t[0] < 8
---     true
--- CuTe: none. MoYe: rand.
---@param dtype DType
---@param layout Shape
---@param lo? number
---@param hi? number
---@return Tensor
function rand(dtype, layout, lo, hi) end

--- Makes a tensor of normal random numbers with mean 0 and variance 1.
---
---     > size(randn(f32, {64, 64}))
---     4096
--- CuTe: none. MoYe: randn.
---@param dtype DType a float type
---@param layout Shape
---@return Tensor
function randn(dtype, layout) end

--- Makes a tensor from a table.
--- Entry [i + 1][j + 1] of nested tables is element (i, j). With a layout, entry i + 1 of a flat
--- table is element i in column-major order.
---
---     > from_table(f32, {{1, 2}, {3, 4}})
---     tensor f32 (2,2):(1,2) on cpu
---         1    2
---         3    4
---     > from_table(i32, {1, 2, 3, 4}, {2, 2})
---     tensor i32 (2,2):(1,2) on cpu
---         1    3
---         2    4
--- CuTe: none. MoYe: MoYeArray(array, layout).
---@param dtype DType
---@param t table
---@param layout? Shape
---@return Tensor
function from_table(dtype, t, layout) end

--- Reads a tensor from a NumPy file; C order becomes row-major.
---
---     > path = os.tmpname()
---     > save_npy(path, arange(f32, 3))
---     > load_npy(path)
---     tensor f32 3:1 on cpu
---         0    1    2
---     > os.remove(path)
---     true
--- CuTe: none. MoYe: none.
---@param path string
---@return Tensor
function load_npy(path) end

--- Writes a tensor to a NumPy file.
--- The file is written completely or not at all: a new file is written next to the old one and then
--- replaces it.
---
---     > path = os.tmpname()
---     > save_npy(path, zeros(f32, {2, 2}))
---     > os.remove(path)
---     true
--- CuTe: none. MoYe: none.
---@param path string
---@param t Tensor
function save_npy(path, t) end

--- Returns the elements as nested tables: [i + 1][j + 1] is element (i, j).
---
---     > arange(i32, {2, 3}):totable()
---     {{0, 2, 4}, {1, 3, 5}}
---@return table
function Tensor:totable() end

--- Copies a tensor, with its layout, to a device: "cpu", "cuda" or "cuda:1".
---
---     > arange(i32, 3):to("cpu")
---     tensor i32 3:1 on cpu
---         0    1    2
--- CuTe: none. MoYe: CuArray.
---@param device string
---@return Tensor
function Tensor:to(device) end

--- Copies tensors and tables of tensors, where they are.
--- clone returns as many values as it is given. A table becomes a table with the same fields and
--- the same metatable, in which each tensor is a copy. Numbers and other values stay as they are.
--- Tensors that share memory share it in the copies, too. With clone, you can launch a kernel on
--- copies of its arguments.
---
---     > x = arange(i32, 3)
---     > y, o = clone(x, {first = view(x, 1)})
---     > o.first[0] = 7
---     > x[0]
---     0
---     > clone(7)
---     7
--- CuTe: none. MoYe: deepcopy.
---@param ... any
---@return any ...
function clone(...) end

--- Frees a tensor's memory now.
--- After that, the tensor and its slices cannot be used.
---
---     > t = zeros(f32, 8)
---     > t:close()
--- CuTe: none. MoYe: none.
function Tensor:close() end

--- Views the same memory with another layout.
--- The view begins at the tensor's first element or, with an offset, that many elements later. A
--- layout that is known to reach outside the memory is an error. A kernel's shared memory may be
--- viewed with a swizzled layout.
---
---     > t = arange(i32, 8)
---     > view(t, "(2,2):(4,1)")
---     tensor i32 (2,2):(4,1) on cpu
---         0    1
---         4    5
---     > view(t, 3, 5)
---     tensor i32 3:1 on cpu
---         5    6    7
--- CuTe: make_tensor(ptr + offset, layout). MoYe: MoYeArray(array, layout).
---@param t Tensor
---@param layout Shape
---@param offset? integer elements
---@return Tensor
function view(t, layout, offset) end

--- Whether two tensors are nearly equal.
--- The result is true if |a - b| <= atol + rtol * |b| for all elements. If not, the second result
--- says where they differ most. The default tolerances depend on the type; integers must be equal.
--- Large tensors that are on one device are compared on that device.
---
---     > allclose(ones(f32, 4), full(f32, 4, 1.0000001))
---     true
---     > allclose(zeros(i32, 4), arange(i32, 4))
---     false   3 of 4 elements differ by more than 0 + 0 * |b|; the worst is 1: 0 and 1
--- CuTe: none. MoYe: isapprox.
---@param a Tensor
---@param b Tensor
---@param tolerances? table `{rtol =, atol =}`
---@return boolean
---@return string? # what differs
function allclose(a, b, tolerances) end

--- Functions whose results you can compare with those of kernels.
---@class Reference
reference = {}

--- The product C = A * B' of matrices A (M,K) and B (N,K).
--- On a CUDA device, cuBLAS computes it; on the host, a BLAS or plain loops do. A new C has A's
--- type, or i32 if A has narrow integers. With {groups = ends} in place of C, it multiplies groups,
--- like matmul; elements outside all groups are 0.
---
---     > A, B = from_table(f32, {{1, 2}, {3, 4}}), from_table(f32, {{1, 0}, {0, 1}})
---     > reference.matmul(A, B)
---     tensor f32 (2,2):(1,2) on cpu
---         1    2
---         3    4
---@param A Tensor
---@param B Tensor
---@param C? Tensor|table by default column-major (M,N), of A's type, or i32 if A has narrow integers
---@return Tensor # C
function reference.matmul(A, B, C) end

--- The library that computes reference.matmul(A, B, C).
--- The result is "cuBLAS", "BLAS" or "none". Use it to label timings that you compare with a
--- kernel's.
---
---     > A = rand(i32, {4, 4})
---     > reference.library(A, A)
---     none
---@param A Tensor
---@param B Tensor
---@param C? Tensor
---@return string
function reference.library(A, B, C) end

--- Attention, softmax(scale Q K') V, on the host in double precision.
--- The arguments, options and results are those of attention. `out` and `lse` may also be f64
--- tensors, which keep all digits.
---
---     > Q, K = zeros(f32, row_major{1, 1, 2, 4}), zeros(f32, row_major{1, 1, 3, 4})
---     > O, LSE = reference.attention(Q, K, ones(f32, row_major{1, 1, 3, 4}), {lse = true})
---     > ("%g %.6f"):format(O[{0, 0, 1, 2}], math.exp(LSE[{0, 0, 1}]))
---     1 3.000000
---@param Q Tensor (B,H,S,D)
---@param K Tensor (B,Hk,Sk,D)
---@param V Tensor (B,Hk,Sk,D)
---@param options? table
---@return Tensor # O
---@return Tensor? # LSE, with `lse`
function reference.attention(Q, K, V, options) end

--- What attention_decode computes, on the host in double precision.
--- The arguments, options and results are those of attention_decode; `k` and `v` are not written to
--- the cache.
---@param Q Tensor (B,H,D), or (B,H,S,D)
---@param K Tensor (B,Hk,Sk,D), or (pages,Hk,page size,D)
---@param V Tensor like K
---@param options? table
---@return Tensor # O
---@return Tensor? # LSE, with `lse`
function reference.attention_decode(Q, K, V, options) end

--- Converts the elements to another type, as cast does in a kernel.
--- It uses integer arithmetic on the host.
---
---     > reference.cast(from_table(f32, {0.1, 500, -1}), f8e4m3)
---     tensor f8e4m3 3:1 on cpu
---       0.10156      448       -1
---@param t Tensor
---@param dtype DType
---@return Tensor # column-major, of the same shape
function reference.cast(t, dtype) end

--- Finds the first element whose bits differ in two tensors.
--- Both tensors must have the same type. The result is the element's 1-D coordinate, or nil if all
--- bits are equal.
---
---     > reference.difference(zeros(f32, 4), from_table(f32, {0.0, 0.0, -0.0, 0.0}))
---     2
---@param a Tensor
---@param b Tensor
---@return integer?
function reference.difference(a, b) end

Tensor.clear = clear
Tensor.coalesce = coalesce
Tensor.composition = composition
Tensor.copy = copy
Tensor.cosize = cosize
Tensor.depth = depth
Tensor.fill = fill
Tensor.filter = filter
Tensor.filter_zeros = filter_zeros
Tensor.flat_divide = flat_divide
Tensor.flatten = flatten
Tensor.get_mode = get_mode
Tensor.group_modes = group_modes
Tensor.guard = guard
Tensor.logical_divide = logical_divide
Tensor.max_common_layout = max_common_layout
Tensor.max_common_vector = max_common_vector
Tensor.named = Layout.named
Tensor.names = Layout.names
Tensor.parallelize = parallelize
Tensor.rank = rank
Tensor.select = select
Tensor.size = size
Tensor.slice = slice
Tensor.take = take
Tensor.tile = tile
Tensor.tiled_divide = tiled_divide
Tensor.values = Layout.values
Tensor.view = view
Tensor.zipped_divide = zipped_divide
