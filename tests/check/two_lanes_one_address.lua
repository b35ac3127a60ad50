-- Pairs of lanes write different values to one element.
local k = kernel("pairs", function(x, y)
  local s = shared(f32, 16)
  local t = threadIdx.x
  s[t // 2] = x[t] -- finds: race: thread (0,0,0) and thread (1,0,0) of block (0,0,0) write to s at 0, extent 16 at once, and not the same value; give each thread a place of its own, let one of them write, or use an atomic operation
  sync_threads()
  if t < 16 then y[t] = s[t] end
end)
k{grid = 1, block = 32}(arange(f32, 32), zeros(f32, 16))
