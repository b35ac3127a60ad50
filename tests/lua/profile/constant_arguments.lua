-- What watches a launch, or runs it on copies of its arguments, takes layouts and tuples as they are: a
-- tiled copy and a tuple are of no use without what their types know.
device("cpu")
local scaled = kernel("scaled", function(A, B, factors, by)
  local mine = by:get_slice(threadIdx.x)
  local from, into = mine:partition_S(A), mine:partition_D(B)
  local r = fragment_like(from)
  copy(by, from, r)
  for i = 0, size(r) - 1 do r[i] = r[i] * factors[1] end
  copy(by, r, into)
end, {static_shapes = true})
local A, B = rand(f32, {32, 32}), zeros(f32, {32, 32})
local by = tiled_copy(atom("UniversalCopy<u128>", f32), layout{8, 4}, layout{4, 1})
local launch = scaled{grid = 1, block = 32}
launch(A, B, {2}, by)
local want = B[5]
print(profile(function() launch(A, B, {2}, by) end).kernels[1].name)  -- expect: scaled
print(trace(launch, {B = {3, 4}}, A, B, {2}, by).rows[1].kind)        -- expect: reads
print(#timeline(launch, {}, A, B, {2}, by).rows)                      -- expect: 1
print(want == A[5] * 2, B[5] == want)                                 -- expect: true	true
