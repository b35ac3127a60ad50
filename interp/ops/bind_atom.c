/* bind_atom.c: MMA and copy atoms in Lua: objects with fields, made by _kernel.atom, which
   stdlib/language/atom.lua wraps. A copy atom may know the type of the elements that it moves. */
#include "interp/algebra/bind.h"
#include "interp/openers.h"
#include "access.h"

#include <stdio.h>
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

static int push_text(lua_State *L, const char *text) {
  if (*text == '\0') {
    lua_pushnil(L);
  } else {
    lua_pushstring(L, text);
  }
  return 1;
}

/* A layout from the tables, which are known to be valid. */
static int push_layout(lua_State *L, const char *text) {
  CtLayout l;
  CtCx cx = bind_enter(L);
  diag_try(L, ct_layout_parse(cx.arena, text, strlen(text), &l, diag_err(L)));
  bind_push_layout(L, l);
  return 1;
}

/* The language's type of this name, else the name. */
static void push_type(lua_State *L, const char *name) {
  CtDtype t = ct_dtype_from_name(name);
  if (t == CT_VOID) {
    lua_pushstring(L, name);
  } else {
    bind_push_dtype(L, t);
  }
}

static int name_field(lua_State *L, const AtomBox *b) { return push_text(L, b->atom.name); }
static int ptx_field(lua_State *L, const AtomBox *b) { return push_text(L, b->atom.ptx); }
static int section_field(lua_State *L, const AtomBox *b) { return push_text(L, b->atom.section); }
static int family_field(lua_State *L, const AtomBox *b) { return push_text(L, b->atom.family); }
static int thr_id_field(lua_State *L, const AtomBox *b) { return push_layout(L, b->atom.thr_id); }

static int kind_field(lua_State *L, const AtomBox *b) {
  return push_text(L, b->atom.kind == CT_ATOM_MMA ? "mma" : "copy");
}

static int sm_field(lua_State *L, const AtomBox *b) {
  lua_pushinteger(L, b->atom.sm);
  return 1;
}

static int arch_field(lua_State *L, const AtomBox *b) {
  if (b->atom.sm == 0) {
    lua_pushliteral(L, "any");
  } else {
    lua_pushfstring(L, "sm_%d%s", b->atom.sm, b->atom.targets != CT_TARGETS_FROM ? "a" : "");
  }
  return 1;
}

static int threads_field(lua_State *L, const AtomBox *b) {
  lua_pushinteger(L, b->atom.threads);
  return 1;
}

static int times_field(lua_State *L, const AtomBox *b) {
  lua_pushinteger(L, b->atom.times);
  return 1;
}

static const char *const operand_names[CT_ATOM_OPERANDS] = {
    [CT_ATOM_A] = "a", [CT_ATOM_B] = "b",     [CT_ATOM_C] = "c",
    [CT_ATOM_D] = "d", [CT_ATOM_SFA] = "sfa", [CT_ATOM_SFB] = "sfb"};

/* Operands of an atom: those of scales come last. */
static int count_operands(const AtomBox *b) {
  return b->atom.vec > 0 ? CT_ATOM_OPERANDS : CT_ATOM_SFA;
}

static int shape_field(lua_State *L, const AtomBox *b) {
  CtCx cx = bind_enter(L);
  CtInt mnk[] = {ct_int(b->atom.m), ct_int(b->atom.n), ct_int(b->atom.k)};
  CtTuple shape = ct_tuple_ints(cx.arena, 3, mnk);
  if (shape == NULL) {
    return diag_error(L, "not enough memory");
  }
  bind_push_tuple(L, shape);
  return 1;
}

static int dtypes_field(lua_State *L, const AtomBox *b) {
  lua_createtable(L, 0, count_operands(b));
  for (int i = 0; i < count_operands(b); i++) {
    push_type(L, b->atom.types[i].name);
    lua_setfield(L, -2, operand_names[i]);
  }
  return 1;
}

static int registers_field(lua_State *L, const AtomBox *b) {
  lua_createtable(L, 0, count_operands(b));
  for (int i = 0; i < count_operands(b); i++) {
    lua_pushinteger(L, b->atom.registers[i]);
    lua_setfield(L, -2, operand_names[i]);
  }
  return 1;
}

static int spaces_field(lua_State *L, const AtomBox *b) {
  lua_createtable(L, 0, count_operands(b));
  for (int i = 0; i < count_operands(b); i++) {
    lua_pushstring(L, b->atom.from_shared[i]   ? "shared"
                      : b->atom.from_tensor[i] ? "tensor"
                                               : "registers");
    lua_setfield(L, -2, operand_names[i]);
  }
  return 1;
}

/* Of a product by tcgen05, both of whose operands are contiguous along K. */
static int descriptor_field(lua_State *L, const AtomBox *b) {
  if (b->atom.from_tensor[CT_ATOM_C]) {
    lua_pushinteger(L, ct_atom_instruction_word(&b->atom, false, false));
  } else {
    lua_pushnil(L);
  }
  return 1;
}

/* The bits of a copy's data; for an MMA, the bits of one element, by operand. */
static int bits_field(lua_State *L, const AtomBox *b) {
  if (b->atom.kind == CT_ATOM_COPY) {
    CtLayout ref;
    CtInt n = ct_int(0);
    CtErr err;
    CtCx cx = bind_enter(L);
    const char *text = b->atom.layouts[CT_ATOM_REF];
    diag_check(L, ct_layout_parse(cx.arena, text, strlen(text), &ref, &err), &err);
    diag_check(L, ct_cosize(&cx, ref, &n, &err), &err);
    bind_push_int(L, n);
    return 1;
  }
  lua_createtable(L, 0, count_operands(b));
  for (int i = 0; i < count_operands(b); i++) {
    lua_pushinteger(L, b->atom.types[i].bits);
    lua_setfield(L, -2, operand_names[i]);
  }
  return 1;
}

static int bytes_field(lua_State *L, const AtomBox *b) {
  bits_field(L, b);
  lua_pushinteger(L, lua_tointeger(L, -1) / 8);
  return 1;
}

static int dtype_field(lua_State *L, const AtomBox *b) {
  if (b->dtype == CT_VOID) {
    lua_pushnil(L);
  } else {
    bind_push_dtype(L, b->dtype);
  }
  return 1;
}

static int layout0_field(lua_State *L, const AtomBox *b) {
  return push_layout(L, b->atom.layouts[0]);
}
static int layout1_field(lua_State *L, const AtomBox *b) {
  return push_layout(L, b->atom.layouts[1]);
}
static int layout2_field(lua_State *L, const AtomBox *b) {
  return push_layout(L, b->atom.layouts[2]);
}

/* Of scales, which most atoms do not have. */
static int push_scales(lua_State *L, const AtomBox *b, CtAtomOperand of) {
  if (b->atom.vec == 0) {
    lua_pushnil(L);
    return 1;
  }
  return push_layout(L, b->atom.layouts[of]);
}
static int sfa_field(lua_State *L, const AtomBox *b) { return push_scales(L, b, CT_ATOM_SFA); }
static int sfb_field(lua_State *L, const AtomBox *b) { return push_scales(L, b, CT_ATOM_SFB); }

static int sf_vec_size_field(lua_State *L, const AtomBox *b) {
  if (b->atom.vec == 0) {
    lua_pushnil(L);
  } else {
    lua_pushinteger(L, b->atom.k / b->atom.vec);
  }
  return 1;
}

enum { OF_MMA = 1, OF_COPY = 2, OF_ALL = 3 };

static const struct {
  const char *name;
  int of;
  int (*push)(lua_State *L, const AtomBox *b);
} fields[] = {
    {"name", OF_ALL, name_field},        {"kind", OF_ALL, kind_field},
    {"family", OF_ALL, family_field},    {"sm", OF_ALL, sm_field},
    {"arch", OF_ALL, arch_field},        {"ptx", OF_ALL, ptx_field},
    {"section", OF_ALL, section_field},  {"times", OF_ALL, times_field},
    {"threads", OF_ALL, threads_field},  {"thr_id", OF_ALL, thr_id_field},
    {"bits", OF_ALL, bits_field},        {"shape", OF_MMA, shape_field},
    {"dtypes", OF_MMA, dtypes_field},    {"registers", OF_MMA, registers_field},
    {"spaces", OF_MMA, spaces_field},    {"descriptor", OF_MMA, descriptor_field},
    {"layout_a", OF_MMA, layout0_field}, {"layout_b", OF_MMA, layout1_field},
    {"layout_c", OF_MMA, layout2_field}, {"layout_sfa", OF_MMA, sfa_field},
    {"layout_sfb", OF_MMA, sfb_field},   {"sf_vec_size", OF_MMA, sf_vec_size_field},
    {"bytes", OF_COPY, bytes_field},     {"dtype", OF_COPY, dtype_field},
    {"src", OF_COPY, layout0_field},     {"dst", OF_COPY, layout1_field},
    {"ref", OF_COPY, layout2_field},
};

/* A method, in upvalue 1, or a field; nil if the atom is of the other kind. */
static int field(lua_State *L) {
  const AtomBox *b = check_atom(L);
  int of = b->atom.kind == CT_ATOM_MMA ? OF_MMA : OF_COPY;
  lua_settop(L, 2);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) {
    return 1;
  }
  const char *name = luaL_tolstring(L, 2, NULL);
  for (size_t i = 0; i < CT_ARRAY_LEN(fields); i++) {
    if (strcmp(name, fields[i].name) == 0) {
      return (fields[i].of & of) != 0 ? fields[i].push(L, b) : 0;
    }
  }
  return bind_refuse_name(L);
}

/* {====== Text ====== */

static void add_line(luaL_Buffer *b, const char *what, const char *type, const char *layout,
                     const char *more) {
  char line[200];
  snprintf(line, sizeof line, "\n  %-4s%s%s%s%s", what, type, *type == '\0' ? "" : " ", layout,
           more);
  luaL_addstring(b, line);
}

static void add_mma(luaL_Buffer *b, const CtAtom *a) {
  static const char *const names[] = {"A", "B", "C"};
  char line[100];
  snprintf(line, sizeof line, "\n  MNK (%d,%d,%d)", a->m, a->n, a->k);
  luaL_addstring(b, line);
  for (int i = 0; i < 3; i++) {
    add_line(b, names[i], a->types[i].name, a->layouts[i],
             a->from_shared[i]   ? ", in shared memory"
             : a->from_tensor[i] ? ", in tensor memory"
                                 : "");
  }
  if (strcmp(a->types[CT_ATOM_C].name, a->types[CT_ATOM_D].name) != 0) {
    add_line(b, "D", a->types[CT_ATOM_D].name, "as C", "");
  }
  if (a->vec > 0) {
    add_line(b, "SFA", a->types[CT_ATOM_SFA].name, a->layouts[CT_ATOM_SFA], "");
    add_line(b, "SFB", a->types[CT_ATOM_SFB].name, a->layouts[CT_ATOM_SFB], "");
  }
}

/* The name, what it is in PTX, and its layouts, one a line. */
static int tostring(lua_State *L) {
  static const char *const sides[] = {"src", "dst", "ref"};
  const AtomBox *box = check_atom(L);
  const CtAtom *a = &box->atom;
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  luaL_addstring(&b, a->name);
  if (box->dtype != CT_VOID) {
    luaL_addstring(&b, " of ");
    luaL_addstring(&b, ct_dtypes[box->dtype].name);
  }
  if (*a->ptx != '\0') {
    char line[CT_ATOM_PTX_MAX + 100];
    snprintf(line, sizeof line, "\n  %s%s\n  sm_%d%s, PTX ISA section %s", a->ptx,
             a->times == 4   ? ", 4 times"
             : a->times == 3 ? ", 3 times"
                             : "",
             a->sm, a->targets != CT_TARGETS_FROM ? "a" : "", a->section);
    luaL_addstring(&b, line);
  }
  add_line(&b, "thr", "", a->thr_id, "");
  if (a->kind == CT_ATOM_MMA) {
    add_mma(&b, a);
  }
  for (int i = 0; a->kind == CT_ATOM_COPY && i < 3; i++) {
    add_line(&b, sides[i], "", a->layouts[i], i == 0 ? " (thread,bit)" : "");
  }
  luaL_pushresult(&b);
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
  AtomBox *box = lua_newuserdatauv(L, sizeof *box, 0);
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
  const char *field_names[CT_ARRAY_LEN(fields) + 1] = {NULL};
  luaL_setfuncs(L, functions, 0);
  bind_new_type(L, ATOM_TYPE, meta, NULL);
  luaL_getmetatable(L, ATOM_TYPE); /* stack: language, metatable */
  lua_newtable(L);
  bind_add_functions(L, -3, methods);
  bind_set_index(L, field);
  for (size_t i = 0; i < CT_ARRAY_LEN(fields); i++) {
    field_names[i] = fields[i].name;
  }
  bind_add_fields(L, field_names);
  lua_pop(L, 1);
}
