/* launch_collect.c: see launch_collect.h. For the standard library:
     _launch.collect()   a collection of the state, which is open until it is closed
     c:compile(f) compiles what was added, in processes, into the disk cache. f(n) is called with how many are
                  done; no more begin where it returns false or raises. Returns how many were compiled
     c:size()     how many texts there are */
#include "launch_collect.h"

#include <lauxlib.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "interp/openers.h"
#include "interp/state/state.h"
#include "launch_key.h"
#include "runtime/base/env.h"
#include "runtime/device/nvrtc_pool.h"

#define COLLECTION_TYPE "collection of texts"

typedef struct Text {
  char *bytes; /* source, name, arch, options, each ended by a NUL; then the specialisation's key */
  size_t len, key_len;
  int n_options;
  const Kernel *of; /* it may be gone, and another one in its place */
} Text;

struct LaunchCollection {
  CuttleState *state; /* NULL: closed */
  Text *texts;
  size_t n, cap;
  int n_again; /* launches since the last new text */
};

enum { MOST_AGAIN = 10000 };

/* {====== Adding ======= */

static void add_string(CtText *t, const char *s) { ct_text_add(t, s, strlen(s) + 1); }

CtStatus launch_collect(LaunchCollection *c, const Kernel *k, const Spec *spec,
                        const CtNvrtcJob *job, CtErr *err) {
  CtText all;
  CtStatus status = CT_GROW(c->state->alloc, c->texts, c->cap, c->n + 1, err);
  if (status != CT_OK) {
    return status;
  }
  ct_text_init(&all, c->state->alloc);
  add_string(&all, job->source);
  add_string(&all, job->name);
  add_string(&all, job->arch);
  for (int i = 0; i < job->n_options; i++) {
    add_string(&all, job->options[i]);
  }
  ct_text_add(&all, (const char *)spec->key.bytes, spec->key.len);
  Text *t = &c->texts[c->n];
  *t = (Text){.len = all.len, .key_len = spec->key.len, .n_options = job->n_options, .of = k};
  t->bytes = ct_text_status(&all, err) == CT_OK ? ct_alloc(c->state->alloc, all.len) : NULL;
  if (t->bytes != NULL) {
    memcpy(t->bytes, all.s, all.len);
    c->n++;
    c->n_again = 0;
  }
  ct_text_clear(&all);
  return t->bytes == NULL ? ct_fail_nomem(err)
                          : ct_fail(err, CT_EINVAL, "%s: collected, not compiled", job->name);
}

bool launch_is_collected(const LaunchCollection *c, const LaunchArgs *a) {
  for (size_t i = 0; i < c->n; i++) {
    const Text *t = &c->texts[i];
    const LaunchKey key = {(unsigned char *)t->bytes + t->len - t->key_len, t->key_len, 0};
    if (t->of == a->of && launch_key_is(&key, &a->key)) {
      return true;
    }
  }
  return false;
}

size_t launch_n_collected(const LaunchCollection *c) { return c->n; }

CtStatus launch_collect_again(LaunchCollection *c, CtErr *err) {
  return c->n_again++ < MOST_AGAIN
             ? CT_OK
             : ct_fail(err, CT_EINVAL,
                       "tune: %d launches without a new kernel; does a loop wait for a result?",
                       MOST_AGAIN);
}

/* {====== Compiling ====== */

static const char *after(const char *s) { return s + strlen(s) + 1; }

static void fill_job(const Text *t, CtNvrtcJob *job, const char **options) {
  *job = (CtNvrtcJob){.source = t->bytes, .options = options, .n_options = t->n_options};
  job->name = after(job->source);
  job->arch = after(job->name);
  const char *option = after(job->arch);
  for (int i = 0; i < t->n_options; i++, option = after(option)) {
    options[i] = option;
  }
}

typedef struct Asked {
  lua_State *L;
  int f;
} Asked;

static bool poll(void *ud, size_t n_done) {
  const Asked *a = ud;
  lua_pushvalue(a->L, a->f);
  lua_pushinteger(a->L, (lua_Integer)n_done);
  bool goes_on = lua_pcall(a->L, 1, 1, 0) == LUA_OK && lua_toboolean(a->L, -1);
  lua_pop(a->L, 1);
  return goes_on;
}

size_t launch_compile_all(lua_State *L, const CtNvrtcJob *jobs, size_t n, int f) {
  const CuttleState *s = state_of(L);
  Asked asked = {L, lua_absindex(L, f)};
  CtCache cache;
  CtErr err;
  bool before = ct_env_ignore(s->options.no_environment != 0);
  CtStatus status = ct_cache_init(&cache, &err);
  (void)ct_env_ignore(before);
  diag_check(L, status, &err);
  luaL_checkstack(L, 4, NULL);
  bool may = s->options.sandbox == 0 && cache.dir[0] != '\0';
  return may ? ct_nvrtc_build_all(jobs, n, &cache, s->owns_process, poll, &asked) : 0;
}

static LaunchCollection *check_collection(lua_State *L) {
  LaunchCollection *c = luaL_checkudata(L, 1, COLLECTION_TYPE);
  luaL_argcheck(L, c->state != NULL, 1, "the collection is closed");
  return c;
}

static int collection_compile(lua_State *L) {
  LaunchCollection *c = check_collection(L);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  CtNvrtcJob *jobs = lua_newuserdatauv(L, (c->n + 1) * sizeof *jobs, 0);
  const char *(*options)[LAUNCH_MAX_OPTIONS] =
      lua_newuserdatauv(L, (c->n + 1) * sizeof *options, 0);
  for (size_t i = 0; i < c->n; i++) {
    fill_job(&c->texts[i], &jobs[i], options[i]);
  }
  lua_pushinteger(L, (lua_Integer)launch_compile_all(L, jobs, c->n, 2));
  return 1;
}

static int collection_size(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)check_collection(L)->n);
  return 1;
}

static int collection_close(lua_State *L) {
  LaunchCollection *c = luaL_checkudata(L, 1, COLLECTION_TYPE);
  if (c->state == NULL) {
    return 0;
  }
  CuttleState *s = c->state;
  s->taps.collection = s->taps.collection == c ? NULL : s->taps.collection;
  for (size_t i = 0; i < c->n; i++) {
    ct_free(s->alloc, c->texts[i].bytes, c->texts[i].len);
  }
  ct_free(s->alloc, c->texts, c->cap * sizeof *c->texts);
  *c = (LaunchCollection){.state = NULL};
  return 0;
}

static int collect(lua_State *L) {
  CuttleState *s = state_of(L);
  if (s->taps.collection != NULL) {
    return luaL_error(L, "tune: sources are already being collected");
  }
  LaunchCollection *c = lua_newuserdatauv(L, sizeof *c, 0);
  *c = (LaunchCollection){.state = s};
  luaL_setmetatable(L, COLLECTION_TYPE);
  s->taps.collection = c;
  return 1;
}

static const luaL_Reg methods[] = {
    {"compile", collection_compile}, {"size", collection_size}, {NULL, NULL}};
static const luaL_Reg functions[] = {{"_launch.collect", collect}, {NULL, NULL}};

void bind_open_collect(lua_State *L) {
  bind_new_handle(L, COLLECTION_TYPE, collection_close, methods);
  luaL_setfuncs(L, functions, 0);
}
