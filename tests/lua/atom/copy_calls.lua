-- copy(tc, src, dst) and copy_if(tc, pred, src, dst): tc is a tiled copy or an atom; one access moves as
-- many elements as the atom says.

local function copies(name, atom_name, dtype, n, smem, rank)
  local a = atom(atom_name, dtype)
  local tc = tiled_copy(a, layout { 8, 8 }, layout { n, 1 })
  local by = rank == 1 and a or tc
  local k = kernel(name, function(A, B)
    local s = shared(dtype, smem)
    local thr = tc:get_slice(threadIdx.x)
    local tAgA, tAsA = thr:partition_S(tile(A, { 64, 16 }, { 0, 0 })), thr:partition_D(s)
    local tBgB = thr:partition_D(tile(B, { 64, 16 }, { 0, 0 }))
    if rank == 1 then
      for j = 0, size(tAgA, 1) * size(tAgA, 2) - 1 do
        copy(by, group_modes(tAgA, 1, 3)(_, j), group_modes(tAsA, 1, 3)(_, j))
      end
    else
      copy(by, tAgA, tAsA)
    end
    cp_async_commit()
    cp_async_wait(0)
    sync_threads()
    copy(tAsA, tBgB)
  end)
  local A, B = rand(dtype, { 64, 16 }, 0, 100), zeros(dtype, { 64, 16 })
  local ok, message = pcall(k { grid = 1, block = 64 }, A, B)
  if not ok then return assert(message:match("needs sm_%d+"), message) end
  local text = k { grid = 1, block = 64 }:source(A, B)
  local wide = text:match("(cp_async_%w*_?%d+)%(") or text:match("reinterpret_cast<const (%w+)%*>")
  return ("%s %s"):format(allclose(A, B), wide)
end

print(copies("u32", "UniversalCopy<u32>", f32, 1, { 64, 16 }))  -- expect: true nil
print(copies("u64", "UniversalCopy<u64>", f32, 2, { 64, 16 }))  -- expect: true float2
print(copies("u128", "UniversalCopy<u128>", f32, 4, { 64, 16 }))  -- expect: true float4
print(copies("half", "UniversalCopy<u32>", f16, 2, { 64, 16 }))  -- expect: true unsigned
print(copies("byte", "UniversalCopy<u64>", u8, 8, { 64, 16 }))  -- expect: true uint2
print(copies("narrow", "UniversalCopy<u64>", f32, 4, { 64, 16 }))  -- expect: true float2
print(copies("swizzled", "UniversalCopy<u128>", f32, 4,  -- expect: true float4
  composition(swizzle(3, 2, 3), layout { 64, 16 })))
print(copies("one", "UniversalCopy<u128>", f32, 4, { 64, 16 }, 1))  -- expect: true float4
print(copies("ca4", "SM80_CP_ASYNC_CACHEALWAYS<u32>", f32, 1, { 64, 16 }))  -- expect: true cp_async_ca_4
print(copies("ca8", "SM80_CP_ASYNC_CACHEALWAYS<u64>", f16, 4, { 64, 16 }))  -- expect: true cp_async_ca_8
print(copies("ca16", "SM80_CP_ASYNC_CACHEALWAYS<u128>", f32, 4, { 64, 16 }))  -- expect: true cp_async_ca_16
print(copies("cg16", "SM80_CP_ASYNC_CACHEGLOBAL<u128>", f32, 4, { 64, 16 }))  -- expect: true cp_async_cg_16

-- Explicit copies wait for nothing by themselves; a plain one does.
local function waits(name, ...)
  local by = { ... }
  local k = kernel(name, function(A, B)
    local s = shared(f32, 256)
    by[#by + 1] = parallelize(A, layout(64), threadIdx.x)
    by[#by + 1] = parallelize(s, layout(64), threadIdx.x)
    if #by > 2 then copy(by[1], by[2], by[3]) else copy(by[1], by[2]) end
    sync_threads()
    B[threadIdx.x] = s[threadIdx.x]
  end, { static_shapes = true })
  local A, B = zeros(f32, 256), zeros(f32, 256)
  local ok, text = pcall(function() return k { grid = 1, block = 64 }:source(A, B) end)
  if not ok then return assert(text:match("needs sm_%d+"), text) end
  return text:find("cp_async_wait_all();", 1, true) ~= nil
end
print(waits("plain"))  -- expect: true
print(waits("manual", atom("SM80_CP_ASYNC_CACHEALWAYS<u32>", f32)))  -- expect: false

-- Predicates: one for each element, of which the first of each atom counts, one for each atom, or a
-- function. ZFILL writes zeros where they are false.
local function chosen(name, atom_name, make)
  local tc = tiled_copy(atom(atom_name, f32), layout { 8, 4 }, layout { 4, 1 })
  local k = kernel(name, function(A, B)
    local s = shared(f32, { 32, 8 })
    local thr = tc:get_slice(threadIdx.x)
    local src, dst = thr:partition_S(A), thr:partition_D(s)
    fill(dst, -1)
    copy_if(tc, make(thr, src), src, dst)
    cp_async_wait(0)
    sync_threads()
    copy(dst, thr:partition_D(B))
  end, { static_shapes = true })
  local A, B = ones(f32, { 32, 8 }), zeros(f32, { 32, 8 })
  local ok, message = pcall(k { grid = 1, block = 32 }, A, B)
  if not ok then return assert(message:match("needs sm_%d+"), message) end
  local sum = { 0, 0, 0 }
  for i = 0, 255 do sum[B(i) + 2] = sum[B(i) + 2] + 1 end
  return table.concat(sum, " ")
end
local function by_element(thr, src)
  local coords, pred = thr:partition_S(identity_tensor { 32, 8 }), fragment(bool, shape(src))
  for i = 0, size(src) - 1 do pred[i] = elem_less(coords(i), { 12, 7 }) end
  return pred
end
local function by_atom(thr, src)
  local coords, pred = thr:partition_S(identity_tensor { 32, 8 }), fragment(bool, { 1, 1, 2 })
  for i = 0, 1 do pred[i] = elem_less(coords(4 * i), { 12, 7 }) end
  return pred
end
local function by_function(thr)
  local coords = thr:partition_S(identity_tensor { 32, 8 })
  return function(i, j, k) return elem_less(coords(i, j, k), { 12, 7 }) end
end
for i, make in ipairs { by_element, by_atom, by_function } do
  print(chosen("load" .. i, "UniversalCopy<u128>", make),
    chosen("cp" .. i, "SM80_CP_ASYNC_CACHEALWAYS<u128>", make),
    chosen("zfill" .. i, "SM80_CP_ASYNC_CACHEGLOBAL_ZFILL<u128>", make))
end
-- expect: 172 0 84	172 0 84	0 172 84
-- expect: 172 0 84	172 0 84	0 172 84
-- expect: 172 0 84	172 0 84	0 172 84
