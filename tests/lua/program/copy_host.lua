-- The CUDA C of copies by atoms, compiled for the host, where warp_host.h does what the PTX ISA says of the
-- instructions, gives what the CPU engine gives: all atoms of a warp, plain and swizzled, and pipelines of
-- cp.async and ldmatrix whose stages are variables.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local scratch = os.tmpname()
local function path(extension) return scratch .. extension end
local read = shell.read_file
local write = shell.write_file

local compiler = os.getenv("CXX") or "c++"
write(path(".cpp"), "#include <barrier>\nint main() { std::barrier<> b(1); }\n")
local flags = "-std=c++20 -w -pthread -Itests/support"
if not os.execute(("%s %s -o %s %s >/dev/null 2>&1"):format(compiler, flags, path(".out"),
  path(".cpp"))) then
  tap.skip_all "no compiler of C++20"
end

write(path(".lua"), [[
local list = assert(io.open(arg[1], "w"))
local function run(name, body, n, out, threads)
  local k = kernel(name, body, {static_shapes = true})
  local A, B, hash = zeros(u16, n), out, 0
  local elements = view(A, size(n)) -- in the order of memory
  for i = 0, size(n) - 1 do elements[i] = (i * 40503 + 12345) & 0xFFFF end
  k{grid = 1, block = threads}(A, B)
  local flat = view(B, size(B.layout))
  for i = 0, size(B) - 1 do hash = (hash * 31 + flat[i]) & 0xFFFFFFFF end
  list:write(("%s %d %d %d %d\n"):format(name, size(n), size(B), threads, hash))
end

local N, number = 3, 0
for i, family in ipairs{"ldmatrix", "stmatrix", "movmatrix", "shfl"} do
  for j, name in ipairs(atoms{family = family}) do
    for l, sw in ipairs{swizzle(0, 3, 3), swizzle(3, 3, 3), swizzle(2, 3, 4)} do
      local a = atom(name, u16)
      local src, dst, n = recast(a.src, 1, 16), recast(a.dst, 1, 16), a.bits // 16
      local function memory(t, side)
        return view(t, concat(get_mode(side, 0), get_mode(side, 1), layout(N, n)))(threadIdx.x, _, _)
      end
      number = number + 1
      run(("%s_%d"):format(name, number), function(A, B)
        local s = shared(u16, l == 1 and layout(N * n) or composition(sw, layout(N * n)))
        local from, to = fragment(u16, {size(src, 1), N}), fragment(u16, {size(dst, 1), N})
        for e = threadIdx.x, N * n - 1, 32 do s[e] = A[e] end
        sync_threads()
        copy(memory(s, src), from)
        sync_threads()
        if family == "stmatrix" then
          for e = threadIdx.x, N * n - 1, 32 do s[e] = 0 end
          sync_threads()
        end
        copy(a, family == "ldmatrix" and memory(s, src) or from,
          family == "stmatrix" and memory(s, dst) or to)
        sync_threads()
        if family == "stmatrix" then
          for e = threadIdx.x, N * n - 1, 32 do B[e] = s[e] end
        else
          copy(to, B(threadIdx.x, _, _))
        end
      end, layout(N * n),
        zeros(u16, family == "stmatrix" and layout(N * n) or layout{32, size(dst, 1), N}), 32)
    end
  end
end

local bM, bK, stages, tiles = 64, 64, 3, 5
local mma = tiled_mma("SM80_16x8x16_F16F16F16F16_TN", {2, 2}, {32, 32, 16})
local ld = tiled_copy_A(atom("SM75_U32x4_LDSM_N", u16), mma)
local cp = tiled_copy(atom("SM80_CP_ASYNC_CACHEALWAYS<u128>", u16), "(16,8):(8,1)", "(1,8)")
local rows = layout({bM, bK, stages}, {bK, 1, bM * bK})
local rings = {rows, composition(swizzle(3, 3, 3), rows), composition(swizzle(2, 3, 4), rows),
  tile_to_shape(composition(swizzle(3, 3, 3), "(8,(8,8)):(8,(1,64))"), {bM, bK, stages})}
for i, ring in ipairs(rings) do
  for j, unrolled in ipairs{true, false} do
    run(("ring_%d_%d"):format(i, j), function(A, B)
      local sA = shared(u16, ring)
      local gA, gB = tile(A, {bM, bK}, {0, _}), tile(B, {bM, bK}, {0, _})
      local fill, thr, mine = cp:get_slice(threadIdx.x), mma:get_slice(threadIdx.x),
        ld:get_slice(threadIdx.x)
      local from, to, out = fill:partition_S(gA), fill:partition_D(sA), thr:partition_A(gB)
      local r = fragment(u16, thr:fragment_A(thr:partition_A(sA(_, _, 0))).layout)
      local s2r, r2s = mine:partition_S(sA), mine:retile_D(r)
      for p = 0, stages - 2 do
        copy(cp, from(_, _, _, p), to(_, _, _, p))
        cp_async_commit()
      end
      local reads, writes = 0, stages - 1
      for k in range(tiles) do
        cp_async_wait(stages - 2)
        sync_threads()
        if k + stages - 1 < tiles then
          copy(cp, from(_, _, _, k + stages - 1), to(_, _, _, writes))
        end
        cp_async_commit()
        if unrolled then
          for b = 0, 3 do copy(ld, s2r(_, _, b, reads), r2s(_, _, b)) end
        else
          for b in range(4) do copy(ld, s2r(_, _, b, reads), r2s(_, _, b)) end
        end
        copy(r, out(_, _, _, k))
        writes = reads
        reads = (reads + 1) % stages
      end
    end, row_major{bM, bK * tiles}, zeros(u16, row_major{bM, bK * tiles}),
      128)
  end
end
list:close()
]])

local text = shell.cuttle("emit --sm=90 %s %s 2>/dev/null", path ".lua", path ".list")
text = text:gsub("template <int pending>\n", "")

-- Functions without assembly and shuffles, each once; then the kernels.
local out, seen = { '#include "warp_host.h"\n' }, {}
for head, body in text:gmatch("(static __device__ __forceinline__ [^\n{]*)(%b{})\n") do
  local whole = head .. body .. "\n"
  if not seen[whole] and not body:find("asm", 1, true) then
    local is_template = head:find("[( ]T[ )]") ~= nil
    out[#out + 1] = (is_template and "template <int B, int M, int S, class T>\n" or "") .. whole
  end
  seen[whole] = true
end
for head, body in text:gmatch('extern "C" (__global__ [^{]*)(%b{})\n') do
  out[#out + 1] = head .. body .. "\n"
end
local want, n = {}, 0
out[#out + 1] = "int main() {\n"
for line in read(path(".list")):gmatch("[^\n]+") do
  local name, n_in, n_out, threads, hash = line:match("(%S+) (%d+) (%d+) (%d+) (%d+)")
  out[#out + 1] = ("run(\"%s\", %s, %s, %s, [](auto a, auto b) { %s(a, b); });\n"):format(name,
    n_in, n_out, threads, name)
  want[name], n = hash, n + 1
end
out[#out + 1] = "}\n"
write(path(".cpp"), table.concat(out))
assert(os.execute(("%s %s -o %s %s"):format(compiler, flags, path(".out"), path(".cpp"))))
local got = assert(io.popen(path(".out")))
local right = 0
for line in got:lines() do
  local name, hash = line:match("(%S+) (%d+)")
  if want[name] == hash then right = right + 1 else print(line, want[name]) end
end
got:close()
for _, extension in ipairs { "", ".cpp", ".out", ".lua", ".list" } do os.remove(path(extension)) end
print(n, right)  -- expect: 53	53
