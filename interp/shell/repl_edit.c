/* repl_edit.c: the line editor: one face for libedit and readline, by dlopen, so that neither is
   needed; and the file of the history, which is our own: one entry a line, whatever lines it has. */
#include "repl_parts.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/base.h"
#include "runtime/base/newfile.h"

enum {
  HISTORY_ENTRIES = 1000,
  STATE_COMPLETING = 0x4000 /* readline.h: RL_STATE_COMPLETING */
};

static Editor *current; /* what the library's callbacks are for */

/* {====== Characters: Ctrl-C ends the line, which is then thrown away ====== */

/* Lets the library pass on a signal that its own handler has kept, so that the flag is set. */
static void notice_signals(Editor *e) {
  if (e->check_signals != NULL && *e->interrupt == 0) {
    e->must_abort = e->state != NULL && (*e->state & STATE_COMPLETING) != 0;
    e->check_signals();
  }
}

static bool has_signal(const Editor *e) {
  return *e->interrupt != 0 || (e->pending_signal != NULL && e->pending_signal() != 0);
}

/* Waits for input or a signal; false when there is no input yet. SIGINT arrives here only, so that
   none is missed between a look at the flag, or at what the library has put off, and the wait. */
static bool wait_input(Editor *e) {
  sigset_t block, old;
  fd_set input;
  notice_signals(e);
  sigemptyset(&block);
  sigaddset(&block, SIGINT);
  sigprocmask(SIG_BLOCK, &block, &old);
  FD_ZERO(&input);
  FD_SET(STDIN_FILENO, &input);
  int n = has_signal(e) ? 0 : pselect(STDIN_FILENO + 1, &input, NULL, NULL, NULL, &old);
  bool is_interrupted = n == 0 || (n < 0 && errno == EINTR);
  sigprocmask(SIG_SETMASK, &old, NULL);
  if (is_interrupted) {
    notice_signals(e);
  }
  return !is_interrupted;
}

/* The key that stands for Ctrl-C: a newline, so that the library returns. If that is no answer, as
   to readline's `(y or n)`, the key that aborts, in turn with newlines; at first while readline
   completes: it has freed the candidates on the signal. readline shows a key that raised a signal by
   itself, libedit does not. */
static int interrupt_key(Editor *e) {
  enum { ABORT_KEY = 'G' - '@' };
  if (e->n_interrupt_keys == 0 && e->check_signals == NULL) {
    ssize_t n = write(STDOUT_FILENO, "^C", 2);
    (void)n; /* a terminal that is gone shows nothing */
  }
  return (e->n_interrupt_keys++ + e->must_abort) % 2 == 0 ? '\n' : ABORT_KEY;
}

/* The next byte; EOF at the end. */
static int read_byte(Editor *e) {
  for (;;) {
    unsigned char c;
    bool is_ready = wait_input(e);
    if (*e->interrupt != 0) {
      return interrupt_key(e);
    }
    if (!is_ready) {
      continue; /* a signal that is not ours */
    }
    ssize_t n = read(STDIN_FILENO, &c, 1);
    if (n > 0) {
      return c;
    }
    if (n == 0 || errno != EINTR) {
      return EOF;
    }
  }
}

/* How many bytes follow the first byte of a character of UTF-8. */
static int n_following(int c) { return c < 0xC0 ? 0 : c < 0xE0 ? 1 : c < 0xF0 ? 2 : 3; }

/* The rl_getc_function of both libraries. */
static int read_char(FILE *file) {
  (void)file;
  int c = read_byte(current);
  if (!current->takes_wide || c < 0xC0) {
    return c;
  }
  int n = n_following(c), code = c & (0x3F >> n);
  while (n-- > 0 && (c = read_byte(current)) >= 0x80 && c < 0xC0) {
    code = code << 6 | (c & 0x3F);
  }
  return n < 0 ? code : c;
}

/* {====== Completion ====== */

/* Two spaces as the only candidate: they indent. */
static char **indent(void) {
  char **list = calloc(2, sizeof *list);
  if (list != NULL) {
    list[0] = strdup("  ");
  }
  return list;
}

static char **complete(const char *word, int start, int end) {
  (void)word;
  (void)start;
  (void)end;
  Editor *e = current;
  *e->is_complete = 1; /* no names of files when there is no candidate */
  if (e->append != NULL) {
    *e->append = '\0'; /* readline sets it to a space each time */
  }
  const char *line = *e->line_buffer;
  size_t cursor = (size_t)*e->point;
  if (e->is_more && strspn(line, " \t") >= cursor) {
    return indent();
  }
  return e->complete(e->complete_ud, line, cursor);
}

/* {====== Loading ====== */

static const char *const library_names[] = {"libedit.so.2", "libedit.so.0", "libedit.3.dylib",
                                            "libreadline.so.8", "libreadline.so.7"};

/* $CUTTLE_LIBEDIT: a library to load instead, or "off". It stays loaded until the program ends. */
static void *load_library(void) {
  const char *name = getenv("CUTTLE_LIBEDIT");
  void *lib = NULL;
  if (name != NULL && name[0] != '\0') {
    return strcmp(name, "off") == 0 ? NULL : dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  for (size_t i = 0; lib == NULL && i < CT_ARRAY_LEN(library_names); i++) {
    lib = dlopen(library_names[i], RTLD_NOW | RTLD_LOCAL);
  }
  return lib;
}

/* dlsym's result as a function pointer, which C does not let us cast. */
static void find_function(void *lib, const char *name, void *fn) {
  void *symbol = dlsym(lib, name);
  _Static_assert(sizeof symbol == sizeof(void (*)(void)), "function pointers are plain addresses");
  memcpy(fn, &symbol, sizeof symbol);
}

static void set_int(void *lib, const char *name, int value) {
  int *variable = dlsym(lib, name);
  if (variable != NULL) {
    *variable = value;
  }
}

static void set_text(void *lib, const char *name, const char *value) {
  const char **variable = dlsym(lib, name);
  if (variable != NULL) {
    *variable = value;
  }
}

/* Words are names: all else ends them. */
static const char break_characters[] = " \t\n\"'`!@#$%^&*()-=+[{]}\\|;:,.<>/?~";

static void set_completion(Editor *e, void *lib) {
  char **(**attempt)(const char *, int, int) = dlsym(lib, "rl_attempted_completion_function");
  e->line_buffer = dlsym(lib, "rl_line_buffer");
  e->point = dlsym(lib, "rl_point");
  e->is_complete = dlsym(lib, "rl_attempted_completion_over");
  if (attempt != NULL && e->line_buffer != NULL && e->point != NULL && e->is_complete != NULL &&
      e->complete != NULL) {
    *attempt = complete;
    set_text(lib, "rl_basic_word_break_characters", break_characters);
    set_text(lib, "rl_basic_quote_characters", ""); /* readline would close a text */
    e->append = dlsym(lib, "rl_completion_append_character");
  }
}

/* Before the first call of the library: libedit looks at the function once. Without it Ctrl-C ends
   the program, as it does without a handler. */
static void set_getc(Editor *e, void *lib) {
  int (**getc_function)(FILE *) = dlsym(lib, "rl_getc_function");
  if (getc_function == NULL) {
    e->readline = NULL;
    return;
  }
  *getc_function = read_char;
  bool is_libedit = dlsym(lib, "el_init") != NULL;
  bool is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  e->takes_wide = is_libedit && is_utf8;
  if (!is_libedit && e->check_signals == NULL) {
    set_int(lib, "rl_catch_signals", 0);
  }
}

static void load_editor(Editor *e) {
  void *lib = load_library();
  if (lib != NULL) {
    find_function(lib, "readline", &e->readline);
    find_function(lib, "add_history", &e->add_history);
    find_function(lib, "stifle_history", &e->stifle_history);
    find_function(lib, "rl_check_signals", &e->check_signals);
    find_function(lib, "rl_pending_signal", &e->pending_signal);
    e->state = dlsym(lib, "rl_readline_state");
    set_text(lib, "rl_readline_name", "cuttle");
    set_getc(e, lib);
    set_completion(e, lib);
  }
}

/* {====== History ====== */

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
    snprintf(e->history_path, sizeof e->history_path, "%s", file);
  } else if (state != NULL && state[0] == '/') {
    snprintf(e->history_path, sizeof e->history_path, "%s/cuttle/history", state);
  } else if (home != NULL && home[0] == '/') {
    snprintf(e->history_path, sizeof e->history_path, "%s/.local/state/cuttle/history", home);
  }
  if (e->history_path[0] == '/') {
    make_folders(e->history_path);
  }
}

/* In the file a newline is \n and a backslash two of them. In place: what is read gets shorter. */
static void unescape(char *text) {
  char *to = text;
  for (const char *p = text; *p != '\0'; p++) {
    bool escaped = *p == '\\' && p[1] != '\0';
    p += escaped;
    *to++ = escaped && *p == 'n' ? '\n' : *p;
  }
  *to = '\0';
}

static bool add_entry(Editor *e, const char *text) {
  if (e->latest != NULL && strcmp(e->latest, text) == 0) {
    return false;
  }
  free(e->latest);
  e->latest = strdup(text);
  e->add_history(text);
  return true;
}

/* Adds the entries of the file from number `from` on; `copy`, if any, gets their lines. Returns how
   many there were in all. */
static int read_entries(Editor *e, FILE *file, int from, FILE *copy) {
  char *line = NULL;
  size_t bytes = 0;
  ssize_t len;
  int n = 0;
  for (; (len = getline(&line, &bytes, file)) > 0; n++) {
    if (n >= from && copy != NULL) {
      fputs(line, copy);
    }
    line[len - (line[len - 1] == '\n')] = '\0';
    unescape(line);
    if (n >= from && copy == NULL) {
      add_entry(e, line);
    }
  }
  free(line);
  return n;
}

/* Replaces the file by its last entries. */
static void cut_history(Editor *e, FILE *file, int from) {
  CtNewFile copy;
  if (ct_newfile_open(&copy, e->history_path) != 0) {
    return;
  }
  rewind(file);
  read_entries(e, file, from, copy.file);
  (void)ct_newfile_close(&copy, true);
}

static void read_history(Editor *e) {
  FILE *file = fopen(e->history_path, "r");
  if (file == NULL) {
    return; /* a first run has none */
  }
  int n = read_entries(e, file, 0, NULL);
  if (n > 2 * HISTORY_ENTRIES) {
    cut_history(e, file, n - HISTORY_ENTRIES);
  }
  fclose(file);
}

static void write_escaped(FILE *file, const char *text) {
  for (; *text != '\0'; text++) {
    if (*text == '\n' || *text == '\\') {
      fputc('\\', file);
    }
    fputc(*text == '\n' ? 'n' : *text, file);
  }
  fputc('\n', file);
}

/* At once and at the end of the file, so that a program that is killed loses nothing, and two that
   run keep both. */
static void append_history(const Editor *e, const char *text) {
  FILE *file = fopen(e->history_path, "a");
  if (file != NULL) {
    write_escaped(file, text);
    fclose(file);
  }
}

void edit_remember(Editor *e, const char *input) {
  bool is_blank = input[strspn(input, " \t\n")] == '\0';
  if (e->readline != NULL && e->add_history != NULL && !is_blank && add_entry(e, input) &&
      e->history_path[0] != '\0') {
    append_history(e, input);
  }
}

/* {====== Lines ====== */

void edit_open(Editor *e) {
  current = e;
  if (!e->is_terminal || isatty(STDOUT_FILENO) != 1) {
    return;
  }
  setlocale(LC_CTYPE, ""); /* of what is typed; numbers stay as they are */
  load_editor(e);
  if (e->readline != NULL && e->add_history != NULL) {
    find_history(e);
    if (e->stifle_history != NULL) {
      e->stifle_history(HISTORY_ENTRIES);
    }
    if (e->history_path[0] != '\0') {
      read_history(e);
    }
  }
}

void edit_close(Editor *e) {
  free(e->line);
  free(e->latest);
  e->line = e->latest = NULL;
  current = NULL;
}

static EditStatus read_edited(Editor *e, const char *prompt) {
  e->line = e->readline(prompt);
  e->len = e->line == NULL ? 0 : strlen(e->line);
  return e->line == NULL ? EDIT_END : EDIT_LINE;
}

/* Shows the prompt and waits for a line, which a terminal gives whole; false when Ctrl-C came. */
static bool await_line(Editor *e, const char *prompt) {
  fputs(prompt, stdout);
  fflush(stdout);
  while (*e->interrupt == 0 && !wait_input(e)) {}
  return *e->interrupt == 0;
}

static EditStatus read_plain(Editor *e, const char *prompt) {
  size_t bytes = 0;
  if (e->is_terminal && !await_line(e, prompt)) {
    putchar('\n');
    return EDIT_INTERRUPTED;
  }
  ssize_t n = getline(&e->line, &bytes, stdin);
  if (n < 0) {
    clearerr(stdin); /* a terminal goes on after Ctrl-D */
    return EDIT_END;
  }
  e->len = (size_t)n - (e->line[n - 1] == '\n');
  e->line[e->len] = '\0';
  return EDIT_LINE;
}

EditStatus edit_read(Editor *e, bool is_more) {
  const char *prompt = is_more ? ">> " : "> ";
  free(e->line);
  e->line = NULL;
  e->is_more = is_more;
  e->n_interrupt_keys = 0;
  e->must_abort = false;
  EditStatus status = e->readline == NULL ? read_plain(e, prompt) : read_edited(e, prompt);
  return *e->interrupt == 0 ? status : EDIT_INTERRUPTED;
}
