-- operator_steps.lua: what an operator launches: a list of steps {kernel =, launch =, args =}, in
-- order. `args` may have nils if it has `n`, as from table.pack.
local M = {}

local function arguments_of(step) return table.unpack(step.args, 1, step.args.n or #step.args) end

--- Launches all of them.
function M.run(steps)
  for _, step in ipairs(steps) do step.kernel(step.launch)(arguments_of(step)) end
end

--- The launches as one function without arguments, to be called often.
function M.prepare(steps)
  local launches = {}
  for i, step in ipairs(steps) do
    launches[i] = step.kernel:prepare(step.launch)(arguments_of(step))
  end
  local first, second, third = table.unpack(launches)
  if first == nil then return function() end end
  if second == nil then return first end
  if third == nil then
    return function()
      first()
      second()
    end
  end
  return function()
    for _, launch in ipairs(launches) do launch() end
  end
end

return M
