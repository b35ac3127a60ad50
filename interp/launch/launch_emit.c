/* launch_emit.c: `cuttle emit` prints the CUDA C of each specialisation that a script makes: texts that
   follow one another in one file. launch_image.c writes the PTX and the machine code. */
#include <stdio.h>
#include <string.h>

#include "interp/state/diag.h"
#include "launch.h"
#include "runtime/device/nvrtc.h"
#include "runtime/emit/emit_cuda.h"

/* Compiles what `cuttle emit` wrote, for the capability it was written for, and drops the result. */
static CtStatus compile_text(const Kernel *k, const char *source, CtErr *err) {
  const char *options[LAUNCH_MAX_OPTIONS];
  CtNvrtcOutput output;
  CtNvrtcJob job = kernel_job(k, source, k->state->emit.arch, options);
  CtStatus status = state_compile(k->state, &job, true, &output, err);
  if (status == CT_OK) {
    ct_nvrtc_output_clear(&output);
  }
  return status;
}

/* Up to which number the names of a base are taken, as far as that is known at once. A script that
   makes thousands of kernels of one name would else look up each number for each of them. */
static int first_number(const CuttleState *s, const char *base) {
  return strcmp(ct_text_str(&s->emit.last_base), base) == 0 ? s->emit.last_number + 1 : 1;
}

static void keep_number(CuttleState *s, const char *base, int number) {
  ct_text_clear(&s->emit.last_base);
  ct_text_puts(&s->emit.last_base, base);
  s->emit.last_number = number;
}

/* Writes down a name of the file; false: it is taken. */
static bool take_name(StateEmit *e, const char *name) {
  size_t len = strlen(name) + 1;
  uint64_t hash = 0;
  for (const char *s = name; *s != '\0'; s++) {
    hash = ct_hash_table_mix(hash, (uint8_t)*s);
  }
  CtHashSlot *at = ct_hash_table_first(&e->by_name, (uint32_t)hash);
  while (at->number != 0) {
    if (memcmp(e->names.s + at->number - 1, name, len) == 0) {
      return false;
    }
    at = ct_hash_table_next(&e->by_name, at);
  }
  ct_hash_table_put(&e->by_name, at, (uint32_t)hash, (uint32_t)e->names.len + 1);
  ct_text_puts(&e->names, name);
  ct_text_putc(&e->names, '\0');
  return true;
}

/* The kernel's name in the file that `cuttle emit` writes: the next specialisation of `softmax` is
   softmax_2, so that a compiler takes the file. */
static CtStatus choose_name(CuttleState *s, const Spec *spec, char name[CT_EMIT_NAME_MAX],
                            CtErr *err) {
  char base[CT_EMIT_NAME_MAX];
  ct_emit_kernel_name(&spec->ir, base);
  for (int i = first_number(s, base);; i++) {
    snprintf(name, CT_EMIT_NAME_MAX, "%s", base);
    if (i > 1) {
      snprintf(name, CT_EMIT_NAME_MAX, "%.*s_%d", CT_EMIT_NAME_MAX - 12, base, i);
    }
    if (!ct_hash_table_reserve(&s->emit.by_name, s->alloc)) {
      return ct_fail_nomem(err);
    }
    if (take_name(&s->emit, name)) {
      keep_number(s, base, i);
      return ct_text_status(&s->emit.names, err);
    }
  }
}

/* What follows earlier texts in the file. To compile it, the text is written once more with all
   its functions. */
static CtStatus write_source(Kernel *k, const Spec *spec, const char *name, CtText *file,
                             CtText *whole, CtErr *err) {
  const CtEmitOpts opts = {.name = name,
                           .marks = spec->has_marks ? &spec->marks : NULL,
                           .functions = &k->state->emit.functions};
  CtStatus status = ct_emit_cuda(&spec->ir, &opts, file, err);
  status = status == CT_OK ? ct_text_status(file, err) : status;
  return status == CT_OK && k->state->emit.compiles ? spec_emit(spec, false, whole, err) : status;
}

void launch_emit(lua_State *L, int kernel, const LaunchConfig *config, LaunchArgs *args) {
  Kernel *k = lua_touserdata(L, kernel);
  CtErr err;
  CtText text, whole;
  Spec *spec = spec_trace(L, kernel, config, args, launch_emit_target(k->state), false, &err);
  if (spec == NULL) {
    diag_raise(L, &err);
  }
  ct_text_init(&text, k->state->alloc);
  ct_text_init(&whole, k->state->alloc);
  char name[CT_EMIT_NAME_MAX];
  CtStatus status = choose_name(k->state, spec, name, &err);
  status = status == CT_OK ? write_source(k, spec, name, &text, &whole, &err) : status;
  if (status != CT_OK) {
    spec_free(k->state, spec);
    ct_text_clear(&text);
    ct_text_clear(&whole);
    diag_raise(L, &err);
  }
  state_print(k->state, ct_text_str(&text), text.len);
  status = k->state->emit.compiles ? compile_text(k, ct_text_str(&whole), &err) : CT_OK;
  status = status == CT_OK ? launch_write_images(L, k, spec, name, &err) : status;
  spec_free(k->state, spec);
  ct_text_clear(&text);
  ct_text_clear(&whole);
  k->state->emit.failed = k->state->emit.failed || status != CT_OK;
  diag_check(L, status, &err);
}
