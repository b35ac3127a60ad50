-- What warps of the first block access, for those who look for better layouts.
device("cpu")
local k = kernel("columns", function(B)
  local s = shared(f32, layout({32, 8}, {8, 1}))
  for j = 0, 1 do s[{threadIdx.x, j}] = 1.0 end
  sync_threads()
  B[threadIdx.x] = s[{threadIdx.x, 3}]
end)
local p = profile(function() k{grid = 2, block = 32}(zeros(f32, 32)) end)
local list = p:patterns()
print(#list) -- expect: 3
for _, a in ipairs(list) do
  print(a.kernel, a.line, a.tensor, a.op, a.dtype, a.vec, a.count, a.cost, a.ideal,
    a.offsets[1], a.offsets[2], a.offsets[32])
end
-- expect: columns	5	s	store	f32	1	1	8	1	0	8	248
-- expect: columns	5	s	store	f32	1	1	8	1	1	9	249
-- expect: columns	7	s	load	f32	1	1	8	1	3	11	251
print(#p:patterns("global"), p:patterns("global")[1].offsets[32]) -- expect: 1	31

-- Lanes that take no part are false.
local some = kernel("some", function(B)
  if threadIdx.x < 3 then B[threadIdx.x] = 1.0 end
end)
local few = profile(function() some{grid = 1, block = 32}(zeros(f32, 32)) end):patterns("global")[1]
print(few.offsets[3], few.offsets[4]) -- expect: 2	false
