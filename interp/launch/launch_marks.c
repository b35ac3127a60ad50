/* launch_marks.c: a launch on a device whose kernel records its marks (ir_marks.h). */
#include <lauxlib.h>
#include <string.h>

#include "interp/state/diag.h"
#include "launch_tap.h"
#include "runtime/emit/emit_cuda.h"

/* What is wanted of kernels that were traced for marks; the session may be over. */
static const StateMarks *marks_of(const CuttleState *s) {
  static const StateMarks none = {.id = 0};
  return s->taps.marks == NULL ? &none : s->taps.marks;
}

static CtStatus find_words(const Spec *spec, CtDevPtr *at, size_t *bytes, CtErr *err) {
  char symbol[CT_MARK_NAME_MAX];
  ct_mark_symbol(&spec->ir, symbol);
  return ct_module_global(spec->module, symbol, at, bytes, err);
}

/* Where nobody reads the records they need not be cleared, and the head is as the last launch left it: then
   launches follow one another as without marks. */
CtStatus launch_marks_begin(const CuttleState *s, Spec *spec, const LaunchConfig *c, bool records,
                            CtErr *err) {
  const StateMarks *m = marks_of(s);
  const int64_t head[] = {m->block[0], m->block[1], m->block[2], records};
  CtStream stream = launch_stream(c, spec->device);
  CtDevPtr at;
  size_t bytes;
  if (m->take == NULL && memcmp(spec->marks_head, head, sizeof head) == 0) {
    return CT_OK;
  }
  CtStatus status = find_words(spec, &at, &bytes, err);
  status = status == CT_OK ? ct_device_set(spec->device, at, 0, bytes, stream, err) : status;
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

TapAnswer launch_marks_before(Launch *l, CtErr *err) {
  const StateMarks *m = marks_of(l->state);
  bool records = m->take != NULL || m->records;
  return launch_marks_begin(l->state, l->spec, l->config, records, err) == CT_OK ? TAP_IN
                                                                                 : TAP_FAILED;
}

void launch_marks_report(Launch *l, CtStatus status, const CtErr *err) {
  const StateMarks *m = marks_of(l->state);
  int top = lua_gettop(l->L);
  (void)err;
  if (status == CT_OK && m->take != NULL) {
    m->take(l, launch_marks_push(l->L, l->spec, l->config));
  }
  lua_settop(l->L, top);
}
