/* launch_site.c: what a kernel knows of launches with lent memory; launch_site.h. */
#include "launch_site.h"

#include <lauxlib.h>
#include <string.h>

#include "interp/state/diag.h"
#include "launch_key.h"

enum { MAX_SITES = 64 }; /* of one kernel; then it forgets them all */

static char lent_mark; /* its address marks the storages of sites */

/* Is it a constant with a text? */
static bool has_text(const cuttle_Arg *arg) {
  return (unsigned)arg->kind >= CUTTLE_ARG_TEXT && (unsigned)arg->kind <= CUTTLE_ARG_LAYOUT &&
         arg->u.text != NULL;
}

static size_t text_bytes(const cuttle_Arg *arg) { return has_text(arg) ? strlen(arg->u.text) : 0; }

/* Raises if some memory is not described soundly. */
static void check_memories(lua_State *L, int kernel, const LaunchLent *lent) {
  int top = lua_gettop(L);
  for (int i = 0; i < lent->n; i++) {
    if (lent->args[i].kind == CUTTLE_ARG_MEMORY) {
      launch_check_memory(L, lent->args[i].u.memory, launch_push_place(L, kernel, i));
      lua_settop(L, top);
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

/* {====== Making one ====== */

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
    w.rank = a->u.memory->rank;
    w.device = a->u.memory->device;
    w.is_read_only = a->u.memory->is_read_only != 0;
    w.terms =
        (CtTerms){.dtype = t.dtype, .rank = t.rank, .terms = room->terms, .taken = room->taken};
    room->terms += 2 * t.rank;
    room->taken += 2 * t.rank;
  } else if (a->kind == CUTTLE_ARG_STATIC) {
    w.value = a->u.i;
  } else if (has_text(a)) {
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
      const char *title = launch_push_place(L, kernel, i);
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

/* What the tensor of a site, which has been read, follows from. */
static void set_terms(const Kernel *k, CtTerms *g, const Arg *arg) {
  const Tensor *t = arg->tensor;
  g->align = ct_call_align(arg->address);
  g->is_wide = t->is_wide;
  g->is_taken = false;
  g->most_last = ct_terms_most_last(t->dtype, t->is_wide);
  (void)launch_terms(k, t, g->terms);
}

static void set_wants(const Kernel *k, LaunchSite *site) {
  for (int i = 0; i < site->n; i++) {
    SiteArg *w = &site->wants[i];
    const Arg *arg = &site->args.args[i];
    w->slot = arg->first_slot;
    w->span = arg->span;
    w->dtype = arg->dtype;
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
      lent->push(L, kernel, i, &lent->args[i]);
    }
  }
  launch_read(L, kernel, self + 2, lent->n, config, &site->args);
  anchor_objects(L, &site->args);
  lua_setiuservalue(L, self, SITE_ARGS); /* what keeps its arrays */
  lua_settop(L, self);
  site->args.first = 0; /* no script may get memory that is lent for a launch */
  site->args.n_given = 0;
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
  return site->call != 0 && site->call < s->calls.n;
}

/* The value of an argument that is a number, as a kernel's parameter of that type has it. */
static CtSlotValue number_of(const cuttle_Arg *a, CtDtype dtype) {
  bool is_float = a->kind == CUTTLE_ARG_FLOAT || a->kind == CUTTLE_ARG_F64;
  int64_t i = a->kind == CUTTLE_ARG_BOOL ? a->u.i != 0 : a->u.i;
  return is_float ? ct_slot_float(dtype, a->u.f) : (CtSlotValue){.i = i};
}

/* What the site has been given is sound, so memory like it is, too. */
static bool takes_memory(SiteArg *w, const cuttle_Memory *m, CtSlotValue *slots) {
  bool is_like = m != NULL && m->rank == w->rank && (m->shape != NULL || m->rank == 0) &&
                 m->device == w->device && (m->is_read_only != 0) == w->is_read_only;
  const CtCallTensor t = is_like ? call_of(m) : (CtCallTensor){.data = NULL};
  return is_like && ct_terms_take(&w->terms, &t, &slots[w->slot], &w->span);
}

/* Is it such an argument? Notes what the launch has of it. */
static bool takes(SiteArg *w, const cuttle_Arg *a, CtSlotValue *slots) {
  if (kind_of(a) != w->kind) {
    return false;
  }
  switch (w->kind) {
    case CUTTLE_ARG_MEMORY: return takes_memory(w, a->u.memory, slots);
    case CUTTLE_ARG_STATIC: return a->u.i == w->value;
    case CUTTLE_ARG_TEXT:
    case CUTTLE_ARG_TUPLE:
    case CUTTLE_ARG_LAYOUT:
      return has_text(a) && w->text != NULL && text_bytes(a) == w->text_bytes &&
             memcmp(a->u.text, w->text, w->text_bytes) == 0;
    case CUTTLE_ARG_INT:
    case CUTTLE_ARG_FLOAT:
    case CUTTLE_ARG_BOOL:
    case CUTTLE_ARG_I64:
    case CUTTLE_ARG_F64: slots[w->slot] = number_of(a, w->dtype); return true;
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

LaunchSite *site_find(Kernel *k, const LaunchConfig *c, const LaunchLent *lent) {
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
  int64_t n = ct_dtype_count(t->dtype, (int64_t)bytes);
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

void site_move(lua_State *L, CuttleState *s, LaunchSite *site, const LaunchLent *lent) {
  LaunchArgs *a = &site->args;
  for (int i = 0; i < lent->n; i++) {
    Arg *arg = &a->args[i];
    if (arg->kind == ARG_TENSOR) {
      move_tensor(L, s, a, arg, &site->wants[i]);
    } else if (arg->kind == ARG_NUMBER) {
      a->slots[arg->first_slot] = number_of(&lent->args[i], arg->dtype);
      arg->value = arg->is_untyped ? number_of(&lent->args[i], CT_f64) : a->slots[arg->first_slot];
    }
  }
}

void site_end(LaunchSite *site) {
  for (int i = 0; i < site->args.n; i++) {
    const Arg *arg = &site->args.args[i];
    if (arg->kind == ARG_TENSOR && arg->tensor->storage->free_ud == &lent_mark) {
      ct_storage_leave(arg->tensor->storage);
    }
  }
  site->call = 0;
}

static bool has_tensors(const LaunchLent *lent) {
  bool has = false;
  for (int i = 0; i < lent->n; i++) {
    has = has || lent->args[i].kind == CUTTLE_ARG_TENSOR;
  }
  return has;
}

LaunchSite *site_new(lua_State *L, int kernel, const LaunchConfig *config, const LaunchLent *lent) {
  const Kernel *k = lua_touserdata(L, kernel);
  check_memories(L, kernel, lent);
  LaunchSite *site = push_site(L, lent);
  site->call = k->state->calls.n;
  make_tensors(L, kernel, lent);
  read_site(L, kernel, config, site, lent);
  if (!has_tensors(lent)) {
    keep_site(L, kernel, site);
  }
  return site;
}

bool site_use(lua_State *L, int kernel, const LaunchConfig *config, LaunchSite *site,
              const LaunchLent *lent) {
  const Kernel *k = lua_touserdata(L, kernel);
  site->call = k->state->calls.n;
  push_kept(L, kernel, site);
  site_move(L, k->state, site, lent);
  bool is_same = launch_read_moved(L, kernel, &site->args);
  if (!is_same) {
    read_site(L, kernel, config, site, lent);
  }
  return is_same;
}

void site_note_types(LaunchSite *site) {
  for (int i = 0; i < site->n; i++) {
    site->wants[i].dtype = site->args.args[i].dtype;
  }
}

void site_end_all(CuttleState *s) {
  CtStorage *next;
  for (CtStorage *storage = s->memory.storages.first; storage != NULL; storage = next) {
    next = storage->next;
    if (storage->free_ud == &lent_mark) {
      ct_storage_leave(storage);
    }
  }
}
