-- A load that only a loop needs, which some warps do not enter: a compiler may carry it out behind the loop's first
-- test, so its requests are marked. Where all warps enter the loop they are not.
device("cpu")
local k = kernel("sunk", function(x, y, z, n)
  local t, warp = threadIdx.x, threadIdx.x // 32
  local factor = x[t]
  local sum = 0.0
  for i in range(warp, n, 4) do sum = sum + factor * y[i] end
  z[t] = sum
end)
local x, y, z = rand(f32, 128), rand(f32, 64), zeros(f32, 128)

-- Requests of x; are they marked, or is there no machine code to say so?
local function loads(n)
  local p = profile(k:prepare{grid = 1, block = 128}(x, y, z, n)).kernels[1]
  for _, line in ipairs(p.lines) do
    for _, a in ipairs(line.accesses) do
      if a.tensor == "x" then
        return a.requests, a.is_unsure == true, p.counted == "machine code"
      end
    end
  end
end
local requests, is_marked, has_code = loads(2)
print(requests, is_marked == has_code) -- expect: 4	true
requests, is_marked = loads(64)
print(requests, is_marked) -- expect: 4	false
