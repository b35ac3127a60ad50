/* emit_ptx.c: PTX of the script, ptx(...), as inline assembly. The text is PTX as the manual has it:
   $name is an operand, and a % is a %. */
#include <inttypes.h>
#include <string.h>

#include "emit.h"
#include "runtime/base/convert.h"

/* An operand of the assembly: %0, %1, ... in this order: results, values, addresses. */
typedef struct Operand {
  const char *name;
  int number;
  int literal; /* index of a constant that stands in the text; -1: it has a number */
} Operand;

static size_t name_length(const char *s) {
  size_t n = 0;
  while ((s[n] >= 'a' && s[n] <= 'z') || (s[n] >= 'A' && s[n] <= 'Z') ||
         (s[n] >= '0' && s[n] <= '9') || s[n] == '_') {
    n++;
  }
  return n;
}

static bool is_literal(const CtEscape *code, int i) {
  return code->is_literal != NULL && code->is_literal[i];
}

static bool is_named(const char *name, const char *text, size_t len) {
  return strlen(name) == len && strncmp(name, text, len) == 0;
}

/* The operand that the text names; number -1: none. */
static Operand find(const CtEscape *code, const char *name, size_t len) {
  int number = 0;
  for (int i = 0; i < code->n_outs; i++, number++) {
    if (is_named(code->outs[i].name, name, len)) {
      return (Operand){name, number, -1};
    }
  }
  for (int i = 0; i < code->n; i++) {
    if (is_named(code->names[i], name, len)) {
      return (Operand){name, number, is_literal(code, i) ? i : -1};
    }
    number += !is_literal(code, i);
  }
  for (int i = 0; i < code->n_places; i++, number++) {
    if (is_named(code->places[i].name, name, len)) {
      return (Operand){name, number, -1};
    }
  }
  return (Operand){name, -1, -1};
}

/* --- the text ------------------------------------------------------------------------------------- */

/* A constant as PTX has it: 12, 0f3F800000, 0d3FF0000000000000. */
static void put_literal(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  if (!ct_is_float((CtDtype)inst->type)) {
    ct_text_printf(&e->body, "%" PRId64, inst->imm.i);
    return;
  }
  uint64_t bits = ct_bits_of_float((CtDtype)inst->type, inst->imm.f);
  ct_text_printf(&e->body, inst->type == CT_f64 ? "0d%016" PRIX64 : "0f%08" PRIX64, bits);
}

/* Writes the operand that $name names; returns the number of characters read. */
static size_t put_operand(CtEmit *e, const CtInst *inst, const char *name) {
  const CtEscape *code = inst->u.escape;
  size_t len = name_length(name);
  Operand op = find(code, name, len);
  if (op.number < 0) {
    ct_emit_fail(e, inst->loc, CT_EINVAL,
                 "ptx: '$%.*s' has no operand of that name; give it one, or write $$ for a $",
                 (int)len, name);
  } else if (op.literal >= 0) {
    put_literal(e, code->vals[op.literal]);
  } else {
    ct_text_printf(&e->body, "%%%d", op.number);
  }
  return len;
}

/* A line of the text is a literal of its own. */
static void put_newline(CtEmit *e) {
  ct_text_printf(&e->body, "\\n\"\n%*s\"", 2 * e->depth + 4, "");
  e->said.line += e->opts.line_directives;
}

/* Writes a character, or an operand; returns the number of characters read. */
static size_t put_piece(CtEmit *e, const CtInst *inst, const char *s) {
  if (*s == '$' && s[1] != '$') {
    return 1 + put_operand(e, inst, s + 1);
  }
  if (*s == '\n') {
    put_newline(e);
  } else if (*s == '"' || *s == '\\') {
    ct_text_printf(&e->body, "\\%c", *s);
  } else if (*s != '\r') {
    ct_text_puts(&e->body, *s == '%' ? "%%" : (const char[]){*s, '\0'});
  }
  return *s == '$' ? 2 : 1;
}

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/* Registers that the text declares are its own: braces around it, unless it has them. */
static void put_text(CtEmit *e, const CtInst *inst) {
  const char *s = inst->u.escape->text, *end = s + strlen(s);
  while (is_space(*s)) {
    s++;
  }
  while (end > s && is_space(end[-1])) {
    end--;
  }
  bool has_braces = *s != '{' && strstr(s, ".reg") != NULL;
  bool is_ended = end > s && (end[-1] == ';' || end[-1] == '}');
  ct_text_puts(&e->body, has_braces ? "{ " : "");
  while (s < end) {
    s += put_piece(e, inst, s);
  }
  ct_text_puts(&e->body, is_ended ? "" : ";");
  ct_text_puts(&e->body, has_braces ? " }" : "");
}

/* --- operands ------------------------------------------------------------------------------------- */

static char constraint_of(CtDtype type) {
  int bits = ct_dtypes[type].bits;
  if (ct_is_float(type) && !ct_is_bits(type)) {
    return bits == 64 ? 'd' : 'f';
  }
  return bits == 64 ? 'l' : bits == 32 ? 'r' : 'h';
}

static void put_outs(CtEmit *e, const CtEscape *code) {
  for (int i = 0; i < code->n_outs; i++) {
    const CtTextOut *out = &code->outs[i];
    ct_text_printf(&e->body, "%s\"%c%c\"(%s)", i > 0 ? ", " : " ", out->from != 0 ? '+' : '=',
                   constraint_of(out->type), e->vals[out->val].name);
  }
}

/* Addresses of shared memory are those of its window, as instructions with .shared take them. */
static void put_place(CtEmit *e, const CtTextPlace *place) {
  bool is_shared = e->ir->bufs[place->buf].space == CT_SHARED;
  ct_text_puts(&e->body, is_shared ? "\"r\"((unsigned)__cvta_generic_to_shared(&" : "\"l\"(&");
  ct_emit_place(e, place->buf, place->at);
  ct_text_puts(&e->body, is_shared ? "))" : ")");
}

static void put_ins(CtEmit *e, const CtEscape *code) {
  const char *sep = " ";
  for (int i = 0; i < code->n; i++) {
    if (!is_literal(code, i)) {
      CtDtype type = (CtDtype)ct_inst(e->ir, code->vals[i])->type;
      ct_text_printf(&e->body, "%s\"%c\"(", sep, constraint_of(type));
      ct_emit_expr(e, code->vals[i], CT_PREC_ANY);
      ct_text_putc(&e->body, ')');
      sep = ", ";
    }
  }
  for (int i = 0; i < code->n_places; i++) {
    ct_text_puts(&e->body, sep);
    put_place(e, &code->places[i]);
    sep = ", ";
  }
}

/* Must the compiler keep the text between other accesses to memory? Not if it only reads what
   nobody writes. */
static bool has_clobber(const CtIr *ir, const CtEscape *code) {
  bool may_change = code->n_places == 0 || ir->may_overlap;
  for (int i = 0; i < code->n_places; i++) {
    const CtBuf *buf = &ir->bufs[ct_ir_memory(ir, code->places[i].buf)];
    may_change = may_change || buf->space != CT_GLOBAL || buf->is_written;
  }
  return code->effect == CT_TEXT_WRITES || (code->effect == CT_TEXT_READS && may_change);
}

static bool has_ins(const CtEscape *code) {
  bool has = code->n_places > 0;
  for (int i = 0; i < code->n; i++) {
    has = has || !is_literal(code, i);
  }
  return has;
}

void ct_emit_ptx(CtEmit *e, const CtInst *inst) {
  const CtEscape *code = inst->u.escape;
  bool is_clobbering = has_clobber(e->ir, code);
  ct_emit_begin(e, inst->loc);
  ct_text_puts(&e->body, code->effect == CT_TEXT_PURE ? "asm(\"" : "asm volatile(\"");
  put_text(e, inst);
  ct_text_putc(&e->body, '"');
  ct_text_puts(&e->body, " :"); /* without a colon %% would be two characters */
  put_outs(e, code);
  if (has_ins(code) || is_clobbering) {
    ct_text_puts(&e->body, " :");
    put_ins(e, code);
  }
  ct_text_puts(&e->body, is_clobbering ? " : \"memory\");" : ");");
  ct_emit_end(e);
}
