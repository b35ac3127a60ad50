/* parts.c: the watcher for pictures of a launch; see parts.h. Each worker of the engine keeps the
   parts of its blocks. */
#include "parts.h"

#include <string.h>

#include "runtime/base/hash_table.h"
#include "runtime/simt/run/simt_watch.h"

/* Where a warp is. */
typedef struct WarpAt {
  uint32_t turns; /* of step loops that it has begun */
  uint32_t loop;  /* the one that it was in; 0: none */
  bool is_over;   /* the turn has ended */
} WarpAt;

typedef struct Keeper {
  CtPart *parts;
  size_t n_parts, cap_parts;
  size_t n_before; /* parts of earlier blocks */
  int64_t **vecs;
  size_t n_vecs, cap_vecs;
  CtHashTable table; /* of numbers of vectors + 1 */
  int64_t *scratch;
  size_t cap_scratch;
  CtArena arena; /* the vectors */
  WarpAt *warps;
  int64_t n_left_out;
  bool is_full, has_no_memory;
} Keeper;

struct CtParts {
  CtSimtWatch watch; /* first: it is one */
  CtAlloc alloc;
  size_t max_parts, max_each;
  CtArena arena;
  Keeper *keepers;
  int n_keepers;
  uint32_t
      *loop_of; /* by index in the code: the index of the back edge of its step loop; 0: none */
  int64_t grid[3];
};

static CtParts *parts_of(CtSimtWatch *watch) { return (CtParts *)(void *)watch; }
static Keeper *keeper_of(CtParts *t, const CtWorker *k) { return &t->keepers[k - k->job->workers]; }

/* --- step loops --------------------------------------------------------------------------------------------- */

static bool waits(const CtIn *code) {
  return ct_in_is(code, CT_INS_SYNC) && code->u.op != CT_SIMT_MARK &&
         code->u.op != CT_SIMT_SYNC_WARP && code->u.op != CT_SIMT_SYNC_LANES &&
         code->u.op != CT_SIMT_SETMAXNREG;
}

static bool is_loop(const CtIn *code) {
  return ct_in_row(code)->loops && code->imm != CT_SPIN_WAIT;
}
static uint32_t loop_start(const CtSimtProgram *p, uint32_t end) {
  return (uint32_t)((int64_t)end + (int32_t)p->code[end].c);
}

static bool has_wait(const CtSimtProgram *p, uint32_t end) {
  bool has = false;
  for (uint32_t i = loop_start(p, end); i < end && !has; i++) {
    has = waits(&p->code[i]);
  }
  return has;
}

static void mark_loop(uint32_t *loop_of, const CtSimtProgram *p, uint32_t end) {
  for (uint32_t i = loop_start(p, end); i <= end; i++) {
    loop_of[i] = end;
  }
}

/* Back edges come from the inside out, as they stand at the ends of loops. So a loop that finds one of
   its instructions marked has a step loop in it. */
static bool mark_with_waits(uint32_t *loop_of, const CtSimtProgram *p) {
  bool any = false;
  for (uint32_t end = p->body; end < p->n_code; end++) {
    bool is_step = is_loop(&p->code[end]) && has_wait(p, end);
    for (uint32_t i = is_step ? loop_start(p, end) : end; i < end && is_step; i++) {
      is_step = loop_of[i] == 0;
    }
    if (is_step) {
      mark_loop(loop_of, p, end);
      any = true;
    }
  }
  return any;
}

static void mark_outermost(uint32_t *loop_of, const CtSimtProgram *p) {
  for (uint32_t end = p->n_code; end-- > p->body;) {
    if (loop_of[end] == 0 && is_loop(&p->code[end])) {
      mark_loop(loop_of, p, end);
    }
  }
}

/* The step of the warp at this instruction. */
static uint32_t step_at(const CtParts *t, WarpAt *w, uint32_t index) {
  uint32_t loop = t->loop_of[index];
  w->turns += loop != 0 && (loop != w->loop || w->is_over);
  w->loop = loop;
  w->is_over = loop == index && loop != 0;
  return 2 * w->turns + (loop == 0);
}

/* --- vectors ------------------------------------------------------------------------------------------------ */

static uint32_t hash_of(const int64_t *v, size_t n) {
  uint64_t h = n;
  for (size_t i = 0; i < n; i++) {
    h = ct_hash_table_mix(h, (uint64_t)v[i]);
  }
  return (uint32_t)h;
}

/* A vector begins with its length. */
static bool is_vector(const int64_t *own, const int64_t *v, size_t n) {
  return own[0] == (int64_t)n && memcmp(&own[1], v, n * sizeof *v) == 0;
}

/* The number of the vector with these numbers. */
static uint32_t vector(CtAlloc alloc, Keeper *k, const int64_t *v, size_t n) {
  if (k->has_no_memory || !ct_hash_table_reserve(&k->table, alloc) ||
      CT_GROW(alloc, k->vecs, k->cap_vecs, k->n_vecs + 1, NULL) != CT_OK) {
    k->has_no_memory = true;
    return 0;
  }
  uint32_t hash = hash_of(v, n);
  CtHashSlot *at = ct_hash_table_first(&k->table, hash);
  while (at->number != 0 && !is_vector(k->vecs[at->number - 1], v, n)) {
    at = ct_hash_table_next(&k->table, at);
  }
  if (at->number != 0) {
    return at->number - 1;
  }
  int64_t *own = ct_arena_alloc(&k->arena, (n + 1) * sizeof *own);
  if (own == NULL) {
    k->has_no_memory = true;
    return 0;
  }
  own[0] = (int64_t)n;
  memcpy(&own[1], v, n * sizeof *v);
  k->vecs[k->n_vecs++] = own;
  ct_hash_table_put(&k->table, at, hash, (uint32_t)k->n_vecs);
  return at->number - 1;
}

/* Room for n numbers; NULL: there is none. */
static int64_t *scratch(CtAlloc alloc, Keeper *k, int64_t n) {
  if (CT_GROW(alloc, k->scratch, k->cap_scratch, (size_t)n, NULL) != CT_OK) {
    k->has_no_memory = true;
    return NULL;
  }
  return k->scratch;
}

/* --- parts -------------------------------------------------------------------------------------------------- */

static void add(CtParts *t, Keeper *k, const CtPart *part) {
  k->is_full = k->is_full || k->n_parts >= t->max_each;
  if (k->is_full || k->has_no_memory) {
    return;
  }
  if (CT_GROW(t->alloc, k->parts, k->cap_parts, k->n_parts + 1, NULL) != CT_OK) {
    k->has_no_memory = true;
    return;
  }
  k->parts[k->n_parts++] = *part;
}

/* Lanes at one place. */
static uint32_t lanes_at_once(CtParts *t, Keeper *k, uint32_t mask) {
  int64_t v[CT_LANES + 1] = {mask};
  return vector(t->alloc, k, v, 1 + (size_t)__builtin_popcount(mask));
}

/* wgmma reads a tile of shared memory for all lanes, and the access names the first. */
static uint32_t lanes_of(const CtAccess *a, int lane) {
  return a->agent == CT_AGENT_WGMMA ? a->w->mask : (uint32_t)1 << lane;
}

/* The elements that a lane accesses, and others with it, counted from the first, which becomes the part's base. */
static void add_lane(CtParts *t, Keeper *k, const CtAccess *a, CtPart part, int lane) {
  int64_t *v = scratch(t->alloc, k, ct_max(a->n, 1)), n = 0, off;
  for (int64_t e = 0; v != NULL && e < a->n; e++) {
    if (ct_access_at(a, e, lane, &off)) {
      v[n++] = off;
    }
  }
  if (v == NULL || n == 0) {
    return;
  }
  part.base = v[0];
  for (int64_t i = n; i-- > 0;) {
    v[i] -= v[0];
  }
  part.lanes = lanes_at_once(t, k, lanes_of(a, lane));
  part.elems = vector(t->alloc, k, v, (size_t)n);
  add(t, k, &part);
}

static void add_regular(CtParts *t, Keeper *k, const CtAccess *a, CtPart part) {
  int64_t lanes[CT_LANES + 1] = {a->mask}, *v = scratch(t->alloc, k, ct_max(a->n, 1));
  int first = ct_first_lane(a->mask), n = 1;
  if (v == NULL) {
    return;
  }
  for (uint32_t rest = a->mask; rest != 0; rest &= rest - 1) {
    lanes[n++] = a->pos[ct_first_lane(rest)] - a->pos[first];
  }
  part.base = ct_access_offset(a, 0, first);
  for (int64_t e = 0; e < a->n; e++) {
    v[e] = ct_access_offset(a, e, first) - part.base;
  }
  part.lanes = vector(t->alloc, k, lanes, (size_t)n);
  part.elems = vector(t->alloc, k, v, (size_t)a->n);
  add(t, k, &part);
}

static void add_access(CtParts *t, Keeper *k, const CtAccess *a, const CtPart *part) {
  if (a->is_regular && a->agent != CT_AGENT_WGMMA) {
    add_regular(t, k, a, *part);
    return;
  }
  for (uint32_t rest = a->mask; rest != 0; rest &= rest - 1) {
    add_lane(t, k, a, *part, ct_first_lane(rest));
  }
}

/* --- boxes -------------------------------------------------------------------------------------------------- */

typedef struct Rows {
  CtParts *t;
  Keeper *k;
  int64_t n, bytes; /* elements so far; bytes of one */
} Rows;

static void add_row(void *ud, int64_t off, int64_t bytes) {
  Rows *r = ud;
  int64_t n = bytes / r->bytes, *v = scratch(r->t->alloc, r->k, r->n + n);
  for (int64_t i = 0; v != NULL && i < n; i++) {
    v[r->n++] = off / r->bytes + i;
  }
}

/* The tensor's side of a box. */
static void add_box(CtParts *t, Keeper *k, const CtWarp *w, const CtSimtTma *tma, CtPart part) {
  for (uint32_t rest = w->mask; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    Rows rows = {t, k, 0, (int64_t)ct_value_bytes(tma->dtype)};
    (void)ct_simt_tma_rows(w, tma, lane, add_row, &rows);
    if (rows.n > 0) {
      part.base = k->scratch[0];
      for (int64_t i = rows.n; i-- > 0;) {
        k->scratch[i] -= part.base;
      }
      part.lanes = lanes_at_once(t, k, (uint32_t)1 << lane);
      part.elems = vector(t->alloc, k, k->scratch, (size_t)rows.n);
      add(t, k, &part);
    }
  }
}

/* Each lane's side of a box in shared memory, which a lane begins at its own element. */
static void add_box_shared(CtParts *t, Keeper *k, const CtAccess *a, const CtPart *part) {
  for (uint32_t rest = a->mask; rest != 0; rest &= rest - 1) {
    CtAccess one = *a;
    one.mask = rest & (0 - rest);
    one.pos = a->pos == a->own_pos ? one.own_pos : a->pos;
    add_regular(t, k, &one, *part);
  }
}

/* --- instructions ------------------------------------------------------------------------------------------- */

static bool wants(const CtIn *code) {
  static const bool has_memory[CT_INS_CLASS_COUNT] = {[CT_INS_MEMORY] = true,
                                                      [CT_INS_DOT] = true,
                                                      [CT_INS_ATOMIC] = true,
                                                      [CT_INS_TMA] = true,
                                                      [CT_INS_TILE] = true};
  return has_memory[ct_in_row(code)->cls] || ct_in_row(code)->loops;
}

/* It says nothing of memory that the launch does not place, or that another block has. */
static bool is_drawn(const CtSimtBuf *buf) { return !buf->is_chosen && !buf->is_remote; }

static void step_accesses(CtParts *t, Keeper *k, const CtIn *code, const CtIn *in, CtWarp *w,
                          CtPart *part) {
  const CtSimtProgram *p = w->worker->job->program;
  bool is_box = ct_in_is(code, CT_INS_TMA);
  CtAccess a[CT_MAX_OPERANDS];
  int n = ct_simt_accesses(code, in, w, a);
  if (is_box && n > 0 && is_drawn(&p->bufs[p->tmas[code->imm].global])) {
    add_box(t, k, w, &p->tmas[code->imm], *part);
  }
  for (int i = 0; i < n; i++) {
    if (is_drawn(a[i].buf)) {
      part->site += (uint32_t)i + is_box;
      (is_box ? add_box_shared : add_access)(t, k, &a[i], part);
      part->site -= (uint32_t)i + is_box;
    }
  }
}

static uint32_t step(CtSimtWatch *watch, const CtIn *code, const CtIn *in, CtWarp *w) {
  CtParts *t = parts_of(watch);
  Keeper *k = keeper_of(t, w->worker);
  uint32_t index = (uint32_t)(code - w->worker->job->program->code);
  CtPart part = {.block = (uint32_t)w->worker->block,
                 .warp = (uint32_t)w->index,
                 .step = step_at(t, &k->warps[w->index], index),
                 .site = index * CT_MAX_OPERANDS};
  if (!k->is_full && w->mask != 0) {
    step_accesses(t, k, code, in, w, &part);
  }
  return w->mask;
}

/* --- launches ----------------------------------------------------------------------------------------------- */

static void clear(CtParts *t) {
  for (int i = 0; i < t->n_keepers; i++) {
    Keeper *k = &t->keepers[i];
    ct_free(t->alloc, k->parts, k->cap_parts * sizeof *k->parts);
    ct_free(t->alloc, (void *)k->vecs, k->cap_vecs * sizeof *k->vecs);
    ct_hash_table_clear(&k->table, t->alloc);
    ct_free(t->alloc, k->scratch, k->cap_scratch * sizeof *k->scratch);
    ct_arena_clear(&k->arena);
  }
  t->n_keepers = 0;
  ct_arena_reset(&t->arena);
}

static CtStatus begin(CtSimtWatch *watch, CtSimtJob *job, CtErr *err) {
  CtParts *t = parts_of(watch);
  const CtSimtProgram *p = job->program;
  clear(t);
  memcpy(t->grid, job->launch->grid, sizeof t->grid);
  t->max_each = t->max_parts / (size_t)job->n_workers;
  t->loop_of = ct_arena_alloc(&t->arena, p->n_code * sizeof *t->loop_of);
  t->keepers = ct_arena_alloc(&t->arena, (size_t)job->n_workers * sizeof *t->keepers);
  if (t->loop_of == NULL || t->keepers == NULL) {
    return ct_fail_nomem(err);
  }
  if (!mark_with_waits(t->loop_of, p)) {
    mark_outermost(t->loop_of, p);
  }
  for (; t->n_keepers < job->n_workers; t->n_keepers++) {
    Keeper *k = &t->keepers[t->n_keepers];
    ct_arena_init(&k->arena, t->alloc);
    k->warps = ct_arena_alloc(&t->arena, (size_t)p->n_warps * sizeof *k->warps);
    if (k->warps == NULL) {
      return ct_fail_nomem(err);
    }
  }
  return CT_OK;
}

static void begin_block(CtSimtWatch *watch, CtWorker *worker) {
  Keeper *k = keeper_of(parts_of(watch), worker);
  memset(k->warps, 0, (size_t)worker->job->program->n_warps * sizeof *k->warps);
  k->n_before = k->n_parts;
}

/* A block is there as a whole, or not at all. */
static void end_block(CtSimtWatch *watch, CtWorker *worker) {
  Keeper *k = keeper_of(parts_of(watch), worker);
  if (k->is_full) {
    k->n_parts = k->n_before;
    k->n_left_out++;
  }
}

static const CtWatchOps ops = {.wants = wants,
                               .any_order = true,
                               .begin = begin,
                               .begin_block = begin_block,
                               .end_block = end_block,
                               .step = step};

/* --- for users ---------------------------------------------------------------------------------------------- */

CtStatus ct_parts_open(CtAlloc alloc, size_t max_parts, CtParts **out, CtErr *err) {
  CtParts *t = ct_alloc(alloc, sizeof *t);
  if (t == NULL) {
    return ct_fail_nomem(err);
  }
  *t = (CtParts){.watch = {.ops = &ops}, .alloc = alloc, .max_parts = max_parts};
  ct_arena_init(&t->arena, alloc);
  *out = t;
  return CT_OK;
}

void ct_parts_close(CtParts *t) {
  if (t != NULL) {
    clear(t);
    ct_arena_clear(&t->arena);
    ct_free(t->alloc, t, sizeof *t);
  }
}

CtSimtWatch *ct_parts_watch(CtParts *t) { return &t->watch; }

CtStatus ct_parts_list(const CtParts *t, int worker, CtPartList *out, CtErr *err) {
  *out = (CtPartList){0};
  if (worker >= t->n_keepers) {
    return CT_OK;
  }
  const Keeper *k = &t->keepers[worker];
  static const CtPart none;
  *out = (CtPartList){k->n_parts > 0 ? k->parts : &none, k->n_parts, k->vecs, k->n_vecs};
  return k->has_no_memory ? ct_fail_nomem(err) : CT_OK;
}

static bool is_wgmma(const CtSimtProgram *p, const CtIn *code) {
  return ct_in_is(code, CT_INS_TILE) && p->tiles[code->imm].op == CT_OP_WGMMA;
}

void ct_parts_site(const CtParts *t, const CtSimtProgram *p, uint32_t site, CtPartSite *out) {
  uint32_t index = site / CT_MAX_OPERANDS, loop = t->loop_of[index];
  CtOperand operands[CT_MAX_OPERANDS];
  const CtIn *code = &p->code[index];
  (void)ct_simt_operands(p, code, operands);
  const CtOperand *o = &operands[site % CT_MAX_OPERANDS];
  const CtSimtBuf *buf = &p->bufs[o->buf], *of = &p->bufs[buf->memory];
  *out = (CtPartSite){.loc = p->locs[index],
                      .loop = loop == 0 ? 0 : p->locs[loop].line,
                      .buf = buf->memory,
                      .at = buf->space == CT_SHARED ? (int64_t)buf->at - (int64_t)of->at : 0,
                      .bytes = (uint32_t)ct_value_bytes(buf->dtype),
                      .reads = o->reads,
                      .writes = o->writes,
                      .is_box = ct_in_is(code, CT_INS_TMA),
                      .is_wgmma = is_wgmma(p, code)};
}

int64_t ct_parts_left_out(const CtParts *t) {
  int64_t n = 0;
  for (int i = 0; i < t->n_keepers; i++) {
    n += t->keepers[i].n_left_out;
  }
  return n;
}

const int64_t *ct_parts_grid(const CtParts *t) { return t->grid; }
