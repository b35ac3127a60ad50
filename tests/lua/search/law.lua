-- What find_swizzle predicts for a layout is what is counted when the kernel runs with it.
package.path = "tests/support/?.lua;" .. package.path
local internal = require "internal"

local kernels = {}

-- Scalars: rows in, columns out.
function kernels.transpose(s_layout)
  local k = kernel("transpose", function(a, b)
    local s = shared(f32, s_layout)
    local x, y = threadIdx.x, threadIdx.y
    local x0, y0 = blockIdx.x * 32, blockIdx.y * 32
    for i = 0, 31, 8 do s[{y + i, x}] = a[{x0 + x, y0 + y + i}] end
    sync_threads()
    for i = 0, 31, 8 do b[{y0 + x, x0 + y + i}] = s[{x, y + i}] end
  end)
  return k{grid = {2, 2}, block = {32, 8}}, rand(f32, {64, 64}), zeros(f32, {64, 64})
end

-- 16-byte asynchronous writes of rows, 16-byte reads of columns.
function kernels.vectors(s_layout)
  local k = kernel("vectors", function(a, b)
    local s = shared(f16, s_layout)
    local t = threadIdx.x
    local from, to = zipped_divide(a, {1, 8}), zipped_divide(b, {1, 8}) -- (8,(64,8))
    local mine = zipped_divide(s, {1, 8})
    for row = t // 8, 63, 16 do copy(from(_, {row, t % 8}), mine(_, {row, t % 8})) end
    cp_async_wait(0)
    sync_threads()
    local r = fragment(f16, 8)
    for i = t, 511, 128 do
      copy(mine(_, i), r)
      copy(r, to(_, i))
    end
  end)
  return k{grid = 1, block = 128}, rand(f16, row_major{64, 64}), zeros(f16, row_major{64, 64})
end

-- A matrix product with one operand in shared memory, and atomics.
function kernels.product(s_layout)
  local threads = layout{8, 8}
  local k = kernel("product", function(a, b, c)
    local s = shared(f32, s_layout)
    local t = threadIdx.x
    local gA, gB = tile(a, {32, 32}, {blockIdx.x, _}), tile(b, {32, 32}, {0, _})
    local tC = parallelize(tile(c, {32, 32}, {blockIdx.x, 0}), threads, t)
    local r = fragment_like(tC)
    clear(r)
    for p in axes(gA, 2) do
      copy(parallelize(gA(_, _, p), threads, t), parallelize(s, threads, t))
      sync_threads()
      gemm(parallelize(s, threads, t, {1, _}), parallelize(gB(_, _, p), threads, t, {_, 1}), r)
      sync_threads()
      if t < 5 then atomic_add(s, {t, t * 4}, 1) end
      sync_threads()
    end
    copy(r, tC)
  end)
  return k{grid = 2, block = 64}, rand(f32, {64, 64}), rand(f32, {32, 64}), zeros(f32, {64, 32})
end

-- The memory as halves and as pairs of them.
function kernels.pairs(s_layout)
  local k = kernel("pairs", function(a)
    local s = shared(f16, s_layout)
    local t = threadIdx.x
    for i = 0, 31 do s[{i, t}] = 1 end
    sync_threads()
    local two = recast(s, u32)
    a[t] = two[{t, 3}] + two[{0, t % 16}]
  end)
  return k{grid = 1, block = 32}, zeros(u32, 32)
end

-- Wavefronts on s and how many there would be without conflicts.
local function counted(launch, ...)
  local session <close> = internal.watch.profile_begin(0)
  launch(...)
  local program, n, ideal = session:finish()[1], 0, 0
  for _, row in ipairs(program.rows) do
    for _, mem in ipairs(row.mem) do
      if mem.space == "shared" then n, ideal = n + mem.wavefronts, ideal + mem.ideal end
    end
  end
  return n, ideal
end

-- Every candidate that has another number of wavefronts than the one before, and the last.
local function check(name, blocks, plain)
  local launch = table.pack(kernels[name](plain))
  local found = find_swizzle(launch[1], "s", { blocks = blocks },
    table.unpack(launch, 2, launch.n))
  local n, last = 0, nil
  for i, candidate in ipairs(found.candidates) do
    if candidate.wavefronts ~= last or i == #found.candidates then
      local wavefronts, ideal = counted(kernels[name](candidate.layout))
      if wavefronts ~= candidate.wavefronts or wavefronts - ideal ~= candidate.conflicts then
        error(("%s with %s: %s wavefronts and %s conflicts predicted; counted %d and %d"):format(
          name, candidate.text, candidate.wavefronts, candidate.conflicts, wavefronts,
          wavefronts - ideal))
      end
      n, last = n + 1, candidate.wavefronts
    end
  end
  print(name, found.layout, found.best.conflicts, n > 2)
end

check("transpose", 4, row_major{32, 32})  -- expect: transpose	Sw<5,0,5> o 0 o (32,32):(32,1)	0	true
check("transpose", 4, layout{32, 32})     -- expect: transpose	Sw<5,0,5> o 0 o (32,32):(1,32)	0	true
check("vectors", 1, row_major{64, 64})    -- expect: vectors	Sw<3,3,3> o 0 o (64,64):(64,1)	0	true
check("product", 2, row_major{32, 32})    -- expect: product	(32,32):(36,1)	4	true
check("pairs", 1, row_major{32, 32})      -- expect: pairs	Sw<4,1,5> o 0 o (32,32):(32,1)	0	true
check("transpose", 4, "Sw<2,0,5> o 0 o (32,32):(32,1)")  -- expect: transpose	Sw<5,0,5> o 0 o (32,32):(32,1)	0	true

-- The launch's tensors stay as they are; a prepared launch has its own.
local launch, a, b = kernels.transpose(row_major{32, 32})
find_swizzle(launch, "s", a, b)
print(allclose(b, zeros(f32, {64, 64})))  -- expect: true
local k = kernel("fill", function(x)
  local s = shared(f32, 64)
  s[threadIdx.x * 2] = 1
  sync_threads()
  x[threadIdx.x] = s[threadIdx.x * 2]
end)
print(find_swizzle(k:prepare{grid = 1, block = 32}(zeros(f32, 32)), "s").now.conflicts)  -- expect: 2
