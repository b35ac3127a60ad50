-- attention_backward_part.lua: a warp group's part of dQ, in attention_backward_group.lua: its
-- product, and its way to shared memory, from where a warp adds it to dQ. The results of wgmma have
-- multiples of 64 rows. So of a part with 64 columns the transpose K' dS' is computed, and its
-- stores have no bank conflicts. Other parts, as those of D = 192, are dS K, `upright`. There a
-- thread's stores of two adjacent columns would go to the same banks as those of other rows. So
-- half of the lanes store other columns of theirs at a time.
local M = {}

local WARP <const> = 32
local COLUMNS <const> = 64 -- of a part that is transposed
local ATOM <const> = 8 -- columns in which a lane has two

--- The tiled MMA of parts with so many columns of `rows` queries, and whether it is upright.
function M.mma(kind, columns, rows)
  local upright = columns % COLUMNS ~= 0
  local m, n = columns, rows
  if upright then m, n = rows, columns end
  return tiled_mma(("SM90_%dx%dx16_%s_SS"):format(m, n, kind)), upright
end

local Part = {}
Part.__index = Part

--- The part of thread `thread` of a group, which goes to `sum` (rows,columns).
function M.new(plan, sum, thread)
  local upright, slice = plan.upright, plan.dQ:get_slice(thread)
  local shape = upright and {plan.rows, plan.columns} or {plan.columns, plan.rows}
  return setmetatable({ mma = plan.dQ, upright = upright, slice = slice, sum = sum, thread = thread,
    n = plan.columns // ATOM, values = fragment(f32, plan.dQ:partition_shape_C(shape)),
    to_sum = not upright and slice:partition_C(select(sum, 1, 0)) }, Part)
end

--- The operand of keys (columns,keys), and that of dS' (rows,keys,slots).
function Part:of_keys(t)
  return self.upright and self.slice:partition_B(t) or self.slice:partition_A(t)
end

function Part:of_scores(t)
  return self.upright and self.slice:partition_A(t) or self.slice:partition_B(t)
end

--- Its product is under way until wgmma_wait.
function Part:begin(Kt, dSt, options)
  wgmma_fence()
  gemm(self.mma, self.upright and dSt or Kt, self.upright and Kt or dSt, self.values, options)
  wgmma_commit()
end

-- Of rows r and r + 8: the thread's pairs of columns in atoms j and j + apart. Where `turned` is 1,
-- the second one is stored first.
function Part:store_pairs(row, j, apart, turned)
  local lane = self.thread % WARP
  for r = 0, 1 do
    local first, second, to = fragment(f32, 2), fragment(f32, 2), self.sum(row + 8 * r, _)
    for i = 0, 1 do
      local a, b = self.values[{{i, r, j}, 0, 0}], self.values[{{i, r, j + apart}, 0, 0}]
      first[i], second[i] = where(turned == 0, a, b), where(turned == 0, b, a)
    end
    local function store(x, at) copy(x, tile(to, {2}, {ATOM // 2 * at + lane % 4})) end
    store(first, j + apart * turned)
    store(second, j + apart * (1 - turned))
  end
end

--- The part to shared memory. A row of the sum's swizzle has 2 or 4 atoms.
function Part:store()
  if not self.upright then
    copy(self.values, self.to_sum)
    return
  end
  local apart, lane = self.n % 4 == 0 and 2 or 1, self.thread % WARP
  local row, turned = self.thread // WARP * 16 + lane // 4, lane // (8 // apart) % 2
  for j = 0, self.n - 1 do
    if j // apart % 2 == 0 then self:store_pairs(row, j, apart, turned) end
  end
end

return M
