/* fuzz_ir_file.c: any bytes as an IR. Those of the corpus are real, and those of the header are as this
   library writes them, so that changed ones get past it. What is read is verified, so it prints; writing it
   and reading that must give the same bytes and the same text. */
#include <stdlib.h>
#include <string.h>

#include "runtime/ir/ir_file.h"
#include "runtime/ir/ir_make.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool ok) {
  if (!ok) {
    abort();
  }
}

/* The header of an empty IR's bytes: what this library writes. */
static void put_header(CtText *bytes) {
  static const int64_t block[3] = {1, 1, 1};
  CtIr ir;
  CtErr err;
  ct_ir_init(&ir, ct_alloc_std, (CtTarget){.name = "fuzz"}, block);
  must(ct_ir_write(&ir, bytes, &err) == CT_OK);
  bytes->len = 20;
  ct_ir_clear(&ir);
}

static void check_round_trip(const CtIr *ir) {
  CtText first, second, text, again;
  CtText *const all[] = {&first, &second, &text, &again};
  CtIr copy;
  CtErr err;
  for (size_t i = 0; i < 4; i++) {
    ct_text_init(all[i], ct_alloc_std);
  }
  ct_ir_print(ir, &text);
  must(ct_ir_write(ir, &first, &err) == CT_OK);
  must(ct_ir_read(ct_alloc_std, first.s, first.len, &copy, &err) == CT_OK);
  must(ct_ir_write(&copy, &second, &err) == CT_OK);
  ct_ir_print(&copy, &again);
  must(first.len == second.len && memcmp(first.s, second.s, first.len) == 0);
  must(text.len == again.len && strcmp(ct_text_str(&text), ct_text_str(&again)) == 0);
  ct_ir_read_clear(&copy);
  for (size_t i = 0; i < 4; i++) {
    ct_text_clear(all[i]);
  }
}

static void read_bytes(const char *bytes, size_t n) {
  CtIr ir;
  CtErr err;
  if (ct_ir_read(ct_alloc_std, bytes, n, &ir, &err) == CT_OK) {
    check_round_trip(&ir);
    ct_ir_read_clear(&ir);
  } else {
    must(err.msg[0] != '\0' && strchr(err.msg, '\n') == NULL);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  CtText bytes;
  read_bytes((const char *)data, n);
  if (n > 20) {
    ct_text_init(&bytes, ct_alloc_std);
    put_header(&bytes);
    ct_text_add(&bytes, (const char *)data + 20, n - 20);
    read_bytes(bytes.s, bytes.len);
    ct_text_clear(&bytes);
  }
  return 0;
}
