-- check and a guard that leaves nothing inside: a tile behind the last row is cut out by a coordinate
-- that no row has, but nothing of it is accessed. A tile that is accessed there is still reported.
local by = atom("SM80_CP_ASYNC_CACHEALWAYS_ZFILL<u128>", f16)
local mover = tiled_copy(by, row_major{4, 8}, row_major{1, 8})

local function copier(by_atom, guarded)
  return kernel("rows", function(K, first, n, y)
    local s = shared(f16, row_major{4, 64})
    local all = view(K(first, _), layout({n, 64}, {64, 1}))
    local t = tile(guarded and guard(all) or view(all, row_major{4, 64}), {4, 64}, {0, 0})
    local thr = mover:get_slice(threadIdx.x)
    if by_atom then
      copy(by, thr:partition_S(t), thr:partition_D(s))
      cp_async_commit()
      cp_async_wait(0)
    else
      copy(thr:partition_S(t), thr:partition_D(s))
    end
    sync_threads()
    y[threadIdx.x] = s[{0, threadIdx.x}]
  end)
end

local K, y = ones(f16, row_major{16, 64}), zeros(f16, 32)
local function run(k, first, n)
  local ok, message = pcall(k{grid = 1, block = 32, check = true}, K, first, n, y)
  print(ok and y[0] or message:match("read of K at [^,]+,%d+%)"))
end
local plain, async = copier(false, true), copier(true, true)
run(plain, 15, 1)
-- expect: 1.0
run(plain, 16, 0)
-- expect: 0.0
run(async, 16, 0)
-- expect: 0.0
run(plain, 16, 1)
-- expect: read of K at (16,0)
run(copier(false, false), 16, 4)
-- expect: read of K at (16,0)
