-- gather_matmul: the kernel that gathers panels of A while it multiplies. Its result has the bits of
-- matmul of the whole A by the same tiles: for 1 to 4 panels and each rank, ragged sizes, launches
-- that follow each other, alpha, beta, bias, an epilogue, and other schedules and tiles. On a GPU
-- with --device=cuda (sm_90) all panels lie on it.
local gather = require "cuttle.gather_matmul"
local sm = device().sm
if sm and sm ~= 90 then
  print("done")
  return
end

local small = { name = "small", tile = { 64, 64, 64 }, schedule = "cooperative", groups = 1,
                stages = 2, store = { 1, 1 }, order = "hilbert", blocks = 3 }

local function with(fields, more)
  local new = {}
  for key, value in pairs(fields) do new[key] = value end
  for key, value in pairs(more or {}) do new[key] = value end
  return new
end

-- The configuration of the kernel that gathers, and that of matmul with the same tiles.
local function configs_of(fields)
  local both = with(small, fields)
  return with(both, { template = "cuttle.gemm_gather", vectors = 2, cooperative = true }),
    with(both, { template = "cuttle.gemm_hopper" })
end

local function panels_of(A, W)
  local panels, height = {}, size(A, 0) // W
  for i = 1, W do panels[i] = tile(A, {height, size(A, 1)}, {i - 1, 0}) end
  return panels
end

-- A matrix whose rows begin at multiples of 16 bytes, as TMA wants them.
local function rows_of(dtype, m, n)
  return view(rand(dtype, m * cdiv(n, 8) * 8), layout({m, n}, {cdiv(n, 8) * 8, 1}))
end

local function try(dtype, W, height, n, k, fields, options)
  local gathering, plain = configs_of(fields)
  for launch = 1, 2 do
    local A, B = rows_of(dtype, W * height, k), rows_of(dtype, n, k)
    for rank = 0, W - 1 do
      local want, got = rows_of(dtype, W * height, n), rows_of(dtype, W * height, n)
      copy(want, got)
      matmul(A, B, want, with(options or {}, { config = plain }))
      gather.gather_matmul(panels_of(A, W), rank, B, got,
        with(options or {}, { config = W > 1 and gathering or plain }))
      local ok, worst = allclose(got, want, {rtol = 0, atol = 0})
      if not ok then print(dtype, W, rank, launch, height, n, k, gathering.tile[1], worst) end
    end
  end
end

for W = 1, 4 do try(bf16, W, 128, 96, 128) end
try(f16, 3, 200, 72, 72)                                    -- tiles overhang panels, N and K
try(bf16, 2, 40, 200, 320, { blocks = 5 })                  -- panels lower than a tile
try(bf16, 2, 192, 128, 64, { tile = { 128, 128, 64 }, groups = 2, registers = { 40, 232 } })
try(f16, 3, 96, 136, 128, { schedule = "ping-pong", groups = 2, tile = { 128, 64, 64 } })
try(bf16, 2, 130, 64, 64, { blocks = 8, store = { 1, 2 } }, { alpha = 2, beta = 1 })
try(f16, 2, 70, 64, 64, {}, { bias = rand(f32, 64), beta = 0.5 })

-- Several pieces along K, the last one a part of one; `check` sees each handed on to TMA.
try(bf16, 2, 40, 64, 4360, { blocks = 2 })
try(bf16, 2, 72, 64, 1096, { blocks = 2 })
local function try_checked(height, n, k)
  local A, B, C = rows_of(bf16, 2 * height, k), rows_of(bf16, n, k), rows_of(bf16, 2 * height, n)
  local step = gather.step(panels_of(A, 2), 1, B, C, { config = configs_of{ vectors = 4 } })
  step.launch.check = not sm
  step.kernel(step.launch)(table.unpack(step.args))
  print(allclose(C, matmul(A, B), {rtol = 1e-2, atol = 1e-2}))
end
try_checked(72, 64, 4104)                                  -- expect: true

-- The epilogue's (m, n) are those of the whole C; a bias may be a matrix.
local scale = rand(f32, 192)
try(bf16, 2, 96, 72, 64, {}, { bias = rand(f32, {192, 72}), operands = {scale},
  epilogue = function(v, m, n, l, s) return where(n < 50, v * s[m], cast(m, f32)) end })

-- Panels are tensors of their own, and configurations are chosen.
local A, B = rand(bf16, row_major{256, 64}), rand(bf16, row_major{64, 64})
local parts, C = {}, zeros(bf16, row_major{256, 64})
for i, panel in ipairs(panels_of(A, 2)) do
  parts[i] = zeros(bf16, row_major{128, 64})
  copy(panel, parts[i])
end
local launch, name = gather.prepare(parts, 1, B, C)
for _ = 1, 3 do launch() end
print(name, allclose(C, matmul(A, B), {rtol = 1e-2}))     -- expect: gather 64x64x64	true

-- Ranks of a mesh at once, each with the others' panels where they lie.
if not sm then
  device "cpu:3"
  local gathering, plain = configs_of{ blocks = 2 }
  local x, w = rows_of(bf16, 3 * 80, 64), rows_of(bf16, 72, 64)
  local want = zeros(bf16, row_major{240, 72})
  matmul(x, w, want, { config = plain })
  mesh{ rank = 3 }:run(function(r)
    local own, got = zeros(bf16, row_major{80, 64}), zeros(bf16, row_major{240, 72})
    copy(tile(x, {80, 64}, {r.rank, 0}), own)
    local seen, list = r:peers(own), {}
    for rank = 0, 2 do list[rank + 1] = seen[rank] end
    gather.gather_matmul(list, r.rank, w, got, { config = gathering })
    r:barrier()
    local ok, worst = allclose(got, want, {rtol = 0, atol = 0})
    if not ok then print("rank", r.rank, worst) end
  end)
  device "cpu"
end

-- What it refuses.
local function why(...) print((gather.trouble(...))) end
why(parts, 0, B, C)                                        -- expect: nil
why(parts, 0, B, zeros(bf16, {256, 64}))                   -- expect: C must be contiguous along N
why(parts, 0, zeros(bf16, {64, 64}), C)                    -- expect: B must be contiguous along K
local columns = {zeros(bf16, {128, 64}), zeros(bf16, {128, 64})}
why(columns, 0, B, C)
-- expect: panels must be compact, contiguous along K; panel 1 is (128,64):(1,128)
local wide = {zeros(f32, row_major{128, 64}), zeros(f32, row_major{128, 64})}
why(wide, 0, zeros(f32, row_major{64, 64}), zeros(f32, row_major{256, 64}))
-- expect: its elements are f16 or bf16, and A's are f32
local function fails(...)
  print((select(2, pcall(gather.gather_matmul, ...)):gsub("^[^ ]* ", "")))
end
fails(parts, 2, B, C)   -- expect: gather_matmul: rank is 2, but there are 2 panels; expected 0 to 1
fails(parts, 0, B, zeros(bf16, row_major{100, 64}))
-- expect: gather_matmul: C is (100,64):(64,1); expected (256,N), as there are 2 panels (128,64):(64,1)
fails({parts[1], zeros(bf16, row_major{64, 64})}, 0, B, C)
-- expect: gather_matmul: panel 2 is bf16 of (64,64):(64,1), but that of rank 0 is bf16 of (128,64):(64,1); panels have equal shapes (M/W,K)
fails({parts[1], zeros(bf16, row_major{128, 72})}, 0, B, C)
-- expect: gather_matmul: panel 2 is bf16 of (128,72):(72,1), but that of rank 0 is bf16 of (128,64):(64,1); panels have equal shapes (M/W,K)
fails({parts[1], columns[2]}, 0, B, C)
-- expect: gather_matmul: panels must be compact, contiguous along K; panel 2 is (128,64):(1,128). Gather A and call matmul
