/* source.c: finds the text of a function and converts it. Three tables in the registry:
     sources    text -> Source, weakly: its parse, its bytecode, its wrappers
     converted  function -> twin, with weak keys; one table for kernels, one for helpers
     runtime    the table of runtime functions
     globals    function -> names of globals that it reads, with weak keys
   The proof that a text is what runs: the function's bytecode, stripped of debug information but
   with its lines, is that of a function in the bytecode of the text (bytecode.c). */
#include "source.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "interp/state/diag.h"
#include "interp/state/source_load.h"
#include "interp/state/state.h"

#define SOURCE_TYPE "cuttle.source"

enum {
  TEXT_VALUE = 1, /* user values of a Source: its text */
  NAME_VALUE,     /* the name it is shown by */
  DUMP_VALUE,     /* its stripped bytecode */
  WRAPPERS_VALUE, /* 2 * function + kind -> {wrapper chunk, its arguments...} */
  N_VALUES = WRAPPERS_VALUE
};

typedef struct Source {
  RwChunk *chunk; /* NULL when the text does not parse */
  CtText out;     /* scratch: lives here, so that an error of Lua does not leak it */
  RwInfo info;    /* scratch */
} Source;

static const char sources_key, runtime_key, globals_key; /* their addresses are the keys */
static const char converted_keys[2];                     /* by RwKind */

static void *key(const char *k) { return (void *)(uintptr_t)k; }

static CtAlloc alloc_of(lua_State *L) { /* lua_Alloc and CtAlloc have one form */
  CtAlloc a;
  a.fn = lua_getallocf(L, &a.ud);
  return a;
}

/* Pushes the registry's table under `k`, made with `mode` as __mode if new. */
static void push_table(lua_State *L, const char *k, const char *mode) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, key(k)) == LUA_TTABLE) {
    return;
  }
  lua_pop(L, 1);
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushstring(L, mode);
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, key(k));
}

/* {====== Bytecode ====== */

static int write_dump(lua_State *L, const void *p, size_t bytes, void *ud) {
  (void)L;
  ct_text_add(ud, p, bytes);
  return 0;
}

/* Pushes the stripped bytecode of the function at idx. `work`: text to write to. */
static void push_dump(lua_State *L, int idx, CtText *work) {
  ct_text_clear(work);
  lua_pushvalue(L, idx);
  lua_dump(L, write_dump, work, 1);
  if (work->failed) {
    luaL_error(L, "not enough memory");
  }
  lua_pop(L, 1);
  lua_pushlstring(L, ct_text_str(work), work->len);
  ct_text_clear(work);
}

/* How often the function of one dump stands in another. */
static int matches(lua_State *L, int all, int part) {
  size_t all_len, part_len;
  const char *a = lua_tolstring(L, all, &all_len);
  const char *p = lua_tolstring(L, part, &part_len);
  return bytecode_count(a, all_len, p, part_len);
}

/* {====== Sources ====== */

static int source_gc(lua_State *L) {
  Source *s = lua_touserdata(L, 1);
  rw_free(s->chunk);
  s->chunk = NULL;
  ct_text_clear(&s->out);
  rw_info_clear(&s->info);
  return 0;
}

/* Pushes what Lua makes of the text at the top, or a message. */
static int push_main(lua_State *L, const lua_Debug *ar) {
  size_t len;
  const char *text = lua_tolstring(L, -1, &len);
  return src_push_main(L, ar->source, ar->srclen, -1) ? LUA_OK
                                                      : luaL_loadbufferx(L, text, len, "=", "t");
}

/* Gives the Source at the top its parse and bytecode, from its text. A text without memory for it is
   not taken for one that has no parse, which would be remembered. */
static void read_text(lua_State *L, Source *s, const lua_Debug *ar) {
  size_t len;
  lua_getiuservalue(L, -1, TEXT_VALUE);
  const char *text = lua_tolstring(L, -1, &len);
  const char *name = lua_pushstring(L, ar->short_src);
  lua_setiuservalue(L, -3, NAME_VALUE);
  int loaded = push_main(L, ar);
  CtStatus parsed =
      loaded == LUA_OK ? rw_parse(alloc_of(L), text, len, name, &s->chunk, NULL) : CT_EINVAL;
  if (loaded == LUA_ERRMEM || parsed == CT_ENOMEM) {
    luaL_error(L, "not enough memory");
  } else if (loaded != LUA_OK || parsed != CT_OK) {
    lua_pop(L, 2);
    return;
  }
  push_dump(L, -1, &s->out);
  lua_setiuservalue(L, -4, DUMP_VALUE);
  lua_newtable(L);
  lua_setiuservalue(L, -4, WRAPPERS_VALUE);
  lua_pop(L, 2);
}

static Source *push_empty_source(lua_State *L) {
  Source *s = lua_newuserdatauv(L, sizeof *s, N_VALUES);
  *s = (Source){0};
  ct_text_init(&s->out, alloc_of(L));
  ct_arena_init(&s->info.arena, alloc_of(L));
  luaL_setmetatable(L, SOURCE_TYPE);
  return s;
}

/* Pushes the Source under the key at the top, which stays below, of the table below that; or nil. */
static bool push_known(lua_State *L) {
  lua_pushvalue(L, -1);
  return lua_rawget(L, -3) == LUA_TUSERDATA;
}

static bool is_shown_as(lua_State *L, const char *shown) { /* the Source at the top */
  lua_getiuservalue(L, -1, NAME_VALUE);
  bool same = strcmp(lua_tostring(L, -1), shown) == 0;
  lua_pop(L, 1);
  return same;
}

/* Pushes the Source of the text at the top, which stays below. A text that was loaded under a second
   name is there a second time, under a key of both. */
static void push_source(lua_State *L, const lua_Debug *ar) {
  const char *shown = ar->short_src;
  push_table(L, &sources_key, "v");
  lua_pushvalue(L, -2); /* stack: text, sources, key */
  bool known = push_known(L);
  if (known && !is_shown_as(L, shown)) {
    lua_pop(L, 2);
    lua_pushfstring(L, "%s\n", shown);
    lua_pushvalue(L, -3);
    lua_concat(L, 2);
    known = push_known(L);
  }
  if (!known) {
    lua_pop(L, 1); /* stack: text, sources, key */
    Source *s = push_empty_source(L);
    lua_pushvalue(L, -4);
    lua_setiuservalue(L, -2, TEXT_VALUE);
    read_text(L, s, ar);
    lua_pushvalue(L, -2);
    lua_pushvalue(L, -2);
    lua_rawset(L, -5);
  }
  lua_replace(L, -3);
  lua_pop(L, 1);
}

/* {====== Several functions on one line ====== */

/* How often the function dumped at `dump` occurs in the text of source `s` (at index src) with a
   statement put into its function number fn; the number without it when that does not compile. */
static int matches_with_marker(lua_State *L, int src, const Source *s, size_t fn, int dump,
                               int unmarked) {
  static const char marker[] = " do local _ = 0 end ";
  size_t len, at = rw_function(s->chunk, fn)->body;
  int top = lua_gettop(L);
  luaL_Buffer b;
  lua_getiuservalue(L, src, TEXT_VALUE);
  const char *text = lua_tolstring(L, -1, &len);
  luaL_buffinit(L, &b);
  luaL_addlstring(&b, text, at);
  luaL_addlstring(&b, marker, sizeof marker - 1);
  luaL_addlstring(&b, text + at, len - at);
  luaL_pushresult(&b);
  const char *marked = lua_tolstring(L, -1, &len);
  int n = unmarked;
  if (luaL_loadbufferx(L, marked, len, "=", "t") == LUA_OK) {
    push_dump(L, -1, &((Source *)lua_touserdata(L, src))->out);
    n = matches(L, -1, dump);
  }
  lua_settop(L, top);
  return n;
}

typedef struct NameCount {
  lua_State *L;
  int f; /* the function whose upvalues are looked for */
  int n_found, n_all;
} NameCount;

int src_find_upvalue(lua_State *L, int fn, const char *name) {
  const char *s;
  for (int i = 1; (s = lua_getupvalue(L, fn, i)) != NULL; i++) {
    lua_pop(L, 1);
    if (strcmp(s, name) == 0) {
      return i;
    }
  }
  return 0;
}

static void count_name(void *ud, const char *name) {
  NameCount *c = ud;
  c->n_all++;
  c->n_found += src_find_upvalue(c->L, c->f, name) > 0;
}

/* Whether function number fn of the text has upvalues of the same names as the function at f. */
static bool has_upvalues_of(lua_State *L, int f, const Source *s, size_t fn) {
  NameCount c = {.L = L, .f = f};
  int n = 0;
  while (lua_getupvalue(L, f, n + 1) != NULL) {
    lua_pop(L, 1);
    n++;
  }
  rw_function_upvalues(s->chunk, fn, count_name, &c);
  return c.n_all == n && c.n_found == n;
}

/* The number of the function at f among those with its lines, which are several. Which one it is
   shows in what a statement more in one of them does to the bytecode; identical ones are told apart
   by the names of their upvalues, and if these agree too, any will do. */
static size_t choose(lua_State *L, int src, const Source *s, int f, int dump, size_t first,
                     const lua_Debug *ar) {
  size_t n = rw_function_count(s->chunk), best = n;
  lua_getiuservalue(L, src, DUMP_VALUE);
  int unmarked = matches(L, -1, dump);
  lua_pop(L, 1);
  for (size_t fn = first; fn < n;
       fn = rw_function_find(s->chunk, fn + 1, ar->linedefined, ar->lastlinedefined)) {
    if (matches_with_marker(L, src, s, fn, dump, unmarked) < unmarked) {
      if (has_upvalues_of(L, f, s, fn)) {
        return fn;
      }
      best = best == n ? fn : best;
    }
  }
  return best == n ? first : best;
}

/* {====== Finding a function in a text ====== */

/* Whether the function at f, dumped at `dump`, is in the Source at the top; if so its number. */
static bool is_in_source(lua_State *L, int f, int dump, const lua_Debug *ar, size_t *fn) {
  int src = lua_gettop(L);
  const Source *s = lua_touserdata(L, src);
  if (s->chunk == NULL) {
    return false;
  }
  int last = ar->linedefined == 0 ? 0 : ar->lastlinedefined;
  *fn = rw_function_find(s->chunk, 0, ar->linedefined, last);
  if (*fn == rw_function_count(s->chunk)) {
    return false;
  }
  lua_getiuservalue(L, src, DUMP_VALUE);
  bool found = matches(L, -1, dump) > 0;
  lua_pop(L, 1);
  if (found &&
      rw_function_find(s->chunk, *fn + 1, ar->linedefined, last) < rw_function_count(s->chunk)) {
    *fn = choose(L, src, s, f, dump, *fn, ar);
  }
  return found;
}

/* Tries the text at the top, which it replaces by its Source if the function is in it, else pops.
   */
static bool try_text(lua_State *L, int f, int dump, const lua_Debug *ar, size_t *fn) {
  push_source(L, ar);
  if (is_in_source(L, f, dump, ar, fn)) {
    lua_remove(L, -2);
    return true;
  }
  lua_pop(L, 2);
  return false;
}

static bool try_remembered(lua_State *L, int f, int dump, const lua_Debug *ar, size_t *fn,
                           bool *any) {
  if (!src_push_texts(L, ar->source, ar->srclen)) {
    return false;
  } /* stack: list */
  for (lua_Integer i = 1; lua_rawgeti(L, -1, i) == LUA_TSTRING; i++) {
    *any = true;
    if (try_text(L, f, dump, ar, fn)) {
      lua_remove(L, -2);
      return true;
    }
  }
  lua_pop(L, 2);
  return false;
}

static bool try_file(lua_State *L, int f, int dump, const lua_Debug *ar, size_t *fn, bool *any) {
  const CuttleState *s = state_of(L);
  bool has_files =
      s == NULL || s->options.sandbox == 0; /* a script may call its chunk as it likes */
  if (!has_files || ar->source[0] != '@' || !src_push_file(L, ar->source + 1)) {
    return false;
  }
  *any = true;
  return try_text(L, f, dump, ar, fn);
}

static bool try_name(lua_State *L, int f, int dump, const lua_Debug *ar, size_t *fn) {
  if (ar->source[0] == '@' || ar->source[0] == '=') {
    return false;
  }
  lua_pushlstring(L, ar->source, ar->srclen);
  return try_text(L, f, dump, ar, fn);
}

/* Pushes the Source that the function at f is in, and its number; or false and a message. */
static bool push_source_of(lua_State *L, int f, const lua_Debug *ar, size_t *fn) {
  bool any = false;
  push_dump(L, f, &push_empty_source(L)->out);
  lua_remove(L, -2);
  int dump = lua_gettop(L);
  bool found = try_remembered(L, f, dump, ar, fn, &any) || try_name(L, f, dump, ar, fn) ||
               try_file(L, f, dump, ar, fn, &any);
  lua_remove(L, dump);
  if (!found && any) {
    lua_pushfstring(L,
                    "%s:%d: the source of this function has changed since it was loaded; load it "
                    "again",
                    ar->short_src, ar->linedefined);
  } else if (!found) {
    lua_pushfstring(L,
                    "cannot find the source of the function at %s:%d; load it from a file or "
                    "with load(text)",
                    ar->short_src, ar->linedefined);
  }
  return found;
}

/* {====== Converting ====== */

/* Turns Lua's complaint about a wrapper into one about the script; message at the top. */
static void explain_load_error(lua_State *L, const lua_Debug *ar) {
  static const char *const limits[] = {"too many", "overflow", "registers", "too long"};
  const char *msg = lua_tostring(L, -1);
  for (size_t i = 0; i < CT_ARRAY_LEN(limits); i++) {
    if (strstr(msg, limits[i]) != NULL) {
      lua_pushfstring(L,
                      "%s:%d: this function is nested too deeply or has too many locals to be "
                      "traced; nest less deep, or move the inner part to a helper (%s)",
                      ar->short_src, ar->linedefined, msg);
      lua_remove(L, -2);
      return;
    }
  }
}

/* Pushes the table {chunk, arguments...} for the wrapper text in s->out. */
static bool push_loaded(lua_State *L, const Source *s, const lua_Debug *ar) {
  lua_pushfstring(L, "=%s", ar->short_src);
  if (luaL_loadbufferx(L, s->out.s, s->out.len, lua_tostring(L, -1), "t") != LUA_OK) {
    lua_remove(L, -2);
    explain_load_error(L, ar);
    return false;
  }
  lua_createtable(L, (int)s->info.n_fns + 1, 0);
  lua_insert(L, -2);
  lua_rawseti(L, -2, 1); /* stack: name, wrapper */
  lua_rawgetp(L, LUA_REGISTRYINDEX, key(&runtime_key));
  if (s->info.in_table) {
    lua_rawseti(L, -2, 2);
  } else {
    for (size_t i = 0; i < s->info.n_fns; i++) {
      lua_getfield(L, -1, rw_fn_names[s->info.fns[i]]);
      lua_rawseti(L, -3, (lua_Integer)i + 2);
    }
    lua_pop(L, 1);
  }
  lua_createtable(L, (int)s->info.n_globals, 0);
  for (size_t i = 0; i < s->info.n_globals; i++) {
    lua_pushstring(L, s->info.globals[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "globals");
  lua_remove(L, -2);
  return true;
}

static void push_rw_error(lua_State *L, const CtErr *err) {
  if (err->line > 0) {
    lua_pushfstring(L, "%s:%d: %s", err->chunk, err->line, err->msg);
  } else {
    lua_pushstring(L, err->msg);
  }
}

/* Pushes the wrapper for function number fn of the Source at the top, or a message. */
static bool push_wrapper(lua_State *L, size_t fn, RwKind kind, const lua_Debug *ar) {
  CtErr err = {0};
  Source *s = lua_touserdata(L, -1);
  lua_Integer at = 2 * (lua_Integer)fn + (kind == RW_KERNEL);
  lua_getiuservalue(L, -1, WRAPPERS_VALUE);
  if (lua_rawgeti(L, -1, at) == LUA_TTABLE) {
    lua_remove(L, -2);
    return true;
  }
  lua_pop(L, 1);
  ct_text_clear(&s->out);
  rw_info_clear(&s->info);
  rw_note_reads(s->chunk, !diag_is_stdlib(ar->source));
  if (rw_rewrite(s->chunk, fn, kind, &s->out, &s->info, &err) != CT_OK) {
    ct_text_clear(&s->out);
    push_rw_error(L, &err);
    lua_remove(L, -2);
    return false;
  }
  bool loaded = push_loaded(L, s, ar);
  ct_text_clear(&s->out);
  rw_info_clear(&s->info);
  if (loaded) {
    lua_pushvalue(L, -1);
    lua_rawseti(L, -3, at);
  }
  lua_remove(L, -2);
  return loaded;
}

/* Remembers which globals the function at f reads; the wrapper at the top knows. */
static void keep_globals(lua_State *L, int f) {
  push_table(L, &globals_key, "k");
  lua_pushvalue(L, f);
  lua_getfield(L, -3, "globals");
  lua_rawset(L, -3);
  lua_pop(L, 1);
}

void src_push_globals(lua_State *L, int idx) {
  idx = lua_absindex(L, idx);
  push_table(L, &globals_key, "k");
  lua_pushvalue(L, idx);
  lua_rawget(L, -2);
  lua_remove(L, -2);
}

/* Replaces the wrapper at the top by a closure of it that shares the upvalues of the function at f.
   */
static void close_over(lua_State *L, int f) {
  int n = (int)luaL_len(L, -1), wrapper = lua_gettop(L);
  luaL_checkstack(L, n + 4, NULL);
  for (int i = 1; i <= n; i++) {
    lua_rawgeti(L, wrapper, i);
  }
  lua_call(L, n - 1, 1);
  lua_remove(L, wrapper);
  const char *name;
  for (int i = 1; (name = lua_getupvalue(L, -1, i)) != NULL; i++) {
    lua_pop(L, 1);
    int from = src_find_upvalue(L, f, name);
    if (from > 0) {
      lua_upvaluejoin(L, -1, i, f, from);
    }
  }
}

static int convert_new(lua_State *L, int f, RwKind kind) {
  lua_Debug ar;
  size_t fn;
  int top = lua_gettop(L);
  lua_pushvalue(L, f);
  lua_getinfo(L, ">S", &ar);
  bool done = push_source_of(L, f, &ar, &fn) && push_wrapper(L, fn, kind, &ar);
  if (done) {
    keep_globals(L, f);
    close_over(L, f);
  }
  lua_copy(L, -1, top + 1);
  lua_settop(L, top + 1);
  if (!done) {
    return LUA_ERRRUN;
  }
  push_table(L, &converted_keys[kind], "k");
  lua_pushvalue(L, f);
  lua_pushvalue(L, -3);
  lua_rawset(L, -3);
  lua_pop(L, 1);
  return LUA_OK;
}

int src_convert(lua_State *L, int idx, RwKind kind) {
  idx = lua_absindex(L, idx);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  if (lua_iscfunction(L, idx) || src_is_converted(L, idx)) {
    lua_pushvalue(L, idx);
    return LUA_OK;
  }
  push_table(L, &converted_keys[kind], "k");
  lua_pushvalue(L, idx);
  if (lua_rawget(L, -2) == LUA_TFUNCTION) {
    lua_remove(L, -2);
    return LUA_OK;
  }
  lua_pop(L, 2);
  return convert_new(L, idx, kind);
}

/* Every rewritten function begins with a call of the runtime's `func`: its first upvalue is that
   function, or the table it is in. */
bool src_is_converted(lua_State *L, int idx) {
  idx = lua_absindex(L, idx);
  if (!lua_isfunction(L, idx) || lua_iscfunction(L, idx) || lua_getupvalue(L, idx, 1) == NULL) {
    return false;
  }
  bool is = false;
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, key(&runtime_key)) == LUA_TTABLE) {
    is = lua_rawequal(L, -1, -2);
    lua_getfield(L, -1, rw_fn_names[RW_FUNC]);
    is = is || (!lua_isnil(L, -1) && lua_rawequal(L, -1, -3));
    lua_pop(L, 1);
  }
  lua_pop(L, 2);
  return is;
}

void src_set_runtime(lua_State *L) {
  lua_rawsetp(L, LUA_REGISTRYINDEX, key(&runtime_key));
  luaL_newmetatable(L, SOURCE_TYPE);
  lua_pushcfunction(L, source_gc);
  lua_setfield(L, -2, "__gc");
  lua_pop(L, 1);
}
