-- The atoms of sm_120: one kernel with all of them compiles for each target that has them, with a
-- function for each, and other targets refuse them by name. It needs NVRTC and no GPU.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local cuttle = arg[-1]

local script = shell.file [[
local k = kernel("all", function(out)
  for i, name in ipairs(atoms { family = "mma.sync", sm = 120 }) do
    local a = atom(name)
    if a.sm == 120 then
      local mma = tiled_mma(a)
      local thr = mma:get_slice(threadIdx.x)
      local M, N, K = a.shape[1], a.shape[2], a.shape[3]
      local per = a.bits.a == 4 and 8 or 1
      local ta, tb = per == 8 and u32 or a.dtypes.a, per == 8 and u32 or a.dtypes.b
      local rA = thr:fragment_A(thr:partition_A(shared(ta, row_major { M, K // per })))
      local rB = thr:fragment_B(thr:partition_B(shared(tb, row_major { N, K // per })))
      local rC = thr:fragment_C(thr:partition_C(shared(a.dtypes.c, row_major { M, N })))
      clear(rA) clear(rB) clear(rC)
      if a.sf_vec_size then
        local rSFA, rSFB = fragment(a.dtypes.sfa, { K // a.sf_vec_size }),
          fragment(a.dtypes.sfb, { K // a.sf_vec_size })
        fill(rSFA, 1) fill(rSFB, 1)
        gemm(a, { rA(_, 0, 0), rSFA }, { rB(_, 0, 0), rSFB }, rC(_, 0, 0))
      else
        gemm(mma, rA, rB, rC)
      end
      out[threadIdx.x] = out[threadIdx.x] + f32(rC[0])
    end
  end
end)
k { grid = 1, block = 32 } (zeros(f32, 32))
]]

local function emit(options, program)
  local pipe = assert(io.popen(("'%s' emit %s %s 2>&1"):format(cuttle, options, program or script)))
  local text = pipe:read "a"
  return pipe:close(), text
end

local cubin = os.tmpname()
-- How often the machine code has an instruction; nil without NVIDIA's nvdisasm on the PATH.
local function count_machine(instruction)
  local pipe = assert(io.popen(("nvdisasm -c '%s' 2>/dev/null"):format(cubin)))
  local code = pipe:read "a"
  return pipe:close() and select(2, code:gsub(instruction, "")) or nil
end

for _, target in ipairs { "120a", "121a", "120f" } do
  local is_done, text = emit(("--sm=%s --cubin=%s"):format(target, cubin))
  if text:find("cannot load", 1, true) then tap.skip_all "no NVRTC on this machine" end
  local _, n = text:gsub("__forceinline__ void SM120_", "")
  tap.ok(is_done and n == 77, "77 atoms compile for sm_" .. target, text:sub(-500))
  local plain, scaled = count_machine "%sQMMA%.16832%.", count_machine "%sQMMA%.SF%.16832%."
  local name = ("50 QMMA, 25 QMMA.SF and 2 OMMA.SF for sm_%s"):format(target)
  if plain then
    tap.ok(plain == 50 and scaled == 25 and count_machine "%sOMMA%.SF%.16864%." == 2, name, plain,
      scaled)
  else
    tap.skip(name, "no nvdisasm on the PATH")
  end
end
-- The middle bits of a byte for 4-bit floats of kind::f8f6f4, and no others.
local _, text = emit "--sm=120a"
local function body(name) return text:match("void " .. name .. "(%b())") and
  text:match("void " .. name .. "%b() {\n(.-)\n}") or "" end
tap.ok(body "SM120_16x8x32_TN_f4e2m1_f8e4m3_f32":find('"r"(a0 << 2)', 1, true) ~= nil and
  body "SM120_16x8x32_TN_f4e2m1_f8e4m3_f32":find('"r"(b0)', 1, true) ~= nil, "e2m1 is shifted")
tap.ok(body "SM120_16x8x64_TN_VS_f4e2m1_f4e2m1_f32_f8ue4m3_16":find('"r"(a0)', 1, true) ~= nil,
  "packed e2m1 is not")
for _, target in ipairs { "90a", "100a" } do
  local is_done, said = emit("--sm=" .. target)
  tap.ok(not is_done and said:find("SM120_16x8x32_TN<f8e4m3,f8e4m3,f32> needs sm_120a; the target "
    .. "is sm_" .. target:match "%d+", 1, true) or false, "sm_" .. target .. " refuses", said)
end
-- The example of the three formats.
for _, target in ipairs { "120a", "121a" } do
  local is_done, said = emit(("--sm=%s --compile"):format(target),
    "examples/block_scaled.lua 64 64 128")
  local _, n = said:gsub("mma%.sync[^\n]*block_scale", "")
  tap.ok(is_done and n == 3, "examples/block_scaled.lua compiles for sm_" .. target, said:sub(-500))
end
os.remove(script)
os.remove(cubin)
tap.done()
