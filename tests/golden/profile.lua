-- A Profile as a table of text.
device("cpu")
local A, B = rand(f32, {64, 64}), zeros(f32, {64, 64})
local k = kernel("turn", function(A, B)
  local s = shared(f32, layout({32, 32}, {32, 1}))
  local x, y = threadIdx.x, threadIdx.y
  s[{x, y}] = A[{blockIdx.x * 32 + x, blockIdx.y * 32 + y}] * 2.0 + 1.0
  sync_threads()
  if x < 20 then B[{blockIdx.y * 32 + x, blockIdx.x * 32 + y}] = s[{y, x}] end
end, {static_shapes = true})
local p = profile(k:prepare{grid = {2, 2}, block = {32, 8}}(A, B), {sm = 80, device = "A100-80GB"})

-- Registers are the compiler's business.
local text = tostring(p):gsub("%S+ registers,", "N registers,"):gsub("\n +registers are not[^\n]*", "")
text = text:gsub("%S*profile.lua", "profile.lua"):gsub(", limited by [%w ]+;", ", limited by L;")
text = text:gsub(": %d+ blocks?, %d+ of 64", ": M blocks, W of 64")
print(text)
