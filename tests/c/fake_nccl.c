/* fake_nccl.c: the library that fake_nccl.h describes. -DWITHOUT_SPLIT: an old version of it. */
#include "fake_nccl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fake_cuda.h"
#include "runtime/device/nccl_types.h"

#define X(need, name, args) NcclResult name args;
#include "runtime/device/nccl_syms.def"
#undef X
const char *ncclGetErrorString(NcclResult r);
const char *ncclGetLastError(NcclComm comm);

static void forget_all(void);
FakeNccl fake_nccl = {.forget = forget_all};

enum { NAME = 300, MAX_PENDING = 256 };

struct ncclComm {
  char key[160]; /* the same in all ranks of the communicator, and no other */
  int rank, size, device, n_splits, n_ops;
  int n_slow; /* questions that find it in progress */
  int is_ready, is_blocking, is_finalized;
  NcclComm child; /* a split in progress: the new one, */
  NcclComm *made; /* where it goes when it is ready, */
  int color;      /* and who joins it */
  NcclComm next;  /* of all that are left */
};

typedef enum Kind { REDUCE, SCATTER, GATHER, BROADCAST, SEND, RECV } Kind;

typedef struct Op {
  Kind kind;
  NcclComm comm;
  const void *src;
  void *dst;
  size_t count, bytes; /* elements, and bytes of one */
  NcclDataType type;
  NcclRedOp red;
  int peer, seq;
} Op;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Op queued[MAX_PENDING], pending[MAX_PENDING];
static int n_queued, n_pending, depth;
static char last[128];
static NcclComm left;

/* {====== What the test said ====== */

static void note(const char *fmt, ...) {
  const char *path = getenv("FAKE_NCCL_LOG");
  FILE *f = path == NULL ? NULL : fopen(path, "a");
  va_list args;
  if (f != NULL) {
    va_start(args, fmt);
    vfprintf(f, fmt, args);
    va_end(args);
    fclose(f);
  }
}

static NcclResult result(const char *name) {
  const char *text = getenv("FAKE_NCCL_FAIL");
  size_t len = strlen(name);
  if (text == NULL || strncmp(text, name, len) != 0 || text[len] != ' ') {
    return 0;
  }
  snprintf(last, sizeof last, "the test wants %s to fail\nsecond line", name);
  return (NcclResult)atoi(text + len);
}

#define CHECK                                                                                      \
  do {                                                                                             \
    NcclResult r_ = result(__func__);                                                              \
    if (r_ != 0) {                                                                                 \
      return r_;                                                                                   \
    }                                                                                              \
  } while (0)

static int number(const char *variable) {
  const char *text = getenv(variable);
  return text == NULL ? 0 : atoi(text);
}

/* {====== The driver ====== */

static void *driver_symbol(const char *name) {
  void *lib = dlopen(getenv("CUTTLE_LIBCUDA"), RTLD_NOW | RTLD_NOLOAD);
  return lib == NULL ? NULL : dlsym(lib, name);
}

static int current_device(void) {
  CuDevice d = -1;
  CuResult (*get)(CuDevice *) = NULL;
  void *symbol = driver_symbol("cuCtxGetDevice");
  memcpy(&get, &symbol, sizeof get);
  return get == NULL || get(&d) != 0 ? -1 : d;
}

/* Ends the program where a kernel of FAKE_MEET holds the device. */
static void waits(const char *name) {
  void (*wait)(const char *) = NULL;
  void *symbol = driver_symbol("fake_would_wait");
  memcpy(&wait, &symbol, sizeof wait);
  if (wait != NULL) {
    wait(name);
  }
}

static void set_hung(void) {
  FakeCuda *cuda = driver_symbol("fake");
  if (cuda != NULL) {
    __atomic_store_n(&cuda->hung, n_pending, __ATOMIC_RELEASE);
  }
}

/* {====== Boxes: what ranks send, by name ====== */

typedef struct Box {
  struct Box *next;
  char name[NAME];
  size_t bytes;
  unsigned char data[];
} Box;
static Box *boxes;

static void put_file(const char *dir, const char *name, const void *data, size_t bytes) {
  char path[NAME * 2], temporary[NAME * 2 + 32];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  snprintf(temporary, sizeof temporary, "%s.%ld", path, (long)getpid());
  FILE *f = fopen(temporary, "w");
  if (f != NULL) {
    fwrite(data, 1, bytes, f);
    fclose(f);
    rename(temporary, path);
  }
}

static void put(const char *name, const void *data, size_t bytes) {
  const char *dir = getenv("FAKE_NCCL_DIR");
  if (dir != NULL) {
    put_file(dir, name, data, bytes);
    return;
  }
  Box *b = malloc(sizeof *b + bytes);
  snprintf(b->name, sizeof b->name, "%s", name);
  b->bytes = bytes;
  memcpy(b->data, data, bytes);
  b->next = boxes;
  boxes = b;
}

/* Its first bytes; NULL: it is not there. The caller frees it. */
static unsigned char *get(const char *name, size_t bytes) {
  const char *dir = getenv("FAKE_NCCL_DIR");
  unsigned char *data = malloc(bytes + 1);
  bool has = false;
  if (dir != NULL) {
    char path[NAME * 2];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "r");
    has = f != NULL && fread(data, 1, bytes, f) == bytes;
    if (f != NULL) {
      fclose(f);
    }
  }
  for (const Box *b = boxes; b != NULL && !has; b = b->next) {
    has = strcmp(b->name, name) == 0 && b->bytes >= bytes;
    if (has) {
      memcpy(data, b->data, bytes);
    }
  }
  if (!has) {
    free(data);
  }
  return has ? data : NULL;
}

/* Those in memory whose names begin so. */
static void drop_boxes(const char *start) {
  for (Box **at = &boxes; *at != NULL;) {
    Box *b = *at;
    if (strncmp(b->name, start, strlen(start)) == 0) {
      *at = b->next;
      free(b);
    } else {
      at = &b->next;
    }
  }
}

__attribute__((destructor)) static void free_boxes(void) { drop_boxes(""); }

/* {====== Arithmetic ====== */

#define COMBINE(T)                                                                                 \
  do {                                                                                             \
    T a, b;                                                                                        \
    memcpy(&a, to, sizeof a);                                                                      \
    memcpy(&b, from, sizeof b);                                                                    \
    a = (T)(red == CT_NCCL_SUM       ? a + b                                                       \
            : red == CT_NCCL_LARGEST ? (a > b ? a : b)                                             \
            : a < b                  ? a                                                           \
                                     : b);                                                                          \
    memcpy(to, &a, sizeof a);                                                                      \
  } while (0)

static void combine_bf16(unsigned char *to, const unsigned char *from, NcclRedOp red) {
  uint32_t wide[2] = {0, 0};
  float v[2];
  memcpy((char *)&wide[0] + 2, to, 2);
  memcpy((char *)&wide[1] + 2, from, 2);
  memcpy(v, wide, sizeof v);
  v[0] = red == CT_NCCL_SUM ? v[0] + v[1] : (v[0] > v[1]) == (red == CT_NCCL_LARGEST) ? v[0] : v[1];
  memcpy(wide, v, sizeof v[0]);
  wide[0] += 0x7fff + (wide[0] >> 16 & 1);
  memcpy(to, (char *)&wide[0] + 2, 2);
}

static void combine(unsigned char *to, const unsigned char *from, NcclDataType type,
                    NcclRedOp red) {
  switch (type) {
    case CT_NCCL_INT8: COMBINE(int8_t); break;
    case CT_NCCL_UINT8: COMBINE(uint8_t); break;
    case CT_NCCL_INT32: COMBINE(int32_t); break;
    case CT_NCCL_UINT32: COMBINE(uint32_t); break;
    case CT_NCCL_INT64: COMBINE(int64_t); break;
    case CT_NCCL_UINT64: COMBINE(uint64_t); break;
    case CT_NCCL_FLOAT32: COMBINE(float); break;
    case CT_NCCL_FLOAT64: COMBINE(double); break;
    default: combine_bf16(to, from, red); break;
  }
}

static size_t size_of(NcclDataType type) {
  static const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return sizes[type];
}

/* {====== Collectives ====== */

static void box_name(const Op *op, int from, char out[NAME]) {
  snprintf(out, NAME, "%s-%c%d-%d", op->comm->key, op->kind == SEND || op->kind == RECV ? 'p' : 'c',
           op->seq, from);
}

static void box_name_to(const Op *op, int from, int to, char out[NAME]) {
  char start[NAME];
  box_name(op, from, start);
  snprintf(out, NAME, "%.250s-%d", start, to);
}

static size_t sent_count(const Op *op) {
  return op->kind == SCATTER ? op->count * (size_t)op->comm->size : op->count;
}

static void post(Op *op) {
  char name[NAME];
  if (op->kind == SEND) {
    box_name_to(op, op->comm->rank, op->peer, name);
  } else {
    box_name(op, op->comm->rank, name);
  }
  if (op->kind != RECV) {
    put(name, op->src, sent_count(op) * op->bytes);
  }
}

static bool finish_recv(const Op *op) {
  char name[NAME];
  box_name_to(op, op->peer, op->comm->rank, name);
  unsigned char *data = get(name, op->count * op->bytes);
  if (data != NULL) {
    memcpy(op->dst, data, op->count * op->bytes);
  }
  free(data);
  return data != NULL;
}

static void take(const Op *op, int from, const unsigned char *data) {
  unsigned char *dst = op->dst;
  size_t part = op->count * op->bytes;
  if (op->kind == GATHER) {
    memcpy(dst + (size_t)from * part, data, part);
  } else if (op->kind == BROADCAST) {
    if (from == op->peer) {
      memcpy(dst, data, part);
    }
  } else {
    const unsigned char *at = data + (op->kind == SCATTER ? (size_t)op->comm->rank * part : 0);
    for (size_t i = 0; i < part; i += op->bytes) {
      if (from == 0) {
        memcpy(dst + i, at + i, op->bytes);
      } else {
        combine(dst + i, at + i, op->type, op->red);
      }
    }
  }
}

/* Carries it out if all ranks are there. */
static bool finish(const Op *op) {
  unsigned char *all[64];
  char name[NAME];
  int n = 0;
  int mute = number("FAKE_NCCL_MUTE");
  if (mute != 0 && op->seq >= mute - 1) {
    return false;
  }
  if (op->kind == SEND || op->kind == RECV) {
    return op->kind == SEND || finish_recv(op);
  }
  for (; n < op->comm->size; n++) {
    box_name(op, n, name);
    all[n] = get(name, sent_count(op) * op->bytes);
    if (all[n] == NULL) {
      break;
    }
  }
  bool is_whole = n == op->comm->size;
  for (int i = 0; i < n; i++) {
    if (is_whole) {
      take(op, i, all[i]);
    }
    free(all[i]);
  }
  return is_whole;
}

/* All ranks of a collective that is done are done in the same turn. */
static void drop_parts(const Op *op) {
  char start[NAME];
  if (op->kind == RECV) {
    box_name_to(op, op->peer, op->comm->rank, start);
  } else {
    snprintf(start, NAME, "%s-c%d-", op->comm->key, op->seq);
  }
  if (op->kind != SEND) {
    drop_boxes(start);
  }
}

static void finish_pending(void) {
  Op done[MAX_PENDING];
  int kept = 0, n_done = 0;
  for (int i = 0; i < n_pending; i++) {
    if (finish(&pending[i])) {
      done[n_done++] = pending[i];
    } else {
      pending[kept++] = pending[i];
    }
  }
  for (int i = 0; i < n_done; i++) {
    drop_parts(&done[i]);
  }
  n_pending = kept;
  set_hung();
}

static void *work_on(void *ud) {
  const struct timespec nap = {0, 300 * 1000};
  for (;;) {
    nanosleep(&nap, NULL);
    pthread_mutex_lock(&lock);
    if (n_pending > 0) {
      finish_pending();
    }
    pthread_mutex_unlock(&lock);
  }
  return ud;
}

static void start_worker(void) {
  static bool is_started;
  pthread_t thread;
  if (!is_started && pthread_create(&thread, NULL, work_on, NULL) == 0) {
    pthread_detach(thread);
    is_started = true;
  }
}

/* What a captured stream is given becomes a part of a graph. Graphs of the driver do nothing. */
static int is_captured(NcclStream stream) {
  CuCaptureStatus status = 0;
  CuResult (*ask)(CuStream, CuCaptureStatus *) = NULL;
  void *symbol = driver_symbol("cuStreamIsCapturing");
  memcpy(&ask, &symbol, sizeof ask);
  return ask != NULL && ask((CuStream)stream, &status) == 0 && status != 0;
}

static NcclResult enqueue(const char *name, NcclStream stream, Op op) {
  NcclResult r = result(name);
  NcclComm c = op.comm;
  if (r != 0) {
    return r;
  }
  bool is_mixed = n_queued > 0 && queued[0].comm->is_blocking != c->is_blocking;
  if (depth == 0 || !c->is_ready || c->n_slow > 0 || current_device() != c->device || is_mixed) {
    note("%s: bad use: depth %d, ready %d, slow %d, device %d of %d\n", name, depth, c->is_ready,
         c->n_slow, current_device(), c->device);
    return 5;
  }
  note("%s rank=%d/%d count=%zu type=%u red=%u peer=%d device=%d place=%d\n", name, c->rank,
       c->size, op.count, op.type, op.red, op.peer, c->device, op.src == op.dst);
  if (is_captured(stream)) {
    note("%s is captured\n", name);
    return 0;
  }
  op.bytes = size_of(op.type);
  op.seq = op.kind == SEND ? 0 : op.kind == RECV ? 0 : c->n_ops;
  queued[n_queued++] = op;
  return 0;
}

/* Messages between two ranks are numbered by the sender and by the receiver. */
static void number_op(Op *op) {
  static struct Count {
    NcclComm comm;
    Kind kind;
    int peer, n;
  } counts[MAX_PENDING];
  int i = 0;
  if (op->kind != SEND && op->kind != RECV) {
    op->seq = op->comm->n_ops++;
    return;
  }
  while (counts[i].comm != NULL &&
         (counts[i].comm != op->comm || counts[i].kind != op->kind || counts[i].peer != op->peer)) {
    i++;
  }
  counts[i].comm = op->comm;
  counts[i].kind = op->kind;
  counts[i].peer = op->peer;
  op->seq = counts[i].n++;
}

static void slow(NcclComm c) { c->n_slow = number("FAKE_NCCL_SLOW"); }

static void run_queued(void) {
  for (int i = 0; i < n_queued; i++) {
    number_op(&queued[i]);
    post(&queued[i]);
    if (!queued[i].comm->is_blocking) {
      slow(queued[i].comm);
    }
    pending[n_pending++] = queued[i];
  }
  n_queued = 0;
  finish_pending();
}

/* {====== Entry points ====== */

NcclResult ncclGetVersion(int *version) {
  CHECK;
  *version = 22809;
  return 0;
}

const char *ncclGetErrorString(NcclResult r) {
  return r == 6   ? "remote process exited or there was a network error"
         : r == 5 ? "invalid usage"
         : r == 1 ? "unhandled cuda error"
                  : "some error";
}

const char *ncclGetLastError(NcclComm comm) {
  (void)comm;
  return last;
}

NcclResult ncclGetUniqueId(NcclId *id) {
  static int n;
  const char *address = getenv("NCCL_COMM_ID");
  CHECK;
  memset(id, 0, sizeof *id);
  if (address != NULL) {
    snprintf(id->bytes, sizeof id->bytes, "%s", address);
  } else {
    snprintf(id->bytes, sizeof id->bytes, "p%ldn%d", (long)getpid(), n++);
  }
  note("ncclGetUniqueId %s nvls=%s\n", address == NULL ? "here" : address,
       getenv("NCCL_NVLS_ENABLE") == NULL ? "" : getenv("NCCL_NVLS_ENABLE"));
  return 0;
}

static void hello(const NcclComm c, int rank, char out[NAME]) {
  snprintf(out, NAME, "%s-hello-%d", c->key, rank);
}

static NcclComm new_comm(int size, int rank) {
  NcclComm c = calloc(1, sizeof *c);
  c->size = size;
  c->rank = rank;
  c->device = current_device();
  c->next = left;
  left = c;
  fake_nccl.live++;
  start_worker();
  return c;
}

static void say_hello(NcclComm c) {
  char name[NAME];
  hello(c, c->rank, name);
  put(name, "", 0);
  slow(c);
}

NcclResult ncclCommInitRankConfig(NcclComm *comm, int n_ranks, NcclId id, int rank,
                                  NcclConfig *config) {
  CHECK;
  if (config->magic != CT_NCCL_CONFIG_MAGIC || config->size != sizeof *config || rank >= n_ranks) {
    return 4;
  }
  waits(__func__);
  NcclComm c = new_comm(n_ranks, rank);
  snprintf(c->key, sizeof c->key, "%s", id.bytes);
  c->is_blocking = config->blocking;
  note("ncclCommInitRankConfig rank=%d/%d device=%d blocking=%d\n", rank, n_ranks, c->device,
       config->blocking);
  say_hello(c);
  *comm = c;
  return config->blocking ? 0 : 7;
}

static void split_name(const NcclComm c, int rank, char out[NAME]) {
  snprintf(out, NAME, "%s-split%d-%d", c->key, c->n_splits, rank);
}

#ifndef WITHOUT_SPLIT
NcclResult ncclCommSplit(NcclComm comm, int color, int key, NcclComm *made, NcclConfig *config) {
  char name[NAME];
  CHECK;
  if (config->magic != CT_NCCL_CONFIG_MAGIC || config->size != sizeof *config) {
    return 4;
  }
  waits(__func__);
  NcclComm c = new_comm(0, key);
  c->is_blocking = config->blocking;
  snprintf(c->key, sizeof c->key, "%.100s-s%d-c%d", comm->key, comm->n_splits, color);
  note("ncclCommSplit rank=%d color=%d key=%d device=%d blocking=%d\n", comm->rank, color, key,
       current_device(), config->blocking);
  comm->child = c;
  comm->made = made;
  comm->color = color;
  *made = NULL;
  split_name(comm, comm->rank, name);
  put(name, &color, sizeof color);
  slow(comm);
  return 7;
}
#endif

/* Whether all ranks have said their colors. The new communicator is the handle's then. */
static bool finish_split(NcclComm comm) {
  int n_here = 0, n_like = 0;
  for (int i = 0; i < comm->size; i++) {
    char name[NAME];
    split_name(comm, i, name);
    int *color = (int *)(void *)get(name, sizeof *color);
    n_here += color != NULL;
    n_like += color != NULL && *color == comm->color;
    free(color);
  }
  if (n_here == comm->size) {
    comm->child->size = n_like;
    comm->child->is_ready = 1;
    *comm->made = comm->child;
    comm->child = NULL;
    comm->n_splits++;
  }
  return n_here == comm->size;
}

NcclResult ncclCommFinalize(NcclComm comm) {
  CHECK;
  fake_nccl.n_finalized++;
  comm->is_finalized = 1;
  slow(comm);
  return 7;
}

static void unlink_comm(NcclComm comm) {
  NcclComm *at = &left;
  while (*at != comm) {
    at = &(*at)->next;
  }
  *at = comm->next;
  fake_nccl.live--;
  free(comm);
}

static void forget(NcclComm comm) {
  int kept = 0;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < n_pending; i++) {
    if (pending[i].comm != comm) {
      pending[kept++] = pending[i];
    }
  }
  n_pending = kept;
  set_hung();
  pthread_mutex_unlock(&lock);
  if (comm->child != NULL) {
    unlink_comm(comm->child);
  }
  unlink_comm(comm);
}

static void forget_all(void) {
  while (left != NULL) {
    unlink_comm(left);
  }
}

NcclResult ncclCommDestroy(NcclComm comm) {
  note("ncclCommDestroy rank=%d/%d finalized=%d\n", comm->rank, comm->size, comm->is_finalized);
  fake_nccl.n_destroyed++;
  forget(comm);
  return 0;
}

NcclResult ncclCommAbort(NcclComm comm) {
  note("ncclCommAbort rank=%d/%d\n", comm->rank, comm->size);
  waits(__func__);
  fake_nccl.n_aborted++;
  forget(comm);
  return 0;
}

static bool is_here(NcclComm c, int rank) {
  char name[NAME];
  hello(c, rank, name);
  unsigned char *data = get(name, 0);
  free(data);
  return data != NULL;
}

static bool all_here(NcclComm c) {
  bool all = true;
  for (int i = 0; i < c->size && all; i++) {
    all = is_here(c, i);
  }
  return all;
}

NcclResult ncclCommGetAsyncError(NcclComm comm, NcclResult *error) {
  const char *text = getenv("FAKE_NCCL_ASYNC");
  int n = 0, from = 0;
  CHECK;
  fake_nccl.n_asked++;
  comm->is_ready = comm->is_ready || all_here(comm);
  *error = comm->is_ready && (comm->child == NULL || finish_split(comm)) ? 0 : 7;
  if (comm->n_slow > 0) {
    comm->n_slow--;
    *error = 7;
  }
  if (text != NULL && sscanf(text, "%d %d", &n, &from) == 2 && comm->n_ops >= from) {
    *error = (NcclResult)n;
  }
  return 0;
}

NcclResult ncclGroupStart(void) {
  CHECK;
  depth++;
  fake_nccl.n_open_groups++;
  return 0;
}

NcclResult ncclGroupEnd(void) {
  if (depth == 0) {
    return 5;
  }
  depth--;
  fake_nccl.n_open_groups--;
  fake_nccl.n_groups++;
  int n = n_queued;
  NcclResult r = result(__func__);
  if (r != 0) {
    n_queued = 0;
    return r;
  }
  note("ncclGroupEnd %d\n", n);
  pthread_mutex_lock(&lock);
  run_queued();
  pthread_mutex_unlock(&lock);
  return 7;
}

NcclResult ncclAllReduce(const void *src, void *dst, size_t count, NcclDataType type, NcclRedOp op,
                         NcclComm comm, NcclStream stream) {
  return enqueue(__func__, stream, (Op){REDUCE, comm, src, dst, count, 0, type, op, 0, 0});
}

NcclResult ncclReduceScatter(const void *src, void *dst, size_t count, NcclDataType type,
                             NcclRedOp op, NcclComm comm, NcclStream stream) {
  return enqueue(__func__, stream, (Op){SCATTER, comm, src, dst, count, 0, type, op, 0, 0});
}

NcclResult ncclAllGather(const void *src, void *dst, size_t count, NcclDataType type, NcclComm comm,
                         NcclStream stream) {
  return enqueue(__func__, stream, (Op){GATHER, comm, src, dst, count, 0, type, 0, 0, 0});
}

NcclResult ncclBroadcast(const void *src, void *dst, size_t count, NcclDataType type, int root,
                         NcclComm comm, NcclStream stream) {
  return enqueue(__func__, stream, (Op){BROADCAST, comm, src, dst, count, 0, type, 0, root, 0});
}

NcclResult ncclSend(const void *src, size_t count, NcclDataType type, int peer, NcclComm comm,
                    NcclStream stream) {
  return enqueue(__func__, stream, (Op){SEND, comm, src, NULL, count, 0, type, 0, peer, 0});
}

NcclResult ncclRecv(void *dst, size_t count, NcclDataType type, int peer, NcclComm comm,
                    NcclStream stream) {
  return enqueue(__func__, stream, (Op){RECV, comm, NULL, dst, count, 0, type, 0, peer, 0});
}
