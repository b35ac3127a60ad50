/* fuzz_capture.c: any bytes as a captured launch, with the header as this library writes it too, so that changed
   files get past it. What is read is consistent: its tensors lie in its memory, its data are all there; and
   what is written of it reads as the same launch. */
#include <stdlib.h>
#include <string.h>

#include "runtime/capture/capture.h"
#include "runtime/layout/walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { HEADER = 24 /* magic, version, fingerprint */ };

static void must(bool ok) {
  if (!ok) {
    abort();
  }
}

static void check_tensor(const CtCapture *c, const CtCaptureTensor *t) {
  int64_t lo, hi, size;
  must(t->span < c->n_spans);
  must(ct_walk_bounds((CtLayout){t->shape, t->stride}, &lo, &hi, &size, NULL) == CT_OK);
  must(lo >= 0 && t->at + (uint64_t)(hi + 1) * ct_value_bytes(t->dtype) <= c->spans[t->span].bytes);
}

static void check_consistent(const CtCapture *c, const char *bytes, size_t n) {
  uint64_t left = c->data_bytes;
  must((const char *)c->ir >= bytes && (const char *)c->data + c->data_bytes + 8 == bytes + n);
  for (uint32_t i = 0; i < c->n_spans; i++) {
    uint64_t taken = c->spans[i].has_data ? c->spans[i].bytes - c->spans[i].lead : 0;
    must(taken <= left);
    left -= taken;
  }
  must(left == 0);
  for (uint32_t i = 0; i < c->n_args; i++) {
    for (uint32_t j = 0; j < c->args[i].n; j++) {
      check_tensor(c, &c->args[i].tensors[j]);
    }
  }
}

static void check_round_trip(CtArena *arena, const CtCapture *c) {
  CtText first, second;
  CtCapture again;
  CtErr err;
  ct_text_init(&first, ct_alloc_std);
  ct_text_init(&second, ct_alloc_std);
  must(ct_capture_write(c, &first, &err) == CT_OK);
  ct_text_add(&first, (const char *)c->data, c->data_bytes);
  must(ct_capture_seal(&first, &err) == CT_OK);
  must(ct_capture_read(arena, first.s, first.len, &again, &err) == CT_OK);
  must(ct_capture_write(&again, &second, &err) == CT_OK);
  must(second.len + c->data_bytes + 8 == first.len && memcmp(first.s, second.s, second.len) == 0);
  ct_text_clear(&first);
  ct_text_clear(&second);
}

static void read_bytes(const char *bytes, size_t n) {
  CtArena arena;
  CtCapture c;
  CtErr err;
  ct_arena_init(&arena, ct_alloc_std);
  if (ct_capture_read(&arena, bytes, n, &c, &err) == CT_OK) {
    check_consistent(&c, bytes, n);
    check_round_trip(&arena, &c);
  } else {
    must(err.msg[0] != '\0' && strchr(err.msg, '\n') == NULL);
  }
  ct_arena_clear(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static const CtCapture none = {.kernel = "k", .chunk = "k", .device = "cpu", .why = "", .ir = ""};
  CtText bytes;
  CtErr err;
  read_bytes((const char *)data, n);
  if (n > HEADER) {
    ct_text_init(&bytes, ct_alloc_std);
    must(ct_capture_write(&none, &bytes, &err) == CT_OK);
    bytes.len = HEADER;
    ct_text_add(&bytes, (const char *)data + HEADER, n - HEADER);
    size_t len = bytes.len;
    must(ct_capture_seal(&bytes, &err) == CT_OK);
    read_bytes(bytes.s, bytes.len);
    memcpy(bytes.s, "CUTTLESL\2\0\0\0\0\0\0", 16); /* as exported programs write it */
    bytes.len = len;
    must(ct_capture_seal(&bytes, &err) == CT_OK);
    read_bytes(bytes.s, bytes.len);
    ct_text_clear(&bytes);
  }
  return 0;
}
