/* cache.c: the disk cache and its hash. An entry is
     header | image | info
   in the machine's own byte order; the header's magic changes with the format. */
#include "cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/env.h"
#include "runtime/base/newfile.h"
#include "runtime/base/order.h"

/* {====== SipHash-2-4-128 (Aumasson and Bernstein, 2012), key 00 01 .. 0f ====== */

static const uint64_t KEY0 = 0x0706050403020100U, KEY1 = 0x0f0e0d0c0b0a0908U;

static uint64_t rotate(uint64_t x, int n) { return x << n | x >> (64 - n); }

static void sip_round(uint64_t v[4]) {
  v[0] += v[1];
  v[1] = rotate(v[1], 13) ^ v[0];
  v[0] = rotate(v[0], 32);
  v[2] += v[3];
  v[3] = rotate(v[3], 16) ^ v[2];
  v[0] += v[3];
  v[3] = rotate(v[3], 21) ^ v[0];
  v[2] += v[1];
  v[1] = rotate(v[1], 17) ^ v[2];
  v[2] = rotate(v[2], 32);
}

static void mix_word(uint64_t v[4], uint64_t word) {
  v[3] ^= word;
  sip_round(v);
  sip_round(v);
  v[0] ^= word;
}

static uint64_t finish(uint64_t v[4]) {
  for (int i = 0; i < 4; i++) {
    sip_round(v);
  }
  return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void ct_hash_init(CtHash *h) {
  *h = (CtHash){.v = {KEY0 ^ 0x736f6d6570736575U, KEY1 ^ 0x646f72616e646f6dU ^ 0xee,
                      KEY0 ^ 0x6c7967656e657261U, KEY1 ^ 0x7465646279746573U}};
}

static void add_byte(CtHash *h, unsigned char byte) {
  h->tail |= (uint64_t)byte << 8 * (h->len % 8);
  h->len++;
  if (h->len % 8 == 0) {
    mix_word(h->v, h->tail);
    h->tail = 0;
  }
}

static uint64_t load_word(const unsigned char *p) { /* little-endian on every machine */
  uint64_t w = 0;
  for (int i = 0; i < 8; i++) {
    w |= (uint64_t)p[i] << 8 * i;
  }
  return w;
}

void ct_hash_add(CtHash *h, const void *data, size_t bytes) {
  const unsigned char *p = data;
  for (; bytes > 0 && h->len % 8 != 0; bytes--) {
    add_byte(h, *p++);
  }
  for (; bytes >= 8; bytes -= 8, p += 8) {
    mix_word(h->v, load_word(p));
    h->len += 8;
  }
  for (; bytes > 0; bytes--) {
    add_byte(h, *p++);
  }
}

void ct_hash_field(CtHash *h, const void *data, size_t bytes) {
  uint64_t len = bytes;
  ct_hash_add(h, &len, sizeof len);
  ct_hash_add(h, data, bytes);
}

CtHashKey ct_hash_end(const CtHash *h) {
  CtHashKey key;
  uint64_t v[4];
  memcpy(v, h->v, sizeof v);
  mix_word(v, h->tail | h->len << 56);
  v[2] ^= 0xee;
  key.lo = finish(v);
  v[1] ^= 0xdd;
  key.hi = finish(v);
  return key;
}

/* {====== Where ====== */

enum { DEFAULT_MIB = 256, MAX_MIB = 1 << 30, NAME_BYTES = 64 };

static void set_dir(CtCache *c, const char *base, const char *rest) {
  int n = snprintf(c->dir, sizeof c->dir, "%s%s", base, rest);
  if (n < 0 || (size_t)n >= sizeof c->dir) {
    c->dir[0] = '\0'; /* a folder that cannot be named is no folder */
  }
}

static const char *get_variable(const char *name) {
  const char *s = ct_env(name);
  return s == NULL || s[0] == '\0' ? NULL : s;
}

CtStatus ct_cache_init(CtCache *c, CtErr *err) {
  const char *given = get_variable("CUTTLE_CACHE");
  const char *xdg = get_variable("XDG_CACHE_HOME");
  const char *home = get_variable("HOME");
  double mib = DEFAULT_MIB;
  CtStatus status =
      ct_env_number("CUTTLE_CACHE_MIB", ct_env("CUTTLE_CACHE_MIB"), 0, MAX_MIB, true, &mib, err);
  c->dir[0] = '\0';
  c->cap_bytes = (uint64_t)mib * 1024 * 1024;
  if (status != CT_OK) {
    return status;
  }
  if (given != NULL) {
    if (strcmp(given, "off") != 0) {
      set_dir(c, given, "");
    }
  } else if (xdg != NULL && xdg[0] == '/') {
    set_dir(c, xdg, "/cuttle");
  } else if (home != NULL && home[0] == '/') {
    set_dir(c, home, "/.cache/cuttle");
  }
  return CT_OK;
}

static bool is_off(const CtCache *c) { return c->dir[0] == '\0'; }

/* Makes the folder and those above it, for the user alone. */
static bool make_dirs(const char *dir) { return ct_newfile_folder(dir, 0700) == 0; }

bool ct_cache_make(const CtCache *c) { return !is_off(c) && make_dirs(c->dir); }

static bool join_path(const CtCache *c, const char *name, char *path, size_t cap) {
  int n = snprintf(path, cap, "%s/%s", c->dir, name);
  return n > 0 && (size_t)n < cap;
}

static bool entry_path(const CtCache *c, CtHashKey key, char *path, size_t cap) {
  char name[NAME_BYTES];
  snprintf(name, sizeof name, "%016llx%016llx.ct", (unsigned long long)key.hi,
           (unsigned long long)key.lo);
  return join_path(c, name, path, cap);
}

/* {====== Entries ====== */

typedef struct Header {
  char magic[8];
  CtHashKey key;
  uint64_t image_bytes, info_bytes;
  CtHashKey sum; /* of image and info */
} Header;

static const char MAGIC[8] = {'c', 'u', 't', 't', 'l', 'e', '0', '1'};

static CtHashKey checksum(const void *image, size_t image_bytes, const void *info,
                          size_t info_bytes) {
  CtHash h;
  ct_hash_init(&h);
  ct_hash_field(&h, image, image_bytes);
  ct_hash_field(&h, info, info_bytes);
  return ct_hash_end(&h);
}

static bool same_key(CtHashKey a, CtHashKey b) { return a.lo == b.lo && a.hi == b.hi; }

static bool read_all(int fd, void *data, size_t bytes) {
  char *p = data;
  while (bytes > 0) {
    ssize_t n = read(fd, p, bytes);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n <= 0) {
      return false;
    }
    p += n;
    bytes -= (size_t)n;
  }
  return true;
}

/* A plain file of this user's: what somebody else put there is not code to run. */
static bool is_own_file(int fd, struct stat *st) {
  return fstat(fd, st) == 0 && S_ISREG(st->st_mode) && st->st_uid == geteuid();
}

/* The header and the file's size must agree before their numbers are believed. */
static bool read_header(int fd, CtHashKey key, Header *h) {
  struct stat st;
  if (!is_own_file(fd, &st) || st.st_size < (off_t)sizeof *h || !read_all(fd, h, sizeof *h)) {
    return false;
  }
  uint64_t body = (uint64_t)st.st_size - sizeof *h;
  return memcmp(h->magic, MAGIC, sizeof MAGIC) == 0 && same_key(h->key, key) &&
         h->image_bytes <= body && h->info_bytes == body - h->image_bytes;
}

static bool read_body(int fd, const Header *h, CtAlloc alloc, CtText *image, CtText *info) {
  size_t image_bytes = (size_t)h->image_bytes, info_bytes = (size_t)h->info_bytes;
  size_t bytes = image_bytes + info_bytes;
  char *body = ct_alloc(alloc, bytes + 1);
  if (body == NULL) {
    return false;
  }
  bool hit = read_all(fd, body, bytes) &&
             same_key(checksum(body, image_bytes, body + image_bytes, info_bytes), h->sum);
  if (hit) {
    ct_text_add(image, body, image_bytes);
    ct_text_add(info, body + image_bytes, info_bytes);
  }
  ct_free(alloc, body, bytes + 1);
  return hit && !image->failed && !info->failed;
}

static bool read_entry(int fd, CtHashKey key, CtText *image, CtText *info) {
  Header h;
  return read_header(fd, key, &h) && read_body(fd, &h, image->alloc, image, info);
}

bool ct_cache_get(const CtCache *c, CtHashKey key, CtText *image, CtText *info) {
  char path[sizeof c->dir + NAME_BYTES];
  if (is_off(c) || !entry_path(c, key, path, sizeof path)) {
    return false;
  }
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW); /* a pipe must not block */
  if (fd < 0) {
    return false;
  }
  bool hit = read_entry(fd, key, image, info);
  close(fd);
  /* The oldest go first, so a used one becomes new. A damaged one only stands in the way; if
     another process has just replaced it, that costs one compilation more. */
  if (hit) {
    (void)utimensat(AT_FDCWD, path, NULL, 0);
  } else {
    (void)unlink(path);
  }
  return hit;
}

/* {====== Eviction ====== */

typedef struct File {
  char name[NAME_BYTES];
  uint64_t bytes;
  struct timespec used;
} File;

typedef struct Listing {
  File *items;
  size_t n, cap;
  uint64_t bytes;
} Listing;

enum { TEMP_SECONDS = 3600 };

static bool has_prefix(const char *s, const char *prefix) {
  return strncmp(s, prefix, strlen(prefix)) == 0;
}

static bool is_entry(const char *name) {
  size_t len = strlen(name);
  return len == 35 && strcmp(name + 32, ".ct") == 0;
}

/* What a process that died while writing left behind. */
static void drop_stale_temp(const char *path, const struct stat *st) {
  if (st->st_mtim.tv_sec + TEMP_SECONDS < time(NULL)) {
    (void)unlink(path);
  }
}

static void list_file(const CtCache *c, const char *name, Listing *l) {
  char path[sizeof c->dir + NAME_BYTES];
  struct stat st;
  bool temp = has_prefix(name, "tmp-");
  if ((!temp && !is_entry(name)) || !join_path(c, name, path, sizeof path) ||
      stat(path, &st) != 0) {
    return; /* not ours, or gone since */
  }
  if (temp) {
    drop_stale_temp(path, &st);
    return;
  }
  if (CT_GROW(ct_alloc_std, l->items, l->cap, l->n + 1, NULL) != CT_OK) {
    return;
  }
  File *f = &l->items[l->n++];
  snprintf(f->name, sizeof f->name, "%s", name);
  f->bytes = (uint64_t)st.st_size;
  f->used = st.st_mtim;
  l->bytes += f->bytes;
}

static void list_dir(const CtCache *c, Listing *l) {
  DIR *dir = opendir(c->dir);
  if (dir == NULL) {
    return;
  }
  for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
    list_file(c, e->d_name, l);
  }
  closedir(dir);
}

static int by_age(const void *pa, const void *pb) {
  const File *a = pa, *b = pb;
  const int64_t pairs[][2] = {{a->used.tv_sec, b->used.tv_sec}, {a->used.tv_nsec, b->used.tv_nsec}};
  return CT_COMPARE_PAIRS(pairs);
}

/* Listing the folder looks at every file: after one small entry of 16. */
static bool may_exceed(const CtCache *c, const Header *h) {
  return h->image_bytes + h->info_bytes >= c->cap_bytes / 256 || h->key.lo % 16 == 0;
}

static void evict(const CtCache *c) {
  char path[sizeof c->dir + NAME_BYTES];
  Listing l = {0};
  list_dir(c, &l);
  if (l.bytes > c->cap_bytes) {
    qsort(l.items, l.n, sizeof *l.items, by_age);
    for (size_t i = 0; i < l.n && l.bytes > c->cap_bytes; i++) {
      if (join_path(c, l.items[i].name, path, sizeof path)) {
        (void)unlink(path);
      }
      l.bytes -= l.items[i].bytes;
    }
  }
  ct_free(ct_alloc_std, l.items, l.cap * sizeof *l.items);
}

/* {====== Writing ====== */

static bool write_entry(int fd, const Header *h, const void *image, const void *info) {
  return ct_write_all(fd, h, sizeof *h) && ct_write_all(fd, image, (size_t)h->image_bytes) &&
         ct_write_all(fd, info, (size_t)h->info_bytes);
}

static bool store(const CtCache *c, const Header *h, const void *image, const void *info) {
  char temp[sizeof c->dir + NAME_BYTES], path[sizeof c->dir + NAME_BYTES];
  if (!join_path(c, "tmp-XXXXXX", temp, sizeof temp) || !entry_path(c, h->key, path, sizeof path)) {
    return false;
  }
  int fd = mkstemp(temp);
  if (fd < 0) {
    return false;
  }
  bool written = write_entry(fd, h, image, info);
  written = close(fd) == 0 && written;
  if (!written || rename(temp, path) != 0) {
    (void)unlink(temp);
    return false;
  }
  return true;
}

bool ct_cache_put(const CtCache *c, CtHashKey key, const void *image, size_t image_bytes,
                  const void *info, size_t info_bytes) {
  Header h = {.key = key, .image_bytes = image_bytes, .info_bytes = info_bytes};
  if (is_off(c) || image_bytes + info_bytes + sizeof h > c->cap_bytes || !make_dirs(c->dir)) {
    return false;
  }
  memcpy(h.magic, MAGIC, sizeof MAGIC);
  h.sum = checksum(image, image_bytes, info, info_bytes);
  if (!store(c, &h, image, info)) {
    return false;
  }
  if (may_exceed(c, &h)) {
    evict(c);
  }
  return true;
}
