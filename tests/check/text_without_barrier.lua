-- Threads write shared memory by an instruction of their own, and read it without a barrier.
local k = kernel("turns", function(x, y)
  local i = threadIdx.x
  local s = shared(f32, 64)
  ptx("st.shared.f32 [$p], $v;", nil, {p = {s, i}, v = x[i]}, function(p, v)
    p[0] = v
  end)
  y[i] = cuda("*$p", {p = {s, 63 - i}}, f32, function(p) return p[0] end) -- finds: race: read of s at 63, extent 64, by thread (0,0,0) of block (0,0,0), and write by thread (63,0,0) at line 6 are not ordered; put sync_threads() between line 6 and line 8
end)
k{grid = 1, block = 64}(arange(f32, 64), zeros(f32, 64))
