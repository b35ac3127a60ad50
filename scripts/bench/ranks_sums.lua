-- ranks_sums.lua: what is right where shares of several ranks are added. A share is one rank's part
-- of a sum, in the type of the result; `shares` has those of all ranks in order, as tensors that
-- one rank's kernels reach.
--   panels(r, D)                the shares of the rows that rank r owns, where each rank has a D
--                               (M,N); in m:run, by all ranks
--   want(shares, rank, out)     out = the sums as matmul_scatter has them on `rank`: own, then that
--                               of the rank before, and so on down, in f32, rounded once
--   count_far(shares, y, ups)   of y, how many elements are farther from the exact sum than `ups`
--                               roundings of partial sums allow
-- In another order, or rounded at each rank as NCCL does, a sum may be far from this one in its own
-- last digits: shares of hundreds may have a sum of 3. So y is measured by the shares.
local ct = require "cuttle"
local M = {}

local threadIdx, blockIdx, blockDim, gridDim = ct.threadIdx, ct.blockIdx, ct.blockDim, ct.gridDim
local cast, range, size, f32, f64, u32 = ct.cast, ct.range, ct.size, ct.f32, ct.f64, ct.u32
local abs = ct.abs

local THREADS <const> = 256
local ROUNDING <const> = { bf16 = 2.0 ^ -8, f16 = 2.0 ^ -11 } -- of a number, at most

local function flat(t) return ct.view(t, ct.layout(size(t))) end

local function launch_of(n)
  return { grid = math.min(ct.cdiv(n, 4 * THREADS), ct.device().n_sms and 2048 or 8),
           block = THREADS }
end

--- See above.
function M.panels(r, D)
  local list, all, height, width = {}, r:peers(D), size(D, 0) // r.mesh.n, size(D, 1)
  for rank = 0, r.mesh.n - 1 do
    list[rank + 1] = ct.view(ct.tile(flat(all[rank]), {height * width}, {r.rank}),
      ct.row_major{height, width})
  end
  r:barrier() -- all of them are computed
  return list
end

-- Those of the rank, then of the rank before, and so on.
local function downwards(shares, rank)
  local list = {}
  for i = 0, #shares - 1 do list[i + 1] = flat(shares[(rank - i) % #shares + 1]) end
  return list
end

local add_all = ct.kernel("add_all", function(shares, n_shares, out)
  for i in range(blockIdx.x * blockDim.x + threadIdx.x, size(out), gridDim.x * blockDim.x) do
    local sum = f32(0.0)
    for k in range(n_shares) do sum = sum + cast(shares[k + 1][i], f32) end
    out[i] = cast(sum, out.dtype)
  end
end)

--- See above. Returns out.
function M.want(shares, rank, out)
  add_all(launch_of(size(out)))(downwards(shares, rank), ct.i32(#shares), flat(out))
  return out
end

local count_kernel = ct.kernel("count_far", function(shares, n_shares, y, part, count)
  for i in range(blockIdx.x * blockDim.x + threadIdx.x, size(y), gridDim.x * blockDim.x) do
    local sum, most = f64(0.0), f64(0.0)
    for k in range(n_shares) do
      local v = cast(shares[k + 1][i], f64)
      sum, most = sum + v, most + abs(v)
    end
    local is_near = abs(cast(y[i], f64) - sum) <= most * cast(part, f64) -- a NaN is not
    if not is_near then ct.atomic_add(count, 0, 1) end
  end
end)

--- See above. No partial sum is larger than the shares' sizes together.
function M.count_far(shares, y, ups)
  local count = ct.zeros(u32, 1)
  count_kernel(launch_of(size(y)))(downwards(shares, 0), ct.i32(#shares), flat(y),
    f32(ups * ROUNDING[y.dtype.name]), count)
  return count[0]
end

return M
