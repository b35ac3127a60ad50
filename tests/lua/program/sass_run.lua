-- What the runner of machine code makes of instructions as nvdisasm writes them: each is
-- translated to C and run on a warp. Skips without a C compiler.
package.path = "./?.lua;" .. package.path
local known = require "scripts.sass_run.instructions"
local operands = require "scripts.sass_run.operands"

-- Lane 5 has R2 = 0xfffffff0, R3 = 0x25, R4:R5 = 0x300000007, R6 = 1.5, R7 = -2.25, P1 in odd
-- lanes, UR4 = 9. What R10 (R11) or P0 are then.
local cases <const> = {
  { "IADD3 R10, P0, R2, R3, RZ", "R10=15 P0=1" },
  { "IADD3.X R10, R2, ~R3, RZ, P1, !PT", "R10=ffffffcb" },
  { "IADD3 R10, -R2, R3, UR4", "R10=3e" },
  { "IMAD.WIDE.U32 R10, R2, 0x2, R4", "R10=ffffffe7 R11=4" },
  { "IMAD.WIDE R10, R2, 0x2, R4", "R10=ffffffe7 R11=2" },
  { "IMAD.HI.U32 R10, R2, 0x10, RZ", "R10=f" },
  { "LEA.HI.X.SX32 R10, R2, R3, 0x4, P1", "R10=25" },
  { "LEA.HI R10, R2, R3, RZ, 0x5", "R10=44" },
  { "LOP3.LUT P0, R10, R2, R3, RZ, 0xc0, !PT", "R10=20 P0=1" },
  { "SHF.R.S32.HI R10, RZ, 0x2, R2", "R10=fffffffc" },
  { "SHF.L.U64.HI R10, R2, 0x4, R3", "R10=25f" },
  { "PRMT R10, R2, 0x7054, R3", "R10=f00025" },
  { "ISETP.GE.U32.AND P0, PT, R2, R3, P1", "P0=1" },
  { "ISETP.GE.AND P0, PT, R2, R3, PT", "P0=0" },
  { "ISETP.GT.AND.EX P0, PT, R5, 0x3, PT, P1", "P0=1" },
  { "FFMA R10, -R6, |R7|, 1", "R10=c0180000" },
  { "FSETP.NEU.AND P0, PT, |R7|, +INF, PT", "P0=1" },
  { "FMNMX R10, R6, R7, !PT", "R10=3fc00000" },
  { "F2FP.F16.F32.PACK_AB R10, R6, R7", "R10=3e00c080" },
  { "HFMA2.MMA R10, -RZ, RZ, 1.875, 0", "R10=3f800000" },
  { "F2I.TRUNC.NTZ R10, R7", "R10=fffffffe" },
  { "SHFL.BFLY PT, R10, R8, 0x1, 0x1f", "R10=4" },
  { "SHFL.UP P0, R10, R8, 0x8, RZ", "R10=5 P0=0" },
  { "MATCH.ANY R10, R9", "R10=aaaaaaaa" },
  { "VOTE.ANY R10, P0, !P1", "R10=55555555 P0=1" },
  { "R2UR UR5, R3", "UR5=20" },
  { "STS.64 [R3.X4+UR4], R4", "4" },
}

local HEAD <const> = [[
#include "scripts/sass_run/run.h"
#include <stdio.h>
Launch launch;
void sass_count(int counted, uint32_t mask, const uint64_t *at) {}
_Noreturn void sass_stop(const char *why, uint32_t pc) { exit(1); }
static Warp *start(void) {
  static unsigned char shared[BLOCK_SHARED];
  static Block block = {shared};
  Warp *w = calloc(1, sizeof *w);
  w->block = &block;
  w->P[7] = w->live = UINT32_MAX;
  w->P[1] = 0xaaaaaaaa;
  w->UR[4] = 9;
  for (uint32_t l = 0; l < LANES; l++) {
    uint32_t r[] = {0xfffffff0, 0x20 + l, 7, 3, f_as(1.5f), f_as(-2.25f), l, l % 2};
    for (int i = 0; i < 8; i++) w->R[2 + i][l] = r[i];
  }
  return w;
}
int main(void) {
  const uint32_t m = UINT32_MAX;
]]
local show <const> = {
  R10 = "w->R[10][5]", R11 = "w->R[11][5]", P0 = "w->P[0] >> 5 & 1", UR5 = "w->UR[5]",
}

local function case_of(text, want)
  local name, rest = text:match "^(%S+)%s*(.*)$"
  local mods, base = {}, name:match "^[^.]+"
  for word in name:gmatch "%.([^.]+)" do
    mods[#mods + 1] = word
    mods[word] = true
  end
  local code = known.ops[base](mods, operands.split(rest), 0, {})
  local out = {}
  for what in want:gmatch "(%w+)=" do
    out[#out + 1] = ('printf("%s=%%x ", %s);'):format(what, show[what])
  end
  if #out == 0 then out[1] = 'printf("%d ", w->block->shared[4 * 0x25 + 9 + 0] == 7 ? 4 : 0);' end
  return ("  { Warp *w = start(); { %s } %s puts(\"\"); }\n"):format(code, table.concat(out, " "))
end

local path = os.tmpname()
local file = assert(io.open(path .. ".c", "w"))
file:write(HEAD)
for _, case in ipairs(cases) do file:write(case_of(case[1], case[2])) end
file:write "  return 0;\n}\n"
file:close()
local cc = ("cc -w -std=gnu11 -I. -o %s %s.c scripts/sass_run/lanes.c -lm 2>/dev/null")
local is_built = os.execute(cc:format(path, path))
local pipe = is_built and io.popen(path)
for _, case in ipairs(cases) do
  local got = pipe and pipe:read "l" or case[2] .. " "
  if got ~= case[2] .. " " then print(case[1], got, "expected", case[2]) end
end
if pipe then pipe:close() end
os.execute(("rm -f %s %s.c"):format(path, path))
print "done"
-- expect: done
