/* repl.c: the loop: reads an input, runs it, prints what it is worth; in the manner of lua.c. And
   Ctrl-C: at the prompt it clears the input, in a running script it stops that. */
#include "repl.h"

#include <lauxlib.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interp/state/diag.h"
#include "interp/state/note.h"
#include "interp/state/state_language.h"
#include "runtime/base/clock.h"
#include "repl_parts.h"

/* {====== Ctrl-C ====== */

static CuttleState *volatile stopped;   /* what the signal handler stops; NULL at the prompt */
static pthread_t script_thread;         /* that runs it */
static volatile sig_atomic_t n_signals; /* since the call or the reading of a line began */
static bool in_repl;                    /* errors are short */
static bool in_session;                 /* with a terminal: Ctrl-C does not end the program soon */

enum { GRACE_S = 3, ECHO_NS = 100 * 1000 * 1000 };

static void on_signal(int signal_number);

/* Either a script has run as long as its command lets it, or a script was stopped and does not end: a call of a driver
   may wait for what never ends, and looks at no flag. Whoever went on after the signal, as a command that reports, has
   taken the flag down. */
static void on_alarm(int signal_number) {
  static const char note[] =
      "cuttle: stopped, but a call of a library does not return; the program ends\n";
  if (stopped != NULL && state_is_interrupted(stopped)) {
    ssize_t n = write(STDERR_FILENO, note, sizeof note - 1);
    (void)n;
    _exit(128 + stopped->signal);
  }
  if (stopped != NULL && stopped->reports) {
    on_signal(signal_number);
  }
}

/* timeout(1) sends a signal to the program and to its group: both are one. */
static bool is_echo(void) {
  static int64_t last;
  int64_t before = last;
  last = ct_now_ns();
  return n_signals > 0 && last - before < ECHO_NS;
}

/* The first one stops the script; one that ends a search does not count. Where that takes long, as in a
   function of C that does not look at the flag, another one ends the program, or the alarm does; in a session
   only another one, and not without a word before. Only the script's own thread may stop it (state_stop):
   another one, a driver's say, hands the signal on. SIGTERM, which CI sends, ends the program, unless a command is to
   report. */
static void on_signal(int signal_number) {
  static const char note[] = "\nstill running; Ctrl-C once more ends the program\n";
  if (stopped != NULL && pthread_equal(pthread_self(), script_thread) == 0) {
    pthread_kill(script_thread, signal_number);
    return;
  }
  if (signal_number == SIGTERM && (stopped == NULL || !stopped->reports)) {
    signal(signal_number, SIG_DFL);
    (void)raise(signal_number);
    return;
  }
  if (is_echo()) {
    return;
  }
  n_signals++;
  if (stopped == NULL) {
    return;
  }
  stopped->signal = signal_number;
  if (signal_number == SIGTERM) { /* no person who would ask again */
    state_stop(stopped);
  } else if (state_ask(stopped)) {
    n_signals--;
    return;
  }
  if (in_session && n_signals == 2) {
    ssize_t n = write(STDERR_FILENO, note, sizeof note - 1);
    (void)n; /* nobody is there to read it */
  }
  if (n_signals > (in_session ? 2 : 1)) { /* not before the handler returns */
    signal(signal_number, SIG_DFL);
    (void)raise(signal_number);
  }
  if (!in_session) { /* enter() has set on_alarm */
    alarm(GRACE_S);
  }
}

static void set_handler(void (*handler)(int)) {
  struct sigaction action = {.sa_handler = handler}; /* without SA_RESTART: reading a line ends */
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}

/* A signal ends a write, too: what is lost by that is no error of standard output. */
static void forget_signals(void) {
  if (n_signals > 0) {
    clearerr(stdout);
  }
  n_signals = 0;
}

/* From here to leave() Ctrl-C stops the state. */
static void enter(CuttleState *s) {
  forget_signals();
  script_thread = pthread_self();
  stopped = s;
  s->by_person = true;
  set_handler(on_signal);
  struct sigaction action = {.sa_handler = on_alarm};
  sigemptyset(&action.sa_mask);
  sigaction(SIGALRM, &action, NULL);
}

static void leave(CuttleState *s) {
  if (n_signals > 0) { /* else none is set; emscripten's alarm(0) ends the program */
    alarm(0);
  }
  set_handler(in_session ? on_signal : SIG_DFL);
  stopped = NULL;
  s->by_person = false;
}

int repl_call(CuttleState *s, int n_args, int n_results) {
  enter(s);
  int status = state_call(s, n_args, n_results);
  leave(s);
  return status;
}

bool repl_wait(CuttleState *s) {
  enter(s);
  bool ok = cuttle_synchronize(s) == CUTTLE_OK;
  leave(s);
  return ok;
}

/* {====== Errors ====== */

/* If a module is missing, `require` lists every place it looked; at the prompt the first line will do. */
static size_t shown_length(const char *msg) {
  const char *list = strstr(msg, " not found:\n\tno field package.preload");
  return in_repl && list != NULL ? (size_t)(list - msg) + strlen(" not found") : strlen(msg);
}

void repl_report(lua_State *L) {
  const char *msg = lua_tostring(L, -1);
  msg = msg == NULL ? "the error is not a string" : msg;
  fflush(stdout);
  const char *after_key = in_session && n_signals > 0 ? "\n" : ""; /* the terminal shows ^C */
  fprintf(stderr, "%s%.*s\n", after_key, (int)shown_length(msg), msg);
  fflush(stderr);
  lua_pop(L, 1);
}

void repl_log(void *ud, const char *line) {
  (void)ud;
  if (strstr(line, ": warning: ") != NULL) {
    fflush(stdout);
    fprintf(stderr, "%s\n", line);
  }
}

/* {====== Inputs ====== */

typedef struct Repl {
  CuttleState *s;
  lua_State *L;
  Editor editor;
  int n_inputs, n_failures;
} Repl;

/* Stack: results from `first` on. The first of them is `ans` from now on. */
static int print_results(CuttleState *s, int first) {
  lua_State *L = s->L;
  int n = lua_gettop(L) - first + 1;
  if (n == 0) {
    return LUA_OK;
  }
  luaL_checkstack(L, n + 2, "too many results to print");
  lua_pushglobaltable(L); /* as it is: a metatable of it is the script's */
  lua_pushliteral(L, "ans");
  lua_pushvalue(L, first);
  lua_rawset(L, -3);
  lua_pop(L, 1);
  lua_pushcfunction(L, print_values);
  lua_insert(L, first);
  return repl_call(s, n, 0);
}

/* value_of(name): of a local of the session or a global. */
static int value_of(lua_State *L) {
  lua_pushliteral(L, "value_of");
  lua_insert(L, 1);
  return input_call(L);
}

/* note_nil(text): adds what there is to say of an input whose value is nil. */
static int note_nil(lua_State *L) {
  state_push_function(L, "cuttle.typed", "nil_note");
  lua_pushvalue(L, 1);
  lua_pushcfunction(L, value_of);
  lua_call(L, 2, 1);
  if (lua_type(L, -1) == LUA_TSTRING) {
    note_add(L, "%s", lua_tostring(L, -1));
  }
  return 0;
}

/* Of the result at the top, if it is the only one since `first` and nil. `text`: the input, or NULL. */
static void explain_nil(CuttleState *s, int first, const char *text) {
  lua_State *L = s->L;
  if (text != NULL && s->takes_notes && lua_gettop(L) == first && lua_isnil(L, first)) {
    lua_pushcfunction(L, note_nil);
    lua_pushstring(L, text);
    if (lua_pcall(L, 1, 0, 0) != LUA_OK) {
      lua_pop(L, 1); /* it would only have been a hint */
    }
  }
}

static int print_notes(lua_State *L) {
  note_print(L);
  return 0;
}

bool repl_run_input(CuttleState *s, int status, const char *text) {
  lua_State *L = s->L;
  int first = lua_gettop(L);
  if (status == LUA_OK) {
    status = repl_call(s, 0, LUA_MULTRET);
  }
  if (status == LUA_OK) {
    explain_nil(s, first, text);
    status = print_results(s, first);
  }
  bool failed = status != LUA_OK && status != INPUT_CANCELLED;
  if (failed) {
    repl_report(L);
  }
  lua_pushcfunction(L, print_notes);
  if (repl_call(s, 0, 0) != LUA_OK) {
    repl_report(L);
  }
  lua_settop(L, first - 1);
  return !failed;
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

/* Reads the first line of an input; false when there is none to come. */
static bool read_first(Repl *r) {
  EditStatus status;
  do {
    forget_signals();
    status = edit_read(&r->editor, false);
  } while (status == EDIT_INTERRUPTED);
  return status == EDIT_LINE;
}

static void loop(Repl *r) {
  lua_settop(r->L, 0);
  while (read_first(r)) {
    const char *text = r->editor.line;
    if (is_exit(text)) {
      edit_remember(&r->editor, text);
      break;
    }
    if (text[strspn(text, " \t\r")] != '\0') {
      lua_pushlstring(r->L, text, r->editor.len);
      int status = input_load(r->L, &r->editor, ++r->n_inputs);
      r->n_failures += !repl_run_input(r->s, status, r->editor.line);
    }
    lua_settop(r->L, 0);
  }
}

/* {====== The session ====== */

static char **complete(void *ud, const char *line, size_t cursor) {
  const Repl *r = ud;
  return complete_line(r->L, line, cursor);
}

/* "cpu (avx2, 8 threads)", "NVIDIA H200 (cuda:0)" */
static void print_engine(CuttleState *s) {
  CtDevice *d = NULL;
  CtSimtEngine *e;
  CtErr err;
  CtStatus st = state_device(s, &d, &err);
  if (st == CT_OK && d != NULL) {
    printf("%s (cuda:%d)", ct_device_info(d)->name, ct_device_info(d)->ordinal);
  } else if (st == CT_OK && state_simt(s, &e, &err) == CT_OK) {
    printf("the CPU engine (%s, %d threads", ct_simt_isa(e), ct_simt_threads(e));
    if (state_cpu_devices(s) > 1) {
      printf(", taken for %d devices", state_cpu_devices(s));
    }
    printf(")");
  } else {
    printf("no device: %s", err.msg);
  }
}

static bool has_help(lua_State *L) {
  lua_getglobal(L, "help");
  bool is = lua_isfunction(L, -1);
  lua_pop(L, 1);
  return is;
}

static void greet(CuttleState *s, const char *way_out) {
  printf("Cuttle %s on ", CUTTLE_VERSION);
  print_engine(s);
  printf("; %s\n", has_help(s->L) ? "help() for help" : way_out);
}

void repl_begin(CuttleState *s, const char *way_out) {
  in_repl = true;
  s->takes_notes = way_out != NULL;
  if (way_out != NULL) {
    greet(s, way_out);
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
  r->editor = (Editor){.is_terminal = isatty(STDIN_FILENO) == 1,
                       .interrupt = &n_signals,
                       .complete = complete,
                       .complete_ud = r};
  in_session = r->editor.is_terminal;
  if (in_session) {
    set_handler(on_signal);
  }
  repl_begin(s, in_session ? "Ctrl-D ends" : NULL);
  edit_open(&r->editor);
  loop(r);
  forget_signals();
  if (in_session) {
    putchar('\n');
    set_handler(SIG_DFL);
  }
  in_repl = in_session = s->takes_notes = false;
  edit_close(&r->editor);
  int n = r->n_failures;
  free(r);
  return n;
}
