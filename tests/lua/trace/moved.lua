-- trace through copies that a warp does together: an element comes from another lane's, in the place that
-- PTX gives it.
local function offsets(name, kernel_atom, of)
  local k = kernel(name, function(A, B)
    local s, r = shared(f16, row_major { 8, 8 }), fragment(f16, 2)
    local t = threadIdx.x
    copy(tile(A, 2, t), tile(s, { 1, 2 }, { t // 4, t % 4 }))
    sync_threads()
    copy(atom(kernel_atom, f16), s(t % 8, _), r)
    copy(atom("SM75_U32x1_MOVM_T", f16), r, r)
    copy(r, tile(B, 2, t))
  end)
  local out = {}
  local A, B = rand(f16, 64), zeros(f16, 64)
  for _, row in ipairs(trace(k { grid = 1, block = 32 }, { B = { of } }, A, B).rows) do
    if row.kind == "reads" and row.space ~= "registers" then
      out[#out + 1] = ("%s:%d by %d"):format(row.tensor, row.offset, row.thread)
    end
  end
  return table.concat(out, ", ")
end

-- Thread 5 has row 1, columns 2 and 3. Transposed twice, that is where they come from; transposed once,
-- they are rows 2 and 3 of column 1.
print(offsets("twice", "SM75_U16x2_LDSM_T", 11))  -- expect: A:11 by 5, s:11 by 1
print(offsets("once", "SM75_U32x1_LDSM_N", 11))  -- expect: A:25 by 12, s:25 by 3
