-- row_anew.lua: held vectors of a row for the next pass. Else the compiler keeps what the pass
-- before has made of them, an f32 for each element, in twice the registers.
local internal = ...
local M = {}

--- The vector as words of which the compiler knows nothing.
function M.words(p, held)
  if held.dtype.bytes ~= 2 or p.width % 2 ~= 0 then return held end
  local now, words = fragment(held.dtype, p.width), fragment(u32, p.width // 2)
  copy(held, now)
  local of_held = recast(now, u32)
  for i = 0, p.width // 2 - 1 do
    words[i] = internal.kernel.ptx("mov.b32 $word, $from;", { word = u32 }, { from = of_held[i] },
      function(from) return from end)
  end
  return recast(words, held.dtype)
end

--- A vector of bf16 as f32, by other instructions than casts have. ptxas sees through moves, and
--- would keep what casts of the pass before have made.
function M.widened(p, held)
  local now, wide = fragment(held.dtype, p.width), fragment(f32, p.width)
  copy(held, now)
  local words = recast(now, u32)
  for i = 0, p.width // 2 - 1 do
    wide[2 * i] = bitcast(byte_perm(words[i], u32(0), u32(0x1044)), f32)
    wide[2 * i + 1] = bitcast(byte_perm(words[i], u32(0), u32(0x3244)), f32)
  end
  return wide
end

return M
