-- attention_backward where an idle warp does work of the kernel before, where blocks stay, and where
-- the last tiles of keys are cut into parts. Gradients are those of the plain kernels, and check
-- finds nothing. An argument N: every N-th problem.
local backward = require "cuttle.attention_backward"
local gradients = dofile "tests/support/gradients.lua"

-- A configuration with the least lead, on so many multiprocessors.
local function config_of(name, n_sms)
  for _, config in ipairs(backward.configs) do
    if config.name == name then return gradients.with(config, { lead = 1, n_sms = n_sms }) end
  end
end

-- DV: V's depth, D if that is absent.
local function operands(dtype, causal, B, H, HK, S, SK, D, DV)
  DV = DV or D
  local Q, dO = randn(dtype, row_major{B, H, S, D}), randn(dtype, row_major{B, H, S, DV})
  local K, V = randn(dtype, row_major{B, HK, SK, D}), randn(dtype, row_major{B, HK, SK, DV})
  local O, LSE = attention(Q, K, V, {causal = causal, lse = true})
  return { dO, Q, K, V, O, LSE }
end

-- true, or what differs. n_steps: launches that there have to be.
local function try(config, n_steps, shape, options)
  local t = operands(options.dtype or bf16, options.causal, table.unpack(shape))
  local how = { causal = options.causal, deterministic = options.deterministic, config = config }
  t[7] = how
  local _, _, _, steps = backward.prepare(table.unpack(t))
  if #steps ~= n_steps then return #steps .. " launches" end
  local got = gradients.checked(table.unpack(t))
  t[7] = { causal = options.causal, config = "plain" }
  for i, want in ipairs { attention_backward(table.unpack(t)) } do
    if not allclose(got[i], want, {atol = 3e-2, rtol = 3e-2}) then return "gradient " .. i end
  end
  return true
end

manual_seed(1)
local small, deep, deepest = "hopper 128x128", "hopper 64x128", "hopper 64x64"
-- Blocks stay for the first problem of this configuration, and not for the second.
local both <const> = config_of(deep, 2)
local problems <const> = {
  {config_of(small), 3, {1, 5, 5, 40, 140, 40}, {causal = true}},
  {config_of(deep), 3, {2, 6, 3, 70, 40, 80}, {causal = true, dtype = f16}},
  {config_of(small, 2), 4, {1, 3, 3, 390, 70, 64}, {}},
  {config_of(small, 2), 3, {2, 4, 2, 40, 70, 24}, {}},
  {config_of(deep, 2), 4, {1, 3, 3, 200, 40, 80}, {dtype = f16}},
  {config_of(deepest, 4), 4, {1, 3, 3, 200, 40, 200}, {}},
  {config_of("hopper 64x64, D 192", 6), 4, {1, 5, 5, 200, 128, 192}, {}}, -- 4 blocks in 3 parts
  {config_of("hopper 64x64, D 192", 6), 4, {1, 5, 5, 200, 128, 192, 160}, {}}, -- V has less
  {config_of("hopper 64x64, Dv 128", 6), 4, {1, 5, 5, 200, 128, 192, 128}, {}},
  {both, 3, {1, 1, 1, 40, 390, 80}, {}},
  {both, 3, {1, 1, 1, 40, 100, 80}, {}},
}
for i = 1, #problems, tonumber(arg and arg[1]) or 1 do
  local found = try(table.unpack(problems[i]))
  if found ~= true then print("problem " .. i, found) end
end
print "done" -- expect: done
