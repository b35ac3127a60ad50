/* sandbox_match.c: Lua's patterns. The algorithm, and so what each pattern matches, is that of Lua 5.4's
   lstrlib.c (Copyright (C) 1994-2022 Lua.org, PUC-Rio; MIT license), which takes steps without end on
   some patterns and cannot be stopped; this one charges for them. */
#include "sandbox.h"

#include <ctype.h>
#include <lauxlib.h>
#include <string.h>

enum { ESCAPE = '%', MAX_DEPTH = 200, STEPS_AT_ONCE = 256 };

static int byte_of(const char *s) { return (unsigned char)*s; }

static void step(Match *m) {
  if (++m->n_steps == STEPS_AT_ONCE) {
    m->n_steps = 0;
    state_charge(m->L, m->state, STEPS_AT_ONCE);
  }
}

void match_init(Match *m, lua_State *L, const char *src, size_t len, const char *pattern,
                size_t pattern_len) {
  *m = (Match){.L = L,
               .state = state_of(L),
               .src = src,
               .src_end = src + len,
               .pattern_end = pattern + pattern_len};
}

/* {====== One character ====== */

/* The end of the class that begins at p. */
static const char *class_end(const Match *m, const char *p) {
  if (*p == ESCAPE) {
    if (p + 1 == m->pattern_end) {
      luaL_error(m->L, "malformed pattern (ends with '%%')");
    }
    return p + 2;
  }
  if (*p != '[') {
    return p + 1;
  }
  p += 1 + (p[1] == '^');
  do { /* a ']' that comes first is one of the set */
    if (p == m->pattern_end) {
      luaL_error(m->L, "malformed pattern (missing ']')");
    }
    p += *p == ESCAPE && p + 1 < m->pattern_end ? 2 : 1;
  } while (p == m->pattern_end || *p != ']');
  return p + 1;
}

static int is_zero(int c) { return c == 0; }

/* Is c in the class of the letter, %a; an upper-case letter is its complement. */
static bool is_in_class(int c, int letter) {
  static const struct {
    char letter;
    int (*is)(int c);
  } classes[] = {{'a', isalpha}, {'c', iscntrl},  {'d', isdigit}, {'g', isgraph},
                 {'l', islower}, {'p', ispunct},  {'s', isspace}, {'u', isupper},
                 {'w', isalnum}, {'x', isxdigit}, {'z', is_zero}};
  for (size_t i = 0; i < CT_ARRAY_LEN(classes); i++) {
    if (classes[i].letter == tolower(letter)) {
      return (classes[i].is(c) != 0) != (isupper(letter) != 0);
    }
  }
  return letter == c;
}

/* The set from p, its '[', to `end`, its ']'. */
static bool is_in_set(int c, const char *p, const char *end) {
  bool found = p[1] != '^';
  p += found ? 0 : 1;
  while (++p < end) {
    if (*p == ESCAPE) {
      p++;
      if (is_in_class(c, byte_of(p))) {
        return found;
      }
    } else if (p[1] == '-' && p + 2 < end) {
      p += 2;
      if (byte_of(p - 2) <= c && c <= byte_of(p)) {
        return found;
      }
    } else if (byte_of(p) == c) {
      return found;
    }
  }
  return !found;
}

/* Does the character at s match the class from p to `end`? */
static bool is_one(Match *m, const char *s, const char *p, const char *end) {
  step(m);
  if (s >= m->src_end) {
    return false;
  }
  switch (*p) {
    case '.': return true;
    case ESCAPE: return is_in_class(byte_of(s), byte_of(p + 1));
    case '[': return is_in_set(byte_of(s), p, end - 1);
    default: return *p == *s;
  }
}

/* {====== Repetitions ====== */

static const char *match_most(Match *m, const char *s, const char *p, const char *end) {
  ptrdiff_t n = 0;
  while (is_one(m, s + n, p, end)) {
    n++;
  }
  for (; n >= 0; n--) {
    const char *e = match_at(m, s + n, end + 1);
    if (e != NULL) {
      return e;
    }
  }
  return NULL;
}

static const char *match_least(Match *m, const char *s, const char *p, const char *end) {
  for (;;) {
    const char *e = match_at(m, s, end + 1);
    if (e != NULL) {
      return e;
    }
    if (!is_one(m, s, p, end)) {
      return NULL;
    }
    s++;
  }
}

/* {====== Items of more than one character ====== */

/* %bxy, at p its x. */
static const char *match_balance(Match *m, const char *s, const char *p) {
  if (p + 1 >= m->pattern_end) {
    luaL_error(m->L, "malformed pattern (missing arguments to '%%b')");
  }
  if (s >= m->src_end || *s != *p) {
    return NULL;
  }
  int open = 1;
  for (const char *at = s + 1; at < m->src_end; at++) {
    step(m);
    if (*at == p[1]) {
      if (--open == 0) {
        return at + 1;
      }
    } else if (*at == *p) {
      open++;
    }
  }
  return NULL;
}

/* %f[set], at p its '['. The end of the set. */
static const char *match_frontier(Match *m, const char *s, const char *p, bool *is_here) {
  if (*p != '[') {
    luaL_error(m->L, "missing '[' after '%%f' in pattern");
  }
  const char *end = class_end(m, p);
  int before = s == m->src ? 0 : byte_of(s - 1), here = s < m->src_end ? byte_of(s) : 0;
  *is_here = !is_in_set(before, p, end - 1) && is_in_set(here, p, end - 1);
  return end;
}

/* %1 */
static const char *match_back(Match *m, const char *s, int digit) {
  int i = digit - '1';
  if (i < 0 || i >= m->n_capture || m->capture[i].len == CAPTURE_OPEN) {
    luaL_error(m->L, "invalid capture index %%%d", i + 1);
  }
  if (m->capture[i].len == CAPTURE_POSITION) {
    return NULL;
  }
  size_t len = (size_t)m->capture[i].len;
  step(m);
  bool is_same = (size_t)(m->src_end - s) >= len && memcmp(m->capture[i].from, s, len) == 0;
  return is_same ? s + len : NULL;
}

static const char *begin_capture(Match *m, const char *s, const char *p, ptrdiff_t what) {
  if (m->n_capture >= MATCH_CAPTURES) {
    luaL_error(m->L, "too many captures");
  }
  m->capture[m->n_capture].from = s;
  m->capture[m->n_capture++].len = what;
  const char *e = match_at(m, s, p);
  m->n_capture -= e == NULL;
  return e;
}

static const char *end_capture(Match *m, const char *s, const char *p) {
  int i = m->n_capture - 1;
  while (i >= 0 && m->capture[i].len != CAPTURE_OPEN) {
    i--;
  }
  if (i < 0) {
    luaL_error(m->L, "invalid pattern capture");
    return NULL;
  }
  m->capture[i].len = s - m->capture[i].from;
  const char *e = match_at(m, s, p);
  if (e == NULL) {
    m->capture[i].len = CAPTURE_OPEN;
  }
  return e;
}

/* {====== A pattern ====== */

/* What one item of the pattern leads to: its match's end, or the place where to go on. */
typedef struct Next {
  bool is_end;       /* of the match, at s; NULL: there is none */
  const char *s, *p; /* else */
} Next;

static Next ends(const char *s) { return (Next){.is_end = true, .s = s}; }

static Next goes_on(const char *s, const char *p) {
  return s == NULL ? ends(NULL) : (Next){.s = s, .p = p};
}

/* A single character, with its suffix. */
static Next match_single(Match *m, const char *s, const char *p) {
  const char *end = class_end(m, p);
  switch (end < m->pattern_end ? *end : '\0') {
    case '?': {
      const char *e = is_one(m, s, p, end) ? match_at(m, s + 1, end + 1) : NULL;
      return e != NULL ? ends(e) : goes_on(s, end + 1);
    }
    case '+': return ends(is_one(m, s, p, end) ? match_most(m, s + 1, p, end) : NULL);
    case '*': return ends(match_most(m, s, p, end));
    case '-': return ends(match_least(m, s, p, end));
    default: return is_one(m, s, p, end) ? goes_on(s + 1, end) : ends(NULL);
  }
}

static Next match_escape(Match *m, const char *s, const char *p) {
  char c = p + 1 < m->pattern_end ? p[1] : '\0';
  switch (c) {
    case 'b': return goes_on(match_balance(m, s, p + 2), p + 4);
    case 'f': {
      bool is_here;
      const char *end = match_frontier(m, s, p + 2, &is_here);
      return goes_on(is_here ? s : NULL, end);
    }
    default: break;
  }
  return isdigit((unsigned char)c) ? goes_on(match_back(m, s, c), p + 2) : match_single(m, s, p);
}

static Next match_item(Match *m, const char *s, const char *p) {
  switch (*p) {
    case '(': {
      bool is_position = p + 1 < m->pattern_end && p[1] == ')';
      return ends(
          begin_capture(m, s, p + 1 + is_position, is_position ? CAPTURE_POSITION : CAPTURE_OPEN));
    }
    case ')': return ends(end_capture(m, s, p + 1));
    case '$':
      if (p + 1 == m->pattern_end) {
        return ends(s == m->src_end ? s : NULL);
      }
      return match_single(m, s, p);
    case ESCAPE: return match_escape(m, s, p);
    default: return match_single(m, s, p);
  }
}

const char *match_at(Match *m, const char *s, const char *p) {
  step(m);
  if (++m->depth > MAX_DEPTH) {
    luaL_error(m->L, "pattern too complex");
  }
  Next next = goes_on(s, p);
  while (!next.is_end && next.p < m->pattern_end) {
    next = match_item(m, next.s, next.p);
  }
  m->depth--;
  return next.s;
}

/* {====== Captures ====== */

void match_push(Match *m, int i, const char *s, const char *e) {
  if (i >= m->n_capture) {
    if (i > 0) {
      luaL_error(m->L, "invalid capture index %%%d", i + 1);
    }
    lua_pushlstring(m->L, s, (size_t)(e - s));
  } else if (m->capture[i].len == CAPTURE_POSITION) {
    lua_pushinteger(m->L, m->capture[i].from - m->src + 1);
  } else if (m->capture[i].len == CAPTURE_OPEN) {
    luaL_error(m->L, "unfinished capture");
  } else {
    lua_pushlstring(m->L, m->capture[i].from, (size_t)m->capture[i].len);
  }
}

int match_push_all(Match *m, const char *s, const char *e) {
  int n = m->n_capture == 0 && s != NULL ? 1 : m->n_capture;
  luaL_checkstack(m->L, n, "too many captures");
  for (int i = 0; i < n; i++) {
    match_push(m, i, s, e);
  }
  return n;
}

/* {====== Plain texts ====== */

const char *match_plain(Match *m, const char *in, size_t len, const char *what, size_t what_len) {
  if (what_len == 0) {
    return in;
  }
  while (len >= what_len) {
    state_charge(m->L, m->state, 1);
    const char *first = memchr(in, what[0], len - what_len + 1);
    if (first == NULL || memcmp(first, what, what_len) == 0) {
      return first;
    }
    len -= (size_t)(first - in) + 1;
    in = first + 1;
  }
  return NULL;
}
