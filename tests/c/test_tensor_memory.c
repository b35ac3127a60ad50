/* test_tensor_memory.c: a script about tensors with the n-th request for memory refused, for each n:
   every run ends in a clear error or succeeds, and gives all memory back. */
#include "interp/cuttle.h"

#include "tap.h"

typedef struct Budget {
  long n_left;   /* requests that are granted; < 0: all */
  long n_blocks; /* that are out */
  bool refused;
} Budget;

static void *alloc(void *ud, void *ptr, size_t old_bytes, size_t new_bytes) {
  Budget *b = ud;
  bool grows = ptr == NULL || new_bytes > old_bytes;
  if (new_bytes == 0) {
    b->n_blocks -= ptr != NULL;
    free(ptr);
    return NULL;
  }
  if (grows && b->n_left == 0) { /* Lua counts on shrinking to work */
    b->refused = true;
    return NULL;
  }
  b->n_left -= grows && b->n_left > 0;
  b->n_blocks += ptr == NULL;
  return realloc(ptr, new_bytes);
}

static const char script[] =
    "collectgarbage('stop')\n"
    "local A = rand(f32, {8, 6})\n"
    "local B = zeros(f32, row_major{8, 6})\n"
    "copy(A, B)\n"
    "assert(allclose(A, B))\n"
    "fill(B(_, 2), 7)\n"
    "assert(not allclose(A, B))\n"
    "assert(parallelize(tile(A, {4, 3}, {1, 1}), layout{4, 3}, 11)[0] == A[{7, 5}])\n"
    "assert(#A:totable() == 8 and #tostring(B) > 100)\n"
    "assert(from_table(i32, {{1, 2}, {3, 4}})[{1, 0}] == 3)\n"
    "assert(size(reference.matmul(A, view(A, {4, 6}))) == 32)\n"
    "A:close()\n";

/* Runs the script with n requests granted; true when it needed no more. */
static bool run(long n, bool *clean, char *message, size_t cap) {
  Budget b = {.n_left = -1};
  cuttle_Options options = {.size = sizeof options, .alloc = alloc, .alloc_ud = &b};
  options.device = "cpu";
  cuttle_State *S = cuttle_open(&options);
  b.n_left = n;
  cuttle_Status status = cuttle_dostring(S, script, "=script");
  bool refused = b.refused;
  b.n_left = -1;
  snprintf(message, cap, "%s", status == CUTTLE_OK ? "" : cuttle_error(S));
  bool told = refused ? status == CUTTLE_NOMEM || strstr(message, "not enough memory") != NULL
                      : status == CUTTLE_OK;
  cuttle_close(S);
  *clean = told && b.n_blocks == 0;
  return !refused;
}

int main(void) {
  char message[1024];
  bool clean = true, done = false;
  long n = 0;
  for (; clean && !done && n < 20000; n++) {
    done = run(n, &clean, message, sizeof message);
  }
  OK(clean, "with %ld requests granted: '%s'", n - 1, message);
  OK(done && n > 100, "the script needs %ld requests", n - 1);
  return done_testing();
}
