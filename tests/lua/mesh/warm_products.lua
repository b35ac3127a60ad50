-- Products of tensors that are spread alike: what they have in common is found once, and each call
-- multiplies its own tensors into its own result, with its own alpha.
device "cpu:2"
local configs = require "cuttle.matmul_choice"
local m = mesh{ x = 2 }
local n_problems, choose = 0, configs.choose
function configs.choose(...)
  n_problems = n_problems + 1
  return choose(...)
end
local function numbers(shape, number)
  manual_seed(number)
  return randn(bf16, row_major(shape))
end

-- Three rounds with tensors of their own: how often a kernel was chosen in each, and whether all
-- results are right.
local function try(M, N, K, a, b, c, options)
  local found, is_right = {}, true
  for i = 1, 3 do
    local A, B = numbers({ M, K }, i), numbers({ N, K }, 10 + i)
    local x, y = shard(A, a, m), shard(B, b, m)
    local alpha = options.alphas and options.alphas[i] or 1
    n_problems = 0
    local z = matmul(x, y, c and m:zeros(bf16, row_major{ M, N }, c), { overlap = options.overlap,
      alpha = alpha ~= 1 and alpha or nil })
    found[i] = n_problems
    is_right = is_right and allclose(z:whole():to "cpu", matmul(A, B, { alpha = alpha }),
      { rtol = 0.05, atol = 0.1 })
    x:close()
    y:close()
    z:close()
  end
  print(table.concat(found, " "), is_right)
end
try(64, 48, 32, "(M@x,K)", "(N,K)", nil, {})
-- expect: 1 0 0	true
try(64, 48, 32, "(M,K)", "(N@x,K)", nil, { alphas = { 2.0, 2.0, 2.0 } })
-- expect: 1 0 0	true
try(64, 48, 32, "(M@x,K)", "(N,K)", nil, { alphas = { 1, 2.0, 0.5 } })
-- expect: 0 1 1	true
try(64, 48, 32, "(M@x,K)", "(N@x,K)", "(M,N@x)", { overlap = true })
-- expect: 2 0 0	true
try(64, 48, 32, "(M@x,K)", "(N@x,K)", "(M,N@x)", { overlap = true, alphas = { 1, 3.0, 1 } })
-- expect: 0 2 0	true
try(64, 48, 64, "(M,K@x)", "(N,K@x)", "(M@x,N)", { overlap = true })
-- expect: 2 0 0	true

-- What was found does not hide that C is an operand.
local A, B = m:zeros(f32, { 8, 8 }, "(M@x,K)"), m:zeros(f32, { 8, 8 }, "(N,K)")
matmul(A, B, m:zeros(f32, { 8, 8 }, "(M@x,N)"))
print((select(2, pcall(matmul, A, B, A)):match "C shares memory with %a+")) -- expect: C shares memory with A
