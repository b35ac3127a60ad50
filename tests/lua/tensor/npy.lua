-- .npy files: both orders, all types, strides that are not compact; broken files.
local shell = dofile "tests/support/shell.lua"
local path = os.tmpname()
local function round_trip(t)
  save_npy(path, t)
  return load_npy(path)
end
for _, dtype in ipairs{f32, f64, i32, i64} do
  local A = rand(dtype, {3, 4})
  local B = round_trip(A)
  print(B.dtype, B.layout, allclose(A, B))
end
-- expect: f32	(3,4):(1,3)	true
-- expect: f64	(3,4):(1,3)	true
-- expect: i32	(3,4):(1,3)	true
-- expect: i64	(3,4):(1,3)	true
local R = rand(f32, row_major{3, 4, 2})
print(round_trip(R).layout, allclose(R, round_trip(R)))      -- expect: (3,4,2):(8,2,1)	true
local P = rand(f32, "(3,4):(1,5)")                           -- not compact: a copy in C order
print(round_trip(P).layout, allclose(P, round_trip(P)))      -- expect: (3,4):(4,1)	true
local S = R(_, 1, _)
print(round_trip(S).layout, allclose(S, round_trip(S)))      -- expect: (3,2):(2,1)	true
local N = rand(f32, "((2,2),3):((1,6),2)")                   -- modes become dimensions
print(round_trip(N).layout, round_trip(N)[{3, 2}] == N[{3, 2}]) -- expect: (4,3):(3,1)	true
print(round_trip(from_table(bool, {true, false})):totable()[1]) -- expect: true
print(round_trip(arange(i32, 5)).layout)                     -- expect: 5:1
print(round_trip(zeros(f32, {0, 3})).layout)                 -- expect: (0,3):(3,1)

local function write(bytes) shell.write_file(path, bytes) end
local function read() return shell.read_file(path) end
local function try(f, ...)
  print((select(2, pcall(f, ...)):gsub("^[^:]*:%d+: ", ""):gsub(path, "a.npy", nil, true)))
end
save_npy(path, zeros(f32, {32, 32}))
local whole = read()
write(whole:sub(1, 128 + 60))
-- expect: load_npy: 'a.npy' ends after 60 of 4096 data bytes
try(load_npy, path)
write(whole:sub(1, 40))
-- expect: load_npy: 'a.npy' ends within its header
try(load_npy, path)
write((whole:gsub("<f4", ">f4")))
-- expect: load_npy: 'a.npy' has elements of type '>f4' (big-endian); only little-endian elements can be read
try(load_npy, path)
write("not an array")
-- expect: load_npy: 'a.npy' is not a .npy file
try(load_npy, path)
os.remove(path)
-- expect: load_npy: 'a.npy': No such file or directory
try(load_npy, path)
-- expect: save_npy: '/nowhere/a.npy': No such file or directory
try(save_npy, "/nowhere/a.npy", zeros(f32, 1))
-- expect: load_npy: argument 1 is missing; the name of a file was expected
try(load_npy)
