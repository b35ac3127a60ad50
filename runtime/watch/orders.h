/* orders.h: the orders of a launch: what a planned run (simt_plan.h) did, which of its operations depend on each
   other, and which other orders differ from it.

   Events. An event is an operation before which warps stop. Two orders are the same if they differ only in events
   that do not depend on each other: no warp can tell them apart. Dependent are
   - two atomic operations on the same bytes, unless both only load;
   - arrivals at a barrier in two of its phases; those of one phase come in any order, unless the last of them
     would have ended the phase, had no bytes come before they were expected;
   - the end of a phase, and a wait or test that found the phase before it.
   A wait comes after all arrivals of its phase. An atomic operation in a loop that waits, after which the loop goes
   round again and which changed nothing, is no event.

   Copies. The completion of a copy by TMA is an event of a thread of its own: that of its barrier, as copies to one
   barrier complete in the order in which they began. It comes after the operation that began the copy.

   Races. Two dependent events of two warps race if nothing else orders them. Then the later one could have come
   first, and that is another order: all that does not depend on the first event, then the second one. Every order is
   reached from any other by such steps. So the orders that a search knows are all of them once none of its races
   leads to a new one.

   This is dynamic partial-order reduction (Abdulla, Aronsson, Jonsson, Sagonas: Optimal dynamic partial order
   reduction, 2014), with a set of known orders in place of sleep sets. */
#ifndef CT_WATCH_ORDERS_H
#define CT_WATCH_ORDERS_H

#include "check.h"
#include "runtime/simt/run/simt_plan.h"

typedef struct CtOrders CtOrders;

typedef enum CtOrderPolicy {
  /* A copy completes at once; but once it has been passed over, only when no warp can go on. A warp goes on as long as
     it can, then the lowest one that can. */
  CT_ORDER_STAY,
  CT_ORDER_TURNS, /* copies complete at once; blocks take turns, then the warps of a block */
  CT_ORDER_RANDOM /* any that can */
} CtOrderPolicy;

/* How a run went. */
typedef enum CtOrderEnd {
  CT_ORDER_WHOLE,
  CT_ORDER_NOT_POSSIBLE, /* a warp that was to go on could not */
  CT_ORDER_TOO_LARGE     /* too many warps, or too many events */
} CtOrderEnd;

CtStatus ct_orders_open(CtAlloc alloc, int n_resident, CtOrders **out, CtErr *err) CT_NODISCARD;
void ct_orders_close(CtOrders *o); /* NULL is fine */
CtSimtPlan *ct_orders_plan(CtOrders *o);

/* Before a run: the warps of its first events, then the policy. The list must stay until the run's end. */
void ct_orders_begin(CtOrders *o, const uint16_t *forced, size_t n, CtOrderPolicy policy,
                     uint64_t seed);
/* The same, with choices that differ from CT_ORDER_STAY, in the order of their steps. */
void ct_orders_replay(CtOrders *o, const CtOrderChoice *choices, size_t n);

/* After a run. */
CtOrderEnd ct_orders_end(const CtOrders *o);
uint64_t ct_orders_hash(const CtOrders *o); /* the same for orders that are the same */
int ct_orders_preemptions(const CtOrders *o);
size_t ct_orders_n_races(const CtOrders *o);
/* The order in which race i comes the other way round: its first events, for _begin. *sign is the same for lists that
   lead to the same. NULL: out of memory. The caller frees n elements. */
uint16_t *ct_orders_turn_race(CtOrders *o, size_t i, size_t *n, uint64_t *sign);
int64_t ct_orders_race_block(const CtOrders *o, size_t i); /* the block of its second event */
const CtOrderChoice *ct_orders_choices(const CtOrders *o, size_t *n);
/* Who goes on by a thread number: a warp, or a copy to a barrier. */
typedef struct CtOrderThread {
  int job; /* the launch */
  int64_t block;
  int32_t warp; /* -1: a copy */
  uint32_t buf; /* its barrier */
  int64_t slot;
} CtOrderThread;
CtOrderThread ct_orders_thread(const CtOrders *o, uint32_t thread);
/* "warp 1 of block 0", "copy to full[2] of block 0 of rank 1" */
void ct_orders_put_thread(const CtOrders *o, const CtSimtEntry *entries, uint32_t thread,
                          CtText *t);
/* What happened, and who took part: lines of fields with tabs between,
     "thread", number, who
     "event", step, thread, line, what, place, "turns" or nothing */
void ct_orders_put_events(const CtOrders *o, const CtSimtEntry *entries, CtText *t);

#endif
