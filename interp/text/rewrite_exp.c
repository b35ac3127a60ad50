/* rewrite_exp.c: writes expressions. The source is copied from token to token by a cursor, with
   text put before and after; what is dropped leaves its line ends. A left-deep chain (a.b(c)[d] +
   e) is walked with a loop, so that its length is not a matter of the C stack: text that opens goes
   out from the outermost node inwards, the rest from the innermost outwards. */
#include "rewrite_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const RwFn comparisons[LX_KIND_COUNT] = {
    [LX_LT] = RW_LT, [LX_LE] = RW_LE, [LX_GT] = RW_GT,
    [LX_GE] = RW_GE, [LX_EQ] = RW_EQ, [LX_NE] = RW_NE}; /* 0 (RW_FUNC): not one */

static const LxToken *token(const Rw *w, LpTok t) { return lp_token(&w->c->lp, t); }
static LxKind kind_at(const Rw *w, LpTok t) { return token(w, t)->kind; }

/* {==== the cursor ==== */

static bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Before text that begins with c: keeps two words apart. */
static void separate(Rw *w, char c) {
  if (w->out->len > 0 && is_word(c) && is_word(w->out->s[w->out->len - 1])) {
    ct_text_putc(w->out, ' ');
  }
}

static void copy_to(Rw *w, size_t offset) {
  if (offset > w->cursor) {
    separate(w, w->c->lp.lx.text[w->cursor]);
    ct_text_add(w->out, w->c->lp.lx.text + w->cursor, offset - w->cursor);
    w->cursor = offset;
  }
}

/* Drops the source up to `offset` but for its line ends; blanks keep those of two lines apart. */
static void skip_to(Rw *w, size_t offset) {
  const char *text = w->c->lp.lx.text;
  bool apart = false;
  for (; w->cursor < offset; w->cursor++) {
    char c = text[w->cursor];
    if (c != '\n' && c != '\r') {
      apart = true;
      continue;
    }
    if (apart) {
      ct_text_putc(w->out, ' ');
    }
    ct_text_putc(w->out, c);
    apart = false;
  }
}

void rw_before(Rw *w, LpTok t) { copy_to(w, token(w, t)->start); }
void rw_after(Rw *w, LpTok t) { copy_to(w, token(w, t)->end); }
void rw_skip(Rw *w, LpTok t) { skip_to(w, token(w, t)->start); }

void rw_drop(Rw *w, LpTok t) {
  rw_before(w, t);
  skip_to(w, token(w, t)->end);
}

void rw_puts(Rw *w, const char *s) {
  separate(w, s[0]);
  ct_text_puts(w->out, s);
}

void rw_glue(Rw *w, const char *s) { ct_text_puts(w->out, s); }

static void write_number(Rw *w, unsigned n) {
  char digits[16];
  snprintf(digits, sizeof digits, "%u", n);
  rw_glue(w, digits);
}

/* The name of a runtime function and '('. */
static void write_call(Rw *w, RwFn fn) {
  w->used[fn] = true;
  rw_puts(w, w->c->prefix);
  if (w->in_table) {
    rw_glue(w, "[\"");
  }
  rw_glue(w, rw_fn_names[fn]);
  rw_glue(w, w->in_table ? "\"](" : "(");
}

/* An error at the line of t. */
CT_PRINTF(3, 4) static void fail_at(Rw *w, LpTok t, const char *fmt, ...) {
  char buf[512];
  va_list args;
  if (w->status != CT_OK) {
    return;
  }
  va_start(args, fmt);
  vsnprintf(buf, sizeof buf, fmt, args);
  va_end(args);
  w->status = ct_fail(w->err, CT_EINVAL, "kernel: %s", buf);
  ct_err_at(w->err, w->c->lp.lx.chunk, lp_line(&w->c->lp, t));
}

/* {==== names ==== */

static void write_var(Rw *w, const LpVar *v) {
  rw_puts(w, v->sym->s);
  if (v->rename > 0 && !rw_is_host(w, v)) {
    rw_glue(w, w->c->prefix);
    write_number(w, v->rename);
  }
}

void rw_declare(Rw *w, const LpVar *v) { rw_write(w, "%x%v", v->tok, v); }

static bool is_boxed(const Rw *w, const LpExp *e) {
  return e->kind == LP_NAME && e->var != NULL && e->var->is_mutable && !rw_is_host(w, e->var);
}

/* Names of one text are one symbol each, so that they are compared by address. */
static void note_global(Rw *w, const char *name) {
  for (size_t i = 0; i < w->n_globals; i++) {
    if (w->globals[i] == name) {
      return;
    }
  }
  CtStatus st = CT_GROW(w->c->alloc, w->globals, w->cap_globals, w->n_globals + 1, w->err);
  if (st == CT_OK) {
    w->globals[w->n_globals++] = name;
  } else {
    w->status = w->status == CT_OK ? st : w->status;
  }
}

/* A global that is a field of a local _ENV, `ix(_ENV, "x", "global 'x'")`. What the function captured as _ENV is noted
   when it is converted. */
static bool is_field_of_local(const Rw *w, const LpExp *e) {
  return w->c->notes_reads && e->var == NULL && e->env != NULL && !rw_is_host(w, e->env);
}

static void write_name(Rw *w, const LpExp *e) {
  if (e->var == NULL) {
    note_global(w, token(w, e->tok)->sym->s);
  }
  if (is_field_of_local(w, e)) {
    const char *name = token(w, e->tok)->sym->s;
    rw_write(w, "%x%f%v, %q, \"global '%s'\")", e->tok, RW_IX, e->env, name, name);
    return;
  }
  if (e->var == NULL || rw_is_host(w, e->var)) {
    rw_after(w, e->tok);
    return;
  }
  if (e->var->is_mutable) {
    rw_write(w, "%x%f%v)", e->tok, RW_R, e->var);
  } else {
    rw_write(w, "%x%v", e->tok, e->var);
  }
}

static const char *name_kind(const Rw *w, const LpExp *e) {
  if (e->var == NULL) {
    return "global";
  }
  return e->var->func == w->func ? "local" : "upvalue";
}

/* A string literal: kind 'name'. */
static void write_desc(Rw *w, const LpExp *e) {
  if (e->kind == LP_NAME && (e->var == NULL || e->var->init == NULL)) {
    rw_write(w, "\"%s '%s'\"", name_kind(w, e), token(w, e->tok)->sym->s);
  } else if (e->kind == LP_FIELD) {
    rw_write(w, "\"field '%s'\"", token(w, e->last)->sym->s);
  } else if (e->kind == LP_INDEX) {
    rw_puts(w, "\"field '?'\"");
  } else if (e->kind == LP_METHOD) {
    rw_write(w, "\"method '%s'\"", token(w, e->op + 1)->sym->s);
  } else {
    rw_puts(w, "nil");
  }
}

/* {==== operands ==== */

static void write_single(Rw *w, LpExp *e) {
  if (lp_is_multi(e)) {
    rw_write(w, "%<(%e)", e->tok, e);
  } else {
    rw_exp(w, e);
  }
}

/* `_` as a local hides the wildcard where only the wildcard makes sense. */
static void check_wildcard(Rw *w, const LpExp *e) {
  static const struct {
    const char *what, *instead;
  } roles[] = {[LP_LOCAL] = {"a local", "local"},
               [LP_PARAM] = {"a parameter", "parameter"},
               [LP_LOOP] = {"the variable of a loop", "loop variable"}};
  if (e->kind == LP_NAME && e->var != NULL && strcmp(e->var->sym->s, "_") == 0 &&
      !rw_is_host(w, e->var)) {
    fail_at(w, e->tok, "'_' is %s here and hides the wildcard '_'; give the %s another name",
            roles[e->var->role].what, roles[e->var->role].instead);
  }
}

static void check_wildcards(Rw *w, const LpExp *list) {
  for (const LpExp *e = list; e != NULL; e = e->next) {
    if (e->kind == LP_TABLE) {
      for (const LpExp *item = e->list; item != NULL; item = item->next) {
        check_wildcard(w, item);
      }
    }
    check_wildcard(w, e);
  }
}

void rw_explist(Rw *w, LpExp *e) {
  for (; e != NULL; e = e->next) {
    rw_exp(w, e);
  }
}

/* The braces and items of a table constructor. */
static void write_table(Rw *w, LpExp *e) { rw_write(w, "%<%l%>", e->tok, e->list, e->last); }

static bool is_literal_key(const Rw *w, const LpExp *e) {
  if (e->kind == LP_UNARY && kind_at(w, e->tok) == LX_MINUS) {
    e = e->a;
  }
  return e->kind == LP_NUMBER || e->kind == LP_STRING || e->kind == LP_TRUE || e->kind == LP_FALSE;
}

/* Whether a table constructor has a key [k] that may be a run-time value. */
static bool has_computed_key(const Rw *w, const LpExp *e) {
  for (const LpExp *item = e->list; item != NULL; item = item->next) {
    if (!item->is_item && kind_at(w, item->tok - 1) == LX_LBRACKET && !is_literal_key(w, item)) {
      return true;
    }
  }
  return false;
}

/* {==== chains: what goes before the innermost operand ==== */

static bool is_rewritten_index(const Rw *w, const LpExp *e) {
  return w->c->notes_reads || is_boxed(w, e->a) ||
         (e->kind == LP_INDEX && !is_literal_key(w, e->b));
}

static void open_binary(Rw *w, const LpExp *e) {
  LxKind op = kind_at(w, e->op);
  if (op == LX_AND) {
    rw_write(w, "%f%f", RW_ANDE, RW_ANDB);
  } else if (op == LX_OR) {
    rw_write(w, "%f%f", RW_ORE, RW_ORB);
  } else if (comparisons[op] != 0) {
    write_call(w, comparisons[op]);
  }
}

static void open_index(Rw *w, const LpExp *e) {
  if (is_rewritten_index(w, e)) {
    write_call(w, RW_IX);
  }
}

static void open_call(Rw *w, const LpExp *e) {
  (void)e;
  write_call(w, RW_FN);
}

static void open_method(Rw *w, const LpExp *e) {
  (void)e;
  write_call(w, RW_M);
}

/* {==== chains: what goes after the left operand ==== */

/* Lua blames a failed comparison on its last token, a call on its first. */
static void close_comparison(Rw *w, const LpExp *e) {
  int line = lp_line(&w->c->lp, e->last);
  rw_write(w, "%x,%1", e->op, e->b);
  if (line != lp_line(&w->c->lp, e->tok)) {
    rw_write(w, ", %n", (unsigned)line);
  }
  rw_puts(w, ")");
}

static void close_binary(Rw *w, const LpExp *e) {
  LxKind op = kind_at(w, e->op);
  if (comparisons[op] != 0) {
    close_comparison(w, e);
    return;
  }
  bool is_logic = op == LX_AND || op == LX_OR;
  rw_puts(w, is_logic ? ")" : "");
  rw_after(w, e->op);
  rw_exp(w, e->b);
  rw_puts(w, is_logic ? ")" : "");
}

/* A coordinate {i, j} that is used at once needs no record of its birth. */
static void write_coordinate(Rw *w, LpExp *e) {
  if (e->kind == LP_TABLE) {
    check_wildcards(w, e);
    write_table(w, e);
  } else {
    rw_exp(w, e);
  }
}

static void write_key(Rw *w, const LpExp *e) {
  rw_write(w, "%x, ", e->op);
  if (e->kind == LP_INDEX) {
    write_coordinate(w, e->b);
    rw_drop(w, e->last);
  } else {
    rw_write(w, "%x%q", e->last, token(w, e->last)->sym->s);
  }
}

static void close_index(Rw *w, const LpExp *e) {
  if (!is_rewritten_index(w, e)) {
    rw_after(w, e->op);
    if (e->kind == LP_INDEX) {
      rw_exp(w, e->b);
    }
    rw_after(w, e->last);
    return;
  }
  rw_write(w, "%k, %d)", e, e->a);
}

/* `cuda[[` whose text begins on the next line: Lua drops that line end, which is put back, so that the
   compiler's errors are counted from the line of the call. */
static bool drops_newline(const Rw *w, const LpExp *e) {
  const LpExp *f = e->a, *text = e->list;
  bool is_cuda = (f->kind == LP_NAME && strcmp(token(w, f->tok)->sym->s, "cuda") == 0) ||
                 (f->kind == LP_FIELD && strcmp(token(w, f->last)->sym->s, "cuda") == 0);
  if (!is_cuda || text == NULL || text->kind != LP_STRING) {
    return false;
  }
  const char *s = w->c->lp.lx.text + token(w, text->tok)->start;
  if (*s != '[') {
    return false;
  }
  s += 1 + strspn(s + 1, "=") + 1; /* after the second bracket */
  return *s == '\n' || *s == '\r';
}

/* The arguments, from their first token on; `self` goes before them if not NULL. */
static void write_args(Rw *w, const LpExp *e, LpTok first, bool has_self) {
  bool bare = kind_at(w, first) != LX_LPAREN; /* f"s", f{} */
  check_wildcards(w, e->list);
  if (bare) {
    rw_puts(w, "(");
  } else {
    rw_after(w, first);
  }
  if (has_self) {
    rw_write(w, "%f)%s", RW_SELF, e->list != NULL ? ", " : "");
  }
  if (!has_self && drops_newline(w, e)) {
    rw_puts(w, "\"\\n\" ..");
  }
  rw_explist(w, e->list);
  if (bare) {
    rw_puts(w, ")");
  } else {
    rw_after(w, e->last);
  }
}

static void close_call(Rw *w, const LpExp *e) {
  rw_write(w, ", %d)", e->a);
  write_args(w, e, e->op, false);
}

static void close_method(Rw *w, const LpExp *e) {
  rw_write(w, "%x, %x%q, %d)", e->op, e->op + 1, token(w, e->op + 1)->sym->s, e->a);
  write_args(w, e, e->op + 2, true);
}

/* What is written before and after the left operand. Other expressions have none. */
static const struct {
  void (*open)(Rw *w, const LpExp *e);
  void (*close)(Rw *w, const LpExp *e);
} chains[LP_PAREN + 1] = {[LP_BINARY] = {open_binary, close_binary},
                          [LP_INDEX] = {open_index, close_index},
                          [LP_FIELD] = {open_index, close_index},
                          [LP_CALL] = {open_call, close_call},
                          [LP_METHOD] = {open_method, close_method}};

static bool has_left(const LpExp *e) { return chains[e->kind].open != NULL; }

/* {==== expressions ==== */

/* `#len(v, desc)` */
static void write_length(Rw *w, const LpExp *e) {
  rw_write(w, "%>%<%f%1, %d)", e->tok, e->a->tok, RW_LEN, e->a, e->a);
}

static void write_unary(Rw *w, const LpExp *e) {
  LxKind op = kind_at(w, e->tok);
  if (op == LX_HASH && w->c->notes_reads) {
    write_length(w, e);
    return;
  }
  if (op != LX_NOT) {
    rw_write(w, "%>%e", e->tok, e->a);
    return;
  }
  rw_write(w, "%x%f%1)", e->tok, RW_NOT, e->a);
}

static void write_function(Rw *w, const LpExp *e) {
  rw_after(w, e->func->tok);
  rw_function_body(w, e->func);
}

/* An expression that is no left operand's chain. */
static void write_leaf(Rw *w, LpExp *e) {
  switch (e->kind) {
    case LP_NAME: write_name(w, e); break;
    case LP_FUNCTION: write_function(w, e); break;
    case LP_TABLE:
      write_call(w, RW_T);
      write_table(w, e);
      rw_puts(w, has_computed_key(w, e) ? ", true)" : ")");
      break;
    case LP_UNARY: write_unary(w, e); break;
    case LP_PAREN: rw_write(w, "%>%e%>", e->tok, e->a, e->last); break;
    case LP_NIL:
    case LP_TRUE:
    case LP_FALSE:
    case LP_NUMBER:
    case LP_STRING:
    case LP_VARARG:
    case LP_INDEX:
    case LP_FIELD:
    case LP_CALL:
    case LP_METHOD:
    case LP_BINARY: rw_after(w, e->tok); break;
  }
}

void rw_exp(Rw *w, LpExp *e) {
  LpExp *top = e;
  rw_before(w, e->tok);
  while (has_left(e)) {
    chains[e->kind].open(w, e);
    e->a->up = e;
    e = e->a;
  }
  write_leaf(w, e);
  while (e != top) {
    e = e->up;
    chains[e->kind].close(w, e);
  }
}

/* {==== templates ==== */

static void write_quoted(Rw *w, const char *s) {
  rw_puts(w, "\"");
  rw_puts(w, s);
  rw_puts(w, "\"");
}

static void write_directive(Rw *w, char directive, va_list *args) {
  switch (directive) {
    case 'f': write_call(w, va_arg(*args, RwFn)); break;
    case 'n': write_number(w, va_arg(*args, unsigned)); break;
    case 's': rw_puts(w, va_arg(*args, const char *)); break;
    case 'q': write_quoted(w, va_arg(*args, const char *)); break;
    case 'v': write_var(w, va_arg(*args, const LpVar *)); break;
    case 'e': rw_exp(w, va_arg(*args, LpExp *)); break;
    case '1': write_single(w, va_arg(*args, LpExp *)); break;
    case 'l': rw_explist(w, va_arg(*args, LpExp *)); break;
    case 'd': write_desc(w, va_arg(*args, const LpExp *)); break;
    case 'k': write_key(w, va_arg(*args, const LpExp *)); break;
    case 'x': rw_drop(w, va_arg(*args, LpTok)); break;
    case '<': rw_before(w, va_arg(*args, LpTok)); break;
    case '>': rw_after(w, va_arg(*args, LpTok)); break;
    default: CT_UNREACHABLE();
  }
}

/* The text up to the next directive; glued after a prefix. */
static const char *write_text(Rw *w, const char *p, bool is_glued) {
  size_t n = strcspn(p, "@%");
  if (n > 0 && !is_glued) {
    separate(w, *p);
  }
  ct_text_add(w->out, p, n);
  return p + n;
}

void rw_write(Rw *w, const char *template, ...) {
  va_list args;
  va_start(args, template);
  const char *p = write_text(w, template, false);
  while (*p != '\0') {
    bool is_prefix = *p == '@';
    if (is_prefix) {
      rw_puts(w, w->c->prefix);
    } else {
      write_directive(w, *++p, &args);
    }
    p = write_text(w, p + 1, is_prefix);
  }
  va_end(args);
}
