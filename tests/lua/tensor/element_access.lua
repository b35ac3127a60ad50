-- Elements of host tensors by each form of coordinate, read and written, are those of the layout;
-- what is outside, or no coordinate, is an error of the same words as ever.
local memory = arange(i32, 4096)
local layouts = { L"6:1", L"(4,3):(3,1)", L"((2,2),(3,2)):((12,1),(4,2))", L"(4,0):(1,4)",
  L"(3,2):(0,5)", L"5", L"(2,(2,2),3):(1,(100,7),400)", L"((2,2)):((1,8))" }

-- All coordinates of one integer a mode.
local function each_coord(l, f, crd, m)
  crd, m = crd or {}, m or 1
  if m > rank(l) then return f(crd) end
  for i = 0, size(l, m - 1) - 1 do
    crd[m] = i
    each_coord(l, f, crd, m + 1)
  end
end

for _, l in ipairs(layouts) do
  local t = view(memory, l)
  local copied = view(zeros(i32, 4096), l)
  for i = 0, size(l) - 1 do
    assert(t[i] == l(i) and t(i) == l(i))
    copied[i] = t[i] + 7
    assert(copied[i] == t[i] + 7)
  end
  if rank(l) > 1 or l == L"((2,2)):((1,8))" then
    each_coord(l, function(crd)
      assert(t[crd] == l(table.unpack(crd)))
      assert(t(table.unpack(crd)) == t[crd])
      copied[crd] = t[crd] - 1
      assert(copied[crd] == t[crd] - 1)
    end)
  end
end

-- Parts begin elsewhere.
local m = arange(f32, row_major{4, 8})
local part = tile(m, {2, 4}, {1, 1})
print(part[{1, 2}], part(1, 2), part[5], m(_, 3)[2])  -- expect: 27.0	27.0	27.0	14.0
part[{1, 2}] = -1
print(m[{3, 6}])  -- expect: -1.0

-- Types keep their rules.
local u, b = zeros(u8, 2), full(bool, 2, true)
u[1], b[0] = 255, false
print(u[1], b[0], b[1])  -- expect: 255	false	true
local function fails(f) print((select(2, pcall(f)):gsub("^.-:%d+: ", ""))) end
fails(function() u[0] = 256 end)      -- expect: u[0]: 256 does not fit u8; expected 0 to 255
fails(function() u[0] = 0.5 end)      -- expect: u[0]: 0.5 is not an integer; the elements are u8
fails(function() b[0] = 1 end)        -- expect: b[0]: got a number, but the elements are bool; expected a boolean
fails(function() m[0] = "1" end)      -- expect: m[0]: got a string, but the elements are f32; expected a number
fails(function() return m[32] end)    -- expect: m[32]: coordinate 32 is outside the shape (4,8); counting starts at 0
fails(function() return m[-1] end)    -- expect: m[-1]: coordinate -1 is outside the shape (4,8)
fails(function() return m[{4, 0}] end) -- expect: m[{4,0}]: coordinate (4,0) is outside the shape (4,8); counting starts at 0
fails(function() return m(0, 8) end)  -- expect: m(0,8): coordinate (0,8) is outside the shape (4,8); counting starts at 0
fails(function() return m[{1, 2, 3}] end) -- expect: m[{1,2,3}]: crd2idx: coordinate (1,2,3) does not fit shape (4,8): it has 3 modes, not 2; write an integer, or a tuple nested like the shape
print(m[{1, 2.0}], m(1, 2.0))              -- expect: 9.0	9.0
fails(function() return m["(1,2)"] end)    -- expect: a tensor has no field '(1,2)'; help"Tensor" lists what it has
m:close()
fails(function() return m[0] end)     -- expect: m is closed; its memory was given back

-- In a kernel a tensor of the host is none of its arguments.
local k = kernel("k", function(x) x[0] = part[0] end)
fails(function() k{grid = 1, block = 1}(zeros(f32, 1)) end)
-- expect: part[0]: a tensor of the host is not available inside a kernel; pass it as an argument
