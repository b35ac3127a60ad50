-- Which configuration a product of bf16 gets on Hopper, by its shape: what was measured there. Only
-- the shape is large: matmul's view of a small problem, with other extents.
local configs, problem = require "cuttle.matmul_choice", require "cuttle.matmul".problem
local A, C = zeros(bf16, row_major{64, 64}), zeros(bf16, row_major{64, 64})
local function choose(m, n, k, n_sms)
  local p = problem(A, A, C)
  p.target, p.sm, p.shared, p.type_name, p.majors = "cuda", 90, 232448, "bf16", "TN"
  p.n_sms = n_sms or 132
  p.m, p.n, p.k = n, m, k -- C is row-major, so A and B changed places
  print(m, n, k, configs.choose(p).name)
end
choose(16, 14336, 4096)     -- expect: 16	14336	4096	hopper 64x64x64, 16 rows
choose(32, 4096, 4096)      -- expect: 32	4096	4096	hopper 64x64x64, 32 rows, K in 2
choose(1, 4096, 4096)       -- expect: 1	4096	4096	hopper 64x64x64, 16 rows, K in 2
choose(4096, 16, 4096)      -- expect: 4096	16	4096	hopper 32x64x64, K in 2
choose(4096, 32, 4096)      -- expect: 4096	32	4096	hopper 32x64x64, K in 2
choose(16, 2048, 4096)      -- expect: 16	2048	4096	mma 64x64x64
choose(16, 4096, 256)       -- expect: 16	4096	256	mma 64x64x64
choose(33, 4096, 4096)      -- expect: 33	4096	4096	hopper 64x64x64, K in 2
choose(64, 4096, 4096)      -- expect: 64	4096	4096	hopper 64x64x64, K in 2
choose(128, 4096, 4096)     -- expect: 128	4096	4096	hopper 64x128x64, K in 2
choose(4096, 64, 4096)      -- expect: 4096	64	4096	hopper 64x64x64, K in 2
choose(4096, 128, 4096)     -- expect: 4096	128	4096	hopper 128x64x64, K in 2
choose(64, 4096, 1024)      -- expect: 64	4096	1024	hopper 64x64x64
choose(1024, 1024, 1024)    -- expect: 1024	1024	1024	hopper 64x64x64
choose(48, 14336, 4096)     -- expect: 48	14336	4096	hopper 112x64x64
choose(14336, 64, 4096)     -- expect: 14336	64	4096	hopper 112x64x64, across
choose(128, 14336, 4096)    -- expect: 128	14336	4096	hopper 112x128x64
choose(12288, 128, 4096)    -- expect: 12288	128	4096	hopper 96x128x64, across
choose(64, 11008, 4096)     -- expect: 64	11008	4096	hopper 96x64x64
choose(64, 28672, 4096)     -- expect: 64	28672	4096	hopper 112x64x64
choose(128, 2048, 4096)     -- expect: 128	2048	4096	hopper 64x64x64, K in 2
choose(64, 32768, 4096)     -- expect: 64	32768	4096	hopper 64x64x64
choose(32768, 128, 4096)    -- expect: 32768	128	4096	hopper 128x256x64, early
choose(20480, 128, 4096)    -- expect: 20480	128	4096	hopper 80x128x64, across
choose(17408, 128, 4096)    -- expect: 17408	128	4096	hopper 128x256x64
choose(1536, 1536, 1536)    -- expect: 1536	1536	1536	hopper 192x128x64
choose(2048, 2048, 2048)    -- expect: 2048	2048	2048	hopper 256x128x64, 4 stages
choose(4096, 4096, 4096)    -- expect: 4096	4096	4096	hopper 256x128x64
choose(2304, 4096, 8192)    -- expect: 2304	4096	8192	hopper 192x128x64
choose(2816, 2816, 4096)    -- expect: 2816	2816	4096	hopper 256x128x64
choose(3072, 3072, 4096)    -- expect: 3072	3072	4096	hopper 192x128x64
choose(3072, 3072, 16384)   -- expect: 3072	3072	16384	hopper 192x128x64
choose(4096, 4096, 1024)    -- expect: 4096	4096	1024	hopper 128x128x64, ping-pong
choose(8192, 8192, 1024)    -- expect: 8192	8192	1024	hopper 192x128x64, ping-pong
choose(4096, 4096, 16384)   -- expect: 4096	4096	16384	hopper 256x128x64
-- Operands whose modes are nested: where 16 bytes lie side by side, and where they do not.
local function choose_nested(l, m, n, k, sm)
  local p = problem(view(zeros(bf16, 4096), L(l)), zeros(bf16, row_major{64, 64}), C)
  p.target, p.sm, p.shared, p.type_name, p.majors = "cuda", sm, 232448, "bf16", "TN"
  p.n_sms, p.m, p.n, p.k = 132, n, m, k
  print(configs.choose(p).name)
end
local by_8, by_4 = "((8,8),(32,2)):((32,256),(1,64))", "((8,8),(4,16)):((4,33),(1,68))"
choose_nested(by_8, 100352, 256, 2304, 90)  -- expect: hopper 256x128x64, gather
choose_nested(by_8, 25088, 128, 1152, 90)   -- expect: hopper 128x128x64, gather
choose_nested(by_8, 100352, 256, 2304, 80)  -- expect: mma 128x128x64
choose_nested(by_4, 100352, 256, 2304, 90)  -- expect: mma 128x128x64
local f = problem(view(zeros(f32, 4096), L(by_8)), zeros(f32, row_major{64, 64}),
  zeros(f32, row_major{64, 64}))
f.target, f.sm, f.shared, f.n_sms, f.m, f.n, f.k = "cuda", 90, 232448, 132, 256, 100352, 2304
print(configs.choose(f).name) -- expect: simple 128x128x8
-- Types that wgmma takes from shared memory contiguous along K only, in every majorness.
local function choose_majors(dtype, majors, n)
  local function operand(by_k)
    return zeros(dtype, layout({64, 64}, by_k and {64, 1} or {1, 64}))
  end
  local p = problem(operand(majors:find "^T" ~= nil), operand(majors:find "N$" ~= nil))
  p.target, p.sm, p.shared, p.type_name, p.majors = "cuda", 90, 232448, dtype.name, majors
  p.n_sms, p.m, p.n, p.k = 132, n, n, n
  print(dtype, majors, n, configs.choose(p).name)
end
choose_majors(tf32, "TN", 4096)  -- expect: tf32	TN	4096	hopper 256x128x32
choose_majors(tf32, "TT", 4096)  -- expect: tf32	TT	4096	hopper 256x128x32
choose_majors(tf32, "NN", 4096)  -- expect: tf32	NN	4096	hopper 256x128x32, across
choose_majors(tf32, "NT", 4096)  -- expect: tf32	NT	4096	hopper 256x128x32, transposed first
choose_majors(tf32, "NT", 2048)  -- expect: tf32	NT	2048	hopper 256x128x32, transposed first
choose_majors(tf32, "NT", 1792)  -- expect: tf32	NT	1792	hopper 128x256x32
choose_majors(i8, "TN", 4096)    -- expect: i8	TN	4096	hopper 128x128x128, ping-pong
choose_majors(i8, "TN", 8192)      -- expect: i8	TN	8192	hopper 192x128x128, ping-pong
choose_majors(f8e4m3, "TN", 2048)  -- expect: f8e4m3	TN	2048	hopper 128x128x128, ping-pong, early
choose_majors(f8e4m3, "TN", 4096)  -- expect: f8e4m3	TN	4096	hopper 256x128x128, in passes
-- Scales of 1x128 by 128x128, in C by rows and by columns, and of 1x128 by 1x128.
for _, case in ipairs{{32, true}, {32, false}, {4096, true}} do
  local rows_of_b, by_rows = table.unpack(case)
  local X, Y = zeros(f8e4m3, row_major{4096, 256}),
    zeros(bf16, by_rows and row_major{4096, 4096} or {4096, 4096})
  print(require "cuttle.matmul".explain(X, X, Y, {device = "h200", scale_a = zeros(f32, {4096, 2}),
    scale_b = zeros(f32, {rows_of_b, 2})}).config)
end
-- expect: hopper 256x128x128, scaled
-- expect: hopper 128x256x128, scaled
-- expect: hopper 128x256x128, scaled
for _, majors in ipairs{"TN", "NN", "TT"} do choose_majors(tf32, majors, 1024) end
-- expect: tf32	TN	1024	hopper 64x64x32
-- expect: tf32	NN	1024	hopper 64x64x32, across
-- expect: tf32	TT	1024	hopper 64x64x32
choose_majors(f8e4m3, "TN", 1024)  -- expect: f8e4m3	TN	1024	hopper 64x64x128
choose_majors(tf32, "TT", 1280)    -- expect: tf32	TT	1280	hopper 128x128x32
choose_majors(tf32, "NT", 1024)    -- expect: tf32	NT	1024	hopper 64x128x32
choose_majors(i8, "NN", 4096)      -- expect: i8	NN	4096	hopper 256x128x128, across
choose_majors(i8, "NT", 4096)      -- expect: i8	NT	4096	hopper 256x128x128, transposed first
choose_majors(i8, "NT", 2048)      -- expect: i8	NT	2048	hopper 256x128x128, transposed first
choose_majors(i8, "NT", 1024)      -- expect: i8	NT	1024	mma 64x64x128
choose_majors(f8e4m3, "NT", 4096)  -- expect: f8e4m3	NT	4096	hopper 256x128x128, transposed first
-- A device with fewer or more multiprocessors: the tile of which all are multiplied at one time is another.
choose(1536, 1536, 1536, 72)  -- expect: 1536	1536	1536	hopper 256x128x64, 4 stages
choose(2048, 2048, 2048, 72)  -- expect: 2048	2048	2048	hopper 256x128x64
choose(2048, 2048, 2048, 256) -- expect: 2048	2048	2048	hopper 128x128x64
