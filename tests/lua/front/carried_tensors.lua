-- A local that holds one tensor or another by path of the kernel, where only the offset differs: the local is a variable
-- of the kernel for the offset, in loops and under conditions. Accesses stay as wide as those of each of the tensors.
local function same(a, b) return (allclose(a, b, {rtol = 0, atol = 0})) end

-- The slots of a ring, as CuTe's pipelines carry them: tXsA_p = tXsA(_, _, _, slot).
local function ring(carries)
  return kernel(carries and "carried" or "by_slot", function(y, n)
    local s = shared(f32, {4, 8, 3})
    local i = threadIdx.x
    for p = 0, 2 do s(_, _, p)[i] = 100.0 * p + i end
    sync_threads()
    local now, slot, sum = s(_, _, 0), 0, 0.0
    for turn in range(n) do
      local r = fragment(f32, {4, 1})
      copy(tile((carries and now or s(_, _, slot)), {4, 1}, {0, i % 8}), r)
      sum = sum + r[0] + 2 * r[3]
      slot = slot + 1
      if slot == 3 then slot = 0 end
      if carries then now = s(_, _, slot) end
    end
    y[i] = sum
  end)
end
local x, y = zeros(f32, 32), zeros(f32, 32)
local carried, by_slot = ring(true){grid = 1, block = 32}, ring(false){grid = 1, block = 32}
local right = true
for n = 0, 5 do
  carried(x, n)
  by_slot(y, n)
  right = right and same(x, y)
end
print(right, x[31])                                       -- expect: true	1650.0
print(carried:source(x, 5):match "float4" ~= nil)         -- expect: true

-- Two that change places, a choice, a while, a helper's own local, and an inner loop's.
local function next_row(A, row)
  local t = A(0, _)
  if row > 0 then t = A(row, _) end
  return t
end
local several = kernel("several", function(A, y, n)
  local p, q = A(0, _), A(1, _)
  for i in range(n) do
    y[{i, 0}] = p[0] + 10 * q[0]
    p, q = q, p
  end
  local t = A(2, _)
  if n > 3 then t = A(3, _) end
  y[{0, 1}] = t[1]
  local row, i = A(0, _), 0
  while row[0] < 2.0 do
    i = i + 1
    row = A(i, _)
  end
  y[{1, 1}] = row[1]
  y[{2, 1}] = next_row(A, n)[2]
  local last = A(0, _)
  for a in range(2) do
    for b in range(2) do
      if a + b == n - 3 then last = A(a + b, _) end
    end
    y[{3, a}] = last[0]
  end
end)
local A = from_table(f32, {{0, 1, 2}, {1, 11, 12}, {2, 21, 22}, {3, 31, 32}, {4, 41, 42}})
local out = zeros(f32, {4, 2})
several{grid = 1, block = 1}(A, out, 4)
print(out)
-- expect: tensor f32 (4,2):(1,4) on cpu
-- expect:    10   31
-- expect:     1   21
-- expect:    10   42
-- expect:     1    1
several{grid = 1, block = 1, check = true}(A, out, 3)
print(out[{0, 1}], out[{3, 0}], out[{3, 1}])              -- expect: 21.0	0.0	0.0

-- After jumps, and a local that inner functions see.
local jumps = kernel("jumps", function(A, y, n)
  local row, seen = A(0, _), A(0, _)
  local function first() return seen[0] end
  for i in range(5) do
    if i == n then goto continue end
    row = A(i, _)
    if i > n then break end
    ::continue::
    seen = A(i, _)
    y[{i % 4, 1}] = first()
  end
  y[{0, 0}] = row[0]
  if n == 3 then return end
  row = A(1, _)
  y[{1, 0}] = row[0]
end)
for n = 2, 3 do
  fill(out, 9)
  jumps{grid = 1, block = 1}(A, out, n)
  print(out(0, 0), out(1, 0), out(0, 1), out(1, 1), out(2, 1), out(3, 1))
end
-- expect: 3.0	1.0	0.0	1.0	2.0	9.0
-- expect: 4.0	9.0	0.0	1.0	2.0	3.0

-- The offsets need no common divisor: then elements are read one by one.
local odd = kernel("odd", function(x, y, n)
  local part = view(x, 4, 0)
  for i in range(n) do part = view(x, 4, 4 * i + 1) end
  local r = fragment(f32, 4)
  copy(part, r)
  y[0] = r[0] + r[3]
end)
local v, w = arange(f32, 32), zeros(f32, 1)
odd{grid = 1, block = 1}(v, w, 0)
local first = w[0]
odd{grid = 1, block = 1}(v, w, 3)
print(first, w[0], odd{grid = 1, block = 1}:source(v, w, 3):match "float4") -- expect: 3.0	21.0	nil

-- What one call of a helper needs holds for the next call, too.
local function sum_of(x, first, n)
  local part, r = view(x, 4, first), fragment(f32, 4)
  for i in range(n) do part = view(x, 4, 4 * i) end
  copy(part, r)
  return r[0] + r[1] + r[2] + r[3]
end
local twice = kernel("twice", function(x, y, n) y[0] = sum_of(x, 4, n) + 1000 * sum_of(x, 1, n) end)
twice{grid = 1, block = 1}(v, w, 0)
print(w[0])                                               -- expect: 10022.0

-- ldmatrix from the swizzled slots of a ring, whose offsets are run-time values of a loop.
local function multiply(carries)
  local mma = tiled_mma("SM80_16x8x16_F32F16F16F32_TN", layout{1, 1, 1}, {16, 16, 16})
  local by = tiled_copy_A(atom("SM75_U32x4_LDSM_N", f16), mma)
  local slots = tile_to_shape(composition(swizzle(1, 3, 3), "(8,16):(16,1)"), {16, 16, 3})
  return kernel("ldmatrix_" .. (carries and "carried" or "by_slot"), function(X, Y, n)
    local s = shared(f16, slots)
    local thr, cut = mma:get_slice(threadIdx.x), by:get_slice(threadIdx.x)
    for i in range(threadIdx.x, 768, 32) do s[i] = X[i] end
    sync_threads()
    local tX = cut:partition_S(s)
    local rA = thr:partition_fragment_A(s(_, _, 0))
    local slot, tX_p, sum = 0, tX(_, _, _, 0), 0.0
    for turn in range(n) do
      copy(by, carries and tX_p or tX(_, _, _, slot), cut:retile_D(rA))
      for j = 0, size(rA) - 1 do sum = sum * 0.5 + cast(rA[j], f32) end
      slot = (slot + 1) % 3
      if carries then tX_p = tX(_, _, _, slot) end
    end
    Y[threadIdx.x] = sum
  end){grid = 1, block = 32}
end
local X = rand(f16, 768)
multiply(true)(X, x, 5)
multiply(false)(X, y, 5)
print(same(x, y), x[0] ~= 0)                              -- expect: true	true
