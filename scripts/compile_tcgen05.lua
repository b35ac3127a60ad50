-- compile_tcgen05.lua: compiles a product of each row and form of tcgen05 (runtime/ir/atoms.def:
-- types, A in shared or tensor memory, one block or a pair, scales) with NVRTC for each target that
-- has it, and sees that other targets are refused by name. Takes a minute, and needs NVRTC.
--   build/cuttle scripts/compile_tcgen05.lua
-- With --kernels floats|integers it is the script that is compiled.

-- {====== The kernels ======

local dtypes <const> = { tf32 = f32, f16 = f16, bf16 = bf16, f8e4m3 = f8e4m3, f8e5m2 = f8e5m2,
  i8 = i8, u8 = u8 }

-- What a product needs: rows and columns of a block, element types, sizes.
local function case_of(name)
  local a = atom(name)
  local of_a, of_b, of_c = name:match "<(%w+),(%w+),(%w+)"
  local is_pair, is_packed = name:find "2x1SM" ~= nil, of_a == "f4e2m1"
  local case = { name = name, mma = tiled_mma(name), is_pair = is_pair, vec = a.sf_vec_size,
    from_tensor = name:find "_TS<" ~= nil, N = size(a.shape, 1),
    A = is_packed and u32 or dtypes[of_a], B = is_packed and u32 or dtypes[of_b],
    C = of_c == "i32" and i32 or f32, K = size(a.shape, 2) // (is_packed and 8 or 1) }
  case.rows = is_pair and size(a.shape, 0) // 2 or size(a.shape, 0)
  case.scale = name:find "ue4m3" and f8ue4m3 or f8ue8m0
  case.blocks = case.vec and size(a.layout_sfa, 1) // case.rows
  return case
end

local function tile_of(dtype, rows, K)
  return shared(dtype, tile_to_shape(gmma_layout(dtype, "K", 32), { rows, K }))
end

local function kernel_of(case, name)
  local both = case.is_pair and pair_tile or function(t) return t end
  return kernel(name, function()
    local acc = tmem(case.C, { case.rows, case.N })
    local mA = case.from_tensor and tmem(case.A, { case.rows, case.K })
      or tile_of(case.A, case.rows, case.K)
    local sB = tile_of(case.B, case.is_pair and case.N // 2 or case.N, case.K)
    local tSFA = case.vec and tmem(case.scale, { 128, 4 })
    local tSFB = case.vec and tmem(case.scale, { 128, 4 })
    if case.is_pair then sync_cluster() else sync_threads() end
    if threadIdx.x == 0 then
      local thr = case.mma:get_slice(0)
      local A, B = thr:partition_A(both(mA)), thr:partition_B(both(sB))
      if case.vec then
        A = { A, thr:partition_SFA(both(tile(tSFA, { 128, case.blocks }, { 0, 0 }))) }
        B = { B, thr:partition_SFB(tile(tSFB, { case.N, case.blocks }, { 0, 0 })) }
      end
      gemm(case.mma, A, B, thr:partition_C(both(acc)), { accumulate = false })
    end
    if case.is_pair then sync_cluster() end
  end, { static_shapes = true })
end

-- One size of each: the smallest N, and the largest M.
local function run_kernels(kind)
  local n = 0
  for _, name in ipairs(atoms { family = "tcgen05" }) do
    local is_integer = name:find "_S8_" ~= nil
    local M, N = name:match ",(%d+),(%d+)[,>]"
    local is_chosen = N == "32" and M == (name:find "2x1SM" and "256" or "128")
    if is_chosen and is_integer == (kind == "integers") then
      local case = case_of(name)
      local cluster = case.is_pair and 2 or nil
      kernel_of(case, "product" .. n) { grid = 2, block = 32, cluster = cluster }()
      n = n + 1
    end
  end
end

if arg[1] == "--kernels" then
  run_kernels(arg[2])
  return
end

-- {====== Targets ======

local targets <const> = { "100a", "100f", "103a", "110a", "90a", "120a" }
local has <const> = {
  floats = { ["100a"] = true, ["100f"] = true, ["103a"] = true, ["110a"] = true },
  integers = { ["100a"] = true, ["110a"] = true },
}

local n_wrong = 0
for _, sm in ipairs(targets) do
  for _, kind in ipairs { "floats", "integers" } do
    local pipe <close> = assert(io.popen(("CUTTLE_DEVICE=cpu '%s' emit --compile --sm=%s '%s' "
      .. "--kernels %s 2>&1"):format(arg[-1], sm, arg[0], kind)))
    local text = pipe:read "a"
    local is_done = pipe:close() == true
    local n = select(2, text:gsub("__global__", ""))
    local refusal = text:match "needs? sm_100a[^\n]*"
    local is_right = has[kind][sm] and is_done and n > 0 or not has[kind][sm] and refusal ~= nil
    n_wrong = n_wrong + (is_right and 0 or 1)
    print(("%-3s sm_%-5s %-9s %s"):format(is_right and "ok" or "BAD", sm, kind,
      refusal or ("%d kernels compile"):format(n)))
  end
end
os.exit(n_wrong == 0, true)
