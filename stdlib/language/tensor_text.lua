-- tensor_text.lua: the elements of a tensor as text (interp/tensor/tensor_print.c): a matrix for
-- each slice of the modes after the second. If there are many, the middle is left out.
local M = {}

local MOST_ROWS <const>, MOST_COLUMNS <const>, MOST_SLICES <const> = 12, 10, 4

-- The coordinates below n that are shown, at most `most`. gap: the place of the first one after
-- those that are left out, or nil.
local function shown(n, most)
  if n <= most then
    local all = {}
    for i = 1, n do all[i] = i - 1 end
    return all
  end
  local list = { gap = most // 2 + 1 }
  for i = 1, most - 1 do list[i] = i < list.gap and i - 1 or n - most + i end
  return list
end

-- The matrix of text_of(i, j).
local function matrix(rows, columns, text_of)
  local cells, width, out = {}, 3, {}
  for i, row in ipairs(rows) do
    cells[i] = {}
    for j, column in ipairs(columns) do
      cells[i][j] = text_of(row, column)
      width = math.max(width, #cells[i][j])
    end
  end
  local field = (" %%%ds"):format(width + 1)
  for i in ipairs(rows) do
    if i == rows.gap then out[#out + 1] = "\n" .. field:format "..." end
    out[#out + 1] = "\n"
    for j in ipairs(columns) do
      out[#out + 1] = (j == columns.gap and "  ..." or "") .. field:format(cells[i][j])
    end
  end
  return table.concat(out)
end

--- cell(at) gives the element at the index `at` of the layout, as text. A vector is one row, so its
--- only mode is the columns.
function M.elements(l, cell)
  local n_modes, out = rank(l), {}
  local first = n_modes == 1 and 0 or 1 -- the mode of the columns
  local function extent(mode) return mode < n_modes and size(l, mode) or 1 end
  local function index(mode, crd) return mode < n_modes and get_mode(l, mode)(crd) or 0 end
  local rows = shown(first == 0 and 1 or extent(0), MOST_ROWS)
  local columns, n_slices = shown(extent(first), MOST_COLUMNS), 1
  for mode = 2, n_modes - 1 do n_slices = n_slices * extent(mode) end
  if #rows * #columns == 0 then return "" end
  local slices = shown(n_slices, MOST_SLICES)
  for i, slice in ipairs(slices) do
    local base, crd = 0, {}
    for mode = 2, n_modes - 1 do
      crd[#crd + 1] = "," .. slice % extent(mode)
      base = base + index(mode, slice % extent(mode))
      slice = slice // extent(mode)
    end
    out[#out + 1] = i == slices.gap and "\n..." or ""
    out[#out + 1] = n_modes > 2 and ("\n(_,_%s)"):format(table.concat(crd)) or ""
    out[#out + 1] = matrix(rows, columns, function(row, column)
      return cell(base + (first == 0 and 0 or index(0, row)) + index(first, column))
    end)
  end
  return table.concat(out)
end

return M
