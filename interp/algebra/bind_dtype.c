/* bind_dtype.c: element types in Lua: f32 and its like are objects with a name and a size, and
   functions that make a number of that type. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bind.h"
#include "interp/trace/front.h"
#include "runtime/base/convert.h"
#include "interp/trace/value.h"
#include "interp/openers.h"

/* The userdata. One object for each type and state, in the language's table and the registry. */
typedef struct DtypeBox {
  CtDtype dtype;
} DtypeBox;

static const char objects_key = 0; /* its address names the list of objects in the registry */

bool bind_test_dtype(lua_State *L, int idx, CtDtype *out) {
  const DtypeBox *box = luaL_testudata(L, idx, DTYPE_TYPE);
  if (box != NULL) {
    *out = box->dtype;
  }
  return box != NULL;
}

/* "f64, f32, ... or bool" */
static const char *push_names(lua_State *L) {
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (int t = CT_VOID + 1; t < CT_DTYPE_COUNT; t++) {
    luaL_addstring(&b, t == CT_VOID + 1 ? "" : t + 1 == CT_DTYPE_COUNT ? " or " : ", ");
    luaL_addstring(&b, ct_dtypes[t].name);
  }
  luaL_pushresult(&b);
  return lua_tostring(L, -1);
}

CtDtype bind_to_dtype(lua_State *L, int idx, const char *op) {
  CtDtype t = CT_VOID;
  idx = lua_absindex(L, idx);
  if (bind_test_dtype(L, idx, &t)) {
    return t;
  }
  if (lua_type(L, idx) == LUA_TSTRING) {
    t = ct_dtype_from_name(lua_tostring(L, idx));
    if (t == CT_VOID) {
      diag_error(L, "%s: '%s' is not an element type; %s was expected", op, lua_tostring(L, idx),
                 push_names(L));
    }
    return t;
  }
  diag_type_error(L, idx, op, "an element type like f32");
  return CT_VOID;
}

void bind_push_dtype(lua_State *L, CtDtype t) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &objects_key);
  lua_rawgeti(L, -1, (lua_Integer)t);
  lua_remove(L, -2);
}

/* {====== Numbers of a type ====== */

static TypedNumber number_of(lua_State *L, int idx) {
  TypedNumber n = {.is_float = !lua_isinteger(L, idx)};
  if (n.is_float) {
    n.f = lua_tonumber(L, idx);
  } else {
    n.i = lua_tointeger(L, idx);
    n.f = (double)n.i;
  }
  return n;
}

/* The number at idx as a value of type t: converted as a kernel's cast does, where that is exact. */
static TypedNumber convert(lua_State *L, int idx, CtDtype t) {
  const char *name = ct_dtypes[t].name;
  if (lua_type(L, idx) != LUA_TNUMBER) {
    diag_type_error(L, idx, name, "a number");
  }
  TypedNumber n = number_of(L, idx);
  n.dtype = t;
  if (ct_is_float(t)) {
    n.is_float = true;
    n.f = lua_isinteger(L, idx) ? ct_round_int(t, CT_i64, n.i) : ct_round_float(t, n.f);
    return n;
  }
  int fits;
  n.i = lua_tointegerx(L, idx, &fits);
  n.is_float = false;
  if (!fits || !ct_dtype_fits(t, n.i)) {
    diag_error(L, "%s: %s does not fit; an integer of %d bits was expected", name,
               luaL_tolstring(L, idx, NULL), ct_dtypes[t].bits);
  }
  return n;
}

/* f64(x), i64(x): in a kernel a conversion, on the host a number for a launch. */
static int call(lua_State *L) {
  CtDtype t = bind_to_dtype(L, 1, "dtype");
  int n = diag_drop_nils(L, 2) - 1;    /* without the type itself */
  if (front_ir(L) == NULL || n == 2) { /* 3: a value and its place, as acc:map gives them */
    diag_check_count(L, ct_dtypes[t].name, n, 1);
  }
  if (front_ir(L) != NULL) {
    front_here(L, ct_dtypes[t].name);
    value_push(L, value_cast(L, 2, t, ct_dtypes[t].name));
    return 1;
  }
  if (lua_isnone(L, 2) || (t != CT_bool && lua_type(L, 2) != LUA_TNUMBER)) {
    lua_remove(L, 1); /* x is the first argument of a call */
    diag_type_error(L, 1, ct_dtypes[t].name, t == CT_bool ? "a value" : "a number");
  }
  if (t == CT_bool) {
    number_push(L, (TypedNumber){.dtype = t, .i = lua_toboolean(L, 2)});
  } else {
    number_push(L, convert(L, 2, t));
  }
  return 1;
}

/* Values that are constants of a kernel anyway; launch_object.c puts them into its key. */
static bool is_constant(lua_State *L, int idx) {
  static const char *const types[] = {LAYOUT_TYPE, SWIZZLE_TYPE, DTYPE_TYPE, ATOM_TYPE, BASIS_TYPE};
  bool is = lua_type(L, idx) == LUA_TSTRING;
  for (size_t i = 0; i < CT_ARRAY_LEN(types) && !is; i++) {
    is = luaL_testudata(L, idx, types[i]) != NULL;
  }
  return is || luaL_getmetafield(L, idx, "__constant") != LUA_TNIL;
}

static int static_number(lua_State *L);

/* A table with the same keys, whose numbers are constants. */
static int static_table(lua_State *L) {
  luaL_checkstack(L, 8, "tables in tables");
  lua_settop(L, 1);
  lua_newtable(L);
  lua_pushnil(L);
  while (lua_next(L, 1) != 0) {
    lua_pushcfunction(L, static_number);
    lua_insert(L, -2);
    lua_call(L, 1, 1);
    lua_pushvalue(L, -2);
    lua_insert(L, -2); /* stack: table, made, key, key, value */
    lua_rawset(L, 2);
  }
  return 1;
}

/* static(16): a constant of the kernel that it is passed to. Where it is one already, the value. */
static int static_number(lua_State *L) {
  int type = lua_type(L, 1);
  if (front_ir(L) != NULL) {
    if (!value_settle(L, 1) && value_test(L, 1, NULL)) {
      return diag_error(L, "static: the value is known only at run time; pass it to the launch as "
                           "static(x) to make it a constant");
    }
    lua_settop(L, 1);
    return 1;
  }
  if (type == LUA_TBOOLEAN) {
    number_push(L, (TypedNumber){.dtype = CT_VOID, .is_bool = true, .i = lua_toboolean(L, 1)});
  } else if (type == LUA_TNUMBER) {
    number_push(L, number_of(L, 1));
  } else if (type == LUA_TTABLE && luaL_getmetafield(L, 1, "__constant") == LUA_TNIL) {
    return static_table(L);
  } else if (is_constant(L, 1)) {
    lua_pushvalue(L, 1);
  } else {
    return diag_type_error(L, 1, "static",
                           "a number, a boolean, a constant such as a layout, or a table of them");
  }
  return 1;
}

/* On the host a number is one; in a kernel it becomes a run-time value. */
static int dynamic_number(lua_State *L) {
  bool is_value = value_test(L, 1, NULL);
  diag_take_args(L, "dynamic", 1);
  if (!is_value && lua_type(L, 1) != LUA_TNUMBER && !lua_isboolean(L, 1)) {
    return diag_type_error(L, 1, "dynamic", "a number or boolean");
  }
  if (front_ir(L) != NULL) {
    value_push(L, ct_ir_dynamic(front_ir(L), value_to(L, 1, CT_VOID, "dynamic")));
  }
  return 1;
}

static void push_value(lua_State *L, const TypedNumber *n) {
  if (n->is_float) {
    lua_pushnumber(L, n->f);
  } else if (n->is_bool || n->dtype == CT_bool) {
    lua_pushboolean(L, n->i != 0);
  } else {
    lua_pushinteger(L, n->i);
  }
}

static int number_tostring(lua_State *L) {
  const TypedNumber *n = luaL_checkudata(L, 1, NUMBER_TYPE);
  const char *name = n->dtype == CT_VOID ? "static" : ct_dtypes[n->dtype].name;
  if (n->dtype == CT_u64) { /* Lua's integers are signed */
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, (uint64_t)n->i);
    lua_pushstring(L, digits);
  } else {
    push_value(L, n);
  }
  lua_pushfstring(L, "%s(%s)", name, luaL_tolstring(L, -1, NULL));
  return 1;
}

/* n.value, n.dtype (nil of a static one) */
static int number_index(lua_State *L) {
  const TypedNumber *n = luaL_checkudata(L, 1, NUMBER_TYPE);
  if (lua_type(L, 2) != LUA_TSTRING) {
    return 0;
  }
  const char *name = lua_tostring(L, 2);
  if (strcmp(name, "value") == 0) {
    push_value(L, n);
  } else if (strcmp(name, "dtype") == 0 && n->dtype != CT_VOID) {
    bind_push_dtype(L, n->dtype);
  } else if (strcmp(name, "dtype") == 0) {
    lua_pushnil(L);
  } else {
    return bind_refuse_name(L);
  }
  return 1;
}

/* {====== The types as objects ====== */

static int tostring(lua_State *L) {
  CtDtype t;
  lua_pushstring(L, bind_test_dtype(L, 1, &t) ? ct_dtypes[t].name : "dtype");
  return 1;
}

static void push_name(lua_State *L, CtDtype t) { lua_pushstring(L, ct_dtypes[t].name); }
static void push_bits(lua_State *L, CtDtype t) { lua_pushinteger(L, ct_dtypes[t].bits); }
static void push_bytes(lua_State *L, CtDtype t) {
  if (ct_dtype_is_packed(t)) {
    lua_pushnumber(L, ct_dtype_pitch(t) / 8.0);
  } else {
    lua_pushinteger(L, (lua_Integer)ct_value_bytes(t));
  }
}
static void push_is_float(lua_State *L, CtDtype t) { lua_pushboolean(L, ct_is_float(t)); }
static void push_compute(lua_State *L, CtDtype t) { bind_push_dtype(L, ct_dtype_compute(t)); }

static const char *const field_names[] = {"name", "bits", "bytes", "is_float", "compute", NULL};
static void (*const push_field[])(lua_State *, CtDtype) = {push_name, push_bits, push_bytes,
                                                           push_is_float, push_compute};
_Static_assert(CT_ARRAY_LEN(push_field) + 1 == CT_ARRAY_LEN(field_names), "a function for each");

static int field(lua_State *L) {
  CtDtype t = bind_to_dtype(L, 1, "dtype");
  if (lua_type(L, 2) != LUA_TSTRING) {
    const char *of = ct_dtypes[t].name;
    return diag_error(L,
                      "%s[...]: an element type has no elements; write zeros(%s, shape), in a "
                      "kernel shared(%s, shape) or fragment(%s, shape)",
                      of, of, of, of);
  }
  const char *name = lua_tostring(L, 2);
  size_t i = 0;
  while (i < CT_ARRAY_LEN(push_field) && strcmp(name, field_names[i]) != 0) {
    i++;
  }
  if (i == CT_ARRAY_LEN(push_field)) {
    return bind_refuse_name(L);
  }
  push_field[i](L, t);
  return 1;
}

static const luaL_Reg dtype_meta[] = {
    {"__call", call}, {"__tostring", tostring}, {"__index", field}, {NULL, NULL}};

static const char *const number_fields[] = {"value", "dtype", NULL};
static const luaL_Reg number_meta[] = {
    {"__tostring", number_tostring}, {"__index", number_index}, {NULL, NULL}};

/* Stack: language, objects. */
static void add_dtype(lua_State *L, CtDtype t) {
  DtypeBox *box = lua_newuserdatauv(L, sizeof *box, 0);
  box->dtype = t;
  luaL_setmetatable(L, DTYPE_TYPE);
  lua_pushvalue(L, -1);
  lua_rawseti(L, -3, (lua_Integer)t);
  lua_setfield(L, -3, ct_dtypes[t].name);
}

void bind_open_dtype(lua_State *L) {
  bind_new_type(L, DTYPE_TYPE, dtype_meta, NULL);
  luaL_getmetatable(L, DTYPE_TYPE);
  bind_add_fields(L, field_names);
  lua_pop(L, 1);
  bind_new_type(L, NUMBER_TYPE, number_meta, NULL);
  luaL_getmetatable(L, NUMBER_TYPE);
  bind_add_fields(L, number_fields);
  lua_pop(L, 1);
  lua_newtable(L); /* stack: language, objects */
  for (int t = CT_VOID + 1; t < CT_DTYPE_COUNT; t++) {
    add_dtype(L, (CtDtype)t);
  }
  lua_rawsetp(L, LUA_REGISTRYINDEX, &objects_key);
  lua_pushcfunction(L, static_number);
  lua_setfield(L, -2, "static");
  lua_pushcfunction(L, dynamic_number);
  lua_setfield(L, -2, "dynamic");
}
