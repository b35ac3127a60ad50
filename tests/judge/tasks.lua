-- tasks.lua: all tasks, with their references as judge takes them.
--   for task, prepared in tasks.each(options) do ... end
local judge = require "cuttle.judge"
local M = {}

local files <const> = { "elementwise", "rows", "moves", "products", "windows", "counts" }
local fields <const> = { "name", "sizes", "inputs", "outputs", "reference" }

local function reference_of(task)
  local reference = {}
  for _, name in ipairs(fields) do reference[name] = task[name] end
  return reference
end

M.list = {}
for _, file in ipairs(files) do
  for _, task in ipairs(dofile("tests/judge/" .. file .. ".lua")) do
    M.list[#M.list + 1] = task
  end
end

function M.prepare(task, options) return judge.prepare(reference_of(task), options) end

return M
