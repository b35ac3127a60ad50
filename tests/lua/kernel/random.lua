-- Philox4x32-10 in kernels and on the host: the known answers of its authors (Random123), the same
-- words on both sides, floats of their ranges and moments.
local tap = dofile "tests/support/tap.lua"

local function hex(...)
  local list = {}
  for i, v in ipairs { ... } do list[i] = ("%08x"):format(v) end
  return table.concat(list, " ")
end

-- Counter and key of 128 and 64 bits, low words first, as seed, offset and stream.
local answers <const> = {
  { 0, 0, 0, "6627e8d5 e169c58d bc57ac4c 9b00dbd8" },
  { -1, -1, -1, "408f276d 41c83b0e a20bc7c6 6d5451fd" },
  { 0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e,
    "d16cfe09 94fdcceb 5001e420 24126ea1" },
}

local draw = kernel("draw", function(x, seed, offset, stream)
  x[0], x[1], x[2], x[3] = rand_u32x4(seed[0], offset[0], stream[0])
end)

for _, a in ipairs(answers) do
  local seed, offset, stream, want = table.unpack(a)
  tap.is(hex(rand_u32x4(seed, offset, stream)), want, "on the host: " .. want)
  local x = zeros(u32, 4)
  draw { grid = 1, block = 1 }(x, from_table(i64, { seed }), from_table(i64, { offset }),
    from_table(i64, { stream }))
  tap.is(hex(table.unpack(x:totable())), want, "in a kernel: " .. want)
  local static = kernel("static", function(y)
    y[0], y[1], y[2], y[3] = rand_u32x4(seed, offset, stream)
  end)
  static { grid = 1, block = 1 }(x)
  tap.is(hex(table.unpack(x:totable())), want, "of numbers known while tracing: " .. want)
end

-- Offsets by thread, seeds as numbers and as values of 32 bits.
local N <const> = 4096
local words, u, n = zeros(u32, 4 * N), zeros(f32, 4 * N), zeros(f32, 4 * N)
local all = kernel("all", function(words_of, u_of, n_of, seed)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  local function put(t, a, b, c, d)
    t[4 * i], t[4 * i + 1], t[4 * i + 2], t[4 * i + 3] = a, b, c, d
  end
  put(words_of, rand_u32x4(7, i))
  put(u_of, rand_f32x4(seed, i))
  put(n_of, randn_f32x4(seed, i, 1))
end)
all { grid = N // 128, block = 128 }(words, u, n, 7)

local same_words, same_floats, far = 0, 0, 0
local sum, squares, lowest, highest = 0, 0, 1, 0
local W, U, Z = words:totable(), u:totable(), n:totable()
for i = 0, N - 1 do
  local w, f, z = { rand_u32x4(7, i) }, { rand_f32x4(7, i) }, { randn_f32x4(7, i, 1) }
  for k = 1, 4 do
    local at = 4 * i + k
    same_words = same_words + (W[at] == w[k] and 1 or 0)
    same_floats = same_floats + (U[at] == f[k] and 1 or 0)
    far = math.max(far, math.abs(Z[at] - z[k]))
    sum, squares = sum + Z[at], squares + Z[at] * Z[at]
    lowest, highest = math.min(lowest, U[at]), math.max(highest, U[at])
  end
end
tap.is(same_words, 4 * N, "words of a kernel are those of the host")
tap.is(same_floats, 4 * N, "and so are numbers in [0,1)")
tap.ok(lowest >= 0 and lowest < 0.001 and highest < 1 and highest > 0.999, "which fill the range")
tap.ok(far < 1e-5, "normal numbers are near those of the host, which has f64", far)
tap.ok(math.abs(sum / (4 * N)) < 0.03, "their mean is 0", sum / (4 * N))
tap.ok(math.abs(squares / (4 * N) - 1) < 0.05, "their variance is 1", squares / (4 * N))
tap.done()
