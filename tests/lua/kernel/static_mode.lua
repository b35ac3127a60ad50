-- static_mode(t, mode...): some extents of an argument are constants of the kernel, the others are not.
-- Counted in a global that a static_fn changes: launches do not notice that.
rawset(_G, "n_traces", 0)
local note = static_fn(function() rawset(_G, "n_traces", rawget(_G, "n_traces") + 1) end)

-- Each thread turns its row around, in registers: the length of a row must be known.
local reverse = kernel("reverse", function(x)
  note()
  local row, n = fragment(x.dtype, size(x, 1)), size(x, 1)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(x, 0) then
    copy(x(i, _), row)
    for j in range(n) do x[{i, j}] = row[n - 1 - j] end
  end
end)
local function reversed(rows, columns, order, ...)
  local x = arange(f32, (order or col_major){rows, columns})
  local before, wrong = {}, 0
  for i = 0, rows - 1 do
    for j = 0, columns - 1 do before[i * columns + j] = x[{i, j}] end
  end
  reverse{grid = cdiv(rows, 32), block = 32}(static_mode(x, ...))
  for i = 0, rows - 1 do
    for j = 0, columns - 1 do
      wrong = wrong + (x[{i, columns - 1 - j}] == before[i * columns + j] and 0 or 1)
    end
  end
  return wrong .. " " .. rawget(_G, "n_traces")
end
print(reversed(40, 6, col_major, 1)) -- expect: 0 1
-- Another number of rows is the same trace (both are multiples of 8, as strides are); another length is not.
print(reversed(72, 6, col_major, 1)) -- expect: 0 1
print(reversed(40, 7, col_major, 1)) -- expect: 0 2
print(reversed(40, 6, row_major, 1)) -- expect: 0 3
-- Both modes; all of them, by none.
print(reversed(40, 6, col_major, 0, 1)) -- expect: 0 4
print(reversed(48, 6, col_major)) -- expect: 0 5
print(reversed(40, 6, col_major, 1)) -- expect: 0 5

-- By name, by path, one after the other; the tensor itself stays as it was.
local sizes = {}
local tell = static_fn(function(...) sizes = {...} end)
local function known(x, m)
  local ok, v = pcall(static, size(x, m))
  return ok and v or "?"
end
local seen = kernel("seen", function(x, y)
  tell(known(x, 0), known(x, 1), known(x, {1, 0}), known(x, {1, 1}))
  y[0] = size(x)
end)
local x = zeros(f32, layout"(M=4,K=(2,3))")
local function see(t)
  local y = zeros(i32, 1)
  seen{grid = 1, block = 1}(t, y)
  return y[0] .. ": " .. table.concat(sizes, " ")
end
print(see(x)) -- expect: 24: ? ? ? ?
print(see(static_mode(x, "M"))) -- expect: 24: 4 ? ? ?
print(see(static_mode(x, {1, 1}))) -- expect: 24: ? ? ? 3
print(see(static_mode(static_mode(x, "M"), "K"))) -- expect: 24: 4 6 2 3
-- A known launch traces nothing, so nobody tells anew.
print(see(x)) -- expect: 24: 4 6 2 3

-- A prepared launch, and another tensor of the same memory.
local a = ones(f32, {8, 4})
local go = reverse:prepare{grid = 1, block = 32}(static_mode(a, 1))
a[{3, 0}] = 5.0
go()
print(a[{3, 3}], a[{3, 0}]) -- expect: 5.0	1.0
