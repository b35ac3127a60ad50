/* embed.c: the interpreter as a library. Each function does its work in a protected call of the Lua
   state, so that whatever is raised ends here, as a status and a message. */
#include <lauxlib.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interp/host/embed.h"
#include "interp/host/language.h"
#include "interp/algebra/bind.h"
#include "interp/launch/launch.h"
#include "interp/launch/launch_site.h"
#include "runtime/base/size.h"
#include "runtime/layout/walk.h"
#include "interp/state/recorder.h"
#include "interp/state/state.h"
#include "interp/state/state_language.h"

static const char held_key = 0; /* its address names the table of what the host holds, by pointer */

const char *cuttle_version(void) { return CUTTLE_VERSION; }

static _Thread_local const char *open_error = ""; /* of this thread's last cuttle_open */

cuttle_State *cuttle_open(const cuttle_Options *options) {
  open_error = state_refuse_options(options);
  open_error = open_error == NULL ? state_refuse_start(options) : open_error;
  if (open_error != NULL) {
    return NULL;
  }
  cuttle_State *S = language_new_state(options);
  open_error = S == NULL ? "cuttle_open: not enough memory" : "";
  if (S != NULL && (S->options.interrupted_by_own_thread == 0 || S->options.poll != NULL)) {
    state_poll(S);
  }
  return S;
}

void cuttle_close(cuttle_State *S) {
  if (S != NULL && (S->calls.n > 0 || S->is_closing)) {
    state_log(S, "cuttle_close: called inside a callback of the state; it stays open");
  } else if (S != NULL) {
    state_free(S);
  }
}

const char *cuttle_error(const cuttle_State *S) { return S == NULL ? open_error : S->error.text; }

const char *cuttle_error_place(const cuttle_State *S, int *line) {
  bool is_placed = S != NULL && S->error.line > 0;
  if (line != NULL) {
    *line = is_placed ? S->error.line : 0;
  }
  return is_placed ? S->error.file : NULL;
}

struct lua_State *cuttle_lua(cuttle_State *S) {
  if (S == NULL) {
    return NULL;
  }
  S->turn.is_open_to_host = true;
  return S->L;
}

void cuttle_interrupt(cuttle_State *S) {
  if (S != NULL) {
    state_stop(S);
  }
}

/* {====== Protected calls ====== */

static cuttle_Status status_of(const CuttleState *s, int lua_status) {
  return state_is_nomem(s->L, lua_status) ? CUTTLE_NOMEM
         : state_is_stopping(s)           ? CUTTLE_INTERRUPTED
                                          : CUTTLE_ERROR;
}

/* A message is one line: lines are parted by "; ", other control characters are blanks. */
static void set_error(CuttleState *s, const char *msg) {
  size_t n = 0;
  for (; *msg != '\0' && n + 3 < sizeof s->error.text; msg++) {
    if (*msg == '\n') {
      s->error.text[n++] = ';';
    }
    s->error.text[n++] = (unsigned char)*msg < ' ' ? ' ' : *msg;
  }
  s->error.text[n] = '\0';
}

/* Reads the line of "file.lua:27: what is wrong"; the file's name may have colons, too. */
static void find_place(CuttleState *s) {
  char *end;
  for (const char *p = strchr(s->error.text, ':'); p != NULL; p = strchr(p + 1, ':')) {
    long line = strtol(p + 1, &end, 10);
    if (p[1] >= '1' && p[1] <= '9' && end[0] == ':' && end[1] == ' ' && line <= INT_MAX) {
      snprintf(s->error.file, sizeof s->error.file, "%.*s", (int)(p - s->error.text),
               s->error.text);
      s->error.line = (int)line;
      return;
    }
  }
}

/* Takes the message at the top of the stack. */
static cuttle_Status fail(CuttleState *s, int lua_status) {
  const char *msg = lua_tostring(s->L, -1);
  set_error(s, msg == NULL ? "the error is not a string" : msg);
  find_place(s);
  cuttle_Status status = status_of(s, lua_status);
  lua_pop(s->L, 1);
  return status;
}

cuttle_Status embed_refuse(CuttleState *s, const char *msg) {
  if (s != NULL) {
    snprintf(s->error.text, sizeof s->error.text, "%s", msg);
    s->error.line = 0;
  }
  return CUTTLE_ERROR;
}

cuttle_Status embed_protect(CuttleState *s, lua_CFunction fn, void *ud) {
  if (s == NULL || s->is_closing) {
    return CUTTLE_ERROR;
  }
  if (s->is_printing) {
    return embed_refuse(
        s, "called inside the print callback for a kernel's printf; only cuttle_interrupt may be");
  }
  if (s->ask.is_asking) {
    return embed_refuse(s, "called inside the poll callback, while a call of the state is in "
                           "progress; only cuttle_interrupt may be");
  }
  s->error.text[0] = '\0';
  s->error.line = 0;
  if (lua_checkstack(s->L, 8) == 0) {
    snprintf(s->error.text, sizeof s->error.text, "not enough memory");
    return CUTTLE_NOMEM;
  }
  lua_pushcfunction(s->L, fn);
  lua_pushlightuserdata(s->L, ud);
  int status = state_call(s, 1, 0);
  return status == LUA_OK ? CUTTLE_OK : fail(s, status);
}

cuttle_Status cuttle_call(cuttle_State *S, int (*function)(struct lua_State *L), void *ud) {
  if (S == NULL || function == NULL) {
    return embed_refuse(S, "cuttle_call: the function is NULL");
  }
  StateGuest outer = S->calls.guest;
  cuttle_Status status = embed_protect(S, function, ud);
  embed_set_guest(S, outer);
  return status;
}

/* {====== Scripts ====== */

typedef struct Chunk {
  const char *text, *name;
} Chunk;

static int run_chunk(lua_State *L) {
  const Chunk *c = lua_touserdata(L, 1);
  const char *name = c->name != NULL ? c->name : c->text;
  int status =
      c->text == NULL ? state_load_file(L, c->name) : state_load(L, c->text, strlen(c->text), name);
  if (status != LUA_OK) {
    return lua_error(L);
  }
  lua_call(L, 0, 0);
  return 0;
}

cuttle_Status cuttle_dofile(cuttle_State *S, const char *path) {
  Chunk c = {NULL, path};
  return path == NULL ? embed_refuse(S, "cuttle_dofile: the path is NULL")
                      : embed_protect(S, run_chunk, &c);
}

cuttle_Status cuttle_dostring(cuttle_State *S, const char *text, const char *name) {
  Chunk c = {text, name};
  return text == NULL ? embed_refuse(S, "cuttle_dostring: the text is NULL")
                      : embed_protect(S, run_chunk, &c);
}

/* {====== What the host holds ====== */

void embed_hold(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &held_key) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &held_key);
  }
  lua_pushvalue(L, -2); /* stack: value, held, value */
  lua_rawsetp(L, -2, lua_touserdata(L, -1));
  lua_pop(L, 1);
}

/* Needs a slot of the stack more than the value's; allocates nothing. */
static void push_held(lua_State *L, const void *p) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &held_key) != LUA_TTABLE) {
    return; /* nothing is held: nil */
  }
  lua_rawgetp(L, -1, p);
  lua_remove(L, -2);
}

void embed_let_go(lua_State *L, const void *p) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &held_key) == LUA_TTABLE) {
    lua_pushnil(L);
    lua_rawsetp(L, -2, p);
  }
  lua_pop(L, 1);
}

Tensor *embed_test_tensor(lua_State *L, const void *t) {
  push_held(L, t);
  return tensor_test(L, -1);
}

void embed_refuse_tensor(lua_State *L, const void *t, const char *what) {
  diag_error(L, "%s: the tensor is %s", what,
             t == NULL
                 ? "NULL"
                 : "not one that this state holds; it was released, or belongs to another state");
}

Tensor *embed_check_tensor(lua_State *L, const void *t, const char *op) {
  Tensor *tensor = embed_test_tensor(L, t);
  if (tensor == NULL) {
    embed_refuse_tensor(L, t, op);
  }
  return tensor;
}

/* The kernel at the top, by the address of its metatable: launches come here, and a look-up by name costs more. */
static Kernel *test_kernel(lua_State *L) {
  if (!lua_isuserdata(L, -1) || lua_getmetatable(L, -1) == 0) {
    return NULL;
  }
  bool is_kernel = lua_topointer(L, -1) == state_of(L)->types.kernel;
  lua_pop(L, 1);
  return is_kernel ? lua_touserdata(L, -1) : NULL;
}

Kernel *embed_check_kernel(lua_State *L, const void *k, const char *op) {
  push_held(L, k);
  Kernel *kernel = test_kernel(L);
  if (kernel == NULL) {
    diag_error(L, "%s: the kernel is %s", op,
               k == NULL ? "NULL; cuttle_kernel found none of that name"
                         : "not one of this state's; a state launches only its own kernels");
  }
  return kernel;
}

void cuttle_push_tensor(cuttle_State *S, cuttle_Tensor *t) {
  luaL_checkstack(S->L, 4, NULL);
  push_held(S->L, t);
  Tensor *shown = tensor_peek(S->L, -1);
  if (shown != NULL) {
    shown->is_shown = true;
  }
}

void cuttle_push_kernel(cuttle_State *S, cuttle_Kernel *k) {
  luaL_checkstack(S->L, 4, NULL);
  push_held(S->L, k);
}

/* {====== Kernels ====== */

typedef struct KernelQuery {
  const char *name;
  Kernel *kernel;
} KernelQuery;

/* "; did you mean 'axpy'?" of the kernels in the table at the index that are called nearly so, or "". */
static const char *nearest_kernels(lua_State *L, int kernels, const char *name) {
  state_push_function(L, "cuttle.near", "nearest");
  lua_pushstring(L, name);
  lua_newtable(L);
  int list = lua_gettop(L);
  for (lua_pushnil(L); lua_next(L, kernels) != 0; lua_pop(L, 1)) {
    lua_pushvalue(L, -2);
    lua_rawseti(L, list, (lua_Integer)lua_rawlen(L, list) + 1);
  }
  lua_call(L, 2, 1);
  return lua_isnil(L, -1) ? "" : lua_pushfstring(L, "; did you mean %s?", lua_tostring(L, -1));
}

static int find_kernel(lua_State *L) {
  KernelQuery *q = lua_touserdata(L, 1);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, STATE_KERNELS);
  lua_getfield(L, -1, q->name);
  q->kernel = kernel_test(L, -1);
  if (q->kernel == NULL) {
    return luaL_error(L,
                      "cuttle_kernel: there is no kernel called '%s'; scripts define one with "
                      "kernel(\"%s\", function ...)%s",
                      q->name, q->name, nearest_kernels(L, lua_gettop(L) - 1, q->name));
  }
  embed_hold(L);
  return 0;
}

cuttle_Kernel *cuttle_kernel(cuttle_State *S, const char *name) {
  KernelQuery q = {name, NULL};
  if (name == NULL) {
    (void)embed_refuse(S, "cuttle_kernel: the name is NULL");
    return NULL;
  }
  return embed_protect(S, find_kernel, &q) == CUTTLE_OK ? q.kernel : NULL;
}

typedef struct NameQuery {
  const void *kernel;
  int i;
  const char *name; /* before it; the result */
} NameQuery;

static int find_parameter(lua_State *L) {
  NameQuery *q = lua_touserdata(L, 1);
  const Kernel *k = embed_check_kernel(L, q->kernel, "cuttle_kernel_parameter");
  lua_getiuservalue(L, -1, 1);
  q->name = q->i < 0                              ? NULL
            : q->i < k->n_params                  ? lua_getlocal(L, NULL, q->i + 1)
            : q->i == k->n_params && k->is_vararg ? "..."
                                                  : NULL;
  return 0;
}

const char *cuttle_kernel_parameter(cuttle_State *S, cuttle_Kernel *kernel, int i) {
  NameQuery q = {.kernel = kernel, .i = i};
  return embed_protect(S, find_parameter, &q) == CUTTLE_OK ? q.name : NULL;
}

static int find_next_kernel(lua_State *L) {
  NameQuery *q = lua_touserdata(L, 1);
  const char *before = q->name;
  q->name = NULL;
  luaL_getsubtable(L, LUA_REGISTRYINDEX, STATE_KERNELS);
  lua_pushnil(L);
  while (lua_next(L, -2) != 0) {
    const char *name = lua_tostring(L, -2);
    if ((before == NULL || strcmp(name, before) > 0) &&
        (q->name == NULL || strcmp(name, q->name) < 0)) {
      q->name = name;
    }
    lua_pop(L, 1);
  }
  return 0;
}

const char *cuttle_kernel_after(cuttle_State *S, const char *before) {
  NameQuery q = {.name = before};
  return embed_protect(S, find_next_kernel, &q) == CUTTLE_OK ? q.name : NULL;
}

/* {====== Tensors: a cuttle_Tensor is the tensor's userdata ====== */

typedef struct TensorRequest {
  CuttleState *s;
  const char *op;
  const char *dtype, *layout, *device;
  void *ptr;
  CtStorageFree free;
  void *free_ud;
  Tensor *tensor; /* the result */
} TensorRequest;

/* Bytes from element 0 to the last one that the layout reaches. */
static CtStatus span_bytes(const TensorRequest *q, const CtCx *cx, CtLayout l, CtDtype dtype,
                           size_t *bytes, CtErr *err) {
  CtWalk w;
  CtStatus st = ct_walk_init(&w, cx->arena, l, err);
  if (st != CT_OK) {
    ct_err_prefix(err, "%s", q->op);
    return st;
  }
  if (w.lo < 0) {
    return ct_fail(err, CT_EINVAL, "%s: layout %s reaches index %lld; strides must be >= 0", q->op,
                   q->layout, (long long)w.lo);
  }
  if (w.hi == INT64_MAX || !ct_dtype_span_fits(dtype, w.hi + 1, bytes)) {
    return ct_fail(err, CT_EOVERFLOW, "%s: layout %s spans more bytes than memory can have", q->op,
                   q->layout);
  }
  return CT_OK;
}

static CtStatus attach_memory(const TensorRequest *q, size_t bytes, CtErr *err) {
  CtDevice *d = NULL;
  CtStatus st = q->device == NULL ? CT_OK : state_named_device(q->s, q->device, &d, err);
  st = st == CT_OK ? launch_check_pointer(q->op, q->ptr, bytes, q->tensor->dtype, err) : st;
  if (st != CT_OK) {
    return st;
  }
  st =
      ct_storage_wrap(q->s->alloc, d, q->ptr, bytes, q->free, q->free_ud, &q->tensor->storage, err);
  if (st == CT_OK && d == NULL) {
    ct_storage_enter(q->tensor->storage, &q->s->memory.storages);
  }
  return st;
}

static CtStatus zero_memory(CtStorage *storage, CtErr *err) {
  if (storage->device == NULL) {
    memset(storage->host, 0, storage->bytes);
    return CT_OK;
  }
  return ct_device_set(storage->device, storage->buf.ptr, 0, storage->bytes, storage->stream, err);
}

static CtStatus make_memory(const TensorRequest *q, size_t bytes, CtErr *err) {
  CtDevice *d = NULL;
  CtStatus st = state_device(q->s, &d, err);
  st = st == CT_OK ? ct_storage_new(q->s->alloc, d, bytes, &q->tensor->storage, err) : st;
  if (st == CT_OK && d == NULL) {
    ct_storage_enter(q->tensor->storage, &q->s->memory.storages);
  }
  return st == CT_OK && bytes > 0 ? zero_memory(q->tensor->storage, err) : st;
}

/* Nothing can raise once the tensor has its memory: a request that fails frees nothing of the host's. */
static void push_tensor(lua_State *L, TensorRequest *q,
                        CtStatus (*give)(const TensorRequest *, size_t, CtErr *)) {
  CtErr err;
  size_t bytes = 0;
  CtCx cx = bind_enter(L);
  if (q->dtype == NULL || q->layout == NULL) {
    diag_error(L, "%s: the %s is NULL; texts like \"f32\" and \"(4,8)\" were expected", q->op,
               q->dtype == NULL ? "dtype" : "layout");
  }
  lua_pushstring(L, q->dtype);
  CtDtype dtype = bind_to_dtype(L, -1, q->op);
  lua_pushstring(L, q->layout);
  CtLayout l = bind_to_layout(L, -1, &cx, q->op);
  diag_check(L, span_bytes(q, &cx, l, dtype, &bytes, &err), &err);
  q->tensor = tensor_push_new(L, dtype, l, ct_int(0));
  embed_hold(L);
  CtStatus st = give(q, bytes, &err);
  if (st != CT_OK) {
    embed_let_go(L, q->tensor);
    diag_raise(L, &err);
  }
  tensor_is_new(L, q->tensor);
}

static int wrap(lua_State *L) {
  push_tensor(L, lua_touserdata(L, 1), attach_memory);
  return 0;
}

static int make(lua_State *L) {
  push_tensor(L, lua_touserdata(L, 1), make_memory);
  return 0;
}

static cuttle_Tensor *run_request(CuttleState *S, lua_CFunction fn, TensorRequest *q) {
  return embed_protect(S, fn, q) == CUTTLE_OK ? (cuttle_Tensor *)(void *)q->tensor : NULL;
}

cuttle_Tensor *cuttle_tensor_wrap(cuttle_State *S, void *ptr, const char *dtype, const char *layout,
                                  const char *device,
                                  void (*free)(void *ud, void *ptr, size_t bytes), void *free_ud) {
  TensorRequest q = {.s = S,
                     .op = "cuttle_tensor_wrap",
                     .dtype = dtype,
                     .layout = layout,
                     .device = device,
                     .ptr = ptr,
                     .free = free,
                     .free_ud = free_ud};
  return run_request(S, wrap, &q);
}

cuttle_Tensor *cuttle_tensor_new(cuttle_State *S, const char *dtype, const char *layout) {
  TensorRequest q = {.s = S, .op = "cuttle_tensor_new", .dtype = dtype, .layout = layout};
  return run_request(S, make, &q);
}

typedef struct Release {
  const void *tensor;
  CtStorage *storage; /* that nobody else looks at: to be given up; NULL: scripts may look at it */
} Release;

static int release(lua_State *L) {
  Release *r = lua_touserdata(L, 1);
  push_held(L, r->tensor);
  Tensor *t = tensor_peek(L, -1);
  if (t != NULL && !t->is_shown && t->storage != NULL) {
    r->storage = ct_storage_retain(t->storage);
    tensor_close(L, t);
  }
  embed_let_go(L, r->tensor);
  return 0;
}

/* The memory goes with the last tensor that looks at it: at once, unless a script was shown the tensor and may hold
   some. Whatever the host is told then may call the state. */
void cuttle_tensor_release(cuttle_State *S, cuttle_Tensor *t) {
  Release r = {t, NULL};
  if (S == NULL || t == NULL || embed_protect(S, release, &r) != CUTTLE_OK) {
    return;
  }
  if (r.storage != NULL) {
    ct_storage_release(r.storage);
  } else {
    lua_gc(S->L, LUA_GCCOLLECT);
  }
}

size_t cuttle_tensor_bytes(const cuttle_Tensor *t) {
  const CtStorage *storage = t == NULL ? NULL : ((const Tensor *)(const void *)t)->storage;
  return storage == NULL ? 0 : storage->bytes;
}

typedef struct Transfer {
  const char *op;
  const cuttle_Tensor *tensor;
  bool is_read;
  void *dst;       /* of a read */
  const void *src; /* of a write */
  size_t bytes;
} Transfer;

static int transfer(lua_State *L) {
  const Transfer *x = lua_touserdata(L, 1);
  CtErr err;
  const Tensor *t = embed_check_tensor(L, x->tensor, x->op);
  diag_check(L, tensor_live(t, &err), &err);
  state_host_uses(L, x->op);
  if (x->bytes != t->storage->bytes) {
    return luaL_error(L, "%s: %I bytes were given for a tensor of %I", x->op, (LUAI_UACINT)x->bytes,
                      (LUAI_UACINT)t->storage->bytes);
  }
  if (x->bytes > 0 && (x->is_read ? x->dst : x->src) == NULL) {
    return luaL_error(L, "%s: the memory is NULL; %I bytes were asked for", x->op,
                      (LUAI_UACINT)x->bytes);
  }
  CtStatus st = x->is_read ? ct_storage_read(t->storage, 0, x->dst, x->bytes, &err)
                           : ct_storage_write(t->storage, 0, x->src, x->bytes, &err);
  diag_check(L, st, &err);
  return 0;
}

cuttle_Status cuttle_tensor_read(cuttle_State *S, cuttle_Tensor *t, void *dst, size_t bytes) {
  Transfer x = {"cuttle_tensor_read", t, true, dst, NULL, bytes};
  return embed_protect(S, transfer, &x);
}

cuttle_Status cuttle_tensor_write(cuttle_State *S, cuttle_Tensor *t, const void *src,
                                  size_t bytes) {
  Transfer x = {"cuttle_tensor_write", t, false, NULL, src, bytes};
  return embed_protect(S, transfer, &x);
}

/* {====== Waiting ====== */

static int synchronize(lua_State *L) {
  CuttleState *s = lua_touserdata(L, 1);
  state_host_waits(L, "cuttle_synchronize");
  s->n_host++;
  for (int i = 0; i < STATE_MAX_DEVICES; i++) {
    CtErr err;
    if (s->cuda[i] != NULL) {
      diag_check(L, ct_device_synchronize(s->cuda[i], &err), &err);
    }
  }
  return 0;
}

cuttle_Status cuttle_synchronize(cuttle_State *S) { return embed_protect(S, synchronize, S); }
