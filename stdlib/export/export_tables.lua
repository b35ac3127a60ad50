-- export_tables.lua: the kernels and functions of a program (export_collect.lua) as tables of C,
-- whose types export_driver.c and export_steps.c define, and the small functions that belong to
-- them.
-- `state` adds up what the fixed part needs to know: n_codes, n_slots, ...; `out` takes the text.
local c = require "cuttle.export_c"
local M = {}

local fail = require "cuttle.fail".of "export"
local lists = require "cuttle.lists"

-- {====== Arguments ======

-- The modes of a tensor; dynamic extents, and then strides, have the slots after its address.
local function mode_rows(a)
  local leaves, rows, slot = {}, {}, 0
  for i, leaf in ipairs(a.leaves) do
    if not leaf.fixed then slot = slot + 1 end
    leaves[i] = ("{%s, %s, %d, %d}"):format(c.int64(leaf.low), c.int64(leaf.high),
      leaf.divisor - 1, leaf.fixed and 0 or slot)
  end
  for i = 1, #leaves // 2 do rows[i] = ("{%s, %s}"):format(leaves[i], leaves[#leaves // 2 + i]) end
  if #rows == 0 then rows[1] = "{{0, 0, 0, 0}, {0, 0, 0, 0}}" end -- so that there is a table
  return rows
end

-- Where the modes begin among the rows of all tensors: those of an earlier one if they are the
-- same.
local function place_modes(rows, places, a)
  local own = mode_rows(a)
  local text = table.concat(own)
  if not places[text] then
    places[text] = #rows
    table.move(own, 1, #own, #rows + 1, rows)
  end
  return places[text]
end

local function rule_row(a, modes)
  local d = c.dtype[a.dtype]
  if a.leaves then
    return ("{UPPER_%s, %s, %d, %d, %d, %d, %d, %s, %s}"):format(a.kind:upper(), d.enum,
      #a.leaves // 2, a.unused and 0 or d.bytes, a.slot, modes, a.unused and 1 or a.align,
      c.int64(a.reach), c.int64(a.most))
  end
  return ("{%s, %s, 0, %d, %d, 0, 1, %s, 0}"):format(
    a.kind == "number" and "UPPER_NUMBER" or "UPPER_CONSTANT", d.enum, d.bytes,
    a.kind == "number" and a.slot or 0, c.int64(a.kind == "constant" and a.bits or 0))
end

-- A table with these rows, and its name; without rows there is none.
local function put_table(out, type, id, rows)
  out(c.table(type, id, rows))
  return #rows > 0 and id or "NULL"
end

-- What only messages need.
local function put_texts(out, id, special)
  local rows = {}
  for i, a in ipairs(special.arguments) do
    local examples, name = {}, ("%s_%d"):format(id, i)
    for k, leaf in ipairs(a.leaves or {}) do examples[k] = c.int64(leaf.value) end
    if #examples > 0 then
      out(c.table("int64_t", name, { table.concat(examples, ", ") }))
    end
    rows[i] = ("{%s, %s}"):format(c.text(a.title), #examples > 0 and name or "NULL")
  end
  return put_table(out, "NAME_text", id, rows)
end

-- The numbers of the arguments that the kernel writes: the table's name, and how many there are.
local function put_written(out, id, special)
  local rows = {}
  for i, a in ipairs(special.arguments) do
    if a.kind == "tensor" and a.written then rows[#rows + 1] = i - 1 end
  end
  if #rows > 0 then out(c.table("uint16_t", id, { table.concat(rows, ", ") })) end
  return #rows > 0 and id or "NULL", #rows
end

-- The tables that arguments are checked by: names of the rules, the modes and the texts, or NULL.
local function put_rules(out, id, special)
  local rows, modes, places = {}, {}, {}
  for i, a in ipairs(special.arguments) do
    rows[i] = rule_row(a, a.leaves and place_modes(modes, places, a) or 0)
  end
  local texts = put_texts(out, id .. "_texts", special)
  out(c.table("NAME_mode", id .. "_modes", modes), c.table("NAME_rule", id .. "_rules", rows))
  return #rows > 0 and id .. "_rules" or "NULL", #modes > 0 and id .. "_modes" or "NULL", texts
end

-- A function that checks what a tile or the like asks of extents; its name, or NULL.
local function put_require(out, id, special, requires)
  if #requires == 0 then return "NULL" end
  out("static NAME_status ", id, "(const NAME_slot *slots, NAME_error *err) {\n")
  for _, r in ipairs(requires) do
    local value = r.expression:gsub("s%[(%d+)%]", "slots[%1].i")
    local wrong = ("NAME_floormod(%s, %s) != 0"):format(value, c.int64(r.modulus))
    local why = ("is not a multiple of the %s's %d"):format(r.divisor, r.modulus)
    if r.most ~= 0 then
      wrong = ("%s > %s"):format(value, c.int64(r.most))
      why = ("is more than %d, so the coordinates of a %s that overhangs do not fit 32 bits")
        :format(r.most, r.divisor)
    end
    out("  if (", wrong, ") {\n    return NAME_fail(err, UPPER_BAD_ARGUMENT, ",
      c.text(("%s: %s: extent %%lld of mode %s of %s %s"):format(special.name, r.op, r.mode, r.name,
        why)), ",\n                     (long long)", value, ");\n  }\n")
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
    out(("  NAME_begin_map(&m[%d], %s, %d, %d, %d, s[%d].i + %s * %d);\n"):format(i - 1,
      c.text(m.name), d.map, m.swizzle, promotion_number(m.promotion), m.slot, c_value(m.offset),
      d.bytes))
    for _, dim in ipairs(m.dims) do
      out(("  NAME_add_dim(&m[%d], %s / %d, %s * %d, %d);\n"):format(i - 1, c_value(dim.extent),
        dim.div, c_value(dim.stride), dim.mul * d.bytes, dim.box))
    end
  end
  out("  (void)err;\n  return UPPER_OK;\n}\n")
  return id, id .. "_slots"
end

local function put_packs(out, id, code)
  local rows = lists.map(code.packs, function(p) return ("{%d, %d}"):format(p.slot, p.offset) end)
  return put_table(out, "NAME_pack", id, rows)
end

local function put_sites(out, id, code)
  local rows = lists.map(code.asserts, function(site)
    return ("{%s, %d}"):format(c.text(site.text), site.line)
  end)
  return put_table(out, "NAME_site", id, rows)
end

-- The parameters are passed one by one: some are aligned to more than the driver aligns the block
-- to, or the launch is cooperative and may be captured, or there are none.
local function is_listed(special, code)
  return #code.maps > 0 or special.cooperative or code.bytes == 0
end

local function code_row(state, special, code, suffix, image, fields)
  local number = state.n_codes
  state.n_codes = number + 1
  return ("{%d, %s, %d, %d, %d, %d, %d, %d, %d, %d, %s, %s, %s, %s, %s, %s, %d, '%s'}"):format(
    number, is_listed(special, code), #code.packs, #code.maps, #code.asserts, code.bytes,
    code.maps_at, code.fault_at, code.grid_at, code.smem, fields.packs, fields.maps,
    fields.map_slots, fields.sites, image, c.text(code.symbol), code.sm,
    suffix == "" and " " or suffix)
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

local function put_code(out, id, code)
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
    local fields = put_code(out, own, code)
    local suffix = code.arch:match "%a$" or ""
    local image = image_of(state, out, own, code.image)
    rows[#rows + 1] = code_row(state, special, code, suffix, image, fields)
    if not ptx and code.ptx ~= "" then
      local text = image_of(state, out, own .. "_ptx", code.ptx .. "\0") -- a text of C
      ptx = code_row(state, special, code, "p", text, fields)
    end
    measure(state, special, code)
  end
  rows[#rows + 1] = ptx
  out(c.table("NAME_code", id, rows))
  return #rows
end

local function count_dynamic(a)
  local n = 0
  for _, leaf in ipairs(a.leaves) do n = n + (leaf.fixed and 0 or 1) end
  return n
end

local function count_slots(special)
  local most = 0
  for _, a in ipairs(special.arguments) do
    local n = a.slot + 1 + (a.kind == "list" and 1 or 0) -- a list: its table and its size
    if a.kind == "tensor" then n = n + count_dynamic(a) end
    most = math.max(most, n)
  end
  return most
end

local function requires_of(special)
  local first
  for _, code in ipairs(special.codes) do
    local words = lists.map(code.requires, function(r)
      return r.expression .. "%" .. r.modulus .. "<=" .. r.most
    end)
    local text = table.concat(words, " ")
    if first and text ~= first then
      fail("%s has different rules for its extents on different devices; export it once for each",
        special.name)
    end
    first = text
  end
  return special.codes[1] and special.codes[1].requires or {}
end

local function put_special(state, out, id, special)
  local rules, modes, texts = put_rules(out, id, special)
  local written, n_written = put_written(out, id .. "_written", special)
  local require_name = put_require(out, id .. "_require", special, requires_of(special))
  local n_codes = put_codes(state, out, id .. "_code", special)
  state.n_slots = math.max(state.n_slots, count_slots(special))
  state.n_args = math.max(state.n_args, #special.arguments)
  for _, a in ipairs(special.arguments) do
    if a.kind == "list" then state.n_columns = math.max(state.n_columns, 1 + count_dynamic(a)) end
  end
  return ("{%s, %s, %s, %s, %s, %d, %d, %s, %s, %s, %s, %s, %s, %s, %s}"):format(rules, modes,
    require_name, n_codes > 0 and id .. "_code" or "NULL", written, n_codes, n_written,
    special.overlap, special.pdl or false, special.cooperative or false,
    special.deterministic or false, c.dim3(special.block), c.dim3(special.cluster),
    c.dim3(special.grid), texts)
end

--- The tables of an entry, which put_launch of export_write.lua names by entry.c_name.
function M.put_kernel(state, out, entry)
  local id, rows = "NAME_" .. entry.name .. "__kernel", {}
  out("/* {====== ", entry.name, " ====== */\n\n")
  for i, special in ipairs(entry.specials) do
    special.c_name = ("%s_%d"):format(id, i)
    special.c_place = ("&%s_specials[%d]"):format(id, i - 1)
    rows[i] = put_special(state, out, special.c_name, special)
  end
  out(c.table("NAME_special", id .. "_specials", rows))
  out(("static const NAME_kernel %s = {%s, %d, %s_specials, %d};\n\n"):format(id,
    c.text(entry.name), #entry.params, id, #rows))
  entry.c_name = id
end

-- {====== Plans of functions ======

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
  return ("{%s, %d, %d, %d}"):format(#rows > 0 and id .. "_steps" or "NULL", #rows, workspace,
    zeros)
end

--- What a function launches.
function M.put_plans(state, out, program, entry)
  local rows = {}
  for i, special in ipairs(entry.specials) do
    rows[i] = put_plan(state, out, ("%s_plan_%d"):format(entry.c_name, i), special, program.rank)
  end
  out(c.table("NAME_plan", entry.c_name .. "_plans", rows), "\n")
end

return M
