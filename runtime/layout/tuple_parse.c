/* tuple_parse.c: reads the text of IntTuples.

   tuple := [ name '=' ] ( int basis* | '_' | '(' [ tuple { ',' tuple } ] ')' )
   int   := ['_'] ['-'] digit { digit }     with the '_' by which CuTe prints a static integer
   basis := '@' digit { digit }        innermost mode first, as CuTe prints it */
#include "tuple_parse.h"

#include <stdio.h>
#include <string.h>

#include "tuple_build.h"

enum { SHOWN_BYTES = 80 }; /* bytes of the text that a message shows */

void ct_parse_init(CtParse *p, CtArena *arena, const char *what, const char *s, size_t len,
                   CtErr *err) {
  *p = (CtParse){.g = {.cx = {.arena = arena}, .err = err}, .what = what, .s = s, .len = len};
}

/* Copies text for a message; bytes that would break a line become '?'. */
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

void ct_parse_fail(CtParse *p, size_t at, const char *msg) {
  char shown[SHOWN_BYTES + 4];
  copy_shown(shown, p->s, p->len);
  al_fail(&p->g, CT_EINVAL, "%s: %s at column %zu of '%s'", p->what, msg, at, shown);
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

void ct_parse_expect(CtParse *p, char c) {
  if (!ct_parse_accept(p, c)) {
    char msg[] = "expected '?'";
    msg[sizeof "expected '" - 1] = c;
    ct_parse_fail(p, p->at, msg);
  }
}

/* Writes the text 4,8:1,4 with its missing parentheses: (4,8):(1,4). */
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

/* tuple [ ':' tuple ], both with the same nesting. */
static bool is_layout_text(CtArena *arena, const char *text) {
  CtParse p;
  ct_parse_init(&p, arena, "", text, strlen(text), NULL);
  CtTuple shape = ct_parse_tuple(&p);
  CtTuple stride = ct_parse_accept(&p, ':') ? ct_parse_tuple(&p) : shape;
  ct_parse_peek(&p);
  return al_ok(&p.g) && ct_congruent(shape, stride) && p.at == p.len;
}

static void fail_end(CtParse *p) {
  char mended[3 * SHOWN_BYTES];
  if (al_ok(&p->g) && p->s[p->at] == ',' && p->len < SHOWN_BYTES) {
    copy_in_parentheses(mended, p);
    if (is_layout_text(p->g.cx.arena, mended)) {
      al_fail(&p->g, CT_EINVAL, "%s: '%.*s' has no parentheses; write %s", p->what, (int)p->len,
              p->s, mended);
    }
  }
  ct_parse_fail(p, p->at, "unexpected text");
}

CtStatus ct_parse_end(CtParse *p) {
  ct_parse_peek(p);
  if (p->at != p->len) {
    fail_end(p);
  }
  return p->g.status;
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

int64_t ct_parse_number(CtParse *p) {
  size_t begin = p->at;
  bool negative = ct_parse_accept(p, '-') || ct_parse_word(p, "\xE2\x88\x92"); /* U+2212 */
  int64_t v = 0;
  if (!is_digit(p)) {
    ct_parse_fail(p, p->at, "expected a number");
  }
  for (; is_digit(p); p->at++) {
    int64_t digit = p->s[p->at] - '0';
    if (ct_mul_overflow(v, 10, &v) || ct_add_overflow(v, negative ? -digit : digit, &v)) {
      ct_parse_fail(p, begin, "number beyond 64 bits");
      break;
    }
  }
  return v;
}

static void parse_basis(CtParse *p, CtInt *i) {
  int64_t modes[CT_BASIS_MAX];
  uint8_t n = 0;
  while (ct_parse_accept(p, '@')) {
    size_t begin = p->at;
    if (n == CT_BASIS_MAX) {
      ct_parse_fail(p, begin, "too many modes in a basis element");
      return;
    }
    modes[n] = ct_parse_number(p);
    if (modes[n] < 0 || modes[n] > UINT8_MAX) {
      ct_parse_fail(p, begin, "mode number out of range");
    }
    n++;
  }
  if (i->v != 0) {
    i->basis_depth = n;
    for (uint8_t k = 0; k < n; k++) {
      i->basis[n - 1 - k] = (uint8_t)modes[k];
    }
  }
}

/* Is the next byte the '_' of a static integer, such as _4? Alone it stands for a whole mode. */
static bool is_static_mark(CtParse *p) {
  if (ct_parse_peek(p) != '_') {
    return false;
  }
  size_t digit = p->at + 1 < p->len && p->s[p->at + 1] == '-' ? p->at + 2 : p->at + 1;
  return digit < p->len && p->s[digit] >= '0' && p->s[digit] <= '9';
}

int64_t ct_parse_static(CtParse *p) {
  p->at += is_static_mark(p) ? 1 : 0;
  return ct_parse_number(p);
}

static CtInt parse_int(CtParse *p) {
  CtInt i = ct_int(0);
  if (!is_static_mark(p) && ct_parse_accept(p, '_')) {
    return ct_any();
  }
  i.v = ct_parse_static(p);
  parse_basis(p, &i);
  return i;
}

/* Reads the name from byte `begin` to `end`. */
static CtModeName pack_name(CtParse *p, size_t begin, size_t end) {
  CtModeName name = 0;
  char msg[80];
  const char *fault = ct_mode_name_fault(p->s + begin, end - begin);
  if (fault != NULL) {
    snprintf(msg, sizeof msg, "a name of a mode that %s", fault);
  }
  if (p->unnamed != NULL || fault != NULL) {
    ct_parse_fail(p, begin, p->unnamed != NULL ? p->unnamed : msg);
    return 0;
  }
  return ct_mode_name_pack(p->s + begin, end - begin, &name, NULL) == CT_OK ? name : 0;
}

/* Reads `name =`; 0 if there is no name. */
static CtModeName parse_name(CtParse *p) {
  char c = ct_parse_peek(p);
  size_t begin = p->at, end = begin;
  if (!ct_is_name_char(c) || is_digit(p)) {
    return 0;
  }
  while (end < p->len && ct_is_name_char(p->s[end])) {
    end++;
  }
  p->at = end;
  if (!ct_parse_accept(p, '=')) {
    p->at = begin; /* `_`, or not a name at all */
    return 0;
  }
  return pack_name(p, begin, end);
}

static void parse_node(CtParse *p, CtBuild *b);

static void parse_children(CtParse *p, CtBuild *b) {
  if (ct_parse_accept(p, ')')) {
    return;
  }
  do {
    parse_node(p, b);
  } while (ct_parse_accept(p, ','));
  ct_parse_expect(p, ')');
}

static void parse_node(CtParse *p, CtBuild *b) {
  if (!al_ok(&p->g)) {
    return; /* stop: no tuple is opened any more, so nothing would limit the depth */
  }
  CtModeName name = parse_name(p);
  if (ct_parse_peek(p) != '(') {
    CtInt i = parse_int(p);
    ct_build_leaf_named(b, name, i, i);
    return;
  }
  if (b->depth == CT_MAX_DEPTH) {
    ct_parse_fail(p, p->at, "nesting too deep");
    return;
  }
  p->at++;
  ct_build_open_named(b, name);
  parse_children(p, b);
  ct_build_close(b);
}

CtTuple ct_parse_tuple(CtParse *p) {
  CtBuild b;
  ct_build_init(&b, &p->g, p->what, false);
  parse_node(p, &b);
  return ct_build_take(&b, 0);
}

CtTuple ct_parse_unnamed(CtParse *p) {
  p->unnamed = "only the modes of a shape have names; unexpected name";
  return ct_parse_tuple(p);
}
