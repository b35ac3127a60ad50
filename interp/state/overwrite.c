/* overwrite.c: names of the language are plain globals, so that no metamethod sees an assignment to
   one; what sees it is the parser, when the chunk is loaded. Locals are no such assignment. */
#include "source_load.h"
#include "state_language.h"

#include <ctype.h>
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "interp/text/lua_globals.h"
#include "standard.h"
#include "state.h"

static const char warned_key = 0; /* its address names the set of names in the registry */

typedef struct Check {
  lua_State *L;
  const LpChunk *chunk;
} Check;

/* {====== A look at the text, which spares most texts the parser ====== */

static bool is_name_char(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Whether what follows a name may make it a target: `=`, or `,` with a `=` before anything that a
   list of targets hardly has, or a comment. Where such a list ends is looked for once: *list_end is at or
   before p, or the end of the one that p is in. */
static bool may_follow_target(const char *p, const char *end, const char **list_end) {
  while (p < end && isspace((unsigned char)*p)) {
    p++;
  }
  if (p < end && *p == ',') {
    const char *stop = *list_end > p ? *list_end : p;
    while (stop < end && strchr("=;(){}\"'", *stop) == NULL) {
      stop++;
    }
    p = *list_end = stop;
  }
  char first = p < end ? p[0] : '\0', second = p + 1 < end ? p[1] : '\0';
  return (first == '=' && second != '=') || (first == '-' && second == '-');
}

static bool is_function(const char *word, size_t len) {
  return len == sizeof "function" - 1 && memcmp(word, "function", len) == 0;
}

/* Is it a name of theirs, of a field of theirs, or the one that makes names mean something else? */
static bool is_of_libraries(lua_State *L, const char *word, size_t len) {
  static const char env[] = "_ENV";
  return (len == sizeof env - 1 && memcmp(word, env, len) == 0) || standard_is_name(L, word, len) ||
         standard_is_field(L, word, len);
}

/* Whether a name of the language, or one of a field, stands where one would be assigned. Texts and comments count. */
static bool may_overwrite(lua_State *L, const char *text, size_t len) {
  const char *end = text + len, *p = text, *list_end = text;
  bool after_function = false, may = false;
  while (p < end && !may) {
    const char *word = p;
    while (p < end && is_name_char(*p)) {
      p++;
    }
    if (p > word && (after_function || may_follow_target(p, end, &list_end))) {
      may = is_of_libraries(L, word, (size_t)(p - word));
    }
    if (p > word) {
      after_function = is_function(word, (size_t)(p - word));
    } else {
      after_function = after_function && isspace((unsigned char)*p);
      p++;
    }
  }
  return may;
}

/* {====== Warning ====== */

/* Whether the global `name` is the language's, now. */
static bool is_language(lua_State *L, const char *name) {
  state_push_language(L);
  lua_pushglobaltable(L);
  lua_pushstring(L, name);
  lua_rawget(L, -3); /* stack: language, globals, the language's */
  lua_pushstring(L, name);
  lua_rawget(L, -3);
  bool is = !lua_isnil(L, -2) && lua_rawequal(L, -1, -2);
  lua_pop(L, 4);
  return is;
}

/* The first time that it is asked about `name`. */
static bool is_first(lua_State *L, const char *name) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &warned_key) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &warned_key);
  }
  bool first = lua_getfield(L, -1, name) == LUA_TNIL;
  lua_pushboolean(L, true);
  lua_setfield(L, -3, name);
  lua_pop(L, 2);
  return first;
}

static void check_name(void *ud, const char *name, int line) {
  const Check *c = ud;
  CuttleState *s = state_of(c->L);
  s->names_changed = s->names_changed || standard_is_name(c->L, name, strlen(name));
  if (s->options.log != NULL && is_language(c->L, name) && is_first(c->L, name)) {
    char text[320];
    snprintf(text, sizeof text,
             "%s:%d: warning: '%s' is a name of the language; this assignment replaces it",
             c->chunk->lx.chunk, line, name);
    state_log(s, text);
  }
}

static void check_field(void *ud, const char *name, int line) {
  const Check *c = ud;
  CuttleState *s = state_of(c->L);
  (void)line;
  s->names_changed = s->names_changed || standard_is_name(c->L, name, strlen(name));
}

/* Light userdata: Check. Protected, because the chunk has memory of its own. */
static int check_chunk(lua_State *L) {
  Check *c = lua_touserdata(L, 1);
  c->L = L;
  lp_each_global_write(c->chunk, check_name, c);
  lp_each_field_write(c->chunk, check_field, c);
  state_of(L)->names_changed = state_of(L)->names_changed || lp_has_env(c->chunk);
  return 0;
}

void overwrite_check(lua_State *L, const char *shown, const char *text, size_t len) {
  LpChunk chunk;
  CuttleState *s = state_of(L);
  if (s == NULL || (len > 0 && text[0] == LUA_SIGNATURE[0]) || !may_overwrite(L, text, len) ||
      lp_parse(s->alloc, text, len, shown, &chunk, NULL) != CT_OK) {
    return;
  }
  luaL_checkstack(L, 2, NULL);
  lua_pushcfunction(L, check_chunk);
  lua_pushlightuserdata(L, &(Check){.chunk = &chunk});
  int status = lua_pcall(L, 1, 0, 0);
  lp_clear(&chunk);
  if (status != LUA_OK) {
    lua_error(L);
  }
}
