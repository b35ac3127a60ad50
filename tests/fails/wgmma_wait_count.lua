-- Groups are few.
local k = kernel("group", function(C)
  wgmma_wait(8) -- expect error: wgmma_wait: 8 groups; expected 0 to 7
end, {static_shapes = true})
k{grid = 1, block = 128}(zeros(f32, {64, 8}))
