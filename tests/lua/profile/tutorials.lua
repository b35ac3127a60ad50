-- What `cuttle profile` says of bank conflicts in the ports of CuTe's tutorials: sgemm_2's padding
-- leaves stores of TN in conflict, sgemm_sm80's swizzle leaves none.
local shell = dofile "tests/support/shell.lua"
local function profile(script, arguments)
  local text, code = shell.cuttle("profile %s %s", script, arguments)
  assert(code == 0, text)
  return text
end

local function conflicts(text)
  local out = {}
  for access, way in text:gmatch("(%l+ shared s%u) [^\n]*(%d+%-way conflicts)") do
    out[#out + 1] = access .. ": " .. way
  end
  return table.concat(out, ", ")
end

print(conflicts(profile("examples/sgemm_2.lua", "128 128 16 NT"))) -- expect:
-- expect: store shared sA: 4-way conflicts, store shared sB: 4-way conflicts
print(conflicts(profile("examples/sgemm_2.lua", "128 128 16 TN")))
local swizzled = profile("examples/sgemm_sm80.lua", "128 128 128 F16")
print(swizzled:match("shared: .- conflicts"):match("; (.*)"))  -- expect: 0 and 0 of them conflicts

-- Without the swizzle it is the copies to shared memory that collide, not ldmatrix.
local file = assert(io.open("examples/sgemm_sm80.lua"))
local script = file:read("a")
file:close()
local plain, n = script:gsub("composition%(swizzle%(3, 3, 3%), (layout%b())%)", "%1")
local path = os.tmpname()
file = assert(io.open(path, "w"))
file:write(plain)
file:close()
local text = profile(path, "128 128 128 F16")
os.remove(path)
print(n, select(2, text:gsub("store async shared s%u [^\n]*  8%-way conflicts", "")),
  select(2, text:gsub("  load shared s%u [^\n]*no conflicts", ""))) -- expect: 1	4	4
