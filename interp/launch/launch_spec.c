/* launch_spec.c: the specialisations of a kernel: finds the one for a key, or makes it (spec_trace.c,
   spec_compile.c) and keeps it. */
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "interp/state/diag.h"
#include "launch.h"
#include "runtime/device/nvrtc.h"
#include "runtime/emit/emit_cuda.h"

void kernel_forget(Kernel *k) {
  while (k->specs != NULL) {
    Spec *next = k->specs->next;
    spec_free(k->state, k->specs);
    k->specs = next;
  }
  k->n_specs = 0;
}

/* Compiles what `cuttle emit` wrote, for the capability it was written for, and drops the result. */
static CtStatus compile_text(const Kernel *k, const char *source, CtErr *err) {
  const char *options[LAUNCH_MAX_OPTIONS];
  CtNvrtcOutput output;
  CtNvrtcJob job = {.alloc = k->state->alloc,
                    .source = source,
                    .name = k->name,
                    .arch = k->state->emit_arch,
                    .options = options,
                    .n_options = kernel_options(k, options)};
  CtStatus status = state_compile(k->state, &job, true, &output, err);
  if (status == CT_OK) {
    ct_nvrtc_output_clear(&output);
  }
  return status;
}

/* The kernel's name in the file that `cuttle emit` writes: the next specialisation of `softmax` is
   softmax_2, so that a compiler takes the file. */
static void choose_name(CuttleState *s, const Spec *spec, char name[CT_EMIT_NAME_MAX]) {
  char base[CT_EMIT_NAME_MAX], key[CT_EMIT_NAME_MAX + 2];
  ct_emit_kernel_name(&spec->ir, base);
  for (int i = 1;; i++) {
    snprintf(name, CT_EMIT_NAME_MAX, "%s", base);
    if (i > 1) {
      snprintf(name, CT_EMIT_NAME_MAX, "%.*s_%d", CT_EMIT_NAME_MAX - 12, base, i);
    }
    snprintf(key, sizeof key, " %s\n", name);
    if (strstr(ct_text_str(&s->emit_names), key) == NULL) {
      ct_text_puts(&s->emit_names, key);
      return;
    }
  }
}

/* What follows earlier texts in the file. To compile it, the text is written once more with all
   its functions. */
static CtStatus write_source(Kernel *k, const Spec *spec, CtText *file, CtText *whole, CtErr *err) {
  char name[CT_EMIT_NAME_MAX];
  choose_name(k->state, spec, name);
  const CtEmitOpts opts = {.name = name, .functions = &k->state->emit_functions};
  CtStatus status = ct_emit_cuda(&spec->ir, &opts, file, err);
  status = status == CT_OK ? ct_text_status(file, err) : status;
  return status == CT_OK && k->state->emit_compile ? spec_emit(spec, false, whole, err) : status;
}

/* `cuttle emit`: the CUDA C of what was launched, for people. */
static void show_source(lua_State *L, int kernel, const LaunchConfig *config, LaunchArgs *args) {
  Kernel *k = lua_touserdata(L, kernel);
  CtErr err;
  CtText text, whole;
  Spec *spec =
      spec_trace(L, kernel, config, args, launch_cuda_target(k->state->emit_sm), false, &err);
  if (spec == NULL) {
    diag_raise(L, &err);
  }
  ct_text_init(&text, k->state->alloc);
  ct_text_init(&whole, k->state->alloc);
  CtStatus status = write_source(k, spec, &text, &whole, &err);
  spec_free(k->state, spec);
  if (status != CT_OK) {
    ct_text_clear(&text);
    ct_text_clear(&whole);
    diag_raise(L, &err);
  }
  state_print(k->state, ct_text_str(&text), text.len);
  status = k->state->emit_compile ? compile_text(k, ct_text_str(&whole), &err) : CT_OK;
  ct_text_clear(&text);
  ct_text_clear(&whole);
  k->state->emit_failed = k->state->emit_failed || status != CT_OK;
  diag_check(L, status, &err);
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

/* What varies without end, such as a captured number that counts, must not eat all memory: after so many
   specialisations the kernel begins anew, and lets go of what it captured. */
static void make_room(lua_State *L, int kernel, CtDevice *device) {
  Kernel *k = lua_touserdata(L, kernel);
  CtErr err;
  if (k->n_specs == LAUNCH_MAX_SPECS) {
    if (device != NULL) { /* launches of the old ones may be in flight */
      diag_check(L, ct_device_synchronize(device, &err), &err);
    }
    kernel_forget(k);
    lua_pushnil(L);
    lua_setiuservalue(L, kernel, 2);
  }
}

/* The trace ran the script, which may have closed what the launch was to work on. */
static CtStatus check_args(const Kernel *k, const LaunchArgs *args, CtErr *err) {
  for (int i = 0; i < args->n; i++) {
    if (args->args[i].tensor != NULL && tensor_live(args->args[i].tensor, err) != CT_OK) {
      return ct_fail(err, CT_EINVAL, "%s: argument %d was closed while the kernel was traced",
                     k->name, i + 1);
    }
  }
  return CT_OK;
}

static Spec *make_spec(lua_State *L, int kernel, const LaunchConfig *config, LaunchArgs *args) {
  Kernel *k = lua_touserdata(L, kernel);
  CtErr err;
  make_room(L, kernel, args->device);
  anchor_captures(L, kernel); /* first: it may raise, and then nothing is lost */
  Spec *spec = spec_trace(L, kernel, config, args, launch_target(args->device), false, &err);
  if (spec == NULL) {
    diag_raise(L, &err);
  }
  if (check_args(k, args, &err) != CT_OK || spec_compile(k, spec, args->device, &err) != CT_OK) {
    spec_free(k->state, spec);
    diag_raise(L, &err);
  }
  spec->next = k->specs;
  k->specs = spec;
  k->n_specs++;
  launch_keep_reads(L, kernel, spec); /* may raise: until then no launch takes it */
  spec->is_kept = true;
  if (k->state->mode == STATE_EMIT) {
    show_source(L, kernel, config, args);
  }
  return spec;
}

Spec *launch_spec(lua_State *L, int kernel, const LaunchConfig *config, LaunchArgs *args) {
  Kernel *k = lua_touserdata(L, kernel);
  Spec **link = &k->specs;
  for (Spec *spec = *link; spec != NULL; link = &spec->next, spec = *link) {
    if (spec->is_kept && spec->key_len == args->key_len &&
        memcmp(spec->key, args->key, args->key_len) == 0 && launch_reads_hold(L, kernel, spec)) {
      *link = spec->next;
      spec->next = k->specs;
      k->specs = spec;
      return spec;
    }
  }
  return make_spec(L, kernel, config, args);
}
