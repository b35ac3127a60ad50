/* ir_note.c: what was decided while tracing and so has left no operation: the static branches and
   unrolled loops of the script, for people who read the IR. */
#include <inttypes.h>
#include <string.h>

#include "ir_make.h"

static CtNote *find_note(const CtIr *ir, const char *what) {
  for (size_t i = 0; i < ir->n_notes; i++) {
    CtNote *n = &ir->notes[i];
    if (n->loc.line == ir->cur_loc.line && n->loc.chunk == ir->cur_loc.chunk &&
        strcmp(n->what, what) == 0) {
      return n;
    }
  }
  return NULL;
}

/* For one more; false: no memory. */
static bool has_room(CtIr *ir) {
  if (ir->n_notes < ir->cap_notes) {
    return true;
  }
  size_t cap = ir->cap_notes == 0 ? 64 : 2 * ir->cap_notes;
  CtNote *notes = ct_arena_alloc(&ir->arena, cap * sizeof *notes);
  if (notes != NULL) {
    if (ir->n_notes > 0) {
      memcpy(notes, ir->notes, ir->n_notes * sizeof *notes);
    }
    ir->notes = notes;
    ir->cap_notes = cap;
  }
  return notes != NULL;
}

void ct_ir_note(CtIr *ir, const char *what, bool yes) {
  CtNote *n = find_note(ir, what);
  if (n == NULL) {
    if (!has_room(ir)) {
      return;
    }
    n = &ir->notes[ir->n_notes++];
    *n = (CtNote){.loc = ir->cur_loc, .what = what};
  }
  *(yes ? &n->n_yes : &n->n_no) += 1;
}

static void print_count(CtText *out, const char *what, int64_t n) {
  if (n == 1) {
    ct_text_printf(out, " %s once", what);
  } else if (n > 1) {
    ct_text_printf(out, " %s %" PRId64 " times", what, n);
  }
}

/* "if true", "if true 3 times, false once"; for a loop "for 6 iterations in 2 loops". */
static void print_decision(const CtNote *n, CtText *out) {
  bool is_loop = strcmp(n->what, "for") == 0 || strcmp(n->what, "while") == 0;
  size_t from = out->len;
  ct_text_printf(out, "static %s", n->what);
  if (is_loop) {
    ct_text_printf(out, " %" PRId64 " iterations", n->n_yes);
    if (n->n_no > 1) {
      ct_text_printf(out, " in %" PRId64 " loops", n->n_no);
    }
  } else if (n->n_yes + n->n_no == 1) {
    ct_text_puts(out, n->n_yes == 1 ? " true" : " false");
  } else {
    print_count(out, "true", n->n_yes);
    ct_text_puts(out, n->n_yes > 0 && n->n_no > 0 ? "," : "");
    print_count(out, "false", n->n_no);
  }
  ct_text_agree(out, from);
}

void ct_ir_print_notes(const CtIr *ir, CtText *out) {
  for (size_t i = 0; i < ir->n_notes; i++) {
    const CtNote *n = &ir->notes[i];
    print_decision(n, out);
    ct_text_puts(out, " ; ");
    if (n->loc.chunk != ir->loc.chunk) {
      ct_text_printf(out, "%s:", ct_ir_chunk(ir, n->loc));
    }
    ct_text_printf(out, "%d\n", n->loc.line);
  }
}
