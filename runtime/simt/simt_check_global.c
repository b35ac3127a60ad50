/* simt_check_global.c: `check` of global memory: races between blocks and within one; see
   simt_check_state.h. Only memory that the kernel writes is looked at. Its shadow is made of chunks
   when they are needed: for each granule the last write, and two reads by different blocks. Of several
   blocks that write one place without order the lowest is kept, so that all workers together find the
   same pair whatever their order. */
#include "simt_check_state.h"

#include <sched.h>
#include <string.h>

enum {
  CHUNK = 4096,  /* granules */
  EVENTS = 4096, /* a worker takes so many numbers at once */
  EVENT_CHUNKS = 1 << 15,
  MAX_BLOCKS = 1 << 26 /* whose releases are kept; of more all are taken for ordered */
};

typedef struct Chunk {
  atomic_flag lock;
  uint32_t *reads[2]; /* NULL: the kernel does not read it */
  uint32_t write[CHUNK];
} Chunk;

/* Memory of one tensor, or of several that overlap. */
typedef struct Region {
  const char *begin, *end;
  bool is_written, is_read;
  uint32_t granule; /* bytes: 1 << bits */
  int bits;
  size_t n_chunks;
  _Atomic(Chunk *) *chunks;
} Region;

struct CtGlobal {
  Region *regions;
  uint32_t n_regions;
  uint32_t *region_of; /* by buffer; UINT32_MAX: none */
  _Atomic(CtEvent *) *events;
  _Atomic uint32_t next; /* chunk of events */
  _Atomic uint64_t
      *released; /* by block; NULL: nothing in the kernel releases, or too many blocks */
  bool has_too_many;
};

/* --- what the kernel does ----------------------------------------------------------------------------- */

typedef struct Use {
  bool reads, writes;
} Use;

static void use_arg(const CtSimtProgram *p, Use *uses, const CtTileArg *arg, bool is_write) {
  if (arg->buf != 0 && p->bufs[arg->buf].space == CT_GLOBAL) {
    uses[arg->buf].writes = uses[arg->buf].writes || is_write;
    uses[arg->buf].reads = uses[arg->buf].reads || !is_write;
  }
}

static void use_code(const CtCheck *c, Use *uses, bool *releases) {
  const CtSimtProgram *p = c->job->program;
  for (uint32_t i = p->body; i < p->n_code; i++) {
    const CtIn *in = &p->code[i];
    const char *roles = ct_simt_roles[in->u.op];
    CtAtomicImm imm = {.imm = in->imm};
    if (in->u.op == CT_SIMT_ATOMIC) {
      uses[imm.u.buf].writes = uses[imm.u.buf].writes || imm.u.op != CT_OP_ATOMIC_LOAD;
      uses[imm.u.buf].reads = true;
      *releases = *releases || imm.u.op == CT_OP_ATOMIC_STORE;
    } else if (in->u.op == CT_SIMT_TMA) {
      const CtSimtTma *t = &p->tmas[in->imm];
      uses[t->global].writes = uses[t->global].writes || t->is_store;
      uses[t->global].reads = uses[t->global].reads || !t->is_store || t->reduce != 0;
    } else if (in->u.op == CT_SIMT_FENCE) {
      *releases = true;
    } else if (in->u.op >= CT_SIMT_COPY_4) {
      const CtTileOp *t = &p->tiles[in->imm];
      use_arg(p, uses, &t->dst, true);
      use_arg(p, uses, &t->a, false);
      use_arg(p, uses, &t->b, false);
      uses[t->dst.buf].reads = uses[t->dst.buf].reads || t->reads_dst;
    } else if (roles[3] == 'b') {
      uint32_t buf = in->c & ~(1u << 31);
      uses[buf].writes = uses[buf].writes || roles[0] >= 'a';
      uses[buf].reads = uses[buf].reads || roles[0] < 'a';
    }
  }
}

/* --- regions -------------------------------------------------------------------------------------------- */

static void join(Region *r, const Region *by) {
  r->begin = r->begin < by->begin ? r->begin : by->begin;
  r->end = r->end > by->end ? r->end : by->end;
  r->is_written = r->is_written || by->is_written;
  r->is_read = r->is_read || by->is_read;
  r->granule = r->granule < by->granule ? r->granule : by->granule;
}

/* Two that begin at no multiple of a granule from each other have bytes as granules. */
static void align(Region *r, const char *begin) {
  while (r->granule > 1 && (uintptr_t)(begin - r->begin) % r->granule != 0) {
    r->granule /= 2;
  }
}

static bool overlap(const Region *a, const Region *b) {
  return a->begin < b->end && b->begin < a->end;
}

static uint32_t find_region(const CtGlobal *g, const char *begin, const char *end) {
  for (uint32_t i = 0; i < g->n_regions; i++) {
    if (g->regions[i].begin <= begin && end <= g->regions[i].end) {
      return i;
    }
  }
  return UINT32_MAX;
}

static Region region_of(const CtSimtJob *job, uint32_t b, Use use) {
  const CtSimtBuf *buf = &job->program->bufs[b];
  const char *begin = job->launch->slots[buf->slot].ptr;
  int64_t n = ct_max(job->launch->n_elems[buf->param], 0) * (int64_t)ct_dtype_bytes(buf->of);
  return (Region){.begin = begin,
                  .end = begin + n,
                  .is_written = use.writes,
                  .is_read = use.reads,
                  .granule = (uint32_t)ct_dtype_bytes(buf->dtype)};
}

/* Joins the regions that overlap until none do. */
static void make_regions(const CtSimtJob *job, CtGlobal *g, const Use *uses) {
  for (uint32_t b = 1; b < job->program->n_bufs; b++) {
    Region r = region_of(job, b, uses[b]);
    if (job->program->bufs[b].space != CT_GLOBAL || r.begin == r.end) {
      continue;
    }
    for (uint32_t i = 0; i < g->n_regions; i++) {
      if (overlap(&g->regions[i], &r)) {
        join(&r, &g->regions[i]);
        g->regions[i] = g->regions[--g->n_regions];
        i = UINT32_MAX; /* from the first again */
      }
    }
    g->regions[g->n_regions++] = r;
  }
  for (uint32_t b = 1; b < job->program->n_bufs; b++) {
    Region r = region_of(job, b, uses[b]);
    bool is_global = job->program->bufs[b].space == CT_GLOBAL && r.begin != r.end;
    g->region_of[b] = is_global ? find_region(g, r.begin, r.end) : UINT32_MAX;
    if (is_global) {
      align(&g->regions[g->region_of[b]], r.begin);
    }
  }
}

static CtStatus make_tables(CtCheck *c, CtGlobal *g, bool releases) {
  for (uint32_t i = 0; i < g->n_regions; i++) {
    Region *r = &g->regions[i];
    r->bits = __builtin_ctz(r->granule);
    if (r->is_written) {
      r->n_chunks = (size_t)(r->end - r->begin) / r->granule / CHUNK + 1;
      r->chunks = ct_arena_alloc(&c->arena, r->n_chunks * sizeof *r->chunks);
      if (r->chunks == NULL) {
        return CT_ENOMEM;
      }
    }
  }
  g->events = ct_arena_alloc(&c->arena, EVENT_CHUNKS * sizeof *g->events);
  g->has_too_many = releases && c->job->n_blocks > MAX_BLOCKS;
  if (releases && !g->has_too_many) {
    g->released = ct_arena_alloc(&c->arena, (size_t)c->job->n_blocks * sizeof *g->released);
  }
  return g->events == NULL || (releases && !g->has_too_many && g->released == NULL) ? CT_ENOMEM
                                                                                    : CT_OK;
}

CtStatus ct_global_begin(CtCheck *c, CtErr *err) {
  if (c->options.no_global) {
    return CT_OK;
  }
  const CtSimtProgram *p = c->job->program;
  bool releases = false;
  CtGlobal *g = ct_arena_alloc(&c->arena, sizeof *g);
  Use *uses = ct_arena_alloc(&c->arena, p->n_bufs * sizeof *uses);
  if (g == NULL || uses == NULL) {
    return ct_fail_nomem(err);
  }
  g->regions = ct_arena_alloc(&c->arena, p->n_bufs * sizeof *g->regions);
  g->region_of = ct_arena_alloc(&c->arena, p->n_bufs * sizeof *g->region_of);
  if (g->regions == NULL || g->region_of == NULL) {
    return ct_fail_nomem(err);
  }
  use_code(c, uses, &releases);
  make_regions(c->job, g, uses);
  if (make_tables(c, g, releases) != CT_OK) {
    return ct_fail_nomem(err);
  }
  atomic_store(&g->next, 1); /* event 0 is none */
  c->global = g;
  return CT_OK;
}

void ct_global_end(CtCheck *c) {
  CtGlobal *g = c->global;
  for (uint32_t i = 0; g != NULL && i < g->n_regions; i++) {
    for (size_t j = 0; j < g->regions[i].n_chunks; j++) {
      Chunk *chunk = atomic_load(&g->regions[i].chunks[j]);
      if (chunk != NULL) {
        ct_free(c->alloc, chunk->reads[0], 2 * CHUNK * sizeof *chunk->reads[0]);
        ct_free(c->alloc, chunk, sizeof *chunk);
      }
    }
  }
  for (uint32_t i = 0; g != NULL && i < EVENT_CHUNKS && i < atomic_load(&g->next); i++) {
    ct_free(c->alloc, atomic_load(&g->events[i]), EVENTS * sizeof(CtEvent));
  }
  c->global = NULL;
}

/* --- chunks ---------------------------------------------------------------------------------------------- */

static Chunk *new_chunk(CtCheck *c, bool has_reads) {
  Chunk *chunk = ct_alloc(c->alloc, sizeof *chunk);
  if (chunk == NULL) {
    return NULL;
  }
  memset(chunk, 0, sizeof *chunk);
  atomic_flag_clear(&chunk->lock);
  if (has_reads) {
    chunk->reads[0] = ct_alloc(c->alloc, 2 * CHUNK * sizeof *chunk->reads[0]);
    if (chunk->reads[0] == NULL) {
      ct_free(c->alloc, chunk, sizeof *chunk);
      return NULL;
    }
    memset(chunk->reads[0], 0, 2 * CHUNK * sizeof *chunk->reads[0]);
    chunk->reads[1] = chunk->reads[0] + CHUNK;
  }
  return chunk;
}

static void free_chunk(CtCheck *c, Chunk *chunk) {
  ct_free(c->alloc, chunk->reads[0], 2 * CHUNK * sizeof *chunk->reads[0]);
  ct_free(c->alloc, chunk, sizeof *chunk);
}

/* NULL: no memory. */
static Chunk *chunk_at(CtCheckWorker *k, Region *r, size_t i) {
  Chunk *chunk = atomic_load_explicit(&r->chunks[i], memory_order_acquire);
  if (chunk == NULL) {
    Chunk *made = new_chunk(k->check, r->is_read);
    if (made == NULL) {
      k->no_memory = true;
      return NULL;
    }
    if (atomic_compare_exchange_strong(&r->chunks[i], &chunk, made)) {
      return made;
    }
    free_chunk(k->check, made); /* another worker was first: `chunk` is its */
  }
  return chunk;
}

static void lock(Chunk *chunk) {
  while (atomic_flag_test_and_set_explicit(&chunk->lock, memory_order_acquire)) {
    sched_yield();
  }
}
static void unlock(Chunk *chunk) { atomic_flag_clear_explicit(&chunk->lock, memory_order_release); }

/* --- events ---------------------------------------------------------------------------------------------- */

static const CtEvent *event_at(const CtGlobal *g, uint32_t number) {
  const CtEvent *events = atomic_load_explicit(&g->events[number / EVENTS], memory_order_acquire);
  return &events[number % EVENTS];
}

static bool take_events(CtCheckWorker *k) {
  CtGlobal *g = k->check->global;
  CtEvent *events = ct_alloc(k->check->alloc, EVENTS * sizeof *events);
  uint32_t i = events == NULL ? EVENT_CHUNKS : atomic_fetch_add(&g->next, 1);
  if (i >= EVENT_CHUNKS) {
    ct_free(k->check->alloc, events, EVENTS * sizeof *events);
    k->no_memory = true;
    return false;
  }
  atomic_store_explicit(&g->events[i], events, memory_order_release);
  k->free_event = i * EVENTS;
  k->end_event = k->free_event + EVENTS;
  return true;
}

/* The number of the event, the warp's latest if that is the same; 0: no memory. */
static uint32_t add_event(CtCheckWorker *k, const CtEvent *e) {
  CtCheckWarp *w = &k->warps[e->warp];
  if (w->global_event != 0) {
    const CtEvent *old = event_at(k->check->global, w->global_event);
    if (old->in == e->in && old->block == e->block && old->epoch == e->epoch &&
        old->sub == e->sub && old->component == e->component && old->clock == e->clock &&
        (e->is_atomic || (old->seq == e->seq && old->acq == e->acq))) {
      return w->global_event;
    }
  }
  if (k->free_event == k->end_event && !take_events(k)) {
    return 0;
  }
  uint32_t number = k->free_event++;
  CtEvent *events =
      atomic_load_explicit(&k->check->global->events[number / EVENTS], memory_order_relaxed);
  events[number % EVENTS] = *e;
  w->global_event = number;
  return number;
}

/* --- accesses -------------------------------------------------------------------------------------------- */

typedef struct Touch {
  CtCheckWorker *k;
  const CtAccess *a;
  CtEvent event;
  uint32_t number;
  Region *region;
  Chunk *chunk; /* locked; NULL: none */
  size_t chunk_index;
  int64_t e;
} Touch;

static bool is_in_cluster(const CtSimtJob *job, int64_t a, int64_t b) {
  const int64_t *grid = job->launch->grid, *of = job->program->cluster;
  int64_t stride = 1;
  for (int i = 0; i < 3; i++) {
    if (a / stride % grid[i] / of[i] != b / stride % grid[i] / of[i]) {
      return false;
    }
    stride *= grid[i];
  }
  return true;
}

static bool is_ordered(const Touch *t, const CtEvent *old, int old_lane, int lane) {
  const CtEvent *e = &t->event;
  const CtGlobal *g = t->k->check->global;
  if (old->is_atomic && e->is_atomic) {
    return true;
  }
  if (old->block != e->block && t->k->clocks != NULL &&
      is_in_cluster(t->k->k->job, old->block, e->block) &&
      ct_clock_is_before(t->k, old, e->warp, false)) {
    return true;
  }
  if (old->block != e->block && g->has_too_many) {
    return true;
  }
  if (old->block != e->block) {
    uint64_t released = g->released == NULL ? 0 : atomic_load(&g->released[old->block]);
    return ct_check_handed_on(old, e, released);
  }
  bool in_warp = old->warp == e->warp;
  CtEvent of_warp = *e;
  of_warp.acq = t->k->warps[e->warp].acq;
  if (t->k->clocks != NULL && ct_clock_is_before(t->k, old, e->warp, false)) {
    return true;
  }
  return old->epoch != e->epoch || (in_warp && (old_lane == lane || old->sub != e->sub)) ||
         ct_check_handed_on(old, &of_warp, t->k->warps[old->warp].release);
}

/* True: they race. */
static bool look_at(const Touch *t, uint32_t word, bool old_writes, int lane, int64_t off) {
  if (word == 0) {
    return false;
  }
  int old_lane = (int)(word & CT_EVENT_LANE);
  uint32_t number = word >> CT_EVENT_LANE_BITS;
  const CtEvent *old = event_at(t->k->check->global, number);
  if (is_ordered(t, old, old_lane, lane)) {
    return false;
  }
  if (old_writes && t->a->writes && !t->event.is_atomic &&
      (number == t->number ? ct_check_is_same_in(t->a, t->e, lane, old_lane, off)
                           : ct_check_is_same(t->a, t->e, lane, off))) {
    return false;
  }
  bool old_first =
      old->block != t->event.block ? old->block < t->event.block : old->ordinal <= t->event.ordinal;
  if (old_first) {
    ct_finding_race(t->k, CT_CHECK_RACE_GLOBAL, old, old_lane, old_writes, &t->event, lane,
                    t->a->writes, t->a->buf_index, off);
  } else {
    ct_finding_race(t->k, CT_CHECK_RACE_GLOBAL, &t->event, lane, t->a->writes, old, old_lane,
                    old_writes, t->a->buf_index, off);
  }
  return true;
}

static int64_t block_of(const Touch *t, uint32_t word) {
  return event_at(t->k->check->global, word >> CT_EVENT_LANE_BITS)->block;
}

static void note_read(const Touch *t, uint32_t *first, uint32_t *second, uint32_t word) {
  int64_t block = t->event.block;
  if (*first == 0 || block_of(t, *first) == block) {
    *first = word;
  } else if (block_of(t, *first) > block) {
    *second = *first;
    *first = word;
  } else if (*second == 0 || block_of(t, *second) >= block) {
    *second = word;
  }
}

/* Is another worker at the write that the event notes? */
static bool is_under_way(const CtCheckWorker *k, uint32_t number) {
  const CtCheck *c = k->check;
  for (int i = 0; i < c->n_workers; i++) {
    if (c->job->workers[i].team != k->k->team && atomic_load(&c->workers[i].writing) == number) {
      return true;
    }
  }
  return false;
}

/* Does the instruction also read the memory it writes? */
static bool reads_region(const CtCheckWorker *k, const CtAccess *a) {
  const CtGlobal *g = k->check->global;
  const CtSimtProgram *p = k->k->job->program;
  uint32_t from = a->arg == NULL ? 0 : p->tiles[p->code[ct_check_index(k, a->in)].imm].a.buf;
  return from != 0 && p->bufs[from].space == CT_GLOBAL &&
         g->region_of[from] == g->region_of[a->buf_index];
}

/* Writes what is noted so far, all before element t->e of the lane; false: not known before. */
static bool write_early(const Touch *t, int lane) {
  for (int64_t e = 0; e <= t->e; e++) {
    uint32_t lanes = e < t->e ? t->a->mask : t->a->mask & ((1u << lane) - 1);
    for (; lanes != 0; lanes &= lanes - 1) {
      int64_t off;
      bool is_in = ct_access_at(t->a, e, ct_first_lane(lanes), &off) &&
                   (uint64_t)off < (uint64_t)t->a->mem->n;
      if (is_in && !ct_check_write_early(t->a, e, ct_first_lane(lanes), off)) {
        return false;
      }
    }
  }
  return true;
}

/* Values are compared with the memory's: one that another worker is about to write is waited for. Two
   that wait for each other both write first. */
static void await_writer(const Touch *t, size_t at, int lane, int64_t off) {
  CtCheckWorker *k = t->k;
  for (;;) {
    uint32_t word = t->chunk->write[at];
    if (word == 0 || block_of(t, word) == t->event.block ||
        !is_under_way(k, word >> CT_EVENT_LANE_BITS) || ct_check_is_same(t->a, t->e, lane, off) ||
        reads_region(k, t->a) || !write_early(t, lane)) {
      return;
    }
    ct_global_has_written(k);
    unlock(t->chunk);
    sched_yield();
    lock(t->chunk);
    atomic_store(&k->writing, t->number);
  }
}

static void touch_granule(const Touch *t, size_t at, int lane, int64_t off, bool is_first) {
  if (t->a->writes && is_first) {
    await_writer(t, at, lane, off);
  }
  uint32_t word = t->number << CT_EVENT_LANE_BITS | (uint32_t)lane;
  uint32_t *write = &t->chunk->write[at];
  bool races = *write != word && is_first && look_at(t, *write, true, lane, off);
  if (!t->a->writes) {
    if (t->chunk->reads[0] != NULL) {
      note_read(t, &t->chunk->reads[0][at], &t->chunk->reads[1][at], word);
    }
    return;
  }
  for (int i = 0; i < 2 && is_first && t->chunk->reads[0] != NULL; i++) {
    (void)look_at(t, t->chunk->reads[i][at], false, lane, off);
  }
  if (!races || block_of(t, *write) >= t->event.block) {
    *write = word;
  }
}

static bool enter_chunk(Touch *t, size_t i) {
  if (t->chunk != NULL && t->chunk_index == i) {
    return true;
  }
  if (t->chunk != NULL) {
    unlock(t->chunk);
  }
  t->chunk = chunk_at(t->k, t->region, i);
  t->chunk_index = i;
  if (t->chunk != NULL) {
    lock(t->chunk);
  }
  return t->chunk != NULL;
}

static void touch_one(Touch *t, int lane, int64_t off) {
  size_t bytes = ct_dtype_bytes(t->a->buf->dtype);
  size_t first =
      (size_t)(t->a->mem->ptr - t->region->begin + off * (int64_t)bytes) >> t->region->bits;
  for (size_t g = first; g < first + (bytes >> t->region->bits); g++) {
    if (enter_chunk(t, g / CHUNK)) {
      touch_granule(t, g % CHUNK, lane, off, g == first);
    }
  }
}

/* Elements of one granule that nobody reads. */
static void touch_writes(Touch *t) {
  const CtAccess *a = t->a;
  uint32_t word = t->number << CT_EVENT_LANE_BITS;
  int64_t begin = (a->mem->ptr - t->region->begin) >> t->region->bits;
  for (t->e = 0; t->e < a->n; t->e++) {
    int64_t first = ct_access_offset(a, t->e, 0) - a->pos[0];
    for (uint32_t rest = a->mask; rest != 0; rest &= rest - 1) {
      int lane = ct_first_lane(rest);
      size_t g = (size_t)(begin + first + a->pos[lane]);
      if (!enter_chunk(t, g / CHUNK)) {
        return;
      }
      if (t->chunk->write[g % CHUNK] == 0) {
        t->chunk->write[g % CHUNK] = word | (uint32_t)lane;
      } else {
        touch_granule(t, g % CHUNK, lane, first + a->pos[lane], true);
      }
    }
  }
}

static void touch_regular(Touch *t) {
  const CtAccess *a = t->a;
  if (!t->region->is_read && ct_dtype_bytes(a->buf->dtype) == t->region->granule) {
    touch_writes(t);
    return;
  }
  for (t->e = 0; t->e < a->n; t->e++) {
    int64_t first = ct_access_offset(a, t->e, 0) - a->pos[0];
    for (uint32_t rest = a->mask; rest != 0; rest &= rest - 1) {
      int lane = ct_first_lane(rest);
      touch_one(t, lane, first + a->pos[lane]);
    }
  }
}

static void touch_irregular(Touch *t) {
  for (t->e = 0; t->e < t->a->n; t->e++) {
    for (uint32_t rest = t->a->mask; rest != 0; rest &= rest - 1) {
      int lane = ct_first_lane(rest);
      int64_t off;
      if (ct_access_at(t->a, t->e, lane, &off) && (uint64_t)off < (uint64_t)t->a->mem->n) {
        touch_one(t, lane, off);
      }
    }
  }
}

bool ct_global_is_written(const CtCheck *c, uint32_t buf) {
  uint32_t region = c->global == NULL ? UINT32_MAX : c->global->region_of[buf];
  return region != UINT32_MAX && c->global->regions[region].is_written;
}

void ct_global_access(CtCheckWorker *k, const CtAccess *a) {
  const CtGlobal *g = k->check->global;
  if (!ct_global_is_written(k->check, a->buf_index)) {
    return;
  }
  Touch t = {.k = k, .a = a, .region = &g->regions[g->region_of[a->buf_index]]};
  ct_check_event(k, a, &t.event);
  t.event.acq = k->block_acq;
  t.number = add_event(k, &t.event);
  if (t.number == 0) {
    return;
  }
  if (a->writes && a->mask != 0) {
    atomic_store(&k->writing, t.number);
  }
  if (a->is_regular) {
    touch_regular(&t);
  } else {
    touch_irregular(&t);
  }
  if (t.chunk != NULL) {
    unlock(t.chunk);
  }
}

void ct_global_release(CtCheckWorker *k, uint64_t time) {
  CtGlobal *g = k->check->global;
  if (g != NULL && g->released != NULL) {
    atomic_store(&g->released[k->k->block], time);
  }
}
