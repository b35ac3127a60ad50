-- The loop copies into the buffer that it reads in this turn: (i + 2) % 2 where (i + 1) % 2 was meant.
local k = kernel("double", function(x, y)
  local s = shared(f32, {64, 2})
  local t = threadIdx.x
  local sum = 0.0
  copy(tile(x(_, 0), 1, t), tile(s(_, 0), 1, t))
  for i = 0, 2 do
    cp_async_wait(0)
    sync_threads()
    copy(tile(x(_, i + 1), 1, t), tile(s(_, (i + 2) % 2), 1, t))
    cp_async_commit()
    sum = sum + s[{63 - t, i % 2}] -- finds: race: read of s at (63,0), extent (64,2), by thread (0,0,0) of block (0,0,0), and write by thread (63,0,0) at line 10 are not ordered; put sync_threads() between line 10 and line 12 -- finds: cp.async: read of s at (31,0), extent (64,2), by thread (32,0,0) of block (0,0,0), before the copy by thread (31,0,0) at line 10 is complete; put cp_async_wait(0) and sync_threads() between line 10 and line 12, or wait for fewer pending groups; each group ends with cp_async_commit()
  end
  y[t] = sum
end)
k{grid = 1, block = 64}(rand(f32, {64, 4}), zeros(f32, 64))
