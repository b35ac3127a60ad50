/* fuzz_npy.c: any bytes as a .npy file: the parser must stay inside them, what it accepts must be
   consistent, and writing that again and reading it must give the same. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool ok) {
  if (!ok) {
    abort();
  }
}

static void check_consistent(const CtNpy *h, size_t n) {
  int64_t n_elems = 1;
  must(h->rank >= 0 && h->rank <= CT_NPY_MAX_RANK && h->data_at <= n);
  must(h->dtype > CT_VOID && h->dtype < CT_DTYPE_COUNT);
  for (int i = 0; i < h->rank; i++) {
    must(h->shape[i] >= 0);
    n_elems = h->shape[i] == 0 || n_elems == 0 ? 0 : n_elems * h->shape[i];
  }
  must(n_elems == h->n_elems && h->data_bytes == (size_t)n_elems * ct_value_bytes(h->dtype));
}

static void check_round_trip(const CtNpy *h) {
  CtText text;
  CtNpy again;
  CtErr err;
  ct_text_init(&text, ct_alloc_std);
  must(ct_npy_format(h, &text, &err) == CT_OK);
  must(ct_npy_parse(text.s, text.len, &again, &err) == CT_OK);
  must(again.dtype == h->dtype && again.fortran_order == h->fortran_order);
  must(again.rank == h->rank && again.data_bytes == h->data_bytes);
  must(memcmp(again.shape, h->shape, sizeof h->shape) == 0);
  ct_text_clear(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  CtNpy h;
  CtErr err;
  if (ct_npy_parse(data, n, &h, &err) == CT_OK) {
    check_consistent(&h, n);
    check_round_trip(&h);
  } else {
    must(err.msg[0] != '\0' && strchr(err.msg, '\n') == NULL);
  }
  return 0;
}
