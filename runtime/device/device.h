/* device.h: one CUDA device as one user of it sees it: context, memory, streams, events, modules,
   launches. It takes sizes, bytes and texts and knows neither tensors nor kernels' IR.

   Ownership: whoever opens a CtDevice closes it, after everything that was made from it. Nothing
   here is global: two devices, opened in two states, are independent. One CtDevice is used by one
   thread at a time, any thread. A thread that has no current CUDA context keeps the device's as its
   current one; a thread that has another one finds it restored after each call.

   Failures: CT_EMISSING without a driver or a device, CT_EDEVICE for what the driver reports, as
   `cuMemAllocAsync: CUDA_ERROR_OUT_OF_MEMORY (2): 512 bytes`. A fault of a kernel (an illegal
   address, say) comes out of a later call: the message then names the kernels launched since the
   last wait, and the device is lost: every later call fails, as drivers give such a process no new context. */
#ifndef CT_DEVICE_H
#define CT_DEVICE_H

#include <signal.h>

#include "runtime/base/arena.h"
#include "runtime/base/dtype.h"
#include "runtime/base/message.h"

typedef struct CtDevice CtDevice;
typedef struct CtModule CtModule;
typedef struct CtFunction CtFunction;
typedef struct CtLaunch CtLaunch;

/* The driver's own handles, by their own struct tags: a host that includes cuda.h passes its
   CUcontext, CUstream and CUevent as they are. */
typedef struct CUctx_st *CtContext;
typedef struct CUstream_st *CtStream; /* NULL is the legacy default stream */
typedef struct CUevent_st *CtEvent;
typedef uint64_t CtDevPtr; /* a CUdeviceptr: an address in the device's memory */

typedef struct CtDim3 {
  unsigned x, y, z;
} CtDim3;

/* {====== Device ====== */

typedef struct CtDeviceOptions {
  CtAlloc alloc;
  int ordinal;       /* which device; ignored when a context is given */
  CtContext context; /* borrowed from the host; NULL: the primary context of `ordinal` */
  bool use_stream;   /* make `stream` the device's main stream, else it makes its own */
  CtStream stream;   /* borrowed; may be NULL, the legacy default stream */
  const volatile int *interrupt; /* not NULL: a value other than 0 ends waits; read atomically */
  void (*print)(void *ud, const char *text, size_t len); /* takes what kernels print; may be NULL */
  void *print_ud;
  size_t print_bytes; /* for what is printed on a stream between two waits; 0: 1 MiB */
} CtDeviceOptions;

typedef struct CtDeviceInfo {
  char name[128]; /* "NVIDIA H200" */
  char arch[16];  /* NVRTC's -arch for a cubin: "sm_90a" */
  char uuid[48];  /* "GPU-" and 36 characters, or "" */
  int ordinal;
  int sm; /* compute capability: 90 for 9.0 */
  int n_sms;
  int clock_khz, memory_clock_khz, memory_bus_bits;
  size_t memory_bytes; /* in all */
  size_t l2_bytes;
  size_t shared_block_bytes;       /* per block without opting in: 49152 */
  size_t shared_block_optin_bytes; /* per block, the most a kernel can ask for */
  size_t shared_sm_bytes;
  int registers_sm;
  int max_threads_block, max_threads_sm;
  CtDim3 max_block, max_grid;
  int driver_version; /* 13000 for CUDA 13.0 */
  bool has_pools;     /* stream-ordered allocation */
  bool has_clusters;
} CtDeviceInfo;

/* Number of CUDA devices. CT_EMISSING, with the reason, when there is no usable driver. */
CtStatus ct_device_count(int *n, CtErr *err) CT_NODISCARD;

/* Opens a device (loads the driver at first use). The caller owns *out. */
CtStatus ct_device_open(const CtDeviceOptions *options, CtDevice **out, CtErr *err) CT_NODISCARD;

/* Closes a device: waits for nothing, returns its pool, stream and its hold on the primary context;
   never destroys a borrowed context. Modules, streams, events and buffers made from it must be
   gone. NULL is allowed. */
void ct_device_close(CtDevice *d);

/* Of a device whose work may never end, as an interrupted wait left it: from now on no call reaches the driver,
   which would wait for that work. What is freed is left to the end of the process. */
void ct_device_abandon(CtDevice *d);
bool ct_device_is_abandoned(const CtDevice *d);
/* The same after a limit of so many seconds: fails, CT_EDEVICE, and names the kernels. */
CtStatus ct_device_give_up(CtDevice *d, double seconds, CtErr *err);

/* Names the kernels that may still run, as "kernel 'a' (f.lua:3)", and says how many names there are; 0 and "":
   none was launched since the last wait. */
size_t ct_device_suspects(const CtDevice *d, char *out, size_t cap);

const CtDeviceInfo *ct_device_info(const CtDevice *d);
CtContext ct_device_context(const CtDevice *d);
CtStream ct_device_stream(const CtDevice *d); /* the main stream */

/* Whether a graph is being recorded, or the host captures `stream`, which is its own, or that of its call in progress.
   Then nothing may wait for it, and what is enqueued there becomes a part of a graph. */
bool ct_device_is_capturing(CtDevice *d, CtStream stream);

/* From now on a call of the host is in progress, which enqueues on this stream of the host; NULL: no more. While the
   host captures it, memory that is allocated belongs to the host's graph. */
void ct_device_set_guest(CtDevice *d, CtStream stream);

/* What must be done before anything else is asked of the device, such as to write what the host keeps of its
   memory: done at the next call, which fails if it does, or by ct_device_settle. One at a time; NULL: none. */
typedef CtStatus (*CtDeviceSettle)(void *ud, CtErr *err);
void ct_device_owe(CtDevice *d, CtDeviceSettle settle, void *ud);
CtDeviceSettle ct_device_owed(const CtDevice *d, void **ud);
CtStatus ct_device_settle(CtDevice *d, CtErr *err) CT_NODISCARD;

/* Waits for all work of the context. CT_EDEVICE: see the top. CT_EINTERRUPTED: the wait ended, the
   work did not. */
CtStatus ct_device_synchronize(CtDevice *d, CtErr *err) CT_NODISCARD;

/* Asks somebody else what has become of the work that they have on the device, such as collectives, which wait for
   other devices. Every wait asks every millisecond and at its end, with no context of its own current, and fails
   as the answer does; whoever answers has ended that work by then. ask NULL: nobody is asked. */
typedef struct CtDeviceWatch {
  CtStatus (*ask)(void *ud, CtErr *err);
  void *ud;
} CtDeviceWatch;
void ct_device_watch(CtDevice *d, CtDeviceWatch watch);

/* Lets kernels of the device use the memory of another one: what has been allocated there, and what will be. An
   error, CT_EUNSUPPORTED, if the hardware cannot. The same device is fine. */
CtStatus ct_device_reach(CtDevice *d, CtDevice *other, CtErr *err) CT_NODISCARD;

/* {====== Memory: all copies in stream order ====== */

typedef struct CtBuffer {
  CtDevPtr ptr; /* at least 256-byte aligned; 0 for an empty buffer */
  size_t bytes;
} CtBuffer;

/* Allocates in stream order where the driver can, else at once. The memory may be used by `stream`
   from now on, and by other streams after an event or a wait. 0 bytes is an empty buffer. */
CtStatus ct_buffer_new(CtDevice *d, size_t bytes, CtStream stream, CtBuffer *out,
                       CtErr *err) CT_NODISCARD;

/* Frees in the order of `stream`: launches there that use the buffer finish first. Clears *b. */
void ct_buffer_free(CtDevice *d, CtBuffer *b, CtStream stream);

/* The same for memory that comes and goes often, such as that of results: keep holds what was last used on the
   device's own stream for a later take of the same size there. Either kind of memory can be given to either function
   that frees. */
CtStatus ct_buffer_take(CtDevice *d, size_t bytes, CtBuffer *out, CtErr *err) CT_NODISCARD;
void ct_buffer_keep(CtDevice *d, CtBuffer *b, CtStream stream);

/* {====== Memory of other processes: device_ipc.c ====== */

/* An allocation of this process, for ct_ipc_open in another one on the same machine. */
typedef struct CtIpcHandle {
  unsigned char bytes[64];
} CtIpcHandle;

/* As ct_buffer_new and ct_buffer_free, of memory that other processes can open. It begins an allocation of its own, a
   multiple of 2 MiB, so nothing else is opened with it. What has been freed is kept for the next one; what
   another process was told of is never given back to the driver before the device is closed. */
CtStatus ct_shared_new(CtDevice *d, size_t bytes, CtStream stream, CtBuffer *out,
                       CtErr *err) CT_NODISCARD;
void ct_shared_free(CtDevice *d, CtBuffer *b, CtStream stream);

/* What another process needs to use the memory at p: the allocation that p lies in, and p's byte there. An error,
   CT_EUNSUPPORTED, if the driver does not share it. */
CtStatus ct_ipc_get(CtDevice *d, CtDevPtr p, CtIpcHandle *handle, uint64_t *offset,
                    CtErr *err) CT_NODISCARD;

/* The allocation of another process, as kernels of the device use it, until ct_ipc_close. It may be opened more than
   once. `who` says whose it is, for messages. */
CtStatus ct_ipc_open(CtDevice *d, const CtIpcHandle *handle, const char *who, CtDevPtr *base,
                     CtErr *err) CT_NODISCARD;
void ct_ipc_close(CtDevice *d, CtDevPtr base, CtStream stream);

/* A copy from the host to memory that nothing enqueued uses: done at once, also while a stream is captured. */
CtStatus ct_device_write_new(CtDevice *d, CtDevPtr dst, const void *src, size_t bytes,
                             CtStream stream, CtErr *err) CT_NODISCARD;

/* Copies; _write and _read return when the host memory may be reused or read. */
CtStatus ct_device_write(CtDevice *d, CtDevPtr dst, const void *src, size_t bytes, CtStream stream,
                         CtErr *err) CT_NODISCARD;
CtStatus ct_device_read(CtDevice *d, void *dst, CtDevPtr src, size_t bytes, CtStream stream,
                        CtErr *err) CT_NODISCARD;

/* Device to device; fill with a byte. Neither waits. */
CtStatus ct_device_copy(CtDevice *d, CtDevPtr dst, CtDevPtr src, size_t bytes, CtStream stream,
                        CtErr *err) CT_NODISCARD;
CtStatus ct_device_set(CtDevice *d, CtDevPtr dst, int byte, size_t bytes, CtStream stream,
                       CtErr *err) CT_NODISCARD;

/* Page-locked host memory, for asynchronous copies. Free it before the device is closed. */
CtStatus ct_device_host_new(CtDevice *d, size_t bytes, void **out, CtErr *err) CT_NODISCARD;
void ct_device_host_free(CtDevice *d, void *p);

/* {====== Streams and events ====== */

/* A stream lives until the device is closed: free gives it to the next ct_stream_new. */
CtStatus ct_stream_new(CtDevice *d, CtStream *out, CtErr *err) CT_NODISCARD;
void ct_stream_free(CtDevice *d, CtStream s);
CtStatus ct_stream_synchronize(CtDevice *d, CtStream s, CtErr *err) CT_NODISCARD;
/* Whether all that was enqueued on it is done. */
CtStatus ct_stream_query(CtDevice *d, CtStream s, bool *is_done, CtErr *err) CT_NODISCARD;
CtStatus ct_stream_wait(CtDevice *d, CtStream s, CtEvent after, CtErr *err) CT_NODISCARD;

/* Events carry times. Elapsed time has a resolution of about half a microsecond; both events must
   be complete (ct_event_synchronize). */
CtStatus ct_event_new(CtDevice *d, CtEvent *out, CtErr *err) CT_NODISCARD;
/* An event without a time, for order and questions: a device that comes to it need not stop for it, where one with a
   time takes about 3 us. */
CtStatus ct_mark_new(CtDevice *d, CtEvent *out, CtErr *err) CT_NODISCARD;
void ct_event_free(CtDevice *d, CtEvent e);
CtStatus ct_event_record(CtDevice *d, CtEvent e, CtStream s, CtErr *err) CT_NODISCARD;
CtStatus ct_event_synchronize(CtDevice *d, CtEvent e, CtErr *err) CT_NODISCARD;
/* Whether what came before the event is done. */
CtStatus ct_event_query(CtDevice *d, CtEvent e, bool *is_done, CtErr *err) CT_NODISCARD;
CtStatus ct_event_elapsed(CtDevice *d, CtEvent start, CtEvent stop, double *ms,
                          CtErr *err) CT_NODISCARD;

/* {====== Modules and functions ====== */

typedef struct CtFunctionInfo {
  int registers;       /* per thread */
  size_t shared_bytes; /* static, per block */
  size_t local_bytes;  /* per thread: spills and arrays that are not in registers */
  size_t const_bytes;
  int max_threads;    /* per block, for this function on this device */
  int binary_version; /* 90 for sm_90 */
} CtFunctionInfo;

/* Loads a cubin, or PTX text (NUL-terminated), which the driver then compiles. Does not keep
   `image`. */
CtStatus ct_module_new(CtDevice *d, const void *image, CtModule **out, CtErr *err) CT_NODISCARD;

/* Unloads; its functions die with it. The caller waits for launches in flight first. NULL is
   allowed. */
void ct_module_free(CtModule *m);

/* Finds the extern "C" function `symbol`. `name`, `chunk` and `line` are what messages call it:
   the kernel and its place in the script (chunk may be NULL). `params_bytes` is what its launches
   will pass; SIZE_MAX where the caller does not know: then the driver is asked, by a query that ends in
   an error which its tools report. Owned by the module. */
CtStatus ct_module_function(CtModule *m, const char *symbol, const char *name, const char *chunk,
                            int line, size_t params_bytes, CtFunction **out,
                            CtErr *err) CT_NODISCARD;

/* Where the extern variable `symbol` lies. */
CtStatus ct_module_global(CtModule *m, const char *symbol, CtDevPtr *at, size_t *bytes,
                          CtErr *err) CT_NODISCARD;

const CtFunctionInfo *ct_function_info(const CtFunction *f);

/* Blocks of `n_threads` threads and `shared_bytes` dynamic bytes that fit one SM at a time. */
CtStatus ct_function_occupancy(CtFunction *f, int n_threads, size_t shared_bytes, int *n_blocks,
                               CtErr *err) CT_NODISCARD;

/* Clusters of the launch's block, cluster and shared_bytes that the device runs at a time. */
CtStatus ct_function_clusters(CtFunction *f, const CtLaunch *launch, int *n_clusters,
                              CtErr *err) CT_NODISCARD;

/* {====== Failed assertions ======

   A kernel with assertions gets the address of 8 ints in page-locked memory. The first thread whose
   assertion fails writes [1..3] its index, [4..6] its block's, and then [0] the number of the assertion,
   from 1. Each wait of the device's looks at all of these records: a set one makes it fail (CT_EINVAL,
   at the assertion's line) and is cleared, the device goes on. */

typedef struct CtFault CtFault;
typedef struct CtFaultSite {
  const char *text, *chunk;
  int line;
} CtFaultSite;

/* A record for n assertions, which are not copied. The caller owns *out and frees it when no launch
   that has its address is in flight. */
CtStatus ct_fault_new(CtDevice *d, const CtFaultSite *sites, int n, CtFault **out,
                      CtErr *err) CT_NODISCARD;
void ct_fault_free(CtFault *f); /* NULL is allowed */
CtDevPtr ct_fault_address(const CtFault *f);

/* {====== Printing ======

   A kernel that prints gets the address of a log, which its stream has in page-locked memory, and the number
   of its first printf. A wait for anything gives the texts of the streams that are idle to the device's print
   function: by launch, and then in the order that the launch asked for. A record that finds the log full is
   dropped; the text says how many were. A fault of a kernel prints what is there. */

typedef struct CtPrintSite {
  const char *format;   /* these as ct_message_format in message.h takes them */
  const uint8_t *types; /* n of them */
  int n;
} CtPrintSite;

typedef struct CtPrintArgs { /* what the kernel gets after its other parameters */
  CtDevPtr log;
  uint32_t first;
} CtPrintArgs;

/* Before the launch of a kernel with n printfs, which are not copied. Waits for the stream where it has had
   very many such launches since the last wait. */
CtStatus ct_print_begin(CtDevice *d, CtStream stream, const CtPrintSite *sites, int n,
                        CtPrintOrder order, CtPrintArgs *out, CtErr *err) CT_NODISCARD;

/* Before sites go away: waits for the launches that may have printed with them. */
void ct_print_forget(CtDevice *d, const CtPrintSite *sites);

/* {====== Barriers of grids ====== */

/* The word that the barriers of the next launch in this stream count on. */
CtStatus ct_grid_word(CtDevice *d, CtStream stream, CtDevPtr *out, CtErr *err) CT_NODISCARD;
/* Enqueues that it becomes 0: right before the launch. */
CtStatus ct_grid_clear(CtDevice *d, CtStream stream, CtDevPtr word, CtErr *err) CT_NODISCARD;

/* {====== Launch ====== */

struct CtLaunch {
  CtDim3 grid, block;
  CtDim3 cluster;      /* {0,0,0}: no cluster attribute */
  bool is_cooperative; /* all blocks are resident at once, or the launch fails */
  bool is_dependent;   /* may begin before the launch before it in the stream has ended: the kernel
                            waits itself (griddepcontrol.wait) */
  unsigned shared_bytes; /* dynamic, per block */
  CtStream stream;
  void **params; /* NULL, or where each parameter lies: those that are aligned to more than 16 bytes
                    (tensor maps) the driver places by rules of its own */
};

/* A tensor map: how a tensor lies in the device's memory, and the box of it that an instruction takes.
   device_map.c */
enum { CT_MAP_DIMS = 5, CT_MAP_BYTES = 128, CT_MAP_ALIGN = 64 };
typedef struct CtDeviceMap {
  CtDtype dtype;
  int n;
  CtDevPtr at;
  uint64_t extent[CT_MAP_DIMS]; /* elements */
  uint64_t stride[CT_MAP_DIMS]; /* bytes; [0] is that of neighbours */
  uint32_t box[CT_MAP_DIMS];
  int swizzle;      /* 0 none, 1 to 3: 32, 64, 128 bytes */
  int promotion;    /* bytes: 0, 64, 128, 256 */
  const char *name; /* of the tensor, for messages */
} CtDeviceMap;
CtStatus ct_device_map(CtDevice *d, const CtDeviceMap *map, unsigned char out[CT_MAP_BYTES],
                       CtErr *err) CT_NODISCARD;

uint32_t ct_device_map_type(CtDtype dtype); /* the driver's number of it in maps */

/* Enqueues one launch. `params` holds the kernel's parameters packed as C lays out a struct of them
   (each at a multiple of its own alignment), params_bytes bytes without tail padding; it is read
   before the call returns. 0 bytes for a kernel without parameters. Only errors of the call itself
   come out here, with the launch in the message; those of the kernel come out of a later wait. */
CtStatus ct_function_launch(CtFunction *f, const CtLaunch *launch, const void *params,
                            size_t params_bytes, CtErr *err) CT_NODISCARD;
/* Does what such a launch needs beforehand, and fails as it would, but enqueues nothing. */
CtStatus ct_function_prepare(CtFunction *f, const CtLaunch *launch, size_t params_bytes,
                             CtErr *err) CT_NODISCARD;

/* Around a launch that may wait for other devices: whoever waits for the device fails, CT_EDEVICE, once the kernel has
   run for so many seconds, and the device is given up as by ct_device_abandon. */
CtStatus ct_device_limit_begin(CtDevice *d, CtStream stream, double seconds,
                               CtErr *err) CT_NODISCARD;
CtStatus ct_device_limit_end(CtDevice *d, CtStream stream, CtErr *err) CT_NODISCARD;

/* {====== Graphs: device_graph.c ======

   From ct_graph_begin on, launches, copies, fills, records of events and waits for events are not carried out
   but recorded, until ct_graph_end or ct_graph_drop. Work on another stream than the main one begins with the
   graph, and the graph ends with it. Memory is allocated at once, and freed after the recording. What waits
   for the device or copies from or to the host fails (CT_EINVAL). */

typedef struct CtGraph CtGraph; /* to be launched any number of times */

CtStatus ct_graph_begin(CtDevice *d, CtErr *err) CT_NODISCARD;
void ct_graph_drop(CtDevice *d); /* none being recorded: nothing happens */

/* Ends the recording. *graph NULL: makes one, which the caller frees. Else *graph becomes what was recorded,
   which costs less; launches of it that are in flight do what it was before. On failure it stays what it
   was. */
CtStatus ct_graph_end(CtDevice *d, CtGraph **graph, CtErr *err) CT_NODISCARD;

/* Enqueues all of it on the main stream. The caller keeps what it uses: functions and memory. */
CtStatus ct_graph_launch(CtGraph *g, CtErr *err) CT_NODISCARD;
void ct_graph_free(CtGraph *g); /* NULL is allowed; launches in flight come to their end */

/* Memory that holds a copy of `data` (NULL: zeros) and lives as long as the graph that is recorded; as long as the device
   where the host captures. */
CtStatus ct_graph_data(CtDevice *d, const void *data, size_t bytes, CtDevPtr *out,
                       CtErr *err) CT_NODISCARD;

#endif
