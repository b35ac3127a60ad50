-- matmul.tune and attention.tune on a device that is played by a driver and a compiler of tests/c:
-- kernels are launched, but do nothing. What is measured is kept, and the next program takes it. That
-- NVRTC takes their texts is what compile*.lua and the fingerprints say.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local here = os.getenv "PWD" .. "/"
local cuttle = arg[-1]:gsub("^[^/].*/", here .. "%0")
local folder = shell.folder()

local function run(environment, text)
  local file <close> = assert(io.open(folder .. "/t.lua", "w"))
  file:write(text)
  file:close()
  return (shell.run("cd %s && CUTTLE_CACHE=%s/cache %s '%s' t.lua", folder, folder, environment,
    cuttle))
end

local function text_of(name)
  local file <close> = io.open(folder .. "/" .. name)
  return file and file:read "a" or ""
end

local device = dofile "tests/support/played_libraries.lua"(folder)
if not device then tap.skip_all "no C compiler" end

-- {====== matmul ======

local product <const> = [[
local matmul = require "cuttle.matmul"
local function chosen(m, options)
  local A, B, C = zeros(f16, row_major{m, 256}), zeros(f16, row_major{256, 256}),
    zeros(f16, {m, 256})
  local _, name, steps = matmul.prepare(A, B, C, options)
  return name, steps[1] and steps[1].config.name
end
local A, B, C = zeros(f16, row_major{256, 256}), zeros(f16, row_major{256, 256}),
  zeros(f16, {256, 256})
]]
local rule <const> = "hopper 64x64x64"
tap.is(run(device, product .. "print(matmul.explain(A, B, C))\nprint((chosen(256)))"),
  rule .. ": by the rule, which was measured on H200\n" .. rule .. "\n",
    "at first the rule chooses")

local out = run(device, product .. [[
local told = matmul.tune(A, B, C)
print(told.how, told.device, told.config == matmul.explain(A, B, C).config, told.ms > 0)]])
tap.is(out, "measured\tFake 0\ttrue\ttrue\n", "tune measures")
local kept = text_of "cache/tuned.txt"
local found = kept:match('\nmatmul\tmeasured\t[%d.e-]+\tFake 0\tCUDA [%d.]+\tf16 TN 256 256 256 1'
  .. '\tname="([^"]+)"')
tap.ok(found, "and keeps a line", kept)

-- What is measured here is chance, so another configuration is written.
local other <const> = found == "mma 128x64x64" and "mma 128x128x64" or "mma 128x64x64"
local function keep(name)
  local file <close> = assert(io.open(folder .. "/cache/tuned.txt", "w"))
  file:write((kept:gsub('name="[^"]+" split=%d+', ('name="%s" split=1'):format(name))))
end
keep(other)
out = run(device, product .. [[
print((chosen(256)))
print((chosen(128)))
print((chosen(256, {config = "mma 64x64x64"})))
print(chosen(256, {split = 2}))
print((chosen(4096)))
print(select(2, chosen(256, {bits = "mma 64x64x64"})))
matmul.matmul(A, B, C)]])
tap.is(out, table.concat({ other, other, "mma 64x64x64", rule .. ", K by 2\t" .. rule, rule,
  "mma 64x64x64", "" }, "\n"), "later programs take it where nothing else is asked for")
tap.is(run("CUTTLE_DEVICE=cpu", product .. "print((chosen(256)))"):match "^%S+", "cpu",
  "the CPU engine does not")
keep "mma 128x256x128"
tap.is(run(device, product .. "print((chosen(256)))"), rule .. "\n",
  "a row for other types does not count")
os.remove(folder .. "/cache/tuned.txt")

out = run(device, product .. [[
matmul.tune(A, B, C, {file = "mine.tune"})
print((chosen(256)))
matmul.use "mine.tune"
print(matmul.explain(A, B, C).how)]])
tap.is(out, rule .. "\nmeasured\n", "a file counts where it is used")
tap.ok(text_of "mine.tune":find '\tf16 TN 256 256 256 1\t' and text_of "cache/tuned.txt" == "",
  "and only that is written", text_of "cache/tuned.txt")

-- {====== attention ======

local heads <const> = [[
local attention = require "cuttle.attention"
local Q = zeros(bf16, row_major{1, 2, 256, 64})
local function chosen(options) return (select(2, attention.prepare(Q, Q, Q, options))) end
]]
tap.is(run(device, heads .. "print(attention.explain(Q, Q, Q))\nprint(chosen())"),
  "hopper 192x128: by the rule, which was measured on H200\nhopper 192x128\n",
    "the rule of attention")
out = run(device, heads .. [[
local told = attention.tune(Q, Q, Q, {causal = true})
print(told.how, told.device, told.key, told.config == chosen{causal = true})]])
tap.is(out, "measured\tFake 0\tbf16 d64 causal 1 2 256 256\ttrue\n", "attention is tuned, too")
kept = text_of "cache/tuned.txt"
local mine <close> = assert(io.open(folder .. "/cache/tuned.txt", "w"))
mine:write((kept:gsub('name="[^"]+"', 'name="mma 64x64"')))
mine:close()
tap.is(run(device, heads .. [[
print(chosen{causal = true})
print(chosen())
print(chosen{causal = true, config = "mma 128x64"})
print(chosen{causal = true, bits = "batch_invariant"})]]),
  "mma 64x64\nhopper 192x128\nmma 128x64\nhopper 192x128\n", "later programs take it")

os.execute("rm -r " .. folder)
tap.done()
