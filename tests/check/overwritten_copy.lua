-- The slot is filled again while the first copy into it may be under way.
local k = kernel("twice", function(x, y)
  local s = shared(f32, 64)
  local t = threadIdx.x
  copy(tile(x, 1, t), tile(s, 1, t))
  s[t] = 0.0 -- finds: cp.async: write of s at 0, extent 64, by thread (0,0,0) of block (0,0,0), while the copy by thread (0,0,0) at line 5 may be in progress; put cp_async_wait(0) and sync_threads() between line 5 and line 6
  cp_async_wait(0)
  sync_threads()
  y[t] = s[63 - t]
end)
k{grid = 1, block = 64}(rand(f32, 64), zeros(f32, 64))
