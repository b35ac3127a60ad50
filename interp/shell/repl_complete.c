/* repl_complete.c: completion. stdlib/commands/complete.lua finds the candidates; this gives it what only C reaches,
   and makes of its list what readline takes. */
#include "repl_parts.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "interp/state/state_language.h"
#include "runtime/ir/atom.h"

/* {====== What complete.lua asks for ====== */

/* metatable(x): whatever its field __metatable says. */
static int push_metatable(lua_State *L) { return lua_getmetatable(L, 1); }

static bool add_atom(void *list, const CtAtom *atom) {
  lua_State *L = list;
  lua_pushstring(L, atom->name);
  lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  return true;
}

/* atoms() -> their names. */
static int push_atoms(lua_State *L) {
  lua_newtable(L);
  (void)ct_atom_each(add_atom, L);
  return 1;
}

/* files(path) -> what the path lacks of each. */
static int push_files(lua_State *L) {
  files_push(L, luaL_checkstring(L, 1));
  return 1;
}

typedef struct Line {
  const char *s;
  size_t len;
} Line;

/* Light userdata: the line up to the cursor. Returns complete.lua's list. */
static int search(lua_State *L) {
  static const luaL_Reg host[] = {{"metatable", push_metatable},
                                  {"input", input_call},
                                  {"atoms", push_atoms},
                                  {"files", push_files},
                                  {NULL, NULL}};
  const Line *line = lua_touserdata(L, 1);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  state_push_function(L, "cuttle.complete", "candidates");
  lua_pushlstring(L, line->s, line->len);
  luaL_newlib(L, host);
  lua_call(L, 2, 1);
  return 1;
}

/* {====== As readline takes them ====== */

static void free_list(char **list) {
  for (char **p = list; *p != NULL; p++) {
    free(*p);
  }
  free(list);
}

/* Makes them of the list of texts at the top. */
static char **to_candidates(lua_State *L) {
  size_t n = (size_t)lua_rawlen(L, -1);
  char **list = n == 0 ? NULL : calloc(n + 1, sizeof *list);
  bool ok = list != NULL;
  for (size_t i = 0; i < n && ok; i++) {
    lua_rawgeti(L, -1, (lua_Integer)i + 1);
    list[i] = strdup(lua_tostring(L, -1));
    ok = list[i] != NULL;
    lua_pop(L, 1);
  }
  if (list != NULL && !ok) {
    free_list(list);
    list = NULL;
  }
  return list;
}

char **complete_line(lua_State *L, const char *line, size_t cursor) {
  Line up_to = {line, cursor};
  char **list = NULL;
  if (!lua_checkstack(L, LUA_MINSTACK)) {
    return NULL;
  }
  bool collects = lua_gc(L, LUA_GCISRUNNING) != 0; /* a finalizer would be a script that runs */
  lua_gc(L, LUA_GCSTOP);
  lua_pushcfunction(L, search);
  lua_pushlightuserdata(L, &up_to);
  if (lua_pcall(L, 1, 1, 0) == LUA_OK) {
    list = to_candidates(L);
  }
  lua_pop(L, 1);
  if (collects) {
    lua_gc(L, LUA_GCRESTART);
  }
  return list;
}
