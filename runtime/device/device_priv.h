/* device_priv.h: what the files of a device share: device.c (opening, the current context,
   errors), device_memory.c (memory, streams, events, waits) and device_launch.c (modules,
   functions, launches, and the record of launches that faults are blamed on). */
#ifndef CT_DEVICE_PRIV_H
#define CT_DEVICE_PRIV_H

#include "device.h"
#include "dl.h"

/* What messages call a function. Outlives the function while the record of launches names it. */
typedef struct CtLabel CtLabel;
struct CtLabel {
  CtLabel *next; /* in CtDevice.dead_labels */
  size_t bytes;  /* of the whole block */
  int line;
  const char *name, *chunk; /* after the struct; chunk is "" when unknown */
};

enum { CT_RING_LEN = 16 }; /* a power of two */

typedef struct CtLaunched {
  const CtLabel *label; /* NULL: known to be over */
  CtStream stream;
} CtLaunched;

/* The streams that ct_stream_new made: a wait for all of them that can be interrupted asks each.
   First those that are open. The others wait for the next ct_stream_new: they live as long as the
   device, since memory is freed in the order of the stream that used it last, open or not. */
typedef struct CtStreams {
  CtStream *items;
  size_t n_open, n, cap;
} CtStreams;

typedef struct CtPrintLog CtPrintLog;
typedef struct CtGridWord { /* see device_grid.c */
  struct CtGridWord *next;
  CtStream stream;
  CtBuffer word;
} CtGridWord;

typedef struct CtCapture CtCapture; /* device_graph.c */
typedef struct CtLimits CtLimits;   /* device_memory.c */
typedef struct CtShared {           /* device_ipc.c */
  CtBuffer block;
  CtStream stream;       /* that freed it */
  bool is_free, is_open; /* another process was told of it */
} CtShared;

enum { CT_KEPT_BLOCKS = 64 };
typedef struct CtKept { /* memory for the next of its size: the oldest first */
  CtBuffer items[CT_KEPT_BLOCKS];
  size_t n, bytes;
} CtKept;

typedef struct CtDeferred { /* memory to be freed when no stream is being captured */
  CtBuffer buffer;
  CtStream stream;
} CtDeferred;

struct CtDevice {
  const CtCuda *cu;
  CtContext context;
  CtAlloc alloc;
  const volatile int *interrupt;
  CtDeviceWatch watch;
  CtDeviceSettle settle; /* owed before the next call, with settle_ud; NULL: nothing is */
  void *settle_ud;
  CtEvent pace[2];  /* of a watched device: see ct_device_pace */
  CtLimits *limits; /* of launches that may wait for other devices; NULL: none has one */
  unsigned n_paced;
  CuDevice device;
  CuMemPool pool;   /* NULL: no stream-ordered allocation */
  uint64_t reaches; /* devices whose memory its kernels use, a bit for each ordinal */
  CtStream stream;
  CtStream guest; /* of the host's call in progress, not NULL: what the call enqueues goes there */
  bool owns_context, owns_stream;
  bool pushed;        /* inside a call: the thread's own context is to be restored */
  bool relaxed;       /* inside a call: the thread's own capture mode is to be restored, */
  CuCaptureMode mode; /* which is this */
  bool lost, is_abandoned;
  unsigned forks; /* ct_fork_count when it was opened: CUDA works in no child of that process */
  CtStreams streams;
  CtLaunched ring[CT_RING_LEN]; /* the last launches; launch i is at i % CT_RING_LEN */
  unsigned n_launched;
  unsigned n_pending;     /* launches since everything was last known to be over */
  CtLabel *dead_labels;   /* of unloaded modules, as long as the ring names them */
  CtFault *faults;        /* all of the device's */
  CtPrintLog *logs;       /* of the streams on which kernels printed */
  CtGridWord *grid_words; /* of the streams with launches that have a barrier of the grid */
  CtCapture *capture;     /* a graph is being recorded; NULL: none is */
  CtStream recording; /* the stream that is captured, and an event on it; made by the first graph */
  CtEvent root;
  CtStream aside; /* for what must not become a part of a graph; NULL: not made yet */
  CtDeferred *deferred;
  size_t n_deferred, cap_deferred;
  CtShared *shared; /* all blocks: the device gives them back when it is closed */
  size_t n_shared, cap_shared;
  CtBuffer *captured; /* memory that the graphs of a host use: until the device is closed */
  size_t n_captured, cap_captured;
  CtKept kept;
  void (*print)(void *ud, const char *text, size_t len);
  void *print_ud;
  size_t print_bytes;
  char lost_msg[512]; /* what made the device lost */
  CtDeviceInfo info;
};

/* Begins a driver call: makes the device's context current on this thread. False, with *err filled
   (CT_EDEVICE), when it cannot or when the device is lost. */
bool ct_device_enter(CtDevice *d, CtErr *err) CT_NODISCARD;

/* The same for a call that touches no captured stream, but that the thread may not make while one of its
   streams is being captured: it allocates, frees, loads or waits. */
bool ct_device_enter_aside(CtDevice *d, CtErr *err) CT_NODISCARD;

/* Ends it: restores the thread's own context; turns the call's result into a status. */
void ct_device_leave(CtDevice *d);
CtStatus ct_device_done(CtDevice *d, const char *call, CuResult r, CtErr *err, const char *fmt, ...)
    CT_PRINTF(5, 6) CT_NODISCARD;

/* One driver call in the device's context, as a CtStatus. What follows the arguments is a format
   and its arguments: what the call was about, for messages; "%s", "" for nothing. */
#define CT_CALL(d, err, name, args, ...)                                                           \
  (ct_device_enter((d), (err))                                                                     \
       ? ct_device_done((d), #name, (d)->cu->name args, (err), __VA_ARGS__)                        \
       : CT_EDEVICE)

#define CT_CALL_ASIDE(d, err, name, args, ...)                                                     \
  (ct_device_enter_aside((d), (err))                                                               \
       ? ct_device_done((d), #name, (d)->cu->name args, (err), __VA_ARGS__)                        \
       : CT_EDEVICE)

void ct_device_free_kept(CtDevice *d); /* gives the driver all that is kept */

/* {====== While a stream is being captured: device_graph.c ====== */

/* What is enqueued on *stream: while a graph is recorded, *stream becomes one that belongs to it. */
CtStatus ct_device_route(CtDevice *d, CtStream *stream, CtErr *err) CT_NODISCARD;

/* Fails while a graph is recorded, or `stream` is being captured by the host. `what` begins the message. */
CtStatus ct_device_refuse(CtDevice *d, CtStream stream, const char *what, CtErr *err) CT_NODISCARD;

/* Allocates now, for what is enqueued while a stream is captured. A host does not tell when its graph is gone: until
   the device is closed, its graph has the memory, and ct_device_keeps says so. */
CtStatus ct_device_alloc_captured(CtDevice *d, size_t bytes, CtBuffer *out,
                                  CtErr *err) CT_NODISCARD;
bool ct_device_keeps(const CtDevice *d, CtDevPtr p);
void ct_device_defer(CtDevice *d, const CtBuffer *b, CtStream stream);
void ct_device_free_deferred(CtDevice *d);
void ct_device_note_captured(CtDevice *d, const CtLabel *label); /* a launch that became a part */
void ct_device_free_captured(CtDevice *d);

/* Turns a driver's result into an error of ours: "<call>: CUDA_ERROR_X (n): <details>". A fault of
   an earlier kernel marks the device lost and names the suspects instead. */
CtStatus ct_device_fail(CtDevice *d, const char *call, CuResult r, CtErr *err, const char *fmt, ...)
    CT_PRINTF(5, 6);

void ct_device_free_limits(CtDevice *d);

/* Before a launch on a watched device. A driver blocks the host when about a thousand launches wait, and nobody can
   ask then; so the host waits earlier, for the launch some hundreds before this one, and asks. */
CtStatus ct_device_pace(CtDevice *d, CtStream stream, CtErr *err) CT_NODISCARD;

void ct_device_note_label(CtDevice *d, const CtLabel *label, CtStream stream); /* a launch */
/* Notes that what `stream` had to do is done, or all that the context had to do. */
void ct_device_note_waited(CtDevice *d, CtStream stream);
void ct_device_note_all_waited(CtDevice *d);

/* After a wait: the assertions that failed. device_fault.c */
CtStatus ct_device_check_faults(CtDevice *d, CtErr *err) CT_NODISCARD;

/* What kernels printed, of the streams that are idle; of all, when the device was lost. device_print.c */
void ct_device_print_idle(CtDevice *d);
void ct_device_print_lost(CtDevice *d);
void ct_device_close_log(CtDevice *d, CtStream stream); /* waits; before the stream is gone */
void ct_device_free_logs(CtDevice *d);

/* Frees the labels that the ring no longer names. */
void ct_device_prune_labels(CtDevice *d);

#endif
