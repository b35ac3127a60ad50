-- A vote in a loop that some lanes have left.
local k = kernel("some", function(x)
  local i = threadIdx.x
  while i < 40 do
    i = i + where(any(i == 3), 8, 9) -- expect error: any: thread (0,0,0) of block (0,0,0) waits at line 5, but thread (23,0,0) is past line 4; all threads of a warp must reach the same any
  end
  x[threadIdx.x] = i
end)
k{grid = 1, block = 32}(zeros(i32, 32))
