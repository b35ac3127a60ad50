/* check_tensor.c: `check` of tensor memory: that it is allocated before it is used, by a warp that knows of it; that it
   is given back once, when nothing uses it any more, and before the block ends. Races between its users are found as
   those of shared memory (check_touch.c), in the view that check_clock.h calls `tensor`. */
#include "check_clock.h"
#include "check_parts.h"

#include <stdio.h>
#include <string.h>

/* A use of a tensor, as a component and its clock; `in`: which instruction. Clock 0: there was none. */
typedef struct Use {
  uint32_t component, clock, in;
} Use;

typedef struct Tensor {
  uint32_t made, made_in; /* the clock of warp 0 when it allocated, and where; 0: it has not */
  uint32_t deallocated;   /* 1 + the instruction that gave it back; 0: it has not been */
  bool is_told;           /* one finding of each tensor and block */
  Use *uses; /* by rank and warp of the cluster: its last copy, then its last product */
} Tensor;

struct CtTensors {
  Tensor *of; /* by buffer */
  uint32_t n_bufs;
  int32_t n_warps; /* of the cluster; those of a block: n_of_block */
  int32_t n_of_block;
};

CtTensors *ct_tensor_open(CtCheck *c) {
  const CtSimtProgram *p = c->job->program;
  CtTensors *t = ct_arena_alloc(&c->arena, sizeof *t);
  size_t n_uses = 2 * (size_t)p->n_warps * (size_t)p->n_cluster;
  Use *uses = ct_arena_alloc(&c->arena, p->n_bufs * n_uses * sizeof *uses);
  if (t == NULL || uses == NULL ||
      (t->of = ct_arena_alloc(&c->arena, p->n_bufs * sizeof *t->of)) == NULL) {
    return NULL;
  }
  t->n_bufs = p->n_bufs;
  t->n_of_block = p->n_warps;
  t->n_warps = p->n_warps * p->n_cluster;
  for (uint32_t b = 0; b < p->n_bufs; b++) {
    t->of[b].uses = &uses[b * n_uses];
  }
  return t;
}

void ct_tensor_begin_block(const CtCheckWorker *k) {
  for (uint32_t b = 1; k->tensors != NULL && b < k->tensors->n_bufs; b++) {
    Tensor *t = &k->tensors->of[b];
    memset(t->uses, 0, 2 * (size_t)k->tensors->n_warps * sizeof *t->uses);
    *t = (Tensor){.uses = t->uses};
  }
}

static int line_of(const CtCheckWorker *k, uint32_t in) {
  return k->k->job->program->locs[in].line;
}

static void tell(CtCheckWorker *k, uint32_t buf, uint32_t in, int32_t warp, const char *text) {
  Tensor *t = &k->tensors->of[buf];
  if (!t->is_told) {
    ct_finding_note_text(k,
                         (CtFound){.kind = CT_CHECK_TENSOR,
                                   .in = in,
                                   .buf = buf,
                                   .block = k->k->block,
                                   .thread = ct_check_thread(warp, 0)},
                         text);
  }
  t->is_told = true;
}

/* --- uses ----------------------------------------------------------------------------------------- */

/* k: of the block whose tensor it is; a product of two blocks may be another one's. */
void ct_tensor_access(CtCheckWorker *k, const CtAccess *a) {
  Tensor *t = &k->tensors->of[a->buf_index];
  const CtCheckWorker *by = ct_check_worker(a->w->worker);
  bool is_far = by != k;
  int32_t warp = a->w->index;
  uint32_t in = ct_check_index(k, a->in), component;
  char text[300];
  (void)ct_clock_of(k, 0, CT_AGENT_NONE, &component);
  if (t->deallocated != 0) {
    snprintf(
        text, sizeof text,
        "%.80s is used after line %d has given it back; put tmem_dealloc() after its last use, and "
        "a barrier in between",
        a->buf->name, line_of(k, t->deallocated - 1));
    tell(k, a->buf_index, in, warp, text);
  } else if (t->made == 0 ||
             ((is_far || warp != 0) && !ct_clock_knows(by, warp, component, t->made))) {
    snprintf(
        text, sizeof text,
        "%.80s%s is used by warp %d, which nothing tells that it was allocated, and where; put "
        "%s() between its declaration and line %d",
        a->buf->name, is_far ? " of the other block of the pair" : "", (int)warp,
        is_far ? "sync_cluster" : "sync_threads", line_of(k, in));
    tell(k, a->buf_index, in, warp, text);
  }
  bool is_product = a->agent == CT_AGENT_UMMA;
  int32_t place = by->k->rank * k->tensors->n_of_block + warp;
  Use *use = &t->uses[2 * place + is_product];
  use->in = in;
  use->clock = ct_clock_of(by, warp, is_product ? CT_AGENT_UMMA : CT_AGENT_NONE, &use->component);
}

/* Do they have the same .kind, as far as kinds that add to the same sums differ? */
static bool are_of_kind(const CtMma *a, const CtMma *b) {
  return a->k == b->k && a->vec == b->vec && a->kind == b->kind;
}

/* Are they two products of one kind that add to sums of one shape, or a copy of scales and a product that reads them? */
static bool are_pipelined(const CtSimtProgram *p, const CtAccess *a, const CtCheckEvent *e,
                          const CtCheckEvent *old) {
  bool is_scale = a->role == CT_ACCESS_SFA || a->role == CT_ACCESS_SFB;
  bool by_copy = p->code[old->in].u.op == CT_SIMT_TCGEN05_CP;
  bool is_copy = p->code[e->in].u.op == CT_SIMT_TCGEN05_CP;
  bool are_sums = a->role == CT_ACCESS_DST && old->role == CT_ACCESS_DST;
  if (a->agent != CT_AGENT_UMMA || !are_sums || by_copy || is_copy) {
    return is_scale && by_copy;
  }
  const CtMma *now = p->tiles[p->code[e->in].imm].mma, *then = p->tiles[p->code[old->in].imm].mma;
  return now->rows == then->rows && now->blocks == then->blocks &&
         now->n * now->groups == then->n * then->groups && are_of_kind(now, then);
}

/* Copies of the same warp are over. Products of the same thread follow each other only if they are pipelined. */
bool ct_tensor_is_before(const CtCheckWorker *k, const CtAccess *a, const CtCheckEvent *e,
                         const CtCheckEvent *old) {
  bool in_order = old->agent != CT_AGENT_UMMA || are_pipelined(k->k->job->program, a, e, old);
  return ct_clock_tensor_is_before(k, old, e->warp, in_order);
}

void ct_tensor_note_race(CtCheckWorker *k, const CtAccess *a, const CtCheckEvent *e, int lane,
                         const CtCheckEvent *old, int old_lane, bool old_writes, int64_t off) {
  k->lacks_after =
      ct_clock_knows(ct_check_worker(a->w->worker), e->warp, old->component, old->clock);
  ct_finding_race(k, CT_CHECK_TENSOR, old, old_lane, old_writes, e, lane, a->writes, a->buf_index,
                  off);
}

/* --- lifetimes ------------------------------------------------------------------------------------ */

/* Reports a use that may not be over when warp 0 gives the tensor back. */
static void look_at_uses(CtCheckWorker *k, const CtSyncNote *note, const Tensor *t) {
  const char *name = k->k->job->program->bufs[note->buf].name;
  uint32_t in = ct_check_index(k, note->in);
  char text[300];
  for (int32_t i = 0; i < 2 * k->tensors->n_warps; i++) {
    const Use *use = &t->uses[i];
    bool is_product = i % 2 != 0;
    bool is_own = i == 2 * k->k->rank * k->tensors->n_of_block; /* a copy by this warp */
    if (use->clock == 0 || is_own || ct_clock_knows(k, 0, use->component, use->clock)) {
      continue;
    }
    snprintf(
        text, sizeof text,
        is_product
            ? "tmem_dealloc: the product at line %d may not have finished with %.80s; wait for "
              "a phase at which a later tcgen05_commit() arrived, then give it back"
            : "tmem_dealloc: line %d may still use %.80s, in another warp; put sync_threads() "
              "between that and tmem_dealloc()",
        line_of(k, use->in), name);
    tell(k, note->buf, in, 0, text);
    return;
  }
}

static void deallocate(CtCheckWorker *k, const CtSyncNote *note) {
  Tensor *t = &k->tensors->of[note->buf];
  uint32_t in = ct_check_index(k, note->in);
  char text[300];
  if (t->deallocated != 0) {
    snprintf(text, sizeof text,
             "tmem_dealloc: %.80s was given back already, at line %d; give each tensor back once",
             k->k->job->program->bufs[note->buf].name, line_of(k, t->deallocated - 1));
    tell(k, note->buf, in, 0, text);
  } else {
    look_at_uses(k, note, t);
  }
  t->deallocated = in + 1;
}

void ct_tensor_sync(CtCheckWorker *k, const CtSyncNote *note) {
  uint32_t component;
  if (note->kind == CT_SYNC_TMEM_ALLOC) {
    k->tensors->of[note->buf].made = ct_clock_of(k, 0, CT_AGENT_NONE, &component);
    k->tensors->of[note->buf].made_in = ct_check_index(k, note->in);
  } else if (note->kind == CT_SYNC_TMEM_DEALLOC) {
    deallocate(k, note);
  }
}

void ct_tensor_end_block(CtCheckWorker *k) {
  const CtSimtProgram *p = k->k->job->program;
  char text[300];
  for (uint32_t b = 1; k->tensors != NULL && b < k->tensors->n_bufs; b++) {
    const Tensor *t = &k->tensors->of[b];
    if (p->bufs[b].space == CT_TENSOR && t->made != 0 && t->deallocated == 0) {
      snprintf(
          text, sizeof text,
          "%.80s is never given back: a block must call tmem_dealloc(%.80s) before it ends, in its "
          "first warp, or later blocks wait for its columns for ever",
          p->bufs[b].name, p->bufs[b].name);
      tell(k, b, t->made_in, 0, text);
    }
  }
}
