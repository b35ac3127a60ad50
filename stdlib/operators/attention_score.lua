-- attention_score.lua: what attention does with scores beside scaling them, as a list of parts. A
-- part is made of functions that compute with numbers as well as with values of a kernel, so that
-- the reference, the kernels and the schedule all go by the same ones:
--   name                      says with `functions` of the script which kernels the part makes
--   n                         how many operands it has, tensors or numbers, which are the `...`
--   score(s, at, ...)         the new score of s, which is scaled
--   gradient(s, at, ...)      its derivative at s; nil: 1
--   range(first, last, at, ...)  of queries [first, last): from, to, whole_from, whole_to: keys
--                             outside of [from, to) are seen by none, and those inside of
--                             [whole_from, whole_to) by all. nil: no limit. One query sees all of
--                             [from, to)
--   queries(first, last, at, ...)  the same of keys [first, last), in queries; there if `range` is
--   sees(at, ...)             does the query see the key? Of a part without `range`, which has
--                             by_head and by_sequence if heads and sequences may differ
-- `at` has the numbers q, k, h and b of the query, its key, its head and its batch or sequence,
-- n_q and n_k of the sequence, all of queries and keys that there are. k is base + offset, of which
-- the offset is a constant in kernels, unless k would be behind the last key. Sequences end
-- together: query q is at the place of key q + n_k - n_q.
local internal = ...
local dropping = require "cuttle.dropout"
local softmax = require "cuttle.attention_softmax"
local tiles = require "cuttle.tiles"
local M = {}

local LOG2_E <const> = 1 / math.log(2)

-- {====== Parts ======

-- A tensor's element as a number to compute with.
local function wide(x) return internal.kernel.is_tracing() and cast(x, f32) or x end

-- cap tanh(s / cap). In kernels by one exponential, which is exact to f32's last bits where
-- fast.tanh is not.
local function capped(s, cap)
  if not internal.kernel.is_tracing() then return cap * tanh(s / cap) end
  return cap - 2.0 * cap * fast.rcp(1.0 + fast.exp2(s * (2 * LOG2_E / cap)))
end

M.softcap = { name = "softcap", n = 1,
  score = function(s, _, cap) return capped(s, cap) end,
  gradient = function(s, _, cap)
    local t = capped(s, cap) / cap
    return 1.0 - t * t
  end }

-- Slopes are (H,B). Where a query sees no key behind its place the distance has a sign, which
-- leaves the assembler no numbers to compute before there are scores.
local function from_base(at) return wide(at.q + at.n_k - at.n_q - at.base) end

local function alibi(name, score)
  return { name = name, n = 1,
    score = function(s, at, slopes) return score(s, at, wide(slopes[{at.h, at.b}])) end }
end

M.alibi = alibi("alibi", function(s, at, slope)
  return s - slope * abs(from_base(at) - at.offset)
end)
M.alibi_before = alibi("alibi before", function(s, at, slope)
  return s - slope * from_base(at) + slope * at.offset
end)

-- The bias is (S,Sk,H,B).
M.bias = { name = "bias", n = 1,
  score = function(s, at, bias) return s + wide(bias[{at.q, at.k, at.h, at.b}]) end }

--- The keys from `left` before the query to `right` behind it; has_left, has_right: are there such
--- limits?
function M.window(has_left, has_right)
  local name = ("window%s%s"):format(has_left and " left" or "", has_right and " right" or "")
  return { name = name, n = 2,
    range = function(first, last, at, left, right)
      local shift = at.n_k - at.n_q
      local from, to, whole_from, whole_to
      if has_left then from, whole_from = first + shift - left, last - 1 + shift - left end
      if has_right then to, whole_to = last + shift + right, first + shift + right + 1 end
      return from, to, whole_from, whole_to
    end,
    queries = function(first, last, at, left, right)
      local shift = at.n_k - at.n_q
      local from, to, whole_from, whole_to
      if has_left then to, whole_to = last - shift + left, first - shift + left + 1 end
      if has_right then from, whole_from = first - shift - right, last - 1 - shift - right end
      return from, to, whole_from, whole_to
    end }
end

-- The number of each token's document is (S,B).
M.documents = { name = "documents", n = 1, by_sequence = true,
  sees = function(at, ids) return ids[{at.q, at.b}] == ids[{at.k, at.b}] end }

-- Values of kernels are numbers and booleans too.
local function checked(value, who, kind, expected)
  if value == nil then
    tiles.fail("attention", "the function `%s` returns nothing; expected %s", who, expected)
  elseif tiles.type_name(value) ~= kind then
    tiles.fail("attention", "the function `%s` returns a value of type %s; expected %s", who,
      tiles.type_name(value), expected)
  end
  return value
end

--- A function (s, q, k, h, b, ...) of the script, and its derivative, or nil.
function M.score(f, gradient)
  return { name = gradient and "score score_gradient" or "score", functions = { f, gradient },
    lacks_gradient = gradient == nil,
    score = function(s, at, ...)
      return checked(f(s, at.q, at.k, at.h, at.b, ...), "score", "number",
        "the new score, a number")
    end,
    gradient = gradient and function(s, at, ...)
      return checked(gradient(s, at.q, at.k, at.h, at.b, ...), "score_gradient",
        "number", "the derivative, a number")
    end }
end

-- How many parameters a function has; more than any, where that cannot be known.
local function n_parameters(f)
  local info = debug and debug.getinfo(f, "u")
  return info and not info.isvararg and info.nparams or math.huge
end

--- A function (q, k, h, b, ...) of the script. Heads and sequences differ only if it has parameters
--- for them.
function M.mask(f)
  local n = n_parameters(f)
  return { name = "mask", functions = { f }, by_head = n > 2, by_sequence = n > 3,
    sees = function(at, ...)
      return checked(f(at.q, at.k, at.h, at.b, ...), "mask", "boolean",
        "whether the query sees the key, as in q >= k")
    end }
end

-- {====== A list of parts ======

local Kind = {}
Kind.__index = Kind

--- Parts in order, without their operands: what kernels are made for. Behind the parts' operands
--- come the three of dropout, if it drops, and sinks, if it has them.
function M.kind(parts, has_sinks, drops)
  local kind = setmetatable({ parts = parts, has_sinks = has_sinks, drops = drops, functions = {},
    n_operands = 0 }, Kind)
  local names = {}
  for i, part in ipairs(parts) do
    names[i], kind.n_operands = part.name, kind.n_operands + part.n
    kind.changes = kind.changes or part.score ~= nil -- scores
    kind.bends = kind.bends or part.gradient ~= nil -- not by adding alone
    kind.lacks_gradient = kind.lacks_gradient or part.lacks_gradient
    kind.is_scattered = kind.is_scattered or part.sees ~= nil -- no range is known to be seen whole
    kind.by_head = kind.by_head or part.by_head
    kind.by_sequence = kind.by_sequence or part.by_sequence
    for _, f in ipairs(part.functions or {}) do table.insert(kind.functions, f) end
  end
  kind.text = table.concat(names, " ") .. (has_sinks and " sinks" or "")
    .. (drops and " dropout" or "")
  return kind
end

--- A cache of kernels: by functions of the script, with which they go, by `owner`, and by text.
function M.new_cache() return setmetatable({}, { __mode = "k" }) end

--- The kernel in a cache, or a new one: make(variant). The text says what kernels of `owner` depend
--- on; it may leave out the functions of variant.score.
function M.made(cache, variant, owner, text, make)
  for _, f in ipairs(variant.score and variant.score.functions or {}) do
    cache[f] = cache[f] or M.new_cache()
    cache = cache[f]
  end
  cache[owner] = cache[owner] or {}
  local by_text = cache[owner]
  by_text[text] = by_text[text] or make(variant)
  return by_text[text]
end

-- Calls f(part, operands...) for each part; `operands` are those of all, in order.
local function each_part(kind, operands, f)
  local first = 1
  for _, part in ipairs(kind.parts) do
    f(part, table.unpack(operands, first, first + part.n - 1))
    first = first + part.n
  end
end

--- The new score of s.
function Kind:score(operands, s, at)
  each_part(self, operands, function(part, ...)
    if part.score then s = part.score(s, at, ...) end
  end)
  return s
end

--- The new score of s, and its derivative there, or nil: 1.
function Kind:score_and_gradient(operands, s, at)
  local slope
  each_part(self, operands, function(part, ...)
    if part.gradient then
      local own = part.gradient(s, at, ...)
      slope = slope and slope * own or own
    end
    if part.score then s = part.score(s, at, ...) end
  end)
  return s, slope
end

--- Does the query see the key by what has no range? nil: yes.
function Kind:sees_by_function(operands, at)
  local seen
  each_part(self, operands, function(part, ...)
    if part.sees then
      local own = part.sees(at, ...)
      if seen == nil then seen = own else seen = seen and own end
    end
  end)
  return seen
end

-- f of two limits, of which each may be missing.
local function both(f, a, b)
  if a == nil or b == nil then return a == nil and b or a end
  return f(a, b)
end

--- The same by what has one.
function Kind:sees_by_range(operands, at)
  local from, to = self:range(operands, at.q, at.q + 1, at)
  local seen = true
  if to ~= nil then seen = at.k < to end
  if from ~= nil then seen = seen and at.k >= from end
  return seen
end

--- The same by all parts.
function Kind:sees(operands, at)
  local seen, own = self:sees_by_range(operands, at), self:sees_by_function(operands, at)
  if own == nil then return seen end
  return seen and own
end

-- What all parts' functions of that name say of [first, last).
local function limits_by(self, name, operands, first, last, at)
  local from, to, whole_from, whole_to
  each_part(self, operands, function(part, ...)
    if part[name] then
      local a, b, c, d = part[name](first, last, at, ...)
      from, to = both(max, from, a), both(min, to, b)
      whole_from, whole_to = both(max, whole_from, c), both(min, whole_to, d)
    end
  end)
  return from, to, whole_from, whole_to
end

--- What all parts know of queries [first, last), as a part's `range` says it.
function Kind:range(operands, first, last, at)
  return limits_by(self, "range", operands, first, last, at)
end

--- The same of keys.
function Kind:queries(operands, first, last, at)
  return limits_by(self, "queries", operands, first, last, at)
end

-- {====== Dropout ======

--- The random words of the square of a query and its key; see dropout.lua.
function Kind:square(operands, at)
  return dropping.square(operands[self.n_operands + 2], at.q, at.k, dropping.stream(at.b, at.h))
end

--- What a probability is multiplied by: 0 where it is dropped, else the reciprocal of how many are
--- kept. `word`: that of the square which is the element's, if the caller has it.
function Kind:kept_factor(operands, at, word)
  local least, factor = operands[self.n_operands + 1], operands[self.n_operands + 3]
  if word ~= nil then return where(dropping.bits_of(word) >= least, factor, 0.0) end
  local bits = dropping.bits(self:square(operands, at), dropping.in_square(at.q, at.k))
  return where(bits >= least, factor, 0.0)
end

--- The factor of those that are kept.
function Kind:keep_factor(operands) return operands[self.n_operands + 3] end

-- {====== Blocks of keys ======

--- The blocks of `keys` keys that queries [first, last) of a sequence with n_k keys may see: the
--- first one, nil: 0, and the one behind the last; there is always one.
function Kind:blocks(operands, first, last, at, keys)
  local from, to = self:range(operands, first, last, at)
  local behind = max(cdiv(to == nil and at.n_k or max(min(at.n_k, to), 0), keys), 1)
  if from == nil then return nil, behind end
  return min(max(from, 0) // keys, behind - 1), behind
end

--- The blocks below the last one of [from, to), which needs a mask, from nil: 0: a list of
--- {from =, to =, masked =}, the last blocks first.
function Kind:spans(operands, first, last, at, keys, from, to)
  local low, top = from or 0, to - 1
  if self.is_scattered then return { { from = low, to = top, masked = true } } end
  local _, _, a, b = self:range(operands, first, last, at)
  local whole_to = b == nil and top or min(max(max(b, 0) // keys, low), top)
  local whole_from = a == nil and low or min(max(cdiv(max(a, 0), keys), low), whole_to)
  local spans = { { from = whole_from, to = whole_to, masked = false } }
  if b ~= nil then table.insert(spans, 1, { from = whole_to, to = top, masked = true }) end
  if a ~= nil then spans[#spans + 1] = { from = low, to = whole_from, masked = true } end
  return spans
end

-- {====== In registers ======

--- What softmax multiplies scores by where the kernel was given c.
function Kind:factor(c) return self.changes and LOG2_E or c end

--- What kernels are given as c: the problem's scale, times log2(e) where nothing changes scores.
function M.factor(p)
  return p.score and p.score.kind.changes and f32(p.scale) or softmax.scale(p)
end

--- What kernels are given for the parts, as their last arguments.
function M.operands(p) return table.unpack(p.score and p.score.operands or {}) end

--- The sink of a tile's head, times log2(e), or nil where the variant has none.
function M.sink(variant, operands, of)
  if not (variant.score and variant.score.has_sinks) then return nil end
  return wide(operands[#operands][{of.head, of.b}]) * LOG2_E
end

-- A score of which the product is s, -inf where it is not `seen`; nil: it is.
local function element(self, operands, s, at, c, seen)
  if self.changes then s = self:score(operands, s * c, at) end
  if seen == nil then return s end
  local own = self:sees_by_function(operands, at)
  if own ~= nil then seen = seen and own end
  return where(seen, s, -math.huge)
end

--- The same of one element; at.k may be behind the last key.
function Kind:element(operands, s, at, c)
  local is_there = at.k < at.n_k
  at.base, at.offset = at.k, 0
  at.k = min(at.k, at.n_k - 1)
  return element(self, operands, s, at, c, is_there and self:sees_by_range(operands, at))
end

--- For gradients: the score of a product s, -inf where it is not seen, and its derivative, nil: 1.
--- at.q and at.k may be behind the last ones; without `masked` at.k is there and is seen.
function Kind:element_and_gradient(operands, s, at, c, masked)
  local seen, slope
  if masked then seen = at.k < at.n_k and at.q < at.n_q end
  at.q = min(at.q, at.n_q - 1)
  if masked then
    at.k = min(at.k, at.n_k - 1)
    seen = seen and self:sees(operands, at)
  end
  at.base, at.offset = at.k, 0
  if self.changes then s, slope = self:score_and_gradient(operands, s * c, at) end
  return masked and where(seen, s, -math.huge) or s, slope
end

--- P for the sums, and dS, of products s and dp, where the query's L and D are l and d, by
--- exp2_of; other arguments as above. `word`: that of Kind:kept_factor.
function Kind:weights(operands, at, s, dp, l, d, c, masked, exp2_of, word)
  local new, slope = self:element_and_gradient(operands, s, at, c, masked)
  local p = exp2_of(new * self:factor(c) - l)
  local factor = self.drops and self:kept_factor(operands, at, word) or nil
  if factor ~= nil then dp = dp * factor end
  local ds = p * (dp - d)
  if slope ~= nil then ds = ds * slope end
  return factor ~= nil and p * factor or p, ds
end

--- Drops some of a thread's probabilities of a block, if the variant drops: arguments as in
--- Kind:block. M.finish makes up for them, as 8 bits may not hold a probability times the factor.
function M.drop(variant, operands, S, places, query_of, first_key, of)
  local kind = variant.score
  if not (kind and kind.drops) then return end
  local least = operands[kind.n_operands + 1]
  for r = 0, softmax.n_rows(S) - 1, 2 do
    local rows = { softmax.row_of(S, r), softmax.row_of(S, r + 1) }
    local place = softmax.row_of(places, r)
    local q = query_of(r)
    for j in range(size(place, 1) // 2) do
      for i = 0, 1 do
        local words = kind:square(operands, { q = q, k = first_key + place[{i, 2 * j}][2],
          h = of.head, b = of.b })
        for n = 0, 3 do
          local row, c = rows[n // 2 + 1], {i, 2 * j + n % 2}
          row[c] = where(dropping.bits_of(words[n + 1]) >= least, row[c], 0.0)
        end
      end
    end
  end
end

--- Behind the last block of keys: what O is to be multiplied by, with sinks and dropout.
function M.finish(variant, rows, operands, at)
  local factors, kind = softmax.finish(rows, M.sink(variant, operands, at)), variant.score
  if kind and kind.drops then
    for r = 0, rows.n - 1 do factors[r] = factors[r] * kind:keep_factor(operands) end
  end
  return factors
end

--- The same for a thread's products S of a block of keys from first_key on, which need no mask
--- unless `masked`. `places` are the coordinates of S, `columns` those of thread 0, which are
--- constants; query_of(r) is that of row r; `of` has head, b, n_q and n_k of the tile.
function Kind:block(operands, S, places, columns, query_of, first_key, of, c, masked)
  local first = first_key + places(0, 0, 0)[2]
  for r = 0, softmax.n_rows(S) - 1 do
    local row, column = softmax.row_of(S, r), softmax.row_of(columns, r)
    local q = min(query_of(r), of.n_q - 1)
    local from, to
    if masked then
      from, to = self:range(operands, q, q + 1, of)
      to = (to == nil and of.n_k or min(of.n_k, to)) - first
      if from ~= nil then from = from - first end
    end
    for j in range(size(row, 1)) do
      for i = 0, 1 do
        local key, seen = column[{i, j}][2], nil
        local at = { q = q, k = first + key, h = of.head, b = of.b, n_q = of.n_q, n_k = of.n_k,
          base = first, offset = key }
        if masked then
          at.k, seen = min(at.k, of.n_k - 1), key < to
          if from ~= nil then seen = seen and key >= from end
        end
        row[{i, j}] = element(self, operands, row[{i, j}], at, c, seen)
      end
    end
  end
end

return M
