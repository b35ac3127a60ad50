/* ir_buf.c: what a kernel's operations are on: its arguments, shared memory and fragments. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir_build.h"
#include "runtime/base/size.h"
#include "runtime/layout/walk.h"

enum { MAX_NAME = 128, MAX_STEM = 100, MAX_DIGITS = 9 };

static bool has_name(const CtIr *ir, const char *name) {
  for (size_t i = 1; i < ir->n_bufs; i++) {
    if (ir->bufs[i].name != NULL && strcmp(ir->bufs[i].name, name) == 0) {
      return true;
    }
  }
  return false;
}

/* The number of a name that was made from a stem, "s_2" from "s"; 0: it was not. */
static size_t number_of(const char *name, const char *stem, size_t n_stem) {
  if (name == NULL || strncmp(name, stem, n_stem) != 0 || name[n_stem] != '_') {
    return 0;
  }
  const char *digits = name + n_stem + 1;
  size_t n = strspn(digits, "0123456789");
  bool is_number = n > 0 && n <= MAX_DIGITS && digits[n] == '\0' && digits[0] != '0';
  return is_number ? (size_t)strtoul(digits, NULL, 10) : 0;
}

/* The least number from 2 on that no name made from the stem has; 0: no memory. */
static size_t free_number(const CtIr *ir, const char *stem, size_t n_stem) {
  size_t n = 2, bytes = ir->n_bufs + 2;
  bool *is_taken = ct_alloc(ir->arena.alloc, bytes);
  if (is_taken == NULL) {
    return 0;
  }
  memset(is_taken, 0, bytes);
  for (size_t i = 1; i < ir->n_bufs; i++) {
    size_t number = number_of(ir->bufs[i].name, stem, n_stem);
    if (number < bytes) {
      is_taken[number] = true;
    }
  }
  while (is_taken[n]) {
    n++;
  }
  ct_free(ir->arena.alloc, is_taken, bytes);
  return n;
}

/* Buffers are told apart by name in messages and in CUDA text: "s", "s_2", ... */
static const char *unique_name(CtIr *ir, const char *wanted) {
  char text[MAX_NAME];
  snprintf(text, sizeof text, "%s", wanted);
  if (has_name(ir, text)) {
    int n_stem = (int)strnlen(wanted, MAX_STEM);
    size_t n = free_number(ir, wanted, (size_t)n_stem);
    ir->failed = ir->failed || n == 0;
    snprintf(text, sizeof text, "%.*s_%zu", n_stem, wanted, n);
  }
  return ct_ir_intern(ir, text);
}

void ct_ir_name_buf(CtIr *ir, uint32_t buf, const char *name) {
  if (name != NULL && ir->bufs[buf].name == NULL) {
    ir->bufs[buf].name = unique_name(ir, name);
  }
}

const char *ct_ir_view_name(const CtIr *ir, const CtView *v) {
  static const char *const words[] = {[CT_GLOBAL] = "the tensor",
                                      [CT_SHARED] = "the shared tensor",
                                      [CT_REGISTER] = "the fragment",
                                      [CT_CONSTANT] = "the constant tensor",
                                      [CT_TENSOR] = "the tensor"};
  const CtBuf *b = &ir->bufs[v->buf];
  return v->name != NULL ? v->name : b->name != NULL ? b->name : words[b->space];
}

const char *ct_ir_shown_name(const CtIr *ir, uint32_t buf) {
  const CtBuf *b = &ir->bufs[buf];
  const char *target = b->remote == 0 ? NULL : ir->bufs[b->alias_of].name;
  size_t n = target == NULL ? 0 : strlen(target);
  bool is_made = n > 0 && strncmp(b->name, target, n) == 0 && b->name[n] == '_' &&
                 strspn(b->name + n + 1, "0123456789") == strlen(b->name + n + 1);
  return is_made ? target : b->name;
}

uint32_t ct_ir_new_buf(CtIr *ir, const CtBuf *buf) {
  if (!CT_IR_GROW(ir, bufs, n_bufs, cap_bufs, ir->n_bufs + 1)) {
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
  if (!CT_IR_GROW(ir, params, n_params, cap_params, ir->n_params + 1)) {
    return 0;
  }
  ir->params[ir->n_params] = (CtParam){.name = ct_ir_intern(ir, name),
                                       .is_tensor = is_tensor,
                                       .dtype = dtype,
                                       .first_slot = (uint32_t)ir->n_slots};
  return (uint32_t)ir->n_params++;
}

/* Adds a slot to the newest parameter, and the PARAM that reads it (not for a pointer). */
static CtVal new_slot(CtIr *ir, CtSlotKind kind, uint32_t leaf, CtDtype dtype, const char *name,
                      CtFacts facts) {
  if (ir->failed || !CT_IR_GROW(ir, slots, n_slots, cap_slots, ir->n_slots + 1)) {
    return 0;
  }
  CtSlot *slot = &ir->slots[ir->n_slots];
  *slot = (CtSlot){.kind = kind,
                   .dtype = dtype,
                   .param = (uint32_t)ir->n_params - 1,
                   .leaf = leaf,
                   .name = ct_ir_intern(ir, name)};
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

/* --- memory that is chosen at run time ------------------------------------------------------------------- */

/* Nothing is known of what it overlaps, so that no access moves past another. */
CtView ct_ir_chosen(CtIr *ir, CtBuf buf, CtVal chosen) {
  buf.space = CT_GLOBAL;
  buf.n_elems = (CtInt){.kind = CT_ANY};
  buf.chosen = chosen;
  ir->may_overlap = true;
  uint32_t id = ir->failed ? 0 : ct_ir_new_buf(ir, &buf);
  CtVal op = id == 0 ? 0 : ct_ir_append(ir, CT_OP_TENSOR_AT, CT_VOID);
  if (op == 0) {
    return (CtView){0};
  }
  ir->insts[op].imm.i = id;
  ir->insts[op].args[0] = chosen;
  ir->bufs[id].begins = op;
  return (CtView){.buf = id, .offset = ct_int(0), .layout = buf.layout, .name = ir->bufs[id].name};
}

uint32_t ct_ir_find_chosen(const CtIr *ir, uint32_t list, CtVal chosen, CtDtype dtype) {
  for (uint32_t i = 1; i < ir->n_bufs; i++) {
    const CtBuf *b = &ir->bufs[i];
    if (b->chosen == chosen && b->list == list && b->dtype == dtype) {
      CtRegion region = ir->insts[b->begins].region;
      if (region != 0 && ct_ir_encloses(ir, region, ir->cur)) {
        return i;
      }
    }
  }
  return 0;
}

uint32_t ct_ir_chosen_as(CtIr *ir, uint32_t buf, CtDtype t) {
  CtBuf as = ir->bufs[buf];
  uint32_t known = ct_ir_find_chosen(ir, as.list, as.chosen, t);
  as.dtype = t;
  as.name = NULL;
  as.is_written = false;
  ct_ir_forget_coordinates(ir, &as);
  return ir->failed ? buf : known != 0 ? known : ct_ir_chosen(ir, as, as.chosen).buf;
}

/* --- memory of the kernel ---------------------------------------------------------------------------------- */

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
    CtTuple size = ct_leaf(&ir->arena, ct_int(ct_dtype_count(dtype, ir->smem)));
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

CtView ct_ir_tmem(CtIr *ir, CtDtype dtype, CtLayout layout) {
  CtComposed l = ct_composed_plain(layout);
  CtCx cx = ct_ir_cx(ir);
  CtLayout word;
  CtErr err;
  CtTuple one = ct_leaf(&ir->arena, ct_int(1));
  if (one == NULL || ct_layout_make(&cx, one, NULL, &word, &err) != CT_OK) {
    ir->failed = true;
    return (CtView){0};
  }
  CtView address = ct_ir_shared(ir, "tmem", CT_u32, word);
  CtView view = declare(ir, CT_TENSOR, NULL, dtype, &l);
  if (!ir->failed) {
    ir->bufs[view.buf].address = address.buf;
    ct_ir_written(ir, address.buf);
    CtVal v = ct_ir_append(ir, CT_OP_TMEM_ALLOC, CT_VOID);
    ir->insts[v].imm.i = view.buf;
  }
  return view;
}

void ct_ir_tmem_dealloc(CtIr *ir, uint32_t buf) {
  CtVal v = ct_ir_append(ir, CT_OP_TMEM_DEALLOC, CT_VOID);
  ir->insts[v].imm.i = buf;
}

int64_t ct_buf_columns(const CtBuf *buf) {
  int64_t words = ct_ceildiv(buf->n_elems.v * ct_dtype_width(buf->dtype), 32);
  int64_t wanted = ct_ceildiv(words, CT_TMEM_LANES), n = CT_TMEM_LEAST;
  while (n < wanted) {
    n *= 2;
  }
  return n;
}

int64_t ct_ir_tmem_columns(const CtIr *ir, uint32_t before) {
  int64_t n = 0;
  for (uint32_t i = 1; i < ir->n_bufs && i < before; i++) {
    const CtBuf *b = &ir->bufs[i];
    n += b->space == CT_TENSOR && b->alias_of == 0 ? ct_buf_columns(b) : 0;
  }
  return n;
}

CtView ct_ir_fragment(CtIr *ir, const char *name, CtDtype dtype, CtLayout layout) {
  CtComposed l = ct_composed_plain(layout);
  return declare(ir, CT_REGISTER, name, dtype, &l);
}

CtView ct_ir_local(CtIr *ir, const char *name, CtDtype dtype, CtLayout layout) {
  CtView view = ct_ir_fragment(ir, name, dtype, layout);
  if (!ir->failed) {
    ir->bufs[view.buf].is_local = true;
  }
  return view;
}

/* The buffer of these elements; 0: there is none. */
static uint32_t find_constant(const CtIr *ir, const CtBuf *like, const void *data) {
  for (uint32_t i = 1; i < ir->n_bufs; i++) {
    const CtBuf *b = &ir->bufs[i];
    if (b->space == CT_CONSTANT && b->alias_of == 0 && b->data != NULL && b->dtype == like->dtype &&
        b->n_elems.v == like->n_elems.v && ct_layout_equal(b->layout, like->layout) &&
        memcmp(b->data, data, ct_dense_bytes(b->dtype, (size_t)b->n_elems.v)) == 0) {
      return i;
    }
  }
  return 0;
}

/* The elements as they lie in memory; NULL: no memory. */
static void *lay_out(CtIr *ir, CtDtype dtype, CtLayout layout, int64_t n, const void *elements) {
  CtWalk walk;
  CtErr err;
  size_t bytes = 0;
  void *data = ct_dense_fits(dtype, n, &bytes) ? ct_arena_alloc(&ir->arena, bytes + 1) : NULL;
  if (data == NULL || ct_walk_init(&walk, &ir->arena, layout, &err) != CT_OK) {
    ir->failed = true;
    return NULL;
  }
  ct_walk_scatter(&walk, ct_value_bytes(dtype), data, elements);
  return data;
}

CtView ct_ir_constant(CtIr *ir, CtDtype dtype, CtLayout layout, const void *elements) {
  CtComposed l = ct_composed_plain(layout);
  CtView view = declare(ir, CT_CONSTANT, NULL, dtype, &l);
  if (ir->failed) {
    return view;
  }
  CtBuf *buf = &ir->bufs[view.buf];
  void *data = lay_out(ir, dtype, layout, buf->n_elems.v, elements);
  if (data != NULL) {
    uint32_t same = find_constant(ir, buf, data);
    ir->n_bufs -= same != 0; /* the newest one is not needed */
    view.buf = same != 0 ? same : view.buf;
    ir->bufs[view.buf].data = data;
  }
  return view;
}

int64_t ct_ir_constant_bytes(const CtIr *ir) {
  int64_t bytes = 0;
  for (uint32_t i = 1; i < ir->n_bufs; i++) {
    const CtBuf *b = &ir->bufs[i];
    bool counts = b->space == CT_CONSTANT && b->alias_of == 0;
    int64_t own = counts ? (int64_t)ct_dense_bytes(b->dtype, (size_t)b->n_elems.v) : 0;
    bytes = ct_ceildiv(bytes, SHARED_ALIGN) * SHARED_ALIGN + own;
  }
  return bytes;
}

int64_t ct_ir_shared_offset(const CtIr *ir, uint32_t buf) {
  int64_t at = 0;
  buf = buf < ir->n_bufs ? ct_ir_memory(ir, buf) : buf;
  for (uint32_t i = 1; i < ir->n_bufs && (i != buf || i == ir->smem_buf); i++) {
    const CtBuf *b = &ir->bufs[i];
    if (b->space == CT_SHARED && i != ir->smem_buf && b->alias_of == 0) {
      int64_t bytes = ct_dtype_span(b->dtype, b->n_elems.v);
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
