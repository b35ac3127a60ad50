/* watch_source.c: the CUDA C of a launch that is watched on the CPU engine. */
#include "watch_source.h"

#include "interp/algebra/bind.h"
#include "interp/state/fields.h"
#include "runtime/emit/emit_cuda.h"

void watch_keep_source(lua_State *L, int sm, int kernel, const LaunchConfig *config,
                       LaunchArgs *args) {
  const Kernel *k = lua_touserdata(L, kernel);
  CtErr err = {0};
  CtText text;
  Spec *spec = spec_trace(L, kernel, config, args, launch_cuda_target(sm), false, &err);
  if (spec == NULL) {
    field_text(L, "why", err.msg);
    return;
  }
  char symbol[CT_EMIT_NAME_MAX];
  ct_emit_kernel_name(&spec->ir, symbol);
  ct_text_init(&text, k->state->alloc);
  CtStatus status = spec_emit(spec, true, &text, &err); /* the PTX is to know the script's lines */
  spec_free(k->state, spec);
  if (status != CT_OK) {
    ct_text_clear(&text);
    field_text(L, "why", err.msg);
    return;
  }
  bind_push_text(L, &text);
  lua_setfield(L, -2, "source");
  field_text(L, "symbol", symbol);
  launch_set_options(L, k);
}
