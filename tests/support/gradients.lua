-- gradients.lua: what the tests of attention and its gradients share: results under check, and the
-- difference of gradients from reference.attention in double precision.
local forward, backward = require "cuttle.attention", require "cuttle.attention_backward"
local M = {}

--- A tensor's elements, in one mode.
function M.flat(t) return view(t, layout{size(t)}) end

local flat = M.flat

--- The same numbers in f64.
function M.wide(t) return view(reference.cast(flat(t):to "cpu", f64), t.layout) end

-- The scale of a token of a sequence, in Lua's counting: scale is a number, or a table (H), (B,H) or
-- (B,H,N) of blocks of 128 tokens.
local function scale_of(scale, b, h, token)
  if type(scale) ~= "table" then return scale end
  local of_head = scale[h]
  if type(of_head) == "table" then of_head = scale[b][h] end
  return type(of_head) == "table" and of_head[(token - 1) // 128 + 1] or of_head
end

--- The numbers of t (B,H,S,D), or (H,T,D) where sequences begin at `starts`, times their scales, in
--- f64.
function M.scaled(t, scale, starts)
  if not scale then return M.wide(t) end
  local numbers = t:totable()
  local function scale_head(head, b, h, first, last)
    for i = first + 1, last do
      for d, x in ipairs(head[i]) do head[i][d] = x * scale_of(scale, b, h, i - first) end
    end
  end
  for i, list in ipairs(numbers) do
    if starts then
      for b = 1, #starts - 1 do scale_head(list, b, i, starts[b], starts[b + 1]) end
    else
      for h, head in ipairs(list) do scale_head(head, i, h, 0, #head) end
    end
  end
  local wide = zeros(f64, t.layout)
  copy(from_table(f64, numbers), wide)
  return wide
end

--- Q, K and V of x times their scales in f64, and the options without scales.
function M.scaled_operands(x, options)
  local wide, plain = {}, M.with(options, {})
  for i, name in ipairs {"q", "k", "v"} do
    local starts = options["cu_seqlens_" .. (name == "q" and "q" or "k")]
    wide[i], plain[name .. "_scale"] = M.scaled(x[i], options[name .. "_scale"], starts), nil
  end
  return wide, plain
end

--- The sum of the products of elements.
function M.dot(a, b)
  local sum, x, y = 0, flat(a):totable(), flat(b):totable()
  for i, v in ipairs(x) do sum = sum + v * y[i] end
  return sum
end

--- The tables' fields in one; the later ones' count.
function M.with(options, changes)
  local new = {}
  for _, list in ipairs { options, changes } do
    for name, value in pairs(list) do new[name] = value end
  end
  return new
end

--- attention with its kernel under check, which raises what it finds; and the step.
function M.attention(Q, K, V, options)
  local _, _, O, LSE, step = forward.prepare(Q, K, V, options)
  step.launch.check = not device().sm
  step.kernel(step.launch)(table.unpack(step.args))
  return O, LSE, step
end

--- attention_backward with its kernels under check, which raises what it finds; a list.
function M.checked(dO, Q, K, V, O, LSE, options)
  local _, _, results, steps = backward.prepare(dO, Q, K, V, O, LSE, options)
  for _, step in ipairs(steps) do
    step.launch.check = not device().sm
    step.kernel(step.launch)(table.unpack(step.args))
  end
  return results
end

--- The difference along a random direction of x, f64, of the gradient's length. loss() reads x.
function M.error_along(x, gradient, loss)
  local H <const> = 1e-4
  x = flat(x)
  local old, along = clone(x), randn(f64, {size(x)})
  local function loss_at(h)
    transform(old, along, x, function(a, d) return a + h * d end)
    return loss()
  end
  local slope, g = (loss_at(H) - loss_at(-H)) / (2 * H), M.wide(gradient)
  copy(old, x)
  local sum, squares = M.dot(g, along), M.dot(g, g)
  return math.abs(slope - sum) / math.sqrt(squares)
end

--- true, or which gradient is off by how much: that of attention with `options`, by kernels with
--- those of `own` too, of Q, K, V and dO, which may be packed. A limit for f32 and one for others.
--- forward: the configuration that O is of, nil: what attention chooses.
function M.try(x, dO, options, own, limits, forward)
  local Q, K, V = table.unpack(x)
  local O, LSE = attention(Q, K, V, M.with(options, {lse = true, config = forward}))
  local got = M.checked(dO, Q, K, V, O, LSE, M.with(options, own))
  local inputs, plain = M.scaled_operands(x, options)
  local g = M.wide(dO)
  if options.sinks then
    inputs[4] = M.wide(options.sinks)
    plain.sinks = inputs[4]
  end
  local function loss()
    return M.dot(g, (reference.attention(inputs[1], inputs[2], inputs[3], plain)))
  end
  for i, t in ipairs(inputs) do
    local worst = M.error_along(t, got[i], loss)
    if worst ~= worst or worst >= limits[Q.dtype == f32 and 1 or 2] then
      return ("gradient %d: %g"):format(i, worst)
    end
  end
  return true
end

return M
