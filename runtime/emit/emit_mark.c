/* emit_mark.c: marks as CUDA C: each warp of one block records when it comes to them (ir_marks.h). A thread keeps
   three registers for it, in all blocks; a mark is a few instructions without a branch. */
#include "emit.h"

#include <stdio.h>

bool ct_mark_is_wait(CtOp op) {
  static const bool waits[CT_OP_COUNT] = {
      [CT_OP_MBAR_WAIT] = true,    [CT_OP_NAMED_SYNC] = true, [CT_OP_CLUSTER_WAIT] = true,
      [CT_OP_CP_WAIT] = true,      [CT_OP_WGMMA_WAIT] = true, [CT_OP_TMA_WAIT] = true,
      [CT_OP_GRID_BARRIER] = true, [CT_OP_GRID_WAIT] = true};
  return waits[op] || ct_op_is_barrier(op);
}

static unsigned count_warps(const CtIr *ir) { return (unsigned)((ct_ir_block_size(ir) + 31) / 32); }

static size_t count_words(const CtIr *ir) {
  return CT_MARK_HEAD +
         count_warps(ir) * (size_t)(CT_MARK_WARP + CT_MARK_ROOM + 31 * CT_MARK_LANE_ROOM);
}

void ct_mark_symbol(const CtIr *ir, char out[CT_MARK_NAME_MAX]) {
  char kernel[CT_EMIT_NAME_MAX];
  ct_emit_kernel_name(ir, kernel);
  snprintf(out, CT_MARK_NAME_MAX, "%s_marks", kernel);
}

void ct_emit_declare_marks(CtEmit *e, const char *kernel) {
  char name[2 * CT_EMIT_NAME_MAX + 8];
  if (e->opts.marks == NULL || e->opts.function != NULL) {
    return;
  }
  snprintf(name, sizeof name, "%s_marks", kernel);
  e->marks = ct_names_add(&e->names, name);
  e->marks_of_thread = ct_names_add(&e->names, "marks");
  ct_text_printf(&e->body, "__device__ unsigned long long %s[%zu];\n\n", e->marks,
                 count_words(e->ir));
}

void ct_emit_begin_marks(CtEmit *e) {
  if (e->marks != NULL) {
    ct_emit_line(e, e->ir->loc, "%s %s = %s(%s, %u, %d, %d);", ct_emit_help(e, CT_HELP_MARKS),
                 e->marks_of_thread, ct_emit_help(e, CT_HELP_MARK_BEGIN), e->marks,
                 count_warps(e->ir), (int)CT_MARK_ROOM, (int)CT_MARK_LANE_ROOM);
  }
}

void ct_emit_end_marks(CtEmit *e) {
  if (e->marks != NULL) {
    ct_emit_line(e, e->ir->loc, "%s(%s, %s, %d, %d);", ct_emit_help(e, CT_HELP_MARK_END), e->marks,
                 e->marks_of_thread, (int)CT_MARK_ROOM, (int)CT_MARK_LANE_ROOM);
  }
}

static void put_mark(CtEmit *e, CtLoc loc, CtMarkKind kind, uint32_t what) {
  ct_emit_line(e, loc, "%s(%s, %s, 0x%xu);", ct_emit_help(e, CT_HELP_MARK), e->marks,
               e->marks_of_thread, (unsigned)kind << CT_MARK_SHIFT | what);
}

void ct_emit_mark(CtEmit *e, CtVal v) {
  if (e->marks != NULL) {
    put_mark(e, ct_inst(e->ir, v)->loc, CT_MARK_HERE, v);
  }
}

void ct_emit_mark_around(CtEmit *e, CtVal v, CtMarkKind kind) {
  const CtInst *inst = ct_inst(e->ir, v);
  if (e->marks != NULL && e->opts.marks->waits && ct_mark_is_wait((CtOp)inst->op) &&
      !ct_emit_is_dropped(e, inst)) {
    put_mark(e, inst->loc, kind, v);
  }
}

static bool is_wanted(const CtMarks *marks, int line) {
  for (int i = 0; i < marks->n_lines; i++) {
    if (marks->lines[i] == line) {
      return true;
    }
  }
  return false;
}

/* Only lines of the kernel's own text are told by their numbers. */
void ct_emit_mark_line(CtEmit *e, CtVal v) {
  CtLoc loc = ct_inst(e->ir, v)->loc;
  bool is_same = loc.chunk != e->ir->loc.chunk || (int)loc.line == e->marked_line;
  if (!is_same && is_wanted(e->opts.marks, (int)loc.line)) {
    put_mark(e, loc, CT_MARK_LINE, (uint32_t)loc.line);
  }
  e->marked_line = loc.chunk == e->ir->loc.chunk ? (int)loc.line : e->marked_line;
}
