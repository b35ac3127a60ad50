/* front_refuse.c: what a kernel cannot do with functions of Lua's libraries. They run while it is traced, so
   they make no texts of run-time values, count with none and take no tensor for a table. One table says of
   each what to write instead; of any other function of C only that it runs while tracing. */
#include <lauxlib.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "interp/state/diag.h"
#include "interp/trace/front_state.h"
#include "interp/tensor/tensor.h"
#include "front_parts.h"

static const char made_text[] =
    "strings are made while tracing; use printf, which shows values when the kernel runs";
static const char print_text[] =
    "this prints while tracing; use printf, or tostring(x) for what is known of x while tracing";
static const char no_table[] =
    "this needs a Lua table; write 'for i = 0, size(t) - 1 do' with t[i]";
static const char of_list[] =
    "the number of tensors is known only at run time; write 'for i = 1, #l do' with l[i]";
static const char place[] =
    "places in a Lua table must be known while tracing; use a tensor, or unroll the loop";
static const char angle[] = "write atan(x), or atan2(y, x) of two numbers";
static const char drawn[] =
    "draw numbers with rand_u32x4, rand_f32x4 or randn_f32x4(seed, offset), or "
    "pass a tensor made by rand(dtype, shape)";
static const char timed[] = "take the time before the launch and pass it as an argument";
static const char read[] = "read before the launch and pass what was read as an argument";

/* What of an argument is refused: a run-time value; also a tensor or layout; also a table that has
   run-time values as elements. CALLED: any call, since the result would be one constant of the trace. */
typedef enum Refused { VALUE, OBJECT, ELEMENTS, CALLED } Refused;

typedef struct Refusal {
  const char *lib, *name;
  int first, last; /* arguments; 0: to the last, -1: to the last but one */
  Refused what;
  const char *instead;
} Refusal;

static const Refusal refusals[] = {
    {"_G", "pairs", 1, 1, OBJECT, no_table},
    {"_G", "ipairs", 1, 1, OBJECT, no_table},
    {"_G", "next", 1, 1, OBJECT, no_table},
    {"_G", "load", 1, 0, OBJECT, "this compiles a string; write t[i]"},
    {"_G", "rawlen", 1, 1, OBJECT, "size(t) is the number of elements of a tensor"},
    {"_G", "print", 1, 0, VALUE, print_text},
    {"io", "write", 1, 0, VALUE, print_text},
    {"string", "byte", 1, 0, VALUE, made_text},
    {"string", "char", 1, 0, VALUE, made_text},
    {"string", "find", 1, 0, VALUE, made_text},
    {"string", "format", 1, 0, VALUE, made_text},
    {"string", "len", 1, 0, VALUE, made_text},
    {"string", "pack", 1, 0, VALUE, made_text},
    {"string", "rep", 1, 0, VALUE, made_text},
    {"string", "sub", 1, 0, VALUE, made_text},
    {"utf8", "char", 1, 0, VALUE, made_text},
    {"table", "concat", 1, 0, ELEMENTS, made_text},
    {"table", "insert", 1, 1, OBJECT, "this needs a Lua table; write t[i] = v"},
    {"table", "insert", 2, -1, VALUE, place},
    {"table", "remove", 2, 2, VALUE, place},
    {"table", "move", 2, 4, VALUE, place},
    {"table", "sort", 1, 1, OBJECT, "write a sorting network with min and max"},
    {"table", "unpack", 1, 1, OBJECT, "name the elements, as in t[0], t[1]"},
    {"table", "unpack", 2, 3, VALUE, place},
    {"math", "atan2", 1, 0, VALUE,
     angle}, /* before atan: where both are one function it has that name */
    {"math", "atan", 1, 0, VALUE, angle},
    {"math", "deg", 1, 0, VALUE, "write x * (180.0 / math.pi)"},
    {"math", "fmod", 1, 0, VALUE, "write fmod(x, y), or x % y, which has the sign of y"},
    {"math", "ldexp", 1, 0, VALUE,
     "write x * exp2(n // 2) * exp2(n - n // 2), where n is a float as wide as x"},
    {"math", "modf", 1, 0, VALUE, "write trunc(x) and where(trunc(x) == x, 0.0, x - trunc(x))"},
    {"math", "pow", 1, 0, VALUE, "write x ^ y"},
    {"math", "rad", 1, 0, VALUE, "write x * (math.pi / 180.0)"},
    {"math", "random", 0, 0, CALLED, drawn},
    {"math", "randomseed", 0, 0, CALLED, drawn},
    {"math", "tan", 1, 0, VALUE, "write sin(x) / cos(x)"},
    {"os", "time", 0, 0, CALLED, timed},
    {"os", "clock", 0, 0, CALLED, timed},
    {"os", "date", 0, 0, CALLED, timed},
    {"io", "read", 0, 0, CALLED, read},
    {"io", "lines", 0, 0, CALLED, read},
    {"math", "ult", 1, 0, VALUE, "write u64(a) < u64(b)"},
};

/* Puts a copy of the table in its place whose known elements are Lua integers. */
static void settle_elements(lua_State *L, int idx) {
  lua_Integer n = (lua_Integer)lua_rawlen(L, idx);
  lua_createtable(L, (int)n, 0);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, idx, i);
    value_settle(L, -1);
    lua_rawseti(L, -2, i);
  }
  lua_replace(L, idx);
}

static bool has_values(lua_State *L, int idx) {
  if (!lua_istable(L, idx)) {
    return false;
  }
  bool found = false;
  lua_Integer n = (lua_Integer)lua_rawlen(L, idx);
  for (lua_Integer i = 1; i <= n && !found; i++) {
    lua_rawgeti(L, idx, i);
    found = value_test(L, -1, NULL);
    lua_pop(L, 1);
  }
  return found;
}

/* What of the argument is refused, as messages call it; NULL: nothing. */
static const char *find_refused(lua_State *L, Refused what, int idx) {
  if (!value_settle(L, idx) && value_test(L, idx, NULL)) {
    return VALUE_TYPE;
  }
  if (what >= OBJECT && tensor_test(L, idx) != NULL) {
    return TENSOR_TYPE;
  }
  if (what >= OBJECT && luaL_testudata(L, idx, LAYOUT_TYPE) != NULL) {
    return LAYOUT_TYPE;
  }
  if (what >= OBJECT && luaL_testudata(L, idx, LIST_TYPE) != NULL) {
    return LIST_TYPE;
  }
  if (what == ELEMENTS && has_values(L, idx)) {
    settle_elements(L, idx);
  }
  return what == ELEMENTS && has_values(L, idx) ? "table of run-time values" : NULL;
}

/* "math.random", "print" */
static const char *push_title(lua_State *L, const Refusal *row) {
  bool is_global = strcmp(row->lib, "_G") == 0;
  return is_global ? row->name : lua_pushfstring(L, "%s.%s", row->lib, row->name);
}

static int fail_called(lua_State *L, const Refusal *row) {
  return front_refuse(L,
                      "%s runs once in a kernel, while it is traced: its result would be one "
                      "constant, the same for all threads and launches; %s",
                      push_title(L, row), row->instead);
}

/* Stands in for a function of a library: upvalue 1. Upvalues 2 and 3: the first row and how many. */
static int refuses(lua_State *L) {
  const Refusal *row = &refusals[lua_tointeger(L, lua_upvalueindex(2))];
  const Refusal *end = row + lua_tointeger(L, lua_upvalueindex(3));
  int n = lua_gettop(L);
  if (row->what == CALLED) {
    return fail_called(L, row);
  }
  for (; row < end; row++) {
    int last = row->last <= 0 ? n + row->last : row->last;
    for (int i = row->first; i <= last && i <= n; i++) {
      const char *refused = find_refused(L, row->what, i);
      if (refused != NULL) {
        const char *instead = strcmp(refused, LIST_TYPE) == 0 ? of_list : row->instead;
        return front_refuse(L, "%s of a %s; %s", push_title(L, row), refused, instead);
      }
    }
  }
  return standard_call_original(L);
}

void front_check_iterator(lua_State *L, int idx) {
  if (value_test(L, idx, NULL)) {
    front_refuse(L, "'for ... in' of a " VALUE_TYPE "; write 'for i = 0, n - 1 do'");
  }
  const char *refused = find_refused(L, OBJECT, idx);
  if (refused != NULL && strcmp(refused, LIST_TYPE) == 0) {
    front_refuse(L, "'for ... in' of a " LIST_TYPE "; %s", of_list);
  }
  if (refused != NULL) {
    front_refuse(L, "'for ... in' of a %s; write 'for i = 0, size(t) - 1 do' with t[i]", refused);
  }
}

static bool ends_with(const char *msg, size_t len, const char *end) {
  size_t n = strlen(end);
  return len >= n && strcmp(msg + len - n, end) == 0;
}

void front_explain(lua_State *L) {
  size_t len;
  luaL_gsub(L, lua_tostring(L, -1), VALUE_TYPE " value", VALUE_TYPE);
  lua_remove(L, -2);
  const char *msg = lua_tolstring(L, -1, &len);
  const char *more = "";
  if (ends_with(msg, len, ", got " VALUE_TYPE ")")) {
    more = "; this runs while tracing, when run-time values are not known";
  } else if (strstr(msg, "attempt to index a " VALUE_TYPE) != NULL && strchr(msg, ';') == NULL) {
    more = "; only tensors and tables have elements";
  }
  lua_pushstring(L, more);
  lua_concat(L, 2);
}

/* After the other replacements, which are called for what is not refused. */
void front_open_refuse(lua_State *L) {
  int top = lua_gettop(L);
  size_t n = 1;
  for (size_t i = 0; i < CT_ARRAY_LEN(refusals); i += n) {
    const Refusal *row = &refusals[i];
    for (n = 1; i + n < CT_ARRAY_LEN(refusals) && strcmp(row[n].name, row->name) == 0; n++) {}
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
    if (lua_getfield(L, -1, row->lib) == LUA_TTABLE &&
        lua_getfield(L, -1, row->name) == LUA_TFUNCTION) {
      front_push_replacement(L, -1);
      lua_pushinteger(L, (lua_Integer)i);
      lua_pushinteger(L, (lua_Integer)n);
      lua_pushcclosure(L, refuses, 3);
      front_replace(L);
    }
    lua_settop(L, top);
  }
}
