/* ir_within.c: coordinates that must lie within the extents of their modes, for `check`.

   An offset outside a mode's extent may still lie inside the buffer: the next column is read. So a trace that is
   checked (CtIr.is_checked) keeps, with each view, the coordinates that it was cut out by, and records a WITHIN
   for each of them before an access, and for the coordinate of an element. What is known to hold is left out,
   and so is what an earlier WITHIN of the same buffer has told already. Other traces have none. */
#include "ir_build.h"

const CtWithin *ct_ir_within_add(CtIr *ir, const CtWithin *list, CtInt crd, CtInt extent,
                                 const char *what) {
  CtWithin *w = ct_arena_alloc(&ir->arena, sizeof *w);
  if (w == NULL) {
    ir->failed = true;
    return list;
  }
  *w = (CtWithin){list, crd, extent, ct_ir_intern(ir, what)};
  return w;
}

/* The variable of a loop that begins at 0 or above and ends at the extent? */
static bool is_loop_over(const CtIr *ir, CtVal crd, CtInt extent) {
  const CtInst *loop = ct_inst(ir, crd);
  return loop->op == CT_OP_FOR && extent.kind == CT_DYNAMIC && loop->args[1] == extent.id &&
         loop->facts.lo >= 0 && ct_inst(ir, loop->args[2])->facts.lo > 0;
}

bool ct_ir_is_within(const CtIr *ir, CtInt crd, CtInt extent) {
  CtFacts c = ct_ir_facts(ir, crd), n = ct_ir_facts(ir, extent);
  return crd.kind == CT_ANY || extent.kind == CT_ANY || (c.lo >= 0 && c.hi < n.lo) ||
         (crd.kind == CT_DYNAMIC && is_loop_over(ir, crd.id, extent));
}

static CtDtype type_of(const CtIr *ir, CtInt i) {
  return i.kind == CT_DYNAMIC           ? (CtDtype)ct_inst(ir, i.id)->type
         : i.v == (int64_t)(int32_t)i.v ? CT_i32
                                        : CT_i64;
}

static CtVal val_of(CtIr *ir, CtInt i, CtDtype type) {
  return i.kind == CT_DYNAMIC ? ct_ir_cast(ir, i.id, type) : ct_ir_const_int(ir, type, i.v);
}

void ct_ir_within(CtIr *ir, uint32_t buf, CtInt crd, CtInt extent, const char *what) {
  if (ct_ir_is_within(ir, crd, extent)) {
    return;
  }
  bool is_narrow = type_of(ir, crd) == CT_i32 && type_of(ir, extent) == CT_i32;
  CtDtype type = is_narrow ? CT_i32 : CT_i64;
  CtInst key = {.op = CT_OP_WITHIN, .type = CT_VOID, .imm = {.i = buf}};
  key.args[0] = val_of(ir, crd, type);
  key.args[1] = val_of(ir, extent, type);
  CtVal v = ct_ir_shared_inst(ir, &key);
  if (v != 0 && ir->insts[v].u.escape == NULL) {
    CtEscape *e = ct_arena_alloc(&ir->arena, sizeof *e);
    ir->failed = ir->failed || e == NULL;
    if (e != NULL) {
      *e = (CtEscape){.text = ct_ir_intern(ir, what)};
      ir->insts[v].u.escape = e;
    }
  }
}

/* The value where the view's guard leaves anything inside, else the other one: then nothing is accessed. */
static CtInt where_inside(CtIr *ir, const CtView *v, CtInt i, int64_t otherwise) {
  CtDtype type = type_of(ir, i);
  CtVal none = ct_ir_const_int(ir, type, otherwise), all = val_of(ir, i, type);
  for (int axis = 0; axis < ct_guard_n(v); axis++) {
    const CtGuardAxis *a = &v->guard->axis[axis];
    CtVal some =
        ct_ir_binary(ir, CT_OP_LT, val_of(ir, a->at, CT_i64), val_of(ir, a->bound, CT_i64));
    all = ct_ir_select(ir, some, all, none);
  }
  return (CtInt){.kind = CT_DYNAMIC, .id = all};
}

void ct_ir_within_view(CtIr *ir, const CtView *v) {
  for (const CtWithin *w = v->buf == 0 ? NULL : v->within; w != NULL; w = w->next) {
    CtInt crd = w->crd, extent = w->extent;
    if (ct_ir_is_within(ir, crd, extent)) {
      continue;
    }
    if (ct_guard_n(v) > 0) {
      crd = where_inside(ir, v, crd, 0);
      extent = where_inside(ir, v, extent, 1);
    }
    ct_ir_within(ir, v->buf, crd, extent, w->what);
  }
}
