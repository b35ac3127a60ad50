-- Lanes take part that their mask does not name: the mask is of another condition.
local k = kernel("match", function(x, y)
  local i = threadIdx.x
  local lanes = ballot(x[i] > 3)
  if x[i] >= 3 then
    y[i] = match_any(x[i], {mask = lanes}) -- finds: match_any: the mask 0xfffffff0 of thread (3,0,0) of block (0,0,0) does not name its own lane, 3; each lane that gets here must be in its mask
  end
end)
k{grid = 1, block = 32}(arange(i32, 32), zeros(u32, 32))
