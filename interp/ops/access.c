/* access.c: how bindings reach the tensors of a kernel: views, coordinates, elements; and what
   tiles and partitions require of each launch. */
#include "access.h"

#include "guard.h"
#include "interp/algebra/bind.h"
#include "interp/state/diag.h"
#include "interp/trace/front.h"
#include "interp/trace/value.h"

CtTuple access_coordinate(lua_State *L, const Tensor *t, CtTuple crd) {
  if (!t->in_kernel || t->at != NULL) {
    return crd;
  }
  CtTuple wide = ct_ir_coordinate(front_ir(L), t->buf, crd);
  if (wide == NULL) {
    luaL_error(L, "not enough memory");
  }
  return wide;
}

static const char *layout_text(const CtCx *cx, const Tensor *t) {
  CtComposed l = tensor_layout(t);
  return bind_composed_text(cx, &l);
}

CtVal access_offset(lua_State *L, const Tensor *t, CtTuple crd, const char *verb) {
  CtIr *ir = front_ir(L);
  CtVal offset;
  CtErr err;
  const CtBuf *buf = &ir->bufs[t->buf];
  if (buf->space == CT_TENSOR) {
    diag_error(L,
               "%s %s: elements of tensor memory are not reached one by one; copy them to a "
               "fragment, as copy(tmem_copy(\"SM100_TMEM_LOAD_32dp32b32x\", acc), src, dst)",
               verb, t->name != NULL ? t->name : "a tensor");
  }
  tensor_within_element(L, t, crd);
  if (ct_ir_offset(ir, tensor_view(t), crd, &offset, &err) != CT_OK) {
    diag_error(L, "%s %s: %s", verb, t->name != NULL ? t->name : "a tensor", err.msg);
  }
  const CtInst *inst = ct_inst(ir, offset);
  if (buf->space != CT_GLOBAL && inst->op == CT_OP_CONST &&
      (inst->imm.i < 0 || inst->imm.i >= buf->n_elems.v)) {
    CtCx cx = ct_ir_cx(ir);
    diag_error(L, "%s %s: coordinate %s is outside its memory; the layout is %s", verb,
               t->name != NULL ? t->name : "a tensor", bind_tuple_text(&cx, crd),
               layout_text(&cx, t));
  }
  return offset;
}

static void fail_unknown(lua_State *L, const CtRequire *r) {
  if (r->most != 0) {
    diag_error(L,
               "%s: mode %s of %s has an extent that is known only at run time, so it may "
               "exceed %I, the limit for a %s; choose a smaller one",
               r->op, r->mode, r->name, (LUAI_UACINT)r->most, r->divisor);
  }
  diag_error(L,
             "%s: mode %s of %s has an extent that is known only at run time, so it may "
             "not be a multiple of the %s's %I; write guard(%s)",
             r->op, r->mode, r->name, r->divisor, (LUAI_UACINT)r->modulus, r->name);
}

void access_require(lua_State *L, CtInt extent, CtRequire r) {
  CtIr *ir = front_here(L, r.op);
  CtFacts facts = ct_ir_facts(ir, extent);
  if (ct_is_static(extent)) {
    diag_try(L, ct_require_check(&r, extent.v, diag_err(L)));
  } else if (facts.div % r.modulus != 0 || (r.most != 0 && facts.hi > r.most)) {
    int64_t sample;
    if (ct_ir_eval(ir, extent.id, ir->samples, &sample, NULL) != CT_OK) {
      fail_unknown(L, &r);
    }
    r.value = extent.id;
    ct_ir_require(ir, r);
  }
}

bool access_is_wide(lua_State *L, const Tensor *t) {
  const CtIr *ir = front_ir(L);
  return ir != NULL && ir->bufs[ct_ir_memory(ir, t->buf)].is_wide;
}

/* Is this within a run-time if, which some of the block's threads may skip? */
static bool is_under_if(const CtIr *ir) {
  CtVal owner = ir->regions[ir->cur].owner;
  while (owner != 0 && ct_inst(ir, owner)->op != CT_OP_IF) {
    owner = ir->regions[ct_inst(ir, owner)->region].owner;
  }
  return owner != 0;
}

void access_check_threads(lua_State *L, CtLayout thr, CtInt index) {
  CtIr *ir = front_here(L, "parallelize");
  CtCx cx = bind_cx(L);
  CtInt n;
  int64_t block = ir->block[0] * ir->block[1] * ir->block[2];
  diag_try(L, ct_size(&cx, thr, &n, diag_err(L)));
  bool is_role = n.kind == CT_STATIC && n.v < block && is_under_if(ir);
  if (!ct_is_const(n, block) && !is_role && ct_ir_is_thread_number(ir, index)) {
    diag_error(L,
               "parallelize: thread layout %s has %I threads but the block has %I; both must "
               "be equal, unless a run-time 'if' chooses a part of the block, or the index is one "
               "such as threadIdx.x %% %I",
               bind_layout_text(&cx, thr), (LUAI_UACINT)n.v, (LUAI_UACINT)block, (LUAI_UACINT)n.v);
  }
}

CtView access_view(lua_State *L, int idx, const char *op) {
  const Tensor *t = tensor_check_live(L, idx, op);
  tensor_check_memory(L, idx, op);
  if (!t->in_kernel) {
    diag_error(L, "%s: %s is a tensor of the host; pass it to the kernel as an argument", op,
               tensor_push_title(L, idx));
  }
  return tensor_view(t);
}

void access_load(lua_State *L, const Tensor *t, CtTuple crd) {
  CtIr *ir = front_here(L, "a kernel's tensor");
  GuardedAccess a;
  CtVal v = 0;
  if (guard_open(L, t, crd, t->dtype, &a)) {
    v = ct_ir_load(ir, t->buf, access_offset(L, t, crd, "read of"));
  }
  value_push(L, guard_close(L, &a, v));
}

void access_store(lua_State *L, const Tensor *t, CtTuple crd, int value_idx) {
  CtIr *ir = front_here(L, "a kernel's tensor");
  const char *what = lua_pushfstring(L, "store to %s", t->name != NULL ? t->name : "a tensor");
  CtVal value = value_to(L, value_idx, t->dtype, what);
  GuardedAccess a;
  diag_try(L, ct_ir_check_writable(ir, "a store", tensor_view(t), diag_err(L)));
  if (guard_open(L, t, crd, CT_VOID, &a)) {
    ct_ir_store(ir, t->buf, access_offset(L, t, crd, "store to"), value);
  }
  (void)guard_close(L, &a, 0);
}
