local k = kernel("k", function(x)
  if threadIdx.x < 32 then
    mbarrier(1, 1) -- expect error: mbarrier: all threads must see it made; declare it at the top level of the kernel, outside run-time ifs and loops
  end
end)
k{grid = 1, block = 64}(zeros(f32, 1))
