-- products.lua: `main.lua matmul [--all] [--config=NAME] [--split=N] [--cold=no] [word ...]`: the
-- operator matmul beside cuBLAS, by the method of `cuttle bench matmul`, on the problems of the
-- project's tables. A problem is measured if each word is in its line: "f32", "NT", "4096".
local ct = require "cuttle"
local bench = require "cuttle.bench_matmul"
local configs = require "configs"
local problem = bench.problem
local M = {}

-- {====== Problems ======

local small_k <const> = { { 5120, 5120, 256 }, { 2048, 2048, 256 } }
local few_tiles <const> = { { 1024, 1024, 1024 }, { 512, 512, 8192 } }

local function gpu_problems()
  local list = {}
  for _, major in ipairs { "NT", "TN" } do
    for _, n in ipairs { 4096, 8192 } do list[#list + 1] = problem("f32", major, n, n, n) end
    for _, s in ipairs(small_k) do list[#list + 1] = problem("f32", major, table.unpack(s)) end
    for _, s in ipairs(few_tiles) do list[#list + 1] = problem("f32", major, table.unpack(s)) end
  end
  list[#list + 1] = problem("f32", "row-major", 5120, 5120, 256)
  for _, dtype in ipairs { "tf32", "f16", "bf16", "i8" } do
    for _, major in ipairs { "NT", "TN", "NN", "TT" } do
      for _, n in ipairs { 4096, 8192 } do list[#list + 1] = problem(dtype, major, n, n, n) end
    end
  end
  return list
end

local function cpu_problems()
  local list = {}
  for _, dtype in ipairs { "f32", "f64", "i32", "f16" } do
    for _, major in ipairs { "NT", "TN" } do
      list[#list + 1] = problem(dtype, major, 256, 256, 256)
    end
  end
  list[#list + 1] = problem("f32", "NT", 1024, 1024, 256)
  list[#list + 1] = problem("f32", "row-major", 250, 250, 250)
  return list
end

local function has_words(p, words)
  for _, word in ipairs(words) do
    if not (" " .. p.name .. " "):find(word, 1, true) then return false end
  end
  return true
end

-- {====== Running ======

local function read_options(...)
  local options, words = { cold = true, rows_of = configs.of }, {}
  for _, word in ipairs { ... } do
    local key, value = word:match "^%-%-(%w+)=?(.*)$"
    if key == "all" then
      options.all = true
    elseif key == "config" then
      options.config = configs.by_name(value)
    elseif key == "split" then
      options.split = math.tointeger(tonumber(value))
    elseif key == "cold" then
      options.cold = value ~= "no"
    elseif key then
      error(("bench matmul: there is no option '%s'; there are --all, --config=NAME, --split=N "
        .. "and --cold=no, and words such as f32, NT and 4096"):format(word), 0)
    else
      words[#words + 1] = word
    end
  end
  return options, words
end

function M.run(...)
  local options, words = read_options(...)
  local buffers, n_run = {}, 0
  for _, p in ipairs(ct.device().sm and gpu_problems() or cpu_problems()) do
    if has_words(p, words) then
      n_run = n_run + 1
      bench.measure(p, options, buffers, bench.print)
    end
  end
  if n_run == 0 then
    print("matmul: no problem has all of these words: " .. table.concat(words, " "))
  end
end

return M
