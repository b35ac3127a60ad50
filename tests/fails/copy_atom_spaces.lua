-- cp.async goes from global to shared memory.
local a = atom("SM80_CP_ASYNC_CACHEGLOBAL<u128>", f32)
local k = kernel("k", function(A)
  local r = fragment(f32, 4)
  copy(a, tile(A, 4, 0), r) -- expect error: copy: SM80_CP_ASYNC_CACHEGLOBAL<u128> copies from global to shared memory, but A is in global memory and r in registers; take UniversalCopy, or copy without an atom
end)
k{grid = 1, block = 1}(zeros(f32, 4))
