-- What only a compiler may get wrong: a loop whose step is the least i64 has one turn, and max of zeros of
-- both signs is 0, folded or not.
local k = kernel("k", function(w, zero, out, signs)
  local turns = 0
  for i = w & 3, 2, math.mininteger do
    turns = turns + 1
    out[0] = i
  end
  out[1] = turns
  signs[0], signs[1] = 1.0 / max(-0.0, 0.0), 1.0 / max(-0.0, zero)
  signs[2], signs[3] = 1.0 / min(-0.0, 0.0), 1.0 / min(-0.0, zero)
end)
local out, signs = zeros(i64, 2), zeros(f32, 4)
local launch = k{grid = 1, block = 1}
launch(7, 0.0, out, signs)
print(out[0], out[1])                          -- expect: 3	1
print(signs[0], signs[1], signs[2], signs[3])  -- expect: inf	inf	-inf	-inf
print(launch:source(7, 0.0, out, signs):match "i > [^;]+; ([^;]+)%) {")
-- expect: i += (-9223372036854775807LL - 1)
