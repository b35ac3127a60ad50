/* bind_message.c: printf of a kernel. Tracing checks Lua's format against the types of the values,
   and turns it into a C format with the right length modifiers. */
#include <lauxlib.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "interp/trace/front.h"
#include "runtime/base/message.h"
#include "interp/trace/value.h"
#include "interp/openers.h"

enum { MAX_SPEC = 16, MAX_TEXT = 2048 };

/* One conversion: "%-5.2f" has the head "%-5.2". */
typedef struct Spec {
  char head[MAX_SPEC];
  char letter;
} Spec;

typedef struct Print {
  lua_State *L;
  CtIr *ir;
  char text[MAX_TEXT];
  size_t len;
  CtVal vals[CT_MESSAGE_ARGS];
  int n, arg; /* number of values so far; index of the next argument */
} Print;

static void add(Print *p, const char *s, size_t len) {
  if (len >= sizeof p->text - p->len) {
    diag_error(p->L, "printf: the text has more than %d characters", MAX_TEXT);
    return;
  }
  memcpy(p->text + p->len, s, len);
  p->len += len;
  p->text[p->len] = '\0';
}

static void add_text(Print *p, const char *s) { add(p, s, strlen(s)); }

/* Adds a text that is known now, with its % doubled. */
static void add_plain(Print *p, const char *s) {
  for (; *s != '\0'; s++) {
    add(p, "%%", *s == '%' ? 2 : 0);
    add(p, s, *s == '%' ? 0 : 1);
  }
}

/* Reads a conversion after its %; returns its end. Drops length modifiers of C. */
static const char *read_spec(lua_State *L, const char *s, Spec *spec) {
  const char *begin = s - 1;
  size_t flags = strspn(s, "-+ #0");
  size_t width = strspn(s + flags, "0123456789");
  size_t dot = s[flags + width] == '.' ? 1 : 0;
  size_t precision = strspn(s + flags + width + dot, "0123456789") * dot;
  size_t len = flags + width + dot + precision;
  if (flags > 5 || width > 2 || precision > 2) {
    diag_error(L, "printf: '%s' in the format is too long; a width has two digits at most",
               lua_pushlstring(L, begin, len + 1));
  }
  spec->head[0] = '%';
  memcpy(spec->head + 1, s, len);
  spec->head[len + 1] = '\0';
  s += len;
  s += strspn(s, "hlLqjzt");
  spec->letter = *s;
  if (*s == '\0' || strchr("diuoxXcfFeEgGaAs", *s) == NULL) {
    diag_error(L,
               "printf: '%s' in the format is not a conversion; expected %%d %%i %%u %%x %%o %%c "
               "%%f %%e %%g %%a %%s or %%%%",
               lua_pushlstring(L, begin, (size_t)(s - begin) + (*s != '\0')));
  }
  return s + 1;
}

static void add_spec(Print *p, const Spec *spec, const char *length, char letter) {
  add_text(p, spec->head);
  add_text(p, length);
  add(p, &letter, 1);
}

static void add_value(Print *p, CtVal v) {
  if (p->n == CT_MESSAGE_ARGS) {
    diag_error(p->L, "printf: more than %d run-time values", CT_MESSAGE_ARGS);
    return;
  }
  p->vals[p->n++] = v;
}

static int mismatch(const Print *p, const Spec *spec, CtDtype type, const char *instead) {
  return diag_error(p->L, "printf: %%%c for argument %d, which is of type %s; %s", spec->letter,
                    p->arg, ct_dtypes[type].name, instead);
}

/* Adds an integer as the words that the conversion takes for its type. */
static void add_int(Print *p, const Spec *spec, CtVal v) {
  CtDtype type = (CtDtype)ct_inst(p->ir, v)->type;
  bool is_wide = ct_dtypes[type].bits == 64;
  bool is_decimal = spec->letter == 'd' || spec->letter == 'i' || spec->letter == 'u';
  char letter = is_decimal && ct_is_unsigned(type) ? 'u' : spec->letter;
  if (spec->letter == 'c') {
    v = ct_ir_cast(p->ir, v, CT_i32);
    is_wide = false;
  }
  add_spec(p, spec, is_wide ? "ll" : "", letter);
  add_value(p, v);
}

static void add_runtime(Print *p, const Spec *spec, CtVal v) {
  CtDtype type = (CtDtype)ct_inst(p->ir, v)->type;
  if (spec->letter == 's') {
    if (type != CT_bool) {
      mismatch(p, spec, type, "write %d or %g");
    }
    add_spec(p, spec, "", 's');
    add_value(p, v);
  } else if (type == CT_bool) {
    mismatch(p, spec, type, "write %s");
  } else if (strchr("diuoxXc", spec->letter) != NULL) {
    if (!ct_is_int(type)) {
      mismatch(p, spec, type, "write %g, or cast(x, i32)");
    }
    add_int(p, spec, ct_ir_cast(p->ir, v, ct_dtype_compute(type)));
  } else {
    add_spec(p, spec, "", spec->letter);
    bool is_plain = ct_inst(p->ir, v)->untyped >= CT_UNTYPED_KEPT; /* printf changes no sum */
    add_value(p, is_plain ? value_take(p->L, v, CT_f64) : ct_ir_cast(p->ir, v, CT_f64));
  }
}

/* Adds a Lua value: Lua formats it now. */
static void add_static(Print *p, const Spec *spec) {
  lua_State *L = p->L;
  int top = lua_gettop(L);
  char letter = spec->letter == 'u' ? 'd' : spec->letter == 'F' ? 'f' : spec->letter;
  bool wants_number = letter != 's';
  if (wants_number && lua_type(L, p->arg) != LUA_TNUMBER) {
    diag_error(L, "printf: %%%c for argument %d, which is %s; a number was expected", spec->letter,
               p->arg, diag_push_kind(L, p->arg));
  }
  lua_getglobal(L, "string");
  lua_getfield(L, -1, "format");
  lua_pushfstring(L, "%s%c", spec->head, letter);
  if (wants_number) {
    lua_pushvalue(L, p->arg);
  } else {
    luaL_tolstring(L, p->arg, NULL);
  }
  lua_call(L, 2, 1);
  add_plain(p, lua_tostring(L, -1));
  lua_settop(L, top);
}

static void add_argument(Print *p, const Spec *spec) {
  CtVal v;
  p->arg++;
  if (p->arg > lua_gettop(p->L)) {
    diag_error(p->L, "printf: the format asks for %d values, but there are %d", p->arg - 1,
               lua_gettop(p->L) - 1);
  }
  if (!value_settle(p->L, p->arg) && value_test(p->L, p->arg, &v)) {
    add_runtime(p, spec, v);
  } else {
    add_static(p, spec);
  }
}

static int lang_printf(lua_State *L) { /* format, values... */
  Print p = {.L = L, .ir = front_here(L, "printf"), .arg = 1};
  Spec spec;
  if (lua_type(L, 1) != LUA_TSTRING) {
    return diag_error(L, "printf: the format is %s; a string was expected", diag_push_kind(L, 1));
  }
  for (const char *s = lua_tostring(L, 1); *s != '\0';) {
    size_t plain = strcspn(s, "%");
    add(&p, s, plain);
    s += plain;
    if (s[0] == '%' && s[1] == '%') {
      add(&p, s, 2);
      s += 2;
    } else if (*s == '%') {
      s = read_spec(L, s + 1, &spec);
      add_argument(&p, &spec);
    }
  }
  if (p.arg < lua_gettop(L)) {
    return diag_error(L, "printf: %d values, but the format asks for %d", lua_gettop(L) - 1,
                      p.arg - 1);
  }
  ct_ir_printf(p.ir, p.text, p.n, p.vals);
  return 0;
}

static const luaL_Reg message_functions[] = {{"printf", lang_printf}, {NULL, NULL}};

void bind_open_message(lua_State *L) { /* language table on top */
  luaL_setfuncs(L, message_functions, 0);
}
