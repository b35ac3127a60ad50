local k = kernel("k", function(x)
  if threadIdx.x < 128 then setmaxnreg(64) else setmaxnreg(232) end -- expect error: deadlock in block (0,0,0): warps 10 to 11 wait at line 2 for registers: 232 for each thread instead of 168, where 1024 of the block are free
end)
k{grid = 1, block = 384}(zeros(f32, 1))
