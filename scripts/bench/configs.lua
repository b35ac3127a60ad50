-- configs.lua: the configurations of matmul that are measured: those that it chooses from, and rows
-- that nothing selects, which were tried and are kept to be compared with. The head of
-- matmul_configs.lua says what a row is.
local configs = require "cuttle.matmul_choice"
local M = { choose = configs.choose }

local function hopper(row)
  row.device, row.template, row.types, row.only_sm =
    "cuda", "cuttle.gemm_hopper", { f16 = true, bf16 = true }, 90
  row.tile, row.stages = row.tile or { 256, 128, 64 }, row.stages or 3
  row.schedule = row.schedule or "cooperative"
  row.registers, row.store = row.registers or { 40, 232 }, row.store or { 4, 1 }
  row.blocks = row.blocks or 128
  return row
end

M.list = {
  hopper { name = "hopper 256x128x64, groups", order = "groups", group = 16 },
  hopper { name = "hopper 256x128x64, pairs, hilbert", order = "hilbert", cluster = 2 },
  hopper { name = "hopper 256x128x64, pairs", order = "groups", group = 8, cluster = 2 },
}

--- Those, after the rows that matmul chooses from.
M.all = table.move(M.list, 1, #M.list, #configs.list + 1,
  table.move(configs.list, 1, #configs.list, 1, {}))

--- What matmul takes as `config` for a name: a row of the list above, or the name itself.
function M.by_name(name)
  for _, row in ipairs(M.list) do
    if row.name == name then return row end
  end
  return name
end

--- The rows that are meant for a problem's type, strides and device.
function M.of(p)
  local rows = configs.of(p)
  for _, row in ipairs(M.list) do
    if configs.fits(row, p) then rows[#rows + 1] = row end
  end
  return rows
end

return M
