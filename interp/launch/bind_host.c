/* bind_host.c: what scripts and the standard library's Lua modules need of the host. Scripts have terminal and
   write_file, which stdlib/meta/host.lua describes. Names with a leading `_` are for modules: language.c moves them out
   of scripts' reach, as internal.host.fail.
     _host.fail(message)  raises an error that blames the script's line, not the library's
     _launch.address(t)     where a host tensor's first element is, in memory or on its device; nil for a tensor
                     of a kernel, nil and "is closed; ..." for one without memory
     _host.write_lasting(name, text)  write_file, so that a loss of power does not undo it
     _host.make_folder(name)  makes a folder, and those above it, if there is none; nil and why where nobody can
                     write there
     _host.lock_file(name)  the lock of the file, to be closed; it makes the file if there is none, and removes
                     what killed writers left. nil and why where it cannot
     _host.is_missing(code)  does that number, which io.open returns, say that there is no such file?
     _host.cache_folder() where the disk cache is; nil: there is none
     _host.hash(text)     16 hexadecimal digits
     _host.driver()       which CUDA the driver of the device in use has, as "CUDA 13.0"; nil on the CPU engine
     _host.program()      where the running program's file lies; nil where the system does not tell. A sandboxed
                     script does not learn it
     _launch.can_compile()  is there an NVRTC?
     _launch.is_watched()   does somebody look at launches of the CPU engine?
     _launch.call(f, ...)   calls f, in which no coroutine may yield: what it has begun, it ends
     _launch.emit_sm()      under `cuttle emit` and `export` the compute capability that the source is for, times 10, else
                     nil; then that of texts without a device, --sm=N, and the bytes of shared
                     memory that a block has there */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "interp/algebra/bind.h"
#include "launch.h"
#include "runtime/base/env.h"
#include "runtime/base/newfile.h"
#include "runtime/base/program.h"
#include "runtime/device/cache.h"
#include "interp/state/fields.h"
#include "interp/state/state.h"
#include "interp/tensor/tensor.h"
#include "interp/openers.h"

static int fail(lua_State *L) { return diag_error(L, "%s", luaL_checkstring(L, 1)); }

static const char *env_text(const CuttleState *s, const char *name) {
  const char *text = state_env(s, name);
  return text == NULL ? "" : text;
}

/* Whether the locale's characters are UTF-8, by the variables that choose it, the first that is set. */
static bool is_utf8(const CuttleState *s) {
  static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
  for (size_t i = 0; i < CT_ARRAY_LEN(names); i++) {
    const char *text = env_text(s, names[i]);
    if (*text != '\0') {
      return strstr(text, "UTF-8") != NULL || strstr(text, "utf8") != NULL ||
             strstr(text, "UTF8") != NULL || strstr(text, "utf-8") != NULL;
    }
  }
  return false;
}

/* The file that print writes to; -1: the host gets the text. */
static int output_of(const CuttleState *s) {
  if (s->options.print != NULL) {
    return -1;
  }
  return s->mode == STATE_EMIT ? STDERR_FILENO : STDOUT_FILENO;
}

/* COLUMNS, else what the terminal says; 0: unknown. */
static int columns_of(const CuttleState *s, int terminal_fd) {
  long n = strtol(env_text(s, "COLUMNS"), NULL, 10);
  struct winsize w;
  if (n > 0 && n < INT16_MAX) {
    return (int)n;
  }
  return terminal_fd >= 0 && ioctl(terminal_fd, TIOCGWINSZ, &w) == 0 ? w.ws_col : 0;
}

static int terminal(lua_State *L) {
  const CuttleState *s = state_of(L);
  int fd = output_of(s);
  bool is_terminal = fd >= 0 && isatty(fd) == 1;
  bool is_dumb = strcmp(env_text(s, "TERM"), "dumb") == 0;
  int columns = columns_of(s, is_terminal ? fd : -1);
  lua_createtable(L, 0, 3);
  if (columns > 0) {
    field_integer(L, "columns", columns);
  }
  field_bool(L, "utf8", is_utf8(s));
  field_bool(L, "color", is_terminal && !is_dumb && *env_text(s, "NO_COLOR") == '\0');
  return 1;
}

static int address(lua_State *L) {
  const Tensor *t = tensor_check(L, 1, "address");
  CtErr err;
  if (t->in_kernel) {
    return 0;
  }
  if (tensor_live(t, &err) != CT_OK) {
    lua_pushnil(L);
    lua_pushstring(L, err.msg);
    return 2;
  }
  ct_blank_settle(t->storage->blank); /* whoever has the address may write */
  uint64_t at = ct_storage_place(t->storage) + tensor_byte(t, 0);
  lua_pushinteger(L, (lua_Integer)at);
  return 1;
}

static int push_why(lua_State *L, const char *path, const char *why) {
  lua_pushnil(L);
  lua_pushfstring(L, "%s: %s", path, why);
  return 2;
}

/* true, or nil and why: `why` is an error number, or 0. */
static int push_done(lua_State *L, const char *path, int why) {
  if (why != 0) {
    return push_why(L, path, strerror(why));
  }
  lua_pushboolean(L, true);
  return 1;
}

/* Whole or not at all: runtime/base/newfile.h. */
static int write_by(lua_State *L, int (*write)(const char *path, const void *text, size_t len)) {
  size_t len;
  const char *path = state_check_path(L, 1, "write_file");
  if (lua_type(L, 2) != LUA_TSTRING) {
    return diag_type_error(L, 2, "write_file", "the text");
  }
  const char *text = lua_tolstring(L, 2, &len);
  return push_done(L, path, write(path, text, len));
}

static int write_file(lua_State *L) { return write_by(L, ct_newfile_write); }
static int write_lasting(lua_State *L) { return write_by(L, ct_newfile_write_lasting); }

static int make_folder(lua_State *L) {
  enum { FOR_ALL = 0777 }; /* but for what the umask says */
  const char *path = state_check_path(L, 1, "make_folder");
  int why = ct_newfile_folder(path, FOR_ALL);
  return push_done(L, path, why == 0 && access(path, W_OK) != 0 ? errno : why);
}

/* {====== What results of tuning are kept with ====== */

#define LOCK_TYPE "lock of a file"

enum { LOCK_WAIT_MS = 10000 };

static int lock_file(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  if (state_of(L)->options.sandbox) {
    return push_why(L, path, "a sandboxed script has no files");
  }
  CtFileLock *lock = lua_newuserdatauv(L, sizeof *lock, 0);
  lock->fd = -1;
  luaL_setmetatable(L, LOCK_TYPE);
  int why = ct_filelock_take(lock, path, LOCK_WAIT_MS);
  if (why != 0) {
    return push_why(L, path, why == EWOULDBLOCK ? "another program holds it" : strerror(why));
  }
  ct_filelock_sweep(path);
  return 1;
}

static int lock_close(lua_State *L) {
  ct_filelock_drop(luaL_checkudata(L, 1, LOCK_TYPE));
  return 0;
}

/* The number differs from system to system. */
static int is_missing(lua_State *L) {
  lua_pushboolean(L, luaL_checkinteger(L, 1) == ENOENT);
  return 1;
}

static int cache_folder(lua_State *L) {
  const CuttleState *s = state_of(L);
  CtCache cache;
  CtErr err;
  if (s->options.sandbox) {
    return 0;
  }
  bool before = ct_env_ignore(s->options.no_environment != 0);
  CtStatus status = ct_cache_init(&cache, &err);
  (void)ct_env_ignore(before);
  diag_check(L, status, &err);
  if (cache.dir[0] == '\0' || !ct_cache_make(&cache)) {
    return 0;
  }
  lua_pushstring(L, cache.dir);
  return 1;
}

static int hash(lua_State *L) {
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len);
  char digits[17];
  CtHash h;
  ct_hash_init(&h);
  ct_hash_add(&h, text, len);
  snprintf(digits, sizeof digits, "%016llx", (unsigned long long)ct_hash_end(&h).lo);
  lua_pushstring(L, digits);
  return 1;
}

static int driver(lua_State *L) {
  CtDevice *d;
  diag_try(L, state_device(state_of(L), &d, diag_err(L)));
  if (d == NULL) {
    return 0;
  }
  int v = ct_device_info(d)->driver_version;
  lua_pushfstring(L, "CUDA %d.%d", v / 1000, v % 1000 / 10);
  return 1;
}

/* The disk cache answers with no kernel either, as its keys name the NVRTC. */
static int can_compile(lua_State *L) {
  CtNvrtcId id;
  lua_pushboolean(L, ct_nvrtc_identity(&id, diag_err(L)) == CT_OK);
  return 1;
}

static int is_watched(lua_State *L) {
  const CuttleState *s = state_of(L);
  lua_pushboolean(L, s->taps.watch != NULL || s->taps.session != NULL);
  return 1;
}

static int call(lua_State *L) {
  luaL_checkany(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

/* {====== The program ====== */

static int program(lua_State *L) {
  char path[PATH_MAX];
  if (state_of(L)->options.sandbox || !ct_program_path(path, sizeof path)) {
    return 0;
  }
  lua_pushstring(L, path);
  return 1;
}

static int emit_sm(lua_State *L) {
  const CuttleState *s = state_of(L);
  lua_pushinteger(L, s->emit.sm);
  if (s->mode != STATE_RUN) {
    lua_pushvalue(L, -1);
  } else {
    lua_pushnil(L);
  }
  lua_insert(L, -2);
  lua_pushinteger(L, (lua_Integer)launch_cuda_target(s->emit.sm).shared_max);
  return 3;
}

static const luaL_Reg functions[] = {{"_host.fail", fail},
                                     {"terminal", terminal},
                                     {"_launch.address", address},
                                     {"write_file", write_file},
                                     {"_host.write_lasting", write_lasting},
                                     {"_host.make_folder", make_folder},
                                     {"_host.lock_file", lock_file},
                                     {"_host.is_missing", is_missing},
                                     {"_host.cache_folder", cache_folder},
                                     {"_host.hash", hash},
                                     {"_host.driver", driver},
                                     {"_launch.can_compile", can_compile},
                                     {"_launch.is_watched", is_watched},
                                     {"_launch.call", call},
                                     {"_launch.emit_sm", emit_sm},
                                     {"_host.program", program},
                                     {NULL, NULL}};

void bind_open_host(lua_State *L) {
  bind_new_handle(L, LOCK_TYPE, lock_close, NULL);
  luaL_setfuncs(L, functions, 0);
}
