-- `cuttle check --overflow` finds nothing in the examples, nor in the tests' kernels. An argument names one file.
local cuttle = arg[-1]
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"

local arguments <const> = dofile "tests/support/small.lua"

-- What these do wrong, they do on purpose: failing assertions, accesses outside, several threads or
-- blocks that write one element.
local faulty = {
  ["tests/lua/kernel/assertions.lua"] = true, ["tests/lua/kernel/errors_of_threads.lua"] = true,
  ["tests/lua/kernel/print_order.lua"] = true,
  ["tests/lua/kernel/limits.lua"] = true,
}

-- These compute with the largest and smallest integers, or make a hash of signed ones, on purpose.
local wrapping = {
  ["tests/lua/kernel/abs_of_least.lua"] = true, ["tests/lua/kernel/folded_types.lua"] = true,
  ["tests/lua/kernel/integer_law.lua"] = true, ["tests/lua/kernel/integers.lua"] = true,
  ["tests/lua/kernel/loop_limits.lua"] = true, ["tests/lua/kernel/negated_extremes.lua"] = true,
  ["tests/lua/kernel/refused_functions.lua"] = true, ["tests/lua/kernel/word_ops.lua"] = true,
}

-- These ask for timelines of their own launches, which check already watches.
local watching = {
  ["tests/lua/kernel/marks.lua"] = true, ["tests/lua/kernel/marks_read.lua"] = true,
}

local quote = shell.quote

-- Threads beyond the end once made a NaN here.
local also = { ["examples/moe_gating.lua"] = "--nan" }

local function check(path)
  local options = (wrapping[path] and "" or "--overflow ") .. (also[path] or "")
  local out, code = shell.run("%s check %s %s %s", quote(cuttle), options, path,
    arguments[path] or "")
  local ok = code == 0 and out:find("check: no finding in %d+ launch") ~= nil
  tap.ok(ok, path, out:sub(-2000))
end

local list = assert(io.popen("ls " .. (arg[1]
  or "examples/*.lua tests/lua/kernel/*.lua tests/kernel_cases/[!e]*.lua")))
for path in list:lines() do
  if not faulty[path] and not watching[path] then check(path) end
end
list:close()
tap.done()
