-- A block that ends without giving its tensor memory back.
local k = kernel("tmem_leak", function(y)
  local acc = tmem(f32, {128, 32}) -- finds: acc is never given back: a block must call tmem_dealloc(acc) before it ends, in its first warp, or later blocks wait for its columns for ever
  sync_threads()
  local st = tmem_copy("SM100_TMEM_STORE_32dp32b32x", acc):get_slice(threadIdx.x)
  local mine = st:partition_D(acc)
  local r = fragment_like(mine)
  copy(st:partition_S(tile(y, {128, 32}, {0, 0})), r)
  copy(st, r, mine)
end)
k{grid = 1, block = 128}(zeros(f32, row_major{128, 32}))
