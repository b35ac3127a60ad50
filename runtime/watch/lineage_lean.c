/* lineage_lean.c: which operations on whole tensors cannot matter to what is written where.

   A warp's way, and the elements that it accesses, come from scalars and lanes. A value of memory
   gets there by a load, an atomic operation or a predicate; a float mostly does not, which
   lineage_taint.c finds out. So an operation on whole tensors does
   not matter unless it writes memory that is read so, or from where TILE or TMA bring it to such
   memory. Two parameters that share memory count as apart: a wrong guess only finds other blocks. */
#include <string.h>

#include "history.h"

static uint32_t memory_of(const CtSimtProgram *p, uint32_t buf) { return p->bufs[buf].memory; }

/* Marks what the instruction reads as needed; if it is one that passes values on, only where what
   it writes is needed. Did that change anything? */
static bool need(const CtSimtProgram *p, const CtIn *in, bool floats, bool *needed) {
  CtOperand operands[CT_MAX_OPERANDS];
  int n = ct_simt_operands(p, in, operands);
  bool passes_on = ct_in_is(in, CT_INS_TILE) || ct_in_is(in, CT_INS_TMA), matters = !passes_on,
       changed = false, loads = ct_in_is(in, CT_INS_MEMORY) || ct_in_is(in, CT_INS_DOT);
  for (int i = 0; i < n && passes_on; i++) {
    matters = matters || (operands[i].writes && needed[memory_of(p, operands[i].buf)]);
  }
  for (int i = 0; i < n; i++) {
    const CtOperand *o = &operands[i];
    bool is_predicate =
        ct_in_is(in, CT_INS_TILE) && o->role == CT_ACCESS_B && p->tiles[in->imm].op == CT_OP_COPY;
    bool *is = &needed[memory_of(p, o->buf)];
    bool is_idle_float = loads && !floats && ct_is_float(p->bufs[o->buf].dtype);
    if (o->reads && ((matters && !is_idle_float) || is_predicate) && !*is) {
      *is = changed = true;
    }
  }
  return changed;
}

static bool is_idle(const CtSimtProgram *p, const CtIn *in, const bool *needed) {
  CtOperand operands[CT_MAX_OPERANDS];
  int n = ct_simt_operands(p, in, operands);
  bool is = ct_in_is(in, CT_INS_TILE);
  for (int i = 0; i < n; i++) {
    is = is && !(operands[i].writes && needed[memory_of(p, operands[i].buf)]);
  }
  return is;
}

/* Does it show values to somebody? */
static bool shows(const CtIn *in) {
  return ct_in_is(in, CT_INS_MESSAGE) && in->u.op != CT_SIMT_WITHIN && in->u.op != CT_SIMT_WRAPS;
}

/* Fills `needed`. floats: those that loads bring matter. */
static void need_all(const CtSimtProgram *p, bool floats, bool *needed) {
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = p->body; i < p->n_code; i++) {
      changed = need(p, &p->code[i], floats, needed) || changed;
    }
  }
}

bool *ct_lineage_idle(const CtSimtProgram *p, CtAlloc alloc) {
  bool *idle = ct_alloc(alloc, p->n_code + p->n_bufs), may = true;
  if (idle == NULL) {
    return NULL;
  }
  bool *needed = idle + p->n_code;
  memset(idle, 0, p->n_code + p->n_bufs);
  need_all(p, false, needed);
  if (ct_lineage_floats_decide(p, needed, alloc)) {
    need_all(p, true, needed);
  }
  for (uint32_t i = p->body; i < p->n_code; i++) {
    may = may && !shows(&p->code[i]);
  }
  for (uint32_t i = p->body; i < p->n_code && may; i++) {
    idle[i] = is_idle(p, &p->code[i], needed);
  }
  return idle;
}

bool ct_lineage_blocks_are_apart(const CtSimtProgram *p) {
  for (uint32_t i = p->body; i < p->n_code; i++) {
    if (ct_in_is(&p->code[i], CT_INS_ATOMIC)) {
      return false;
    }
  }
  return true;
}
