-- profile_beside_ncu.lua: the counters of `profile` beside those of Nsight Compute. Each example
-- runs on the GPU under ncu, and on the CPU engine under `profile`, with the same arguments, once
-- where it calls bench; the sums over all launches of a kernel are set side by side.
--   build/cuttle scripts/profile_beside_ncu.lua [example ...]    needs a GPU, NVRTC and ncu
--   bash scripts/profile_beside_ncu.sh [example ...]             the same; finds ncu
-- With --csv a line is "example,kernel,counter,ours,ncu". NCU in the environment is ncu's path.
package.path = "tests/support/?.lua;" .. package.path

local shell = dofile "scripts/shell.lua"
local examples <const> = {
  { "sgemm_1", "256", "256", "64" }, { "sgemm_2", "256", "256", "64" },
  { "sgemm_2d_blocktiling", "512" }, { "sgemm_sm80", "256", "256", "128" }, { "gett" },
  { "moye_tiled_matmul", "256", "128", "64" }, { "transpose", "512" }, { "softmax", "64", "1024" },
  { "reduce" }, { "radix_sort" },
}
-- Others that move tensors to where they run: all of their sizes are given, so they may know the
-- device. For scripts/profile_beside_sass.lua.
local more <const> = { { "bfs", "2000" }, { "nbody", "256", "2" } }
local knows_device <const> = { bfs = true, nbody = true }
-- Tiles of products, which the library would choose by the device.
local TILES <const> = "simple 64x64x8"

local SHARED <const> = "l1tex__data_%s_pipe_lsu_mem_shared_op_%s.sum"
local WAVES <const> = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_%s.sum"
local GLOBAL <const> = "l1tex__t_%s_pipe_lsu_mem_global_op_%s.sum"

-- What is compared: our name, and the counters whose sum it is. ncu counts the copies of cp.async
-- among the loads from global memory, too.
local counters <const> = {
  { "shared ld requests", { "smsp__inst_executed_op_shared_ld.sum" } },
  { "shared ld wavefronts", { WAVES:format "ld" } },
  { "shared ld conflicts", { SHARED:format("bank_conflicts", "ld") } },
  { "shared st requests", { "smsp__inst_executed_op_shared_st.sum" } },
  { "shared st wavefronts", { WAVES:format "st" } },
  { "shared st conflicts", { SHARED:format("bank_conflicts", "st") } },
  { "global ld requests", { GLOBAL:format("requests", "ld") } },
  { "global ld sectors", { GLOBAL:format("sectors", "ld") } },
  { "global st requests", { GLOBAL:format("requests", "st") } },
  { "global st sectors", { GLOBAL:format("sectors", "st") } },
  { "cp.async requests", { "smsp__sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts.sum" } },
  { "cp.async sectors", { "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts.sum" } },
  { "cp.async wavefronts",
    { "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum" } },
}

-- {====== In a process of its own: an example ======

local function is_options(x) return type(x) == "table" and getmetatable(x) == nil end

-- The function of products with the same tiles on each device.
local function with_tiles(of)
  return function(...)
    local args = table.pack(...)
    local last = is_options(args[args.n]) and args.n or args.n + 1
    local own = { config = TILES }
    for name, value in pairs(args[last] or {}) do own[name] = value end
    args[last] = own
    return of(table.unpack(args, 1, last))
  end
end

-- Runs an example as on the CPU engine: with its sizes, and what it benches once. Did it end well?
local function run_example(path, args)
  local internal = require "internal"
  local choose = device
  internal.launch.bench_by(internal.launch.bench_once)
  if not knows_device[path:match "([^/]*)%.lua$"] then
    rawset(_G, "device", function(name)
      if name ~= nil then return choose(name) end
      return { name = choose().name } -- without an `sm`, which many take for large sizes
    end)
  end
  local products = require "cuttle.matmul"
  rawset(_G, "matmul", with_tiles(matmul))
  rawset(products, "prepare", with_tiles(products.prepare))
  math.randomseed(1)
  rawset(_G, "arg", table.move(args, 1, #args, 1, { [0] = path }))
  os.exit = function() error("it leaves", 0) end -- luacheck: ignore 122
  print = function() end -- luacheck: ignore 121
  local ok, why = pcall(assert(loadfile(path)), table.unpack(args))
  local ends = ok or why == "it leaves"
  if not ends then io.stderr:write("# ", tostring(why), "\n") end
  return ends
end

local function add(counts, name, n) counts[name] = (counts[name] or 0) + n end

local function add_access(counts, a)
  local op = a.op == "load" and "ld" or "st"
  if a.atomic then return end
  if a.async then
    if a.space == "global" then
      add(counts, "cp.async requests", a.requests)
      add(counts, "cp.async sectors", a.sectors)
      add(counts, "global ld requests", a.requests)
      add(counts, "global ld sectors", a.sectors)
    else
      add(counts, "cp.async wavefronts", a.wavefronts)
    end
  elseif a.space == "shared" then
    add(counts, ("shared %s requests"):format(op), a.requests)
    add(counts, ("shared %s wavefronts"):format(op), a.wavefronts)
    add(counts, ("shared %s conflicts"):format(op), a.conflicts)
  elseif a.space == "global" then
    add(counts, ("global %s requests"):format(op), a.requests)
    add(counts, ("global %s sectors"):format(op), a.sectors)
  end
end

local function print_counts(path, args, sm)
  local say = print
  device("cpu")
  local result = profile(function() run_example(path, args) end, { sm = sm })
  for _, kernel in ipairs(result.kernels) do
    local counts = {}
    for _, line in ipairs(kernel.lines) do
      for _, a in ipairs(line.accesses) do add_access(counts, a) end
    end
    say(("%s\tlaunches\t%d"):format(kernel.name, kernel.launches))
    if kernel.counted ~= "machine code" then say(kernel.name .. "\tunknown\t1") end
    for name, n in pairs(counts) do say(("%s\t%s\t%d"):format(kernel.name, name, n)) end
  end
end

-- What our profile says of each line, for scripts/profile_beside_sass.lua.
local function print_lines(path, args, sm)
  local say = print
  device("cpu")
  local result = profile(function() run_example(path, args) end, { sm = sm })
  for _, kernel in ipairs(result.kernels) do
    for _, line in ipairs(kernel.lines) do
      for _, a in ipairs(line.accesses) do
        local op = a.atomic and "atomic" or a.matrix and "matrix" or a.async and "copy" or a.op
        say(table.concat({ kernel.name, line.file .. ":" .. line.line, op, a.space, a.requests,
          a.sectors or 0, a.wavefronts or 0,
          a.is_unsure and 1 or 0 }, "\t"))
      end
    end
  end
end

-- {====== Both ======

local program <const> = arg[-1]

local function quoted(list)
  local out = {}
  for i, text in ipairs(list) do out[i] = shell.quote(text) end
  return table.concat(out, " ")
end

-- {[kernel] = {[counter] = sum}}, kernels in their order too.
local function ours_of(path, args, sm)
  local command = quoted { program, arg[0], "--count", tostring(sm), path, table.unpack(args) }
  local all, text = {}, shell.capture("CUTTLE_DEVICE=cpu " .. command)
  for kernel, name, n in text:gmatch "([^\t\n]+)\t([^\t\n]+)\t(%d+)" do
    if not all[kernel] then
      all[kernel] = {}
      all[#all + 1] = kernel
    end
    add(all[kernel], name, math.tointeger(tonumber(n)))
  end
  return all
end

-- The cells of a line of CSV.
local function cells_of(line)
  local cells = {}
  for quote, text in (line .. ","):gmatch '("?)(.-)%1,' do cells[#cells + 1] = quote and text end
  return cells
end

local function columns_of(cells)
  local columns = {}
  for i, name in ipairs(cells) do columns[name] = i end
  return columns["Metric Name"] and columns["Metric Value"] and columns["Kernel Name"] and columns
end

-- The same of ncu's output, by metric.
local function read_ncu(text)
  local all, columns, seen = {}, nil, {}
  for line in text:gmatch "[^\n]+" do
    local cells = cells_of(line)
    columns = columns or columns_of(cells)
    local metric = columns and cells[columns["Metric Name"]]
    local text_of_value = columns and cells[columns["Metric Value"]] or ""
    local value = tonumber((text_of_value:gsub(",", "")))
    if metric and value then
      local kernel, id = cells[columns["Kernel Name"]]:match "[%w_]+", cells[columns["ID"] or 1]
      all[kernel] = all[kernel] or {}
      add(all[kernel], metric, value)
      if not seen[kernel .. id] then add(all[kernel], "launches", 1) end
      seen[kernel .. id] = true
    end
  end
  return all
end

local function metrics()
  local names = {}
  for _, counter in ipairs(counters) do
    for _, name in ipairs(counter[2]) do names[#names + 1] = name end
  end
  return table.concat(names, ",")
end

local function theirs_of(path, args, kernels)
  local ncu = os.getenv "NCU" or "ncu"
  local command = quoted { ncu, "--csv", "--print-units", "base", "--target-processes", "all",
    "--clock-control", "none", "--kernel-name", "regex:^(" .. table.concat(kernels, "|") .. ")$",
    "--metrics", metrics(), program, arg[0], "--run", path, table.unpack(args) }
  local text = shell.capture("CUTTLE_DEVICE=cuda " .. command .. " 2>&1")
  local all = read_ncu(text)
  if not next(all) then io.stderr:write("# ncu counted nothing; it said:\n", text, "\n") end
  return all
end

local function ratio_text(ours, theirs)
  if ours == theirs then return "1" end
  return theirs == 0 and "-" or ("%.3f"):format(ours / theirs)
end

local n_counters, n_equal = 0, 0

local function print_kernel(example, kernel, ours, theirs, as_csv)
  local scale = (theirs.launches or 0) > 0 and ours.launches / theirs.launches or 1
  if not as_csv then
    print(("%s %s: %d launches, ncu %d%s%s"):format(example, kernel, ours.launches,
      theirs.launches or 0, scale ~= 1 and " (scaled)" or "", ours.unknown
      and "; our counts are those of the CUDA C" or ""))
  end
  for _, counter in ipairs(counters) do
    local own, sum = ours[counter[1]] or 0, 0
    for _, metric in ipairs(counter[2]) do sum = sum + (theirs[metric] or 0) * scale end
    if own ~= 0 or sum ~= 0 then
      n_counters, n_equal = n_counters + 1, n_equal + (own == sum and 1 or 0)
    end
    if as_csv then
      print(("%s,%s,%s,%d,%.0f"):format(example, kernel, counter[1], own, sum))
    elseif own ~= 0 or sum ~= 0 then
      local note = counter[1] == "shared ld requests" and (ours["cp.async requests"] or 0) > 0
        and "  (ncu's has three that do nothing beside cp.async)" or ""
      print(("  %-22s %14d %14.0f  %s%s"):format(counter[1], own, sum, ratio_text(own, sum), note))
    end
  end
end

local function compare(example, as_csv)
  local path = ("examples/%s.lua"):format(example[1])
  local args = table.move(example, 2, #example, 1, {})
  local ours = ours_of(path, args, device().sm or 90)
  local theirs = theirs_of(path, args, table.move(ours, 1, #ours, 1, {}))
  for _, kernel in ipairs(ours) do
    print_kernel(example[1], kernel, ours[kernel], theirs[kernel] or {}, as_csv)
  end
end

local function main()
  local as_csv, wanted = false, {}
  for _, name in ipairs(arg) do
    if name == "--csv" then as_csv = true else wanted[name] = true end
  end
  if not as_csv then
    print(("%-24s %14s %14s  ours / ncu"):format("counter", "ours", "ncu"))
  end
  for _, example in ipairs(examples) do
    if not next(wanted) or wanted[example[1]] then compare(example, as_csv) end
    wanted[example[1]] = nil
    io.stdout:flush()
  end
  for name in pairs(wanted) do compare({ name }, as_csv) end
  if not as_csv then print(("%d of %d counters are equal"):format(n_equal, n_counters)) end
end

-- For scripts/profile_beside_sass.lua, too.
if arg[1] == "--sizes" then
  for _, list in ipairs { examples, more } do
    for _, example in ipairs(list) do print(table.concat(example, " ")) end
  end
elseif arg[1] == "--run" then
  local ends = run_example(arg[2], table.move(arg, 3, #arg, 1, {}))
  if not ends then error("it did not end", 0) end
elseif arg[1] == "--lines" then
  print_lines(arg[3], table.move(arg, 4, #arg, 1, {}), math.tointeger(tonumber(arg[2])))
elseif arg[1] == "--count" then
  print_counts(arg[3], table.move(arg, 4, #arg, 1, {}), math.tointeger(tonumber(arg[2])))
else
  main()
end
