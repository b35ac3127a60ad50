-- row_gates.lua: gates of rows: a function of one tensor times another one, alone or after a norm,
-- and their gradients.
local M = {}

local function sigmoid(row, v)
  local sum = 1.0 + row:exp(-v)
  if row.is_narrow then return fast.rcp(sum) end
  return 1.0 / sum
end

--- swiglu(gate, up) -> gate sigmoid(gate) up
M.swiglu = row_kernel("swiglu", function(row, gate, up) return gate * sigmoid(row, gate) * up end)

--- swiglu_backward(dy, gate, up) -> dgate, dup
M.swiglu_backward = row_kernel("swiglu_backward", function(row, dy, gate, up)
  local s = sigmoid(row, gate)
  return dy * up * s * (1.0 + gate * (1.0 - s)), dy * gate * s
end)

local LOG2_CDF <const> = { -0x1.12ceb6p-21, 0x1.639e66p-15, -0x1.aef70ap-11, 0x1.0cf0d8p-7,
  -0x1.b698f2p-5, -0x1.d5bf8ep-2, -0x1.26b41ep+0, -0x1.ffffb4p-1 }

-- The share of a normal distribution below v. Of narrow elements a polynomial in |v| has log2 of
-- that below -|v|, with an error of 8e-7 of the share, and of 3e-6 relative to shares above 1e-4.
local function normal_cdf(row, v)
  if not row.is_narrow then return 0.5 * (1.0 + erf(v * 0.5 ^ 0.5)) end
  local a, p = abs(cast(v, f32)), f32(LOG2_CDF[1])
  for i = 2, #LOG2_CDF do p = fma(p, a, f32(LOG2_CDF[i])) end
  local below = fast.exp2(p)
  return where(v > 0.0, 1.0 - below, below)
end

--- geglu(gate, up) -> gelu(gate) up, with the exact GELU
M.geglu = row_kernel("geglu", function(row, gate, up) return gate * normal_cdf(row, gate) * up end)

--- geglu_backward(dy, gate, up) -> dgate, dup
M.geglu_backward = row_kernel("geglu_backward", function(row, dy, gate, up)
  local c = normal_cdf(row, gate)
  local density = row:exp(-0.5 * gate * gate) * (0.5 / math.pi) ^ 0.5
  return dy * up * (c + gate * density), dy * gate * c
end)

-- The share of GELU's usual approximation, and its derivative.
local function tanh_share(row, v)
  local by, cubic = (8.0 / math.pi) ^ 0.5, 0.044715
  local share = sigmoid(row, v * (by + by * cubic * v * v))
  return share, share * (1.0 - share) * (by + 3.0 * by * cubic * v * v)
end

--- geglu_tanh(gate, up) -> gelu(gate) up, with GELU's approximation by tanh
M.geglu_tanh = row_kernel("geglu_tanh", function(row, gate, up)
  return gate * (tanh_share(row, gate)) * up
end)

--- geglu_tanh_backward(dy, gate, up) -> dgate, dup
M.geglu_tanh_backward = row_kernel("geglu_tanh_backward", function(row, dy, gate, up)
  local share, slope = tanh_share(row, gate)
  return dy * up * (share + gate * slope), dy * gate * share
end)

--- rms_norm_swiglu(x, gate, weight, epsilon) -> x / rms(x) weight gate sigmoid(gate), and the
--- 1 / rms(x) of each row
M.rms_norm_swiglu = row_kernel("rms_norm_swiglu", function(row, x, gate, weight, epsilon)
  local scale = rsqrt(row:mean(x * x) + epsilon)
  return x * scale * weight * gate * sigmoid(row, gate), row:once(scale)
end)

--- rms_norm_swiglu_backward(dy, x, gate, weight, scale) -> dx, dgate, dweight
M.rms_norm_swiglu_backward = row_kernel("rms_norm_swiglu_backward",
  function(row, dy, x, gate, weight, scale)
    row:expect_once "scale"
    local normal, s = x * scale, sigmoid(row, gate)
    local d = dy * gate * s
    local g = d * weight
    return (g - normal * row:mean(g * normal)) * scale,
      dy * normal * weight * s * (1.0 + gate * (1.0 - s)), row:column_sum(d * normal)
  end)

return M
