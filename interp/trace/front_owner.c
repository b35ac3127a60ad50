/* front_owner.c: which kernel's trace a value belongs to. Whatever is made while a kernel is traced (tensors,
   run-time values, layouts with run-time values, ranges, mbarriers ...) names operations and buffers of that
   trace's IR, which is gone afterwards. So each such value keeps the number of its trace, its serial, and
   every use of one goes through front_check_own. */
#include <lauxlib.h>
#include <string.h>

#include "interp/state/diag.h"
#include "front_state.h"

static char names_key; /* registry: serial -> "kernel 'k' (file.lua:3)", of the latest traces */

enum { MAX_NAMES = 4096 };

/* "kernel 'k' (file.lua:3)" of the running trace. */
static void push_name(lua_State *L, const CtIr *ir) {
  lua_pushfstring(L, "kernel '%s' (%s:%d)", ir->name, ct_ir_chunk(ir, ir->loc), ir->loc.line);
}

void front_own(lua_State *L, const Front *f) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &names_key);
  push_name(L, f->ir);
  lua_rawseti(L, -2, f->serial);
  if (f->serial > MAX_NAMES) {
    lua_pushnil(L);
    lua_rawseti(L, -2, f->serial - MAX_NAMES);
  }
  lua_pop(L, 1);
}

/* Where the script uses what belongs to the trace called `owner`. */
static const char *push_place(lua_State *L, const char *owner) {
  const Front *f = front_of(L);
  if (f->ir == NULL) {
    return lua_pushstring(L, f->n_static > 0 ? "in a function of static_fn" : "on the host");
  }
  push_name(L, f->ir);
  const char *here = lua_tostring(L, -1);
  return owner != NULL && strcmp(owner, here) == 0 ? "in a later trace of it"
                                                   : lua_pushfstring(L, "in %s", here);
}

const char *front_push_owner(lua_State *L, uint32_t serial) {
  luaL_checkstack(L, 8, NULL);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &names_key);
  const char *owner =
      lua_rawgeti(L, -1, serial) == LUA_TSTRING ? lua_tostring(L, -1) : "another kernel";
  return owner;
}

void front_check_own(lua_State *L, uint32_t serial, const char *what) {
  if (serial == front_of(L)->serial) {
    return;
  }
  const char *owner = front_push_owner(L, serial);
  diag_error(L, "%s was made in %s and is used %s; it exists only while that kernel is traced",
             what, owner, push_place(L, owner));
}

void front_open_owner(lua_State *L) { front_new_table(L, &names_key, NULL); }
