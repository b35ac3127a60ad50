-- Every copy atom that a warp does together, against its layouts: random bits through several atoms at
-- once, from or to shared memory, plain and swizzled. The oracle evaluates the layouts in Lua; that of
-- movmatrix, of which CuTe's layouts say nothing, transposes.
-- On a GPU with --device=cuda: atoms that the target lacks are skipped.
local N <const> = 3 -- atoms

local function elements(a, side) return recast(a[side], 1, a.dtype.bits) end

-- What a thread's value of the destination is of the source's data.
local function moved(a, dst, thr, v)
  if a.family ~= "movmatrix" then return dst(thr, v) end
  local per = 16 // a.dtype.bits -- elements of 16 bits: value (row, column) is (column, row)
  local row, col = thr // 4, thr % 4 * 2 + v // per
  return (col * 8 + row) * per + v % per
end

-- (thread, value, atom) of data that lies atom after atom.
local function in_memory(side, n) return concat(mode(side, 0), mode(side, 1), layout(N, n)) end

local function make(name, dtype, sw)
  local a = atom(name, dtype)
  local src, dst, n = elements(a, "src"), elements(a, "dst"), a.bits // dtype.bits
  local k = kernel(("k_%s_%s"):format(name, dtype), function(A, B)
    local s = shared(dtype, sw and composition(sw, layout(N * n)) or layout(N * n))
    local function fill(value)
      for i = threadIdx.x, N * n - 1, 32 do s[i] = value(i) end
      sync_threads()
    end
    fill(function(i) return A[i] end)
    local from = view(s, in_memory(src, n))(threadIdx.x, _, _)
    local to = fragment(dtype, { size(dst, 1), N })
    if a.family ~= "ldmatrix" then
      local r = fragment(dtype, { size(src, 1), N })
      copy(from, r)
      from = r
    end
    if a.family == "stmatrix" then
      sync_threads()
      fill(function() return 0 end)
      to = view(s, in_memory(dst, n))(threadIdx.x, _, _)
    end
    copy(a, from, to)
    sync_threads()
    if a.family == "stmatrix" then
      for i = threadIdx.x, N * n - 1, 32 do B[i] = s[i] end
    else
      copy(to, B(threadIdx.x, _, _))
    end
  end, { static_shapes = true })
  return k, a, dst, n
end

local function count_wrong(name, dtype, sw)
  local k, a, dst, n = make(name, dtype, sw)
  local A = rand(dtype, N * n, 1, 127)
  local is_flat = a.family == "stmatrix"
  local B = zeros(dtype, is_flat and layout(N * n) or layout { 32, size(dst, 1), N })
  local ok, message = pcall(k { grid = 1, block = 32 }, A, B)
  if not ok then return assert(message:match("needs sm_%d+"), message) end
  local want, got, wrong = A:to("cpu"), B:to("cpu"), 0
  for i = 0, is_flat and N * n - 1 or -1 do wrong = wrong + (want[i] == got[i] and 0 or 1) end
  for i = 0, is_flat and -1 or size(B) - 1 do
    local thr, v, j = i % 32, i // 32 % size(dst, 1), i // (32 * size(dst, 1))
    wrong = wrong + (want[moved(a, dst, thr, v) + j * n] == got[i] and 0 or 1)
  end
  return wrong
end

local names, ran = {}, 0
for _, family in ipairs { "ldmatrix", "stmatrix", "movmatrix", "shfl" } do
  for _, name in ipairs(atoms { family = family }) do names[#names + 1] = name end
end
for _, name in ipairs(names) do
  local is_word = name:find("U32", 1, true) and not name:find("MOVM", 1, true)
  for _, dtype in ipairs { u16, f16, u8, is_word and f32 or bf16 } do
    local unit = 128 // dtype.bits -- a row of 16 bytes
    local log = ({ [16] = 4, [8] = 3, [4] = 2 })[unit]
    for _, sw in ipairs { false, swizzle(3, log, 3), swizzle(2, log, 4) } do
      local n = count_wrong(name, dtype, sw)
      ran = ran + 1
      if n ~= 0 then print(name, dtype, sw, n) end
    end
  end
end
print(#names, ran)  -- expect: 15	180
