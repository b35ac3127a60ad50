-- mutate_sync_subjects.lua: the programs that mutate_sync.lua changes: the examples, and the
-- library's operators at small sizes. Loops turn often enough that each ring comes round.
local M = {}

-- {====== Examples: arguments that make one small ======

M.arguments = {
  ["add_norm_quantize"] = "8 512", ["block_scaled"] = "64 64 256",
  ["blackwell_gemm"] = "512 512 384",
  ["blackwell_steps"] = "512 384 384",
  ["attention_dot"] = "100", ["chunk_scan"] = "256",
  ["gett"] = "64", ["hopper_gemm"] = "256 256 320", ["hopper_steps"] = "256 320",
  ["moye_async"] = "128 128 64", ["moye_matmul"] = "128 128 24", ["moye_pipeline"] = "128 128 64",
  ["moye_tensor_core"] = "128 128 64", ["moye_tiled_matmul"] = "128 128 64",
  ["multi_tensor_adamw"] = "10", ["nbody"] = "300", ["notebook_shared_matmul"] = "50 30 40",
  ["prefix_sum"] = "20003", ["radix_sort"] = "5000", ["bfs"] = "2000", ["reduce"] = "100003",
  ["sgemm_1"] = "128 128 32", ["sgemm_2"] = "128 128 32", ["sgemm_2d_blocktiling"] = "128",
  ["sgemm_sm70"] = "128 128 32", ["sgemm_sm80"] = "128 128 128", ["sgemm_steps"] = "128",
  ["softmax"] = "8 1024", ["tensor_parallel_mlp"] = "64", ["transpose"] = "128",
  ["transformer_block"] = "5",
  ["tiled_copy_if"] = "100 60", ["wgmma_sm90"] = "128 128 256", ["wgmma_tma_sm90"] = "256 128 256",
  ["one_shot_all_reduce"] = "1000",
  ["two_shot_all_reduce"] = "1000", ["saxpy"] = "1024",
  ["histogram"] = "10000", ["grouped_gemm_pointers"] = "3 100", ["mandelbrot"] = "32",
  ["w4a16"] = "20 100 128", ["boxes"] = "300", ["expert_layer"] = "20 16 24 4 2",
  ["deepseek_experts"] = "6 128 128 4 2 2",
}

-- {====== Examples with something added that needs what the example itself does not ======

M.changed = {
  -- Between two calls a launch reads what other ranks have written.
  ["two_shot_all_reduce, read between calls"] = { "two_shot_all_reduce",
    "local m = mesh{", [[
local halve = kernel("halve", function(x)
  local at, step = blockIdx.x * blockDim.x + threadIdx.x, gridDim.x * blockDim.x
  for j = at, size(x) - 1, step do x[j] = x[j] * 0.5 end
end)
local m = mesh{]],
    "i32(r.rank), i32(call))", "i32(r.rank), i32(call)); halve{ grid = 4, block = 256 }(mine)",
    "assert(sum == expected * n_ranks ^ 2, \"element \" .. i .. \" is wrong\")", "" },
}

-- One block computes all tiles.
M.changed["hopper_steps, one block"] = { "hopper_steps",
  "min(high * wide, p.blocks or high * wide)", "1" }
M.changed["hopper_gemm, one block"] = { "hopper_gemm", "grid = min(tiles, n_blocks)", "grid = 1" }
M.changed["blackwell_gemm, one block"] = { "blackwell_gemm", "grid = min(tiles, n_blocks)",
  "grid = 1" }

-- {====== Products ======

M.operators = {}
local operators <const> = M.operators

local function product(name, dtype, out, shape, config, options)
  operators["matmul " .. name] = function()
    local m, n, k = table.unpack(shape)
    local all, of = { config = config }, name:find "columns" and layout or row_major
    for key, value in pairs(options or {}) do all[key] = value end
    matmul(rand(dtype, of{m, k}), rand(dtype, of{n, k}), zeros(out, row_major{m, n}), all)
  end
end

local function hopper(fields)
  local config = { name = "small", template = "cuttle.gemm_hopper", blocks = 1, stages = 2,
                   group = 2, store = {1, 2}, order = "groups" }
  for key, value in pairs(fields) do config[key] = value end
  return config
end

product("hopper cooperative", bf16, f32, {128, 104, 200},
  hopper{schedule = "cooperative", tile = {64, 128, 64}, registers = {40, 232}},
  {beta = 1})
-- Each product reads what the one before it writes, the third one writes what that reads.
operators["matmul hopper, pdl"] = function()
  local config = hopper{schedule = "cooperative", tile = {64, 128, 64}, registers = {40, 232},
                        pdl = true}
  local A, C = rand(bf16, row_major{128, 128}), zeros(bf16, row_major{128, 128})
  local D = zeros(bf16, row_major{128, 128})
  matmul(A, A, C, {config = config})
  matmul(C, C, D, {config = config})
  matmul(D, D, C, {config = config})
end
product("hopper cooperative, four passes", bf16, f32, {256, 104, 200},
  hopper{schedule = "cooperative", tile = {128, 128, 64}, registers = {40, 232}}, {beta = 1})
product("hopper cooperative, beta in bf16", bf16, bf16, {128, 104, 200},
  hopper{schedule = "cooperative", tile = {64, 128, 64}, registers = {40, 232}}, {beta = 1})
product("hopper ping-pong", bf16, bf16, {200, 128, 192},
  hopper{schedule = "ping-pong", tile = {64, 64, 64}, order = "hilbert"})
product("hopper, stream-K", bf16, bf16, {448, 384, 320},
  hopper{schedule = "cooperative", tile = {64, 128, 64}, registers = {40, 232}, blocks = 13,
         stream_k = true})
product("hopper, columns transposed first", tf32, f32, {64, 128, 64},
  hopper{schedule = "cooperative", tile = {64, 128, 32}, registers = {40, 232}, transposes = true})
product("hopper cluster", bf16, bf16, {256, 64, 192},
  hopper{schedule = "cooperative", tile = {64, 64, 64}, groups = 1, cluster = 2, blocks = 2})
product("mma", f16, f16, {70, 60, 200}, "mma 64x64x64")
product("mma, bf16 out", bf16, f32, {70, 60, 200}, "mma 64x64x64", {beta = 1})
local function tcgen05(cluster)
  return {name = "small", template = "cuttle.gemm_tcgen05", tile = {32, 128, 64}, stages = 2,
          cluster = cluster}
end
-- Four tiles: two phases of an accumulator are apart, and the fourth answer comes where the first
-- was.
product("tcgen05", bf16, f32, {512, 32, 200}, tcgen05(), {beta = 1})
product("tcgen05, pairs", bf16, f32, {384, 64, 200}, tcgen05(2), {beta = 1})
operators["matmul tcgen05, scales"] = function()
  local quantize = require("cuttle.rows").quantize_mxfp8
  local A, SFA = quantize(randn(f32, row_major{128, 400}))
  local B, SFB = quantize(randn(f32, row_major{512, 400}))
  matmul(A, B, zeros(f32, row_major{128, 512}), { scale_a = SFA, scale_b = SFB,
    config = {name = "small", template = "cuttle.gemm_tcgen05", tile = {128, 128, 128}, stages = 2,
              scale_warps = 4} })
end
product("simt, both turned", f32, f32, {70, 60, 72}, "simt 64x64x16 turned")
product("simt, columns", f32, f32, {70, 60, 72}, "simt 64x64x16")
operators["matmul simt, one turned"] = function()
  matmul(rand(f32, row_major{70, 72}), rand(f32, {60, 72}), zeros(f32, row_major{70, 60}),
    {config = "simt 64x64x16 turned"})
end
product("cpu", f32, f32, {70, 60, 70}, "cpu 32x32x8")
product("split", f32, f32, {60, 60, 512}, nil, {split = 4})
operators["matmul groups"] = function()
  local A, B = rand(f16, row_major{150, 128}), rand(f16, {72, 128, 3})
  local ends = from_table(i32, {70, 70, 147})
  matmul(A, B, zeros(f16, row_major{150, 72}), {config = "mma 64x64x64", groups = ends, beta = 1})
end
operators["matmul groups, hopper"] = function()
  local A, B = rand(f16, row_major{300, 128}), rand(f16, {72, 128, 4})
  local ends = from_table(i32, {130, 140, 200, 300})
  matmul(A, B, zeros(f16, row_major{300, 72}), {config = hopper{schedule = "ping-pong",
    tile = {64, 64, 64}}, groups = ends, beta = 1})
end
operators["matmul groups by an index, hopper"] = function()
  local A, B, hidden = rand(f16, row_major{60, 128}), rand(f16, {144, 128, 2}),
    zeros(f16, row_major{200, 72})
  local tokens = view(arange(i32, 240), layout{200})
  local how = {groups = from_table(i32, {130, 200}), gather = tokens, glu = true,
               config = hopper{schedule = "cooperative", tile = {64, 128, 64}, gathers = true,
                               stages = 4},
               epilogue = function(gate, up) return gate * up end}
  matmul(A, B, hidden, how)
  for _, scatter in ipairs{tokens, {tokens, "add"}} do
    matmul(hidden, rand(f16, {64, 72, 2}), zeros(f32, row_major{200, 64}), {groups = how.groups,
      config = hopper{schedule = "ping-pong", tile = {64, 64, 64}}, scatter = scatter})
  end
end
operators["matmul nested, hopper"] = function()
  matmul(rand(f16, L"((13,12),(64,6)):((64,960),(1,960))"), rand(f16, row_major{72, 384}),
    zeros(f16, row_major{156, 72}), {config = "hopper 256x128x64, gather", beta = 1})
end

-- Scales are read from a slot while its products run. One block computes all tiles, and the ring
-- comes round.
local function scaled(name, config_name, shape)
  operators["matmul " .. name] = function()
    local m, n, k = table.unpack(shape)
    local config = {}
    for _, known in ipairs(require("cuttle.matmul_configs").list) do
      for key, value in pairs(known.name == config_name and known or {}) do config[key] = value end
    end
    config.blocks = 1
    local function narrow(rows)
      return view(reference.cast(randn(f32, rows * k), f8e4m3), row_major{rows, k})
    end
    matmul(narrow(m), narrow(n), zeros(bf16, row_major{m, n}), {config = config,
      scale_a = rand(f32, {m, k // 128}), scale_b = rand(f32, {n, k // 128})})
  end
end
scaled("hopper, scales of columns", "hopper 256x128x128, scaled", {512, 128, 768})
scaled("hopper, scales, one pass", "hopper 64x64x128, scaled", {128, 64, 1024})

-- Codes come to a ring of their own, which comes round twice.
local function packed(name, dtype, k, config)
  operators["matmul packed, hopper" .. name] = function()
    local weights, T = require "cuttle.packed_weights", dtype.bits == 8 and f32 or dtype
    local codes = reference.cast(rand(f32, 64 * k, 0, 16), u8)
    local W = weights.pack_weights(view(codes, row_major{64, k}), {type = "u4",
      scales = rand(T, row_major{64, k // 128})})
    local A = view(reference.cast(randn(f32, 70 * k), dtype), row_major{70, k})
    matmul(A, W, zeros(bf16, row_major{70, 64}), {config = config})
  end
end
packed("", bf16, 512, {groups = 1, columns = 64, stages = 2, depth = 4, min_blocks = 2})
packed(", rows of 8 bits", f8e4m3, 1024, {groups = 1, columns = 64, stages = 2, depth = 2})

-- The gradients come from what the layer keeps of its gates.
operators["experts, kept gates"] = function()
  local experts = require "cuttle.expert_layer"
  local function weights(rows, columns)
    return randn(bf16, layout({rows, columns, 3}, {columns, 1, rows * columns}))
  end
  local X, W1, W2 = randn(bf16, row_major{20, 64}), weights(128, 64), weights(64, 64)
  local r = experts.route(randn(f32, row_major{20, 3}), 2)
  local kept = zeros(bf16, row_major{40, 128})
  experts.expert_layer(X, W1, W2, r, {kept = kept})
  experts.expert_layer_backward(X, X, W1, W2, r, {kept = kept})
end

-- {====== Rows ======

operators["rows, in clusters"] = function()
  local weight = ones(bf16, 98304)
  require("cuttle.rows").layer_norm(randn(bf16, row_major{3, 98304}), weight, weight, 1e-6)
end

-- Of sums of columns; TMA brings rows to a ring.
operators["rows, gradients"] = function()
  local x, weight = randn(bf16, row_major{60, 4096}), ones(bf16, 4096)
  local _, scale = require("cuttle.rows").rms_norm(x, weight, 1e-6)
  require("cuttle.rows").rms_norm_backward(x, x, weight, scale)
end

-- {====== Attention ======

-- On Hopper a block has two tiles, and as many blocks of keys that rings come round.
local function attend(name, dtype, config, shape, options)
  operators["attention " .. name] = function()
    local heads, s, sk, d, d_v = table.unpack(shape)
    local all = { config = config, lse = true }
    for key, value in pairs(options or {}) do all[key] = value end
    attention(randn(dtype, row_major{1, heads, s, d}), randn(dtype, row_major{1, heads, sk, d}),
      randn(dtype, row_major{1, heads, sk, d_v or d}), all)
  end
end

attend("hopper", bf16, "hopper 192x80", {3, 70, 410, 128})
attend("hopper, causal", bf16, "hopper 192x80", {1, 400, 410, 128}, {causal = true})
attend("hopper, d64", f16, "hopper 192x128", {3, 70, 780, 64}, {lazy = true})
attend("hopper, 128 rows", bf16, "hopper 128x128", {3, 70, 520, 128})
attend("hopper, d192", bf16, "hopper 128x128, D 192", {3, 70, 520, 192, 128})
attend("hopper, f8", f8e4m3, "hopper 192x128, f8", {3, 70, 780, 64})
attend("mma 128x64", bf16, "mma 128x64", {1, 100, 200, 64}, {causal = true})
attend("mma 64x64", bf16, "mma 64x64", {1, 40, 150, 256})
attend("sm75", f16, "sm75 128x64", {1, 70, 140, 64}, {causal = true})
operators["attention hopper, pages"] = function()
  local Q, K = randn(bf16, row_major{2, 290, 64}), randn(bf16, row_major{54, 1, 16, 64})
  attention(Q, K, randn(bf16, row_major{54, 1, 16, 64}), {cu_seqlens_q = {0, 70, 290},
    cache_seqlens = {33, 767}, block_table = view(arange(i32, 54 * 2), layout({2, 54}, {3, 1})),
    causal = true, config = "hopper 192x128"})
end
operators["attention hopper, packed"] = function()
  local Q, K = randn(bf16, row_major{2, 290, 64}), randn(bf16, row_major{1, 800, 64})
  attention(Q, K, randn(bf16, row_major{1, 800, 64}), {cu_seqlens_q = {0, 70, 290},
    cu_seqlens_k = {0, 33, 800}, causal = true, config = "hopper 192x128"})
end

local function differentiate(name, dtype, config, shape, options)
  operators["attention_backward " .. name] = function()
    local s, sk, d, d_v, heads = table.unpack(shape)
    local all = { config = config }
    for key, value in pairs(options or {}) do all[key] = value end
    local function values(n, h) return randn(dtype, row_major{1, h or 1, n, d_v or d}) end
    local Q, K = randn(dtype, row_major{1, heads or 1, s, d}), randn(dtype, row_major{1, 1, sk, d})
    local V, dO = values(sk), values(s, heads)
    local O, LSE = attention(Q, K, V, {lse = true, causal = all.causal})
    attention_backward(dO, Q, K, V, O, LSE, all)
  end
end

-- Twice, each launch as a dependent one, as on Hopper. tensors() returns Q, K and V, and options
-- that are tensors.
local function decode(name, config, tensors, options, parts)
  operators["attention_decode " .. name] = function()
    local of = require "cuttle.attention_decode"
    local row = { parts = parts or 3 }
    for _, known in ipairs(of.configs) do
      for key, value in pairs(known.name == config and known or {}) do row[key] = value end
    end
    local all = { config = row }
    local Q, K, V, more = tensors()
    for _, some in ipairs { options or {}, more or {} } do
      for key, value in pairs(some) do all[key] = value end
    end
    local lengths = {}
    for b = 1, size(K, 0) do lengths[b] = b % 2 == 1 and size(K, 2) or 77 end
    all.cache_seqlens = from_table(i32, lengths)
    local _, _, _, _, steps = of.prepare(Q, K, V, all)
    for _ = 1, 2 do
      for _, step in ipairs(steps) do
        step.launch.pdl = true
        step.kernel(step.launch)(table.unpack(step.args, 1, step.args.n))
      end
    end
  end
end

local function cached(dtype, kv, depth)
  return function()
    local K = view(reference.cast(randn(f32, 2 * 2 * 900 * depth), kv), row_major{2, 2, 900, depth})
    return randn(dtype, row_major{2, 4, depth}), K, K
  end
end

decode("plain", "plain", cached(f32, f32, 16))
decode("mma", "mma 4 warps", cached(bf16, bf16, 64))
decode("8 bits", "mma 8 bits", cached(bf16, f8e4m3, 64), {k_scale = 0.5, v_scale = 0.5})
decode("deep", "mma 6 warps", cached(bf16, bf16, 192))
-- A block has two sequences and more.
decode("latent", "latent 32 keys", function()
  local K = randn(bf16, row_major{5, 1, 180, 576})
  local V = view(K, layout({5, 1, 180, 512}, {180 * 576, 0, 576, 1}))
  return randn(bf16, row_major{5, 16, 576}), K, V
end, {}, 1)
local function latent_8_bits()
  local K = view(reference.cast(randn(f32, 5 * 250 * 512), f8e4m3), row_major{5, 1, 250, 512})
  local scales = rand(f32, row_major{5, 1, 250, 4})
  return randn(bf16, row_major{5, 16, 576}), K, K, {k_scale = scales, v_scale = scales,
    k_rope = randn(bf16, row_major{5, 1, 250, 64})}
end
decode("latent, 8 bits", "latent 8 bits", latent_8_bits, {}, 1)
decode("latent hopper, 8 bits", "latent hopper, 8 bits", latent_8_bits, {}, 1)
local function latent_of_many()
  local K = randn(bf16, row_major{4, 1, 400, 576})
  local V = view(K, layout({4, 1, 400, 512}, {400 * 576, 0, 576, 1}))
  return randn(bf16, row_major{4, 128, 576}), K, V
end
decode("latent, pairs", "latent hopper, pairs", latent_of_many, {}, 3)
decode("latent hopper", "latent hopper", latent_of_many, {}, 3)
decode("latent hopper, rows", "latent hopper, rows", latent_of_many, {}, 3)

-- {====== Many devices ======

local small <const> = { name = "small", tile = {64, 64, 64}, schedule = "cooperative", groups = 1,
                        stages = 2, store = {1, 1}, order = "hilbert", blocks = 3, vectors = 2,
                        cooperative = true }

local function with(fields)
  local config = {}
  for key, value in pairs(small) do config[key] = value end
  for key, value in pairs(fields) do config[key] = value end
  return config
end

differentiate("hopper", bf16, "hopper 64x128", {150, 300, 128})
differentiate("hopper, causal", bf16, "hopper 64x128", {300, 300, 128}, {causal = true})
differentiate("hopper, deterministic", bf16, "hopper 64x128", {150, 300, 128},
  {deterministic = true})
differentiate("hopper, pairs", bf16, "hopper 64x64", {150, 200, 256})
differentiate("hopper, d192", bf16, "hopper 64x64, Dv 128", {200, 200, 192, 128, 2})
-- Two heads read the keys.
operators["attention_backward mma"] = function()
  local Q, K = randn(bf16, row_major{1, 2, 150, 64}), randn(bf16, row_major{1, 1, 70, 64})
  local O, LSE = attention(Q, K, K, {lse = true, causal = true})
  attention_backward(O, Q, K, K, O, LSE, {config = "mma 64x32", causal = true})
end
differentiate("plain", f32, "plain", {70, 90, 32}, {causal = true})

local function rows_of(dtype, m, n)
  return view(rand(dtype, m * cdiv(n, 8) * 8), layout({m, n}, {cdiv(n, 8) * 8, 1}))
end

operators["gather_matmul"] = function()
  local gather = require "cuttle.gather_matmul"
  local A, B, C = rows_of(bf16, 256, 192), rows_of(bf16, 200, 192), rows_of(bf16, 256, 200)
  local panels = { tile(A, {128, 192}, {0, 0}), tile(A, {128, 192}, {1, 0}) }
  gather.gather_matmul(panels, 0, B, C, {config = with{template = "cuttle.gemm_gather"}})
end

-- What each rank reads between two meetings of the ranks, the other one writes before and behind.
operators["meet"] = function()
  device "cpu:2"
  local meeting, m = require "cuttle.meet", mesh{rank = 2}
  local x, y = zeros(f32, 32), zeros(f32, 64)
  local write = kernel("write", function(to) to[threadIdx.x] = threadIdx.x end)
  local read = kernel("read", function(from, to, me)
    to[me * 32 + threadIdx.x] = from[threadIdx.x]
  end)
  local C = m:zeros(f32, {2, 1}, "(rank@rank,element)")
  local calls = {}
  meeting.launch(C, function(_, f) calls[#calls + 1] = f end)
  m:run(function(r)
    if r.rank == 0 then write{grid = 1, block = 32}(x) end
    calls[1](r.rank)
    read{grid = 1, block = 32}(x, y, i32(r.rank))
    calls[1](r.rank)
    if r.rank == 1 then write{grid = 1, block = 32}(x) end
  end)
end

operators["matmul_scatter"] = function()
  device "cpu:2"
  local scatter = require "cuttle.matmul_scatter"
  local m, W <const>, height <const>, n <const>, k <const> = mesh{rank = 2}, 2, 128, 136, 128
  local A, B, C = {}, {}, {}
  local spaces = m:run(function(r)
    return scatter.share(r, scatter.workspace(bf16, height, n, W))
  end)
  for r = 1, W do
    A[r], B[r] = rand(bf16, row_major{W * height, k}), rand(bf16, row_major{n, k})
    C[r] = zeros(bf16, row_major{height, n})
  end
  m:run(function(r)
    for _ = 1, 2 do
      local i = r.rank + 1
      local step = scatter.step(A[i], B[i], C[i], r.rank, spaces[r.rank],
        {config = with{template = "cuttle.gemm_scatter"}})
      step.kernel(step.launch)(table.unpack(step.args))
    end
  end)
end

return M
