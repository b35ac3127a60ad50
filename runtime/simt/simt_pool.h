/* simt_pool.h: what one CPU engine consists of, for simt_open.c, which makes it, and simt.c, which runs launches on
   it. */
#ifndef CT_SIMT_POOL_H
#define CT_SIMT_POOL_H

#include "runtime/simt/simt.h"

#include <pthread.h>

#include "runtime/base/fork.h"
#include "runtime/simt/run/simt_engine.h"

typedef struct CtSimtThread {
  CtSimtEngine *engine;
  pthread_t id;
  int index; /* of its worker */
} CtSimtThread;

struct CtSimtEngine {
  CtAlloc alloc;
  const char *isa;
  CtHandler handlers[CT_SIMT_OP_COUNT];
  int n_threads; /* that can run blocks, the caller's included */
  CtSimtThread *threads;
  CtWorker *workers; /* of all launches that run; kept for the next ones */
  size_t cap_workers;
  CtWorker **teams; /* the first of each team; kept as well */
  size_t cap_teams;
  int max_threads;
  pthread_mutex_t launch; /* held by the one launch that runs */
  pthread_mutex_t lock;   /* of what follows */
  pthread_cond_t wake, done;
  uint64_t round;       /* counts launches */
  int n_called, n_busy; /* threads of this round; those still at it */
  CtSimtGroup *group;   /* what they run */
  bool quit;
  unsigned
      forks; /* ct_fork_count when the threads were started: a child of that process has none of them */
  char *mem; /* of all workers; kept for the next launch */
  size_t mem_bytes;
  CtIn *code; /* bound to handlers; kept as well */
  size_t cap_code;
  CtHandler *watched; /* handlers of the code when there is a watcher; kept as well */
  size_t cap_watched;
  CtHandler *turns; /* the same of a planned launch */
  size_t cap_turns;
};

/* Are the engine's threads those of a process that this one was forked from? */
static inline bool ct_simt_is_of_parent(const CtSimtEngine *e) {
  return e->forks != ct_fork_count();
}

/* In a child made by fork the pool is made anew. What the parent's threads held is left as it is. */
void ct_simt_adopt(CtSimtEngine *e);

#endif
