/* storage_mirror.c: the pages that the host keeps of memory on a device (storage.h).

   The pages of all storages of a device hang in one list, which the device is owed (ct_device_owe): before the
   next call of anything else it writes back what changed, in the order of each storage's stream, and frees all.
   So nothing else sees the memory without the host's writes, and the host sees none of its pages after
   anything else may have changed the memory. */
#include "storage_mirror.h"

#include <string.h>

enum { PAGE_BYTES = 1 << 16, MAX_SLOTS = 1 << 10 };

typedef struct Page {
  char *data; /* NULL: none */
  size_t number;
  size_t lo, hi; /* bytes of it that changed; lo >= hi: none did */
} Page;

struct CtMirror {
  CtMirror *next, *prev; /* of the device's list; a closed ring */
  CtStorage *storage;
  Page *last; /* that was used last, and its first byte in the storage; NULL: none */
  size_t last_begin;
  size_t n_slots;
  Page slots[]; /* page i is in slot i % n_slots */
};

static size_t n_pages_of(const CtStorage *s) { return (s->bytes + PAGE_BYTES - 1) / PAGE_BYTES; }

static size_t mirror_bytes(size_t n_slots) { return sizeof(CtMirror) + n_slots * sizeof(Page); }

static CtStatus write_page(const CtStorage *s, Page *p, CtErr *err) {
  if (p->lo >= p->hi) {
    return CT_OK;
  }
  CtDevPtr at = s->buf.ptr + p->number * PAGE_BYTES + p->lo;
  size_t lo = p->lo, bytes = p->hi - lo;
  p->lo = p->hi = 0;
  return ct_device_write(s->device, at, p->data + lo, bytes, s->stream, err);
}

static CtStatus write_pages(CtMirror *m, CtErr *err) {
  CtStatus status = CT_OK;
  for (size_t i = 0; i < m->n_slots && status == CT_OK; i++) {
    status = m->slots[i].data == NULL ? CT_OK : write_page(m->storage, &m->slots[i], err);
  }
  return status;
}

static void free_mirror(CtMirror *m) {
  CtStorage *s = m->storage;
  for (size_t i = 0; i < m->n_slots; i++) {
    if (m->slots[i].data != NULL) {
      ct_free(s->alloc, m->slots[i].data, PAGE_BYTES);
    }
  }
  s->mirror = NULL;
  ct_free(s->alloc, m, mirror_bytes(m->n_slots));
}

/* ud: any mirror of the device. */
static CtStatus settle(void *ud, CtErr *err) {
  CtMirror *first = ud, *m = first;
  CtStatus status = CT_OK;
  do { /* if one cannot be written, the device is lost for all */
    status = status == CT_OK ? write_pages(m, err) : status;
    m = m->next;
  } while (m != first);
  first->prev->next = NULL;
  while (m != NULL) {
    CtMirror *next = m->next;
    free_mirror(m);
    m = next;
  }
  return status;
}

void ct_mirror_drop(CtStorage *s) {
  CtMirror *m = s->mirror;
  if (m == NULL) {
    return;
  }
  CtMirror *next = m->next;
  next->prev = m->prev;
  m->prev->next = next;
  ct_device_owe(s->device, next == m ? NULL : settle, next);
  free_mirror(m);
}

static CtMirror *find_first(CtStorage *s) {
  void *ud = NULL;
  return ct_device_owed(s->device, &ud) == settle ? ud : NULL;
}

static CtMirror *new_mirror(CtStorage *s, CtErr *err) {
  size_t n = n_pages_of(s) < MAX_SLOTS ? n_pages_of(s) : MAX_SLOTS;
  CtMirror *m = ct_alloc(s->alloc, mirror_bytes(n)), *first = find_first(s);
  if (m == NULL) {
    (void)ct_fail_nomem(err);
    return NULL;
  }
  *m = (CtMirror){.next = m, .prev = m, .storage = s, .n_slots = n};
  memset(m->slots, 0, n * sizeof m->slots[0]);
  if (first != NULL) {
    m->next = first;
    m->prev = first->prev;
    first->prev->next = m;
    first->prev = m;
  }
  s->mirror = m;
  ct_device_owe(s->device, settle, m);
  return m;
}

/* Puts page `number` into its slot. The transfers are calls of the device themselves, before which nothing is
   to be settled. */
static CtStatus load_page(CtMirror *m, Page *p, size_t number, CtErr *err) {
  CtStorage *s = m->storage;
  size_t at = number * PAGE_BYTES;
  size_t bytes = s->bytes - at < PAGE_BYTES ? s->bytes - at : PAGE_BYTES;
  char *data = p->data == NULL ? ct_alloc(s->alloc, PAGE_BYTES) : p->data;
  if (data == NULL) {
    return ct_fail_nomem(err);
  }
  bool had_page = p->data != NULL;
  p->data = data;
  ct_device_owe(s->device, NULL, NULL);
  CtStatus status = had_page ? write_page(s, p, err) : CT_OK;
  status = status == CT_OK ? ct_device_read(s->device, data, s->buf.ptr + at, bytes, s->stream, err)
                           : status;
  ct_device_owe(s->device, settle, m);
  if (status == CT_OK) {
    *p = (Page){.data = data, .number = number};
  } else {
    ct_free(s->alloc, data, PAGE_BYTES);
    *p = (Page){0};
  }
  return status;
}

/* The page of byte `at`; NULL: *status says why. */
static Page *find_page(CtStorage *s, size_t at, CtStatus *status, CtErr *err) {
  CtMirror *m = s->mirror != NULL ? s->mirror : new_mirror(s, err);
  if (m == NULL) {
    *status = CT_ENOMEM;
    return NULL;
  }
  size_t number = at / PAGE_BYTES;
  Page *p = &m->slots[number % m->n_slots];
  *status = p->data != NULL && p->number == number ? CT_OK : load_page(m, p, number, err);
  m->last = *status == CT_OK ? p : NULL;
  m->last_begin = number * PAGE_BYTES;
  return m->last;
}

/* The same; the page that was used last is found at once. */
static inline Page *page_of(CtStorage *s, size_t at, CtStatus *status, CtErr *err) {
  CtMirror *m = s->mirror;
  if (m != NULL && m->last != NULL && at - m->last_begin < PAGE_BYTES) {
    *status = CT_OK;
    return m->last;
  }
  return find_page(s, at, status, err);
}

CtStatus ct_mirror_get(CtStorage *s, size_t at, void *dst, size_t bytes, CtErr *err) {
  CtStatus status;
  const Page *p = page_of(s, at, &status, err);
  if (p != NULL) {
    memcpy(dst, p->data + at % PAGE_BYTES, bytes);
  }
  return status;
}

CtStatus ct_mirror_put(CtStorage *s, size_t at, const void *src, size_t bytes, CtErr *err) {
  CtStatus status;
  Page *p = page_of(s, at, &status, err);
  if (p != NULL) {
    size_t begin = at % PAGE_BYTES, end = begin + bytes;
    bool is_clean = p->lo >= p->hi;
    memcpy(p->data + begin, src, bytes);
    p->lo = is_clean || begin < p->lo ? begin : p->lo;
    p->hi = is_clean || end > p->hi ? end : p->hi;
  }
  return status;
}
