/* repl_input.c: loads an input as an expression, as a layout, or as statements with more lines while
   they are incomplete; in the manner of lua.c. */
#include "repl_parts.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "interp/state/note.h"
#include "interp/state/state_language.h"

typedef struct Input {
  lua_State *L;
  Editor *editor;
  int number;
  int text; /* stack index */
} Input;

/* Every input is a chunk of its own name, so that the source of its kernels is found. */
static int load_text(const Input *in, const char *text, size_t len) {
  char name[32];
  snprintf(name, sizeof name, NOTE_INPUT_PREFIX "%d", in->number);
  return locals_load(in->L, text, len, name);
}

/* As an expression: pushes the function or the message. */
static int load_expression(const Input *in) {
  size_t len;
  lua_State *L = in->L;
  lua_pushliteral(L, "return ");
  lua_pushvalue(L, in->text);
  lua_concat(L, 2);
  const char *text = lua_tolstring(L, -1, &len);
  int status = load_text(in, text, len); /* stack: text, function or message */
  lua_remove(L, -2);
  return status;
}

/* As statements: the same. */
static int load_statements(const Input *in) {
  size_t len;
  const char *text = lua_tolstring(in->L, in->text, &len);
  return load_text(in, text, len);
}

/* {====== Layouts ====== */

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

static bool is_swizzle_text(const char *text) {
  return ct_begins_swizzle(text, strlen(text)) && strchr(text, '(') == NULL &&
         strchr(text, ':') == NULL;
}

/* A text of the characters of layouts: `(4,8):(8,1)`, `(M=4,K=8):(8,1)`, `Sw<2,0,3> o 0 o (4,8)`,
   `Sw<2,0,3>`, `gmem_ptr[32b](0x7f40) o (_4,_8):(_8,_1)`. */
static bool is_layout_text(const char *text) {
  bool lettered = ct_begins_swizzle(text, strlen(text)) || strstr(text, "ptr[") != NULL ||
                  (text[0] == '(' && strpbrk(text, "=<") != NULL);
  size_t n = strspn(text, lettered ? DIGITS LETTERS "()[],:_@-=<> \t" : DIGITS "(),:_@- \t");
  return text[n] == '\0' && strpbrk(text, "(:<") != NULL;
}

static int return_upvalue(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  return 1;
}

/* Pushes the layout, or the swizzle, that the text is. */
static CtStatus push_layout(const Input *in, CtErr *err) {
  CtComposed l;
  CtSwizzle sw;
  size_t len;
  const char *text = lua_tolstring(in->L, in->text, &len);
  CtCx cx = bind_enter(in->L);
  bool is_swizzle = is_swizzle_text(text);
  CtStatus status = is_swizzle ? ct_swizzle_parse(cx.arena, text, len, &sw, err)
                               : ct_composed_parse(cx.arena, text, len, &l, err);
  if (status == CT_OK && is_swizzle) {
    bind_push_swizzle(in->L, sw);
  } else if (status == CT_OK) {
    bind_push_composed(in->L, &l);
  }
  return status;
}

/* As a layout: pushes a function that returns it, or nothing. */
static bool load_layout(const Input *in) {
  if (!is_layout_text(lua_tostring(in->L, in->text)) || push_layout(in, NULL) != CT_OK) {
    return false;
  }
  lua_pushcclosure(in->L, return_upvalue, 1);
  return true;
}

/* What is neither Lua nor a layout, but looks like one, gets the message of a layout. Stack: message
   of Lua. */
static void explain_layout(const Input *in) {
  CtErr err;
  if (!is_layout_text(lua_tostring(in->L, in->text))) {
    return;
  }
  bool is_layout = push_layout(in, &err) == CT_OK;
  lua_pop(in->L, is_layout);
  if (!is_layout) {
    lua_pop(in->L, 1);
    lua_pushstring(in->L, err.msg);
  }
}

/* {====== Several lines ====== */

static bool ends_with(const char *text, const char *end) {
  size_t len = strlen(text), n = strlen(end);
  return len >= n && strcmp(text + len - n, end) == 0;
}

/* The message at the top says that the text ended too early. A string in quotes ends in its line, unless the line
   ends with a backslash or \z. */
static bool is_incomplete(const Input *in) {
  const char *msg = lua_tostring(in->L, -1), *text = lua_tostring(in->L, in->text);
  return ends_with(msg, "<eof>") && (!ends_with(msg, " unfinished string near <eof>") ||
                                     ends_with(text, "\\") || ends_with(text, "\\z"));
}

/* The message at the top is that of a text whose first token cannot begin a statement: `1 + )`. */
static bool blames_first_token(const Input *in) {
  const char *text = lua_tostring(in->L, in->text);
  const char *near = strstr(lua_tostring(in->L, -1), " near '");
  if (near == NULL) {
    return false;
  }
  near += sizeof " near '" - 1;
  return strncmp(text + strspn(text, " \t\n"), near, strlen(near) - 1) == 0;
}

/* The input as it is: pushes the function, or the message that fits; *more: another line may help. */
static int load_lua(const Input *in, bool *more) {
  lua_State *L = in->L;
  *more = false;
  if (load_expression(in) == LUA_OK) {
    return LUA_OK;
  }
  if (load_layout(in)) { /* stack: message of the expression, function */
    lua_remove(L, -2);
    return LUA_OK;
  }
  *more = is_incomplete(in);
  int status = load_statements(in);
  if (status == LUA_OK || is_incomplete(in) || !blames_first_token(in)) {
    *more = status == LUA_ERRSYNTAX && (*more || is_incomplete(in));
    lua_remove(L, -2);
  } else {
    lua_pop(L, 1);
  }
  return status;
}

/* {====== What was meant ====== */

/* meaning(text): what typed.lua says. */
static int meaning(lua_State *L) {
  state_push_module(L, "cuttle.typed");
  lua_getfield(L, -1, "meaning");
  lua_pushvalue(L, 1);
  lua_call(L, 1, 1);
  return 1;
}

/* Pushes typed.lua's text for the input, or nil. Protected: a fault there hides no message of Lua's. */
static void push_meaning(const Input *in) {
  lua_State *L = in->L;
  lua_pushcfunction(L, meaning);
  lua_pushvalue(L, in->text);
  if (lua_pcall(L, 1, 1, 0) != LUA_OK) {
    lua_pop(L, 1);
    lua_pushnil(L);
  }
}

/* If the input loads as what it was meant to be, or may do so with more lines, that counts. Stack: the
   message of Lua, whose place the function or the new message takes. */
static void load_meant(const Input *in, int *status, bool *more) {
  lua_State *L = in->L;
  int first = lua_gettop(L);
  push_meaning(in);
  if (lua_type(L, -1) == LUA_TSTRING) {
    bool needs_more;
    Input meant = {L, NULL, in->number, lua_gettop(L)};
    int meant_status = load_lua(&meant, &needs_more);
    if (meant_status == LUA_OK || needs_more) {
      lua_replace(L, first);
      *status = meant_status;
      *more = needs_more;
    }
  }
  lua_settop(L, first);
}

/* Pushes the function, or the message that fits; *more: another line may help. */
static int load_once(const Input *in, bool *more) {
  int status = load_lua(in, more);
  if (status != LUA_OK && !*more) {
    load_meant(in, &status, more);
  }
  return status;
}

/* Appends the next line to the text. */
static EditStatus add_line(const Input *in) {
  EditStatus status = edit_read(in->editor, true);
  if (status == EDIT_LINE) {
    lua_pushvalue(in->L, in->text);
    lua_pushliteral(in->L, "\n");
    lua_pushlstring(in->L, in->editor->line, in->editor->len);
    lua_concat(in->L, 3);
    lua_replace(in->L, in->text);
  }
  return status;
}

/* Pushes the function or the message. */
static int load_lines(const Input *in) {
  for (;;) {
    bool more;
    int status = load_once(in, &more);
    if (!more) {
      return status;
    }
    EditStatus next = add_line(in);
    if (next != EDIT_LINE) {
      return next == EDIT_END ? status : INPUT_CANCELLED;
    }
    lua_pop(in->L, 1);
  }
}

int input_load_text(lua_State *L, int number, bool *more) {
  Input in = {L, NULL, number, lua_gettop(L)};
  int status = load_once(&in, more);
  if (status != LUA_OK && !*more) {
    explain_layout(&in);
  }
  lua_remove(L, in.text);
  return status;
}

int input_load(lua_State *L, Editor *editor, int number) {
  Input in = {L, editor, number, lua_gettop(L)};
  int status = load_lines(&in);
  if (status != LUA_OK) {
    explain_layout(&in);
  }
  if (status != INPUT_CANCELLED) {
    edit_remember(editor, lua_tostring(L, in.text));
  }
  lua_remove(L, in.text);
  return status;
}
