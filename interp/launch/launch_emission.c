/* launch_emission.c: the option `emission` of kernels: how a kernel is written and compiled, which changes none
   of its results. What the compilers are told becomes options of NVRTC; what the emitter does goes into the IR. */
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "launch.h"

#define EXPECTED "registers, planned_registers, usage, level, unroll, order, pin or cutlass"

/* A field: its bounds; for the compilers up to two options, the first before the number; for the emitter a place. */
typedef struct EmissionField {
  const char *name;
  int lo, hi;
  const char *option, *more;
  size_t at; /* in a CtEmission; NOWHERE: it has none */
} EmissionField;

enum { LEAST_REGISTERS = 24, MOST_REGISTERS = 255, MOST_TURNS = 16, NAME_BYTES = 48 };
#define NOWHERE SIZE_MAX

/* ptxas takes the launch bounds instead of a limit, unless it is told to override them. */
static const EmissionField fields[] = {
    {"registers", LEAST_REGISTERS, MOST_REGISTERS, "--ptxas-options=-maxrregcount=",
     "--ptxas-options=--override-directive-values", offsetof(CtEmission, registers)},
    {"planned_registers", LEAST_REGISTERS, MOST_REGISTERS, "--maxrregcount=", NULL,
     offsetof(CtEmission, planned_registers)},
    {"usage", 0, 10, "--ptxas-options=--register-usage-level=", NULL, NOWHERE},
    {"level", 1, 3, "--ptxas-options=-O", NULL, NOWHERE},
    {"unroll", 1, MOST_TURNS, NULL, NULL, offsetof(CtEmission, unroll)},
    {"order", 1, CT_EMISSION_ORDERS, NULL, NULL, offsetof(CtEmission, order)}};

static const struct {
  const char *name;
  size_t at;
} flags[] = {{"pin", offsetof(CtEmission, pin)}, {"cutlass", offsetof(CtEmission, cutlass)}};

static void add_option(lua_State *L, Kernel *k, const char *option) {
  size_t at = 0, len = strlen(option);
  while (k->options[at] != '\0') {
    at += strlen(k->options + at) + 1;
  }
  if (at + len + 2 > sizeof k->options) {
    diag_error(L, "kernel: nvrtc_options and those of emission are longer than %d bytes",
               (int)sizeof k->options);
  }
  memcpy(k->options + at, option, len + 1);
  k->options[at + len + 1] = '\0';
}

/* The number at the top of the stack. */
static void set_field(lua_State *L, Kernel *k, const EmissionField *f) {
  char name[NAME_BYTES], option[2 * NAME_BYTES];
  snprintf(name, sizeof name, "emission.%s", f->name);
  int n = bind_to_option(L, -1, f->lo, f->hi, "kernel", name);
  if (f->at != NOWHERE) {
    memcpy((char *)&k->emission + f->at, &n, sizeof n);
  }
  if (f->option != NULL) {
    snprintf(option, sizeof option, "%s%d", f->option, n);
    add_option(L, k, option);
  }
  if (f->more != NULL) {
    add_option(L, k, f->more);
  }
}

static bool is_field(const char *name) {
  bool is_one = false;
  for (size_t i = 0; i < CT_ARRAY_LEN(fields); i++) {
    is_one = is_one || strcmp(fields[i].name, name) == 0;
  }
  for (size_t i = 0; i < CT_ARRAY_LEN(flags); i++) {
    is_one = is_one || strcmp(flags[i].name, name) == 0;
  }
  return is_one;
}

static void check_fields(lua_State *L, int table) {
  for (lua_pushnil(L); lua_next(L, table) != 0; lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING || !is_field(lua_tostring(L, -2))) {
      diag_error(L, "kernel: emission has a field '%s'; expected " EXPECTED,
                 luaL_tolstring(L, -2, NULL));
    }
  }
}

static bool read_flag(lua_State *L, int table, const char *name) {
  char field[32];
  snprintf(field, sizeof field, "emission.%s", name);
  lua_getfield(L, table, name);
  return bind_pop_flag(L, "kernel", field);
}

static void read_fields(lua_State *L, Kernel *k, int table) {
  check_fields(L, table);
  for (size_t i = 0; i < CT_ARRAY_LEN(fields); i++) {
    if (lua_getfield(L, table, fields[i].name) != LUA_TNIL) {
      set_field(L, k, &fields[i]);
    }
    lua_pop(L, 1);
  }
  for (size_t i = 0; i < CT_ARRAY_LEN(flags); i++) {
    bool is_on = read_flag(L, table, flags[i].name);
    memcpy((char *)&k->emission + flags[i].at, &is_on, sizeof is_on);
  }
}

void kernel_read_emission(lua_State *L, Kernel *k, int table) {
  int type = lua_getfield(L, table, "emission");
  if (type != LUA_TNIL && type != LUA_TTABLE) {
    diag_error(L, "kernel: emission is %s; a table was expected, with " EXPECTED,
               diag_push_kind(L, -1));
  }
  if (type == LUA_TTABLE) {
    read_fields(L, k, lua_gettop(L));
  }
  lua_pop(L, 1);
}
