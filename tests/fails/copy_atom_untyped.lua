local a = atom"UniversalCopy<u64>"
local k = kernel("k", function(A)
  local r = fragment(f32, 4)
  copy(a, tile(A, 4, 0), r) -- expect error: copy: UniversalCopy<u64> does not say which elements it copies; write atom("UniversalCopy<u64>", f16), or what type they have
end)
k{grid = 1, block = 1}(zeros(f32, 4))
