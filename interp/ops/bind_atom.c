/* bind_atom.c: MMA and copy atoms in Lua: objects made by _kernel.atom, which stdlib/language/atom.lua wraps; the
   fields are atom_fields.lua's. A copy atom may know the type of the elements that it moves. */
#include "interp/algebra/bind.h"
#include "interp/front/front_trace.h"
#include "interp/openers.h"
#include "interp/state/fields.h"
#include "interp/state/state_language.h"
#include "access.h"

#include <string.h>

typedef struct AtomBox {
  CtAtom atom;
  CtDtype dtype; /* of a copy's elements; CT_VOID: the script did not give it */
} AtomBox;

static const AtomBox *check_atom(lua_State *L) { return luaL_checkudata(L, 1, ATOM_TYPE); }

/* Objects of stdlib/language/tiled_mma.lua and tiled_copy.lua, and the field of each that leads to
   the atom. */
static const struct {
  const char *type, *field;
} holders[] = {
    {"tiled_mma", "atom"}, {"thr_mma", "mma"}, {"tiled_copy", "atom"}, {"thr_copy", "copy"}};

/* Pushes the value of the field that leads to the atom; false, with nothing pushed, if there is no
   such field. */
static bool push_held(lua_State *L, int idx) {
  if (!lua_istable(L, idx) || luaL_getmetafield(L, idx, "__name") == LUA_TNIL) {
    return false;
  }
  const char *type = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
  const char *field = NULL;
  for (size_t i = 0; i < CT_ARRAY_LEN(holders); i++) {
    field = strcmp(type, holders[i].type) == 0 ? holders[i].field : field;
  }
  lua_pop(L, 1);
  if (field != NULL) {
    lua_pushstring(L, field);
    lua_rawget(L, idx);
  }
  return field != NULL;
}

const CtAtom *bind_test_atom(lua_State *L, int idx, CtDtype *dtype) {
  int top = lua_gettop(L);
  int at = lua_absindex(L, idx);
  while (lua_gettop(L) < top + 2 && push_held(L, at)) { /* from a slice to its tiled object */
    at = lua_gettop(L);
  }
  const AtomBox *b = luaL_testudata(L, at, ATOM_TYPE);
  lua_settop(L, top);
  if (b == NULL) {
    return NULL;
  }
  *dtype = b->dtype;
  return &b->atom;
}

/* {====== Fields ====== */

static const char *const operand_names[CT_ATOM_OPERANDS] = {
    [CT_ATOM_A] = "a", [CT_ATOM_B] = "b",     [CT_ATOM_C] = "c",
    [CT_ATOM_D] = "d", [CT_ATOM_SFA] = "sfa", [CT_ATOM_SFB] = "sfb"};

/* Sets field i of the list at the top: {name =, type =, bits =, registers =, space =, layout =}, the last as text. */
static void set_operand(lua_State *L, const CtAtom *a, int i) {
  lua_createtable(L, 0, 6);
  field_text(L, "name", operand_names[i]);
  field_text(L, "type", a->types[i].name);
  field_integer(L, "bits", a->types[i].bits);
  field_integer(L, "registers", a->registers[i]);
  field_text(L, "space", a->from_shared[i] ? "shared" : a->from_tensor[i] ? "tensor" : "registers");
  field_text(L, "layout", a->layouts[i]);
  lua_rawseti(L, -2, i + 1);
}

static const Field raw_fields[] = {
    FIELD(CtAtom, name),  FIELD(CtAtom, family),  FIELD(CtAtom, sm),      FIELD(CtAtom, ptx),
    FIELD(CtAtom, times), FIELD(CtAtom, section), FIELD(CtAtom, threads), FIELD(CtAtom, thr_id),
    FIELD(CtAtom, m),     FIELD(CtAtom, n),       FIELD(CtAtom, k),       FIELD(CtAtom, vec)};

/* The row of the atom, for atom_fields.lua. Operands of scales come last. */
static void push_raw(lua_State *L, const AtomBox *b) {
  const CtAtom *a = &b->atom;
  FIELDS_PUSH(L, raw_fields, a);
  field_bool(L, "is_mma", a->kind == CT_ATOM_MMA);
  field_bool(L, "is_own", a->targets != CT_TARGETS_FROM);
  field_text(L, "dtype", b->dtype == CT_VOID ? NULL : ct_dtypes[b->dtype].name);
  if (a->from_tensor[CT_ATOM_C]) { /* both operands of such a product are contiguous along K */
    field_integer(L, "descriptor", ct_atom_instruction_word(a, false, false));
  }
  lua_createtable(L, CT_ATOM_OPERANDS, 0);
  for (int i = 0; i < (a->vec > 0 ? CT_ATOM_OPERANDS : CT_ATOM_SFA); i++) {
    set_operand(L, a, i);
  }
  lua_setfield(L, -2, "operands");
}

/* Calls a function of atom_fields.lua with the atom's row; it looks at nothing of a trace. */
static void call_fields(lua_State *L, const char *name, const AtomBox *b) {
  state_push_function(L, "cuttle.atom_fields", name);
  push_raw(L, b);
  front_trust(L, 1);
  lua_call(L, 1, 1);
  front_trust(L, -1);
}

/* Pushes the table of fields, which is made once for an atom: its user value. */
static void push_fields(lua_State *L, const AtomBox *b) {
  if (lua_getiuservalue(L, 1, 1) != LUA_TTABLE) {
    lua_pop(L, 1);
    call_fields(L, "of", b);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, 1, 1);
  }
}

static const char *const field_names[] = {
    "name",        "kind",       "family",   "sm",       "arch",     "ptx",        "section",
    "times",       "threads",    "thr_id",   "bits",     "shape",    "dtypes",     "registers",
    "spaces",      "descriptor", "layout_a", "layout_b", "layout_c", "layout_sfa", "layout_sfb",
    "sf_vec_size", "bytes",      "dtype",    "src",      "dst",      "ref",        NULL};

static bool is_field(const char *name) {
  int i = 0;
  while (field_names[i] != NULL && strcmp(field_names[i], name) != 0) {
    i++;
  }
  return field_names[i] != NULL;
}

/* A method, in upvalue 1, or a field; nil if the atom is of the other kind. */
static int field(lua_State *L) {
  const AtomBox *b = check_atom(L);
  lua_settop(L, 2);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) {
    return 1;
  }
  if (!is_field(luaL_tolstring(L, 2, NULL))) {
    return bind_refuse_name(L);
  }
  push_fields(L, b);
  lua_pushvalue(L, 2);
  lua_rawget(L, -2);
  return 1;
}

static int tostring(lua_State *L) {
  call_fields(L, "text", check_atom(L));
  return 1;
}

static int equal(lua_State *L) {
  const AtomBox *a = luaL_testudata(L, 1, ATOM_TYPE), *b = luaL_testudata(L, 2, ATOM_TYPE);
  lua_pushboolean(L, a != NULL && b != NULL && strcmp(a->atom.name, b->atom.name) == 0 &&
                         a->dtype == b->dtype);
  return 1;
}

/* {====== Opening ====== */

static void push_atom(lua_State *L, const CtAtom *atom, CtDtype dtype) {
  AtomBox *box = lua_newuserdatauv(L, sizeof *box, 1);
  box->atom = *atom;
  box->dtype = dtype;
  luaL_setmetatable(L, ATOM_TYPE);
}

/* _kernel.atom(name[, dtype]): the atom, or nil. */
static int find(lua_State *L) {
  CtAtom atom;
  const char *name = luaL_checkstring(L, 1);
  CtDtype dtype = lua_isnoneornil(L, 2) ? CT_VOID : bind_to_dtype(L, 2, "atom");
  if (!ct_atom_find(name, &atom)) {
    lua_pushnil(L);
  } else {
    push_atom(L, &atom, dtype);
  }
  return 1;
}

/* Appends to the table at the top. */
static bool list_atom(void *L, const CtAtom *atom) {
  push_atom(L, atom, CT_VOID);
  lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  return true;
}

/* _kernel.atoms(): all listed atoms. */
static int list(lua_State *L) {
  lua_createtable(L, ct_atom_count(), 0);
  (void)ct_atom_each(list_atom, L);
  return 1;
}

/* _kernel.is_atom_on(atom, sm) */
static int is_on(lua_State *L) {
  const AtomBox *box = check_atom(L);
  lua_pushboolean(L, ct_atom_is_on(&box->atom, (int)luaL_checknumber(L, 2), false));
  return 1;
}

static const luaL_Reg functions[] = {
    {"_kernel.atom", find}, {"_kernel.atoms", list}, {"_kernel.is_atom_on", is_on}, {NULL, NULL}};
static const luaL_Reg meta[] = {{"__tostring", tostring}, {"__eq", equal}, {NULL, NULL}};
static const char *const methods[] = {"show", "explain", "svg", "latex", "html", NULL};

void bind_open_atom(lua_State *L) {
  luaL_setfuncs(L, functions, 0);
  bind_new_type(L, ATOM_TYPE, meta, NULL);
  luaL_getmetatable(L, ATOM_TYPE); /* stack: language, metatable */
  lua_newtable(L);
  bind_add_functions(L, -3, methods);
  bind_set_index(L, field);
  bind_add_fields(L, field_names);
  lua_pop(L, 1);
}
