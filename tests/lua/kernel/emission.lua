-- The option emission: each variant gives the bits that the kernel gives without it, on either
-- engine; without it, and with an empty one, the text is as ever.
local tap = dofile "tests/support/tap.lua"
local emission = dofile "tests/support/emission_kernels.lua"
local sm = device().sm or 90 -- the CPU engine runs what any GPU runs

local function put_bits(words, x)
  if type(x) == "table" then
    for _, part in ipairs(x) do put_bits(words, part) end
  else
    words[#words + 1] = ("<d"):pack(x)
  end
end

-- What the kernel writes, as bytes.
local function bits(k)
  local words = {}
  fill(k.result, -7)
  k.launch(table.unpack(k.args))
  put_bits(words, k.result:to "cpu":totable())
  return table.concat(words)
end

local function text(k) return k.launch:source(table.unpack(k.args)) end

local plain, results = emission.kernels(nil, sm), {}
for i, k in ipairs(plain) do results[i] = bits(k) end
for i, k in ipairs(emission.kernels({}, sm)) do
  tap.is(text(k), text(plain[i]), k.name .. ": an empty emission changes no text")
end
for _, variant in ipairs(emission.variants) do
  for i, k in ipairs(emission.kernels(variant, sm)) do
    tap.ok(bits(k) == results[i], ("%s: same bits with %s"):format(k.name, emission.text(variant)))
  end
end
tap.done()
