---@meta _
-- Topic: layouts: making them and asking about them

--- The sizes of modes: an integer, a table `{4, {2, 3}}`, or `"(4,(2,3))"`.
--- A layout may be given in place of its shape. Extents are numbers of elements.
---
---     > layout({4, {2, 3}}) == layout("(4,(2,3))")
---     true
---@alias Shape integer|table|string|Layout

--- The steps of modes, nested like the shape: integers or basis elements.
--- Steps are counted in elements, not bytes. A step of 0 repeats an element, and a negative step
--- goes backwards.
---@alias Stride integer|table|string|Basis

--- A position in a shape, counted from 0.
--- A coordinate is an integer, a list with one entry per mode, or a tuple nested like the shape. An
--- integer in place of a tuple counts in colexicographic order: the leftmost mode varies fastest.
--- `_` in place of an entry keeps the mode.
---
---     > l = L"(2,(2,2)):(4,(2,1))"
---     > l(5), l(1, 2), l(1, {0, 1})
---     5       5       5
---     > l(_, 2)
---     (2):(4)
---@alias Coord integer|table|Any

--- A value that picks elements of a layout.
--- A tiler is a layout, an integer, a table with one tiler per mode, or `_`. An integer n means
--- `n:1`, and `_` leaves a mode unchanged. As a string, `"4:2"` is a layout, while `"(4,8)"` and
--- `"<4:2,8:1>"` have one tiler per mode.
---
---     > composition("(12,8):(8,1)", {L"3:4", _})
---     (3,8):(32,1)
---     > composition("(12,8):(8,1)", "<3:4,_>")
---     (3,8):(32,1)
---@alias Tiler integer|table|string|Layout|Any

--- A mode: its number from 0, its name, or a path to it.
--- A path is a table of numbers and names, from the outside in.
---
---     > shape("(4,(2,3))", 1), shape("(4,(2,3))", {1, 0}), shape("(M=4,N=6)", "N")
---     (2,3)   2       6
---@alias Mode integer|string|table

--- A function from coordinates to indices, written `shape:stride`.
--- Layouts never change. `l(i)`, `l(i, j)` and `l({i, {j, k}})` are indices; if the coordinate
--- contains `_`, the result is a slice. For a layout M, `l(M)` is the composition:
--- `l(M)(i) == l(M(i))`. Two layouts are equal if their shapes and strides are equal. Every
--- function of layouts is also a method: `l:coalesce():complement(24)`.
---
---     > l = L"(4,8):(8,1)"
---     > l(1, 2), l.shape, l.stride
---     10      (4,8)   (8,1)
---     > l(_, 2), l(L"4:2")
---     (4):(8) (2,2):(16,1)
--- CuTe: Layout. MoYe: Layout.
---@class Layout
---@field shape Tuple the extents, in elements
---@field stride Tuple the steps, nested like the shape; an error for a swizzled layout, which has none
---@field swizzle? Swizzle the swizzle of a swizzled layout
---@field offset? integer the offset of a swizzled layout, in elements
---@field layout? Layout the layout that a swizzled layout swizzles
---@operator call(any): any
local Layout = {}

--- A table of integers, nested like a shape; it prints as `(4,(2,3))`.
--- A tuple is a plain Lua table, so its first entry is `t[1]`. Two tuples are equal if their
--- integers are equal.
---
---     > t = shape"(4,(2,3))"
---     > t, t[2], #t
---     (4,(2,3))       (2,3)   2
--- CuTe: tuple, IntTuple. MoYe: tuples.
---@class Tuple
local Tuple = {}

--- The result of `E(i)`: a step along coordinate i instead of a number.
--- Multiplying it by an integer makes the step longer.
---
---     > E(1) * 4
---     4@1
---@class Basis
local Basis = {}

--- The type of `_`, which keeps a mode.
---@class Any
local Any = {}

--- Makes a layout from a shape and, if given, strides nested like it.
--- Without strides, the layout is compact and column-major: the leftmost mode varies fastest.
---
---     > layout({4, 8}, {8, 1})
---     (4,8):(8,1)
---     > layout{4, {2, 3}}
---     (4,(2,3)):(1,(4,8))
--- CuTe: make_layout. MoYe: Layout, @Layout, make_layout.
--- See: L, row_major, ordered, concat.
---@param shape Shape the extents of the modes
---@param stride? Stride the steps of the modes, in elements
---@return Layout
function layout(shape, stride) end

--- Reads a layout from a string, as CuTe prints it.
--- An example is `L"(4,8):(8,1)"`. Without strides, the layout is column-major. Modes may have
--- names, as in `(M=4,K=8):(1,4)`. `1@0` is the stride `E(0)`. At the prompt, `(4,8):(8,1)` is
--- enough.
---
---     > L"(4,8):(8,1)"
---     (4,8):(8,1)
---     > L"(M=4,K=8)"
---     (M=4,K=8):(1,4)
---     > size(L"(4,8)")
---     32
--- CuTe: make_layout. MoYe: @Layout.
---@param text string
---@return Layout
function L(text) end

--- A compact layout whose rightmost mode varies fastest.
---
---     > row_major{2, 4}
---     (2,4):(4,1)
---     > row_major{2, {2, 2}}
---     (2,(2,2)):(4,(2,1))
--- CuTe: LayoutRight, GenRowMajor. MoYe: GenRowMajor.
---@param shape Shape
---@return Layout
function row_major(shape) end

--- A compact layout whose leftmost mode varies fastest, like `layout(shape)`.
---
---     > col_major{2, 4}
---     (2,4):(1,2)
--- CuTe: LayoutLeft, GenColMajor. MoYe: GenColMajor.
---@param shape Shape
---@return Layout
function col_major(shape) end

--- A compact layout whose modes vary in a given order.
--- The mode with the smallest number varies fastest.
---
---     > ordered({4, 8, 2}, {1, 2, 0})
---     (4,8,2):(2,8,1)
--- CuTe: make_ordered_layout. MoYe: make_ordered_layout.
---@param shape Shape
---@param order Tuple one number per mode, nested like the shape
---@return Layout
function ordered(shape, order) end

--- The unit step along coordinate i, a stride whose results are coordinates.
--- Such strides show where an element comes from: `3@1` means 3 steps in mode 1. Several numbers
--- are a path: `E(1, 0)` steps in mode 0 of mode 1.
---
---     > l = layout({4, 8}, {E(0), E(1)})
---     > l, l(_, 2), l(3, 5)
---     (4,8):(1@0,1@1) (4):(1@0)       (3,5)
---     > l:composition("(2,4):(16,1)")
---     (2,4):(4@1,1@0)
---     > E(0) * 3
---     3@0
--- CuTe: E, ScaledBasis. MoYe: none.
---@param i integer
---@param ... integer
---@return Basis
function E(i, ...) end

--- A layout whose results are the coordinates themselves.
--- Tile it as you tile a tensor, and it shows which elements belong to a part. As its second
--- result, `tile` returns where the part begins.
---
---     > l = identity_layout{4, 8}
---     > l, l(3, 5), l(7)
---     (4,8):(1@0,1@1) (3,5)   (3,1)
---     > tile(l, {2, 4}, {1, 1})
---     (2,4):(1@0,1@1) (2,4)
--- CuTe: make_identity_layout. MoYe: none.
--- See: identity_tensor.
---@param shape Shape
---@return Layout
function identity_layout(shape) end

--- Keeps a mode in coordinates, tilers and projections.
--- In a projection of `tile` or `parallelize`, however, it drops the mode, like CuTe's `X`.
---
---     > L"(4,8):(8,1)"(_, 2)
---     (4):(8)
---     > composition("(4,8):(8,1)", {2, _})
---     (2,8):(8,1)
--- CuTe: _, X. MoYe: `:`.
---@type Any
_ = nil

--- A compact layout with the shape of l, in the order of l's strides.
---
---     > layout_like"(4,8):(32,2)"
---     (4,8):(8,1)
--- CuTe: make_layout_like. MoYe: make_layout_like.
---@param l Layout|string
---@return Layout
function layout_like(l) end

--- A layout of registers for a part of a tensor.
--- The layout is compact. Mode 0 varies fastest, and the other modes keep their order.
---
---     > fragment_layout_like"(2,(2,4)):(1,(64,8))"
---     (2,((2,4))):(1,((8,2)))
--- CuTe: make_fragment_like. MoYe: make_fragment_like.
--- See: fragment_like, which makes the tensor.
---@param l Layout|string
---@return Layout
function fragment_layout_like(l) end

--- Makes a layout whose modes are the given layouts.
---
---     > concat("3:1", "4:3")
---     (3,4):(1,3)
---     > concat("(2,2)", "4:8")
---     ((2,2),4):((1,2),8)
--- CuTe: make_layout(layouts...). MoYe: make_layout, cat.
---@param ... Layout|string
---@return Layout
function concat(...) end

--- The shape of a layout, tensor or tuple, or of one of its modes.
---
---     > shape("(4,(2,3)):(1,(4,8))"), shape("(4,(2,3))", 1), shape("(4,(2,3))", {1, 0})
---     (4,(2,3))       (2,3)   2
--- CuTe: shape. MoYe: shape.
---@param x Layout|Tensor|Shape
---@param mode? Mode
---@return Tuple
function shape(x, mode) end

--- The strides of a layout or tensor, or of one of its modes, in elements.
---
---     > stride"(4,(2,3)):(1,(4,8))", stride("(4,(2,3)):(1,(4,8))", {1, 0})
---     (1,(4,8))       4
--- CuTe: stride. MoYe: stride.
---@param x Layout|Tensor|string
---@param mode? Mode
---@return Tuple
function stride(x, mode) end

--- How many coordinates there are: the product of the extents, in elements.
---
---     > size"(4,(2,3))", size("(4,(2,3))", 1), size{2, 3, 4}
---     24      6       24
---     > size(L"(M=128,K=64)", "K")
---     64
--- CuTe: size, product. MoYe: size, length.
---@param x Layout|Tensor|Shape
---@param mode? Mode
---@return integer
function size(x, mode) end

--- One more than the distance from the smallest index to the largest.
--- This is the number of elements that the layout spans in memory.
---
---     > size"(4,8):(16,1)", cosize"(4,8):(16,1)"
---     32      56
--- CuTe: cosize. MoYe: cosize.
---@param x Layout|Tensor|string
---@param mode? Mode
---@return integer
function cosize(x, mode) end

--- How many modes there are at the top level.
---
---     > rank"(4,(2,3))", rank("(4,(2,3))", 1), rank(8)
---     2       2       1
--- CuTe: rank. MoYe: rank.
---@param x Layout|Tensor|Shape
---@param mode? Mode
---@return integer
function rank(x, mode) end

--- How deeply modes are nested: 0 for an integer, 1 for a flat tuple.
---
---     > depth(8), depth"(4,8)", depth"(4,(2,3))"
---     0       1       2
--- CuTe: depth. MoYe: depth.
---@param x Layout|Tensor|Shape
---@param mode? Mode
---@return integer
function depth(x, mode) end

--- One mode of a layout as a layout, or of a tensor as a tensor.
---
---     > get_mode("(4,(3,6))", 1), get_mode("(4,(3,6))", {1, 0}), get_mode("(M=4,K=6)", "K")
---     (3,6):(4,12)    3:4     K=6:4
--- CuTe: layout<I>, get<I>. MoYe: layout[i].
---@param x Layout|Tensor|string
---@param mode Mode
---@return Layout
function get_mode(x, mode) end

--- A table of the indices at 0, 1, 2, ...
--- The table has at most 2^24 indices, or 2^20 coordinates. For a single index, call `l(i)`.
---
---     > L"(2,3):(3,1)":values()
---     {0, 3, 1, 4, 2, 5}
--- CuTe: none; print(layout) shows them. MoYe: none.
---@return integer[]
function Layout:values() end

--- The operation that made a layout, and its operands.
--- A layout that was written as a string or as numbers has no origin.
---
---     > composition("(4,8)", "(2,4):(1,8)"):origin()
---     composition     (4,8)   (2,4):(1,8)
--- See: explain, which describes it in words.
---@return string # the name of the operation
---@return table # its operands
function Layout:origin() end

Layout.append = append
Layout.blocked_product = blocked_product
Layout.coalesce = coalesce
Layout.compatible = compatible
Layout.complement = complement
Layout.composition = composition
Layout.concat = concat
Layout.congruent = congruent
Layout.cosize = cosize
Layout.depth = depth
Layout.downcast = downcast
Layout.evenly_divides = evenly_divides
Layout.filter = filter
Layout.filter_zeros = filter_zeros
Layout.flat_divide = flat_divide
Layout.flat_product = flat_product
Layout.flatten = flatten
Layout.fragment_layout_like = fragment_layout_like
Layout.get_mode = get_mode
Layout.group_modes = group_modes
Layout.html = html
Layout.latex = latex
Layout.layout_like = layout_like
Layout.left_inverse = left_inverse
Layout.logical_divide = logical_divide
Layout.logical_product = logical_product
Layout.max_common_layout = max_common_layout
Layout.max_common_vector = max_common_vector
Layout.nullspace = nullspace
Layout.parallelize = parallelize
Layout.prepend = prepend
Layout.raked_product = raked_product
Layout.rank = rank
Layout.recast = recast
Layout.replace = replace
Layout.right_inverse = right_inverse
Layout.select = select
Layout.show = show
Layout.explain = explain
Layout.size = size
Layout.svg = svg
Layout.take = take
Layout.tile = tile
Layout.tile_to_shape = tile_to_shape
Layout.tiled_divide = tiled_divide
Layout.tiled_product = tiled_product
Layout.tv_layout = tv_layout
Layout.upcast = upcast
Layout.weakly_congruent = weakly_congruent
Layout.zipped_divide = zipped_divide
Layout.zipped_product = zipped_product
