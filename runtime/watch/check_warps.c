/* check_warps.c: `check` of what warps of a block have to do together: barriers that threads reach before they end, and
   setmaxnreg. */
#include "check_parts.h"
#include "runtime/simt/run/simt_team.h"

#include <stdio.h>

enum { WARP_GROUP = 4 };

/* The lanes of a warp that exist in the block and have ended. */
static uint32_t ended_lanes(const CtSimtProgram *p, const CtWarp *w) {
  int64_t rest = p->block[0] * p->block[1] * p->block[2] - (int64_t)w->index * CT_LANES;
  uint32_t all = rest >= CT_LANES ? CT_ALL_LANES : (1u << rest) - 1;
  return w->pc == NULL ? all : all & ~w->live;
}

/* Reports threads that ended before a barrier. The hardware counts them as arrived, but CUDA
   does not allow this. */
void ct_warps_look_at_ended(CtCheckWorker *k) {
  const CtWorker *worker = k->k;
  const CtSimtProgram *p = worker->job->program;
  CtFound f = {.kind = CT_CHECK_BARRIER,
               .other = UINT32_MAX,
               .how = CT_BARRIER_ENDED,
               .count = 1,
               .block = worker->block};
  for (int32_t i = p->n_warps; i-- > 0;) {
    const CtWarp *w = ct_simt_warp_at(worker, i);
    uint32_t ended = ended_lanes(p, w);
    f.in = w->pc != NULL ? ct_check_index(k, w->pc) : f.in;
    f.extra += __builtin_popcount(ended);
    f.thread = ended != 0 ? ct_check_thread(i, ct_first_lane(ended)) : f.thread;
  }
  if (f.extra != 0) {
    f.how = p->code[f.in].u.op == CT_SIMT_GRID_BARRIER ? CT_BARRIER_ENDED_GRID : f.how;
    ct_finding_note(k, &f);
  }
}

/* The setmaxnreg that gave the warp its registers; UINT32_MAX: it still has those that it began with. */
static uint32_t setmaxnreg_of(const CtSimtProgram *p, const CtWarp *w) {
  uint32_t i = p->body;
  while (i < p->n_code &&
         (p->code[i].u.op != CT_SIMT_SETMAXNREG || p->code[i].imm != w->registers)) {
    i += (uint32_t)ct_in_size(&p->code[i]);
  }
  return w->registers != p->first_registers && i < p->n_code ? i : UINT32_MAX;
}

/* Reports that two warps of a group do not have the same registers. */
static void note_registers(CtCheckWorker *k, const CtWarp *a, const CtWarp *b) {
  uint32_t of_a = setmaxnreg_of(k->k->job->program, a);
  uint32_t in = of_a != UINT32_MAX ? of_a : setmaxnreg_of(k->k->job->program, b);
  char text[300];
  snprintf(text, sizeof text,
           "setmaxnreg: warp %d has %d registers, warp %d of its warp group %d; let all four warps "
           "of a group reach the same one",
           (int)a->index, a->registers, (int)b->index, b->registers);
  ct_finding_note_text(k,
                       (CtFound){.kind = CT_CHECK_BARRIER,
                                 .in = in,
                                 .block = k->k->block,
                                 .thread = ct_check_thread(b->index, 0)},
                       text);
}

void ct_warps_look_at_registers(CtCheckWorker *k) {
  const CtSimtProgram *p = k->k->job->program;
  for (int32_t i = 0; p->first_registers > 0 && i < p->n_warps; i++) {
    const CtWarp *first = ct_simt_warp_at(k->k, i - i % WARP_GROUP), *w = ct_simt_warp_at(k->k, i);
    if (w->registers != first->registers) {
      note_registers(k, first, w);
      i += WARP_GROUP - 1 - i % WARP_GROUP; /* one finding for each warp group */
    }
  }
}
