-- export_collect.lua: what is to be exported, as data: the launches of a script or a function, with
-- what interp/export says of each (describe.h). M.run gives a program:
--   entries      kernels and functions, in order of their first launches: {name =, specials =,
--                is_function =, is_public =, params =}
-- A special is a specialisation:
--   arguments    as describe.h has them, without records; with `id`, their names in C
--   constants    texts of layouts and the like among them, which are in the code; key: the same for
--                equal ones
--   grid, block, cluster, pdl, cooperative, deterministic, overlap     of a kernel
--   codes        {arch =, sm =, ...} by target, the best ones first
--   plans        of a function: {arch =, steps =} by target; workspace: bytes
--   text         what dispatch can see of it
local language = require "cuttle"
local internal = ...
local c = require "cuttle.export_c"
local tiles = require "cuttle.tiles"
local M = {}

local WORKSPACE_ALIGN <const> = 256
local MOST_BYTES <const> = 1 << 20 -- of a tensor whose data the test gets

local fail = require "cuttle.fail".of "export"
local lists = require "cuttle.lists"

local operators <const> = { matmul = { "A", "B", "C" }, attention = { "Q", "K", "V" } }
local results_of <const> = { matmul = { "C" }, attention = { "O", "LSE" } }

-- {====== Arguments ======

-- "saxpy: argument 2 (o.x)" -> "o.x"
local function path_of(title) return title:match "%((.*)%)$" end

local function name_arguments(arguments)
  local taken = {}
  for i, a in ipairs(arguments) do
    local id = c.identifier(path_of(a.title) or ("arg%d"):format(a.place))
    while taken[id] do id = id .. "_" .. i end
    taken[id], a.id = true, id
  end
end

-- Without records: their fields follow as arguments of their own. And without layouts and the like,
-- which the code has already: returns their texts, and what tells them apart.
local function plain_arguments(arguments)
  local plain, constants, keys = {}, {}, {}
  for _, a in ipairs(arguments) do
    if a.kind == "object" then
      constants[#constants + 1] = ("%s: %s, a constant"):format(path_of(a.title) or
        ("argument %d"):format(a.place), a.text)
      keys[#keys + 1] = a.key
    elseif a.kind ~= "record" then
      plain[#plain + 1] = a
    end
  end
  name_arguments(plain)
  return plain, constants, table.concat(keys)
end

-- What can be seen of the arguments when specialisations are told apart.
local function text_of(special)
  local words = { tostring(special.overlap) }
  for _, a in ipairs(special.arguments) do
    words[#words + 1] = a.kind .. " " .. a.dtype .. " " .. (a.kind == "constant" and a.bits or "")
    if a.leaves then
      words[#words + 1] = ("%d %d"):format(a.align, a.reach)
      for _, leaf in ipairs(a.leaves) do
        words[#words + 1] = ("%d:%d:%d"):format(leaf.low, leaf.high, leaf.divisor)
      end
    end
  end
  return table.concat(words, " ")
end

-- What the struct of arguments has: all specialisations of an entry agree in it.
local function params_of(arguments)
  return lists.map(arguments, function(a)
    return { id = a.id, kind = a.leaves and a.kind or "number",
                  dtype = not a.leaves and a.dtype or nil }
  end)
end

local function same_params(p, q)
  local same = #p == #q
  for i = 1, same and #p or 0 do
    same = same and p[i].id == q[i].id and p[i].kind == q[i].kind and p[i].dtype == q[i].dtype
  end
  return same
end

-- {====== Entries ======

local Collection = {}
Collection.__index = Collection

local function unique_name(self, name)
  local id, n = c.identifier(name), 1
  local found = id
  while self.names[found] do
    n = n + 1
    found = ("%s_%d"):format(id, n)
  end
  self.names[found] = true
  return found
end

-- The first entry of `owner` that takes the specialisation: with the same parameters and the same
-- layouts and the like, and none that takes the same arguments.
local function find_entry(self, owner, special, params)
  for _, entry in ipairs(self.entries) do
    if entry.owner == owner and same_params(entry.params, params) and
      entry.specials[1].key == special.key then
      local is_free = true
      for _, other in ipairs(entry.specials) do is_free = is_free and other.text ~= special.text end
      if is_free then return entry end
    end
  end
end

local function add_special(self, owner, name, special, is_function)
  local params = params_of(special.arguments)
  special.text = text_of(special)
  local entry = find_entry(self, owner, special, params)
  if not entry then
    entry = { owner = owner, name = unique_name(self, name), params = params, specials = {},
              is_function = is_function, is_public = is_function or not self.call }
    self.entries[#self.entries + 1] = entry
  end
  entry.specials[#entry.specials + 1] = special
  special.entry = entry
  return special
end

-- {====== Launches ======

local function check_code(record, target, code)
  if not code.why then
    code.arch, code.sm = target.text, target.sm
    return code
  end
  record.refused[#record.refused + 1] = ("sm_%s: %s"):format(target.text, code.why)
end

local function add_codes(self, special, record)
  record.refused = special.refused
  for i, target in ipairs(self.wanted) do
    special.tried[target.text] = true
    local code = check_code(record, target, record.codes[i])
    if code then table.insert(special.codes, code) end
  end
end

local function same_codes(special, record)
  local same, at = true, 0
  for _, code in ipairs(record.codes) do
    if not code.why then
      at = at + 1
      local other = special.codes[at]
      same = same and other and other.image == code.image and other.ptx == code.ptx
    end
  end
  return same and at == #special.codes and at > 0
end

-- One that takes the same arguments with the same code: of an example that lies elsewhere, as the
-- kernel does not notice.
local function find_same(self, owner, special, record)
  local text = text_of(special)
  for _, entry in ipairs(self.entries) do
    for _, other in ipairs(entry.owner == owner and entry.specials or {}) do
      local same = other.text == text and other.key == special.key
      for _, name in ipairs { "block", "cluster" } do
        same = same and table.concat(other[name], ",") == table.concat(special[name], ",")
      end
      for _, name in ipairs { "pdl", "cooperative", "deterministic" } do
        same = same and other[name] == special[name]
      end
      if same and same_codes(other, record) then
        return other
      end
    end
  end
end

-- A function's launch has its arguments from the function's, and a list is not among those.
local function check_no_lists(record)
  for _, a in ipairs(record.arguments) do
    if a.kind == "list" then
      fail("%s is a list of tensors, which launches in an exported function cannot have; export "
        .. "the kernel itself, or pass the tensors one by one", a.title)
    end
  end
end

local function take(self, record)
  local id = self.id
  local special = self.specials[id]
  if self.call then check_no_lists(record) end
  local is_known = false
  if special == nil then
    local arguments, constants, key = plain_arguments(record.arguments)
    special = { arguments = arguments, constants = constants, key = key, grid = record.grid,
                block = record.block, cluster = record.cluster, pdl = record.pdl,
                cooperative = record.cooperative, deterministic = record.deterministic,
                overlap = record.overlap, codes = {}, tried = {}, refused = {},
                name = record.name, line = record.line, ir = record.ir,
                sums_as_threads_come = record.sums_as_threads_come }
    local same = find_same(self, record.kernel, special, record)
    is_known = same ~= nil
    special = same or add_special(self, record.kernel, record.name, special, false)
    self.specials[id] = special
  end
  if not is_known then add_codes(self, special, record) end
  if self.call then
    table.insert(self.call, { special = special, grid = record.grid,
                              arguments = (plain_arguments(record.arguments)) })
  end
end

-- The targets that a specialisation has no code for yet; nil: the launch is nothing new.
local function choose(self, id)
  local special, wanted = self.specials[id], {}
  for _, target in ipairs(self.targets) do
    if not (special and special.tried[target.text]) then wanted[#wanted + 1] = target end
  end
  self.id, self.wanted = id, wanted
  wanted.ir = self.wants_ir and special == nil or nil
  if special and not self.call then special.entry.is_public = true end
  return (special == nil or #wanted > 0 or self.call) and wanted or nil
end

-- {====== Functions ======

-- Where the bytes lie: in an argument, or in a tensor that the function made.
local function place_of(tensors, a)
  for i, t in ipairs(tensors) do
    if a.first >= t.first and a.last <= t.last and a.last > a.first then
      return i - 1, a.address - t.address
    end
  end
end

-- What shares memory, joined: {first =, last =, members =} each. Addresses differ from run to run,
-- so the order is that of the first members in the list.
function M.join(spans)
  local order, at, joined = table.move(spans, 1, #spans, 1, {}), {}, {}
  for i, s in ipairs(spans) do at[s] = at[s] or i end
  table.sort(order, function(p, q)
    if p.first ~= q.first then return p.first < q.first end
    return at[p] < at[q]
  end)
  for _, s in ipairs(order) do
    local last = joined[#joined]
    if not last or s.first >= last.last then
      last = { first = s.first, last = s.last, members = {}, at = at[s] }
      joined[#joined + 1] = last
    end
    last.last, last.at = math.max(last.last, s.last), math.min(last.at, at[s])
    table.insert(last.members, s)
  end
  table.sort(joined, function(p, q) return p.at < q.at end)
  return joined
end

-- Does some code of the specialisation touch the tensor's memory?
local function is_used(special, a)
  for _, code in ipairs(special.codes) do
    for _, list in ipairs { code.packs, code.maps } do
      for _, item in ipairs(list) do
        if item.slot == a.slot then return true end
      end
    end
  end
  return false
end

-- The tensors that a function makes. What no launch has written before a kernel reads it is a table
-- that the host made; the others share the workspace.
local function own_tensors(tensors, call)
  local tables, spans = {}, {}
  for _, step in ipairs(call) do
    for _, a in ipairs(step.arguments) do
      if a.kind == "tensor" and a.last > a.first and not place_of(tensors, a)
        and is_used(step.special, a) then
        local is_table = not a.written and not place_of(spans, a)
        table.insert(is_table and tables or spans, a)
      end
    end
  end
  return tables, spans
end

local function check_tables(name, tables)
  for _, a in ipairs(tables) do
    if not a.before then
      fail("%s: %s reads %d bytes that the host made, more than a file should hold; give them as "
        .. "an argument", name, a.title, a.last - a.first)
    end
  end
end

-- Where the tensors of the workspace lie in it; its size, and how much of it is 0 at first.
local function plan_workspace(spans)
  local regions, at, is_zero = M.join(spans), 0, false
  for _, r in ipairs(regions) do
    r.at = at
    at = (at + r.last - r.first + WORKSPACE_ALIGN - 1) // WORKSPACE_ALIGN * WORKSPACE_ALIGN
  end
  for _, a in ipairs(spans) do
    is_zero = is_zero or (a.before ~= nil and not a.before:find "[^%z]")
  end
  return regions, at, is_zero and at or 0
end

local function value_of(a, tensors, regions, tables)
  if a.kind ~= "tensor" then return { from = -2, value = a.bits } end
  local view = { dtype = a.dtype, leaves = a.leaves }
  local from, offset = place_of(tensors, a)
  if from then return { from = from, value = offset, view = view } end
  for _, t in ipairs(tables) do
    if t.first == a.first and t.last == a.last then
      return { table = t.before, value = a.address - a.first, view = view }
    end
  end
  for _, r in ipairs(regions) do
    if a.first >= r.first and a.last <= r.last then
      return { from = -1, value = r.at + a.address - r.first, view = view }
    end
  end
  return { from = -1, value = 0, view = view } -- an empty one
end

local function plan_of(name, tensors, call, target, is_operator)
  local tables, spans = own_tensors(tensors, call)
  check_tables(name, tables)
  local regions, bytes, zeros = plan_workspace(spans)
  local steps = {}
  for i, step in ipairs(call) do
    local values = {}
    for k, a in ipairs(step.arguments) do values[k] = value_of(a, tensors, regions, tables) end
    steps[i] = { special = step.special, grid = step.grid, values = values }
  end
  return { target = target, steps = steps, workspace = bytes, zeros = is_operator and 0 or zeros }
end

local function describe_tensors(named)
  local out = {}
  for i, n in ipairs(named) do
    out[i] = internal.export.tensor(n.tensor, MOST_BYTES)
    out[i].name = n.name
  end
  return out
end

-- A tensor of a function as an argument whose extents and strides are constants.
local function fixed_argument(name, t, i)
  return { kind = "tensor", title = ("%s: argument %d (%s)"):format(name, i, t.name), place = i,
           id = c.identifier(t.name), dtype = t.dtype, leaves = t.leaves, align = t.align, slot = 0,
           reach = t.reach, most = t.most, address = t.address, first = t.first, last = t.last }
end

-- Runs `f` for each target, and gives the tensors their values of the first run back. `tensors_of`:
-- the list of {name =, tensor =} that are its arguments, once with its results and once without.
function Collection:call_function(name, f, tensors_of)
  local targets, before, plans = self.targets, describe_tensors(tensors_of()), {}
  local results, after, arguments
  for i, target in ipairs(targets) do
    self.targets, self.call = { target }, {}
    internal.export.for_target(target.sm)
    local got = table.pack(pcall(f))
    internal.export.for_target(nil)
    local call = self.call
    self.targets, self.call = targets, nil
    if not got[1] then error(got[2], 0) end
    local tensors = describe_tensors(tensors_of(table.unpack(got, 2, got.n)))
    plans[i] = plan_of(name, tensors, call, target, operators[name] ~= nil)
    if i == 1 then results, after, arguments = got, tensors, tensors end
    local given = tensors_of()
    for k, n in ipairs(given) do
      local saved = i < #targets and before[k] or after[k]
      if saved.data then internal.export.restore(n.tensor, saved.data) end
    end
  end
  local list = {}
  for k, t in ipairs(arguments) do
    list[k] = fixed_argument(name, t, k)
    if self.runs then list[k].before, list[k].after = before[k] and before[k].data, t.data end
  end
  self:add_function(name, list, plans)
  return table.unpack(results, 2, results.n)
end

local function plans_text(plans)
  local words = {}
  for _, plan in ipairs(plans) do
    for _, step in ipairs(plan.steps) do words[#words + 1] = step.special.entry.name end
  end
  return table.concat(words, " ")
end

function Collection:add_function(name, arguments, plans)
  local special = { arguments = arguments, plans = plans, overlap = true, codes = {}, refused = {},
                    name = name, grid = { 1, 1, 1 }, block = { 1, 1, 1 }, cluster = { 1, 1, 1 } }
  local text = text_of(special) .. plans_text(plans)
  if self.functions[text] then return end
  self.functions[text] = true
  add_special(self, name, name, special, true)
end

-- {====== Operators ======

local function is_tensor(x) return tiles.type_name(x) == "tensor" end

local function add_tensor(list, name, x)
  for _, n in ipairs(list) do
    if rawequal(n.tensor, x) then return end
  end
  list[#list + 1] = { name = name, tensor = x }
end

-- A value that is made of tensors, as a packed weight is, counts as these.
local function add_tensors(list, names, ...)
  for i = 1, select("#", ...) do
    local x, name = select(i, ...), names[i] or ("arg%d"):format(i)
    if is_tensor(x) then add_tensor(list, name, x) end
    for _, part in ipairs(tiles.tensors_of(x) or {}) do
      add_tensor(list, name .. "_" .. part[1], part[2])
    end
  end
end

-- Those among the options, in the order of their names.
local function add_options(list, ...)
  local options = select(select("#", ...), ...)
  if type(options) ~= "table" then return end
  local names = {}
  for key in pairs(options) do names[#names + 1] = type(key) == "string" and key or nil end
  table.sort(names)
  for _, name in ipairs(names) do
    add_tensors(list, { name }, options[name])
    if type(options[name]) == "table" then
      for i, x in ipairs(options[name]) do add_tensors(list, { name .. i }, x) end
    end
  end
end

-- The operator as the script calls it.
local function exporting(self, name, operator)
  return function(...)
    if self.call or self.is_off then return operator(...) end
    local given = table.pack(...)
    return self:call_function(name, function() return operator(table.unpack(given, 1, given.n)) end,
      function(...)
        local list = {}
        add_tensors(list, operators[name], table.unpack(given, 1, given.n))
        if given.n > 0 then add_options(list, table.unpack(given, 1, given.n)) end
        add_tensors(list, results_of[name], ...)
        return list
      end)
  end
end

-- pcall(f), with the operators as they are exported.
local function with_operators(self, f)
  local saved = {}
  for name in pairs(operators) do
    saved[name] = { language[name], rawget(_G, name) }
    rawset(language, name, exporting(self, name, language[name]))
    if saved[name][2] ~= nil then rawset(_G, name, language[name]) end
  end
  local results = table.pack(pcall(f))
  for name, was in pairs(saved) do
    rawset(language, name, was[1])
    if was[2] ~= nil then rawset(_G, name, was[2]) end
  end
  return results
end

-- {====== Running ======

-- "80,90a" -> {{text =, sm =, arch =, ptx = true}, ...}
function M.targets(text)
  local list = {}
  for word in text:gmatch "[^,%s]+" do
    local sm, arch = internal.export.target(word)
    if not sm then fail("sm: %s", arch) end
    list[#list + 1] = { text = arch:sub(4), sm = sm, arch = arch, ptx = true }
  end
  if #list == 0 then fail("sm is '%s'; capabilities such as 80,90a were expected", text) end
  table.sort(list, function(a, b) return a.sm < b.sm end)
  return list
end

local function check_specials(program)
  for _, entry in ipairs(program.entries) do
    for _, special in ipairs(entry.specials) do
      if #special.codes == 0 and not entry.is_function then
        fail("%s, line %d, compiles for none of the capabilities:\n  %s", special.name,
          special.line, table.concat(special.refused, "\n  "))
      end
      table.sort(special.codes, function(a, b) return a.sm > b.sm end)
      for _, a in ipairs(special.arguments) do
        a.unused = a.kind == "tensor" and not entry.is_function and not is_used(special, a)
      end
    end
  end
  return program
end

--- Calls f(collection) and gives what it launched on the CPU engine, and what f returned. Options:
--- cpu: specialisations have `ir`, what the CPU engine runs; run = false: launches do not run, so
--- there is no data for a test.
function M.run(targets, options, f)
  local self = setmetatable({ targets = targets, wants_ir = options.cpu, specials = {},
                              runs = options.run ~= false, entries = {}, names = {},
                              functions = {} }, Collection)
  local session <close> = internal.export.begin( -- luacheck: ignore 211
    function(id) return choose(self, id) end, function(record) take(self, record) end)
  internal.export.skip(options.run == false)
  local results = with_operators(self, function() return f(self) end)
  internal.export.skip(false)
  if not results[1] then error(results[2], 0) end
  for _, special in pairs(options.run == false and self.specials or {}) do
    for _, a in ipairs(special.arguments) do
      a.before, a.after = nil, nil
      for _, member in ipairs(a.members or {}) do member.before, member.after = nil, nil end
    end
  end
  return check_specials { entries = self.entries }, table.unpack(results, 2, results.n)
end

M.is_tensor = is_tensor
M.add_tensors = add_tensors
return M
