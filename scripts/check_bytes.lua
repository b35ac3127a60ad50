-- check_bytes.lua: the bytes of one value are not those of n elements: elements of 4 bits share
-- bytes of memory.
--   lua scripts/check_bytes.lua [FILE...]           from the root of the repository
-- ct_value_bytes(dtype) is for what has a place of its own: a register, a lane's slot, one element
-- that is read or written. A count of elements in memory asks ct_dtype_span, ct_dtype_byte,
-- ct_dtype_count and their like; one in a dense array of the host asks ct_dense_bytes. So its
-- result, also under the name that it is given, is no operand of * / % << >> += -=, no argument of
-- a function that multiplies, and no field, from where it would be multiplied elsewhere. `allowed`
-- lists the exceptions, each with its reason; a row that nothing needs is a finding, too.
package.path = "./?.lua;" .. package.path
local house = require "scripts.house"
local shell = dofile "scripts/shell.lua"

local CALL <const> = "ct_value_bytes"
local HOME <const> = "runtime/base/dtype.h" -- where the functions that multiply are

-- "file name": why. The name is what the value is called there, or "()" of a call that is
-- multiplied where it stands.
local allowed <const> = {
  ["interp/launch/bind_cuda_kernel.c bytes"] = "an argument of a kernel, as C lays it out",
  ["interp/ops/bind_function.c align"] = "the alignment of one result",
  ["interp/tensor/tensor_data.c size"] = "the step of a walk over elements that are not packed",
  ["runtime/ir/ir_buf.c ()"] = "the step of a walk over constant memory",
  ["runtime/ir/ir_tma.c bytes"] = "of a box of TMA, whose elements are not packed",
  ["runtime/ir/ir_wgmma_tile.c bytes"] = "of an operand of wgmma, whose elements are not packed",
  ["runtime/simt/run/simt_masked.c bytes"] = "one element that is moved; CtMem says where it is",
  ["runtime/simt/run/simt_team.c bytes"] = "CtMem.elem_bytes: the step that the engine takes",
  ["runtime/simt/run/simt_tma.c bytes"] = "of a box of TMA, whose elements are not packed",
  ["runtime/watch/check_region.c granule"] = "the smallest element of a region",
  ["runtime/watch/check_state.h ()"] = "the granules of one element",
  ["runtime/watch/lineage_slice.c bytes"] = "one value of registers that a warp moves",
  ["runtime/watch/parts.c bytes"] = "what a page says of a site",
}

-- Functions that multiply one argument by another.
local multiplies <const> = { "ct_fits_memory", "ct_mul_overflow", "ct_grow", "ct_walk_scatter",
  "ct_walk_gather", "__builtin_mul_overflow" }

local findings, used = 0, {}
local function report(path, line, name)
  local key = path .. " " .. name
  if allowed[key] then
    used[key] = true
    return
  end
  findings = findings + 1
  print(("%s:%d: %s is the bytes of one value, and counts no elements; ask ct_dtype_span or "
    .. "ct_dtype_byte of those in memory, ct_dense_bytes of those in a dense array"):format(path,
    line, name == "()" and CALL or name))
end

-- The source with blanks for comments and texts, so that places stay.
local function bare(source)
  local function blank(text) return (text:gsub("[^\n]", " ")) end
  source = source:gsub("/%*.-%*/", blank)
  source = source:gsub('"[^"\n]*"', blank)
  return (source:gsub("//[^\n]*", blank))
end

local function line_of(source, at)
  return 1 + select(2, source:sub(1, at - 1):gsub("\n", ""))
end

-- The operand from first to last with the casts before it and the parentheses around it.
local function widen(source, first, last)
  while true do
    local before = source:sub(1, first - 1)
    local cast = before:match "()%([%w_ ]+%)%s*$"
    if cast and not before:sub(1, cast - 1):find "[%w_]$" then
      first = cast
    elseif before:find "[^%w_]%(%s*$" and source:find("^%s*%)", last + 1) then
      first = before:match "()%(%s*$"
      last = source:match("^%s*%)()", last + 1) - 1
    else
      return first, last
    end
  end
end

-- Is the operand multiplied, divided or shifted, or a step of something?
local function is_scaled(source, first, last)
  first, last = widen(source, first, last)
  local before = source:sub(math.max(1, first - 80), first - 1)
  local after = source:sub(last + 1, last + 40)
  return after:find "^%s*[*/%%]" or after:find "^%s*<<" or after:find "^%s*>>"
    or before:find "[%w_%)%]]%s+[*/%%]%s+$" or before:find "[*/%%+-]=%s*$"
    or before:find "<<%s*$" or before:find ">>%s*$"
end

-- Is it an argument of a function that multiplies?
local function is_argument(source, first)
  local depth, at = 0, first - 1
  while at > 0 and not source:sub(at, at):find "[;{}]" do
    local c = source:sub(at, at)
    if c == ")" then depth = depth + 1 end
    if c == "(" then
      depth = depth - 1
      if depth < 0 then
        local name = source:sub(1, at - 1):match "([%w_]+)$"
        for _, f in ipairs(multiplies) do
          if name == f then return true end
        end
        depth = 0
      end
    end
    at = at - 1
  end
  return false
end

local function looks_wrong(source, first, last)
  return is_scaled(source, first, last) or is_argument(source, first)
end

-- Uses of the name in the rest of the function.
local function check_name(path, source, name, from)
  local stop = source:find("\n}", from, true) or #source
  for first, last in source:gmatch "()[%a_][%w_]*()" do
    if first > from and first < stop and source:sub(first, last - 1) == name
      and not source:sub(1, first - 1):find "[%.>]%s*$"
      and looks_wrong(source, first, last - 1) then
      report(path, line_of(source, first), name)
    end
  end
end

local function check(path)
  local source = bare(shell.read_file(path))
  for first, open in source:gmatch("()" .. CALL .. "()%(") do
    local last = source:match("^%b()()", open) - 1
    if looks_wrong(source, first, last) then report(path, line_of(source, first), "()") end
    local wide, stop = widen(source, first, last)
    local before = source:sub(1, wide - 1)
    local name = source:find("^%s*[,;?:})]", stop + 1)
      and before:match "([%w_%.%->]+)%s*=%s*$"
    if name and name:find "[%.>]" then
      report(path, line_of(source, first), name:match "[%w_]+$")
    elseif name then
      check_name(path, source, name, last)
    end
  end
  for first in source:gmatch "()ct_dtypes%b[]%.bytes" do
    report(path, line_of(source, first), "ct_dtypes[].bytes")
  end
end

local list <const> = "find runtime interp hosts stdlib -name '*.[ch]' | sort"
local files <const> = #arg > 0 and arg or house.capture_lines(list)
for _, path in ipairs(files) do
  if path ~= HOME then check(path) end
end
for key in pairs(allowed) do
  if not used[key] and files ~= arg then
    findings = findings + 1
    print(("scripts/check_bytes.lua: '%s' is allowed, but nothing needs it"):format(key))
  end
end
print(("check_bytes: %d files, %d findings"):format(#files, findings))
os.exit(findings == 0)
