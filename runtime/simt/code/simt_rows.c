/* simt_rows.c: the properties of each instruction of the CPU engine, from simt_ops.def. */
#include "simt_ops.h"

const CtSimtRow ct_simt_rows[CT_SIMT_OP_COUNT] = {
#define X(instr, letters, ...)                                                                     \
  [CT_SIMT_##instr] = {.name = #instr, .roles = letters, .cls = __VA_ARGS__},
#include "simt_ops.def"
};
