-- Each step of a product of tiles is rounded once: sums half way between two floats and a little beside,
-- tiny ones, those beyond the largest float, and random ones; operands of each lane's own or of all.
local M, N, K, LANES = 5, 3, 6, 32
local A_layout, B_layout, C_layout = layout{LANES, M, K}, layout{LANES, N, K}, layout{LANES, M, N}

local each = kernel("each", function(A, B, C)
  local a, b, c = fragment(f32, {M, K}), fragment(f32, {N, K}), fragment(f32, {M, N})
  local i = threadIdx.x
  copy(A(i, _, _), a)
  copy(B(i, _, _), b)
  copy(C(i, _, _), c)
  gemm(a, b, c)
  copy(c, C(i, _, _))
end, {static_shapes = true})

-- B's numbers of lane 0 are those of all lanes.
local shared_b = kernel("shared_b", function(A, B, C)
  local a, c = fragment(f32, {M, K}), fragment(f32, {M, N})
  local i = threadIdx.x
  copy(A(i, _, _), a)
  copy(C(i, _, _), c)
  gemm(a, B(0, _, _), c)
  copy(c, C(i, _, _))
end, {static_shapes = true})

local function to_f32(x) return (string.unpack("f", string.pack("f", x))) end

-- In doubles: the product is exact, the sum rounded to odd.
local function fma_f32(a, b, c)
  local p = a * b
  local s = p + c
  local lost = (c - (s - p)) + (p - (s - c))
  if lost < 0 or lost > 0 then
    local bits = string.unpack("i8", string.pack("d", s))
    if bits % 2 == 0 then bits = bits + ((lost > 0) == (s > 0) and 1 or -1) end
    s = string.unpack("d", string.pack("i8", bits))
  end
  return to_f32(s)
end

math.randomseed(7)
local function sign() return math.random(2) * 2 - 3 end
local function float(least, most)
  return to_f32(sign() * (1 + math.random()) * 2.0 ^ math.random(least, most))
end
local kinds = {
  plain = function() return float(-4, 4) end,
  -- products of 25 and 26 bits, and sums that are a little more or less
  half_way = function(of)
    if of == "C" then return sign() * 2.0 ^ math.random(-100, -40) end
    return sign() * (math.random(0, 4095) * 2 + 1)
  end,
  -- products a little less than half of the smallest float, beside odd multiples of that
  tiny = function(of)
    if of == "C" then return sign() * (math.random(1 << 19, 1 << 22) * 2 + 1) * 2.0 ^ -149 end
    local last = math.random(0, 1) * 2.0 ^ -23
    return sign() * (of == "A" and 1 + last or 1 - last) * 2.0 ^ -75
  end,
  small = function(of) return float(of == "C" and -148 or -80, of == "C" and -126 or -60) end,
  large = function(of) return float(60, of == "C" and 127 or 66) end,
}
kinds.mixed = function(of)
  local names = { "plain", "half_way", "tiny", "small" }
  return kinds[names[math.random(#names)]](of)
end

local function numbers(layout, kind, of)
  local t = {}
  for i = 1, size(layout) do t[i] = kinds[kind](of) end
  return from_table(f32, t, layout)
end

local function bits(x) return string.unpack("I4", string.pack("f", x)) end
local function count_wrong(k, kind, b_lane)
  local A, B = numbers(A_layout, kind, "A"), numbers(B_layout, kind, "B")
  local C, before = numbers(C_layout, kind, "C"), zeros(f32, C_layout)
  copy(C, before)
  k{grid = 1, block = LANES}(A, B, C)
  local wrong = 0
  for i = 0, LANES - 1 do
    for m = 0, M - 1 do
      for n = 0, N - 1 do
        local want = before[{i, m, n}]
        for l = 0, K - 1 do want = fma_f32(A[{i, m, l}], B[{b_lane or i, n, l}], want) end
        local got = C[{i, m, n}]
        if bits(got) ~= bits(want) and (got == got or want == want) then wrong = wrong + 1 end
      end
    end
  end
  return wrong
end

for _, kind in ipairs{"plain", "half_way", "tiny", "small", "large", "mixed"} do
  print(kind, count_wrong(each, kind), count_wrong(shared_b, kind, 0))
end
-- expect: plain	0	0
-- expect: half_way	0	0
-- expect: tiny	0	0
-- expect: small	0	0
-- expect: large	0	0
-- expect: mixed	0	0
