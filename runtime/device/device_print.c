/* device_print.c: what kernels print. Each stream that runs kernels which print has a log in page-locked
   memory, to which their threads append records (PRINT_RECORD in emit_prelude.def). A wait that finds the
   stream idle puts them in order, formats them and empties the log: nobody writes to it then. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device_priv.h"
#include "runtime/base/message.h"
#include "runtime/base/order.h"

/* The first words of a log: words that records took or asked for, words there are for them, records that
   found no room. The words of a record: the printf's number << 32 | thread, block, values. The first is
   written last, so that it is 0 where a record is not there. */
enum { USED, ROOM, DROPPED, HEAD_WORDS };
enum { SITE, BLOCK, VALUES };
enum { DEFAULT_BYTES = 1 << 20, MAX_LAUNCHES = 4096 };

/* A launch that may have printed: its printfs have the numbers from `first` on. */
typedef struct Printing {
  const CtPrintSite *sites;
  uint32_t first, n;
  CtPrintOrder order;
} Printing;

struct CtPrintLog {
  CtPrintLog *next; /* of the device's, in the order in which they were made */
  CtStream stream;
  uint64_t *words;
  Printing *launches; /* since the log was empty */
  size_t n, cap;
  uint32_t next_site; /* from 1 */
};

/* A record found in a log. */
typedef struct Record {
  size_t launch;
  const CtPrintSite *site;
  uint32_t thread; /* 0 of all where the order is that of the run */
  uint64_t block;
  const uint64_t *words; /* also the order among those of a thread */
} Record;

/* --- reading a log ------------------------------------------------------------------------------------ */

static int compare(const void *a, const void *b) {
  const Record *x = a, *y = b;
  const int64_t pairs[][2] = {{(int64_t)x->launch, (int64_t)y->launch},
                              {(int64_t)x->block, (int64_t)y->block},
                              {x->thread, y->thread},
                              {x->words - y->words, 0}};
  return CT_COMPARE_PAIRS(pairs);
}

/* The printf of that number, and its launch; false where there is none. */
static bool find_site(const CtPrintLog *log, uint32_t number, Record *out) {
  size_t low = 0, high = log->n;
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    *(log->launches[middle].first <= number ? &low : &high) = middle;
  }
  const Printing *p = &log->launches[low];
  if (high == 0 || number < p->first || number - p->first >= p->n) {
    return false;
  }
  out->launch = low;
  out->site = &p->sites[number - p->first];
  return true;
}

static size_t used_words(const CtPrintLog *log) {
  return (size_t)(log->words[USED] < log->words[ROOM] ? log->words[USED] : log->words[ROOM]);
}

/* Reads the record at *at and moves past it. False at the end, and at a record that is not all there, as
   a fault leaves it: how long it is nobody knows. */
static bool next_record(const CtPrintLog *log, size_t *at, Record *out) {
  size_t end = used_words(log);
  const uint64_t *words = log->words + HEAD_WORDS + *at;
  if (*at + VALUES > end || !find_site(log, (uint32_t)(words[SITE] >> 32), out) ||
      *at + VALUES + (size_t)out->site->n > end) {
    return false;
  }
  out->words = words;
  bool by_thread = log->launches[out->launch].order == CT_PRINT_BY_THREAD;
  out->thread = by_thread ? (uint32_t)words[SITE] : 0;
  out->block = words[BLOCK];
  *at += VALUES + (size_t)out->site->n;
  return true;
}

static size_t count_records(const CtPrintLog *log) {
  Record r;
  size_t at = 0, n = 0;
  while (next_record(log, &at, &r)) {
    n++;
  }
  return n;
}

static void send_sorted(const CtDevice *d, const Record *records, size_t n) {
  CtText text;
  ct_text_init(&text, d->alloc);
  for (size_t i = 0; i < n; i++) {
    text.len = 0;
    ct_message_format(&text, records[i].site->format, records[i].site->types,
                      records[i].words + VALUES);
    if (!text.failed) {
      d->print(d->print_ud, ct_text_str(&text), text.len);
    }
  }
  ct_text_clear(&text);
}

/* False when there is no memory to sort them in. */
static bool send_records(const CtDevice *d, const CtPrintLog *log, size_t n) {
  Record *records = ct_alloc(d->alloc, n * sizeof *records);
  size_t at = 0;
  if (records == NULL) {
    return false;
  }
  for (size_t i = 0; i < n; i++) {
    (void)next_record(log, &at, &records[i]);
  }
  qsort(records, n, sizeof *records, compare);
  send_sorted(d, records, n);
  ct_free(d->alloc, records, n * sizeof *records);
  return true;
}

static void send_log(const CtDevice *d, const CtPrintLog *log) {
  uint64_t n_dropped = log->words[DROPPED];
  size_t n = count_records(log);
  if (n > 0 && !send_records(d, log, n)) {
    n_dropped += n;
  }
  if (n_dropped > 0) {
    char note[96];
    int len = snprintf(note, sizeof note, "printf: no room for %" PRIu64 " more\n", n_dropped);
    d->print(d->print_ud, note, (size_t)len);
  }
}

static void empty_log(const CtDevice *d, CtPrintLog *log) {
  if (d->print != NULL) {
    send_log(d, log);
  }
  memset(log->words + HEAD_WORDS, 0, used_words(log) * sizeof *log->words);
  log->words[USED] = log->words[DROPPED] = 0;
  log->n = 0;
  log->next_site = 1;
}

/* --- waits --------------------------------------------------------------------------------------------- */

static bool is_idle(CtDevice *d, CtStream stream) {
  if (ct_device_is_capturing(d, stream) || !ct_device_enter(d, NULL)) {
    return false;
  }
  CuResult r = d->cu->cuStreamQuery(stream);
  ct_device_leave(d);
  return r == CT_CUDA_SUCCESS;
}

void ct_device_print_idle(CtDevice *d) {
  for (CtPrintLog *log = d->logs; log != NULL; log = log->next) {
    if (log->n > 0 && is_idle(d, log->stream)) {
      empty_log(d, log);
    }
  }
}

void ct_device_print_lost(CtDevice *d) {
  for (CtPrintLog *log = d->logs; log != NULL; log = log->next) {
    if (log->n > 0) {
      empty_log(d, log);
    }
  }
}

/* Waits for a stream whose log is needed now; what fails comes out of the next call. */
static void wait_and_print(CtDevice *d, CtPrintLog *log) {
  if (log->n > 0 && !ct_device_is_capturing(d, log->stream) && ct_device_enter(d, NULL)) {
    CuResult r = d->cu->cuStreamSynchronize(log->stream);
    ct_device_leave(d);
    if (r == CT_CUDA_SUCCESS) {
      empty_log(d, log);
    }
  }
}

void ct_print_forget(CtDevice *d, const CtPrintSite *sites) {
  for (CtPrintLog *log = d->logs; log != NULL; log = log->next) {
    bool is_waiting = false;
    for (size_t i = 0; i < log->n && !is_waiting; i++) {
      is_waiting = log->launches[i].sites == sites;
    }
    if (is_waiting) {
      wait_and_print(d, log);
    }
    for (size_t i = 0; i < log->n; i++) { /* of a wait that failed */
      log->launches[i].n = log->launches[i].sites == sites ? 0 : log->launches[i].n;
    }
  }
}

/* --- logs ------------------------------------------------------------------------------------------------ */

static void free_log(CtDevice *d, CtPrintLog *log) {
  ct_device_host_free(d, log->words);
  ct_free(d->alloc, log->launches, log->cap * sizeof *log->launches);
  ct_free(d->alloc, log, sizeof *log);
}

void ct_device_free_logs(CtDevice *d) {
  while (d->logs != NULL) {
    CtPrintLog *log = d->logs;
    d->logs = log->next;
    free_log(d, log);
  }
}

void ct_device_close_log(CtDevice *d, CtStream stream) {
  for (CtPrintLog **link = &d->logs; *link != NULL; link = &(*link)->next) {
    CtPrintLog *log = *link;
    if (log->stream == stream) {
      wait_and_print(d, log);
      *link = log->next;
      free_log(d, log);
      return;
    }
  }
}

static CtStatus new_log(CtDevice *d, CtStream stream, CtPrintLog **link, CtErr *err) {
  size_t bytes = d->print_bytes == 0 ? DEFAULT_BYTES : d->print_bytes;
  size_t n_words = HEAD_WORDS + bytes / sizeof(uint64_t);
  void *words;
  CtPrintLog *log = ct_alloc(d->alloc, sizeof *log);
  if (log == NULL) {
    return ct_fail_nomem(err);
  }
  CtStatus status = ct_device_host_new(d, n_words * sizeof(uint64_t), &words, err);
  if (status != CT_OK) {
    ct_free(d->alloc, log, sizeof *log);
    return status;
  }
  memset(words, 0, n_words * sizeof(uint64_t));
  *log = (CtPrintLog){.stream = stream, .words = words, .next_site = 1};
  log->words[ROOM] = n_words - HEAD_WORDS;
  *link = log;
  return CT_OK;
}

static CtStatus find_log(CtDevice *d, CtStream stream, CtPrintLog **out, CtErr *err) {
  CtPrintLog **link = &d->logs;
  while (*link != NULL && (*link)->stream != stream) {
    link = &(*link)->next;
  }
  CtStatus status = *link == NULL ? new_log(d, stream, link, err) : CT_OK;
  *out = *link;
  return status;
}

CtStatus ct_print_begin(CtDevice *d, CtStream stream, const CtPrintSite *sites, int n,
                        CtPrintOrder order, CtPrintArgs *out, CtErr *err) {
  CtPrintLog *log;
  if (ct_device_is_capturing(d, stream)) {
    return ct_fail(
        err, CT_EINVAL,
        "graph: a kernel with printf cannot be recorded, as what it prints is read after "
        "each launch; leave the printf out, or launch it outside the graph");
  }
  CtStatus status = find_log(d, stream, &log, err);
  if (status == CT_OK && (log->n == MAX_LAUNCHES || log->next_site > UINT32_MAX - (uint32_t)n)) {
    status = ct_stream_synchronize(d, stream, err);
  }
  status = status == CT_OK ? CT_GROW(d->alloc, log->launches, log->cap, log->n + 1, err) : status;
  if (status == CT_OK) {
    *out = (CtPrintArgs){(CtDevPtr)(uintptr_t)log->words, log->next_site};
    log->launches[log->n++] = (Printing){sites, log->next_site, (uint32_t)n, order};
    log->next_site += (uint32_t)n;
  }
  return status;
}
