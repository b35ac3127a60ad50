-- expert_parts.lua: what the layer of experts (expert_layer.lua) and its gradients
-- (expert_backward.lua) share: the checks of their arguments, rows of gates and ups, and the sum of
-- a token's rows.
local arguments = require "cuttle.arguments"
local memo = require "cuttle.memo"
local tiles = require "cuttle.tiles"
local M = {}

local THREADS <const>, VECTOR_BITS <const> = 256, 128
local parts_of_routing <const> = { "tokens", "places", "ends", "weights" }

-- {====== Arguments ======

--- x is a tensor of so many modes, of the type and on the device of the tokens `like`, if given.
function M.check_matrix(op, x, name, rank_of, modes, like)
  arguments.check_tensor(op, x, name, modes, "it launches kernels itself")
  if rank(x) ~= rank_of then tiles.fail(op, "%s is %s; expected %s", name, x.layout, modes) end
  if like and (x.device ~= like.device or x.dtype ~= like.dtype) then
    tiles.fail(op, "%s is %s on %s but tokens are %s on %s; expected one type and one device", name,
      x.dtype, x.device, like.dtype, like.device)
  end
end

local function is_packed(x) return tiles.type_name(x) == "packed weight" end

-- The extents of a weight, which may be packed if takes_packed.
local function extents_of(op, x, name, modes, like, takes_packed)
  if not (takes_packed and is_packed(x)) then
    M.check_matrix(op, x, name, 3, modes, like)
    return { size(x, 0), size(x, 1), size(x, 2) }
  elseif #x.shape ~= 3 or x.device ~= like.device then
    tiles.fail(op, "%s is a %s; expected %s on %s, packed from codes of three modes", name,
      tostring(x), modes, like.device)
  end
  return x.shape
end

local function check_extent(op, name, extents, mode, expected, what)
  if extents[mode + 1] ~= expected then
    tiles.fail(op, "%s is (%s); expected %d for %s", name, table.concat(extents, ","), expected,
      what)
  end
end

--- The routing has so many tokens and experts.
function M.check_routing(op, routing, n_tokens, n_experts)
  if type(routing) ~= "table" or math.type(routing.k) ~= "integer" then
    tiles.fail(op, "routing is of type %s; expected what route(logits, k) returns",
      tiles.type_name(routing))
  end
  for _, name in ipairs(parts_of_routing) do
    local t = routing[name]
    local n = name == "ends" and n_experts or n_tokens * routing.k
    local is_tensor = tiles.type_name(t) == "tensor"
    if not is_tensor or size(t) ~= n then
      tiles.fail(op, "routing.%s is %s; expected %d elements, as there are %d tokens of %d choices "
        .. "and %d experts", name, is_tensor and tostring(shape(t)) or tiles.type_name(t), n,
        n_tokens, routing.k, n_experts)
    end
  end
end

--- What is computed: T tokens of D numbers, F hidden ones, {T =, D =, F =, E =, k =}. op: its name;
--- takes_packed: weights may be packed (packed_weights.lua).
function M.read(op, X, gate_up, down, routing, takes_packed)
  M.check_matrix(op, X, "tokens", 2, "(T,D)")
  local of_up = extents_of(op, gate_up, "gate_up", "(2F,D,E)", X, takes_packed)
  local of_down = extents_of(op, down, "down", "(D,F,E)", X, takes_packed)
  local T, D, F, E = size(X, 0), size(X, 1), of_down[2], of_down[3]
  check_extent(op, "gate_up", of_up, 0, 2 * F, "2F, as down is (D,F,E)")
  check_extent(op, "gate_up", of_up, 1, D, "D, as tokens are (T,D)")
  check_extent(op, "gate_up", of_up, 2, E, "E, as down is (D,F,E)")
  check_extent(op, "down", of_down, 0, D, "D, as tokens are (T,D)")
  M.check_routing(op, routing, T, E)
  return { T = T, D = D, F = F, E = E, k = routing.k }
end

--- x is row-major (T,D); of one row or column any stride will do.
function M.check_rows(op, name, out, p)
  local strides = stride(out)
  local is_like = size(out, 0) == p.T and size(out, 1) == p.D
    and (strides[1] == p.D or p.T <= 1) and (strides[2] == 1 or p.D == 1)
  if not is_like then
    tiles.fail(op, "%s is %s; expected row_major{%d, %d}", name, out.layout, p.T, p.D)
  end
end

--- The option `kept`, nil or a tensor for the gates and ups of all pairs, in the order of routing.
function M.check_kept(op, kept, X, p)
  if kept == nil then return nil end
  local n, width = p.T * p.k, 2 * p.F
  M.check_matrix(op, kept, "kept", 2, "(T k,2F)", X)
  if tostring(kept.layout) ~= tostring(row_major{ n, width }) then
    tiles.fail(op, "kept is %s; expected row_major{%d, %d}, gates and ups of all pairs",
      kept.layout, n, width)
  end
  return kept
end

-- {====== Gates and ups ======

-- Gates or ups of rows (n,2F).
local function half(both, which)
  local n, width = size(both, 0), size(both, 1)
  return view(both, layout({ n, width // 2 }, { width, 2 }), which)
end

--- What a kernel of gated rows takes for rows (n,2F), and stores: of 16 bits one tensor of words.
function M.halves(both)
  if both.dtype.bits == 16 then return recast(both, u32) end
  return half(both, 0), half(both, 1)
end

-- {====== The sum of a token's rows ======

-- Adds the rows of a token's k choices (D,k,T) in f32, in their order, by vectors of n elements.
local sum_kernel = memo.by_arguments(function(k, n)
  return kernel("sum_choices", function(rows, out)
    local at = blockIdx.x * THREADS + threadIdx.x
    local vectors = size(out, 0) // n
    if at >= vectors * size(out, 1) then return end
    local token, held = at // vectors, fragment(rows.dtype, {n, k})
    for j = 0, k - 1 do copy(tile(rows(_, j, token), {n}, {at % vectors}), held(_, j)) end
    local sum = fragment(f32, n)
    clear(sum)
    for j = 0, k - 1 do
      for i = 0, n - 1 do sum[i] = sum[i] + cast(held[{i, j}], f32) end
    end
    copy(cast(sum, out.dtype), tile(out(_, token), {n}, {at % vectors}))
  end)
end)

--- What adds up rows (T k,D) to out (T,D): {kernel =, launch =, args =}.
function M.sum_step(p, rows, out, stream)
  local n = VECTOR_BITS // rows.dtype.bits
  while p.D % n ~= 0 do n = n // 2 end
  return { kernel = sum_kernel(p.k, n),
           args = { view(rows, layout{p.D, p.k, p.T}), view(out, layout{p.D, p.T}) },
           launch = { grid = cdiv(p.T * (p.D // n), THREADS), block = THREADS, stream = stream } }
end

--- The options of a router that its gradient has too: the score of an expert, and whether the
--- weights of a token are divided by their sum.
function M.read_router(op, options)
  local score = options.score or "softmax"
  if score ~= "softmax" and score ~= "sigmoid" then
    tiles.fail(op, 'score is %s; expected "softmax" or "sigmoid"', tostring(score))
  elseif type(options.scale or 1) ~= "number" then
    tiles.fail(op, "scale is of type %s; expected a number", type(options.scale))
  end
  return score, options.normalize ~= false
end

return M
