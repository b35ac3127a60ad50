-- The loop runs one turn too far: a write beside a shared tensor.
local k = kernel("fill", function(y)
  local s = shared(i32, 8)
  if threadIdx.x == 0 then
    for i in range(0, 9) do s[i] = i end -- finds: out of bounds: write of s at 8, extent 8, by thread (0,0,0) of block (0,0,0)
  end
  sync_threads()
  if threadIdx.x < 8 then y[threadIdx.x] = s[threadIdx.x] end
end)
k{grid = 1, block = 32}(zeros(i32, 8))
