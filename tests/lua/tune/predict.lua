-- predict: a time for what a function launches, from the CPU engine alone.
local ct = require "cuttle"
local predict = require "cuttle.predict"
ct.device("cpu")
local threadIdx, blockIdx, blockDim = ct.threadIdx, ct.blockIdx, ct.blockDim

local add = ct.kernel("add", function(x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < ct.size(x) then y[i] = x[i] + y[i] end
end)

local function launch(n)
  local x, y = ct.zeros(ct.f32, n), ct.zeros(ct.f32, n)
  return function() add { grid = ct.cdiv(n, 256), block = 256 }(x, y) end
end

local without <const> = { compile = false }
local small = assert(predict.run(launch(1 << 16), "H200", without))
local large = assert(predict.run(launch(1 << 24), "H200", without))
print(large.device, #large.launches, large.launches[1].kernel)
-- expect: H200	1	add
print(large.ms > 10 * small.ms)
-- expect: true
-- 201 MB are read and written
print(large.ms > 3 * 4 * 2 ^ 24 / 4.8e12 * 1e3)
-- expect: true
local slower = assert(predict.run(launch(1 << 24), "L4", without))
print(slower.ms > 4 * large.ms)
-- expect: true

print(predict.run(launch(64), "H300", without))
-- expect: nil	predict: device is 'H300'; expected one of T4, A100, A100-80GB, A10, L4, L40S, H200, H100, H100-PCIe, B200
print(predict.run(function() end, "H200", without))
-- expect: nil	predict: no kernel was launched on the CPU engine; choose it by device("cpu") before tensors are made
print(predict.run(function() error("no", 0) end, "H200", without))
-- expect: nil	no
