/* state.h: what one interpreter owns beside its Lua state: memory, options, engines, devices. There
   is no global state: whatever a binding needs it finds here, by state_of(L). */
#ifndef CUTTLE_STATE_H
#define CUTTLE_STATE_H

#include <lua.h>
#include <signal.h>
#include <stdatomic.h>

#include "interp/cuttle.h"
#include "taps.h"
#include "runtime/device/device.h"
#include "runtime/device/nvrtc.h"
#include "runtime/device/storage.h"
#include "runtime/base/hash_table.h"
#include "runtime/base/pool.h"
#include "runtime/base/rand.h"
#include "runtime/base/ask.h"
#include "runtime/simt/simt.h"

enum { STATE_MAX_DEVICES = 16, STATE_MAX_VIRTUAL = 256 };

/* What running the script is for. */
typedef enum StateMode {
  STATE_RUN,
  STATE_EMIT,  /* besides, print the CUDA C of each specialisation that is launched */
  STATE_EXPORT /* launches run on the CPU engine, but operators choose for emit.sm */
} StateMode;

/* A coroutine that runs; state_coroutine.c. */
typedef struct StateCoroutine {
  lua_State *L;
  struct StateCoroutine *outer; /* that resumed it; NULL: the main thread */
} StateCoroutine;

/* A kernel that the host launched, by its address, which held in a turn. */
typedef struct StateKnown {
  const void *kernel;
  uint64_t turn;
} StateKnown;
enum { STATE_KNOWN = 16 };

/* Memory of others that is freed with the state. */
typedef struct StateBlock {
  struct StateBlock *next;
  size_t bytes;
} StateBlock;

/* What `cuttle emit` writes to files: the option's value, in which * stands for a name, and how many files of
   it were written. */
typedef struct StateImages {
  const char *path; /* NULL: none */
  int n;
} StateImages;

/* STATE_EMIT: the file that is written. */
typedef struct StateEmit {
  bool failed;             /* something did not compile, whether the script caught that or not */
  bool compiles;           /* compile it too, so that a failure is an error */
  bool is_limited;         /* this process has limits of time and memory that also stop NVRTC */
  int sm;                  /* the compute capability to write for, 90, */
  char arch[16];           /* and NVRTC's name of it, "sm_90a" */
  CtText functions, names; /* that it has so far; of kernels a number and each name with its 0 */
  CtHashTable by_name;     /* where each begins in `names` */
  StateImages ptx, cubin;
} StateEmit;

/* Of the last call of the host. */
typedef struct StateError {
  char text[1280]; /* cuttle_error's message */
  char file[256];  /* cuttle_error_place's */
  int line;        /* 0: none */
} StateError;

/* Of this call so far, counted when there is a limit. */
typedef struct StateInstructions {
  uint64_t n;
} StateInstructions;

/* Searches that can give the best so far. Signal handlers write them. */
typedef struct StateSearches {
  volatile sig_atomic_t n;       /* in progress */
  volatile sig_atomic_t asked;   /* one is asked to end */
  volatile sig_atomic_t n_asked; /* wishes that ended one, in this call */
} StateSearches;

/* A stream of the host on which a call enqueues its work. Its device knows it. */
typedef struct StateGuest {
  CtDevice *device; /* NULL: none */
  CtStream stream;
} StateGuest;

/* The calls of state_call in progress, one in the other. */
typedef struct StateCalls {
  int n;
  StateGuest guest; /* of the innermost one that has any */
} StateCalls;

/* What launches depend on, for those of the host without Lua: launch_lent.c. */
typedef struct StateTurn {
  uint64_t number; /* grows with each call that may have changed it */
  StateKnown known[STATE_KNOWN];
  bool is_open_to_host; /* the host has L, and may change things without a call */
  uint64_t written;     /* by the last launch with memory that a host lent: cuttle_written */
} StateTurn;

/* While a kernel is traced. */
typedef struct StateTracing {
  lua_Hook on_call;                               /* watches calls; NULL: no kernel is traced */
  void (*on_resume)(lua_State *L, lua_State *co); /* before co runs; may raise in L */
  lua_State *watched;
  lua_Hook other_hook; /* that somebody else had set in `watched`; NULL: none */
  int other_mask, other_count;
} StateTracing;

typedef struct StateTypes {
  const void *tensor, *kernel; /* addresses of their metatables */
  lua_CFunction refuse_name;   /* bind_refuse_name; counted.c */
} StateTypes;

typedef struct StateTensors {
  uint64_t n_made, n_closed; /* so far; closed or collected */
  size_t given_back;         /* bytes that scripts closed, less those of tensors made since */
} StateTensors;

/* Memory of tensors on the host. */
typedef struct StateMemory {
  CtStorageSet storages;
  CtBlanks blanks;    /* what has no contents yet, as far as check knows */
  CtSimtSpan *spans;  /* as a launch needs it; state_memory */
  size_t n, cap;      /* of the spans */
  uint64_t n_changes; /* of the set, when that was so */
  bool writes;        /* only what may be written */
} StateMemory;

/* Memory on the host, without that of tensors. */
typedef struct StateBytes {
  CtPool pool;     /* small blocks of Lua, unless the host gives an allocator */
  atomic_size_t n; /* counted when there is a limit */
} StateBytes;

typedef struct CuttleState {
  lua_State *L; /* the main thread */
  CtAlloc alloc;
  CtArena scratch; /* results of one binding; reset when the next one begins (bind_enter) */
  CtErr err;       /* diag_err */
  StateMode mode;
  StateEmit emit;
  CtRand rand;

  cuttle_Options options; /* as given; its texts are not kept */
  bool is_module;         /* opened in a Lua that somebody else owns */
  bool owns_process;      /* the program's: nobody else has threads in it */
  bool by_person;         /* the call in progress is the program's, which shows how far it is */
  bool takes_notes;       /* of what an input at the prompt meant; note.h */
  StateError error;

  /* Not 0: stop. Any thread sets it and any thread reads it, with __atomic operations: runtime/ct.h
     passes it on as an int, which C++ knows too. */
  volatile int interrupt;
  StateSearches searches;
  volatile sig_atomic_t signal; /* that stopped the script last; 0: none */
  StateCalls calls;
  CtAsk ask;           /* the host's poll, if it has one */
  uint32_t phase;      /* random, for the counts of coroutines */
  int rank;            /* of m:run, whose function runs now; -1: none */
  int n_ranks;         /* of that m:run in this process */
  unsigned script_s;   /* after which SIGALRM stops a script that reports; 0: never */
  double rank_seconds; /* that a kernel of them may wait for another rank; 0: for ever */
  StateTurn turn;
  bool is_polled;      /* the hook always looks at `interrupt`; else state_stop installs it */
  bool raised_in_hook; /* since a hook last ended without an error */
  bool is_device_open;
  bool
      reports; /* a command runs a script, and tells afterwards what it saw: SIGTERM stops it, too */
  bool is_closing;
  bool is_printing;                 /* the host is told what a kernel printed */
  bool is_engine_busy;              /* a launch on the CPU engine is in progress */
  bool is_benched;                  /* bench times calls: launches on a device begin at once */
  StateCoroutine *volatile running; /* innermost coroutine; NULL in the main thread */
  StateInstructions instructions;
  const char *stack_top; /* of a sandbox: the thread's stack when the host called; else NULL */

  StateTracing tracing;

  /* The current device is what `device_text` says ("auto"); it is opened at first use. */
  char device_text[32];
  char given_device[32];             /* what it was when the state was opened: the host's choice */
  CtDevice *device;                  /* NULL: the CPU engine */
  char device_why[1024];             /* why `auto` took the CPU engine; "" else */
  CtDevice *cuda[STATE_MAX_DEVICES]; /* opened so far, by ordinal */
  CtSimtEngine *simt;                /* opened at first use */
  StateTaps taps;                    /* who takes part in launches */
  bool may_overlap;    /* a chunk names grid_dependency_wait: such launches may come */
  bool names_changed;  /* some chunk assigns a name of the library, or a field of its tables */
  uint64_t n_host;     /* uses of tensors by the host, and else, that wait for all launches */
  struct Front *front; /* of traces; interp/trace/front.c. It lives in the registry */
  uint64_t n_remote;   /* elements that the host read or wrote one by one on a device */
  uint64_t n_specs;    /* specialisations made so far */
  StateBlock *images;  /* compiled last; spec_twin.c */
  StateTypes types;
  StateTensors tensors;
  StateMemory memory;

  StateBytes bytes;
} CuttleState;

/* The state of L. Only where the language was opened in it. */
CuttleState *state_of(lua_State *L);

/* A new Lua state, with what `open` puts into it; NULL when out of memory, or when `open` raises. Hosts
   call language_new_state. */
CuttleState *state_new(const cuttle_Options *options, void (*open)(lua_State *L));
/* Did the host set something in a struct of a later version, of `size` bytes, that this one, of `known` bytes, does not
   have? It must not be dropped without a word: it may be a limit. */
bool state_has_unknown(const void *options, size_t known, size_t size);
/* Why options cannot be taken; NULL: they can. */
const char *state_refuse_options(const cuttle_Options *options);
/* Why the device that they or the environment name cannot be, or what the environment says to check cannot be
   understood, until the thread's next call; NULL: all can. */
const char *state_refuse_start(const cuttle_Options *options);
void state_free(CuttleState *s);
/* The state is about to be freed. Waits for all devices, as nothing may be in flight when what it uses goes away.
   After an interrupt it gives up what is not done, which may never end, and so it does if a device was given up before:
   false, and no call reaches the driver any more. */
bool state_settle(CuttleState *s);
bool state_gave_up(const CuttleState *s); /* on some device */

/* The state of a Lua that exists already, made at the first call and freed with that Lua [-0, +0, e]. */
CuttleState *state_attach(lua_State *L);

/* Table in the registry: the latest kernel of each name. bind_kernel.c fills it. */
#define STATE_KERNELS "cuttle.kernels"
/* Table in the registry: the names of marks by number, and the numbers by name. */
#define STATE_MARKS "cuttle.marks"
/* String in the registry: the path that `reload()` runs. */
#define STATE_LAST_FILE "cuttle.last_file"

/* Makes "auto", "cpu", "cpu:8", "cuda" or "cuda:1" the current device. Opens none: a device that is missing is
   an error of its first use. */
CtStatus state_choose_device(CuttleState *s, const char *text, CtErr *err) CT_NODISCARD;

/* How many virtual devices the CPU engine is taken for: 8 of "cpu:8", else 1. Their tensors all lie on the
   host. */
int state_cpu_devices(const CuttleState *s);

/* The device for new tensors and launches: NULL is the CPU engine. Opens it at first use. */
CtStatus state_device(CuttleState *s, CtDevice **out, CtErr *err) CT_NODISCARD;

/* The device that a string like "cuda:1" names; NULL is the CPU engine. Opened at first use. */
CtStatus state_named_device(CuttleState *s, const char *text, CtDevice **out,
                            CtErr *err) CT_NODISCARD;

/* CUDA device number `ordinal`, opened at first use; -1: that of the host's context, else that of this process's
   number among those of its machine (launcher.h), else 0. */
CtStatus state_cuda(CuttleState *s, int ordinal, CtDevice **out, CtErr *err) CT_NODISCARD;

/* The name of a file at idx, which a sandbox keeps from scripts. Raises. */
const char *state_check_path(lua_State *L, int idx, const char *op);
/* Whether a script may choose the device, or put tensors on it: in a sandbox it has the host's. */
CtStatus state_check_device(const CuttleState *s, const char *text, CtErr *err) CT_NODISCARD;
/* Is this a sandbox to which the host gave the CPU engine? */
bool state_is_cpu_only(const CuttleState *s);

/* Compiles CUDA C, through the disk cache or not; nvrtc.h. An error in a sandbox on the CPU engine. */
CtStatus state_compile(CuttleState *s, const CtNvrtcJob *job, bool is_cached, CtNvrtcOutput *out,
                       CtErr *err) CT_NODISCARD;

/* The CPU engine, opened at first use. */
CtStatus state_open_simt(CuttleState *s, CtErr *err) CT_NODISCARD;
CT_NODISCARD static inline CtStatus state_simt(CuttleState *s, CtSimtEngine **out, CtErr *err) {
  CtStatus status = s->simt == NULL ? state_open_simt(s, err) : CT_OK;
  *out = s->simt;
  return status;
}

/* The memory of all tensors on the host, or of those that may be written: in order, joined where tensors overlap.
   Valid until the next call, or until one is made or freed. */
CtStatus state_memory(CuttleState *s, bool writes, const CtSimtSpan **out, size_t *n,
                      CtErr *err) CT_NODISCARD;

/* Output of scripts, and notes for the host. */
void state_print(CuttleState *s, const char *text, size_t len);
void state_print_to(void *state, const char *text, size_t len); /* as engines and devices call it */
void state_log(CuttleState *s, const char *line);

/* The value of an environment variable; NULL where the state does not look at them. */
const char *state_env(const CuttleState *s, const char *name);

/* Makes coroutine.resume, wrap and close note what runs; with Lua's libraries open [-0, +0, m]. */
void state_wrap_coroutines(lua_State *L);

/* state_hook.c. From now on the script itself looks whether it is to stop: state_stop then does no more
   than set a flag. */
void state_poll(CuttleState *s);
/* Stops the running script and engines. A state that polls: from any thread and any signal handler.
   Another one: from the state's own thread, a signal handler there included. */
void state_stop(CuttleState *s);
/* The same at a person's wish, but a search that has a best so far is to end with that at the first
   wish of a call. True: it was told to, and the script goes on. In the state's own thread only. */
bool state_ask(CuttleState *s);
void state_resume(CuttleState *s); /* forgets an interrupt; a new call begins */

bool state_is_interrupted(const CuttleState *s);
bool state_is_stopping(const CuttleState *s); /* that, or the limit of instructions is reached */
/* Takes n steps of a C function that may take many from the limit of instructions, and raises when the
   script is to stop [-0, +0, v]. */
void state_charge(lua_State *L, CuttleState *s, uint64_t n);

/* Makes the hook stop the script at its next instruction, if it is to stop. For the state's own thread,
   between any two steps of Lua's: memory is asked for. */
void state_rouse(CuttleState *s);

/* From now on `on_call` is asked at each call in L and in the coroutines that run inside it; NULL ends
   that. */
void state_watch_calls(CuttleState *s, lua_State *L, lua_Hook on_call);
void state_hook_coroutine(CuttleState *s, lua_State *co); /* before co runs */

/* Calls the function below n_args values in protected mode, as one call of the host: limits and
   interrupts count from here. On failure the message is on the stack. */
int state_call(CuttleState *s, int n_args, int n_results);

/* After a protected call: did it end because memory ran out? Its message is at the top. */
bool state_is_nomem(lua_State *L, int status);
/* If so, frees what the call leaves behind. Where Lua lacks memory it runs no finalizers, and so tensors, which
   nobody uses any more, keep theirs from whoever asks next. */
void state_free_garbage(lua_State *L, int status);

#endif
