/* launch_list.c: lists of tensors as arguments; see launch_list.h. */
#include "launch_list.h"

#include <lauxlib.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "interp/trace/front.h"
#include "launch_key.h"
#include "runtime/layout/tuple_leaves.h"

#define HELD_TYPE "list of an argument"

enum { PUSHED_AT_ONCE = 4 }; /* members on the stack at one time */

typedef struct Member {
  Tensor *tensor;
  uint64_t id;
} Member;

/* What is known of a leaf of all members. */
typedef struct Leaf {
  int64_t v;            /* of the first one */
  bool same;            /* that of all */
  bool fixed;           /* in all, by static_mode */
  bool negative, small; /* of some: below 0; 0 or 1 */
  int64_t div;
} Leaf;

struct LaunchList {
  CuttleState *state;
  uint64_t id;
  int64_t n;         /* 0: it is not valid */
  uint64_t n_closed; /* StateTensors.n_closed when its tensors were known to be live */
  Member *members;
  CtSimtSpan *spans;
  int64_t *rows;
  size_t cap_members, cap_spans, cap_rows, cap_nodes, cap_leaves, cap_facts;
  CtNode *nodes;  /* the shape's, then the stride's */
  Leaf *leaves;   /* the same */
  CtFacts *facts; /* of the dynamic leaves */
  LaunchKey key;
  size_t n_leaves, n_columns;
  CtDtype dtype;
  bool is_wide;
  int align;
  CtDevice *device;
  LaunchTable *table; /* on the device; NULL: not copied yet */
};

static char lists_key; /* registry: table -> its list; keys are weak */

/* --- the list of a table ------------------------------------------------------------------------------ */

void launch_table_release(LaunchTable *t) {
  if (t != NULL && --t->n_refs == 0) {
    ct_buffer_free(t->device, &t->buffer, t->stream);
    ct_free(t->alloc, t, sizeof *t);
  }
}

static void drop_table(LaunchList *l) {
  launch_table_release(l->table);
  l->table = NULL;
}

static CtStatus fill_table(LaunchTable *t, const LaunchList *l, size_t bytes, CtErr *err) {
  CtStatus status = ct_buffer_new(t->device, bytes, t->stream, &t->buffer, err);
  return status == CT_OK ? ct_device_write(t->device, t->buffer.ptr, l->rows, bytes, t->stream, err)
                         : status;
}

static CtStatus new_table(LaunchList *l, CtStream stream, size_t bytes, CtErr *err) {
  LaunchTable *t = ct_alloc(l->state->alloc, sizeof *t);
  if (t == NULL) {
    return ct_fail_nomem(err);
  }
  *t = (LaunchTable){.alloc = l->state->alloc, .n_refs = 1, .device = l->device, .stream = stream};
  CtStatus status = fill_table(t, l, bytes, err);
  if (status == CT_OK) {
    l->table = t;
  } else {
    launch_table_release(t);
  }
  return status;
}

static int list_gc(lua_State *L) {
  LaunchList *l = luaL_checkudata(L, 1, HELD_TYPE);
  CtAlloc a = l->state->alloc;
  drop_table(l);
  ct_free(a, l->members, l->cap_members * sizeof *l->members);
  ct_free(a, l->spans, l->cap_spans * sizeof *l->spans);
  ct_free(a, l->rows, l->cap_rows * sizeof *l->rows);
  ct_free(a, l->nodes, l->cap_nodes * sizeof *l->nodes);
  ct_free(a, l->leaves, l->cap_leaves * sizeof *l->leaves);
  ct_free(a, l->facts, l->cap_facts * sizeof *l->facts);
  ct_free(a, l->key.bytes, l->key.cap);
  *l = (LaunchList){.state = l->state};
  return 0;
}

/* Pushes the lists by their tables. */
static void push_lists(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &lists_key) == LUA_TTABLE) {
    return;
  }
  lua_pop(L, 1);
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "k");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &lists_key);
}

static LaunchList *find_list(lua_State *L, int idx) {
  push_lists(L);
  lua_pushvalue(L, idx);
  lua_rawget(L, -2);
  LaunchList *l = lua_touserdata(L, -1);
  lua_pop(L, 2);
  return l;
}

static LaunchList *make_list(lua_State *L, int idx) {
  push_lists(L);
  lua_pushvalue(L, idx);
  LaunchList *l = lua_newuserdatauv(L, sizeof *l, 0);
  *l = (LaunchList){.state = state_of(L)};
  if (luaL_newmetatable(L, HELD_TYPE)) {
    lua_pushcfunction(L, list_gc);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
  lua_rawset(L, -3);
  lua_pop(L, 1);
  return l;
}

/* --- its tensors ---------------------------------------------------------------------------------------- */

/* The tensor at i of the table; pushes the value. */
static Tensor *push_member(lua_State *L, const Kernel *k, int idx, int64_t i) {
  lua_rawgeti(L, idx, i);
  return tensor_peek_in(L, k->state, -1);
}

/* Is the value at the top that member? While none was closed or collected, its address tells. */
static bool is_member(lua_State *L, const Kernel *k, const Member *m, bool are_live) {
  CtErr err;
  bool is_there = lua_touserdata(L, -1) == m->tensor;
  if (are_live || !is_there) {
    return is_there;
  }
  const Tensor *t = tensor_peek_in(L, k->state, -1);
  return t != NULL && t->id == m->id && tensor_live(t, &err) == CT_OK;
}

static bool holds_the_same(lua_State *L, const Kernel *k, int idx, LaunchList *l) {
  bool are_live = l->n_closed == k->state->tensors.n_closed;
  bool same = l->n != 0 && (int64_t)lua_rawlen(L, idx) == l->n;
  int top = lua_gettop(L);
  for (int64_t i = 0; i < l->n && same; i++) {
    lua_rawgeti(L, idx, i + 1);
    same = is_member(L, k, &l->members[i], are_live);
    if ((i + 1) % PUSHED_AT_ONCE == 0) {
      lua_settop(L, top);
    }
  }
  lua_settop(L, top);
  l->n_closed = same ? k->state->tensors.n_closed : l->n_closed;
  return same;
}

/* What a list's members must have in common with the first one. */
static void check_alike(lua_State *L, const Tensor *first, const Tensor *t, const char *title,
                        int64_t i) {
  CtCx cx = bind_cx(L);
  if (t->dtype != first->dtype) {
    diag_error(L,
               "%s: tensor %I is %s, but tensor 1 is %s; the tensors of a list have one element "
               "type, so pass a list for each",
               title, (LUAI_UACINT)i, ct_dtypes[t->dtype].name, ct_dtypes[first->dtype].name);
  }
  if (t->storage->device != first->storage->device) {
    const char *here = launch_push_device(L, first->storage->device);
    diag_error(L, "%s: tensor %I is on %s, but tensor 1 is on %s; move one with t:to(\"%s\")",
               title, (LUAI_UACINT)i, launch_push_device(L, t->storage->device), here, here);
  }
  if (!ct_congruent(t->layout.shape, first->layout.shape)) {
    diag_error(L,
               "%s: tensor %I has layout %s, but tensor 1 %s; the tensors of a list have one rank "
               "and nesting, only extents and strides may differ",
               title, (LUAI_UACINT)i, bind_layout_text(&cx, t->layout),
               bind_layout_text(&cx, first->layout));
  }
}

static Tensor *check_member(lua_State *L, const Kernel *k, int idx, const char *title, int64_t i) {
  Tensor *t = push_member(L, k, idx, i);
  CtErr err;
  if (t == NULL) {
    diag_error(L, "%s: element %I of the list is %s; a list holds tensors of the host only", title,
               (LUAI_UACINT)i, diag_push_kind(L, -1));
    return NULL;
  }
  if (t->in_kernel) {
    diag_error(L, "%s: tensor %I was made in %s; one of the host was expected", title,
               (LUAI_UACINT)i, front_push_owner(L, t->serial));
  }
  if (tensor_live(t, &err) != CT_OK) {
    diag_error(L, "%s: tensor %I %s", title, (LUAI_UACINT)i, err.msg);
  }
  if (!tensor_begins_at_byte(t)) {
    diag_error(
        L, "%s: tensor %I begins within a byte; a kernel's tensor of %s begins at an even element",
        title, (LUAI_UACINT)i, ct_dtypes[t->dtype].name);
  }
  if (!launch_check_measure(L, t)) {
    CtCx cx = bind_cx(L);
    diag_error(L, "%s: tensor %I, %s, reaches before its first element; strides >= 0 are needed",
               title, (LUAI_UACINT)i, bind_layout_text(&cx, t->layout));
  }
  lua_pop(L, 1);
  return t;
}

/* --- what is known of all of them ----------------------------------------------------------------------- */

static size_t count_leaves(CtTuple t) {
  size_t n = 0;
  for (CtLeaves w = ct_leaves_of(t); ct_next_leaf(&w);) {
    n++;
  }
  return n;
}

static Leaf *join_leaves(Leaf *leaf, const Tensor *t, bool is_extent, bool is_first) {
  int n = 0;
  CtTuple of = is_extent ? t->layout.shape : t->layout.stride;
  for (CtLeaves w = ct_leaves_of(of); ct_next_leaf(&w); leaf++, n++) {
    int64_t v = w.shape->i.v, div = ct_divisor(is_extent, v, t->dtype);
    if (is_first) {
      *leaf = (Leaf){.v = v, .same = true, .fixed = true, .div = div};
    }
    leaf->same = leaf->same && leaf->v == v;
    leaf->fixed = leaf->fixed && launch_is_fixed(t, is_extent, n);
    leaf->negative = leaf->negative || v < 0;
    leaf->small = leaf->small || v == 0 || v == 1;
    leaf->div = ct_min(leaf->div, div);
  }
  return leaf;
}

/* A stride of 0 or 1 is a constant if all have it, as that of a tensor; so is a fixed number. */
static bool is_dynamic(const Leaf *leaf, bool is_extent) {
  bool is_constant = leaf->fixed || (!is_extent && (leaf->v == 0 || leaf->v == 1));
  return !leaf->same || !is_constant;
}

static CtFacts facts_of(const LaunchList *l, const Leaf *leaf, bool is_extent) {
  int64_t max = ct_call_most(l->is_wide);
  int64_t lo = leaf->negative ? -max : is_extent || leaf->small ? 0 : 2;
  return (CtFacts){lo, max, leaf->div};
}

/* Makes the leaves of a tuple, at `nodes`, dynamic where they are columns. */
static void settle_leaves(LaunchList *l, CtNode *nodes, uint32_t len, const Leaf *leaf,
                          bool is_extent) {
  for (uint32_t i = 0; i < len; i++) {
    if (nodes[i].rank != CT_LEAF) {
      continue;
    }
    if (is_dynamic(leaf, is_extent)) {
      nodes[i].i = (CtInt){.kind = CT_DYNAMIC};
      l->facts[l->n_columns++ - 1] = facts_of(l, leaf, is_extent);
    }
    leaf++;
  }
}

/* The key: all that launch_list_spec says. */
static void put_key(LaunchList *l, uint32_t n_nodes) {
  const unsigned char head[] = {'L', (unsigned char)l->dtype, l->is_wide, (unsigned char)l->align};
  launch_put(&l->key, head, sizeof head);
  for (uint32_t i = 0; i < n_nodes; i++) {
    const CtNode *node = &l->nodes[i];
    int64_t v = node->rank == CT_LEAF && node->i.kind == CT_STATIC ? node->i.v : -1;
    launch_put(&l->key, &node->rank, sizeof node->rank);
    launch_put(&l->key, &node->name, sizeof node->name);
    launch_put(&l->key, &v, sizeof v);
  }
  for (size_t i = 0; i + 1 < l->n_columns; i++) {
    launch_put(&l->key, &l->facts[i], sizeof l->facts[i]);
  }
}

#define GROW(l, array, cap, need)                                                                  \
  (CT_GROW((l)->state->alloc, (l)->array, (l)->cap, (need), NULL) == CT_OK)

/* Room for n tensors with layouts such as this one. */
static bool make_room(LaunchList *l, int64_t n, CtLayout like) {
  size_t n_nodes = (size_t)like.shape->len + like.stride->len;
  l->n_leaves = count_leaves(like.shape) + count_leaves(like.stride);
  size_t key = 16 + n_nodes * (sizeof(CtNode) + 8) + l->n_leaves * sizeof(CtFacts);
  return GROW(l, members, cap_members, (size_t)n) && GROW(l, spans, cap_spans, (size_t)n) &&
         GROW(l, rows, cap_rows, (size_t)n * (l->n_leaves + 1)) &&
         GROW(l, nodes, cap_nodes, n_nodes) && GROW(l, leaves, cap_leaves, l->n_leaves) &&
         GROW(l, facts, cap_facts, l->n_leaves + 1) && GROW(l, key.bytes, key.cap, key);
}

/* --- rows ------------------------------------------------------------------------------------------------ */

static int64_t *put_columns(int64_t *row, const CtNode *nodes, CtTuple t) {
  for (uint32_t i = 0; i < t->len; i++) {
    if (nodes[i].rank == CT_LEAF && nodes[i].i.kind == CT_DYNAMIC) {
      *row++ = t[i].i.v;
    }
  }
  return row;
}

static void put_rows(LaunchList *l, int64_t n) {
  int64_t *row = l->rows;
  for (int64_t i = 0; i < n; i++) {
    const Tensor *t = l->members[i].tensor;
    uint64_t at = launch_address(t);
    *row++ = (int64_t)at;
    row = put_columns(row, l->nodes, t->layout.shape);
    row = put_columns(row, l->nodes + t->layout.shape->len, t->layout.stride);
    char *begin = t->storage->device == NULL ? (char *)t->storage->host : NULL;
    begin = begin == NULL ? NULL : begin + (at - ct_storage_place(t->storage));
    uint64_t end = at + (uint64_t)ct_dtype_span(t->dtype, t->hi + 1);
    int64_t bytes = (int64_t)(launch_end_of(t, end) - at);
    l->spans[i] = (CtSimtSpan){begin, begin == NULL ? NULL : begin + bytes};
  }
}

/* --- reading ---------------------------------------------------------------------------------------------- */

static void join_members(LaunchList *l, int64_t n) {
  const Tensor *first = l->members[0].tensor;
  uint64_t low = 0;
  l->is_wide = false;
  for (int64_t i = 0; i < n; i++) {
    const Tensor *t = l->members[i].tensor;
    Leaf *strides = join_leaves(l->leaves, t, true, i == 0);
    (void)join_leaves(strides, t, false, i == 0);
    l->is_wide = l->is_wide || t->is_wide;
    low |= launch_address(t);
  }
  l->align = ct_call_align(low);
  l->dtype = first->dtype;
  l->device = first->storage->device;
}

static void settle(LaunchList *l, int64_t n) {
  CtLayout like = l->members[0].tensor->layout;
  size_t n_extents = count_leaves(like.shape);
  memcpy(l->nodes, like.shape, like.shape->len * sizeof *l->nodes);
  memcpy(l->nodes + like.shape->len, like.stride, like.stride->len * sizeof *l->nodes);
  l->n_columns = 1;
  settle_leaves(l, l->nodes, like.shape->len, l->leaves, true);
  settle_leaves(l, l->nodes + like.shape->len, like.stride->len, l->leaves + n_extents, false);
  l->key.len = 0;
  put_key(l, like.shape->len + like.stride->len);
  put_rows(l, n);
}

static void rebuild(lua_State *L, const Kernel *k, int idx, LaunchList *l, const char *title) {
  int64_t n = (int64_t)lua_rawlen(L, idx);
  const Tensor *first = check_member(L, k, idx, title, 1);
  l->n = 0; /* it is not valid while something may raise */
  l->n_closed = l->state->tensors.n_closed;
  drop_table(l);
  if (!make_room(l, n, first->layout)) {
    luaL_error(L, "not enough memory");
  }
  for (int64_t i = 0; i < n; i++) {
    Tensor *t = check_member(L, k, idx, title, i + 1);
    check_alike(L, first, t, title, i + 1);
    l->members[i] = (Member){t, t->id};
  }
  join_members(l, n);
  uint64_t bytes = ct_value_bytes(l->dtype);
  if ((uint64_t)l->align < bytes && bytes <= CT_CALL_MAX_ALIGN) {
    diag_error(L, "%s: a tensor does not begin at a multiple of the %d bytes of %s", title,
               (int)bytes, ct_dtypes[l->dtype].name);
  }
  settle(l, n);
  l->id = ++l->state->tensors.n_made;
  l->n = n;
}

bool launch_is_list(lua_State *L, const Kernel *k, int idx) {
  bool is = push_member(L, k, idx, 1) != NULL;
  lua_pop(L, 1);
  return is;
}

LaunchList *launch_list_read(lua_State *L, const Kernel *k, int idx, int title) {
  LaunchList *l = find_list(L, idx);
  l = l == NULL ? make_list(L, idx) : l;
  if (!holds_the_same(L, k, idx, l)) {
    rebuild(L, k, idx, l, lua_tostring(L, title));
  }
  return l;
}

bool launch_list_is(lua_State *L, const Kernel *k, int idx, LaunchList *list, uint64_t id) {
  return lua_istable(L, idx) && find_list(L, idx) == list && list->id == id &&
         holds_the_same(L, k, idx, list);
}

/* --- what launches ask ------------------------------------------------------------------------------------- */

uint64_t launch_list_id(const LaunchList *l) { return l->id; }
CtDevice *launch_list_device(const LaunchList *l) { return l->device; }

const Tensor *launch_list_tensor(const LaunchList *l, int64_t i) { return l->members[i].tensor; }
int64_t launch_list_size(const LaunchList *l) { return l->n; }
int64_t launch_list_elems(const LaunchList *l) { return l->n * (int64_t)l->n_columns; }
const void *launch_list_rows(const LaunchList *l) { return l->rows; }
CtSimtList launch_list_members(const LaunchList *l) { return (CtSimtList){l->spans, l->n}; }

const LaunchKey *launch_list_key(const LaunchList *l) { return &l->key; }

CtTensorSpec launch_list_spec(const LaunchList *l, const char *name) {
  return (CtTensorSpec){.name = name,
                        .dtype = l->dtype,
                        .index = l->is_wide ? CT_i64 : CT_i32,
                        .align = (uint32_t)l->align,
                        .shape = l->nodes,
                        .stride = l->nodes + l->nodes->len,
                        .facts = l->facts};
}

CtStatus launch_list_upload(LaunchList *l, CtStream stream, CtDevPtr *out, CtErr *err) {
  size_t bytes = (size_t)launch_list_elems(l) * sizeof *l->rows;
  CtStatus status = CT_OK;
  if (ct_device_is_capturing(l->device, stream)) { /* a graph needs a table that stays */
    return ct_graph_data(l->device, l->rows, bytes, out, err);
  }
  if (l->table == NULL ||
      l->table->stream != stream) { /* launches on the other one have the old one */
    drop_table(l);
    status = new_table(l, stream, bytes, err);
  }
  *out = status == CT_OK ? l->table->buffer.ptr : 0;
  return status;
}

LaunchTable *launch_list_table(const LaunchList *l) { return l->table; }

bool launch_next_tensor(LaunchTensors *w) {
  for (const LaunchArgs *a = w->args; w->at < a->n; w->at++, w->member = 0) {
    const Arg *arg = w->arg = &a->args[w->at];
    if (arg->kind == ARG_TENSOR) {
      w->tensor = arg->tensor;
      w->at++;
      return true;
    }
    if (arg->kind == ARG_LIST && w->member < arg->list->n) {
      w->tensor = arg->list->members[w->member++].tensor;
      return true;
    }
  }
  return false;
}
