/* front_tensor.c: a local that holds one tensor or another by path of the kernel. If the tensors differ in their offset
   only, the local is a variable of the kernel for the offset: its Box is a BOX_VAR with the first tensor as BOX_VALUE.
   A trace learns of it when the local is assigned under a condition (front_learn.c), and with it of the power of two
   that all offsets are multiples of. So accesses through the local are as wide as through each of the tensors. */
#include <lauxlib.h>

#include "interp/state/diag.h"
#include "interp/tensor/tensor.h"
#include "front_parts.h"

enum { UNIT_BITS = 7 }; /* more alignment than this many bits of elements needs nobody */

static bool is_kind(LearntKind kind) { return kind >= LEARNT_TENSOR; }

static int64_t unit_of(LearntKind kind) {
  return (int64_t)1 << (UNIT_BITS - (kind - LEARNT_TENSOR));
}

static LearntKind kind_of(int64_t unit) {
  int bits = 0;
  while (bits < UNIT_BITS && unit % ((int64_t)2 << bits) == 0) {
    bits++;
  }
  return (LearntKind)(LEARNT_TENSOR + UNIT_BITS - bits);
}

/* What is in the way of a variable for the tensor; NULL: nothing is. */
static const char *obstacle(const Front *f, const Tensor *t) {
  const CtBuf *buf = &f->ir->bufs[t->buf];
  if (t->at != NULL) {
    return "a tensor of coordinates has none";
  }
  if (t->guard != NULL || t->is_guarded) {
    return "of a guarded tensor its bounds would change, too";
  }
  return buf->space == CT_REGISTER && !buf->is_local ? "registers have no addresses" : NULL;
}

/* What else than the offset differs; NULL: nothing does. */
static const char *difference(const Tensor *a, const Tensor *b) {
  if (a->buf != b->buf) {
    return "in memory";
  }
  return ct_layout_equal(a->layout, b->layout) ? NULL : "in layout";
}

static int64_t multiple_of(const Front *f, const Tensor *t) {
  int64_t div = ct_ir_facts(f->ir, t->offset).div;
  return div == 0 ? (int64_t)1 << UNIT_BITS : div;
}

/* What was learnt is that of all locals of this name and line, as of a helper that is called twice. */
bool front_is_carried(lua_State *L, const Front *f, uint64_t number, int value) {
  const Tensor *t = tensor_test(L, value);
  LearntKind kind = front_learnt_kind(L, number);
  return t != NULL && t->in_kernel && is_kind(kind) && obstacle(f, t) == NULL &&
         multiple_of(f, t) % unit_of(kind) == 0;
}

void front_refuse_tensor(lua_State *L, Front *f, int x, int old, int value) {
  const Box *box = lua_touserdata(L, x);
  const Tensor *a = tensor_test(L, old), *b = tensor_test(L, value);
  const char *why = difference(a, b);
  if (why == NULL) {
    why = obstacle(f, a);
  } else {
    why = lua_pushfstring(L, "the two differ %s", why);
  }
  if (why == NULL) {
    int64_t unit = multiple_of(f, a) | multiple_of(f, b);
    front_learn_kind(L, f, box_number(L, box, x), kind_of(unit & -unit));
    why = "the kernel is traced again";
  }
  front_refuse(L,
               "'%s' holds a tensor and is given another one under a run-time condition; only the "
               "offset of a tensor may depend on it, but %s. Carry the slot, a number, and slice "
               "where you use it: t(_, _, slot)",
               box_name(L, x), why);
}

/* The tensor's offset in the type of its memory's offsets, before `op` (0: here). */
static CtVal offset_of(Front *f, const Tensor *t, CtVal op) {
  CtDtype type = f->ir->bufs[t->buf].is_wide ? CT_i64 : CT_i32;
  return ct_is_static(t->offset) ? ct_ir_const_int(f->ir, type, t->offset.v)
                                 : ct_ir_cast_before(f->ir, t->offset.id, type, op);
}

void box_begin_tensor(lua_State *L, Front *f, int idx, int value, CtVal op) {
  Box *box = lua_touserdata(L, idx);
  const Tensor *t = tensor_test(L, value);
  front_touch_state(f, box->born);
  CtVal first = offset_of(f, t, op);
  box->kind = BOX_VAR;
  box->is_tensor = true;
  box->unit = unit_of(front_learnt_kind(L, box_number(L, box, idx)));
  box->var = ct_ir_var(f->ir, (CtDtype)ct_inst(f->ir, first)->type, box_name(L, idx));
  ct_ir_set_before(f->ir, box->var, first, op);
  lua_pushvalue(L, value);
  lua_setiuservalue(L, idx, BOX_VALUE);
}

void box_load_tensor(lua_State *L, Front *f, int idx) {
  const Box *box = lua_touserdata(L, idx);
  CtVal offset = ct_ir_get(f->ir, box->var);
  if (box->unit > 1) { /* which says so to whoever asks */
    CtDtype type = (CtDtype)ct_inst(f->ir, offset)->type;
    offset = ct_ir_binary(f->ir, CT_OP_AND, offset, ct_ir_const_int(f->ir, type, -box->unit));
  }
  lua_getiuservalue(L, idx, BOX_VALUE);
  const Tensor *first = tensor_test(L, -1);
  tensor_push_part(L, first, first->layout, ct_ir_int(f->ir, offset), NULL)->within = NULL;
  lua_remove(L, -2);
}

void box_store_tensor(lua_State *L, Front *f, int idx, int value) {
  const Box *box = lua_touserdata(L, idx);
  const Tensor *t = tensor_test(L, value);
  lua_getiuservalue(L, idx, BOX_VALUE);
  const Tensor *first = tensor_test(L, -1);
  if (t == NULL) {
    front_refuse(L, "'%s' holds a tensor and is given %s under a run-time condition",
                 box_name(L, idx), diag_push_kind(L, value));
  }
  if (difference(first, t) != NULL || obstacle(f, t) != NULL || multiple_of(f, t) % box->unit) {
    front_refuse_tensor(L, f, idx, lua_gettop(L), value);
  }
  lua_pop(L, 1);
  front_at(L, f);
  ct_ir_set(f->ir, box->var,
            ct_ir_cast(f->ir, offset_of(f, t, 0), (CtDtype)ct_inst(f->ir, box->var)->type));
}
