/* launch.h: from a kernel and arguments to a launch. A kernel keeps its specialisations; each was
   traced for a key: what the trace took for granted of the arguments (DESIGN: the specialisation key).
   A launch whose key is known touches neither Lua's compiler nor NVRTC.

   launch_key.c reads arguments; launch_spec.c finds or makes specialisations, which spec_trace.c traces and
   spec_compile.c compiles; launch.c launches, with the taps of launch_tap.h and the engines of launch_engine.c. */
#ifndef CUTTLE_LAUNCH_H
#define CUTTLE_LAUNCH_H

#include <lua.h>

#include "runtime/device/device.h"
#include "runtime/ir/ir_marks.h"
#include "runtime/launch/terms.h"
#include "runtime/simt/simt.h"
#include "interp/state/state.h"
#include "interp/tensor/tensor.h"

#define KERNEL_TYPE "kernel"

/* A CUDA launch passes at most 32764 bytes: 4095 numbers and addresses. Few fit LaunchArgs as it is. */
enum { LAUNCH_PARAM_BYTES = 32764, LAUNCH_MAX_SLOTS = LAUNCH_PARAM_BYTES / 8 };
enum { LAUNCH_MAX_ARGS = LAUNCH_MAX_SLOTS, LAUNCH_KEY_BYTES = 1 << 16 };
enum { LAUNCH_FEW_ARGS = 64, LAUNCH_FEW_SLOTS = 256, LAUNCH_FEW_KEY_BYTES = 4096 };
enum { LAUNCH_MAX_DEPTH = 8 /* of tables in an argument */ };
enum { LAUNCH_PRINT_BYTES = sizeof(CtDevPtr) + sizeof(uint32_t) }; /* of a packed CtPrintArgs */
enum { LAUNCH_MAX_MAPS = 16 };                                     /* tensor maps of a kernel */
enum { LAUNCH_MAX_OPTIONS = 16 };
enum { LAUNCH_MAX_SPECS = 256 }; /* of one kernel; then it forgets them all */

typedef struct LaunchConfig {
  CtDim3 grid, block;
  CtDim3 cluster;        /* {1,1,1}: none */
  bool cooperative;      /* all blocks are resident at once */
  bool pdl;              /* may begin before the launch before it has ended */
  bool deterministic;    /* a promise that `check` looks at: no order changes a bit */
  unsigned shared_bytes; /* dynamic, asked for by the script, beside the kernel's own */
  CtStream stream;
  CtDevice *stream_device; /* NULL: the device's own stream */
  bool has_cpu_stream;     /* one of the CPU engine was given, where nothing is queued */
  uint32_t cpu_stream;     /* its number; 0: the engine's own */
  CtPrintOrder print_order;
  bool check; /* the launch option `check`, with its fields nan, overflow and global */
  bool check_nan, check_overflow, check_no_global;
} LaunchConfig;

/* What a trace records for check: nothing; CtIr.is_checked; CtIr.finds_overflow, too. */
typedef enum LaunchNotes { LAUNCH_NO_NOTES, LAUNCH_NOTES, LAUNCH_NOTES_OF_OVERFLOW } LaunchNotes;

/* STATIC: a number that is a constant of the kernel; OBJECT: another constant, of launch_object.c. RECORD: a table
   with fields, which are the arguments that follow. */
typedef enum ArgKind {
  ARG_TENSOR,
  ARG_NUMBER,
  ARG_STATIC,
  ARG_OBJECT,
  ARG_LIST,
  ARG_RECORD
} ArgKind;

typedef struct LaunchList LaunchList; /* launch_list.h */

/* What a trace takes for granted of a launch, as bytes. More than `cap` of them are counted, not written. */
typedef struct LaunchKey {
  unsigned char *bytes;
  size_t len, cap;
} LaunchKey;

typedef struct Arg {
  ArgKind kind;
  CtDtype dtype;
  Tensor *tensor;
  uint64_t tensor_id; /* of a list: what it held */
  int first_slot, param;
  CtSlotValue value; /* of a number */
  bool
      is_untyped; /* a Lua float: `value` is an f64; its slot and dtype are what the trace made of it */
  LaunchList *list;
  int anchored;             /* of what is in a record: its value's place in LaunchArgs.anchor */
  int idx;                  /* on the Lua stack; of what is in a record: 0, */
  int place;                /* and the number of the argument that it is in, from 1 */
  int parent;               /* number of that record among LaunchArgs.args; -1: it is in none */
  const char *field;        /* its name there, or NULL and */
  lua_Integer number;       /* its number */
  int n_fields;             /* of a RECORD */
  size_t key_at, key_bytes; /* what the key says of an OBJECT, or of a TENSOR if it keeps that */
  uint64_t address;         /* of the tensor's element 0 */
  CtCallSpan span;          /* addresses of the bytes that its elements span; equal when empty */
} Arg;

/* The arguments of one launch, as its key and slots. */
typedef struct LaunchArgs {
  struct CuttleKernel *of;
  int n, cap;
  int anchor; /* stack place of what keeps the arrays and the lists of records alive; 0: nothing does */
  int n_anchored;
  int n_untyped; /* numbers without a type */
  int n_lists, n_objects;
  int objects;        /* stack place of the OBJECTs' values while they are traced */
  int first, n_given; /* stack place of the first argument, how many there are; 0, 0 of a site */
  bool is_full;       /* something did not fit: larger arrays are needed */
  CtDevice *device;   /* where to launch; NULL: the CPU engine */
  uint8_t wants;      /* LaunchNotes, by the configuration's option */
  uint8_t notes;      /* LaunchNotes, of its trace */
  uint32_t marks;     /* taps_marks_id when they were read */
  bool has_lent;      /* some tensor's memory is the host's, or a rank's */
  uint64_t
      written; /* arguments whose lent memory the launch wrote, a bit for each; bit 63: a later one */
  bool has_tensors;  /* or lists of them, which say the device; else it is the current one */
  int rank;          /* CuttleState.rank when they were read */
  uint64_t n_closed; /* StateTensors.n_closed when they were read, or known to be live */
  uint64_t spec;     /* id of the specialisation that was last found for the key; 0: none */
  bool overlap;      /* some written tensor may share memory with another: ranges intersect */
  LaunchKey key;
  size_t captures, captures_len; /* the part of the key that says what the function captured */
  int n_slots, cap_slots;
  int n_ir_params; /* arguments that are no constants */
  Arg *args;
  CtSlotValue *slots;            /* all slots of the IR, in order */
  int64_t *n_elems;              /* by parameter of the IR: what a tensor's pointer may touch */
  CtSimtList *lists;             /* by parameter; only of a list */
  Arg few_args[LAUNCH_FEW_ARGS]; /* where these are as long as they fit */
  unsigned char few_key[LAUNCH_FEW_KEY_BYTES];
  CtSlotValue few_slots[LAUNCH_FEW_SLOTS];
  int64_t few_elems[LAUNCH_FEW_ARGS];
  CtSimtList few_lists[LAUNCH_FEW_ARGS];
} LaunchArgs;

typedef struct Pack { /* one used slot in the parameter block of a CUDA launch */
  uint16_t slot, offset, bytes;
} Pack;

/* What a specialisation needs to fill in its tensor maps; launch_map.c. */
typedef struct LaunchMaps LaunchMaps;

/* What a trace read of the host; launch_reads.c. */
typedef struct LaunchRead LaunchRead;
typedef struct LaunchReads {
  LaunchRead *items;
  size_t n, cap;
} LaunchReads;

typedef struct Spec {
  struct Spec *next;
  uint64_t id;      /* unlike that of any other of the state */
  int n_refs;       /* of its kernel, and of graphs that launch it */
  bool is_captured; /* some graph of the host launches it: it lives as long as the state */
  bool is_kept; /* with all that it needs: else memory ran out on the way, and no launch takes it */
  LaunchReads reads[2]; /* of the host by the trace: what is the script's; names of the library */
  LaunchKey key;
  CtSimtProgram *simt; /* for the CPU engine */
  CtDevice *device;    /* for a CUDA device */
  CtModule *module;
  CtFunction *fn;
  unsigned shared_bytes; /* dynamic */
  CtFault *fault;        /* for the kernel's assertions, if it has any */
  size_t grid_at;        /* place of the address of the grid's word in it */
  size_t fault_at;       /* place of its address in the parameter block */
  CtPrintSite *prints;   /* the kernel's printfs, if it has any */
  LaunchMaps *maps;      /* the kernel's tensor maps, if it has any */
  size_t maps_at;        /* place of the first in the parameter block */
  size_t print_at;       /* place of the CtPrintArgs in the parameter block */
  Pack *packs;           /* these three are in the IR's arena; by their offsets */
  unsigned char *params; /* the parameter block, filled for each launch */
  void **each;           /* of a kernel with tensor maps: its parameters in the block, in order */
  int n_packs;
  size_t params_bytes;
  CtIr ir;
  bool has_marks; /* it was traced for these */
  CtMarks marks;
  int64_t marks_head[4]; /* what their array begins with on the device */
  bool from_cache;
  double trace_ms, emit_ms, compile_ms;
} Spec;

/* A kernel of a script: a userdata. User value 1: the Lua function; 2: a set of the values it captured, and the
   lists of launch_reads.c; 3: its name; 4: a list of the sites of launch_site.c; 5: arguments of bind_kernel.c. */
struct CuttleKernel {
  CuttleState *state;
  const struct Front *front; /* trace/front.h */
  Spec *specs;               /* the one used last comes first */
  int n_specs;
  bool was_called;  /* by a configuration */
  const char *name; /* a C identifier; anchored in user value 3 */
  char chunk[116];  /* where the function begins */
  int line;
  int n_params;
  bool is_vararg;
  bool is_replayed; /* of a file: it has no function, see launch_replay.c */
  bool is_trusted;  /* the user says so of that file: what it says may reach NVRTC */
  bool static_shapes, contract;
  int min_blocks; /* per multiprocessor; 0: not said */
  int max_unroll; /* turns of a loop that is unrolled unasked; 0: not said */
  CtEmission emission;
  char options[512];        /* extra options of NVRTC, each ended by a NUL; then another NUL */
  struct LaunchSite *sites; /* launch_site.c; the one used last comes first */
  int n_sites;
};
typedef struct CuttleKernel Kernel;

Kernel *kernel_test(lua_State *L, int idx);

/* The kernel at `kernel` in the functions below is known to be one. */

/* Reads the arguments at first .. first + n - 1 for the kernel at `kernel`. Raises with a message that names
   the argument. Pushes what *out needs, or nil. That value and those at these stack places must stay there
   while *out is used, and *out where it is. */
void launch_read(lua_State *L, int kernel, int first, int n, const LaunchConfig *config,
                 LaunchArgs *out);

/* Is each list and each constant still what was read? Scripts may have run. */
CtStatus launch_check_tables(lua_State *L, const Kernel *k, const LaunchArgs *a,
                             CtErr *err) CT_NODISCARD;

/* launch_read for arguments like those that *a was last read from: the same tensors, or others of which the key says the
   same; numbers of the same types. Only what may differ is read anew. False: they are unlike, or something raises; read
   them by launch_read. */
bool launch_read_again(lua_State *L, int kernel, int first, int n, LaunchArgs *a);

/* May another configuration's launch be compared with these arguments? */
bool launch_is_like(const LaunchConfig *c, const LaunchArgs *a);

/* The same for a host's launch, whose addresses and numbers have been put in their places already: is all else
   that the key says still so? */
bool launch_read_moved(lua_State *L, int kernel, LaunchArgs *a);

/* Gives numbers without a type what the IR takes them as. */
static inline void launch_settle(LaunchArgs *a, const CtIr *ir) {
  for (int i = 0; i < a->n && a->n_untyped > 0; i++) {
    Arg *arg = &a->args[i];
    if (arg->is_untyped) {
      arg->dtype = ir->slots[arg->first_slot].dtype;
      a->slots[arg->first_slot] = ct_slot_float(arg->dtype, arg->value.f64);
    }
  }
}

/* The specialisation for these arguments: a known one, or a new one traced and compiled. */
Spec *launch_spec(lua_State *L, int kernel, const LaunchConfig *config, LaunchArgs *args);
/* The same; NULL and why, where the trace or the compiler fails. */
Spec *launch_try_spec(lua_State *L, int kernel, const LaunchConfig *config, LaunchArgs *args,
                      CtErr *err);

/* One for the key of the arguments, with an empty IR; NULL when out of memory. */
Spec *spec_new(CuttleState *s, const LaunchConfig *config, const LaunchArgs *args, CtTarget target);
/* A specialisation traced for `target`, not compiled and not kept, for looking at: spec_free frees it.
   `wants_notes`: its IR says what was decided while tracing. */
Spec *spec_trace(lua_State *L, int kernel, const LaunchConfig *config, LaunchArgs *args,
                 CtTarget target, bool wants_notes, CtErr *err);
/* Compiles it for the device, or for the CPU engine if that is NULL. */
CtStatus spec_compile(const Kernel *k, Spec *spec, CtDevice *device, CtErr *err) CT_NODISCARD;
CtStatus spec_check_shared(const Kernel *k, const Spec *spec, CtErr *err) CT_NODISCARD;
/* The parameter block as the compiler lays out the used slots. has_records: printf leaves records. */
CtStatus spec_plan(Spec *spec, bool has_records, CtErr *err) CT_NODISCARD;
/* Its CUDA C: `for_launch` as it is compiled and launched, else for people. */
CtStatus spec_emit(const Spec *spec, bool for_launch, CtText *out, CtErr *err);
CtTarget launch_target(CtDevice *device);
CtTarget launch_cuda_target(int sm);
/* The same of what `emit` writes for, as --sm=100f says. */
CtTarget launch_emit_target(const CuttleState *s);
void spec_free(CuttleState *s, Spec *spec); /* gives up one reference; NULL is allowed */
void kernel_forget(Kernel *k);              /* drops all specialisations */
/* The kernel's own options of NVRTC, which it keeps; returns how many. */
int kernel_options(const Kernel *k, const char *out[LAUNCH_MAX_OPTIONS]);
/* Set a field of the table at the top: options, a list of them; ir, its bytes (runtime/ir/ir_file.h). Raise. */
void launch_set_options(lua_State *L, const Kernel *k);
void launch_set_ir(lua_State *L, const CtIr *ir);
/* What NVRTC is to compile for it, with its options, for which there is room at `options`. */
struct CtNvrtcJob kernel_job(const Kernel *k, const char *source, const char *arch,
                             const char *options[LAUNCH_MAX_OPTIONS]);

/* launch_marks.c: the array in which a kernel records its marks is made ready; with `records` the launch that comes next
   in the stream records. */
CtStatus launch_marks_begin(const CuttleState *s, Spec *spec, const LaunchConfig *c, bool records,
                            CtErr *err);
/* The launch that comes next in the stream leaves what is recorded. */
CtStatus launch_marks_keep(Spec *spec, const LaunchConfig *c, CtErr *err);
/* Waits, and pushes the words. Raises. */
StateWords launch_marks_push(lua_State *L, const Spec *spec, const LaunchConfig *c);

/* launch_emit.c: prints the CUDA C of these arguments' specialisation for people, and with --compile
   compiles it for `cuttle emit`'s capability. Raises. */
void launch_emit(lua_State *L, int kernel, const LaunchConfig *config, LaunchArgs *args);
/* launch_image.c: writes what `cuttle emit --ptx=FILE --cubin=FILE` asks for of a specialisation, which the printed
   text calls `name`. Each instruction names a line of the script. */
CtStatus launch_write_images(lua_State *L, Kernel *k, const Spec *spec, const char *name,
                             CtErr *err) CT_NODISCARD;

/* launch_reads.c: what the trace of the specialisation read of the host is kept with the kernel, and compared with
   what is there now. */
void launch_keep_reads(lua_State *L, int kernel, Spec *spec);
void launch_free_reads(CuttleState *s, Spec *spec);
bool launch_reads_hold(lua_State *L, int kernel, const Kernel *k, const Spec *spec);

/* The tensor maps of a specialisation, *out being NULL where it has none; they are written for a launch's slots,
   and kept for the next launches with the same. The IR must outlive them. */
CtStatus launch_maps_new(CtAlloc alloc, const CtIr *ir, LaunchMaps **out, CtErr *err) CT_NODISCARD;
void launch_maps_free(LaunchMaps *m);
CtStatus launch_maps_write(LaunchMaps *m, CtDevice *device, const CtSlotValue *slots,
                           unsigned char *out, CtErr *err) CT_NODISCARD;

/* launch.c: launches n times in a row. On a CUDA device the launches are enqueued; the CPU engine has finished. Raises. */
void launch_kernel(lua_State *L, int kernel, const LaunchConfig *config, LaunchArgs *args,
                   int64_t n);

/* The stream that a host gives, or NULL, is that of the arguments' device. */
static inline void launch_take_stream(LaunchConfig *c, const CtStream *stream,
                                      const LaunchArgs *a) {
  if (stream != NULL && a->device != NULL) {
    c->stream = *stream;
    c->stream_device = a->device;
  }
}

/* bind_kernel.c: launches once with the n arguments from stack place 2 on. The kernel keeps what was read, for its next
   call with arguments like these. Raises. */
void kernel_launch(lua_State *L, int kernel, int n, LaunchConfig *c, const CtStream *stream);

/* launch_engine.c: a launch on a device, in two parts: writes its parameter block, spec->params, with all that it may have to wait
   or to allocate for; enqueues the launch of that block, whose kernel may run for so many seconds; 0: for ever. */
CtStatus launch_fill(const Spec *spec, const LaunchConfig *c, const CtSlotValue *slots,
                     CtErr *err) CT_NODISCARD;
CtStatus launch_start(const Spec *spec, const LaunchConfig *c, double seconds,
                      CtErr *err) CT_NODISCARD;
/* Puts the slots into a parameter block. */
void launch_pack(const Pack *packs, int n, const CtSlotValue *slots, unsigned char *params);

/* The stream of a launch on a device. */
static inline CtStream launch_stream(const LaunchConfig *c, const CtDevice *device) {
  return c->stream_device != NULL ? c->stream : ct_device_stream(device);
}
/* May the kernel wait for one that another rank of this process launches later? How long may it run on a device, as it
   may wait for other ranks; 0: for ever. */
bool launch_may_wait(const LaunchArgs *args, const Spec *spec);
double launch_seconds(const LaunchArgs *args, const Spec *spec);
/* A graph of the host must keep the code that it launches. Is one recorded that does not have this code yet? */
static inline bool launch_is_new_to_host_graph(const Spec *spec, CtStream stream) {
  return !spec->is_captured && ct_device_is_capturing(spec->device, stream);
}
/* Do the arguments keep what the specialisation assumes of them? */
CtStatus launch_check_requires(const Spec *spec, const CtSlotValue *slots, CtErr *err) CT_NODISCARD;
/* Enqueues launches on a device, and nothing else. */
CtStatus launch_enqueue(const Spec *spec, const LaunchConfig *config, LaunchArgs *args, int64_t n,
                        CtErr *err) CT_NODISCARD;

typedef struct LaunchTimes LaunchTimes; /* launch_time.c */

/* Of a configuration k{...} or a prepared launch at idx: pushes the kernel, the configuration, and the
   arguments of a prepared launch [-0, +2+n, m]. Returns n; -1, and nothing is pushed, for anything else. */
int launch_unpack(lua_State *L, int idx);

/* Pushes "cpu" or "cuda:0", as scripts call the device. */
const char *launch_push_device(lua_State *L, const CtDevice *d);

/* As a CtLaunch has it: {0,0,0} if there is no cluster. */
CtDim3 launch_cluster(const LaunchConfig *config);
/* What the device is told. */
CtLaunch launch_of(const Spec *spec, const LaunchConfig *config);

/* Checks grid, block and cluster against the limits of every target. Raises. */
void launch_check_config(lua_State *L, const Kernel *k, const LaunchConfig *config);

/* bind_device.c: the stream at idx, its device and, on the CPU engine, its number in StateOrder. Raises for anything else and for a closed one. */
CtStream bind_to_stream(lua_State *L, int idx, CtDevice **device, uint32_t *number);
/* Pushes a stream that somebody else owns [-0, +1, m]. */
void bind_push_stream(lua_State *L, CtDevice *device, CtStream stream);

/* launch_config.c: the options of kernel(name, fn, {...}), and the table of k{...}, whose configuration is at
   table + 1 on the stack. All raise. */
#define CONFIG_TYPE "launch configuration"
enum { KERNEL_SITES = 4, KERNEL_ARGS };                 /* of a kernel; see CuttleKernel */
enum { CONFIG_KERNEL = 1, CONFIG_STREAM, CONFIG_ARGS }; /* user values of a configuration */
void kernel_read_options(lua_State *L, Kernel *k, int table);
void kernel_read_emission(lua_State *L, Kernel *k, int table); /* launch_emission.c */
void launch_read_config(lua_State *L, int table, const Kernel *k, LaunchConfig *c);
void launch_check_outside(lua_State *L, const Kernel *k); /* no kernel is being traced */
/* Pushes the kernel of the configuration at 1, whose stream is open. */
Kernel *launch_push_kernel(lua_State *L, const LaunchConfig *c);
/* Reads the configuration at 1 and the arguments after it. Pushes the kernel, whose place is *kernel, and what
   launch_read does. */
const LaunchConfig *launch_enter(lua_State *L, LaunchArgs *args, int *kernel);
/* launch_inspect.c: methods of configurations. */
int launch_source(lua_State *L);
int launch_ptx(lua_State *L);
int launch_cubin(lua_State *L);
int launch_sass(lua_State *L);
int launch_cubin_key(lua_State *L);   /* a function, _launch.cubin_key */
int launch_compile_log(lua_State *L); /* the same of _launch.compile_log */
int launch_ir(lua_State *L);
int launch_info(lua_State *L);

#endif
