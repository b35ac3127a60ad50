/* bind_escape.c: cuda(...), CUDA C as it is, and ptx(...), instructions as they are: named operands,
   results, and the Lua function that may stand in for the text on the CPU engine. */
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "access.h"
#include "interp/algebra/bind.h"
#include "interp/trace/front.h"
#include "interp/front/front_reads.h"
#include "interp/state/state.h"
#include "interp/trace/value.h"
#include "interp/openers.h"

enum { MAX_OPERANDS = 32 };

/* The arguments, after arrange; OPERANDS becomes a table that the twin is called with. */
enum { TEXT = 1, OPERANDS, TYPE, TWIN };

/* A call in progress. */
typedef struct Code {
  lua_State *L;
  CtIr *ir;
  const char *op; /* "cuda" or "ptx" */
  CtEscape is;    /* its arrays are those below */
  CtDtype type;   /* of the expression, or CT_VOID */
  const char *names[MAX_OPERANDS];
  CtVal vals[MAX_OPERANDS];
  bool is_literal[MAX_OPERANDS];
  CtTextPlace places[MAX_OPERANDS];
  CtTextOut outs[MAX_OPERANDS];
} Code;

/* {====== The arguments ====== */

/* A function may take the place of any optional argument: it is the twin. */
static void arrange(lua_State *L, const char *op, int operands) {
  luaL_checkstring(L, TEXT);
  int twin = OPERANDS;
  while (twin < TWIN && !lua_isfunction(L, twin)) {
    twin++;
  }
  lua_settop(L, twin < TWIN && lua_isfunction(L, twin) ? twin : TWIN);
  while (lua_gettop(L) < TWIN) {
    lua_pushnil(L);
    lua_insert(L, -2);
  }
  if (!lua_isnil(L, operands) && !lua_istable(L, operands)) {
    diag_type_error(L, operands, op, "a table of operands, {name = value},");
  }
  if (lua_iscfunction(L, TWIN)) {
    diag_error(L,
               "%s: the Lua twin is a C function, whose parameters have no names; write "
               "function(x) return f(x) end",
               op);
  } else if (!lua_isnil(L, TWIN) && !lua_isfunction(L, TWIN)) {
    diag_type_error(L, TWIN, op, "a Lua function, the source's twin,");
  }
}

/* ptx has the results before the operands. */
static void exchange_tables(lua_State *L) {
  lua_pushvalue(L, OPERANDS);
  lua_pushvalue(L, TYPE);
  lua_replace(L, OPERANDS);
  lua_replace(L, TYPE);
}

static void fail_number(const Code *c) {
  diag_error(c->L, "%s: operands are named, and at most %d", c->op, MAX_OPERANDS);
}

/* }====== Names in the text ====== */

typedef struct Name {
  const char *at;
  size_t len;
} Name;

/* The next $name of the text from *s on, which moves past it; false: there is none. */
static bool next_name(const char **s, Name *name) {
  while ((*s = strchr(*s, '$')) != NULL) {
    bool is_dollar = (*s)[1] == '$';
    name->at = *s + 1;
    *s += is_dollar ? 2 : 1;
    while (!is_dollar && ct_is_word(**s)) {
      (*s)++;
    }
    if (!is_dollar) {
      name->len = (size_t)(*s - name->at);
      return true;
    }
  }
  return false;
}

/* Where the text has $name first; NULL: nowhere. */
static const char *place_in(const char *text, const char *wanted) {
  for (Name name; next_name(&text, &name);) {
    if (strlen(wanted) == name.len && strncmp(wanted, name.at, name.len) == 0) {
      return name.at;
    }
  }
  return NULL;
}

static void check_stands(const Code *c, const char *what, const char *name) {
  if (place_in(c->is.text, name) == NULL) {
    diag_error(c->L,
               "%s: the source does not use the %s '%s'; write $%s where it belongs, or leave it "
               "out",
               c->op, what, name, name);
  }
}

/* }====== Tensors: addresses ====== */

/* Puts the tensor that begins at its element in place of {tensor, coordinate} on top of the stack. */
static void to_element(Code *c, const char *name) {
  lua_State *L = c->L;
  CtCx cx = bind_enter(L);
  lua_rawgeti(L, -1, 1);
  lua_rawgeti(L, -2, 2);
  const Tensor *t = tensor_test(L, -2);
  if (t == NULL || lua_isnil(L, -1)) {
    diag_error(L, "%s: operand '%s' is a table; the address of an element is {tensor, coordinate}",
               c->op, name);
  }
  CtVal offset;
  CtTuple crd = bind_to_tuple(L, -1, &cx, c->op);
  access_view(L, -2, c->op);
  diag_try(L, ct_ir_offset(c->ir, tensor_view(t), crd, &offset, diag_err(L)));
  lua_pop(L, 1); /* stack: table, tensor */
  tensor_push_part(L, t, t->layout, ct_ir_int(c->ir, offset), NULL);
  lua_replace(L, -3);
  lua_pop(L, 1);
}

static void check_address(const Code *c, const char *name) {
  lua_State *L = c->L;
  const Tensor *t = tensor_check(L, -1, c->op);
  if (t->space == CT_REGISTER) {
    diag_error(L,
               "%s: operand '%s' is a tensor in registers, which have no address; pass its "
               "elements as values",
               c->op, name);
  }
  if (t->is_guarded) {
    diag_error(L,
               "%s: operand '%s' is guarded, but the source would bypass the guard; pass the "
               "unguarded tensor, and test the coordinate",
               c->op, name);
  }
}

/* The tensor on top of the stack. */
static void take_tensor(Code *c, const char *name) {
  lua_State *L = c->L;
  CtVal offset;
  CtView v = access_view(L, -1, c->op);
  check_address(c, name);
  CtTuple zero = ct_leaf(&c->ir->arena, ct_int(0));
  if (ct_ir_is_packed(c->ir, v.buf)) {
    diag_error(L, "%s: '%s' has elements of %s, two of which share a byte; pass recast(t, u8)",
               c->op, name, ct_dtypes[c->ir->bufs[v.buf].dtype].name);
  }
  v.layout = (CtLayout){zero, zero}; /* of any shape: its first element */
  if (zero == NULL) {
    luaL_error(L, "not enough memory");
  }
  diag_try(L, ct_ir_offset(c->ir, v, zero, &offset, diag_err(L)));
  c->places[c->is.n_places++] = (CtTextPlace){name, v.buf, ct_ir_place(c->ir, v.buf, offset)};
}

/* The mbarrier on top of the stack. */
static void take_mbarrier(Code *c, const char *name) {
  uint32_t buf;
  CtVal slot;
  bind_to_mbarrier(c->L, -1, c->op, &buf, &slot);
  c->places[c->is.n_places++] = (CtTextPlace){name, buf, slot};
}

/* }====== Values and results ====== */

/* Registers of PTX have 16, 32 or 64 bits. */
static void check_register(const Code *c, const char *name, CtDtype type) {
  if (c->is.is_ptx && ct_dtypes[type].bits < 16) {
    diag_error(c->L,
               "ptx: '%s' has type %s, but registers of PTX have 16, 32 or 64 bits; use a wider "
               "type, with cast or bitcast",
               name, ct_dtypes[type].name);
  }
}

static void take_value(Code *c, const char *name) {
  int i = c->is.n++;
  c->names[i] = name;
  c->vals[i] = value_shown(c->L, value_to(c->L, -1, CT_VOID, c->op));
  c->is_literal[i] = c->is.is_ptx && lua_type(c->L, -1) == LUA_TNUMBER;
  check_register(c, name, (CtDtype)ct_inst(c->ir, c->vals[i])->type);
}

static CtTextOut *find_out(Code *c, const char *name) {
  for (int i = 0; i < c->is.n_outs; i++) {
    if (strcmp(c->outs[i].name, name) == 0) {
      return &c->outs[i];
    }
  }
  return NULL;
}

/* Every name in the text is an operand or a result. */
static void check_text(Code *c) {
  lua_State *L = c->L;
  int top = lua_gettop(L);
  const char *s = c->is.text;
  for (Name name; next_name(&s, &name);) {
    const char *wanted = lua_pushlstring(L, name.at, name.len);
    bool is_operand = lua_istable(L, OPERANDS) && lua_getfield(L, OPERANDS, wanted) != LUA_TNIL;
    if (!is_operand && find_out(c, wanted) == NULL) {
      diag_error(L, "%s: '$%s' has no operand of that name; give it one, or write $$ for a $",
                 c->op, wanted);
    }
    lua_settop(L, top);
  }
}

/* An operand with the name of a result is what its variable holds before. */
static void take_operand(Code *c, const char *name) {
  lua_State *L = c->L;
  CtTextOut *out = find_out(c, name);
  if (lua_istable(L, -1) && tensor_test(L, -1) == NULL) {
    to_element(c, name);
  }
  if (out != NULL) {
    const char *what = lua_pushfstring(L, "%s: the result '%s'", c->op, name);
    out->from = value_to(L, -2, out->type, what);
    lua_pop(L, 1);
  } else if (tensor_test(L, -1) != NULL) {
    take_tensor(c, name);
  } else if (bind_is_mbarrier(L, -1)) {
    take_mbarrier(c, name);
  } else {
    take_value(c, name);
  }
}

/* The names of the operands in the order of the text, so that equal scripts give equal kernels. */
static int sort_names(const Code *c, const char *names[]) {
  lua_State *L = c->L;
  int n = 0;
  lua_pushnil(L);
  while (lua_next(L, OPERANDS) != 0) {
    lua_pop(L, 1);
    if (n == MAX_OPERANDS || lua_type(L, -1) != LUA_TSTRING) {
      fail_number(c);
    }
    const char *name = lua_tostring(L, -1), *at = place_in(c->is.text, name);
    check_stands(c, "operand", name);
    int i = n++;
    for (; i > 0 && at < place_in(c->is.text, names[i - 1]); i--) {
      names[i] = names[i - 1];
    }
    names[i] = name;
  }
  return n;
}

/* Takes the operands. The table that has them for the twin is a copy. */
static void take_operands(Code *c) {
  lua_State *L = c->L;
  const char *names[MAX_OPERANDS];
  bool has_table = lua_istable(L, OPERANDS);
  int n = has_table ? sort_names(c, names) : 0;
  lua_newtable(L);
  for (int i = 0; i < n; i++) {
    lua_getfield(L, OPERANDS, names[i]);
    take_operand(c, names[i]);
    lua_setfield(L, -2, names[i]);
  }
  if (has_table) {
    lua_pushvalue(L, OPERANDS); /* keeps the names */
    lua_insert(L, TWIN + 1);
  }
  lua_replace(L, OPERANDS);
}

/* Results that have names come in the order of the text. */
static void insert_out(Code *c, CtTextOut out) {
  const char *at = place_in(c->is.text, out.name);
  int i = c->is.n_outs++;
  for (; i > 0 && at < place_in(c->is.text, c->outs[i - 1].name); i--) {
    c->outs[i] = c->outs[i - 1];
  }
  c->outs[i] = out;
}

/* The type on top of the stack. */
static CtDtype to_type(const Code *c, const char *name) {
  CtDtype type;
  if (lua_type(c->L, -1) != LUA_TSTRING && !bind_test_dtype(c->L, -1, &type)) {
    diag_error(c->L, "%s: the result '%s' is %s; expected an element type like f32, as in %s",
               c->op, name, diag_push_kind(c->L, -1),
               c->is.is_ptx ? "ptx(text, {d = f32}, {a = value})"
                            : "cuda(text, {a = value}, {d = f32})");
  }
  return bind_to_dtype(c->L, -1, c->op);
}

static void take_out(Code *c, const char *name, bool is_ordered) {
  CtTextOut out = {.name = name, .type = to_type(c, name)};
  if (c->is.n_outs == MAX_OPERANDS) {
    fail_number(c);
  }
  check_stands(c, "result", name);
  check_register(c, name, out.type);
  if (is_ordered) {
    c->outs[c->is.n_outs++] = out;
  } else {
    insert_out(c, out);
  }
}

/* {f32, i32}: $1 and $2. */
static void take_list(Code *c, lua_Integer n) {
  lua_State *L = c->L;
  for (lua_Integer i = 1; i <= n; i++) {
    const char *name = lua_pushfstring(L, "%I", (LUAI_UACINT)i); /* stays on the stack */
    lua_rawgeti(L, TYPE, i);
    take_out(c, name, true);
    lua_pop(L, 1);
  }
}

/* {d = f32}, in a table whose list has n entries. */
static void take_named(Code *c, lua_Integer n) {
  lua_State *L = c->L;
  lua_pushnil(L);
  while (lua_next(L, TYPE) != 0) {
    if (n == 0 && lua_type(L, -2) == LUA_TSTRING) {
      take_out(c, lua_tostring(L, -2), false);
    } else if (n == 0 || !lua_isinteger(L, -2)) {
      diag_error(L, "%s: the results have names, {d = u32}, or are a list, {u32}; not both", c->op);
    }
    lua_pop(L, 1);
  }
}

/* The type of an expression, or the results: a type alone is the result $1 of PTX. Names of a list
   are left on the stack. */
static void take_results(Code *c) {
  lua_State *L = c->L;
  c->type = CT_VOID;
  if (lua_istable(L, TYPE)) {
    lua_Integer n = luaL_len(L, TYPE);
    take_list(c, n);
    take_named(c, n);
  } else if (!lua_isnil(L, TYPE) && c->is.is_ptx) {
    lua_pushvalue(L, TYPE);
    take_out(c, "1", true);
    lua_pop(L, 1);
  } else if (!lua_isnil(L, TYPE)) {
    c->type = bind_to_dtype(L, TYPE, c->op);
  }
}

/* }====== The twin ====== */

/* Pushes the operand for each parameter of the twin; returns their number. */
static int push_twin_arguments(const Code *c) {
  lua_State *L = c->L;
  int n = 0;
  for (;; n++) {
    luaL_checkstack(L, 4, NULL);
    lua_pushvalue(L, TWIN);
    const char *name = lua_getlocal(L, NULL, n + 1);
    lua_pop(L, 1);
    if (name == NULL) {
      return n;
    }
    if (lua_getfield(L, OPERANDS, name) == LUA_TNIL) {
      diag_error(L,
                 "%s: the Lua twin has a parameter '%s', but there is no operand of that name; "
                 "its parameters have the names of the operands",
                 c->op, name);
    }
  }
}

static void check_count(const Code *c, int expected, int n) {
  static const char *const rules[] = {
      ("%s: the Lua twin of a statement returns %d values; expected none, or give the expression's "
       "type"),
      "%s: the Lua twin of an expression returns %d values; expected one",
      "%s: the Lua twin returns %d values, but the source has %d results"};
  if (n != expected) {
    diag_error(c->L, rules[expected > 2 ? 2 : expected], c->op, n, expected);
  }
}

/* Traces the twin in place of the text; returns the number of results on the stack. */
static int call_twin(const Code *c) {
  lua_State *L = c->L;
  int expected = c->type != CT_VOID ? 1 : c->is.n_outs;
  int base = lua_gettop(L);
  if (front_convert_function(L, TWIN, RW_HELPER) != LUA_OK) {
    return lua_error(L);
  }
  lua_call(L, push_twin_arguments(c), LUA_MULTRET);
  int n = lua_gettop(L) - base;
  front_here(L, c->op);
  check_count(c, expected, n);
  const char *what = lua_pushfstring(L, "%s: the Lua twin", c->op);
  luaL_checkstack(L, n, NULL);
  for (int i = 0; i < n; i++) {
    CtDtype type = c->type != CT_VOID ? c->type : c->outs[i].type;
    value_push(L, value_to(L, base + 1 + i, type, what));
  }
  return n;
}

/* }====== The functions ====== */

static int push_results(const Code *c, CtVal v) {
  const CtEscape *made = ct_inst(c->ir, v)->u.escape;
  if (c->type != CT_VOID) {
    value_push(c->L, v);
    return 1;
  }
  luaL_checkstack(c->L, c->is.n_outs, NULL);
  for (int i = 0; v != 0 && i < c->is.n_outs; i++) {
    value_push(c->L, made->outs[i].val);
  }
  return c->is.n_outs;
}

static int run(lua_State *L, const char *op, bool is_ptx) {
  Code c = {.L = L, .ir = front_here(L, op), .op = op};
  arrange(L, op, is_ptx ? TYPE : OPERANDS);
  if (is_ptx) {
    exchange_tables(L);
  }
  c.is = (CtEscape){.text = lua_tostring(L, TEXT),
                    .names = c.names,
                    .vals = c.vals,
                    .is_literal = c.is_literal,
                    .outs = c.outs,
                    .places = c.places,
                    .is_ptx = is_ptx};
  take_results(&c);
  check_text(&c);
  take_operands(&c);
  if (!c.ir->target.is_cuda && !lua_isnil(L, TWIN)) {
    return call_twin(&c);
  }
  return push_results(&c, ct_ir_code(c.ir, c.type, &c.is));
}

/* cuda[[text]] or cuda([[text]][, {name = value, ...}][, results][, twin]) */
static int escape(lua_State *L) { return run(L, "cuda", false); }

/* ptx([[text]][, results][, {name = value, ...}][, twin]) */
static int instructions(lua_State *L) { return run(L, "ptx", true); }

/* In a sandbox no text of a script reaches a compiler: CUDA C could include the host's files, and PTX
   can address all memory of the device. */
static void check_sandbox(lua_State *L, const char *op, const char *why) {
  const CtIr *ir = front_here(L, op);
  if (ir->target.is_cuda && state_of(L)->options.sandbox != 0) {
    diag_error(L, "%s: a sandboxed script cannot bring %s; on the CPU engine its Lua twin runs", op,
               why);
  }
}

static int lang_cuda(lua_State *L) {
  check_sandbox(L, "cuda", "CUDA C of its own: it could include the host's files");
  return escape(L);
}

static int lang_ptx(lua_State *L) {
  check_sandbox(L, "ptx", "PTX of its own: it could read all memory of the device");
  return instructions(L);
}

/* The library's own texts are trusted. */
static const luaL_Reg escape_functions[] = {{"cuda", lang_cuda},
                                            {"ptx", lang_ptx},
                                            {"_kernel.cuda", escape},
                                            {"_kernel.ptx", instructions},
                                            {NULL, NULL}};

void bind_open_escape(lua_State *L) { luaL_setfuncs(L, escape_functions, 0); }
/* }====== */
