-- fingerprints.lua: what NVRTC makes of the kernels whose speed is measured
-- (docs/measurements.md), for sm_90a, without a GPU: registers, stack, and the instructions of the
-- hot loop with the cycles that the assembler plans for them, and how many multiply-adds wait for a
-- bank of registers. The assembler may move a kernel by 2 to 7 % because index arithmetic before
-- its loop is written in another way, which no test of results can see.
--   cuttle --sm=90a scripts/fingerprints.lua FILE             TAP: each kernel as in the file?
--   cuttle --sm=90a scripts/fingerprints.lua --update FILE    writes the file anew
local tap = dofile "tests/support/tap.lua"
package.path = "scripts/?.lua;scripts/bench/?.lua;" .. package.path
local loops = require "hot_loops"
local ledger = require "ledger"
local configs, matmul_of = require "configs", require "cuttle.matmul"
local attention_of, backward = require "cuttle.attention", require "cuttle.attention_backward"
local decode, operators = require "cuttle.attention_decode", require "cuttle.rows"
local packed, packed_matmul = require "cuttle.packed_weights", require "cuttle.matmul_packed"

local is_update = arg[1] == "--update"
local path = arg[is_update and 2 or 1]

-- {====== One kernel ======

-- By name: the file's lines, those of this run, and what they are the result of.
local known, lines, keys, order = {}, {}, {}, {}

local function symbol_of(source) return source:match "\n([%w_]+)%([^\n]*\n?[^{]*{  // " end

-- The kernel's line, or nil and why it could not be compiled. It is of the text that a launch
-- compiles, with its line directives.
local function fingerprint(launch, ...)
  local symbol = symbol_of(launch:source(...))
  local ok, cubin = pcall(launch.cubin, launch, ...)
  if not ok then return nil, cubin end
  local registers, stack = loops.resources(cubin, symbol)
  local conflicts = loops.bank_conflicts(cubin, symbol)
  return ("%d registers, %d bytes of stack; %sloop of %s"):format(registers, stack,
    conflicts > 0 and conflicts .. " bank conflicts; " or "", loops.text(cubin, symbol))
end

-- What the ledger knows to give the file's line is not compiled again.
local function note(name, launch, ...)
  local key, line, why = ledger.key(launch, ...), known[name], nil
  if not (line and ledger.has(key, name, line)) then line, why = fingerprint(launch, ...) end
  if line == nil and why:find("cannot load", 1, true) then
    tap.skip_all "no NVRTC on this machine"
  end
  order[#order + 1] = name
  lines[name], keys[name] = line or "does not compile: " .. why, key
end

-- {====== Products and attention ======

local majors_of <const> = {
  NT = { "mn", "mn" }, TN = { "k", "k" }, NN = { "mn", "k" }, TT = { "k", "mn" },
}

-- Configurations of matmul by row and type, with what is contiguous in A and B.
local products <const> = {
  { "simt 256x128x16", f32, "NT" }, { "simt 128x64x16", f32, "NT" },
  { "simt 128x128x8 turned", f32, "TN" }, { "simt 128x128x8 turned, small K", f32, "TN" },
  { "simt 128x128x16 turned", f32, "TN" }, { "simt 128x128x8 turned, 200 registers", f32, "TN" },
  { "simt 128x64x32 turned, 2 slices", f32, "TN" }, { "simt 128x64x16 turned, pinned", f32, "NN" },
  { "simt 256x128x16 turned", f32, "NN" }, { "simt 128x128x8 turned A", f32, "TT" },
  { "simt 128x64x16 turned", f32, "NN" }, { "simt 128x64x16 turned", f32, "TT" },
  { "hopper 256x128x32", tf32, "TT" }, -- rows in registers
}

local function is_of_sm_90(row) return type(row.only_sm) ~= "table" or row.only_sm[90] end

-- Of tensor cores every row, in one type each.
for _, row in ipairs(configs.all) do
  local type_name = row.types and (row.types.bf16 and "bf16" or next(row.types)) or "f16"
  local is_first = row.template ~= "cuttle.gemm_simt" and row.template ~= "cuttle.gemm_simple"
  if row.types and row.types.i8 then type_name = "i8" end
  if row.types and row.types.f8e4m3 then type_name = "f8e4m3" end
  if row.device == "cuda" and is_first and is_of_sm_90(row) then
    local majors = "TN"
    for _, other in ipairs { "NN", "TT", "NT", "TN" } do
      if row.majors and row.majors[other] then majors = other end
    end
    products[#products + 1] = { row.name, require "cuttle"[type_name], majors }
  end
end

local function row_of(name)
  for _, row in ipairs(configs.all) do
    if row.name == name then return row end
  end
end

local function operand(dtype, rows, depth, major)
  return zeros(dtype, major == "k" and row_major{ rows, depth } or layout{ rows, depth })
end

local results <const> = { tf32 = f32, i8 = i32, u8 = i32, f8e4m3 = f32, f8e5m2 = f32 }

local function note_product(name, dtype, majors)
  local row = assert(row_of(name), name)
  local bM, bN, bK = table.unpack(row.tile)
  local major = majors_of[majors]
  bN = row.rows or bN -- that many are loaded
  local C = zeros(results[dtype.name] or dtype, { bM, bN })
  local ok, _, _, steps = pcall(matmul_of.prepare, operand(dtype, bM, bK, major[1]),
    operand(dtype, bN, bK, major[2]), C, { config = configs.by_name(name), split = 1 })
  if not ok then return end -- not for sm_90a
  local step = matmul_of.main(steps)
  note(("matmul %s %s: %s"):format(dtype, majors, name), step.kernel(step.launch),
    table.unpack(step.args))
end

-- Scales of 1x128 of A, and of 1x128 or 128x128 of B; several blocks of K, so that there is a loop.
local function note_scaled(name, rows_of_b, by_columns)
  local n, k, deep = 256, 512, 4
  local A = operand(f8e4m3, n, k, "k")
  local C = zeros(bf16, by_columns and layout{ n, n } or row_major{ n, n })
  local step = select(3, matmul_of.prepare(A, A, C, { config = name,
    scale_a = zeros(f32, { n, deep }), scale_b = zeros(f32, { n // rows_of_b, deep }) }))[1]
  note(("matmul f8e4m3 TN: %s, 1x128 by %dx128%s"):format(name, rows_of_b,
    by_columns and ", C by columns" or ""), step.kernel(step.launch), table.unpack(step.args))
end

-- A C whose rows and columns have two strides each, as einsum's "bsm,mhd->bhsd" makes it.
local function note_boxes(name)
  local s, b, h, d, k = 256, 2, 2, 128, 64
  local A = view(zeros(bf16, b * s * k), layout({ { s, b }, k }, { { k, s * k }, 1 }))
  local B = view(zeros(bf16, h * d * k), layout({ { d, h }, k }, { { 1, d }, h * d }))
  local C = view(zeros(bf16, b * s * h * d),
    layout({ { s, b }, { d, h } }, { { d, h * s * d }, { 1, s * d } }))
  local step = matmul_of.main(select(3, matmul_of.prepare(A, B, C, { config = name, split = 1 })))
  note("matmul bf16 NN: " .. name, step.kernel(step.launch), table.unpack(step.args))
end

-- Rows of A by a weight of 4096x4096 of 4 bits, in groups of 128, or 32 of f4e2m1. `config`: fields
-- of matmul_packed_configs.lua; nil: what is chosen.
local function note_packed(dtype, type_name, rows, config)
  local n, group = 4096, type_name == "f4e2m1" and 32 or 128
  local scales = zeros(group == 32 and f8ue8m0 or bf16, row_major{ n, n // group })
  local w = packed.pack_weights(zeros(u32, row_major{ n, n // 8 }),
    { type = type_name, scales = scales })
  local A, C = zeros(dtype, row_major{ rows, n }), zeros(bf16, row_major{ rows, n })
  local _, name, steps = packed_matmul.prepare(A, w, C, { config = config })
  for _, step in ipairs(steps) do
    if step.config then -- not the one that gives A another order
      note(("packed %s: %s, %d rows"):format(dtype, name, rows), step.kernel(step.launch),
        table.unpack(step.args))
    end
  end
end

local function note_attention(name, depth, is_causal, dtype)
  local Q = zeros(dtype or bf16, row_major{ 1, 2, 256, depth })
  local step = select(5, attention_of.prepare(Q, Q, Q, { config = name, causal = is_causal }))
  note(("attention %s, d = %d%s: %s"):format(Q.dtype, depth, is_causal and ", causal" or "", name),
    step.kernel(step.launch), table.unpack(step.args))
end

-- The kernel with the products, the second of three.
local function note_gradients(name, depth, is_causal, depth_v)
  local t, lse = zeros(bf16, row_major{ 1, 2, 256, depth }), zeros(f32, row_major{ 1, 2, 256 })
  local v = zeros(bf16, row_major{ 1, 2, 256, depth_v or depth })
  local options = { config = name, causal = is_causal }
  local step = select(4, backward.prepare(v, t, t, v, v, lse, options))[2]
  note(("attention_backward bf16, d = %d%s: %s"):format(depth, is_causal and ", causal" or "",
    name), step.kernel(step.launch), table.unpack(step.args))
end

-- Decoding, one query of each sequence, from pages of 64. columns: nil, or those of keys that are
-- values.
-- An operator of rows of bf16. Its registers are few, so a pass more may spill them.
local function note_row(name, columns)
  local x, weight = zeros(bf16, layout({ 200, columns }, { 0, 1 })), zeros(bf16, columns)
  local args = { x, weight, weight, 1e-6 }
  if name:find "^add" then table.insert(args, 1, x) end
  if not name:find "layer" then table.remove(args, 2) end
  local step = operators[name]:steps(table.unpack(args, 1, name == "softmax" and 1 or #args))[1]
  note(("rows: %s %d"):format(name, columns), step.kernel(step.launch), table.unpack(step.args))
end

local function note_decode(name, kv, heads, depth, columns)
  local Q, K = zeros(bf16, row_major{ 2, heads, depth }), zeros(kv, row_major{ 8, 1, 64, depth })
  local own = columns and layout({ 8, 1, 64, columns }, { 64 * depth, 0, depth, 1 })
  local V = own and view(K, own) or K
  local step = select(5, decode.prepare(Q, K, V, { config = name,
    cache_seqlens = from_table(i32, { 64, 256 }), block_table = zeros(i32, row_major{ 2, 4 }) }))[1]
  note(("attention_decode bf16, K %s, d = %d: %s"):format(kv.name, depth, name),
    step.kernel(step.launch), table.unpack(step.args, 1, step.args.n))
end

-- {====== Kernels of examples ======

-- Notes the kernels that a script prepares for launches; it makes them by `kernel`.
local function note_script(script)
  local seen, n_seen = {}, 0
  local function note_launch(launch, ...)
    local source = launch:source(...)
    if not seen[source] then
      seen[source] = true
      n_seen = n_seen + 1
      note(("%s: %s, %d"):format(script, symbol_of(source), n_seen), launch, ...)
    end
  end
  local function watched_kernel(...)
    local k, watched = kernel(...), {}
    function watched.prepare(_, options)
      return function(...)
        note_launch(k(options), ...)
        return k:prepare(options)(...)
      end
    end
    return setmetatable(watched, { __call = function(_, options) return k(options) end })
  end
  local quiet = { kernel = watched_kernel, print = function() end, arg = {},
                  io = setmetatable({ write = function() end }, { __index = io }),
                  os = setmetatable({ exit = function() end }, { __index = os }) }
  assert(loadfile(script, "t", setmetatable(quiet, { __index = _G })))()
end

-- {====== The file ======

-- What the program prints, run with these arguments, and "NAME=value" in its environment.
local function output_of(arguments, environment)
  local program = 0
  while arg[program - 1] do program = program - 1 end
  local pipe = io.popen(("CUTTLE_DEVICE=cpu %s '%s' %s"):format(environment or "", arg[program],
    arguments))
  local text = pipe and pipe:read "a" or ""
  if pipe then pipe:close() end
  return text
end

local function version() return output_of "info":match "NVRTC%s+([%d.]+)" or "none" end

local function read(from)
  local of_file = {}
  local file = assert(io.open(from))
  local compiler = file:read "l":match "NVRTC ([%d.]+)"
  for text in file:lines() do
    local name, line = text:match "^(.-) | (.*)$"
    if name then of_file[name] = line end
  end
  file:close()
  return of_file, compiler
end

local function write(to)
  local file = assert(io.open(to, "w"))
  file:write("NVRTC ", version(), ", sm_90a: made by `make golden`, see scripts/fingerprints.lua\n")
  for _, name in ipairs(order) do file:write(name, " | ", lines[name], "\n") end
  file:close()
end

-- The numbers of a line by what they count: {["registers"] = 207, FFMA = 1024, ...}.
local function numbers_of(line)
  local numbers = {}
  for n, what in line:gmatch "(%d+) ([%a ]+)" do numbers[what] = tonumber(n) end
  for what, n in line:gmatch "([%u%d]+) (%d+)" do numbers[what] = tonumber(n) end
  numbers.uniform = tonumber(line:match "uniform (%d+)")
  return numbers
end

-- "registers 207, now 203; LDS 69, now 70"
local function difference(was, is)
  local before, now, words = numbers_of(was), numbers_of(is), {}
  for what, n in pairs(before) do
    if now[what] ~= n then words[#words + 1] = ("%s %d, now %d"):format(what, n, now[what] or 0) end
  end
  for what, n in pairs(now) do
    if before[what] == nil then words[#words + 1] = ("%s 0, now %d"):format(what, n) end
  end
  table.sort(words)
  return #words > 0 and table.concat(words, "; ") or is
end

-- How to measure a kernel, by its name.
local function bench_of(name)
  if name:find ", 1x128 by " then
    return "cuttle scripts/bench/scaled.lua"
  elseif name:find "^packed" then
    return "cuttle scripts/bench/packed.lua"
  elseif name:find "^matmul" then
    return ("cuttle scripts/bench/main.lua matmul %s --config='%s'"):format(
      name:match "^matmul (%w+)", name:match ": (.*)$")
  elseif name:find "^attention" then
    return "cuttle scripts/bench/main.lua attention"
  elseif name:find "^rows" then
    return "cuttle scripts/bench/rows.lua time"
  end
  return name:find "^scripts" and "cuttle " .. name or "cuttle bench " .. name:match "^[^:]*"
end

-- The lines once more, of a process of its own that takes nothing from the disk. On a busy machine
-- NVRTC 13.0 makes another machine code of a text now and then: 128 registers for 126, 211 for 207.
local function made_again()
  local file = os.tmpname()
  output_of(("--sm=90a scripts/fingerprints.lua --update '%s'"):format(file), "CUTTLE_CACHE=off")
  local again = read(file)
  os.remove(file)
  return again
end

-- What differs from the file twice is another kernel.
local function with_second_try()
  local again
  for _, name in ipairs(order) do
    if known[name] and known[name] ~= lines[name] then
      again = again or made_again()
      if again[name] == known[name] then
        print(("# %s: %s, the second time as in the file"):format(name,
          difference(known[name], lines[name])))
        lines[name] = again[name]
      end
    end
  end
end

local function compare()
  with_second_try()
  for _, name in ipairs(order) do
    local was, is = known[name], lines[name]
    tap.ok(was == is, name, ("%s\nanother kernel is compiled now, and it may be slower. Measure "
      .. "the old program and this one alternately on one GPU: %s\nthen `make golden` writes "
      .. "the file anew"):format(
        was and difference(was, is) or "it is not in the file", bench_of(name)))
    if was == is then ledger.note(keys[name], name, is) end
    known[name] = nil
  end
  for name in pairs(known) do
    tap.ok(false, name, "it is in the file and no longer compiled: `make golden` writes it anew")
  end
  tap.done()
end

if not is_update then
  local compiler
  known, compiler = read(path)
  if version() ~= compiler then
    tap.skip_all(("the file is of NVRTC %s, and this is %s"):format(compiler, version()))
  end
end
for _, p in ipairs(products) do note_product(table.unpack(p)) end
for _, name in ipairs{ "hopper 128x256x128, scaled", "hopper 256x128x128, scaled",
                       "hopper 128x128x128, scaled", "hopper 64x64x128, scaled" } do
  for _, rows in ipairs{ 1, 128 } do note_scaled(name, rows) end
end
note_scaled("hopper 128x256x128, scaled", 128, true)
note_boxes "hopper 256x128x64, C in boxes"
for _, rows in ipairs{ 1, 16, 64 } do note_packed(bf16, "u4", rows) end
note_packed(bf16, "f4e2m1", 1)
note_packed(bf16, "u4", 1024, { columns = 256, groups = 2, stages = 4, registers = { 40, 232 } })
note_packed(bf16, "u4", 128, { columns = 128, groups = 2, stages = 4, k_blocks = 2, lines = 2,
  depth = 4 })
note_packed(bf16, "u4", 256, { columns = 128, groups = 1, stages = 4, registers = { 40, 208 } })
note_packed(bf16, "u4", 64, { columns = 64, groups = 1, stages = 8 })
note_packed(f8e4m3, "u4", 1024, { columns = 256, groups = 2, stages = 4, registers = { 24, 240 },
  parts = 2 })
note_packed(f8e4m3, "u4", 64, { columns = 64, groups = 1, stages = 6, k_blocks = 2 })
for _, is_causal in ipairs{ false, true } do
  note_attention("hopper 192x128", 64, is_causal)
  note_attention("hopper 192x80", 128, is_causal)
  note_attention("hopper 128x128", 128, is_causal)
  note_gradients("hopper 128x128", 64, is_causal)
  note_gradients("hopper 64x128", 128, is_causal)
  note_attention("hopper 128x64", 256, is_causal)
  note_gradients("hopper 64x64", 256, is_causal)
  note_gradients("hopper 64x64, D 192", 192, is_causal)
  note_gradients("hopper 64x64, Dv 128", 192, is_causal, 128)
end
note_attention("hopper 192x96, f8", 128, false, f8e4m3)
note_attention("hopper 128x128, f8, Dv 192", 192, false, f8e4m3)
note_attention("hopper 128x96, f8", 256, false, f8e4m3)
for _, depth in ipairs{ 64, 128 } do note_attention("mma 128x64", depth, false) end
note_decode("mma 8 warps", bf16, 4, 128)
note_decode("mma 8 bits", f8e4m3, 4, 128)
note_decode("mma 6 warps", bf16, 4, 256)
note_decode("mma 8 bits", f8e4m3, 4, 256)
note_decode("latent 64 keys", bf16, 16, 576, 512)
for _, row in ipairs{ { "softmax", 32768 }, { "softmax", 65536 }, { "layer_norm", 49152 },
                      { "layer_norm", 131072 }, { "add_layer_norm", 32768 },
                      { "add_layer_norm", 262144 }, { "rms_norm_fp8_blocks", 262144 } } do
  note_row(table.unpack(row))
end
for _, row in ipairs(require "memory".kernels()) do
  note(("scripts/bench/main.lua %s"):format(row[1]), table.unpack(row, 2))
end
for _, name in ipairs{ "saxpy", "transpose", "softmax", "reduce", "moye_matmul", "hopper_gemm",
                       "sgemm_sm80", "gett", "prefix_sum" } do
  note_script("examples/" .. name .. ".lua")
end
if is_update then write(path) else compare() end
