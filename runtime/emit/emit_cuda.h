/* emit_cuda.h: a finished IR as readable, self-contained CUDA C. */
#ifndef CT_EMIT_CUDA_H
#define CT_EMIT_CUDA_H

#include "runtime/ir/ir_marks.h"
#include "runtime/ir/ir.h"

typedef struct CtEmitOpts {
  /* #line N "script.lua", for NVRTC; else `// script.lua:N` comments, for people */
  bool line_directives;
  /* with line_directives: heads and statements without a place of their own have one, too */
  bool is_every_line;
  bool print_records;   /* printf leaves records for the host (device_print.c); else it is CUDA's */
  const CtMarks *marks; /* the kernel records its marks; NULL: it does not */
  /* For texts that follow one another in one file. NULL: the name of ct_emit_kernel_name. */
  const char *name;
  const char *suffix;           /* of the names of functions; NULL: as `name` has it */
  const CtIrFunction *callees;  /* that may be called; ct_emit_cuda says them */
  const CtIrFunction *function; /* the text is that of this function, not of a kernel */
  /* The functions that texts before this one brought: they are left out, and new ones are added.
     NULL: the text brings all that it needs. */
  CtText *functions;
} CtEmitOpts;

/* Appends the kernel's text: extern "C" __global__ void <name>(used slots in order). On failure
   *out stays as it was.
   Errors: CT_EINVAL for a `$name` in an escape that is not an operand; CT_EUNSUPPORTED for an
   operation on whole tensors whose run-time shapes do not fit together. Both name the script
   line. */
CtStatus ct_emit_cuda(const CtIr *ir, const CtEmitOpts *opts, CtText *out, CtErr *err) CT_NODISCARD;

/* The kernel's name in the text: ir->name, made an identifier that C++ has not taken. */
enum { CT_EMIT_NAME_MAX = 128 };
void ct_emit_kernel_name(const CtIr *ir, char out[CT_EMIT_NAME_MAX]);

/* The kernel has assertions: after its slots comes one more parameter, the address of 8 ints that
   are 0 (CtFault in device.h). */
bool ct_emit_has_asserts(const CtIr *ir);

/* The kernel prints: with print_records, two more parameters follow, CtPrintArgs in device.h. */
bool ct_emit_has_prints(const CtIr *ir);

/* Marks (ir_marks.h): is this a wait that is recorded? The name of the array that a kernel records in. */
bool ct_mark_is_wait(CtOp op);
enum { CT_MARK_NAME_MAX = CT_EMIT_NAME_MAX + 8 };
void ct_mark_symbol(const CtIr *ir, char out[CT_MARK_NAME_MAX]);

/* Bytes of dynamic shared memory that the launch must give: all shared memory, if the kernel has
   more than the 48 KiB that can be declared; else 0. */
int64_t ct_emit_dynamic_shared(const CtIr *ir);

#endif
