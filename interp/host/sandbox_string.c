/* sandbox_string.c: the sandbox's functions of `string` that search, and those that take long on long
   texts. They are Lua's, charged by step (sandbox_match.c) or at least once a call. */
#include <lauxlib.h>
#include <lualib.h>
#include <string.h>

#include "interp/state/diag.h"
#include "sandbox.h"

static const char specials[] = "^$*+?.([%-";

/* {====== find, match ====== */

/* The place to begin, from 0, that argument 3 names; false: after the end. */
static bool take_start(lua_State *L, size_t len, size_t *at) {
  lua_Integer i = luaL_optinteger(L, 3, 1);
  if (i < 0) {
    i = i < -(lua_Integer)len ? 1 : (lua_Integer)len + i + 1;
  }
  *at = i > 0 ? (size_t)i - 1 : 0;
  return *at <= len;
}

static bool is_special(const char *p, size_t len) {
  for (size_t i = 0; i < len; i++) {
    if (p[i] != '\0' && strchr(specials, p[i]) != NULL) {
      return true;
    }
  }
  return false;
}

static int push_span(lua_State *L, const Match *m, const char *s, const char *e) {
  lua_pushinteger(L, s - m->src + 1);
  lua_pushinteger(L, e - m->src);
  return 2;
}

/* The first match at or after *at; NULL: none. Moves *at to where it begins. */
static const char *search(Match *m, const char **at, const char *p) {
  bool is_anchored = p < m->pattern_end && *p == '^';
  do {
    m->n_capture = m->depth = 0;
    const char *e = match_at(m, *at, p + is_anchored);
    if (e != NULL) {
      return e;
    }
  } while (++*at <= m->src_end && !is_anchored);
  return NULL;
}

static int find_or_match(lua_State *L, bool is_find) {
  Match m;
  size_t len, pattern_len, from;
  const char *src = luaL_checklstring(L, 1, &len);
  const char *p = luaL_checklstring(L, 2, &pattern_len);
  match_init(&m, L, src, len, p, pattern_len);
  state_charge(L, m.state, 1);
  if (!take_start(L, len, &from)) {
    luaL_pushfail(L);
    return 1;
  }
  const char *at = src + from, *e;
  if (is_find && (lua_toboolean(L, 4) || !is_special(p, pattern_len))) {
    at = match_plain(&m, at, len - from, p, pattern_len);
    e = at == NULL ? NULL : at + pattern_len;
  } else {
    e = search(&m, &at, p);
  }
  if (e == NULL) {
    luaL_pushfail(L);
    return 1;
  }
  int n = is_find ? push_span(L, &m, at, e) : 0;
  return n + match_push_all(&m, is_find ? NULL : at, e);
}

static int find(lua_State *L) { return find_or_match(L, true); }

static int match(lua_State *L) { return find_or_match(L, false); }

/* {====== gmatch ====== */

/* Upvalues: the text, the pattern, where to go on, the end of the last match (from 1; 0: none). */
static int next_match(lua_State *L) {
  Match m;
  size_t len, pattern_len;
  const char *src = lua_tolstring(L, lua_upvalueindex(1), &len);
  const char *p = lua_tolstring(L, lua_upvalueindex(2), &pattern_len);
  const char *last = src + lua_tointeger(L, lua_upvalueindex(4)) - 1;
  match_init(&m, L, src, len, p, pattern_len);
  for (const char *s = src + lua_tointeger(L, lua_upvalueindex(3)); s <= m.src_end; s++) {
    m.n_capture = m.depth = 0;
    const char *e = match_at(&m, s, p);
    if (e != NULL && e != last) {
      lua_pushinteger(L, e - src);
      lua_replace(L, lua_upvalueindex(3));
      lua_pushinteger(L, e - src + 1);
      lua_replace(L, lua_upvalueindex(4));
      return match_push_all(&m, s, e);
    }
  }
  return 0;
}

/* string.gmatch(s, pattern[, init]) */
static int gmatch(lua_State *L) {
  size_t len, from;
  luaL_checklstring(L, 1, &len);
  luaL_checkstring(L, 2);
  if (!take_start(L, len, &from)) {
    from = len + 1;
  }
  lua_settop(L, 2);
  lua_pushinteger(L, (lua_Integer)from);
  lua_pushinteger(L, 0);
  lua_pushcclosure(L, next_match, 4);
  return 1;
}

/* {====== gsub ====== */

/* Adds what the text at index 3 says, with %0 to %9 in it. */
static void add_text(Match *m, luaL_Buffer *b, const char *s, const char *e) {
  size_t len;
  lua_State *L = m->L;
  const char *text = lua_tolstring(L, 3, &len), *end = text + len;
  for (const char *p = memchr(text, '%', len); p != NULL;
       p = memchr(text, '%', (size_t)(end - text))) {
    luaL_addlstring(b, text, (size_t)(p - text));
    char c = p + 1 < end ? p[1] : '\0';
    if (c == '%') {
      luaL_addchar(b, '%');
    } else if (c == '0') {
      luaL_addlstring(b, s, (size_t)(e - s));
    } else if (c >= '1' && c <= '9') {
      match_push(m, c - '1', s, e);
      luaL_tolstring(L, -1, NULL);
      lua_remove(L, -2);
      luaL_addvalue(b);
    } else {
      luaL_error(L, "invalid use of '%%' in replacement string");
    }
    text = p + 2;
  }
  luaL_addlstring(b, text, (size_t)(end - text));
}

/* Adds what the table or function at index 3 has for the match from s to e. */
static void add_value(Match *m, luaL_Buffer *b, const char *s, const char *e) {
  lua_State *L = m->L;
  if (lua_type(L, 3) == LUA_TFUNCTION) {
    lua_pushvalue(L, 3);
    lua_call(L, match_push_all(m, s, e), 1);
  } else {
    match_push(m, 0, s, e);
    lua_gettable(L, 3);
  }
  if (!lua_toboolean(L, -1)) {
    lua_pop(L, 1);
    luaL_addlstring(b, s, (size_t)(e - s));
  } else if (lua_isstring(L, -1)) {
    luaL_addvalue(b);
  } else {
    luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
  }
}

/* string.gsub(s, pattern, by[, n]) */
static int gsub(lua_State *L) {
  Match m;
  luaL_Buffer b;
  size_t len, pattern_len;
  const char *s = luaL_checklstring(L, 1, &len), *last = NULL;
  const char *p = luaL_checklstring(L, 2, &pattern_len);
  int kind = lua_type(L, 3);
  lua_Integer max = luaL_optinteger(L, 4, (lua_Integer)len + 1), n = 0;
  bool is_text = kind == LUA_TNUMBER || kind == LUA_TSTRING;
  luaL_argexpected(L, is_text || kind == LUA_TFUNCTION || kind == LUA_TTABLE, 3,
                   "string/function/table");
  if (kind == LUA_TNUMBER) {
    lua_tostring(L, 3);
  }
  match_init(&m, L, s, len, p, pattern_len);
  bool is_anchored = pattern_len > 0 && *p == '^';
  luaL_buffinit(L, &b);
  while (n < max) {
    state_charge(L, m.state, 1);
    m.n_capture = m.depth = 0;
    const char *e = match_at(&m, s, p + is_anchored);
    if (e != NULL && e != last) {
      n++;
      (is_text ? add_text : add_value)(&m, &b, s, e);
      s = last = e;
    } else if (s < m.src_end) {
      luaL_addchar(&b, *s++);
    } else {
      break;
    }
    if (is_anchored) {
      break;
    }
  }
  luaL_addlstring(&b, s, (size_t)(m.src_end - s));
  luaL_pushresult(&b);
  lua_pushinteger(L, n);
  return 2;
}

/* {====== Others ====== */

static int call_own(lua_State *L) {
  state_charge(L, state_of(L), 1);
  return standard_call_original(L);
}

/* string.rep(s, n[, sep]): nothing, any number of times, takes Lua's own that many steps. */
static int repeat(lua_State *L) {
  size_t len, sep_len = 0;
  luaL_checklstring(L, 1, &len);
  luaL_checkinteger(L, 2);
  luaL_optlstring(L, 3, "", &sep_len);
  if (len + sep_len == 0) {
    lua_pushliteral(L, "");
    return 1;
  }
  return call_own(L);
}

static void poll_in(lua_State *L, const char *library, const char *const *names, size_t n) {
  lua_getglobal(L, library);
  for (size_t i = 0; i < n; i++) {
    standard_replace(L, names[i], call_own);
  }
  lua_pop(L, 1);
}

void sandbox_open_string(lua_State *L) {
  static const char *const slow[] = {"byte",  "char",   "format",  "lower",   "pack",
                                     "upper", "unpack", "reverse", "packsize"};
  static const char *const slow_utf8[] = {"char", "codepoint", "len", "offset"};
  lua_getglobal(L, LUA_STRLIBNAME);
  standard_replace(L, "find", find);
  standard_replace(L, "match", match);
  standard_replace(L, "gmatch", gmatch);
  standard_replace(L, "gsub", gsub);
  standard_replace(L, "rep", repeat);
  lua_pop(L, 1);
  poll_in(L, LUA_STRLIBNAME, slow, CT_ARRAY_LEN(slow));
  poll_in(L, LUA_UTF8LIBNAME, slow_utf8, CT_ARRAY_LEN(slow_utf8));
}
