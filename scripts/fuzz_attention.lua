-- fuzz_attention.lua: attention of random problems with masks and scores, on the device, against
-- reference.attention in double precision. A call has ten packed sequences of random lengths, so
-- that few kernels compute many problems. TAP: one line for each kind of problem.
--   cuttle scripts/fuzz_attention.lua CALLS SEED [CONFIG...]
local CALLS <const>, SEED <const> = tonumber(arg[1] or 2), tonumber(arg[2] or 1)
local configs = table.pack(table.unpack(arg, 3))
if #configs == 0 then
  configs = device().sm == 90 and { "hopper 192x80", "mma 64x64", "plain" } or { "plain" }
end

local H <const>, HK <const>, D <const>, N <const>, T <const> = 2, 1, 64, 10, 600
local random = math.random

-- {====== Problems ======

local function slopes() return { random(), random() - 0.5 } end

local function limit() return random(4) == 1 and 0 or random(0, 90) end

local function bend(s, q, k, h, b, t, x)
  if q > k then s = s + x end
  return s * 0.7 + t[(q + k) % 50] - 0.25 * h + 0.01 * b
end

local function stripes(q, k, h, _, x)
  return (q // 4 + k // 4 + h) % 3 ~= 0 or abs(q - k) < x
end

-- Options of a kind of problem, new numbers each time.
local kinds <const> = {
  { "causal", function() return { causal = true } end },
  { "window, soft-cap", function()
    return { window = { limit(), limit() }, softcap = 0.5 + 4 * random() }
  end },
  { "left window, ALiBi, causal", function()
    return { window = { limit(), -1 }, causal = true, alibi = slopes() }
  end },
  { "bias, sinks, lazy", function()
    return { bias = randn(bf16, row_major { H, 1, 1 }), sinks = slopes(), lazy = true }
  end },
  { "score, window", function()
    return { score = bend, window = { limit(), limit() }, operands = { randn(f32, 50), random() } }
  end },
  { "mask, causal", function()
    return { mask = stripes, causal = true, operands = { random(9) } }
  end },
}

-- N + 1 places from 0 to n, of which some are equal.
local function starts(n)
  local cuts = { 0, n }
  for i = 1, N - 1 do cuts[i + 2] = random(3) == 1 and cuts[random(#cuts)] or random(0, n) end
  table.sort(cuts)
  return cuts
end

-- {====== Comparison ======

local function flat(t) return view(t, layout { size(t) }):totable() end

local function distance(a, b)
  local worst, y = 0, flat(b)
  for i, x in ipairs(flat(a)) do
    local d = x == y[i] and 0 or math.abs(x - y[i])
    worst = (d ~= d or d > worst) and d or worst
  end
  return worst
end

local function to_device(t)
  return type(t) == "userdata" and t.device == "cpu" and device().sm and t:to "cuda" or t
end

-- Of tensors on the host: the errors of O and LSE, on the device.
local function errors(Q, K, V, options, config)
  local O = zeros(f64, row_major { H, T, D })
  options.out, options.lse = O, zeros(f64, row_major { H, T })
  local _, L = reference.attention(Q, K, V, options)
  local own = {}
  for name, x in pairs(options) do own[name] = to_device(x) end
  if own.operands then
    own.operands = {}
    for i, x in ipairs(options.operands) do own.operands[i] = to_device(x) end
  end
  own.out, own.lse, own.config = nil, true, config
  local made, LSE = attention(to_device(Q), to_device(K), to_device(V), own)
  return distance(made:to "cpu", O), distance(LSE:to "cpu", L)
end

local function try(config, kind)
  local dtype = config == "plain" and f32 or bf16
  local worst, worst_lse = 0, 0
  for _ = 1, CALLS do
    local Q, K = randn(dtype, row_major { H, T, D }), randn(dtype, row_major { HK, T, D })
    local options = kind[2]()
    options.cu_seqlens_q, options.cu_seqlens_k = starts(T), starts(T)
    local o, l = errors(Q, K, randn(dtype, row_major { HK, T, D }), options, config)
    worst, worst_lse = math.max(worst, o), math.max(worst_lse, l)
    if o ~= o then worst = o end
  end
  return worst, worst_lse, worst < (dtype == f32 and 2e-5 or 3e-2) and worst_lse < 1e-4
end

math.randomseed(SEED)
manual_seed(SEED)
print(("1..%d"):format(#configs * #kinds))
local number, failed = 0, 0
for _, config in ipairs(configs) do
  for _, kind in ipairs(kinds) do
    local o, l, is_ok = try(config, kind)
    number, failed = number + 1, failed + (is_ok and 0 or 1)
    print(("%s %d - %s, %s: %d problems, errors %.1e, %.1e"):format(is_ok and "ok" or "not ok",
      number, config, kind[1], CALLS * N, o, l))
  end
end
os.exit(failed == 0)
