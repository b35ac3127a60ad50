-- A product of other tensors that lie as those of an earlier one takes what that found; any other
-- product finds out anew. Results are right in both cases.
local choices, n_choices = require "cuttle.matmul_choice", 0
local choose = choices.choose
function choices.choose(...)
  n_choices = n_choices + 1
  return choose(...)
end

-- Was the product found anew, and is it right?
local function try(A, B, C, options)
  local want = reference.matmul(A, B)
  n_choices = 0
  local out = matmul(A, B, C, options)
  print(n_choices > 0 and "anew" or "again",
    allclose(out, want, { rtol = 1e-3, atol = 1e-3 }))
end
local function new(m, k) return randn(f32, row_major{ m, k }) end

try(new(24, 16), new(8, 16))                                 -- expect: anew	true
try(new(24, 16), new(8, 16))                                 -- expect: again	true
try(new(24, 16), new(8, 16), zeros(f32, row_major{ 24, 8 })) -- expect: anew	true
try(new(24, 16), new(8, 16), zeros(f32, row_major{ 24, 8 })) -- expect: again	true
try(new(24, 16), randn(f32, { 8, 16 }))                      -- expect: anew	true
try(new(24, 16), new(8, 16), { alpha = 1 })                  -- expect: anew	true
try(new(24, 16), new(8, 16), { alpha = 1, beta = 0 })        -- expect: anew	true
try(new(24, 16), new(8, 16), { alpha = 1 })                  -- expect: again	true
try(new(24, 16), new(8, 16), { stream = stream() })          -- expect: anew	true

-- Numbers are told apart by their last bit, and from their texts.
local A, B = ones(f64, { 4, 4 }), ones(f64, { 4, 4 })
for _, alpha in ipairs { 0.3, 0.1 + 0.2, 0.3 } do
  print(matmul(A, B, { alpha = alpha })[0] == 4 * alpha)     -- expect: true
end                                                          -- expect: true
                                                             -- expect: true
print(matmul(A, B, { alpha = 2 })[0])                        -- expect: 8.0
print((select(2, pcall(matmul, A, B, { alpha = "2" })):match "alpha is of type %a+")) -- expect: alpha is of type string
print((select(2, pcall(matmul, A, B, { epilogue = 0 / 0 })):match "epilogue is of type %a+")) -- expect: epilogue is of type number

-- Epilogues are told apart, also where their texts are equal; so are configurations.
local function add(n) return function(v) return v + n end end
local function sum_of(epilogue)
  n_choices = 0
  return matmul(ones(f32, { 4, 4 }), ones(f32, { 4, 4 }), { epilogue = epilogue })[0], n_choices > 0
end
local one, two = add(1.0), add(2.0)
print(sum_of(one))                                           -- expect: 5.0	true
print(sum_of(two))                                           -- expect: 6.0	true
print(sum_of(one))                                           -- expect: 5.0	false
try(new(24, 16), new(8, 16), { config = "cpu 32x32x8" })     -- expect: anew	true
try(new(24, 16), new(8, 16), { config = "cpu 32x32x8" })     -- expect: again	true
try(new(24, 16), new(8, 16), { config = "simple 64x64x8" })  -- expect: anew	true

-- Other places in memory of the same layout: aligned otherwise, or with C in A.
local row, other = randn(f32, 400), randn(f32, 400)
local function part(t, i) return view(tile(t, { 1 }, { i }), layout({ 4, 4 }, { 4, 1 })) end
try(part(row, 0), part(other, 0), zeros(f32, { 4, 4 }))      -- expect: anew	true
try(part(row, 4), part(other, 8), zeros(f32, { 4, 4 }))      -- expect: again	true
try(part(row, 1), part(other, 8), zeros(f32, { 4, 4 }))      -- expect: anew	true
print((select(2, pcall(matmul, part(row, 0), part(other, 0), part(row, 8))):match "C shares memory with %a+")) -- expect: C shares memory with A

-- Products with packed weights, by codes and by way of a matrix of A's type, which lasts for a call.
-- Each weight has its own.
local packed = require "cuttle.packed_weights"
local function weight()
  local codes, scales = packed.quantize_weights(randn(f16, row_major{ 32, 128 }), { type = "u4" })
  return packed.pack_weights(codes, { type = "u4", scales = scales })
end
local w, w2 = weight(), weight()
local function try_packed(m, of, C, options)
  local X = randn(f16, row_major{ m, 128 })
  local want = reference.matmul(X, of:dequantize(f16))
  n_choices = 0
  local out = matmul(X, of, C, options)
  local how = n_choices > 0 and "anew" or "again"
  print(how, allclose(out, want, { rtol = 1e-2, atol = 1e-2 }))
end
try_packed(4, w)                                             -- expect: anew	true
try_packed(4, w)                                             -- expect: again	true
try_packed(5, w)                                             -- expect: anew	true
try_packed(4, w2)                                            -- expect: anew	true
try_packed(4, w, zeros(f32, row_major{ 4, 32 }))             -- expect: anew	true
try_packed(70, w)                                            -- expect: anew	true
try_packed(70, w)                                            -- expect: again	true
try_packed(4, w, { config = {strips = 2} })                  -- expect: anew	true
try_packed(4, w, { config = {strips = 2} })                  -- expect: anew	true
try_packed(4, w)                                             -- expect: again	true
print((tostring(w):gsub(", [%w:]+$", ""))) -- expect: packed weight u4 (32,128) in groups of 128, scales f16
