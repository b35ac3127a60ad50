-- expert_route.lua: the router of a mixture of experts: from logits (T,E) to the rows of all
-- experts, one expert after another, as expert_layer.lua takes them. Two kernels. A warp of the
-- first chooses a token's k experts, and a block counts, for each expert, the tokens of its part.
-- The second gives each (token, choice) its place. Places follow the order of the tokens, so every
-- run gives the same.
local call = require "cuttle.selection_call"
local memo = require "cuttle.memo"
local parts = require "cuttle.expert_parts"
local M = {}

local op <const> = "route"
local BEST <const> = 2 -- experts that a group of experts is judged by
local WARP <const>, WARPS <const> = 32, 8
local MOST_EXPERTS <const>, MOST_CHOICES <const> = 1024, 32
local BLOCKS <const>, LEAST <const>, MOST <const> = 128, 8, 512 -- of the grid; tokens of a block
local TAKEN <const> = 1 << 30 -- added to the number of an expert that is chosen

-- {====== The choice ======

local function precedes(a, b)
  return a.value > b.value or a.value == b.value and a.index < b.index
end

local function first(a, b)
  if precedes(b, a) then return b end
  return a
end

-- A lane's experts of a token; what is no number, or no expert, comes last.
local function own_of(c, logits, token, lane)
  local own = {}
  for j = 1, cdiv(c.experts, WARP) do
    local e = (j - 1) * WARP + lane
    own[j] = { value = -math.huge, index = where(e < c.experts, e, e + TAKEN) }
    if e < c.experts then
      local v = cast(logits[{token, e}], f32)
      own[j].value = where(v == v, v, -math.huge)
    end
  end
  return own
end

-- The largest of what is left, which is then taken.
local function take_first(own)
  local best = own[1]
  for j = 2, #own do best = first(best, own[j]) end
  best = warp_reduce(best, first)
  for _, one in ipairs(own) do
    if one.index == best.index then
      one.value, one.index = -math.huge, one.index + TAKEN
    end
  end
  return best
end

local scores <const> = {
  softmax = function(v, highest) return exp(v - highest) end,
  sigmoid = function(v) return 1.0 / (1.0 + exp(-v)) end,
}

-- The sum of the scores of all experts, which softmax divides by.
local function divisor(c, own, highest)
  if c.score == "sigmoid" then return 1.0 end
  local sum = 0.0
  for _, one in ipairs(own) do sum = sum + exp(one.value - highest) end
  return warp_reduce(sum, "add")
end

local function highest_of(own)
  local highest = own[1].value
  for j = 2, #own do highest = max(highest, own[j].value) end
  return warp_reduce(highest, "max")
end

-- Of each expert that there is the value by which it is chosen, which is not its logit: its score
-- and the correction. Absent ones and NaN still come last.
local function corrected(c, own, highest, correction)
  local score, all = scores[c.score], divisor(c, own, highest)
  for _, one in ipairs(own) do
    local v = one.value
    one.score = score(v, highest) / all
    local by = one.score
    if c.corrects then by = by + cast(correction[where(one.index < TAKEN, one.index, 0)], f32) end
    one.value = where(v > -math.huge, by, -math.huge)
  end
end

-- Lane g has the sum of the largest values of group g of the experts, of `size` each.
local function judged(c, own, size, lane)
  local mine = { value = -math.huge, index = where(lane < c.n_groups, lane, lane + TAKEN) }
  for g = 0, c.n_groups - 1 do
    local members, sum = {}, 0.0
    for j, one in ipairs(own) do
      local is_in = one.index // size == g
      members[j] = { value = where(is_in, one.value, -math.huge),
                     index = where(is_in, one.index, TAKEN) }
    end
    for _ = 1, math.min(BEST, size) do sum = sum + take_first(members).value end
    if lane == g then mine.value = where(sum == sum, sum, -math.huge) end
  end
  return mine
end

-- Experts of all but the best groups come after all others.
local function limit_groups(c, own, lane)
  local size, chosen = c.experts // c.n_groups, i32(0)
  local groups = { judged(c, own, size, lane) }
  for _ = 1, c.of_groups do chosen = chosen | i32(1) << take_first(groups).index end
  for _, one in ipairs(own) do
    local is_out = one.index < TAKEN and (chosen >> one.index // size & 1) == 0
    one.value = where(is_out, -math.huge, one.value)
    one.index = one.index + where(is_out, TAKEN, 0)
  end
end

-- Lane j has the j-th choice of a token.
local function choose(c, logits, token, lane, correction)
  local own, score = own_of(c, logits, token, lane), scores[c.score]
  local highest, sum, mine = highest_of(own), 0.0, { value = 0.0, index = 0 }
  local is_plain, of_all = not (c.corrects or c.n_groups), nil
  if not c.normalize then of_all = is_plain and divisor(c, own, highest) or 1.0 end
  if not is_plain then
    corrected(c, own, highest, correction)
    mine.score = 0.0
  end
  if c.n_groups then limit_groups(c, own, lane) end
  local function score_of(one) return is_plain and score(one.value, highest) or one.score end
  for j = 0, c.k - 1 do
    local best = take_first(own)
    if lane == j then mine = best end
    sum = sum + score_of(best)
  end
  return mine.index, score_of(mine) / (of_all or sum)
end

local function make_choose(c)
  return kernel("choose_experts", function(logits, chosen, weights, counts, scale, ...)
    local correction = ...
    local mine, thread = shared(i32, c.experts), threadIdx.y * WARP + threadIdx.x
    for e in range(thread, c.experts, WARP * WARPS) do mine[e] = 0 end
    sync_threads()
    local begin = blockIdx.x * c.tokens
    for token in range(begin + threadIdx.y, min(begin + c.tokens, size(logits, 0)), WARPS) do
      local lane = threadIdx.x
      local expert, weight = choose(c, logits, token, lane, correction)
      if lane < c.k then
        chosen[token * c.k + lane], weights[token * c.k + lane] = expert, weight * scale
        atomic_add(mine, expert, 1)
      end
    end
    sync_threads()
    for e in range(thread, c.experts, WARP * WARPS) do counts[{e, blockIdx.x}] = mine[e] end
  end)
end

-- {====== The places ======

-- A thread has an expert: it goes through the block's choices in their order.
local function make_place(c)
  return kernel("place_choices", function(chosen, own, counts, tokens, places, ends, weights)
    local e, begin = threadIdx.x, blockIdx.x * c.tokens * c.k
    local here = min(size(chosen) - begin, c.tokens * c.k)
    local list = shared(i32, c.tokens * c.k)
    for i in range(e, here, blockDim.x) do list[i] = chosen[begin + i] end
    local before, total = 0, 0
    if e < c.experts then
      for b in range(gridDim.x) do
        local n = counts[{e, b}]
        if b < blockIdx.x then before = before + n end
        total = total + n
      end
    end
    local at = block_scan(total, "add", { exclusive = true })
    sync_threads()
    if e < c.experts then
      if blockIdx.x == 0 then ends[e] = at + total end
      at = at + before
      for i in range(here) do
        if list[i] == e then
          local place = begin + i
          tokens[at], places[at], weights[at] = place // c.k, place, own[place]
          at = at + 1
        end
      end
    end
  end)
end

local choosers = memo.by_fields({ "experts", "k", "tokens", "score", "normalize", "corrects",
  "n_groups", "of_groups" }, make_choose)
local placers = memo.by_fields({ "experts", "k", "tokens" }, make_place)

-- {====== Calls ======

local function check_choices(logits, k)
  local experts = logits.columns
  if #logits.extent ~= 2 or experts < 1 or experts > MOST_EXPERTS then
    call.fail(op, "logits is (%s); expected (T,E), a row for each token, of 1 to %d experts",
      table.concat(logits.extent, ","), MOST_EXPERTS)
  elseif math.type(k) ~= "integer" or k < 1 or k > math.min(experts, MOST_CHOICES) then
    call.fail(op, "k is %s; expected how many experts a token has, from 1 to %d", tostring(k),
      math.min(experts, MOST_CHOICES))
  end
end

-- How many groups the experts are in, and of how many a token's are; nil: of all.
local function groups_of(option, experts, k)
  if option == nil then return nil end
  local n, chosen = 0, 0
  if type(option) == "table" then n, chosen = option[1], option[2] end
  local is_right = math.type(n) == "integer" and math.type(chosen) == "integer" and n >= 1
    and n <= WARP and chosen >= 1 and chosen <= n and experts % n == 0
  if not is_right then
    call.fail(op, "groups is %s; expected {n, of how many}, where n is at most %d and divides %d "
      .. "experts", type(option) == "table" and ("{%s, %s}"):format(n, chosen) or tostring(option),
      WARP, experts)
  elseif k > experts // n * chosen then
    call.fail(op, "k is %d, but %d of %d groups have %d experts", k, chosen, n,
      experts // n * chosen)
  end
  return n, chosen
end

local function config_of(options, logits, k)
  local score, normalize = parts.read_router(op, options)
  local tokens = LEAST
  while tokens < MOST and tokens * BLOCKS < logits.n_rows do tokens = 2 * tokens end
  local n_groups, of_groups = groups_of(options.groups, logits.columns, k)
  return { experts = logits.columns, k = k, tokens = tokens, score = score,
           normalize = normalize, corrects = options.correction_bias ~= nil,
           n_groups = n_groups, of_groups = of_groups }
end

--- The launches and results of a call, as selection_call.lua takes them. Results: tokens, places,
--- ends and weights.
function M.plan(options, x, k)
  local logits = call.whole(op, x, "logits")
  call.check_type(op, logits, { f32, f16, bf16 })
  check_choices(logits, k)
  local correction = options.correction_bias
  if correction ~= nil then
    call.vector(op, correction, "correction_bias", logits, { f32, f16, bf16 }, logits.columns)
  end
  local c, n = config_of(options, logits, k), logits.n_rows * k
  local function wanted(dtype, extent) return { dtype = dtype, shape = { extent }, only = true } end
  local _, results = call.results(op, options, logits,
    { wanted(i32, n), wanted(i32, n), wanted(i32, c.experts), wanted(f32, n) }, { logits })
  if n == 0 then return { call.clear(results[3]) }, results end
  local blocks = cdiv(logits.n_rows, c.tokens)
  local chosen, own = call.work(logits, i32, n), call.work(logits, f32, n)
  local counts = call.work(logits, i32, layout { c.experts, blocks })
  local tokens, places, ends, weights = table.unpack(results)
  return {
    { kernel = choosers(c), args = { x, chosen, own, counts, f32(options.scale or 1), correction },
      launch = { grid = blocks, block = { WARP, WARPS } } },
    { kernel = placers(c), args = { chosen, own, counts, tokens, places, ends, weights },
      launch = { grid = blocks, block = cdiv(c.experts, WARP) * WARP } },
  }, results
end

M.call = call.define(op, 2, { "correction_bias", "groups", "normalize", "scale", "score" },
  "{normalize = false}", M.plan)

return M
