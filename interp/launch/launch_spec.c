/* launch_spec.c: the specialisations of a kernel: finds the one for a key, or makes it (spec_trace.c,
   spec_compile.c) and keeps it. */
#include <lauxlib.h>
#include <string.h>

#include "interp/state/diag.h"
#include "launch_key.h"

void kernel_forget(Kernel *k) {
  while (k->specs != NULL) {
    Spec *next = k->specs->next;
    spec_free(k->state, k->specs);
    k->specs = next;
  }
  k->n_specs = 0;
}

/* Values that the key knows by identity must stay alive as long as the specialisation. */
static void anchor_captures(lua_State *L, int kernel) {
  if (lua_getiuservalue(L, kernel, 2) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, kernel, 2);
  }
  lua_getiuservalue(L, kernel, 1);
  for (int i = 1; lua_getupvalue(L, -1, i) != NULL; i++) {
    bool is_known_by_value = lua_isnil(L, -1) || lua_isboolean(L, -1) ||
                             lua_type(L, -1) == LUA_TNUMBER || lua_type(L, -1) == LUA_TSTRING;
    if (is_known_by_value) {
      lua_pop(L, 1);
    } else {
      lua_pushboolean(L, 1);
      lua_rawset(L, -4);
    }
  }
  lua_pop(L, 2);
}

/* The key knows the type of an object of the library, or of a script, by its metatable. */
static void anchor_objects(lua_State *L, int kernel, const LaunchArgs *args) {
  lua_getiuservalue(L, kernel, 2);
  for (int i = 0; i < args->n && args->n_objects > 0; i++) {
    if (args->args[i].kind == ARG_OBJECT) {
      launch_push_given(L, args, &args->args[i]);
      if (lua_isnil(L, -1)) {
        lua_pop(L, 1);
        continue;
      }
      lua_pushboolean(L, 1);
      lua_rawset(L, -3);
    }
  }
  lua_pop(L, 1);
}

/* What varies without end, such as a captured number that counts, must not eat all memory: after so many
   specialisations the kernel begins anew, and lets go of what it captured. */
static void make_room(lua_State *L, int kernel, const LaunchConfig *config, CtDevice *device) {
  Kernel *k = lua_touserdata(L, kernel);
  CtErr err;
  /* Nothing may wait while a stream is being captured. */
  bool is_captured =
      device != NULL && ct_device_is_capturing(device, launch_stream(config, device));
  if (k->n_specs >= LAUNCH_MAX_SPECS && !is_captured) {
    if (device != NULL) { /* launches of the old ones may be in flight */
      diag_check(L, ct_device_synchronize(device, &err), &err);
    }
    kernel_forget(k);
    lua_pushnil(L);
    lua_setiuservalue(L, kernel, 2);
  }
}

/* The trace ran the script, which may have closed what the launch was to work on. */
static CtStatus check_args(lua_State *L, const Kernel *k, const LaunchArgs *args, CtErr *err) {
  for (int i = 0; i < args->n; i++) {
    if (args->args[i].tensor != NULL && tensor_live(args->args[i].tensor, err) != CT_OK) {
      return ct_fail(err, CT_EINVAL, "%s: argument %d was closed while the kernel was traced",
                     k->name, args->args[i].place);
    }
  }
  return launch_check_tables(L, k, args, err);
}

/* Traced and compiled, not kept; NULL and why. */
static Spec *new_spec(lua_State *L, int kernel, const LaunchConfig *config, LaunchArgs *args,
                      CtErr *err) {
  Kernel *k = lua_touserdata(L, kernel);
  make_room(L, kernel, config, args->device);
  anchor_captures(L, kernel); /* first: it may raise, and then nothing is lost */
  anchor_objects(L, kernel, args);
  Spec *spec = spec_trace(L, kernel, config, args, launch_target(args->device), false, err);
  if (spec != NULL &&
      (check_args(L, k, args, err) != CT_OK || spec_compile(k, spec, args->device, err) != CT_OK)) {
    spec_free(k->state, spec);
    return NULL;
  }
  return spec;
}

static void keep_spec(lua_State *L, int kernel, const LaunchConfig *config, LaunchArgs *args,
                      Spec *spec) {
  Kernel *k = lua_touserdata(L, kernel);
  spec->next = k->specs;
  k->specs = spec;
  k->n_specs++;
  launch_keep_reads(L, kernel, spec); /* may raise: until then no launch takes it */
  spec->is_kept = true;
  if (k->state->mode == STATE_EMIT) {
    launch_emit(L, kernel, config, args);
  }
}

/* One that was traced for the key, and that still holds; NULL: there is none. It comes first from now on. */
static Spec *find_spec(lua_State *L, int kernel, const LaunchArgs *args) {
  Kernel *k = args->of;
  Spec **link = &k->specs;
  for (Spec *spec = *link; spec != NULL; link = &spec->next, spec = *link) {
    if (spec->is_kept && launch_key_is(&spec->key, &args->key) &&
        launch_reads_hold(L, kernel, k, spec)) {
      *link = spec->next;
      spec->next = k->specs;
      k->specs = spec;
      return spec;
    }
  }
  return NULL;
}

static Spec *known_spec(lua_State *L, int kernel, const LaunchArgs *args) {
  Spec *spec = args->of->specs;
  bool is_same =
      spec != NULL && spec->id == args->spec && launch_reads_hold(L, kernel, args->of, spec);
  return is_same ? spec : find_spec(L, kernel, args);
}

Spec *launch_try_spec(lua_State *L, int kernel, const LaunchConfig *config, LaunchArgs *args,
                      CtErr *err) {
  Spec *spec = known_spec(L, kernel, args);
  if (spec == NULL) {
    spec = new_spec(L, kernel, config, args, err);
    if (spec == NULL) {
      return NULL;
    }
    keep_spec(L, kernel, config, args, spec);
  }
  launch_settle(args, &spec->ir);
  args->spec = spec->id;
  return spec;
}

Spec *launch_spec(lua_State *L, int kernel, const LaunchConfig *config, LaunchArgs *args) {
  CtErr err;
  Spec *spec = launch_try_spec(L, kernel, config, args, &err);
  if (spec == NULL) {
    diag_raise(L, &err);
  }
  return spec;
}
