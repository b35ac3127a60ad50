/* simt_launch.h: a program of the CPU engine as its users see it, and what a launch gives it. */
#ifndef CT_SIMT_LAUNCH_H
#define CT_SIMT_LAUNCH_H

#include "runtime/base/message.h"
#include "runtime/ir/ir.h"

typedef struct CtSimtProgram CtSimtProgram; /* a lowered kernel, immutable, usable by any engine */
typedef struct CtSimtWatch CtSimtWatch;     /* is told of everything in a launch: simt_watch.h */

void ct_simt_free(CtSimtProgram *p);

/* Bytes of the host that kernels may use: a member of a list, or what an address may be in. */
typedef struct CtSimtSpan {
  char *begin, *end;
} CtSimtSpan;

/* The tensors of a list, in order; their rows are the table that its slot points to. */
typedef struct CtSimtList {
  const CtSimtSpan *members;
  int64_t n;
} CtSimtList;

typedef struct CtSimtLaunch {
  int64_t grid[3];
  const CtSlotValue *slots; /* all slots of the IR, in order; pointers are host memory */
  /* per param of the IR: the number of elements in its tensor's memory; 0 for numbers */
  const int64_t *n_elems;
  const CtSimtList *lists;  /* per param of the IR; NULL: the kernel has no lists */
  const CtSimtSpan *memory; /* where addresses may point to, in order, none overlapping */
  size_t n_memory;
  const volatile int *interrupt; /* nonzero stops the launch; may be NULL */
  /* Receives what threads print, after the launch, in that order. NULL: the text is dropped. */
  void (*print)(void *ud, const char *text, size_t len);
  void *print_ud;
  CtPrintOrder print_order;
  CtSimtWatch *watch; /* NULL: there is none */
  /* For `check`: may this launch begin before earlier ones have ended; may later ones do so; and
     how often the host has waited for all launches to end since it opened the engine. */
  bool is_dependent, may_overlap;
  /* For `check`, if there are several streams: the launch's stream, and how many launches of each come before it by the
     order of streams and events. NULL: all that came before do. */
  uint32_t stream, n_streams;
  const uint32_t *known;
  uint64_t n_waits;      /* of n_host: fills of memory do not wait for other streams */
  bool is_cooperative;   /* all blocks are resident at once */
  bool is_deterministic; /* for `check`: sums of floats must have an order */
  uint64_t n_host;
} CtSimtLaunch;

/* A launch, of a rank. */
typedef struct CtSimtEntry {
  const CtSimtProgram *program;
  const CtSimtLaunch *launch;
  int rank; /* from 0; -1: no rank launches it */
} CtSimtEntry;

#endif
