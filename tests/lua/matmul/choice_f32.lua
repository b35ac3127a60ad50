-- Which configuration a product of f32 gets by its shape, and into how many parts K is cut: as it was
-- measured. Only the shape is large: matmul's view of a small problem, with other extents.
local configs, problem = require "cuttle.matmul_choice", require "cuttle.matmul".problem
local split = require "cuttle.gemm_split"
local by_rows, by_columns = zeros(f32, row_major{64, 64}), zeros(f32, {64, 64})
local C = zeros(f32, {64, 64})
local function choose(majors, m, n, k, more)
  local a, b = majors:sub(1, 1) == "T" and by_rows or by_columns,
    majors:sub(2, 2) == "N" and by_rows or by_columns
  local p = problem(a, b, C)
  p.m, p.n, p.k, p.l = m, n, k, 1
  p.target, p.sm, p.shared, p.n_sms = "cuda", 90, 232448, 132
  p.type_name, p.majors = "f32", majors
  for key, value in pairs(more or {}) do p[key] = value end
  local parts = split.parts_on(p, p.sm, p.n_sms)
  p.k, p.l = k // parts, p.l * parts
  print(majors, m, n, k, configs.choose(p).name, parts)
end
choose("NT", 4096, 4096, 4096) -- expect: NT	4096	4096	4096	simt 256x128x16	1
choose("TN", 4096, 4096, 4096) -- expect: TN	4096	4096	4096	simt 128x128x16 turned	1
choose("TN", 8192, 8192, 8192) -- expect: TN	8192	8192	8192	simt 128x128x16 turned	1
choose("TN", 4096, 4096, 1024) -- expect: TN	4096	4096	1024	simt 128x128x8 turned	1
choose("TN", 2048, 2048, 4096) -- expect: TN	2048	2048	4096	simt 128x128x8 turned	1
choose("TN", 5120, 5120, 256)  -- expect: TN	5120	5120	256	simt 128x128x8 turned, 200 registers	1
choose("TN", 2048, 2048, 256)  -- expect: TN	2048	2048	256	simt 128x128x8 turned, small K	1
choose("NN", 5120, 5120, 256)  -- expect: NN	5120	5120	256	simt 128x64x16 turned, pinned	1
choose("NN", 2048, 2048, 256)  -- expect: NN	2048	2048	256	simt 128x64x16 turned	1
choose("TT", 5120, 5120, 256)  -- expect: TT	5120	5120	256	simt 128x64x16 turned	1
choose("TN", 1024, 1024, 1024) -- expect: TN	1024	1024	1024	simt 128x64x32 turned, 2 slices	1
choose("TN", 1024, 1024, 256)  -- expect: TN	1024	1024	256	simt 64x64x16 turned	1
choose("TN", 1152, 1152, 1024) -- expect: TN	1152	1152	1024	simt 64x64x16 turned	1
choose("TN", 512, 512, 512)    -- expect: TN	512	512	512	simt 64x64x16 turned	2
choose("TN", 512, 512, 8192)   -- expect: TN	512	512	8192	simt 128x128x8 turned	16
choose("TN", 256, 256, 65536)  -- expect: TN	256	256	65536	simt 128x128x8 turned	64
choose("TN", 512, 512, 4096)   -- expect: TN	512	512	4096	simt 64x64x16 turned	8
choose("TN", 640, 640, 8192)   -- expect: TN	640	640	8192	simt 64x64x16 turned	4
choose("NT", 512, 512, 8192)   -- expect: NT	512	512	8192	simt 128x64x16	8
-- Few rows or columns, if the other side gives most multiprocessors a tile and copies of 16 bytes can
-- be made; else K in parts.
choose("TN", 4096, 16, 4096)   -- expect: TN	4096	16	4096	dots 32x16x32	1
choose("TN", 4096, 1, 4096)    -- expect: TN	4096	1	4096	dots 32x16x32	1
choose("TN", 16, 4096, 4096)   -- expect: TN	16	4096	4096	dots 16x32x32	1
choose("TN", 4096, 32, 4096)   -- expect: TN	4096	32	4096	dots 32x32x32	1
choose("TN", 4096, 33, 4096)   -- expect: TN	4096	33	4096	dots 64x32x32	1
choose("TN", 64, 4096, 4096)   -- expect: TN	64	4096	4096	dots 64x32x32	1
choose("TN", 65, 4096, 4096)   -- expect: TN	65	4096	4096	simt 128x128x8 turned	8
choose("TN", 3328, 33, 4096)   -- expect: TN	3328	33	4096	simt 128x128x8 turned	8
choose("TN", 3328, 32, 4096)   -- expect: TN	3328	32	4096	dots 32x32x32	1
choose("TN", 2048, 16, 4096)   -- expect: TN	2048	16	4096	simt 128x128x8 turned, small K	16
choose("TN", 4096, 16, 256)    -- expect: TN	4096	16	256	simt 64x64x16 turned	1
choose("TN", 4096, 16, 4098)   -- expect: TN	4096	16	4098	simt 64x64x16 turned	2
choose("NN", 4096, 16, 4096)   -- expect: NN	4096	16	4096	simt 128x64x16 turned	8
choose("TN", 4096, 16, 4096, { sm = 75, shared = 65536 })
-- expect: TN	4096	16	4096	simple 128x128x8	8
-- With an edge or an epilogue rows with limited registers would spill.
choose("TN", 5121, 5120, 256)  -- expect: TN	5121	5120	256	simt 128x128x8 turned, small K	1
choose("TN", 5120, 5120, 256, { epilogue = abs })
-- expect: TN	5120	5120	256	simt 128x128x8 turned, small K	1
choose("NN", 5120, 5120, 250)  -- expect: NN	5120	5120	250	simt 128x64x16 turned	1
choose("NN", 5120, 5120, 256, { beta = 1 })
-- expect: NN	5120	5120	256	simt 128x64x16 turned	1
-- Other devices: with half as many multiprocessors a smaller problem fills them; where a block has at most 99 KiB
-- two of 128x128x16 are no longer resident, and 2 slices do not fit; before sm_80 there are none of these rows.
choose("TN", 1024, 512, 1024, { n_sms = 66 })     -- expect: TN	1024	512	1024	simt 128x64x32 turned, 2 slices	1
choose("TN", 512, 256, 8192, { n_sms = 66 })      -- expect: TN	512	256	8192	simt 128x128x8 turned	16
choose("TN", 4096, 4096, 4096, { shared = 101376, sm = 89 })
-- expect: TN	4096	4096	4096	simt 128x128x8 turned	1
choose("TN", 1024, 1024, 1024, { shared = 101376, sm = 86 })
-- expect: TN	1024	1024	1024	simt 64x64x16 turned	1
choose("TN", 512, 512, 8192, { sm = 75, shared = 65536 })
-- expect: TN	512	512	8192	simple 64x64x16	8
