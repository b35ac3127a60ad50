/* bind_box.c: layouts and swizzles as Lua values: the userdata that hold them, what made them, and
   what else stands for one: a text, a shape. */
#include <string.h>

#include "bind.h"
#include "interp/trace/front.h"

/* {====== Layouts ====== */

/* The userdata: nodes of the shape, then of the stride, behind this struct. Its user values are the
   operands that it was made of. */
typedef struct LayoutBox {
  CtComposed value;
  uint32_t serial;     /* of the trace whose values it holds; 0: static */
  uint8_t n_operands;  /* 0: it was not made by an operation */
  uint8_t ancestors;   /* length of the longest chain of operands below it */
  const char *made_by; /* a string literal: "composition" */
} LayoutBox;

/* Chains of operands are cut here, so that a search that goes on from its last result keeps no more
   than this many of them alive. */
enum { MAX_ANCESTORS = 15, MAX_OPERANDS = 4 };

/* Its address marks the metatable of layouts, at index 1, and finds it in the registry: an operation
   asks several times whether a value is a layout, and names take longer to look up. */
static const char layout_mark;

void bind_mark_layout_type(lua_State *L) {
  luaL_getmetatable(L, LAYOUT_TYPE);
  lua_pushlightuserdata(L, (void *)&layout_mark);
  lua_rawseti(L, -2, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &layout_mark);
}

static bool is_layout(lua_State *L, int idx) {
  if (lua_type(L, idx) != LUA_TUSERDATA || !lua_getmetatable(L, idx)) {
    return false;
  }
  lua_rawgeti(L, -1, 1);
  bool is_marked = lua_touserdata(L, -1) == &layout_mark;
  lua_pop(L, 2);
  return is_marked;
}

static const LayoutBox *test_box(lua_State *L, int idx) {
  const LayoutBox *box = is_layout(L, idx) ? lua_touserdata(L, idx) : NULL;
  if (box != NULL && box->serial != 0) {
    front_check_own(L, box->serial, "a layout with run-time values");
  }
  return box;
}

bool bind_test_composed(lua_State *L, int idx, CtComposed *out) {
  const LayoutBox *box = test_box(L, idx);
  if (box != NULL) {
    *out = box->value;
  }
  return box != NULL;
}

bool bind_test_layout(lua_State *L, int idx, CtLayout *out) {
  const LayoutBox *box = test_box(L, idx);
  if (box == NULL || box->value.is_swizzled) {
    return false;
  }
  *out = box->value.layout;
  return true;
}

static LayoutBox *push_box(lua_State *L, const CtComposed *c, int n_operands) {
  CtLayout l = c->layout;
  size_t n_shape = l.shape->len, n_stride = l.stride->len;
  size_t bytes = sizeof(LayoutBox) + (n_shape + n_stride) * sizeof(CtNode);
  LayoutBox *box = lua_newuserdatauv(L, bytes, n_operands);
  CtNode *nodes = (CtNode *)(box + 1);
  memcpy(nodes, l.shape, n_shape * sizeof *nodes);
  memcpy(nodes + n_shape, l.stride, n_stride * sizeof *nodes);
  *box = (LayoutBox){.value = ct_composed_with(c, (CtLayout){nodes, nodes + n_shape}),
                     .serial = ct_composed_is_static(c) ? 0 : front_serial(L)};
  lua_rawgetp(L, LUA_REGISTRYINDEX, &layout_mark);
  lua_setmetatable(L, -2);
  return box;
}

void bind_push_composed(lua_State *L, const CtComposed *c) { push_box(L, c, 0); }

void bind_push_layout(lua_State *L, CtLayout l) {
  CtComposed c = ct_composed_plain(l);
  push_box(L, &c, 0);
}

/* Pushes operand `idx` as it is kept: a layout whose chain is long without its own operands, a table,
   which a script may change, as its text. Returns the length of its chain. */
static int push_operand(lua_State *L, int idx) {
  const LayoutBox *box = test_box(L, idx);
  if (box != NULL && box->ancestors >= MAX_ANCESTORS) {
    bind_push_composed(L, &box->value);
    return 0;
  }
  if (lua_type(L, idx) == LUA_TTABLE) {
    CtText text;
    CtCx cx = bind_cx(L);
    bind_text_init(&text, &cx);
    ct_tiler_print(&cx, bind_to_tiler(L, idx, &cx, "operand"), &text);
    bind_push_text(L, &text);
    return 0;
  }
  lua_pushvalue(L, idx);
  return box == NULL ? 0 : box->ancestors;
}

void bind_push_made_composed(lua_State *L, const CtComposed *c, const char *op, int n) {
  CT_ASSERT(n <= MAX_OPERANDS);
  LayoutBox *box = push_box(L, c, n);
  for (int i = 1; i <= n; i++) {
    int chain = 1 + push_operand(L, i);
    box->ancestors = (uint8_t)ct_max(chain, box->ancestors);
    lua_setiuservalue(L, -2, i);
  }
  box->made_by = op;
  box->n_operands = (uint8_t)n;
}

int bind_push_origin(lua_State *L, int idx) {
  const LayoutBox *box = luaL_checkudata(L, idx, LAYOUT_TYPE);
  if (box->made_by == NULL) {
    return 0;
  }
  lua_pushstring(L, box->made_by);
  for (int i = 1; i <= box->n_operands; i++) {
    lua_getiuservalue(L, idx, i);
  }
  return 1 + box->n_operands;
}

/* An object in Lua whose type has the metafield __layout, the name of its field that holds a layout:
   a mesh. The object keeps the layout alive. */
static bool test_object(lua_State *L, int idx, CtComposed *out) {
  if (lua_type(L, idx) != LUA_TTABLE || luaL_getmetafield(L, idx, "__layout") == LUA_TNIL) {
    return false;
  }
  lua_rawget(L, idx);
  bool is_layout = bind_test_composed(L, -1, out);
  lua_pop(L, 1);
  return is_layout;
}

CtComposed bind_to_composed(lua_State *L, int idx, const CtCx *cx, const char *op) {
  CtComposed c = {.is_swizzled = false};
  CtErr err;
  idx = lua_absindex(L, idx);
  if (bind_test_composed(L, idx, &c) || test_object(L, idx, &c)) {
    return c;
  }
  int type = lua_type(L, idx);
  if (type == LUA_TSTRING) {
    size_t len;
    const char *text = lua_tolstring(L, idx, &len);
    diag_check(L, ct_composed_parse(cx->arena, text, len, &c, &err), &err);
    return c;
  }
  CtInt i;
  if (type != LUA_TTABLE && !bind_test_int(L, idx, op, &i)) {
    diag_type_error(L, idx, op, "a layout, a shape or a string like \"(4,8):(8,1)\"");
  }
  CtTuple shape = bind_to_shape(L, idx, cx, op);
  diag_check(L, ct_layout_make(cx, shape, NULL, &c.layout, &err), &err);
  return c;
}

void bind_check_plain(lua_State *L, const CtCx *cx, const CtComposed *c, const char *op) {
  if (c->is_swizzled) {
    diag_error(
        L, "%s: %s is swizzled, which %s does not support; a layout without a swizzle was expected",
        op, bind_composed_text(cx, c), op);
  }
}

CtLayout bind_to_layout(lua_State *L, int idx, const CtCx *cx, const char *op) {
  CtComposed c = bind_to_composed(L, idx, cx, op);
  bind_check_plain(L, cx, &c, op);
  return c.layout;
}

/* {====== Swizzles ====== */

bool bind_is_swizzle(lua_State *L, int idx) {
  if (lua_type(L, idx) == LUA_TSTRING) {
    const char *text = lua_tostring(L, idx);
    return ct_begins_swizzle(text, (size_t)lua_rawlen(L, idx)) && strchr(text, 'o') == NULL;
  }
  return luaL_testudata(L, idx, SWIZZLE_TYPE) != NULL;
}

CtSwizzle bind_to_swizzle(lua_State *L, int idx, const CtCx *cx, const char *op) {
  CtErr err;
  CtSwizzle sw = {0, 0, 0};
  const CtSwizzle *object = luaL_testudata(L, idx, SWIZZLE_TYPE);
  if (object != NULL) {
    return *object;
  }
  if (lua_type(L, idx) != LUA_TSTRING) {
    diag_type_error(L, idx, op, "a swizzle or a string like \"Sw<2,0,3>\"");
  }
  size_t len;
  const char *text = lua_tolstring(L, idx, &len);
  diag_check(L, ct_swizzle_parse(cx->arena, text, len, &sw, &err), &err);
  return sw;
}

void bind_push_swizzle(lua_State *L, CtSwizzle sw) {
  CtSwizzle *object = lua_newuserdatauv(L, sizeof *object, 0);
  *object = sw;
  luaL_setmetatable(L, SWIZZLE_TYPE);
}

/* The CtInt form needs no memory, and most layouts have no basis strides. */
int bind_push_value(lua_State *L, CtAlg *g, CtTuple crd, const CtComposed *l) {
  if (ct_has_basis(l->layout.stride)) {
    CtTuple t = al_evaluate(g, crd, *l);
    bind_check(L, g);
    bind_push_tuple(L, t);
  } else {
    CtInt i = al_index(g, crd, *l);
    bind_check(L, g);
    bind_push_int(L, i);
  }
  return 1;
}
