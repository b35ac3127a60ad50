/* tensor_within.c: what coordinates of tensors are asked to keep to, in traces that are checked
   (runtime/ir/ir_within.c). Of guarded tensors nothing is asked: what lies outside is left out. Modes of
   stride 0 are broadcast: any coordinate has the same element. */
#include <lauxlib.h>

#include "interp/algebra/bind.h"
#include "interp/trace/front.h"
#include "tensor.h"

/* The coordinate of a layout's part, and what messages call the part. */
typedef struct Part {
  CtTuple crd, shape, stride;
  int path[CT_MAX_DEPTH];
  int depth;
} Part;

typedef void (*Note)(lua_State *L, CtIr *ir, void *ud, CtInt crd, CtInt extent, const char *what);

static bool is_broadcast(CtTuple stride) {
  for (uint32_t i = 0; i < stride->len; i++) {
    if (stride[i].rank == CT_LEAF && !ct_is_const(stride[i].i, 0)) {
      return false;
    }
  }
  return true;
}

static const char *name_of(const Tensor *t) { return t->name != NULL ? t->name : "the tensor"; }

/* Pushes "in mode 1 of x", "in mode (0,1) of x", or of the whole coordinate "of x". */
static const char *push_what(lua_State *L, const Tensor *t, const Part *p) {
  luaL_Buffer b;
  if (p->depth == 0) {
    return lua_pushfstring(L, "of %s", name_of(t));
  }
  luaL_buffinit(L, &b);
  luaL_addstring(&b, p->depth == 1 ? "in mode " : "in mode (");
  for (int i = 0; i < p->depth; i++) {
    lua_pushfstring(L, i > 0 ? ",%d" : "%d", p->path[i]);
    luaL_addvalue(&b);
  }
  luaL_addstring(&b, p->depth == 1 ? " of " : ") of ");
  luaL_addstring(&b, name_of(t));
  luaL_pushresult(&b);
  return lua_tostring(L, -1);
}

/* Calls the function for each integer of a coordinate. What has another nesting is left to the algebra. */
static void each_integer(lua_State *L, CtIr *ir, const Tensor *t, Part p, Note note, void *ud) {
  if (!ct_is_leaf(p.crd)) {
    if (ct_is_leaf(p.shape) || p.crd->rank != p.shape->rank || p.depth == CT_MAX_DEPTH) {
      return;
    }
    for (int i = 0; i < p.crd->rank; i++) {
      Part inner = p;
      inner.crd = ct_child(p.crd, i);
      inner.shape = ct_child(p.shape, i);
      inner.stride = ct_child(p.stride, i);
      inner.path[inner.depth++] = i;
      each_integer(L, ir, t, inner, note, ud);
    }
    return;
  }
  CtCx cx = ct_ir_cx(ir);
  CtInt extent;
  CtErr err;
  if (p.crd->i.kind != CT_ANY && !is_broadcast(p.stride) &&
      ct_product(&cx, p.shape, &extent, &err) == CT_OK) {
    note(L, ir, ud, p.crd->i, extent, push_what(L, t, &p));
    lua_pop(L, 1);
  }
}

static bool is_asked(const CtIr *ir, const Tensor *t) {
  return ir != NULL && ir->is_checked && t->in_kernel && t->at == NULL && !t->is_guarded;
}

/* The whole of a buffer with one mode: its bounds say it. */
static bool is_whole_line(const CtIr *ir, const Tensor *t) {
  const CtBuf *buf = &ir->bufs[t->buf];
  return t->within == NULL && ct_is_leaf(t->layout.shape) && ct_is_const(t->offset, 0) &&
         ct_is_leaf(buf->layout.shape) && ct_int_equal(buf->layout.shape->i, t->layout.shape->i);
}

static void note_now(lua_State *L, CtIr *ir, void *ud, CtInt crd, CtInt extent, const char *what) {
  const Tensor *t = ud;
  (void)L;
  ct_ir_within(ir, t->buf, crd, extent, what);
}

void tensor_within_element(lua_State *L, const Tensor *t, CtTuple crd) {
  CtIr *ir = front_ir(L);
  if (ir == NULL || !ir->is_checked) {
    return;
  }
  CtView view = tensor_view(t);
  ct_ir_within_view(ir, &view);
  if (is_asked(ir, t) && !is_whole_line(ir, t)) {
    Tensor own = *t;
    each_integer(L, ir, t, (Part){.crd = crd, .shape = t->layout.shape, .stride = t->layout.stride},
                 note_now, &own);
  }
}

static void keep(lua_State *L, CtIr *ir, void *ud, CtInt crd, CtInt extent, const char *what) {
  Tensor *part = ud;
  (void)L;
  if (!ct_ir_is_within(ir, crd, extent)) {
    part->within = ct_ir_within_add(ir, part->within, crd, extent, what);
  }
}

void tensor_within_slice(lua_State *L, const Tensor *of, CtTuple crd, Tensor *part) {
  CtIr *ir = front_ir(L);
  if (is_asked(ir, of)) {
    each_integer(L, ir, of,
                 (Part){.crd = crd, .shape = of->layout.shape, .stride = of->layout.stride}, keep,
                 part);
  }
}

void tensor_within_part(lua_State *L, Tensor *part, CtInt crd, CtInt extent, const char *what) {
  CtIr *ir = front_ir(L);
  if (ir != NULL && ir->is_checked && part->in_kernel && part->at == NULL) {
    keep(L, ir, part, crd, extent, what);
  }
}
