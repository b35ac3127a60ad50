-- cast of a fragment: the sums of a product in f32 become the product's narrow type in one store.
for _, T in ipairs{f16, bf16, f8e4m3, f8e5m2} do
  local A, B = rand(T, {32, 8}, -1, 1), rand(T, {16, 8}, -1, 1)
  local C, sums = zeros(T, {32, 16}), zeros(f32, {32, 16})
  kernel("product", function(A, B, C, sums)
    local at = {threadIdx.x % 8, threadIdx.x // 8}
    local acc = fragment(f32, {4, 4})
    clear(acc)
    gemm(tile(A, {4, 8}, {at[1], 0}), cast(tile(B, {4, 8}, {at[2], 0}), f32), acc)
    copy(cast(acc, T), tile(C, {4, 4}, at))
    copy(acc, tile(sums, {4, 4}, at))
  end){grid = 1, block = 32}(A, B, C, sums)
  local want = reference.cast(sums:to("cpu"), T)
  local U = T.bits == 16 and u16 or u8
  print(T, reference.difference(recast(want, U), recast(C:to("cpu"), U)))
end
-- expect: f16	nil
-- expect: bf16	nil
-- expect: f8e4m3	nil
-- expect: f8e5m2	nil

-- A cast is a fragment of its own, also to its own type; it has the names and the shape of the tensor.
local y = zeros(f32, 4)
kernel("own", function(y)
  local r = fragment(f32, L"(M=2,N=2)")
  fill(r, 1)
  local same = cast(r, f32)
  local wide = cast(cast(r, f16), f64)
  r[0] = 5
  print(size(wide, "M"), size(wide, "N"), wide.dtype)  -- expect: 2	2	f64
  y[0], y[1], y[2] = same[0], r[0], cast(wide[3], f32) + 2
end){grid = 1, block = 1}(y)
y = y:to("cpu")
print(y[0], y[1], y[2])                  -- expect: 1.0	5.0	3.0
