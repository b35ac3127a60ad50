-- An mbarrier is an operand of ptx, and gives its address; so is a recast tensor.
-- needs sm_90
local N <const> = 64
local arrives = kernel("arrives", function(x, halves)
  local i = threadIdx.x
  local full = mbarrier(1, N)
  sync_threads()
  ptx("mbarrier.arrive.shared.b64 _, [$bar];", nil, {bar = full}, function(bar) bar:arrive() end)
  full:wait(0)
  halves[i] = ptx("ld.global.u32 $1, [$p];", u32, {p = {recast(x, u32), i}},
    function(p) return p[0] end)
end)
local x, halves = arange(f32, N), zeros(u32, N)
arrives{grid = 1, block = N}(x, halves)
local bits, n_wrong = recast(x, u32), 0
for i = 0, N - 1 do n_wrong = n_wrong + (halves[i] == bits[i] and 0 or 1) end
print(n_wrong)  -- expect: 0
