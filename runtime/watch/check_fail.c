/* check_fail.c: failures that the engine finds, as findings. */
#include "check_flag.h"
#include "check_phase.h"

#include <string.h>

static CtCheckKind kind_of_fail(CtFailKind kind) {
  switch (kind) {
    case CT_FAIL_BOUNDS:
    case CT_FAIL_MEMBER: return CT_CHECK_BOUNDS;
    case CT_FAIL_BARRIER_LANES:
    case CT_FAIL_WARP_LANES:
    case CT_FAIL_MASK_ABSENT:
    case CT_FAIL_MASK_OWN:
    case CT_FAIL_MASK_OTHER:
    case CT_FAIL_CLUSTER:
    case CT_FAIL_NAMED_ID:
    case CT_FAIL_NAMED_LANES:
    case CT_FAIL_NAMED_THREADS:
    case CT_FAIL_BARRIER_WARPS: return CT_CHECK_BARRIER;
    case CT_FAIL_MBAR_NEW:
    case CT_FAIL_MBAR_ARRIVALS:
    case CT_FAIL_MBAR_BYTES:
    case CT_FAIL_MBAR_PARITY:
    case CT_FAIL_MBAR_RANK: return CT_CHECK_MBARRIER;
    case CT_FAIL_CANCEL_AGAIN:
    case CT_FAIL_CANCEL_PLACE: return CT_CHECK_CANCEL;
    case CT_FAIL_ISSUE:
    case CT_FAIL_TMEM_LANES: return CT_CHECK_TENSOR;
    case CT_FAIL_REMOTE_ENDED: return CT_CHECK_CLUSTER;
    case CT_FAIL_TMA_START: return CT_CHECK_MISALIGNED;
    case CT_FAIL_WAITS:
    case CT_FAIL_GRID:
    case CT_FAIL_DEADLOCK:
    case CT_FAIL_ENDLESS: return CT_CHECK_DEADLOCK;
    case CT_FAIL_NONE:
    case CT_FAIL_ZERO:
    case CT_FAIL_STEP:
    case CT_FAIL_ASSERT:
    case CT_FAIL_EXTENT:
    case CT_FAIL_WARP_ENDED:
    case CT_FAIL_REMOTE_RANK:
    case CT_FAIL_ADDRESS:
    case CT_FAIL_REGISTERS:
    case CT_FAIL_REPEATS:
    case CT_FAIL_STOPPED: break;
  }
  return CT_CHECK_FAILED;
}

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
  CtFound f = ct_finding_in(k, kind_of_fail(fail->kind), fail->in, fail->warp->index, fail->lane);
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
