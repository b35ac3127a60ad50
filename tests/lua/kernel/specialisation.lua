-- One trace per key; a launch that matches a key traced before runs without tracing. The kernels
-- count their traces in a captured table.
local count = {n = 0}

-- Prints whether what f launches was traced: "traced" or "known".
local function note(what, f)
  local before = count.n
  f()
  print(("%-32s %s"):format(what, count.n > before and "traced" or "known"))
end

local add = kernel("add", function(x, y, a)
  count.n = count.n + 1
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(x) and threadIdx.y == 0 then y[i] = a * x[i] + y[i] end
end)
local config = add{grid = 1, block = 32}
local function vectors(n, dtype)
  dtype = dtype or f32
  return zeros(dtype, n), zeros(dtype, n)
end
local x, y = vectors(64)

note("first", function() config(x, y, 2.0) end)                       -- expect: first                            traced
note("same again", function() config(x, y, 2.0) end)                  -- expect: same again                       known
note("other number", function() config(x, y, 3.5) end)                -- expect: other number                     known
note("other tensors", function() config(y, x, 3.5) end)               -- expect: other tensors                    known
note("size of the same class", function() local a, b = vectors(192) config(a, b, 1.0) end) -- expect: size of the same class           known
note("extent of another power", function() local a, b = vectors(96) config(a, b, 1.0) end) -- expect: extent of another power          traced
note("odd extent", function() local a, b = vectors(63) config(a, b, 1.0) end)  -- expect: odd extent                       traced
note("other odd extent", function() local a, b = vectors(31) config(a, b, 1.0) end)  -- expect: other odd extent                 known
note("128 divides", function() local a, b = vectors(128) config(a, b, 1.0) end) -- expect: 128 divides                      traced
note("256 divides: no more than 128", function() local a, b = vectors(256) config(a, b, 1.0) end) -- expect: 256 divides: no more than 128    known
note("other block", function() add{grid = 1, block = 64}(x, y, 2.0) end) -- expect: other block                      traced
note("other block shape", function() add{grid = 1, block = {8, 8}}(x, y, 2.0) end) -- expect: other block shape                traced
note("other grid", function() add{grid = 7, block = 64}(x, y, 2.0) end) -- expect: other grid                       known
note("other element type", function() local a, b = vectors(64, f64) config(a, b, 2.0) end) -- expect: other element type               traced
note("integer for float", function() config(x, y, 2) end)             -- expect: integer for float                traced
note("wide integer", function() config(x, y, 1 << 40) end)            -- expect: wide integer                     traced
note("other wide integer", function() config(x, y, 1 << 41) end)      -- expect: other wide integer               known
note("f64 number", function() local a, b = vectors(64, f64) config(a, b, f64(2)) end) -- expect: f64 number                       traced
note("f32(2) has a type", function() config(x, y, f32(2)) end)        -- expect: f32(2) has a type                traced
note("static number", function() config(x, y, static(2)) end)         -- expect: static number                    traced
note("same static number", function() config(x, y, static(2)) end)    -- expect: same static number               known
note("other static number", function() config(x, y, static(3)) end)   -- expect: other static number              traced
note("static float", function() config(x, y, static(2.0)) end)        -- expect: static float                     traced
note("overlapping tensors", function() config(x, x, 2.0) end)         -- expect: overlapping tensors              traced
note("overlap again", function() config(y, y, 2.0) end)               -- expect: overlap again                    known

-- Alignment: the part from element 1 on is aligned to 4 bytes, that from 2 on to 8.
local function from(t, i) return tile(t, 1, i):view(layout(32)) end
note("32 elements", function() config(view(x, 32), view(y, 32), 2.0) end) -- expect: 32 elements                      known
note("aligned to 32 bytes", function() config(from(x, 8), from(y, 16), 2.0) end) -- expect: aligned to 32 bytes              known
note("aligned to 16 bytes", function() config(from(x, 4), from(y, 4), 2.0) end) -- expect: aligned to 16 bytes              traced
note("aligned to 16 bytes again", function() config(from(x, 12), from(y, 4), 2.0) end) -- expect: aligned to 16 bytes again        known
note("aligned to 4 bytes", function() config(from(x, 1), from(y, 1), 2.0) end) -- expect: aligned to 4 bytes               traced
note("aligned to 4 bytes again", function() config(from(x, 3), from(y, 5), 2.0) end) -- expect: aligned to 4 bytes again         known
note("aligned to 8 bytes", function() config(from(x, 2), from(y, 2), 2.0) end) -- expect: aligned to 8 bytes               traced

-- Strides: 0 and 1 are known while tracing, others by the power of two that divides them.
local big = zeros(f32, 4096)
local function strided(s) return view(big, layout({32}, {s})) end
note("stride 3", function() config(strided(3), y, 2.0) end)           -- expect: stride 3                         traced
note("stride 5", function() config(strided(5), y, 2.0) end)           -- expect: stride 5                         known
note("stride 2", function() config(strided(2), y, 2.0) end)           -- expect: stride 2                         traced
note("stride 4", function() config(strided(4), y, 2.0) end)           -- expect: stride 4                         traced
note("stride 8: 16 bytes are enough", function() config(strided(8), y, 2.0) end) -- expect: stride 8: 16 bytes are enough    known
note("stride 0", function() config(strided(0), y, 2.0) end)           -- expect: stride 0                         traced

-- Nesting and rank.
local copy2 = kernel("nested", function(t)
  count.n = count.n + 1
  clear(t)
end)
local function clear2(shape) copy2{grid = 1, block = 1}(zeros(f32, shape)) end
note("(8,8)", function() clear2{8, 8} end)                            -- expect: (8,8)                            traced
note("(8,24)", function() clear2{8, 24} end)                          -- expect: (8,24)                           known
note("(8,(4,2))", function() clear2{8, {4, 2}} end)                   -- expect: (8,(4,2))                        traced
note("(8,4,2)", function() clear2{8, 4, 2} end)                       -- expect: (8,4,2)                          traced
