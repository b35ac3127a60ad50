-- Each step of the tree reads what other warps wrote in the step before.
local k = kernel("tree", function(x, y)
  local s = shared(f32, 128)
  local t = threadIdx.x
  s[t] = x[t]
  sync_threads()
  for step = 1, 2 do
    local n = 128 >> step
    if t < n then
      s[t] = s[t] + s[t + n] -- finds: race: read of s at 32, extent 128, by thread (0,0,0) of block (0,0,0), and write by thread (32,0,0) at the same line are not ordered; put sync_threads() between the two, give each thread a place of its own, or use an atomic operation
    end
  end
  sync_threads()
  if t == 0 then y[0] = s[0] end
end)
k{grid = 1, block = 128}(rand(f32, 128), zeros(f32, 1))
