-- One element of a fragment is never written.
local k = kernel("fragment", function(x, y)
  local r = fragment(f32, 4)
  for i = 0, 2 do r[i] = x[i] end
  y[threadIdx.x] = r[0] + r[1] + r[2] + r[3] -- finds: uninitialised: read of r at 3, extent 4, by thread (0,0,0) of block (0,0,0): the thread has not written it; clear or fill the fragment first
end)
k{grid = 1, block = 32}(rand(f32, 4), zeros(f32, 32))
