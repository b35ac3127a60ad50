/* nccl_comm.c: communicators: made, split and closed for all ranks of this process at once. */
#include <stdlib.h>
#include <string.h>

#include "nccl_priv.h"

int ct_comm_rank(const CtComm *c) { return c->rank; }
int ct_comm_size(const CtComm *c) { return c->size; }
bool ct_comm_is_open(const CtComm *c) { return c->comm != NULL; }
CtDevice *ct_comm_device(const CtComm *c) { return c->device; }

/* {====== Handles ====== */

static CtStatus new_handles(CtNccl *n, CtComm **out, int count, CtErr *err) {
  for (int i = 0; i < count; i++) {
    CtComm *c = ct_alloc(n->alloc, sizeof *c);
    if (c == NULL) {
      ct_comm_free(n, out, i);
      return ct_fail_nomem(err);
    }
    *c = (CtComm){.of = n, .next = n->comms};
    n->comms = c;
    out[i] = c;
  }
  return CT_OK;
}

static bool has_device(const CtNccl *n, const CtDevice *d) {
  const CtComm *c = n->comms;
  while (c != NULL && c->device != d) {
    c = c->next;
  }
  return c != NULL;
}

static void free_handle(CtNccl *n, CtComm *c) {
  CtComm **p = &n->comms;
  while (*p != c) {
    p = &(*p)->next;
  }
  *p = c->next;
  if (c->device != NULL && !has_device(n, c->device)) {
    ct_device_watch(c->device, (CtDeviceWatch){0});
  }
  ct_nccl_free_works(c);
  ct_free(n->alloc, c, sizeof *c);
}

static void watch(CtNccl *n, CtComm *const *comms, int count) {
  for (int i = 0; i < count; i++) {
    ct_device_watch(comms[i]->device, (CtDeviceWatch){ct_nccl_ask, n});
  }
}

/* {====== Groups of calls on communicators ====== */

typedef NcclResult Each(const CtNcclLib *lib, CtComm *c, const void *ud, int i);

/* f of each that is open, in its device's context, as one group. */
static NcclResult group(CtNccl *n, CtComm *const *comms, int count, Each *f, const void *ud,
                        CtComm **bad) {
  NcclResult r = n->lib->ncclGroupStart();
  if (r != CT_NCCL_SUCCESS) {
    return r;
  }
  CtDevice *d = NULL;
  for (int i = 0; i < count && !ct_nccl_is_bad(r); i++) {
    if (comms[i] != NULL && ct_device_enter(comms[i]->device, NULL)) {
      d = comms[i]->device;
      r = f(n->lib, comms[i], ud, i);
      *bad = ct_nccl_is_bad(r) ? comms[i] : NULL;
      ct_device_leave(d);
    }
  }
  bool is_inside = d != NULL && ct_device_enter(d, NULL);
  NcclResult end = n->lib->ncclGroupEnd();
  if (is_inside) {
    ct_device_leave(d);
  }
  return ct_nccl_is_bad(r) ? r : end;
}

/* The same, until NCCL is done with it. */
static CtStatus group_settled(CtNccl *n, CtComm *const *comms, int count, Each *f, const void *ud,
                              const char *what, double seconds, CtErr *err) {
  CtComm *bad = NULL;
  NcclResult r = group(n, comms, count, f, ud, &bad);
  return ct_nccl_is_bad(r) ? ct_nccl_fail_result(n, bad, what, r, err)
                           : ct_nccl_settle(n, comms, count, what, seconds, err);
}

/* {====== Opening ====== */

/* Where ranks meet. NCCL takes an address from its environment only: for the id, and for the rank 0 that
   listens there. What the variable said before is restored. */
typedef struct Meeting {
  bool is_set;
  char *before;
} Meeting;

static CtStatus begin_meeting(Meeting *m, const char *address, CtErr *err) {
  const char *before = address == NULL ? NULL : getenv("NCCL_COMM_ID");
  *m = (Meeting){.is_set = address != NULL};
  if (before != NULL) {
    m->before = malloc(strlen(before) + 1);
    if (m->before == NULL) {
      return ct_fail_nomem(err);
    }
    memcpy(m->before, before, strlen(before) + 1);
  }
  return address == NULL || setenv("NCCL_COMM_ID", address, 1) == 0 ? CT_OK : ct_fail_nomem(err);
}

static void end_meeting(Meeting *m) {
  if (m->is_set && m->before != NULL) {
    (void)setenv("NCCL_COMM_ID", m->before, 1);
  } else if (m->is_set) {
    (void)unsetenv("NCCL_COMM_ID");
  }
  free(m->before);
}

/* Ranks of one process may read each other's tensors, by NCCL, which asks for no access to memory of pools. Where they
   cannot reach each other NCCL has other ways. */
static void open_memory(const CtNcclOpen *open) {
  for (int i = 0; i < open->n; i++) {
    for (int k = 0; k < open->n; k++) {
      CtStatus s = ct_device_reach(open->members[i].device, open->members[k].device, NULL);
      (void)s;
    }
  }
}

typedef struct Joining {
  const CtNcclOpen *open;
  NcclId id;
} Joining;

static NcclConfig config_of(bool blocks) {
  return (NcclConfig){.size = sizeof(NcclConfig),
                      .magic = CT_NCCL_CONFIG_MAGIC,
                      .version = CT_NCCL_CONFIG_VERSION,
                      .blocking = blocks};
}

static NcclResult join(const CtNcclLib *lib, CtComm *c, const void *ud, int i) {
  const Joining *j = ud;
  NcclConfig config = config_of(j->open->blocks);
  return lib->ncclCommInitRankConfig(&c->comm, c->size, j->id, j->open->members[i].rank, &config);
}

static CtStatus join_all(CtNccl *n, const CtNcclOpen *open, CtComm **comms, CtErr *err) {
  Meeting meeting;
  Joining joining = {.open = open};
  CtStatus s = begin_meeting(&meeting, open->address, err);
  if (s == CT_OK) {
    NcclResult r = n->lib->ncclGetUniqueId(&joining.id);
    s = r == CT_NCCL_SUCCESS
            ? group_settled(n, comms, open->n, join, &joining, open->what, open->seconds, err)
            : ct_nccl_fail_result(n, NULL, open->what, r, err);
  }
  end_meeting(&meeting);
  return s;
}

/* NCCL waits for the devices of a new communicator, and looks at no flag and no limit: so they are waited for here. */
static CtStatus wait_for_devices(CtComm *const *comms, int count, CtErr *err) {
  CtStatus s = CT_OK;
  for (int i = 0; i < count && s == CT_OK; i++) {
    s = ct_stream_synchronize(comms[i]->device, ct_device_stream(comms[i]->device), err);
  }
  return s;
}

CtStatus ct_nccl_open(CtNccl *n, const CtNcclOpen *open, CtComm **out, CtErr *err) {
  CtStatus s = new_handles(n, out, open->n, err);
  if (s != CT_OK) {
    return s;
  }
  for (int i = 0; i < open->n; i++) {
    out[i]->device = open->members[i].device;
    out[i]->rank = open->members[i].rank;
    out[i]->world = open->members[i].world;
    out[i]->size = open->size;
    out[i]->blocks = open->blocks;
  }
  s = wait_for_devices(out, open->n, err);
  if (s == CT_OK) {
    open_memory(open);
    s = join_all(n, open, out, err);
  }
  if (s != CT_OK) {
    ct_comm_free(n, out, open->n);
    return s;
  }
  watch(n, out, open->n);
  return CT_OK;
}

/* {====== Splitting ====== */

typedef struct Splitting {
  const CtNcclPart *parts;
  bool blocks;
} Splitting;

static NcclResult split(const CtNcclLib *lib, CtComm *c, const void *ud, int i) {
  const Splitting *s = ud;
  const CtNcclPart *p = &s->parts[i];
  NcclConfig config = config_of(s->blocks);
  return lib->ncclCommSplit(p->of->comm, p->color, p->key, &c->comm, &config);
}

static CtStatus check_parts(const CtNccl *n, const CtNcclPart *parts, int n_parts, CtErr *err) {
  if (!ct_nccl_can_split(n)) {
    return ct_fail(err, CT_EUNSUPPORTED,
                   "nccl: version %d cannot split communicators; 2.18 or later was expected",
                   n->lib->version);
  }
  for (int i = 0; i < n_parts; i++) {
    if (parts[i].of->comm == NULL) {
      return ct_fail(err, CT_EDEVICE, "nccl: the communicators of this process were aborted%s%s",
                     n->why[0] == '\0' ? "" : " since ", n->why);
    }
  }
  return CT_OK;
}

/* The parents are in progress until the new ones are there. */
static CtStatus split_all(CtNccl *n, const char *what, double seconds, const Splitting *splitting,
                          int n_parts, CtComm **comms, CtErr *err) {
  const CtNcclPart *parts = splitting->parts;
  CtComm *bad = NULL;
  CtStatus s = CT_OK;
  NcclResult r = group(n, comms, n_parts, split, splitting, &bad);
  if (ct_nccl_is_bad(r)) {
    return ct_nccl_fail_result(n, bad, what, r, err);
  }
  for (int i = 0; i < n_parts && s == CT_OK; i++) {
    s = ct_nccl_settle(n, &parts[i].of, 1, what, seconds, err);
  }
  return s == CT_OK ? ct_nccl_settle(n, comms, n_parts, what, seconds, err) : s;
}

CtStatus ct_nccl_split(CtNccl *n, const char *what, double seconds, bool blocks,
                       const CtNcclPart *parts, int n_parts, CtComm **out, CtErr *err) {
  const Splitting splitting = {parts, blocks};
  CtStatus s = check_parts(n, parts, n_parts, err);
  s = s == CT_OK ? new_handles(n, out, n_parts, err) : s;
  if (s != CT_OK) {
    return s;
  }
  for (int i = 0; i < n_parts; i++) {
    out[i]->device = parts[i].of->device;
    out[i]->world = parts[i].of->world;
    out[i]->rank = parts[i].key;
    out[i]->size = parts[i].size;
    out[i]->blocks = blocks;
  }
  s = wait_for_devices(out, n_parts, err);
  s = s == CT_OK ? split_all(n, what, seconds, &splitting, n_parts, out, err) : s;
  if (s != CT_OK) {
    ct_comm_free(n, out, n_parts);
  }
  return s;
}

/* {====== Closing ====== */

static NcclResult finalize(const CtNcclLib *lib, CtComm *c, const void *ud, int i) {
  (void)ud;
  (void)i;
  return c->comm == NULL ? CT_NCCL_SUCCESS : lib->ncclCommFinalize(c->comm);
}

static NcclResult destroy(const CtNcclLib *lib, CtComm *c, const void *ud, int i) {
  (void)ud;
  (void)i;
  NcclComm comm = c->comm;
  c->comm = NULL;
  return comm == NULL ? CT_NCCL_SUCCESS : lib->ncclCommDestroy(comm);
}

/* Puts those that are open first; how many. */
static int open_first(CtComm **comms, int count) {
  int n = 0;
  for (int i = 0; i < count; i++) {
    CtComm *c = comms[i];
    if (c != NULL && c->comm != NULL) {
      comms[i] = comms[n];
      comms[n++] = c;
    }
  }
  return n;
}

/* What fails on the way has aborted all, except for an interrupt. A program that ends well has waited before: the
   others may miss their ranks, and end soon. */
static void close_open(CtNccl *n, CtComm *const *open, int count) {
  CtComm *bad = NULL;
  for (int i = 0; i < count; i++) {
    ct_nccl_hurry(open[i]);
  }
  CtStatus s =
      ct_flag_is_up(n->interrupt) ? CT_EINTERRUPTED : ct_nccl_wait_for(n, open, count, NULL);
  s = s == CT_OK ? group_settled(n, open, count, finalize, NULL, "closing", CT_NCCL_CLOSE_S, NULL)
                 : s;
  if (s == CT_OK) {
    (void)group(n, open, count, destroy, NULL, &bad);
  } else {
    ct_nccl_abort(n, "a communicator could not be closed");
  }
}

void ct_comm_free(CtNccl *n, CtComm **comms, int count) {
  int n_open = open_first(comms, count);
  if (n_open > 0 && !ct_nccl_is_stuck(n)) {
    close_open(n, comms, n_open);
  }
  for (int i = 0; i < count; i++) {
    if (comms[i] != NULL) {
      free_handle(n, comms[i]);
      comms[i] = NULL;
    }
  }
}

static int count_comms(const CtNccl *n) {
  int count = 0;
  for (const CtComm *c = n->comms; c != NULL; c = c->next) {
    count++;
  }
  return count;
}

/* Ranks of one communicator are closed together. */
void ct_nccl_free(CtNccl *n) {
  if (n == NULL) {
    return;
  }
  int count = count_comms(n), i = 0;
  size_t bytes = (size_t)count * sizeof(CtComm *);
  CtComm **all = count == 0 ? NULL : ct_alloc(n->alloc, bytes);
  for (CtComm *c = n->comms; all != NULL && c != NULL; c = c->next) {
    all[i++] = c;
  }
  ct_comm_free(n, all, i);
  ct_free(n->alloc, all, bytes);
  if (n->comms != NULL) {
    ct_nccl_abort(n, "memory ran out");
  }
  while (n->comms != NULL) {
    free_handle(n, n->comms);
  }
  ct_free(n->alloc, n, sizeof *n);
}
