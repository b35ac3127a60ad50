/* attention.c: attention of one head, query by query. */
#include "attention.h"

#include <math.h>

static double dot(const double *a, const double *b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) {
    sum += a[i] * b[i];
  }
  return sum;
}

/* The scaled products of a query with the keys it sees; returns the largest, -infinity of none. */
static double products(const CtAttention *a, const double *q, const double *K, int64_t n,
                       double *p) {
  double most = -HUGE_VAL;
  for (int64_t j = 0; j < n; j++) {
    p[j] = a->scale * dot(q, K + j * a->depth, a->depth);
    most = fmax(most, p[j]);
  }
  return most;
}

static void add_row(double *o, const double *v, double weight, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    o[i] += weight * v[i];
  }
}

static void divide_row(double *o, double by, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    o[i] /= by;
  }
}

/* Query i: a row of O, a number of lse. */
static void attend(const CtAttention *a, int64_t i, const double *Q, const double *K,
                   const double *V, double *O, double *lse, double *p) {
  double *o = O + i * a->depth_v;
  int64_t seen = a->causal ? ct_min(a->n_k, ct_max(0, i + a->n_k - a->n_q + 1)) : a->n_k;
  double most = products(a, Q + i * a->depth, K, seen, p), sum = 0;
  for (int64_t c = 0; c < a->depth_v; c++) {
    o[c] = 0;
  }
  for (int64_t j = 0; j < seen; j++) {
    double weight = exp(p[j] - most);
    sum += weight;
    add_row(o, V + j * a->depth_v, weight, a->depth_v);
  }
  if (seen > 0) {
    divide_row(o, sum, a->depth_v);
  }
  lse[i] = seen > 0 ? most + log(sum) : -HUGE_VAL;
}

bool ct_attention_f64(const CtAttention *a, const double *Q, const double *K, const double *V,
                      double *O, double *lse, double *p, const volatile int *interrupt) {
  for (int64_t i = 0; i < a->n_q; i++) {
    if (ct_flag_is_up(interrupt)) {
      return false;
    }
    attend(a, i, Q, K, V, O, lse, p);
  }
  return true;
}
