-- operator_steps.lua: what an operator launches: a list of steps {kernel =, launch =, args =}, in
-- order. `args` may have nils if it has `n`, as from table.pack.
local M = {}

local function arguments_of(step) return table.unpack(step.args, 1, step.args.n or #step.args) end

--- Launches all of them.
function M.run(steps)
  for _, step in ipairs(steps) do step.kernel(step.launch)(arguments_of(step)) end
end

--- The launches as one function without arguments, to be called often. The first one refuses any.
function M.prepare(steps)
  local launches = {}
  for i, step in ipairs(steps) do
    launches[i] = step.kernel:prepare(step.launch)(arguments_of(step))
  end
  local first, second, third = table.unpack(launches)
  if first == nil then return function() end end
  if second == nil then return first end
  if third == nil then
    return function(...)
      first(...)
      second()
    end
  end
  return function(...)
    for _, launch in ipairs(launches) do launch(...) end
  end
end

local CLEAR_THREADS <const>, CLEAR_BLOCKS <const> = 256, 1024

local fill_words = kernel("fill_words", function(words, value)
  local first = blockIdx.x * CLEAR_THREADS + threadIdx.x
  for i in range(first, size(words), gridDim.x * CLEAR_THREADS) do
    words[i] = cast(value, words.dtype)
  end
end)

--- The step that sets all elements of a tensor with one mode to an integer, 0 if none is given.
function M.clear(words, value)
  local n_blocks = max(1, min(cdiv(size(words), CLEAR_THREADS), CLEAR_BLOCKS))
  return { kernel = fill_words, args = { words, value or 0 },
    launch = { grid = n_blocks, block = CLEAR_THREADS } }
end

return M
