-- A row of C has the same bits however many rows there are, for 1 to 32 splits of K, if the contract is the
-- order of a configuration with so many splits. On a GPU with --device=cuda too.
local N <const>, K <const>, MOST <const> = 48, 512, 300
local here = zeros(f32, 1).device
local A = randn(f32, row_major{MOST, K}):to(here)
local B = randn(f32, row_major{N, K}):to(here)

local function first_rows(m, like)
  local C = zeros(f32, row_major{m, N}):to(here)
  return matmul(view(A, row_major{m, K}), B, C, {bits = like}):to("cpu")
end

local bits_of = {}
for split = 1, 32 do
  if K % split == 0 then
    local like = {config = "simple 64x64x16", split = split}
    local all = first_rows(MOST, like)
    for _, m in ipairs{1, 2, 16, 31, 64, 129} do
      local some = first_rows(m, like)
      assert(allclose(some, view(all, row_major{m, N}), {rtol = 0, atol = 0}),
        ("%d splits, %d rows"):format(split, m))
    end
    bits_of[#bits_of + 1] = all
  end
end
print(#bits_of) -- expect: 6

-- Other splits are another order: without a contract the bits would differ.
print(allclose(bits_of[1], bits_of[6], {rtol = 0, atol = 0}) == true) -- expect: false
