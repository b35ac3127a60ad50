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
local function in_memory(side, n)
  return concat(get_mode(side, 0), get_mode(side, 1), layout(N, n))
end

-- What a case copies, of data A to B, which has the destination's values or, of stmatrix, its memory.
local function run_case(case, A, B)
  local a, dtype, n = case.atom, case.dtype, case.n
  local s = shared(dtype, case.sw and composition(case.sw, layout(N * n)) or layout(N * n))
  local function fill(value)
    for i = threadIdx.x, N * n - 1, 32 do s[i] = value(i) end
    sync_threads()
  end
  fill(function(i) return A[i] end)
  local from = view(s, in_memory(case.src, n))(threadIdx.x, _, _)
  local to = fragment(dtype, { size(case.dst, 1), N })
  if a.family ~= "ldmatrix" then
    local r = fragment(dtype, { size(case.src, 1), N })
    copy(from, r)
    from = r
  end
  if a.family == "stmatrix" then
    sync_threads()
    fill(function() return 0 end)
    to = view(s, in_memory(case.dst, n))(threadIdx.x, _, _)
  end
  copy(a, from, to)
  sync_threads()
  if a.family == "stmatrix" then
    for i = threadIdx.x, N * n - 1, 32 do B[i] = s[i] end
  else
    copy(to, B(threadIdx.x, _, _))
  end
end

local function count_wrong(case, A, B)
  local dst, n = case.dst, case.n
  local is_flat = case.atom.family == "stmatrix"
  local want, got, wrong = A:to("cpu"), B:to("cpu"), 0
  for i = 0, is_flat and N * n - 1 or -1 do wrong = wrong + (want[i] == got[i] and 0 or 1) end
  for i = 0, is_flat and -1 or size(B) - 1 do
    local thr, v, j = i % 32, i // 32 % size(dst, 1), i // (32 * size(dst, 1))
    wrong = wrong + (want[moved(case.atom, dst, thr, v) + j * n] == got[i] and 0 or 1)
  end
  return wrong
end

-- All types and swizzles of an atom, in one kernel: tensors to copy from, then those to copy to.
local function cases_of(name)
  local cases = {}
  local is_word = name:find("U32", 1, true) and not name:find("MOVM", 1, true)
  for _, dtype in ipairs { u16, f16, u8, is_word and f32 or bf16 } do
    local a, unit = atom(name, dtype), 128 // dtype.bits -- a row of 16 bytes
    local log = ({ [16] = 4, [8] = 3, [4] = 2 })[unit]
    for _, sw in ipairs { false, swizzle(3, log, 3), swizzle(2, log, 4) } do
      cases[#cases + 1] = { atom = a, dtype = dtype, sw = sw, n = a.bits // dtype.bits,
        src = elements(a, "src"), dst = elements(a, "dst") }
    end
  end
  return cases
end

local function run(name)
  local cases, tensors = cases_of(name), {}
  for i, case in ipairs(cases) do
    local is_flat = case.atom.family == "stmatrix"
    tensors[i] = rand(case.dtype, N * case.n, 1, 127)
    tensors[#cases + i] = zeros(case.dtype,
      is_flat and layout(N * case.n) or layout { 32, size(case.dst, 1), N })
  end
  local k = kernel("k_" .. name, function(...)
    local t = { ... }
    for i, case in ipairs(cases) do run_case(case, t[i], t[#cases + i]) end
  end, { static_shapes = true })
  local ok, message = pcall(k { grid = 1, block = 32 }, table.unpack(tensors))
  if not ok then
    assert(message:match("needs sm_%d+"), message)
    return #cases
  end
  for i, case in ipairs(cases) do
    local n = count_wrong(case, tensors[i], tensors[#cases + i])
    if n ~= 0 then print(name, case.dtype, case.sw, n) end
  end
  return #cases
end

local names, ran = {}, 0
for _, family in ipairs { "ldmatrix", "stmatrix", "movmatrix", "shfl" } do
  for _, name in ipairs(atoms { family = family }) do names[#names + 1] = name end
end
for _, name in ipairs(names) do ran = ran + run(name) end
print(#names, ran)  -- expect: 15	180
