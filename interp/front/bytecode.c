/* bytecode.c: walks a dump of Lua 5.4, function by function (ldump.c). Numbers of more than a byte are counts: seven
   bits a byte, the high ones first, and the last one is marked. */
#include "source.h"

#include <lua.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
  HEADER = 32, /* bytes before the main function: signature, checks, its number of upvalues */
  INSTRUCTION = 4,
  UPVALUE = 3, /* in the stack?, index, kind */
  DEEPEST = 250
};

/* Types of constants as they are written: the type, and its variant << 4. */
enum {
  IS_FALSE = LUA_TBOOLEAN,
  IS_TRUE = LUA_TBOOLEAN | 1 << 4,
  IS_INTEGER = LUA_TNUMBER,
  IS_FLOAT = LUA_TNUMBER | 1 << 4,
  IS_SHORT = LUA_TSTRING,
  IS_LONG = LUA_TSTRING | 1 << 4
};

typedef struct Walk {
  const char *at, *end;
  const char *part; /* that is looked for */
  size_t part_len;
  int n_found;
  bool failed;
} Walk;

static void skip(Walk *w, size_t n) {
  w->failed = w->failed || n > (size_t)(w->end - w->at);
  w->at += w->failed ? 0 : n;
}

static uint8_t get_byte(Walk *w) {
  const char *at = w->at;
  skip(w, 1);
  return w->failed ? 0 : (uint8_t)*at;
}

static size_t get_count(Walk *w) {
  size_t n = 0;
  uint8_t byte = 0;
  while (!w->failed && byte < 0x80) {
    w->failed = n >> (8 * sizeof n - 7) != 0;
    byte = get_byte(w);
    n = n << 7 | (byte & 0x7f);
  }
  return w->failed ? 0 : n;
}

static void skip_each(Walk *w, size_t bytes) {
  size_t n = get_count(w);
  w->failed = w->failed || n > (size_t)(w->end - w->at);
  skip(w, w->failed ? 0 : n * bytes);
}

static void skip_string(Walk *w) {
  size_t n = get_count(w); /* one more than its bytes; 0: there is none */
  skip(w, n == 0 ? 0 : n - 1);
}

static void skip_constant(Walk *w) {
  switch (get_byte(w)) {
    case LUA_TNIL:
    case IS_FALSE:
    case IS_TRUE: break;
    case IS_INTEGER: skip(w, sizeof(lua_Integer)); break;
    case IS_FLOAT: skip(w, sizeof(lua_Number)); break;
    case IS_SHORT:
    case IS_LONG: skip_string(w); break;
    default: w->failed = true;
  }
}

static void skip_constants(Walk *w) {
  for (size_t n = get_count(w); n > 0 && !w->failed; n--) {
    skip_constant(w);
  }
}

/* Lines, names of locals and of upvalues: none where the dump is stripped. */
static void skip_debug(Walk *w) {
  skip_each(w, 1);
  for (size_t n = get_count(w); n > 0 && !w->failed; n--) {
    get_count(w);
    get_count(w);
  }
  for (size_t n = get_count(w); n > 0 && !w->failed; n--) {
    skip_string(w);
    get_count(w);
    get_count(w);
  }
  for (size_t n = get_count(w); n > 0 && !w->failed; n--) {
    skip_string(w);
  }
}

static void walk_function(Walk *w, int depth) {
  const char *begin = w->at;
  w->failed = w->failed || depth > DEEPEST;
  skip_string(w); /* its source */
  get_count(w);   /* its lines: first and last */
  get_count(w);
  skip(w, 3); /* parameters, whether more may come, registers */
  skip_each(w, INSTRUCTION);
  skip_constants(w);
  skip_each(w, UPVALUE);
  for (size_t n = get_count(w); n > 0 && !w->failed; n--) {
    walk_function(w, depth + 1);
  }
  skip_debug(w);
  size_t len = (size_t)(w->at - begin);
  w->n_found += !w->failed && len == w->part_len && memcmp(begin, w->part, len) == 0;
}

int bytecode_count(const char *all, size_t all_len, const char *part, size_t part_len) {
  if (all_len <= HEADER || part_len <= HEADER) {
    return 0;
  }
  Walk w = {.at = all + HEADER,
            .end = all + all_len,
            .part = part + HEADER,
            .part_len = part_len - HEADER};
  walk_function(&w, 0);
  return w.failed || w.at != w.end ? 0 : w.n_found;
}
