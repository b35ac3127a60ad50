-- .npy files against NumPy itself: what it writes we read, what we write it reads. Prints TAP.
local python
for _, name in ipairs{"/usr/bin/python3", "python3"} do
  if os.execute(name .. " -c 'import numpy' >/dev/null 2>&1") then
    python = name
    break
  end
end
if not python then
  print("1..0 # skip no python3 with NumPy")
  return
end

local path = os.tmpname()
local n = 0
local function ok(passed, name)
  n = n + 1
  print(("%sok %d - %s"):format(passed and "" or "not ", n, name))
end
local function run(script)
  local pipe = assert(io.popen(("%s -c '%s' 2>&1"):format(python, script)))
  local out = pipe:read("a")
  pipe:close()
  return (out:gsub("%s+$", ""))
end

-- element (i,j,k) of every array is 100 i + 10 j + k
local types = {f32 = "float32", f64 = "float64", i32 = "int32", i64 = "int64", f16 = "float16",
  i16 = "int16", u64 = "uint64", u32 = "uint32", u16 = "uint16"} -- the values need 16 bits
for name, numpy in pairs(types) do
  for _, order in ipairs{"C", "F"} do
    for _, version in ipairs{"(1,0)", "(2,0)", "(3,0)"} do
      local out = run(([[
import numpy as np
a = np.fromfunction(lambda i, j, k: 100 * i + 10 * j + k, (4, 3, 2), dtype=np.%s)
a = np.array(a, dtype=np.%s, order="%s")
with open("%s", "wb") as f: np.lib.format.write_array(f, a, version=%s)]])
        :format(numpy, numpy, order, path, version))
      local what = ("%s in order %s, version %s"):format(name, order, version)
      if out ~= "" then
        print("# " .. out)
      end
      local t = load_npy(path)
      local right = t.dtype == _ENV[name] and
        tostring(t.layout) == (order == "C" and "(4,3,2):(6,2,1)" or "(4,3,2):(1,4,12)")
      for i = 0, 3 do
        for j = 0, 2 do
          for k = 0, 1 do
            right = right and t[{i, j, k}] == 100 * i + 10 * j + k
          end
        end
      end
      ok(right, "NumPy wrote " .. what)
    end
  end
end

for name, numpy in pairs(types) do
  for _, layout in ipairs{"(4,3,2)", "(4,3,2):(6,2,1)", "(4,3,2):(2,8,1)", "(4,3,2):(1,5,20)"} do
    local t = zeros(name, layout)
    for i = 0, 3 do
      for j = 0, 2 do
        for k = 0, 1 do
          t[{i, j, k}] = 100 * i + 10 * j + k
        end
      end
    end
    save_npy(path, t)
    local out = run(([[
import numpy as np
a = np.load("%s")
b = np.fromfunction(lambda i, j, k: 100 * i + 10 * j + k, (4, 3, 2))
print(a.dtype, a.shape, (a == b).all(), "F" if np.isfortran(a) else "C")]]):format(path))
    local order = layout == "(4,3,2)" and "F" or "C"
    local want = ("%s (4, 3, 2) True %s"):format(numpy, order)
    ok(out == want, ("NumPy read %s %s"):format(name, layout))
    if out ~= want then
      print("# " .. out)
    end
  end
end

for _, case in ipairs{{"np.float32(7)", "1:0", 7.0}, {"np.array([5, 6])", "2:1", 5},
                      {"np.zeros((0, 3))", "(0,3):(3,1)"},
                      {"np.array([True, False])", "2:1", true}} do
  run(('import numpy as np; np.save(open("%s", "wb"), %s)'):format(path, case[1]))
  local t = load_npy(path)
  ok(tostring(t.layout) == case[2] and (case[3] == nil or t[0] == case[3]), case[1])
end
for _, case in ipairs{{'np.zeros(3, dtype=">f4")', "big%-endian"},
                      {'np.array([None])', "Python objects"},
                      {'np.zeros(3, dtype=np.complex64)', "'<c8', which is no element type"},
                      {'np.zeros(3, dtype=[("a", "<f4")])', "records"}} do
  run(('import numpy as np; np.save(open("%s", "wb"), %s)'):format(path, case[1]))
  local loaded, message = pcall(load_npy, path)
  ok(not loaded and message:find(case[2]), "refused: " .. case[1])
end
os.remove(path)
print("1.." .. n)
