-- The CUDA C of products of narrow floats, compiled for the host, where mma_host.h does what the PTX ISA
-- says of the instruction, gives what the CPU engine gives: two warps, with scales and without, each type
-- of A by another of B, and the packed ones.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local scratch = os.tmpname()
local function path(extension) return scratch .. extension end
local write = shell.write_file

local compiler = os.getenv("CXX") or "c++"
write(path(".cpp"), "#include <barrier>\nint main() { std::barrier<> b(1); }\n")
local flags = "-std=c++20 -O1 -w -pthread -Itests/support"
if not os.execute(("%s %s -o %s %s >/dev/null 2>&1"):format(compiler, flags, path(".out"),
  path(".cpp"))) then
  tap.skip_all "no compiler of C++20"
end

write(path(".lua"), [[
local list = assert(io.open(arg[1], "w"))
local number = 0
local masks = { f8e4m3 = 0xBF, f8e5m2 = 0xBF, f6e3m2 = 63, f6e2m3 = 63, f4e2m1 = 255 }
local order = { f8e4m3 = 0, f8e5m2 = 1, f6e3m2 = 2, f6e2m3 = 3, f4e2m1 = 4 }
local function is_tested(a)
  local of_a, of_b = order[a.dtypes.a.name], order[a.dtypes.b.name]
  return a.dtypes.c == f32 and (a.bits.a == 4 or (of_b - of_a) % 5 == 1)
end
local function filled(t, f)
  local bytes = recast(view(t, size(t)), u8)
  for i = 0, size(bytes) - 1 do bytes[i] = f(i) end
  return t, size(bytes)
end
local function pattern(seed, mask)
  return function(i) return (i * 40503 + seed) >> 4 & mask end
end

for _, name in ipairs(atoms { family = "mma.sync", sm = 120 }) do
  local a = atom(name)
  if a.sm == 120 and is_tested(a) then
    number = number + 1
    local mma = tiled_mma(a, { 2, 1 }, { 32, 16 })
    local M, N, K = 32, 16, 2 * a.shape[3]
    local ta, tb, ts = a.dtypes.a, a.dtypes.b, a.dtypes.sfa or f8ue8m0
    local V = a.sf_vec_size or K
    local mask_a, mask_b = masks[ta.name], masks[tb.name]
    local one = ts == f8ue8m0 and 125 or 0x36
    local A, n_a = filled(zeros(ta, row_major { M, K }), pattern(3, mask_a))
    local B, n_b = filled(zeros(tb, row_major { N, K }), pattern(11, mask_b))
    local SFA, n_sfa = filled(zeros(ts, row_major { M, K // V }),
      function(i) return one + (i * 7 + 1) % 5 end)
    local SFB, n_sfb = filled(zeros(ts, row_major { N, K // V }),
      function(i) return one + (i * 7 + 2) % 5 end)
    local C = zeros(f32, row_major { M, N })
    local own = (a.sf_vec_size and "scaled_" or "plain_") .. number
    kernel(own, function(A, B, SFA, SFB, C)
      local thr = mma:get_slice(threadIdx.x)
      local rA, rB = thr:partition_fragment_A(A), thr:partition_fragment_B(B)
      local rC = thr:partition_fragment_C(C)
      copy(thr:partition_A(A), rA)
      copy(thr:partition_B(B), rB)
      clear(rC)
      if a.sf_vec_size then
        local rSFA, rSFB = thr:partition_fragment_SFA(SFA), thr:partition_fragment_SFB(SFB)
        copy(thr:partition_SFA(SFA), rSFA)
        copy(thr:partition_SFB(SFB), rSFB)
        gemm(mma, { rA, rSFA }, { rB, rSFB }, rC)
      else
        gemm(mma, rA, rB, rC)
      end
      copy(rC, thr:partition_C(C))
    end, { static_shapes = true }) { grid = 1, block = mma.threads } (A, B, SFA, SFB, C)
    local hash, bits = 0, recast(view(C, size(C)), u32)
    for i = 0, size(bits) - 1 do hash = (hash * 31 + bits[i]) & 0xFFFFFFFF end
    list:write(("%s %d %d %d %d %d %d %d %d %d %d\n"):format(own, n_a, n_b, n_sfa, n_sfb,
      size(C), mask_a, mask_b, one, mma.threads, hash))
  end
end
list:close()
]])

local text = shell.cuttle("emit --sm=120a %s %s", path(".lua"), path(".list"))

-- The instruction's operands as the assembly has them, for the function mma of mma_host.h.
local function call_of(body)
  local ptx = body:match 'asm volatile%("(%S+)'
  local c, rest = {}, {}
  for letter, operand in body:gmatch '"(%+?%a)"(%b())' do
    local list = letter:find "%+" and c or rest
    list[#list + 1] = (letter:find "%+" and "&" or "") .. operand
  end
  local lists = { table.concat(rest, ", ", 1, 4), table.concat(rest, ", ", 5, 6),
                  table.concat(rest, ", ", 7) }
  local scales = rest[7] and ", sf[] = {" .. lists[3] .. "}" or ""
  return ("{ float *c[] = {%s}; unsigned a[] = {%s}, b[] = {%s}%s; mma(\"%s\", c, a, b, %s); }")
    :format(table.concat(c, ", "), lists[1], lists[2], scales, ptx, rest[7] and "sf" or "nullptr")
end

local out, seen = { '#include "mma_host.h"\n' }, {}
for head, body in text:gmatch "(static __device__ __forceinline__ [^{;]*)(%b{})\n" do
  if not seen[head] then
    out[#out + 1] = head .. (body:find "mma%.sync" and call_of(body) or body) .. "\n"
  end
  seen[head] = true
end
for head, body in text:gmatch 'extern "C" (__global__ [^{]*)(%b{})\n' do
  out[#out + 1] = head .. body .. "\n"
end
out[#out + 1] = "int main() {\n"
local want, n = {}, 0
for line in io.lines(path(".list")) do
  local name, numbers, hash = line:match "(%S+) (.*) (%d+)$"
  local takes = name:find "scaled" and "a, b, sfa, sfb, c" or "a, b, c"
  out[#out + 1] = ("multiply(\"%s\", %s,\n  [](auto a, auto b, auto sfa, auto sfb, auto c) {"
    .. " %s(%s); });\n"):format(name, (numbers:gsub(" ", ", ")), name, takes)
  want[name], n = hash, n + 1
end
out[#out + 1] = "}\n"
write(path(".cpp"), table.concat(out))
tap.ok(os.execute(("%s %s -o %s %s"):format(compiler, flags, path(".out"), path(".cpp"))),
  "the text compiles for the host")
local got = assert(io.popen(path(".out")))
local right = 0
for line in got:lines() do
  local name, hash = line:match "(%S+) (%d+)"
  if want[name] == hash then right = right + 1 else print("# " .. line, want[name]) end
end
got:close()
for _, extension in ipairs { "", ".cpp", ".out", ".lua", ".list" } do os.remove(path(extension)) end
tap.ok(n == 12 and right == n,
  ("%d of %d kernels give the bits of the CPU engine"):format(right, n))
tap.done()
