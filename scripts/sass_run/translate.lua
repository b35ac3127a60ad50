-- translate.lua: the machine code of a kernel as C, for run.c: a function that runs lanes of a
-- warp.
--   cuttle scripts/sass_run/translate.lua IMAGE.cubin KERNEL OUT   writes OUT.c and OUT.accesses
-- It reads what nvdisasm shows, and knows what kernels for sm_80 to sm_90 have, without TMA and
-- wgmma. What it does not know stops the run, should it be reached.
package.path = "tests/support/?.lua;./?.lua;" .. package.path
local cubin = require "cuttle.cubin"
local operands = require "scripts.sass_run.operands"
local known = require "scripts.sass_run.instructions"

local STEP <const> = [[
#include "scripts/sass_run/run.h"
void sass_step(Warp *w, uint32_t mask, uint32_t stop) {
  uint32_t turns = 0;
  switch (w->pc[__builtin_ctz(mask)]) {
]]
local INSTRUCTION <const> = [[
  case 0x%x: L_%x: /* %s */
    if (0x%xu >= stop) { sass_go(w, mask, 0x%xu); return; }
    w->n++; { uint32_t m = %s; %s }
]]

-- The instructions {at =, guard =, op =, text =} of a kernel, and the places of its labels.
local function read(path, name)
  local pipe = assert(io.popen(("nvdisasm -c '%s' 2>/dev/null"):format(path)))
  local list, labels, fresh, is_inside = {}, {}, {}, false
  for line in pipe:lines() do
    local section = line:match "^%s*%.section%s+%.text%.([^,%s]+),"
    if section then is_inside = section == name end
    local label, at, rest = line:match "^(%S+):%s*$", line:match "^%s*/%*(%x+)%*/%s+(.-)%s*;"
    if is_inside and label then fresh[#fresh + 1] = label end
    if is_inside and at then
      at = tonumber(at, 16)
      for _, l in ipairs(fresh) do labels[l] = at end
      fresh = {}
      local guard, body = rest:match "^@(!?U?P[%dT])%s+(.*)$"
      local op, text = (body or rest):match "^(%S+)%s*(.*)$"
      list[#list + 1] = { at = at, guard = guard, op = op, text = text }
    end
  end
  pipe:close()
  return list, labels
end

-- What of its memory instructions is counted, a line each; numbers them by place.
local function list_accesses(image, list, path)
  local file <close>, here, n = assert(io.open(path, "w")), {}, 0
  for _, x in ipairs(list) do here[x.at] = true end
  for _, a in ipairs(cubin.accesses(image)) do
    local spaces = a.op == "copy" and { "global", "shared" } or { a.space }
    known.access_of[a.at] = here[a.at] and n
    for _, space in ipairs(here[a.at] and spaces or {}) do
      file:write(("%s %s %d %s/%s:%d\n"):format(a.op, space, a.bits, a.folder, a.file, a.line))
      n = n + 1
    end
  end
end

local function mods_of(name)
  local mods, base = {}, nil
  for word in name:gmatch "[^.]+" do
    if base then
      mods[#mods + 1] = word
      mods[word] = true
    end
    base = base or word
  end
  return base, mods
end

-- The operation by that name; on the uniform path it has a U before its name, or in it.
local function find(base)
  local f = known.ops[base] or known.control[base]
  if f then return f, false end
  if base == "VOTEU" then return known.ops.VOTE, false end
  if base == "S2UR" then return known.ops.S2R, true end
  return known.ops[base:match "^U(.*)$"], true
end

local function code_of(x, labels)
  local base, mods = mods_of(x.op)
  local f, is_uniform = find(base)
  local ok, code = pcall(f or error, mods, operands.split(x.text), x.at, labels)
  if not f or not ok then
    return ("if (m != 0) sass_stop(\"%s\", 0x%x);"):format(x.op, x.at)
  end
  if is_uniform then return "uint32_t l = 0; (void)l; " .. code:gsub("FOR %(m%)", "if (m != 0)") end
  return code
end

local function main(image_path, kernel, out)
  local image_file <close> = assert(io.open(image_path, "rb"))
  local list, labels = read(image_path, kernel)
  assert(#list > 0, "nvdisasm shows nothing of " .. kernel)
  list_accesses(image_file:read "a", list, out .. ".accesses")
  local file <close> = assert(io.open(out .. ".c", "w"))
  file:write(STEP)
  for _, x in ipairs(list) do
    local guard = x.guard and ("mask & %s"):format(operands.lanes(x.guard)) or "mask"
    local text = ("%s %s"):format(x.op, x.text:gsub("%*/", ""))
    file:write(INSTRUCTION:format(x.at, x.at, text, x.at, x.at, guard, code_of(x, labels)))
  end
  file:write "  default: sass_stop(\"no instruction\", w->pc[__builtin_ctz(mask)]);\n  }\n}\n"
end

main(table.unpack(arg))
