/* cuttle.h: the interpreter as a library. A host opens a state, runs scripts in it, lends it memory
   as tensors and launches kernels that the scripts defined.

   States share nothing: any number of them in any number of threads, each used by one thread at a
   time. Nothing here prints, exits or raises: a function that fails returns a status other than
   CUTTLE_OK (or NULL) and keeps a one-line message, which cuttle_error returns. Texts are UTF-8 and
   NUL-terminated unless a length is given.

   What is stable: within a minor version (0.1.x) programs that are compiled with this header work with each
   later library. Functions, values of enumerations and fields at the end of structs with a `size` may be added;
   nothing here changes its meaning. A minor version may change more, with another soname (docs/stability.md).

   Element types of memory are all those of the language, by text or as cuttle_DType: f64, f32, tf32, f16, bf16,
   f8e4m3, f8e5m2, i64, i32, i16, i8, u64, u32, u16, u8, bool, f8ue8m0, f8ue4m3, f6e2m3, f6e3m2, f4e2m1. */
#ifndef CUTTLE_H
#define CUTTLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CUTTLE_VERSION "0.1.0"

typedef struct CuttleState cuttle_State;   /* an interpreter with its devices */
typedef struct CuttleKernel cuttle_Kernel; /* a kernel of a script; owned by its state */
typedef struct CuttleTensor cuttle_Tensor; /* a tensor that the host holds */
struct lua_State;

typedef enum cuttle_Status {
  CUTTLE_OK = 0,
  CUTTLE_ERROR = 1,      /* a script, an argument, a file or a device failed: see cuttle_error */
  CUTTLE_NOMEM = 2,      /* out of memory, or the state's memory limit */
  CUTTLE_INTERRUPTED = 3 /* stopped by cuttle_interrupt or by the instruction limit */
} cuttle_Status;

/* How a state is opened. Set `size`, and leave the fields that you do not need zero:
   `cuttle_Options o = {.size = sizeof o};` in C, `cuttle_Options o{}; o.size = sizeof o;` in C++.
   Texts are copied by cuttle_open; callbacks and their `..._ud` must outlive the state. */
typedef struct cuttle_Options {
  size_t
      size; /* sizeof(cuttle_Options) as the host was compiled. Fields that an older host lacks count
                  as zero; 0, or a field that this version does not know, is an error of cuttle_open */

  /* All memory on the host comes from here: like realloc, frees (and returns NULL) when new_bytes is
     0, returns NULL when it cannot. NULL: the C library's. Called by the state's thread and by the
     CPU engine's, so it must be thread-safe. */
  void *(*alloc)(void *ud, void *ptr, size_t old_bytes, size_t new_bytes);
  void *alloc_ud;

  /* Gets what scripts print, with `print` and with printf in kernels. The output of a kernel on a GPU
     arrives while a call, such as cuttle_close, waits for the kernel. While this callback handles a
     kernel's output, all functions of this state except cuttle_interrupt fail. NULL: standard output. */
  void (*print)(void *ud, const char *text, size_t len);
  void *print_ud;

  /* Gets one-line notes and warnings, without a newline. NULL: they are dropped. */
  void (*log)(void *ud, const char *line);
  void *log_ud;

  size_t memory_limit; /* bytes on the host, tensors included; 0: none */
  uint64_t
      instruction_limit; /* Lua instructions of one call below; 0: none. Kernels do not count */

  /* Not 0: scripts have no files, no processes, no debug library, no C modules, no bytecode, no CUDA C
     of their own and no finalizers, and none of their code runs after a stop. The accesses of a
     kernel on a GPU are not checked: run untrusted scripts on the device "cpu". docs/sandbox.md states
     what this guarantees and what it does not. */
  int sandbox;

  const char *device; /* "auto", "cpu", "cpu:8", "cuda", "cuda:1"; NULL or "": CUTTLE_DEVICE of the
                         environment, else "auto": the first CUDA device, else the CPU engine.
                         Opened at first use, so a missing device fails that call; any other text,
                         also from the environment, fails cuttle_open */

  void *cuda_context; /* a CUcontext of the host to use; NULL: the device's primary one */
  void *cuda_stream;  /* a CUstream of the host for all work; used if use_stream is not 0 */
  int use_stream;

  int no_environment; /* not 0: the process's environment variables are not read */

  int interrupted_by_own_thread; /* not 0: only the thread that uses the state calls cuttle_interrupt,
                                    in a signal handler. Plain Lua loops then run up to two and a half
                                    times as fast, because they need not check for interrupts */

  /* Called about twenty times a second while a call below is in progress, in the thread of the call: a
     host runs here what waits for that thread, such as pending signal handlers. A result other than 0
     stops the call, as cuttle_interrupt does. Meanwhile, all functions of this state except
     cuttle_interrupt fail. It is not called while NVRTC compiles. NULL: never */
  int (*poll)(void *ud);
  void *poll_ud;
} cuttle_Options;

/* Opens a state; `options` may be NULL. Returns NULL if memory runs out or the options are invalid:
   cuttle_error(NULL) gives the reason. The host closes the state. */
cuttle_State *cuttle_open(const cuttle_Options *options);

/* Closes a state: waits for launches in flight, frees everything that was made in it, including
   kernels and tensors, and calls the free callbacks of wrapped memory. NULL is allowed. A call inside a
   callback of the state closes nothing. */
void cuttle_close(cuttle_State *S);

/* Runs a script file, or a text. `name` is the text's name in messages: "=config" is shown as
   config, "@f.lua" as f.lua; NULL: the text's beginning. Results of the script are dropped. */
cuttle_Status cuttle_dofile(cuttle_State *S, const char *path);
cuttle_Status cuttle_dostring(cuttle_State *S, const char *text, const char *name);

/* The latest kernel that scripts defined under `name`; NULL, with a message, if there is none.
   Lives until cuttle_close; a later definition of the name does not change it. */
cuttle_Kernel *cuttle_kernel(cuttle_State *S, const char *name);

/* The name of the kernel's parameter number i, from 0 on; "..." after the last one if the kernel accepts any number of
   further arguments. NULL if there is no such parameter. Lives as long as the kernel. */
const char *cuttle_kernel_parameter(cuttle_State *S, cuttle_Kernel *kernel, int i);

/* Iterates over the names of all kernels that scripts defined, in order: returns the name after `before`, or the first
   one if `before` is NULL, and NULL after the last one. The name lives until a script runs. */
const char *cuttle_kernel_after(cuttle_State *S, const char *before);

/* Lends memory as a tensor. `dtype` is "f64", "f32", "tf32", "f16", "bf16", "f8e4m3", "f8e5m2", "i64", "i32",
   "i16", "i8", "u64", "u32", "u16", "u8", "bool" (a byte, 0 or 1), "f8ue8m0", "f8ue4m3", "f6e2m3", "f6e3m2" or
   "f4e2m1"; `layout` is CuTe's text, "(128,64):(64,1)", with strides in elements, or a column-major shape; the
   tensor spans as many elements as the layout reaches. `device` says where `ptr` points: NULL or "cpu", host
   memory; "cuda" or "cuda:1", a CUdeviceptr. `ptr` is a multiple of the bytes of an element. `free` (may be NULL)
   is called once, by the state's thread, when neither the host nor a script holds the tensor any more; on failure
   (NULL) it is not called. The host holds the result until cuttle_tensor_release or, at the latest, cuttle_close. */
cuttle_Tensor *cuttle_tensor_wrap(cuttle_State *S, void *ptr, const char *dtype, const char *layout,
                                  const char *device,
                                  void (*free)(void *ud, void *ptr, size_t bytes), void *free_ud);

/* A tensor with its own memory, zeroed, on the state's device; held as above. */
cuttle_Tensor *cuttle_tensor_new(cuttle_State *S, const char *dtype, const char *layout);
void cuttle_tensor_release(cuttle_State *S, cuttle_Tensor *t); /* NULL is allowed */

/* The bytes of the memory that a tensor spans, and copies of all of them to and from host memory of
   that many bytes, in memory order. A read waits for earlier launches. */
size_t cuttle_tensor_bytes(const cuttle_Tensor *t);
cuttle_Status cuttle_tensor_read(cuttle_State *S, cuttle_Tensor *t, void *dst, size_t bytes);
cuttle_Status cuttle_tensor_write(cuttle_State *S, cuttle_Tensor *t, const void *src, size_t bytes);

typedef struct cuttle_Dim3 {
  uint32_t x, y,
      z; /* all three count: a grid with an extent of 0 runs nothing, a block is at least {1, 1, 1} */
} cuttle_Dim3;

/* The element types of memory, the same as those that cuttle_tensor_wrap accepts as texts. */
typedef enum cuttle_DType {
  CUTTLE_F64 = 1,
  CUTTLE_F32,
  CUTTLE_TF32, /* an f32 whose low 13 bits are 0 */
  CUTTLE_F16,
  CUTTLE_BF16,
  CUTTLE_F8E4M3, /* finite: no infinity, the pattern of all bits is NaN */
  CUTTLE_F8E5M2,
  CUTTLE_I64,
  CUTTLE_I32,
  CUTTLE_I16,
  CUTTLE_I8,
  CUTTLE_U64,
  CUTTLE_U32,
  CUTTLE_U16,
  CUTTLE_U8,
  CUTTLE_BOOL,    /* a byte, 0 or 1 */
  CUTTLE_F8UE8M0, /* a scale, 2^(bits - 127); the pattern of all bits is NaN */
  CUTTLE_F8UE4M3, /* a scale, f8e4m3 without its sign */
  CUTTLE_F6E2M3,  /* the low 6 bits of a byte; neither infinity nor NaN */
  CUTTLE_F6E3M2,
  CUTTLE_F4E2M1,   /* two in a byte, the first in its low bits; neither infinity nor NaN */
  CUTTLE_DTYPE_END /* no type; a later version may have more of them */
} cuttle_DType;

typedef struct cuttle_DTypeInfo {
  const char *name;    /* as scripts write it: "f32" */
  const char *numpy;   /* as NumPy's array interface writes it: "<f4"; NULL: NumPy has none */
  int32_t bits, bytes; /* bits of a value; bytes of an element in memory, or of
                          per_byte elements that share them */
  int32_t dlpack;      /* its code in DLPack */
  int32_t
      per_byte; /* elements that share a byte of memory: 2 of f4e2m1, the first in the low bits; else 1 */
} cuttle_DTypeInfo;

/* Describes an element type; NULL if no type has that number. */
const cuttle_DTypeInfo *cuttle_dtype_info(cuttle_DType dtype);

/* Memory of the host, described as in other libraries: extents, and strides in elements. `ptr` is the address of
   element (0, ..., 0), a multiple of the bytes of an element; rank 0 is one element. Strides are >= 0, but that of
   a mode of at most one element may be any; NULL: the last mode is contiguous. `device`: -1 is host memory, any
   other number is that of a CUDA device. If `is_read_only` is set, launches and functions of the language and of
   scripts that would write the memory fail. */
typedef struct cuttle_Memory {
  void *ptr;
  const int64_t *shape, *stride;
  int32_t rank;
  cuttle_DType dtype;
  int32_t device;
  int32_t is_read_only;
} cuttle_Memory;

/* Like cuttle_tensor_wrap, for memory that is described in this way; shape and stride are copied. */
cuttle_Tensor *cuttle_tensor_lend(cuttle_State *S, const cuttle_Memory *memory,
                                  void (*free)(void *ud, void *ptr, size_t bytes), void *free_ud);

/* Not 0: something may have written the memory of a lent or wrapped tensor since it was made. */
int cuttle_tensor_written(const cuttle_Tensor *t);

/* Ends the tensor at once, while cuttle_tensor_release waits for Lua's collector: the host no longer
   holds it, the memory may be freed, and a script that still uses the tensor gets an error. Scripts must
   not use views of it any more. NULL is allowed. */
void cuttle_tensor_close(cuttle_State *S, cuttle_Tensor *t);

typedef enum cuttle_ArgKind {
  CUTTLE_ARG_INT,    /* i: i32 if it fits, else i64 */
  CUTTLE_ARG_I64,    /* i */
  CUTTLE_ARG_FLOAT,  /* f: as a Lua float, an f32 unless it meets an f64 */
  CUTTLE_ARG_F64,    /* f */
  CUTTLE_ARG_BOOL,   /* i: 0 is false, any other number is true */
  CUTTLE_ARG_TENSOR, /* tensor: borrowed for the launch, which keeps the memory alive */
  CUTTLE_ARG_STATIC, /* i: a constant of the kernel; each value compiles its own kernel */
  CUTTLE_ARG_MEMORY, /* memory: read during the call; the memory itself is lent until the launch has
                        ended in its stream. This costs least: the state reuses what it knows about
                        earlier launches with such memory, even if addresses differ */
  CUTTLE_ARG_TEXT,   /* text: a constant of the kernel, as STATIC is; read during the call */
  CUTTLE_ARG_TUPLE,  /* text: the same, a tuple as the language writes it, "(4,(2,3))" */
  CUTTLE_ARG_LAYOUT, /* text: the same, a layout, "(4,8):(8,1)" */
  CUTTLE_ARG_NIL     /* nothing: the kernel runs without this argument, and tests it for nil */
} cuttle_ArgKind;

typedef struct cuttle_Arg {
  cuttle_ArgKind kind;
  union {
    int64_t i;
    double f;
    cuttle_Tensor *tensor;
    const cuttle_Memory *memory;
    const char *text;
  } u;
} cuttle_Arg;

static inline cuttle_Arg cuttle_int(int64_t i) {
  cuttle_Arg a;
  a.kind = CUTTLE_ARG_INT;
  a.u.i = i;
  return a;
}
static inline cuttle_Arg cuttle_float(double f) {
  cuttle_Arg a;
  a.kind = CUTTLE_ARG_FLOAT;
  a.u.f = f;
  return a;
}
static inline cuttle_Arg cuttle_tensor(cuttle_Tensor *t) {
  cuttle_Arg a;
  a.kind = CUTTLE_ARG_TENSOR;
  a.u.tensor = t;
  return a;
}

static inline cuttle_Arg cuttle_memory(const cuttle_Memory *m) {
  cuttle_Arg a;
  a.kind = CUTTLE_ARG_MEMORY;
  a.u.memory = m;
  return a;
}

static inline cuttle_Arg cuttle_layout(const char *text) {
  cuttle_Arg a;
  a.kind = CUTTLE_ARG_LAYOUT;
  a.u.text = text;
  return a;
}

static inline cuttle_Arg cuttle_nil(void) {
  cuttle_Arg a;
  a.kind = CUTTLE_ARG_NIL;
  a.u.i = 0;
  return a;
}

/* Launches a kernel on `n_args` arguments. The CPU engine has finished when this returns; a CUDA
   launch is only enqueued, and a later call reports faults of the kernel. */
cuttle_Status cuttle_launch(cuttle_State *S, cuttle_Kernel *kernel, cuttle_Dim3 grid,
                            cuttle_Dim3 block, int n_args, const cuttle_Arg *args);

/* Which arguments' memory the last launch with cuttle_Memory wrote: bit i for argument i, counted from 0; bit 63 for
   all later ones. A kernel counts as writing a tensor if some line of it does. */
uint64_t cuttle_written(const cuttle_State *S);

/* What a launch on the CPU engine is checked for, like the launch option `check` of scripts: bits. A launch with
   findings fails, and cuttle_error lists them. */
enum {
  CUTTLE_CHECK = 1,          /* races, deadlocks, accesses outside tensors and the like */
  CUTTLE_CHECK_NAN = 2,      /* NaN as well */
  CUTTLE_CHECK_OVERFLOW = 4, /* integers that do not fit, as well */
  CUTTLE_CHECK_NO_GLOBAL = 8 /* no races in global memory */
};

/* The order of what a launch prints. */
typedef enum cuttle_PrintOrder {
  CUTTLE_PRINT_BY_THREAD,
  CUTTLE_PRINT_AS_RUN /* by block, and in a block as its threads ran */
} cuttle_PrintOrder;

/* How a kernel is launched. Set `size`, grid and block, and leave the other fields that you do not need zero. */
typedef struct cuttle_Launch {
  size_t size;                      /* sizeof(cuttle_Launch), as in cuttle_Options */
  cuttle_Dim3 grid, block, cluster; /* 1 block, or zero, means no cluster */
  uint32_t shared_bytes;            /* dynamic shared memory, added to the kernel's own */
  int use_stream;                   /* not 0: launch in `stream`, else in the state's stream */
  void *stream;      /* a CUstream of the arguments' device; the CPU engine ignores it */
  int pdl;           /* not 0: may begin before the previous launch has ended */
  int cooperative;   /* not 0: all blocks are resident at once */
  int deterministic; /* not 0: a promise that no order changes a bit, which `check` looks at */
  cuttle_PrintOrder print_order;
  unsigned check; /* 0: not checked; else CUTTLE_CHECK and what else */
} cuttle_Launch;

/* cuttle_launch with all of a launch's options. In a stream that is being captured into a CUDA graph, a
   launch becomes a node of the graph; the first launch of its kind compiles during the capture. */
cuttle_Status cuttle_launch_with(cuttle_State *S, cuttle_Kernel *kernel,
                                 const cuttle_Launch *options, int n_args, const cuttle_Arg *args);

/* From now on, each launch is written with the data of its tensors to a file in `folder` before it runs, as with
   the environment variable CUTTLE_CAPTURE. The file is removed when the launch has ended without an error, and
   within `seconds` unless they are 0; fewer are an error. Otherwise it stays, also if the process hangs or is
   killed. `cuttle replay FILE` runs it again. Meanwhile, each launch waits until it has ended on its device. NULL
   ends this. */
cuttle_Status cuttle_capture(cuttle_State *S, const char *folder, double seconds);

/* Waits for all launches of the state. */
cuttle_Status cuttle_synchronize(cuttle_State *S);

/* Stops what the state is doing, as soon as it can: a script, a kernel on the CPU engine, the wait
   for a GPU. The call in progress returns CUTTLE_INTERRUPTED; if there is none, nothing happens.
   Any thread and any signal handler may call it while the state is open; but see
   `interrupted_by_own_thread`. NULL is allowed. */
void cuttle_interrupt(cuttle_State *S);

/* The message of the last failed call, "script.lua:27: tile: ...", or "" if none failed. Lives until
   the next call on the state. For NULL: why this thread's last cuttle_open failed. */
const char *cuttle_error(const cuttle_State *S);

/* The script line that the message begins with: the file, as the message has it, or NULL; *line (may
   be NULL) is 0 then. Lives as long as the message. */
const char *cuttle_error_place(const cuttle_State *S, int *line);

/* The Lua state, for the Lua API: what scripts define are its globals. Errors must not leave it
   unprotected. Never lua_close it. */
struct lua_State *cuttle_lua(cuttle_State *S);

/* Calls a function of the Lua API as one call of the state, protected: with limits and interrupts, and with
   errors as a status. It gets `ud` as a light userdata; what it returns is dropped. */
cuttle_Status cuttle_call(cuttle_State *S, int (*function)(struct lua_State *L), void *ud);

/* Pushes a tensor (or kernel) on the Lua stack [-0, +1, memory error]. */
void cuttle_push_tensor(cuttle_State *S, cuttle_Tensor *t);
void cuttle_push_kernel(cuttle_State *S, cuttle_Kernel *k);

/* Describes the tensor at index `idx` of the Lua stack, for functions of cuttle_call: fills *memory, whose shape and
   stride are in `extents`, which has room for 2 * max_rank numbers. Nested modes are flattened. Returns 0 if it is
   not a tensor with memory, or if strides cannot describe its layout [-0, +0, e]. */
int cuttle_describe(cuttle_State *S, int idx, cuttle_Memory *memory, int64_t *extents,
                    int max_rank);

/* Keeps the memory of that tensor until cuttle_drop, which must come before cuttle_close, whether scripts hold the
   tensor or not. NULL: it has no memory, or a host lent it [-0, +0, e]. */
typedef struct CuttleHold cuttle_Hold;
cuttle_Hold *cuttle_hold(cuttle_State *S, int idx);
void cuttle_drop(cuttle_State *S, cuttle_Hold *hold); /* NULL is allowed */

/* Pushes a stream of the host, a CUstream of CUDA device number `device`, in the form that scripts use: for the
   option `stream` of a launch or of an operator [-0, +1, e]. The host keeps the stream. If it captures the stream,
   memory that the cuttle_call in progress allocates is kept until cuttle_close, as a graph may use it. */
void cuttle_push_stream(cuttle_State *S, int device, void *stream);

/* The library's version, "0.1.0"; CUTTLE_VERSION is the header's. */
const char *cuttle_version(void);

/* For `require "cuttle"` in a stock Lua: returns a table of the language's names, with `import(_ENV)`. */
int luaopen_cuttle(struct lua_State *L);

#ifdef __cplusplus
}
#endif

#endif
