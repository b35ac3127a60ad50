/* emit_escape.c: CUDA C of the script, cuda[[...]]: the text as it is, with each $name replaced by a
   value, the address of an element, or the variable of a result. */
#include <string.h>

#include "emit.h"

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/* An operand in the text: from its $ to the end of its name, or with the parentheses around it. */
typedef struct Place {
  const char *text, *first, *end;
} Place;

static const char *before(const Place *p) { /* the last character before it, or "" */
  const char *s = p->first;
  while (s > p->text && is_space(s[-1])) {
    s--;
  }
  return s > p->text ? s - 1 : "";
}

static const char *after(const Place *p) {
  const char *s = p->end;
  while (is_space(*s)) {
    s++;
  }
  return s;
}

static bool is_twice(const char *s, char c) { return s[0] == c && s[1] == c; }

/* =, +=, <<=, ++ and the like, but not a comparison. */
static bool begins_assignment(const char *s) {
  if (is_twice(s, '+') || is_twice(s, '-')) {
    return true;
  }
  s += (is_twice(s, '<') || is_twice(s, '>')) && s[2] == '='
           ? 2
           : *s != '\0' && strchr("+-*/%&|^", *s) != NULL;
  return s[0] == '=' && s[1] != '=';
}

/* Does the text take the operand's address, assign to it, or give it to an instruction (asm's
   "+r"($x))? An & between two operands counts as well. */
static bool takes(Place p) {
  while (*before(&p) == '(' && *after(&p) == ')') {
    p.first = before(&p);
    p.end = after(&p) + 1;
  }
  const char *last = before(&p);
  bool has_two = last > p.text && *last != '\0';
  bool is_step = has_two && (is_twice(last - 1, '+') || is_twice(last - 1, '-'));
  bool is_and = has_two && is_twice(last - 1, '&');
  return (*last == '&' && !is_and) || *last == '"' || is_step || begins_assignment(after(&p));
}

/* How to write the operand: as an expression, which C takes as a value; as a name; or as a variable
   or an element, which a function with a reference parameter could change. */
typedef enum Kind { IS_VALUE, IS_NAME, IS_PLACE } Kind;

static Kind kind_of(const CtEmit *e, CtVal v) {
  CtOp op = (CtOp)ct_inst(e->ir, v)->op;
  if (op == CT_OP_PARAM || e->vals[v].name != NULL) {
    return IS_NAME;
  }
  return op == CT_OP_GET || op == CT_OP_LOAD ? IS_PLACE : IS_VALUE;
}

/* Does the operand stand alone, as an argument? */
static bool is_argument(Place p) {
  char left = *before(&p), right = *after(&p);
  return (left == '(' || left == ',') && (right == ')' || right == ',');
}

/* Operands are values. +x has no address, and C cannot assign to it. A cast of x to its own type
   would not do, because asm writes through it. + turns types narrower than int into int. */
static void put_value(CtEmit *e, CtVal v, Place p) {
  Kind kind = kind_of(e, v);
  CtDtype type = (CtDtype)ct_inst(e->ir, v)->type;
  bool is_promoted = ct_is_narrow(type) || type == CT_bool;
  bool is_copied = kind == IS_PLACE || (kind == IS_NAME && takes(p));
  bool has_paren = is_copied && !is_argument(p);
  ct_text_puts(&e->body, has_paren ? "(" : "");
  if (is_copied && is_promoted) {
    ct_text_printf(&e->body, "(%s)", ct_emit_type_of(e->ir, v));
  }
  ct_text_puts(&e->body, is_copied ? "+" : "");
  ct_emit_expr(e, v, CT_PREC_PRIMARY);
  ct_text_puts(&e->body, has_paren ? ")" : "");
}

/* &x[i] has no address of its own. */
static void put_address(CtEmit *e, const CtTextPlace *place, Place p) {
  bool has_paren = !is_argument(p);
  ct_text_puts(&e->body, has_paren ? "(&" : "&");
  ct_emit_place(e, place->buf, place->at);
  ct_text_puts(&e->body, has_paren ? ")" : "");
}

static bool is_named(const char *name, const char *text, size_t len) {
  return strlen(name) == len && strncmp(name, text, len) == 0;
}

/* Writes what the name at p stands for; false if it names nothing. */
static bool put_named(CtEmit *e, const CtEscape *esc, Place p) {
  const char *name = p.first + 1;
  size_t len = (size_t)(p.end - name);
  for (int i = 0; i < esc->n_outs; i++) {
    if (is_named(esc->outs[i].name, name, len)) {
      ct_text_puts(&e->body, e->vals[esc->outs[i].val].name);
      return true;
    }
  }
  for (int i = 0; i < esc->n; i++) {
    if (is_named(esc->names[i], name, len)) {
      put_value(e, esc->vals[i], p);
      return true;
    }
  }
  for (int i = 0; i < esc->n_places; i++) {
    if (is_named(esc->places[i].name, name, len)) {
      put_address(e, &esc->places[i], p);
      return true;
    }
  }
  return false;
}

/* Writes the operand that $name names; returns the number of characters read. */
static size_t put_operand(CtEmit *e, const CtInst *inst, const char *name) {
  const CtEscape *esc = inst->u.escape;
  size_t len = 0;
  while (ct_is_word(name[len])) {
    len++;
  }
  if (put_named(e, esc, (Place){esc->text, name - 1, name + len})) {
    return len;
  }
  ct_emit_fail(e, inst->loc, CT_EINVAL,
               "cuda: '$%.*s' has no operand of that name; give it one, or write $$ for a $",
               (int)len, name);
  return len;
}

static void put_function(CtEmit *e, const char *name, size_t len) {
  char text[CT_EMIT_FUNCTION_MAX];
  const CtIrFunction *f = e->opts.callees;
  while (f != NULL && (strncmp(f->ir.name, name, len) != 0 || f->ir.name[len] != '\0')) {
    f = f->next;
  }
  if (f != NULL) {
    ct_emit_function_name(f, e->opts.suffix, text);
    ct_text_puts(&e->body, text);
  }
}

static void put_escape(CtEmit *e, const CtInst *inst) {
  const char *s = inst->u.escape->text;
  while (*s != '\0') {
    if (s[0] == '$' && s[1] == '@') { /* the name of a function */
      size_t len = strcspn(s + 2, "(");
      put_function(e, s + 2, len);
      s += 2 + len;
    } else if (s[0] == '$' && s[1] == '$') {
      ct_text_putc(&e->body, '$');
      s += 2;
    } else if (s[0] == '$') {
      s += 1 + put_operand(e, inst, s + 1);
    } else {
      e->said.line += *s == '\n' && e->opts.line_directives;
      ct_text_putc(&e->body, *s++);
    }
  }
}

static bool ends_statement(const char *text) {
  size_t len = strlen(text);
  while (len > 0 && strchr(" \t\r\n", text[len - 1]) != NULL) {
    len--;
  }
  return len > 0 && (text[len - 1] == ';' || text[len - 1] == '}');
}

/* What follows the text must not end up in its last comment. */
static void end_escape(CtEmit *e, const char *text, const char *end) {
  if (strstr(text, "//") != NULL) {
    ct_text_putc(&e->body, '\n');
    e->said.line += e->opts.line_directives;
  }
  ct_text_puts(&e->body, end);
}

static void emit_escape_value(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  const char *name = ct_emit_new_name(e, v);
  ct_text_printf(&e->body, "const %s %s = ", ct_emit_type_of(e->ir, v), name);
  put_escape(e, inst);
  end_escape(e, inst->u.escape->text, ";");
  e->vals[v].name = name;
}

/* Variables for the results: the text writes them, and nothing after it does. */
static void declare_outs(CtEmit *e, const CtInst *inst) {
  const CtEscape *esc = inst->u.escape;
  for (int i = 0; i < esc->n_outs; i++) {
    const CtTextOut *out = &esc->outs[i];
    bool has_name =
        ct_inst(e->ir, out->val)->name != NULL || (out->name[0] >= '0' && out->name[0] <= '9');
    const char *name =
        has_name ? ct_emit_new_name(e, out->val) : ct_names_add(&e->names, out->name);
    if (out->from != 0) {
      ct_emit_say(e, inst->loc, "%s %s = %v;", ct_dtypes[out->type].cuda, name, out->from);
    } else {
      ct_emit_say(e, inst->loc, "%s %s;", ct_dtypes[out->type].cuda, name);
    }
    e->vals[out->val].name = name;
  }
}

/* Several statements get braces, so that their declarations stay local. */
void ct_emit_escape(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  declare_outs(e, inst);
  if (inst->u.escape->is_ptx) {
    ct_emit_ptx(e, inst);
    return;
  }
  const char *text = inst->u.escape->text;
  const char *semicolon = strchr(text, ';');
  bool is_block = semicolon != NULL && semicolon[1] != '\0';
  ct_emit_begin(e, inst->loc);
  if (inst->type != CT_VOID && e->vals[v].n_uses > 0) {
    emit_escape_value(e, v);
  } else {
    ct_text_puts(&e->body, is_block ? "{ " : "");
    put_escape(e, inst);
    end_escape(e, text, ends_statement(text) ? "" : ";");
    ct_text_puts(&e->body, is_block ? " }" : "");
  }
  e->is_foreign = true;
  ct_emit_end(e);
  e->is_foreign = false;
}
