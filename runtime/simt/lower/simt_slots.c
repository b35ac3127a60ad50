/* simt_slots.c: lowering to the CPU engine, last stage: gives virtual slots places in a warp's
   memory, by linear scan, and assembles the program.

   A slot lives from its definition in the body to its last use. If it is defined before a loop and
   used inside, it lives until the loop's end. The result of an instruction may take the place of an
   operand that dies there: handlers work lane by lane. */
#include "runtime/simt/lower/simt_lower.h"

#include <string.h>

enum { LINE = 64, MAX_WARP_BYTES = 1 << 30, MAX_THREADS = 1 << 16, N_TEMP_CLASSES = 4 };

/* --- which fields are slots ---------------------------------------------------------------------------- */

static bool is_slot(char role) { return role != '\0' && strchr("svmptSVMPT*", role) != NULL; }
static bool is_def(char role) { return role >= 'A' && role <= 'Z'; }

static uint32_t *field(CtIn *in, int i) {
  uint32_t *const fields[4] = {&in->d, &in->a, &in->b, &in->c};
  return fields[i];
}

typedef struct Visit {
  CtLow *l;
  uint32_t pos;
  CtSlotFn fn;
  void *ud;
} Visit;

static void hidden(const Visit *v, uint32_t slot) {
  if (slot != 0) {
    v->fn(v->ud, slot, v->pos, CT_SLOT_HIDDEN);
  }
}

static void hidden_leaves(const Visit *v, const CtTileMode *m) {
  for (uint32_t i = 0; i < m->n_leaves; i++) {
    const CtRef refs[2] = {m->leaves[i].extent, m->leaves[i].stride};
    for (int j = 0; j < 2; j++) {
      hidden(v, refs[j].kind != CT_REF_STATIC ? (uint32_t)refs[j].v : 0);
    }
  }
}

static void hidden_ref(const Visit *v, CtRef r) {
  hidden(v, r.kind != CT_REF_STATIC ? (uint32_t)r.v : 0);
}

static void hidden_address(const Visit *v, const CtTileArg *arg) {
  hidden(v, arg->base);
  hidden(v, arg->pattern);
  hidden_ref(v, arg->lanes);
  for (int i = 0; i < 2; i++) {
    hidden_leaves(v, &v->l->modes[arg->mode[i]]);
  }
}

static void hidden_arg(const Visit *v, const CtTileArg *arg) {
  hidden_address(v, arg);
  for (uint32_t i = 0; i < arg->n_guards; i++) {
    const CtTileGuard *g = &v->l->guards[arg->guard + i];
    hidden_address(v, &g->at);
    hidden_ref(v, g->bound);
  }
}

static void hidden_slots(const Visit *v, const CtIn *in) {
  if (ct_in_is(in, CT_INS_TILE) || ct_in_is(in, CT_INS_GUARD)) {
    const CtTileOp *t = &v->l->tiles[in->imm];
    hidden_arg(v, &t->dst);
    hidden_arg(v, &t->a);
    hidden_arg(v, &t->b);
    for (int i = 0; i < 2 && t->sf[i].buf != 0; i++) {
      hidden_arg(v, &t->sf[i]);
    }
  } else if (in->u.op == CT_SIMT_TABLE) {
    hidden_leaves(v, &v->l->modes[in->imm]);
  }
}

void ct_low_each_slot(CtLow *l, const CtIn *in, uint32_t pos, CtSlotFn fn, void *ud) {
  const Visit v = {l, pos, fn, ud};
  const char *roles = ct_in_roles(in);
  const uint32_t fields[4] = {in->d, in->a, in->b, in->c};
  hidden_slots(&v, in);
  for (int i = 0; i < 4; i++) {
    if (is_slot(roles[i]) && fields[i] != 0) {
      fn(ud, fields[i], pos, is_def(roles[i]) ? CT_SLOT_DEF : CT_SLOT_USE);
    }
  }
}

void ct_low_replace_uses(CtIn *in, uint32_t old, uint32_t slot) {
  const char *roles = ct_in_roles(in);
  for (int i = 0; i < 4; i++) {
    uint32_t *f = field(in, i);
    if (is_slot(roles[i]) && !is_def(roles[i]) && *f == old) {
      *f = slot;
    }
  }
}

/* --- lifetimes -------------------------------------------------------------------------------------------- */

static void define(CtLow *l, uint32_t slot, uint32_t pos) {
  CtLowSlot *s = &l->slots[slot];
  s->def = pos < s->def ? pos : s->def;
  s->last = pos > s->last ? pos : s->last;
}

static void use(CtLow *l, uint32_t slot, uint32_t pos) {
  CtLowSlot *s = &l->slots[slot];
  s->last = pos > s->last ? pos : s->last;
  for (uint32_t k = l->loop_at[pos]; k != 0 && l->loops[k - 1].first > s->def;
       k = l->loop_parent[k]) {
    s->last = l->loops[k - 1].last > s->last ? l->loops[k - 1].last : s->last;
  }
}

/* Loops are in the order of their beginnings, and they nest. */
static void find_loops(CtLow *l) {
  uint32_t open = 0;
  size_t next = 0;
  for (uint32_t pos = 0; pos < l->body.n; pos++) {
    while (open != 0 && l->loops[open - 1].last < pos) {
      open = l->loop_parent[open];
    }
    while (next < l->n_loops && l->loops[next].first == pos) {
      l->loop_parent[next + 1] = open;
      open = (uint32_t)++next;
    }
    l->loop_at[pos] = open;
  }
}

static void live(void *ud, uint32_t slot, uint32_t pos, CtSlotUse how) {
  (how == CT_SLOT_DEF ? define : use)(ud, slot, pos);
}

/* Definitions come before uses in the sequence, so one pass in order is enough. */
static void find_lives(CtLow *l) {
  for (uint32_t pos = 0; pos < l->body.n; pos++) {
    ct_low_each_slot(l, &l->body.in[pos], pos, live, l);
  }
  for (uint32_t i = 1; i < l->n_slots; i++) {
    CtLowSlot *s = &l->slots[i];
    if (!s->fixed && s->def != UINT32_MAX) {
      s->next = l->dying[s->last];
      l->dying[s->last] = i;
    }
  }
}

/* --- places of temporary slots ------------------------------------------------------------------------- */

typedef struct Places {
  uint32_t *free; /* a stack */
  uint32_t n_free, n;
} Places;

static uint32_t take(Places *p) { return p->n_free > 0 ? p->free[--p->n_free] : p->n++; }

static void place_defs(CtLow *l, Places p[N_TEMP_CLASSES], uint32_t pos) {
  CtIn *in = &l->body.in[pos];
  const char *roles = ct_in_roles(in);
  for (int i = 0; i < 4; i++) {
    CtLowSlot *s = &l->slots[*field(in, i)];
    if (is_slot(roles[i]) && is_def(roles[i]) && !s->fixed && s->def == pos) {
      s->at = take(&p[s->cls]);
      if (s->last == pos) { /* never used */
        p[s->cls].free[p[s->cls].n_free++] = s->at;
      }
    }
  }
}

/* Numbers the slots of each class from 0. */
static void place_temps(CtLow *l, Places p[N_TEMP_CLASSES]) {
  for (uint32_t pos = 0; pos < l->body.n; pos++) {
    for (uint32_t i = l->dying[pos]; i != 0; i = l->slots[i].next) {
      if (l->slots[i].def != pos) {
        Places *q = &p[l->slots[i].cls];
        q->free[q->n_free++] = l->slots[i].at;
      }
    }
    place_defs(l, p, pos);
  }
}

/* --- the layout of a warp's memory ----------------------------------------------------------------------- */

static uint64_t align_to(uint64_t n, uint64_t align) { return (n + align - 1) / align * align; }

static uint64_t alignment(const CtLowSlot *s) { return s->bytes <= 8 ? s->bytes : LINE; }

/* Gives places to all fixed slots of a class, from `at` on. */
static uint64_t place_fixed(CtLow *l, CtSlotClass cls, uint64_t at) {
  for (uint32_t i = 1; i < l->n_slots; i++) {
    CtLowSlot *s = &l->slots[i];
    if (s->fixed && s->cls == cls && s->bytes > 0) {
      at = align_to(at, alignment(s));
      s->at = (uint32_t)at;
      at += s->bytes;
    }
  }
  return at;
}

/* Constants come first among the scalars, side by side, to be copied at once. */
static uint64_t place_consts(CtLow *l, uint64_t at) {
  for (size_t i = 0; i < l->n_consts; i++) {
    l->slots[l->const_slots[i]].at = (uint32_t)(at + 8 * i);
    l->slots[l->const_slots[i]].bytes = 0; /* placed */
  }
  return at + 8 * l->n_consts;
}

static uint64_t add_temps(CtLow *l, CtSlotClass cls, uint32_t bytes, uint32_t n, uint64_t at) {
  for (uint32_t i = 1; i < l->n_slots; i++) {
    CtLowSlot *s = &l->slots[i];
    if (!s->fixed && s->cls == cls) {
      s->at = (uint32_t)at + s->at * bytes;
    }
  }
  return at + (uint64_t)n * bytes;
}

/* Offsets must fit 32 bits before they are stored: computes an upper bound of the need. */
static bool is_too_large(const CtLow *l, const Places *p) {
  uint64_t sum = CT_WARP_BYTES + (uint64_t)l->max_rows * 4 + l->ir->n_bufs * sizeof(CtMem) +
                 (uint64_t)p[CT_CLASS_SCALAR].n * 8 + (uint64_t)p[CT_CLASS_LANES4].n * 128 +
                 (uint64_t)p[CT_CLASS_LANES8].n * 256 + (uint64_t)p[CT_CLASS_MASK].n * 4;
  for (uint32_t i = 1; i < l->n_slots; i++) {
    sum += l->slots[i].fixed ? align_to(l->slots[i].bytes, LINE) : 0;
  }
  return sum > MAX_WARP_BYTES;
}

static void lay_out(CtLow *l, const Places *p) {
  CtSimtProgram *prog = l->p;
  uint64_t at = align_to(CT_WARP_BYTES, LINE);
  prog->scalars_at = prog->consts_at = (uint32_t)at;
  at = place_consts(l, at);
  at = place_fixed(l, CT_CLASS_SCALAR, at);
  at = add_temps(l, CT_CLASS_SCALAR, 8, p[CT_CLASS_SCALAR].n, at);
  prog->masks_at = (uint32_t)at;
  at = place_fixed(l, CT_CLASS_MASK, at);
  at = add_temps(l, CT_CLASS_MASK, 4, p[CT_CLASS_MASK].n, at);
  prog->saved_at = (uint32_t)at;
  at = align_to(at + (uint64_t)l->max_rows * 4, 8);
  prog->mem_at = (uint32_t)at;
  at = align_to(at + l->ir->n_bufs * sizeof(CtMem), LINE);
  prog->lanes_at = (uint32_t)at;
  at = place_fixed(l, CT_CLASS_LANES4, at);
  at = place_fixed(l, CT_CLASS_LANES8, at);
  at = add_temps(l, CT_CLASS_LANES4, 4 * CT_LANES, p[CT_CLASS_LANES4].n, at);
  at = add_temps(l, CT_CLASS_LANES8, 8 * CT_LANES, p[CT_CLASS_LANES8].n, at);
  prog->vars_at = (uint32_t)at;
  at = place_fixed(l, CT_CLASS_VARIABLE, at);
  prog->vars_end = (uint32_t)at;
  at = place_fixed(l, CT_CLASS_BYTES, align_to(at, LINE));
  prog->regs_at = (uint32_t)(at = align_to(at, LINE));
  at = place_fixed(l, CT_CLASS_REGS, at);
  prog->regs_end = (uint32_t)at;
  /* An odd number of lines, so that warps do not compete for the same sets of the cache. */
  prog->warp_bytes = (uint32_t)((align_to(at, LINE) / LINE | 1) * LINE);
}

/* --- the program ---------------------------------------------------------------------------------------------- */

static void *keep(CtLow *l, const void *items, size_t n, size_t size) {
  void *copy = ct_arena_alloc(&l->p->arena, n * size + 1);
  if (copy == NULL) {
    l->failed = true;
  } else if (n > 0) {
    memcpy(copy, items, n * size);
  }
  return copy;
}

/* Replaces slots by places, and makes labels relative. */
static void resolve(const CtLow *l, CtLowCode *s) {
  for (size_t pos = 0; pos < s->n; pos++) {
    CtIn *in = &s->in[pos];
    const char *roles = ct_in_roles(in);
    for (int i = 0; i < 4; i++) {
      uint32_t *f = field(in, i);
      if (is_slot(roles[i])) {
        *f = l->slots[*f].at;
      } else if (roles[i] == 'l') {
        *f = (uint32_t)(l->labels[*f] - (int32_t)pos);
      }
    }
  }
}

static void resolve_ref(const CtLow *l, CtRef *r) {
  if (r->kind != CT_REF_STATIC) {
    r->v = l->slots[r->v].at;
  }
}

static void resolve_arg(const CtLow *l, CtTileArg *arg) {
  arg->base = l->slots[arg->base].at;
  arg->pattern = l->slots[arg->pattern].at;
  resolve_ref(l, &arg->lanes);
}

static void resolve_tables(CtLow *l) {
  for (size_t i = 0; i < l->n_tiles; i++) {
    resolve_arg(l, &l->tiles[i].dst);
    resolve_arg(l, &l->tiles[i].a);
    resolve_arg(l, &l->tiles[i].b);
    resolve_arg(l, &l->tiles[i].sf[0]);
    resolve_arg(l, &l->tiles[i].sf[1]);
  }
  for (size_t i = 0; i < l->n_guards; i++) {
    resolve_arg(l, &l->guards[i].at);
    resolve_ref(l, &l->guards[i].bound);
  }
  for (size_t i = 0; i < l->n_modes; i++) {
    CtTileMode *m = &l->modes[i];
    m->table = l->slots[m->table].at;
    for (uint32_t j = 0; j < m->n_leaves; j++) {
      resolve_ref(l, &m->leaves[j].extent);
      resolve_ref(l, &m->leaves[j].stride);
    }
  }
  for (size_t i = 0; i < l->n_params; i++) {
    l->params[i].at = l->slots[l->params[i].at].at;
  }
}

static void keep_code(CtLow *l) {
  CtSimtProgram *p = l->p;
  size_t n = l->prologue.n + l->body.n;
  p->n_code = (uint32_t)n;
  p->body = (uint32_t)l->prologue.n;
  p->code = ct_arena_alloc(&p->arena, n * sizeof *p->code);
  p->locs = ct_arena_alloc(&p->arena, n * sizeof *p->locs);
  if (p->code == NULL || p->locs == NULL) {
    l->failed = true;
    return;
  }
  memcpy(p->code, l->prologue.in, l->prologue.n * sizeof *p->code);
  memcpy(p->locs, l->prologue.locs, l->prologue.n * sizeof *p->locs);
  memcpy(p->code + p->body, l->body.in, l->body.n * sizeof *p->code);
  memcpy(p->locs + p->body, l->body.locs, l->body.n * sizeof *p->locs);
}

static const char *keep_string(CtLow *l, const char *s) {
  const char *copy = ct_arena_strdup(&l->p->arena, s, strlen(s));
  l->failed = l->failed || copy == NULL;
  return copy;
}

/* A copy whose dynamic leaves name slots of the launch instead of values. */
static CtTuple keep_tuple(CtLow *l, CtTuple t) {
  CtNode *nodes = keep(l, t, t->len, sizeof *nodes);
  for (uint32_t i = 0; nodes != NULL && i < t->len; i++) {
    CtInt *n = &nodes[i].i;
    if (nodes[i].rank == CT_LEAF && n->kind == CT_DYNAMIC) {
      const CtInst *inst = ct_inst(l->ir, n->id);
      n->kind = inst->op == CT_OP_PARAM ? CT_DYNAMIC : CT_ANY;
      n->id = (uint32_t)inst->imm.i;
    }
  }
  return nodes;
}

static const void *keep_constant(CtLow *l, const CtBuf *memory) {
  return keep(l, memory->data, (size_t)memory->n_elems.v, ct_value_bytes(memory->dtype));
}

static void keep_global(CtLow *l, const CtBuf *b, CtSimtBuf *out) {
  const CtTensorSpec *members = b->list != 0 ? l->ir->bufs[b->list].members : NULL;
  out->is_chosen = b->chosen != 0;
  out->param = out->is_chosen ? (uint32_t)l->ir->n_params : b->param;
  out->list = b->list;
  out->align = b->align;
  out->n_columns = b->members != NULL ? ct_ir_list_columns(b->members) : 0;
  if (!out->is_chosen) {
    out->slot = l->ir->params[b->param].first_slot;
  } else if (members != NULL && b->dtype == members->dtype) { /* their leaves are columns already */
    out->layout = (CtLayout){keep(l, members->shape, members->shape->len, sizeof(CtNode)),
                             keep(l, members->stride, members->stride->len, sizeof(CtNode))};
  }
}

enum { TMEM_COLUMN_BYTES = CT_TMEM_LANES * 4 };

static int64_t shared_bytes(const CtIr *ir) {
  return ct_ir_shared_bytes(ir) + (ir->smem_buf != 0 ? ir->smem : 0);
}

/* Where tensor memory begins in the memory of a block. */
static int64_t tensor_at(const CtIr *ir) {
  return ct_ceildiv(shared_bytes(ir), TMEM_COLUMN_BYTES) * TMEM_COLUMN_BYTES;
}

static CtSimtBuf keep_buf(CtLow *l, uint32_t i) {
  const CtBuf *b = &l->ir->bufs[i];
  const char *name = ct_ir_shown_name(l->ir, i);
  CtSimtBuf out = {.name = keep_string(l, name), .space = b->space, .dtype = b->dtype};
  out.arrivals = b->arrivals;
  out.is_remote = b->remote != 0;
  out.bar = b->bar;
  out.is_local = b->is_local;
  out.line = b->loc.line;
  out.memory = ct_ir_memory(l->ir, i);
  out.of = l->ir->bufs[out.memory].dtype;
  out.swizzle = b->swizzle;
  out.layout = (CtLayout){keep_tuple(l, b->layout.shape), keep_tuple(l, b->layout.stride)};
  switch (b->space) {
    case CT_GLOBAL: keep_global(l, b, &out); break;
    case CT_SHARED:
      out.n = b->n_elems.v;
      out.at = (uint32_t)ct_ir_shared_offset(l->ir, i);
      break;
    case CT_TENSOR: /* the engine has it after the block's shared memory */
      out.n = b->n_elems.v;
      out.at = (uint32_t)(tensor_at(l->ir) + ct_ir_tmem_columns(l->ir, i) * TMEM_COLUMN_BYTES);
      break;
    case CT_REGISTER:
      out.n = b->n_elems.v;
      out.at = l->slots[l->reg_slots[i]].at;
      break;
    case CT_CONSTANT:
      out.n = b->n_elems.v;
      out.data = keep_constant(l, &l->ir->bufs[out.memory]);
      break;
  }
  return out;
}

static void keep_bufs(CtLow *l) {
  CtSimtProgram *p = l->p;
  p->n_bufs = (uint32_t)l->ir->n_bufs;
  p->bufs = ct_arena_alloc(&p->arena, p->n_bufs * sizeof *p->bufs);
  l->failed = l->failed || p->bufs == NULL;
  for (uint32_t i = 1; i < p->n_bufs && !l->failed; i++) {
    p->bufs[i] = keep_buf(l, i);
  }
}

static void keep_chunks(CtLow *l) {
  CtSimtProgram *p = l->p;
  p->n_chunks = (uint32_t)l->ir->n_chunks;
  p->chunks = ct_arena_alloc(&p->arena, p->n_chunks * sizeof *p->chunks);
  l->failed = l->failed || p->chunks == NULL;
  for (uint32_t i = 0; i < p->n_chunks && !l->failed; i++) {
    p->chunks[i] = keep_string(l, l->ir->chunks[i]);
  }
}

static void keep_all(CtLow *l) {
  CtSimtProgram *p = l->p;
  p->name = keep_string(l, l->ir->name);
  keep_code(l);
  keep_chunks(l);
  keep_bufs(l);
  p->consts = keep(l, l->consts, l->n_consts, sizeof *l->consts);
  p->n_consts = (uint32_t)l->n_consts;
  p->params = keep(l, l->params, l->n_params, sizeof *l->params);
  p->n_params = (uint32_t)l->n_params;
  p->tiles = keep(l, l->tiles, l->n_tiles, sizeof *l->tiles);
  p->n_tiles = (uint32_t)l->n_tiles;
  p->modes = keep(l, l->modes, l->n_modes, sizeof *l->modes);
  p->n_modes = (uint32_t)l->n_modes;
  p->tmas = keep(l, l->tmas, l->n_tmas, sizeof *l->tmas);
  p->n_tmas = (uint32_t)l->n_tmas;
  p->guards = keep(l, l->guards, l->n_guards, sizeof *l->guards);
  p->n_guards = (uint32_t)l->n_guards;
  p->texts = keep(l, (const void *)l->texts, l->n_texts, sizeof *l->texts);
  p->constructs = keep(l, l->constructs, l->n_constructs, sizeof *l->constructs);
  p->n_constructs = (uint32_t)l->n_constructs;
  for (int i = 0; i < 3; i++) {
    p->tid_at[i] = l->slots[l->tid[i]].at;
    p->bid_at[i] = l->slots[l->bid[i]].at;
    p->gdim_at[i] = l->slots[l->gdim[i]].at;
  }
}

static CtStatus set_sizes(CtLow *l, CtErr *err) {
  const int64_t *b = l->ir->block;
  int64_t n;
  if (b[0] < 1 || b[1] < 1 || b[2] < 1 || ct_mul_overflow(b[0], b[1], &n) ||
      ct_mul_overflow(n, b[2], &n) || n > MAX_THREADS) {
    return ct_fail(err, CT_EINVAL, "%s: block (%lld,%lld,%lld); expected 1 to %d threads",
                   l->ir->name, (long long)b[0], (long long)b[1], (long long)b[2], MAX_THREADS);
  }
  int64_t shared = shared_bytes(l->ir), columns = ct_ir_tmem_columns(l->ir, UINT32_MAX);
  if (shared > MAX_WARP_BYTES) {
    return ct_fail(err, CT_EINVAL, "%s: %lld bytes of shared memory; expected at most %d",
                   l->ir->name, (long long)shared, MAX_WARP_BYTES);
  }
  memcpy(l->p->block, b, sizeof l->p->block);
  memcpy(l->p->cluster, l->ir->cluster, sizeof l->p->cluster);
  l->p->n_cluster = (int)ct_ir_cluster_size(l->ir);
  l->p->n_threads = (int32_t)n;
  l->p->n_warps = (int32_t)ct_ceildiv(n, CT_LANES);
  int64_t all = tensor_at(l->ir) + columns * TMEM_COLUMN_BYTES;
  l->p->shared_bytes = (uint32_t)shared;
  l->p->block_bytes = (uint32_t)(columns == 0 ? shared : all);
  l->p->scratch_bytes = (uint32_t)l->scratch_bytes;
  return CT_OK;
}

static CtStatus fail_size(const CtLow *l, CtErr *err) {
  return ct_fail(err, CT_EINVAL,
                 "%s: the variables and fragments of a warp take more than %d bytes; expected "
                 "smaller fragments",
                 l->ir->name, MAX_WARP_BYTES);
}

/* Every fragment has its own slot for the whole launch. */
static CtStatus add_fragments(CtLow *l, CtErr *err) {
  for (uint32_t i = 1; i < l->ir->n_bufs; i++) {
    const CtBuf *b = &l->ir->bufs[i];
    if (b->space != CT_REGISTER) {
      continue;
    }
    int64_t bytes;
    if (ct_mul_overflow(b->n_elems.v, (int64_t)ct_dense_bytes(b->dtype, CT_LANES), &bytes) ||
        bytes > MAX_WARP_BYTES) {
      return fail_size(l, err);
    }
    l->reg_slots[i] = ct_low_slot(l, CT_CLASS_REGS, (uint32_t)bytes, true);
  }
  return CT_OK;
}

static uint32_t *numbers(CtLow *l, size_t n) {
  uint32_t *p = ct_arena_alloc(&l->tmp, n * sizeof *p + 1);
  l->failed = l->failed || p == NULL;
  return p;
}

CtStatus ct_low_finish(CtLow *l, CtErr *err) {
  CtStatus status = set_sizes(l, err);
  status = status == CT_OK ? add_fragments(l, err) : status;
  ct_low_peephole(l);
  Places places[N_TEMP_CLASSES] = {{0}};
  l->loop_at = numbers(l, l->body.n);
  l->loop_parent = numbers(l, l->n_loops + 1);
  l->dying = numbers(l, l->body.n);
  for (int i = 0; i < N_TEMP_CLASSES; i++) {
    places[i].free = numbers(l, l->n_slots);
  }
  if (status != CT_OK || l->failed) {
    return status;
  }
  find_loops(l);
  find_lives(l);
  place_temps(l, places);
  if (is_too_large(l, places)) {
    return fail_size(l, err);
  }
  l->slots[0].at = 0;
  lay_out(l, places);
  resolve(l, &l->prologue);
  resolve(l, &l->body);
  resolve_tables(l);
  keep_all(l);
  l->p->has_bands = !l->failed && ct_low_has_bands(l->p);
  l->p->meets = !l->failed && ct_low_meets(l->p);
  return CT_OK;
}
