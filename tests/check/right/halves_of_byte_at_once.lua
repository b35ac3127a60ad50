-- One thread of two stores both halves of a byte.
local k = kernel("ones", function(y)
  local s, t = shared(f4e2m1, 64), threadIdx.x
  if t < 32 then
    local both = fragment(f4e2m1, 2)
    fill(both, f4e2m1(1.0))
    copy(both, tile(s, {2}, {t}))
  end
  sync_threads()
  y[t] = cast(s[63 - t], f32)
end)
local y = zeros(f32, 64)
k{grid = 1, block = 64}(y)
for i = 0, 63 do assert(y[i] == 1) end
