-- marks_cost.lua: what marks cost on a GPU, and timelines measured beside predicted:
--   cuttle scripts/bench/marks_cost.lua [--sizes=M,N,K] [FOLDER]
-- Times examples/hopper_gemm.lua and attention without marks, with marks that no block records, and
-- with those of one block recorded, alternately in one process; ratios of the medians count. It
-- writes the timelines of both to FOLDER, by default $OUT or the current one: each as text and as
-- SVG, the whole and its beginning. Without a GPU it takes small sizes and predicts timelines only.
package.path = (arg[0]:match "^(.*/)" or "./") .. "?.lua;" .. package.path
local ct = require "cuttle"
local attention = require "cuttle.attention"
local example = require "example"
local marks = require "cuttle.marks"
local median = require "cuttle.lists".median

local BAR <const> = 1.02
local TURNS <const>, BATCH_MS <const> = 9, 60
local on_gpu <const> = ct.device().sm ~= nil

local sizes, folder = on_gpu and { 8192, 8192, 8192 } or { 256, 512, 256 }, os.getenv "OUT" or "."
for _, a in ipairs(arg) do
  local list = a:match "^%-%-sizes=(.*)"
  if list then
    sizes = {}
    for n in list:gmatch "%d+" do sizes[#sizes + 1] = math.tointeger(n) end
  else
    folder = a
  end
end

-- {====== Launches ======

-- The launch that the example prepares for a product of that size.
local function hopper_gemm(m, n, k)
  local _, _, launch = example.run_to("cuttle.beside_blas", "hopper_gemm", tostring(m), tostring(n),
    tostring(k))
  return launch
end

local function attend(b, h, s, d)
  local layout = ct.row_major { b, h, s, d }
  local operands = {}
  for i = 1, 3 do operands[i] = ct.randn(ct.bf16, layout) end
  return (attention.prepare(operands[1], operands[2], operands[3], {}))
end

-- {====== Cost ======

local how <const> = {
  { name = "without marks", run = function(f) return f() end },
  { name = "marks, none recorded",
    run = function(f) return marks.with({ waits = true }, nil, f) end },
  { name = "marks, one block recorded",
    run = function(f) return marks.with({ waits = true, record = true }, nil, f) end },
}

local function time(launch)
  local times = {}
  local once = math.max(ct.bench(launch, { batches = 1, reps = 3 }), 1e-3)
  local reps = on_gpu and math.max(5, math.ceil(BATCH_MS / once)) or 1
  for turn = 0, on_gpu and TURNS or 1 do -- the first one compiles
    for i, h in ipairs(how) do
      local ms = h.run(function() return (ct.bench(launch, { batches = 1, reps = reps })) end)
      times[i] = times[i] or {}
      if turn > 0 then table.insert(times[i], ms) end
    end
  end
  return times
end

local function compare(name, launch)
  local times = time(launch)
  print(("%s on %s"):format(name, ct.device().name))
  local base = median(times[1])
  for i, h in ipairs(how) do
    local ratio = median(times[i]) / base
    print(("%-28s %9.4f ms  x %.4f%s"):format(h.name, median(times[i]), ratio,
      (i == 1 or not on_gpu) and "" or ratio < BAR and "  below 1.02" or "  NOT below 1.02"))
  end
end

-- {====== Timelines ======

local function write(name, text)
  local path = folder .. "/" .. name
  local file <close> = assert(io.open(path, "w"))
  file:write(text, "\n")
  print(path)
end

local function draw(name, launch)
  local t = ct.timeline(launch, { device = on_gpu })
  write(name .. ".txt", tostring(t))
  write(name .. ".svg", t:svg())
  local cycles = math.max(t.cycles, t.measured and t.measured.cycles or 0)
  write(name .. "_begin.svg", t:svg { from = 0, to = math.ceil(cycles / 6) })
  print(t)
end

compare("hopper_gemm " .. table.concat(sizes, "x"), hopper_gemm(table.unpack(sizes)))
draw("hopper_gemm", on_gpu and hopper_gemm(4096, 2048, 2048) or hopper_gemm(256, 512, 256))
local attention_shape <const> = on_gpu and { 1, 32, 2048, 128 } or { 1, 1, 256, 64 }
compare("attention " .. table.concat(attention_shape, "x"), attend(table.unpack(attention_shape)))
draw("attention", attend(table.unpack(attention_shape)))
