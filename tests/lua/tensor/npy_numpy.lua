-- .npy files against NumPy itself: what it writes we read, what we write it reads. Prints TAP. One Python
-- writes or reads the files of many cases, as NumPy takes long to start.
local tap = dofile "tests/support/tap.lua"
local python
for _, name in ipairs{"/usr/bin/python3", "python3"} do
  if os.execute(name .. " -c 'import numpy' >/dev/null 2>&1") then
    python = name
    break
  end
end
if not python then
  tap.skip_all "no python3 with NumPy"
end

local prefix = os.tmpname()
local paths = { prefix }
local ok = tap.ok

-- Runs lines of Python: what they print, line by line.
local function run(lines)
  local script = io.open(prefix, "w")
  script:write("import numpy as np\n", table.concat(lines, "\n"), "\n")
  script:close()
  local pipe, out = assert(io.popen(("%s %s 2>&1"):format(python, prefix))), {}
  for line in pipe:lines() do out[#out + 1] = line end
  pipe:close()
  return out
end

local function new_path()
  paths[#paths + 1] = ("%s.%d.npy"):format(prefix, #paths)
  return paths[#paths]
end

-- element (i,j,k) of every array is 100 i + 10 j + k
local types = {f32 = "float32", f64 = "float64", i32 = "int32", i64 = "int64", f16 = "float16",
  i16 = "int16", u64 = "uint64", u32 = "uint32", u16 = "uint16"} -- the values need 16 bits
local written, lines = {}, {}
for name, numpy in pairs(types) do
  for _, order in ipairs{"C", "F"} do
    for _, version in ipairs{"(1,0)", "(2,0)", "(3,0)"} do
      local path = new_path()
      lines[#lines + 1] = ([[
a = np.fromfunction(lambda i, j, k: 100 * i + 10 * j + k, (4, 3, 2), dtype=np.%s)
a = np.array(a, dtype=np.%s, order="%s")
with open("%s", "wb") as f: np.lib.format.write_array(f, a, version=%s)]])
        :format(numpy, numpy, order, path, version)
      written[#written + 1] = {path = path, name = name, order = order, version = version}
    end
  end
end
for _, line in ipairs(run(lines)) do print("# " .. line) end -- warnings

for _, case in ipairs(written) do
  local t = load_npy(case.path)
  local right = t.dtype == _ENV[case.name] and
    tostring(t.layout) == (case.order == "C" and "(4,3,2):(6,2,1)" or "(4,3,2):(1,4,12)")
  for i = 0, 3 do
    for j = 0, 2 do
      for k = 0, 1 do
        right = right and t[{i, j, k}] == 100 * i + 10 * j + k
      end
    end
  end
  ok(right, ("NumPy wrote %s in order %s, version %s"):format(case.name, case.order, case.version))
end

local saved = {}
lines = {"b = np.fromfunction(lambda i, j, k: 100 * i + 10 * j + k, (4, 3, 2))"}
for name, numpy in pairs(types) do
  for _, layout in ipairs{"(4,3,2)", "(4,3,2):(6,2,1)", "(4,3,2):(2,8,1)", "(4,3,2):(1,5,20)"} do
    local t, path = zeros(name, layout), new_path()
    for i = 0, 3 do
      for j = 0, 2 do
        for k = 0, 1 do
          t[{i, j, k}] = 100 * i + 10 * j + k
        end
      end
    end
    save_npy(path, t)
    lines[#lines + 1] = ([[
a = np.load("%s")
print(a.dtype, a.shape, (a == b).all(), "F" if np.isfortran(a) else "C")]]):format(path)
    saved[#saved + 1] = {what = ("%s %s"):format(name, layout),
      want = ("%s (4, 3, 2) True %s"):format(numpy, layout == "(4,3,2)" and "F" or "C")}
  end
end
local out = run(lines)
for i, case in ipairs(saved) do
  ok(out[i] == case.want, "NumPy read " .. case.what)
  if out[i] ~= case.want then print("# " .. tostring(out[i])) end
end

local good = {{"np.float32(7)", "1:0", 7.0}, {"np.array([5, 6])", "2:1", 5},
  {"np.zeros((0, 3))", "(0,3):(3,1)"}, {"np.array([True, False])", "2:1", true}}
local refused = {{'np.zeros(3, dtype=">f4")', "big%-endian"},
  {"np.array([None])", "Python objects"},
  {"np.zeros(3, dtype=np.complex64)", "'<c8', which is not an element type"},
  {'np.zeros(3, dtype=[("a", "<f4")])', "records"}}
lines = {}
for _, list in ipairs{good, refused} do
  for _, case in ipairs(list) do
    case.path = new_path()
    lines[#lines + 1] = ('np.save(open("%s", "wb"), %s)'):format(case.path, case[1])
  end
end
run(lines)
for _, case in ipairs(good) do
  local t = load_npy(case.path)
  ok(tostring(t.layout) == case[2] and (case[3] == nil or t[0] == case[3]), case[1])
end
for _, case in ipairs(refused) do
  local loaded, message = pcall(load_npy, case.path)
  ok(not loaded and message:find(case[2]), "refused: " .. case[1])
end
for _, path in ipairs(paths) do os.remove(path) end
tap.done()
