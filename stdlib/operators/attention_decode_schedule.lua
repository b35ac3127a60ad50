-- attention_decode_schedule.lua: which keys each block of attention_decode attends to. Blocks find
-- it themselves from the sequences' lengths, on the device, so a graph stays right when lengths
-- change. All work is one line of units: sequence by sequence, in it head by head, in a head from
-- the first key to the last. A unit is `keys` keys; `overhead` units without keys stand before each
-- head's for what a piece costs beside its keys. A block has an equal part of the line; the pieces
-- in it, each of one head, may be all of a head or a part of one. A head in several parts leaves
-- partial results in slots, which attention_decode_merge.lua sums up: 2 slots of each block, 0 for
-- the piece that begins within a head, 1 for one that begins with it.
-- With "batch_invariant" a unit is a chunk, whose keys depend on the sequence's own length only;
-- each piece is one chunk, and each chunk has a slot of its own.
-- Where parts of as many whole heads each take little longer, no head is cut: partial results cost
-- time, too. Then all heads count as long as the longest one.
-- In a variant:
--   keys, n_heads  of a unit; heads of the line: key heads, each once for every tile of its rows
--   n_new          keys that the call has appended, and so are not in the lengths yet
--   score          masks and scores (attention_decode_scores.lua): keys before the first one that a
--                  query sees are left out
--   least          units of a part, at least
--   uncut          see above; nil: heads are cut
--   step           keys that the warps of a block take at a time
--   cluster        blocks that have a part together: each has another one of as many adjacent tiles
--                  of rows. The line has these as one head, each slot is one for each block
--   overhead       see above
local M = {}

local WARP <const> = 32

-- Of what parts of equal length take, what those of whole heads may take: LONGER / EQUAL.
local LONGER <const>, EQUAL <const> = 17, 16

--- Chunks of a sequence, at most, and their least keys.
M.MOST_CHUNKS, M.LEAST_CHUNK = 32, 512

--- Keys of sequence b; a negative length counts as 0.
function M.length(variant, args, b)
  if variant.n_new == 0 then return max(0, min(args.lengths[b], args.capacity)) end
  return min(max(args.lengths[b], 0) + variant.n_new, args.capacity)
end

--- Of a sequence of so many keys: the keys of a unit.
function M.unit(variant, n_keys)
  if not variant.invariant then return variant.keys end
  local step = variant.step
  return max(M.LEAST_CHUNK, cdiv(cdiv(n_keys, M.MOST_CHUNKS), step) * step)
end

-- The first key that a query may see of the n_keys of a sequence, or of its tile; nil: 0.
local function first_key(variant, args, n_keys)
  local from = variant.score and variant.score:range(args.operands, 0, variant.n_q,
    { n_q = variant.n_q, n_k = n_keys })
  return from and max(from, 0) // variant.keys * variant.keys
end

-- The keys of a sequence that queries may see, and the first one, nil: 0.
local function keys_of(variant, args, b)
  local n_keys = M.length(variant, args, b)
  local first = first_key(variant, args, n_keys)
  return first and n_keys - first or n_keys, first
end

-- At least 1, so that a head without keys has a piece, which writes its result; and `least`.
local function units_of(variant, args, b, least)
  local n_keys = keys_of(variant, args, b)
  local n = cdiv(n_keys, M.unit(variant, n_keys))
  if variant.invariant then return max(n, 1) end
  return variant.uncut and max(n + variant.overhead, least) or n + variant.overhead
end

-- Of all sequences, the sum of their units, "add", or the most.
local function all_units(variant, args, operation)
  local n = 0
  for b in range(threadIdx.x % WARP, size(args.lengths), WARP) do
    local own = units_of(variant, args, b, 0)
    if operation == "add" then n = n + own else n = max(n, own) end
  end
  return warp_reduce(n, operation)
end

-- The units of a part, of all sequences, and the least of a sequence.
local function parts_of(variant, args)
  local n = all_units(variant, args, "add") * variant.n_heads
  local part = max(variant.least, cdiv(n, args.n_parts))
  if variant.invariant or not variant.uncut then return part, n, 0 end
  local n_heads, most = size(args.lengths) * variant.n_heads, all_units(variant, args, "max")
  local whole = cdiv(n_heads, args.n_parts) * most
  local is_uncut = whole * EQUAL <= part * LONGER
  return where(is_uncut, whole, part), where(is_uncut, n_heads * most, n),
    where(is_uncut, most, 0)
end

-- The sequence with unit `target` of a single head: its number, units, and those before it.
local function sequence_at(variant, args, target, least)
  local lane, base = threadIdx.x % WARP, 0
  local at = { b = 0, n = 0, before = 0 }
  for first in range(0, size(args.lengths), WARP) do
    local n = 0
    if first + lane < size(args.lengths) then n = units_of(variant, args, first + lane, least) end
    local upto = base + warp_scan(n, "add")
    local here = ballot(upto - n <= target and target < upto)
    if here ~= 0 then
      local found = ffs(here) - 1
      at = { b = first + found, n = shfl_idx(n, found), before = shfl_idx(upto - n, found) }
    end
    base = shfl_idx(upto, WARP - 1)
  end
  return at
end

-- {====== Pieces ======

local function chunk_slot(variant, b, head, chunk)
  return (b * variant.n_heads + head) * M.MOST_CHUNKS + chunk
end

local function part_number(variant) return blockIdx.x // variant.cluster end

-- Of a head of the line, or a slot, that of a cluster's block.
local function of_block(variant, i, rank) return i * variant.cluster + rank end

-- n keys after the first one that may be seen.
local function after(start, n)
  if start == nil then return n end
  return start + n
end

-- The piece from unit `at` on, where the line's sequence is `s`.
local function piece_at(variant, args, s, at, stop)
  local within = at - s.before * variant.n_heads
  local head = within // s.n
  local first = within - head * s.n
  local last = variant.invariant and first + 1 or min(s.n, first + stop - at)
  local n_keys, start = keys_of(variant, args, s.b)
  local unit, none = M.unit(variant, n_keys), variant.invariant and 0 or variant.overhead
  local slot = 2 * part_number(variant) + where(first > 0, 0, 1)
  if variant.invariant then slot = chunk_slot(variant, s.b, head, first) end
  if variant.cluster > 1 then
    head, slot = of_block(variant, head, cluster_rank()), of_block(variant, slot, cluster_rank())
  end
  return { b = s.b, head = head, n_keys = after(start, n_keys),
           first = after(start, max(first - none, 0) * unit),
           last = after(start, min(max(last - none, 0) * unit, n_keys)), slot = slot,
           is_whole = first == 0 and last == s.n, n_units = last - first }
end

--- The block's pieces, in order; all of its threads come together. Calls f.first(piece) for the
--- first one, and of each f.compute(piece, next), then f.finish(piece, next); next.n_units is 0
--- after the last one. A piece:
---   b, head        the sequence, and the head of the line
---   n_keys         of the sequence
---   first, last    its keys, the last one excluded
---   is_whole       all of a head's
---   slot           where else its partial result goes
function M.each_piece(variant, args, f)
  local part, n_units, least = parts_of(variant, args)
  local number = part_number(variant)
  local at, stop = number * part, min((number + 1) * part, n_units)
  if at < stop then
    local s = sequence_at(variant, args, at // variant.n_heads, least)
    local piece = piece_at(variant, args, s, at, stop)
    f.first(piece)
    while at < stop do
      at = at + piece.n_units
      local next_piece = { b = 0, head = 0, n_keys = 0, first = 0, last = 0, slot = 0,
                           is_whole = false, n_units = 0 }
      if at < stop then
        if at >= (s.before + s.n) * variant.n_heads then
          s = { b = s.b + 1, n = units_of(variant, args, s.b + 1, least), before = s.before + s.n }
        end
        next_piece = piece_at(variant, args, s, at, stop)
      end
      f.compute(piece, next_piece)
      f.finish(piece, next_piece)
      piece = next_piece
    end
  end
end

--- How many slots a launch needs.
function M.n_slots(variant, n_sequences, n_parts)
  if variant.invariant then
    return n_sequences * variant.n_heads * M.MOST_CHUNKS * variant.cluster
  end
  return 2 * n_parts * variant.cluster
end

-- {====== Partial results ======

--- How many blocks are to look for partial results.
function M.n_merges(variant, n_sequences, n_parts)
  return (variant.invariant and n_sequences * variant.n_heads or n_parts) * variant.cluster
end

-- Of the head in which part i begins, if no earlier part begins within it.
local function partials_of_part(variant, args, i)
  local part, n_units, least = parts_of(variant, args)
  local found = { b = 0, head = 0, n = 0, slot = 0 }
  local at = i * part
  if i > 0 and at < n_units then
    local s = sequence_at(variant, args, at // variant.n_heads, least)
    local head = (at - s.before * variant.n_heads) // s.n
    local first = s.before * variant.n_heads + head * s.n
    if first < at and at - part <= first then
      local last = (first + s.n - 1) // part
      found = { b = s.b, head = head, n = last - i + 2, slot = 2 * (i - 1) + 1 }
    end
  end
  return found
end

local function partials_of(variant, args, i)
  if variant.invariant then
    local b, head = i // variant.n_heads, i % variant.n_heads
    local n = units_of(variant, args, b, 0)
    return { b = b, head = head, n = where(n > 1, n, 0) },
      function(j) return chunk_slot(variant, b, head, j) end
  end
  local found = partials_of_part(variant, args, i)
  return found, function(j) return found.slot + where(j > 0, 2 * j - 1, 0) end
end

--- What block i is to sum up: {b, head, n =}, n partial results, 0: nothing; and a function from
--- the number of a partial result, in the order of keys, to its slot.
function M.partials(variant, args, i)
  if variant.cluster == 1 then return partials_of(variant, args, i) end
  local rank = i % variant.cluster
  local found, slot_of = partials_of(variant, args, i // variant.cluster)
  return { b = found.b, head = of_block(variant, found.head, rank), n = found.n },
    function(j) return of_block(variant, slot_of(j), rank) end
end

return M
