-- pipeline.lua: the main loop of a kernel that computes with tile after tile of its operands. While
-- it works with one, the next `ahead` ones are under way: shared memory has `stages` slots, tile k
-- goes to slot k % stages, and where there is a function `store` one tile waits in registers. The
-- loop is plain code of a kernel, as written by hand, into which the caller's functions are traced.
local option_names = require "cuttle.option_names"
local tiles = require "cuttle.tiles"
local M = {}

local fail, type_name = tiles.fail, tiles.type_name

local MAX_PENDING <const> = 7 -- of cp_async_wait

-- {====== What the caller gives ======

local func <const>, number <const> = option_names.func, option_names.number
local fields <const> = { load = func, store = func, fetch = func, compute = func, stages = number,
                         blocks = number, parts = number }

local function check_fields(p)
  if type(p) ~= "table" then
    fail("pipeline", "argument 2 is of type %s; a table {load = ..., compute = ...} was expected",
      type_name(p))
  end
  option_names.read("pipeline", p, fields, "field")
  for _, key in ipairs { "load", "compute" } do
    if p[key] == nil then fail("pipeline", "%s is missing; a function was expected", key) end
  end
  for _, key in ipairs { "blocks", "parts" } do
    if p[key] and not p.fetch then
      fail("pipeline", "%s = %s without a function fetch, which brings a block to registers", key,
        p[key])
    end
  end
end

local function check_count(name, n, least, most, why)
  if math.type(n) == "integer" and n >= least and n <= most then return n end
  local range_text = most == math.maxinteger and "on" or "to " .. most
  fail("pipeline", "%s is %s; expected an integer from %d %s: %s", name, tostring(n), least,
    range_text, why)
end

-- The fields with what they are where they are not given.
local function complete(p)
  check_fields(p)
  local least = p.store and 1 or 2
  local stages = check_count("stages", p.stages or least, least, MAX_PENDING + 2,
    p.store and "the slots of shared memory" or "a single slot needs a function store")
  local blocks = p.fetch and check_count("blocks", p.blocks, 2, math.maxinteger,
    "how many of them fetch brings")
  local parts = blocks and check_count("parts", p.parts or 1, 1, blocks - 1,
    ("the last block of %d waits for the next tile"):format(blocks)) or 1
  return { load = p.load, store = p.store, fetch = p.fetch, compute = p.compute, stages = stages,
           ahead = math.max(stages - 1, 1), blocks = blocks, parts = parts }
end

-- {====== The steps of a loop ======

local function next_slot(p, slot)
  if p.stages == 1 then return 0 end
  return where(slot + 1 < p.stages, slot + 1, 0)
end

-- The copies of one tile are one group, which may be empty: so the wait can count tiles.
local function end_group(p)
  if p.stages > 1 then cp_async_commit() end
end

-- All threads see the tile after this one, and its slot's predecessor may be written again.
local function await_tile(p)
  if p.stages > 1 then cp_async_wait(p.ahead - 1) end
  sync_threads()
end

local function store(p, more, slot)
  if p.store == nil then return end
  if p.stages == 1 then sync_threads() end -- the slot is still read
  if more then p.store(slot) end
end

local function load_first_tiles(p, n)
  for k = 0, p.ahead - 1 do
    if k < n then
      for part = 0, p.parts - 1 do p.load(k, k, part) end
      if p.store then p.store(k) end
    end
    end_group(p)
  end
end

-- {====== The loops ======

-- compute(slot, k) reads shared memory itself: one barrier for each tile, with one slot two.
local function by_tiles(p, n)
  local read, write = 0, p.ahead % p.stages
  for k in range(0, n, 1, { unroll = 1 }) do
    local more = k + p.ahead < n
    await_tile(p)
    if more then p.load(k + p.ahead, write, 0) end
    end_group(p)
    p.compute(read, k)
    store(p, more, write)
    read, write = next_slot(p, read), next_slot(p, write)
  end
end

-- fetch(block, slot) brings a block to registers while compute works with the one before. With the
-- last block of a tile comes the first one of the next, so the barrier stands before it. After the
-- last tile its own first block comes again, for nothing.
local function by_blocks(p, n)
  local read, write, last = 0, p.ahead % p.stages, p.blocks - 1
  if n > 0 then
    await_tile(p)
    p.fetch(0, read)
  end
  for k in range(0, n, 1, { unroll = 1 }) do
    local more = k + p.ahead < n
    for block = 0, last do
      if block == last then
        store(p, more, write)
        await_tile(p)
        read = where(k + 1 < n, next_slot(p, read), read)
      end
      p.fetch((block + 1) % p.blocks, read)
      if block < p.parts then
        if more then p.load(k + p.ahead, write, block) end
        if block == p.parts - 1 then end_group(p) end
      end
      p.compute(block, k)
    end
    write = next_slot(p, write)
  end
end

function M.pipeline(n, fields_of_loop)
  local p = complete(fields_of_loop)
  if math.type(n) ~= "integer" then
    fail("pipeline", "argument 1 is of type %s; the number of tiles, an integer, was expected",
      type_name(n))
  end
  load_first_tiles(p, n)
  if p.fetch then by_blocks(p, n) else by_tiles(p, n) end
end

return M
