-- gather_matmul and matmul_scatter on one CUDA device of capability 9.0: the configurations for large
-- products, and kernels of two ranks that run at once in two streams and wait for each other. Prints
-- TAP.
local tap = dofile "tests/support/tap.lua"
if #devices() < 2 or device("cuda:0").sm ~= 90 then
  tap.skip_all "no CUDA device of capability 9.0"
end
local gather, scatter = require "cuttle.gather_matmul", require "cuttle.matmul_scatter"

local function small(dtype, m, n)
  local numbers = reference.cast(rand(i32, m * n, -1, 2):to "cpu", dtype)
  return view(numbers:to "cuda:0", row_major{m, n})
end

local function copy_of(t)
  local new = zeros(t.dtype, t.layout)
  copy(t, new)
  return new
end

local function try_gather(dtype, W, height, n, k, options)
  local A, B = small(dtype, W * height, k), small(dtype, n, k)
  local panels = {}
  for i = 1, W do panels[i] = tile(A, {height, k}, {i - 1, 0}) end
  options = options or {}
  local want = small(dtype, W * height, n)
  local before = copy_of(want)
  local of_matmul = {}
  for key, value in pairs(options) do of_matmul[key] = value end
  of_matmul.config = "hopper 256x128x64"
  matmul(A, B, want, of_matmul)
  for rank = 0, W - 1 do
    local got = copy_of(before)
    local launch, name = gather.prepare(panels, rank, B, got, options)
    for _ = 1, options.beta and 1 or 5 do launch() end
    local ok, worst = allclose(got, want, {rtol = 0, atol = 0})
    tap.ok(ok, ("%s: %d panels of %d rows, rank %d"):format(name, W, height, rank), worst)
  end
end
try_gather(bf16, 2, 4096, 2048, 512)
try_gather(f16, 4, 1000, 2056, 520)
try_gather(bf16, 3, 1536, 2048, 256, {beta = 1, bias = rand(f32, 2048)})
try_gather(bf16, 2, 640, 1024, 256)
try_gather(f16, 4, 72, 136, 264)

-- Both grids fit beside each other.
local function try_scatter(dtype, height, n, k, number)
  local config, A, B, C, spaces = {}, {}, {}, {}, {}
  for key, value in pairs(scatter.configs[number]) do config[key] = value end
  config.blocks = 40
  for r = 1, 2 do
    A[r], B[r] = small(dtype, 2 * height, k), small(dtype, n, k)
    C[r], spaces[r] = zeros(dtype, row_major{height, n}), scatter.workspace(dtype, height, n, 2)
  end
  local launches, streams = {}, {}
  for r = 1, 2 do
    streams[r] = stream()
    launches[r] = scatter.prepare(A[r], B[r], C[r], r - 1, spaces,
      {config = config, stream = streams[r]})
  end
  synchronize()
  for _ = 1, 5 do
    for r = 1, 2 do launches[r]() end
  end
  synchronize()
  local want = zeros(f32, row_major{2 * height, n})
  for r = 1, 2 do matmul(A[r], B[r], want, {beta = 1}) end
  for r = 1, 2 do
    local part = tile(want, {height, n}, {r - 1, 0}):to "cpu"
    local ok, worst = allclose(reference.cast(C[r]:to "cpu", f32), part, {rtol = 0, atol = 0})
    tap.ok(ok, ("%s: rank %d of 2, %d rows"):format(config.name, r - 1, height), worst)
  end
end
try_scatter(bf16, 1024, 1024, 256, 1)
try_scatter(f16, 1000, 520, 264, 1)
try_scatter(bf16, 640, 1032, 256, 3)
try_scatter(f16, 200, 72, 72, 4)
tap.done()
