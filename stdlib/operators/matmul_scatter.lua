-- matmul_scatter.lua: rows of a sum over ranks: each rank has a part of K, A (M,K/W) and B (N,K/W).
-- Rank r gets panel r of the rows of sum A B', (M/W,N), by one kernel on each rank, which sends
-- tiles to their owners while others are multiplied (gemm_scatter.lua). This file checks the
-- arguments, makes the memory that ranks share, and launches. All ranks launch it, and the launches
-- run at the same time.
local arguments = require "cuttle.arguments"
local gathering = require "cuttle.gather_matmul"
local launches = require "cuttle.operator_steps"
local lists = require "cuttle.lists"
local matmul = require "cuttle.matmul"
local tiles = require "cuttle.tiles"
local M = {}

local N_MOVERS <const>, LEAST_TILE <const> = 3, 64
local HALVES <const> = { f16 = true, bf16 = true }

local function fail(format, ...) tiles.fail("matmul_scatter", format, ...) end

-- Those of gather_matmul with this kernel. Its threads that move want registers for sums, too, and
-- those that multiply do nothing with the sums.
M.configs = {}
for _, config in ipairs(gathering.configs) do
  local new = lists.with(config)
  if new.registers then new.registers, new.vectors = { 104, 200 }, 6 end
  new.name, new.template = config.name:gsub("^gather", "scatter"), "cuttle.gemm_scatter"
  M.configs[#M.configs + 1] = new
end

-- {====== Memory ======

-- Elements of `receive` and of `partial`, and flags.
local function sizes_of(height, width, n)
  local n_tiles = cdiv(height, LEAST_TILE) * cdiv(width, LEAST_TILE)
  return height * width * (n - 1), height * width * n, n_tiles * N_MOVERS * (n - 1)
end

--- Memory for workspaces, each as a row: of this and of all smaller results. Flags are 0.
function M.memory(dtype, height, width, n)
  local n_received, n_partial, n_flags = sizes_of(height, width, n)
  return { receive = tensor(dtype, n_received), partial = tensor(dtype, n_partial),
           flags = zeros(u32, n_flags) }
end

--- Is the memory enough for such results?
function M.fits(memory, height, width, n)
  local n_received, n_partial, n_flags = sizes_of(height, width, n)
  return size(memory.receive) >= n_received and size(memory.partial) >= n_partial
    and size(memory.flags) >= n_flags
end

--- A workspace in such memory, one's own or as a rank sees another's.
function M.space_in(memory, height, width, n)
  local function panels(t, count)
    return t and view(t, layout({ height, width, count }, { width, 1, height * width }))
  end
  return { receive = panels(memory.receive, n - 1), partial = panels(memory.partial, n),
           flags = memory.flags }
end

--- What one of n ranks needs for results (M/W,N) of that type: {receive =, flags =} which others
--- write, and partial =. Flags are 0.
function M.workspace(dtype, height, width, n)
  return M.space_in(M.memory(dtype, height, width, n), height, width, n)
end

--- The workspaces of all ranks as rank r sees them, in m:run(function(r) ... end); `own` is its
--- own.
function M.share(r, own)
  local receive, flags, list = r:peers(own.receive), r:peers(own.flags), {}
  for rank = 0, r.mesh.n - 1 do
    list[rank + 1] = { receive = receive[rank], flags = flags[rank], partial = own.partial }
  end
  return list
end

-- {====== Arguments ======

local function check_out(C, A, B, n)
  for _, x in ipairs { { A, "A" }, { B, "B" }, { C, "C" } } do
    arguments.check_tensor("matmul_scatter", x[1], x[2], "of two modes", "it launches a kernel")
  end
  local height, width = size(A, 0) // n, size(B, 0)
  if size(A, 0) % n ~= 0 or size(C, 0) ~= height or size(C, 1) ~= width then
    fail("C is %s; expected (%d/%d,%d): the rows of a rank, as A is %s and B is %s", C.layout,
      size(A, 0), n, width, A.layout, B.layout)
  elseif C.dtype ~= A.dtype or not HALVES[A.dtype.name] then
    fail("A is %s and C is %s; expected f16 or bf16 for both", A.dtype, C.dtype)
  end
  local strides = stride(C)
  if strides[2] ~= 1 or strides[1] ~= width or width % 8 ~= 0 then
    fail("C is %s; expected a compact one with rows of whole 16 bytes, (%d,%d):(%d,1)", C.layout,
      height, cdiv(width, 8) * 8, cdiv(width, 8) * 8)
  end
  return height
end

local function problem_of(A, B, space, height, n)
  local strides = stride(A)
  local rows = view(A, layout({ height, size(A, 1), n },
    { strides[1], strides[2], strides[1] * height }))
  local p = matmul.problem(rows, B, space.partial)
  if p.a_major ~= "k" or p.b_major ~= "k" or not p.swapped then
    fail("A is %s and B is %s; expected both contiguous along K", A.layout, B.layout)
  elseif p.k == 0 then
    fail("A is %s; expected some K", A.layout)
  end
  return p
end

-- {====== Launches ======

-- Of each rank by distance from `rank`, the own first.
local function by_distance(spaces, rank, name)
  local list = {}
  for i = 0, #spaces - 1 do list[i + 1] = spaces[(rank + i) % #spaces + 1][name] end
  return gathering.same_list(spaces, name .. rank, list)
end

-- What the kernel is given beside A and B.
local function add_panels(p, C, rank, spaces)
  p.panels = { partial = spaces[rank + 1].partial, out = C,
               receive = by_distance(spaces, rank, "receive"),
               flags = by_distance(spaces, rank, "flags"), rank = i32(rank),
               count = i32(#spaces) }
  return p
end

local function step_of(A, B, C, rank, spaces, options)
  local n = #spaces
  if math.type(rank) ~= "integer" or rank < 0 or rank >= n then
    fail("rank is %s, but there are %d workspaces; expected 0 to %d", tostring(rank), n, n - 1)
  end
  local height, own = check_out(C, A, B, n), spaces[rank + 1]
  local p = problem_of(A, B, own, height, n)
  local config = gathering.choose(M.configs, p, options.config)
  if p.m == 0 or p.n == 0 then return nil end
  local why = gathering.device_trouble() or require("cuttle.gemm_hopper").trouble(config, p)
  if why then fail("%s", why) end
  return matmul.step(add_panels(p, C, rank, spaces), config, options.stream), p
end

local function read_options(options)
  return arguments.options("matmul_scatter", options, { "config", "stream" },
    "{config = 'scatter 64x64x64'}")
end

--- The step that it launches, of at least 2 ranks: {kernel =, launch =, args =}. memo: a table of
--- the caller's, for tensors of these layouts, types and devices and this rank, without options.
--- Then C is neither A nor B.
function M.step(A, B, C, rank, spaces, options, memo)
  local function find() return step_of(A, B, C, rank, spaces, read_options(options)) end
  if not memo then return (find()) end
  return matmul.step_by(memo, A, B, memo.known and spaces[rank + 1].partial, function(p)
    return add_panels(p, C, rank, spaces)
  end, find)
end

--- matmul_scatter(A, B, C, rank, spaces[, options]) -> C: panel `rank` of the rows of the sum of
--- all ranks' A B'. `spaces` has the ranks' M.workspace in order, as this rank sees them.
function M.matmul_scatter(A, B, C, rank, spaces, options)
  options = read_options(options)
  if #spaces == 1 then return matmul.matmul(A, B, C) end
  local step = step_of(A, B, C, rank, spaces, options)
  launches.run{ step }
  return C
end

--- The same, to be launched again at least cost: a function, and the configuration's name.
function M.prepare(A, B, C, rank, spaces, options)
  options = read_options(options)
  if #spaces == 1 then return matmul.prepare(A, B, C) end
  local step = step_of(A, B, C, rank, spaces, options)
  return launches.prepare{ step }, step and step.config.name or "none"
end

return M
