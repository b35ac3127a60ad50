/* test_repl.c: the read-eval-print loop on a pseudo-terminal: prompts, several lines, history, Ctrl-C.
   Pipes are tested by tests/lua/program/inputs.lua. */
#define _XOPEN_SOURCE 700

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
  char seen[SEEN_BYTES];
} Session;

/* In the child: the terminal as standard input and output of the program. */
static void become(const char *program, const char *terminal, const char *history) {
  setsid();
  int fd = open(terminal, O_RDWR); /* becomes the controlling terminal: Ctrl-C raises SIGINT */
  dup2(fd, STDIN_FILENO);
  dup2(fd, STDOUT_FILENO);
  dup2(fd, STDERR_FILENO);
  setenv("TERM", "dumb", 1);
  setenv("CUTTLE_HISTORY", history, 1);
  setenv("CUTTLE_DEVICE", "cpu", 1);
  execl(program, program, (char *)NULL);
  _exit(127);
}

static bool start(Session *s, const char *program, const char *history) {
  memset(s, 0, sizeof *s);
  s->fd = posix_openpt(O_RDWR | O_NOCTTY);
  if (s->fd < 0 || grantpt(s->fd) != 0 || unlockpt(s->fd) != 0) {
    return false;
  }
  const char *terminal = ptsname(s->fd);
  s->pid = fork();
  if (s->pid == 0) {
    become(program, terminal, history);
  }
  return s->pid > 0;
}

/* Reads until `text` was seen behind what was matched before. */
static bool sees(Session *s, const char *text) {
  struct pollfd p = {.fd = s->fd, .events = POLLIN};
  for (;;) {
    const char *at = strstr(s->seen + s->from, text);
    if (at != NULL) {
      s->from = (size_t)(at - s->seen) + strlen(text);
      return true;
    }
    if (s->len + 1 >= SEEN_BYTES || poll(&p, 1, WAIT_MS) <= 0) {
      return false;
    }
    ssize_t n = read(s->fd, s->seen + s->len, SEEN_BYTES - 1 - s->len);
    if (n <= 0) {
      return false;
    }
    for (ssize_t i = 0; i < n; i++) { /* searched as text */
      char c = s->seen[s->len + (size_t)i];
      s->seen[s->len + (size_t)i] = c == '\0' ? ' ' : c;
    }
    s->len += (size_t)n;
    s->seen[s->len] = '\0';
  }
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

static void test_session(const char *program, const char *history) {
  Session s;
  if (!OK(start(&s, program, history), "the program starts on a terminal")) {
    return;
  }
  is_seen(&s, "Cuttle ", "greets");
  is_seen(&s, "> ", "prompts");
  type(&s, "(4,8):(8,1)\n");
  is_seen(&s, "\n(4,8):(8,1)", "prints a layout");
  is_seen(&s, "> ", "prompts again");
  type(&s, "for i = 40, 41 do\n");
  is_seen(&s, ">> ", "asks for more lines");
  type(&s, "print(i + 1) end\n");
  is_seen(&s, "41\r\n42", "runs them all");
  is_seen(&s, "> ", "prompts again");
  type(&s, "layout('(4')\n");
  is_seen(&s, "stdin:3:1: layout: expected ')' at column 2 of '(4'", "shows an error in a line");
  is_seen(&s, "> ", "goes on");
  type(&s, "while true do end\n");
  is_seen(&s, "while true do end", "runs an endless loop");
  pause_ms(300);
  type(&s, "\003");
  is_seen(&s, "interrupted", "which Ctrl-C stops");
  is_seen(&s, "> ", "and goes on");
  type(&s, "kernel('spin', function(x) while x[0] == 0.0 do end end)"
           "{grid = 1, block = 32}(zeros(f32, 1))\n");
  is_seen(&s, "zeros(f32, 1))", "runs an endless kernel");
  pause_ms(500);
  type(&s, "\003");
  is_seen(&s, "interrupted", "which Ctrl-C stops, too");
  is_seen(&s, "> ", "and goes on");
  type(&s, "6 * 7\n");
  is_seen(&s, "\n42", "with the same state");
  is_seen(&s, "> ", "prompts again");
  IS_INT(finish(&s, "exit\n"), 0, "exit ends it");
}

static void test_history(const char *program, const char *history) {
  Session s;
  if (!OK(start(&s, program, history), "a second session starts") || !sees(&s, "> ")) {
    return;
  }
  type(&s, "\020\020\n"); /* two lines up: the one before `exit` */
  is_seen(&s, "\n42", "a line of the first session is recalled");
  is_seen(&s, "> ", "prompts again");
  IS_INT(finish(&s, "\n\004"), 0, "Ctrl-D on an empty line ends it");
}

static bool has_editor(const char *history) {
  FILE *file = fopen(history, "r");
  if (file == NULL) {
    return false;
  }
  fclose(file);
  return true;
}

int main(int argc, char **argv) {
  static char program[4096], history[64];
  const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
  if (slash == NULL) {
    return skip_all("run it as build/tests/c/test_repl");
  }
  snprintf(program, sizeof program, "%.*s/../../cuttle", (int)(slash - argv[0]), argv[0]);
  snprintf(history, sizeof history, "/tmp/cuttle_history_%ld", (long)getpid());
  test_session(program, history);
  if (has_editor(history)) {
    test_history(program, history);
  } else {
    SKIP(4, "neither libedit nor readline is here");
  }
  unlink(history);
  return done_testing();
}
