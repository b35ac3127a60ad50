/* test_rewrite.c: the parser against Lua's own, and rewritten functions against the originals. The
   checks are the Lua programs under tests/rewrite; this program gives them the rewriter:
     ok(passed, name)
     rw.accepts(text) -> boolean, message
     rw.rewrite(text, first_line, last_line, nth, is_kernel) -> wrapper, info  or  nil, message
     rw.upvalues(text, first_line, last_line, nth) -> the names that Lua gives that function
   A message begins with "<chunk>:<line>: ". */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "interp/text/rewrite.h"
#include "tap.h"

static int report(lua_State *L) {
  OK(lua_toboolean(L, 1), "%s", luaL_checkstring(L, 2));
  return 0;
}

static int push_error(lua_State *L, const CtErr *err) {
  lua_pushnil(L);
  lua_pushfstring(L, "%s:%d: %s", err->chunk, err->line, err->msg);
  return 2;
}

static int accepts(lua_State *L) {
  size_t len;
  CtErr err = {0};
  RwChunk *c = NULL;
  const char *text = luaL_checklstring(L, 1, &len);
  bool passed = rw_parse(ct_alloc_std, text, len, "test", &c, &err) == CT_OK;
  rw_free(c);
  lua_pushboolean(L, passed);
  lua_pushfstring(L, "%s:%d: %s", err.chunk, err.line, err.msg);
  return 2;
}

/* The number of the function that arguments 2 to 4 name; the count of functions if there is none.
   */
static size_t find_function(lua_State *L, const RwChunk *c) {
  lua_Integer nth = luaL_optinteger(L, 4, 1);
  int first = (int)luaL_checkinteger(L, 2), last = (int)luaL_checkinteger(L, 3);
  size_t fn = rw_function_find(c, 0, first, last);
  for (; nth > 1 && fn < rw_function_count(c); nth--) {
    fn = rw_function_find(c, fn + 1, first, last);
  }
  return fn;
}

static void push_strings(lua_State *L, const char *const *s, size_t n) {
  lua_newtable(L);
  for (size_t i = 0; i < n; i++) {
    lua_pushstring(L, s[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static void push_info(lua_State *L, const RwInfo *info) {
  lua_newtable(L);
  push_strings(L, info->upvalues, info->n_upvalues);
  lua_setfield(L, -2, "upvalues");
  push_strings(L, info->params, info->n_params);
  lua_setfield(L, -2, "params");
  push_strings(L, info->globals, info->n_globals);
  lua_setfield(L, -2, "globals");
  lua_newtable(L);
  for (size_t i = 0; i < info->n_fns; i++) {
    lua_pushstring(L, rw_fn_names[info->fns[i]]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "fns");
  lua_pushboolean(L, info->uses_env);
  lua_setfield(L, -2, "uses_env");
  lua_pushboolean(L, info->is_vararg);
  lua_setfield(L, -2, "is_vararg");
  lua_pushboolean(L, info->in_table);
  lua_setfield(L, -2, "in_table");
}

static int rewrite_found(lua_State *L, RwChunk *c) {
  CtErr err = {0};
  CtText out;
  RwInfo info;
  size_t fn = find_function(L, c);
  if (fn == rw_function_count(c)) {
    lua_pushnil(L);
    lua_pushstring(L, "no such function");
    return 2;
  }
  ct_text_init(&out, ct_alloc_std);
  rw_note_reads(c, lua_toboolean(L, 6));
  RwKind kind = lua_toboolean(L, 5) ? RW_KERNEL : RW_HELPER;
  if (rw_rewrite(c, fn, kind, &out, &info, &err) != CT_OK) {
    ct_text_clear(&out);
    return push_error(L, &err);
  }
  lua_pushlstring(L, ct_text_str(&out), out.len);
  push_info(L, &info);
  rw_info_clear(&info);
  ct_text_clear(&out);
  return 2;
}

static int rewrite(lua_State *L) {
  size_t len;
  CtErr err = {0};
  RwChunk *c;
  const char *text = luaL_checklstring(L, 1, &len);
  lua_settop(L, 6);
  if (rw_parse(ct_alloc_std, text, len, "test", &c, &err) != CT_OK) {
    return push_error(L, &err);
  }
  int n = rewrite_found(L, c);
  rw_free(c);
  return n;
}

static void add_name(void *ud, const char *name) {
  lua_State *L = ud;
  lua_pushstring(L, name);
  lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
}

static int upvalues(lua_State *L) {
  size_t len;
  CtErr err = {0};
  RwChunk *c;
  const char *text = luaL_checklstring(L, 1, &len);
  lua_settop(L, 4);
  if (rw_parse(ct_alloc_std, text, len, "test", &c, &err) != CT_OK) {
    return push_error(L, &err);
  }
  lua_newtable(L);
  rw_function_upvalues(c, find_function(L, c), add_name, L);
  rw_free(c);
  return 1;
}

/* {====== Every request for memory refused in turn ====== */

typedef struct Budget {
  int left;     /* requests that are granted */
  size_t bytes; /* in use */
} Budget;

static void *budget_alloc(void *ud, void *ptr, size_t old_bytes, size_t new_bytes) {
  Budget *b = ud;
  if (new_bytes == 0) {
    b->bytes -= old_bytes;
    free(ptr);
    return NULL;
  }
  if (b->left-- <= 0) {
    return NULL;
  }
  void *p = realloc(ptr, new_bytes);
  if (p != NULL) {
    b->bytes += new_bytes - (ptr == NULL ? 0 : old_bytes);
  }
  return p;
}

/* Parses and rewrites function 1 of the text; false when memory ran out in an orderly way. */
static CtStatus rewrite_within(Budget *b, const char *text) {
  CtAlloc alloc = {budget_alloc, b};
  RwChunk *c;
  CtText out;
  RwInfo info;
  CtStatus st = rw_parse(alloc, text, strlen(text), "test", &c, NULL);
  if (st != CT_OK) {
    return st;
  }
  ct_text_init(&out, alloc);
  rw_note_reads(c, true);
  st = rw_rewrite(c, 1, RW_KERNEL, &out, &info, NULL);
  if (st == CT_OK) {
    rw_info_clear(&info);
  }
  ct_text_clear(&out);
  rw_free(c);
  return st;
}

static void check_out_of_memory(void) {
  static const char text[] = "local W <const>, up = 'a\\\nb', 1\n"
                             "local function f(a, b, ...)\n"
                             "  local c = W if a then goto l end\n"
                             "  for i = 1, 2 do local a = i if a then break end c = a end\n"
                             "  ::l:: up = c.x[#b], function() c = up + g end\n"
                             "  while a do if b then return c end a, c.y = f(), {} end\n"
                             "end\n";
  CtStatus st = CT_ENOMEM;
  int n = 0;
  bool orderly = true;
  for (; st != CT_OK && orderly && n < 100000; n++) {
    Budget b = {.left = n};
    st = rewrite_within(&b, text);
    orderly = (st == CT_OK || st == CT_ENOMEM) && b.bytes == 0;
  }
  OK(orderly && n > 10, "each of %d requests for memory may fail, and all memory is freed", n - 1);
}

static void run(const char *script) {
  static const luaL_Reg fns[] = {
      {"accepts", accepts}, {"rewrite", rewrite}, {"upvalues", upvalues}, {NULL, NULL}};
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  luaL_newlib(L, fns);
  lua_pushinteger(L, TAP_PART); /* the scripts take this part of their random cases */
  lua_setfield(L, -2, "part");
  lua_setglobal(L, "rw");
  lua_pushcfunction(L, report);
  lua_setglobal(L, "ok");
  bool passed = luaL_dofile(L, script) == LUA_OK;
  OK(passed, "%s ran to its end", script);
  if (!passed) {
    tap_diag("%s", lua_tostring(L, -1));
  }
  lua_close(L);
}

int main(int argc, char **argv) {
  static const char *const scripts[] = {"tests/rewrite/accept.lua", "tests/rewrite/shapes.lua",
                                        "tests/rewrite/static.lua", "tests/rewrite/random.lua",
                                        "tests/rewrite/lane.lua"};
  check_out_of_memory();
  for (int i = 1; i < argc; i++) {
    run(argv[i]);
  }
  for (size_t i = 0; argc < 2 && i < sizeof scripts / sizeof scripts[0]; i++) {
    run(scripts[i]);
  }
  return done_testing();
}
