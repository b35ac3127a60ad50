/* ir_escape.c: text of the script in a kernel, CUDA C or PTX: its operands, its results, and what PTX
   does to memory. */
#include <string.h>

#include "ir_build.h"

/* --- what PTX does -------------------------------------------------------------------------------- */

/* Instructions by their names, up to the first dot. What is not listed may do anything. */
static const struct {
  CtTextEffect effect;
  const char *names;
} instructions[] = {
    {CT_TEXT_PURE,
     " abs add addc and bfe bfi bfind bmsk brev clz cnot copysign cos cvt div dp2a dp4a ex2 fma fns "
     "lg2 lop3 mad mad24 madc max min mov mul mul24 neg not or popc prmt rcp rem rsqrt sad selp set "
     "setp shf shl shr sin slct sqrt sub subc szext tanh testp xor "},
    {CT_TEXT_FIXED, " activemask elect match mma nanosleep redux shfl vote "},
    {CT_TEXT_READS, " ld ldmatrix ldu prefetch prefetchu "},
};

static const char bulk_prefetch[] = "cp.async.bulk.prefetch."; /* as prefetch; another cp writes */

static CtTextEffect effect_of(const char *name, size_t len) {
  char word[24];
  if (len + 3 > sizeof word) {
    return CT_TEXT_WRITES;
  }
  word[0] = ' ';
  memcpy(word + 1, name, len);
  memcpy(word + 1 + len, " ", 2);
  for (size_t i = 0; i < CT_ARRAY_LEN(instructions); i++) {
    if (strstr(instructions[i].names, word) != NULL) {
      return instructions[i].effect;
    }
  }
  return CT_TEXT_WRITES;
}

/* Past spaces, braces, semicolons and the predicate (@p, @!p) before an instruction. */
static const char *to_instruction(const char *s) {
  while (*s != '\0' && strchr(" \t\r\n{};", *s) != NULL) {
    s++;
  }
  if (*s != '@') {
    return s;
  }
  s += strspn(s, "@!$%");
  while (ct_is_word(*s)) {
    s++;
  }
  return to_instruction(s);
}

/* Loads that wait for others, and comments, are not looked into. */
static bool has_more(const char *text) {
  static const char *const words[] = {"acquire", "relaxed", "volatile", "mmio", "//", "/*"};
  bool has = false;
  for (size_t i = 0; i < CT_ARRAY_LEN(words); i++) {
    has = has || strstr(text, words[i]) != NULL;
  }
  return has;
}

/* The most that one of the instructions does. A register that the text does not declare, such as
   %clock, changes. */
static CtTextEffect effect_of_ptx(const char *text) {
  CtTextEffect effect = strchr(text, '%') != NULL ? CT_TEXT_FIXED : CT_TEXT_PURE;
  if (has_more(text)) {
    return CT_TEXT_WRITES;
  }
  for (const char *s = to_instruction(text); *s != '\0'; s = to_instruction(s)) {
    size_t len = 0;
    while (ct_is_word(s[len])) {
      len++;
    }
    CtTextEffect of = *s == '.' ? CT_TEXT_PURE : effect_of(s, len); /* .reg declares */
    if (strncmp(s, bulk_prefetch, sizeof bulk_prefetch - 1) == 0) {
      of = CT_TEXT_READS;
    }
    effect = of > effect ? of : effect;
    s += strcspn(s, ";");
  }
  return effect;
}

/* --- the operation -------------------------------------------------------------------------------- */

static const CtTextPlace *keep_places(CtIr *ir, const CtEscape *code, CtTextEffect effect) {
  CtTextPlace *own = ct_arena_alloc(&ir->arena, ((size_t)code->n_places + 1) * sizeof *own);
  for (int i = 0; own != NULL && i < code->n_places; i++) {
    own[i] = code->places[i];
    own[i].name = ct_ir_intern(ir, own[i].name);
    if (effect == CT_TEXT_WRITES) {
      ct_ir_written(ir, own[i].buf);
    }
  }
  return own;
}

static const bool *keep_literals(CtIr *ir, const CtEscape *code) {
  bool *own = ct_arena_alloc(&ir->arena, (size_t)code->n + 1);
  for (int i = 0; own != NULL && i < code->n; i++) {
    own[i] = code->is_literal != NULL && code->is_literal[i];
  }
  return own;
}

/* Adds a RESULT for each. */
static const CtTextOut *keep_outs(CtIr *ir, const CtEscape *code) {
  CtTextOut *own = ct_arena_alloc(&ir->arena, ((size_t)code->n_outs + 1) * sizeof *own);
  for (int i = 0; own != NULL && i < code->n_outs && !ir->failed; i++) {
    own[i] = code->outs[i];
    own[i].name = ct_ir_intern(ir, own[i].name);
    own[i].val = ct_ir_append(ir, CT_OP_RESULT, own[i].type);
    ir->insts[own[i].val].imm.i = i;
  }
  return own;
}

CtVal ct_ir_code(CtIr *ir, CtDtype type, const CtEscape *code) {
  CtVal v = ct_ir_text_op(ir, CT_OP_ESCAPE, type, code->text, code->n, code->names, code->vals);
  CtEscape *own = ct_arena_alloc(&ir->arena, sizeof *own);
  if (v == 0 || own == NULL) {
    ir->failed = true;
    return 0;
  }
  *own = *ir->insts[v].u.escape;
  own->is_ptx = code->is_ptx;
  own->effect = code->is_ptx ? effect_of_ptx(code->text) : CT_TEXT_WRITES;
  own->n_places = code->n_places;
  own->places = keep_places(ir, code, own->effect);
  own->is_literal = keep_literals(ir, code);
  own->n_outs = code->n_outs;
  own->outs = keep_outs(ir, code);
  ir->failed = ir->failed || own->places == NULL || own->is_literal == NULL || own->outs == NULL;
  ir->insts[v].u.escape = own;
  return ir->failed ? 0 : v;
}

CtVal ct_ir_escape(CtIr *ir, CtDtype type, const char *text, int n, const char *const *names,
                   const CtVal *vals) {
  return ct_ir_code(ir, type, &(CtEscape){.text = text, .n = n, .names = names, .vals = vals});
}
