-- tune_stencil.lua: a stencil of 7 points in three dimensions; `tune` chooses the block and the
-- number of planes per thread. On the CPU engine, a model chooses them, and a line reports this.
-- Usage: cuttle tune_stencil.lua [n]; `cuttle tune` keeps the result beside the script
-- expect on stderr: tune: tune_stencil.lua:9: no GPU here, so the model ranks: ...
local on_gpu = device().sm ~= nil
local n = tonumber(arg[1] or (on_gpu and 512 or 24))

-- What runs with a configuration: a thread walks `deep` planes and keeps the values around it.
local function stencil(config)
  local deep <const> = config.deep
  local k = kernel("stencil", function(x, y)
    local i = blockIdx.x * blockDim.x + threadIdx.x + 1
    local j = blockIdx.y * blockDim.y + threadIdx.y + 1
    local k0 = blockIdx.z * deep + 1
    if i < size(x, 0) - 1 and j < size(x, 1) - 1 then
      local below, here = x[{i, j, k0 - 1}], x[{i, j, k0}]
      for k = 0, deep - 1 do
        if k0 + k < size(x, 2) - 1 then
          local above = x[{i, j, k0 + k + 1}]
          local around = x[{i - 1, j, k0 + k}] + x[{i + 1, j, k0 + k}]
            + x[{i, j - 1, k0 + k}] + x[{i, j + 1, k0 + k}]
          y[{i, j, k0 + k}] = 0.5 * here + 0.0833 * (below + above + around)
          below, here = here, above
        end
      end
    end
  end)
  local bx, by = table.unpack(config.block)
  return function(x, y)
    local grid = { cdiv(size(x, 0) - 2, bx), cdiv(size(x, 1) - 2, by), cdiv(size(x, 2) - 2, deep) }
    k{grid = grid, block = config.block}(x, y)
  end
end

local tuned = tune(stencil, {
  block = on_gpu and {{32, 4}, {32, 8}, {64, 4}, {128, 2}, {16, 16}} or {{32, 4}, {8, 4}},
  deep = on_gpu and {1, 2, 4, 8} or {1, 4},
})

-- The result is the same with each configuration.
local x, y, plain = rand(f32, {n, n, n}), zeros(f32, {n, n, n}), zeros(f32, {n, n, n})
tuned(x, y)
stencil{block = {32, 4}, deep = 1}(x, plain)
print("equal to the untuned one:", (allclose(y, plain, {rtol = 0, atol = 0})))
print("configurations tried:", on_gpu and 20 or 4)
