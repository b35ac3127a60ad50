/* check_fail.c: failures that the engine finds, as findings. */
#include "check_flag.h"
#include "check_parts.h"

#include <string.h>

static const CtCheckKind kinds[] = {
#define X(name, finding) [CT_FAIL_##name] = CT_CHECK_##finding,
#include "runtime/simt/run/simt_fails.def"
};

bool ct_check_fail(CtSimtWatch *watch, CtWorker *worker) {
  (void)watch;
  CtCheckWorker *k = ct_check_worker(worker);
  const CtFail *fail = &worker->fail;
  ct_flag_stop(k);
  if (fail->kind == CT_FAIL_REPEATS) { /* the launch ends; its finding has been noted */
    return false;
  }
  CtErr err;
  (void)ct_simt_fail_report(worker, &err);
  CtFound f = ct_finding_in(k, kinds[fail->kind], fail->in, fail->warp->index, fail->lane);
  f.other = fail->other == NULL ? UINT32_MAX : ct_check_index(k, fail->other);
  f.buf = fail->buf;
  if (fail->kind == CT_FAIL_WAITS && k->phases != NULL) {
    size_t len = strlen(err.msg);
    ct_phase_text(k, err.msg + len, sizeof err.msg - len);
  }
  f.text = ct_arena_strdup(&k->texts, err.msg, strlen(err.msg));
  k->no_memory = k->no_memory || f.text == NULL;
  if (f.text != NULL) {
    ct_finding_note(k, &f);
  }
  return f.text != NULL;
}
