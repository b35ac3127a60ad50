/* diag.c: errors of the core as errors of a script, and the handler of uncaught ones. */
#include "diag.h"

#include <lauxlib.h>
#include <stdarg.h>
#include <string.h>

#include "runtime/base/plural.h"
#include "state.h"

static const char traceback_key = 0; /* its address names a boolean in the registry */

bool diag_is_stdlib(const char *source) {
  return strncmp(source, DIAG_STDLIB_PREFIX, sizeof DIAG_STDLIB_PREFIX - 1) == 0;
}

bool diag_find_script(lua_State *L, lua_Debug *ar) {
  for (int level = 0; lua_getstack(L, level, ar) != 0; level++) {
    lua_getinfo(L, "S", ar);
    if (ar->what[0] == 'C' || diag_is_stdlib(ar->source)) {
      continue;
    }
    lua_getinfo(L, "l", ar); /* Lua counts it out */
    if (ar->currentline > 0) {
      return true;
    }
  }
  return false;
}

void diag_push_where(lua_State *L) {
  lua_Debug ar;
  luaL_checkstack(L, 4, NULL);
  if (diag_find_script(L, &ar)) {
    lua_pushfstring(L, "%s:%d: ", ar.short_src, ar.currentline);
  } else {
    lua_pushliteral(L, "");
  }
}

_Noreturn static void throw(lua_State * L) {
  lua_error(L);
  CT_UNREACHABLE();
}

void diag_raise(lua_State *L, const CtErr *err) {
  if (err->line > 0) {
    luaL_checkstack(L, 4, NULL);
    lua_pushfstring(L, "%s:%d: ", err->chunk, err->line);
  } else {
    diag_push_where(L);
  }
  lua_pushstring(L, err->msg);
  diag_name_operation(L);
  lua_concat(L, 2);
  throw(L);
}

CtErr *diag_err(lua_State *L) { return &state_of(L)->err; }

void diag_try(lua_State *L, CtStatus status) {
  if (status != CT_OK) {
    diag_raise(L, diag_err(L));
  }
}

/* Takes the plural from nouns after a 1 in the text at the top. */
static void agree(lua_State *L) {
  size_t n;
  const char *text = lua_tolstring(L, -1, &n);
  luaL_Buffer b;
  if (strstr(text, "1 ") == NULL || strlen(text) != n) {
    return;
  }
  char *own = luaL_buffinitsize(L, &b, n + 1);
  memcpy(own, text, n + 1);
  ct_agree(own);
  luaL_pushresultsize(&b, strlen(own));
  lua_remove(L, -2);
}

int diag_error(lua_State *L, const char *fmt, ...) {
  va_list args;
  luaL_checkstack(L, 8, NULL);
  diag_push_where(L);
  va_start(args, fmt);
  lua_pushvfstring(L, fmt, args);
  va_end(args);
  agree(L);
  diag_name_operation(L);
  lua_concat(L, 2);
  throw(L);
}

/* {====== Kinds of values ====== */

typedef struct KindRow {
  int type;
  const char *text;
} KindRow;

static const KindRow kinds[] = {{LUA_TNONE, "nothing"},        {LUA_TNIL, "nil"},
                                {LUA_TBOOLEAN, "a boolean"},   {LUA_TNUMBER, "a number"},
                                {LUA_TSTRING, "a string"},     {LUA_TTABLE, "a table"},
                                {LUA_TFUNCTION, "a function"}, {LUA_TTHREAD, "a coroutine"}};

static const char *kind_of_type(int type) {
  for (size_t i = 0; i < CT_ARRAY_LEN(kinds); i++) {
    if (kinds[i].type == type) {
      return kinds[i].text;
    }
  }
  return "a userdata";
}

const char *diag_push_kind(lua_State *L, int idx) {
  luaL_checkstack(L, 4, NULL);
  int type = lua_type(L, idx);
  bool has_name = type == LUA_TUSERDATA || type == LUA_TTABLE;
  if (has_name && luaL_getmetafield(L, idx, "__name") == LUA_TSTRING) {
    const char *name = lua_tostring(L, -1);
    const char *article = strchr("aeiou", name[0]) != NULL ? "an" : "a";
    lua_pushfstring(L, "%s %s", article, name);
    lua_remove(L, -2);
    return lua_tostring(L, -1);
  }
  return lua_pushstring(L, kind_of_type(type));
}

/* How many arguments the user has not counted: 1 of a method, as in x:f(...), whose first one is x. */
static int n_before(lua_State *L) {
  lua_Debug ar;
  return lua_getstack(L, 0, &ar) != 0 && lua_getinfo(L, "n", &ar) != 0 &&
         strcmp(ar.namewhat, "method") == 0;
}

int diag_drop_nils(lua_State *L, int least) {
  while (lua_gettop(L) > least && lua_isnil(L, -1)) {
    lua_pop(L, 1);
  }
  return lua_gettop(L);
}

void diag_check_count(lua_State *L, const char *op, int given, int n) {
  while (given > n && lua_isnil(L, given)) {
    given--;
  }
  int before = given > n && n > 0 ? n_before(L) : 0;
  if (given > n && n == before) {
    diag_error(L, "%s: %d arguments; none was expected", op, given - before);
  } else if (given > n) {
    diag_error(
        L, "%s: %d arguments; %d were expected; a call in parentheses returns only its first value",
        op, given - before, n - before);
  }
}

void diag_take_args(lua_State *L, const char *op, int n) {
  diag_check_count(L, op, lua_gettop(L), n);
  lua_settop(L, n);
}

int diag_type_error(lua_State *L, int arg, const char *op, const char *expected) {
  int counted = arg > 1 ? arg - n_before(L) : arg;
  if (lua_isnone(L, arg) || (lua_isnil(L, arg) && lua_gettop(L) == arg)) {
    return diag_error(L, "%s: argument %d is missing%s; %s was expected", op, counted,
                      lua_isnil(L, arg) ? " or nil" : "", expected);
  }
  return diag_kind_error(L, arg, counted, op, expected);
}

const char *diag_check_name(lua_State *L, int idx, const char *op, const char *what) {
  size_t len;
  const char *text = luaL_checklstring(L, idx, &len);
  if (strlen(text) != len) {
    diag_error(L, "%s: %s has a byte 0 in it, after '%s'; leave that out", op, what, text);
  }
  return text;
}

lua_Number diag_to_number(lua_State *L, int arg, const char *op) {
  if (lua_type(L, arg) != LUA_TNUMBER) {
    diag_type_error(L, arg, op, "a number");
  }
  return lua_tonumber(L, arg);
}

int diag_kind_error(lua_State *L, int idx, int arg, const char *op, const char *expected) {
  if (lua_isnil(L, idx)) {
    return diag_error(L, "%s: argument %d is nil, perhaps a misspelt name; %s was expected", op,
                      arg, expected);
  }
  return diag_error(L, "%s: argument %d is %s; %s was expected", op, arg, diag_push_kind(L, idx),
                    expected);
}

/* {====== Uncaught errors ====== */

void diag_set_traceback(lua_State *L, bool on) {
  lua_pushboolean(L, on);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &traceback_key);
}

static bool wants_traceback(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &traceback_key);
  bool on = lua_toboolean(L, -1) != 0;
  lua_pop(L, 1);
  return on;
}

void diag_push_message(lua_State *L, int idx) {
  int type = lua_type(L, idx);
  if (type == LUA_TNUMBER || type == LUA_TSTRING ||
      luaL_getmetafield(L, idx, "__tostring") != LUA_TNIL) {
    luaL_tolstring(L, idx, NULL);
  } else {
    const char *kind = diag_push_kind(L, idx);
    diag_push_where(L);
    lua_pushfstring(L, "the error is %s, not a message", kind);
    lua_concat(L, 2);
  }
}

int diag_handler(lua_State *L) {
  diag_push_message(L, 1);
  lua_replace(L, 1);
  lua_settop(L, 1);
  diag_guess_global(L);
  if (wants_traceback(L)) {
    luaL_traceback(L, L, lua_tostring(L, 1), 1);
  }
  return 1;
}
