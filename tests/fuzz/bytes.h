/* bytes.h: an input of the fuzzer as a supply of small decisions. Behind its end all are 0. */
#ifndef FUZZ_BYTES_H
#define FUZZ_BYTES_H

#include <stddef.h>
#include <stdint.h>

typedef struct Bytes {
  const uint8_t *data;
  size_t n, at;
} Bytes;

static inline unsigned next_byte(Bytes *b) { return b->at < b->n ? b->data[b->at++] : 0; }

/* 0 .. n - 1 */
static inline unsigned below(Bytes *b, unsigned n) { return next_byte(b) % n; }

/* One time in n. */
static inline int once_in(Bytes *b, unsigned n) { return below(b, n) == n - 1; }

#define PICK(b, list) ((list)[below((b), (unsigned)(sizeof(list) / sizeof *(list)))])

/* Integers at which things change, and small ones. */
static inline int64_t next_integer(Bytes *b) {
  static const int64_t edges[] = {
      0,          1,          -1,         2,         31,        32,        33,          63,
      64,         255,        256,        1024,      65535,     65536,     INT32_MAX,   INT32_MIN,
      2147483648, 4294967295, 4294967296, INT64_MAX, INT64_MIN, 1LL << 62, -(1LL << 40)};
  unsigned kind = next_byte(b);
  return kind < 128 ? (int64_t)below(b, 64) - 8 : edges[kind % (sizeof edges / sizeof *edges)];
}

/* On how many inputs random_inputs.c runs this target in sanitized tests. */
extern const unsigned random_inputs;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#endif
