/* emit_mma.c: products by MMA atoms: a function for each atom, its instruction as inline assembly, and
   unrolled loops that call it with words of the fragments.

   A register of 32 bits has several narrow elements, which lie side by side (ir_mma.c): fragments are
   read as arrays of words, in which strides and offsets are so much smaller. The assembly is volatile for
   its order, which is the script's: NVRTC moves the last products of a plain one between what reads the
   sums.  */
#include <inttypes.h>
#include <string.h>

#include "emit_tile.h"

enum { MAX_REGISTERS = 16, N_OPERANDS = 3 };

/* How a register of an operand is written: as an element of which C type, and for the assembler. */
typedef struct Word {
  const char *type;
  char constraint;
} Word;

static Word word_of(const CtAtom *atom, CtAtomOperand of) {
  switch (ct_atom_dtype(atom, of)) {
    case CT_f64: return (Word){"double", 'd'};
    case CT_f32: return (Word){"float", 'f'};
    case CT_i32: return (Word){"int", 'r'};
    default: return (Word){"unsigned", 'r'};
  }
}

/* Elements of a fragment in one register. */
static int per_register(const CtAtom *atom, CtAtomOperand of) {
  return ct_atom_values(atom, of) / atom->registers[of];
}

/* --- the function --------------------------------------------------------------------------------- */

/* {%0,%1,%2}: the registers from `first` on; of instructions without a warp one, without braces. */
static void put_list(CtText *out, bool has_braces, int first, int n) {
  ct_text_puts(out, has_braces ? "{" : "");
  for (int i = 0; i < n; i++) {
    ct_text_printf(out, "%s%%%d", i > 0 ? "," : "", first + i);
  }
  ct_text_puts(out, has_braces ? "}" : "");
}

/* PTX's dp2a multiplies 16 bits by bytes: here by the lower bytes of both b, then by the upper ones. */
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
  const int first[4] = {n[2], n[2] + n[0], 0, 0}; /* of a, b, c and d, in the order of parameters */
  static const CtAtomOperand order[] = {CT_ATOM_D, CT_ATOM_A, CT_ATOM_B, CT_ATOM_C};
  ct_text_printf(out, "%s ", atom->ptx);
  for (size_t i = 0; i < CT_ARRAY_LEN(order); i++) {
    ct_text_puts(out, i > 0 ? ", " : "");
    put_list(out, is_warp, first[order[i]], n[order[i]]);
  }
  ct_text_putc(out, ';');
}

/* In the order of parameters: c, which is written too, a, b. */
static const CtAtomOperand params[N_OPERANDS] = {CT_ATOM_C, CT_ATOM_A, CT_ATOM_B};
static const char letters[] = {[CT_ATOM_A] = 'a', [CT_ATOM_B] = 'b', [CT_ATOM_C] = 'c'};

static void put_parameters(CtText *out, const CtAtom *atom) {
  const char *sep = "";
  for (int p = 0; p < N_OPERANDS; p++) {
    CtAtomOperand of = params[p];
    for (int i = 0; i < atom->registers[of]; i++) {
      ct_text_printf(out, "%s%s%s %c%d", sep, word_of(atom, of).type, of == CT_ATOM_C ? "&" : "",
                     letters[of], i);
      sep = ", ";
    }
  }
}

static void put_constraints(CtText *out, const CtAtom *atom, CtAtomOperand of, const char *how) {
  for (int i = 0; i < atom->registers[of]; i++) {
    ct_text_printf(out, "%s\"%s%c\"(%c%d)", i > 0 ? ", " : "", how, word_of(atom, of).constraint,
                   letters[of], i);
  }
}

/* void SM80_16x8x8_F32F16F16F32_TN(float& c0, ..., unsigned a0, ..., unsigned b0) */
static void make_function(CtEmit *e, const CtAtom *atom) {
  CtText *out = &e->functions;
  if (!ct_emit_is_new_function(e, atom->name)) {
    return;
  }
  ct_text_printf(out, "static __device__ __forceinline__ void %s(\n    ", atom->name);
  put_parameters(out, atom);
  ct_text_puts(out, ") {\n  asm volatile(\"");
  put_instruction(out, atom);
  ct_text_puts(out, "\"\n      : ");
  put_constraints(out, atom, CT_ATOM_C, "+");
  ct_text_puts(out, "\n      : ");
  put_constraints(out, atom, CT_ATOM_A, "");
  ct_text_puts(out, ", ");
  put_constraints(out, atom, CT_ATOM_B, "");
  ct_text_puts(out, ");\n}\n");
}

/* --- operands ---------------------------------------------------------------------------------------- */

/* An operand as words: base[at[i] + terms] is register i. */
typedef struct Fragment {
  CtEmitOperand op;
  CtEmitLeaves mode[2]; /* (M,K), (N,K), (M,N) */
  int64_t size[2];
  int n;
  int64_t at[MAX_REGISTERS];
} Fragment;

typedef struct Mma {
  CtEmit *e;
  const CtInst *inst;
  const CtAtom *atom;
  Fragment fragment[N_OPERANDS]; /* by CtAtomOperand */
} Mma;

/* The offset of element i of a static layout. */
static int64_t offset_of(const CtEmitLeaves *l, int64_t i) {
  int64_t off = 0;
  for (int k = 0; k < l->n; k++) {
    off += i % l->leaf[k].extent.v * l->leaf[k].stride.d.v;
    i /= l->leaf[k].extent.v;
  }
  return off;
}

static void to_words(CtEmitLeaves *l, int per) {
  for (int k = 0; k < l->n; k++) {
    l->leaf[k].stride.d.v /= per;
  }
}

/* const unsigned* const a = reinterpret_cast<const unsigned*>(tCrA + k * 8); unless the elements are what
   the function takes. */
static void point(Mma *g, Fragment *f, CtAtomOperand of, int per) {
  CtEmit *e = g->e;
  Word word = word_of(g->atom, of);
  if (strcmp(ct_dtypes[f->op.buf->dtype].cuda, word.type) == 0) {
    return;
  }
  const char *name = ct_names_add(&e->names, (const char[]){letters[of], '\0'});
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
  CtEmitLeaves values;
  Fragment *f = &g->fragment[of];
  int per = per_register(g->atom, of), rank = ct_layout_rank(view->layout);
  bool fits =
      ct_emit_list_leaves(rank == 1 ? view->layout : ct_mode(view->layout, 0), true, &values);
  *f = (Fragment){.op = ct_emit_operand(g->e, view), .size = {1, 1}, .n = g->atom->registers[of]};
  for (int i = 0; i + 1 < rank; i++) {
    fits = fits && ct_emit_list_leaves(ct_mode(view->layout, i + 1), true, &f->mode[i]);
    f->size[i] = ct_emit_leaves_size(&f->mode[i]);
    to_words(&f->mode[i], per);
  }
  CT_ASSERT(f->n <= MAX_REGISTERS);
  if (!fits) {
    ct_emit_fail(g->e, g->inst->loc, CT_EUNSUPPORTED, "gemm: '%s' has more than %d modes",
                 f->op.base, CT_EMIT_MAX_MODES);
    return false;
  }
  for (int i = 0; i < f->n; i++) {
    f->at[i] = offset_of(&values, (int64_t)i * per) / per;
  }
  return true;
}

/* --- loops ---------------------------------------------------------------------------------------------- */

static void put_call(void *ud, const char *m, const char *n, const char *k) {
  Mma *g = ud;
  CtEmit *e = g->e;
  const char *vars[N_OPERANDS][2] = {
      [CT_ATOM_A] = {m, k}, [CT_ATOM_B] = {n, k}, [CT_ATOM_C] = {m, n}};
  const char *sep = "";
  ct_emit_begin(e, g->inst->loc);
  ct_text_printf(&e->body, "%s(", g->atom->name);
  for (int p = 0; p < N_OPERANDS; p++) {
    const Fragment *f = &g->fragment[params[p]];
    CtEmitOperand op = f->op;
    ct_emit_add_split(&op, vars[params[p]][0], &f->mode[0], 1);
    ct_emit_add_split(&op, vars[params[p]][1], &f->mode[1], 1);
    for (int i = 0; i < f->n; i++) {
      ct_text_puts(&e->body, sep);
      ct_emit_element(e, &op, f->at[i]);
      sep = ", ";
    }
  }
  ct_text_puts(&e->body, ");");
  ct_emit_end(e);
}

void ct_emit_mma(CtEmit *e, const CtInst *inst) {
  const CtTile *t = inst->u.tile;
  Mma g = {.e = e, .inst = inst, .atom = t->atom};
  const CtView *views[N_OPERANDS] = {
      [CT_ATOM_A] = &t->a, [CT_ATOM_B] = &t->b, [CT_ATOM_C] = &t->dst};
  CtEmitNest nest = {.e = e, .loc = inst->loc};
  for (int of = 0; of < N_OPERANDS; of++) {
    if (!init_fragment(&g, (CtAtomOperand)of, views[of])) {
      return;
    }
  }
  int64_t k = g.fragment[CT_ATOM_A].size[1];
  const int64_t *mn = g.fragment[CT_ATOM_C].size;
  if (k == 0 || mn[0] == 0 || mn[1] == 0) {
    return;
  }
  make_function(e, t->atom);
  ct_emit_line(e, inst->loc, "{");
  ct_emit_enter_scope(&nest);
  for (int of = 0; of < N_OPERANDS; of++) {
    point(&g, &g.fragment[of], (CtAtomOperand)of, per_register(t->atom, (CtAtomOperand)of));
  }
  const char *var = k > 1 ? ct_emit_enter_loop(&nest, 'k', ct_int(k), 1, CT_UNROLL_ALL) : "";
  CtEmitProducts w = {e, inst->loc, mn[0], mn[1], put_call, &g};
  ct_emit_products(&w, &t->order, &nest, var);
  ct_emit_leave_all(&nest);
}
