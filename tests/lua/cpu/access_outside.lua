-- Every kind of access, outside the memory that its tensor has, however the tensor came to reach there: the launch
-- fails, and nothing else of the host's memory is read or written (the sanitizers look at that).
-- Sizes and places come at run time, so that no trace can refuse them.
local function big(x, n) return view(x, layout(n, 1)) end

-- {kind, element type, kernel, options, part of the message, clips}; x and y have 64 elements, and the first i
-- tiles after x are outside of it. clips: what lies before the tensor reads as zeros and is not written.
local kinds = {
  {"read", f32, function(x, y, i, n) y[0] = x[i * 64] end},
  {"read by lanes", f32, function(x, y, i, n) y[0] = x[i * 64 + threadIdx.x] end},
  {"write", f32, function(x, y, i, n) x[i * 64] = 1.0 end},
  {"of a view", f32, function(x, y, i, n) y[0] = big(x, n)[i * 64] end},
  {"of a slice", f32, function(x, y, i, n)
    y[0] = view(x, layout({n, 4}, {1, 64}))(_, i * 4)[0]
  end},
  {"of a recast view", f16, function(x, y, i, n) recast(big(x, n), u32)[i * 32] = 1 end},
  {"of a recast to less", f64, function(x, y, i, n) y[0] = f32(recast(big(x, n), u8)[i * 512]) end},
  {"of a guarded view", f32, function(x, y, i, n)
    y[0] = guard(big(x, n))[i * 64]
  end, nil, nil, true},
  {"of a guarded tile", f32, function(x, y, i, n) fill(tile(guard(big(x, n)), {64}, {i}), 1) end},
  {"of a list's tensor", f32, function(x, y, i, n, l) y[0] = l[threadIdx.x % 2 + 1][i * 64] end},
  {"of a view of a list's", f32, function(x, y, i, n, l)
    big(l[threadIdx.x % 2 + 1], n)[i * 64] = 1.0
  end},
  {"of a list", f32, function(x, y, i, n, l) y[0] = l[i * 2 + 1][0] end},
  {"of an address", f32, function(x, y, i, n, l, at) y[0] = tensor_at(at, f32, n)[i * 64] end},
  {"printed", f32, function(x, y, i, n) printf("%f\n", big(x, n)[i * 64]) end},
  {"atomic_add", f32, function(x, y, i, n) atomic_add(big(x, n), i * 64, 1) end},
  {"atomic_add of two", f16, function(x, y, i, n) atomic_add(big(x, n), i * 64, 1, 1) end},
  {"atomic_cas", u32, function(x, y, i, n) atomic_cas(big(x, n), i * 64, 1, 2) end},
  {"atomic_exch", i64, function(x, y, i, n) atomic_exch(big(x, n), i * 64, 1) end},
  {"atomic_max", u64, function(x, y, i, n) atomic_max(big(x, n), i * 64, 1) end},
  {"atomic_load", f64, function(x, y, i, n) y[0] = f32(atomic_load(big(x, n), i * 64)) end},
  {"copy to shared", f32, function(x, y, i, n)
    copy(tile(big(x, n), {64}, {i}), shared(f32, 64))
  end},
  {"copy to registers", f32, function(x, y, i, n)
    local f = fragment(f32, 64)
    copy(tile(big(x, n), {64}, {i}), f)
    y[0] = f[0]
  end},
  {"copy from registers", f32, function(x, y, i, n)
    local f = fragment(f32, 64)
    clear(f)
    copy(f, tile(big(x, n), {64}, {i}))
  end},
  {"copy by lanes", f32, function(x, y, i, n)
    local f = fragment(f32, 4)
    copy(tile(big(x, n), {4}, {i * 16 + threadIdx.x}), f)
    y[0] = f[0]
  end},
  {"copy by some lanes", f32, function(x, y, i, n)
    local f = fragment(f32, 4)
    if threadIdx.x % 2 == 0 then
      copy(tile(big(x, n), {4}, {i * 16 + threadIdx.x}), f)
      y[0] = f[0]
    end
  end},
  {"cast", f16, function(x, y, i, n)
    local f = fragment(f32, 64)
    copy(tile(big(x, n), {64}, {i}), f)
    y[0] = f[0]
  end},
  {"fill", f32, function(x, y, i, n) fill(tile(big(x, n), {64}, {i}), 1) end},
  {"fill of 8 bytes", f64, function(x, y, i, n) fill(tile(big(x, n), {64}, {i}), 1) end},
  {"fill of 1 byte", u8, function(x, y, i, n) fill(tile(big(x, n), {64}, {i}), 1) end},
  {"fill of run-time size", f32, function(x, y, i, n) fill(big(x, n), 1) end},
  {"copy of run-time size", f32, function(x, y, i, n) copy(big(x, n), big(y, n)) end},
  {"axpby", f32, function(x, y, i, n)
    axpby(1, tile(big(x, n), {64}, {i}), 2, tile(y, {64}, {0}))
  end},
  {"axpby to", f32, function(x, y, i, n)
    axpby(1, tile(y, {64}, {0}), 2, tile(big(x, n), {64}, {i}))
  end},
  {"gemm", f32, function(x, y, i, n)
    local a = tile(view(x, layout({n, 2}, {1, 4})), {4, 2}, {i * 16, 0})
    local c = fragment(f32, {4, 4})
    clear(c)
    gemm(a, a, c)
    y[0] = c[0]
  end},
  {"gemm to", f32, function(x, y, i, n)
    local a, c = fragment(f32, {4, 2}), tile(view(x, layout({n, 4}, {1, 4})), {4, 4}, {i * 16, 0})
    clear(a)
    gemm(a, a, c)
  end},
  {"copy_if", f32, function(x, y, i, n)
    copy_if(function(j) return j % 2 == 0 end, tile(big(x, n), {64}, {i}), tile(y, {64}, {0}))
  end},
  {"copy_if to", f32, function(x, y, i, n)
    copy_if(function(j) return j % 2 == 0 end, tile(y, {64}, {0}), tile(big(x, n), {64}, {i}))
  end},
  {"copy_if's predicate", bool, function(x, y, i, n)
    copy_if(tile(big(x, n), {64}, {i}), tile(y, {64}, {0}), tile(y, {64}, {0}))
  end},
  {"cp.async", f32, function(x, y, i, n)
    local s = shared(f32, 64)
    local tc = tiled_copy(atom("SM80_CP_ASYNC_CACHEALWAYS<u32>", f32), layout(32), layout(1))
    local thr = tc:get_slice(threadIdx.x)
    copy(tc, thr:partition_S(tile(big(x, n), {64}, {i})), thr:partition_D(s))
    cp_async_commit()
    cp_async_wait(0)
    sync_threads()
    y[threadIdx.x] = s[threadIdx.x]
  end},
  {"ldmatrix", f16, function(x, y, i, n)
    local s, f = shared(f16, row_major{8, 8}), fragment(f16, 2)
    local row = tile(view(s, row_major{n, 8}), {1, 8}, {i * 8 + threadIdx.x % 8, 0})(0, _)
    copy(atom("SM75_U32x1_LDSM_N", f16), row, f)
    y[0] = f[0]
  end},
  {"stmatrix", f16, function(x, y, i, n)
    local s, f = shared(f16, row_major{8, 8}), fragment(f16, 2)
    clear(f)
    local row = tile(view(s, row_major{n, 8}), {1, 8}, {i * 8 + threadIdx.x % 8, 0})(0, _)
    copy(atom("SM90_U32x1_STSM_N", f16), f, row)
  end},
  {"shared", f32, function(x, y, i, n)
    local s = shared(f32, 64)
    s[i * 64] = 1.0
    y[0] = s[i * 64]
  end},
  {"shared read", f32, function(x, y, i, n) y[0] = shared(f32, 64)[i * 64] end},
  {"shared atomic", f32, function(x, y, i, n) atomic_add(shared(f32, 64), i * 64, 1) end},
  {"shared swizzled", f32, function(x, y, i, n)
    shared(f32, composition(swizzle(3, 2, 3), layout{8, 32}))[{0, i * 32}] = 1.0
  end},
  {"shared swizzled tile", f32, function(x, y, i, n)
    fill(tile(shared(f32, composition(swizzle(3, 2, 3), layout{8, 32})), {8, 4}, {0, i * 8}), 1)
  end},
  {"shared of the launch", f32, function(x, y, i, n) shared(f32)[i * 256] = 1 end, {smem = 1024}},
  {"local array", f32, function(x, y, i, n)
    local s = local_array(f32, 64)
    s[i * 64] = 1
    y[0] = s[1]
  end},
  {"local array by lanes", f32, function(x, y, i, n)
    y[0] = local_array(f32, 64)[i * 64 + threadIdx.x]
  end},
  {"constant", f32, function(x, y, i, n) y[0] = constant(f32, {1, 2, 3})[i * 3] end},
  {"constant by lanes", f32, function(x, y, i, n)
    y[0] = constant(f32, {1, 2, 3})[i * 3 + threadIdx.x % 3]
  end},
  {"remote", f32, function(x, y, i, n)
    local s = shared(f32, 64)
    sync_cluster()
    y[0] = map_shared_rank(s, 0)[i * 64]
    sync_cluster()
  end, {cluster = 2, grid = 2}},
  {"remote write", f32, function(x, y, i, n)
    local s = shared(f32, 64)
    sync_cluster()
    map_shared_rank(s, 1)[i * 64] = 1.0
    sync_cluster()
  end, {cluster = 2, grid = 2}},
  {"remote atomic", f32, function(x, y, i, n)
    local s = shared(f32, 64)
    sync_cluster()
    atomic_add(map_shared_rank(s, 1), i * 64, 1.0)
    sync_cluster()
  end, {cluster = 2, grid = 2}},
  {"remote rank", f32, function(x, y, i, n)
    local s = shared(f32, 64)
    sync_cluster()
    y[0] = map_shared_rank(s, i * 2)[0]
    sync_cluster()
  end, {cluster = 2, grid = 2}, "ranks 0 to 1"},
  {"mbarrier", f32, function(x, y, i, n)
    local b = mbarrier(2, 1)
    sync_threads()
    b[i * 2]:arrive()
  end},
  {"mbarrier wait", f32, function(x, y, i, n)
    local b = mbarrier(2, 1)
    sync_threads()
    b[i * 2]:wait(0)
  end},
  {"mbarrier bytes", f32, function(x, y, i, n)
    local b = mbarrier(2, 1)
    sync_threads()
    b[i * 2]:arrive_expect_tx(4)
  end},
  {"mbarrier far away", f32, function(x, y, i, n)
    local b = mbarrier(2, 1)
    sync_cluster()
    b[i * 2]:arrive(1)
    sync_cluster()
  end, {cluster = 2, grid = 2}},
  {"mbarrier of a rank", f32, function(x, y, i, n)
    local b = mbarrier(2, 1)
    sync_cluster()
    b[0]:arrive(i * 2)
    sync_cluster()
  end, {cluster = 2, grid = 2}, "ranks 0 to 1"},
}

-- TMA: what the map says of the tensor, and what the box is for.
local maps = {
  size = function(x, i, n) return tile(tma_tensor(big(x, n)), {64}, {i}) end,
  offset = function(x, i, n)
    return tile(tma_tensor(view(x, layout({64, n}, {1, 64}))(_, i)), {64}, {0})
  end,
  stride = function(x, i, n)
    return tile(tma_tensor(view(x, layout({8, n}, {1, 8}))), {8, 8}, {0, i})
  end,
  ["far stride"] = function(x, i, n)
    return tile(tma_tensor(view(x, layout({8, 8}, {1, i64(n) << 33}))), {8, 8}, {0, 0})
  end,
}
local moves = {
  load = function(s, g, b) tma_load(g, s, b) end,
  store = function(s, g) tma_store(s, g) end,
  add = function(s, g) tma_store(s, g, {reduce = "add"}) end,
  max = function(s, g) tma_store(s, g, {reduce = "max"}) end,
}
-- In an order of their own: kernels are emitted in it, and one text is compiled once.
for _, map in ipairs{"size", "offset", "stride", "far stride"} do
  for _, move in ipairs{"load", "store", "add", "max"} do
    local of, does = maps[map], moves[move]
    local clips = map == "size" or map == "stride"
    kinds[#kinds + 1] = {"TMA " .. move .. " by " .. map, u32, function(x, y, i, n)
      local g = of(x, i, n)
      local s, b = shared(u32, g.layout.shape), mbarrier(1, 1)
      fill(s, 1)
      sync_threads()
      if threadIdx.x == 0 then
        b[0]:arrive_expect_tx(256)
        does(s, g, b[0])
        tma_store_commit()
        tma_store_wait(0)
      end
    end, nil, nil, clips}
  end
end
kinds[#kinds + 1] = {"TMA to a barrier", f32, function(x, y, i, n)
  local s, b = shared(f32, 64), mbarrier(2, 1)
  sync_threads()
  if threadIdx.x == 0 then tma_load(tile(tma_tensor(x), {64}, {0}), s, b[i * 2]) end
end}
kinds[#kinds + 1] = {"TMA to a rank", f32, function(x, y, i, n)
  local s, b = shared(f32, 64), mbarrier(1, 1)
  sync_cluster()
  if threadIdx.x == 0 then
    b[0]:arrive_expect_tx(256)
    tma_load(tile(tma_tensor(x), {64}, {0}), s, b[0], {multicast = 4})
  end
  sync_cluster()
end, {cluster = 2, grid = 2}, "ranks 0 to 1"}
kinds[#kinds + 1] = {"TMA to shared", f32, function(x, y, i, n)
  local s, b = shared(f32, 64), mbarrier(1, 1)
  sync_threads()
  if threadIdx.x == 0 then
    b[0]:arrive_expect_tx(256)
    local part = tile(view(s, layout(n, 1)), {64}, {i})
    tma_load(tile(tma_tensor(x), {64}, {0}), part, b[0])
  end
end}

local far = {1, 16, 1000, 1 << 20, -1, -(1 << 16)}
local l = {zeros(f32, 64), zeros(f32, 64)}
local none, right = zeros(f32, 64), 0
for _, kind in ipairs(kinds) do
  local name, dtype, body, options, text, clips = table.unpack(kind, 1, 6)
  local k, o = kernel("k", body), {grid = 1, block = 32}
  for key, v in pairs(options or {}) do o[key] = v end
  for _, i in ipairs(far) do
    local x, y = zeros(dtype, 64), zeros(f32, 64)
    local arguments = {x, y, i, 1 << 28, l, l[1].address}
    local ok, message = pcall(k(o), table.unpack(arguments, 1, debug.getinfo(body, "u").nparams))
    local is_zero = allclose(x, zeros(dtype, 64)) and allclose(y, none)
    local is_clipped = ok and clips and i < 0 and is_zero
    local is_right = is_clipped or not ok and message:find(text or "out of bounds", 1, true)
    right = right + (is_right and 1 or 0)
    if not is_right then print(name, i, message) end
  end
end
print(right == #kinds * #far)                         -- expect: true
