-- ranks_clock.lua: times of what several GPUs of one process do, between two events of rank 0's
-- device.
--   clock = require "ranks_clock"(n)           of cuda:0 to cuda:n-1; cuda:0 is the current device
--   clock.back_to_back(enqueue, reps)          microseconds a call of what enqueue(reps) enqueues:
--                                              the slower of host and devices
--   clock.on_device(enqueue, reps)             the same behind about 20 ms of waiting on all
--                                              devices: the devices alone
--   clock.await_all()                          until no device does anything: kernels of a rank may
--                                              use the memory of others to their end
local ct = require "cuttle"

local SPINS <const> = 32000
local spin_source <const> = [[
extern "C" __global__ void spin(int n) {
  long long start = clock64();
  while (clock64() - start < 1024ll * n) {}
}]]

return function(n)
  local spins = {}
  for rank = 0, n - 1 do
    ct.device("cuda:" .. rank)
    spins[rank] = ct.cuda_kernel("spin", spin_source)
  end
  ct.device "cuda:0"
  local first, last = ct.event(), ct.event()

  local function between(enqueue, reps)
    first:record()
    enqueue(reps)
    last:record()
    last:synchronize()
    return first:elapsed(last) * 1000 / reps
  end

  local function back_to_back(enqueue, reps)
    ct.synchronize()
    return between(enqueue, reps)
  end

  local function on_device(enqueue, reps)
    ct.synchronize()
    for rank = 0, n - 1 do spins[rank]{grid = 1, block = 1}(SPINS) end
    return between(enqueue, reps)
  end

  local function await_all()
    for rank = 0, n - 1 do
      ct.device("cuda:" .. rank)
      ct.synchronize()
    end
    ct.device "cuda:0"
  end
  return { back_to_back = back_to_back, on_device = on_device, await_all = await_all }
end
