-- example_turns.lua: versions of an example that calls beside_blas, and cuBLAS, timed alternately:
--   cuttle scripts/bench/example_turns.lua [--args=4096,4096,4096,NT] [--turns=9] FILE...
-- Each file is run with these arguments up to its call of beside_blas, and its result is compared
-- with the reference. Ratios are those of the first file's median to each one's.
package.path = (arg[0]:match "^(.*/)" or "./") .. "?.lua;" .. package.path
local ct = require "cuttle"
local example = require "example"
local median = require "cuttle.lists".median

local BATCH_MS <const> = 10

local files, options = {}, { args = "", turns = "9" }
for _, a in ipairs(arg) do
  local key, value = a:match "^%-%-(%w+)=(.*)$"
  if options[key] then options[key] = value else files[#files + 1] = a end
end
local words = {}
for word in options.args:gmatch "[^,]+" do words[#words + 1] = word end
if #files == 0 then error("example_turns: no file; give versions of an example", 0) end

-- {name, launch, times} of a file, and a launch of cuBLAS on its operands.
local function read(file)
  local _, _, launch, A, B, C, tolerance = example.run_to("cuttle.beside_blas", file,
    table.unpack(words))
  launch()
  local R = ct.reference.matmul(A, B)
  print(file, ct.allclose(C, R, tolerance) and "correct" or "WRONG")
  return { name = file, launch = launch, times = {} },
    { name = "cuBLAS", launch = function() ct.reference.matmul(A, B, R) end, times = {} }
end

-- Launches that take about BATCH_MS.
local function reps_of(launch)
  return math.max(1, math.ceil(BATCH_MS / ct.bench(launch, { batches = 1, reps = 1 })))
end

local list, blas = {}, nil
for i, file in ipairs(files) do list[i], blas = read(file) end
if ct.device().sm then list[#list + 1] = blas end
for turn = 0, math.tointeger(tonumber(options.turns)) do -- the first one is not counted
  for _, one in ipairs(list) do
    one.reps = one.reps or reps_of(one.launch)
    one.times[turn] = ct.bench(one.launch, { batches = 1, reps = one.reps })
  end
end
for _, one in ipairs(list) do one.ms = median(one.times) end
for _, one in ipairs(list) do
  print(("%-40s %9.4f ms  x %.3f"):format(one.name, one.ms, list[1].ms / one.ms))
end
