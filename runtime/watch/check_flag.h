/* check_flag.h: what atomic operations and fences order, by PTX's memory model ("Memory Consistency Model" of the PTX
   ISA), thread by thread and place by place.

   - Release pattern: an atomic_store that releases; or a fence, and after it an atomic write of the same thread. It hands
     on what is before its first operation: what the thread did, and what it knows of others (check_known.h).
   - Acquire pattern: an atomic_load that acquires; or an atomic read, and after it a fence of the same thread. What
     comes after its last operation knows what was handed on at the element.
   - The read must see the write, or an atomic read-modify-write that saw it. So a store replaces what was handed on at
     an element, but one after a release by the same thread; other atomic writes add to it.
   - An atomic write comes before what follows a read that saw it, whatever their orders. So who has read a flag may
     write it by an ordinary instruction.
   - Scopes: "gpu" reaches the threads of the rank, "sys" all. Of a fence and its operation the smaller counts.
   - sync_threads, named barriers, mbarriers, and the barriers of a cluster and a grid hand on to those who wait what the
     arriving threads know; sync_warp does so for its lanes.

   An operation and what it hands on are one step: nobody else operates on any flag meanwhile. So the check sees the
   order in which the operations happened.

   Invariant: where this is coarser than the model, it regards too much as ordered. A read-modify-write whose result
   nobody uses counts as a read; a store hides the scope of what it replaces; if memory runs out, all is ordered. */
#ifndef CT_WATCH_CHECK_FLAG_H
#define CT_WATCH_CHECK_FLAG_H

#include "check_known.h"

/* What launches that run together, or one launch, have in common; NULL: no memory. */
CtFlags *ct_flag_open(CtAlloc alloc, int n_jobs);
/* Did memory run out? */
bool ct_flag_close(CtFlags *f);

/* Does the program release anything by a flag? */
static inline bool ct_flag_is_wanted(const CtSimtProgram *p) {
  bool wanted = false;
  for (uint32_t i = p->body; i < p->n_code && !wanted; i++) {
    const CtAtomicImm imm = {.imm = p->code[i].imm};
    wanted = p->code[i].u.op == CT_SIMT_FENCE ||
             (ct_in_is(&p->code[i], CT_INS_ATOMIC) && imm.u.op == CT_OP_ATOMIC_STORE &&
              (imm.u.order & CT_ORDER_RELAXED) == 0);
    i += (uint32_t)ct_in_size(&p->code[i]) - 1;
  }
  return wanted;
}
bool ct_flag_open_worker(CtCheckWorker *k) CT_NODISCARD;
void ct_flag_close_worker(CtCheckWorker *k);
/* A block begins; `known`: all its threads know it. */
void ct_flag_begin_block(CtCheckWorker *k, CtKnowledge *known);
/* What any thread of the block knows is added to *to. */
void ct_flag_gather(CtCheckWorker *k, CtKnowledge **to);

/* Around an atomic operation: it is about to run, and its access is noted; it ran. */
void ct_flag_before(CtCheckWorker *k, const CtAccess *a, CtAtomicImm imm);
void ct_flag_after(CtCheckWorker *k, const CtWarp *w);
/* The block failed, perhaps at such an operation. */
void ct_flag_stop(CtCheckWorker *k);
void ct_flag_fence(CtCheckWorker *k, const CtWarp *w, bool is_sys);

void ct_flag_sync_warp(CtCheckWorker *k, const CtWarp *w);
void ct_flag_barrier(CtCheckWorker *k);
void ct_flag_grid(CtCheckWorker *k, int64_t phase, bool passes);
/* These lanes of the warp arrive at a barrier, or have waited for it. What is handed on there is in *at. */
void ct_flag_arrive(CtCheckWorker *k, int32_t warp, uint32_t lanes, CtKnowledge **at);
void ct_flag_pass(CtCheckWorker *k, const CtWarp *w, uint32_t lanes, CtKnowledge *at);
/* *to also has what these lanes did so far. */
void ct_flag_add_moment(CtCheckWorker *k, int32_t warp, uint32_t lanes, CtKnowledge **to);

/* Does the lane know that the event is over? */
bool ct_flag_knows(const CtCheckWorker *k, int32_t warp, int lane, const CtCheckEvent *old,
                   int old_lane);
/* A proxy fence of shared memory by these lanes: agents see what they know by flags, and, if their warp is not whole, what
   they did. Do agents of the lane see the event, by this or by what was handed on to it? */
void ct_flag_proxy_fence(CtCheckWorker *k, const CtWarp *w);
bool ct_flag_agents_see(const CtCheckWorker *k, int32_t warp, int lane, const CtCheckEvent *old,
                        int old_lane);
/* The same of global memory, where moments say all of it. */
void ct_flag_tma_fence(CtCheckWorker *k, const CtWarp *w);
bool ct_flag_tma_sees(const CtCheckWorker *k, int32_t warp, int lane, const CtCheckEvent *old,
                      int old_lane);
/* Views, of kernels without clocks. What is known of a block's own threads is needed at the next barrier, when reads of
   shared memory are compared; so events keep it. A view lives until the barrier. */
void ct_flag_end_epoch(CtCheckWorker *k);
bool ct_flag_view_covers(const struct CtLaneView *v, int lane, const CtCheckEvent *old,
                         int old_lane);
/* Has the lane, or one that comes before it, read all atomic writes at the element? */
bool ct_flag_has_seen(const CtCheckWorker *k, const CtAccess *a, int lane, int64_t off);
/* Does it know of a launch with a number from `first` on, but before `end`? */
bool ct_flag_knows_job(const CtCheckWorker *k, int32_t warp, int lane, int first, int end);
/* The lanes that know that somebody passed a grid_dependency_wait. */
uint32_t ct_flag_behind(const CtCheckWorker *k, int32_t warp);

#endif
