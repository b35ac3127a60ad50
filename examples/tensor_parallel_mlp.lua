-- tensor_parallel_mlp.lua: two layers of a network on several devices, spread as in Megatron-LM.
-- Axis model splits the columns of the first matrix and the rows of the second, so nothing moves
-- between the layers. After them, each rank has a summand of the result; reshard finds that an
-- all-reduce or a reduce-scatter adds them. Axis data splits the examples.
-- Usage: cuttle [--device=cpu:8] tensor_parallel_mlp.lua [examples [inputs [hidden]]]
if device().name == "CPU engine" and device().n_devices == 1 then device "cpu:8" end
local n_ranks = device().n_devices
local n_examples = tonumber(arg[1] or 256)
local n_inputs, n_hidden = tonumber(arg[2] or 128), tonumber(arg[3] or 512)

local X = randn(f32, { n_examples, n_inputs })
local W1, W2 = randn(f32, { n_hidden, n_inputs }), randn(f32, { n_inputs, n_hidden })

local function gelu(v) return 0.5 * v * (1.0 + erf(v * 0.70710678)) end
local layer1 = { alpha = n_inputs ^ -0.5, epilogue = gelu }
local layer2 = { alpha = n_hidden ^ -0.5 }

-- X (example, input), W1 (hidden, input), W2 (output, hidden); the result is (example, output).
local function mlp(x, w1, w2, y)
  local hidden = matmul(x, w1, nil, layer1)
  return matmul(hidden, w2, y, layer2)
end

-- {====== On all ranks ======

local m = mesh{ data = n_ranks % 2 == 0 and 2 or 1,
  model = n_ranks % 2 == 0 and n_ranks // 2 or n_ranks }
local x = shard(X, "(example@data,input)", m)
local w1 = shard(W1, "(hidden@model,input)", m)
local w2 = shard(W2, "(output,hidden@model)", m)
local y = m:tensor(f32, { n_examples, n_inputs }, "(example@data,output,@model+)")

m:run(function(r)
  mlp(x:part(r.rank), w1:part(r.rank), w2:part(r.rank), y:part(r.rank))
end)

print(y:plan "(example@data,output)")
print(y:plan "(example@data,output@model)")
local summed, scattered = y:reshard "(example@data,output)", y:reshard "(example@data,output@model)"

-- {====== One device computes the same ======

local alone = mlp(X, W1, W2)
assert(allclose(summed:whole(), alone, { atol = 1e-5 }))
assert(allclose(scattered:whole(), alone, { atol = 1e-5 }))
print(("%d examples, %d -> %d -> %d on %s: as on one device"):format(n_examples, n_inputs, n_hidden,
  n_inputs, m))
