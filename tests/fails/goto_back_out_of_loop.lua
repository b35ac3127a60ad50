-- A jump back out of a loop of the kernel is another loop around it.
local k = kernel("refused", function(x)
  ::again::
  for i = 0, threadIdx.x do
    if x[i] > 3.0 then
      goto again -- expect error: goto again jumps back under a run-time condition; write a while loop
    end
  end
end)
k{grid = 1, block = 32}(zeros(f32, 32))
