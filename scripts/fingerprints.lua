-- fingerprints.lua: what NVRTC makes of the kernels whose speed is measured
-- (docs/measurements.md), for sm_90a, without a GPU: registers, stack, and the instructions of the
-- hot loop with the cycles that the assembler plans for them. The assembler may move a kernel by 2
-- to 7 % because index arithmetic before its loop is written in another way, which no test of
-- results can see.
--   cuttle --sm=90a scripts/fingerprints.lua FILE             TAP: each kernel as in the file?
--   cuttle --sm=90a scripts/fingerprints.lua --update FILE    writes the file anew
local tap = dofile "tests/support/tap.lua"
package.path = "scripts/?.lua;scripts/bench/?.lua;" .. package.path
local _, internal = debug.getupvalue(package.preload["cuttle.show"], 2)
local sass = require "sass"
local configs, matmul_of = require "configs", require "cuttle.matmul"
local attention_of = require "cuttle.attention"

local SM <const> = 90
local is_update = arg[1] == "--update"
local path = arg[is_update and 2 or 1]

-- {====== One kernel ======

local lines, order = {}, {}

local function symbol_of(source) return source:match "\n([%w_]+)%([^\n]*\n?[^{]*{  // " end

-- The kernel's line, or nil and why it could not be compiled.
local function fingerprint(source, symbol)
  local registers, stack = internal.profile_registers(source, SM, symbol, {})
  if registers == nil then return nil, stack end
  local cubin = assert(internal.profile_cubin(source, SM, symbol, {}))
  return ("%d registers, %d bytes of stack; loop of %s"):format(registers, stack,
    sass.hot_loop(cubin, symbol))
end

local function note(name, source)
  local line, why = fingerprint(source, symbol_of(source))
  if line == nil and why:find("cannot load", 1, true) then
    tap.skip_all "no NVRTC on this machine"
  end
  order[#order + 1] = name
  lines[name] = line or "does not compile: " .. why
end

-- {====== Products and attention ======

local majors_of <const> = {
  NT = { "mn", "mn" }, TN = { "k", "k" }, NN = { "mn", "k" }, TT = { "k", "mn" },
}

-- Configurations of matmul by row and type, with what is contiguous in A and B.
local products <const> = {
  { "simt 256x128x16", f32, "NT" }, { "simt 128x64x16", f32, "NT" },
  { "simt 128x128x8 turned", f32, "TN" }, { "simt 128x128x8 turned, small K", f32, "TN" },
  { "simt 256x128x16 turned", f32, "NN" }, { "simt 128x128x8 turned A", f32, "TT" },
  { "simt 128x64x16 turned", f32, "NN" }, { "simt 128x64x16 turned", f32, "TT" },
}

-- Of tensor cores every row, in one type each.
for _, row in ipairs(configs.all) do
  local type_name = row.types and (row.types.bf16 and "bf16" or next(row.types)) or "f16"
  local is_first = row.template ~= "cuttle.gemm_simt" and row.template ~= "cuttle.gemm_simple"
  if row.types and row.types.i8 then type_name = "i8" end
  if row.types and row.types.f8e4m3 then type_name = "f8e4m3" end
  if row.device == "cuda" and is_first then
    products[#products + 1] = { row.name, require "cuttle"[type_name], "TN" }
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
  local C = zeros(results[dtype.name] or dtype, { bM, bN })
  local ok, _, _, steps = pcall(matmul_of.prepare, operand(dtype, bM, bK, major[1]),
    operand(dtype, bN, bK, major[2]), C, { config = configs.by_name(name), split = 1 })
  if not ok then return end -- not for sm_90a
  local step = steps[1]
  note(("matmul %s %s: %s"):format(dtype, majors, name),
    step.kernel(step.launch):source(table.unpack(step.args)))
end

local function note_attention(name, depth, is_causal)
  local Q = zeros(bf16, row_major{ 1, 2, 256, depth })
  local step = select(5, attention_of.prepare(Q, Q, Q, { config = name, causal = is_causal }))
  note(("attention bf16, d = %d%s: %s"):format(depth, is_causal and ", causal" or "", name),
    step.kernel(step.launch):source(table.unpack(step.args)))
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
      note(("%s: %s, %d"):format(script, symbol_of(source), n_seen), source)
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

local function version()
  local program = 0
  while arg[program - 1] do program = program - 1 end
  local pipe = io.popen(("CUTTLE_DEVICE=cpu '%s' info"):format(arg[program]))
  local text = pipe and pipe:read "a" or ""
  return text:match "NVRTC%s+([%d.]+)" or "none"
end

local function read(from)
  local known = {}
  local file = assert(io.open(from))
  local compiler = file:read "l":match "NVRTC ([%d.]+)"
  for text in file:lines() do
    local name, line = text:match "^(.-) | (.*)$"
    if name then known[name] = line end
  end
  file:close()
  return known, compiler
end

local function write(to)
  local file = assert(io.open(to, "w"))
  file:write("NVRTC ", version(), ", sm_90a: made by `make golden`, see scripts/fingerprints.lua\n")
  for _, name in ipairs(order) do file:write(name, " | ", lines[name], "\n") end
  file:close()
end

local function compare(known)
  for _, name in ipairs(order) do
    tap.ok(known[name] == lines[name], name, ("another kernel now: measure old and new in turns on "
      .. "one GPU, then `make golden`\nwas: %s\nis:  %s"):format(known[name] or "not there",
      lines[name]))
  end
  tap.done()
end

local known, compiler
if not is_update then
  known, compiler = read(path)
  if version() ~= compiler then
    tap.skip_all(("the file is of NVRTC %s, and this is %s"):format(compiler, version()))
  end
end
for _, p in ipairs(products) do note_product(table.unpack(p)) end
for _, is_causal in ipairs{ false, true } do
  note_attention("hopper 192x128", 64, is_causal)
  note_attention("hopper 192x80", 128, is_causal)
  note_attention("hopper 128x128", 128, is_causal)
end
for _, name in ipairs{ "saxpy", "transpose", "softmax", "reduce", "moye_matmul",
                    "hopper_gemm" } do
  note_script("examples/" .. name .. ".lua")
end
if is_update then write(path) else compare(known) end
