/* repl.c: reads an input, runs it, prints what it is worth; in the manner of lua.c. An input is an
   expression, a layout as CuTe writes it, or statements, over as many lines as it takes. */
#include "repl.h"

#include <dlfcn.h>
#include <lauxlib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bind.h"

enum { LINE_BYTES = 64 * 1024, HISTORY_LINES = 1000 };

/* {====== Ctrl-C ====== */

static CuttleState *volatile stopped; /* what the signal handler stops */

static void on_signal(int signal_number) {
  signal(signal_number, SIG_DFL); /* the second one ends the program */
  if (stopped != NULL) {
    state_stop(stopped);
  }
}

static void set_handler(void (*handler)(int)) {
  struct sigaction action = {.sa_handler = handler};
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
}

int repl_call(CuttleState *s, int n_args, int n_results) {
  stopped = s;
  set_handler(on_signal);
  int status = state_call(s, n_args, n_results);
  set_handler(SIG_DFL);
  stopped = NULL;
  return status;
}

void repl_report(lua_State *L) {
  const char *msg = lua_tostring(L, -1);
  fflush(stdout);
  fprintf(stderr, "%s\n", msg == NULL ? "the error is no text" : msg);
  fflush(stderr);
  lua_pop(L, 1);
}

/* {====== Lines: by libedit or readline where there is one, else plain ====== */

typedef struct Editor {
  char *(*readline)(const char *prompt);
  void (*add_history)(const char *line);
  int (*read_history)(const char *path);
  int (*write_history)(const char *path);
  void (*stifle_history)(int n);
  char path[1024]; /* of the history; "" when there is none */
} Editor;

static const char *const editor_names[] = {"libedit.so.2", "libedit.so.0", "libedit.3.dylib",
                                           "libreadline.so.8", "libreadline.so.7"};

/* dlsym's result as a function pointer, which C does not let us cast. */
static void find_symbol(void *lib, const char *name, void *fn) {
  void *symbol = dlsym(lib, name);
  _Static_assert(sizeof symbol == sizeof(void (*)(void)), "function pointers are plain addresses");
  memcpy(fn, &symbol, sizeof symbol);
}

static void load_editor(Editor *e) {
  void *lib = NULL;
  for (size_t i = 0; lib == NULL && i < CT_ARRAY_LEN(editor_names); i++) {
    lib = dlopen(editor_names[i], RTLD_NOW | RTLD_LOCAL); /* stays loaded until the program ends */
  }
  if (lib != NULL) {
    find_symbol(lib, "readline", &e->readline);
    find_symbol(lib, "add_history", &e->add_history);
    find_symbol(lib, "read_history", &e->read_history);
    find_symbol(lib, "write_history", &e->write_history);
    find_symbol(lib, "stifle_history", &e->stifle_history);
  }
}

/* Makes the folders above `path`. */
static void make_folders(char *path) {
  for (char *p = strchr(path + 1, '/'); p != NULL; p = strchr(p + 1, '/')) {
    *p = '\0';
    mkdir(path, 0700);
    *p = '/';
  }
}

/* $CUTTLE_HISTORY, else $XDG_STATE_HOME/cuttle/history, else ~/.local/state/cuttle/history. */
static void find_history(Editor *e) {
  const char *file = getenv("CUTTLE_HISTORY"), *state = getenv("XDG_STATE_HOME");
  const char *home = getenv("HOME");
  if (file != NULL) {
    snprintf(e->path, sizeof e->path, "%s", file);
  } else if (state != NULL && state[0] == '/') {
    snprintf(e->path, sizeof e->path, "%s/cuttle/history", state);
  } else if (home != NULL && home[0] == '/') {
    snprintf(e->path, sizeof e->path, "%s/.local/state/cuttle/history", home);
  }
  if (e->path[0] == '/') {
    make_folders(e->path);
  }
}

static void open_editor(Editor *e) {
  load_editor(e);
  if (e->readline != NULL) {
    find_history(e);
    if (e->stifle_history != NULL) {
      e->stifle_history(HISTORY_LINES);
    }
    if (e->read_history != NULL && e->path[0] != '\0') {
      e->read_history(e->path); /* a first run has none */
    }
  }
}

/* After each input, so that a program that is killed loses nothing. */
static void remember_line(const Editor *e, const char *line) {
  if (e->add_history != NULL && line[strspn(line, " \t")] != '\0') {
    e->add_history(line);
    if (e->write_history != NULL && e->path[0] != '\0') {
      e->write_history(e->path);
    }
  }
}

/* {====== Inputs ====== */

typedef struct Repl {
  CuttleState *s;
  lua_State *L;
  bool is_terminal;
  Editor editor;
  int n_inputs, n_failures;
  char line[LINE_BYTES]; /* of plain input */
} Repl;

/* Pushes the next line, without its newline. False at the end of the input. */
static bool push_plain_line(Repl *r) {
  luaL_Buffer b;
  bool some = false;
  luaL_buffinit(r->L, &b);
  while (fgets(r->line, sizeof r->line, stdin) != NULL) {
    size_t len = strlen(r->line);
    bool whole = len > 0 && r->line[len - 1] == '\n';
    some = true;
    luaL_addlstring(&b, r->line, whole ? len - 1 : len);
    if (whole) {
      break;
    }
  }
  luaL_pushresult(&b);
  if (!some) {
    lua_pop(r->L, 1);
  }
  return some;
}

static bool push_line(Repl *r, const char *prompt) {
  if (!r->is_terminal || r->editor.readline == NULL) {
    if (r->is_terminal) {
      fputs(prompt, stdout);
      fflush(stdout);
    }
    return push_plain_line(r);
  }
  char *line = r->editor.readline(prompt);
  if (line == NULL) {
    return false;
  }
  remember_line(&r->editor, line);
  lua_pushstring(r->L, line);
  free(line);
  return true;
}

/* Every input is a chunk of its own name, so that the source of its kernels is found. */
static int load_input(Repl *r, const char *text, size_t len) {
  char name[32];
  snprintf(name, sizeof name, "=stdin:%d", r->n_inputs);
  return state_load(r->L, text, len, name);
}

/* As an expression: the function on the stack, or nothing. Stack: text. */
static bool load_expression(Repl *r) {
  size_t len;
  lua_pushliteral(r->L, "return ");
  lua_pushvalue(r->L, -2);
  lua_concat(r->L, 2); /* stack: text, "return " text */
  const char *text = lua_tolstring(r->L, -1, &len);
  bool ok = load_input(r, text, len) == LUA_OK;
  if (ok) {
    lua_remove(r->L, -2);
  } else {
    lua_pop(r->L, 2);
  }
  return ok;
}

/* A text of the characters of layouts: `(4,8):(8,1)`. */
static bool is_layout_text(const char *text) {
  size_t n = strspn(text, "0123456789(),:_@- \t");
  return text[n] == '\0' && strpbrk(text, "(:") != NULL;
}

static int return_upvalue(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  return 1;
}

/* As a layout: a function that returns it on the stack, or nothing. Stack: text. */
static bool load_layout(Repl *r) {
  CtLayout l;
  size_t len;
  const char *text = lua_tolstring(r->L, -1, &len);
  CtCx cx = bind_enter(r->L);
  if (!is_layout_text(text) || ct_layout_parse(cx.arena, text, len, &l, NULL) != CT_OK) {
    return false;
  }
  bind_push_layout(r->L, l);
  lua_pushcclosure(r->L, return_upvalue, 1);
  return true;
}

/* The message at the top says that the text ended too early. */
static bool is_incomplete(lua_State *L, int status) {
  static const char mark[] = "<eof>";
  size_t len, n = sizeof mark - 1;
  if (status != LUA_ERRSYNTAX) {
    return false;
  }
  const char *msg = lua_tolstring(L, -1, &len);
  return len >= n && strcmp(msg + len - n, mark) == 0;
}

/* As statements, with more lines while they are incomplete. Stack: text; then the function or the
   message. */
static int load_statements(Repl *r) {
  for (;;) {
    size_t len;
    const char *text = lua_tolstring(r->L, -1, &len);
    int status = load_input(r, text, len); /* stack: text, function or message */
    if (!is_incomplete(r->L, status) || !push_line(r, ">> ")) {
      lua_remove(r->L, -2);
      return status;
    }
    lua_remove(r->L, -2); /* stack: text, line */
    lua_pushliteral(r->L, "\n");
    lua_insert(r->L, -2);
    lua_concat(r->L, 3);
  }
}

/* What is neither Lua nor a layout, but looks like one, gets the message of a layout. Stack: message
   of Lua. */
static void explain_layout(Repl *r, const char *text, size_t len) {
  CtErr err;
  CtLayout l;
  CtCx cx = bind_enter(r->L);
  if (is_layout_text(text) && ct_layout_parse(cx.arena, text, len, &l, &err) != CT_OK) {
    lua_pop(r->L, 1);
    lua_pushstring(r->L, err.msg);
  }
}

/* Stack: text; then the function or the message in its place. */
static int load_any(Repl *r) {
  size_t len;
  r->n_inputs++;
  if (load_expression(r) || load_layout(r)) {
    lua_remove(r->L, -2);
    return LUA_OK;
  }
  lua_pushvalue(r->L, -1);
  int status = load_statements(r); /* stack: text, function or message */
  const char *text = lua_tolstring(r->L, -2, &len);
  if (status != LUA_OK) {
    explain_layout(r, text, len);
  }
  lua_remove(r->L, -2);
  return status;
}

/* {====== Results ====== */

/* Prints its arguments as `print` does. A layout prints as its text. */
static int show(lua_State *L) {
  luaL_Buffer b;
  size_t len;
  int n = lua_gettop(L);
  luaL_buffinit(L, &b);
  for (int i = 1; i <= n; i++) {
    luaL_tolstring(L, i, NULL);
    luaL_addvalue(&b);
    luaL_addchar(&b, i < n ? '\t' : '\n');
  }
  luaL_pushresult(&b);
  const char *text = lua_tolstring(L, -1, &len);
  state_print(state_of(L), text, len);
  return 0;
}

/* Stack: results from `first` on. The first of them is `ans` from now on. */
static int print_results(Repl *r, int first) {
  lua_State *L = r->L;
  int n = lua_gettop(L) - first + 1;
  if (n == 0) {
    return LUA_OK;
  }
  luaL_checkstack(L, n + 2, "too many results to print");
  lua_pushvalue(L, first);
  lua_setglobal(L, "ans");
  lua_pushcfunction(L, show);
  lua_insert(L, first);
  return repl_call(r->s, n, 0);
}

/* Stack: text. */
static void run_input(Repl *r) {
  int first = lua_gettop(r->L);
  int status = load_any(r);
  if (status == LUA_OK) {
    status = repl_call(r->s, 0, LUA_MULTRET);
  }
  if (status == LUA_OK) {
    status = print_results(r, first);
  }
  if (status != LUA_OK) {
    r->n_failures++;
    repl_report(r->L);
  }
  lua_settop(r->L, first - 1);
}

/* {====== The loop ====== */

static bool is_one_of(const char *text, const char *const *words) {
  while (*words != NULL && strcmp(text, *words) != 0) {
    words++;
  }
  return *words != NULL;
}

static bool is_exit(const char *text) {
  static const char *const words[] = {"exit", "quit", "exit()", "quit()", NULL};
  return is_one_of(text, words);
}

static void loop(Repl *r) {
  lua_settop(r->L, 0);
  while (push_line(r, "> ")) {
    const char *text = lua_tostring(r->L, -1);
    if (is_exit(text)) {
      break;
    }
    if (text[strspn(text, " \t\r")] != '\0') {
      run_input(r);
    }
    lua_settop(r->L, 0);
  }
}

int repl_run(CuttleState *s) {
  Repl *r = calloc(1, sizeof *r);
  if (r == NULL) {
    fputs("cuttle: not enough memory\n", stderr);
    return 1;
  }
  r->s = s;
  r->L = s->L;
  r->is_terminal = isatty(STDIN_FILENO) == 1;
  if (r->is_terminal) {
    open_editor(&r->editor);
    printf("Cuttle %s on %s; exit or Ctrl-D ends\n", CUTTLE_VERSION, LUA_RELEASE);
  }
  loop(r);
  if (r->is_terminal) {
    putchar('\n');
  }
  int n = r->n_failures;
  free(r);
  return n;
}
