/* simt_copy.c: copies of a planned launch that are under way: see simt_copy.h. */
#include "simt_copy.h"

#include <string.h>

#include "simt_plan.h"

/* Keeps the copy and tells the plan. False: out of memory. */
static bool keep(const CtSimtCopy *copy) {
  CtSimtJob *job = copy->w->worker->job;
  CtSimtPlan *plan = job->group->plan;
  CtSimtCopies *copies = &plan->copies;
  void *box = copy->box == NULL ? NULL : ct_alloc(job->alloc, copy->box_bytes);
  if ((box == NULL && copy->box != NULL) ||
      CT_GROW(job->alloc, copies->list, copies->cap, copies->n + 1, NULL) != CT_OK) {
    ct_free(job->alloc, box, copy->box_bytes);
    return false;
  }
  if (box != NULL) {
    memcpy(box, copy->box, copy->box_bytes);
  }
  CtSimtCopy *kept = &copies->list[copies->n++];
  *kept = *copy;
  kept->box = box;
  kept->number = copies->n_begun++;
  plan->began(plan, kept);
  return true;
}

bool ct_simt_copy_begin(const CtSimtCopy *copy) {
  const CtSimtJob *job = copy->w->worker->job;
  bool is_there = copy->rank >= 0 && copy->rank < job->program->n_cluster && copy->slot >= 0 &&
                  copy->slot < copy->w->mem[copy->buf].n;
  if (is_there) {
    ct_simt_note_sync(&(CtSyncNote){.kind = CT_SYNC_ISSUE,
                                    .in = copy->in,
                                    .w = copy->w,
                                    .lane = copy->lane,
                                    .rank = copy->rank,
                                    .buf = copy->buf,
                                    .slot = copy->slot});
  }
  return (job->group->plan != NULL && is_there && keep(copy)) || copy->complete(copy);
}

bool ct_simt_copy_is_next(const CtSimtCopies *copies, size_t i) {
  const CtSimtCopy *c = &copies->list[i];
  for (size_t k = 0; k < i; k++) {
    const CtSimtCopy *other = &copies->list[k];
    if (ct_simt_copy_to(other) == ct_simt_copy_to(c) && other->buf == c->buf &&
        other->slot == c->slot) {
      return false;
    }
  }
  return true;
}

static void forget(CtAlloc alloc, CtSimtCopies *copies, size_t i) {
  CtSimtCopy *c = &copies->list[i];
  ct_free(alloc, c->box, c->box_bytes);
  memmove(c, c + 1, (copies->n - i - 1) * sizeof *c);
  copies->n--;
}

void ct_simt_copy_end(CtAlloc alloc, CtSimtCopies *copies, const CtSimtCopy *copy) {
  size_t i = (size_t)(copy - copies->list);
  (void)copy->complete(copy);
  forget(alloc, copies, i);
}

bool ct_simt_copy_is_any(const CtSimtCopies *copies, const CtWorker *team) {
  for (size_t i = 0; i < copies->n; i++) {
    if (copies->list[i].w->worker->team == team) {
      return true;
    }
  }
  return false;
}

void ct_simt_copy_drop(CtAlloc alloc, CtSimtCopies *copies, const CtWorker *team) {
  for (size_t i = copies->n; i-- > 0;) {
    if (team == NULL || copies->list[i].w->worker->team == team) {
      forget(alloc, copies, i);
    }
  }
  if (team == NULL) {
    ct_free(alloc, copies->list, copies->cap * sizeof *copies->list);
    *copies = (CtSimtCopies){.list = NULL};
  }
}
