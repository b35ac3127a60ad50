/* emit_cuda.h: a finished IR as readable, self-contained CUDA C. */
#ifndef CT_EMIT_CUDA_H
#define CT_EMIT_CUDA_H

#include "ir.h"

typedef struct CtEmitOpts {
  bool line_directives; /* #line N "script.lua", for NVRTC; else `// script.lua:N` comments, for people */
} CtEmitOpts;

/* Appends the kernel's text: extern "C" __global__ void <name>(used slots in order). */
CtStatus ct_emit_cuda(const CtIr *ir, const CtEmitOpts *opts, CtText *out, CtErr *err) CT_NODISCARD;

#endif
