-- What profile shows of machine code: the instructions of the hot loop by script lines, with the
-- cycles that the assembler plans; and all instructions, by k{...}:sass.
local tap = dofile "tests/support/tap.lua"

local dot = kernel("dot", function(x, y)
  local i = threadIdx.x
  local sum = x[i]
  for j = 1, 1000 do
    sum = sum * 1.5 + 2
    sum = sqrt(sum)
  end
  y[i] = sum
end)
local flat = kernel("flat", function(x) x[threadIdx.x] = x[threadIdx.x] * 2 end)
local x, y = zeros(f32, 32), zeros(f32, 32)
local ok, text = pcall(function() return dot{grid = 1, block = 32}:sass(x, y) end)
if not ok and text:find("cannot load", 1, true) then tap.skip_all "no NVRTC on this machine" end

local p = profile(function()
  dot{grid = 1, block = 32}(x, y)
  flat{grid = 1, block = 32}(x)
end, { sass = true })
local sass, sum, of = p.kernels[1].sass, { instructions = 0, cycles = 0, waits = 0 }, {}
for _, line in ipairs(sass.lines) do
  for name in pairs(sum) do sum[name] = sum[name] + line[name] end
  of[line.line] = line
  tap.ok(line.line == 0 or line.file == arg[0], "of this script", line.file)
end
tap.ok(sass.is_loop and sass.loop.instructions < sass.instructions, "a loop in a kernel")
for name, n in pairs(sum) do tap.is(n, sass.loop[name], "lines add up to the loop's " .. name) end
tap.ok(of[9] and of[9].code:find "FFMA" and of[10] and of[10].code:find "MUFU",
  "a multiply-add and a root at their lines", p)
tap.ok(not of[6] and not of[12], "no lines of outside of the loop", p)
tap.ok(of[10].cycles >= of[10].instructions, "planned cycles", of[10].cycles)
local table_text = tostring(p)
tap.ok(table_text:find "line +instructions +cycles +waits +machine code\n"
  and table_text:find "\n +9 +%d+ +%d+ +%d+ +[^\n]*FFMA"
  and table_text:find "the hot loop has %d+, and one warp alone needs at least %d+ cycles for a ",
  "the table", table_text)
tap.ok(p:json():find '"sass":{', "JSON")
local whole = p.kernels[2].sass
tap.ok(not whole.is_loop and whole.loop.instructions == whole.instructions
  and table_text:find("no loop, so this has", 1, true), "a kernel without a loop", table_text)
tap.is(profile(function() flat{grid = 1, block = 32}(x) end).kernels[1].sass, nil, "by choice only")

-- All of them: each is below its line, and those of the loop are marked.
local n, place, at, is_marked, is_ordered = 0, nil, {}, {}, true
for line in text:gmatch "[^\n]+" do
  local mark, offset = line:match "^([ |]) (%x%x%x%x+) +%d+ [w ]  %S"
  if offset then
    is_ordered = is_ordered and tonumber(offset, 16) == 16 * n
    n = n + 1
    at[place] = true
    if mark == "|" then is_marked[place] = true end
  else
    place = tonumber(line:match ":(%d+)  " or 0)
  end
end
tap.ok(n == tonumber(text:match "^dot: (%d+) instructions") and is_ordered,
  "all instructions in order", text)
tap.ok(at[6] and at[12] and not is_marked[6] and not is_marked[12], "lines around the loop", text)
tap.ok(is_marked[9] and is_marked[10], "lines of the loop", text)
tap.ok(text:find("sass.lua:10  sum = sqrt(sum)\n", 1, true), "with the script's text", text)
local is_wrong, why = pcall(function() return dot{grid = 1, block = 32}:sass(x) end)
tap.ok(not is_wrong and why:find("takes 2 arguments (x, y), got 1", 1, true), "arguments", why)
tap.done()
