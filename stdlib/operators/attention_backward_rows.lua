-- attention_backward_rows.lua: what the gradients of attention need of each query before their
-- sums: L = LSE log2(e), and D, the sum of dO O over the depth, as P = exp2(c S - L) and
-- dS = P (dP - D). L is infinite, and so P is 0, where a query sees no key and behind the last one.
-- Also makes a sum's elements 0, where one is given.
local M = {}

local LOG2_E <const> = 1 / math.log(2)
local WARP <const>, THREADS <const> = 32, 256

local function lanes_for(depth, width)
  local lanes = 1
  while lanes < WARP and lanes * width < depth do lanes = 2 * lanes end
  return lanes
end

-- `width` elements of a row at a time, by so many lanes.
local function make(depth, width, has_sum)
  local lanes = lanes_for(depth, width)
  return kernel("attention_backward_rows", function(O, dO, LSE, L, D, sum)
    local row, lane = (blockIdx.x * THREADS + threadIdx.x) // lanes, threadIdx.x % lanes
    local h, b = blockIdx.y, blockIdx.z
    local total = 0.0
    if row < size(O, 0) then
      for i in range(lane, depth // width, lanes) do
        local x, y = fragment(O.dtype, width), fragment(O.dtype, width)
        copy(tile(O(row, _, h, b), {width}, {i}), x)
        copy(tile(dO(row, _, h, b), {width}, {i}), y)
        for j = 0, width - 1 do total = total + cast(x[j], f32) * cast(y[j], f32) end
        if has_sum then
          local zero = fragment(f32, width)
          clear(zero)
          copy(zero, tile(sum(row, _, h, b), {width}, {i}))
        end
      end
    end
    total = warp_reduce(total, "add", lanes)
    if lane == 0 and row < size(L, 0) then
      local l = f32(math.huge)
      if row < size(O, 0) then
        local lse = cast(LSE[{row, h, b}], f32)
        l = where(lse == -math.huge, f32(math.huge), lse * LOG2_E)
      end
      L[{row, h, b}], D[{row, h, b}] = l, total
    end
  end)
end

local kernels = {}

-- A tensor of f32 of those extents, each mode's stride as in memory, on the problem's device.
local function new(p, extents)
  local strides, n = {}, 1
  for i, extent in ipairs(extents) do strides[i], n = n, n * extent end
  local t = tensor(f32, layout(extents, strides))
  return t.device == p.device and t or t:to(p.device)
end

--- The launch, and L and D (S,H,B) with room for rows in tiles of so many; `width` elements of
--- depth have adjacent addresses; `sum` is (S,D,H,B), or nil.
function M.step(p, rows, width, sum)
  local key = ("%d %d %s"):format(p.depth, width, sum ~= nil)
  kernels[key] = kernels[key] or make(p.depth, width, sum ~= nil)
  local padded = cdiv(p.n_q, rows) * rows
  local L, D = new(p, { padded, p.heads, p.batches }), new(p, { padded, p.heads, p.batches })
  local lanes = lanes_for(p.depth, width)
  return { kernel = kernels[key],
           launch = { grid = { cdiv(padded * lanes, THREADS), p.heads, p.batches },
                      block = THREADS, stream = p.stream },
           args = { p.O, p.dO, p.LSE, L, D, sum or L } }, L, D
end

--- Memory for sums (S,D,H,B) of f32, D contiguous.
function M.new_sum(p)
  local t = new(p, { p.depth, p.n_q, p.heads, p.batches })
  return select(t, 1, 0, 2, 3)
end

return M
