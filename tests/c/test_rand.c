/* test_rand.c: random numbers: fixed sequences, ranges and moments. */
#include "runtime/base/rand.h"

#include <math.h>

#include "tap.h"

static uint64_t all_bits(CtRand *r) { return (uint64_t)ct_rand_int(r, INT64_MIN, INT64_MAX); }

static void test_sequence(void) {
  CtRand a, b;
  ct_rand_seed(&a, 42);
  ct_rand_seed(&b, 42);
  bool same = true;
  for (int i = 0; i < 1000; i++) {
    same = same && all_bits(&a) == all_bits(&b);
  }
  OK(same, "the same seed gives the same numbers");
  b.count = 0;
  ct_rand_seed(&a, 42);
  b.count = 500;
  for (int i = 0; i < 500; i++) {
    (void)all_bits(&a);
  }
  OK(all_bits(&a) == all_bits(&b), "a counter of 500 is 500 numbers on");
  ct_rand_seed(&a, 1);
  ct_rand_seed(&b, 2);
  OK(all_bits(&a) != all_bits(&b), "another seed, other numbers");
}

/* Written down once: they must never change, on any machine. */
static void test_known(void) {
  CtRand r;
  ct_rand_seed(&r, 0);
  char text[128];
  uint64_t u = all_bits(&r), u2 = all_bits(&r);
  snprintf(text, sizeof text, "%016llx %016llx", (unsigned long long)u, (unsigned long long)u2);
  IS_STR(text, "90287996c3e2222a bba11c9520801bef", "the first numbers of seed 0");
  ct_rand_seed(&r, 0);
  float f = ct_rand_f32(&r), f2 = ct_rand_f32(&r);
  snprintf(text, sizeof text, "%a %a", (double)f, (double)f2);
  IS_STR(text, "0x1.2050f2p-1 0x1.774238p-1", "as f32");
  ct_rand_seed(&r, 0);
  double d = ct_rand_f64(&r), d2 = ct_rand_f64(&r);
  snprintf(text, sizeof text, "%a %a", d, d2);
  IS_STR(text, "0x1.2050f32d87c44p-1 0x1.7742392a41003p-1", "as f64");
  ct_rand_seed(&r, 0);
  d = ct_rand_normal(&r);
  d2 = ct_rand_normal(&r);
  snprintf(text, sizeof text, "%a %a", d, d2);
  IS_STR(text, "0x1.c92ac7db2aed9p-2 -0x1.9327bd634acb2p-2", "normal");
}

enum { N = 200000 };

static void test_uniform(void) {
  CtRand r;
  double sum = 0, squares = 0;
  bool in_range = true, on_grid = true;
  ct_rand_seed(&r, 7);
  for (int i = 0; i < N; i++) {
    float x = ct_rand_f32(&r);
    in_range = in_range && x >= 0 && x < 1;
    on_grid = on_grid && floorf(x * 0x1p24F) == x * 0x1p24F;
    sum += x;
    squares += (double)x * x;
  }
  double mean = sum / N, variance = squares / N - mean * mean;
  OK(in_range, "f32 in [0, 1)");
  OK(on_grid, "multiples of 2^-24");
  OK(fabs(mean - 0.5) < 5 * sqrt(1.0 / 12 / N), "mean %.5f", mean);
  OK(fabs(variance - 1.0 / 12) < 0.001, "variance %.5f", variance);
}

static void test_int(void) {
  CtRand r;
  int counts[7] = {0};
  double chi2 = 0;
  ct_rand_seed(&r, 3);
  for (int i = 0; i < N; i++) {
    int64_t x = ct_rand_int(&r, -3, 3);
    if (x < -3 || x > 3) {
      OK(false, "%lld is out of range", (long long)x);
      return;
    }
    counts[x + 3]++;
  }
  for (int i = 0; i < 7; i++) {
    double d = counts[i] - N / 7.0;
    chi2 += d * d / (N / 7.0);
  }
  OK(chi2 < 22.5, "chi squared of 7 equally likely integers: %.2f (0.1 %% lie above 22.46)", chi2);
  IS_INT(ct_rand_int(&r, 5, 5), 5, "a range of one");
  bool low = false, high = false;
  for (int i = 0; i < 100; i++) {
    int64_t x = ct_rand_int(&r, INT64_MIN, INT64_MAX);
    low = low || x < 0;
    high = high || x > 0;
  }
  OK(low && high, "the whole range");
}

static void test_normal(void) {
  CtRand r;
  double m[5] = {0};
  int n_within = 0;
  ct_rand_seed(&r, 11);
  for (int i = 0; i < N; i++) {
    double x = ct_rand_normal(&r);
    n_within += fabs(x) < 1;
    for (int k = 1; k <= 4; k++) {
      m[k] += pow(x, k) / N;
    }
  }
  OK(fabs(m[1]) < 0.012, "mean %.4f", m[1]);
  OK(fabs(m[2] - 1) < 0.016, "variance %.4f", m[2]);
  OK(fabs(m[3]) < 0.05, "third moment %.4f", m[3]);
  OK(fabs(m[4] - 3) < 0.12, "fourth moment %.4f", m[4]);
  OK(fabs(n_within / (double)N - 0.682689) < 0.006, "68 %% lie within 1: %.4f",
     n_within / (double)N);
}

int main(void) {
  test_sequence();
  test_known();
  test_uniform();
  test_int();
  test_normal();
  return done_testing();
}
