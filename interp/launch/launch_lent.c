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

enum { MAX_SITES = 64 };  /* of one kernel; then it forgets them all */
enum { FEW_WORDS = 256 }; /* of a description */
enum { MAX_RANK = 32 };   /* of memory */
enum { SITE_ARGS = 1, SITE_TENSORS, SITE_VALUES = SITE_TENSORS };

/* Of a kernel: what the key says of the arguments follows from n_words numbers that describe them. */
typedef struct LaunchSite {
  struct LaunchSite *next;
  int call;  /* the depth of the call of the host that uses it, or did when it failed; 0: none */
  int place; /* in the kernel's list of sites */
  bool is_read;
  /* StateTurn.number when a launch found all in place, and with what: launch_lent_again. 0: never. */
  uint64_t turn;
  CtDim3 grid;
  bool pdl, cooperative;
  size_t n_words;
  int64_t *words; /* after the struct */
  LaunchBrief brief;
  LaunchArgs args;
} LaunchSite;

static char lent_mark; /* its address marks the storages of sites */

/* {====== What a launch depends on, as numbers ====== */

typedef struct Words {
  size_t n, cap;
  int64_t *at;
  bool is_reusable; /* else an argument is not described, and the launch gets a site of its own */
  int64_t few[FEW_WORDS];
} Words;

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

/* Of an argument that is no memory, at most. */
static size_t plain_words(const cuttle_Arg *arg) {
  return 2 + (text_bytes(arg) + sizeof(int64_t) - 1) / sizeof(int64_t);
}

static size_t words_of(lua_State *L, int kernel, int i, const cuttle_Arg *arg) {
  if (arg->kind != CUTTLE_ARG_MEMORY) {
    return plain_words(arg);
  }
  check_memory(L, arg->u.memory,
               arg->u.memory == NULL || arg->u.memory->rank > MAX_RANK ? title_of(L, kernel, i)
                                                                       : "cuttle_launch");
  return 1 + 2 * (size_t)arg->u.memory->rank;
}

/* A description that is too long for *w is at a userdata, which is pushed; nil else. */
static void make_room(lua_State *L, int kernel, Words *w, const LaunchLent *lent) {
  size_t need = 4;
  for (int i = 0; i < lent->n; i++) {
    need += words_of(L, kernel, i, &lent->args[i]);
  }
  w->n = 0;
  w->cap = need;
  w->is_reusable = true;
  if (need <= FEW_WORDS) {
    w->at = w->few;
    lua_pushnil(L);
  } else {
    w->at = lua_newuserdatauv(L, need * sizeof *w->at, 0);
  }
}

static void put(Words *w, int64_t v) { w->at[w->n++] = v; }

static int64_t stride_of(const cuttle_Memory *m, int i) {
  int64_t stride = 1;
  if (m->stride != NULL) {
    return m->stride[i];
  }
  for (int j = m->rank - 1; j > i; j--) { /* an empty tensor has any strides */
    stride = m->shape[j] > 0 && stride <= INT64_MAX / m->shape[j] ? stride * m->shape[j] : stride;
  }
  return stride;
}

/* The alignment is what launch_align says of the address; 0 of none, which memory without elements may have. */
static void put_memory(Words *w, const cuttle_Memory *m) {
  uint64_t low = ((uint64_t)(uintptr_t)m->ptr | LAUNCH_MAX_ALIGN) & (2 * LAUNCH_MAX_ALIGN - 1);
  uint64_t align = m->ptr == NULL ? 0 : low & (~low + 1);
  put(w, (int64_t)m->rank << 32 | (int64_t)(m->device + 1) << 16 | (int64_t)m->dtype << 8 |
             (int64_t)align << 1 | (m->is_read_only != 0));
  for (int i = 0; i < m->rank; i++) {
    put(w, m->shape[i]);
    put(w, stride_of(m, i));
  }
}

/* Its length, and its bytes. */
static void put_text(Words *w, const char *text, size_t n) {
  put(w, (int64_t)n);
  for (size_t i = 0; i < n; i += sizeof(int64_t)) {
    int64_t word = 0;
    memcpy(&word, text + i, n - i < sizeof word ? n - i : sizeof word);
    put(w, word);
  }
}

static void put_arg(Words *w, const cuttle_Arg *a) {
  bool is_wide = a->kind == CUTTLE_ARG_INT && a->u.i != (int32_t)a->u.i;
  if (a->kind == CUTTLE_ARG_MEMORY) {
    put_memory(w, a->u.memory);
    return;
  }
  put(w, ~(int64_t)(a->kind == CUTTLE_ARG_INT && is_wide ? CUTTLE_ARG_I64 : a->kind));
  if (a->kind == CUTTLE_ARG_STATIC) {
    put(w, a->u.i);
  } else if (a->kind >= CUTTLE_ARG_TEXT && a->kind <= CUTTLE_ARG_LAYOUT) {
    put_text(w, a->u.text, text_bytes(a));
  }
  w->is_reusable = w->is_reusable && a->kind != CUTTLE_ARG_TENSOR;
}

static void describe(Words *w, const LaunchConfig *c, const LaunchLent *lent) {
  put(w, (int64_t)c->block.x << 32 | c->block.y);
  put(w, (int64_t)c->block.z << 32 | c->shared_bytes);
  put(w, (int64_t)c->cluster.x << 32 | c->cluster.y);
  put(w, (int64_t)c->cluster.z);
  for (int i = 0; i < lent->n; i++) {
    put_arg(w, &lent->args[i]);
  }
}

/* {====== Tensors of the host's memory ====== */

static CtLayout layout_of(lua_State *L, const cuttle_Memory *m, const char *what) {
  CtInt shape[MAX_RANK], stride[MAX_RANK];
  CtCx cx = bind_enter(L);
  for (int i = 0; i < m->rank; i++) {
    shape[i] = ct_int(m->shape[i]);
    stride[i] = ct_int(stride_of(m, i));
    if (m->shape[i] < 0 || stride[i].v < 0) {
      diag_error(L, "%s: mode %d has extent %I and stride %I; expected both to be >= 0", what, i,
                 (LUAI_UACINT)m->shape[i], (LUAI_UACINT)stride[i].v);
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

/* Pushes a new one, which is not among the kernel's yet. */
static LaunchSite *push_site(lua_State *L, const Words *w) {
  LaunchSite *site = lua_newuserdatauv(L, sizeof *site + w->n * sizeof *w->at, SITE_VALUES);
  site->next = NULL;
  site->call = 0;
  site->is_read = false;
  site->turn = 0;
  site->brief.fn = NULL;
  site->n_words = w->n;
  site->words = (int64_t *)(void *)(site + 1);
  memcpy(site->words, w->at, w->n * sizeof *w->at);
  site->args.n = 0;
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

/* A site for the same words, which becomes the first one. */
static LaunchSite *find_site(Kernel *k, const Words *w) {
  LaunchSite **link = &k->sites;
  for (LaunchSite *site = *link; site != NULL; link = &site->next, site = *link) {
    if (site->n_words == w->n && site->is_read && !is_busy(k->state, site) &&
        memcmp(site->words, w->at, w->n * sizeof *w->at) == 0) {
      *link = site->next;
      site->next = k->sites;
      k->sites = site;
      return site;
    }
  }
  return NULL;
}

static void move_tensor(lua_State *L, CuttleState *s, LaunchArgs *a, Arg *arg, void *ptr) {
  CtStorage *storage = arg->tensor->storage;
  uint64_t address = (uint64_t)(uintptr_t)ptr;
  union {
    uint64_t address;
    CtSlotValue v;
  } pointer = {.address = address};
  arg->begin += address - arg->address;
  arg->end += address - arg->address;
  arg->address = address;
  a->slots[arg->first_slot] = pointer.v;
  if (storage->device == NULL) {
    storage->host = ptr;
    ct_storage_leave(storage);
    ct_storage_enter(storage, &s->memory.storages);
    tensor_is_new(L, arg->tensor);
  } else {
    storage->buf.ptr = address;
  }
}

/* Puts the launch's addresses and numbers into a site that has been read. */
static void move_site(lua_State *L, CuttleState *s, LaunchSite *site, const LaunchLent *lent) {
  LaunchArgs *a = &site->args;
  for (int i = 0; i < lent->n; i++) {
    Arg *arg = &a->args[i];
    if (arg->kind == ARG_TENSOR) {
      move_tensor(L, s, a, arg, lent->args[i].u.memory->ptr);
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

/* Pushes the site of a first launch. */
static LaunchSite *new_site(lua_State *L, int kernel, const LaunchConfig *config, const Words *w,
                            const LaunchLent *lent) {
  const Kernel *k = lua_touserdata(L, kernel);
  LaunchSite *site = push_site(L, w);
  site->call = k->state->n_calls;
  make_tensors(L, kernel, lent);
  read_site(L, kernel, config, site, lent);
  if (w->is_reusable) {
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

/* After a launch that looked at everything, made nothing and ran nothing: a state's turn is over when something
   may have changed, which this launch did not. */
static void end_quietly(lua_State *L, int kernel, const LaunchConfig *config, LaunchSite *site) {
  const Kernel *k = lua_touserdata(L, kernel);
  if (may_go_alone(k, site)) {
    site->turn = --k->state->turn.number;
    site->grid = config->grid;
    site->pdl = config->pdl;
    site->cooperative = config->cooperative;
    launch_brief_note(&site->brief, spec_of(k, &site->args), config, &site->args);
    know(k->state, k);
  }
}

void launch_lent(lua_State *L, int kernel, LaunchConfig *config, const LaunchLent *lent) {
  Words words;
  const Kernel *k = lua_touserdata(L, kernel);
  uint64_t turn = k->state->turn.number, spec = 0;
  luaL_checkstack(L, 16, NULL);
  make_room(L, kernel, &words, lent);
  describe(&words, config, lent);
  LaunchSite *site = words.is_reusable ? find_site(lua_touserdata(L, kernel), &words) : NULL;
  if (site == NULL) {
    site = new_site(L, kernel, config, &words, lent);
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

/* False: Lua is needed, if only for a message. */
static bool describe_soundly(Words *w, const LaunchConfig *c, const LaunchLent *lent) {
  size_t need = 4;
  for (int i = 0; i < lent->n; i++) {
    const cuttle_Arg *a = &lent->args[i];
    if (a->kind == CUTTLE_ARG_MEMORY && !is_sound(a->u.memory)) {
      return false;
    }
    need += a->kind == CUTTLE_ARG_MEMORY ? 1 + 2 * (size_t)a->u.memory->rank : plain_words(a);
  }
  w->n = 0;
  w->cap = FEW_WORDS;
  w->is_reusable = true;
  w->at = w->few;
  if (need <= FEW_WORDS) {
    describe(w, c, lent);
  }
  return need <= FEW_WORDS && w->is_reusable;
}

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
  Words words;
  if (!is_plain(s) || !is_known(s, kernel) || !describe_soundly(&words, config, lent)) {
    return false;
  }
  Kernel *k = (Kernel *)(uintptr_t)kernel;
  LaunchSite *site = find_site(k, &words);
  if (site == NULL || !is_in_place(s, site, config)) {
    return false;
  }
  s->turn.written = site->args.written;
  if (launch_brief_run(&site->brief, lent, status, err)) {
    return true;
  }
  LaunchArgs *a = &site->args;
  const Spec *spec = spec_of(k, a);
  move_site(s->L, s, site, lent);
  take_stream(config, lent, a);
  if (spec == NULL || a->overlap != launch_find_overlap(a) || is_for_graph(spec, config, a) ||
      launch_check_requires(spec, a->slots, err) != CT_OK) {
    return false;
  }
  *status = launch_enqueue(spec, config, a, 1, err);
  return true;
}
