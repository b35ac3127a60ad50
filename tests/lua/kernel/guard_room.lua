-- luacheck: no max line length
-- Tiles of more than 2^20 elements that overhang an extent of 32 bits: where their last coordinates would not fit
-- 32 bits, a guard would take them for inside. A launch with such an extent is refused. Strides of 0 make long
-- tensors without the memory.
local few, out = full(i32, 1, 7), zeros(i32, 2)
local n <const> = 3 << 20
local most <const> = (1 << 31) // n * n
local function long(extent) return view(few, layout({ extent }, { 0 })) end

-- How many of some elements of the last tile are inside; the coordinates of the others lie behind the extent.
local function make(options)
  return kernel("count", function(x, out, last)
    local t = tile(guard(x), n, last)
    local inside = 0
    for i in range(8) do inside = inside + where(t[i * (n // 8)] == 7, 1, 0) end
    out[0] = inside
  end, options)
end
local count = make {}
local function run(kernel, extent)
  out[0] = -1
  local ok, why = pcall(function() kernel { grid = 1, block = 1 }(long(extent), out, (extent - 1) // n) end)
  print(ok and out[0] or why)
end

run(count, 10 * n + 1) -- expect: 1
run(count, most) -- expect: 8
run(count, most + 1) -- expect: tests/lua/kernel/guard_room.lua:13: tile: extent 2145386497 of mode 0 of x is more than 2145386496, so the coordinates of a tile that overhangs do not fit 32 bits; choose a smaller one
run(make { static_shapes = true }, most + 1) -- expect: tests/lua/kernel/guard_room.lua:13: tile: extent 2145386497 of mode 0 of x is more than 2145386496, so the coordinates of a tile that overhangs do not fit 32 bits; choose a smaller one

-- Longer ones count with 64 bits; tiles of a power of two end at 2^31, and those that divide the extent behind it.
run(count, (1 << 31) - 2) -- expect: 6
run(count, 5 * (1 << 31) + 1) -- expect: 3
local exact = kernel("exact", function(x, out, last)
  local t = tile(guard(x), 1 << 27, last)
  out[0], out[1] = t[0], t[(1 << 27) - 1]
end)
exact { grid = 1, block = 1 }(long(2140000000), out, 15)
print(out[0], out[1]) -- expect: 7	0
print(count { grid = 1, block = 1 }:ir(long(most), out, 1):match "require[^\n]*")
-- expect: require x_shape0 <= 2145386496 'tile: mode 0 of x' ; 13
