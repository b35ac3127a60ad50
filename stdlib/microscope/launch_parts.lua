-- launch_parts.lua: what the threads of a launch access, step by step, so short that a page can
-- hold it. watch.parts gives one part for each access of a warp (runtime/watch/parts.h). Here
-- the parts of all warps and steps that differ in their place alone become one shape:
--   { site, threads, offsets, elems, runs }
-- threads, offsets and elems are numbers of vectors. Thread threads[i] of the block accesses the
-- elements base + offsets[i] + elems[e] at the steps of the runs {step, step by, count, add, add
-- by}: at turn j of a run, at step + j * (step by), with add + j * (add by) added to the base.
-- Blocks whose shapes are the same share a program, the list of its shapes, and differ in bases.
local M = {}

M.FIELDS = 7 -- of a part: block, warp, step, site, lanes, elems, base
local FIELDS <const> = M.FIELDS
local WARP <const> = 32

-- {====== Vectors ======

-- A list of lists of integers, each once: number of it, from 0.
local function new_pool()
  local pool, number = { list = {} }, {}
  function pool.add(list)
    local key = table.concat(list, ",")
    if not number[key] then
      number[key] = #pool.list
      pool.list[#pool.list + 1] = list
    end
    return number[key]
  end
  return pool
end

-- A list as its first number, then how far each is from the one before, and how often in a row:
-- {0,1,2,3,8,9} -> {0, 1,3, 5,1, 1,1}.
local function by_steps(list)
  local out = { list[1] }
  for i = 2, #list do
    local by = list[i] - list[i - 1]
    if #out > 1 and out[#out - 1] == by then
      out[#out] = out[#out] + 1
    else
      out[#out + 1], out[#out + 2] = by, 1
    end
  end
  return out
end

-- {====== Elements of the tensor that owns the memory ======

-- The elements of an access that counts in `bytes`, from `at` bytes on, as elements of `own` bytes.
local function rescaled(elems, bytes, own)
  if bytes == own then return elems end
  local out, seen = {}, {}
  for _, e in ipairs(elems) do
    for i = 0, math.max(bytes // own, 1) - 1 do
      local place = e * bytes // own + i
      if not seen[place] then out[#out + 1], seen[place] = place, true end
    end
  end
  return out
end

-- {====== Shapes ======

local Packer = {}
Packer.__index = Packer

-- The steps and bases of a warp as runs, and as text.
local function runs_of(steps, bases)
  local runs, at, n = {}, 1, #steps
  while at <= n do
    local step, base, count = steps[at], bases[at], 1
    local step_by, base_by = (steps[at + 1] or step) - step, (bases[at + 1] or base) - base
    while at + count <= n and steps[at + count] == step + count * step_by
      and bases[at + count] == base + count * base_by do count = count + 1 end
    if count == 1 then step_by, base_by = 0, 0 end
    for _, x in ipairs { step, step_by, count, base - bases[1], base_by } do runs[#runs + 1] = x end
    at = at + count
  end
  return runs, table.concat(runs, ",")
end

-- The parts of one block by what differs in step and base only.
function Packer:group(parts, vecs, from, to)
  local groups, by_key = {}, {}
  for at = from, to, FIELDS do
    local site = self.site_of[parts[at + 3]]
    local lanes, elems = parts[at + 4], parts[at + 5]
    local key = ("%d %d %d %d"):format(parts[at + 3], parts[at + 1], lanes, elems)
    local group = by_key[key]
    if not group then
      group = { site = site, warp = parts[at + 1], lanes = lanes, elems = elems,
                steps = {}, bases = {}, vecs = vecs }
      by_key[key] = group
      groups[#groups + 1] = group
    end
    group.steps[#group.steps + 1] = self.step_of[parts[at + 2]]
    group.bases[#group.bases + 1] = parts[at + 6] * site.bytes // site.own + site.at
  end
  return groups
end

function Packer:elems_of(group)
  local site = group.site
  local key = ("%s %d %d %d"):format(tostring(group.vecs), group.elems, site.bytes, site.own)
  local known = self.elems[key]
  if not known then
    known = self.vecs.add(by_steps(rescaled(group.vecs[group.elems], site.bytes, site.own)))
    self.elems[key] = known
  end
  return known
end

-- Warps that do the same at places of their own are one.
function Packer:merge(groups)
  local shapes, by_key = {}, {}
  for _, group in ipairs(groups) do
    local elems = self:elems_of(group)
    local runs, text = runs_of(group.steps, group.bases)
    local key = ("%d %d %s"):format(group.site.number, elems, text)
    local shape = by_key[key]
    if not shape then
      shape = { site = group.site, elems = elems, runs = runs, threads = {}, offsets = {} }
      by_key[key] = shape
      shapes[#shapes + 1] = shape
    end
    local lanes, n = group.vecs[group.lanes], 1
    for lane = 0, WARP - 1 do
      if lanes[1] >> lane & 1 == 1 then
        n = n + 1
        shape.threads[#shape.threads + 1] = group.warp * WARP + lane
        shape.offsets[#shape.offsets + 1] = group.bases[1]
          + lanes[n] * group.site.bytes // group.site.own
      end
    end
  end
  return shapes
end

function Packer:add_block(number, groups)
  local program, bases = {}, {}
  for i, shape in ipairs(self:merge(groups)) do
    local base = shape.offsets[1]
    for k, offset in ipairs(shape.offsets) do shape.offsets[k] = offset - base end
    local row = { shape.site.number, self.vecs.add(by_steps(shape.threads)),
                  self.vecs.add(by_steps(shape.offsets)), shape.elems }
    table.move(shape.runs, 1, #shape.runs, 5, row)
    program[i], bases[i] = self.shapes.add(row), base
  end
  self.blocks[number] = { self.programs.add(program), table.unpack(bases) }
end

-- Where the parts of each block begin and end in a list of parts: those of a block stand together,
-- but for blocks of a cluster, which take turns on workers of their own.
local function each_block(parts, visit)
  local from = 1
  for at = 1, #parts + 1, FIELDS do
    if parts[at] ~= parts[from] then
      visit(parts[from], from, at - FIELDS)
      from = at
    end
  end
end

-- The steps that some thread of some block does something at, from 0 on.
local function used_steps(found)
  local used, list, step_of = {}, {}, {}
  for _, worker in ipairs(found.workers) do
    for at = 3, #worker.parts, FIELDS do used[worker.parts[at]] = true end
  end
  for step in pairs(used) do list[#list + 1] = step end
  table.sort(list)
  for i, step in ipairs(list) do step_of[step] = i - 1 end
  return list, step_of
end

-- `found`: what watch.parts gave; `site_of[number]`: {number, bytes, own, at}: the site of an
-- operand of an instruction, the bytes of its elements and of its tensor's, and where it begins.
function M.pack(found, site_of)
  local steps, step_of = used_steps(found)
  local packer = setmetatable({ site_of = site_of, step_of = step_of, vecs = new_pool(),
    shapes = new_pool(), programs = new_pool(), blocks = {}, elems = {} }, Packer)
  for _, worker in ipairs(found.workers) do
    each_block(worker.parts, function(block, from, to)
      packer:add_block(block, packer:group(worker.parts, worker.vecs, from, to))
    end)
  end
  return { steps = steps, vecs = packer.vecs.list, shapes = packer.shapes.list,
           programs = packer.programs.list, blocks = packer.blocks }
end

return M
