/* repl_complete.c: completion. The line before the cursor says what is asked for: a field or method
   of a value that a chain of names gives (`ms.tile.`, `A:`), a mode of a layout (`size(A, "`), an atom
   (`atom("`), a file (`load_npy("`), a name of the language (`help(`), else any name. Values are found and read by raw accesses only. A type
   that answers __index by a function says what it knows in two fields of its metatable: __methods,
   a table by name, and __fields, a list of names. */
#include "repl_complete.h"
#include "interp/state/state_language.h"

#include <ctype.h>
#include <lauxlib.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "repl_files.h"
#include "repl_locals.h"
#include "runtime/ir/atom.h"
#include "interp/state/state.h"

enum { MAX_STEPS = 16 }; /* along __index */

typedef struct Span { /* of the line */
  const char *s;
  size_t len;
} Span;

typedef struct Search {
  lua_State *L;
  Span line; /* up to the cursor */
  Span word; /* that is to be completed */
  int found; /* stack index of the set of candidates */
} Search;

/* {====== Reading the line backwards ====== */

static bool is_name_char(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Names and dots at the end of s: "ms.tile". */
static Span last_chain(Span s) {
  size_t n = 0;
  while (n < s.len && (is_name_char(s.s[s.len - n - 1]) || s.s[s.len - n - 1] == '.')) {
    n++;
  }
  return (Span){s.s + s.len - n, n};
}

static Span last_word(Span s) {
  size_t n = 0;
  while (n < s.len && is_name_char(s.s[s.len - n - 1])) {
    n++;
  }
  return (Span){s.s + s.len - n, n};
}

static Span before(Span whole, Span part) { return (Span){whole.s, (size_t)(part.s - whole.s)}; }

static Span trim(Span s) {
  while (s.len > 0 && isspace((unsigned char)s.s[s.len - 1])) {
    s.len--;
  }
  while (s.len > 0 && isspace((unsigned char)s.s[0])) {
    s.s++;
    s.len--;
  }
  return s;
}

static char last_char(Span s) { return s.len == 0 ? '\0' : s.s[s.len - 1]; }

static bool is_text(Span s, const char *text) {
  return s.len == strlen(text) && memcmp(s.s, text, s.len) == 0;
}

typedef enum Place { IN_CODE, IN_STRING, IN_COMMENT } Place;

/* What the end of the line is in; *quote: offset of the quote that opens the string there. */
static Place find_place(Span line, size_t *quote) {
  Place place = IN_CODE;
  for (size_t i = 0; i < line.len; i++) {
    char c = line.s[i];
    if (place == IN_STRING) {
      i += c == '\\';
      place = c == line.s[*quote] ? IN_CODE : IN_STRING;
    } else if (c == '"' || c == '\'') {
      *quote = i;
      place = IN_STRING;
    } else if (c == '-' && i + 1 < line.len && line.s[i + 1] == '-') {
      return IN_COMMENT;
    }
  }
  return place;
}

/* The bracket that is open at the end of s, as its end; an empty span when there is none. */
static Span up_to_open(Span s) {
  int depth = 0;
  for (; s.len > 0; s.len--) {
    char c = last_char(s);
    depth += strchr(")]}", c) != NULL;
    if (strchr("([{", c) != NULL && depth-- == 0) {
      return s;
    }
  }
  return s;
}

/* {====== Values ====== */

static void raw_field(lua_State *L, int table, Span name) {
  lua_pushlstring(L, name.s, name.len);
  lua_rawget(L, table);
}

/* Pushes the metatable of the value at idx, or nil. */
static bool push_metatable(lua_State *L, int idx) {
  if (!lua_getmetatable(L, idx)) {
    lua_pushnil(L);
  }
  return lua_istable(L, -1);
}

/* Replaces the value at the top by that of its field, by tables only; false: nil. */
static bool step(lua_State *L, Span name) {
  for (int i = 0; i < MAX_STEPS && lua_istable(L, -1); i++) {
    raw_field(L, lua_gettop(L), name);
    if (!lua_isnil(L, -1)) {
      lua_remove(L, -2);
      return true;
    }
    lua_pop(L, 1);
    if (push_metatable(L, -1)) {
      raw_field(L, lua_gettop(L), (Span){"__index", 7});
      lua_remove(L, -2);
    }
    lua_remove(L, -2);
  }
  lua_pop(L, 1);
  lua_pushnil(L);
  return false;
}

/* Pushes the value of "ms.tile", or nil. */
static void push_chain(lua_State *L, Span chain) {
  lua_pushglobaltable(L);
  bool some = chain.len > 0, is_first = true;
  while (some) {
    const char *dot = memchr(chain.s, '.', chain.len);
    Span name = {chain.s, dot == NULL ? chain.len : (size_t)(dot - chain.s)};
    if (is_first && locals_push(L, name.s, name.len)) { /* which hides a global */
      lua_replace(L, -2);
      some = dot != NULL;
    } else {
      some = step(L, name) && dot != NULL;
    }
    is_first = false;
    chain.len -= some ? name.len + 1 : name.len;
    chain.s += some ? name.len + 1 : name.len;
  }
}

/* {====== Candidates ====== */

static bool is_identifier(Span s) {
  for (size_t i = 0; i < s.len; i++) {
    if (!is_name_char(s.s[i])) {
      return false;
    }
  }
  return s.len > 0 && !isdigit((unsigned char)s.s[0]);
}

static bool fits(const Search *q, Span name) {
  bool hidden = name.len > 0 && name.s[0] == '_' && q->word.len == 0;
  return !hidden && name.len >= q->word.len && memcmp(name.s, q->word.s, q->word.len) == 0 &&
         is_identifier(name);
}

/* The string at the top; left there. */
static void add_top(const Search *q) {
  Span name;
  name.s = lua_tolstring(q->L, -1, &name.len);
  if (fits(q, name)) {
    lua_pushvalue(q->L, -1);
    lua_pushboolean(q->L, 1);
    lua_rawset(q->L, q->found);
  }
}

/* Keys of the table at the top; left there. */
static void add_keys(const Search *q, bool functions_only) {
  lua_State *L = q->L;
  lua_pushnil(L);
  while (lua_next(L, -2) != 0) {
    bool is_wanted = !functions_only || lua_isfunction(L, -1);
    lua_pop(L, 1);
    if (is_wanted && lua_type(L, -1) == LUA_TSTRING) {
      add_top(q);
    }
  }
}

/* Texts in the list at the top; left there. */
static void add_list(const Search *q) {
  lua_Unsigned n = lua_rawlen(q->L, -1);
  for (lua_Unsigned i = 1; i <= n; i++) {
    if (lua_rawgeti(q->L, -1, (lua_Integer)i) == LUA_TSTRING) {
      add_top(q);
    }
    lua_pop(q->L, 1);
  }
}

/* What a metatable at the top says of its values; it is popped. */
static void add_described(const Search *q, bool methods) {
  static const Span list = {"__fields", 8}, table = {"__methods", 9};
  raw_field(q->L, lua_gettop(q->L), methods ? table : list);
  if (lua_istable(q->L, -1) && methods) {
    add_keys(q, true);
  } else if (lua_istable(q->L, -1)) {
    add_list(q);
  }
  lua_pop(q->L, 2);
}

/* Fields or methods of the value at the top, which is popped. */
static void add_members(const Search *q, bool methods) {
  lua_State *L = q->L;
  for (int i = 0; i < MAX_STEPS; i++) {
    if (lua_istable(L, -1)) {
      add_keys(q, methods);
    }
    if (!push_metatable(L, -1)) {
      lua_pop(L, 1);
      break;
    }
    lua_pushvalue(L, -1);
    add_described(q, methods);
    raw_field(L, lua_gettop(L), (Span){"__index", 7});
    lua_remove(L, -2);
    lua_remove(L, -2); /* stack: __index */
    if (!lua_istable(L, -1)) {
      break;
    }
  }
  lua_pop(L, 1);
}

static const char *const keywords[] = {"and",   "break", "do",       "else", "elseif", "end",
                                       "false", "for",   "function", "goto", "if",     "in",
                                       "local", "nil",   "not",      "or",   "repeat", "return",
                                       "then",  "true",  "until",    "while"};

static void add_names(const Search *q) {
  for (size_t i = 0; i < CT_ARRAY_LEN(keywords); i++) {
    lua_pushstring(q->L, keywords[i]);
    add_top(q);
    lua_pop(q->L, 1);
  }
  locals_push_names(q->L);
  add_keys(q, false);
  lua_pop(q->L, 1);
  lua_pushglobaltable(q->L);
  add_members(q, false);
}

static void add_language(const Search *q) {
  state_push_language(q->L);
  add_keys(q, false);
  lua_pop(q->L, 1);
}

/* {====== Modes ====== */

/* The modes of the value at the top, if it is a layout; it is popped. Its names() is ours. */
static void add_modes(const Search *q) {
  lua_State *L = q->L;
  if (luaL_testudata(L, -1, LAYOUT_TYPE) != NULL && push_metatable(L, -1)) {
    raw_field(L, lua_gettop(L), (Span){"__methods", 9});
    lua_remove(L, -2);
    if (step(L, (Span){"names", 5}) && lua_iscfunction(L, -1)) {
      lua_pushvalue(L, -2);
      if (lua_pcall(L, 1, 1, 0) == LUA_OK && lua_istable(L, -1)) {
        add_list(q);
      }
    }
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

static void add_modes_of(const Search *q, Span chain) {
  push_chain(q->L, chain);
  add_modes(q);
}

/* In a text argument: `size(A, "`, `A:size("`, `A:size "`. `code`: what stands before the quote. */
static void add_argument_modes(const Search *q, Span code) {
  Span arguments = {code.s + code.len, 0};
  Span head = up_to_open(code);
  if (head.len > 0) {
    arguments = (Span){head.s + head.len, code.len - head.len};
    head.len--;
  } else {
    head = code;
  }
  Span name = last_word(trim(head));
  Span object = before(head, name);
  if (last_char(object) == ':') {
    object.len--;
    add_modes_of(q, last_chain(object));
  }
  while (arguments.len > 0) {
    const char *comma = memchr(arguments.s, ',', arguments.len);
    size_t len = comma == NULL ? arguments.len : (size_t)(comma - arguments.s);
    Span argument = trim((Span){arguments.s, len});
    if (last_chain(argument).len == argument.len) {
      add_modes_of(q, argument);
    }
    len += comma != NULL;
    arguments = (Span){arguments.s + len, arguments.len - len};
  }
}

/* {====== What is asked for ====== */

/* The function whose first argument `code` ends in front of: of `help` and of `help(` it is help. */
static Span called(Span code) {
  code = trim(code);
  if (last_char(code) == '(') {
    code.len--;
    code = trim(code);
  }
  return last_chain(code);
}

static bool asks_help(Span code) { return is_text(called(code), "help"); }

static bool asks_atom(Span code) {
  Span name = called(code);
  return is_text(name, "atom") || is_text(name, "tiled_mma");
}

static bool add_atom(void *ud, const CtAtom *atom) {
  const Search *q = ud;
  lua_pushlstring(q->L, atom->name, strcspn(atom->name, "<"));
  add_top(q);
  lua_pop(q->L, 1);
  return true;
}

/* Names of atoms, those with types up to the types: UniversalCopy<u32> is a word and more. */
static void add_atoms(const Search *q) { (void)ct_atom_each(add_atom, (void *)q); }

static bool asks_file(Span code) {
  static const char *const readers[] = {"load_npy", "dofile", "loadfile"};
  Span name = called(code);
  for (size_t i = 0; i < CT_ARRAY_LEN(readers); i++) {
    if (is_text(name, readers[i])) {
      return true;
    }
  }
  return false;
}

/* The word with what it lacks: readline replaces no more than the word, as "." and "/" end words. */
static void add_file(void *ud, const char *rest, bool is_folder) {
  const Search *q = ud;
  lua_pushlstring(q->L, q->word.s, q->word.len);
  lua_pushfstring(q->L, "%s%s", rest, is_folder ? "/" : "");
  lua_concat(q->L, 2);
  lua_pushboolean(q->L, 1);
  lua_rawset(q->L, q->found);
}

/* `quote`: where the text with the path begins. */
static void add_in_string(Search *q, size_t quote) {
  Span code = {q->line.s, quote};
  if (asks_help(code)) {
    add_language(q);
  } else if (asks_atom(code)) {
    add_atoms(q);
  } else if (asks_file(code)) {
    files_each(q->line.s + quote + 1, q->line.len - quote - 1, add_file, q);
  } else {
    add_argument_modes(q, code);
  }
}

/* The text in front of the argument that s ends in: of `x = L"(4,8)"` and of `x = L("(4,8)")` it is
   `x = L`. */
static Span before_argument(Span s) {
  char close = last_char(s);
  if (s.len == 0 || strchr(")\"'", close) == NULL) {
    return (Span){s.s, 0};
  }
  Span inner = {s.s, s.len - 1};
  if (close == ')') {
    inner = up_to_open(inner);
  } else {
    while (inner.len > 0 && last_char(inner) != close) {
      inner.len--;
    }
  }
  inner.len -= inner.len > 0;
  return trim(inner);
}

/* Whether s ends in a call of a function that makes a layout. */
static bool makes_layout(Span s) {
  static const char *const makers[] = {"L", "layout", "row_major", "col_major", "ordered"};
  Span name = last_chain(before_argument(trim(s)));
  for (size_t i = 0; i < CT_ARRAY_LEN(makers); i++) {
    if (is_text(name, makers[i])) {
      return true;
    }
  }
  return false;
}

/* Behind `x.` or `x:`, with the value as it stands in the line. */
static void add_members_of(const Search *q, Span value, bool methods) {
  Span chain = last_chain(value);
  if (chain.len == 0 && makes_layout(value)) {
    luaL_getmetatable(q->L, LAYOUT_TYPE);
    add_described(q, methods);
  } else if (chain.len > 0) {
    push_chain(q->L, chain);
    add_members(q, methods);
  }
}

static void add_in_code(const Search *q, Span code) {
  char mark = last_char(code);
  Span rest = {code.s, code.len == 0 ? 0 : code.len - 1};
  if (mark == ':' || (mark == '.' && last_char(rest) != '.')) {
    add_members_of(q, rest, mark == ':');
  } else if (asks_help(code) && last_char(trim(code)) == '(') {
    add_language(q);
  } else {
    add_names(q);
  }
}

static void add_all(Search *q) {
  size_t quote = 0;
  Place place = find_place(q->line, &quote);
  q->word = last_word(q->line);
  if (place == IN_CODE) {
    add_in_code(q, before(q->line, q->word));
  } else if (place == IN_STRING) {
    add_in_string(q, quote);
  }
}

/* Light userdata: Search. Returns the list of candidates. */
static int search(lua_State *L) {
  Search *q = lua_touserdata(L, 1);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  lua_newtable(L);
  q->found = lua_gettop(L);
  add_all(q);
  lua_newtable(L); /* stack: search, set, list */
  lua_pushnil(L);
  for (lua_Integer n = 1; lua_next(L, q->found) != 0; n++) {
    lua_pop(L, 1);
    lua_pushvalue(L, -1);
    lua_rawseti(L, -3, n);
  }
  return 1;
}

/* {====== As readline takes them ====== */

static int compare(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_list(char **list) {
  for (char **p = list + 1; *p != NULL; p++) {
    free(*p);
  }
  free(list[0]);
  free(list);
}

/* Sorts the candidates after list[0], which becomes their common beginning. */
static bool add_common(char **list, size_t n) {
  size_t len = 0;
  qsort(list + 1, n, sizeof *list, compare);
  const char *first = list[1], *last = list[n];
  while (first[len] != '\0' && first[len] == last[len]) {
    len++;
  }
  list[0] = strndup(first, len);
  return list[0] != NULL;
}

/* Makes them of the list of texts at the top. */
static char **to_candidates(lua_State *L) {
  size_t n = (size_t)lua_rawlen(L, -1);
  char **list = n == 0 ? NULL : calloc(n + 2, sizeof *list);
  bool ok = list != NULL;
  for (size_t i = 1; i <= n && ok; i++) {
    lua_rawgeti(L, -1, (lua_Integer)i);
    list[i] = strdup(lua_tostring(L, -1));
    ok = list[i] != NULL;
    lua_pop(L, 1);
  }
  if (list != NULL && (!ok || !add_common(list, n))) {
    free_list(list);
    list = NULL;
  }
  return list;
}

char **complete_line(lua_State *L, const char *line, size_t cursor) {
  Search q = {.L = L, .line = {line, cursor}};
  char **list = NULL;
  if (!lua_checkstack(L, LUA_MINSTACK)) {
    return NULL;
  }
  bool collects = lua_gc(L, LUA_GCISRUNNING) != 0; /* a finalizer would be a script that runs */
  lua_gc(L, LUA_GCSTOP);
  lua_pushcfunction(L, search);
  lua_pushlightuserdata(L, &q);
  if (lua_pcall(L, 1, 1, 0) == LUA_OK) {
    list = to_candidates(L);
  }
  lua_pop(L, 1);
  if (collects) {
    lua_gc(L, LUA_GCRESTART);
  }
  return list;
}
