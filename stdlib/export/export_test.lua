-- export_test.lua: a program (export_collect.lua) as NAME_test.c: the data of each example before
-- its launch and after it, and a function that launches on them and compares. What is the same in
-- every test is the text export_test.c.
local language = require "cuttle"
local c = require "cuttle.export_c"
local collect = require "cuttle.export_collect"
local write = require "cuttle.export_write"
local M = {}

local MOST_BYTES <const> = 1 << 19 -- of the data of an example

-- {====== Memory ======

-- The tensors, those in lists, too, each with `place`: where its NAME_tensor is.
local function tensors_of(special)
  local list = {}
  for _, a in ipairs(special.arguments) do
    if a.kind == "tensor" then
      a.place, a.called = "args." .. a.id, a.id
      list[#list + 1] = a
    end
    for i, member in ipairs(a.members or {}) do
      member.place = ("list_%s[%d]"):format(a.id, i - 1)
      member.dtype, member.called = a.dtype, ("%s[%d]"):format(a.id, i - 1)
      list[#list + 1] = member
    end
  end
  return list
end

-- Tensors that share memory, as one block of it: {first =, last =, members =}.
local function blocks_of(special)
  local blocks = collect.join(tensors_of(special))
  for i, block in ipairs(blocks) do
    for _, a in ipairs(block.members) do a.block = i - 1 end
  end
  return blocks
end

-- The block's bytes before the launch; nil: the test does not have them.
local function bytes_of(block, which)
  local parts, at = {}, block.first
  for _, a in ipairs(block.members) do
    local data = a[which]
    if not data then return nil end
    if a.last > at then
      parts[#parts + 1] = data:sub(at - a.first + 1)
      at = a.last
    end
  end
  return table.concat(parts)
end

-- {====== An example ======

local function int64_list(leaves, from, n)
  local words = {}
  for i = 1, n do words[i] = c.int64(leaves[from + i].value) end
  if n == 0 then words[1] = "0" end
  return "{" .. table.concat(words, ", ") .. "}"
end

local function put_tensor(out, a, block)
  local n = #a.leaves // 2
  out("  {\n    static const int64_t shape[] = ", int64_list(a.leaves, 0, n), ", stride[] = ",
    int64_list(a.leaves, n, n), ";\n",
    ("    %s = tensor_of(address(&m[%d], %d), %s, %d, shape, stride);\n  }\n"):format(a.place,
      a.block, a.address - block.first, c.dtype[a.dtype].enum, n))
end

local function put_number(out, a)
  local value = c.number(a.dtype, a.bits)
  if value then
    out(("  args.%s = %s;\n"):format(a.id, value))
  else
    out(("  {\n    const uint64_t bits = UINT64_C(0x%x);\n"
      .. "    memcpy(&args.%s, &bits, sizeof args.%s);\n  }\n"):format(a.bits, a.id, a.id))
  end
end

local function put_list(out, a)
  out(("  args.%s.tensors = list_%s;\n  args.%s.n = %d;\n"):format(a.id, a.id, a.id, #a.members),
    ("  Memory table_%s = memory_new(%d * UPPER_LIST_BYTES, 0, NULL);\n"):format(a.id, #a.members),
    ("  args.%s.table = address(&table_%s, 0);\n"):format(a.id, a.id))
end

local function put_arguments(out, special, blocks)
  for _, a in ipairs(special.arguments) do
    if a.kind == "list" then
      out(("  NAME_tensor list_%s[%d];\n"):format(a.id, #a.members))
    elseif a.kind ~= "tensor" then
      put_number(out, a)
    end
  end
  for _, a in ipairs(tensors_of(special)) do put_tensor(out, a, blocks[a.block + 1]) end
  for _, a in ipairs(special.arguments) do
    if a.kind == "list" then put_list(out, a) end
  end
end

local function put_memory(out, id, blocks)
  out("  Memory m[", math.max(#blocks, 1), "];\n")
  for i, block in ipairs(blocks) do
    local size = block.last - block.first
    local name = "NULL"
    if block.before and size > 0 then name = ("%s_before_%d"):format(id, i) end
    out(("  m[%d] = memory_new(%d, %d, %s);\n"):format(i - 1, size, block.first % 16, name))
  end
  if #blocks == 0 then out("  m[0] = memory_new(0, 0, NULL);\n") end
end

local function put_compare(out, id, special, blocks)
  for i, a in ipairs(tensors_of(special)) do
    if a.last > a.first and a.after ~= a.before then
      out(("  compare(%s, %s, %d, &m[%d], %d, %s_after_%d, sizeof %s_after_%d);\n"):format(
        c.text(("%s, example %d: %s"):format(special.entry.name, special.number, a.called)),
        c.dtype[a.dtype].enum, c.dtype[a.dtype].bytes, a.block,
        a.first - blocks[a.block + 1].first, id, i, id, i))
    end
  end
end

local function put_data(out, id, special, blocks)
  for i, block in ipairs(blocks) do
    if block.before and #block.before > 0 then
      out(c.bytes(("%s_before_%d"):format(id, i), block.before))
    end
  end
  for i, a in ipairs(tensors_of(special)) do
    if a.last > a.first and a.after ~= a.before then
      out(c.bytes(("%s_after_%d"):format(id, i), a.after))
    end
  end
end

local function put_launch(out, program, special)
  local prefix = write.prefix_of(program, special.entry)
  local grid = special.entry.is_function and "" or "&grid, "
  if grid ~= "" then out("  NAME_dim3 grid = ", c.dim3(special.grid), ";\n") end
  if program.cpu then
    out("#ifdef UPPER_CPU\n  status = ", prefix, "_launch_cpu(&args, ", grid, "&error);\n#else\n")
  end
  out("  status = ", prefix, "_launch(&args, ", grid, "NULL, &error);\n",
    program.cpu and "#endif\n" or "")
end

local function put_end(out, special, blocks, workspace)
  local title = c.text(("%s, example %d is launched"):format(special.entry.name, special.number))
  out("  if (status == UPPER_OK) {\n    int result = cu.wait();\n",
    "    snprintf(error.text, sizeof error.text, \"CUresult %d\", result);\n",
    "    report(result == 0, ", title, ", result == 0 ? \"\" : error.text);\n",
    "  } else {\n    report(0, ", title, ", error.text);\n  }\n")
  return function()
    for i = 1, math.max(#blocks, 1) do out(("  (void)cu.release(m[%d].whole);\n"):format(i - 1)) end
    if workspace > 0 then out "  (void)cu.release(workspace.whole);\n" end
    for _, a in ipairs(special.arguments) do
      if a.kind == "list" then out(("  (void)cu.release(table_%s.whole);\n"):format(a.id)) end
    end
    out "}\n\n"
  end
end

-- The data that the example's test needs, in bytes; nil: some of it was too large to be kept.
local function size_of(special, blocks)
  local bytes = 0
  for _, block in ipairs(blocks) do
    block.before = bytes_of(block, "before")
    if block.before and not block.before:find "[^%z]" then
      block.before = nil -- as new memory is
    end
    bytes = bytes + block.last - block.first
  end
  for _, a in ipairs(tensors_of(special)) do
    if a.last > a.first and not a.after then return nil, bytes end
  end
  return bytes, bytes
end

local function put_example(out, program, id, special)
  local blocks = blocks_of(special)
  local bytes, whole = size_of(special, blocks)
  local title = ("%s, example %d"):format(special.entry.name, special.number)
  if not bytes or bytes > MOST_BYTES then
    out(("static void %s(void) {\n"
      .. "  printf(\"ok %%d - %%s # SKIP its data, %d bytes, is not in this file\\n\", "
      .. "++n_tests, %s);\n}\n\n"):format(id, whole, c.text(title)))
    return
  end
  local prefix = write.prefix_of(program, special.entry)
  local workspace = write.needs_workspace(special.entry)
  put_data(out, id, special, blocks)
  out("static void ", id, "(void) {\n  ", prefix,
    "_args args;\n  NAME_error error;\n  NAME_status status;\n")
  put_memory(out, id, blocks)
  out "  memset(&args, 0, sizeof args);\n"
  put_arguments(out, special, blocks)
  if workspace > 0 then
    out("  Memory workspace = memory_new(", prefix, "_workspace_bytes(), 0, NULL);\n",
      "  args.workspace = address(&workspace, 0);\n")
    if special.plans then -- nothing may count on what is there
      out '  must(cu.fill(workspace.at, 0xa5, workspace.bytes), "cuMemsetD8");\n'
    end
  end
  put_launch(out, program, special)
  local finish = put_end(out, special, blocks, workspace)
  put_compare(out, id, special, blocks)
  finish()
end

-- {====== The file ======

local cpu_note <const> = [[

   With -DUPPER_CPU and libcuttle_core it tests the CPU twin, whose bits are all defined,
   unless threads add floats in the order in which they come.]]
local limit <const> = "enum { STEPS = 64 };"
local cpu_limit <const> = "#ifdef UPPER_CPU\nenum { STEPS = 0 };\n#else\n" .. limit .. "\n#endif"

local function limit_of(program)
  for _, entry in ipairs(program.entries) do
    for _, special in ipairs(entry.specials) do
      if special.sums_as_threads_come then return limit end
    end
  end
  return program.cpu and cpu_limit or limit
end

--- The text of NAME_test.c.
function M.source(program)
  local out, parts = write.writer()
  local calls = {}
  for _, entry in ipairs(program.entries) do
    for i, special in ipairs(entry.is_public and entry.specials or {}) do
      local id = ("%s_example_%d"):format(entry.name, i)
      special.number = i
      put_example(out, program, id, special)
      calls[#calls + 1] = ("  %s();"):format(id)
    end
  end
  if program.asserts then
    calls[#calls + 1] = '  report(NAME_check(&error) == UPPER_OK, "no assert failed", error.text);'
  end
  local text = write.fill_in(require "cuttle.export_test.c", { VERSION = language._VERSION,
    CPU_NOTE = program.cpu and cpu_note or "",
    HOST = program.cpu and require "cuttle.export_test_cpu.c" or "",
    END_HOST = program.cpu and "#endif\n\n" or "", LIMIT = limit_of(program),
    EXAMPLES = table.concat(parts), CALLS = table.concat(calls, "\n") })
  return c.prefixed(text, program.name)
end

return M
