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
print(select(2, predict.run(function() end, "H200", without)):match "^[^;]*" .. (device().sm
  and "" or " on the CPU engine"))
-- expect: predict: no kernel was launched on the CPU engine
print(predict.run(function() error("no", 0) end, "H200", without))
-- expect: nil	no

-- A block that fits nowhere has no time: 100 kB of shared memory are too much for a T4.
local deep = ct.kernel("deep", function(x)
  local s = ct.shared(ct.f32, 25600)
  s[threadIdx.x] = x[threadIdx.x]
  ct.sync_threads()
  x[threadIdx.x] = s[31 - threadIdx.x]
end)
local function of_deep() deep { grid = 1, block = 32 }(ct.zeros(ct.f32, 32)) end
print(predict.run(of_deep, "T4", without))
-- expect: nil	predict: deep: a block of 32 threads with 102400 bytes of shared memory fits on no multiprocessor of T4
print(assert(predict.run(of_deep, "H200", without)).ms > 0)
-- expect: true
local profile = ct.profile(of_deep, { sm = 75, device = "T4" })
print(profile.kernels[1].predicted.ms, profile.kernels[1].predicted.why)
-- expect: nil	a block of 32 threads with 102400 bytes of shared memory fits on no multiprocessor of T4
print((tostring(profile):match "predicted on T4: [^;]*"))
-- expect: predicted on T4: no time

-- All times of a prediction are of one unit.
local launch_of = large.launches[1]
print(launch_of.chain < launch_of.parts.sm, launch_of.units.shared <= launch_of.parts.sm)
-- expect: true	true
