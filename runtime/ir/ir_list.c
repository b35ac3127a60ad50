/* ir_list.c: global tensors whose place is known only at run time: the members of a list, and those at an
   address. Each stands on a buffer of its own (CtBuf.chosen), from the TENSOR_AT that records where it
   begins (ct_ir_chosen). */
#include <stdio.h>
#include <string.h>

#include "ir_build.h"
#include "runtime/layout/tuple_leaves.h"

enum { ADDRESS_ALIGN = 8 }; /* bytes, of the table */

/* --- the table ------------------------------------------------------------------------------------------ */

static int count_dynamic(CtTuple t) {
  int n = 0;
  for (CtLeaves w = ct_leaves_of(t); ct_next_leaf(&w);) {
    n += w.shape->i.kind == CT_DYNAMIC;
  }
  return n;
}

int ct_ir_list_columns(const CtTensorSpec *members) {
  return 1 + count_dynamic(members->shape) + count_dynamic(members->stride);
}

static void *keep(CtIr *ir, const void *items, size_t bytes) {
  void *copy = ct_arena_alloc(&ir->arena, bytes + 1);
  ir->failed = ir->failed || copy == NULL;
  return copy == NULL || bytes == 0 ? copy : memcpy(copy, items, bytes);
}

/* A copy whose dynamic leaves have the numbers of their columns. */
static CtTuple number_columns(CtIr *ir, CtTuple t, uint32_t *column) {
  CtNode *nodes = keep(ir, t, t->len * sizeof *nodes);
  for (uint32_t i = 0; nodes != NULL && i < t->len; i++) {
    if (nodes[i].rank == CT_LEAF && nodes[i].i.kind == CT_DYNAMIC) {
      nodes[i].i.id = (*column)++;
    }
  }
  return nodes;
}

static const CtTensorSpec *keep_members(CtIr *ir, const CtTensorSpec *spec) {
  CtTensorSpec *copy = keep(ir, spec, sizeof *spec);
  uint32_t column = 1;
  if (copy != NULL) {
    copy->name = ct_ir_intern(ir, spec->name);
    copy->shape = number_columns(ir, spec->shape, &column);
    copy->stride = number_columns(ir, spec->stride, &column);
    copy->facts = keep(ir, spec->facts, (column - 1) * sizeof *spec->facts);
  }
  return copy;
}

CtView ct_ir_list(CtIr *ir, const CtTensorSpec *spec) {
  int64_t columns = ct_ir_list_columns(spec);
  CtNode shape[] = {
      {.rank = 2, .len = 3}, {.rank = CT_LEAF, .len = 1}, {.rank = CT_LEAF, .len = 1}};
  CtNode stride[] = {
      {.rank = 2, .len = 3}, {.rank = CT_LEAF, .len = 1}, {.rank = CT_LEAF, .len = 1}};
  shape[1].i = stride[2].i = ct_int(columns);
  shape[2].i = (CtInt){.kind = CT_DYNAMIC};
  stride[1].i = ct_int(1);
  const CtFacts facts = {1, INT32_MAX / columns, 1};
  CtView table = ct_ir_tensor(ir, &(CtTensorSpec){.name = spec->name,
                                                  .dtype = CT_i64,
                                                  .index = CT_i32,
                                                  .align = ADDRESS_ALIGN,
                                                  .shape = shape,
                                                  .stride = stride,
                                                  .facts = &facts});
  const CtTensorSpec *members = ir->failed ? NULL : keep_members(ir, spec);
  if (!ir->failed) {
    ir->bufs[table.buf].members = members;
  }
  return table;
}

CtVal ct_ir_list_size(CtIr *ir, uint32_t table) {
  return ct_ir_val(ir, ct_child(ir->bufs[table].layout.shape, 1)->i, CT_i32);
}

/* --- tensors ---------------------------------------------------------------------------------------------- */

/* "l_shape0", "l_stride1": as those of a tensor. */
static void name_leaf(CtIr *ir, CtVal v, uint32_t table, bool is_extent, uint32_t leaf) {
  char text[128];
  snprintf(text, sizeof text, "%.100s_%s%u", ir->bufs[table].name, is_extent ? "shape" : "stride",
           leaf);
  ct_ir_name(ir, v, ct_ir_intern(ir, text));
}

/* What the table says of a dynamic leaf. */
static CtVal load_leaf(CtIr *ir, uint32_t table, CtVal row, uint32_t column) {
  const CtTensorSpec *of = ir->bufs[table].members;
  CtVal at = ct_ir_binary(ir, CT_OP_ADD, row, ct_ir_const_int(ir, CT_i32, column));
  CtVal v = ct_ir_load(ir, table, at);
  v = of->index == CT_i32 ? ct_ir_cast(ir, v, CT_i32) : v;
  if (!ir->failed) {
    ir->insts[v].facts = of->facts[column - 1];
  }
  return v;
}

static CtTuple load_leaves(CtIr *ir, uint32_t table, CtVal row, CtTuple t, bool is_extent) {
  CtNode *nodes = keep(ir, t, t->len * sizeof *nodes);
  uint32_t leaf = 0;
  for (uint32_t i = 0; nodes != NULL && i < t->len && !ir->failed; i++) {
    if (nodes[i].rank == CT_LEAF && nodes[i].i.kind == CT_DYNAMIC) {
      nodes[i].i.id = load_leaf(ir, table, row, nodes[i].i.id);
      name_leaf(ir, nodes[i].i.id, table, is_extent, leaf);
    }
    leaf += nodes[i].rank == CT_LEAF;
  }
  return nodes;
}

/* x of x + 1 itself; blockIdx.x + 1 is a usual index. */
CtVal ct_ir_list_row(CtIr *ir, CtVal index) {
  const CtInst *sum = ct_inst(ir, index), *one = ct_inst(ir, sum->args[1]);
  bool is_next = sum->op == CT_OP_ADD && one->op == CT_OP_CONST && one->imm.i == 1;
  return is_next ? sum->args[0]
                 : ct_ir_binary(ir, CT_OP_SUB, index, ct_ir_const_int(ir, CT_i32, 1));
}

CtView ct_ir_list_member(CtIr *ir, uint32_t table, CtVal row) {
  const CtTensorSpec *of = ir->bufs[table].members;
  CtVal first = ct_ir_const_int(ir, CT_i32, ct_ir_list_columns(of));
  row = ct_ir_binary(ir, CT_OP_MUL, row, first);
  uint32_t known = ir->failed ? 0 : ct_ir_find_chosen(ir, table, row, of->dtype);
  if (known != 0) {
    const CtBuf *b = &ir->bufs[known];
    return (CtView){.buf = known, .offset = ct_int(0), .layout = b->layout, .name = b->name};
  }
  CtTuple shape = load_leaves(ir, table, row, of->shape, true);
  CtTuple stride = load_leaves(ir, table, row, of->stride, false);
  return ct_ir_chosen(ir,
                      (CtBuf){.dtype = of->dtype,
                              .align = of->align,
                              .is_wide = of->index == CT_i64,
                              .layout = {shape, stride},
                              .list = table},
                      row);
}

CtView ct_ir_tensor_at(CtIr *ir, const CtTensorSpec *spec, CtVal address) {
  CtLayout layout = {keep(ir, spec->shape, spec->shape->len * sizeof *spec->shape),
                     keep(ir, spec->stride, spec->stride->len * sizeof *spec->stride)};
  ir->has_addresses = true;
  return ct_ir_chosen(ir,
                      (CtBuf){.name = spec->name,
                              .dtype = spec->dtype,
                              .align = spec->align,
                              .is_wide = spec->index == CT_i64,
                              .layout = layout},
                      address);
}

bool ct_ir_writes_at(const CtIr *ir) {
  bool writes = false;
  for (size_t i = 1; i < ir->n_bufs && ir->has_addresses && !writes; i++) {
    writes = ir->bufs[i].chosen != 0 && ir->bufs[i].list == 0 && ir->bufs[i].is_written;
  }
  return writes;
}
