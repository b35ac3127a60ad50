-- matmul's explain and tune of packed weights: without a GPU, for devices of the model. What the model
-- says of registers is left to tests/lua/tune/operators.lua: to compile takes most of the time.
local model = require "cuttle.predict"
local run <const> = model.run
function model.run(f, device) return run(f, device, {compile = false}) end
local packed = require "cuttle.packed_weights"
local operator = require "cuttle.matmul"
local path = os.tmpname()

local function weight(n, k)
  local codes, scales = packed.quantize_weights(randn(bf16, row_major{n, k}),
    {type = "u4", group = 64})
  return packed.pack_weights(codes, {type = "u4", scales = scales})
end
local w = weight(512, 512)
local function told(m, device)
  return operator.explain(zeros(bf16, row_major{m, 512}), w, zeros(bf16, row_major{m, 512}),
    {device = device})
end
print(told(4, "H200"))   -- expect: packed 16x8x128, u4: by the rule, which was measured on H200
print(told(4, "H200").key)                                            -- expect: u4 64 bf16 4 512 512
print(told(200, "H200").config)                                       -- expect: packed hopper 64x64x64, u4
print(told(200, "A100").config:match "^dequantized, mma")             -- expect: dequantized, mma
print(told(2100, "H200").config:match "^dequantized, hopper")         -- expect: dequantized, hopper

-- Names of configurations are those that explain tells; one of a matrix's makes a matrix.
local X, C = randn(bf16, row_major{4, 512}), zeros(bf16, row_major{4, 512})
local want = matmul(X, w:dequantize(bf16))
local names <const> = {"packed 32x8x128, u4", "packed hopper 64x64x64, u4", "dequantized",
                       "cpu 32x32x8"}
for _, name in ipairs(names) do
  local _, which = operator.prepare(X, w, C, {config = name})
  print(which, allclose(matmul(X, w, C, {config = name}), want, {rtol = 2e-2, atol = 0.2}))
end
-- expect: packed 32x8x128, u4	true
-- expect: packed hopper 64x64x64, u4	true
-- expect: dequantized, cpu 128x128x32	true
-- expect: dequantized, cpu 32x32x8	true

-- What tune finds is kept, and what a file says is taken, also for problems that are alike.
local found = operator.tune(X, w, C, {device = "H200", file = path})
print(found.how, found.config, found.ms > 0)     -- expect: predicted	packed 16x8x128, u4	true
local function keep(name)
  local file <close> = assert(io.open(path, "w"))
  file:write(("matmul\tmeasured\t0.5\tH200\tCUDA 13.0\tu4 64 bf16 4 512 512\tname=\"%s\"\t%016x\n")
    :format(name, 0))
end
keep "packed 64x8x128, u4"
operator.use(path)
print(told(4, "H200"))                 -- expect: packed 64x8x128, u4: measured on H200: 0.5 ms
print(told(3, "H200"))                 -- expect: packed 64x8x128, u4: measured on H200 for u4 64 bf16 4 512 512
print(told(4, "A100").how)                                            -- expect: rule
keep "dequantized"
operator.use(path)
print(told(4, "H200").config:match "^dequantized", told(4, "H200").how) -- expect: dequantized	measured
keep "packed of nobody"
operator.use(path)
print(told(4, "H200").how)                                            -- expect: measured
keep "nobody"
print((select(2, pcall(operator.use, path)):match "'u4 64 bf16 4 512 512' does not describe"))
-- expect: 'u4 64 bf16 4 512 512' does not describe

-- Of groups of rows, each with a weight.
local W3 = layout({512, 256, 4}, {256, 1, 512 * 256})
local codes, scales = packed.quantize_weights(randn(bf16, W3), {type = "u4", group = 64})
local w3 = packed.pack_weights(codes, {type = "u4", scales = scales})
local ends = from_table(i32, {300, 512, 512, 1024})
local function told_in_groups(m)
  return operator.explain(zeros(bf16, row_major{m, 256}), w3, zeros(bf16, row_major{m, 512}),
    {groups = ends, device = "H200"})
end
print(told_in_groups(1024).key, told_in_groups(1024).config)
-- expect: u4 64 bf16 1024 512 256 in 4	packed hopper 64x64x64, u4
-- Of 8 bits: tiles of the rows that groups have, and small blocks where C has all rows.
local function told_of(T, m, K, glu)
  local extents = {8192, K, 4}
  local w = packed.pack_weights(view(zeros(u8, 1), layout(extents, {0, 0, 0})), {type = "u4",
    scales = view(ones(bf16, 1), layout({8192, K // 128, 4}, {0, 0, 0}))})
  return operator.explain(zeros(T, row_major{m, K}), w,
    zeros(bf16, row_major{m, glu and 4096 or 8192}), {groups = full(i32, 4, m), device = "H200",
      glu = glu, epilogue = glu and function(v, u) return v * u end}).config
end
print(told_of(f8e4m3, 2048, 1024), told_of(f8e4m3, 1024, 1024), told_of(f8e4m3, 1024, 1024, true))
-- expect: packed hopper 128x192x128, u4	packed hopper 64x128x128, u4	packed hopper 128x128x128, u4
print(told_of(f8e4m3, 1024, 2560, true))                   -- expect: packed hopper 128x256x128, u4
print(told_of(bf16, 1024, 2560), told_of(bf16, 1300, 2560))
-- expect: packed hopper 128x256x64, u4	packed hopper 128x128x128, u4
local file <close> = assert(io.open(path, "w"))
file:write(("matmul\tmeasured\t0.5\tH200\t-\tu4 64 bf16 1024 512 256 in 4\t" ..
  "name=\"packed hopper 128x128x64, u4\"\t%016x\n"):format(0))
file:close()
operator.use(path)
print(told_in_groups(1024))            -- expect: packed hopper 128x128x64, u4: measured on H200: 0.5 ms
print(told_in_groups(1025).how)        -- expect: measured
print(told_in_groups(8192).how)        -- expect: rule
os.remove(path)
