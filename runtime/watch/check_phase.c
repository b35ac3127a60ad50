/* check_phase.c: phases of mbarriers that warps have missed; see check_parts.h. */
#include "check_parts.h"

#include <stdio.h>
#include <string.h>

#include "check_clock.h"
#include "runtime/simt/run/simt_sync.h"

enum { N_KEPT = 4 };
static const uint32_t NONE = UINT32_MAX;

/* What a warp knows of one barrier of its block. */
typedef struct Waiter {
  uint32_t next; /* the phase after the last one that it passed */
  uint32_t missed,
      went_on; /* the first wait that came too late: its phase, and the phase that let it go on; NONE */
  uint32_t in;
} Waiter;

/* A barrier: how many phases are complete, and which instructions completed the last ones. */
typedef struct Barrier {
  uint32_t n, in[N_KEPT];
} Barrier;

struct CtPhases {
  const CtClocks *clocks; /* they number the barriers */
  Barrier *barriers;      /* by rank and slot */
  Waiter *waiters;        /* by rank and slot, then by warp */
};

static size_t slot_index(const CtClocks *c, int rank, uint32_t buf, int64_t slot) {
  return (size_t)rank * c->n_slots + c->slot_of[buf] + (size_t)slot;
}

CtPhases *ct_phase_open(CtCheck *c, const CtClocks *clocks) {
  CtPhases *p = ct_arena_alloc(&c->arena, sizeof *p);
  size_t n = clocks == NULL ? 0 : (size_t)clocks->n_blocks * clocks->n_slots;
  if (p == NULL || clocks == NULL) {
    return NULL;
  }
  p->clocks = clocks;
  p->barriers = ct_arena_alloc(&c->arena, (n + 1) * sizeof *p->barriers);
  p->waiters = ct_arena_alloc(&c->arena, (n * clocks->n_warps + 1) * sizeof *p->waiters);
  return p->barriers == NULL || p->waiters == NULL ? NULL : p;
}

void ct_phase_begin_block(CtCheckWorker *k) {
  CtPhases *p = k->phases;
  uint32_t n_slots = p->clocks->n_slots, n_warps = p->clocks->n_warps;
  size_t first = (size_t)k->k->rank * n_slots;
  for (size_t i = first; i < first + n_slots; i++) {
    p->barriers[i] = (Barrier){0};
    for (uint32_t w = 0; w < n_warps; w++) {
      p->waiters[i * n_warps + w] = (Waiter){.missed = NONE};
    }
  }
}

/* The first phase with this parity that the warp has not passed. If no phase is complete, the
   phase before the first counts as passed. */
static uint32_t wanted(const Waiter *w, uint32_t parity) {
  return w->next + ((w->next ^ parity) & 1);
}

static void pass(CtCheckWorker *k, const CtSyncNote *note, const Barrier *b, Waiter *w) {
  uint32_t phase = b->n - 1;
  if (b->n == 0) {
    return;
  }
  uint32_t want = wanted(w, phase & 1);
  if (w->missed == NONE && phase >= want + 2) {
    w->missed = want;
    w->went_on = phase;
    w->in = ct_check_index(k, note->in);
  }
  w->next = b->n;
}

void ct_phase_sync(CtCheckWorker *k, const CtSyncNote *note) {
  CtPhases *p = k->phases;
  if (note->kind != CT_SYNC_ARRIVE && note->kind != CT_SYNC_COMPLETE &&
      note->kind != CT_SYNC_PASS) {
    return;
  }
  size_t i = slot_index(p->clocks, note->rank, note->buf, note->slot);
  Barrier *b = &p->barriers[i];
  if (note->kind == CT_SYNC_PASS) {
    pass(k, note, b, &p->waiters[i * p->clocks->n_warps + (size_t)note->w->index]);
  } else if (note->turns) {
    b->in[b->n++ % N_KEPT] = ct_check_index(k, note->in);
  }
}

/* " (lines 8 and 12)": what completed two phases. */
static void lines_text(const CtCheckWorker *k, const Barrier *b, uint32_t phase, char *out,
                       size_t size) {
  const CtLoc *locs = k->k->job->program->locs;
  int first = locs[b->in[phase % N_KEPT]].line, second = locs[b->in[(phase + 1) % N_KEPT]].line;
  out[0] = '\0';
  if (b->n - phase > N_KEPT) {
    return;
  }
  if (first == second) {
    snprintf(out, size, " (line %d)", first);
  } else {
    snprintf(out, size, " (lines %d and %d)", first, second);
  }
}

static void describe(const CtCheckWorker *k, const CtMbarWait *wait, int32_t warp, char *out,
                     size_t size) {
  const CtPhases *p = k->phases;
  const CtSimtProgram *program = k->k->job->program;
  size_t i = slot_index(p->clocks, k->k->rank, wait->buf, wait->slot);
  const Barrier *b = &p->barriers[i];
  const Waiter *w = &p->waiters[i * p->clocks->n_warps + (size_t)warp];
  uint32_t want = w->missed != NONE ? w->missed : wanted(w, (uint32_t)wait->parity);
  uint32_t in = w->missed != NONE ? w->in : ct_check_index(k, wait->in);
  uint32_t got = w->missed != NONE ? w->went_on : b->n;
  char lines[60];
  out[0] = '\0';
  if (got < want + 2) {
    return;
  }
  lines_text(k, b, want, lines, sizeof lines);
  snprintf(
      out, size,
      "; phases %u and %u of %.80s[%d] were complete%s before warp %d waited for phase %u at line "
      "%d: that wait %s phase %u, whose parity is that of phase %u. What completes phase %u must "
      "come after that wait: let the arriving warp wait until the slot is empty",
      want, want + 1, program->bufs[wait->buf].name, (int)wait->slot, lines, (int)warp, want,
      program->locs[in].line, w->missed != NONE ? "went on with" : "is for", got, want, want + 1);
}

void ct_phase_text(const CtCheckWorker *k, char *out, size_t size) {
  out[0] = '\0';
  for (int32_t i = 0; i < k->k->job->program->n_warps && out[0] == '\0'; i++) {
    CtMbarWait wait;
    if (ct_simt_mbar_wait(k->k, i, &wait)) {
      describe(k, &wait, i, out, size);
    }
  }
}
