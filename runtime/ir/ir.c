/* ir.c: the store of an IR: operations in regions; equal ones are shared. The table of operations is in
   ir_op.c, buffers and arguments in ir_buf.c, control flow and variables in ir_flow.c. What a pure
   operation folds to is in ir_fold.c, operations on whole tensors are in ir_tile.c. */
#include "ir_make.h"

#include <string.h>

#include "ir_build.h"
#include "ir_tma.h"

/* --- store ------------------------------------------------------------------------------------ */

static CtStatus dyn_binary(void *ud, CtIntOp op, CtInt a, CtInt b, CtInt *out, CtErr *err) {
  CtIr *ir = ud;
  CtVal v = ct_ir_int_op(ir, op, a, b);
  if (v == 0) {
    return ct_fail_nomem(err);
  }
  *out = ct_ir_int(ir, v);
  return CT_OK;
}

static CtFacts dyn_facts(void *ud, CtInt a) { return ct_ir_facts(ud, a); }

/* What only the run knows: a kernel's texts do not depend on the launch that it was traced for. */
static void dyn_print(void *ud, CtInt a, CtText *out) {
  (void)ud;
  (void)a;
  ct_text_putc(out, '?');
}

static void dyn_print_value(void *ud, CtInt a, CtText *out) {
  const CtIr *ir = ud;
  int64_t v;
  if (ir->samples != NULL && ct_ir_eval(ir, a.id, ir->samples, &v, NULL) == CT_OK) {
    ct_text_printf(out, "%lld", (long long)v);
  } else {
    ct_text_putc(out, '?');
  }
}

static void add_sentinels(CtIr *ir) {
  if (CT_IR_GROW(ir, insts, n_insts, cap_insts, 1) &&
      CT_IR_GROW(ir, regions, n_regions, cap_regions, 2) &&
      CT_IR_GROW(ir, bufs, n_bufs, cap_bufs, 1) &&
      CT_IR_GROW(ir, chunks, n_chunks, cap_chunks, 1)) {
    memset(ir->insts, 0, sizeof *ir->insts);
    memset(ir->regions, 0, 2 * sizeof *ir->regions);
    memset(ir->bufs, 0, sizeof *ir->bufs);
    ir->chunks[0] = "?";
    ir->n_insts = 1;
    ir->n_regions = 2;
    ir->n_bufs = 1;
    ir->n_chunks = 1;
  }
}

void ct_ir_init(CtIr *ir, CtAlloc alloc, CtTarget target, const int64_t block[3]) {
  memset(ir, 0, sizeof *ir);
  ct_arena_init(&ir->arena, alloc);
  ir->name = "kernel";
  ir->target = target;
  memcpy(ir->block, block, sizeof ir->block);
  for (int i = 0; i < 3; i++) {
    ir->cluster[i] = 1;
  }
  ir->contract = true;
  ir->cur = CT_BODY;
  ir->dyn = (CtDyn){ir, dyn_binary, dyn_facts, dyn_print, dyn_print_value};
  add_sentinels(ir);
}

void ct_ir_clear(CtIr *ir) {
  CtAlloc a = ir->arena.alloc;
  ct_free(a, ir->insts, ir->cap_insts * sizeof *ir->insts);
  ct_free(a, ir->regions, ir->cap_regions * sizeof *ir->regions);
  ct_free(a, ir->bufs, ir->cap_bufs * sizeof *ir->bufs);
  ct_free(a, ir->params, ir->cap_params * sizeof *ir->params);
  ct_free(a, ir->slots, ir->cap_slots * sizeof *ir->slots);
  ct_free(a, ir->requires_, ir->cap_requires * sizeof *ir->requires_);
  ct_free(a, ir->maps, ir->cap_maps * sizeof *ir->maps);
  ct_free(a, ir->tma_sources, ir->cap_tma_sources * sizeof *ir->tma_sources);
  ct_free(a, (void *)ir->chunks, ir->cap_chunks * sizeof *ir->chunks);
  ct_hash_table_clear(&ir->cse, a);
  ct_arena_clear(&ir->arena);
  memset(ir, 0, sizeof *ir);
  ct_arena_init(&ir->arena, a);
}

CtCx ct_ir_cx(CtIr *ir) { return (CtCx){&ir->arena, &ir->dyn}; }

const char *ct_ir_intern(CtIr *ir, const char *s) {
  const char *copy = s == NULL ? NULL : ct_arena_strdup(&ir->arena, s, strlen(s));
  ir->failed = ir->failed || (s != NULL && copy == NULL);
  return copy;
}

void ct_ir_at(CtIr *ir, const char *chunk, int line) {
  size_t i = ir->n_chunks;
  while (i-- > 0) {
    if (strcmp(ir->chunks[i], chunk) == 0) {
      break;
    }
  }
  if (i == SIZE_MAX) {
    const char *name = ct_ir_intern(ir, chunk);
    if (name == NULL || !CT_IR_GROW(ir, chunks, n_chunks, cap_chunks, ir->n_chunks + 1)) {
      return;
    }
    i = ir->n_chunks++;
    ir->chunks[i] = name;
  }
  ir->cur_loc = (CtLoc){(uint32_t)i, line};
}

const char *ct_ir_chunk(const CtIr *ir, CtLoc loc) {
  return loc.chunk < ir->n_chunks ? ir->chunks[loc.chunk] : "?";
}

CtVal ct_ir_new(CtIr *ir, CtOp op, CtDtype type) {
  if (!CT_IR_GROW(ir, insts, n_insts, cap_insts, ir->n_insts + 1)) {
    return 0;
  }
  CtVal v = (CtVal)ir->n_insts++;
  ir->insts[v] = (CtInst){.op = (uint16_t)op,
                          .type = (uint8_t)type,
                          .n_args = ct_ops[op].n_args,
                          .loc = ir->cur_loc,
                          .facts = ct_type_facts(type)};
  return v;
}

void ct_ir_link(CtIr *ir, CtVal v, CtRegion region, CtVal before) {
  CtInst *inst = &ir->insts[v];
  CtRegionInfo *r = &ir->regions[region];
  CtVal prev = before == 0 ? r->last : ir->insts[before].prev;
  inst->region = region;
  inst->prev = prev;
  inst->next = before;
  *(prev == 0 ? &r->first : &ir->insts[prev].next) = v;
  *(before == 0 ? &r->last : &ir->insts[before].prev) = v;
}

void ct_ir_unlink(CtIr *ir, CtVal v) {
  CtInst *inst = &ir->insts[v];
  CtRegionInfo *r = &ir->regions[inst->region];
  *(inst->prev == 0 ? &r->first : &ir->insts[inst->prev].next) = inst->next;
  *(inst->next == 0 ? &r->last : &ir->insts[inst->next].prev) = inst->prev;
  inst->region = 0;
  inst->prev = inst->next = 0;
}

CtVal ct_ir_append(CtIr *ir, CtOp op, CtDtype type) {
  CtVal v = ct_ir_new(ir, op, type);
  if (v != 0) {
    ct_ir_link(ir, v, ir->cur, 0);
  }
  return v;
}

CtRegion ct_ir_new_region(CtIr *ir, CtVal owner) {
  if (!CT_IR_GROW(ir, regions, n_regions, cap_regions, ir->n_regions + 1)) {
    return 0;
  }
  ir->regions[ir->n_regions] = (CtRegionInfo){.owner = owner};
  return (CtRegion)ir->n_regions++;
}

bool ct_ir_encloses(const CtIr *ir, CtRegion outer, CtRegion inner) {
  while (inner != 0 && inner != outer) {
    CtVal owner = ir->regions[inner].owner;
    inner = owner == 0 ? 0 : ir->insts[owner].region;
  }
  return inner != 0;
}

/* --- operations of any kind ---------------------------------------------------------------------- */

void ct_ir_effect(CtIr *ir, CtOp op, int64_t imm) {
  CtVal v = ct_ir_append(ir, op, CT_VOID);
  ir->insts[v].imm.i = imm;
}

CtVal ct_ir_text_op(CtIr *ir, CtOp op, CtDtype type, const char *text, int n,
                    const char *const *names, const CtVal *vals) {
  CtEscape *e = ct_arena_alloc(&ir->arena, sizeof *e);
  const char **own_names = ct_arena_alloc(&ir->arena, ((size_t)n + 1) * sizeof *own_names);
  CtVal *own_vals = ct_arena_alloc(&ir->arena, ((size_t)n + 1) * sizeof *own_vals);
  CtVal v = ct_ir_append(ir, op, type);
  if (e == NULL || own_names == NULL || own_vals == NULL || v == 0) {
    ir->failed = true;
    return 0;
  }
  for (int i = 0; i < n; i++) {
    own_names[i] = names == NULL ? "" : ct_ir_intern(ir, names[i]);
    own_vals[i] = vals[i];
  }
  *e = (CtEscape){.text = ct_ir_intern(ir, text), .n = n, .names = own_names, .vals = own_vals};
  ir->insts[v].u.escape = e;
  return v;
}

void ct_ir_require(CtIr *ir, CtRequire r) {
  for (size_t i = 0; i < ir->n_requires; i++) {
    if (ir->requires_[i].value == r.value && ir->requires_[i].modulus == r.modulus &&
        ir->requires_[i].most == r.most) {
      return;
    }
  }
  if (CT_IR_GROW(ir, requires_, n_requires, cap_requires, ir->n_requires + 1)) {
    const char **const texts[] = {&r.op, &r.mode, &r.name, &r.divisor};
    for (size_t i = 0; i < CT_ARRAY_LEN(texts); i++) {
      *texts[i] = ct_ir_intern(ir, *texts[i]);
    }
    r.loc = ir->cur_loc;
    ir->requires_[ir->n_requires++] = r;
  }
}

CtStatus ct_require_check(const CtRequire *r, int64_t value, CtErr *err) {
  if (value % r->modulus != 0) {
    return ct_fail(err, CT_EINVAL,
                   "%s: extent %lld of mode %s of %s is not a multiple of the %s's %lld; pad the "
                   "tensor or write guard(%s)",
                   r->op, (long long)value, r->mode, r->name, r->divisor, (long long)r->modulus,
                   r->name);
  }
  if (r->most != 0 && value > r->most) {
    return ct_fail(err, CT_EINVAL,
                   "%s: extent %lld of mode %s of %s is more than %lld, so the coordinates of a "
                   "%s that overhangs do not fit 32 bits; choose a smaller one",
                   r->op, (long long)value, r->mode, r->name, (long long)r->most, r->divisor);
  }
  return CT_OK;
}

void ct_ir_name(CtIr *ir, CtVal v, const char *name) {
  if (v != 0 && ir->insts[v].name == NULL) {
    ir->insts[v].name = ct_ir_intern(ir, name);
  }
}

/* --- reading ---------------------------------------------------------------------------------- */

static void each_int(CtInt i, void (*fn)(void *ud, CtVal operand), void *ud) {
  if (i.kind == CT_DYNAMIC) {
    fn(ud, i.id);
  }
}

static void each_leaf(CtTuple t, void (*fn)(void *ud, CtVal operand), void *ud) {
  for (uint32_t i = 0; i < t->len; i++) {
    if (t[i].rank == CT_LEAF) {
      each_int(t[i].i, fn, ud);
    }
  }
}

typedef struct ViewVisit {
  void (*fn)(void *ud, CtVal operand);
  void *ud;
} ViewVisit;

static void visit_view(void *ud, const CtView *view, bool is_written) {
  ViewVisit *visit = ud;
  (void)is_written;
  each_int(view->offset, visit->fn, visit->ud);
  each_leaf(view->layout.shape, visit->fn, visit->ud);
  each_leaf(view->layout.stride, visit->fn, visit->ud);
  for (int i = 0; i < ct_guard_n(view); i++) {
    const CtGuardAxis *axis = &view->guard->axis[i];
    each_int(axis->at, visit->fn, visit->ud);
    each_int(axis->bound, visit->fn, visit->ud);
    each_leaf(axis->stride, visit->fn, visit->ud);
  }
}

void ct_ir_each_view(const CtInst *inst, void (*fn)(void *ud, const CtView *view, bool is_written),
                     void *ud) {
  if (ct_ops[inst->op].cls != CT_CLS_TILE) {
    return;
  }
  const CtTile *tile = inst->u.tile;
  if (tile->a.buf != 0) {
    fn(ud, &tile->a, false);
  }
  if (tile->b.buf != 0) {
    fn(ud, &tile->b, false);
  }
  if (tile->sfa != NULL && tile->sfb != NULL) {
    fn(ud, tile->sfa, false);
    fn(ud, tile->sfb, false);
  }
  fn(ud, &tile->dst, true);
}

static void each_of_text(const CtEscape *e, void (*fn)(void *ud, CtVal operand), void *ud) {
  for (int i = 0; i < e->n; i++) {
    fn(ud, e->vals[i]);
  }
  for (int i = 0; i < e->n_places; i++) {
    fn(ud, e->places[i].at);
  }
  for (int i = 0; i < e->n_outs; i++) {
    if (e->outs[i].from != 0) {
      fn(ud, e->outs[i].from);
    }
  }
}

void ct_ir_each_operand(const CtIr *ir, CtVal v, void (*fn)(void *ud, CtVal operand), void *ud) {
  const CtInst *inst = &ir->insts[v];
  for (int i = 0; i < inst->n_args; i++) {
    if (inst->args[i] != 0) {
      fn(ud, inst->args[i]);
    }
  }
  if (ct_op_has_text((CtOp)inst->op)) {
    each_of_text(inst->u.escape, fn, ud);
  }
  if (ct_op_is_tma((CtOp)inst->op)) {
    ct_tma_each_operand(ir, inst->u.tma, fn, ud);
  }
  ViewVisit visit = {fn, ud};
  ct_ir_each_view(inst, visit_view, &visit);
}

typedef struct Sought {
  CtVal v;
  bool found;
} Sought;

static void seek(void *ud, CtVal operand) {
  Sought *s = ud;
  s->found = s->found || operand == s->v;
}

bool ct_ir_uses(const CtIr *ir, CtVal user, CtVal v) {
  Sought s = {v, false};
  ct_ir_each_operand(ir, user, seek, &s);
  return s.found;
}

/* --- sharing ---------------------------------------------------------------------------------- */

static uint32_t hash_inst(const CtInst *p) {
  uint64_t h = (uint64_t)p->op * 0x9E3779B97F4A7C15u + p->type;
  uint64_t parts[4] = {p->args[0], p->args[1], p->args[2], (uint64_t)p->imm.i};
  for (int i = 0; i < 4; i++) {
    h = (h ^ parts[i]) * 0xFF51AFD7ED558CCDu;
    h ^= h >> 32;
  }
  return (uint32_t)h;
}

static bool same_inst(const CtInst *a, const CtInst *b) {
  return a->op == b->op && a->type == b->type && a->untyped == b->untyped && a->imm.i == b->imm.i &&
         memcmp(a->args, b->args, sizeof a->args) == 0;
}

static bool is_available(const CtIr *ir, CtVal v) {
  const CtInst *inst = &ir->insts[v];
  return ct_ops[inst->op].cls == CT_CLS_LEAF ||
         (inst->region != 0 && ct_ir_encloses(ir, inst->region, ir->cur));
}

static bool is_of_int(const CtIr *ir, const CtInst *x) {
  return x->op == CT_OP_CAST && !ct_is_float((CtDtype)ct_inst(ir, x->args[0])->type);
}

/* Constants, and integers as floats, go with what stands beside them. */
static bool has_type(const CtIr *ir, const CtInst *x) {
  return x->untyped == CT_TYPED && x->op != CT_OP_CONST && !is_of_int(ir, x);
}

uint8_t ct_ir_untyped_of(const CtIr *ir, const CtVal *args, int n, bool kept) {
  uint8_t least = CT_TYPED;
  for (int i = 0; i < n; i++) {
    const CtInst *x = ct_inst(ir, args[i]);
    if (!ct_is_float((CtDtype)x->type)) {
      continue;
    }
    if (has_type(ir, x)) {
      return CT_TYPED;
    }
    kept = kept && !is_of_int(ir, x); /* an f32 may round it */
    bool is_less = least == CT_TYPED || x->untyped < least;
    least = x->untyped != CT_TYPED && is_less ? x->untyped : least;
  }
  return least != CT_TYPED && !kept ? CT_UNTYPED_COMPUTED : least;
}

/* The operation like *key: an available one, or a new one (a leaf, or appended). */
CtVal ct_ir_shared_inst(CtIr *ir, const CtInst *given) {
  CtInst with_type = *given;
  const CtInst *key = &with_type;
  bool is_made = ct_ops[given->op].cls == CT_CLS_PURE && given->op != CT_OP_CAST;
  if (is_made && ct_is_float((CtDtype)given->type)) {
    bool kept = given->op == CT_OP_SELECT || given->op == CT_OP_NEG || given->op == CT_OP_ABS ||
                given->op == CT_OP_MIN || given->op == CT_OP_MAX || given->op == CT_OP_DYNAMIC;
    with_type.untyped = ct_ir_untyped_of(ir, given->args, ct_ops[given->op].n_args, kept);
  }
  if (!ct_hash_table_reserve(&ir->cse, ir->arena.alloc)) {
    ir->failed = true;
    return 0;
  }
  uint32_t hash = hash_inst(key);
  CtHashSlot *at = ct_hash_table_first(&ir->cse, hash);
  while (at->number != 0 && !same_inst(&ir->insts[at->number], key)) {
    at = ct_hash_table_next(&ir->cse, at);
  }
  if (at->number != 0 && is_available(ir, at->number)) {
    return at->number;
  }
  bool leaf = ct_ops[key->op].cls == CT_CLS_LEAF;
  CtVal v = leaf ? ct_ir_new(ir, (CtOp)key->op, (CtDtype)key->type)
                 : ct_ir_append(ir, (CtOp)key->op, (CtDtype)key->type);
  if (v == 0) {
    return 0;
  }
  memcpy(ir->insts[v].args, key->args, sizeof key->args);
  ir->insts[v].imm = key->imm;
  ir->insts[v].facts = key->facts;
  ir->insts[v].is_conditional = key->is_conditional;
  ir->insts[v].untyped = key->untyped;
  if (at->number == 0) {
    ct_hash_table_put(&ir->cse, at, hash, v);
  }
  at->number = v; /* replaces one whose region has ended */
  return v;
}
