---@meta _
-- Topic: algebra: composition, complement, inverses, divides, products

--- Composes layouts: R(c) = A(B(c)).
--- B picks elements of A, in B's shape and order. Every coordinate of B is also a coordinate of R.
--- With a table of tilers, the modes are composed one by one, and modes of A beyond the table are
--- dropped. If a mode of B crosses the end of a mode of A unevenly, the error names that mode of A.
---
---     > composition("(6,2):(8,2)", "(4,3):(3,1)")
---     ((2,2),3):((24,2),8)
---     > composition("(20,2):(16,4)", "(4,5):(1,4)")
---     (4,5):(16,64)
---     > composition("(12,(4,8)):(59,(13,1))", {L"3:4", 8})
---     (3,(4,2)):(236,(13,1))
---     > L"(6,2):(8,2)"(L"4:3")
---     (2,2):(24,2)
--- CuTe: composition, compose, with_shape. MoYe: composition, a layout called with a layout.
---@param A Layout|Tensor|Swizzle|string
---@param B Tiler|Swizzle
---@return Layout
function composition(A, B) end

--- Simplifies a layout to as few modes as possible, with the same indices.
--- As a function of one integer, the result equals the layout. Modes of extent 1 are removed, and a
--- mode that continues the one before it is merged with it. With a profile, each mode for which the
--- profile has an integer is simplified separately; the value of the integer does not matter.
---
---     > coalesce"(2,(1,6)):(1,(6,2))"
---     12:1
---     > coalesce("(2,(1,6)):(1,(6,2))", {1, 1})
---     (2,6):(1,2)
--- CuTe: coalesce. MoYe: coalesce.
---@param l Layout|Tensor|string
---@param profile? Tuple
---@return Layout
function coalesce(l, profile) end

--- Removes all nesting: each integer of the shape becomes a mode.
---
---     > flatten"((2,3),(5,7)):((1,2),(6,30))"
---     (2,3,5,7):(1,2,6,30)
--- CuTe: flatten. MoYe: flatten.
---@param l Layout|Tensor|string
---@return Layout
function flatten(l) end

--- Coalesces a layout and drops its modes of stride 0, which change no index.
--- With a profile, each mode for which the profile has an integer is filtered separately.
---
---     > filter"(4,(2,3)):(1,(0,4))"
---     12:1
--- CuTe: filter. MoYe: filter.
---@param l Layout|Tensor|string
---@param profile? Tuple
---@return Layout
function filter(l, profile) end

--- Replaces the extent of each mode of stride 0 with 1, and keeps the nesting.
---
---     > filter_zeros"(4,(2,3)):(1,(0,4))"
---     (4,(1,3)):(1,(0,4))
--- CuTe: filter_zeros. MoYe: none.
---@param l Layout|Tensor|string
---@return Layout
function filter_zeros(l) end

--- The indices below n that a layout leaves out.
--- The result's indices are where copies of l must start to fill these gaps. Concatenated with l,
--- the result reaches each index below n exactly once, if that is possible. The strides of the
--- result increase, which makes it unique. n is a size or a shape; the default is the cosize of l.
--- A negative stride is an error, and so is a layout that reaches an index twice.
---
---     > complement("4:2", 24)
---     (2,3):(1,8)
---     > complement("(2,2):(1,6)", 24)
---     (3,2):(2,12)
---     > complement("4:1", 24)
---     6:4
--- CuTe: complement. MoYe: complement.
---@param l Layout|string
---@param n? Shape
---@return Layout
function complement(l, n) end

--- The largest R with l(R(i)) = i for all i below its size.
--- It shows how many elements are contiguous from index 0 on, and what their coordinates are.
---
---     > r = right_inverse"(4,8):(8,1)"
---     > r
---     (8,4):(4,1)
---     > L"(4,8):(8,1)"(r)
---     (8,4):(1,8)
--- CuTe: right_inverse. MoYe: right_inverse.
---@param l Layout|string
---@return Layout
function right_inverse(l) end

--- An R with R(l(i)) = i for all i.
--- It maps an index back to its coordinate.
---
---     > r = left_inverse"(4,8):(10,1)"
---     > r
---     (10,4):(4,1)
---     > coalesce(r(L"(4,8):(10,1)"))
---     32:1
--- CuTe: left_inverse. MoYe: left_inverse.
---@param l Layout|string
---@return Layout
function left_inverse(l) end

--- The layout of the coordinates with index 0: the modes of stride 0.
---
---     > nullspace"(4,8):(0,1)"
---     4:1
--- CuTe: nullspace. MoYe: none.
---@param l Layout|string
---@return Layout
function nullspace(l) end

--- Splits a layout into (tile, rest): one tile, and where the tiles begin.
--- Mode 0 runs over one tile and mode 1 over the tiles. With one tiler per mode, each mode becomes
--- a pair (tile, rest): ((TileM,RestM),(TileN,RestN)). The result is l composed with (tiler,
--- complement of the tiler in l). If a tile does not divide an extent, there is one more tile,
--- which extends past the end.
---
---     > logical_divide("(4,2,3):(2,1,8)", "4:2")
---     ((2,2),(2,3)):((4,1),(2,8))
---     > logical_divide("(8,8):(8,1)", {2, 4})
---     ((2,4),(4,2)):((8,16),(1,4))
--- CuTe: logical_divide. MoYe: logical_divide.
--- See: zipped_divide, which gathers the tiles' modes; show, which draws it.
---@param l Layout|Tensor|string
---@param tiler Tiler
---@return Layout
function logical_divide(l, tiler) end

--- Cuts a layout into tiles: mode 0 runs over one tile, mode 1 over the tiles.
--- The modes are ((TileM,TileN),(RestM,RestN,...)), so `z(_, i)` is tile i, and `z(_, {i, j})` is
--- the tile at (i, j). The first mode is the composition with the tiler. If a tile does not divide
--- an extent, there is one more tile, which extends past the end.
---
---     > z = zipped_divide("(8,8):(8,1)", {2, 4})
---     > z
---     ((2,4),(4,2)):((8,1),(16,4))
---     > size(z, 0), size(z, 1)
---     8       8
---     > z(0, {1, 1}), z({_, _}, {1, 1})
---     20      (2,4):(8,1)
--- CuTe: zipped_divide. MoYe: zipped_divide.
--- See: logical_divide, tiled_divide and flat_divide, which arrange the same modes differently;
--- tile.
---@param l Layout|Tensor|string
---@param tiler Tiler a tile's shape, `{2, 4}`, or layouts that pick its elements, `"<2:4,4:2>"`
---@return Layout
function zipped_divide(l, tiler) end

--- Cuts a layout into tiles: ((TileM,TileN),RestM,RestN,...).
--- One mode is the tile, and each direction of tiles has its own mode.
---
---     > tiled_divide("(8,8):(8,1)", {2, 4})
---     ((2,4),4,2):((8,1),16,4)
--- CuTe: tiled_divide, the method tile of a layout. MoYe: tiled_divide.
--- See: zipped_divide.
---@param l Layout|Tensor|string
---@param tiler Tiler
---@return Layout
function tiled_divide(l, tiler) end

--- Cuts a layout into tiles: (TileM,TileN,RestM,RestN,...).
---
---     > flat_divide("(8,8):(8,1)", {2, 4})
---     (2,4,4,2):(8,1,16,4)
--- CuTe: flat_divide. MoYe: none.
--- See: zipped_divide.
---@param l Layout|Tensor|string
---@param tiler Tiler
---@return Layout
function flat_divide(l, tiler) end

--- Repeats a layout: mode 0 is the layout, mode 1 runs over its copies.
--- With one tiler per mode, each mode of l becomes (mode, copies). The result is (l, C), where C
--- is the composition of l's complement and the tiler.
---
---     > logical_product("(2,2):(4,1)", "6:1")
---     ((2,2),(2,3)):((4,1),(2,8))
---     > logical_product("(2,5):(5,1)", "<3:5,4:6>")
---     ((2,3),(5,4)):((5,10),(1,30))
--- CuTe: logical_product. MoYe: logical_product.
--- See: blocked_product, which needs no strides.
---@param l Layout|string the block that is repeated
---@param tiler Tiler how many copies, and in which order
---@return Layout
function logical_product(l, tiler) end

--- Repeats a layout: ((M,N),(TileM,TileN,...)).
--- The first mode is the layout, and the second steps through its copies.
---
---     > zipped_product("(2,5):(5,1)", "<3:5,4:6>")
---     ((2,5),(3,4)):((5,1),(10,30))
--- CuTe: zipped_product. MoYe: zipped_product.
---@param l Layout|string
---@param tiler Tiler
---@return Layout
function zipped_product(l, tiler) end

--- Repeats a layout: ((M,N),TileM,TileN,...).
--- One mode is the layout, and each direction of copies has its own mode.
---
---     > tiled_product("(2,5):(5,1)", "<3:5,4:6>")
---     ((2,5),3,4):((5,1),10,30)
--- CuTe: tiled_product. MoYe: tiled_product.
---@param l Layout|string
---@param tiler Tiler
---@return Layout
function tiled_product(l, tiler) end

--- Repeats a layout: (M,N,TileM,TileN,...).
---
---     > flat_product("(2,5):(5,1)", "<3:5,4:6>")
---     (2,5,3,4):(5,1,10,30)
--- CuTe: flat_product. MoYe: none.
---@param l Layout|string
---@param tiler Tiler
---@return Layout
function flat_product(l, tiler) end

--- Arranges blocks as a matrix of blocks.
--- Mode i is (block's mode i, matrix's mode i).
---
---     > blocked_product("(2,5):(5,1)", "(3,4):(1,3)")
---     ((2,3),(5,4)):((5,10),(1,30))
---     > coalesce(blocked_product("(2,5):(5,1)", "(3,4):(1,3)"), {1, 1})
---     (6,(5,4)):(5,(1,30))
--- CuTe: blocked_product. MoYe: blocked_product.
--- See: raked_product; show draws both.
---@param block Layout|string
---@param matrix Layout|string the arrangement of the blocks
---@return Layout
function blocked_product(block, matrix) end

--- Interleaves blocks, in what is also called a cyclic arrangement.
--- Mode i is (matrix's mode i, block's mode i).
---
---     > raked_product("(2,5):(5,1)", "(3,4):(1,3)")
---     ((3,2),(4,5)):((10,5),(30,1))
--- CuTe: raked_product. MoYe: raked_product.
--- See: blocked_product, tv_layout.
---@param block Layout|string
---@param matrix Layout|string
---@return Layout
function raked_product(block, matrix) end

--- Repeats a block until it fills a shape.
--- The mode whose order is 0 is filled first, then the mode whose order is 1, and so on. The order
--- "right" fills the last mode first.
---
---     > tile_to_shape("(2,2):(2,1)", {4, 6})
---     ((2,2),(2,3)):((2,4),(1,8))
---     > tile_to_shape("(2,2):(2,1)", {4, 6}, {1, 0})
---     ((2,2),(2,3)):((2,12),(1,4))
--- CuTe: tile_to_shape. MoYe: tile_to_shape.
---@param block Layout|string
---@param shape Shape the shape to fill; each extent must be a multiple of the block's extent
---@param order? Tuple|string
---@return Layout
function tile_to_shape(block, shape, order) end

--- Which elements of a tile each thread owns, value by value.
--- It returns a layout of (thread, value), and the shape of the tile. Mode 0 runs over the threads,
--- and mode 1 over the values of one thread. The indices are positions in the tile, in column-major
--- order.
---
---     > tv_layout("(2,3):(3,1)", "(2,3):(1,2)")
---     ((3,2),(2,3)):((12,2),(1,4))    (4,9)
--- CuTe: make_layout_tv. MoYe: inside of make_tiled_copy.
--- See: show, explain, composition, which applies it to a tensor.
---@param thr Layout|string how the threads are arranged in the tile
---@param val Layout|string the values of each thread
---@return Layout # from (thread, value) to positions in the tile
---@return Tuple # the shape of the tile
function tv_layout(thr, val) end

--- How many elements are contiguous, from index 0 on, in both layouts.
--- A copy from one to the other can move that many elements in one access.
---
---     > max_common_vector("(4,8):(1,4)", "(4,8):(1,16)")
---     4
--- CuTe: max_common_vector. MoYe: max_common_vector.
---@param a Layout|Tensor|string
---@param b Layout|Tensor|string
---@return integer
function max_common_vector(a, b) end

--- A layout of the coordinates that are contiguous in both layouts.
---
---     > max_common_layout("(4,8):(1,4)", "(4,8):(1,16)")
---     4:1
--- CuTe: max_common_layout. MoYe: max_common_layout.
---@param a Layout|Tensor|string
---@param b Layout|Tensor|string
---@return Layout
function max_common_layout(a, b) end

--- The same memory with wider elements: n elements become one.
---
---     > upcast("(8,4):(1,8)", 4)
---     (2,4):(1,2)
--- CuTe: upcast. MoYe: upcast.
---@param l Layout|string
---@param n integer
---@return Layout
function upcast(l, n) end

--- The same memory with narrower elements: each element becomes n.
---
---     > downcast("(8,4):(1,8)", 2)
---     (16,4):(1,16)
--- CuTe: downcast. MoYe: downcast.
---@param l Layout|string
---@param n integer
---@return Layout
function downcast(l, n) end

--- The same bits as elements of another width.
--- The widths are numbers of bits or element types. For a host, global or shared tensor, the
--- result is a view of the same memory. For a fragment, it is a new, read-only fragment with a
--- copy of the bits.
---
---     > recast("(8,4):(1,8)", 16, 32)
---     (4,4):(1,4)
---     > recast("(8,4):(1,8)", f64, f32)
---     (16,4):(1,16)
---
---     > recast(full(f32, 2, 1), u16)
---     tensor u16 4:1 on cpu
---           0  16256      0  16256
--- CuTe: recast_layout, recast. MoYe: recast.
---@overload fun(t: Tensor, dtype: DType): Tensor
---@param l Layout|string
---@param from integer|DType the width of an element in bits, or its type
---@param to integer|DType the width, or the type, of the result's elements
---@return Layout
function recast(l, from, to) end

--- Spreads n over the modes of a shape, from the left.
--- Each mode gets the greatest common divisor of its extent and what remains.
---
---     > domain_distribute({4, 8}, 8)
---     8:1
---     > domain_distribute({6, 8}, 12)
---     12:1
--- CuTe: domain_distribute. MoYe: none.
---@param shape Shape
---@param n integer
---@return Layout
function domain_distribute(shape, n) end

--- A function that changes bits of an index, to avoid bank conflicts.
--- It prints as `Sw<B,M,S>`. Called with an index, it swizzles the index. Composed with a layout,
--- it makes a swizzled layout.
---@class Swizzle
---@field bits integer B: the number of bits that change
---@field base integer M: the number of low bits that stay unchanged
---@field shift integer S: how many bits the deciding bits lie to the left of the changing bits
---@field y integer the deciding bits, as a mask
---@field z integer the changing bits, as a mask
---@operator call(any): any
local Swizzle = {}

--- Makes a swizzle: B bits, from bit M on, are XORed with those S to the left.
--- The low M bits do not change, so 2^M elements stay adjacent. As a string, this swizzle is
--- `"Sw<2,0,3>"`.
---
---     > sw = swizzle(2, 0, 3)
---     > sw, sw(8), sw(16), sw(24)
---     Sw<2,0,3>       9       18      27
---     > l = composition(sw, "(8,4):(4,1)")
---     > l, l(2, 0), l(4, 3)
---     Sw<2,0,3> o 0 o (8,4):(4,1)     9       17
--- CuTe: Swizzle. MoYe: none.
--- See: swizzle_from_masks; show draws a swizzled layout before and after.
---@param B integer
---@param M integer
---@param S integer
---@return Swizzle
function swizzle(B, M, S) end

--- Makes a swizzle from two masks: the deciding bits and the changing bits.
---
---     > swizzle_from_masks(0x18, 0x3)
---     Sw<2,0,3>
--- CuTe: make_swizzle. MoYe: none.
---@param y integer
---@param z integer
---@return Swizzle
function swizzle_from_masks(y, z) end

Swizzle.composition = composition
Swizzle.downcast = downcast
Swizzle.recast = recast
Swizzle.upcast = upcast
