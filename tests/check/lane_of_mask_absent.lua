-- A mask of all lanes, where a condition leaves some out.
local k = kernel("sums", function(x, y)
  local i = threadIdx.x
  if i % 2 == 0 then
    y[i] = warp_reduce(x[i], "add", {mask = 0xffffffff}) -- finds: warp_reduce: the mask 0xffffffff of thread (0,0,0) of block (0,0,0) names lane 1, thread (1,0,0), which is past line 4; name only lanes that reach it, such as ballot(condition) before the 'if'
  end
end)
k{grid = 1, block = 32}(ones(i32, 32), zeros(i32, 32))
