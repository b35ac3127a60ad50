/* banks.c: sectors and wavefronts of a request; see banks.h. */
#include "banks.h"

enum { LANES = 32, SLOTS = 128 }; /* SLOTS: a power of two, well above CT_MAX_SECTORS */

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/* Adds a sector to the list, unless the table says that the list has it already. */
static int add_sector(int64_t sector, int8_t table[SLOTS], int64_t *out, int n) {
  uint32_t h = (uint32_t)((uint64_t)sector * 0x9E3779B97F4A7C15u >> 57);
  for (; table[h] >= 0; h = (h + 1) % SLOTS) {
    if (out[table[h]] == sector) {
      return n;
    }
  }
  table[h] = (int8_t)n;
  out[n] = sector;
  return n + 1;
}

int ct_sectors(const int64_t at[32], uint32_t mask, int bytes, int64_t out[CT_MAX_SECTORS]) {
  int8_t table[SLOTS];
  int n = 0;
  for (int i = 0; i < SLOTS; i++) {
    table[i] = -1;
  }
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    int64_t first = floor_div(at[lane], CT_SECTOR_BYTES);
    int64_t last = floor_div(at[lane] + bytes - 1, CT_SECTOR_BYTES);
    if (n == 0 || out[n - 1] != first) {
      n = add_sector(first, table, out, n);
    }
    if (last != first) {
      n = add_sector(last, table, out, n);
    }
  }
  return n;
}

/* Do lanes n and n ^ by have the same address, for all active pairs? */
static bool are_pairs_same(const int64_t at[32], uint32_t mask, int by) {
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    if ((mask >> (lane ^ by) & 1) != 0 && at[lane] != at[lane ^ by]) {
      return false;
    }
  }
  return true;
}

/* How many phases there are, each of the same number of consecutive lanes: 1, 2 or 4. */
static int count_phases(const int64_t at[32], uint32_t mask, int bytes, bool is_store) {
  int n = bytes > 8 ? 4 : bytes > CT_BANK_BYTES ? 2 : 1;
  bool merges = !is_store && (are_pairs_same(at, mask, 1) || are_pairs_same(at, mask, 2));
  return n > 1 && merges ? n / 2 : n;
}

/* The wavefronts of a phase: the largest number of different words in one bank. */
static int phase_wavefronts(const int64_t at[32], uint32_t mask, int bytes) {
  int64_t words[CT_BANKS][LANES];
  uint8_t n[CT_BANKS] = {0};
  int most = 0;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    int64_t first = floor_div(at[__builtin_ctz(rest)], CT_BANK_BYTES);
    for (int64_t word = first; word < first + (bytes + 3) / CT_BANK_BYTES; word++) {
      int bank = (int)((uint64_t)word % CT_BANKS), i = 0;
      while (i < n[bank] && words[bank][i] != word) {
        i++;
      }
      if (i == n[bank]) {
        words[bank][n[bank]++] = word;
        most = most > i ? most : i + 1;
      }
    }
  }
  return most;
}

CtWavefronts ct_wavefronts(const int64_t at[32], uint32_t mask, int bytes, bool is_store) {
  CtWavefronts w = {0, 0};
  int n = count_phases(at, mask, bytes, is_store), lanes = LANES / n;
  for (int i = 0; i < n; i++) {
    uint32_t all = lanes == LANES ? 0xFFFFFFFFu : (1u << lanes) - 1;
    uint32_t phase = mask & all << (i * lanes);
    int here = phase_wavefronts(at, phase, bytes);
    w.n += here;
    w.ideal += here > 0 ? 1 : 0;
  }
  return w;
}
