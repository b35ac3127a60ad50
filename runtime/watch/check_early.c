/* check_early.c: `check` of dependent launches (`pdl = true`). On a GPU such a launch may begin
   while earlier ones still run, until it calls grid_dependency_wait(). So what it does to global
   memory before this wait must not conflict with what the earlier launches do.

   The past. When a dependent launch begins, these may still run: the last launch without pdl,
   and all launches since. What they did to memory, element by element, is the past. It ends, and
   is forgotten, in three cases. A launch without pdl begins. The host has waited for launches
   (CtSimtLaunch.n_host). Or a block of a dependent launch waited before it let the next launch
   begin: as the next one begins only when all blocks have let it, everything before that wait is
   over.

   Late enough. An access comes after the wait if its thread has waited, or if it is ordered
   after a thread that has. Everything that orders accesses counts (check_state.h); that thread
   may be in another block of the cluster, or in a block that handed the wait on by a release.
   The first wait of each warp is enough to keep: what comes after a later wait also comes after
   the first.

   Two atomic accesses are not reported. */
#include "check_flag.h"
#include "check_global.h"

#include <string.h>

enum {
  ATOMIC = 0x80
}; /* a flag in a granule's byte, next to the number of the kernel; byte 0: no access */
enum { MAX_NAMES = ATOMIC - 1 };

/* What launches did to a region. A granule keeps its last access, but an ordinary one rather
   than an atomic one. */
typedef struct Past {
  const char *begin, *end;
  int bits; /* bits of a granule's size */
  size_t n; /* granules */
  uint8_t *read, *wrote;
} Past;

struct CtEarly {
  Past *past;
  size_t n_past, cap_past;
  const char *names
      [MAX_NAMES]; /* kernels of the past, in CtCheck.texts; the last one stands for all others */
  uint8_t n_names;
  uint64_t n_host;
  /* from here on: the current launch */
  bool is_dependent;
  _Atomic bool holds; /* a block waited before it let the next launch begin: the past ends here */
};

/* --- the past ---------------------------------------------------------------------------------------------- */

static void free_past(const CtCheck *c, const Past *p) {
  ct_free(c->alloc, p->read, p->n);
  ct_free(c->alloc, p->wrote, p->n);
}

static void settle(CtCheck *c) {
  CtEarly *e = c->early;
  for (size_t i = 0; i < e->n_past; i++) {
    free_past(c, &e->past[i]);
  }
  e->n_past = 0;
  e->n_names = 0;
}

void ct_early_forget(CtCheck *c, const char *begin, size_t bytes) {
  CtEarly *e = c->early;
  ct_streams_forget(c, begin, bytes);
  for (size_t i = 0; e != NULL && i < e->n_past; i++) {
    Past *p = &e->past[i];
    for (size_t g = 0; p->begin < begin + bytes && begin < p->end && g < p->n; g++) {
      const char *at = p->begin + (g << p->bits);
      if (at < begin + bytes && at + ((size_t)1 << p->bits) > begin) {
        p->read[g] = p->wrote[g] = 0;
      }
    }
  }
}

void ct_early_close(CtCheck *c) {
  ct_streams_close(c);
  if (c->early != NULL) {
    settle(c);
    ct_free(c->alloc, c->early->past, c->early->cap_past * sizeof(Past));
    ct_free(c->alloc, c->early, sizeof *c->early);
    c->early = NULL;
  }
}

/* The number for the name of a kernel; 0: no memory. */
static uint8_t name_number(CtCheck *c, const char *name) {
  CtEarly *e = c->early;
  for (uint8_t i = 0; i < e->n_names; i++) {
    if (strcmp(e->names[i], name) == 0) {
      return (uint8_t)(i + 1);
    }
  }
  if (e->n_names == MAX_NAMES) {
    return MAX_NAMES;
  }
  const char *kept = ct_arena_strdup(&c->texts, name, strlen(name));
  if (kept == NULL) {
    return 0;
  }
  e->names[e->n_names++] = kept;
  return e->n_names;
}

/* The past of a region; NULL: no memory. */
static Past *past_of(CtCheck *c, const CtGlobalRegion *r) {
  CtEarly *e = c->early;
  for (size_t i = 0; i < e->n_past; i++) {
    if (e->past[i].begin == r->begin && e->past[i].end == r->end && e->past[i].bits == r->bits) {
      return &e->past[i];
    }
  }
  Past p = {.begin = r->begin, .end = r->end, .bits = r->bits, .n = ct_region_granules(r)};
  p.read = ct_alloc(c->alloc, p.n);
  p.wrote = ct_alloc(c->alloc, p.n);
  if (p.read == NULL || p.wrote == NULL ||
      CT_GROW(c->alloc, e->past, e->cap_past, e->n_past + 1, NULL) != CT_OK) {
    free_past(c, &p);
    return NULL;
  }
  memset(p.read, 0, p.n);
  memset(p.wrote, 0, p.n);
  e->past[e->n_past] = p;
  return &e->past[e->n_past++];
}

static void add(uint8_t *to, uint8_t number, bool is_atomic) {
  if (!is_atomic || *to == 0 || (*to & ATOMIC) != 0) {
    *to = (uint8_t)(number | (is_atomic ? ATOMIC : 0));
  }
}

static uint8_t of_word(const CtGlobal *g, uint32_t word, uint8_t plain, uint8_t atomic) {
  return word == 0                                                     ? 0
         : ct_global_event(g, word >> CT_EVENT_LANE_BITS)->atomic != 0 ? atomic
                                                                       : plain;
}

uint8_t ct_early_uses(const CtGlobal *g, const CtGlobalRegion *r, size_t granule) {
  uint8_t uses = 0;
  if (r->seen != NULL) {
    uint8_t seen = atomic_load_explicit(&r->seen[granule], memory_order_relaxed);
    uses = seen == CT_SEEN_NOT ? 0 : seen == CT_SEEN_ATOMIC ? CT_USE_READ_ATOMIC : CT_USE_READ;
  }
  const CtGlobalChunk *chunk = granule / CT_GLOBAL_CHUNK < r->n_chunks
                                   ? atomic_load(&r->chunks[granule / CT_GLOBAL_CHUNK])
                                   : NULL;
  size_t j = granule % CT_GLOBAL_CHUNK;
  if (chunk == NULL) {
    return uses;
  }
  uses |= of_word(g, ct_line_write(chunk, j), CT_USE_WRITE, CT_USE_WRITE_ATOMIC);
  for (int k = 0; k < CT_GLOBAL_KINDS; k++) {
    uint32_t word = ct_line_latest(chunk, (CtGlobalKind)k, j);
    uses |= k == CT_GLOBAL_ATOMIC ? of_word(g, word, CT_USE_WRITE, CT_USE_WRITE_ATOMIC)
                                  : of_word(g, word, CT_USE_READ, CT_USE_READ_ATOMIC);
  }
  return uses;
}

static void add_region(const CtGlobal *g, const CtGlobalRegion *r, const Past *p, uint8_t number) {
  for (size_t i = 0; i < p->n; i++) {
    uint8_t uses = ct_early_uses(g, r, i);
    if ((uses & (CT_USE_READ | CT_USE_READ_ATOMIC)) != 0) {
      add(&p->read[i], number, (uses & CT_USE_READ) == 0);
    }
    if ((uses & (CT_USE_WRITE | CT_USE_WRITE_ATOMIC)) != 0) {
      add(&p->wrote[i], number, (uses & CT_USE_WRITE) == 0);
    }
  }
}

/* --- a launch ------------------------------------------------------------------------------------------------ */

static CtEarly *open_early(CtCheck *c) {
  if (c->early == NULL) {
    c->early = ct_alloc(c->alloc, sizeof *c->early);
  }
  if (c->early != NULL) {
    *c->early = (CtEarly){0};
  }
  return c->early;
}

static bool keep_reads(CtCheck *c) {
  bool ok = true;
  for (uint32_t i = 0; ok && i < c->global->n_regions; i++) {
    CtGlobalRegion *r = &c->global->regions[i];
    if (!r->is_written && r->is_read) {
      r->seen = ct_alloc(c->alloc, ct_region_granules(r));
      ok = r->seen != NULL;
    }
    if (r->seen != NULL) {
      memset((void *)r->seen, CT_SEEN_NOT, ct_region_granules(r));
    }
  }
  return ok;
}

CtStatus ct_early_begin(CtCheck *c, CtErr *err) {
  const CtSimtLaunch *launch = c->job->launch;
  c->is_tracked =
      c->global != NULL && (launch->may_overlap || launch->known != NULL) && !c->options.is_single;
  if (c->is_tracked && ((c->early == NULL && open_early(c) == NULL) || !ct_streams_begin(c))) {
    return ct_fail_nomem(err);
  }
  if (c->early == NULL) {
    return CT_OK;
  }
  CtEarly *e = c->early;
  if (!c->is_tracked || !launch->is_dependent || launch->n_host != e->n_host) {
    settle(c);
  }
  e->n_host = launch->n_host;
  e->is_dependent = launch->is_dependent;
  atomic_store(&e->holds, false);
  return !c->is_tracked || keep_reads(c) ? CT_OK : ct_fail_nomem(err);
}

void ct_early_end(CtCheck *c) {
  if (!c->is_tracked) {
    return;
  }
  ct_streams_end(c);
  if (!c->job->launch->may_overlap) {
    return;
  }
  if (atomic_load(&c->early->holds)) {
    settle(c);
  }
  uint8_t number = name_number(c, c->job->program->name);
  for (uint32_t i = 0; number != 0 && i < c->global->n_regions; i++) {
    const CtGlobalRegion *r = &c->global->regions[i];
    const Past *p = r->is_read || r->is_written ? past_of(c, r) : NULL;
    if (p != NULL) {
      add_region(c->global, r, p, number);
    }
    c->no_memory = c->no_memory || (p == NULL && (r->is_read || r->is_written));
  }
  c->no_memory = c->no_memory || number == 0;
}

/* --- who has waited --------------------------------------------------------------------------------------- */

static bool is_behind(const CtCheckWorker *k, const CtCheckWorker *other, int32_t i, int32_t warp) {
  const CtCheckWarp *w = &k->warps[warp], *waiter = &other->warps[i];
  const CtCheckEvent *wait = &waiter->wait;
  if (k->clocks != NULL &&
      ct_clock_is_before(k, wait->component, wait->clock, warp, CT_ANY_LANE, false)) {
    return true;
  }
  if (ct_flag_knows(k, warp, 0, wait, waiter->wait_lane)) {
    return true;
  }
  return other == k && (wait->epoch != k->epoch || (i == warp && wait->sub != w->sub));
}

/* The lanes of the warp whose accesses come after the wait. */
uint32_t ct_early_behind(CtCheckWorker *k, int32_t warp) {
  const CtSimtProgram *p = k->k->job->program;
  CtCheckWarp *w = &k->warps[warp];
  uint32_t told = w->behind == CT_ALL_LANES ? w->behind : ct_flag_behind(k, warp);
  bool all = told == CT_ALL_LANES;
  for (int rank = 0; !all && rank < p->n_cluster; rank++) {
    const CtCheckWorker *other = k - k->k->rank + rank;
    for (int32_t i = 0; !all && i < p->n_warps; i++) {
      all = other->warps[i].waited != 0 && is_behind(k, other, i, warp);
    }
  }
  w->behind |= all ? CT_ALL_LANES : w->waited | told;
  return w->behind;
}

void ct_early_wait(CtCheckWorker *k, const CtIn *in, const CtWarp *w) {
  CtCheckWarp *warp = &k->warps[w->index];
  if (warp->waited == 0) {
    ct_check_event_of(k, in, w->index, 0, &warp->wait);
    warp->wait_lane = ct_first_lane(w->mask);
  }
  warp->waited |= w->mask;
}

void ct_early_launch(CtCheckWorker *k, const CtWarp *w) {
  if (k->check->is_tracked && (w->mask & ~ct_early_behind(k, w->index)) != 0) {
    k->lets_early = true;
  }
}

void ct_early_end_block(const CtCheckWorker *k) {
  for (int32_t i = 0; k->check->is_tracked && i < k->k->job->program->n_warps; i++) {
    if (k->warps[i].waited != 0 && !k->lets_early) {
      atomic_store(&k->check->early->holds, true);
    }
  }
}

/* --- accesses ------------------------------------------------------------------------------------------------ */

/* The number of the kernel whose earlier access this one must not overtake; 0: there is none.
   *wrote: that access was a write. */
static uint8_t conflict(const Past *p, size_t g, const CtAccess *a, bool *wrote) {
  uint8_t w = p->wrote[g], r = a->writes ? p->read[g] : 0;
  w = a->is_atomic && (w & ATOMIC) != 0 ? 0 : w;
  r = a->is_atomic && (r & ATOMIC) != 0 ? 0 : r;
  *wrote = w != 0;
  return (w != 0 ? w : r) & MAX_NAMES;
}

static void note(CtCheckWorker *k, const CtAccess *a, int lane, int64_t off, uint8_t number,
                 bool wrote) {
  const CtEarly *e = k->check->early;
  CtFound f = ct_finding_of(k, CT_CHECK_DEPENDENT, a, lane, off);
  f.how = (uint8_t)((a->writes ? CT_EARLY_WRITE : 0) | (wrote ? CT_EARLY_WROTE : 0));
  f.kernel = number == MAX_NAMES ? NULL : e->names[number - 1];
  ct_finding_note(k, &f);
}

static void look_at(CtCheckWorker *k, const CtAccess *a, int lane, int64_t off) {
  const CtEarly *e = k->check->early;
  size_t bytes = ct_value_bytes(a->buf->dtype);
  const char *at = ct_access_ptr(a, off);
  for (size_t i = 0; i < e->n_past; i++) {
    const Past *p = &e->past[i];
    for (size_t b = 0; b < bytes; b++) {
      bool wrote;
      uint8_t number = at + b >= p->begin && at + b < p->end
                           ? conflict(p, (size_t)(at + b - p->begin) >> p->bits, a, &wrote)
                           : 0;
      if (number != 0) {
        note(k, a, lane, off, number, wrote);
        return;
      }
    }
  }
}

static void see(const CtGlobalRegion *r, const CtAccess *a, int64_t off) {
  size_t first = (size_t)(ct_access_ptr(a, off) - r->begin) >> r->bits;
  size_t end = first + ct_check_granules(a->buf->dtype, r->bits);
  for (size_t g = first; g < end; g++) {
    if (!a->is_atomic) {
      atomic_store_explicit(&r->seen[g], CT_SEEN, memory_order_relaxed);
    } else if (atomic_load_explicit(&r->seen[g], memory_order_relaxed) == CT_SEEN_NOT) {
      atomic_store_explicit(&r->seen[g], CT_SEEN_ATOMIC, memory_order_relaxed);
    }
  }
}

/* One lane for each element that is read: often all lanes read the same one. */
static uint32_t different(const CtAccess *a) {
  int first = ct_first_lane(a->mask);
  for (uint32_t rest = a->mask; rest != 0; rest &= rest - 1) {
    if (a->pos[ct_first_lane(rest)] != a->pos[first]) {
      return a->mask;
    }
  }
  return 1u << first;
}

/* Notes ordinary reads that are all inside the region, if an element is a granule. */
static void see_regular(const CtGlobalRegion *r, const CtAccess *a) {
  uint32_t lanes = different(a);
  _Atomic uint8_t *seen = &r->seen[((const char *)a->mem->ptr - r->begin) >> r->bits];
  for (int64_t e = 0; e < a->n; e++) {
    int64_t first = ct_access_offset(a, e, 0) - a->pos[0];
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
      atomic_store_explicit(&seen[first + a->pos[ct_first_lane(rest)]], CT_SEEN,
                            memory_order_relaxed);
    }
  }
}

/* Does one of two things for each element: notes it in `seen`, or, if that is NULL, compares it
   with the past. */
static void each(CtCheckWorker *k, const CtAccess *a, uint32_t lanes, const CtGlobalRegion *seen) {
  int64_t off[CT_LANES];
  for (int64_t e = 0; lanes != 0 && e < a->n; e++) {
    for (uint32_t rest = lanes & ct_access_row(a, e, off); rest != 0; rest &= rest - 1) {
      int lane = ct_first_lane(rest);
      if (seen != NULL) {
        see(seen, a, off[lane]);
      } else {
        look_at(k, a, lane, off[lane]);
      }
    }
  }
}

void ct_early_access(CtCheckWorker *k, const CtAccess *a) {
  const CtGlobal *g = k->check->global;
  const CtEarly *early = k->check->early;
  const CtGlobalRegion *r = ct_region_at(g, a);
  if (a->mask == 0) {
    return;
  }
  ct_streams_access(k, a);
  if (early->is_dependent && early->n_past > 0) {
    each(k, a, a->mask & ~ct_early_behind(k, a->w->index), NULL);
  }
  if (r == NULL || r->seen == NULL) {
    return;
  }
  if (a->is_regular && !a->is_atomic && ct_value_bytes(a->buf->dtype) == r->granule) {
    see_regular(r, a);
  } else {
    each(k, a, a->mask, r);
  }
}
