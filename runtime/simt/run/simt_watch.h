/* simt_watch.h: watching a launch on the CPU engine. A watcher is told of each instruction
   before it runs, and of blocks and barriers. `check`, `profile` and `trace` are watchers. A
   launch without a watcher pays nothing: only if there is one, watched instructions get another
   handler when the code is bound.

   Blocks run on several threads. So a watcher has a state for each worker. The thread that
   launches makes these states before the launch and merges them after it. */
#ifndef CT_SIMT_WATCH_H
#define CT_SIMT_WATCH_H

#include "runtime/simt/run/simt_access.h"

typedef struct CtSyncNote {
  CtSyncKind kind;
  const CtIn *in;
  CtWarp *w;
  int lane;
  int rank;         /* the rank of the block that has the mbarrier */
  uint32_t buf;     /* of an mbarrier */
  int64_t slot;     /* of an mbarrier; the number of a named barrier */
  bool turns;       /* ARRIVE, COMPLETE, NAMED_ARRIVE: it completed the phase */
  uint32_t missing; /* ARRIVE, COMPLETE: the arrivals that the phase still needs, */
  int32_t tx;       /* and the bytes; negative: more have come than were expected */
  CtAgent agent;    /* COMMIT, WAIT */
  int64_t n;        /* WAIT, GRID_ARRIVE, GRID_PASS; COMPLETE: bytes */
  bool is_done;     /* WAIT, of agent BULK: until the copies have written, not only read */
} CtSyncNote;

/* A function may be NULL if the watcher does not need it, unless its comment says otherwise. */
typedef struct CtWatchOps {
  /* Does the watcher want to be told of this instruction? Not NULL. */
  bool (*wants)(const CtIn *code);
  /* Once the launch has begun: does it want the instruction at this place? NULL: yes. */
  bool (*wants_at)(CtSimtWatch *watch, uint32_t index);
  /* A handler that does at this place what step would do, and runs the instruction by the
     handler in CtSimtJob.handlers; or it passes it on to ct_simt_step. NULL: step is told. */
  CtHandler (*handler)(CtSimtWatch *watch, uint32_t index);
  /* Does it see the same in any order of the blocks? If not, they come in the order of their
     numbers. */
  bool any_order;
  /* Does it judge the launch, so that it must find the same on any number of threads? Then it has `again`. */
  bool one_order;
  /* A launch has run on several threads. True: what the watcher found may depend on the order of the blocks. It has
     forgotten the launch, which begins again on one thread. */
  bool (*again)(CtSimtWatch *watch, CtSimtJob *job);
  /* Does it watch the prologue too? Not all lanes there belong to the block. */
  bool has_prologue;
  /* Before any worker starts. On failure the launch does not take place. Not NULL. */
  CtStatus (*begin)(CtSimtWatch *watch, CtSimtJob *job, CtErr *err);
  /* After all workers, whatever happened. */
  void (*end)(CtSimtWatch *watch, CtSimtJob *job);
  void (*begin_block)(CtSimtWatch *watch, CtWorker *k);
  void (*end_block)(CtSimtWatch *watch, CtWorker *k);
  /* An instruction is about to run: `code` as the program has it, `in` as the launch does.
     Returns the lanes of w->mask that are to run it; other lanes skip it. It may make the block
     fail by ct_simt_fail_kind. Not NULL. */
  uint32_t (*step)(CtSimtWatch *watch, const CtIn *code, const CtIn *in, CtWarp *w);
  /* The instruction has run; w->mask is as before, unless it was a jump. */
  void (*after)(CtSimtWatch *watch, const CtIn *code, const CtIn *in, CtWarp *w);
  /* All remaining warps have come to the barrier. */
  void (*barrier)(CtSimtWatch *watch, CtWorker *k);
  /* Called by ct_simt_note_sync. */
  void (*sync)(CtSimtWatch *watch, const CtSyncNote *note);
  /* A block failed (CtWorker.fail). True: the watcher noted it, and the launch goes on with the
     next block. NULL: the launch fails. */
  bool (*fail)(CtSimtWatch *watch, CtWorker *k);
  /* A watcher for one of several launches that run at the same time, of the program with that tag. What it finds is
     the watcher's own. It is valid until parts_over, after those launches. NULL: it watches one launch at a time. */
  CtStatus (*part)(CtSimtWatch *watch, uint64_t tag, CtSimtWatch **out, CtErr *err);
  void (*parts_over)(CtSimtWatch *watch);
} CtWatchOps;

/* The head of every watcher. */
struct CtSimtWatch {
  const CtWatchOps *ops;
};

/* simt_watch.c: tells the launch's watcher, and its plan, if there are any. */
void ct_simt_note_sync(const CtSyncNote *note);

/* Tells the watcher of the instruction and runs it. */
const CtIn *ct_simt_step(const CtIn *in, CtWarp *w);

#endif
