-- A row added to ops.def stops the compiler at every place that has to know the operation: in a copy of
-- runtime/, a row is added as someone would begin, by copying one and naming what is not there yet; then
-- no part that writes or lowers operations compiles, so none can take it for another one.
local tap = dofile "tests/support/tap.lua"
local folder = dofile "tests/support/folder.lua"

local cc = os.getenv("CC") or "cc"
if select(2, folder.run(cc .. " --version")) ~= 0 then
  folder.remove()
  tap.skip_all "no C compiler"
end
folder.run(("cp -r '%s' '%s' ."):format(folder.absolute "runtime", folder.absolute "interp"))
local path <const> = "runtime/ir/ops.def"
local rows = folder.read(path)

-- {====== The rows ======

-- The row of `name` as it stands, to its closing parenthesis.
local function row_of(name)
  for row in rows:gmatch("\n(%u+%b())") do
    if row:match("^%u+%(([%w_]+),") == name then return row end
  end
  error("ops.def has no row " .. name)
end

-- That row as the one of an operation TRIAL, with its own names for what other files have to have:
-- a column that is a word in small letters, or IN(...), ROWS(...) and LOW(...).
local function trial_of(name)
  local columns = row_of(name):match("^%u+%((.*)%)$")
  columns = columns:gsub("^[%w_]+, *\"[%w_]+\"", "TRIAL, \"trial\"")
  columns = columns:gsub("%f[%u]IN%b()", "IN(TRIAL)"):gsub("LOW%b()", "LOW(trial)")
    :gsub("ROWS%b()", "ROWS(TRIAL_f32_s)")
  columns = columns:gsub(", *%l[%l_]*, *", ", trial, "):gsub(", *%l[%l_]*$", ", trial")
  return row_of(name):match("^%u+") .. "(" .. columns .. ")"
end

-- {====== Who has to know ======

local readers <const> = [[grep -rlE 'ops\.def"|simt_arith\.def"|simt_control\.def"' runtime ]]
  .. "--include='*.c'"

-- What the compiler says of each file that reads the rows, with one row more: file -> first error.
local function errors_with(row, after)
  local at = assert(select(2, rows:find(row_of(after), 1, true)))
  folder.write(path, rows:sub(1, at) .. "\n" .. row .. rows:sub(at + 1))
  local errors = {}
  for name in folder.run(readers):gmatch("%S+") do
    local text, code = folder.run(("%s -std=c11 -D_POSIX_C_SOURCE=200809L -DCT_SIMT_BASE -I. -Wall "
      .. "-Werror -Wno-unused -fsyntax-only %s"):format(cc, name))
    if code ~= 0 then
      errors[name:sub(#"runtime/" + 1)] = text:match("[^\n]*error:[^\n]*") or text
    end
  end
  return errors
end

-- The emitter, and the lowering for the CPU engine, whose instructions are all that is watched.
for _, like in ipairs { { "TANH", "a pure operation" }, { "CLUSTER_ARRIVE", "an effect" } } do
  local row = trial_of(like[1])
  local errors = errors_with(row, like[1])
  for _, part in ipairs { "emit", "simt" } do
    local found, notes = false, { row }
    for name, message in pairs(errors) do
      local is_of_trial = message:lower():find("trial", 1, true) ~= nil
      found = found or (name:find("^" .. part .. "/") ~= nil and is_of_trial)
      notes[#notes + 1] = name .. ": " .. message
    end
    tap.ok(found, ("%s stops the compiler in %s"):format(like[2], part), table.unpack(notes))
  end
end

-- {====== Where it is added ======

-- The rest of what these need to compile; their names in the language are a row in interp/ops more, where
-- they have no column of the row, and their annotations.
local additions = {
  { like = "TANH", name = "a pure operation", files = {
    ["runtime/simt/code/simt_arith.def"] = { "UN(TANH, f64)", "UN(TRIAL, f64) UN(TRIAL, f32)\n" },
    ["runtime/simt/run/simt_scalar.h"] = { "#endif", "#define TRIAL_f32(x) TANH_f32(x)\n"
      .. "#define TRIAL_f64(x) TANH_f64(x)\n" },
  } },
  { like = "SYNC_WARP", name = "an effect", files = {
    ["runtime/simt/code/simt_control.def"] = { "X(SYNC_WARP,", 'X(TRIAL, "....", CT_INS_SYNC)\n' },
    ["runtime/simt/run/simt_control.c"] = { "#define CP_FENCE", "#define TRIAL SYNC_WARP\n" },
  } },
  { like = "ST_ASYNC", name = "an asynchronous store", files = {
    ["runtime/emit/emit_prelude.def"] = { "#undef ASYNC_STORE",
      'ASYNC_STORE(TRIAL, "trial", "trial.b", 32, "unsigned", "r")\n'
      .. 'ASYNC_STORE(TRIAL, "trial", "trial.b", 64, "unsigned long long", "l")\n' },
  } },
}

-- Adds the text before the last place where `before` stands.
local function add(file, before, text)
  local all = folder.read(file)
  local at = assert(all:match("^.*()" .. before:gsub("%p", "%%%0")), before)
  folder.write(file, all:sub(1, at - 1) .. text .. all:sub(at))
end

for _, case in ipairs(additions) do
  local row = row_of(case.like):gsub(case.like, "TRIAL"):gsub('"[%w_]+"', '"trial"', 1)
  local n = 1 -- ops.def
  for file, addition in pairs(case.files) do
    add(file, addition[1], addition[2])
    n = n + 1
  end
  local list = {}
  for name, message in pairs(errors_with(row, case.like)) do
    list[#list + 1] = name .. ": " .. message
  end
  tap.is(table.concat(list, "\n"), "", ("%s is %d files of C"):format(case.name, n))
end

-- {====== Who knows one by name ======

-- What several parts know of an operation is in its row, so few files of C name it: of these the builder, the
-- verifier's case of its own, and the CPU engine.
local most <const> = { ST_ASYNC = 0, TMA_SEND = 2, CLC_TRY_CANCEL = 4, MBAR_ARRIVE_AT = 4,
  SYNC_WARP = 1 }
for name, n in pairs(most) do
  local list = folder.run(("grep -rlw --include='*.[ch]' CT_OP_%s runtime interp"):format(name))
  local _, n_files = list:gsub("\n", "")
  tap.ok(n_files <= n, ("%s is named in at most %d files"):format(name, n), list)
end

-- {====== No other way past ======

-- Switches over operations that say what becomes of the rest of them, and why that is right of one
-- that is not known.
local allowed = {
  ["runtime/ir/ir_swizzle.c"] = "any bit may be set",
  ["runtime/ir/ir_print.c"] = "printed by its row",
}
local places = {}
for name in folder.run "grep -rl 'switch ((CtOp)' runtime interp":gmatch("%S+") do
  local number, inside = 0, nil
  for line in io.lines(name) do
    number = number + 1
    inside = line:match("^( *)switch %(%(CtOp%)") or inside
    if inside and line == inside .. "}" then inside = nil end
    if inside and line:find("^" .. inside .. "  default:") and not allowed[name] then
      places[#places + 1] = ("%s:%d: %s"):format(name, number, line)
    end
  end
end
folder.remove()
tap.ok(#places == 0, "no switch over operations has a default", table.concat(places, "\n"))
tap.done()
