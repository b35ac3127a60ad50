/* timeline.h: what the warps of one block (with the others of its cluster) do, in their order: work,
   arrivals, waits, copies and products that go on beside them. A watcher: see simt_watch.h. It knows no time;
   stdlib/microscope/timeline.lua plays the events with a model of it.

   A barrier of any kind has a number and phases, counted from 0. A phase is complete when all its arrivals and
   copies have taken place. */
#ifndef CT_WATCH_TIMELINE_H
#define CT_WATCH_TIMELINE_H

#include "runtime/simt/simt.h"

#define CT_TIME_KINDS(X)                                                                           \
  X(WORK, "work")     /* n: instructions; global, shared: of them that read there */               \
  X(ARRIVE, "arrive") /* barrier, phase */                                                         \
  X(PASS, "pass")     /* barrier, phase: when that is complete; -1: at once */                     \
  X(LOAD, "load")     /* a box of n bytes comes, which is part of the barrier's phase */           \
  X(STORE, "store")   /* a box of n bytes goes */                                                  \
  X(MMA, "mma")       /* n multiply-adds by wgmma, of the warp */                                  \
  X(COMMIT, "commit") /* agent */                                                                  \
  X(WAIT, "wait")     /* until n groups of the agent are pending */
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
  uint32_t barrier; /* index */
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

typedef struct CtTimeline CtTimeline;
CtStatus ct_timeline_open(CtAlloc alloc, const int64_t block[3], CtTimeline **out,
                          CtErr *err) CT_NODISCARD;
/* All blocks are to run, not only those up to the recorded one's cluster. */
void ct_timeline_run_all(CtTimeline *t);
void ct_timeline_close(CtTimeline *t);
CtSimtWatch *ct_timeline_watch(CtTimeline *t);
/* After the launch: the events, in an order in which each comes after
   what it waits for. An error when there were too many. */
CtStatus ct_timeline_events(const CtTimeline *t, const CtTimeEvent **events, size_t *n,
                            CtErr *err) CT_NODISCARD;
const CtMeet *ct_timeline_meets(const CtTimeline *t, size_t *n);
int ct_timeline_rank(const CtTimeline *t); /* of the block in its cluster */
const char *ct_timeline_chunk(const CtTimeline *t, uint32_t chunk);

#endif
