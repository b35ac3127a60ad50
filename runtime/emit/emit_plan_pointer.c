/* emit_plan_pointer.c: decides which offsets get a pointer of their own. */
#include "emit.h"

static CtEmitPtr *add_ptr(CtEmit *e, uint32_t buf, CtVal v) {
  CtEmitPtr *p = ct_emit_find_ptr(e, buf, v);
  if (p == NULL) {
    p = ct_arena_alloc(&e->arena, sizeof *p);
    if (p == NULL) {
      ct_emit_fail(e, e->ir->loc, CT_ENOMEM, "out of memory");
      return NULL;
    }
    p->buf = buf;
    CtEmitPtr **end = &e->vals[v].ptrs;
    while (*end != NULL) {
      end = &(*end)->next;
    }
    *end = p;
  }
  return p;
}

/* Is the buffer there where v is made? */
static bool is_there(const CtEmit *e, uint32_t buf, CtVal v) {
  CtVal begins = e->ir->bufs[buf].begins;
  return begins == 0 || e->vals[v].pos > e->vals[begins].pos;
}

/* For an offset x + y made inside a loop, with x from outside: the pointer starts from a pointer
   for x, declared where x was made. We also use such a pointer if it exists for another reason. */
static void find_base(CtEmit *e, CtEmitPtr *p, CtVal v) {
  const CtInst *sum = ct_inst(e->ir, v);
  if (sum->op != CT_OP_ADD || !ct_emit_is_exact(e->ir, v)) {
    return;
  }
  for (int i = 0; i < 2 && p->base == NULL; i++) {
    CtVal x = sum->args[i];
    if (ct_emit_is_leaf(e->ir, x) || !is_there(e, p->buf, x)) {
      continue;
    }
    bool outside =
        ct_inst(e->ir, x)->op != CT_OP_FOR && ct_emit_loop_of(e, x) != ct_emit_loop_of(e, v);
    CtEmitPtr *base = outside ? add_ptr(e, p->buf, x) : ct_emit_find_ptr(e, p->buf, x);
    if (base != NULL) {
      p->base = base;
      p->addend = sum->args[1 - i];
      base->wanted = base->wanted == NULL ? p->wanted : base->wanted;
      base->is_written = base->is_written || p->is_written;
    }
  }
}

static void collect_view(void *ud, const CtView *view, bool is_written) {
  CtEmit *e = ud;
  int64_t plus;
  CtVal v = ct_emit_split_offset(e->ir, view->offset, &plus);
  ct_emit_use_buf(e, view->buf);
  const CtBuf *buf = &e->ir->bufs[view->buf];
  if (buf->space == CT_REGISTER || buf->space == CT_TENSOR || ct_buf_is_swizzled(buf) || v == 0 ||
      ct_emit_is_leaf(e->ir, v) || !is_there(e, view->buf, v)) {
    return;
  }
  CtEmitPtr *p = add_ptr(e, view->buf, v);
  if (p != NULL) {
    p->is_written = p->is_written || is_written;
    p->wanted = p->wanted == NULL ? view->name : p->wanted;
  }
}

/* Walks backwards, so that it reaches an added base later. */
void ct_emit_plan_pointers(CtEmit *e) {
  for (uint32_t i = 1; i < e->n_order; i++) {
    ct_ir_each_view(ct_inst(e->ir, e->order[i]), collect_view, e);
  }
  for (uint32_t i = e->n_order; i-- > 1;) {
    for (CtEmitPtr *p = e->vals[e->order[i]].ptrs; p != NULL; p = p->next) {
      find_base(e, p, e->order[i]);
    }
  }
}
