/* launch_tap.h: a launch under way, and who takes part in it beside its engine. Whatever watches a launch, records it
   instead, times it, checks it or waits with it is a tap: one row of the table in launch.c. */
#ifndef CUTTLE_LAUNCH_TAP_H
#define CUTTLE_LAUNCH_TAP_H

#include "launch.h"

/* n launches in a row of a kernel with the same arguments. */
typedef struct Launch {
  lua_State *L;
  CuttleState *state;
  int kernel; /* its stack place */
  const LaunchConfig *config;
  LaunchArgs *args;
  Spec *spec; /* fits the arguments */
  int64_t n;
  int rank;           /* of m:run that launches it; -1: none */
  unsigned open;      /* taps that take part, a bit for each row of the table */
  bool is_gathered;   /* it runs later, at once with those of other ranks, */
  CtSimtWatch *watch; /* and this watches it alone; NULL: who watches all */
  char path[512];     /* of the file that has it: launch_capture.c */
  double begin_ms;    /* and when it began */
  LaunchTimes *times; /* who takes its time, */
  size_t sample;      /* in which of its samples */
} Launch;

/* Of a launch before its engine has it. TAP_OUT: the tap takes no part in this one. TAP_HAS: it has the launch, which
   goes no further. TAP_FAILED: *err says why no engine gets it. */
typedef enum TapAnswer { TAP_IN, TAP_OUT, TAP_HAS, TAP_FAILED } TapAnswer;

/* `before` is called in the order of the table, and may raise as long as nothing of the tap is open. When the engine has
   done its part, `after` is called in the opposite order for those that are in: it says what has become of the launch,
   and raises nothing. Then `report` is called in the order of the table: it hands over what was found, and may raise.
   NULL: nothing is to be done. */
typedef struct Tap {
  const char *name;
  TapAnswer (*before)(Launch *l, CtErr *err);
  CtStatus (*after)(Launch *l, CtStatus status, CtErr *err);
  void (*report)(Launch *l, CtStatus status, const CtErr *err);
} Tap;

/* The taps of launch_engine.c, which gives a device the tables of lists, and notes on which stream memory is used; of
   launch_marks.c; and of launch_time.c. */
TapAnswer launch_memory_before(Launch *l, CtErr *err);
TapAnswer launch_marks_before(Launch *l, CtErr *err);
void launch_marks_report(Launch *l, CtStatus status, const CtErr *err);
TapAnswer launch_times_before(Launch *l, CtErr *err);
CtStatus launch_times_after(Launch *l, CtStatus status, CtErr *err);

/* launch_engine.c: runs the launches on the CPU engine, or enqueues them on the device, which has the tables of lists. */
CtStatus launch_on_engine(const Launch *l, CtErr *err) CT_NODISCARD;

/* The launch as the CPU engine takes it. */
CtSimtLaunch launch_simt(const Launch *l);

/* The launch, whose specialisation fits the arguments: with all that takes part. Raises. */
void launch_run(Launch *l);

/* Field by field, because most launches have no file whose name would be cleared. */
static inline void launch_set(Launch *l, lua_State *L, int kernel, const LaunchConfig *config,
                              LaunchArgs *args, Spec *spec, int64_t n) {
  l->L = L;
  l->state = args->of->state;
  l->kernel = kernel;
  l->config = config;
  l->args = args;
  l->spec = spec;
  l->n = n;
  l->rank = l->state->rank;
  l->open = 0;
  l->is_gathered = false;
  l->watch = NULL;
}

#endif
