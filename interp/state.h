/* state.h: what one interpreter owns beside its Lua state: memory, options, engines, devices. There
   is no global state: whatever a binding needs it finds here, by state_of(L). */
#ifndef CUTTLE_STATE_H
#define CUTTLE_STATE_H

#include <lua.h>
#include <signal.h>
#include <stdatomic.h>

#include "cuttle.h"
#include "runtime/device.h"
#include "runtime/rand.h"
#include "runtime/simt.h"

enum { STATE_MAX_DEVICES = 16 };

/* What running the script is for. */
typedef enum StateMode {
  STATE_RUN,
  STATE_EMIT /* launches are compiled for the target but not run; see state.h's users in launch.c */
} StateMode;

typedef enum StateDeviceKind { STATE_AUTO, STATE_CPU, STATE_CUDA } StateDeviceKind;

typedef struct CuttleState {
  lua_State *L; /* the main thread */
  CtAlloc alloc;
  CtArena scratch; /* results of one binding; reset when the next one begins (bind_enter) */
  StateMode mode;
  CtRand rand;

  cuttle_Options options; /* as given; the texts are not kept */
  bool is_module;         /* loaded by a foreign Lua, which owns L */
  char error[1280];       /* cuttle_error's message */

  const volatile sig_atomic_t *interrupt; /* not 0: stop; never NULL */
  volatile sig_atomic_t own_interrupt;
  uint64_t instructions; /* of this call so far, counted when there is a limit */

  StateDeviceKind device_kind; /* the choice of the current device, as the user made it */
  int device_ordinal;
  bool is_device_open;       /* the choice was acted upon */
  char device_why[512];      /* why `auto` took the CPU engine; "" else */
  CtDevice *device;          /* the current device; NULL: the CPU engine */
  CtDevice *cuda[STATE_MAX_DEVICES]; /* opened so far, by ordinal */
  CtSimtEngine *simt;        /* opened at first use */

  void *(*base_alloc)(void *ud, void *ptr, size_t old_bytes, size_t new_bytes);
  void *base_ud;
  atomic_size_t bytes; /* on the host, counted when there is a limit */
} CuttleState;

/* The state of L. Only where the language was opened in it. */
CuttleState *state_of(lua_State *L);

/* A new Lua state with everything in it, names as globals. NULL when out of memory. */
CuttleState *state_new(const cuttle_Options *options);
void state_free(CuttleState *s);

/* Makes a state for a Lua that exists already, once; the language's table is pushed [-0, +1, e]. */
void state_open_module(lua_State *L);

/* Pushes the table of the language's names [-0, +1, -]. */
void state_push_language(lua_State *L);

/* "auto", "cpu", "cuda", "cuda:1". Changes the choice before the device is opened, and the current
   device after. */
CtStatus state_choose_device(CuttleState *s, const char *text, CtErr *err) CT_NODISCARD;

/* The device for new tensors and launches: NULL is the CPU engine. Opens it at first use. */
CtStatus state_device(CuttleState *s, CtDevice **out, CtErr *err) CT_NODISCARD;

/* CUDA device number `ordinal`, opened at first use; -1: the host's context or the chosen ordinal. */
CtStatus state_cuda(CuttleState *s, int ordinal, CtDevice **out, CtErr *err) CT_NODISCARD;

/* The CPU engine, opened at first use. */
CtStatus state_simt(CuttleState *s, CtSimtEngine **out, CtErr *err) CT_NODISCARD;

/* Output of scripts, and notes for the host. */
void state_print(CuttleState *s, const char *text, size_t len);
void state_log(CuttleState *s, const char *line);

/* The value of an environment variable; NULL where the state does not look at them. */
const char *state_env(const CuttleState *s, const char *name);

/* Stops the running script by a hook; with the flag set, engines stop too. For signal handlers. */
void state_stop(CuttleState *s);
void state_resume(CuttleState *s); /* forgets an interrupt; a new call begins */

/* Loads the text of a chunk and remembers it for the kernel front end; leaves the function or a
   message on the stack, and returns Lua's status. `mode` as lua_load. */
int state_load(lua_State *L, const char *text, size_t len, const char *chunkname);
int state_load_file(lua_State *L, const char *path); /* NULL: standard input */

/* Calls the function below n_args values in protected mode, as one call of the host: limits and
   interrupts count from here. On failure the message is on the stack. */
int state_call(CuttleState *s, int n_args, int n_results);

#endif
