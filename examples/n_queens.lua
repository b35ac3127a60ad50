-- n_queens.lua: in how many ways n queens can stand on a board of n x n squares without attacking
-- each other. Each thread takes one placement of the first rows and searches the rest depth first,
-- with its own stack in a local array.
-- Usage: cuttle n_queens.lua [n [rows that are placed before]]
local on_gpu = device().sm ~= nil
local n = tonumber(arg[1] or (on_gpu and 14 or 9))
local n_before = tonumber(arg[2] or (on_gpu and 5 or 2))
local BLOCK <const> = 128

-- A board is three words of bits: columns that are taken, and those that diagonals reach in the
-- next row, to the left and to the right. Squares that nothing attacks are zeros in all three.
local function search(width)
  local all = (1 << width) - 1
  return kernel("queens", function(boards, counts, n_boards)
    local i = blockIdx.x * blockDim.x + threadIdx.x
    if i < n_boards then
      local columns, left, right = boards[{0, i}], boards[{1, i}], boards[{2, i}]
      local stack = local_array(u32, {4, width})     -- a board and its open squares, by row
      local open, depth, count = ~(columns | left | right) & u32(all), 0, u32(0)
      while depth >= 0 do
        if open == 0 then                                -- back to the row before
          depth = depth - 1
          if depth >= 0 then
            columns, left = stack[{0, depth}], stack[{1, depth}]
            right, open = stack[{2, depth}], stack[{3, depth}]
          end
        else
          local queen = open & (~open + 1)
          open = open ~ queen
          if columns | queen == all then
            count = count + 1
          else
            stack[{0, depth}], stack[{1, depth}] = columns, left
            stack[{2, depth}], stack[{3, depth}] = right, open
            depth = depth + 1
            columns = columns | queen
            left, right = (left | queen) << 1 & u32(all), (right | queen) >> 1
            open = ~(columns | left | right) & u32(all)
          end
        end
      end
      counts[i] = count
    end
  end)
end

-- The same in plain Lua; visits each board that has `rows` rows left.
local function walk(all, rows, columns, left, right, visit)
  if rows == 0 then return visit(columns, left, right) end
  local open = all & ~(columns | left | right)
  while open ~= 0 do
    local queen = open & -open
    open = open ~ queen
    walk(all, rows - 1, columns | queen, (left | queen) << 1 & all, (right | queen) >> 1, visit)
  end
end

local function boards_of(width, rows)
  local list = {}
  walk((1 << width) - 1, rows, 0, 0, 0, function(...) list[#list + 1] = {...} end)
  local boards = {}
  for part = 1, 3 do
    boards[part] = {}
    for i, board in ipairs(list) do boards[part][i] = board[part] end
  end
  return from_table(u32, boards), #list
end

local function count(width, rows)
  local boards, n_boards = boards_of(width, rows)
  local counts, total = zeros(u32, n_boards), 0
  local launch = search(width):prepare{grid = cdiv(n_boards, BLOCK), block = BLOCK}(boards, counts,
    n_boards)
  launch()
  for _, c in ipairs(counts:totable()) do total = total + c end
  return total, launch
end

local ok = true
for size, before in pairs{[1] = 0, [4] = 1, [6] = 2, [8] = 3} do
  local want = 0
  walk((1 << size) - 1, size, 0, 0, 0, function() want = want + 1 end)
  ok = ok and count(size, before) == want
end
local known = {1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512}
local total, launch = count(n, n_before)
ok = ok and (known[n] or total) == total
print(("%d queens on %s: %d ways, %s"):format(n, device().name, total, ok and "correct" or "wrong"))
print(("%.3f ms"):format(bench(launch)))
os.exit(ok, true)
