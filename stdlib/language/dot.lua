-- dot.lua: products of tiles by a whole block, in one line, and what follows them: sums of rows, and
-- functions of their elements. An accumulator knows its tiled MMA and the thread's part of it.
--   accumulator(A, B[, options])   zeroed sums of the product of tiles like A and B
--   dot(A, B[, acc])               acc += A B'
--   row_reduce(acc, op)            a fragment of the thread's rows
--   row_broadcast(acc, rows, f)    each element becomes f(element, value of its row)
local ct = require "cuttle"
local internal = ...
local tiles = require "cuttle.tiles"
local choice = require "cuttle.dot_choice"
local M = {}

local fail, type_name = tiles.fail, tiles.type_name
local WARP <const> = 32
local threadIdx = ct.threadIdx
local size, fragment, copy, cast, gemm = ct.size, ct.fragment, ct.copy, ct.cast, ct.gemm
local shfl_xor, shared, sync_threads = ct.shfl_xor, ct.shared, ct.sync_threads
local _ <const> = ct._

local Accumulator = {}
local acc_type = tiles.new_type("accumulator", Accumulator,
  { "sums", "mma", "thr", "shape", "n_rows", "threads" })

local function is_acc(x) return getmetatable(x) == acc_type end

local function is_fragment(x)
  return type_name(x) == "tensor" and tostring(x):find("in registers", 1, true) ~= nil
end

-- {====== What the caller gives ======

local known_options <const> = { threads = true, atom = true, warps = true }

local function check_options(options, op)
  if type(options) ~= "table" then
    fail(op, "options are a table, {threads =, atom =, warps = {m, n}}, not a %s",
      type_name(options))
  end
  for key in pairs(options) do
    if not known_options[key] then
      fail(op, "option '%s' is unknown; expected threads, atom and warps", tostring(key))
    end
  end
end

local function check_operand(x, name, number, op)
  if is_acc(x) and name == "A" then return end
  if type_name(x) ~= "tensor" then
    fail(op, "argument %d is of type %s; a tile %s was expected", number, type_name(x),
      name == "A" and "(M,K) or an accumulator" or "(N,K)")
  elseif ct.rank(x) ~= 2 then
    fail(op, "%s %s has rank %d; a tile of two modes was expected, such as s(_, _, slot)", name,
      x.layout, ct.rank(x))
  end
end

local function extent(x, mode, name, op)
  local n = is_acc(x) and x.shape[mode + 1] or size(x, mode)
  if not internal.is_static(n) then
    fail(op, "extent %d of %s is not known while tracing; tile it first", mode, name)
  end
  return n
end

local function problem(A, B, options, op)
  check_operand(A, "A", 1, op)
  check_operand(B, "B", 2, op)
  local p = { op = op, M = extent(A, 0, "A", op), N = extent(B, 0, "B", op),
              K = extent(A, 1, "A", op), dtype = B.dtype, atom = options.atom,
              warps = options.warps or is_acc(A) and A.warps or nil, threads = choice.n_threads(options, op) }
  local k = extent(B, 1, "B", op)
  if p.K ~= k then
    fail(op, "A (%d,%d) and B (%d,%d) differ in K, mode 1 of both; B is (N,K), so write "
      .. "select(B, 1, 0) for a tile (K,N)", p.M, p.K, p.N, k)
  elseif not is_acc(A) and A.dtype ~= B.dtype then
    fail(op, "A has elements of type %s and B of type %s; cast one of them", A.dtype, B.dtype)
  end
  return p
end

local function check_warps(p)
  local w = p.warps
  if w == nil then return end
  if type(w) ~= "table" or math.type(w[1]) ~= "integer" or math.type(w[2]) ~= "integer" then
    fail(p.op, "warps is of type %s; a table {m, n} was expected", type_name(w))
  elseif w[1] * w[2] * WARP ~= p.threads then
    fail(p.op, "warps = {%d, %d} are %d threads, and %d share the product; launch it with block = "
      .. "%d, or give {threads = %d}", w[1], w[2], w[1] * w[2] * WARP, p.threads,
      w[1] * w[2] * WARP, w[1] * w[2] * WARP)
  end
end

-- {====== Accumulators ======

-- Of each of thread 0's elements the number of its row, and where the rows and elements are.
local rows_of = ct.static_fn(function(mma, shape)
  local places = mma:get_slice(0):partition_C(ct.identity_tensor(shape))
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

local function read_text(chosen, name, x)
  if is_acc(x) then return "the registers of the other product, cast and seen as A" end
  local reader, why = choice.reader(chosen.mma, name, x)
  return why
end

local function make(A, B, options, op)
  check_options(options, op)
  local p = problem(A, B, options, op)
  check_warps(p)
  local chosen = choice.choose(p)
  local mma, shape = chosen.mma, { p.M, p.N }
  local row_of, firsts = rows_of(mma, shape)
  local thr = mma:get_slice(threadIdx.x)
  local sums = fragment(chosen.sum, mma:partition_shape_C(shape))
  ct.clear(sums)
  return setmetatable({ sums = sums, mma = mma, thr = thr, shape = shape, warps = chosen.warps,
    threads = p.threads, row_of = row_of, firsts = firsts, n_rows = #firsts,
    places = thr:partition_C(ct.identity_tensor(shape)), why = chosen.why, K = p.K,
    why_A = read_text(chosen, "A", A), why_B = read_text(chosen, "B", B) }, acc_type)
end

function M.accumulator(A, B, options)
  return make(A, B, options or {}, "accumulator")
end

--- The coordinates m, n of element i.
function Accumulator:at(i)
  local c = self.places[i]
  return c[1], c[2]
end

--- The coordinate m of the thread's row r.
function Accumulator:row(r) return self.places[self.firsts[r + 1]][1] end

--- Each element becomes f(element, m, n).
function Accumulator:map(f)
  local sums = self.sums
  for i = 0, size(sums) - 1 do
    local m, n = self:at(i)
    sums[i] = f(sums[i], m, n)
  end
  return self
end

local function check_tile(acc, t, op)
  if type_name(t) ~= "tensor" or ct.rank(t) ~= 2 then
    fail(op, "argument 1 is of type %s; a tile (%d,%d) was expected", type_name(t), acc.shape[1],
      acc.shape[2])
  end
  for i = 0, 1 do
    local n = size(t, i)
    if internal.is_static(n) and n ~= acc.shape[i + 1] then
      fail(op, "the tile %s is not (%d,%d), as the sums are", t.layout, acc.shape[1], acc.shape[2])
    end
  end
end

--- The sums to a tile (M,N) of global or shared memory, cast to its type.
function Accumulator:store(t)
  check_tile(self, t, "store")
  local to = self.thr:partition_C(t)
  if t.dtype == self.sums.dtype then copy(self.sums, to) else copy(cast(self.sums, t.dtype), to) end
end

--- The sums out of a tile (M,N), cast to their type.
function Accumulator:load(t)
  check_tile(self, t, "load")
  local from = self.thr:partition_C(t)
  if t.dtype == self.sums.dtype then
    copy(from, self.sums)
  else
    copy(cast(from, self.sums.dtype), self.sums)
  end
end

--- A value of each row to a tensor of M elements; one thread of a row writes.
function Accumulator:store_rows(rows, t)
  for r = 0, self.n_rows - 1 do
    local c = self.places[self.firsts[r + 1]]
    if c[2] == 0 then t[c[1]] = cast(rows[r], t.dtype) end
  end
end

--- A new fragment of a value for each of the thread's rows.
function Accumulator:new_rows(value)
  local rows = fragment(self.sums.dtype, self.n_rows)
  ct.fill(rows, value or 0)
  return rows
end

-- {====== Products ======

-- Registers for all of an operand; the tiled copy that fills them, or nil; and from where to where.
-- The library calls it as internal.dot_operand, so its tables may be made in a loop of the kernel.
function M._dot_operand(acc, name, x)
  local mma, thr = acc.mma, acc.thr
  local part = name == "A" and thr:partition_A(x) or thr:partition_B(x)
  if mma.atom.family == "fma" then
    local held = fragment(acc.sums.dtype, ct.shape(part))
    return held, nil, part, held
  end
  local held = name == "A" and thr:fragment_A(part) or thr:fragment_B(part)
  local reader = choice.reader(mma, name, x)
  if reader == nil then return held, nil, part, held end
  local copier = reader:get_slice(0) -- get_slice(threadIdx.x) is for kernels: it asks the block
  copier.thread = threadIdx.x
  return held, reader, copier:partition_S(x), copier:retile_D(held)
end

-- Registers of an operand, and a function that brings its step k.
local function operand(acc, name, x)
  local held, reader, from, to = internal.dot_operand(acc, name, x)
  return held, function(k)
    if reader then
      copy(reader, from(_, _, k), to(_, _, k))
    elseif from.dtype == to.dtype then
      copy(from(_, _, k), to(_, _, k))
    else
      copy(cast(from(_, _, k), to.dtype), to(_, _, k))
    end
  end
end

-- The sums of another product as A: the same registers, cast.
function M._dot_sums(acc, other, B)
  if acc.mma.atom.family == "fma" or other.mma.atom.family == "fma" then
    fail("dot", "A is an accumulator of plain FMAs, whose registers are no operand; store it in "
      .. "shared memory first, by acc:store(s)")
  elseif other.warps[2] > 1 then
    fail("dot", "A is an accumulator whose N is shared by %d warps; make it with {warps = {%d, 1}}",
      other.warps[2], other.warps[1] * other.warps[2])
  end
  local held = fragment(B.dtype, ct.shape(other.sums))
  copy(cast(other.sums, B.dtype), held)
  return acc.mma:retile_A(held, other.mma)
end

local function nothing() end

local function fragment_or_tile(acc, name, x, B)
  if is_acc(x) then return internal.dot_sums(acc, x, B), nothing end
  if is_fragment(x) then return x, nothing end
  return operand(acc, name, x)
end

function M._dot_check(acc, A, B)
  if not is_fragment(A) and not is_fragment(B) then
    local p = problem(A, B, { threads = acc.threads }, "dot")
    if p.M ~= acc.shape[1] or p.N ~= acc.shape[2] then
      fail("dot", "A (%d,%d) and B (%d,%d) give sums (%d,%d), but the accumulator has (%d,%d)", p.M,
        p.K, p.N, p.K, p.M, p.N, acc.shape[1], acc.shape[2])
    end
  end
end

function M.dot(A, B, acc)
  if acc == nil then
    acc = make(A, B, {}, "dot")
  elseif not is_acc(acc) then
    fail("dot", "argument 3 is of type %s; an accumulator was expected, as accumulator(A, B) makes "
      .. "them", type_name(acc))
  end
  internal.dot_check(acc, A, B)
  local a, read_a = fragment_or_tile(acc, "A", A, B)
  local b, read_b = fragment_or_tile(acc, "B", B, B)
  if size(a, 2) ~= size(b, 2) then
    fail("dot", "A has %d steps of K and B has %d", size(a, 2), size(b, 2))
  end
  for k = 0, size(a, 2) - 1 do
    read_a(k)
    read_b(k)
    gemm(acc.mma, a(_, _, k), b(_, _, k), acc.sums)
  end
  return acc
end

-- {====== Rows ======

local operations <const> = {
  sum = function(a, b) return a + b end,
  max = function(a, b) return ct.max(a, b) end,
  min = function(a, b) return ct.min(a, b) end,
}

-- The lanes of a warp that share a row are those whose numbers differ in some bits: these bits.
-- Threads of other warps that share it have `across` numbers.
local sharing = ct.static_fn(function(mma, threads)
  local tv = mma:get_layoutC_TV()
  local M_tile = mma:tile_size_mnk(0)
  local function row(t) return tv(t, 0) % M_tile end
  local bits, by, n_sharing = {}, 1, 0
  while by < WARP and by < threads do
    if row(by) == row(0) then bits[#bits + 1] = by end
    by = by * 2
  end
  for t = 0, threads - 1 do
    if row(t) == row(0) then n_sharing = n_sharing + 1 end
  end
  return bits, n_sharing >> #bits
end)

-- Over the warps that share rows, by way of shared memory.
local function over_warps(acc, rows, f, bits, across)
  local all = shared(rows.dtype, { acc.shape[1], across })
  local columns = acc.warps and acc.mma.atom.shape[2] or 1 << #bits -- of a warp in a step
  local first = acc.places[0][2]
  local mine, lane = first // columns, threadIdx.x % WARP
  local writes = true
  for _, by in ipairs(bits) do writes = writes and lane & by == 0 end
  sync_threads()
  if writes then
    for r = 0, acc.n_rows - 1 do all[{ acc:row(r), mine }] = rows[r] end
  end
  sync_threads()
  for r = 0, acc.n_rows - 1 do
    local v = all[{ acc:row(r), 0 }]
    for w = 1, across - 1 do v = f(v, all[{ acc:row(r), w }]) end
    rows[r] = v
  end
end

local function check_acc(x, op)
  if not is_acc(x) then
    fail(op, "argument 1 is of type %s; an accumulator was expected", type_name(x))
  end
end

local function reduce_row(acc, r, f, bits)
  local v
  for i = 0, size(acc.sums) - 1 do
    if acc.row_of[i] == r then v = v == nil and acc.sums[i] or f(v, acc.sums[i]) end
  end
  for _, by in ipairs(bits) do v = f(v, shfl_xor(v, by)) end
  return v
end

function M.row_reduce(acc, op)
  check_acc(acc, "row_reduce")
  local f = type(op) == "function" and op or operations[op]
  if f == nil then
    fail("row_reduce", "operation %s; expected 'sum', 'max', 'min' or a function of two values",
      type(op) == "string" and "'" .. op .. "'" or "of type " .. type_name(op))
  end
  local bits, across = sharing(acc.mma, acc.threads)
  local rows = fragment(acc.sums.dtype, acc.n_rows)
  for r = 0, acc.n_rows - 1 do rows[r] = reduce_row(acc, r, f, bits) end
  if across > 1 then over_warps(acc, rows, f, bits, across) end
  return rows
end

function M.row_broadcast(acc, rows, f)
  check_acc(acc, "row_broadcast")
  if not is_fragment(rows) or size(rows) ~= acc.n_rows then
    fail("row_broadcast", "argument 2 is %s; a fragment of the thread's %d rows was expected, as "
      .. "row_reduce and acc:new_rows make them", tostring(rows), acc.n_rows)
  elseif type(f) ~= "function" then
    fail("row_broadcast", "argument 3 is of type %s; a function of an element and its row's value "
      .. "was expected", type_name(f))
  end
  for i = 0, size(acc.sums) - 1 do acc.sums[i] = f(acc.sums[i], rows[acc.row_of[i]]) end
  return acc
end

-- {====== Text ======

--- For explain: {heading, text} each.
function Accumulator:facts()
  local warps = self.warps
  return {
    { "product", ("(M,N,K) = (%d,%d,%d)"):format(self.shape[1], self.shape[2], self.K) },
    { "atom", self.mma.atom.name .. ": " .. self.why },
    { "threads", warps and ("%d: %d x %d warps"):format(self.threads, warps[1], warps[2])
      or ("%d: %s of (M,N)"):format(self.threads, self.mma.thr_layout_vmnk) },
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
