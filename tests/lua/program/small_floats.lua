-- luacheck: no max line length
-- Casts of the floats of Blackwell, f8ue8m0, f6e2m3, f6e3m2 and f4e2m1, are those of CUDA's own headers, and casts
-- of f8ue4m3 those of the size of a number to e4m3. Asked are the host, the CPU engine, and the CUDA C for targets
-- that have no instruction, which a C++ compiler compiles here. Inputs: every f32 whose low 12 bits are 0 or 1, and
-- each pattern of each type.
local tap = dofile "tests/support/tap.lua"
local folder = dofile "tests/support/folder.lua"
local cuttle <const>, N <const> = folder.absolute(arg[-1]), 1 << 21
local compiler <const> = "c++ -std=c++17 -O1 -w -I. -I/usr/local/cuda/include -I/usr/include "

folder.write("has.cpp", "#include <cuda_fp4.h>\n#include <cuda_fp6.h>\n#include <cuda_fp8.h>\nint main() {}\n")
if select(2, folder.run(compiler .. "-fsyntax-only has.cpp")) ~= 0 then
  folder.remove()
  tap.skip_all "no C++ compiler, or no cuda_fp4.h, cuda_fp6.h and cuda_fp8.h"
end
local types <const> = { f8ue8m0 = f8ue8m0, f8ue4m3 = f8ue4m3, f6e2m3 = f6e2m3, f6e3m2 = f6e3m2, f4e2m1 = f4e2m1 }

-- {====== The functions of the prelude, as C++ ======

folder.write("casts.lua", [[
kernel("casts", function(x, y)
  local v = x[threadIdx.x]
  for _, T in ipairs{f8ue8m0, f8ue4m3, f6e2m3, f6e3m2, f4e2m1} do
    y[threadIdx.x] = y[threadIdx.x] + f32(cast(v, T))
  end
end){grid = 1, block = 32}(zeros(f32, 32), zeros(f32, 32))
]])
local emitted = folder.run(("CUTTLE_DEVICE=cpu '%s' emit --sm=75 casts.lua 2>/dev/null"):format(cuttle))
folder.write("prelude.h", (emitted:gsub('extern "C" __global__.*', "")))

folder.write("oracle.cpp", [[
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <cmath>
#include <string>
#include <vector>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>
namespace emitted {
#define __device__
#define __forceinline__ inline
static float __uint_as_float(unsigned bits) { float v; memcpy(&v, &bits, 4); return v; }
static unsigned __float_as_uint(float v) { unsigned bits; memcpy(&bits, &v, 4); return bits; }
static unsigned __float2uint_rn(float v) { return (unsigned)nearbyintf(v); }
static unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
#include "prelude.h"
}
static float f32(uint32_t bits) { float v; memcpy(&v, &bits, 4); return v; }
static uint32_t bits_of(float v) { uint32_t bits; memcpy(&bits, &v, 4); return bits; }
static void save(std::string name, const char *descr, const void *at, unsigned n, size_t bytes) {
  FILE *f = fopen((name + ".npy").c_str(), "wb");
  char head[128];
  memset(head, ' ', sizeof head);
  memcpy(head, "\x93NUMPY\x01\0\x76", 9);
  head[9] = 0;
  int len = sprintf(head + 10, "{'descr': '%s', 'fortran_order': False, 'shape': (%u,), }", descr, n);
  head[10 + len] = ' ';
  head[127] = '\n';
  fwrite(head, 1, 128, f);
  fwrite(at, bytes, n, f);
  fclose(f);
}
template <class Own, class Ours, class Back, class OurBack>
static void type(const char *name, int n_patterns, Own own, Ours ours, Back back, OurBack our_back) {
  const unsigned n = 1u << 21;
  std::vector<unsigned char> out(n);
  unsigned wrong = 0, wrong_back = 0;
  for (uint32_t i = 0; i < n; i++) {
    float v = f32((i >> 1) << 12 | (i & 1));
    out[i] = own(v);
    wrong += out[i] != ours(v);
  }
  save(name, "|u1", out.data(), n, 1);
  std::vector<float> wide(256);
  for (int i = 0; i < n_patterns; i++) {
    float a = back(i), b = our_back(i);
    wide[i] = a;
    wrong_back += a != a ? bits_of(b) != 0x7FFFFFFF : bits_of(a) != bits_of(b);
  }
  save(std::string(name) + ".f32", "<f4", wide.data(), 256, 4);
  printf("%s %u %u\n", name, wrong, wrong_back);
}
#define TYPE(t, of, n)                                                                              \
  type(#t, n, [](float v) { return of(v).__x; }, emitted::f32_to_##t,                               \
       [](int i) { of x; x.__x = i; return (float)x; }, emitted::t##_to_f32)
int main() {
  TYPE(f8ue8m0, __nv_fp8_e8m0, 256);
  TYPE(f6e2m3, __nv_fp6_e2m3, 64);
  TYPE(f6e3m2, __nv_fp6_e3m2, 64);
  TYPE(f4e2m1, __nv_fp4_e2m1, 16);
  type("f8ue4m3", 128, [](float v) { return __nv_fp8_e4m3(fabsf(v)).__x; }, emitted::f32_to_f8ue4m3,
       [](int i) { __nv_fp8_e4m3 x; x.__x = i; return (float)x; }, emitted::f8ue4m3_to_f32);
}
]])
local out, code = folder.run(compiler .. "oracle.cpp -o oracle && ./oracle")
tap.is(code, 0, "the oracle compiles and runs", out)
for name in pairs(types) do
  local wrong = out:match(name .. " (%d+ %d+)")
  tap.is(wrong, "0 0", name .. ": CUDA C for targets without an instruction")
end

-- {====== The host and the CPU engine ======

-- Counts in bad[0] and bad[1] the inputs for which the casts from f32 and from f64 give other bits than `want`,
-- whose values stand in `wide`; in bad[2] the patterns that are other numbers.
local function counter(T)
  return kernel(function(want, wide, n_patterns, bad)
    local i = blockIdx.x * blockDim.x + threadIdx.x
    local x = bitcast(u32(i >> 1) << 12 | u32(i & 1), f32)
    local is = bitcast(wide[i32(want[i])], u32)
    local function differs(v) return isnan(f32(v)) and is & 0x7fffffff <= 0x7f800000 or
      not isnan(f32(v)) and bitcast(f32(v), u32) ~= is end
    if differs(cast(x, T)) then atomic_add(bad, 0, 1) end
    if differs(cast(cast(x, f64), T)) then atomic_add(bad, 1, 1) end
    if i < n_patterns and not isnan(wide[i]) then
      if f32(cast(wide[i], T)) ~= wide[i] then atomic_add(bad, 2, 1) end
    end
  end)
end

for name, T in pairs(types) do
  local want, wide = load_npy(folder.path .. "/" .. name .. ".npy"), load_npy(folder.path .. "/" .. name .. ".f32.npy")
  local bad = zeros(i32, 3)
  counter(T) { grid = N // 256, block = 256 } (want, wide, name == "f8ue4m3" and 128 or 1 << T.bits, bad)
  tap.is(table.concat(bad:totable(), " "), "0 0 0", name .. ": the CPU engine")
  local list = {}
  for i = 0, N - 1, 97 do list[#list + 1] = string.unpack("<f", string.pack("<I4", i >> 1 << 12 | i & 1)) end
  local cast_there, made, wrong = reference.cast(from_table(f32, list), T), from_table(T, list), 0
  for i, v in ipairs(list) do
    local is = wide[want[(i - 1) * 97]]
    local function differs(got) return not (got == is and 1 / got == 1 / is or got ~= got and is ~= is) end
    wrong = wrong + (v == v and (differs(cast_there[i - 1]) or differs(made[i - 1])) and 1 or 0)
  end
  tap.is(wrong, 0, name .. ": the host")
end
folder.remove()
tap.done()
