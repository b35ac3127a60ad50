/* check_streams.c: `check` of launches in several streams. On a GPU, launches in two streams may run
   at the same time, unless an event orders them; the engine runs them one after the other. So what
   a launch does to global memory is compared with what launches of other streams did that do not
   come before it (CtSimtLaunch.known).

   Of each stream and region, each granule keeps the last launch that read it and the last one that
   wrote it. That is enough: if that launch comes before another one, so do those before it in its
   stream. Once the host has waited for launches, nothing is kept. Atomic operations are not
   compared with each other. */
#include "check_global.h"

#include <string.h>

/* A granule's word: the number of the launch in its stream, from 1 << 1; and this flag. 0: none. */
enum { ATOMIC = 1 };

typedef struct Done {
  const char *begin, *end;
  int bits; /* bits of a granule's size */
  size_t n; /* granules */
  uint32_t stream;
  uint32_t last;   /* launch of the stream that is noted here */
  bool is_against; /* the current launch: some of it does not come before */
  uint32_t *read, *wrote;
} Done;

typedef struct Name {
  uint32_t stream, number;
  const char *kernel; /* in CtCheck.texts */
} Name;

struct CtStreams {
  Done *done;
  size_t n_done, cap_done;
  Name *names;
  size_t n_names, cap_names;
  uint64_t n_waits;
  size_t n_against; /* the current launch */
};

/* {====== What launches did ====== */

static void free_done(const CtCheck *c, const Done *d) {
  ct_free(c->alloc, d->read, d->n * sizeof *d->read);
  ct_free(c->alloc, d->wrote, d->n * sizeof *d->wrote);
}

static void settle(CtCheck *c) {
  CtStreams *s = c->streams;
  for (size_t i = 0; i < s->n_done; i++) {
    free_done(c, &s->done[i]);
  }
  s->n_done = s->n_names = s->n_against = 0;
}

void ct_streams_close(CtCheck *c) {
  CtStreams *s = c->streams;
  if (s != NULL) {
    settle(c);
    ct_free(c->alloc, s->done, s->cap_done * sizeof *s->done);
    ct_free(c->alloc, s->names, s->cap_names * sizeof *s->names);
    ct_free(c->alloc, s, sizeof *s);
    c->streams = NULL;
  }
}

void ct_streams_forget(CtCheck *c, const char *begin, size_t bytes) {
  CtStreams *s = c->streams;
  for (size_t i = 0; s != NULL && i < s->n_done; i++) {
    Done *d = &s->done[i];
    for (size_t g = 0; d->begin < begin + bytes && begin < d->end && g < d->n; g++) {
      const char *at = d->begin + (g << d->bits);
      if (at < begin + bytes && at + ((size_t)1 << d->bits) > begin) {
        d->read[g] = d->wrote[g] = 0;
      }
    }
  }
}

/* What is kept of the same region and stream as of `as`; NULL: no memory. */
static Done *done_of(CtCheck *c, const Done *as) {
  CtStreams *s = c->streams;
  for (size_t i = 0; i < s->n_done; i++) {
    Done *d = &s->done[i];
    if (d->begin == as->begin && d->end == as->end && d->bits == as->bits &&
        d->stream == as->stream) {
      return d;
    }
  }
  Done d = *as;
  d.read = ct_alloc(c->alloc, d.n * sizeof *d.read);
  d.wrote = ct_alloc(c->alloc, d.n * sizeof *d.wrote);
  if (d.read == NULL || d.wrote == NULL ||
      CT_GROW(c->alloc, s->done, s->cap_done, s->n_done + 1, NULL) != CT_OK) {
    free_done(c, &d);
    return NULL;
  }
  memset(d.read, 0, d.n * sizeof *d.read);
  memset(d.wrote, 0, d.n * sizeof *d.wrote);
  s->done[s->n_done] = d;
  return &s->done[s->n_done++];
}

static bool add_name(CtCheck *c, uint32_t stream, uint32_t number, const char *name) {
  CtStreams *s = c->streams;
  Name n = {stream, number, ct_arena_strdup(&c->texts, name, strlen(name))};
  bool ok =
      n.kernel != NULL && CT_GROW(c->alloc, s->names, s->cap_names, s->n_names + 1, NULL) == CT_OK;
  if (ok) {
    s->names[s->n_names++] = n;
  }
  return ok;
}

/* Its place among all launches that are kept, in the order in which they were made. */
static size_t place_of(const CtStreams *s, uint32_t stream, uint32_t number) {
  size_t i = 0;
  while (s->names[i].stream != stream || s->names[i].number != number) {
    i++;
  }
  return i;
}

static void add_region(const CtGlobal *g, const CtGlobalRegion *r, Done *d, uint32_t number) {
  for (size_t i = 0; i < d->n; i++) {
    uint8_t uses = ct_early_uses(g, r, i);
    if ((uses & (CT_USE_READ | CT_USE_READ_ATOMIC)) != 0) {
      d->read[i] = number << 1 | ((uses & CT_USE_READ) == 0 ? ATOMIC : 0);
    }
    if ((uses & (CT_USE_WRITE | CT_USE_WRITE_ATOMIC)) != 0) {
      d->wrote[i] = number << 1 | ((uses & CT_USE_WRITE) == 0 ? ATOMIC : 0);
    }
  }
  d->last = number;
}

/* {====== A launch ====== */

static uint32_t known_of(const CtSimtLaunch *l, uint32_t stream) {
  return stream < l->n_streams ? l->known[stream] : 0;
}

static bool open_streams(CtCheck *c) {
  if (c->streams == NULL) {
    c->streams = ct_alloc(c->alloc, sizeof *c->streams);
    if (c->streams != NULL) {
      *c->streams = (CtStreams){0};
    }
  }
  return c->streams != NULL;
}

/* Once the host has waited since, nothing before counts. */
static void wait_for(CtCheck *c, uint64_t n_waits) {
  if (c->streams->n_waits != n_waits) {
    settle(c);
  }
  c->streams->n_waits = n_waits;
}

bool ct_streams_begin(CtCheck *c) {
  const CtSimtLaunch *l = c->job->launch;
  if (l->known != NULL && !open_streams(c)) {
    return false;
  }
  CtStreams *s = c->streams;
  if (s == NULL) {
    return true;
  }
  if (l->known == NULL) {
    settle(c);
  }
  wait_for(c, l->n_waits);
  s->n_against = 0;
  for (size_t i = 0; i < s->n_done; i++) {
    Done *d = &s->done[i];
    d->is_against = d->stream != l->stream && d->last > known_of(l, d->stream);
    s->n_against += d->is_against;
  }
  return true;
}

void ct_streams_end(CtCheck *c) {
  const CtSimtLaunch *l = c->job->launch;
  if (l->known == NULL) {
    return;
  }
  uint32_t number = known_of(l, l->stream) + 1;
  bool ok = add_name(c, l->stream, number, c->job->program->name);
  for (uint32_t i = 0; ok && i < c->global->n_regions; i++) {
    const CtGlobalRegion *r = &c->global->regions[i];
    if (r->is_read || r->is_written) {
      Done as = {.begin = r->begin,
                 .end = r->end,
                 .bits = r->bits,
                 .n = ct_region_granules(r),
                 .stream = l->stream};
      Done *d = done_of(c, &as);
      ok = d != NULL;
      if (ok) {
        add_region(c->global, r, d, number);
      }
    }
  }
  c->no_memory = c->no_memory || !ok;
}

enum { FILL_BITS = 5 }; /* a fill has the same number everywhere, so its granules may be large */

bool ct_streams_fill(CtCheck *c, const char *begin, size_t bytes, uint32_t number,
                     uint64_t n_waits) {
  if (!open_streams(c)) {
    return false;
  }
  wait_for(c, n_waits);
  Done as = {.begin = begin,
             .end = begin + bytes,
             .bits = FILL_BITS,
             .n = (bytes >> FILL_BITS) + 1,
             .stream = 0};
  Done *d = add_name(c, 0, number, "zeros") ? done_of(c, &as) : NULL;
  for (size_t i = 0; d != NULL && i < d->n; i++) {
    d->wrote[i] = number << 1;
  }
  if (d != NULL) {
    d->last = number;
  }
  return d != NULL;
}

/* {====== Accesses ====== */

/* The launch whose earlier access this one is not ordered with; 0: there is none. */
static uint32_t conflict(const Done *d, size_t g, const CtAccess *a, uint32_t known, bool *wrote) {
  uint32_t w = d->wrote[g], r = a->writes ? d->read[g] : 0;
  w = w >> 1 <= known || (a->is_atomic && (w & ATOMIC) != 0) ? 0 : w;
  r = r >> 1 <= known || (a->is_atomic && (r & ATOMIC) != 0) ? 0 : r;
  *wrote = w != 0;
  return (w != 0 ? w : r) >> 1;
}

static void note(CtCheckWorker *k, const CtAccess *a, int lane, int64_t off, const char *kernel,
                 bool wrote) {
  CtFound f = ct_finding_of(k, CT_CHECK_STREAMS, a, lane, off);
  f.how = (uint8_t)((a->writes ? CT_EARLY_WRITE : 0) | (wrote ? CT_EARLY_WROTE : 0));
  f.kernel = kernel;
  ct_finding_note(k, &f);
}

/* An earlier launch that an access is not ordered with. */
typedef struct Earlier {
  bool is_found, wrote;
  size_t place;
} Earlier;

/* Compares an element with what launches of a stream did; of those that it is not ordered with, the last one counts. */
static void look_in(const CtCheckWorker *k, const CtAccess *a, int64_t off, const Done *d,
                    Earlier *out) {
  size_t bytes = ct_value_bytes(a->buf->dtype);
  const char *at = ct_access_ptr(a, off);
  uint32_t known = known_of(k->k->job->launch, d->stream);
  for (size_t b = 0; b < bytes; b++) {
    bool wrote, is_inside = at + b >= d->begin && at + b < d->end;
    uint32_t number =
        is_inside ? conflict(d, (size_t)(at + b - d->begin) >> d->bits, a, known, &wrote) : 0;
    size_t place = number == 0 ? 0 : place_of(k->check->streams, d->stream, number);
    if (number != 0 && (!out->is_found || place > out->place)) {
      *out = (Earlier){true, wrote, place};
    }
  }
}

static void look_at(CtCheckWorker *k, const CtAccess *a, int lane, int64_t off) {
  const CtStreams *s = k->check->streams;
  Earlier earlier = {false};
  for (size_t i = 0; i < s->n_done; i++) {
    if (s->done[i].is_against) {
      look_in(k, a, off, &s->done[i], &earlier);
    }
  }
  if (earlier.is_found) {
    note(k, a, lane, off, s->names[earlier.place].kernel, earlier.wrote);
  }
}

void ct_streams_access(CtCheckWorker *k, const CtAccess *a) {
  if (k->check->streams == NULL || k->check->streams->n_against == 0) {
    return;
  }
  int64_t off[CT_LANES];
  for (int64_t e = 0; e < a->n; e++) {
    for (uint32_t rest = ct_access_row(a, e, off); rest != 0; rest &= rest - 1) {
      look_at(k, a, ct_first_lane(rest), off[ct_first_lane(rest)]);
    }
  }
}
