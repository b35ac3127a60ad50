-- matmul_configs.lua: every configuration of matmul, compiled by NVRTC for a GPU that need not be
-- there: registers and stack (arrays and spilled registers) of a thread, and the time it takes.
--   cuttle [--sm=90] scripts/matmul_configs.lua [--type=f32] [--families] [--groups] [words...]
-- of a row's name. --families: one kernel of each template and element type, and all with scales.
-- --groups: of products of groups. With --check it says nothing but what has a larger stack than
-- `spilled` allows, or products by wgmma that wait for each other. It compiles through the cache,
-- and of a row's types that differ in instructions only it compiles one. An error of a kernel, such
-- a stack or such a wait makes the exit code 1. Then what the ledger knows to have none is not
-- compiled again.
package.path = "scripts/?.lua;scripts/bench/?.lua;" .. package.path
local ledger = require "ledger"
local ct, lists = require "cuttle", require "cuttle.lists"
-- What modules of the library are handed when they are loaded, which their loaders hold.
local _, internal = debug.getupvalue(package.preload["cuttle.show"], 2)
local machine_code = require "cuttle.cubin"
local configs, measured = require "cuttle.matmul_choice", require "configs"
local operator = require "cuttle.matmul"

local _, sm, shared = internal.launch.emit_sm()
local only_type, is_check, only_families, in_groups, words = nil, false, false, false, {}
for _, word in ipairs(arg) do
  local key, value = word:match "^%-%-(%w+)=?(.*)$"
  if key == "type" then
    only_type = value
  elseif key == "families" then
    only_families = true
  elseif key == "groups" then
    in_groups = true
  elseif key == "check" then
    is_check = true
  else
    words[#words + 1] = word
  end
end

-- How operands of each majorness lie, and what C's type is where it is not A's.
local majors_of <const> = {
  NT = { "mn", "mn" }, TN = { "k", "k" }, NN = { "mn", "k" }, TT = { "k", "mn" },
}
local results <const> = { tf32 = f32, i8 = i32, u8 = i32 }

local function operand(dtype, rows, depth, major)
  return zeros(dtype, major == "k" and row_major{ rows, depth } or layout{ rows, depth })
end

-- The same elements, of which no single stride describes the rows.
local function nested(t)
  local rows, depth, along = size(t, 0), size(t, 1), stride(t)
  return view(zeros(t.dtype, 4 * cosize(t.layout)),
    layout({ { rows // 2, 2 }, depth }, { { along[1], 2 * cosize(t.layout) }, along[2] }))
end

local function wants(row)
  for _, word in ipairs(words) do
    if not row.name:find(word, 1, true) then return false end
  end
  return row.device == "cuda"
end

-- The types that a row without a list of them is compiled for.
local all_types <const> = { f32 = true, f64 = true, f16 = true, i8 = true }

local n_bad = 0

local NO_STACK <const> = "no stack"

-- Bytes that rows may spill for each tile outside of the loop over K, as they were faster so.
local spilled <const> = { ["hopper 128x256x128, scaled"] = 32 }
local SERIAL <const> = "wgmma%.mma_async instructions are serialized" -- C7510 to C7514 of ptxas

-- Registers, bytes of stack and seconds; nil and why it does not compile, or is slow.
local function measure(launch, args, symbol)
  local began = os.clock()
  local registers, stack
  if is_check then
    local ok, cubin = pcall(launch.cubin, launch, table.unpack(args))
    if not ok then return nil, cubin end
    local log = internal.launch.compile_log(launch, table.unpack(args))
    if log:find(SERIAL) then return nil, log end
    registers, stack = machine_code.resources(cubin, symbol)
  else
    local source = launch:source(table.unpack(args))
    local flags = { "-DCUTTLE_RUN=" .. math.random(1 << 30) } -- not the cache
    registers, stack = machine_code.resources_of(source, sm, symbol, flags)
  end
  return registers, stack, os.clock() - began
end

-- Of a row with scales of blocks of K: the rows of A and of B that a scale is for. C is by rows.
local scale_rows <const> = { { 1, 128 }, { 128, 1 }, { 1, 1 } }

local function compile(row, dtype, majors, scaled)
  local bM, bN, bK = table.unpack(row.tile)
  local major = majors_of[majors]
  local n = row.rows or bN
  if row.stream_k then bM = bM * row.blocks(132) end -- a tile for each block
  bK = bK * (row.k_blocks or 1) -- a tile for each of those that share K
  local A, B = operand(dtype, bM, bK, major[1]), operand(dtype, n, bK, major[2])
  local C = zeros(results[dtype.name] or dtype, { bM, n })
  local options = { config = measured.by_name(row.name), split = 1 }
  if row.gathers and in_groups then -- rows by an index, of C by rows: B's are A's
    A, B, C = B, A, zeros(results[dtype.name] or dtype, row_major{ n, bM })
    options.gather, options.groups = zeros(i32, n), full(i32, 1, n)
    B = view(B, layout({ bM, bK, 1 }, { stride(B)[1], stride(B)[2], 0 }))
  elseif row.gathers then
    A, B = nested(A), nested(B)
  end
  if scaled then
    C = zeros(bf16, row_major{ bM, n })
    A, B = operand(dtype, bM, 2 * bK, major[1]), operand(dtype, n, 2 * bK, major[2])
    options.scale_a = ones(f32, { cdiv(bM, scaled[1]), cdiv(2 * bK, 128) })
    options.scale_b = ones(f32, { cdiv(bN, scaled[2]), cdiv(2 * bK, 128) })
  end
  if in_groups and not row.gathers then -- of columns; in C by rows these would be rows
    A = view(A, layout({ bM, bK, 1 }, { stride(A)[1], stride(A)[2], 0 }))
    options.groups = full(i32, 1, bN)
  end
  local ok, steps_or_why, _, steps = pcall(operator.prepare, A, B, C, options)
  if not ok and in_groups then return end -- not each configuration has groups
  if not ok then error(steps_or_why, 0) end
  local main = operator.main(steps)
  local launch, args = main.kernel(main.launch), main.args
  local name = ("%s %s %s%s"):format(row.name, dtype.name, majors, in_groups and " of groups"
    or scaled and (" %d by %d"):format(scaled[1], scaled[2]) or "")
  local key = is_check and ledger.key(launch, table.unpack(args)) or nil
  local allowed, registers, stack, took = spilled[row.name] or 0, 0, 0, 0
  if not ledger.has(key, name, NO_STACK) then
    registers, stack, took = measure(launch, args, "matmul_" .. dtype.name)
  end
  if registers == nil then
    print(("%-28s %-5s %s: %s"):format(row.name, dtype, majors, stack))
  elseif not is_check or stack > allowed then
    print(("%-28s %-5s %s  %3d registers  %3d bytes of stack  %.2f s"):format(row.name, dtype,
      majors, registers, stack, took))
  end
  if registers == nil or stack > allowed then
    n_bad = n_bad + 1
  elseif stack == 0 then
    ledger.note(key, name, NO_STACK)
  end
end

local families = {} -- that have been compiled: template and type

-- Do its kernels differ much by what its scales are for?
local function has_kinds(row) return row.scaled and row.template == "cuttle.gemm_hopper" end

-- Is this the first of its family, or are all wanted?
local function is_wanted(row, name)
  local family = row.template .. " " .. name
  local is_first = not families[family]
  families[family] = true
  if has_kinds(row) and name == "f8e4m3" then return true end
  if is_first or not is_check then return is_first or not only_families end
  return not only_families and name == lists.keys(row.types or all_types)[1]
end

local function compile_types(row)
  for _, name in ipairs(lists.keys(row.types or all_types)) do
    for _, majors in ipairs(lists.keys(row.majors or majors_of)) do
      local can_run = configs.can_run(row, ct[name], majors, sm, shared)
      if can_run and (only_type == nil or only_type == name) and is_wanted(row, name) then
        for i, scaled in ipairs(row.scaled and scale_rows or { false }) do
          if i == 1 or has_kinds(row) then compile(row, ct[name], majors, scaled) end
        end
      end
    end
  end
end

for _, row in ipairs(measured.all) do
  if wants(row) then compile_types(row) end
end
os.exit(n_bad == 0, true)
