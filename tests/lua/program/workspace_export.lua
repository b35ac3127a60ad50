-- Products that need memory of their own as plain C: one whose operand is transposed first, one
-- whose blocks share tiles (Stream-K), and one of a long K in parts. The C builds without a warning,
-- and the twin for the CPU gives the bits that the process gave.
local c = dofile "tests/support/plain_c.lua"

c.write("products.lua", [[
local function config(tile, more)
  local made = {name = "small", template = "cuttle.gemm_hopper", tile = tile,
    schedule = "cooperative", stages = 2, registers = {40, 232}, store = {1, 2},
    order = "groups", group = 4, blocks = 3}
  for key, value in pairs(more) do made[key] = value end
  return made
end
local function product(name, A, B, C, how)
  export(function(A, B, C) matmul(A, B, C, how) end, {{A, B, C}},
    {name = name, sm = "90a", cpu = true})
end
local function small(dtype, l) return view(reference.cast(rand(i32, cosize(l), -2, 3), dtype), l) end
product("transposed", small(i8, layout{144, 272}), small(i8, layout{208, 272}),
  zeros(i32, {144, 208}), {config = config({128, 128, 128}, {transposes = true})})
product("stream_k", small(bf16, row_major{256, 192}), small(bf16, row_major{128, 192}),
  zeros(bf16, row_major{256, 128}), {config = config({64, 128, 64}, {blocks = 3, stream_k = true})})
product("parts", small(f16, row_major{64, 512}), small(f16, row_major{64, 512}),
  zeros(f16, row_major{64, 64}), {split = 4})
]])
c.export "products.lua"
for _, name in ipairs { "transposed", "stream_k", "parts" } do c.compare(name) end
c.done()
