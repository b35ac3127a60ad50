/* simt_grid.c: the barrier of a grid, in cooperative launches of the CPU engine. Such a launch has a
   worker for each block. The warps of a block wait as at sync_threads. When all are there, the block
   arrives; they go on when the phase is complete: all blocks of the grid have arrived. A block that
   ends without arriving leaves the others stuck (simt_spin.c). */
#include "simt_engine.h"
#include "simt_watch.h"

const CtIn *ct_simt_do_GRID_BARRIER(const CtIn *in, CtWarp *w) {
  if (w->mask != w->live) {
    return ct_simt_fail_kind(w, in, ct_first_lane(w->mask), CT_FAIL_BARRIER_LANES);
  }
  w->pc = in;
  w->is_waiting = true;
  return NULL;
}

static void note(CtWarp *w, CtSyncKind kind) {
  ct_simt_note_sync(
      &(CtSyncNote){.kind = kind, .in = w->pc, .w = w, .n = (int64_t)w->worker->grid_phase});
}

static void arrive(CtWarp *w) {
  CtWorker *k = w->worker;
  CtSimtJob *job = k->job;
  k->is_at_grid = true;
  k->grid_phase = atomic_load(&job->grid_phase);
  note(w, CT_SYNC_GRID_ARRIVE);
  if (atomic_fetch_add(&job->n_at_grid, 1) + 1 == job->n_blocks) {
    atomic_store(&job->n_at_grid, 0); /* nobody arrives in the next phase before it begins */
    atomic_store(&job->grid_phase, k->grid_phase + 1);
  }
  ct_simt_note_change(job);
}

bool ct_simt_pass_grid(CtWarp *first) {
  CtWorker *k = first->worker;
  const CtSimtJob *job = k->job;
  if (job->program->code[first->pc - job->code].u.op != CT_SIMT_GRID_BARRIER) {
    return true;
  }
  if (!k->is_at_grid) {
    arrive(first);
  }
  if (atomic_load(&job->grid_phase) == k->grid_phase) {
    return false;
  }
  k->is_at_grid = false;
  note(first, CT_SYNC_GRID_PASS);
  return true;
}
