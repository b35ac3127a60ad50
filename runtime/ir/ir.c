/* ir.c: the store of an IR: operations in regions, buffers, arguments, structure. What a pure
   operation folds to is in ir_fold.c, operations on whole tensors are in ir_tile.c. */
#include "ir.h"

#include <stdio.h>
#include <string.h>

#include "ir_build.h"
#include "ir_tma.h"
#include "runtime/layout/walk.h"

const CtOpInfo ct_ops[CT_OP_COUNT] = {
    [CT_OP_NONE] = {"none", 0, CT_RES_VOID, CT_CLS_LEAF},
#define X(name, text, n, result, cls) [CT_OP_##name] = {text, n, CT_RES_##result, CT_CLS_##cls},
#include "ops.def"
#undef X
};

/* --- store ------------------------------------------------------------------------------------ */

#define GROW(ir, array, n, cap, need)                                                              \
  (ct_grow((ir)->arena.alloc, &(ir)->array, &(ir)->cap, (need), sizeof *(ir)->array, NULL) ==      \
           CT_OK                                                                                   \
       ? true                                                                                      \
       : ((ir)->failed = true, false))

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

/* Messages show sizes as they are in the traced launch. */
static void dyn_print(void *ud, CtInt a, CtText *out) {
  const CtIr *ir = ud;
  int64_t v;
  if (ir->samples != NULL && ct_ir_eval(ir, a.id, ir->samples, &v, NULL) == CT_OK) {
    ct_text_printf(out, "%lld", (long long)v);
  } else {
    ct_text_puts(out, "?");
  }
}

static void add_sentinels(CtIr *ir) {
  if (GROW(ir, insts, n_insts, cap_insts, 1) && GROW(ir, regions, n_regions, cap_regions, 2) &&
      GROW(ir, bufs, n_bufs, cap_bufs, 1) && GROW(ir, chunks, n_chunks, cap_chunks, 1)) {
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
  ir->cur = 1;
  ir->dyn = (CtDyn){ir, dyn_binary, dyn_facts, dyn_print};
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
  ct_free(a, ir->cse, ir->cap_cse * sizeof *ir->cse);
  ct_arena_clear(&ir->arena);
  memset(ir, 0, sizeof *ir);
  ct_arena_init(&ir->arena, a);
}

CtCx ct_ir_cx(CtIr *ir) { return (CtCx){&ir->arena, &ir->dyn}; }

static const char *intern(CtIr *ir, const char *s) {
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
    const char *name = intern(ir, chunk);
    if (name == NULL || !GROW(ir, chunks, n_chunks, cap_chunks, ir->n_chunks + 1)) {
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
  if (!GROW(ir, insts, n_insts, cap_insts, ir->n_insts + 1)) {
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

static CtRegion new_region(CtIr *ir, CtVal owner) {
  if (!GROW(ir, regions, n_regions, cap_regions, ir->n_regions + 1)) {
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

/* --- arguments and buffers ------------------------------------------------------------------- */

/* Buffers are told apart by name in messages and in CUDA text: "s", "s_2", ... */
static const char *unique_name(CtIr *ir, const char *wanted) {
  char text[128];
  snprintf(text, sizeof text, "%s", wanted);
  for (int n = 2;; n++) {
    size_t i = 1;
    while (i < ir->n_bufs && (ir->bufs[i].name == NULL || strcmp(ir->bufs[i].name, text) != 0)) {
      i++;
    }
    if (i >= ir->n_bufs) {
      return intern(ir, text);
    }
    snprintf(text, sizeof text, "%.100s_%d", wanted, n);
  }
}

void ct_ir_name_buf(CtIr *ir, uint32_t buf, const char *name) {
  if (name != NULL && ir->bufs[buf].name == NULL) {
    ir->bufs[buf].name = unique_name(ir, name);
  }
}

uint32_t ct_ir_new_buf(CtIr *ir, const CtBuf *buf) {
  if (!GROW(ir, bufs, n_bufs, cap_bufs, ir->n_bufs + 1)) {
    return 0;
  }
  ir->bufs[ir->n_bufs] = *buf;
  ir->bufs[ir->n_bufs].name = NULL;
  ir->bufs[ir->n_bufs].loc = ir->cur_loc;
  ir->n_bufs++;
  ct_ir_name_buf(ir, (uint32_t)ir->n_bufs - 1, buf->name);
  return (uint32_t)ir->n_bufs - 1;
}

static uint32_t new_param(CtIr *ir, const char *name, CtDtype dtype, bool is_tensor) {
  if (!GROW(ir, params, n_params, cap_params, ir->n_params + 1)) {
    return 0;
  }
  ir->params[ir->n_params] = (CtParam){.name = intern(ir, name),
                                       .is_tensor = is_tensor,
                                       .dtype = dtype,
                                       .first_slot = (uint32_t)ir->n_slots};
  return (uint32_t)ir->n_params++;
}

/* Adds a slot to the newest parameter, and the PARAM that reads it (not for a pointer). */
static CtVal new_slot(CtIr *ir, CtSlotKind kind, uint32_t leaf, CtDtype dtype, const char *name,
                      CtFacts facts) {
  if (!GROW(ir, slots, n_slots, cap_slots, ir->n_slots + 1)) {
    return 0;
  }
  CtSlot *slot = &ir->slots[ir->n_slots];
  *slot = (CtSlot){.kind = kind,
                   .dtype = dtype,
                   .param = (uint32_t)ir->n_params - 1,
                   .leaf = leaf,
                   .name = intern(ir, name)};
  if (kind != CT_SLOT_POINTER) {
    CtVal v = ct_ir_new(ir, CT_OP_PARAM, dtype);
    if (v == 0) {
      return 0;
    }
    ir->insts[v].imm.i = (int64_t)ir->n_slots;
    ir->insts[v].name = slot->name;
    if (ct_is_int(dtype)) {
      ir->insts[v].facts = facts;
    }
    slot->val = v;
  }
  ir->params[ir->n_params - 1].n_slots++;
  return ir->slots[ir->n_slots++].val;
}

typedef struct SlotMaker {
  const CtTensorSpec *spec;
  CtSlotKind kind;
  const CtFacts *facts; /* of the next dynamic leaf */
} SlotMaker;

/* A copy of a shape or stride whose dynamic leaves are this IR's values. */
static CtTuple make_slots(CtIr *ir, CtTuple t, SlotMaker *maker) {
  CtTuple copy = ct_tuple_copy(&ir->arena, t);
  if (copy == NULL) {
    ir->failed = true;
    return NULL;
  }
  CtNode *nodes = ct_arena_alloc(&ir->arena, t->len * sizeof *nodes);
  if (nodes == NULL) {
    ir->failed = true;
    return NULL;
  }
  memcpy(nodes, copy, t->len * sizeof *nodes);
  uint32_t leaf = 0;
  for (uint32_t i = 0; i < t->len; i++) {
    if (nodes[i].rank != CT_LEAF) {
      continue;
    }
    if (nodes[i].i.kind == CT_DYNAMIC) {
      char name[160];
      const char *part = maker->kind == CT_SLOT_EXTENT ? "shape" : "stride";
      snprintf(name, sizeof name, "%.120s_%s%u", maker->spec->name, part, leaf);
      nodes[i].i.id = new_slot(ir, maker->kind, leaf, maker->spec->index, name, *maker->facts++);
    }
    leaf++;
  }
  return nodes;
}

CtView ct_ir_tensor(CtIr *ir, const CtTensorSpec *spec) {
  uint32_t param = new_param(ir, spec->name, spec->dtype, true);
  new_slot(ir, CT_SLOT_POINTER, 0, spec->dtype, spec->name, (CtFacts){0});
  SlotMaker maker = {spec, CT_SLOT_EXTENT, spec->facts};
  CtTuple shape = make_slots(ir, spec->shape, &maker);
  maker.kind = CT_SLOT_STRIDE;
  CtTuple stride = make_slots(ir, spec->stride, &maker);
  if (ir->failed) {
    return (CtView){0};
  }
  CtBuf buf = {.name = spec->name,
               .space = CT_GLOBAL,
               .dtype = spec->dtype,
               .align = spec->align,
               .is_wide = spec->index == CT_i64,
               .layout = {shape, stride},
               .n_elems = {.kind = CT_ANY},
               .param = param};
  uint32_t id = ct_ir_new_buf(ir, &buf);
  ir->params[param].buf = id;
  return (CtView){
      .buf = id, .offset = ct_int(0), .layout = {shape, stride}, .name = ir->params[param].name};
}

CtVal ct_ir_number(CtIr *ir, const char *name, CtDtype dtype, CtFacts facts) {
  new_param(ir, name, dtype, false);
  return ir->failed ? 0 : new_slot(ir, CT_SLOT_NUMBER, 0, dtype, name, facts);
}

enum { SHARED_ALIGN = 16 };

static CtView declare(CtIr *ir, CtSpace space, const char *name, CtDtype dtype,
                      const CtComposed *l) {
  CtBuf buf = {.name = name, .space = space, .dtype = dtype, .align = SHARED_ALIGN};
  CtErr err;
  int64_t lo, hi, size, n;
  CT_ASSERT(ct_composed_is_static(l));
  if (ct_layout_copy(&ir->arena, l->layout, &buf.layout, &err) != CT_OK ||
      ct_walk_bounds(buf.layout, &lo, &hi, &size, &err) != CT_OK ||
      ct_swizzle_extent(l->swizzle, size == 0 ? 0 : l->offset.v + hi + 1, &n, &err) != CT_OK) {
    ir->failed = true;
    return (CtView){0};
  }
  buf.swizzle = l->swizzle;
  buf.n_elems = ct_int(n);
  CtLayout whole = buf.layout;
  if (!ct_is_const(l->offset, 0)) {
    ct_ir_forget_coordinates(ir, &buf);
  }
  uint32_t id = ct_ir_new_buf(ir, &buf);
  return (CtView){.buf = id, .offset = l->offset, .layout = whole, .name = ir->bufs[id].name};
}

CtView ct_ir_shared(CtIr *ir, const char *name, CtDtype dtype, CtLayout layout) {
  CtComposed l = ct_composed_plain(layout);
  return declare(ir, CT_SHARED, name, dtype, &l);
}

CtView ct_ir_shared_composed(CtIr *ir, const char *name, CtDtype dtype, const CtComposed *layout) {
  return declare(ir, CT_SHARED, name, dtype, layout);
}

CtView ct_ir_shared_of_launch(CtIr *ir, CtDtype dtype) {
  if (ir->smem_buf == 0) {
    CtCx cx = ct_ir_cx(ir);
    CtLayout layout;
    CtErr err;
    CtTuple size = ct_leaf(&ir->arena, ct_int(ir->smem / (int64_t)ct_dtype_bytes(dtype)));
    if (size == NULL || ct_layout_make(&cx, size, NULL, &layout, &err) != CT_OK) {
      ir->failed = true;
      return (CtView){0};
    }
    CtView view = ct_ir_shared(ir, NULL, dtype, layout);
    ir->smem_buf = view.buf;
    return view;
  }
  const CtBuf *buf = &ir->bufs[ir->smem_buf];
  return (CtView){
      .buf = ir->smem_buf, .offset = ct_int(0), .layout = buf->layout, .name = buf->name};
}

CtView ct_ir_fragment(CtIr *ir, const char *name, CtDtype dtype, CtLayout layout) {
  CtComposed l = ct_composed_plain(layout);
  return declare(ir, CT_REGISTER, name, dtype, &l);
}

int64_t ct_ir_shared_offset(const CtIr *ir, uint32_t buf) {
  int64_t at = 0;
  buf = buf < ir->n_bufs ? ct_ir_memory(ir, buf) : buf;
  for (uint32_t i = 1; i < ir->n_bufs && (i != buf || i == ir->smem_buf); i++) {
    const CtBuf *b = &ir->bufs[i];
    if (b->space == CT_SHARED && i != ir->smem_buf && b->alias_of == 0) {
      int64_t bytes = b->n_elems.v * (int64_t)ct_dtype_bytes(b->dtype);
      at = ct_ceildiv(at, b->align) * b->align + ct_ceildiv(bytes, SHARED_ALIGN) * SHARED_ALIGN;
    }
  }
  bool is_there = buf < ir->n_bufs && buf != ir->smem_buf;
  return is_there ? ct_ceildiv(at, ir->bufs[buf].align) * ir->bufs[buf].align : at;
}

void ct_ir_align_shared(CtIr *ir, uint32_t buf, uint32_t bytes) {
  CtBuf *memory = &ir->bufs[ct_ir_memory(ir, buf)];
  memory->align = memory->align < bytes ? bytes : memory->align;
}

uint32_t ct_ir_shared_align(const CtIr *ir) {
  uint32_t align = SHARED_ALIGN;
  for (uint32_t i = 1; i < ir->n_bufs; i++) {
    const CtBuf *b = &ir->bufs[i];
    align = b->space == CT_SHARED && b->alias_of == 0 && b->align > align ? b->align : align;
  }
  return align;
}

int64_t ct_ir_shared_slack(const CtIr *ir) {
  uint32_t align = ct_ir_shared_align(ir);
  return align > CT_SHARED_DYNAMIC_ALIGN ? align - SHARED_ALIGN
                                         : 0; /* it begins at 16 bytes anyway */
}

int64_t ct_ir_shared_bytes(const CtIr *ir) { return ct_ir_shared_offset(ir, UINT32_MAX); }

/* --- memory and variables --------------------------------------------------------------------- */

CtVal ct_ir_load(CtIr *ir, uint32_t buf, CtVal offset) {
  offset = ct_ir_place(ir, buf, offset);
  CtVal v = ct_ir_append(ir, CT_OP_LOAD, ir->bufs[buf].dtype);
  ir->insts[v].imm.i = buf;
  ir->insts[v].args[0] = offset;
  return v;
}

void ct_ir_store(CtIr *ir, uint32_t buf, CtVal offset, CtVal value) {
  CT_ASSERT(ir->insts[value].type == ir->bufs[buf].dtype || ir->failed);
  offset = ct_ir_place(ir, buf, offset);
  CtVal v = ct_ir_append(ir, CT_OP_STORE, CT_VOID);
  ir->insts[v].imm.i = buf;
  ir->insts[v].args[0] = offset;
  ir->insts[v].args[1] = value;
  ct_ir_written(ir, buf);
}

CtVal ct_ir_var(CtIr *ir, CtDtype type, const char *name) {
  CtVal v = ct_ir_new(ir, CT_OP_VAR, type);
  ir->insts[v].name = intern(ir, name);
  return v;
}

CtVal ct_ir_get(CtIr *ir, CtVal var) {
  CtVal v = ct_ir_append(ir, CT_OP_GET, (CtDtype)ir->insts[var].type);
  ir->insts[v].imm.i = var;
  ir->insts[v].name = ir->insts[var].name;
  return v;
}

void ct_ir_set(CtIr *ir, CtVal var, CtVal value) {
  CT_ASSERT(ir->insts[var].type == ir->insts[value].type || ir->failed);
  CtVal v = ct_ir_append(ir, CT_OP_SET, CT_VOID);
  ir->insts[v].imm.i = var;
  ir->insts[v].args[0] = value;
}

void ct_ir_set_before(CtIr *ir, CtVal var, CtVal value, CtVal op) {
  CT_ASSERT(ir->insts[var].type == ir->insts[value].type || ir->failed);
  CtVal v = ct_ir_new(ir, CT_OP_SET, CT_VOID);
  if (v != 0) {
    ir->insts[v].imm.i = var;
    ir->insts[v].args[0] = value;
    ct_ir_link(ir, v, op == 0 ? ir->cur : ir->insts[op].region, op);
  }
}

static bool is_get_of(const CtIr *ir, CtVal v, CtVal var) {
  return ir->insts[v].op == CT_OP_GET && ir->insts[v].imm.i == var;
}

typedef struct GetUse {
  const CtIr *ir;
  CtVal var;
  bool found;
} GetUse;

static void find_get(void *ud, CtVal v) {
  GetUse *use = ud;
  use->found = use->found || is_get_of(use->ir, v, use->var);
}

/* A constant that the type can have, a float rounded. */
static bool is_const_of(const CtIr *ir, CtVal v, CtDtype type) {
  const CtInst *inst = &ir->insts[v];
  return inst->op == CT_OP_CONST && (ct_is_float(type) || ct_is_float((CtDtype)inst->type) ||
                                     ct_dtype_fits(type, inst->imm.i));
}

/* Every use of the variable's reads is a cast to `type`, every store a constant. */
static bool may_retype(const CtIr *ir, CtVal var, CtDtype type) {
  for (CtVal v = 1; v < ir->n_insts; v++) {
    const CtInst *inst = &ir->insts[v];
    if (inst->region == 0) {
      continue;
    }
    if (inst->op == CT_OP_SET && inst->imm.i == var && !is_const_of(ir, inst->args[0], type)) {
      return false;
    }
    GetUse use = {ir, var, false};
    ct_ir_each_operand(ir, v, find_get, &use);
    if (use.found && !(inst->op == CT_OP_CAST && inst->type == type)) {
      return false;
    }
  }
  return true;
}

static void replace_operand(CtIr *ir, CtVal from, CtVal to) {
  for (CtVal v = 1; v < ir->n_insts; v++) {
    for (int i = 0; i < ir->insts[v].n_args; i++) {
      if (ir->insts[v].args[i] == from) {
        ir->insts[v].args[i] = to;
      }
    }
  }
}

bool ct_ir_retype(CtIr *ir, CtVal var, CtDtype type) {
  if (!may_retype(ir, var, type)) {
    return false;
  }
  size_t n = ir->n_insts;
  ir->insts[var].type = (uint8_t)type;
  for (CtVal v = 1; v < n; v++) {
    if (ir->insts[v].op == CT_OP_SET && ir->insts[v].imm.i == var) {
      CtVal value = ct_ir_cast(ir, ir->insts[v].args[0], type);
      ir->insts[v].args[0] = value;
    } else if (is_get_of(ir, v, var)) {
      ir->insts[v].type = (uint8_t)type;
      ir->insts[v].facts = ct_type_facts(type);
    }
  }
  for (CtVal v = 1; v < n; v++) {
    CtInst *inst = &ir->insts[v];
    if (inst->region != 0 && inst->op == CT_OP_CAST && is_get_of(ir, inst->args[0], var)) {
      CtVal get = inst->args[0];
      ct_ir_unlink(ir, v);
      replace_operand(ir, v, get);
    }
  }
  return true;
}

/* --- structure -------------------------------------------------------------------------------- */

/* Appends an operation with one region and goes into it. */
static CtVal enter(CtIr *ir, CtOp op, CtDtype type) {
  CtVal v = ct_ir_append(ir, op, type);
  CtRegion body = v == 0 ? 0 : new_region(ir, v);
  if (body != 0) {
    ir->insts[v].u.regions[0] = body;
    ir->cur = body;
  }
  return v;
}

CtVal ct_ir_if(CtIr *ir, CtVal cond) {
  CtVal v = enter(ir, CT_OP_IF, CT_VOID);
  ir->insts[v].args[0] = cond;
  return v;
}

void ct_ir_else(CtIr *ir, CtVal if_) {
  CtRegion other = new_region(ir, if_);
  if (other != 0) {
    ir->insts[if_].u.regions[1] = other;
    ir->cur = other;
  }
}

static CtFacts loop_facts(const CtIr *ir, CtVal start, CtVal stop, CtVal step) {
  CtFacts a = ir->insts[start].facts;
  CtFacts b = ir->insts[stop].facts;
  CtFacts s = ir->insts[step].facts;
  CtFacts f = ct_type_facts((CtDtype)ir->insts[start].type);
  f.div = ct_gcd(a.div, s.div);
  if (s.lo > 0) {
    f.lo = a.lo;
    f.hi = ct_max(a.lo, b.hi - (b.hi > INT64_MIN));
  } else if (s.hi < 0) {
    f.lo = ct_min(a.hi, b.lo + (b.lo < INT64_MAX));
    f.hi = a.hi;
  }
  return f;
}

CtVal ct_ir_for(CtIr *ir, CtVal start, CtVal stop, CtVal step, int64_t unroll, const char *name) {
  CtVal v = enter(ir, CT_OP_FOR, (CtDtype)ir->insts[start].type);
  CtInst *inst = &ir->insts[v];
  inst->args[0] = start;
  inst->args[1] = stop;
  inst->args[2] = step;
  inst->imm.i = unroll;
  inst->name = intern(ir, name);
  ir->insts[v].facts = loop_facts(ir, start, stop, step);
  return v;
}

CtVal ct_ir_loop(CtIr *ir) { return enter(ir, CT_OP_LOOP, CT_VOID); }

void ct_ir_end(CtIr *ir, CtVal op) { ir->cur = ir->insts[op].region; }

CtVal ct_ir_position(const CtIr *ir) { return ir->regions[ir->cur].last; }

/* The position is kept in imm until the end; a BLOCK has no other use for it. */
CtVal ct_ir_block_begin(CtIr *ir) {
  CtVal v = ct_ir_new(ir, CT_OP_BLOCK, CT_VOID);
  ir->insts[v].imm.i = ct_ir_position(ir);
  return v;
}

void ct_ir_block_late(CtIr *ir, CtVal block, CtRegion region, CtVal inner) {
  CtVal holder = 0;
  if (inner != 0) {
    ir->insts[block].imm.i = ir->insts[inner].imm.i;
    return;
  }
  for (CtRegion r = ir->cur; r != region && r != 0; r = ir->insts[holder].region) {
    holder = ir->regions[r].owner;
  }
  ir->insts[block].imm.i = holder == 0 ? ir->regions[region].last : ir->insts[holder].prev;
}

void ct_ir_block_end(CtIr *ir, CtVal block, bool used) {
  CtVal begin = (CtVal)ir->insts[block].imm.i;
  if (!used || ir->failed) {
    return;
  }
  CtRegion body = new_region(ir, block);
  if (body == 0) {
    return;
  }
  CtVal v = begin == 0 ? ir->regions[ir->cur].first : ir->insts[begin].next;
  while (v != 0) {
    CtVal next = ir->insts[v].next;
    ct_ir_unlink(ir, v);
    ct_ir_link(ir, v, body, 0);
    v = next;
  }
  ir->insts[block].u.regions[0] = body;
  ir->insts[block].imm.i = 0;
  ct_ir_link(ir, block, ir->cur, 0);
}

void ct_ir_break(CtIr *ir, CtVal target) {
  CtVal v = ct_ir_append(ir, CT_OP_BREAK, CT_VOID);
  ir->insts[v].imm.i = target;
}

void ct_ir_rollback(CtIr *ir, CtVal position) {
  while (ir->regions[ir->cur].last != position && ir->regions[ir->cur].last != 0) {
    ct_ir_unlink(ir, ir->regions[ir->cur].last);
  }
}

/* Runs as well when its condition is false: no memory, no division by zero. */
static bool is_eager(const CtIr *ir, const CtInst *inst) {
  bool divides =
      (inst->op == CT_OP_FLOORDIV || inst->op == CT_OP_FLOORMOD) && ct_is_int((CtDtype)inst->type);
  CtFacts by = divides ? ir->insts[inst->args[1]].facts : (CtFacts){1, 1, 1};
  return (ct_ops[inst->op].cls == CT_CLS_PURE || inst->op == CT_OP_GET) && !inst->is_conditional &&
         (by.lo > 0 || by.hi < 0);
}

static bool is_last_set(const CtInst *inst, CtVal var) {
  return var != 0 && inst->op == CT_OP_SET && inst->imm.i == var && inst->next == 0;
}

static bool is_eager_region(const CtIr *ir, CtRegion r, CtVal var) {
  for (CtVal v = ir->regions[r].first; r != 0 && v != 0; v = ir->insts[v].next) {
    if (!is_eager(ir, &ir->insts[v]) && !is_last_set(&ir->insts[v], var)) {
      return false;
    }
  }
  return true;
}

bool ct_ir_flatten_if(CtIr *ir, CtVal if_, CtVal var, CtVal set[2]) {
  const CtInst *inst = &ir->insts[if_];
  if (!is_eager_region(ir, inst->u.regions[0], var) ||
      !is_eager_region(ir, inst->u.regions[1], var)) {
    return false;
  }
  for (int i = 0; i < 2; i++) {
    CtRegion r = inst->u.regions[i];
    set[i] = 0;
    for (CtVal v = r == 0 ? 0 : ir->regions[r].first; v != 0;) {
      CtVal next = ir->insts[v].next;
      ct_ir_unlink(ir, v);
      if (ir->insts[v].op == CT_OP_SET) {
        set[i] = ir->insts[v].args[0];
      } else {
        ct_ir_link(ir, v, inst->region, if_);
      }
      v = next;
    }
  }
  ct_ir_unlink(ir, if_);
  return true;
}

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
    own_names[i] = names == NULL ? "" : intern(ir, names[i]);
    own_vals[i] = vals[i];
  }
  *e = (CtEscape){intern(ir, text), n, own_names, own_vals};
  ir->insts[v].u.escape = e;
  return v;
}

CtVal ct_ir_escape(CtIr *ir, CtDtype type, const char *text, int n, const char *const *names,
                   const CtVal *vals) {
  return ct_ir_text_op(ir, CT_OP_ESCAPE, type, text, n, names, vals);
}

void ct_ir_require(CtIr *ir, CtVal value, int64_t modulus, const char *what) {
  for (size_t i = 0; i < ir->n_requires; i++) {
    if (ir->requires_[i].value == value && ir->requires_[i].modulus == modulus) {
      return;
    }
  }
  if (GROW(ir, requires_, n_requires, cap_requires, ir->n_requires + 1)) {
    ir->requires_[ir->n_requires++] = (CtRequire){value, modulus, intern(ir, what), ir->cur_loc};
  }
}

void ct_ir_name(CtIr *ir, CtVal v, const char *name) {
  if (v != 0 && ir->insts[v].name == NULL) {
    ir->insts[v].name = intern(ir, name);
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
  fn(ud, &tile->dst, true);
}

void ct_ir_each_operand(const CtIr *ir, CtVal v, void (*fn)(void *ud, CtVal operand), void *ud) {
  const CtInst *inst = &ir->insts[v];
  for (int i = 0; i < inst->n_args; i++) {
    if (inst->args[i] != 0) {
      fn(ud, inst->args[i]);
    }
  }
  if (ct_op_has_text((CtOp)inst->op)) {
    for (int i = 0; i < inst->u.escape->n; i++) {
      fn(ud, inst->u.escape->vals[i]);
    }
  }
  if (ct_op_is_tma((CtOp)inst->op)) {
    ct_tma_each_operand(ir, inst->u.tma, fn, ud);
  }
  ViewVisit visit = {fn, ud};
  ct_ir_each_view(inst, visit_view, &visit);
}
