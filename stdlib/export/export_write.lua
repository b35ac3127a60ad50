-- export_write.lua: a program (export_collect.lua) as NAME.h and NAME.c. What is the same in every
-- export are the texts export_head.h, export_driver.c, export_maps.c and export_steps.c; what
-- belongs to a kernel are tables, and a function for each that launches it.
local ct = require "cuttle"
local internal = ...
local c = require "cuttle.export_c"
local M = {}

local CONTEXTS <const> = 16 -- that a kernel is loaded in at most
local MOST_NARROW <const> = (1 << 31) - 1 - (1 << 20) -- LAUNCH_MOST_NARROW
local MOST_WIDE <const> = math.maxinteger >> 17 -- bytes

local function fail(format, ...) internal.fail(("export: " .. format):format(...)) end

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
  if param.kind == "tensor" then return ("  NAME_tensor %s;"):format(param.id) end
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
    if a.kind == "tensor" then
      words[#words + 1] = ("%s: %s, %d bytes aligned"):format(a.id, layout_text(a), a.align)
    else
      words[#words + 1] = ("%s: %s%s"):format(a.id, a.dtype, a.kind == "constant" and ", a constant" or "")
    end
  end
  return table.concat(words, "\n     ")
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
  out("/* ", entry.is_function and "Function" or "Kernel", " ", entry.name, ". Extents and strides n are the ",
    "caller's, 4*n are multiples of 4; it was exported for\n")
  for _, special in ipairs(entry.specials) do out("     ", special_text(special), "\n") end
  out("   */\ntypedef struct ", prefix, "_args {\n")
  for _, param in ipairs(entry.params) do out(field_of(param), "\n") end
  if workspace > 0 then out("  void *workspace;  /* ", prefix, "_workspace_bytes() bytes on the GPU */\n") end
  if #entry.params == 0 and workspace == 0 then out("  int unused;\n") end
  out("} ", prefix, "_args;\n")
  if entry.is_function then
    out("NAME_status ", prefix, "_launch(const ", prefix, "_args *args, void *stream, NAME_error *error);\n")
  else
    out("NAME_status ", prefix, "_launch(const ", prefix, "_args *args, const NAME_dim3 *grid, void *stream,\n",
      "                        NAME_error *error);\n")
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
  local lines = {}
  for i, d in ipairs(c.dtypes) do lines[i] = "  " .. d.enum end
  return table.concat(lines, ",\n")
end

-- The text of NAME.h.
function M.header(program)
  local out, parts = writer()
  out(fill_in(require "cuttle.export_head.h", { WHAT = "kernels of " .. program.script
    .. " for C and C++.", VERSION = ct._VERSION, DTYPES = dtype_enums(), RANK = program.rank }))
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

-- {====== Tables ======

local function leaf_row(leaf, slot)
  return ("{%s, %s, %s, %s, %d}"):format(c.int64(leaf.low), c.int64(leaf.high),
    c.int64(leaf.divisor - 1), c.int64(leaf.value), slot)
end

-- The leaves of a tensor; dynamic ones have the slots after its address.
local function put_leaves(out, id, a)
  local rows, slot = {}, a.slot
  for i, leaf in ipairs(a.leaves) do
    if not leaf.fixed then slot = slot + 1 end
    rows[i] = leaf_row(leaf, leaf.fixed and -1 or slot)
  end
  out(c.table("NAME_leaf", id, rows))
end

local function span_of(a)
  local most = a.wide and MOST_WIDE or MOST_NARROW
  return most // c.dtype[a.dtype].bytes - 1
end

local function rule_row(id, a)
  local d = c.dtype[a.dtype]
  if a.kind == "tensor" then
    return ("{%s, UPPER_TENSOR, %s, %d, %d, %s, %d, %d, %s, 0}"):format(c.text(a.title), d.enum,
      a.slot, #a.leaves // 2, #a.leaves > 0 and id or "NULL", a.unused and 1 or a.align,
      a.unused and 0 or d.bytes, c.int64(span_of(a)))
  end
  local kind = a.kind == "number" and "UPPER_NUMBER" or "UPPER_CONSTANT"
  return ("{%s, %s, %s, %d, 0, NULL, 1, %d, 0, %s}"):format(c.text(a.title), kind, d.enum,
    a.kind == "number" and a.slot or 0, d.bytes, c.int64(a.kind == "constant" and a.bits or 0))
end

local function put_rules(out, id, special)
  local rows = {}
  for i, a in ipairs(special.arguments) do
    local leaves = ("%s_%d"):format(id, i)
    if a.kind == "tensor" then put_leaves(out, leaves, a) end
    rows[i] = rule_row(leaves, a)
  end
  out(c.table("NAME_rule", id, rows))
end

-- A function that checks what a tile or the like asks of extents; its name, or NULL.
local function put_require(out, id, special, requires)
  if #requires == 0 then return "NULL" end
  out("static NAME_status ", id, "(const NAME_slot *slots, NAME_error *err) {\n")
  for _, r in ipairs(requires) do
    local value = r.expression:gsub("s%[(%d+)%]", "slots[%1].i")
    out("  if (NAME_floormod(", value, ", ", c.int64(r.modulus), ") != 0) {\n",
      "    return NAME_fail(err, UPPER_BAD_ARGUMENT, ",
      c.text(("%s: %s: extent %%lld of mode %s of %s is not a multiple of the %s's %d"):format(
        special.name, r.op, r.mode, r.name, r.divisor, r.modulus)),
      ",\n                     (long long)", value, ");\n  }\n")
  end
  out("  (void)slots;\n  (void)err;\n  return UPPER_OK;\n}\n")
  return id
end

local function promotion_number(bytes) return ({ [64] = 1, [128] = 2, [256] = 3 })[bytes] or 0 end

-- The slots that expressions use, in order.
local function slots_of(code)
  local used, list = {}, {}
  local function note(text)
    for n in text:gmatch "s%[(%d+)%]" do used[tonumber(n)] = true end
  end
  for _, m in ipairs(code.maps) do
    used[m.slot] = true
    note(m.offset)
    for _, d in ipairs(m.dims) do
      note(d.extent)
      note(d.stride)
    end
  end
  for n in pairs(used) do list[#list + 1] = n end
  table.sort(list)
  list[#list + 1] = -1
  return list
end

local function c_value(text) return (text:gsub("s%[(%d+)%]", "s[%1].i")) end

-- The function that says what the maps are for some slots.
local function put_maps(out, id, code)
  if #code.maps == 0 then return "NULL", "NULL" end
  out(c.table("int", id .. "_slots", { table.concat(slots_of(code), ", ") }))
  out("static NAME_status ", id, "(const NAME_slot *s, NAME_map *m, NAME_error *err) {\n")
  for i, m in ipairs(code.maps) do
    local d = c.dtype[m.dtype]
    out(("  NAME_begin_map(&m[%d], %s, %d, %d, %d, s[%d].i + %s * %d);\n"):format(i - 1, c.text(m.name),
      d.map, m.swizzle, promotion_number(m.promotion), m.slot, c_value(m.offset), d.bytes))
    for _, dim in ipairs(m.dims) do
      out(("  NAME_add_dim(&m[%d], %s / %d, %s * %d, %d);\n"):format(i - 1, c_value(dim.extent), dim.div,
        c_value(dim.stride), dim.mul * d.bytes, dim.box))
    end
  end
  out("  (void)err;\n  return UPPER_OK;\n}\n")
  return id, id .. "_slots"
end

local function put_packs(out, id, code)
  local rows = {}
  for i, p in ipairs(code.packs) do rows[i] = ("{%d, %d, %d}"):format(p.slot, p.offset, p.bytes) end
  out(c.table("NAME_pack", id, rows))
  return #rows > 0 and id or "NULL"
end

local function put_sites(out, id, code)
  local rows = {}
  for i, site in ipairs(code.asserts) do rows[i] = ("{%s, %d}"):format(c.text(site.text), site.line) end
  out(c.table("NAME_site", id, rows))
  return #rows > 0 and id or "NULL"
end

local function code_row(state, id, code, suffix, image, fields)
  local number = state.n_codes
  state.n_codes = number + 1
  return ("{%d, %d, '%s', %s, %s, %d, %s, %d, %d, %d, %d, %s, %s, %d, %d, %s, %d}"):format(number,
    code.sm, suffix == "" and " " or suffix, image, c.text(code.symbol), code.smem, fields.packs,
    #code.packs, math.max(code.bytes, 1), #code.maps, code.maps_at, fields.maps, fields.map_slots,
    #code.asserts, code.fault_at, fields.sites, code.grid_at), id
end

local function measure(state, special, code)
  state.n_params = math.max(state.n_params, #code.packs + #code.maps + 2)
  state.n_bytes = math.max(state.n_bytes, code.bytes)
  state.n_maps = math.max(state.n_maps, #code.maps)
  state.n_args = math.max(state.n_args, #special.arguments)
end

-- Images as they are: one for each different text of bytes.
local function image_of(state, out, id, data)
  if not state.images[data] then
    out(c.bytes(id, data))
    state.images[data] = id
  end
  return state.images[data]
end

local function put_code(state, out, id, code)
  local fields = { packs = put_packs(out, id .. "_packs", code),
                   sites = put_sites(out, id .. "_asserts", code) }
  fields.maps, fields.map_slots = put_maps(out, id .. "_maps", code)
  return fields
end

-- The best ones first, and PTX of the last capability that has some for later devices.
local function put_codes(state, out, id, special)
  local rows, ptx = {}, nil
  for _, code in ipairs(special.codes) do
    local own = ("%s_sm%s"):format(id, code.arch)
    local fields = put_code(state, out, own, code)
    local suffix = code.arch:match "%a$" or ""
    rows[#rows + 1] = code_row(state, own, code, suffix, image_of(state, out, own, code.image), fields)
    if not ptx and code.ptx ~= "" then
      ptx = code_row(state, own, code, "p", image_of(state, out, own .. "_ptx", code.ptx), fields)
    end
    measure(state, special, code)
  end
  rows[#rows + 1] = ptx
  out(c.table("NAME_code", id, rows))
  return #rows
end

local function count_slots(special)
  local most = 0
  for _, a in ipairs(special.arguments) do
    local n = a.slot + 1
    for _, leaf in ipairs(a.leaves or {}) do n = n + (leaf.fixed and 0 or 1) end
    most = math.max(most, n)
  end
  return most
end

local function requires_of(special)
  local first
  for _, code in ipairs(special.codes) do
    local words = {}
    for i, r in ipairs(code.requires) do words[i] = r.expression .. "%" .. r.modulus end
    local text = table.concat(words, " ")
    if first and text ~= first then
      fail("%s asks different things of its extents on different devices; export it once for each",
        special.name)
    end
    first = text
  end
  return special.codes[1] and special.codes[1].requires or {}
end

local function put_special(state, out, id, special)
  put_rules(out, id .. "_rules", special)
  local require_name = put_require(out, id .. "_require", special, requires_of(special))
  local n_codes = put_codes(state, out, id .. "_code", special)
  state.n_slots = math.max(state.n_slots, count_slots(special))
  state.n_args = math.max(state.n_args, #special.arguments)
  return ("{%s, %s, %s, %s, %s, %s, %s, %s, %s, %d}"):format(
    #special.arguments > 0 and id .. "_rules" or "NULL", special.overlap, special.pdl or false,
    special.cooperative or false, c.dim3(special.grid), c.dim3(special.block),
    c.dim3(special.cluster), require_name, n_codes > 0 and id .. "_code" or "NULL", n_codes)
end

local function put_kernel(state, out, entry)
  local id, rows = "NAME_" .. entry.name .. "__kernel", {}
  out("/* {====== ", entry.name, " ====== */\n\n")
  for i, special in ipairs(entry.specials) do
    special.c_name = ("%s_%d"):format(id, i)
    special.c_place = ("&%s_specials[%d]"):format(id, i - 1)
    rows[i] = put_special(state, out, special.c_name, special)
  end
  out(c.table("NAME_special", id .. "_specials", rows))
  out(("static const NAME_kernel %s = {%s, %d, %s_specials, %d};\n\n"):format(id, c.text(entry.name),
    #entry.params, id, #rows))
  entry.c_name = id
end

-- {====== Functions that launch ======

local function put_slots(out, entry)
  out("  NAME_slot slots[", math.max(#entry.params, 1), "];\n")
  for i, param in ipairs(entry.params) do
    if param.kind == "tensor" then
      out(("  slots[%d].tensor = &args->%s;\n"):format(i - 1, param.id))
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
  put_slots(out, entry)
  if #entry.params == 0 and workspace == 0 then out "  (void)args;\n" end
  local memory = workspace > 0 and "args->workspace" or "NULL"
  if entry.is_function then
    out(("  return NAME_run_plan(&%s, %s_plans, slots, %s, stream, error);\n}\n\n"):format(entry.c_name,
      entry.c_name, memory))
  else
    out(("  return NAME_run(&%s, slots, grid, %s, stream, error);\n}\n\n"):format(entry.c_name, memory))
  end
  if workspace > 0 then out("size_t ", prefix, "_workspace_bytes(void) { return ", workspace, "; }\n\n") end
end

-- A tensor's extents or strides as an initialiser.
local function numbers_of(view, from, rank)
  local words = {}
  for i = 1, rank do
    local leaf = view.leaves[from + i]
    words[i] = i <= #view.leaves // 2 and c.int64(leaf.value) or "0"
  end
  return "{" .. table.concat(words, ", ") .. "}"
end

-- The number of a table, which is in the file once.
local function table_number(state, data)
  if not state.tables[data] then
    state.table_list[#state.table_list + 1] = data
    state.tables[data] = #state.table_list
  end
  return state.tables[data] - 1
end

local function value_row(state, v, rank)
  local view = v.view or { dtype = "f32", leaves = {} }
  local n = #view.leaves // 2
  local from = v.table and -3 - table_number(state, v.table) or v.from
  return ("{%d, %s, {NULL, %s, %d, %s, %s}}"):format(from, c.int64(v.value),
    c.dtype[view.dtype].enum, n, numbers_of(view, 0, rank), numbers_of(view, n, rank))
end

local function put_plan(state, out, id, special, rank)
  local rows, workspace, zeros = {}, 0, 0
  local plans = table.move(special.plans, 1, #special.plans, 1, {})
  table.sort(plans, function(a, b) return a.target.sm > b.target.sm end)
  for _, plan in ipairs(plans) do
    workspace, zeros = math.max(workspace, plan.workspace), math.max(zeros, plan.zeros)
    for i, step in ipairs(plan.steps) do
      local values, name = {}, ("%s_values_%d"):format(id, #rows + 1)
      for k, v in ipairs(step.values) do values[k] = value_row(state, v, rank) end
      out(c.table("NAME_value", name, values))
      rows[#rows + 1] = ("{%s, &%s, %s, %s, %s}"):format(i == 1, step.special.entry.c_name,
        step.special.c_place, c.dim3(step.grid), #values > 0 and name or "NULL")
    end
  end
  out(c.table("NAME_step", id .. "_steps", rows))
  return ("{%s, %d, %d, %d}"):format(#rows > 0 and id .. "_steps" or "NULL", #rows, workspace, zeros)
end

local function put_plans(state, out, program, entry)
  local rows = {}
  for i, special in ipairs(entry.specials) do
    rows[i] = put_plan(state, out, ("%s_plan_%d"):format(entry.c_name, i), special, program.rank)
  end
  out(c.table("NAME_plan", entry.c_name .. "_plans", rows), "\n")
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
  { "NAME_min(", "static inline int64_t NAME_min(int64_t a, int64_t b) { return a < b ? a : b; }\n" },
  { "NAME_max(", "static inline int64_t NAME_max(int64_t a, int64_t b) { return a > b ? a : b; }\n" },
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
  local rows = { CODES = math.max(state.n_codes, 1), CONTEXTS = CONTEXTS, SLOTS = math.max(state.n_slots, 1),
                 ARGS = math.max(state.n_args, 1), PARAMS = math.max(state.n_params, 1),
                 BYTES = math.max(state.n_bytes, 1) + 64, MAPS = state.n_maps }
  local words = {}
  for _, name in ipairs { "CODES", "CONTEXTS", "SLOTS", "ARGS", "PARAMS", "BYTES", "MAPS" } do
    words[#words + 1] = ("  UPPER_%s = %d"):format(name, rows[name])
  end
  return "enum {\n" .. table.concat(words, ",\n") .. "\n};"
end

local function dtype_names()
  local words = {}
  for i, d in ipairs(c.dtypes) do words[i] = c.text(d.name) end
  return table.concat(words, ", ")
end

-- The tables and functions of the program; what they need of the fixed part is noted in `state`.
local function body_of(program, state)
  local out, parts = writer()
  local has_functions = false
  for _, is_function in ipairs { false, true } do -- what functions launch comes before them
    for _, entry in ipairs(program.entries) do
      if entry.is_function == is_function then
        put_kernel(state, out, entry)
        if is_function then put_plans(state, out, program, entry) end
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
  local state = { n_codes = 0, n_params = 0, n_bytes = 0, n_maps = 0, n_args = 0, n_slots = 0, images = {},
                  tables = {}, table_list = {} }
  local body, has_functions = body_of(program, state)
  local has_maps = state.n_maps > 0
  local driver = fill_in(require "cuttle.export_driver.c", { LIMITS = limits(state),
    DTYPE_NAMES = dtype_names(), MAPS = has_maps and require "cuttle.export_maps.c" or "",
    PUT_MAPS = has_maps and "status = NAME_put_maps(k, code, s, block, err);" or "" })
  local text = ("/* NAME.c: see NAME.h. Made by `cuttle export` of Cuttle %s: do not edit. */\n"):format(
    ct._VERSION) .. includes .. driver .. "\n"
    .. (has_functions and steps_text(state) or "") .. helpers(body) .. body
  return c.prefixed(text, program.name)
end

--- Completes a program by what both files need: its name and the script's.
function M.prepare(program, name, script)
  program.name, program.script = name, script
  program.rank, program.asserts = widest_rank(program), has_asserts(program)
  return program
end

M.prefix_of, M.writer, M.fill_in = prefix_of, writer, fill_in
return M
