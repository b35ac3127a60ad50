-- kernel_cases.lua: runs the acceptance cases of the front end, every .lua file of a folder, on the
-- current device: `cuttle scripts/kernel_cases.lua DIR|FILE...`. The folder's README describes the
-- fields of a case. Prints TAP and then, as its last line, "N passed, N failed".
local tap = dofile "tests/support/tap.lua"
if not arg[1] then error("usage: cuttle scripts/kernel_cases.lua DIR|FILE...") end

local types = { f32 = f32, f64 = f64, i32 = i32, i64 = i64, bool = bool }

local function make_args(case)
  local specs, args = case.args(), {}
  for i, a in ipairs(specs) do
    local dtype = assert(types[a.dtype], a.dtype)
    if a.shape then
      args[i] = from_table(dtype, a.data, layout(a.shape)):to(device().sm and "cuda" or "cpu")
    elseif math.type(a.value) == "integer" and dtype == i32 then
      args[i] = a.value
    else
      args[i] = dtype(a.value)
    end
  end
  return specs, args
end

local function flat(t)
  local n = size(t)
  return view(t, layout(n)):totable()
end

local function differs(want, got, tol)
  for i = 1, #want do
    local same = want[i] == got[i] or (tol and math.abs(want[i] - got[i]) <= tol)
    if not same then return ("element %d is %s, expected %s"):format(i - 1, got[i], want[i]) end
  end
end

local function check_error(case, path, ok, message)
  if ok then return "no error, expected '" .. case.error .. "'" end
  message = tostring(message)
  if not message:find(case.error, 1, true) then
    return "error '" .. message .. "', expected '" .. case.error .. "'"
  end
  local where = path:match("[^/]+$") .. ":" .. case.error_line .. ":"
  if not message:find(where, 1, true) then
    return "error '" .. message .. "', expected at line " .. case.error_line
  end
end

local function run(path)
  local case = dofile(path)
  local specs, args = make_args(case)
  local k = kernel(case.name, case.kernel)
  local ok, message = pcall(function() k(case.launch)(table.unpack(args)) end)
  if case.error then return check_error(case, path, ok, message) end
  if not ok then return message end
  for i, want in pairs(case.reference(specs)) do
    local problem = differs(want, flat(args[i]), case.tol)
    if problem then return ("argument %d: %s"):format(i, problem) end
  end
end

local function files_of(path)
  if path:match("%.lua$") then return { path } end
  local files = {}
  for name in io.popen('ls "' .. path .. '"'):lines() do
    if name:match("%.lua$") then files[#files + 1] = path .. "/" .. name end
  end
  return files
end

for _, argument in ipairs(arg) do
  for _, path in ipairs(files_of(argument)) do
    local ok, problem = pcall(run, path)
    tap.ok(ok and not problem, path:match("[^/]+$"), problem)
  end
end
local n_run, n_failed = tap.plan()
print(("%d passed, %d failed"):format(n_run - n_failed, n_failed))
os.exit(n_failed == 0 and n_run > 0, true)
