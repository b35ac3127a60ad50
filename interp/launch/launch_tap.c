/* launch_tap.c: the table of taps (launch_tap.h), and the one place where launches ask them. */
#include "launch_tap.h"

#include "interp/state/diag.h"
#include "launch_capture.h"
#include "launch_check.h"
#include "launch_engine.h"
#include "launch_graph.h"
#include "launch_joint.h"
#include "watcher.h"

/* In the order of the table. */
enum { GRAPH, HOST_GRAPH, MEMORY, RANKS, SESSION, MARKS, CAPTURE, CHECK, TIMES, N_TAPS };

/* From the outside in. A collection of texts (launch_collect.h) is asked earlier, by launch_kernel: it does without the
   specialisation that all of these need. */
static const Tap taps[N_TAPS] = {
    /* First: a launch that a graph records runs later, so nobody is to look at it now. */
    [GRAPH] = {"graph", launch_graph_before, NULL, NULL},
    /* Before anything else reaches the stream that the host captures. */
    [HOST_GRAPH] = {"host's graph", launch_host_graph_before, NULL, NULL},
    /* Before `ranks`, which keeps the addresses of lists' tables, and before `times`, which counts no copies. */
    [MEMORY] = {"memory", launch_memory_before, NULL, NULL},
    /* Before all that looks at a launch while it runs: those of other ranks run beside it. */
    [RANKS] = {"ranks", launch_joint_before, launch_joint_after, NULL},
    /* Before `check`, because a session may watch this launch itself; its report comes before that of `check`, which
       raises. */
    [SESSION] = {"session", watcher_before, NULL, watcher_report},
    [MARKS] = {"marks", launch_marks_before, NULL, launch_marks_report},
    /* The file has the data from before the launch, and the error of all that is further in. */
    [CAPTURE] = {"capture", launch_file_before, launch_file_after, NULL},
    [CHECK] = {"check", launch_check_before, launch_check_after, launch_check_report},
    /* Innermost: what the others do is no part of a launch's time. */
    [TIMES] = {"times", launch_times_before, launch_times_after, NULL}};

/* The taps that may take part in a launch, a bit for each. */
static unsigned taps_of(const Launch *l) {
  const StateTaps *open = &l->state->taps;
  const LaunchArgs *a = l->args;
  bool on_device = a->device != NULL;
  return (unsigned)(open->recorder != NULL) << GRAPH |
         (unsigned)(on_device && launch_is_new_to_host_graph(l)) << HOST_GRAPH |
         (unsigned)(on_device && (a->n_lists > 0 || l->config->stream_device != NULL)) << MEMORY |
         (unsigned)(l->state->rank >= 0) << RANKS |
         (unsigned)(!on_device && open->session != NULL) << SESSION |
         (unsigned)(on_device && l->spec->has_marks) << MARKS |
         (unsigned)(open->capture.folder[0] != '\0') << CAPTURE |
         (unsigned)(l->config->check || open->checks_all) << CHECK |
         (unsigned)(open->times != NULL) << TIMES;
}

/* Of the last one that was asked, unless it takes no part. l->open: those that are in. */
static TapAnswer ask_before(Launch *l, unsigned wanted, CtErr *err) {
  TapAnswer answer = TAP_IN;
  for (int i = 0; i < N_TAPS && answer != TAP_HAS && answer != TAP_FAILED; i++) {
    if ((wanted >> i & 1) != 0) {
      answer = taps[i].before(l, err);
      l->open |= (unsigned)(answer == TAP_IN) << i;
    }
  }
  return answer;
}

static CtStatus tell_after(Launch *l, CtStatus status, CtErr *err) {
  for (int i = N_TAPS - 1; i >= 0; i--) {
    if ((l->open >> i & 1) != 0 && taps[i].after != NULL) {
      status = taps[i].after(l, status, err);
    }
  }
  return status;
}

static void report(Launch *l, CtStatus status, const CtErr *err) {
  for (int i = 0; i < N_TAPS; i++) {
    if ((l->open >> i & 1) != 0 && taps[i].report != NULL) {
      taps[i].report(l, status, err);
    }
  }
}

void launch_run(Launch *l) {
  CtErr err;
  unsigned wanted = taps_of(l);
  if (wanted == 0) { /* nearly every launch */
    diag_check(l->L, launch_on_engine(l, &err), &err);
    return;
  }
  TapAnswer answer = ask_before(l, wanted, &err);
  if (answer == TAP_HAS) {
    return;
  }
  CtStatus status = answer == TAP_FAILED ? err.status : launch_on_engine(l, &err);
  status = tell_after(l, status, &err);
  report(l, status, &err);
  diag_check(l->L, status, &err);
}
