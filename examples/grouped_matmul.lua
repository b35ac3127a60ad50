-- grouped_matmul.lua: a layer of a mixture of experts. Tokens are in the order of their experts, so
-- those of one expert are adjacent rows, and two grouped products compute the layer for all tokens:
-- H = gelu(X W1'), Y = H W2', with the weights of the row's expert. Only the device knows how many
-- tokens an expert has. The first and last token of each expert are checked.
-- Usage: cuttle grouped_matmul.lua [tokens experts width hidden]
local on_gpu = device().sm ~= nil
local tokens, experts = tonumber(arg[1] or on_gpu and 8192 or 150), tonumber(arg[2] or 8)
local width = tonumber(arg[3] or on_gpu and 2048 or 64)
local hidden = tonumber(arg[4] or on_gpu and 4096 or 96)
local dtype = on_gpu and device().sm >= 80 and bf16 or f32

-- Tokens of each expert, and where these end.
local count_tokens = kernel("count_tokens", function(expert_of, counts)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(expert_of) then atomic_add(counts, expert_of[i], 1) end
end)
local add_up = kernel("add_up", function(counts, ends)
  local sum = 0
  for g in range(size(counts)) do
    sum = sum + counts[g]
    ends[g] = sum
  end
end)

local expert_of = rand(i32, tokens, 1, experts)
local counts, ends = zeros(i32, experts), zeros(i32, experts)
count_tokens{grid = cdiv(tokens, 128), block = 128}(expert_of, counts) -- nobody chose expert 0
add_up{grid = 1, block = 1}(counts, ends)

local function weights(rows, columns)
  return randn(dtype, layout({rows, columns, experts}, {columns, 1, rows * columns}))
end
local function gelu(v) return 0.5 * v * (1.0 + tanh(0.7978845608 * (v + 0.044715 * v * v * v))) end

local X, Y = randn(dtype, row_major{tokens, width}), zeros(dtype, row_major{tokens, width})
local W1, W2 = weights(hidden, width), weights(width, hidden)
local H = zeros(dtype, row_major{tokens, hidden})
local function layer()
  matmul(X, W1, H, {groups = ends, alpha = width ^ -0.5, epilogue = gelu})
  matmul(H, W2, Y, {groups = ends, alpha = hidden ^ -0.5})
end
layer()

-- Row i of the layer's second product, and of the first, from X and from the H that there is.
local function row(T, i) return tile(T, {1, size(T, 1)}, {i, 0}) end
local function expected(T, W, i, g, f)
  local R = reference.cast(reference.matmul(row(T, i), W(_, _, g)), f32):to("cpu")
  for j = 0, size(R) - 1 do R[j] = f(R[j] * size(T, 1) ^ -0.5) end
  return R
end
local function host_gelu(v)
  local e = math.exp(2 * 0.7978845608 * (v + 0.044715 * v ^ 3))
  return v * e / (1 + e)
end

local ok, first, host_ends = true, 0, ends:to("cpu")
local tolerance = {rtol = dtype == f32 and 1e-4 or 2e-2, atol = dtype == f32 and 1e-5 or 1e-2}
for g = 0, experts - 1 do
  for _, i in ipairs(host_ends[g] > first and {first, host_ends[g] - 1} or {}) do
    local h, y = reference.cast(row(H, i):to("cpu"), f32), reference.cast(row(Y, i):to("cpu"), f32)
    ok = ok and allclose(h, expected(X, W1, i, g, host_gelu), tolerance)
      and allclose(y, expected(H, W2, i, g, function(v) return v end), tolerance)
  end
  first = host_ends[g]
end
local ms = bench(layer)
print(("%d tokens, %d experts of %dx%d and back on %s: %s, %.3f ms, %.1f GFLOP/s"):format(tokens,
  experts, width, hidden, device().name, ok and "correct" or "wrong", ms,
  4 * tokens * width * hidden / ms * 1e-6))
os.exit(ok, true)
