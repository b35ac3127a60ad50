---@meta _
-- Topic: coordinates: places in shapes, parts of layouts, named modes

--- The index of a coordinate: the sum of coordinate times stride.
--- Without strides, the index is counted in column-major order.
---
---     > crd2idx({1, 5}, "(3,(2,3)):(3,(12,1))"), crd2idx({1, 2}, {3, 4})
---     17      7
---     > crd2idx({1, {1, 2}}, {3, {2, 3}}, {3, {12, 1}})
---     17
--- CuTe: crd2idx, inner_product. MoYe: coord_to_index.
--- See: calling a layout does the same: `l(1, 5)`.
---@param coord Coord
---@param l Layout|Shape
---@param stride? Stride the strides, if the previous argument is a shape
---@return integer
function crd2idx(coord, l, stride) end

--- Converts any coordinate to the natural one, which is nested like the shape.
--- If the layout has strides, the result is the coordinate with this index.
---
---     > idx2crd(16, {3, {2, 3}}), idx2crd({1, 5}, {3, {2, 3}})
---     (1,(1,2))       (1,(1,2))
---     > idx2crd(17, "(4,8):(8,1)")
---     (2,1)
--- CuTe: idx2crd. MoYe: index_to_coord.
---@param index Coord
---@param l Shape|Layout
---@return Tuple
function idx2crd(index, l) end

--- Converts a coordinate to the same position in a shape of the same size.
--- Positions are counted in column-major order in both shapes.
---
---     > crd2crd({1, 5}, "(3,6)", "(3,(2,3))")
---     (1,(1,2))
--- CuTe: crd2crd. MoYe: coord_to_coord.
---@param coord Coord
---@param from Shape
---@param to Shape
---@return Tuple
function crd2crd(coord, from, to) end

--- Keeps the modes of a layout or tuple where the coordinate has `_`.
--- As a method, it needs only the coordinate: `l:slice{_, 5}`. `l(_, 5)` is the same.
---
--- For a tensor with one mode, `slice(t, first, last)` is a view of the elements from first to
--- last - 1; without last, it is a view of all elements from first on. In a kernel, the numbers
--- may be run-time values.
---
---     > slice({_, 5}, "(4,(3,6)):(1,(4,12))")
---     (4):(1)
---     > slice({_, {_, 2}}, "(4,(3,6)):(1,(4,12))")
---     (4,3):(1,4)
---     > slice(arange(i32, 8), 2, 5)
---     tensor i32 3:1 on cpu
---         2    3    4
--- CuTe: slice. MoYe: slice.
---@overload fun(t: Tensor, first: integer, last?: integer): Tensor
---@param coord Coord
---@param l Layout|Tuple|string
---@return Layout
function slice(coord, l) end

--- Returns the slice, and the index of its first element.
---
---     > slice_and_offset({_, 5}, "(4,(3,6)):(1,(4,12))")
---     (4):(1) 20
--- CuTe: slice_and_offset. MoYe: none.
---@param coord Coord
---@param l Layout|string
---@return Layout
---@return integer # in elements
function slice_and_offset(coord, l) end

--- Keeps the modes where the coordinate has integers: those that `slice` drops.
---
---     > dice({_, 5}, "(4,(3,6)):(1,(4,12))")
---     ((3,6)):((4,12))
--- CuTe: dice. MoYe: dice.
---@param coord Coord
---@param l Layout|Tuple|string
---@return Layout
function dice(coord, l) end

--- `crd2idx` with the layout first.
---
---     > L"(4,8):(8,1)":crd2idx{1, 2}
---     10
---@param coord Coord
---@return integer
function Layout:crd2idx(coord) end

--- `idx2crd` with the layout first.
---
---     > L"(4,8):(8,1)":idx2crd(10)
---     (1,2)
---@param index integer
---@return Tuple
function Layout:idx2crd(index) end

--- `slice` with the layout first.
---
---     > L"(4,8):(8,1)":slice{_, 2}
---     (4):(8)
---@param coord Coord
---@return Layout
function Layout:slice(coord) end

--- `slice_and_offset` with the layout first.
---
---     > L"(4,8):(8,1)":slice_and_offset{_, 2}
---     (4):(8) 2
---@param coord Coord
---@return Layout
---@return integer
function Layout:slice_and_offset(coord) end

--- `dice` with the layout first.
---
---     > L"(4,8):(8,1)":dice{_, 2}
---     (8):(1)
---@param coord Coord
---@return Layout
function Layout:dice(coord) end

--- Combines the modes from first to last - 1 into one nested mode.
--- If first and last are names, the mode named last is included.
---
---     > group_modes("(2,3,5,7)", 0, 2)
---     ((2,3),5,7):((1,2),6,30)
---     > group_modes("(M=2,N=3,K=5)", "M", "N")
---     ((M=2,N=3),K=5):((1,2),6)
--- CuTe: group, group_modes. MoYe: group.
---@param l Layout|Tensor|string
---@param first Mode
---@param last Mode
---@return Layout
function group_modes(l, first, last) end

--- The modes from first to last - 1; if last is a name, it is included.
--- For a table, the result is a tuple.
---
---     > take("(2,3,5,7)", 1, 3)
---     (3,5):(2,6)
--- CuTe: take. MoYe: none.
---@param l Layout|Tensor|string
---@param first Mode
---@param last Mode
---@return Layout
function take(l, first, last) end

--- The modes with the given numbers or names, in the order given.
--- For a table, the result is a tuple. If the first argument is not a layout, tensor, string or
--- table, Lua's own select is called.
---
---     > select("(2,3,5,7)", 1, 3)
---     (3,7):(2,30)
---     > select("(M=2,K=3)", "K", "M")
---     (K=3,M=2):(2,1)
---     > select({256, 384, 64}, 0, 2)
---     (256,64)
--- CuTe: select. MoYe: none.
---@param l Layout|Tensor|Tuple|string
---@param ... Mode
---@return Layout|Tuple
function select(l, ...) end

--- Adds a layout as the last mode.
--- With a rank, it adds the layout repeatedly until the result has that rank.
---
---     > append("(2,3):(1,2)", "4:6")
---     (2,3,4):(1,2,6)
---     > append("(2,3):(1,2)", "1:0", 4)
---     (2,3,1,1):(1,2,0,0)
--- CuTe: append. MoYe: append.
---@param l Layout|string
---@param x Layout|string
---@param rank? integer
---@return Layout
function append(l, x, rank) end

--- Adds a layout as the first mode.
--- With a rank, it adds the layout repeatedly until the result has that rank.
---
---     > prepend("(2,3):(1,2)", "4:6")
---     (4,2,3):(6,1,2)
--- CuTe: prepend. MoYe: prepend.
---@param l Layout|string
---@param x Layout|string
---@param rank? integer
---@return Layout
function prepend(l, x, rank) end

--- Replaces a mode with a layout.
---
---     > replace("(3,4,5):(1,3,12)", 1, "(2,2):(3,6)")
---     (3,(2,2),5):(1,(3,6),12)
--- CuTe: replace. MoYe: none.
---@param l Layout|string
---@param mode Mode
---@param x Layout|string
---@return Layout
function replace(l, mode, x) end

--- Gives names to the modes of a layout.
--- Pass one string for each mode: `_` leaves a mode unchanged, and `false` removes its name. A
--- table names the modes inside a mode, and `l:named(path, name)` names one mode. Names are
--- printed, and can be used instead of mode numbers. Slices and tiles keep names, and comparisons
--- ignore them.
---
---     > l = L"(128,64)":named("M", "K")
---     > l, size(l, "K")
---     (M=128,K=64):(1,128)    64
---     > l:named(_, "N")
---     (M=128,N=64):(1,128)
---     > L"(4,(2,3))":named({1, 0}, "inner")
---     (4,(inner=2,3)):(1,(4,8))
--- See: Layout.names, L"(M=128,K=64)".
---@param ... string|boolean|table|Any
---@return Layout
function Layout:named(...) end

--- The names of the modes as a table; false for a mode without a name.
---
---     > L"(M=128,64)":names()
---     {"M", false}
---@return table
function Layout:names() end

--- Whether two shapes, layouts or tuples are nested in the same way.
---
---     > congruent({2, {3, 4}}, "(5,(6,7))"), congruent({2, 3}, {2, {3, 1}})
---     true    false
--- CuTe: congruent, is_congruent. MoYe: none.
---@param a Layout|Shape
---@param b Layout|Shape
---@return boolean
function congruent(a, b) end

--- Whether b is nested like a, or more deeply.
--- An integer in a matches a tuple in b.
---
---     > weakly_congruent(6, {2, 3}), weakly_congruent({2, 3}, 6)
---     true    false
--- CuTe: weakly_congruent. MoYe: none.
---@param a Layout|Shape
---@param b Layout|Shape
---@return boolean
function weakly_congruent(a, b) end

--- Whether sizes are equal and each coordinate of a is also one of b.
---
---     > compatible(24, {4, 6}), compatible({4, 6}, {{2, 2}, 6}), compatible({4, 6}, 24)
---     true    true    false
--- CuTe: compatible, is_compatible. MoYe: none.
---@param a Layout|Shape
---@param b Layout|Shape
---@return boolean
function compatible(a, b) end

--- Whether a tiler divides a shape without a remainder.
---
---     > evenly_divides("(8,6)", {4, 3}), evenly_divides("(8,6)", {4, 4})
---     true    false
--- CuTe: evenly_divides. MoYe: none.
---@param shape Layout|Shape
---@param tiler Tiler
---@return boolean
function evenly_divides(shape, tiler) end

--- Whether every integer of a is less than its counterpart in b.
---
---     > elem_less({1, 2}, {2, 3}), elem_less({1, 3}, {2, 3})
---     true    false
--- CuTe: elem_less. MoYe: elem_less, which lets all but the last be equal.
---@param a Coord
---@param b Coord
---@return boolean
function elem_less(a, b) end

--- Whether a comes before b if the leftmost integers are compared first.
---
---     > lex_less({1, 3}, {2, 0})
---     true
--- CuTe: lex_less. MoYe: none.
---@param a Coord
---@param b Coord
---@return boolean
function lex_less(a, b) end

--- Whether a comes before b if the rightmost integers are compared first.
--- This is the order of column-major counting.
---
---     > colex_less({1, 3}, {2, 0}), colex_less({5, 0}, {0, 1})
---     false   true
--- CuTe: colex_less. MoYe: colex_less.
---@param a Coord
---@param b Coord
---@return boolean
function colex_less(a, b) end

--- The strides of a compact column-major layout, beginning at start.
---
---     > compact_col_major{4, {2, 3}}, compact_col_major({4, 2}, 8)
---     (1,(4,8))       (8,32)
--- CuTe: compact_col_major. MoYe: compact_col_major.
---@param shape Shape
---@param start? integer|Basis the default is 1
---@return Tuple
function compact_col_major(shape, start) end

--- The strides of a compact row-major layout, beginning at start.
---
---     > compact_row_major{4, {2, 3}}
---     (6,(3,1))
--- CuTe: compact_row_major. MoYe: compact_row_major.
---@param shape Shape
---@param start? integer|Basis the default is 1
---@return Tuple
function compact_row_major(shape, start) end

--- The strides of a compact layout whose modes vary in the order given.
---
---     > compact_order({4, 8, 2}, {1, 2, 0})
---     (2,8,1)
--- CuTe: compact_order. MoYe: none.
---@param shape Shape
---@param order Tuple
---@return Tuple
function compact_order(shape, order) end
