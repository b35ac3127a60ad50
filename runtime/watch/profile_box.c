/* profile_box.c: counts boxes of TMA; see profile_rows.h. */
#include "profile_rows.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/ir/ir_tma.h"
#include "runtime/base/order.h"

enum { SECTOR_SHIFT = 5, ROW_BYTES = 128 };

/* --- maps --------------------------------------------------------------------------------------------------- */

void ct_profile_set_map(CtProfileSite *site, const CtSimtTma *t) {
  site->is_box = true;
  site->is_async = true;
  site->n_box = (uint8_t)t->n;
  site->swizzle = t->swizzle;
  site->reduces = t->reduce != CT_TMA_NONE;
  for (int i = 0; i < t->n; i++) {
    site->box[i] = (uint16_t)t->box[i];
  }
  site->n_call = t->boxes.n;
  site->n_fewest = t->boxes.fewest;
  memcpy(site->fewest, t->boxes.box, sizeof site->fewest);
}

static bool has_same_map(const CtProfileSite *a, const CtProfileSite *b) {
  return a->is_box && a->buf == b->buf && a->writes == b->writes && a->n_box == b->n_box &&
         a->swizzle == b->swizzle && a->reduces == b->reduces &&
         memcmp(a->box, b->box, sizeof a->box) == 0;
}

uint32_t ct_profile_map_of(const CtProfileSite *sites, uint32_t i) {
  uint32_t first = 0;
  while (!has_same_map(&sites[first], &sites[i])) {
    first++;
  }
  return first;
}

/* --- boxes -------------------------------------------------------------------------------------------------- */

/* The sectors of a box's rows, which it asks of a tensor. */
typedef struct Rows {
  const CtProfileJob *job;
  CtProfileWorker *k;
  uint32_t site, block;
  uint64_t start; /* address of the tensor's memory */
  CtProfileMem *add;
} Rows;

static void count_row(void *ud, int64_t off, int64_t bytes) {
  Rows *r = ud;
  int64_t origin = (int64_t)(r->start >> SECTOR_SHIFT);
  int64_t first = (int64_t)((r->start + (uint64_t)off) >> SECTOR_SHIFT);
  int64_t last = (int64_t)((r->start + (uint64_t)(off + bytes - 1)) >> SECTOR_SHIFT);
  r->add->used += (uint64_t)bytes;
  r->add->sectors += (uint64_t)(last - first + 1);
  for (int64_t i = first; i <= last; i++) {
    ct_profile_touch(r->job, r->k, r->site, r->block, i - origin);
  }
}

static void ignore_row(void *ud, int64_t off, int64_t bytes) {
  (void)ud;
  (void)off;
  (void)bytes;
}

static uint64_t place_of(const CtWarp *w, const CtSimtTma *t, int lane) {
  uint64_t h = 0x9E3779B97F4A7C15u;
  for (int i = 0; i < t->n; i++) {
    h = (h ^ (uint32_t)ct_simt_tma_of(w)->lanes[CT_TMA_CRD + i][lane]) * 0xFF51AFD7ED558CCDu;
    h ^= h >> 32;
  }
  return h;
}

/* Notes a box, in the first launch and as long as there is room. */
static void note_box(const CtProfileJob *job, CtProfileWorker *k, uint32_t site, const CtWarp *w,
                     const CtSimtTma *t, int lane, uint64_t bytes) {
  uint32_t map = job->sites[site].map;
  uint32_t step = k->steps[map]++;
  if (!job->notes_boxes || k->lacks_boxes) {
    return;
  }
  k->lacks_boxes = k->n_boxes == CT_PROFILE_BOXES;
  if (!k->lacks_boxes &&
      CT_GROW(job->alloc, k->boxes, k->cap_boxes, k->n_boxes + 1, NULL) != CT_OK) {
    k->lacks_boxes = k->no_memory = true;
  }
  if (!k->lacks_boxes) {
    k->boxes[k->n_boxes++] = (CtProfileBox){.place = place_of(w, t, lane),
                                            .map = map,
                                            .block = (uint32_t)w->worker->block,
                                            .step = step,
                                            .bytes = (uint32_t)bytes};
  }
}

void ct_profile_count_boxes(const CtProfileJob *job, CtProfileWorker *k, uint32_t site,
                            const CtIn *code, CtWarp *w) {
  const CtSimtTma *t = &w->worker->job->program->tmas[code->imm];
  bool is_global = job->ats[site].space == CT_GLOBAL;
  CtProfileMem add = {0};
  Rows rows = {.job = job,
               .k = k,
               .site = site,
               .block = (uint32_t)w->worker->block,
               .start = (uint64_t)(uintptr_t)w->mem[t->global].ptr,
               .add = &add};
  for (uint32_t rest = w->mask; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    uint64_t before = add.used;
    uint64_t bytes =
        (uint64_t)ct_simt_tma_rows(w, t, lane, is_global ? count_row : ignore_row, &rows);
    uint64_t copies = t->is_store ? 1 : (uint64_t)__builtin_popcount(ct_simt_tma_ranks(w, t, lane));
    add.requests++;
    add.lanes++;
    add.delivered += bytes * copies;
    if (!is_global) {
      uint64_t n = copies * ((bytes + ROW_BYTES - 1) / ROW_BYTES);
      add.wavefronts += n;
      add.ideal += n;
    } else if (!t->is_store) {
      note_box(job, k, site, w, t, lane, add.used - before);
    }
  }
  add.bytes = is_global ? add.used : add.delivered;
  ct_profile_add_mem(&k->mems[site], &add);
}

/* --- waves -------------------------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b) {
  const CtProfileBox *x = a, *y = b;
  const int64_t pairs[][2] = {{x->map, y->map},
                              {(int64_t)x->place, (int64_t)y->place},
                              {x->step, y->step},
                              {x->block, y->block}};
  return CT_COMPARE_PAIRS(pairs);
}

void ct_profile_add_waves(CtProfileBox *boxes, size_t n, int64_t n_blocks, CtProfileWave *by_site) {
  if (n > 0) {
    qsort(boxes, n, sizeof *boxes, by_place);
  }
  for (size_t i = 0; i < n; i++) {
    const CtProfileBox *b = &boxes[i], *last = i == 0 ? NULL : b - 1;
    bool is_known = last != NULL && last->map == b->map && last->place == b->place;
    bool is_together =
        is_known && last->step == b->step && last->block / n_blocks == b->block / n_blocks;
    by_site[b->map].unique += is_known ? 0 : b->bytes;
    by_site[b->map].together += is_together ? 0 : b->bytes;
  }
}
