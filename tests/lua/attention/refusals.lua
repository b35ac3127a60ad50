-- Why a configuration that `config` names is not for a problem.
local function refusal(config, Q, K, V, options)
  local asked = { config = config }
  for key, value in pairs(options or {}) do asked[key] = value end
  print((select(2, pcall(attention, Q, K or Q, V or K or Q, asked)):gsub("^[^ ]+: ", "")
    :gsub("configuration (.*) is not for this problem", "%1"):gsub(", on [^,;]*;", ", on it;")))
end
local half = randn(f16, row_major{1, 2, 2, 64})
refusal("hopper 192x80", randn(f32, row_major{1, 1, 2, 128}))
-- expect: attention: 'hopper 192x80': f32, D = 128, on it; its kernel computes bf16 and f16
refusal("mma 64x64", randn(f32, row_major{1, 1, 2, 128}))
-- expect: attention: 'mma 64x64': f32, D = 128, on it; its kernel computes bf16 and f16
refusal("sm75 64x64", randn(bf16, row_major{1, 1, 2, 128}))
-- expect: attention: 'sm75 64x64': bf16, D = 128, on it; its kernel computes f16
refusal("mma 128x64", randn(f16, row_major{1, 1, 2, 136}))
-- expect: attention: 'mma 128x64': f16, D = 136, on it; its kernel computes D up to 128
refusal("hopper 128x128, D 192", randn(f16, row_major{1, 1, 2, 192}))
-- expect: attention: 'hopper 128x128, D 192': f16, D = 192, on it; its kernel computes values up to D = 128
refusal("hopper 128x128, f8", half)
-- expect: attention: 'hopper 128x128, f8': f16, D = 64, on it; its kernel computes f8e4m3
local narrow = zeros(f8e4m3, row_major{1, 1, 2, 64})
refusal("mma 64x64", narrow)
-- expect: attention: 'mma 64x64': f8e4m3, D = 64, on it; its kernel computes bf16 and f16
refusal("hopper 192x128, f8", narrow, narrow, narrow, { out = zeros(f32, row_major{1, 1, 2, 64}) })
-- expect: attention: 'hopper 192x128, f8': f8e4m3, D = 64, on it; out is f32, and its kernel writes bf16 and f16
refusal("hopper 192x128", randn(f16, row_major{1, 1, 2, 128}))
-- expect: attention: 'hopper 192x128': f16, D = 128, on it; its kernel computes D up to 64
refusal("mma 64x64", half, randn(f16, row_major{1, 2, 0, 64}))
-- expect: attention: 'mma 64x64': f16, D = 64, on it; there are no keys
refusal("hopper 192x128", half, half, half, { out = zeros(f32, {1, 2, 2, 64}) })
-- expect: attention: 'hopper 192x128': f16, D = 64, on it; out is f32, and its kernel writes Q's type
refusal("hopper 192x128", half, view(randn(f16, 300), layout({1, 2, 2, 64}, {0, 132, 68, 1})))
-- expect: attention: 'hopper 192x128': f16, D = 64, on it; TMA needs strides that are multiples of 16 bytes, and K's along S is 68 elements
refusal("hopper 192x128", half, half, view(randn(f16, 256), layout({1, 2, 2, 64}, {0, 1, 2, 4})))
-- expect: attention: 'hopper 192x128': f16, D = 64, on it; TMA needs a stride of 1 along D, and V's is 4
refusal("hopper 192x128", view(randn(f16, row_major{2, 257})(1, _), row_major{1, 2, 2, 64}))
-- expect: attention: 'hopper 192x128': f16, D = 64, on it; TMA needs addresses that are multiples of 16 bytes; that of Q is not
local heads = view(zeros(f16, 8), layout({1, 40000, 1, 8}, {0, 0, 0, 1}))
refusal("mma 64x64", heads, zeros(f16, {1, 1, 1, 8}))
-- expect: attention: 'mma 64x64': f16, D = 8, on it; there are 40000 heads in all, and a table of tiles has room for 32768

-- By a GPU's compute capability and shared memory, of one that need not be there.
local script = os.tmpname()
local file = assert(io.open(script, "w"))
file:write([[
local Q = zeros(f16, row_major{1, 1, 8, arg[2] // 1})
local ok, why = pcall(attention, Q, Q, Q, {config = arg[1]})
io.stderr:write(ok and "fine" or why, "\n")
]])
file:close()
local function on(sm, config, depth)
  local pipe = assert(io.popen(("'%s' emit --sm=%s %s '%s' %d 2>&1 >/dev/null"):format(arg[-1], sm,
    script, config, depth)))
  local said = pipe:read("a"):gsub("cuttle: emit: .*", "") -- it launches nothing
  print((said:gsub("\n", ""):gsub("^.*; ", "")))
  pipe:close()
end
on(80, "hopper 128x128", 128) -- expect: its kernel is for sm_90, and this is sm_80
on(75, "mma 64x64", 128)      -- expect: its kernel is for sm_80 and later, and this is sm_75
on(86, "mma 128x48", 128)     -- expect: fine
os.remove(script)
