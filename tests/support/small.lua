-- small.lua: arguments that make a program shorter, on the same paths: for runs under `check` and under sanitizers, where
-- each step of the CPU engine takes many times as long. Of examples they are sizes, of reads_and_changes it takes every
-- eighth change, of atom/table every 16th atom, of backward_idle every fourth problem, of backward_pair those with a
-- fault, of decode_scores every third latent problem, of selections_orders 4 of 20
-- orders, of other tests the number of cases.
return {
  ["examples/bfs.lua"] = "2000", ["examples/blackwell_gemm.lua"] = "256 256 384",
  ["examples/blackwell_steps.lua"] = "256 256 128",
  ["examples/block_scaled.lua"] = "64 64 128",
  ["examples/data_parallel.lua"] = "200", ["examples/hopper_gemm.lua"] = "256 256 128",
  ["examples/hopper_steps.lua"] = "256 64", ["examples/mandelbrot.lua"] = "96",
  ["examples/moye_matmul.lua"] = "256 256 32",
  ["examples/nbody.lua"] = "200 3",
  ["examples/notebook_shared_matmul.lua"] = "50 30 40", ["examples/prefix_sum.lua"] = "20003",
  ["examples/radix_sort.lua"] = "5000", ["examples/reduce.lua"] = "100003",
  ["examples/sgemm_2d_blocktiling.lua"] = "128", ["examples/sgemm_sm80.lua"] = "128 128 128",
  ["examples/transformer_block.lua"] = "5", ["examples/transpose.lua"] = "256",
  ["examples/wgmma_sm90.lua"] = "128 128 128",
  ["examples/wgmma_tma_sm90.lua"] = "256 128 128",
  ["tests/lua/atom/table.lua"] = "16",
  ["tests/lua/attention/backward_idle.lua"] = "4", ["tests/lua/attention/backward_pair.lua"] = "1",
  ["tests/lua/attention/decode_scores.lua"] = "3",
  ["tests/lua/front/many_records.lua"] = "200",
  ["tests/lua/front/random.lua"] = "80", ["tests/lua/front/random_c.lua"] = "60",
  ["tests/lua/kernel/dot_random.lua"] = "8",
  ["tests/lua/kernel/loop_limits.lua"] = "9", ["tests/lua/matmul/law.lua"] = "40",
  ["tests/lua/kernel/reads_and_changes.lua"] = "8",
  ["tests/lua/program/selections_orders.lua"] = "4",
}
