-- Bank conflicts of what sgemm_sm80 does with shared memory: cp.async writes of rows of 128 bytes are 8-way
-- without the swizzle and free with it, ldmatrix is free either way. One by columns is 8-way.
device("cpu")
local mma = tiled_mma("SM80_16x8x16_F16F16F16F16_TN", { 2, 2 }, { 32, 32, 16 })
local cp = tiled_copy(atom("SM80_CP_ASYNC_CACHEALWAYS<u128>", f16), "(16,8):(8,1)", "(1,8)")
local ld = tiled_copy_A(atom("SM75_U32x4_LDSM_N", f16), mma)

local function conflicts(name, sA_layout)
  local k = kernel(name, function(A, B)
    local sA = shared(f16, sA_layout)
    local thr, tm = cp:get_slice(threadIdx.x), mma:get_slice(threadIdx.x)
    local to = ld:get_slice(threadIdx.x)
    copy(cp, thr:partition_S(A), thr:partition_D(sA))
    cp_async_wait(0)
    sync_threads()
    local tCrA = tm:fragment_A(tm:partition_A(sA))
    local tXsA, tXrA = to:partition_S(sA), to:retile_D(tCrA)
    for k = 0, size(tCrA, 2) - 1 do copy(ld, tXsA(_, _, k), tXrA(_, _, k)) end
    copy(tCrA, tm:partition_A(B))
  end, { static_shapes = true })
  local A, B = rand(f16, row_major { 128, 64 }), zeros(f16, row_major { 128, 64 })
  local ok, p = pcall(profile, function() k { grid = 1, block = 128 } (A, B) end)
  if not ok then return assert(p:match("needs sm_%d+"), p) end -- compiled for less than cp.async
  local out = { tostring(allclose(A, B, { atol = 0, rtol = 0 })) }
  for _, a in ipairs(p:patterns()) do
    local key = a.op .. " " .. a.vec
    out[key] = (out[key] or 0) + a.cost * a.count
    out[key .. " ideal"] = (out[key .. " ideal"] or 0) + a.ideal * a.count
  end
  return out[1], out["store 8"] / out["store 8 ideal"], out["load 8"] / out["load 8 ideal"]
end

local plain = L"(8,(8,8)):(8,(1,64))"
print(conflicts("plain", tile_to_shape(plain, { 128, 64 })))  -- expect: true	8.0	1.0
print(conflicts("swizzled", tile_to_shape(composition(swizzle(3, 3, 3), plain), { 128, 64 })))
-- expect: true	1.0	1.0
print(conflicts("rows", row_major { 128, 64 }))  -- expect: true	1.0	8.0

-- The four matrices of one ldmatrix never share a wavefront, not even where rows are the same.
local same = kernel("same", function(A, B)
  local s, r = shared(f16, row_major { 8, 8 }), fragment(f16, 8)
  copy(A(threadIdx.x % 8, _), s(threadIdx.x % 8, _))
  sync_threads()
  copy(atom("SM75_U32x4_LDSM_N", f16), s(threadIdx.x // 16, _), r)
  copy(r, B(threadIdx.x, _))
end, { static_shapes = true })
local A, B = rand(f16, row_major { 8, 8 }), zeros(f16, row_major { 32, 8 })
local p = profile(function() same { grid = 1, block = 32 } (A, B) end)
for _, a in ipairs(p:patterns()) do
  if a.op == "load" then print(a.cost, a.ideal, a.vec) end
end
-- expect: 4	4	8
