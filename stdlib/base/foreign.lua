-- foreign.lua: what other languages call things. The tables of docs/from_*.md say it in rows
-- | theirs | here | note |; scripts/embed.lua packs those that the annotations do not know into the
-- module cuttle.foreign_rows, and help looks them up. Nothing of the language is needed here.
local M = {}

-- A name of C++ without its namespaces: cutlass::arch::NamedBarrier -> NamedBarrier
function M.without_namespaces(name)
  return (name:gsub("%f[%w_][%l%d_]+::", ""))
end

-- "CuTe: local_tile, get<I>. PTX: elect.sync. MoYe: @tile.": local_tile, get, elect.sync, tile.
function M.footer_names(line)
  local names = {}
  local list = line:gsub("^CuTe: ", ""):gsub("%. PTX: ", ", "):gsub("%. MoYe: ", ", ")
  for item in list:gsub("%.$", ""):gmatch("[^,]+") do
    local name, rest = M.without_namespaces(item):match("^%s*@?([%w_.]+!?)(.*)$")
    local is_name = name and name ~= "none" and (rest == "" or rest:find("^[(<]"))
    names[#names + 1] = is_name and name or nil
  end
  return names
end

-- What a name is looked up by: cuda.shared.array of cuda.shared.array((32, 33), float32), num_warps
-- of num_warps=8, triton.jit of @triton.jit.
function M.key(text)
  local name = M.without_namespaces(text:match("^%s*@?(.-)%s*$"))
  local head = name:match("^[^(%[<{=]*"):gsub("%s+$", "")
  return head ~= "" and head or name
end

-- The rows of the tables of a page: {names = {...}, here =, note =}.
function M.page_rows(text)
  local rows, is_table = {}, false
  for line in text:gmatch("[^\n]+") do
    local theirs, here, note = line:match("^| (.-) | (.-) |%s*(.-)%s*|$")
    if line:find("^| [^|]+ | here | note |$") then
      is_table = true
    elseif theirs and is_table then
      local row = { names = {}, here = here, note = note }
      for name in theirs:gmatch("`(.-)`") do row.names[#row.names + 1] = name end
      rows[#rows + 1] = row
    elseif not line:find("^|%-") then
      is_table = false
    end
  end
  return rows
end

-- The rows as a text, without the names that `known` has and those that are not ASCII.
function M.packed(rows, known)
  local lines = {}
  for _, row in ipairs(rows) do
    local names = {}
    for _, name in ipairs(row.names) do
      local key = M.key(name)
      local is_new = not known[key] and not key:find("[\128-\255]")
      if is_new then names[#names + 1], known[key] = key, known[key] end
    end
    if #names > 0 then
      lines[#lines + 1] = ("%s\t%s\t%s\n"):format(table.concat(names, "`"), row.here, row.note)
    end
  end
  return table.concat(lines)
end

-- "SM80_..._TN" as a pattern of whole names.
local function pattern_of(key)
  return "^" .. key:gsub("%p", "%%%0"):gsub("%%%.%%%.%%%.", ".*") .. "$"
end

-- The rows of a packed text that have the name, or else the name without its last words:
-- {name =, here =, note =}.
function M.find(text, name)
  local key, found = M.key(name), {}
  for names, here, note in text:gmatch("([^\t\n]+)\t([^\t\n]*)\t([^\n]*)\n") do
    for other in names:gmatch("[^`]+") do
      local is_pattern = other:find("...", 1, true) and #other > 3
      if other == key or is_pattern and key:find(pattern_of(other)) then
        found[#found + 1] = { name = key, here = here, note = note }
        break
      end
    end
  end
  local shorter = key:match("^(.*%S)%s+%S+$")
  return #found == 0 and shorter and M.find(text, shorter) or found
end

return M
