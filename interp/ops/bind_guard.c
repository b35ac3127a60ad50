/* bind_guard.c: guard(t), and how parts of guarded tensors are made. */
#include <lauxlib.h>

#include "access.h"
#include "interp/algebra/bind.h"
#include "interp/state/diag.h"
#include "interp/trace/front.h"
#include "guard.h"
#include "interp/trace/value.h"
#include "interp/front/front_trace.h"
#include "runtime/ir/ir_guard.h"

/* {====== Parts ====== */

void guard_note(lua_State *L, Overhangs *o, uint32_t from, CtInt bound) {
  if (o->n == CT_GUARD_MAX) {
    diag_error(L, "guard: more than %d modes may overhang at once", CT_GUARD_MAX);
  }
  o->mode[o->n++] = (Overhang){from, bound};
}

bool guard_divides(const CtCx *cx, CtInt n, CtInt extent) {
  if (!ct_is_static(n) || n.v <= 0 || ct_is_const(extent, 0)) {
    return false;
  }
  return n.v == 1 || ct_int_facts(cx, extent).div % n.v == 0;
}

CtLayout guard_coordinates(lua_State *L, const CtCx *cx, const Tensor *t, const char *op) {
  CtErr err;
  CtAlg g = al_begin(cx, &err);
  CtLayout coords = al_identity(&g, t->layout.shape);
  if (!al_ok(&g)) {
    ct_err_prefix(&err, "%s of a guarded tensor", op);
    diag_raise(L, &err);
  }
  return coords;
}

/* A linear function of the tensor's coordinates that starts at *start, along the part's
   coordinates. */
static CtTuple along(lua_State *L, const CtCx *cx, CtTuple stride, CtLayout coords, CtTuple at,
                     CtInt *start) {
  CtTuple out;
  CtInt more;
  diag_try(L, ct_guard_along(cx, stride, coords, at, &out, &more, diag_err(L)));
  diag_try(L, ct_int_op(cx, CT_INT_ADD, *start, more, start, diag_err(L)));
  return out;
}

static void add_axis(lua_State *L, const CtCx *cx, CtGuard *g, CtGuardAxis axis, CtLayout coords,
                     CtTuple at) {
  axis.stride = along(L, cx, axis.stride, coords, at, &axis.at);
  diag_try(L, ct_ir_guard_add(front_ir(L), g, coords.shape, axis, diag_err(L)));
}

void guard_push_part(lua_State *L, const CtCx *cx, const Tensor *t, const Overhangs *o,
                     CtLayout coords, CtTuple at) {
  CtGuard guard = {0};
  CtInt offset = t->offset;
  CtTuple stride = along(L, cx, t->layout.stride, coords, at, &offset);
  for (int i = 0; t->guard != NULL && i < t->guard->n; i++) {
    add_axis(L, cx, &guard, t->guard->axis[i], coords, at);
  }
  for (int i = 0; i < o->n; i++) {
    CtGuardAxis axis = {.at = ct_int(0), .bound = o->mode[i].bound};
    diag_try(L, ct_guard_linear(cx, t->layout.shape, o->mode[i].from, &axis.stride, diag_err(L)));
    add_axis(L, cx, &guard, axis, coords, at);
  }
  for (int i = 0; i < o->n_lone; i++) {
    diag_try(L, ct_ir_guard_fix(front_ir(L), &guard, coords.shape, o->lone[i], o->tiles[i],
                                diag_err(L)));
  }
  tensor_push_part(L, t, (CtLayout){coords.shape, stride}, offset, &guard);
}

/* {====== Elements ====== */

static CtVal zero_of(CtIr *ir, CtDtype dtype) {
  return ct_is_float(dtype) ? ct_ir_const_float(ir, dtype, 0) : ct_ir_const_int(ir, dtype, 0);
}

bool guard_open(lua_State *L, const Tensor *t, CtTuple crd, CtDtype result, GuardedAccess *a) {
  CtIr *ir = front_ir(L);
  CtVal inside;
  *a = (GuardedAccess){.result = result};
  if (!t->is_guarded) {
    return true;
  }
  diag_try(L, ct_ir_guard_test(ir, tensor_view(t), crd, t->is_whole, &inside, diag_err(L)));
  if (ct_inst(ir, inside)->op == CT_OP_CONST) {
    return ct_inst(ir, inside)->imm.i != 0;
  }
  if (result != CT_VOID) {
    a->var = ct_ir_var(ir, result, t->name);
    ct_ir_set(ir, a->var, zero_of(ir, result));
  }
  a->if_ = ct_ir_if(ir, inside);
  return true;
}

CtVal guard_close(lua_State *L, GuardedAccess *a, CtVal v) {
  CtIr *ir = front_ir(L);
  if (a->if_ == 0) {
    return v == 0 && a->result != CT_VOID ? zero_of(ir, a->result) : v;
  }
  if (a->var != 0) {
    ct_ir_set(ir, a->var, v);
  }
  ct_ir_end(ir, a->if_);
  return a->var == 0 ? 0 : ct_ir_get(ir, a->var);
}

/* {====== guard(t) ====== */

/* The tensor itself; from now on its tiles may overhang. */
static int guard(lua_State *L) {
  const Tensor *t = tensor_check_live(L, 1, "guard");
  tensor_check_memory(L, 1, "guard");
  if (!t->in_kernel) {
    return diag_error(L, "guard: %s is a tensor of the host; guards exist only in kernels",
                      tensor_push_title(L, 1));
  }
  bool is_whole = t->is_whole || !t->is_guarded;
  Tensor *guarded = tensor_push_part(L, t, t->layout, t->offset, t->guard);
  guarded->is_guarded = true;
  guarded->is_whole = is_whole;
  return 1;
}

/* {====== Tensors of coordinates ====== */

/* The coordinates of t at crd, where the first of t's is t->at. */
static CtTuple coordinate_at(lua_State *L, CtAlg *g, const Tensor *t, CtTuple crd) {
  CtTuple at = al_coord_add(g, t->at, al_plain_evaluate(g, crd, t->layout));
  bind_check(L, g);
  return at;
}

int guard_push_coordinate(lua_State *L, const Tensor *t, CtTuple crd) {
  CtAlg g = bind_alg(L);
  bind_push_tuple(L, coordinate_at(L, &g, t, crd));
  return 1;
}

int guard_slice_coords(lua_State *L, const Tensor *t, CtTuple crd) {
  CtTuple at;
  CtAlg g = bind_alg(L);
  CtLayout rest = al_slice(&g, crd, ct_composed_plain(t->layout), &at).layout;
  at = al_coord_add(&g, t->at, at);
  bind_check(L, &g);
  tensor_push_coords(L, t, rest, at);
  return 1;
}

/* identity_tensor(shape): each element is its own coordinate. */
static int identity_tensor(lua_State *L) {
  CtAlg g = bind_begin(L);
  if (lua_gettop(L) > 1) {
    return diag_error(L, "identity_tensor: %d arguments; a shape is one: identity_tensor{4, 8}",
                      lua_gettop(L));
  }
  CtTuple shape = bind_to_shape(L, 1, &g.cx, "identity_tensor");
  CtLayout l = al_identity(&g, shape);
  CtTuple at = ct_guard_zero(&g.cx, shape);
  bind_check(L, &g);
  if (at == NULL) {
    return diag_error(L, "not enough memory");
  }
  tensor_push_coords(L, NULL, l, at);
  return 1;
}

/* domain_offset(crd, t): t with crd added to each of its coordinates. */
static int domain_offset(lua_State *L) {
  CtAlg g = bind_begin(L);
  CtTuple crd = bind_to_tuple(L, 1, &g.cx, "domain_offset");
  const Tensor *t = tensor_check_live(L, 2, "domain_offset");
  if (t->at == NULL) {
    return diag_error(L,
                      "domain_offset: %s is not a tensor of coordinates, as tma_tensor and "
                      "identity_tensor make them; for a tensor with memory, use a tile or a slice",
                      tensor_push_title(L, 2));
  }
  tensor_push_coords(L, t, t->layout, coordinate_at(L, &g, t, crd));
  return 1;
}

/* {====== copy_if ====== */

enum { MAX_PREDICATED = 4096 };

/* The elements of a tensor by coordinate: one integer for each mode. */
typedef struct Elements {
  int rank;
  int64_t n, size[CT_MAX_DEPTH], crd[CT_MAX_DEPTH];
} Elements;

static void step(Elements *e) {
  for (int i = 0; i < e->rank; i++) {
    if (++e->crd[i] < e->size[i]) {
      return;
    }
    e->crd[i] = 0;
  }
}

static Elements elements_of(lua_State *L, const CtCx *cx, const Tensor *t) {
  Elements e = {.rank = ct_layout_rank(t->layout), .n = MAX_PREDICATED + 1};
  CtAlg g = bind_alg(L);
  if (ct_all_static(t->layout.shape) && e.rank <= CT_MAX_DEPTH) {
    e.n = al_size(&g, t->layout).v;
    bind_check(L, &g);
  }
  if (e.n > MAX_PREDICATED) {
    diag_error(L,
               "copy_if: a function is called for each element, so the shape must be static, of at "
               "most %d elements, but %s has %s; tile it first",
               MAX_PREDICATED, tensor_push_title(L, 2), bind_tuple_text(cx, t->layout.shape));
  }
  for (int i = 0; i < e.rank; i++) {
    e.size[i] = bind_mode_size(L, cx, t->layout, i).v;
  }
  return e;
}

/* The predicate that the function at idx returns for the coordinate. */
static CtVal call_predicate(lua_State *L, int idx, const Elements *e) {
  luaL_checkstack(L, e->rank + 2, NULL);
  lua_pushvalue(L, idx);
  for (int i = 0; i < e->rank; i++) {
    lua_pushinteger(L, e->crd[i]);
  }
  lua_call(L, e->rank, 1);
  CtVal v = value_to(L, -1, CT_bool, "copy_if: the predicate's result");
  lua_pop(L, 1);
  return v;
}

/* A fragment with a function's answer for each element of a tensor, or for every step-th. The
   function may use the context's arena, so we keep nothing in it across a call. */
static CtView ask_predicate(lua_State *L, const CtCx *cx, int idx, const Tensor *src,
                            int64_t step_by) {
  CtIr *ir = front_ir(L);
  CtAlg g = bind_alg(L);
  Elements e = elements_of(L, cx, src);
  const CtNode n = {.rank = CT_LEAF, .len = 1, .i = ct_int(e.n / step_by)};
  CtLayout compact = al_layout(&g, step_by > 1 ? &n : src->layout.shape, NULL);
  bind_check(L, &g);
  CtView pred = ct_ir_fragment(ir, "pred", CT_bool, compact);
  for (int64_t i = 0; i < e.n; i++, step(&e)) {
    if (i % step_by == 0) {
      CtVal v = call_predicate(L, idx, &e);
      ct_ir_store(ir, pred.buf, ct_ir_const_int(ir, CT_i32, i / step_by), v);
    }
  }
  return pred;
}

/* copy_if([atom,] pred, src, dst): pred is a tensor of bools, or a function of the coordinate in
   src. An atom asks once for all elements that it copies at once. */
static int copy_if(lua_State *L) {
  CtIr *ir = front_here(L, "copy_if");
  CtCx cx = bind_enter(L);
  CtDtype dtype = CT_VOID;
  CtAtom atom;
  bool has_atom = lua_gettop(L) > 3 && tensor_test(L, 1) == NULL && !lua_isfunction(L, 1);
  int64_t n = 1;
  if (has_atom) {
    atom = *traced_copy_atom(L, 1, "copy_if", &dtype);
    n = ct_ir_atom_values(ir, &atom, CT_ATOM_SRC, dtype);
    lua_remove(L, 1);
  }
  diag_take_args(L, "copy_if", 3);
  CtView src = access_view(L, 2, "copy_if"), dst = access_view(L, 3, "copy_if"), pred;
  if (lua_isfunction(L, 1)) {
    front_convert(L, 1);
    pred = ask_predicate(L, &cx, 1, tensor_test(L, 2), n);
    front_here(L, "copy_if");
  } else {
    pred = access_view(L, 1, "copy_if");
  }
  diag_try(L, has_atom ? ct_ir_copy_by(ir, &atom, dtype, &pred, src, dst, diag_err(L))
                       : ct_ir_copy_if(ir, pred, src, dst, diag_err(L)));
  return 0;
}

/* {====== Registration ====== */

static const luaL_Reg functions[] = {{"guard", guard}, {NULL, NULL}};
static const luaL_Reg kernel_functions[] = {{"copy_if", copy_if},
                                            {"identity_tensor", identity_tensor},
                                            {"domain_offset", domain_offset},
                                            {NULL, NULL}};

void bind_add_guard(lua_State *L, int module, int methods) {
  lua_pushvalue(L, module);
  luaL_setfuncs(L, functions, 0);
  luaL_setfuncs(L, kernel_functions, 0);
  lua_pushvalue(L, methods);
  luaL_setfuncs(L, functions, 0);
  lua_pop(L, 2);
}
