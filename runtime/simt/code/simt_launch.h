/* simt_launch.h: a program of the CPU engine from outside, and what a launch of it is given. */
#ifndef CT_SIMT_LAUNCH_H
#define CT_SIMT_LAUNCH_H

#include "runtime/ir/ir.h"

typedef struct CtSimtProgram CtSimtProgram; /* a lowered kernel, immutable, usable by any engine */
typedef struct CtSimtWatch CtSimtWatch;     /* is told what a launch does: simt_watch.h */

void ct_simt_free(CtSimtProgram *p);

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

#endif
