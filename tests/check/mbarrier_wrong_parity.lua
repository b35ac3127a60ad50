-- A consumer that begins with the producer's parity: its first wait goes on at once.
local k = kernel("ring", function(x, y)
  local s = shared(f32, 32)
  local full = mbarrier(1, 32)
  sync_threads()
  if threadIdx.x >= 32 then
    s[threadIdx.x - 32] = x[threadIdx.x - 32]
    full:arrive()
  else
    local state = pipeline_state(1, {parity = 1})
    full:wait(state.parity)
    y[threadIdx.x] = 2 * s[threadIdx.x] -- finds: race: read of s at 0, extent 32, by thread (0,0,0) of block (0,0,0), and write by thread (32,0,0) at line 7 are not ordered; arrive at a barrier after line 7, and wait for it before line 12
  end
end)
k{grid = 1, block = 64}(rand(f32, 32), zeros(f32, 32))
