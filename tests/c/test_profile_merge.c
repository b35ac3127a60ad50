/* test_profile_merge.c: which requests a compiler may merge, and what they are at each level. */
#include "runtime/watch/profile_merge.h"
#include "runtime/watch/profile_site.h"
#include "tap.h"

enum { A, B, STORE, WIDE, N_SITES }; /* A and STORE are of one tensor, B of another one */

static CtProfileSite sites[N_SITES] = {{.buf = 1, .reads = true},
                                       {.buf = 2, .reads = true},
                                       {.buf = 1, .writes = true},
                                       {.buf = 1, .reads = true}};
static CtProfileAt ats[N_SITES];
static CtProfileMerged merged[N_SITES];
static CtMergeWindow window;
static CtMergeSink sink;

static void start(void) {
  memset(merged, 0, sizeof merged);
  memset(&window, 0, sizeof window);
  for (int i = 0; i < N_SITES; i++) {
    ats[i].space = CT_SHARED;
  }
  sink = (CtMergeSink){.sites = sites, .ats = ats, .merged = merged};
}

/* Lane i of the mask asks for bytes at `at + step * i`. */
static void add_masked(uint32_t site, int64_t at, int step, int bytes, uint32_t mask) {
  CtProfileRequest r = {.mask = mask, .bytes = bytes};
  for (int i = 0; i < CT_LANES; i++) {
    r.at[i] = at + (int64_t)step * i;
  }
  ct_merge_add(&window, &sink, site, &r);
}

static void add(uint32_t site, int64_t at, int step, int bytes) {
  add_masked(site, at, step, bytes, UINT32_MAX);
}

/* Requests of a site by bytes that neighbours are merged up to: 4, 8, 16. */
static bool is(uint32_t site, uint64_t at_4, uint64_t at_8, uint64_t at_16) {
  const CtProfileMerged *m = &merged[site];
  bool same = m->at[2].requests == at_4 && m->at[3].requests == at_8 && m->at[4].requests == at_16;
  if (!same) {
    tap_diag("%d, %d, %d", (int)m->at[2].requests, (int)m->at[3].requests, (int)m->at[4].requests);
  }
  return same;
}

static void test_neighbours(void) {
  start();
  for (int i = 3; i >= 0; i--) { /* in any order */
    add(A, 4 * i, 16, 4);
  }
  OK(ct_merge_is_closed(&window), "all of 16 bytes: nothing can come");
  ct_merge_flush(&window, &sink);
  OK(is(A, 4, 2, 1), "four neighbours of each lane");
  OK(merged[A].at[2].wavefronts == 16 && merged[A].at[4].wavefronts == 4 &&
         merged[A].sizes[4][4] == 1 && merged[A].sizes[3][3] == 2,
     "with the conflicts of each width");

  start();
  for (int i = 0; i < 3; i++) {
    add(A, 4 * i, 16, 4);
  }
  OK(!ct_merge_is_closed(&window), "three of four: another one may come");
  ct_merge_flush(&window, &sink);
  OK(is(A, 3, 2, 2), "are a pair and one");

  start();
  add(A, 4, 16, 4);
  add(A, 8, 16, 4);
  ct_merge_flush(&window, &sink);
  OK(is(A, 2, 2, 2), "a pair that is not aligned is none");

  start();
  for (int i = 0; i < 4; i++) {
    add(A, 4 * i, 8, 4);
  }
  ct_merge_flush(&window, &sink);
  OK(is(A, 4, 2, 2), "lanes that are 8 bytes apart: pairs only");

  start();
  for (int i = 0; i < 4; i++) {
    add(A, 128 * i, 4, 4);
  }
  OK(ct_merge_is_closed(&window), "neighbouring lanes cannot merge");
  ct_merge_flush(&window, &sink);
  OK(is(A, 4, 4, 4), "and do not");
}

static void test_widths(void) {
  start();
  add(WIDE, 0, 16, 8);
  add(A, 8, 16, 4);
  add(A, 12, 16, 4);
  ct_merge_flush(&window, &sink);
  OK(is(WIDE, 1, 1, 1) && is(A, 2, 1, 0), "a wider one is not cut, and counts where it began");
}

static void test_others(void) {
  start();
  add(A, 0, 16, 4);
  add(B, 4, 16, 4);
  add_masked(A, 4, 16, 4, 0xFFFF);
  ct_merge_flush(&window, &sink);
  OK(is(A, 2, 2, 2) && is(B, 1, 1, 1), "not with another tensor, nor with other lanes");

  start();
  add(A, 0, 16, 4);
  add(STORE, 64, 16, 4);
  add(A, 4, 16, 4);
  ct_merge_flush(&window, &sink);
  OK(is(A, 2, 2, 2) && is(STORE, 1, 1, 1), "not over a store to the tensor");

  start();
  add(A, 0, 16, 4);
  ct_merge_flush(&window, &sink);
  add(A, 4, 16, 4);
  ct_merge_flush(&window, &sink);
  OK(is(A, 2, 2, 2), "not over what counts all that waits");
}

static void test_again(void) {
  start();
  add(A, 0, 4, 4);
  add(A, 0, 4, 4);
  ct_merge_flush(&window, &sink);
  OK(is(A, 1, 1, 1), "what is read twice is read once");

  start();
  add(WIDE, 0, 4, 4);
  add(A, 0, 4, 4);
  add(WIDE, 512, 4, 4);
  add(A, 1024, 4, 4);
  ct_merge_flush(&window, &sink);
  OK(is(A, 1, 1, 1) && merged[A].repeated.requests == 1, "what another site has read is apart");
  ct_merge_settle(&merged[A], 2);
  OK(is(A, 2, 2, 2), "and counts, where that was not so each time");

  start();
  add(A, 0, 4, 4);
  window.stretch++;
  add(A, 0, 4, 4);
  ct_merge_flush(&window, &sink);
  OK(is(A, 2, 2, 2), "but not in the next turn of a loop");
}

static void test_many(void) {
  enum { N = 3 * CT_MERGE_RUNS };
  start();
  for (int i = 0; i < N; i++) {
    add(A, 1024 * i, 16, 4);
  }
  OK(window.has_lost && window.n == CT_MERGE_RUNS, "more than the window takes: the oldest leave");
  ct_merge_flush(&window, &sink);
  OK(is(A, N, N, N), "and all are counted");

  start();
  add(A, 2, 16, 4);
  ct_merge_flush(&window, &sink);
  OK(is(A, 1, 1, 1), "one that is not aligned counts alone");
}

int main(void) {
  test_neighbours();
  test_widths();
  test_others();
  test_again();
  test_many();
  return done_testing();
}
