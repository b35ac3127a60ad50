/* simt.h: the CPU engine: a SIMT machine that runs a finished IR.

   A warp of 32 lanes is the unit: an instruction works on 32-lane vectors, divergence is a lane mask,
   a warp runs until a barrier; blocks spread over threads. Every access is bounds-checked. */
#ifndef CT_SIMT_H
#define CT_SIMT_H

#include "runtime/ir/ir.h"

typedef struct CtSimtEngine CtSimtEngine;   /* a pool of threads; any number of engines may exist */
typedef struct CtSimtProgram CtSimtProgram; /* a lowered kernel, immutable, usable by any engine */
typedef struct CtSimtWatch CtSimtWatch;     /* is told what a launch does: simt_watch.h */

/* n_threads 0: one per core that this process may use. isa NULL: the best this CPU has, else "base",
   "avx2", "avx512" (an error where the CPU lacks it). */
CtStatus ct_simt_open(CtAlloc alloc, int n_threads, const char *isa, CtSimtEngine **out,
                      CtErr *err) CT_NODISCARD;
void ct_simt_close(CtSimtEngine *e);
int ct_simt_threads(const CtSimtEngine *e);
const char *ct_simt_isa(const CtSimtEngine *e);

CtStatus ct_simt_lower(CtAlloc alloc, const CtIr *ir, CtSimtProgram **out, CtErr *err) CT_NODISCARD;
void ct_simt_free(CtSimtProgram *p);
void ct_simt_print(const CtSimtProgram *p, CtText *out); /* the bytecode, for people and tests */

typedef struct CtSimtLaunch {
  int64_t grid[3];
  const CtSlotValue *slots; /* all slots of the IR, in order; pointers are host memory */
  const int64_t *
      n_elems; /* per param of the IR: elements that the tensor's pointer may touch; 0 for numbers */
  const volatile int *interrupt; /* becomes nonzero to stop; may be NULL */
  /* Gets what threads print, when the launch is over, in the order of blocks and threads. NULL: it is
     dropped. */
  void (*print)(void *ud, const char *text, size_t len);
  void *print_ud;
  CtSimtWatch *watch; /* NULL: none */
  /* For `check`: the launch may begin before those before it have ended; such launches may follow; how often
     the host has waited, since the engine was opened, for all launches to end. */
  bool is_dependent, may_overlap;
  uint64_t n_host;
} CtSimtLaunch;

/* Runs to completion. An out-of-bounds access, a deadlock or an interrupt stops all blocks; the error
   names tensor, coordinate, thread, block and script line. */
CtStatus ct_simt_run(CtSimtEngine *e, const CtSimtProgram *p, const CtSimtLaunch *launch,
                     CtErr *err) CT_NODISCARD;

#endif
