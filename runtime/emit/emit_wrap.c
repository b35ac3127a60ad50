/* emit_wrap.c: cuts long lines of the text for people where C and a reader allow it: outside of strings and
   comments, where the fewest parentheses are open, rather between arguments than before an operator. */
#include <string.h>

#include "emit.h"

enum {
  WIDTH = 100,     /* of code: a comment after it does not count */
  MIN_FILLED = 40, /* a line is not cut before this column if it can be cut after it */
  INDENT = 4       /* of what continues a line */
};

/* Where a walk over a line is. */
typedef struct Scan {
  const char *line;
  size_t at, len;
  int depth, angles; /* parentheses opened since its begin; of them those of templates */
  char quote;        /* of the string or character that it is in, or NUL */
} Scan;

static bool is_space_at(const Scan *s, size_t at) { return at >= s->len || s->line[at] == ' '; }

/* "swizzle<3, 3>", unlike "a < b" */
static void step_angle(Scan *s, char c) {
  bool opens = c == '<' && s->at > 1 && !is_space_at(s, s->at - 2) && !is_space_at(s, s->at);
  bool closes = c == '>' && s->angles > 0;
  s->angles += opens - closes;
  s->depth += opens - closes;
}

static void step(Scan *s) {
  char c = s->line[s->at++];
  if (s->quote != '\0') {
    s->at += c == '\\' && s->at < s->len;
    s->quote = c == s->quote ? '\0' : s->quote;
  } else if (c == '"' || c == '\'') {
    s->quote = c;
  } else {
    s->depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
    step_angle(s, c);
  }
}

/* How much of an expression would be torn apart if a line began here, after a space: each parenthesis counts more
   than any operator. */
static int bond_of(const Scan *s) {
  enum { NONE = -1, ARGUMENT, CHOICE, SUM, PRODUCT, N_BONDS };
  static const char *const operators[N_BONDS] = {
      [CHOICE] = "?:&|", [SUM] = "+-|^", [PRODUCT] = "*"};
  const char *here = s->line + s->at;
  if (s->quote != '\0' || s->at < 3 || here[-1] != ' ') {
    return NONE;
  }
  bool is_assigned = here[-2] == '=' && here[-3] == ' ';
  int bond = strchr(",;{", here[-2]) != NULL ? ARGUMENT : is_assigned ? CHOICE : NONE;
  for (int i = CHOICE; bond == NONE && i < N_BONDS; i++) {
    size_t n = strspn(here, operators[i]);
    bond = n > 0 && here[n] == ' ' ? i : NONE;
  }
  return bond == NONE ? NONE : s->depth * N_BONDS + bond;
}

/* Where to cut a line that begins after `before` columns; 0: nowhere. */
static size_t find_cut(const char *line, size_t before, size_t len) {
  Scan s = {.line = line, .at = strspn(line, " "), .len = len};
  size_t best = 0, start = s.at + INDENT;
  int weakest = 0;
  while (s.at < len && (before + s.at <= WIDTH || best == 0)) {
    int bond = bond_of(&s);
    if (bond != -1 && s.at > start &&
        (before + best < MIN_FILLED || bond <= weakest || best == 0)) {
      best = s.at;
      weakest = bond;
    }
    step(&s);
  }
  return best;
}

/* The length without a comment at the end; 0 for what must stay one line. */
static size_t code_length(const char *line, size_t len) {
  Scan s = {.line = line, .len = len};
  while (s.at < len && (s.quote != '\0' || strncmp(line + s.at, "//", 2) != 0)) {
    step(&s);
  }
  while (s.at > 0 && line[s.at - 1] == ' ') {
    s.at--;
  }
  bool is_directive = line[strspn(line, " ")] == '#' || (len > 0 && line[len - 1] == '\\');
  return is_directive ? 0 : s.at;
}

static void add_line(CtText *out, const char *line, size_t len) {
  size_t code = code_length(line, len), before = 0, more = strspn(line, " ") + INDENT;
  while (before + code > WIDTH) {
    size_t cut = find_cut(line, before, code);
    if (cut == 0) {
      break;
    }
    ct_text_add(out, line, cut - 1);
    ct_text_printf(out, "\n%*s", (int)more, "");
    line += cut;
    len -= cut;
    code -= cut;
    before = more;
  }
  ct_text_add(out, line, len);
}

void ct_emit_cut_lines(CtEmit *e, CtText *out, size_t from) {
  size_t n = out->len - from;
  const char *text = n <= WIDTH ? NULL : ct_arena_strdup(&e->arena, out->s + from, n);
  if (text == NULL) {
    out->failed = out->failed || n > WIDTH;
    return;
  }
  out->len = from;
  while (*text != '\0') {
    size_t len = strcspn(text, "\n");
    add_line(out, text, len);
    ct_text_puts(out, text[len] != '\0' ? "\n" : "");
    text += len + (text[len] != '\0');
  }
}
