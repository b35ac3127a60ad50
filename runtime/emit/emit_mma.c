/* emit_mma.c: products by MMA atoms: a function for each atom with its instruction as inline
   assembly, and unrolled loops that call it with words of the fragments.

   A register of 32 bits holds several narrow elements side by side (ir_mma.c). So we read fragments
   as arrays of words, in which strides and offsets are smaller by that factor. The assembly is
   volatile to keep the script's order: NVRTC would move the last plain products in between the
   reads of the sums. */
#include <inttypes.h>
#include <string.h>

#include "emit_tile.h"

enum { MAX_REGISTERS = 16 };

/* The operands of an instruction, in the order of the function's parameters: c, which it also writes, a, b; then the
   scales if it has them. */
static const CtAtomOperand params[] = {CT_ATOM_C, CT_ATOM_A, CT_ATOM_B, CT_ATOM_SFA, CT_ATOM_SFB};

static int count_params(const CtAtom *atom) { return atom->vec > 0 ? 5 : 3; }

/* The same operands in the order in which a call looks at them. */
static const CtAtomOperand looks[] = {CT_ATOM_A, CT_ATOM_B, CT_ATOM_C, CT_ATOM_SFA, CT_ATOM_SFB};

static bool is_scale(CtAtomOperand of) { return of == CT_ATOM_SFA || of == CT_ATOM_SFB; }

/* The number of a fragment's elements in one register. */
static int per_register(const CtAtom *atom, CtAtomOperand of) {
  return ct_atom_values(atom, of) / atom->registers[of];
}

/* --- the function --------------------------------------------------------------------------------- */

static const char *const letters[] = {[CT_ATOM_A] = "a",
                                      [CT_ATOM_B] = "b",
                                      [CT_ATOM_C] = "c",
                                      [CT_ATOM_SFA] = "sfa",
                                      [CT_ATOM_SFB] = "sfb"};

/* The atom's name as one of C: SM120_16x8x32_TN_f8e4m3_f8e4m3_f32. */
static void put_function_name(CtText *out, const CtAtom *atom) {
  for (const char *s = atom->name; *s != '\0' && *s != '>'; s++) {
    ct_text_putc(out, *s == '<' || *s == ',' ? '_' : *s);
  }
}

/* {%0,%1,%2}: the registers from `first` on; an instruction without a warp takes one register,
   without braces. */
static void put_list(CtText *out, bool has_braces, int first, int n) {
  ct_text_puts(out, has_braces ? "{" : "");
  for (int i = 0; i < n; i++) {
    ct_text_printf(out, "%s%%%d", i > 0 ? "," : "", first + i);
  }
  ct_text_puts(out, has_braces ? "}" : "");
}

/* PTX's dp2a multiplies 16-bit numbers by bytes: first by the lower bytes of b, then by the upper
   ones. */
static const char dp2a[] =
    "{\\n.reg .b32 l, h, t;\\nprmt.b32 l, %2, 0, 0x4420;\\nprmt.b32 h, %2, 0, 0x4431;\\n"
    "dp2a.lo.s32.u32 %0, %1, l, %0;\\ndp2a.lo.s32.s32 t, %1, h, 0;\\nshl.b32 t, t, 8;\\n"
    "add.s32 %0, %0, t;\\n}";

static void put_instruction(CtText *out, const CtAtom *atom) {
  const int *n = atom->registers;
  bool is_warp = atom->threads > 1;
  if (strncmp(atom->ptx, "dp2a", 4) == 0) {
    ct_text_puts(out, dp2a);
    return;
  }
  /* for a, b, c and d, in the order of parameters */
  const int first[4] = {n[2], n[2] + n[0], 0, 0};
  static const CtAtomOperand order[] = {CT_ATOM_D, CT_ATOM_A, CT_ATOM_B, CT_ATOM_C};
  ct_text_printf(out, "%s \"\n      \"", atom->ptx);
  for (size_t i = 0; i < CT_ARRAY_LEN(order); i++) {
    ct_text_puts(out, i > 0 ? ", " : "");
    put_list(out, is_warp, first[order[i]], n[order[i]]);
  }
  for (int i = 0; i < 2 && atom->vec > 0;
       i++) { /* bytes from 0 on, of lanes 0 and 1, or 0, of four */
    ct_text_printf(out, ", {%%%d}, {0, 0}", n[2] + n[0] + n[1] + i);
  }
  ct_text_putc(out, ';');
}

static void put_parameters(CtText *out, const CtAtom *atom) {
  const char *sep = "";
  for (int p = 0; p < count_params(atom); p++) {
    CtAtomOperand of = params[p];
    for (int i = 0; i < atom->registers[of]; i++) {
      ct_text_printf(out, "%s%s%s %s%d", sep,
                     is_scale(of) ? "unsigned" : ct_emit_word(atom, of).type,
                     of == CT_ATOM_C ? "&" : "", letters[of], i);
      sep = ", ";
    }
  }
}

/* kind::f8f6f4 takes a float of 4 bits from the middle of a byte; a fragment has it in the low bits. */
static const char *shift_of(const CtAtom *atom, CtAtomOperand of) {
  const CtAtomType *t = &atom->types[of];
  return t->bits == 8 && strcmp(t->ptx, "e2m1") == 0 ? " << 2" : "";
}

static void put_constraints(CtText *out, const CtAtom *atom, CtAtomOperand of, const char *how) {
  for (int i = 0; i < atom->registers[of]; i++) {
    ct_text_printf(out, "%s\"%s%c\"(%s%d%s)", i > 0 ? ", " : "", how,
                   ct_emit_word(atom, of).constraint, letters[of], i, shift_of(atom, of));
  }
}

/* void SM80_16x8x8_F32F16F16F32_TN(float& c0, ..., unsigned a0, ..., unsigned b0) */
static void make_function(CtEmit *e, const CtAtom *atom) {
  CtText *out = &e->functions;
  if (!ct_emit_is_new_function(e, atom->name)) {
    return;
  }
  ct_text_puts(out, "static __device__ __forceinline__ void ");
  put_function_name(out, atom);
  ct_text_puts(out, "(\n    ");
  put_parameters(out, atom);
  ct_text_puts(out, ") {\n  asm volatile(\"");
  put_instruction(out, atom);
  ct_text_puts(out, "\"\n      : ");
  put_constraints(out, atom, CT_ATOM_C, "+");
  ct_text_puts(out, "\n      : ");
  for (int p = 1; p < count_params(atom); p++) {
    ct_text_puts(out, p > 1 ? ", " : "");
    put_constraints(out, atom, params[p], "");
  }
  ct_text_puts(out, ");\n}\n");
}

/* --- operands ---------------------------------------------------------------------------------------- */

/* An operand as words: base[at[i] + terms] is register i. */
typedef struct Fragment {
  CtEmitOperand op;
  CtEmitMatrix modes; /* (M,K), (N,K), (M,N) */
  int n;
  int64_t at[MAX_REGISTERS];
} Fragment;

typedef struct Mma {
  CtEmit *e;
  const CtInst *inst;
  const CtAtom *atom;
  Fragment fragment[CT_ATOM_OPERANDS];
} Mma;

/* const unsigned* const a = reinterpret_cast<const unsigned*>(tCrA + k * 8); not needed if the
   function takes the elements as they are. */
static void point(Mma *g, Fragment *f, CtAtomOperand of, int per) {
  CtEmit *e = g->e;
  CtEmitWord word = ct_emit_word(g->atom, of);
  if (strcmp(ct_dtypes[f->op.buf->dtype].cuda, word.type) == 0) {
    return;
  }
  const char *name = ct_names_add(&e->names, letters[of]);
  const char *qualifier = of == CT_ATOM_C ? "" : "const ";
  ct_emit_begin(e, g->inst->loc);
  ct_text_printf(&e->body, "%s%s* const %s = reinterpret_cast<%s%s*>(%s", qualifier, word.type,
                 name, qualifier, word.type, f->op.base);
  if (f->op.index != 0) {
    ct_text_puts(&e->body, " + ");
    ct_emit_expr(e, f->op.index, CT_PREC_MUL);
  }
  ct_text_puts(&e->body, ");");
  ct_emit_end(e);
  f->op = (CtEmitOperand){.buf = f->op.buf, .base = name, .plus = f->op.plus / per};
}

static bool init_fragment(Mma *g, CtAtomOperand of, const CtView *view) {
  CtLayout l = view->layout, values = ct_layout_rank(l) == 1 ? l : ct_mode(l, 0);
  Fragment *f = &g->fragment[of];
  int per = per_register(g->atom, of);
  *f = (Fragment){.op = ct_emit_operand(g->e, view), .n = g->atom->registers[of]};
  CT_ASSERT(f->n <= MAX_REGISTERS);
  for (int i = 0; i < f->n; i++) {
    f->at[i] = ct_layout_at(values, (int64_t)i * per) / per;
  }
  bool fits = ct_emit_list_modes(g->e, g->inst->loc, l, 1, f->op.base, &f->modes);
  ct_emit_scale_modes(&f->modes, per);
  return fits;
}

/* --- loops ---------------------------------------------------------------------------------------------- */

static void put_call(void *ud, const char *m, const char *n, const char *k) {
  Mma *g = ud;
  CtEmit *e = g->e;
  const char *vars[CT_ATOM_OPERANDS][2] = {[CT_ATOM_A] = {m, k},
                                           [CT_ATOM_B] = {n, k},
                                           [CT_ATOM_C] = {m, n},
                                           [CT_ATOM_SFA] = {m, k},
                                           [CT_ATOM_SFB] = {n, k}};
  const char *sep = "";
  ct_emit_begin(e, g->inst->loc);
  put_function_name(&e->body, g->atom);
  ct_text_putc(&e->body, '(');
  for (int p = 0; p < count_params(g->atom); p++) {
    const Fragment *f = &g->fragment[params[p]];
    CtEmitOperand op = ct_emit_at(&f->op, &f->modes, vars[params[p]][0], 1, vars[params[p]][1]);
    for (int i = 0; i < f->n; i++) {
      ct_text_puts(&e->body, sep);
      ct_emit_element(e, &op, f->at[i]);
      sep = ", ";
    }
  }
  ct_text_puts(&e->body, ");");
  ct_emit_end(e);
}

void ct_emit_mma(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  const CtTile *t = inst->u.tile;
  Mma g = {.e = e, .inst = inst, .atom = t->atom};
  const CtView *views[CT_ATOM_OPERANDS] = {[CT_ATOM_A] = &t->a,
                                           [CT_ATOM_B] = &t->b,
                                           [CT_ATOM_C] = &t->dst,
                                           [CT_ATOM_SFA] = t->sfa,
                                           [CT_ATOM_SFB] = t->sfb};
  int n_params = count_params(t->atom);
  CtEmitNest nest = {.e = e, .loc = inst->loc};
  for (int p = 0; p < n_params; p++) {
    if (!init_fragment(&g, looks[p], views[looks[p]])) {
      return;
    }
  }
  int64_t k = g.fragment[CT_ATOM_A].modes.size[1];
  const int64_t *mn = g.fragment[CT_ATOM_C].modes.size;
  if (k == 0 || mn[0] == 0 || mn[1] == 0) {
    return;
  }
  make_function(e, t->atom);
  ct_emit_line(e, inst->loc, "{");
  ct_emit_enter_scope(&nest);
  for (int p = 0; p < n_params; p++) {
    point(&g, &g.fragment[looks[p]], looks[p], per_register(t->atom, looks[p]));
  }
  const char *var = ct_emit_enter_loop(&nest, 'k', ct_int(k), 1, CT_UNROLL_ALL);
  CtEmitProducts w = {e, inst->loc, mn[0], mn[1], put_call, &g, false};
  ct_emit_products(&w, &t->order, &nest, var);
  ct_emit_leave_all(&nest);
}
