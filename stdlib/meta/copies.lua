---@meta _
-- Topic: copies: atoms that copy, repeated over threads and values

--- A copy atom repeated over threads and values, made by tiled_copy.
--- CuTe: TiledCopy. MoYe: TiledCopy.
---@class TiledCopy
---@field atom Atom the atom, with the type of its elements
---@field layout_tv Layout the element of the tile at (thread, value), in the order of `ref`
---@field tiler Tuple the tile's shape
---@field threads integer how many threads there are
---@field val_src Layout the atom's `src` in elements
---@field val_dst Layout the atom's `dst` in elements
---@field val_ref Layout the atom's `ref` in elements
local TiledCopy = {}

TiledCopy.show = show
TiledCopy.explain = explain
TiledCopy.svg = svg
TiledCopy.latex = latex
TiledCopy.html = html

--- Repeats a copy atom over a layout of threads, each with a layout of values.
--- The tile is the product of both, as in tv_layout.
---
---     > by_rows = tiled_copy(atom("UniversalCopy<u128>", f32), "(32,8)", "(4,1)")
---     > by_rows.threads, by_rows:tile_shape()
---     256     (128,8)
---     > by_rows:get_slice(33):partition_S(zeros(f32, {128, 16})).layout
---     ((4,1),1,2):((1,0),0,1024)
--- CuTe: make_tiled_copy. MoYe: make_tiled_copy.
--- See: atom, tv_layout, tiled_copy_A.
---@param atom Atom an atom that has the type of its elements
---@param thr_layout Layout|table|string
---@param val_layout? Layout|table|string the default is one value
---@return TiledCopy
function tiled_copy(atom, thr_layout, val_layout) end

--- The tiled copy that loads A for the threads of a tiled MMA.
--- If the MMA takes words of several elements, the copy moves words, and its atom is of u32.
---
---     > mma = tiled_mma("SM80_16x8x16_F32F16F16F32_TN", {2, 2}, {32, 32, 16})
---     > ldsm = tiled_copy_A(atom("SM75_U32x4_LDSM_N", f16), mma)
---     > ldsm:get_slice(9):partition_S(zeros(f16, {64, 64})).layout
---     ((8,1),2,4):((64,0),32,1024)
--- CuTe: make_tiled_copy_A. MoYe: make_tiled_copy_A.
--- See: tiled_copy, tiled_mma.
---@param atom Atom
---@param mma TiledMMA
---@return TiledCopy
function tiled_copy_A(atom, mma) end

--- The tiled copy that loads B for the threads of a tiled MMA.
--- CuTe: make_tiled_copy_B. MoYe: make_tiled_copy_B.
---@param atom Atom
---@param mma TiledMMA
---@return TiledCopy
function tiled_copy_B(atom, mma) end

--- The tiled copy that loads or stores C for the threads of a tiled MMA.
--- CuTe: make_tiled_copy_C. MoYe: make_tiled_copy_C.
---@param atom Atom
---@param mma TiledMMA
---@return TiledCopy
function tiled_copy_C(atom, mma) end

--- Uses another atom for the threads and values of a tiled copy's source.
--- CuTe: make_tiled_copy_S. MoYe: none.
---@param atom Atom
---@param copy TiledCopy
---@return TiledCopy
function tiled_copy_S(atom, copy) end

--- Uses another atom for the threads and values of a tiled copy's destination.
--- CuTe: make_tiled_copy_D. MoYe: none.
---@param atom Atom
---@param copy TiledCopy
---@return TiledCopy
function tiled_copy_D(atom, copy) end

--- The part of one thread, whose number may be a run-time value.
--- A block may have more threads than there are parts if a condition such as
--- `if threadIdx.x < 128 then` excludes the others. Without such a condition,
--- get_slice(threadIdx.x) is an error in a larger block.
--- CuTe: get_slice, get_thread_slice. MoYe: get_slice.
---@param i integer
---@return ThrCopy
function TiledCopy:get_slice(i) end

--- The shape of the tile.
--- CuTe: tile_size. MoYe: none.
---@return Tuple
function TiledCopy:tile_shape() end

--- How many threads there are.
--- CuTe: size. MoYe: size.
---@return integer
function TiledCopy:size() end

--- Arranges a source as (Thr,(FrgV,FrgX),(RestM,RestN,...)).
--- CuTe: tidfrg_S. MoYe: tidfrg_S.
---@param x any
---@return any
function TiledCopy:tidfrg_S(x) end

--- Arranges a destination as (Thr,(FrgV,FrgX),(RestM,RestN,...)).
--- CuTe: tidfrg_D. MoYe: tidfrg_D.
---@param x any
---@return any
function TiledCopy:tidfrg_D(x) end

--- The source's layout from (thread, value) to elements of the tile.
--- CuTe: get_layoutS_TV. MoYe: none.
---@return Layout
function TiledCopy:tv_layout_S() end

--- The destination's layout from (thread, value) to elements of the tile.
--- CuTe: get_layoutD_TV. MoYe: none.
---@return Layout
function TiledCopy:tv_layout_D() end

--- Views another tiled object's fragment as this copy's part.
--- CuTe: retile. MoYe: none.
---@param x any
---@return any
function TiledCopy:retile(x) end

--- The part of one thread in a tiled copy: `copy:get_slice(i)`.
--- Parts have the modes ((FrgV,FrgX),RestM,RestN,...), where FrgV stands for the values of one
--- instruction.
--- CuTe: ThrCopy. MoYe: ThrCopy.
---@class ThrCopy
---@field copy TiledCopy
---@field thread integer
local ThrCopy = {}

--- The thread's part of a source.
--- CuTe: partition_S. MoYe: partition_S.
---@param x any
---@return any
function ThrCopy:partition_S(x) end

--- The thread's part of a destination.
--- CuTe: partition_D. MoYe: partition_D.
---@param x any
---@return any
function ThrCopy:partition_D(x) end

--- Views a fragment of a tiled MMA as a source of this copy.
--- CuTe: retile_S. MoYe: retile_S.
---@param x any
---@return any
function ThrCopy:retile_S(x) end

--- Views a fragment of a tiled MMA as a destination of this copy.
--- CuTe: retile_D. MoYe: retile_D.
---@param x any
---@return any
function ThrCopy:retile_D(x) end

--- A tiled copy of 128 threads between tensor memory and registers.
--- The atom is one of atoms{family = "tcgen05.ld"} or "tcgen05.st"; the number in its name before x
--- says how many columns it takes at once. Warp w of four reaches 32 lanes, from 32 * w on. A copy
--- is over when the call is: it ends with tcgen05.wait.
---
--- With SM100_UTCCP_4x32dp128bit_1cta, it copies scales from shared memory, 128 rows by 4 scales: one
--- thread issues the copy, and a later product may follow at once. SM100_UTCCP_4x32dp128bit_2cta does
--- so in both blocks of a pair, each from its own shared memory.
---
---     > k = kernel("k", function()
---     >>   local acc = tmem(f32, {128, 64})
---     >>   sync_threads()
---     >>   local ld = tmem_copy("SM100_TMEM_LOAD_32dp32b16x", acc):get_slice(threadIdx.x)
---     >>   print(ld:partition_S(acc).layout)
---     >>   tmem_dealloc(acc)
---     >> end)
---     > k{grid = 1, block = 128}()
---     ((16,1),1,4):((128,0),0,2048)
--- CuTe: make_tmem_copy, make_utccp_copy. PTX: tcgen05.ld, tcgen05.st, tcgen05.cp. MoYe: none.
--- See: tmem, atom.
---@param atom string|Atom
---@param t Tensor in tensor memory, of 128 or 64 rows
---@return TiledCopy
function tmem_copy(atom, t) end
