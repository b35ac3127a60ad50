/* repl_input.c: from lines to a function. stdlib/commands/prompt_input.lua finds it; this gives it what only C reaches,
   and reads more lines while an input is incomplete. */
#include "repl_parts.h"

#include <lauxlib.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "interp/front/source.h"
#include "interp/state/note.h"
#include "interp/state/source_load.h"
#include "interp/state/state_language.h"
#include "interp/text/lua_parse.h"

/* {====== What an input names ====== */

static void set_text(lua_State *L, const char *key, const char *text) {
  lua_pushstring(L, text);
  lua_setfield(L, -2, key);
}

/* Is the statement a return, or a call that begins with os.exit? */
static bool leaves(const LpChunk *c, const LpStat *s) {
  const LxToken *t = lp_token(c, s->tok);
  return s->kind == LP_RETURN ||
         (s->kind == LP_CALLSTAT && t[0].kind == LX_NAME && strcmp(t[0].sym->s, "os") == 0 &&
          t[1].kind != LX_EOF && t[2].kind == LX_NAME && strcmp(t[2].sym->s, "exit") == 0);
}

/* Light userdata: LpChunk, the length of its text. Protected, because the chunk has memory of its own. */
static int describe(lua_State *L) {
  static const char *const kinds[] = {
      [LP_PLAIN] = "plain", [LP_CONST] = "const", [LP_CLOSE] = "close"};
  const LpChunk *c = lua_touserdata(L, 1);
  const LpStat *last = c->funcs[0].body->last;
  lua_createtable(L, 0, 3);
  lua_newtable(L);
  for (LpTok t = 0; lp_token(c, t)->kind != LX_EOF; t++) {
    if (lp_token(c, t)->kind == LX_NAME) { /* a field of such a name counts too, and does no harm */
      lua_pushboolean(L, true);
      lua_setfield(L, -2, lp_token(c, t)->sym->s);
    }
  }
  lua_setfield(L, -2, "names");
  lua_newtable(L);
  for (const LpStat *s = c->funcs[0].body->first; s != NULL; s = s->next) {
    const LpVar *v = s->kind == LP_DECL || s->kind == LP_LOCALFUNC ? s->vars : NULL;
    for (uint32_t i = 0; v != NULL && i < s->n_vars; i++, v = v->next) {
      set_text(L, v->sym->s, kinds[v->attrib]); /* of two of one name, the later one */
    }
  }
  lua_setfield(L, -2, "declared");
  bool ends = last != NULL && leaves(c, last);
  lua_pushinteger(L, ends ? (lua_Integer)lp_token(c, last->tok)->start : lua_tointeger(L, 2));
  lua_setfield(L, -2, "stop");
  return 1;
}

/* parse(text) -> {names = of all its tokens, as keys, declared = {name = "plain", "const" or "close"} of its outermost
   block, stop = the bytes before its return or last os.exit()}; nil if it does not parse. */
static int parse(lua_State *L) {
  LpChunk chunk;
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len);
  if (lp_parse(state_of(L)->alloc, text, len, "input", &chunk, NULL) != CT_OK) {
    return 0;
  }
  lua_pushcfunction(L, describe);
  lua_pushlightuserdata(L, &chunk);
  lua_pushinteger(L, (lua_Integer)len);
  int status = lua_pcall(L, 2, 1, 0);
  lp_clear(&chunk);
  return status == LUA_OK ? 1 : lua_error(L);
}

/* {====== What else prompt_input.lua asks for ====== */

/* load(text, chunkname) -> the function, or nil and the message. */
static int load(lua_State *L) {
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len);
  if (src_load(L, text, len, luaL_checkstring(L, 2), "t") == LUA_OK) {
    return 1;
  }
  lua_pushnil(L);
  lua_insert(L, -2);
  return 2;
}

/* layout(text, is_swizzle) -> the layout, or the swizzle, that the text is; or nil and why not. */
static int layout(lua_State *L) {
  CtComposed l;
  CtSwizzle sw;
  CtErr err;
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len);
  CtCx cx = bind_enter(L);
  bool is_swizzle = lua_toboolean(L, 2) != 0;
  CtStatus status = is_swizzle ? ct_swizzle_parse(cx.arena, text, len, &sw, &err)
                               : ct_composed_parse(cx.arena, text, len, &l, &err);
  if (status != CT_OK) {
    lua_pushnil(L);
    lua_pushstring(L, err.msg);
    return 2;
  }
  if (is_swizzle) {
    bind_push_swizzle(L, sw);
  } else {
    bind_push_composed(L, &l);
  }
  return 1;
}

/* upvalues(f) -> their names. */
static int upvalues(lua_State *L) {
  const char *name;
  lua_newtable(L);
  for (int i = 1; (name = lua_getupvalue(L, 1, i)) != NULL; i++) {
    lua_pop(L, 1);
    lua_pushstring(L, name);
    lua_rawseti(L, 2, i);
  }
  return 1;
}

/* upvalue(f, name) -> its value. */
static int upvalue(lua_State *L) {
  int i = src_find_upvalue(L, 1, luaL_checkstring(L, 2));
  return lua_getupvalue(L, 1, i) != NULL ? 1 : 0;
}

/* join(f, g, name): the upvalue of that name of f, if it has one, is g's from now on. */
static int join(lua_State *L) {
  const char *name = luaL_checkstring(L, 3);
  int to = src_find_upvalue(L, 1, name);
  if (to > 0) {
    lua_upvaluejoin(L, 1, to, 2, src_find_upvalue(L, 2, name));
  }
  return 0;
}

int input_call(lua_State *L) {
  static const luaL_Reg host[] = {{"parse", parse},     {"load", load},         {"layout", layout},
                                  {"upvalue", upvalue}, {"upvalues", upvalues}, {"join", join},
                                  {NULL, NULL}};
  state_push_function(L, "cuttle.prompt_input", luaL_checkstring(L, 1));
  lua_replace(L, 1);
  luaL_newlib(L, host);
  set_text(L, "prefix", NOTE_INPUT_PREFIX);
  lua_insert(L, 2); /* stack: function, host, arguments */
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

/* {====== Loading ====== */

/* Calls a function of the module with the two values at the top, which become its function or its message. */
static int load_by(lua_State *L, const char *name, bool *more) {
  lua_pushcfunction(L, input_call);
  lua_insert(L, -3);
  lua_pushstring(L, name);
  lua_insert(L, -3);
  int status = lua_pcall(L, 3, 3, 0);
  *more = status == LUA_OK && lua_toboolean(L, -1) != 0;
  if (status == LUA_OK) { /* stack: function, or nil; message; whether there is more */
    status = lua_isnil(L, -3) ? LUA_ERRSYNTAX : LUA_OK;
    lua_pop(L, 1);
    lua_remove(L, status == LUA_OK ? -1 : -2);
  }
  return status;
}

int input_load_text(lua_State *L, int number, bool *more) {
  lua_pushinteger(L, number);
  return load_by(L, "load", more);
}

int input_load_chunk(lua_State *L, const char *text, const char *chunkname) {
  bool more;
  lua_pushstring(L, text);
  lua_pushstring(L, chunkname);
  return load_by(L, "load_chunk", &more);
}

/* Appends the next line to the text at the top. */
static EditStatus add_line(lua_State *L, Editor *editor) {
  EditStatus status = edit_read(editor, true);
  if (status == EDIT_LINE) {
    lua_pushliteral(L, "\n");
    lua_pushlstring(L, editor->line, editor->len);
    lua_concat(L, 3);
  }
  return status;
}

int input_load(lua_State *L, Editor *editor, int number) {
  bool more;
  EditStatus next = EDIT_LINE;
  int status;
  for (;;) {
    lua_pushvalue(L, -1);
    status = input_load_text(L, number, &more); /* stack: text, function or message */
    if (!more) {
      break;
    }
    lua_insert(L, -2);
    next = add_line(L, editor);
    lua_insert(L, -2); /* stack: text, message */
    if (next != EDIT_LINE) {
      break;
    }
    lua_pop(L, 1);
  }
  status = next == EDIT_INTERRUPTED ? INPUT_CANCELLED : status;
  if (status != INPUT_CANCELLED) {
    edit_remember(editor, lua_tostring(L, -2));
  }
  lua_remove(L, -2);
  return status;
}
