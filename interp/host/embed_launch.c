/* embed_launch.c: launches of the embedding API, and memory that the host lends. */
#include <lauxlib.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "interp/host/embed.h"
#include "interp/launch/launch_key.h"
#include "interp/launch/launch_site.h"
#include "interp/state/diag.h"
#include "interp/trace/number.h"

/* {====== Launches ====== */

typedef struct LaunchRequest {
  const cuttle_Kernel *kernel;
  LaunchConfig config;
  LaunchLent lent;
  CtStatus status; /* of launch_lent_again, */
  CtErr *err;      /* and why it failed */
} LaunchRequest;

/* Pushes the tuple or layout that the text writes. */
static void push_written(lua_State *L, const cuttle_Arg *a) {
  int text = lua_gettop(L) + 1;
  lua_pushstring(L, a->u.text);
  CtCx cx = bind_enter(L);
  if (a->kind == CUTTLE_ARG_TUPLE) {
    bind_push_tuple(L, bind_to_tuple(L, text, &cx, "cuttle_launch"));
  } else {
    CtComposed c = bind_to_composed(L, text, &cx, "cuttle_launch");
    bind_push_composed(L, &c);
  }
  lua_remove(L, text);
}

/* Is it a kind of argument, with what that kind needs? Pushes a tensor. */
static void check_arg(lua_State *L, int kernel, int i, const cuttle_Arg *a) {
  bool is_text =
      a->kind == CUTTLE_ARG_TEXT || a->kind == CUTTLE_ARG_TUPLE || a->kind == CUTTLE_ARG_LAYOUT;
  if ((unsigned)a->kind > CUTTLE_ARG_NIL) {
    diag_error(L, "%s: %d is not a kind of argument; one of cuttle_ArgKind was expected",
               launch_push_place(L, kernel, i), (int)a->kind);
  }
  if (is_text && a->u.text == NULL) {
    diag_error(L, "%s: the text is NULL", launch_push_place(L, kernel, i));
  }
  if (a->kind == CUTTLE_ARG_TENSOR && embed_test_tensor(L, a->u.tensor) == NULL) {
    embed_refuse_tensor(L, a->u.tensor, launch_push_place(L, kernel, i));
  }
}

static void push_arg(lua_State *L, int kernel, int i, const cuttle_Arg *a) {
  TypedNumber n = {.i = a->u.i};
  check_arg(L, kernel, i, a);
  switch (a->kind) {
    case CUTTLE_ARG_INT: lua_pushinteger(L, a->u.i); return;
    case CUTTLE_ARG_FLOAT: lua_pushnumber(L, a->u.f); return;
    case CUTTLE_ARG_BOOL: lua_pushboolean(L, a->u.i != 0); return;
    case CUTTLE_ARG_TENSOR: return; /* it is pushed */
    case CUTTLE_ARG_MEMORY: return; /* launch_lent has it */
    case CUTTLE_ARG_TEXT: lua_pushstring(L, a->u.text); return;
    case CUTTLE_ARG_TUPLE:
    case CUTTLE_ARG_LAYOUT: push_written(L, a); return;
    case CUTTLE_ARG_NIL: lua_pushnil(L); return;
    case CUTTLE_ARG_I64: n.dtype = CT_i64; break;
    case CUTTLE_ARG_STATIC: n.dtype = CT_VOID; break;
    case CUTTLE_ARG_F64: n = (TypedNumber){.dtype = CT_f64, .is_float = true, .f = a->u.f}; break;
  }
  number_push(L, n);
}

static void check_arguments(lua_State *L, const LaunchLent *lent) {
  if (lent->n < 0 || (lent->n > 0 && lent->args == NULL)) {
    diag_error(L, "cuttle_launch: %d arguments at %p; expected 0 or more, at an array of them",
               lent->n, (const void *)lent->args);
  }
}

static bool lends_memory(const LaunchLent *lent) {
  bool does = false;
  for (int i = 0; i < lent->n && !does; i++) {
    does = lent->args[i].kind == CUTTLE_ARG_MEMORY;
  }
  return does;
}

/* Without memory of the host's each argument is a value of Lua's. */
static int launch(lua_State *L) {
  LaunchRequest *q = lua_touserdata(L, 1);
  const LaunchLent *lent = &q->lent;
  check_arguments(L, lent);
  const Kernel *k = embed_check_kernel(L, q->kernel, "cuttle_launch");
  lua_replace(L, 1);
  launch_check_config(L, k, &q->config);
  if (lends_memory(lent)) {
    launch_lent(L, 1, &q->config, lent);
    return 0;
  }
  luaL_checkstack(L, lent->n, "too many arguments");
  luaL_checkstack(L, 8, NULL);
  for (int i = 0; i < lent->n; i++) {
    push_arg(L, 1, i, &lent->args[i]);
  }
  kernel_launch(L, 1, lent->n, &q->config, lent->stream);
  return 0;
}

static CtDim3 dim3_of(cuttle_Dim3 d) { return (CtDim3){d.x, d.y, d.z}; }

/* Left zero: none. */
static CtDim3 cluster_of(cuttle_Dim3 d) {
  return (d.x | d.y | d.z) == 0 ? (CtDim3){1, 1, 1} : dim3_of(d);
}

static int fail_again(lua_State *L) {
  LaunchRequest *q = lua_touserdata(L, 1);
  diag_check(L, q->status, q->err);
  return 0;
}

/* False: nothing was launched. */
static bool launch_again(CuttleState *s, LaunchRequest *q) {
  return s != NULL && q->lent.n > 0 && q->lent.args != NULL &&
         launch_lent_again(s, q->kernel, &q->config, &q->lent, &q->status, q->err);
}

static cuttle_Status run_launch(CuttleState *s, LaunchRequest *q) {
  CtErr err;
  q->err = &err;
  bool is_done = launch_again(s, q);
  if (is_done && q->status == CT_OK) {
    s->error.text[0] = '\0';
    s->error.line = 0;
    return CUTTLE_OK;
  }
  cuttle_Status status = embed_protect(s, is_done ? fail_again : launch, q);
  if (status != CUTTLE_OK && s != NULL && s->calls.n == 0) {
    site_end_all(s);
  }
  return status;
}

cuttle_Status cuttle_launch(cuttle_State *S, cuttle_Kernel *kernel, cuttle_Dim3 grid,
                            cuttle_Dim3 block, int n_args, const cuttle_Arg *args) {
  LaunchRequest q = {
      .kernel = kernel,
      .config = {.grid = dim3_of(grid), .block = dim3_of(block), .cluster = {1, 1, 1}},
      .lent = {.n = n_args, .args = args, .push = push_arg}};
  return run_launch(S, &q);
}

/* The options with all fields that this version has, at *room if the host's version has fewer. */
static const cuttle_Launch *complete(const cuttle_Launch *given, cuttle_Launch *room) {
  if (given->size >= sizeof *room) {
    return given;
  }
  *room = (cuttle_Launch){0};
  memcpy(room, given, given->size);
  return room;
}

#define X(id, name, member, ...)                                                                   \
  _Static_assert(sizeof((cuttle_Launch *)0)->member > 0, "hosts have all options of a launch");
#include "interp/launch/launch_options.def"
#undef X

enum {
  ALL_CHECKS = CUTTLE_CHECK | CUTTLE_CHECK_NAN | CUTTLE_CHECK_OVERFLOW | CUTTLE_CHECK_NO_GLOBAL
};

/* Are these values that this version knows? */
static bool are_known(const cuttle_Launch *o) {
  bool is_checked = (o->check & CUTTLE_CHECK) != 0;
  return (o->check == 0 || is_checked) && (o->check & ~(unsigned)ALL_CHECKS) == 0 &&
         (unsigned)o->print_order <= CUTTLE_PRINT_AS_RUN;
}

/* Field by field: a compound literal is made narrow and copied wide, which stalls. */
static void read_options(const cuttle_Launch *o, LaunchConfig *c) {
  memset(c, 0, sizeof *c);
  c->grid = dim3_of(o->grid);
  c->block = dim3_of(o->block);
  c->cluster = cluster_of(o->cluster);
  c->cooperative = o->cooperative != 0;
  c->pdl = o->pdl != 0;
  c->deterministic = o->deterministic != 0;
  c->shared_bytes = o->shared_bytes;
  c->print_order = o->print_order == CUTTLE_PRINT_AS_RUN ? CT_PRINT_AS_RUN : CT_PRINT_BY_THREAD;
  c->check = o->check != 0;
  c->check_nan = (o->check & CUTTLE_CHECK_NAN) != 0;
  c->check_overflow = (o->check & CUTTLE_CHECK_OVERFLOW) != 0;
  c->check_no_global = (o->check & CUTTLE_CHECK_NO_GLOBAL) != 0;
}

cuttle_Status cuttle_launch_with(cuttle_State *S, cuttle_Kernel *kernel,
                                 const cuttle_Launch *options, int n_args, const cuttle_Arg *args) {
  cuttle_Launch room;
  LaunchRequest q;
  if (options == NULL || options->size < offsetof(cuttle_Launch, use_stream) ||
      state_has_unknown(options, sizeof *options, options->size)) {
    return embed_refuse(S, "cuttle_launch_with: the options are NULL, their `size` is not set, or "
                           "they have fields that this version does not know; write cuttle_Launch "
                           "o = {.size = sizeof o}");
  }
  const cuttle_Launch *o = complete(options, &room);
  if (!are_known(o)) {
    return embed_refuse(S,
                        "cuttle_launch_with: `print_order` is CUTTLE_PRINT_BY_THREAD or "
                        "CUTTLE_PRINT_AS_RUN, and `check` is 0 or CUTTLE_CHECK with other bits of "
                        "cuttle.h, as in CUTTLE_CHECK | CUTTLE_CHECK_NAN");
  }
  q.kernel = kernel;
  read_options(o, &q.config);
  q.lent.n = n_args;
  q.lent.args = args;
  CtStream stream = o->stream;
  q.lent.stream = o->use_stream != 0 ? &stream : NULL;
  q.lent.push = push_arg;
  return run_launch(S, &q);
}

uint64_t cuttle_written(const cuttle_State *S) { return S == NULL ? 0 : S->turn.written; }

/* {====== Launches as files ====== */

typedef struct CaptureRequest {
  const char *folder;
  double seconds;
} CaptureRequest;

static int begin_capture(lua_State *L) {
  const CaptureRequest *q = lua_touserdata(L, 1);
  CuttleState *s = state_of(L);
  const char *folder = q->folder == NULL ? "" : q->folder;
  if (strlen(folder) >= sizeof s->taps.capture.folder) {
    return luaL_error(L, "cuttle_capture: the folder's name is too long");
  }
  if (!(q->seconds >= 0)) {
    return luaL_error(L, "cuttle_capture: %f seconds; a number from 0 on was expected", q->seconds);
  }
  snprintf(s->taps.capture.folder, sizeof s->taps.capture.folder, "%s", folder);
  s->taps.capture.seconds = q->seconds;
  s->taps.capture.why[0] = '\0'; /* the environment no longer counts */
  return 0;
}

cuttle_Status cuttle_capture(cuttle_State *S, const char *folder, double seconds) {
  CaptureRequest q = {folder, seconds};
  return embed_protect(S, begin_capture, &q);
}

/* {====== Memory as tensors ====== */

#define DTYPE(...) +1
_Static_assert(1
#include "runtime/base/dtypes.def"
                   == CUTTLE_DTYPE_END,
               "cuttle_DType has the types of dtypes.def, in its order");
_Static_assert((int)CUTTLE_F64 == (int)CT_f64 && (int)CUTTLE_F8E5M2 == (int)CT_f8e5m2 &&
                   (int)CUTTLE_I64 == (int)CT_i64 && (int)CUTTLE_U64 == (int)CT_u64 &&
                   (int)CUTTLE_BOOL == (int)CT_bool && (int)CUTTLE_F4E2M1 == (int)CT_f4e2m1,
               "and their numbers");

static const cuttle_DTypeInfo infos[CT_DTYPE_COUNT] = {
#define DTYPE(name, bits, kind, compute, cuda, ctype, npy, dlpack, ...)                            \
  [CT_##name] = {#name, npy, bits, sizeof(ctype), CT_DLPACK_##dlpack, (bits) == 4 ? 2 : 1},
#include "runtime/base/dtypes.def"
};

const cuttle_DTypeInfo *cuttle_dtype_info(cuttle_DType dtype) {
  int n = (int)dtype;
  return n > CT_VOID && n < CT_DTYPE_COUNT ? &infos[n] : NULL;
}

typedef struct LendRequest {
  CuttleState *s;
  const cuttle_Memory *memory;
  CtStorageFree free;
  void *free_ud;
  Tensor *tensor; /* the result */
} LendRequest;

static int lend(lua_State *L) {
  LendRequest *q = lua_touserdata(L, 1);
  size_t bytes;
  CtErr err;
  q->tensor = launch_push_lent(L, q->memory, "cuttle_tensor_lend", &bytes);
  embed_hold(L);
  CtStatus st = launch_lend(q->s, q->tensor, q->memory, bytes, q->free, q->free_ud, &err);
  if (st != CT_OK) {
    embed_let_go(L, q->tensor);
    diag_raise(L, &err);
  }
  tensor_is_new(L, q->tensor);
  return 0;
}

cuttle_Tensor *cuttle_tensor_lend(cuttle_State *S, const cuttle_Memory *memory,
                                  void (*free)(void *ud, void *ptr, size_t bytes), void *free_ud) {
  LendRequest q = {.s = S, .memory = memory, .free = free, .free_ud = free_ud};
  return embed_protect(S, lend, &q) == CUTTLE_OK ? (cuttle_Tensor *)(void *)q.tensor : NULL;
}

int cuttle_tensor_written(const cuttle_Tensor *t) {
  const CtStorage *storage = t == NULL ? NULL : ((const Tensor *)(const void *)t)->storage;
  return storage != NULL && storage->is_written;
}

static int close_tensor(lua_State *L) {
  Tensor *t = embed_check_tensor(L, lua_touserdata(L, 1), "cuttle_tensor_close");
  if (t->storage != NULL) {
    ct_storage_leave(t->storage);
    tensor_give_back(L, t);
  }
  embed_let_go(L, t);
  return 0;
}

void cuttle_tensor_close(cuttle_State *S, cuttle_Tensor *t) {
  if (t != NULL) {
    (void)embed_protect(S, close_tensor, t);
  }
}

/* {====== Streams ====== */

void cuttle_push_stream(cuttle_State *S, int device, void *stream) {
  CtDevice *d = NULL;
  CtErr err;
  diag_check(S->L, state_cuda(S, device, &d, &err), &err);
  bind_push_stream(S->L, d, stream);
  if (S->calls.n > 0) {
    embed_set_guest(S, (StateGuest){d, stream});
  }
}

void embed_set_guest(CuttleState *s, StateGuest guest) {
  if (s->calls.guest.device != NULL) {
    ct_device_set_guest(s->calls.guest.device, NULL);
  }
  s->calls.guest = guest;
  if (guest.device != NULL) {
    ct_device_set_guest(guest.device, guest.stream);
  }
}
