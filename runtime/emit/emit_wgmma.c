/* emit_wgmma.c: products by wgmma and tcgen05: a function for each instruction, descriptors, and unrolled loops over the
   atoms that add constants to these.

     const unsigned a = wgmma_start(sA, 0x10000) + slot * 1024;
     #pragma unroll
     for (int k = 0; k < 4; k++) {
       SM90_64x256x16_F32BF16BF16_SS_KK(c, wgmma_descriptor<0x40000040>(a + k * 2), ..., k > 0 || accumulate);

   The lower word of a descriptor has the address over 16, which is all that differs between tiles: 14 bits,
   so that additions do not reach its neighbour. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "emit_tile.h"

static const CtAtomOperand A = CT_ATOM_A, B = CT_ATOM_B, C = CT_ATOM_C;
enum { UNIT = 16 /* bytes per unit in a descriptor */ };

typedef struct Operand {
  CtEmitOperand op;
  CtEmitMatrix modes;      /* (M,K), (N,K), (M,N), in elements, words or units */
  int64_t per;             /* elements per word or unit */
  const CtWgmmaTile *tile; /* NULL: the operand is in registers */
  const char *name;        /* what the call passes: an array of words, or a lower word */
} Operand;

typedef struct Wgmma {
  CtEmit *e;
  const CtInst *inst;
  const CtAtom *atom;
  const CtWgmma *w;
  Operand operand[3]; /* by CtAtomOperand */
  Operand scale[2];   /* of A and B; if the atom has them */
  const char *function, *accumulate;
} Wgmma;

/* --- the function --------------------------------------------------------------------------------- */

enum { PER_LINE = 12 }; /* numbers of registers; of constraints half as many */

void ct_emit_register_list(CtText *out, int first, int n) {
  for (int i = 0; i < n; i++) {
    ct_text_printf(out, "%s%%%d",
                   i == 0              ? "{"
                   : i % PER_LINE == 0 ? ", \"\n      \""
                                       : ", ",
                   first + i);
  }
  ct_text_putc(out, '}');
}

void ct_emit_constraints(CtText *out, const char *how, char constraint, const char *name, int n) {
  for (int i = 0; i < n; i++) {
    ct_text_printf(out, "%s\"%s%c\"(%s[%d])",
                   i == 0                    ? ""
                   : i % (PER_LINE / 2) == 0 ? ",\n        "
                                             : ", ",
                   how, constraint, name, i);
  }
}

static bool is_tcgen05(const CtAtom *atom) { return atom->from_tensor[CT_ATOM_C]; }
static bool is_int(const CtAtom *atom) { return ct_atom_dtype(atom, CT_ATOM_C) == CT_i32; }
static bool has_majors(const CtAtom *atom) { return atom->types[CT_ATOM_B].bits == 16; }

/* wgmma.mma_async... {sums}, a, b, p, scales, majors; */
static void put_instruction(CtText *out, const Wgmma *g) {
  const CtAtom *atom = g->atom;
  int n_c = atom->registers[C], n_a = g->w->is_a_shared ? 1 : atom->registers[A];
  ct_text_printf(out,
                 "{\\n.reg .pred p;\\nsetp.ne.b32 p, %%%d, 0;\\n\"\n"
                 "      \"%s \"\n      \"",
                 n_c + n_a + 1, atom->ptx);
  ct_emit_register_list(out, 0, n_c);
  if (g->w->is_a_shared) {
    ct_text_printf(out, ", %%%d", n_c);
  } else {
    ct_text_puts(out, ", ");
    ct_emit_register_list(out, n_c, n_a);
  }
  ct_text_printf(out, ", \"\n      \"%%%d, p%s", n_c + n_a, is_int(atom) ? "" : ", 1, 1");
  if (has_majors(atom) && g->w->is_a_shared) {
    ct_text_printf(out, ", %d", g->w->a.is_mn_major);
  }
  if (has_majors(atom)) {
    ct_text_printf(out, ", %d", g->w->b.is_mn_major);
  }
  ct_text_puts(out, ";\\n}");
}

/* SM100_MMA_F16BF16_SS_bf16_bf16_f32_128_256_KK */
static const char *name_tcgen05(const Wgmma *g) {
  char name[CT_ATOM_TEXT_MAX + 8];
  snprintf(name, sizeof name, "%s", g->atom->name);
  size_t n = strlen(name);
  for (size_t i = 0; i < n; i++) {
    name[i] = name[i] == '<' || name[i] == ',' || name[i] == '>' ? '_' : name[i];
  }
  snprintf(name + n, sizeof name - n, "%c%c", g->w->a.is_mn_major ? 'M' : 'K',
           g->w->b.is_mn_major ? 'N' : 'K');
  return ct_arena_strdup(&g->e->arena, name, strlen(name));
}

/* The same with scales: [sums], a, b, instruction descriptor, [sfa], [sfb], p; the descriptor says which bytes of the words
   at these addresses they are. */
static void make_scaled(Wgmma *g) {
  int ids = 4 - g->atom->vec;
  ct_text_printf(&g->e->functions,
                 "static __device__ __forceinline__ void %s(\n    unsigned c, "
                 "unsigned long long a, unsigned long long b, unsigned sfa, int i,\n    unsigned "
                 "sfb, int j, bool accumulate) {\n  unsigned word = 0x%xu | (j & %d) << 4 | (i & "
                 "%d) << 29;\n  asm volatile(\"{\\n.reg .pred p;\\nsetp.ne.b32 p, %%6, 0;\\n\"\n  "
                 "             \"%s [%%0], %%1, %%2, %%3, [%%4], [%%5], p;\\n}\"\n               "
                 ":: \"r\"(c), \"l\"(a), \"l\"(b), \"r\"(word), \"r\"(%s<4>(sfa, i)),\n           "
                 "       \"r\"(%s<4>(sfb, j)), \"r\"((int)accumulate) : \"memory\");\n}\n",
                 g->function, ct_atom_instruction_word(g->atom, false, false), ids & 3, ids & 3,
                 g->atom->ptx, ct_emit_help(g->e, CT_HELP_TMEM_AT),
                 ct_emit_help(g->e, CT_HELP_TMEM_AT));
}

/* tcgen05.mma... [sums], a, b, instruction descriptor, p; */
static void make_tcgen05(Wgmma *g) {
  CtText *out = &g->e->functions;
  bool is_shared = g->w->is_a_shared;
  g->function = name_tcgen05(g);
  if (g->function == NULL || !ct_emit_is_new_function(g->e, g->function)) {
    return;
  }
  if (g->atom->vec > 0) {
    make_scaled(g);
    return;
  }
  ct_text_printf(out,
                 "static __device__ __forceinline__ void %s(\n    unsigned c, %s a, unsigned "
                 "long long b, bool accumulate) {\n  asm volatile(\"{\\n.reg .pred "
                 "p;\\nsetp.ne.b32 p, %%4, 0;\\n\"\n               \"%s [%%0], %s, %%2, %%3, "
                 "p;\\n}\"\n               :: \"r\"(c), \"%c\"(a), \"l\"(b), \"r\"(0x%xu), "
                 "\"r\"((int)accumulate) : \"memory\");\n}\n",
                 g->function, is_shared ? "unsigned long long" : "unsigned", g->atom->ptx,
                 is_shared ? "%1" : "[%1]", is_shared ? 'l' : 'r',
                 ct_atom_instruction_word(g->atom, g->w->a.is_mn_major, g->w->b.is_mn_major));
}

static const char *name_function(const Wgmma *g) {
  char name[CT_ATOM_TEXT_MAX + 8];
  bool is_shared = g->w->is_a_shared;
  snprintf(name, sizeof name, "%s%s%s%s", g->atom->name, has_majors(g->atom) ? "_" : "",
           !has_majors(g->atom) || !is_shared ? ""
           : g->w->a.is_mn_major              ? "M"
                                              : "K",
           !has_majors(g->atom)  ? ""
           : g->w->b.is_mn_major ? "N"
                                 : "K");
  return ct_arena_strdup(&g->e->arena, name, strlen(name));
}

static void make_function(Wgmma *g) {
  if (is_tcgen05(g->atom)) {
    make_tcgen05(g);
    return;
  }
  CtText *out = &g->e->functions;
  const CtAtom *atom = g->atom;
  CtEmitWord c = ct_emit_word(atom, C);
  g->function = name_function(g);
  if (g->function == NULL || !ct_emit_is_new_function(g->e, g->function)) {
    return;
  }
  ct_text_printf(out,
                 "static __device__ __forceinline__ void %s(\n    %s* c, %s a, unsigned long "
                 "long b, bool accumulate) {\n  asm volatile(\"",
                 g->function, c.type, g->w->is_a_shared ? "unsigned long long" : "const unsigned*");
  put_instruction(out, g);
  ct_text_puts(out, "\"\n      : ");
  ct_emit_constraints(out, "+", c.constraint, "c", atom->registers[C]);
  ct_text_puts(out, "\n      : ");
  if (g->w->is_a_shared) {
    ct_text_puts(out, "\"l\"(a)");
  } else {
    ct_emit_constraints(out, "", 'r', "a", atom->registers[A]);
  }
  ct_text_puts(out, ", \"l\"(b), \"r\"((int)accumulate));\n}\n");
}

/* --- operands -------------------------------------------------------------------------------------- */

static bool init_operand(Wgmma *g, CtAtomOperand of, const CtView *view, const CtWgmmaTile *tile) {
  Operand *o = &g->operand[of];
  const CtBuf *buf = &g->e->ir->bufs[view->buf];
  bool in_units = tile != NULL || buf->space == CT_TENSOR;
  *o = (Operand){.op = ct_emit_operand(g->e, view),
                 .per = in_units ? ct_emit_unit(buf) : 32 / ct_dtype_width(buf->dtype),
                 .tile = tile};
  bool fits = ct_emit_list_modes(g->e, g->inst->loc, view->layout, 1, o->op.base, &o->modes);
  ct_emit_scale_modes(&o->modes, o->per);
  return fits;
}

/* An offset divided by the unit: slot * 1024 + group * 512. */
static void put_units(CtEmit *e, CtVal v, int64_t per, int *left) {
  const CtInst *inst = ct_inst(e->ir, v);
  switch (ct_emit_units(e->ir, v, per, left)) {
    case CT_UNITS_SUM:
      put_units(e, inst->args[0], per, left);
      ct_text_puts(&e->body, " + ");
      put_units(e, inst->args[1], per, left);
      break;
    case CT_UNITS_PRODUCT:
      ct_emit_put(e, "%m * %D", inst->args[0], ct_inst(e->ir, inst->args[1])->imm.i / per);
      break;
    case CT_UNITS_WHOLE: ct_emit_put(e, "%m / %D", v, per); break;
  }
}

/* The lower word of a descriptor without the address, and the upper word. */
static uint32_t lower_word(const CtWgmmaTile *t) {
  return (uint32_t)(t->leading / UNIT & 0x3fff) << 16;
}

/* Of tcgen05: version 1, and other numbers of swizzles. */
static uint32_t upper_word_tcgen05(const CtWgmmaTile *t) {
  enum { VERSION_AT = 14, SWIZZLE_AT = 29 };
  uint32_t kind = t->swizzle == 128 ? 2 : t->swizzle == 64 ? 4 : t->swizzle == 32 ? 6 : 0;
  return (uint32_t)(t->stride / UNIT & 0x3fff) | 1u << VERSION_AT | kind << SWIZZLE_AT;
}

static uint32_t upper_word(const CtWgmmaTile *t) {
  uint32_t kind = t->swizzle == 128 ? 1 : t->swizzle == 64 ? 2 : t->swizzle == 32 ? 3 : 0;
  return (uint32_t)(t->stride / UNIT & 0x3fff) | kind << 30;
}

/* + slot * 1024 + 4; and ends the line */
static void put_start(Wgmma *g, const Operand *o) {
  CtEmit *e = g->e;
  int left = CT_WALK_STEPS;
  if (o->op.index != 0) {
    ct_text_puts(&e->body, " + ");
    put_units(e, o->op.index, o->per, &left);
  }
  if (o->op.plus != 0) {
    ct_text_printf(&e->body, " + %" PRId64, o->op.plus / o->per);
  }
  ct_text_putc(&e->body, ';');
  ct_emit_end(e);
}

/* const unsigned c = tmem[0] + 64; columns of tensor memory */
static void name_columns(Wgmma *g, CtAtomOperand of) {
  CtEmit *e = g->e;
  Operand *o = &g->operand[of];
  o->name = ct_names_add(&e->names, of == A ? "a" : "c");
  ct_emit_begin(e, g->inst->loc);
  ct_text_printf(&e->body, "const unsigned %s = %s", o->name, o->op.base);
  put_start(g, o);
}

/* const unsigned a = wgmma_start(sA, 0x10000) + slot * 1024 + 4; */
static void name_tile(Wgmma *g, CtAtomOperand of, const CtWgmmaTile *tile) {
  CtEmit *e = g->e;
  Operand *o = &g->operand[of];
  o->name = ct_names_add(&e->names, of == A ? "a" : "b");
  ct_emit_begin(e, g->inst->loc);
  ct_text_printf(&e->body, "const unsigned %s = %s(%s, 0x%xu)", o->name,
                 ct_emit_help(e, CT_HELP_WGMMA_START), o->op.base, lower_word(tile));
  put_start(g, o);
}

/* unsigned* const c = reinterpret_cast<unsigned*>(tCrC + 8); not needed if it is the fragment
   itself. */
static void name_words(Wgmma *g, CtAtomOperand of) {
  CtEmit *e = g->e;
  Operand *o = &g->operand[of];
  const char *type = ct_emit_word(g->atom, of).type, *qualifier = of == C ? "" : "const ";
  bool is_plain = strcmp(ct_dtypes[o->op.buf->dtype].cuda, type) == 0;
  if (is_plain && o->op.index == 0 && o->op.plus == 0) {
    o->name = o->op.base;
    return;
  }
  o->name = ct_names_add(&e->names, of == A ? "a" : "c");
  ct_emit_begin(e, g->inst->loc);
  ct_text_printf(&e->body, "%s%s* const %s = %s%s%s%s%s", qualifier, type, o->name,
                 is_plain ? "" : "reinterpret_cast<", is_plain ? "" : qualifier,
                 is_plain ? "" : type, is_plain ? "" : "*>(", o->op.base);
  (void)ct_emit_sum(e, &o->op, 0, " + ");
  ct_text_puts(&e->body, is_plain ? ";" : ");");
  ct_emit_end(e);
}

/* Gives a condition that is not constant a name, because each k would repeat it. */
static void name_condition(Wgmma *g) {
  CtEmit *e = g->e;
  const CtInst *cond = ct_inst(e->ir, g->inst->args[0]);
  if (cond->op == CT_OP_CONST) {
    g->accumulate = cond->imm.i != 0 ? "true" : "false";
    return;
  }
  g->accumulate = ct_names_add(&e->names, "accumulate");
  ct_emit_say(e, g->inst->loc, "const bool %s = %c;", g->accumulate, g->inst->args[0]);
}

/* --- loops ------------------------------------------------------------------------------------------ */

/* c + m * 128; a + k * 2 */
static void put_operand(Wgmma *g, const Operand *o, const char *x, const char *y) {
  CtEmitOperand at = {.buf = o->op.buf};
  ct_emit_add_split(&at, x, &o->modes.mode[0], 1);
  ct_emit_add_split(&at, y, &o->modes.mode[1], 1);
  if (o->tile != NULL) {
    ct_text_printf(&g->e->body, "%s<0x%xu>(", ct_emit_help(g->e, CT_HELP_WGMMA_DESCRIPTOR),
                   is_tcgen05(g->atom) ? upper_word_tcgen05(o->tile) : upper_word(o->tile));
  }
  ct_text_puts(&g->e->body, o->name);
  (void)ct_emit_sum(g->e, &at, 0, " + ");
  ct_text_puts(&g->e->body, o->tile != NULL ? ")" : "");
}

/* , tmem[0], element */
static void put_scale(Wgmma *g, const Operand *o, const char *x, const char *y) {
  CtEmitOperand at = o->op;
  ct_emit_add_split(&at, x, &o->modes.mode[0], 1);
  ct_emit_add_split(&at, y, &o->modes.mode[1], 1);
  ct_text_printf(&g->e->body, ", %s, ", o->op.base);
  ct_emit_coordinate(g->e, &at);
}

static void put_call(void *ud, const char *m, const char *n, const char *k) {
  Wgmma *g = ud;
  CtEmit *e = g->e;
  bool is_always = strcmp(g->accumulate, "true") == 0;
  ct_emit_begin(e, g->inst->loc);
  ct_text_printf(&e->body, "%s(", g->function);
  put_operand(g, &g->operand[C], m, n);
  ct_text_puts(&e->body, ", ");
  put_operand(g, &g->operand[A], m, k);
  ct_text_puts(&e->body, ", ");
  put_operand(g, &g->operand[B], n, k);
  for (int i = 0; i < 2 && g->atom->vec > 0; i++) {
    put_scale(g, &g->scale[i], i == 0 ? m : n, k);
  }
  if (is_always || k == NULL) {
    ct_text_printf(&e->body, ", %s);", g->accumulate);
  } else if (strcmp(g->accumulate, "false") == 0) {
    ct_text_printf(&e->body, ", %s > 0);", k);
  } else {
    ct_text_printf(&e->body, ", %s > 0 || %s);", k, g->accumulate);
  }
  ct_emit_end(e);
}

void ct_emit_wgmma(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  const CtTile *t = inst->u.tile;
  Wgmma g = {.e = e, .inst = inst, .atom = t->atom, .w = t->wgmma};
  CtEmitNest nest = {.e = e, .loc = inst->loc};
  if (!init_operand(&g, A, &t->a, g.w->is_a_shared ? &g.w->a : NULL) ||
      !init_operand(&g, B, &t->b, &g.w->b) || !init_operand(&g, C, &t->dst, NULL)) {
    return;
  }
  const CtView *scales[] = {t->sfa, t->sfb};
  for (int i = 0; i < 2 && scales[i] != NULL; i++) {
    Operand *o = &g.scale[i];
    *o = (Operand){.op = ct_emit_operand(e, scales[i]), .per = 1};
    if (!ct_emit_list_modes(e, inst->loc, scales[i]->layout, 1, o->op.base, &o->modes)) {
      return;
    }
  }
  int64_t k = g.operand[A].modes.size[1];
  const int64_t *mn = g.operand[C].modes.size;
  if (k == 0 || mn[0] == 0 || mn[1] == 0) {
    return;
  }
  make_function(&g);
  ct_emit_line(e, inst->loc, "{");
  ct_emit_enter_scope(&nest);
  bool is_tensor = is_tcgen05(g.atom);
  if (is_tensor) {
    name_columns(&g, C);
  } else {
    name_words(&g, C);
  }
  if (g.w->is_a_shared) {
    name_tile(&g, A, &g.w->a);
  } else if (is_tensor) {
    name_columns(&g, A);
  } else {
    name_words(&g, A);
  }
  name_tile(&g, B, &g.w->b);
  name_condition(&g);
  const char *var = ct_emit_enter_loop(&nest, 'k', ct_int(k), 1, CT_UNROLL_ALL);
  CtEmitProducts w = {e, inst->loc, mn[0], mn[1], put_call, &g, false};
  ct_emit_products(&w, &t->order, &nest, var);
  ct_emit_leave_all(&nest);
}
