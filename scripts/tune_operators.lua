-- tune_operators.lua: makes stdlib/operators/matmul.tune and attention.tune, by which matmul and
-- attention choose on each device.
local ct = require "cuttle"
local search = require "cuttle.operator_search"
local results = require "cuttle.operator_table"
local store = require "cuttle.store"

local help <const> = [[
cuttle scripts/tune_operators.lua [--measure] [--file=FILE] [--seconds=N] [word ...]
  Without --measure the model predicts the rows of GPUs that are not here. Words are operators
  (matmul attention), devices (H100 A100 L40S), types (f16 bf16 tf32 f32), majors (TN NT NN TT),
  sizes (4096x4096x256), depths (d64) and masks (full causal); all that are not named are taken.
  Of an H100 only rows are kept that choose otherwise than the rules, which an H200 measured.
  With --measure the GPU in use is measured:
    CUTTLE_DEVICE=cuda cuttle scripts/tune_operators.lua --measure --file=h200.tune f32
  --file=FILE   what rows are added to (stdlib/operators/matmul.tune and attention.tune)
  --seconds=N   begins nothing more after so many (55 with --measure)
]]

-- Sizes are of products with a C by columns. One by rows is the product of what changed places: few
-- rows of it are few columns here.
local known <const> = {
  operators = { "matmul", "attention" },
  devices = { "H100", "A100", "L40S" }, types = { "f16", "tf32", "f32" },
  majors = { "TN", "NT", "NN" },
  sizes = { "512x512x512", "1024x1024x1024", "2048x2048x2048", "4096x4096x4096", "8192x8192x8192",
            "4096x4096x256", "512x512x8192", "16x4096x4096", "128x4096x4096",
            "4096x16x4096", "4096x128x4096" },
  depths = { "d64", "d128" }, masks = { "full", "causal" },
}
local measured_sizes <const> = { "1024x1024x1024", "2048x2048x2048", "4096x4096x4096",
  "8192x8192x8192", "8192x8192x1024", "5120x5120x256", "512x512x512", "512x512x8192",
  "128x4096x4096" }
-- Beside those of `known`, which are the defaults.
local more <const> = { bf16 = "types", d256 = "depths", TT = "majors" }
-- Of attention: batches and heads, queries, keys.
local attentions <const> = { { 1, 32, 1, 4096 }, { 4, 32, 512, 512 }, { 4, 32, 4096, 4096 } }

local function fail(...) error("tune_operators: " .. string.format(...), 0) end

-- {====== Arguments ======

local function kind_of(word)
  if word:find "^%d+x%d+x%d+$" then return "sizes" end
  for kind, list in pairs(known) do
    for _, one in ipairs(list) do
      if one == word then return kind end
    end
  end
  return more[word] or fail("'%s' is not one of the words\n%s", word, help)
end

local function read_arguments(...)
  local o = {}
  for _, word in ipairs { ... } do
    local key, value = word:match "^%-%-(%w+)=?(.*)$"
    if key then
      o[key] = value
    else
      local kind = kind_of(word)
      o[kind] = o[kind] or {}
      table.insert(o[kind], word)
    end
  end
  o.has_types, o.has_majors = o.types ~= nil, o.majors ~= nil
  for kind, list in pairs(known) do
    o[kind] = o[kind] or kind == "sizes" and o.measure and measured_sizes or list
  end
  return o
end

-- {====== Problems ======

local function elements(dtype, layout)
  local n = ct.cosize(layout)
  return ct.view(ct.device().sm and ct.rand(dtype, n, -1, 1) or ct.zeros(dtype, n), layout)
end

local function operand(dtype, rows, columns, is_by_rows)
  return elements(dtype, (is_by_rows and ct.row_major or ct.layout) { rows, columns })
end

local function product(type_name, majors, size)
  local m, n, k = size:match "(%d+)x(%d+)x(%d+)"
  m, n, k = math.tointeger(m), math.tointeger(n), math.tointeger(k)
  local dtype = ct[type_name]
  return { operand(dtype, m, k, majors:sub(1, 1) == "T"),
           operand(dtype, n, k, majors:sub(2, 2) == "N"),
           ct.zeros(dtype == ct.tf32 and ct.f32 or dtype, { m, n }) }, {}
end

-- The model finds the same for all majors on tensor cores, and matmul takes a row of one for all,
-- and of f32 those of NN for TT.
local function products(o, add)
  for _, size in ipairs(o.sizes) do
    for _, type_name in ipairs(o.types) do
      local is_alike = type_name ~= "f32" and not o.measure and not o.has_majors
      for _, majors in ipairs(is_alike and { "TN" } or o.majors) do
        add(function() return product(type_name, majors, size) end)
      end
    end
  end
end

local function attention(type_name, depth, mask, sizes)
  local b, h, n_q, n_k = table.unpack(sizes)
  local dtype = ct[type_name]
  local q, k = ct.row_major { b, h, n_q, depth }, ct.row_major { b, h, n_k, depth }
  return { elements(dtype, q), elements(dtype, k), elements(dtype, k), ct.zeros(dtype, q) },
    { causal = mask == "causal" }
end

local function attentions_of(o, add)
  for _, sizes in ipairs(attentions) do
    for _, type_name in ipairs(o.has_types and o.types or { "bf16" }) do
      for _, depth in ipairs(o.depths) do
        for _, mask in ipairs(o.masks) do
          local n = math.tointeger(depth:match "%d+")
          add(function() return attention(type_name, n, mask, sizes) end)
        end
      end
    end
  end
end

local problems <const> = { matmul = products, attention = attentions_of }

-- {====== Rows ======

local function check_file(path)
  local file <close> = io.open(path, "rb")
  local rows, why = results.parse(file and file:read "a" or "", path)
  if not rows then fail("%s", why) end
end

local function say(row)
  print(("%s %s: %s, %.4g ms %s%s"):format(row.device, row.key, row.config, row.ms, row.how,
    row.is_rule and ", as the rule" or ""))
end

local function keep(path, row)
  local ok, why = store.add(path, { row })
  if not ok then fail("cannot write %s", why) end
end

local function measure(operator, path, args, options)
  say(search.tune(operator, args, options, { file = path }))
  for _, x in ipairs(args) do x:close() end
end

local function predict(o, operator, path, args, options)
  for _, device in ipairs(o.devices) do
    local row = search.predict(operator, args, options, device)
    if row then
      say(row)
      if device ~= "H100" or not row.is_rule then keep(path, row) end
    end
  end
end

local function make(o, name)
  local path = o.file or ("stdlib/operators/%s.tune"):format(name)
  local operator = require("cuttle." .. name).operator
  local began, most = os.time(), tonumber(o.seconds) or o.measure and 55 or math.huge
  check_file(path)
  problems[name](o, function(arguments_of)
    if os.time() - began >= most then return end
    local args, options = arguments_of()
    if o.measure then
      measure(operator, path, args, options)
    else
      predict(o, operator, path, args, options)
    end
    collectgarbage()
  end)
end

local function main(...)
  local o = read_arguments(...)
  if o.help then return io.write(help) end
  if o.measure and not ct.device().sm then fail("there is no GPU in use; leave out --measure") end
  if not o.measure then ct.device "cpu" end
  for _, name in ipairs(o.operators) do make(o, name) end
end

main(...)
