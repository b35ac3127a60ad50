/* test_storage.c: memory on the host: alignment, reference counts, copies, lent memory, out of
   memory. Device memory is tested where there is a device. */
#include "runtime/device/storage.h"

#include "tap.h"

static long n_blocks;

static void *counting(void *ud, void *ptr, size_t old_bytes, size_t new_bytes) {
  int *left = ud;
  (void)old_bytes;
  if (new_bytes == 0) {
    n_blocks -= ptr != NULL;
    free(ptr);
    return NULL;
  }
  if (left != NULL && --*left < 0) {
    return NULL;
  }
  n_blocks += ptr == NULL;
  return realloc(ptr, new_bytes);
}

static void test_host(void) {
  CtStorage *s, *t;
  CtErr err;
  char back[100];
  OK(ct_storage_new((CtAlloc){counting, NULL}, NULL, 100, &s, &err) == CT_OK, "new");
  OK(ct_storage_new((CtAlloc){counting, NULL}, NULL, 100, &t, &err) == CT_OK, "another");
  OK((uintptr_t)s->host % CT_STORAGE_ALIGN == 0, "aligned");
  OK(ct_storage_place(s) == (uintptr_t)s->host, "its address");
  OK(ct_storage_set(s, 0, 7, 100, &err) == CT_OK, "set");
  OK(ct_storage_write(s, 10, "abc", 3, &err) == CT_OK, "write");
  OK(ct_storage_set(t, 0, 0, 100, &err) == CT_OK, "set the other");
  OK(ct_storage_copy(s, 9, t, 50, 5, &err) == CT_OK, "copy");
  OK(ct_storage_read(t, 50, back, 5, &err) == CT_OK && memcmp(back, "\007abc\007", 5) == 0, "read");
  OK(ct_storage_copy(t, 50, t, 52, 5, &err) == CT_OK, "copy over itself");
  OK(ct_storage_read(t, 50, back, 7, &err) == CT_OK && memcmp(back, "\007a\007abc\007", 7) == 0,
     "as if through a copy");
  ct_storage_retain(s);
  ct_storage_release(s);
  OK(ct_storage_write(s, 99, "x", 1, &err) == CT_OK, "one reference is left");
  ct_storage_release(s);
  ct_storage_release(t);
  ct_storage_release(NULL);
  IS_INT(n_blocks, 0, "all is freed");
}

static void test_empty(void) {
  CtStorage *s;
  CtErr err;
  OK(ct_storage_new((CtAlloc){counting, NULL}, NULL, 0, &s, &err) == CT_OK, "0 bytes");
  OK(ct_storage_read(s, 0, NULL, 0, &err) == CT_OK, "reading none of them");
  OK(ct_storage_set(s, 0, 1, 0, &err) == CT_OK, "setting none of them");
  ct_storage_release(s);
  IS_INT(n_blocks, 0, "freed");
}

static void take_back(void *ud, void *ptr, size_t bytes) {
  char *text = ud;
  snprintf(text, 64, "%s, %zu bytes", (const char *)ptr, bytes);
}

static void test_lent(void) {
  char memory[] = "lent", text[64] = "";
  CtStorage *s;
  CtErr err;
  OK(ct_storage_wrap((CtAlloc){counting, NULL}, NULL, memory, 4, take_back, text, &s, &err) ==
         CT_OK,
     "wrap");
  OK(ct_storage_write(s, 0, "L", 1, &err) == CT_OK && memory[0] == 'L', "it is the lender's");
  ct_storage_retain(s);
  ct_storage_release(s);
  IS_STR(text, "", "kept while there is a reference");
  ct_storage_release(s);
  IS_STR(text, "Lent, 4 bytes", "given back once");
  IS_INT(n_blocks, 0, "nothing else is left");
}

static void test_memory(void) {
  for (int n = 0; n < 3; n++) {
    int left = n;
    CtStorage *s = NULL;
    CtErr err;
    CtStatus status = ct_storage_new((CtAlloc){counting, &left}, NULL, 64, &s, &err);
    OK(n < 2 ? status == CT_ENOMEM && s == NULL : status == CT_OK, "%d requests granted", n);
    ct_storage_release(s);
    IS_INT(n_blocks, 0, "nothing leaks");
  }
  CtStorage *s;
  CtErr err;
  OK(ct_storage_new(ct_alloc_std, NULL, SIZE_MAX, &s, &err) == CT_ENOMEM, "more than there is");
}

int main(void) {
  test_host();
  test_empty();
  test_lent();
  test_memory();
  return done_testing();
}
