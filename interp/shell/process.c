/* process.c: see process.h. */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/base.h"
#include "runtime/base/clock.h"
#include "runtime/base/program.h"

#define PROCESS_TYPE "process"

extern char **environ; /* POSIX leaves its declaration to programs */

enum { READ_BYTES = 1 << 16, WAITED = 64, ARGUMENTS = 64, KEPT = 2 };

typedef struct Process {
  pid_t pid;        /* 0: its end was awaited */
  int reply;        /* the end of the pipe that is read; -1: none */
  int status;       /* as waitpid tells it */
  FILE *kept[KEPT]; /* standard output, standard error: files without names; NULL: not kept */
} Process;

static Process *check(lua_State *L) { return luaL_checkudata(L, 1, PROCESS_TYPE); }

static void await(Process *p) {
  while (p->pid > 0 && waitpid(p->pid, &p->status, 0) < 0) {
    if (errno != EINTR) {
      break;
    }
  }
  p->pid = 0;
}

static int end_process(lua_State *L) {
  Process *p = check(L);
  if (p->pid > 0) {
    (void)kill(p->pid, SIGKILL);
    await(p);
  }
  return 0;
}

static int close_process(lua_State *L) {
  Process *p = check(L);
  end_process(L);
  if (p->reply >= 0) {
    (void)close(p->reply);
    p->reply = -1;
  }
  for (int i = 0; i < KEPT; i++) {
    if (p->kept[i] != NULL) {
      (void)fclose(p->kept[i]);
      p->kept[i] = NULL;
    }
  }
  return 0;
}

/* {====== Starting ====== */

/* No process that is started later has it. */
static bool keep_private(int fd) { return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0; }

static FILE *new_file(const char *text, size_t len) {
  FILE *f = tmpfile();
  if (f != NULL && (!keep_private(fileno(f)) || fwrite(text, 1, len, f) != len || fflush(f) != 0 ||
                    fseek(f, 0, SEEK_SET) != 0)) {
    (void)fclose(f);
    f = NULL;
  }
  return f;
}

/* The pipe of the answer: the process's own end is the result; -1: there is none. */
static int open_reply(Process *p) {
  int ends[2];
  if (pipe(ends) != 0) {
    return -1;
  }
  p->reply = ends[0];
  if (!keep_private(ends[0]) || !keep_private(ends[1]) ||
      fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) {
    (void)close(ends[1]);
    return -1;
  }
  return ends[1];
}

/* Starts it with these files in the places of the standard ones; NULL: with this program's own. Returns errno. */
static int spawn(Process *p, const char *path, char *const argv[], FILE *input, int reply) {
  posix_spawn_file_actions_t actions;
  int why = posix_spawn_file_actions_init(&actions);
  if (why != 0) {
    return why;
  }
  if (input != NULL) {
    const int from[] = {fileno(input), fileno(p->kept[0]), fileno(p->kept[1]), reply};
    for (int to = 0; to < (int)CT_ARRAY_LEN(from) && why == 0; to++) {
      why = posix_spawn_file_actions_adddup2(&actions, from[to], to);
    }
  }
  why = why == 0 ? posix_spawn(&p->pid, path, &actions, NULL, argv, environ) : why;
  (void)posix_spawn_file_actions_destroy(&actions);
  return why;
}

/* With the text at `input`, see process.h. Returns errno. */
static int start_answering(Process *p, const char *path, char *const argv[], const char *text,
                           size_t len) {
  FILE *input = new_file(text, len);
  bool is_kept = input != NULL;
  for (int i = 0; i < KEPT && is_kept; i++) {
    p->kept[i] = new_file("", 0);
    is_kept = p->kept[i] != NULL;
  }
  int reply = is_kept ? open_reply(p) : -1;
  int why = reply >= 0 ? spawn(p, path, argv, input, reply) : errno;
  if (reply >= 0) {
    (void)close(reply);
  }
  if (input != NULL) {
    (void)fclose(input);
  }
  return why;
}

static int start(lua_State *L) {
  char path[PATH_MAX], *argv[ARGUMENTS + 2] = {path};
  size_t len;
  luaL_checktype(L, 1, LUA_TTABLE);
  const char *input = luaL_optlstring(L, 2, NULL, &len);
  lua_Integer n = luaL_len(L, 1);
  luaL_argcheck(L, n <= ARGUMENTS, 1, "too many arguments");
  luaL_checkstack(L, ARGUMENTS + 4, NULL);
  for (int i = 1; i <= (int)n; i++) {
    lua_rawgeti(L, 1, i);
    argv[i] = (char *)(uintptr_t)luaL_checkstring(L, -1); /* posix_spawn does not write it */
  }
  if (!ct_program_path(path, sizeof path)) {
    lua_pushnil(L);
    lua_pushliteral(L, "the system does not tell where this program lies");
    return 2;
  }
  Process *p = lua_newuserdatauv(L, sizeof *p, 0);
  *p = (Process){.reply = -1};
  luaL_setmetatable(L, PROCESS_TYPE);
  int why =
      input == NULL ? spawn(p, path, argv, NULL, -1) : start_answering(p, path, argv, input, len);
  if (why != 0) {
    p->pid = 0;
    lua_pushnil(L);
    lua_pushfstring(L, "%s cannot be started: %s", path, strerror(why));
    return 2;
  }
  return 1;
}

/* {====== Waiting and reading ====== */

static int wait_any(lua_State *L) {
  struct pollfd polled[WAITED + 1];
  nfds_t n = 0;
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_argcheck(L, luaL_len(L, 1) <= WAITED, 1, "too many processes");
  int ms = (int)luaL_checkinteger(L, 2);
  bool with_input = lua_toboolean(L, 3) != 0;
  if (with_input) {
    polled[n++] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
  }
  for (lua_Integer i = 1; i <= luaL_len(L, 1); i++) {
    lua_rawgeti(L, 1, i);
    const Process *p = luaL_checkudata(L, -1, PROCESS_TYPE);
    polled[n++] = (struct pollfd){.fd = p->reply, .events = POLLIN};
    lua_pop(L, 1);
  }
  bool has = poll(polled, n, ms) > 0 && with_input && polled[0].revents != 0;
  lua_pushboolean(L, has);
  return 1;
}

/* Pushes what can be read, nil at the end. */
static int push_read(lua_State *L, int fd) {
  char *bytes = lua_newuserdatauv(L, READ_BYTES, 0);
  ssize_t n = read(fd, bytes, READ_BYTES);
  if (n > 0) {
    lua_pushlstring(L, bytes, (size_t)n);
  } else if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
    lua_pushliteral(L, "");
  } else {
    lua_pushnil(L);
  }
  return 1;
}

static int read_input(lua_State *L) { return push_read(L, STDIN_FILENO); }
static int read_reply(lua_State *L) { return push_read(L, check(L)->reply); }

static int push_kept(lua_State *L, int i) {
  const Process *p = check(L);
  struct stat st;
  if (p->kept[i] == NULL || fstat(fileno(p->kept[i]), &st) != 0) {
    lua_pushliteral(L, "");
    return 1;
  }
  char *bytes = lua_newuserdatauv(L, (size_t)st.st_size + 1, 0);
  ssize_t n = pread(fileno(p->kept[i]), bytes, (size_t)st.st_size, 0);
  lua_pushlstring(L, bytes, n > 0 ? (size_t)n : 0);
  return 1;
}

static int push_output(lua_State *L) { return push_kept(L, 0); }
static int push_errors(lua_State *L) { return push_kept(L, 1); }

static int push_status(lua_State *L) {
  Process *p = check(L);
  await(p);
  if (WIFEXITED(p->status)) {
    lua_pushinteger(L, WEXITSTATUS(p->status));
    return 1;
  }
  lua_pushnil(L);
  lua_pushinteger(L, WIFSIGNALED(p->status) ? WTERMSIG(p->status) : 0);
  return 2;
}

static int now(lua_State *L) {
  lua_pushnumber(L, ct_now_ms() / 1e3);
  return 1;
}

/* An editor may replace the file by another, so its number counts, too. */
static int changed(lua_State *L) {
  struct stat st;
  char text[96];
  if (stat(luaL_checkstring(L, 1), &st) != 0) {
    return 0;
  }
  snprintf(text, sizeof text, "%llu %lld %lld.%09ld", (unsigned long long)st.st_ino,
           (long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
  lua_pushstring(L, text);
  return 1;
}

void process_push(lua_State *L) {
  static const luaL_Reg functions[] = {{"start", start},      {"wait", wait_any},
                                       {"input", read_input}, {"now", now},
                                       {"changed", changed},  {NULL, NULL}};
  static const luaL_Reg methods[] = {{"reply", read_reply},      {"output", push_output},
                                     {"errors", push_errors},    {"status", push_status},
                                     {"kill", end_process},      {"__gc", close_process},
                                     {"__close", close_process}, {NULL, NULL}};
  luaL_newmetatable(L, PROCESS_TYPE);
  luaL_setfuncs(L, methods, 0);
  lua_pushvalue(L, -1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
  luaL_newlib(L, functions);
}
