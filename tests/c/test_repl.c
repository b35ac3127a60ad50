/* test_repl.c: the read-eval-print loop on a pseudo-terminal: prompts, several lines, history, Ctrl-C,
   completion, with libedit, with readline and with neither. Nothing waits but for what is to be seen.
   Pipes are tested by tests/lua/program/inputs.lua. */
#define _XOPEN_SOURCE 700

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"

static void pause_ms(long ms) {
  struct timespec t = {.tv_nsec = ms * 1000000};
  nanosleep(&t, NULL);
}

enum { WAIT_MS = 20000, SEEN_BYTES = 64 * 1024 };

typedef struct Session {
  pid_t pid;
  int fd;
  size_t len, from; /* of what was seen; where the next search begins */
  bool is_lost;     /* something was waited for in vain: what follows fails at once */
  char seen[SEEN_BYTES];
} Session;

/* What a session is started with. */
typedef struct Setup {
  const char *program, *history, *editor; /* editor: a library, or "off" */
  char folder[64];                        /* for files, the history among them */
} Setup;

/* In the child: the terminal as standard input and output of the program. */
static void become(const Setup *setup, const char *terminal) {
  setsid();
  int fd = open(terminal, O_RDWR); /* becomes the controlling terminal: Ctrl-C raises SIGINT */
  dup2(fd, STDIN_FILENO);
  dup2(fd, STDOUT_FILENO);
  dup2(fd, STDERR_FILENO);
  setenv("TERM", "dumb", 1);
  setenv("CUTTLE_HISTORY", setup->history, 1);
  setenv("CUTTLE_LIBEDIT", setup->editor, 1);
  setenv("CUTTLE_DEVICE", "cpu", 1);
  if (chdir(setup->folder) == 0) {
    execl(setup->program, setup->program, (char *)NULL);
  }
  _exit(127);
}

static bool start(Session *s, const Setup *setup) {
  memset(s, 0, sizeof *s);
  s->fd = posix_openpt(O_RDWR | O_NOCTTY);
  if (s->fd < 0 || grantpt(s->fd) != 0 || unlockpt(s->fd) != 0) {
    return false;
  }
  const char *terminal = ptsname(s->fd);
  s->pid = fork();
  if (s->pid == 0) {
    become(setup, terminal);
  }
  return s->pid > 0;
}

/* Reads until `text` was seen behind what was matched before. */
static bool sees(Session *s, const char *text) {
  struct pollfd p = {.fd = s->fd, .events = POLLIN};
  while (!s->is_lost) {
    const char *at = strstr(s->seen + s->from, text);
    if (at != NULL) {
      s->from = (size_t)(at - s->seen) + strlen(text);
      return true;
    }
    ssize_t n = 0;
    if (s->len + 1 < SEEN_BYTES && poll(&p, 1, WAIT_MS) > 0) {
      n = read(s->fd, s->seen + s->len, SEEN_BYTES - 1 - s->len);
    }
    s->is_lost = n <= 0;
    for (ssize_t i = 0; i < n; i++) { /* searched as text */
      char c = s->seen[s->len + (size_t)i];
      s->seen[s->len + (size_t)i] = c == '\0' ? ' ' : c;
    }
    s->len += n > 0 ? (size_t)n : 0;
    s->seen[s->len] = '\0';
  }
  return false;
}

static void is_seen(Session *s, const char *text, const char *name) {
  size_t from = s->from;
  if (!OK(sees(s, text), "%s", name)) {
    tap_diag("waited for: %s", text);
    for (char *line = strtok(s->seen + from, "\r\n"); line != NULL; line = strtok(NULL, "\r\n")) {
      tap_diag("saw: %s", line);
    }
  }
}

static void type(Session *s, const char *text) {
  if (write(s->fd, text, strlen(text)) < 0) {
    tap_diag("cannot write to the terminal");
  }
}

static void answers(Session *s, const char *keys, const char *text, const char *name) {
  type(s, keys);
  is_seen(s, text, name);
}

/* Types `text` until the program has ended: what arrives between the prompt and the editor's taking
   over the terminal is lost. A program that does not end is killed. */
static int finish(Session *s, const char *text) {
  int status = 0;
  pid_t ended = 0;
  for (int ms = 0; ended == 0 && ms < WAIT_MS; ms += 50) {
    if (ms % 1000 == 0) {
      type(s, text);
    }
    pause_ms(50);
    ended = waitpid(s->pid, &status, WNOHANG);
  }
  if (ended == 0) {
    kill(s->pid, SIGKILL);
    waitpid(s->pid, &status, 0);
  }
  close(s->fd);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* Keys, and what is seen next; then there is a prompt again. */
typedef struct Step {
  const char *keys, *expect, *name;
} Step;

static void take(Session *s, const Step *steps, size_t n) {
  for (size_t i = 0; i < n; i++) {
    answers(s, steps[i].keys, steps[i].expect, steps[i].name);
    if (!sees(s, "> ")) {
      tap_diag("no prompt after: %s", steps[i].name);
    }
  }
}

#define TAKE(session, steps) take(session, steps, sizeof(steps) / sizeof *(steps))

/* {====== With every editor ====== */

static const Step inputs[] = {
    {"(4,8):(8,1)\n", "\n(4,8):(8,1)", "prints a layout"},
    {"\n", "\n", "an empty line is nothing"},
    {"layout('(4')\n", "\ninput 2:1: layout: expected ')' at column 2 of '(4'", "shows an error"},
    {"for i = 40, 41 do\n", ">", "asks for more lines"},
    {"print(i + 1) end\n", "41\r\n42", "runs them all"},
    {"1 +\n", ">", "asks for more behind an operator"},
    {"1 + 1\n", "\n3", "adds them all"},
    {"7, nil, 'x'\n", "\n7\tnil\tx", "several values"},
    {"ans\n", "\n7", "ans is the first of them"},
    {"nil\n", "\nnil", "nothing"},
    {"print(ans)\n", "\nnil", "ans is nothing, and what has no value leaves it"},
    {"ans\n", "\nnil", "so it stays"},
    {"{1, 'two', {x = 3}}\n", "\n{1, \"two\", {x = 3}}", "a table by its contents"},
    {"t = {}; t.t = t; return t\n", "\n{t = <cycle>}", "a table in itself"},
    {"error {}\n", "\ninput 12:1: the error is a table, not a message", "an error that is no text"},
    {"error()\n", "\ninput 13:1: the error is nil, not a message", "an error that is nothing"},
    {"coroutine.wrap(function() error 'no' end)()\n", "\ninput 14:1: no", "one in a coroutine"},
    {"setmetatable({}, {__tostring = function() error 'no' end})\n", "\ninput 15:1: no",
     "one while a result is printed"},
    {"require 'nowhere'\n", "\ninput 16:1: module 'nowhere' not found\r\n", "a missing module"},
    {"tile = 3\n",
     "\ninput 17:1: warning: 'tile' is a name of the language; this assignment replaces it",
     "a name of the language is overwritten"},
    {"io.open('again.lua', 'w'):write('n = (n or 0) + 1 return n'):close()\n", "\ntrue", "a file"},
    {"reload('again.lua')\n", "\n1", "is run"},
    {"reload()\n", "\n2", "and run again"},
    {"help()\n", "\nlayouts       layout", "help lists the names by topic"},
    {"help(size)\n", "MoYe: size, length.", "and explains one, to the end"},
    {"help'rnak'\n", "\ninput 23:1: help: there is no 'rnak', did you mean 'rank'?",
     "or the nearest one"},
    {"apropos('stride')\n", "\nstride ", "or those about something"},
    {"Sw<1,0,2> o 0 o (2,4):(4,1)\n", " 5  4  7  6 ", "draws a swizzled layout"},
};

/* Notes on what an input meant, after its results. */
static const Step notes[] = {
    {"composition('(4,8)', '(8,4)').stride\n",
     "\n(1,4)\r\n-- \"(8,4)\" is a tiler here, mode by mode; the layout (8,4) is L\"(8,4)\"\r\n",
     "a text without strides as a tiler"},
    {"for i = 1, 9 do x = L'(2,2)':logical_product('(3,4)') end\n",
     "-- \"(3,4)\" is a tiler here, mode by mode; the layout (3,4) is L\"(3,4)\"\r\n",
     "once, of a method, too"},
    {"logical_divide('(4,8)', '(4,8,2)')\n", "tiler here, mode by mode", "beside an error"},
    {"L'(4,8)'(4, 8)\n",
     "\n36\r\n-- coordinate (4,8) is outside the shape (4,8); coordinates count from 0\r\n",
     "a coordinate outside"},
    {"svg('4:1')\n", " lines of SVG; svg(x, \"x.svg\") writes a file, print(ans) shows them\r\n",
     "a picture's text is counted"},
    {"#ans > 999, ans:sub(1, 5)\n", "\ntrue\t<?xml", "and is the result"},
    {"html('4:1')\n", " lines of HTML; html(x, \"x.html\") writes a file", "a page, too"},
    {"latex('4:1', {standalone = false})\n", " lines of LaTeX; latex(x, \"x.tex\")", "and LaTeX"},
};

/* What has one meaning, or comes from a file. */
static const Step silent[] = {
    {"composition('(4,8)', L'(8,4)').stride\n", "\n(1,8)", "a layout"},
    {"composition('(4,8)', '(8,4):(1,8)').stride\n", "\n(1,8)", "a text with strides"},
    {"composition('(4,8)', '<8:1,4:1>').stride\n", "\n(1,4)", "a tiler that says itself"},
    {"rank(logical_product('(2,2)', '6'))\n", "\n2", "one number"},
    {"rank(blocked_product('(2,5)', '(3,4)'))\n", "\n2", "an argument that is a layout"},
    {"f = load(\"return zipped_divide('(4,8)', '(2,4)')\", '=file.lua')\n", "\n", "a file"},
    {"rank(f())\n", "\n2", "knows what it means"},
    {"L'(4,8)'(3, 7), L'(4,8)'(31)\n", "\n31\t31", "coordinates inside"},
    {"rank(L'(4,8)'(_, 9))\n", "\n1", "slices"},
};

static void test_notes(Session *s) {
  TAKE(s, notes);
  size_t from = s->from;
  TAKE(s, silent);
  OK(strstr(s->seen + from, "\n-- ") == NULL, "and no note");
}

static const Step interrupts[] = {
    {"print('go' .. 'ing') while true do end\n", "going\r\n", "a loop"},
    {"print('go' .. 'ing') coroutine.wrap(function() while true do end end)()\n", "going\r\n",
     "a loop in a coroutine"},
    {"print('go' .. 'ing') while true do pcall(function() while true do end end) end\n",
     "going\r\n", "a loop that catches errors"},
    {"print('go' .. 'ing') while true do layout(1 << 22):values() end\n", "going\r\n",
     "lists of many indices"},
    {"print('go' .. 'ing') kernel('spin', function(x) while x[0] == 0.0 do x[0] = 0.0 end end)"
     "{grid = 1, block = 32}(zeros(f32, 1))\n",
     "going\r\n", "a kernel"},
};

static void test_interrupts(Session *s) {
  for (size_t i = 0; i < sizeof interrupts / sizeof *interrupts; i++) {
    answers(s, interrupts[i].keys, interrupts[i].expect, interrupts[i].name);
    answers(s, "\003", "interrupted\r\n", "which Ctrl-C stops");
    is_seen(s, "> ", "and goes on");
  }
}

static void test_cancel(Session *s) {
  answers(s, "error('never", "never", "a line is begun");
  answers(s, "\003", "> ", "Ctrl-C clears it");
  answers(s, "for i = 1, 2 do\n", ">> ", "several lines are begun");
  answers(s, "print('never')", "never", "a second one");
  answers(s, "\003", "> ", "Ctrl-C clears them all");
  answers(s, "open = 'abc\n", "unfinished string near", "no line can end the string of another");
  answers(s, "open = 'abc\\\n", ">> ", "unless the line ends with a backslash");
  answers(s, "def'\n", "> ", "it does");
  answers(s, "6 * 7\n", "\n42", "with the same state");
  is_seen(s, "> ", "prompts again");
}

/* The first block of Lua in README.md. */
static bool read_readme(char *text, size_t bytes) {
  static char all[16384];
  FILE *f = fopen("README.md", "r");
  size_t n = f == NULL ? 0 : fread(all, 1, sizeof all - 1, f);
  if (f != NULL) {
    fclose(f);
  }
  all[n] = '\0';
  const char *begin = strstr(all, "```lua\n");
  const char *end = begin == NULL ? NULL : strstr(begin, "\n```");
  if (end == NULL) {
    return false;
  }
  begin += strlen("```lua\n");
  snprintf(text, bytes, "%.*s\n", (int)(end - begin), begin);
  return true;
}

static void test_readme(Session *s) {
  char text[2048], line[256];
  if (!OK(read_readme(text, sizeof text), "the README has a program")) {
    return;
  }
  for (const char *at = text; *at != '\0'; at += strcspn(at, "\n") + 1) {
    snprintf(line, sizeof line, "%.*s\n", (int)strcspn(at, "\n"), at);
    type(s, line);
    if (strncmp(line, "print", 5) != 0 && !sees(s, "> ")) {
      tap_diag("no prompt after: %s", line);
    }
  }
  is_seen(s, "\n1.0\t21.0\t1999.0", "the README's program, line by line");
  sees(s, "> ");
  answers(s, text, "1.0\t21.0\t1999.0", "and all at once");
  sees(s, "> ");
  answers(s, "saxpy\n", "kernel saxpy (input ", "its locals stay");
  sees(s, "> ");
}

static void test_session(const Setup *setup) {
  Session s;
  if (!OK(start(&s, setup), "%s: the program starts on a terminal", setup->editor)) {
    return;
  }
  is_seen(&s, "Cuttle ", "greets");
  is_seen(&s, "the CPU engine (", "names the engine");
  is_seen(&s, "help() for help\r\n", "and where there is help");
  is_seen(&s, "> ", "prompts");
  TAKE(&s, inputs);
  test_readme(&s);
  test_notes(&s);
  test_interrupts(&s);
  test_cancel(&s);
  IS_INT(finish(&s, "exit\n"), 0, "exit ends it");
}

/* {====== With an editor ====== */

static const Step recalls[] = {
    {"\020\020\n", "\n42", "a line of the first session is recalled"}, /* the one before `exit` */
    {"for i = 50, 51 do\n", ">", "several lines"},
    {"print(i + 1)\n", ">", "of one input"},
    {"end\n", "51\r\n52", "are run"},
    {"\020\n", "51\r\n52", "and recalled as one"},
};

static const Step completions[] = {
    {"coale\t('(2,3):(1,2)')\n", "\n6:1", "a name of the language"},
    {"help(coale\t)\n", "\ncoalesce(", "a name to explain"},
    {"help \"coale\t\"\n", "\ncoalesce(", "a name to explain, as a text"},
    {"sw = swizzle(2, 0, 3)\n", "\n", "a swizzle"},
    {"sw.shif\t\n", "\n3", "a field of a swizzle"},
    {"sw:compos\t(L'(8,4):(4,1)')(1, 0)\n", "\n4", "a method of a swizzle"},
    {"tost\t(12)\n", "\n12", "a name of Lua"},
    {"retu\t 34\n", "\n34", "a word of Lua"},
    {"some_global = 5\n", "\n", "a global"},
    {"1 + some_g\t\n", "\n6", "is a name, too"},
    {"A = layout({4, 8})\n", "\n", "a layout"},
    {"A:compl\t(64)\n", "\n2:32", "a method of a layout"},
    {"L'(4,8)':compl\t(64)\n", "\n2:32", "a method of a literal"},
    {"layout({4, (8)}):compl\t(64)\n", "\n2:32", "a method of a layout that is made"},
    {"A.strid\t\n", "\n(1,4)", "a field of a layout"},
    {"ms = {tile_m = 128, inner = {deep = 9, lay = A}}\n", "\n", "a table"},
    {"ms.ti\t\n", "\n128", "a field of a table"},
    {"ms.inner.de\t\n", "\n9", "a field of a table in a table"},
    {"ms.inner.lay:cosi\t()\n", "\n32", "a method of what is in it"},
    {"('%d'):rep(2), string.form\t('%03d', 5)\n", "\t005", "a function of a library"},
    {"s = 'abc'\n", "\n", "a text"},
    {"s:uppe\t()\n", "\nABC", "a method of a string"},
    {"N = L\"(Rows=4,Key=8)\"\n", "\n", "a layout whose modes have names"},
    {"size(N, \"Ke\t\")\n", "\n8", "a mode as an argument"},
    {"N:size('Ro\t')\n", "\n4", "a mode as an argument of a method"},
    {"x = zeros(f32, 3)\n", "\n", "a tensor"},
    {"atom('SM75_8x8x16_S\t').threads\n", "\n32", "an atom"},
    {"atom \"SM80_CP_ASYNC_CACHEA\t<u32>\".sm\n", "\n80", "an atom, up to its types"},
    {"save_npy('rows-of_a.npy', arange(f32, 3))\n", "\n", "a file"},
    {"load_npy('rows-o\t')[2]\n", "\n2.0", "its name"},
    {"load_npy './rows-of_a.n\t'[1]\n", "\n1.0", "the end of its path"},
    {"x.dty\t\n", "\nf32", "a field of a tensor"},
    {"x:totab\t()[1]\n", "\n0.0", "a method of a tensor"},
    {"C = setmetatable({}, {__index = {method_a = function() return 'called' end}})\n", "\n",
     "an object"},
    {"C:meth\t()\n", "\ncalled", "a method from its class"},
    {"t = setmetatable({}, {__index = function() print('r' .. 'an') end})\n", "\n",
     "an object with code for its fields"},
    {"1 + 1 -- t.fie\t t:fie\t no_such_na\t f(1):prin\t u[1].prin\t ms.no\t.such\t nothing.at\t.all 'ms.t\n",
     "\n2", "what there is not, and comments, change nothing"},
    {"#'coale\t'\n", "\n5", "neither do texts"},
    {"#[[\n", ">", "a text of several lines"},
    {"\t]]\n", "\n2", "a tab indents the second one"},
};

static void test_lists(Session *s) {
  size_t from = s->from;
  answers(s, "A:co\t\t", "coalesce", "two tabs list methods");
  is_seen(s, "complement", "all of them");
  answers(s, "\003", "> ", "Ctrl-C clears the line");
  answers(s, "t.\t\t\003", "> ", "there may be nothing to list");
  answers(s, "print(\t\t", "possibilities", "many names are asked about");
  answers(s, "n", "> ", "n is an answer");
  answers(s, "\003", "> ", "Ctrl-C clears what was typed");
  OK(strstr(s->seen + from, "ran\r") == NULL, "completion runs no script");
}

static void test_editor(const Setup *setup) {
  Session s;
  if (!OK(start(&s, setup), "%s: a second session starts", setup->editor) || !sees(&s, "> ")) {
    return;
  }
  TAKE(&s, recalls);
  TAKE(&s, completions);
  test_lists(&s);
  IS_INT(finish(&s, "\n\004"), 0, "Ctrl-D on an empty line ends it");
}

/* {====== The program ====== */

static void remove_files(const Setup *setup) {
  static const char *const names[] = {"history", "again.lua", "rows-of_a.npy"};
  char path[128];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    snprintf(path, sizeof path, "%s/%s", setup->folder, names[i]);
    unlink(path);
  }
  rmdir(setup->folder);
}

static bool has_library(const char *name) {
  void *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (lib != NULL) {
    dlclose(lib);
  }
  return lib != NULL;
}

/* The program beside which this test was built, as an absolute path. */
static bool find_program(const char *self, char *path, size_t bytes) {
  const char *slash = strrchr(self, '/');
  char cwd[2048] = "";
  if (slash == NULL || getcwd(cwd, sizeof cwd) == NULL) {
    return false;
  }
  snprintf(path, bytes, "%s%s%.*s/../../cuttle", self[0] == '/' ? "" : cwd,
           self[0] == '/' ? "" : "/", (int)(slash - self), self);
  return true;
}

static void test_with(const char *program, const char *editor) {
  Setup setup = {.program = program, .history = "history", .editor = editor};
  snprintf(setup.folder, sizeof setup.folder, "/tmp/cuttle_repl_XXXXXX");
  if (OK(mkdtemp(setup.folder) != NULL, "a folder for files")) {
    test_session(&setup);
    if (strcmp(editor, "off") != 0) {
      test_editor(&setup);
    }
    remove_files(&setup);
  }
}

int main(int argc, char **argv) {
  static const char *const libraries[] = {"libedit.so.2", "libreadline.so.8"};
  static char program[4096];
  if (argc < 1 || !find_program(argv[0], program, sizeof program)) {
    return skip_all("run it as build/tests/c/test_repl");
  }
  test_with(program, "off");
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
    if (has_library(libraries[i])) {
      test_with(program, libraries[i]);
    } else {
      SKIP(1, libraries[i]);
    }
  }
  return done_testing();
}
