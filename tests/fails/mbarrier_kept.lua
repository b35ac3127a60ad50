local kept
local k = kernel("k", function(x)
  if kept then kept:arrive() end -- expect error: an mbarrier was made in kernel 'k' (tests/fails/mbarrier_kept.lua:2) and is used in a later trace of it; it exists only while that kernel is traced
  kept = mbarrier(1, 1)
end)
k{grid = 1, block = 64}(zeros(f32, 1))
k{grid = 1, block = 32}(zeros(f32, 1))
