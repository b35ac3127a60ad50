-- Layouts, tuples, tilers, swizzles, atoms and what is made of them are arguments of a launch: constants of the
-- kernel, as MoYe and CuTe pass them. Equal values share a specialisation, wherever they were made.
-- needs sm_80
local traces = {n = 0}
local function n_traces() local n = traces.n traces.n = 0 return n end

-- A tiled transpose whose layouts and tile the launch chooses.
local function body(A, B, sA, tile_shape, threads)
  local s = shared(f32, sA)
  local gA = tile(A, tile_shape, {blockIdx.x, blockIdx.y})
  local gB = tile(B, {tile_shape[2], tile_shape[1]}, {blockIdx.y, blockIdx.x})
  copy(parallelize(gA, threads, threadIdx.x), parallelize(s, threads, threadIdx.x))
  sync_threads()
  copy(parallelize(select(s, 1, 0), threads, threadIdx.x), parallelize(gB, threads, threadIdx.x))
end
local transpose = kernel("transpose", function(A, B, sA, tile_shape, threads)
  traces.n = traces.n + 1
  body(A, B, sA, tile_shape, threads)
end)
local A, B = rand(f32, {32, 48}), zeros(f32, {48, 32})
local function right() return (allclose(B, select(A, 1, 0))) end
local function launch(...)
  clear(B)
  transpose{grid = {2, 3}, block = 32}(A, B, ...)
  return right(), n_traces()
end
print(launch(L"(16,16):(1,17)", {16, 16}, layout{8, 4}))                    -- expect: true	1
print(launch(layout({16, 16}, {1, 17}), {16, 16}, L"(8,4):(1,8)"))          -- expect: true	0
print(launch(layout({16, 16}, {1, 17}), L"(16,16)".shape, L"(8,4):(1,8)"))  -- expect: true	0
print(launch(L"(16,16):(1,16)", {16, 16}, layout{8, 4}))                    -- expect: true	1
print(launch(composition(swizzle(2, 0, 3), "(16,16):(1,16)"), {16, 16}, layout{8, 4})) -- expect: true	1
print(launch(composition("Sw<2,0,3>", "(16,16):(1,16)"), {16, 16}, layout{8, 4}))      -- expect: true	0
print(launch(composition(swizzle(1, 0, 3), "(16,16):(1,16)"), {16, 16}, layout{8, 4})) -- expect: true	1
print(launch("(16,16):(1,17)", {16, 16}, "(8,4)"))                          -- expect: true	1

-- Tiled copies and tiled MMAs, by what they hold.
local scale = kernel("scale", function(A, B, by)
  traces.n = traces.n + 1
  local mine = by:get_slice(threadIdx.x)
  local from = mine:partition_S(tile(A, {32, 32}, {0, 0}))
  local into = mine:partition_D(tile(B, {32, 32}, {0, 0}))
  local r = fragment_like(from)
  copy(by, from, r)
  copy(by, r, into)
end)
local function by(bits, threads, values)
  return tiled_copy(atom(("UniversalCopy<u%d>"):format(bits), f32), threads, values)
end
local C, D = rand(f32, {32, 32}), zeros(f32, {32, 32})
local function copied(b)
  clear(D)
  scale{grid = 1, block = 32}(C, D, b)
  return (allclose(C, D)), n_traces()
end
print(copied(by(128, layout{8, 4}, layout{4, 1})))        -- expect: true	1
print(copied(by(128, layout{8, 4}, layout{4, 1})))        -- expect: true	0
print(copied(by(64, layout{8, 4}, layout{4, 1})))         -- expect: true	1
print(copied(by(128, layout{4, 8}, layout{4, 1})))        -- expect: true	1
local function copy_of(r, t) copy(t, r) return r end
local product = kernel("product", function(A, B, C, mma)
  traces.n = traces.n + 1
  local mine = mma:get_slice(threadIdx.x)
  local tA, tB = mine:partition_A(tile(A, {16, 16}, 0)), mine:partition_B(tile(B, {8, 16}, 0))
  local tC = mine:partition_C(tile(C, {16, 8}, 0))
  local rC = mma:fragment_C(tC)
  clear(rC)
  gemm(mma, copy_of(mma:fragment_A(tA), tA), copy_of(mma:fragment_B(tB), tB), rC)
  copy(rC, tC)
end)
local function multiplied(mma)
  local X, Y, Z = rand(f16, {16, 16}), rand(f16, {8, 16}), zeros(f32, {16, 8})
  product{grid = 1, block = 32}(X, Y, Z, mma)
  return (allclose(Z, reference.matmul(X, Y))), n_traces()
end
print(multiplied(tiled_mma("SM80_16x8x16_F32F16F16F32_TN")))            -- expect: true	1
print(multiplied(tiled_mma(atom "SM80_16x8x16_F32F16F16F32_TN")))       -- expect: true	0
print(multiplied(tiled_mma(atom "SM80_16x8x8_F32F16F16F32_TN")))        -- expect: true	1

-- What else is one: element types, atoms, basis elements, texts, tilers with `_`, and tables of all that in records.
local seen = kernel("seen", function(x, o)
  traces.n = traces.n + 1
  local r = fragment(o.type, o.shape)
  fill(r, o.mode == "ones" and 1 or 2)
  x[0] = r[0] * size(o.tiler[1])
  if o.atom then x[0] = x[0] + o.atom.bytes end
  if o.axis == E(1) then x[0] = x[0] + 100 end
end)
local x = zeros(f32, 1)
local function look(o)
  seen{grid = 1, block = 1}(x, o)
  return x[0], n_traces()
end
local function o(with)
  local all = {type = f32, shape = {2, {3, 4}}, mode = "ones", tiler = {layout{4, 2}, _}}
  for k, v in pairs(with or {}) do all[k] = v end
  return all
end
print(look(o()))                                          -- expect: 8.0	1
print(look(o()))                                          -- expect: 8.0	0
print(look(o{mode = "twos"}))                             -- expect: 16.0	1
print(look(o{type = f16}))                                -- expect: 8.0	1
print(look(o{shape = {2, {3, 5}}}))                       -- expect: 8.0	1
print(look(o{shape = {{2, 3}, 4}}))                       -- expect: 8.0	1
print(look(o{tiler = {layout{4, 3}, _}}))                 -- expect: 12.0	1
print(look(o{tiler = {layout{4, 2}, 1}}))                 -- expect: 8.0	1
print(look(o{tiler = {layout{4, 2}:named("M", "K"), _}})) -- expect: 8.0	1
print(look(o{atom = atom("UniversalCopy<u64>", f32)}))    -- expect: 16.0	1
print(look(o{atom = atom("UniversalCopy<u64>", f16)}))    -- expect: 16.0	1
print(look(o{axis = E(1)}))                               -- expect: 108.0	1
print(look(o{axis = E(0)}))                               -- expect: 8.0	1
print(look(o{mode = ("x"):rep(200)}))                     -- expect: 16.0	1
print(look(o{mode = ("x"):rep(199) .. "y"}))              -- expect: 16.0	1
print(look(o{mode = ("x"):rep(200)}))                     -- expect: 16.0	0

-- A configuration that is called again sees a table that has changed since, also one inside another; the kernel may
-- change what it got, and the script's own table stays.
local sums = kernel("sums", function(y, t)
  traces.n = traces.n + 1
  t[2][1] = t[2][1] * 10
  y[0] = 1.0 * t[1] + t[2][1]
end)
local t, y = {1, {2, 3}}, zeros(f32, 1)
local again = sums:prepare{grid = 1, block = 1}(y, t)
for _ = 1, 3 do again() end
print(y[0], n_traces(), t[2][1])                          -- expect: 21.0	1	2
t[2][1] = 5
for _ = 1, 3 do again() end
print(y[0], n_traces())                                   -- expect: 51.0	1
t[2][1] = 2
again()
print(y[0], n_traces())                                   -- expect: 21.0	0

-- `source` and `ir` say what they are; what is compiled and launched has no word of them.
local k = kernel("noted", function(x, o, l) x[0] = 1.0 end){grid = 1, block = 1}
local a, b = {shape = {4, {2, 2}}, by = "a\\\n b"}, L"(4,8):(8,1)"
print(k:source(x, a, b):match "%{.-\n(.-)%s+x%[0%]")
-- expect:   // o.by = a b
-- expect:   // o.shape = (4,(2,2))
-- expect:   // l = (4,8):(8,1)
print(k:ir(x, a, b):match "constant l.-\n")               -- expect: constant l = (4,8):(8,1)
-- expect:

-- Graphs, captures and checked launches take them as all launches do.
local function count(A, n, l) A[0] = A[0] + size(l) * n[1] end
local adds = kernel("adds", count)
local z = zeros(f32, 1)
local n = {3}
adds{grid = 1, block = 1}(z, n, layout{2, 2})
local g = graph(function() adds{grid = 1, block = 1}(z, n, layout{2, 2}) end)
n[1] = 100
g() g()
print(z[0])                                               -- expect: 36.0
local file = os.tmpname()
capture(adds:prepare{grid = 1, block = 1}(z, {3}, layout{2, 2}), file, {data = true})
local from_file, args = replay(file)
from_file()
print(args[1][0], args.n)                                 -- expect: 48.0	1
os.remove(file)
local checked = device().sm == nil or nil                  -- checks are made on the CPU engine
adds{grid = 1, block = 1, check = checked}(z, {3}, layout{2, 2})
print(z[0])                                               -- expect: 48.0
local ms = bench(adds:prepare{grid = 1, block = 1}(z, {3}, layout{2, 2}), {reps = 1, batches = 1})
print(ms > 0)                                             -- expect: true

-- A type is known by its metatable, which a specialisation keeps: a later one at its place is another type.
local typed = kernel("typed", function(x, object) x[0] = object:value() end)
local n_wrong = 0
for i = 1, 50 do
  local own = {__constant = true, __index = {value = function() return i end}}
  typed{grid = 1, block = 1}(x, setmetatable({7}, own))
  n_wrong = n_wrong + (x[0] == i and 0 or 1)
  own = nil -- luacheck: ignore
  collectgarbage()
end
print(n_wrong)                                              -- expect: 0
