/* cache.h: compiled kernels on disk. An entry is a file named by the 128-bit hash of everything
   that determines its contents, so an entry never goes stale, only old. It is written to a
   temporary file and renamed, so readers and writers in any number of processes see whole entries
   or none; a checksum catches what the disk or a crash did to one, and only plain files of the user
   who runs are believed. Nothing here is ever an error
   for a user: what cannot be read is a miss, what cannot be written is not cached. */
#ifndef CT_CACHE_H
#define CT_CACHE_H

#include "runtime/base/text.h"

/* A 128-bit hash in progress: SipHash-2-4 with 128 bits of result and a fixed key. Collisions are
   no concern at 128 bits; a keyed permutation was chosen over two 64-bit mixes because its quality
   is known and it still reads a kernel's text in microseconds. */
typedef struct CtHash {
  uint64_t v[4];
  uint64_t tail; /* bytes not yet mixed, the oldest lowest */
  uint64_t len;
} CtHash;

typedef struct CtHashKey {
  uint64_t lo, hi;
} CtHashKey;

void ct_hash_init(CtHash *h);
void ct_hash_add(CtHash *h, const void *data, size_t bytes);
void ct_hash_field(CtHash *h, const void *data, size_t bytes); /* with its length: unambiguous */
CtHashKey ct_hash_end(const CtHash *h);

typedef struct CtCache {
  char dir[1024]; /* "" when the cache is off */
  uint64_t cap_bytes;
} CtCache;

/* From the environment: CUTTLE_CACHE=off or a directory; else $XDG_CACHE_HOME/cuttle, else
   ~/.cache/cuttle; CUTTLE_CACHE_MIB caps its size (256). Creates nothing. CT_EINVAL: the cap is no number of
   MiB; then the cache is off. */
CtStatus ct_cache_init(CtCache *c, CtErr *err) CT_NODISCARD;

/* Makes the cache's folder. False: it is off, or the folder cannot be made. */
bool ct_cache_make(const CtCache *c);

/* Appends the entry's two parts to *image and *info (initialised texts; untouched on a miss).
   A hit makes the entry young again. False: a miss. */
bool ct_cache_get(const CtCache *c, CtHashKey key, CtText *image, CtText *info);

/* Stores an entry, then removes the oldest ones until the cache fits its cap; after entries below 1/256 of
   that not each time. False: not stored. */
bool ct_cache_put(const CtCache *c, CtHashKey key, const void *image, size_t image_bytes,
                  const void *info, size_t info_bytes);

#endif
