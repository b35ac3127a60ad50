/* source_load.c: loads chunks and keeps their texts, in a table of the registry: chunk name -> list of texts, newest
   first; at 0 the function that Lua made of the first, if src_load did. Texts that were not loaded but are only shown
   have a table of their own: chunk as messages say it -> text. */
#include "source_load.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "diag.h"
#include "state.h"

#define TEXTS_KEY "cuttle.texts"
#define SHOWN_KEY "cuttle.texts.shown"

enum { MAX_TEXTS = 16 }; /* kept of one chunk name */

/* {====== Texts ====== */

/* The list at the top gets the text below it as its first. */
static void prepend(lua_State *L) {
  lua_Integer n = luaL_len(L, -1);
  for (lua_Integer i = n < MAX_TEXTS ? n : MAX_TEXTS - 1; i > 0; i--) {
    lua_rawgeti(L, -1, i);
    lua_rawseti(L, -2, i + 1);
  }
  lua_pushvalue(L, -2);
  lua_rawseti(L, -2, 1);
}

static bool is_first(lua_State *L) { /* the text below the list at the top is its first */
  lua_rawgeti(L, -1, 1);
  bool same = lua_rawequal(L, -1, -3);
  lua_pop(L, 1);
  return same;
}

/* Launches that begin before those before them have ended are there only where a text names what they wait by.
   `check` follows memory from launch to launch for them alone [-0, +0, -]. */
static void expect_dependent(lua_State *L, const char *text) {
  CuttleState *s = state_of(L); /* NULL: of no interpreter of ours */
  if (s != NULL && strstr(text, "grid_dependency_wait") != NULL) {
    s->may_overlap = true;
  }
}

/* Keeps `text` as source of chunks called `chunkname`, and the function at `main` that Lua made of it; 0: nobody will
   ask for that. The latest few texts of a name are kept; one that is its own name need not be, nor a file that will
   not change [-0, +0, m]. */
static void remember(lua_State *L, const char *chunkname, const char *text, size_t len, int main) {
  expect_dependent(L, text);
  if (strlen(chunkname) == len && memcmp(chunkname, text, len) == 0) {
    return; /* its own name */
  }
  luaL_checkstack(L, 6, NULL);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, TEXTS_KEY);
  lua_pushlstring(L, text, len); /* stack: texts, text */
  if (lua_getfield(L, -2, chunkname) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_setfield(L, -4, chunkname);
  } /* stack: texts, text, list */
  if (!is_first(L)) {
    prepend(L);
  }
  if (main != 0) {
    lua_pushvalue(L, main);
  } else {
    lua_pushnil(L);
  }
  lua_rawseti(L, -2, 0);
  lua_pop(L, 3);
}

bool src_push_text(lua_State *L, const char *chunk) {
  luaL_checkstack(L, 6, NULL);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, TEXTS_KEY);
  for (int i = 0; i < 2; i++) { /* stack: texts */
    lua_pushfstring(L, "%c%s", "@="[i], chunk);
    if (lua_gettable(L, -2) == LUA_TTABLE && lua_rawgeti(L, -1, 1) == LUA_TSTRING) {
      lua_replace(L, -3);
      lua_pop(L, 1);
      return true;
    }
    lua_settop(L, lua_gettop(L) - 1);
  }
  lua_pop(L, 1);
  return false;
}

bool src_push_texts(lua_State *L, const char *chunkname, size_t len) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, TEXTS_KEY);
  lua_pushlstring(L, chunkname, len);
  bool has = lua_rawget(L, -2) == LUA_TTABLE;
  lua_remove(L, -2);
  lua_pop(L, has ? 0 : 1);
  return has;
}

bool src_push_main(lua_State *L, const char *chunkname, size_t len, int text) {
  text = lua_absindex(L, text);
  int top = lua_gettop(L);
  if (src_push_texts(L, chunkname, len)) {
    lua_rawgeti(L, -1, 1);
    if (lua_rawequal(L, -1, text) && lua_rawgeti(L, -2, 0) == LUA_TFUNCTION) {
      lua_replace(L, top + 1);
      lua_settop(L, top + 1);
      return true;
    }
  }
  lua_settop(L, top);
  return false;
}

void src_show(lua_State *L, const char *chunk, const char *text, size_t len) {
  luaL_checkstack(L, 4, NULL);
  expect_dependent(L, text);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, SHOWN_KEY);
  lua_pushlstring(L, text, len);
  lua_setfield(L, -2, chunk);
  lua_pop(L, 1);
}

bool src_push_shown(lua_State *L, const char *chunk) {
  if (src_push_text(L, chunk)) {
    return true;
  }
  luaL_checkstack(L, 2, NULL);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, SHOWN_KEY);
  bool has = lua_getfield(L, -1, chunk) == LUA_TSTRING;
  lua_remove(L, -2);
  lua_pop(L, has ? 0 : 1);
  return has;
}

/* {====== Files ====== */

/* Takes from the text at the top what luaL_loadfilex skips: a first line that begins with '#', and a
   byte order mark, are no Lua. */
static void skip_comment(lua_State *L) {
  size_t len;
  const char *text = lua_tolstring(L, -1, &len);
  size_t n = len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
  if (n < len && text[n] == '#') {
    const char *end = memchr(text + n, '\n', len - n);
    n = end == NULL ? len : (size_t)(end - text);
  }
  if (n > 0) {
    lua_pushlstring(L, text + n, len - n);
    lua_remove(L, -2);
  }
}

/* Reads `file` to its end and pushes the text; false when that fails. */
static bool push_stream(lua_State *L, FILE *file) {
  luaL_Buffer b;
  size_t n;
  luaL_buffinit(L, &b);
  do {
    n = fread(luaL_prepbuffer(&b), 1, LUAL_BUFFERSIZE, file);
    luaL_addsize(&b, n);
  } while (n == LUAL_BUFFERSIZE);
  luaL_pushresult(&b);
  return ferror(file) == 0;
}

static int push_file_protected(lua_State *L) { /* light userdata: FILE */
  FILE *file = lua_touserdata(L, 1);
  lua_pushboolean(L, push_stream(L, file));
  return 2;
}

/* The bytes of the file; false, and nothing is pushed, if it cannot be read [-0, +0..1, m]. */
static bool push_bytes(lua_State *L, const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    return false;
  }
  lua_pushcfunction(L, push_file_protected);
  lua_pushlightuserdata(L, file);
  int status = lua_pcall(L, 1, 2, 0);
  fclose(file);
  if (status != LUA_OK) {
    lua_error(L);
  }
  bool passed = lua_toboolean(L, -1);
  lua_pop(L, passed ? 1 : 2);
  return passed;
}

bool src_push_file(lua_State *L, const char *path) {
  bool passed = push_bytes(L, path);
  if (passed) {
    skip_comment(L);
  }
  return passed;
}

/* {====== Loading ====== */

static bool is_text(const char *text, size_t len) {
  return len == 0 || text[0] != LUA_SIGNATURE[0];
}

/* Looks for assignments to names of the language in the text of the function at idx. */
static void check_text(lua_State *L, int idx, const char *text, size_t len) {
  lua_Debug ar;
  lua_pushvalue(L, idx);
  lua_getinfo(L, ">S", &ar);
  if (!diag_is_stdlib(ar.source)) {
    overwrite_check(L, ar.short_src, text, len);
  }
}

/* Is the text all that there is? At a prompt, and of a host that has one, more may follow. */
static bool is_whole(const char *chunkname) {
  static const char line[] = "=(command line";
  return chunkname[0] == '@' || strcmp(chunkname, "=stdin") == 0 ||
         strncmp(chunkname, line, sizeof line - 1) == 0;
}

int src_load(lua_State *L, const char *text, size_t len, const char *chunkname, const char *mode) {
  int status = luaL_loadbufferx(L, text, len, chunkname, mode);
  if (status == LUA_OK && is_text(text, len)) {
    remember(L, chunkname, text, len, lua_gettop(L));
    check_text(L, -1, text, len);
  }
  if (status == LUA_ERRSYNTAX) {
    diag_guess_syntax(L, text, len, is_whole(chunkname));
  }
  return status;
}

int src_load_known(lua_State *L, const char *text, size_t len, const char *chunkname,
                   const char *binary, size_t n) {
  int status = luaL_loadbufferx(L, binary, n, chunkname, "b");
  if (status == LUA_OK) {
    remember(L, chunkname, text, len, lua_gettop(L));
  }
  return status;
}

int src_load_file(lua_State *L, const char *path, const char *mode) {
  size_t len;
  if (path == NULL) {
    push_stream(L, stdin);
    skip_comment(L);
  } else if (!src_push_file(L, path)) {
    return luaL_loadfilex(L, path, mode); /* says what is wrong with the file */
  }
  const char *text = lua_tolstring(L, -1, &len);
  if (path == NULL) {
    lua_pushliteral(L, "=stdin");
  } else {
    lua_pushfstring(L, "@%s", path);
  } /* stack: text, name */
  int status = src_load(L, text, len, lua_tostring(L, -1), mode);
  lua_replace(L, -3);
  lua_pop(L, 1);
  return status;
}

/* The whole text that a reader function gives, piece by piece. */
static int read_pieces(lua_State *L) {
  luaL_Buffer b;
  CuttleState *s = state_of(L); /* NULL: only the loaders are there, as in tests */
  luaL_buffinit(L, &b);
  for (;;) {
    if (s != NULL) {
      state_charge(L, s, 1);
    }
    lua_pushvalue(L, 1);
    lua_call(L, 0, 1);
    size_t len;
    if (lua_isnil(L, -1) || (lua_tolstring(L, -1, &len) != NULL && len == 0)) {
      lua_pop(L, 1);
      break;
    }
    if (!lua_isstring(L, -1)) {
      luaL_error(L, "reader function must return a string");
    }
    luaL_addvalue(&b);
  }
  luaL_pushresult(&b);
  return 1;
}

/* Replaces the reader function that is argument 1 by its text, and a missing name by Lua's own. On
   failure there is a message at the top. */
static bool read_argument(lua_State *L) {
  lua_settop(L, lua_gettop(L) < 2 ? 2 : lua_gettop(L));
  if (lua_isnil(L, 2)) {
    lua_pushliteral(L, "=(load)");
    lua_replace(L, 2);
  }
  lua_pushcfunction(L, read_pieces);
  lua_pushvalue(L, 1);
  if (lua_pcall(L, 1, 1, 0) != LUA_OK) {
    return false;
  }
  lua_replace(L, 1);
  return true;
}

/* Are the results from idx on a nil and a message, the last one? */
static bool has_failed(lua_State *L, int idx) {
  return lua_gettop(L) == idx + 1 && lua_isnil(L, idx) && lua_type(L, idx + 1) == LUA_TSTRING;
}

/* Calls Lua's own function, upvalue 1, with the arguments, which stay below its results; returns how many they are. */
static int call_own(lua_State *L) {
  int n = lua_gettop(L);
  lua_pushvalue(L, lua_upvalueindex(1));
  for (int i = 1; i <= n; i++) {
    lua_pushvalue(L, i);
  }
  lua_call(L, n, LUA_MULTRET);
  return n;
}

/* load(chunk, chunkname, mode, env). Upvalue 1: Lua's own. */
static int load(lua_State *L) {
  size_t len;
  if (lua_isfunction(L, 1) && !read_argument(L)) {
    luaL_pushfail(L);
    lua_insert(L, -2);
    return 2;
  }
  int n = call_own(L);
  const char *text = lua_type(L, 1) == LUA_TSTRING ? lua_tolstring(L, 1, &len) : NULL;
  if (text != NULL && is_text(text, len) && lua_isfunction(L, n + 1)) {
    if (n >= 2 && lua_isstring(L, 2)) {
      remember(L, lua_tostring(L, 2), text, len, 0);
    }
    if (n < 4) { /* its globals are the globals */
      check_text(L, n + 1, text, len);
    }
  }
  if (text != NULL && has_failed(L, n + 1)) {
    diag_guess_syntax(L, text, len, false);
  }
  return lua_gettop(L) - n;
}

/* Remembers the text of the file `path`, if it can be read and is text. `has_globals`: its globals
   are the globals. */
static void remember_file(lua_State *L, const char *path, bool has_globals) {
  size_t len;
  if (!src_push_file(L, path)) {
    return;
  }
  const char *text = lua_tolstring(L, -1, &len);
  if (is_text(text, len)) {
    lua_pushfstring(L, "@%s", path);
    remember(L, lua_tostring(L, -1), text, len, 0);
    lua_pop(L, 1);
    if (has_globals) {
      overwrite_check(L, path, text, len);
    }
  }
  lua_pop(L, 1);
}

/* loadfile(path, ...) and dofile(path, ...). Upvalue 1: Lua's own. */
static int with_file(lua_State *L) {
  if (lua_type(L, 1) == LUA_TSTRING) {
    remember_file(L, lua_tostring(L, 1), lua_gettop(L) < 3);
  }
  int n = call_own(L);
  if (lua_type(L, 1) == LUA_TSTRING && has_failed(L, n + 1) &&
      src_push_file(L, lua_tostring(L, 1))) {
    size_t len;
    const char *text = lua_tolstring(L, -1, &len);
    lua_insert(L, 1); /* below the results: it is read while the message is the top */
    diag_guess_syntax(L, text, len, true);
    lua_remove(L, 1);
  }
  return lua_gettop(L) - n;
}

/* The searcher of require for Lua files: returns a loader and its path. Upvalue 1: Lua's own. */
static int search(lua_State *L) {
  lua_settop(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, 1, LUA_MULTRET);
  if (lua_isfunction(L, 1) && lua_type(L, 2) == LUA_TSTRING) {
    remember_file(L, lua_tostring(L, 2), true);
  }
  return lua_gettop(L);
}

/* Puts `wrap` around the global function `name`. */
static void wrap_global(lua_State *L, const char *name, lua_CFunction wrap) {
  if (lua_getglobal(L, name) == LUA_TFUNCTION) {
    lua_pushcclosure(L, wrap, 1);
    lua_setglobal(L, name);
  } else {
    lua_pop(L, 1);
  }
}

void src_wrap_loaders(lua_State *L) {
  int top = lua_gettop(L);
  wrap_global(L, "load", load);
  wrap_global(L, "loadfile", with_file);
  wrap_global(L, "dofile", with_file);
  if (lua_getglobal(L, "package") == LUA_TTABLE && lua_getfield(L, -1, "searchers") == LUA_TTABLE &&
      lua_rawgeti(L, -1, 2) == LUA_TFUNCTION) {
    lua_pushcclosure(L, search, 1);
    lua_rawseti(L, -2, 2);
  }
  lua_settop(L, top);
}
