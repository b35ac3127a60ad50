-- Two warps add to one word, as an i32 and as half of an i64.
local k = kernel("two_widths", function(x)
  local wide = recast(x, i64)
  if threadIdx.x < 32 then
    atomic_add(x, 0, 1)
  else
    atomic_add(wide, 0, i64(1)) -- finds: race: write of wide at offset 0 of 1, by thread (32,0,0) of block (0,0,0), and write by thread (31,0,0) at line 5 are not ordered: atomic operations of different widths are not atomic to each other; use one type for both, or put a barrier between them
  end
end)
k{grid = 1, block = 64}(zeros(i32, 2))
