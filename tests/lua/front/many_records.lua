-- A record that is replaced by a thousand others, each under a run-time condition: a change of it looks once at each
-- table that it may be. (Once for each pair of them, this would take minutes.) An argument says how many.
local N <const> = tonumber(arg and arg[1]) or 1000
local k = kernel("many", function(x)
  local r, i = { n = 0 }, 0
  while i < N do
    i = i + 1
    if x[i % 8] > 3 then r = { n = x[0] + i } end
    r.n = r.n + 1
  end
  x[threadIdx.x] = r.n
end, {max_unroll = N})
local x = from_table(i32, { 5, 1, 2, 3, 4, 5, 6, 7 })
k{grid = 1, block = 1}(x)
local r = { n = 0 }
local list <const> = { 5, 1, 2, 3, 4, 5, 6, 7 }
for i = 1, N do
  if list[i % 8 + 1] > 3 then r = { n = list[1] + i } end
  r.n = r.n + 1
end
print(x[0] == r.n) -- expect: true
