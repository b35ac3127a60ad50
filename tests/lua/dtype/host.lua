-- Host tensors of narrow and unsigned types.
device "cpu"
print(from_table(f16, { 0.1, 65519, 65520, -1e-8 }))
-- expect: tensor f16 4:1 on cpu
-- expect:   0.099976     65504       inf        -0
print(from_table(f8e4m3, { 0.1, 464, 1e9, -1000 }))
-- expect: tensor f8e4m3 4:1 on cpu
-- expect:   0.10156      448      448     -448
local t = zeros(u16, 4)
t[0], t[1] = 65535, 1
print(t[0], t[1], recast(t, i16)[0])  -- expect: 65535	1	-1
print(pcall(function() t[2] = -1 end)) -- expect: false	tests/lua/dtype/host.lua:12: t[2]: -1 does not fit u16; expected 0 to 65535
print(full(u64, 1, -1))
-- expect: tensor u64 1:0 on cpu
-- expect:   18446744073709551615
print(full(u64, 1, 0xcbf29ce484222325)[0] == 0xcbf29ce484222325)  -- expect: true

-- Random numbers lie in their range after rounding, too.
for _, T in ipairs { tf32, f16, bf16, f8e4m3, f8e5m2, f8ue8m0, f8ue4m3, f6e2m3, f6e3m2, f4e2m1 } do
  local r, low, high = rand(T, 4096), math.huge, -math.huge
  for i = 0, 4095 do low, high = math.min(low, r[i]), math.max(high, r[i]) end
  if low < 0 or high >= 1 then print(T, low, high) end
end
local bytes, seen = rand(u8, 8192, 0, 256), {}
for i = 0, 8191 do seen[bytes[i]] = true end
print(#seen, seen[0], seen[255])  -- expect: 255	true	true

-- What NumPy has comes back from a file; what it has not is refused.
local path = os.tmpname()
for _, T in ipairs { f16, i16, i8, u64, u32, u16, u8 } do
  local x = T == f16 and randn(f16, { 3, 5 }) or rand(T, { 3, 5 })
  save_npy(path, x)
  local y = load_npy(path)
  if y.dtype ~= T or reference.difference(x, y) then print("npy", T) end
end
print(pcall(save_npy, path, zeros(bf16, 3))) -- expect: false	tests/lua/dtype/host.lua:36: save_npy: NumPy has no element type for bf16
os.remove(path)

-- Close enough for the type.
print(allclose(full(f16, 4, 1), full(f16, 4, 1.001)), allclose(full(bf16, 4, 1), full(f32, 4, 1.01)))  -- expect: true	true
print((allclose(full(f16, 4, 1), full(f16, 4, 1.01))))  -- expect: false
print(reference.matmul(full(f8e4m3, { 2, 4 }, 0.5), full(f8e4m3, { 2, 4 }, 3))(0, 0))  -- expect: 6.0
