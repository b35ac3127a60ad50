-- Helper functions of kernels in a file of their own (tests/lua/kernel/modules.lua).
local M = {}

-- Early returns under run-time conditions.
function M.clamp(x, lo, hi)
  if x < lo then return lo end
  if x > hi then return hi end
  return x
end

-- Kernel-only names, loops and a table of methods.
M.grid = {}
function M.grid:index() return blockIdx.x * blockDim.x + threadIdx.x end

function M.horner(coefficients, x)
  local sum = 0.0
  for i = #coefficients, 1, -1 do sum = sum * x + coefficients[i] end
  return sum
end

-- Out of bounds on purpose: the line to blame is in this file.
function M.overrun(t)
  t[size(t)] = 0.0
end

return M
