/* bind_atomic.c: atomic operations and fences, and what they order. */
#include <lauxlib.h>
#include <string.h>

#include "access.h"
#include "guard.h"
#include "interp/algebra/bind.h"
#include "interp/openers.h"
#include "interp/state/diag.h"
#include "interp/trace/front.h"
#include "interp/trace/value.h"

/* --- scopes and orders ------------------------------------------------------------------------------ */

/* What options {scope = ..., order = ...} say. A read-modify-write acquires by a fence after it, and releases by one
   before it. */
typedef struct Order {
  unsigned flags; /* CT_ORDER_* of the operation itself */
  bool acquires, releases;
} Order;

typedef enum Kind { KIND_LOAD, KIND_STORE, KIND_CHANGE, KIND_FENCE, KIND_COUNT } Kind;

/* The orders that a kind of operation has, as CUDA calls them; the usual one first. */
static const struct {
  const char *names, *expected;
  Order orders[4];
} kinds[KIND_COUNT] = {[KIND_LOAD] = {"acquire\0relaxed\0",
                                      "\"acquire\" or \"relaxed\"",
                                      {{.flags = 0}, {.flags = CT_ORDER_RELAXED}}},
                       [KIND_STORE] = {"release\0relaxed\0",
                                       "\"release\" or \"relaxed\"",
                                       {{.flags = 0}, {.flags = CT_ORDER_RELAXED}}},
                       [KIND_CHANGE] = {"relaxed\0acquire\0release\0acq_rel\0",
                                        "\"relaxed\", \"acquire\", \"release\" or \"acq_rel\"",
                                        {{.flags = 0},
                                         {.acquires = true},
                                         {.releases = true},
                                         {.acquires = true, .releases = true}}},
                       [KIND_FENCE] = {"seq_cst\0acq_rel\0",
                                       "\"seq_cst\" or \"acq_rel\"",
                                       {{.flags = 0}, {.flags = CT_ORDER_ACQ_REL}}}};

static Kind kind_of(CtOp op) {
  return op == CT_OP_ATOMIC_LOAD    ? KIND_LOAD
         : op == CT_OP_ATOMIC_STORE ? KIND_STORE
         : op == CT_OP_FENCE        ? KIND_FENCE
                                    : KIND_CHANGE;
}

/* Reads the option at the top of the stack. */
static Order read_order(lua_State *L, Kind kind, const char *op) {
  const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
  const char *name = kinds[kind].names;
  for (int i = 0; *name != '\0'; i++, name += strlen(name) + 1) {
    if (strcmp(name, text) == 0) {
      return kinds[kind].orders[i];
    }
  }
  diag_error(L, "%s: order %s does not suit this operation; expected %s", op,
             luaL_tolstring(L, -1, NULL), kinds[kind].expected);
  return (Order){0};
}

static unsigned read_scope(lua_State *L, const char *op) {
  const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
  bool is_sys = strcmp(text, "sys") == 0;
  if (!is_sys && strcmp(text, "gpu") != 0) {
    diag_error(L,
               "%s: scope %s is unknown; expected \"gpu\", which is this device, or \"sys\", which "
               "is all devices",
               op, luaL_tolstring(L, -1, NULL));
  }
  return is_sys ? CT_ORDER_SYS : 0;
}

/* The options at idx, a table, or nothing. */
static Order read_options(lua_State *L, int idx, Kind kind, const char *op) {
  Order order = kinds[kind].orders[0];
  unsigned scope = 0;
  if (lua_isnoneornil(L, idx)) {
    return order;
  }
  if (!lua_istable(L, idx) || lua_getmetatable(L, idx) != 0) {
    diag_type_error(L, idx, op, "a table of options, {scope = \"sys\"},");
  }
  for (lua_pushnil(L); lua_next(L, idx) != 0; lua_pop(L, 1)) {
    const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
    if (strcmp(key, "order") == 0) {
      order = read_order(L, kind, op);
    } else if (strcmp(key, "scope") == 0) {
      scope = read_scope(L, op);
    } else {
      diag_error(L, "%s: option '%s' is unknown; expected scope or order", op,
                 luaL_tolstring(L, -2, NULL));
    }
  }
  order.flags |= scope;
  return order;
}

static void fence_for(CtIr *ir, Order order) {
  ct_ir_fence(ir, CT_ORDER_ACQ_REL | (order.flags & CT_ORDER_SYS));
}

/* The operation between the fences that its order asks for. */
static CtVal change(CtIr *ir, CtOp op, uint32_t buf, CtVal offset, CtVal value, CtVal compare,
                    Order order) {
  if (order.releases) {
    fence_for(ir, order);
  }
  CtVal old = ct_ir_atomic_as(ir, op, buf, offset, value, compare, order.flags);
  if (order.acquires) {
    fence_for(ir, order);
  }
  return old;
}

/* fence([options]) */
static int lang_fence(lua_State *L) {
  CtIr *ir = front_here(L, "fence");
  if (lua_gettop(L) > 1) {
    return diag_error(L, "fence: %d arguments; fence() or fence{scope = \"sys\"} was expected",
                      lua_gettop(L));
  }
  ct_ir_fence(ir, read_options(L, 1, KIND_FENCE, "fence").flags);
  return 0;
}

/* --- atomic operations ------------------------------------------------------------------------------ */

static const CtOp atomic_ops[] = {
    CT_OP_ATOMIC_ADD, CT_OP_ATOMIC_MIN,  CT_OP_ATOMIC_MAX, CT_OP_ATOMIC_AND,  CT_OP_ATOMIC_OR,
    CT_OP_ATOMIC_XOR, CT_OP_ATOMIC_EXCH, CT_OP_ATOMIC_CAS, CT_OP_ATOMIC_LOAD, CT_OP_ATOMIC_STORE};

/* A tensor of the kernel that threads share, with elements that the operation supports. */
static const Tensor *to_shared_tensor(lua_State *L, CtOp op) {
  const char *name = ct_ops[op].text;
  const Tensor *t = tensor_check_live(L, 1, name);
  tensor_check_memory(L, 1, name);
  if (!t->in_kernel) {
    diag_error(L, "%s: %s is a tensor of the host; pass it to the kernel as an argument", name,
               tensor_push_title(L, 1));
  }
  if (t->space == CT_CONSTANT) {
    diag_error(
        L, "%s: %s is constant memory, which kernels can only read; use shared or global memory",
        name, tensor_push_title(L, 1));
  }
  if (t->space == CT_REGISTER) {
    diag_error(L,
               "%s: %s is a fragment, which belongs to one thread; shared or global memory was "
               "expected",
               name, tensor_push_title(L, 1));
  }
  const CtIr *ir = front_ir(L);
  if (ct_dtypes[t->dtype].bits == 16 && ir->bufs[t->buf].remote != 0) {
    diag_error(
        L, "%s: %s is in another block's shared memory, which has no such operation on %s; use f32",
        name, tensor_push_title(L, 1), ct_dtypes[t->dtype].name);
  }
  if (!ct_ir_has_atomic(op, t->dtype)) {
    bool of_bits = ct_is_float(t->dtype);
    diag_error(L, "%s: no such operation on %s; expected %s", name, ct_dtypes[t->dtype].name,
               of_bits && ct_ir_has_atomic(CT_OP_ATOMIC_EXCH, t->dtype)
                   ? "integers of 32 or 64 bits"
               : op == CT_OP_ATOMIC_ADD ? "f16, bf16, f32, f64 and integers of 32 or 64 bits"
                                        : "f32, f64 and integers of 32 or 64 bits");
  }
  return t;
}

/* The bits of a value of 16 bits, in a u32. */
static CtVal bits_of_half(CtIr *ir, CtVal v) {
  return ct_ir_cast(ir, ct_ir_bitcast(ir, v, CT_u16), CT_u32);
}

static CtVal half_of_bits(CtIr *ir, CtVal bits, CtDtype t) {
  return ct_ir_bitcast(ir, ct_ir_cast(ir, bits, CT_u16), t);
}

/* The offset of two elements that one word holds. */
static CtVal offset_of_two(lua_State *L, CtIr *ir, const Tensor *t, CtTuple crd) {
  CtVal offset = access_offset(L, t, crd, "atomic_add");
  const CtBuf *buf = &ir->bufs[t->buf];
  if (t->guard != NULL || (t->is_guarded && t->is_whole)) {
    diag_error(L,
               "atomic_add: %s is guarded, and of two elements one may be outside; add them "
               "one by one, or leave the guard out",
               tensor_push_title(L, 1));
  }
  if (ct_buf_is_swizzled(buf) && buf->swizzle.base == 0) {
    diag_error(L,
               "atomic_add: the swizzle of %s keeps no two elements together; choose one with a "
               "larger M, or add them one by one",
               tensor_push_title(L, 1));
  }
  if (ct_inst(ir, offset)->facts.div % 2 != 0 || buf->align < 4) {
    diag_error(L,
               "atomic_add: two elements of %s at once must begin at an even offset, and this "
               "one is not known to; write 2 * i for the coordinate, or add them one by one",
               tensor_push_title(L, 1));
  }
  return offset;
}

/* tensor, coordinate, lo, hi: adds to an element and the next in memory, rounding each by itself.
   Returns the old values of both. */
static int add_two(lua_State *L, CtIr *ir, const Tensor *t, CtTuple crd, Order order) {
  if (t->dtype != CT_f16 && t->dtype != CT_bf16) {
    return diag_error(L, "atomic_add: %s is %s; two elements at once are of f16 or bf16",
                      tensor_push_title(L, 1), ct_dtypes[t->dtype].name);
  }
  CtVal sixteen = ct_ir_const_int(ir, CT_u32, 16), offset = offset_of_two(L, ir, t, crd);
  CtVal lo = bits_of_half(ir, value_to(L, 3, t->dtype, "atomic_add"));
  CtVal hi = bits_of_half(ir, value_to(L, 4, t->dtype, "atomic_add"));
  hi = ct_ir_binary(ir, CT_OP_SHL, hi, sixteen);
  CtVal old =
      change(ir, CT_OP_ATOMIC_ADD2, t->buf, offset, ct_ir_binary(ir, CT_OP_OR, lo, hi), 0, order);
  value_push(L, half_of_bits(ir, old, t->dtype));
  value_push(L, half_of_bits(ir, ct_ir_binary(ir, CT_OP_SHR, old, sixteen), t->dtype));
  return 2;
}

/* The options, the last argument if it is a table. They are taken from the stack. */
static Order take_options(lua_State *L, CtOp op, const Tensor *t) {
  const char *name = ct_ops[op].text;
  int top = lua_gettop(L);
  bool has_options = top > 2 && lua_istable(L, top);
  Order order = read_options(L, has_options ? top : top + 1, kind_of(op), name);
  if ((order.flags & CT_ORDER_SYS) != 0 && t->space == CT_SHARED) {
    diag_error(L,
               "%s: %s is shared memory, which other devices do not reach; scope \"sys\" needs a "
               "tensor of global memory",
               name, tensor_push_title(L, 1));
  }
  lua_settop(L, has_options ? top - 1 : top);
  return order;
}

/* tensor, coordinate[, compare][, value][, options] */
static int lang_atomic(lua_State *L) {
  CtOp op = (CtOp)lua_tointeger(L, lua_upvalueindex(1));
  const char *name = ct_ops[op].text;
  CtIr *ir = front_here(L, name);
  const Tensor *t = to_shared_tensor(L, op);
  CtCx cx = bind_enter(L);
  Order order = take_options(L, op, t);
  int n_values = ct_ops[op].n_args - 1;
  if (op == CT_OP_ATOMIC_ADD && lua_gettop(L) == 4) {
    return add_two(L, ir, t, bind_to_tuple(L, 2, &cx, name), order);
  }
  if (lua_gettop(L) != 2 + n_values) {
    static const char *const values[] = {"", ", value", ", compare, value"};
    return diag_error(L, "%s: %d arguments; %s(tensor, coordinate%s) was expected", name,
                      lua_gettop(L), name, values[n_values]);
  }
  CtTuple crd = bind_to_tuple(L, 2, &cx, name);
  GuardedAccess access;
  CtVal old = 0, value = 0, compare = 0;
  if (n_values > 0) {
    value = value_to(L, 2 + n_values, t->dtype, name);
  }
  if (n_values > 1) {
    compare = value_to(L, 3, t->dtype, name);
  }
  bool is_void = ct_ops[op].result == CT_RES_VOID;
  if (guard_open(L, t, crd, is_void ? CT_VOID : t->dtype, &access)) {
    old = change(ir, op, t->buf, access_offset(L, t, crd, name), value, compare, order);
  }
  old = guard_close(L, &access, is_void ? 0 : old);
  if (is_void) {
    return 0;
  }
  value_push(L, old);
  return 1;
}

/* --- opening ------------------------------------------------------------------------------------------ */

void bind_open_atomic(lua_State *L) { /* language table on top */
  lua_pushcfunction(L, lang_fence);
  lua_setfield(L, -2, "fence");
  for (size_t i = 0; i < CT_ARRAY_LEN(atomic_ops); i++) {
    lua_pushinteger(L, (lua_Integer)atomic_ops[i]);
    lua_pushcclosure(L, lang_atomic, 1);
    lua_setfield(L, -2, ct_ops[atomic_ops[i]].text);
  }
}
