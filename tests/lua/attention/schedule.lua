-- The schedule of attention's persistent kernels: every tile once, blocks that end together, in the
-- order that keeps few heads under way.
local schedule = require "cuttle.attention_schedule"
local shape <const> = { rows = 192, keys = 80, group_rows = 64 }

local function equal_sequences(b, n_q, n_k)
  local list = {}
  for i = 1, b do list[i] = { n_q = n_q, n_k = n_k } end
  return list
end

-- Is every tile there once, and no other?
local function is_complete(p, blocks)
  local seen, n = {}, 0
  for _, block in ipairs(blocks) do
    for _, t in ipairs(block) do
      local key = schedule.pack(t, p.heads)
      if seen[key] then return false end
      seen[key] = true
      n = n + 1
    end
  end
  local expected = 0
  for i, s in ipairs(p.sequences) do
    for h = 0, p.heads - 1 do
      for m = 0, cdiv(s.n_q, shape.rows) - 1 do
        if not seen[((i - 1) * p.heads + h) << 16 | m] then return false end
        expected = expected + 1
      end
    end
  end
  return n == expected
end

-- The longest block's time in hundredths of the mean.
local function imbalance(blocks)
  local most, sum = 0, 0
  for _, block in ipairs(blocks) do
    most, sum = math.max(most, block.free), sum + block.free
  end
  return math.floor(100 * most * #blocks / sum + 0.5)
end

local function report(p, n)
  local blocks = schedule.assign(schedule.sections(p, shape), n)
  print(is_complete(p, blocks), imbalance(blocks))
end
report({ sequences = equal_sequences(4, 4096, 4096), heads = 32 }, 132)                 -- expect: true	101
report({ sequences = equal_sequences(4, 4096, 4096), heads = 32, causal = true }, 132)  -- expect: true	101
report({ sequences = equal_sequences(1, 100, 1000), heads = 3 }, 132)                   -- expect: true	4400
local lengths <const> = { { n_q = 700, n_k = 700 }, { n_q = 0, n_k = 5 }, { n_q = 1, n_k = 1 },
  { n_q = 3000, n_k = 2000 }, { n_q = 200, n_k = 0 } }
report({ sequences = lengths, heads = 16, unequal = true, causal = true }, 20)          -- expect: true	101

-- Keys that causal tiles see end with the queries: 300 queries of 1000 keys.
local s <const> = { n_q = 300, n_k = 1000 }
print(schedule.n_blocks(s, 192, 80, true), schedule.n_blocks(s, 300, 80, true))         -- expect: 12	13
print(schedule.n_blocks({ n_q = 500, n_k = 100 }, 192, 80, true))                       -- expect: 0

-- Full: the remainder tile of 64 rows, about half a tile's work, is the last of its section; four
-- heads are in the first section. Causal: by falling cost.
local full = schedule.sections({ sequences = equal_sequences(4, 4096, 4096), heads = 32 }, shape)
print(#full, #full[1], full[1][84].m, full[1][85].m, #full[#full])                      -- expect: 23	88	20	21	880
local falls = true
for _, section in ipairs(schedule.sections(
  { sequences = equal_sequences(2, 1000, 900), heads = 9, causal = true }, shape)) do
  for i = 2, #section do falls = falls and section[i].cost <= section[i - 1].cost end
end
print(falls)                                                                            -- expect: true

-- Rows of the table: how many tiles, then these.
local rows = schedule.rows(schedule.assign(schedule.sections(
  { sequences = equal_sequences(1, 400, 80), heads = 2 }, shape), 4), 2)
for _, row in ipairs(rows) do print(table.concat(row, " ")) end
-- expect: 2 0 2
-- expect: 2 1 65538
-- expect: 1 65536 0
-- expect: 1 65537 0
