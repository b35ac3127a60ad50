-- data_parallel.lua: trains a linear model on several devices. Each rank has a part of the examples
-- and a copy of the weights. An all-reduce adds the gradients of the parts, so all copies of the
-- weights take the same step. For comparison, one device does the same.
-- Usage: cuttle [--device=cpu:4] data_parallel.lua [examples]
if device().name == "CPU engine" and device().n_devices == 1 then device "cpu:4" end
local n_ranks = device().n_devices
local n_examples, n_inputs, n_outputs = tonumber(arg[1] or 1000), 64, 16
local STEPS <const>, RATE <const> = 30, 0.1

-- Y = X W' with X (examples, inputs) and W (outputs, inputs); the loss is the mean of |Y - T|^2.
local truth = randn(f32, { n_outputs, n_inputs })
local X = randn(f32, { n_examples, n_inputs })
local T = matmul(X, truth)

local residual = kernel("residual", function(Y, target)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(Y) then Y[i] = Y[i] - target[i] end
end)

local descend = kernel("descend", function(W, gradient, rate)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(W) then W[i] = W[i] - rate * gradient[i] end
end)

local function blocks(t) return { grid = (size(t) + 127) // 128, block = 128 } end

-- The gradient of some examples, the sum over them: (Y - T)' X, which is outputs by inputs.
local function add_up(W, x, target)
  local Y = matmul(x, W)
  residual(blocks(Y))(Y, target)
  return matmul(select(Y, 1, 0), select(x, 1, 0))
end

-- {====== On all ranks ======

local m = mesh{ data = n_ranks }
local x, target = shard(X, "(example@data,input)", m), shard(T, "(example@data,output)", m)
local W = m:zeros(f32, { n_outputs, n_inputs }, "(output,input)")

m:run(function(r)
  local mine = W:part(r.rank)
  for _ = 1, STEPS do
    local gradient = add_up(mine, x:part(r.rank), target:part(r.rank))
    r:all_reduce(gradient, "data")
    descend(blocks(mine))(mine, gradient, RATE / n_examples)
  end
end)

-- {====== On one device ======

local alone = zeros(f32, { n_outputs, n_inputs })
for _ = 1, STEPS do
  descend(blocks(alone))(alone, add_up(alone, X, T), RATE / n_examples)
end

-- {====== The same weights, which come near those that made the targets ======

local function distance(A, B)
  local sum, of = 0.0, 0.0
  local a, b = A:totable(), B:totable()
  for i = 1, n_outputs do
    for j = 1, n_inputs do
      sum, of = sum + (a[i][j] - b[i][j]) ^ 2, of + b[i][j] ^ 2
    end
  end
  return math.sqrt(sum / of)
end

local trained = W:whole()
m:run(function(r)
  assert(reference.difference(W:part(r.rank), trained) == nil, "the copies of the weights differ")
end)
local off, left = distance(trained, alone), distance(trained, truth)
print(("%d examples on %d ranks, %d steps: %.3f from the truth, %.1e from one device"):format(
  n_examples, n_ranks, STEPS, left, off))
assert(off < 1e-5)
