---@meta _
-- Topic: atoms: instructions that multiply and copy

--- An instruction for products or copies: which thread holds what.
--- `atom(name)` makes it. Layouts of an MMA lead from (thread, value) to elements of A (m + M*k), B
--- (n + N*k) and C (m + M*n); those of a copy from (thread, bit) to bits of the data: of the source,
--- of the destination, and the order that tiles are made in. A stride 0 of the threads says that all
--- have the same: shared memory, or an address that only the first threads give. Fields of one kind
--- are nil in the other. Two are equal when name and type of elements are.
---
---     > a = atom"SM80_16x8x16_F32F16F16F32_TN"
---     > a.shape, a.dtypes.c, a.registers.a, a.arch
---     (16,8,16)       f32     4       sm_80
---     > a.layout_c(5, 3) -- row 9, column 3 of 16 rows
---     57
--- CuTe: MMA_Atom, Copy_Atom, MMA_Traits, Copy_Traits. MoYe: MMAAtom, CopyAtom, MMATraits.
---@class Atom
---@field name string CuTe's
---@field kind string "mma" or "copy"
---@field family string "mma.sync", "wgmma", "dp", "fma"; "copy", "cp.async", "ldmatrix", "stmatrix", ...
---@field sm integer the first compute capability that has it: 80; 0: any
---@field arch string the same as text: "sm_80", "sm_90a" (on that one only), "any"
---@field ptx? string the instruction without its operands; nil where it is plain code
---@field times integer how many of the instructions one atom takes
---@field section? string of the PTX ISA 9.2, "9.7.14.5.8"
---@field threads integer that take part
---@field thr_id Layout from a logical thread to its lane
---@field shape? Tuple of an MMA: (M,N,K)
---@field dtypes? table of an MMA: a, b, c, d; a name where the language has no such type
---@field bits integer|table of a copy: of all its data; of an MMA: of an element of a, b, c, d
---@field bytes? integer of a copy: of all its data
---@field dtype? any of a copy: the type of its elements, if it was given
---@field registers? table of an MMA: of a thread for a, b, c, d; of 64 bits where the type is so wide
---@field spaces? table of an MMA: "registers" or "shared" for a, b, c, d
---@field layout_a? Layout of an MMA
---@field layout_b? Layout of an MMA
---@field layout_c? Layout of an MMA
---@field src? Layout of a copy
---@field dst? Layout of a copy
---@field ref? Layout of a copy
local Atom = {}

Atom.show = show
Atom.explain = explain
Atom.svg = svg
Atom.latex = latex
Atom.html = html

--- The atom with CuTe's name.
--- Where CuTe has template arguments they are written with the names of types here:
--- `UniversalFMA<f32>`, `UniversalCopy<u128>`, `SM80_CP_ASYNC_CACHEALWAYS<u64>`. A copy is given the
--- type of its elements before tiles are made of it: `Copy_Atom<Op, T>` is `atom(op, T)`.
---
---     > atom"SM75_16x8x8_F16F16F16F16_TN"
---     SM75_16x8x8_F16F16F16F16_TN
---       mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16
---       sm_75, PTX ISA 9.7.14.5.7
---       thr 32:1
---       MNK (16,8,8)
---       A   f16 ((4,8),(2,2)):((32,1),(16,8))
---       B   f16 ((4,8),2):((16,1),8)
---       C   f16 ((4,8),(2,2)):((32,1),(16,8))
---     > atom("UniversalCopy<u128>", f32).dtype
---     f32
--- CuTe: UniversalFMA, UniversalCopy. MoYe: UniversalFMA, UniversalCopy.
--- See: atoms.
---@param name string
---@param dtype? any of a copy: the type of its elements
---@return Atom
function atom(name, dtype) end

--- The names of all atoms, or of those that a filter fits.
--- Of a filter each entry must fit: `kind`, `family` (see Atom), `sm` (a device of this compute
--- capability has it), `dtype` (of one of its operands).
---
---     > atoms{family = "ldmatrix"}[1], #atoms{kind = "copy"}
---     SM75_U32x1_LDSM_N       28
---     > atoms{sm = 80, dtype = tf32}[1]
---     SM80_16x8x4_F32TF32TF32F32_TN
--- CuTe: none. MoYe: none.
--- See: atom.
---@param filter? table
---@return string[]
function atoms(filter) end

--- A layout of shared memory that wgmma reads, swizzled.
--- It has 8 rows of 16, 32, 64 or 128 bytes.
--- `K_` is contiguous in k, `MN_` in m or n; `INTER` (16 bytes, no swizzle), `SW32`, `SW64` and
--- `SW128` are the widths. `tile_to_shape` fills a tile with them.
---
---     > smem_atom("K_SW128", f16)
---     Sw<3,3,3> o 0 o (8,64):(64,1)
---     > tile_to_shape(smem_atom("MN_SW32", f32), {16, 16})
---     Sw<1,2,3> o 0 o ((8,2),(8,2)):((1,64),(8,128))
--- CuTe: Layout_K_SW128_Atom. MoYe: none.
---@param name string
---@param dtype any
---@return Layout
function smem_atom(name, dtype) end
