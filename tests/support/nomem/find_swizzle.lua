local found = find_swizzle("(16,8):(8,1)", {dtype = f32, rows = 2, padding = false,
  writes = {thr = row_major{4, 8}, val = "(1,1)"}, reads = {thr = layout{16, 2}, val = "(1,1)"}})
assert(#found.candidates > 1 and #tostring(found) > 10)
local A = zeros(f32, {32, 32})
local k = kernel("columns", function(A)
  local s = shared(f32, row_major{32, 32})
  s[{threadIdx.x, 0}] = A[{threadIdx.x, 0}]
  sync_threads()
  A[{threadIdx.x, 1}] = s[{threadIdx.x, 0}]
end)
found = find_swizzle(k:prepare{grid = 1, block = 32}(A), "s", {padding = false})
assert(#found.candidates > 1)
