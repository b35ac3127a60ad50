/* check_latest.h: the latest accesses of one place, all of one kind: plain reads, atomic loads, or
   other atomic operations. Accesses of one kind do not race with each other. So nothing has to
   order them, and the last one does not stand for those before it: a thread's own access must
   not hide the accesses of other threads.

   What is kept. The first word is the latest access of the lowest block. The others are the
   latest accesses of another lane of its warp, of another warp of its block, and of the lowest
   other block. Whatever a later access is compared with, the nearest access by another lane,
   warp or block is among them. Blocks run in any order, so the lowest ones are kept: they are the
   same in each run. A block whose access comes before the new one for certain gives way. */
#ifndef CT_WATCH_CHECK_LATEST_H
#define CT_WATCH_CHECK_LATEST_H

#include "check_parts.h"

/* How far apart two accesses are. */
typedef enum CtDistance {
  CT_SAME_THREAD,
  CT_OTHER_LANE,
  CT_OTHER_WARP,
  CT_OTHER_BLOCK,
  CT_DISTANCE_COUNT
} CtDistance;

struct CtLatest {
  uint32_t word[CT_DISTANCE_COUNT]; /* as in a shadow; 0: none */
};

/* What a new access is, and how to look up the events of words. */
typedef struct CtLatestBy CtLatestBy;
struct CtLatestBy {
  const CtCheckEvent *now;
  const CtCheckEvent *(*event)(const void *of, uint32_t number);
  /* Does the access of another block come before `now`, which is by `lane`? */
  bool (*is_over)(const CtLatestBy *by, const CtCheckEvent *old, int old_lane, int lane);
  const void *of;
};

static inline CtDistance ct_distance(const CtCheckEvent *a, int lane_a, const CtCheckEvent *b,
                                     int lane_b) {
  return a->job != b->job || a->block != b->block ? CT_OTHER_BLOCK
         : a->warp != b->warp                     ? CT_OTHER_WARP
         : lane_a != lane_b                       ? CT_OTHER_LANE
                                                  : CT_SAME_THREAD;
}

/* The number of a block among those of all launches that run together. */
static inline int64_t ct_block_number(const CtCheckEvent *e) {
  return ((int64_t)e->job << 40) + e->block;
}

/* Atomic operations of the program on shared memory, loads, or such that write: in *bytes, how many each accesses; 0: they
   differ. False: there are none. */
static inline bool ct_latest_is_wanted(const CtSimtProgram *p, bool loads, uint8_t *bytes) {
  bool has = false;
  for (uint32_t i = p->body; i < p->n_code; i++) {
    const CtAtomicImm imm = {.imm = p->code[i].imm};
    if (ct_in_is(&p->code[i], CT_INS_ATOMIC) && p->bufs[imm.u.buf].space == CT_SHARED &&
        (imm.u.op == CT_OP_ATOMIC_LOAD) == loads) {
      uint8_t here = (uint8_t)ct_value_bytes(p->bufs[imm.u.buf].dtype);
      *bytes = !has || *bytes == here ? here : 0;
      has = true;
    }
    i += (uint32_t)ct_in_size(&p->code[i]) - 1;
  }
  return has;
}

/* Atomic operations on shared memory. A granule's word, 0: none; adds one. */
static inline uint32_t ct_shadow_atomic(const CtCheckWorker *k, int64_t g, int i) {
  uint32_t word = k->atomics[g].word[i];
  return word >= k->epoch_word ? word : 0;
}
void ct_shadow_note_atomic(CtCheckWorker *k, int64_t g, uint32_t word, const CtCheckEvent *now);

/* Adds the access of `by`, with this word. */
void ct_latest_note(CtLatest *l, uint32_t word, const CtLatestBy *by);

#endif
