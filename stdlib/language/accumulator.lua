-- accumulator.lua: the sums of products of tiles by a whole block, for dot.lua and dot_rows.lua. An
-- accumulator knows its tiled MMA and the thread's part of sums and operands.
--   accumulator(A, B[, options])   zeroed sums of the product of tiles like A and B
local internal = ...
local tiles = require "cuttle.tiles"
local choice = require "cuttle.dot_choice"
local option_names = require "cuttle.option_names"
local M = {}

local fail, type_name = tiles.fail, tiles.type_name
local WARP <const> = 32

local Accumulator = {}
local acc_type = tiles.new_type("accumulator", Accumulator,
  { "sums", "mma", "thr", "shape", "n_rows", "threads" })

function M.is_accumulator(x) return getmetatable(x) == acc_type end

function M.is_registers(x) return internal.kernel.space_of(x) == "registers" end

local is_acc, is_registers = M.is_accumulator, M.is_registers

-- {====== What the caller gives ======

local known_options <const> = { threads = option_names.whole(1), warps = option_names.table,
  tf32 = option_names.flag, wgmma = option_names.flag,
  atom = function(v) return type(v) == "string" or type_name(v) == "atom", "an atom" end }

-- A tile of two modes. An accumulator looks at the first two of more, such as slots.
local function check_operand(x, name, number, op)
  if is_acc(x) and name == "A" then return end
  local modes = name == "A" and "(M,K)" or "(N,K)"
  if type_name(x) ~= "tensor" then
    fail(op, "argument %d is of type %s; a tile %s was expected", number, type_name(x),
      name == "A" and modes .. " or an accumulator" or modes)
  elseif x.dtype == nil then
    fail(op, "%s is a tensor of coordinates; expected one with memory", name)
  elseif is_registers(x) then
    fail(op, "%s is in registers, which do not record its extents; use the tile %s in memory", name,
      modes)
  elseif rank(x) < 2 or rank(x) > 2 and op == "dot" then
    fail(op, "%s %s has rank %d; a tile %s was expected%s", name, x.layout, rank(x), modes,
      rank(x) > 2 and ", as s(_, _, slot) is" or "")
  end
end

local function extent(x, mode, name, op)
  local n = is_acc(x) and x.shape[mode + 1] or size(x, mode)
  if not internal.kernel.is_static(n) then
    fail(op, "extent %d of %s is not known while tracing; tile it first, as in tile(%s, {64, 32}, "
      .. "{blockIdx.x, _}), or trace the kernel with {static_shapes = true}", mode, name, name)
  end
  return n
end

local function check_types(A, B, op)
  local a, b = is_acc(A) and B.dtype or A.dtype, B.dtype
  if not choice.goes_together(b, b) then
    fail(op, "there is no product of %s; cast the tiles to a type that has one, as in "
      .. "block_copy(B, shared_like(B, nil, f16))", b)
  elseif not choice.goes_together(a, b) then
    fail(op, "A has elements of type %s and B of type %s, which cannot be multiplied together; "
      .. "cast one on its way to shared memory, as in block_copy(B, shared_like(B, nil, "
    .. "%s))", a, b, a)
  end
end

--- The product of tiles like A and B, for dot_choice.lua.
function M.problem(A, B, options, op)
  check_operand(A, "A", 1, op)
  check_operand(B, "B", 2, op)
  check_types(A, B, op)
  local p = { op = op, M = extent(A, 0, "A", op), N = extent(B, 0, "B", op),
              K = extent(A, 1, "A", op), dtype = B.dtype }
  local k = extent(B, 1, "B", op)
  if p.K ~= k then
    fail(op, "A (%d,%d) and B (%d,%d) differ in K, mode 1 of both; B is (N,K), so write "
      .. "select(B, 1, 0) for a tile (K,N)", p.M, p.K, p.N, k)
  end
  local cuts = options.tf32 and p.dtype == f32
  p.a = cuts and "tf32" or (is_acc(A) and B or A).dtype.name
  p.b = cuts and "tf32" or B.dtype.name
  p.in_registers = is_acc(A)
  p.layout_A, p.layout_B = not is_acc(A) and tiles.static_layout(A) or nil, tiles.static_layout(B)
  return p
end

-- The threads that share the product: those of the block, or as many as options say.
local function n_threads(options, op)
  local dim = blockDim
  local x, y, z = static(dim.x), static(dim.y), static(dim.z)
  if y > 1 or z > 1 then
    fail(op, "the block is %d x %d x %d; its threads must have one mode, as in block = %d", x, y, z,
      x * y * z)
  end
  local n = options.threads or x
  if n > x then
    fail(op, "threads = %d, but the block has %d; launch it with block = %d", n, x, n)
  elseif n < x and n % WARP ~= 0 then
    fail(op, "threads = %d is not a whole number of warps; use a multiple of %d", n, WARP)
  end
  return n
end

local function check_warps(warps, threads, op)
  local m, n = warps[1], warps[2]
  if math.type(m) ~= "integer" or math.type(n) ~= "integer" or m < 1 or n < 1 then
    fail(op, "warps = {%s, %s}; two integers from 1 on were expected, warps along M and along N",
      tostring(m), tostring(n))
  elseif m * n * WARP ~= threads then
    fail(op, "warps = {%d, %d} are %d threads, and %d share the product; launch it with block = "
      .. "%d, or use other warps", m, n, m * n * WARP, threads, m * n * WARP)
  end
end

-- {====== Accumulators ======

-- Of each of thread 0's elements the number of its row; of each row an element.
local rows_of = static_fn(function(mma, shape)
  local places = mma:get_slice(0):partition_C(identity_tensor(shape))
  local row_of, firsts, numbers = {}, {}, {}
  for i = 0, size(places) - 1 do
    local m = places[i][1]
    if numbers[m] == nil then
      numbers[m] = #firsts
      firsts[#firsts + 1] = i
    end
    row_of[i] = numbers[m]
  end
  return row_of, firsts
end)

local function read_text(mma, name, x)
  if is_acc(x) then return "the registers of the other product, cast and seen as A" end
  local reader, why = choice.reader(mma, name, x) -- luacheck: ignore reader
  return why
end

-- Whose part of sums and operands the thread has; `acc` knows the threads that share them. No local
-- has it, so that nothing in the CUDA C is called by another name.
local function thread_of(acc)
  if acc.among then return threadIdx.x % acc.threads end
  return threadIdx.x
end

-- The part of an operand that ldmatrix reads for the thread: what `reader` reads of it.
local function part_of_reader(acc, reader, x)
  local copier = reader:get_slice(thread_of(acc))
  return copier, tiles.part_of_tile(x, function(t) return copier:partition_S(t) end)
end

-- The thread's part of an operand, and registers for a step of it.
local function part_of(thr, name, x)
  return tiles.part_of_tile(x, function(t)
    return name == "A" and thr:partition_A(t) or thr:partition_B(t)
  end)
end
local function registers_of(thr, name, part)
  return name == "A" and thr:fragment_A(part) or thr:fragment_B(part)
end

-- The address of what ldmatrix reads, computed where the accumulator is made: before the loop that
-- calls dot. Gives the registers that dot uses, declared before the sums; nil: nothing is early.
local function begin_early(acc, mma, thr, name, x)
  local reader = not is_acc(x) and tiles.wants_early(x) and choice.reader(mma, name, x)
  if not reader then return nil end
  part_of_reader(acc, reader, x)
  internal.kernel.early_index()
  local slot = rank(x) == 3 and x(_, _, 0) or x
  return registers_of(thr, name, part_of(thr, name, slot))
end

--- What accumulator returns; op: who calls.
function M.make(A, B, options, op)
  if not internal.kernel.is_tracing() then
    fail(op, "it is for kernels; on the host, write matmul(A, B)")
  end
  option_names.check(op, options, known_options, "{warps = {m, n}}")
  local p = M.problem(A, B, options, op)
  p.threads, p.atom, p.wgmma = n_threads(options, op), options.atom, options.wgmma
  local among = p.threads
  if is_acc(A) and A.among then p.threads = A.threads end
  p.sm = internal.kernel.target_sm()
  p.warps = options.warps or is_acc(A) and A.warps or nil
  if p.warps and not p.wgmma then check_warps(p.warps, p.threads, op) end
  if p.wgmma and p.threads < static(blockDim.x) then
    fail(op, "wgmma = true has a barrier of the whole block in each dot, so all %d threads must "
      .. "share the product, not %d; leave threads out", static(blockDim.x), p.threads)
  end
  local chosen = choice.choose(p)
  local mma, shape = chosen.mma, { p.M, p.N }
  local row_of, firsts = rows_of(mma, shape)
  local shared_by = { threads = chosen.threads or p.threads }
  shared_by.among = shared_by.threads < among and among
  local thr = mma:get_slice(thread_of(shared_by))
  local first = { A = begin_early(shared_by, mma, thr, "A", A),
                  B = begin_early(shared_by, mma, thr, "B", B) }
  local sums = fragment(chosen.sum, mma:partition_shape_C(shape))
  clear(sums)
  return setmetatable({ sums = sums, mma = mma, thr = thr, shape = shape, warps = chosen.warps,
    threads = shared_by.threads, among = shared_by.among,
    row_of = row_of, firsts = firsts, n_rows = #firsts,
    places = thr:partition_C(identity_tensor(shape)), why = chosen.why, K = p.K, first = first,
    why_A = read_text(mma, "A", A), why_B = read_text(mma, "B", B) }, acc_type)
end

function M.accumulator(A, B, options)
  return M.make(A, B, options or {}, "accumulator")
end

--- f(), by the threads that share the product: the others of the block are idle.
function M.by_threads(acc, f)
  if not acc.among then
    f()
  elseif threadIdx.x < acc.threads then
    f()
  end
end

--- The sums become 0.
function Accumulator:clear() clear(self.sums) end

--- The coordinates m, n of element i.
function Accumulator:at(i)
  local c = self.places[i]
  return c[1], c[2]
end

--- Each element becomes f(element, m, n). Idle threads have none of their own.
function Accumulator:map(f)
  if type(f) ~= "function" then
    fail("map", "argument 1 is of type %s; a function of an element and its place m, n was "
      .. "expected", type_name(f))
  end
  local sums = self.sums
  M.by_threads(self, function()
    for i in unroll(0, size(sums)) do
      local m, n = self:at(i)
      sums[i] = f(sums[i], m, n)
    end
  end)
  return self
end

local function check_tile(acc, t, op)
  if type_name(t) ~= "tensor" or rank(t) ~= 2 then
    fail(op, "argument 1 is %s; a tile (%d,%d) was expected", type_name(t) == "tensor"
      and tostring(t.layout) or "of type " .. type_name(t), acc.shape[1], acc.shape[2])
  end
  for i = 0, 1 do
    local n = size(t, i)
    if not internal.kernel.is_static(n) or n ~= acc.shape[i + 1] then
      fail(op, "the tile %s is not (%d,%d), as the sums are", t.layout, acc.shape[1], acc.shape[2])
    end
  end
end

--- src to dst, cast where their types differ.
local function copy_as(src, dst)
  if src.dtype == dst.dtype then copy(src, dst) else copy(cast(src, dst.dtype), dst) end
end

--- The sums to a tile (M,N) of global or shared memory, cast to its type.
function Accumulator:store(t, other)
  if other ~= nil then
    fail("store", "2 arguments; one tile was expected: change the sums with acc:map(f) first")
  end
  check_tile(self, t, "store")
  M.by_threads(self, function() copy_as(self.sums, self.thr:partition_C(t)) end)
end

--- The sums out of a tile (M,N), cast to their type.
function Accumulator:load(t)
  check_tile(self, t, "load")
  copy_as(self.thr:partition_C(t), self.sums)
end

-- {====== Rows ======

-- That `rows` has a value for each of the thread's rows.
function M.check_rows(acc, rows, number, op)
  if not is_registers(rows) or size(rows) ~= acc.n_rows then
    fail(op, "argument %d is %s; a fragment of the thread's %d rows was expected, as row_reduce "
      .. "and acc:new_rows make them", number,
      type_name(rows) == "tensor" and tostring(rows) or "of type " .. type_name(rows), acc.n_rows)
  end
end

--- The coordinate m of the thread's row r.
function Accumulator:row(r)
  if not math.tointeger(r) or r < 0 or r >= self.n_rows then
    fail("row", "there is no row %s; a thread has rows 0 to %d", tostring(r), self.n_rows - 1)
  end
  return self.places[self.firsts[r + 1]][1]
end

--- A new fragment of a value for each of the thread's rows: a number, or f(m), cast.
function Accumulator:new_rows(value)
  local rows = fragment(self.sums.dtype, self.n_rows)
  for r in unroll(0, self.n_rows) do
    local v = value or 0
    if type(v) == "function" then v = cast(v(self:row(r)), rows.dtype) end
    rows[r] = v
  end
  return rows
end

--- A value of each row to a tensor of M elements, cast to its type; one thread of a row writes.
function Accumulator:store_rows(rows, t)
  M.check_rows(self, rows, 1, "store_rows")
  if type_name(t) ~= "tensor" or rank(t) ~= 1 then
    fail("store_rows", "argument 2 is %s; a tensor of %d elements was expected",
      type_name(t) == "tensor" and tostring(t.layout) or "of type " .. type_name(t), self.shape[1])
  end
  M.by_threads(self, function()
    for r in unroll(0, self.n_rows) do
      local c = self.places[self.firsts[r + 1]]
      if c[2] == 0 then t[c[1]] = cast(rows[r], t.dtype) end
    end
  end)
end

-- {====== Operands ======

--- Registers for an operand, and a function that brings step k of it; nil: it is there.
function M.operand(acc, name, x)
  local mma, thr = acc.mma, acc.thr
  local part = part_of(thr, name, x)
  if mma.atom.spaces[name:lower()] == "shared" then return part end
  local held
  if mma.atom.family == "fma" then
    held = fragment(acc.sums.dtype, shape(part))
  else
    local first = acc.first[name]
    local fits = first and first.dtype == x.dtype and size(x, 1) == acc.K
    held = fits and first or registers_of(thr, name, part)
  end
  local reader = choice.reader(mma, name, x)
  if reader == nil then
    return held, function(k) copy_as(part(_, _, k), held(_, _, k)) end
  end
  local copier, from = part_of_reader(acc, reader, x)
  local to = copier:retile_D(held)
  return held, function(k) copy(reader, from(_, _, k), to(_, _, k)) end
end

--- That x is a tile of the accumulator's extents along M or N.
function M.check_extent(acc, x, name, op)
  local mode = name == "A" and 1 or 2
  check_operand(x, name, mode, op)
  local n = extent(x, 0, name, op)
  if n ~= acc.shape[mode] then
    fail(op, "%s %s has %s = %d, but the accumulator is (%d,%d)", name, x.layout,
      name == "A" and "M" or "N", n, acc.shape[1], acc.shape[2])
  end
end

-- Each element of an operand in registers becomes f(element, m or n, k).
local function change(acc, name, x, held, f)
  local at = identity_tensor { size(x, 0), size(x, 1) }
  local places = name == "A" and acc.thr:partition_A(at) or acc.thr:partition_B(at)
  for i in unroll(0, size(held)) do
    local c = places[i]
    held[i] = cast(f(held[i], c[1], c[2]), held.dtype)
  end
end

local function read(acc, name, x, f)
  local op = "read_" .. name
  M.check_extent(acc, x, name, op)
  if f ~= nil and type(f) ~= "function" then
    fail(op, "argument 2 is of type %s; a function of an element and its place was expected",
      type_name(f))
  end
  local held, bring = M.operand(acc, name, x)
  if bring == nil then
    fail(op, "%s reads %s from shared memory, not from registers", acc.mma.atom.name, name)
  end
  for k in unroll(0, size(held, 2)) do bring(k) end
  if f then change(acc, name, x, held, f) end
  return held
end

--- A tile (M,K) in registers, as dot takes it for A; each element f(element, m, k), if there is f.
function Accumulator:read_A(t, f) return read(self, "A", t, f) end

--- A tile (N,K) in registers, as dot takes it for B; each element f(element, n, k).
function Accumulator:read_B(t, f) return read(self, "B", t, f) end

-- {====== Text ======

local function threads_text(acc)
  local warps = acc.warps
  local text = warps and ("%d: %d x %d warps"):format(acc.threads, warps[1], warps[2])
    or ("%d: %s of (M,N)"):format(acc.threads, acc.mma.thr_layout_vmnk)
  return acc.among and ("%s; the other %d of %d are idle, because all together do not divide "
    .. "(M,N)"):format(text,
    acc.among - acc.threads, acc.among) or text
end

--- For explain: {heading, text} each.
function M.facts(self)
  return {
    { "product", ("(M,N,K) = (%d,%d,%d)"):format(self.shape[1], self.shape[2], self.K) },
    { "atom", self.mma.atom.name .. ": " .. self.why },
    { "threads", threads_text(self) },
    { "A", self.why_A },
    { "B", self.why_B },
    { "sums", ("%d of %s, in %d rows of a thread"):format(size(self.sums), self.sums.dtype,
      self.n_rows) },
  }
end

function acc_type.__tostring(acc)
  return ("accumulator (%d,%d) of %s by %s"):format(acc.shape[1], acc.shape[2], acc.sums.dtype,
    acc.mma.atom.name)
end

return M
