-- multi_tensor_adamw.lua: a step of AdamW for all parameters of a model in one launch, after the
-- gradients are clipped by their global norm. Parameters, gradients and moments are lists of
-- tensors. First all blocks add up the squares of all gradients. Then they meet, and update all
-- tensors. A block takes chunks of any of them. Plain Lua checks the result in double precision.
-- Usage: cuttle multi_tensor_adamw.lua [tensors [largest size]]
local on_gpu = device().sm ~= nil
local n_tensors = tonumber(arg[1] or 200)
local largest = tonumber(arg[2] or (on_gpu and 1 << 21 or 600))
local CHUNK <const>, THREADS <const>, MAX_NORM <const>, N_STEPS <const> = 1024, 256, 1.0, 3

-- Elements 4 t to 4 t + 3 of a chunk are thread t's: one access of 16 bytes, if all sizes allow it.
local function mine(x, chunk) return tile(tile(guard(x), CHUNK, chunk), 4, threadIdx.x) end

-- Column w of `work` is a tensor, from 1 on, and one of its chunks, from 0 on.
local adamw = kernel("adamw", function(o, work, partial, norm)
  local p, g, m, v = fragment(f32, 4), fragment(f32, 4), fragment(f32, 4), fragment(f32, 4)
  local sum = 0.0
  for w in range(blockIdx.x, size(work, 1), gridDim.x) do
    copy(mine(o.grads[work[{0, w}]], work[{1, w}]), g)
    for i = 0, 3 do sum = sum + g[i] * g[i] end
  end
  sum = block_reduce(sum, "add")
  if threadIdx.x == 0 then partial[blockIdx.x] = sum end
  sync_grid()

  sum = 0.0
  for i in range(threadIdx.x, size(partial), THREADS) do sum = sum + partial[i] end
  sum = sqrt(block_reduce(sum, "add"))
  if blockIdx.x == 0 and threadIdx.x == 0 then norm[0] = sum end
  local clip = min(1.0, MAX_NORM / (sum + 1e-6))

  for w in range(blockIdx.x, size(work, 1), gridDim.x) do
    local which, chunk = work[{0, w}], work[{1, w}]
    local params, first = mine(o.params[which], chunk), mine(o.first[which], chunk)
    local second = mine(o.second[which], chunk)
    copy(params, p)
    copy(mine(o.grads[which], chunk), g)
    copy(first, m)
    copy(second, v)
    for i = 0, 3 do
      local grad = g[i] * clip
      m[i] = o.beta1 * m[i] + (1 - o.beta1) * grad
      v[i] = o.beta2 * v[i] + (1 - o.beta2) * grad * grad
      local step = m[i] / o.scale1 / (sqrt(v[i] / o.scale2) + o.eps)
      p[i] = p[i] - o.rate * (step + o.decay * p[i])
    end
    copy(p, params)
    copy(m, first)
    copy(v, second)
  end
end)

-- The model: tensors of n elements, from 1 to the largest size.
local o = {params = {}, grads = {}, first = {}, second = {},
  rate = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, decay = 0.01}
local table_of_work, n_elements = {{}, {}}, 0
for t = 1, n_tensors do
  local n = 1 + (t * 7919 + t * t * 31) % largest
  n = on_gpu and cdiv(n, 4) * 4 or n
  o.params[t], o.grads[t] = randn(f32, n), randn(f32, n)
  o.first[t], o.second[t] = zeros(f32, n), zeros(f32, n)
  for chunk = 0, cdiv(n, CHUNK) - 1 do
    local b = #table_of_work[1] + 1
    table_of_work[1][b], table_of_work[2][b] = t, chunk
  end
  n_elements = n_elements + n
end
local work, norm = from_table(i32, table_of_work), zeros(f32, 1)

-- All blocks run at once, so there are as many as fit.
local n_blocks = on_gpu and 2 * device().n_sms or 6
local partial = zeros(f32, n_blocks)
local launch = adamw{grid = n_blocks, block = THREADS, cooperative = true}
local function step(number)
  o.scale1, o.scale2 = 1 - o.beta1 ^ number, 1 - o.beta2 ^ number
  launch(o, work, partial, norm)
end

-- Plain Lua: all elements on the CPU engine, some of each tensor on a GPU.
local stride = on_gpu and 99991 or 1
local expected = {}
for t = 1, n_tensors do
  local host, e = o.params[t]:to("cpu"), {}
  for i = 0, size(host) - 1, stride do e[i] = {p = host[i], m = 0.0, v = 0.0} end
  expected[t] = e
end
local function norm_of(list)
  local sum = 0.0
  for _, g in ipairs(list) do
    local host = g:to("cpu")
    for i = 0, size(host) - 1 do sum = sum + host[i] ^ 2 end
  end
  return math.sqrt(sum)
end
local whole = on_gpu and nil or norm_of(o.grads)
for number = 1, N_STEPS do
  step(number)
  local clip = math.min(1, MAX_NORM / ((whole or norm[0]) + 1e-6))
  for t = 1, n_tensors do
    local grads = o.grads[t]:to("cpu")
    for i, e in pairs(expected[t]) do
      local g = grads[i] * clip
      e.m = o.beta1 * e.m + (1 - o.beta1) * g
      e.v = o.beta2 * e.v + (1 - o.beta2) * g * g
      local move = e.m / o.scale1 / (math.sqrt(e.v / o.scale2) + o.eps)
      e.p = e.p - o.rate * (move + o.decay * e.p)
    end
  end
end
local worst = whole and math.abs(norm[0] / whole - 1) or 0.0
for t = 1, n_tensors do
  local host = o.params[t]:to("cpu")
  for i, e in pairs(expected[t]) do worst = math.max(worst, math.abs(host[i] - e.p)) end
end
local ok = worst < 1e-5
local ms = bench(function() step(N_STEPS + 1) end)
print(("AdamW of %d tensors, %d elements, on %s: %s, largest error %.2g"):format(n_tensors,
  n_elements, device().name, ok and "correct" or "wrong", worst))
print(("%.4f ms a step, %.1f GB/s"):format(ms, 32 * n_elements / ms * 1e-6))
os.exit(ok, true)
