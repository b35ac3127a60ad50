/* test_banks.c: sectors and wavefronts against a count byte by byte, and known cases. */
#include <stdlib.h>
#include <string.h>

#include "runtime/watch/banks.h"
#include "tap.h"

enum { SPAN = 1 << 14 };

/* Every byte that is touched, once. */
static int brute_sectors(const int64_t at[32], uint32_t mask, int bytes) {
  static bool touched[SPAN / 32 + 1];
  int n = 0;
  memset(touched, 0, sizeof touched);
  for (int lane = 0; lane < 32; lane++) {
    for (int b = 0; b < bytes && (mask >> lane & 1) != 0; b++) {
      bool *t = &touched[(at[lane] + b) / 32];
      n += !*t;
      *t = true;
    }
  }
  return n;
}

/* Phases in the words of the rule, each by a table of all words. */
static CtWavefronts brute_wavefronts(const int64_t at[32], uint32_t mask, int bytes, bool store) {
  CtWavefronts w = {0, 0};
  bool same1 = true, same2 = true;
  for (int i = 0; i < 32; i++) {
    for (int j = 0; j < 32; j++) {
      bool both = (mask >> i & 1) != 0 && (mask >> j & 1) != 0;
      same1 = same1 && !(both && (i ^ j) == 1 && at[i] != at[j]);
      same2 = same2 && !(both && (i ^ j) == 2 && at[i] != at[j]);
    }
  }
  int phases = bytes == 16 ? 4 : bytes == 8 ? 2 : 1;
  if (phases > 1 && !store && (same1 || same2)) {
    phases /= 2;
  }
  for (int p = 0; p < phases; p++) {
    static bool word[SPAN / 4 + 8];
    int of_bank[32] = {0}, most = 0;
    memset(word, 0, sizeof word);
    for (int lane = p * 32 / phases; lane < (p + 1) * 32 / phases; lane++) {
      for (int b = 0; b < bytes && (mask >> lane & 1) != 0; b++) {
        int64_t i = (at[lane] + b) / 4;
        of_bank[i % 32] += !word[i];
        word[i] = true;
        most = most > of_bank[i % 32] ? most : of_bank[i % 32];
      }
    }
    w.n += most;
    w.ideal += most > 0;
  }
  return w;
}

static uint32_t seed = 1;
static uint32_t rnd(uint32_t n) {
  seed = seed * 1664525u + 1013904223u;
  return (uint32_t)((uint64_t)(seed >> 8) * n >> 24);
}

/* Strided, random, and random within few words, by some of the lanes. */
static void make_access(int64_t at[32], uint32_t *mask, int bytes) {
  uint32_t kind = rnd(4), step = rnd(40), range = SPAN / (uint32_t)bytes - 1;
  range = kind == 3 ? 1 + rnd(40) : range;
  for (uint32_t i = 0; i < 32; i++) {
    uint32_t k = rnd(2) == 0 ? i & ~1u : i;
    uint32_t e = kind == 0   ? i * step
                 : kind == 1 ? (i & ~1u) * step
                 : kind == 2 ? (i & ~2u) * step
                             : rnd(range);
    e = rnd(50) == 0 ? k : e;
    at[i] = (int64_t)(e % (SPAN / (uint32_t)bytes)) * bytes;
  }
  *mask = rnd(2) == 0 ? 0xFFFFFFFFu : rnd(1u << 16) << 16 | rnd(1u << 16);
}

static void check_random(void) {
  int bad_sectors = 0, bad_waves = 0;
  for (int i = 0; i < 20000; i++) {
    int64_t at[32], sectors[CT_MAX_SECTORS];
    uint32_t mask;
    int bytes = 1 << rnd(5);
    bool store = rnd(2) == 0;
    make_access(at, &mask, bytes);
    bad_sectors += ct_sectors(at, mask, bytes, sectors) != brute_sectors(at, mask, bytes);
    CtWavefronts a = ct_wavefronts(at, mask, bytes, store);
    CtWavefronts b = brute_wavefronts(at, mask, bytes, store);
    bad_waves += a.n != b.n || a.ideal != b.ideal;
  }
  OK(bad_sectors == 0, "sectors of 20000 requests as counted byte by byte");
  OK(bad_waves == 0, "wavefronts of 20000 requests as counted byte by byte");
}

static int waves(int64_t step, int bytes, bool store) {
  int64_t at[32];
  for (int i = 0; i < 32; i++) {
    at[i] = i * step;
  }
  return ct_wavefronts(at, 0xFFFFFFFFu, bytes, store).n;
}

static int sectors_of(int64_t first, int64_t step, int bytes) {
  int64_t at[32], out[CT_MAX_SECTORS];
  for (int i = 0; i < 32; i++) {
    at[i] = first + i * step;
  }
  return ct_sectors(at, 0xFFFFFFFFu, bytes, out);
}

/* What the CUDA C programming guide says of strides, and the answers that banks.h names. */
static void check_known(void) {
  OK(waves(4, 4, false) == 1, "consecutive words: one wavefront");
  OK(waves(8, 4, false) == 2, "every second word: two");
  OK(waves(12, 4, false) == 1, "every third word: one");
  OK(waves(128, 4, false) == 32, "one bank: 32");
  OK(waves(132, 4, false) == 1, "padded by a word: one");
  OK(waves(0, 4, false) == 1, "one word for all: one");
  OK(waves(2, 2, false) == 1, "halves of words: one");
  OK(waves(8, 8, false) == 2, "consecutive 8 bytes: two");
  OK(waves(16, 16, false) == 4, "consecutive 16 bytes: four");
  OK(waves(0, 8, false) == 1 && waves(0, 16, false) == 2, "the same vector for all: merged");
  OK(waves(0, 16, true) == 4, "stores are not merged");
  OK(sectors_of(0, 4, 4) == 4 && sectors_of(4, 4, 4) == 5, "aligned and not: 4 and 5 sectors");
  OK(sectors_of(0, 64, 4) == 32 && sectors_of(0, 0, 4) == 1, "strided and the same: 32 and 1");
  OK(sectors_of(0, 16, 16) == 16, "16 bytes by lane: 16 sectors");
}

int main(void) {
  check_random();
  check_known();
  return done_testing();
}
