-- cost.lua: what counting costs: CPU time of launches with `profile` and without, the best of 5.
-- Not a test: `cuttle tests/profile/cost.lua`; docs/measurements.md has what it printed.
local ct = require "cuttle"
device("cpu")

local function cpu_seconds(launch)
  local best = math.huge
  for _ = 1, 5 do
    local start = os.clock()
    launch()
    best = math.min(best, os.clock() - start)
  end
  return best
end

local function compare(name, launch)
  local plain = cpu_seconds(launch)
  local session = ct._profile_begin(0) -- no CUDA C: launches alone
  local counted = cpu_seconds(launch)
  session:close()
  print(("%-16s %8.1f ms plain %8.1f ms counted, %.2f times as long"):format(name, plain * 1e3,
    counted * 1e3, counted / plain))
end

-- The kernel of examples/moye_matmul.lua.
local function matmul(m, n, k)
  local file <close> = assert(io.open("examples/moye_matmul.lua"))
  local text = file:read("a"):gsub("\nlaunch%(%).*", "\nreturn launch")
  local chunk = assert(load(text, "@examples/moye_matmul.lua"))
  arg = { m, n, k } -- luacheck: ignore 121
  return chunk()
end

-- The notebook's kernel with tiles of static size in shared memory.
local function notebook(h, depth, w, tw)
  local k = kernel("matmul_shared", function(m, n, out)
    local rows, cols, K = size(out, 0), size(out, 1), size(m, 1)
    local ms, ns = shared(f32, row_major{ tw, tw }), shared(f32, row_major{ tw, tw })
    local tc, tr = threadIdx.x, threadIdx.y
    local r, c = blockIdx.y * blockDim.y + tr, blockIdx.x * blockDim.x + tc
    local p = 0.0
    for ph = 0, cdiv(K, tw) - 1 do
      local x = ph * tw
      ms[{ tr, tc }] = r < rows and x + tc < K and m[{ r, x + tc }] or 0.0
      ns[{ tr, tc }] = c < cols and x + tr < K and n[{ x + tr, c }] or 0.0
      sync_threads()
      for i = 0, tw - 1 do p = p + ms[{ tr, i }] * ns[{ i, tc }] end
      sync_threads()
    end
    if r < rows and c < cols then out[{ r, c }] = p end
  end)
  local m, n = rand(f32, row_major{ h, depth }), rand(f32, row_major{ depth, w })
  return k:prepare{ grid = { cdiv(w, tw), cdiv(h, tw) }, block = { tw, tw } }(m, n,
    zeros(f32, row_major{ h, w }))
end

-- The least that a kernel can do for what it moves.
local function saxpy(n)
  local k = kernel("saxpy", function(x, y, a)
    local i = blockIdx.x * blockDim.x + threadIdx.x
    if i < size(x) then y[i] = a * x[i] + y[i] end
  end)
  return k:prepare{ grid = cdiv(n, 256), block = 256 }(rand(f32, n), rand(f32, n), 2.5)
end

compare("matmul", matmul(2048, 2048, 256))
compare("notebook, static", notebook(1024, 256, 1024, 16))
compare("saxpy", saxpy(1 << 22))
