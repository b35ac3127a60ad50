/* worker.c: see program.h. */
#include "program.h"

#include <lauxlib.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "interp/state/state_language.h"
#include "process.h"
#include "repl.h"
#include "runtime/base/newfile.h"

static const char option[] = "--sandbox";

/* For stacks of threads, and for NVRTC, which no limit of a state counts. */
#define LIBRARY_BYTES ((rlim_t)4 << 30)

enum { DEFAULT_MIB = 1024, MAX_MIB = 1 << 20, MAX_OUTPUT = 1 << 20, READ_BYTES = 1 << 16 };

/* {====== The sandbox ====== */

bool worker_is_sandbox(const char *arg) {
  size_t len = sizeof option - 1;
  return strncmp(arg, option, len) == 0 && (arg[len] == '\0' || arg[len] == '=');
}

const char *worker_take_sandbox(int argc, char **argv, cuttle_Options *options) {
  if (argc < 2 || !worker_is_sandbox(argv[1])) {
    return NULL;
  }
  const char *value = argv[1] + sizeof option - 1;
  char *end = NULL;
  long mib = *value == '=' ? strtol(value + 1, &end, 10) : DEFAULT_MIB;
  if ((end != NULL && (*end != '\0' || end == value + 1)) || mib < 1 || mib > MAX_MIB) {
    return "--sandbox=MIB needs a whole number of MiB from 1 to 1048576";
  }
  options->sandbox = 1;
  options->no_environment = 1;
  options->device = "cpu";
  options->memory_limit = (size_t)mib << 20;
  options->interrupted_by_own_thread = 1;
  return NULL;
}

/* {====== Output ====== */

/* `ud` counts the bytes so far. */
static void print_limited(void *ud, const char *text, size_t len) {
  size_t *n = ud, room = *n < MAX_OUTPUT ? MAX_OUTPUT - *n : 0;
  fwrite(text, 1, len < room ? len : room, stdout);
  if (room > 0 && len >= room) {
    fputs("\n... the output beyond 1 MiB is dropped\n", stdout);
  }
  *n += len;
}

void worker_limit_output(cuttle_Options *options) {
  static size_t n_bytes;
  options->print = print_limited;
  options->print_ud = &n_bytes;
}

/* {====== Requests ====== */

/* It ends with the server that started it, leaves no image of its memory, and libraries find an end of memory, too. The
   server limits its time. */
static void obey_server(const CuttleState *s) {
  const struct rlimit none = {0, 0};
  const rlim_t most = (rlim_t)s->options.memory_limit + LIBRARY_BYTES;
  const struct rlimit data = {most, most};
  (void)setrlimit(RLIMIT_CORE, &none);
#ifdef __SANITIZE_ADDRESS__
  (void)data; /* the sanitizer's own memory is larger than any limit */
#else
  (void)setrlimit(RLIMIT_DATA, &data);
#endif
#ifdef __linux__
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  struct pollfd reply = {.fd = PROCESS_REPLY_FD};
  if (poll(&reply, 1, 0) < 0 || reply.revents != 0) { /* the server has ended already */
    _exit(EXIT_FAILURE);
  }
}

static void push_request(lua_State *L) {
  luaL_Buffer b;
  size_t n;
  luaL_buffinit(L, &b);
  do {
    char *to = luaL_prepbuffsize(&b, READ_BYTES);
    n = fread(to, 1, READ_BYTES, stdin);
    luaL_addsize(&b, n);
  } while (n > 0);
  luaL_pushresult(&b);
}

int worker_answer(CuttleState *s) {
  lua_State *L = s->L;
  size_t len;
  obey_server(s);
  s->emit.is_limited = true;
  state_push_module(L, "cuttle.mcp_answer");
  push_request(L);
  if (repl_call(s, 1, 1) != LUA_OK) {
    repl_report(L);
    return EXIT_FAILURE;
  }
  const char *text = lua_tolstring(L, -1, &len);
  bool ok = fflush(stdout) == 0 && text != NULL && ct_write_all(PROCESS_REPLY_FD, text, len);
  lua_pop(L, 1);
  return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
