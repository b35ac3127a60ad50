/* lua_lex.c: text to tokens. One pass; the rules for each kind of token are those of Lua 5.4's
   manual, section 3.1, and of its numeral and escape checks. */
#include "lua_lex.h"

#include <string.h>

enum { MAX_TEXT = 1 << 30, FIRST_BUCKETS = 256 };

static const char *const kind_texts[LX_KIND_COUNT] = {
#define LX_WORD(id, text) [LX_##id] = "'" text "'",
#define LX_MARK(id, text) [LX_##id] = "'" text "'",
#include "lua_tokens.def"
    [LX_NAME] = "a name",
    [LX_NUMBER] = "a number",
    [LX_STRING] = "a string",
    [LX_EOF] = "the end of the text"};

typedef struct Word {
  const char *s;
  LxKind kind;
} Word;

static const Word marks[] = {
#define LX_MARK(id, text) {text, LX_##id},
#include "lua_tokens.def"
};

static const Word words[] = {
#define LX_WORD(id, text) {text, LX_##id},
#include "lua_tokens.def"
};

enum { N_CHARS = 256, NO_MARK = CT_ARRAY_LEN(marks) };

typedef struct Lexer {
  CtArena *arena;
  LxTokens *out;
  const char *s; /* the text */
  size_t len;
  size_t pos;
  int line;
  CtErr *err;
  unsigned char first_mark[N_CHARS]; /* by character: the first of the marks that begin with it */
} Lexer;

static bool is_digit(int c) { return c >= '0' && c <= '9'; }
static bool is_alpha(int c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_newline(int c) { return c == '\n' || c == '\r'; }
static bool is_space(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static int hex_value(int c) {
  if (is_digit(c)) {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The character `ahead` places after the position; -1 after the end. */
static int peek(const Lexer *x, size_t ahead) {
  return x->pos + ahead < x->len ? (unsigned char)x->s[x->pos + ahead] : -1;
}

static CtStatus refuse(const Lexer *x, const char *what) {
  CtStatus st = ct_fail(x->err, CT_EINVAL, "parse: %s", what);
  ct_err_at(x->err, x->out->chunk, x->line);
  return st;
}

/* Passes one line end, of one or two characters. */
static void pass_newline(Lexer *x) {
  int c = peek(x, 0);
  x->pos++;
  int d = peek(x, 0);
  if (is_newline(d) && d != c) {
    x->pos++;
  }
  x->line++;
}

/* The number of '=' of a long bracket that opens here, or -1 when none does. */
static int long_level(const Lexer *x) {
  size_t n = 1;
  while (peek(x, n) == '=') {
    n++;
  }
  return peek(x, 0) == '[' && peek(x, n) == '[' && n < INT32_MAX ? (int)n - 1 : -1;
}

static bool closes_long(const Lexer *x, int level) {
  for (int i = 1; i <= level; i++) {
    if (peek(x, (size_t)i) != '=') {
      return false;
    }
  }
  return peek(x, 0) == ']' && peek(x, (size_t)level + 1) == ']';
}

static CtStatus pass_long(Lexer *x, int level, const char *what) {
  x->pos += (size_t)level + 2;
  while (peek(x, 0) >= 0) {
    if (closes_long(x, level)) {
      x->pos += (size_t)level + 2;
      return CT_OK;
    }
    if (is_newline(peek(x, 0))) {
      pass_newline(x);
    } else {
      x->pos++;
    }
  }
  return refuse(x, what);
}

static CtStatus pass_comment(Lexer *x) {
  x->pos += 2;
  int level = peek(x, 0) == '[' ? long_level(x) : -1;
  if (level >= 0) {
    return pass_long(x, level, "unfinished long comment");
  }
  while (peek(x, 0) >= 0 && !is_newline(peek(x, 0))) {
    x->pos++;
  }
  return CT_OK;
}

/* Passes blanks and comments. */
static CtStatus pass_blank(Lexer *x) {
  CtStatus st = CT_OK;
  while (st == CT_OK) {
    int c = peek(x, 0);
    if (is_newline(c)) {
      pass_newline(x);
    } else if (is_space(c)) {
      x->pos++;
    } else if (c == '-' && peek(x, 1) == '-') {
      st = pass_comment(x);
    } else {
      return CT_OK;
    }
  }
  return st;
}

/* numeral: (dec [. dec] [e exp]) | 0x (hex [. hex] [p exp]), at least one digit in the mantissa */
static bool is_numeral(const char *s, size_t len) {
  size_t i = 0, n_digits = 0;
  bool hex = len > 1 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
  bool dot = false;
  for (i = hex ? 2 : 0; i < len; i++) {
    if (s[i] == '.' && !dot) {
      dot = true;
    } else if (hex ? hex_value((unsigned char)s[i]) >= 0 : is_digit((unsigned char)s[i])) {
      n_digits++;
    } else {
      break;
    }
  }
  if (n_digits == 0 || i == len) {
    return n_digits > 0;
  }
  if ((s[i] | 0x20) != (hex ? 'p' : 'e')) {
    return false;
  }
  i++;
  i += i < len && (s[i] == '+' || s[i] == '-');
  size_t first = i;
  while (i < len && is_digit((unsigned char)s[i])) {
    i++;
  }
  return i == len && i > first;
}

/* Takes all that Lua takes for one numeral, then checks its form. */
static CtStatus lex_number(Lexer *x) {
  size_t start = x->pos;
  int expo = 'e';
  if (peek(x, 0) == '0' && (peek(x, 1) | 0x20) == 'x') {
    expo = 'p';
    x->pos += 2;
  }
  for (;;) {
    int c = peek(x, 0);
    if (c >= 0 && (c | 0x20) == expo) {
      x->pos++;
      x->pos += peek(x, 0) == '+' || peek(x, 0) == '-';
    } else if (hex_value(c) >= 0 || c == '.') {
      x->pos++;
    } else {
      break;
    }
  }
  x->pos += is_alpha(peek(x, 0));
  return is_numeral(x->s + start, x->pos - start) ? CT_OK : refuse(x, "malformed number");
}

/* \u{XXX}, the position on the 'u' */
static CtStatus pass_utf8_escape(Lexer *x) {
  uint32_t value = 0;
  x->pos++;
  if (peek(x, 0) != '{' || hex_value(peek(x, 1)) < 0) {
    return refuse(x, "malformed \\u escape in a string");
  }
  for (x->pos++; hex_value(peek(x, 0)) >= 0; x->pos++) {
    if (value > (0x7FFFFFFFu >> 4)) {
      return refuse(x, "too large a value in a \\u escape");
    }
    value = value * 16 + (uint32_t)hex_value(peek(x, 0));
  }
  if (peek(x, 0) != '}') {
    return refuse(x, "missing '}' in a \\u escape");
  }
  x->pos++;
  return CT_OK;
}

static CtStatus pass_decimal_escape(Lexer *x) {
  int value = 0;
  for (int i = 0; i < 3 && is_digit(peek(x, 0)); i++, x->pos++) {
    value = value * 10 + peek(x, 0) - '0';
  }
  return value <= 255 ? CT_OK : refuse(x, "decimal escape above 255 in a string");
}

/* One escape, the position on the backslash. */
static CtStatus pass_escape(Lexer *x) {
  x->pos++;
  int c = peek(x, 0);
  if (is_digit(c)) {
    return pass_decimal_escape(x);
  }
  if (is_newline(c)) {
    pass_newline(x);
    return CT_OK;
  }
  if (c == 'u') {
    return pass_utf8_escape(x);
  }
  if (c == 'x' && (hex_value(peek(x, 1)) < 0 || hex_value(peek(x, 2)) < 0)) {
    return refuse(x, "two hexadecimal digits expected after \\x in a string");
  }
  if (c <= 0 || strchr("abfnrtvxz\\\"'", c) == NULL) {
    return refuse(x, "invalid escape sequence in a string");
  }
  x->pos += c == 'x' ? 3 : 1;
  while (c == 'z' && is_space(peek(x, 0))) {
    if (is_newline(peek(x, 0))) {
      pass_newline(x);
    } else {
      x->pos++;
    }
  }
  return CT_OK;
}

static CtStatus lex_string(Lexer *x) {
  int quote = peek(x, 0);
  x->pos++;
  for (;;) {
    int c = peek(x, 0);
    if (c == quote) {
      x->pos++;
      return CT_OK;
    }
    if (c < 0 || is_newline(c)) {
      return refuse(x, "unfinished string");
    }
    if (c != '\\') {
      x->pos++;
      continue;
    }
    CtStatus st = pass_escape(x);
    if (st != CT_OK) {
      return st;
    }
  }
}

static uint32_t hash_text(const char *s, size_t len) { /* FNV-1a */
  uint32_t h = 2166136261u;
  for (size_t i = 0; i < len; i++) {
    h = (h ^ (unsigned char)s[i]) * 16777619u;
  }
  return h;
}

/* Doubles the table of names. The old one stays in the arena. */
static bool grow_buckets(CtArena *arena, LxTokens *t) {
  size_t n = t->n_buckets == 0 ? FIRST_BUCKETS : t->n_buckets * 2;
  LxSym **buckets = ct_arena_alloc(arena, n * sizeof *buckets);
  if (buckets == NULL) {
    return false;
  }
  for (size_t i = 0; i < t->n_buckets; i++) {
    for (LxSym *y = t->buckets[i], *next; y != NULL; y = next) {
      next = y->next;
      y->next = buckets[y->hash & (n - 1)];
      buckets[y->hash & (n - 1)] = y;
    }
  }
  t->buckets = buckets;
  t->n_buckets = n;
  return true;
}

static LxKind word_kind(const char *s, size_t len) {
  for (size_t i = 0; i < CT_ARRAY_LEN(words); i++) {
    if (words[i].s[0] == s[0] && strlen(words[i].s) == len && memcmp(words[i].s, s, len) == 0) {
      return words[i].kind;
    }
  }
  return LX_NAME;
}

static CtStatus lex_word(Lexer *x, LxToken *t) {
  const char *s = x->s + x->pos;
  size_t len = 1;
  while (is_alpha(peek(x, len)) || is_digit(peek(x, len))) {
    len++;
  }
  x->pos += len;
  LxSym *sym = lx_intern(x->arena, x->out, s, len);
  if (sym == NULL) {
    return ct_fail_nomem(x->err);
  }
  t->kind = sym->kind;
  t->sym = t->kind == LX_NAME ? sym : NULL;
  return CT_OK;
}

static void index_marks(Lexer *x) {
  memset(x->first_mark, NO_MARK, sizeof x->first_mark);
  for (size_t i = CT_ARRAY_LEN(marks); i-- > 0;) {
    x->first_mark[(unsigned char)marks[i].s[0]] = (unsigned char)i;
  }
}

/* The length of the mark if it stands at the position, else 0. */
static size_t mark_here(const Lexer *x, const char *mark) {
  size_t n = 0;
  while (mark[n] != '\0' && peek(x, n) == mark[n]) {
    n++;
  }
  return mark[n] == '\0' ? n : 0;
}

static CtStatus lex_mark(Lexer *x, LxToken *t) {
  for (size_t i = x->first_mark[peek(x, 0)]; i < NO_MARK; i++) {
    size_t len = mark_here(x, marks[i].s);
    if (len > 0) {
      x->pos += len;
      t->kind = marks[i].kind;
      return CT_OK;
    }
  }
  return refuse(x, "unexpected character");
}

/* One token; the position is on its first character. */
static CtStatus lex_token(Lexer *x, LxToken *t) {
  int c = peek(x, 0);
  if (c < 0) {
    t->kind = LX_EOF;
    return CT_OK;
  }
  if (is_alpha(c)) {
    return lex_word(x, t);
  }
  if (is_digit(c) || (c == '.' && is_digit(peek(x, 1)))) {
    t->kind = LX_NUMBER;
    return lex_number(x);
  }
  if (c == '"' || c == '\'') {
    t->kind = LX_STRING;
    return lex_string(x);
  }
  if (c == '[' && long_level(x) >= 0) {
    t->kind = LX_STRING;
    return pass_long(x, long_level(x), "unfinished long string");
  }
  if (c == '[' && peek(x, 1) == '=') {
    return refuse(x, "invalid long string delimiter");
  }
  return lex_mark(x, t);
}

static CtStatus add_token(Lexer *x) {
  LxTokens *out = x->out;
  CtStatus st = pass_blank(x);
  st = st == CT_OK ? CT_GROW(x->arena->alloc, out->toks, out->cap, out->n + 1, x->err) : st;
  if (st != CT_OK) {
    return st;
  }
  LxToken *t = &out->toks[out->n];
  *t = (LxToken){.start = (uint32_t)x->pos};
  st = lex_token(x, t);
  t->end = (uint32_t)x->pos;
  t->line = x->line;
  out->n += st == CT_OK;
  return st;
}

LxSym *lx_intern(CtArena *arena, LxTokens *t, const char *s, size_t len) {
  if (t->n_syms >= t->n_buckets && !grow_buckets(arena, t)) {
    return NULL;
  }
  uint32_t h = hash_text(s, len);
  LxSym **at = &t->buckets[h & (t->n_buckets - 1)];
  for (LxSym *y = *at; y != NULL; y = y->next) {
    if (y->hash == h && y->len == len && memcmp(y->s, s, len) == 0) {
      return y;
    }
  }
  LxSym *y = ct_arena_alloc(arena, sizeof *y);
  char *copy = ct_arena_strdup(arena, s, len);
  if (y == NULL || copy == NULL) {
    return NULL;
  }
  *y = (LxSym){.s = copy, .kind = word_kind(s, len), .len = (uint32_t)len, .hash = h, .next = *at};
  *at = y;
  t->n_syms++;
  return y;
}

CtStatus lx_run(CtArena *arena, const char *text, size_t len, const char *chunk, LxTokens *out,
                CtErr *err) {
  *out = (LxTokens){.text = text, .len = len, .chunk = chunk};
  Lexer x = {.arena = arena, .out = out, .s = text, .len = len, .line = 1, .err = err};
  if (len >= MAX_TEXT) {
    return refuse(&x, "the text is longer than 1 GiB");
  }
  index_marks(&x);
  CtStatus st = CT_OK;
  while (st == CT_OK && (out->n == 0 || out->toks[out->n - 1].kind != LX_EOF)) {
    st = add_token(&x);
  }
  if (st != CT_OK) {
    lx_clear(out, arena->alloc);
  }
  return st;
}

void lx_clear(LxTokens *t, CtAlloc alloc) {
  ct_free(alloc, t->toks, t->cap * sizeof *t->toks);
  t->toks = NULL;
  t->n = t->cap = 0;
}

const char *lx_kind_text(LxKind kind) { return kind_texts[kind]; }

/* The value of a decimal escape at s[*i]; moves *i past it. */
static char decimal_value(const char *s, size_t *i) {
  int v = 0;
  for (int n = 0; n < 3 && is_digit((unsigned char)s[*i]); n++, ++*i) {
    v = v * 10 + s[*i] - '0';
  }
  return (char)v;
}

/* Appends the UTF-8 (up to six bytes) of the escape u{...} at s[*i], which it passes. */
static size_t utf8_value(const char *s, size_t *i, char *buf) {
  uint32_t v = 0;
  for (*i += 2; s[*i] != '}'; ++*i) {
    v = v * 16 + (uint32_t)hex_value((unsigned char)s[*i]);
  }
  ++*i;
  if (v < 0x80) {
    buf[0] = (char)v;
    return 1;
  }
  char tmp[8];
  size_t n = 0;
  uint32_t first_max = 0x3F; /* what still fits in the first byte */
  do {
    tmp[n++] = (char)(0x80 | (v & 0x3F));
    v >>= 6;
    first_max >>= 1;
  } while (v > first_max);
  tmp[n++] = (char)((~first_max << 1) | v);
  for (size_t k = 0; k < n; k++) {
    buf[k] = tmp[n - 1 - k];
  }
  return n;
}

static void skip_line_end(const char *s, size_t *i) {
  char c = s[(*i)++];
  *i += is_newline((unsigned char)s[*i]) && s[*i] != c;
}

/* One escape, after its backslash, at s[*i]; returns how many bytes it put into buf. */
static size_t escape_value(const char *s, size_t *i, char *buf) {
  static const char from[] = "abfnrtv", to[] = "\a\b\f\n\r\t\v";
  char c = s[*i];
  if (is_digit((unsigned char)c)) {
    buf[0] = decimal_value(s, i);
    return 1;
  }
  if (c == 'u') {
    return utf8_value(s, i, buf);
  }
  if (c == 'x') {
    buf[0] = (char)(hex_value((unsigned char)s[*i + 1]) * 16 + hex_value((unsigned char)s[*i + 2]));
    *i += 3;
    return 1;
  }
  if (is_newline((unsigned char)c)) {
    skip_line_end(s, i);
    buf[0] = '\n';
    return 1;
  }
  ++*i;
  if (c == 'z') {
    while (is_space((unsigned char)s[*i])) {
      ++*i;
    }
    return 0;
  }
  const char *p = strchr(from, c);
  buf[0] = p != NULL ? to[p - from] : c;
  return 1;
}

/* The value of a long string: line ends as "\n", the first one dropped. */
static size_t long_value(const char *s, size_t len, char *buf) {
  size_t n = 0, i = 1;
  while (s[i] == '=') {
    i++;
  }
  size_t end = len - i - 1;
  i++;
  if (i < end && is_newline((unsigned char)s[i])) {
    skip_line_end(s, &i);
  }
  while (i < end) {
    if (is_newline((unsigned char)s[i])) {
      skip_line_end(s, &i);
      buf[n++] = '\n';
    } else {
      buf[n++] = s[i++];
    }
  }
  return n;
}

size_t lx_string_value(const char *s, size_t len, char *buf) {
  if (s[0] == '[') {
    return long_value(s, len, buf);
  }
  size_t n = 0;
  for (size_t i = 1; i < len - 1;) {
    if (s[i] == '\\') {
      i++;
      n += escape_value(s, &i, buf + n);
    } else {
      buf[n++] = s[i++];
    }
  }
  return n;
}
