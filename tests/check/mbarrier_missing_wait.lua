-- A consumer that does not wait for the slot that it reads.
local k = kernel("ring", function(x, y)
  local s = shared(f32, {32, 2})
  local full = mbarrier(2, 32)
  sync_threads()
  local t = threadIdx.x % 32
  if threadIdx.x >= 32 then
    for i = 0, 1 do
      s[{t, i}] = x[{t, i}]
      full[i]:arrive()
    end
  else
    full[0]:wait(0)
    y[{t, 0}] = s[{31 - t, 0}]
    full[0]:wait(0)
    y[{t, 1}] = s[{31 - t, 1}] -- finds: race: read of s at (31,1), extent (32,2), by thread (0,0,0) of block (0,0,0), and write by thread (63,0,0) at line 9 are not ordered; arrive at a barrier after line 9, and wait for it before line 16
  end
end)
k{grid = 1, block = 64}(rand(f32, {32, 2}), zeros(f32, {32, 2}))
