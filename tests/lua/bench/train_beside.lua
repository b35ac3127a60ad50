-- Steps of training over ranks give what one device gives: scripts/bench/train_beside.lua on the CPU
-- mesh. The examples of its data are those of train_torch.py.
for _, ranks in ipairs{ 2, 4 } do
  _G.arg = { [0] = "scripts/bench/train_beside.lua", tostring(ranks) }
  dofile(_G.arg[0])
end
-- expect: data-parallel step: 3 layers of 64, 64 rows on each rank
-- expect:   correct
-- expect: tensor-parallel block, 128 rows, 64 -> 256 -> 64, forwards and backwards
-- expect:   correct
-- expect: tensor-parallel attention, 2 x 64 tokens, 4 heads of 16, forwards
-- expect:   correct
-- expect: data-parallel step: 3 layers of 64, 64 rows on each rank
-- expect:   correct
-- expect: tensor-parallel block, 128 rows, 64 -> 256 -> 64, forwards and backwards
-- expect:   correct
-- expect: tensor-parallel attention, 2 x 64 tokens, 4 heads of 16, forwards
-- expect:   correct
