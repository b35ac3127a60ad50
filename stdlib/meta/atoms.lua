---@meta _
-- Topic: atoms: instructions that multiply and copy

--- An instruction that multiplies or copies, and which thread holds what.
--- `atom(name)` makes one. The layouts of an MMA map (thread, value) to elements of A (m + M*k), B
--- (n + N*k) and C (m + M*n). The layouts of a copy map (thread, bit) to bits of the data: `src`
--- describes the source, `dst` the destination, and `ref` the order in which tiles are made. If the
--- threads have stride 0, they all refer to the same data: shared memory, or an address that only
--- the first threads pass. Fields of copies are nil in an MMA, and vice versa. Two atoms are equal
--- if they have the same name and the same element types.
---
---     > a = atom"SM80_16x8x16_F32F16F16F32_TN"
---     > a.shape, a.dtypes.c, a.registers.a, a.arch
---     (16,8,16)       f32     4       sm_80
---     > a.layout_c(5, 3) -- row 9, column 3 of 16 rows
---     57
--- CuTe: MMA_Atom, Copy_Atom, MMA_Traits, Copy_Traits. MoYe: MMAAtom, CopyAtom, MMATraits.
---@class Atom
---@field name string CuTe's name
---@field kind string "mma" or "copy"
---@field family string "mma.sync", "wgmma", "dp", "fma"; "copy", "cp.async", "ldmatrix", "stmatrix", ...
---@field sm integer the first compute capability that has the atom, such as 80; 0 means any
---@field arch string the same as a name: "sm_80", "any"; "sm_90a" (only that one and its family)
---@field ptx? string the instruction without its operands; nil if the atom is plain code
---@field times integer how many instructions one atom consists of
---@field section? string the section of the PTX ISA 9.2, e.g. "9.7.14.5.8"
---@field threads integer how many threads take part
---@field thr_id Layout the lane of each logical thread
---@field shape? Tuple (M,N,K) of an MMA
---@field dtypes? table the types of an MMA's a, b, c, d; a name if the language has no such type
---@field bits integer|table of all data of a copy; of the place of an element of an MMA's a, b, c, d
---@field bytes? integer the bytes of all data of a copy
---@field dtype? any the type of a copy's elements, if it was given
---@field registers? table the registers of a thread for an MMA's a, b, c, d; those for f64 have 64 bits
---@field spaces? table "registers", "shared" or "tensor" (memory) for an MMA's a, b, c, d
---@field descriptor? integer of a product by tcgen05: its instruction descriptor, both operands K-major
---@field layout_a? Layout the layout of A in an MMA
---@field layout_b? Layout the layout of B in an MMA
---@field layout_c? Layout the layout of C in an MMA
---@field layout_sfa? Layout the layout of A's scales, (M,K/sf_vec_size), in an MMA that has scales
---@field layout_sfb? Layout the layout of B's scales, (N,K/sf_vec_size)
---@field sf_vec_size? integer the elements along K that share a scale; nil if there are no scales
---@field src? Layout the layout of a copy's source
---@field dst? Layout the layout of a copy's destination
---@field ref? Layout the order in which a copy's tiles are made
local Atom = {}

Atom.show = show
Atom.explain = explain
Atom.svg = svg
Atom.latex = latex
Atom.html = html

--- Finds an atom by the name that it has in CuTe.
--- CuTe's template arguments are names of types here: `UniversalFMA<f32>`, `UniversalCopy<u128>`,
--- `SM80_CP_ASYNC_CACHEALWAYS<u64>`. Before a tiled copy can be made from it, a copy atom needs the
--- type of its elements: CuTe's `Copy_Atom<Op, T>` is `atom(op, T)`.
---
---     > atom"SM75_16x8x8_F16F16F16F16_TN"
---     SM75_16x8x8_F16F16F16F16_TN
---       mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16
---       sm_75, PTX ISA section 9.7.14.5.7
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
---@param dtype? any the type of a copy's elements
---@return Atom
function atom(name, dtype) end

--- The names of all atoms, or of those that match a filter.
--- Every entry of the filter must match. The entries are `kind` and `family` (see Atom), `sm` (a
--- compute capability that has the atom) and `dtype` (the type of one of its operands).
---
---     > atoms{family = "ldmatrix"}[1], #atoms{kind = "copy"}
---     SM75_U32x1_LDSM_N       90
---     > atoms{sm = 80, dtype = tf32}[1]
---     SM80_16x8x4_F32TF32TF32F32_TN
--- CuTe: none. MoYe: none.
--- See: atom.
---@param filter? table
---@return string[]
function atoms(filter) end

--- A swizzled layout of shared memory that wgmma can read.
--- It has 8 rows of 16, 32, 64 or 128 bytes. A name that begins with `K_` means contiguous along k;
--- `MN_` means contiguous along m or n. The rest of the name is the width: `INTER` (16 bytes, no
--- swizzle), `SW32`, `SW64` or `SW128`. `tile_to_shape` repeats the layout over a tile.
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

--- A layout of shared memory that wgmma reads, for tile_to_shape.
--- It has 8 rows of 128, 64 or 32 bytes, which is also the width of the swizzle. If `bytes` is 0,
--- rows have 16 bytes and no swizzle. With "K", the layout is contiguous along K; with "MN", which
--- only 16-bit types allow, along M or N.
---
---     > gmma_layout(bf16, "K", 128)
---     Sw<3,3,3> o 0 o (8,64):(64,1)
---     > tile_to_shape(gmma_layout(bf16, "MN", 64), {64, 16})
---     Sw<2,3,3> o 0 o ((32,2),(8,2)):((1,256),(32,512))
--- CuTe: GMMA::Layout_K_SW128_Atom. MoYe: none.
--- See: smem_atom, wgmma_fence.
---@param dtype any
---@param major string
---@param bytes integer
---@return Layout
function gmma_layout(dtype, major, bytes) end

--- Orders registers and shared memory before wgmma products, in a kernel.
--- All warps of the warp group must call it together: before the first gemm with an SM90_64xNxK
--- atom, and again after other code has written the registers of such a gemm. The gemm returns at
--- once. Do not touch its sums or its operands before the wgmma_wait that ends it. If ordinary code
--- wrote the shared memory, call fence_proxy_async and a barrier first. wgmma needs sm_90a; the CPU
--- engine runs it anywhere.
---
---     > mma = tiled_mma("SM90_64x8x16_F32F16F16_SS")
---     > k = kernel("product", function(A, B, C)
---     >>   local sA = shared(f16, tile_to_shape(gmma_layout(f16, "K", 32), {64, 16}))
---     >>   local sB = shared(f16, tile_to_shape(gmma_layout(f16, "K", 32), {8, 16}))
---     >>   local thr = mma:get_slice(threadIdx.x)
---     >>   copy(parallelize(A, {64, 2}, threadIdx.x), parallelize(sA, {64, 2}, threadIdx.x))
---     >>   copy(parallelize(B, {8, 16}, threadIdx.x), parallelize(sB, {8, 16}, threadIdx.x))
---     >>   fence_proxy_async()
---     >>   sync_threads()
---     >>   local rC = thr:partition_fragment_C(C)
---     >>   wgmma_fence()
---     >>   gemm(mma, thr:partition_A(sA), thr:partition_B(sB), rC, {accumulate = false})
---     >>   wgmma_commit()
---     >>   wgmma_wait(0)
---     >>   copy(rC, thr:partition_C(C))
---     >> end, {static_shapes = true})
---     > A, B, C = ones(f16, {64, 16}), ones(f16, {8, 16}), zeros(f32, {64, 8})
---     > k{grid = 1, block = 128}(A, B, C)
---     > C[{63, 7}]
---     16.0
--- CuTe: warpgroup_arrive. MoYe: none.
--- See: gemm, wgmma_commit, wgmma_wait, gmma_layout.
function wgmma_fence() end

--- Ends a group of wgmma products, in a kernel.
--- `wgmma_wait` counts these groups, separately for each warp group.
--- CuTe: warpgroup_commit_batch. MoYe: none.
--- See: wgmma_fence, wgmma_wait.
function wgmma_commit() end

--- Waits until at most n groups of wgmma products are pending, in a kernel.
--- With 0, the default, it waits for all groups. Once a group has ended, its sums may be read and
--- its operands overwritten.
--- CuTe: warpgroup_wait<n>. MoYe: none.
--- See: wgmma_commit.
---@param n? integer 0 to 7
function wgmma_wait(n) end

--- Lets an mbarrier arrive when this thread's products are complete.
--- It means those that the thread has issued so far by tcgen05. It is one arrival. One thread calls
--- it: the one that called gemm. After a wait for the phase, tensor memory holds the sums, and shared
--- memory has been read. It includes tcgen05_before_thread_sync.
---
--- With `multicast`, the same barrier of each block of the cluster arrives whose bit is set: after a
--- product of two blocks, both have to know.
--- CuTe: umma_arrive, umma_arrive_multicast_2x1SM. PTX: tcgen05.commit. MoYe: none.
--- See: gemm, mbarrier, tcgen05_after_thread_sync, pair_tile.
---@param bar Mbarrier such as full[i]
---@param options? {multicast: integer} bit i stands for the block of rank i; may be a run-time value
function tcgen05_commit(bar, options) end

--- The tile of a pair of blocks, of a tensor that each of them has.
--- Its rows are those of the even block, then those of the odd one, each in its own memory. Atoms with
--- 2x1SM in their name multiply such tiles; partition_A, _B and _C take them. The blocks of a cluster
--- with the ranks 2 i and 2 i + 1 are a pair.
---
---     > k = kernel("pair", function()
---     >>   local acc = tmem(f32, {128, 64})
---     >>   print(pair_tile(acc).layout)
---     >>   sync_threads()
---     >>   tmem_dealloc(acc)
---     >> end)
---     > k{grid = 2, block = 32, cluster = 2}()
---     ((128,2),64):((1,0),128)
--- CuTe: none; its 2x1SM atoms have such threads. PTX: .cta_group::2. MoYe: none.
--- See: gemm, tmem, tcgen05_commit, tma_load.
---@param t Tensor in shared or tensor memory: (rows, columns, ...)
---@return Tensor
function pair_tile(t) end

--- An MMA atom repeated over threads and values, made by tiled_mma.
--- `thr_layout_vmnk` numbers the threads by (V,M,N,K), where V runs over the threads of one atom.
--- One step multiplies a tile of the shape `tile_shape()`. The same object works in kernels and on
--- the host, where you can examine it.
--- CuTe: TiledMMA. MoYe: TiledMMA.
---@class TiledMMA
---@field atom Atom
---@field atom_layout Layout the layout of the atoms over M, N and K
---@field perm table the tilers that permute M, N and K
---@field threads integer how many threads there are
---@field thr_layout_vmnk Layout the thread's number at (V,M,N,K)
local TiledMMA = {}

TiledMMA.show = show
TiledMMA.explain = explain
TiledMMA.svg = svg
TiledMMA.latex = latex
TiledMMA.html = html

--- Repeats an MMA atom over a layout of atoms.
--- The atoms work side by side, each with its own threads. The tile is as large as all atoms
--- together, unless permutations are given: three tilers for M, N and K, each a multiple of the
--- atoms' size. A permutation that is a layout also determines which rows and columns a thread
--- gets.
---
---     > mma = tiled_mma("SM80_16x8x16_F32F16F16F32_TN", {2, 2}, {32, 32, 16})
---     > mma.threads, mma:tile_shape(), mma.thr_layout_vmnk
---     128     (32,32,16)      (32,2,2,1):(1,32,64,0)
---     > mma:get_slice(5):partition_C(zeros(f32, {64, 64})).layout
---     ((2,2),2,4):((64,8),32,1024)
--- CuTe: make_tiled_mma. MoYe: make_tiled_mma.
--- See: atom, tiled_copy.
---@param atom Atom|string
---@param atom_layout? Layout|table|string the default is one atom
---@param permutations? table
---@return TiledMMA
function tiled_mma(atom, atom_layout, permutations) end

--- The part of one thread, whose number may be a run-time value.
--- A block may have more threads than there are parts if a condition such as
--- `if threadIdx.x < 128 then` excludes the others. Without such a condition,
--- get_slice(threadIdx.x) is an error in a larger block.
--- CuTe: get_slice, get_thread_slice. MoYe: get_slice.
---@param i integer
---@return ThrMMA
function TiledMMA:get_slice(i) end

--- The tile of one step, (M,N,K).
--- CuTe: tile_shape. MoYe: tile_shape.
---@return Tuple
function TiledMMA:tile_shape() end

--- The tile's size along mode i of (M,N,K).
--- CuTe: tile_size_mnk. MoYe: tile_size.
---@param i integer
---@return integer
function TiledMMA:tile_size_mnk(i) end

--- The same as tile_size_mnk.
--- CuTe: tile_size. MoYe: tile_size.
---@param i integer
---@return integer
function TiledMMA:tile_size(i) end

--- The permutation of mode i of (M,N,K): an integer or a layout.
--- CuTe: permutation_mnk. MoYe: none.
---@param i integer
---@return any
function TiledMMA:permutation_mnk(i) end

--- The layout of threads: from (V,M,N,K) to the thread's number.
--- CuTe: get_thr_layout_vmnk. MoYe: none.
---@return Layout
function TiledMMA:get_thr_layout_vmnk() end

--- How many threads there are.
--- CuTe: size. MoYe: size.
---@return integer
function TiledMMA:size() end

--- Arranges a tensor or layout (M,K,...) by threads and values.
--- The result is ((ThrV,(ThrM,ThrK)),(FrgV,(RestM,RestK,...))).
--- CuTe: thrfrg_A. MoYe: thrfrg_A.
---@param x any
---@return any
function TiledMMA:thrfrg_A(x) end

--- Arranges a tensor or layout (N,K,...) by threads and values.
--- The result is ((ThrV,(ThrN,ThrK)),(FrgV,(RestN,RestK,...))).
--- CuTe: thrfrg_B. MoYe: thrfrg_B.
---@param x any
---@return any
function TiledMMA:thrfrg_B(x) end

--- Arranges a tensor or layout (M,N,...) by threads and values.
--- The result is ((ThrV,(ThrM,ThrN)),(FrgV,(RestM,RestN,...))).
--- CuTe: thrfrg_C. MoYe: thrfrg_C.
---@param x any
---@return any
function TiledMMA:thrfrg_C(x) end

--- Arranges the scales of A by threads and values.
--- They are a tensor or layout (M,K/V,...), V the atom's sf_vec_size. The result is
--- ((ThrV,(ThrM,ThrK)),(FrgV,(RestM,RestK,...))).
--- CuTe: thrfrg_SFA of the Blackwell kernels. MoYe: none.
---@param x any
---@return any
function TiledMMA:thrfrg_SFA(x) end

--- Arranges the scales of B by threads and values.
--- They are a tensor or layout (N,K/V,...), V the atom's sf_vec_size. The result is
--- ((ThrV,(ThrN,ThrK)),(FrgV,(RestN,RestK,...))).
--- CuTe: thrfrg_SFB of the Blackwell kernels. MoYe: none.
---@param x any
---@return any
function TiledMMA:thrfrg_SFB(x) end

--- The layout from (thread, value) to the elements of A's tile.
--- With `by_word`, to its words, if the MMA takes words of several elements.
--- CuTe: get_layoutA_TV. MoYe: none.
---@param by_word? boolean
---@return Layout
function TiledMMA:tv_layout_A(by_word) end

--- The layout from (thread, value) to the elements of B's tile.
--- With `by_word`, to its words, if the MMA takes words of several elements.
--- CuTe: get_layoutB_TV. MoYe: none.
---@param by_word? boolean
---@return Layout
function TiledMMA:tv_layout_B(by_word) end

--- The layout from (thread, value) to the elements of C's tile.
--- CuTe: get_layoutC_TV. MoYe: none.
---@return Layout
function TiledMMA:tv_layout_C() end

--- The layout from (thread, value) to the scales of A's tile.
--- CuTe: get_layoutSFA_TV of the Blackwell kernels. MoYe: none.
---@return Layout
function TiledMMA:tv_layout_SFA() end

--- The layout from (thread, value) to the scales of B's tile.
--- CuTe: get_layoutSFB_TV of the Blackwell kernels. MoYe: none.
---@return Layout
function TiledMMA:tv_layout_SFB() end

--- The shape of a thread's part of an A of this shape.
--- CuTe: partition_shape_A. MoYe: none.
---@param shape Shape
---@return Tuple
function TiledMMA:partition_shape_A(shape) end

--- The shape of a thread's part of a B of this shape.
--- CuTe: partition_shape_B. MoYe: none.
---@param shape Shape
---@return Tuple
function TiledMMA:partition_shape_B(shape) end

--- The shape of a thread's part of a C of this shape.
--- CuTe: partition_shape_C. MoYe: none.
---@param shape Shape
---@return Tuple
function TiledMMA:partition_shape_C(shape) end

--- The shape of a thread's part of scales of A of this shape.
--- CuTe: none. MoYe: none.
---@param shape Shape
---@return Tuple
function TiledMMA:partition_shape_SFA(shape) end

--- The shape of a thread's part of scales of B of this shape.
--- CuTe: none. MoYe: none.
---@param shape Shape
---@return Tuple
function TiledMMA:partition_shape_SFB(shape) end

--- Registers for a thread's part of A.
--- If the atom reads A from shared memory, the result is the part itself. On the host, which has no
--- registers, the result is a tensor of zeros.
--- CuTe: make_fragment_A. MoYe: make_fragment_A.
---@param part any
---@return any
function TiledMMA:fragment_A(part) end

--- Registers for a thread's part of B; see fragment_A.
--- CuTe: make_fragment_B. MoYe: make_fragment_B.
---@param part any
---@return any
function TiledMMA:fragment_B(part) end

--- Registers for a thread's part of C, with a compact layout.
--- CuTe: make_fragment_C. MoYe: make_fragment_C.
---@param part any
---@return any
function TiledMMA:fragment_C(part) end

--- Registers for a thread's part of the scales of A, with a compact layout.
--- CuTe: none. MoYe: none.
---@param part any
---@return any
function TiledMMA:fragment_SFA(part) end

--- Registers for a thread's part of the scales of B, with a compact layout.
--- CuTe: none. MoYe: none.
---@param part any
---@return any
function TiledMMA:fragment_SFB(part) end

--- Views sums as operand A of the next product, in the same registers.
--- `x` is a fragment of C with the modes (V,M,N), cast to the type of A. `from` is the tiled MMA
--- that made the fragment; the default is this one. The view has the modes (V,M,K). Each thread
--- must hold the same elements in both, as it does with 16-bit types after f32; if not, the error
--- says what differs. Attention uses retile_A to multiply probabilities by V.
---
---     > qk, pv = tiled_mma"SM90_64x64x16_F32F16F16_SS", tiled_mma"SM90_64x128x16_F32F16F16_RS"
---     > scores = qk:get_slice(0):partition_fragment_C(zeros(f32, {64, 64}))
---     > scores.layout
---     ((2,2,8),1,1):((1,2,4),0,0)
---     > pv:retile_A(scores, qk).layout
---     ((2,2,2),1,4):((1,2,4),0,8)
--- CuTe: none; FlashAttention's convert_layout_acc_Aregs. MoYe: none.
---@param x Tensor
---@param from? TiledMMA|ThrMMA
---@return Tensor
function TiledMMA:retile_A(x, from) end

--- The part of one thread in a tiled MMA: `mma:get_slice(i)`.
--- Parts have the modes (FrgV,RestM,RestK,...): the values of one atom, then the repetitions along
--- the modes of the tensor. For a layout, the methods return the part and its offset, as
--- parallelize does. If the atom's elements have 4 bits or 1 bit, the tensor's type is u32, and
--- each word has 8 or 32 elements along K.
---
---     > thr = tiled_mma("UniversalFMA<f32>", {16, 16}):get_slice(37)
---     > thr:partition_A(zeros(f32, {64, 8})).layout
---     (1,4,8):(0,16,64)
---     > thr:partition_B"(64,8)"
---     (1,4,8):(0,16,64)       2
--- CuTe: ThrMMA. MoYe: ThrMMA.
---@class ThrMMA
---@field mma TiledMMA
---@field thr_vmnk table the thread's position in (V,M,N,K)
local ThrMMA = {}

--- The thread's part of A, a tensor (M,K,...).
--- gemm(mma, A, B, C) multiplies fragments of such parts.
--- CuTe: partition_A. MoYe: partition_A.
---@param x any
---@return any
function ThrMMA:partition_A(x) end

--- The thread's part of B, a tensor (N,K,...).
--- CuTe: partition_B. MoYe: partition_B.
---@param x any
---@return any
function ThrMMA:partition_B(x) end

--- The thread's part of C, a tensor (M,N,...).
--- CuTe: partition_C. MoYe: partition_C.
---@param x any
---@return any
function ThrMMA:partition_C(x) end

--- The thread's part of the scales of A, a tensor (M,K/V,...).
--- V is the atom's sf_vec_size. gemm(mma, {A, SFA}, {B, SFB}, C) multiplies by fragments of such parts.
--- CuTe: partition_fragment_SFA of the Blackwell kernels. MoYe: none.
---@param x any
---@return any
function ThrMMA:partition_SFA(x) end

--- The thread's part of the scales of B, a tensor (N,K/V,...).
--- V is the atom's sf_vec_size. gemm(mma, {A, SFA}, {B, SFB}, C) multiplies by fragments of such parts.
--- CuTe: partition_fragment_SFB of the Blackwell kernels. MoYe: none.
---@param x any
---@return any
function ThrMMA:partition_SFB(x) end

--- Registers for the thread's part of A.
--- CuTe: partition_fragment_A. MoYe: partition_fragment_A.
---@param x any
---@return any
function ThrMMA:partition_fragment_A(x) end

--- Registers for the thread's part of B.
--- CuTe: partition_fragment_B. MoYe: partition_fragment_B.
---@param x any
---@return any
function ThrMMA:partition_fragment_B(x) end

--- Registers for the thread's part of C.
--- `x` is a tensor or, in a kernel, also the layout of one.
--- CuTe: partition_fragment_C. MoYe: partition_fragment_C.
---@param x any
---@return any
function ThrMMA:partition_fragment_C(x) end

--- Registers for the thread's part of the scales of A.
--- CuTe: partition_fragment_SFA of the Blackwell kernels. MoYe: none.
---@param x any
---@return any
function ThrMMA:partition_fragment_SFA(x) end

--- Registers for the thread's part of the scales of B.
--- CuTe: partition_fragment_SFB of the Blackwell kernels. MoYe: none.
---@param x any
---@return any
function ThrMMA:partition_fragment_SFB(x) end

--- Registers like a part of A; see TiledMMA:fragment_A.
--- CuTe: make_fragment_A. MoYe: make_fragment_A.
---@param part any
---@return any
function ThrMMA:fragment_A(part) end

--- Registers like a part of B; see TiledMMA:fragment_B.
--- CuTe: make_fragment_B. MoYe: make_fragment_B.
---@param part any
---@return any
function ThrMMA:fragment_B(part) end

--- Registers like a part of C; see TiledMMA:fragment_C.
--- CuTe: make_fragment_C. MoYe: make_fragment_C.
---@param part any
---@return any
function ThrMMA:fragment_C(part) end

--- Registers like a part of the scales of A; see TiledMMA:fragment_SFA.
--- CuTe: none. MoYe: none.
---@param part any
---@return any
function ThrMMA:fragment_SFA(part) end

--- Registers like a part of the scales of B; see TiledMMA:fragment_SFB.
--- CuTe: none. MoYe: none.
---@param part any
---@return any
function ThrMMA:fragment_SFB(part) end

--- Views sums as operand A of the next product; see TiledMMA:retile_A.
--- CuTe: none. MoYe: none.
---@param x Tensor
---@param from? TiledMMA|ThrMMA
---@return Tensor
function ThrMMA:retile_A(x, from) end
