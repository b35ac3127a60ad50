-- matmul_scatter: each rank multiplies its part of K, and gets its rows of the sum over ranks. Small
-- integers: all sums are exact. The launches of ranks run together on the CPU mesh.
device "cpu:4"
local scatter = require "cuttle.matmul_scatter"

local function small(dtype, m, n)
  return view(reference.cast(rand(i32, m * n, -1, 2), dtype), row_major{m, n})
end

local function try(dtype, W, height, n, k, config, checked)
  local m = mesh{rank = W}
  local A, B, C = {}, {}, {}
  local spaces = m:run(function(r)
    return scatter.share(r, scatter.workspace(dtype, height, n, W))
  end)
  for r = 1, W do
    A[r], B[r] = small(dtype, W * height, k), small(dtype, n, k)
    C[r] = zeros(dtype, row_major{height, n})
  end
  for launch = 1, 2 do
    m:run(function(r)
      local i = r.rank + 1
      for _ = 1, launch do                -- a rank may be a launch ahead of another one
        local step = scatter.step(A[i], B[i], C[i], r.rank, spaces[r.rank], {config = config})
        step.launch.check = checked and launch == 2
        step.kernel(step.launch)(table.unpack(step.args))
      end
    end)
    local want = zeros(f32, row_major{W * height, n})
    for r = 1, W do matmul(A[r], B[r], want, {beta = 1}) end
    for r = 1, W do
      local ok, worst = allclose(reference.cast(C[r], f32), tile(want, {height, n}, {r - 1, 0}),
        {rtol = 0, atol = 0})
      if not ok then print(dtype, W, r, launch, height, n, k, worst) end
    end
  end
end
try(bf16, 2, 64, 64, 64)

local function config_of(fields)
  local config = { name = "small", template = "cuttle.gemm_scatter", tile = { 64, 64, 64 },
                   schedule = "cooperative", groups = 1, stages = 2, store = { 1, 1 },
                   order = "hilbert", blocks = 3, vectors = 2, cooperative = true }
  for key, value in pairs(fields or {}) do config[key] = value end
  return config
end
for W = 2, 4 do try(bf16, W, 128, 136, 128, config_of()) end
try(f16, 3, 200, 72, 72, config_of())                       -- tiles overhang panels, N and K
try(bf16, 2, 40, 200, 320, config_of{ blocks = 5 })         -- panels lower than a tile
try(bf16, 2, 192, 128, 64, config_of{ tile = { 128, 128, 64 }, groups = 2, vectors = 3 })
try(f16, 2, 130, 264, 64, config_of{ tile = { 256, 64, 64 }, store = { 2, 2 }, vectors = 6 })
print("done")  -- expect: done

-- K of one step, and of two groups in a tile the second one is two tiles behind the first.
local template = require "cuttle.gemm_scatter"
local function try_late(height, n)
  local begin, n_tiles = template.begin, 2 * height // 128 * (n // 128)
  function template.begin(...)
    local made, calls = begin(...), shared(u32, 2) -- of the first group; of the second
    if threadIdx.x == 0 then calls[0], calls[1] = 0, 0 end
    local before_store = getmetatable(made).__index.before_store
    function made:before_store(...)
      before_store(self, ...)
      if threadIdx.x == 128 then atomic_add(calls, 0, 1) end
      if threadIdx.x == 256 then
        local wanted = min(atomic_add(calls, 1, 1) + u32(3), u32(n_tiles + 1))
        while atomic_load(calls, 0, {order = "relaxed"}) < wanted do end
      end
    end
    return made
  end
  try(bf16, 2, height, n, 64, config_of{ name = "late", tile = { 128, 128, 64 }, groups = 2,
    stages = 3, blocks = 1 }, true)
  template.begin = begin
end
try_late(256, 128)
print("done")  -- expect: done

-- What it refuses.
local space = scatter.workspace(bf16, 64, 64, 2)
local function fails(...)
  print((select(2, pcall(scatter.matmul_scatter, ...)):gsub("^[^ ]* ", "")))
end
local X, Y, Z = small(bf16, 128, 64), small(bf16, 64, 64), zeros(bf16, row_major{64, 64})
fails(X, Y, Z, 2, {space, space})
-- expect: matmul_scatter: rank is 2, but there are 2 workspaces; expected 0 to 1
fails(X, Y, zeros(bf16, row_major{128, 64}), 0, {space, space})
-- expect: matmul_scatter: C is (128,64):(64,1); expected (128/2,64): the rows of a rank, as A is (128,64):(64,1) and B is (64,64):(64,1)
fails(X, Y, zeros(bf16, {64, 64}), 0, {space, space})
-- expect: matmul_scatter: C is (64,64):(1,64); expected a compact one with rows of whole 16 bytes, (64,64):(64,1)
fails(X, Y, Z, 0, {space, space}, {beta = 1})
-- expect: matmul_scatter: option 'beta' is unknown; expected config or stream
