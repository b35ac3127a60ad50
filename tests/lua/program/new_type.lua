-- A row added to dtypes.def stops the compiler at the places that have to know the element type. In a copy
-- of the sources a row is added as someone would begin, by copying one and naming what is not there yet.
local tap = dofile "tests/support/tap.lua"
local folder = dofile "tests/support/folder.lua"

local cc = os.getenv("CC") or "cc"
if select(2, folder.run(cc .. " --version")) ~= 0 then
  folder.remove()
  tap.skip_all "no C compiler"
end
local lua = folder.run "pkg-config --cflags lua5.4 2>/dev/null":gsub("\n$", "")
if lua == "" then lua = "-I/usr/include/lua5.4" end
folder.run(("cp -r '%s' '%s' ."):format(folder.absolute "runtime", folder.absolute "interp"))

-- The row of a narrow float as that of `trial`, of 4 bits of which 2 are the exponent's.
local row = [[
FLOAT(trial, 4, f32, "unsigned char", uint8_t, NULL, 2, 1, SATURATES, SINCE(100, F32_TO_TRIAL),
      SAME(TRIAL_TO_F32), TRIAL, ADDS(TRIAL, 0))
]]
local path <const> = "runtime/base/dtypes.def"
folder.write(path, (folder.read(path):gsub("\nX%(i64,", "\n" .. row .. "X(i64,")))

-- The first error of each file that reads the rows; "" if there is none.
local errors, list = {}, {}
for name in folder.run "grep -rl 'dtypes\\.def\"' runtime interp --include=*.c | sort"
  :gmatch "[^\n]+" do
  local text, code = folder.run(("%s -std=c11 -D_POSIX_C_SOURCE=200809L -I. %s -fsyntax-only %s")
    :format(cc, lua, name))
  errors[name] = code ~= 0 and (text:match("error:[^\n]*") or text) or ""
  list[#list + 1] = name .. ": " .. errors[name]
end

-- Who has to know, and what it misses.
local places <const> = {
  ["runtime/base/dtype.c"] = "trial: ct_dtype_bytes counts whole bytes",
  ["runtime/emit/emit_convert.c"] = "CT_HELP_F32_TO_TRIAL",
  ["runtime/simt/lower/simt_lower_value.c"] = "MOVES_trial",
  ["runtime/simt/lower/simt_lower_pure.c"] = "CT_SIMT_CAST_trial_f32_s",
  ["runtime/device/device_map.c"] = "CT_CU_TENSOR_MAP_DATA_TYPE_TRIAL",
  ["runtime/device/nccl_work.c"] = "CT_NCCL_TRIAL",
  ["interp/tensor/tensor_data.c"] = "load_trial",
  ["interp/host/embed_launch.c"] = "cuttle_DType has the types",
}
for name, missing in pairs(places) do
  tap.ok((errors[name] or ""):find(missing, 1, true), ("%s misses %s"):format(name, missing),
    table.concat(list, "\n"))
  errors[name] = nil
end
local others = {}
for name, message in pairs(errors) do
  if message ~= "" then others[#others + 1] = name .. ": " .. message end
end
tap.is(table.concat(others, "\n"), "", "no other file stops for it")
folder.remove()
tap.done()
