-- What `show` prints: the text, exactly.
local function print_ascii(x, options)
  options = options or {}
  options.text, options.width = true, options.width or 80
  print(show(x, options))
end

print_ascii("(4,8):(8,1)")
-- expect: (4,8):(8,1)
-- expect:      0   1   2   3   4   5   6   7
-- expect:   +--------------------------------+
-- expect: 0 |  0   1   2   3   4   5   6   7 |
-- expect: 1 |  8   9  10  11  12  13  14  15 |
-- expect: 2 | 16  17  18  19  20  21  22  23 |
-- expect: 3 | 24  25  26  27  28  29  30  31 |
-- expect:   +--------------------------------+

-- Nested modes: a line where a tile begins.
print_ascii("((2,2),(2,2)):((1,4),(2,8))", { utf8 = true })
-- expect: ((2,2),(2,2)):((1,4),(2,8))
-- expect:      0   1    2   3
-- expect:   ┌────────┬────────┐
-- expect: 0 │  0   2 │  8  10 │
-- expect: 1 │  1   3 │  9  11 │
-- expect:   ├────────┼────────┤
-- expect: 2 │  4   6 │ 12  14 │
-- expect: 3 │  5   7 │ 13  15 │
-- expect:   └────────┴────────┘

-- Rank 1 is a row; rank 3 is a panel for each coordinate of the last mode.
print_ascii("5:2")
-- expect: 5:2
-- expect:    0  1  2  3  4
-- expect:  +---------------+
-- expect:  | 0  2  4  6  8 |
-- expect:  +---------------+
print_ascii("(2,3,2):(1,2,6)")
-- expect: (2,3,2):(1,2,6)
-- expect: (_,_,0)         (_,_,1)
-- expect:     0  1  2          0   1   2
-- expect:   +---------+     +------------+
-- expect: 0 | 0  2  4 |   0 |  6   8  10 |
-- expect: 1 | 1  3  5 |   1 |  7   9  11 |
-- expect:   +---------+     +------------+
print_ascii("(2,3,2):(1,2,6)", { rows = 0, cols = { 1, 2 } })
-- expect: (2,3,2):(1,2,6)
-- expect:      0   1   2    3   4   5
-- expect:   +------------+------------+
-- expect: 0 |  0   2   4 |  6   8  10 |
-- expect: 1 |  1   3   5 |  7   9  11 |
-- expect:   +------------+------------+

-- Names of modes stand at the axes, and can be used for their numbers.
print_ascii("(M=2,K=2,B=2):(8,1,16)")
-- expect: (M=2,K=2,B=2):(8,1,16)
-- expect: B=0            B=1
-- expect: M\K   0  1     M\K    0   1
-- expect:     +------+       +--------+
-- expect:   0 | 0  1 |     0 | 16  17 |
-- expect:   1 | 8  9 |     1 | 24  25 |
-- expect:     +------+       +--------+
print_ascii("(M=2,K=2,B=2):(8,1,16)", { rows = "B", cols = { "M", "K" } })
-- expect: (M=2,K=2,B=2):(8,1,16)
-- expect: B\M,K    0   1    2   3
-- expect:       +--------+--------+
-- expect:     0 |  0   8 |  1   9 |
-- expect:     1 | 16  24 | 17  25 |
-- expect:       +--------+--------+

-- Owners of a tile.
print_ascii((tv_layout("(2,2):(2,1)", "(1,2):(1,1)")))
-- expect: ((2,2),2):((4,1),2), tile (2,4)
-- expect:        0     1      2     3
-- expect:   +------------+------------+
-- expect: 0 | T0V0  T0V1 | T1V0  T1V1 |
-- expect: 1 | T2V0  T2V1 | T3V0  T3V1 |
-- expect:   +------------+------------+
print_ascii("(2,3):(1,2)", { tile = { 4, 2 } })
-- expect: (2,3):(1,2), tile (4,2)
-- expect:        0     1
-- expect:   +------------+
-- expect: 0 | T0V0  T0V2 |
-- expect: 1 | T1V0  T1V2 |
-- expect: 2 | T0V1     . |
-- expect: 3 | T1V1     . |
-- expect:   +------------+
-- expect: (2 of 8 elements have no owner)
print_ascii("(2,2):(1,1)", { tile = 3 })
-- expect: (2,2):(1,1), tile 3
-- expect:            0          1          2
-- expect:  +---------------------------------+
-- expect:  |      T0V0  T1V0,T0V1       T1V1 |
-- expect:  +---------------------------------+
-- expect: (1 of 3 elements have more than one owner)
print_ascii("(9,1):(0,0)", { tile = 1 })
-- expect: (9,1):(0,0), tile 1
-- expect:                    0
-- expect:  +-------------------+
-- expect:  | T0V0,T1V0,T2V0,+6 |
-- expect:  +-------------------+
-- expect: (1 of 1 elements have more than one owner)

-- Operands beside the result.
print_ascii(complement("4:2", 24))
-- expect: complement(4:2, 24)
-- expect: operand 4:2       result (2,3):(1,8)   together (4,(2,3)):(2,(1,8))
-- expect:    0  1  2  3          0   1   2            0   1    2   3    4   5
-- expect:  +------------+     +------------+       +--------+--------+--------+
-- expect:  | 0  2  4  6 |   0 |  0   8  16 |     0 |  0   1 |  8   9 | 16  17 |
-- expect:  +------------+   1 |  1   9  17 |     1 |  2   3 | 10  11 | 18  19 |
-- expect:                     +------------+     2 |  4   5 | 12  13 | 20  21 |
-- expect:                                        3 |  6   7 | 14  15 | 22  23 |
-- expect:                                          +--------+--------+--------+
print_ascii(complement("4:2", 24), { operands = false })
-- expect: (2,3):(1,8)
-- expect:      0   1   2
-- expect:   +------------+
-- expect: 0 |  0   8  16 |
-- expect: 1 |  1   9  17 |
-- expect:   +------------+

-- What a swizzle moves; a swizzle alone is drawn on the bits that it reads and changes.
print_ascii("Sw<1,0,2> o 4 o (4,4):(4,1)")
-- expect: Sw<1,0,2> o 4 o (4,4):(4,1)
-- expect: before (4,4):(4,1)     after Sw<1,0,2> o 4 o (4,4):(4,1)
-- expect:      0   1   2   3          0   1   2   3
-- expect:   +----------------+     +----------------+
-- expect: 0 |  4   5   6   7 |   0 |  5   4   7   6 |
-- expect: 1 |  8   9  10  11 |   1 |  8   9  10  11 |
-- expect: 2 | 12  13  14  15 |   2 | 13  12  15  14 |
-- expect: 3 | 16  17  18  19 |   3 | 16  17  18  19 |
-- expect:   +----------------+     +----------------+
print_ascii(swizzle(1, 1, 2), { operands = false })
-- expect: Sw<1,1,2> o 0 o (2,4):(8,2)
-- expect: after Sw<1,1,2> o 0 o (2,4):(8,2)
-- expect:      0   1   2   3
-- expect:   +----------------+
-- expect: 0 |  0   2   4   6 |
-- expect: 1 | 10   8  14  12 |
-- expect:   +----------------+
print_ascii(swizzle(0, 0, 0))
-- expect: (1,1):(1,1)
-- expect:     0
-- expect:   +---+
-- expect: 0 | 0 |
-- expect:   +---+

-- Too wide: columns go on below, cut between tiles; too large: cut, and said.
print_ascii("(2,(4,4)):(16,(1,4))", { width = 40 })
-- expect: (2,(4,4)):(16,(1,4))
-- expect:      0   1   2   3    4   5   6   7
-- expect:   +----------------+----------------+
-- expect: 0 |  0   1   2   3 |  4   5   6   7 |
-- expect: 1 | 16  17  18  19 | 20  21  22  23 |
-- expect:   +----------------+----------------+
-- expect:
-- expect:      8   9  10  11   12  13  14  15
-- expect:   +----------------+----------------+
-- expect: 0 |  8   9  10  11 | 12  13  14  15 |
-- expect: 1 | 24  25  26  27 | 28  29  30  31 |
-- expect:   +----------------+----------------+
print_ascii("(2,300):(300,1)", { max_cells = 6 })
-- expect: (2,300):(300,1)
-- expect:       0    1    2
-- expect:   +---------------+
-- expect: 0 |   0    1    2 |
-- expect: 1 | 300  301  302 |
-- expect:   +---------------+
-- expect: (2 x 3 of 2 x 300 cells are drawn; max_cells = 600 draws all)

-- Coordinates, and elements of a tensor.
print_ascii(layout({ 2, 2 }, { E(1), E(0) }))
-- expect: (2,2):(1@1,1@0)
-- expect:         0      1
-- expect:   +--------------+
-- expect: 0 | (0,0)  (1,0) |
-- expect: 1 | (0,1)  (1,1) |
-- expect:   +--------------+
print_ascii(from_table(f32, { { 1, 2.5 }, { -3, 1e9 } }))
-- expect: f32 tensor (2,2):(1,2)
-- expect:         0      1
-- expect:   +--------------+
-- expect: 0 |     1    2.5 |
-- expect: 1 |    -3  1e+09 |
-- expect:   +--------------+

-- A method too; it prints, and returns nothing. No colours where the output is no terminal.
print(select("#", L"2:1":show { utf8 = false }))
-- expect: 2:1
-- expect:    0  1
-- expect:  +------+
-- expect:  | 0  1 |
-- expect:  +------+
-- expect: 0
print((show("2:1", { text = true, ansi = true }):gsub("\27", "^")))
-- expect: ^[1m2:1^[0m
-- expect:    0  1
-- expect:  +------+
-- expect:  |^[48;5;110;38;5;16m 0 ^[0m^[48;5;222;38;5;16m 1 ^[0m|
-- expect:  +------+

for _, bad in ipairs { { nil, {} }, { "4:1", true }, { "4:1", { width = 0 } }, { print },
                      { f32 }, { "2:1", { color = function(c) return "blue" end } } } do
  print(select(2, pcall(show, bad[1], bad[2])):match(": (.*)"))
end
-- expect: show: argument 1 is nil; a layout, a string like "(4,8):(8,1)" or a tensor was expected
-- expect: show: the options are of type boolean; expected a table such as {rows = 0}
-- expect: show: width is 0; an integer from 1 on was expected
-- expect: show: argument 1 is a function; a layout, a string like "(4,8):(8,1)" or a tensor was expected
-- expect: show: argument 1 is a dtype; a layout, a string like "(4,8):(8,1)" or a tensor was expected
-- expect: show: the function of the option color returned blue for the cell 0; an integer or nil was expected

-- In a kernel a layout may be known only at run time.
local k = kernel("show_it", function(A) show(A.layout) end)
print(select(2, pcall(k { grid = 1, block = 1 }, zeros(f32, { 4, 3 }))):match(": (.*)"))
-- expect: show: the layout (?,?):(1,?) has extents or strides that are known only at run time; a picture needs numbers

-- The shape that tv_layout returns beside the layout is the tile.
local command = [[LC_ALL=C '%s' -e 'show(tv_layout("(2,1)", "(1,2)"))']]
local pipe = assert(io.popen(command:format(arg[-1])))
print(pipe:read("a"))
pipe:close()
-- expect: (2,2):(1,2), tile (2,2)
-- expect:        0     1
-- expect:   +------------+
-- expect: 0 | T0V0  T0V1 |
-- expect: 1 | T1V0  T1V1 |
-- expect:   +------------+
-- expect:
