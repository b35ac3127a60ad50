-- How `tune` compares results on a device, which is played: kernels do nothing.
local tap = dofile "tests/support/tap.lua"
local played = dofile "tests/support/played_device.lua"

-- Elements that make no whole words are not compared as words.
played.folder.write("t.lua", played.head .. [[
local compare, judging = require "cuttle.compare", require "cuttle.tune_judge"
compare.least = 1
local function report(word)
  local pipe <close> = io.popen "ls cache/*.ct | wc -l"
  print(word, pipe:read "n")
end
for _, name in ipairs { "compile_all", "check_all" } do
  local plain = judging[name]
  judging[name] = function(judge, list, step)
    local n_steps = 0
    local left, goes_on = plain(judge, list, function()
      n_steps = n_steps + 1
      return step()
    end)
    report(name)
    if n_steps ~= #list then print("steps", n_steps) end
    return left, goes_on
  end
end

local begin, names = internal.launch.time_launches, {}
internal.launch.time_launches = function()
  local session = begin()
  return {
    finish = function()
      local rows = session:finish()
      for _, row in ipairs(rows) do names[row.name] = true end
      return rows
    end,
    close = function() session:close() end,
  }
end

local worst, n_compared = compare.worst, 0
compare.worst = function(...)
  n_compared = n_compared + 1
  return worst(...)
end

local function scale(config)
  local k = kernel("scale", function(x)
    x[threadIdx.x] = cast(x[threadIdx.x] * config.by, x.dtype)
  end)
  return function(x) k { grid = 1, block = 64 }(type(x) == "table" and x.t or x) end
end
tune(scale, { by = { 2, 3, 4 } }, { name = "words" }):tune(zeros(f32, 100))
tune(scale, { by = { 2, 3, 4 } }, { name = "bytes" }):tune(zeros(i8, 101))
tune(scale, { by = { 2, 3, 4 } }, { name = "near", tolerance = { atol = 1 } }):tune(zeros(i8, 101))
tune(scale, { by = { 2, 3, 4 } }, { name = "tables" }):tune({ t = zeros(i8, 101) })
print("compared", n_compared)
local sorted = {}
for name in pairs(names) do sorted[#sorted + 1] = name end
table.sort(sorted)
print("launched", table.concat(sorted, " "))
]])
local out = played.run "t.lua"
local counts = {}
for word, n in out:gmatch "(%l+_all)\t(%d+)" do counts[#counts + 1] = word .. " " .. n end
local function compiled(i, want, name)
  tap.is(table.concat(counts, ", ", 2 * i - 1, 2 * i), want, name)
end
tap.is(#counts, 8, "all was tuned")
compiled(1, "compile_all 6, check_all 6", "three kernels, and three that compare, at once")
compiled(2, "compile_all 11, check_all 11", "bytes that are to be equal are compared by others")
compiled(3, "compile_all 13, check_all 13", "and those that need not")
compiled(4, "compile_all 13, check_all 13", "tensors in tables by the same")
tap.ok(out:find "\ncompared\t6\n", "results without words are compared by allclose", out)
tap.ok(not out:find "\nsteps\t", "a step of the bar for each configuration", out)
tap.ok(out:find "\nlaunched\tscale\n", "kernels that compare are none of a candidate's", out)
played.folder.remove()
tap.done()
