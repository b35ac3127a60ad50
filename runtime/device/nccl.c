/* nccl.c: NCCL by dlopen, at first use; its errors, and what is done about them. */
#include "nccl_priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/base/clock.h"

enum { REQUIRED = 1, OPTIONAL = 0 };

static const CtDlSymbol symbols[] = {
#define X(need, name, args) {#name, offsetof(CtNcclLib, name), need},
#include "nccl_syms.def"
#undef X
    {"ncclGetErrorString", offsetof(CtNcclLib, ncclGetErrorString), REQUIRED},
    {"ncclGetLastError", offsetof(CtNcclLib, ncclGetLastError), OPTIONAL},
};

static const char *const names[] = {"libnccl.so.2", "libnccl.so"};
static CtNcclLib table;

/* NCCL reads its variables when it first needs them, which is after this. */
static CtStatus start(const char *path, CtErr *err) {
  if (table.ncclGetVersion(&table.version) != CT_NCCL_SUCCESS) {
    return ct_fail(err, CT_EMISSING, "nccl: '%s' does not report its version", path);
  }
  return setenv("NCCL_NVLS_ENABLE", "0", 1) == 0 ? CT_OK : ct_fail_nomem(err);
}

static CtDlLibrary library = {
    .spec = {.what = "nccl",
             .env = "CUTTLE_NCCL",
             .advice = "install NCCL 2.14 or later, or set CUTTLE_NCCL to its path",
             .names = names,
             .n_names = CT_ARRAY_LEN(names)},
    .symbols = symbols,
    .n_symbols = CT_ARRAY_LEN(symbols),
    .table = &table,
    .start = start,
};

CtStatus ct_nccl_new(const CtNcclOptions *options, CtNccl **out, CtErr *err) {
  CtStatus s = ct_dl_load(&library, err);
  if (s != CT_OK) {
    return s;
  }
  CtNccl *n = ct_alloc(options->alloc, sizeof *n);
  if (n == NULL) {
    return ct_fail_nomem(err);
  }
  *n = (CtNccl){.alloc = options->alloc,
                .lib = &table,
                .interrupt = options->interrupt,
                .is_closing = options->is_closing};
  *out = n;
  return CT_OK;
}

int ct_nccl_version(const CtNccl *n) { return n->lib->version; }
bool ct_nccl_can_split(const CtNccl *n) { return n->lib->ncclCommSplit != NULL; }

/* {====== The end of communicators ====== */

bool ct_nccl_is_stuck(const CtNccl *n) {
  bool is = false;
  for (const CtComm *c = n->comms; c != NULL && !is; c = c->next) {
    is = c->device != NULL && ct_device_is_abandoned(c->device);
  }
  return is;
}

/* NCCL makes other devices current meanwhile. A device that is lost cannot be made current, but its
   communicator is aborted like any other. */
static void abort_one(CtNccl *n, CtComm *c) {
  NcclComm comm = c->comm;
  c->comm = NULL;
  c->n = 0;
  if (comm != NULL && !ct_nccl_is_stuck(n)) {
    bool is_inside = ct_device_enter(c->device, NULL);
    (void)n->lib->ncclCommAbort(comm);
    if (is_inside) {
      ct_device_leave(c->device);
    }
  }
}

/* Whether all is done before the first collective that has not ended, or, where there is none, all that the device
   has. */
static CtStatus ask_reached(const CtComm *c, bool *is, CtErr *err) {
  bool is_over = true;
  CtStatus s = CT_OK;
  *is = true;
  for (size_t i = 0; i < c->n && is_over && s == CT_OK; i++) {
    const CtNcclWork *w = &c->works[(c->first + i) & (c->cap - 1)];
    s = ct_event_query(c->device, w->begin, is, err);
    s = s == CT_OK ? ct_event_query(c->device, w->end, &is_over, err) : s;
  }
  if (is_over && s == CT_OK) {
    s = ct_stream_query(c->device, ct_device_stream(c->device), is, err);
  }
  return s;
}

CtDevice *ct_nccl_find_held(const CtNccl *n, CtStatus *failed, CtErr *err) {
  *failed = CT_OK;
  for (const CtComm *c = n->comms; c != NULL; c = c->next) {
    bool is_reached = true;
    CtStatus s =
        c->comm == NULL ? CT_OK : ask_reached(c, &is_reached, *failed == CT_OK ? err : NULL);
    if (s == CT_OK && !is_reached) {
      return c->device;
    }
    *failed = *failed == CT_OK ? s : *failed;
  }
  return NULL;
}

/* NCCL waits for the device when it aborts, and a kernel that waits for a rank that is gone does not end. The device of
   that rank may be one that failed. */
static void give_up_held(const CtNccl *n) {
  int64_t begun = ct_now_ns();
  CtDevice *held;
  CtStatus failed;
  while ((held = ct_nccl_find_held(n, &failed, NULL)) != NULL) {
    if (ct_flag_is_up(n->interrupt) || ct_now_ns() - begun > ct_nccl_ns(CT_NCCL_CLOSE_S)) {
      ct_device_abandon(held);
    }
    ct_nccl_nap(begun);
  }
}

static void abort_all(CtNccl *n) {
  for (CtComm *c = n->comms; c != NULL; c = c->next) {
    abort_one(n, c);
  }
}

/* What a split made in the background is there, at the latest, when its parent was aborted: the second time. */
void ct_nccl_abort(CtNccl *n, const char *why) {
  snprintf(n->why, sizeof n->why, "%s", why);
  give_up_held(n);
  abort_all(n);
  abort_all(n);
}

CtStatus ct_nccl_fail(CtNccl *n, CtStatus status, CtErr *err, const char *fmt, ...) {
  char text[512];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  ct_nccl_abort(n, text);
  return ct_fail(err, status, "%s; the communicators of this process were aborted", text);
}

/* What NCCL says about its last error, as one line; "" where it says nothing. */
static void last_error(const CtNcclLib *lib, char *out, size_t cap) {
  const char *text = lib->ncclGetLastError == NULL ? NULL : lib->ncclGetLastError(NULL);
  out[0] = '\0';
  if (text != NULL && text[0] != '\0') {
    snprintf(out, cap, ": %s", text);
    out[strcspn(out, "\n")] = '\0';
  }
}

CtStatus ct_nccl_fail_result(CtNccl *n, const CtComm *c, const char *what, NcclResult r,
                             CtErr *err) {
  char rank[32] = "", more[200];
  last_error(n->lib, more, sizeof more);
  if (c != NULL) {
    snprintf(rank, sizeof rank, "rank %d: ", c->world);
  }
  return ct_nccl_fail(n, CT_EDEVICE, err, "nccl: %s%s: %s (%u)%s", rank, what,
                      n->lib->ncclGetErrorString(r), r, more);
}

/* {====== Waiting for the host's part ====== */

enum { SPIN_NS = 200 * 1000, NAP_NS = 50 * 1000 };

void ct_nccl_nap(int64_t start_ns) {
  const struct timespec nap = {0, NAP_NS};
  if (ct_now_ns() - start_ns > SPIN_NS) {
    nanosleep(&nap, NULL);
  }
}

int64_t ct_nccl_ns(double seconds) {
  return seconds < 9e9 ? (int64_t)(seconds * 1e9) : INT64_MAX / 2;
}

/* A communicator that is in progress, or NULL. */
static CtStatus find_busy(CtNccl *n, CtComm *const *comms, int count, const char *what,
                          const CtComm **busy, CtErr *err) {
  *busy = NULL;
  for (int i = 0; i < count && *busy == NULL; i++) {
    NcclResult r = CT_NCCL_SUCCESS;
    NcclResult asked = n->lib->ncclCommGetAsyncError(comms[i]->comm, &r);
    r = asked == CT_NCCL_SUCCESS ? r : asked;
    if (ct_nccl_is_bad(r)) {
      return ct_nccl_fail_result(n, comms[i], what, r, err);
    }
    *busy = r == CT_NCCL_IN_PROGRESS ? comms[i] : NULL;
  }
  return CT_OK;
}

CtStatus ct_nccl_settle(CtNccl *n, CtComm *const *comms, int count, const char *what,
                        double seconds, CtErr *err) {
  const CtComm *busy;
  int64_t begun = ct_now_ns();
  CtStatus s = find_busy(n, comms, count, what, &busy, err);
  while (s == CT_OK && busy != NULL) {
    int64_t passed = ct_now_ns() - begun;
    if (ct_flag_is_up(n->interrupt)) {
      return ct_nccl_fail(n, CT_EINTERRUPTED, err, "nccl: %s: interrupted", what);
    }
    if (passed > ct_nccl_ns(seconds)) {
      return ct_nccl_fail(n, CT_EDEVICE, err,
                          "nccl: rank %d: %s: the other ranks did not join it "
                          "within %.1f s; one of them may have ended, or be at another line",
                          busy->world, what, (double)passed * 1e-9);
    }
    ct_nccl_nap(begun);
    s = find_busy(n, comms, count, what, &busy, err);
  }
  return s;
}
