/* launch_lent.c: launches with memory that a host lends; launch_lent.h. */
#include "launch_lent.h"

#include <lauxlib.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "interp/state/diag.h"
#include "launch_brief.h"
#include "launch_key.h"
#include "runtime/base/size.h"
#include "runtime/layout/walk.h"

enum { MAX_SITES = 64 }; /* of one kernel; then it forgets them all */
enum { MAX_RANK = 32 };  /* of memory */
enum { SITE_ARGS = 1, SITE_TENSORS, SITE_VALUES = SITE_TENSORS };

/* What an argument of a site's launches has to be. */
typedef struct SiteArg {
  CtCallSpan span;     /* of the launch under way, of memory; first: ct_spans_overlap */
  cuttle_ArgKind kind; /* I64 of an INT that needs 64 bits */
  CtDtype dtype;       /* of a number, as the kernel takes it */
  int slot;            /* of memory or a number, among the launch's values */
  int32_t device;      /* of memory, */
  bool is_read_only;
  CtTerms terms;     /* and the rest of it */
  int64_t value;     /* of a STATIC */
  size_t text_bytes; /* of a text; */
  char *text;        /* NULL: there was none */
} SiteArg;

/* What a launch of the kernel learned of arguments like its own, for the next such launch. */
typedef struct LaunchSite {
  struct LaunchSite *next;
  int call;  /* the depth of the call of the host that uses it, or did when it failed; 0: none */
  int place; /* in the kernel's list of sites */
  bool is_read;
  /* StateTurn.number when a launch found all in place, and with what: launch_lent_again. 0: never. */
  uint64_t turn;
  CtDim3 grid;
  bool pdl, cooperative;
  int n;
  SiteArg *wants; /* n of them, after the struct; then terms and texts */
  LaunchBrief brief;
  LaunchArgs args;
} LaunchSite;

static char lent_mark; /* its address marks the storages of sites */

/* {====== The host's arguments ====== */

static const char *title_of(lua_State *L, int kernel, int i) {
  Arg arg = {.place = i + 1, .parent = -1};
  return launch_push_title(L, kernel, NULL, &arg);
}

static bool is_sound(const cuttle_Memory *m) {
  return m != NULL && m->rank >= 0 && m->rank <= MAX_RANK && (m->rank == 0 || m->shape != NULL) &&
         (int)m->dtype >= CUTTLE_F64 && m->dtype <= CUTTLE_BOOL && m->device >= -1 &&
         m->device < STATE_MAX_DEVICES;
}

static void check_memory(lua_State *L, const cuttle_Memory *m, const char *what) {
  if (is_sound(m)) {
    return;
  }
  if (m == NULL) {
    diag_error(L, "%s: the memory is NULL", what);
  }
  if (m->rank < 0 || m->rank > MAX_RANK || (m->rank > 0 && m->shape == NULL)) {
    diag_error(L, "%s: memory of rank %d with its shape at %p; expected a rank of 0 to %d", what,
               (int)m->rank, (const void *)m->shape, MAX_RANK);
  }
  if ((int)m->dtype < CUTTLE_F64 || m->dtype > CUTTLE_BOOL) {
    diag_error(L, "%s: %d is no element type; one of cuttle_DType was expected", what,
               (int)m->dtype);
  }
  if (m->device < -1 || m->device >= STATE_MAX_DEVICES) {
    diag_error(L, "%s: device %d; expected -1, the host, or the number of a CUDA device", what,
               (int)m->device);
  }
}

/* The length of a constant's text; 0 of other arguments, and of a text that is not there. */
static size_t text_bytes(const cuttle_Arg *arg) {
  bool is_text = (unsigned)arg->kind >= CUTTLE_ARG_TEXT && (unsigned)arg->kind <= CUTTLE_ARG_LAYOUT;
  return is_text && arg->u.text != NULL ? strlen(arg->u.text) : 0;
}

/* Raises if some memory is not described soundly. */
static void check_memories(lua_State *L, int kernel, const LaunchLent *lent) {
  for (int i = 0; i < lent->n; i++) {
    const cuttle_Memory *m = lent->args[i].u.memory;
    if (lent->args[i].kind == CUTTLE_ARG_MEMORY && !is_sound(m)) {
      check_memory(L, m,
                   m == NULL || m->rank > MAX_RANK ? title_of(L, kernel, i) : "cuttle_launch");
    }
  }
}

static cuttle_ArgKind kind_of(const cuttle_Arg *a) {
  bool is_wide = a->kind == CUTTLE_ARG_INT && a->u.i != (int32_t)a->u.i;
  return is_wide ? CUTTLE_ARG_I64 : a->kind;
}

/* A single element is a mode of extent 1. */
static CtCallTensor call_of(const cuttle_Memory *m) {
  static const int64_t one = 1, none = 0;
  return m->rank == 0 ? (CtCallTensor){m->ptr, &one, &none, 1, (CtDtype)m->dtype}
                      : (CtCallTensor){m->ptr, m->shape, m->stride, m->rank, (CtDtype)m->dtype};
}

/* {====== Tensors of the host's memory ====== */

static CtLayout layout_of(lua_State *L, const cuttle_Memory *m, const char *what) {
  CtInt shape[MAX_RANK], stride[MAX_RANK];
  CtCx cx = bind_enter(L);
  int64_t dense = 1;
  for (int i = m->rank - 1; i >= 0; i--) {
    shape[i] = ct_int(m->shape[i]);
    stride[i] = ct_int(m->stride == NULL ? dense : m->stride[i]);
    dense = ct_call_next_stride(dense, m->shape[i]);
  }
  for (int i = 0; i < m->rank; i++) {
    if (shape[i].v < 0 || stride[i].v < 0) {
      diag_error(L, "%s: mode %d has extent %I and stride %I; expected both to be >= 0", what, i,
                 (LUAI_UACINT)shape[i].v, (LUAI_UACINT)stride[i].v);
    }
  }
  CtLayout l = {ct_leaf(cx.arena, m->rank == 1 ? shape[0] : ct_int(1)),
                ct_leaf(cx.arena, m->rank == 1 ? stride[0] : ct_int(0))};
  if (m->rank > 1) {
    l = (CtLayout){ct_tuple_ints(cx.arena, m->rank, shape),
                   ct_tuple_ints(cx.arena, m->rank, stride)};
  }
  if (l.shape == NULL || l.stride == NULL) {
    luaL_error(L, "not enough memory");
  }
  return l;
}

Tensor *launch_push_lent(lua_State *L, const cuttle_Memory *m, const char *what, size_t *bytes) {
  check_memory(L, m, what);
  CtLayout l = layout_of(L, m, what);
  int64_t lo, hi, size;
  CtErr err;
  diag_check(L, ct_walk_bounds(l, &lo, &hi, &size, &err), &err);
  int64_t last = hi < lo ? -1 : hi;
  if (last == INT64_MAX || !ct_fits_memory(last + 1, ct_dtype_bytes((CtDtype)m->dtype), bytes)) {
    diag_error(L, "%s: the memory spans more bytes than there can be", what);
  }
  if (m->ptr == NULL && *bytes > 0) {
    diag_error(L, "%s: the pointer is NULL; the elements span %I bytes", what, (LUAI_UACINT)*bytes);
  }
  return tensor_push_new(L, (CtDtype)m->dtype, l, ct_int(0));
}

CtStatus launch_lend(CuttleState *s, Tensor *t, const cuttle_Memory *m, size_t bytes,
                     CtStorageFree free, void *free_ud, CtErr *err) {
  CtDevice *d = NULL;
  CtStatus st = m->device < 0 ? CT_OK : state_cuda(s, m->device, &d, err);
  if (st == CT_OK) {
    st = ct_storage_wrap(s->alloc, d, m->ptr, bytes, free, free_ud, &t->storage, err);
  }
  if (st != CT_OK) {
    return st;
  }
  t->storage->is_read_only = m->is_read_only != 0;
  if (d == NULL) {
    ct_storage_enter(t->storage, &s->memory.storages);
  }
  return CT_OK;
}

/* {====== Sites ====== */

/* What stands after the array of arguments of a site: what was taken last comes first, as each launch reads it. */
typedef struct Room {
  size_t n_leaves, n_bytes; /* of texts */
  int64_t *taken;
  CtTerm *terms;
  char *texts;
} Room;

static Room room_for(const LaunchLent *lent) {
  Room r = {.n_leaves = 0};
  for (int i = 0; i < lent->n; i++) {
    const cuttle_Arg *a = &lent->args[i];
    bool is_memory = a->kind == CUTTLE_ARG_MEMORY;
    r.n_leaves += is_memory ? 2 * (size_t)call_of(a->u.memory).rank : 0;
    r.n_bytes += text_bytes(a);
  }
  return r;
}

/* What is wanted of an argument like this one; its terms are filled when it is read. */
static SiteArg want(const cuttle_Arg *a, Room *room) {
  SiteArg w = {.kind = kind_of(a)};
  if (a->kind == CUTTLE_ARG_MEMORY) {
    const CtCallTensor t = call_of(a->u.memory);
    w.device = a->u.memory->device;
    w.is_read_only = a->u.memory->is_read_only != 0;
    w.terms =
        (CtTerms){.dtype = t.dtype, .rank = t.rank, .terms = room->terms, .taken = room->taken};
    room->terms += 2 * t.rank;
    room->taken += 2 * t.rank;
  } else if (a->kind == CUTTLE_ARG_STATIC) {
    w.value = a->u.i;
  } else if (a->kind >= CUTTLE_ARG_TEXT && a->kind <= CUTTLE_ARG_LAYOUT && a->u.text != NULL) {
    w.text = room->texts;
    w.text_bytes = text_bytes(a);
    memcpy(w.text, a->u.text, w.text_bytes);
    room->texts += w.text_bytes;
  }
  return w;
}

/* Pushes a new one, which is not among the kernel's yet. */
static LaunchSite *push_site(lua_State *L, const LaunchLent *lent) {
  size_t n = (size_t)lent->n;
  Room room = room_for(lent);
  size_t more = room.n_leaves * (sizeof *room.taken + sizeof *room.terms) + room.n_bytes;
  LaunchSite *site =
      lua_newuserdatauv(L, sizeof *site + n * sizeof *site->wants + more, SITE_VALUES);
  site->next = NULL;
  site->call = 0;
  site->is_read = false;
  site->turn = 0;
  site->brief.fn = NULL;
  site->args.n = 0;
  site->n = lent->n;
  site->wants = (SiteArg *)(void *)(site + 1);
  room.taken = (int64_t *)(void *)(site->wants + n);
  room.terms = (CtTerm *)(void *)(room.taken + room.n_leaves);
  room.texts = (char *)(room.terms + room.n_leaves);
  for (size_t i = 0; i < n; i++) {
    site->wants[i] = want(&lent->args[i], &room);
  }
  return site;
}

/* The tensors of a new site, at their arguments' places in its list, with the host's memory. */
static void make_tensors(lua_State *L, int kernel, const LaunchLent *lent) {
  const Kernel *k = lua_touserdata(L, kernel);
  int self = lua_gettop(L);
  lua_createtable(L, lent->n, 0);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, self, SITE_TENSORS);
  for (int i = 0; i < lent->n; i++) {
    CtErr err;
    size_t bytes;
    const cuttle_Memory *m = lent->args[i].u.memory;
    if (lent->args[i].kind == CUTTLE_ARG_MEMORY) {
      const char *title = title_of(L, kernel, i);
      Tensor *t = launch_push_lent(L, m, title, &bytes);
      diag_check(L, launch_lend(k->state, t, m, bytes, NULL, &lent_mark, &err), &err);
      tensor_is_new(L, t);
      lua_rawseti(L, self + 1, i + 1);
      lua_pop(L, 1);
    }
  }
  lua_settop(L, self);
}

/* Constants stay with the arguments, whose anchor is at the top: a later launch may trace the kernel again. */
static void anchor_objects(lua_State *L, LaunchArgs *a) {
  for (int i = 0; i < a->n && a->n_objects > 0; i++) {
    Arg *arg = &a->args[i];
    if (arg->kind == ARG_OBJECT) {
      arg->anchored = 2 + a->n_anchored++;
      lua_pushvalue(L, arg->idx);
      launch_anchor(L, a, arg->anchored);
      arg->idx = 0;
    }
  }
}

/* The rows that the tensor of a site, which has been read, follows from. */
static void set_terms(const Kernel *k, CtTerms *g, const Arg *arg) {
  const Tensor *t = arg->tensor;
  uint32_t slot = 0;
  CtTerm *leaf = g->terms;
  g->align = ct_call_align(arg->address);
  g->is_wide = t->is_wide;
  g->is_taken = false;
  g->most_last = ct_terms_most_last(t->dtype, t->is_wide);
  for (int is_stride = 0; is_stride < 2; is_stride++) {
    CtTuple of = is_stride ? t->layout.stride : t->layout.shape;
    int n = 0;
    for (CtLeaves w = ct_leaves_of(of); ct_next_leaf(&w); leaf++, n++) {
      int64_t v = w.shape->i.v;
      *leaf = launch_term(k, t, !is_stride, n, v);
      leaf->slot = launch_is_slot(k, t, !is_stride, n, v) ? ++slot : 0;
      leaf->high = is_stride || t->is_wide ? leaf->high : ct_min(leaf->high, CT_MOST_NARROW - 1);
    }
  }
}

static void set_wants(const Kernel *k, LaunchSite *site) {
  for (int i = 0; i < site->n; i++) {
    SiteArg *w = &site->wants[i];
    const Arg *arg = &site->args.args[i];
    w->slot = arg->first_slot;
    w->span = arg->span;
    if (w->kind == CUTTLE_ARG_MEMORY) {
      set_terms(k, &w->terms, arg);
    }
  }
}

/* Reads the arguments of the site at the top, whose tensors have the memory. */
static void read_site(lua_State *L, int kernel, const LaunchConfig *config, LaunchSite *site,
                      const LaunchLent *lent) {
  int self = lua_gettop(L);
  luaL_checkstack(L, lent->n + 8, "too many arguments");
  site->is_read = false; /* launch_read may raise half-way */
  lua_getiuservalue(L, self, SITE_TENSORS);
  for (int i = 0; i < lent->n; i++) {
    if (lent->args[i].kind == CUTTLE_ARG_MEMORY) {
      lua_rawgeti(L, self + 1, i + 1);
    } else {
      lent->push(L, &lent->args[i]);
    }
  }
  launch_read(L, kernel, self + 2, lent->n, config, &site->args);
  anchor_objects(L, &site->args);
  lua_setiuservalue(L, self, SITE_ARGS); /* what keeps its arrays */
  lua_settop(L, self);
  set_wants(lua_touserdata(L, kernel), site);
  site->is_read = true;
}

/* Pushes the kernel's list of sites, an empty one where there are too many. */
static void push_sites(lua_State *L, int kernel) {
  Kernel *k = lua_touserdata(L, kernel);
  if (lua_getiuservalue(L, kernel, KERNEL_SITES) != LUA_TTABLE || k->n_sites == MAX_SITES) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, kernel, KERNEL_SITES);
    k->sites = NULL;
    k->n_sites = 0;
  }
}

/* The site at the top becomes one of the kernel's. */
static void keep_site(lua_State *L, int kernel, LaunchSite *site) {
  Kernel *k = lua_touserdata(L, kernel);
  push_sites(L, kernel);
  lua_pushvalue(L, -2);
  site->place = ++k->n_sites;
  lua_rawseti(L, -2, site->place);
  lua_pop(L, 1);
  site->next = k->sites;
  k->sites = site;
}

static void push_kept(lua_State *L, int kernel, const LaunchSite *site) {
  lua_getiuservalue(L, kernel, KERNEL_SITES);
  lua_rawgeti(L, -1, site->place);
  lua_remove(L, -2);
}

/* A call further out, in which this one was made, may use it. */
static bool is_busy(const CuttleState *s, const LaunchSite *site) {
  return site->call != 0 && site->call < s->n_calls;
}

/* Is it such an argument? Notes what the launch has of it. */
static bool takes(SiteArg *w, const cuttle_Arg *a, CtSlotValue *slots) {
  if (kind_of(a) != w->kind) {
    return false;
  }
  switch (w->kind) {
    case CUTTLE_ARG_MEMORY: {
      const cuttle_Memory *m = a->u.memory;
      if (!is_sound(m)) {
        return false;
      }
      const CtCallTensor t = call_of(m);
      return m->device == w->device && (m->is_read_only != 0) == w->is_read_only &&
             ct_terms_take(&w->terms, &t, &slots[w->slot], &w->span);
    }
    case CUTTLE_ARG_STATIC: return a->u.i == w->value;
    case CUTTLE_ARG_TEXT:
    case CUTTLE_ARG_TUPLE:
    case CUTTLE_ARG_LAYOUT:
      return a->u.text != NULL && w->text != NULL && text_bytes(a) == w->text_bytes &&
             memcmp(a->u.text, w->text, w->text_bytes) == 0;
    case CUTTLE_ARG_INT:
    case CUTTLE_ARG_FLOAT:
    case CUTTLE_ARG_BOOL:
    case CUTTLE_ARG_I64:
    case CUTTLE_ARG_F64: slots[w->slot] = launch_host_number(a, w->dtype); return true;
    case CUTTLE_ARG_NIL: return true;
    case CUTTLE_ARG_TENSOR: break; /* a launch with one has a site of its own */
  }
  return false;
}

static bool takes_all(LaunchSite *site, const LaunchConfig *c, const LaunchLent *lent) {
  bool does = site->n == lent->n && launch_is_like(c, &site->args);
  for (int i = 0; i < lent->n && does; i++) {
    does = takes(&site->wants[i], &lent->args[i], site->args.slots);
  }
  return does;
}

/* The site that takes the arguments, which becomes the first one. */
static LaunchSite *find_site(Kernel *k, const LaunchConfig *c, const LaunchLent *lent) {
  LaunchSite **link = &k->sites;
  for (LaunchSite *site = *link; site != NULL; link = &site->next, site = *link) {
    if (site->is_read && !is_busy(k->state, site) && takes_all(site, c, lent)) {
      *link = site->next;
      site->next = k->sites;
      k->sites = site;
      return site;
    }
  }
  return NULL;
}

/* Puts numbers that were taken into the tensor's own tuple. */
static void set_leaves(CtTuple of, const CtTerm *leaf, const CtSlotValue *slots) {
  CtNode *nodes = (CtNode *)(uintptr_t)of; /* the site's own tensor */
  for (uint32_t i = 0; i < of->len; i++) {
    if (nodes[i].rank == CT_LEAF) {
      nodes[i].i.v = leaf->slot == 0 ? leaf->low : slots[leaf->slot].i;
      leaf++;
    }
  }
}

static void move_tensor(lua_State *L, CuttleState *s, LaunchArgs *a, Arg *arg, const SiteArg *w) {
  Tensor *t = arg->tensor;
  CtStorage *storage = t->storage;
  const CtSlotValue *slots = &a->slots[arg->first_slot];
  uint64_t bytes = w->span.end - w->span.begin;
  int64_t n = (int64_t)(bytes / ct_dtype_bytes(t->dtype));
  arg->address = w->span.begin;
  arg->span = w->span;
  a->n_elems[arg->param] = n;
  set_leaves(t->layout.shape, w->terms.terms, slots);
  set_leaves(t->layout.stride, w->terms.terms + w->terms.rank, slots);
  t->hi = n - 1;
  storage->bytes = (size_t)bytes;
  if (storage->device == NULL) {
    storage->host = (void *)(uintptr_t)w->span.begin;
    ct_storage_leave(storage);
    ct_storage_enter(storage, &s->memory.storages);
    tensor_is_new(L, t);
  } else {
    storage->buf = (CtBuffer){.ptr = w->span.begin, .bytes = (size_t)bytes};
  }
}

/* Puts the launch's memory and numbers, which the site has taken, into its arguments. */
static void move_site(lua_State *L, CuttleState *s, LaunchSite *site, const LaunchLent *lent) {
  LaunchArgs *a = &site->args;
  for (int i = 0; i < lent->n; i++) {
    Arg *arg = &a->args[i];
    if (arg->kind == ARG_TENSOR) {
      move_tensor(L, s, a, arg, &site->wants[i]);
    } else if (arg->kind == ARG_NUMBER) {
      a->slots[arg->first_slot] = launch_host_number(&lent->args[i], arg->dtype);
      arg->value =
          arg->is_untyped ? launch_host_number(&lent->args[i], CT_f64) : a->slots[arg->first_slot];
    }
  }
}

static void end_site(LaunchSite *site) {
  for (int i = 0; i < site->args.n; i++) {
    const Arg *arg = &site->args.args[i];
    if (arg->kind == ARG_TENSOR && arg->tensor->storage->free_ud == &lent_mark) {
      ct_storage_leave(arg->tensor->storage);
    }
  }
  site->call = 0;
}

void launch_lent_failed(CuttleState *s) {
  CtStorage *next;
  for (CtStorage *storage = s->memory.storages.first; storage != NULL; storage = next) {
    next = storage->next;
    if (storage->free_ud == &lent_mark) {
      ct_storage_leave(storage);
    }
  }
}

/* {====== Kernels that were looked up in this turn ====== */

static StateKnown *place_of(CuttleState *s, const void *kernel) {
  return &s->turn.known[((uintptr_t)kernel >> 6) % STATE_KNOWN];
}

static void know(CuttleState *s, const Kernel *k) {
  *place_of(s, k) = (StateKnown){.kernel = k, .turn = s->turn.number};
}

static bool is_known(CuttleState *s, const void *kernel) {
  const StateKnown *known = place_of(s, kernel);
  return known->kernel == kernel && known->turn == s->turn.number && kernel != NULL;
}

/* {====== The launch ====== */

static bool has_tensors(const LaunchLent *lent) {
  bool has = false;
  for (int i = 0; i < lent->n; i++) {
    has = has || lent->args[i].kind == CUTTLE_ARG_TENSOR;
  }
  return has;
}

/* Pushes the site of a first launch. */
static LaunchSite *new_site(lua_State *L, int kernel, const LaunchConfig *config,
                            const LaunchLent *lent) {
  const Kernel *k = lua_touserdata(L, kernel);
  check_memories(L, kernel, lent);
  LaunchSite *site = push_site(L, lent);
  site->call = k->state->n_calls;
  make_tensors(L, kernel, lent);
  read_site(L, kernel, config, site, lent);
  if (!has_tensors(lent)) {
    keep_site(L, kernel, site);
  }
  return site;
}

/* Pushes the site, with what this launch has. False: it had to read the arguments anew. */
static bool use_site(lua_State *L, int kernel, const LaunchConfig *config, LaunchSite *site,
                     const LaunchLent *lent) {
  const Kernel *k = lua_touserdata(L, kernel);
  site->call = k->state->n_calls;
  push_kept(L, kernel, site);
  move_site(L, k->state, site, lent);
  bool is_same = launch_read_moved(L, kernel, &site->args);
  if (!is_same) {
    read_site(L, kernel, config, site, lent);
  }
  return is_same;
}

static void take_stream(LaunchConfig *config, const LaunchLent *lent, const LaunchArgs *a) {
  if (lent->use_stream && a->device != NULL) {
    config->stream = lent->stream;
    config->stream_device = a->device;
  }
}

/* On the CPU engine little would be saved; printf calls the host. */
static bool may_go_alone(const Kernel *k, const LaunchSite *site) {
  const CuttleState *s = k->state;
  return s->n_calls == 1 && !s->turn.is_open_to_host && site->args.device != NULL &&
         site->args.n_lists == 0 && k->specs->prints == NULL;
}

static const Spec *spec_of(const Kernel *k, const LaunchArgs *a) {
  const Spec *spec = k->specs;
  while (spec != NULL && spec->id != a->spec) {
    spec = spec->next;
  }
  return spec;
}

/* The trace has said what numbers without a type are. */
static void note_dtypes(LaunchSite *site) {
  for (int i = 0; i < site->n; i++) {
    site->wants[i].dtype = site->args.args[i].dtype;
  }
}

/* After a launch that looked at everything, made nothing and ran nothing: a state's turn is over when something
   may have changed, which this launch did not. */
static void end_quietly(lua_State *L, int kernel, const LaunchConfig *config, LaunchSite *site) {
  const Kernel *k = lua_touserdata(L, kernel);
  if (may_go_alone(k, site)) {
    site->turn = --k->state->turn.number;
    site->grid = config->grid;
    site->pdl = config->pdl;
    site->cooperative = config->cooperative;
    note_dtypes(site);
    launch_brief_note(&site->brief, spec_of(k, &site->args), config);
    know(k->state, k);
  }
}

void launch_lent(lua_State *L, int kernel, LaunchConfig *config, const LaunchLent *lent) {
  Kernel *k = lua_touserdata(L, kernel);
  uint64_t turn = k->state->turn.number, spec = 0;
  luaL_checkstack(L, 16, NULL);
  LaunchSite *site = find_site(k, config, lent);
  if (site == NULL) {
    site = new_site(L, kernel, config, lent);
  } else if (use_site(L, kernel, config, site, lent)) {
    spec = site->args.spec; /* 0: not known yet */
  }
  lua_getiuservalue(L, -1, SITE_ARGS);
  site->args.anchor = lua_gettop(L);
  take_stream(config, lent, &site->args);
  launch_kernel(L, kernel, config, &site->args, 1);
  k->state->turn.written = site->args.written;
  end_site(site);
  if (spec != 0 && spec == site->args.spec && turn == k->state->turn.number) {
    end_quietly(L, kernel, config, site);
  }
}

/* {====== The launch without Lua ====== */

static bool is_plain(const CuttleState *s) {
  return s->n_calls == 0 && !s->is_closing && !s->is_printing && !s->turn.is_open_to_host &&
         !taps_are_open(&s->taps);
}

static bool is_in_place(const CuttleState *s, const LaunchSite *site, const LaunchConfig *c) {
  return site->turn == s->turn.number && site->grid.x == c->grid.x && site->grid.y == c->grid.y &&
         site->grid.z == c->grid.z && site->pdl == c->pdl && site->cooperative == c->cooperative;
}

/* A host's graph must keep what it launches, for which Lua is needed. */
static bool is_for_graph(const Spec *spec, const LaunchConfig *c, const LaunchArgs *a) {
  return !spec->is_captured && ct_device_is_capturing(a->device, launch_stream(c, a->device));
}

bool launch_lent_again(CuttleState *s, const void *kernel, LaunchConfig *config,
                       const LaunchLent *lent, CtStatus *status, CtErr *err) {
  if (!is_plain(s) || !is_known(s, kernel)) {
    return false;
  }
  Kernel *k = (Kernel *)(uintptr_t)kernel;
  LaunchSite *site = find_site(k, config, lent);
  if (site == NULL || !is_in_place(s, site, config)) {
    return false;
  }
  LaunchArgs *a = &site->args;
  bool overlap = ct_spans_overlap(&site->wants->span, sizeof *site->wants, site->n);
  s->turn.written = a->written;
  if (overlap == a->overlap && launch_brief_run(&site->brief, a->slots, lent, status, err)) {
    return true;
  }
  const Spec *spec = spec_of(k, a);
  move_site(s->L, s, site, lent);
  take_stream(config, lent, a);
  if (spec == NULL || a->overlap != overlap || is_for_graph(spec, config, a) ||
      launch_check_requires(spec, a->slots, err) != CT_OK) {
    return false;
  }
  *status = launch_enqueue(spec, config, a, 1, err);
  return true;
}
