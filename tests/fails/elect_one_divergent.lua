local k = kernel("k", function(x)
  if threadIdx.x < 8 then
    if elect_one() then x[0] = 1 end -- expect error: elect_one: thread (0,0,0) of block (0,0,0) waits at line 3, but thread (8,0,0) is past line 2; all threads of a warp must reach the same elect_one
  end
end)
k{grid = 1, block = 32}(zeros(f32, 1))
