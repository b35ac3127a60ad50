/* taps.h: who takes part in a state's launches beside their engine. Each is a tap; interp/launch/launch.c has the
   table of all taps, in the order in which a launch asks them. Here is who is open now, and what lower rooms ask of
   them. Each opens and closes itself. */
#ifndef CUTTLE_TAPS_H
#define CUTTLE_TAPS_H

#include <lua.h>

#include "order.h"
#include "runtime/device/device.h"
#include "runtime/ir/ir_marks.h"
#include "runtime/simt/simt.h"

struct Launch; /* interp/launch/launch_tap.h */

/* Launches of ranks that wait to run at once: the head of a LaunchJoint (interp/launch/launch_joint.h). */
typedef struct StateJoint StateJoint;
struct StateJoint {
  void (*run)(lua_State *L); /* runs them because the host uses their memory. May raise */
  bool (*waits)(const StateJoint *j, const CtDevice *d); /* do some for d? */
};

/* What a kernel recorded; the memory is the call's. */
typedef struct StateWords {
  const void *at;
  size_t bytes;
} StateWords;

/* A session of marks (interp/watch/bind_marks.c): kernels that are traced while it is open have these. */
typedef struct StateMarks {
  CtMarks marks;
  uint32_t id;      /* the number of these marks, not 0; a part of a launch's key */
  bool records;     /* on a device, also where nobody takes what is recorded */
  int64_t block[3]; /* that records */
  /* Is told of a launch whose kernel recorded its marks; NULL: nobody is. May raise. */
  void (*take)(struct Launch *l, StateWords words);
  /* The same of the launches of ranks that ran at once, one by one, then with NULL. NULL: nobody is told, and those
     that record run one after the other. */
  void (*take_ranks)(lua_State *L, const struct Launch *l, StateWords words);
} StateMarks;

/* Where launches are written before they run: CUTTLE_CAPTURE, cuttle_capture. */
typedef struct StateCapture {
  char folder[384]; /* "": nowhere */
  double seconds;   /* a launch that takes longer keeps its file; 0: however long */
  char why[128];    /* what is wrong with them in the environment; "": nothing */
  uint64_t n;       /* files so far */
} StateCapture;

typedef struct StateTaps {
  struct LaunchCollection *collection; /* takes texts instead of compiling; launch_collect.h */
  struct StateRecorder *recorder;      /* a graph is being recorded; recorder.h */
  StateJoint *joint;                   /* launches of ranks that wait to run */
  struct Watcher *session; /* is told of launches on the CPU engine; interp/launch/watcher.h */
  StateMarks *marks;
  struct LaunchTimes *times; /* of each launch, on any device; launch_time.c */
  CtSimtWatch *watch;        /* of every launch on the CPU engine. Its owner takes it out */
  StateOrder order;          /* of launches on the CPU engine, for check */
  struct CtCheck *check;     /* whose watch that is; NULL: none, or another watcher */
  bool checks_all;           /* every launch of the CPU engine: CUTTLE_CHECK */
  bool is_watched_by_rank;   /* in m:run: `watch` may end before the launches of all ranks run */
  StateCapture capture;
  CtMarks last_marks; /* those that have the last number */
  uint32_t n_marks;   /* numbers so far */
} StateTaps;

/* Is a tap open that a launch might have to do with? Else it goes to its engine at once, and a kernel that nobody asked
   for runs unseen. */
static inline bool taps_are_open(const StateTaps *t) {
  return t->collection != NULL || t->recorder != NULL || t->joint != NULL || t->session != NULL ||
         t->marks != NULL || t->times != NULL || t->watch != NULL || t->checks_all ||
         t->capture.folder[0] != '\0';
}

/* The number of the marks that kernels have now; 0: they have none. */
static inline uint32_t taps_marks_id(const StateTaps *t) {
  return t->marks == NULL ? 0 : t->marks->id;
}

#endif
