-- profile_advice.lua: why an access is not wider, and what to write so that it is; in words.
local M = {}

-- By the reason that the IR gives (runtime/ir.h, CT_WIDTH_WHYS): why, and what to do. T is the
-- tensor to blame, N twice the elements that are taken at once.
local texts = {
  widest = { "16 bytes, as many as one instruction takes" },
  scalar = { "the script indexes T element by element",
    "copy a whole tile or partition of T with copy()" },
  size = { "a thread's number of elements is no multiple of N",
    "give each thread a multiple of N elements" },
  extent = { "the number of elements is a run-time value",
    "tile by static sizes, or use static_shapes = true" },
  common = { "what a thread takes next is not the next element of T",
    "let a thread take N consecutive elements of T: a value layout of stride 1 there "
      .. "(tv_layout); max_common_vector tells how many two layouts allow" },
  multiple = { "a static stride of T is no multiple of N", "pad T by a multiple of N elements" },
  stride = { "a run-time stride of T is not known to be a multiple of N",
    "make the extent that it comes from a multiple of N (pad the tensor), or use "
      .. "static_shapes = true" },
  pointer = { "T's first element is not aligned to N elements",
    "pass a tensor that begins at a multiple of N elements of its storage" },
  offset = { "the part of T begins at an offset that is not known to be a multiple of N",
    "tile T by multiples of N, and let threads begin at multiples of N" },
  swizzle = { "the swizzle of T takes neighbours apart",
    "use a swizzle whose base keeps N elements together: swizzle(B, log2(N), S)" },
  guard = { "the guard of T may end within a vector",
    "make the guarded extent a multiple of N, or copy whole tiles without the guard" },
  predicate = { "copy_if's predicate may differ within a vector",
    "make one predicate for N elements: a layout that is constant along them" },
  converts = { "the elements are widened on the way", "copy them first, and cast in registers" },
  registers = { "bools in registers are not packed", "keep flags as u8" },
}

local function fill(text, access)
  local elements = 128 * access.vec // access.bits -- of 16 bytes
  local is_far = access.why == "common" or access.why == "size"
  local n = tostring(is_far and elements or 2 * access.vec)
  return (text:gsub("%f[%w]T%f[%W]", access.blamed or access.tensor):gsub("%f[%w]N%f[%W]", n))
end

-- "the script indexes A element by element".
function M.reason(access) return fill(texts[access.why][1], access) end

-- What to write instead; nil where nothing has to be.
function M.fix(access)
  local fix = texts[access.why][2]
  return fix and fill(fix, access)
end

-- Something that the figures themselves show; nil: nothing.
function M.remark(access)
  if access.atomic then return nil end
  local per = access.space == "shared" and access.wavefronts / access.ideal_wavefronts or 0
  if per >= 1.5 then
    return ("lanes meet in a bank of %s: %.3g wavefronts where 1 would do; pad its stride by one "
      .. "access (%d element%s), or swizzle it"):format(access.tensor, per, access.vec,
        access.vec == 1 and "" or "s")
  end
  if access.space == "global" and access.efficiency < 0.5 then
    return ("only %.0f %% of the bytes fetched of %s are used; let neighbouring lanes take " ..
      "neighbouring elements"):format(100 * access.efficiency, access.tensor)
  end
end

return M
