/* tuple_parse.c: reads the text of IntTuples.

   tuple := [ name '=' ] ( int basis* | '_' | '(' [ tuple { ',' tuple } ] ')' )
   int   := ['-'] digit { digit }
   basis := '@' digit { digit }        innermost mode first, as CuTe prints it */
#include "tuple_parse.h"

#include <stdio.h>
#include <string.h>

#include "tuple_build.h"

enum { SHOWN_BYTES = 80 }; /* of the text, in a message */

void ct_parse_init(CtParse *p, CtArena *arena, const char *what, const char *s, size_t len,
                   CtErr *err) {
  *p = (CtParse){.arena = arena, .err = err, .what = what, .s = s, .len = len};
}

/* Bytes that would break a one-line message are shown as '?'. */
static void copy_shown(char *dst, const char *s, size_t len) {
  size_t n = len < SHOWN_BYTES ? len : SHOWN_BYTES;
  for (size_t i = 0; i < n; i++) {
    unsigned char c = (unsigned char)s[i];
    dst[i] = s[i];
    if (c < 0x20 || c >= 0x7f) {
      dst[i] = '?';
    }
  }
  snprintf(dst + n, 4, "%s", len > n ? "..." : "");
}

CtStatus ct_parse_fail(CtParse *p, size_t at, const char *msg) {
  char shown[SHOWN_BYTES + 4];
  copy_shown(shown, p->s, p->len);
  return ct_fail(p->err, CT_EINVAL, "%s: %s at column %zu of '%s'", p->what, msg, at, shown);
}

char ct_parse_peek(CtParse *p) {
  while (p->at < p->len && (p->s[p->at] == ' ' || p->s[p->at] == '\t')) {
    p->at++;
  }
  return p->at < p->len ? p->s[p->at] : '\0';
}

bool ct_parse_accept(CtParse *p, char c) {
  if (ct_parse_peek(p) != c || p->at == p->len) {
    return false;
  }
  p->at++;
  return true;
}

CtStatus ct_parse_expect(CtParse *p, char c) {
  if (ct_parse_accept(p, c)) {
    return CT_OK;
  }
  char msg[] = "expected '?'";
  msg[sizeof "expected '" - 1] = c;
  return ct_parse_fail(p, p->at, msg);
}

/* The text 4,8:1,4 with the parentheses that it lacks: (4,8):(1,4). */
static void copy_in_parentheses(char *dst, const CtParse *p) {
  size_t n = 0;
  int depth = 0;
  dst[n++] = '(';
  for (size_t i = 0; i < p->len; i++) {
    char c = p->s[i];
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    bool splits = depth == 0 && c == ':';
    if (splits) {
      dst[n++] = ')';
    }
    dst[n++] = c;
    if (splits) {
      dst[n++] = '(';
    }
  }
  dst[n++] = ')';
  dst[n] = '\0';
}

/* tuple [ ':' tuple ], of one nesting. */
static bool is_layout_text(CtArena *arena, const char *text) {
  CtParse p;
  CtErr err;
  CtTuple shape, stride;
  ct_parse_init(&p, arena, "", text, strlen(text), &err);
  if (ct_parse_tuple(&p, &shape) != CT_OK) {
    return false;
  }
  bool fits = !ct_parse_accept(&p, ':') ||
              (ct_parse_tuple(&p, &stride) == CT_OK && ct_congruent(shape, stride));
  return fits && ct_parse_peek(&p) == '\0' && p.at == p.len;
}

static CtStatus fail_end(CtParse *p) {
  char mended[3 * SHOWN_BYTES];
  if (p->s[p->at] == ',' && p->len < SHOWN_BYTES) {
    copy_in_parentheses(mended, p);
    if (is_layout_text(p->arena, mended)) {
      return ct_fail(p->err, CT_EINVAL, "%s: '%.*s' has no parentheses; write %s", p->what,
                     (int)p->len, p->s, mended);
    }
  }
  return ct_parse_fail(p, p->at, "unexpected text");
}

CtStatus ct_parse_end(CtParse *p) {
  ct_parse_peek(p);
  return p->at == p->len ? CT_OK : fail_end(p);
}

static bool is_digit(const CtParse *p) {
  return p->at < p->len && p->s[p->at] >= '0' && p->s[p->at] <= '9';
}

bool ct_parse_word(CtParse *p, const char *word) {
  size_t n = strlen(word);
  ct_parse_peek(p);
  if (p->len - p->at < n || memcmp(p->s + p->at, word, n) != 0) {
    return false;
  }
  p->at += n;
  return true;
}

CtStatus ct_parse_number(CtParse *p, int64_t *out) {
  size_t begin = p->at;
  bool negative = ct_parse_accept(p, '-');
  int64_t v = 0;
  if (!is_digit(p)) {
    return ct_parse_fail(p, p->at, "expected a number");
  }
  for (; is_digit(p); p->at++) {
    int64_t digit = p->s[p->at] - '0';
    if (ct_mul_overflow(v, 10, &v) || ct_add_overflow(v, negative ? -digit : digit, &v)) {
      p->at = begin;
      return ct_parse_fail(p, p->at, "number beyond 64 bits");
    }
  }
  *out = v;
  return CT_OK;
}

static CtStatus parse_basis(CtParse *p, CtInt *i) {
  int64_t modes[CT_BASIS_MAX];
  uint8_t n = 0;
  while (ct_parse_accept(p, '@')) {
    size_t begin = p->at;
    if (n == CT_BASIS_MAX) {
      return ct_parse_fail(p, begin, "too many modes in a basis element");
    }
    CtStatus st = ct_parse_number(p, &modes[n]);
    if (st != CT_OK) {
      return st;
    }
    if (modes[n] < 0 || modes[n] > UINT8_MAX) {
      return ct_parse_fail(p, begin, "mode number out of range");
    }
    n++;
  }
  if (i->v != 0) {
    i->basis_depth = n;
    for (uint8_t k = 0; k < n; k++) {
      i->basis[n - 1 - k] = (uint8_t)modes[k];
    }
  }
  return CT_OK;
}

static CtStatus parse_int(CtParse *p, CtInt *i) {
  if (ct_parse_accept(p, '_')) {
    *i = ct_any();
    return CT_OK;
  }
  *i = ct_int(0);
  CtStatus st = ct_parse_number(p, &i->v);
  return st == CT_OK ? parse_basis(p, i) : st;
}

/* Reads `name =`, or nothing: *name is 0 then. */
static CtStatus parse_name(CtParse *p, CtModeName *name) {
  char c = ct_parse_peek(p);
  size_t begin = p->at, end = begin;
  *name = 0;
  if (!ct_is_name_char(c) || is_digit(p)) {
    return CT_OK;
  }
  while (end < p->len && ct_is_name_char(p->s[end])) {
    end++;
  }
  p->at = end;
  if (!ct_parse_accept(p, '=')) {
    p->at = begin; /* `_`, or no name at all */
    return CT_OK;
  }
  const char *fault = p->unnamed;
  if (fault != NULL) {
    return ct_parse_fail(p, begin, fault);
  }
  fault = ct_mode_name_fault(p->s + begin, end - begin);
  if (fault != NULL) {
    char msg[80];
    snprintf(msg, sizeof msg, "a name of a mode that %s", fault);
    return ct_parse_fail(p, begin, msg);
  }
  return ct_mode_name_pack(p->s + begin, end - begin, name, p->err);
}

static CtStatus parse_node(CtParse *p, CtBuild *b);

static CtStatus parse_children(CtParse *p, CtBuild *b) {
  if (ct_parse_accept(p, ')')) {
    return CT_OK;
  }
  do {
    CtStatus st = parse_node(p, b);
    if (st != CT_OK) {
      return st;
    }
  } while (ct_parse_accept(p, ','));
  return ct_parse_expect(p, ')');
}

static CtStatus parse_node(CtParse *p, CtBuild *b) {
  CtModeName name;
  CtStatus st = parse_name(p, &name);
  if (st != CT_OK) {
    return st;
  }
  if (ct_parse_peek(p) == '(') {
    if (b->depth == CT_MAX_DEPTH) {
      return ct_parse_fail(p, p->at, "nesting too deep");
    }
    p->at++;
    ct_build_open_named(b, name);
    st = parse_children(p, b);
    ct_build_close(b);
    return st;
  }
  CtInt i;
  st = parse_int(p, &i);
  if (st == CT_OK) {
    ct_build_leaf_named(b, name, i, i);
  }
  return b->status == CT_OK ? st : b->status;
}

CtStatus ct_parse_tuple(CtParse *p, CtTuple *out) {
  CtBuild b;
  ct_build_init(&b, p->arena, p->what, false, p->err);
  CtStatus st = parse_node(p, &b);
  return st == CT_OK ? ct_build_finish(&b, out, NULL) : st;
}
