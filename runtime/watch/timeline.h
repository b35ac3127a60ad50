/* timeline.h: what the warps of one block do, and those of the other blocks of its cluster, in
   their order: work, arrivals, waits, and the copies and products that run meanwhile. It is a
   watcher (simt_watch.h) and knows nothing about time; stdlib/microscope/timeline.lua plays the
   events with a model of time.

   Every barrier has a number, and phases counted from 0. A phase is complete when all its
   arrivals and copies have taken place. */
#ifndef CT_WATCH_TIMELINE_H
#define CT_WATCH_TIMELINE_H

#include "runtime/simt/simt.h"

#define CT_TIME_KINDS(X)                                                                           \
  X(WORK, "work")     /* n instructions; global, shared: how many of them read there */            \
  X(ARRIVE, "arrive") /* barrier, phase */                                                         \
  X(PASS, "pass")     /* barrier, phase: goes on when that is complete; -1: at once */             \
  X(LOAD, "load")     /* a box of n bytes comes; it is part of the barrier's phase */              \
  X(STORE, "store")   /* a box of n bytes goes */                                                  \
  X(MMA, "mma")       /* n multiply-adds by wgmma, of the warp */                                  \
  X(COMMIT, "commit") /* agent */                                                                  \
  X(WAIT, "wait")     /* until n groups of the agent are pending */                                \
  X(MARK, "mark")     /* n: the number of its name */                                              \
  X(TELL, "tell")     /* barrier: a flag; phase: so many have told by it, this one with them */    \
  X(SEE, "see")       /* the same: waits until so many have told */
typedef enum CtTimeKind {
#define X(name, text) CT_TIME_##name,
  CT_TIME_KINDS(X)
#undef X
      CT_TIME_KIND_COUNT
} CtTimeKind;
extern const char *const ct_time_kinds[CT_TIME_KIND_COUNT];

typedef struct CtTimeEvent {
  uint8_t kind;
  uint8_t agent; /* CtAgent */
  int16_t rank;  /* of the warp's block in the cluster */
  int32_t warp;
  uint32_t barrier; /* index; of a flag: its number */
  int32_t phase;
  CtLoc loc;
  uint32_t bits; /* MMA: of an element of A */
  int64_t n, global, shared;
} CtTimeEvent;

typedef enum CtMeetKind { CT_MEET_MBAR, CT_MEET_NAMED, CT_MEET_BLOCK, CT_MEET_CLUSTER } CtMeetKind;
typedef struct CtMeet {
  CtMeetKind kind;
  int rank;         /* of the block that has it */
  const char *name; /* of an mbarrier */
  int64_t slot;     /* of an mbarrier; the number of a named one */
} CtMeet;

/* Flags: elements that kernels of ranks change and read by atomic operations of scope "sys". Launches of ranks that run
   at once have them in common. */
typedef struct CtFlags CtFlags;
CtFlags *ct_flags_open(CtAlloc alloc); /* NULL: no memory */
void ct_flags_close(CtFlags *f);
const char *ct_flags_name(const CtFlags *f,
                          uint32_t flag); /* of the tensor; NULL: there is no such flag */

typedef struct CtTimeline CtTimeline;
CtStatus ct_timeline_open(CtAlloc alloc, const int64_t block[3], CtTimeline **out,
                          CtErr *err) CT_NODISCARD;
/* Lets all blocks run, not only those up to the cluster of the recorded block. */
void ct_timeline_run_all(CtTimeline *t);
void ct_timeline_use(CtTimeline *t, CtFlags *flags); /* records flags, too */
void ct_timeline_close(CtTimeline *t);
CtSimtWatch *ct_timeline_watch(CtTimeline *t);
/* After the launch: the events, each one after what it waits for. Too many events are an error. */
CtStatus ct_timeline_events(const CtTimeline *t, const CtTimeEvent **events, size_t *n,
                            CtErr *err) CT_NODISCARD;
const CtMeet *ct_timeline_meets(const CtTimeline *t, size_t *n);
int ct_timeline_rank(const CtTimeline *t); /* of the block in its cluster */
const char *ct_timeline_chunk(const CtTimeline *t, uint32_t chunk);

#endif
