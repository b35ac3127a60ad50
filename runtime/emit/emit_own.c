/* emit_own.c: breaks a function of runtime/math, which the preprocessor makes one line, into lines. */
#include <string.h>

#include "emit.h"

enum { INDENT = 2, COLUMNS = 92 };

typedef struct Breaker {
  CtText *out;
  size_t line; /* where the line begins */
  int parens;
} Breaker;

static void new_line(Breaker *b, int indent) {
  ct_text_putc(b->out, '\n');
  b->line = b->out->len;
  for (int i = 0; i < indent; i++) {
    ct_text_putc(b->out, ' ');
  }
}

/* The end of a statement, of the head, or a comma far to the right; s is followed by a space. */
static int indent_after(const Breaker *b, const char *from, const char *s) {
  bool ends = *s == ';' && b->parens == 0;
  bool opens = *s == '{' && s >= from + 2 && s[-2] == ')';
  bool is_far = *s == ',' && b->out->len - b->line > COLUMNS;
  bool is_last = strcmp(s + 1, " }\n") == 0;
  return ends && is_last ? 0 : ends || opens ? INDENT : is_far ? 3 * INDENT : -1;
}

void ct_emit_put_own(CtText *out, const char *text) {
  Breaker b = {out, out->len, 0};
  for (const char *s = text; *s != '\0'; s++) {
    b.parens += (*s == '(') - (*s == ')');
    ct_text_putc(out, *s);
    int indent = s[1] == ' ' ? indent_after(&b, text, s) : -1;
    if (indent >= 0) {
      new_line(&b, indent);
      s++;
    }
  }
}
