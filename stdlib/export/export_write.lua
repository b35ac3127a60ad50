-- export_write.lua: a program (export_collect.lua) as NAME.h and NAME.c. What is the same in every
-- export are the texts export_head.h, export_driver.c, export_check.c, export_maps.c and
-- export_steps.c; what belongs to a kernel are tables, and a function for each that launches it.
local language = require "cuttle"
local c = require "cuttle.export_c"
local export_lists = require "cuttle.export_lists"
local lists = require "cuttle.lists"
local tables = require "cuttle.export_tables"
local M = {}

local CONTEXTS <const> = 16 -- that a kernel is loaded in at most

-- {====== The header ======

local function widest_rank(program)
  local rank = 1
  for _, entry in ipairs(program.entries) do
    for _, special in ipairs(entry.specials) do
      for _, a in ipairs(special.arguments) do
        rank = math.max(rank, a.leaves and #a.leaves // 2 or 0)
      end
    end
  end
  return rank
end

-- "NAME", or "NAME_entry" if the entry is not what the file is called by.
local function prefix_of(program, entry)
  return entry.name == program.name and "NAME" or "NAME_" .. entry.name
end

local function field_of(param)
  if param.kind ~= "number" then return ("  NAME_%s %s;"):format(param.kind, param.id) end
  local d = c.dtype[param.dtype]
  return ("  %s %s;%s"):format(d.c, param.id,
    d.bits and ("  /* the bits of a %s */"):format(d.name) or "")
end

local function layout_text(a)
  local n, extents, strides = #a.leaves // 2, {}, {}
  for i, leaf in ipairs(a.leaves) do
    local list = i <= n and extents or strides
    local by = leaf.divisor > 1 and ("%d*"):format(leaf.divisor) or ""
    list[#list + 1] = leaf.low == leaf.high and tostring(leaf.low) or by .. "n"
  end
  return ("%s (%s):(%s)"):format(a.dtype, table.concat(extents, ","), table.concat(strides, ","))
end

-- What the specialisation is for, as a comment says it.
local function special_text(special)
  local words = {}
  for _, a in ipairs(special.arguments) do
    if a.leaves then
      words[#words + 1] = ("%s: %s%s, %d bytes aligned"):format(a.id,
        a.kind == "list" and "a list of " or "", layout_text(a), a.align)
    else
      words[#words + 1] = ("%s: %s%s"):format(a.id, a.dtype,
        a.kind == "constant" and ", a constant" or "")
    end
  end
  table.move(special.constants or {}, 1, #(special.constants or {}), #words + 1, words)
  return table.concat(words, "\n     ")
end

-- "for sm_90a, sm_80 and later devices"
local function codes_text(special)
  local words, has_ptx = {}, false
  for i, code in ipairs(special.codes) do
    words[i] = "sm_" .. code.arch
    has_ptx = has_ptx or code.ptx ~= ""
  end
  if #words == 0 then return "" end
  return ("     for %s%s\n"):format(table.concat(words, ", "),
    has_ptx and " and later devices" or "")
end

function M.needs_workspace(entry)
  local bytes = 0
  for _, special in ipairs(entry.specials) do
    for _, plan in ipairs(special.plans or {}) do bytes = math.max(bytes, plan.workspace) end
    for _, code in ipairs(special.codes) do
      if code.grid_at >= 0 then bytes = math.max(bytes, 16) end
    end
  end
  return bytes
end

-- Does the entry, or one of the program, get a list of tensors?
local function takes_lists(entry)
  return lists.any(entry.params, function(param) return param.kind == "list" end)
end

local function has_lists(program)
  return lists.any(program.entries, takes_lists)
end

local function has_asserts(program)
  for _, entry in ipairs(program.entries) do
    for _, special in ipairs(entry.specials) do
      for _, code in ipairs(special.codes) do
        if #code.asserts > 0 then return true end
      end
    end
  end
  return false
end

local function declare_entry(program, entry, out)
  local prefix, workspace = prefix_of(program, entry), M.needs_workspace(entry)
  out("/* ", entry.is_function and "Function" or "Kernel", " ", entry.name,
    ". Extents and strides n are the ", "caller's, 4*n are multiples of 4; it was exported for\n")
  for _, special in ipairs(entry.specials) do
    out("     ", special_text(special), "\n", codes_text(special))
  end
  out("   */\ntypedef struct ", prefix, "_args {\n")
  for _, param in ipairs(entry.params) do out(field_of(param), "\n") end
  if workspace > 0 then
    out("  void *workspace;  /* ", prefix, "_workspace_bytes() bytes on the GPU */\n")
  end
  if #entry.params == 0 and workspace == 0 then out("  int unused;\n") end
  out("} ", prefix, "_args;\n")
  if entry.is_function then
    out("NAME_status ", prefix, "_launch(const ", prefix,
      "_args *args, void *stream, NAME_error *error);\n")
  else
    out("NAME_status ", prefix, "_launch(const ", prefix,
      "_args *args, const NAME_dim3 *grid, void *stream,\n",
      "                        NAME_error *error);\n")
  end
  if program.cpu then
    out("#ifdef UPPER_CPU /* on the CPU engine, with tensors of the host */\nNAME_status ", prefix,
      "_launch_cpu(const ", prefix, "_args *args, ",
      entry.is_function and "" or "const NAME_dim3 *grid, ", "NAME_error *error);\n")
    if not entry.is_function and not takes_lists(entry) then
      out("/* Writes the launch to a file, for `cuttle replay`. ",
        "with_data: tensors are in the host's memory. */\n",
        "NAME_status ", prefix, "_capture(const ", prefix, "_args *args, const NAME_dim3 *grid, ",
        "bool with_data,\n                         const char *path, NAME_error *error);\n")
    end
    out "#endif\n"
  end
  if workspace > 0 then out("size_t ", prefix, "_workspace_bytes(void);\n") end
  out "\n"
end

local function writer()
  local parts = {}
  return function(...)
    for i = 1, select("#", ...) do parts[#parts + 1] = tostring((select(i, ...))) end
  end, parts
end

local function fill_in(text, values)
  return (text:gsub("@([A-Z_]+)@", function(word)
    return values[word] or error("no value for @" .. word .. "@")
  end))
end

local function dtype_enums()
  local lines = lists.map(c.dtypes, function(d) return "  " .. d.enum end)
  return table.concat(lines, ",\n")
end

-- The text of NAME.h.
function M.header(program)
  local out, parts = writer()
  out(fill_in(require "cuttle.export_head.h", export_lists.parts(export_lists.head, program.lists,
    { WHAT = "kernels of " .. program.script .. " for C and C++.", VERSION = language._VERSION,
      DTYPES = dtype_enums(), RANK = program.rank })))
  for _, entry in ipairs(program.entries) do
    if entry.is_public then declare_entry(program, entry, out) end
  end
  if program.asserts then
    out("/* After a wait for the launches: has an assert in a kernel failed? Forgets it. */\n",
      "NAME_status NAME_check(NAME_error *error);\n\n")
  end
  out("#ifdef __cplusplus\n}\n#endif\n\n#endif\n")
  return c.prefixed(table.concat(parts), program.name)
end

-- {====== Functions that launch ======

-- What every function of an entry begins with: the arguments as slots.
local function put_slots(out, program, entry)
  if #entry.params > 0 or M.needs_workspace(entry) > 0 then
    out("  if (args == NULL) {\n    return NAME_fail(error, UPPER_BAD_ARGUMENT, ",
      c.text(prefix_of(program, entry) .. ": the arguments are NULL"), ");\n  }\n")
  else
    out "  (void)args;\n"
  end
  out("  NAME_slot slots[", math.max(#entry.params, 1), "];\n")
  for i, param in ipairs(entry.params) do
    if param.kind ~= "number" then
      out(("  slots[%d].%s = &args->%s;\n"):format(i - 1, param.kind, param.id))
    else
      local d = c.dtype[param.dtype]
      if d.slot == "f32" then out(("  slots[%d].i = 0;\n"):format(i - 1)) end
      out(("  slots[%d].%s = args->%s;\n"):format(i - 1, d.slot, param.id))
    end
  end
  if #entry.params == 0 then out "  slots[0].i = 0;\n" end
end

local function put_launch(out, program, entry)
  local prefix, workspace = prefix_of(program, entry), M.needs_workspace(entry)
  local more = entry.is_function and "" or "const NAME_dim3 *grid, "
  out("NAME_status ", prefix, "_launch(const ", prefix, "_args *args, ", more,
    "void *stream, NAME_error *error) {\n")
  put_slots(out, program, entry)
  local memory = workspace > 0 and "args->workspace" or "NULL"
  if entry.is_function then
    out(("  return NAME_run_plan(&%s, %s_plans, slots, %s, stream, error);\n}\n\n"):format(
      entry.c_name, entry.c_name, memory))
  else
    out(("  return NAME_run(&%s, slots, grid, %s, stream, error);\n}\n\n"):format(entry.c_name,
      memory))
  end
  if workspace > 0 then
    out("size_t ", prefix, "_workspace_bytes(void) { return ", workspace, "; }\n\n")
  end
end

-- {====== The CPU twin ======

local function put_launch_cpu(out, program, entry)
  local prefix, workspace = prefix_of(program, entry), M.needs_workspace(entry)
  out("NAME_status ", prefix, "_launch_cpu(const ", prefix, "_args *args, ",
    entry.is_function and "" or "const NAME_dim3 *grid, ", "NAME_error *error) {\n")
  put_slots(out, program, entry)
  if entry.is_function then
    out(("  return NAME_run_plan_cpu(&%s, %s_plans, slots, %s, error);\n}\n\n"):format(entry.c_name,
      entry.c_name, workspace > 0 and "args->workspace" or "NULL"))
  else
    out(("  return NAME_run_cpu(&%s, slots, grid, error);\n}\n\n"):format(entry.c_name))
  end
end

local function put_capture(out, program, entry)
  local prefix = prefix_of(program, entry)
  out("NAME_status ", prefix, "_capture(const ", prefix, "_args *args, const NAME_dim3 *grid, ",
    "bool with_data,\n                         const char *path, NAME_error *error) {\n")
  put_slots(out, program, entry)
  out(("  return NAME_write_launch(&%s, slots, grid, with_data, path, error);\n}\n\n"):format(
    entry.c_name))
end

-- The bytes of each specialisation's IR, and the table that leads from one to the other.
local function twins_text(program)
  local out, parts = writer()
  local rows = {}
  for _, entry in ipairs(program.entries) do
    for _, special in ipairs(entry.is_function and {} or entry.specials) do
      local id = ("NAME_ir_%d"):format(#rows)
      out(c.bytes(id, special.ir))
      rows[#rows + 1] = ("{%s, %s, %d}"):format(special.c_place, id, #special.ir)
    end
  end
  out(c.table("NAME_twin", "NAME_twins", rows))
  return table.concat(parts), #rows
end

-- What stands under #ifdef UPPER_CPU.
local function cpu_text(program, state, has_functions)
  local out, parts = writer()
  local has_captures = false
  local function is_captured(entry)
    return entry.is_public and not entry.is_function and not takes_lists(entry)
  end
  for _, entry in ipairs(program.entries) do has_captures = has_captures or is_captured(entry) end
  local twins, n = twins_text(program)
  local data = #state.table_list > 0 and "NAME_table_list[number].data" or "NULL"
  local steps = ("static const void *NAME_table_data(int number) {\n  (void)number;\n"
    .. "  return %s;\n}\n\n"):format(data) .. require "cuttle.export_cpu_steps.c"
  out(fill_in(require "cuttle.export_cpu.c", export_lists.parts(export_lists.cpu, program.lists,
    { TWINS = twins, STEPS = has_functions and steps or "",
      LISTS_CPU = program.lists and require "cuttle.export_cpu_lists.c" or "",
      CAPTURE = has_captures and require "cuttle.export_cpu_capture.c" or "" })))
  for _, entry in ipairs(program.entries) do
    if entry.is_public then put_launch_cpu(out, program, entry) end
    if is_captured(entry) then put_capture(out, program, entry) end
  end
  return ("\n#ifdef UPPER_CPU\nenum { UPPER_TWINS = %d };\n%s#endif\n"):format(n,
    table.concat(parts))
end

-- {====== The file ======

local includes <const> = [[
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "NAME.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

]]

local includes_of_lists <const> = includes:gsub("#include <string.h>", "#include <stdlib.h>\n%0")

local numbers <const> = [[
/* {====== Sizes that launches compute ====== */

static inline int64_t NAME_floormod(int64_t a, int64_t b) {
  int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
]]

local more_numbers <const> = {
  { "NAME_floordiv(", [[
static inline int64_t NAME_floordiv(int64_t a, int64_t b) { return (a - NAME_floormod(a, b)) / b; }
]] },
  { "NAME_min(",
    "static inline int64_t NAME_min(int64_t a, int64_t b) { return a < b ? a : b; }\n" },
  { "NAME_max(",
    "static inline int64_t NAME_max(int64_t a, int64_t b) { return a > b ? a : b; }\n" },
}

-- The helpers that the tables' functions call.
local function helpers(body)
  local text = body:find("NAME_floor", 1, true) and numbers or ""
  for _, row in ipairs(more_numbers) do
    if body:find(row[1], 1, true) then text = text .. row[2] end
  end
  return text .. "\n"
end

local check_text <const> = [[
/* {====== Asserts ====== */

static NAME_status NAME_check_code(const NAME_kernel *k, const NAME_code *code, NAME_error *err) {
  for (int i = 0; i < UPPER_CONTEXTS && code->n_sites > 0; i++) {
    const NAME_loaded *l = &NAME_loads[code->number][i];
    if (__atomic_load_n(&l->context, __ATOMIC_ACQUIRE) == NULL || l->fault[0] == 0) {
      continue;
    }
    const int *f = l->fault;
    const NAME_site *site = &code->sites[f[0] - 1];
    NAME_fail(err, UPPER_ASSERT_FAILED, "%s, line %d: %s (thread (%d,%d,%d) of block (%d,%d,%d))",
              k->name, site->line, site->text, f[1], f[2], f[3], f[4], f[5], f[6]);
    l->fault[0] = 0;
    return UPPER_ASSERT_FAILED;
  }
  return UPPER_OK;
}

NAME_status NAME_check(NAME_error *error) {
  static const NAME_kernel *const kernels[] = {@KERNELS@};
  for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
    for (int k = 0; k < kernels[i]->n_specials; k++) {
      const NAME_special *special = &kernels[i]->specials[k];
      for (int n = 0; n < special->n_codes; n++) {
        if (NAME_check_code(kernels[i], &special->codes[n], error) != UPPER_OK) {
          return UPPER_ASSERT_FAILED;
        }
      }
    }
  }
  return NAME_succeed(error);
}
]]

local function limits(state)
  local rows = { CODES = math.max(state.n_codes, 1), CONTEXTS = CONTEXTS,
                 SLOTS = math.max(state.n_slots, 1),
                 ARGS = math.max(state.n_args, 1), PARAMS = math.max(state.n_params, 1),
                 BYTES = math.max(state.n_bytes, 1) + 64, MAPS = state.n_maps,
                 COLUMNS = state.n_columns }
  local words = {}
  for _, name in ipairs { "CODES", "CONTEXTS", "SLOTS", "ARGS", "PARAMS", "BYTES", "MAPS",
    "COLUMNS" } do
    words[#words + 1] = ("  UPPER_%s = %d"):format(name, rows[name])
  end
  return "enum {\n" .. table.concat(words, ",\n") .. "\n};"
end

local function dtype_names()
  local words = lists.map(c.dtypes, function(d) return c.text(d.name) end)
  return table.concat(words, ", ")
end

-- The tables and functions of the program; what they need of the fixed part is noted in `state`.
local function body_of(program, state)
  local out, parts = writer()
  local has_functions = false
  for _, is_function in ipairs { false, true } do -- what functions launch comes before them
    for _, entry in ipairs(program.entries) do
      if entry.is_function == is_function then
        tables.put_kernel(state, out, entry)
        if is_function then tables.put_plans(state, out, program, entry) end
        if entry.is_public then put_launch(out, program, entry) end
        has_functions = has_functions or is_function
      end
    end
  end
  if program.asserts then
    local kernels = {}
    for _, entry in ipairs(program.entries) do
      if not entry.is_function then kernels[#kernels + 1] = "&" .. entry.c_name end
    end
    out(fill_in(check_text, { KERNELS = table.concat(kernels, ", ") }))
  end
  return table.concat(parts), has_functions
end

local table_type <const> = [[
static const struct {
  const unsigned char *data;
  size_t bytes;
} NAME_table_list[] = {
]]

local no_tables <const> = [[
static NAME_status NAME_table_at(const NAME_kernel *k, int number, uint64_t *at, NAME_error *err) {
  *at = 0;
  return NAME_fail(err, UPPER_BAD_ARGUMENT, "%s: there is no table %d", k->name, number);
}

]]

-- The fixed part that functions need, with their tables.
local function steps_text(state)
  local out, parts = writer()
  local rows = {}
  for i, data in ipairs(state.table_list) do
    out(c.bytes(("NAME_table_%d"):format(i - 1), data))
    rows[i] = ("  {NAME_table_%d, %d},\n"):format(i - 1, #data)
  end
  if #rows > 0 then
    out("enum { UPPER_TABLES = ", #rows, " };\n", table_type, table.concat(rows), "};\n\n",
      (require "cuttle.export_tables.c"))
  else
    out(no_tables)
  end
  return fill_in(require "cuttle.export_steps.c", { TABLES = table.concat(parts) })
end

-- The text of NAME.c.
function M.source(program)
  local state = { n_codes = 0, n_params = 0, n_bytes = 0, n_maps = 0, n_args = 0, n_slots = 0,
                  n_columns = 1,
                  images = {}, tables = {}, table_list = {} }
  local body, has_functions = body_of(program, state)
  local has_maps = state.n_maps > 0
  local check = fill_in(require "cuttle.export_check.c", export_lists.parts(export_lists.check,
    program.lists, { DTYPE_NAMES = dtype_names(),
      LISTS = program.lists and require "cuttle.export_lists.c" or "" }))
  local driver = fill_in(require "cuttle.export_driver.c", export_lists.parts(export_lists.driver,
    program.lists, { LIMITS = limits(state), CHECK = check,
    MAPS = has_maps and require "cuttle.export_maps.c" or "",
    PUT_MAPS = has_maps and "status = NAME_put_maps(k, code, s, block, err);" or "" }))
  local head = "/* NAME.c: see NAME.h. Made by `cuttle export` of Cuttle %s: do not edit. */\n"
  local text = head:format(
    language._VERSION) .. (program.lists and includes_of_lists or includes) .. driver .. "\n"
    .. (has_functions and steps_text(state) or "") .. helpers(body) .. body
    .. (program.cpu and cpu_text(program, state, has_functions) or "")
  return c.prefixed(text, program.name)
end

--- Completes a program by what both files need: its name, the script's, and whether it has a twin.
function M.prepare(program, name, script, cpu)
  program.cpu = cpu
  program.name, program.script = name, script
  program.rank, program.asserts = widest_rank(program), has_asserts(program)
  program.lists = has_lists(program)
  return program
end

M.prefix_of, M.writer, M.fill_in = prefix_of, writer, fill_in
return M
