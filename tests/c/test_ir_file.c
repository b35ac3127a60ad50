/* test_ir_file.c: an IR as bytes: laws on kernels built by hand, what is refused and how, and memory that runs
   out. Traced kernels go through the same code in the program that tests/support/ir_file.c is linked to. */
#include "emit_kernels.h"
#include "runtime/emit/emit_cuda.h"
#include "runtime/ir/ir_file.h"
#include "tap.h"

static void build_sgemm_columns(Kit *k, int sm) { build_sgemm(k, sm, "columns"); }

static void (*const builders[])(Kit *k, int sm) = {
    build_moye_matmul,   build_notebook, build_saxpy,  build_transpose,
    build_sgemm_columns, build_integers, build_floats, build_control,
    build_tiles,         build_escape,   build_names};

static CtText bytes_of(const CtIr *ir) {
  CtText bytes;
  CtErr err;
  ct_text_init(&bytes, ct_alloc_std);
  if (ct_ir_write(ir, &bytes, &err) != CT_OK) {
    printf("Bail out! %s\n", err.msg);
    exit(1);
  }
  return bytes;
}

static CtText text_of(const CtIr *ir) {
  CtText text;
  ct_text_init(&text, ct_alloc_std);
  ct_ir_print(ir, &text);
  return text;
}

static CtText cuda_of(const CtIr *ir) {
  static const CtEmitOpts opts = {.line_directives = true};
  CtText text;
  CtErr err;
  ct_text_init(&text, ct_alloc_std);
  if (ct_emit_cuda(ir, &opts, &text, &err) != CT_OK) {
    ct_text_puts(&text, err.msg);
  }
  return text;
}

static bool is_same(CtText a, CtText b) {
  bool same = a.len == b.len && a.len > 0 && memcmp(a.s, b.s, a.len) == 0;
  ct_text_clear(&a);
  ct_text_clear(&b);
  return same;
}

static void test_laws(void (*build)(Kit *k, int sm)) {
  Kit k;
  CtIr again;
  CtErr err = {.msg = ""};
  build(&k, 90);
  kit_must(&k, ct_ir_finish(&k.ir, &k.err));
  CtText bytes = bytes_of(&k.ir);
  bool is_read = ct_ir_read(ct_alloc_std, bytes.s, bytes.len, &again, &err) == CT_OK;
  OK(is_read, "%s is read: %s", k.ir.name, err.msg);
  if (is_read) {
    OK(is_same(bytes_of(&again), bytes), "%s: the same bytes", k.ir.name);
    OK(is_same(text_of(&again), text_of(&k.ir)), "%s: the same text", k.ir.name);
    OK(is_same(cuda_of(&again), cuda_of(&k.ir)), "%s: the same CUDA C", k.ir.name);
    ct_ir_read_clear(&again);
  }
  ct_ir_clear(&k.ir);
}

static CtText a_kernel(void) {
  Kit k;
  build_moye_matmul(&k, 90);
  kit_must(&k, ct_ir_finish(&k.ir, &k.err));
  CtText bytes = bytes_of(&k.ir);
  ct_ir_clear(&k.ir);
  return bytes;
}

static void refuses(const CtText *bytes, size_t n, const char *want) {
  CtIr ir;
  CtErr err = {.msg = ""};
  CtStatus status = ct_ir_read(ct_alloc_std, bytes->s, n, &ir, &err);
  OK(status != CT_OK && strstr(err.msg, want) != NULL, "refused: %s", err.msg);
}

static void test_refusals(void) {
  CtText bytes = a_kernel();
  refuses(&bytes, 0, "ir_read: these bytes are no IR");
  refuses(&bytes, bytes.len - 1, "ir_read: at byte");
  bytes.s[8] = 9;
  refuses(&bytes, bytes.len, "ir_read: file of IR version 9; this library reads 2");
  bytes.s[8] = CT_IR_FILE_VERSION;
  bytes.s[12] ^= 1;
  refuses(&bytes, bytes.len, "ir_read: file of IR version 2 with operations ");
  bytes.s[0] = 'X';
  refuses(&bytes, bytes.len, "ir_read: these bytes are no IR");
  ct_text_clear(&bytes);
}

/* No beginning of the bytes is an IR, and with a bit turned it is refused or another one, which is sound. */
static void test_damage(void) {
  CtText bytes = a_kernel();
  CtIr ir;
  CtErr err;
  size_t n_read = 0, n_turned = 0;
  for (size_t n = 0; n < bytes.len; n++) {
    n_read += ct_ir_read(ct_alloc_std, bytes.s, n, &ir, &err) == CT_OK;
  }
  OK(n_read == 0, "none of %zu beginnings is read", bytes.len);
  for (size_t i = 20; i < bytes.len; i++) {
    bytes.s[i] ^= 4;
    if (ct_ir_read(ct_alloc_std, bytes.s, bytes.len, &ir, &err) == CT_OK) {
      n_turned += ct_ir_check(&ir, &err) != CT_OK;
      ct_ir_read_clear(&ir);
    }
    bytes.s[i] ^= 4;
  }
  OK(n_turned == 0, "what is read with a bit turned is sound");
  ct_text_clear(&bytes);
}

/* --- memory -------------------------------------------------------------------------------------- */

typedef struct Heap {
  long left, bytes;
} Heap;

static void *heap_alloc(void *ud, void *ptr, size_t old_bytes, size_t new_bytes) {
  Heap *h = ud;
  if (new_bytes > 0 && h->left-- <= 0) {
    return NULL;
  }
  h->bytes += (long)new_bytes - (long)(ptr == NULL ? 0 : old_bytes);
  return ct_alloc_std.fn(ct_alloc_std.ud, ptr, old_bytes, new_bytes);
}

static void test_reading_without_memory(void) {
  CtText bytes = a_kernel();
  bool is_clean = true, is_done = false;
  long n = 0;
  for (; n < 100000 && is_clean && !is_done; n++) {
    Heap heap = {.left = n};
    CtIr ir;
    CtErr err;
    CtStatus status = ct_ir_read((CtAlloc){heap_alloc, &heap}, bytes.s, bytes.len, &ir, &err);
    is_done = status == CT_OK;
    if (is_done) {
      ct_ir_read_clear(&ir);
    }
    is_clean = (is_done || status == CT_ENOMEM) && heap.bytes == 0;
  }
  OK(is_clean && is_done && n > 5, "memory that fails at any of %ld requests of a reader", n - 1);
  ct_text_clear(&bytes);
}

static void test_writing_without_memory(void) {
  Kit k;
  bool is_clean = true, is_done = false;
  long n = 0;
  build_notebook(&k, 90);
  kit_must(&k, ct_ir_finish(&k.ir, &k.err));
  for (; n < 100000 && is_clean && !is_done; n++) {
    Heap heap = {.left = n};
    CtText text;
    CtErr err;
    ct_text_init(&text, (CtAlloc){heap_alloc, &heap});
    CtStatus status = ct_ir_write(&k.ir, &text, &err);
    ct_text_clear(&text);
    is_done = status == CT_OK;
    is_clean = (is_done || status == CT_ENOMEM) && heap.bytes == 0;
  }
  OK(is_clean && is_done && n > 5, "memory that fails at any of %ld requests of a writer", n - 1);
  ct_ir_clear(&k.ir);
}

int main(void) {
  for (size_t i = 0; i < CT_ARRAY_LEN(builders); i++) {
    test_laws(builders[i]);
  }
  test_refusals();
  test_damage();
  test_reading_without_memory();
  test_writing_without_memory();
  return done_testing();
}
