-- einsum_plain.lua: contractions that no template of matmul is for: sums of one tensor, and
-- products whose matrices are single elements or too many. A thread, or a warp where the sums are
-- long, computes one element of the result.
local memo = require "cuttle.memo"
local M = {}

local THREADS <const>, WARP <const> = 256, 32
local MANY <const> = 1 << 17 -- elements that fill a GPU with a thread each

-- A (elements, k) and, unless it is nil, B (elements, k); C (elements). A float C of integer sums
-- is computed in C's type.
local function make(has_B, lanes, reads_c)
  return kernel("einsum", function(A, B, C, alpha, beta)
    local thread = blockIdx.x * THREADS + threadIdx.x
    local e, lane = thread // lanes, thread % lanes
    if e >= size(C) then return end
    local sum = cast(0, A.dtype.compute)
    for k in range(lane, size(A, 1), lanes) do
      if has_B then
        sum = sum + A[{e, k}] * B[{e, k}]
      else
        sum = sum + A[{e, k}]
      end
    end
    if lanes > 1 then sum = warp_reduce(sum, "add") end
    if lane == 0 then
      local work = C.dtype.compute
      local v = cast(sum, work) * alpha
      if reads_c then v = v + C[e] * beta end
      C[e] = cast(v, C.dtype)
    end
  end)
end

local kernel_of = memo.by_arguments(make)

-- A warp for each element if the sum is long and is read along k, or elements are few.
local function lanes_of(p, n_elements)
  local inner = p.k[1]
  if p.size.k < WARP then return 1 end
  return (inner.a == 1 or n_elements < MANY) and WARP or 1
end

--- The step that computes product p of tensors with views A and B (or nil), (elements, k), and C,
--- (elements); how many lanes share a sum.
function M.step(p, A, B, C, options)
  local lanes = lanes_of(p, size(C))
  local beta = options.beta or 0
  local launch = { grid = math.max(1, cdiv(size(C) * lanes, THREADS)), block = THREADS,
                   stream = options.stream }
  return { kernel = kernel_of(B ~= nil, lanes, beta ~= 0), launch = launch,
           args = table.pack(A, B or A, C, options.alpha or 1, beta) }, lanes
end

return M
