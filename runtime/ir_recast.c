/* ir_recast.c: the same memory as elements of another type. The view stands on a buffer of its own that
   says whose memory it is (CtBuf.alias_of), so that an element's type is its buffer's everywhere. */
#include <string.h>

#include "ir_build.h"

uint32_t ct_ir_memory(const CtIr *ir, uint32_t buf) {
  return ir->bufs[buf].alias_of != 0 ? ir->bufs[buf].alias_of : buf;
}

static CtStatus fail(const CtIr *ir, CtView v, CtDtype t, const char *why, CtErr *err) {
  const CtBuf *buf = &ir->bufs[v.buf];
  const char *name = v.name != NULL ? v.name : buf->name;
  return ct_fail(err, CT_EINVAL, "recast: %s of %s as %s: %s", name != NULL ? name : "a tensor",
                 ct_dtypes[buf->dtype].name, ct_dtypes[t].name, why);
}

/* The buffer of memory `root` as elements of type t: root itself, an earlier alias or a new one. */
static uint32_t alias_of(CtIr *ir, uint32_t root, CtDtype t) {
  const CtBuf *of = &ir->bufs[root];
  if (of->dtype == t) {
    return root;
  }
  for (uint32_t i = 1; i < ir->n_bufs; i++) {
    if (ir->bufs[i].alias_of == root && ir->bufs[i].dtype == t) {
      return i;
    }
  }
  CtBuf buf = *of;
  buf.dtype = t;
  buf.alias_of = root;
  buf.name = NULL;
  buf.layout.shape = ct_leaf(&ir->arena, (CtInt){.kind = CT_ANY}); /* nobody's coordinates */
  buf.layout.stride = ct_leaf(&ir->arena, ct_int(1));
  if (buf.layout.shape == NULL || buf.layout.stride == NULL) {
    ir->failed = true;
    return root;
  }
  if (buf.n_elems.kind == CT_STATIC) {
    buf.n_elems.v = buf.n_elems.v * ct_dtypes[of->dtype].bits / ct_dtypes[t].bits;
  }
  return ct_ir_new_buf(ir, &buf);
}

/* Elements from the start, in the other type; NULL, or why that is not known to be a whole number. */
static const char *recast_offset(CtIr *ir, CtView v, int from, int to, CtInt *out, CtErr *err) {
  CtCx cx = ct_ir_cx(ir);
  CtInt n = ct_int(to > from ? to / from : from / to);
  if (to <= from) {
    return ct_int_op(&cx, CT_INT_MUL, v.offset, n, out, err) == CT_OK ? NULL : err->msg;
  }
  if (ct_ir_facts(ir, v.offset).div % n.v != 0) {
    return "it does not begin at a multiple of the larger element for certain";
  }
  return ct_int_op(&cx, CT_INT_DIV, v.offset, n, out, err) == CT_OK ? NULL : err->msg;
}

CtStatus ct_ir_recast(CtIr *ir, CtView v, CtDtype t, CtView *out, CtErr *err) {
  const CtBuf *buf = &ir->bufs[v.buf];
  int from = ct_dtypes[buf->dtype].bits, to = ct_dtypes[t].bits;
  CtCx cx = ct_ir_cx(ir);
  *out = v;
  if (buf->space == CT_REGISTER) {
    return fail(ir, v, t, "registers have no addresses; use bitcast on an element", err);
  }
  if (t == CT_bool || buf->dtype == CT_bool) {
    return fail(ir, v, t, "a bool has no other bits than 0 and 1", err);
  }
  CT_ASSERT(v.guard == NULL); /* says what lies inside by coordinates of its own elements */
  const char *why = recast_offset(ir, v, from, to, &out->offset, err);
  if (why == NULL && to > from && ct_ir_view_align(ir, v) < (size_t)ct_min(to / 8, 16)) {
    why = "its address is not known to be aligned for the larger element";
  }
  if (why != NULL) {
    return fail(ir, v, t, why, err);
  }
  CtStatus status = ct_recast(&cx, v.layout, from, to, &out->layout, err);
  out->buf = alias_of(ir, ct_ir_memory(ir, v.buf), t);
  return status == CT_OK && ir->failed ? ct_fail_nomem(err) : status;
}
