local kept
local k = kernel("k", function(x)
  if kept then kept:arrive() end -- expect error: arrive: it belongs to a kernel whose trace has ended; make it in this kernel
  kept = mbarrier(1, 1)
end)
k{grid = 1, block = 64}(zeros(f32, 1))
k{grid = 1, block = 32}(zeros(f32, 1))
