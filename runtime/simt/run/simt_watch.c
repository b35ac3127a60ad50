/* simt_watch.c: watched instructions: the handlers that run before their own. */
#include "simt_watch.h"

#include "simt_engine.h"
#include "simt_plan.h"

void ct_simt_note_sync(const CtSyncNote *note) {
  const CtSimtJob *job = note->w->worker->job;
  CtSimtPlan *plan = job->group->plan;
  if (job->watch != NULL && job->watch->ops->sync != NULL) {
    job->watch->ops->sync(job->watch, note);
  }
  if (plan != NULL) {
    plan->sync(plan, note);
  }
}

/* Runs an instruction on the lanes that the watcher allows, unless it has made the block fail. */
static const CtIn *step(const CtIn *in, CtWarp *w, CtHandler handler) {
  const CtSimtJob *job = w->worker->job;
  CtSimtWatch *watch = job->watch;
  const CtIn *code = &job->program->code[in - job->code], *next;
  uint32_t mask = w->mask;
  uint32_t lanes = watch->ops->step(watch, code, in, w);
  if (w->worker->fail.kind != CT_FAIL_NONE) {
    return NULL;
  }
  if (lanes == mask) {
    next = handler(in, w);
  } else if (lanes == 0) {
    return in + ct_in_size(code);
  } else {
    w->mask = lanes;
    next = handler(in, w);
    w->mask = mask;
  }
  if (watch->ops->after != NULL && next != NULL) {
    watch->ops->after(watch, code, in, w);
  }
  return next;
}

/* The handler of watched instructions, and of the GUARD before one, which may run it itself. */
const CtIn *ct_simt_step(const CtIn *in, CtWarp *w) {
  const CtSimtJob *job = w->worker->job;
  return step(in, w, job->handlers[in - job->code]);
}
static const CtIn *step_guarded(const CtIn *in, CtWarp *w) {
  return ct_simt_is_whole(in, w) ? in + 1 : step(in + 1, w, ct_simt_do_TILE);
}

static bool is_wanted(CtSimtWatch *watch, const CtSimtProgram *p, uint32_t i) {
  return watch->ops->wants(&p->code[i]) &&
         (watch->ops->wants_at == NULL || watch->ops->wants_at(watch, i));
}

void ct_simt_watch_code(const CtSimtJob *job, CtIn *code, CtHandler *handlers) {
  const CtSimtProgram *p = job->program;
  CtSimtWatch *watch = job->watch;
  for (uint32_t i = watch->ops->has_prologue ? 0 : p->body; i < p->n_code; i++) {
    handlers[i] = code[i].u.handler;
    if (ct_in_is(&p->code[i], CT_INS_GUARD) && is_wanted(watch, p, i + 1)) {
      code[i].u.handler = step_guarded;
    } else if (is_wanted(watch, p, i)) {
      CtHandler own = watch->ops->handler == NULL ? NULL : watch->ops->handler(watch, i);
      code[i].u.handler = own != NULL ? own : ct_simt_step;
    }
  }
}

CtIn ct_simt_watched_form(CtIn in) {
  if (in.u.op == CT_SIMT_NEXT_SUM_f32 || in.u.op == CT_SIMT_NEXT_SUM_f64) {
    in.u.op = CT_SIMT_NEXT;
    in.imm = CT_SPIN_NOT;
  }
  return in;
}
