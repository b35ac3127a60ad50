/* launch_marks.c: a launch on a device whose kernel records its marks (ir_marks.h). */
#include <lauxlib.h>
#include <string.h>

#include "interp/state/diag.h"
#include "launch.h"
#include "runtime/emit/emit_cuda.h"

static CtStatus find_words(const Spec *spec, CtDevPtr *at, size_t *bytes, CtErr *err) {
  char symbol[CT_MARK_NAME_MAX];
  ct_mark_symbol(&spec->ir, symbol);
  return ct_module_global(spec->module, symbol, at, bytes, err);
}

/* Where nobody reads the records they need not be cleared, and the head is as the last launch left it: then
   launches follow one another as without marks. */
CtStatus launch_marks_begin(const CuttleState *s, Spec *spec, const LaunchConfig *c, bool records,
                            CtErr *err) {
  const int64_t *block = s->marked_block;
  const int64_t head[] = {block[0], block[1], block[2], records};
  CtStream stream = launch_stream(c, spec->device);
  CtDevPtr at;
  size_t bytes;
  if (s->on_marks == NULL && memcmp(spec->marks_head, head, sizeof head) == 0) {
    return CT_OK;
  }
  CtStatus status = find_words(spec, &at, &bytes, err);
  if (status == CT_OK) {
    status = ct_device_set(spec->device, at, 0, bytes, stream, err);
  }
  if (status == CT_OK) {
    status = ct_device_write(spec->device, at, head, sizeof head, stream, err);
  }
  memcpy(spec->marks_head, head, status == CT_OK ? sizeof head : 0);
  return status;
}

CtStatus launch_marks_keep(Spec *spec, const LaunchConfig *c, CtErr *err) {
  CtDevPtr at;
  size_t bytes, word = sizeof spec->marks_head[0];
  CtStatus status = find_words(spec, &at, &bytes, err);
  memset(spec->marks_head, 0, sizeof spec->marks_head);
  return status != CT_OK ? status
                         : ct_device_set(spec->device, at + 3 * word, 0, word,
                                         launch_stream(c, spec->device), err);
}

StateWords launch_marks_push(lua_State *L, const Spec *spec, const LaunchConfig *c) {
  CtDevPtr at;
  size_t bytes;
  CtErr err;
  diag_check(L, find_words(spec, &at, &bytes, &err), &err);
  void *words = lua_newuserdatauv(L, bytes, 0);
  diag_check(L, ct_device_synchronize(spec->device, &err), &err);
  diag_check(L,
             ct_device_read(spec->device, words, at, bytes, launch_stream(c, spec->device), &err),
             &err);
  return (StateWords){words, bytes};
}

void launch_marks_end(lua_State *L, int kernel, const Spec *spec, const LaunchConfig *c,
                      const LaunchArgs *args) {
  const CuttleState *s = args->of->state;
  int top = lua_gettop(L);
  if (s->on_marks != NULL) {
    StateWords words = launch_marks_push(L, spec, c);
    s->on_marks(L, kernel, spec, c, args, words);
  }
  lua_settop(L, top);
}
