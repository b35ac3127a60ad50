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

/* The place of this name among the file's. Before it stands the last number that was chosen for it as a base, of a new
   name 1. A script may make thousands of kernels of one name: so the number is known at once. */
static CtStatus place_of(CuttleState *s, const char *name, size_t *place, bool *is_new,
                         CtErr *err) {
  StateEmit *e = &s->emit;
  const unsigned first = 1;
  size_t len = strlen(name) + 1;
  uint64_t hash = 0;
  for (const char *c = name; *c != '\0'; c++) {
    hash = ct_hash_table_mix(hash, (uint8_t)*c);
  }
  if (!ct_hash_table_reserve(&e->by_name, s->alloc)) {
    return ct_fail_nomem(err);
  }
  CtHashSlot *at = ct_hash_table_first(&e->by_name, (uint32_t)hash);
  while (at->number != 0 && memcmp(e->names.s + at->number, name, len) != 0) {
    at = ct_hash_table_next(&e->by_name, at);
  }
  *is_new = at->number == 0;
  if (*is_new) {
    ct_text_add(&e->names, (const char *)&first, sizeof first);
    ct_hash_table_put(&e->by_name, at, (uint32_t)hash, (uint32_t)e->names.len);
    ct_text_add(&e->names, name, len);
  }
  *place = at->number;
  return ct_text_status(&e->names, err);
}

/* The kernel's name in the file that `cuttle emit` writes: the next specialisation of `softmax` is
   softmax_2, so that a compiler takes the file. */
static CtStatus choose_name(CuttleState *s, const Spec *spec, char name[CT_EMIT_NAME_MAX],
                            CtErr *err) {
  char base[CT_EMIT_NAME_MAX];
  size_t of_base, place;
  unsigned number;
  bool is_new;
  ct_emit_kernel_name(&spec->ir, base);
  memcpy(name, base, sizeof base);
  CtStatus status = place_of(s, base, &of_base, &is_new, err);
  while (status == CT_OK && !is_new) {
    char *last = s->emit.names.s + of_base - sizeof number;
    memcpy(&number, last, sizeof number);
    number++;
    memcpy(last, &number, sizeof number);
    snprintf(name, CT_EMIT_NAME_MAX, "%.*s_%u", CT_EMIT_NAME_MAX - 12, base, number);
    status = place_of(s, name, &place, &is_new, err);
  }
  return status;
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
