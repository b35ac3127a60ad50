/* inflate.c: see inflate.h. */
#include <stdbool.h>

#include "inflate.h"

enum { SHORTEST_MATCH = 3, LONGEST_MATCH = 258, END_OF_BLOCK = 256 };
enum { N_LENGTHS = 29, N_DISTANCES = 30 };
enum { LAST_BLOCK_FIXED = 3, HEADER_BITS = 3 };

typedef struct Bits {
  const unsigned char *bytes;
  size_t n, at; /* at: bytes taken; beyond n they count as 0 */
  uint64_t held;
  unsigned n_held;
} Bits;

enum { MOST_BITS = 32 }; /* of a symbol and what follows it: 9, 5, 5 and 13 */

/* Four bytes from p on, the first one lowest. */
static uint64_t four(const unsigned char *p) {
  return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24;
}

/* So that MOST_BITS are held. Bits fill bytes from the lowest one on. */
static void hold(Bits *b) {
  if (b->n_held < MOST_BITS && b->at < b->n && b->n - b->at >= 4) {
    b->held |= four(b->bytes + b->at) << b->n_held;
    b->at += 4;
    b->n_held += 32;
  }
  while (b->n_held < MOST_BITS) {
    uint64_t byte = b->at < b->n ? b->bytes[b->at] : 0;
    b->at++;
    b->held |= byte << b->n_held;
    b->n_held += 8;
  }
}

static void drop(Bits *b, unsigned n) {
  b->held >>= n;
  b->n_held -= n;
}

/* The next n bits of those held. */
static unsigned take(Bits *b, unsigned n) {
  unsigned value = (unsigned)(b->held & ((UINT64_C(1) << n) - 1));
  drop(b, n);
  return value;
}

/* Have more bits been taken than there are? */
static bool is_beyond(const Bits *b) { return b->at - b->n_held / 8 > b->n; }

/* The next n bits as a code, whose bits come highest first; n <= 12. */
static unsigned peek_code(const Bits *b, unsigned n) {
  static const unsigned char turned[16] = {0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15};
  unsigned low = (unsigned)b->held;
  unsigned all = (unsigned)turned[low & 15] << 8 | (unsigned)turned[low >> 4 & 15] << 4 |
                 turned[low >> 8 & 15];
  return all >> (12 - n);
}

/* RFC 1951, 3.2.6: codes of 7 bits are symbols from 256 on, of 8 those from 0 and from 280 on, of 9 the others. */
static unsigned take_symbol(Bits *b) {
  unsigned code = peek_code(b, 9);
  if (code >> 2 < 0x18) {
    drop(b, 7);
    return END_OF_BLOCK + (code >> 2);
  }
  if (code >> 1 < 0xc8) {
    drop(b, 8);
    code >>= 1;
    return code < 0xc0 ? code - 0x30 : 280 + code - 0xc0;
  }
  drop(b, 9);
  return 144 + code - 0x190;
}

/* The value of a symbol whose extra bits grow by one after every `per` symbols, the first 2 * per without any. */
static unsigned take_value(Bits *b, unsigned first, unsigned per, unsigned symbol) {
  if (symbol < 2 * per) {
    return first + symbol;
  }
  unsigned extra = symbol / per - 1;
  return first + ((per + symbol % per) << extra) + take(b, extra);
}

/* Of a symbol behind the end of the block; 0: there is no such one. */
static unsigned take_length(Bits *b, unsigned symbol) {
  symbol -= END_OF_BLOCK + 1;
  if (symbol >= N_LENGTHS) {
    return 0;
  }
  return symbol == N_LENGTHS - 1 ? LONGEST_MATCH : take_value(b, SHORTEST_MATCH, 4, symbol);
}

static unsigned take_distance(Bits *b) {
  unsigned symbol = peek_code(b, 5);
  drop(b, 5);
  return symbol < N_DISTANCES ? take_value(b, 1, 2, symbol) : 0;
}

typedef struct Text {
  char *text;
  size_t max, n;
} Text;

static void put(Text *t, char c) {
  if (t->n < t->max) {
    t->text[t->n] = c;
  }
  t->n++;
}

/* What stands `distance` before the end is repeated, perhaps with itself. */
static void repeat(Text *t, unsigned length, unsigned distance) {
  size_t end = t->n + length;
  for (; t->n < end && t->n < t->max; t->n++) {
    t->text[t->n] = t->text[t->n - distance];
  }
  t->n = end;
}

size_t ct_inflate(const unsigned char *bytes, size_t n, char *text, size_t max) {
  Bits bits = {.bytes = bytes, .n = n};
  Text out = {NULL, max, 0};
  out.text = text;
  hold(&bits);
  if (take(&bits, HEADER_BITS) != LAST_BLOCK_FIXED) {
    return CT_INFLATE_BAD;
  }
  for (;;) {
    hold(&bits);
    unsigned symbol = take_symbol(&bits);
    if (is_beyond(&bits)) {
      return CT_INFLATE_BAD;
    }
    if (symbol == END_OF_BLOCK) {
      return out.n;
    }
    if (symbol < END_OF_BLOCK) {
      put(&out, (char)symbol);
      continue;
    }
    unsigned length = take_length(&bits, symbol), distance = length ? take_distance(&bits) : 0;
    if (distance == 0 || distance > out.n) {
      return CT_INFLATE_BAD;
    }
    repeat(&out, length, distance);
  }
}
