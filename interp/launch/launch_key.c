/* launch_key.c: the arguments of a launch, read from the Lua stack, as a specialisation key and as slot
   values, or compared with those that were read last; launch_table.c reads tables. What the key says of an argument
   and which of its integers become slots are decided in the same place, so that they cannot disagree. */
#include <lauxlib.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "interp/trace/front.h"
#include "launch_key.h"
#include "launch_list.h"
#include "runtime/watch/check.h"
#include "interp/trace/value.h"

static void put_byte(LaunchKey *key, int byte) {
  unsigned char b = (unsigned char)byte;
  launch_put(key, &b, 1);
}

static void put_leaf(LaunchKey *key, bool is_extent, int64_t v, CtDtype dtype, bool is_slot) {
  if (!is_slot) {
    put_byte(key, 's');
    launch_put(key, &v, sizeof v);
    return;
  }
  put_byte(key, is_extent ? 'e' : (v < 0 ? 'n' : 'd'));
  put_byte(key, ct_divisor_log(is_extent, v, dtype));
}

/* A name stands before the first of the nodes in a row that have it. */
static void put_tree(LaunchKey *key, const Kernel *k, const Tensor *of, bool is_extent) {
  CtTuple t = is_extent ? of->layout.shape : of->layout.stride;
  CtModeName name = 0;
  int leaf = 0;
  for (uint32_t i = 0; i < t->len; i++) {
    if (t[i].name != name) {
      name = t[i].name;
      put_byte(key, '=');
      launch_put(key, &name, sizeof name);
    }
    if (t[i].rank == CT_LEAF) {
      bool is_slot = launch_is_slot(k, of, is_extent, leaf++, t[i].i.v);
      put_leaf(key, is_extent, t[i].i.v, of->dtype, is_slot);
    } else {
      put_byte(key, '(');
      put_byte(key, t[i].rank);
    }
  }
}

static CtDtype index_type(const Tensor *t) { return t->is_wide ? CT_i64 : CT_i32; }

CtDtype launch_index_type(const Arg *arg) { return index_type(arg->tensor); }

/* The next extent or stride that is a value of the launch. */
typedef struct Values {
  const Kernel *k;
  const Tensor *of;
  bool is_extent;
  uint32_t node;
  int leaf;
} Values;

static bool next_value(Values *w, CtSlotValue *out) {
  CtTuple t = w->is_extent ? w->of->layout.shape : w->of->layout.stride;
  while (w->node < t->len) {
    const CtNode *node = &t[w->node++];
    if (node->rank == CT_LEAF && launch_is_slot(w->k, w->of, w->is_extent, w->leaf++, node->i.v)) {
      out->i = node->i.v;
      return true;
    }
  }
  return false;
}

static void add_slots(lua_State *L, LaunchArgs *a, const Kernel *k, const Tensor *of,
                      bool is_extent) {
  CtSlotValue v;
  for (Values w = {.k = k, .of = of, .is_extent = is_extent}; next_value(&w, &v);) {
    launch_add_slot(L, a, v);
  }
}

/* A tensor whose key is known was measured for it. */
static void measure(lua_State *L, int kernel, const LaunchArgs *a, const Arg *arg) {
  Tensor *t = arg->tensor;
  if (!tensor_begins_at_byte(t)) {
    const char *title = launch_push_title(L, kernel, a, arg);
    diag_error(L,
               "%s begins within a byte, of which it would share one half; a kernel's tensor "
               "of %s begins at an even element",
               title, ct_dtypes[t->dtype].name);
  }
  if (t->key_len == 0 && !launch_check_measure(L, t)) {
    CtCx cx = bind_cx(L);
    const char *title = launch_push_title(L, kernel, a, arg);
    const char *name = arg->idx != 0 ? tensor_push_title(L, arg->idx) : "its layout";
    diag_error(L,
               "%s, %s %s reaches before its first element; a kernel's tensor needs strides >= 0",
               title, name, bind_layout_text(&cx, t->layout));
  }
}

/* What the key says of a tensor that was measured. */
static void put_measured(LaunchKey *key, const Kernel *k, const Tensor *t) {
  put_byte(key, 'T');
  put_byte(key, (int)t->dtype);
  put_byte(key, (int)index_type(t));
  put_byte(key, ct_call_align(launch_address(t)));
  put_tree(key, k, t, true);
  put_tree(key, k, t, false);
}

/* A tensor keeps it, since it does not change. False: it is too long, or the kernel asks for more. */
static bool keeps_key(const Kernel *k, Tensor *t) {
  if (t->key_len == 0 && !k->static_shapes) {
    LaunchKey key = {.bytes = t->key, .cap = sizeof t->key};
    put_measured(&key, k, t);
    t->key_len = (uint8_t)(key.len <= key.cap ? key.len : 0);
  }
  return t->key_len != 0 && !k->static_shapes;
}

static void put_tensor(LaunchArgs *a, const Kernel *k, Arg *arg) {
  bool is_kept = keeps_key(k, arg->tensor);
  arg->key_at = a->key.len;
  arg->key_bytes = is_kept ? arg->tensor->key_len : 0;
  if (is_kept) {
    launch_put(&a->key, arg->tensor->key, arg->key_bytes);
  } else {
    put_measured(&a->key, k, arg->tensor);
  }
}

static CtSlotValue address_slot(const Arg *arg) {
  return (CtSlotValue){.i = (int64_t)arg->address};
}

/* What may be touched from the tensor's address on. */
static int64_t n_elems_of(const Arg *arg) {
  return ct_dtype_count(arg->dtype, (int64_t)(arg->span.end - arg->address));
}

static void read_tensor(lua_State *L, int kernel, LaunchArgs *a, Arg *arg) {
  const Kernel *k = lua_touserdata(L, kernel);
  const Tensor *t = arg->tensor;
  CtErr err;
  if (t->in_kernel) {
    const char *title = launch_push_title(L, kernel, a, arg);
    diag_error(L, "%s is a tensor that was made in %s; one of the host was expected", title,
               front_push_owner(L, t->serial));
  }
  if (tensor_live(t, &err) != CT_OK) {
    diag_error(L, "%s %s", launch_push_title(L, kernel, a, arg), err.msg);
  }
  arg->kind = ARG_TENSOR;
  arg->tensor_id = t->id;
  arg->dtype = t->dtype;
  measure(L, kernel, a, arg);
  launch_place(t, arg);
  put_tensor(a, k, arg);
  launch_add_slot(L, a, address_slot(arg));
  add_slots(L, a, k, t, true);
  add_slots(L, a, k, t, false);
  launch_add_param(a, arg, n_elems_of(arg));
}

static void read_number(lua_State *L, LaunchArgs *a, Arg *arg, CtDtype dtype, CtSlotValue v) {
  arg->kind = ARG_NUMBER;
  arg->dtype = dtype;
  arg->value = v;
  put_byte(&a->key, 'N');
  put_byte(&a->key, (int)dtype);
  launch_add_slot(L, a, v);
  launch_add_param(a, arg, 0);
}

/* A Lua float: the key does not say its type, since the trace decides that. */
static void read_untyped(lua_State *L, LaunchArgs *a, Arg *arg, double v) {
  arg->kind = ARG_NUMBER;
  arg->dtype = CT_f32;
  arg->value = (CtSlotValue){.f64 = v};
  arg->is_untyped = true;
  a->n_untyped++;
  put_byte(&a->key, 'U');
  launch_add_slot(L, a, ct_slot_float(CT_f32, v));
  launch_add_param(a, arg, 0);
}

static void read_static(LaunchArgs *a, Arg *arg, const TypedNumber *n) {
  arg->kind = ARG_STATIC;
  arg->dtype = n->is_float ? CT_f64 : n->is_bool ? CT_bool : CT_i64;
  arg->value = n->is_float ? (CtSlotValue){.f64 = n->f} : (CtSlotValue){.i = n->i};
  put_byte(&a->key, n->is_float ? 'F' : n->is_bool ? 'B' : 'I');
  launch_put(&a->key, &arg->value, sizeof arg->value);
}

static void read_typed(lua_State *L, LaunchArgs *a, Arg *arg, const TypedNumber *n) {
  if (n->dtype == CT_VOID) {
    read_static(a, arg, n);
  } else if (ct_is_float(n->dtype)) {
    read_number(L, a, arg, n->dtype, ct_slot_float(n->dtype, n->is_float ? n->f : (double)n->i));
  } else {
    read_number(L, a, arg, n->dtype, (CtSlotValue){.i = n->i});
  }
}

/* A number, a boolean or a tensor; false: something else. */
static bool read_plain(lua_State *L, int kernel, LaunchArgs *a, Arg *arg, int idx) {
  TypedNumber typed;
  arg->tensor = tensor_peek_in(L, a->of->state, idx);
  if (arg->tensor != NULL) {
    read_tensor(L, kernel, a, arg);
  } else if (lua_isinteger(L, idx)) {
    int64_t i = lua_tointeger(L, idx);
    read_number(L, a, arg, i == (int32_t)i ? CT_i32 : CT_i64, (CtSlotValue){.i = i});
  } else if (lua_type(L, idx) == LUA_TNUMBER) {
    read_untyped(L, a, arg, lua_tonumber(L, idx));
  } else if (lua_isboolean(L, idx)) {
    read_number(L, a, arg, CT_bool, (CtSlotValue){.i = lua_toboolean(L, idx)});
  } else if (number_test(L, idx, &typed)) {
    read_typed(L, a, arg, &typed);
  } else {
    return false;
  }
  return true;
}

static void read_arg(lua_State *L, int kernel, LaunchArgs *a, Arg like, int idx) {
  if (a->n == a->cap) {
    a->is_full = true;
    a->n++;
  }
  if (a->n > a->cap) {
    return;
  }
  Arg *arg = &a->args[a->n++];
  *arg = like;
  arg->first_slot = a->n_slots;
  if (!read_plain(L, kernel, a, arg, idx) && !launch_read_table(L, kernel, a, arg, idx, read_arg) &&
      !launch_read_object(L, kernel, a, arg, idx)) {
    value_test(L, idx, NULL); /* says where one comes from */
    diag_error(L,
               "%s is %s; a tensor, a number, a boolean, a constant such as a layout, or a "
               "table of these was expected",
               launch_push_title(L, kernel, a, arg), diag_push_kind(L, idx));
  }
}

/* {====== All arguments ====== */

static bool find_overlap(const LaunchArgs *a) { /* numbers span nothing */
  return ct_spans_overlap(&a->args[0].span, sizeof a->args[0], a->n);
}

void launch_check_kept(lua_State *L, const LaunchArgs *a, const char *who) {
  if (a->first == 0) {
    diag_error(L,
               "%s: %s is launched with memory that the host lends for this launch only; lend it "
               "as a tensor, which lasts longer",
               who, a->of->name);
  }
}

/* In m:run a rank launches on its own parts. */
static void check_ranks(lua_State *L, int kernel, const LaunchArgs *a) {
  for (LaunchTensors w = {.args = a}; a->rank >= 0 && launch_next_tensor(&w);) {
    if (tensor_is_foreign(w.tensor, a->rank)) {
      diag_error(L,
                 "%s, %s, is a part of rank %d, but rank %d launches the kernel; in m:run a rank "
                 "uses its own part, x:part(r.rank)",
                 launch_push_title(L, kernel, a, w.arg),
                 w.arg->idx != 0 ? tensor_push_title(L, w.arg->idx) : "a tensor in a table",
                 w.tensor->storage->rank, a->rank);
    }
  }
}

/* All tensors live on one device; without tensors it is the current one. */
static void choose_device(lua_State *L, int kernel, LaunchArgs *a) {
  const Kernel *k = lua_touserdata(L, kernel);
  const Arg *first = NULL;
  for (LaunchTensors w = {.args = a}; launch_next_tensor(&w);) {
    CtDevice *device = w.tensor->storage->device;
    a->has_lent = a->has_lent || w.tensor->storage->is_lent;
    if (first == NULL) {
      first = w.arg;
      a->device = device;
    } else if (device != a->device) {
      const char *here = launch_push_device(L, a->device);
      diag_error(L, "%s is on %s but argument %d is on %s; move one with t:to(\"%s\")",
                 launch_push_title(L, kernel, a, first), here, w.arg->place,
                 launch_push_device(L, device), here);
    }
  }
  a->has_tensors = first != NULL;
  if (!a->has_tensors) {
    CtErr err;
    diag_check(L, state_device(k->state, &a->device, &err), &err);
  }
}

/* Pushes " (a, x, y)", the names of the parameters; "" if there are none. */
static const char *push_parameters(lua_State *L, int kernel, const Kernel *k) {
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  luaL_addstring(&b, k->n_params > 0 ? " (" : "");
  for (int i = 1; i <= k->n_params; i++) {
    lua_getiuservalue(L, kernel, 1);
    const char *name = lua_getlocal(L, NULL, i);
    lua_pop(L, 1);
    luaL_addstring(&b, i == 1 ? "" : ", ");
    luaL_addstring(&b, name == NULL ? "?" : name);
  }
  luaL_addstring(&b, k->n_params > 0 ? ")" : "");
  luaL_pushresult(&b);
  return lua_tostring(L, -1);
}

static void check_count(lua_State *L, int kernel, int n) {
  const Kernel *k = lua_touserdata(L, kernel);
  if (n > LAUNCH_MAX_ARGS) {
    diag_error(L, "%s: %d arguments; a kernel takes at most %d", k->name, n, LAUNCH_MAX_ARGS);
  }
  if (n < k->n_params || (n > k->n_params && !k->is_vararg)) {
    diag_error(L, "%s: the kernel takes %d arguments%s, got %d", k->name, k->n_params,
               push_parameters(L, kernel, k), n);
  }
}

/* A launch that profile or timeline may record has the trace of one that is not checked: the operations for check
   are no work of the kernel. */
static LaunchNotes notes_of(const Kernel *k, const LaunchArgs *a) {
  const CuttleState *s = k->state;
  if (a->device != NULL) {
    return LAUNCH_NO_NOTES;
  }
  if (s->taps.check != NULL) {
    return ct_check_finds_overflow(s->taps.check) ? LAUNCH_NOTES_OF_OVERFLOW : LAUNCH_NOTES;
  }
  LaunchNotes wanted = s->taps.checks_all && a->wants == LAUNCH_NO_NOTES ? LAUNCH_NOTES : a->wants;
  return s->taps.watch == NULL && s->taps.session == NULL ? wanted : LAUNCH_NO_NOTES;
}

/* What the option `check` asks for. */
static LaunchNotes notes_wanted(const LaunchConfig *c) {
  return !c->check ? LAUNCH_NO_NOTES : c->check_overflow ? LAUNCH_NOTES_OF_OVERFLOW : LAUNCH_NOTES;
}

/* What the key says of the configuration: its begin. */
typedef struct Head {
  unsigned char bytes[sizeof(CtDim3) + sizeof(unsigned) + 3];
} Head;

static Head head_of(const LaunchConfig *c) {
  Head head;
  const unsigned char cluster[] = {(unsigned char)c->cluster.x, (unsigned char)c->cluster.y,
                                   (unsigned char)c->cluster.z};
  memcpy(head.bytes, &c->block, sizeof c->block);
  memcpy(head.bytes + sizeof c->block, &c->shared_bytes, sizeof c->shared_bytes);
  memcpy(head.bytes + sizeof c->block + sizeof c->shared_bytes, cluster, sizeof cluster);
  return head;
}

/* What it says of the launch beside that; it comes next. */
enum { ABOUT_BYTES = sizeof(CtDevice *) + 2 + sizeof(uint32_t) };

static void write_about(LaunchArgs *a) {
  unsigned char *at = a->key.bytes + sizeof(Head);
  memcpy(at, &a->device, sizeof a->device);
  at += sizeof a->device;
  *at++ = a->overlap;
  *at++ = a->notes;
  memcpy(at, &a->marks, sizeof a->marks);
}

static void check_key(lua_State *L, const LaunchArgs *a) {
  if (a->key.len > LAUNCH_KEY_BYTES) {
    diag_error(L,
               "the arguments, modes and captured values of this launch take more than %d "
               "bytes; pass or capture fewer",
               LAUNCH_KEY_BYTES);
  }
}

/* Reads all; *out may turn out to be too small (is_full). */
static void read_all(lua_State *L, int kernel, int first, int n, const LaunchConfig *config,
                     LaunchArgs *out) {
  out->n = out->n_slots = out->n_ir_params = out->n_anchored = 0;
  out->n_lists = out->n_objects = 0;
  out->n_untyped = 0;
  out->device = NULL;
  out->key.len = sizeof(Head) + ABOUT_BYTES;
  out->is_full = false;
  Head head = head_of(config);
  memcpy(out->key.bytes, head.bytes, sizeof head.bytes);
  for (int i = 0; i < n; i++) {
    read_arg(L, kernel, out, (Arg){.idx = first + i, .place = i + 1, .parent = -1}, first + i);
  }
  out->captures = out->key.len;
  launch_put_captures(L, kernel, out);
  out->captures_len = out->key.len - out->captures;
  check_key(L, out);
  out->is_full = out->is_full || out->key.len > out->key.cap;
}

void launch_read(lua_State *L, int kernel, int first, int n, const LaunchConfig *config,
                 LaunchArgs *out) {
  Kernel *k = lua_touserdata(L, kernel);
  check_count(L, kernel, n);
  launch_args_few(L, out);
  out->of = k;
  out->rank = k->state->rank;
  out->has_lent = false;
  out->written = 0;
  out->n_closed = k->state->tensors.n_closed;
  out->spec = 0;
  out->first = first;
  out->n_given = n;
  read_all(L, kernel, first, n, config, out);
  while (out->is_full) {
    launch_args_more(L, out);
    read_all(L, kernel, first, n, config, out);
  }
  check_ranks(L, kernel, out);
  choose_device(L, kernel, out);
  out->overlap = find_overlap(out);
  out->wants = (uint8_t)notes_wanted(config);
  out->notes = (uint8_t)notes_of(k, out);
  out->marks = taps_marks_id(&k->state->taps);
  write_about(out);
}

/* {====== Arguments like those that were read last ======
   Nearly every launch goes this way, so it asks Lua for no more than it needs. */

static bool is_same_tensor(const Arg *arg, const Tensor *t) {
  CtErr err;
  return t == arg->tensor && t->id == arg->tensor_id && tensor_live(t, &err) == CT_OK;
}

/* Finds what the key says of a tensor that no launch has had yet. */
static bool learn_key(const Kernel *k, Tensor *t) {
  CtErr err;
  return !t->in_kernel && tensor_live(t, &err) == CT_OK && tensor_begins_at_byte(t) &&
         launch_measure(t, &err) == CT_OK && t->lo >= 0 && keeps_key(k, t);
}

/* Would launch_read say the same of this tensor as of the one that was read? In m:run a rank's tensors are looked at
   more closely. */
static bool is_like_tensor(const Kernel *k, const LaunchArgs *a, const Arg *arg, Tensor *t) {
  CtErr err;
  if (t->key_len == 0 && !learn_key(k, t)) {
    return false;
  }
  return t->key_len == arg->key_bytes && a->rank < 0 &&
         memcmp(t->key, a->key.bytes + arg->key_at, t->key_len) == 0 &&
         tensor_live(t, &err) == CT_OK && t->storage->device == a->device;
}

/* Puts what a launch has of a tensor in place of that of one that is like it. */
static void move_tensor(const Kernel *k, LaunchArgs *a, Arg *arg, Tensor *t) {
  CtSlotValue *slot = &a->slots[arg->first_slot];
  arg->tensor = t;
  arg->tensor_id = t->id;
  launch_place(t, arg);
  *slot++ = address_slot(arg);
  for (int of_extents = 1; of_extents >= 0; of_extents--) {
    for (Values w = {.k = k, .of = t, .is_extent = of_extents != 0}; next_value(&w, slot);) {
      slot++;
    }
  }
  a->n_elems[arg->param] = n_elems_of(arg);
  a->has_lent = a->has_lent || t->storage->is_lent;
}

/* Is it the same tensor, or one like it? Then *moved is set. */
static bool takes_tensor(lua_State *L, const Kernel *k, LaunchArgs *a, Arg *arg, int idx,
                         bool *moved) {
  Tensor *t = tensor_peek_in(L, k->state, idx);
  if (t == NULL || is_same_tensor(arg, t)) {
    return t != NULL;
  }
  if (!is_like_tensor(k, a, arg, t)) {
    return false;
  }
  *moved = true;
  move_tensor(k, a, arg, t);
  return true;
}

/* A plain Lua number of the type that stands in the key. launch_settle puts one without a type into its slot. */
static bool reread_number(lua_State *L, LaunchArgs *a, Arg *arg, int idx) {
  CtSlotValue *slot = &a->slots[arg->first_slot];
  if (lua_isinteger(L, idx)) {
    slot->i = lua_tointeger(L, idx);
    return arg->dtype == (slot->i == (int32_t)slot->i ? CT_i32 : CT_i64);
  }
  if (lua_type(L, idx) != LUA_TNUMBER || !arg->is_untyped) {
    return false;
  }
  arg->value.f64 = lua_tonumber(L, idx);
  return true;
}

static bool takes_arg(lua_State *L, const Kernel *k, LaunchArgs *a, Arg *arg, int idx,
                      bool *moved) {
  switch (arg->kind) {
    case ARG_TENSOR: return takes_tensor(L, k, a, arg, idx, moved);
    case ARG_NUMBER: return reread_number(L, a, arg, idx);
    case ARG_LIST: return launch_list_is(L, k, idx, arg->list, arg->tensor_id);
    case ARG_OBJECT: return launch_object_is(L, a, arg, idx);
    case ARG_STATIC:
    case ARG_RECORD: break;
  }
  return false;
}

/* While no tensor was closed or collected since the arguments were read, an address tells a tensor that was among
   them from everything else. */
static bool takes_args(lua_State *L, const Kernel *k, LaunchArgs *a, int first, bool *moved) {
  bool are_live = a->n_closed == k->state->tensors.n_closed;
  for (int i = 0; i < a->n; i++) {
    Arg *arg = &a->args[i];
    bool same = are_live && arg->kind == ARG_TENSOR && lua_touserdata(L, first + i) == arg->tensor;
    if (!same && !takes_arg(L, k, a, arg, first + i, moved)) {
      return false;
    }
  }
  a->n_closed = k->state->tensors.n_closed; /* for the tensors are live */
  return true;
}

/* Without tensors the current device decides. */
static bool is_same_device(const CuttleState *s, const LaunchArgs *a) {
  return a->has_tensors || (s->is_device_open && s->device == a->device);
}

/* Is all that the key says beside the arguments still so? */
static bool is_unchanged(lua_State *L, int kernel, LaunchArgs *a) {
  const Kernel *k = a->of;
  a->anchor = 0;
  return a->notes == notes_of(k, a) && a->rank == k->state->rank &&
         a->marks == taps_marks_id(&k->state->taps) && is_same_device(k->state, a) &&
         launch_has_captures(L, kernel, a);
}

bool launch_is_like(const LaunchConfig *c, const LaunchArgs *a) {
  Head head = head_of(c);
  return a->wants == notes_wanted(c) && memcmp(a->key.bytes, head.bytes, sizeof head.bytes) == 0;
}

bool launch_read_moved(lua_State *L, int kernel, LaunchArgs *a) {
  if (!is_unchanged(L, kernel, a)) {
    return false;
  }
  bool overlap = find_overlap(a);
  if (overlap != a->overlap) {
    a->overlap = overlap;
    write_about(a);
    a->spec = 0;
  }
  return true;
}

bool launch_read_again(lua_State *L, int kernel, int first, int n, LaunchArgs *a) {
  bool moved = false;
  return n == a->n && takes_args(L, a->of, a, first, &moved) &&
         (moved ? launch_read_moved(L, kernel, a) : is_unchanged(L, kernel, a));
}
