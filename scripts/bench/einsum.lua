-- einsum.lua: contractions by einsum (docs/matmul.md#contractions) beside torch.einsum, which runs
-- in a process of its own (einsum_peer.py), in the regimes of regimes.lua. Operands are bf16 and
-- contiguous, their last mode first in memory, as PyTorch's are.
--   make bench-tools && CUTTLE_DEVICE=cuda cuttle scripts/bench/einsum.lua [--quick]
--     [--config=NAME ...] [number of a row ...]
-- A configuration is measured beside the chosen one. On the CPU engine it takes small extents, to
-- show that it runs.
package.path = (arg[0]:match "^(.*/)" or "./") .. "?.lua;" .. package.path
local ct = require "cuttle"
local configs = require "configs"
local data = require "data"
local operator = require "cuttle.einsum"
local beside = require "torch_beside"

local SMALL <const> = 8 -- the greatest extent on the CPU engine

-- What it is in a model; the text, and the extents of its letters.
local rows <const> = {
  { "linear layer", "bsd,fd->bsf", { b = 4, s = 2048, d = 4096, f = 4096 } },
  { "the same, weights by columns", "bsd,df->bsf", { b = 4, s = 2048, d = 4096, f = 4096 } },
  { "gradient of its weights", "bsd,bsf->df", { b = 4, s = 2048, d = 4096, f = 4096 } },
  { "scores of attention", "bqhd,bkhd->bhqk", { b = 4, q = 2048, k = 2048, h = 16, d = 128 } },
  { "values of attention", "bhqk,bkhd->bqhd", { b = 4, q = 2048, k = 2048, h = 16, d = 128 } },
  { "heads to the model", "bshd,hdm->bsm", { b = 4, s = 2048, h = 32, d = 128, m = 4096 } },
  { "model to heads", "bsm,mhd->bhsd", { b = 4, s = 2048, h = 32, d = 128, m = 4096 } },
  { "experts", "ecd,edf->ecf", { e = 32, c = 512, d = 2048, f = 2048 } },
  { "batches", "bmk,bnk->bmn", { b = 32, m = 1024, n = 1024, k = 1024 } },
  { "two modes summed", "ikjl,lkm->ijm", { i = 64, j = 64, k = 32, l = 32, m = 1024 } },
  { "two modes summed, other order", "abcd,dbe->ace",
    { a = 64, b = 32, c = 128, d = 64, e = 4096 } },
  { "result in another order", "abk,cdk->cadb", { a = 64, b = 64, c = 32, d = 32, k = 1024 } },
}

local function extents_of(letters, extents)
  local list = {}
  for letter in letters:gmatch "%a" do
    local n = extents[letter]
    list[#list + 1] = ct.device().sm and n or math.min(n, SMALL)
  end
  return list
end

local function operand(extents, seed)
  local l = ct.row_major(extents)
  return ct.view(data.normal(ct.bf16, ct.size(l), seed), l)
end

local function ours(list, text, A, B, C, expected, config)
  local options = { config = config and configs.by_name(config) }
  local ok, how = pcall(operator.explain, text, A, B, C, options)
  if not ok then
    print(("  %s: %s"):format(config or "einsum", how))
    return
  end
  beside.add(list, (config and "  " or "* ") .. (how.text:match ": (.*)$" or how.text), function()
    operator.einsum(text, A, B, C, options)
  end, C, expected)
end

local function measure(row, options, peer)
  local what, text, extents = table.unpack(row)
  local first, second, result = text:match "^(%a+),(%a+)->(%a+)$"
  local a, b = extents_of(first, extents), extents_of(second, extents)
  local A, B = operand(a, 1), operand(b, 2)
  local C = ct.tensor(ct.bf16, ct.row_major(extents_of(result, extents)))
  local expected = operator.einsum(text, A, B, ct.tensor(ct.bf16, C.layout),
    { config = ct.device().sm and "simple 64x64x16" or "cpu 32x32x8" })
  local list, flops = {}, 2
  ours(list, text, A, B, C, expected)
  for _, config in ipairs(options.configs) do ours(list, text, A, B, C, expected, config) end
  a, b = table.concat(a, "x"), table.concat(b, "x")
  if peer then beside.add_peer(list, peer, "torch.einsum", "data %s %s %s", text, a, b) end
  for letter in pairs(extents) do flops = flops * extents_of(letter, extents)[1] end
  beside.time(list, ("%s: %s, bf16, %s by %s"):format(what, text, a, b), flops, options)
  for _, t in ipairs { A, B, C, expected } do t:close() end
end

local function read_arguments()
  local options = beside.options()
  options.rows = {}
  for _, word in ipairs(arg) do
    local number = math.tointeger(tonumber(word))
    if number and rows[number] then
      table.insert(options.rows, rows[number])
    elseif not beside.read(options, word) then
      error(("einsum: '%s' is no option and no row from 1 to %d"):format(word, #rows), 0)
    end
  end
  if #options.rows == 0 then
    options.rows = ct.device().sm and rows or { rows[1], rows[12] }
  end
  return options
end

local options, peer = read_arguments(), beside.start "einsum_peer"
for _, row in ipairs(options.rows) do measure(row, options, peer) end
if peer then peer:close() end
