/* repl_locals.c: an input that uses locals of the session, or declares some, is loaded within a wrapper,

     local __keep, a, c <const> = ... return function(...) INPUT
      __keep(function() return x, y end, {z = z}) end

   whose upvalue `a` is joined with the variable of the input that declared it. The call at the end, or before the
   input's own return or last os.exit(), hands over the variables that the input declares: x and y by a function that
   has them as upvalues; a <const>, which may have none, by value. A <close> is closed when its input ends, and not kept.

   The session is a table in the registry, of each name a function that has the variable as an upvalue of that name,
   or a list of the constant's value. */
#include "repl_parts.h"

#include <lauxlib.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "interp/text/lua_parse.h"
#include "interp/state/source_load.h"
#include "interp/front/source.h"
#include "interp/state/state.h"

static char session_key;

/* The stack of locals_load. */
enum { USED = 1, DECLARED, CONSTANTS, N_TABLES = CONSTANTS };

void locals_push_names(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &session_key) == LUA_TTABLE) {
    return;
  }
  lua_pop(L, 1);
  lua_newtable(L);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &session_key);
}

/* --- what an input uses and declares --------------------------------------------------------------- */

/* The session's locals whose names occur in the text. A field of such a name counts too, and does no harm.
   Stack: used. */
static void collect_used(lua_State *L, const LpChunk *c, int used) {
  locals_push_names(L);
  for (LpTok t = 0; lp_token(c, t)->kind != LX_EOF; t++) {
    if (lp_token(c, t)->kind == LX_NAME) {
      lua_pushstring(L, lp_token(c, t)->sym->s);
      lua_pushvalue(L, -1);
      bool is_known = lua_rawget(L, -3) != LUA_TNIL; /* stack: session, name, variable */
      if (is_known) {
        lua_rawset(L, used);
      } else {
        lua_pop(L, 2);
      }
    }
  }
  lua_pop(L, 1);
}

static void collect_declared(lua_State *L, const LpStat *s, int declared, int constants) {
  const LpVar *v = s->vars;
  for (uint32_t i = 0; i < s->n_vars; i++, v = v->next) {
    lua_pushboolean(L, v->attrib == LP_PLAIN);
    lua_setfield(L, declared, v->sym->s); /* of two of one name, the later one */
    lua_pushboolean(L, v->attrib == LP_CONST);
    lua_setfield(L, constants, v->sym->s);
  }
}

/* Light userdata: LpChunk. Returns the three tables; protected, because the chunk has memory of its own. */
static int collect(lua_State *L) {
  const LpChunk *c = lua_touserdata(L, 1);
  lua_settop(L, 0);
  for (int i = 0; i < N_TABLES; i++) {
    lua_newtable(L);
  }
  collect_used(L, c, USED);
  for (const LpStat *s = c->funcs[0].body->first; s != NULL; s = s->next) {
    if (s->kind == LP_DECL || s->kind == LP_LOCALFUNC) {
      collect_declared(L, s, DECLARED, CONSTANTS);
    }
  }
  return N_TABLES;
}

/* Is the statement a return, or a call that begins with os.exit? */
static bool leaves(const LpChunk *c, const LpStat *s) {
  const LxToken *t = lp_token(c, s->tok);
  return s->kind == LP_RETURN ||
         (s->kind == LP_CALLSTAT && t[0].kind == LX_NAME && strcmp(t[0].sym->s, "os") == 0 &&
          t[1].kind != LX_EOF && t[2].kind == LX_NAME && strcmp(t[2].sym->s, "exit") == 0);
}

/* Pushes the three tables, and says where the input's return begins, or its text ends; false: it does not parse, or
   memory ran out, and nothing is pushed. */
static bool push_tables(lua_State *L, const char *text, size_t len, size_t *end) {
  LpChunk chunk;
  if (lp_parse(state_of(L)->alloc, text, len, "input", &chunk, NULL) != CT_OK) {
    return false;
  }
  const LpStat *last = chunk.funcs[0].body->last;
  *end = last != NULL && leaves(&chunk, last) ? lp_token(&chunk, last->tok)->start : len;
  lua_pushcfunction(L, collect);
  lua_pushlightuserdata(L, &chunk);
  int status = lua_pcall(L, 1, N_TABLES, 0);
  lp_clear(&chunk);
  if (status != LUA_OK) {
    lua_pop(L, 1);
  }
  return status == LUA_OK;
}

/* --- the wrapper ----------------------------------------------------------------------------------- */

typedef enum Form { PARAMETER, VALUE, FIELD } Form; /* ", a", ", c <const>" | "a" | "a = a" */

/* The names in the table whose values are not false; in PARAMETER these are the session's variables. */
static void add_names(lua_State *L, CtText *out, int names, Form form) {
  bool has_comma = form == PARAMETER;
  lua_pushnil(L);
  while (lua_next(L, names) != 0) {
    if (lua_toboolean(L, -1)) {
      const char *name = lua_tostring(L, -2);
      ct_text_puts(out, has_comma ? ", " : "");
      ct_text_puts(out, name);
      ct_text_puts(out, form == FIELD ? " = " : "");
      ct_text_puts(out, form == FIELD ? name : "");
      ct_text_puts(out, form == PARAMETER && lua_istable(L, -1) ? " <const>" : "");
      has_comma = true;
    }
    lua_pop(L, 1);
  }
}

/* Stack: the three tables, from `at` on. Pushes the text of the wrapper. */
static void push_wrapper(lua_State *L, int at, const char *text, size_t len, size_t end) {
  CtText out;
  CtCx cx = bind_enter(L);
  bind_text_init(&out, &cx);
  ct_text_puts(&out, "local __keep");
  add_names(L, &out, at + USED - 1, PARAMETER);
  ct_text_puts(&out, " = ... return function(...) ");
  ct_text_add(&out, text, end);
  ct_text_puts(&out, end == len ? "\n" : ""); /* a comment may end it */
  ct_text_puts(&out, " __keep(function() return ");
  add_names(L, &out, at + DECLARED - 1, VALUE);
  ct_text_puts(&out, " end, {");
  add_names(L, &out, at + CONSTANTS - 1, FIELD);
  ct_text_puts(&out, "}) ");
  ct_text_add(&out, text + end, len - end);
  ct_text_puts(&out, end == len ? " end" : "\n end");
  bind_push_text(L, &out);
}

/* What the wrapper calls: a function with variables as upvalues; constants by name. */
static int keep(lua_State *L) {
  const char *name;
  locals_push_names(L); /* stack: function, constants, session */
  for (int i = 1; (name = lua_getupvalue(L, 1, i)) != NULL; i++) {
    lua_pop(L, 1);
    lua_pushvalue(L, 1);
    lua_setfield(L, 3, name);
  }
  lua_pushnil(L);
  while (lua_next(L, 2) != 0) { /* stack: ..., name, value */
    lua_createtable(L, 1, 0);
    lua_insert(L, -2);
    lua_rawseti(L, -2, 1);
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, 3);
  }
  return 0;
}

/* The input's function at fn sees the variables in the table at `used`. */
static void join_variables(lua_State *L, int fn, int used) {
  lua_pushnil(L);
  while (lua_next(L, used) != 0) { /* stack: ..., name, variable */
    const char *name = lua_tostring(L, -2);
    int to = src_find_upvalue(L, fn, name);
    if (to > 0 && lua_isfunction(L, -1)) {
      lua_upvaluejoin(L, fn, to, lua_gettop(L), src_find_upvalue(L, lua_gettop(L), name));
    }
    lua_pop(L, 1);
  }
}

/* Stack: tables from `at` on, the loaded wrapper. Replaces it by the input's function. */
static void open_wrapper(lua_State *L, int at) {
  int n = 1, wrapper = lua_gettop(L);
  luaL_checkstack(L, 250, "too many locals");
  lua_pushvalue(L, wrapper);
  lua_pushcfunction(L, keep);
  lua_pushnil(L);
  while (lua_next(L, at + USED - 1) != 0) { /* in the order of the wrapper's names */
    if (lua_istable(L, -1)) {
      lua_rawgeti(L, -1, 1);
      lua_replace(L, -2);
    } else {
      lua_pop(L, 1);
      lua_pushnil(L);
    }
    lua_insert(L, -2); /* stack: ..., value, name */
    n++;
  }
  lua_call(L, n, 1);
  join_variables(L, lua_gettop(L), at + USED - 1);
  lua_replace(L, wrapper);
}

static bool is_empty(lua_State *L, int table) {
  lua_pushnil(L);
  bool is = lua_next(L, table) == 0;
  lua_pop(L, is ? 0 : 2);
  return is;
}

int locals_load(lua_State *L, const char *text, size_t len, const char *chunkname) {
  int at = lua_gettop(L) + 1;
  size_t end;
  luaL_checkstack(L, 16, NULL);
  bool is_plain = !push_tables(L, text, len, &end) ||
                  (is_empty(L, at + USED - 1) && is_empty(L, at + DECLARED - 1));
  if (is_plain) {
    lua_settop(L, at - 1);
    return src_load(L, text, len, chunkname, "t");
  }
  push_wrapper(L, at, text, len, end);
  const char *wrapper = lua_tolstring(L, -1, &len);
  int status = src_load(L, wrapper, len, chunkname, "t");
  if (status == LUA_OK) {
    open_wrapper(L, at);
  }
  lua_replace(L, at);
  lua_settop(L, at);
  return status;
}

/* --- for completion -------------------------------------------------------------------------------- */

bool locals_push(lua_State *L, const char *name, size_t len) {
  locals_push_names(L);
  lua_pushlstring(L, name, len);
  int type = lua_rawget(L, -2); /* stack: session, variable */
  lua_remove(L, -2);
  if (type == LUA_TTABLE) {
    lua_rawgeti(L, -1, 1);
  } else if (type == LUA_TFUNCTION) {
    lua_pushlstring(L, name, len);
    int i = src_find_upvalue(L, lua_gettop(L) - 1, lua_tostring(L, -1));
    lua_pop(L, 1);
    lua_getupvalue(L, -1, i);
  } else {
    lua_pop(L, 1);
    return false;
  }
  lua_remove(L, -2);
  return true;
}
