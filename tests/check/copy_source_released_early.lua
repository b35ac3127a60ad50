-- A warp lets another one write the source of its copy before it has waited for the copy.
local k = kernel("released", function(x, y)
  local s, free = shared(f32, 32), mbarrier(2, 32)
  local t = threadIdx.x
  sync_threads()
  for i = 0, 1 do
    if t < 32 then
      copy(tile(x(_, i), 1, t), tile(s, 1, t))
      cp_async_commit()
      if i == 0 then cp_async_wait(0) end
      free[i]:arrive()
      cp_async_wait(0)
    else
      free[i]:wait(0)
      x[{63 - t, i}] = 0.0 -- finds: cp.async: write of x at (31,1), extent (32,2), by thread (32,0,0) of block (0,0,0), while the copy by thread (31,0,0) at line 8 may still read it; put cp_async_wait(0) after line 8, and sync_threads() or another barrier between that and line 15
    end
  end
  sync_threads()
  if t < 32 then y[t] = s[31 - t] end
end)
k{grid = 1, block = 64}(rand(f32, {32, 2}), zeros(f32, 32))
