-- The helper that writes stands above the lines that read, and is called after them: no loop comes back to it.
local function put(s, v)
  s[threadIdx.x] = v -- finds: race: write of s at 0, extent 64, by thread (0,0,0) of block (0,0,0), and read by thread (63,0,0) at line 11 are not ordered; put sync_threads() between line 11 and line 3
end
local k = kernel("helper", function(x, y)
  local s = shared(f32, 64)
  s[threadIdx.x] = x[threadIdx.x]
  sync_threads()
  local v = 0.0
  for i in range(2) do
    v = v + s[63 - threadIdx.x] * i
  end
  put(s, v + 1.0)
  y[threadIdx.x] = v
end)
k{grid = 1, block = 64}(rand(f32, 64), zeros(f32, 64))
