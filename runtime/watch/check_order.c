/* check_order.c: the order of two accesses in the program: which one comes first in a thread,
   and whether it may come again after the other. The order in which the engine ran them does not
   say where a barrier is missing, because the threads of a block are at different places at the
   same time. */
#include "check_parts.h"

/* Where a jump goes back to; UINT32_MAX: the instruction does not jump back. */
static uint32_t jumps_back(const CtSimtProgram *p, uint32_t at) {
  const CtIn *in = &p->code[at];
  const char *roles = ct_in_roles(in);
  const uint32_t fields[] = {in->d, in->a, in->b, in->c};
  for (size_t i = 0; i < CT_ARRAY_LEN(fields); i++) {
    int64_t to = (int64_t)at + (int32_t)fields[i];
    if (roles[i] == 'l' && to <= (int64_t)at) {
      return (uint32_t)to;
    }
  }
  return UINT32_MAX;
}

static bool is_line(const CtSimtProgram *p, uint32_t a, uint32_t b) {
  return p->locs[a].chunk == p->locs[b].chunk && p->locs[a].line == p->locs[b].line;
}

/* If the loop is unrolled, the same line also has instructions before the other access. */
bool ct_order_is_again(const CtSimtProgram *p, const CtFound *f) {
  bool is_again = false;
  for (uint32_t i = p->body; !is_again && f->in > f->other && i < f->other; i++) {
    is_again = is_line(p, i, f->in);
  }
  for (uint32_t i = f->in > f->other ? f->in : f->other; !is_again && i < p->n_code; i++) {
    is_again = jumps_back(p, i) <= (f->in < f->other ? f->in : f->other);
  }
  return is_again;
}

static bool has_barrier(const CtSimtProgram *p, uint32_t from, uint32_t to, bool in_warp) {
  for (uint32_t i = from; i < to; i++) {
    uint32_t op = p->code[i].u.op;
    bool is_of_warp = op == CT_SIMT_SYNC_WARP || op == CT_SIMT_SYNC_LANES;
    if (op == CT_SIMT_BARRIER || op == CT_SIMT_GRID_BARRIER || (in_warp && is_of_warp)) {
      return true;
    }
  }
  return false;
}

/* May instruction `first` come again after `last` with no barrier on the way? */
static bool comes_again(const CtSimtProgram *p, uint32_t first, uint32_t last, bool in_warp) {
  for (uint32_t i = last; i < p->n_code; i++) {
    uint32_t top = jumps_back(p, i);
    if (top <= first && !has_barrier(p, last, i, in_warp) && !has_barrier(p, top, first, in_warp)) {
      return true;
    }
  }
  return false;
}

/* The thread that is further on may have run first. If its access cannot come before the other
   one within a thread, not even in the next iteration of a loop, we report the order of the
   program: that order shows where the barrier is missing. */
void ct_order_turn_race(const CtSimtProgram *p, CtFound *f) {
  bool is_race = ct_found_is_race(f);
  int how = f->how & CT_RACE_HOW;
  if (!is_race || how == CT_RACE_AT_ONCE || (f->how & (CT_RACE_BLOCKS | CT_RACE_CLOCKS)) != 0 ||
      f->in >= f->other || comes_again(p, f->in, f->other, (f->how & CT_RACE_IN_WARP) != 0)) {
    return;
  }
  how = how == CT_RACE_WRITE_READ   ? CT_RACE_READ_WRITE
        : how == CT_RACE_READ_WRITE ? CT_RACE_WRITE_READ
                                    : how;
  f->how = (uint8_t)((f->how & ~CT_RACE_HOW) | how);
  ct_found_turn(f);
}
