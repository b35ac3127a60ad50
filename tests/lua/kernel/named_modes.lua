-- The names of a tensor's modes come with it into a kernel and stay through its parts.
local A = rand(f32, L"(M=64,K=32):(1,64)")
print(A.layout, A(_, 3).layout, A:select("K", "M").layout, size(A, "K"), A:names()[2])  -- expect: (M=64,K=32):(1,64)	(M=64):(1)	(K=32,M=64):(64,1)	32	K
print(zeros(f32, "(M=4,K=8)").layout, from_table(f32, {{1, 2}, {3, 4}}):named("i", "j").layout)  -- expect: (M=4,K=8):(1,4)	(i=2,j=2):(1,2)
local n_traces = 0
local sums = kernel("sums", function(x, out)
  n_traces = n_traces + 1
  local g = tile(x, {32, 8}, {blockIdx.x, _}):named(_, _, "k")
  local s = shared(x.dtype, layout"(M=32,K=8)")
  local thr = layout{8, 4}
  local tg, ts = parallelize(g, thr, threadIdx.x), parallelize(s, thr, threadIdx.x)
  if n_traces == 1 then
    print(x.layout, g.layout)           -- expect: (M=?,K=?):(1,?)	(M=32,K=8,k=?):(1,?,?)
    print(tg.layout, ts.layout, fragment_like(ts).layout)  -- expect: (M=4,K=2,k=?):(8,?,?)	(M=4,K=2):(8,128)	(M=4,K=(2)):(1,(4))
  end
  local sum = 0.0
  for k in axes(tg, "k") do
    copy(tg(_, _, k), ts)
    sync_threads()
    if threadIdx.x == 0 then
      for i in axes(s, "M") do
        for j in axes(s, {"K"}) do sum = sum + s[{i, j}] end
      end
    end
    sync_threads()
  end
  if threadIdx.x == 0 then out[blockIdx.x] = sum end
end)
local out = zeros(f32, 2)
sums{grid = 2, block = 32}(A, out)
local want = {0.0, 0.0}
for i = 0, 63 do
  for j = 0, 31 do want[i // 32 + 1] = want[i // 32 + 1] + A[{i, j}] end
end
print(math.abs(out[0] - want[1]) < 1e-2, math.abs(out[1] - want[2]) < 1e-2)  -- expect: true	true

-- names are a part of what a trace was made for
local seen = {}
local names = kernel("names", function(x)
  seen[#seen + 1] = table.concat(x:names(), "")
  x[0] = 1.0
end)
names{grid = 1, block = 1}(A)
names{grid = 1, block = 1}(A:named("a", "b"))
names{grid = 1, block = 1}(zeros(f32, L"(M=64,K=32):(1,64)"))
print(table.concat(seen, " "))  -- expect: MK ab
