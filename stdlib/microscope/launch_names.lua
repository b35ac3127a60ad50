-- launch_names.lua: which names of a kernel's text stand for parts of which tensors, found in the
-- text alone: in `local tAgA = parallelize(gA, ...)`, tAgA is a part of what gA is a part of.
-- What the text does not say plainly has the tensor's own name.
local M = {}

-- The parts of a text between commas that stand in no brackets.
local function items_of(text)
  local items, depth, from = {}, 0, 1
  for at, c in text:gmatch "()([%(%){}%[%],])" do
    if c == "," then
      if depth == 0 then items[#items + 1], from = text:sub(from, at - 1), at + 1 end
    else
      depth = depth + (c:find "[%({%[]" and 1 or -1)
    end
  end
  items[#items + 1] = text:sub(from)
  return items
end

local function without_comment(line) return (line:gsub("%-%-.*$", "")) end

local makes_part = {}
for name in ("tile parallelize guard select group view recast composition slice tma_tensor flatten "
  .. "coalesce logical_divide zipped_divide tiled_divide flat_divide"):gmatch "%S+" do
  makes_part[name] = true
end

-- The first known name in an expression that makes a part: a call of a function that does,
-- thr:partition_A(sA), or a slice of what has the name, gA(_, _, k).
local function first_known(expression, parent_of)
  local head, mark = expression:match "^%s*([%a_][%w_.]*)%s*([%(:{]?)"
  local method = mark == ":" and expression:match ":([%w_]+)" or ""
  local is_slice = head and parent_of[head] and mark == "("
  if not (is_slice or makes_part[head] or method:find "^partition" or method:find "^retile") then
    return nil
  end
  for name in expression:gmatch "[%a_][%w_]*" do
    if parent_of[name] then return name end
  end
end

local function read_line(line, parent_of)
  local names, values = without_comment(line):match "^%s*local%s+([%w_%s,<>]-)%s*=%s*(.+)$"
  if not names then return end
  local items = items_of(values)
  for i, text in ipairs(items_of(names)) do
    local name = text:match "[%a_][%w_]*"
    local parent = name and first_known(items[i] or items[#items], parent_of)
    if parent and not parent_of[name] then parent_of[name] = parent end
  end
end

-- name -> the name that it is a part of; of a tensor its own.
local function parents(lines, first, last, tensors)
  local parent_of = {}
  for _, name in ipairs(tensors) do parent_of[name] = name end
  for n = first, last do read_line(lines[n] or "", parent_of) end
  return parent_of
end

-- A function from a line's number and a tensor to how the line calls it: a list of names, the
-- tensor's first: {"A", "gA", "tAgA"}.
function M.of(lines, first, last, tensors)
  local parent_of = parents(lines, first, last, tensors)
  local function chain_of(name)
    local chain = { name }
    while parent_of[chain[1]] ~= chain[1] do table.insert(chain, 1, parent_of[chain[1]]) end
    return chain
  end
  return function(n, tensor)
    local best = { tensor }
    for name in without_comment(lines[n] or ""):gmatch "[%a_][%w_]*" do
      local chain = parent_of[name] and chain_of(name) or {}
      if chain[1] == tensor and #chain > #best then best = chain end
    end
    return best
  end
end

return M
