/* check_parts.h: what the parts of `check` do for each other. Each has one subject:

     check_shadow.c   shared memory             check_within.c   coordinates outside their mode
     check_async.c    asynchronous copies       check_wrap.c     offsets that do not fit in 32 bits
     check_global.c   global memory             check_finding.c  keeps what the others find
     check_streams.c  launches in several streams
     check_early.c    dependent launches        check_quick.c    handlers for instructions that
     check_regs.c     fragments                                  cannot go wrong
     check_nan.c      float results             check_overflow.c signed integers that wrap around
     check_latest.h   accesses of one kind      check_unset.c    shared memory that nobody wrote
     check_touch.c    shared memory by clocks   check_line.c     the shadow of global memory
     check_blank.c    global memory that nobody wrote
     check_fail.c     failures of the engine
     check_sums.c     float sums that blocks take turns to add
     check_ranks.c    launches of several ranks at once, each checked by a part
     check_known.c    what threads know of each other's work
     check_flag.c     what barriers hand on of it; check_flag_op.c: atomic operations and fences
     check_clock.c    what orders, by vector clocks; check_clock_find.c: what they report
     check_before.h   whether an access comes before another: the rule */
#ifndef CT_WATCH_CHECK_PARTS_H
#define CT_WATCH_CHECK_PARTS_H

#include "check_state.h"

/* check.c: makes the event of an access, which its agent may do. */
void ct_check_event(const CtCheckWorker *k, const CtAccess *a, CtCheckEvent *e);

/* check_fail.c: notes why the worker's block failed; false: no memory. */
bool ct_check_fail(CtSimtWatch *watch, CtWorker *worker);

/* check_launch.c: makes the plans and workers of a launch; frees them. */
CtStatus ct_check_begin(CtCheck *c, CtSimtJob *job, CtErr *err) CT_NODISCARD;
void ct_check_end(CtCheck *c);

/* check_value.c: does element e of the lane, which goes to `off`, have the value that is there
   already? */
bool ct_check_is_same(const CtAccess *a, int64_t e, int lane, int64_t off);
/* Does it have the value that another lane of the same instruction writes there? */
bool ct_check_is_same_in(const CtAccess *a, int64_t e, int lane, int other, int64_t off);

/* Writes now what the access is about to write into element `off`; false: the value is not known
   yet. */
bool ct_check_write_early(const CtAccess *a, int64_t e, int lane, int64_t off);

/* check_shadow.c */
void ct_shadow_begin_block(CtCheckWorker *k);
void ct_shadow_read(CtCheckWorker *k, const CtAccess *a, bool is_steady);
void ct_shadow_write(CtCheckWorker *k, const CtAccess *a);
void ct_shadow_hold(CtCheckWorker *k, const CtAccess *a,
                    uint32_t lanes); /* lanes whose access does not take place */
void ct_shadow_sync_warp(CtCheckWorker *k, const CtWarp *w);
void ct_shadow_barrier(CtCheckWorker *k); /* also at a block's end */
/* check_unset.c: looks for elements of a read that nobody has written. */
void ct_unset_look(CtCheckWorker *k, const CtAccess *a, CtRange r);
/* Reports them. Call it before the log is compared. If memory ran out, a write may be lost, so nothing
   is reported. */
void ct_unset_tell(CtCheckWorker *k);
/* The event with this number: one of this epoch, or of a copy under way. */
static inline const CtCheckEvent *ct_shadow_event(const CtCheckWorker *k, uint32_t number) {
  return &k->events[number - k->first_event];
}
/* Element `off` of a shared buffer covers *n granules; returns the first. */
static inline int64_t ct_shadow_granule(const CtCheckWorker *k, const CtSimtBuf *buf, int64_t off,
                                        int *n) {
  *n = (int)ct_check_granules(buf->dtype, k->granule_bits);
  return (buf->at + ct_dtype_byte(buf->dtype, off)) >> k->granule_bits;
}

/* Does the access go to 32 neighbouring granules for each element, none of which needs a closer
   look? */
static inline bool ct_shadow_is_run(const CtCheckWorker *k, const CtAccess *a) {
  return a->mask == CT_ALL_LANES && !k->has_atomics && a->pattern != NULL &&
         a->pattern->kind[CT_LEVELS - 1] == CT_CONTIGUOUS &&
         ct_value_bytes(a->buf->dtype) == k->check->granule;
}

/* The entry of the cache of compared reads for this read. The cache has one entry for each hash,
   so it may hold another read: compare before use. */
static inline CtKnownRead *ct_known_at(const CtCheckWorker *k, const CtIn *in, CtAccessRole role,
                                       int32_t warp, int64_t base, uint32_t mask) {
  uint64_t h = (uint64_t)(uintptr_t)in / sizeof *in * 8 + (uint64_t)role +
               (uint64_t)warp * 0x9E3779B1u + (uint64_t)base * 0x85EBCA6Bu + mask;
  return &k->known[(h * 0x9E3779B97F4A7C15u) >> (64 - k->known_bits)];
}

/* Notes a write of 32 neighbouring granules, one by each lane. If one of them was written in
   this epoch, it does nothing and returns false. */
static inline bool ct_shadow_write_run(uint32_t *shadow, uint32_t epoch_word, uint32_t word) {
  uint32_t some = 0;
  for (int i = 0; i < CT_LANES; i++) {
    some |= (uint32_t)(shadow[i] >= epoch_word);
  }
  if (some != 0) {
    return false;
  }
  for (uint32_t i = 0; i < CT_LANES; i++) {
    shadow[i] = word | i;
  }
  return true;
}
static inline void ct_range_widen(CtRange *r, CtRange by) {
  r->lo = ct_min(r->lo, by.lo);
  r->hi = ct_max(r->hi, by.hi);
}

/* check_quick.c: a handler that needs no watcher; NULL if the watcher must see the instruction. */
CtHandler ct_quick_handler(const CtCheck *c, uint32_t index);

/* check_clock.c: takes the access as event `number`; its elements are initialised. */
void ct_clock_read(CtCheckWorker *k, const CtAccess *a, uint32_t number);
void ct_clock_write(CtCheckWorker *k, const CtAccess *a, uint32_t number);

/* check_async.c */
void ct_async_add(CtCheckWorker *k, const CtCheckEvent *e, uint32_t number, uint32_t lanes,
                  CtRange r);
/* Is the event a copy that is under way, of the group that its warp has not closed yet? */
bool ct_async_is_open(const CtCheckWorker *k, uint32_t number);
void ct_async_look(CtCheckWorker *k, const CtAccess *a, CtRange r);
void ct_async_fence(CtCheckWorker *k, const CtWarp *w);
void ct_async_wait(CtCheckWorker *k, const CtWarp *w, int64_t n);
void ct_async_barrier(CtCheckWorker *k);
/* The copy of global event `number` is under way: the kernel may write what it reads. */
void ct_async_add_source(CtCheckWorker *k, const CtCheckEvent *e, uint32_t number, uint32_t lanes);
/* That copy, also if it was waited for since the last barrier; NULL: none. */
const CtPending *ct_async_source(const CtCheckWorker *k, uint32_t number);
/* Reports an access that no order puts after the wait for a copy. */
void ct_async_note_copied(CtCheckWorker *k, const CtAccess *a, int lane, int64_t off,
                          const CtCheckEvent *copy, int copy_lane);
/* The access writes what the copy may still read. */
void ct_async_note_source(CtCheckWorker *k, const CtAccess *a, int lane, int64_t off,
                          const CtPending *p, int copy_lane);

/* check_regs.c */
void ct_regs_begin_block(CtCheckWorker *k);
void ct_regs_access(CtCheckWorker *k, const CtAccess *a);
/* Which lanes of the warp have set a row: element `off` of a buffer. */
static inline uint32_t *ct_regs_row(const CtCheckWorker *k, int32_t warp, uint32_t buf,
                                    int64_t off) {
  const CtCheck *c = k->check;
  return &k->rows[(size_t)warp * c->n_rows + c->first_row[buf] + (size_t)off];
}
void ct_regs_hold(CtCheckWorker *k, const CtAccess *a, uint32_t lanes);

/* check_wgmma.c: opens it, NULL without memory; takes accesses of registers, before
   ct_regs_access does; takes the instructions that order. */
CtWgmmaRegs *ct_wgmma_open(CtCheck *c);
void ct_wgmma_close(const CtCheckWorker *k);
void ct_wgmma_begin_block(CtCheckWorker *k);
void ct_wgmma_end_block(CtCheckWorker *k); /* a block that has not failed */

/* check_warps.c: reports threads that ended before a barrier that the block has reached; at the end of a block that has
   not failed, warp groups of which not all warps reached the same setmaxnreg. */
void ct_warps_look_at_ended(CtCheckWorker *k);
void ct_warps_look_at_registers(CtCheckWorker *k);
void ct_wgmma_access(CtCheckWorker *k, const CtAccess *a);
void ct_wgmma_order(CtCheckWorker *k, const CtIn *code, const CtWarp *warp);

/* check_tensor.c: lifetimes in tensor memory, and who may use it. NULL: no memory. */
CtTensors *ct_tensor_open(CtCheck *c);
void ct_tensor_begin_block(const CtCheckWorker *k);
void ct_tensor_end_block(CtCheckWorker *k); /* a block that has not failed */
void ct_tensor_access(CtCheckWorker *k, const CtAccess *a);
void ct_tensor_sync(CtCheckWorker *k, const CtSyncNote *note);
bool ct_tensor_is_before(const CtCheckWorker *k, const CtAccess *a, const CtCheckEvent *e,
                         const CtCheckEvent *old);
void ct_tensor_note_race(CtCheckWorker *k, const CtAccess *a, const CtCheckEvent *e, int lane,
                         const CtCheckEvent *old, int old_lane, bool old_writes, int64_t off);

/* check_global.c */
CtStatus ct_global_begin(CtCheck *c, CtErr *err) CT_NODISCARD;
void ct_global_end(CtCheck *c);
void ct_global_access(CtCheckWorker *k, const CtAccess *a);
bool ct_global_is_watched(const CtCheck *c, uint32_t buf); /* does the check need its accesses? */
/* The block's fence_proxy_async of global memory, at that time. */
void ct_global_proxy_fence(CtCheckWorker *k, uint64_t time);
/* The instruction that was about to write has run. */
static inline void ct_global_has_written(CtCheckWorker *k) {
  if (atomic_load_explicit(&k->writing, memory_order_relaxed) != 0) {
    atomic_store_explicit(&k->writing, 0, memory_order_release);
  }
}

/* check_blank.c: a launch begins (its global memory is known; false: no memory), and ends, before its
   findings are merged. */
bool ct_check_blank_begin(CtCheck *c) CT_NODISCARD;
void ct_check_blank_end(CtCheck *c);
void ct_check_blank_forget(CtCheck *c); /* the launch begins again */
void ct_check_blank_look(CtCheckWorker *k, const CtAccess *a, bool reads);

/* check_early.c: a launch begins (its global memory is known); it has ended. */
CtStatus ct_early_begin(CtCheck *c, CtErr *err) CT_NODISCARD;
void ct_early_end(CtCheck *c);
void ct_early_close(CtCheck *c);
void ct_early_forget(CtCheck *c, const char *begin,
                     size_t bytes); /* the host made new memory here */
void ct_early_wait(CtCheckWorker *k, const CtIn *in, const CtWarp *w);
void ct_early_launch(CtCheckWorker *k, const CtWarp *w);
/* Only in launches that are tracked: */
void ct_early_access(CtCheckWorker *k, const CtAccess *a);
uint32_t ct_early_behind(CtCheckWorker *k, int32_t warp); /* lanes that come after a wait */
void ct_early_end_block(const CtCheckWorker *k);

/* check_streams.c, called by check_early.c: as these; false: no memory. */
bool ct_streams_begin(CtCheck *c) CT_NODISCARD;
void ct_streams_end(CtCheck *c);
void ct_streams_close(CtCheck *c);
void ct_streams_forget(CtCheck *c, const char *begin, size_t bytes);
void ct_streams_access(CtCheckWorker *k, const CtAccess *a);
bool ct_streams_fill(CtCheck *c, const char *begin, size_t bytes, uint32_t number,
                     uint64_t n_waits) CT_NODISCARD;

/* check_within.c: notes coordinates outside their modes; returns whether a lane has one. */
bool ct_within_look(CtCheckWorker *k, const CtIn *code, const CtIn *in, const CtWarp *w);

/* check_wrap.c */
void ct_wrap_plan(CtCheck *c);
void ct_wrap_step(CtCheckWorker *k, const CtIn *code, CtWarp *w);
bool ct_wrap_fits(const CtIn *code, const CtWarp *w); /* does the result of a LEA_i32 fit? */
/* Notes and returns the lanes whose offset is wrong because arithmetic before it wrapped around. */
uint32_t ct_wrap_look(CtCheckWorker *k, const CtIn *code, const CtAccess *a);

/* check_nan.c */
void ct_nan_plan(CtCheck *c);
void ct_nan_before(CtCheckWorker *k, const CtIn *code, CtWarp *w, uint32_t lanes);
void ct_nan_after(CtCheckWorker *k, const CtIn *code, const CtIn *in, CtWarp *w);

/* check_overflow.c */
void ct_overflow_plan(CtCheck *c);
bool ct_overflow_look(CtCheckWorker *k, const CtIn *code, const CtIn *in, const CtWarp *w);
void ct_overflow_look_at_lanes(CtCheckWorker *k, const CtIn *code, const CtIn *in, const CtWarp *w);
void ct_overflow_before(CtCheckWorker *k, const CtIn *code, const CtIn *in, CtWarp *w,
                        uint32_t lanes);
void ct_overflow_after(CtCheckWorker *k, const CtIn *code, const CtIn *in, CtWarp *w);
/* What an instruction with such a finding computes. */
void ct_overflow_operation(const CtSimtProgram *p, uint32_t in, CtOp *op, CtDtype *type);

/* check_order.c: does a thread that has passed the other access come to this one again, in a
   loop or in its unrolled iterations? */
bool ct_order_is_again(const CtSimtProgram *p, const CtFound *f);
/* The other access of a race, of the same block, becomes the first one. */
static inline void ct_found_turn(CtFound *f) {
  const CtFound old = *f;
  f->in = old.other;
  f->other = old.in;
  f->thread = old.other_thread;
  f->other_thread = old.thread;
  f->agent = old.other_agent;
  f->other_agent = old.agent;
}
/* Puts the accesses of a race in the order of the program, if the program orders them. */
void ct_order_turn_race(const CtSimtProgram *p, CtFound *f);

/* check_finding.c. Values of CtFound.how, by kind. */
enum { CT_BOUNDS_READ, CT_BOUNDS_WRITE };
enum { /* races: the first access, the second */
       CT_RACE_WRITE_READ,
       CT_RACE_READ_WRITE,
       CT_RACE_WRITE_WRITE,
       CT_RACE_AT_ONCE,     /* by lanes of one instruction */
       CT_RACE_HOW = 7,     /* mask of these */
       CT_RACE_IN_WARP = 8, /* flag: two lanes of a warp */
       CT_RACE_BLOCKS = 16, /* flag: of two blocks */
       CT_RACE_CLOCKS = 32, /* flag: in a kernel with mbarriers or named barriers */
       CT_RACE_WIDTHS = 64, /* flag: both are atomic operations, but not to each other */
       CT_RACE_RANKS = 128  /* flag: of two ranks */
};
/* CtFound.extra of such a race: a flag is missing; they order by scope "gpu" only; TMA does not see what was written;
   nobody has waited for a copy of TMA. */
enum { CT_RANKS_FLAG, CT_RANKS_SCOPE, CT_RANKS_PROXY, CT_RANKS_COPY };
enum { CT_EARLY_WRITE = 1, CT_EARLY_WROTE = 2 }; /* flags: this one writes; the earlier one wrote */
/* sync_warp; sync_threads, sync_grid; extra: how many threads */
enum { CT_BARRIER_WARP, CT_BARRIER_ENDED, CT_BARRIER_ENDED_GRID };
/* extra: the result that it has in its type. operands: of the operation; [0]: the exact sum */
/* How a CT_CHECK_ORDER comes about: a flag orders the threads, but not their sums; nothing orders the sums of a launch that
   promises to be deterministic; no proxy fence lies between what TMA adds in two blocks. */
enum { CT_SUMS_OF_TURNS, CT_SUMS_PROMISED, CT_SUMS_UNFENCED };

/* check_sums.c: has the launch promised an order of what this access adds? Reports two such that have none. */
bool ct_sums_are_promised(const CtCheckWorker *k, const CtAccess *a);
void ct_sums_note(CtCheckWorker *k, const CtAccess *a, const CtCheckEvent *now, int lane,
                  const CtCheckEvent *old, int old_lane, int64_t off);

enum { CT_OVERFLOW_OF_TWO, CT_OVERFLOW_ATOMIC, CT_OVERFLOW_SUM, CT_OVERFLOW_KNOWN_SUM };
enum { CT_NAN_OF_FINITE, CT_NAN_OF_INFINITY, CT_NAN_NARROWED };
enum {
  CT_ASYNC_READ,
  CT_ASYNC_WRITE,
  CT_ASYNC_NO_BARRIER,
  CT_ASYNC_FAR_READ, /* by another block of the cluster */
  CT_ASYNC_FAR_WRITE,
  CT_ASYNC_NOT_HANDED_ON, /* waited for, but nothing orders that wait before the access */
  CT_ASYNC_SOURCE,        /* written by the thread that copies it */
  CT_ASYNC_SOURCE_OF      /* by another thread */
};
enum { CT_WGMMA_READ, CT_WGMMA_WRITE, CT_WGMMA_A, CT_WGMMA_FENCE, CT_WGMMA_NO_FENCE };
/* A finding at an instruction of a lane of the worker's block. */
static inline CtFound ct_finding_in(const CtCheckWorker *k, CtCheckKind kind, const CtIn *in,
                                    int32_t warp, int lane) {
  return (CtFound){.kind = kind,
                   .in = ct_check_index(k, in),
                   .other = UINT32_MAX,
                   .count = 1,
                   .block = k->k->block,
                   .thread = ct_check_thread(warp, lane)};
}
/* A finding of one access of an element by a lane; its block may be another one than k's. */
CtFound ct_finding_of(const CtCheckWorker *k, CtCheckKind kind, const CtAccess *a, int lane,
                      int64_t off);
void ct_finding_note(CtCheckWorker *k, const CtFound *f);
/* A finding with a text of its own, for what is not an access. Kind, place, block and thread are f's. */
void ct_finding_note_text(CtCheckWorker *k, CtFound f, const char *text);
/* Two accesses race; the first one is a. */
void ct_finding_race(CtCheckWorker *k, CtCheckKind kind, const CtCheckEvent *a, int lane_a,
                     bool a_writes, const CtCheckEvent *b, int lane_b, bool b_writes, uint32_t buf,
                     int64_t off);
/* check_text.c: a finding in words; the coordinates of a thread of a block, of a block of the grid. */
void ct_check_put_text(CtText *out, const CtSimtJob *job, const CtFound *f);
void ct_check_thread_of(const CtSimtProgram *p, int32_t i, int64_t t[3]);
void ct_check_block_of(const CtSimtJob *job, int64_t i, int64_t b[3]);
void ct_finding_merge(CtCheck *c); /* makes texts of the findings of all workers */
void ct_finding_take(CtCheck *c, const CtCheck *part);
/* Was nothing found at the same place before? If so, _add_new adds it. */
bool ct_finding_is_new(CtCheck *c, const CtFinding *f);
void ct_finding_add_new(CtCheck *c, const CtFinding *f); /* adds the findings of a part */
uint64_t ct_finding_total(const CtCheck *c);             /* how often something was found */

/* check_phase.c: phases of mbarriers, for `check`: how many are complete, and for which of them
   each warp has waited. A wait sees only the parity of a phase. If a warp waits for a phase when
   the next one is complete too, it really waits for the phase after that. This is not a fault in
   itself, because a warp may join later. But the message of a deadlock mentions it. */

/* The phases of a team of workers, in kernels with clocks; NULL: no memory. */
CtPhases *ct_phase_open(CtCheck *c, const CtClocks *clocks);
void ct_phase_begin_block(CtCheckWorker *k);
void ct_phase_sync(CtCheckWorker *k, const CtSyncNote *note);
/* For a block that waits for ever: writes "; " and which waits came too late, or nothing. */
void ct_phase_text(const CtCheckWorker *k, char *out, size_t size);

#endif
