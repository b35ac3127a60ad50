/* emit_also.c: linked in front of `cuttle emit` (--wrap=launch_emit), writes each specialisation for other targets,
   too, so that one run of a script gives the texts of all. CUTTLE_EMIT_ALSO has a word for each of them, TARGET=FILE,
   such as "80=/tmp/a 90a=/tmp/b": FILE gets what `cuttle emit --sm=TARGET` prints, where the script does not ask for
   the target. It is removed where a kernel fails for that target alone. */
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interp/launch/launch.h"

void __real_launch_emit(lua_State *L, int kernel, const LaunchConfig *config, LaunchArgs *args);
void __wrap_launch_emit(lua_State *L, int kernel, const LaunchConfig *config, LaunchArgs *args);

typedef struct Target {
  char path[1024];
  FILE *file; /* NULL: a kernel failed */
  bool fails; /* the one in progress */
  StateEmit emit;
} Target;

enum { MAX_TARGETS = 8 };
static Target targets[MAX_TARGETS];
static int n_targets;
static const CuttleState *owner; /* the program's state; others, as ranks have, write nothing */

static void open_target(const CuttleState *s, const char *word) {
  char arch[8];
  Target *t = &targets[n_targets];
  if (n_targets == MAX_TARGETS || sscanf(word, "%7[^=]=%1023s", arch, t->path) != 2 ||
      (t->file = fopen(t->path, "w")) == NULL) {
    fprintf(stderr, "emit_also: %s\n", word);
    abort();
  }
  t->emit.sm = (int)strtol(arch, NULL, 10);
  snprintf(t->emit.arch, sizeof t->emit.arch, "sm_%s", arch);
  ct_text_init(&t->emit.functions, s->alloc);
  ct_text_init(&t->emit.names, s->alloc);
  n_targets++;
}

static void open_targets(const CuttleState *s) {
  const char *words = getenv("CUTTLE_EMIT_ALSO");
  char *copy = strdup(words != NULL ? words : "");
  owner = s;
  for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " ")) {
    open_target(s, word);
  }
  free(copy);
}

typedef struct Launch {
  const LaunchConfig *config;
  LaunchArgs *args;
} Launch;

/* Upvalues: the launch, and the place of the kernel. Arguments stand where they stood in the call: the launch has their
   places. */
static int emit(lua_State *L) {
  const Launch *launch = lua_touserdata(L, lua_upvalueindex(1));
  __real_launch_emit(L, (int)lua_tointeger(L, lua_upvalueindex(2)), launch->config, launch->args);
  return 0;
}

static void print(void *file, const char *text, size_t len) { fwrite(text, 1, len, file); }

/* With the target's text in the place of the state's own. */
static void emit_for(lua_State *L, CuttleState *s, int kernel, Launch *launch, Target *t) {
  const StateEmit emit_before = s->emit;
  const cuttle_Options options_before = s->options;
  int top = lua_gettop(L);
  s->emit = t->emit;
  s->options.print = print;
  s->options.print_ud = t->file;
  luaL_checkstack(L, top + 3, NULL);
  lua_pushlightuserdata(L, launch);
  lua_pushinteger(L, kernel);
  lua_pushcclosure(L, emit, 2);
  for (int i = 1; i <= top; i++) {
    lua_pushvalue(L, i);
  }
  t->fails = lua_pcall(L, top, 0, 0) != LUA_OK;
  if (t->fails) {
    lua_pop(L, 1);
  }
  t->emit = s->emit;
  s->emit = emit_before;
  s->options = options_before;
}

static void give_up(Target *t) {
  fclose(t->file);
  remove(t->path);
  t->file = NULL;
}

void __wrap_launch_emit(lua_State *L, int kernel, const LaunchConfig *config, LaunchArgs *args) {
  CuttleState *s = ((Kernel *)lua_touserdata(L, kernel))->state;
  Launch launch = {config, args};
  if (owner == NULL) {
    open_targets(s);
  }
  for (int i = 0; i < n_targets && s == owner; i++) {
    if (targets[i].file != NULL) {
      emit_for(L, s, lua_absindex(L, kernel), &launch, &targets[i]);
    }
  }
  __real_launch_emit(L, kernel, config,
                     args); /* where this raises, the script goes on as it would for the others */
  for (int i = 0; i < n_targets && s == owner; i++) {
    if (targets[i].file != NULL && targets[i].fails) {
      give_up(&targets[i]);
    }
  }
}
