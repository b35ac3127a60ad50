-- matmul's choice by results of tune: on the devices of the model, without a GPU. Only the shape is
-- large: matmul's view of a small product, with other extents.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local matmul = require "cuttle.matmul"
local configs = require "cuttle.matmul_choice"
local devices = require "cuttle.profile_device"
local results = require "cuttle.operator_table"
local split = require "cuttle.gemm_split"
local tables = require "cuttle.matmul_table"

local out_of <const> = { tf32 = f32, f8e4m3 = f32, i8 = i32 }
local bases = {}

-- The problem on a device.
local function problem(device, type_name, majors, m, n, k, l, options)
  local id = type_name .. majors .. (options and " options" or "")
  if not bases[id] then
    local dtype = _G[type_name]
    local function operand(is_by_rows) return zeros(dtype, is_by_rows and row_major{64, 64}
      or {64, 64}) end
    local A, B = operand(majors:sub(1, 1) == "T"), operand(majors:sub(2, 2) == "N")
    bases[id] = matmul.problem(A, B, zeros(out_of[type_name] or dtype, {64, 64}), options)
  end
  local p = {}
  for name, value in pairs(bases[id]) do p[name] = value end
  p.m, p.n, p.k, p.l = m, n, k, l or 1
  return tables.on(p, device)
end

local function with(p, changes)
  local new = {}
  for _, t in ipairs{p, changes} do
    for name, value in pairs(t) do new[name] = value end
  end
  return new
end

local function text(config, n) return ("%s by %d"):format(config.name, n) end

-- What the list and gemm_split.lua choose, without results.
local function by_list(p)
  local n = split.parts_on(p, p.sm, p.n_sms)
  local first = n == 1 and p or with(p, {k = p.k // n, l = n, beta = 0, bias = false,
    epilogue = false})
  return text(configs.choose(first), n)
end

local function chosen(p)
  local choice, row = tables.choose(p)
  return text(choice.config, choice.split), choice, row
end

local types <const> = { "f16", "bf16", "tf32", "f32", "i8", "f8e4m3", "f64" }
local all_majors <const> = { "TN", "NT", "NN", "TT" }
local sizes <const> = { 16, 128, 512, 1000, 1024, 2048, 4096, 8192 }
local ks <const> = { 64, 250, 256, 512, 1024, 4096, 8192 }

local function each_problem(device, f)
  for _, type_name in ipairs(types) do
    for _, majors in ipairs(type_name == "f64" and {"NT"} or all_majors) do
      for _, m in ipairs(sizes) do
        for _, n in ipairs{16, m} do
          for i, k in ipairs(ks) do
            f(problem(device, type_name, majors, m, n, k, 1, i % 2 == 0 and {beta = 1.0} or nil))
          end
          f(problem(device, type_name, majors, m, n, 512, 3))
        end
      end
    end
  end
end

local function name_of(p)
  return ("%s %s %dx%dx%d, %d batches, beta %g"):format(p.type_name, p.majors, p.m, p.n, p.k, p.l,
    p.beta)
end

-- {====== Where the rules were measured, and what is chosen runs ======

local function fault_of(p, config, n)
  local first = n == 1 and p or with(p, {k = p.k // n, l = n, beta = 0, bias = false,
    epilogue = false})
  if not configs.can_run(config, p.dtype, p.majors, p.sm, p.shared) then return "cannot run" end
  if not configs.accepts(config, first) then return "is not for it" end
  if config.sums then return "has other sums" end
  if p.k % n ~= 0 then return "does not divide K" end
end

for _, device in ipairs{"A100", "A100-80GB", "L40S", "H100", "H200", "A10", "T4", "B200"} do
  local n, n_rows, fault, other = 0, 0, nil, nil
  each_problem(device, function(p)
    local got, choice, row = chosen(p)
    local why = fault_of(p, choice.config, choice.split)
    n, n_rows = n + 1, n_rows + (row and 1 or 0)
    fault = why and ("%s: %s %s"):format(name_of(p), got, why) or fault
    local want = device:find "^H" and not (row and row.device == "H100") and by_list(p)
    if want and want ~= got then other = ("%s: %s instead of %s"):format(name_of(p), got, want) end
  end)
  tap.ok(n > 2500 and not fault, "what is chosen runs on " .. device, fault or n)
  if device:find "^H" then tap.ok(not other, "the list's choices stay on " .. device, other) end
  if device:find "[AL]%d" or device == "H200" then
    tap.ok(n_rows > 200, "many of them are of rows on " .. device, n_rows)
  end
end

-- {====== The shipped rows ======

local function problem_of(row)
  local type_name, majors, m, n, k, l = row.key:match "^(%w+) (%u%u) (%d+) (%d+) (%d+) (%d+)$"
  return problem(row.device, type_name, majors, math.tointeger(m), math.tointeger(n),
    math.tointeger(k), math.tointeger(l))
end

-- What is wrong with a row, and whether it chooses otherwise than the list.
local function judge(row)
  local why, device = tables.trouble(row), devices.find(row.device)
  if why or not device then return why or "no device" end
  local p = problem_of(row)
  local config, parts = tables.read(row, p)
  if not config then return "it is not for its own problem" end
  local choice, from = tables.choose(p)
  if not from or from.device ~= row.device or from.key ~= row.key then
    return "the choice is not its own"
  elseif choice.config ~= config or choice.split ~= parts then
    return "another configuration is chosen"
  end
  local told = tables.explain(p)
  if told.how ~= row.how or told.config ~= config.name or told.split ~= parts then
    return "explain says otherwise"
  elseif (row.how == "measured") ~= (device.measured == true) then
    return "it is " .. row.how
  end
  return nil, chosen(p) ~= by_list(p)
end

local faults, counts, differ = {}, {}, { A100 = 0, L40S = 0 }
for _, row in ipairs(results.shipped "matmul") do
  local why, is_other = judge(row)
  if why then faults[#faults + 1] = ("%s: %s"):format(row.key, why) end
  counts[row.device] = (counts[row.device] or 0) + 1
  if is_other then differ[row.device] = (differ[row.device] or 0) + 1 end
end
local file <close> = assert(io.open "stdlib/operators/matmul.tune")
local in_file = results.parse(file:read "a", "matmul.tune")
local is_same = #in_file == #results.shipped "matmul"
for i, row in ipairs(results.shipped "matmul") do
  for name, value in pairs(row) do
    is_same = is_same and (name == "line" or in_file[i][name] == value)
  end
end
tap.ok(is_same, "what is shipped is the file")
tap.ok(#faults == 0, "each shipped row is what its own problem gets",
  table.concat(faults, "\n", 1, math.min(5, #faults)))
tap.ok(counts.H200 >= 20 and counts.A100 >= 30 and counts.L40S >= 30,
  "there are rows of the devices")
tap.ok(differ.A100 > 10 and differ.L40S > 5 and not differ.H200,
  "rows choose what the list would not", ("%s %s"):format(differ.A100, differ.L40S))

-- {====== Rows of a user ======

local path = os.tmpname()
local function write(text_of_file) shell.write_file(path, text_of_file) end
local function line(device, key, config, how, name)
  return table.concat({name or "matmul", how or "measured", "0.5", device, "-", key, config,
    ("0"):rep(16)}, "\t") .. "\n"
end

-- A shape of which no shipped row is of the class.
local key <const> = "f16 TN 3072 3072 3072 2"
local function at(device, m, type_name, majors)
  return tables.explain(problem(device, type_name or "f16", majors or "TN", m or 3072, 3072, 3072,
    2))
end
local before = {}
for _, device in ipairs{"H200", "H100"} do before[device] = tostring(at(device)) end
write(line("A100", key, 'name="mma 64x64x64" split=1') .. line("NVIDIA L40S", key,
  'name="mma 128x64x64" split=1')
  .. line("A100", "some other", "n=3", nil, "stencil"))
matmul.use(path)
tap.is(at "A100".config, "mma 64x64x64", "the row of an A100 is taken there")
tap.is(at "L40S".config, "mma 128x64x64", "that of an L40S there")
tap.is(tostring(at "A100"), "mma 64x64x64: measured on A100: 0.5 ms", "explain says why")
tap.is(at("A100", 3000).text, "measured on A100 for " .. key, "a near product takes it")
tap.is(at("A100", 3072, "bf16").config, "mma 64x64x64", "so does bf16")
tap.is(at("A100", 3072, "f16", "NN").config, "mma 64x64x64", "so does what lies otherwise")
tap.ok(at("A100", 3072, "tf32").text ~= at("A100").text, "tf32 does not")
tap.ok(at("A100", 20000).how == "measured" and at("A100", 60000).how ~= "measured",
  "nor does one that is far")
write(line("A100", "f16 TN 256 256 1024 2", 'name="mma 128x128x32, 16 bits" split=1'))
matmul.use(path)
local function near(m, n) return tables.explain(problem("A100", "f16", "TN", m, n, 1024, 2)) end
tap.is(near(512, 256).config, "mma 128x128x32, 16 bits", "a row stands for problems near it")
tap.ok(near(1024, 512).key ~= near(512, 256).key and near(1024, 512).how ~= "measured",
  "not for those of which the list chooses another tile")
for _, device in ipairs{"H200", "H100"} do
  tap.is(tostring(at(device)), before[device], "an " .. device .. " keeps its choice")
end
tap.is(at "A100-80GB".config, "mma 64x64x64", "an A100 of 80 GB takes those of an A100")
tap.is(at "A10".config, "mma 128x64x64",
  "what has no rows takes those of the device that is most like it")

write(line("A100", key, 'name="mma 128x256x64" split=1')
  .. line("A100", key, 'name="mma 128x256x64, f16 sums" split=1'))
matmul.use(path)
tap.is(at "A100".config, "mma 64x64x64",
  "what does not fit into the memory of a block is not taken")
write(line("A100", key, 'name="mma 128x64x64" split=1', "predicted"))
matmul.use(path)
tap.is(at "A100".config, "mma 64x64x64", "a prediction does not replace a measurement")
write(line("A100", key, 'name="mma 128x64x64" split=1'))
matmul.use(path)
tap.is(at "A100".config, "mma 128x64x64", "of two measurements the later one counts")

write(line("A100-80GB", key, 'name="mma 64x64x64" split=1', "predicted")
  .. line("A100", key, 'name="mma 128x64x64" split=1'))
matmul.use(path)
tap.is(at "A100-80GB".config, "mma 64x64x64", "a device's own rows come before another's")

-- Numbers with too many digits: a row of the cache's file is not taken, and `use` says so.
local long <const> = ("9"):rep(20)
local torn = { key = key, config = 'name="mma 64x64x64" split=' .. long }
tap.is(tables.read(torn, problem("A100", "f16", "TN", 3072, 3072, 3072, 2)), nil,
  "a split of 20 digits")
tap.ok(tables.trouble(torn):find("is not a configuration of", 1, true), "and what is said of it")
torn = { key = ("f16 TN %s 3072 3072 2"):format(long), config = 'name="mma 64x64x64" split=1' }
tap.ok(tables.trouble(torn):find("does not describe a product", 1, true), "rows of 20 digits")

local sums_f16
for _, row in ipairs(configs.list) do
  if row.name == "mma 128x256x64, f16 sums" then sums_f16 = row end
end
local p = problem("H200", "f16", "TN", 3072, 3072, 3072)
tap.ok(configs.accepts(sums_f16, p) and not tables.accepts(sums_f16, p, 1),
  "sums of another type are not taken")

-- {====== Broken files ======

local function trouble(text_of_file)
  write(text_of_file)
  local ok, message = pcall(matmul.use, path)
  return ok and "none" or message:gsub(path:gsub("%p", "%%%0"), "mine.tune"):gsub("^[^:]*:%d+: ",
    "")
end
tap.is(trouble("# a\n\nmatmul\tmeasured\n"),
  "matmul: mine.tune:3: no result: 2 fields between tabs; a result has 8",
  "a line that was cut")
tap.is(trouble(line("A100", "f16 4096", 'name="mma 64x64x64" split=1')),
  "matmul: mine.tune:1: 'f16 4096' does not describe a product; "
  .. "type, majors, M, N, K and batches were expected, as in 'f16 TN 4096 4096 4096 1'",
    "an unknown key")
tap.is(trouble("\n" .. line("A100", key, 'name="mma 1x1x1" split=1')),
  "matmul: mine.tune:2: 'name=\"mma 1x1x1\" split=1' is "
  .. "not a configuration of matmul; a name of matmul_configs.lua and a split were expected, as in "
  .. "'name=\"mma 128x128x64\" "
  .. "split=1'", "an unknown configuration")
tap.is(trouble(line("A100", key, 'name="mma 64x64x64"')):match "is not a configuration",
  "is not a configuration", "no split")
tap.is(trouble(line("A100", key, 'name="mma 64x64x64" split=0')):match "is not a configuration",
  "is not a configuration",
  "split in no parts")
os.remove(path)
tap.ok(not pcall(matmul.use, path), "no file")
tap.is(at "A100".config, "mma 128x64x64", "a broken file changes nothing")

tap.done()
